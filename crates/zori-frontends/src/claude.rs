//! The Claude protocol: JSON lines for SDKs and for GUIs (`docs/contracts/claude-protocol.md`), in two dialects that
//! share most of it.
//!
//! What is here: the writer (`frames.rs`), the lines both dialects have (`wire.rs`), what a turn used and how it ended
//! (`tally.rs`, `turn_result.rs`), the names of failures (`error_kind.rs`), and what clients send (`input.rs`, `control.rs`). The
//! SDK dialect is [`sdk`], the one for GUIs [`flat`]. Reading standard input, asking and answering are the binary's business.
//! `docs/protocols/claude-stream-json.md` is for the reader.

pub mod control;
mod error_kind;
pub mod flat;
mod frames;
pub mod input;
pub mod sdk;
mod tally;
mod turn_result;
pub mod wire;

pub use error_kind::error_kind;
pub use frames::{FrameBuffer, FrameMode, FrameWriter, SDK_LINE, TooLong, YUME_LINE};
pub use tally::{ModelFacts, Models, Tally};
pub use turn_result::{AbortPhase, TurnResult};

use serde_json::Value;
use serde_json::value::RawValue;
use zori_core::ids::{IdSource, uuid_v4};

/// The level of the protocol that is spoken; clients warn below 2.0.0.
pub const PROTOCOL_VERSION: &str = "2.1.0";

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

/// Returns the UUID of a block that the model said: the same whenever it is asked for. `reply` counts the model's replies of a
/// session, `block` what was told of one.
pub fn block_uuid(session: &str, reply: u64, block: u64) -> String {
    let name = format!("{session}/{reply}/{block}");
    let half = |seed: u64| {
        // FNV-1a, and the last step of SplitMix64 so that near names are far apart.
        let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        let mut hash = name.bytes().fold(0xcbf2_9ce4_8422_2325 ^ seed, step);
        hash = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        hash = (hash ^ (hash >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        hash ^ (hash >> 31)
    };
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&half(0).to_le_bytes());
    bytes[8..].copy_from_slice(&half(0x9e37_79b9_7f4a_7c15).to_le_bytes());
    uuid_v4(bytes).as_str().to_owned()
}

/// Returns a fresh UUID v4.
pub fn uuid(ids: &dyn IdSource) -> String {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&ids.random().to_le_bytes());
    bytes[8..].copy_from_slice(&ids.random().to_le_bytes());
    uuid_v4(bytes).as_str().to_owned()
}
