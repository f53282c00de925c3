//! Reads a patch, in either of the two forms models write, into one list of changes. Touches no file.
//!
//! Unified diffs may come from git or be written by hand: line counts are hints, because models miscount. The other
//! form stands between `*** Begin Patch` and `*** End Patch`.

mod envelope;
mod unified;

/// The change of one file.
#[derive(Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// Which file, as the patch names it.
    pub path: String,
    pub action: Action,
}

/// What happens to a file.
#[derive(Debug, PartialEq, Eq)]
pub enum Action {
    /// It is created with this content.
    Add(String),
    /// It is deleted.
    Delete,
    /// Parts of it are replaced.
    Update {
        /// Which parts, from top to bottom.
        hunks: Vec<Hunk>,
        /// Its new name.
        move_to: Option<String>,
    },
}

/// A part of a file that is replaced.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// The number of its first line in the old file, from 1; it may be wrong.
    pub line: Option<usize>,
    /// Lines that stand somewhere above it, one after another.
    pub seek: Vec<String>,
    pub lines: Vec<HunkLine>,
    /// Whether it is the end of the file.
    pub at_end: bool,
    /// Whether the new file ends without a newline here.
    pub bare_end: bool,
}

/// A line of a hunk, without its newline.
#[derive(Debug, PartialEq, Eq)]
pub enum HunkLine {
    /// It stays.
    Keep(String),
    /// It goes.
    Remove(String),
    /// It comes.
    Add(String),
}

/// Why a text cannot be parsed as a patch. Line numbers are those of the patch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// Neither form was recognised.
    #[error(
        "this is no patch: start with `--- a/FILE` and `+++ b/FILE` (unified diff), or with `*** Begin Patch`"
    )]
    Neither,
    /// It stops before it ends.
    #[error("the last line must be `*** End Patch`")]
    NoEnd,
    /// It changes nothing.
    #[error("the patch changes no file")]
    Empty,
    /// A line that is not understood.
    #[error("line {line} of the patch: {what}")]
    Line {
        line: usize,
        /// What is wrong with it.
        what: String,
    },
}

/// Reads a patch.
pub fn parse(patch: &str) -> Result<Vec<FilePatch>, PatchError> {
    let mut lines: Vec<&str> = patch.lines().collect();
    // A fence around the patch is not part of it.
    while lines.last().is_some_and(|line| line.trim().is_empty() || line.trim() == "```") {
        lines.pop();
    }
    let files = match lines.iter().position(|line| line.trim() == "*** Begin Patch") {
        Some(begin) => envelope::parse(&lines, begin + 1)?,
        None => unified::parse(&lines)?,
    };
    if files.is_empty() { Err(PatchError::Empty) } else { Ok(files) }
}

fn bad_line<T>(index: usize, what: impl Into<String>) -> Result<T, PatchError> {
    Err(PatchError::Line { line: index + 1, what: what.into() })
}

/// Parses a line of a hunk; `None` if it is not one. An empty line is an empty context line that lost its blank.
fn hunk_line(line: &str) -> Option<HunkLine> {
    match line.as_bytes().first() {
        None => Some(HunkLine::Keep(String::new())),
        Some(b' ') => Some(HunkLine::Keep(line[1..].to_owned())),
        Some(b'-') => Some(HunkLine::Remove(line[1..].to_owned())),
        Some(b'+') => Some(HunkLine::Add(line[1..].to_owned())),
        Some(_) => None,
    }
}

/// Reads `@@ -1,2 +3,4 @@`; returns the old start and both counts.
fn range_header(line: &str) -> Option<(usize, usize, usize)> {
    let (old, rest) = line.strip_prefix("@@ -")?.split_once(" +")?;
    let new = rest.split_once(" @@").map_or(rest, |(new, _)| new);
    let range = |text: &str| -> Option<(usize, usize)> {
        match text.split_once(',') {
            Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
            None => Some((text.parse().ok()?, 1)),
        }
    };
    let (start, old_count) = range(old)?;
    let (_, new_count) = range(new.trim())?;
    Some((start, old_count, new_count))
}

#[cfg(test)]
mod tests;
