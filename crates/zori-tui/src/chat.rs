//! The chat's layout (UI-40): live cells, question, task row, status, queue, composer, then a list or the footer. Arrangement only.

use crate::composer::layout::Layout;
use crate::footer;
use crate::row::{Role, Row, Span};
use crate::shortcuts;
use crate::state::{Size, State};
use crate::status;
use crate::terminal::inline::{Caret, View};
use crate::wrap;
use zori_core::tool::TodoStatus;

/// How many rows of the composer are shown.
const COMPOSER_ROWS: usize = 10;
/// How many rows a question has at least, where there is room for so many.
const QUESTION_ROWS: usize = 5;
/// How many rows of what is too long stay when its page is turned.
const KEPT_ROWS: usize = 3;
/// How many queued messages are shown.
const QUEUE_ROWS: usize = 3;
/// Below this there is room for the composer and the mode alone.
const SMALLEST: (u16, u16) = (5, 20);

/// Draws the rows below the scrollback.
pub fn view(state: &State) -> View {
    let width = state.size.width();
    let mut typed = Vec::new();
    let (mut row_in_composer, column) = composer(state, width, &mut typed);
    let mut composer = typed;
    // One row stays for what stands above the composer.
    let room = state.size.viewport().saturating_sub(composer.len() + 1).max(1);
    let mut below = below(state, width, room);
    let tiny = is_tiny(state.size);
    let most = state.size.viewport();
    let mut above: Vec<Row> = Vec::new();
    let (mut caret_in_question, mut caret_in_confirm) = (None, None);
    if !tiny {
        let mut status = status_rows(state, width);
        let question = question_rows(state, width);
        // A question is seen whole before what waits behind it.
        let others = question.len() + composer.len() + 1;
        while !question.is_empty() && status.len() + others > most && status.pop().is_some() {}
        let fixed = status.len() + question.len() + composer.len() + below.len();
        let live = state.transcript.live(width, state.now);
        let gap = usize::from(state.turn.is_none() || live.is_empty());
        let room = most.saturating_sub(fixed + gap);
        page(live, room, &mut above);
        if gap > 0 && most > fixed {
            above.push(Row::empty());
        }
        if !question.is_empty() {
            caret_in_question = Some(above.len());
        }
        above.extend(question);
        if confirm_has_keys(state) {
            let rows = state.confirm.as_ref().map_or(0, |confirm| confirm.rows(width).len());
            caret_in_confirm = Some(above.len() + rows.saturating_sub(1));
        }
        above.extend(status);
    }
    while above.len() + composer.len() + below.len() > most && below.len() > 1 {
        below.pop();
    }
    if composer.len() + below.len() > most {
        // The composer alone, as much of it as there is room for around the caret.
        below.clear();
        let first = (row_in_composer + 1).saturating_sub(most);
        composer.drain(..first);
        composer.truncate(most);
        row_in_composer -= first;
        above.clear();
        caret_in_question = None;
    }
    let over = (above.len() + composer.len() + below.len()).saturating_sub(most);
    let cut = over.min(above.len());
    above.drain(..cut);
    let on_question = caret_in_question
        .filter(|_| question_has_keys(state))
        .or(caret_in_confirm)
        .and_then(|row| row.checked_sub(cut));
    let caret = match on_question {
        Some(row) => Caret { row, column: 0 },
        None => Caret { row: above.len() + row_in_composer, column },
    };
    let mut rows = above;
    rows.extend(composer);
    rows.extend(below);
    View { rows, caret }
}

/// Shows what grows in this room. What is too long is leafed through: a page fills row by row and is turned then, so that rows stand still
/// while they are read and are not written again with each row that comes (PERF-2).
fn page(live: Vec<Row>, room: usize, out: &mut Vec<Row>) {
    if live.len() <= room {
        return out.extend(live);
    }
    let Some(page) = room.checked_sub(1) else { return };
    let step = page.saturating_sub(KEPT_ROWS).max(1);
    let hidden = (live.len() - page).div_ceil(step) * step;
    let hidden = hidden.min(live.len());
    let blank = page - (live.len() - hidden);
    out.push(Span::new(format!("… {hidden} more rows")).muted().into());
    out.extend(live.into_iter().skip(hidden));
    out.extend(std::iter::repeat_n(Row::empty(), blank));
}

/// Returns whether the next key is for the open question; the caret shows it.
pub fn question_has_keys(state: &State) -> bool {
    let empty = state.composer.is_empty();
    state.questions.front().is_some_and(|asked| asked.takes_keys(state.now, state.keys.last, empty))
}

