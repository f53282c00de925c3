use std::os::unix::fs::PermissionsExt;
use std::sync::Mutex;

use super::*;
use crate::testing::Scratch;

fn collect(scratch: &Scratch, max: usize, chunks: &[&[u8]]) -> (Captured, Arc<SpillFolder>) {
    let folder = Arc::new(SpillFolder::new(scratch.path()));
    let mut collector = Collector::new(OutputStream::Stdout, max, folder.clone(), None);
    for chunk in chunks {
        collector.push(chunk);
    }
    (collector.finish(), folder)
}

#[test]
fn short_output_is_complete_and_makes_no_file() {
    let scratch = Scratch::new();
    let (captured, _folder) = collect(&scratch, 8, &[b"abc", b"defgh"]);
    assert_eq!(captured, Captured { text: "abcdefgh".into(), cut: false, file: None });
    assert_eq!(scratch.list(), [""; 0]);
}

#[test]
fn every_byte_value_and_characters_split_at_every_place() {
    let scratch = Scratch::new();
    let all: Vec<u8> = (0..=255).collect();
    let (captured, _folder) = collect(&scratch, 0, &[&all]);
    assert_eq!(captured.text, String::from_utf8_lossy(&all));
    let text = "aé€😀z";
    for cut in 0..=text.len() {
        let (start, end) = text.as_bytes().split_at(cut);
        let (captured, _folder) = collect(&scratch, 0, &[start, end]);
        assert_eq!(captured, Captured { text: text.into(), cut: false, file: None }, "{cut}");
    }
}

#[test]
fn long_output_keeps_both_ends_and_all_of_it_in_a_private_file() {
    let scratch = Scratch::new();
    let lines: String = (0..100).map(|n| format!("line {n}\n")).collect();
    let chunks: Vec<&[u8]> = lines.as_bytes().chunks(7).collect();
    let (captured, folder) = collect(&scratch, 64, &chunks);
    let file = captured.file.clone().unwrap();
    assert_eq!(
        captured.text.replace(file.to_str().unwrap(), "FILE"),
        "line 0\nline 1\nline 2\nline 3\n[... 738 of 790 bytes cut here; all of it is in FILE ...]\nline 97\nline 98\nline 99\n"
    );
    assert_eq!(std::fs::read_to_string(&file).unwrap(), lines);
    let mode = |path: &std::path::Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    folder.remove();
    assert_eq!(scratch.list(), [""; 0]);
}

#[test]
fn cuts_fall_between_characters() {
    let scratch = Scratch::new();
    for shift in 0..4 {
        let text = format!("{}{}", "x".repeat(shift), "€".repeat(100));
        let (captured, _folder) = collect(&scratch, 64, &[text.as_bytes()]);
        assert!(!captured.text.contains('\u{fffd}'), "{}", captured.text);
    }
}

#[test]
fn without_a_place_for_the_file_the_ends_are_kept_all_the_same() {
    let scratch = Scratch::new();
    let folder = Arc::new(SpillFolder::new(scratch.path().join("missing/folder")));
    let mut collector = Collector::new(OutputStream::Stderr, 4, folder, None);
    collector.push(b"abcdefgh");
    assert_eq!(
        collector.finish(),
        Captured {
            text: "ab\n[... 4 of 8 bytes cut here; the file with all of it could not be made ...]\ngh".into(),
            cut: true,
            file: None,
        }
    );
}

#[test]
fn beyond_the_ceiling_one_mebibyte_of_each_end_is_kept() {
    let scratch = Scratch::new();
    let chunk = vec![b'x'; 1 << 20];
    let (captured, folder) = collect(&scratch, 0, &[chunk.as_slice(); 9]);
    let file = captured.file.unwrap();
    let expected = format!(
        "{x}\n[... {} of {} bytes cut here; all of it is in {} ...]\n{x}",
        7 << 20,
        9 << 20,
        file.display(),
        x = "x".repeat(1 << 20)
    );
    // Compared without printing megabytes when it fails.
    assert!(captured.text == expected, "{} bytes", captured.text.len());
    assert_eq!(std::fs::metadata(file).unwrap().len(), 9 << 20);
    folder.remove();
}

#[derive(Default)]
struct Watcher(Mutex<Vec<String>>);

impl LiveOutput for Watcher {
    fn push(&self, _: OutputStream, text: &str) {
        self.0.lock().unwrap().push(text.to_owned());
    }
}

#[test]
fn whoever_watches_gets_whole_lines() {
    let scratch = Scratch::new();
    let watcher = Arc::new(Watcher::default());
    let folder = Arc::new(SpillFolder::new(scratch.path()));
    let mut collector = Collector::new(OutputStream::Stdout, 0, folder, Some(watcher.clone()));
    for chunk in ["one\ntw", "o\nthr", "ee"] {
        collector.push(chunk.as_bytes());
    }
    let long = "€".repeat(30_000);
    collector.push(b"\n");
    collector.push(&long.as_bytes()[..70_000]);
    collector.push(&long.as_bytes()[70_000..]);
    collector.finish();
    let seen = watcher.0.lock().unwrap();
    assert_eq!(seen[..3], ["one\n", "two\n", "three\n"]);
    assert_eq!(seen[3..].concat(), long);
    assert_eq!(seen[3].len(), 69_999);
}

#[test]
fn what_is_taken_is_not_there_again_and_characters_stay_whole() {
    let scratch = Scratch::new();
    let folder = Arc::new(SpillFolder::new(scratch.path()));
    let mut collector = Collector::new(OutputStream::Stdout, 12, folder, None);
    let text = "aé€😀z";
    for cut in 0..=text.len() {
        let (start, end) = text.as_bytes().split_at(cut);
        collector.push(start);
        let first = collector.take().text;
        collector.push(end);
        assert_eq!(first + &collector.take().text, text, "{cut}");
    }
    // Each portion that is too long has a file of its own.
    let (mut files, all) = (Vec::new(), b"0123456789abcdef");
    for _ in 0..2 {
        collector.push(all);
        files.push(collector.take().file.unwrap());
        assert_eq!(std::fs::read(files.last().unwrap()).unwrap(), all);
    }
    assert_ne!(files[0], files[1]);
}
