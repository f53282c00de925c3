//! The stage: a model that plays a script, tools that do as they are told, and a sink that writes one line per event.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;
use serde_json::value::RawValue;
use tokio::sync::{Notify, mpsc};
use zori_core::BoxFuture;
use zori_core::agent::Task;
use zori_core::cost::{Prices, Spent};
use zori_core::event::{
    Event, EventKind, MessageEvent, Notice, NoticeLevel, SessionEvent, SessionFacts, StateEvent, ToolEvent,
    TurnEvent, TurnSummary,
};
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::hook::Hooks;
use zori_core::ids::{AgentId, IdSource, SessionId};
use zori_core::input::Input;
use zori_core::message::{Block, Message, Role};
use zori_core::permission::PathFacts;
use zori_core::provider::{Chunk, ChunkStream, Provider, Request, StopReason};
use zori_core::render::{Sink, Stop};
use zori_core::time::{Clock, Timestamp};
use zori_core::tool::{
    BadCall, Effect, Leniency, OutputStream, ResolvedCall, Tool, ToolCode, ToolCx, ToolKind, ToolOutput,
    ToolSpec, Toolbox,
};
use zori_core::usage::Usage;
use zori_policy::mode::Protocol;
use zori_policy::paths::{Workspace, WorkspaceParts};
use zori_policy::policy::ShellPolicy;
use zori_policy::rules::Rules;
use zori_policy::{Approver, Mode, ModeChoice, Policy};

use crate::agent_kinds::{AgentKind, AgentKinds};
use crate::context::ContextWindow;
use crate::engine::Engine;
use crate::limits::Limits;
use crate::parts::{ModelInfo, Parts, SessionState};
use crate::settings::{CallOrder, PartialReply, Settings};
use crate::subagent::AgentLimits;

/// One step of a scripted answer.
#[derive(Clone)]
pub(crate) enum Step {
    Say(Chunk),
    Fail(ProviderFailure),
    /// Waits for ever.
    Hang,
}

/// One scripted answer: a stream, or a refusal to start one.
pub(crate) type Script = Result<Vec<Step>, ProviderFailure>;

pub(crate) fn text(text: &str) -> Step {
    Step::Say(Chunk::Text(text.to_owned()))
}

pub(crate) fn call(index: u32, name: &str, input: &str) -> Vec<Step> {
    vec![
        Step::Say(Chunk::CallStart {
            index,
            id: Some(format!("c{index}")),
            name: name.to_owned(),
            replay: None,
        }),
        Step::Say(Chunk::CallInput { index, json: input.to_owned() }),
        Step::Say(Chunk::CallEnd { index }),
    ]
}

pub(crate) fn done(stop: StopReason) -> Vec<Step> {
    let usage = Usage { input: 10, output: 2, ..Usage::default() };
    vec![Step::Say(Chunk::Usage(usage)), Step::Say(Chunk::Done(stop))]
}

/// An answer that says one text.
pub(crate) fn says(words: &str) -> Script {
    Ok([vec![text(words)], done(StopReason::EndTurn)].concat())
}

/// An answer that makes calls: name and input each.
pub(crate) fn calls(list: &[(&str, &str)]) -> Script {
    let mut steps: Vec<Step> =
        list.iter().enumerate().flat_map(|(i, (name, input))| call(i as u32, name, input)).collect();
    steps.extend(done(StopReason::ToolUse));
    Ok(steps)
}

/// The same answer from a provider that counts so many tokens; with 0 it counts none.
pub(crate) fn counted(input: u64, script: Script) -> Script {
    let usage = Usage { input, ..Usage::default() };
    let recount = |step| match step {
        Step::Say(Chunk::Usage(_)) => Step::Say(Chunk::Usage(usage)),
        step => step,
    };
    Ok(script?.into_iter().map(recount).collect())
}

pub(crate) fn failure(kind: FailureKind, status: Option<u16>) -> ProviderFailure {
    ProviderFailure { status, ..ProviderFailure::new(kind, "told to fail") }
}

