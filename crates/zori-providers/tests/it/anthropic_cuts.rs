//! The same streams, cut everywhere and mutilated in every way: equal chunks, or a clean failure, never a panic
//! and never a success that is none.

use zori_core::transport::TransportFailure;
use zori_providers::replay::{Chunking, Ending, Exchange};

use crate::ask::{fixture, reply, streams};

const NAMES: [&str; 9] = [
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "ping",
    "error",
    "unknown",
];

const INCOMPLETE: &str = "failed transport: stream ended before the reply was complete\n";

/// Returns every stream with its name.
fn all() -> Vec<(String, Vec<u8>)> {
    let recorded = streams("compat/llama-server").into_iter().filter(|name| name.contains("/anthropic_"));
    let names = streams("anthropic").into_iter().chain(recorded);
    names.map(|name| (name.clone(), fixture(&format!("{name}.sse")))).collect()
}

#[tokio::test]
async fn chunks_do_not_depend_on_how_bytes_are_split() {
    for (name, bytes) in all() {
        let exchange = Exchange::event_stream(bytes.clone());
        let whole = reply(exchange.clone()).await;
        assert_eq!(reply(exchange.clone().chunked(Chunking::EveryByte)).await, whole, "{name} byte by byte");
        for at in 0..=bytes.len() {
            let cut = reply(exchange.clone().chunked(Chunking::CutAt(at))).await;
            assert_eq!(cut, whole, "{name} cut at {at}");
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_never_a_success() {
    for (name, bytes) in all() {
        let whole = reply(Exchange::event_stream(bytes.clone())).await;
        let text = String::from_utf8(bytes.clone()).unwrap();
        // What follows the last event's data (line end, blank line) may be missing.
        let needed = text.trim_end().len();
        for at in 0..needed {
            let cut = reply(Exchange::event_stream(bytes[..at].to_vec())).await;
            let kept = cut.strip_suffix(INCOMPLETE);
            let kept = kept.unwrap_or_else(|| panic!("{name} of {at} bytes gave {cut}"));
            assert!(whole.starts_with(kept), "{name} of {at} bytes gave other chunks: {cut}");
        }
        for at in needed..bytes.len() {
            assert_eq!(
                reply(Exchange::event_stream(bytes[..at].to_vec())).await,
                whole,
                "{name} of {at} bytes"
            );
        }
    }
}

#[tokio::test]
async fn a_broken_connection_keeps_what_came_before() {
    let bytes = fixture("anthropic/text.sse");
    let whole = reply(Exchange::event_stream(bytes.clone())).await;
    let reset = TransportFailure::Broken("reset by peer".to_owned());
    for at in 0..bytes.len() - 2 {
        let exchange = Exchange::event_stream(bytes[..at].to_vec()).ending(Ending::Failure(reset.clone()));
        let cut = reply(exchange).await;
        let kept = cut.strip_suffix("failed transport: connection lost: reset by peer\n");
        assert!(kept.is_some_and(|kept| whole.starts_with(kept)), "{at} bytes gave {cut}");
    }
    // After the end event the reply is complete, whatever becomes of the connection.
    for ending in [Ending::Failure(reset), Ending::Silence] {
        assert_eq!(reply(Exchange::event_stream(bytes.clone()).ending(ending)).await, whole);
    }
}

/// Drops, doubles and swaps each event, and gives each the name of each other.
#[tokio::test]
async fn mutilated_streams_end_cleanly() {
    let mut cases = 0;
    for (name, bytes) in all() {
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
            for retyped in NAMES {
                let mut list: Vec<String> = events.iter().map(|e| (*e).to_owned()).collect();
                let data = events[at].split_once("data:").map_or("", |(_, data)| data);
                list[at] = format!("event: {retyped}\ndata:{data}");
                variants.push(list.concat());
            }
        }
        cases += variants.len();
        for variant in variants {
            let shown = reply(Exchange::event_stream(variant.clone())).await;
            let last = shown.lines().last().unwrap_or_default();
            let clean = ["done ", "failed parse: ", "failed api_error: ", "failed transport: "];
            assert!(clean.iter().any(|c| last.starts_with(c)), "{name}: {variant}\ngave {shown}");
            let ended = variant.contains("event: message_stop") || variant.contains(r#""message_stop""#);
            assert!(ended || !last.starts_with("done "), "{name}: a success without an end: {variant}");
        }
    }
    assert!(cases > 4_500, "only {cases} cases");
}

/// Replaces each byte by one that is no UTF-8, and by a quote.
#[tokio::test]
async fn damaged_bytes_end_cleanly() {
    for name in ["anthropic/unicode", "anthropic/thinking_then_tool"] {
        let bytes = fixture(&format!("{name}.sse"));
        for at in 0..bytes.len() {
            for damage in [0xff, b'"'] {
                let mut damaged = bytes.clone();
                damaged[at] = damage;
                let shown = reply(Exchange::event_stream(damaged)).await;
                assert!(
                    !shown.contains('\u{fffd}') || shown.contains("failed parse: "),
                    "{name} at {at}: {shown}"
                );
                let last = shown.lines().last().unwrap_or_default();
                assert!(last.starts_with("done ") || last.starts_with("failed "), "{name} at {at}: {shown}");
            }
        }
    }
}
