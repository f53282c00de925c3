//! The line chat: read a line, run a turn or a slash command, again (`docs/contracts/output.md`).
//!
//! Everything but the assistant's text goes to standard error. Lines come from the editor in `chat/editor.rs` at a
//! terminal, or from a pipe in the profile `zdx`.

mod cell_commands;
mod cells;
mod choices;
pub mod complete;
mod editor;
pub mod feedback;
mod jobs;
mod kernel;
mod lines;
pub mod permissions;
pub mod plan;
mod prompts;
mod serve;
pub mod server_chat;
pub mod slash;
pub mod supervised;
mod turn_end;
pub mod undo;

pub use serve::serve;

use zori_contract::error::REPL_MODE_PROHIBITED;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::ids::SessionId;
use zori_core::image::Image;
use zori_core::input::Prompt;
use zori_core::text::one_line;
use zori_host::{Answers, SessionSettings, Which};

use crate::attachment::{self, Viewer};
use crate::chat::cells::Cells;
use crate::chat::jobs::{scheduler, scheduler_elsewhere};
use crate::chat::lines::{Line, Lines, More};
use crate::chat::slash::Next;
use crate::demo;
use crate::frontend;
use crate::plain::{Advice, Parts, PlainSession};
use crate::scheduler::Scheduler;
use crate::screen::{self, Left, Opening};
use zori_setup::agent_cx::AgentCx;
use zori_setup::args::LowArgs;
use zori_setup::asking;
use zori_setup::data_dir::DataDir;
use zori_setup::error::SESSION_NOT_FOUND;
use zori_setup::model_choice;
use zori_setup::outcome;
use zori_setup::preferences::{self, Channel};
use zori_setup::settings::{RunSettings, Settings, missing_key};
use zori_setup::signals::Signals;
use zori_setup::terminal;
use zori_setup::trust::TrustDialog;
use zori_setup::which_session;
use zori_setup::wire_up::{self, Prepared};
use zori_tui::commands;

/// What `/keys` says where lines come from the editor, and where the terminal itself edits them.
const EDITOR_KEYS: &str = "Alt-Enter, Ctrl-J or a backslash at the end of a line: another line. Tab: complete a command or a file. Up, Ctrl-R: \
     what was sent before. Ctrl-C: stop a turn, or put the line away; twice: leave. Ctrl-D: leave.";
const KERNEL_KEYS: &str = "A backslash at the end of a line: another line. Ctrl-C: stop a turn, or put the line away; twice: leave. Ctrl-D: \
     leave.";

/// A chat under way.
pub struct Chat<'a, 'c> {
    pub cx: &'a mut AgentCx<'c>,
    pub signals: Signals,
    pub plain: PlainSession,
    /// What was typed, where the chat can be opened anew with something else.
    pub args: Option<LowArgs>,
    /// What was typed, for the line chat, which goes on in its place.
    pub typed: Option<LowArgs>,
    /// What goes with the next prompt.
    pub attached: Vec<Image>,
    /// The title of a new session, which its file gets as soon as there is one (`/new NAME`).
    pub title: Option<String>,
    /// Whether each turn is followed by the question for another (`/loop`).
    pub supervised: bool,
    /// Where it is with a plan (`/plan`).
    pub plan: plan::PlanState,
    /// What runs the jobs of the project meanwhile.
    pub scheduler: Option<Scheduler>,
    /// Where it is, for what is chosen in it.
    pub channel: Channel,
    /// What is shown of it line by line; `None` on a screen, and where others fixed the words (`zdx`).
    pub cells: Option<Cells>,
}

impl<'a, 'c> Chat<'a, 'c> {
    /// Returns a chat that has only begun.
    pub fn new(cx: &'a mut AgentCx<'c>, signals: Signals, plain: PlainSession) -> Self {
        Self {
            cx,
            signals,
            plain,
            args: None,
            typed: None,
            attached: Vec::new(),
            title: None,
            supervised: false,
            plan: plan::PlanState::Idle,
            scheduler: None,
            channel: Channel::Chat,
            cells: None,
        }
    }
}

