//! Answers made up at random, and how each API would stream them. What is written here follows the vendors'
//! documented streams (see the READMEs of the fixtures), not our decoders.

mod streams;

use zori_core::provider::StopReason;
use zori_core::usage::Usage;

use crate::random::Random;

pub use streams::stream;

/// An API that streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Anthropic,
    Chat,
    Responses,
    Gemini,
}

impl Dialect {
    pub const ALL: [Self; 4] = [Self::Anthropic, Self::Chat, Self::Responses, Self::Gemini];
}

/// An answer, as whoever gave it meant it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    pub blocks: Vec<Piece>,
    pub usage: Usage,
    pub stop: StopReason,
}

/// A block of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    Thinking(String),
    Text(String),
    Call { id: Option<String>, name: String, input: String },
}

/// Makes up an answer that the API can give.
pub fn answer(random: &mut Random, dialect: Dialect) -> Answer {
    let mut blocks = Vec::new();
    for round in 0..=random.below(2) {
        // Chat Completions have one text, before all calls.
        if round > 0 && dialect == Dialect::Chat {
            break;
        }
        if random.once_in(2) {
            blocks.push(Piece::Thinking(text(random)));
        }
        if random.once_in(2) || blocks.is_empty() {
            blocks.push(Piece::Text(text(random)));
        }
        for _ in 0..random.below(3) {
            blocks.push(call(random, dialect, blocks.len()));
        }
        let ends_with_call = matches!(blocks.last(), Some(Piece::Call { .. }));
        // Two texts that follow each other would be one to some of the APIs.
        if !ends_with_call {
            break;
        }
    }
    let calls = blocks.iter().any(|block| matches!(block, Piece::Call { .. }));
    let stop = match random.below(5) {
        0 if !calls => StopReason::MaxTokens,
        _ if calls => StopReason::ToolUse,
        _ => StopReason::EndTurn,
    };
    let mut count = || random.next() % 1_000_000;
    let input = count();
    // Nothing is said of a cache.
    let usage = Usage { input, output: count(), cache_unknown: input, ..Usage::default() };
    Answer { blocks, usage, stop }
}

fn call(random: &mut Random, dialect: Dialect, number: usize) -> Piece {
    let id = (dialect != Dialect::Gemini || random.once_in(2)).then(|| format!("call_{number}"));
    let name = random.one_of(&["read", "bash", "apply_patch", "größe"]).to_owned();
    let input = match random.below(4) {
        0 => serde_json::json!({}),
        1 => serde_json::json!({"path": text(random), "limit": random.next()}),
        2 => serde_json::json!({"list": [1, null, {"deep": text(random)}], "flag": true}),
        _ => serde_json::json!({"command": text(random)}),
    };
    Piece::Call { id, name, input: input.to_string() }
}

/// Some text that is not empty: words, and whatever tends to break parsers.
fn text(random: &mut Random) -> String {
    const PARTS: [&str; 22] = [
        "word",
        " ",
        "\n",
        "\r\n",
        "\n\n",
        "\t",
        "\"",
        "\\",
        "\\u0041",
        "{",
        "}",
        "data: ",
        "event: x\n",
        "[DONE]",
        "é",
        "日本語",
        "👩‍👩‍👧",
        "\u{0}",
        "\u{2028}",
        "\u{feff}",
        "</think>",
        "\u{1b}[31m",
    ];
    (0..=random.below(12)).map(|_| random.one_of(&PARTS)).collect()
}

/// Cuts a text into pieces that give it again; some of them may be empty.
fn deltas(random: &mut Random, text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = rest.floor_char_boundary(random.below(rest.len().min(20) + 1));
        let (piece, after) = rest.split_at(at);
        pieces.push(piece.to_owned());
        rest = after;
        if at == 0 {
            // An empty delta is allowed, and must mean nothing; the character behind it goes whole.
            let next = rest.chars().next().map_or(0, char::len_utf8);
            pieces.push(rest[..next].to_owned());
            rest = &rest[next..];
        }
    }
    pieces
}
