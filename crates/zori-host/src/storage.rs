//! Opening a session's file: its lock, its history, and where it goes on being saved.

use std::sync::Arc;

use zori_core::compaction::ReplacedView;
use zori_core::ids::{IdSource, SessionId};
use zori_core::log::Log;
use zori_core::message::{Block, Message, Role};
use zori_store::{Damage, NewSession, SessionDir, SessionLock, StoreError};

use crate::error::HostError;
use crate::notice::Notice;
use crate::settings::SessionSettings;

/// Which session to open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one that the settings name, made if it does not exist (SES-7); a new one where they name none.
    BySettings,
    /// A new one, whatever the settings say.
    New,
    /// A new one of this name.
    Named(SessionId),
    /// One that exists.
    Existing(SessionId),
}

/// A session as it was found, locked, with its history.
pub struct OpenedSession {
    /// Its name.
    pub id: SessionId,
    /// The conversation so far.
    pub history: Vec<Arc<Message>>,
    pub(crate) replaced: Vec<ReplacedView>,
    pub(crate) replies: u64,
    pub(crate) log: Option<Box<dyn Log>>,
    /// How many prompts it has had.
    pub(crate) turns: u32,
    /// The messages that scheduled jobs sent, each with the name of its job.
    pub(crate) scheduled: Vec<(Arc<Message>, String)>,
}

impl OpenedSession {
    /// Returns a new session that is not saved.
    pub fn unsaved(id: SessionId) -> Self {
        Self {
            id,
            history: Vec::new(),
            replaced: Vec::new(),
            replies: 0,
            log: None,
            turns: 0,
            scheduled: Vec::new(),
        }
    }

    /// Returns a session that is not saved and goes on from what was said in another one, whose last turn was given up. Of that turn stays what is
    /// whole: neither calls without results nor a prompt that nothing came of.
    pub fn going_on_from(id: SessionId, said: &[Arc<Message>]) -> Self {
        let mut history = said.to_vec();
        let has_results =
            |message: &Message| message.blocks.iter().any(|block| matches!(block, Block::ToolResult(_)));
        history.truncate(match history.as_slice() {
            [.., last] if last.role == Role::Assistant && last.calls().next().is_some() => history.len() - 1,
            _ => history.len(),
        });
        history.truncate(match history.as_slice() {
            [.., last] if last.role == Role::User && !has_results(last) => history.len() - 1,
            _ => history.len(),
        });
        let replies = history.iter().filter(|message| message.role == Role::Assistant).count() as u64;
        Self { history, replies, ..Self::unsaved(id) }
    }

    /// Returns whether the session is saved.
    pub fn is_saved(&self) -> bool {
        self.log.is_some()
    }
}

