//! The awk family: a program that may run commands and read and write files.

use super::options::Grammar;
use super::{Call, Kind, Reading, Start};
use crate::analysis::Via;
use crate::arg::Arg;

const GRAMMAR: Grammar = Grammar {
    short: "F:v:f:i:l:E:o::p::d::D::bcCeghIkLnNOPrsStVW:",
    long: &[
        "field-separator=",
        "assign=",
        "file=",
        "include=",
        "load=",
        "exec=",
        "source=",
        "pretty-print=?",
        "profile=?",
        "dump-variables=?",
        "debug=?",
        "bignum",
        "characters-as-bytes",
        "csv",
        "gen-pot",
        "lint=?",
        "non-decimal-data",
        "optimize",
        "no-optimize",
        "posix",
        "re-interval",
        "sandbox",
        "traditional",
        "use-lc-numeric",
        "help",
        "version",
    ],
    stops: true,
};

/// Returns what an awk command does.
pub fn read(call: &Call<'_>) -> Reading {
    let parsed = GRAMMAR.parse(call.args);
    let mut reading = Reading { kind: Kind::Other, ..Reading::default() };
    if parsed.doubtful && parsed.rest.is_none_or(|rest| call.args[..rest].iter().any(Arg::may_be_option)) {
        reading.unknown = Some("a word that is not known may become an option");
    }
    let loads = ["f", "i", "l", "E", "W", "D", "e", "file", "include", "load", "exec", "source", "debug"];
    if loads.iter().any(|name| parsed.has(&[name])) {
        reading.reads.extend(parsed.values(&["f", "i", "E", "file", "include", "exec"]).cloned());
        reading.unknown = Some("a program from a file");
        reading.reads.extend_from_slice(&parsed.operands);
        return reading;
    }
    for name in ["o", "p", "d", "pretty-print", "profile", "dump-variables"] {
        if parsed.has(&[name]) {
            reading.no_auto.push("writes a file of its own");
            reading.writes.extend(parsed.values(&[name]).cloned());
        }
    }
    if let Some((program, files)) = parsed.operands.split_first() {
        match program.literal() {
            Some(text) => program_does(text, &mut reading),
            None => reading.unknown = Some("an awk program that is not known"),
        }
        // `name=value` among the files is an assignment.
        let assigns =
            |arg: &&Arg| arg.text.split_once('=').is_some_and(|(name, _)| super::wrappers::is_name(name));
        reading.reads.extend(files.iter().filter(|arg| !assigns(arg)).cloned());
    }
    reading
}

/// Walks through a program's tokens.
fn program_does(program: &str, reading: &mut Reading) {
    let mut chars = program.char_indices().peekable();
    // Whether a slash would start a regular expression here, because no value stands before it.
    let mut regex_may_start = true;
    let mut printing = false;
    let mut parens = 0i32;
    let mut last_word = String::new();
    let mut last_string: Option<String> = None;
    let mut piped = false;
    while let Some((at, c)) = chars.next() {
        match c {
            '#' => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            '"' => {
                let mut text = String::new();
                while let Some((_, c)) = chars.next() {
                    match c {
                        '"' => break,
                        '\\' => text.extend(chars.next().map(|(_, c)| c)),
                        c => text.push(c),
                    }
                }
                if last_word == "system" || piped {
                    starts(&text, reading);
                }
                piped = false;
                last_string = Some(text);
                regex_may_start = false;
                continue;
            }
            '/' if regex_may_start => {
                let mut bracket = false;
                while let Some((_, c)) = chars.next() {
                    match c {
                        '\\' => {
                            chars.next();
                        }
                        '[' => bracket = true,
                        ']' => bracket = false,
                        // In brackets some versions end here and some do not.
                        '/' if bracket => reading.unknown = Some("an awk program that cannot be read"),
                        '/' => break,
                        _ => {}
                    }
                }
                regex_may_start = false;
            }
            '|' if chars.next_if(|(_, c)| *c == '|').is_some() => regex_may_start = true,
            '|' => {
                chars.next_if(|(_, c)| *c == '&');
                reading.unknown = Some("awk runs a command");
                if let Some(text) = last_string.take() {
                    starts(&text, reading);
                }
                piped = true;
                regex_may_start = true;
            }
            '>' if printing && parens == 0 => {
                chars.next_if(|(_, c)| *c == '>');
                let rest = program[at..].trim_start_matches(['>', ' ']);
                match rest.strip_prefix('"').and_then(|rest| rest.split_once('"')) {
                    Some((file, after)) if file_ends(after) && !file.contains('\\') => {
                        reading.writes.push(Arg::known(file))
                    }
                    _ => reading.writes.push(Arg::unknown("(an awk output)")),
                }
                regex_may_start = true;
            }
            '@' => reading.unknown = Some("awk loads or calls what its program does not show"),
            c if c.is_ascii_alphabetic() || c == '_' => {
                let mut word = c.to_string();
                while let Some((_, c)) = chars.next_if(|(_, c)| c.is_ascii_alphanumeric() || *c == '_') {
                    word.push(c);
                }
                match word.as_str() {
                    "system" => reading.unknown = Some("awk runs a command"),
                    "getline" => reading.unknown = Some("awk reads another file or command"),
                    "print" | "printf" => {
                        printing = true;
                        parens = 0;
                    }
                    _ => {}
                }
                regex_may_start = matches!(word.as_str(), "print" | "printf" | "return" | "in" | "case");
                last_word = word;
                last_string = None;
                continue;
            }
            c if c.is_ascii_digit() || matches!(c, '$' | ')' | ']' | '.') => {
                if c == ')' {
                    parens -= 1;
                }
                regex_may_start = false;
            }
            ';' | '}' | '\n' | '{' => {
                printing = false;
                regex_may_start = true;
                last_string = None;
            }
            c if c.is_whitespace() => continue,
            c => {
                if c == '(' {
                    parens += 1;
                }
                regex_may_start = true;
                if c != '(' {
                    last_word.clear();
                }
            }
        }
    }
}

fn file_ends(after: &str) -> bool {
    let after = after.trim_start();
    after.is_empty() || after.starts_with([';', '}', '\n'])
}

fn starts(text: &str, reading: &mut Reading) {
    reading.starts.push(Start::Text {
        text: text.to_owned(),
        exact: false,
        via: Via::ExecOption,
        here: false,
    });
}
