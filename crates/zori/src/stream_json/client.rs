//! The program at the other end: its lines, read beside the turn, and what becomes of each.
//!
//! [`Client::serve`] is polled together with a turn. Prompts wait for their turn; everything else is dealt with at once, so
//! that no request of the client is left without an answer.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::PoisonError;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use zori_core::ids::CallId;
use zori_core::input::{Approval, Input, PermissionUpdate};
use zori_core::outcome::CancelCause;
use zori_core::permission::Class;
use zori_core::provider::Effort;
use zori_frontends::claude::control::{self, CanUseTool, Initialize, Request, refusal, success};
use zori_frontends::claude::input::{Line, User};
use zori_frontends::claude::wire::McpServer;
use zori_frontends::claude::{Frames, LEVEL};
use zori_policy::Choice;
use zori_policy::policy::ShellPolicy;

use super::channel::{Body, Channel, Kind};
use super::mcp::Offer;
use super::tap::{Asked, SharedContext};
use crate::agents::{Description, json};
use crate::mode_gate::ModeGate;
use crate::model_change::ModelGate;
use crate::stdin::Lines;
use crate::ui::Ui;

/// So many prompts wait for their turn at most; then nothing more is read, an interrupt included.
const MOST_WAITING: usize = 1000;

/// Says something of a model, where there is something to say.
type OfModel<T> = Box<dyn Fn(&str) -> Option<T>>;

/// What a client may ask about, whatever the turn does.
pub struct Facts {
    /// Which modes may come to hold.
    pub modes: ModeGate,
    /// The model the run began with.
    pub model: String,
    /// Which models may be used.
    pub models: ModelGate,
    /// Returns how many tokens a model takes.
    pub window: OfModel<u64>,
    /// The models that `initialize` lists.
    pub listed: Value,
    /// The sub-agents that were described before it, by name and what each is for.
    pub agents: Vec<(String, String)>,
    /// How full the conversation is.
    pub context: SharedContext,
    /// Whether commands run in a sandbox, where the machine has one.
    pub confined: bool,
}

/// The client.
pub struct Client {
    lines: Lines,
    frames: Frames,
    channel: Arc<Channel>,
    facts: Facts,
    ui: Ui,
    /// Prompts that wait for their turn.
    prompts: VecDeque<User>,
    /// What was said while no turn ran.
    wishes: VecDeque<Input>,
    ended: bool,
    /// What it said first, until somebody takes it.
    pub initialize: Option<Initialize>,
    /// How its MCP servers fare.
    pub servers: Vec<McpServer>,
    /// Who is asked about calls, if not the client itself.
    pub prompt_tool: Option<Offer>,
    /// Questions of the engine.
    pub questions: Option<mpsc::UnboundedReceiver<Asked>>,
    /// Whether commands run in a sandbox.
    pub confined: bool,
    answers: JoinSet<(CallId, Approval, Vec<String>)>,
}

/// What is to be done between turns.
pub enum Next {
    /// A turn.
    Prompt(User),
    /// Something to change.
    Wish(Input),
    /// The client has said who it is.
    Initialize(Box<Initialize>),
    /// There is nothing more.
    End,
}

impl Client {
    /// Reads nothing yet.
    pub fn new(lines: Lines, frames: Frames, channel: Arc<Channel>, facts: Facts, ui: Ui) -> Self {
        Self {
            lines,
            frames,
            channel,
            facts,
            ui,
            prompts: VecDeque::new(),
            wishes: VecDeque::new(),
            ended: false,
            initialize: None,
            servers: Vec::new(),
            prompt_tool: None,
            questions: None,
            confined: false,
            answers: JoinSet::new(),
        }
    }

    /// Nothing is read: the prompt is all there is.
    pub fn silent(mut self) -> Self {
        self.end();
        self
    }

    /// Waits for what is to be done next, between turns.
    pub async fn next(&mut self) -> Next {
        loop {
            if let Some(initialize) = self.initialize.take() {
                return Next::Initialize(Box::new(initialize));
            }
            if let Some(wish) = self.wishes.pop_front() {
                return Next::Wish(wish);
            }
            if let Some(prompt) = self.prompts.pop_front() {
                return Next::Prompt(prompt);
            }
            if self.ended {
                return Next::End;
            }
            self.read(None).await;
        }
    }

    /// Deals with everything the client says, and asks what the turn wants to know, until it is dropped with the turn.
    pub async fn serve(&mut self, inputs: Option<&mpsc::Sender<Input>>) -> Infallible {
        loop {
            let reading = !self.ended && self.prompts.len() < MOST_WAITING;
            tokio::select! {
                biased;
                Some(asked) = next_question(&mut self.questions) => self.ask(asked),
                Some(Ok((call, answer, undone))) = self.answers.join_next(), if !self.answers.is_empty() => {
                    undone.iter().for_each(|why| self.ui.warn(why));
                    self.remark_folders(&answer);
                    if let Some(inputs) = inputs {
                        // The turn holds the other end for as long as this is polled.
                        let _ = inputs.send(Input::Approve { call, answer }).await;
                    }
                }
                line = self.lines.next(), if reading => {
                    let line = line.map(crate::stdin::Line::text);
                    self.take(line, inputs).await;
                }
                else => std::future::pending().await,
            }
        }
    }