/// Takes the session's lock, reads its history, and prepares to append.
pub(crate) fn open(
    settings: &SessionSettings,
    ids: &dyn IdSource,
    which: Which,
    notices: &mut Vec<Notice>,
) -> Result<OpenedSession, HostError> {
    let storage = &settings.storage;
    let (named, new) = match which {
        Which::BySettings => (storage.named.clone(), None),
        Which::New => (None, None),
        Which::Named(id) => (None, Some(id)),
        Which::Existing(id) => (Some(id), None),
    };
    let new = || new.clone().unwrap_or_else(|| ids.session());
    let Some(folder) = &storage.sessions else { return Ok(OpenedSession::unsaved(new())) };
    let sessions = SessionDir::new(folder.clone());
    let log = |id: &SessionId, lock| -> Box<dyn Log> {
        let new = NewSession { root: settings.workspace.root.as_path().into(), parent: None };
        let mode = settings.permission.policy.mode.shown();
        let writer = sessions.writer(id, new, storage.durability, lock).in_mode(mode);
        Box::new(writer.without_secrets(settings.model.secrets.clone()))
    };
    let Some(id) = named else {
        let id = new();
        let log = storage.save.then(|| log(&id, None));
        return Ok(OpenedSession { log, ..OpenedSession::unsaved(id) });
    };
    let mut lock = match storage.save.then(|| sessions.lock(&id)).transpose() {
        Ok(lock) => lock,
        Err(source @ StoreError::Locked { pid, .. }) => {
            let lock_file = sessions.lock_file(&id);
            return Err(HostError::Locked { pid, lock_file, source });
        }
        Err(error) if storage.required => return Err(HostError::CannotSave(error)),
        Err(error) => {
            // A directory that cannot be written to does not keep the model from answering (FS-3).
            notices.push(Notice::Warning(format!("Failed to save session: {error}")));
            None
        }
    };
    if let Some(why) = lock.as_mut().and_then(SessionLock::take_shortcoming) {
        let text = format!("Session '{id}' cannot be locked here ({why}): use it from one process at a time");
        notices.push(Notice::Warning(text));
    }
    let unreadable = |source| HostError::Unreadable { id: id.clone(), source };
    let (history, replaced, replies, turns, scheduled) = match sessions.load(&id).map_err(unreadable)? {
        Some(loaded) => {
            let warnings =
                damage_warning(&id, &loaded.damage).into_iter().chain(left_out(&id, loaded.left_out));
            notices.extend(warnings.map(Notice::Warning));
            (loaded.history, loaded.replaced, loaded.replies, loaded.prompts, loaded.scheduled)
        }
        None => {
            notices.push(Notice::Warning(format!("Session '{id}' does not exist yet; starting it")));
            (Vec::new(), Vec::new(), 0, 0, Vec::new())
        }
    };
    let log = lock.map(|lock| log(&id, Some(lock)));
    Ok(OpenedSession { id, history, replaced, replies, log, turns, scheduled })
}

/// Says which lines of a session could not be read (LOG-3).
pub fn damage_warning(id: &SessionId, damage: &Damage) -> Option<String> {
    (!damage.is_empty()).then(|| format!("Session '{id}' is damaged and goes on without {damage}"))
}

fn left_out(id: &SessionId, records: u64) -> Option<String> {
    (records > 0).then(|| format!("Session '{id}' is very long: its first {records} records are left out"))
}

#[cfg(test)]
mod tests {
    use zori_core::ids::CallId;
    use zori_core::message::{IdOrigin, ToolCall, ToolInput, ToolResult};

    use super::*;

    /// A conversation, a letter a message: `p`rompt, `a`nswer, `c`alls, `r`esults.
    fn said(letters: &str) -> Vec<Arc<Message>> {
        let id = || CallId::new("call-1".to_owned());
        let call = || ToolCall {
            id: id(),
            name: "bash".into(),
            input: ToolInput::parse("{}".into()),
            id_origin: IdOrigin::Provider,
            replay: None,
        };
        let result = || ToolResult {
            call: id(),
            name: "bash".into(),
            ok: true,
            envelope: serde_json::value::RawValue::from_string("{}".into()).unwrap().into(),
            text: None,
            images: Vec::new(),
        };
        let message = |letter| match letter {
            'p' => Message::user("go"),
            'a' => Message { role: Role::Assistant, blocks: vec![Block::Text("done".into())] },
            'c' => Message { role: Role::Assistant, blocks: vec![Block::ToolCall(call())] },
            _ => Message { role: Role::User, blocks: vec![Block::ToolResult(result())] },
        };
        letters.chars().map(|letter| Arc::new(message(letter))).collect()
    }

    #[test]
    fn what_is_whole_of_a_turn_that_was_given_up() {
        let id = SessionId::parse("0199c0de-0000-7000-8000-000000000000").unwrap();
        for (letters, stays, replies) in [
            ("", 0, 0),
            ("p", 0, 0),
            ("pa", 2, 1),
            ("pap", 2, 1),
            ("pc", 0, 0),
            ("papc", 2, 1),
            ("pcr", 3, 1),
            ("pcrc", 3, 1),
            ("pcra", 4, 2),
        ] {
            let opened = OpenedSession::going_on_from(id.clone(), &said(letters));
            assert_eq!((opened.history.len(), opened.replies), (stays, replies), "{letters}");
            assert!(!opened.is_saved());
        }
    }
}
