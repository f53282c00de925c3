//! Where calls are done: one session for tools, and one for each prompt.

use std::path::Path;
use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use tokio::sync::mpsc;
use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_core::event::{EventKind, TurnSummary};
use zori_core::input::{Approval, Input, Prompt};
use zori_core::outcome::{CancelCause, Outcome};
use zori_core::permission::Decision;
use zori_core::provider::Provider;
use zori_core::question::Question;
use zori_core::text::{one_line, prefix};
use zori_core::tool::{ToolOutput, ToolSpec, Toolbox};
use zori_engine::engine::CutAnswer;
use zori_frontends::jsonl::Remarks;
use zori_frontends::jsonl::elicitation::Elicitation;
use zori_mcp::{Answer, Asker, Call, Progress};
use zori_policy::mode::Protocol;
use zori_redact::Redactor;
use zori_store::SessionDir;
use zori_tools::toolset::Offered;

use super::PROMPT;
use super::relay::Relay;
use crate::asking::{Answers, Asking};
use crate::commands::Cx;
use crate::ears::{Ears, Heard};
use crate::mode_gate::ModeGate;
use crate::network::Network;
use crate::outlet::{self, Outlet};
use crate::sandbox::confinement::Confinement;
use crate::settings::{Settings, parse_session};
use crate::wire_up::{self, Elsewhere, Loop, Open, Run, Saved};

/// The session of the tools is begun anew when it has so many messages: nobody reads them again.
const MOST_MESSAGES: usize = 200;
/// A word about progress has at most so many bytes.
const PROGRESS_BYTES: usize = 200;

/// What a turn tells on its way, beside questions.
enum Told {
    Finished(Box<ToolOutput>),
    Progress(String),
}

impl Told {
    fn by(kind: &EventKind) -> Option<Self> {
        match kind {
            EventKind::ToolRequested(request) => {
                Some(Self::Progress(format!("{} {}", request.call.name, request.call.input.json())))
            }
            EventKind::MessageFinished(reply) => {
                Some(reply.message.text()).filter(|text| !text.is_empty()).map(Self::Progress)
            }
            EventKind::ToolFinished(done) => Some(Self::Finished(Box::new(done.output.clone()))),
            _ => None,
        }
    }
}

/// A session, and what is heard of it.
struct Place {
    session: Loop,
    heard: mpsc::UnboundedReceiver<Heard<Told>>,
    id: String,
    asks: bool,
}

/// What all calls need.
pub(super) struct Bench {
    settings: Settings,
    /// Who answers where no client can.
    answers: Answers,
    network: Network,
    confinement: Option<Arc<Confinement>>,
    redactor: Redactor,
    relay: Arc<Relay>,
    /// The session of the tools, once one was called.
    tools: Option<Place>,
}

/// What came of a turn.
struct Turned {
    summary: TurnSummary,
    output: Option<ToolOutput>,
    why: Option<String>,
    ended: Option<CancelCause>,
}

impl Bench {
    pub(super) fn new(cx: &mut Cx<'_>, settings: Settings) -> Result<Self, Failure> {
        let confinement = Confinement::start(&settings)?;
        let network = Network::open(cx, &settings)?;
        let redactor = Redactor::new(settings.choice.secrets.clone());
        Ok(Self {
            answers: settings.answers,
            settings,
            network,
            confinement,
            redactor,
            relay: Arc::default(),
            tools: None,
        })
    }

    /// Returns the folder of the tools.
    pub(super) fn root(&self) -> &Path {
        &self.settings.root
    }

    /// Returns the tools there are.
    pub(super) fn tools(&mut self, cx: &mut Cx<'_>) -> Result<Vec<ToolSpec>, Failure> {
        let place = self.place(cx, self.relay.clone(), Offered::WithoutModel, Saved::nowhere(), false)?;
        let specs = place.session.tools.specs().to_vec();
        self.tools = Some(place);
        Ok(specs)
    }

    /// Does a call and answers it. Returns what ends the program, if a signal did.
    pub(super) async fn serve(
        &mut self,
        cx: &mut Cx<'_>,
        call: Call,
        signalled: &mut mpsc::Receiver<Input>,
    ) -> Option<CancelCause> {
        let Call { name, arguments, asker, progress, mut reply } = call;
        let (answer, ended) = match name == PROMPT {
            true => {
                let gone = reply.closed();
                self.prompt(cx, &arguments, asker, progress, gone, signalled).await
            }
            false => {
                let gone = reply.closed();
                self.tool(cx, name, arguments, asker, gone, signalled).await
            }
        };
        // Who cancelled does not wait.
        let _ = reply.send(answer);
        ended
    }

