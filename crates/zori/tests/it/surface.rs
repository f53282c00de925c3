//! The command surface as programs see it: stdin closed, no terminal, JSON. Text is what the other tests compare.

mod batch;
mod callers;
mod children;
mod doctor;
mod documents;
mod edges;
mod exit_walk;
mod failures;
mod flag_walk;
mod handoff;
mod network;
mod row_walk;
mod schemas;
mod working;

use serde_json::{Value, json};
use zori_contract::invariants;
use zori_contract::mode::Class;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::reply::Reply;

use crate::sessions::put_session;

/// A world in which nothing says what to print.
pub fn bare() -> TestEnv {
    let mut world = crate::world::world();
    world.remove_var("ZORI_OUTPUT");
    world
}

/// A world with a session `s`, in which something was said and done.
pub fn with_session() -> TestEnv {
    let world = bare();
    put_session(
        &world,
        "s",
        concat!(
            r#"{"type":"meta","schema_version":1,"ts":"2026-01-31T12:00:00Z","root":"/w"}"#,
            "\n",
            r#"{"type":"message","role":"user","text":"Fix <b>the parser</b> & tell me","ts":"2026-01-31T12:00:01Z"}"#,
            "\n",
            r#"{"type":"message","role":"assistant","text":"Looking.\n- [ ] write tests\n- [x] read it"}"#,
            "\n",
            r#"{"type":"tool_use","id":"1","name":"read","input":{"path":"src/parser.rs"}}"#,
            "\n",
            r#"{"type":"tool_result","tool_use_id":"1","output":{"ok":true,"data":{}},"ok":true}"#,
            "\n",
            r#"{"type":"tool_use","id":"2","name":"bash","input":{"command":"cargo test"}}"#,
            "\n",
            r#"{"type":"tool_result","tool_use_id":"2","output":{"ok":true,"data":{"exit_code":0}},"ok":true}"#,
            "\n",
            r#"{"type":"message","role":"user","text":"And now the lexer"}"#,
            "\n",
        ),
    );
    world
}

/// Returns the one envelope a run printed.
#[track_caller]
pub fn envelope(output: &CommandOutput) -> Value {
    let text = String::from_utf8(output.stdout.clone()).expect("JSON is UTF-8");
    assert!(text.ends_with('\n') && text.lines().count() == 1, "one line:\n{output}");
    assert!(!text.contains(['\u{1b}', '\r']), "{output}");
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}:\n{output}"))
}

#[test]
fn the_tables_hold_together() {
    assert_eq!(invariants::check(&zori::program::ZORI), Vec::<String>::new());
}

/// DECISIONS 5.
#[test]
fn a_utility_command_prints_an_envelope_on_a_pipe_and_text_when_asked() {
    let world = bare();
    let answer = envelope(&world.run(&["config", "path"]).success());
    let path = world.base().join("config.toml");
    assert_eq!(answer["data"], json!({"path": path}));
    assert_eq!((&answer["ok"], &answer["error"]), (&json!(true), &Value::Null));
    for args in [&["config", "path", "-o", "plain"][..], &["--format", "text", "config", "path"]] {
        assert_eq!(world.run(args).to_string(), "$BASE/config.toml\n[exit status: 0]");
    }
    // The profile of another program prints text unless asked.
    assert_eq!(world.run(&["--as", "zdx", "config", "path"]).stdout(), "$HOME/.config/zdx/config.toml\n");
    envelope(&world.run(&["--as", "zdx", "config", "path", "--json"]).success());
}

#[test]
fn a_config_file_can_say_what_to_print() {
    let world = bare();
    world.write(world.base().join("config.toml"), "output = \"plain\"\n");
    assert_eq!(world.run(&["config", "path"]).stdout(), "$BASE/config.toml\n");
    envelope(&world.run(&["config", "path", "-o", "json"]).success());
}

/// F-015: everything that is wrong, before anything is done.
#[test]
fn every_problem_in_one_pass() {
    let world = bare();
    let output = world.run(&["sessions", "list", "--limit", "x", "--fields", "", "--nope"]);
    let error = envelope(&output)["error"].clone();
    assert_eq!((output.code(), &error["phase"]), (Some(2), &json!("validation")));
    let params: Vec<_> =
        error["errors"].as_array().unwrap().iter().map(|issue| issue["param"].clone()).collect();
    assert_eq!(params, ["--nope", "--fields", "--limit"]);
    assert!(!world.base().exists());
}

/// F-045: what models make up is refused by name.
#[test]
fn made_up_ids_are_refused() {
    let world = bare();
    for (id, pattern) in [
        ("../x", "path_traversal"),
        ("a%2fb", "percent_encoding"),
        ("a;b", "shell_metacharacter"),
        ("null", "literal_null"),
    ] {
        let output = world.run(&["sessions", "show", id]);
        assert_eq!(output.code(), Some(2), "{output}");
        assert_eq!(envelope(&output)["error"]["rejected_pattern"], pattern, "{output}");
    }
}

