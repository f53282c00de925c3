//! Writes lines to stdout: one writer, one lock, one write per line, and no line that is too long for its reader.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde::{Serialize, Serializer};
use serde_json::Value;

/// The longest line in the SDK dialect: a client gives up at 1 MiB.
pub const SDK_LINE: usize = 900_000;
/// The longest line in the Yume dialect.
pub const YUME_LINE: usize = 100_000;

/// Where lines go. Clones share it, so that lines never mix.
#[derive(Clone)]
pub struct FrameWriter(Arc<Mutex<Out>>);

struct Out {
    stream: Box<dyn Write + Send>,
    line: Vec<u8>,
    most: usize,
    writing: FrameMode,
    closed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FrameMode {
    /// Every line is written.
    All,
    /// Only the last line of a run, by [`FrameWriter::write_last`].
    LastOnly,
}

/// Keeps lines in memory, for a run that prints them itself. Clones share them.
#[derive(Clone, Default)]
pub struct FrameBuffer(Arc<Mutex<Vec<u8>>>);

impl FrameBuffer {
    /// Returns the lines so far.
    pub fn text(&self) -> String {
        let bytes = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

impl Write for FrameBuffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A line that has to be exact and is too long for its reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLong {
    pub bytes: usize,
    pub most: usize,
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bytes, most } = self;
        write!(f, "a line of {bytes} bytes is too long for the client; {most} are possible")
    }
}

impl FrameWriter {
    /// Writes to the stream, which must not collect bytes itself.
    pub fn new(stream: Box<dyn Write + Send>, most: usize, writing: FrameMode) -> Self {
        Self(Arc::new(Mutex::new(Out { stream, line: Vec::new(), most, writing, closed: false })))
    }

    /// Writes a line. Strings of one that is too long are cut, the longest first, and say so.
    pub fn write(&self, line: &impl Serialize) -> io::Result<()> {
        let mut out = self.lock();
        if out.writing == FrameMode::LastOnly {
            return Ok(());
        }
        encode(line, &mut out.line);
        if out.line.len() >= out.most {
            let short = shortened(&out.line, out.most);
            out.line = short;
        }
        out.send()
    }

    /// Writes a line of which nothing may be missing.
    pub fn write_exact(&self, line: &impl Serialize) -> Result<io::Result<()>, TooLong> {
        let mut out = self.lock();
        encode(line, &mut out.line);
        if out.line.len() >= out.most {
            return Err(TooLong { bytes: out.line.len(), most: out.most });
        }
        Ok(out.send())
    }

    /// Writes what is wanted in place of all lines.
    pub fn write_last(&self, text: &str) -> io::Result<()> {
        let mut out = self.lock();
        out.line.clear();
        out.line.extend_from_slice(text.as_bytes());
        if !text.ends_with('\n') {
            out.line.push(b'\n');
        }
        out.send()
    }

    /// Returns whether the reader is gone.
    pub fn is_closed(&self) -> bool {
        self.lock().closed
    }

    fn lock(&self) -> MutexGuard<'_, Out> {
        // A line is whole or was not begun, whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Out {
    fn send(&mut self) -> io::Result<()> {
        let written = self.stream.write_all(&self.line);
        self.closed |= written.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        // A line that took much memory does not keep it.
        self.line.shrink_to(64 << 10);
        written
    }
}

/// Writes the line with its end. Some readers take U+2028 and U+2029 for ends of lines, so they are escapes (TERM-4); in
/// JSON text they occur in strings only.
fn encode(line: &impl Serialize, buffer: &mut Vec<u8>) {
    buffer.clear();
    serde_json::to_writer(&mut *buffer, line).expect("lines are made of JSON, and memory takes them");
    if buffer.contains(&0xe2) && buffer.windows(3).any(|at| matches!(at, [0xe2, 0x80, 0xa8 | 0xa9])) {
        let text =
            String::from_utf8_lossy(buffer).replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
        *buffer = text.into_bytes();
    }
    buffer.push(b'\n');
}

/// Cuts strings until the line fits: all that are longer than a bound, which is halved as often as it takes.
fn shortened(line: &[u8], most: usize) -> Vec<u8> {
    let mut value: Value = serde_json::from_slice(line).expect("what was encoded can be read");
    let mut bound = most / 2;
    let mut short = Vec::new();
    while bound > 16 {
        cut(&mut value, bound);
        encode(&TypeFirst(&value), &mut short);
        if short.len() < most {
            break;
        }
        bound /= 2;
    }
    short
}

/// An object that begins with its type, as every line does.
struct TypeFirst<'a>(&'a Value);

impl Serialize for TypeFirst<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Value::Object(map) = self.0 else { return self.0.serialize(serializer) };
        let kind = map.get_key_value("type");
        serializer.collect_map(kind.into_iter().chain(map.iter().filter(|(name, _)| *name != "type")))
    }
}

fn cut(value: &mut Value, bound: usize) {
    match value {
        Value::String(text) if text.len() > bound => {
            let keep = text.floor_char_boundary(bound * 4 / 5);
            let left_out = text.len() - keep;
            text.truncate(keep);
            text.push_str(&format!("... [{left_out} more bytes left out]"));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cut(item, bound)),
        Value::Object(map) => map.values_mut().for_each(|item| cut(item, bound)),
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::sample::Paper;

    fn written(most: usize, line: &Value) -> String {
        let paper = Paper::default();
        FrameWriter::new(Box::new(paper.clone()), most, FrameMode::All).write(line).unwrap();
        paper.text()
    }

    #[test]
    fn a_line_that_is_too_long_is_cut_where_it_is_long() {
        let line = json!({"type": "user", "id": "short", "content": ["x".repeat(5000), "ä".repeat(200)]});
        let text = written(1000, &line);
        assert!(text.len() < 1000 && text.ends_with("\"]}\n"), "{text}");
        let read: Value = serde_json::from_str(&text).unwrap();
        assert_eq!((&read["type"], &read["id"]), (&json!("user"), &json!("short")));
        assert!(read["content"][0].as_str().unwrap().ends_with(" more bytes left out]"), "{text}");
        assert_eq!(written(1000, &json!({"a": "b\u{2028}c"})), "{\"a\":\"b\\u2028c\"}\n");
    }

    #[test]
    fn what_has_to_be_exact_is_written_whole_or_not_at_all() {
        let paper = Paper::default();
        let frames = FrameWriter::new(Box::new(paper.clone()), 20, FrameMode::All);
        assert_eq!(
            frames.write_exact(&json!({"a": "0123456789012345"})).unwrap_err(),
            TooLong { bytes: 25, most: 20 }
        );
        frames.write_exact(&json!({"a": 1})).unwrap().unwrap();
        assert_eq!(paper.text(), "{\"a\":1}\n");
    }

    #[test]
    fn only_the_last_word() {
        let paper = Paper::default();
        let frames = FrameWriter::new(Box::new(paper.clone()), SDK_LINE, FrameMode::LastOnly);
        frames.write(&json!({"a": 1})).unwrap();
        frames.write_last("done").unwrap();
        assert_eq!(paper.text(), "done\n");
    }
}
