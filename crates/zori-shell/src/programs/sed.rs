//! `sed`: its script may run commands and read and write files.

use super::options::OptionGrammar;
use super::{Call, EffectKind, ProgramEffects, Spawn};
use crate::analysis::Via;
use crate::arg::Arg;

const GRAMMAR: OptionGrammar = OptionGrammar {
    short: "nEe:f:i::l:rsuz",
    long: "quiet silent debug expression= file= follow-symlinks in-place=? line-length= posix regexp-extended \
        separate sandbox unbuffered null-data zero-terminated help version",
    stops_at_operand: false,
};

/// Returns what a `sed` command does.
pub fn analyse(call: &Call<'_>) -> ProgramEffects {
    let parsed = GRAMMAR.parse(call.args);
    let mut effects = ProgramEffects { kind: EffectKind::ReadOnly, ..ProgramEffects::default() };
    if parsed.may_be_option || parsed.has_unknown_option {
        effects.unknown = Some("a word that is not known may become an option");
    }
    let mut scripts: Vec<Arg> = parsed.values(&["e", "expression"]).cloned().collect();
    let mut files = parsed.operands.as_slice();
    let from_file: Vec<Arg> = parsed.values(&["f", "file"]).cloned().collect();
    if !from_file.is_empty() {
        effects.reads.extend(from_file);
        effects.unknown = Some("a script from a file");
    } else if scripts.is_empty() {
        scripts.extend(files.first().cloned());
        files = files.get(1..).unwrap_or_default();
    }
    for script in &scripts {
        match script.literal() {
            Some(text) => {
                if script_does(text, &mut effects).is_none() {
                    effects.unknown = Some("a sed script that cannot be read");
                }
            }
            None => effects.unknown = Some("a sed script that is not known"),
        }
    }
    // What the script itself reads, writes or runs makes it more than a reader of its operands.
    if !effects.reads.is_empty() || !effects.writes.is_empty() || !effects.spawns.is_empty() {
        effects.kind = EffectKind::Other;
    }
    effects.reads.extend_from_slice(files);
    if parsed.has(&["i", "in-place"]) {
        effects.kind = effects.kind.max(EffectKind::FileOperation);
        effects.writes.extend_from_slice(files);
        // A suffix with a slash or a star says where the old file goes.
        let elsewhere = |value: &Arg| value.literal().is_none() || value.text.contains(['/', '*']);
        if parsed.values(&["i", "in-place"]).any(elsewhere) || parsed.has(&["follow-symlinks"]) {
            effects.kind = EffectKind::Other;
        }
    }
    effects
}

/// Walks through a script; `None` if it is not one.
fn script_does(script: &str, effects: &mut ProgramEffects) -> Option<()> {
    let mut rest = script;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ';' | '{' | '}'));
        if rest.is_empty() {
            return Some(());
        }
        rest = addresses(rest)?;
        let command = rest.chars().next()?;
        rest = &rest[command.len_utf8()..];
        rest = match command {
            '{' | '}' | '=' | 'd' | 'D' | 'g' | 'G' | 'h' | 'H' | 'n' | 'N' | 'p' | 'P' | 'x' | 'z' | 'F' => {
                rest
            }
            'l' | 'L' | 'q' | 'Q' => rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ' '),
            '#' | 'a' | 'i' | 'c' => &rest[text_end(rest)..],
            ':' | 'b' | 't' | 'T' | 'v' => rest.find([';', '\n', '}']).map_or("", |end| &rest[end..]),
            'y' => &rest[delimited(rest, 2)?..],
            's' => {
                let flags = &rest[delimited(rest, 2)?..];
                let end =
                    flags.find(|c: char| !c.is_ascii_digit() && !"gpiImM".contains(c)).unwrap_or(flags.len());
                match flags[end..].chars().next() {
                    Some('e') => {
                        effects.unknown = Some("sed runs what it makes");
                        &flags[end + 1..]
                    }
                    Some('w') => {
                        let line = line_end(&flags[end + 1..]);
                        effects.writes.push(Arg::known(flags[end + 1..][..line].trim()));
                        &flags[end + 1..][line..]
                    }
                    _ => &flags[end..],
                }
            }
            'w' | 'W' | 'r' | 'R' => {
                let end = line_end(rest);
                let file = Arg::known(rest[..end].trim());
                if matches!(command, 'w' | 'W') {
                    effects.writes.push(file);
                } else {
                    effects.reads.push(file);
                }
                &rest[end..]
            }
            'e' => {
                let end = line_end(rest);
                match rest[..end].trim() {
                    "" => effects.unknown = Some("sed runs what it reads"),
                    text => effects.spawns.push(Spawn::Script {
                        text: text.to_owned(),
                        exact: true,
                        via: Via::ExecOption,
                        same_shell: false,
                        parameters: Vec::new(),
                    }),
                }
                &rest[end..]
            }
            _ => return None,
        };
        // What follows a command is a separator, a closing brace or a comment; anything else is not understood.
        let after = rest.trim_start_matches([' ', '\t']);
        if !after.is_empty()
            && !after.starts_with([';', '\n', '}', '#', '{'])
            && !matches!(command, '{' | '}')
        {
            return None;
        }
    }
}

/// Skips addresses and `!`.
fn addresses(mut rest: &str) -> Option<&str> {
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',', '+', '~', '!', '$']);
        let first = rest.chars().next()?;
        rest = match first {
            '0'..='9' => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
            '/' => rest[delimited(rest, 1)?..].trim_start_matches(['I', 'M']),
            '\\' => rest[1 + delimited(&rest[1..], 1)?..].trim_start_matches(['I', 'M']),
            _ => return Some(rest),
        };
    }
}

/// Where `count` sections behind a delimiter end: the first character is the delimiter.
fn delimited(rest: &str, count: usize) -> Option<usize> {
    let mut chars = rest.char_indices();
    let (_, delimiter) = chars.next()?;
    if matches!(delimiter, '\n' | '\\') {
        return None;
    }
    let mut left = count;
    let mut escaped = false;
    let mut bracket = false;
    for (at, c) in chars {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            // A delimiter in brackets may or may not end a section; versions differ.
            c if c == delimiter && bracket => return None,
            c if c == delimiter => {
                left -= 1;
                if left == 0 {
                    return Some(at + c.len_utf8());
                }
            }
            '[' if left == count => bracket = true,
            ']' => bracket = false,
            '\n' if count == 1 => return None,
            _ => {}
        }
    }
    None
}

fn line_end(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
}

/// Where the text of `a`, `i`, `c` ends: at a line end without a backslash.
fn text_end(rest: &str) -> usize {
    let mut escaped = false;
    for (at, c) in rest.char_indices() {
        match c {
            '\n' if !escaped => return at,
            '\\' => escaped = !escaped,
            _ => escaped = false,
        }
    }
    rest.len()
}
