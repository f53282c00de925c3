//! The status row of a running turn (STA-1), and the footer (STA-2).

use std::time::Duration;

use crate::cell::Signs;
use crate::cells::thousands;
use crate::row::{Role, Row, Span};
use crate::state::{Facts, Phase, State, Turn};
use crate::wrap;

/// How long nothing may come before that is said.
const SILENCE: Duration = Duration::from_secs(15);
/// How often the sign changes.
pub const BEAT: Duration = Duration::from_millis(250);

/// Returns the status row.
pub fn status(state: &State, turn: &Turn, width: u16) -> Row {
    let sign = sign(state);
    let seconds = |since: Duration| state.now.saturating_sub(since).as_secs();
    let mut row = Row::empty().with(Span::new(sign).role(Role::Accent)).with(" ");
    if turn.stopped.is_some() {
        row.push(match turn.overdue {
            true => Span::new("Stopping; it does not end. Ctrl-C again ends zori").role(Role::Warning),
            false => Span::new("Stopping"),
        });
        return wrap::truncate(&row, usize::from(width));
    }
    let elapsed = format!("{}s", seconds(turn.started));
    let words = match &turn.phase {
        Phase::Waiting => format!("Waiting for {} {elapsed}", state.facts.model),
        Phase::Thinking => format!("Thinking {elapsed}"),
        Phase::Answering => format!("Answering {elapsed}"),
        Phase::Running(tool) => format!("Running {tool} {}s", seconds(turn.since)),
        Phase::Asking => "Asking you".to_owned(),
        Phase::Retrying { at, attempt, max } => {
            format!("Retrying in {}s ({attempt}/{max})", at.saturating_sub(state.now).as_secs())
        }
        Phase::Compacting => format!("Compacting {elapsed}"),
    };
    row.push(words);
    let mut more = Vec::new();
    if matches!(turn.phase, Phase::Answering | Phase::Thinking) {
        // About four bytes are a token; the exact number comes with the end of the reply.
        let tokens = turn.shown_bytes / 4;
        if tokens > 0 {
            more.push(format!("{} tokens", thousands(tokens as u64)));
        }
        if let Some(rate) = turn.first.and_then(|first| {
            let passed = state.now.saturating_sub(first).as_secs();
            (passed >= 1).then(|| tokens as u64 / passed)
        }) {
            more.push(format!("{rate}/s"));
        }
    }
    let silent = state.now.saturating_sub(turn.heard);
    if silent >= SILENCE && matches!(turn.phase, Phase::Waiting | Phase::Answering | Phase::Thinking) {
        more.push(format!("no answer for {}s", silent.as_secs()));
    }
    more.push(if width < 60 { "Esc".to_owned() } else { "Esc stops".to_owned() });
    for part in more {
        row.push(Span::new(format!(" · {part}")).muted());
    }
    wrap::truncate(&row, usize::from(width))
}

fn sign(state: &State) -> &'static str {
    let beat = (state.now.as_millis() / BEAT.as_millis()) as usize;
    match (state.options.signs, state.options.motion) {
        (Signs::Unicode, true) => ["✶", "✷", "✸", "✷"][beat % 4],
        (Signs::Unicode, false) => "✶",
        (Signs::Ascii, true) => ["*", "+", "x", "+"][beat % 4],
        (Signs::Ascii, false) => "*",
    }
}

/// Returns the footer. What does not fit is left out from the right, but never the mode.
pub fn footer(facts: &Facts, width: u16) -> Row {
    let mode = Span::new(facts.mode.to_uppercase());
    let mode = if facts.mode == "yolo" { mode.role(Role::Warning).reverse() } else { mode.bold() };
    let mut parts: Vec<Row> = Vec::new();
    let narrow = width < 60;
    if !narrow {
        parts.push(Span::new(facts.model.as_str()).muted().into());
    }
    let at_mode = parts.len();
    parts.push(mode.into());
    if let Some(window) = facts.window.filter(|window| *window > 0) {
        let percent = facts.context * 100 / window;
        let role = match percent {
            95.. => Role::Error,
            80.. => Role::Warning,
            _ => Role::Muted,
        };
        let text =
            if narrow { format!("{percent}%") } else { format!("{percent}% of {}", thousands(window)) };
        parts.push(Span::new(text).role(role).into());
    } else if facts.context > 0 {
        parts.push(Span::new(format!("{} tokens", thousands(facts.context))).muted().into());
    }
    if let Some(spent) = facts.spent {
        let cost = match spent.cost {
            Some(cost) => format!("${}.{:02}", cost.0 / 1_000_000, cost.0 % 1_000_000 / 10_000),
            None => "$?".to_owned(),
        };
        parts.push(Span::new(cost).muted().into());
        if let Some(hits) = spent.usage.cache_hits().filter(|_| !narrow && spent.usage.total() > 0) {
            parts.push(Span::new(format!("cache {hits}%")).muted().into());
        }
    }
    if !narrow {
        parts.extend(facts.branch.as_ref().map(|branch| Row::from(Span::new(branch.as_str()).muted())));
        if !facts.folder.is_empty() {
            parts.push(Span::new(facts.folder.as_str()).muted().into());
        }
    }
    let room = usize::from(width).saturating_sub(2);
    let total =
        |parts: &[Row]| parts.iter().map(Row::width).sum::<usize>() + 3 * parts.len().saturating_sub(1);
    while total(&parts) > room && parts.len() > at_mode + 1 {
        parts.pop();
    }
    if total(&parts) > room && at_mode > 0 {
        parts.remove(0);
    }
    let mut row = Row::empty().with("  ");
    for (i, part) in parts.into_iter().enumerate() {
        if i > 0 {
            row.push(Span::new(" · ").muted());
        }
        row.spans.extend(part.spans);
    }
    wrap::truncate(&row, usize::from(width))
}

#[cfg(test)]
mod tests {
    use super::*;
    use zori_core::cost::{MicroUsd, Spent};
    use zori_core::usage::Usage;

    #[test]
    fn the_mode_is_always_there() {
        let usage = Usage { input: 900, cache_read: 9100, ..Usage::NOTHING };
        let facts = Facts {
            model: "opus-5-5".into(),
            mode: "yolo".into(),
            context: 42_000,
            window: Some(200_000),
            spent: Some(Spent { usage, cost: Some(MicroUsd(130_400)) }),
            prices: None,
            branch: Some("main".into()),
            folder: "~/proj".into(),
            title: None,
        };
        let shown = |width| footer(&facts, width).text();
        assert_eq!(shown(99), "  opus-5-5 · YOLO · 21% of 200k · $0.13 · cache 91% · main · ~/proj");
        assert_eq!(shown(60), "  opus-5-5 · YOLO · 21% of 200k · $0.13 · cache 91% · main");
        assert_eq!(shown(39), "  YOLO · 21% · $0.13");
        assert_eq!(shown(10), "  YOLO");
        assert_eq!(shown(4), "  Y…");
    }
}
