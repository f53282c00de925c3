//! The chat's commands that go back: `/undo`, `/redo`, `/rewind` and `/diff`.

use std::collections::BTreeMap;

use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::text;
use zori_host::{Force, Session, UndoGoal, UndoRequest, UndoScope, Undone, undo_answer, undo_lines};
use zori_store::SessionTurn;
use zori_tui::transcript::Transcript;

use super::slash::Next;
use super::slash::report::bad_turn;
use super::{Chat, server_chat};
use zori_setup::undo::failure;

const BY: &str = "user";

/// `/undo [N]`: the last turns, files and conversation. `/undo #C`: back to before the turn of a cell, where cells have numbers.
pub(super) fn undo(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let count = match rest {
        "" => 1,
        text if text.starts_with('#') => {
            let Some(cells) = chat.cells.clone() else {
                let message = format!("`/undo {text}`: this chat does not number its calls");
                return Err(Failure::new(&VALIDATION_ERROR, message)
                    .hint("`/rewind` lists the turns and goes back to one of them"));
            };
            let session = chat.plain.session();
            let turn = cells.with(|shown| turn_of_cell(session, &shown.state.transcript, &text[1..]))?;
            return back(chat, UndoGoal::Turn(turn), UndoScope::Both);
        }
        text => text.parse().ok().filter(|count| *count > 0).ok_or_else(|| {
            Failure::new(&VALIDATION_ERROR, format!("`/undo {text}`: how many turns is a number from 1"))
                .hint("`/rewind` lists the turns and goes back to one of them")
        })?,
    };
    back(chat, UndoGoal::Last(count), UndoScope::Both)
}

/// Returns the turn in which the call of a cell ran.
pub fn turn_of_cell(session: &Session, transcript: &Transcript, cell: &str) -> Result<u32, Failure> {
    let no_cell = || {
        let message = format!("`/undo #{cell}`: no call of this conversation has that number");
        Failure::new(&VALIDATION_ERROR, message)
            .hint("the number of a call stands at its right; `/rewind` lists the turns")
    };
    let number = cell.parse().map_err(|_| no_cell())?;
    let entry = transcript.numbered(number).ok_or_else(no_cell)?;
    let call = entry.cell.call_id().ok_or_else(no_cell)?;
    let turns = session.turns().map_err(failure)?;
    let turn = turns.iter().find(|turn| turn.calls.contains(call)).ok_or_else(no_cell)?;
    Ok(turn.number)
}

/// `/redo`: takes the last undo back.
pub(super) fn redo(chat: &mut Chat<'_, '_>, _: &str) -> Result<Next, Failure> {
    back(chat, UndoGoal::Redo, UndoScope::Both)
}

/// `/rewind [TURN [files|chat]]`: lists the turns, or goes back to before one.
pub(super) fn rewind(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let mut words = rest.split_whitespace();
    let Some(turn) = words.next() else { return list(chat) };
    let bad = |what: &str| {
        Failure::new(&VALIDATION_ERROR, format!("`/rewind {rest}`: {what}"))
            .hint("`/rewind` lists the turns; `/rewind 3`, `/rewind 3 files` and `/rewind 3 chat` go back")
    };
    let turn = turn.trim_start_matches('#').parse().map_err(|_| bad("a turn is a number"))?;
    let what = match words.next() {
        None | Some("both") => UndoScope::Both,
        Some("files") => UndoScope::Files,
        Some("chat") => UndoScope::Chat,
        Some(_) => return Err(bad("what goes back is `files`, `chat` or `both`")),
    };
    back(chat, UndoGoal::Turn(turn), what)
}

/// `/diff [TURN|session]`: what the last turn changed, another one, or all of them.
pub(super) fn diff(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let session = chat.plain.session();
    let turn = match rest {
        "session" => None,
        "" => session.turns().map_err(failure)?.iter().rev().find(|turn| turn.active).map(|turn| turn.number),
        text => Some(text.parse().map_err(|_| bad_turn(text))?),
    };
    let diff = session.diff(turn).map_err(failure)?;
    match diff.is_empty() {
        true => chat.cx.ui.say(&match (rest, turn) {
            ("", Some(_)) => {
                "The last turn changed no file; `/diff session` shows what all of them changed.".into()
            }
            (_, Some(turn)) => format!("Turn {turn} changed no file."),
            (_, None) => "No file was changed in this session.".to_owned(),
        }),
        false => diff.lines().for_each(|line| chat.cx.ui.say(line)),
    }
    Ok(Next::Done)
}

/// How many turns are looked at for the lines that they changed, from the newest.
const COUNTED_TURNS: usize = 50;

/// Returns how many lines the turns of a session added and removed, as far as that is known.
pub fn turn_lines(session: &Session, turns: &[SessionTurn]) -> BTreeMap<u32, (u64, u64)> {
    let changes = |turn: &SessionTurn| (turn.number, turn.changed.iter().sum::<u64>());
    let changed = turns.iter().rev().filter(|turn| turn.active).map(changes).filter(|(_, count)| *count > 0);
    let newest: Vec<(u32, u64)> = changed.take(COUNTED_TURNS).collect();
    session.line_counts(&newest).unwrap_or_default()
}