/// Returns whether the next key is for a question of the chat itself.
pub(crate) fn confirm_has_keys(state: &State) -> bool {
    let empty = state.composer.is_empty();
    let seen = state.tab.is_some() || !is_tiny(state.size);
    seen && state
        .confirm
        .as_ref()
        .is_some_and(|confirm| confirm.takes_keys(state.now, state.keys.last, empty))
}

/// Returns whether there is room for the composer and the mode alone.
pub fn is_tiny(size: Size) -> bool {
    size.rows < SMALLEST.0 || size.columns < SMALLEST.1
}

/// Returns how many rows a question may have: what the composer, the status and the footer leave.
pub fn question_room(state: &State) -> usize {
    let width = usize::from(state.size.width()).saturating_sub(2);
    let composer = Layout::new(&state.composer.buffer, width).height().clamp(1, composer_room(state));
    state.size.viewport().saturating_sub(composer + 2).max(2)
}

/// Returns how many rows of the composer are shown. A question comes first.
fn composer_room(state: &State) -> usize {
    match state.questions.is_empty() {
        true => COMPOSER_ROWS,
        false => state.size.viewport().saturating_sub(QUESTION_ROWS + 2).clamp(1, COMPOSER_ROWS),
    }
}

fn question_rows(state: &State, width: u16) -> Vec<Row> {
    match state.questions.front() {
        Some(asked) => asked.rows(width, question_room(state), state.questions.len()).0,
        None => Vec::new(),
    }
}

pub(crate) fn status_rows(state: &State, width: u16) -> Vec<Row> {
    let mut rows = Vec::new();
    rows.extend(state.confirm.iter().flat_map(|confirm| confirm.rows(width)));
    let done = state.todos.iter().filter(|todo| todo.status == TodoStatus::Completed).count();
    if done < state.todos.len() {
        let now = state.todos.iter().find(|todo| todo.status == TodoStatus::InProgress);
        let now = now.or_else(|| state.todos.iter().find(|todo| todo.status == TodoStatus::Pending));
        let what = now.map_or("", |todo| todo.content.as_str());
        let text = format!("☐ {done}/{} {what} · /todo", state.todos.len());
        rows.push(wrap::truncate(&Span::new(text).muted().into(), usize::from(width)));
    }
    if let Some(turn) = &state.turn {
        rows.push(status::status(state, turn, width));
    }
    waiting_rows(state, width, &mut rows);
    rows
}

/// Draws what was said and is not read yet: first what went into the turn, then what waits for its end.
fn waiting_rows(state: &State, width: u16, rows: &mut Vec<Row>) {
    let queue = &state.queue;
    let word = if queue.held { "held" } else { "queued" };
    let steered = queue.steered.iter().map(|text| ("sent in", text.as_str()));
    let items = queue.items.iter().map(|prompt| (word, prompt.text.as_str()));
    let count = queue.steered.len() + queue.items.len();
    for (i, (word, text)) in steered.chain(items).take(QUEUE_ROWS).enumerate() {
        let first = text.lines().next().unwrap_or_default();
        let last = i + 1 == count.min(QUEUE_ROWS);
        let more = match count > QUEUE_ROWS && last {
            true => format!(" · +{}", count - QUEUE_ROWS),
            false => String::new(),
        };
        let keys = match (last && !queue.items.is_empty(), queue.held) {
            (false, _) => "",
            (true, true) => " · Enter sends · ↑ edits",
            (true, false) => " · ↑ edits",
        };
        let head = format!("⏎ {word}: ");
        let taken = wrap::width(&head) + 2 + wrap::width(&more) + wrap::width(keys);
        let room = usize::from(width).saturating_sub(taken);
        let text = wrap::truncate(&Row::from(Span::new(wrap::expand_tabs(first, 4).as_ref())), room.max(1));
        let mut row = Row::empty().with(Span::new(head).muted());
        row.spans.extend(text.spans);
        row.push(Span::new(format!("{more}{keys}")).muted());
        rows.push(wrap::truncate(&row, usize::from(width)));
    }
}

