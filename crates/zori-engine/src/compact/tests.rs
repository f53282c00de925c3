//! For any conversation: a view is one that every provider takes, keeps what is new, and can be taken back exactly.

use std::collections::HashSet;
use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::ids::CallId;
use zori_core::message::{Block, IdOrigin, Message, Opaque, Role, Thinking, ToolCall, ToolInput, ToolResult};

use super::mask::{Keep, mask};
use super::{older, summary};
use crate::context;
use crate::history::History;
use crate::parts::{SavedSession, SavedViews};
use zori_core::compaction::ReplacedView;

/// A small generator of numbers that only depend on the seed (xorshift).
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }

    fn text(&mut self) -> String {
        let size = [1, 40, 400, 3_000][self.below(4)];
        format!("t{}", "é".repeat(1 + self.below(size)))
    }
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

/// A conversation as the engine makes it, up to where the next request is due or a turn has ended.
fn conversation(dice: &mut Dice) -> History {
    let mut history = History::default();
    let mut calls = 0;
    for _ in 0..=dice.below(4) {
        history.push_user(vec![Block::Text(dice.text())]);
        for _ in 0..dice.below(9) {
            let mut blocks = Vec::new();
            if dice.below(3) == 0 {
                let replay = Opaque::new("p", raw(&format!("{:?}", dice.text())));
                blocks.push(Block::Thinking(Thinking { text: dice.text(), replay: Some(replay) }));
            }
            if dice.below(2) == 0 {
                blocks.push(Block::Text(dice.text()));
            }
            let mut results = Vec::new();
            for _ in 0..=dice.below(3) {
                calls += 1;
                let (id, name) = (CallId::new(format!("c{calls}")), "read".to_owned());
                let input = ToolInput::parse(format!("{{\"path\":{:?}}}", dice.text()));
                let (id_origin, replay) = (IdOrigin::Provider, None);
                let call = ToolCall { id: id.clone(), name: name.clone(), input, id_origin, replay };
                blocks.push(Block::ToolCall(call));
                let ok = dice.below(5) > 0;
                let envelope = raw(&format!("{{\"ok\":{ok},\"data\":{:?}}}", dice.text())).into();
                let text = (dice.below(4) == 0).then(|| dice.text().into());
                results.push(Block::ToolResult(ToolResult {
                    call: id,
                    name,
                    ok,
                    envelope,
                    text,
                    images: Vec::new(),
                }));
            }
            history.push(Arc::new(Message { role: Role::Assistant, blocks }));
            history.push_user(results);
        }
        if dice.below(4) > 0 {
            let answer = vec![Block::Text(dice.text())];
            history.push(Arc::new(Message { role: Role::Assistant, blocks: answer }));
        }
    }
    history
}

/// Says what a provider would not take.
fn problem(view: &[Arc<Message>]) -> Option<&'static str> {
    let (mut ids, mut asked) = (HashSet::new(), Vec::new());
    for (i, message) in view.iter().enumerate() {
        let role = if i % 2 == 0 { Role::User } else { Role::Assistant };
        let answered: Vec<_> = results(message).map(|result| &result.call).collect();
        if message.role != role {
            return Some("roles do not alternate, or it does not start with the user");
        } else if message.blocks.is_empty() {
            return Some("a message is empty");
        } else if answered != asked {
            return Some("calls and results do not pair");
        } else if !message.calls().all(|call| ids.insert(&call.id)) {
            return Some("an id repeats");
        }
        asked = message.calls().map(|call| &call.id).collect();
    }
    (!asked.is_empty()).then_some("the last calls have no results")
}

fn results(message: &Message) -> impl Iterator<Item = &ToolResult> {
    message.blocks.iter().filter_map(|b| if let Block::ToolResult(r) = b { Some(r) } else { None })
}

fn words(view: &[Arc<Message>]) -> Vec<&str> {
    let users = view.iter().filter(|message| message.role == Role::User);
    let blocks = users.flat_map(|message| &message.blocks);
    blocks.filter_map(|b| if let Block::Text(t) = b { Some(t.as_str()) } else { None }).collect()
}

/// The bytes of a view; two that are the same here are the same for every provider.
fn bytes(view: &[Arc<Message>]) -> String {
    format!("{view:?}")
}

const CASES: u64 = 400;

#[test]
fn masks_of_any_conversation() {
    for seed in 1..=CASES {
        let history = conversation(&mut Dice(seed));
        let messages = history.messages();
        for keep in [Keep::Turn, Keep::Newest] {
            let masked = mask(messages, keep);
            assert_eq!(problem(&masked.view), None, "seed {seed}");
            assert!(context::size(&masked.view) <= context::size(messages), "seed {seed}");
            let pairs: Vec<_> = messages
                .iter()
                .zip(&masked.view)
                .flat_map(|(old, new)| results(old).zip(results(new)))
                .map(|(old, new)| (old, old.content() == new.content()))
                .collect();
            let changed = pairs.iter().filter(|(_, same)| !same).count();
            assert_eq!(changed, masked.results, "seed {seed}");
            assert!(pairs.iter().rev().take(8).all(|(_, same)| *same), "seed {seed}: the newest stay");
            assert!(pairs.iter().all(|(old, same)| old.ok || *same), "seed {seed}: errors stay");
            // What stands before the first that was masked is the same bytes, and so is every call.
            let first =
                messages.iter().zip(&masked.view).take_while(|(old, new)| Arc::ptr_eq(old, new)).count();
            assert_eq!(bytes(&messages[..first]), bytes(&masked.view[..first]));
            let again = mask(&masked.view, keep);
            assert_eq!(
                (again.results, bytes(&again.view)),
                (0, bytes(&masked.view)),
                "seed {seed}: it is stable"
            );
        }
    }
}

