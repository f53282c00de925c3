//! Any bytes as an event stream.
//!
//! The first byte of an input says how long the pieces are that the network brings. What must hold: no panic; the same
//! frames however the bytes were cut; none with a line end in its name; and nothing behind the end.

#![no_main]

use libfuzzer_sys::fuzz_target;
use zori_providers::sse::{Decoder, SseError};

fuzz_target!(|input: &[u8]| {
    let Some((&size, body)) = input.split_first() else { return };
    let whole = frames(std::iter::once(body));
    assert_eq!(
        frames(body.chunks(usize::from(size) + 1)),
        whole,
        "pieces of {} bytes",
        usize::from(size) + 1
    );
    assert_eq!(frames(body.chunks(1)), whole, "single bytes");
});

type Owned = (Vec<u8>, Vec<u8>);

fn frames<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Result<Vec<Owned>, SseError> {
    let mut decoder = Decoder::new();
    let mut frames = Vec::new();
    for piece in pieces {
        decoder.push(piece);
        while let Some(frame) = decoder.next_frame()? {
            frames.push((frame.event.to_vec(), frame.data.to_vec()));
        }
    }
    if let Some(frame) = decoder.finish()? {
        frames.push((frame.event.to_vec(), frame.data.to_vec()));
    }
    assert_eq!(decoder.next_frame()?, None, "something comes behind the end");
    let has_line_end = |(event, _): &Owned| event.iter().any(|byte| matches!(byte, b'\r' | b'\n'));
    assert!(!frames.iter().any(has_line_end), "a name has a line end");
    Ok(frames)
}
