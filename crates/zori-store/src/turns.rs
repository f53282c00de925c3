//! The turns of a session: what began each, what it changed, and whether it was taken back. Pure.

use zori_core::ids::CallId;

use crate::record::{Record, RecordKind};

/// A turn of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionTurn {
    /// The number, from 1.
    pub number: u32,
    pub prompt: String,
    /// The name a client knows the prompt by.
    pub uuid: Option<String>,
    /// How many records of the file come before it.
    pub records_before: u64,
    /// Whether the conversation still has it.
    pub active: bool,
    /// How many files were created, modified and deleted.
    pub changed: [u64; 3],
    /// The calls that the model made in it.
    pub calls: Vec<CallId>,
}

/// Returns the turns in order.
pub fn turns(records: impl IntoIterator<Item = Record>) -> Vec<SessionTurn> {
    let mut turns: Vec<SessionTurn> = Vec::new();
    for (at, record) in records.into_iter().enumerate() {
        let begins = record.begins_turn();
        match record.kind {
            RecordKind::Message { text, uuid, .. } if begins => turns.push(SessionTurn {
                number: turns.len() as u32 + 1,
                prompt: text,
                uuid,
                records_before: at as u64,
                active: true,
                changed: [0; 3],
                calls: Vec::new(),
            }),
            RecordKind::ToolUse(call) => {
                if let Some(turn) = turns.last_mut() {
                    turn.calls.push(call.id);
                }
            }
            RecordKind::Changed { created, modified, deleted, .. } => {
                if let Some(turn) = turns.last_mut() {
                    for (sum, more) in turn.changed.iter_mut().zip([created, modified, deleted]) {
                        *sum += more;
                    }
                }
            }
            RecordKind::Rewound { to_turn, what, redo, .. } if what != "files" => {
                turns.iter_mut().filter(|turn| turn.number >= to_turn).for_each(|turn| turn.active = redo);
            }
            _ => {}
        }
    }
    turns
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::decode::decode;

    #[test]
    fn what_was_taken_back_and_what_came_again() {
        let lines = [
            r#"{"type":"meta","schema_version":1}"#,
            r#"{"type":"message","role":"user","text":"one","ts":""}"#,
            r#"{"type":"message","role":"user","text":"[hook]","ts":"","within_turn":true}"#,
            r#"{"type":"tool_use","id":"toolu_1","name":"bash","input":{},"ts":""}"#,
            r#"{"type":"changed","op":1,"created":1,"modified":2,"deleted":0,"ts":""}"#,
            r#"{"type":"message","role":"assistant","text":"1","ts":""}"#,
            r#"{"type":"message","role":"user","text":"two","ts":""}"#,
            r#"{"type":"rewound","to_turn":2,"what":"both","ts":""}"#,
            r#"{"type":"message","role":"user","text":"three","ts":""}"#,
        ];
        let read = |lines: &[&str]| {
            let turns = turns(lines.iter().flat_map(|line| decode(line.as_bytes()).records));
            let line = |t: SessionTurn| {
                let calls: String = t.calls.iter().map(|call| format!(" {call}")).collect();
                format!("{} {} {} {} {:?}{calls}", t.number, t.prompt, t.records_before, t.active, t.changed)
            };
            turns.into_iter().map(line).collect::<Vec<_>>()
        };
        assert_eq!(
            read(&lines),
            ["1 one 1 true [1, 2, 0] toolu_1", "2 two 6 false [0, 0, 0]", "3 three 8 true [0, 0, 0]"]
        );
        let redo = r#"{"type":"rewound","to_turn":2,"what":"both","redo":true,"ts":""}"#;
        let all: Vec<_> = lines.into_iter().chain([redo]).collect();
        assert_eq!(read(&all)[1], "2 two 6 true [0, 0, 0]");
    }
}
