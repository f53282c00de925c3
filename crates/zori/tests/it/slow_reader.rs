//! IO-1: a reader that stops for a while gets everything all the same, in its order, and what is kept for it meanwhile is bounded.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::OwnedFd;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::wait;

use crate::reliability::{resident, row};
use crate::world::with_model;

/// How much the process may grow while nobody reads: the queue, and what is on its way.
const MAX_GROWTH: u64 = 40 << 20;
/// The resident size it may have then (IO-1).
const MAX_RESIDENT: u64 = 150 << 20;

/// How a front end is started, what it is told, and where its lines have a piece of the answer.
struct Front {
    args: &'static [&'static str],
    input: &'static str,
    piece: Option<&'static str>,
}

const FRONTS: &[Front] = &[
    Front { args: &["-p", "go", "--no-save"], input: "", piece: None },
    Front { args: &["--json", "-p", "go", "--no-save"], input: "", piece: Some("/text") },
    Front {
        args: &[
            "--output-format",
            "stream-json",
            "--input-format",
            "stream-json",
            "--include-partial-messages",
            "--no-session-persistence",
        ],
        input: "{\"type\":\"user\",\"message\":{\"role\":\"user\",\"content\":\"go\"}}\n",
        piece: Some("/event/delta/text"),
    },
    Front { args: &["start", "--prompt", "go"], input: "", piece: Some("/content") },
];

#[test]
fn a_reader_that_pauses() {
    let answer: String = (0..30_000).map(|n| format!("word-{n} ")).collect();
    for Front { args, input, piece } in FRONTS {
        let (world, _model) = with_model([Reply::bytes(200, "text/event-stream", stream(&answer))]);
        let (mut reader, writer) = io::pipe().expect("a pipe can be made");
        let stdout = Stdout::File(File::from(OwnedFd::from(writer)));
        let stdin = if input.is_empty() { Stdin::Null } else { Stdin::Bytes(input.as_bytes().to_vec()) };
        let run = world.start(world.cmd(args), stdin, stdout);
        // A pipe of 64 KiB; writes that do not fit its pages leave gaps.
        let full = || rustix::io::ioctl_fionread(&reader).is_ok_and(|bytes| bytes > 40_000).then_some(());
        assert!(wait::poll(wait::BOUND, full).is_some(), "{args:?}: the pipe never filled up");
        let mut read = String::new();
        reader.read_to_string(&mut read).expect("it is text");
        assert_eq!(run.finish().code(), Some(0), "{args:?}");
        let said: String = match piece {
            None => read,
            Some(pointer) => read.lines().map(|line| text_at(line, pointer)).collect(),
        };
        assert!(said.trim_end() == answer.trim_end(), "{args:?}: {} of {} bytes", said.len(), answer.len());
    }
}

/// While nobody reads, the network waits: of an answer that is larger than the queue most stays with the server.
#[test]
fn what_is_kept_for_a_reader_that_stops() {
    const STEADY: u32 = 100;
    let word = format!("{} ", "x".repeat(1_000));
    let answer = word.repeat(60_000);
    let body = stream(&answer);
    for Front { args, input, .. } in FRONTS {
        let (world, _model) = with_model([Reply::bytes(200, "text/event-stream", body.clone())]);
        let (reader, writer) = io::pipe().expect("a pipe can be made");
        let stdout = Stdout::File(File::from(OwnedFd::from(writer)));
        let stdin = if input.is_empty() { Stdin::Null } else { Stdin::Bytes(input.as_bytes().to_vec()) };
        let run = world.start(world.cmd(args), stdin, stdout);
        let full = || rustix::io::ioctl_fionread(&reader).is_ok_and(|bytes| bytes > 40_000).then_some(());
        assert!(wait::poll(wait::BOUND, full).is_some(), "{args:?}: the pipe never filled up");
        let before = resident(run.pid());
        // Until it has taken all it wants: its size does not change any more.
        let (mut last, mut same) = (before, 0);
        let settled = || {
            let now = resident(run.pid());
            same = if now == last { same + 1 } else { 0 };
            last = now;
            (same > STEADY || now > MAX_RESIDENT).then_some(())
        };
        assert!(wait::poll(wait::BOUND, settled).is_some(), "{args:?}: it grows and grows: {last} bytes");
        let growth = last.saturating_sub(before);
        assert!(growth < MAX_GROWTH, "{args:?}: {} MiB more of {} MiB", growth >> 20, answer.len() >> 20);
        assert!(last < MAX_RESIDENT, "{args:?}: {} MiB", last >> 20);
        row("IO-1", format_args!("`{}` with nobody reading: {} MiB resident", args.join(" "), last >> 20), 1);
        drop(reader);
        run.finish();
    }
}

/// The answer, a word at a time.
fn stream(answer: &str) -> String {
    let delta = |text| json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}});
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "m",
               "content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}}),
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
    ];
    events.extend(answer.split_inclusive(' ').map(delta));
    events.push(json!({"type": "content_block_stop", "index": 0}));
    events.push(
        json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}}),
    );
    events.push(json!({"type": "message_stop"}));
    events.iter().map(anthropic::event).collect()
}

fn text_at(line: &str, pointer: &str) -> String {
    let line: Value = serde_json::from_str(line).expect("every line is JSON");
    line.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}
