//! The streams of the OpenAI and Gemini APIs, cut everywhere and mutilated in every way: equal chunks, or a clean
//! failure, never a panic and never a success that is none. (Anthropic's are in `anthropic_cuts`.)

use zori_core::transport::TransportFailure;
use zori_providers::replay::{Chunking, Ending, Exchange};

use crate::vendor::Vendor;

const VENDORS: [Vendor; 2] = [Vendor::Responses, Vendor::Gemini];

const INCOMPLETE: &str = "failed transport: stream ended before the reply was complete\n";

/// Returns whether a stream's last word is an error rather than the end of an answer.
fn fails(shown: &str) -> bool {
    shown.lines().last().is_some_and(|line| line.starts_with("failed "))
}

#[tokio::test]
async fn chunks_do_not_depend_on_how_bytes_are_split() {
    let mut cases = 0;
    for vendor in VENDORS {
        for (name, bytes) in vendor.streams() {
            let exchange = Exchange::event_stream(bytes.clone());
            let whole = vendor.reply(exchange.clone()).await;
            let single = vendor.reply(exchange.clone().chunked(Chunking::EveryByte)).await;
            assert_eq!(single, whole, "{name} byte by byte");
            for at in 0..=bytes.len() {
                let cut = vendor.reply(exchange.clone().chunked(Chunking::CutAt(at))).await;
                assert_eq!(cut, whole, "{name} cut at {at}");
            }
            cases += bytes.len() + 2;
        }
    }
    println!("{cases} cases");
    assert!(cases > 60_000, "only {cases} cases");
}

