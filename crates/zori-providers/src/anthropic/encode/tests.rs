use std::sync::Arc;

use zori_core::ids::CallId;
use zori_core::image::Image;
use zori_core::message::{IdOrigin, Opaque, Thinking, ToolInput, ToolResult};
use zori_core::provider::Effort;

use super::*;

/// The one place that knows how to ask: encodes a conversation without system prompt and tools.
fn encode(encoder: &mut Encoder, messages: &[Arc<Message>]) -> String {
    let tools = Arc::default();
    let request = Request {
        model: "m",
        system: None,
        tools: &tools,
        messages,
        max_tokens: None,
        temperature: None,
        effort: None,
        delivery: Delivery::Whole,
    };
    String::from_utf8(encoder.encode(&request, 5, Names::Model)).unwrap()
}

/// Encodes with a fresh encoder and returns the messages only.
fn messages(list: &[Arc<Message>]) -> String {
    let body = encode(&mut Encoder::default(), list);
    body.strip_prefix(r#"{"model":"m","max_tokens":5,"messages":["#)
        .unwrap()
        .strip_suffix("]}")
        .unwrap()
        .to_owned()
}

fn user(text: &str) -> Arc<Message> {
    Arc::new(Message::user(text))
}

fn assistant(blocks: Vec<Block>) -> Arc<Message> {
    Arc::new(Message { role: Role::Assistant, blocks })
}

fn raw(json: &str) -> Box<RawValue> {
    RawValue::from_string(json.to_owned()).unwrap()
}

fn call(id: &str, input: ToolInput) -> Block {
    Block::ToolCall(ToolCall {
        id: CallId::new(id),
        name: "read".into(),
        input,
        id_origin: IdOrigin::Provider,
        replay: None,
    })
}

fn result(id: &str, ok: bool, text: Option<&str>) -> Block {
    Block::ToolResult(ToolResult {
        call: CallId::new(id),
        name: "read".into(),
        ok,
        envelope: raw(&format!(r#"{{"ok":{ok}}}"#)).into(),
        text: text.map(Arc::from),
        images: Vec::new(),
    })
}

fn thinking(provider: &str, json: &str) -> Block {
    let replay = Opaque::new(provider, raw(json));
    Block::Thinking(Thinking { text: "hm".into(), replay: Some(replay) })
}

#[test]
fn everything_a_request_can_have() {
    let tool = |name: &str| ToolSpec {
        name: name.into(),
        description: "Does \"it\".".into(),
        schema: raw(r#"{"type" : "object"}"#),
    };
    let tools: Arc<[ToolSpec]> = [tool("a"), tool("b")].into();
    let request = Request {
        model: "m\"1",
        system: Some(&Arc::from("Be brief.\n")),
        tools: &tools,
        messages: &[user("hi")],
        max_tokens: Some(9),
        temperature: Some(0.5),
        effort: None,
        delivery: Delivery::Streamed,
    };
    assert_eq!(
        String::from_utf8(Encoder::default().encode(&request, 9, Names::Model)).unwrap(),
        concat!(
            r#"{"model":"m\"1","max_tokens":9,"stream":true,"temperature":0.5,"#,
            r#""tools":[{"name":"a","description":"Does \"it\".","input_schema":{"type" : "object"}},"#,
            r#"{"name":"b","description":"Does \"it\".","input_schema":{"type" : "object"},"cache_control":{"type":"ephemeral"}}],"#,
            r#""system":[{"type":"text","text":"Be brief.\n","cache_control":{"type":"ephemeral"}}],"#,
            r#""messages":[{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}]}"#,
        )
    );
}

#[test]
fn thinking_is_said_in_front_of_what_stays_the_same() {
    let body = |model: &str, effort: Option<Effort>| {
        let tools = Arc::default();
        let request = Request {
            model,
            system: None,
            tools: &tools,
            messages: &[],
            max_tokens: None,
            temperature: Some(0.5),
            effort,
            delivery: Delivery::Whole,
        };
        String::from_utf8(Encoder::default().encode(&request, 9000, Names::Model)).unwrap()
    };
    assert_eq!(
        body("claude-haiku-4-5", Some(Effort::Low)),
        r#"{"model":"claude-haiku-4-5","max_tokens":9000,"thinking":{"type":"enabled","budget_tokens":2048},"messages":[]}"#
    );
    assert_eq!(
        body("claude-haiku-4-5", Some(Effort::Off)),
        r#"{"model":"claude-haiku-4-5","max_tokens":9000,"temperature":0.5,"messages":[]}"#
    );
    assert_eq!(
        body("claude-opus-5-5", Some(Effort::Medium)),
        concat!(
            r#"{"model":"claude-opus-5-5","max_tokens":9000,"thinking":{"type":"adaptive","display":"summarized"},"#,
            r#""output_config":{"effort":"medium"},"messages":[]}"#,
        )
    );
    assert_eq!(
        body("claude-opus-5-5", None),
        r#"{"model":"claude-opus-5-5","max_tokens":9000,"messages":[]}"#
    );
}

#[test]
fn results_come_before_text_and_say_error_only_when_it_is_one() {
    let mixed = Message {
        role: Role::User,
        blocks: vec![Block::Text("and".into()), result("t1", true, None), result("t2", false, Some("no"))],
    };
    assert_eq!(
        messages(&[Arc::new(mixed)]),
        concat!(
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"{\"ok\":true}"},"#,
            r#"{"type":"tool_result","tool_use_id":"t2","content":"no","is_error":true},"#,
            r#"{"type":"text","text":"and","cache_control":{"type":"ephemeral"}}]}"#,
        )
    );
}

#[test]
fn thinking_goes_back_byte_for_byte_to_its_own_provider_only() {
    let own = r#"{"type":"thinking", "thinking":"h\u006d","signature":"Eq=="}"#;
    let reply = assistant(vec![
        thinking("gemini", r#"{"x":1}"#),
        thinking("anthropic", own),
        Block::Thinking(Thinking { text: "unsigned".into(), replay: None }),
        call("t1", ToolInput::parse(r#"{"path" :"a"}"#.into())),
        thinking("anthropic", r#"{"type":"redacted_thinking","data":"cut off"}"#),
    ]);
    assert_eq!(
        messages(&[reply]),
        format!(
            concat!(
                r#"{{"role":"assistant","content":[{},{{"type":"tool_use","id":"t1","name":"read","#,
                r#""input":{{"path" :"a"}},"cache_control":{{"type":"ephemeral"}}}}]}}"#,
            ),
            own
        )
    );
}

#[test]
fn what_cannot_be_sent_leaves_no_trace() {
    let empty = [
        assistant(vec![]),
        user(" \n"),
        assistant(vec![Block::Text(String::new())]),
        assistant(vec![thinking("anthropic", "{}")]),
        assistant(vec![thinking("openai", "{}")]),
    ];
    assert_eq!(messages(&empty), "");
    let with = [&empty[..], &[user("hi")], &empty[..]].concat();
    assert_eq!(
        messages(&with),
        r#"{"role":"user","content":[{"type":"text","text":"hi","cache_control":{"type":"ephemeral"}}]}"#
    );
}

#[test]
fn calls_that_the_api_would_refuse_are_made_acceptable() {
    let one = |id: &str, input: ToolInput| messages(&[assistant(vec![call(id, input)])]);
    let expected = |id: &str, input: &str| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"read","input":{input},"cache_control":{{"type":"ephemeral"}}}}]}}"#
        )
    };
    assert_eq!(one("ok_-1", ToolInput::parse("[1]".into())), expected("ok_-1", "{}"));
    assert_eq!(one("a.b/ü", ToolInput::Malformed("{\"x".into())), expected("a_b__", "{}"));
    assert_eq!(one("", ToolInput::empty()), expected("_", "{}"));
    let named = ToolCall {
        id: CallId::new("a"),
        name: "my tool".into(),
        input: ToolInput::empty(),
        id_origin: IdOrigin::Provider,
        replay: None,
    };
    assert_eq!(
        messages(&[assistant(vec![Block::ToolCall(named)])]),
        expected("a", "{}").replace("read", "my_tool")
    );
}

