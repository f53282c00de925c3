//! How much of a command's output the model reads: 30 kB in all, its beginning and its end (FOR-12). The rest is in a file.

use std::borrow::Cow;

/// The most of both streams together.
pub const MAX_BYTES: usize = 30_000;

/// What the note about a cut may take.
const NOTE_BYTES: usize = 200;

/// Returns how much of each stream is read. Errors are shorter and matter more: a third of the room is theirs, and what one
/// stream does not need the other gets.
pub fn shares(stdout: usize, stderr: usize) -> (usize, usize) {
    if stdout + stderr <= MAX_BYTES {
        return (stdout, stderr);
    }
    let for_stderr = stderr.min((MAX_BYTES / 3).max(MAX_BYTES.saturating_sub(stdout)));
    (stdout.min(MAX_BYTES - for_stderr), for_stderr)
}

/// Returns the beginning and the end of a text that is longer than its share. `file` has all of it; empty where none does.
pub fn cut<'a>(text: Cow<'a, str>, share: usize, file: &str) -> Cow<'a, str> {
    if text.len() <= share {
        return text;
    }
    let half = share.saturating_sub(NOTE_BYTES + file.len()) / 2;
    let head = head(&text, half);
    let tail = tail(&text, half);
    let missing = text.len() - head.len() - tail.len();
    let place = match file {
        "" => "run it again with less output to see that".to_owned(),
        file => format!("all of it is in {file}"),
    };
    Cow::Owned(format!(
        "{}\n[... {missing} bytes cut here; {place} ...]\n{tail}",
        head.trim_end_matches('\n')
    ))
}

/// Returns the first bytes, up to the end of a line where one is near.
fn head(text: &str, most: usize) -> &str {
    let head = &text[..text.floor_char_boundary(most)];
    match head.rfind('\n') {
        Some(newline) if newline >= most / 2 => &head[..=newline],
        _ => head,
    }
}

/// Returns the last bytes, from the start of a line where one is near.
fn tail(text: &str, most: usize) -> &str {
    let tail = &text[text.ceil_char_boundary(text.len() - most)..];
    match tail.find('\n') {
        Some(newline) if newline <= most / 2 => &tail[newline + 1..],
        _ => tail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_share_the_room() {
        for (lengths, read) in [
            ((10, 10), (10, 10)),
            ((30_000, 0), (30_000, 0)),
            ((90_000, 0), (30_000, 0)),
            ((0, 90_000), (0, 30_000)),
            ((90_000, 500), (29_500, 500)),
            ((90_000, 90_000), (20_000, 10_000)),
            ((12_000, 90_000), (12_000, 18_000)),
        ] {
            assert_eq!(shares(lengths.0, lengths.1), read, "{lengths:?}");
        }
    }

    #[test]
    fn both_ends_stay() {
        let lines: String = (0..10_000).map(|n| format!("line {n}\n")).collect();
        let read = cut(Cow::Borrowed(&lines), 1_000, "/t/1-stdout.txt");
        assert!(read.len() <= 1_000, "{}", read.len());
        assert!(read.starts_with("line 0\nline 1\n") && read.ends_with("\nline 9999\n"), "{read}");
        let note = read.lines().find(|line| line.starts_with('[')).unwrap();
        assert!(note.ends_with(" bytes cut here; all of it is in /t/1-stdout.txt ...]"), "{note}");
        assert_eq!(cut(Cow::Borrowed("short"), 1_000, ""), "short");
        // One line, of characters that take two bytes.
        let read = cut(Cow::Owned("é".repeat(5_000)), 1_001, "");
        assert!(read.len() <= 1_001 && read.contains("run it again with less output"), "{read}");
    }
}