#[derive(Default)]
struct Model {
    scripts: Mutex<VecDeque<Script>>,
    /// What each request sent, one line per message.
    seen: Mutex<Vec<String>>,
}

impl Provider for Model {
    fn name(&self) -> &str {
        "stage"
    }

    fn stream<'a>(&'a self, request: &'a Request<'a>) -> BoxFuture<'a, Result<ChunkStream, ProviderFailure>> {
        let sent: Vec<_> = request.messages.iter().map(|m| show_message(m)).collect();
        self.seen.lock().unwrap().push(sent.join(" | "));
        let script = self.scripts.lock().unwrap().pop_front().expect("the script has another answer");
        Box::pin(async move { script.map(|steps| Box::pin(Play(steps.into())) as ChunkStream) })
    }
}

struct Play(VecDeque<Step>);

impl Stream for Play {
    type Item = Result<Chunk, ProviderFailure>;

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.0.pop_front() {
            None => Poll::Ready(None),
            Some(Step::Say(chunk)) => Poll::Ready(Some(Ok(chunk))),
            Some(Step::Fail(failure)) => Poll::Ready(Some(Err(failure))),
            Some(Step::Hang) => {
                self.0.push_front(Step::Hang);
                Poll::Pending
            }
        }
    }
}

/// A tool whose arguments say what it does: `{"do":"..","path":".."}`.
#[derive(Default)]
struct Actor {
    gate: Arc<Notify>,
}

impl Tool for Actor {
    fn kind(&self) -> Option<ToolKind> {
        Some(ToolKind::Edit)
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        let args: serde_json::Value = serde_json::from_str(args.get()).unwrap();
        match (args["write"].as_str(), args["read"].as_str()) {
            (Some(path), _) => vec![Effect::Write(PathBuf::from(path))],
            (_, Some(path)) => vec![Effect::Read(PathBuf::from(path))],
            _ => vec![Effect::Internal],
        }
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args: serde_json::Value = serde_json::from_str(args.get()).unwrap();
        Box::pin(async move {
            match args["do"].as_str() {
                Some("hang") => std::future::pending().await,
                Some("big") => {
                    let text = "x".repeat(usize::try_from(args["bytes"].as_u64().unwrap()).unwrap());
                    ToolOutput::success(&format!("{text:?}"))
                }
                Some("boom") => panic!("told to panic"),
                Some("fail") => ToolOutput::failure(ToolCode::PathError, "told to fail"),
                Some("who") => ToolOutput::success(&format!("\"{:?}\"", cx.consent)),
                Some("wait") => {
                    self.gate.notified().await;
                    ToolOutput::success(r#"{"waited":true}"#)
                }
                Some("open") => {
                    self.gate.notify_one();
                    ToolOutput::success(r#"{"opened":true}"#)
                }
                Some("talk") => {
                    let live = cx.live.as_ref().unwrap();
                    live.push(OutputStream::Stdout, "a");
                    live.push(OutputStream::Stdout, "b");
                    live.push(OutputStream::Stderr, "c");
                    tokio::task::yield_now().await;
                    ToolOutput::success("{}")
                }
                _ => ToolOutput::success("{}"),
            }
        })
    }
}

/// The tool that starts sub-agents: `{"prompt":"..","kind":"..","model":".."}`.
struct Tasker;

impl Tool for Tasker {
    fn kind(&self) -> Option<ToolKind> {
        Some(ToolKind::Task)
    }

    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        vec![Effect::Agent]
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args: serde_json::Value = serde_json::from_str(args.get()).unwrap();
        let said = |name: &str| args[name].as_str().map(str::to_owned);
        let task = Task {
            description: "do it".into(),
            prompt: said("prompt").unwrap(),
            kind: said("kind"),
            model: said("model"),
        };
        Box::pin(async move { cx.agents.unwrap().run(task).await })
    }
}

#[derive(Default)]
pub(crate) struct StageTools {
    specs: Arc<[ToolSpec]>,
    actor: Arc<Actor>,
    /// Whether a path is somewhere else each time it is looked at.
    shifting: bool,
    looks: AtomicU64,
}

impl Toolbox for StageTools {
    fn specs(&self) -> &Arc<[ToolSpec]> {
        &self.specs
    }

