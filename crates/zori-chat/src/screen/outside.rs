//! What the chat wants of the outside beside its session: files, the clipboard, an editor, the shell it came from.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use signal_hook::consts::SIGTSTP;
use tokio::sync::mpsc::UnboundedReceiver;
use zori_contract::exit::Exit;
use zori_core::event::NoticeLevel;
use zori_core::ids::CallId;
use zori_core::provider::Effort;
use zori_core::usage::Usage;
use zori_mcp::client::{CompletedArgument, McpServers};
use zori_providers::catalog::ProviderFacts;
use zori_redact::Redactor;
use zori_tui::clean::CleanText;
use zori_tui::completion::{Item, SESSIONS};
use zori_tui::pager::LongText;
use zori_tui::update::{Effect, FindRequest, Msg};

use super::aside::Beside;
use super::completions::Choice;
use super::display::Display;
use super::errand::{self, Back, Errand};
use super::files::{Files, Matches};
use super::in_turn::Snapshot;
use super::look;
use super::offers;
use super::pictures;
use super::sessions::Sessions;
use super::spilled;
use super::tty;
use crate::chat::slash::Report;
use crate::recap::{self, RECAP};
use zori_setup::asking::explanation;
use zori_setup::beside::{Asking, SideAnswer};
use zori_setup::config::{added_rule, set_key};
use zori_setup::drafts::Drafts;
use zori_setup::environment::Environment;

/// A report on its way.
pub type Reporting = Pin<Box<dyn Future<Output = Reported>>>;

/// A report, and what it says.
pub struct Reported {
    diff: bool,
    text: Result<String, String>,
}

/// Values of an argument on their way, with what was typed of it.
pub type Completing = Pin<Box<dyn Future<Output = (String, Vec<CompletedArgument>)>>>;

/// A title that a model was asked for.
pub struct Titling {
    /// The session that it is for, and the title that this has.
    pub session: String,
    pub before: Option<String>,
}

/// What came while something else was waited for.
pub enum Came {
    /// What an argument of a server's prompt may be.
    Completed(String, Vec<CompletedArgument>),
    Answered(SideAnswer<String>),
    /// A model has explained a call.
    Explained(SideAnswer<CallId>),
    Titled(SideAnswer<String>),
    Reported(Reported),
    Back(Back),
    /// What became of a scheduled job.
    Scheduled(String),
    /// The files that `@` finds were looked at.
    Walked,
}

