//! The file with all of what a command printed, as it is shown (TRN-3): whole, or both ends of it where it is too long for that.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::path::Path;

use zori_core::text::{prefix, suffix};
use zori_redact::Redactor;
use zori_tui::cells::bytes;

/// How much of each end is shown.
const END: u64 = 1 << 20;

/// Reads the file; returns its text, without what must not be shown.
pub fn text(file: &Path, redactor: &Redactor) -> io::Result<String> {
    text_of(file, redactor, END)
}

fn text_of(file: &Path, redactor: &Redactor, end: u64) -> io::Result<String> {
    let mut opened = File::open(file)?;
    let length = opened.metadata()?.len();
    let mut read = |from: u64, most: u64| -> io::Result<String> {
        let mut piece = Vec::new();
        opened.seek(SeekFrom::Start(from))?;
        opened.by_ref().take(most).read_to_end(&mut piece)?;
        Ok(String::from_utf8_lossy(&piece).into_owned())
    };
    let shown = |text: &str| redactor.redact(text).trim_end().to_owned();
    if length <= 2 * end {
        return Ok(shown(&read(0, length)?));
    }
    let (first, last) = (read(0, end)?, read(length - end, end)?);
    // Neither end begins or stops in the middle of a line, unless it is one line.
    let first = first.rfind('\n').map_or(first.as_str(), |at| prefix(&first, at));
    let last = last.find('\n').map_or(last.as_str(), |at| suffix(&last, last.len() - at - 1));
    // What is no text is longer when it is shown than in the file.
    let left_out = length.saturating_sub((first.len() + last.len()) as u64).max(length - 2 * end);
    let words = format!("… {} left out; all of it is in {}", bytes(left_out), file.display());
    Ok(format!("{}\n{words}\n{}", shown(first), shown(last)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_or_both_ends() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("out.txt");
        let key = format!("sk-ant-{}", "a".repeat(40));
        std::fs::write(&file, format!("one {key}\n\x1b[1mtwo\x1b[0m\nthree\nfour\nfive\n")).unwrap();
        let shown = |end| {
            let text = text_of(&file, &Redactor::default(), end).unwrap();
            text.lines().map(str::to_owned).collect::<Vec<_>>()
        };
        assert_eq!(shown(1000), ["one [REDACTED]", "\x1b[1mtwo\x1b[0m", "three", "four", "five"]);
        let both = shown(8);
        assert_eq!(both[2..], ["five"]);
        assert!(both[1].starts_with("… ") && both[1].ends_with("out.txt"), "{both:?}");
        assert!(text(&temp.path().join("gone"), &Redactor::default()).is_err());
    }

    #[test]
    fn what_is_no_text() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("out.bin");
        std::fs::write(&file, [0xff; 9]).unwrap();
        let text = text_of(&file, &Redactor::default(), 4).unwrap();
        let shown: Vec<&str> = text.lines().collect();
        let words = format!("… 1 B left out; all of it is in {}", file.display());
        let end = "\u{fffd}".repeat(4);
        assert_eq!(shown, [end.as_str(), &words, &end]);
    }
}
