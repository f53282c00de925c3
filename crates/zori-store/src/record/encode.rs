//! Encodes values to lines. Fields have the documented order, later additions follow `ts` (SES-1, SES-2, DECISIONS 28).
//!
//! Tool input and what providers want back keep their bytes, except that a line break between two tokens
//! becomes a space: a record is one line, and JSON has no line breaks elsewhere.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;
use serde_json::value::RawValue;
use zori_core::checkpoint::{ChangedFiles, Rewound};
use zori_core::compaction::{Compacted, Compaction};
use zori_core::event::{
    DecidedBy, Event, EventKind, MessageEvent, Notice, NoticeLevel, Reply, StateEvent, ToolEvent, TurnEvent,
};
use zori_core::ids::{CallId, SessionId};
use zori_core::image::Image;
use zori_core::message::{Block, IdOrigin, Opaque, Thinking, ToolCall, ToolInput};
use zori_core::permission::{Decision, Verdict};
use zori_core::time::Timestamp;
use zori_core::tool::ToolOutput;
use zori_core::usage::Usage;

use super::SCHEMA_VERSION;
use super::view::ViewOut;

/// Returns the lines an event becomes, each with its newline; most events become none. `mode`: the permission mode in force, if it is known.
pub(crate) fn lines(event: &Event, mode: Option<&str>) -> Vec<Vec<u8>> {
    if is_delta(&event.kind) {
        return Vec::new();
    }
    let ts = event.at.rfc3339();
    match &event.kind {
        EventKind::Turn(TurnEvent::TurnStarted { prompt, images, uuid, scheduled }) => {
            let told =
                MessageOut { uuid: uuid.as_deref(), scheduled: scheduled.as_deref(), ..user(prompt, &ts) };
            vec![line(&MessageOut { images: images.iter().map(ImageOut::from).collect(), ..told })]
        }
        EventKind::Turn(TurnEvent::Steered { text })
        | EventKind::Turn(TurnEvent::HookContext { text, .. }) => {
            vec![line(&MessageOut { within_turn: Some(true), ..user(text, &ts) })]
        }
        EventKind::Message(MessageEvent::MessageFinished(reply)) => reply_lines(reply, &ts),
        EventKind::Tool(ToolEvent::ToolFinished(done)) => vec![tool_result(&done.call, &done.output, &ts)],
        EventKind::Tool(ToolEvent::ApprovalResolved { call, decision, by }) => {
            approval(call, decision, *by, mode, event.parent.as_ref(), &ts)
        }
        EventKind::Notice(Notice { level, code, text }) => vec![notice(*level, code, text, &ts)],
        EventKind::Turn(TurnEvent::Interrupted) => vec![interrupted(&ts)],
        EventKind::State(StateEvent::ContextCompacted(compaction)) => vec![compacted(compaction, &ts)],
        EventKind::State(StateEvent::FilesChanged(changed)) => vec![files_changed(changed, &ts)],
        EventKind::State(StateEvent::FilesRewound(rewound)) => vec![files_rewound(rewound, &ts)],
        EventKind::Session(_)
        | EventKind::Turn(_)
        | EventKind::Message(_)
        | EventKind::Tool(_)
        | EventKind::State(_) => Vec::new(),
    }
}

/// Returns whether this is a piece of something that is logged whole later. There are thousands, and formatting a date
/// for each would be slow.
fn is_delta(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Message(
            MessageEvent::AssistantDelta { .. }
                | MessageEvent::ThinkingDelta { .. }
                | MessageEvent::ToolInputDelta { .. }
        ) | EventKind::Tool(ToolEvent::ToolOutputDelta { .. })
    )
}

/// Returns the first line of a session.
pub(crate) fn meta(at: Timestamp, root: &Path, parent: Option<&SessionId>, branch: Option<&str>) -> Vec<u8> {
    line(&MetaOut {
        r#type: "meta",
        schema_version: SCHEMA_VERSION,
        ts: &at.rfc3339(),
        root: &root.to_string_lossy(),
        parent: parent.map(SessionId::as_str),
        branch,
    })
}

