//! The turns of a session: what began each, what it changed, and whether it was taken back. Pure.

use zori_core::ids::CallId;

use crate::record::{Record, RecordKind};

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
    // The turns that each undo took back.
    let mut undone: Vec<Vec<u32>> = Vec::new();
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
            RecordKind::Rewound { redo: true, what, .. } if what != "files" => {
                let back = undone.pop().unwrap_or_default();
                turns
                    .iter_mut()
                    .filter(|turn| back.contains(&turn.number))
                    .for_each(|turn| turn.active = true);
            }
            RecordKind::Rewound { to_turn, what, .. } if what != "files" => {
                let mut gone = Vec::new();
                for turn in turns.iter_mut().filter(|turn| turn.number >= to_turn && turn.active) {
                    turn.active = false;
                    gone.push(turn.number);
                }
                undone.push(gone);
            }
            _ => {}
        }
    }
    turns
}

/// An undo that can be taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LastUndo {
    /// The turn whose beginning was the goal.
    pub to_turn: u32,
    /// Whether files were changed by it.
    pub files: bool,
}

/// Returns the last undo that was not taken back.
pub fn last_undo(records: impl IntoIterator<Item = Record>) -> Option<LastUndo> {
    let mut undos: Vec<LastUndo> = Vec::new();
    for record in records {
        let RecordKind::Rewound { to_turn, what, op, redo, .. } = record.kind else { continue };
        let only_files = what == "files";
        match redo {
            // Files alone come back from the last undo that had any.
            true => {
                let last = undos.iter().rposition(|undo| undo.files || !only_files);
                last.map(|at| undos.remove(at));
            }
            false if op.is_some() || !only_files => undos.push(LastUndo { to_turn, files: op.is_some() }),
            false => {}
        }
    }
    undos.pop()
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

    #[test]
    fn each_redo_is_of_one_undo() {
        let prompt = |text: &str| format!(r#"{{"type":"message","role":"user","text":"{text}","ts":""}}"#);
        let back = |turn: u32, more: &str| format!(r#"{{"type":"rewound","to_turn":{turn},{more},"ts":""}}"#);
        let redo = |what: &str| back(1, &format!(r#""what":"{what}","redo":true"#));
        let mut lines = vec![prompt("one"), prompt("two"), prompt("three")];
        let (chat, both, files) = (r#""what":"chat""#, r#""what":"both","op":7"#, r#""what":"files","op":8"#);
        lines.extend([back(3, chat), back(2, both), back(1, files), back(1, r#""what":"files""#)]);
        let read = |lines: &[String]| {
            let records = || lines.iter().flat_map(|line| decode(line.as_bytes()).records);
            let active: Vec<_> = turns(records()).into_iter().map(|turn| turn.active).collect();
            (active, last_undo(records()).map(|undo| (undo.to_turn, undo.files)))
        };
        assert_eq!(read(&lines), (vec![true, false, false], Some((1, true))));
        lines.push(redo("files"));
        assert_eq!(read(&lines), (vec![true, false, false], Some((2, true))));
        lines.push(redo("both"));
        assert_eq!(read(&lines), (vec![true, true, false], Some((3, false))));
        lines.push(redo("files"));
        assert_eq!(read(&lines), (vec![true, true, false], Some((3, false))), "it had no files");
        lines.push(redo("chat"));
        assert_eq!(read(&lines), (vec![true, true, true], None));
    }
}
