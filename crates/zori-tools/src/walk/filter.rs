//! File name patterns as `grep` and `ls` take them: a bare name matches at any depth, a path from the start.

use std::path::Path;

use globset::{Candidate, Error, GlobBuilder, GlobSet, GlobSetBuilder};

/// A set of patterns, of which any may match.
pub struct Filter {
    set: GlobSet,
    dotted: bool,
}

impl Filter {
    /// Compiles patterns. `*` stays within a name, `**` crosses directories.
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Self, Error> {
        let mut set = GlobSetBuilder::new();
        let mut dotted = false;
        for pattern in patterns {
            dotted |= names_hidden(pattern);
            let pattern = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
            let anywhere = match pattern.strip_prefix('/') {
                Some(anchored) => anchored.to_owned(),
                None if pattern.contains('/') => pattern.to_owned(),
                None => format!("**/{pattern}"),
            };
            set.add(GlobBuilder::new(&anywhere).literal_separator(true).build()?);
        }
        Ok(Self { set: set.build()?, dotted })
    }

    /// Returns whether a path, given relative to the start, matches.
    pub fn matches(&self, relative: &[u8]) -> bool {
        self.set.is_match_candidate(&Candidate::from_bytes(relative))
    }

    /// Returns whether a pattern asks for a name that begins with a dot.
    pub fn names_hidden(&self) -> bool {
        self.dotted
    }
}

/// Returns whether a pattern asks for a name that begins with a dot: `.env`, `**/.github/*`, `{.a,b}`.
pub fn names_hidden(pattern: &str) -> bool {
    let pattern = pattern.strip_prefix("./").unwrap_or(pattern).as_bytes();
    pattern.iter().enumerate().any(|(i, byte)| {
        *byte == b'.'
            && (i == 0 || matches!(pattern[i - 1], b'/' | b'{' | b','))
            && pattern.get(i + 1) != Some(&b'/')
    })
}

/// Returns how many bytes of an entry's path lead to the name relative to `start`.
pub fn start_len(start: &Path) -> usize {
    match start.as_os_str().len() {
        // The root directory has its separator already.
        1 => 1,
        len => len + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_anywhere_and_paths_from_the_start() {
        let cases = [
            ("*.rs", "a.rs", true),
            ("*.rs", "src/deep/a.rs", true),
            ("src/*.rs", "src/a.rs", true),
            ("src/*.rs", "src/deep/a.rs", false),
            ("src/*.rs", "x/src/a.rs", false),
            ("src/**", "src/deep/a.rs", true),
            ("./src/**", "src/a.rs", true),
            ("/a.rs", "a.rs", true),
            ("/a.rs", "src/a.rs", false),
            ("*.{ts,tsx}", "web/b.tsx", true),
            ("target/", "target", true),
            ("*.RS", "a.rs", false),
        ];
        for (pattern, path, matches) in cases {
            assert_eq!(Filter::new([pattern]).unwrap().matches(path.as_bytes()), matches, "{pattern} {path}");
        }
        assert!(Filter::new(["a["]).is_err());
    }

    #[test]
    fn hidden_names_are_recognised() {
        let cases = [
            (".env", true),
            ("**/.github/*.yml", true),
            ("{.a,b}", true),
            ("{a,.b}", true),
            ("./a.rs", false),
            ("*.rs", false),
            ("a/./b", false),
        ];
        for (pattern, hidden) in cases {
            assert_eq!(names_hidden(pattern), hidden, "{pattern}");
        }
    }
}
