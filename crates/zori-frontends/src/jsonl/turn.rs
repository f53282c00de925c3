//! The order of a turn, held by types: only a turn that has spoken can write `response_end` (FR-004, D-6).

use std::io;
use std::marker::PhantomData;

use super::wire::{Code, Cost, Line};
use super::writer::EventWriter;

/// A turn without a chunk so far.
pub(super) struct Silent;
/// A turn with at least one.
pub(super) struct Speaking;

/// A turn under way. The state says whether it has spoken.
pub(super) struct Turn<State>(PhantomData<State>);

impl Turn<Silent> {
    fn speak(self, events: &EventWriter, text: &str) -> (Turn<Speaking>, io::Result<()>) {
        (Turn(PhantomData), events.write(&Line::chunk(text)))
    }
}

impl Turn<Speaking> {
    fn say(&self, events: &EventWriter, text: &str) -> io::Result<()> {
        events.write(&Line::chunk(text))
    }

    /// Writes the end of the chunks. It consumes the turn, so that none can follow.
    fn end(self, events: &EventWriter) -> io::Result<()> {
        events.write(&Line::end())
    }
}

/// A turn in either state.
pub(super) enum Open {
    Silent(Turn<Silent>),
    Speaking(Turn<Speaking>),
}

impl Open {
    pub(super) fn new() -> Self {
        Self::Silent(Turn(PhantomData))
    }

    /// Writes a chunk; an empty one is none.
    pub(super) fn chunk(self, events: &EventWriter, text: &str) -> (Self, io::Result<()>) {
        match self {
            turn if text.is_empty() => (turn, Ok(())),
            Self::Silent(turn) => {
                let (turn, written) = turn.speak(events, text);
                (Self::Speaking(turn), written)
            }
            Self::Speaking(turn) => {
                let written = turn.say(events, text);
                (Self::Speaking(turn), written)
            }
        }
    }

    /// Ends the turn: the error, the end of the answer, and what it cost, which is the last event of every turn.
    pub(super) fn end(
        self,
        events: &EventWriter,
        error: Option<(Code, String)>,
        cost: Cost<'_>,
    ) -> io::Result<()> {
        if let Some((code, message)) = error {
            events.error(code, &message)?;
        }
        self.end_answer(events)?;
        events.write(&Line::Cost(cost))
    }

    /// Ends the answer, if there was one.
    pub(super) fn end_answer(self, events: &EventWriter) -> io::Result<()> {
        match self {
            Self::Silent(_) => Ok(()),
            Self::Speaking(turn) => turn.end(events),
        }
    }
}
