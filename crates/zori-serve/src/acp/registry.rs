//! The sessions an editor has open, by their ids, and what it asks about sessions as such.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use zori_acp::{
    AcpClient, MissingServer, OpenMode, OpenedSession, Request, RequestError, SessionEntry, SessionList,
    SessionSetup,
};
use zori_contract::error::{AUTH_REQUIRED, IO_ERROR, LOCK_HELD};
use zori_contract::failure::Failure;
use zori_core::ids::SessionId;
use zori_core::message::Role;
use zori_core::text::{one_line, prefix};
use zori_host::{Answers, SessionSettings, SlashEntry, Which};
use zori_mcp::client::config::merged;
use zori_redact::Redactor;
use zori_store::{RecordKind, SessionDir, StoreError};

use super::LOGIN;
use super::session_task::{SessionCommand, SessionTask};
use super::slash;
use crate::client_servers::DescribedServers;
use crate::{Launcher, parse_session};

/// The code of a program whose data directory cannot be used.
const BASE_UNUSABLE: &str = "BASE_UNUSABLE";

/// How many sessions a page of `session/list` has.
const PAGE: usize = 50;
/// How many bytes a title has at most.
const TITLE_BYTES: usize = 120;

/// All open sessions.
pub(super) struct SessionRegistry {
    peer: AcpClient,
    open: HashMap<String, Handle>,
    over: Rc<TurnOver>,
}

/// The word that a turn is over.
#[derive(Default)]
pub(super) struct TurnOver {
    notify: Notify,
    cut_off: Cell<bool>,
}

impl TurnOver {
    /// Says so; `cut_off`: the reader was gone before it was.
    pub(super) fn say(&self, cut_off: bool) {
        self.cut_off.set(self.cut_off.get() | cut_off);
        self.notify.notify_one();
    }
}

/// A session that is open: a task that hears what is said to it.
struct Handle {
    commands: mpsc::UnboundedSender<SessionCommand>,
    task: JoinHandle<()>,
    /// Commands and skills that people and the project brought.
    brought: Vec<SlashEntry>,
}

impl SessionRegistry {
    /// Returns a registry without sessions.
    pub(super) fn new(peer: AcpClient) -> Self {
        Self { peer, open: HashMap::new(), over: Rc::default() }
    }

    /// Waits until a turn is over; says whether one was cut off.
    pub(super) async fn turn_over(&self) -> bool {
        self.over.notify.notified().await;
        self.over.cut_off.get()
    }

    /// Does what is asked, or hands it to the session that it is for.
    pub(super) async fn serve<L: Launcher>(&mut self, launcher: &mut L, request: Request) {
        let request_id = request.id();
        match request {
            Request::Authenticate { method, reply } => reply.send(self.authenticate(launcher, &method)),
            Request::Open { how, place, reply } => match self.begin(launcher, how, place).await {
                Ok(opened) => {
                    let (id, missing) = (opened.session.clone(), opened.missing.clone());
                    reply.ok(opened);
                    // A reader that is gone is found out by the next turn.
                    let brought = self.open.get(&id).map_or(&[][..], |handle| &handle.brought);
                    let _ = self.peer.show_commands(&id, &slash::with_brought(brought));
                    for MissingServer { name, why } in missing {
                        let _ = self.peer.warn(&id, &format!("The session goes on without `{name}`: {why}"));
                    }
                }
                Err(refusal) => reply.fail(refusal),
            },
            Request::List { cwd, cursor, reply } => reply.send(list(launcher, cwd, cursor)),
            Request::Close { session, reply } => match self.open.remove(&session) {
                Some(handle) => {
                    handle.close().await;
                    reply.ok(());
                }
                None => reply.fail(unknown(&session)),
            },
            Request::Delete { session, reply } => reply.send(self.delete(launcher, &session).await),
            Request::Prompt { session, prompt, reply } => {
                self.say(&session, SessionCommand::Prompt { prompt, request: request_id, reply })
            }
            Request::Cancel { session } => self.say(&session, SessionCommand::Cancel),
            Request::CancelRequest { id } => {
                for handle in self.open.values() {
                    let _ = handle.commands.send(SessionCommand::CancelRequest(id.clone()));
                }
            }
            Request::SetMode { session, mode, reply } => {
                self.say(&session, SessionCommand::SetMode { mode, reply })
            }
            Request::SetChoice { session, choice, value, reply } => {
                self.say(&session, SessionCommand::SetChoice { choice, value, reply })
            }
        }
    }

    /// Cancels every turn.
    pub(super) fn cancel_all(&self) {
        for handle in self.open.values() {
            let _ = handle.commands.send(SessionCommand::Cancel);
        }
    }

