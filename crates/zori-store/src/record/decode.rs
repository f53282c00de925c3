//! Decodes lines to values. Tolerates unknown types, unknown fields and missing additions (SES-14).

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use zori_core::ids::CallId;
use zori_core::image::Image;
use zori_core::message::{IdOrigin, Opaque, Role, Thinking, ToolCall, ToolInput};
use zori_core::usage::Usage;

use super::view::ViewIn;
use super::{Meta, Record, RecordKind, ReplyEnd};

/// A decoded line.
pub(crate) struct Decoded {
    /// Its records: none for a type this version does not know, several where line ends were lost.
    pub(crate) records: Vec<Record>,
    /// What is wrong with it.
    pub(crate) damage: Option<&'static str>,
}

/// Reads one line, which is not blank.
///
/// Where a line end was lost, the line holds several whole records, at most one odd byte apart (LOG-3). They are
/// taken from the start of the line only, up to the first that is not whole. A search for one further in could
/// find an object that a tool was given and take it for something the user said.
pub(crate) fn decode(line: &[u8]) -> Decoded {
    let mut records = Vec::new();
    let mut rest = line.trim_ascii();
    let mut count = 0;
    loop {
        match first_object(rest) {
            Some((kind, object, after)) => {
                match record(&kind, object) {
                    Ok(found) => records.extend(found),
                    Err(why) => return Decoded { records, damage: Some(reason(object, why)) },
                }
                count += 1;
                rest = after.trim_ascii();
            }
            None => return Decoded { records, damage: Some(reason(rest, "not a whole record")) },
        }
        if rest.is_empty() {
            return Decoded { records, damage: (count > 1).then_some("several records on one line") };
        }
        if !rest.starts_with(b"{") {
            rest = &rest[1..];
        }
    }
}

