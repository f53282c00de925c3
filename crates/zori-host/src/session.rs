//! A session under way: its turns, what changes between them, its end.

mod going_back;

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};
use zori_core::cost::{Ledger, Spent};
use zori_core::event::{NoticeLevel, TurnSummary};
use zori_core::ids::SessionId;
use zori_core::input::{Approval, Input, Prompt};
use zori_core::message::{Message, ToolCall, ToolInput};
use zori_core::outcome::Outcome;
use zori_core::provider::Effort;
use zori_core::tool::{Effect, ToolKind, ToolSpec, Toolbox};
use zori_core::usage::Usage;
use zori_engine::engine::{Engine, Totals};
use zori_engine::user_shell::UserCommand;
use zori_frontends::Fanout;
use zori_mcp::client::McpServers;
use zori_policy::policy::ShellPolicy;
use zori_policy::{ModeChoice, Policy};
use zori_tools::process::jobs::Job;
use zori_tools::toolset::{ExternalTool, ToolSet};

use crate::background::{Background, OpenSession};
use crate::extensions::Extensions;
use crate::mcp;
use crate::memory::{AutoRecall, Recollection};
use crate::mode::TellRights;
use crate::network::{Network, Track};
use crate::notice::Notice;
use crate::peer::{Answers, Peer, PeerRequest};
use crate::tap::TapEvent;
use crate::undo::{SessionUndo, Unrecorded};

/// How many inputs may wait for a turn to take them; then the peer is not listened to.
const MOST_WAITING: usize = 64;

/// A session under way.
pub struct Session {
    id: SessionId,
    engine: Engine<Fanout>,
    tools: Arc<ToolSet>,
    events: mpsc::UnboundedReceiver<TapEvent>,
    network: Network,
    answers: Answers,
    saved: bool,
    left_behind: LeftBehind,
    undo: Option<Arc<SessionUndo>>,
    unrecorded: Unrecorded,
    pub(crate) extensions: Extensions,
    mcp: Option<Arc<McpServers>>,
    /// What a client changed of its own tools, and whether the model has yet to be told of a change.
    client_tools: mcp::ClientTools,
    tools_changed: bool,
    recall: Option<AutoRecall>,
    /// The messages that scheduled jobs had sent when it was opened, each with the name of its job.
    scheduled: Vec<(Arc<Message>, String)>,
    background: Option<OpenSession>,
    /// Who is told what the tools may do.
    told: Option<TellRights>,
}

/// How a turn ended.
pub struct TurnEnd {
    /// All that is known of it.
    pub summary: TurnSummary,
    /// Why it ended early, in the words people read.
    pub error: Option<String>,
    /// Whether a call was denied because nobody could be asked about it.
    pub unasked: bool,
    /// What people should know.
    pub notices: Vec<Notice>,
    /// Whether there is more to replay.
    pub track: Track,
}

impl TurnEnd {
    /// Returns whether the provider did not take the key.
    pub fn key_refused(&self) -> bool {
        matches!(&self.summary.outcome, Outcome::Failed(failure) if failure.is_key_refused())
    }
}

/// What is kept of a turn while it runs.
#[derive(Default)]
pub(crate) struct TurnNotes {
    error: Option<String>,
    unasked: bool,
}

/// What commands of closed sessions had left running, for the host to tell.
pub(crate) type LeftBehind = Arc<Mutex<LeftRunning>>;

/// What sessions had running when they were closed.
#[derive(Debug, Default)]
pub(crate) struct LeftRunning {
    /// What is ended with them.
    pub(crate) ended: Vec<String>,
    /// Jobs that were asked to stay.
    pub(crate) staying: Vec<String>,
}