    /// Ends every session. Turns go on to their ends first; says whether one was cut off.
    pub(super) async fn finish(&mut self) -> bool {
        // All hear it before the first is waited for. A wait that is dropped loses no session.
        for handle in self.open.values() {
            let _ = handle.commands.send(SessionCommand::End);
        }
        while let Some(id) = self.open.keys().next().cloned() {
            if let Some(handle) = self.open.get_mut(&id) {
                // A session that panicked has said so.
                let _ = (&mut handle.task).await;
            }
            self.open.remove(&id);
        }
        self.over.cut_off.get()
    }

    fn say(&self, session: &str, command: SessionCommand) {
        match self.open.get(session) {
            // A session that has ended drops what it was told, and with it the reply, which says so.
            Some(handle) => drop(handle.commands.send(command)),
            None => command.refuse(unknown(session)),
        }
    }

    fn authenticate<L: Launcher>(&self, launcher: &mut L, method: &str) -> Result<(), RequestError> {
        if method != LOGIN {
            return Err(RequestError::invalid(format!(
                "there is no authentication method `{method}`, only `{LOGIN}`"
            )));
        }
        let resolved = launcher.resolve(None).map_err(|failure| refusal(failure, launcher))?;
        match launcher.missing_key(&resolved.session, &resolved.access) {
            Some(missing) => Err(refusal(missing, launcher)),
            None => Ok(()),
        }
    }

    async fn begin<L: Launcher>(
        &mut self,
        launcher: &mut L,
        how: OpenMode,
        place: SessionSetup,
    ) -> Result<OpenedSession, RequestError> {
        let DescribedServers { usable: servers, unusable, .. } = DescribedServers::read(place.servers);
        let missing: Vec<_> = unusable.into_iter().map(|(name, why)| MissingServer { name, why }).collect();
        for MissingServer { name, why } in &missing {
            launcher.people().warn(format!("{why}; the session goes on without `{name}`"));
        }
        let root =
            place.cwd.to_str().ok_or_else(|| RequestError::invalid("`cwd` is not UTF-8 text"))?.to_owned();
        let mut resolved = launcher.resolve(Some(root)).map_err(|failure| refusal(failure, launcher))?;
        if let Some(missing) = launcher.missing_key(&resolved.session, &resolved.access) {
            return Err(refusal(missing, launcher));
        }
        let mcp = &mut resolved.session.mcp;
        mcp.servers = merged(std::mem::take(&mut mcp.servers).into_iter().chain(servers).collect());
        let permission = &mut resolved.session.permission;
        if permission.answers == Answers::Nobody {
            permission.answers = Answers::Client;
        }
        for folder in &place.more {
            permission.policy.workspace.roots.push(further(folder)?);
        }
        let which = match &how {
            OpenMode::New => Which::New,
            OpenMode::Load(id) | OpenMode::Resume(id) => {
                Which::Existing(self.saved(launcher, &resolved.session, id).await?)
            }
        };
        let brought = resolved.session.extensions.slash_commands();
        let task = SessionTask::open(launcher, resolved, which, &self.peer, self.over.clone())
            .map_err(|failure| not_opened(failure, launcher))?;
        if matches!(how, OpenMode::Load(_)) {
            task.replay();
        }
        let (id, choices) = (task.id().to_owned(), task.choices());
        let (commands, receiver) = mpsc::unbounded_channel();
        let task = tokio::task::spawn_local(task.run(receiver));
        self.open.insert(id.clone(), Handle { commands, task, brought });
        Ok(OpenedSession { session: id, choices, missing })
    }

    /// Removes a session. One that is open here is ended first; one that is not there is gone already.
    async fn delete(&mut self, launcher: &impl Launcher, id: &str) -> Result<(), RequestError> {
        let found = parse_session(id).map_err(|failure| refusal(failure, launcher))?;
        let sessions = launcher.sessions().map_err(|failure| refusal(failure, launcher))?;
        if let Some(handle) = self.open.remove(id) {
            handle.close().await;
        }
        match SessionDir::new(sessions).remove(&found) {
            Ok(_) => Ok(()),
            Err(error @ StoreError::Locked { .. }) => Err(RequestError::untimely(error.to_string())),
            Err(error) => Err(RequestError::failed(error.to_string())),
        }
    }

    /// Finds a session that was saved. One that is open here is ended first, so that it can be opened again.
    async fn saved(
        &mut self,
        launcher: &impl Launcher,
        settings: &SessionSettings,
        id: &str,
    ) -> Result<SessionId, RequestError> {
        let found = parse_session(id).map_err(|failure| refusal(failure, launcher))?;
        let sessions = settings.storage.sessions.clone().map(SessionDir::new);
        let exists = sessions.is_some_and(|sessions| sessions.file(&found).exists());
        if !exists {
            return Err(unknown(id));
        }
        if let Some(handle) = self.open.remove(id) {
            handle.close().await;
        }
        Ok(found)
    }
}

