//! Saved sessions by their names, and how it is said that there is none.

use std::path::Path;

use zori_contract::failure::Failure;
use zori_core::ids::SessionId;
use zori_serve::parse_session;
use zori_store::{SessionDir, StoreError};

use crate::app::App;
use crate::error::{BASE_UNUSABLE, SESSION_NOT_FOUND};
use crate::profile::Profile;
use crate::which_session::begun_in;

/// The fewest characters that may stand for a session's name.
const SHORTEST_PREFIX: usize = 4;

/// Returns the session that was used last, other than `except`.
pub fn latest(sessions: &SessionDir, except: Option<&SessionId>) -> Result<Option<SessionId>, Failure> {
    let entries = sessions.list().map_err(unreadable)?;
    Ok(entries.into_iter().map(|entry| entry.id).find(|id| Some(id) != except))
}

/// Returns the session of a folder that was used last, other than `except`.
pub fn latest_in(
    sessions: &SessionDir,
    except: Option<&SessionId>,
    root: &Path,
) -> Result<Option<SessionId>, Failure> {
    let entries = sessions.list().map_err(unreadable)?;
    let here = |id: &SessionId| Some(id) != except && begun_in(&sessions.file(id), root);
    Ok(entries.into_iter().map(|entry| entry.id).find(here))
}

/// Returns the session that is meant: the one of this name, else the only one whose name begins so. A name that nobody has
/// stays as it is, for the caller to say what that means.
pub fn named(profile: &Profile, sessions: &SessionDir, text: &str) -> Result<SessionId, Failure> {
    let id = parse_session(text)?;
    if text.len() < SHORTEST_PREFIX || sessions.file(&id).exists() {
        return Ok(id);
    }
    let mut entries = sessions.list().map_err(unreadable)?;
    entries.retain(|entry| entry.id.as_str().starts_with(text));
    entries.sort_by(|a, b| a.id.as_str().cmp(b.id.as_str()));
    match entries.as_slice() {
        [] => Ok(id),
        [one] => Ok(one.id.clone()),
        many => {
            let names: Vec<_> = many.iter().take(5).map(|entry| format!("'{}'", entry.id)).collect();
            let more = if many.len() > names.len() { ", ..." } else { "" };
            let message = format!("{} sessions begin with '{text}': {}{more}", many.len(), names.join(", "));
            Err(no_session(profile, &message).field("id", text).hint("say more of the name"))
        }
    }
}

/// Returns where the sessions are.
pub fn directory(app: &App) -> Result<SessionDir, Failure> {
    Ok(SessionDir::new(app.data_dir()?.sessions()))
}

/// Returns the failure for an empty session directory.
pub fn no_sessions_yet(profile: &Profile, message: &str) -> Failure {
    Failure::new(&SESSION_NOT_FOUND, message).hint(format!("`{} -p TEXT` begins one", profile.name))
}

pub fn no_session(profile: &Profile, message: &str) -> Failure {
    Failure::new(&SESSION_NOT_FOUND, message)
        .hint(format!("`{} sessions list` shows the sessions there are", profile.name))
}

pub fn unreadable(error: StoreError) -> Failure {
    Failure::new(&BASE_UNUSABLE, format!("cannot read the sessions: {error}"))
}
