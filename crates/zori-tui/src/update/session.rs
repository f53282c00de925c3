//! Events of the session, and the beginning and end of turns.

use std::time::Duration;

use zori_core::cost::Spent;
use zori_core::event::{
    CALL_REASON, Event, EventKind, MessageEvent, NoticeLevel, PROVIDER_STATUS, StateEvent, ToolEvent,
    TurnEvent,
};
use zori_core::ids::AgentId;
use zori_core::input::Prompt;
use zori_core::outcome::{CancelCause, Outcome};

use super::{Effect, question, queue};
use crate::panel::PanelEffect;
use crate::state::{Phase, State, Turn};

/// A turn from which on its end is told (TRN-6).
const LONG: Duration = Duration::from_secs(10);

/// How a turn ended.
#[derive(Clone, Debug)]
pub struct TurnOver {
    /// `None` for what is no turn of the model's, such as a compaction.
    pub outcome: Option<Outcome>,
    /// What went wrong, in a sentence.
    pub error: Option<String>,
    /// What the provider said, as it said it.
    pub details: Option<String>,
    /// The ways out of it.
    pub ways_out: Vec<String>,
    pub context: u64,
    pub spent: Spent,
}

pub(super) fn turn_begins(state: &mut State, prompt: Prompt) {
    // A command of the user's or a compaction has no prompt, and says nothing of those that wait.
    let failed = if prompt.text.is_empty() { None } else { state.queue.behind_failed.take() };
    let goes_on = failed.is_some_and(|failed| failed == prompt.text) || state.queue.items.is_empty();
    state.queue.held &= !goes_on;
    state.turn = Some(Turn {
        started: state.now,
        phase: Phase::Waiting,
        since: state.now,
        heard: state.now,
        bytes: 0,
        shown_bytes: 0,
        beat: 0,
        first: None,
        stopped: None,
        overdue: false,
        prompt: Some(prompt),
        answered: false,
        files_changed: Vec::new(),
        added: 0,
        removed: 0,
        spent_before: state.facts.spent,
    });
}

/// Returns whether an event is what a provider says of its own work.
fn is_status(event: &Event) -> bool {
    matches!(&event.kind, EventKind::Notice(notice) if [PROVIDER_STATUS, CALL_REASON].contains(&notice.code))
}

/// Takes an event.
pub(super) fn event(state: &mut State, event: &Event, effects: &mut Vec<Effect>) {
    // What the panel's feed tells need not stand in the chat, too (UI-4).
    let in_feed_only = state.tab.is_some() && !state.options.status_in_chat && is_status(event);
    if !in_feed_only {
        state.transcript.event(event, state.now);
    }
    if let Some(tab) = &mut state.tab {
        tab.feed.event(event);
        tab.unread = true;
        // It may be about what a card shows.
        effects.extend(is_status(event).then_some(Effect::Panel(PanelEffect::Facts)));
    }
    if let EventKind::Turn(TurnEvent::TurnStarted { .. }) = &event.kind
        && event.parent.is_none()
    {
        for note in std::mem::take(&mut state.turn_notes) {
            state.transcript.notice(NoticeLevel::Info, &note);
        }
    }
    match &event.kind {
        EventKind::Notice(notice) if notice.code == CALL_REASON => {
            state.call_reason = Some(notice.text.clone());
        }
        EventKind::Message(MessageEvent::RequestStarted) => state.call_reason = None,
        _ => {}
    }
    let now = state.now;
    if let EventKind::State(change) = &event.kind {
        match change {
            StateEvent::ModelChanged { model } => state.facts.model = model.to_string(),
            StateEvent::ModeChanged { to, .. } => state.facts.mode = (*to).to_owned(),
            StateEvent::TodosChanged { todos } => state.todos = todos.to_vec(),
            StateEvent::ContextCompacted(compaction) => state.facts.context = compaction.after,
            // The cells of the calls show what changed.
            StateEvent::FilesChanged(_) | StateEvent::FilesRewound(_) => {}
        }
    }
    // What the user runs beside a turn is no part of it either.
    let nested = event.parent.is_some() || event.agent != AgentId::MAIN;
    if let (EventKind::Turn(TurnEvent::Steered { text }), false) = (&event.kind, nested) {
        queue::read(state, text);
    }
    if let EventKind::Message(MessageEvent::MessageFinished(reply)) = &event.kind {
        let prices = state.facts.prices;
        if let Some(spent) = &mut state.facts.spent {
            *spent += Spent::request(reply.usage, prices);
        }
        if !nested {
            state.facts.context = reply.usage.total();
        }
    }
    if let EventKind::Tool(ToolEvent::ApprovalResolved { call, .. }) = &event.kind {
        // Answered elsewhere, or nobody is asked any more.
        question::drop_where(state, |asked| asked.call == *call);
    }
    let Some(turn) = &mut state.turn else { return };
    turn.heard = now;
    if nested {
        return;
    }
    let phase = |turn: &mut Turn, phase: Phase| {
        if turn.phase != phase {
            turn.phase = phase;
            turn.since = now;
        }
    };
    match &event.kind {
        EventKind::Message(MessageEvent::RequestStarted) => {
            (turn.bytes, turn.first) = (0, None);
            phase(turn, Phase::Waiting);
        }
        EventKind::Message(MessageEvent::Retrying { attempt, max, delay, failure }) => {
            let why = failure.message.lines().next().unwrap_or_default().to_owned();
            phase(turn, Phase::Retrying { at: now + *delay, attempt: *attempt, max: *max, why });
        }
        EventKind::Message(MessageEvent::AssistantDelta { text }) => {
            turn.answered = true;
            turn.bytes += text.len();
            turn.first.get_or_insert(now);
            phase(turn, Phase::Answering);
        }
        EventKind::Message(MessageEvent::ThinkingDelta { text }) => {
            turn.answered = true;
            turn.bytes += text.len();
            turn.first.get_or_insert(now);
            phase(turn, Phase::Thinking);
        }
        EventKind::Message(MessageEvent::ToolInputDelta { json, .. }) => {
            turn.answered = true;
            turn.bytes += json.len();
            turn.first.get_or_insert(now);
        }
        EventKind::Tool(ToolEvent::ToolStarted { name, .. }) => phase(turn, Phase::Running(name.to_string())),
        EventKind::Tool(ToolEvent::ToolFinished(finished)) => {
            turn.answered = true;
            // A file that was written as it was is not changed.
            for change in finished.output.changes.iter().filter(|change| change.before != change.after) {
                let path = change.path.display().to_string();
                if !turn.files_changed.contains(&path) {
                    turn.files_changed.push(path);
                }
                let (added, removed) = crate::cells::line_counts(change);
                turn.added += added;
                turn.removed += removed;
            }
        }
        _ => {}
    }
    let _ = effects;
}

