//! One session of an editor: an engine, and the task that runs its turns and hears what is said meanwhile.

use std::convert::Infallible;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::mpsc;
use zori_acp::{
    AcpRenderer, Choice, Choices, EditorFiles, EditorTerminals, Ended, Peer, Refusal, Reply, Usage,
};
use zori_contract::failure::Failure;
use zori_core::BoxFuture;
use zori_core::cost::Spent;
use zori_core::event::TurnSummary;
use zori_core::input::{Input, Prompt};
use zori_core::message::{ToolCall, ToolInput};
use zori_core::outcome::{CancelCause, Outcome};
use zori_core::tool::{Effect, ToolKind, Toolbox};
use zori_engine::engine::CutAnswer;
use zori_frontends::jsonl::Remarks;
use zori_policy::Mode;
use zori_policy::mode::Protocol;
use zori_redact::Redactor;
use zori_tools::toolset::Offered;

use super::desk::{Over, refusal};
use super::words;
use crate::asking::Asking;
use crate::commands::Cx;
use crate::ears::{Ears, Heard};
use crate::mode_gate::ModeGate;
use crate::model_change;
use crate::network::Network;
use crate::outlet::{self, Outlet};
use crate::sandbox::confinement::Confinement;
use crate::settings::Settings;
use crate::ui::Ui;
use crate::wire_up::{self, Elsewhere, Loop, Open, Run};

/// So many things may wait for a turn to hear them. The last of them are kept for cancels.
const WAITING: usize = 64;

/// What is said to a session.
pub(super) enum Said {
    /// Run a turn.
    Prompt {
        prompt: Prompt,
        /// The id of the request.
        request: Option<String>,
        reply: Reply<Ended>,
    },
    /// End the running turn.
    Cancel,
    /// Give a request up.
    CancelRequest(String),
    /// Use another permission mode.
    SetMode { mode: String, reply: Reply<()> },
    /// Use another mode or model.
    SetChoice { choice: String, value: String, reply: Reply<Vec<Choice>> },
    /// The session is over when the running turn is.
    End,
}

impl Said {
    /// Says why not, to whoever waits for an answer.
    pub(super) fn refuse(self, refusal: Refusal) {
        match self {
            Self::Prompt { reply, .. } => reply.fail(refusal),
            Self::SetMode { reply, .. } => reply.fail(refusal),
            Self::SetChoice { reply, .. } => reply.fail(refusal),
            Self::Cancel | Self::CancelRequest(_) | Self::End => {}
        }
    }
}

/// A session.
pub(super) struct Seat {
    id: String,
    peer: Peer,
    pub(super) session: Loop,
    pub(super) settings: Settings,
    modes: ModeGate,
    redactor: Redactor,
    network: Network,
    confinement: Option<Arc<Confinement>>,
    heard: mpsc::UnboundedReceiver<Heard<Infallible>>,
    over: Rc<Over>,
    name: &'static str,
}

impl Seat {
    /// Opens a session.
    pub(super) fn take(
        cx: &mut Cx<'_>,
        settings: Settings,
        open: Open,
        peer: &Peer,
        over: Rc<Over>,
    ) -> Result<Self, Failure> {
        let confinement = Confinement::start(&settings)?;
        let saved = wire_up::open(&settings, open, cx.ui)?;
        let network = Network::open(cx, &settings)?;
        let provider = wire_up::provider(&settings, &network);
        let id = saved.id.to_string();
        let redactor = Redactor::new(settings.choice.secrets.clone());
        let (ears, heard) = Ears::new(|_| None);
        let modes = ModeGate::new(&settings, Protocol::Own, true);
        let remarks = Remarks::new(outlet::words(cx)?, outlet::style(cx), redactor.clone());
        let outlet = Outlet {
            renderers: vec![
                Box::new(AcpRenderer::new(peer.clone(), &id, redactor.clone())),
                Box::new(remarks),
                // What was said so far stands above the question, so this is last.
                Box::new(ears),
            ],
            asking: Asking::nobody(),
            dialect: cx.profile.dialect,
            offered: Offered::All,
            tools: Vec::new(),
            hooks: Vec::new(),
            watch: None,
            modes: modes.clone(),
            // The editor shows it, so the model knows it.
            cut: CutAnswer::Kept,
            live_output: true,
        };
        let run = Run {
            settings: &settings,
            network: &network,
            provider,
            confinement: confinement.clone(),
            spent_before: Spent::NOTHING,
        };
        let elsewhere = elsewhere(peer, &id);
        let session = Loop::start(cx, run, saved, outlet, elsewhere)?;
        let (peer, name) = (peer.clone(), cx.profile.name);
        Ok(Self { id, peer, session, settings, modes, redactor, network, confinement, heard, over, name })
    }

