//! What a prompt becomes before it is sent: a custom command's text in place of its name, and the skills that it means
//! (CUS-2 to CUS-4, SK-5).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use zori_core::input::{Input, Prompt};
use zori_core::permission::Verdict;
use zori_core::text::prefix;
use zori_core::tool::{AskUser, Effect, ToolKind};
use zori_engine::user_shell::UserCommand;
use zori_extensions::built_in::{self, BuiltInSkill};
use zori_extensions::command::CustomCommand;
use zori_extensions::template::{self, Part};
use zori_mcp::client::{McpServers, PromptCall};

use crate::peer::Peer;
use crate::session::Session;
use crate::skills::Skills;

/// How much of a command's output goes into the prompt.
const MAX_OUTPUT: usize = 16 * 1024;
/// The longest file that goes along with a custom command.
const MAX_FILE: u64 = 64 * 1024;
/// So many resources go along with a prompt.
const MAX_RESOURCES: usize = 20;

/// What people and the project bring to a session.
#[derive(Clone, Default)]
pub struct Extensions {
    /// Custom commands, by name.
    pub commands: Arc<[CustomCommand]>,
    /// Skills; `None` where there are none.
    pub skills: Option<Arc<Skills>>,
    /// Whether a slash calls the program's own skills, too.
    pub built_in: bool,
    /// Where paths in commands begin.
    pub root: PathBuf,
    /// MCP servers, which have prompts and resources; the session's own.
    pub servers: Option<Arc<McpServers>>,
}

/// A skill that a line calls.
enum SkillCall<'e> {
    /// One that somebody brought along.
    Own(&'e Skills, &'e str),
    /// One of the program's.
    BuiltIn(&'static BuiltInSkill),
}

impl Extensions {
    /// Returns the custom command that a line calls, and what is behind its name.
    pub fn command<'l>(&self, line: &'l str) -> Option<(&CustomCommand, &'l str)> {
        let line = line.trim_start().strip_prefix('/')?;
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        self.commands.iter().find(|command| command.name == name).map(|command| (command, rest.trim()))
    }

    /// Returns the skill that a line calls: `/NAME args`, or `/skill NAME args`.
    fn skill_call<'l>(&self, line: &'l str) -> Option<(SkillCall<'_>, &'l str)> {
        let line = line.trim_start().strip_prefix('/')?;
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (name, rest) = match word {
            "skill" => rest.trim_start().split_once(char::is_whitespace).unwrap_or((rest.trim(), "")),
            name => (name, rest),
        };
        let own = self.skills.as_deref().and_then(|skills| Some((skills, skills.get(name)?)));
        let built_in = || built_in::find(name).filter(|_| self.built_in);
        let call = match own {
            Some((skills, skill)) => SkillCall::Own(skills, &skill.name),
            None => SkillCall::BuiltIn(built_in()?),
        };
        Some((call, rest.trim()))
    }

    /// Returns the prompt of an MCP server that a line calls (MCP-61).
    fn prompt_call<'l>(&self, line: &'l str) -> Option<PromptCall<'l>> {
        self.servers.as_ref()?.called_prompt(line)
    }

    /// Returns whether a line calls something that was brought along.
    pub fn is_call(&self, line: &str) -> bool {
        self.command(line).is_some() || self.skill_call(line).is_some() || self.prompt_call(line).is_some()
    }

    /// Returns name, arguments and meaning of all that can be called by a slash, commands first.
    pub fn slash_commands(&self) -> Vec<SlashEntry> {
        let command = |command: &CustomCommand| SlashEntry {
            name: command.name.clone(),
            args: command.args.clone(),
            about: command.about.clone(),
        };
        let mut all: Vec<SlashEntry> = self.commands.iter().map(command).collect();
        for skill in self.skills.iter().flat_map(|skills| skills.all()) {
            if !all.iter().any(|entry| entry.name == skill.name) {
                let (args, about) = (skill.args.clone(), skill.description.clone());
                all.push(SlashEntry { name: skill.name.clone(), args, about });
            }
        }
        for (name, args, about) in self.servers.iter().flat_map(|servers| servers.prompts()) {
            all.push(SlashEntry { name, args, about });
        }
        all
    }

    /// Returns the names of the skills.
    pub fn skill_names(&self) -> Vec<String> {
        self.skills.iter().flat_map(|skills| skills.all()).map(|skill| skill.name.clone()).collect()
    }
}