#[tokio::test]
async fn chunks_do_not_depend_on_line_ends() {
    for vendor in VENDORS {
        for (name, bytes) in vendor.streams() {
            let text = String::from_utf8(bytes).unwrap();
            let whole = vendor.reply(Exchange::event_stream(text.clone())).await;
            let lf = text.replace("\r\n", "\n");
            for variant in [
                lf.replace('\n', "\r\n"),
                lf.replace('\n', "\r"),
                lf.replace("data: ", "data:"),
                lf.replace("\n\n", "\nid: 7\nretry: 10\n\n: comment\n\n"),
                format!("\u{feff}{lf}"),
                lf,
            ] {
                assert_eq!(
                    vendor.reply(Exchange::event_stream(variant.clone())).await,
                    whole,
                    "{name}: {variant:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_stream_that_ends_early_is_never_a_success() {
    for vendor in VENDORS {
        for (name, bytes) in vendor.streams() {
            let whole = vendor.reply(Exchange::event_stream(bytes.clone())).await;
            // What follows the last event's data (line end, blank line) may be missing.
            let needed = bytes.trim_ascii_end().len();
            for at in 0..bytes.len() {
                let cut = vendor.reply(Exchange::event_stream(bytes[..at].to_vec())).await;
                if at >= needed {
                    assert_eq!(cut, whole, "{name} of {at} bytes");
                    continue;
                }
                let kept = cut.strip_suffix(INCOMPLETE);
                let kept = kept.unwrap_or_else(|| panic!("{name} of {at} bytes gave {cut}"));
                assert!(whole.starts_with(kept), "{name} of {at} bytes gave other chunks: {cut}");
            }
        }
    }
}

#[tokio::test]
async fn a_broken_connection_keeps_what_came_before() {
    let reset = TransportFailure::Broken("reset by peer".to_owned());
    for vendor in VENDORS {
        for (name, bytes) in vendor.streams() {
            let whole = vendor.reply(Exchange::event_stream(bytes.clone())).await;
            // At every event's end, and somewhere within.
            let text = String::from_utf8(bytes.clone()).unwrap();
            let ends = text.match_indices("data: ").map(|(at, _)| at);
            for at in ends.clone().chain(ends.map(|at| at + 9)) {
                let broken =
                    Exchange::event_stream(bytes[..at].to_vec()).ending(Ending::Failure(reset.clone()));
                let cut = vendor.reply(broken).await;
                let kept = cut.strip_suffix("failed transport: connection lost: reset by peer\n");
                assert!(kept.is_some_and(|kept| whole.starts_with(kept)), "{name}: {at} bytes gave {cut}");
            }
            // After the end event the reply is complete, whatever becomes of the connection.
            if !fails(&whole) {
                let ending = Ending::Failure(reset.clone());
                assert_eq!(vendor.reply(Exchange::event_stream(bytes).ending(ending)).await, whole, "{name}");
            }
        }
    }
}

/// Drops, doubles and swaps each event, and gives each the name of each other.
#[tokio::test]
async fn mutilated_streams_end_cleanly() {
    let mut cases = 0;
    for vendor in VENDORS {
        for (name, bytes) in vendor.streams() {
            let text = String::from_utf8(bytes).unwrap().replace("\r\n", "\n");
            let events: Vec<&str> = text.split_inclusive("\n\n").collect();
            for variant in mutilated(&events) {
                cases += 1;
                let shown = vendor.reply(Exchange::event_stream(variant.clone())).await;
                let last = shown.lines().last().unwrap_or_default();
                let clean = ["done ", "failed parse: ", "failed api_error: ", "failed transport: "];
                assert!(clean.iter().any(|c| last.starts_with(c)), "{name}: {variant}\ngave {shown}");
                assert!(vendor.may_end(&variant) || !last.starts_with("done "), "{name}: no end: {variant}");
                assert_eq!(unfinished_calls(&shown), 0, "{name}: half a call in {variant}\ngave {shown}");
            }
        }
    }
    println!("{cases} cases");
    assert!(cases > 3_000, "only {cases} cases");
}

fn mutilated(events: &[&str]) -> Vec<String> {
    let mut variants = Vec::new();
    let names: Vec<&str> = events.iter().filter_map(|e| e.strip_prefix("event: ")?.lines().next()).collect();
    for at in 0..events.len() {
        let mut dropped = events.to_vec();
        dropped.remove(at);
        variants.push(dropped.concat());
        let mut doubled = events.to_vec();
        doubled.insert(at, events[at]);
        variants.push(doubled.concat());
        for other in at + 1..events.len() {
            let mut swapped = events.to_vec();
            swapped.swap(at, other);
            variants.push(swapped.concat());
        }
        for retyped in &names {
            let mut list: Vec<String> = events.iter().map(|e| (*e).to_owned()).collect();
            let data = events[at].split_once("data:").map_or("", |(_, data)| data);
            list[at] = format!("event: {retyped}\ndata:{data}");
            variants.push(list.concat());
        }
    }
    variants
}

/// Counts the calls that a reply with the end of a tool step leaves open.
fn unfinished_calls(shown: &str) -> usize {
    if !shown.ends_with("done ToolUse\n") {
        return 0;
    }
    let count = |end: &str| shown.lines().filter(|l| l.starts_with("call ") && l.ends_with(end)).count();
    let started =
        shown.lines().filter(|l| l.starts_with("call ") && !l.contains(" input ") && !l.ends_with(" end"));
    started.count().abs_diff(count(" end"))
}

/// Replaces each byte by one that is no UTF-8, and by a quote.
#[tokio::test]
async fn damaged_bytes_end_cleanly() {
    for (vendor, name) in [
        (Vendor::Responses, "openai_responses/unicode"),
        (Vendor::Gemini, "gemini/unicode"),
        (Vendor::Gemini, "gemini/thoughts_then_tool"),
    ] {
        let bytes = crate::ask::fixture(&format!("{name}.sse"));
        for at in 0..bytes.len() {
            for damage in [0xff, b'"'] {
                let mut damaged = bytes.clone();
                damaged[at] = damage;
                let shown = vendor.reply(Exchange::event_stream(damaged)).await;
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