/// The outside of a chat.
pub struct Outside {
    pub env: Environment,
    pub root: PathBuf,
    /// Where drafts are kept; `None` where nothing is saved.
    pub drafts: Option<Drafts>,
    /// The session whose draft it is.
    pub session: String,
    /// Takes secrets out of what is shown.
    pub redactor: Redactor,
    /// Where rules go that hold in later sessions.
    pub rules: Option<PathBuf>,
    /// What has to wait for the end of the turn.
    pub later: VecDeque<Effect>,
    /// The models `/model` offers, and the modes.
    pub models: Vec<Choice>,
    pub modes: Vec<Item>,
    /// Projects and agent profiles.
    pub names: [Vec<Item>; 2],
    pub sessions: Sessions,
    pub look: look::Look,
    /// The files that `@` finds.
    pub files: Files,
    /// Where settings are kept.
    pub config: Option<PathBuf>,
    /// Who is asked by `/btw`, what was asked, and what that used, by the name of the model.
    pub beside: Option<Beside>,
    pub aside: Option<Asking<String>>,
    /// Who is asked to explain a call.
    pub explaining: Option<Asking<CallId>>,
    pub used: Vec<(String, Usage)>,
    /// The model that gives a session its title, and one that it is being asked for (`session.title_model`).
    pub title_model: Option<String>,
    pub titling: Option<Titling>,
    pub title_asked: Option<Asking<String>>,
    /// What the program was asked for beside the chat.
    pub report: Option<Reporting>,
    /// Who has the terminal.
    pub errand: Option<Errand>,
    /// A key was stored while a turn ran.
    pub logged_in: Option<&'static ProviderFacts>,
    /// The model that was chosen while a turn ran, to be kept.
    pub chosen_model: Option<String>,
    /// The MCP servers of the session.
    pub servers: Option<Arc<McpServers>>,
    /// What a server is asked for while somebody types an argument of its prompt.
    pub completing: Option<Completing>,
    /// What is told of scheduled jobs.
    pub scheduled: Option<UnboundedReceiver<String>>,
    /// The session as it was when the running turn began.
    pub snapshot: Option<Snapshot>,
    /// What runs is a turn, which can be given up.
    pub can_abandon: bool,
    /// The effort that was chosen in a turn.
    pub effort: Option<Option<Effort>>,
    /// The branch that was kept for the session last.
    pub kept_branch: Option<String>,
    /// The model that sees images.
    pub viewer: (&'static ProviderFacts, String),
}

impl Outside {
    /// Does what the chat wants.
    pub fn run(&mut self, display: &mut Display, effect: Effect) {
        match effect {
            Effect::Find(request) => self.find(display, request),
            Effect::Edit(text) => {
                let editing = errand::edit(&self.env, &self.root, &text);
                self.send(display, editing);
            }
            Effect::Copy(text) => display.tty.write(&clipboard(&text)),
            Effect::PasteClipboard => {
                let (facts, model) = (self.viewer.0, &self.viewer.1);
                display.take(Msg::Pasted(pictures::clipboard(&self.env, facts, model)));
            }
            Effect::Dropped(text) => {
                let (facts, model) = (self.viewer.0, &self.viewer.1);
                display.take(Msg::Pasted(pictures::dropped(
                    &self.root,
                    self.env.home().as_deref(),
                    &text,
                    facts,
                    model,
                )));
            }
            Effect::Preview(id) => match self.sessions.preview(&id) {
                Ok(rows) => display.take(Msg::Preview(rows)),
                Err(why) => display.state.say(why),
            },
            Effect::ShowFile { number, file } => match spilled::text(Path::new(&file), &self.redactor) {
                Ok(text) => display.take(Msg::ShowText(LongText::new(&text))),
                // It is gone with the run that made it; the cell has both ends of it.
                Err(_) => display.take(Msg::ShowCell(number)),
            },
            Effect::Trash(id) => {
                let (Ok(words) | Err(words)) = self.sessions.trash(&id);
                display.state.say(words);
                display.touch();
            }
            Effect::Aside(question) => self.ask_aside(display, Some(&question)),
            Effect::Explain { call, question } => match &self.beside {
                Some(beside) => self.explaining = Some(explanation::ask(&beside.asker, &question, call)),
                None => display.take(Msg::Explained { call, words: Err("nobody can be asked".to_owned()) }),
            },
            Effect::Theme { name, keep } => self.theme(display, &name, keep),
            Effect::SaveKeys { action, keys } => self.save_keys(display, &action, &keys),
            Effect::Keep(draft) => self.keep(&draft),
            Effect::Suspend => {
                display.release();
                let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
                display.resume();
            }
            Effect::Repaint => display.repaint(),
            Effect::LookAround => {
                display.state.facts.branch = zori_store::branch(&self.root);
                display.paint = self.look.paint(&display.terminal);
                display.touch();
            }
            Effect::Notify(text) => {
                let text = CleanText::from(format!("zori: {text}"));
                self.look.run_command(text.as_str());
                // Nobody writes into a program that has the terminal (TTY-5).
                if !display.is_lent() {
                    display.tty.write(&self.look.notification(&display.terminal, &text));
                }
            }
            Effect::Remember { rules } => self.remember(display, &rules),
            // Only the turn that runs can be given up.
            Effect::Abandon => {}
            Effect::Die => {
                tty::restore();
                std::process::exit(i32::from(Exit::Interrupted.code()));
            }
            effect => self.later.push_back(effect),
        }
    }

