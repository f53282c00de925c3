//! Takes secrets out of a streamed answer that a model spells over several events: each event has a piece of a text, and the whole secret stands in none.
//!
//! What may be the beginning of a secret is held back until the next pieces of that text say what it is. A secret that is found becomes `[REDACTED]` in
//! the event where it begins and nothing in the others, so that a replay puts together the same text without it.

use std::cmp::Reverse;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use serde_json::Value;
use zori_core::secret::REDACTED;

use super::secrets::Secrets;

/// How many lines are held back at most; what is spread wider is not recognised.
const MOST_LINES: usize = 4096;
/// The longest line that is looked into.
const LONGEST: usize = 1 << 20;
/// Fields that name things: their values stand beside each other by chance.
const NAMES: &[&str] = &["type", "id", "role", "model", "object"];
/// Fields that say which text of an answer an event goes on with.
const WHICH: &[&str] = &["type", "index", "output_index", "content_index", "item_id"];

/// The lines of an answer that are held back.
pub(super) struct Spread {
    secrets: Arc<Secrets>,
    /// A line without its end yet.
    partial: Vec<u8>,
    held: VecDeque<Entry>,
    /// The number of the first line that is held.
    first: u64,
    /// The end of each text, as far as a secret may begin with it.
    ends: HashMap<String, End>,
}

/// A line, and what goes out of it.
struct Entry {
    line: Vec<u8>,
    cuts: Vec<Cut>,
}

/// A part of a string that goes out of a line.
struct Cut {
    pointer: String,
    from: usize,
    to: usize,
    instead: &'static str,
}

#[derive(Default)]
struct End {
    text: String,
    pieces: Vec<Piece>,
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
    pub(super) fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, partial: Vec::new(), held: VecDeque::new(), first: 0, ends: HashMap::new() }
    }

    /// Returns what can be written of the bytes so far.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.partial.extend_from_slice(bytes);
        while let Some(end) = self.partial.iter().position(|byte| *byte == b'\n') {
            let line = self.partial.drain(..=end).collect();
            self.line(line);
        }
        if self.partial.len() > LONGEST {
            return self.finish();
        }
        self.settled()
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
        let needed = self.ends.values().filter_map(|end| end.pieces.first()).map(|piece| piece.entry).min();
        let until = needed.unwrap_or(u64::MAX);
        let mut out = Vec::new();
        while self.first < until || self.held.len() > MOST_LINES {
            let Some(entry) = self.held.pop_front() else { break };
            out.extend(entry.written());
            self.first += 1;
        }
        let first = self.first;
        self.ends.retain(|_, end| end.pieces.first().is_some_and(|piece| piece.entry >= first));
        out
    }

    fn line(&mut self, line: Vec<u8>) {
        let entry = self.first + self.held.len() as u64;
        let mut strings = Vec::new();
        if line.len() <= LONGEST
            && let Some(event) = json(&line)
        {
            leaves(&event, &mut String::new(), &mut String::new(), &mut strings);
        }
        self.held.push_back(Entry { line, cuts: Vec::new() });
        for (which, pointer, text) in strings {
            self.goes_on(which, entry, pointer, &text);
        }
    }

    /// Looks for secrets in a text that goes on.
    fn goes_on(&mut self, which: String, entry: u64, pointer: String, more: &str) {
        let mut end = self.ends.remove(&which).unwrap_or_default();
        end.text.push_str(more);
        end.pieces.push(Piece { entry, pointer, from: 0, len: more.len() });
        let (found, open) = self.secrets.found(end.text.as_bytes());
        for (from, to) in found {
            self.cut(&end, from, to);
        }
        let Some(open) = open else { return };
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
                entry.cuts.push(Cut { pointer: piece.pointer.clone(), from, to, instead });
            }
            at += piece.len;
        }
    }
}

impl Entry {
    fn written(self) -> Vec<u8> {
        let Self { line, mut cuts } = self;
        let Some(mut event) = (!cuts.is_empty()).then(|| json(&line)).flatten() else { return line };
        // From the back, so that what is before a cut keeps its place.
        cuts.sort_by_key(|cut| Reverse(cut.from));
        for Cut { pointer, from, to, instead } in cuts {
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

/// Collects the strings of an event: of which text each is a piece, where it stands, and what it says.
fn leaves(
    value: &Value,
    which: &mut String,
    pointer: &mut String,
    found: &mut Vec<(String, String, String)>,
) {
    let long = [which.len(), pointer.len()];
    let mut below = |which: &mut String, step: &str, value: &Value| {
        pointer.push('/');
        pointer.push_str(step);
        leaves(value, which, pointer, found);
        pointer.truncate(long[1]);
    };
    match value {
        Value::Object(fields) => {
            for name in WHICH {
                if let Some(value) = fields.get(*name).filter(|value| value.is_string() || value.is_number())
                {
                    which.push_str(&format!("{name}={value} "));
                }
            }
            for (name, value) in fields.iter().filter(|(name, _)| !NAMES.contains(&name.as_str())) {
                below(which, &name.replace('~', "~0").replace('/', "~1"), value);
            }
        }
        Value::Array(items) => {
            for (at, value) in items.iter().enumerate() {
                below(which, &at.to_string(), value);
            }
        }
        Value::String(text) if !text.is_empty() => {
            found.push((format!("{which}{pointer}"), pointer.clone(), text.clone()));
        }
        _ => {}
    }
    which.truncate(long[0]);
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "sk-ant-0123456789";

    fn spread() -> Spread {
        let secrets: zori_core::secret::Secrets = [KEY].into_iter().collect();
        Spread::new(Arc::new(Secrets::new(&secrets)))
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
        let long = "x".repeat(LONGEST + 1);
        assert_eq!(spread.push(long.as_bytes()), long.as_bytes());
    }

    /// Memory stays bounded where nothing settles what a secret may begin with.
    #[test]
    fn held_lines_are_bounded() {
        let mut spread = spread();
        let mut out = spread.push(event(0, "s").as_bytes());
        let rest = event(1, ".").repeat(MOST_LINES);
        out.extend(spread.push(rest.as_bytes()));
        assert!(spread.held.len() <= MOST_LINES && out.len() > rest.len() / 2);
        out.extend(spread.finish());
        assert_eq!(out.len(), event(0, "s").len() + rest.len());
    }
}
