//! Patterns over the words of a command: exact, leading words, or a glob over the words joined by one blank.

use std::borrow::Cow;

use zori_shell::{Command, Word};

/// A pattern over a command's normalised words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WordPattern {
    form: Form,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Form {
    /// Exactly these words.
    Exact(Vec<String>),
    /// These words, then anything.
    Leading(Vec<String>),
    /// A glob over the joined words.
    Glob(String),
}

/// Whether a pattern matches what may not be fully known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// It does not.
    No,
    /// It could, depending on words that are not known before they run.
    Maybe,
    /// It does.
    Yes,
}

impl WordPattern {
    /// Reads what stands between the brackets of `Bash(..)`.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if let Some(lead) = text.strip_suffix(":*") {
            // The words before may hold a glob of their own.
            if !has_star(lead) {
                let words = split(lead)?;
                return if words.is_empty() {
                    Err("no word before `:*`")
                } else {
                    Ok(Self { form: Form::Leading(words) })
                };
            }
            return Ok(Self { form: Form::Glob(joined_text(lead) + " *") });
        }
        if text == "*" {
            return Ok(Self { form: Form::Leading(Vec::new()) });
        }
        if let Some(lead) = text.strip_suffix(" *")
            && !has_star(lead)
        {
            return Ok(Self { form: Form::Leading(split(lead)?) });
        }
        if has_star(text) {
            return Ok(Self { form: Form::Glob(joined_text(text)) });
        }
        Ok(Self { form: Form::Exact(split(text)?) })
    }

    /// A pattern for exactly these words.
    pub fn exact(words: Vec<String>) -> Self {
        Self { form: Form::Exact(words) }
    }

    /// Returns whether it stands for more than one command.
    pub fn has_wildcard(&self) -> bool {
        !matches!(self.form, Form::Exact(_))
    }

    /// Returns the program, if the pattern names one.
    pub fn first_word(&self) -> Option<&str> {
        match &self.form {
            Form::Exact(words) | Form::Leading(words) => words.first().map(String::as_str),
            Form::Glob(text) => text.split(' ').next().filter(|word| !word.contains('*')),
        }
    }

    /// Matches for an allow rule: the program is what it is called as (SH-1), and every word that counts is known.
    pub fn covers(&self, command: &Command) -> bool {
        let known: Option<Vec<&str>> = command.argv.iter().map(Word::literal).collect();
        match (&self.form, known) {
            (Form::Exact(words), Some(argv)) => *words == argv,
            (Form::Leading(words), _) => {
                command.argv.len() >= words.len()
                    && command.argv.iter().zip(words).all(|(word, wanted)| word.literal() == Some(wanted))
                    && command.argv.first().is_none_or(|program| program.literal().is_some())
            }
            (Form::Glob(pattern), Some(argv)) => glob_words(pattern, &argv),
            (Form::Exact(_) | Form::Glob(_), None) => false,
        }
    }

    /// Matches for a deny or ask rule: a program in any folder counts by its last name, and what is not known may fit.
    pub fn hits(&self, command: &Command) -> Fit {
        let mut fit = self.hits_called(&command.argv, &command.base_name);
        // Without the program's own options in front of its command.
        if let Some(bare) = &command.bare_argv {
            fit = fit.max(self.hits_called(bare, &command.base_name));
        }
        // `git-push` is `git push`, wherever it lies.
        if let Some(subcommand) = command.base_name.strip_prefix("git-").filter(|name| !name.is_empty()) {
            let words = ["git", subcommand].map(|word| Word::Literal(word.to_owned()));
            let argv: Vec<Word> = words.into_iter().chain(command.argv.iter().skip(1).cloned()).collect();
            fit = fit.max(self.hits_words(&argv));
        }
        fit
    }

    fn hits_called(&self, argv: &[Word], base_name: &str) -> Fit {
        let as_called = self.hits_words(argv);
        let Some(Word::Literal(program)) = argv.first() else { return as_called };
        if *program == base_name || base_name.is_empty() {
            return as_called;
        }
        let mut argv = argv.to_vec();
        argv[0] = Word::Literal(base_name.to_owned());
        as_called.max(self.hits_words(&argv))
    }

    /// Matches words that start at some place of a command: the tail of an unknown program's arguments (SH-7).
    pub fn hits_words(&self, argv: &[Word]) -> Fit {
        if argv.is_empty() {
            return Fit::No;
        }
        match &self.form {
            Form::Leading(words) => leading(words, argv),
            Form::Exact(words) => {
                let opaque = argv.iter().any(|word| word.literal().is_none());
                let joined = argv.iter().map(Word::shown).collect::<Vec<_>>().join(" ");
                match leading(words, argv) {
                    // An unknown word may vanish, or be several.
                    Fit::No => Fit::No,
                    _ if opaque => Fit::Maybe,
                    Fit::Yes if words.len() == argv.len() => Fit::Yes,
                    _ if joined == words.join(" ") => Fit::Yes,
                    _ => Fit::No,
                }
            }
            Form::Glob(pattern) => {
                let known: Vec<&str> = argv.iter().map(Word::shown).collect();
                let opaque = argv.iter().any(|word| word.literal().is_none());
                let program = pattern.split(' ').next().unwrap_or_default();
                match glob_words(pattern, &known) {
                    true => Fit::Yes,
                    false if opaque && argv[0].literal().is_none_or(|word| glob(program, word)) => Fit::Maybe,
                    false => Fit::No,
                }
            }
        }
    }

    /// Matches anywhere in a list of words: for texts that could not be read as a program.
    pub fn hits_scan(&self, words: &[&str]) -> bool {
        let Some(first) = self.first_word() else { return !words.is_empty() };
        let wanted: Vec<Cow<'_, str>> = match &self.form {
            Form::Leading(lead) | Form::Exact(lead) => lead.iter().map(|w| w.as_str().into()).collect(),
            Form::Glob(_) => vec![first.into()],
        };
        let base = |word: &'_ str| word.rsplit('/').next().unwrap_or(word).to_owned();
        words.windows(wanted.len().max(1)).any(|window| {
            base(window[0]) == *wanted[0] && window[1..].iter().zip(&wanted[1..]).all(|(a, b)| a == b)
        })
    }
}

