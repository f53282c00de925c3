//! The spellings of the output setting on one command line (DECISIONS 20): two that differ contradict each other. clap
//! lets the last of two options win where one stands before the command, so argv itself is looked at.

use std::ffi::OsString;

use crate::command_error::{CommandError, ErrorCode};

/// An option and what it asks for.
type Spelling = (&'static str, String);

/// Checks that all of them ask for the same. `takes_value` says of an argument whether the next one belongs to it.
pub fn agree(argv: &[OsString], takes_value: impl Fn(&OsString) -> bool) -> Result<(), CommandError> {
    let given = spellings(argv, takes_value);
    let Some((first, rest)) = given.split_first() else { return Ok(()) };
    match rest.iter().find(|other| !same(first, other)) {
        None => Ok(()),
        Some((other, value)) => {
            let message = format!("`{} {}` and `{other} {value}` ask for two outputs", first.0, first.1);
            Err(CommandError::new(ErrorCode::Usage, message).hint("leave one of them out"))
        }
    }
}

fn spellings(argv: &[OsString], takes_value: impl Fn(&OsString) -> bool) -> Vec<Spelling> {
    let mut given = Vec::new();
    let mut args = argv.iter();
    while let Some(arg) = args.next() {
        let text = arg.to_str().unwrap_or_default();
        if text == "--" {
            break;
        }
        let name = match text.split_once('=').map_or(text, |(name, _)| name) {
            "--output" => "--output",
            "--format" => "--format",
            short if short.starts_with("-o") => "--output",
            _ if takes_value(arg) => {
                args.next();
                continue;
            }
            _ => continue,
        };
        let attached = match text.split_once('=') {
            Some((_, value)) => Some(value.to_owned()),
            None => text.strip_prefix("-o").filter(|value| !value.is_empty()).map(str::to_owned),
        };
        let next = || args.next().map(|value| value.to_string_lossy().into_owned());
        if let Some(value) = attached.or_else(next) {
            given.push((name, value));
        }
    }
    given
}

/// Whether two spellings ask for the same: `--format text` is `--output plain`, and `--format json` stands for one
/// document or for a stream of them, as the command has it.
fn same(a: &Spelling, b: &Spelling) -> bool {
    let meanings = |(name, value): &Spelling| match (*name, value.as_str()) {
        ("--format", "text") => vec!["plain".to_owned()],
        ("--format", "json") => vec!["json".to_owned(), "jsonl".to_owned()],
        _ => vec![value.clone()],
    };
    meanings(a).iter().any(|meaning| meanings(b).contains(meaning))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(line: &str) -> Option<String> {
        let argv: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        agree(&argv, |arg| arg == "-p" || arg == "--model").err().map(|error| error.message)
    }

    #[test]
    fn one_meaning() {
        for line in [
            "exec -p hi",
            "--output plain exec --output plain",
            "--output=plain exec --format text -oplain",
            "sessions list --format json -o json",
            "exec --format json --output jsonl",
            "exec -p --output --format text",
            "exec --output plain -- --output json",
            "exec --output",
        ] {
            assert_eq!(check(line), None, "{line}");
        }
    }

    #[test]
    fn two_meanings() {
        for (line, what) in [
            ("--output json exec --output plain", "`--output json` and `--output plain`"),
            ("exec --output plain --output jsonl", "`--output plain` and `--output jsonl`"),
            ("exec -ojson --format text", "`--output json` and `--format text`"),
            ("-o=json exec -p x --format=text", "`--output json` and `--format text`"),
        ] {
            assert_eq!(check(line), Some(format!("{what} ask for two outputs")), "{line}");
        }
    }
}
