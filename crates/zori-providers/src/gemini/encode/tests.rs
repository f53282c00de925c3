use zori_core::message::{Thinking, ToolInput};
use zori_core::provider::{Delivery, Effort};

use super::*;

const LATEST: &str = "gemini-3.8-flash";

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
        effort: None,
        delivery: Delivery::Whole,
    };
    String::from_utf8(encoder.encode(&request, 5)).unwrap()
}

/// Encodes with a fresh encoder and returns the contents only.
fn contents(model: &str, list: &[Arc<Message>]) -> String {
    let body = encode(&mut Encoder::default(), model, list);
    body.strip_prefix(r#"{"generationConfig":{"maxOutputTokens":5},"contents":["#)
        .unwrap()
        .strip_suffix("]}")
        .unwrap()
        .to_owned()
}

/// Encodes what the model said and returns the parts only.
fn parts(model: &str, blocks: Vec<Block>) -> String {
    let shown = contents(model, &[assistant(blocks)]);
    shown.strip_prefix(r#"{"role":"model","parts":["#).unwrap().strip_suffix("]}").unwrap().to_owned()
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

fn opaque(provider: &str, json: &str) -> Opaque {
    Opaque::new(provider, raw(json))
}

fn call(id: &str, id_origin: IdOrigin, replay: Option<Opaque>) -> Block {
    let input = ToolInput::parse(r#"{"path" :"a"}"#.into());
    Block::ToolCall(ToolCall { id: CallId::new(id), name: "read".into(), input, id_origin, replay })
}

fn result(id: &str, ok: bool, text: Option<&str>) -> Block {
    Block::ToolResult(ToolResult {
        call: CallId::new(id),
        name: "read".into(),
        ok,
        envelope: raw(r#"{"ok" : true}"#).into(),
        text: text.map(Arc::from),
        images: Vec::new(),
    })
}

fn thinking(provider: &str, json: &str) -> Block {
    Block::Thinking(Thinking { text: "hm".into(), replay: Some(opaque(provider, json)) })
}

#[test]
fn everything_a_request_can_have() {
    let tool = |name: &str, schema: &str| ToolSpec {
        name: name.into(),
        description: "Does \"it\".".into(),
        schema: raw(schema),
    };
    let tools: Arc<[ToolSpec]> = [
        tool("a", r#"{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":false}"#),
        tool("b", r#"{"type":"object","properties":{}}"#),
    ]
    .into();
    let request = Request {
        model: LATEST,
        system: Some(&Arc::from("Be brief.\n")),
        tools: &tools,
        messages: &[user("hi")],
        max_tokens: Some(9),
        temperature: Some(0.5),
        effort: Some(Effort::Medium),
        delivery: Delivery::Streamed,
    };
    assert_eq!(
        String::from_utf8(Encoder::default().encode(&request, 9)).unwrap(),
        concat!(
            r#"{"systemInstruction":{"parts":[{"text":"Be brief.\n"}]},"tools":[{"functionDeclarations":["#,
            r#"{"name":"a","description":"Does \"it\".","parametersJsonSchema":{"type":"object","properties":{"x":{"type":"string"}},"additionalProperties":false}},"#,
            r#"{"name":"b","description":"Does \"it\".","parametersJsonSchema":{"type":"object","properties":{}}}]}],"#,
            r#""generationConfig":{"maxOutputTokens":9,"temperature":0.5,"#,
            r#""thinkingConfig":{"includeThoughts":true,"thinkingLevel":"medium"}},"#,
            r#""contents":[{"role":"user","parts":[{"text":"hi"}]}]}"#,
        )
    );
}

#[test]
fn results_carry_the_id_only_where_the_provider_issued_it() {
    let reply = assistant(vec![
        call("fc-1", IdOrigin::Provider, Some(opaque("gemini", r#""s""#))),
        call("call_gemini_1", IdOrigin::Made, None),
    ]);
    let results = Message {
        role: Role::User,
        blocks: vec![
            Block::Text("and".into()),
            result("fc-1", true, None),
            result("call_gemini_1", true, Some("plain \"text\"")),
            result("lost", false, Some("no")),
        ],
    };
    assert_eq!(
        contents(LATEST, &[reply, Arc::new(results)]),
        concat!(
            r#"{"role":"model","parts":[{"functionCall":{"id":"fc-1","name":"read","args":{"path" :"a"}},"thoughtSignature":"s"},"#,
            r#"{"functionCall":{"name":"read","args":{"path" :"a"}}}]},"#,
            r#"{"role":"user","parts":[{"functionResponse":{"id":"fc-1","name":"read","response":{"ok" : true}}},"#,
            r#"{"functionResponse":{"name":"read","response":{"output":"plain \"text\""}}},"#,
            r#"{"functionResponse":{"name":"read","response":{"error":"no"}}},{"text":"and"}]}"#,
        )
    );
}

#[test]
fn signed_parts_go_back_byte_for_byte() {
    let text = |text: &str| Block::Text(text.to_owned());
    let signed = r#"{"text":" is \u0034.", "thoughtSignature":"Ci=="}"#;
    for (blocks, sent) in [
        // The part's text is the end of what was said.
        (vec![text("It is 4."), thinking("gemini", signed)], format!(r#"{{"text":"It"}},{signed}"#)),
        (vec![text(" is 4."), thinking("gemini", signed)], signed.to_owned()),
        // Or is not, if somebody changed the text.
        (vec![text("It is 5."), thinking("gemini", signed)], format!(r#"{{"text":"It is 5."}},{signed}"#)),
        // A signature behind the text, and one of a thought.
        (
            vec![text("4."), thinking("gemini", r#"{"text":"","thoughtSignature":"Ci=="}"#)],
            r#"{"text":"4."},{"text":"","thoughtSignature":"Ci=="}"#.to_owned(),
        ),
        (
            vec![text("4."), thinking("gemini", r#"{"text":"4.","thought":true,"thoughtSignature":"Ci=="}"#)],
            r#"{"text":"4."},{"text":"4.","thought":true,"thoughtSignature":"Ci=="}"#.to_owned(),
        ),
        // Another provider's, and none.
        (
            vec![
                thinking("anthropic", r#"{"text":"4."}"#),
                Block::Thinking(Thinking { text: "hm".into(), replay: None }),
                text("4."),
            ],
            r#"{"text":"4."}"#.to_owned(),
        ),
    ] {
        assert_eq!(parts(LATEST, blocks), sent);
    }
}

#[test]
fn calls_of_another_model_get_the_documented_stand_in_where_one_is_demanded() {
    let foreign = || vec![call("a", IdOrigin::Made, None), call("b", IdOrigin::Made, None)];
    let plain = r#"{"functionCall":{"name":"read","args":{"path" :"a"}}}"#;
    let stand_in = r#"{"functionCall":{"name":"read","args":{"path" :"a"}},"thoughtSignature":"skip_thought_signature_validator"}"#;
    assert_eq!(parts(LATEST, foreign()), format!("{stand_in},{plain}"));
    assert_eq!(parts("gemini-2.5-flash", foreign()), format!("{plain},{plain}"));
    // A signed thought in front of it does not sign the call.
    let thought = r#"{"text":"hm","thought":true,"thoughtSignature":"Ci=="}"#;
    let unsigned = vec![thinking("gemini", thought), call("a", IdOrigin::Made, None)];
    assert_eq!(parts(LATEST, unsigned), format!("{thought},{stand_in}"));
    // A change of model changes what was encoded before.
    let mut encoder = Encoder::default();
    let list = [assistant(foreign())];
    for model in ["gemini-2.5-flash", LATEST, "gemini-2.5-flash"] {
        assert_eq!(encode(&mut encoder, model, &list), encode(&mut Encoder::default(), model, &list));
    }
}

#[test]
fn what_cannot_be_sent_leaves_no_trace() {
    let empty = [
        assistant(vec![]),
        user(" \n"),
        assistant(vec![Block::Text(String::new())]),
        assistant(vec![thinking("anthropic", "{}")]),
    ];
    assert_eq!(contents(LATEST, &empty), "");
    let with = [&empty[..], &[user("hi")], &empty[..]].concat();
    assert_eq!(contents(LATEST, &with), r#"{"role":"user","parts":[{"text":"hi"}]}"#);
}

#[test]
fn arguments_that_the_api_would_refuse_are_made_acceptable() {
    for input in [ToolInput::parse("[1]".into()), ToolInput::Malformed("{\"x".into())] {
        let block = Block::ToolCall(ToolCall {
            id: CallId::new("a"),
            name: "read".into(),
            input,
            id_origin: IdOrigin::Made,
            replay: Some(opaque("gemini", r#""s""#)),
        });
        assert_eq!(
            parts(LATEST, vec![block]),
            r#"{"functionCall":{"name":"read","args":{}},"thoughtSignature":"s"}"#
        );
    }
}

#[test]
fn names_that_the_api_would_refuse_are_made_acceptable() {
    let called = Block::ToolCall(ToolCall {
        id: CallId::new("a"),
        name: "my tool".into(),
        input: ToolInput::empty(),
        id_origin: IdOrigin::Made,
        replay: Some(opaque("gemini", r#""s""#)),
    });
    let answered = Block::ToolResult(ToolResult {
        call: CallId::new("a"),
        name: "my tool".into(),
        ok: true,
        envelope: raw("{}").into(),
        text: None,
        images: Vec::new(),
    });
    let results = Arc::new(Message { role: Role::User, blocks: vec![answered] });
    assert_eq!(
        contents(LATEST, &[assistant(vec![called]), results]),
        concat!(
            r#"{"role":"model","parts":[{"functionCall":{"name":"my_tool","args":{}},"thoughtSignature":"s"}]},"#,
            r#"{"role":"user","parts":[{"functionResponse":{"name":"my_tool","response":{}}}]}"#,
        )
    );
}

/// A conversation of tool steps: user, then call and result again and again.
fn steps(count: usize) -> Vec<Arc<Message>> {
    let mut list = vec![user("go")];
    for n in 0..count {
        let id = format!("t{n}");
        let reply = vec![Block::Text(format!("step {n}")), call(&id, IdOrigin::Provider, None)];
        list.push(assistant(reply));
        list.push(Arc::new(Message { role: Role::User, blocks: vec![result(&id, true, None)] }));
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
        let fresh = encode(&mut Encoder::default(), LATEST, &history);
        assert_eq!(encode(&mut kept, LATEST, &history), fresh);
    }
}

#[test]
fn the_history_is_a_byte_stable_prefix() {
    let list = steps(6);
    let mut encoder = Encoder::default();
    let mut before = String::new();
    for len in (1..=list.len()).step_by(2) {
        let body = encode(&mut encoder, LATEST, &list[..len]);
        let history = body.strip_suffix("]}").unwrap();
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

#[test]
fn images_are_parts_and_inside_results_where_the_model_takes_that() {
    let list = [
        Arc::new(Message {
            role: Role::User,
            blocks: vec![Block::Image(image()), Block::Text("what?".into())],
        }),
        assistant(vec![call("1", IdOrigin::Provider, None)]),
        Arc::new(Message { role: Role::User, blocks: vec![seen("1")] }),
    ];
    let part = format!(r#"{{"inlineData":{{"mimeType":"image/png","data":"{}"}}}}"#, image().base64());
    let asked = format!(r#"{{"role":"user","parts":[{part},{{"text":"what?"}}]}}"#);
    let answer =
        r#"{"role":"user","parts":[{"functionResponse":{"id":"1","name":"read","response":{"ok" : true}"#;
    for (model, end) in [
        (LATEST, format!(r#"{answer},"parts":[{part}]}}}}]}}"#)),
        ("gemini-2.5-pro", format!(r#"{answer}}}}},{part}]}}"#)),
    ] {
        let shown = contents(model, &list);
        assert!(shown.starts_with(&asked), "{shown}");
        assert!(shown.ends_with(&end), "{shown}");
    }
}
