//! One session of an editor: an engine, and the task that runs its turns and hears what is said meanwhile.

use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use tokio::sync::mpsc;
use zori_acp::{
    AcpClient, AcpRenderer, ContextUsage, EditorFiles, EditorTerminals, PromptEnd, RequestError, Responder,
    SessionOption, SessionOptions,
};
use zori_contract::failure::Failure;
use zori_core::input::{Input, Prompt};
use zori_core::message::ToolCall;
use zori_core::outcome::CancelCause;
use zori_host::{
    ClientIo, FormAnswers, FrontendParts, Host, ModeGate, ModelError, ModelGate, PartialReply, PeerRequest,
    Session, SessionSettings, TurnEnd, Upstream, Which, pending_or,
};
use zori_policy::Mode;
use zori_policy::mode::Protocol;
use zori_redact::Redactor;

use super::forms::EditorForms;
use super::registry::{TurnOver, request_error};
use super::slash::{self, PromptResult};
use crate::{Launcher, NoticePrinter, Resolved};

/// What is said to a session.
pub(super) enum SessionCommand {
    /// Run a turn.
    Prompt {
        prompt: Prompt,
        /// The id of the request.
        request: Option<String>,
        reply: Responder<PromptEnd>,
    },
    /// End the running turn.
    Cancel,
    /// Give a request up.
    CancelRequest(String),
    /// Use another permission mode.
    SetMode { mode: String, reply: Responder<()> },
    /// Use another mode or model.
    SetChoice { choice: String, value: String, reply: Responder<Vec<SessionOption>> },
    /// The session is over when the running turn is.
    End,
}

impl SessionCommand {
    /// Says why not, to whoever waits for an answer.
    pub(super) fn refuse(self, refusal: RequestError) {
        match self {
            Self::Prompt { reply, .. } => reply.fail(refusal),
            Self::SetMode { reply, .. } => reply.fail(refusal),
            Self::SetChoice { reply, .. } => reply.fail(refusal),
            Self::Cancel | Self::CancelRequest(_) | Self::End => {}
        }
    }
}

/// How failures of ours become errors of requests.
struct Failures {
    of_model: fn(ModelError) -> Failure,
    redactor: Redactor,
}

pub(super) struct SessionTask {
    id: String,
    peer: AcpClient,
    session: Session,
    host: Host,
    upstream: Upstream,
    /// What to do about a key that is refused.
    key_advice: String,
    failures: Failures,
    modes: ModeGate,
    redactor: Redactor,
    over: Rc<TurnOver>,
    people: NoticePrinter,
}

