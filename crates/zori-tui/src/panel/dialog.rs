//! The approval dialog (UI-51): what a call would do, why it is asked about, and the answers, in a box over everything else.

use zori_core::question::{Preview, Risk, brief};

use crate::panel::compose;
use crate::question::{Asked, QuestionKey};
use crate::row::{Role, Row, Span};
use crate::state::{Size, State};
use crate::wrap;

/// How wide it is at most.
const WIDEST: u16 = 100;

/// The dialog, and how much of the text it leaves out.
pub struct Dialog {
    pub rows: Vec<Row>,
    /// Rows of the text that are not shown: then all of it has to be read before a yes counts (SAF-4).
    pub hidden: usize,
    /// The row of the answers, where the caret stands while keys answer.
    pub keys: usize,
}

/// Returns how wide the dialog is, with its edges.
pub fn width(size: Size) -> usize {
    usize::from(size.columns.saturating_sub(if size.columns < 60 { 0 } else { 6 }).min(WIDEST))
}

/// Returns how many rows of the text the dialog hides.
pub fn hidden(state: &State) -> usize {
    state.questions.front().map_or(0, |asked| draw(state, asked).hidden)
}

/// Returns whether all of the dialog is on the screen.
pub fn fits(state: &State) -> bool {
    let most = usize::from(state.size.rows);
    state.questions.front().is_none_or(|asked| draw(state, asked).rows.len() <= most)
}

/// Draws the dialog for a question.
pub fn draw(state: &State, asked: &Asked) -> Dialog {
    let (wide, count) = (width(state.size), state.questions.len());
    let inner = wide.saturating_sub(4).max(1);
    // The bar, the tabs and the composer stay in sight where there is room for them.
    let most = usize::from(state.size.rows).saturating_sub(if state.size.rows < 16 { 3 } else { 6 }).max(6);
    let several = if count > 1 { format!(" · 1 of {count}") } else { String::new() };
    let who = asked.agent.as_ref().map_or_else(String::new, |agent| format!("{agent}: "));
    if asked.choice().is_some() {
        let inner = u16::try_from(inner).unwrap_or(u16::MAX);
        let (rows, hidden) = asked.rows(inner, most.saturating_sub(2).max(2), count);
        let keys = rows.len();
        return Dialog {
            rows: compose::boxed(&format!("{who}question{several}"), "", rows, wide),
            hidden,
            keys,
        };
    }
    let purpose = state.call_reason.as_deref().filter(|_| asked.agent.is_none());
    let head = head(asked, purpose, inner);
    let mut tail = Vec::new();
    if asked.explained {
        tail.extend(asked.explanation(inner));
    }
    // Where the grants have no room none can be given: the whole text comes first, and only a plain yes behind it.
    let offers = asked.offer_rows(inner);
    let room_for_offers = head.len() + tail.len() + offers.len() + 5 <= most;
    let left_out = usize::from(!offers.is_empty() && !room_for_offers);
    tail.extend(offers.into_iter().filter(|_| room_for_offers));
    tail.push(buttons(asked, inner));
    // Two rows are the edges, one says how much of the text is shown.
    let room = most.saturating_sub(head.len() + tail.len() + 3).max(1);
    let beginning = asked.beginning(inner.saturating_sub(2), room);
    let missing = beginning.hidden();
    let mut rows = head;
    rows.push(preview_line(asked, beginning.shown, beginning.all, inner));
    rows.extend(beginning.rows.into_iter().map(|row| {
        let mut line = Row::empty().with("  ");
        line.spans.extend(row.spans);
        line
    }));
    if missing > 0 && room > 1 {
        rows.push(wrap::truncate(
            &Span::new(format!("  {}", brief::more_lines(missing))).role(Role::Warning).into(),
            inner,
        ));
    }
    let hidden = missing + left_out;
    rows.extend(tail);
    let keys = rows.len();
    let title = format!("{who}{} asks{several}", asked.question.tool);
    Dialog { rows: compose::boxed(&title, "", rows, wide), hidden, keys }
}

/// What it is about, at the left, and what decides about it, at the right.
fn head(asked: &Asked, purpose: Option<&str>, inner: usize) -> Vec<Row> {
    let decision = &asked.decision;
    let what = match &asked.question.preview {
        Preview::Command { command, .. } => {
            ("command", command.lines().next().unwrap_or_default().to_owned())
        }
        Preview::Changes(files) => {
            let names: Vec<String> = files.iter().map(|file| file.path.display().to_string()).collect();
            ("changes", names.join(", "))
        }
        Preview::Input(_) | Preview::Choices(_) | Preview::Fails { .. } => {
            ("call", asked.question.tool.clone())
        }
    };
    let class = decision.class.as_str();
    let risk = Risk::of(&asked.question.preview, decision);
    let mode = if asked.mode.is_empty() { String::new() } else { format!(" · mode {}", asked.mode) };
    let mut rows = vec![
        pair(what.0, &what.1, &format!("class {class}{mode}"), inner),
        pair("reason", &decision.reason, &format!("step {} · risk {}", decision.step, risk.as_str()), inner),
    ];
    // The words of whoever asks, beside those of the rules.
    rows.extend(purpose.map(|purpose| pair("purpose", purpose, "", inner)));
    rows
}

fn preview_line(asked: &Asked, shown: usize, all: usize, inner: usize) -> Row {
    let lines = match shown < all {
        true => format!("{shown}/{all} lines, v shows them; y counts only then"),
        false => format!("{shown}/{all} lines"),
    };
    let right = match &asked.question.preview {
        Preview::Command { sandbox: Some(sandbox), .. } => format!("sandbox {sandbox}"),
        Preview::Command { sandbox: None, .. } => "no sandbox".to_owned(),
        _ => String::new(),
    };
    pair("preview", &lines, &right, inner)
}

fn pair(name: &str, value: &str, right: &str, inner: usize) -> Row {
    let row = Row::empty()
        .with(Span::new(format!("{name:<8} ")).muted())
        .with(wrap::expand_tabs(value, 8).as_ref());
    // Where both do not fit, what is asked about stays.
    let right = Row::from(Span::new(right).muted());
    let room = inner.saturating_sub(right.width() + 2);
    match room >= 30 && right.width() > 0 {
        true => {
            let width = u16::try_from(inner).unwrap_or(u16::MAX);
            wrap::truncate(&row, room).with_right(right, width)
        }
        false => wrap::truncate(&row, inner),
    }
}

fn buttons(asked: &Asked, inner: usize) -> Row {
    if asked.because.is_some() {
        let words = Span::new("why not? Enter says it, Esc goes back").role(Role::Primary);
        return wrap::truncate(&words.into(), inner);
    }
    let focused = asked.focused();
    let names = [
        (QuestionKey::Once, "Approve y", "yes y"),
        (QuestionKey::No, "Reject n", "no n"),
        (QuestionKey::Because, "Why not w", "why w"),
        (QuestionKey::Explain, "Explain e", "more e"),
        (QuestionKey::Whole, "Whole v", "all v"),
    ];
    let narrow = inner < 66;
    let mut row = Row::empty();
    for (key, name, short) in names {
        let text = match (key == focused, narrow) {
            (true, true) => format!("[{short}]"),
            (false, true) => format!(" {short} "),
            (true, false) => format!("[ {name} ]"),
            (false, false) => format!("  {name}  "),
        };
        let span = Span::new(text).role(Role::Primary);
        row.push(if key == focused { span.reverse() } else { span });
    }
    wrap::truncate(&row, inner)
}
