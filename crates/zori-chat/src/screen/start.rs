//! The beginning of a chat: the settings of the screen, the greeting, and what stands in the composer.

use std::path::Path;
use std::sync::Arc;

use tokio::runtime::Runtime;
use tokio::sync::mpsc::UnboundedReceiver;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_core::event::{Event, NoticeLevel};
use zori_core::image::Image;
use zori_core::time::Clock as _;
use zori_host::{Answers, SystemClock};
use zori_policy::ModeChoice;
use zori_tui::cell::Signs;
use zori_tui::composer::history::History;
use zori_tui::footer::Part;
use zori_tui::keymap::Keymap;
use zori_tui::state::{Facts, Options, Size, State, Thinking};
use zori_tui::update::{Effect, Msg};
use zori_tui::wrap;

use super::display::Display;
use super::feed::Feed;
use super::files::Files;
use super::history::HistoryFile;
use super::look::{self, Look, Notify};
use super::outside::Outside;
use super::sessions::Sessions;
use super::{Again, Left, Screen, completions, first_time, greeting, tty};
use crate::chat::Chat;
use crate::plain::PlainSession;
use crate::scheduler::Scheduler;
use tty::Tty;
use zori_setup::agent_cx::AgentCx;
use zori_setup::agent_zero::project;
use zori_setup::args::{LowArgs, OverlayArgs};
use zori_setup::config::Config;
use zori_setup::drafts::Drafts;
use zori_setup::environment::Environment;
use zori_setup::settings::{RunSettings, missing_key};
use zori_setup::signals::{ScreenGuard, Signals};
use zori_setup::ui::Ui;
use zori_setup::wire_up::Prepared;

/// The modes that the key for it goes through.
const MODES: &[&str] = &["yolo", "default", "acceptEdits", "plan"];

