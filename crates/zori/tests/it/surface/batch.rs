//! Many calls in one process, and calls whose arguments are one JSON object.

use serde_json::{Value, json};
use zori_contract::envelope;
use zori_testkit::output::CommandOutput;
use zori_testkit::schema::assert_valid;

use super::{bare, envelope as read, with_session};

/// Returns what the lines of a batch answered.
fn answers(output: &CommandOutput) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).expect("answers are UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

/// O-050: many calls in one process, each with its envelope.
#[test]
fn a_batch_answers_line_by_line() {
    let world = with_session();
    let lines = "{\"_cmd\":\"config.path\"}\nnonsense\n{\"_cmd\":\"sessions.show\",\"id\":\"s\"}\n\
                 {\"_cmd\":\"exec\",\"prompt\":\"hi\"}\n{\"_cmd\":\"sessions.list\",\"_opts\":{\"limit\":0}}\n";
    let output = world.run_with_stdin(&["batch", "--ignore-errors"], lines);
    assert_eq!(output.code(), Some(3), "{output}");
    let answers = answers(&output);
    let facts = answers.iter().map(|answer| {
        (answer["meta"]["_line"].clone(), answer["ok"].clone(), answer["error"]["code"].clone())
    });
    let ok = |line: u32| (json!(line), json!(true), Value::Null);
    let failed = |line: Value, code: &str| (line, json!(false), json!(code));
    assert_eq!(
        facts.collect::<Vec<_>>(),
        [
            ok(1),
            failed(json!(2), "DISPATCH_PARSE_ERROR"),
            ok(3),
            failed(json!(4), "DISPATCH_REFUSED"),
            ok(5),
            failed(Value::Null, "PARTIAL_FAILURE")
        ]
    );
    for answer in &answers {
        assert_valid(&envelope::schema(&json!(true)), answer);
    }
}

/// O-010: a batch that failed says with which line to go on.
#[test]
fn a_batch_goes_on_where_it_failed() {
    let world = with_session();
    let lines = "{\"_cmd\":\"config.path\"}\n\n{\"_cmd\":\"sessions.fork\",\"id\":\"s\",\"name\":\"s\"}\n{\"_cmd\":\"status\"}\n";
    let failed = answers(&world.run_with_stdin(&["batch"], lines));
    let last = failed.last().unwrap();
    assert_eq!((failed.len(), &last["data"]["resume_from"]), (3, &json!(3)));
    assert_eq!(last["data"]["summary"], json!({"total": 2, "succeeded": 1, "failed": 1}));
    let mended = lines.replace("\"name\":\"s\"", "\"name\":\"t\"");
    let output = world.run_with_stdin(&["batch", "--resume-from", "3"], mended).success();
    let done: Vec<_> = answers(&output).iter().map(|answer| answer["meta"]["_line"].clone()).collect();
    assert_eq!(done, [3, 4]);
    let beyond = world.run_with_stdin(&["batch", "--resume-from", "9"], lines);
    assert_eq!(
        (beyond.code(), beyond.stderr().as_str()),
        (Some(2), "Error: `--resume-from 9` is behind the last line, which is 4\n")
    );
}

/// Nothing is done: what would be changed is said, and the rest is only looked at.
#[test]
fn a_batch_that_is_only_shown() {
    let world = with_session();
    let lines = "{\"_cmd\":\"sessions.rm\",\"id\":[\"s\",\"t\"]}\n{\"_cmd\":\"config.init\"}\n{\"_cmd\":\"status\"}\n";
    let shown = answers(&world.run_with_stdin(&["batch", "--dry-run"], lines).success());
    assert_eq!(shown[0]["data"]["would_delete"], json!(["s"]));
    assert_eq!(shown[2]["meta"]["validation_only"], true);
    assert_eq!((world.session_files().len(), world.base().join("config.toml").exists()), (1, false));
}

/// O-032: the arguments as an object, checked like typed ones.
#[test]
fn arguments_as_an_object() {
    let world = with_session();
    let listed =
        read(&world.run(&["sessions", "list", "--raw-payload", r#"{"limit": 1, "fields": "id"}"#]).success());
    assert_eq!(listed["data"], json!([{"id": "s"}]));
    let shown = read(&world.run(&["sessions", "show", "--raw-payload", r#"{"id": "s"}"#]).success());
    assert_eq!(shown["data"]["id"], "s");
    for (args, params) in [
        (&["sessions", "show", "--raw-payload", r#"{"id": "../x"}"#][..], json!(["ID"])),
        (&["sessions", "show", "--raw-payload", "{id: 1}"], json!(["--raw-payload", "ID"])),
        (
            &["sessions", "list", "--raw-payload", r#"{"limit": "x", "nope": 1}"#],
            json!(["--raw-payload", "--limit"]),
        ),
        (&["sessions", "list", "--limit", "2", "--raw-payload", r#"{"limit": 1}"#], json!(["--limit"])),
    ] {
        let output = world.run(args);
        let error = read(&output)["error"].clone();
        assert_eq!(output.code(), Some(2), "{output}");
        let wrong: Vec<_> =
            error["errors"].as_array().unwrap().iter().map(|issue| issue["param"].clone()).collect();
        assert_eq!(json!(wrong), params, "{output}");
    }
    assert!(!bare().base().exists());
}

/// What goes to a model this way is in the audit log as every prompt is.
#[test]
fn a_prompt_in_an_object_is_not_written_down() {
    let (world, _model) = crate::world::with_model([zori_testkit::anthropic::text("ok")]);
    let output = world.run(&["exec", "--raw-payload", r#"{"prompt": "a secret plan"}"#]).success();
    assert_eq!(output.stdout(), "ok\n");
    let log = world.read(world.base().join("audit.jsonl"));
    assert!(!log.contains("secret plan") && log.contains("--raw-payload [27 bytes"), "{log}");
}

/// The words of a command may be spelled apart; what is no command is never taken for a prompt.
#[test]
fn words_that_are_no_command_are_no_prompt() {
    let model = zori_testkit::server::ModelServer::start(Vec::<zori_testkit::reply::Reply>::new());
    let mut world = bare();
    world.use_server(&model);
    let lines = "{\"_cmd\":\"errors list\"}\n{\"_cmd\":\"say something nice\"}\n";
    let output = world.run_with_stdin(&["batch", "--output", "json"], lines);
    let answers: Vec<Value> =
        output.stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let ends: Vec<_> =
        answers.iter().map(|answer| (answer["ok"].clone(), answer["meta"]["exit_code"].clone())).collect();
    assert_eq!(
        ends,
        [(true.into(), 0.into()), (false.into(), 2.into()), (false.into(), 3.into())],
        "{output}"
    );
    assert_eq!(model.requests().len(), 0);
}
