//! `read`: a text file, whole up to 51200 bytes, or a page of its lines; or an image, which is in `read/image.rs`.

mod image;

use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::cancel::Cancel;
use zori_core::tool::{Effect, Leniency, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};

use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;
use crate::open_dir::FileMeta;
use crate::read::image::ImageCheck;
use crate::seen::{SeenFiles, SeenState};
use crate::target::Target;
use crate::textfile::{self, Completeness, Encoding, FileError, Opened};
use crate::{blocking, paths};

/// How much of a file one call returns (READ-2).
const MAX_BYTES: usize = 51_200;
/// How much behind that is read to count the lines; of a longer file nobody is told how many it has.
const MAX_COUNTED: u64 = 8 << 20;

pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Read,
    about: "Read a text file, an image or a PDF. Returns at most 51200 bytes of text; page through larger files with offset and \
            limit.",
    params: &[
        Param {
            name: "path",
            aliases: &["file_path"],
            ty: Ty::Text,
            need: Need::Required,
            about: "absolute, or relative to the root",
        },
        Param {
            name: "offset",
            aliases: &[],
            ty: Ty::Int,
            need: Need::Optional,
            about: "first line, from 1",
        },
        Param { name: "limit", aliases: &[], ty: Ty::Int, need: Need::Optional, about: "number of lines" },
        Param {
            name: "max_bytes",
            aliases: &[],
            ty: Ty::Int,
            need: Need::Optional,
            about: "at most this many bytes",
        },
    ],
};

pub struct Read {
    env: Arc<ToolEnv>,
    seen: Arc<SeenFiles>,
}

#[derive(Deserialize)]
struct Args {
    path: String,
    offset: Option<i64>,
    limit: Option<i64>,
    max_bytes: Option<i64>,
}

#[derive(Serialize)]
struct Data<'a> {
    path: String,
    content: &'a str,
    truncated: bool,
    bytes: u64,
    #[serde(flatten)]
    page: Option<Page>,
    /// How many lines the whole file has, where not all of them are here and it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_lines: Option<u64>,
    /// Set where the file is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    encoding: Option<&'static str>,
}

/// What is added when the call asked for a page.
#[derive(Serialize)]
struct Page {
    start_line: u64,
    end_line: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<u64>,
}

impl Read {
    /// Makes the tool; `seen` is shared with the tools that write.
    pub fn new(env: Arc<ToolEnv>, seen: Arc<SeenFiles>) -> Self {
        Self { env, seen }
    }
}

impl Tool for Read {
    fn kind(&self) -> Option<ToolKind> {
        Some(DEF.kind)
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        let args: Args = crate::args::typed(args);
        vec![Effect::Read(paths::resolve(&self.env, &args.path))]
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args: Args = crate::args::typed(args);
        let path = paths::resolve(&self.env, &args.path);
        let (seen, leniency) = (self.seen.clone(), self.env.leniency);
        Box::pin(blocking::run(cx.cancel, self.env.timeout, move |cancel| {
            let target = Target::from_snapshot(&cx.snapshot, &path);
            match target.map_err(|error| FileError::from_open(&path, error)) {
                Ok(target) => read(&target, &args, (&seen, leniency), cancel),
                Err(error) => error.output(),
            }
        }))
    }
}

fn read(
    target: &Target,
    args: &Args,
    (seen, leniency): (&SeenFiles, Leniency),
    cancel: &Cancel,
) -> ToolOutput {
    let path = &target.path;
    for (name, value) in [("offset", args.offset), ("limit", args.limit), ("max_bytes", args.max_bytes)] {
        if value.is_some_and(|v| v < 1) {
            return ToolOutput::failure(ToolCode::InvalidInput, format!("`{name}` must be at least 1"));
        }
    }
    let max = args.max_bytes.map_or(MAX_BYTES, |n| usize::try_from(n).unwrap_or(MAX_BYTES).min(MAX_BYTES));
    let opened = match textfile::open(target) {
        Ok(opened) => opened,
        Err(error) => return error.output(),
    };
    let opened = match image::look(path, opened) {
        Ok(ImageCheck::Otherwise(opened)) => opened,
        Ok(ImageCheck::Answered(output)) | Err(output) => return output,
    };
    let data = match (args.offset, args.limit) {
        (None, None) => start(path, opened, max, (seen, leniency), cancel),
        (offset, limit) => {
            let first = offset.map_or(1, i64::unsigned_abs);
            let lines = limit.map_or(u64::MAX, i64::unsigned_abs);
            page(path, opened, LineRange { first, lines, max }, (seen, leniency), cancel)
        }
    };
    data.unwrap_or_else(|failure| failure)
}

