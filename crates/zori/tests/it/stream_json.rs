//! The Claude protocol for SDKs: what a client reads for what it writes, on the real executable.

mod agents;
mod argv;
mod asking;
mod bad_input;
mod callbacks;
mod ends;
mod errors;
mod options;
mod results;
mod rewinding;
mod servers;
mod sessions;
mod structured;
mod traps;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Running, Stdin, Stdout};

use crate::world::with_model;

/// What both SDKs begin with.
pub(crate) const SDK: &[&str] =
    &["--output-format", "stream-json", "--verbose", "--input-format", "stream-json"];

pub(crate) fn args<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [SDK, more].concat()
}

/// A prompt as the Python SDK writes it.
pub(crate) fn user(text: &str) -> String {
    let message = json!({"role": "user", "content": text});
    format!("{}\n", json!({"type": "user", "message": message, "parent_tool_use_id": null, "session_id": ""}))
}

pub(crate) fn request(id: &str, request: Value) -> String {
    format!("{}\n", json!({"type": "control_request", "request_id": id, "request": request}))
}

pub(crate) fn lines(stdout: &str) -> Vec<Value> {
    let read = |line: &str| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
    stdout.lines().map(read).collect()
}

/// Replaces what differs from run to run.
fn steady(value: &mut Value) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map.iter_mut() {
                match name.as_str() {
                    "uuid" | "session_id" | "timestamp" | "zori_version" => {
                        *inner = json!(format!("[{name}]"))
                    }
                    "id" if inner.as_str().is_some_and(|id| id.starts_with("msg_") || id.len() == 36) => {
                        *inner = json!("[id]");
                    }
                    "duration_ms" | "duration_api_ms" | "ttft_ms" | "retry_delay_ms" | "pid" => {
                        *inner = json!(0)
                    }
                    _ => steady(inner),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(steady),
        _ => {}
    }
}

/// What a line says, in a few words.
fn short(line: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    match text(&line["type"]).as_str() {
        "system" => match text(&line["subtype"]).as_str() {
            "init" => "init".to_owned(),
            "permission_denied" => format!("denied {}", text(&line["tool_name"])),
            "api_retry" => format!("retry {} {}", line["attempt"], line["error_status"]),
            "status" if line["status"].is_string() => text(&line["status"]),
            "status" => format!("mode {}", text(&line["permissionMode"])),
            other => format!("system {other}"),
        },
        "assistant" => {
            let block = &line["message"]["content"][0];
            let error = line["error"].as_str().map_or_else(String::new, |kind| format!(" ({kind})"));
            let cut = if line["aborted"] == true { " (cut)" } else { "" };
            match text(&block["type"]).as_str() {
                "text" => format!("says {:?}{error}{cut}", text(&block["text"])),
                "tool_use" => format!("calls {} {}", text(&block["name"]), block["input"]),
                other => format!("{other} {:?}", text(&block["thinking"])),
            }
        }
        "user" => {
            let block = &line["message"]["content"][0];
            let failed = if block["is_error"] == true { " failed" } else { "" };
            match text(&block["type"]).as_str() {
                "tool_result" => format!("result{failed} {}", block["content"]),
                _ if line["isReplay"] == true => format!("echo {}", line["message"]),
                _ => format!("note {}", text(&block["text"])),
            }
        }
        "result" => {
            let what = line["result"]
                .as_str()
                .map_or_else(|| line["errors"].to_string(), |text| format!("{text:?}"));
            let subtype = text(&line["subtype"]);
            let bad = if line["is_error"] == true { " is_error" } else { "" };
            format!(
                "over {subtype}{bad} {what} {} turns={}",
                text(&line["terminal_reason"]),
                line["num_turns"]
            )
        }
        "control_request" => format!("asks {}", line["request"]),
        "control_response" => {
            let response = &line["response"];
            let what =
                if response["subtype"] == "error" { &response["error"] } else { &response["response"] };
            format!("answers {} {what}", text(&response["request_id"]))
        }
        "stream_event" => {
            let event = &line["event"];
            match (event["content_block"]["type"].as_str(), event["delta"]["type"].as_str()) {
                (Some(kind), _) => format!("piece content_block_start {kind}"),
                (_, Some(kind)) => {
                    let piece = ["text", "thinking", "signature", "partial_json"]
                        .iter()
                        .find_map(|name| event["delta"][name].as_str());
                    format!("piece {kind} {:?}", piece.unwrap_or_default())
                }
                (None, None) => format!("piece {}", text(&event["type"])),
            }
        }
        other => other.to_owned(),
    }
}

pub(crate) fn outline(stdout: &str) -> String {
    let mut lines = lines(stdout);
    lines.iter_mut().for_each(steady);
    lines.iter().map(short).collect::<Vec<_>>().join("\n")
}