    fn find(&mut self, display: &mut Display, request: FindRequest) {
        let (word, items, of, all) = match request {
            FindRequest::Files(word) => {
                let Matches { paths, of, pending } = self.files.find(&word);
                let mark = if word.starts_with('!') { "!" } else { "" };
                let files = paths.into_iter().map(|path| super::item(format!("{mark}{path}"), ""));
                let resources = offers::resources(self.servers.as_deref(), &word);
                let of = of + resources.len();
                let items = resources.into_iter().chain(files).collect();
                return display.take(Msg::Found { word, items, of, all: of, pending });
            }
            FindRequest::Argument { command, word, everywhere } => {
                let servers = self.servers.as_ref();
                if let Some(typed) = servers.and_then(|servers| servers.typed_argument(command, &word)) {
                    // Nobody who types waits for a server; what it says comes while something else is waited for.
                    self.completing = Some(Box::pin(async move { (word, typed.complete().await) }));
                    return;
                }
                let mut everything = None;
                let all = match command {
                    "/model" => {
                        let facts = &display.state.facts;
                        self.models.iter().map(|choice| choice.item(&facts.model, facts.context)).collect()
                    }
                    "/mode" => self.modes.clone(),
                    "/project" => self.names[0].clone(),
                    "/agent" => self.names[1].clone(),
                    SESSIONS => {
                        let listed = self.sessions.list(everywhere);
                        everything = Some(listed.all);
                        listed.items
                    }
                    "/theme" => offers::themes(self.config.as_deref().and_then(Path::parent)),
                    "/effort" => offers::efforts(),
                    "/login" | "/provider" => offers::providers(),
                    _ => Vec::new(),
                };
                let (of, wanted) = (all.len(), word.to_lowercase());
                let fits = |item: &Item| {
                    let label = item.label.as_deref().unwrap_or_default();
                    let text = format!("{} {label} {}", item.text, item.about).to_lowercase();
                    wanted.split_whitespace().all(|part| text.contains(part))
                };
                let mut items: Vec<Item> = all.into_iter().filter(fits).collect();
                // What was typed whole is meant, whatever else has it in its description.
                items.sort_by_key(|item| !item.text.eq_ignore_ascii_case(&word));
                (word, items, of, everything.unwrap_or(of))
            }
        };
        display.take(Msg::Found { word, items, of, all, pending: false });
    }

    /// Asks beside the conversation; the answer comes while something else is waited for. Without a question the session is summed
    /// up.
    pub fn ask_aside(&mut self, display: &mut Display, question: Option<&str>) {
        match (&self.beside, &self.aside) {
            (_, Some(_)) => display.state.transcript.notice(
                NoticeLevel::Info,
                "One `/btw` or `/recap` at a time; the last one is not answered yet.",
            ),
            (Some(beside), None) => {
                self.aside = match question {
                    Some(question) => Some(beside.ask(question)),
                    None => beside.recap(),
                };
                match self.aside {
                    Some(_) => display.state.say("asked beside the conversation; the answer comes"),
                    None => display.state.transcript.notice(NoticeLevel::Info, recap::NO_TURNS),
                }
            }
            (None, None) => display.state.transcript.notice(NoticeLevel::Info, "Nobody can be asked yet."),
        }
        display.touch();
    }

    /// Asks the program for a report, which comes while something else is waited for.
    pub fn ask_report(&mut self, display: &mut Display, report: Report) {
        let command = report.command(&self.env);
        let made = async move {
            let output = match command {
                Ok(command) => tokio::process::Command::from(command).kill_on_drop(true).output().await,
                Err(error) => Err(error),
            };
            Reported { diff: report.diff, text: report.finish(output) }
        };
        self.await_report(display, Box::pin(made));
    }

    /// Has work done beside the conversation that takes its time and ends with words.
    pub fn ask_work(
        &mut self,
        display: &mut Display,
        work: impl FnOnce() -> Result<String, String> + Send + 'static,
    ) {
        let made = async move {
            let text = tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| Err(error.to_string()));
            Reported { diff: false, text }
        };
        self.await_report(display, Box::pin(made));
    }

    fn await_report(&mut self, display: &mut Display, made: Reporting) {
        if self.report.is_some() {
            display.state.say("one at a time; the last one is not there yet");
            return display.touch();
        }
        self.report = Some(made);
        display.state.say("looking …");
        display.touch();
    }