/// Returns the type of the object the bytes begin with, its bytes, and what follows it.
fn first_object(bytes: &[u8]) -> Option<(String, &[u8], &[u8])> {
    let mut values = serde_json::Deserializer::from_slice(bytes).into_iter::<Type>();
    // An array of one string would pass for the struct.
    let Type { r#type } = values.next()?.ok().filter(|_| bytes.starts_with(b"{"))?;
    let (object, after) = bytes.split_at(values.byte_offset());
    Some((r#type, object, after))
}

fn reason(bytes: &[u8], otherwise: &'static str) -> &'static str {
    if str::from_utf8(bytes).is_err() { "invalid UTF-8" } else { otherwise }
}

fn record(kind: &str, object: &[u8]) -> Result<Option<Record>, &'static str> {
    match kind {
        "meta" => parse::<MetaIn>(object).map(|meta| Some(meta.record())),
        "message" => parse::<MessageIn<'_>>(object)?.record().map(Some),
        "reasoning" => parse::<ReasoningIn>(object).map(|reasoning| Some(reasoning.record())),
        "provider_state" => parse::<ProviderStateIn>(object).map(ProviderStateIn::record),
        "tool_use" => parse::<ToolUseIn>(object).map(|call| Some(call.record())),
        "tool_result" => parse::<ToolResultIn<'_>>(object).map(|result| Some(result.record())),
        "interrupted" => {
            parse::<InterruptedIn>(object).map(|stop| Some(plain(stop.ts, RecordKind::Interrupted)))
        }
        "approval" => parse::<ApprovalIn>(object).map(|approval| Some(approval.record())),
        "compacted" => parse::<CompactedIn>(object).map(|compacted| Some(compacted.record())),
        "changed" => parse::<ChangedIn>(object).map(|changed| Some(changed.record())),
        "rewound" => parse::<RewoundIn>(object).map(|rewound| Some(rewound.record())),
        "notice" => parse::<NoticeIn>(object).map(|notice| Some(notice.record())),
        _ => Ok(None),
    }
}

fn parse<'a, T: Deserialize<'a>>(object: &'a [u8]) -> Result<T, &'static str> {
    serde_json::from_slice(object).map_err(|_| "fields are missing or of a wrong type")
}

fn plain(ts: String, kind: RecordKind) -> Record {
    Record { ts, reply_end: None, discarded: false, kind }
}

#[derive(Deserialize)]
struct Type {
    r#type: String,
}

#[derive(Deserialize)]
struct MetaIn {
    schema_version: u32,
    #[serde(default)]
    ts: String,
    root: Option<PathBuf>,
    parent: Option<String>,
}

#[derive(Deserialize)]
struct MessageIn<'a> {
    role: String,
    text: String,
    #[serde(default)]
    ts: String,
    model: Option<String>,
    usage: Option<UsageIn>,
    #[serde(default)]
    partial: bool,
    #[serde(default)]
    discarded: bool,
    #[serde(default)]
    within_turn: bool,
    uuid: Option<String>,
    scheduled: Option<String>,
    #[serde(borrow, default)]
    images: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct ChangedIn {
    op: u64,
    #[serde(default)]
    created: u64,
    #[serde(default)]
    modified: u64,
    #[serde(default)]
    deleted: u64,
    #[serde(default)]
    paths: Vec<String>,
    #[serde(default)]
    ts: String,
}

#[derive(Deserialize)]
struct RewoundIn {
    to_turn: u32,
    #[serde(default)]
    what: String,
    op: Option<u64>,
    #[serde(default)]
    restored: u64,
    #[serde(default)]
    redo: bool,
    #[serde(default)]
    ts: String,
}

#[derive(Deserialize)]
struct ReasoningIn {
    #[serde(default)]
    text: Option<String>,
    replay: Option<Box<RawValue>>,
    #[serde(default)]
    ts: String,
    model: Option<String>,
    usage: Option<UsageIn>,
    #[serde(default)]
    discarded: bool,
}

#[derive(Deserialize)]
struct ProviderStateIn {
    provider: String,
    data: Option<Box<RawValue>>,
    #[serde(default)]
    ts: String,
    model: Option<String>,
    usage: Option<UsageIn>,
    #[serde(default)]
    discarded: bool,
}

#[derive(Deserialize)]
struct ToolUseIn {
    id: String,
    name: String,
    input: Box<RawValue>,
    #[serde(default)]
    ts: String,
    id_origin: Option<String>,
    replay: Option<Box<RawValue>>,
    malformed: Option<String>,
    model: Option<String>,
    usage: Option<UsageIn>,
}

#[derive(Deserialize)]
struct ToolResultIn<'a> {
    tool_use_id: String,
    output: Box<RawValue>,
    ok: bool,
    #[serde(default)]
    ts: String,
    text: Option<String>,
    #[serde(borrow, default)]
    images: Option<&'a RawValue>,
}

/// The bytes say themselves what they are, so that `media_type` is for other readers.
#[derive(Deserialize)]
struct ImageIn<'a> {
    #[serde(borrow)]
    data: Cow<'a, str>,
}

#[derive(Deserialize)]
struct InterruptedIn {
    #[serde(default)]
    ts: String,
}

#[derive(Deserialize)]
struct ApprovalIn {
    tool_use_id: String,
    decision: String,
    by: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    ts: String,
}

#[derive(Deserialize)]
struct CompactedIn {
    #[serde(default)]
    how: String,
    #[serde(default)]
    before: u64,
    #[serde(default)]
    after: u64,
    view: Option<Vec<ViewIn>>,
    #[serde(default)]
    ts: String,
    model: Option<String>,
    usage: Option<UsageIn>,
}

#[derive(Deserialize)]
struct NoticeIn {
    code: String,
    text: String,
    #[serde(default)]
    ts: String,
}

#[derive(Deserialize)]
struct ReplayIn {
    provider: String,
    #[serde(default)]
    model: Option<String>,
    block: Box<RawValue>,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct UsageIn {
    input_tokens: u64,
    output_tokens: u64,
    cache_read_tokens: u64,
    cache_write_tokens: u64,
}

impl MetaIn {
    fn record(self) -> Record {
        let Self { schema_version, ts, root, parent } = self;
        plain(ts, RecordKind::Meta(Meta { schema_version, root, parent }))
    }
}

impl MessageIn<'_> {
    fn record(self) -> Result<Record, &'static str> {
        let role = match self.role.as_str() {
            "user" => Role::User,
            "assistant" => Role::Assistant,
            _ => return Err("a message of an unknown role"),
        };
        let kind = RecordKind::Message {
            role,
            text: self.text,
            partial: self.partial,
            within_turn: self.within_turn,
            images: images(self.images),
            uuid: self.uuid,
            scheduled: self.scheduled,
        };
        let discarded = self.discarded;
        Ok(Record { ts: self.ts, reply_end: reply_end(self.model, self.usage), discarded, kind })
    }
}

impl ReasoningIn {
    fn record(self) -> Record {
        let thinking = Thinking { text: self.text.unwrap_or_default(), replay: replay(self.replay) };
        let (kind, discarded) = (RecordKind::Reasoning(thinking), self.discarded);
        Record { ts: self.ts, reply_end: reply_end(self.model, self.usage), discarded, kind }
    }
}

impl ProviderStateIn {
    /// Returns the record; a state in another shape is nothing that we know.
    fn record(self) -> Option<Record> {
        let replay = Some(Opaque::state(self.provider, self.data?));
        let kind = RecordKind::Reasoning(Thinking { text: String::new(), replay });
        let reply_end = reply_end(self.model, self.usage);
        Some(Record { ts: self.ts, reply_end, discarded: self.discarded, kind })
    }
}

impl ToolUseIn {
    fn record(self) -> Record {
        let made = self.id_origin.as_deref() == Some("synthesized");
        let kind = RecordKind::ToolUse(ToolCall {
            id: CallId::new(self.id),
            name: self.name,
            input: self.malformed.map_or(ToolInput::Json(self.input), ToolInput::Malformed),
            id_origin: if made { IdOrigin::Made } else { IdOrigin::Provider },
            replay: replay(self.replay),
        });
        Record { ts: self.ts, reply_end: reply_end(self.model, self.usage), discarded: false, kind }
    }
}

impl ToolResultIn<'_> {
    fn record(self) -> Record {
        let call = CallId::new(self.tool_use_id);
        let (output, text) = (self.output.into(), self.text.map(Arc::from));
        let images = images(self.images);
        plain(self.ts, RecordKind::ToolResult { call, output, ok: self.ok, text, images })
    }
}

