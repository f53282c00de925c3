//! The program at the other end: its lines, read beside the turn, and what becomes of each.
//!
//! [`Client`] is the peer of a turn. Prompts wait for their turn; everything else is dealt with at once, so that no request
//! of the client is left without an answer.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::PoisonError;

use serde_json::{Map, Value, json};
use tokio::task::JoinSet;
use zori_core::ids::{AgentId, CallId};
use zori_core::input::{Approval, Input, PermissionUpdate};
use zori_core::outcome::CancelCause;
use zori_core::permission::Class;
use zori_core::provider::Effort;
use zori_core::secret::Secrets;
use zori_frontends::claude::control::{
    self, CanUseTool, Initialize, Request, error_response, success_response,
};
use zori_frontends::claude::input::{Line, User};
use zori_frontends::claude::wire::McpServer;
use zori_frontends::claude::{FrameWriter, PROTOCOL_VERSION};
use zori_host::{AgentDescription, ModeError, ModeGate, ModelGate, Peer, PeerRequest, SlashEntry};
use zori_mcp::client::McpServers;
use zori_policy::ModeChoice;
use zori_policy::policy::ShellPolicy;
use zori_tools::toolset::ExternalTool;

use super::agents;
use super::channel::{Channel, Kind};
use super::mcp::PromptTool;
use super::mcp_control;
use super::rewind_files::{self, Rewind};
use super::set_servers::{self, ClientTools, SetServers};
use super::view::SharedView;
use crate::{Lines, NoticePrinter};

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
    /// What can be called by a slash.
    pub commands: Vec<SlashEntry>,
    /// What is known of the session while it runs.
    pub view: SharedView,
}

pub struct Client<L> {
    lines: L,
    frames: FrameWriter,
    channel: Arc<Channel>,
    facts: Facts,
    people: NoticePrinter,
    /// Prompts that wait for their turn.
    prompts: VecDeque<User>,
    /// Changes that came while no turn ran.
    changes: VecDeque<Input>,
    /// What the running turn is told next.
    ready: VecDeque<Input>,
    /// Whether a turn runs.
    running: bool,
    ended: bool,
    /// What it said first, until somebody takes it.
    pub initialize: Option<Initialize>,
    /// How its MCP servers fare that live in the client.
    pub servers: Vec<McpServer>,
    /// The other MCP servers, once they are known.
    pub mcp: Option<Arc<McpServers>>,
    /// The tools of the servers that live in the client.
    pub tools: ClientTools,
    /// What is taken out of whatever is printed.
    pub secrets: Secrets,
    /// Servers that it wants from now on, until the session takes them.
    wanted: VecDeque<(String, Map<String, Value>)>,
    /// Servers that are being connected to, each for a request.
    setting: JoinSet<SetServers>,
    /// Who is asked about calls, if not the client itself.
    pub prompt_tool: Option<PromptTool>,
    /// What puts files back; `None` where nothing is captured.
    pub rewind: Option<Rewind>,
    /// Whether commands run in a sandbox.
    pub confined: bool,
    answers: JoinSet<(CallId, Approval, Vec<String>)>,
}

/// What is to be done between turns.
pub enum Next {
    /// A turn.
    Prompt(User),
    /// Something to change.
    Change(Input),
    /// The client has said who it is.
    Initialize(Box<Initialize>),
    /// It wants these MCP servers from now on, and awaits an answer.
    SetServers(String, Map<String, Value>),
    /// There is nothing more.
    End,
}