/// Returns the line that stands where records could not be saved (FS-1).
pub(crate) fn gap(at: Timestamp, lost: u64) -> Vec<u8> {
    let records = if lost == 1 { "record" } else { "records" };
    notice(NoticeLevel::Warning, "gap", &format!("{lost} {records} could not be saved here"), &at.rfc3339())
}

#[derive(Serialize)]
struct MetaOut<'a> {
    r#type: &'static str,
    schema_version: u32,
    ts: &'a str,
    root: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    branch: Option<&'a str>,
}

#[derive(Serialize)]
struct MessageOut<'a> {
    r#type: &'static str,
    role: &'static str,
    text: &'a str,
    ts: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discarded: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    within_turn: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uuid: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    scheduled: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<ImageOut>,
}

#[derive(Serialize)]
struct ChangedOut<'a> {
    r#type: &'static str,
    tool_use_id: &'a str,
    op: u64,
    created: u64,
    modified: u64,
    deleted: u64,
    paths: &'a [String],
    coverage: &'static str,
    ts: &'a str,
}

#[derive(Serialize)]
struct RewoundOut<'a> {
    r#type: &'static str,
    to_turn: u32,
    what: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    op: Option<u64>,
    undoes: &'a [u64],
    restored: u64,
    kept: Vec<KeptOut<'a>>,
    by: &'static str,
    ts: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    redo: Option<bool>,
}

#[derive(Serialize)]
struct KeptOut<'a> {
    path: &'a str,
    reason: &'static str,
}

#[derive(Serialize)]
struct ReasoningOut<'a> {
    r#type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<ReplayOut<'a>>,
    ts: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discarded: Option<bool>,
}

#[derive(Serialize)]
struct ProviderStateOut<'a> {
    r#type: &'static str,
    provider: &'a str,
    data: Cow<'a, RawValue>,
    ts: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageOut>,
    #[serde(skip_serializing_if = "Option::is_none")]
    discarded: Option<bool>,
}

#[derive(Serialize)]
struct ToolUseOut<'a> {
    r#type: &'static str,
    id: &'a str,
    name: &'a str,
    input: &'a RawValue,
    ts: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id_origin: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: Option<ReplayOut<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    malformed: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageOut>,
}

#[derive(Serialize)]
struct ToolResultOut<'a> {
    r#type: &'static str,
    tool_use_id: &'a str,
    output: &'a RawValue,
    ok: bool,
    ts: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    images: Vec<ImageOut>,
}

#[derive(Serialize)]
pub(super) struct ImageOut {
    media_type: &'static str,
    /// Base64.
    data: String,
}

impl From<&Image> for ImageOut {
    fn from(image: &Image) -> Self {
        Self { media_type: image.format().media_type(), data: image.base64() }
    }
}

#[derive(Serialize)]
struct InterruptedOut<'a> {
    r#type: &'static str,
    role: &'static str,
    text: &'static str,
    ts: &'a str,
}

#[derive(Serialize)]
struct ApprovalOut<'a> {
    r#type: &'static str,
    tool_use_id: &'a str,
    decision: &'static str,
    by: &'static str,
    class: &'static str,
    reason: &'a str,
    ts: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    mode: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_tool_use_id: Option<&'a str>,
}

#[derive(Serialize)]
struct NoticeOut<'a> {
    r#type: &'static str,
    level: &'static str,
    code: &'a str,
    text: &'a str,
    ts: &'a str,
}

#[derive(Serialize)]
struct CompactedOut<'a> {
    r#type: &'static str,
    how: &'static str,
    cause: &'static str,
    before: u64,
    after: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    view: Option<Vec<ViewOut<'a>>>,
    ts: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<UsageOut>,
}

