use std::future::poll_fn;
use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::ids::CallId;
use zori_core::message::{Block, Message, Role, ToolResult};
use zori_core::provider::{Chunk, Delivery};

use super::*;

/// The one place that knows how to ask: one line per chunk, or the failure.
async fn ask(provider: &ScriptedProvider, messages: &[Arc<Message>]) -> Vec<String> {
    let tools = Arc::default();
    let system = Arc::from("Be brief.");
    let request = Request {
        model: "m1",
        system: Some(&system),
        tools: &tools,
        messages,
        max_tokens: None,
        temperature: None,
        effort: None,
        delivery: Delivery::Streamed,
    };
    let mut stream = match provider.stream(&request).await {
        Ok(stream) => stream,
        Err(failure) => return vec![format!("refused: {failure}")],
    };
    let mut out = Vec::new();
    while let Some(item) = poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        out.push(match item {
            Ok(chunk) => format!("{chunk:?}"),
            Err(failure) => format!("failed: {failure}"),
        });
    }
    out
}

fn script(text: &str) -> ScriptedProvider {
    ScriptedProvider::parse(text, Pace::Instant).unwrap()
}

fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::user(text))
}

fn result(name: &str, ok: bool, content: &str) -> Arc<Message> {
    let envelope = RawValue::from_string(content.to_owned()).unwrap().into();
    let result = ToolResult {
        call: CallId::new("c1"),
        name: name.into(),
        ok,
        envelope,
        text: None,
        images: Vec::new(),
    };
    Arc::new(Message { role: Role::User, blocks: vec![Block::ToolResult(result)] })
}

#[tokio::test]
async fn a_reply_with_everything() {
    let provider = script(
        r#"{"reply":[{"thinking":"hm so","signature":"s"},{"text":" two  words\n"},{"pause_ms":60000},{"tool":"read","id":"c1","input":{"path" : "a"}}],"usage":{"input":3,"output":4}}"#,
    );
    assert_eq!(
        ask(&provider, &[user("hi")]).await,
        [
            r#"Started { model: "m1" }"#,
            r#"Thinking("hm ")"#,
            r#"Thinking("so")"#,
            r#"ThinkingReplay(Opaque { provider: "scripted", model: None, raw: RawValue("s"), is_state: false })"#,
            "BlockEnd",
            r#"Text(" two  ")"#,
            r#"Text("words\n")"#,
            "BlockEnd",
            r#"CallStart { index: 0, id: Some("c1"), name: "read", replay: None }"#,
            r#"CallInput { index: 0, json: "{\"path\" : \"a\"}" }"#,
            "CallEnd { index: 0 }",
            "Usage(Usage { input: 3, output: 4, cache_read: 0, cache_write: 0, cache_unknown: 0 })",
            "Done(ToolUse)",
        ]
    );
    assert_eq!(provider.remaining(), 0);
    assert_eq!(
        ask(&provider, &[user("hi")]).await,
        ["refused: internal: the script has 1 steps, and this is request 2"]
    );
}

#[tokio::test]
async fn replies_that_go_wrong() {
    let provider = script(concat!(
        r#"{"reply":[{"error":{"kind":"http_status","status":429,"message":"HTTP 429","retry_after_ms":5}}]}"#,
        "\n\n",
        r#"{"reply":[{"text":"par"},{"error":{"kind":"api_error","message":"overloaded_error: busy"}}]}"#,
        "\n",
        r#"{"reply":[{"tool":"bash","raw_input":"{\"comm","unfinished":true},{"cut":true}],"model":"m2"}"#,
        "\n",
        r#"{"reply":[{"text":"no"}],"stop":"refusal"}"#,
    ));
    assert_eq!(ask(&provider, &[]).await, ["refused: http_status: HTTP 429"]);
    assert_eq!(
        ask(&provider, &[]).await,
        [
            r#"Started { model: "m1" }"#,
            r#"Text("par")"#,
            "BlockEnd",
            "failed: api_error: overloaded_error: busy"
        ]
    );
    assert_eq!(
        ask(&provider, &[]).await,
        [
            r#"Started { model: "m2" }"#,
            r#"CallStart { index: 0, id: None, name: "bash", replay: None }"#,
            r#"CallInput { index: 0, json: "{\"comm" }"#,
            "failed: transport: stream ended before the reply was complete"
        ]
    );
    assert_eq!(ask(&provider, &[]).await.last().map(String::as_str), Some("Done(Refusal(None))"));
}