    fn resolve(&self, name: &str, args: &RawValue) -> Result<ResolvedCall, BadCall> {
        if name == "task" {
            let (tool, effects) = (Arc::new(Tasker), vec![Effect::Agent]);
            return Ok(ResolvedCall { tool, args: args.to_owned(), effects, name: None });
        }
        if name != "act" {
            let message = format!("no tool `{name}`");
            return Err(BadCall { code: ToolCode::UnknownTool, message, text: None });
        }
        let effects = self.actor.effects(args);
        Ok(ResolvedCall { tool: self.actor.clone(), args: args.to_owned(), effects, name: None })
    }

    fn path_facts(&self, path: &Path) -> PathFacts {
        let n = self.looks.fetch_add(1, Ordering::Relaxed);
        match self.shifting {
            true => PathFacts::by_text(path.join(n.to_string())),
            false => PathFacts::by_text(path.to_owned()),
        }
    }
}

/// Returns a provider that plays these answers.
pub(crate) fn model(scripts: Vec<Script>) -> Arc<dyn Provider> {
    Arc::new(Model { scripts: Mutex::new(scripts.into()), ..Model::default() })
}

/// Returns the policy of a workspace: it asks if there is somebody to answer or not, or allows everything.
pub(crate) fn policy(asks: Option<Approver>) -> Policy {
    Policy {
        mode: ModeChoice::implicit(match asks {
            Some(_) => Mode::Default,
            None => Mode::Yolo,
        }),
        rules: Rules::default(),
        workspace: Workspace::new(WorkspaceParts {
            roots: vec!["/ws".into()],
            cwd: "/ws".into(),
            home: None,
            data_dir: None,
            path_dirs: Vec::new(),
            sensitive: Vec::new(),
        }),
        shell: ShellPolicy::OPEN,
        approver: asks.unwrap_or(Approver::Absent),
        agent: None,
    }
}

/// A clock that stands still, and a source of jitter that always says "the whole bound".
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        Timestamp(0)
    }
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }
}

impl IdSource for Still {
    fn session(&self) -> SessionId {
        SessionId::parse("s").unwrap()
    }
    fn random(&self) -> u64 {
        u64::MAX
    }
}

/// Writes one line per event; says an input, or wants no more, at the event with a given number.
pub(crate) struct Recorder {
    lines: Arc<Mutex<Vec<String>>>,
    count: AtomicU64,
    /// How many calls were denied because nobody could be asked.
    unasked: Arc<AtomicU64>,
    act: Option<(u64, Act)>,
}

#[derive(Clone)]
pub(crate) enum Act {
    Say(mpsc::Sender<Input>, Input),
    Stop(Stop),
}

impl Sink for Recorder {
    fn emit(&mut self, event: &Event) -> Result<(), Stop> {
        if let EventKind::Tool(ToolEvent::ApprovalResolved { decision, .. }) = &event.kind {
            self.unasked.fetch_add(decision.nobody_to_ask.into(), Ordering::Relaxed);
        }
        // Requests and blocks are in the lists by what comes of them.
        if matches!(
            event.kind,
            EventKind::Message(MessageEvent::RequestStarted | MessageEvent::BlockFinished)
        ) {
            return Ok(());
        }
        let whose = match (event.agent, &event.parent) {
            (AgentId::MAIN, None) => String::new(),
            (AgentId(number), parent) => format!("[{number} of {}] ", parent.as_ref().unwrap()),
        };
        self.lines.lock().unwrap().push(whose + &show_event(&event.kind));
        let n = self.count.fetch_add(1, Ordering::Relaxed);
        match &self.act {
            Some((at, Act::Say(sender, input))) if *at == n => {
                sender.try_send(input.clone()).unwrap();
                Ok(())
            }
            Some((at, Act::Stop(stop))) if *at <= n => Err(stop.clone()),
            _ => Ok(()),
        }
    }
}

