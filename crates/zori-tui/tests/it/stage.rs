//! A chat whose events and keys come from a test, and whose frames go to a terminal.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use zori_core::cost::{MicroUsd, Spent};
use zori_core::event::{Event, EventKind, MessageEvent, ToolEvent, ToolFinished, ToolRequested, TurnEvent};
use zori_core::ids::{AgentId, CallId, SessionId};
use zori_core::message::{IdOrigin, ToolCall, ToolInput};
use zori_core::permission::{Class, Decision, Verdict};
use zori_core::question::{Grant, GrantScope, Preview, Question};
use zori_core::time::Timestamp;
use zori_core::tool::{FileChange, OutputStream, ProcessEnd, ToolKind, ToolOutput};
use zori_core::usage::Usage;
use zori_tui::chat;
use zori_tui::commands::CommandInfo;
use zori_tui::keys::{Key, KeyCode};
use zori_tui::question::Asked;
use zori_tui::row::{Role, Row, Span};
use zori_tui::state::{Facts, Options, Size, State};
use zori_tui::terminal::decode::TermEvent;
use zori_tui::terminal::inline::{Brush, Inline, Reflow};
use zori_tui::terminal::paint::Links;
use zori_tui::theme::{Depth, Paint, Theme};
use zori_tui::update::{self, Effect, Msg};

/// A chat on a stage.
pub struct Chat {
    pub state: State,
    pub effects: Vec<Effect>,
    now: Duration,
    inline: Inline,
    paint: Paint,
    calls: u32,
}

const COMMANDS: &[(&str, &str, &str)] = &[
    ("/recap", "", "Summarise this session in at most 512 tokens"),
    ("/resume", "[ID]", "Go on with another session"),
    ("/review", "[REF]", "Review uncommitted changes or a branch"),
    ("/rewind", "", "Go back to an earlier prompt, files included"),
    ("/model", "[NAME]", "Show or change the model"),
    ("/diff", "", "Show what changed"),
    ("/undo", "[N]", "Take changes back"),
];

/// The size of a terminal with so many columns.
pub fn columns(columns: u16) -> Size {
    Size { rows: 30, columns }
}

impl Chat {
    /// Opens a chat of this size; the greeting is on its way.
    pub fn new(size: Size) -> Self {
        Self::painted(size, Paint { theme: Theme::terminal(false, None), depth: Depth::None })
    }

    /// Opens a chat with these colours.
    pub fn painted(size: Size, paint: Paint) -> Self {
        let commands = COMMANDS.iter().map(|(name, args, about)| CommandInfo {
            name,
            args,
            about,
            category: "Session",
            ..CommandInfo::NOTHING
        });
        let options = Options { commands: commands.collect(), ..Options::default() };
        let usage = Usage { input: 900, cache_read: 9100, ..Usage::NOTHING };
        let facts = Facts {
            model: "opus-5-5".into(),
            mode: "yolo".into(),
            context: 42_000,
            window: Some(200_000),
            spent: Some(Spent { usage, cost: Some(MicroUsd(130_400)) }),
            branch: Some("main".into()),
            folder: "~/proj".into(),
            ..Facts::default()
        };
        let mut state = State::new(size, options, facts);
        let greeting = Row::empty()
            .with(Span::new("zori 0.2").bold())
            .with(" · opus-5-5 · ~/proj (main) · ")
            .with(Span::new("YOLO: runs everything").role(Role::Warning))
            .with("; Shift-Tab: ask first");
        state.transcript.rows(vec![greeting, Row::from(Span::new("AGENTS.md · ? keys").muted())]);
        Self {
            state,
            effects: Vec::new(),
            now: Duration::from_secs(1),
            inline: Inline::default(),
            paint,
            calls: 0,
        }
    }

    pub fn take(&mut self, msg: Msg<'_>) -> &mut Self {
        let effects = update::update(&mut self.state, self.now, msg);
        self.effects.extend(effects);
        self
    }

    pub fn wait(&mut self, millis: u64) -> &mut Self {
        self.now += Duration::from_millis(millis);
        self.take(Msg::Tick)
    }

    pub fn typed(&mut self, text: &str) -> &mut Self {
        for c in text.chars() {
            self.wait(50).take(Msg::Term(TermEvent::Key(Key::plain(KeyCode::Char(c)))));
        }
        self
    }

    pub fn key(&mut self, key: &str) -> &mut Self {
        self.wait(50).take(Msg::Term(TermEvent::Key(Key::parse(key).expect("it is a key"))))
    }

    pub fn event(&mut self, kind: EventKind) -> &mut Self {
        let event = Event {
            seq: 0,
            at: Timestamp(0),
            session: SessionId::parse("0199c0de-0000-7000-8000-000000000000").expect("it is an id"),
            agent: AgentId(0),
            parent: None,
            kind,
        };
        self.take(Msg::Event(&event))
    }

    /// Begins a turn.
    pub fn turn(&mut self, prompt: &str) -> &mut Self {
        self.take(Msg::TurnBegins(prompt.into()));
        self.event(EventKind::Turn(TurnEvent::TurnStarted {
            prompt: prompt.into(),
            images: Vec::new(),
            uuid: None,
            scheduled: None,
        }))
        .event(EventKind::Message(MessageEvent::RequestStarted))
    }

