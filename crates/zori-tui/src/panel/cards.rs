//! The cards beside the chat (UI-3): session, connection, context, what happens now.

use crate::cells::thousands;
use crate::panel::{Panel, Tab};
use crate::row::{Role, Row, Span};
use crate::state::{Phase, State};
use crate::wrap;

/// How wide the cards are, with the line before them.
pub const WIDTH: u16 = 39;
/// From so many columns on they stand beside the chat; below that they are in the menu.
pub const FROM: u16 = 100;

/// Returns whether there is room for the cards.
pub fn fit(state: &State) -> bool {
    state.size.columns >= FROM
}

/// Returns the cards; the arcade is drawn below them.
pub fn rows(state: &State, panel: &Panel, width: usize) -> Vec<Row> {
    let Some(tab) = &state.tab else { return Vec::new() };
    let mut rows = Vec::new();
    session(state, panel, tab, &mut rows);
    connection(tab, width, &mut rows);
    context(state, tab, &mut rows);
    live(state, tab, &mut rows);
    rows.iter().map(|row| wrap::truncate(row, width)).collect()
}

/// Returns the title of a card.
pub fn title(words: &str) -> Row {
    Row::from(Span::new(words).role(Role::Primary).bold())
}

fn line(name: &str, value: impl Into<Span>) -> Row {
    Row::empty().with(" ").with(Span::new(format!("{name:<8} ")).muted()).with(value)
}

fn session(state: &State, panel: &Panel, tab: &Tab, rows: &mut Vec<Row>) {
    let facts = &state.facts;
    rows.push(title("SESSION"));
    let project = format!("{:<10} ", tab.facts.project);
    rows.push(
        line("project", project.as_str()).with(Span::new("agent ").muted()).with(tab.facts.agent.as_str()),
    );
    let shell = if tab.facts.shell { "on" } else { "off" };
    let mode = format!("{:<10} ", facts.mode.to_uppercase());
    rows.push(line("mode", mode.as_str()).with(Span::new("shell ").muted()).with(shell));
    rows.push(line("theme", panel.theme.as_str()));
    let branch = facts.branch.as_ref().map_or_else(String::new, |branch| format!(" ({branch})"));
    rows.push(line("root", format!("{}{branch}", facts.folder).as_str()));
    rows.push(Row::empty());
}

fn connection(tab: &Tab, width: usize, rows: &mut Vec<Row>) {
    rows.push(title("CONNECTION"));
    let answered = match tab.facts.answered {
        None => Span::new(""),
        Some(true) => Span::new("  ok").role(Role::Success),
        Some(false) => Span::new("  failed").role(Role::Error),
    };
    // Whether it answers is said, however long the address is.
    let api = line("API", tab.facts.api.as_str());
    let room = width.saturating_sub(Row::from(answered.clone()).width());
    rows.push(wrap::truncate(&api, room).with(answered));
    let mode = tab.facts.stream_mode.map_or_else(String::new, |mode| format!(", {mode}"));
    rows.push(line("stream", format!("{}{mode}", if tab.facts.stream { "on" } else { "off" }).as_str()));
    rows.push(Row::empty());
}

fn context(state: &State, tab: &Tab, rows: &mut Vec<Row>) {
    const CELLS: u64 = 10;
    rows.push(title("CONTEXT"));
    if let Some(words) = &tab.facts.context {
        rows.push(Row::empty().with(" ").with(words.as_str()));
    }
    let used = state.facts.context;
    rows.push(match state.facts.window.filter(|window| *window > 0) {
        Some(window) => {
            let percent = used * 100 / window;
            let full = (used * CELLS / window).min(CELLS) as usize;
            let bar = format!("{}{}", "▓".repeat(full), "░".repeat(CELLS as usize - full));
            let role = match percent {
                95.. => Role::Error,
                80.. => Role::Warning,
                _ => Role::Text,
            };
            Row::empty()
                .with(format!(" {} of {}  ", thousands(used), thousands(window)))
                .with(Span::new(bar).role(role))
                .with(format!("  {percent}%"))
        }
        None => Row::empty().with(format!(" {} tokens", thousands(used))),
    });
    rows.push(Row::empty());
}

fn live(state: &State, tab: &Tab, rows: &mut Vec<Row>) {
    rows.push(title("LIVE"));
    let status = match &state.turn {
        None => "ready".to_owned(),
        Some(turn) => {
            let seconds = state.now.saturating_sub(turn.started).as_secs();
            format!("{} {seconds}s", phase(&turn.phase))
        }
    };
    rows.push(line("status", status.as_str()));
    rows.push(line("tool", tab.feed.last_tool().unwrap_or("–")));
    rows.push(line("waiting", if state.turn.is_some() { "YES" } else { "NO" }));
    rows.push(Row::empty());
}

fn phase(phase: &Phase) -> &'static str {
    match phase {
        Phase::Waiting => "waiting",
        Phase::Thinking => "thinking",
        Phase::Answering => "answering",
        Phase::Running(_) => "running",
        Phase::Asking => "asking you",
        Phase::Retrying { .. } => "retrying",
        Phase::Compacting => "compacting",
    }
}
