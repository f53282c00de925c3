use super::*;

/// The one place that knows the decoder's API: one `name|data` line per frame.
fn frames<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
    let show = |f: Frame<'_>| {
        format!(
            "{}|{}",
            String::from_utf8_lossy(f.event),
            String::from_utf8_lossy(f.data).replace('\n', "\\n")
        )
    };
    let mut decoder = Decoder::new();
    let mut out = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(frame) = decoder.next_frame().unwrap() {
            out.push(show(frame));
        }
    }
    out.extend(decoder.finish().unwrap().map(show));
    out
}

/// Decodes the text whole, cut in two at every byte, and byte by byte; all must agree.
fn decode(text: &str) -> Vec<String> {
    let bytes = text.as_bytes();
    let whole = frames([bytes]);
    assert_eq!(frames(bytes.chunks(1)), whole, "byte by byte: {text:?}");
    for cut in 0..=bytes.len() {
        assert_eq!(frames([&bytes[..cut], &bytes[cut..]]), whole, "cut at {cut}: {text:?}");
    }
    whole
}

#[test]
fn line_ends_are_alike() {
    let lines = ["event: a", "data: 1", "", ": comment", "data:2", "data: 3", "", "data: é😀", "", ""];
    let expected = ["a|1", "|2\\n3", "|é😀"];
    for end in ["\n", "\r\n", "\r"] {
        assert_eq!(decode(&lines.join(end)), expected, "{end:?}");
    }
    assert_eq!(decode("event: a\rdata: 1\r\n\ndata:2\ndata: 3\r\rdata: é😀\n\r\n"), expected);
}

#[test]
fn variants_of_fields() {
    let cases = [
        ("\u{feff}data: bom\n\n", vec!["|bom"]),
        ("data:\u{feff}inside\n\n", vec!["|\u{feff}inside"]),
        ("data:  two blanks\n\n", vec!["| two blanks"]),
        ("data\n\n", vec!["|"]),
        ("data:\ndata:\n\n", vec!["|\\n"]),
        ("data: first\nevent: late\n\n", vec!["late|first"]),
        ("event: a\nevent: b\ndata: x\n\n", vec!["b|x"]),
        ("event: lost\n\ndata: x\n\n", vec!["|x"]),
        ("id: 7\nretry: 10\nunknown: y\ndata: x\n\n", vec!["|x"]),
        ("data : x\n\n", vec![]),
        (":\n\n:::\n\n\n\n", vec![]),
        ("", vec![]),
        ("\u{feff}", vec![]),
    ];
    for (text, expected) in cases {
        assert_eq!(decode(text), expected, "{text:?}");
    }
}

#[test]
fn an_unterminated_last_event_is_delivered() {
    assert_eq!(decode("data: 1\n\nevent: e\ndata: 2"), ["|1", "e|2"]);
    assert_eq!(decode("data: 1\n\nevent: e\ndata: 2\n"), ["|1", "e|2"]);
    assert_eq!(decode("data: 1\n\nevent: e"), ["|1"]);
}

#[test]
fn bytes_that_are_no_text_pass_through() {
    let mut decoder = Decoder::new();
    decoder.push(b"data: \xff\xfe\n\n");
    assert_eq!(decoder.next_frame(), Ok(Some(Frame { event: b"", data: b"\xff\xfe" })));
}

#[test]
fn an_event_without_end_is_refused() {
    let mebi = vec![b'x'; 1024 * 1024];
    let run = |line_end: &[u8]| {
        let mut decoder = Decoder::new();
        for pushed in 1..=40 {
            decoder.push(b"data: ");
            decoder.push(&mebi);
            decoder.push(line_end);
            if decoder.next_frame() == Err(SseError::TooLong) {
                return pushed;
            }
        }
        0
    };
    assert_eq!(run(b""), 16, "one line");
    assert_eq!(run(b"\n"), 16, "many lines");
}
