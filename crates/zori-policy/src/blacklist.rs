//! What is denied in every mode: the user's own patterns (BL-3), except for built-in entries that the user switched off
//! (BL-4).
//!
//! A plain pattern is a sequence of words with option folding: `rm -rf` also means `-fr`, `-r -f` and `--recursive
//! --force`, wherever they stand. One that starts with `re:` is a regular expression over the normalised words.

use regex::Regex;
use zori_shell::{Command, DANGERS, Danger, Word};

/// What the Agent Zero document denies on its own (SEC-5, SEC-7); the fork bomb, devices and downloads are built in.
pub const AGENT_ZERO: &[&str] = &["rm -rf", "format", "mkfs", "shutdown", "dd if=/dev/", "chmod -R 777 /"];

/// The fork bomb as that document writes it; the built-in entry covers it under any name.
const FORK_BOMB: &str = ":(){:|:&};:";

/// A pattern that the user wrote.
#[derive(Clone, Debug)]
pub struct BlacklistPattern {
    /// As it was written.
    pub text: String,
    form: Form,
}

#[derive(Clone, Debug)]
enum Form {
    Words {
        program: String,
        flags: Vec<String>,
        operands: Vec<String>,
    },
    Regex(Regex),
    /// A built-in entry covers it already.
    BuiltIn,
}

/// Why a pattern cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlacklistError {
    #[error("an empty blacklist pattern would match nothing")]
    Empty,
    /// It is more than one command.
    #[error(
        "blacklist pattern `{0}` has shell operators in it; a pattern is one command, or `re:` and an expression"
    )]
    Operators(String),
    /// The expression is wrong.
    #[error("blacklist pattern `{text}` is no regular expression: {why}")]
    Regex {
        /// The pattern.
        text: String,
        /// What the engine says.
        why: String,
    },
    /// There is no such entry.
    #[error("there is no built-in blacklist entry `{0}`; they are {ids}", ids = ids())]
    UnknownId(String),
}

impl BlacklistPattern {
    /// Reads a pattern.
    pub fn parse(text: &str) -> Result<Self, BlacklistError> {
        let form = if let Some(expression) = text.strip_prefix("re:") {
            let bad =
                |error: regex::Error| BlacklistError::Regex { text: text.to_owned(), why: last_line(&error) };
            Form::Regex(Regex::new(expression).map_err(bad)?)
        } else if text.split_whitespace().collect::<String>() == FORK_BOMB {
            Form::BuiltIn
        } else if text.contains([';', '|', '&', '<', '>', '(', ')', '{', '}', '`', '\n']) {
            return Err(BlacklistError::Operators(text.to_owned()));
        } else {
            let mut words = text.split_whitespace();
            let program = words.next().ok_or(BlacklistError::Empty)?.to_owned();
            let (options, operands): (Vec<&str>, Vec<&str>) = words.partition(|word| is_option(word));
            Form::Words {
                program,
                flags: options.into_iter().flat_map(flags).collect(),
                operands: operands.into_iter().map(str::to_owned).collect(),
            }
        };
        Ok(Self { text: text.to_owned(), form })
    }

    /// Returns whether a command matches. Unknown words do not count.
    pub fn hits(&self, command: &Command) -> bool {
        let hits = |argv: &[Word]| {
            let known: Vec<&str> = argv.iter().map(|word| word.literal().unwrap_or("")).collect();
            self.hits_words(&command.base_name, known.get(1..).unwrap_or_default())
        };
        hits(&command.argv)
            || command.bare_argv.as_deref().is_some_and(hits)
            || matches!(&self.form, Form::Regex(regex) if {
                let shown: Vec<&str> = command.argv.iter().map(Word::shown).collect();
                regex.is_match(&shown.join(" "))
            })
    }

    /// Returns whether the pattern occurs anywhere in a text that could not be parsed.
    pub fn hits_scan(&self, words: &[&str]) -> bool {
        let base = |word: &str| word.rsplit('/').next().unwrap_or(word).to_owned();
        match &self.form {
            Form::Regex(regex) => regex.is_match(&words.join(" ")),
            _ => (0..words.len()).any(|i| {
                let end = words.len().min(i + 1 + SCANNED);
                self.hits_words(&base(words[i]), &words[i + 1..end])
            }),
        }
    }

    fn hits_words(&self, called: &str, args: &[&str]) -> bool {
        let Form::Words { program, flags: wanted, operands } = &self.form else { return false };
        let named = called == program
            || called.strip_prefix(program.as_str()).is_some_and(|rest| rest.starts_with('.'));
        if !named {
            return false;
        }
        let given: Vec<String> =
            args.iter().filter(|word| is_option(word)).flat_map(|word| flags(word)).collect();
        let has = |flag: &String| given.iter().any(|g| same_flag(g, flag));
        if !wanted.iter().all(has) {
            return false;
        }
        let mut left = args.iter().filter(|word| !is_option(word));
        operands.iter().all(|wanted| left.any(|word| same_operand(word, wanted)))
    }
}

