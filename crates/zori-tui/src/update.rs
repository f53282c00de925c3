//! What happens when something happens (CRT-2): a message in, the state changed, and what the outside has to do.

mod complete;
mod confirm;
mod keys;
mod leave;
mod picker;
mod question;
mod queue;
pub(crate) mod screen_command;
mod session;

use std::sync::Arc;
use std::time::Duration;

use zori_core::event::Event;
use zori_core::ids::CallId;
use zori_core::image::Image;
use zori_core::input::{Input, Prompt};
use zori_core::question::Question;

use crate::completion::Item;
use crate::confirm::{Confirm, What};
use crate::pager::{LongText, Pager};
use crate::panel::PanelEffect;
use crate::question::Asked;
use crate::row::Row;
use crate::state::{Draft, Size, State};
use crate::terminal::decode::TermEvent;

use complete::Found;
pub use queue::wait_in_queue;
pub use session::TurnOver;

/// How long after the last key the draft is kept (CMP-10).
const KEEP_AFTER: Duration = Duration::from_millis(300);
/// How long a stopped turn may take before more is said.
const OVERDUE: Duration = Duration::from_secs(3);

/// Something that happened.
#[derive(Debug)]
pub enum Msg<'a> {
    Term(TermEvent),
    /// An event of the session.
    Event(&'a Event),
    /// Somebody has to be asked.
    Asked(Asked),
    /// A model was asked to explain a call, and says this, or why it cannot.
    Explained {
        call: CallId,
        words: Result<String, String>,
    },
    TurnBegins(Prompt),
    TurnOver(TurnOver),
    /// What is queued may go on.
    Next,
    /// The list of what a command can be given is wanted.
    Choose(&'static str),
    /// The chat itself asks something.
    Confirm(Confirm),
    /// What was on the clipboard, or at a path that was dropped.
    Pasted(Pasted),
    /// What could be meant by a word of this subject, found outside.
    Found {
        word: String,
        items: Vec<Item>,
        of: usize,
        /// Sessions: how many there are in all folders.
        all: usize,
        /// More may be found: [`Msg::FindAgain`] comes then.
        pending: bool,
    },
    /// What was still being looked for may be found now.
    FindAgain,
    /// The text to look at before something is chosen.
    Preview(Vec<Row>),
    /// All of what a cell printed is to be looked at.
    ShowText(LongText),
    /// The cell with this number is to be looked at.
    ShowCell(u32),
    /// The editor gave this back; `None` if it failed.
    Edited(Option<String>),
    Resized(Size),
    /// Nothing but time.
    Tick,
    /// A frame with the first question in it was written.
    Drawn,
}

/// What the outside has to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Run a turn with this.
    Prompt(Prompt),
    /// Tell the running turn.
    Input(Input),
    /// Allow this from now on in later sessions too: the rules of the question's grant with this number.
    Remember {
        rules: Vec<String>,
    },
    /// Run a slash command, without a turn.
    Command(String),
    /// Run a command of the user's own; `share`: the model reads it with the next prompt.
    Shell {
        command: String,
        share: bool,
    },
    /// Look for what could be meant.
    Find(FindRequest),
    /// Show what was said in the session with this name.
    Preview(String),
    /// Show the file with all of what the cell with this number printed.
    ShowFile {
        number: u32,
        file: String,
    },
    /// Put the session with this name into the trash.
    Trash(String),
    /// Let the user edit this in an editor.
    Edit(String),
    /// Put this on the clipboard.
    Copy(String),
    /// Read an image or text from the clipboard.
    PasteClipboard,
    /// Look whether this pasted text is the path of an image.
    Dropped(String),
    /// A question of the chat was answered.
    Confirmed {
        what: What,
        yes: bool,
    },
    /// Ask the model beside the conversation.
    Aside(String),
    /// Have a model explain a call that is asked about.
    Explain {
        call: CallId,
        question: Arc<Question>,
    },
    /// Use other colours; `keep`: from now on.
    Theme {
        name: String,
        keep: bool,
    },
    /// Keep the keys of an action in the settings.
    SaveKeys {
        action: String,
        keys: Vec<String>,
    },
    /// Change the permission mode.
    SetMode(String),
    Keep(Draft),
    Suspend,
    /// Draw the last cells again.
    Repaint,
    /// Look at the branch again.
    LookAround,
    Notify(String),
    /// What the panel wants.
    Panel(PanelEffect),
    Leave,
    /// Wait no longer for the end of a turn that was stopped, if the conversation can go on without it.
    Abandon,
    /// End the program at once.
    Die,
}

/// What a paste came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pasted {
    Image(Image),
    Text(String),
    /// Nothing, for this reason.
    Refused(String),
}

/// What has to be looked for outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FindRequest {
    Files(String),
    Argument { command: &'static str, word: String, everywhere: bool },
}

