//! One call as a model wrote it: JSON, or nearly.
//!
//! Names of the fields vary with what a model was trained on, and small models get JSON itself wrong in a few ways over
//! and over. Those are repaired; what still makes no sense is treated as text.

use serde::Deserialize;
use serde_json::value::RawValue;

/// A call that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub(super) name: String,
    /// JSON.
    pub(super) arguments: String,
    /// Whether it says itself that it is a call; `{"name":..}` may be any data.
    pub(super) explicit: bool,
}

/// The first field of a call, which distinguishes it from other JSON.
pub(super) const KEYS: [&str; 8] =
    ["tool", "tool_name", "tool_calls", "name", "function", "arguments", "parameters", "type"];

/// How deep calls may lie inside of lists and fields; deeper nesting would be an attack on the stack.
const MAX_DEPTH: u8 = 4;

/// Returns the calls in a text that is nothing but JSON: one, or an array of them.
pub(super) fn read(text: &str) -> Option<Vec<Written>> {
    let text = text.trim();
    read_json(text, MAX_DEPTH).or_else(|| read_json(&repair(text)?, MAX_DEPTH))
}

#[derive(Deserialize)]
struct Shape<'a> {
    #[serde(borrow, default)]
    tool: Option<&'a RawValue>,
    #[serde(default)]
    tool_name: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(borrow, default)]
    function: Option<&'a RawValue>,
    #[serde(borrow, default, alias = "parameters", alias = "input", alias = "args")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    tool_calls: Option<Vec<&'a RawValue>>,
}

fn read_json(text: &str, depth: u8) -> Option<Vec<Written>> {
    let depth = depth.checked_sub(1)?;
    if text.starts_with('[') {
        return read_all(&serde_json::from_str::<Vec<&RawValue>>(text).ok()?, depth);
    }
    let shape: Shape<'_> = serde_json::from_str(text).ok()?;
    if let Some(calls) = shape.tool_calls {
        return read_all(&calls, depth);
    }
    // `{"function":{"name":..,"arguments":..}}`, as the API has it.
    if let Some(inner) = shape.function.filter(|raw| raw.get().starts_with('{')) {
        return read_json(inner.get(), depth);
    }
    let word = |raw: Option<&RawValue>| raw.and_then(|raw| serde_json::from_str::<String>(raw.get()).ok());
    let said = word(shape.tool).or(shape.tool_name);
    let explicit = said.is_some();
    let name = said.or_else(|| word(shape.function)).or(shape.name).filter(|name| !name.is_empty())?;
    let arguments = match shape.arguments {
        None => "{}".to_owned(),
        Some(raw) => arguments(raw)?,
    };
    Some(vec![Written { name, arguments, explicit }])
}

fn read_all(calls: &[&RawValue], depth: u8) -> Option<Vec<Written>> {
    let read: Vec<_> = calls.iter().map(|raw| read_json(raw.get(), depth)).collect::<Option<Vec<_>>>()?;
    let read: Vec<_> = read.into_iter().flatten().collect();
    (!read.is_empty()).then_some(read)
}

/// Arguments are an object, or a string that holds one, as the API has it.
fn arguments(raw: &RawValue) -> Option<String> {
    let text = match serde_json::from_str::<String>(raw.get()) {
        Ok(inner) => inner,
        Err(_) => raw.get().to_owned(),
    };
    match text.trim() {
        "" | "null" => Some("{}".to_owned()),
        object if object.starts_with('{') => {
            serde_json::from_str::<&RawValue>(object).ok().map(|raw| raw.get().to_owned())
        }
        _ => None,
    }
}

/// Returns the text with the usual mistakes mended: commas before a bracket, Python's quotes and constants, line breaks
/// inside strings, brackets missing at the end. A string that does not end was cut off, and half a value is not used.
fn repair(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len() + 8);
    let mut open = Vec::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' | '\'' => copy_string(c, &mut chars, &mut out)?,
            '{' | '[' => {
                open.push(if c == '{' { '}' } else { ']' });
                out.push(c);
            }
            '}' | ']' => {
                drop_comma(&mut out);
                // A bracket that closes nothing is one too many.
                if let Some(at) = open.iter().rposition(|o| *o == c) {
                    for missing in open.drain(at..).rev() {
                        out.push(missing);
                    }
                }
            }
            'a'..='z' | 'A'..='Z' => {
                let mut word = String::from(c);
                while let Some(next) = chars.next_if(|n| n.is_ascii_alphanumeric() || *n == '_') {
                    word.push(next);
                }
                out.push_str(match word.as_str() {
                    "True" => "true",
                    "False" => "false",
                    "None" => "null",
                    other => other,
                });
            }
            other => out.push(other),
        }
    }
    drop_comma(&mut out);
    out.extend(open.into_iter().rev());
    Some(out)
}

fn drop_comma(out: &mut String) {
    let kept = out.trim_end();
    if let Some(kept) = kept.strip_suffix(',') {
        out.truncate(kept.len());
    }
}

