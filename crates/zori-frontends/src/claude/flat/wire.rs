//! The lines only the Yume dialect has, as they are on the wire. Borrowed, serialise-only.

use serde::Serialize;
use serde_json::value::RawValue;

use super::super::wire::CallUsage;

/// A text line has so many bytes of text at most. Each may become six in JSON, and the line has to stay below the limit.
const PIECE: usize = 16_000;

/// A line of a turn.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Line<'a> {
    Text {
        content: &'a str,
        /// The message it is a piece of.
        id: &'a str,
    },
    Thinking {
        is_thinking: bool,
        thought: &'a str,
    },
    ToolUse {
        id: &'a str,
        name: &'a str,
        #[serde(serialize_with = "raw")]
        input: &'a str,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_use_id: Option<&'a str>,
    },
    ToolResult {
        tool_use_id: &'a str,
        content: &'a str,
        is_error: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        parent_tool_use_id: Option<&'a str>,
    },
    Usage(CallUsage),
    Interrupt,
    Error {
        message: &'a str,
        code: &'a str,
    },
    MessageStop,
}

/// A line about the session.
#[derive(Serialize)]
pub(super) struct System<'a> {
    pub(super) r#type: &'static str,
    #[serde(flatten)]
    pub(super) kind: SystemKind<'a>,
    pub(super) session_id: &'a str,
    pub(super) uuid: &'a str,
}

#[derive(Serialize)]
#[serde(tag = "subtype", rename_all = "snake_case")]
pub(super) enum SystemKind<'a> {
    SessionId {
        previous_session_id: &'a str,
    },
    Error {
        message: &'a str,
        code: &'a str,
    },
    Status {
        status: Option<&'a str>,
        #[serde(rename = "permissionMode")]
        permission_mode: &'a str,
    },
    ApiRetry {
        attempt: u32,
        max_retries: u32,
        retry_delay_ms: u64,
        error_status: Option<u16>,
        error: &'a str,
    },
    PermissionDenied {
        tool_name: &'a str,
        tool_use_id: &'a str,
        message: &'a str,
    },
    CompactBoundary {
        compact_metadata: CompactMetadata,
    },
}

#[derive(Serialize)]
pub(super) struct CompactMetadata {
    pub(super) trigger: &'static str,
    pub(super) pre_tokens: u64,
    pub(super) post_tokens: u64,
}

/// Writes JSON text as it is.
fn raw<S: serde::Serializer>(json: &&str, serializer: S) -> Result<S::Ok, S::Error> {
    let raw: &RawValue = serde_json::from_str(json).map_err(serde::ser::Error::custom)?;
    raw.serialize(serializer)
}

/// Returns text in pieces that fit on a line each; none for no text.
pub(super) fn pieces(mut text: &str) -> impl Iterator<Item = &str> {
    std::iter::from_fn(move || {
        let (piece, rest) = text.split_at(text.floor_char_boundary(PIECE));
        text = rest;
        (!piece.is_empty()).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_comes_in_pieces_that_are_whole() {
        let text = "ä\u{1}".repeat(20_000);
        let all: Vec<&str> = pieces(&text).collect();
        assert_eq!(all.concat(), text);
        for content in all {
            let line = serde_json::to_string(&Line::Text { id: "", content }).unwrap();
            assert!(line.len() < super::super::super::YUME_LINE, "{}", line.len());
        }
        assert_eq!(pieces("").count(), 0);
    }
}
