//! One step of a script as a stream of chunks, at the pace that was asked for.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
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
pub(super) struct StepStream {
    actions: VecDeque<Action>,
    waiting: Option<Pin<Box<Sleep>>>,
}

enum Action {
    Say(Result<Chunk, ProviderFailure>),
    Wait(Duration),
    Hang,
}

impl StepStream {
    pub(super) fn new(step: &Step, asked_model: &str, pace: Pace) -> Self {
        let mut actions = VecDeque::new();
        let model = step.model.as_deref().unwrap_or(asked_model).to_owned();
        actions.push_back(Action::Say(Ok(Chunk::Started { model })));
        let mut calls = 0;
        for piece in &step.reply {
            match piece {
                Piece::Text { text, pace_ms } => {
                    push_words(&mut actions, text, pace, *pace_ms, Chunk::Text);
                    actions.push_back(Action::Say(Ok(Chunk::BlockEnd)));
                }
                Piece::Thinking { text, signature } => {
                    push_words(&mut actions, text, pace, None, Chunk::Thinking);
                    if let Some(signature) = signature {
                        actions.push_back(Action::Say(Ok(Chunk::ThinkingReplay(signed(signature)))));
                    }
                    actions.push_back(Action::Say(Ok(Chunk::BlockEnd)));
                }
                Piece::Call { id, name, json, complete } => {
                    let index = calls;
                    calls += 1;
                    let start = Chunk::CallStart { index, id: id.clone(), name: name.clone(), replay: None };
                    actions.push_back(Action::Say(Ok(start)));
                    actions.push_back(Action::Say(Ok(Chunk::CallInput { index, json: json.clone() })));
                    if *complete {
                        actions.push_back(Action::Say(Ok(Chunk::CallEnd { index })));
                    }
                }
                Piece::Pause(ms) => {
                    if pace != Pace::Instant {
                        actions.push_back(Action::Wait(Duration::from_millis(*ms)));
                    }
                }
                Piece::Error(error) => {
                    actions.push_back(Action::Say(Err(error.failure())));
                    return Self { actions, waiting: None };
                }
                Piece::Cut => {
                    let cut = "stream ended before the reply was complete";
                    actions.push_back(Action::Say(Err(ProviderFailure::new(FailureKind::Transport, cut))));
                    return Self { actions, waiting: None };
                }
                Piece::Hang => {
                    actions.push_back(Action::Hang);
                    return Self { actions, waiting: None };
                }
            }
        }
        actions.extend(step.usage.map(|usage| Action::Say(Ok(Chunk::Usage(usage)))));
        actions.push_back(Action::Say(Ok(Chunk::Done(step.stop.clone()))));
        Self { actions, waiting: None }
    }
}

impl Stream for StepStream {
    type Item = Result<Chunk, ProviderFailure>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = self.get_mut();
        loop {
            if let Some(waiting) = &mut this.waiting {
                ready!(waiting.as_mut().poll(cx));
                this.waiting = None;
            }
            match this.actions.pop_front() {
                Some(Action::Say(item)) => return Poll::Ready(Some(item)),
                Some(Action::Wait(time)) => this.waiting = Some(Box::pin(tokio::time::sleep(time))),
                Some(Action::Hang) => {
                    this.actions.push_front(Action::Hang);
                    return Poll::Pending;
                }
                None => return Poll::Ready(None),
            }
        }
    }
}

/// Cuts text behind each run of blanks, as models stream it.
fn push_words(
    actions: &mut VecDeque<Action>,
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
        actions.push_back(Action::Say(Ok(chunk(piece.to_owned()))));
        if let Pace::PerWord(time) = pace {
            actions.push_back(Action::Wait(pace_ms.map_or(time, Duration::from_millis)));
        }
        rest = behind;
    }
}

fn signed(signature: &str) -> Opaque {
    let raw = serde_json::value::to_raw_value(signature).expect("a string is JSON");
    Opaque::new(NAME, raw)
}
