use std::sync::Arc;

use serde_json::value::RawValue;
use zori_core::ids::CallId;
use zori_core::message::{IdOrigin, Opaque, Thinking, ToolCall, ToolInput, ToolResult};

use super::*;

const THINKS: &str = "gpt-5.2";

/// The one place that knows how to ask: encodes a conversation without system prompt and tools.
fn encode(encoder: &mut Encoder, model: &str, messages: &[Arc<Message>]) -> String {
    let tools = Arc::default();
    let request = Request {
        model,
        system: None,
        tools: &tools,
        messages,
        max_tokens: None,
        temperature: None,
        effort: Some(Effort::High),
        delivery: Delivery::Whole,
    };
    String::from_utf8(encoder.encode(&request)).unwrap()
}

/// Encodes with a fresh encoder and returns the items only.
fn items(list: &[Arc<Message>]) -> String {
    let body = encode(&mut Encoder::default(), THINKS, list);
    let head = concat!(
        r#"{"model":"gpt-5.2","store":false,"include":["reasoning.encrypted_content"],"#,
        r#""reasoning":{"effort":"high","summary":"auto"},"input":["#,
    );
    body.strip_prefix(head).unwrap().strip_suffix("]}").unwrap().to_owned()
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

fn result(id: &str, text: Option<&str>) -> Block {
    Block::ToolResult(ToolResult {
        call: CallId::new(id),
        name: "read".into(),
        ok: true,
        envelope: raw(r#"{"ok":true}"#).into(),
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
    let tool = ToolSpec {
        name: "a".into(),
        description: "Does \"it\".".into(),
        schema: raw(r#"{"type" : "object"}"#),
    };
    let tools: Arc<[ToolSpec]> = [tool].into();
    let request = Request {
        model: "gpt-5.2",
        system: Some(&Arc::from("Be brief.\n")),
        tools: &tools,
        messages: &[user("hi")],
        max_tokens: Some(9),
        temperature: Some(0.5),
        effort: Some(Effort::Max),
        delivery: Delivery::Streamed,
    };
    assert_eq!(
        String::from_utf8(Encoder::default().encode(&request)).unwrap(),
        concat!(
            r#"{"model":"gpt-5.2","stream":true,"store":false,"include":["reasoning.encrypted_content"],"#,
            r#""max_output_tokens":9,"reasoning":{"effort":"xhigh","summary":"auto"},"#,
            r#""instructions":"Be brief.\n","tools":[{"type":"function","name":"a","description":"Does \"it\".","#,
            r#""parameters":{"type" : "object"},"strict":false}],"parallel_tool_calls":true,"#,
            r#""input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}]}"#,
        )
    );
}

#[test]
fn a_temperature_goes_to_models_that_take_one() {
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
        String::from_utf8(Encoder::default().encode(&request)).unwrap()
    };
    assert_eq!(body("gpt-4.1", None), r#"{"model":"gpt-4.1","store":false,"temperature":0.5,"input":[]}"#);
    assert_eq!(
        body("gpt-5", None),
        r#"{"model":"gpt-5","store":false,"include":["reasoning.encrypted_content"],"input":[]}"#
    );
}

#[test]
fn reasoning_is_kept_from_a_model_that_does_not_think() {
    let own = r#"{"id":"rs","type":"reasoning"}"#;
    let list = [assistant(vec![thinking("openai", own), Block::Text("4.".into())])];
    let said = r#"{"type":"message","role":"assistant","content":"4."}"#;
    assert_eq!(items(&list), format!("{own},{said}"));
    assert_eq!(
        encode(&mut Encoder::default(), "gpt-4.1", &list),
        format!(r#"{{"model":"gpt-4.1","store":false,"input":[{said}]}}"#)
    );
    // A change of model changes what was encoded before.
    let mut encoder = Encoder::default();
    for model in ["gpt-4.1", THINKS, "gpt-4.1"] {
        assert_eq!(encode(&mut encoder, model, &list), encode(&mut Encoder::default(), model, &list));
    }
}

#[test]
fn results_come_before_text() {
    let mixed = Message {
        role: Role::User,
        blocks: vec![Block::Text("and".into()), result("t1", None), result("t2", Some("no"))],
    };
    assert_eq!(
        items(&[Arc::new(mixed)]),
        concat!(
            r#"{"type":"function_call_output","call_id":"t1","output":"{\"ok\":true}"},"#,
            r#"{"type":"function_call_output","call_id":"t2","output":"no"},"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"and"}]}"#,
        )
    );
}

#[test]
fn reasoning_goes_back_byte_for_byte_to_its_own_provider_only_and_never_last() {
    let own = r#"{"id":"rs", "type":"reasoning","summary":[],"encrypted_content":"gA\u003d"}"#;
    let reply = assistant(vec![
        thinking("gemini", r#"{"x":1}"#),
        thinking("openai", own),
        Block::Thinking(Thinking { text: "unsigned".into(), replay: None }),
        call("t1", ToolInput::parse(r#"{"path" :"a"}"#.into())),
        thinking("openai", r#"{"id":"rs_cut"}"#),
        Block::Text(" ".into()),
    ]);
    assert_eq!(
        items(&[reply]),
        format!(
            r#"{own},{{"type":"function_call","call_id":"t1","name":"read","arguments":"{{\"path\" :\"a\"}}"}}"#
        )
    );
}

#[test]
fn what_cannot_be_sent_leaves_no_trace() {
    let empty = [
        assistant(vec![]),
        user(" \n"),
        assistant(vec![Block::Text(String::new())]),
        assistant(vec![thinking("openai", "{}")]),
        assistant(vec![thinking("anthropic", "{}")]),
    ];
    assert_eq!(items(&empty), "");
    let with = [&empty[..], &[user("hi")], &empty[..]].concat();
    assert_eq!(items(&with), items(&[user("hi")]));
}

#[test]
fn calls_that_the_api_would_refuse_are_made_acceptable() {
    let one = |id: &str, input: ToolInput| items(&[assistant(vec![call(id, input)])]);
    let expected = |id: &str, input: &str| {
        format!(r#"{{"type":"function_call","call_id":"{id}","name":"read","arguments":"{input}"}}"#)
    };
    assert_eq!(one("", ToolInput::Malformed("{\"x".into())), expected("_", "{}"));
    let named = ToolCall {
        id: CallId::new("a"),
        name: "my tool".into(),
        input: ToolInput::empty(),
        id_origin: IdOrigin::Provider,
        replay: None,
    };
    assert_eq!(
        items(&[assistant(vec![Block::ToolCall(named)])]),
        r#"{"type":"function_call","call_id":"a","name":"my_tool","arguments":"{}"}"#
    );
    let long = format!("{}{}", "x".repeat(10), "y".repeat(64));
    assert_eq!(one(&long, ToolInput::empty()), expected(&"y".repeat(64), "{}"));
}

/// A conversation of tool steps: user, then call and result again and again.
fn steps(count: usize) -> Vec<Arc<Message>> {
    let mut list = vec![user("go")];
    for n in 0..count {
        let id = format!("t{n}");
        list.push(assistant(vec![Block::Text(format!("step {n}")), call(&id, ToolInput::empty())]));
        list.push(Arc::new(Message { role: Role::User, blocks: vec![result(&id, None)] }));
    }
    list
}

#[test]
fn a_kept_encoder_writes_the_same_bytes_as_a_fresh_one() {
    let list = steps(6);
    let mut kept = Encoder::default();
    let mut other = list[..5].to_vec();
    other.push(user("something else"));
    // Forward, back (a failed prompt is taken off the history), forward again, and a turn that went otherwise.
    let mut histories: Vec<_> = [1, 3, 5, 4, 2, 13, 7].iter().map(|len| list[..*len].to_vec()).collect();
    histories.extend([other, list]);
    for history in histories {
        let fresh = encode(&mut Encoder::default(), THINKS, &history);
        assert_eq!(encode(&mut kept, THINKS, &history), fresh);
    }
}

#[test]
fn the_history_is_a_byte_stable_prefix() {
    let list = steps(6);
    let mut encoder = Encoder::default();
    let mut before = String::new();
    for len in (1..=list.len()).step_by(2) {
        let body = encode(&mut encoder, THINKS, &list[..len]);
        let history = body.strip_suffix("]}").unwrap();
        assert!(history.starts_with(&before), "request {len} changed what was sent before");
        before = history.to_owned();
    }
}

fn image() -> Image {
    Image::parse(&include_bytes!("../../../../../fixtures/images/box.png")[..]).unwrap()
}

fn seen(id: &str) -> Block {
    match result(id, None) {
        Block::ToolResult(result) => Block::ToolResult(ToolResult { images: vec![image()], ..result }),
        other => panic!("{other:?}"),
    }
}

#[test]
fn images_stand_beside_the_text_and_inside_results() {
    let list = [
        Arc::new(Message {
            role: Role::User,
            blocks: vec![Block::Image(image()), Block::Text("what?".into()), Block::Text(" ".into())],
        }),
        assistant(vec![call("1", ToolInput::empty())]),
        Arc::new(Message { role: Role::User, blocks: vec![seen("1")] }),
    ];
    let part = format!(
        r#"{{"type":"input_image","detail":"auto","image_url":"data:image/png;base64,{}"}}"#,
        image().base64()
    );
    let expected = [
        format!(
            r#"{{"type":"message","role":"user","content":[{part},{{"type":"input_text","text":"what?"}}]}}"#
        ),
        r#"{"type":"function_call","call_id":"1","name":"read","arguments":"{}"}"#.to_owned(),
        format!(
            r#"{{"type":"function_call_output","call_id":"1","output":[{{"type":"input_text","text":"{{\"ok\":true}}"}},{part}]}}"#
        ),
    ];
    assert_eq!(items(&list), expected.join(","));
}

/// READ-6.
#[test]
fn documents_are_files() {
    let pdf = Image::parse(&b"%PDF-1.4\n%%EOF\n"[..]).unwrap();
    let list = [Arc::new(Message {
        role: Role::User,
        blocks: vec![Block::Image(pdf), Block::Text("what?".into())],
    })];
    assert_eq!(
        items(&list),
        r#"{"type":"message","role":"user","content":[{"type":"input_file","filename":"document.pdf","file_data":"data:application/pdf;base64,JVBERi0xLjQKJSVFT0YK"},{"type":"input_text","text":"what?"}]}"#
    );
}

/// Models from GPT-5.3 on want to know which of their messages were comments; it stands behind the text it is about.
#[test]
fn a_message_goes_back_with_its_phase() {
    let phase = |word: &str| {
        let replay = Opaque::new(NAME, raw(&format!(r#"{{"phase":"{word}"}}"#)));
        Block::Thinking(Thinking { text: String::new(), replay: Some(replay) })
    };
    let said = |text: &str| Block::Text(text.to_owned());
    let list = [
        user("go"),
        assistant(vec![said("I look."), phase("commentary"), said("It is so."), phase("final_answer")]),
    ];
    assert_eq!(
        items(&list),
        concat!(
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]},"#,
            r#"{"type":"message","role":"assistant","content":"I look.","phase":"commentary"},"#,
            r#"{"type":"message","role":"assistant","content":"It is so.","phase":"final_answer"}"#,
        )
    );
}
