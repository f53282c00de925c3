//! The conversation as it is sent. It only grows, except that a turn without any reply is rolled back, and that a
//! compaction replaces the view. Replaced views are kept so that a compaction can be undone, as many as fit a bound; those
//! before them are made again from the session's file.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use zori_core::compaction::ReplacedView;
use zori_core::ids::CallId;
use zori_core::message::{Block, Message, Role};
use zori_core::tool::Toolbox;

use crate::context;
use crate::parts::{SavedSession, SavedViews};

/// How much of replaced views is held in memory, beyond what is in the view that is sent.
const UNDO_BYTES: u64 = 4 << 20;

/// Messages with alternating roles. They are shared, so that a provider recognises what it has encoded before.
#[derive(Debug, Default)]
pub(crate) struct History {
    messages: Vec<Arc<Message>>,
    /// The views that compactions replaced, oldest first.
    replaced: Vec<ReplacedView>,
    /// Whether there were views before those, which are in the session's file alone.
    forgotten: bool,
    /// How often the view was replaced or restored.
    changes: usize,
}

/// A state to roll back to.
pub(crate) struct Mark {
    len: usize,
    last: Option<Arc<Message>>,
    changes: usize,
    since: usize,
}

impl History {
    pub(crate) fn new(messages: Vec<Arc<Message>>, replaced: Vec<ReplacedView>) -> Self {
        Self { messages, replaced, forgotten: false, changes: 0 }
    }

    /// Gives results of a session file, which keeps envelopes, the text that the model reads (FOR-2). Messages that several
    /// views share stay shared.
    pub(crate) fn read_through(&mut self, toolbox: &dyn Toolbox) {
        let mut known: HashMap<*const Message, Arc<Message>> = HashMap::new();
        let views = self.replaced.iter_mut().flat_map(|replaced| [&mut replaced.view, &mut replaced.since]);
        for message in views.chain([&mut self.messages]).flatten() {
            let plain =
                known.entry(Arc::as_ptr(message)).or_insert_with(|| with_plain_results(message, toolbox));
            *message = plain.clone();
        }
    }

    pub(crate) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Returns the ids of all tool calls; an id may occur in several views.
    pub(crate) fn call_ids(&self) -> impl Iterator<Item = &CallId> {
        let views = self.replaced.iter().map(|replaced| &replaced.view).chain([&self.messages]);
        views.flatten().flat_map(|message| message.calls().map(|call| &call.id))
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            len: self.messages.len(),
            last: self.messages.last().cloned(),
            changes: self.changes,
            since: self.replaced.last().map_or(0, |replaced| replaced.since.len()),
        }
    }

    /// Rolls back to the mark, unless a compaction has replaced the view since.
    pub(crate) fn roll_back(&mut self, mark: Mark) {
        if self.changes != mark.changes {
            return;
        }
        self.messages.truncate(mark.len);
        if let (Some(slot), Some(last)) = (self.messages.last_mut(), mark.last) {
            *slot = last;
        }
        if let Some(replaced) = self.replaced.last_mut() {
            replaced.since.truncate(mark.since);
        }
    }

    /// Adds a message, merged into the last one if that has the same role: providers want roles to alternate.
    pub(crate) fn push(&mut self, message: Arc<Message>) {
        if let Some(replaced) = self.replaced.last_mut() {
            replaced.since.push(message.clone());
        }
        match self.messages.last_mut() {
            Some(last) if last.role == message.role => {
                let blocks = last.blocks.iter().chain(&message.blocks).cloned().collect();
                *last = Arc::new(Message { role: message.role, blocks });
            }
            _ => self.messages.push(message),
        }
    }

    /// Takes the last reply back if it says nothing: providers leave such a message out, and two of the user would follow
    /// each other.
    pub(crate) fn take_back_empty_reply(&mut self) {
        let is_empty = |message: &Arc<Message>| {
            message.role == Role::Assistant
                && message.calls().next().is_none()
                && message.text().trim().is_empty()
        };
        if self.messages.last().is_some_and(is_empty) {
            self.messages.pop();
            if let Some(replaced) = self.replaced.last_mut() {
                replaced.since.pop();
            }
        }
    }

    pub(crate) fn push_user(&mut self, blocks: Vec<Block>) {
        self.push(Arc::new(Message { role: Role::User, blocks }));
    }

    /// Replaces the view of the conversation that is sent.
    pub(crate) fn replace(&mut self, view: Vec<Arc<Message>>, saved: Option<&SavedSession>) {
        let view = std::mem::replace(&mut self.messages, view);
        self.replaced.push(ReplacedView { view, since: Vec::new() });
        self.changes += 1;
        self.forget_oldest(saved);
    }

    /// Takes something out of the messages that are sent, for good.
    pub(crate) fn revise(&mut self, revised: impl Fn(&Arc<Message>) -> Arc<Message>) {
        for message in &mut self.messages {
            *message = revised(message);
        }
    }

    /// Restores the view before the last replacement, with the messages added since. Returns whether there was one.
    pub(crate) fn undo(&mut self, saved: Option<&SavedSession>) -> bool {
        if self.replaced.is_empty()
            && self.forgotten
            && let Some(SavedViews { history, replaced }) = saved.and_then(|saved| (saved.load)())
        {
            (self.messages, self.replaced, self.forgotten) = (history, replaced, false);
        }
        let Some(ReplacedView { view, since }) = self.replaced.pop() else { return false };
        self.messages = view;
        since.into_iter().for_each(|message| self.push(message));
        self.changes += 1;
        self.forget_oldest(saved);
        true
    }

    /// Forgets the oldest replaced views that are too much for memory. Of a session that is not saved, the last one stays.
    pub(crate) fn forget_oldest(&mut self, saved: Option<&SavedSession>) {
        let least = usize::from(saved.is_none());
        let mut seen: HashSet<*const Message> = self.messages.iter().map(Arc::as_ptr).collect();
        let mut bytes = 0;
        let held = self.replaced.iter().rev().take_while(|replaced| {
            let messages = replaced.view.iter().chain(&replaced.since);
            let new = messages.filter(|message| seen.insert(Arc::as_ptr(message)));
            bytes += new.map(|message| context::size(std::slice::from_ref(message))).sum::<u64>();
            bytes <= UNDO_BYTES
        });
        let held = held.count().max(least);
        let forgotten = self.replaced.len().saturating_sub(held);
        self.forgotten |= forgotten > 0;
        self.replaced.drain(..forgotten);
    }

    /// Returns how many replaced views are held.
    #[cfg(test)]
    pub(crate) fn held(&self) -> usize {
        self.replaced.len()
    }
}

/// Returns the message with the texts of its results, where the session file has none.
fn with_plain_results(message: &Arc<Message>, toolbox: &dyn Toolbox) -> Arc<Message> {
    let mut changed = None;
    for (at, block) in message.blocks.iter().enumerate() {
        if let Block::ToolResult(result) = block
            && result.text.is_none()
            && let Some(text) = toolbox.plain(&result.name, &result.envelope)
            && let Block::ToolResult(result) = &mut changed.get_or_insert_with(|| message.blocks.clone())[at]
        {
            result.text = Some(text);
        }
    }
    match changed {
        Some(blocks) => Arc::new(Message { role: message.role, blocks }),
        None => message.clone(),
    }
}
