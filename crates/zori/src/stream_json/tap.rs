//! What the client has to be asked, and told on request, taken off the stream of events.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use tokio::sync::mpsc;
use zori_core::event::{DecidedBy, Event, EventKind};
use zori_core::ids::{AgentId, CallId};
use zori_core::permission::Decision;
use zori_core::question::Question;
use zori_core::render::Renderer;
use zori_frontends::claude::object;

use super::channel::Channel;

/// A question about a call.
pub struct Asked {
    /// The call.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// Exactly what would run.
    pub input: Box<RawValue>,
    /// Why it is asked about.
    pub decision: Decision,
    /// What is asked.
    pub question: Arc<Question>,
    /// The sub-agent that wants it.
    pub agent: Option<u32>,
}

/// How full the conversation is.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The tokens of the last request and its reply.
    pub tokens: u64,
    /// The model in use.
    pub model: String,
}

/// The same for several readers.
pub type SharedContext = Arc<Mutex<Context>>;

/// Hears questions.
pub struct Tap {
    asked: mpsc::UnboundedSender<Asked>,
    context: SharedContext,
    channel: Arc<Channel>,
    calls: HashMap<CallId, (String, Box<RawValue>)>,
}

impl Tap {
    /// Returns the tap and what comes out of it.
    pub fn new(context: SharedContext, channel: Arc<Channel>) -> (Self, mpsc::UnboundedReceiver<Asked>) {
        let (asked, questions) = mpsc::unbounded_channel();
        (Self { asked, context, channel, calls: HashMap::new() }, questions)
    }
}

impl Renderer for Tap {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        let context = || self.context.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.kind {
            EventKind::SessionStarted(facts) => context().model = facts.model.to_string(),
            EventKind::ModelChanged { model } => context().model = model.to_string(),
            EventKind::MessageFinished(reply) if event.agent == AgentId::MAIN => {
                context().tokens = reply.usage.total();
            }
            EventKind::ToolRequested(request) => {
                let call = &request.call;
                self.calls.insert(call.id.clone(), (call.name.clone(), object(call.input.json())));
            }
            EventKind::ToolChanged { call, input, .. } => {
                if let Some((_, held)) = self.calls.get_mut(call) {
                    *held = object(input.get());
                }
            }
            EventKind::ApprovalRequested { call, decision, question } => {
                let Some((tool, input)) = self.calls.get(call).cloned() else { return Ok(()) };
                let (call, decision, question) = (call.clone(), decision.clone(), question.clone());
                let agent = (event.agent != AgentId::MAIN).then_some(event.agent.0);
                // When nobody listens any more, the session is over.
                let _ = self.asked.send(Asked { call, tool, input, decision, question, agent });
            }
            // A question that nobody waits for any more is taken back before the turn is told to be over: nothing comes
            // behind its `result`.
            EventKind::ApprovalResolved { by: DecidedBy::Cancelled, .. } => {
                self.channel.withdraw_permissions()?
            }
            EventKind::ToolFinished(done) => {
                self.calls.remove(&done.call);
            }
            _ => {}
        }
        Ok(())
    }
}