/// A conversation of tool steps: user, then call and result again and again.
fn steps(count: usize) -> Vec<Arc<Message>> {
    let mut list = vec![user("go")];
    for n in 0..count {
        let id = format!("t{n}");
        list.push(assistant(vec![Block::Text(format!("step {n}")), call(&id, ToolInput::empty())]));
        list.push(Arc::new(Message { role: Role::User, blocks: vec![result(&id, true, None)] }));
    }
    list
}

#[test]
fn a_kept_encoder_writes_the_same_bytes_as_a_fresh_one() {
    let list = steps(6);
    let mut kept = Encoder::default();
    let mut histories = vec![];
    // Forward, back (a failed prompt is taken off the history), forward again, and a turn that went otherwise.
    for len in [1, 3, 5, 4, 2, 13, 7] {
        histories.push(list[..len].to_vec());
    }
    let mut other = list[..5].to_vec();
    other.push(user("something else"));
    histories.push(other);
    histories.push(list.clone());
    for history in histories {
        assert_eq!(encode(&mut kept, &history), encode(&mut Encoder::default(), &history));
    }
}

#[test]
fn the_history_is_a_byte_stable_prefix_with_two_marks_at_its_end() {
    let list = steps(6);
    let mut encoder = Encoder::default();
    let mark = std::str::from_utf8(wire::CACHE_CONTROL).unwrap();
    let mut before = String::new();
    for len in (1..=list.len()).step_by(2) {
        let body = encode(&mut encoder, &list[..len]);
        assert_eq!(body.matches(mark).count(), if len == 1 { 1 } else { 2 });
        let plain = body.replace(mark, "");
        let history = plain.strip_suffix("]}").unwrap();
        assert!(history.starts_with(&before), "request {len} changed what was sent before");
        before = history.to_owned();
    }
}

