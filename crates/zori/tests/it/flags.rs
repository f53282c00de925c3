//! No flag is swallowed (DECISIONS 51): the flags of Claude Code work for people and scripts, or are refused by name.

use serde_json::{Value, json};
use zori_setup::args::claude::PROTOCOL_ONLY;
use zori_setup::args::without_effect::WITHOUT_EFFECT;
use zori_testkit::anthropic;
use zori_testkit::server::ModelServer;

use crate::sessions::put_session;
use crate::world::{with_model, world};

const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;

fn tools(model: &ModelServer, request: usize) -> Vec<String> {
    let body = model.request(request).json();
    let tools = body["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
}

#[test]
fn some_tools_only() {
    let ok = || anthropic::text("ok");
    let (world, model) = with_model([ok(), ok(), ok(), ok()]);
    world.run(&["exec", "-p", "hi", "--tools", "read,grep"]).success();
    world.run(&["-p", "hi", "--tools", "Read Bash"]).success();
    world.run(&["exec", "-p", "hi", "--tools", ""]).success();
    world.run_with_stdin(&["--json", "--tools", "read"], "hi\n").success();
    let offered: Vec<_> = (0..4).map(|n| tools(&model, n).join(" ")).collect();
    assert_eq!(offered, ["read grep", "read bash", "", "read"]);
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--tools", "read,sed"]), @"
    ------- stderr -------
    Error: `--tools`: there is no tool `sed`
    Hint: there are read, write, edit, bash, multi_edit, notebook_edit, glob, grep, ls, apply_patch, web_fetch, web_search, todo_write, task, ask_user, job_output, job_kill
    [exit status: 2]
    ");
}

#[test]
fn more_of_a_system_prompt() {
    let ok = || anthropic::text("ok");
    let (world, model) = with_model([ok(), ok(), ok()]);
    let prompt = world.write("prompt.txt", "From a file.\n");
    let prompt = prompt.to_str().unwrap();
    world.run(&["exec", "-p", "hi", "--system-prompt", "Mine.", "--append-system-prompt", "More."]).success();
    world
        .run(&["exec", "-p", "hi", "--system-prompt-file", prompt, "--append-system-prompt", "More."])
        .success();
    world.run(&["exec", "-p", "hi", "--append-system-prompt", "More."]).success();
    let system = |n: usize| {
        let body = model.request(n).json();
        let blocks = body["system"].as_array().cloned().unwrap_or_default();
        blocks.iter().map(|block| block["text"].as_str().unwrap_or_default().to_owned()).collect::<String>()
    };
    assert_eq!((system(0).as_str(), system(1).as_str()), ("Mine.\n\nMore.", "From a file.\n\nMore."));
    assert!(system(2).ends_with("\n\nMore.") && system(2).len() > 100, "{}", system(2));
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--system-prompt-file", "nowhere.txt"]), @"
    ------- stderr -------
    Error: `--system-prompt-file`: cannot read nowhere.txt: No such file or directory (os error 2)
    [exit status: 2]
    ");
    insta::assert_snapshot!(
        world.run(&["exec", "-p", "hi", "--system-prompt-file", prompt, "--system-prompt", "x"]), @"
    ------- stderr -------
    Error: `--system-prompt-file` and `--system-prompt` do not go together
    [exit status: 2]
    ");
}

#[test]
fn how_hard_it_thinks() {
    let ok = || anthropic::text("ok");
    let (world, model) = with_model([ok(), ok(), ok()]);
    for flags in [&["--thinking", "high"][..], &["--effort", "high"], &["--max-thinking-tokens", "20000"]] {
        world.run(&[&["exec", "-p", "hi"], flags].concat()).success();
    }
    let shape = |n: usize| {
        let body = model.request(n).json();
        (body["thinking"].clone(), body["output_config"].clone())
    };
    assert_ne!(shape(0), (Value::Null, Value::Null));
    assert_eq!((shape(1), shape(2)), (shape(0), shape(0)));
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--effort", "enormous"]), @"
    ------- stderr -------
    Error: `--effort` takes low, medium, high, xhigh or max, not `enormous`
    [exit status: 2]
    ");
}

#[test]
fn the_name_of_a_new_session() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    world.run(&["exec", "-p", "hi", "--session-id", "mine"]).success();
    assert_eq!(world.session_files().len(), 1);
    assert!(world.base().join("sessions/mine.jsonl").exists());
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--session-id", "mine"]), @"
    ------- stderr -------
    Error: Session 'mine' exists already
    Hint: `--session mine` goes on with it
    [exit status: 6]
    ");
    insta::assert_snapshot!(world.run(&["exec", "-c", "-p", "hi", "--session-id", "other"]), @"
    ------- stderr -------
    Error: `--session-id` names a new session, and `--resume` and `--continue` go on with an old one
    Hint: add `--fork-session` to go on in a copy of that name
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--session-id", "other", "--session", "s"]), @"
    ------- stderr -------
    Error: `--session-id` and `--session` do not go together
    [exit status: 2]
    ");
    world.run(&["exec", "-c", "--fork-session", "-p", "more", "--session-id", "copy"]).success();
    assert_eq!(model.request(1).conversation(), "user: hi\nassistant: One.\nuser: more\n");
    assert!(world.base().join("sessions/copy.jsonl").exists());
}

/// On standard output is the value and nothing else; a model that says something else is asked again.
#[test]
fn an_answer_by_a_schema() {
    let value = || anthropic::tool_use("1", "StructuredOutput", json!({"n": 3}));
    let words = || anthropic::text("It is three.");
    let run = |replies: Vec<zori_testkit::reply::Reply>, more: &[&str]| {
        let (world, model) = with_model(replies);
        let output =
            world.run(&[&["exec", "--no-save", "-p", "how many?", "--json-schema", SCHEMA], more].concat());
        (output, model)
    };
    let (output, model) = run(vec![words().into(), value().into(), anthropic::text("Done.").into()], &[]);
    insta::assert_snapshot!(output, @r#"
    {"n":3}
    ------- stderr -------
    ⚙ Running StructuredOutput... Done. (X.XXs)
    [exit status: 0]
    "#);
    assert!(tools(&model, 0).contains(&"StructuredOutput".to_owned()));
    let (output, _) = run(vec![anthropic::text("```json\n{\"n\": 3}\n```").into()], &["--output", "json"]);
    let data: Value = serde_json::from_str(&output.success().stdout()).unwrap();
    assert_eq!(data["data"]["structured_output"], json!({"n": 3}));
    let (output, _) = run(vec![value().into(), anthropic::text("Done.").into()], &["--json"]);
    let last: Value = serde_json::from_str(output.success().stdout().lines().last().unwrap()).unwrap();
    assert_eq!((&last["type"], &last["structured_output"]), (&json!("cost"), &json!({"n": 3})));
    let never = || (0..5).map(|_| words().into()).collect::<Vec<_>>();
    insta::assert_snapshot!(run(never(), &[]).0, @"
    ------- stderr -------
    Error: The model gave no answer that fits the schema, asked 5 times
    [exit status: 1]
    ");
    let (output, _) = run(never(), &["--output", "json"]);
    let told: Value = serde_json::from_str(&output.stdout()).unwrap();
    assert_eq!((output.code(), &told["error"]["code"]), (Some(1), &json!("ANSWER_UNFIT")), "{output}");
    insta::assert_snapshot!(world().run(&["exec", "-p", "x", "--json-schema", "{"]), @"
    ------- stderr -------
    Error: `--json-schema` is not JSON: EOF while parsing an object at line 1 column 1
    [exit status: 2]
    ");
    insta::assert_snapshot!(with_model::<zori_testkit::reply::Reply>([]).0.run_with_stdin(&["--json", "--json-schema", SCHEMA], "hi\n"), @r#"
    {"type":"error","schema":1,"message":"`--json-schema` is for one prompt, and standard input may have many","code":"agent_error"}
    ------- stderr -------
    Error: `--json-schema` is for one prompt, and standard input may have many
    Hint: give the prompt with `-p TEXT`
    [exit status: 2]
    "#);
}

/// Those that only shape the Claude protocol, and those that are taken from SDKs without effect.
#[test]
fn what_is_for_the_protocol_alone() {
    let world = world();
    let idle = WITHOUT_EFFECT.iter().map(|entry| entry.flag);
    for flag in PROTOCOL_ONLY.iter().copied().chain(idle) {
        let word = flag.param();
        let given = if flag.value.is_empty() { word.clone() } else { format!("{word}=x") };
        let output = world.run(&["exec", "-p", "hi", &given]);
        let wanted = format!(
            "------- stderr -------\nError: `{word}` is for the Claude protocol, and needs `--output-format`\n\
             Hint: add `--output-format stream-json`, or leave it out\n[exit status: 2]"
        );
        assert_eq!(output.to_string(), wanted);
    }
}

/// What is no description of an MCP server is said before anything is started.
#[test]
fn servers_that_cannot_be_used() {
    let world = world();
    for (servers, why) in [
        (r#"{"s":{"command":"x","url":"http://x"}}"#, "it has both a `command` and a `url`"),
        (r#"{"s":{}}"#, "it has neither a `command` nor a `url`"),
        (r#"{"s":{"command":"x","type":"magic"}}"#, "`type` is `magic`, not one of stdio, http, sse"),
    ] {
        let config = format!(r#"{{"mcpServers":{servers}}}"#);
        for args in [&["exec", "-p", "hi"][..], &["-p", "hi", "--output-format", "json"]] {
            let output = world.run(&[args, &["--mcp-config", &config]].concat());
            let wanted = format!("Error: `--mcp-config`: the MCP server `s`: {why}\n");
            assert_eq!((output.stderr(), output.code()), (wanted, Some(2)), "{output}");
        }
    }
    // Servers in another agent's shape are not passed over in silence.
    for config in [r#"{"servers":{"s":{"command":"x"}}}"#, r#"{"s":{"command":"x"}}"#, r#"{"mcpServers":[]}"#]
    {
        let output = world.run(&["exec", "-p", "hi", "--mcp-config", config]);
        let what = if config.contains("mcpServers") {
            "`mcpServers` is no table"
        } else {
            "it has no table `mcpServers`"
        };
        let wanted = format!("Error: `--mcp-config` is not understood: {what}\n");
        assert_eq!((output.stderr(), output.code()), (wanted, Some(2)), "{output}");
    }
}

#[test]
fn a_session_and_an_image_in_the_protocol() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    put_session(
        &world,
        "s",
        "{\"type\":\"meta\",\"schema_version\":1,\"ts\":\"2026-01-01T00:00:00Z\",\"root\":\"/\"}\n\
         {\"type\":\"message\",\"role\":\"user\",\"text\":\"before\",\"ts\":\"2026-01-01T00:00:00Z\"}\n",
    );
    let png = world.write("dot.png", zori_testkit::fixture::bytes("images/box.png"));
    let png = png.to_str().unwrap();
    world.run(&["exec", "-p", "hi", "--output-format", "text", "--session", "s"]).success();
    assert_eq!(model.request(0).conversation(), "user: before\nuser: hi\n");
    world.run(&["exec", "-p", "hi", "--output-format", "text", "--image", png]).success();
    assert_eq!(model.request(1).json()["messages"][0]["content"][0]["type"], "image");
    insta::assert_snapshot!(world.run_with_stdin(
        &["--output-format", "stream-json", "--input-format", "stream-json", "--image", png], ""), @"
    ------- stderr -------
    Error: `--image` and `--input-format stream-json` exclude each other
    Hint: prompts of the protocol bring all they need
    [exit status: 2]
    ");
}

/// O-015, in the place of any command; nothing else is done.
#[test]
fn the_settings_that_would_hold() {
    let world = world();
    let shown = world.run(&["config", "show", "--model", "m", "--retries", "3"]).success();
    for line in [
        &["exec", "-p", "hi", "--model", "m", "--show-config", "--retries=3"][..],
        &["--show-config", "--model", "m", "--retries", "3"],
    ] {
        assert_eq!(world.run(line).to_string(), shown.to_string(), "{line:?}");
    }
    assert_eq!(world.run(&["--as", "zdx", "exec", "-p", "hi", "--show-config"]).code(), Some(0));
}

/// O-039: a prompt of any length.
#[test]
fn a_prompt_in_a_file() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    world.write("prompt.txt", "from a file\n");
    world.run(&["exec", "--input-file", "prompt.txt"]).success();
    world.run_with_stdin(&["exec", "-p", "read this:", "--input-file", "-"], "from a pipe").success();
    assert_eq!(model.request(0).conversation(), "user: from a file\n");
    assert_eq!(model.request(1).conversation(), "user: read this:\n\nfrom a pipe\n");
    insta::assert_snapshot!(world.run(&["exec", "--input-file", "missing.txt"]), @"
    ------- stderr -------
    Error: there is no input file `missing.txt`
    [exit status: 5]
    ");
}

/// §50, §34: what is missing or made up is said before a key is looked for.
#[test]
fn what_is_no_prompt_and_no_model() {
    let mut world = world();
    world.remove_var("ZORI_OUTPUT");
    for (line, code) in [
        (&["exec", "--output", "json"][..], "EMPTY_STDIN"),
        (&["exec", "-", "--output", "json"], "EMPTY_STDIN"),
        (&["exec", "-p", "hi", "--model", "<model>", "--output", "json"], "VALIDATION_ERROR"),
        (&["exec", "-p", "hi", "--model", "null", "--output", "json"], "VALIDATION_ERROR"),
        (&["exec", "-p", "hi", "--model", "${MODEL}", "--output", "json"], "VALIDATION_ERROR"),
    ] {
        // Nothing is empty at once; a pipe is when its other end has been closed, and until then a key is asked for first.
        let output = world.run(line);
        let told: Value = serde_json::from_str(&output.stdout()).unwrap();
        assert_eq!((output.code(), &told["error"]["code"]), (Some(2), &json!(code)), "{output}");
    }
}

#[test]
fn a_demo_in_an_envelope() {
    let output = world().run(&["demo", "--output", "json"]).success();
    let told: Value = serde_json::from_str(&output.stdout()).unwrap();
    assert_eq!((&told["ok"], &told["data"]["partial"]), (&json!(true), &json!(false)), "{told}");
    assert!(told["data"]["completed_steps"].as_array().is_some_and(|steps| !steps.is_empty()), "{told}");
}
