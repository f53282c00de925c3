//! Turn after turn with a client, until it has no more prompts.

use std::sync::PoisonError;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use zori_contract::exit::Exit;
use zori_core::input::Prompt;
use zori_core::outcome::{CancelCause, Outcome};
use zori_frontends::claude::input::User;
use zori_frontends::claude::sdk::LastTurn;
use zori_frontends::claude::{Frames, object, uuid};

use super::client::{Client, Next};
use super::structured::Structured;
use crate::clock::SystemIds;
use crate::network::Network;
use crate::signals::Signals;
use crate::ui::Ui;
use crate::wire_up::Session;

/// A session with a client.
pub struct Conversation {
    /// The engine, and what it runs on.
    pub session: Session,
    /// The other end.
    pub client: Client,
    /// Ctrl-C and its kin.
    pub signals: Signals,
    /// What requests go through.
    pub network: Network,
    /// The way to standard output.
    pub frames: Frames,
    /// How the last turn ended.
    pub last: LastTurn,
    /// What answers have to look like.
    pub structured: Option<Structured>,
    /// Whether prompts are repeated when their turn begins.
    pub replay: bool,
    /// The session.
    pub id: String,
    /// Whether Ctrl-C came in the last turn.
    pub signalled: bool,
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
                Next::Wish(wish) => self.session.engine.wish(wish),
                Next::Initialize(_) => {
                    self.client.warn("`initialize` came after the first prompt; it changes nothing")
                }
                Next::End => return,
            }
            if self.frames.is_closed() {
                return;
            }
            let waiting = self.signals.while_editing(|| {});
            let Self { session, client, .. } = self;
            next = session.runtime.block_on(client.next());
            drop(waiting);
        }
    }

    /// Answers one prompt. Returns whether to go on.
    fn prompt(&mut self, user: User, ui: &mut Ui) -> bool {
        if let Some(structured) = &self.structured {
            structured.begin();
        }
        self.echo(&user);
        let mut prompt = user.prompt;
        loop {
            self.network.prompt(&prompt);
            let outcome = self.turn(prompt);
            self.network.turn_over(ui);
            self.exit = match &outcome {
                Outcome::Cancelled(CancelCause::Terminate | CancelCause::Hangup) => Exit::Terminated,
                Outcome::Cancelled(CancelCause::User) if self.signalled => Exit::Interrupted,
                Outcome::OutputClosed => Exit::General,
                _ => self.ended(),
            };
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

    /// Returns what the last turn leads to.
    fn ended(&self) -> Exit {
        let last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        match last.as_ref().is_some_and(|over| over.ending.is_error) {
            true => Exit::General,
            false => Exit::Success,
        }
    }

    fn turn(&mut self, prompt: Prompt) -> Outcome {
        let (sender, mut inputs) = mpsc::channel(16);
        let listening = self.signals.listen(sender.clone());
        let Self { session, client, .. } = self;
        let Session { engine, runtime, .. } = session;
        let (summary, _) = runtime.block_on(async {
            tokio::select! {
                biased;
                over = engine.turn(prompt, &mut inputs) => over,
                never = client.serve(Some(&sender)) => match never {},
            }
        });
        // The client may have ended it as well; a signal ends the program.
        self.signalled = self.signals.check().is_err();
        drop(listening);
        summary.outcome
    }

    fn echo(&self, user: &User) {
        let Some(message) = user.message.as_deref().filter(|_| self.replay) else { return };
        let message = object(message.get());
        // Whether the reader is gone is looked at after the turn.
        let _ = self.frames.write(&Echo {
            r#type: "user",
            message: &message,
            parent_tool_use_id: None,
            session_id: &self.id,
            uuid: user.uuid.clone().unwrap_or_else(|| uuid(&SystemIds)),
            is_replay: true,
        });
    }
}