    /// Returns its id.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Tells the editor all that was said before.
    pub(super) fn replay(&self) {
        let known = |call: &ToolCall| self.known(call);
        let messages = self.session.engine.messages().iter().map(|message| &**message);
        // A reader that is gone is found out by the next turn.
        let _ = self.peer.replay(&self.id, messages, &self.settings.root, &known, &self.redactor);
    }

    fn known(&self, call: &ToolCall) -> (Option<ToolKind>, Vec<Effect>) {
        let ToolInput::Json(args) = &call.input else { return (None, Vec::new()) };
        match self.session.tools.resolve(&call.name, args) {
            Ok(resolved) => (resolved.tool.kind(), resolved.effects),
            Err(_) => (None, Vec::new()),
        }
    }

    /// Returns what can be chosen, and what is.
    pub(super) fn choices(&self) -> Choices {
        let mode = self.session.engine.policy().mode.mode;
        let modes = Mode::ALL.iter().filter(|mode| self.modes.check(mode.as_str()).is_ok());
        let about =
            |mode: &Mode| (mode.as_str().to_owned(), mode.as_str().to_owned(), Some(mode.about().to_owned()));
        let models = self.settings.choice.facts.models.iter();
        let models = models.map(|model| (model.id.to_owned(), model.id.to_owned(), None)).collect();
        let mut model = Choice { id: "model", name: "Model", current: String::new(), all: models };
        model.choose(self.session.engine.model());
        Choices {
            mode: Choice {
                id: "mode",
                name: "Permission mode",
                current: mode.as_str().to_owned(),
                all: modes.map(about).collect(),
            },
            model,
        }
    }

    /// Does what is said until the session is over.
    pub(super) async fn run(mut self, mut said: mpsc::UnboundedReceiver<Said>) {
        while let Some(one) = said.recv().await {
            match one {
                Said::Prompt { prompt, request, reply } => {
                    match self.turn(prompt, request, reply, &mut said).await {
                        Next::Continue => {}
                        Next::End => break,
                    }
                }
                Said::SetMode { mode, reply } => reply.give(self.set_mode(&mode)),
                Said::SetChoice { choice, value, reply } => reply.give(self.set_choice(&choice, &value)),
                // No turn runs.
                Said::Cancel | Said::CancelRequest(_) => {}
                Said::End => break,
            }
        }
        self.end().await;
    }

    async fn end(mut self) {
        self.session.engine.leave().await;
        let Loop { engine, tools, .. } = self.session;
        let mut ui = Ui::standard();
        // Renderers that cannot write have been found out by their turns.
        drop(engine.finish().finish());
        // Ending processes waits for them, and the other sessions should not.
        let _ = tokio::task::spawn_blocking(move || tools.shutdown()).await;
        if let Some(confinement) = self.confinement {
            confinement.end(&mut ui);
        }
        self.network.close(&mut ui);
    }

    fn set_mode(&mut self, mode: &str) -> Result<(), Refusal> {
        self.set_choice("mode", mode)?;
        let _ = self.peer.show_choices(&self.id, &self.choices());
        Ok(())
    }

    fn set_choice(&mut self, choice: &str, value: &str) -> Result<Vec<Choice>, Refusal> {
        let change = change(&mut self.choices(), choice, value, &self.modes, &self.settings)?;
        self.session.engine.wish(change);
        Ok(self.choices().all())
    }

    /// Runs a turn, or the slash command that the prompt is.
    async fn turn(
        &mut self,
        prompt: Prompt,
        request: Option<String>,
        reply: Reply<Ended>,
        said: &mut mpsc::UnboundedReceiver<Said>,
    ) -> Next {
        let (sender, mut inputs) = mpsc::channel(WAITING);
        let (mut next, mut hears, mut cancelled) = (Next::Continue, true, false);
        let mut choices = self.choices();
        let Self { session, heard, peer, id, redactor, settings, modes, network, confinement, .. } = self;
        network.prompt(&prompt);
        let mut work = words::work(prompt, session, settings, id, confinement.as_deref(), &mut inputs);
        let mut question: Option<BoxFuture<'_, Option<Input>>> = None;
        let mut why = None;
        let set = |choices: &mut Choices, choice: &str, value: &str| {
            let mut wanted = choices.clone();
            wish(&sender, change(&mut wanted, choice, value, modes, settings)?)?;
            *choices = wanted;
            Ok(())
        };
        let cancel = || drop(sender.try_send(Input::Cancel(CancelCause::User)));
        let done = loop {
            tokio::select! {
                biased;
                done = &mut work => break done,
                one = heard.recv() => match one {
                    Some(Heard::Question { call, decision, question: asked }) => {
                        let (peer, id, redactor) = (peer.clone(), id.clone(), redactor.clone());
                        question = Some(Box::pin(async move {
                            let answer = peer.ask(&id, &call, &asked, &decision, &redactor).await?;
                            Some(Input::Approve { call, answer })
                        }));
                    }
                    Some(Heard::Why(text)) => why = Some(text),
                    Some(Heard::More(never)) => match never {},
                    None => {}
                },
                answer = answered(&mut question) => {
                    question = None;
                    // It is the only one, so there is room.
                    drop(sender.try_send(answer.unwrap_or(Input::Cancel(CancelCause::User))));
                }
                one = said.recv(), if hears => match one {
                    Some(Said::Cancel) => { cancelled = true; cancel(); }
                    Some(Said::CancelRequest(id)) if request.as_ref() == Some(&id) => { cancelled = true; cancel(); }
                    Some(Said::CancelRequest(_)) => {}
                    // A turn goes on to its end; what it asks is denied by then.
                    Some(Said::End) => next = Next::End,
                    None => (next, hears) = (Next::End, false),
                    Some(Said::SetMode { mode, reply }) => {
                        let set = set(&mut choices, "mode", &mode);
                        let worked = set.is_ok();
                        reply.give(set);
                        if worked {
                            let _ = peer.show_choices(id, &choices);
                        }
                    }
                    Some(Said::SetChoice { choice, value, reply }) => {
                        let set = set(&mut choices, &choice, &value);
                        reply.give(set.map(|()| choices.clone().all()));
                    }
                    Some(other) => other.refuse(Refusal::untimely("a turn is running in this session")
                        .with("hint", "wait for its end, or send `session/cancel`")),
                },
            }
        };
        drop(question);
        drop(work);
        while let Ok(one) = heard.try_recv() {
            if let Heard::Why(text) = one {
                why = Some(text);
            }
        }
        network.turn_over(&mut Ui::standard());
        self.over(done, why, cancelled, reply);
        next
    }