impl Session {
    #[expect(clippy::too_many_arguments, reason = "a session is its parts, and one place puts them together")]
    pub(crate) fn new(
        id: SessionId,
        engine: Engine<Fanout>,
        tools: Arc<ToolSet>,
        events: mpsc::UnboundedReceiver<TapEvent>,
        network: Network,
        answers: Answers,
        saved: bool,
        left_behind: LeftBehind,
        undo: Option<SessionUndo>,
        mcp: Option<Arc<McpServers>>,
    ) -> Self {
        let (undo, unrecorded) = (undo.map(Arc::new), Unrecorded::default());
        Self {
            id,
            engine,
            tools,
            events,
            network,
            answers,
            saved,
            left_behind,
            undo,
            unrecorded,
            extensions: Extensions::default(),
            mcp,
            client_tools: mcp::ClientTools::default(),
            tools_changed: false,
            recall: None,
            scheduled: Vec::new(),
            background: None,
            told: None,
        }
    }

    /// Tells somebody what the tools may do, now and whenever that changes.
    pub(crate) fn telling(mut self, told: Option<TellRights>) -> Self {
        self.told = told;
        self.tell_rights();
        self
    }

    fn tell_rights(&self) {
        if let Some(told) = &self.told {
            let policy = self.engine.policy();
            told(policy.mode, &policy.shell);
        }
    }

    /// Lets what fits a prompt of earlier sessions go with it.
    pub(crate) fn recalling(mut self, recall: Option<AutoRecall>) -> Self {
        self.recall = recall;
        self
    }

    /// Tells which messages scheduled jobs sent before it was opened.
    pub(crate) fn scheduled_before(mut self, messages: Vec<(Arc<Message>, String)>) -> Self {
        self.scheduled = messages;
        self
    }

    /// Tells what goes on beside the turns when they begin and end.
    pub(crate) fn beside(mut self, background: Option<Arc<dyn Background>>) -> Self {
        self.background = background.map(OpenSession::new);
        self
    }

    /// Puts what fits a prompt behind it. A memory that cannot be used is told once.
    async fn recall(&mut self, prompt: &str) {
        let Some(recall) = &mut self.recall else { return };
        let Recollection { note, warning } = recall.recall(prompt).await;
        note.into_iter().for_each(|note| self.engine.attach(note));
        warning.into_iter().for_each(|why| self.engine.notice(NoticeLevel::Warning, "memory_off", why));
    }

    /// Runs a turn, and waits meanwhile for what the peer says.
    pub async fn turn(&mut self, prompt: Prompt, peer: &mut impl Peer) -> TurnEnd {
        let _running = self.background.as_ref().map(OpenSession::turn);
        self.record_rewinds();
        // A turn that was dropped may have left it narrowed.
        self.engine.widen();
        // As it was given: what it names is looked up again on a replay.
        self.network.prompt(&prompt);
        let prompt = self.prepare_prompt(prompt, peer).await;
        self.recall(&prompt.text).await;
        let (sender, mut inputs) = mpsc::channel(MOST_WAITING);
        let (mut notes, mut waiting, mut late) = (TurnNotes::default(), None, Vec::new());
        let Self { engine, events, answers, tools, mcp, client_tools, tools_changed, .. } = self;
        let given_up = Notify::new();
        let mut shells = engine.user_shells();
        let mut shared = Vec::new();
        let summary = {
            let mut turn = std::pin::pin!(async {
                if let Some(servers) = mcp.as_ref().filter(|_| *tools_changed || !tools.has_late()) {
                    *tools_changed = false;
                    tokio::select! {
                        () = mcp::settle(servers, tools, client_tools, engine) => {}
                        () = given_up.notified() => {}
                    }
                }
                engine.turn(prompt, &mut inputs).await
            });
            let mut ended = None;
            loop {
                if let Some(summary) = ended.take_if(|_| shells.is_empty()) {
                    break summary;
                }
                tokio::select! {
                    biased;
                    (summary, _) = &mut turn, if ended.is_none() => ended = Some(summary),
                    done = shells.next() => shared.extend(Some(done).filter(|done| done.share)),
                    Some(event) = events.recv() => {
                        if let Some(input) = handle(event, *answers, &mut notes, peer) {
                            // It answers a question that the turn waits for, so there is room.
                            let _ = sender.try_send(input);
                        }
                    }
                    Ok(room) = sender.reserve(), if waiting.is_some() => {
                        if let Some(input) = waiting.take() {
                            room.send(input);
                        }
                    }
                    input = peer.next(), if waiting.is_none() => match input {
                        Input::Shell { command, share } => shells.start(command, share),
                        input => {
                            match &input {
                                Input::SetMode(name) => shells.set_mode(name),
                                Input::Cancel(cause) => {
                                    given_up.notify_one();
                                    shells.cancel(*cause);
                                }
                                _ => {}
                            }
                            match ended.is_none() {
                                true => waiting = Some(input),
                                false => late.push(input),
                            }
                        }
                    },
                }
            }
        };
        drop(shells);
        shared.iter().for_each(|done| engine.add_note(done.note()));
        // A change that the turn did not take holds for what comes next.
        let untaken = std::iter::from_fn(|| inputs.try_recv().ok());
        untaken.chain(waiting).chain(late).for_each(|input| engine.apply(input));
        // The turn is over, so nothing more is asked.
        while let Ok(event) = events.try_recv() {
            match event {
                TapEvent::Request(_) => {}
                event => drop(handle(event, *answers, &mut notes, peer)),
            }
        }
        self.engine.widen();
        self.record_rewinds();
        let (notices, track) = self.network.turn_over();
        let error = notes.error.or_else(|| match &summary.outcome {
            Outcome::Failed(failure) => Some(failure.message.clone()),
            _ => None,
        });
        TurnEnd { summary, error, unasked: notes.unasked, notices, track }
    }

