//! What clients send: one reader for both dialects, because no line is ambiguous. Pure: text in, a value out.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use zori_core::image::Image;
use zori_core::input::Prompt;

use super::control::{Request, Response};

/// One line of a client.
#[derive(Debug)]
pub enum Line {
    User(User),
    /// It wants something, and an answer.
    Request {
        /// What the answer refers to.
        id: String,
        request: Request,
    },
    /// It answers a question of ours.
    Response(Response),
    CancelRequest {
        id: String,
    },
    /// It wants the turn to end (Yume).
    Interrupt,
    /// It wants another permission mode (Yume).
    SetPermissionMode {
        mode: String,
    },
    /// It answers a question about a call (Yume).
    ToolApproval {
        id: String,
        approved: bool,
        message: Option<String>,
    },
    KeepAlive,
    /// Something that is not known here.
    Other {
        kind: String,
    },
}

/// A prompt as it was sent.
#[derive(Debug)]
pub struct User {
    pub prompt: Prompt,
    /// What could not be taken of it, a sentence each.
    pub left_out: Vec<String>,
    /// The client's name for it.
    pub uuid: Option<String>,
    /// The message as it came, for the echo; `None` in the flat form.
    pub message: Option<Box<RawValue>>,
}

/// Every field a line may have; which of them count depends on its type.
#[derive(Deserialize)]
struct Wire {
    r#type: Option<String>,
    message: Option<Box<RawValue>>,
    content: Option<Value>,
    uuid: Option<String>,
    request_id: Option<String>,
    request: Option<Value>,
    response: Option<Box<RawValue>>,
    mode: Option<String>,
    id: Option<String>,
    approved: Option<bool>,
}

/// The message of a `tool_approval` is a string, that of a `user` an object.
#[derive(Deserialize)]
struct Nested {
    content: Option<Value>,
}

impl Line {
    /// Reads a line. `Ok(None)` is a blank one; an error says what is wrong with it.
    pub fn parse(text: &str) -> Result<Option<Self>, String> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        let wire: Wire =
            serde_json::from_str(text).map_err(|error| format!("a line is not understood: {error}"))?;
        let missing = |what: &str| {
            format!("a line of the type `{}` has no `{what}`", wire.r#type.as_deref().unwrap_or(""))
        };
        Ok(Some(match wire.r#type.as_deref() {
            None => return Err("a line has no `type`".to_owned()),
            Some("user") => Self::User(user(wire)?),
            Some("control_request") => {
                let id = wire.request_id.clone().ok_or_else(|| missing("request_id"))?;
                let request = wire.request.ok_or_else(|| missing("request"))?;
                Self::Request { id, request: Request::read(request) }
            }
            Some("control_response") => {
                let response = wire.response.as_ref().ok_or_else(|| missing("response"))?;
                Self::Response(Response::read(response)?)
            }
            Some("control_cancel_request") => {
                Self::CancelRequest { id: wire.request_id.clone().ok_or_else(|| missing("request_id"))? }
            }
            Some("interrupt") => Self::Interrupt,
            Some("set_permission_mode") => {
                Self::SetPermissionMode { mode: wire.mode.clone().ok_or_else(|| missing("mode"))? }
            }
            Some("tool_approval") => Self::ToolApproval {
                id: wire.id.clone().ok_or_else(|| missing("id"))?,
                approved: wire.approved.ok_or_else(|| missing("approved"))?,
                message: wire.message.as_ref().and_then(|raw| serde_json::from_str(raw.get()).ok()),
            },
            Some("keep_alive") => Self::KeepAlive,
            Some(other) => Self::Other { kind: other.to_owned() },
        }))
    }
}

fn user(wire: Wire) -> Result<User, String> {
    let (content, message) = match wire.message {
        Some(raw) => {
            let nested: Nested = serde_json::from_str(raw.get())
                .map_err(|error| format!("the `message` of a prompt is not understood: {error}"))?;
            (nested.content, Some(raw))
        }
        None => (wire.content, None),
    };
    let mut user = User { prompt: "".into(), left_out: Vec::new(), uuid: wire.uuid, message };
    match content {
        Some(Value::String(text)) => user.prompt.text = text,
        Some(Value::Array(blocks)) => blocks.iter().for_each(|block| user.take(block)),
        _ => return Err("a prompt has no `content` that is a text or a list".to_owned()),
    }
    Ok(user)
}

impl User {
    /// Adds a block of the prompt.
    fn take(&mut self, block: &Value) {
        match block["type"].as_str() {
            Some("text") => self.say(block["text"].as_str().unwrap_or_default()),
            Some("image") => match image(&block["source"]) {
                Ok(image) => self.prompt.images.push(image),
                Err(why) => self.left_out.push(format!("an image of the prompt {why}")),
            },
            Some("document") => match (&block["source"]["type"], block["source"]["data"].as_str()) {
                (Value::String(kind), Some(text)) if kind == "text" => {
                    let title = block["title"].as_str().unwrap_or("document");
                    self.say(&format!("<document title={title:?}>\n{text}\n</document>"));
                }
                (Value::String(kind), Some(data)) if kind == "base64" => match Image::from_base64(data) {
                    Ok(document) => self.prompt.images.push(document),
                    Err(bad) => self.left_out.push(format!("a document of the prompt {bad}")),
                },
                _ => self.left_out.push("a document of the prompt is neither text nor a PDF".to_owned()),
            },
            Some("tool_result") => self.say(&words(&block["content"])),
            other => {
                let kind = other.unwrap_or("none");
                self.left_out
                    .push(format!("a block of the prompt has the type `{kind}`, which is not known"));
            }
        }
    }