impl SessionTask {
    /// Opens a session.
    pub(super) fn open<L: Launcher>(
        launcher: &mut L,
        resolved: Resolved<L::Access>,
        which: Which,
        peer: &AcpClient,
        over: Rc<TurnOver>,
    ) -> Result<Self, Failure> {
        let Resolved { mut session, access } = resolved;
        let forms = Arc::new(EditorForms::new(peer.clone()));
        if peer.support().forms {
            session.mcp.forms = FormAnswers::Client(forms.clone());
        }
        let host = launcher.host(session)?;
        let opened = launcher.open(&host, which)?;
        let upstream = launcher.upstream(&host, &access)?;
        let id = opened.id.to_string();
        forms.belong_to(&id);
        let redactor = host.redactor();
        let modes = ModeGate::new(&host.settings, Protocol::Own, true);
        let parts = FrontendParts {
            renderers: vec![
                Box::new(AcpRenderer::new(peer.clone(), &id, redactor.clone())),
                Box::new(launcher.notice_renderer(redactor.clone())?),
            ],
            // The editor shows it, so the model knows it.
            partial_reply: PartialReply::Keep,
            live_output: true,
            client_io: client_io(peer, &id),
            ..FrontendParts::new(launcher.dialect(), modes.clone())
        };
        let session = launcher.start(&host, opened, &upstream, parts)?;
        Ok(Self {
            id,
            peer: peer.clone(),
            session,
            key_advice: launcher.key_advice(&host.settings, &access),
            failures: Failures { of_model: launcher.model_failure(), redactor: launcher.redactor() },
            host,
            upstream,
            modes,
            redactor,
            over,
            people: launcher.people(),
        })
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Tells the editor all that was said before.
    pub(super) fn replay(&self) {
        let known = |call: &ToolCall| self.session.describe(call);
        let messages = self.session.messages().iter().map(|message| &**message);
        // A reader that is gone is found out by the next turn.
        let root = &self.host.settings.workspace.root;
        let _ = self.peer.replay(&self.id, messages, root, &known, &self.redactor);
    }

    /// Returns what can be chosen, and what is.
    pub(super) fn choices(&self) -> SessionOptions {
        let mode = self.session.policy().mode.mode;
        let modes = Mode::ALL.iter().filter(|mode| self.modes.check(mode.as_str()).is_ok());
        let about =
            |mode: &Mode| (mode.as_str().to_owned(), mode.as_str().to_owned(), Some(mode.about().to_owned()));
        let models = self.host.settings.model.facts.models.iter();
        let models = models.map(|model| (model.id.to_owned(), model.id.to_owned(), None)).collect();
        let mut model = SessionOption { id: "model", name: "Model", current: String::new(), all: models };
        model.choose(self.session.model());
        SessionOptions {
            mode: SessionOption {
                id: "mode",
                name: "Permission mode",
                current: mode.as_str().to_owned(),
                all: modes.map(about).collect(),
            },
            model,
        }
    }

    /// Does what is said until the session is over.
    pub(super) async fn run(mut self, mut commands: mpsc::UnboundedReceiver<SessionCommand>) {
        while let Some(command) = commands.recv().await {
            match command {
                SessionCommand::Prompt { prompt, request, reply } => {
                    match self.turn(prompt, request, reply, &mut commands).await {
                        Next::Continue => {}
                        Next::End => break,
                    }
                }
                SessionCommand::SetMode { mode, reply } => reply.send(self.set_mode(&mode)),
                SessionCommand::SetChoice { choice, value, reply } => {
                    reply.send(self.set_choice(&choice, &value))
                }
                // No turn runs.
                SessionCommand::Cancel | SessionCommand::CancelRequest(_) => {}
                SessionCommand::End => break,
            }
        }
        self.end().await;
    }

    async fn end(self) {
        // Renderers that cannot write have been found out by their turns.
        let _ = self.session.close().await;
        self.people.notices(&self.host.close());
        self.people.notices(&self.upstream.network.close().0);
    }

    fn set_mode(&mut self, mode: &str) -> Result<(), RequestError> {
        self.set_choice("mode", mode)?;
        let _ = self.peer.show_choices(&self.id, &self.choices());
        Ok(())
    }

    fn set_choice(&mut self, choice: &str, value: &str) -> Result<Vec<SessionOption>, RequestError> {
        let change =
            change(&mut self.choices(), choice, value, &self.modes, &self.host.settings, &self.failures)?;
        self.session.apply(change);
        Ok(self.choices().all())
    }

    /// Runs a turn, or the slash command that the prompt is.
    async fn turn(
        &mut self,
        prompt: Prompt,
        request: Option<String>,
        reply: Responder<PromptEnd>,
        commands: &mut mpsc::UnboundedReceiver<SessionCommand>,
    ) -> Next {
        let mut editor = EditorPeer {
            choices: self.choices(),
            commands,
            listens: true,
            request,
            peer: self.peer.clone(),
            id: &self.id,
            redactor: &self.redactor,
            modes: &self.modes,
            settings: &self.host.settings,
            failures: &self.failures,
            question: None,
            cancelled: false,
            next: Next::Continue,
        };
        let done = slash::run(prompt, &mut self.session, &self.host, &mut editor).await;
        let (cancelled, next) = (editor.cancelled, editor.next);
        drop(editor);
        self.over(done, cancelled, reply);
        next
    }

    /// Tells what became of a turn.
    fn over(&mut self, done: PromptResult, cancelled: bool, reply: Responder<PromptEnd>) {
        let ended = match done {
            PromptResult::Command(text) => {
                let _ = self.peer.say(&self.id, &text);
                Ok(if cancelled { PromptEnd::Cancelled } else { PromptEnd::EndTurn })
            }
            PromptResult::Refused(refusal) => Err(refusal),
            PromptResult::Turn(end) => {
                self.people.notices(&end.notices);
                self.ended(&end)
            }
        };
        let closed = self.peer.is_closed();
        reply.send(ended);
        self.over.say(closed);
    }

    fn ended(&self, end: &TurnEnd) -> Result<PromptEnd, RequestError> {
        let session = &self.session;
        if let Some(size) = session.context_window() {
            let micro_usd = session.totals().spent.cost.map(|cost| cost.0);
            let usage = ContextUsage { used: session.context_tokens(), size, micro_usd };
            let _ = self.peer.show_usage(&self.id, usage);
        }
        let ended = PromptEnd::of(&end.summary, end.error.as_deref());
        match end.key_refused() {
            true => ended.map_err(|refusal| refusal.with("hint", self.key_advice.as_str())),
            false => ended,
        }
    }
}

/// The editor, while a turn runs.
struct EditorPeer<'a> {
    commands: &'a mut mpsc::UnboundedReceiver<SessionCommand>,
    /// Whether more commands may come.
    listens: bool,
    /// The id of the request that asked for the turn.
    request: Option<String>,
    peer: AcpClient,
    id: &'a str,
    redactor: &'a Redactor,
    modes: &'a ModeGate,
    settings: &'a SessionSettings,
    failures: &'a Failures,
    /// What is chosen, what the turn has not heard yet included.
    choices: SessionOptions,
    /// The question that waits for an answer.
    question: Option<Pin<Box<dyn Future<Output = Input> + 'a>>>,
    cancelled: bool,
    next: Next,
}

