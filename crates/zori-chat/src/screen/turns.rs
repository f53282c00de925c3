//! Turns of the model, and what is like one: a command of the user's own, the question of `/loop`.

use std::fs::OpenOptions;
use std::io::{self, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use zori_core::event::NoticeLevel;
use zori_core::image::size_in_words;
use zori_core::input::Prompt;
use zori_core::permission::Verdict;
use zori_core::tool::{Effect, ToolKind};
use zori_host::TurnEnd;
use zori_tui::confirm::{Confirm, What};
use zori_tui::state::{Phase, State};
use zori_tui::update::{Effect as TuiEffect, Msg};

use super::files::{self, Named};
use super::peer::ScreenPeer;
use super::{Begun, Screen};
use crate::attachment::{self, Viewer};
use crate::chat::Chat;
use crate::chat::plan::PlanState;
use crate::chat::supervised;

impl Screen<'_, '_> {
    /// Runs one turn, and the queue goes on by itself.
    pub(super) fn turn(&mut self, prompt: Prompt) {
        if self.display.face.is_some() {
            self.begun = Some(Begun::Turn(prompt));
            return;
        }
        let prompt = self.before_turn(prompt);
        let Self { chat, display, outside, answers, .. } = self;
        // What was said of another turn does not hold for this one.
        let given_up = std::sync::Arc::new(tokio::sync::Notify::new());
        display.given_up = given_up.clone();
        outside.can_abandon = true;
        let mut peer = ScreenPeer { display, outside, answers: *answers };
        let end = chat.plain.turn_unless(prompt, &mut peer, given_up.notified());
        self.outside.can_abandon = false;
        match end {
            Some(end) => self.after_turn(end),
            None => self.abandon_turn(),
        }
    }

    /// Shows that a turn begins; returns its prompt with all that goes along.
    pub(super) fn before_turn(&mut self, prompt: Prompt) -> Prompt {
        let mut prompt = prompt;
        prompt.images.extend(std::mem::take(&mut self.chat.attached));
        let asked = prompt.clone();
        let title = &mut self.display.state.facts.title;
        title.get_or_insert_with(|| zori_store::title(&asked.text));
        let notes = attach_files(&mut self.chat, &self.display.state, &mut prompt);
        // A plan is made in a mode of its own.
        self.display.state.facts.mode = self.chat.plain.session().policy().mode.shown().to_owned();
        self.outside.beside = Some(self.chat.plain.beside(&asked.text));
        self.outside.snapshot = Some(self.snapshot());
        self.display.take(Msg::TurnBegins(asked));
        self.display.state.turn_notes = notes;
        prompt
    }

    /// Shows that a turn is over.
    pub(super) fn after_turn(&mut self, end: TurnEnd) {
        self.chat.plan_turn_over(&end);
        let outcome = end.summary.outcome.clone();
        self.turn_over(Some(end));
        self.tell_the_way_on();
        self.ask_title(&outcome);
        if !matches!(self.chat.plan, PlanState::Idle) {
            self.go_on_with_plan();
        } else if self.chat.supervised {
            self.loop_turns += 1;
            self.ask_to_continue();
        }
    }

    /// Says, where the script of the demo has been played, how a chat with a model begins.
    fn tell_the_way_on(&mut self) {
        let demo = self.chat.args.is_none() && self.chat.plain.run.agent_zero.is_none();
        if demo && self.display.face.is_none() && self.chat.plain.session().totals().turns == 1 {
            let name = self.chat.cx.profile.name;
            let back = if self.chat.plain.session().can_undo() { "`/diff`, `/undo`, " } else { "" };
            let words = format!(
                "That was a script. Look around: {back}Ctrl-O, `/`. With a key in ANTHROPIC_API_KEY, or after `{name} auth login`, \
                 `{name}` opens this chat with a real model; Ctrl-D leaves."
            );
            self.say(NoticeLevel::Info, &words);
        }
    }

    /// Runs a command of the user's own (CMP-5).
    pub(super) fn shell(&mut self, command: String, share: bool) {
        self.like_a_turn(Phase::Running("bash".to_owned()));
        if self.display.face.is_some() {
            self.begun = Some(Begun::Shell { command, share });
            return;
        }
        let Self { chat, display, outside, answers, .. } = self;
        let mut peer = ScreenPeer { display, outside, answers: *answers };
        chat.plain.shell_with(command, share, &mut peer);
        self.turn_over(None);
    }

    /// Shows that something runs that is no turn of the model's.
    pub(super) fn like_a_turn(&mut self, phase: Phase) {
        self.display.take(Msg::TurnBegins(Prompt::from("")));
        if let Some(turn) = &mut self.display.state.turn {
            turn.phase = phase;
            turn.prompt = None;
        }
    }

    /// Asks about the steps of a plan, or begins the one that is due as soon as nothing else runs.
    fn go_on_with_plan(&mut self) {
        if let Some((lines, question)) = self.chat.plan_question() {
            return self.display.take(Msg::Confirm(Confirm::new(What::Plan, question).below(lines)));
        }
        self.tell();
        if let PlanState::Due(plan) = &self.chat.plan {
            let next = format!("/plan resume {}", plan.id);
            self.outside.later.push_back(TuiEffect::Command(next));
        }
    }

    /// Asks whether the loop goes on, in the status row (NFR-007).
    fn ask_to_continue(&mut self) {
        let text = format!("loop, turn {} · {}", self.loop_turns, supervised::QUESTION);
        self.display.take(Msg::Confirm(Confirm::new(What::Loop, text)));
    }

    /// Adds a line to the project's guidelines (CMP-6).
    fn add_guideline(&mut self, text: &str) {
        match guideline(&self.outside.root, text) {
            Ok(words) => self.say(NoticeLevel::Info, words),
            Err(why) => self.say(NoticeLevel::Warning, &why),
        }
    }

    /// Takes the answer to a question of the chat itself.
    pub(super) fn confirmed(&mut self, what: What, yes: bool) {
        match (what, yes) {
            (What::Loop, true) => self.display.take(Msg::Next),
            (What::Loop, false) => {
                self.chat.supervised = false;
                self.loop_turns = 0;
                self.say(NoticeLevel::Info, "The loop is over.");
                self.display.take(Msg::Next);
            }
            (What::Undo, yes) => self.undo_answered(yes),
            (What::Plan, yes) => {
                self.chat.answer_plan(yes);
                self.tell();
                self.go_on_with_plan();
                self.display.take(Msg::Next);
            }
            (What::Guideline(text), true) => self.add_guideline(&text),
            (What::Guideline(_), false) => self.say(NoticeLevel::Info, NO_GUIDELINE),
        }
        self.go_on_with_queue();
    }

    /// Has the next message go out behind something that was no turn, unless what is due leads to it by itself.
    pub(super) fn go_on_with_queue(&mut self) {
        let leads_on = |effect: &TuiEffect| {
            matches!(
                effect,
                TuiEffect::Prompt(_)
                    | TuiEffect::Command(_)
                    | TuiEffect::Shell { .. }
                    | TuiEffect::Confirmed { .. }
            )
        };
        let state = &self.display.state;
        let busy = state.turn.is_some() || state.confirm.is_some() || self.begun.is_some();
        if !busy && !self.display.effects.iter().chain(&self.outside.later).any(leads_on) {
            self.display.take(Msg::Next);
        }
    }

    /// Has later sessions begin in the mode that was chosen while the turn ran.
    pub(super) fn keep_mode(&mut self) {
        let shown = self.chat.plain.session().policy().mode.shown().to_owned();
        let settings = &mut self.chat.plain.host.settings;
        let permission = &mut settings.permission;
        if permission.policy.mode.shown() != shown
            && let Ok((choice, shell)) = permission.modes.named("/mode", &shown)
        {
            settings.tools.child_env.set_mode(choice.mode);
            permission.policy.mode = choice;
            permission.policy.shell = shell;
            permission.modes.source = "Shift-Tab".to_owned();
        }
    }

    pub(super) fn turn_over(&mut self, end: Option<TurnEnd>) {
        self.outside.snapshot = None;
        self.chat.keep_title();
        if let Some(effort) = self.outside.effort.take() {
            self.chat.plain.host.settings.request.effort = effort;
            if let Some(args) = &mut self.chat.args {
                args.model.thinking = effort;
            }
        }
        self.keep_mode();
        if let Some(model) = self.outside.chosen_model.take() {
            self.chat.keep_model(Some(&model));
        }
        self.display.drain_events();
        self.outside.keep_branch(&self.display);
        self.display.inputs.clear();
        self.count_asides();
        self.outside.beside = Some(self.chat.plain.beside(""));
        let session = self.chat.plain.session();
        let facts = &mut self.display.state.facts;
        facts.mode = session.policy().mode.shown().to_owned();
        facts.model = session.model().to_owned();
        let over = self.chat.turn_over(end.as_ref(), self.spent(), Some("Enter sends again"));
        if let Some(end) = &end {
            self.chat.cx.ui.notices(&end.notices);
        }
        self.display.take(Msg::TurnOver(over));
        self.tell();
    }
}

/// Lets the files that a prompt names go along with it (CMP-3); returns what is said of each.
pub fn attach_files(chat: &mut Chat<'_, '_>, state: &State, prompt: &mut Prompt) -> Vec<String> {
    let root = chat.plain.host.settings.workspace.root.clone();
    let mut notes = Vec::new();
    for cell in state.named_cells(&prompt.text) {
        notes.push(format!("+ #{}", cell.number));
        chat.plain.session_mut().attach(cell.note());
    }
    for named in files::named(&root, &prompt.text) {
        match named {
            Named::Text { path, content } => match denied(chat, &root.join(&path)) {
                Some(why) => notes.push(format!("{path} stays here: {why}")),
                None => {
                    notes.push(format!("+ {path} ({})", size_in_words(content.len() as u64)));
                    chat.plain.session_mut().attach(files::note(&path, &content));
                }
            },
            Named::Picture(file) => {
                let model = chat.plain.session().model();
                let viewer = Viewer { facts: chat.plain.host.settings.model.facts, model };
                match attachment::load(&file, viewer) {
                    Ok(image) => {
                        notes.push(format!("+ {image}"));
                        prompt.images.push(image);
                    }
                    Err(failure) => notes.push(failure.message),
                }
            }
            Named::Left { path, why } => notes.push(format!("{path} {why}")),
        }
    }
    notes
}

/// Returns why a file may not be read, if a rule says so.
fn denied(chat: &Chat<'_, '_>, file: &Path) -> Option<String> {
    let policy = chat.plain.session().policy();
    let effects = [Effect::Read(file.to_owned())];
    let call = zori_policy::Call::new("read", Some(ToolKind::Read), &effects, &policy.workspace);
    let decision = zori_policy::explain(policy, &call).decision;
    (decision.verdict == Verdict::Deny).then_some(decision.reason)
}

/// What is said when the person did not want a line in AGENTS.md.
pub const NO_GUIDELINE: &str = "AGENTS.md is as it was.";

/// Adds a line to the project's guidelines; returns what to say about it.
pub fn guideline(root: &Path, text: &str) -> Result<&'static str, String> {
    let file = root.join("AGENTS.md");
    let added = append_line(&file, &format!("- {text}\n"));
    added.map_err(|error| format!("{}: {error}", file.display()))?;
    Ok("Added to AGENTS.md; it counts from the next session on.")
}

