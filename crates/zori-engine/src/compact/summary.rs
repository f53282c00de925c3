//! The request for a summary of a conversation, and the note made from the reply. Pure.
//!
//! The conversation is sent as text in one message and without tools: every provider accepts that, no matter whose
//! signatures the conversation holds, and tool outputs can be shortened on the way.

use std::fmt::Write;
use std::sync::Arc;

use zori_core::message::{Block, Message, Role};
use zori_core::text::{prefix, suffix};

use super::older::NOTE_HEAD;

/// The system prompt for the summary.
pub(crate) const SYSTEM: &str = "You write the note with which a coding agent goes on with its work after the older \
part of the conversation is gone. Only what is in the note is known then. You do not go on with the work yourself.";

const TASK: &str =
    "Write the note for the conversation above. Use exactly these headings, in this order, with short \
lists below them, and `none` where there is nothing to say:

## Goal
What the user wants, with all wishes and limits that still hold.
## Decisions
What was decided, and why.
## Files
Each file that was read or changed, with its path and its present state.
## Open tasks
What remains to be done.
## What failed
What was tried without success, with the error.
## Next step
What to do next.

Keep names, paths, commands, numbers and error messages exactly. Write nothing but the note.";

/// The longest part of a text block that is included.
const TEXT_BYTES: usize = 8 * 1024;
/// The longest part of a call's arguments or a tool's output that is included.
const TOOL_BYTES: usize = 1024;

/// Returns the prompt for the summary, in about `max` bytes.
pub(crate) fn question(messages: &[Arc<Message>], focus: Option<&str>, max: u64) -> String {
    let transcript = shortened(&transcript(messages), usize::try_from(max).unwrap_or(usize::MAX));
    let focus = focus.map_or_else(String::new, |focus| format!("\n\nGive most room to this: {focus}"));
    format!("<conversation>\n{transcript}</conversation>\n\n{TASK}{focus}")
}

/// Returns the note that takes the place of the messages.
pub(crate) fn note(summary: &str) -> String {
    format!("{NOTE_HEAD}What it came to:]\n\n{}", summary.trim())
}

/// Returns the note for messages that were left out without a summary.
pub(crate) fn note_without_summary(messages: usize) -> String {
    format!(
        "{NOTE_HEAD}No summary of its {messages} messages could be made; look again at what you need to know.]"
    )
}

fn transcript(messages: &[Arc<Message>]) -> String {
    let mut out = String::new();
    for message in messages {
        for block in &message.blocks {
            let (who, text, max) = match (block, message.role) {
                (Block::Text(text), Role::User) => ("user", text.as_str(), TEXT_BYTES),
                (Block::Text(text), Role::Assistant) => ("agent", text.as_str(), TEXT_BYTES),
                (Block::ToolCall(call), _) => {
                    let call = format!("{} {}", call.name, call.input.json());
                    section(&mut out, "call", &shortened(&call, TOOL_BYTES));
                    continue;
                }
                (Block::ToolResult(result), _) => {
                    let who = if result.ok { "result" } else { "failed" };
                    (who, result.content(), TOOL_BYTES)
                }
                (Block::Image(image), _) => {
                    section(&mut out, "user", &image.to_string());
                    continue;
                }
                (Block::Thinking(_), _) => continue,
            };
            section(&mut out, who, &shortened(text, max));
        }
    }
    out
}

fn section(out: &mut String, who: &str, text: &str) {
    writeln!(out, "[{who}] {}", text.trim_end()).expect("a string takes everything");
}

/// Keeps the first quarter and the end of a text that is too long.
pub(super) fn shortened(text: &str, max: usize) -> String {
    if text.len() <= max {
        return text.to_owned();
    }
    let head = prefix(text, max / 4);
    let tail = suffix(text, max - max / 4);
    let gone = text.len() - head.len() - tail.len();
    format!("{head}\n[... {gone} bytes left out ...]\n{tail}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_keep_both_ends() {
        assert_eq!(shortened("short", 5), "short");
        let text = format!("{}{}", "é".repeat(50), "z".repeat(100));
        assert_eq!(
            shortened(&text, 40),
            format!("{}\n[... 160 bytes left out ...]\n{}", "é".repeat(5), "z".repeat(30))
        );
        assert_eq!(shortened("ééé", 1), "\n[... 6 bytes left out ...]\n");
    }

    #[test]
    fn what_is_asked() {
        let messages = [Arc::new(Message::user("Fix it."))];
        let asked = question(&messages, Some("the parser"), 1_000);
        assert!(
            asked.starts_with("<conversation>\n[user] Fix it.\n</conversation>\n\nWrite the note"),
            "{asked}"
        );
        assert!(
            asked.ends_with("Write nothing but the note.\n\nGive most room to this: the parser"),
            "{asked}"
        );
        let headings: Vec<_> = asked.lines().filter(|line| line.starts_with("## ")).collect();
        assert_eq!(
            headings,
            ["## Goal", "## Decisions", "## Files", "## Open tasks", "## What failed", "## Next step"]
        );
    }
}
