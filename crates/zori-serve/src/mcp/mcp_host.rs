//! Where calls are done: one session for tools, and one for each prompt.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use zori_contract::failure::Failure;
use zori_core::input::{Input, Prompt};
use zori_core::outcome::{CancelCause, Outcome};
use zori_core::provider::Provider;
use zori_core::tool::ToolSpec;
use zori_host::{
    Answers, FormAnswers, FrontendParts, Host, ModeGate, Network, OpenedSession, Session, Upstream, Which,
};
use zori_mcp::{Elicitor, Progress, ToolAnswer, ToolCall};
use zori_policy::mode::Protocol;
use zori_redact::Redactor;
use zori_store::SessionDir;
use zori_tools::toolset::Offered;

use super::PROMPT;
use super::call_peer::{self, CallPeer};
use super::direct_call::DirectCallProvider;
use crate::{Launcher, Resolved, parse_session};

/// How many messages the session of the tools may have before it is begun anew: nobody reads them again.
const MOST_MESSAGES: usize = 200;

/// A session of the tools or of a prompt.
struct HostedSession {
    session: Session,
    /// Whether the client could be asked when it was opened.
    asks: bool,
}

/// What all calls need.
pub struct McpHost<L: Launcher> {
    host: Host,
    access: L::Access,
    /// Who answers where no client can.
    answers: Answers,
    network: Network,
    /// The model that prompts are for.
    model: Arc<dyn Provider>,
    redactor: Redactor,
    direct: Arc<DirectCallProvider>,
    /// The session of the tools, once one was called.
    tools: Option<HostedSession>,
}

impl<L: Launcher> McpHost<L> {
    /// Prepares the sandbox and the network.
    pub fn new(launcher: &L, resolved: Resolved<L::Access>) -> Result<Self, Failure> {
        let Resolved { mut session, access } = resolved;
        session.mcp.forms = FormAnswers::PerCall;
        let host = launcher.host(session)?;
        let Upstream { network, provider } = launcher.upstream(&host, &access)?;
        let redactor = host.redactor();
        Ok(Self {
            answers: host.settings.permission.answers,
            host,
            access,
            network,
            model: provider,
            redactor,
            direct: Arc::default(),
            tools: None,
        })
    }

    /// Returns the folder of the tools.
    pub(super) fn root(&self) -> &Path {
        &self.host.settings.workspace.root
    }

    /// Returns the tools there are.
    pub(super) fn tools(&mut self, launcher: &mut L) -> Result<Vec<ToolSpec>, Failure> {
        let hosted = self.tool_session(launcher, false)?;
        let specs = hosted.session.tools().to_vec();
        self.tools = Some(hosted);
        Ok(specs)
    }

    /// Does a call and answers it. Returns what ends the program, if a signal did.
    pub(super) async fn serve(
        &mut self,
        launcher: &mut L,
        call: ToolCall,
        signalled: &mut mpsc::Receiver<Input>,
    ) -> Option<CancelCause> {
        let ToolCall { name, arguments, elicitor: asker, progress, mut reply } = call;
        let (answer, ended) = match name == PROMPT {
            true => {
                let gone = reply.closed();
                self.prompt(launcher, &arguments, asker, progress, gone, signalled).await
            }
            false => {
                let gone = reply.closed();
                self.tool(launcher, name, arguments, asker, gone, signalled).await
            }
        };
        // Who cancelled does not wait.
        let _ = reply.send(answer);
        ended
    }

