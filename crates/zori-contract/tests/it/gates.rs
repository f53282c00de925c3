//! What stands between a call and its effects.

use serde_json::json;
use zori_testkit::pty::Size;

use crate::notes::{envelope_of, run, with_notes, world};

#[test]
fn nothing_is_destroyed_unasked() {
    let env = with_notes(&["a", "b"]);
    let output = env.run(&["rm", "a", "missing"]);
    assert_eq!(output.code(), Some(2));
    let error = envelope_of(&output)["error"].clone();
    assert_eq!(
        (&error["code"], &error["danger_level"], &error["would_affect"]),
        (
            &json!("CONFIRMATION_REQUIRED"),
            &json!("destructive"),
            &json!({"count": 1, "items": ["a"], "reversible": false})
        )
    );
    assert_eq!(run(&env, &["list"])["data"].as_array().unwrap().len(), 2);
}

#[test]
fn a_dry_run_says_and_does_not() {
    let env = with_notes(&["a"]);
    let shown = run(&env, &["rm", "a", "--dry-run"]);
    let affect = json!({"count": 1, "items": ["a"], "reversible": false});
    assert_eq!(shown["data"], json!({"effect": "noop", "would_delete": ["a"], "would_affect": affect}));
    assert_eq!(shown["meta"]["dry_run"], true);
    assert_eq!(run(&env, &["add", "b", "--title", "x", "--dry-run"])["data"]["would_create"], json!(["b"]));
    assert_eq!(run(&env, &["list"])["data"].as_array().unwrap().len(), 1);
}

#[test]
fn agreed_it_is_done() {
    let env = with_notes(&["a", "b"]);
    let done = run(&env, &["rm", "a", "missing", "--confirm-destructive"]);
    assert_eq!(
        done["data"],
        json!({
            "effect": "deleted",
            "summary": {"total": 2, "succeeded": 2, "failed": 0},
            "results": [
                {"id": "a", "ok": true, "effect": "deleted", "status": "removed"},
                {"id": "missing", "ok": true, "effect": "noop", "status": "not_found"},
            ],
        })
    );
    assert_eq!((&done["meta"]["confirmed"], &done["meta"]["dry_run"]), (&json!(true), &json!(false)));
    assert_eq!(run(&env, &["rm", "b", "-y"])["data"]["effect"], "deleted");
}

#[test]
fn some_that_fail_are_a_partial_failure() {
    let env = with_notes(&["a"]);
    // A folder where a note is expected cannot be removed as a file.
    std::fs::create_dir(env.home().join("notes/notes/dir.md")).unwrap();
    let output = env.run(&["rm", "a", "dir", "-y"]);
    assert_eq!(output.code(), Some(3));
    let envelope = envelope_of(&output);
    assert_eq!(envelope["data"]["summary"], json!({"total": 2, "succeeded": 1, "failed": 1}));
    assert_eq!((&envelope["data"]["partial"], &envelope["meta"]["partial"]), (&json!(true), &json!(true)));
}

#[test]
fn what_is_safe_by_default_needs_live() {
    let env = with_notes(&["a"]);
    let shown = run(&env, &["purge"]);
    assert_eq!((&shown["meta"]["dry_run"], &shown["data"]["would_delete"]), (&json!(true), &json!(["a"])));
    let done = run(&env, &["purge", "--live"]);
    assert_eq!((&done["meta"]["dry_run"], &done["data"]["effect"]), (&json!(false), &json!("deleted")));
    assert_eq!(run(&env, &["list"])["data"], json!([]));
}

#[test]
fn the_same_key_does_it_once() {
    let env = world();
    let call = ["add", "a", "--title", "x", "--idempotency-key", "k1"];
    let first = run(&env, &call);
    assert_eq!((&first["data"]["effect"], first["meta"].get("idempotency_hit")), (&json!("created"), None));
    let second = run(&env, &call);
    assert_eq!(
        (&second["data"]["effect"], &second["meta"]["idempotency_hit"]),
        (&json!("noop"), &json!(true))
    );
    assert_eq!(second["data"]["path"], first["data"]["path"]);
    let other = env.run(&["add", "a", "--title", "x", "--idempotency-key", "k2"]);
    assert_eq!(other.code(), Some(6), "another key is another call");
    assert_eq!(envelope_of(&other)["data"]["id"], "a", "the note that is there already");
}

#[test]
fn validation_alone_touches_nothing() {
    let env = world();
    let good = run(&env, &["add", "a", "--title", "x", "--validate-only"]);
    assert_eq!((&good["data"], &good["meta"]["validation_only"]), (&json!(null), &json!(true)));
    assert_eq!(env.run(&["add", "a;b", "--validate-only"]).code(), Some(2));
    assert!(!env.home().join("notes").exists());
}

/// At a terminal a question is asked; no answer is a no.
#[test]
fn a_person_is_asked() {
    let env = with_notes(&["a"]);
    for (answer, left) in [("n\n", 1), ("y\n", 0)] {
        let mut pty = env.pty(&["rm", "a"], Size::CLASSIC);
        pty.wait_for("Would delete 1, which cannot be undone: a. Go on? [y/N] ");
        pty.send(answer);
        pty.finish();
        assert_eq!(run(&env, &["list"])["data"].as_array().unwrap().len(), left, "{answer:?}");
    }
    let mut env = with_notes(&["a"]);
    env.set_var("CI", "true");
    let mut pty = env.pty(&["rm", "a"], Size::CLASSIC);
    pty.wait_for("CONFIRMATION_REQUIRED");
}
