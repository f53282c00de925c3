//! What a program may send that no person would: numbers without end, control bytes, two of everything, and calls at the same time.

use std::collections::BTreeMap;
use std::fs::{self, File, FileTimes};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde_json::{Value, json};
use zori_contract::exit::Danger;
use zori_contract::mode::Class;
use zori_testkit::env::TestEnv;
use zori_testkit::running::{Stdin, Stdout};

use super::schemas::valid;
use super::{bare, envelope, with_session};
use crate::sessions::put_session;

/// Runs a call that must be refused before anything happens, and returns what is wrong with it.
#[track_caller]
fn refused(world: &TestEnv, args: &[&str]) -> Vec<String> {
    let output = world.run(args);
    assert_eq!(output.code(), Some(2), "{args:?}:\n{output}");
    let error = valid(&output)["error"].clone();
    assert_eq!(error["phase"], "validation", "{args:?}");
    let issues = error["errors"].as_array().cloned().unwrap_or_default();
    issues.iter().map(|issue| issue["message"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn values_out_of_reach() {
    let world = with_session();
    let huge = "9".repeat(400);
    for (args, told) in [
        (&["sessions", "list", "--limit", "-1"][..], "`--limit` takes a whole number from 0, not `-1`"),
        (&["sessions", "list", "--limit", "1e3"], "`--limit` takes a whole number from 0, not `1e3`"),
        (
            &["sessions", "list", "--timeout", "-5s"],
            "`--timeout` takes `500ms`, `30s`, `5m`, `1h`, seconds, or 0 for none, not `-5s`",
        ),
        (&["sessions", "list", "--max-output", "1"], "`--max-output` takes a whole number from 256, not `1`"),
        (
            &["sessions", "list", "--output", "yaml"],
            "`--output` takes json, jsonl, tsv, plain, table or id, not `yaml`",
        ),
        (&["sessions", "show", "a\u{7}b"], "`ID` cannot be `a�b`: it has control characters"),
        (&["sessions", "show", "a\nb"], "`ID` cannot be `a b`: it has control characters"),
        (&["sessions", "show", ""], "`ID` takes what fits `^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$`, not ``"),
        (&["sessions", "list", "--cursor", ""], "`--cursor ` is not a cursor of this list"),
        (&["sessions", "list", "--schema-version", "2"], "`--schema-version` takes 1 or 1.0, not `2`"),
    ] {
        assert_eq!(refused(&world, args), [told], "{args:?}");
    }
    let told = refused(&world, &["sessions", "list", "--limit", &huge]);
    assert_eq!(told, [format!("`--limit` takes a whole number from 0, not `{huge}`")]);
}

/// DECISIONS 20: two outputs that differ contradict each other, wherever they stand.
#[test]
fn two_outputs_are_one_too_many() {
    let world = bare();
    for args in [
        &["--output", "plain", "config", "path", "--output", "json"][..],
        &["-o", "plain", "config", "path", "-ojson"],
        &["--format", "text", "config", "path", "--json"],
        &["--output=tsv", "config", "path", "--no-stream"],
    ] {
        assert_eq!(refused(&world, args).len(), 1, "{args:?}");
    }
    let same = world.run(&["--output", "json", "config", "path", "--output", "json", "--json"]);
    assert_eq!(same.code(), Some(0), "{same}");
}

/// O-014: there is one form so far, by either of its names.
#[test]
fn the_form_of_answers_can_be_asked_for() {
    let world = bare();
    for version in ["1", "1.0"] {
        let answer = valid(&world.run(&["config", "path", "--schema-version", version]).success());
        assert_eq!(answer["meta"]["schema_version"], "1.0");
    }
}

/// O-002, O-003, F-011: what is harmless is taken.
#[test]
fn values_at_the_edge() {
    let world = with_session();
    let run = |args: &[&str]| valid(&world.run(args).success());
    assert_eq!(run(&["sessions", "list", "--fields", "nothing,of,the,kind"])["data"], json!([{}]));
    assert_eq!(run(&["sessions", "list", "--limit", "0"])["meta"]["pagination"]["returned"], 1);
    assert_eq!(run(&["sessions", "list", "--limit", "9223372036854775807"])["data"][0]["id"], "s");
    assert_eq!(run(&["sessions", "list", "--timeout", "0"])["meta"]["timeout_ms"], 0);
    assert_eq!(run(&["sessions", "list", "--max-output", "9223372036854775807"])["data"][0]["id"], "s");
}

/// F-064: a long text is cut where it stands, and the hint gets all of it.
#[test]
fn a_field_that_is_too_long() {
    let world = bare();
    let text = "é".repeat(12_000);
    put_session(
        &world,
        "long",
        &format!(
            "{}\n{}\n",
            r#"{"type":"meta","schema_version":1}"#,
            json!({"type": "message", "role": "user", "text": text})
        ),
    );
    let answer = valid(&world.run(&["sessions", "show", "long"]).success());
    let event = &answer["data"]["events"][1];
    assert_eq!(event["text"], json!(format!("{}… [truncated]", "é".repeat(10_000))));
    assert_eq!((&event["_truncated"], &answer["meta"]["truncated"]), (&json!(true), &json!(true)));
    assert_eq!(
        answer["meta"]["warning_details"],
        json!([{"code": "FIELD_TRUNCATED", "message": "`events[1].text` was cut to 10000 of 12000 characters",
                "field": "events[1].text", "original_length": 12_000, "truncated_to": 10_000,
                "original_bytes": 24_000, "returned_bytes": 20_000}])
    );
    let hint = answer["meta"]["truncation_hint"].as_str().unwrap();
    assert_eq!(hint, "zori sessions show long --max-field 0");
    let words: Vec<_> = hint.split(' ').skip(1).collect();
    assert_eq!(valid(&world.run(&words).success())["data"]["events"][1]["text"], json!(text));
}

/// `--width` is for tables; nothing else is laid out.
#[test]
fn a_table_of_a_width() {
    let world = with_session();
    let table =
        world.run(&["errors", "list", "--output", "table", "--width", "30", "--limit", "3"]).success();
    assert!(table.stdout().lines().all(|line| line.chars().count() <= 30), "{table}");
    assert!(table.stdout().lines().any(|line| line.ends_with('…')), "{table}");
    let json = valid(&world.run(&["sessions", "list", "--width", "20"]).success());
    assert_eq!(json["data"][0]["id"], "s");
}

/// Everything below a folder: what it is, when it changed, what is in it.
fn tree(root: &Path) -> BTreeMap<PathBuf, (Option<SystemTime>, Vec<u8>)> {
    let mut all = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let facts = fs::symlink_metadata(entry.path()).expect("it was listed");
            if facts.is_dir() {
                folders.push(entry.path());
            }
            let content =
                if facts.is_file() { fs::read(entry.path()).expect("it is ours") } else { Vec::new() };
            all.insert(entry.path(), (facts.modified().ok().filter(|_| facts.is_file()), content));
        }
    }
    all
}

/// C-004: a preview looks and does not touch. The audit log has that somebody looked.
#[test]
fn a_dry_run_touches_nothing() {
    for command in zori::commands::COMMANDS.iter().filter(|command| command.preview.is_some()) {
        let world = with_session();
        world.write(world.tmp().join("zori-99999999-0/f"), "12345");
        world.write(world.base().join("idempotency/a.json"), "{}");
        world.write("old.yaml", "active_project: default\n");
        world.write(".zori/skills/x/SKILL.md", "---\nname: x\ndescription: y\n---\nz\n");
        let more: &[&str] = match command.path {
            ["sessions", "rm" | "fork" | "rewind"] => &["s"],
            ["undo"] => &["--session", "s"],
            ["generate-skills"] => &["--output-dir", "skills"],
            ["handoff"] => &["--goal", "x", "--out", "HANDOFF.md"],
            ["cleanup"] => &["--min-age", "0"],
            ["memory", "forget"] => &["1"],
            ["schedule", "add"] => &["a", "--at", "2999-01-01T00:00", "--prompt", "x"],
            ["schedule", "rm"] => &["a"],
            ["mcp", "add"] => &["a", "--url", "https://mcp.example"],
            ["mcp", "remove" | "login" | "logout"] => &["a"],
            ["mcp", "call"] => &["a", "b"],
            ["config", "import"] => &["old.yaml"],
            ["vault", "set" | "rm"] => &["A"],
            ["skills", "trust"] => &["x"],
            _ => &[],
        };
        let top = world.work().parent().unwrap().to_owned();
        let log = world.base().join("audit.jsonl");
        let before = tree(&top);
        let args = [command.path, more, &["--dry-run"]].concat();
        let output = world.run(&args);
        assert!(matches!(output.code(), Some(0 | 4)), "{args:?}:\n{output}");
        let mut after = tree(&top);
        after
            .retain(|path, _| *path != log && path.file_name().is_none_or(|name| name != "audit.jsonl.lock"));
        assert_eq!(after.keys().collect::<Vec<_>>(), before.keys().collect::<Vec<_>>(), "{args:?}");
        assert_eq!(after, before, "{args:?}");
    }
}

/// Everything that destroys has a preview, and is refused where nobody agrees.
#[test]
fn whatever_destroys_can_be_looked_at_first() {
    for command in zori::commands::COMMANDS.iter().filter(|command| command.danger == Danger::Destructive) {
        assert!(command.preview.is_some() && command.class == Class::Utility, "{}", command.name());
    }
}

/// C-007: two calls with one key at the same time are one call.
#[test]
fn one_key_twice_at_once() {
    let world = with_session();
    let start = || {
        let args = ["sessions", "fork", "s", "--idempotency-key", "k"];
        world.start(world.cmd(&args), Stdin::Null, Stdout::Captured)
    };
    let answers: Vec<Value> =
        [start(), start(), start()].into_iter().map(|run| envelope(&run.finish().success())).collect();
    let mut effects: Vec<_> = answers.iter().map(|answer| answer["data"]["effect"].clone()).collect();
    effects.sort_by_key(ToString::to_string);
    assert_eq!(effects, ["created", "noop", "noop"]);
    assert_eq!(world.session_files().len(), 2);
    // The same key for something else is something else.
    let other =
        envelope(&world.run(&["sessions", "fork", "s", "--name", "t", "--idempotency-key", "k"]).success());
    assert_eq!((&other["data"]["effect"], world.session_files().len()), (&json!("created"), 3));
}

/// F-033: who waits in vain is told who holds it.
#[test]
fn a_lock_of_somebody_else() {
    let world = with_session();
    let waits = ["sessions", "fork", "s", "--idempotency-key", "k"];
    world.run(&waits).success();
    let folder = world.base().join("idempotency");
    let files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    let (locks, answers): (Vec<_>, Vec<_>) = files.into_iter().partition(|path| path.extension().is_none());
    answers.iter().for_each(|path| fs::remove_file(path).unwrap());
    let path = world.write(&locks[0], format!("{} 0", std::process::id()));
    let held = File::options().write(true).open(&path).unwrap();
    held.try_lock().unwrap();
    // Its own time is over first: the lock is waited for ten seconds.
    let output = world.run(&[&waits[..], &["--timeout", "300ms"]].concat());
    assert_eq!((output.code(), envelope(&output)["error"]["code"].as_str()), (Some(10), Some("TIMEOUT")));
    let output = world.run(&waits);
    let error = valid(&output)["error"].clone();
    assert_eq!(
        (output.code(), &error["code"], &error["retryable"]),
        (Some(4), &json!("LOCK_HELD"), &json!(true))
    );
    assert_eq!(
        (&error["context"]["lock_file"], &error["context"]["holder_pid"]),
        (&json!(path), &json!(std::process::id()))
    );
    drop(held);
    world.run(&waits).success();
    assert_eq!(world.session_files().len(), 3, "what could not begin has left nothing");
}

/// F-033: a session that is in use is told at once, with who uses it.
#[test]
fn a_session_in_use() {
    let mut world = with_session();
    world.set_var("ANTHROPIC_API_KEY", "x").set_var("ANTHROPIC_BASE_URL", "http://127.0.0.1:1");
    let path = world.write(world.base().join("sessions/s.lock"), std::process::id().to_string());
    let held = File::options().write(true).open(&path).unwrap();
    held.try_lock().unwrap();
    let output = world.run(&["exec", "-p", "hi", "--session", "s", "--output", "json"]);
    let error = valid(&output)["error"].clone();
    assert_eq!((output.code(), &error["code"]), (Some(4), &json!("LOCK_HELD")));
    assert_eq!(error["context"], json!({"lock_file": path, "holder_pid": std::process::id()}));
    assert_eq!((&error["retryable"], &error["retry_after_ms"]), (&json!(true), &json!(1_000)));
}

/// O-027: logs that were put aside are kept for thirty days; the one in use stays.
#[test]
fn old_logs_are_removed() {
    let world = bare();
    let aged = |name: &str, days: u64| {
        let path = world.write(world.base().join(name), "12345");
        let then = SystemTime::now() - Duration::from_secs(days * 24 * 60 * 60);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_times(FileTimes::new().set_modified(then))
            .unwrap();
        path
    };
    let old = [aged("audit.jsonl.2", 40), aged("projects/p/audit.jsonl.1", 31)];
    let young = [aged("audit.jsonl.1", 29), aged("audit.jsonl.x", 90), aged("projects/p/notes.1", 90)];
    let dry = envelope(&world.run(&["cleanup", "--scope", "logs", "--dry-run"]).success());
    assert_eq!(dry["data"]["would_delete"], json!(old));
    let done = envelope(&world.run(&["cleanup", "--scope", "logs", "--min-age", "0", "--yes"]).success());
    let gone: Vec<_> =
        done["data"]["cleaned"].as_array().unwrap().iter().map(|one| one["path"].clone()).collect();
    assert_eq!(json!(gone), json!(old));
    assert!(young.iter().all(|path| path.exists()) && old.iter().all(|path| !path.exists()));
}

/// F-061, O-040: a link that leads to itself, one that leads elsewhere, and folders nested too deeply.
#[test]
fn a_cleanup_that_meets_links() {
    let world = bare();
    fs::create_dir_all(world.base()).unwrap();
    let answers = world.base().join("idempotency");
    symlink("idempotency", &answers).unwrap();
    let output = world.run(&["cleanup", "--yes", "--min-age", "0"]);
    let error = valid(&output)["error"].clone();
    assert_eq!(
        (output.code(), &error["code"], &error["path"]),
        (Some(4), &json!("SYMLINK_LOOP"), &json!(answers))
    );
    let left = valid(&world.run(&["cleanup", "--yes", "--min-age", "0", "--no-follow-symlinks"]).success());
    assert_eq!(left["data"]["effect"], "noop");
    fs::remove_file(&answers).unwrap();
    // What lies behind a link in a leftover stays; the leftover goes.
    let kept = world.write("kept/file", "12345");
    let dead = world.tmp().join("zori-99999999-0");
    fs::create_dir_all(dead.join("a/b")).unwrap();
    symlink(world.work().join("kept"), dead.join("a/link")).unwrap();
    symlink("..", dead.join("a/b/up")).unwrap();
    let deep = world.run(&["cleanup", "--yes", "--min-age", "0", "--max-depth", "1"]);
    assert_eq!((deep.code(), valid(&deep)["error"]["code"].as_str()), (Some(4), Some("DEPTH_EXCEEDED")));
    assert!(dead.exists(), "nothing goes before everything was looked at");
    let done = valid(&world.run(&["cleanup", "--yes", "--min-age", "0"]).success());
    assert_eq!(done["data"]["cleaned"][0]["path"], json!(dead));
    assert!(!dead.exists() && kept.exists());
}

/// F-061: the tools and commands that look below a folder come to an end where links lead back.
#[test]
fn walks_of_tools_end() {
    use zori_testkit::anthropic;
    let calls = [
        anthropic::tool_use("t1", "glob", json!({"pattern": "**/*"})),
        anthropic::tool_use("t2", "grep", json!({"pattern": "needle"})),
        anthropic::tool_use("t3", "ls", json!({"path": "."})),
        anthropic::text("Done."),
    ];
    let (world, model) = crate::world::with_model(calls);
    world.write("a/file", "needle\n");
    symlink("..", world.work().join("a/up")).unwrap();
    symlink("self", world.work().join("self")).unwrap();
    world.run(&["exec", "-p", "go", "--timeout", "60s"]).success();
    let told = model.request(3).conversation();
    let results: Vec<_> = told.lines().filter(|line| line.starts_with("user: tool_result")).collect();
    assert_eq!(results.len(), 3, "{told}");
    assert!(
        results
            .iter()
            .all(|result| !result.contains("error ") && result.contains("a/") || result.contains("self")),
        "{told}"
    );
    assert!(!told.contains("up/a"), "no link is followed: {told}");
}
