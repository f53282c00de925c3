//! Chapter 15: what others fell for, a test each and in its order.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::gate::Gate;
use zori_testkit::reply::Reply;

use super::{answer, args, asked, lines, outline, request, start, talk, told, user};
use crate::world::{with_model, world};

fn write(id: &str) -> anthropic::Message {
    anthropic::tool_use(id, "Write", json!({"file_path": "a.txt", "content": "model"}))
}

fn list(id: &str) -> anthropic::Message {
    anthropic::tool_use(id, "LS", json!({"path": "."}))
}

fn kinds(stdout: &str) -> Vec<String> {
    lines(stdout).iter().map(|line| line["type"].as_str().expect("a line has a type").to_owned()).collect()
}

/// 1. No `-p` and no command: the two formats make it a session without a screen.
#[test]
fn two_formats_are_enough() {
    let (output, _world) = talk([anthropic::text("ok")], &[], &user("hi"));
    assert_eq!(told(&output), "init\nsays \"ok\"\nover success \"ok\" completed turns=1\n[exit status: 0]");
}

/// 2. `-v` is the version, and never a wish for more words.
#[test]
fn v_is_the_version() {
    let output = world().run(&["-v"]);
    assert!(output.stdout().starts_with("2.1.0 (zori "), "{output}");
    assert_eq!((output.stderr().as_str(), output.code()), ("", Some(0)));
    assert_eq!(world().run(&["exec", "-p", "hi", "-v"]).code(), Some(2));
}

/// 3. A provider that fails is a `success` that `is_error`.
/// 4. Nothing comes behind a `result` that is an error, whatever it is.
/// 5. No line is an `error` or an `end`: those are a client's own.
#[test]
fn errors_are_the_last_word() {
    let refused = || anthropic::http_error(400, "invalid_request_error", "No.");
    let runs = [
        talk([refused()], &[], &user("a")),
        talk([list("1").reply()], &["--max-turns", "1"], &user("a")),
        talk([list("1").reply()], &["--max-budget-usd", "0.000001"], &user("a")),
        talk::<Reply>([], &["--resume", "none"], &user("a")),
    ];
    let mut subtypes = Vec::new();
    for (output, _world) in &runs {
        let all = lines(&output.stdout());
        let over = all.last().unwrap();
        assert_eq!((&over["type"], &over["is_error"]), (&json!("result"), &json!(true)), "{output}");
        assert_eq!(all.iter().filter(|line| line["type"] == "result").count(), 1, "{output}");
        assert!(!kinds(&output.stdout()).iter().any(|kind| kind == "error" || kind == "end"), "{output}");
        assert_eq!(output.code(), Some(1), "{output}");
        subtypes.push(over["subtype"].as_str().unwrap().to_owned());
    }
    assert_eq!(subtypes, ["success", "error_max_turns", "error_max_budget_usd", "error_during_execution"]);
}

/// 6. `init` begins every turn, with one session.
#[test]
fn init_for_each_turn() {
    let (output, _world) =
        talk([anthropic::text("1"), anthropic::text("2")], &[], &[user("a"), user("b")].concat());
    let all = lines(&output.stdout());
    let inits: Vec<&Value> = all.iter().filter(|line| line["subtype"] == "init").collect();
    assert_eq!(inits.len(), 2, "{output}");
    assert_eq!(inits[0]["session_id"], inits[1]["session_id"]);
}