    fn say(&mut self, text: &str) {
        if !self.prompt.text.is_empty() && !text.is_empty() {
            self.prompt.text.push('\n');
        }
        self.prompt.text.push_str(text);
    }
}

fn image(source: &Value) -> Result<Image, String> {
    match (source["type"].as_str(), source["data"].as_str()) {
        (Some("base64"), Some(data)) => Image::from_base64(data).map_err(|bad| bad.to_string()),
        (Some("url"), _) => Err("is an address; only images with their bytes are taken".to_owned()),
        _ => Err("has no bytes".to_owned()),
    }
}

/// The texts of a block's content.
fn words(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => {
            let texts = blocks.iter().filter_map(|block| block["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One line for what a line means.
    fn read(text: &str) -> String {
        match Line::parse(text) {
            Ok(None) => "blank".to_owned(),
            Ok(Some(Line::User(user))) => {
                let images = user.prompt.images.len();
                let echo = if user.message.is_some() { "nested" } else { "flat" };
                format!(
                    "user {:?}, {images} images, {echo}, {:?}, {:?}",
                    user.prompt.text, user.uuid, user.left_out
                )
            }
            Ok(Some(other)) => format!("{other:?}"),
            Err(why) => format!("bad: {why}"),
        }
    }

    #[test]
    fn prompts_of_every_client() {
        let lines = [
            r#"{"type":"user","message":{"role":"user","content":"hi"},"parent_tool_use_id":null,"session_id":""}"#,
            r#"{"type":"user","session_id":"x","uuid":"u","message":{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}}"#,
            r#"{"type":"user","content":"hi","priority":"now"}"#,
            r#"{"type":"user","content":[{"type":"document","source":{"type":"text","data":"d"},"title":"t"}]}"#,
            r#"{"type":"user","content":[{"type":"image","source":{"type":"base64","data":"AA=="}},{"type":"sound"}]}"#,
            r#"{"type":"user","message":{"role":"user"}}"#,
        ];
        insta::assert_snapshot!(lines.map(read).join("\n"), @r#"
        user "hi", 0 images, nested, None, []
        user "a\nb", 0 images, nested, Some("u"), []
        user "hi", 0 images, flat, None, []
        user "<document title=\"t\">\nd\n</document>", 0 images, flat, None, []
        user "", 0 images, flat, None, ["an image of the prompt is no image: only PNG, JPEG, GIF and WebP are", "a block of the prompt has the type `sound`, which is not known"]
        bad: a prompt has no `content` that is a text or a list
        "#);
    }

    #[test]
    fn the_other_lines() {
        let lines = [
            "  \n",
            r#"{"type":"interrupt"}"#,
            r#"{"type":"keep_alive"}"#,
            r#"{"type":"set_permission_mode","mode":"interactive"}"#,
            r#"{"type":"tool_approval","id":"c","approved":false,"message":"no"}"#,
            r#"{"type":"control_cancel_request","request_id":"r"}"#,
            r#"{"type":"frobnicate"}"#,
        ];
        insta::assert_snapshot!(lines.map(read).join("\n"), @r#"
        blank
        Interrupt
        KeepAlive
        SetPermissionMode { mode: "interactive" }
        ToolApproval { id: "c", approved: false, message: Some("no") }
        CancelRequest { id: "r" }
        Other { kind: "frobnicate" }
        "#);
    }

    /// IO-4: what is no line of the protocol says why, and nothing panics.
    #[test]
    fn lines_that_are_none() {
        let deep = format!("{}{}", "[".repeat(200), "]".repeat(200));
        for (line, why) in [
            ("{\"type\":\"user\"", "a line is not understood: EOF"),
            (
                "{\"type\":\"interrupt\"}{\"type\":\"interrupt\"}",
                "a line is not understood: trailing characters",
            ),
            ("hello", "a line is not understood: expected value"),
            ("[]", "a line is not understood: "),
            ("{}", "a line has no `type`"),
            ("{\"type\":7}", "a line is not understood: invalid type"),
            ("{\"type\":\"control_request\"}", "a line of the type `control_request` has no `request_id`"),
            ("{\"type\":\"control_response\"}", "a line of the type `control_response` has no `response`"),
            ("{\"type\":\"interrupt\",\"type\":\"user\"}", "a line is not understood: duplicate field"),
            (deep.as_str(), "a line is not understood: "),
        ] {
            let bad = Line::parse(line).unwrap_err();
            assert!(bad.starts_with(why), "{line}: {bad}");
        }
    }
}