    /// Says a piece of the answer.
    pub fn says(&mut self, text: &str) -> &mut Self {
        self.event(EventKind::Message(MessageEvent::AssistantDelta { text: text.to_owned() }))
    }

    pub fn thinks(&mut self, text: &str) -> &mut Self {
        self.event(EventKind::Message(MessageEvent::ThinkingDelta { text: text.to_owned() }))
    }

    /// Asks for a call, which starts at once.
    pub fn calls(&mut self, kind: ToolKind, input: &str) -> &mut Self {
        self.asks_for(kind, input);
        let (call, name) = (self.call(), name(kind).into());
        let decision = Decision::new(Verdict::Allow, Class::Shell, "it may");
        self.event(EventKind::Tool(ToolEvent::ToolStarted { call, name, decision }))
    }

    fn asks_for(&mut self, kind: ToolKind, input: &str) -> &mut Self {
        self.calls += 1;
        let call = ToolCall {
            id: self.call(),
            name: name(kind).to_owned(),
            input: ToolInput::parse(input.to_owned()),
            id_origin: IdOrigin::Provider,
            replay: None,
        };
        let requested = ToolRequested { call, kind: Some(kind), effects: Vec::new(), of: 1 };
        self.event(EventKind::Tool(ToolEvent::ToolRequested(requested)))
    }

    /// The running call prints something.
    pub fn prints(&mut self, text: &str) -> &mut Self {
        let (call, stream) = (self.call(), OutputStream::Stdout);
        self.event(EventKind::Tool(ToolEvent::ToolOutputDelta { call, stream, text: text.to_owned() }))
    }

    /// The running call is over.
    pub fn ends(&mut self, kind: ToolKind, output: ToolOutput, millis: u64) -> &mut Self {
        let finished = ToolFinished {
            call: self.call(),
            name: name(kind).into(),
            kind: Some(kind),
            output,
            duration: Some(Duration::from_millis(millis)),
        };
        self.event(EventKind::Tool(ToolEvent::ToolFinished(finished)))
    }

    /// A call needs an answer.
    pub fn asks(&mut self, command: &str, grants: &[(&str, &str)]) -> &mut Self {
        self.state.facts.mode = "default".into();
        self.asks_for(ToolKind::Bash, &serde_json::json!({ "command": command }).to_string());
        let preview = Preview::Command {
            command: command.to_owned(),
            cwd: "~/proj".into(),
            sandbox: Some("workspace, network after your yes".into()),
        };
        let grant = |(words, rule): &(&str, &str)| Grant {
            rules: vec![(*rule).to_owned()],
            words: (*words).to_owned(),
            scope: GrantScope::Call,
            past: 0,
        };
        self.asks_with("bash", Class::Shell, preview, grants.iter().map(grant).collect())
    }

    /// Asks about a call that is no command.
    pub fn asks_about(&mut self, preview: Preview) -> &mut Self {
        self.asks_with("write", Class::Write, preview, Vec::new())
    }

    fn asks_with(&mut self, tool: &str, class: Class, preview: Preview, grants: Vec<Grant>) -> &mut Self {
        let explanation = (1..=12).map(|step| format!("step {step}")).collect();
        let question = Question { tool: tool.into(), preview, grants, explanation };
        let decision = Decision { step: 11, ..Decision::new(Verdict::Ask, class, "no rule covers it") };
        let rules = Some("~/.config/zori/config.toml".to_owned());
        let asked = Asked::new(self.call(), Arc::new(question), decision, None, rules);
        self.take(Msg::Asked(asked))
    }

    fn call(&self) -> CallId {
        CallId::new(format!("call-{}", self.calls))
    }

    /// Returns the bytes of the next frame.
    pub fn frame(&mut self) -> String {
        if !self.state.size.is_drawable() {
            return String::new();
        }
        let commits = self.state.transcript.drain(self.state.size.width());
        let view = chat::view(&self.state);
        let frame = self.inline.frame(&commits, view, Brush { paint: &self.paint, links: Links::Left });
        if self.state.questions.front().is_some_and(|asked| asked.drawn.is_none()) {
            self.take(Msg::Drawn);
        }
        frame
    }

    pub fn resize(&mut self, size: Size, reflow: Reflow) -> &mut Self {
        self.inline.resized(size.columns, reflow);
        self.take(Msg::Resized(size))
    }
}

fn name(kind: ToolKind) -> &'static str {
    match kind {
        ToolKind::Bash => "bash",
        ToolKind::Edit => "edit",
        _ => "tool",
    }
}

/// The result of a command.
pub fn shell(stdout: &str, exit_code: i32) -> ToolOutput {
    let data =
        serde_json::json!({"stdout": stdout, "stderr": "", "exit_code": exit_code, "timed_out": false});
    let mut output = ToolOutput::success(&data.to_string());
    output.process = Some(ProcessEnd { exit_code, signal: None, timed_out: false });
    output
}

/// The result of an edit.
pub fn edit(path: &str, before: &str, after: &str) -> ToolOutput {
    let mut output = ToolOutput::success("{}");
    let change =
        FileChange { path: PathBuf::from(path), before: Some(before.into()), after: Some(after.into()) };
    output.changes.push(change);
    output
}
