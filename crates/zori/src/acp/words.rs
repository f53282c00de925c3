//! A prompt is a turn, or one of the slash commands that make sense to an editor.

use std::pin::Pin;

use tokio::sync::mpsc;
use zori_acp::{Refusal, Slash};
use zori_core::event::TurnSummary;
use zori_core::input::{Input, Prompt};

use crate::chat::{permissions, slash};
use crate::sandbox::confinement::Confinement;
use crate::settings::Settings;
use crate::wire_up::Loop;

/// The commands, in the order they are shown. What an editor has its own ways for is not among them.
pub(super) const COMMANDS: &[Slash] = &[
    Slash { name: "compact", about: "Summarise older messages; undo: take that back", args: "[FOCUS]" },
    Slash { name: "status", about: "Show model, session, root and usage", args: "" },
    Slash { name: "cost", about: "Show tokens, cache hits and money of this session", args: "" },
    Slash { name: "permissions", about: "Show the mode and the rules, and where they come from", args: "" },
];

/// What became of a prompt.
pub(super) enum Done {
    /// A turn.
    Turn(TurnSummary),
    /// A command, and what it says.
    Said(String),
    /// A command that does not exist.
    Refused(Refusal),
}

/// A prompt under way. It stays on its thread.
pub(super) type Work<'a> = Pin<Box<dyn Future<Output = Done> + 'a>>;

/// Does what a prompt says.
pub(super) fn work<'a>(
    prompt: Prompt,
    session: &'a mut Loop,
    settings: &'a Settings,
    id: &str,
    confinement: Option<&Confinement>,
    inputs: &'a mut mpsc::Receiver<Input>,
) -> Work<'a> {
    let line = prompt.text.trim().to_owned();
    let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((&line, ""));
    let name = word.strip_prefix('/').filter(|_| prompt.images.is_empty() && slash::is_command_word(word));
    let engine = &mut session.engine;
    let said =
        |lines: Vec<String>| -> Work<'a> { Box::pin(std::future::ready(Done::Said(lines.join("\n")))) };
    match name {
        None => Box::pin(async move { Done::Turn(engine.turn(prompt, inputs).await.0) }),
        Some("compact") if rest.trim() == "undo" => {
            engine.undo_compact();
            said(Vec::new())
        }
        Some("compact") => {
            let focus = Some(rest.trim().to_owned()).filter(|focus| !focus.is_empty());
            Box::pin(async move {
                let before = engine.context_tokens();
                engine.compact(focus.as_deref(), inputs).await;
                let after = engine.context_tokens();
                Done::Said(format!("The conversation has about {after} tokens; it had {before}"))
            })
        }
        Some("status") => said(slash::status_lines(engine, settings, id, confinement)),
        Some("cost") => said(slash::cost_lines(engine.totals())),
        Some("permissions") => said(permissions::permission_lines(engine.policy(), &settings.modes.source)),
        Some(other) => {
            let names: Vec<_> = COMMANDS.iter().map(|command| format!("/{}", command.name)).collect();
            let refusal = Refusal::invalid(format!("unknown command `/{other}`"))
                .with("hint", format!("there are {}", names.join(", ")));
            Box::pin(std::future::ready(Done::Refused(refusal)))
        }
    }
}
