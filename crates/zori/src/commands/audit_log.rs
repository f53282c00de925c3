//! `audit-log`: reads the audit log, or checks its chains.

use std::collections::VecDeque;
use std::path::PathBuf;

use zori_store::{AuditEntry, StoreError, VerifyError, audit_entries, audit_path, verify};

use super::Cx;
use crate::args::LowArgs;
use crate::base::Base;
use crate::command_error::{CommandError, ErrorCode};
use crate::config::Config;
use crate::exit::Exit;
use crate::settings::{check_output, parse_session, root};

/// How many records are shown when nobody says otherwise.
const SHOWN: usize = 100;

/// Prints the latest records of this project and of commands, or checks every log there is.
pub fn run(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    check_output(cx, args, &Config::default())?;
    let base = Base::find(cx.profile)?;
    if args.verify { check(cx, args, &base) } else { show(cx, args, &base) }
}

fn show(cx: &mut Cx<'_>, args: &LowArgs, base: &Base) -> Result<Exit, CommandError> {
    let session = args.session.as_deref().map(parse_session).transpose()?;
    let limit = args.limit.unwrap_or(SHOWN);
    let wanted = |entry: &AuditEntry| {
        args.event.as_ref().is_none_or(|event| *event == entry.event)
            && session.as_ref().is_none_or(|id| entry.session.as_deref() == Some(id.as_str()))
    };
    let mut shown = Vec::new();
    for path in [base.audit(), base.project_audit(&root(args)?)] {
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
    let first = shown.len().saturating_sub(limit);
    let mut text: String = shown[first..].iter().map(|entry| entry.line() + "\n").collect();
    if text.is_empty() {
        text = "No audit records found.\n".into();
    }
    Ok(cx.ui.document(&text))
}

fn check(cx: &mut Cx<'_>, args: &LowArgs, base: &Base) -> Result<Exit, CommandError> {
    let filters = [
        ("--session", args.session.is_some()),
        ("--event", args.event.is_some()),
        ("--limit", args.limit.is_some()),
    ];
    if let Some((flag, _)) = filters.iter().find(|(_, given)| *given) {
        return Err(CommandError::new(
            ErrorCode::Usage,
            format!("`--verify` and `{flag}` exclude each other"),
        )
        .hint("a chain is checked as a whole"));
    }
    let mut text = String::new();
    for path in logs(base).map_err(unreadable)? {
        for file in verify(&path).map_err(broken)? {
            text += &format!("{}: {} records, the chain holds\n", file.path.display(), file.records);
            for line in file.torn {
                text += &format!("{}:{line}: cut off while it was written\n", file.path.display());
            }
        }
    }
    if text.is_empty() {
        text = "No audit records found.\n".into();
    }
    Ok(cx.ui.document(&text))
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

fn broken(error: VerifyError) -> CommandError {
    match error {
        VerifyError::Broken { .. } => CommandError::new(
            ErrorCode::AuditBroken,
            format!("the audit log was changed: {error}"),
        )
        .hint(
            "what follows that line cannot be relied on; keep the file as it is and look who can write to it",
        ),
        VerifyError::Io { .. } => {
            CommandError::new(ErrorCode::Io, format!("cannot read the audit log: {error}"))
        }
    }
}

fn unreadable(error: StoreError) -> CommandError {
    CommandError::new(ErrorCode::BaseUnusable, format!("cannot read the audit log: {error}"))
}
