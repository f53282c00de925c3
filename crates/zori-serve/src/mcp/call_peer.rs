//! The client of `mcp serve`, while one of its calls runs.

use std::collections::VecDeque;
use std::pin::Pin;

use tokio::sync::mpsc;
use zori_core::event::{Event, EventKind, MessageEvent, ToolEvent};
use zori_core::input::{Approval, Input};
use zori_core::outcome::CancelCause;
use zori_core::question::Preview;
use zori_core::text::{one_line, prefix};
use zori_core::tool::ToolOutput;
use zori_frontends::jsonl::elicitation::Elicitation;
use zori_host::{Peer, PeerRequest, pending_or};
use zori_mcp::{Elicitor, Progress};
use zori_redact::Redactor;

/// How many bytes a progress message has at most.
const PROGRESS_BYTES: usize = 200;

/// A client that waits for the end of a call.
pub(super) struct CallPeer<'a, G> {
    asker: Option<&'a Elicitor>,
    redactor: &'a Redactor,
    /// The way to say how far the call is. It is away while something is being said.
    progress: Option<Progress>,
    telling: Option<Pin<Box<dyn Future<Output = Progress>>>>,
    /// What is still to be said of it.
    untold: VecDeque<String>,
    /// Ends when the client gives the call up.
    gone: Pin<Box<G>>,
    left: bool,
    signalled: &'a mut mpsc::Receiver<Input>,
    /// The question that waits for an answer.
    question: Option<Pin<Box<dyn Future<Output = Input> + 'a>>>,
    /// What the call came to.
    pub(super) output: Option<ToolOutput>,
    /// The signal that ends the program.
    pub(super) ended: Option<CancelCause>,
}

/// Returns whether the peer has to know of an event.
pub(super) fn listens_for(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Tool(ToolEvent::ToolRequested(_) | ToolEvent::ToolFinished(_))
            | EventKind::Message(MessageEvent::MessageFinished(_))
    )
}

impl<'a, G: Future<Output = ()>> CallPeer<'a, G> {
    pub(super) fn new(
        asker: Option<&'a Elicitor>,
        progress: Option<Progress>,
        gone: G,
        signalled: &'a mut mpsc::Receiver<Input>,
        redactor: &'a Redactor,
    ) -> Self {
        Self {
            asker,
            redactor,
            progress,
            telling: None,
            untold: VecDeque::new(),
            gone: Box::pin(gone),
            left: false,
            signalled,
            question: None,
            output: None,
            ended: None,
        }
    }

    /// Says what is still to be said when the call is over.
    pub(super) async fn finish(&mut self) {
        while self.tell_next() {
            self.reported().await;
        }
    }

    /// Begins to say the next thing; returns whether something is being said.
    fn tell_next(&mut self) -> bool {
        if self.telling.is_none()
            && !self.untold.is_empty()
            && let Some(mut progress) = self.progress.take()
            && let Some(text) = self.untold.pop_front()
        {
            self.telling = Some(Box::pin(async move {
                progress.report(text).await;
                progress
            }));
        }
        self.telling.is_some()
    }

    async fn reported(&mut self) {
        if let Some(telling) = &mut self.telling {
            self.progress = Some(telling.await);
            self.telling = None;
        }
    }
}

impl<G: Future<Output = ()>> Peer for CallPeer<'_, G> {
    fn ask(&mut self, request: PeerRequest) {
        let PeerRequest::Approval { call, decision, question, .. } = request;
        let (asker, redactor) = (self.asker, self.redactor);
        self.question = Some(Box::pin(async move {
            let answer = match asker {
                Some(asker) => {
                    let asked = Elicitation::about(&question, &decision, redactor);
                    match &question.preview {
                        Preview::Choices(choices) => asker.choose(asked.prompt, choices).await,
                        _ => asker.ask(asked.prompt, &question.grants).await,
                    }
                }
                None => Approval::Unavailable { why: "this client cannot ask anybody".to_owned() },
            };
            Input::Approve { call, answer }
        }));
    }

    fn tell(&mut self, event: &Event) {
        let text = match &event.kind {
            EventKind::Tool(ToolEvent::ToolRequested(request)) => {
                format!("{} {}", request.call.name, request.call.input.json())
            }
            EventKind::Message(MessageEvent::MessageFinished(reply)) => reply.message.text(),
            EventKind::Tool(ToolEvent::ToolFinished(done)) => {
                self.output = Some(done.output.clone());
                return;
            }
            _ => return,
        };
        if self.progress.is_some() || self.telling.is_some() {
            let text = self.redactor.redact(&text);
            let text = prefix(one_line(&text).trim(), PROGRESS_BYTES).to_owned();
            self.untold.extend(Some(text).filter(|text| !text.is_empty()));
        }
    }

    async fn next(&mut self) -> Input {
        loop {
            let tells = self.tell_next();
            let Self { telling, progress, gone, signalled, question, .. } = self;
            tokio::select! {
                biased;
                input = pending_or(question) => {
                    self.question = None;
                    return input;
                }
                free = pending_or(telling), if tells => {
                    *progress = Some(free);
                    self.telling = None;
                }
                () = gone, if !self.left => {
                    self.left = true;
                    return Input::Cancel(CancelCause::User);
                }
                Some(Input::Cancel(cause)) = signalled.recv(), if self.ended.is_none() => {
                    self.ended = Some(cause);
                    return Input::Cancel(cause);
                }
                else => std::future::pending().await,
            }
        }
    }
}
