//! The Claude protocol: JSON lines for SDKs and for GUIs (`stream-json.md`), in two dialects that share most of it.
//!
//! What is here: the way to stdout (`frames.rs`), the lines both dialects have (`wire.rs`), what a turn comes to
//! (`tally.rs`, `ending.rs`), the words for failures (`kinds.rs`), and what clients send (`input.rs`, `control.rs`). The
//! SDK dialect is [`sdk`], the one for GUIs [`flat`]. Reading standard input, asking and answering are the binary's business.
//! `docs/protocols/claude-stream-json.md` is for the reader.

pub mod control;
mod ending;
pub mod flat;
mod frames;
pub mod input;
mod kinds;
pub mod sdk;
mod tally;
pub mod wire;

pub use ending::{Aborted, Ending};
pub use frames::{Frames, SDK_LINE, TooLong, Writing, YUME_LINE};
pub use kinds::error_kind;
pub use tally::{ModelFacts, Models, Tally};

use serde_json::Value;
use serde_json::value::RawValue;
use zori_core::ids::{IdSource, uuid_v4};

/// The level of the protocol that is spoken; clients warn below 2.0.0.
pub const LEVEL: &str = "2.1.0";

/// Returns JSON text that is an object on one line; `{}` for what is none.
pub fn object(text: &str) -> Box<RawValue> {
    let value = match text.contains(['\n', '\r']) {
        true => serde_json::from_str::<Value>(text).ok().map(|value| value.to_string()),
        false => Some(text.to_owned()),
    };
    let raw = value
        .filter(|text| text.trim_start().starts_with('{'))
        .and_then(|text| RawValue::from_string(text).ok());
    raw.unwrap_or_else(|| RawValue::from_string("{}".to_owned()).expect("`{}` is JSON"))
}

/// Returns a fresh UUID v4.
pub fn uuid(ids: &dyn IdSource) -> String {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&ids.random().to_le_bytes());
    bytes[8..].copy_from_slice(&ids.random().to_le_bytes());
    uuid_v4(bytes).as_str().to_owned()
}
