//! The conversation so far, as it is sent. It only grows, except that a turn that came to nothing is taken back, and
//! that a compaction replaces the view; what it replaced is kept, so that it can be taken back, too.

use std::sync::Arc;

use zori_core::compaction::Replaced;
use zori_core::ids::CallId;
use zori_core::message::{Block, Message, Role};

/// Messages with alternating roles. Shared, so that a provider recognises what it has encoded before.
#[derive(Debug, Default)]
pub(crate) struct History {
    messages: Vec<Arc<Message>>,
    /// The views before, the oldest first.
    replaced: Vec<Replaced>,
}

/// A place to go back to.
pub(crate) struct Mark {
    len: usize,
    last: Option<Arc<Message>>,
    views: usize,
    since: usize,
}

impl History {
    pub(crate) fn new(messages: Vec<Arc<Message>>, replaced: Vec<Replaced>) -> Self {
        Self { messages, replaced }
    }

    pub(crate) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Returns the ids of the tool calls the model has made; one may be in several views.
    pub(crate) fn call_ids(&self) -> impl Iterator<Item = &CallId> {
        let views = self.replaced.iter().map(|replaced| &replaced.view).chain([&self.messages]);
        views.flatten().flat_map(|message| message.calls().map(|call| &call.id))
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            len: self.messages.len(),
            last: self.messages.last().cloned(),
            views: self.replaced.len(),
            since: self.replaced.last().map_or(0, |replaced| replaced.since.len()),
        }
    }

    /// Goes back, unless the view was replaced meanwhile: then what was said since is part of it.
    pub(crate) fn back_to(&mut self, mark: Mark) {
        if self.replaced.len() != mark.views {
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

    /// Adds a message. A neighbour of the same role is joined, since providers want roles to alternate.
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

    pub(crate) fn push_user(&mut self, blocks: Vec<Block>) {
        self.push(Arc::new(Message { role: Role::User, blocks }));
    }

    /// Sends another view of the conversation from now on.
    pub(crate) fn replace(&mut self, view: Vec<Arc<Message>>) {
        let view = std::mem::replace(&mut self.messages, view);
        self.replaced.push(Replaced { view, since: Vec::new() });
    }

    /// Goes back to the view before the last replacement, with what was said since. Returns whether there was one.
    pub(crate) fn undo(&mut self) -> bool {
        let Some(Replaced { view, since }) = self.replaced.pop() else { return false };
        self.messages = view;
        since.into_iter().for_each(|message| self.push(message));
        true
    }
}
