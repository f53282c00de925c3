//! Takes secrets out of a streamed answer that a model spells over several events: each event has a piece of a text, and the whole secret stands in none.
//!
//! What may be the beginning of a secret is held back until the next pieces of that text say what it is. A secret that is found becomes `[REDACTED]` in
//! the event where it begins and nothing in the others, so that a replay puts together the same text without it.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use zori_core::secret::REDACTED;

use super::secrets::Forms;

/// How many lines are held back at most; what is spread wider is not recognised.
const MOST_LINES: usize = 4096;
/// How many bytes are held back at most, and the longest line that is looked into.
const MOST_BYTES: usize = 1 << 20;
/// After so many lines in which a text does not go on, it is not waited for any more.
const PATIENCE: u64 = 64;
/// Fields that name things: their values stand beside each other by chance.
const NAMES: &[&str] = &["type", "id", "role", "model", "object"];
/// Fields that say which text of an answer an event goes on with.
const WHICH: &[&str] = &["type", "index", "output_index", "content_index", "item_id"];
/// Fields whose texts go on in later events. Any other comes whole.
const TEXTS: &[&str] = &[
    "arguments",
    "content",
    "delta",
    "message",
    "output",
    "partial_json",
    "reasoning",
    "reasoning_content",
    "refusal",
    "response",
    "stringValue",
    "summary",
    "text",
    "thinking",
    "token",
];
/// Fields below which everything comes whole.
const WHOLE: &[&str] = &["args", "input", "error"];

/// The lines of an answer that are held back.
pub(super) struct Spread {
    secrets: Arc<Forms>,
    /// A line without its end yet.
    partial: Vec<u8>,
    held: VecDeque<Entry>,
    /// How many bytes they are.
    bytes: usize,
    /// The number of the first line that is held.
    first: u64,
    /// The end of each text, as far as a secret may begin with it.
    ends: HashMap<String, End>,
}

/// A line, and what goes out of it.
struct Entry {
    line: Vec<u8>,
    redactions: Vec<Redaction>,
}

/// A part of a string that goes out of a line.
struct Redaction {
    pointer: String,
    from: usize,
    to: usize,
    instead: &'static str,
}

#[derive(Default)]
struct End {
    text: String,
    pieces: Vec<Piece>,
    /// The number of the line that went on with it last.
    last: u64,
}

/// A string of an event.
struct Leaf {
    /// Of which text it is a piece.
    which: String,
    pointer: String,
    text: String,
    /// Whether later events may go on with it.
    goes_on: bool,
}

/// Where a part of a text stands.
struct Piece {
    entry: u64,
    pointer: String,
    /// Where in the string of its line it begins.
    from: usize,
    len: usize,
}

impl Spread {
    pub(super) fn new(secrets: Arc<Forms>) -> Self {
        Self { secrets, partial: Vec::new(), held: VecDeque::new(), bytes: 0, first: 0, ends: HashMap::new() }
    }