/// Changes the state by a message that came at this time.
pub fn update(state: &mut State, now: Duration, msg: Msg<'_>) -> Vec<Effect> {
    state.now = now;
    let mut effects = Vec::new();
    // What streams in changes no draft, and a draft may be long.
    let typed = !matches!(msg, Msg::Event(_) | Msg::Tick | Msg::Drawn | Msg::FindAgain | Msg::Resized(_));
    match msg {
        Msg::Term(TermEvent::Key(key)) => keys::key(state, key, &mut effects),
        Msg::Term(TermEvent::Paste(text)) => keys::paste(state, &text, &mut effects),
        Msg::Term(TermEvent::Focus(focused)) => {
            state.focused = Some(focused);
            if focused {
                effects.push(Effect::LookAround);
            }
        }
        // The panel scrolls by it.
        Msg::Term(TermEvent::Wheel { .. } | TermEvent::Answer(_)) => {}
        Msg::Event(event) => session::event(state, event, &mut effects),
        Msg::Asked(asked) => question::asked(state, asked, &mut effects),
        Msg::Explained { call, words } => question::explained(state, &call, words),
        Msg::TurnBegins(prompt) => session::turn_begins(state, prompt),
        Msg::TurnOver(over) => session::turn_over(state, over, &mut effects),
        Msg::Next => queue::next(state, &mut effects),
        Msg::Choose(command) => keys::choose(state, command, &mut effects),
        Msg::Confirm(confirm) => {
            // The prompt of a turn that failed is back, and would take the keys that answer (NFR-007).
            if confirm.what == What::Loop && std::mem::take(&mut state.given_back) {
                state.put_by();
            }
            state.confirm = Some(confirm);
        }
        Msg::Pasted(pasted) => keys::pasted(state, pasted, &mut effects),
        Msg::Found { word, items, of, all, pending } => {
            complete::found(state, &word, Found { items, of, all, pending }, &mut effects);
        }
        Msg::FindAgain => complete::again(state, &mut effects),
        Msg::ShowCell(number) => screen_command::open_pager(state, Some(number)),
        Msg::Preview(rows) => state.pager = Some(Pager::text(rows)),
        Msg::ShowText(text) => state.pager = Some(Pager::long_text(text)),
        Msg::Edited(text) => {
            if let Some(text) = text {
                // The file has the words only; images stay.
                let images = state.composer.buffer.prompt().images;
                state.composer.set(&text);
                images.into_iter().for_each(|image| state.composer.attach(image));
            }
        }
        Msg::Resized(size) => state.size = size,
        Msg::Drawn => {
            if let Some(asked) = state.questions.front_mut() {
                asked.drawn.get_or_insert(now);
            }
            if let Some(confirm) = &mut state.confirm {
                confirm.drawn.get_or_insert(now);
            }
        }
        Msg::Tick => {}
    }
    tick(state, typed, &mut effects);
    crate::pager::lay_out(state);
    effects
}

/// What time alone changes.
fn tick(state: &mut State, typed: bool, effects: &mut Vec<Effect>) {
    let now = state.now;
    if state.hint.as_ref().is_some_and(|hint| now >= hint.until) {
        state.hint = None;
    }
    if state.leaving.is_some_and(|leaving| now >= leaving.until) {
        state.leaving = None;
    }
    if keys::burst_ends(state).is_some_and(|at| now >= at) {
        keys::end_burst(state);
    }
    if let Some(turn) = &mut state.turn {
        if !turn.overdue && turn.stopped.is_some_and(|stopped| now >= stopped + OVERDUE) {
            turn.overdue = true;
            effects.push(Effect::Abandon);
        }
        let beat = now.as_millis() / crate::status::BEAT.as_millis();
        if turn.beat != beat {
            (turn.beat, turn.shown_bytes) = (beat, turn.bytes);
        }
    }
    state.take_up();
    if typed && state.may_have_to_be_kept() {
        state.draft.due.get_or_insert(now + KEEP_AFTER);
    }
    // A draft may be long, and come key by key: it is looked at as a whole only when its time has come.
    if state.draft.due.is_none_or(|due| now < due) {
        return;
    }
    state.draft.due = None;
    let draft = state.draft();
    if draft != state.draft.kept {
        state.draft.kept = draft.clone();
        effects.push(Effect::Keep(draft));
    }
}

/// Returns when the state changes by itself next; `None` if nothing moves.
pub fn next_tick(state: &State) -> Option<Duration> {
    let beat = state.turn.as_ref().map(|_| {
        let every = if state.options.motion { crate::status::BEAT } else { Duration::from_secs(10) };
        let beats = state.now.as_millis() / every.as_millis() + 1;
        every.saturating_mul(u32::try_from(beats).unwrap_or(u32::MAX))
    });
    let ready = state
        .questions
        .front()
        .filter(|asked| !asked.entered && state.composer.is_empty())
        .and_then(|asked| asked.ready_at(state.keys.last).filter(|ready| *ready > state.now));
    let confirm = state
        .confirm
        .as_ref()
        .filter(|confirm| !confirm.entered && state.composer.is_empty())
        .and_then(|confirm| confirm.ready_at(state.keys.last).filter(|ready| *ready > state.now));
    let hint = state.hint.as_ref().map(|hint| hint.until);
    let leaving = state.leaving.map(|leaving| leaving.until);
    let overdue =
        state.turn.as_ref().filter(|turn| !turn.overdue).and_then(|turn| turn.stopped).map(|at| at + OVERDUE);
    let burst = keys::burst_ends(state);
    [beat, ready, confirm, hint, leaving, overdue, burst, state.draft.due].into_iter().flatten().min()
}

#[cfg(test)]
mod tests;
