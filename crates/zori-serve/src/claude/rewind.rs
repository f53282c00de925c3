//! `--resume-session-at`: the conversation up to a message, found by the name it was told by.
//!
//! Names are not in the session's file. They are made from the session's name and from where the message stands in it
//! (`zori_frontends::claude::block_uuid`), so that every later run can make them again. A copy of a session has its messages
//! under the name of the session they were said in.

use std::sync::Arc;

use zori_core::ids::SessionId;
use zori_core::message::{Block, Message, Role};
use zori_frontends::claude::block_uuid;
use zori_frontends::claude::sdk::is_sent;
use zori_store::{Record, RecordKind, SessionDir};

/// Returns the conversation up to and including a message. An error says why there is none.
pub fn history(sessions: &SessionDir, id: &SessionId, uuid: &str) -> Result<Vec<Arc<Message>>, String> {
    let unreadable = |error: zori_store::StoreError| format!("cannot read session `{id}`: {error}");
    let missing = || format!("No message found with message.uuid of: {uuid}");
    let records = sessions.records(id).map_err(unreadable)?.ok_or_else(missing)?;
    let mut names = vec![id.as_str().to_owned()];
    let (mut read, mut reply, mut block) = (0, 0, 0);
    for record in records {
        let record = record.map_err(unreadable)?;
        read += 1;
        if let RecordKind::Meta(meta) = &record.kind {
            names.extend(meta.parent.clone());
            names.extend(meta.parent.iter().flat_map(|parent| ancestors(sessions, parent)));
        }
        if is_shown(&record) {
            if names.iter().any(|name| block_uuid(name, reply, block) == uuid) {
                let loaded = sessions.load_first(id, read).map_err(unreadable)?;
                return loaded.map(|loaded| loaded.history).ok_or_else(missing);
            }
            block += 1;
        }
        // A summary is a reply, too, but nobody was told of it.
        if record.reply_end.is_some() && !matches!(record.kind, RecordKind::Compacted { .. }) {
            (reply, block) = (reply + 1, 0);
        }
    }
    Err(missing())
}

/// Returns the sessions that a copy comes from in the end, as far as they are there.
fn ancestors(sessions: &SessionDir, parent: &str) -> Vec<String> {
    let (mut found, mut next) = (Vec::new(), parent.to_owned());
    // A session cannot be its own ancestor, but a file can say so.
    for _ in 0..100 {
        let first = SessionId::parse(&next).ok().and_then(|id| sessions.records(&id).ok().flatten()?.next());
        let Some(Ok(Record { kind: RecordKind::Meta(meta), .. })) = first else { break };
        let Some(parent) = meta.parent else { break };
        found.push(parent.clone());
        next = parent;
    }
    found
}

/// Returns whether a record is something that the client was told the model said.
fn is_shown(record: &Record) -> bool {
    match &record.kind {
        RecordKind::Message { role: Role::Assistant, text, .. } => is_sent(&Block::Text(text.clone())),
        RecordKind::Reasoning(thinking) => is_sent(&Block::Thinking(thinking.clone())),
        RecordKind::ToolUse(_) => true,
        _ => false,
    }
}
