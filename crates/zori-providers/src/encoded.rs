//! The encoded part of a request, kept so that nothing is encoded twice. Every API's encoder keeps its bytes here.
//!
//! A message is encoded when it is first seen; the bytes are kept with the `Arc` they came from. A step of a turn
//! therefore costs its new messages and one copy, and the bytes in front of them stay the same (L-10). What is kept has a
//! bound: the conversation is in memory once already, and on a screen a second time.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use zori_core::image::Image;
use zori_core::message::Message;
use zori_core::provider::Request;
use zori_core::tool::ToolSpec;

/// How much of a conversation is kept between two requests, in bytes: more than most models read. What is beyond is encoded
/// again, at about a millisecond for a megabyte.
const KEPT: usize = 2 << 20;

/// The part of a request that stays the same for a whole session.
#[derive(Debug, Default)]
pub(crate) struct EncodedHead {
    source: Option<HeadSource>,
    bytes: Vec<u8>,
}

/// What a head was made from.
#[derive(Debug)]
struct HeadSource {
    tools: Arc<[ToolSpec]>,
    system: Option<Arc<str>>,
}

impl EncodedHead {
    /// Returns the bytes of the request's tools and system prompt; `encode` is asked only if they are others than
    /// before.
    pub(crate) fn bytes(
        &mut self,
        request: &Request<'_>,
        encode: impl FnOnce(&[ToolSpec], Option<&str>) -> Vec<u8>,
    ) -> &[u8] {
        let same_text = |a: &Option<Arc<str>>, b: Option<&Arc<str>>| match (a, b) {
            (Some(a), Some(b)) => Arc::ptr_eq(a, b) || a == b,
            (a, b) => a.is_none() && b.is_none(),
        };
        let current = self.source.as_ref().is_some_and(|source| {
            Arc::ptr_eq(&source.tools, request.tools) && same_text(&source.system, request.system)
        });
        if !current {
            self.source =
                Some(HeadSource { tools: Arc::clone(request.tools), system: request.system.cloned() });
            self.bytes = encode(request.tools, request.system.map(|s| &**s));
        }
        &self.bytes
    }
}

/// The conversation, with whatever `M` an encoder wants to remember of each message.
#[derive(Debug)]
pub(crate) struct EncodedHistory<M> {
    bytes: Vec<u8>,
    messages: Vec<EncodedMessage<M>>,
}

#[derive(Debug)]
struct EncodedMessage<M> {
    message: Arc<Message>,
    end: usize,
    note: M,
}

impl<M> Default for EncodedHistory<M> {
    fn default() -> Self {
        Self { bytes: Vec::new(), messages: Vec::new() }
    }
}

impl<M> EncodedHistory<M> {
    /// Brings the history up to date: keeps what is the same, forgets the rest, lets `encode` append what is new.
    pub(crate) fn update(
        &mut self,
        messages: &[Arc<Message>],
        mut encode: impl FnMut(&mut Vec<u8>, &Message) -> M,
    ) {
        let same =
            self.messages.iter().zip(messages).take_while(|(mark, m)| Arc::ptr_eq(&mark.message, m)).count();
        self.messages.truncate(same);
        self.bytes.truncate(self.messages.last().map_or(0, |m| m.end));
        for message in &messages[same..] {
            let note = encode(&mut self.bytes, message);
            self.messages.push(EncodedMessage { message: Arc::clone(message), end: self.bytes.len(), note });
        }
    }

    /// Forgets what is beyond the bound, once the request is made.
    pub(crate) fn trim(&mut self) {
        if self.bytes.len() > KEPT {
            self.messages.truncate(self.messages.partition_point(|message| message.end <= KEPT));
            self.bytes.truncate(self.messages.last().map_or(0, |message| message.end));
            self.bytes.shrink_to_fit();
        }
    }

    /// Returns the messages, encoded.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the messages with what was noted of each, the last one first.
    pub(crate) fn notes(&self) -> impl Iterator<Item = (&Message, &M)> {
        self.messages.iter().rev().map(|mark| (&*mark.message, &mark.note))
    }
}

/// Appends a value as JSON.
pub(crate) fn push_json(out: &mut Vec<u8>, value: &impl Serialize) {
    serde_json::to_writer(out, value).expect("strings, numbers and JSON are written to memory");
}

/// What a document is called where an API wants a name for it.
pub(crate) const DOCUMENT_NAME: &str = "document.pdf";

/// Returns an image as a URL that holds its bytes.
pub(crate) fn data_url(image: &Image) -> String {
    format!("data:{};base64,{}", image.format().media_type(), image.base64())
}

/// Returns an id of at most `max` characters, and not an empty one: another provider's may be either. Ids differ at
/// their ends.
pub(crate) fn wire_id(id: &str, max: usize) -> &str {
    let start = id.char_indices().rev().nth(max - 1).map_or(0, |(at, _)| at);
    if id.is_empty() { "_" } else { &id[start..] }
}

