//! Calls that are refused: all problems at once, before anything is touched, with a way out.

use serde_json::{Value, json};
use zori_testkit::env::TestEnv;

use crate::notes::{envelope_of, run, with_notes, world};

/// Returns argument and code of each problem.
fn codes(envelope: &Value) -> Vec<String> {
    let errors = envelope["error"]["errors"].as_array().map_or(&[][..], Vec::as_slice);
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    errors.iter().map(|error| format!("{} {}", text(&error["param"]), text(&error["code"]))).collect()
}

/// Runs a call that must be refused without a trace.
#[track_caller]
fn refused(env: &TestEnv, args: &[&str]) -> Value {
    let output = env.run(args);
    let envelope = envelope_of(&output);
    assert_eq!(output.code(), Some(2), "{output}");
    let error = &envelope["error"];
    assert_eq!((&error["phase"], &error["retryable"]), (&json!("validation"), &json!(false)));
    assert!(error["fix_required"].is_string(), "{error}");
    assert!(!env.home().join("notes").exists(), "something was touched");
    envelope
}

#[test]
fn every_problem_in_one_pass() {
    let env = world();
    let call = [
        "add",
        "../x",
        "extra",
        "--bogus",
        "5",
        "--title",
        &"x".repeat(201),
        "--output",
        "yaml",
        "--quiet=no",
        "--timeout",
    ];
    assert_eq!(
        codes(&refused(&env, &call)),
        [
            "ARGUMENT UNEXPECTED_ARGUMENT",
            "--bogus UNKNOWN_ARGUMENT",
            "--quiet UNEXPECTED_VALUE",
            "--timeout MISSING_VALUE",
            "--output INVALID_VALUE",
            "--title FIELD_TOO_LARGE",
            "ID INVALID_AGENT_INPUT",
        ]
    );
}

#[test]
fn the_words_of_a_refusal() {
    let env = world();
    assert_eq!(
        env.run(&["list", "--limit", "many", "--outptu", "json", "-o", "plain"]).to_string(),
        "------- stderr -------\n\
         Error: 2 arguments cannot be used: there is no option `--outptu`; `--limit` takes a whole number from 0, not `many`\n\
         Hint: did you mean `--output`?\n[exit status: 2]"
    );
    assert_eq!(
        env.run(&["show", "-o", "tsv"]).to_string(),
        "------- stderr -------\nError: `ID` is missing: the note\n[exit status: 2]"
    );
}

#[test]
fn made_up_input_is_refused_by_name() {
    let env = world();
    for (id, pattern) in [
        ("../../etc/passwd", "path_traversal"),
        ("a%2e%2e", "percent_encoding"),
        ("a?fields=x", "embedded_query"),
        ("a#b", "fragment"),
        ("a; rm -rf /", "shell_metacharacter"),
        ("a\nb", "control_char"),
        ("undefined", "literal_null"),
        ("<note-id>", "placeholder"),
    ] {
        let error = refused(&env, &["show", id])["error"].clone();
        assert_eq!(
            (&error["reason"], &error["rejected_pattern"]),
            (&json!("INVALID_AGENT_INPUT"), &json!(pattern))
        );
    }
    refused(&env, &["add", "a", "--input-file", "../../secret"]);
}

#[test]
fn rules_between_flags_are_held() {
    let error = refused(&world(), &["wait", "--deaf", "--temp"]);
    assert_eq!(codes(&error), ["--for MISSING_ARGUMENT", "--deaf CONFLICTING_ARGUMENTS"]);
    assert_eq!(error["error"]["missing_args"], json!(["--for"]));
}

#[test]
fn output_that_was_asked_for_twice() {
    let env = world();
    assert_eq!(
        codes(&refused(&env, &["list", "--output", "tsv", "--json"])),
        ["--output CONFLICTING_ARGUMENTS"]
    );
    assert_eq!(refused(&env, &["show", "a", "--stream"])["error"]["code"], "STREAMING_NOT_SUPPORTED");
    assert_eq!(
        codes(&refused(&env, &["list", "--limit", "1", "--limit", "2"])),
        ["--limit REPEATED_ARGUMENT"]
    );
}

