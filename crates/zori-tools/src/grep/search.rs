//! Searches one file after another, on one thread.

use std::fs::File;
use std::io;
use std::path::Path;

use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, Sink, SinkContext, SinkFinish, SinkMatch};
use zori_core::cancel::Cancel;

use crate::cancellable::CancellableRead;
use crate::grep::line::{self, Line, LineKind};
use crate::grep::query::{Mode, Query};
use crate::open_dir::{self, FileMeta, OpenError};

/// How many bytes of one file's lines are kept.
const MAX_BYTES: usize = 4 << 20;

/// What was found in one file.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FileMatches {
    /// How many lines match, as far as they were counted.
    pub count: usize,
    /// Matching lines and their context, in order; none in modes that do not show them.
    pub lines: Vec<Line>,
    /// How many bytes the lines have.
    pub bytes: usize,
    /// Whether there were too many to keep them all.
    pub cut: bool,
}

/// Why a file was not searched to its end.
#[derive(Debug)]
pub enum SearchError {
    /// It holds a NUL byte.
    Binary,
    /// A line of it is too long to be kept in memory, or all of it if a match may span lines.
    TooLong,
    /// It is not what it was when the call was judged.
    Changed,
    /// It cannot be opened or read.
    Io(io::Error),
    /// The call was cancelled.
    Cancelled,
}

/// A thread's searcher; its buffers are used again for each file.
pub struct Search<'a> {
    matcher: RegexMatcher,
    searcher: Searcher,
    mode: Mode,
    cancel: &'a Cancel,
}

impl<'a> Search<'a> {
    /// Makes the searcher of one thread.
    pub fn new(query: &Query, cancel: &'a Cancel) -> Self {
        Self { matcher: query.matcher.clone(), searcher: query.searcher(), mode: query.mode, cancel }
    }

    /// Searches a file; `None` if nothing matches.
    pub fn file(&mut self, path: &Path) -> Result<Option<FileMatches>, SearchError> {
        let file = open(path).map_err(|error| match error {
            OpenError::Changed => SearchError::Changed,
            OpenError::Io(error) => SearchError::Io(error),
        })?;
        let mut sink = FileSink {
            matcher: &self.matcher,
            mode: self.mode,
            found: FileMatches::default(),
            binary: false,
        };
        let reader = CancellableRead { inner: file, cancel: self.cancel };
        let searched = self.searcher.search_reader(&self.matcher, reader, &mut sink);
        match searched {
            _ if self.cancel.is_cancelled() => Err(SearchError::Cancelled),
            // The searcher's own error is that its buffer may not grow; the others come from the system.
            Err(error) if error.raw_os_error().is_none() => Err(SearchError::TooLong),
            Err(error) => Err(SearchError::Io(error)),
            Ok(()) if sink.binary => Err(SearchError::Binary),
            Ok(()) => Ok((sink.found.count > 0).then_some(sink.found)),
        }
    }
}

/// Opens a file that the walk found. A pipe or a device that took its place is not read.
fn open(path: &Path) -> Result<File, OpenError> {
    let file = open_dir::read(path)?;
    if FileMeta::of(&file)?.kind.is_file() { Ok(file) } else { Err(OpenError::Changed) }
}

/// Takes the lines of one file.
struct FileSink<'a> {
    matcher: &'a RegexMatcher,
    mode: Mode,
    found: FileMatches,
    binary: bool,
}

impl FileSink<'_> {
    fn push(&mut self, number: Option<u64>, text: String, kind: LineKind) -> bool {
        self.found.bytes += text.len();
        self.found.lines.push(Line { number: number.unwrap_or_default(), text, kind });
        self.found.cut = self.found.bytes >= MAX_BYTES;
        !self.found.cut
    }
}

impl Sink for FileSink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, io::Error> {
        self.found.count += 1;
        match self.mode {
            Mode::Files => Ok(false),
            Mode::Count => Ok(true),
            Mode::Content => {
                let text = line::cut_around(found.bytes(), |bytes| {
                    self.matcher.find(bytes).ok().flatten().map(|found| found.start())
                });
                Ok(self.push(found.line_number(), text, LineKind::Match))
            }
        }
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> Result<bool, io::Error> {
        let text = line::cut_around(context.bytes(), |_| None);
        Ok(self.push(context.line_number(), text, LineKind::Context))
    }

    fn binary_data(&mut self, _: &Searcher, _: u64) -> Result<bool, io::Error> {
        self.binary = true;
        Ok(false)
    }

    fn finish(&mut self, _: &Searcher, end: &SinkFinish) -> Result<(), io::Error> {
        self.binary |= end.binary_byte_offset().is_some();
        Ok(())
    }
}