/// Copies a string as JSON has it; `None` if it does not end.
fn copy_string(
    quote: char,
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    out: &mut String,
) -> Option<()> {
    out.push('"');
    loop {
        match chars.next()? {
            '\\' => match chars.next()? {
                '\'' => out.push('\''),
                escaped => out.extend(['\\', escaped]),
            },
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => break,
            '"' => out.push_str("\\\""),
            other => out.push(other),
        }
    }
    out.push('"');
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads calls, one line each.
    fn shown(text: &str) -> String {
        let Some(calls) = read(text) else { return "no call".to_owned() };
        let lines = calls.iter().map(|call| {
            let mark = if call.explicit { "" } else { "?" };
            format!("{}{mark} {}", call.name, call.arguments)
        });
        lines.collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn forms_of_a_call() {
        for (text, expected) in [
            (r#"{"tool": "read", "arguments": {"path": "a b"}}"#, r#"read {"path": "a b"}"#),
            (r#"{"tool":"ls"}"#, "ls {}"),
            (r#"{"tool":"ls","arguments":null}"#, "ls {}"),
            (r#"{"tool_name":"ls","parameters":{}}"#, "ls {}"),
            (r#"{"name":"read","arguments":{"path":"x"}}"#, r#"read? {"path":"x"}"#),
            (r#"{"name":"read","input":{"path":"x"}}"#, r#"read? {"path":"x"}"#),
            (r#"{"name":"read","arguments":"{\"path\":\"x\"}"}"#, r#"read? {"path":"x"}"#),
            (
                r#"{"type":"function","function":{"name":"read","arguments":"{\"path\":\"x\"}"}}"#,
                r#"read? {"path":"x"}"#,
            ),
            (r#"{"function":"ls","args":{}}"#, "ls? {}"),
            (r#"[{"tool":"ls"},{"tool":"read","arguments":{"path":"x"}}]"#, r#"ls {}; read {"path":"x"}"#),
            (r#"{"tool_calls":[{"name":"ls","arguments":{}}]}"#, "ls? {}"),
            (r#"{"tool":"ls","arguments":[1]}"#, "no call"),
            (r#"{"tool":"ls","arguments":"now"}"#, "no call"),
            (r#"{"tool":5}"#, "no call"),
            (r#"{"path":"x"}"#, "no call"),
            ("[]", "no call"),
            ("[1]", "no call"),
            (r#"{"tool":"write","arguments":{"text":"half of i"#, "no call"),
            ("{", "no call"),
            ("", "no call"),
            ("read the file", "no call"),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn mistakes_that_are_mended() {
        for (text, expected) in [
            (r#"{"tool":"read","arguments":{"path":"x",},}"#, r#"read {"path":"x"}"#),
            (r#"{'tool': 'read', 'arguments': {'path': "it's"}}"#, r#"read {"path": "it's"}"#),
            (
                r#"{'tool': 'bash', 'arguments': {'command': 'echo "hi"'}}"#,
                r#"bash {"command": "echo \"hi\""}"#,
            ),
            (
                r#"{"tool":"x","arguments":{"a":True,"b":None,"c":False}}"#,
                r#"x {"a":true,"b":null,"c":false}"#,
            ),
            (r#"{"tool":"read","arguments":{"path":"x"}"#, r#"read {"path":"x"}"#),
            (r#"{"tool":"read","arguments":{"path":"x"}}}"#, r#"read {"path":"x"}"#),
            (r#"{"tool":"x","arguments":{"a":[1,2,}}"#, r#"x {"a":[1,2]}"#),
            ("{\"tool\":\"write\",\"arguments\":{\"text\":\"a\n\tb\"}}", r#"write {"text":"a\n\tb"}"#),
            (r#"{"tool":"x","arguments":{"a":"\'"}}"#, r#"x {"a":"'"}"#),
        ] {
            assert_eq!(shown(text), expected, "{text}");
        }
    }

    #[test]
    fn depth_is_bounded() {
        let nested = |open: &str, close: &str, times: usize| {
            shown(&format!("{}{{\"tool\":\"ls\"}}{}", open.repeat(times), close.repeat(times)))
        };
        for (open, close) in [("[", "]"), ("{\"function\":", "}"), ("{\"tool_calls\":[", "]}")] {
            assert_eq!(nested(open, close, 2), "ls {}");
            assert_eq!(nested(open, close, 100_000), "no call");
            assert_eq!(nested(open, "", 100_000), "no call");
        }
    }

    #[test]
    fn every_beginning_of_a_call_is_read_or_refused() {
        let text = r#"[{'tool': "read", "arguments": {"path": "größe\n", "n": [1, True]}}]"#;
        for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            for call in read(&text[..at]).unwrap_or_default() {
                assert!(serde_json::from_str::<&RawValue>(&call.arguments).is_ok(), "{call:?}");
            }
        }
    }
}