/// How long every API lets a tool's name be.
const MAX_NAME: usize = 64;

/// Returns a tool's name as every API accepts it, offered or called. A model may have called anything, and one name that
/// is refused would make every later request fail.
pub(crate) fn wire_name(name: &str) -> Cow<'_, str> {
    let end = name.char_indices().nth(MAX_NAME).map_or(name.len(), |(at, _)| at);
    wire_word(&name[..end])
}

/// Returns a word of letters, digits, `_` and `-`, with `_` for everything else and for nothing.
pub(crate) fn wire_word(word: &str) -> Cow<'_, str> {
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if word.is_empty() {
        return Cow::Borrowed("_");
    }
    if word.chars().all(fits) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(word.chars().map(|c| if fits(c) { c } else { '_' }).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_keep_their_ends() {
        for (id, sent) in [("", "_"), ("a", "a"), ("abc", "abc"), ("abcd", "bcd"), ("aébc", "ébc")] {
            assert_eq!(wire_id(id, 3), sent, "{id}");
        }
    }

    #[test]
    fn names_become_what_every_api_accepts() {
        let long = "n".repeat(64);
        for (name, sent) in [
            ("read", "read"),
            ("Web_fetch-2", "Web_fetch-2"),
            ("", "_"),
            ("functions.read", "functions_read"),
            ("größe 日", "gr__e__"),
            (&format!("{long}é"), &long),
        ] {
            assert_eq!(wire_name(name), sent, "{name}");
        }
    }

    /// Brings the history up to date and returns which messages had to be encoded.
    fn encoded(history: &mut EncodedHistory<usize>, messages: &[Arc<Message>]) -> Vec<String> {
        let mut asked = Vec::new();
        history.update(messages, |out, message| {
            asked.push(message.text());
            out.extend_from_slice(message.text().as_bytes());
            out.len()
        });
        asked
    }

    #[test]
    fn a_message_is_encoded_once() {
        let list: Vec<_> = ["a", "b", "c"].map(|text| Arc::new(Message::user(text))).into();
        let mut history = EncodedHistory::default();
        assert_eq!(encoded(&mut history, &list[..2]), ["a", "b"]);
        assert_eq!(encoded(&mut history, &list), ["c"]);
        assert_eq!(encoded(&mut history, &list), [""; 0]);
        assert_eq!(history.bytes(), b"abc");
        assert_eq!(history.notes().map(|(_, end)| *end).collect::<Vec<_>>(), [3, 2, 1]);
    }

    #[test]
    fn what_has_changed_is_encoded_again() {
        let list: Vec<_> = ["a", "b", "c"].map(|text| Arc::new(Message::user(text))).into();
        let other = Arc::new(Message::user("B"));
        let mut history = EncodedHistory::default();
        encoded(&mut history, &list);
        assert_eq!(encoded(&mut history, &[list[0].clone(), other]), ["B"]);
        assert_eq!(history.bytes(), b"aB");
        assert_eq!(encoded(&mut history, &[]), [""; 0]);
        assert_eq!(history.bytes(), b"");
    }

    #[test]
    fn what_is_kept_has_a_bound() {
        let long = |sign: &str| Arc::new(Message::user(sign.repeat(KEPT / 2)));
        let list = [long("a"), long("b"), long("c"), long("d")];
        let mut history = EncodedHistory::default();
        assert_eq!(encoded(&mut history, &list[..2]).len(), 2);
        history.trim();
        assert_eq!(encoded(&mut history, &list).len(), 2, "what is within the bound is kept");
        let whole = history.bytes().to_vec();
        history.trim();
        assert_eq!((history.bytes.len(), history.bytes.capacity(), history.messages.len()), (KEPT, KEPT, 2));
        assert_eq!(encoded(&mut history, &list).len(), 2);
        assert!(history.bytes() == whole, "the same bytes again");
    }

    #[test]
    fn the_head_is_encoded_again_for_other_tools_or_another_prompt() {
        let mut head = EncodedHead::default();
        let mut count = 0;
        let mut ask = |tools: &Arc<[ToolSpec]>, system: Option<&Arc<str>>| {
            let request = Request {
                model: "m",
                system,
                tools,
                messages: &[],
                max_tokens: None,
                temperature: None,
                effort: None,
                delivery: zori_core::provider::Delivery::Whole,
            };
            head.bytes(&request, |_, system| {
                count += 1;
                format!("{count} {system:?}").into_bytes()
            })
            .to_owned()
        };
        let tools: Arc<[ToolSpec]> = Arc::default();
        assert_eq!(ask(&tools, None), b"1 None");
        assert_eq!(ask(&tools, None), b"1 None");
        assert_eq!(ask(&tools, Some(&"s".into())), b"2 Some(\"s\")");
        assert_eq!(ask(&tools, Some(&"s".into())), b"2 Some(\"s\")");
        assert_eq!(ask(&Vec::new().into(), Some(&"s".into())), b"3 Some(\"s\")");
    }
}
