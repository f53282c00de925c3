//! A glob pattern, split into the directory it starts in and what is matched below it.
//!
//! `src/**/*.rs` need not walk the whole tree, and `.github/*.yml` may start in a hidden directory because it says so.

use std::path::{Path, PathBuf};

use globset::{Error, GlobBuilder, GlobSet, GlobSetBuilder};
use zori_core::path::normalise;

use crate::walk::Hidden;
use crate::walk::filter::names_hidden;

/// A pattern and where it applies.
#[derive(Debug, PartialEq, Eq)]
pub struct Pattern {
    /// Where the walk starts: absolute and normalised.
    pub start: PathBuf,
    /// What is matched relative to `start`; empty if the pattern has no wildcard.
    pub rest: String,
}

impl Pattern {
    /// Takes a pattern apart that is relative to `base`, or absolute.
    pub fn split(base: &Path, pattern: &str) -> Self {
        let mut literal = 0;
        for part in pattern.split_inclusive('/') {
            if part.contains(['*', '?', '[', ']', '{', '}', '\\']) {
                break;
            }
            literal += part.len();
        }
        let (prefix, rest) = pattern.split_at(literal);
        Self { start: normalise(&base.join(prefix)), rest: rest.to_owned() }
    }

    /// Compiles the pattern below the start; `None` if the pattern names only the start.
    pub fn compile(&self) -> Result<Option<GlobSet>, Error> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let glob = GlobBuilder::new(&self.rest).literal_separator(true).build()?;
        GlobSetBuilder::new().add(glob).build().map(Some)
    }

    /// Returns how deep a match can be; `None` is at any depth.
    pub fn depth(&self) -> Option<usize> {
        // A slash inside braces or a class counts as a level it may not be: deep enough is all that matters.
        (!self.rest.contains("**")).then(|| self.rest.split('/').count())
    }

    /// Returns whether hidden names can match.
    pub fn hidden(&self) -> Hidden {
        if names_hidden(&self.rest) { Hidden::Show } else { Hidden::Skip }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literal_parts_move_the_start() {
        let cases = [
            ("*.rs", "/w", "*.rs", Some(1), Hidden::Skip),
            ("src/*/a.rs", "/w/src", "*/a.rs", Some(2), Hidden::Skip),
            ("src/**/*.rs", "/w/src", "**/*.rs", None, Hidden::Skip),
            ("./src/main.rs", "/w/src/main.rs", "", Some(1), Hidden::Skip),
            ("../x/*", "/x", "*", Some(1), Hidden::Skip),
            ("/etc/*.conf", "/etc", "*.conf", Some(1), Hidden::Skip),
            (".github/*.yml", "/w/.github", "*.yml", Some(1), Hidden::Skip),
            ("**/.env", "/w", "**/.env", None, Hidden::Show),
            ("", "/w", "", Some(1), Hidden::Skip),
        ];
        for (pattern, start, rest, depth, hidden) in cases {
            let split = Pattern::split(Path::new("/w"), pattern);
            assert_eq!(
                (split.depth(), split.hidden(), split),
                (depth, hidden, Pattern { start: start.into(), rest: rest.into() }),
                "{pattern}"
            );
        }
    }

    #[test]
    fn a_pattern_that_is_none_is_an_error() {
        assert!(Pattern::split(Path::new("/w"), "a[").compile().is_err());
        assert!(Pattern::split(Path::new("/w"), "a").compile().unwrap().is_none());
    }
}