    /// Says of folders that come to the workspace what they are not: the sandbox was laid out before.
    fn remark_folders(&mut self, answer: &Approval) {
        let Approval::AllowWith(terms) = answer else { return };
        for update in terms.updates.iter().filter(|_| self.confined) {
            if let PermissionUpdate::AddDirectory(folder) = update {
                self.ui.warn(&format!(
                    "{} belongs to the workspace now, but commands in the sandbox cannot write there; `--add-dir` at the \
                     start lets them",
                    folder.display()
                ));
            }
        }
    }

    /// Returns what a mode means, or why it may not hold.
    pub fn check_mode(&self, name: &str) -> Result<(Choice, ShellPolicy), String> {
        self.facts.modes.check(name)
    }

    /// Says something on standard error.
    pub fn warn(&mut self, why: &str) {
        self.ui.warn(why);
    }

    async fn read(&mut self, inputs: Option<&mpsc::Sender<Input>>) {
        let line = self.lines.next().await.map(crate::stdin::Line::text);
        self.take(line, inputs).await;
    }

    async fn take(&mut self, line: Option<Result<String, String>>, inputs: Option<&mpsc::Sender<Input>>) {
        let parsed = match line {
            None => return self.end(),
            Some(Ok(text)) => Line::parse(&text),
            Some(Err(why)) => Err(why),
        };
        match parsed {
            Ok(None | Some(Line::KeepAlive)) => {}
            Ok(Some(Line::User(user))) => {
                user.left_out.iter().for_each(|why| self.ui.warn(why));
                self.prompts.push_back(user);
            }
            Ok(Some(Line::Request { id, request })) => self.request(&id, request, inputs).await,
            Ok(Some(Line::Response(response))) => {
                let id = response.id.clone();
                if !self.channel.answered(response) {
                    self.ui.warn(&format!("the client answers `{id}`, and no such question is open"));
                }
            }
            // What it asked for was done when it was asked.
            Ok(Some(Line::CancelRequest { .. })) => {}
            Ok(Some(Line::Interrupt)) => self.interrupt(inputs).await,
            Ok(Some(Line::SetPermissionMode { mode })) => {
                if let Err(why) = self.set_mode(&mode, inputs).await {
                    self.ui.warn(&why);
                }
            }
            Ok(Some(Line::ToolApproval { id, .. })) => {
                self.ui.warn(&format!(
                    "`tool_approval` for `{id}` has no effect: this dialect asks by `can_use_tool`"
                ));
            }
            Ok(Some(Line::Other { kind })) => {
                self.ui.warn(&format!("a line has the type `{kind}`, which is not known; it is ignored"));
            }
            Err(why) => self.ui.warn(&format!("{why}; the line is ignored")),
        }
    }

    /// Standard input has ended: nobody answers any more.
    fn end(&mut self) {
        self.ended = true;
        self.channel.close();
    }

    async fn request(&mut self, id: &str, request: Request, inputs: Option<&mpsc::Sender<Input>>) {
        // Whether the reader is gone is found out when the next line is due.
        let _ = match request {
            Request::Initialize(initialize) => match initialize.agents.as_ref().map(json::read).transpose() {
                Ok(described) => {
                    let answer = self.introduction(&described.unwrap_or_default().agents);
                    self.initialize = Some(*initialize);
                    self.frames.write(&success(id, Some(answer)))
                }
                Err(why) => self.frames.write(&refusal(id, &format!("initialize: agents: {why}"))),
            },
            Request::Interrupt => {
                let _ = self.channel.withdraw_permissions();
                let written = self.frames.write(&success::<Value>(id, None));
                self.interrupt(inputs).await;
                written
            }
            Request::SetPermissionMode { mode } => match self.set_mode(&mode, inputs).await {
                Ok(()) => self.frames.write(&success(id, Some(json!({ "mode": mode })))),
                Err(why) => self.frames.write(&refusal(id, &why)),
            },
            Request::SetModel { model } => {
                let model = model.unwrap_or_else(|| self.facts.model.clone());
                match self.facts.models.check(&self.facts.model, &model) {
                    Err(why) => self.frames.write(&refusal(id, &why.message)),
                    Ok((model, max_tokens)) => {
                        self.wish(Input::SetModel { model, max_tokens }, inputs).await;
                        self.frames.write(&success::<Value>(id, None))
                    }
                }
            }
            Request::SetMaxThinkingTokens { tokens } => {
                self.wish(Input::SetEffort(tokens.map(effort)), inputs).await;
                self.frames.write(&success::<Value>(id, None))
            }
            Request::McpStatus => {
                self.frames.write(&success(id, Some(json!({ "mcpServers": self.servers }))))
            }
            Request::GetContextUsage => self.frames.write(&success(id, Some(self.usage()))),
            Request::Unsupported { subtype } => {
                self.frames.write(&refusal(id, &format!("Unsupported control request subtype: {subtype}")))
            }
            Request::Bad { why } => self.frames.write(&refusal(id, &why)),
        };
    }

