//! A piece of the transcript: what a person said, an answer, a tool call. The kinds are in `cells`.

use std::time::Duration;

use zori_core::ids::CallId;

use crate::row::Row;

/// A piece of the transcript, laid out anew for each width.
pub trait Cell {
    /// Returns its rows, each at most `width` columns wide.
    fn rows(&self, width: u16, cx: &CellCx) -> Vec<Row>;

    /// Returns what it is in one row, for lists and search.
    fn summary(&self) -> Row;

    /// Returns the call it shows, if it is one.
    fn call_id(&self) -> Option<&CallId> {
        None
    }

    /// Returns the command it shows, if it is one that can be run again.
    fn command(&self) -> Option<&str> {
        None
    }

    /// Returns the file with all of what it printed, if that is more than the cell keeps (TRN-3).
    fn file(&self) -> Option<&str> {
        None
    }
}

/// What a cell is drawn with, beside its own state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CellCx {
    /// The number people name it by (`/show 7`); none for what has none.
    pub number: Option<u32>,
    pub detail: Detail,
    /// How long it has been running, if it is.
    pub running: Option<Duration>,
    pub signs: Signs,
}

/// How much of a cell is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// What the transcript shows: long bodies are cut in the middle.
    Short,
    /// All there is, for the pager.
    Whole,
}

/// Which signs the terminal can show (ACC-3).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signs {
    Unicode,
    Ascii,
}