/// Everything a client and its user would see.
pub(crate) fn told(output: &CommandOutput) -> String {
    let code = output.code().map_or_else(|| "none".to_owned(), |code| code.to_string());
    let stderr = output.stderr();
    let stderr = if stderr.is_empty() {
        String::new()
    } else {
        format!("\n------- stderr -------\n{}", stderr.trim_end())
    };
    format!("{}{stderr}\n[exit status: {code}]", outline(&output.stdout()))
}

/// One process with these lines on its standard input, and then the end.
pub(crate) fn talk<R: Into<Reply>>(
    replies: impl IntoIterator<Item = R>,
    more: &[&str],
    lines: &str,
) -> (CommandOutput, TestEnv) {
    let (world, _model) = with_model(replies);
    let output = world.run_with_stdin(&args(more), lines);
    (output, world)
}

/// A client that stays.
pub(crate) fn start(world: &TestEnv, more: &[&str]) -> Running {
    world.start(world.cmd(&args(more)), Stdin::Open, Stdout::Captured)
}

/// Waits for the nth question of a kind, and returns its id.
pub(crate) fn asked(run: &mut Running, subtype: &str, nth: usize) -> (String, Value) {
    let found = |stdout: &str| {
        let whole = stdout.rfind('\n').map_or("", |at| &stdout[..at]);
        let all = lines(whole);
        all.into_iter().filter(|line| line["request"]["subtype"] == subtype).nth(nth)
    };
    run.wait_until(&format!("question {nth} `{subtype}`"), |run| found(&run.stdout()).is_some());
    let line = found(&run.stdout()).expect("it was waited for");
    let id = line["request_id"].as_str().expect("a question has an id").to_owned();
    (id, line["request"].clone())
}

pub(crate) fn answer(id: &str, response: Value) -> String {
    let body = json!({"subtype": "success", "request_id": id, "response": response});
    format!("{}\n", json!({"type": "control_response", "response": body}))
}

