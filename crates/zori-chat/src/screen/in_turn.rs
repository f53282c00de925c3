//! Slash commands while a turn runs (CMD-1): those that need not wait for its end. What shows the session shows it as it was when the turn began.

use std::sync::Arc;

use zori_contract::failure::Failure;
use zori_core::event::NoticeLevel;
use zori_core::input::Input;
use zori_core::outcome::CancelCause;
use zori_core::provider::Effort;
use zori_host::ModelGate;
use zori_policy::mode::Protocol;
use zori_policy::{Mode, ModeChoice};
use zori_providers::catalog::ProviderFacts;
use zori_tools::process::jobs::Job;
use zori_tui::update::{Effect, Msg};

use super::Screen;
use super::completions;
use super::display::Display;
use super::errand;
use super::outside::Outside;
use crate::chat::feedback;
use crate::chat::slash::report::{self, Subject};
use crate::chat::slash::{self, Found, debug_dump, jobs, mcp, named_settings, observer, upload};
use zori_setup::agent_zero::preface::ContextPreface;
use zori_setup::debug_dump::DebugDump;
use zori_setup::ui::Ui;

/// The commands that do not wait, beside those that the screen does itself.
pub const COMMANDS: &[&str] = &[
    "/exit",
    "/rename",
    "/fork",
    "/recap",
    "/jobs",
    "/image",
    "/upload",
    "/provider",
    "/export",
    "/diff",
    "/model",
    "/effort",
    "/mode",
    "/permissions",
    "/security",
    "/config",
    "/status",
    "/cost",
    "/context",
    "/doctor",
    "/log",
    "/memory",
    "/mcp",
    "/agents",
    "/skills",
    "/hooks",
    "/feedback",
    "/login",
    "/graph",
    "/schedule",
    "/index",
    "/project",
    "/agent",
    "/observer",
    "/debug-dump",
];

/// Those that show something of the session that a turn changes, and something that it does not.
const SHOWN: [&str; 4] = ["/cost", "/context", "/permissions", "/security"];
const FIXED: [&str; 3] = ["/agents", "/skills", "/hooks"];

