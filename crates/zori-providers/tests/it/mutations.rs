//! Random damage to every stream there is: whatever arrives, the decoders do not panic, and they never call an
//! answer complete whose end did not arrive. The seed is fixed, so that a failure can be seen again.

use zori_providers::replay::Exchange;

use crate::random::Random;
use crate::vendor::Vendor;

/// How many times each stream is damaged.
const ROUNDS: usize = 120;

/// Damages a stream in one to four places: bytes changed, taken out, put in, copied; lines moved.
fn damage(random: &mut Random, bytes: &mut Vec<u8>) {
    const TOKENS: [&[u8]; 10] =
        [b"{", b"}", b"[", b"\"", b"null", b"\n\n", b"\r", b"-1", b"\xf0\x9f", b"99999999999999999999"];
    for _ in 0..=random.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = random.below(bytes.len());
        let length = random.below(40).min(bytes.len() - at);
        match random.below(6) {
            0 => bytes[at] = u8::try_from(random.below(256)).expect("it is a byte"),
            1 => drop(bytes.drain(at..at + length)),
            2 => {
                let token = TOKENS[random.below(TOKENS.len())];
                bytes.splice(at..at, token.iter().copied());
            }
            3 => {
                let piece = bytes[at..at + length].to_vec();
                let to = random.below(bytes.len());
                bytes.splice(to..to, piece);
            }
            4 => bytes.truncate(at),
            _ => {
                let mut lines: Vec<Vec<u8>> =
                    bytes.split_inclusive(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
                let (from, to) = (random.below(lines.len()), random.below(lines.len()));
                lines.swap(from, to);
                *bytes = lines.concat();
            }
        }
    }
}

#[tokio::test]
async fn damaged_streams_never_panic_and_never_succeed_without_an_end() {
    let mut random = Random(0x7a6f_7269);
    let mut cases = 0;
    for vendor in Vendor::ALL {
        for (name, bytes) in vendor.streams() {
            for _ in 0..ROUNDS {
                let mut damaged = bytes.clone();
                damage(&mut random, &mut damaged);
                let text = String::from_utf8_lossy(&damaged).into_owned();
                let shown = vendor.reply(Exchange::event_stream(damaged)).await;
                let last = shown.lines().last().unwrap_or_default();
                let clean = last.starts_with("done ") || last.starts_with("failed ");
                assert!(clean, "{name}: {text}\ngave {shown}");
                assert!(vendor.may_end(&text) || !last.starts_with("done "), "{name}: no end: {text}");
                cases += 1;
            }
        }
    }
    println!("{cases} cases");
    assert!(cases > 6_000, "only {cases} cases");
}
