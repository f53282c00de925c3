//! The sessions an editor has open, by their ids, and what it asks about sessions as such.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use zori_acp::{Listed, Listing, Missing, Opened, Opening, Peer, Place, Refusal, Request};
use zori_contract::error::{AUTH_REQUIRED, IO_ERROR, LOCK_HELD};
use zori_contract::failure::Failure;
use zori_core::ids::SessionId;
use zori_core::message::Role;
use zori_core::text::{one_line, prefix};
use zori_store::{RecordKind, SessionDir, StoreError};

use super::LOGIN;
use super::seat::{Said, Seat};
use super::words;
use crate::args::LowArgs;
use crate::asking::Answers;
use crate::base::Base;
use crate::commands::Cx;
use crate::error::BASE_UNUSABLE;
use crate::settings::{Settings, parse_session};
use crate::trust::Asks;
use crate::wire_up::Open;

/// A page of `session/list` has so many sessions.
const PAGE: usize = 50;
/// A title has at most so many bytes.
const TITLE_BYTES: usize = 120;

/// Why the MCP servers of a session are not started.
const NO_SERVERS: &str = "MCP servers are not available yet";

/// All open sessions.
pub(super) struct Desk {
    peer: Peer,
    args: LowArgs,
    open: HashMap<String, Handle>,
    over: Rc<Over>,
}

/// The word that a turn is over.
#[derive(Default)]
pub(super) struct Over {
    notify: Notify,
    cut_off: Cell<bool>,
}

impl Over {
    /// Says so; `cut_off`: the reader was gone before it was.
    pub(super) fn say(&self, cut_off: bool) {
        self.cut_off.set(self.cut_off.get() | cut_off);
        self.notify.notify_one();
    }
}

/// A session that is open: a task that hears what is said to it.
struct Handle {
    said: mpsc::UnboundedSender<Said>,
    task: JoinHandle<()>,
}

impl Desk {
    /// Returns a desk without sessions. `args` hold for each of them.
    pub(super) fn new(peer: Peer, args: LowArgs) -> Self {
        Self { peer, args, open: HashMap::new(), over: Rc::default() }
    }

    /// Waits until a turn is over; says whether one was cut off.
    pub(super) async fn turn_over(&self) -> bool {
        self.over.notify.notified().await;
        self.over.cut_off.get()
    }

    /// Does what is asked, or hands it to the session that it is for.
    pub(super) async fn serve(&mut self, cx: &mut Cx<'_>, request: Request) {
        let request_id = request.id();
        match request {
            Request::Authenticate { method, reply } => reply.give(self.authenticate(cx, &method)),
            Request::Open { how, place, reply } => match self.begin(cx, how, place).await {
                Ok(opened) => {
                    let (id, missing) = (opened.session.clone(), opened.missing.clone());
                    reply.ok(opened);
                    // A reader that is gone is found out by the next turn.
                    let _ = self.peer.show_commands(&id, words::COMMANDS);
                    for Missing { name, why } in missing {
                        let _ = self.peer.warn(&id, &format!("The session goes on without `{name}`: {why}"));
                    }
                }
                Err(refusal) => reply.fail(refusal),
            },
            Request::List { cwd, cursor, reply } => reply.give(list(cx, cwd, cursor)),
            Request::Close { session, reply } => match self.open.remove(&session) {
                Some(handle) => {
                    handle.close().await;
                    reply.ok(());
                }
                None => reply.fail(unknown(&session)),
            },
            Request::Delete { session, reply } => reply.give(self.delete(cx, &session).await),
            Request::Prompt { session, prompt, reply } => {
                self.say(&session, Said::Prompt { prompt, request: request_id, reply })
            }
            Request::Cancel { session } => self.say(&session, Said::Cancel),
            Request::CancelRequest { id } => {
                for handle in self.open.values() {
                    let _ = handle.said.send(Said::CancelRequest(id.clone()));
                }
            }
            Request::SetMode { session, mode, reply } => self.say(&session, Said::SetMode { mode, reply }),
            Request::SetChoice { session, choice, value, reply } => {
                self.say(&session, Said::SetChoice { choice, value, reply })
            }
        }
    }

    /// Cancels every turn.
    pub(super) fn cancel_all(&self) {
        for handle in self.open.values() {
            let _ = handle.said.send(Said::Cancel);
        }
    }