/// What a chat begins with.
pub enum Opening {
    Empty,
    /// A prompt that is sent at once.
    Prompt(String),
    /// The list of what this command can be given.
    Choose(&'static str),
    /// It goes on from another one, whose rows are above.
    Again(Box<Again>),
}

/// Opens the chat. `args`: what was typed, for a chat that can go on elsewhere.
pub fn run(
    cx: &mut AgentCx<'_>,
    signals: Signals,
    (prepared, run, args, attached): (Prepared, RunSettings, Option<LowArgs>, Vec<Image>),
    opening: Opening,
    scheduler: &mut Option<Scheduler>,
) -> Result<Left, Failure> {
    let again = matches!(opening, Opening::Again(_));
    let parts = ChatParts::open(cx, None, prepared, run, args, attached, again)?;
    let resumed = parts.resumed;
    let (mut screen, listening) = on_terminal(cx, signals, parts)?;
    screen.outside.scheduled = scheduler.as_mut().and_then(|scheduler| scheduler.told.take());
    if let Opening::Again(again) = &opening {
        screen.carried = again.spent;
    }
    screen.display.state.facts.spent = Some(screen.spent());
    if resumed {
        screen.recall(again);
    }
    match opening {
        Opening::Again(again) => {
            screen.take_draft(again.draft);
            if let Some(drafts) = &screen.outside.drafts {
                // They were kept for the chat that goes on here.
                drafts.forget_others(&screen.outside.session);
            }
            screen.display.state.abandoned = again.abandoned;
            if !again.words.is_empty() {
                screen.say(NoticeLevel::Info, &again.words);
            }
        }
        opening => {
            screen.restore_draft(resumed);
            match opening {
                Opening::Prompt(text) => screen.outside.later.push_back(Effect::Prompt(text.into())),
                Opening::Choose(command) => screen.display.take(Msg::Choose(command)),
                Opening::Empty if !resumed => screen.take_over_draft(),
                Opening::Empty | Opening::Again(_) => {}
            }
        }
    }
    screen.converse();
    drop(listening);
    if let Some(scheduler) = scheduler {
        scheduler.told = screen.outside.scheduled.take();
    }
    screen.end()
}

/// Puts the first conversation on the terminal.
pub(super) fn on_terminal<'a, 'c>(
    cx: &'a mut AgentCx<'c>,
    signals: Signals,
    parts: ChatParts,
) -> Result<(Screen<'a, 'c>, ScreenGuard), Failure> {
    let (heard, ending) = tokio::sync::mpsc::unbounded_channel();
    let tty = parts.plain.within(Tty::open)?;
    let listening = signals.to_screen(heard, tty::restore);
    let (mut collecting, said) = Ui::collecting(&cx.app.env);
    std::mem::swap(cx.ui, &mut collecting);
    let env = cx.app.env.clone();
    let terminal = look::terminal(&env);
    let ChatParts { plain, args, attached, mut state, events, outside, history, answers, config, .. } = parts;
    state.size = tty.size();
    let paint = outside.look.paint(&terminal);
    let mut display = Display::new(state, tty, terminal, paint, events, ending);
    display.titled = config.flag("ui.title").unwrap_or(true);
    display.deaf = cfg!(debug_assertions) && env.text("ZORI_TEST_DEAF") == Some("turn");
    display.panics = cfg!(debug_assertions) && env.text("ZORI_TEST_PANIC") == Some("view");
    let chat = Chat { args, attached, ..Chat::new(cx, signals, plain) };
    let screen = Screen {
        chat,
        display,
        outside,
        history,
        said,
        outer: collecting,
        answers,
        exit: Exit::Success,
        again: None,
        carried: Spent::NOTHING,
        undo: None,
        loop_turns: 0,
        begun: None,
    };
    Ok((screen, listening))
}

/// What belongs to one conversation on a screen. The chat has one; each tab of the panel is one.
pub(super) struct ChatParts {
    pub(super) plain: PlainSession,
    pub(super) args: Option<LowArgs>,
    pub(super) attached: Vec<Image>,
    pub(super) state: State,
    pub(super) events: UnboundedReceiver<Event>,
    pub(super) outside: Outside,
    pub(super) history: Option<HistoryFile>,
    pub(super) answers: Answers,
    /// The conversation goes on.
    pub(super) resumed: bool,
    pub(super) config: Config,
}

impl ChatParts {
    /// Starts the session, on a runtime of its own or on that of another. `again`: its rows are above already.
    pub(super) fn open(
        cx: &mut AgentCx<'_>,
        runtime: Option<Arc<Runtime>>,
        prepared: Prepared,
        run: RunSettings,
        args: Option<LowArgs>,
        attached: Vec<Image>,
        again: bool,
    ) -> Result<Self, Failure> {
        let (sender, events) = Feed::channel();
        let parts = move |cx: &AgentCx<'_>, settings: &zori_host::SessionSettings| {
            let mut parts = crate::frontend::screen(cx, settings);
            let redactor = zori_redact::Redactor::new(settings.model.secrets.clone());
            parts.renderers.push(Box::new(Feed::new(&sender, redactor)));
            parts.live_output = true;
            Ok(parts)
        };
        let greeting = if again { Vec::new() } else { greeting::rows(cx, &prepared, &run) };
        let keyless = missing_key(&prepared.host.settings.model, &run.key, cx.profile.name).is_some();
        let (config, names) = config_of(cx, &run);
        let settings = &prepared.host.settings;
        let answers = settings.permission.answers;
        let base = run.base.as_ref().filter(|_| settings.storage.save).map(|base| base.dir().to_owned());
        let resumed = !prepared.opened.history.is_empty();
        let root = settings.workspace.root.clone();
        let sandboxed = prepared.host.confinement().is_some();
        let (mode, shell) = (settings.permission.policy.mode, settings.permission.policy.shell.allowed);
        let first_time = base
            .as_ref()
            .filter(|_| !again && !keyless)
            .and_then(|base| first_time::note(base, &root, mode, shell, sandboxed));
        let home = first_time.as_ref().and(cx.app.env.home());
        let others = base.as_ref().zip(home);
        let others = others.and_then(|(base, home)| first_time::others(base, &home, cx.profile.name));
        let runtime = match runtime {
            Some(runtime) => runtime,
            None => Arc::new(zori_setup::wire_up::runtime()?),
        };
        let plain = PlainSession::start_on(cx, runtime, prepared, run, None, Box::new(parts))?;
        let env = cx.app.env.clone();
        let terminal = look::terminal(&env);
        let (look, mut wrong) =
            look(&config, &env, plain.run.base.as_ref().map(zori_setup::data_dir::DataDir::dir));
        let (options, wrong_keys) = options(&config, &env, &plain);
        wrong.extend(wrong_keys);
        let options = Options { brackets_pastes: terminal.brackets_pastes, ..options };
        let mut state = State::new(Size { rows: 24, columns: 80 }, options, facts(&plain, &env));
        let redactor = zori_redact::Redactor::new(plain.host.settings.model.secrets.clone());
        let history = base.as_ref().map(|base| HistoryFile::of(base, &root, redactor.clone()));
        state.composer.history = History::new(history.as_ref().map(HistoryFile::read).unwrap_or_default());
        state.transcript.link_files(&root.to_string_lossy());
        state.transcript.rows(greeting);
        for warning in wrong {
            state.transcript.notice(NoticeLevel::Warning, &warning);
        }
        for note in first_time.into_iter().chain(others) {
            state.transcript.notice(NoticeLevel::Info, &note);
        }
        let outside = Outside {
            env: env.clone(),
            files: Files::new(&root),
            root,
            drafts: base.as_deref().map(Drafts::of),
            session: plain.session().id().to_string(),
            redactor,
            rules: plain.run.rules_file.clone(),
            config: plain.run.base.as_ref().map(zori_setup::data_dir::DataDir::config),
            later: std::collections::VecDeque::new(),
            models: completions::models(&plain, &env),
            modes: completions::modes(&plain),
            names: names.map(|names| names.into_iter().map(|name| super::item(name, "")).collect()),
            sessions: Sessions::of(&plain),
            beside: Some(plain.beside("")),
            aside: None,
            explaining: None,
            used: Vec::new(),
            title_model: config.text("session.title_model").map(str::to_owned),
            titling: None,
            title_asked: None,
            can_abandon: false,
            report: None,
            errand: None,
            logged_in: None,
            chosen_model: None,
            servers: plain.session().mcp().cloned(),
            completing: None,
            scheduled: None,
            snapshot: None,
            effort: None,
            kept_branch: None,
            viewer: (plain.host.settings.model.facts, plain.session().model().to_owned()),
            look,
        };
        Ok(Self { plain, args, attached, state, events, outside, history, answers, resumed, config })
    }
}