    /// Lets a program have the terminal until it comes back; a turn goes on meanwhile.
    pub fn send(&mut self, display: &mut Display, errand: Result<Errand, String>) {
        match errand {
            Ok(errand) => {
                display.lend();
                self.errand = Some(errand);
            }
            Err(why) => {
                display.state.transcript.notice(NoticeLevel::Warning, &why);
                display.touch();
            }
        }
    }

    /// Waits for the answer of `/btw`, for a report and for the terminal, for ever if nothing was asked and nobody has it.
    pub async fn aside(&mut self) -> Came {
        tokio::select! {
            answered = zori_host::pending_or(&mut self.aside) => {
                self.aside = None;
                Came::Answered(answered)
            }
            explained = zori_host::pending_or(&mut self.explaining) => {
                self.explaining = None;
                Came::Explained(explained)
            }
            reported = zori_host::pending_or(&mut self.report) => {
                self.report = None;
                Came::Reported(reported)
            }
            back = zori_host::pending_or(&mut self.errand) => {
                self.errand = None;
                Came::Back(back)
            }
            (typed, values) = zori_host::pending_or(&mut self.completing) => {
                self.completing = None;
                Came::Completed(typed, values)
            }
            answered = zori_host::pending_or(&mut self.title_asked) => {
                self.title_asked = None;
                Came::Titled(answered)
            }
            told = told_of_jobs(&mut self.scheduled) => Came::Scheduled(told),
            () = self.files.walked() => Came::Walked,
        }
    }

    /// The terminal is back.
    fn back(&mut self, display: &mut Display, back: Back) {
        display.take_back();
        let (level, words) = match back {
            Back::Edited(Ok(text)) => return display.take(Msg::Edited(Some(text))),
            Back::Edited(Err(why)) => (NoticeLevel::Warning, why),
            Back::LoggedIn(facts, Ok(())) => {
                self.logged_in = Some(facts);
                (NoticeLevel::Info, format!("Logged in: {}, from the end of this turn on", facts.display))
            }
            Back::LoggedIn(_, Err(why)) => (NoticeLevel::Warning, why),
            Back::LoggedInTo(login, Ok(())) => (NoticeLevel::Info, login.done()),
            Back::LoggedInTo(_, Err(why)) => (NoticeLevel::Warning, why),
        };
        display.state.transcript.notice(level, &words);
        display.touch();
    }

    /// Shows what came.
    pub fn came(&mut self, display: &mut Display, came: Came) {
        match came {
            Came::Answered(answered) => self.answered(display, answered),
            Came::Explained(SideAnswer { about, answer, usage, paid_as }) => {
                self.used.push((paid_as, usage));
                let redact = |text: String| self.redactor.redact(&text).into_owned();
                let words = answer.map(redact).map_err(redact);
                display.take(Msg::Explained { call: about, words });
            }
            Came::Titled(answered) => self.titled(display, answered),
            Came::Back(back) => self.back(display, back),
            Came::Walked => display.take(Msg::FindAgain),
            Came::Completed(word, values) => {
                let of = values.len();
                let item = |value: CompletedArgument| Item {
                    label: Some(value.value),
                    ..super::item(value.line, "")
                };
                let items = values.into_iter().map(item).collect();
                display.take(Msg::Found { word, items, of, all: of, pending: false });
            }
            Came::Scheduled(text) => {
                display.state.transcript.notice(NoticeLevel::Info, &text);
                display.touch();
            }
            Came::Reported(Reported { diff, text }) => {
                let transcript = &mut display.state.transcript;
                match text {
                    Ok(text) if diff => transcript.rows(look::diff(&self.redactor.redact(&text))),
                    Ok(text) => transcript.notice(NoticeLevel::Info, &self.redactor.redact(&text)),
                    Err(why) => transcript.error(&self.redactor.redact(&why), &[]),
                }
                display.state.hint = None;
                display.touch();
            }
        }
    }

    /// Keeps the branch with the session, where it is another than before.
    pub fn keep_branch(&mut self, display: &Display) {
        let branch = &display.state.facts.branch;
        if self.drafts.is_some()
            && *branch != self.kept_branch
            && self.sessions.set_branch(&self.session, branch.as_deref().unwrap_or_default())
        {
            self.kept_branch.clone_from(branch);
        }
    }

