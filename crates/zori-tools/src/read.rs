//! `read`: a text file, whole up to 51200 bytes, or a page of its lines; or an image, which is in `read/picture.rs`.

mod picture;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::cancel::Cancel;
use zori_core::tool::{Effect, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};

use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;
use crate::folder::Meta;
use crate::read::picture::Looked;
use crate::seen::{Mark, Seen};
use crate::target::Target;
use crate::textfile::{self, Completeness, FileError, Opened};
use crate::{blocking, paths};

/// How much of a file one call returns (READ-2).
const MAX_BYTES: usize = 51_200;

/// The tool's table entry.
pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::Read,
    about: "Read a text file or an image. Returns at most 51200 bytes of text; page through larger files with offset and \
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

/// The tool.
pub struct Read {
    env: Arc<ToolEnv>,
    seen: Arc<Seen>,
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
    pub fn new(env: Arc<ToolEnv>, seen: Arc<Seen>) -> Self {
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
        let seen = self.seen.clone();
        Box::pin(blocking::run(cx.cancel, self.env.timeout, move |cancel| {
            let target = Target::judged(&cx.judged, &path);
            match target.map_err(|error| FileError::from_open(&path, error)) {
                Ok(target) => read(&target, &args, &seen, cancel),
                Err(error) => error.output(),
            }
        }))
    }
}

fn read(target: &Target, args: &Args, seen: &Seen, cancel: &Cancel) -> ToolOutput {
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
    let opened = match picture::look(path, opened) {
        Ok(Looked::Otherwise(opened)) => opened,
        Ok(Looked::Answered(output)) | Err(output) => return output,
    };
    let data = match (args.offset, args.limit) {
        (None, None) => start(path, opened, max, seen),
        (offset, limit) => {
            let first = offset.map_or(1, i64::unsigned_abs);
            let lines = limit.map_or(u64::MAX, i64::unsigned_abs);
            page(path, opened, Wanted { first, lines, max }, seen, cancel)
        }
    };
    data.unwrap_or_else(|failure| failure)
}

/// Reads the beginning of the file, which for most files is all of it.
fn start(path: &Path, opened: Opened, max: usize, seen: &Seen) -> Result<ToolOutput, ToolOutput> {
    let Opened { real, file, meta } = opened;
    let (len, source) = source(&real, file, &meta, seen);
    let mut bytes = Vec::with_capacity(usize::try_from(len).unwrap_or(max).min(max) + 1);
    source.take(max as u64 + 1).read_to_end(&mut bytes).map_err(|e| FileError::from_io(path, e).output())?;
    // Some files say they are empty and are not, those of the kernel for example.
    let size = len.max(bytes.len() as u64);
    let truncated = bytes.len() > max;
    bytes.truncate(max);
    let mark = if truncated { Mark::part(&meta) } else { Mark::whole(&bytes) };
    let completeness = if truncated { Completeness::Cut } else { Completeness::Whole };
    let content = textfile::text(path, bytes, completeness).map_err(|e| e.output())?;
    seen.remember(&real, mark);
    Ok(success(&Data { path: paths::shown(&real), content: &content, truncated, bytes: size, page: None }))
}

/// Returns what is read, and how long it is: the text an editor holds, else the file.
fn source(real: &Path, file: File, meta: &Meta, seen: &Seen) -> (u64, Box<dyn io::Read>) {
    match seen.held(real) {
        Some(text) => (text.len() as u64, Box::new(io::Cursor::new(text))),
        None => (meta.len, Box::new(file)),
    }
}

/// Which lines are wanted.
struct Wanted {
    first: u64,
    lines: u64,
    max: usize,
}

/// Reads some lines, holding no more of the file than they are.
fn page(
    path: &Path,
    opened: Opened,
    wanted: Wanted,
    seen: &Seen,
    cancel: &Cancel,
) -> Result<ToolOutput, ToolOutput> {
    let Opened { real, file, meta } = opened;
    let (len, mut source) = source(&real, file, &meta, seen);
    let cut = scan(&mut source, &wanted, cancel).map_err(|e| FileError::from_io(path, e).output())?;
    if cut.bytes.is_empty() && wanted.first > 1 {
        return Err(ToolOutput::failure(
            ToolCode::InvalidInput,
            format!("`offset` {} is past the end: the file has {} lines", wanted.first, cut.lines_before),
        ));
    }
    let completeness = if cut.more { Completeness::Cut } else { Completeness::Whole };
    let content = textfile::text(path, cut.bytes, completeness).map_err(|e| e.output())?;
    // A last line without its newline counts as well.
    let lines = content.lines().count() as u64;
    let end_line = (wanted.first + lines).saturating_sub(1);
    seen.remember(&real, Mark::part(&meta));
    let page = Page { start_line: wanted.first, end_line, next_offset: cut.more.then_some(end_line + 1) };
    let data = Data {
        path: paths::shown(&real),
        content: &content,
        truncated: cut.more,
        bytes: len,
        page: Some(page),
    };
    Ok(success(&data))
}

/// The wanted lines, found.
struct Cut {
    bytes: Vec<u8>,
    more: bool,
    lines_before: u64,
}

fn scan(file: &mut impl io::Read, wanted: &Wanted, cancel: &Cancel) -> io::Result<Cut> {
    let mut cut = Cut { bytes: Vec::new(), more: false, lines_before: 0 };
    let mut buffer = vec![0; 64 << 10];
    let mut line = 1;
    let mut ends_in_line = false;
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
            cut.lines_before = line - 1 + u64::from(ends_in_line);
            return Ok(cut);
        }
        ends_in_line = buffer[n - 1] != b'\n';
        for piece in buffer[..n].split_inclusive(|&b| b == b'\n') {
            if line >= wanted.first {
                if full || line - wanted.first >= wanted.lines {
                    cut.more = true;
                    return Ok(cut);
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
                    return Ok(cut);
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