    async fn tool(
        &mut self,
        launcher: &mut L,
        name: String,
        arguments: String,
        asker: Option<Elicitor>,
        gone: impl Future<Output = ()>,
        signalled: &mut mpsc::Receiver<Input>,
    ) -> (ToolAnswer, Option<CancelCause>) {
        let words = Prompt::from(format!("{name} {arguments}"));
        self.direct.take(name, arguments);
        let mut hosted = match self.tool_session_for(launcher, asker.is_some()).await {
            Ok(hosted) => hosted,
            Err(failure) => return (ToolAnswer::failed(failure.message), None),
        };
        let mut peer = CallPeer::new(asker.as_ref(), None, gone, signalled, &self.redactor);
        let end = hosted.session.turn(words, &mut peer).await;
        let CallPeer { output, ended, .. } = peer;
        launcher.people().notices(&end.notices);
        self.tools = Some(hosted);
        let answer = match output {
            Some(output) => {
                let content = output.text.as_deref().unwrap_or_else(|| output.envelope.get());
                let text = self.host.settings.model.secrets.redact(content).into_owned();
                ToolAnswer { ok: output.ok(), text, data: None, images: output.images }
            }
            None => ToolAnswer::failed(why(&end.summary.outcome, end.error.as_deref())),
        };
        (answer, ended)
    }

    /// Returns the session of the tools: the one there is, unless it has grown or nobody could be asked in it before.
    async fn tool_session_for(&mut self, launcher: &mut L, asks: bool) -> Result<HostedSession, Failure> {
        if let Some(hosted) = self.tools.take() {
            if hosted.asks == asks && hosted.session.messages().len() < MOST_MESSAGES {
                return Ok(hosted);
            }
            // What was allowed for the session goes on being allowed.
            self.host.settings.permission.policy = hosted.session.policy().clone();
            close(hosted).await;
        }
        self.tool_session(launcher, asks)
    }

    fn tool_session(&mut self, launcher: &L, asks: bool) -> Result<HostedSession, Failure> {
        let opened = self.host.unsaved();
        self.start(launcher, self.direct.clone(), Offered::WithoutModel, opened, asks)
    }

    async fn prompt(
        &mut self,
        launcher: &mut L,
        arguments: &str,
        asker: Option<Elicitor>,
        progress: Option<Progress>,
        gone: impl Future<Output = ()>,
        signalled: &mut mpsc::Receiver<Input>,
    ) -> (ToolAnswer, Option<CancelCause>) {
        let (mut hosted, words) = match self.prompt_session(launcher, arguments, asker.is_some()) {
            Ok(begun) => begun,
            Err(failure) => {
                let lines = std::iter::once(failure.message).chain(failure.facts.hints).collect::<Vec<_>>();
                return (ToolAnswer::failed(lines.join("\nHint: ")), None);
            }
        };
        let mut peer = CallPeer::new(asker.as_ref(), progress, gone, signalled, &self.redactor);
        let end = hosted.session.turn(words.into(), &mut peer).await;
        peer.finish().await;
        let ended = peer.ended;
        launcher.people().notices(&end.notices);
        let summary = &end.summary;
        let data = json!({"session_id": hosted.session.id().as_str(), "requests": summary.requests,
            "input_tokens": summary.usage.input, "output_tokens": summary.usage.output});
        close(hosted).await;
        let text = summary.text.to_string();
        let why = (!matches!(summary.outcome, Outcome::Completed(_)))
            .then(|| why(&summary.outcome, end.error.as_deref()));
        let answer = match why {
            None => ToolAnswer { ok: true, text, data: Some(data), images: Vec::new() },
            Some(why) => {
                let text = self.redactor.redact(&format!("{why}\n\n{text}")).trim_end().to_owned();
                ToolAnswer { ok: false, text, data: Some(data), images: Vec::new() }
            }
        };
        (answer, ended)
    }

    fn prompt_session(
        &mut self,
        launcher: &mut L,
        arguments: &str,
        asks: bool,
    ) -> Result<(HostedSession, String), Failure> {
        let Arguments { prompt, session_id } = arguments_of(arguments)?;
        if let Some(missing) = launcher.missing_key(&self.host.settings, &self.access) {
            return Err(missing);
        }
        let which = match session_id {
            None => Which::New,
            Some(id) => {
                let id = parse_session(&id)?;
                let sessions = self.host.settings.storage.sessions.clone().map(SessionDir::new);
                if !sessions.is_some_and(|sessions| sessions.file(&id).exists()) {
                    return Err(bad(format!("there is no session `{id}`")));
                }
                Which::Existing(id)
            }
        };
        let opened = launcher.open(&self.host, which)?;
        Ok((self.start(launcher, self.model.clone(), Offered::All, opened, asks)?, prompt))
    }

