use std::sync::Arc;

use super::*;
use crate::quirks;

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
            encode_message(&mut out, message, "openai", &Quirks { tools, ..quirks::OPENAI });
        }
        assert_eq!(String::from_utf8(out).unwrap(), r#"{"role":"user","content":"hi"}"#);
    }
}