/// Opens the chat with a new session, or with the one `--session` names.
pub fn run(cx: &mut AgentCx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    start(cx, args, Which::BySettings)
}

/// Opens the chat with a session that exists.
pub fn resume(cx: &mut AgentCx<'_>, args: &LowArgs, id: SessionId) -> Result<Exit, Failure> {
    start(cx, args, Which::Existing(id))
}

fn start(cx: &mut AgentCx<'_>, args: &LowArgs, which: Which) -> Result<Exit, Failure> {
    let interactive = cx.terminal.interactive();
    if !interactive && !cx.profile.chats_on_a_pipe {
        return Err(Failure::new(&REPL_MODE_PROHIBITED, "a chat needs a terminal")
            .hint("give one prompt with `-p TEXT`"));
    }
    let signals = Signals::install(&cx.cancel, &cx.app.record)?;
    let preferred = preferences::applied(cx, args, Channel::Chat);
    let args = preferred.as_ref().unwrap_or(args);
    // A question has to be seen and answered: standard error is where it is drawn.
    let attended = interactive && cx.terminal.stderr;
    let asks = if attended { TrustDialog::Person(&signals) } else { TrustDialog::Nobody };
    let Settings { mut session, run } = Settings::resolve(cx, args, &asks)?;
    if attended && session.permission.answers == Answers::Nobody {
        session.permission.answers = Answers::Person;
    }
    let viewer = Viewer { facts: session.model.facts, model: &session.model.name };
    let attached = attachment::load_all(&args.prompt.images, viewer)?;
    let screen = screen::fits(cx, args.plain || run.plain);
    let choosing = screen && chooses(args);
    let which = if choosing { which } else { going_on(cx, args, &session, which)? };
    let prepared = wire_up::prepare(cx, session, &run, which)
        .map_err(|failure| which_session::with_fork_hint(failure, &args.session))?;
    let mut scheduler = scheduler(cx, &signals, &prepared, &run);
    if screen {
        return on_screen(cx, args, signals, (prepared, run, attached), opening(args), &mut scheduler);
    }
    greet(cx, &prepared, &run);
    for image in &attached {
        cx.ui.say(&format!("Attached to the first prompt: {image}"));
    }
    // What a dumb terminal cannot do is not asked of it.
    let kernel = terminal::is_dumb(&cx.app.env) && cx.profile.has_screen();
    let runtime = std::sync::Arc::new(wire_up::runtime()?);
    let mut lines = match interactive {
        true if kernel => Lines::kernel(runtime.clone()),
        true => {
            let history =
                run.base.as_ref().filter(|_| prepared.host.settings.storage.save).map(DataDir::chat_history);
            let settings = &prepared.host.settings;
            let brought = settings.extensions.slash_commands();
            let brought = brought.iter().map(|entry| format!("/{}", entry.name));
            let own = if cx.profile.has_screen() {
                screen::own_command_names().map(str::to_owned).collect()
            } else {
                Vec::new()
            };
            let brought = own.into_iter().chain(brought).collect();
            Lines::editor(history, &settings.workspace.root, brought, cx.terminal.colour)
        }
        false => Lines::pipe(),
    };
    let cells = match cx.profile.has_screen() && cx.front.events().is_none() {
        true => Some(Cells::new(cx, if kernel { KERNEL_KEYS } else { EDITOR_KEYS })?),
        false => None,
    };
    let parts = cells.as_ref().map_or_else(|| Box::new(frontend::plain) as Parts, Cells::parts);
    let plain = PlainSession::start_on(cx, runtime, prepared, run, None, parts)?;
    let typed = Some(args.clone());
    let mut chat = Chat { typed, attached, scheduler, cells, ..Chat::new(cx, signals, plain) };
    chat.cells_for_session();
    let exit = match &args.prompt.text {
        Some(text) => chat.begin(text, &mut lines),
        None => chat.converse(&mut lines),
    };
    let Chat { cx, signals, plain, .. } = chat;
    signals.leave();
    if let Some(words) = server_chat::terminate(&plain) {
        cx.ui.warn(&words);
    }
    plain.close(cx.ui, Advice::default());
    signals.die_of_hangup();
    exit
}

