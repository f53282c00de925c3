//! Cuts long tool results for the view: their beginning and their end stay, and a note says where the whole is. Pure.

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use serde_json::value::RawValue;
use zori_core::message::{Block, Message, ToolResult};
use zori_core::text::{prefix, suffix};

/// No result is cut to less.
pub(crate) const LEAST_BYTES: usize = 2 << 10;
/// Where cutting begins that is to make a conversation fit.
const MOST_BYTES: usize = 1 << 20;

/// A view with some results cut. Unchanged messages are the same `Arc`s as before.
pub(crate) struct Shortened {
    pub(crate) view: Vec<Arc<Message>>,
    pub(crate) results: usize,
}

/// Cuts every result of more than `most` bytes, the newest too. `record` is the file that keeps the whole of them.
pub(crate) fn cut(messages: &[Arc<Message>], most: usize, record: Option<&Path>) -> Shortened {
    let most = most.max(LEAST_BYTES);
    let mut results = 0;
    let view = messages.iter().map(|message| {
        let long =
            |block: &Block| matches!(block, Block::ToolResult(result) if result.content().len() > most);
        if !message.blocks.iter().any(long) {
            return message.clone();
        }
        let shortened = |block: &Block| match block {
            Block::ToolResult(result) if result.content().len() > most => {
                results += 1;
                Block::ToolResult(shortened(result, most, record))
            }
            other => other.clone(),
        };
        let blocks = message.blocks.iter().map(shortened).collect();
        Arc::new(Message { role: message.role, blocks })
    });
    let view = view.collect();
    Shortened { view, results }
}

/// Cuts results, the longest ones first, until the conversation fits or no result is worth cutting any more; `None` where
/// there is nothing to cut.
pub(crate) fn cut_to_fit(
    messages: &[Arc<Message>],
    record: Option<&Path>,
    fits: impl Fn(&[Arc<Message>]) -> bool,
) -> Option<Shortened> {
    let mut most = MOST_BYTES;
    let mut made = None;
    while most >= LEAST_BYTES {
        let tried = cut(messages, most, record);
        let fit = fits(&tried.view);
        if tried.results > 0 {
            made = Some(tried);
        }
        if fit {
            break;
        }
        most /= 2;
    }
    made
}

/// Returns a result of at most `most` bytes. It depends on the result alone, so that its bytes never change.
fn shortened(result: &ToolResult, most: usize, record: Option<&Path>) -> ToolResult {
    let content = result.content();
    // Quoting may double the bytes, so that an envelope keeps less.
    let mut keep = most - most / 4;
    loop {
        let text = both_ends(content, keep, &result.call.to_string(), record);
        // Where the model reads text, it is made again from the envelope when a session goes on.
        let data = match result.ok || result.text.is_some() {
            true => json!({"ok": true, "data": {"cut": text}}),
            false => json!({"ok": false, "error": {"code": "cut", "message": text}}),
        };
        let envelope = data.to_string();
        if result.text.is_none() && envelope.len() > most && keep > 0 {
            keep /= 2;
            continue;
        }
        let envelope = RawValue::from_string(envelope).expect("a JSON value is JSON");
        return ToolResult {
            call: result.call.clone(),
            name: result.name.clone(),
            ok: result.ok,
            envelope: envelope.into(),
            text: result.text.as_ref().map(|_| text.into()),
            images: result.images.clone(),
        };
    }
}

/// Keeps three quarters from the start and one from the end: what a command was about, and how it ended.
fn both_ends(content: &str, keep: usize, call: &str, record: Option<&Path>) -> String {
    let head = prefix(content, keep - keep / 4);
    let tail = suffix(content, keep / 4);
    let gone = content.len() - head.len() - tail.len();
    let place = match record {
        Some(path) => format!("the whole is the result of call {call} in {}", path.display()),
        None => "call the tool again for a part of it, unless that would repeat a change".to_owned(),
    };
    format!(
        "{head}\n[... {gone} of {} bytes left out here to save context; {place} ...]\n{tail}",
        content.len()
    )
}

#[cfg(test)]
mod tests {
    use zori_core::ids::CallId;
    use zori_core::message::Role;

    use super::*;

    fn result(content: &str, text: bool) -> Arc<Message> {
        let envelope = json!({"ok": true, "data": {"stdout": content}}).to_string();
        let block = Block::ToolResult(ToolResult {
            call: CallId::new("c1"),
            name: "bash".into(),
            ok: true,
            envelope: RawValue::from_string(envelope).unwrap().into(),
            text: text.then(|| content.into()),
            images: Vec::new(),
        });
        Arc::new(Message { role: Role::User, blocks: vec![block] })
    }

    fn content(view: &[Arc<Message>]) -> &str {
        let Block::ToolResult(result) = &view[0].blocks[0] else { panic!("a result") };
        result.content()
    }

    #[test]
    fn both_ends_stay_and_the_whole_is_named() {
        let text = format!("{}{}", "é".repeat(4_000), "z".repeat(4_000));
        let cut = cut(&[result(&text, true)], 4_096, Some(Path::new("/s/a.jsonl")));
        assert_eq!(cut.results, 1);
        let expected = format!(
            "{}\n[... 8928 of 12000 bytes left out here to save context; the whole is the result of call c1 in \
             /s/a.jsonl ...]\n{}",
            "é".repeat(1_152),
            "z".repeat(768)
        );
        assert_eq!(content(&cut.view), expected);
    }

    /// Whatever is in it: what was cut is within the bound, so that it is not cut again.
    #[test]
    fn a_cut_is_stable() {
        for text in ["\"\n\\".repeat(9_000), "\u{1}".repeat(9_000), "é😀".repeat(9_000), "x".repeat(90_000)]
        {
            for as_text in [true, false] {
                for most in [LEAST_BYTES, 5_000, 20_000] {
                    let once = cut(&[result(&text, as_text)], most, None);
                    assert!(content(&once.view).len() <= most, "{} of {most}", content(&once.view).len());
                    assert_eq!(cut(&once.view, most, None).results, 0);
                }
            }
        }
    }

    #[test]
    fn no_more_is_cut_than_must_be() {
        let messages = [result(&"x".repeat(300_000), true), result(&"y".repeat(3_000), true)];
        let size = |view: &[Arc<Message>]| crate::context::size(view);
        let made = cut_to_fit(&messages, None, |view| size(view) < 100_000).unwrap();
        assert_eq!(made.results, 1);
        assert!((50_000..100_000).contains(&size(&made.view)), "{}", size(&made.view));
        assert!(cut_to_fit(&messages[1..], None, |_| true).is_none());
        // What cannot fit is cut as far as it goes.
        assert_eq!(cut_to_fit(&messages, None, |_| false).unwrap().results, 2);
    }
}
