//! The names of files that are written beside their target before they replace it, so that whoever finds one that was left over knows
//! whose it was.

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