    fn start(
        &mut self,
        launcher: &L,
        provider: Arc<dyn Provider>,
        offered: Offered,
        opened: OpenedSession,
        asks: bool,
    ) -> Result<HostedSession, Failure> {
        self.host.settings.permission.answers = match self.answers {
            Answers::Nobody if asks => Answers::Client,
            answers => answers,
        };
        let notices = launcher.notice_renderer(self.redactor.clone())?;
        let modes = ModeGate::new(&self.host.settings, Protocol::Own, true);
        let parts = FrontendParts {
            renderers: vec![Box::new(notices)],
            listens_for: call_peer::listens_for,
            offered,
            ..FrontendParts::new(launcher.dialect(), modes)
        };
        let upstream = Upstream { network: self.network.clone(), provider };
        let session = launcher.start(&self.host, opened, &upstream, parts)?;
        Ok(HostedSession { session, asks })
    }

    /// Ends what is open.
    pub(super) async fn end(&mut self, launcher: &mut L) {
        if let Some(hosted) = self.tools.take() {
            close(hosted).await;
        }
        launcher.people().notices(&self.host.close());
        launcher.people().notices(&self.network.close().0);
    }
}

async fn close(hosted: HostedSession) {
    // These renderers write to people, who can be gone.
    let _ = hosted.session.close().await;
}

/// Says why a turn did not do what it was for. `error`: what people were told.
fn why(outcome: &Outcome, error: Option<&str>) -> String {
    match (outcome, error) {
        (Outcome::Failed(failure), _) => failure.message.clone(),
        (Outcome::Cancelled(_), _) => "the turn was cancelled".to_owned(),
        (_, Some(error)) => error.to_owned(),
        (Outcome::NotSaved(why), None) => why.clone(),
        (Outcome::Completed(_) | Outcome::Limit(_) | Outcome::OutputClosed, None) => {
            "the turn did not come to its end".to_owned()
        }
    }
}

#[derive(Deserialize)]
struct Arguments {
    prompt: String,
    session_id: Option<String>,
}

fn arguments_of(json: &str) -> Result<Arguments, Failure> {
    let arguments: Arguments = serde_json::from_str(json)
        .map_err(|error| bad(format!("the arguments of `{PROMPT}` do not fit: {error}")))?;
    match arguments.prompt.trim().is_empty() {
        true => Err(bad("`prompt` is empty".to_owned())),
        false => Ok(arguments),
    }
}

fn bad(message: String) -> Failure {
    Failure::new(&zori_contract::error::VALIDATION_ERROR, message)
}

#[cfg(test)]
mod tests {
    use zori_core::failure::{FailureKind, ProviderFailure};
    use zori_core::outcome::LimitKind;
    use zori_core::provider::StopReason;

    use super::*;

    /// Clients read sentences, and no names of our own types.
    #[test]
    fn why_a_call_has_no_result() {
        let failure = ProviderFailure::new(FailureKind::Internal, "no such model");
        for (outcome, error, words) in [
            (Outcome::Failed(failure), None, "no such model"),
            (Outcome::Cancelled(CancelCause::User), Some("Interrupted."), "the turn was cancelled"),
            (
                Outcome::Limit(LimitKind::Turns),
                Some("the turn limit is reached"),
                "the turn limit is reached",
            ),
            (Outcome::Limit(LimitKind::Prompt), None, "the turn did not come to its end"),
            (Outcome::NotSaved("the disk is full".to_owned()), None, "the disk is full"),
            (Outcome::Completed(StopReason::EndTurn), None, "the turn did not come to its end"),
            (Outcome::OutputClosed, None, "the turn did not come to its end"),
        ] {
            assert_eq!(why(&outcome, error), words);
        }
    }
}