impl ApprovalIn {
    fn record(self) -> Record {
        let Self { tool_use_id, mut decision, by, reason, ts } = self;
        // The words of earlier versions.
        let now = match (decision.as_str(), by.as_str()) {
            ("allow", _) => Some("approved"),
            ("deny", "policy") => Some("blocked"),
            ("deny", _) => Some("rejected"),
            _ => None,
        };
        now.into_iter().for_each(|word| decision = word.to_owned());
        plain(ts, RecordKind::Approval { call: CallId::new(tool_use_id), decision, by, reason })
    }
}

impl CompactedIn {
    fn record(self) -> Record {
        let view = self.view.map(|view| view.into_iter().filter_map(ViewIn::message).collect());
        let Self { how, before, after, .. } = self;
        let kind = RecordKind::Compacted { how, before, after, view };
        Record { ts: self.ts, reply_end: reply_end(self.model, self.usage), discarded: false, kind }
    }
}

impl ChangedIn {
    fn record(self) -> Record {
        let Self { op, created, modified, deleted, paths, ts } = self;
        plain(ts, RecordKind::Changed { op, created, modified, deleted, paths })
    }
}

impl RewoundIn {
    fn record(self) -> Record {
        let Self { to_turn, what, op, restored, redo, ts } = self;
        plain(ts, RecordKind::Rewound { to_turn, what, op, restored, redo })
    }
}

impl NoticeIn {
    fn record(self) -> Record {
        plain(self.ts, RecordKind::Notice { code: self.code, text: self.text })
    }
}

/// An image that cannot be read, or has another program's shape, is left out; the words beside it are kept.
pub(super) fn images(raw: Option<&RawValue>) -> Vec<Image> {
    let list: Vec<&RawValue> = raw.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default();
    let image = |raw: &RawValue| {
        let ImageIn { data } = serde_json::from_str(raw.get()).ok()?;
        Image::from_base64(&data).ok()
    };
    list.into_iter().filter_map(image).collect()
}

fn reply_end(model: Option<String>, usage: Option<UsageIn>) -> Option<ReplyEnd> {
    usage.map(|u| ReplyEnd {
        model,
        usage: Usage {
            input: u.input_tokens,
            output: u.output_tokens,
            cache_read: u.cache_read_tokens,
            cache_write: u.cache_write_tokens,
            cache_unknown: 0,
        },
    })
}

/// What another program attached in a shape of its own is of no use to our providers; the rest of the record is.
pub(super) fn replay(raw: Option<Box<RawValue>>) -> Option<Opaque> {
    let ReplayIn { provider, model, block } = serde_json::from_str(raw?.get()).ok()?;
    Some(Opaque { model: model.map(Into::into), ..Opaque::new(provider, block) })
}
