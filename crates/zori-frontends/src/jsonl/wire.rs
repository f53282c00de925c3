//! The seven events of schema 1 as they are on the wire: borrowed, serialise-only, fields in the documented order.

use serde::Serialize;
use serde_json::value::RawValue;
use zori_core::cost::Spent;
use zori_core::event::TurnSummary;

use super::elicitation::{Elicitation, Field};

const SCHEMA: u8 = 1;

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Line<'a> {
    ResponseChunk { schema: u8, text: &'a str },
    ResponseEnd { schema: u8 },
    ToolCall { schema: u8, tool: &'a str, input: &'a RawValue, id: &'a str },
    ToolResult { schema: u8, id: &'a str, output: &'a str, exit_code: i32 },
    Cost(Cost<'a>),
    Error { schema: u8, message: &'a str, code: &'static str },
    Elicitation { schema: u8, prompt: &'a str, fields: &'a [Field] },
}

#[derive(Serialize)]
pub(super) struct Cost<'a> {
    schema: u8,
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    estimated_usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduled: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_output: Option<&'a RawValue>,
}

impl<'a> Cost<'a> {
    pub(super) fn of(summary: &TurnSummary, session_id: Option<&'a str>) -> Self {
        Self::of_spent(Spent { usage: summary.usage, cost: summary.cost }, session_id)
    }

    /// Tokens written to a cache count as input (D-10); a price that is not known is `null` (D-11).
    pub(super) fn of_spent(Spent { usage, cost }: Spent, session_id: Option<&'a str>) -> Self {
        Self {
            schema: SCHEMA,
            input_tokens: usage.input + usage.cache_write,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            estimated_usd: cost.map(|cost| cost.0 as f64 / 1e6),
            session_id,
            scheduled: None,
            structured_output: None,
        }
    }

    /// Adds the scheduled job that sent the prompt.
    pub(super) fn sent_by(self, scheduled: Option<&'a str>) -> Self {
        Self { scheduled, ..self }
    }

    /// Adds the value that was asked for.
    pub(super) fn with_value(self, value: Option<&'a RawValue>) -> Self {
        Self { structured_output: value, ..self }
    }
}

impl<'a> Line<'a> {
    pub(super) fn chunk(text: &'a str) -> Self {
        Self::ResponseChunk { schema: SCHEMA, text }
    }

    pub(super) fn end() -> Self {
        Self::ResponseEnd { schema: SCHEMA }
    }

    pub(super) fn tool_call(tool: &'a str, input: &'a RawValue, id: &'a str) -> Self {
        Self::ToolCall { schema: SCHEMA, tool, input, id }
    }

    pub(super) fn tool_result(id: &'a str, output: &'a str, exit_code: i32) -> Self {
        Self::ToolResult { schema: SCHEMA, id, output, exit_code }
    }

    pub(super) fn error(code: Code, message: &'a str) -> Self {
        Self::Error { schema: SCHEMA, message, code: code.as_str() }
    }

    pub(super) fn elicitation(asked: &'a Elicitation) -> Self {
        Self::Elicitation { schema: SCHEMA, prompt: &asked.prompt, fields: &asked.fields }
    }

    /// Writes the line with its end into the buffer. Some readers take U+2028 and U+2029 for ends of lines, so they
    /// are escapes (TERM-4); in JSON text they occur in strings only.
    pub(super) fn encode(&self, buffer: &mut Vec<u8>) {
        buffer.clear();
        serde_json::to_writer(&mut *buffer, self)
            .expect("strings and numbers are JSON, and memory takes them");
        let separator = |at: &[u8]| matches!(at, [0xe2, 0x80, 0xa8 | 0xa9]);
        if buffer.windows(3).any(separator) {
            let text =
                String::from_utf8_lossy(buffer).replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
            *buffer = text.into_bytes();
        }
        buffer.push(b'\n');
    }
}

/// Returns an `error` event as a line, for a run that fails before it has begun.
pub fn failure_line(code: Code, message: &str) -> String {
    let mut line = Vec::new();
    Line::error(code, message).encode(&mut line);
    String::from_utf8(line).expect("JSON is text")
}

macro_rules! codes {
    ($($name:ident $text:literal $about:literal),* $(,)?) => {
        /// The codes of `error` events (D-12).
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code { $(#[doc = $about] $name),* }

        impl Code {
            /// Returns the code as programs see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }
        }
    };
}

codes! {
    AgentError "agent_error" "Anything that has no code of its own.",
    ProviderError "provider_error" "The model's provider failed.",
    RateLimited "rate_limited" "The provider wants fewer requests.",
    AuthError "auth_error" "The key is missing or was refused.",
    Timeout "timeout" "The time was over, or the provider took too long.",
    Interrupted "interrupted" "Somebody cancelled the turn.",
    BudgetExceeded "budget_exceeded" "A limit of the run was reached.",
    RecapError "recap_error" "The recap could not be made.",
    BadCommand "bad_command" "A line on standard input is no command.",
    Internal "internal" "A defect of the program.",
}