pub(crate) struct Stage {
    pub(crate) engine: Engine<Recorder>,
    pub(crate) inputs: mpsc::Receiver<Input>,
    pub(crate) say: mpsc::Sender<Input>,
    model: Arc<Model>,
    lines: Arc<Mutex<Vec<String>>>,
    unasked: Arc<AtomicU64>,
}

/// How a stage differs from the plain one.
#[derive(Default)]
pub(crate) struct Setup {
    pub(crate) default_mode: Option<Approver>,
    /// Whether paths lead elsewhere each time they are looked at.
    pub(crate) shifting: bool,
    pub(crate) live: bool,
    pub(crate) order: CallOrder,
    /// Whether an answer that is cut stays in the conversation.
    pub(crate) keep_partial_reply: bool,
    pub(crate) act_at: Option<u64>,
    pub(crate) say: Option<Input>,
    pub(crate) stop: Option<Stop>,
    pub(crate) limits: Option<Limits>,
    /// What the model `m` costs; the price of any other is not known. Unset and without limits, all are free.
    pub(crate) prices: Option<Prices>,
    pub(crate) spent_before: Option<Spent>,
    /// What every model takes.
    pub(crate) window: Option<u64>,
    pub(crate) hooks: Option<Arc<dyn Hooks>>,
    /// How deep and how many sub-agents may be; unset: 1 and 3.
    pub(crate) agents: Option<(u32, u32)>,
    /// The model a turn goes on with when `m` is not available.
    pub(crate) fallback: Option<&'static str>,
    /// Kinds of sub-agents beside the general one.
    pub(crate) kinds: Vec<AgentKind>,
}

impl Stage {
    pub(crate) fn new(scripts: Vec<Script>) -> Self {
        Self::with(Setup::default(), scripts)
    }

    pub(crate) fn with(setup: Setup, scripts: Vec<Script>) -> Self {
        let model = Arc::new(Model { scripts: Mutex::new(scripts.into()), ..Model::default() });
        let (say, inputs) = mpsc::channel(16);
        let lines = Arc::new(Mutex::new(Vec::new()));
        let act = setup.act_at.map(|at| match (setup.say, setup.stop) {
            (Some(input), _) => (at, Act::Say(say.clone(), input)),
            (None, stop) => (at, Act::Stop(stop.unwrap())),
        });
        let parts = Parts {
            provider: model.clone(),
            toolbox: Arc::new(StageTools { shifting: setup.shifting, ..StageTools::default() }),
            policy: policy(setup.default_mode),
            modes: Arc::new(|name| match ModeChoice::named(name, Protocol::Claude) {
                Some(mode) if mode.mode != Mode::Yolo => Ok((mode, ShellPolicy::OPEN)),
                _ => Err(format!("the mode cannot be `{name}`")),
            }),
            hooks: setup.hooks,
            checkpoints: None,
            ledger: None,
            clock: Arc::new(Still),
            ids: Arc::new(Still),
            models: ModelInfo {
                prices: Arc::new(move |model| match setup.prices {
                    None if setup.limits.is_none() => {
                        Some(Prices { input: 0, output: 0, cache_read: 0, cache_write: 0, long: None })
                    }
                    prices => prices.filter(|_| model == "m"),
                }),
                image_support: Arc::new(|_, _| zori_core::image::ImageSupport::Supported),
                windows: Arc::new(move |_| setup.window.map(|tokens| ContextWindow { tokens, reply: 0 })),
                ..ModelInfo::default()
            },
            agents: {
                let (depth, max) = setup.agents.unwrap_or((1, 3));
                AgentLimits { depth, max, kinds: AgentKinds::new(setup.kinds) }
            },
            session: SessionState {
                spent_before: setup.spent_before.unwrap_or(Spent::NOTHING),
                ..SessionState::new(SessionId::parse("s").unwrap())
            },
            settings: Settings {
                fallback: setup.fallback.map(Into::into),
                limits: setup.limits.unwrap_or(Limits::NONE),
                live_output: setup.live,
                order: setup.order,
                partial_reply: if setup.keep_partial_reply { PartialReply::Keep } else { PartialReply::Drop },
                // What is forgiven is played to the executable (`fixtures/forgiveness`).
                leniency: Leniency::Exact,
                ..Settings::new("m")
            },
        };
        let facts = SessionFacts {
            provider: "stage".into(),
            model: "m".into(),
            root: PathBuf::from("/ws").into(),
            tools: vec!["act".into()],
            agents: Vec::new(),
            resumed_messages: 0,
            resumed_replies: 0,
            saved: false,
        };
        let unasked = Arc::new(AtomicU64::new(0));
        let recorder =
            Recorder { lines: lines.clone(), count: AtomicU64::new(0), unasked: unasked.clone(), act };
        let engine = Engine::start(parts, recorder, facts);
        Self { engine, inputs, say, model, lines, unasked }
    }