    /// Returns what can be written of the bytes so far.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        // Each end of a line that `text/event-stream` knows; what `\r\n` leaves behind is a blank line.
        for piece in bytes.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
            self.partial.extend_from_slice(piece);
            if piece.ends_with(b"\n") || piece.ends_with(b"\r") {
                let line = std::mem::take(&mut self.partial);
                self.line(line);
                out.extend(self.settled());
            }
        }
        if self.partial.len() > MOST_BYTES {
            out.extend(self.finish());
        }
        out
    }

    /// Returns what was held back.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        self.ends.clear();
        let mut out = self.settled();
        out.append(&mut self.partial);
        out
    }

    /// Returns the lines that no secret can begin in any more.
    fn settled(&mut self) -> Vec<u8> {
        let next = self.first + self.held.len() as u64;
        self.ends.retain(|_, end| next - end.last <= PATIENCE);
        let needed = self.ends.values().filter_map(|end| end.pieces.first()).map(|piece| piece.entry).min();
        let until = needed.unwrap_or(u64::MAX);
        let mut out = Vec::new();
        while self.first < until || self.held.len() > MOST_LINES || self.bytes > MOST_BYTES {
            let Some(entry) = self.held.pop_front() else { break };
            self.bytes -= entry.line.len();
            out.extend(entry.written());
            self.first += 1;
        }
        let first = self.first;
        self.ends.retain(|_, end| end.pieces.first().is_some_and(|piece| piece.entry >= first));
        out
    }

    fn line(&mut self, line: Vec<u8>) {
        self.bytes += line.len();
        if line.trim_ascii().is_empty()
            && let Some(before) = self.held.back_mut()
        {
            before.line.extend(line);
            return;
        }
        let entry = self.first + self.held.len() as u64;
        let event = (line.len() <= MOST_BYTES).then(|| json(&line)).flatten();
        self.held.push_back(Entry { line, redactions: Vec::new() });
        for leaf in event.iter().flat_map(Leaf::all) {
            self.look_into(leaf, entry);
        }
    }

    /// Looks for secrets in a text that may go on.
    fn look_into(&mut self, leaf: Leaf, entry: u64) {
        let Leaf { which, pointer, text, goes_on } = leaf;
        let mut end = if goes_on { self.ends.remove(&which).unwrap_or_default() } else { End::default() };
        end.text.push_str(&text);
        end.pieces.push(Piece { entry, pointer, from: 0, len: text.len() });
        end.last = entry;
        let (found, open) = self.secrets.found(end.text.as_bytes());
        for (from, to) in found {
            self.cut(&end, from, to);
        }
        let Some(open) = open.filter(|_| goes_on) else { return };
        let mut at = 0;
        end.pieces.retain_mut(|piece| {
            let began = at;
            at += piece.len;
            let gone = open.saturating_sub(began).min(piece.len);
            (piece.from, piece.len) = (piece.from + gone, piece.len - gone);
            piece.len > 0
        });
        end.text.drain(..open);
        self.ends.insert(which, end);
    }

    /// Takes a part of a text out of the lines that it stands in.
    fn cut(&mut self, end: &End, from: usize, to: usize) {
        let (mut at, mut instead) = (0, REDACTED);
        for piece in &end.pieces {
            let (a, b) = (from.max(at), to.min(at + piece.len));
            if a < b
                && let Some(entry) = self.held.get_mut((piece.entry - self.first) as usize)
            {
                let (from, to) = (piece.from + a - at, piece.from + b - at);
                let instead = std::mem::take(&mut instead);
                entry.redactions.push(Redaction { pointer: piece.pointer.clone(), from, to, instead });
            }
            at += piece.len;
        }
    }
}

impl Entry {
    fn written(self) -> Vec<u8> {
        let Self { line, mut redactions } = self;
        let Some(mut event) = (!redactions.is_empty()).then(|| json(&line)).flatten() else { return line };
        // From the back, so that what is before a cut keeps its place.
        redactions.sort_by_key(|part| Reverse(part.from));
        for Redaction { pointer, from, to, instead } in redactions {
            if let Some(Value::String(text)) = event.pointer_mut(&pointer) {
                text.replace_range(from..to, instead);
            }
        }
        let (before, after) = around(&line);
        [before, event.to_string().as_bytes(), after].concat()
    }
}

/// Returns what stands before and after the JSON of a line.
fn around(line: &[u8]) -> (&[u8], &[u8]) {
    let start = if line.starts_with(b"data:") { 5 } else { 0 };
    let start = start + line[start..].iter().take_while(|byte| **byte == b' ').count();
    let end = line.trim_ascii_end().len().max(start);
    (&line[..start], &line[end..])
}

/// Returns the event of a line: of `text/event-stream`, or a line of JSON.
fn json(line: &[u8]) -> Option<Value> {
    let (before, after) = around(line);
    let body = &line[before.len()..line.len() - after.len()];
    body.starts_with(b"{").then(|| serde_json::from_slice(body).ok()).flatten()
}

impl Leaf {
    /// Returns the strings of an event.
    fn all(event: &Value) -> Vec<Self> {
        // Of the events of OpenAI's Responses only those have pieces; the others say again what was said.
        let kind = event["type"].as_str().unwrap_or_default();
        let goes_on = !kind.starts_with("response.") || kind.ends_with(".delta");
        let mut found = Vec::new();
        let mut path = Path::default();
        path.collect(event, "", goes_on, &mut found);
        found
    }
}

/// Where in an event a value stands.
#[derive(Default)]
struct Path {
    /// What says which text it is.
    which: String,
    pointer: String,
}