/// 7. A `thinking` block has a signature, if only an empty one: also where the provider has none.
#[test]
fn thinking_has_a_signature() {
    let stream = [
        json!({"choices": [{"index": 0, "delta": {"reasoning_content": "hm"}}]}),
        json!({"choices": [{"index": 0, "delta": {"content": "ok"}}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}),
    ];
    let body: String = stream.iter().map(|event| format!("data: {event}\n\n")).collect();
    let reply = Reply::sse(format!("{body}data: [DONE]\n\n"));
    let (mut world, model) = with_model([reply]);
    world.set_var("OPENAI_API_KEY", "sk-test").set_var("OPENAI_BASE_URL", format!("{}/v1", model.url()));
    let output =
        world.run_with_stdin(&args(&["--model", "openai-chat:gpt-4.1", "--system-prompt", ""]), user("hi"));
    let all = lines(&output.stdout());
    let thought = all.iter().find(|line| line["message"]["content"][0]["type"] == "thinking");
    let thought = thought.unwrap_or_else(|| panic!("{output}"));
    assert_eq!(
        thought["message"]["content"],
        json!([{"type": "thinking", "thinking": "hm", "signature": ""}])
    );
}

/// 8. Standard input is read while a turn runs.
/// 9. The answer to `interrupt` comes before the `result` of the turn it cuts.
#[test]
fn input_in_a_turn() {
    let gate = Gate::new();
    let (world, model) = with_model([anthropic::text("one two").reply().wait_after(3, &gate)]);
    let mut run = start(&world, &[]);
    run.write_stdin(user("go"));
    model.wait_for_requests(1);
    run.write_stdin(request("m", json!({"subtype": "mcp_status"})));
    run.wait_for_stdout("\"request_id\":\"m\"");
    run.write_stdin(request("i", json!({"subtype": "interrupt"})));
    run.wait_for_stdout("{\"type\":\"result\"").close_stdin();
    let said = outline(&run.finish().stdout());
    let (before, _) = said.split_once("over error_during_execution").unwrap_or_else(|| panic!("{said}"));
    assert!(before.contains("answers i null"), "{said}");
}

/// 10. A standard input that is closed is neither an interrupt nor an end.
#[test]
fn input_that_is_closed_already() {
    let replies = [list("1"), anthropic::text("ok")];
    let (output, _world) = talk(replies, &[], &user("hi"));
    assert!(told(&output).ends_with("over success \"ok\" completed turns=2\n[exit status: 0]"), "{output}");
}

/// 11. `auto` is `default` here, and called what the client calls it.
#[test]
fn auto_asks() {
    let (output, world) =
        talk([write("1"), anthropic::text("ok")], &["--permission-mode", "auto"], &user("hi"));
    assert_eq!(lines(&output.stdout())[0]["permissionMode"], "auto");
    assert!(!world.work().join("a.txt").exists(), "{output}");
}

/// 12. `updatedInput` replaces the whole input, and the line that told the call stays as it was.
#[test]
fn an_input_that_is_replaced() {
    let (world, _model) = with_model([write("1"), anthropic::text("ok")]);
    let mut run = start(&world, &["--permission-prompt-tool", "stdio"]);
    run.write_stdin(user("go"));
    let (id, _) = asked(&mut run, "can_use_tool", 0);
    let mine = json!({"file_path": "b.txt", "content": "mine"});
    run.write_stdin(answer(&id, json!({"behavior": "allow", "updatedInput": mine})));
    run.wait_for_stdout("{\"type\":\"result\"").close_stdin();
    let output = run.finish();
    assert!(
        outline(&output.stdout()).contains("calls Write {\"file_path\":\"a.txt\",\"content\":\"model\"}")
    );
    assert_eq!((world.read("b.txt").as_str(), world.work().join("a.txt").exists()), ("mine", false));
}

/// 13. `usage` is the turn's; `modelUsage` and `total_cost_usd` are the process's.
#[test]
fn what_adds_up() {
    let (output, _world) =
        talk([anthropic::text("1"), anthropic::text("2")], &[], &[user("a"), user("b")].concat());
    let all = lines(&output.stdout());
    let told = all.iter().filter(|line| line["type"] == "result").map(|line| {
        let model = &line["modelUsage"]["claude-sonnet-5-5"];
        let (turn, all) = (&line["usage"]["input_tokens"], &model["inputTokens"]);
        json!([turn, all, line["total_cost_usd"], model["costUSD"]])
    });
    assert_eq!(
        told.collect::<Vec<_>>(),
        [json!([10, 10, 0.00007, 0.00007]), json!([10, 20, 0.00014, 0.00014])]
    );
}

/// 14. No line has a MiB, whatever a call writes, reads or is asked about.
#[test]
fn lines_that_can_be_read() {
    let long = "y".repeat(700_000);
    let (world, _model) = with_model([
        anthropic::tool_use("1", "Write", json!({"file_path": "a", "content": long})),
        anthropic::tool_use("2", "Write", json!({"file_path": "a", "content": long.replace('y', "z")})),
        anthropic::tool_use("3", "Bash", json!({"command": "cat a a"})),
        anthropic::text("ok"),
    ]);
    let more = ["--dangerously-skip-permissions", "--include-partial-messages"];
    let output = world.run_with_stdin(&args(&more), user("go"));
    assert_eq!(output.code(), Some(0));
    let longest = output.stdout().lines().map(str::len).max().unwrap();
    assert!(longest < 900_000, "{longest}");
    assert!(kinds(&output.stdout()).len() > 10);
}
