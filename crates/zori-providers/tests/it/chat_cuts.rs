//! The same streams, cut everywhere and mutilated in every way: equal chunks, or a clean failure, never a panic
//! and never a success that is none.

use zori_core::provider::Delivery;
use zori_core::transport::TransportFailure;
use zori_providers::replay::{Chunking, Ending, Exchange};

use crate::chat_ask::{all_chats, asked, chat_reply};

const INCOMPLETE: &str = "failed transport: stream ended before the reply was complete\n";

async fn reply(name: &str, exchange: Exchange) -> String {
    chat_reply(name, exchange, Delivery::Streamed).await
}

/// Returns whether the server may leave out `[DONE]`.
fn may_end_early(name: &str) -> bool {
    asked(name).0 == "compat"
}

/// Returns how much of a stream must have come for it to be complete.
fn needed(name: &str, text: &str) -> usize {
    let finish = text.find(r#""finish_reason":"stop""#);
    match finish.filter(|_| may_end_early(name)) {
        Some(at) => at + text[at..].find('\n').expect("events end with a line end"),
        // What follows the last event's data (line end, blank line) may be missing.
        None => text.trim_end().len(),
    }
}

#[tokio::test]
async fn chunks_do_not_depend_on_how_bytes_are_split() {
    let mut cases = 0;
    for (name, bytes) in all_chats() {
        let exchange = Exchange::event_stream(bytes.clone());
        let whole = reply(&name, exchange.clone()).await;
        let single = reply(&name, exchange.clone().chunked(Chunking::EveryByte)).await;
        assert_eq!(single, whole, "{name} byte by byte");
        for at in 0..=bytes.len() {
            let cut = reply(&name, exchange.clone().chunked(Chunking::CutAt(at))).await;
            assert_eq!(cut, whole, "{name} cut at {at}");
        }
        cases += bytes.len() + 2;
    }
    println!("{cases} cases");
    assert!(cases > 30_000, "only {cases} cases");
}

#[tokio::test]
async fn line_ends_make_no_difference() {
    for (name, bytes) in all_chats() {
        let text = String::from_utf8(bytes.clone()).unwrap().replace("\r\n", "\n");
        let whole = reply(&name, Exchange::event_stream(bytes)).await;
        for end in ["\r\n", "\r", "\n"] {
            let variant = format!("\u{feff}{}", text.replace('\n', end));
            assert_eq!(reply(&name, Exchange::event_stream(variant)).await, whole, "{name} with {end:?}");
        }
        let tight = text.replace("data: ", "data:");
        assert_eq!(reply(&name, Exchange::event_stream(tight)).await, whole, "{name} without blanks");
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_never_a_success() {
    let mut cases = 0;
    for (name, bytes) in all_chats() {
        let whole = reply(&name, Exchange::event_stream(bytes.clone())).await;
        let needed = needed(&name, &String::from_utf8(bytes.clone()).unwrap());
        for at in 0..needed {
            let cut = reply(&name, Exchange::event_stream(bytes[..at].to_vec())).await;
            let kept = cut.strip_suffix(INCOMPLETE);
            let kept = kept.unwrap_or_else(|| panic!("{name} of {at} bytes gave {cut}"));
            assert!(whole.starts_with(kept), "{name} of {at} bytes gave other chunks: {cut}");
        }
        for at in needed..bytes.len() {
            let cut = reply(&name, Exchange::event_stream(bytes[..at].to_vec())).await;
            assert_eq!(cut, whole, "{name} of {at} bytes");
        }
        cases += bytes.len();
    }
    println!("{cases} cases");
    assert!(cases > 30_000, "only {cases} cases");
}

#[tokio::test]
async fn a_broken_connection_keeps_what_came_before() {
    let reset = TransportFailure::Broken("reset by peer".to_owned());
    for (name, bytes) in all_chats().into_iter().filter(|(name, _)| name.ends_with("/parallel_tools")) {
        let whole = reply(&name, Exchange::event_stream(bytes.clone())).await;
        for at in 0..bytes.len() - 2 {
            let exchange =
                Exchange::event_stream(bytes[..at].to_vec()).ending(Ending::Failure(reset.clone()));
            let cut = reply(&name, exchange).await;
            let kept = cut.strip_suffix("failed transport: connection lost: reset by peer\n");
            assert!(kept.is_some_and(|kept| whole.starts_with(kept)), "{at} bytes gave {cut}");
        }
        // After the end mark the reply is complete, whatever becomes of the connection.
        for ending in [Ending::Failure(reset.clone()), Ending::Silence] {
            assert_eq!(reply(&name, Exchange::event_stream(bytes.clone()).ending(ending)).await, whole);
        }
    }
}

/// Drops, doubles and swaps events.
#[tokio::test]
async fn mutilated_streams_end_cleanly() {
    let mut cases = 0;
    for (name, bytes) in all_chats() {
        let text = String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
        let events: Vec<&str> = text.split_inclusive("\n\n").collect();
        let mut variants = Vec::new();
        for at in 0..events.len() {
            let mut dropped = events.clone();
            dropped.remove(at);
            variants.push(dropped.concat());
            let mut doubled = events.clone();
            doubled.insert(at, events[at]);
            variants.push(doubled.concat());
            for other in at + 1..events.len() {
                let mut swapped = events.clone();
                swapped.swap(at, other);
                variants.push(swapped.concat());
            }
        }
        cases += variants.len();
        for variant in variants {
            let shown = reply(&name, Exchange::event_stream(variant.clone())).await;
            let last = shown.lines().last().unwrap_or_default();
            let clean = ["done ", "failed parse: ", "failed api_error: ", "failed transport: "];
            assert!(clean.iter().any(|c| last.starts_with(c)), "{name}: {variant}\ngave {shown}");
            let finished = variant.contains(r#""finish_reason":""#);
            let ended = finished && (variant.contains("[DONE]") || may_end_early(&name));
            assert!(ended || !last.starts_with("done "), "{name}: a success without an end: {variant}");
        }
    }
    println!("{cases} cases");
    assert!(cases > 800, "only {cases} cases");
}

/// Replaces each byte by one that is no UTF-8, and by a quote.
#[tokio::test]
async fn damaged_bytes_end_cleanly() {
    let mut cases = 0;
    let some = ["openai_chat/unicode", "openrouter/reasoning_details", "compat/compat_prose_fence"];
    for (name, bytes) in all_chats().into_iter().filter(|(name, _)| some.contains(&name.as_str())) {
        for at in 0..bytes.len() {
            for damage in [0xff, b'"'] {
                cases += 1;
                let mut damaged = bytes.clone();
                damaged[at] = damage;
                let shown = reply(&name, Exchange::event_stream(damaged)).await;
                assert!(
                    !shown.contains('\u{fffd}') || shown.contains("failed parse: "),
                    "{name} at {at}: {shown}"
                );
                let last = shown.lines().last().unwrap_or_default();
                assert!(last.starts_with("done ") || last.starts_with("failed "), "{name} at {at}: {shown}");
            }
        }
    }
    println!("{cases} cases");
}