/// Something that can be called by a slash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SlashEntry {
    /// Its name, without the slash.
    pub name: String,
    /// What it takes.
    pub args: String,
    /// What it does.
    pub about: String,
}

/// What a prompt has become.
struct Expanded {
    text: String,
    /// Files that the command names.
    files: Vec<PathBuf>,
}

impl Session {
    /// Lets prompts call what people and the project brought.
    #[must_use]
    pub fn with_extensions(mut self, extensions: Extensions) -> Self {
        self.extensions = Extensions { servers: self.mcp().cloned(), ..extensions };
        self
    }

    /// Returns what people and the project brought.
    pub fn extensions(&self) -> &Extensions {
        &self.extensions
    }

    /// Puts a custom command's text in place of its name, and adds the skills that the prompt means. A part that cannot be made ends the
    /// turn before anything is sent.
    pub(crate) async fn prepare_prompt(&mut self, mut prompt: Prompt, peer: &mut impl Peer) -> Prompt {
        let extensions = self.extensions.clone();
        if let Some(servers) = &extensions.servers {
            self.attach_resources(servers, &mut prompt, peer).await;
        }
        if let Some((command, rest)) = extensions.command(&prompt.text) {
            if let Some(tools) = &command.allowed_tools {
                self.engine_and_events().0.narrow(&format!("the command /{}", command.name), tools);
            }
            let parts = template::expand(&command.template, rest);
            match self.run_parts(parts, peer).await {
                Ok(expanded) => {
                    expanded.files.iter().for_each(|file| self.attach_file(file));
                    prompt.text = expanded.text;
                }
                Err(why) => self.refuse_prompt(format!("The command /{} was stopped: {why}", command.name)),
            }
        } else if let Some((call, rest)) = extensions.skill_call(&prompt.text) {
            let (name, loaded) = match call {
                SkillCall::Own(skills, name) => (name, skills.load(name)),
                SkillCall::BuiltIn(skill) => (skill.name, Ok(skill.text())),
            };
            match loaded {
                Ok(text) => {
                    self.attach(text);
                    prompt.text = match rest {
                        "" => format!("Use the skill `{name}`."),
                        rest => format!("Use the skill `{name}`: {rest}"),
                    };
                }
                Err(why) => self.refuse_prompt(why),
            }
        } else if let Some((servers, call)) =
            extensions.servers.as_ref().zip(extensions.prompt_call(&prompt.text))
        {
            let what = format!("/{}", call.shown());
            match self.fetched(what, |asker| servers.get_prompt(&call, Some(asker)), peer).await {
                Ok(got) => {
                    prompt.text = got.text;
                    prompt.images.extend(got.images);
                }
                Err(why) => self.refuse_prompt(format!("The prompt /{} was stopped: {why}", call.shown())),
            }
        } else if let Some(skills) = &extensions.skills {
            for text in skills.meant_by(&prompt.text, self.messages()) {
                self.attach(text);
            }
        }
        prompt
    }

    /// Waits for what a server is asked for, unless somebody gives up. What the server asks meanwhile is put to the user.
    async fn fetched<T, W: Future<Output = Result<T, String>>>(
        &mut self,
        what: String,
        work: impl FnOnce(Arc<dyn AskUser>) -> W,
        peer: &mut impl Peer,
    ) -> Result<T, String> {
        let (mut notes, answers) = (Default::default(), self.answers());
        let (engine, events) = self.engine_and_events();
        let mut questions = engine.questions_before_turn(what);
        let mut work = std::pin::pin!(work(questions.asker()));
        let done = loop {
            tokio::select! {
                biased;
                done = &mut work => break done,
                Some(event) = events.recv() => {
                    if let Some(input) = crate::session::handle(event, answers, &mut notes, peer) {
                        questions.answer(&input);
                    }
                }
                input = peer.next() => match input {
                    Input::Cancel(_) => break Err("interrupted".to_owned()),
                    input @ Input::Approve { .. } => drop(questions.answer(&input)),
                    change => engine.apply(change),
                },
                never = questions.put() => match never {},
            }
        };
        questions.close();
        done
    }