#[tokio::test]
async fn a_reply_that_hangs_stays_silent() {
    let provider = script(r#"{"reply":[{"text":"x"},{"hang":true}]}"#);
    let tools = Arc::default();
    let request = Request {
        model: "m",
        system: None,
        tools: &tools,
        messages: &[],
        max_tokens: None,
        temperature: None,
        effort: None,
        delivery: Delivery::Streamed,
    };
    let mut stream = provider.stream(&request).await.unwrap();
    let mut seen = 0;
    loop {
        let polled = poll_fn(|cx| std::task::Poll::Ready(stream.as_mut().poll_next(cx))).await;
        match polled {
            std::task::Poll::Ready(Some(Ok(Chunk::Done(_)) | Err(_)) | None) => panic!("it ended"),
            std::task::Poll::Ready(_) => seen += 1,
            std::task::Poll::Pending => break,
        }
    }
    assert_eq!(seen, 3, "started, text, block end, then silence");
}

#[tokio::test]
async fn requests_are_checked() {
    let check = async |expect: &str, messages: &[Arc<Message>]| {
        let provider = script(&format!(r#"{{"expect":{expect},"reply":[]}}"#));
        ask(&provider, messages).await.remove(0)
    };
    let met = r#"Started { model: "m1" }"#;
    let said = [user("say hello")];
    assert_eq!(check(r#"{"last_user":"say hello","model":"m1","messages":1,"tools":[]}"#, &said).await, met);
    assert_eq!(check(r#"{"last_user_contains":"hell","system_contains":"brief"}"#, &said).await, met);
    for (expect, problem) in [
        (r#"{"model":"m9"}"#, r#"expected model "m9", got "m1""#),
        (r#"{"last_user":"x"}"#, r#"expected last user text "x", got "say hello""#),
        (r#"{"last_user_contains":"x"}"#, r#"expected the last user text to contain "x", got "say hello""#),
        (r#"{"system_contains":"x"}"#, r#"expected the system prompt to contain "x", got "Be brief.""#),
        (r#"{"messages":2}"#, r#"expected number of messages "2", got "1""#),
        (r#"{"tools":["read"]}"#, r#"expected tools "read", got """#),
        (r#"{"tool_results":[{}]}"#, r#"expected number of tool results "1", got "0""#),
    ] {
        assert_eq!(
            check(expect, &said).await,
            format!("refused: internal: script line 1: {problem}"),
            "{expect}"
        );
    }

    let model = Arc::new(Message { role: Role::Assistant, blocks: vec![Block::Text("calls".into())] });
    let answered = [result("old", true, "{}"), model, result("bash", false, r#"{"exit_code":1}"#)];
    let fine = r#"{"tool_results":[{"id":"c1","name":"bash","ok":false,"contains":"exit_code\":1"}]}"#;
    assert_eq!(check(fine, &answered).await, met);
    for (expect, problem) in [
        (r#"{"ok":true}"#, r#"expected ok of tool result 1 true, got false: {"exit_code":1}"#),
        (r#"{"name":"read"}"#, r#"expected name of tool result 1 "read", got "bash""#),
        (r#"{"id":"c2"}"#, r#"expected id of tool result 1 "c2", got "c1""#),
        (
            r#"{"contains":"zero"}"#,
            r#"expected content of tool result 1 to contain "zero", got "{\"exit_code\":1}""#,
        ),
    ] {
        assert_eq!(
            check(&format!(r#"{{"tool_results":[{expect}]}}"#), &answered).await,
            format!("refused: internal: script line 1: {problem}"),
            "{expect}"
        );
    }
}

#[test]
fn scripts_that_are_none() {
    let parse =
        |text: &str| ScriptedProvider::parse(text, Pace::Instant).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        parse("{\"reply\":[]}\n{\"reply\":[{}]}"),
        "script line 2: a piece needs exactly one of text, thinking, tool, pause_ms, error, cut, hang"
    );
    assert_eq!(
        parse(r#"{"reply":[{"text":"a","cut":true}]}"#),
        "script line 1: a piece needs exactly one of text, thinking, tool, pause_ms, error, cut, hang"
    );
    assert_eq!(
        parse(r#"{"reply":[{"error":{"kind":"odd","message":"m"}}]}"#),
        "script line 1: unknown error kind `odd`"
    );
    assert!(parse(r#"{"reply":[],"expekt":{}}"#).contains("unknown field `expekt`"));
    assert!(parse("nonsense").starts_with("script line 1: "));
}

#[tokio::test]
async fn a_pace_takes_time() {
    let step = Duration::from_millis(5);
    let provider =
        ScriptedProvider::parse(r#"{"reply":[{"text":"a b c"},{"pause_ms":5}]}"#, Pace::PerWord(step))
            .unwrap();
    let start = tokio::time::Instant::now();
    assert_eq!(ask(&provider, &[]).await.len(), 6);
    assert!(start.elapsed() >= step * 4, "{:?}", start.elapsed());
}