impl Handle {
    async fn close(self) {
        let _ = self.commands.send(SessionCommand::Cancel);
        let _ = self.commands.send(SessionCommand::End);
        let _ = self.task.await;
    }
}

/// Returns a further folder of a session without links.
fn further(folder: &Path) -> Result<PathBuf, RequestError> {
    let name = folder.display();
    match folder.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) => Err(RequestError::invalid(format!("`additionalDirectories`: `{name}` is no folder"))),
        Err(error) => Err(RequestError::invalid(format!("`additionalDirectories`: `{name}`: {error}"))),
    }
}

fn unknown(session: &str) -> RequestError {
    RequestError::not_found(format!("there is no session `{session}`"))
        .with("hint", "`session/list` has those that were saved, `session/new` starts one")
}

/// A page of saved sessions, the newest first. The cursor is the id of the last one shown.
fn list(
    launcher: &impl Launcher,
    cwd: Option<PathBuf>,
    cursor: Option<String>,
) -> Result<SessionList, RequestError> {
    let dir = SessionDir::new(launcher.sessions().map_err(|failure| refusal(failure, launcher))?);
    let entries =
        dir.list().map_err(|error| RequestError::failed(format!("cannot read the sessions: {error}")))?;
    let start = match &cursor {
        None => 0,
        Some(cursor) => {
            let at = entries.iter().position(|entry| entry.id.as_str() == cursor);
            at.ok_or_else(|| RequestError::invalid(format!("`cursor` is no longer known: `{cursor}`")))? + 1
        }
    };
    let root = cwd.map(|cwd| cwd.canonicalize().unwrap_or(cwd));
    let (mut sessions, mut next) = (Vec::new(), None);
    for entry in entries.iter().skip(start) {
        let Some((cwd, title)) = beginning(&dir, &entry.id) else { continue };
        if root.as_ref().is_some_and(|root| *root != cwd) {
            continue;
        }
        if sessions.len() == PAGE {
            next = sessions.last().map(|listed: &SessionEntry| listed.id.clone());
            break;
        }
        let (id, updated) = (entry.id.to_string(), entry.modified.rfc3339());
        sessions.push(SessionEntry { id, cwd, title, updated });
    }
    Ok(SessionList { sessions, next })
}

/// Reads where a session was begun, and its first words; `None` for those of other programs, which do not say.
fn beginning(dir: &SessionDir, id: &SessionId) -> Option<(PathBuf, Option<String>)> {
    let mut root = None;
    // The first words stand at the beginning; a file without any is not read to its end for them.
    for record in dir.records(id).ok()??.take(20) {
        match record.ok()?.kind {
            RecordKind::Meta(meta) => root = meta.root,
            RecordKind::Message { role: Role::User, text, .. } => {
                let words = text.split_whitespace().collect::<Vec<_>>().join(" ");
                let title = prefix(&one_line(&words), TITLE_BYTES).to_owned();
                return Some((root?, Some(title).filter(|title| !title.is_empty())));
            }
            _ => {}
        }
    }
    Some((root?, None))
}

/// Why a session could not be opened. What the command line would do about a session in use is no way out here.
fn not_opened(mut failure: Failure, launcher: &impl Launcher) -> RequestError {
    if failure.kind == &LOCK_HELD {
        failure.facts.hints =
            vec!["end that process, or start another session with `session/new`".to_owned()];
    }
    refusal(failure, launcher)
}

/// A failure of ours as the protocol has it.
fn refusal(failure: Failure, launcher: &impl Launcher) -> RequestError {
    request_error(failure, &launcher.redactor())
}

/// The same, with what takes secrets out of it.
pub(super) fn request_error(failure: Failure, redactor: &Redactor) -> RequestError {
    let message = redactor.redact(&failure.message).into_owned();
    let hints: Vec<_> = failure.facts.hints.iter().map(|hint| redactor.redact(hint).into_owned()).collect();
    let refusal = match failure.kind {
        kind if kind == &AUTH_REQUIRED => RequestError::auth_required(message),
        kind if kind == &LOCK_HELD => RequestError::untimely(message),
        kind if kind == &IO_ERROR || kind.code == BASE_UNUSABLE => RequestError::failed(message),
        _ => RequestError::invalid(message),
    };
    let refusal = refusal.with("code", failure.kind.code);
    if hints.is_empty() { refusal } else { refusal.with("hints", hints) }
}