/// Returns whether the session is chosen from a list on the screen.
fn chooses(args: &LowArgs) -> bool {
    args.session.resume.as_deref() == Some("")
}

/// Returns what a screen begins with.
fn opening(args: &LowArgs) -> Opening {
    match &args.prompt.text {
        Some(text) => Opening::Prompt(text.clone()),
        None if chooses(args) => Opening::Choose("/resume"),
        None => Opening::Empty,
    }
}

/// Opens the panel.
pub fn panel(cx: &mut AgentCx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    if !screen::fits(cx, args.plain) {
        let why = match (cx.profile.has_screen(), cx.terminal.interactive()) {
            (false, _) => format!("`{}` has no panel", cx.profile.name),
            (true, false) => "the panel needs a terminal".to_owned(),
            (true, true) => "the panel needs a terminal that can show a screen: TERM is `dumb` or not set, or `--plain` or \
                             ACCESSIBLE=1 is asked for"
                .to_owned(),
        };
        return Err(Failure::new(&REPL_MODE_PROHIBITED, why)
            .hint(format!("`{} chat --plain` writes line by line", cx.profile.name))
            .hint(format!("give one prompt with `{} exec -p TEXT`", cx.profile.name)));
    }
    let signals = Signals::install(&cx.cancel, &cx.app.record)?;
    let preferred = preferences::applied(cx, args, Channel::Panel);
    let args = preferred.as_ref().unwrap_or(args);
    let asks = if cx.terminal.stderr { TrustDialog::Person(&signals) } else { TrustDialog::Nobody };
    let Settings { mut session, run } = Settings::resolve(cx, args, &asks)?;
    if session.permission.answers == Answers::Nobody {
        session.permission.answers = Answers::Person;
    }
    let viewer = Viewer { facts: session.model.facts, model: &session.model.name };
    let attached = attachment::load_all(&args.prompt.images, viewer)?;
    let which = match chooses(args) {
        true => Which::BySettings,
        false => going_on(cx, args, &session, Which::BySettings)?,
    };
    let prepared = wire_up::prepare(cx, session, &run, which)
        .map_err(|failure| which_session::with_fork_hint(failure, &args.session))?;
    let scheduler = scheduler(cx, &signals, &prepared, &run);
    let parts = (prepared, run, Some(args.clone()), attached);
    let exit = screen::run_panel(cx, signals.clone(), parts, opening(args), scheduler)?;
    signals.die_of_hangup();
    Ok(exit)
}

/// Opens the chat on the screen, and again wherever it goes on.
fn on_screen(
    cx: &mut AgentCx<'_>,
    args: &LowArgs,
    signals: Signals,
    (mut prepared, mut run, mut attached): (Prepared, RunSettings, Vec<Image>),
    mut opening: Opening,
    scheduler: &mut Option<Scheduler>,
) -> Result<Exit, Failure> {
    let mut args = args.clone();
    let project = |prepared: &Prepared, run: &RunSettings| {
        run.base.as_ref().map(|base| base.project_root(&prepared.host.settings.workspace.root))
    };
    loop {
        let here = project(&prepared, &run);
        let begun = Some(args.clone());
        let parts = (prepared, run, begun, attached);
        let again = match screen::run(cx, signals.clone(), parts, opening, scheduler)? {
            Left::Over(exit) => {
                signals.die_of_hangup();
                return Ok(exit);
            }
            Left::Again(again) => again,
        };
        if again.demo {
            demo::play(cx, &LowArgs::default(), signals.within())?;
        }
        args = again.args.clone();
        let Settings { mut session, run: next } =
            Settings::resolve(cx, &args, &TrustDialog::Person(&signals))?;
        if session.permission.answers == Answers::Nobody {
            session.permission.answers = Answers::Person;
        }
        prepared = wire_up::prepare(cx, session, &next, again.which.clone())?;
        (run, attached) = (next, Vec::new());
        if project(&prepared, &run) != here {
            *scheduler = scheduler_elsewhere(cx, &signals, scheduler.take(), &prepared, &run);
        }
        opening = Opening::Again(again);
    }
}

