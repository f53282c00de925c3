//! The program around the machine protocols: settings, keys, network and words to people, for `zori-serve`.

use std::path::PathBuf;

use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_frontends::jsonl::NoticeRenderer;
use zori_host::{FrontendParts, Host, ModelError, OpenedSession, Session, SessionSettings, Upstream, Which};
use zori_redact::Redactor;
use zori_serve::{Launcher, NoticePrinter, Resolved};
use zori_tools::dialect::Dialect;

use zori_chat::frontend;
use zori_setup::agent_cx::AgentCx;
use zori_setup::args::LowArgs;
use zori_setup::host_failure::of_model;
use zori_setup::model_choice;
use zori_setup::settings::{RunSettings, Settings, missing_key};
use zori_setup::trust::TrustDialog;
use zori_setup::wire_up;

/// A command that serves a protocol.
pub struct Serving<'a, 'c> {
    /// What it runs in.
    pub cx: &'a mut AgentCx<'c>,
    /// What was typed; it holds for every session.
    pub args: LowArgs,
}

impl Launcher for Serving<'_, '_> {
    type Access = RunSettings;

    fn name(&self) -> &'static str {
        self.cx.profile.name
    }

    fn dialect(&self) -> &'static Dialect {
        self.cx.profile.dialect
    }

    fn resolve(&mut self, folder: Option<String>) -> Result<Resolved<RunSettings>, Failure> {
        let mut args = self.args.clone();
        if let Some(folder) = folder {
            args.workspace.root = Some(folder);
            args.session.named = None;
        }
        let Settings { session, run } = Settings::resolve(self.cx, &args, &TrustDialog::Nobody)?;
        Ok(Resolved { session, access: run })
    }

    fn missing_key(&self, settings: &SessionSettings, run: &RunSettings) -> Option<Failure> {
        missing_key(&settings.model, &run.key, self.cx.profile.name)
    }

    fn key_advice(&self, settings: &SessionSettings, run: &RunSettings) -> String {
        model_choice::key_hint(settings.model.facts, &run.key, self.cx.profile.name)
    }

    fn sessions(&self) -> Result<PathBuf, Failure> {
        self.cx.app.data_dir().map(|dir| dir.sessions())
    }

    fn host(&self, settings: SessionSettings) -> Result<Host, Failure> {
        wire_up::host(settings)
    }

    fn open(&mut self, host: &Host, which: Which) -> Result<OpenedSession, Failure> {
        wire_up::open(host, which, self.cx.ui)
    }

    fn upstream(&self, host: &Host, run: &RunSettings) -> Result<Upstream, Failure> {
        wire_up::upstream(self.cx, host, run)
    }

    fn start(
        &self,
        host: &Host,
        opened: OpenedSession,
        upstream: &Upstream,
        parts: FrontendParts,
    ) -> Result<Session, Failure> {
        wire_up::start(self.cx, host, opened, upstream, parts, Spent::NOTHING)
    }

    fn notice_renderer(&self, redactor: Redactor) -> Result<NoticeRenderer, Failure> {
        Ok(NoticeRenderer::new(frontend::words(self.cx)?, frontend::style(self.cx), redactor))
    }

    fn model_failure(&self) -> fn(ModelError) -> Failure {
        of_model
    }

    fn redactor(&self) -> Redactor {
        self.cx.app.redactor()
    }

    fn people(&self) -> NoticePrinter {
        frontend::people(self.cx)
    }
}
