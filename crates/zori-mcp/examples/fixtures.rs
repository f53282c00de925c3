//! The tools that the protocol's conformance suite wants of a server under test, served by this crate over HTTP.
//!
//! `cargo xtask conformance mcp-suite` starts it. It says on standard output where it listens; the token is the first
//! argument. Only what zori's own server can do is here: texts, images, failures, progress and forms.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};
use zori_core::image::Image;
use zori_core::tool::ToolSpec;
use zori_mcp::{HttpGate, ServerInfo, ToolAnswer, ToolCall, serve_http};

/// One red point.
const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";

const TOOLS: &[&str] = &[
    "test_simple_text",
    "test_image_content",
    "test_error_handling",
    "test_tool_with_progress",
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_input_required_result_elicitation",
    "test_input_required_result_request_state",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
];

#[allow(clippy::print_stdout, reason = "it is a program")]
fn main() {
    let token = std::env::args().nth(1).expect("the token is the first argument");
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    println!("http://{}/mcp", listener.local_addr().expect("it is bound"));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let (sender, mut calls) = mpsc::channel(64);
        let (_stop, stopped) = watch::channel(());
        let gate = HttpGate { token, loopback: true };
        tokio::spawn(serve_http(info(), listener, gate, sender, stopped));
        while let Some(call) = calls.recv().await {
            tokio::spawn(answer(call));
        }
    });
}

fn info() -> ServerInfo {
    let object = || json!({"type": "object", "properties": {}});
    let mut tools: Vec<_> = TOOLS.iter().map(|&name| tool(name, &object())).collect();
    tools.push(tool("json_schema_2020_12_tool", &with_all_keywords()));
    ServerInfo {
        name: "fixtures",
        version: env!("CARGO_PKG_VERSION"),
        about: "Tools for the conformance suite".to_owned(),
        tools,
        secret: || format!("{:032x}", std::process::id()) + &counter(),
    }
}

/// States differ; here nobody tries to guess them.
fn counter() -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed).to_string()
}

fn tool(name: &str, schema: &Value) -> ToolSpec {
    let schema = RawValue::from_string(schema.to_string()).expect("it is JSON");
    ToolSpec { name: name.to_owned(), description: format!("A tool of the suite: {name}"), schema }
}

async fn answer(call: ToolCall) {
    let ToolCall { name, arguments, elicitor, progress, reply } = call;
    let said = |text: &str| ToolAnswer { ok: true, text: text.to_owned(), data: None, images: Vec::new() };
    let ask = async |key: &str, message: &str, schema: Value| match &elicitor {
        Some(elicitor) => elicitor.form(key, message.to_owned(), schema).await,
        None => Err("this client cannot ask anybody".to_owned()),
    };
    let asked =
        async |key: &str, message: &str, schema: Value, words: &str| match ask(key, message, schema).await {
            Ok(given) => said(&format!("{words}: action={}, content={}", given["action"], given["content"])),
            Err(why) => ToolAnswer::failed(why),
        };
    let answer = match name.as_str() {
        "test_simple_text" => said("This is a simple text response for testing."),
        "test_image_content" => {
            let image = Image::from_base64(PNG).expect("it is an image");
            ToolAnswer { images: vec![image], ..said("An image") }
        }
        "test_error_handling" => ToolAnswer::failed("This tool intentionally returns an error for testing"),
        "test_tool_with_progress" => {
            if let Some(mut progress) = progress {
                for step in ["begun", "half way", "done"] {
                    progress.report(step.to_owned()).await;
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
            said("All steps are done.")
        }
        "test_elicitation" => {
            let arguments: Value = serde_json::from_str(&arguments).unwrap_or_default();
            let message = arguments["message"].as_str().unwrap_or("Who are you?").to_owned();
            let text = json!({"type": "string"});
            let schema = json!({"type": "object", "required": ["username", "email"],
                "properties": {"username": text, "email": text}});
            asked("user", &message, schema, "User response").await
        }
        "test_elicitation_sep1034_defaults" => {
            asked("defaults", "Please look these over", defaults(), "Elicitation completed").await
        }
        "test_elicitation_sep1330_enums" => {
            asked("enums", "Please choose", enums(), "Elicitation completed").await
        }
        "test_input_required_result_elicitation" => {
            asked("user_name", "What is your name?", text_form("name"), "Hello").await
        }
        "test_input_required_result_multi_round" => {
            match ask("step1", "Step 1: What is your name?", text_form("name")).await {
                Ok(_) => {
                    asked("step2", "Step 2: What is your favorite color?", text_form("color"), "Done").await
                }
                Err(why) => ToolAnswer::failed(why),
            }
        }
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            let schema =
                json!({"type": "object", "required": ["ok"], "properties": {"ok": {"type": "boolean"}}});
            asked("confirm", "Please confirm", schema, "state-ok").await
        }
        _ => ToolAnswer::failed(format!("there is no tool `{name}`")),
    };
    // Who cancelled does not wait.
    let _ = reply.send(answer);
}

fn text_form(name: &str) -> Value {
    json!({"type": "object", "required": [name], "properties": {name: {"type": "string"}}})
}

fn defaults() -> Value {
    json!({"type": "object", "required": [], "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    }})
}

fn enums() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = json!([{"const": "value1", "title": "First"}, {"const": "value2", "title": "Second"}]);
    json!({"type": "object", "required": [], "properties": {
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2"], "enumNames": ["One", "Two"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }})
}

fn with_all_keywords() -> Value {
    let text = json!({"type": "string"});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": text, "city": text}}},
        "properties": {"name": text, "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]}, "phone": text, "email": text},
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": false,
    })
}