/// Draws the composer; returns where its caret is.
pub(crate) fn composer(state: &State, width: u16, out: &mut Vec<Row>) -> (usize, usize) {
    if let Some(search) = &state.search {
        let found = state.composer.history.search(&search.words);
        let entry = found
            .get(search.chosen)
            .map_or_else(String::new, |entry| entry.lines().collect::<Vec<_>>().join(" "));
        let head = format!("search: {}", search.words);
        let column = wrap::width(&head);
        let count = match found.len() {
            0 => "  nothing found".to_owned(),
            count => format!("  {}/{count}  ", search.chosen + 1),
        };
        let row =
            Row::empty().with(Span::new(head).role(Role::Primary)).with(Span::new(count).muted()).with(entry);
        out.push(wrap::truncate(&row, usize::from(width)));
        return (0, column.min(usize::from(width)));
    }
    let because = state.questions.front().is_some_and(|asked| asked.because.is_some());
    let normal = state.options.vim && state.composer.vim.mode == crate::composer::vim::Mode::Normal;
    let sign = match (because, normal) {
        (true, _) => "w ",
        (false, true) => ": ",
        (false, false) => "› ",
    };
    let masked = state.hides_typing().then(|| state.composer.buffer.masked());
    let buffer = masked.as_ref().unwrap_or(&state.composer.buffer);
    let layout = Layout::new(buffer, usize::from(width).saturating_sub(2));
    let (row, column) = layout.position(buffer.cursor());
    let most = composer_room(state);
    let first = (row + 1).saturating_sub(most);
    for (i, text) in layout.rows(first, most).into_iter().enumerate() {
        let start = if i == 0 { Span::new(sign).role(Role::Primary).bold() } else { Span::new("  ") };
        let mut line = Row::empty().with(start);
        line.spans.extend(text.spans);
        if i == 0 && layout.height() == 1 {
            line = with_hint(state, line, width);
        }
        out.push(line);
    }
    (row - first, column + 2)
}

/// Returns whether a question is open that keys do not answer, because something is being typed.
fn asks_behind_draft(state: &State) -> bool {
    let call =
        state.questions.front().is_some_and(|asked| asked.because.is_none()) && !question_has_keys(state);
    let own = state.confirm.is_some() && !confirm_has_keys(state);
    !state.composer.is_empty() && (call || own)
}

/// The words at the right of the composer: what its keys do now.
fn with_hint(state: &State, line: Row, width: u16) -> Row {
    if width < 60 {
        return line;
    }
    let words = if let Some(hint) = &state.hint {
        hint.text.clone()
    } else if let Some(note) = state.completion.as_ref().and_then(|list| list.note(&state.facts)) {
        note
    } else if asks_behind_draft(state) {
        "Tab: answer the question".to_owned()
    } else if state.turn.is_some() && !state.composer.is_empty() && !state.answers_in_words() {
        "Enter queues · Tab sends into this turn".to_owned()
    } else {
        return line;
    };
    line.with_right(Row::from(Span::new(words).muted()), width)
}

/// What stands below the composer: a list, or the footer. `room`: how many rows a list may have.
fn below(state: &State, width: u16, room: usize) -> Vec<Row> {
    match &state.completion {
        Some(completion) => completion.rows(width, room),
        None if state.shortcuts => shortcuts::rows(&state.options, width),
        None => match &state.hint {
            Some(hint) if width < 60 => vec![wrap::truncate(
                &Span::new(format!("  {}", hint.text)).muted().into(),
                usize::from(width),
            )],
            _ => vec![footer::footer(&state.facts, &state.options.footer, width)],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_fills_and_is_turned() {
        let shown = |rows: usize, room: usize| {
            let live = (0..rows).map(|i| Row::from(Span::new(i.to_string()))).collect();
            let mut out = Vec::new();
            page(live, room, &mut out);
            out.iter().map(Row::text).collect::<Vec<_>>().join("|")
        };
        assert_eq!(shown(3, 6), "0|1|2");
        assert_eq!(shown(6, 6), "0|1|2|3|4|5");
        assert_eq!(shown(7, 6), "… 2 more rows|2|3|4|5|6");
        assert_eq!(shown(8, 6), "… 4 more rows|4|5|6|7|");
        assert_eq!(shown(9, 6), "… 4 more rows|4|5|6|7|8");
        assert_eq!(shown(9, 2), "… 8 more rows|8");
        assert_eq!((shown(9, 1), shown(9, 0)), ("… 9 more rows".to_owned(), String::new()));
        for room in 2..12 {
            for rows in room + 1..60 {
                let page = shown(rows, room);
                assert_eq!(page.matches('|').count() + 1, room, "the page keeps its height: {page}");
                assert!(page.contains(&format!("{}", rows - 1)), "the newest row is there: {page}");
            }
        }
    }
}
