//! Derives the current view of the conversation from records, and the views that compactions replaced. Pure.

use std::sync::Arc;

use zori_core::compaction::{Compacted, ReplacedView};
use zori_core::message::{Block, Message};

use crate::record::{Record, RecordKind};
use crate::repair::{push, repair, repair_after};

/// What the model was sent at the end of the records.
#[derive(Debug, Default)]
pub(crate) struct Views {
    pub(crate) history: Vec<Arc<Message>>,
    /// The views before, the oldest first.
    pub(crate) replaced: Vec<ReplacedView>,
}

/// A view, and the records written while it was current.
#[derive(Default)]
struct Layer {
    view: Vec<Message>,
    records: Vec<Record>,
}

/// Derives the views. A compaction that was undone leaves no trace.
pub(crate) fn views(records: impl IntoIterator<Item = Record>) -> Views {
    let (mut top, mut below) = (Layer::default(), Vec::new());
    for record in records {
        match record.kind {
            RecordKind::Compacted { how, view: Some(view), .. } => {
                if let Some(view) = followed(&how, view) {
                    below.push(std::mem::replace(&mut top, Layer { view, records: Vec::new() }));
                }
            }
            RecordKind::Compacted { how, .. } if how == Compacted::Undone.as_str() => {
                // Without a view below, the record that made this one is lost, and so there is nothing to go back to.
                if let Some(layer) = below.pop() {
                    let since = std::mem::replace(&mut top, layer).records;
                    top.records.extend(since);
                }
            }
            // Another version's, which cannot be followed.
            RecordKind::Compacted { .. } => {}
            _ => top.records.push(record),
        }
    }
    let mut views = Views::default();
    for (i, layer) in below.into_iter().chain([top]).enumerate() {
        let since = repair_after(&layer.view, layer.records);
        let mut now = layer.view;
        for message in &since {
            push(&mut now, message.role, message.blocks.clone());
        }
        let before = std::mem::replace(&mut views.history, now.into_iter().map(Arc::new).collect());
        if i > 0 {
            views
                .replaced
                .push(ReplacedView { view: before, since: since.into_iter().map(Arc::new).collect() });
        }
    }
    views
}

/// Returns the view that a compaction made; `None` where it is not followed.
fn followed(how: &str, view: Vec<Message>) -> Option<Vec<Message>> {
    // Back before the first prompt there is nothing.
    let empty = view.is_empty();
    let view = repair(view.into_iter().flat_map(records_of));
    // One of which nothing could be read would only lose the conversation.
    (!view.is_empty() || (how == REWOUND && empty)).then_some(view)
}

/// What the record of an undo says that it is.
const REWOUND: &str = "rewound";

/// Returns how many views have to be taken back to be where the last undo began: its own, and those of compactions since.
pub fn views_since_undo(records: impl IntoIterator<Item = Record>) -> usize {
    let mut made = Vec::new();
    for record in records {
        match record.kind {
            RecordKind::Compacted { how, view: Some(view), .. } => {
                let is_undo = how == REWOUND;
                made.extend(followed(&how, view).map(|_| is_undo));
            }
            RecordKind::Compacted { how, .. } if how == Compacted::Undone.as_str() => {
                made.pop();
            }
            _ => {}
        }
    }
    made.iter().rev().position(|is_undo| *is_undo).map_or(0, |later| later + 1)
}

/// Returns the records of a message. A view is repaired like everything else in the file, since it may be damaged or
/// from another program; a sound one stays unchanged.
fn records_of(message: Message) -> impl Iterator<Item = Record> {
    let role = message.role;
    message.blocks.into_iter().map(move |block| {
        let kind = match block {
            Block::Text(text) => RecordKind::Message {
                role,
                text,
                partial: false,
                within_turn: false,
                images: Vec::new(),
                uuid: None,
                scheduled: None,
            },
            Block::Image(image) => RecordKind::Message {
                role,
                text: String::new(),
                partial: false,
                within_turn: false,
                images: vec![image],
                uuid: None,
                scheduled: None,
            },
            Block::Thinking(thinking) => RecordKind::Reasoning(thinking),
            Block::ToolCall(call) => RecordKind::ToolUse(call),
            Block::ToolResult(result) => RecordKind::ToolResult {
                call: result.call,
                output: result.envelope,
                ok: result.ok,
                text: result.text,
                images: result.images,
            },
        };
        Record { ts: String::new(), reply_end: None, discarded: false, kind }
    })
}

#[cfg(test)]
mod tests {
    use zori_core::compaction::{CompactCause, Compaction, SummaryReply};
    use zori_core::event::{Event, StateEvent};
    use zori_core::usage::Usage;

    use super::*;
    use crate::record::decode::decode;
    use crate::record::encode::lines;
    use crate::sample::{check_history, event, everything, prompt, say};

    /// Writes the events and reads them again.
    fn read(events: &[Event]) -> Views {
        views(events.iter().flat_map(|event| lines(event, None)).flat_map(|line| {
            let decoded = decode(&line);
            assert_eq!(decoded.damage, None);
            decoded.records
        }))
    }