    /// Shows what came of `/btw`.
    fn answered(&mut self, display: &mut Display, answered: SideAnswer<String>) {
        self.used.push((answered.paid_as, answered.usage));
        let transcript = &mut display.state.transcript;
        match answered.answer {
            Ok(text) if answered.about == RECAP => transcript.answer(text.trim()),
            Ok(text) => transcript.beside(&answered.about, text.trim()),
            Err(why) if answered.about == RECAP => transcript.error(&format!("Recap failed: {why}"), &[]),
            Err(why) => transcript.error(&format!("/btw {}: {why}", answered.about), &[]),
        }
        display.touch();
    }

    /// Changes the colours; the choice of a list is kept in the config file.
    fn theme(&mut self, display: &mut Display, name: &str, keep: bool) {
        if let Err(why) = self.look.choose(self.config.as_deref().and_then(Path::parent), name) {
            display.state.transcript.notice(NoticeLevel::Warning, &why);
            return display.touch();
        }
        display.paint = self.look.paint(&display.terminal);
        if keep {
            let words = keep_theme(self.config.as_deref(), name);
            display.state.transcript.notice(NoticeLevel::Info, &words);
        }
        display.touch();
    }

    /// Returns the names of all themes.
    pub fn theme_names(&self) -> Vec<String> {
        let all = offers::themes(self.config.as_deref().and_then(Path::parent));
        all.into_iter().map(|item| item.text).collect()
    }

    /// Keeps what a key does from now on.
    fn save_keys(&mut self, display: &mut Display, action: &str, keys: &[String]) {
        let list = keys.iter().map(|key| toml_text(key)).collect::<Vec<_>>().join(", ");
        let words = match self
            .config
            .as_ref()
            .map(|file| (file, set_key::set(file, "ui.keymap", action, &format!("[{list}]"))))
        {
            Some((file, Ok(()))) => format!("{action} = {}, kept in {}", keys.join(", "), file.display()),
            Some((file, Err(why))) => format!(
                "{action} = {} for this chat; {} was not changed: {why}",
                keys.join(", "),
                file.display()
            ),
            None => format!("{action} = {} for this chat", keys.join(", ")),
        };
        display.state.transcript.notice(NoticeLevel::Info, &words);
        display.touch();
    }

    fn remember(&self, display: &mut Display, rules: &[String]) {
        let Some(file) = &self.rules else { return };
        for rule in rules {
            let (level, text) = match added_rule::add(file, rule) {
                Ok(()) => (NoticeLevel::Info, format!("Added to {}: {rule}", file.display())),
                Err(why) => (
                    NoticeLevel::Warning,
                    format!("{} was not changed: {why}; the rule holds in this session", file.display()),
                ),
            };
            display.state.transcript.notice(level, &text);
        }
        display.touch();
    }
}

fn toml_text(text: &str) -> String {
    // What JSON writes of such a text TOML reads as the same.
    serde_json::Value::from(text).to_string()
}

/// Has later chats begin with a theme; returns what is said of it.
pub fn keep_theme(config: Option<&Path>, name: &str) -> String {
    match config.map(|file| (file, set_key::set(file, "ui", "theme", &toml_text(name)))) {
        Some((file, Ok(()))) => format!("Theme {name}, kept in {}", file.display()),
        Some((file, Err(why))) => {
            format!("Theme {name} for this chat; {} was not changed: {why}", file.display())
        }
        None => format!("Theme {name}"),
    }
}

/// Returns the bytes that put a text on the clipboard (OSC 52).
pub fn clipboard(text: &str) -> String {
    format!("\x1b]52;c;{}\x07", STANDARD.encode(text))
}

/// Waits for what is told of scheduled jobs; for ever where nothing is.
async fn told_of_jobs(told: &mut Option<UnboundedReceiver<String>>) -> String {
    match told {
        Some(channel) => match channel.recv().await {
            Some(text) => text,
            None => {
                *told = None;
                std::future::pending().await
            }
        },
        None => std::future::pending().await,
    }
}