#[test]
fn cuts_of_any_conversation() {
    let mut cuts = 0;
    for seed in 1..=CASES {
        let mut dice = Dice(seed);
        let history = conversation(&mut dice);
        let messages = history.messages();
        let budget = dice.below(20_000) as u64;
        let Some(at) = older::split(messages, budget) else { continue };
        cuts += 1;
        let view = older::replace_with_note(messages, at, summary::note("s"));
        assert_eq!(problem(&view), None, "seed {seed}");
        assert!(context::size(&view) < context::size(messages), "seed {seed}");
        assert_eq!(bytes(&view[1..]), bytes(&messages[at..]), "seed {seed}: the end stays as it is");
        let (before, mut after) = (words(messages), words(&view));
        after.retain(|text| !text.starts_with(older::NOTE_HEAD));
        assert_eq!(after.first(), before.first(), "seed {seed}: the first prompt stays");
        assert_eq!(after.last(), before.last(), "seed {seed}: the last prompt stays");
        // Of what is kept beyond the budget, nothing could have been left out without tearing a call from its result
        // or losing the model's last words.
        let kept = context::size(&messages[at..]);
        let replies = messages[at..].iter().filter(|message| message.role == Role::Assistant).count();
        assert!(kept <= budget || replies == 1, "seed {seed}: {kept} of {budget}");
        // A second note takes the place of the first.
        if let Some(at) = older::split(&view, 0) {
            let twice = older::replace_with_note(&view, at, summary::note("t"));
            let notes = words(&twice).iter().filter(|text| text.starts_with(older::NOTE_HEAD)).count();
            assert_eq!((problem(&twice), notes), (None, 1), "seed {seed}");
        }
    }
    assert!(cuts > CASES / 4, "{cuts} conversations were long enough");
}

#[test]
fn any_compaction_can_be_taken_back() {
    for seed in 1..=CASES {
        let mut dice = Dice(seed);
        let mut history = conversation(&mut dice);
        let mut former = vec![bytes(history.messages())];
        for _ in 0..=dice.below(3) {
            let messages = history.messages();
            let view = match older::split(messages, 1_000) {
                Some(at) if dice.below(2) == 0 => older::replace_with_note(messages, at, summary::note("s")),
                _ => mask(messages, Keep::Newest).view,
            };
            history.replace(view, None);
            former.push(bytes(history.messages()));
        }
        while let Some(expected) = former.pop() {
            assert_eq!(bytes(history.messages()), expected, "seed {seed}");
            assert_eq!(history.undo(None), !former.is_empty(), "seed {seed}");
        }
    }
}

/// What was said after a compaction is part of the conversation whichever view of it is sent.
#[test]
fn what_was_said_since_is_kept() {
    for seed in 1..=CASES {
        let mut dice = Dice(seed);
        let (mut plain, mut compacted) = (conversation(&mut Dice(seed)), conversation(&mut dice));
        let mut views = 0;
        for n in 0..10 {
            if dice.below(3) == 0 {
                let view = mask(compacted.messages(), Keep::Newest).view;
                compacted.replace(view, None);
                views += 1;
            }
            let role = if dice.below(2) == 0 { Role::User } else { Role::Assistant };
            let message = Arc::new(Message { role, blocks: vec![Block::Text(format!("{n}"))] });
            let (mark, taken_back) = (compacted.mark(), dice.below(4) == 0);
            compacted.push(message.clone());
            if taken_back {
                compacted.roll_back(mark);
            } else {
                plain.push(message);
            }
        }
        (0..views).for_each(|_| assert!(compacted.undo(None)));
        assert_eq!(bytes(compacted.messages()), bytes(plain.messages()), "seed {seed}");
    }
}

/// However many compactions there were, what is held for taking them back is bounded; what is not held any more comes from the
/// session's file.
#[test]
fn the_views_before_are_bounded_in_memory() {
    let file: Arc<std::sync::Mutex<Vec<Vec<Arc<Message>>>>> = Arc::default();
    let views = file.clone();
    let load = move || {
        let mut all = views.lock().unwrap().clone();
        let history = all.pop()?;
        let replaced = all.into_iter().map(|view| ReplacedView { view, since: Vec::new() }).collect();
        Some(SavedViews { history, replaced })
    };
    let saved = SavedSession { file: "/s.jsonl".into(), load: Box::new(load) };
    let view = |n: usize| vec![Arc::new(Message::user(format!("{n}{}", "x".repeat(1 << 20))))];
    let mut history = History::new(view(0), Vec::new());
    for n in 1..=20 {
        history.replace(view(n), Some(&saved));
    }
    assert_eq!(history.held(), 3, "a view has a little more than one MiB");
    *file.lock().unwrap() = (0..=20).map(view).collect();
    for n in (0..20).rev() {
        assert!(history.undo(Some(&saved)));
        assert_eq!(bytes(history.messages()), bytes(&view(n)));
        assert!(history.held() <= 3);
        file.lock().unwrap().pop();
    }
    assert!(!history.undo(Some(&saved)));

    let mut unsaved = History::new(vec![Arc::new(Message::user("x".repeat(9 << 20)))], Vec::new());
    for n in 1..=3 {
        unsaved.replace(view(n), None);
    }
    assert_eq!(unsaved.held(), 2);
    assert!(unsaved.undo(None) && unsaved.undo(None));
    assert!(!unsaved.undo(None), "what was too much is gone");
}