#[derive(Serialize)]
pub(super) struct ReplayOut<'a> {
    provider: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    block: Cow<'a, RawValue>,
}

#[derive(Clone, Copy, Serialize)]
struct UsageOut {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
}

impl From<Usage> for UsageOut {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.input,
            output_tokens: usage.output,
            cache_read_tokens: usage.cache_read,
            cache_write_tokens: usage.cache_write,
        }
    }
}

/// Returns the line of a prompt that has nothing but its text.
fn user<'a>(text: &'a str, ts: &'a str) -> MessageOut<'a> {
    MessageOut {
        r#type: "message",
        role: "user",
        text,
        ts,
        model: None,
        usage: None,
        partial: None,
        discarded: None,
        within_turn: None,
        uuid: None,
        scheduled: None,
        images: Vec::new(),
    }
}

/// The blocks in stream order (L-2); the last of them carries model and usage.
fn reply_lines(reply: &Reply, ts: &str) -> Vec<Vec<u8>> {
    let said: Vec<&Block> = reply.message.blocks.iter().filter(|block| block.says_something()).collect();
    let end = (Some(&*reply.model), Some(UsageOut::from(reply.usage)));
    let last = said.len().saturating_sub(1);
    let block_line = |(i, block): (usize, &Block)| {
        let (model, usage) = if i == last { end } else { (None, None) };
        match block {
            Block::Text(text) => line(&MessageOut {
                r#type: "message",
                role: "assistant",
                text,
                ts,
                model,
                usage,
                partial: (i == last && reply.stop.is_none()).then_some(true),
                discarded: reply.discarded.then_some(true),
                within_turn: None,
                uuid: None,
                scheduled: None,
                images: Vec::new(),
            }),
            Block::Thinking(Thinking { replay: Some(state), .. }) if state.is_state => {
                line(&ProviderStateOut {
                    r#type: "provider_state",
                    provider: &state.provider,
                    data: single_line(&state.raw),
                    ts,
                    model,
                    usage,
                    discarded: reply.discarded.then_some(true),
                })
            }
            Block::Thinking(thinking) => line(&ReasoningOut {
                r#type: "reasoning",
                text: Some(thinking.text.as_str()).filter(|text| !text.is_empty()),
                replay: thinking.replay.as_ref().map(replay),
                ts,
                model,
                usage,
                discarded: reply.discarded.then_some(true),
            }),
            Block::ToolCall(call) => tool_use(call, ts, model, usage),
            Block::Image(_) | Block::ToolResult(_) => {
                unreachable!("`says_something` leaves what models do not say out of replies")
            }
        }
    };
    said.into_iter().enumerate().map(block_line).collect()
}

fn tool_use(call: &ToolCall, ts: &str, model: Option<&str>, usage: Option<UsageOut>) -> Vec<u8> {
    let none = RawValue::from_string("{}".to_owned()).expect("`{}` is JSON");
    let (input, malformed) = match &call.input {
        ToolInput::Json(raw) => (single_line(raw), None),
        ToolInput::Malformed(text) => (Cow::Borrowed(&*none), Some(text.as_str())),
    };
    line(&ToolUseOut {
        r#type: "tool_use",
        id: call.id.as_str(),
        name: &call.name,
        input: &input,
        ts,
        id_origin: (call.id_origin == IdOrigin::Made).then_some("synthesized"),
        replay: call.replay.as_ref().map(replay),
        malformed,
        model,
        usage,
    })
}

fn tool_result(call: &CallId, output: &ToolOutput, ts: &str) -> Vec<u8> {
    line(&ToolResultOut {
        r#type: "tool_result",
        tool_use_id: call.as_str(),
        output: &single_line(&output.envelope),
        ok: output.ok(),
        ts,
        text: output.text.as_deref(),
        images: output.images.iter().map(ImageOut::from).collect(),
    })
}