/// Returns the session that the flags ask for. A chat that has nothing to go on with says so and begins.
fn going_on(
    cx: &mut AgentCx<'_>,
    args: &LowArgs,
    session: &SessionSettings,
    which: Which,
) -> Result<Which, Failure> {
    match which_session::choose_over(which.clone(), &args.session, session, cx.profile) {
        Ok(found) => Ok(found),
        Err(failure) if failure.kind == &SESSION_NOT_FOUND && args.session.continues => {
            cx.ui.say(&format!("{}: this is a new one.", failure.message));
            Ok(which)
        }
        Err(failure) => Err(failure),
    }
}

fn greet(cx: &mut AgentCx<'_>, prepared: &Prepared, run: &RunSettings) {
    let Prepared { host, opened, .. } = prepared;
    let (settings, confinement) = (&host.settings, host.confinement());
    let name = cx.profile.name;
    if cx.front.events().is_none() {
        cx.ui.say(&format!("{name} chat (type :q to quit)"));
    }
    cx.ui.say(&format!("Model: {}", settings.model.name));
    if opened.is_saved() {
        cx.ui.say(&format!("Session: {}", opened.id));
    }
    if let Some((confinement, holding)) = host.confinement_of(settings.permission.policy.mode.mode) {
        cx.ui.say(&format!("Sandbox: {}", confinement.status(holding)));
    }
    if !run.guidelines.is_empty() {
        cx.ui.say("Loaded AGENTS.md from:");
        for path in &run.guidelines {
            cx.ui.say(&format!("  - {}", path.display()));
        }
    }
    if !opened.history.is_empty() {
        cx.ui.say(&format!("Loaded {} previous messages", opened.history.len()));
    }
    // Said to people, and nowhere else (MODE-3).
    let people = cx.terminal.interactive() && cx.front.events().is_none();
    if people && confinement.is_none() && permissions::as_root_without_questions(&settings.permission.policy)
    {
        cx.ui.warn(permissions::AS_ROOT);
    }
    if let Some(error) = missing_key(&settings.model, &run.key, name) {
        cx.ui.report(&error);
    }
}

/// Returns the command of the user's own that a line is (`!command`, `!!command`), and whether the model reads of it.
fn own_command(line: &str) -> Option<(&str, bool)> {
    let command = line.strip_prefix('!').filter(|_| !line.starts_with("!!!"))?;
    let (command, share) = command.strip_prefix('!').map_or((command, true), |private| (private, false));
    Some((command.trim(), share)).filter(|(command, _)| !command.is_empty())
}

impl Chat<'_, '_> {
    /// Runs the prompt that the chat was opened with, and goes on.
    fn begin(&mut self, text: &str, lines: &mut Lines) -> Result<Exit, Failure> {
        self.cx.ui.say(&format!("> {}", one_line(text)));
        self.turn(text.to_owned());
        match self.signals.ending() {
            Some(exit) => Ok(exit),
            None => self.converse(lines),
        }
    }

    fn converse(&mut self, lines: &mut Lines) -> Result<Exit, Failure> {
        loop {
            self.tell_scheduled();
            let text = match lines.next(&self.signals)? {
                Line::Text(text) => text,
                Line::End => return Ok(self.signals.ending().unwrap_or(Exit::Success)),
            };
            // Others fixed what a line means to `zdx`.
            let quits = match (text.trim(), self.cx.profile.has_screen()) {
                ("", _) => false,
                (":q", _) => true,
                (line, true) => self.line_of_signs(line, lines)?,
                (line, false) => self.line(line, lines)?,
            };
            if quits {
                self.cx.ui.say("Goodbye!");
                return Ok(Exit::Success);
            }
            if let Some(exit) = self.signals.ending() {
                return Ok(exit);
            }
        }
    }

    /// Takes a line whose first sign may mean something (CMP-5, CMP-6); returns whether it ends the chat.
    fn line_of_signs(&mut self, line: &str, lines: &mut Lines) -> Result<bool, Failure> {
        if commands::is_doubled(line) {
            self.supervised_turn(line[1..].to_owned(), lines)?;
        } else if let Some((command, share)) = own_command(line) {
            self.own_command(command, share);
        } else if let Some(text) = commands::guideline(line) {
            self.add_guideline(text, lines)?;
        } else if let Some(line) = self.chosen(line, lines)? {
            return self.line(&line, lines);
        }
        Ok(false)
    }

