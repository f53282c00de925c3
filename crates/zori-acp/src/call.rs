//! Tool calls as editors show them: a title, a kind, the files to follow, what went in and what came out.

use std::borrow::Cow;
use std::path::Path;

use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, ImageContent, Meta, Terminal, TerminalId, ToolCall as Shown, ToolCallContent,
    ToolCallLocation, ToolCallStatus, ToolCallUpdate, ToolCallUpdateFields, ToolKind as Kind,
};
use serde_json::Value;
use serde_json::value::RawValue;
use zori_core::ids::CallId;
use zori_core::message::{ToolCall, ToolInput};
use zori_core::text::{one_line, prefix};
use zori_core::tool::{Effect, FileChange, ToolKind, ToolOutput};
use zori_redact::Redactor;

/// A title has at most so many bytes: it is one line in a list.
const TITLE_BYTES: usize = 200;

/// What is known of a call before it runs.
#[derive(Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) call: &'a ToolCall,
    pub(crate) kind: Option<ToolKind>,
    pub(crate) effects: &'a [Effect],
    /// The folder that paths in titles start at.
    pub(crate) root: Option<&'a Path>,
    /// The call of the main agent that this one serves.
    pub(crate) parent: Option<&'a CallId>,
}

/// A call that was made.
pub(crate) fn requested(facts: Facts<'_>, redactor: &Redactor) -> Shown {
    let Facts { call, kind, effects, .. } = facts;
    Shown::new(call.id.as_str().to_owned(), title(facts, redactor))
        .name(redactor.redact(&call.name).into_owned())
        .kind(shown_kind(kind))
        .status(ToolCallStatus::Pending)
        .locations(locations(kind, effects, &call.input))
        .raw_input(input(&call.input, redactor))
        .meta(facts.parent.map(parent))
}

/// A call with other arguments than the model gave it.
pub(crate) fn changed(
    call: &CallId,
    args: &RawValue,
    effects: &[Effect],
    redactor: &Redactor,
) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new()
        .raw_input(redactor.redact_value(args.get()))
        .locations(effects.iter().filter_map(touched).map(ToolCallLocation::new).collect::<Vec<_>>());
    ToolCallUpdate::new(call.as_str().to_owned(), fields)
}

pub(crate) fn started(call: &CallId) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new().status(ToolCallStatus::InProgress);
    ToolCallUpdate::new(call.as_str().to_owned(), fields)
}

/// A call whose command runs in a terminal of the client.
pub(crate) fn in_terminal(call: &CallId, terminal: &TerminalId) -> ToolCallUpdate {
    let fields = ToolCallUpdateFields::new().content(vec![shown_terminal(terminal)]);
    ToolCallUpdate::new(call.as_str().to_owned(), fields)
}

fn shown_terminal(terminal: &TerminalId) -> ToolCallContent {
    ToolCallContent::Terminal(Terminal::new(terminal.clone()))
}

/// A call that is over. A command that failed is a call that failed.
pub(crate) fn finished(
    call: &CallId,
    kind: Option<ToolKind>,
    output: &ToolOutput,
    terminal: Option<&TerminalId>,
    redactor: &Redactor,
) -> ToolCallUpdate {
    let worked = output.ok() && output.process.is_none_or(|end| end.exit_code == 0);
    let status = if worked { ToolCallStatus::Completed } else { ToolCallStatus::Failed };
    let mut content: Vec<_> = output.changes.iter().map(|change| diff(change, redactor)).collect();
    content.extend(terminal.map(shown_terminal));
    if content.is_empty() {
        let text = output.readable(kind);
        if !text.is_empty() {
            content.push(ContentBlock::from(redactor.redact(&text).into_owned()).into());
        }
    }
    let pictures = output.images.iter().filter(|image| !image.format().is_document());
    content.extend(pictures.map(|image| {
        ContentBlock::Image(ImageContent::new(image.base64(), image.format().media_type())).into()
    }));
    let fields = ToolCallUpdateFields::new()
        .status(status)
        .content(content)
        .raw_output(redactor.redact_value(output.envelope.get()));
    ToolCallUpdate::new(call.as_str().to_owned(), fields)
}