    /// Runs a command of the user's own between turns, and what the peer starts beside it; see [`Input::Shell`]. Returns what came of them.
    pub async fn shell(&mut self, command: String, share: bool, peer: &mut impl Peer) -> Vec<UserCommand> {
        let mut ended = Vec::new();
        let mut shells = self.engine.user_shells();
        shells.start(command, share);
        while !shells.is_empty() {
            tokio::select! {
                biased;
                done = shells.next() => {
                    if done.share {
                        self.engine.add_note(done.note());
                    }
                    ended.push(done);
                }
                // Nothing is asked by it, and no turn can fail.
                Some(_) = self.events.recv() => {}
                input = peer.next() => match input {
                    Input::Shell { command, share } => shells.start(command, share),
                    Input::Cancel(cause) => shells.cancel(cause),
                    change => {
                        if let Input::SetMode(name) = &change {
                            shells.set_mode(name);
                        }
                        self.engine.apply(change);
                    }
                },
            }
        }
        ended
    }

    /// Summarises the older part of the conversation. The peer may cancel it.
    pub async fn compact(&mut self, focus: Option<&str>, peer: &mut impl Peer) {
        let (sender, mut inputs) = mpsc::channel(MOST_WAITING);
        {
            let mut compaction = std::pin::pin!(self.engine.compact(focus, &mut inputs));
            loop {
                tokio::select! {
                    biased;
                    _ = &mut compaction => break,
                    // Nothing is asked by it, so that only a cancel counts, and there is room for one.
                    input = peer.next() => drop(sender.try_send(input)),
                }
            }
        }
        std::iter::from_fn(|| inputs.try_recv().ok()).for_each(|input| self.engine.apply(input));
    }

    /// Adds the usage of a request that belongs to no turn, and returns what it cost.
    pub fn add_usage(&mut self, usage: Usage) -> Spent {
        self.engine.add_usage(usage)
    }

    /// The same for a request to another model than the session's.
    pub fn add_usage_of(&mut self, model: &str, usage: Usage) -> Spent {
        self.engine.add_usage_of(model, usage)
    }