pub(super) fn turn_over(state: &mut State, over: TurnOver, effects: &mut Vec<Effect>) {
    state.transcript.settle_all();
    question::drop_where(state, |_| true);
    state.facts.context = over.context;
    state.facts.spent = Some(over.spent);
    queue::take_back_steered(state);
    let Some(turn) = state.turn.take() else { return };
    let took = state.now.saturating_sub(turn.started);
    let files = match turn.files_changed.len() {
        0 => None,
        1 => Some(format!("1 file +{} -{}", turn.added, turn.removed)),
        count => Some(format!("{count} files +{} -{}", turn.added, turn.removed)),
    };
    let has = |name: &str| state.options.commands.iter().any(|command| command.name == name);
    let ways = |names: &[&str]| names.iter().filter(|name| has(name)).copied().collect::<Vec<_>>().join(" ");
    match &over.outcome {
        Some(Outcome::Cancelled(CancelCause::User)) => {
            let mut parts = vec![format!("■ Stopped after {}", seconds(took))];
            if files.is_some() {
                let count = crate::cells::counted(turn.files_changed.len(), "file", "files");
                parts.push(format!("{count} changed"));
                parts.extend(Some(ways(&["/undo"])).filter(|ways| !ways.is_empty()));
            }
            state.transcript.notice(NoticeLevel::Info, &parts.join(" · "));
            give_back(state, &turn);
        }
        Some(Outcome::Completed(_)) | None => {
            if took >= LONG || files.is_some() {
                let mut parts = vec![format!("✓ {}", seconds(took))];
                parts.extend(files);
                if let (Some(before), Some(after)) =
                    (turn.spent_before.and_then(|spent| spent.cost), over.spent.cost)
                {
                    let cost = after.0.saturating_sub(before.0);
                    if cost >= 10_000 {
                        parts.push(format!("${}.{:02}", cost / 1_000_000, cost % 1_000_000 / 10_000));
                    }
                }
                parts.extend(
                    Some(ways(&["/diff", "/undo"]))
                        .filter(|ways| !ways.is_empty() && !turn.files_changed.is_empty()),
                );
                if over.outcome.is_some() {
                    state.transcript.notice(NoticeLevel::Info, &parts.join(" · "));
                }
            }
        }
        Some(_) => {
            if let Some(error) = &over.error {
                state.transcript.failed(error, &over.ways_out, over.details.as_deref());
            }
            state.queue.held = true;
            state.queue.behind_failed = turn.prompt.as_ref().map(|prompt| prompt.text.clone());
            give_back(state, &turn);
        }
    }
    if took >= LONG && state.is_unwatched() {
        effects.push(Effect::Notify(format!("The turn is over after {}", seconds(took))));
    }
    effects.push(Effect::LookAround);
    queue::next(state, effects);
}

/// The prompt comes back into an empty composer if nothing came of it.
fn give_back(state: &mut State, turn: &Turn) {
    if let (false, true, Some(prompt)) = (turn.answered, state.composer.is_empty(), &turn.prompt) {
        state.composer.set(&prompt.text);
        for image in prompt.images.clone() {
            state.composer.attach(image);
        }
        state.given_back = true;
    }
}

fn seconds(time: Duration) -> String {
    match time.as_secs() {
        0 => format!("{}.{}s", 0, time.subsec_millis() / 100),
        seconds @ 1..60 => format!("{seconds}s"),
        seconds => format!("{}m {}s", seconds / 60, seconds % 60),
    }
}