    /// Tells what became of a turn.
    fn over(&mut self, done: words::Done, why: Option<String>, cancelled: bool, reply: Reply<Ended>) {
        let ended = match done {
            words::Done::Said(text) => {
                let _ = self.peer.say(&self.id, &text);
                Ok(if cancelled { Ended::Cancelled } else { Ended::EndTurn })
            }
            words::Done::Refused(refusal) => Err(refusal),
            words::Done::Turn(summary) => self.ended(&summary, why.as_deref()),
        };
        let closed = self.peer.is_closed();
        reply.give(ended);
        self.over.say(closed);
    }

    fn ended(&self, summary: &TurnSummary, why: Option<&str>) -> Result<Ended, Refusal> {
        let engine = &self.session.engine;
        if let Some(size) = engine.context_window() {
            let micro_usd = engine.totals().spent.cost.map(|cost| cost.0);
            let usage = Usage { used: engine.context_tokens(), size, micro_usd };
            let _ = self.peer.show_usage(&self.id, usage);
        }
        let ended = Ended::of(summary, why);
        match &summary.outcome {
            Outcome::Failed(failure) if failure.status == Some(401) => {
                ended.map_err(|refusal| refusal.with("hint", self.settings.choice.advice(self.name)))
            }
            _ => ended,
        }
    }
}

/// Returns what the editor offers in place of this machine.
fn elsewhere(peer: &Peer, id: &str) -> Elsewhere {
    let can = peer.can();
    let mut elsewhere = Elsewhere::default();
    if can.read_files || can.write_files {
        elsewhere.files = Some(Arc::new(EditorFiles::new(peer.clone(), id)));
    }
    if can.terminals {
        elsewhere.terminals = Some(Arc::new(EditorTerminals::new(peer.clone(), id)));
    }
    elsewhere
}

/// Whether the session goes on after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Continue,
    End,
}

/// Changes one of the choices; returns what the engine is told.
fn change(
    choices: &mut Choices,
    choice: &str,
    value: &str,
    modes: &ModeGate,
    settings: &Settings,
) -> Result<Input, Refusal> {
    match choice {
        "mode" => {
            let (chosen, _) = modes.check(value).map_err(Refusal::invalid)?;
            choices.mode.current = chosen.mode.as_str().to_owned();
            Ok(Input::SetMode(value.to_owned()))
        }
        "model" => {
            let checked = model_change::check(settings, &choices.model.current, value);
            let (model, max_tokens) = checked.map_err(refusal)?;
            choices.model.choose(&model);
            Ok(Input::SetModel { model, max_tokens })
        }
        other => Err(Refusal::invalid(format!("there is no option `{other}`; there are `mode` and `model`"))),
    }
}

/// Tells a turn something, unless it has too much to hear already.
fn wish(sender: &mpsc::Sender<Input>, wish: Input) -> Result<(), Refusal> {
    match sender.capacity() > WAITING / 2 && sender.try_send(wish).is_ok() {
        true => Ok(()),
        false => Err(Refusal::untimely("too much waits for the running turn")),
    }
}

async fn answered(question: &mut Option<BoxFuture<'_, Option<Input>>>) -> Option<Input> {
    match question {
        Some(question) => question.await,
        None => std::future::pending().await,
    }
}