/// Adds a line to a file, whatever is in it, or makes the file.
fn append_line(file: &Path, line: &str) -> io::Result<()> {
    let mut opened = OpenOptions::new().read(true).append(true).create(true).open(file)?;
    let mut last = [b'\n'];
    if let Some(at) = opened.metadata()?.len().checked_sub(1) {
        opened.read_exact_at(&mut last, at)?;
    }
    let gap = if last == *b"\n" { "" } else { "\n" };
    opened.write_all(format!("{gap}{line}").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is there stays, also where it is not UTF-8.
    #[test]
    fn a_line_more() {
        let temp = tempfile::tempdir().unwrap();
        let file = temp.path().join("AGENTS.md");
        let cases: [(&[u8], &[u8]); 4] = [
            (b"", b"- new\n"),
            (b"- old\n", b"- old\n- new\n"),
            (b"- old", b"- old\n- new\n"),
            (b"- \xe4lter\n", b"- \xe4lter\n- new\n"),
        ];
        for (before, after) in cases {
            std::fs::write(&file, before).unwrap();
            append_line(&file, "- new\n").unwrap();
            assert_eq!(std::fs::read(&file).unwrap(), after);
        }
        std::fs::remove_file(&file).unwrap();
        append_line(&file, "- new\n").unwrap();
        assert_eq!(std::fs::read(&file).unwrap(), b"- new\n");
    }
}