/// Reads the beginning of the file, which for most files is all of it.
fn start(
    path: &Path,
    opened: Opened,
    max: usize,
    (seen, leniency): (&SeenFiles, Leniency),
    cancel: &Cancel,
) -> Result<ToolOutput, ToolOutput> {
    let Opened { real, file, meta } = opened;
    let Source { len, bytes: mut source, encoding } = source(&real, file, &meta, seen, leniency);
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(max).min(max) + 1);
    let first = source.by_ref().take(max as u64 + 1).read_to_end(&mut bytes);
    first.map_err(|e| FileError::from_io(path, e).output())?;
    // Some files say they are empty and are not, those of the kernel for example.
    let size = len.max(bytes.len() as u64);
    let truncated = bytes.len() > max;
    let counting = (truncated && leniency == Leniency::Forgiving).then(|| LineCount::of(&bytes));
    bytes.truncate(max);
    let mark = match truncated || encoding.is_some() {
        true => SeenState::part(&meta),
        false => SeenState::whole(&bytes),
    };
    let completeness = if truncated { Completeness::Cut } else { Completeness::Whole };
    let content = textfile::text(path, bytes, completeness).map_err(|e| e.output())?;
    seen.remember(&real, mark);
    // Lines of what turned out to be text only: up to 8 MiB are read for it.
    let total_lines = counting.and_then(|counting| counting.count_rest(&mut source, cancel));
    let data = Data {
        path: paths::shown(&real),
        content: &content,
        truncated,
        bytes: size,
        page: None,
        total_lines,
        encoding,
    };
    Ok(success(&data))
}

/// What is read.
struct Source {
    len: u64,
    bytes: Box<dyn io::Read>,
    encoding: Option<&'static str>,
}

/// Returns the text an editor holds, the text of a UTF-16 file, else the file.
fn source(real: &Path, file: File, meta: &FileMeta, seen: &SeenFiles, leniency: Leniency) -> Source {
    let of_text = |text: String, encoding| Source {
        len: text.len() as u64,
        bytes: Box::new(io::Cursor::new(text)),
        encoding,
    };
    if let Some(text) = seen.held(real) {
        return of_text(text, None);
    }
    let mut mark = [0; 2];
    let marked = file.read_at(&mut mark, 0).is_ok_and(|n| n == 2) && Encoding::of(&mark) != Encoding::Utf8;
    if leniency == Leniency::Forgiving && marked && meta.len <= textfile::MAX_LOADED {
        let mut bytes = Vec::new();
        let whole = (&file).take(textfile::MAX_LOADED).read_to_end(&mut bytes);
        if let (Ok(_), Some(text)) = (whole, Encoding::of(&mark).decoded(&bytes)) {
            return of_text(text, Some("UTF-16"));
        }
    }
    Source { len: meta.len, bytes: Box::new(file), encoding: None }
}

/// Which lines are wanted.
struct LineRange {
    first: u64,
    lines: u64,
    max: usize,
}

