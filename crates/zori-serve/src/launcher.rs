//! What a protocol needs of the program around it.

use std::path::PathBuf;
use std::rc::Rc;

use zori_contract::failure::Failure;
use zori_frontends::jsonl::NoticeRenderer;
use zori_host::{
    FrontendParts, Host, ModelError, Notice, OpenedSession, Session, SessionSettings, Upstream, Which,
};
use zori_redact::Redactor;
use zori_tools::dialect::Dialect;

/// The program around a protocol. It resolves settings and knows keys, the network and people.
pub trait Launcher {
    /// What a session needs beside its settings: the key, and how the network is reached.
    type Access;

    /// Returns the program's name.
    fn name(&self) -> &'static str;

    /// Returns the names that tools have.
    fn dialect(&self) -> &'static Dialect;

    /// Resolves the settings for a folder; `None` is the one of the command line.
    fn resolve(&mut self, folder: Option<String>) -> Result<Resolved<Self::Access>, Failure>;

    /// Returns the failure for a missing key, if it is missing.
    fn missing_key(&self, settings: &SessionSettings, access: &Self::Access) -> Option<Failure>;

    /// Returns what to do about a key that is refused.
    fn key_advice(&self, settings: &SessionSettings, access: &Self::Access) -> String;

    /// Returns the folder of saved sessions.
    fn sessions(&self) -> Result<PathBuf, Failure>;

    /// Prepares what the sessions of one folder share.
    fn host(&self, settings: SessionSettings) -> Result<Host, Failure>;

    /// Takes a session's lock and reads its history; what people should know of it is said.
    fn open(&mut self, host: &Host, which: Which) -> Result<OpenedSession, Failure>;

    /// Opens the network, and finds who answers.
    fn upstream(&self, host: &Host, access: &Self::Access) -> Result<Upstream, Failure>;

    /// Starts a session with what the protocol brings.
    fn start(
        &self,
        host: &Host,
        opened: OpenedSession,
        upstream: &Upstream,
        parts: FrontendParts,
    ) -> Result<Session, Failure>;

    /// Returns what shows people the notices of a session.
    fn notice_renderer(&self, redactor: Redactor) -> Result<NoticeRenderer, Failure>;

    /// Returns how a model that cannot be used becomes a failure.
    fn model_failure(&self) -> fn(ModelError) -> Failure;

    /// Returns what takes the secrets out of failures.
    fn redactor(&self) -> Redactor;

    /// Returns the way to people.
    fn people(&self) -> NoticePrinter;
}

/// Settings, and what a session needs beside them.
pub struct Resolved<A> {
    /// What sessions are made from.
    pub session: SessionSettings,
    /// The key, and how the network is reached.
    pub access: A,
}

/// The way to people, for sessions that outlive the request they were opened by.
#[derive(Clone)]
pub struct NoticePrinter(Rc<PrintNotices>);

type PrintNotices = dyn Fn(&[Notice]);

impl NoticePrinter {
    /// Takes what prints notices.
    pub fn new(print: impl Fn(&[Notice]) + 'static) -> Self {
        Self(Rc::new(print))
    }

    /// Prints notices.
    pub fn notices(&self, notices: &[Notice]) {
        (self.0)(notices);
    }

    /// Prints a warning.
    pub fn warn(&self, text: impl Into<String>) {
        self.notices(&[Notice::Warning(text.into())]);
    }
}

/// The lines that a client sends.
pub trait Lines {
    /// Returns whether a line was waited for yet. Before that nothing is read.
    fn begun(&self) -> bool;

    /// Waits for the next line, or what is wrong with it; `None` when there are no more. Dropping the wait loses nothing.
    fn next(&mut self) -> impl Future<Output = Option<Result<String, String>>>;
}