#[test]
fn commands_that_do_not_exist() {
    let env = world();
    let error = refused(&env, &["lits", "--limit", "3"])["error"].clone();
    assert_eq!(
        (&error["code"], &error["suggestion"]),
        (&json!("UNKNOWN_COMMAND"), &json!("did you mean `list`?"))
    );
    assert_eq!(error["fix_command"], "notes manifest");
    let renamed = env.run(&["ls"]);
    assert_eq!(renamed.code(), Some(13));
    let wanted = json!({"command": "notes list", "permanent": true, "reason": "renamed"});
    assert_eq!(envelope_of(&renamed)["error"]["redirect"], wanted);
    assert_eq!(refused(&env, &["errors"])["error"]["suggestion"], "one of `notes errors list`");
}

#[test]
fn a_cursor_of_another_list() {
    let env = with_notes(&["a", "b"]);
    let cursor = run(&env, &["list", "--limit", "1"])["meta"]["cursor"].as_str().unwrap().to_owned();
    let error = |args: &[&str]| run(&env, args)["error"]["code"].clone();
    assert_eq!(error(&["list", "--cursor", &cursor, "--contains", "x"]), "INVALID_CURSOR");
    assert_eq!(error(&["list", "--cursor", "rubbish"]), "INVALID_CURSOR");
    assert_eq!(error(&["list", "--cursor", &cursor]), Value::Null);
}

#[test]
fn standard_input_has_a_bound_and_an_id() {
    let env = with_notes(&["a"]);
    let with = |args: &[&str], stdin: &[u8]| envelope_of(&env.run_with_stdin(args, stdin));
    assert_eq!(with(&["show", "-"], b"a\n")["data"]["id"], "a");
    assert_eq!(with(&["show", "-"], b"")["error"]["code"], "EMPTY_STDIN");
    let large = with(&["add", "b"], &vec![b'x'; 65_537]);
    assert_eq!(large["error"]["code"], "STDIN_TOO_LARGE");
    assert_eq!(large["error"]["context"], json!({"received_bytes": 65_537, "limit_bytes": 65_536}));
    assert_eq!(with(&["add", "b"], &vec![b'x'; 65_535])["ok"], true);
    let file = env.write("large.md", vec![b'x'; 100_000]);
    assert_eq!(run(&env, &["add", "c", "--input-file", file.to_str().unwrap()])["ok"], true);
}

#[test]
fn what_needs_a_person_fails_at_once() {
    let env = world();
    let output = env.run(&["chat"]);
    assert_eq!(
        (output.code(), envelope_of(&output)["error"]["code"].clone()),
        (Some(4), json!("REPL_MODE_PROHIBITED"))
    );
}

/// An option that another command has is not made up: its owner is named.
#[test]
fn an_option_of_another_command() {
    let error = run(&world(), &["list", "--title", "x"])["error"].clone();
    assert_eq!(error["message"], "`--title` is no option of this command.");
    assert_eq!(error["suggestion"], "it goes with `notes add`");
}

/// clap keeps only the nearest of two values, but two outputs contradict each other wherever they stand.
#[test]
fn outputs_on_both_sides_of_the_command() {
    let env = world();
    for args in [
        &["--output", "json", "list", "-o", "tsv"][..],
        &["-ojson", "list", "--output=tsv"],
        &["--format", "json", "list", "--format", "text"],
    ] {
        let output = env.run(args);
        assert_eq!(output.code(), Some(2), "{args:?}: {output}");
        assert!(output.stderr().contains("is there 2 times with different values"), "{output}");
    }
    assert_eq!(env.run(&["--output", "tsv", "list", "-o", "tsv"]).stdout(), "id\ttitle\n");
}
