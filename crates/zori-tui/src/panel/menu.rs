//! The menu (UI-6, UI-52): groups at the left, what is in the chosen one at the right. Going over a theme shows it; Esc puts the old one back.

use crate::keymap::{Action, Bound};
use crate::keys::{Key, KeyCode};
use crate::panel::compose;
use crate::panel::{Panel, PanelEffect};
use crate::row::{Ground, Role, Row, Span};
use crate::state::State;
use crate::update::Effect;
use crate::wrap;

/// How many rows of a group are shown.
const MOST: usize = 14;
const KEYS: &str = "arrows · Enter · Esc";
/// How wide the groups are at most.
const LEFT: usize = 14;
/// What stands between them and a line: the edge, and its mark.
const BETWEEN: usize = 4;

/// The open menu.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Menu {
    groups: Vec<Group>,
    group: usize,
    /// The chosen line of the group, once one is in it.
    item: Option<usize>,
    /// The theme as it was.
    theme: String,
}

/// A group of lines.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Group {
    name: &'static str,
    items: Vec<Line>,
}

/// A line, and what it does.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Line {
    label: String,
    does: Does,
    /// It is the one in force.
    now: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Does {
    Theme(String),
    Panel(PanelEffect),
    /// Types a command and sends it.
    Run(String),
    /// Puts it into the composer, for its argument.
    Type(String),
    /// It is only read.
    Nothing,
}

/// What a key did to the menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    No,
    Yes,
}

