//! Secrets that a stream of events spells in pieces: a token is rarely in one event, and no event by itself looks like it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;
use zori_redact::Redactor;

/// The fields in which providers stream what a model says, thinks and asks for.
const PIECES: &[&str] = &[
    "arguments",
    "content",
    "delta",
    "partial_json",
    "reasoning",
    "reasoning_content",
    "refusal",
    "text",
    "thinking",
];

/// A piece: the number of its line, and where it is in the event.
type Piece = (usize, String);

/// Returns the body of a stream without secrets. Where events together spell one, the first of them has all of their text without it,
/// and the others have none.
pub fn redacted<'b>(body: &'b str, redactor: &Redactor) -> Cow<'b, str> {
    let mut events: Vec<Option<Value>> = body.split('\n').map(event).collect();
    let mut texts: BTreeMap<String, Vec<Piece>> = BTreeMap::new();
    for (line, event) in events.iter().enumerate() {
        if let Some(event) = event {
            let kind = event["type"].as_str().unwrap_or_default();
            collect(event, "", kind, &mut |text, at| texts.entry(text).or_default().push((line, at)));
        }
    }
    let mut changed = vec![false; events.len()];
    for pieces in texts.into_values() {
        let text = |(line, at): &Piece| events[*line].as_ref().and_then(|event| event.pointer(at)?.as_str());
        let whole: String = pieces.iter().filter_map(text).collect();
        let Cow::Owned(mut clean) = redactor.redact(&whole) else { continue };
        for (line, at) in pieces {
            if let Some(piece) = events[line].as_mut().and_then(|event| event.pointer_mut(&at)) {
                *piece = std::mem::take(&mut clean).into();
                changed[line] = true;
            }
        }
    }
    if !changed.contains(&true) {
        return redactor.redact(body);
    }
    let lines = body.split('\n').zip(events).zip(changed).map(|((line, event), changed)| match event {
        Some(event) if changed => {
            let (before, end) = (line.find('{').unwrap_or(0), line.trim_end().len());
            format!("{}{event}{}", &line[..before], &line[end..])
        }
        _ => line.to_owned(),
    });
    let joined = lines.collect::<Vec<_>>().join("\n");
    redactor.redact(&joined).into_owned().into()
}

/// Reads the event of a line: `data: {…}`, or JSON by itself.
fn event(line: &str) -> Option<Value> {
    let json = line.strip_prefix("data:").unwrap_or(line).trim();
    serde_json::from_str(json).ok().filter(Value::is_object)
}

/// Finds the pieces of an event. `text` tells the texts apart that are streamed at the same time, by the numbers that events give them.
fn collect(value: &Value, at: &str, text: &str, found: &mut impl FnMut(String, String)) {
    match value {
        Value::Array(values) => {
            for (number, value) in values.iter().enumerate() {
                collect(value, &format!("{at}/{number}"), text, found);
            }
        }
        Value::Object(fields) => {
            let numbers = fields.iter().filter(|(name, _)| *name == "index" || name.ends_with("_index"));
            let text =
                numbers.fold(text.to_owned(), |text, (name, number)| format!("{text} {at}/{name}={number}"));
            for (name, value) in fields {
                // Names with a slash or a tilde are none of ours.
                let at = format!("{at}/{name}");
                match value {
                    Value::String(_) if PIECES.contains(&name.as_str()) => found(format!("{text} {at}"), at),
                    value => collect(value, &at, &text, found),
                }
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_in_pieces() {
        let redactor = Redactor::default();
        let (first, second) = ("ghp_a1B2c3D4e5a1B2", "c3D4e5a1B2c3D4e5a1B2c3");
        let shown = |events: &[String]| redacted(&events.join("\n"), &redactor).into_owned();
        // Anthropic; another block that streams at the same time keeps its text.
        let block = |index: u8, text: &str| {
            format!("event: d\ndata: {{\"index\":{index},\"delta\":{{\"partial_json\":\"{text}\"}}}}\n")
        };
        assert_eq!(
            shown(&[
                block(0, &format!("echo {first}")),
                block(1, "safe "),
                block(0, second),
                block(1, "words")
            ]),
            [block(0, "echo [REDACTED]"), block(1, "safe "), block(0, ""), block(1, "words")].join("\n")
        );
        // OpenAI, both ways; Gemini; a line of JSON by itself.
        for shape in [
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"@\"}}]}}]}",
            "data: {\"type\":\"response.output_text.delta\",\"output_index\":1,\"delta\":\"@\"}",
            "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"@\"}]}}]}",
            "{\"type\":\"message\",\"content\":\"@\"}",
        ] {
            let [one, two, whole, none] =
                [first, second, "[REDACTED]", ""].map(|text| shape.replace('@', text));
            assert_eq!(shown(&[one, two]), [whole, none].join("\n"));
        }
    }

    #[test]
    fn what_has_no_secret_stays_as_it_is() {
        let body = "event: x\r\ndata: {\"delta\": {\"text\" : \"a\"}}\r\n\r\ndata: [DONE]\r\n: said\r\n";
        assert_eq!(redacted(body, &Redactor::default()), body);
        let whole = format!("data: {{\"a\":\"sk-ant-{}\"}}\n", "a".repeat(40));
        assert_eq!(redacted(&whole, &Redactor::default()), "data: {\"a\":\"[REDACTED]\"}\n");
    }
}