    /// Ends every session. Turns go on to their ends first; says whether one was cut off.
    pub(super) async fn finish(&mut self) -> bool {
        // All hear it before the first is waited for. A wait that is dropped loses no session.
        for handle in self.open.values() {
            let _ = handle.said.send(Said::End);
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

    fn say(&self, session: &str, said: Said) {
        match self.open.get(session) {
            // A session that has ended drops what it was told, and with it the reply, which says so.
            Some(handle) => drop(handle.said.send(said)),
            None => said.refuse(unknown(session)),
        }
    }

    fn authenticate(&self, cx: &mut Cx<'_>, method: &str) -> Result<(), Refusal> {
        if method != LOGIN {
            return Err(Refusal::invalid(format!(
                "there is no authentication method `{method}`, only `{LOGIN}`"
            )));
        }
        let settings = Settings::resolve(cx, &self.args, &Asks::Nobody).map_err(refusal)?;
        match settings.missing_key(cx.profile.name) {
            Some(missing) => Err(refusal(missing)),
            None => Ok(()),
        }
    }

    async fn begin(&mut self, cx: &mut Cx<'_>, how: Opening, place: Place) -> Result<Opened, Refusal> {
        for server in &place.servers {
            cx.ui.warn(&format!("{NO_SERVERS}; the session goes on without `{server}`"));
        }
        let missing = |name: String| Missing { name, why: NO_SERVERS.to_owned() };
        let missing = place.servers.into_iter().map(missing).collect();
        let root = place.cwd.to_str().ok_or_else(|| Refusal::invalid("`cwd` is not UTF-8 text"))?.to_owned();
        let args = LowArgs { root: Some(root), session: None, ..self.args.clone() };
        let mut settings = Settings::resolve(cx, &args, &Asks::Nobody).map_err(refusal)?;
        if let Some(missing) = settings.missing_key(cx.profile.name) {
            return Err(refusal(missing));
        }
        if settings.answers == Answers::Nobody {
            settings.answers = Answers::Client;
        }
        for folder in &place.more {
            settings.policy.ground.roots.push(further(folder)?);
        }
        let open = match &how {
            Opening::New => Open::New,
            Opening::Load(id) | Opening::Resume(id) => Open::Existing(self.saved(&settings, id).await?),
        };
        let seat = Seat::take(cx, settings, open, &self.peer, self.over.clone()).map_err(not_opened)?;
        if matches!(how, Opening::Load(_)) {
            seat.replay();
        }
        let (id, choices) = (seat.id().to_owned(), seat.choices());
        let (said, hears) = mpsc::unbounded_channel();
        let task = tokio::task::spawn_local(seat.run(hears));
        self.open.insert(id.clone(), Handle { said, task });
        Ok(Opened { session: id, choices, missing })
    }

    /// Removes a session. One that is open here is ended first; one that is not there is gone already.
    async fn delete(&mut self, cx: &Cx<'_>, id: &str) -> Result<(), Refusal> {
        let found = parse_session(id).map_err(refusal)?;
        let base = Base::find(cx.profile).map_err(refusal)?;
        if let Some(handle) = self.open.remove(id) {
            handle.close().await;
        }
        match SessionDir::new(base.sessions()).remove(&found) {
            Ok(_) => Ok(()),
            Err(error @ StoreError::Locked { .. }) => Err(Refusal::untimely(error.to_string())),
            Err(error) => Err(Refusal::failed(error.to_string())),
        }
    }

    /// Finds a session that was saved. One that is open here is ended first, so that it can be opened again.
    async fn saved(&mut self, settings: &Settings, id: &str) -> Result<SessionId, Refusal> {
        let found = parse_session(id).map_err(refusal)?;
        let exists =
            settings.base.as_ref().is_some_and(|base| SessionDir::new(base.sessions()).file(&found).exists());
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
        let _ = self.said.send(Said::Cancel);
        let _ = self.said.send(Said::End);
        let _ = self.task.await;
    }
}

/// Returns a further folder of a session without links.
fn further(folder: &Path) -> Result<PathBuf, Refusal> {
    let name = folder.display();
    match folder.canonicalize() {
        Ok(folder) if folder.is_dir() => Ok(folder),
        Ok(_) => Err(Refusal::invalid(format!("`additionalDirectories`: `{name}` is no folder"))),
        Err(error) => Err(Refusal::invalid(format!("`additionalDirectories`: `{name}`: {error}"))),
    }
}

fn unknown(session: &str) -> Refusal {
    Refusal::not_found(format!("there is no session `{session}`"))
        .with("hint", "`session/list` has those that were saved, `session/new` starts one")
}

/// A page of saved sessions, the newest first. The cursor is the id of the last one shown.
fn list(cx: &Cx<'_>, cwd: Option<PathBuf>, cursor: Option<String>) -> Result<Listing, Refusal> {
    let base = Base::find(cx.profile).map_err(refusal)?;
    let dir = SessionDir::new(base.sessions());
    let entries =
        dir.list().map_err(|error| Refusal::failed(format!("cannot read the sessions: {error}")))?;
    let start = match &cursor {
        None => 0,
        Some(cursor) => {
            let at = entries.iter().position(|entry| entry.id.as_str() == cursor);
            at.ok_or_else(|| Refusal::invalid(format!("`cursor` is no longer known: `{cursor}`")))? + 1
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
            next = sessions.last().map(|listed: &Listed| listed.id.clone());
            break;
        }
        let (id, updated) = (entry.id.to_string(), entry.modified.rfc3339());
        sessions.push(Listed { id, cwd, title, updated });
    }
    Ok(Listing { sessions, next })
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
fn not_opened(mut failure: Failure) -> Refusal {
    if failure.kind == &LOCK_HELD {
        failure.facts.hints =
            vec!["end that process, or start another session with `session/new`".to_owned()];
    }
    refusal(failure)
}

/// A failure of ours as the protocol has it.
pub(super) fn refusal(failure: Failure) -> Refusal {
    let redactor = crate::secrets::redactor();
    let message = redactor.redact(&failure.message).into_owned();
    let hints: Vec<_> = failure.facts.hints.iter().map(|hint| redactor.redact(hint).into_owned()).collect();
    let refusal = match failure.kind {
        kind if kind == &AUTH_REQUIRED => Refusal::auth_required(message),
        kind if kind == &LOCK_HELD => Refusal::untimely(message),
        kind if kind == &IO_ERROR || kind == &BASE_UNUSABLE => Refusal::failed(message),
        _ => Refusal::invalid(message),
    };
    let refusal = refusal.with("code", failure.kind.code);
    if hints.is_empty() { refusal } else { refusal.with("hints", hints) }
}
