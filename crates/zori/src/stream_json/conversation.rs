//! Turn after turn with a client, until it has no more prompts.

use std::sync::{Arc, PoisonError};

use serde::Serialize;
use serde_json::value::RawValue;
use zori_contract::exit::Exit;
use zori_core::input::Prompt;
use zori_frontends::claude::input::User;
use zori_frontends::claude::sdk::LastTurn;
use zori_frontends::claude::{FrameWriter, ModelFacts, Tally, TurnResult, object, uuid};
use zori_host::{BlockingSession, SystemClock, SystemIds, TurnEnd};
use zori_serve::claude::client::Next;
use zori_serve::claude::structured::Structured;

use super::Client;
use zori_setup::outcome::protocol_exit;
use zori_setup::signals::Signals;
use zori_setup::ui::Ui;

/// A session with a client.
pub struct Conversation {
    /// The session, and what it runs on.
    pub session: BlockingSession,
    /// The other end.
    pub client: Client,
    /// Ctrl-C and its kin.
    pub signals: Signals,
    /// The way to standard output.
    pub frames: FrameWriter,
    /// How the last turn ended.
    pub last: LastTurn,
    /// What answers have to look like.
    pub structured: Option<Structured>,
    /// Whether prompts are repeated when their turn begins.
    pub replay: bool,
    /// The session.
    pub id: String,
    /// What it all leads to.
    pub exit: Exit,
}

/// A prompt, said again.
#[derive(Serialize)]
struct Echo<'a> {
    r#type: &'static str,
    message: &'a RawValue,
    parent_tool_use_id: Option<&'a str>,
    session_id: &'a str,
    uuid: String,
    #[serde(rename = "isReplay")]
    is_replay: bool,
}

impl Conversation {
    /// Runs turns until there are no more prompts, or a signal came.
    pub fn hold(&mut self, first: User, ui: &mut Ui) {
        let mut next = Next::Prompt(first);
        loop {
            match next {
                Next::Prompt(user) => {
                    if !self.prompt(user, ui) {
                        return;
                    }
                }
                Next::Change(change) => self.session.session.apply(change),
                Next::Initialize(_) => {
                    self.client.warn("`initialize` came after the first prompt; it changes nothing")
                }
                Next::SetServers(id, servers) => {
                    let Self { session, client, .. } = self;
                    session.block_on(async { client.set_servers(&id, servers) });
                }
                Next::End => return,
            }
            if self.frames.is_closed() {
                return;
            }
            let waiting = self.signals.while_editing(|| {});
            let Self { session, client, .. } = self;
            next = session.block_on(client.next_task());
            drop(waiting);
        }
    }

    /// Answers one prompt. Returns whether to go on.
    fn prompt(&mut self, user: User, ui: &mut Ui) -> bool {
        if let Some(structured) = &self.structured {
            structured.begin();
        }
        let uuid = self.echo(&user);
        if user.prompt.text.trim().is_empty() && user.prompt.images.is_empty() {
            self.refuse_empty();
            return true;
        }
        let mut prompt = Prompt { uuid, ..user.prompt };
        loop {
            let (end, by_signal) = self.turn(prompt);
            ui.notices(&end.notices);
            self.exit = protocol_exit(&end.summary.outcome, by_signal, self.is_error());
            if let Some(ending) = self.signals.ending() {
                self.exit = ending;
                return false;
            }
            if matches!(self.exit, Exit::Interrupted | Exit::Terminated) {
                return false;
            }
            match self.structured.as_ref().and_then(Structured::again) {
                Some(again) => prompt = again.into(),
                None => return true,
            }
        }
    }

    /// A prompt that says nothing is answered by a `result` that says so: no model takes it.
    fn refuse_empty(&mut self) {
        let ending = TurnResult::refused("The prompt is empty: it has neither text nor an image".to_owned());
        let tally = Tally::new(Arc::new(SystemClock::new()), Arc::new(|_| ModelFacts::default()));
        let name = uuid(&SystemIds::default());
        // Whether the reader is gone is looked at next.
        let _ = self.frames.write(&tally.result(&ending, None, &self.id, &name, None));
        self.exit = Exit::General;
    }

    /// Returns whether the last turn's `result` is an error.
    fn is_error(&self) -> bool {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.as_ref().is_some_and(|over| over.ending.is_error)
    }

    /// Runs a turn. The second value: whether a signal came meanwhile, which ends the program where the client's own
    /// interrupt does not.
    fn turn(&mut self, prompt: Prompt) -> (TurnEnd, bool) {
        let Self { session, client, signals, .. } = self;
        if let Some((added, gone)) = client.changed_tools() {
            session.session.change_tools(added, gone);
        }
        client.turn_begins();
        let ended = signals.during(client, |peer| {
            let end = session.turn(prompt, peer);
            (end, signals.check().is_err())
        });
        client.turn_over();
        ended
    }

    /// Says a prompt again where that is wanted. Returns the name the client knows it by, if any.
    fn echo(&self, user: &User) -> Option<String> {
        let Some(message) = user.message.as_deref().filter(|_| self.replay) else { return user.uuid.clone() };
        let message = object(message.get());
        let name = user.uuid.clone().unwrap_or_else(|| uuid(&SystemIds::default()));
        // Whether the reader is gone is looked at after the turn.
        let _ = self.frames.write(&Echo {
            r#type: "user",
            message: &message,
            parent_tool_use_id: None,
            session_id: &self.id,
            uuid: name.clone(),
            is_replay: true,
        });
        Some(name)
    }
}