fn interrupted(ts: &str) -> Vec<u8> {
    line(&InterruptedOut { r#type: "interrupted", role: "system", text: "Interrupted", ts })
}

/// A plain allow by the policy leaves no record (DECISIONS 28); the words are those of SEC-12.
fn approval(
    call: &CallId,
    decision: &Decision,
    by: DecidedBy,
    mode: Option<&str>,
    parent: Option<&CallId>,
    ts: &str,
) -> Vec<Vec<u8>> {
    let allowed = decision.verdict == Verdict::Allow;
    if allowed && by == DecidedBy::Policy {
        return Vec::new();
    }
    vec![line(&ApprovalOut {
        r#type: "approval",
        tool_use_id: call.as_str(),
        decision: match by {
            _ if allowed => "approved",
            DecidedBy::Policy if !decision.nobody_to_ask => "blocked",
            _ => "rejected",
        },
        by: match by {
            DecidedBy::User => "user",
            DecidedBy::Policy => "policy",
            DecidedBy::Cancelled => "cancelled",
        },
        class: decision.class.as_str(),
        reason: &decision.reason,
        ts,
        mode,
        parent_tool_use_id: parent.map(CallId::as_str),
    })]
}

fn notice(level: NoticeLevel, code: &str, text: &str, ts: &str) -> Vec<u8> {
    let level = match level {
        NoticeLevel::Info => "info",
        NoticeLevel::Warning => "warning",
        NoticeLevel::Error => "error",
    };
    line(&NoticeOut { r#type: "notice", level, code, text, ts })
}

/// The record holds the whole view: where a turn failed or was cut off, the records before it may be read differently
/// from what was sent, so a reference to them would not be reliable.
fn compacted(compaction: &Compaction, ts: &str) -> Vec<u8> {
    let Compaction { how, cause, before, after, view, summary, .. } = compaction;
    line(&CompactedOut {
        r#type: "compacted",
        how: how.as_str(),
        cause: cause.as_str(),
        before: *before,
        after: *after,
        view: (*how != Compacted::Undone).then(|| view.iter().map(|message| (&**message).into()).collect()),
        ts,
        model: summary.as_ref().map(|reply| &*reply.model),
        usage: summary.as_ref().map(|reply| reply.usage.into()),
    })
}

fn files_changed(changed: &ChangedFiles, ts: &str) -> Vec<u8> {
    line(&ChangedOut {
        r#type: "changed",
        tool_use_id: changed.call.as_str(),
        op: changed.op,
        created: changed.created,
        modified: changed.modified,
        deleted: changed.deleted,
        paths: &changed.paths,
        coverage: changed.coverage.as_str(),
        ts,
    })
}

fn files_rewound(rewound: &Rewound, ts: &str) -> Vec<u8> {
    let kept = rewound.kept.iter().map(|(path, reason)| KeptOut { path, reason }).collect();
    let Rewound { to_turn, what, op, undoes, restored, by, .. } = rewound;
    line(&RewoundOut {
        r#type: "rewound",
        to_turn: *to_turn,
        what,
        op: *op,
        undoes,
        restored: *restored,
        kept,
        by,
        ts,
        redo: rewound.redo.then_some(true),
    })
}

pub(super) fn replay(opaque: &Opaque) -> ReplayOut<'_> {
    ReplayOut { provider: &opaque.provider, model: opaque.model.as_deref(), block: single_line(&opaque.raw) }
}

pub(super) fn single_line(raw: &RawValue) -> Cow<'_, RawValue> {
    if !raw.get().contains(['\n', '\r']) {
        return Cow::Borrowed(raw);
    }
    let text = raw.get().replace(['\n', '\r'], " ");
    Cow::Owned(RawValue::from_string(text).expect("line breaks in JSON are white space between tokens"))
}

fn line(record: &impl Serialize) -> Vec<u8> {
    let mut bytes = serde_json::to_vec(record).expect("records hold nothing that JSON cannot say");
    bytes.push(b'\n');
    bytes
}
