//! What the panel keeps of a tab beside its chat: the rows of all its cells at the present width, where they are scrolled to, its feed.

use crate::panel::feed::Feed;
use crate::row::Row;
use crate::state::State;
use crate::terminal::inline::Voice;
use crate::wrap::{self, Break};

/// How many rows of a conversation are kept laid out; the pager has all of it.
const MOST_ROWS: usize = 20_000;

#[derive(Debug, Default)]
pub struct Tab {
    pub name: String,
    pub facts: TabFacts,
    pub feed: Feed,
    /// How many rows below the last visible one there are.
    pub scroll: usize,
    /// Something happened that nobody has seen.
    pub unread: bool,
    rows: Vec<Row>,
    /// Where the last prompt begins.
    prompt: usize,
    width: u16,
    /// The rows were laid out at another width while an answer came in.
    stale: bool,
}

/// What the cards say of a tab and its chat does not know.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TabFacts {
    pub project: String,
    pub agent: String,
    /// Whether agent profiles mean something to the provider.
    pub has_agents: bool,
    /// Where the model is asked.
    pub api: String,
    /// Whether it answered when it was asked last.
    pub answered: Option<bool>,
    pub stream: bool,
    /// How an answer is read, where that can be chosen.
    pub stream_mode: Option<&'static str>,
    /// Whether shell commands may run at all.
    pub shell: bool,
    /// What goes along with prompts beside the conversation, if that is known.
    pub context: Option<String>,
    /// The address of the provider's own user interface.
    pub web: Option<String>,
}

impl Tab {
    /// Returns a tab with nothing in it.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), ..Self::default() }
    }

    /// Returns the rows that are laid out.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns the rows of the last turn, from its prompt on.
    pub fn last_turn(&self) -> &[Row] {
        &self.rows[self.prompt.min(self.rows.len())..]
    }

    /// Scrolls by so many rows, up for a positive number. `most`: how far up there is anything.
    pub fn scroll_by(&mut self, by: isize, most: usize) {
        self.scroll = self.scroll.saturating_add_signed(by).min(most);
    }

    /// Forgets everything that was said.
    pub fn clear(&mut self) {
        let (name, facts) = (std::mem::take(&mut self.name), std::mem::take(&mut self.facts));
        *self = Self { name, facts, ..Self::default() };
    }
}

/// Lays out what has come, and everything anew at another width. What is streaming in keeps its rows until it is complete.
pub fn lay_out(state: &mut State, width: u16) {
    let Some(tab) = &mut state.tab else { return };
    let transcript = &mut state.transcript;
    let streaming = transcript.is_streaming();
    let other = tab.width != width;
    tab.width = width;
    if (other || tab.stale) && !streaming {
        if !tab.rows.is_empty() {
            transcript.all_again();
            tab.rows.clear();
            tab.prompt = 0;
        }
        tab.stale = false;
    } else if other && !tab.rows.is_empty() {
        let rows = std::mem::take(&mut tab.rows);
        tab.rows = rows
            .iter()
            .flat_map(|row| wrap::wrap_spans(&row.spans, usize::from(width).max(1), Break::Anywhere))
            .collect();
        tab.prompt = tab.prompt.min(tab.rows.len());
        tab.stale = true;
    }
    let before = tab.rows.len();
    for commit in transcript.drain(width) {
        if tab.rows.is_empty() && commit.row.spans.is_empty() {
            continue;
        }
        if commit.voice == Voice::Prompt {
            tab.prompt = tab.rows.len();
        }
        tab.rows.push(commit.row);
    }
    if tab.scroll > 0 && !other {
        tab.scroll += tab.rows.len() - before;
    }
    let over = tab.rows.len().saturating_sub(MOST_ROWS);
    if over > 0 {
        tab.rows.drain(..over);
        tab.prompt = tab.prompt.saturating_sub(over);
    }
}
