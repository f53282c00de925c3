use super::*;

/// One line for each event.
fn shown(events: &[TermEvent]) -> Vec<String> {
    events
        .iter()
        .map(|event| match event {
            TermEvent::Key(key) => key.to_string(),
            other => format!("{other:?}"),
        })
        .collect()
}

/// Decodes the bytes whole, then cut in two at every byte, and one by one; all must agree.
#[track_caller]
fn check(bytes: &[u8], expected: &[&str]) {
    let decode = |pieces: &[&[u8]]| {
        let mut decoder = Decoder::default();
        let mut events: Vec<_> = pieces.iter().flat_map(|piece| decoder.feed(piece)).collect();
        events.extend(decoder.flush());
        shown(&events)
    };
    assert_eq!(decode(&[bytes]), expected, "{:?}", String::from_utf8_lossy(bytes));
    for at in 0..=bytes.len() {
        assert_eq!(
            decode(&[&bytes[..at], &bytes[at..]]),
            expected,
            "{:?} cut at {at}",
            String::from_utf8_lossy(bytes)
        );
    }
    let each: Vec<&[u8]> = bytes.chunks(1).collect();
    assert_eq!(decode(&each), expected, "{:?} byte by byte", String::from_utf8_lossy(bytes));
}

#[test]
fn keys() {
    check(b"a\xc3\xa9\xf0\x9f\x98\x80", &["a", "é", "😀"]);
    check(b"\r\n\t\x7f\x08", &["enter", "ctrl+j", "tab", "backspace", "ctrl+h"]);
    check(b"\x01\x03\x1f\x00", &["ctrl+a", "ctrl+c", "ctrl+_", "ctrl+space"]);
    check(b"\x1b", &["esc"]);
    check(b"\x1b\x1b", &["esc", "esc"]);
    check(b"\x1b\r\x1bb\x1b\x7f\x1b\xc3\xa9", &["alt+enter", "alt+b", "alt+backspace", "alt+é"]);
    check(
        b"\x1b[A\x1bOB\x1b[1;3C\x1b[1;5D\x1b[H\x1b[4~",
        &["up", "down", "alt+right", "ctrl+left", "home", "end"],
    );
    check(b"\x1b[3~\x1b[5~\x1b[6~\x1b[Z", &["delete", "pageup", "pagedown", "shift+tab"]);
    check(b"\x1bOP\x1b[15~\x1b[24~", &["f1", "f5", "f12"]);
}

#[test]
fn keys_with_modifiers_in_both_protocols() {
    check(b"\x1b[13;2u\x1b[13;5u\x1b[27;2;13~", &["shift+enter", "ctrl+enter", "shift+enter"]);
    check(b"\x1b[97;5u\x1b[97;2u\x1b[27u", &["ctrl+a", "A", "esc"]);
    check(b"\x1b[97;1:3u\x1b[97;1:1u", &["a"]);
    check(b"\x1b[57441;2u", &[]);
}

#[test]
fn pastes() {
    check(b"\x1b[200~a\rb\r\nc\x1b[A\x1b[201~d", &["Paste(\"a\\nb\\r\\nc\\u{1b}[A\")", "d"]);
    check(b"\x1b[200~\x1b[201~", &["Paste(\"\")"]);
}

#[test]
fn answers_are_no_keys() {
    check(b"\x1b[?62;4c", &["Answer(Attributes)"]);
    check(b"\x1bP>|tmux 3.4\x1b\\", &["Answer(Version(\"tmux 3.4\"))"]);
    check(b"\x1b]11;rgb:1e1e/ffff/0000\x1b\\", &["Answer(Background { red: 30, green: 255, blue: 0 })"]);
    check(b"\x1b]11;rgb:1e/ff/00\x07x", &["Answer(Background { red: 30, green: 255, blue: 0 })", "x"]);
    check(
        b"\x1b[?2026;2$y\x1b[?1u",
        &["Answer(Mode { mode: 2026, known: true, set: false })", "Answer(KittyFlags(1))"],
    );
    check(b"\x1b[?997;2n", &["Answer(ColourScheme { light: true })"]);
    check(b"\x1b[I\x1b[O", &["Focus(true)", "Focus(false)"]);
}

