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
                true => taken_back.retain(|turn| *turn < to_turn),
                false => taken_back.extend(to_turn..=turn),
            },
            _ => {}
        }
    }
    copy.messages.retain(|(turn, ..)| !taken_back.contains(turn));
    Some(copy)
}
