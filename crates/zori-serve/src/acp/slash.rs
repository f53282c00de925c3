//! A prompt is a turn, or one of the slash commands that make sense to an editor.

use zori_acp::{RequestError, SlashCommand};
use zori_core::input::Prompt;
use zori_host::{
    Force, Host, Peer, Session, SlashEntry, TurnEnd, UndoGoal, UndoRequest, UndoScope, summary, undo_answer,
};

use crate::is_slash_command;

/// The commands, in the order they are shown. What an editor has its own ways for is not among them.
pub(super) const COMMANDS: &[SlashCommand] = &[
    SlashCommand::new("compact", "Summarise older messages; undo: take that back", "[FOCUS]"),
    SlashCommand::new("undo", "Take the last turns back: files and conversation", "[N]"),
    SlashCommand::new("redo", "Take the last undo back", ""),
    SlashCommand::new("status", "Show model, session, root and usage", ""),
    SlashCommand::new("cost", "Show tokens, cache hits and money of this session", ""),
    SlashCommand::new("permissions", "Show the mode and the rules, and where they come from", ""),
];

/// Returns all commands of a session, with those that people and the project brought.
pub(super) fn with_brought(brought: &[SlashEntry]) -> Vec<SlashCommand> {
    let command = |entry: &SlashEntry| SlashCommand {
        name: entry.name.clone().into(),
        about: entry.about.clone().into(),
        args: entry.args.clone().into(),
    };
    COMMANDS.iter().cloned().chain(brought.iter().map(command)).collect()
}

/// What became of a prompt.
pub(super) enum PromptResult {
    Turn(Box<TurnEnd>),
    /// A command, and what it says.
    Command(String),
    /// A command that does not exist.
    Refused(RequestError),
}

/// Does what a prompt says, with a peer that may cancel it.
pub(super) async fn run(
    prompt: Prompt,
    session: &mut Session,
    host: &Host,
    peer: &mut impl Peer,
) -> PromptResult {
    let line = prompt.text.trim().to_owned();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
    let name = word.strip_prefix('/').filter(|_| prompt.images.is_empty() && is_slash_command(word));
    match name {
        None => PromptResult::Turn(Box::new(session.turn(prompt, peer).await)),
        Some("compact") if rest.trim() == "undo" => {
            session.undo_compact();
            PromptResult::Command(String::new())
        }
        Some("compact") => {
            let before = session.context_tokens();
            session.compact(Some(rest.trim()).filter(|focus| !focus.is_empty()), peer).await;
            let after = session.context_tokens();
            PromptResult::Command(format!("The conversation has about {after} tokens; it had {before}"))
        }
        Some("undo") => match rest.trim() {
            "" => back(session, UndoGoal::Last(1)).await,
            count => match count.parse() {
                Ok(count @ 1..) => back(session, UndoGoal::Last(count)).await,
                _ => PromptResult::Refused(RequestError::invalid(format!(
                    "`/undo {count}`: how many turns is a number from 1"
                ))),
            },
        },
        Some("redo") => back(session, UndoGoal::Redo).await,
        Some("status") => PromptResult::Command(summary::status_lines(session, host).join("\n")),
        Some("cost") => PromptResult::Command(summary::cost_lines(session.totals()).join("\n")),
        Some("permissions") => {
            let source = &host.settings.permission.modes.source;
            PromptResult::Command(summary::permission_lines(session.policy(), source).join("\n"))
        }
        // A command or a skill that somebody brought along is a prompt.
        Some(_) if session.extensions().is_call(&line) => {
            PromptResult::Turn(Box::new(session.turn(prompt, peer).await))
        }
        Some(other) => {
            let names: Vec<_> = COMMANDS.iter().map(|command| format!("/{}", command.name)).collect();
            let refusal = RequestError::invalid(format!("unknown command `/{other}`"))
                .with("hint", format!("there are {}", names.join(", ")));
            PromptResult::Refused(refusal)
        }
    }
}

/// Goes back, files and conversation. The editor's own command asked for it, and `/redo` has it: there is no question.
async fn back(session: &mut Session, goal: UndoGoal) -> PromptResult {
    let (what, force) = (UndoScope::Both, Force::Keep);
    match session.undo_in_client(UndoRequest { goal, what, force, dry_run: false, by: "client" }).await {
        Ok(undone) => PromptResult::Command(undo_answer(&undone, session.project_root()).join("\n")),
        Err(why) => PromptResult::Command(format!("{why}")),
    }
}
