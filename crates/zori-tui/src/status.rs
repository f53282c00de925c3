//! The status row of a running turn (STA-1).

use std::time::Duration;

use crate::cell::Signs;
use crate::cells::thousands;
use crate::row::{Role, Row, Span};
use crate::state::{Phase, State, Turn};
use crate::wrap;

/// How long nothing may come before that is said.
const SILENCE: Duration = Duration::from_secs(15);
/// How often the sign changes.
pub const BEAT: Duration = Duration::from_millis(250);

/// Returns the status row.
pub fn status(state: &State, turn: &Turn, width: u16) -> Row {
    let sign = sign(state);
    let seconds = |since: Duration| shown_seconds(state.now.saturating_sub(since), state.options.motion);
    let mut row = Row::empty().with(Span::new(sign).role(Role::Accent)).with(" ");
    if turn.stopped.is_some() {
        row.push(match turn.overdue {
            true => Span::new("Stopping; it does not end. Ctrl-C again ends zori").role(Role::Warning),
            false => Span::new("Stopping"),
        });
        return wrap::truncate(&row, usize::from(width));
    }
    let elapsed = format!("{}s", seconds(turn.started));
    // Other calls may run meanwhile; what it waits for is the answer.
    let phase = if state.questions.is_empty() { &turn.phase } else { &Phase::Asking };
    let words = doing(phase, state.now, &state.facts.model);
    row.push(match phase {
        Phase::Asking | Phase::Retrying { .. } => words,
        Phase::Running(_) => format!("{words} {}s", seconds(turn.since)),
        Phase::Waiting | Phase::Thinking | Phase::Answering | Phase::Compacting => {
            format!("{words} {elapsed}")
        }
    });
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
    if let Phase::Retrying { why, .. } = &turn.phase {
        let why = wrap::truncate(&Row::from(Span::new(why.as_str())), usize::from(width) / 2);
        more.push(why.text());
    }
    let silent = state.now.saturating_sub(turn.heard);
    if silent >= SILENCE && matches!(turn.phase, Phase::Waiting | Phase::Answering | Phase::Thinking) {
        more.push(format!("no answer for {}s", silent.as_secs()));
    }
    let esc = match phase {
        _ if width < 60 => "Esc",
        Phase::Asking => match state.questions.front() {
            Some(asked) if asked.because.is_some() => "Esc goes back",
            // Keys are for what is being typed, and the turn is what Esc stops then.
            Some(asked) if !asked.entered && !state.composer.is_empty() => "Esc stops",
            // It answers the question, and the turn goes on (KEY-6).
            _ => "Esc: no",
        },
        _ => "Esc stops",
    };
    for part in more {
        row.push(Span::new(format!(" · {part}")).muted());
    }
    // How it is stopped is seen before all of what it does is.
    let esc = Row::from(Span::new(format!(" · {esc}")).muted());
    let mut row = wrap::truncate(&row, usize::from(width).saturating_sub(esc.width()));
    row.spans.extend(esc.spans);
    wrap::truncate(&row, usize::from(width))
}

/// Returns the seconds that are shown of a time that passes: every tenth where nothing is to move (ACC-2).
pub(crate) fn shown_seconds(passed: Duration, motion: bool) -> u64 {
    let seconds = passed.as_secs();
    if motion { seconds } else { seconds - seconds % 10 }
}

/// Says what a turn does at this time.
pub(crate) fn doing(phase: &Phase, now: Duration, model: &str) -> String {
    match phase {
        Phase::Waiting => format!("Waiting for {model}"),
        Phase::Thinking => "Thinking".to_owned(),
        Phase::Answering => "Answering".to_owned(),
        Phase::Running(tool) => format!("Running {tool}"),
        Phase::Asking => "Asking you".to_owned(),
        Phase::Retrying { at, attempt, max, .. } => {
            format!("Retrying in {}s ({attempt}/{max})", at.saturating_sub(now).as_secs())
        }
        Phase::Compacting => "Compacting".to_owned(),
    }
}

/// Returns the sign of something that goes on, for what does not move.
pub(crate) fn still(signs: Signs) -> &'static str {
    match signs {
        Signs::Unicode => "✶",
        Signs::Ascii => "*",
    }
}

/// Returns the sign of something that goes on.
pub(crate) fn sign(state: &State) -> &'static str {
    let beat = (state.now.as_millis() / BEAT.as_millis()) as usize;
    match (state.options.signs, state.options.motion) {
        (Signs::Unicode, true) => ["✶", "✷", "✸", "✷"][beat % 4],
        (Signs::Ascii, true) => ["*", "+", "x", "+"][beat % 4],
        (signs, false) => still(signs),
    }
}
