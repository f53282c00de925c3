use std::sync::Arc;

use super::*;
use crate::quirks;

const OPENAI: Thinker<'static> = Thinker { provider: "openai", model: "m" };

/// The one place that knows how to ask: `hi`, with these wishes.
fn encode(quirks: Quirks, system: Option<&str>, max_tokens: Option<u32>, effort: Option<Effort>) -> String {
    let tools = Arc::default();
    let system: Option<Arc<str>> = system.map(Arc::from);
    let request = Request {
        model: "m",
        system: system.as_ref(),
        tools: &tools,
        messages: &[Arc::new(Message::user("hi"))],
        max_tokens,
        temperature: None,
        effort,
        delivery: Delivery::Whole,
    };
    let body = Encoder::new("openai", quirks).encode(&request, 9);
    serde_json::from_slice::<&RawValue>(&body).expect("a request is JSON");
    let body = String::from_utf8(body).unwrap();
    let rest = body.strip_prefix(r#"{"model":"m","#).unwrap();
    rest.replace(r#"{"role":"user","content":"hi"}"#, "HI")
}

#[test]
fn reply_limits() {
    for (quirks, asked, expected) in [
        (quirks::OPENAI, None, r#""max_completion_tokens":9,"messages":[HI]}"#),
        (quirks::OPENAI, Some(5), r#""max_completion_tokens":5,"messages":[HI]}"#),
        (quirks::OPENROUTER, None, r#""max_tokens":9,"messages":[HI]}"#),
        (quirks::COMPAT, None, r#""messages":[HI]}"#),
        (quirks::COMPAT, Some(5), r#""max_tokens":5,"messages":[HI]}"#),
    ] {
        assert_eq!(encode(quirks, None, asked, None), expected);
    }
}

#[test]
fn efforts() {
    let shown = |field| {
        let quirks = Quirks { effort: field, ..quirks::COMPAT };
        let list = Effort::ALL.iter().map(|effort| encode(quirks, None, None, Some(*effort)));
        list.map(|body| body.strip_suffix(r#""messages":[HI]}"#).unwrap().to_owned()).collect::<String>()
    };
    assert_eq!(shown(EffortField::Unsupported), "");
    assert_eq!(
        shown(EffortField::ReasoningEffort),
        r#""reasoning_effort":"low","reasoning_effort":"medium","reasoning_effort":"high","reasoning_effort":"high","#
    );
    assert_eq!(
        shown(EffortField::ReasoningObject),
        concat!(
            r#""reasoning":{"effort":"none"},"reasoning":{"effort":"low"},"reasoning":{"effort":"medium"},"#,
            r#""reasoning":{"effort":"high"},"reasoning":{"effort":"xhigh"},"#
        )
    );
}

#[test]
fn openai_is_asked_for_what_the_model_takes() {
    let tool = ToolSpec {
        name: "a".into(),
        description: "b".into(),
        schema: RawValue::from_string("{}".into()).unwrap(),
    };
    let tools: Arc<[ToolSpec]> = [tool].into();
    let body = |quirks: Quirks, model: &str, tools: &Arc<[ToolSpec]>, effort: Option<Effort>| {
        let request = Request {
            model,
            system: None,
            tools,
            messages: &[],
            max_tokens: None,
            temperature: Some(0.5),
            effort,
            delivery: Delivery::Whole,
        };
        let body = String::from_utf8(Encoder::new("openai", quirks).encode(&request, 9)).unwrap();
        let start = format!(r#"{{"model":"{model}","#);
        let (shown, _) = body.strip_prefix(&start).unwrap().split_once(r#""messages":["#).unwrap();
        shown.replace(
            r#""tools":[{"type":"function","function":{"name":"a","description":"b","parameters":{}}}],"#,
            "TOOLS",
        )
    };
    let openai = Quirks { effort: EffortField::OpenAi, ..quirks::COMPAT };
    let prose = Quirks { tools: ToolStyle::Prose, ..openai };
    let none = Arc::default();
    let high = Some(Effort::High);
    assert_eq!(body(openai, "gpt-4.1", &tools, high), r#""temperature":0.5,TOOLS"#);
    assert_eq!(body(openai, "gpt-5.1", &tools, high), r#""reasoning_effort":"high",TOOLS"#);
    assert_eq!(body(openai, "gpt-5.2", &tools, high), "TOOLS");
    assert_eq!(body(openai, "gpt-5.2", &none, high), r#""reasoning_effort":"high","#);
    assert_eq!(body(openai, "gpt-5.6", &tools, None), r#""reasoning_effort":"none",TOOLS"#);
    assert_eq!(body(openai, "gpt-5.6", &none, None), "");
    // Tools that are told in the text are none to the API.
    assert_eq!(body(prose, "gpt-5.6", &tools, high), r#""reasoning_effort":"high","#);
    // Another server's model of that name is the server's affair.
    assert_eq!(
        body(quirks::OLLAMA, "gpt-5.6", &tools, high),
        r#""temperature":0.5,"reasoning_effort":"high",TOOLS"#
    );
}

#[test]
fn fragments_of_reasoning_go_back_whole() {
    let sent = |given: &str| {
        let raw = RawValue::from_string(given.to_owned()).unwrap();
        let replay = Some(zori_core::message::Opaque::new("openrouter", raw));
        let thought = zori_core::message::Thinking { text: "hm".into(), replay };
        serde_json::to_string(&details(
            &[Block::Thinking(thought)],
            Thinker { provider: "openrouter", model: "m" },
        ))
        .unwrap()
    };
    for (given, expected) in [
        (
            concat!(
                r#"[{"type":"reasoning.text","text":"Two ","index":0,"id":null,"format":"f","signature":null},"#,
                r#"{"type":"reasoning.text","text":"\u0074hings.","index":0,"id":"r"},"#,
                r#"{"type":"reasoning.encrypted", "data":"x","index":0},"#,
                r#"{"type":"reasoning.text","text":null,"signature":"Eq==","index":0,"id":null}]"#,
            ),
            concat!(
                r#"[{"format":"f","id":"r","index":0,"signature":"Eq==","text":"Two things.","type":"reasoning.text"},"#,
                r#"{"type":"reasoning.encrypted", "data":"x","index":0}]"#,
            ),
        ),
        (
            r#"[{"type":"s","summary":"a","index":1},{"type":"s","summary":"b","index":1,"data":"c"},{"type":"s","index":1,"data":"d"}]"#,
            r#"[{"data":"cd","index":1,"summary":"ab","type":"s"}]"#,
        ),
        // What has no place is left alone.
        (
            r#"[{"type":"x", "text":"a"},{"type":"x","text":"b"},{"type":"x","text":"c","index":"0"},{"type":"x","text":"d","index":null},1]"#,
            r#"[{"type":"x", "text":"a"},{"type":"x","text":"b"},{"type":"x","text":"c","index":"0"},{"type":"x","text":"d","index":null},1]"#,
        ),
        ("{}", "[]"),
    ] {
        assert_eq!(sent(given), expected);
    }
}

#[test]
fn calls_that_the_api_would_refuse_are_made_acceptable() {
    use zori_core::ids::CallId;
    use zori_core::message::{IdOrigin, ToolInput, ToolResult};

    let shown = |id: &str| {
        let call = ToolCall {
            id: CallId::new(id),
            name: "my tool".into(),
            input: ToolInput::empty(),
            id_origin: IdOrigin::Provider,
            replay: None,
        };
        let result = ToolResult {
            call: CallId::new(id),
            name: "my tool".into(),
            ok: true,
            envelope: RawValue::from_string("{}".into()).unwrap().into(),
            text: None,
            images: Vec::new(),
        };
        let mut out = Vec::new();
        for (role, block) in
            [(Role::Assistant, Block::ToolCall(call)), (Role::User, Block::ToolResult(result))]
        {
            encode_message(&mut out, &Message { role, blocks: vec![block] }, OPENAI, &quirks::OPENAI);
        }
        String::from_utf8(out).unwrap()
    };
    let expected = |id: &str| {
        format!(
            concat!(
                r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{}","type":"function","#,
                r#""function":{{"name":"my_tool","arguments":"{{}}"}}}}]}},"#,
                r#"{{"role":"tool","tool_call_id":"{}","content":"{{}}"}}"#,
            ),
            id, id
        )
    };
    assert_eq!(shown("call_1"), expected("call_1"));
    assert_eq!(shown(""), expected("_"));
    assert_eq!(shown(&format!("x{}", "y".repeat(40))), expected(&"y".repeat(40)));
}

#[test]
fn system_roles() {
    let developer = Quirks { system_role: SystemRole::Developer, ..quirks::COMPAT };
    for (quirks, system, expected) in [
        (quirks::COMPAT, "Be brief.", r#""messages":[{"role":"system","content":"Be brief."},HI]}"#),
        (developer, "Be brief.", r#""messages":[{"role":"developer","content":"Be brief."},HI]}"#),
        (quirks::COMPAT, " \n", r#""messages":[HI]}"#),
    ] {
        assert_eq!(encode(quirks, Some(system), None, None), expected);
    }
}

#[test]
fn what_cannot_be_sent_leaves_no_trace() {
    let thought = zori_core::message::Thinking { text: "hm".into(), replay: None };
    let messages = [
        Message { role: Role::Assistant, blocks: vec![Block::Thinking(thought), Block::Text(" ".into())] },
        Message { role: Role::User, blocks: vec![Block::Text("\n".into())] },
        Message::user("hi"),
        Message { role: Role::User, blocks: Vec::new() },
    ];
    for tools in [ToolStyle::Native, ToolStyle::Prose] {
        let mut out = Vec::new();
        for message in &messages {
            encode_message(&mut out, message, OPENAI, &Quirks { tools, ..quirks::OPENAI });
        }
        assert_eq!(String::from_utf8(out).unwrap(), r#"{"role":"user","content":"hi"}"#);
    }
}

#[test]
fn images_are_data_urls_and_follow_the_results() {
    use zori_core::ids::CallId;
    use zori_core::message::ToolResult;

    let bytes = &include_bytes!("../../../../../fixtures/images/box.png")[..];
    let image = Image::parse(bytes).unwrap();
    let result = |id: &str, images: Vec<Image>| {
        let envelope = RawValue::from_string("{}".into()).unwrap().into();
        let (call, name) = (CallId::new(id), "read".into());
        Block::ToolResult(ToolResult { call, name, ok: true, envelope, text: None, images })
    };
    let part =
        format!(r#"{{"type":"image_url","image_url":{{"url":"data:image/png;base64,{}"}}}}"#, image.base64());
    let of_results = r#"{"type":"text","text":"[what the tool call returned as an image]"}"#;
    let asked = vec![Block::Image(image.clone()), Block::Text("what?".into())];
    let answered = vec![result("1", vec![image]), result("2", Vec::new())];
    for (tools, blocks, expected) in [
        (
            ToolStyle::Native,
            &asked,
            format!(r#"{{"role":"user","content":[{part},{{"type":"text","text":"what?"}}]}}"#),
        ),
        (
            ToolStyle::Native,
            &answered,
            format!(
                concat!(
                    r#"{{"role":"tool","tool_call_id":"1","content":"{{}}"}},"#,
                    r#"{{"role":"tool","tool_call_id":"2","content":"{{}}"}},"#,
                    r#"{{"role":"user","content":[{},{}]}}"#,
                ),
                of_results, part
            ),
        ),
        (
            ToolStyle::Prose,
            &answered,
            format!(
                concat!(
                    r#"{{"role":"user","content":[{},{},{{"type":"text","text":"<tool_result tool=\"read\">\n{{}}\n"#,
                    r#"</tool_result>\n\n<tool_result tool=\"read\">\n{{}}\n</tool_result>"}}]}}"#,
                ),
                of_results, part
            ),
        ),
    ] {
        let mut out = Vec::new();
        let message = Message { role: Role::User, blocks: blocks.clone() };
        encode_message(&mut out, &message, OPENAI, &Quirks { tools, ..quirks::OPENAI });
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}

/// Encodes a conversation for a model and returns its messages.
fn messages_for(quirks: Quirks, model: &str, messages: &[Arc<Message>]) -> String {
    let (tools, system) = (Arc::default(), Arc::from("Be brief."));
    let request = Request {
        model,
        system: Some(&system),
        tools: &tools,
        messages,
        max_tokens: None,
        temperature: None,
        effort: None,
        delivery: Delivery::Whole,
    };
    let body = Encoder::new("p", quirks).encode(&request, 9);
    let body: serde_json::Value = serde_json::from_slice(&body).expect("a request is JSON");
    body["messages"].to_string()
}

/// OpenRouter passes marks on to the vendors that cache nothing without them.
#[test]
fn the_prompt_is_marked_for_vendors_that_need_it() {
    let history = [Arc::new(Message::user("say \",\\\"content\\\":\\\"\" twice"))];
    let sent = |model| messages_for(quirks::OPENROUTER, model, &history);
    let mark = r#""cache_control":{"type":"ephemeral"}"#;
    let marked = sent("anthropic/claude-sonnet-5.5");
    assert_eq!(marked.matches(mark).count(), 2, "{marked}");
    assert_eq!(
        marked,
        concat!(
            r#"[{"role":"system","content":[{"type":"text","text":"Be brief.","cache_control":{"type":"ephemeral"}}]},"#,
            r#"{"role":"user","content":[{"type":"text","text":"say \",\\\"content\\\":\\\"\" twice","#,
            r#""cache_control":{"type":"ephemeral"}}]}]"#
        )
    );
    for model in ["openai/gpt-6.1-terra", "google/gemini-3.8-flash", "claude"] {
        assert_eq!(sent(model).matches(mark).count(), 0, "{model}");
    }
}

#[test]
fn reasoning_goes_back_as_text_where_the_server_wants_it() {
    let thought = |model: Option<&str>| {
        let raw = RawValue::from_string("true".to_owned()).unwrap();
        let replay = zori_core::message::Opaque {
            model: model.map(Arc::from),
            ..zori_core::message::Opaque::new("p", raw)
        };
        let blocks = vec![
            Block::Thinking(zori_core::message::Thinking { text: "hm".into(), replay: Some(replay) }),
            Block::Text("Yes.".into()),
        ];
        Arc::new(Message { role: Role::Assistant, blocks })
    };
    let sent = |quirks, model| {
        messages_for(quirks, "deepseek-chat", &[Arc::new(Message::user("go")), thought(model)])
    };
    assert!(sent(quirks::DEEPSEEK, Some("deepseek-chat")).contains(r#""reasoning_content":"hm""#));
    assert!(!sent(quirks::DEEPSEEK, Some("another")).contains("hm"), "it belongs to its model");
    assert!(!sent(quirks::VENDOR, Some("deepseek-chat")).contains("hm"));
}

#[test]
fn ids_of_calls_as_the_server_takes_them() {
    assert_eq!(call_id("call_openai_1", CallIds::Any), "call_openai_1");
    assert_eq!(call_id("aB3dE6gH9", CallIds::NineAlphanumeric), "aB3dE6gH9");
    let made = call_id("call_openai_1", CallIds::NineAlphanumeric).into_owned();
    assert!(made.len() == 9 && made.bytes().all(|b| b.is_ascii_alphanumeric()), "{made}");
    assert_eq!(call_id("call_openai_1", CallIds::NineAlphanumeric), made, "the same for its result");
    assert_ne!(call_id("call_openai_2", CallIds::NineAlphanumeric), made);
}
