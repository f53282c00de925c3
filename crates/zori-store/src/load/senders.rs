//! Who sent the prompts of a session: a person, or a scheduled job.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use zori_core::message::{Block, Message, Role};

use crate::record::{Record, RecordKind};

/// The senders of the prompts of a file.
#[derive(Default)]
pub(super) struct Senders {
    /// In order: the N-th is that of turn N.
    sent: Vec<Sender>,
    /// The turns that each undo took back, by their place.
    undone: Vec<Vec<usize>>,
}

struct Sender {
    /// A hash of what was sent: a long session has many prompts, and this is all that is wanted of them.
    words: u64,
    job: Option<String>,
    /// Whether the conversation still has the turn.
    active: bool,
}

impl Senders {
    pub(super) fn note(&mut self, record: &Record) {
        match &record.kind {
            RecordKind::Message { text, scheduled, .. } if record.begins_turn() => {
                self.sent.push(Sender { words: hash(text), job: scheduled.clone(), active: true });
            }
            RecordKind::Rewound { to_turn, what, redo, .. } if what != "files" => {
                // A redo brings back what its undo took, and no more.
                let turns = match redo {
                    true => self.undone.pop().unwrap_or_default(),
                    false => {
                        let later = (to_turn.saturating_sub(1) as usize)..self.sent.len();
                        let gone: Vec<usize> = later.filter(|at| self.sent[*at].active).collect();
                        self.undone.push(gone.clone());
                        gone
                    }
                };
                turns.into_iter().for_each(|at| self.sent[at].active = *redo);
            }
            _ => {}
        }
    }

    /// Returns the messages that jobs sent, each with the name of its job. A view that a compaction made has nothing but words, so the prompts are
    /// followed from the last one back: those that say the same are told apart by their place.
    pub(super) fn messages_of_jobs(&self, history: &[Arc<Message>]) -> Vec<(Arc<Message>, String)> {
        let mut found = Vec::new();
        let mut left = &self.sent[..];
        for message in history.iter().rev() {
            if left.iter().all(|sender| sender.job.is_none()) {
                break;
            }
            let Some(words) = prompt(message).map(hash) else { continue };
            let Some(at) = left.iter().rposition(|sender| sender.active && sender.words == words) else {
                continue;
            };
            found.extend(left[at].job.clone().map(|job| (message.clone(), job)));
            left = &left[..at];
        }
        found.reverse();
        found
    }
}

/// Returns what a message says that may have begun a turn.
fn prompt(message: &Message) -> Option<&str> {
    let has_results = message.blocks.iter().any(|block| matches!(block, Block::ToolResult(_)));
    if message.role != Role::User || has_results {
        return None;
    }
    message.blocks.iter().find_map(|block| match block {
        Block::Text(text) if !text.trim().is_empty() => Some(text.as_str()),
        _ => None,
    })
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::decode::decode;

    /// Returns what jobs sent of a conversation with these prompts, by place.
    fn places(lines: &[&str], history: &[&str]) -> Vec<(usize, String)> {
        let mut senders = Senders::default();
        for line in lines {
            let decoded = decode(line.as_bytes());
            assert_eq!(decoded.damage, None, "{line}");
            decoded.records.iter().for_each(|record| senders.note(record));
        }
        let history: Vec<_> = history.iter().map(|text| Arc::new(Message::user(*text))).collect();
        let found = senders.messages_of_jobs(&history);
        let place =
            |sent: &Arc<Message>| history.iter().position(|message| Arc::ptr_eq(message, sent)).unwrap();
        found.iter().map(|(message, job)| (place(message), job.clone())).collect()
    }

    #[test]
    fn the_same_words_are_told_apart_by_their_place() {
        const TYPED: &str = r#"{"type":"message","role":"user","text":"look"}"#;
        const SENT: &str = r#"{"type":"message","role":"user","text":"look","scheduled":"late"}"#;
        const OTHER: &str = r#"{"type":"message","role":"user","text":"and?"}"#;
        const BACK: &str = r#"{"type":"rewound","to_turn":2,"what":"chat"}"#;
        const AGAIN: &str = r#"{"type":"rewound","to_turn":2,"what":"chat","redo":true}"#;
        let late = |places: &[usize]| places.iter().map(|at| (*at, "late".to_owned())).collect::<Vec<_>>();
        for (lines, history, sent) in [
            (&[SENT, TYPED][..], &["look", "look"][..], late(&[0])),
            (&[TYPED, SENT], &["look", "look"], late(&[1])),
            (&[SENT, OTHER, TYPED, OTHER, SENT], &["look", "and?", "look", "and?", "look"], late(&[0, 4])),
            // A compaction has put a summary in the place of the first.
            (&[SENT, TYPED, OTHER], &["What was said before: much", "look", "and?"], late(&[])),
            (&[TYPED, SENT, OTHER], &["What was said before: much", "look", "and?"], late(&[1])),
            // A turn that was taken back does not count.
            (&[SENT, TYPED, BACK, OTHER], &["look", "and?"], late(&[0])),
            (&[SENT, OTHER, BACK, TYPED], &["look", "look"], late(&[0])),
            (&[TYPED, OTHER], &["look", "and?"], late(&[])),
            // A redo brings back what the last undo took: what was said before another one is said by somebody else.
            (&[TYPED, SENT, BACK, OTHER, BACK, AGAIN, TYPED], &["look", "and?", "look"], late(&[])),
            (&[TYPED, SENT, BACK, AGAIN], &["look", "look"], late(&[1])),
        ] {
            assert_eq!(places(lines, history), sent, "{lines:?} {history:?}");
        }
    }
}
