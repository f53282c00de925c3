//! Repairs records to a history that providers accept (SES-10, LOG-11): it starts with the user, roles alternate, each
//! call has exactly one result in the message that follows it, and ids are unique. One pure function.

use std::collections::HashMap;

use zori_core::ids::CallId;
use zori_core::message::{Block, Message, Role, ToolCall, ToolResult};
use zori_core::tool::{ToolCode, ToolOutput};

use crate::record::{Record, RecordKind};

/// Returns the conversation of the records, repaired where some of them are missing.
pub fn repair(records: impl IntoIterator<Item = Record>) -> Vec<Message> {
    repair_after(&[], records)
}

/// Returns the messages that the records add to a known conversation. Its last message and the first returned one may
/// have the same role.
pub(crate) fn repair_after(known: &[Message], records: impl IntoIterator<Item = Record>) -> Vec<Message> {
    let ids = known.iter().flat_map(|message| message.calls()).map(|call| (call.id.clone(), 1));
    let mut mending =
        HistoryBuilder { uses: ids.collect(), follows: !known.is_empty(), ..HistoryBuilder::default() };
    for record in records.into_iter().filter(|record| !record.discarded) {
        let ends_reply = record.reply_end.is_some();
        match record.kind {
            RecordKind::Message { role: Role::User, text, images, .. } => {
                mending.texts.extend(images.into_iter().map(Block::Image));
                mending.user_text(text);
            }
            RecordKind::Message { role: Role::Assistant, text, .. } => mending.assistant(Block::Text(text)),
            RecordKind::Reasoning(thinking) => mending.assistant(Block::Thinking(thinking)),
            RecordKind::ToolUse(call) => mending.call(call),
            RecordKind::ToolResult { call, output: envelope, ok, text, images } => {
                mending.result(ToolResult { call, name: String::new(), ok, envelope, text, images });
            }
            RecordKind::Meta(_)
            | RecordKind::Interrupted
            | RecordKind::Approval { .. }
            | RecordKind::Compacted { .. }
            | RecordKind::Changed { .. }
            | RecordKind::Rewound { .. }
            | RecordKind::Notice { .. } => {}
        }
        mending.reply_over |= ends_reply;
    }
    mending.close();
    mending.done
}

/// The first message where the user's own is lost, since a history cannot start with the model.
const LOST_START: &str = "[The beginning of this conversation could not be read.]";

/// The result for a call whose own result is lost, so that the model can decide to call again.
const LOST_RESULT: &str = "The session ended before this call had a result, so it may or may not have run. Check its effects, then \
     call it again if it is still needed.";

/// One exchange while it is put together: what the model said, and what the user and the tools answered.
#[derive(Default)]
struct HistoryBuilder {
    done: Vec<Message>,
    said: Vec<Block>,
    /// The results of the calls in `said`, by the id in the file.
    results: HashMap<CallId, ToolResult>,
    texts: Vec<Block>,
    /// Whether the reply in `said` is known to be complete.
    reply_over: bool,
    /// Whether something was said before.
    follows: bool,
    /// How often an id was used in all of the session.
    uses: HashMap<CallId, u32>,
}

impl HistoryBuilder {
    fn user_text(&mut self, text: String) {
        if !text.trim().is_empty() {
            self.texts.push(Block::Text(text));
        }
    }

    fn assistant(&mut self, block: Block) {
        let answered = !self.texts.is_empty() || !self.results.is_empty();
        let unanswered_calls = self.reply_over && self.said.iter().any(|b| matches!(b, Block::ToolCall(_)));
        if answered || unanswered_calls {
            self.close();
        }
        self.reply_over = false;
        match block {
            Block::Text(text) if text.trim().is_empty() => {}
            block => self.said.push(block),
        }
    }

    fn call(&mut self, call: ToolCall) {
        // The same call twice in one reply is one record written twice.
        let open = !self.reply_over && self.results.is_empty() && self.texts.is_empty();
        if !(open && self.has_call(&call.id)) {
            self.assistant(Block::ToolCall(call));
        }
    }

    fn result(&mut self, result: ToolResult) {
        if self.has_call(&result.call) {
            self.results.entry(result.call.clone()).or_insert(result);
        }
    }

    fn has_call(&self, id: &CallId) -> bool {
        self.said.iter().any(|block| matches!(block, Block::ToolCall(call) if call.id == *id))
    }

    /// Moves the exchange to the history.
    fn close(&mut self) {
        // Providers refuse a message that ends in reasoning: it is what a reply cut off early leaves.
        while matches!(self.said.last(), Some(Block::Thinking(_))) {
            self.said.pop();
        }
        let mut answers = Vec::new();
        for block in &mut self.said {
            let Block::ToolCall(call) = block else { continue };
            let mut result = self.results.remove(&call.id).unwrap_or_else(|| lost_result(call.id.clone()));
            call.id = unused(&mut self.uses, &call.id);
            result.call = call.id.clone();
            result.name.clone_from(&call.name);
            answers.push(Block::ToolResult(result));
        }
        answers.append(&mut self.texts);
        let said = std::mem::take(&mut self.said);
        if self.done.is_empty() && !self.follows && !said.is_empty() {
            self.done.push(Message::user(LOST_START));
        }
        push(&mut self.done, Role::Assistant, said);
        push(&mut self.done, Role::User, answers);
        self.results.clear();
        self.reply_over = false;
    }
}

/// Adds a message, or adds to the last one where it is of the same role.
pub(crate) fn push(history: &mut Vec<Message>, role: Role, blocks: Vec<Block>) {
    if blocks.is_empty() {
        return;
    }
    match history.last_mut() {
        Some(last) if last.role == role => last.blocks.extend(blocks),
        _ => history.push(Message { role, blocks }),
    }
}

fn lost_result(call: CallId) -> ToolResult {
    let output = ToolOutput::failure(ToolCode::Canceled, LOST_RESULT);
    ToolResult {
        call,
        name: String::new(),
        ok: false,
        envelope: output.envelope,
        text: None,
        images: Vec::new(),
    }
}

/// Returns the id itself the first time, then the id with a number. Providers that issue no ids are given made
/// ones, which may repeat over a session.
fn unused(uses: &mut HashMap<CallId, u32>, id: &CallId) -> CallId {
    let mut candidate = id.clone();
    loop {
        let count = uses.entry(id.clone()).and_modify(|n| *n += 1).or_insert(1);
        if *count > 1 {
            candidate = CallId::new(format!("{id}-{count}"));
        }
        let taken = candidate != *id && uses.contains_key(&candidate);
        if !taken {
            uses.entry(candidate.clone()).or_insert(1);
            return candidate;
        }
    }
}

#[cfg(test)]
mod tests;