/// Compares leading words. An unknown word may be anything, and may be several.
fn leading(words: &[String], argv: &[Word]) -> Fit {
    for (i, wanted) in words.iter().enumerate() {
        match argv.get(i) {
            None => return Fit::No,
            Some(Word::Literal(word)) if word == wanted => {}
            Some(Word::Literal(_)) => return Fit::No,
            Some(Word::Opaque { .. }) => return Fit::Maybe,
        }
    }
    Fit::Yes
}

/// A glob over words joined by one blank. A final ` *` matches nothing as well (RULE-2).
fn glob_words(pattern: &str, argv: &[&str]) -> bool {
    let joined = argv.join(" ");
    glob(pattern, &joined) || pattern.strip_suffix(" *").is_some_and(|lead| glob(lead, &joined))
}

/// Matches `*` against any characters. Only the last star is ever taken back, so the cost is bounded by the product
/// of both lengths.
pub fn glob(pattern: &str, text: &str) -> bool {
    let (pattern, text) = (pattern.as_bytes(), text.as_bytes());
    let (mut p, mut t) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while t < text.len() {
        if p < pattern.len() && pattern[p] == b'*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && pattern[p] == text[t] {
            p += 1;
            t += 1;
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            p = at + 1;
            t = from + 1;
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|b| *b == b'*')
}

/// Splits a rule's text at blanks; quotes keep words together.
fn split(text: &str) -> Result<Vec<String>, &'static str> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some('"') | None, '\\') => word.get_or_insert_default().extend(chars.next()),
            (Some(_), c) => word.get_or_insert_default().push(c),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_ascii_whitespace() => words.extend(word.take()),
            (None, c) => word.get_or_insert_default().push(c),
        }
    }
    if quote.is_some() {
        return Err("a quote is not closed");
    }
    words.extend(word);
    Ok(words)
}

/// Returns whether there is a star that is not in quotes.
fn has_star(text: &str) -> bool {
    let mut quote = None;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some('"') | None, '\\') => {
                chars.next();
            }
            (None, '\'' | '"') => quote = Some(c),
            (None, '*') => return true,
            _ => {}
        }
    }
    false
}

fn joined_text(text: &str) -> String {
    text.split_ascii_whitespace().collect::<Vec<_>>().join(" ")
}

/// Writes words so that [`WordPattern::parse`] reads exactly them.
pub fn quoted(words: &[&str]) -> String {
    let plain = |c: char| {
        c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '/' | '=' | ':' | '+' | ',' | '@' | '%')
    };
    let one = |word: &&str| match !word.is_empty() && word.chars().all(plain) {
        true => (*word).to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    };
    words.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