    /// Lets the resources of MCP servers go along that a prompt names as `@SERVER:URI` (MCP-60). One that cannot be read ends the turn.
    async fn attach_resources(
        &mut self,
        servers: &Arc<McpServers>,
        prompt: &mut Prompt,
        peer: &mut impl Peer,
    ) {
        let named: Vec<_> = prompt
            .text
            .split_whitespace()
            .filter_map(|word| servers.named_resource(word))
            .take(MAX_RESOURCES)
            .collect();
        let mut images = Vec::new();
        for (server, uri) in named {
            let what = format!("@{}:{uri}", server.config.name);
            match self.fetched(what, |asker| servers.read_resource(&server, uri, Some(asker)), peer).await {
                Ok(read) => {
                    images.extend(read.images);
                    self.attach(format!(
                        "The resource @{}:{uri}, which the prompt names:\n{}",
                        server.config.name, read.text
                    ));
                }
                Err(why) => return self.refuse_prompt(why),
            }
        }
        prompt.images.extend(images);
    }

    /// Runs the commands of a template, and puts all parts together.
    async fn run_parts(&mut self, parts: Vec<Part>, peer: &mut impl Peer) -> Result<Expanded, String> {
        let mut expanded = Expanded { text: String::new(), files: Vec::new() };
        for part in parts {
            match part {
                Part::Text(text) => {
                    expanded.files.extend(files_in(&self.extensions.root, &text));
                    expanded.text.push_str(&text);
                }
                Part::Argument(text) => expanded.text.push_str(&text),
                Part::Shell(command) => {
                    let done = self.shell_asking(command, peer).await;
                    expanded.text.push_str(&output(&done)?);
                }
            }
        }
        Ok(expanded)
    }

    /// Lets a file go along with the prompt, unless a rule denies reading it.
    fn attach_file(&mut self, path: &Path) {
        let policy = self.policy();
        let effects = [Effect::Read(path.to_owned())];
        let call = zori_policy::Call::new("read", Some(ToolKind::Read), &effects, &policy.workspace);
        if zori_policy::explain(policy, &call).decision.verdict == Verdict::Deny {
            return;
        }
        let Ok(content) = std::fs::read_to_string(path) else { return };
        let shown = path.strip_prefix(&self.extensions.root).unwrap_or(path).display().to_string();
        self.attach(format!("The file {shown}, which the command names:\n{content}"));
    }

    /// Runs a command of a template: a call like any other, about which somebody may be asked.
    async fn shell_asking(&mut self, command: String, peer: &mut impl Peer) -> UserCommand {
        let (mut notes, answers) = (Default::default(), self.answers());
        let (engine, events) = self.engine_and_events();
        let mut shells = engine.user_shells();
        shells.start_asking(command);
        loop {
            tokio::select! {
                biased;
                done = shells.next() => return done,
                Some(event) = events.recv() => {
                    if let Some(input) = crate::session::handle(event, answers, &mut notes, peer) {
                        shells.answer(&input);
                    }
                }
                input = peer.next() => match input {
                    Input::Cancel(cause) => shells.cancel(cause),
                    input @ Input::Approve { .. } => shells.answer(&input),
                    change => engine.apply(change),
                },
            }
        }
    }
}

/// Returns what a command of a template printed; an error says why it did not run.
fn output(done: &UserCommand) -> Result<String, String> {
    let envelope: serde_json::Value = serde_json::from_str(done.result.envelope.get()).unwrap_or_default();
    if !done.result.ok {
        let why = envelope["error"]["message"].as_str().unwrap_or("it did not run");
        return Err(format!("`{}`: {why}", done.command));
    }
    let text = |key: &str| envelope["data"][key].as_str().unwrap_or_default().to_owned();
    let both = text("stdout") + &text("stderr");
    let both = both.trim_end();
    Ok(match both.len() > MAX_OUTPUT {
        true => format!("{}\n[cut after {MAX_OUTPUT} bytes]", prefix(both, MAX_OUTPUT)),
        false => both.to_owned(),
    })
}

/// Returns the files inside the root that a text names with `@`.
fn files_in(root: &Path, text: &str) -> Vec<PathBuf> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    let mut found = Vec::new();
    for word in text.split_whitespace().filter_map(|word| word.strip_prefix('@')) {
        let word = word.trim_end_matches(['.', ',', ';', ':', ')']);
        let Ok(path) = root.join(word).canonicalize() else { continue };
        let fits = path.metadata().is_ok_and(|meta| meta.is_file() && meta.len() <= MAX_FILE);
        if !word.is_empty() && fits && path.starts_with(&root) && !found.contains(&path) {
            found.push(path);
        }
    }
    found
}
