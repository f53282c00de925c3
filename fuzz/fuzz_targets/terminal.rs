//! Any bytes on their way to a terminal, and from one.
//!
//! What must hold: no panic; nothing that a terminal obeys or hides gets through a filter (TERM-1, SAF-6); what is filtered
//! stays as it is when it is filtered again; rows are no wider than they may be; and keys do not depend on how reads cut
//! the bytes (TTY-1).

#![no_main]

use libfuzzer_sys::fuzz_target;
use zori_core::text;
use zori_tools::plain::screen;
use zori_tui::clean::CleanText;
use zori_tui::markdown;
use zori_tui::terminal::decode::Decoder;

fuzz_target!(|input: &[u8]| {
    let Some((&size, bytes)) = input.split_first() else { return };
    keys(bytes, usize::from(size) + 1);
    let said = String::from_utf8_lossy(bytes);
    let neutral = text::neutral(&said);
    assert!(!neutral.contains(|c| hostile(c) && c != '\n' && c != '\t'), "{neutral:?}");
    assert_eq!(text::neutral(&neutral), neutral);
    let line = text::one_line(&said);
    assert!(!line.contains(hostile), "{line:?}");
    assert_eq!(text::one_line(&line), line);
    let clean = CleanText::new(&said);
    assert!(!clean.as_str().contains(|c: char| hostile(c) && !joiner(c)), "{clean:?}");
    let shown = screen::shown(&said);
    let left = |c: char| (c as u32) < 0x20 && c != '\n' && c != '\t' || c == '\x7f';
    assert!(!shown.contains(left), "{shown:?}");
    let width = u16::from(size % 100) + 20;
    for row in markdown::rows(&said, width) {
        let text = row.text();
        assert!(!text.contains(|c: char| hostile(c) && !joiner(c)), "{text:?}");
        assert!(row.width() <= usize::from(width), "{} of {width} columns: {text:?}", row.width());
    }
});

fn hostile(c: char) -> bool {
    c.is_control() || text::invisible(c)
}

/// They stay where scripts and emoji are written with one.
fn joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

fn keys(bytes: &[u8], size: usize) {
    let decoded = |pieces: std::slice::Chunks<'_, u8>| {
        let mut decoder = Decoder::default();
        let mut events: Vec<_> = pieces.flat_map(|piece| decoder.feed(piece)).collect();
        events.extend(decoder.flush());
        events
    };
    let whole = decoded(bytes.chunks(bytes.len().max(1)));
    assert_eq!(decoded(bytes.chunks(size)), whole, "pieces of {size} bytes");
}
