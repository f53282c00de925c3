//! Replaces the older messages of a conversation by a note. Pure.
//!
//! The view that results begins with one message of the user: the first prompt, the skills that came with prompts, the note, and the last
//! prompt if it was among the older messages. What is kept begins with a message of the model, so that roles alternate and no call
//! is without its result.

use std::sync::Arc;

use zori_core::message::{Block, Message, Role, SKILL_HEAD};

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
    let kept: usize = prompts(older).chain(skills(older)).map(str::len).sum();
    context::size(older) >= kept as u64 + WORTH_BYTES
}

/// Returns the view in which the messages before `at` are replaced by a note.
pub(crate) fn replace_with_note(messages: &[Arc<Message>], at: usize, note: String) -> Vec<Arc<Message>> {
    let mut prompts = prompts(&messages[..at]);
    let first = prompts.next().map(|text| Block::Text(text.to_owned()));
    let last = prompts.next().map(|text| Block::Text(text.to_owned()));
    let skills = skills(&messages[..at]).map(|text| Block::Text(text.to_owned()));
    let blocks = first.into_iter().chain(skills).chain([Block::Text(note)]).chain(last).collect();
    let head = Arc::new(Message { role: Role::User, blocks });
    [head].into_iter().chain(messages[at..].iter().cloned()).collect()
}

/// Cuts the first prompt of a view that begins with a note, unless it is the only one.
pub(crate) fn cut_first_prompt(messages: &[Arc<Message>], most: usize) -> Vec<Arc<Message>> {
    let mut view = messages.to_vec();
    let Some(head) = view.first_mut() else { return view };
    let is_prompt = |block: &Block| matches!(block, Block::Text(text) if is_prompt(text));
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
            Block::Text(text) if is_prompt(text) => Some(text.as_str()),
            _ => None,
        })
    });
    let first = all.next();
    first.into_iter().chain(all.last())
}

/// Returns whether a text of the user's is what they said, and not a note or a skill beside it.
fn is_prompt(text: &str) -> bool {
    !text.starts_with(NOTE_HEAD) && !text.starts_with(SKILL_HEAD)
}

/// Returns the skills that went along with prompts (SK-5).
fn skills(messages: &[Arc<Message>]) -> impl Iterator<Item = &str> {
    let of_user = messages.iter().filter(|message| message.role == Role::User);
    of_user.flat_map(|message| &message.blocks).filter_map(|block| match block {
        Block::Text(text) if text.starts_with(SKILL_HEAD) => Some(text.as_str()),
        _ => None,
    })
}

/// Leaves the skills out of the first message of a view that begins with a note; they can be loaded again.
pub(crate) fn without_skills(messages: &[Arc<Message>]) -> Vec<Arc<Message>> {
    let mut view = messages.to_vec();
    if let Some(head) = view.first_mut() {
        let is_skill = |block: &Block| matches!(block, Block::Text(text) if text.starts_with(SKILL_HEAD));
        let blocks = head.blocks.iter().filter(|block| !is_skill(block)).cloned().collect();
        *head = Arc::new(Message { role: head.role, blocks });
    }
    view
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SK-5: a skill that came with a prompt outlives it, once, and is not taken for the prompt.
    #[test]
    fn skills_stay_beside_the_note() {
        let user = |texts: &[&str]| {
            let blocks = texts.iter().map(|text| Block::Text((*text).to_owned())).collect();
            Arc::new(Message { role: Role::User, blocks })
        };
        let texts = |view: &[Arc<Message>]| {
            let of = |block: &Block| match block {
                Block::Text(text) => text.clone(),
                _ => String::new(),
            };
            view[0].blocks.iter().map(of).collect::<Vec<_>>()
        };
        let said =
            [user(&["one"]), user(&["two", "[skill pdf]\nUse it."]), user(&["three", "[skill sql]\nJoin."])];
        let note = || format!("{NOTE_HEAD}x]");
        let view = replace_with_note(&said, 3, note());
        let kept = ["one", "[skill pdf]\nUse it.", "[skill sql]\nJoin.", &note(), "three"];
        assert_eq!(texts(&view), kept);
        // The next time they are in the first message.
        let again = replace_with_note(&[view[0].clone(), user(&["four"])], 2, note());
        assert_eq!(texts(&again), ["one", "[skill pdf]\nUse it.", "[skill sql]\nJoin.", &note(), "four"]);
        assert_eq!(texts(&without_skills(&view)), ["one", &note(), "three"]);
    }
}