    fn introduction(&self, described: &[Description]) -> Value {
        let described = described.iter().map(|agent| (&agent.name, &agent.about));
        let all = described.chain(self.facts.agents.iter().map(|(name, about)| (name, about)));
        let agents: Vec<_> = all.map(|(name, about)| json!({"name": name, "description": about})).collect();
        json!({
            "commands": [],
            "agents": agents,
            "output_style": "default",
            "available_output_styles": ["default"],
            "models": self.facts.listed,
            "account": {},
            "pid": std::process::id(),
            "hook_on_failure_supported": true,
            "claude_code_version": LEVEL,
        })
    }

    fn usage(&self) -> Value {
        let context = self.facts.context.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let most = (self.facts.window)(&context.model).unwrap_or(0);
        let percentage = (context.tokens * 100).checked_div(most).unwrap_or(0);
        json!({
            "categories": [{"name": "Messages", "tokens": context.tokens, "color": "blue"}],
            "totalTokens": context.tokens,
            "maxTokens": most,
            "rawMaxTokens": most,
            "percentage": percentage,
            "model": context.model,
        })
    }

    async fn interrupt(&mut self, inputs: Option<&mpsc::Sender<Input>>) {
        if let Some(inputs) = inputs {
            self.answers.abort_all();
            let _ = inputs.send(Input::Cancel(CancelCause::User)).await;
        }
    }

    async fn set_mode(&mut self, mode: &str, inputs: Option<&mpsc::Sender<Input>>) -> Result<(), String> {
        self.facts.modes.check(mode)?;
        self.wish(Input::SetMode(mode.to_owned()), inputs).await;
        Ok(())
    }

    /// Says it to the turn that runs, or keeps it for whoever comes next.
    async fn wish(&mut self, wish: Input, inputs: Option<&mpsc::Sender<Input>>) {
        match inputs {
            Some(inputs) => {
                let _ = inputs.send(wish).await;
            }
            None => self.wishes.push_back(wish),
        }
    }

    /// Asks the client about a call. Several may be open, when sub-agents want something.
    fn ask(&mut self, asked: Asked) {
        let (channel, prompt_tool) = (self.channel.clone(), self.prompt_tool.clone());
        let confined = self.facts.confined;
        self.answers.spawn(async move {
            if let Some(tool) = prompt_tool {
                let body = tool.permits(&channel, &asked.tool, &asked.input, asked.call.as_str()).await;
                let (answer, undone) = answered(body, confined);
                return (asked.call, answer, undone);
            }
            let mut suggestions: Vec<Value> =
                asked.question.always.iter().map(|rule| control::suggestion(rule)).collect();
            if asked.decision.class == Class::W {
                suggestions.push(json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"}));
            }
            let body = channel
                .ask(
                    Kind::Permission,
                    CanUseTool {
                        subtype: "can_use_tool",
                        tool_name: &asked.tool,
                        display_name: &asked.tool,
                        input: &asked.input,
                        description: asked.decision.class.about(),
                        permission_suggestions: suggestions,
                        decision_reason: &asked.decision.reason,
                        tool_use_id: asked.call.as_str(),
                        agent_id: asked.agent.map(|agent| agent.to_string()),
                    },
                )
                .await;
            let (answer, undone) = answered(body, confined);
            (asked.call, answer, undone)
        });
    }
}

/// Understands an answer. The second value is what of it cannot be done, a sentence each.
fn answered(body: Body, confined: bool) -> (Approval, Vec<String>) {
    let (answer, mut undone) = control::approval(body);
    let adds = |update: &PermissionUpdate| matches!(update, PermissionUpdate::AddDirectory(_));
    if confined && matches!(&answer, Approval::AllowWith(terms) if terms.updates.iter().any(adds)) {
        undone.push(
            "a folder was added for the file tools; the sandbox of commands stays as it began (`--add-dir` is for both)"
                .to_owned(),
        );
    }
    (answer, undone)
}

/// Waits for a question, where a turn may have one.
async fn next_question(questions: &mut Option<mpsc::UnboundedReceiver<Asked>>) -> Option<Asked> {
    match questions {
        Some(questions) => questions.recv().await,
        None => std::future::pending().await,
    }
}

/// Returns the level that comes nearest to a number of tokens.
pub fn effort(tokens: u64) -> Effort {
    match tokens {
        0 => Effort::Off,
        1..4_096 => Effort::Low,
        4_096..16_384 => Effort::Medium,
        16_384..32_000 => Effort::High,
        _ => Effort::Max,
    }
}