/// Reads some lines, and holds nothing else of the file in memory.
fn page(
    path: &Path,
    opened: Opened,
    wanted: LineRange,
    (seen, leniency): (&SeenFiles, Leniency),
    cancel: &Cancel,
) -> Result<ToolOutput, ToolOutput> {
    let Opened { real, file, meta } = opened;
    let Source { len, bytes: mut source, encoding } = source(&real, file, &meta, seen, leniency);
    let (cut, counted) =
        scan(&mut source, &wanted, cancel).map_err(|e| FileError::from_io(path, e).output())?;
    if cut.bytes.is_empty() && wanted.first > 1 {
        return Err(ToolOutput::failure(
            ToolCode::InvalidInput,
            format!("`offset` {} is past the end: the file has {} lines", wanted.first, counted.total()),
        ));
    }
    let completeness = if cut.more { Completeness::Cut } else { Completeness::Whole };
    let content = textfile::text(path, cut.bytes, completeness).map_err(|e| e.output())?;
    // A last line without its newline counts as well.
    let lines = content.lines().count() as u64;
    let end_line = (wanted.first + lines).saturating_sub(1);
    seen.remember(&real, SeenState::part(&meta));
    let total_lines = match (leniency, cut.more) {
        (Leniency::Exact, _) => None,
        (Leniency::Forgiving, false) => Some(counted.total()),
        (Leniency::Forgiving, true) => counted.count_rest(&mut source, cancel),
    };
    let page = Page { start_line: wanted.first, end_line, next_offset: cut.more.then_some(end_line + 1) };
    let data = Data {
        path: paths::shown(&real),
        content: &content,
        truncated: cut.more,
        bytes: len,
        page: Some(page),
        total_lines,
        encoding,
    };
    Ok(success(&data))
}

/// The wanted lines, found.
#[derive(Default)]
struct PageLines {
    bytes: Vec<u8>,
    more: bool,
}

/// The lines of what was read so far.
#[derive(Default)]
struct LineCount {
    ended: u64,
    /// Whether the last line has no newline yet.
    open: bool,
}

impl LineCount {
    fn of(bytes: &[u8]) -> Self {
        let mut lines = Self::default();
        lines.add(bytes);
        lines
    }

    fn add(&mut self, bytes: &[u8]) {
        self.ended += bytes.iter().filter(|byte| **byte == b'\n').count() as u64;
        self.open = bytes.last().map_or(self.open, |last| *last != b'\n');
    }

    fn total(&self) -> u64 {
        self.ended + u64::from(self.open)
    }

    /// Counts what is left of a file; `None` where that is too much or cannot be read.
    fn count_rest(mut self, file: &mut impl io::Read, cancel: &Cancel) -> Option<u64> {
        let mut buffer = vec![0; 64 << 10];
        let mut left = MAX_COUNTED;
        while !cancel.is_cancelled() {
            let n = match file.read(&mut buffer) {
                Ok(0) => return Some(self.total()),
                Ok(n) => n,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(_) => return None,
            };
            self.add(&buffer[..n]);
            left = left.checked_sub(n as u64)?;
        }
        None
    }
}

fn scan(file: &mut impl io::Read, wanted: &LineRange, cancel: &Cancel) -> io::Result<(PageLines, LineCount)> {
    let (mut cut, mut counted) = (PageLines::default(), LineCount::default());
    let mut buffer = vec![0; 64 << 10];
    let mut line = 1;
    let mut full = false;
    loop {
        if cancel.is_cancelled() {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let n = match file.read(&mut buffer) {
            Ok(n) => n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error),
        };
        if n == 0 {
            return Ok((cut, counted));
        }
        counted.add(&buffer[..n]);
        for piece in buffer[..n].split_inclusive(|&b| b == b'\n') {
            if line >= wanted.first {
                if full || line - wanted.first >= wanted.lines {
                    cut.more = true;
                    return Ok((cut, counted));
                }
                let room = wanted.max - cut.bytes.len();
                full = piece.len() >= room;
                cut.more = piece.len() > room;
                cut.bytes.extend_from_slice(&piece[..piece.len().min(room)]);
                if cut.more {
                    // Whole lines can be continued with `offset`; a single line longer than a page cannot.
                    if let Some(end) = cut.bytes.iter().rposition(|&b| b == b'\n') {
                        cut.bytes.truncate(end + 1);
                    }
                    return Ok((cut, counted));
                }
            }
            if piece.ends_with(b"\n") {
                line += 1;
            }
        }
    }
}

fn success(data: &Data) -> ToolOutput {
    ToolOutput::success(&serde_json::to_string(data).expect("strings and numbers are JSON"))
}

#[cfg(test)]
mod tests;
