//! The beginning of what a call would do (APR-4): so much of it is shown with the question, and the rest is there to be asked for.

use serde_json::value::RawValue;

use crate::question::{FileAction, FileDiff, Preview};
use crate::text::one_line;

/// Lines of a new file and of arguments.
const FEW: usize = 12;
/// Lines of a change and of a patch.
const SOME: usize = 16;
/// Characters of one line of a change.
pub const LINE: usize = 200;

impl Preview {
    /// Returns how many lines of its text stand in the question, the line that names the file not counted.
    pub fn first_lines(&self) -> usize {
        match self {
            // What would run is shown as far as there is room.
            Self::Command { .. } | Self::Choices(_) => usize::MAX,
            Self::Changes(files) => match files.as_slice() {
                [FileDiff { action: FileAction::Create, .. }] => FEW + 1,
                // Both texts stand before the diff.
                [FileDiff { replaced: Some(_), .. }] => SOME + 2,
                _ => SOME,
            },
            Self::Input(_) | Self::Fails { .. } => FEW,
        }
    }
}

/// Returns a text that is replaced, or that replaces one, in a row: its beginning, with line breaks and all that could hide something made
/// visible. The diff has all of it.
pub fn replaced_text(text: &str) -> String {
    let beginning: String = text.chars().take(LINE + 1).collect();
    let row = one_line(&beginning);
    match row.chars().count() > LINE {
        true => row.chars().take(LINE - 3).chain("...".chars()).collect(),
        false => row.into_owned(),
    }
}

/// Says that more lines are there.
pub fn more_lines(count: usize) -> String {
    match count {
        1 => "... (1 more line)".to_owned(),
        count => format!("... ({count} more lines)"),
    }
}

/// Returns JSON with a line for each value; its own tokens are as they were. What is no JSON comes back as it is.
pub fn json_lines(json: &str) -> String {
    if serde_json::from_str::<&RawValue>(json).is_err() {
        return json.to_owned();
    }
    let mut out = String::with_capacity(json.len() * 2);
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    let mut rest = json.char_indices().peekable();
    let line = |out: &mut String, depth: usize| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    while let Some((at, c)) = rest.next() {
        if in_text {
            out.push(c);
            (in_text, escaped) = (escaped || c != '"', !escaped && c == '\\');
            continue;
        }
        match c {
            '"' => {
                in_text = true;
                out.push(c);
            }
            '{' | '[' => {
                out.push(c);
                let inner = json[at + 1..].trim_start();
                if inner.starts_with(['}', ']']) {
                    while let Some((_, c)) =
                        rest.next_if(|(_, c)| c.is_ascii_whitespace() || matches!(c, '}' | ']'))
                    {
                        if !c.is_ascii_whitespace() {
                            out.push(c);
                            break;
                        }
                    }
                } else {
                    depth += 1;
                    line(&mut out, depth);
                }
            }
            '}' | ']' => {
                depth = depth.saturating_sub(1);
                line(&mut out, depth);
                out.push(c);
            }
            ',' => {
                out.push(c);
                line(&mut out, depth);
            }
            ':' => out.push_str(": "),
            c if c.is_ascii_whitespace() => {}
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::question::Replaced;

    #[test]
    fn a_text_in_a_row() {
        assert_eq!(replaced_text("a\n\u{202e}b"), "a\\n\\u{202e}b");
        assert_eq!(replaced_text(&"é".repeat(200)), "é".repeat(200));
        assert_eq!(replaced_text(&"é".repeat(201)), format!("{}...", "é".repeat(197)));
    }

    #[test]
    fn how_much_is_shown() {
        let file = |action| FileDiff::new("/a", action, "");
        let replaced = Some(Replaced { old: "a".into(), new: "b".into() });
        for (preview, lines) in [
            (Preview::Input("{}".into()), 12),
            (Preview::Fails { input: "{}".into(), why: "no".into() }, 12),
            (Preview::Changes(vec![file(FileAction::Create)]), 13),
            (Preview::Changes(vec![file(FileAction::Change)]), 16),
            (Preview::Changes(vec![FileDiff { replaced, ..file(FileAction::Change) }]), 18),
            (Preview::Changes(vec![file(FileAction::Create), file(FileAction::Create)]), 16),
            (Preview::Command { command: "ls".into(), cwd: "/".into(), sandbox: None }, usize::MAX),
        ] {
            assert_eq!(preview.first_lines(), lines, "{preview:?}");
        }
        assert_eq!([more_lines(1), more_lines(28)], ["... (1 more line)", "... (28 more lines)"]);
    }

    /// No token is another one afterwards.
    #[test]
    fn json_has_a_line_for_each_value() {
        let wanted = "{\n  \"path\": \"a,{b}\\\"c\\\\\",\n  \"n\": 1.50e400,\n  \"none\": {},\n  \"empty\": [],\n  \"list\": [\n    1,\n    null\n  ]\n}";
        let json = r#"{"path":"a,{b}\"c\\", "n":1.50e400,"none":{ },"empty":[],"list":[1,null]}"#;
        assert_eq!(json_lines(json), wanted);
        assert_eq!(json_lines("{}"), "{}");
        assert_eq!(json_lines("\"a\""), "\"a\"");
        assert_eq!(json_lines("{ no: JSON }"), "{ no: JSON }");
    }
}