/// Returns the hit of the built-in blacklist that counts: switched-off entries do not, and one of them only where a mode
/// was chosen by name (DECISIONS 11).
pub fn active_danger<'a>(hits: &'a [Danger], off: &[String], by_name: bool) -> Option<&'a Danger> {
    hits.iter().find(|hit| {
        let only_by_name = DANGERS.iter().any(|kind| kind.id == hit.id && kind.only_by_name);
        !off.iter().any(|id| id == hit.id) && (by_name || !only_by_name)
    })
}

/// Checks the id of a built-in entry.
pub fn check_id(id: &str) -> Result<(), BlacklistError> {
    match DANGERS.iter().any(|kind| kind.id == id) {
        true => Ok(()),
        false => Err(BlacklistError::UnknownId(id.to_owned())),
    }
}

fn ids() -> String {
    DANGERS.iter().map(|kind| format!("`{}`", kind.id)).collect::<Vec<_>>().join(", ")
}

fn is_option(word: &str) -> bool {
    word.len() > 1 && word.starts_with('-') && word != "--"
}

/// The flags of one word: `-rf` is `r` and `f`, `--force=x` is `force`.
fn flags(word: &str) -> Vec<String> {
    match word.strip_prefix("--") {
        Some(long) => vec![long.split('=').next().unwrap_or(long).to_owned()],
        None => word[1..].chars().map(String::from).collect(),
    }
}

/// Long names of the letters people write; an abbreviation of the long name counts.
const LONG: &[(&str, &str)] =
    &[("r", "recursive"), ("R", "recursive"), ("f", "force"), ("a", "all"), ("v", "verbose")];

/// How many words after a program's name are looked at in a text that could not be read; more would let a text made of
/// that name alone cost its length squared.
const SCANNED: usize = 64;

fn same_flag(given: &str, wanted: &str) -> bool {
    fn long(flag: &str) -> &str {
        LONG.iter().find(|(short, _)| *short == flag).map_or(flag, |(_, long)| *long)
    }
    given == wanted || long(given) == long(wanted) || (given.len() > 2 && long(wanted).starts_with(given))
}

/// A word that ends in `=` or a slash means what begins with it, except `/` itself.
fn same_operand(given: &str, wanted: &str) -> bool {
    let open = wanted.len() > 1 && wanted.ends_with(['/', '=']);
    given == wanted || (open && given.starts_with(wanted))
}

fn last_line(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits(pattern: &str, words: &str) -> bool {
        let argv: Vec<&str> = words.split(' ').collect();
        let pattern = BlacklistPattern::parse(pattern).unwrap();
        let command = Command {
            argv: argv.iter().map(|word| Word::Literal((*word).to_owned())).collect(),
            bare_argv: None,
            base_name: argv[0].to_owned(),
            source: String::new(),
            effect: zori_shell::CommandEffect::Other,
            reads: vec![],
            writes: vec![],
            net: vec![],
            parent: None,
            via: None,
            no_auto_approval: vec![],
        };
        pattern.hits(&command)
    }

    #[test]
    fn options_fold() {
        for words in [
            "rm -rf x",
            "rm -fr x",
            "rm -r -f x",
            "rm x -r -f",
            "rm --recursive --force x",
            "rm -R --force x",
            "rm -vrf x",
            "rm --rec --for x",
        ] {
            assert!(hits("rm -rf", words), "{words}");
        }
        for words in ["rm -r x", "rm -f x", "rm x", "rmdir -rf x", "echo rm -rf"] {
            assert!(!hits("rm -rf", words), "{words}");
        }
    }

    #[test]
    fn words_and_operands() {
        assert!(
            hits("mkfs", "mkfs.ext4 /dev/sda") && hits("mkfs", "mkfs -t ext4 x") && !hits("mkfs", "mkfsx")
        );
        assert!(hits("format", "format c:") && !hits("format", "git log --format=%h"));
        assert!(hits("dd if=/dev/", "dd if=/dev/zero of=x") && !hits("dd if=/dev/", "dd if=x of=y"));
        assert!(hits("chmod -R 777 /", "chmod -R 777 /") && !hits("chmod -R 777 /", "chmod -R 777 /ws"));
        assert!(
            hits("git push main", "git push --force origin main") && !hits("git push main", "git pull main")
        );
    }

    #[test]
    fn expressions() {
        assert!(
            hits("re:^npm (publish|unpublish)", "npm publish")
                && !hits("re:^npm publish", "echo npm publish")
        );
        let error = |text| BlacklistPattern::parse(text).unwrap_err().to_string();
        assert_eq!(error("re:("), "blacklist pattern `re:(` is no regular expression: unclosed group");
        assert_eq!(error(" "), "an empty blacklist pattern would match nothing");
        assert!(error("curl | sh").starts_with("blacklist pattern `curl | sh` has shell operators in it"));
        assert!(BlacklistPattern::parse(":(){ :|:& };:").is_ok());
        assert!(AGENT_ZERO.iter().all(|text| BlacklistPattern::parse(text).is_ok()));
        assert!(check_id("nope").unwrap_err().to_string().contains("`fork-bomb`"));
    }

    #[test]
    fn texts_that_could_not_be_read() {
        let scan = |words: &[&str]| BlacklistPattern::parse("rm -rf").unwrap().hits_scan(words);
        assert!(scan(&["(", "/bin/rm", "-r", "-f", "x"]) && !scan(&["rm", "x"]));
    }
}