impl Menu {
    /// Opens it.
    pub fn new(panel: &Panel, state: &State) -> Self {
        let mut groups = Vec::new();
        let named = |name: &'static str, command: &str, names: &[String], now: &str| {
            let items = names.iter().map(|name| Line {
                label: name.clone(),
                does: Does::Run(format!("{command} {}", quoted(name))),
                now: name == now,
            });
            Group { name, items: items.collect() }
        };
        let has = |command: &str| state.options.commands.iter().any(|known| known.name == command);
        let facts = state.tab.as_ref().map(|tab| &tab.facts);
        if let Some(facts) = facts.filter(|_| has("/project") && !panel.projects.is_empty()) {
            groups.push(named("Projects", "/project", &panel.projects, &facts.project));
        }
        if let Some(facts) =
            facts.filter(|facts| facts.has_agents && has("/agent") && !panel.agents.is_empty())
        {
            groups.push(named("Agents", "/agent", &panel.agents, &facts.agent));
        }
        let themes = panel.themes.iter().map(|name| Line {
            label: name.clone(),
            does: Does::Theme(name.clone()),
            now: *name == panel.theme,
        });
        groups.push(Group { name: "Themes", items: themes.collect() });
        let panel_line =
            |label: &str, effect| Line { label: label.to_owned(), does: Does::Panel(effect), now: false };
        let mut actions = vec![
            panel_line("New tab", PanelEffect::NewTab(None)),
            panel_line("Close this tab", PanelEffect::CloseTab),
            panel_line("Clear this chat", PanelEffect::Clear),
        ];
        let commands = [
            ("Upload a file…", "/upload", true),
            ("Choose a model…", "/model", true),
            ("Choose a session…", "/resume", true),
            ("Show the status", "/status", false),
            ("Show the context", "/context", false),
            ("Observer settings", "/observer", false),
        ];
        for (label, command, typed) in commands.into_iter().filter(|(_, command, _)| has(command)) {
            let does = if typed { Does::Type(format!("{command} ")) } else { Does::Run(command.to_owned()) };
            actions.push(Line { label: label.to_owned(), does, now: false });
        }
        if state.tab.as_ref().is_some_and(|tab| tab.facts.web.is_some()) {
            actions.push(panel_line("Open the web UI", PanelEffect::WebUi));
        }
        actions.push(panel_line("Quit", PanelEffect::Quit));
        groups.push(Group { name: "Actions", items: actions });
        if !super::cards::fit(state) {
            // They are there to be read, so that nothing of them is cut off.
            let room = width(state.size.columns.into()).saturating_sub(4 + LEFT + BETWEEN);
            let rest = Row::empty().with("   ");
            let cards = super::cards::rows(state, panel, usize::MAX);
            let rows = cards.iter().flat_map(|row| match row.width() <= room {
                true => vec![row.clone()],
                false => wrap::wrap_hanging(&row.spans, room, &Row::empty(), &rest),
            });
            let lines = rows.map(|row| Line { label: row.text(), does: Does::Nothing, now: false });
            groups.push(Group { name: "Cards", items: lines.collect() });
        }
        let first = groups.iter().position(|group| group.name == "Themes").unwrap_or(0);
        Self { groups, group: first, item: None, theme: panel.theme.clone() }
    }

    /// Takes a key.
    pub fn key(&mut self, key: Key, bound: Bound, state: &mut State, effects: &mut Vec<Effect>) -> Closed {
        match (key.code, bound) {
            (KeyCode::Left, _) => self.leave_group(effects),
            (KeyCode::Esc, _) | (_, Bound::Action(Action::Interrupt)) => {
                self.put_back(effects);
                return Closed::Yes;
            }
            (KeyCode::F(2), _) => {
                self.put_back(effects);
                return Closed::Yes;
            }
            (KeyCode::Up, _) => self.step(-1, effects),
            (KeyCode::Down, _) => self.step(1, effects),
            (KeyCode::PageUp, _) => self.step(-8, effects),
            (KeyCode::PageDown, _) => self.step(8, effects),
            (KeyCode::Right | KeyCode::Tab, _) if self.item.is_none() => self.enter_group(effects),
            (KeyCode::Enter, _) if self.item.is_none() => self.enter_group(effects),
            (KeyCode::Enter, _) => return self.run(state, effects),
            _ => {}
        }
        Closed::No
    }

    /// Puts the theme back that was there before.
    pub fn put_back(&self, effects: &mut Vec<Effect>) {
        if matches!(self.chosen(), Some(Line { does: Does::Theme(_), .. })) {
            effects.push(Effect::Theme { name: self.theme.clone(), keep: false });
        }
    }

    fn chosen(&self) -> Option<&Line> {
        self.groups.get(self.group)?.items.get(self.item?)
    }

    fn enter_group(&mut self, effects: &mut Vec<Effect>) {
        let items = &self.groups[self.group].items;
        let now = items.iter().position(|line| line.now);
        self.item = (!items.is_empty()).then(|| now.unwrap_or(0));
        self.preview(effects);
    }

    fn leave_group(&mut self, effects: &mut Vec<Effect>) {
        self.put_back(effects);
        self.item = None;
    }

    fn step(&mut self, by: isize, effects: &mut Vec<Effect>) {
        let wrapped = |at: usize, count: usize| (at as isize + by).rem_euclid(count.max(1) as isize) as usize;
        match self.item {
            None => self.group = wrapped(self.group, self.groups.len()),
            Some(at) => {
                self.item = Some(wrapped(at, self.groups[self.group].items.len()));
                self.preview(effects);
            }
        }
    }

    fn preview(&self, effects: &mut Vec<Effect>) {
        if let Some(Line { does: Does::Theme(name), .. }) = self.chosen() {
            effects.push(Effect::Theme { name: name.clone(), keep: false });
        }
    }

    fn run(&self, state: &mut State, effects: &mut Vec<Effect>) -> Closed {
        let Some(line) = self.chosen() else { return Closed::No };
        match &line.does {
            Does::Theme(name) => effects.push(Effect::Theme { name: name.clone(), keep: true }),
            Does::Panel(effect) => effects.push(Effect::Panel(effect.clone())),
            Does::Run(command) => effects.push(Effect::Command(command.clone())),
            Does::Type(text) => {
                let draft = state.composer.buffer.text();
                if !draft.is_empty() {
                    state.composer.history.put_away(&draft);
                }
                state.composer.set(text);
            }
            Does::Nothing => return Closed::No,
        }
        Closed::Yes
    }

    /// Draws it into so much room.
    pub fn rows(&self, columns: usize, room: usize) -> Vec<Row> {
        let width = width(columns);
        let inner = width.saturating_sub(4);
        let left = inner.min(LEFT);
        let items = &self.groups[self.group].items;
        // Two rows are the edges.
        let height = items.len().clamp(self.groups.len(), MOST).min(room.saturating_sub(2)).max(1);
        let first = self.item.unwrap_or(0).saturating_sub(height - 1);
        let mut rows = Vec::new();
        for at in 0..height {
            let group = self.groups.get(at).map_or("", |group| group.name);
            let here = at == self.group;
            let mut name = Span::new(format!("{group:<width$}", width = left - 2));
            if here {
                name = name.role(Role::Primary).bold();
                if self.item.is_none() {
                    name = name.ground(Ground::Chosen);
                }
            }
            let mut row = Row::empty().with(name).with(if here { "› " } else { "  " });
            row.push(Span::new("│ ").role(Role::Primary));
            if let Some(line) = items.get(first + at) {
                let chosen = self.item == Some(first + at);
                let mark = match (chosen, line.now) {
                    (true, _) => "› ",
                    (false, true) => "• ",
                    (false, false) => "  ",
                };
                let mut label = Span::new(format!("{mark}{}", line.label));
                if chosen {
                    label = label.ground(Ground::Chosen).bold();
                }
                row.push(label);
                if let (Does::Theme(_), true) = (&line.does, chosen) {
                    row.push("  ");
                    for role in [
                        Role::Primary,
                        Role::Secondary,
                        Role::Success,
                        Role::Warning,
                        Role::Error,
                        Role::Accent,
                    ] {
                        row.push(Span::new("█").role(role));
                    }
                }
            }
            rows.push(row);
        }
        let foot = match items.len() > height {
            true => format!("{}/{} · {KEYS}", self.item.map_or(0, |at| at + 1), items.len()),
            false => KEYS.to_owned(),
        };
        compose::boxed("Menu", &foot, rows, width)
    }
}

/// Returns how wide the menu is, with its edges.
fn width(columns: usize) -> usize {
    columns.min(58)
}

/// Returns a name as the splitting of a command line gives it back.
fn quoted(name: &str) -> String {
    match name.contains(char::is_whitespace) {
        true => format!("\"{name}\""),
        false => name.to_owned(),
    }
}
