//! Collects what a process prints: all of it up to a bound, then its beginning and its end, and the whole in a file.

use std::fs::File;
use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;

use zori_core::tool::{LiveOutput, OutputStream};

use super::spill::SpillFolder;

/// The most that is kept of a stream in memory (DECISIONS 14).
const CEILING: usize = 8 << 20;
/// What is kept of each end when even the ceiling is passed (CH-4).
const CEILING_END: usize = 1 << 20;
/// The most that is written to a file; what comes after it is counted only.
const MAX_SPILL: u64 = 1 << 30;
/// The longest part of a line that is held back from the live output until the rest arrives (L-12).
const MAX_PENDING: usize = 64 << 10;

/// What a process printed.
#[derive(Debug, PartialEq, Eq)]
pub struct Captured {
    /// The text; bytes that are not UTF-8 are replaced. A note marks where something was cut out.
    pub text: String,
    /// Whether something was cut out.
    pub cut: bool,
    /// Where all of it is, if it is stored.
    pub file: Option<PathBuf>,
}

/// A stream being collected.
pub struct Collector {
    stream: OutputStream,
    /// Up to how many bytes all is kept.
    limit: usize,
    /// How many bytes of each end are kept beyond that.
    end: usize,
    folder: Arc<SpillFolder>,
    live: Option<LiveFeed>,
    /// All of it, or after the limit its beginning.
    head: Vec<u8>,
    over: Option<Overflow>,
    /// How much may be written to files.
    room: u64,
}

/// The state of a stream that has passed its limit.
struct Overflow {
    total: u64,
    tail: Tail,
    spill: Option<Spill>,
}

struct Spill {
    path: PathBuf,
    file: File,
    written: u64,
    room: u64,
    failed: bool,
}

impl Collector {
    /// Collects up to `max` bytes whole; 0 means up to the ceiling.
    pub fn new(
        stream: OutputStream,
        max: usize,
        folder: Arc<SpillFolder>,
        live: Option<Arc<dyn LiveOutput>>,
    ) -> Self {
        let (limit, end) = match max {
            1..CEILING => (max, max / 2),
            _ => (CEILING, CEILING_END),
        };
        let live = live.map(|live| LiveFeed { live, stream, pending: Vec::new() });
        Self { stream, limit, end, folder, live, head: Vec::new(), over: None, room: MAX_SPILL }
    }

    /// Takes the next bytes.
    pub fn push(&mut self, chunk: &[u8]) {
        if let Some(feed) = &mut self.live {
            feed.push(chunk);
        }
        match &mut self.over {
            Some(over) => over.push(chunk),
            None => {
                self.head.extend_from_slice(chunk);
                if self.head.len() > self.limit {
                    self.pass_limit();
                }
            }
        }
    }

    /// Passes nothing on any more to who watches.
    pub fn stop_live(&mut self) {
        if let Some(feed) = self.live.take() {
            feed.finish();
        }
    }

    /// Returns the text that came since the last time. The files of all those texts together are bounded like one.
    pub fn take(&mut self) -> Captured {
        let fresh = Self {
            stream: self.stream,
            limit: self.limit,
            end: self.end,
            folder: self.folder.clone(),
            live: self.live.take(),
            head: Vec::new(),
            over: None,
            room: self
                .over
                .as_ref()
                .and_then(|over| over.spill.as_ref())
                .map_or(self.room, |spill| spill.room),
        };
        let mut all = std::mem::replace(self, fresh);
        if all.over.is_none() {
            // A character that is not complete is left for the next time.
            self.head = all.head.split_off(all.head.len() - unfinished(&all.head));
        }
        all.finish()
    }

    /// Returns the text.
    pub fn finish(self) -> Captured {
        if let Some(feed) = self.live {
            feed.finish();
        }
        let Some(over) = self.over else {
            return Captured { text: lossy(self.head), cut: false, file: None };
        };
        let head = whole_start(&self.head);
        let tail = whole_end(over.tail.bytes());
        let missing = over.total - (head.len() + tail.len()) as u64;
        let (place, file) = match over.spill {
            Some(spill) if spill.failed => ("the file with all of it could not be written".to_owned(), None),
            Some(spill) if spill.written == MAX_SPILL => {
                (format!("the first GiB of it is in {}", spill.path.display()), Some(spill.path))
            }
            Some(spill) if spill.written < over.total => (
                format!("the first {} bytes of it are in {}", spill.written, spill.path.display()),
                Some(spill.path),
            ),
            Some(spill) => (format!("all of it is in {}", spill.path.display()), Some(spill.path)),
            None => ("the file with all of it could not be made".to_owned(), None),
        };
        let text = format!(
            "{}\n[... {missing} of {} bytes cut here; {place} ...]\n{}",
            String::from_utf8_lossy(head).trim_end_matches('\n'),
            over.total,
            String::from_utf8_lossy(tail)
        );
        Captured { text, cut: true, file }
    }

