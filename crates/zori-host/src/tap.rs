//! What the driver of a turn has to hear of it while it runs, taken off the stream of events. Everything else a front end
//! shows as it happens.

use std::io;

use tokio::sync::mpsc;
use zori_core::event::{Event, EventKind, Notice, NoticeLevel, ToolEvent};
use zori_core::render::Renderer;

use crate::peer::PeerRequest;

/// Something that came out of the tap.
pub(crate) enum TapEvent {
    /// The session wants something from its peer.
    Request(PeerRequest),
    /// An event that the front end listens for.
    Event(Box<Event>),
    /// A call was denied because nobody could be asked about it.
    Unasked,
    /// Why the turn ended.
    Failed(String),
}

/// The renderer that feeds it. It is the last one, so that what was said so far stands above a question.
pub(crate) struct EventTap {
    events: mpsc::UnboundedSender<TapEvent>,
    listens_for: fn(&EventKind) -> bool,
}

impl EventTap {
    /// Returns a tap and where it comes out. `listens_for`: which events the front end listens for.
    pub(crate) fn new(listens_for: fn(&EventKind) -> bool) -> (Self, mpsc::UnboundedReceiver<TapEvent>) {
        let (events, out) = mpsc::unbounded_channel();
        (Self { events, listens_for }, out)
    }

    fn send(&self, event: TapEvent) {
        // When nobody listens any more, the session is over.
        let _ = self.events.send(event);
    }
}

impl Renderer for EventTap {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        if (self.listens_for)(&event.kind) {
            self.send(TapEvent::Event(Box::new(event.clone())));
        }
        match &event.kind {
            EventKind::Tool(ToolEvent::ApprovalRequested { call, decision, question }) => {
                self.send(TapEvent::Request(PeerRequest::Approval {
                    agent: event.agent,
                    call: call.clone(),
                    decision: decision.clone(),
                    question: question.clone(),
                }));
            }
            EventKind::Tool(ToolEvent::ApprovalResolved { decision, .. }) if decision.nobody_to_ask => {
                self.send(TapEvent::Unasked);
            }
            EventKind::Notice(Notice { level: NoticeLevel::Error, text, .. }) => {
                self.send(TapEvent::Failed(text.clone()));
            }
            _ => {}
        }
        Ok(())
    }
}