    async fn tool(
        &mut self,
        cx: &mut Cx<'_>,
        name: String,
        arguments: String,
        asker: Option<Asker>,
        gone: impl Future<Output = ()>,
        signalled: &mut mpsc::Receiver<Input>,
    ) -> (Answer, Option<CancelCause>) {
        let words = Prompt::from(format!("{name} {arguments}"));
        self.relay.take(name, arguments);
        let mut place = match self.tool_place(cx, asker.is_some()).await {
            Ok(place) => place,
            Err(failure) => return (Answer::failed(failure.message), None),
        };
        let turned = self.turn(&mut place, words, asker.as_ref(), None, gone, signalled).await;
        self.tools = Some(place);
        let answer = match turned.output {
            Some(output) => {
                let content = output.text.as_deref().unwrap_or_else(|| output.envelope.get());
                let text = self.settings.choice.secrets.redact(content).into_owned();
                Answer { ok: output.ok(), text, data: None, images: output.images }
            }
            None => Answer::failed(turned.why.unwrap_or_else(|| format!("{:?}", turned.summary.outcome))),
        };
        (answer, turned.ended)
    }

    /// Returns the session of the tools: the one there is, unless it has grown or nobody could be asked in it before.
    async fn tool_place(&mut self, cx: &mut Cx<'_>, asks: bool) -> Result<Place, Failure> {
        if let Some(place) = self.tools.take() {
            if place.asks == asks && place.session.engine.messages().len() < MOST_MESSAGES {
                return Ok(place);
            }
            // What was allowed for the session goes on being allowed.
            self.settings.policy = place.session.engine.policy().clone();
            close(place).await;
        }
        self.place(cx, self.relay.clone(), Offered::WithoutModel, Saved::nowhere(), asks)
    }

    async fn prompt(
        &mut self,
        cx: &mut Cx<'_>,
        arguments: &str,
        asker: Option<Asker>,
        progress: Option<Progress>,
        gone: impl Future<Output = ()>,
        signalled: &mut mpsc::Receiver<Input>,
    ) -> (Answer, Option<CancelCause>) {
        let (mut place, words) = match self.prompt_place(cx, arguments, asker.is_some()) {
            Ok(begun) => begun,
            Err(failure) => {
                let lines = std::iter::once(failure.message).chain(failure.facts.hints).collect::<Vec<_>>();
                return (Answer::failed(lines.join("\nHint: ")), None);
            }
        };
        let turned = self.turn(&mut place, words.into(), asker.as_ref(), progress, gone, signalled).await;
        let data = json!({"session_id": place.id, "requests": turned.summary.requests,
            "input_tokens": turned.summary.usage.input, "output_tokens": turned.summary.usage.output});
        close(place).await;
        let text = turned.summary.text.to_string();
        let why = match &turned.summary.outcome {
            Outcome::Completed(_) => None,
            Outcome::Failed(failure) => Some(failure.message.clone()),
            Outcome::Cancelled(_) => Some("the turn was cancelled".to_owned()),
            _ => Some(turned.why.unwrap_or_else(|| "the turn did not come to its end".to_owned())),
        };
        let answer = match why {
            None => Answer { ok: true, text, data: Some(data), images: Vec::new() },
            Some(why) => {
                let text = self.redactor.redact(&format!("{why}\n\n{text}")).trim_end().to_owned();
                Answer { ok: false, text, data: Some(data), images: Vec::new() }
            }
        };
        (answer, turned.ended)
    }

    fn prompt_place(
        &mut self,
        cx: &mut Cx<'_>,
        arguments: &str,
        asks: bool,
    ) -> Result<(Place, String), Failure> {
        let Arguments { prompt, session_id } = arguments_of(arguments)?;
        if let Some(missing) = self.settings.missing_key(cx.profile.name) {
            return Err(missing);
        }
        let open = match session_id {
            None => Open::New,
            Some(id) => {
                let id = parse_session(&id)?;
                let base = self.settings.base.as_ref().map(|base| SessionDir::new(base.sessions()));
                if !base.is_some_and(|sessions| sessions.file(&id).exists()) {
                    return Err(bad(format!("there is no session `{id}`")));
                }
                Open::Existing(id)
            }
        };
        let saved = wire_up::open(&self.settings, open, cx.ui)?;
        let provider = wire_up::provider(&self.settings, &self.network);
        Ok((self.place(cx, provider, Offered::All, saved, asks)?, prompt))
    }

