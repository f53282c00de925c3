//! Questions that are put to the user before a turn: forms of MCP servers while a prompt is prepared.

use std::sync::Arc;

use tokio::sync::{mpsc, oneshot};
use zori_core::event::{DecidedBy, Notice, NoticeLevel, ToolEvent};
use zori_core::ids::CallId;
use zori_core::input::{Approval, Input};
use zori_core::permission::{Class, Decision, Verdict};
use zori_core::question::{Choice, Preview, Question};
use zori_core::render::Sink;
use zori_core::tool::AskUser;
use zori_policy::Approver;

use super::approve;
use super::asking::{Asked, CallAsker, CallQuestion};
use crate::emitter::Emitter;
use crate::engine::Engine;

/// Puts questions to the user while no turn runs. Its events are those of an agent of their own.
pub struct PreTurnQuestions<S> {
    emitter: Emitter<S>,
    call: CallId,
    /// What asks, as the user called it.
    what: String,
    somebody: bool,
    asks: mpsc::UnboundedSender<Asked>,
    asked: mpsc::UnboundedReceiver<Asked>,
    open: Option<OpenQuestion>,
}

/// A question that nobody has answered yet.
struct OpenQuestion {
    choices: Vec<Choice>,
    reply: oneshot::Sender<Option<Vec<String>>>,
}

impl<S: Sink + 'static> Engine<S> {
    /// Returns what puts questions to the user before a turn. `what` asks.
    pub fn questions_before_turn(&self, what: String) -> PreTurnQuestions<S> {
        let registry = &self.shared.registry;
        let (asks, asked) = mpsc::unbounded_channel();
        PreTurnQuestions {
            emitter: self.shared.emitter.of_agent(registry.number_agent(), None),
            call: registry.unique_call_id(&CallId::new("form")),
            what,
            somebody: self.policy.approver == Approver::Present,
            asks,
            asked,
            open: None,
        }
    }
}

fn decision(verdict: Verdict) -> Decision {
    Decision::new(verdict, Class::Internal, "the server asks the user")
}

impl<S: Sink + 'static> PreTurnQuestions<S> {
    /// Returns whom to ask.
    pub fn asker(&self) -> Arc<dyn AskUser> {
        let (call, queue) = (self.call.clone(), self.asks.clone());
        Arc::new(CallAsker { call, queue, somebody: self.somebody })
    }

    /// Puts what is asked to the user, for ever. A wait that is dropped loses nothing.
    pub async fn put(&mut self) -> std::convert::Infallible {
        loop {
            match &mut self.open {
                Some(open) => {
                    // Whoever asked does not wait any more.
                    open.reply.closed().await;
                    self.close();
                }
                None => match self.asked.recv().await {
                    Some(Asked::Question(question)) => self.ask(question),
                    Some(Asked::Warning(text)) => self.warn(text),
                    None => std::future::pending().await,
                },
            }
        }
    }

    fn ask(&mut self, question: CallQuestion) {
        let CallQuestion { choices, reply, .. } = question;
        let question = Question {
            tool: self.what.clone(),
            preview: Preview::Choices(choices.clone()),
            grants: Vec::new(),
            explanation: Vec::new(),
        };
        self.emitter.emit(ToolEvent::ApprovalRequested {
            call: self.call.clone(),
            decision: decision(Verdict::Ask),
            question: Arc::new(question),
        });
        self.emitter.idle();
        self.open = Some(OpenQuestion { choices, reply });
    }

    fn warn(&mut self, text: String) {
        self.emitter.emit(Notice { level: NoticeLevel::Warning, code: "mcp_form", text });
    }

    /// Takes an answer of the user's. Returns whether it was one to what is asked here.
    pub fn answer(&mut self, input: &Input) -> bool {
        let Input::Approve { call, answer } = input else { return false };
        let Some(OpenQuestion { choices, reply }) = self.open.take_if(|_| *call == self.call) else {
            return false;
        };
        let answers = match answer {
            Approval::Allow | Approval::Grant(_) => Some(Vec::new()),
            Approval::AllowWith(terms) => Some(approve::answers(&choices, &mut terms.clone())),
            _ => None,
        };
        let verdict = if answers.is_some() { Verdict::Allow } else { Verdict::Deny };
        self.resolved(verdict, DecidedBy::User);
        let _ = reply.send(answers);
        true
    }

    /// Takes back what nobody has answered, and says what was warned of last.
    pub fn close(&mut self) {
        if self.open.take().is_some() {
            self.resolved(Verdict::Deny, DecidedBy::Cancelled);
        }
        while let Ok(Asked::Warning(text)) = self.asked.try_recv() {
            self.warn(text);
        }
    }

    fn resolved(&mut self, verdict: Verdict, by: DecidedBy) {
        let call = self.call.clone();
        self.emitter.emit(ToolEvent::ApprovalResolved { call, decision: decision(verdict), by });
    }
}
