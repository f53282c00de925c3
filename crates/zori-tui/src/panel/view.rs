//! The panel as rows (UI-50): bar, tabs, chat beside the cards, feed, composer, footer, keys; then what is open over it.

use crate::chat;
use crate::footer;
use crate::panel::cards::{self, WIDTH};
use crate::panel::{Open, Panel, Sign, compose, dialog, help};
use crate::row::{Role, Row, Span};
use crate::state::State;
use crate::status;
use crate::terminal::inline::Caret;
use crate::wrap;

/// A screen, and where the caret is; without one it is hidden.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PanelView {
    pub rows: Vec<Row>,
    pub caret: Option<Caret>,
}

/// Below this there is room for the composer and the mode alone.
const SMALLEST: (u16, u16) = (8, 20);
/// The bar and the tabs.
const TOP: usize = 2;

/// Returns how wide the cells are laid out.
pub fn chat_width(state: &State) -> u16 {
    let side = if cards::fit(state) { WIDTH } else { 0 };
    // A blank at either side.
    state.size.columns.saturating_sub(side + 2).max(1)
}

/// The rows below the chat, and where the caret is in them.
struct Bottom {
    rows: Vec<Row>,
    caret: Caret,
}

fn bottom(state: &State) -> Bottom {
    let width = state.size.width();
    let mut rows = chat::status_rows(state, width);
    // What is being written is never pushed out.
    let most = usize::from(state.size.rows) / 3;
    let cut = rows.len().saturating_sub(most);
    rows.drain(..cut);
    let above = rows.len();
    let mut typed = Vec::new();
    let (row, column) = chat::composer(state, width, &mut typed);
    rows.extend(typed);
    if let Some(completion) = &state.completion {
        let room = (usize::from(state.size.rows) / 2).saturating_sub(rows.len()).max(1);
        rows.extend(completion.rows(width, room));
    }
    match &state.hint {
        Some(hint) if width < 60 => {
            rows.push(wrap::truncate(&Span::new(format!("  {}", hint.text)).muted().into(), width.into()));
        }
        _ => rows.push(footer::footer(&state.facts, &state.options.footer, width)),
    }
    Bottom { rows, caret: Caret { row: above + row, column } }
}

/// Returns how many rows of the middle the feed has, its title included.
fn feed_height(middle: usize) -> usize {
    match middle {
        0..16 => 0,
        16..26 => 5,
        26..40 => 9,
        _ => 13,
    }
}

/// Returns how many rows of the chat are shown.
pub(super) fn chat_height(state: &State) -> usize {
    let below = bottom(state).rows.len() + 1;
    let middle = usize::from(state.size.rows).saturating_sub(TOP + below);
    middle - feed_height(middle)
}

/// Returns how far up the chat can be scrolled.
pub(super) fn scrolled_most(state: &State) -> usize {
    let live = state.transcript.live(chat_width(state), state.now).len();
    let rows = state.tab.as_ref().map_or(0, |tab| tab.rows().len());
    (rows + live).saturating_sub(chat_height(state))
}

/// Draws the panel. The cells have to be laid out before.
pub fn view(state: &State, panel: &Panel) -> PanelView {
    let (height, columns) = (usize::from(state.size.rows), usize::from(state.size.columns));
    let Bottom { rows: mut below, mut caret } = bottom(state);
    if state.size.rows < SMALLEST.0 || state.size.columns < SMALLEST.1 {
        return tiny(below, caret, height);
    }
    below.push(keys_row(state, panel, columns));
    let over = below.len().saturating_sub(height.saturating_sub(TOP));
    below.drain(..over.min(caret.row));
    caret.row -= over.min(caret.row);
    let middle = height.saturating_sub(TOP + below.len());
    let mut rows = vec![bar(state, panel, columns), tabs(state, panel, columns)];
    let side = if cards::fit(state) { side(state, panel, middle) } else { Vec::new() };
    let wide = columns - if side.is_empty() { 0 } else { usize::from(WIDTH) };
    for (at, row) in chat_and_feed(state, middle, wide).into_iter().enumerate() {
        match side.get(at) {
            Some(card) => {
                let mut whole = compose::pad(&row, wide);
                whole.push(Span::new("│ ").muted());
                whole.spans.extend(card.spans.iter().cloned());
                rows.push(whole);
            }
            None => rows.push(row),
        }
    }
    caret.row += rows.len();
    rows.extend(below);
    rows.truncate(height);
    rows.resize(height, Row::empty());
    let caret = lay_open(state, panel, &mut rows, caret);
    let rows = rows.iter().map(|row| wrap::truncate(row, columns)).collect();
    PanelView { rows, caret: caret.map(|caret| Caret { column: caret.column.min(columns - 1), ..caret }) }
}

