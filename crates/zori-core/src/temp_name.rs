//! The names of files that are written beside their target before they replace it, so that whoever finds one that was left over knows
//! whose it was, and when such a file is left over.

use std::time::Duration;

/// A file that is younger than this may be on its way: writing one takes no time.
pub const SETTLED: Duration = Duration::from_secs(60);

/// What is known of an entry of a folder.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// Its name.
    pub name: &'a str,
    /// Whether it is a file, and no link to one.
    pub is_file: bool,
    /// Whether it belongs to whoever looks.
    pub is_ours: bool,
    /// How long ago it was written; `None` for a time to come.
    pub age: Option<Duration>,
}

impl Candidate<'_> {
    /// Returns whether a process that was killed has left it: the name is one of ours, it is a file of ours and not of now, and no
    /// process has that number, which `is_alive` tells.
    pub fn is_left_over(&self, is_alive: impl Fn(i32) -> bool) -> bool {
        let old = self.age.is_some_and(|age| age > SETTLED);
        self.is_file && self.is_ours && old && stager(self.name).is_some_and(|process| !is_alive(process))
    }
}

/// Returns the name of a file that this process writes. It is short, so that it fits wherever the target's name does.
pub fn staged(process: u32, number: u64) -> String {
    format!(".zori-{process}-{number}.tmp")
}

/// Returns the process that wrote a file with such a name.
pub fn stager(name: &str) -> Option<i32> {
    let (process, number) = name.strip_prefix(".zori-")?.strip_suffix(".tmp")?.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (digits(process) && digits(number)).then(|| process.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_over() {
        let old = Candidate {
            name: ".zori-4711-3.tmp",
            is_file: true,
            is_ours: true,
            age: Some(SETTLED + Duration::from_secs(1)),
        };
        assert!(old.is_left_over(|_| false));
        assert!(!old.is_left_over(|process| process == 4711), "its writer lives");
        for kept in [
            Candidate { name: ".zori-4711-3.old", ..old },
            Candidate { is_file: false, ..old },
            Candidate { is_ours: false, ..old },
            Candidate { age: Some(SETTLED), ..old },
            Candidate { age: None, ..old },
        ] {
            assert!(!kept.is_left_over(|_| false), "{kept:?}");
        }
    }

    #[test]
    fn names_and_their_writers() {
        assert_eq!(stager(&staged(4711, 3)), Some(4711));
        for other in [
            ".zori-undo-1.tmp",
            ".zori-1-2.tmp.bak",
            "zori-1-2.tmp",
            ".zori--2.tmp",
            ".zori-1-.tmp",
            ".zori-+1-2.tmp",
        ] {
            assert_eq!(stager(other), None, "{other}");
        }
    }
}
