//! Replies that are none (DECISIONS 45), over every API: no call of theirs is run, and the exit code says which kind it was.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use crate::world::world;

const COMMAND: &str = "touch done";

/// A reply of the Messages API with a call, which ended for a reason.
fn messages(reason: &str, details: Value) -> Reply {
    let reply = anthropic::tool_use("toolu_1", "bash", json!({"command": COMMAND})).stop(reason).sse();
    let plain = format!(r#""stop_reason":"{reason}""#);
    assert!(reply.contains(&plain), "{reply}");
    Reply::sse(reply.replace(&plain, &format!(r#"{plain},"stop_details":{details}"#)))
}

fn frames(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\n\n")).collect()
}

/// The same of Chat Completions.
fn chat(reason: &str, refusal: Option<&str>) -> Reply {
    let function = json!({"name": "bash", "arguments": json!({"command": COMMAND}).to_string()});
    let call = json!({"index": 0, "id": "call_1", "type": "function", "function": function});
    let delta = json!({"role": "assistant", "refusal": refusal, "tool_calls": [call]});
    let events = [
        json!({"model": "m", "choices": [{"index": 0, "delta": delta}]}),
        json!({"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]}),
    ];
    Reply::sse(format!("{}data: [DONE]\n\n", frames(&events)))
}

/// The same of Responses: the call, perhaps a refusal, and the end.
fn responses(refusal: Option<&str>, end: &Value) -> Reply {
    let arguments = json!({"command": COMMAND}).to_string();
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "bash",
        "arguments": arguments, "status": "completed"});
    let mut events = vec![
        json!({"type": "response.created", "response": {"model": "m", "status": "in_progress"}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": call}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": call}),
    ];
    if let Some(text) = refusal {
        let message = json!({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant",
            "content": [{"type": "refusal", "refusal": text}]});
        events.push(json!({"type": "response.output_item.added", "output_index": 1, "item": message}));
        events.push(json!({"type": "response.output_item.done", "output_index": 1, "item": message}));
    }
    events.push(end.clone());
    Reply::sse(frames(&events))
}

/// The same of Gemini, with or without the call.
fn gemini(reason: &str) -> Reply {
    let call = json!({"functionCall": {"name": "bash", "args": {"command": COMMAND}}});
    let events = [
        json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [call]}}], "modelVersion": "m"}),
        json!({"candidates": [{"index": 0, "finishReason": reason, "finishMessage": "As the policy says."}]}),
    ];
    Reply::sse(frames(&events))
}

fn at(server: &ModelServer) -> TestEnv {
    let mut world = world();
    for (prefix, version) in [("ANTHROPIC", ""), ("OPENAI", "/v1"), ("GEMINI", "")] {
        world.set_var(format!("{prefix}_BASE_URL"), format!("{}{version}", server.url()));
        world.set_var(format!("{prefix}_API_KEY"), "sk-0123456789");
    }
    world
}

/// Runs one prompt against these replies. Returns what was printed; no call may have run.
fn run(provider: &str, replies: Vec<Reply>) -> String {
    let count = replies.len();
    let server = ModelServer::start(replies);
    let world = at(&server);
    let output = world.run(&["exec", "--no-save", "--provider", provider, "-p", "go"]);
    assert!(!world.work().join("done").exists(), "a call of a reply that is none was run: {output}");
    assert_eq!(server.count(), count, "{output}");
    format!("{provider}: {output}")
}

#[test]
fn nothing_of_a_refused_reply_is_run() {
    let ended = |end: Value| json!({"type": "response.completed", "response": end});
    let completed = ended(json!({"status": "completed"}));
    let filtered = json!({"type": "response.incomplete",
        "response": {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}}});
    let failed = json!({"type": "response.failed", "response": {"status": "failed",
        "error": {"code": "misalignment_policy_violation", "message": "This looks like harm."}}});
    let details = json!({"type": "refusal", "category": "cyber", "explanation": "This may be an exploit."});
    let outputs = [
        run("anthropic", vec![messages("refusal", details)]),
        run("anthropic", vec![messages("refusal", Value::Null)]),
        run("openai-chat", vec![chat("content_filter", None)]),
        run("openai-chat", vec![chat("stop", Some("I will not."))]),
        run("openai-chat", vec![chat("tool_calls", Some("I will not."))]),
        run("openai", vec![responses(Some("I will not."), &completed)]),
        run("openai", vec![responses(None, &filtered)]),
        run("openai", vec![responses(None, &failed)]),
        run("gemini", vec![gemini("SAFETY")]),
        run("gemini", vec![gemini("PROHIBITED_CONTENT")]),
    ];
    insta::assert_snapshot!(outputs.join("\n"), @r"
    anthropic: ------- stderr -------
    Error [refused]: the model refused to answer (cyber: This may be an exploit.)
    [exit status: 7]
    anthropic: ------- stderr -------
    Error [refused]: the model refused to answer
    [exit status: 7]
    openai-chat: ------- stderr -------
    Error [refused]: the provider withheld the answer
    [exit status: 7]
    openai-chat: I will not.
    ------- stderr -------
    Error [refused]: the model refused to answer
    [exit status: 7]
    openai-chat: I will not.
    ------- stderr -------
    Error [refused]: the model refused to answer
    [exit status: 7]
    openai: I will not.
    ------- stderr -------
    Error [refused]: the model refused to answer
    [exit status: 7]
    openai: ------- stderr -------
    Error [refused]: the provider withheld the answer
    [exit status: 7]
    openai: ------- stderr -------
    Error [blocked]: misalignment_policy_violation: This looks like harm.
    [exit status: 7]
    gemini: ------- stderr -------
    Error [refused]: the provider withheld the answer (SAFETY: As the policy says.)
    [exit status: 7]
    gemini: ------- stderr -------
    Error [refused]: the provider withheld the answer (PROHIBITED_CONTENT: As the policy says.)
    [exit status: 7]
    ");
}