/// What is open over the panel; returns where the caret is then.
fn lay_open(state: &State, panel: &Panel, rows: &mut [Row], caret: Caret) -> Option<Caret> {
    let (height, columns) = (rows.len(), usize::from(state.size.columns));
    let centre = |size: usize, of: usize| of.saturating_sub(size) / 2;
    if let Some(asked) = state.questions.front() {
        let dialog = dialog::draw(state, asked);
        let wide = dialog.rows.iter().map(Row::width).max().unwrap_or(0);
        // The composer stays in sight: a reason is written there.
        let room = caret.row.max(dialog.rows.len().min(height));
        let (top, left) = (centre(dialog.rows.len(), room), centre(wide, columns));
        let keys = Caret { row: (top + dialog.keys).min(height - 1), column: left + 2 };
        compose::lay_over(rows, top, left, dialog.rows);
        return Some(if chat::question_has_keys(state) { keys } else { caret });
    }
    let over = match &panel.open {
        Some(Open::Menu(menu)) => menu.rows(columns, height),
        Some(Open::Help(top)) => help::rows(state, *top),
        Some(Open::Game(game)) => {
            let title = format!("ARCADE · {} · level {}", game.kind().as_str(), game.level);
            let mut field = game.rows();
            field.push(Row::from(Span::new(game.words()).role(Role::Secondary)));
            let width = usize::from(crate::panel::arcade::FIELD.0) + 4;
            compose::boxed(&title, "arrows · space · p · Esc", field, width.min(columns))
        }
        None if chat::confirm_has_keys(state) => return None,
        None => return Some(caret),
    };
    let wide = over.iter().map(Row::width).max().unwrap_or(0);
    compose::lay_over(rows, centre(over.len(), height), centre(wide, columns), over);
    None
}

/// The composer and the footer alone, as much as fits around the caret.
fn tiny(mut below: Vec<Row>, mut caret: Caret, height: usize) -> PanelView {
    let first = (caret.row + 1).saturating_sub(height.saturating_sub(1).max(1));
    below.drain(..first);
    caret.row -= first;
    below.truncate(height);
    below.resize(height, Row::empty());
    PanelView { rows: below, caret: Some(caret) }
}

fn bar(state: &State, panel: &Panel, columns: usize) -> Row {
    let mode = Span::new(state.facts.mode.to_uppercase());
    let mode = if footer::asks_nothing(&state.facts.mode) {
        mode.role(Role::Warning).reverse()
    } else {
        mode.bold()
    };
    let mut row = Row::empty().with(" ").with(Span::new(panel.brand.as_str()).role(Role::Primary).bold());
    let bar = || Span::new(" | ").muted();
    match &state.tab {
        Some(tab) if columns >= 60 => {
            row.push("   ");
            row.push(tab.facts.project.as_str());
            row.push(bar());
            row.push(tab.facts.agent.as_str());
            row.push(bar());
            row.push(mode);
            row.push(bar());
            row.push(panel.theme.as_str());
        }
        _ => {
            row.push("  ");
            row.push(mode);
        }
    }
    if let Some(turn) = &state.turn {
        let seconds = state.now.saturating_sub(turn.started).as_secs();
        let sign =
            Row::empty().with(Span::new(status::sign(state)).role(Role::Accent)).with(format!(" {seconds}s"));
        let width = u16::try_from(columns - 1).unwrap_or(u16::MAX);
        row = wrap::truncate(&row, columns.saturating_sub(sign.width() + 3)).with_right(sign, width);
    }
    row
}

