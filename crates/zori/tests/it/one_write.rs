//! A line is one `write`, seen from outside: standard output is a socket that keeps each write apart (NFR-002, IO-3).

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixDatagram;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::wait::BOUND;

use crate::world::with_model;

/// Returns what was written, a write each, up to the one that is the last.
fn writes(args: &[&str], last: &str) -> Vec<String> {
    let (world, _model) = with_model([
        anthropic::text("I look.").tool_use("t1", "bash", json!({"command": "printf 'a\\nb\\n'; exit 3"})),
        anthropic::text("One two three.\n\nFour."),
    ]);
    let (ours, theirs) = UnixDatagram::pair().expect("sockets can be made");
    ours.set_read_timeout(Some(BOUND)).expect("it is no zero");
    let stdout = Stdout::File(File::from(OwnedFd::from(theirs)));
    let run = world.start(world.cmd(args), Stdin::Null, stdout);
    let (mut writes, mut buffer) = (Vec::new(), vec![0; 1 << 20]);
    while writes.last().is_none_or(|line: &String| !line.contains(last)) {
        let length = ours.recv(&mut buffer).expect("the last line comes");
        writes.push(String::from_utf8(buffer[..length].to_vec()).expect("lines are text"));
    }
    assert_eq!(run.finish().code(), Some(0), "{args:?}");
    writes
}

#[test]
fn each_line_is_one() {
    for (args, last) in [
        (&["--json", "-p", "go", "--no-save"][..], "\"cost\""),
        (&["start", "--prompt", "go", "--permission-mode", "auto"], "message_stop"),
        (
            &["-p", "go", "--output-format", "stream-json", "--permission-mode", "bypassPermissions"],
            "\"type\":\"result\"",
        ),
    ] {
        let writes = writes(args, last);
        assert!(writes.len() > 5, "{args:?}: {writes:?}");
        for line in writes {
            let body = line.strip_suffix('\n').unwrap_or_else(|| panic!("{args:?}: half a line: {line:?}"));
            serde_json::from_str::<Value>(body).unwrap_or_else(|error| panic!("{args:?}: {error}: {line:?}"));
        }
    }
}
