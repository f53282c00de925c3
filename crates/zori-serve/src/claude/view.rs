//! What the client may ask about a session, and what it is asked with, taken off the stream of events as it happens.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::RawValue;
use zori_core::event::{DecidedBy, Event, EventKind, MessageEvent, SessionEvent, StateEvent, ToolEvent};
use zori_core::ids::{AgentId, CallId};
use zori_core::render::Renderer;
use zori_frontends::claude::object;

use super::channel::Channel;

/// What is known of a running session.
#[derive(Debug, Default)]
pub struct View {
    /// The tokens of the last request and its reply.
    pub tokens: u64,
    /// The model in use.
    pub model: String,
    /// The calls without a result: the tool's name, and exactly what would run.
    pub calls: HashMap<CallId, (String, Box<RawValue>)>,
}

/// The same for several readers.
pub type SharedView = Arc<Mutex<View>>;

/// Keeps the view.
pub struct ViewRenderer {
    view: SharedView,
    channel: Arc<Channel>,
}

impl ViewRenderer {
    /// Keeps this view. `channel`: where a question is taken back that nobody waits for any more.
    pub fn new(view: SharedView, channel: Arc<Channel>) -> Self {
        Self { view, channel }
    }
}

impl Renderer for ViewRenderer {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        let view = || self.view.lock().unwrap_or_else(PoisonError::into_inner);
        match &event.kind {
            EventKind::Session(SessionEvent::SessionStarted(facts)) => view().model = facts.model.to_string(),
            EventKind::State(StateEvent::ModelChanged { model }) => view().model = model.to_string(),
            EventKind::Message(MessageEvent::MessageFinished(reply)) if event.agent == AgentId::MAIN => {
                view().tokens = reply.usage.total();
            }
            EventKind::Tool(ToolEvent::ToolRequested(request)) => {
                let call = &request.call;
                view().calls.insert(call.id.clone(), (call.name.clone(), object(call.input.json())));
            }
            EventKind::Tool(ToolEvent::ToolChanged { call, input, .. }) => {
                if let Some((_, held)) = view().calls.get_mut(call) {
                    *held = object(input.get());
                }
            }
            // A question that nobody waits for any more is taken back before the turn is told to be over: nothing comes
            // behind its `result`.
            EventKind::Tool(ToolEvent::ApprovalResolved { by: DecidedBy::Cancelled, .. }) => {
                self.channel.withdraw_permissions()?
            }
            EventKind::Tool(ToolEvent::ToolFinished(done)) => {
                view().calls.remove(&done.call);
            }
            _ => {}
        }
        Ok(())
    }
}
