//! The example in a world of its own, and its answers held against the schemas: ours, and the published ones where they are.

use std::path::Path;

use serde_json::{Value, json};
use zori_contract::envelope;
use zori_contract::path::AbsPath;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::schema::{assert_valid, published};

use crate::store::Store;

/// Returns a fresh world for the example.
pub fn world() -> TestEnv {
    // `target/<profile>/deps/it-1234` is us, `target/<profile>/examples/notes` the example.
    let us = std::env::current_exe().expect("a test has a file");
    let binary = us.parent().and_then(Path::parent).expect("it lies in `deps`").join("examples/notes");
    assert!(binary.exists(), "build the example first: cargo build -p zori-contract --examples");
    let mut env = TestEnv::new(binary);
    let home = env.home();
    env.remove_var("ZORI_HOME").set_var("NOTES_HOME", home.join("notes"));
    env
}

/// Returns a world with these notes.
pub fn with_notes(ids: &[&str]) -> TestEnv {
    let env = world();
    let folder = AbsPath::new(&env.home().join("notes/notes")).expect("a home is absolute");
    let store = Store::new(folder);
    for id in ids {
        store.write(id, format!("Title of {id}\n").as_bytes()).expect("a note can be written");
    }
    env
}

/// Returns the envelope of a run, with the paths of its world rewritten: the last line of stdout, valid by every schema, in
/// accord with the exit code.
#[track_caller]
pub fn envelope_of(output: &CommandOutput) -> Value {
    let envelope = exact_envelope(output);
    let ours = envelope::schema(&json!({"type": ["object", "array"]}));
    assert_valid(&ours, &envelope);
    if let Some(theirs) = published("response-envelope.json") {
        assert_valid(&theirs, &envelope);
    }
    assert_eq!(envelope["meta"]["exit_code"], json!(output.code()), "{output}");
    assert_eq!(envelope["ok"], json!(output.code() == Some(0)), "{output}");
    assert!(!output.stdout.iter().any(|byte| matches!(byte, b'\r' | 0x1b)), "{output}");
    let rewritten = output.stdout();
    serde_json::from_str(rewritten.lines().last().unwrap_or_default())
        .expect("paths are rewritten within strings")
}

/// Returns the envelope as it was printed.
#[track_caller]
pub fn exact_envelope(output: &CommandOutput) -> Value {
    let stdout = std::str::from_utf8(&output.stdout).expect("output is UTF-8");
    let line = stdout.lines().last().unwrap_or_else(|| panic!("no envelope:\n{output}"));
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}:\n{output}"))
}

/// Runs and returns the envelope.
#[track_caller]
pub fn run(env: &TestEnv, args: &[&str]) -> Value {
    envelope_of(&env.run(args))
}
