//! Which session a run of the Claude protocol goes on with: `--resume`, `--continue`, `--fork-session`, `--session-id`.

use std::io::{BufRead, BufReader};
use std::path::Path;

use zori_core::ids::{IdSource, SessionId};
use zori_store::SessionDir;

use crate::args::claude::ClaudeArgs;
use crate::clock::SystemIds;
use crate::commands::copy_session;
use crate::settings::Settings;
use crate::wire_up::Open;

/// Why no session can be opened.
#[derive(Debug)]
pub enum Refused {
    /// There is nothing to go on with: told as the result of a turn.
    NotFound(String),
    /// The name is taken: told on standard error.
    Taken(String),
}

/// Finds the session.
pub fn choose(claude: &ClaudeArgs, settings: &Settings) -> Result<Open, Refused> {
    let sessions = settings.base.as_ref().map(|base| SessionDir::new(base.sessions()));
    let new = match &claude.session_id {
        Some(text) => {
            let id = SessionId::parse(text).map_err(|error| Refused::Taken(error.to_string()))?;
            if sessions.as_ref().is_some_and(|sessions| sessions.file(&id).exists()) {
                return Err(Refused::Taken(format!("Session ID {id} is already in use.")));
            }
            Some(id)
        }
        None => None,
    };
    let Some(parent) = parent(claude, settings, sessions.as_ref())? else {
        return Ok(new.map_or(Open::New, Open::Named));
    };
    if !claude.fork {
        return Ok(Open::Existing(parent));
    }
    let id = new.unwrap_or_else(|| SystemIds.session());
    match sessions.filter(|_| settings.save) {
        Some(sessions) => copy_session(&sessions, &parent, &id).map_err(Refused::NotFound)?,
        // Nothing is written, so the copy is only in memory.
        None => return Ok(Open::Existing(parent)),
    }
    Ok(Open::Existing(id))
}

fn parent(
    claude: &ClaudeArgs,
    settings: &Settings,
    sessions: Option<&SessionDir>,
) -> Result<Option<SessionId>, Refused> {
    if let Some(text) = &claude.resume {
        let found = SessionId::parse(text).ok();
        let found = found.filter(|id| sessions.is_some_and(|sessions| sessions.file(id).exists()));
        let missing = || Refused::NotFound(format!("No conversation found with session ID: {text}"));
        return found.map(Some).ok_or_else(missing);
    }
    if !claude.continues {
        return Ok(None);
    }
    let listed = sessions.map(SessionDir::list).transpose().ok().flatten().unwrap_or_default();
    let here = |id: &SessionId| sessions.is_some_and(|sessions| begun_in(&sessions.file(id), &settings.root));
    match listed.into_iter().map(|entry| entry.id).find(here) {
        Some(id) => Ok(Some(id)),
        None => Err(Refused::NotFound("No conversation found to continue".to_owned())),
    }
}

/// Returns whether a session was begun in this folder: its first line says where.
fn begun_in(file: &Path, root: &Path) -> bool {
    let Ok(file) = std::fs::File::open(file) else { return false };
    let mut line = String::new();
    if BufReader::new(file).read_line(&mut line).is_err() {
        return false;
    }
    let meta: serde_json::Value = serde_json::from_str(&line).unwrap_or_default();
    meta["root"].as_str().is_some_and(|begun| Path::new(begun) == root)
}