    fn compacted(how: Compacted, view: &[Arc<Message>]) -> Event {
        let usage = Usage { input: 3, ..Usage::default() };
        let summary = Some(SummaryReply { model: "m-2".into(), usage });
        let (cause, view) = (CompactCause::NearlyFull, view.into());
        let (before, after, window) = (90, 20, None);
        event(StateEvent::ContextCompacted(Compaction { how, cause, before, after, window, view, summary }))
    }

    fn undone() -> Event {
        compacted(Compacted::Undone, &[])
    }

    fn bytes(messages: &[Arc<Message>]) -> String {
        format!("{messages:?}")
    }

    fn joined(views: &Views) -> [String; 2] {
        let replaced = views.replaced.iter().map(|r| format!("{} + {}", bytes(&r.view), bytes(&r.since)));
        [bytes(&views.history), replaced.collect()]
    }

    #[test]
    fn a_view_is_read_as_it_was_sent() {
        let whole = read(&everything()).history;
        // One of everything, the last word the user's.
        let view = &whole[..3];
        let read = read(&[prompt("p"), compacted(Compacted::Masked { results: 1 }, view)]);
        assert_eq!(bytes(&read.history), bytes(view));
        assert_eq!(bytes(&read.replaced[0].view), bytes(&[Arc::new(Message::user("p"))]));
        check_history(&read.history);
    }

    #[test]
    fn what_is_said_later_follows_the_view() {
        let view = [Arc::new(Message::user("note"))];
        let masked = compacted(Compacted::Summarised { messages: 2 }, &view);
        let events = [prompt("1"), say("one"), masked, prompt("2"), say("two")];
        let read = read(&events);
        check_history(&read.history);
        let texts: Vec<_> = read.history.iter().map(|message| message.text()).collect();
        assert_eq!(texts, ["note2", "two"]);
        let since: Vec<_> = read.replaced[0].since.iter().map(|message| message.text()).collect();
        assert_eq!(since, ["2", "two"], "apart from what it was joined with");
    }

    #[test]
    fn a_compaction_that_was_taken_back_leaves_no_trace() {
        let view = [Arc::new(Message::user("note"))];
        let masked = || compacted(Compacted::Masked { results: 1 }, &view);
        let plain = read(&[prompt("1"), say("one"), prompt("2"), say("two"), prompt("3")]);
        let undo_later =
            read(&[prompt("1"), say("one"), masked(), prompt("2"), say("two"), undone(), prompt("3")]);
        assert_eq!(joined(&undo_later), joined(&plain));
        let twice = read(&[prompt("1"), masked(), say("one"), masked(), undone(), prompt("2")]);
        let once = read(&[prompt("1"), masked(), say("one"), prompt("2")]);
        assert_eq!(joined(&twice), joined(&once));
        let nothing = read(&[prompt("1"), undone()]);
        assert_eq!(joined(&nothing), joined(&read(&[prompt("1")])));
    }

    #[test]
    fn how_far_back_an_undo_began() {
        let view = [Arc::new(Message::user("note"))];
        let compact = || compacted(Compacted::Masked { results: 1 }, &view);
        let undo = || compacted(Compacted::Rewound { messages: 1 }, &view);
        let before_all = || compacted(Compacted::Rewound { messages: 1 }, &[]);
        let count = |events: &[Event]| {
            views_since_undo(
                events.iter().flat_map(|event| lines(event, None)).flat_map(|line| decode(&line).records),
            )
        };
        assert_eq!(count(&[prompt("1"), compact()]), 0, "there was none");
        assert_eq!(count(&[prompt("1"), compact(), undo()]), 1);
        assert_eq!(count(&[prompt("1"), undo(), compact(), prompt("2"), compact()]), 3);
        assert_eq!(count(&[prompt("1"), undo(), compact(), undone()]), 1, "it was taken back already");
        assert_eq!(count(&[prompt("1"), before_all(), undo(), undone(), compact()]), 2);
    }

    /// A view may come from anywhere; what a provider would refuse in it is mended.
    #[test]
    fn a_view_that_no_provider_takes() {
        let whole = read(&everything()).history;
        for at in 0..whole.len() {
            let read =
                read(&[prompt("p"), compacted(Compacted::Masked { results: 1 }, &whole[at..]), say("s")]);
            check_history(&read.history);
        }
        for view in [
            "[]",
            "[{\"role\":\"x\",\"blocks\":[]}]",
            "[{\"role\":\"user\",\"blocks\":[{\"type\":\"new\"}]}]",
        ] {
            let line = format!(r#"{{"type":"compacted","how":"masked","before":1,"after":1,"view":{view}}}"#);
            let said = lines(&prompt("p"), None).remove(0);
            let views = views(decode(&said).records.into_iter().chain(decode(line.as_bytes()).records));
            assert_eq!(joined(&views), [bytes(&[Arc::new(Message::user("p"))]), String::new()], "{view}");
        }
    }
}
