//! The conversation so far. It only grows, except that a turn that came to nothing is taken back.

use std::sync::Arc;

use zori_core::message::{Block, Message, Role};

/// Messages with alternating roles. Shared, so that a provider recognises what it has encoded before.
#[derive(Debug, Default)]
pub(crate) struct History {
    messages: Vec<Arc<Message>>,
}

/// A place to go back to.
pub(crate) struct Mark {
    len: usize,
    last: Option<Arc<Message>>,
}

impl History {
    pub(crate) fn new(messages: Vec<Arc<Message>>) -> Self {
        Self { messages }
    }

    pub(crate) fn messages(&self) -> &[Arc<Message>] {
        &self.messages
    }

    /// Returns how many tool calls the model has made.
    pub(crate) fn calls(&self) -> usize {
        self.messages.iter().map(|message| message.calls().count()).sum()
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark { len: self.messages.len(), last: self.messages.last().cloned() }
    }

    pub(crate) fn back_to(&mut self, mark: Mark) {
        self.messages.truncate(mark.len);
        if let (Some(slot), Some(last)) = (self.messages.last_mut(), mark.last) {
            *slot = last;
        }
    }

    /// Adds a message. A neighbour of the same role is joined, since providers want roles to alternate.
    pub(crate) fn push(&mut self, message: Arc<Message>) {
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
}
