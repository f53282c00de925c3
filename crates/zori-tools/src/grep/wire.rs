//! The result of `grep` as the model reads it.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::Serialize;

use crate::grep::bounded::FilesSearched;
use crate::grep::collect::Collected;
use crate::grep::line::LineKind;
use crate::grep::query::{Mode, Query};
use crate::grep::search::FileMatches;
use crate::target::Target;
use crate::walk::start::{renamed, shown};

/// How many bytes of paths and text a result holds at most.
const MAX_BYTES: usize = 256 << 10;

#[derive(Serialize)]
#[serde(untagged)]
enum Data<'a> {
    Content {
        matches: Vec<Match<'a>>,
        #[serde(flatten)]
        end: End,
    },
    Files {
        files: Vec<Cow<'a, str>>,
        #[serde(flatten)]
        end: End,
    },
    Count {
        counts: Vec<Count<'a>>,
        #[serde(flatten)]
        end: End,
    },
}

#[derive(Serialize)]
struct Match<'a> {
    path: Cow<'a, str>,
    line: u64,
    text: &'a str,
    #[serde(skip_serializing_if = "is_false")]
    context: bool,
}

#[derive(Serialize)]
struct Count<'a> {
    path: Cow<'a, str>,
    count: usize,
}

#[derive(Serialize)]
struct End {
    truncated: bool,
    /// How many files and directories could not be searched. Left out of a truncated result: it would depend on
    /// how far the threads got.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsearched: Option<usize>,
    /// How many files have something that is kept back by permissions; left out like the other.
    #[serde(skip_serializing_if = "Option::is_none")]
    withheld: Option<usize>,
    #[serde(flatten)]
    files: FilesSearched,
}

/// How many files are not in the result.
#[derive(Clone, Copy)]
pub struct NotSearched {
    /// Because they could not be searched.
    pub unsearched: usize,
    /// Because permissions keep them back.
    pub withheld: usize,
    /// Because there were too many of them, or they were too long.
    pub files: FilesSearched,
}

/// Returns the page of what was found that the query asks for, as JSON.
pub fn data(root: &Path, start: &Target, query: &Query, found: &Collected, left: NotSearched) -> String {
    let mut page =
        Paging { skip: query.page.offset, left: query.page.limit, bytes: MAX_BYTES, more: found.overflow };
    let files = found.files.iter().map(|(path, found)| {
        let path = match renamed(start, Path::new(OsStr::from_bytes(path))) {
            Cow::Borrowed(path) => shown(root, path),
            Cow::Owned(path) => Cow::Owned(shown(root, &path).into_owned()),
        };
        (path, found)
    });
    let data = match query.mode {
        Mode::Content => {
            let matches = content(&mut page, files);
            Data::Content { matches, end: page.end(left) }
        }
        Mode::Files => {
            let files = files.map(|(path, _)| path).filter(|path| page.takes(path.len())).collect();
            Data::Files { files, end: page.end(left) }
        }
        Mode::Count => {
            let counts = files
                .filter(|(path, _)| page.takes(path.len()))
                .map(|(path, found)| Count { path, count: found.count })
                .collect();
            Data::Count { counts, end: page.end(left) }
        }
    };
    serde_json::to_string(&data).expect("strings and numbers are JSON")
}

fn content<'a>(
    page: &mut Paging,
    files: impl Iterator<Item = (Cow<'a, str>, &'a FileMatches)>,
) -> Vec<Match<'a>> {
    let mut matches = Vec::new();
    for (path, found) in files {
        // A file is here because it has a match, so a full page is not the last one.
        if page.left == 0 {
            page.more = true;
        }
        page.more |= found.cut;
        for line in &found.lines {
            if page.more && page.left == 0 {
                return matches;
            }
            let context = line.kind == LineKind::Context;
            let size = path.len() + line.text.len();
            // Context is shown with the matches around it.
            let shown = if context { page.skip == 0 && page.fits(size) } else { page.takes(size) };
            if shown {
                matches.push(Match { path: path.clone(), line: line.number, text: &line.text, context });
            }
        }
    }
    matches
}

/// How much of the page is still to come.
struct Paging {
    skip: usize,
    left: usize,
    bytes: usize,
    more: bool,
}

impl Paging {
    /// Counts a match or a file, and returns whether it is on the page.
    fn takes(&mut self, size: usize) -> bool {
        if self.skip > 0 {
            self.skip -= 1;
            return false;
        }
        if self.left == 0 {
            self.more = true;
            return false;
        }
        self.left -= 1;
        self.fits(size)
    }

    /// Counts text, and returns whether there is room; once there is none, nothing more is shown.
    fn fits(&mut self, size: usize) -> bool {
        if size > self.bytes {
            (self.left, self.bytes, self.more) = (0, 0, true);
            return false;
        }
        self.bytes -= size;
        true
    }

    fn end(&self, left: NotSearched) -> End {
        let told = |count: usize| (!self.more && count > 0).then_some(count);
        let (unsearched, withheld) = (told(left.unsearched), told(left.withheld));
        End { truncated: self.more, unsearched, withheld, files: left.files }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_false(value: &bool) -> bool {
    !value
}