    /// Returns how many calls were denied because nobody could be asked.
    pub(crate) fn unasked(&self) -> u64 {
        self.unasked.load(Ordering::Relaxed)
    }

    pub(crate) async fn turn(&mut self, prompt: &str) -> TurnSummary {
        self.engine.turn(prompt.into(), &mut self.inputs).await.0
    }

    /// Returns the events so far, without the opening one.
    pub(crate) fn events(&self) -> Vec<String> {
        self.lines.lock().unwrap()[1..].to_vec()
    }

    /// Returns what each request sent.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.model.seen.lock().unwrap().clone()
    }

    pub(crate) fn history(&self) -> String {
        self.engine.messages().iter().map(|m| show_message(m)).collect::<Vec<_>>().join(" | ")
    }
}

/// Runs a test with time that only moves when everybody waits.
pub(crate) fn play<T>(test: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().start_paused(true).build().unwrap().block_on(test)
}

fn show_message(message: &Message) -> String {
    let who = match message.role {
        Role::User => "user",
        Role::Assistant => "model",
    };
    let blocks: Vec<_> = message
        .blocks
        .iter()
        .map(|block| match block {
            Block::Image(image) => image.to_string(),
            Block::Text(text) if text.len() > 200 => {
                format!("{:?}...", zori_core::text::prefix(text.lines().next().unwrap_or_default(), 30))
            }
            Block::Text(text) => format!("{text:?}"),
            Block::Thinking(thinking) => format!("thinking {:?}", thinking.text),
            Block::ToolCall(call) => format!("{}={}{}", call.id, call.name, call.input.json()),
            Block::ToolResult(result) if result.content().contains("left_out") => {
                format!("{}:left out", result.call)
            }
            Block::ToolResult(result) => {
                format!("{}:{}", result.call, if result.ok { "ok" } else { "failed" })
            }
        })
        .collect();
    format!("{who} {}", blocks.join(" "))
}

