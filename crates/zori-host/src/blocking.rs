//! A session with a runtime of its own, for callers that do one thing at a time.

use std::io;
use std::sync::Arc;

use tokio::runtime::Runtime;
use zori_core::input::Prompt;
use zori_engine::user_shell::UserCommand;

use crate::peer::Peer;
use crate::session::{Session, TurnEnd};

/// Makes a runtime of one thread.
pub fn runtime() -> io::Result<Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build()
}

/// A session and the runtime it runs on.
pub struct BlockingSession {
    /// The session that the runtime drives.
    pub session: Session,
    runtime: Arc<Runtime>,
}

impl BlockingSession {
    /// Returns a session that runs on this runtime, which others may share.
    pub fn new(session: Session, runtime: impl Into<Arc<Runtime>>) -> Self {
        Self { session, runtime: runtime.into() }
    }

    /// Returns the runtime, for another session beside this one.
    pub fn runtime(&self) -> Arc<Runtime> {
        self.runtime.clone()
    }

    /// Runs a turn to its end.
    pub fn turn(&mut self, prompt: Prompt, peer: &mut impl Peer) -> TurnEnd {
        self.runtime.block_on(self.session.turn(prompt, peer))
    }

    /// Runs a turn to its end, unless it is given up before: then it is dropped, and the session is good for nothing but being closed.
    pub fn turn_unless(
        &mut self,
        prompt: Prompt,
        peer: &mut impl Peer,
        given_up: impl Future<Output = ()>,
    ) -> Option<TurnEnd> {
        let turn = self.session.turn(prompt, peer);
        self.runtime.block_on(async {
            tokio::select! {
                biased;
                end = turn => Some(end),
                () = given_up => None,
            }
        })
    }

    /// Summarises the older part of the conversation.
    pub fn compact(&mut self, focus: Option<&str>, peer: &mut impl Peer) {
        self.runtime.block_on(self.session.compact(focus, peer));
    }

    /// Runs a command of the user's own.
    pub fn shell(&mut self, command: String, share: bool, peer: &mut impl Peer) -> Vec<UserCommand> {
        self.runtime.block_on(self.session.shell(command, share, peer))
    }

    /// Waits for something beside the session.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Ends the session; see [`Session::close`].
    pub fn close(self) -> io::Result<()> {
        let (written, remains) = self.runtime.block_on(self.session.finish());
        remains.shutdown();
        // A blocking thread that still reads a slow disk must not keep the program from ending.
        if let Some(runtime) = Arc::into_inner(self.runtime) {
            runtime.shutdown_background();
        }
        written
    }

    /// Goes on with another session, and ends this one.
    pub fn replace(&mut self, next: Session) -> io::Result<()> {
        let before = std::mem::replace(&mut self.session, next);
        let (written, remains) = self.runtime.block_on(before.finish());
        remains.shutdown();
        written
    }
}
