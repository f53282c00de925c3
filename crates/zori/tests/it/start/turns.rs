//! Spawn per turn: a prompt in, one turn out, the end.

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use super::{brief, lines, prompted, told, whole};
use crate::world::{with_model, world};

#[test]
fn every_field_of_a_turn() {
    let (world, _model) = with_model([anthropic::text("Hello.")]);
    let output =
        world.run(&["start", "--session-id", "sess-123", "--prompt", "hi", "--output-format", "stream-json"]);
    insta::assert_snapshot!(whole(&output), @r#"
    {"type":"system","subtype":"init","cwd":"$WORK","session_id":"sess-123","tools":["Read","Write","Edit","Bash","MultiEdit","NotebookEdit","Glob","Grep","LS","WebFetch","TodoWrite","Task","TaskOutput","KillShell"],"mcp_servers":[],"model":"claude-sonnet-5-5","permissionMode":"default","slash_commands":[],"apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":"2.1.0","output_style":"default","agents":["general-purpose"],"skills":[],"plugins":[],"zori_version":"0.1.0","provider":"anthropic","uuid":"$SESSION"}
    {"type":"text","content":"Hello.","id":"$SESSION"}
    {"type":"usage","input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5}
    {"type":"result","subtype":"success","is_error":false,"api_error_status":null,"result":"Hello.","stop_reason":"end_turn","terminal_reason":"completed","duration_ms":"$TIME","duration_api_ms":"$TIME","ttft_ms":"$TIME","num_turns":1,"session_id":"sess-123","total_cost_usd":0.00007,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard"},"modelUsage":{"claude-sonnet-5-5":{"inputTokens":10,"outputTokens":5,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"webSearchRequests":0,"costUSD":0.00007,"contextWindow":1000000,"maxOutputTokens":128000}},"permission_denials":[],"uuid":"$SESSION"}
    {"type":"message_stop"}
    [exit status: 0]
    "#);
}

/// Calls of one reply are told one after the other, in Claude's words, whichever the model used.
#[test]
fn tools_by_claudes_names() {
    let (world, model) = with_model([
        anthropic::text("I look.")
            .tool_use("t1", "Read", json!({"path": "src\\a.txt"}))
            .tool_use("t2", "edit", json!({"path": "src/a.txt", "old": "one", "new": "two"}))
            .tool_use("t3", "Bash", json!({"command": "true"}))
            .tool_use("t4", "Bash", json!({"command": "echo out; exit 3"}))
            .tool_use("t5", "Bash", json!({"command": "sleep 300", "run_in_background": true}))
            .tool_use("t6", "LSP", json!({"query": "x"})),
        anthropic::text("Done."),
    ]);
    world.write("src/a.txt", "one\n");
    let output = prompted(&world, "go", &["--permission-mode", "auto"]);
    insta::assert_snapshot!(brief(&output), @r#"
    init s auto
    {"type":"text","content":"I ","id":"$SESSION"}
    {"type":"text","content":"look.","id":"$SESSION"}
    usage 10 5
    {"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"src\\a.txt"}}
    {"type":"tool_result","tool_use_id":"t1","content":"1\tone","is_error":false}
    {"type":"tool_use","id":"t2","name":"Edit","input":{"file_path":"src/a.txt","old_string":"one","new_string":"two"}}
    {"type":"tool_result","tool_use_id":"t2","content":"Replaced 1 occurrence in $WORK/src/a.txt","is_error":false}
    {"type":"tool_use","id":"t3","name":"Bash","input":{"command":"true"}}
    {"type":"tool_result","tool_use_id":"t3","content":"(Bash completed with no output)","is_error":false}
    {"type":"tool_use","id":"t4","name":"Bash","input":{"command":"echo out; exit 3"}}
    {"type":"tool_result","tool_use_id":"t4","content":"out\nExit code 3","is_error":true}
    {"type":"tool_use","id":"t5","name":"Bash","input":{"command":"sleep 300","run_in_background":true}}
    {"type":"tool_result","tool_use_id":"t5","content":"Command running in background with ID: job_1. Read its output with TaskOutput, end it with KillShell.","is_error":false}
    {"type":"tool_use","id":"t6","name":"LSP","input":{"query":"x"}}
    {"type":"tool_result","tool_use_id":"t6","content":"`LSP` is not available here; the tools are Read, Write, Edit, Bash, MultiEdit, NotebookEdit, Glob, Grep, LS, WebFetch, WebSearch, TodoWrite, Task, TaskOutput, KillShell","is_error":true}
    {"type":"text","content":"Done.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=7 "Done."
    {"type":"message_stop"}
    ------- stderr -------
    Warning: Ended what commands had left running: job_1 (`sleep 300`)
    [exit status: 0]
    "#);
    assert_eq!(world.read(world.work().join("src/a.txt")), "two\n");
    assert_eq!(model.count(), 2);
}

/// DECISIONS 32: `default` unless somebody says otherwise, and a one-turn run has nobody to ask.
#[test]
fn modes() {
    let ask = |args: &[&str]| {
        let (world, _model) = with_model([
            anthropic::tool_use("t1", "Read", json!({"file_path": "a.txt"})).tool_use(
                "t2",
                "Write",
                json!({"file_path": "b.txt", "content": "x"}),
            ),
            anthropic::text("Done."),
        ]);
        world.write("a.txt", "one\n");
        let output = prompted(&world, "go", args);
        let results = lines(&output.stdout()).into_iter().filter(|line| line["type"] == "tool_result");
        let results: Vec<_> =
            results.map(|line| if line["is_error"] == true { "no" } else { "yes" }).collect();
        let mode = lines(&output.stdout())[0]["permissionMode"].as_str().unwrap().to_owned();
        (mode, results.join(" "), output.code().unwrap())
    };
    let is = |mode: &str, results: &str| (mode.to_owned(), results.to_owned(), 0);
    assert_eq!(ask(&[]), is("default", "yes no"));
    assert_eq!(ask(&["--permission-mode", "auto"]), is("auto", "yes yes"));
    assert_eq!(ask(&["--permission-mode", "interactive"]), is("interactive", "no no"));
    assert_eq!(ask(&["--permission-mode", "deny"]), is("deny", "no no"));
    assert_eq!(ask(&["--permission-mode", "acceptEdits"]), is("acceptEdits", "yes yes"));
    assert_eq!(ask(&["-y"]), is("default", "yes yes"));
}

#[test]
fn a_denied_call() {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "Write", json!({"file_path": "b.txt", "content": "x"})),
        anthropic::text("Pity."),
    ]);
    let output = prompted(&world, "go", &[]);
    insta::assert_snapshot!(brief(&output), @r#"
    init s default
    usage 10 5
    {"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"b.txt","content":"x"}}
    {"type":"system","subtype":"permission_denied","tool_name":"Write","tool_use_id":"t1","message":"approval_unavailable: mode default asks about W: Creates or edits inside a workspace root, and nobody can be asked in this run","session_id":"s","uuid":"$SESSION"}
    {"type":"tool_result","tool_use_id":"t1","content":"approval_unavailable: mode default asks about W: Creates or edits inside a workspace root, and nobody can be asked in this run. Do it another way, or tell the user what would have to be allowed.","is_error":true}
    {"type":"text","content":"Pity.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=2 "Pity."
    {"type":"message_stop"}
    [exit status: 0]
    "#);
}

#[test]
fn the_prompt_from_standard_input() {
    let (world, model) = with_model([anthropic::text("Hi.")]);
    let output = told(&world, "\n  two\nlines {\"type\":\"x\"}\n");
    insta::assert_snapshot!(brief(&output), @r#"
    init s default
    {"type":"text","content":"Hi.","id":"$SESSION"}
    usage 10 5
    result success is_error=false "completed" turns=1 "Hi."
    {"type":"message_stop"}
    [exit status: 0]
    "#);
    assert_eq!(model.request(0).conversation(), "user: two\nlines {\"type\":\"x\"}\n");
}

/// A secret that a file holds is in no line; one that the model says itself is its own.
#[test]
fn results_without_secrets() {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "Read", json!({"file_path": "a.txt"})),
        anthropic::text("It is AKIAIOSFODNN7EXAMPLE"),
    ]);
    world.write("a.txt", "key = AKIAIOSFODNN7EXAMPLE\n");
    let output = prompted(&world, "go", &[]);
    let stdout = output.stdout();
    assert_eq!(stdout.matches("AKIAIOSFODNN7EXAMPLE").count(), 2, "in the text and in the result:\n{stdout}");
    assert!(stdout.contains("key = [REDACTED]"), "{stdout}");
}

#[test]
fn thinking_and_long_output() {
    let (world, _model) = with_model([
        anthropic::thinking("Let me see.", "sig").text("I look.").tool_use(
            "t1",
            "Bash",
            json!({"command": "head -c 300000 /dev/zero | tr '\\0' '\\1'"}),
        ),
        anthropic::text("Done."),
    ]);
    let output = prompted(&world, "go", &["--permission-mode", "auto"]);
    let types: Vec<_> =
        lines(&output.stdout()).iter().map(|line| line["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(types[..3], ["system", "thinking", "thinking"]);
    assert!(types.contains(&"tool_result".to_owned()), "{types:?}");
    assert_eq!(output.code(), Some(0));
}

/// A provider that gives calls no ids: they are counted in the session, and a resumed one counts on.
#[test]
fn ids_of_a_provider_that_has_none() {
    let call = concat!(
        r#"data: {"candidates":[{"content":{"role":"model","parts":[{"functionCall":{"name":"LS","args":{"path":"."}}},"#,
        r#"{"functionCall":{"name":"LS","args":{"path":"."}}}]},"finishReason":"STOP","index":0}],"#,
        r#""usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7}}"#,
        "\n\n"
    );
    let text = concat!(
        r#"data: {"candidates":[{"content":{"role":"model","parts":[{"text":"Done."}]},"finishReason":"STOP","index":0}],"#,
        r#""usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":4,"totalTokenCount":7}}"#,
        "\n\n"
    );
    let unavailable = || Reply::json(503, json!({"error": {"code": 503, "message": "later"}}));
    let server = ModelServer::start([
        unavailable(),
        Reply::sse(call),
        Reply::sse(text),
        Reply::sse(call),
        Reply::sse(text),
    ]);
    let mut world = world();
    world.set_var("GEMINI_API_KEY", "sk-0123456789");
    let run = |flag: &str| {
        let (url, retry) = (server.url(), "--retry-delay=1");
        let args = ["start", "--provider", "gemini", "--api-base", &url, flag, "s", "--prompt", "go", retry];
        let output = world.run(&args);
        assert_eq!(output.code(), Some(0), "{output}");
        let told = lines(&output.stdout());
        let ids = told.iter().filter(|line| line["type"] == "tool_use").map(|line| line["id"].to_string());
        ids.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(run("--session-id"), r#""call_gemini_1" "call_gemini_2""#);
    assert_eq!(run("--resume"), r#""call_gemini_3" "call_gemini_4""#);
}
