//! The arguments of `grep`, checked and compiled into what a search needs.

use std::path::PathBuf;

use grep_matcher::LineTerminator;
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use ignore::types::{Types, TypesBuilder};
use serde::Deserialize;
use serde_json::value::RawValue;
use zori_core::tool::ToolOutput;

use crate::env::ToolEnv;
use crate::grep::bounded::FileBounds;
use crate::paths::resolve;
use crate::walk::filter::Filter;
use crate::walk::start::{invalid, number};

/// The values of `mode`.
pub const MODES: &[&str] = &["content", "files_with_matches", "count"];

/// How many matches a result holds unless told otherwise, and at most (L-13).
const DEFAULT_LIMIT: usize = 200;
const MAX_LIMIT: usize = 2000;

/// How far a result can be paged, which bounds what is kept; beyond it a narrower search is the better way.
const MAX_OFFSET: usize = 10_000;

/// How many lines of context one match can bring.
const MAX_CONTEXT: usize = 50;

/// How much memory one thread may use for a line, or for a file when a match may span lines. A file that needs
/// more counts as unsearched; eight threads stay below the 100 MiB of FS-5.
const HEAP_LIMIT: usize = 8 << 20;

/// How large a compiled pattern may be, and its cache.
const REGEX_LIMIT: usize = 10 << 20;

/// The arguments as they arrive.
#[derive(Deserialize)]
pub struct GrepArgs {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    r#type: Option<String>,
    mode: Option<String>,
    ignore_case: Option<bool>,
    before: Option<i64>,
    after: Option<i64>,
    context: Option<i64>,
    multiline: Option<bool>,
    literal: Option<bool>,
    limit: Option<i64>,
    offset: Option<i64>,
    max_files: Option<i64>,
    max_file_bytes: Option<i64>,
}

impl GrepArgs {
    /// Reads canonical arguments.
    pub fn parse(args: &RawValue) -> Self {
        serde_json::from_str(args.get()).expect("arguments are checked before a tool sees them")
    }

    /// Returns the file or directory to search.
    pub fn start(&self, env: &ToolEnv) -> PathBuf {
        resolve(env, self.path.as_deref().unwrap_or_default())
    }
}

/// What a result shows of the matches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The lines.
    Content,
    /// The files that have one.
    Files,
    /// How many lines match in each file.
    Count,
}

/// Which part of all matches is shown; in modes that show files, of all files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    /// How many are skipped.
    pub offset: usize,
    /// How many are shown.
    pub limit: usize,
}

impl Page {
    /// Returns how many have to be found to know that there are more than are shown.
    pub fn bound(&self) -> usize {
        self.offset + self.limit + 1
    }
}

/// A search, ready to be run on any number of threads.
pub struct Query {
    /// The compiled pattern. Threads work with clones, because each clone has its own cache.
    pub matcher: RegexMatcher,
    /// What is shown.
    pub mode: Mode,
    /// Which part of it.
    pub page: Page,
    /// File types to keep, if only some.
    pub types: Option<Types>,
    /// How many files are searched, and how long they may be.
    pub bounds: FileBounds,
    multiline: bool,
    before: usize,
    after: usize,
    only: Option<Filter>,
    not: Option<Filter>,
}

impl Query {
    /// Checks and compiles; the failure is written for the model.
    pub fn new(args: &GrepArgs) -> Result<Self, ToolOutput> {
        let context = number("context", args.context, 0, 0..=MAX_CONTEXT)?;
        let limit = match number("limit", args.limit, DEFAULT_LIMIT, 0..=MAX_LIMIT)? {
            // Models that know `head_limit` use 0 for "no limit".
            0 => MAX_LIMIT,
            limit => limit,
        };
        let offset = number("offset", args.offset, 0, 0..=MAX_OFFSET)?;
        let (only, not) = match args.glob.as_deref().filter(|glob| !glob.is_empty()) {
            None => (None, None),
            Some(glob) => match glob.strip_prefix('!') {
                Some(glob) => (None, Some(filter(glob)?)),
                None => (Some(filter(glob)?), None),
            },
        };
        // A pattern that names a line end can only match if matches may span lines.
        let multiline =
            args.multiline == Some(true) || args.pattern.contains("\\n") || args.pattern.contains('\n');
        Ok(Self {
            matcher: compile(args, multiline)?,
            mode: match args.mode.as_deref() {
                Some("files_with_matches") => Mode::Files,
                Some("count") => Mode::Count,
                _ => Mode::Content,
            },
            page: Page { offset, limit },
            types: args.r#type.as_deref().map(types).transpose()?,
            bounds: FileBounds::new(args.max_files, args.max_file_bytes)?,
            multiline,
            before: number("before", args.before, context, 0..=MAX_CONTEXT)?,
            after: number("after", args.after, context, 0..=MAX_CONTEXT)?,
            only,
            not,
        })
    }

    /// Returns whether hidden files are to be searched, because the glob names them.
    pub fn names_hidden(&self) -> bool {
        self.only.as_ref().is_some_and(Filter::names_hidden)
    }

    /// Returns whether a file is to be searched; its path is relative to the start.
    pub fn wants_name(&self, relative: &[u8]) -> bool {
        self.only.as_ref().is_none_or(|only| only.matches(relative))
            && self.not.as_ref().is_none_or(|not| !not.matches(relative))
    }

    /// Makes the searcher of one thread.
    pub fn searcher(&self) -> Searcher {
        let content = self.mode == Mode::Content;
        SearcherBuilder::new()
            .line_terminator(LineTerminator::crlf())
            .binary_detection(BinaryDetection::quit(0))
            .heap_limit(Some(HEAP_LIMIT))
            .multi_line(self.multiline)
            .line_number(content)
            .before_context(if content { self.before } else { 0 })
            .after_context(if content { self.after } else { 0 })
            .max_matches(content.then(|| self.page.bound() as u64))
            .build()
    }
}

fn compile(args: &GrepArgs, multiline: bool) -> Result<RegexMatcher, ToolOutput> {
    let mut builder = RegexMatcherBuilder::new();
    builder
        .multi_line(true)
        .case_insensitive(args.ignore_case == Some(true))
        .fixed_strings(args.literal == Some(true))
        .dot_matches_new_line(args.multiline == Some(true))
        .size_limit(REGEX_LIMIT)
        .dfa_size_limit(REGEX_LIMIT)
        .crlf(true);
    if multiline {
        // Without a terminator the pattern may match it.
        builder.line_terminator(None);
    }
    builder.build(&args.pattern).map_err(|error| {
        // The lines before the last one show the pattern as the matcher rewrote it.
        let error = error.to_string();
        let why = error.rsplit("error: ").next().unwrap_or(&error);
        invalid(format!(
            "`pattern` is no regular expression: {why}; escape special characters with a backslash"
        ))
    })
}

fn filter(glob: &str) -> Result<Filter, ToolOutput> {
    Filter::new([glob]).map_err(|error| invalid(format!("`glob` is no glob: {}", error.kind())))
}

fn types(name: &str) -> Result<Types, ToolOutput> {
    TypesBuilder::new()
        .add_defaults()
        .select(name)
        .build()
        .map_err(|_| invalid(format!("`type` `{name}` is not known; use `glob`, e.g. `*.{name}`")))
}