/// Says what a turn changed: `2 files +12 -3`; `None` if that is nothing.
pub fn changed_words(turn: &SessionTurn, lines: &BTreeMap<u32, (u64, u64)>) -> Option<String> {
    let count = turn.changed.iter().sum::<u64>();
    let files = if count == 1 { "file" } else { "files" };
    let lines = match lines.get(&turn.number) {
        Some((added, removed)) if added + removed > 0 => format!(" +{added} -{removed}"),
        _ => String::new(),
    };
    (count > 0).then(|| format!("{count} {files}{lines}"))
}

fn list(chat: &mut Chat<'_, '_>) -> Result<Next, Failure> {
    let turns = chat.plain.session().turns().map_err(failure)?;
    if turns.is_empty() {
        chat.cx.ui.say("There is no turn to go back to yet.");
    }
    let lines = turn_lines(chat.plain.session(), &turns);
    for turn in turns.iter().filter(|turn| turn.active) {
        let files = changed_words(turn, &lines).map_or_else(String::new, |words| format!(" ({words})"));
        let words = text::one_line(&turn.prompt);
        chat.cx.ui.say(&format!("  {:>3}  {}{files}", turn.number, text::prefix(&words, 60)));
    }
    if !turns.is_empty() {
        chat.cx.ui.say("`/rewind N` goes back to before turn N; `/rewind N files` or `chat`: only that");
    }
    Ok(Next::Done)
}

fn back(chat: &mut Chat<'_, '_>, goal: UndoGoal, what: UndoScope) -> Result<Next, Failure> {
    let request = UndoRequest { goal, what, force: Force::Keep, dry_run: true, by: BY };
    let planned = chat.plain.session_mut().undo(request).map_err(failure)?;
    let root = chat.plain.session().project_root().to_owned();
    let people = chat.cx.terminal.interactive() && chat.cx.front.events().is_none();
    let question = question(&planned, &root).filter(|_| people);
    let lines = chat_lines(&undo_lines(&planned, &root, true));
    let plan = UndoPlan { request: UndoRequest { dry_run: false, ..request }, lines, question };
    match plan.question.is_some() {
        true => Ok(Next::Undo(plan)),
        false => plan.carry_out(chat).map(Next::WentBack),
    }
}

/// What would go back, before anybody said so.
pub struct UndoPlan {
    request: UndoRequest,
    /// What would happen, in sentences.
    pub lines: Vec<String>,
    /// The same as one question; `None` where no file would change.
    question: Option<String>,
}

impl UndoPlan {
    /// Asks at the terminal, line by line.
    pub(super) fn ask(&self, chat: &mut Chat<'_, '_>) -> Result<(), Failure> {
        let question = self.question.as_deref().unwrap_or_default();
        if chat.cells.is_some() {
            self.lines.iter().for_each(|line| chat.cx.ui.say(line));
        }
        chat.cx.ui.raw(&format!("{question} [y/N] "));
        let yes = chat.plain.ask_line().is_some_and(|line| matches!(line.trim(), "y" | "Y" | "yes"));
        match yes {
            true => self.carry_out(chat).map(drop),
            false => {
                chat.cx.ui.say(NOTHING_CHANGED);
                Ok(())
            }
        }
    }

    /// Puts everything back, and says what that was; returns the prompt of the turn that is gone.
    pub fn carry_out(&self, chat: &mut Chat<'_, '_>) -> Result<Option<String>, Failure> {
        let done = chat.plain.session_mut().undo(self.request).map_err(failure)?;
        let lines = undo_answer(&done, chat.plain.session().project_root());
        lines.iter().for_each(|line| chat.cx.ui.say(line));
        if let Some(prompt) = &done.prompt {
            let words = text::one_line(prompt);
            chat.cx.ui.say(&format!("Its prompt was: {}", text::prefix(&words, 200)));
        }
        if let Some(words) = server_chat::still_knows(&chat.plain).filter(|_| done.chat && !done.redo) {
            chat.cx.ui.say(words);
        }
        Ok(done.prompt)
    }
}

/// What is said when the person did not want it.
pub const NOTHING_CHANGED: &str = "Nothing was changed.";

/// Leaves out what can be given to the command of that name only.
fn chat_lines(lines: &[String]) -> Vec<String> {
    lines.iter().map(|line| line.replace(" (--replace takes it anyway)", "")).collect()
}

/// What would happen to the files, as a question; `None` if nothing would.
fn question(planned: &Undone, root: &std::path::Path) -> Option<String> {
    let report = planned.files.as_ref().filter(|report| !report.restored.is_empty())?;
    let act = |file: &zori_host::RestoredFile| {
        let verb = if file.state.is_none() { "remove" } else { "restore" };
        format!("{verb} {}", file.path.strip_prefix(root).unwrap_or(&file.path).display())
    };
    let acts: Vec<_> = report.restored.iter().take(10).map(act).collect();
    let count = report.restored.len();
    let more = if count > acts.len() { format!(" and {} more", count - acts.len()) } else { String::new() };
    let files = if count == 1 { "file" } else { "files" };
    Some(format!("{}{more} ({count} {files}, turn {})?", acts.join(", "), planned.to_turn))
}
