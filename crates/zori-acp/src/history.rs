//! Replays a saved conversation as updates, as if it happened now.

use std::io;
use std::path::Path;

use agent_client_protocol::v1::schema::{
    ContentBlock, ContentChunk, ImageContent, SessionUpdate, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields,
};
use zori_core::message::{Block, Message, Role, ToolCall};
use zori_core::reading::readable;
use zori_core::tool::{Effect, ToolKind};
use zori_redact::Redactor;

use crate::call::{self, Facts};
use crate::client::AcpClient;

/// What is known of a call that was made earlier.
pub type CallLookup<'a> = &'a dyn Fn(&ToolCall) -> (Option<ToolKind>, Vec<Effect>);

impl AcpClient {
    /// Tells the client all that was said and done.
    pub fn replay<'m>(
        &self,
        session: &str,
        messages: impl IntoIterator<Item = &'m Message>,
        root: &Path,
        known: CallLookup<'_>,
        redactor: &Redactor,
    ) -> io::Result<()> {
        for message in messages {
            for block in &message.blocks {
                if let Some(update) = update(block, message.role, root, known, redactor) {
                    self.update(session, update)?;
                }
            }
        }
        Ok(())
    }
}

fn update(
    block: &Block,
    role: Role,
    root: &Path,
    known: CallLookup<'_>,
    redactor: &Redactor,
) -> Option<SessionUpdate> {
    let said = |content: ContentBlock| match role {
        Role::User => SessionUpdate::UserMessageChunk(ContentChunk::new(content)),
        Role::Assistant => SessionUpdate::AgentMessageChunk(ContentChunk::new(content)),
    };
    Some(match block {
        Block::Text(text) => said(ContentBlock::from(text.as_str())),
        Block::Image(image) if image.format().is_document() => said(ContentBlock::from(image.to_string())),
        Block::Image(image) => {
            said(ContentBlock::Image(ImageContent::new(image.base64(), image.format().media_type())))
        }
        Block::Thinking(thinking) if thinking.text.is_empty() => return None,
        Block::Thinking(thinking) => {
            SessionUpdate::AgentThoughtChunk(ContentChunk::new(ContentBlock::from(thinking.text.as_str())))
        }
        Block::ToolCall(call) => {
            let (kind, effects) = known(call);
            let facts = Facts { call, kind, effects: &effects, root: Some(root), parent: None };
            SessionUpdate::ToolCall(call::requested(facts, redactor))
        }
        Block::ToolResult(result) => {
            let worked = result.ok && !call::command_failed(result.envelope.get());
            let status = if worked { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
            let kind = (result.name == "bash").then_some(ToolKind::Bash);
            let text = readable(kind, result.envelope.get(), result.text.as_deref());
            let content = ContentBlock::from(redactor.redact(&text).into_owned());
            let fields = ToolCallUpdateFields::new()
                .status(status)
                .content(vec![content.into()])
                .raw_output(redactor.redact_value(result.envelope.get()));
            SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(result.call.as_str().to_owned(), fields))
        }
    })
}
