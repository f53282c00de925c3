//! `audit-log`: reads the audit log, or checks its chains.

use std::collections::VecDeque;
use std::path::PathBuf;

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::{Command, Rule};
use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::kind::Kind;
use zori_contract::reply::Reply;
use zori_store::{AuditEntry, StoreError, VerifyError, audit_entries, audit_path, verify};

use super::{Context, example};
use crate::args::LowArgs;
use crate::base::Base;
use crate::error::{AUDIT_BROKEN, BASE_UNUSABLE};
use crate::program::App;
use crate::settings::{parse_session, root};

/// The entry.
pub const COMMAND: Command<App> = Command {
    flags: const {
        &[
            Flag::valued(
                "event",
                "NAME",
                Kind::Choice(&["decision", "approval", "sandbox", "mode", "tool", "trust", "run"]),
                "Show only these: decision, approval, sandbox, mode, tool, trust or run",
            ),
            Flag::valued(
                "since",
                "TIME",
                Kind::Text,
                "Show only what happened since, such as 2026-01-31T12:00",
            )
            .check(|value| {
                match value.starts_with(|c: char| c.is_ascii_digit()) && value.contains('-') {
                    true => Ok(()),
                    false => Err(format!("`--since` takes a time such as 2026-01-31T12:00, not `{value}`")),
                }
            }),
            Flag::valued(
                "command",
                "NAME",
                Kind::Text,
                "Show only runs of this command, such as `sessions rm`",
            ),
            Flag::valued(
                "trace-id",
                "ID",
                Kind::Text,
                "Show only runs that a caller has called so (`ZORI_TRACE_ID`)",
            ),
            Flag::valued(
                "limit",
                "N",
                Kind::Int { min: 1, max: i64::MAX },
                "Show at most so many, the latest",
            )
            .default("100"),
            Flag::switch("verify", "Check the chains of all audit logs and name the first broken link"),
        ]
    },
    // A chain is checked as a whole.
    rules: &[
        Rule::Excludes { flag: "verify", other: "session" },
        Rule::Excludes { flag: "verify", other: "event" },
        Rule::Excludes { flag: "verify", other: "limit" },
        Rule::Excludes { flag: "verify", other: "since" },
        Rule::Excludes { flag: "verify", other: "command" },
        Rule::Excludes { flag: "verify", other: "trace-id" },
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
    let base = Base::find(cx.app.profile)?;
    if args.has("verify") { check(&base) } else { show(args, &base) }
}

fn show(args: &Args, base: &Base) -> Result<Reply, Failure> {
    let session = args.text("session").map(parse_session).transpose()?;
    let limit = args.int("limit").and_then(|n| usize::try_from(n).ok()).unwrap_or(usize::MAX);
    let wanted = |entry: &AuditEntry| {
        args.text("event").is_none_or(|event| *event == entry.event)
            && args.text("since").is_none_or(|since| *since <= *entry.ts)
            && args.text("command").is_none_or(|name| entry.command.as_deref() == Some(name))
            && args.text("trace-id").is_none_or(|id| entry.trace_id.as_deref() == Some(id))
            && session.as_ref().is_none_or(|id| entry.session.as_deref() == Some(id.as_str()))
    };
    let mut shown = Vec::new();
    for path in [base.audit(), base.project_audit(&root(&LowArgs::new(args))?)] {
        let mut latest = VecDeque::new();
        let take = |entry: AuditEntry| {
            if wanted(&entry) {
                latest.push_back(entry);
                if latest.len() > limit {
                    latest.pop_front();
                }
            }
        };
        audit_entries(&path, take).map_err(unreadable)?;
        shown.extend(latest);
    }
    // Stable, so that records of one millisecond keep their order.
    shown.sort_by(|a, b| a.ts.cmp(&b.ts));
    let latest = &shown[shown.len().saturating_sub(limit)..];
    let text: String = latest.iter().map(|entry| entry.line() + "\n").collect();
    Ok(Reply::one(json!({"entries": latest})).text(or_none(text)))
}

fn check(base: &Base) -> Result<Reply, Failure> {
    let (mut text, mut files) = (String::new(), Vec::<Value>::new());
    for path in logs(base).map_err(unreadable)? {
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
fn logs(base: &Base) -> Result<Vec<PathBuf>, StoreError> {
    let projects = base.dir().join("projects");
    let mut folders: Vec<PathBuf> = match std::fs::read_dir(&projects) {
        Ok(entries) => entries.flatten().map(|entry| entry.path()).collect(),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
        Err(source) => return Err(StoreError::Io { path: projects, source }),
    };
    folders.sort();
    Ok([base.audit()].into_iter().chain(folders.iter().map(|folder| audit_path(folder))).collect())
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