/// Reads the settings of the user once more, for what only a chat wants to know; returns them with the names of projects and agent profiles.
fn config_of(cx: &AgentCx<'_>, run: &RunSettings) -> (Config, [Vec<String>; 2]) {
    let config = run.base.as_ref().and_then(|base| base.read_config().ok()).unwrap_or_default();
    let chosen = OverlayArgs { project: Some(run.names.project.clone()), agent: None };
    // It was laid over the settings of the run already.
    let config = project::overlaid(config, &cx.app.env, &chosen).unwrap_or_default();
    let names = ["projects", "agent_profiles"].map(|table| project::names(&config, table));
    (config, names)
}

/// Returns the state of a chat without a screen and how it looks, and what is wrong with the settings for either (ACC-1).
pub fn plain_state(cx: &AgentCx<'_>, plain: &PlainSession, size: Size) -> (State, Look, Vec<String>) {
    let (config, _) = config_of(cx, &plain.run);
    let env = &cx.app.env;
    let (look, mut wrong) =
        look(&config, env, plain.run.base.as_ref().map(zori_setup::data_dir::DataDir::dir));
    let (options, wrong_keys) = options(&config, env, plain);
    wrong.extend(wrong_keys);
    (State::new(size, options, facts(plain, env)), look, wrong)
}

/// Returns how the chat looks, and what is wrong with the settings for it.
fn look(config: &Config, env: &Environment, base: Option<&Path>) -> (Look, Vec<String>) {
    let colour = env.text("NO_COLOR").is_none_or(str::is_empty) && config.flag("ui.colour").unwrap_or(true);
    let notify = match config.text("ui.notify") {
        Some("bell") => Notify::Bell,
        Some("off") => Notify::Off,
        _ => Notify::Auto,
    };
    let mut look = Look::new(env, colour, notify);
    let unknown = config.text("ui.theme").and_then(|name| look.choose(base, name).err());
    let unknown = unknown.map(|why| format!("`ui.theme`: {why}"));
    look.command = config.text("ui.notify_command").map(str::to_owned);
    (look, unknown.into_iter().collect())
}

