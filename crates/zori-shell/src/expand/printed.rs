//! What a command that only prints its words would print, where a text substitutes it.

use super::{Notes, WordContext, expand};
use crate::state::State;
use crate::syntax::{Dialect, ExpansionKind, Script, TokenKind, WordPart};

/// How many words a substitution may have to be taken for what it prints.
const MAX_WORDS: usize = 64;

/// What a substitution becomes.
pub enum Printed {
    Text(String),
    /// Perhaps this text: shells and programs differ, or a disk decides.
    Maybe(String),
    /// Names of files that git tracks below the current directory; the last name of each fits the pattern, if there is
    /// one.
    Names(Option<String>),
}

/// Returns what a script prints, if it is one command whose words tell.
pub(super) fn printed(script: &Script, dialect: Dialect, state: &State) -> Option<Printed> {
    // Substitutions in it are looked at when it is walked, and not here once more for every level.
    let nested = |part: &WordPart| match part {
        WordPart::Expansion(expansion) => match &expansion.kind {
            ExpansionKind::Parameter(parameter) => {
                !parameter.operand.is_empty() || parameter.subscript.is_some()
            }
            _ => true,
        },
        WordPart::Text(_) | WordPart::Quoted(_) => false,
    };
    if state.redefined.is_some()
        || script.tokens.len() > MAX_WORDS
        || script.words.iter().flatten().any(nested)
    {
        return None;
    }
    let mut words = Vec::new();
    for token in &script.tokens {
        let (TokenKind::Word(word) | TokenKind::Reserved(_, word)) = token.kind else {
            match token.kind {
                TokenKind::Operator(_) => words.push(";".to_owned()),
                _ => return None,
            }
            continue;
        };
        let mut notes = Notes::default();
        let parts = &script.words[word];
        let args = expand(parts, WordContext::Field, dialect, state, "", &mut notes);
        if !notes.scripts.is_empty() || !notes.unknown.is_empty() || !notes.assigned.is_empty() {
            return None;
        }
        for arg in args {
            words.push(arg.literal()?.to_owned());
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    if words.contains(&";") {
        return perhaps(&words, state).map(Printed::Maybe);
    }
    echoed(&words)
        .map(Printed::Text)
        .or_else(|| tracked(&words))
        .or_else(|| perhaps(&words, state).map(Printed::Maybe))
}

/// Returns what a command about paths, or one that reads escapes, most likely prints.
fn perhaps(words: &[&str], state: &State) -> Option<String> {
    let here = || state.get("PWD").map(str::to_owned);
    match words {
        ["pwd"] => here(),
        ["cd", folder, ";", "pwd"] => {
            let folder = if *folder == "~" { state.get("HOME")? } else { folder };
            Some(crate::paths::normalise(std::path::Path::new(&here()?), folder).to_str()?.to_owned())
        }
        words if words.contains(&";") => None,
        ["dirname", path] => {
            let parent = std::path::Path::new(path).parent()?.to_str()?;
            Some(if parent.is_empty() { ".".to_owned() } else { parent.to_owned() })
        }
        ["realpath" | "readlink", .., path] => Some((*path).to_owned()),
        ["printf" | "echo", rest @ ..] => {
            let rest: Vec<&str> = rest.iter().copied().filter(|word| !word.starts_with('-')).collect();
            likely_printed(&rest)
        }
        _ => None,
    }
}

/// Returns a format with its words filled in and its escapes read, as bash would print it.
pub fn likely_printed(words: &[&str]) -> Option<String> {
    let (format, values) = words.split_first()?;
    let mut out = String::new();
    let mut values = values.iter();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '%' => match chars.next()? {
                's' | 'b' | 'q' => out.push_str(values.next().unwrap_or(&"")),
                '%' => out.push('%'),
                _ => return None,
            },
            '\\' => {
                let (digits, radix, most) = match *chars.peek()? {
                    'x' => {
                        chars.next();
                        ("0123456789abcdefABCDEF", 16, 2)
                    }
                    '0'..='7' => ("01234567", 8, 4),
                    'n' | 't' | 'r' => {
                        chars.next();
                        out.push(' ');
                        continue;
                    }
                    _ => {
                        out.extend(chars.next());
                        continue;
                    }
                };
                let mut number = String::new();
                while number.len() < most && chars.peek().is_some_and(|c| digits.contains(*c)) {
                    number.extend(chars.next());
                }
                let code = u32::from_str_radix(&number, radix).ok()?;
                out.push(char::from_u32(code).filter(|c| *c != '\0').unwrap_or(' '));
            }
            c => out.push(c),
        }
    }
    out.extend(values.flat_map(|value| [" ", *value]));
    Some(out.trim().to_owned())
}

/// Returns what `echo` or `printf` prints, if no shell reads its words in another way.
pub fn echoed(words: &[&str]) -> Option<String> {
    match words {
        ["echo", "-n", rest @ ..] | ["echo", rest @ ..]
            if !rest.iter().any(|word| word.contains('\\') || word.starts_with('-')) =>
        {
            Some(rest.join(" "))
        }
        ["printf", text] if !text.contains(['\\', '%']) => Some((*text).to_owned()),
        ["printf", "%s" | "%s\\n", text] => Some((*text).to_owned()),
        _ => None,
    }
}

/// `git ls-files PATTERN`: names below the current directory.
fn tracked(words: &[&str]) -> Option<Printed> {
    match words {
        ["git", "ls-files", "--", patterns @ ..] | ["git", "ls-files", patterns @ ..]
            if !patterns.is_empty() && patterns.iter().all(|word| is_pathspec(word)) =>
        {
            let name = match patterns {
                [one] => Some(last_name(one)),
                _ => None,
            };
            Some(Printed::Names(name))
        }
        _ => None,
    }
}

/// Whether a word is a plain pattern below the current directory.
pub fn is_pathspec(word: &str) -> bool {
    !word.is_empty()
        && !word.starts_with(['-', ':', '/'])
        && !word.contains("..")
        && !word.contains(['$', '`'])
}

/// Returns the pattern that the last name of each file fits; a folder's name stands for all in it.
pub fn last_name(pattern: &str) -> String {
    let name = pattern.rsplit('/').next().unwrap_or(pattern);
    if name.contains(['*', '?', '[', '.']) { name.to_owned() } else { "*".to_owned() }
}