    /// Runs a slash command, or a turn with this prompt; returns whether it ends the chat.
    fn line(&mut self, line: &str, lines: &mut Lines) -> Result<bool, Failure> {
        match slash::run(self, line)? {
            Next::Prompt => self.supervised_turn(line.to_owned(), lines)?,
            Next::Ask(text) => self.supervised_turn(text, lines)?,
            Next::Lines(first) => {
                if let Some(text) = self.collect(first, lines)? {
                    self.supervised_turn(text, lines)?;
                }
            }
            // These are done where the command is run.
            Next::Done
            | Next::Compact(_)
            | Next::Reopen(_)
            | Next::LogIn(_)
            | Next::Feedback
            | Next::Report(_)
            | Next::Undo(_)
            | Next::WentBack(_) => {}
            Next::Recap => match self.plain.recap(&self.signals).0 {
                Ok(text) => self.cx.ui.say(&text),
                Err(why) => self.cx.ui.say(&format!("Recap failed: {why}")),
            },
            Next::Quit => return Ok(true),
        }
        Ok(false)
    }

    /// Adds a line to the project's guidelines, if the person says so (CMP-6).
    fn add_guideline(&mut self, text: &str, lines: &mut Lines) -> Result<(), Failure> {
        self.cx.ui.say(&format!("  AGENTS.md  +1\n    + - {text}"));
        let said = match lines.ask("Add this line to AGENTS.md? [y/N]", &self.signals)? {
            Line::Text(said) => said,
            Line::End => String::new(),
        };
        let yes = matches!(said.trim().to_lowercase().as_str(), "y" | "yes");
        let root = &self.plain.host.settings.workspace.root;
        match yes.then(|| screen::guideline(root, text)) {
            Some(Ok(words)) => self.cx.ui.say(words),
            Some(Err(why)) => self.cx.ui.warn(&why),
            None => self.cx.ui.say(screen::NO_GUIDELINE),
        }
        Ok(())
    }

    /// Reads lines up to an empty one or the end of input, as one message (UI-9); `None` where there is nothing to send.
    fn collect(&mut self, first: String, lines: &mut Lines) -> Result<Option<String>, Failure> {
        let mut all: Vec<String> = if first.is_empty() { Vec::new() } else { vec![first] };
        self.cx.ui.say("Several lines: an empty one sends them, Ctrl-C sends nothing.");
        loop {
            match lines.more("...>", &self.signals)? {
                More::Text(line) if line.trim().is_empty() => break,
                More::Text(line) => all.push(line),
                More::End => break,
                More::Cancelled => {
                    self.cx.ui.say("Nothing was sent.");
                    return Ok(None);
                }
            }
            if self.signals.ending().is_some() {
                return Ok(None);
            }
        }
        let text = all.join("\n");
        Ok((!text.trim().is_empty()).then_some(text))
    }

    /// Runs a turn, and asks for another in a loop.
    fn supervised_turn(&mut self, text: String, lines: &mut Lines) -> Result<(), Failure> {
        self.turn(text);
        self.follow_plan(lines)?;
        // A signal that ends the program answers for the person.
        if self.signals.ending().is_none() {
            self.ask_to_continue(lines)?;
        }
        Ok(())
    }

    /// Runs one turn. Errors are shown by the renderer and do not end the chat (EXIT-3). Returns the exit code it would
    /// lead to.
    fn turn(&mut self, text: String) -> Exit {
        let prompt = Prompt { text, images: std::mem::take(&mut self.attached), uuid: None, scheduled: None };
        let prompt = self.cells_before_turn(prompt);
        let end = self.plain.turn(prompt, &self.signals);
        self.keep_title();
        self.plan_turn_over(&end);
        self.cells_after_turn(Some(&end));
        self.cx.ui.notices(&end.notices);
        if end.unasked {
            self.cx.ui.say(asking::WAYS_OUT);
        }
        // One that is missing was told at the start.
        let PlainSession { host, run, .. } = &self.plain;
        if self.cells.is_none() && end.key_refused() && matches!(run.key, Ok(Some(_))) {
            let advice = model_choice::key_hint(host.settings.model.facts, &run.key, self.cx.profile.name);
            self.cx.ui.say(&format!("Hint: {advice}"));
        }
        outcome::exit(&end.summary.outcome, end.summary.effects)
    }