impl Path {
    /// Collects the strings of a value. `name`: the field that it is of.
    fn collect(&mut self, value: &Value, name: &str, goes_on: bool, found: &mut Vec<Leaf>) {
        let (which, pointer) = (self.which.len(), self.pointer.len());
        let mut below = |path: &mut Self, step: &str, name: &str, value: &Value| {
            path.pointer.push('/');
            path.pointer.push_str(step);
            path.collect(value, name, goes_on && !WHOLE.contains(&name), found);
            path.pointer.truncate(pointer);
        };
        match value {
            Value::Object(fields) => {
                for name in WHICH {
                    let told = |value: &&Value| value.is_string() || value.is_number();
                    if let Some(value) = fields.get(*name).filter(told) {
                        self.which.push_str(&format!("{name}={value} "));
                    }
                }
                for (name, value) in fields.iter().filter(|(name, _)| !NAMES.contains(&name.as_str())) {
                    below(self, &name.replace('~', "~0").replace('/', "~1"), name, value);
                }
            }
            Value::Array(items) => {
                for (at, value) in items.iter().enumerate() {
                    below(self, &at.to_string(), name, value);
                }
            }
            Value::String(text) if !text.is_empty() => found.push(Leaf {
                which: format!("{}{}", self.which, self.pointer),
                pointer: self.pointer.clone(),
                text: text.clone(),
                goes_on: goes_on && TEXTS.contains(&name),
            }),
            _ => {}
        }
        self.which.truncate(which);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::secrets::Secrets;

    const KEY: &str = "sk-ant-0123456789";

    fn spread() -> Spread {
        let secrets: zori_core::secret::Secrets = [KEY].into_iter().collect();
        Spread::new(Secrets::new(&secrets).now())
    }

    fn event(index: u32, text: &str) -> String {
        let event = serde_json::json!({"type": "content_block_delta", "index": index,
            "delta": {"type": "text_delta", "text": text}});
        format!("event: content_block_delta\ndata: {event}\n\n")
    }

    /// Returns the texts of the blocks of what was written.
    fn texts(written: &[u8]) -> Vec<String> {
        let mut texts = vec![String::new(); 2];
        for line in written.split_inclusive(|byte| *byte == b'\n') {
            if let Some(event) = json(line) {
                let at = event["index"].as_u64().unwrap_or_default() as usize;
                texts[at].push_str(event["delta"]["text"].as_str().unwrap_or_default());
            }
        }
        texts
    }

    /// Cut anywhere, into two and into single letters, with another text in between; and what only begins like one stays.
    #[test]
    fn spelled_over_events() {
        let said = format!("The key é{KEY}, again {KEY}{KEY} and sk-ant-0.");
        let cuts: Vec<usize> = (1..said.len()).filter(|at| said.is_char_boundary(*at)).collect();
        let pairs = cuts.iter().map(|at| vec![&said[..*at], &said[*at..]]);
        let letters = said.split("").filter(|letter| !letter.is_empty()).collect();
        for pieces in pairs.chain([letters]) {
            let mut spread = spread();
            let mut out = Vec::new();
            let stream: String = pieces.iter().map(|piece| event(0, piece) + &event(1, "s")).collect();
            // As a network cuts it.
            for bytes in stream.as_bytes().chunks(7) {
                out.extend(spread.push(bytes));
            }
            out.extend(spread.finish());
            let others = "s".repeat(pieces.len());
            assert_eq!(
                texts(&out),
                ["The key é[REDACTED], again [REDACTED][REDACTED] and sk-ant-0.", &others],
                "{pieces:?}"
            );
        }
    }

    /// What holds no secret is written byte for byte, and at once, unless a secret may begin at its end.
    #[test]
    fn nothing_else_changes() {
        let mut spread = spread();
        for line in [
            "event: ping\n",
            "data: {\"b\":  1, \"a\":\"x\"}\r\n",
            ": comment\n",
            "data: [DONE]\n",
            "{\"a\":\"b\"}\n",
            "\n",
        ] {
            assert_eq!(spread.push(line.as_bytes()), line.as_bytes(), "{line}");
        }
        let (open, plain) = (event(0, "a s"), event(0, "o."));
        assert_eq!(spread.push(open.as_bytes()), b"event: content_block_delta\n");
        let both = format!("{}{plain}", &open["event: content_block_delta\n".len()..]);
        assert_eq!(String::from_utf8(spread.push(plain.as_bytes())).unwrap(), both);
        let long = "x".repeat(MOST_BYTES + 1);
        assert_eq!(spread.push(long.as_bytes()), long.as_bytes());
    }

    /// Ends of lines that `text/event-stream` knows.
    #[test]
    fn every_end_of_a_line() {
        let (begin, rest) = KEY.split_at(5);
        let lines = event(0, begin) + &event(0, rest) + &event(0, ".");
        for end in ["\n", "\r\n", "\r"] {
            let stream = lines.replace('\n', end);
            for size in [1, 7, stream.len()] {
                let mut spread = spread();
                let pieces = stream.as_bytes().chunks(size);
                let out: Vec<u8> = pieces.flat_map(|piece| spread.push(piece)).collect();
                let written = String::from_utf8(out).unwrap().replace(end, "\n");
                let clean = event(0, REDACTED) + &event(0, "") + &event(0, ".");
                assert_eq!(written, clean, "{end:?}, {size} bytes at a time");
            }
        }
    }

    /// Only what later events go on with is waited for: not a state, a tool's name or its arguments in one piece, nor a text that is said again whole.
    #[test]
    fn what_comes_whole_is_written_at_once() {
        for line in [
            r#"data: {"type":"response.created","response":{"status":"in_progress"}}"#,
            r#"data: {"type":"response.output_text.done","item_id":"m","text":"Some words"}"#,
            r#"data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"t","name":"ls","input":{}}}"#,
            r#"data: {"type":"message_delta","delta":{"stop_reason":"max_tokens"}}"#,
            r#"data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"ls"}}]},"finish_reason":"stops"}]}"#,
            r#"data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"ls","args":{"text":"words"}}}]}}]}"#,
        ] {
            let line = format!("{line}\n");
            assert_eq!(spread().push(line.as_bytes()), line.as_bytes());
        }
        // A secret that stands in such a text is found all the same, in whatever way its letters are written.
        let hidden = format!(r#"{{"status":"\u0073{}"}}"#, &KEY[1..]);
        let written = spread().push(format!("{hidden}\n").as_bytes());
        assert_eq!(String::from_utf8(written).unwrap(), "{\"status\":\"[REDACTED]\"}\n");
    }

    /// Cut off anywhere, no more is lost of an answer than the event that may begin a secret.
    #[test]
    fn a_stream_of_responses() {
        for name in ["text", "tool_call", "reasoning_then_tool", "parallel_tools"] {
            let path = format!("{}/../../fixtures/openai_responses/{name}.sse", env!("CARGO_MANIFEST_DIR"));
            let stream = std::fs::read(path).unwrap();
            let (mut spread, mut out, mut came, mut waits_from) = (spread(), Vec::new(), 0, None);
            for line in stream.split_inclusive(|byte| *byte == b'\n') {
                out.extend(spread.push(line));
                if let Some(text) = json(line).as_ref().and_then(|event| event["delta"].as_str()) {
                    waits_from = spread.secrets.found(text.as_bytes()).1.map(|_| came);
                }
                came += line.len();
                assert_eq!(out.len(), waits_from.unwrap_or(came), "{name}");
            }
            out.extend(spread.finish());
            assert_eq!(out, stream, "{name}");
        }
    }

    /// Of a text that does not go on no more than a few lines are held back, however long the answer is.
    #[test]
    fn what_does_not_go_on_is_given_up() {
        let mut spread = spread();
        let begin = event(0, "s");
        let mut out = spread.push(begin.as_bytes());
        let mut came = begin.len();
        for _ in 0..2 * PATIENCE {
            let more = event(1, ".");
            came += more.len();
            out.extend(spread.push(more.as_bytes()));
            assert!(spread.held.len() <= PATIENCE as usize + 2);
        }
        assert_eq!(out.len(), came);
    }

    /// Memory stays bounded in bytes and in lines where a text goes on with what a secret may begin with.
    #[test]
    fn held_lines_are_bounded() {
        let secrets: zori_core::secret::Secrets = ["s".repeat(MOST_LINES).as_str()].into_iter().collect();
        for between in [1, MOST_BYTES / 32] {
            let mut spread = Spread::new(Secrets::new(&secrets).now());
            let (mut out, mut came) = (Vec::new(), 0);
            for _ in 0..MOST_LINES / between.min(64) {
                let more = event(0, "s") + &event(1, &".".repeat(between));
                came += more.len();
                out.extend(spread.push(more.as_bytes()));
                assert!(spread.held.len() <= MOST_LINES && spread.bytes <= MOST_BYTES);
            }
            assert!(out.len() > came / 4, "{} of {came}", out.len());
            out.extend(spread.finish());
            assert_eq!(out.len(), came);
        }
    }
}
