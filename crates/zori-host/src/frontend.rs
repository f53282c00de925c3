//! What a front end brings to a session: who sees its events, and which tools and hooks there are beside those of this
//! machine.

use std::io::Write;
use std::sync::Arc;

use zori_core::event::EventKind;
use zori_core::files::ClientFiles;
use zori_core::hook::{HookObserver, Hooks};
use zori_core::render::Renderer;
use zori_core::terminal::ClientTerminals;
use zori_engine::settings::PartialReply;
use zori_frontends::{TextRenderer, TextStyle};
use zori_policy::mode::Protocol;
use zori_redact::Redactor;
use zori_tools::dialect::Dialect;
use zori_tools::toolset::{ExternalTool, Offered};

use crate::mode::ModeGate;
use crate::settings::SessionSettings;

/// A front end's part of a session.
pub struct FrontendParts {
    /// Who sees the events, in this order.
    pub renderers: Vec<Box<dyn Renderer + Send>>,
    /// Which events its peer is told while a turn runs, beside what it is asked.
    pub listens_for: fn(&EventKind) -> bool,
    /// The names of the tools.
    pub dialect: &'static Dialect,
    /// Which of the dialect's tools there are.
    pub offered: Offered,
    /// Further tools.
    pub tools: Vec<ExternalTool>,
    /// Further hooks, called after the hook programs of this machine.
    pub hooks: Vec<Arc<dyn Hooks>>,
    /// Who sees hooks run.
    pub watch: Option<Arc<dyn HookObserver>>,
    /// Which modes may come to hold.
    pub modes: ModeGate,
    /// What becomes of an answer that somebody cuts off.
    pub partial_reply: PartialReply,
    /// Whether what tools print is told while they run.
    pub live_output: bool,
    /// Files and terminals of the client in place of this machine's.
    pub client_io: ClientIo,
}

impl FrontendParts {
    /// Returns parts with every built-in tool of a dialect and nothing else.
    pub fn new(dialect: &'static Dialect, modes: ModeGate) -> Self {
        Self {
            renderers: Vec::new(),
            listens_for: |_| false,
            dialect,
            offered: Offered::All,
            tools: Vec::new(),
            hooks: Vec::new(),
            watch: None,
            modes,
            partial_reply: PartialReply::Drop,
            live_output: false,
            client_io: ClientIo::default(),
        }
    }
}

impl FrontendParts {
    /// Returns parts that stream the model's text to one writer, and everything else to the other, both without colours.
    pub fn text(
        dialect: &'static Dialect,
        settings: &SessionSettings,
        out: impl Write + Send + 'static,
        err: impl Write + Send + 'static,
    ) -> Self {
        let style = TextStyle { stdout_terminal: false, stderr_terminal: false, colour: false };
        let redactor = Redactor::new(settings.model.secrets.clone());
        let text = TextRenderer::new(Box::new(out), Box::new(err), style, redactor);
        let modes = ModeGate::new(settings, Protocol::Own, false);
        Self { renderers: vec![Box::new(text)], ..Self::new(dialect, modes) }
    }
}

/// Files and terminals of a client, such as an editor, in place of this machine's.
#[derive(Default)]
pub struct ClientIo {
    /// Files, with changes that are not saved.
    pub files: Option<Arc<dyn ClientFiles>>,
    /// Terminals, for commands that nothing confines.
    pub terminals: Option<Arc<dyn ClientTerminals>>,
}