fn tabs(state: &State, panel: &Panel, columns: usize) -> Row {
    let sign = |sign: Sign| match sign {
        Sign::None => None,
        Sign::Running => Some(Span::new(status::sign(state)).role(Role::Accent)),
        Sign::Asks => Some(Span::new("?").role(Role::Warning).bold()),
        Sign::Unread => Some(Span::new("•").role(Role::Primary)),
    };
    let label = |at: usize| {
        let tab = &panel.tabs[at];
        let name = wrap::truncate(&Row::from(Span::new(tab.name.as_str())), 24);
        let mut row = Row::empty();
        match at == panel.active {
            true => {
                let name = name.text();
                row.push(Span::new(format!("[{name}]")).bold());
            }
            false => row.spans.extend(name.spans),
        }
        if let Some(sign) = sign(tab.sign) {
            row.push(" ");
            row.push(sign);
        }
        row
    };
    let labels: Vec<Row> = (0..panel.tabs.len()).map(label).collect();
    // The active one is always to be seen.
    let upto = |first: usize| {
        let shown = labels.iter().take(panel.active + 1).skip(first);
        shown.map(|label| label.width() + 3).sum::<usize>()
    };
    let first =
        (0..panel.active).find(|first| upto(*first) < columns.saturating_sub(2)).unwrap_or(panel.active);
    let mut row = Row::empty().with(if first > 0 { "…" } else { " " });
    for (at, label) in labels.into_iter().enumerate().skip(first) {
        if at > first {
            row.push("   ");
        }
        row.spans.extend(label.spans);
    }
    wrap::truncate(&row, columns)
}

/// The cells, as far as they are scrolled, and the feed below them.
fn chat_and_feed(state: &State, middle: usize, wide: usize) -> Vec<Row> {
    let feed = feed_height(middle);
    let height = middle - feed;
    let mut rows = Vec::with_capacity(middle);
    let Some(tab) = &state.tab else { return rows };
    let live = state.transcript.live(chat_width(state), state.now);
    let all = tab.rows().len() + live.len();
    let scroll = tab.scroll.min(all.saturating_sub(height));
    let end = all - scroll;
    let start = end.saturating_sub(height);
    for at in start..end {
        let row = match tab.rows().get(at) {
            Some(row) => row,
            None => &live[at - tab.rows().len()],
        };
        let mut line = Row::empty().with(" ");
        line.spans.extend(row.spans.iter().cloned());
        rows.push(line);
    }
    rows.resize(height, Row::empty());
    if scroll > 0
        && let Some(last) = rows.last_mut()
    {
        let words = format!(" … {scroll} rows below · PageDown ");
        *last = Row::from(Span::new(words).role(Role::Primary).reverse());
    }
    if feed > 0 {
        rows.push(Row::from(Span::new("LIVE FEED").role(Role::Primary).bold()));
        let mut lines = tab.feed.rows(wide.saturating_sub(1), feed - 1, state.options.timestamps);
        lines.resize(feed - 1, Row::empty());
        rows.extend(lines);
    }
    rows
}

/// The cards, and the game below them where there is room.
fn side(state: &State, panel: &Panel, middle: usize) -> Vec<Row> {
    let width = usize::from(WIDTH) - 2;
    let mut rows = cards::rows(state, panel, width);
    if let Some(game) = &panel.waiting {
        let field = game.rows();
        if rows.len() + field.len() + 2 <= middle {
            rows.push(cards::title("ARCADE").with(Span::new(format!("  {}", game.kind().as_str())).muted()));
            rows.extend(field.into_iter().map(|row| {
                let mut line = Row::empty().with(" ");
                line.spans.extend(row.spans);
                line
            }));
            rows.push(Row::from(Span::new(" F3 plays").muted()));
        }
    }
    rows.resize(middle, Row::empty());
    rows
}

fn keys_row(state: &State, panel: &Panel, columns: usize) -> Row {
    let new_line = if state.options.shift_enter { "Shift-Enter line" } else { "Alt-Enter line" };
    let web = state.tab.as_ref().is_some_and(|tab| tab.facts.web.is_some());
    let mut keys = vec!["F1 help", "F2 menu"];
    keys.extend(panel.plays(state).then_some("F3 game"));
    keys.extend(web.then_some("F5 web UI"));
    keys.extend(["F10 quit", "Enter send", new_line, "Shift-Tab mode", "Ctrl-O cells"]);
    let mut row = Row::empty();
    for key in keys {
        if row.width() + key.len() + 2 > columns {
            break;
        }
        let (name, what) = key.split_once(' ').unwrap_or((key, ""));
        row.push(if row.spans.is_empty() { " " } else { "  " });
        row.push(Span::new(name).role(Role::Primary));
        row.push(Span::new(format!(" {what}")).muted());
    }
    row
}