    /// Returns what counts requests beyond this process, where a budget for the day has it counted. Whoever sends a request beside the
    /// turns asks it first.
    pub fn ledger(&self) -> Option<Arc<dyn Ledger>> {
        self.engine.ledger()
    }

    /// Adds a text that goes with the next prompt, such as a file that it names.
    pub fn attach(&mut self, text: String) {
        self.engine.attach(text);
    }

    /// Has the next prompt end its turn before anything is sent.
    pub(crate) fn refuse_prompt(&mut self, why: String) {
        self.engine.refuse_prompt(why);
    }

    /// Returns the engine, and what the driver of a turn hears of it.
    pub(crate) fn engine_and_events(
        &mut self,
    ) -> (&mut Engine<Fanout>, &mut mpsc::UnboundedReceiver<TapEvent>) {
        (&mut self.engine, &mut self.events)
    }

    /// Returns who answers questions.
    pub(crate) fn answers(&self) -> Answers {
        self.answers
    }

    /// Takes the last compaction back.
    pub fn undo_compact(&mut self) {
        self.engine.undo_compact();
    }

    /// Goes on from an earlier point: this is the conversation up to it.
    pub fn rewind(&mut self, history: Vec<Arc<Message>>) {
        self.engine.rewind(history);
    }

    /// Makes a change between turns: another model, mode or effort. Everything else is not for here.
    pub fn apply(&mut self, change: Input) {
        self.engine.apply(change);
    }

    /// Uses another model from the next request on; see [`ModelGate::check`](crate::ModelGate::check).
    pub fn set_model(&mut self, model: String, max_tokens: Option<u32>) {
        self.apply(Input::SetModel { model, max_tokens });
    }

    /// Uses another permission mode from the next call on. Whoever calls this speaks for the user.
    pub fn set_mode(&mut self, mode: ModeChoice, shell: ShellPolicy) {
        self.engine.set_mode(mode, shell);
        self.tell_rights();
    }

    /// Lets the shell be used, or not, from the next call on. Whoever calls this speaks for the user.
    pub fn set_shell(&mut self, shell: ShellPolicy) {
        self.engine.set_shell(shell);
        self.tell_rights();
    }

    /// Lets the model think so much from the next request on.
    pub fn set_effort(&mut self, effort: Option<Effort>) {
        self.apply(Input::SetEffort(effort));
    }

    /// Returns the session's name.
    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Lists the tools anew from the next prompt on: of the servers as they are then, and of the client. `gone` names those of its
    /// tools that were there when the session began and are not any more.
    pub fn change_tools(&mut self, added: Vec<ExternalTool>, gone: Vec<String>) {
        self.client_tools = mcp::ClientTools { added, gone };
        self.tools_changed = true;
    }

    /// Returns the MCP servers, if there are any.
    pub fn mcp(&self) -> Option<&Arc<McpServers>> {
        self.mcp.as_ref()
    }

    /// Returns whether the session is saved.
    pub fn is_saved(&self) -> bool {
        self.saved
    }

    /// Returns the model in use.
    pub fn model(&self) -> &str {
        self.engine.model()
    }

    /// Returns what may run.
    pub fn policy(&self) -> &Policy {
        self.engine.policy()
    }

    /// Returns the conversation as it would be sent.
    pub fn messages(&self) -> &[Arc<Message>] {
        self.engine.messages()
    }

    /// Returns the scheduled job that sent a message of before; `None`: somebody typed it.
    pub fn scheduled(&self, message: &Arc<Message>) -> Option<&str> {
        self.scheduled.iter().find(|(sent, _)| Arc::ptr_eq(sent, message)).map(|(_, job)| job.as_str())
    }

    /// Returns what the session has come to.
    pub fn totals(&self) -> Totals {
        self.engine.totals()
    }

    /// Returns what the whole run has used: this session, and what came before it.
    pub fn spent(&self) -> Spent {
        self.engine.spent()
    }

    /// Returns about how many tokens the conversation has.
    pub fn context_tokens(&self) -> u64 {
        self.engine.context_tokens()
    }