/// Whole lines, so that nothing changes unseen: the introduction, a turn with a tool, its end.
#[test]
fn a_turn_line_by_line() {
    let replies = [
        anthropic::text("I look.").tool_use("toolu_1", "LS", json!({"path": "."})),
        anthropic::text("Nothing there."),
    ];
    let (output, _world) = talk(replies, &["--no-session-persistence"], &user("look"));
    let mut all = lines(&output.stdout());
    all.iter_mut().for_each(steady);
    let text = all.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(text, @r#"
    {"type":"system","subtype":"init","cwd":"$WORK","session_id":"[session_id]","tools":["Read","Write","Edit","Bash","MultiEdit","NotebookEdit","Glob","Grep","LS","WebFetch","TodoWrite","Task","TaskOutput","KillShell"],"mcp_servers":[],"model":"claude-sonnet-5-5","permissionMode":"default","slash_commands":[],"apiKeySource":"ANTHROPIC_API_KEY","claude_code_version":"2.1.0","output_style":"default","agents":["general-purpose"],"skills":[],"plugins":[],"zori_version":"[zori_version]","provider":"anthropic","uuid":"[uuid]"}
    {"type":"assistant","message":{"id":"[id]","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[{"type":"text","text":"I look."}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5}},"parent_tool_use_id":null,"session_id":"[session_id]","uuid":"[uuid]"}
    {"type":"assistant","message":{"id":"[id]","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[{"type":"tool_use","id":"toolu_1","name":"LS","input":{"path":"."}}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5}},"parent_tool_use_id":null,"session_id":"[session_id]","uuid":"[uuid]"}
    {"type":"user","message":{"role":"user","content":[{"tool_use_id":"toolu_1","type":"tool_result","content":"(the directory is empty)","is_error":false}]},"parent_tool_use_id":null,"timestamp":"[timestamp]","session_id":"[session_id]","uuid":"[uuid]"}
    {"type":"assistant","message":{"id":"[id]","type":"message","role":"assistant","model":"claude-haiku-4-5","content":[{"type":"text","text":"Nothing there."}],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":5}},"parent_tool_use_id":null,"session_id":"[session_id]","uuid":"[uuid]"}
    {"type":"result","subtype":"success","is_error":false,"api_error_status":null,"result":"Nothing there.","stop_reason":"end_turn","terminal_reason":"completed","duration_ms":0,"duration_api_ms":0,"ttft_ms":0,"num_turns":2,"session_id":"[session_id]","total_cost_usd":0.00014,"usage":{"input_tokens":20,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":10,"server_tool_use":{"web_search_requests":0,"web_fetch_requests":0},"service_tier":"standard"},"modelUsage":{"claude-sonnet-5-5":{"inputTokens":20,"outputTokens":10,"cacheReadInputTokens":0,"cacheCreationInputTokens":0,"webSearchRequests":0,"costUSD":0.00014,"contextWindow":1000000,"maxOutputTokens":128000}},"permission_denials":[],"uuid":"[uuid]"}
    "#);
    assert_eq!((output.stderr(), output.code()), (String::new(), Some(0)));
    assert!(output.stdout().lines().all(|line| line.starts_with("{\"type\":\"")), "{output}");
}

/// Each prompt is a turn of one conversation, with its own `init` and `result`; the echo is asked for.
#[test]
fn several_prompts() {
    let lines =
        [request("r1", json!({"subtype": "initialize", "hooks": null})), user("a"), user("b")].concat();
    let replies = [anthropic::text("One."), anthropic::text("Two.")];
    let (output, _world) = talk(replies, &["--replay-user-messages"], &lines);
    let told = told(&output);
    let (introduction, rest) = told.split_once('\n').unwrap();
    assert!(introduction.starts_with("answers r1 {\"commands\":[],\"agents\":[]"), "{introduction}");
    insta::assert_snapshot!(rest, @r#"
    echo {"role":"user","content":"a"}
    init
    says "One."
    over success "One." completed turns=1
    echo {"role":"user","content":"b"}
    init
    says "Two."
    over success "Two." completed turns=1
    [exit status: 0]
    "#);
}

/// Each request is announced, and what comes of it is told as it comes, the input of a call included.
#[test]
fn pieces_of_messages() {
    let list = anthropic::thinking("hm", "sig").text("a b").tool_use("1", "LS", json!({"path": "."}));
    let replies = [
        anthropic::http_error(529, "overloaded_error", "Overloaded"),
        list.reply(),
        anthropic::text("c").into(),
    ];
    let (output, _world) = talk(replies, &["--include-partial-messages", "--retry-delay", "0"], &user("hi"));
    insta::assert_snapshot!(told(&output), @r#"
    init
    requesting
    retry 1 529
    requesting
    piece message_start
    piece content_block_start thinking
    piece thinking_delta "hm"
    piece signature_delta "sig"
    thinking "hm"
    piece content_block_stop
    piece content_block_start text
    piece text_delta "a "
    piece text_delta "b"
    says "a b"
    piece content_block_stop
    piece content_block_start tool_use
    piece input_json_delta "{\"path"
    piece input_json_delta "\":\".\"}"
    calls LS {"path":"."}
    piece content_block_stop
    piece message_delta
    piece message_stop
    result "(the directory is empty)"
    requesting
    piece message_start
    piece content_block_start text
    piece text_delta "c"
    says "c"
    piece content_block_stop
    piece message_delta
    piece message_stop
    over success "c" completed turns=2
    ------- stderr -------
    Retrying in 0.0s (1/4): HTTP 529: Overloaded
    [exit status: 0]
    "#);
}

/// A provider that fails is a `success` that `is_error`, and the process goes on with the next prompt.
#[test]
fn failures_of_the_provider() {
    let replies = [
        anthropic::http_error(529, "overloaded_error", "Overloaded"),
        anthropic::http_error(400, "invalid_request_error", "too odd"),
        anthropic::text("Fine.").into(),
    ];
    let (output, _world) = talk(replies, &["--retry-delay", "0"], &[user("a"), user("b")].concat());
    insta::assert_snapshot!(told(&output), @r#"
    init
    retry 1 529
    says "API Error: 400 too odd" (invalid_request)
    over success is_error "API Error: 400 too odd" api_error turns=1
    init
    says "Fine."
    over success "Fine." completed turns=1
    ------- stderr -------
    Retrying in 0.0s (1/4): HTTP 529: Overloaded
    Error [http_status]: HTTP 400: too odd
      Details: {"error":{"message":"too odd","type":"invalid_request_error"},"type":"error"}
    [exit status: 0]
    "#);
}

#[test]
fn limits() {
    let list = |id: &str| anthropic::tool_use(id, "LS", json!({"path": "."}));
    let (output, _world) = talk([list("1"), list("2")], &["--max-turns", "2"], &user("go"));
    insta::assert_snapshot!(told(&output), @r#"
    init
    calls LS {"path":"."}
    result "(the directory is empty)"
    calls LS {"path":"."}
    result "(the directory is empty)"
    over error_max_turns is_error ["Reached maximum number of turns (2)"] max_turns turns=3
    ------- stderr -------
    Error: Reached the limit of 2 turns (`--max-turns`)
    [exit status: 1]
    "#);
}

/// Results of tools have no secrets in them (DECISIONS 31).
#[test]
fn secrets_in_results() {
    let (world, model) = with_model([
        anthropic::tool_use("1", "Read", json!({"file_path": "notes"})),
        anthropic::text("Done."),
    ]);
    world.write("notes", format!("key {}\n", zori_testkit::env::TEST_KEY));
    let output = world.run_with_stdin(&args(&[]), user("read"));
    assert!(!output.stdout().contains(zori_testkit::env::TEST_KEY), "{output}");
    assert!(output.stdout().contains("1\\tkey [REDACTED]"), "{output}");
    assert_eq!(model.count(), 2);
}
