//! `sessions list`, `sessions show` and `sessions resume` (`core-cli.md` chapter 9).

use zori_core::ids::SessionId;
use zori_store::{SessionDir, StoreError, transcript_block};

use super::{Cx, exec};
use crate::args::LowArgs;
use crate::base::Base;
use crate::chat;
use crate::command_error::{CommandError, ErrorCode};
use crate::config::Config;
use crate::exit::Exit;
use crate::profile::MissingSession;
use crate::settings::{check_output, parse_session};
use crate::wire_up::Open;

/// Prints one line a session, newest first.
pub fn list(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    check_output(cx, args, &Config::default())?;
    let sessions = directory(cx)?.list().map_err(unreadable)?;
    let mut text: String =
        sessions.iter().map(|entry| format!("{}  {}\n", entry.id, entry.modified.minutes())).collect();
    if text.is_empty() {
        text = "No sessions found.\n".into();
    }
    Ok(cx.ui.document(&text))
}

/// Prints a transcript.
pub fn show(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    check_output(cx, args, &Config::default())?;
    let id = parse_session(args.positionals.first().map_or("", String::as_str))?;
    let mut text = String::new();
    if let Some(mut records) = directory(cx)?.records(&id).map_err(unreadable)? {
        for record in records.by_ref() {
            let block = transcript_block(&record.map_err(unreadable)?);
            if let Some(block) = block {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&block);
            }
        }
        if let Some(warning) = crate::wire_up::damage(&id, records.damage()) {
            cx.ui.warn(&warning);
        }
    }
    if !text.is_empty() {
        return Ok(cx.ui.document(&text));
    }
    let missing = format!("Session '{id}' is empty or not found.");
    match cx.profile.missing_session {
        MissingSession::Text => Ok(cx.ui.document(&format!("{missing}\n"))),
        MissingSession::Error => Err(CommandError::new(ErrorCode::SessionNotFound, missing)
            .hint(format!("`{} sessions list` shows the sessions there are", cx.profile.name))),
    }
}

/// Goes on with a session: a chat, or one turn with `-p`.
pub fn resume(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    let named = match (args.positionals.first(), &args.session) {
        (Some(id), Some(flag)) if id != flag => {
            let message = format!("`--session {flag}` and `{id}` name two sessions");
            return Err(CommandError::new(ErrorCode::Usage, message).hint("leave one of them out"));
        }
        (id, flag) => id.or(flag.as_ref()),
    };
    let id = named.map(|text| parse_session(text)).transpose()?;
    let sessions = directory(cx)?;
    let id = match id {
        Some(id) if sessions.file(&id).exists() => id,
        Some(id) => return Err(no_session(cx, &format!("No session '{id}' to resume"))),
        None => latest(&sessions, None)?.ok_or_else(|| no_session(cx, "No sessions found to resume"))?,
    };
    match args.prompt {
        Some(_) => exec::one_turn(cx, args, Open::Existing(id)),
        None => chat::resume(cx, args, id),
    }
}

/// Returns the session that was used last, other than `except`.
pub fn latest(sessions: &SessionDir, except: Option<&SessionId>) -> Result<Option<SessionId>, CommandError> {
    let entries = sessions.list().map_err(unreadable)?;
    Ok(entries.into_iter().map(|entry| entry.id).find(|id| Some(id) != except))
}

fn directory(cx: &Cx<'_>) -> Result<SessionDir, CommandError> {
    Ok(SessionDir::new(Base::find(cx.profile)?.sessions()))
}

fn no_session(cx: &Cx<'_>, message: &str) -> CommandError {
    CommandError::new(ErrorCode::SessionNotFound, message)
        .hint(format!("`{} sessions list` shows the sessions there are", cx.profile.name))
}

fn unreadable(error: StoreError) -> CommandError {
    CommandError::new(ErrorCode::BaseUnusable, format!("cannot read the sessions: {error}"))
}