/// C-005, F-009, F-047: with stdin closed and no terminal no command waits, asks, pages or colours; what is not an answer
/// goes to standard error.
#[test]
fn no_command_waits_for_anybody() {
    for command in zori::commands::COMMANDS {
        let mut args = command.path.to_vec();
        args.extend(match command.path {
            ["sessions", "show" | "fork"] | ["sessions", "rm"] => &["s"][..],
            ["sessions", "search"] => &["parser"],
            ["models", "show"] => &["claude-haiku-4-5"],
            ["completions"] => &["bash"],
            ["policy", "explain"] => &["ls"],
            ["policy", "test"] => &["missing.json"],
            ["policy", "check"] => &["--policy", "missing.json"],
            ["handoff"] => &["--goal", "x"],
            ["generate-skills"] => &["--output-dir", "skills"],
            _ => &[],
        });
        let world = with_session();
        let output = world.run(&args);
        let code = output.code().unwrap_or_else(|| panic!("{args:?} was killed:\n{output}"));
        let known = command.exit_map().iter().any(|exit| i32::from(exit.code()) == code);
        assert!(known, "{args:?} ended with {code}:\n{output}");
        let stdout = output.stdout();
        assert!(!stdout.contains('\u{1b}'), "{args:?}:\n{output}");
        match command.class {
            Class::Utility | Class::Interactive => drop(envelope(&output)),
            Class::Document if code != 0 => drop(envelope(&output)),
            Class::Agent | Class::Document | Class::Protocol => {}
        }
    }
}

/// DECISIONS 26.
#[test]
fn nothing_is_destroyed_unasked() {
    let world = with_session();
    let output = world.run(&["sessions", "rm", "s"]);
    let error = envelope(&output)["error"].clone();
    assert_eq!((output.code(), &error["code"]), (Some(2), &json!("CONFIRMATION_REQUIRED")));
    assert_eq!(error["would_affect"], json!({"count": 1, "items": ["s"], "reversible": false}));
    let preview = envelope(&world.run(&["sessions", "rm", "s", "nobody", "--dry-run"]).success());
    assert_eq!(preview["data"]["would_delete"], json!(["s"]));
    assert_eq!(world.session_files().len(), 1);
    let removed = envelope(&world.run(&["sessions", "rm", "s", "nobody", "--yes"]).success())["data"].clone();
    assert_eq!(removed["summary"], json!({"total": 2, "succeeded": 2, "failed": 0}));
    let status: Vec<_> = removed["results"].as_array().unwrap().iter().map(|r| r["status"].clone()).collect();
    assert_eq!(status, ["removed", "not_found"]);
    assert_eq!(world.session_files().len(), 0);
}

/// C-007.
#[test]
fn the_same_key_does_it_once() {
    let world = with_session();
    let fork = || envelope(&world.run(&["sessions", "fork", "s", "--idempotency-key", "k"]).success());
    let (first, second) = (fork(), fork());
    assert_eq!((&first["data"]["effect"], &second["data"]["effect"]), (&json!("created"), &json!("noop")));
    assert_eq!(first["data"]["id"], second["data"]["id"]);
    assert_eq!(second["meta"]["idempotency_hit"], true);
    assert_eq!(world.session_files().len(), 2);
}

/// F-069, F-013, F-014.
#[test]
fn a_reader_that_is_gone_is_no_failure() {
    let world = with_session();
    let script = "\"$0\" \"$@\" | true; exec true";
    let shell = crate::world::in_shell(&world, script, &["manifest"]);
    let run = world.start(shell, zori_testkit::running::Stdin::Null, zori_testkit::running::Stdout::Captured);
    assert_eq!(run.finish().to_string(), "[exit status: 0]");
}

/// O-041.
#[test]
fn the_manifest_is_small_enough_to_be_asked_for_often() {
    let world = bare();
    let etag = envelope(&world.run(&["manifest"]).success())["data"]["etag"].as_str().unwrap().to_owned();
    let again = envelope(&world.run(&["manifest", "--etag", &etag]).success());
    assert_eq!((&again["data"], &again["meta"]["not_modified"]), (&Value::Null, &json!(true)));
}

/// F-048, F-068.
#[test]
fn help_on_a_pipe_is_for_programs_too() {
    let world = bare();
    let help = world.run(&["sessions", "list", "--help"]).success();
    assert!(help.stderr().starts_with("List saved sessions, newest first\n"), "{help}");
    let answer = envelope(&help);
    assert_eq!(
        (&answer["data"], &answer["meta"]["help"], &answer["meta"]["schema_ref"]),
        (&Value::Null, &json!(true), &json!("zori sessions list --schema"))
    );
    let bare = envelope(&world.run(&[]).success());
    let names: Vec<_> =
        bare["data"]["commands"].as_array().unwrap().iter().map(|c| c["name"].clone()).collect();
    assert_eq!(names.len(), zori::commands::COMMANDS.len());
}