/// What is known of the session while a turn has it.
pub struct Snapshot {
    shown: Vec<(&'static str, String)>,
    subject: Subject,
    models: ModelGate,
    model: String,
    provider: &'static ProviderFacts,
    effort: Option<Effort>,
    servers: mcp::Known,
    named: named_settings::Known,
    dump: DebugDump,
    feedback: feedback::Subject,
    /// What goes before the prompts of an Agent Zero server.
    preface: Option<Arc<ContextPreface>>,
    /// The background jobs as they are now.
    jobs: Box<dyn Fn() -> Vec<Arc<Job>>>,
}

/// What a command of a turn leads to.
pub enum Led {
    Done,
    /// The turn has to be told.
    Input(Input),
    /// It waits for the end of the turn.
    Waits,
}

impl Screen<'_, '_> {
    /// Looks at the session before a turn takes it.
    pub(super) fn snapshot(&mut self) -> Snapshot {
        let (mut ui, said) = Ui::collecting(&self.chat.cx.app.env);
        std::mem::swap(self.chat.cx.ui, &mut ui);
        // A server that is busy with the turn is not asked how it is.
        slash::usage::show_status(&mut self.chat, None);
        let mut shown = vec![("/status", said.take().trim_end().to_owned())];
        for name in SHOWN.into_iter().chain(FIXED) {
            if let Found::Command(command, _) = slash::find(name)
                && command.run(&mut self.chat, "").is_ok()
            {
                shown.push((name, said.take().trim_end().to_owned()));
            }
        }
        std::mem::swap(self.chat.cx.ui, &mut ui);
        Snapshot {
            shown,
            subject: Subject::of(&self.chat),
            models: ModelGate::new(&self.chat.plain.host.settings),
            model: self.chat.plain.session().model().to_owned(),
            provider: self.chat.plain.host.settings.model.facts,
            effort: self.chat.plain.host.settings.request.effort,
            servers: mcp::Known::of(&self.chat),
            named: named_settings::Known::of(&self.chat),
            dump: self.chat.plain.run.dump.clone(),
            feedback: feedback::Subject::of(&self.chat),
            preface: self.chat.plain.run.agent_zero.as_ref().map(|setup| setup.preface.clone()),
            jobs: Box::new(self.chat.plain.session().job_list()),
        }
    }
}

impl Outside {
    /// Runs a command while a turn runs.
    pub fn in_turn(&mut self, display: &mut Display, line: &str) -> Led {
        let (command, rest) = match slash::find(line) {
            Found::Command(command, rest) => (command, rest),
            Found::Nothing => return Led::Waits,
            Found::Unknown(_) => {
                let why = slash::unknown_on_screen(line, completions::names(&display.state.options.commands));
                display.state.transcript.notice(NoticeLevel::Warning, &why);
                display.touch();
                return Led::Done;
            }
        };
        let name = command.names[0];
        let Some(snapshot) = self.snapshot.as_mut().filter(|_| COMMANDS.contains(&name)) else {
            return Led::Waits;
        };
        let in_panel = display.face.is_some();
        let mut say = |level, text: &str| {
            display.state.transcript.notice(level, text);
            display.touch();
        };
        // A change waits for the end of the turn, and so does what takes its time.
        let looks = !matches!(name, "/security" | "/context") || rest.is_empty();
        if let Some((_, text)) = snapshot.shown.iter().find(|(shown, _)| looks && *shown == name) {
            match FIXED.contains(&name) {
                true => say(NoticeLevel::Info, text),
                false => say(NoticeLevel::Info, &format!("{text}\n(as it was when the turn began)")),
            }
            return Led::Done;
        }
        match (name, rest) {
            ("/exit", _) => {
                display.effects.push_back(Effect::Leave);
                return Led::Input(Input::Cancel(CancelCause::User));
            }
            ("/mode" | "/model" | "/effort", "") => {
                let facts = &display.state.facts;
                let words = match name {
                    "/mode" => format!("Mode: {}", facts.mode),
                    "/model" => format!("Model: {}", facts.model),
                    _ => {
                        let effort = self.effort.unwrap_or(snapshot.effort);
                        format!("Effort: {}", effort.map_or("as the provider has it", Effort::as_str))
                    }
                };
                say_to(display, &words);
            }
            ("/jobs", rest) => {
                let lines = jobs::report(&(snapshot.jobs)(), rest);
                say(NoticeLevel::Info, &self.redactor.redact(&lines.join("\n")));
            }
            ("/mcp", rest) => match snapshot.servers.run(rest) {
                mcp::McpOutcome::Lines(lines) => {
                    say(NoticeLevel::Info, &self.redactor.redact(&lines.join("\n")));
                }
                mcp::McpOutcome::LogIn(login) => {
                    let login = errand::log_in_to(&self.env, &self.root, login);
                    self.send(display, login);
                }
            },
            ("/feedback", _) => {
                let subject = snapshot.feedback.clone();
                self.feedback(display, subject);
            }
            // A tab of the panel has its own way.
            ("/login", _) if in_panel => return Led::Waits,
            ("/login", provider) => {
                let facts = match provider {
                    "" => Some(snapshot.provider),
                    name => zori_providers::catalog::provider(name),
                };
                match facts {
                    Some(facts) => {
                        let login = errand::log_in(&self.env, facts);
                        self.send(display, login);
                    }
                    None => {
                        let failure = zori_setup::model_choice::unknown_provider(provider);
                        say(NoticeLevel::Warning, &in_words(&failure));
                    }
                }
            }
            ("/provider", "") => {
                let ProviderFacts { name, display, .. } = snapshot.provider;
                say(NoticeLevel::Info, &format!("Provider: {name} ({display})"));
            }
            ("/recap", _) => self.ask_aside(display, None),
            // With words behind the path it is a prompt, which waits.
            ("/image", path) if !path.is_empty() && self.root.join(path).is_file() => {
                display.effects.push_back(Effect::Dropped(path.to_owned()));
            }
            ("/upload", rest) => {
                let home = self.env.home();
                match upload::upload(&self.root, home.as_deref(), rest, snapshot.preface.as_deref()) {
                    Ok(words) => say(NoticeLevel::Info, &words),
                    Err(failure) => say(NoticeLevel::Warning, &in_words(&failure)),
                }
            }
            ("/project" | "/agent", rest) if !rest.is_empty() => return Led::Waits,
            ("/project" | "/agent" | "/observer" | "/debug-dump", rest) => {
                let told = match name {
                    "/project" => snapshot.named.projects(),
                    "/agent" => snapshot.named.profiles(),
                    "/observer" => {
                        observer::report(snapshot.preface.as_deref(), snapshot.provider.name, rest)
                    }
                    _ => debug_dump::switch(&snapshot.dump, rest).map(|words| vec![words]),
                };
                match told {
                    Ok(lines) => say(NoticeLevel::Info, &lines.join("\n")),
                    Err(failure) => say(NoticeLevel::Warning, &in_words(&failure)),
                }
            }
            ("/fork", _) => match &snapshot.subject.session {
                Some(id) => match self.sessions.copy(id) {
                    Ok(copy) => say(
                        NoticeLevel::Info,
                        &format!("Copied what was said so far: `/resume {copy}` goes on there"),
                    ),
                    Err(why) => say(NoticeLevel::Warning, &why),
                },
                None => return Led::Waits,
            },
            ("/mode", rest) if rest.contains(' ') => return Led::Waits,
            ("/mode", name) => match display.state.options.modes.iter().any(|known| known == name) {
                true => return Led::Input(set_mode(display, name)),
                false => return Led::Waits,
            },
            ("/model", name) => match snapshot.models.check(&snapshot.model, name) {
                Ok((model, max_tokens)) => {
                    say(NoticeLevel::Info, &format!("Model: {model}, from the next request on"));
                    snapshot.model.clone_from(&model);
                    self.chosen_model = Some(format!("{}:{model}", snapshot.provider.name));
                    return Led::Input(Input::SetModel { model, max_tokens });
                }
                // One of another provider opens the chat anew, which a turn cannot.
                Err(error) if error.is_of_this_session() => return Led::Waits,
                Err(error) => say(NoticeLevel::Warning, &error.to_string()),
            },
            ("/effort", level) => {
                let effort = match level {
                    "default" => None,
                    level => match Effort::by_name(level) {
                        Some(effort) => Some(effort),
                        None => return Led::Waits,
                    },
                };
                self.effort = Some(effort);
                say(NoticeLevel::Info, &format!("Effort: {level}, from the next request on"));
                return Led::Input(Input::SetEffort(effort));
            }
            ("/rename", title) => match &snapshot.subject.session {
                Some(id) if !title.is_empty() => match self.sessions.rename(id, title) {
                    Ok(()) => {
                        display.state.facts.title = Some(title.to_owned());
                        say_to(display, &format!("Title: {title}"));
                    }
                    Err(why) => say_to(display, &why),
                },
                _ => return Led::Waits,
            },
            _ => match report::find(name, rest, &snapshot.subject) {
                Some(Ok(report)) => self.ask_report(display, report),
                Some(Err(failure)) => say(NoticeLevel::Warning, &in_words(&failure)),
                None => return Led::Waits,
            },
        }
        Led::Done
    }
}

/// Changes the mode for calls that are not decided yet. It is shown at once, and one that asks less is told in a row of its own (SAF-8).
pub fn set_mode(display: &mut Display, name: &str) -> Input {
    let before = std::mem::replace(&mut display.state.facts.mode, name.to_owned());
    let mode = ModeChoice::named(name, Protocol::Own).map(|choice| choice.mode);
    match mode.filter(|mode| asks_less(&before, *mode)) {
        Some(mode) => say_to(display, &format!("Mode {name}: {}", mode.about())),
        None => display.touch(),
    }
    Input::SetMode(name.to_owned())
}

/// Returns whether more runs in a mode than in the one before it, or is asked about instead of denied. One that nobody knows is taken for the
/// narrowest.
pub fn asks_less(before: &str, mode: Mode) -> bool {
    let before = ModeChoice::named(before, Protocol::Own).map_or(Mode::Deny, |choice| choice.mode);
    let width = |mode| match mode {
        Mode::Deny => 0,
        Mode::Plan => 1,
        Mode::DontAsk | Mode::Paranoid => 2,
        Mode::Default => 3,
        Mode::AcceptEdits => 4,
        Mode::Yolo => 5,
    };
    width(mode) > width(before)
}

/// Returns what went wrong and what helps, as one sentence.
fn in_words(failure: &Failure) -> String {
    [vec![failure.message.clone()], failure.facts.hints.clone()].concat().join("; ")
}

fn say_to(display: &mut Display, text: &str) {
    display.state.transcript.notice(NoticeLevel::Info, text);
    display.take(Msg::Tick);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// SAF-8: every step that widens is told, and no other.
    #[test]
    fn what_widens() {
        let from_narrow = ["deny", "plan", "dontAsk", "default", "acceptEdits", "yolo"];
        for (at, before) in from_narrow.iter().enumerate() {
            for (other, name) in from_narrow.iter().enumerate() {
                let mode = ModeChoice::named(name, Protocol::Own).unwrap().mode;
                assert_eq!(asks_less(before, mode), other > at, "{before} to {name}");
            }
        }
    }
}
