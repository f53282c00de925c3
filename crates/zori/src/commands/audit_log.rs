//! `audit-log`: reads the audit log, or checks its chains.

use std::path::PathBuf;

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::{Command, Rule};
use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::kind::Kind;
use zori_contract::reply::Reply;
use zori_serve::parse_session;
use zori_store::{AuditEntry, StoreError, VerifyError, audit_entries, audit_path, verify};

use super::{Context, example};
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::args::flags;
use zori_setup::data_dir::DataDir;
use zori_setup::error::{AUDIT_BROKEN, BASE_UNUSABLE};
use zori_setup::settings::root;

const EVENT: Flag = Flag::valued(
    "event",
    "NAME",
    Kind::Choice(&[
        "decision", "approval", "sandbox", "mode", "tool", "mcp", "undo", "purge", "trust", "run",
    ]),
    "Show only these: decision, approval, sandbox, mode, tool, mcp, undo, purge, trust or run",
);
const SINCE: Flag =
    Flag::valued("since", "TIME", Kind::Text, "Show only what happened since, such as 2026-01-31T12:00")
        .check(|value| match value.starts_with(|c: char| c.is_ascii_digit()) && value.contains('-') {
            true => Ok(()),
            false => Err(format!("`--since` takes a time such as 2026-01-31T12:00, not `{value}`")),
        });
const COMMAND_NAME: Flag =
    Flag::valued("command", "NAME", Kind::Text, "Show only runs of this command, such as `sessions rm`");
const TRACE_ID: Flag = Flag::valued(
    "trace-id",
    "ID",
    Kind::Text,
    "Show only runs that are part of this, as `ZORI_TRACE_ID` said",
);
const LIMIT: Flag =
    Flag::valued("limit", "N", Kind::Int { min: 1, max: i64::MAX }, "Show at most so many, the latest")
        .default("100");
const CURSOR: Flag = Flag::valued(
    "cursor",
    "CURSOR",
    Kind::Int { min: 1, max: i64::MAX },
    "Show what was before that, as `meta.pagination.next_cursor` of the page after it said",
);
const VERIFY: Flag =
    Flag::switch("verify", "Check the chains of all audit logs and name the first broken link");

pub const COMMAND: Command<App> = Command {
    flags: const { &[EVENT, SINCE, COMMAND_NAME, TRACE_ID, LIMIT, CURSOR, VERIFY] },
    // A chain is checked as a whole.
    rules: &[
        Rule::Excludes { flag: &VERIFY, other: &flags::SESSION },
        Rule::Excludes { flag: &VERIFY, other: &EVENT },
        Rule::Excludes { flag: &VERIFY, other: &LIMIT },
        Rule::Excludes { flag: &VERIFY, other: &CURSOR },
        Rule::Excludes { flag: &VERIFY, other: &SINCE },
        Rule::Excludes { flag: &VERIFY, other: &COMMAND_NAME },
        Rule::Excludes { flag: &VERIFY, other: &TRACE_ID },
    ],
    examples: &[
        example("what was decided lately in this project", "zori audit-log --event decision --limit 20"),
        example("in another one", "zori audit-log --root ~/project"),
        example("whether somebody changed it", "zori audit-log --verify"),
    ],
    output_schema: r#"{"type":"object","properties":{
        "entries":{"type":"array","x-ordered":true,"items":{"type":"object","required":["ts","event"]}},
        "files":{"type":"array","x-ordered":true,"items":{"type":"object","required":["path","records","torn_lines"]}}}}"#,
    ..Command::new(&["audit-log"], "Show what was decided and what ran, or check that nobody changed it", run)
};

/// Prints the latest records of this project and of commands, or checks every log there is.
fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let data_dir = cx.app.data_dir()?;
    if args.has(&VERIFY) { check(&data_dir) } else { show(args, &data_dir) }
}

fn show(args: &Args, data_dir: &DataDir) -> Result<Reply, Failure> {
    let session = args.text(&flags::SESSION).map(parse_session).transpose()?;
    let limit = args.int(&LIMIT).and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    let wanted = |entry: &AuditEntry| {
        args.text(&EVENT).is_none_or(|event| *event == entry.event)
            && args.text(&SINCE).is_none_or(|since| *since <= *entry.ts)
            && args.text(&COMMAND_NAME).is_none_or(|name| entry.command.as_deref() == Some(name))
            && args.text(&TRACE_ID).is_none_or(|id| entry.trace_id.as_deref() == Some(id))
            && session.as_ref().is_none_or(|id| entry.session.as_deref() == Some(id.as_str()))
    };
    let mut shown = Vec::new();
    for path in [data_dir.audit(), data_dir.project_audit(&root(&LowArgs::new(args))?)] {
        let take = |entry: AuditEntry| {
            if wanted(&entry) {
                shown.push(entry);
            }
        };
        audit_entries(&path, take).map_err(unreadable)?;
    }
    // Stable, so that records of one millisecond keep their order.
    shown.sort_by(|a, b| a.ts.cmp(&b.ts));
    // Records are only ever added, so that a page is counted from the first one.
    let end = args.int(&CURSOR).and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX).min(shown.len());
    let start = end.saturating_sub(limit);
    let latest = &shown[start..end];
    let text: String = latest.iter().map(|entry| entry.line() + "\n").collect();
    let next = (start > 0).then(|| start.to_string());
    let pagination = json!({"total": shown.len(), "returned": latest.len(), "truncated": latest.len() < shown.len(),
                            "has_more": next.is_some(), "next_cursor": next});
    Ok(Reply::one(json!({"entries": latest})).text(or_none(text)).meta("pagination", pagination))
}

fn check(data_dir: &DataDir) -> Result<Reply, Failure> {
    let (mut text, mut files) = (String::new(), Vec::<Value>::new());
    for path in logs(data_dir).map_err(unreadable)? {
        for file in verify(&path).map_err(broken)? {
            let path = file.path.display().to_string();
            text += &format!("{path}: {} records, the chain holds\n", file.records);
            for line in &file.torn {
                text += &format!("{path}:{line}: cut off while it was written\n");
            }
            files.push(json!({"path": path, "records": file.records, "torn_lines": file.torn}));
        }
    }
    Ok(Reply::one(json!({"files": files})).text(or_none(text)))
}

fn or_none(text: String) -> String {
    if text.is_empty() { "No audit records found.".into() } else { text }
}

/// Returns the log of commands and that of every project.
fn logs(data_dir: &DataDir) -> Result<Vec<PathBuf>, StoreError> {
    let projects = data_dir.dir().join("projects");
    let mut folders: Vec<PathBuf> = match std::fs::read_dir(&projects) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(StoreError::Io { path: projects, source }),
    };
    folders.sort();
    Ok([data_dir.audit()].into_iter().chain(folders.iter().map(|folder| audit_path(folder))).collect())
}

fn broken(error: VerifyError) -> Failure {
    match error {
        VerifyError::Broken { .. } => Failure::new(
            &AUDIT_BROKEN,
            format!("the audit log was changed: {error}"),
        )
        .hint(
            "what follows that line cannot be relied on; keep the file as it is and look who can write to it",
        ),
        VerifyError::Io { .. } => Failure::new(&IO_ERROR, format!("cannot read the audit log: {error}")),
    }
}

fn unreadable(error: StoreError) -> Failure {
    Failure::new(&BASE_UNUSABLE, format!("cannot read the audit log: {error}"))
}
