//! A conversation that goes on: its last turns as cells (TRN-7).

use std::collections::HashMap;
use std::sync::Arc;

use zori_core::event::{NoticeLevel, ToolFinished, ToolRequested};
use zori_core::ids::CallId;
use zori_core::message::{Block, Message, Role, ToolResult};
use zori_core::tool::{ProcessEnd, ToolCode, ToolFailure, ToolOutput};
use zori_host::Session;
use zori_redact::Redactor;
use zori_tui::cells::ToolCell;
use zori_tui::transcript::Transcript;

use super::Screen;
use super::asked_changes::{Made, asked_changes};

/// How many turns of a session that goes on are shown.
const RECALLED: usize = 3;

impl Screen<'_, '_> {
    /// Shows the end of the conversation; what is before it is in the pager. `silent`: its rows are above already, so that all of it is there only.
    pub(super) fn recall(&mut self, silent: bool) {
        let transcript = &mut self.display.state.transcript;
        recall(transcript, self.chat.plain.session(), &self.outside.redactor, silent, "Ctrl-O");
        let title = &mut self.display.state.facts.title;
        *title = title.take().or_else(|| self.outside.sessions.title(&self.outside.session));
        self.display.touch();
    }
}

/// Adds a conversation to a transcript: the last turns to be seen, what is before them to be looked up, which `all` says how to do.
pub fn recall(transcript: &mut Transcript, session: &Session, redactor: &Redactor, silent: bool, all: &str) {
    let messages = session.messages().to_vec();
    let results: HashMap<&CallId, &ToolResult> = messages
        .iter()
        .flat_map(|message| &message.blocks)
        .filter_map(|block| match block {
            Block::ToolResult(result) => Some((&result.call, result)),
            _ => None,
        })
        .collect();
    let prompts: Vec<usize> = (0..messages.len()).filter(|at| is_prompt(&messages[*at])).collect();
    let first = match silent {
        true => messages.len(),
        false => prompts.get(prompts.len().saturating_sub(RECALLED)).copied().unwrap_or(0),
    };
    let earlier = prompts.iter().filter(|at| **at < first).count();
    for (at, message) in messages.iter().enumerate() {
        transcript.set_quiet(at < first);
        if at == first && earlier > 0 && !silent {
            let turns = if earlier == 1 { "turn" } else { "turns" };
            transcript.notice(NoticeLevel::Info, &format!("… {earlier} earlier {turns} · {all}"));
        }
        let mut said = false;
        for block in &message.blocks {
            match (block, message.role) {
                // What stands behind the prompt are notes for the model, and the user's words into a turn.
                (Block::Text(text), Role::User) if !text.trim().is_empty() && !said => {
                    said = is_prompt(message);
                    if said {
                        transcript.prompt(text, session.scheduled(message));
                    }
                }
                (Block::Text(text), Role::Assistant) if !text.trim().is_empty() => transcript.answer(text),
                (Block::ToolCall(call), _) => {
                    let (kind, effects) = session.describe(call);
                    let mut cell = ToolCell::new(&ToolRequested { call: call.clone(), kind, effects, of: 1 });
                    if let Some(result) = results.get(&call.id) {
                        let output = super::feed::shown_output(redactor, output(result));
                        let name = call.name.as_str().into();
                        let finished =
                            ToolFinished { call: call.id.clone(), name, kind, output, duration: None };
                        cell.finished(&finished);
                        if let Some(args) = session.canonical_arguments(call) {
                            cell.asked(&asked_changes(kind, &redactor.redact(args.get()), made(result)));
                        }
                    }
                    transcript.tool(cell);
                }
                _ => {}
            }
        }
    }
    transcript.set_quiet(false);
}

/// Returns whether a message is what the user said at the beginning of a turn.
fn is_prompt(message: &Arc<Message>) -> bool {
    let tools = message.blocks.iter().any(|block| matches!(block, Block::ToolResult(_)));
    let text =
        message.blocks.iter().any(|block| matches!(block, Block::Text(text) if !text.trim().is_empty()));
    message.role == Role::User && text && !tools
}

/// Returns what a result says of the change that its call made.
fn made(result: &ToolResult) -> Made {
    #[derive(serde::Deserialize)]
    struct Envelope {
        data: Made,
    }
    serde_json::from_str(result.envelope.get()).map_or_else(|_| Made::default(), |Envelope { data }| data)
}

/// Returns a result as it came out of its tool, as far as a session keeps it.
fn output(result: &ToolResult) -> ToolOutput {
    let envelope: serde_json::Value = serde_json::from_str(result.envelope.get()).unwrap_or_default();
    let failure = (!result.ok).then(|| {
        let error = &envelope["error"];
        let code = error["code"].as_str().unwrap_or_default();
        let code = ToolCode::ALL.iter().copied().find(|known| known.as_str() == code);
        let message = error["message"].as_str().unwrap_or("it failed").to_owned();
        ToolFailure { code: code.unwrap_or(ToolCode::InvalidInput), message }
    });
    let number = |name: &str| envelope["data"][name].as_i64().and_then(|number| i32::try_from(number).ok());
    let process = number("exit_code").map(|exit_code| ProcessEnd {
        exit_code,
        signal: number("signal"),
        timed_out: envelope["data"]["timed_out"] == true,
    });
    ToolOutput {
        envelope: result.envelope.clone(),
        failure,
        text: result.text.clone(),
        images: Vec::new(),
        process,
        denial: None,
        changes: Vec::new(),
        todos: None,
    }
}