fn image() -> Image {
    Image::parse(&include_bytes!("../../../../../fixtures/images/box.png")[..]).unwrap()
}

fn seen(id: &str) -> Block {
    match result(id, true, None) {
        Block::ToolResult(result) => Block::ToolResult(ToolResult { images: vec![image()], ..result }),
        other => panic!("{other:?}"),
    }
}

/// READ-6.
#[test]
fn documents_are_blocks_of_their_own() {
    let pdf = Image::parse(&b"%PDF-1.4\n%%EOF\n"[..]).unwrap();
    let block = serde_json::to_string(&wire::Block::from(&pdf)).unwrap();
    assert_eq!(
        block,
        r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"JVBERi0xLjQKJSVFT0YK"}}"#
    );
}

#[test]
fn images_stand_where_they_were_said_and_inside_results() {
    let picture = Block::Image(image());
    let list = [
        Arc::new(Message { role: Role::User, blocks: vec![picture.clone(), Block::Text("what?".into())] }),
        assistant(vec![call("1", ToolInput::empty())]),
        Arc::new(Message { role: Role::User, blocks: vec![seen("1"), picture] }),
    ];
    let data = image().base64();
    let block = |mark: &str| {
        format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{data}"}}{mark}}}"#
        )
    };
    let mark = r#","cache_control":{"type":"ephemeral"}"#;
    let expected = [
        format!(r#"{{"role":"user","content":[{},{{"type":"text","text":"what?"{mark}}}]}}"#, block("")),
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"1","name":"read","input":{}}]}"#
            .to_owned(),
        format!(
            r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"1","content":[{{"type":"text","text":"{{\"ok\":true}}"}},{}]}},{}]}}"#,
            block(""),
            block(mark)
        ),
    ];
    assert_eq!(messages(&list), expected.join(","));
}