#[test]
fn a_prompt_that_was_blocked() {
    let blocked = json!({"promptFeedback": {"blockReason": "SAFETY"}, "modelVersion": "m"});
    let invalid = json!({"error": {"message": "Your prompt was flagged.", "type": "invalid_request_error",
        "code": "invalid_prompt"}});
    let outputs = [
        run("gemini", vec![Reply::sse(frames(&[blocked]))]),
        run("openai", vec![Reply::json(400, invalid.to_string())]),
    ];
    insta::assert_snapshot!(outputs.join("\n"), @r#"
    gemini: ------- stderr -------
    Error [blocked]: the provider blocked the prompt (SAFETY)
    [exit status: 7]
    openai: ------- stderr -------
    Error [blocked]: HTTP 400: Your prompt was flagged.
      Details: {"error":{"message":"Your prompt was flagged.","type":"invalid_request_error","code":"invalid_prompt"}}
    [exit status: 7]
    "#);
}

#[test]
fn a_malformed_reply_is_asked_for_once_more() {
    let malformed = || gemini("MALFORMED_FUNCTION_CALL");
    let fine = json!({"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": "Fine."}]},
        "finishReason": "STOP"}]});
    let outputs = [
        run("gemini", vec![malformed(), malformed()]),
        run("gemini", vec![malformed(), Reply::sse(frames(&[fine]))]),
    ];
    insta::assert_snapshot!(outputs.join("\n"), @r"
    gemini: ------- stderr -------
    Warning: the model sent no usable reply (MALFORMED_FUNCTION_CALL: As the policy says.); it is asked once more
    Error [malformed]: the model sent no usable reply (MALFORMED_FUNCTION_CALL: As the policy says.)
    [exit status: 1]
    gemini: Fine.
    ------- stderr -------
    Warning: the model sent no usable reply (MALFORMED_FUNCTION_CALL: As the policy says.); it is asked once more
    [exit status: 0]
    ");
}

/// A call that the token limit cut off looks complete over this API where it had no arguments yet.
#[test]
fn a_reply_cut_off_inside_a_call() {
    let cut = || messages("max_tokens", Value::Null);
    insta::assert_snapshot!(run("anthropic", vec![cut(), cut(), cut()]), @r#"
    anthropic: ------- stderr -------
    Warning: The reply was cut off inside a tool call at the token limit (`max_tokens`); the call was not run
    Tool finished: bash error="Your reply was cut off at the token limit (`max_tokens`) before this call was complete. Nothing of it was executed. Send the call again in smaller pieces, for instance a large file in several edits."
    Warning: The reply was cut off inside a tool call at the token limit (`max_tokens`); the call was not run
    Tool finished: bash error="Your reply was cut off at the token limit (`max_tokens`) before this call was complete. Nothing of it was executed. Send the call again in smaller pieces, for instance a large file in several edits."
    Warning: The reply was cut off inside a tool call at the token limit (`max_tokens`); the call was not run
    Tool finished: bash error="Your reply was cut off at the token limit (`max_tokens`) before this call was complete. Nothing of it was executed. Send the call again in smaller pieces, for instance a large file in several edits."
    Error [cut]: the reply was cut off at the token limit (`max_tokens`)
    [exit status: 3]
    "#);
    let server = ModelServer::start([cut(), anthropic::text("I will write less.").reply()]);
    let world = at(&server);
    assert_eq!(world.run(&["exec", "--no-save", "--provider", "anthropic", "-p", "go"]).code(), Some(0));
    insta::assert_snapshot!(server.request(1).conversation(), @r#"
    user: go
    assistant: tool_use toolu_1 bash {"command":"touch done"}
    user: tool_result (error) toolu_1 error invalid_input: Your reply was cut off at the token limit (`max_tokens`) before this call was complete. Nothing of it was executed. Send the call again in smaller pieces, for instance a large file in several edits.
    "#);
}

#[test]
fn the_codes_of_the_envelope() {
    let said = |provider: &str, reply: Reply| {
        let server = ModelServer::start([reply]);
        let output =
            at(&server).run(&["exec", "--no-save", "--provider", provider, "--output", "json", "-p", "go"]);
        let envelope: Value = serde_json::from_str(&output.stdout()).expect("an envelope");
        let error = &envelope["error"];
        json!([error["code"], error["message"], output.code()])
    };
    let blocked = frames(&[json!({"promptFeedback": {"blockReason": "BLOCKLIST"}})]);
    assert_eq!(
        json!([said("gemini", gemini("SAFETY")), said("gemini", Reply::sse(blocked))]),
        json!([
            ["MODEL_REFUSED", "The provider withheld the answer (SAFETY: As the policy says.).", 7],
            ["CONTENT_BLOCKED", "The provider blocked the prompt (BLOCKLIST).", 7],
        ])
    );
}

/// DECISIONS 45: 3 once a tool with effects has run.
#[test]
fn a_refusal_after_an_effect() {
    let first = anthropic::tool_use("toolu_0", "bash", json!({"command": "touch first"})).reply();
    let server = ModelServer::start([first, messages("refusal", Value::Null)]);
    let world = at(&server);
    let output = world.run(&["exec", "--no-save", "--provider", "anthropic", "-p", "go"]);
    assert_eq!(output.code(), Some(3), "{output}");
    assert!(world.work().join("first").exists());
    assert!(!world.work().join("done").exists());
}