fn show_event(kind: &EventKind) -> String {
    match kind {
        EventKind::Session(SessionEvent::SessionStarted(_)) => "session".into(),
        EventKind::State(StateEvent::ModelChanged { model }) => format!("model {model}"),
        EventKind::State(StateEvent::ModeChanged { from, to }) => format!("mode {from} to {to}"),
        EventKind::Session(SessionEvent::AgentStarted(facts)) => {
            format!("agent {:?} on {}", facts.description, facts.model)
        }
        EventKind::Session(SessionEvent::SessionEnded { turns, .. }) => format!("ended after {turns}"),
        EventKind::Turn(TurnEvent::TurnStarted { prompt, .. }) => format!("turn {prompt:?}"),
        EventKind::Turn(TurnEvent::Steered { text }) => format!("steered {text:?}"),
        EventKind::Turn(TurnEvent::HookContext { event, text }) => {
            format!("{} says {text:?}", event.as_str())
        }
        EventKind::Turn(TurnEvent::TurnFinished(s)) => {
            let outcome = match &s.outcome {
                zori_core::outcome::Outcome::Failed(f) => format!("Failed({f})"),
                other => format!("{other:?}"),
            };
            format!("turn over: {outcome}, {} requests, {} out", s.requests, s.usage.output)
        }
        EventKind::Message(MessageEvent::RequestStarted) => "request".into(),
        EventKind::Message(MessageEvent::BlockFinished) => "block".into(),
        EventKind::Message(MessageEvent::MessageStarted { model }) => format!("message by {model}"),
        EventKind::Message(MessageEvent::AssistantDelta { text }) => format!("delta {text:?}"),
        EventKind::Message(MessageEvent::ThinkingDelta { text }) => format!("thinking {text:?}"),
        EventKind::Message(MessageEvent::ThinkingSigned { replay }) => format!("signed {}", replay.raw.get()),
        EventKind::Message(MessageEvent::ToolInputDelta { index, json, .. }) => {
            format!("input {index} {json}")
        }
        EventKind::Message(MessageEvent::MessageFinished(reply)) => {
            format!("message {} ({:?})", show_message(&reply.message), reply.stop)
        }
        EventKind::Message(MessageEvent::AssistantFinal { text }) => format!("final {text:?}"),
        EventKind::Tool(ToolEvent::ToolRequested(r)) => format!("requested {} of {}", r.call.id, r.of),
        EventKind::Tool(ToolEvent::ToolChanged { call, input, effects }) => {
            format!("changed {call} to {}, {effects:?}", input.get())
        }
        EventKind::Tool(ToolEvent::ApprovalRequested { call, decision, question }) => {
            let grants: String =
                question.grants.iter().map(|grant| format!(" or {}", grant.shown())).collect();
            format!("asked about {call}: {}{grants}, {:?}", decision.class.as_str(), question.preview)
        }
        EventKind::Tool(ToolEvent::ApprovalResolved { call, decision, by }) => {
            format!("{call} is {:?} by {by:?}: {}", decision.verdict, decision.reason)
        }
        EventKind::Tool(ToolEvent::ToolStarted { call, .. }) => format!("started {call}"),
        EventKind::Tool(ToolEvent::ToolOutputDelta { call, stream, text }) => {
            format!("{call} {stream:?} {text:?}")
        }
        EventKind::Tool(ToolEvent::ToolFinished(f)) if f.output.envelope.get().len() > 400 => {
            format!("finished {}: {} bytes", f.call, f.output.envelope.get().len())
        }
        EventKind::Tool(ToolEvent::ToolFinished(f)) => {
            format!("finished {} {}", f.call, f.output.envelope.get())
        }
        EventKind::State(StateEvent::ContextCompacted(it)) => {
            let of = it.window.map_or_else(|| "?".into(), |tokens| tokens.to_string());
            format!("compacted {:?}, {:?}: {} -> {} of {of}", it.how, it.cause, it.before, it.after)
        }
        EventKind::State(StateEvent::TodosChanged { todos }) => format!("{} todos", todos.len()),
        EventKind::State(StateEvent::FilesChanged(files)) => format!("changed {}", files.paths.join(", ")),
        EventKind::State(StateEvent::FilesRewound(files)) => format!("{} paths went back", files.restored),
        EventKind::Message(MessageEvent::Retrying { attempt, max, delay, .. }) => {
            format!("retry {attempt}/{max} in {delay:?}")
        }
        EventKind::Notice(Notice { level: NoticeLevel::Error, code, text }) => {
            format!("error {code}: {text}")
        }
        EventKind::Notice(Notice { code, .. }) => format!("notice {code}"),
        EventKind::Turn(TurnEvent::Error { failure }) => format!("error {failure}"),
        EventKind::Turn(TurnEvent::Interrupted) => "interrupted".into(),
    }
}