/// The words that stand for a call in a list.
fn title(facts: Facts<'_>, redactor: &Redactor) -> String {
    let Facts { call, kind, effects, root, .. } = facts;
    let paths: Vec<_> = effects.iter().filter_map(touched).map(|path| below(root, path)).collect();
    let at = paths.first().map_or("", |path| path.as_ref());
    let words = match kind {
        Some(ToolKind::Bash) => match effects.first() {
            Some(Effect::Exec { command, .. }) => format!("`{command}`"),
            _ => call.name.clone(),
        },
        Some(ToolKind::Read) => format!("Read {at}"),
        Some(ToolKind::Ls) => format!("List {at}"),
        Some(ToolKind::Write) => format!("Write {at}"),
        Some(ToolKind::Edit | ToolKind::MultiEdit | ToolKind::NotebookEdit) => format!("Edit {at}"),
        Some(ToolKind::Patch) => format!("Patch {}", paths.join(", ")),
        Some(ToolKind::Glob) => format!("Find `{}`", argument(&call.input, "pattern").unwrap_or_default()),
        Some(ToolKind::Grep) => {
            format!("Search for `{}`", argument(&call.input, "pattern").unwrap_or_default())
        }
        Some(ToolKind::Fetch) => match effects.first() {
            Some(Effect::Net { url }) => format!("Fetch {url}"),
            _ => call.name.clone(),
        },
        Some(ToolKind::WebSearch) => {
            format!("Search the web for `{}`", argument(&call.input, "query").unwrap_or_default())
        }
        Some(ToolKind::Todo) => "Update the task list".to_owned(),
        Some(ToolKind::Task) => {
            format!("Task: {}", argument(&call.input, "description").unwrap_or_default())
        }
        Some(ToolKind::AskUser) => "Ask the user".to_owned(),
        Some(ToolKind::JobOutput) => {
            format!("Output of {}", argument(&call.input, "job_id").unwrap_or_default())
        }
        Some(ToolKind::JobKill) => format!("End {}", argument(&call.input, "job_id").unwrap_or_default()),
        None => call.name.clone(),
    };
    let clean = redactor.redact(&words);
    prefix(one_line(&clean).trim(), TITLE_BYTES).to_owned()
}

fn shown_kind(kind: Option<ToolKind>) -> Kind {
    match kind {
        Some(ToolKind::Read | ToolKind::Ls) => Kind::Read,
        Some(
            ToolKind::Write | ToolKind::Edit | ToolKind::MultiEdit | ToolKind::NotebookEdit | ToolKind::Patch,
        ) => Kind::Edit,
        Some(ToolKind::Glob | ToolKind::Grep) => Kind::Search,
        Some(ToolKind::Bash | ToolKind::JobOutput | ToolKind::JobKill) => Kind::Execute,
        Some(ToolKind::Fetch | ToolKind::WebSearch) => Kind::Fetch,
        Some(ToolKind::Todo | ToolKind::Task | ToolKind::AskUser) => Kind::Think,
        None => Kind::Other,
    }
}

/// The files an editor may open beside the call; folders are not shown in editors.
fn locations(kind: Option<ToolKind>, effects: &[Effect], input: &ToolInput) -> Vec<ToolCallLocation> {
    let files = matches!(
        kind,
        Some(
            ToolKind::Read
                | ToolKind::Write
                | ToolKind::Edit
                | ToolKind::MultiEdit
                | ToolKind::NotebookEdit
                | ToolKind::Patch
        )
    );
    let line = argument(input, "offset").and_then(|line| line.parse::<u32>().ok());
    effects
        .iter()
        .filter(|_| files)
        .filter_map(touched)
        .map(|path| ToolCallLocation::new(path).line(line.filter(|_| kind == Some(ToolKind::Read))))
        .collect()
}

fn touched(effect: &Effect) -> Option<&Path> {
    match effect {
        Effect::Read(path) | Effect::Write(path) => Some(path),
        Effect::Exec { .. }
        | Effect::Net { .. }
        | Effect::Mcp { .. }
        | Effect::Agent
        | Effect::Memory
        | Effect::Schedule
        | Effect::Internal => None,
    }
}

/// Returns a path as people name it in a folder.
fn below<'p>(root: Option<&Path>, path: &'p Path) -> Cow<'p, str> {
    match root.and_then(|root| path.strip_prefix(root).ok()) {
        Some(rest) if rest.as_os_str().is_empty() => Cow::Borrowed("."),
        Some(rest) => rest.to_string_lossy(),
        None => path.to_string_lossy(),
    }
}

/// Returns one argument as text.
fn argument(input: &ToolInput, name: &str) -> Option<String> {
    let arguments: Value = serde_json::from_str(input.json()).ok()?;
    match arguments.get(name)? {
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// Returns arguments without secrets; text that is not JSON is put under `raw`.
fn input(input: &ToolInput, redactor: &Redactor) -> Value {
    match input {
        ToolInput::Json(raw) => redactor.redact_value(raw.get()),
        ToolInput::Malformed(text) => serde_json::json!({ "raw": redactor.redact(text) }),
    }
}

fn diff(change: &FileChange, redactor: &Redactor) -> ToolCallContent {
    let clean = |text: &str| redactor.redact(text).into_owned();
    let after = change.after.as_deref().map(clean).unwrap_or_default();
    Diff::new(&change.path, after).old_text(change.before.as_deref().map(clean)).into()
}

/// Returns whether a result says that its command failed.
pub(crate) fn command_failed(envelope: &str) -> bool {
    let envelope: Value = serde_json::from_str(envelope).unwrap_or_default();
    envelope["data"]["exit_code"].as_i64().is_some_and(|code| code != 0)
}

fn parent(call: &CallId) -> Meta {
    let mut meta = Meta::new();
    meta.insert("parentToolCallId".to_owned(), call.as_str().into());
    meta
}
