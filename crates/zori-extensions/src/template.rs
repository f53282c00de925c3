//! The text of a custom command with the user's arguments in it (CUS-2).
//!
//! One pass: what an argument contains is never looked at again, so it can neither start a command nor name a file.

/// A part of an expanded command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text of the command's author.
    Text(String),
    /// Text of the user's arguments, which is nobody's instruction to read a file or to run something.
    Argument(String),
    /// A command for the shell, whose output goes here.
    Shell(String),
}

/// Returns a template's parts with these arguments. Arguments that no placeholder asks for are appended.
pub fn expand(template: &str, arguments: &str) -> Vec<Part> {
    let arguments = arguments.trim();
    let words = words(arguments);
    let (mut parts, mut used, mut rest) = (Vec::new(), false, template);
    while let Some((before, placeholder, behind)) = next_placeholder(rest) {
        push_text(&mut parts, before);
        match placeholder {
            Placeholder::Argument(which) => {
                used = true;
                parts.push(Part::Argument(which.value(arguments, &words).to_owned()));
            }
            Placeholder::Shell(command) => {
                let (command, asked) = quoted_in(command, arguments, &words);
                used |= asked;
                parts.push(Part::Shell(command));
            }
        }
        rest = behind;
    }
    push_text(&mut parts, rest);
    if !used && !arguments.is_empty() {
        push_text(&mut parts, "\n\n");
        parts.push(Part::Argument(arguments.to_owned()));
    }
    parts
}

/// What stands for an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Which {
    All,
    Word(usize),
}

impl Which {
    fn value<'a>(self, all: &'a str, words: &'a [String]) -> &'a str {
        match self {
            Self::All => all,
            Self::Word(n) => words.get(n - 1).map_or("", String::as_str),
        }
    }
}

enum Placeholder<'a> {
    Argument(Which),
    Shell(&'a str),
}

/// Returns the next placeholder in a template: what is before it, what it is, what is behind it.
fn next_placeholder(text: &str) -> Option<(&str, Placeholder<'_>, &str)> {
    for (at, c) in text.char_indices() {
        let here = &text[at..];
        if c == '!'
            && let Some((command, behind)) = here.strip_prefix("!`").and_then(|rest| rest.split_once('`'))
            && !command.trim().is_empty()
            && !command.contains('\n')
        {
            return Some((&text[..at], Placeholder::Shell(command), behind));
        }
        if let Some((which, len)) = argument_at(here) {
            return Some((&text[..at], Placeholder::Argument(which), &here[len..]));
        }
    }
    None
}

/// Returns what stands for an argument at the beginning of a text, and how long it is.
fn argument_at(text: &str) -> Option<(Which, usize)> {
    for (name, which) in [("$ARGUMENTS", Which::All), ("{{args}}", Which::All)] {
        if text.starts_with(name) {
            return Some((which, name.len()));
        }
    }
    let mut chars = text.strip_prefix('$')?.chars();
    let digit = chars.next()?.to_digit(10).filter(|digit| *digit > 0)?;
    // `$10` and `$1st` are no placeholders: prices and sums stay what they are.
    let alone = !chars.next().is_some_and(|c| c.is_alphanumeric() || c == '_');
    alone.then_some((Which::Word(digit as usize), 2))
}

/// Puts arguments into a shell command, each as one quoted word.
fn quoted_in(command: &str, all: &str, words: &[String]) -> (String, bool) {
    let (mut out, mut asked, mut rest) = (String::new(), false, command);
    while let Some(c) = rest.chars().next() {
        match argument_at(rest) {
            Some((which, len)) => {
                asked = true;
                out.push_str(&shell_quoted(which.value(all, words)));
                rest = &rest[len..];
            }
            None => {
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
    }
    (out, asked)
}

/// Returns a text as one word of a shell.
pub fn shell_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

/// Takes arguments apart at blanks; quotes hold words together.
fn words(arguments: &str) -> Vec<String> {
    let (mut words, mut word, mut quote): (Vec<String>, Option<String>, Option<char>) = Default::default();
    for c in arguments.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

fn push_text(parts: &mut Vec<Part>, text: &str) {
    match parts.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Text(last)) => last.push_str(text),
        _ => parts.push(Part::Text(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(template: &str, arguments: &str) -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Argument(text) => format!("<{text}>"),
            Part::Shell(command) => format!("[{command}]"),
        };
        expand(template, arguments).iter().map(part).collect()
    }

    #[test]
    fn places_and_what_goes_there() {
        assert_eq!(shown("Fix $1 in $2, $ARGUMENTS", "a \"b c\""), "Fix <a> in <b c>, <a \"b c\">");
        assert_eq!(shown("Look: {{args}}.", " x "), "Look: <x>.");
        assert_eq!(shown("Costs $10, $1st, $0, $", ""), "Costs $10, $1st, $0, $");
        assert_eq!(shown("Plain", "more words"), "Plain\n\n<more words>");
        assert_eq!(shown("Plain", " "), "Plain");
        assert_eq!(shown("$3", "a"), "<>");
    }

    /// What an argument contains is not looked at again, and is one word for a shell.
    #[test]
    fn arguments_are_nobodys_commands() {
        assert_eq!(shown("Do $ARGUMENTS", "!`touch x` $1"), "Do <!`touch x` $1>");
        assert_eq!(shown("State: !`git log -n 1 $1`", "\"; rm x\""), "State: [git log -n 1 '; rm x']");
        assert_eq!(shown("!`echo $ARGUMENTS` now", "it's"), r"[echo 'it'\''s'] now");
        assert_eq!(shown("!`ls` $ARGUMENTS", "!`id`"), "[ls] <!`id`>");
    }

    #[test]
    fn what_is_no_shell_command() {
        assert_eq!(shown("a !` ` b !`two\nlines` c !`open", ""), "a !` ` b !`two\nlines` c !`open");
        assert_eq!(shown("stop! `code`", ""), "stop! `code`");
    }
}
