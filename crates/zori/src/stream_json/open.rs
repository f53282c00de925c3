//! Which session a run of the Claude protocol goes on with: `--resume`, `--continue`, `--fork-session`, `--session-id`.

use zori_core::ids::SessionId;
use zori_host::{SessionSettings, Which, session_id};
use zori_store::SessionDir;

use zori_setup::args::SessionArgs;
use zori_setup::find_session::latest_in;
use zori_setup::session_copy;

/// Why no session can be opened.
#[derive(Debug)]
pub enum Refused {
    /// There is nothing to go on with: told as the result of a turn.
    NotFound(String),
    /// The name is taken: told on standard error.
    Taken(String),
}

/// Finds the session.
pub fn choose(wanted: &SessionArgs, settings: &SessionSettings) -> Result<Which, Refused> {
    let sessions = settings.storage.sessions.clone().map(SessionDir::new);
    let new = match &wanted.new_id {
        Some(text) => {
            let id = SessionId::parse(text).map_err(|error| Refused::Taken(error.to_string()))?;
            if sessions.as_ref().is_some_and(|sessions| sessions.file(&id).exists()) {
                return Err(Refused::Taken(format!("Session ID {id} is already in use.")));
            }
            Some(id)
        }
        None => None,
    };
    let Some(parent) = parent(wanted, settings, sessions.as_ref())? else {
        let usual = if settings.storage.named.is_some() { Which::BySettings } else { Which::New };
        return Ok(new.map_or(usual, Which::Named));
    };
    if !wanted.fork {
        return Ok(Which::Existing(parent));
    }
    let id = new.unwrap_or_else(session_id);
    match sessions.filter(|_| settings.storage.save) {
        Some(sessions) => session_copy::copy(&sessions, &parent, &id).map_err(Refused::NotFound)?,
        // Nothing is written, so the copy is only in memory.
        None => return Ok(Which::Existing(parent)),
    }
    Ok(Which::Existing(id))
}

/// Finds the session that is gone on with, if any.
pub fn parent(
    wanted: &SessionArgs,
    settings: &SessionSettings,
    sessions: Option<&SessionDir>,
) -> Result<Option<SessionId>, Refused> {
    if let Some(text) = &wanted.resume {
        let found = SessionId::parse(text).ok();
        let found = found.filter(|id| sessions.is_some_and(|sessions| sessions.file(id).exists()));
        let missing = || Refused::NotFound(format!("No conversation found with session ID: {text}"));
        return found.map(Some).ok_or_else(missing);
    }
    if !wanted.continues {
        return Ok(None);
    }
    let newest = |sessions| latest_in(sessions, None, &settings.workspace.root);
    let found = sessions.map(newest).transpose().map_err(|failure| Refused::NotFound(failure.message))?;
    let missing = || Refused::NotFound("No conversation found to continue".to_owned());
    found.flatten().map(Some).ok_or_else(missing)
}