#[test]
fn what_nobody_knows_is_dropped_whole() {
    check(b"\x1b[<0;3;4Mx", &["x"]);
    check(b"\x1b[M abx", &["x"]);
    check(b"\x1b_Gi=1;OK\x1b\\x", &["x"]);
    check(b"\x1b]52;c;aGk=\x07x", &["x"]);
    check(b"\x1b[12;\x1b[Ax", &["up", "x"]);
    check(b"\xff\xfea", &["\u{fffd}", "\u{fffd}", "a"]);
}

/// The escape came alone and was taken for the key; the rest of the answer is still none.
#[test]
fn an_answer_cut_behind_its_escape() {
    let mut decoder = Decoder::default();
    decoder.expect_answers(2);
    assert!(decoder.feed(b"\x1b").is_empty());
    assert_eq!(shown(&decoder.flush().into_iter().collect::<Vec<_>>()), ["esc"]);
    assert_eq!(shown(&decoder.feed(b"[?62;4c")), ["Answer(Attributes)"]);
    assert!(!decoder.answers_due());
    decoder.feed(b"\x1b");
    decoder.flush();
    assert_eq!(shown(&decoder.feed(b"[?")), ["[", "?"], "no answer is due any more");
}

#[test]
fn ten_megabytes_come_through() {
    let text = "0123456789abcde\n".repeat(640 * 1024);
    let mut decoder = Decoder::default();
    let mut events = decoder.feed(PASTE_START);
    for piece in text.as_bytes().chunks(4096) {
        events.extend(decoder.feed(piece));
    }
    events.extend(decoder.feed(PASTE_END));
    assert_eq!(events, [TermEvent::Paste(text)]);
}

/// UI-36: the rest of an answer may never come; what is typed then is text again.
#[test]
fn an_answer_that_never_ends_does_not_eat_what_is_typed() {
    let typed = |bytes: &[u8]| {
        let mut decoder = Decoder::default();
        decoder.expect_answers(7);
        shown(&decoder.feed(bytes))
    };
    assert_eq!(typed(b"\x1b]11;rgb:1e1e/hello\r"), ["h", "e", "l", "l", "o", "enter"]);
    assert_eq!(typed(b"\x1b]11;rgb:1e1e/\x03"), ["ctrl+c"]);
    assert_eq!(typed(b"\x1bP>|tmux 3.\rx"), ["enter", "x"]);
    assert_eq!(typed(b"\x1b[?62;\rx"), ["enter", "x"]);
    let long = [&b"\x1bP>|"[..], &[b'a'; 5000]].concat();
    assert_eq!(typed(&long).last().map(String::as_str), Some("a"));
}

/// Alt with a character that begins sequences is a key once no answer is due.
#[test]
fn alt_with_a_bracket() {
    for (bytes, wanted) in [(&b"\x1b]"[..], "alt+]"), (b"\x1bP", "alt+P"), (b"\x1b[", "alt+[")] {
        let mut decoder = Decoder::default();
        assert!(decoder.feed(bytes).is_empty());
        assert!(decoder.is_waiting());
        assert_eq!(shown(&decoder.flush().into_iter().collect::<Vec<_>>()), [wanted]);
        assert_eq!(shown(&decoder.feed(b"hi")), ["h", "i"]);
        decoder.expect_answers(1);
        decoder.feed(bytes);
        assert!(!decoder.is_waiting(), "it may be an answer");
    }
}

/// UI-50: the wheel, with modifiers, too; what else the mouse does is nobody's.
#[test]
fn the_wheel() {
    check(
        b"\x1b[<64;10;5M\x1b[<65;10;5M\x1b[<68;1;1M",
        &["Wheel { up: true }", "Wheel { up: false }", "Wheel { up: true }"],
    );
    check(b"\x1b[<0;10;5M\x1b[<0;10;5m\x1b[<64;1;1m\x1b[<66;1;1M\x1b[<;1M", &[]);
}
