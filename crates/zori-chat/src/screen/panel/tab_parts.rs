//! What belongs to a tab: put aside as a whole while another one is shown, and brought back as it was.

use std::collections::VecDeque;
use std::mem::swap;

use tokio::sync::mpsc::UnboundedReceiver;
use zori_core::cost::Spent;
use zori_core::event::Event;
use zori_core::image::Image;
use zori_core::input::Input;
use zori_core::provider::Delivery;
use zori_host::Answers;
use zori_providers::agent_zero::{StreamMode, mock};
use zori_tui::commands::CommandInfo;
use zori_tui::panel::arcade::Kind;
use zori_tui::panel::{Panel, Tab, TabFacts};
use zori_tui::state::State;
use zori_tui::update::Effect;

use super::super::history::HistoryFile;
use super::super::outside::Outside;
use super::super::start::ChatParts;
use super::Screen;
use crate::chat::plan::PlanState;
use crate::chat::undo::UndoPlan;
use crate::plain::PlainSession;
use zori_setup::agent_zero::project::{self, ActiveNames};
use zori_setup::args::LowArgs;
use zori_setup::config::Config;

/// What stands for the address of the script inside this program.
const MOCK: &str = "mock server, no network";

/// A tab that is not in the screen.
pub(super) struct Parked {
    pub(super) plain: PlainSession,
    args: Option<LowArgs>,
    attached: Vec<Image>,
    title: Option<String>,
    supervised: bool,
    plan: PlanState,
    pub(super) state: State,
    pub(super) events: UnboundedReceiver<Event>,
    pub(super) inputs: VecDeque<Input>,
    pub(super) effects: VecDeque<Effect>,
    pub(super) outside: Outside,
    history: Option<HistoryFile>,
    answers: Answers,
    carried: Spent,
    undo: Option<UndoPlan>,
    loop_turns: u32,
}

impl From<ChatParts> for Parked {
    fn from(parts: ChatParts) -> Self {
        let ChatParts { plain, args, attached, state, events, outside, history, answers, .. } = parts;
        Self {
            plain,
            args,
            attached,
            title: None,
            supervised: false,
            plan: PlanState::Idle,
            state,
            events,
            inputs: VecDeque::new(),
            effects: VecDeque::new(),
            outside,
            history,
            answers,
            carried: Spent::NOTHING,
            undo: None,
            loop_turns: 0,
        }
    }
}

impl Parked {
    /// Changes places with the tab in the screen.
    pub(super) fn swap(&mut self, screen: &mut Screen<'_, '_>) {
        let Screen { chat, display, outside, history, answers, carried, undo, loop_turns, .. } = screen;
        swap(&mut self.plain, &mut chat.plain);
        swap(&mut self.args, &mut chat.args);
        swap(&mut self.attached, &mut chat.attached);
        swap(&mut self.title, &mut chat.title);
        swap(&mut self.supervised, &mut chat.supervised);
        swap(&mut self.plan, &mut chat.plan);
        swap(&mut self.state, &mut display.state);
        swap(&mut self.events, &mut display.events);
        swap(&mut self.inputs, &mut display.inputs);
        swap(&mut self.effects, &mut display.effects);
        swap(&mut self.outside, outside);
        swap(&mut self.history, history);
        swap(&mut self.answers, answers);
        swap(&mut self.carried, carried);
        swap(&mut self.undo, undo);
        swap(&mut self.loop_turns, loop_turns);
    }
}

/// Makes a conversation a tab of the panel: its name, its facts, its commands.
pub(super) fn furnish(parts: &mut ChatParts, name: String) {
    let mut tab = Tab::new(name);
    tab.facts = facts(&parts.plain);
    parts.state.tab = Some(Box::new(tab));
    let commands = &mut parts.state.options.commands;
    if let Some(new) = commands.iter_mut().find(|command| command.name == "/new") {
        *new = CommandInfo { args: "[NAME]", about: "Open another tab", waits: false, ..*new };
    }
    let own =
        |name, args, about, category| CommandInfo { name, args, about, category, ..CommandInfo::NOTHING };
    // Not the first: who opens the list and presses Enter is shown what there is.
    let behind =
        commands.iter().position(|command| command.name == "/new").map_or(commands.len(), |at| at + 1);
    commands.insert(behind, own("/close", "", "Close this tab", "Session"));
}

/// Returns what the cards say of a session beside what its chat knows.
fn facts(plain: &PlainSession) -> TabFacts {
    let settings = &plain.host.settings;
    let url = &settings.model.base_url;
    let ActiveNames { project, agent } = plain.run.names.clone();
    let facts = TabFacts {
        project,
        agent,
        has_agents: false,
        answered: None,
        stream: settings.request.delivery == Delivery::Streamed,
        stream_mode: None,
        shell: plain.session().policy().shell.allowed,
        context: None,
        web: None,
        api: if url == mock::ADDRESS { MOCK.to_owned() } else { url.clone() },
    };
    let Some(server) = &plain.run.agent_zero else { return facts };
    TabFacts {
        has_agents: true,
        stream: server.options.stream,
        stream_mode: Some(match server.options.stream_mode {
            StreamMode::Auto => "auto",
            StreamMode::Sse => "sse",
            StreamMode::Jsonl => "jsonl",
        }),
        context: Some(server.preface.status()),
        // The script inside this program has no pages.
        web: (!server.mock).then(|| server.ui_url.clone().unwrap_or_else(|| origin(url))),
        api: if server.mock { MOCK.to_owned() } else { origin(url) },
        ..facts
    }
}

impl Screen<'_, '_> {
    /// Shows in the cards what the session is now.
    pub(in crate::screen) fn show_tab_facts(&mut self) {
        if let Some(tab) = &mut self.display.state.tab {
            let answered = tab.facts.answered;
            tab.facts = TabFacts { answered, ..facts(&self.chat.plain) };
        }
    }

    /// Shows what an Agent Zero server was told of the workspace, also while it answers.
    pub(super) fn show_context(&mut self) {
        let context = self.chat.plain.run.agent_zero.as_ref().map(|server| server.preface.status());
        if let Some(tab) = &mut self.display.state.tab {
            tab.facts.context = context;
        }
    }
}

/// Gives the panel what the settings say of it: what its menu offers, and the game.
pub(super) fn furnish_panel(panel: &mut Panel, config: &Config) {
    panel.projects = names(config, "projects");
    panel.agents = names(config, "agent_profiles");
    panel.waiting_game = waiting_game(config);
}

/// Returns the names that the user gave settings of a kind; none where there is nothing to choose from.
fn names(config: &Config, table: &str) -> Vec<String> {
    match config.table(table) {
        Some(_) => project::names(config, table),
        None => Vec::new(),
    }
}

/// Returns the address of a server without the path.
fn origin(url: &str) -> String {
    let start = url.find("://").map_or(0, |at| at + 3);
    url[start..].find('/').map_or_else(|| url.to_owned(), |end| url[..start + end].to_owned())
}

/// Returns the game that plays while somebody waits (`ui.waiting_game`).
fn waiting_game(config: &Config) -> Option<Kind> {
    match config.text("ui.waiting_game") {
        Some("pong") => Some(Kind::Pong),
        Some("off" | "none" | "disabled" | "false") => None,
        _ => Some(Kind::Invaders),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_web_ui_is() {
        assert_eq!(origin("http://localhost:50001/api/v1"), "http://localhost:50001");
        assert_eq!(origin("http://localhost:50001"), "http://localhost:50001");
    }
}