/// Returns how the chat behaves, and what is wrong with the settings for it.
fn options(config: &Config, env: &Environment, plain: &PlainSession) -> (Options, Vec<String>) {
    let utf8 = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| env.text(name).filter(|value| !value.is_empty()));
    let utf8 = utf8.is_some_and(|value| value.to_lowercase().replace('-', "").contains("utf8"));
    let wide = config.count("ui.ambiguous_width") == Some(2);
    wrap::set_ambiguous_wide(wide);
    // The chat's own signs are among those characters.
    let ascii = config.flag("ui.ascii").unwrap_or(!utf8 || wide);
    let text = plain.run.base.as_ref().and_then(|base| std::fs::read_to_string(base.config()).ok());
    let (keymap, mut wrong) = keymap(config, text.as_deref().unwrap_or_default());
    let footer = match config.list("ui.footer") {
        Some(names) => {
            let (parts, unknown) = Part::chosen(names.iter().map(|(name, _)| *name));
            wrong.extend(unknown.into_iter().map(|why| format!("`ui.footer`: {why}")));
            parts
        }
        None => Part::DEFAULT.to_vec(),
    };
    let options = Options {
        signs: if ascii { Signs::Ascii } else { Signs::Unicode },
        motion: config.flag("ui.motion").unwrap_or(env.text("REDUCE_MOTION").is_none_or(str::is_empty)),
        keymap,
        vim: config.text("ui.keys") == Some("vim"),
        thinking: match config.text("ui.thinking") {
            Some("show") => Thinking::Show,
            Some("hide") => Thinking::Hide,
            _ => Thinking::Fold,
        },
        commands: completions::infos(plain),
        shift_enter: false,
        brackets_pastes: false,
        modes: if plain.run.agent_zero.is_some() { ModeChoice::OF_AGENT_ZERO } else { MODES }
            .iter()
            .filter(|mode| plain.host.settings.permission.modes.named("mode", mode).is_ok())
            .map(|mode| (*mode).to_owned())
            .collect(),
        footer,
        status_in_chat: config.flag("ui.status_in_chat").unwrap_or(false),
        timestamps: (config.flag("ui.show_timestamps") == Some(true)).then(|| {
            let zone = zori_setup::schedule::local_zone(env);
            zori_index::offset(SystemClock::new().now().0, &zone)
        }),
    };
    (options, wrong)
}

/// Returns what the footer says.
pub fn facts(plain: &PlainSession, env: &Environment) -> Facts {
    let (session, host) = (plain.session(), &plain.host);
    let root = &host.settings.workspace.root;
    Facts {
        model: session.model().to_owned(),
        mode: session.policy().mode.shown().to_owned(),
        context: session.context_tokens(),
        window: session.context_window(),
        spent: Some(session.totals().spent),
        prices: host.settings.model.prices(session.model()),
        branch: zori_store::branch(root),
        folder: greeting::folder(root, env),
        title: None,
    }
}

/// Returns the keys with the user's changes, and what is wrong with those.
fn keymap(config: &Config, text: &str) -> (Keymap, Vec<String>) {
    let (mut keymap, mut wrong) = (Keymap::default(), Vec::new());
    // KEY-1: a warning names the line.
    let line = |action: &str| {
        let at = |line: &str| {
            line.trim_start().strip_prefix(action).is_some_and(|rest| rest.trim_start().starts_with('='))
        };
        text.lines().position(at).map_or_else(String::new, |at| format!(", line {} of config.toml", at + 1))
    };
    let changes = config.json("ui.keymap").unwrap_or_default();
    for (action, keys) in changes.as_object().into_iter().flatten() {
        let keys: Vec<&str> = match keys {
            serde_json::Value::String(key) => vec![key.as_str()],
            keys => keys.as_array().into_iter().flatten().filter_map(|key| key.as_str()).collect(),
        };
        if let Err(why) = keymap.bind(action, &keys) {
            wrong.push(format!("`ui.keymap`{}: {why}", line(action)));
        }
    }
    for needed in keymap.give_back_needed() {
        let (action, keys) = (needed.name(), needed.keys().join(", "));
        wrong.push(format!("`ui.keymap` leaves `{action}` without a key, so it keeps {keys}"));
    }
    (keymap, wrong)
}
