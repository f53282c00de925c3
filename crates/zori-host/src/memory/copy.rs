//! What of a session can be recalled: prompts and answers of turns that were not taken back.

use std::collections::BTreeSet;

use zori_core::ids::SessionId;
use zori_core::message::Role;
use zori_index::SessionCopy;
use zori_store::{RecordKind, SessionDir, title};

/// Reads a session; `None` where that is not possible.
pub(super) fn of(sessions: &SessionDir, id: &SessionId) -> Option<SessionCopy> {
    let mut copy = SessionCopy::default();
    let (mut turn, mut taken_back) = (0, BTreeSet::new());
    // The turns that each undo took back.
    let mut undone: Vec<Vec<u32>> = Vec::new();
    for record in sessions.records(id).ok()?? {
        let record = record.ok()?;
        let begins = record.begins_turn();
        if record.discarded {
            continue;
        }
        match record.kind {
            RecordKind::Message { role, text, .. } if begins || role == Role::Assistant => {
                turn += u32::from(begins);
                if begins && copy.title.is_empty() {
                    copy.title = title(&text);
                }
                let role = if begins { "user" } else { "assistant" };
                copy.messages.push((turn, role, text, record.ts));
            }
            RecordKind::Rewound { to_turn, what, redo, .. } if what != "files" => match redo {
                // A redo brings back what its undo took, and no more.
                true => {
                    let back = undone.pop().unwrap_or_default();
                    taken_back.retain(|turn| !back.contains(turn));
                }
                false => undone.push((to_turn..=turn).filter(|turn| taken_back.insert(*turn)).collect()),
            },
            _ => {}
        }
    }
    copy.messages.retain(|(turn, ..)| !taken_back.contains(turn));
    Some(copy)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// Of four prompts one undo took the third, another one the second and the fourth; a redo takes that one back.
    #[test]
    fn a_redo_brings_back_what_its_undo_took() {
        let dir = tempfile::tempdir().unwrap();
        let prompt = |text: &str| format!(r#"{{"type":"message","role":"user","text":"{text}"}}"#);
        let back = |turn: u32| format!(r#"{{"type":"rewound","to_turn":{turn},"what":"chat"}}"#);
        let again = r#"{"type":"rewound","to_turn":2,"what":"chat","redo":true}"#.to_owned();
        let lines = [
            r#"{"type":"meta","schema_version":1}"#.to_owned(),
            prompt("one"),
            prompt("two"),
            prompt("three"),
            back(3),
            prompt("four"),
            back(2),
            again,
        ];
        fs::write(dir.path().join("s.jsonl"), lines.join("\n") + "\n").unwrap();
        let copy = of(&SessionDir::new(dir.path()), &SessionId::parse("s").unwrap()).unwrap();
        let left: Vec<_> = copy.messages.iter().map(|(turn, _, text, _)| (*turn, text.as_str())).collect();
        assert_eq!(left, [(1, "one"), (2, "two"), (4, "four")]);
    }
}
