//! `web_search`: the provider's own search tool, in a request of its own (WS-1 to WS-3).

use serde_json::{Value, json};
use zori_testkit::env::TestEnv;
use zori_testkit::reply::Reply;
use zori_testkit::server::{ModelServer, Request};
use zori_testkit::{anthropic, fixture};

use crate::world::{with_model, world};

fn found(vendor: &str) -> Reply {
    let body = fixture::bytes(&format!("web_search/{vendor}.json"));
    Reply::json(200, String::from_utf8(body).expect("it is JSON"))
}

fn search(id: &str) -> Reply {
    anthropic::tool_use(id, "web_search", json!({"query": "newest rust"})).into()
}

/// Whether a request offers the tool.
fn lists(request: &Request) -> bool {
    request.json()["tools"].to_string().contains("\"web_search\"")
}

#[test]
fn a_search_by_anthropic() {
    let (world, model) = with_model([search("t1"), found("anthropic"), anthropic::text("1.99.").into()]);
    let output = world.run(&["exec", "--session", "s", "-p", "which rust?", "--output", "json"]);
    let answer: Value = serde_json::from_str(&output.stdout()).expect("an envelope");
    assert_eq!((output.code(), &answer["data"]["result"]), (Some(0), &json!("1.99.")), "{output}");
    assert!(lists(&model.request(0)), "network calls are allowed, so it is offered");
    let asked = model.request(1).json();
    assert_eq!(asked["tools"], json!([{"type": "web_search_20250305", "name": "web_search", "max_uses": 5}]));
    assert_eq!((asked["messages"].as_array().map(Vec::len), &asked["stream"]), (Some(1), &Value::Null));
    insta::assert_snapshot!(model.request(2).conversation(), @r#"
    user: which rust?
    assistant: tool_use t1 web_search {"query":"newest rust"}
    user: tool_result t1 I'll search for it. Rust 1.99 came out in April.
    Sources:
    1. News: https://rust-lang.org/news
    2. Releases: https://blog.rust-lang.org/releases
    3. Learn Rust: https://rust-lang.org/learn
    "#);
    // Its tokens and the fee of two searches count.
    assert_eq!(answer["data"]["usage"]["input_tokens"], 6059);
    assert_eq!(answer["data"]["cost_usd"], 0.041528);
    // A session that goes on sends the same text.
    let resumed = ModelServer::strict([anthropic::text("Yes.")]);
    let mut world = world;
    world.use_server(&resumed);
    world.run(&["exec", "--session", "s", "-p", "sure?"]).success();
    let sent = resumed.request(0).conversation();
    assert!(sent.starts_with(&model.request(2).conversation()), "{sent}");
}

fn at(server: &ModelServer, vendor: &str) -> TestEnv {
    let mut world = world();
    world.set_var(format!("{vendor}_BASE_URL"), server.url());
    world.set_var(format!("{vendor}_API_KEY"), "sk-0123456789");
    world
}

#[test]
fn a_search_by_openai() {
    let call = json!({"type": "function_call", "call_id": "c1", "name": "web_search", "arguments": "{\"query\":\"newest rust\"}"});
    let said = json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "1.99."}]});
    let answer =
        |item: &Value| Reply::json(200, json!({"status": "completed", "model": "m", "output": [item]}));
    let server = ModelServer::start([answer(&call), found("openai"), answer(&said)]);
    let world = at(&server, "OPENAI");
    let output =
        world.run(&["exec", "--no-save", "--no-stream", "--provider", "openai", "-p", "which rust?"]);
    assert!(output.code() == Some(0) && output.stdout().contains("1.99."), "{output}");
    assert!(lists(&server.request(0)));
    assert_eq!(server.request(1).json()["tools"], json!([{"type": "web_search"}]));
    insta::assert_snapshot!(server.request(2).json()["input"][2]["output"].as_str().unwrap_or_default(), @"
    Rust 1.99 came out in April.
    Sources:
    1. News: https://rust-lang.org/news?utm_source=openai
    2. https://releases.rs
    ");
}

#[test]
fn a_search_by_gemini() {
    let answer = |part: Value| {
        let content = json!({"role": "model", "parts": [part]});
        Reply::json(200, json!({"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}))
    };
    let call = json!({"functionCall": {"name": "web_search", "args": {"query": "newest rust"}}});
    let server = ModelServer::start([answer(call), found("gemini"), answer(json!({"text": "1.99."}))]);
    let world = at(&server, "GEMINI");
    let output =
        world.run(&["exec", "--no-save", "--no-stream", "--provider", "gemini", "-p", "which rust?"]);
    assert!(output.code() == Some(0) && output.stdout().contains("1.99."), "{output}");
    assert!(lists(&server.request(0)));
    assert_eq!(server.request(1).json()["tools"], json!([{"google_search": {}}]));
    let result = &server.request(2).json()["contents"][2]["parts"][0]["functionResponse"]["response"];
    insta::assert_snapshot!(result, @r#"{"output":"Rust 1.99 came out in April.\nSources:\n1. rust-lang.org: https://vertexaisearch.cloud.google.com/grounding-api-redirect/A\n2. releases.rs: https://vertexaisearch.cloud.google.com/grounding-api-redirect/B"}"#);
}

/// Where network calls are asked about: not offered, asked about once, then offered and not asked about again.
#[test]
fn one_question_a_session() {
    let (world, model) = with_model([
        search("t1"),
        found("anthropic"),
        search("t2"),
        found("anthropic"),
        anthropic::text("1.99.").into(),
    ]);
    let args = ["--json", "--no-save", "--permission-mode", "default"];
    let output = world.run_with_stdin(&args, "which rust?\ny\n");
    assert_eq!(output.stdout().matches("\"elicitation\"").count(), 1, "{output}");
    assert_eq!(model.count(), 5, "{output}");
    assert_eq!([0, 2, 4].map(|n| lists(&model.request(n))), [false, true, true]);
}

/// Who says no is not asked for the page, and a provider without a search says so.
#[test]
fn no_search() {
    let (world, model) = with_model([search("t1"), anthropic::text("Then not.").into()]);
    world.run_with_stdin(&["--json", "--no-save", "--permission-mode", "default"], "which rust?\nn\n");
    assert_eq!(model.count(), 2);
    assert!(model.request(1).conversation().contains("The user rejected this call"));

    let call = json!({"id": "c1", "type": "function", "function": {"name": "web_search", "arguments": "{\"query\":\"x\"}"}});
    let answer = |message: Value| {
        Reply::json(
            200,
            json!({"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}),
        )
    };
    let server = ModelServer::start([
        answer(json!({"role": "assistant", "content": null, "tool_calls": [call]})),
        answer(json!({"role": "assistant", "content": "Then not."})),
    ]);
    let mut world = world;
    world.set_var("OPENROUTER_BASE_URL", server.url());
    world.set_var("OPENROUTER_API_KEY", "sk-0123456789");
    let args = [
        "exec",
        "--no-save",
        "--no-stream",
        "--provider",
        "openrouter",
        "--model",
        "x/y",
        "-p",
        "which rust?",
    ];
    world.run(&args);
    assert!(!lists(&server.request(0)), "it is not offered");
    let told = server.request(1).json()["messages"].to_string();
    assert!(told.contains("has no search of its own"), "{told}");
}
