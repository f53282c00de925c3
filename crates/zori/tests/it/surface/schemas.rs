//! Every command's real answer, for success and for each failure it declares as its own, against the schema it declares.
//! The validator is not ours. Where the published schemas lie beside the project they are held, too.

use serde_json::{Value, json};
use zori_contract::envelope;
use zori_contract::manifest;
use zori_contract::mode::Class;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::schema::{assert_valid, published};

use super::{bare, envelope as read, with_session};

/// Runs a command and holds what it prints against all that is promised.
#[track_caller]
pub fn check(world: &TestEnv, args: &[&str], code: i32) -> Value {
    let command = zori::commands::COMMANDS
        .iter()
        .find(|command| args.starts_with(command.path))
        .unwrap_or_else(|| panic!("{args:?} is no command"));
    let args = match command.class {
        Class::Utility => args.to_vec(),
        _ => [args, &["--output", "json"]].concat(),
    };
    let output = world.run(&args);
    assert_eq!(output.code(), Some(code), "{args:?}:\n{output}");
    let answer = valid(&output);
    if code == 0 && !answer["data"].is_null() {
        assert_valid(&manifest::output_schema(command), &answer["data"]);
    }
    answer
}

/// Returns the envelope a run printed, which keeps to our schema and to the published one.
#[track_caller]
pub fn valid(output: &CommandOutput) -> Value {
    let answer = read(output);
    assert_valid(&envelope::schema(&json!(true)), &answer);
    if let Some(schema) = published("response-envelope.json") {
        assert_valid(&schema, &answer);
    }
    answer
}

#[test]
fn what_works() {
    let world = with_session();
    for args in [
        &["sessions", "list"][..],
        &["sessions", "show", "s"],
        &["sessions", "search", "parser"],
        &["sessions", "export", "s", "--to", "html"],
        &["sessions", "export", "--to", "json"],
        &["sessions", "fork", "s", "--name", "t"],
        &["sessions", "rm", "t", "--yes"],
        &["handoff", "--goal", "Go on"],
        &["handoff", "--goal", "Go on", "--out", "HANDOFF.md"],
        &["models", "list"],
        &["models", "show", "claude-haiku-4-5"],
        &["auth", "status"],
        &["config", "path"],
        &["config", "show"],
        &["config", "init"],
        &["policy", "explain", "ls"],
        &["audit-log"],
        &["audit-log", "--verify"],
        &["errors", "list", "--limit", "0"],
        &["completions", "fish"],
        &["man"],
        &["status"],
        &["changelog"],
        &["changelog", "--since", "99.0.0"],
        &["check-permissions"],
        &["check-permissions", "--for", "sessions list"],
        &["cleanup", "--dry-run"],
        &["cleanup", "--yes"],
        &["generate-skills", "--output-dir", "skills"],
        &["mcp", "validate", "--provider", "anthropic"],
    ] {
        check(&world, args, 0);
    }
}

#[test]
fn what_fails() {
    let world = with_session();
    world.run(&["config", "init"]).success();
    for (args, exit, wanted) in [
        (&["sessions", "show", "nobody"][..], 5, "SESSION_NOT_FOUND"),
        (&["sessions", "fork", "nobody"], 5, "SESSION_NOT_FOUND"),
        (&["sessions", "fork", "s", "--name", "s"], 6, "ALREADY_EXISTS"),
        (&["sessions", "rm", "s"], 2, "CONFIRMATION_REQUIRED"),
        (&["sessions", "export", "nobody"], 5, "SESSION_NOT_FOUND"),
        (&["handoff"], 2, "VALIDATION_ERROR"),
        (&["handoff", "--goal", "x", "--from-session", "nobody"], 5, "SESSION_NOT_FOUND"),
        (&["check-permissions", "--for", "nothing"], 2, "VALIDATION_ERROR"),
        (&["batch"], 4, "STDIN_REQUIRED"),
        (&["models", "show", "nothing"], 5, "MODEL_NOT_FOUND"),
        (&["models", "list", "--provider", "nobody"], 2, "SETTING_INVALID"),
        (&["config", "init"], 6, "ALREADY_EXISTS"),
        (&["policy", "test", "missing.json"], 2, "VALIDATION_ERROR"),
        (&["policy", "explain"], 2, "VALIDATION_ERROR"),
        (&["audit-log", "--verify", "--limit", "3"], 2, "VALIDATION_ERROR"),
        (&["sessions", "list", "--cursor", "rubbish"], 2, "INVALID_CURSOR"),
        (&["completions", "tcsh"], 2, "VALIDATION_ERROR"),
        (&["auth", "logout"], 4, "CREDENTIAL_STORE_UNAVAILABLE"),
    ] {
        assert_eq!(check(&world, args, exit)["error"]["code"], wanted, "{args:?}");
    }
}

/// The manifest keeps to the published schema, and lists every command.
#[test]
fn the_manifest() {
    let manifest = check(&bare(), &["manifest"], 0)["data"].clone();
    if let Some(schema) = published("manifest-response.json") {
        assert_valid(&schema, &manifest);
    }
    let names: Vec<_> = manifest["commands"].as_object().unwrap().keys().cloned().collect();
    let mut wanted: Vec<_> = zori::commands::COMMANDS.iter().map(|command| command.path.join(".")).collect();
    wanted.sort();
    assert_eq!(names, wanted);
}

/// DECISIONS 4: one envelope when the turn is over, also when it fails.
#[test]
fn a_turn_in_an_envelope() {
    let (mut world, _model) = crate::world::with_model([
        zori_testkit::anthropic::text("Look.").tool_use("t1", "bash", json!({"command": "true"})).reply(),
        zori_testkit::anthropic::text("Done.").reply(),
        zori_testkit::anthropic::http_error(400, "invalid_request_error", "no"),
    ]);
    world.remove_var("ZORI_OUTPUT");
    let answer = check(&world, &["exec", "-p", "hi"], 0);
    let mut data = answer["data"].clone();
    data["session_id"] = json!("$SESSION");
    assert_eq!(
        data,
        json!({"session_id": "$SESSION", "result": "Done.", "effect": "updated", "num_turns": 2, "completed_steps": ["bash"],
               "usage": {"input_tokens": 20, "output_tokens": 10, "cache_read_tokens": 0, "cache_write_tokens": 0},
               "cost_usd": data["cost_usd"], "_source": "external", "_trusted": false})
    );
    let failed = check(&world, &["exec", "-p", "hi"], 1);
    assert_eq!(failed["error"]["code"], "PROVIDER_FAILED");
    assert_eq!(failed["data"]["session_id"], failed["error"]["resume_token"]);
}

/// C-011, C-018, C-019, C-024, C-025, C-029.
#[test]
fn what_commands_declare() {
    let declared = |path: &[&str], name: &str| {
        check(&bare(), &["manifest"], 0)["data"]["commands"][path.join(".")]["output_schema"]["x-cli"][name]
            .clone()
    };
    assert_eq!(declared(&["exec"], "subprocess")["binary"], "bash");
    assert_eq!(declared(&["exec"], "filesystem_side_effects")[0]["path"], "$ZORI_HOME/sessions");
    assert_eq!(declared(&["config", "init"], "config_write_scope"), "global");
    assert_eq!(declared(&["auth", "login"], "headless_behavior"), "emit_in_output");
    assert_eq!(declared(&["doctor"], "required_tools"), json!({"bash": "*"}));
    for command in zori::commands::COMMANDS {
        let schema = manifest::schema(&zori::program::ZORI, command);
        assert_eq!(schema["required_scopes"], json!([]), "{}", command.name());
    }
}