    /// Returns how many tokens the model takes, if that is known.
    pub fn context_window(&self) -> Option<u64> {
        self.engine.context_window()
    }

    /// Returns the tools there are.
    pub fn tools(&self) -> &[ToolSpec] {
        self.tools.specs()
    }

    /// Returns what kind of tool a call is for, and what it would do.
    pub fn describe(&self, call: &ToolCall) -> (Option<ToolKind>, Vec<Effect>) {
        let ToolInput::Json(args) = &call.input else { return (None, Vec::new()) };
        match self.tools.resolve(&call.name, args) {
            Ok(resolved) => (resolved.tool.kind(), resolved.effects),
            Err(_) => (None, Vec::new()),
        }
    }

    /// Returns what a call asks for by our own names, whichever it was made with; `None` where no tool takes it.
    pub fn canonical_arguments(&self, call: &ToolCall) -> Option<Box<RawValue>> {
        let ToolInput::Json(args) = &call.input else { return None };
        self.tools.resolve(&call.name, args).ok().map(|resolved| resolved.args)
    }

    /// Returns the file that names the processes of the session while they live, if there ever were any.
    pub fn pid_file(&self) -> Option<PathBuf> {
        self.tools.processes().pid_file()
    }

    /// Returns the background jobs that are known, oldest first.
    pub fn jobs(&self) -> Vec<Arc<Job>> {
        self.tools.processes().jobs().all()
    }

    /// Returns what knows them while a turn has the session.
    pub fn job_list(&self) -> impl Fn() -> Vec<Arc<Job>> + 'static {
        let tools = self.tools.clone();
        move || tools.processes().jobs().all()
    }

    /// Ends the session: hooks hear of it, the last bytes are written, the last process is gone. Returns the first error
    /// of a renderer that could not write; one whose reader went away is none.
    pub async fn close(self) -> io::Result<()> {
        let (written, remains) = self.finish().await;
        // Ending processes waits for them, and other sessions of this thread should not.
        let _ = tokio::task::spawn_blocking(move || remains.shutdown()).await;
        written
    }

    /// Ends the session but for what has to be waited for.
    pub(crate) async fn finish(mut self) -> (io::Result<()>, Remains) {
        self.record_rewinds();
        if let Some(undo) = &self.undo {
            undo.capture.close();
        }
        self.engine.fire_session_end().await;
        let (ended, staying) = (self.tools.processes().left_behind(), self.tools.processes().staying());
        {
            let mut remains = self.left_behind.lock().unwrap_or_else(PoisonError::into_inner);
            remains.ended.extend(ended);
            remains.staying.extend(staying);
        }
        let report = self.engine.finish().finish();
        let remains = Remains { tools: self.tools, background: self.background };
        (report.errors.into_iter().next().map_or(Ok(()), Err), remains)
    }
}

/// What is left of a session that ended, and has to be waited for.
pub(crate) struct Remains {
    tools: Arc<ToolSet>,
    background: Option<OpenSession>,
}

impl Remains {
    /// Ends the processes, and what went on beside the turns.
    pub(crate) fn shutdown(self) {
        self.tools.shutdown();
        drop(self.background);
    }
}

/// Takes one thing off the tap. Returns what the turn is told at once.
pub(crate) fn handle(
    event: TapEvent,
    answers: Answers,
    notes: &mut TurnNotes,
    peer: &mut impl Peer,
) -> Option<Input> {
    match event {
        TapEvent::Request(PeerRequest::Approval { call, .. }) if answers == Answers::Yes => {
            return Some(Input::Approve { call, answer: Approval::Allow });
        }
        TapEvent::Request(request) => peer.ask(request),
        TapEvent::Event(event) => peer.tell(&event),
        TapEvent::Unasked => notes.unasked = true,
        TapEvent::Failed(why) => notes.error = Some(why),
    }
    None
}
