//! Questions to the client and their answers: one way out, one table of what is open.

use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use tokio::sync::oneshot;
use tokio::time::timeout;
use zori_frontends::claude::FrameWriter;
use zori_frontends::claude::control::{Response, cancel_request, control_request};

use crate::{INPUT_ENDED, LATE};

/// What the client answered, or why it did not.
pub type Body = Result<Option<Box<RawValue>>, String>;

/// The way to ask the client something.
pub struct Channel {
    frames: FrameWriter,
    open: Mutex<Open>,
    /// How long the client may take to answer for a call.
    approval_timeout: Option<Duration>,
    /// How many numbers were given; each question and each message to a server has one of its own.
    numbers: AtomicU64,
}

#[derive(Default)]
struct Open {
    waiting: HashMap<String, (Kind, oneshot::Sender<Body>)>,
    /// Nobody can answer any more.
    closed: bool,
}

/// What is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whether a call may run. An interrupt takes these back before it is answered.
    Permission,
    /// A form of an MCP server, which an interrupt takes back as well.
    Form,
    /// Anything else.
    Other,
}

impl Channel {
    /// Asks by these frames. Whether a call may run is answered within `approval_timeout`, or not at all.
    pub fn new(frames: FrameWriter, approval_timeout: Option<Duration>) -> Arc<Self> {
        Arc::new(Self { frames, open: Mutex::default(), approval_timeout, numbers: AtomicU64::new(0) })
    }

    /// Returns a number that nothing else has.
    pub fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Asks, and waits for the answer. Dropping the wait takes the question back.
    pub async fn ask(self: &Arc<Self>, kind: Kind, request: impl Serialize) -> Body {
        let id = format!("req_{}", self.number());
        let (sender, answer) = oneshot::channel();
        {
            let mut open = self.lock();
            if open.closed {
                return Err(INPUT_ENDED.to_owned());
            }
            open.waiting.insert(id.clone(), (kind, sender));
        }
        let asked = OpenQuestion { channel: self.clone(), id };
        match self.frames.write_exact(&control_request(&asked.id, request)) {
            Ok(Ok(())) => {}
            Ok(Err(error)) => {
                self.lock().waiting.remove(&asked.id);
                return Err(format!("the question cannot be written: {error}"));
            }
            Err(too_long) => {
                self.lock().waiting.remove(&asked.id);
                return Err(too_long.to_string());
            }
        }
        let answer = async { answer.await.unwrap_or_else(|_| Err(INPUT_ENDED.to_owned())) };
        match self.approval_timeout.filter(|_| kind == Kind::Permission) {
            // The question is taken back with the wait for its answer.
            Some(approval_timeout) => {
                timeout(approval_timeout, answer).await.unwrap_or_else(|_| Err(LATE.to_owned()))
            }
            None => answer.await,
        }
    }

    /// Takes an answer. Returns whether there was such a question.
    pub fn answered(&self, response: Response) -> bool {
        let found = self.lock().waiting.remove(&response.id);
        match found {
            // Whoever asked may have gone meanwhile.
            Some((_, sender)) => {
                let _ = sender.send(response.body);
                true
            }
            None => false,
        }
    }

    /// Takes back what was asked about calls, and for them.
    pub fn withdraw_permissions(&self) -> io::Result<()> {
        let taken: Vec<String> = {
            let mut open = self.lock();
            let asked = open.waiting.iter().filter(|(_, (kind, _))| *kind != Kind::Other);
            let ids: Vec<String> = asked.map(|(id, _)| id.clone()).collect();
            ids.iter().for_each(|id| drop(open.waiting.remove(id)));
            ids
        };
        taken.iter().try_for_each(|id| self.frames.write(&cancel_request(id)))
    }

    /// Nobody answers any more: what is open fails, and so does what would be asked.
    pub fn close(&self) {
        let mut open = self.lock();
        open.closed = true;
        open.waiting.clear();
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A question under way.
struct OpenQuestion {
    channel: Arc<Channel>,
    id: String,
}

impl Drop for OpenQuestion {
    fn drop(&mut self) {
        if self.channel.lock().waiting.remove(&self.id).is_some() {
            // A reader that is gone needs no word.
            let _ = self.channel.frames.write(&cancel_request(&self.id));
        }
    }
}