impl zori_host::Peer for EditorPeer<'_> {
    fn ask(&mut self, request: PeerRequest) {
        let PeerRequest::Approval { call, decision, question, .. } = request;
        let (peer, id, redactor) = (self.peer.clone(), self.id, self.redactor);
        self.question = Some(Box::pin(async move {
            match peer.ask(id, &call, &question, &decision, redactor).await {
                Some(answer) => Input::Approve { call, answer },
                None => Input::Cancel(CancelCause::User),
            }
        }));
    }

    async fn next(&mut self) -> Input {
        loop {
            let input = tokio::select! {
                biased;
                answer = pending_or(&mut self.question) => {
                    self.question = None;
                    Some(answer)
                }
                command = self.commands.recv(), if self.listens => self.command(command),
            };
            if let Some(input) = input {
                return input;
            }
        }
    }
}

impl EditorPeer<'_> {
    /// Takes a command. Returns what the turn is told.
    fn command(&mut self, command: Option<SessionCommand>) -> Option<Input> {
        match command {
            Some(SessionCommand::Cancel) => self.cancel(),
            Some(SessionCommand::CancelRequest(id)) if self.request.as_ref() == Some(&id) => self.cancel(),
            Some(SessionCommand::CancelRequest(_)) => None,
            // A turn goes on to its end; what it asks is denied by then.
            Some(SessionCommand::End) => {
                self.next = Next::End;
                None
            }
            None => {
                (self.next, self.listens) = (Next::End, false);
                None
            }
            Some(SessionCommand::SetMode { mode, reply }) => match self.change("mode", &mode) {
                Ok(change) => {
                    reply.ok(());
                    let _ = self.peer.show_choices(self.id, &self.choices);
                    Some(change)
                }
                Err(refusal) => {
                    reply.fail(refusal);
                    None
                }
            },
            Some(SessionCommand::SetChoice { choice, value, reply }) => match self.change(&choice, &value) {
                Ok(change) => {
                    reply.ok(self.choices.clone().all());
                    Some(change)
                }
                Err(refusal) => {
                    reply.fail(refusal);
                    None
                }
            },
            Some(other @ SessionCommand::Prompt { .. }) => {
                other.refuse(
                    RequestError::untimely("a turn is running in this session")
                        .with("hint", "wait for its end, or send `session/cancel`"),
                );
                None
            }
        }
    }

    fn cancel(&mut self) -> Option<Input> {
        self.cancelled = true;
        Some(Input::Cancel(CancelCause::User))
    }

    fn change(&mut self, choice: &str, value: &str) -> Result<Input, RequestError> {
        change(&mut self.choices, choice, value, self.modes, self.settings, self.failures)
    }
}

/// Returns what the editor offers in place of this machine.
fn client_io(peer: &AcpClient, id: &str) -> ClientIo {
    let can = peer.support();
    let mut client_io = ClientIo::default();
    if can.read_files || can.write_files {
        client_io.files = Some(Arc::new(EditorFiles::new(peer.clone(), id)));
    }
    if can.terminals {
        client_io.terminals = Some(Arc::new(EditorTerminals::new(peer.clone(), id)));
    }
    client_io
}

/// Whether the session goes on after a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    Continue,
    End,
}

/// Changes one of the choices; returns what the engine is told.
fn change(
    choices: &mut SessionOptions,
    choice: &str,
    value: &str,
    modes: &ModeGate,
    settings: &SessionSettings,
    failures: &Failures,
) -> Result<Input, RequestError> {
    match choice {
        "mode" => {
            let (chosen, _) =
                modes.check(value).map_err(|error| RequestError::invalid(error.with_hints()))?;
            choices.mode.current = chosen.mode.as_str().to_owned();
            Ok(Input::SetMode(value.to_owned()))
        }
        "model" => {
            let checked = ModelGate::new(settings).check(&choices.model.current, value);
            let (model, max_tokens) =
                checked.map_err(|error| request_error((failures.of_model)(error), &failures.redactor))?;
            choices.model.choose(&model);
            Ok(Input::SetModel { model, max_tokens })
        }
        other => {
            Err(RequestError::invalid(format!("there is no option `{other}`; there are `mode` and `model`")))
        }
    }
}