    /// Keeps the model for later chats of this project, or forgets it. One that cannot be kept is said, and is no reason to stop.
    pub fn keep_model(&mut self, model: Option<&str>) {
        let session = self.plain.session();
        let base =
            self.plain.run.base.as_ref().filter(|_| session.is_saved() && self.cx.profile.built_in_prompt);
        // A program that drives a session names its model itself.
        let (Some(base), None) = (base, self.cx.front.events()) else { return };
        let (root, temp) = (&self.plain.host.settings.workspace.root, self.cx.app.env.temp_dir());
        let kept = preferences::keep_model(base, root, temp, self.channel, model);
        if let Err(why) = kept {
            self.cx.ui.warn(&format!("the choice of the model is not kept: {why}"));
        }
    }

    /// Says what became of scheduled jobs meanwhile.
    fn tell_scheduled(&mut self) {
        let told = self.scheduler.as_mut().and_then(|scheduler| scheduler.told.as_mut());
        let words: Vec<String> =
            told.map_or_else(Vec::new, |told| std::iter::from_fn(|| told.try_recv().ok()).collect());
        words.iter().for_each(|text| self.cx.ui.say(text));
    }

    /// Gives a session that was begun with a title that title, once there is something to give it to.
    pub fn keep_title(&mut self) {
        let session = self.plain.session();
        let file = self.plain.run.base.as_ref().filter(|_| session.is_saved());
        if let (Some(title), Some(base)) = (&self.title, file) {
            // A title that cannot be kept is no reason to disturb the conversation.
            let _ = zori_store::SessionDir::new(base.sessions()).rename(session.id(), title);
            self.title = None;
        }
    }

    /// Returns whether it can be opened anew with something else.
    pub fn can_go_on(&self) -> bool {
        self.args.is_some()
    }

    /// Returns whether another session with other settings can take the place of this one.
    fn can_reopen(&self) -> bool {
        self.typed.is_some()
    }

    /// Goes on with a project's settings, in a new session (UI-13).
    fn with_project(&mut self, name: &str) -> Result<(), Failure> {
        let args = self.typed.clone().unwrap_or_default().with_project(name);
        let answers = self.plain.host.settings.permission.answers;
        let asks = match answers {
            Answers::Person => TrustDialog::Person(&self.signals),
            _ => TrustDialog::Nobody,
        };
        let Settings { mut session, run } = Settings::resolve(self.cx, &args, &asks)?;
        session.permission.answers = answers;
        let prepared = wire_up::prepare(self.cx, session, &run, Which::New)?;
        let parts = self.cells.as_ref().map_or_else(|| Box::new(frontend::plain) as Parts, Cells::parts);
        let next = PlainSession::start_on(self.cx, self.plain.runtime(), prepared, run, None, parts)?;
        let before = std::mem::replace(&mut self.plain, next);
        before.close(self.cx.ui, Advice::default());
        self.cells_for_session();
        self.typed = Some(args);
        self.cx.ui.say(&format!("Project: {name}"));
        let session = self.plain.session();
        if session.is_saved() {
            self.cx.ui.say(&format!("Session: {}", session.id()));
        }
        Ok(())
    }

    /// Leaves the running session and goes on with another.
    fn switch(&mut self, which: Which) -> Result<(), Failure> {
        let messages = self.plain.switch(self.cx, which)?;
        let session = self.plain.session();
        if session.is_saved() {
            self.cx.ui.say(&format!("Session: {}", session.id()));
        }
        if messages > 0 {
            self.cx.ui.say(&format!("Loaded {messages} previous messages"));
        }
        self.cells_for_session();
        Ok(())
    }
}
