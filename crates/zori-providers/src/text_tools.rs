//! Tools for models that have none: described in the system prompt, called by JSON in the text, answered in the
//! text.
//!
//! This file writes: the description, and the conversation as such a model saw and said it. `scan` finds the calls
//! in what it says, `parse_call` reads one of them, whatever the model got wrong about JSON.

mod parse_call;
mod scan;

use std::fmt::Write;

use serde::Serialize;
use serde_json::value::RawValue;
use zori_core::message::{Block, ToolCall};
use zori_core::tool::ToolSpec;

pub(crate) use scan::{Piece, Scanner};

/// What begins a call that is tagged, and what ends it. Models that were trained on tools without an API for them
/// use this form whatever they are told.
const TAG: (&str, &str) = ("<tool_call>", "</tool_call>");
const FENCE: &str = "```";

#[derive(Serialize)]
struct Described<'a> {
    name: &'a str,
    description: &'a str,
    parameters: &'a RawValue,
}

#[derive(Serialize)]
struct Called<'a> {
    tool: &'a str,
    arguments: &'a RawValue,
}

/// Returns the description of the tools for the model.
pub(crate) fn describe(tools: &[ToolSpec]) -> String {
    let mut out = String::from(
        "# Tools\n\n\
         You can use the tools below. To use one, write a block of exactly this form and stop there:\n\n\
         ```json\n{\"tool\": \"NAME\", \"arguments\": {\"PARAMETER\": \"VALUE\"}}\n```\n\n\
         Several blocks make several calls. The results come in the next message. Never write a result yourself.\n",
    );
    for ToolSpec { name, description, schema } in tools {
        let line = json(&Described { name, description, parameters: schema });
        write!(out, "\n{line}").expect("a string takes everything");
    }
    out
}

/// Returns what the user and the tools said: results first, as with every API.
pub(crate) fn user_text(blocks: &[Block]) -> String {
    let results = blocks.iter().filter_map(|block| match block {
        Block::ToolResult(result) => {
            Some(format!("<tool_result tool=\"{}\">\n{}\n</tool_result>", result.name, result.content()))
        }
        _ => None,
    });
    let texts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) if !text.trim().is_empty() => Some(text.clone()),
        _ => None,
    });
    results.chain(texts).collect::<Vec<_>>().join("\n\n")
}

/// Returns what the model said, its calls in the form it was told to use.
pub(crate) fn assistant_text(blocks: &[Block]) -> String {
    let parts = blocks.iter().filter_map(|block| match block {
        Block::Text(text) if !text.trim().is_empty() => Some(text.trim().to_owned()),
        Block::ToolCall(call) => Some(written_call(call)),
        _ => None,
    });
    parts.collect::<Vec<_>>().join("\n\n")
}

fn written_call(call: &ToolCall) -> String {
    let arguments = serde_json::from_str(call.input.json()).expect("arguments were JSON when they were read");
    format!("{FENCE}json\n{}\n{FENCE}", json(&Called { tool: &call.name, arguments }))
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("strings and JSON are written to memory")
}

#[cfg(test)]
mod tests;
