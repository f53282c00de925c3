//! What an embedder sees.

mod late_change;

use std::path::Path;
use std::process::Command;

/// Runs an example with nothing in its environment, and returns what it prints.
fn example(name: &str) -> String {
    // `target/<profile>/deps/it-1234` is us, `target/<profile>/examples/NAME` the example.
    let us = std::env::current_exe().expect("a process has a program");
    let example = us.parent().and_then(Path::parent).expect("it lies in `deps`").join("examples").join(name);
    assert!(example.exists(), "build the example first: cargo build -p zori-host --examples");
    let output =
        Command::new(example).env_clear().env("PATH", "/usr/bin:/bin").output().expect("the example starts");
    let shown = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("it prints text");
    assert!(output.status.success(), "{}", shown(&output.stderr));
    shown(&output.stdout)
}

/// The example is the first thing an embedder reads, so it has to work.
#[test]
fn a_tool_of_ones_own() {
    assert_eq!(example("hello"), "I roll it.\nIt is a 4.\n");
}

/// A renderer shows what happens, and a peer says what may run. Calls that run together end in any order.
#[test]
fn a_front_end_of_ones_own() {
    let shown = example("front_end");
    let mut lines: Vec<_> = shown.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["call 1: done", "call 2: not done", "model: Hello. I may not look at the clock."]);
}

/// Whatever answers is a model.
#[test]
fn a_provider_of_ones_own() {
    assert_eq!(example("provider"), "You said: Is anybody there?\n");
}
