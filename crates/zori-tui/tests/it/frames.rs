//! What a frame costs (PERF-2), and that nothing flickers: rows that stay are neither erased nor written again.

use zori_core::tool::ToolKind;
use zori_testkit::pty;
use zori_testkit::terminal::{Kind, Terminal};

use crate::stage::{Chat, columns};

/// Streams 8-byte deltas, 50 a second, with 30 frames a second, a key now and then; returns the frames.
fn streamed(paragraphs: bool, keys: bool) -> Vec<String> {
    let mut chat = Chat::new(columns(100));
    chat.frame();
    chat.turn("go");
    let mut frames = vec![chat.frame()];
    let mut since_frame = 0;
    for i in 0..600 {
        let end = if paragraphs && i % 40 == 39 { ".\n\n" } else { " " };
        chat.wait(20).says(&format!("word{i:03}{end}"));
        since_frame += 20;
        if keys && i % 5 == 0 {
            chat.typed("x");
            frames.push(chat.frame());
            since_frame = 0;
        }
        if since_frame >= 33 {
            frames.push(chat.frame());
            since_frame = 0;
        }
    }
    frames
}

/// PERF-2, from inside: at most 100 bytes for a delta, also in one endless paragraph and with somebody who types.
#[test]
fn a_delta_costs_few_bytes() {
    for (paragraphs, keys) in [(true, false), (false, false), (true, true), (false, true)] {
        let bytes: usize = streamed(paragraphs, keys).iter().map(String::len).sum();
        assert!(bytes / 600 <= 100, "{} bytes a delta, paragraphs {paragraphs}, keys {keys}", bytes / 600);
    }
}

/// A frame that commits nothing erases nothing: what stays is not touched, so that nothing can flicker.
#[test]
fn nothing_is_erased_without_a_commit() {
    let mut terminal = Terminal::new(Kind::Cutting, pty::Size { rows: 30, cols: 100 });
    for frame in streamed(false, true) {
        let erases = frame.contains("\x1b[J");
        let commits = frame.contains("\r\n");
        assert!(!erases || commits, "{frame:?}");
        assert!(
            frame.is_empty() || frame.starts_with("\x1b[?2026h") && frame.ends_with("\x1b[?2026l"),
            "{frame:?}"
        );
        terminal.feed(&frame);
        let rows = terminal.screen();
        assert!(rows.iter().filter(|row| row.contains("YOLO ·")).count() == 1, "{}", rows.join("\n"));
    }
}

/// PERF-10: what a frame costs does not grow with what a command has printed.
#[test]
fn a_frame_of_a_command_is_small_however_much_it_printed() {
    let mut chat = Chat::new(columns(100));
    chat.turn("go").calls(ToolKind::Bash, r#"{"command":"yes"}"#);
    chat.frame();
    let mut longest = 0;
    for i in 0..200 {
        let lines: String = (0..400).map(|line| format!("line {i}-{line} of the output\n")).collect();
        chat.wait(100).prints(&lines);
        longest = longest.max(chat.frame().len());
    }
    assert!(longest < 600, "{longest} bytes");
}