impl<L: Lines> Client<L> {
    /// Reads nothing yet.
    pub fn new(
        lines: L,
        frames: FrameWriter,
        channel: Arc<Channel>,
        facts: Facts,
        people: NoticePrinter,
    ) -> Self {
        Self {
            lines,
            frames,
            channel,
            facts,
            people,
            prompts: VecDeque::new(),
            changes: VecDeque::new(),
            ready: VecDeque::new(),
            running: false,
            ended: false,
            initialize: None,
            servers: Vec::new(),
            mcp: None,
            tools: ClientTools::default(),
            secrets: Secrets::default(),
            wanted: VecDeque::new(),
            setting: JoinSet::new(),
            prompt_tool: None,
            rewind: None,
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
    pub async fn next_task(&mut self) -> Next {
        loop {
            if let Some(initialize) = self.initialize.take() {
                return Next::Initialize(Box::new(initialize));
            }
            if let Some(change) = self.changes.pop_front() {
                return Next::Change(change);
            }
            if let Some((id, servers)) = self.wanted.pop_front() {
                return Next::SetServers(id, servers);
            }
            if let Some(prompt) = self.prompts.pop_front() {
                return Next::Prompt(prompt);
            }
            if self.ended && self.setting.is_empty() {
                return Next::End;
            }
            tokio::select! {
                biased;
                Some(Ok(set)) = self.setting.join_next(), if !self.setting.is_empty() => self.servers_set(set),
                line = self.lines.next(), if !self.ended => self.take(line),
            }
        }
    }

    /// Deals with everything the client says while no turn runs, until it is dropped.
    pub async fn serve(&mut self) -> Infallible {
        loop {
            self.step().await;
        }
    }

    /// Says that a turn begins.
    pub fn turn_begins(&mut self) {
        self.running = true;
    }

    /// Puts away what a turn left unanswered.
    pub fn turn_over(&mut self) {
        self.running = false;
        self.ready.clear();
    }

    /// Waits for one thing: an answer, or a line. Dropping the wait loses nothing.
    async fn step(&mut self) {
        let reading = !self.ended && self.prompts.len() < MOST_WAITING;
        tokio::select! {
            biased;
            Some(Ok((call, answer, undone))) = self.answers.join_next(), if !self.answers.is_empty() => {
                undone.iter().for_each(|why| self.people.warn(why));
                self.remark_folders(&answer);
                if self.running {
                    self.ready.push_back(Input::Approve { call, answer });
                }
            }
            Some(Ok(set)) = self.setting.join_next(), if !self.setting.is_empty() => self.servers_set(set),
            line = self.lines.next(), if reading => {
                self.take(line);
            }
            else => std::future::pending().await,
        }
    }

    /// Says of folders that come to the workspace what they are not: the sandbox was laid out before.
    fn remark_folders(&mut self, answer: &Approval) {
        let Approval::AllowWith(terms) = answer else { return };
        for update in terms.updates.iter().filter(|_| self.confined) {
            if let PermissionUpdate::AddDirectory(folder) = update {
                self.people.warn(format!(
                    "{} belongs to the workspace now, but commands in the sandbox cannot write there; `--add-dir` at the \
                     start lets them",
                    folder.display()
                ));
            }
        }
    }

    /// Returns what a mode means, or why it may not hold.
    pub fn check_mode(&self, name: &str) -> Result<(ModeChoice, ShellPolicy), ModeError> {
        self.facts.modes.check(name)
    }

    /// Says something on standard error.
    pub fn warn(&mut self, why: &str) {
        self.people.warn(why);
    }

    fn take(&mut self, line: Option<Result<String, String>>) {
        let parsed = match line {
            None => return self.end(),
            Some(Ok(text)) => Line::parse(&text),
            Some(Err(why)) => Err(why),
        };
        match parsed {
            Ok(None | Some(Line::KeepAlive)) => {}
            Ok(Some(Line::User(user))) => {
                user.left_out.iter().for_each(|why| self.people.warn(why));
                self.prompts.push_back(user);
            }
            Ok(Some(Line::Request { id, request })) => self.request(&id, request),
            Ok(Some(Line::Response(response))) => {
                let id = response.id.clone();
                if !self.channel.answered(response) {
                    self.people.warn(format!("the client answers `{id}`, and no such question is open"));
                }
            }
            // What it asked for was done when it was asked.
            Ok(Some(Line::CancelRequest { .. })) => {}
            Ok(Some(Line::Interrupt)) => self.interrupt(),
            Ok(Some(Line::SetPermissionMode { mode })) => {
                if let Err(why) = self.set_mode(&mode) {
                    self.people.warn(&why);
                }
            }
            Ok(Some(Line::ToolApproval { id, .. })) => {
                self.people.warn(format!(
                    "`tool_approval` for `{id}` has no effect: this dialect asks by `can_use_tool`"
                ));
            }
            Ok(Some(Line::Other { kind })) => {
                self.people.warn(format!("a line has the type `{kind}`, which is not known; it is ignored"));
            }
            Err(why) => self.people.warn(format!("{why}; the line is ignored")),
        }
    }

    /// Standard input has ended: nobody answers any more.
    fn end(&mut self) {
        self.ended = true;
        self.channel.close();
    }

    fn request(&mut self, id: &str, request: Request) {
        // Whether the reader is gone is found out when the next line is due.
        let _ = match request {
            Request::Initialize(initialize) => match initialize.agents.as_ref().map(agents::read).transpose()
            {
                Ok(described) => {
                    let answer = self.introduction(&described.unwrap_or_default().agents);
                    self.initialize = Some(*initialize);
                    self.frames.write(&success_response(id, Some(answer)))
                }
                Err(why) => self.frames.write(&error_response(id, &format!("initialize: agents: {why}"))),
            },
            Request::Interrupt => {
                let _ = self.channel.withdraw_permissions();
                let written = self.frames.write(&success_response::<Value>(id, None));
                self.interrupt();
                written
            }
            Request::SetPermissionMode { mode } => match self.set_mode(&mode) {
                Ok(()) => self.frames.write(&success_response(id, Some(json!({ "mode": mode })))),
                Err(why) => self.frames.write(&error_response(id, &why)),
            },
            Request::SetModel { model } => {
                let model = model.unwrap_or_else(|| self.facts.model.clone());
                match self.facts.models.check(&self.facts.model, &model) {
                    Err(why) => self.frames.write(&error_response(id, &why.to_string())),
                    Ok((model, max_tokens)) => {
                        self.change(Input::SetModel { model, max_tokens });
                        self.frames.write(&success_response::<Value>(id, None))
                    }
                }
            }
            Request::SetMaxThinkingTokens { tokens } => {
                self.change(Input::SetEffort(tokens.map(effort)));
                self.frames.write(&success_response::<Value>(id, None))
            }
            Request::McpStatus => {
                let rows = mcp_control::rows(&self.servers, self.mcp.as_deref());
                self.frames.write(&success_response(id, Some(json!({ "mcpServers": rows }))))
            }
            Request::McpReconnect { server } => {
                let known = self.mcp.as_ref().is_some_and(|servers| servers.reconnect(&server));
                self.changed_server(id, &server, known)
            }
            Request::McpToggle { server, enabled } => {
                let known = self.mcp.as_ref().is_some_and(|servers| servers.enable(&server, enabled));
                self.changed_server(id, &server, known)
            }
            Request::McpSetServers { servers } => {
                self.set_servers(id, servers);
                Ok(())
            }
            Request::GetContextUsage => self.frames.write(&success_response(id, Some(self.usage()))),
            Request::RewindFiles { prompt, dry_run } => {
                match rewind_files::answer(self.rewind.as_mut(), &prompt, dry_run) {
                    Ok(answer) => self.frames.write(&success_response(id, Some(answer))),
                    Err(why) => self.frames.write(&error_response(id, &why)),
                }
            }
            Request::Unsupported { subtype } => self
                .frames
                .write(&error_response(id, &format!("Unsupported control request subtype: {subtype}"))),
            Request::Bad { why } => self.frames.write(&error_response(id, &why)),
        };
    }

    /// Has these servers of the client's own from now on. Before the session they wait for it.
    pub fn set_servers(&mut self, id: &str, described: Map<String, Value>) {
        let Some(servers) = self.mcp.clone() else {
            self.wanted.push_back((id.to_owned(), described));
            return;
        };
        let (channel, own) = (self.channel.clone(), &mut self.servers);
        let set = set_servers::replace(id, described, servers, channel, own, &mut self.tools, &self.secrets);
        self.setting.spawn(set);
    }

    /// Takes what came of a change of the servers, and answers for it.
    fn servers_set(&mut self, set: SetServers) {
        let answer = set.answer();
        let SetServers { id, connected, .. } = set;
        self.servers.extend(connected.servers);
        self.tools.add(connected.tools);
        // Whether the reader is gone is found out when the next line is due.
        let _ = self.frames.write(&success_response(&id, Some(answer)));
    }

    /// Answers a request for servers that the session was not there for.
    pub fn answer_servers(&mut self, id: &str, answer: Value) {
        let _ = self.frames.write(&success_response(id, Some(answer)));
    }

    /// Returns what has changed of the client's tools since the last prompt: those that came, and the names of those that are gone.
    pub fn changed_tools(&mut self) -> Option<(Vec<ExternalTool>, Vec<String>)> {
        self.tools.take_change(&self.channel)
    }

    fn changed_server(&mut self, id: &str, server: &str, known: bool) -> std::io::Result<()> {
        match known {
            true => self.frames.write(&success_response::<Value>(id, None)),
            false => self.frames.write(&error_response(id, &format!("Server not found: {server}"))),
        }
    }

    fn introduction(&self, described: &[AgentDescription]) -> Value {
        let described = described.iter().map(|agent| (&agent.name, &agent.about));
        let all = described.chain(self.facts.agents.iter().map(|(name, about)| (name, about)));
        let agents: Vec<_> = all.map(|(name, about)| json!({"name": name, "description": about})).collect();
        let command = |entry: &SlashEntry| json!({"name": entry.name, "description": entry.about, "argumentHint": entry.args});
        let commands: Vec<_> = self.facts.commands.iter().map(command).collect();
        json!({
            "commands": commands,
            "agents": agents,
            "output_style": "default",
            "available_output_styles": ["default"],
            "models": self.facts.listed,
            "account": {},
            "pid": std::process::id(),
            "hook_on_failure_supported": true,
            "claude_code_version": PROTOCOL_VERSION,
        })
    }

    fn usage(&self) -> Value {
        let view = self.facts.view.lock().unwrap_or_else(PoisonError::into_inner);
        let most = (self.facts.window)(&view.model).unwrap_or(0);
        let percentage = (view.tokens * 100).checked_div(most).unwrap_or(0);
        json!({
            "categories": [{"name": "Messages", "tokens": view.tokens, "color": "blue"}],
            "totalTokens": view.tokens,
            "maxTokens": most,
            "rawMaxTokens": most,
            "percentage": percentage,
            "model": view.model,
        })
    }

    fn interrupt(&mut self) {
        if self.running {
            self.answers.abort_all();
            self.ready.push_back(Input::Cancel(CancelCause::User));
        }
    }

    fn set_mode(&mut self, mode: &str) -> Result<(), String> {
        self.facts.modes.check(mode).map_err(|error| error.with_hints())?;
        self.change(Input::SetMode(mode.to_owned()));
        Ok(())
    }

    /// Says it to the turn that runs, or keeps it for what comes next.
    fn change(&mut self, change: Input) {
        match self.running {
            true => self.ready.push_back(change),
            false => self.changes.push_back(change),
        }
    }
}

impl<L: Lines> Peer for Client<L> {
    /// Asks the client about a call. Several may be open, when sub-agents want something.
    fn ask(&mut self, request: PeerRequest) {
        let PeerRequest::Approval { agent, call, decision, question } = request;
        let view = self.facts.view.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((tool, input)) = view.calls.get(&call).cloned() else { return };
        drop(view);
        let (channel, prompt_tool) = (self.channel.clone(), self.prompt_tool.clone());
        self.answers.spawn(async move {
            let body = match prompt_tool {
                Some(prompt_tool) => prompt_tool.permits(&channel, &tool, &input, call.as_str()).await,
                None => {
                    let mut suggestions: Vec<Value> =
                        question.grants.iter().map(|grant| control::suggestion(&grant.rules)).collect();
                    if decision.class == Class::Write {
                        suggestions.push(
                            json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"}),
                        );
                    }
                    let asked = CanUseTool {
                        subtype: "can_use_tool",
                        tool_name: &tool,
                        display_name: &tool,
                        input: &input,
                        description: decision.class.about(),
                        permission_suggestions: suggestions,
                        decision_reason: &decision.reason,
                        tool_use_id: call.as_str(),
                        agent_id: (agent != AgentId::MAIN).then(|| agent.0.to_string()),
                    };
                    channel.ask(Kind::Permission, asked).await
                }
            };
            let (answer, undone) = control::approval(body);
            (call, answer, undone)
        });
    }

    async fn next(&mut self) -> Input {
        loop {
            if let Some(input) = self.ready.pop_front() {
                return input;
            }
            self.step().await;
        }
    }
}

/// Returns the effort of a number of tokens: that number where an API takes one, else the level that comes nearest.
pub fn effort(tokens: u64) -> Effort {
    match tokens {
        0 => Effort::Off,
        tokens => Effort::Tokens(u32::try_from(tokens).unwrap_or(u32::MAX)),
    }
}
