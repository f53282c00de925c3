//! Which session a chat or a prompt goes on with: `--continue`, `--resume`, `--fork-session` (DECISIONS 49).

use std::io::{BufRead, BufReader};
use std::path::Path;

use zori_contract::error::{ALREADY_EXISTS, LOCK_HELD, VALIDATION_ERROR};
use zori_contract::failure::Failure;
use zori_core::ids::SessionId;
use zori_host::{SessionSettings, Which, session_id};
use zori_store::SessionDir;

use crate::args::SessionArgs;
use crate::find_session::{self, no_session, no_sessions_yet};
use crate::profile::Profile;
use crate::session_copy;

/// Finds the session that the flags ask for, unless the command named one itself.
pub fn choose_over(
    which: Which,
    wanted: &SessionArgs,
    settings: &SessionSettings,
    profile: &Profile,
) -> Result<Which, Failure> {
    match which {
        Which::BySettings => Ok(choose(wanted, settings, profile)?.unwrap_or(Which::BySettings)),
        named => Ok(named),
    }
}

/// Adds the way around a session that another process has open.
pub fn with_fork_hint(failure: Failure, wanted: &SessionArgs) -> Failure {
    let going_on = wanted.continues || wanted.resume.is_some();
    match failure.kind == &LOCK_HELD && going_on && !wanted.fork {
        true => failure.hint("`--fork-session` goes on in a copy"),
        false => failure,
    }
}

/// Finds the session that the flags ask for; `None` where they ask for none. A failure is `SESSION_NOT_FOUND` where there is nothing to go on with.
fn choose(
    wanted: &SessionArgs,
    settings: &SessionSettings,
    profile: &Profile,
) -> Result<Option<Which>, Failure> {
    if wanted.fork && !wanted.continues && wanted.resume.is_none() {
        let message = "`--fork-session` needs a session to copy";
        return Err(Failure::new(&VALIDATION_ERROR, message).hint("add `--continue` or `--resume ID`"));
    }
    let sessions = settings.storage.sessions.clone().map(SessionDir::new);
    let new = new_id(wanted, sessions.as_ref())?;
    let Some(parent) = parent(wanted, settings, profile)? else { return Ok(new.map(Which::Named)) };
    if !wanted.fork {
        if new.is_some() {
            let message =
                "`--session-id` names a new session, and `--resume` and `--continue` go on with an old one";
            return Err(Failure::new(&VALIDATION_ERROR, message)
                .hint("add `--fork-session` to go on in a copy of that name"));
        }
        return Ok(Some(Which::Existing(parent)));
    }
    match sessions.filter(|_| settings.storage.save) {
        Some(sessions) => {
            let id = new.unwrap_or_else(session_id);
            session_copy::copy(&sessions, &parent, &id).map_err(|why| no_session(profile, &why))?;
            Ok(Some(Which::Existing(id)))
        }
        // Nothing is written, so the copy is only in memory.
        None => Ok(Some(Which::Existing(parent))),
    }
}

/// Finds the session that is gone on with; `None` where the flags ask for none. Nothing is made.
pub fn parent(
    wanted: &SessionArgs,
    settings: &SessionSettings,
    profile: &Profile,
) -> Result<Option<SessionId>, Failure> {
    let sessions = settings.storage.sessions.clone().map(SessionDir::new);
    match (&wanted.resume, wanted.continues) {
        (None, false) => Ok(None),
        (Some(text), _) if text.is_empty() => {
            let message = "`--resume` needs the name of a session, or a terminal to choose one at";
            let hint = format!(
                "`{} sessions list` shows the sessions there are; `--continue` takes the newest",
                profile.name
            );
            Err(Failure::new(&VALIDATION_ERROR, message).hint(hint))
        }
        (Some(text), _) => {
            let missing = || no_session(profile, &format!("No session '{text}' to resume"));
            let sessions = sessions.as_ref().ok_or_else(missing)?;
            let id = find_session::named(profile, sessions, text)?;
            if sessions.file(&id).exists() { Ok(Some(id)) } else { Err(missing()) }
        }
        (None, true) => {
            let newest = |sessions| find_session::latest_in(sessions, None, &settings.workspace.root);
            let found = sessions.as_ref().map(newest).transpose()?.flatten();
            let missing = || no_sessions_yet(profile, "There is no session of this folder to go on with");
            found.map(Some).ok_or_else(missing)
        }
    }
}

/// Returns the name of `--session-id`, which must be a new one.
fn new_id(wanted: &SessionArgs, sessions: Option<&SessionDir>) -> Result<Option<SessionId>, Failure> {
    let Some(id) = wanted.new_id.as_deref().and_then(|text| SessionId::parse(text).ok()) else {
        return Ok(None);
    };
    if sessions.is_some_and(|sessions| sessions.file(&id).exists()) {
        return Err(Failure::new(&ALREADY_EXISTS, format!("Session '{id}' exists already"))
            .field("conflict_id", id.as_str())
            .hint(format!("`--session {id}` goes on with it")));
    }
    Ok(Some(id))
}

/// Returns whether a session was begun in this folder: its first line says where.
pub fn begun_in(file: &Path, root: &Path) -> bool {
    let Ok(file) = std::fs::File::open(file) else { return false };
    let mut line = String::new();
    if BufReader::new(file).read_line(&mut line).is_err() {
        return false;
    }
    let meta: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
    meta["root"].as_str().is_some_and(|begun| Path::new(begun) == root)
}