/// O-016, O-024.
#[test]
fn settings_from_elsewhere_or_none() {
    let world = bare();
    let own = world.write(world.base().join("config.toml"), "output = \"plain\"\n");
    let other = world.write("other.toml", "output = \"tsv\"\n");
    assert_eq!(world.run(&["config", "path"]).stdout(), "$BASE/config.toml\n");
    assert_eq!(world.run(&["config", "path", "--config", "other.toml"]).stdout(), "path\n$WORK/other.toml\n");
    let sources = |args: &[&str]| envelope(&world.run(args).success())["meta"]["config_sources"].clone();
    assert_eq!(sources(&["sessions", "list", "-o", "json"]), json!([own]));
    assert_eq!(sources(&["sessions", "list", "-o", "json", "--config", "other.toml"]), json!([other]));
    assert_eq!(sources(&["sessions", "list", "--no-config"]), json!([]));
    let refused = |args: &[&str]| {
        let output = world.run(args);
        (output.code(), output.stderr())
    };
    assert_eq!(
        refused(&["sessions", "list", "--config", "missing.toml"]),
        (Some(2), "Error: `--config` takes a file, and `missing.toml` is none\n".to_owned())
    );
    assert_eq!(
        refused(&["sessions", "list", "--config", "other.toml", "--no-config"]),
        (Some(2), "Error: `--config` and `--no-config` do not go together\n".to_owned())
    );
}

/// O-012: on standard error, and only when asked for.
#[test]
fn a_heart_that_beats() {
    let (world, _model) = crate::world::with_model([Reply::stall(), Reply::stall()]);
    let run =
        |more: &[&str]| world.run(&[&["exec", "--timeout", "2500ms", "-p", "hi"], more].concat()).stderr();
    let said = run(&["--heartbeat-interval", "1"]);
    assert!(said.starts_with("[1s] still at work\n"), "{said}");
    assert_eq!(run(&[]), "Error: The time for this command is over (`--timeout`)\n");
}

/// O-008: `--quiet` leaves nothing on standard error, of an agent command neither.
#[test]
fn quiet_is_quiet() {
    let (world, _model) =
        crate::world::with_model([anthropic::http_error(400, "invalid_request_error", "no")]);
    let output = world.run(&["exec", "-q", "-p", "hi"]);
    assert_eq!((output.stderr().as_str(), output.code()), ("", Some(1)));
    assert_eq!(world.run(&["sessions", "show", "nobody", "-q"]).to_string(), "[exit status: 5]");
}

/// O-027: only folders of runs that are gone, and only old ones.
#[test]
fn what_dead_runs_left_is_removed() {
    let world = bare();
    let left = |name: &str| world.write(world.tmp().join(name).join("f"), "12345");
    // No process has that number: the kernel's largest is 4194304.
    let (dead, _other) = (left("zori-99999999-0"), left("other-99999999-0"));
    let _alive = left(&format!("zori-{}-0", std::process::id()));
    let dry = envelope(&world.run(&["cleanup", "--min-age", "0", "--dry-run"]).success());
    assert_eq!(dry["data"]["would_delete"], json!([dead.parent()]));
    assert_eq!(
        envelope(&world.run(&["cleanup", "--yes"]).success())["data"]["effect"],
        "noop",
        "it is not an hour old"
    );
    let done = envelope(&world.run(&["cleanup", "--min-age", "0", "--yes"]).success())["data"].clone();
    assert_eq!(done["cleaned"], json!([{"path": dead.parent(), "type": "temp", "bytes_freed": 5}]));
    assert_eq!(std::fs::read_dir(world.tmp()).unwrap().count(), 2);
}

/// F-010, F-046, F-050, F-025: what a model's commands find in their environment.
#[test]
fn children_page_colour_and_edit_nothing() {
    let script = "echo $PAGER $GIT_PAGER $MANPAGER $NO_COLOR $GIT_TERMINAL_PROMPT $EDITOR $NO_UPDATE_NOTIFIER $TOOL_TRACE_ID > env";
    let (mut world, _model) = crate::world::with_model([
        anthropic::tool_use("t1", "bash", json!({"command": script})),
        anthropic::text("Done."),
    ]);
    world.set_var("ZORI_TRACE_ID", "trace-1");
    world.run(&["exec", "-p", "go"]).success();
    assert_eq!(world.read("env"), "cat cat cat 1 0 true 1 trace-1\n");
}

/// O-015: flag over environment over file over default.
#[test]
fn settings_and_where_they_come_from() {
    let mut world = bare();
    let file = world.write(world.base().join("config.toml"), "model = \"a\"\nretries = 2\n");
    world.set_var("OPENAI_BASE_URL", "http://127.0.0.1:1");
    let data = envelope(&world.run(&["config", "show", "--model", "b"]).success())["data"].clone();
    let of = |key: &str| (data["effective_config"][key].clone(), data["sources"][key].clone());
    assert_eq!(of("model"), (json!("b"), json!("flag")));
    assert_eq!(of("retries"), (json!(2), json!(format!("file:{}", file.display()))));
    assert_eq!(of("openai_base_url"), (json!("http://127.0.0.1:1"), json!("env:OPENAI_BASE_URL")));
    assert_eq!(of("provider"), (Value::Null, json!("default")));
}
