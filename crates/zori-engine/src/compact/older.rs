//! Replaces the older messages of a conversation by a note. Pure.
//!
//! The view that results begins with one message of the user: the first prompt, the note, and the last prompt if it
//! was among the older messages. What is kept begins with a message of the model, so that roles alternate and no call
//! is without its result.

use std::sync::Arc;

use zori_core::message::{Block, Message, Role};

use crate::context;

/// A part that saves less is not worth a note.
const WORTH_BYTES: u64 = 1024;

/// The start of every note. A later compaction tells notes from prompts by it.
pub(crate) const NOTE_HEAD: &str =
    "[Note: the older part of this conversation was left out to save context. ";

/// Returns where the messages that are kept begin, so that they have about `budget` bytes at most; `None` where there
/// is too little before them.
pub(crate) fn split(messages: &[Arc<Message>], budget: u64) -> Option<usize> {
    let (mut at, mut bytes) = (messages.len(), 0);
    let mut smallest = None;
    for (i, message) in messages.iter().enumerate().rev() {
        bytes += context::size(std::slice::from_ref(message));
        if message.role == Role::Assistant {
            smallest.get_or_insert((i, bytes));
            if bytes <= budget {
                at = i;
            }
        }
    }
    // The last words of the model, where they do not take up too much; with their results where they are calls.
    if let Some((i, bytes)) = smallest.filter(|_| at == messages.len())
        && (bytes <= budget.saturating_mul(2) || messages[i].calls().next().is_some())
    {
        at = i;
    }
    worth(&messages[..at]).then_some(at)
}

/// Returns the end of the messages, where none of them is kept; `None` where they have too little.
pub(crate) fn all(messages: &[Arc<Message>]) -> Option<usize> {
    worth(messages).then_some(messages.len())
}

/// Returns whether a note in the place of these messages saves anything.
fn worth(older: &[Arc<Message>]) -> bool {
    let kept: usize = prompts(older).map(str::len).sum();
    context::size(older) >= kept as u64 + WORTH_BYTES
}

/// Returns the view in which the messages before `at` are replaced by a note.
pub(crate) fn replace_with_note(messages: &[Arc<Message>], at: usize, note: String) -> Vec<Arc<Message>> {
    let mut prompts = prompts(&messages[..at]);
    let first = prompts.next().map(|text| Block::Text(text.to_owned()));
    let last = prompts.next().map(|text| Block::Text(text.to_owned()));
    let blocks = first.into_iter().chain([Block::Text(note)]).chain(last).collect();
    let head = Arc::new(Message { role: Role::User, blocks });
    [head].into_iter().chain(messages[at..].iter().cloned()).collect()
}

/// Cuts the first prompt of a view that begins with a note, unless it is the only one.
pub(crate) fn cut_first_prompt(messages: &[Arc<Message>], most: usize) -> Vec<Arc<Message>> {
    let mut view = messages.to_vec();
    let Some(head) = view.first_mut() else { return view };
    let is_prompt = |block: &Block| matches!(block, Block::Text(text) if !text.starts_with(NOTE_HEAD));
    if head.blocks.iter().filter(|block| is_prompt(block)).count() < 2 {
        return view;
    }
    let mut blocks = head.blocks.clone();
    if let Some(Block::Text(text)) = blocks.iter_mut().find(|block| is_prompt(block)) {
        *text = super::summary::shortened(text, most);
    }
    *head = Arc::new(Message { role: head.role, blocks });
    view
}

/// Returns the first and the last prompt; only one where they are the same.
fn prompts(messages: &[Arc<Message>]) -> impl Iterator<Item = &str> {
    let mut all = messages.iter().filter(|message| message.role == Role::User).flat_map(|message| {
        message.blocks.iter().filter_map(|block| match block {
            Block::Text(text) if !text.starts_with(NOTE_HEAD) => Some(text.as_str()),
            _ => None,
        })
    });
    let first = all.next();
    first.into_iter().chain(all.last())
}
