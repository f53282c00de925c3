//! What an API was made to say is what arrives: answers made up at random, streamed as each vendor would, with
//! every freedom the formats leave, and cut anywhere.

use std::sync::Arc;

use zori_core::provider::{Chunk, Delivery, Provider, StopReason};
use zori_core::usage::Usage;
use zori_providers::quirks::ToolStyle;
use zori_providers::replay::{Chunking, Exchange, ReplayTransport};

use crate::ask::chunks;
use crate::chat_ask::chat;
use crate::generated::{self, Answer, Dialect, Piece};
use crate::random::Random;
use crate::vendor::Vendor;

/// Answers per API: the figures of `docs/contracts/reliability.md`.
fn rounds() -> u64 {
    if std::env::var_os("ZORI_SOAK").is_some() { 10_000 } else { 1_000 }
}

fn provider(dialect: Dialect, exchange: Exchange) -> Box<dyn Provider> {
    let transport = Arc::new(ReplayTransport::new([exchange]));
    match dialect {
        Dialect::Anthropic => Vendor::Anthropic.provider(transport),
        Dialect::Responses => Vendor::Responses.provider(transport),
        Dialect::Gemini => Vendor::Gemini.provider(transport),
        Dialect::Chat => Box::new(chat("ollama", ToolStyle::Native, transport)),
    }
}

/// Puts chunks together again; `None` where the answer has no end, or a call has none.
fn assemble(chunks: Vec<Chunk>) -> Option<Answer> {
    let mut blocks: Vec<Piece> = Vec::new();
    let mut calls: Vec<(usize, bool)> = Vec::new();
    let (mut usage, mut stop) = (Usage::default(), None);
    for chunk in chunks {
        assert_eq!(stop, None::<StopReason>, "nothing comes behind the end");
        match (chunk, blocks.last_mut()) {
            (Chunk::Text(more), Some(Piece::Text(text))) => text.push_str(&more),
            (Chunk::Text(text), _) => blocks.push(Piece::Text(text)),
            (Chunk::Thinking(more), Some(Piece::Thinking(text))) => text.push_str(&more),
            (Chunk::Thinking(text), _) => blocks.push(Piece::Thinking(text)),
            (Chunk::CallStart { index, id, name, .. }, _) => {
                assert_eq!(index as usize, calls.len());
                calls.push((blocks.len(), false));
                blocks.push(Piece::Call { id, name, input: String::new() });
            }
            (Chunk::CallInput { index, json }, _) => {
                if let Piece::Call { input, .. } = &mut blocks[calls[index as usize].0] {
                    input.push_str(&json);
                }
            }
            (Chunk::CallEnd { index }, _) => calls[index as usize].1 = true,
            (Chunk::Usage(now), _) => usage = now,
            (Chunk::Done(reason), _) => stop = Some(reason),
            (
                Chunk::Started { .. }
                | Chunk::ThinkingReplay(_)
                | Chunk::BlockEnd
                | Chunk::Status(_)
                | Chunk::CallReason(_),
                _,
            ) => {}
        }
    }
    calls.iter().all(|(_, ended)| *ended).then_some(Answer { blocks, usage, stop: stop? })
}

#[expect(clippy::print_stdout, reason = "the number of cases is part of what a test run shows")]
async fn holds(dialect: Dialect) {
    for seed in 0..rounds() {
        let mut random = Random(seed);
        let answer = generated::answer(&mut random, dialect);
        let bytes = generated::stream(&mut random, dialect, &answer);
        let chunking = match random.below(3) {
            0 => Chunking::EveryByte,
            1 => Chunking::CutAt(random.below(bytes.len())),
            _ => Chunking::Whole,
        };
        let exchange = Exchange::event_stream(bytes.clone()).chunked(chunking);
        let decoded = chunks(&*provider(dialect, exchange), Delivery::Streamed).await;
        let text = String::from_utf8_lossy(&bytes);
        match decoded.map(assemble) {
            Ok(arrived) => assert_eq!(arrived, Some(answer), "{dialect:?} seed {seed}: {text}"),
            Err(failure) => panic!("{dialect:?} seed {seed}: {failure}: {text}"),
        }
    }
    println!("{} cases", rounds());
}

#[tokio::test]
async fn anthropic_answers_arrive_as_they_were_meant() {
    holds(Dialect::Anthropic).await;
}

#[tokio::test]
async fn chat_answers_arrive_as_they_were_meant() {
    holds(Dialect::Chat).await;
}

#[tokio::test]
async fn responses_answers_arrive_as_they_were_meant() {
    holds(Dialect::Responses).await;
}

#[tokio::test]
async fn gemini_answers_arrive_as_they_were_meant() {
    holds(Dialect::Gemini).await;
}

/// The generator itself: it must not always make the same.
#[test]
fn answers_differ() {
    for dialect in Dialect::ALL {
        let answers: Vec<_> = (0..200).map(|seed| generated::answer(&mut Random(seed), dialect)).collect();
        let has = |wanted: fn(&Piece) -> bool| answers.iter().any(|answer| answer.blocks.iter().any(wanted));
        assert!(has(|piece| matches!(piece, Piece::Thinking(_))), "{dialect:?}");
        assert!(has(|piece| matches!(piece, Piece::Text(_))), "{dialect:?}");
        assert!(has(|piece| matches!(piece, Piece::Call { .. })), "{dialect:?}");
    }
}
