//! One step of a script as a stream of chunks, at the pace that was asked for.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use futures_core::Stream;
use tokio::time::Sleep;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::message::Opaque;
use zori_core::provider::Chunk;

use super::script::{Piece, Step};
use super::{NAME, Pace};

/// Plays one step.
pub(super) struct Play {
    acts: VecDeque<Act>,
    waiting: Option<Pin<Box<Sleep>>>,
}

enum Act {
    Say(Result<Chunk, ProviderFailure>),
    Wait(Duration),
    Hang,
}

impl Play {
    pub(super) fn new(step: &Step, asked_model: &str, pace: Pace) -> Self {
        let mut acts = VecDeque::new();
        let model = step.model.as_deref().unwrap_or(asked_model).to_owned();
        acts.push_back(Act::Say(Ok(Chunk::Started { model })));
        let mut calls = 0;
        for piece in &step.reply {
            match piece {
                Piece::Text { text, pace_ms } => {
                    push_words(&mut acts, text, pace, *pace_ms, Chunk::Text);
                    acts.push_back(Act::Say(Ok(Chunk::BlockEnd)));
                }
                Piece::Thinking { text, signature } => {
                    push_words(&mut acts, text, pace, None, Chunk::Thinking);
                    if let Some(signature) = signature {
                        acts.push_back(Act::Say(Ok(Chunk::ThinkingReplay(signed(signature)))));
                    }
                    acts.push_back(Act::Say(Ok(Chunk::BlockEnd)));
                }
                Piece::Call { id, name, json, complete } => {
                    let index = calls;
                    calls += 1;
                    let start = Chunk::CallStart { index, id: id.clone(), name: name.clone(), replay: None };
                    acts.push_back(Act::Say(Ok(start)));
                    acts.push_back(Act::Say(Ok(Chunk::CallInput { index, json: json.clone() })));
                    if *complete {
                        acts.push_back(Act::Say(Ok(Chunk::CallEnd { index })));
                    }
                }
                Piece::Pause(ms) => {
                    if pace != Pace::Instant {
                        acts.push_back(Act::Wait(Duration::from_millis(*ms)));
                    }
                }
                Piece::Error(error) => {
                    acts.push_back(Act::Say(Err(error.failure())));
                    return Self { acts, waiting: None };
                }
                Piece::Cut => {
                    let cut = "stream ended before the reply was complete";
                    acts.push_back(Act::Say(Err(ProviderFailure::new(FailureKind::Transport, cut))));
                    return Self { acts, waiting: None };
                }
                Piece::Hang => {
                    acts.push_back(Act::Hang);
                    return Self { acts, waiting: None };
                }
            }
        }
        acts.extend(step.usage.map(|usage| Act::Say(Ok(Chunk::Usage(usage)))));
        acts.push_back(Act::Say(Ok(Chunk::Done(step.stop.clone()))));
        Self { acts, waiting: None }
    }
}

impl Stream for Play {
    type Item = Result<Chunk, ProviderFailure>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(waiting) = &mut this.waiting {
                ready!(waiting.as_mut().poll(cx));
                this.waiting = None;
            }
            match this.acts.pop_front() {
                Some(Act::Say(item)) => return Poll::Ready(Some(item)),
                Some(Act::Wait(time)) => this.waiting = Some(Box::pin(tokio::time::sleep(time))),
                Some(Act::Hang) => {
                    this.acts.push_front(Act::Hang);
                    return Poll::Pending;
                }
                None => return Poll::Ready(None),
            }
        }
    }
}

/// Cuts text behind each run of blanks, as models stream it.
fn push_words(
    acts: &mut VecDeque<Act>,
    text: &str,
    pace: Pace,
    pace_ms: Option<u64>,
    chunk: fn(String) -> Chunk,
) {
    let mut rest = text;
    while !rest.is_empty() {
        let word = rest.find(|c: char| !c.is_whitespace()).unwrap_or(rest.len());
        let blank = rest[word..].find(char::is_whitespace).map_or(rest.len(), |at| word + at);
        let next = rest[blank..].find(|c: char| !c.is_whitespace()).map_or(rest.len(), |at| blank + at);
        let (piece, behind) = rest.split_at(next);
        acts.push_back(Act::Say(Ok(chunk(piece.to_owned()))));
        if let Pace::PerWord(time) = pace {
            acts.push_back(Act::Wait(pace_ms.map_or(time, Duration::from_millis)));
        }
        rest = behind;
    }
}

fn signed(signature: &str) -> Opaque {
    let raw = serde_json::value::to_raw_value(signature).expect("a string is JSON");
    Opaque { provider: Arc::from(NAME), raw }
}