    fn place(
        &mut self,
        cx: &Cx<'_>,
        provider: Arc<dyn Provider>,
        offered: Offered,
        saved: Saved,
        asks: bool,
    ) -> Result<Place, Failure> {
        let id = saved.id.to_string();
        let (ears, heard) = Ears::new(Told::by);
        let remarks = Remarks::new(outlet::words(cx)?, outlet::style(cx), self.redactor.clone());
        let outlet = Outlet {
            renderers: vec![Box::new(remarks), Box::new(ears)],
            asking: Asking::nobody(),
            dialect: cx.profile.dialect,
            offered,
            tools: Vec::new(),
            hooks: Vec::new(),
            watch: None,
            modes: ModeGate::new(&self.settings, Protocol::Own, true),
            cut: CutAnswer::Forgotten,
            live_output: false,
        };
        self.settings.answers = match self.answers {
            Answers::Nobody if asks => Answers::Client,
            answers => answers,
        };
        let run = Run {
            settings: &self.settings,
            network: &self.network,
            provider,
            confinement: self.confinement.clone(),
            spent_before: Spent::NOTHING,
        };
        let session = Loop::start(cx, run, saved, outlet, Elsewhere::default())?;
        Ok(Place { session, heard, id, asks })
    }

    /// Runs a turn that signals, and whoever asked for it, can end.
    async fn turn(
        &self,
        place: &mut Place,
        prompt: Prompt,
        asker: Option<&Asker>,
        mut progress: Option<Progress>,
        gone: impl Future<Output = ()>,
        signalled: &mut mpsc::Receiver<Input>,
    ) -> Turned {
        let (sender, mut inputs) = mpsc::channel(16);
        let (mut output, mut why, mut ended) = (None, None, None);
        let Place { session, heard, .. } = place;
        let mut gone = std::pin::pin!(gone);
        let mut left = false;
        let mut turn = Box::pin(session.engine.turn(prompt, &mut inputs));
        let summary = loop {
            tokio::select! {
                biased;
                (summary, _) = &mut turn => break summary,
                one = heard.recv() => match one {
                    Some(Heard::Question { call, decision, question }) => {
                        let answer = tokio::select! {
                            answer = self.ask(asker, &decision, &question) => answer,
                            () = &mut gone, if !left => {
                                left = true;
                                drop(sender.try_send(Input::Cancel(CancelCause::User)));
                                continue;
                            }
                        };
                        drop(sender.try_send(Input::Approve { call, answer }));
                    }
                    Some(Heard::More(Told::Progress(text))) => self.tell(progress.as_mut(), &text).await,
                    Some(Heard::More(Told::Finished(done))) => output = Some(*done),
                    Some(Heard::Why(text)) => why = Some(text),
                    None => {}
                },
                () = &mut gone, if !left => {
                    left = true;
                    drop(sender.try_send(Input::Cancel(CancelCause::User)));
                }
                Some(Input::Cancel(cause)) = signalled.recv(), if ended.is_none() => {
                    ended = Some(cause);
                    drop(sender.try_send(Input::Cancel(cause)));
                }
            }
        };
        drop(turn);
        while let Ok(one) = heard.try_recv() {
            match one {
                Heard::More(Told::Finished(done)) => output = Some(*done),
                Heard::Why(text) => why = Some(text),
                Heard::More(Told::Progress(text)) => self.tell(progress.as_mut(), &text).await,
                Heard::Question { .. } => {}
            }
        }
        Turned { summary, output, why, ended }
    }

    /// Says what a turn is at, to whoever wants to know.
    async fn tell(&self, progress: Option<&mut Progress>, text: &str) {
        if let Some(progress) = progress {
            let text = self.redactor.redact(text);
            progress.say(prefix(one_line(&text).trim(), PROGRESS_BYTES).to_owned()).await;
        }
    }

    async fn ask(&self, asker: Option<&Asker>, decision: &Decision, question: &Question) -> Approval {
        match asker {
            // `-y` has answered already.
            None => Approval::Allow,
            Some(asker) => {
                let asked = Elicitation::about(question, decision, &self.redactor);
                asker.ask(asked.prompt, question.always.as_deref()).await
            }
        }
    }

    /// Ends what is open.
    pub(super) async fn end(&mut self, cx: &mut Cx<'_>) {
        if let Some(place) = self.tools.take() {
            close(place).await;
        }
        if let Some(confinement) = &self.confinement {
            confinement.end(cx.ui);
        }
        self.network.close(cx.ui);
    }
}

async fn close(mut place: Place) {
    place.session.engine.leave().await;
    let Loop { engine, tools, .. } = place.session;
    // These renderers write to people, who can be gone.
    drop(engine.finish().finish());
    let _ = tokio::task::spawn_blocking(move || tools.shutdown()).await;
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