    /// From here on only both ends are kept, and everything goes to a file.
    fn pass_limit(&mut self) {
        let name = match self.stream {
            OutputStream::Stdout => "stdout",
            OutputStream::Stderr => "stderr",
        };
        let spill = self.folder.create(name).ok();
        let spill =
            spill.map(|(path, file)| Spill { path, file, written: 0, room: self.room, failed: false });
        let all = std::mem::take(&mut self.head);
        self.head = all[..self.end].to_vec();
        let mut over = Overflow { total: 0, tail: Tail::new(self.end), spill };
        over.push(&all);
        self.over = Some(over);
    }
}

impl Overflow {
    fn push(&mut self, chunk: &[u8]) {
        self.total += chunk.len() as u64;
        self.tail.push(chunk);
        let Some(spill) = &mut self.spill else { return };
        let len = usize::try_from(spill.room).unwrap_or(usize::MAX).min(chunk.len());
        if !spill.failed {
            spill.failed = spill.file.write_all(&chunk[..len]).is_err();
            spill.room -= len as u64;
            spill.written += len as u64;
        }
    }
}

/// The last bytes of a stream. It holds up to twice as many as it keeps, so that each byte is moved about once.
struct Tail {
    keep: usize,
    held: Vec<u8>,
}

impl Tail {
    fn new(keep: usize) -> Self {
        Self { keep, held: Vec::new() }
    }

    fn push(&mut self, chunk: &[u8]) {
        let chunk = &chunk[chunk.len().saturating_sub(self.keep)..];
        if self.held.len() + chunk.len() > 2 * self.keep {
            let stays = self.keep - chunk.len();
            self.held.drain(..self.held.len() - stays);
        }
        self.held.extend_from_slice(chunk);
    }

    fn bytes(&self) -> &[u8] {
        &self.held[self.held.len().saturating_sub(self.keep)..]
    }
}

/// Cuts a beginning at a line's end if one is near, else at a character's.
fn whole_start(bytes: &[u8]) -> &[u8] {
    let near = bytes.len() - bytes.len() / 4;
    if let Some(newline) = bytes[near..].iter().rposition(|&b| b == b'\n') {
        return &bytes[..=near + newline];
    }
    &bytes[..bytes.len() - unfinished(bytes)]
}

/// Cuts an end at a line's start if one is near, else at a character's.
fn whole_end(bytes: &[u8]) -> &[u8] {
    let near = bytes.len() / 4;
    if let Some(newline) = bytes[..near].iter().position(|&b| b == b'\n') {
        return &bytes[newline + 1..];
    }
    let inside = bytes.iter().take(3).take_while(|&&b| b & 0xc0 == 0x80).count();
    &bytes[inside..]
}

/// Returns how many bytes at the end begin a character that is not complete.
fn unfinished(bytes: &[u8]) -> usize {
    (1..=bytes.len().min(3))
        .find(|&back| bytes[bytes.len() - back] & 0xc0 != 0x80)
        .filter(|&back| {
            let lead = bytes[bytes.len() - back];
            let len = match lead {
                0xc2..=0xdf => 2,
                0xe0..=0xef => 3,
                0xf0..=0xf4 => 4,
                _ => 1,
            };
            len > back
        })
        .unwrap_or(0)
}

/// Takes the last line that has this mark out of a text, from the mark on. Returns what stood behind the mark.
pub fn take_line(text: &mut String, mark: &str) -> Option<String> {
    let start = text.rfind(mark)?;
    let end = text[start..].find('\n').map_or(text.len(), |newline| start + newline + 1);
    let line = text[start + mark.len()..end].to_owned();
    text.replace_range(start..end, "");
    Some(line)
}

fn lossy(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned())
}

/// Passes whole lines on to the live output.
struct LiveFeed {
    live: Arc<dyn LiveOutput>,
    stream: OutputStream,
    pending: Vec<u8>,
}

impl LiveFeed {
    fn push(&mut self, chunk: &[u8]) {
        let lines = chunk.iter().rposition(|&b| b == b'\n').map_or(0, |newline| newline + 1);
        if lines > 0 {
            if self.pending.is_empty() {
                self.live.push(self.stream, &String::from_utf8_lossy(&chunk[..lines]));
            } else {
                self.pending.extend_from_slice(&chunk[..lines]);
                self.live.push(self.stream, &String::from_utf8_lossy(&self.pending));
                self.pending.clear();
            }
        }
        self.pending.extend_from_slice(&chunk[lines..]);
        if self.pending.len() > MAX_PENDING {
            let rest = self.pending.split_off(self.pending.len() - unfinished(&self.pending));
            self.live.push(self.stream, &String::from_utf8_lossy(&self.pending));
            self.pending = rest;
        }
    }

    fn finish(self) {
        if !self.pending.is_empty() {
            self.live.push(self.stream, &String::from_utf8_lossy(&self.pending));
        }
    }
}

#[cfg(test)]
mod tests;
