//! A front end of your own: a `Renderer` that shows events and a `Peer` that answers questions. It prints what the model
//! says and how calls end, and lets nothing run but `echo`. `cargo run -p zori-host --example front_end`.
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::Arc;

use zori_core::cost::Spent;
use zori_core::event::{Event, EventKind, MessageEvent, ToolEvent};
use zori_core::input::{Approval, Input};
use zori_core::question::Preview;
use zori_core::render::Renderer;
use zori_host::{Answers, BlockingSession, FrontendParts, Host, Machine, ModeGate, ModelSettings, Network};
use zori_host::{Peer, PeerRequest, SessionSettings, Upstream, runtime};
use zori_policy::{Mode, mode::Protocol};
use zori_providers::scripted::{Pace, ScriptedProvider};
use zori_tools::dialect::ZORI;

/// Shows events. It holds no session: what it needs to know is in the events.
struct Lines;

impl Renderer for Lines {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        match &event.kind {
            EventKind::Message(MessageEvent::AssistantFinal { text }) => {
                writeln!(io::stdout(), "model: {text}")
            }
            EventKind::Tool(ToolEvent::ToolFinished(done)) => {
                let end = if done.output.ok() { "done" } else { "not done" };
                writeln!(io::stdout(), "call {}: {end}", done.call)
            }
            _ => Ok(()),
        }
    }
}

/// Answers questions. An answer waits here until the session takes it, so that a dropped wait loses nothing.
#[derive(Default)]
struct Careful(VecDeque<Input>);

impl Peer for Careful {
    fn ask(&mut self, request: PeerRequest) {
        let PeerRequest::Approval { call, question, .. } = request;
        let harmless =
            matches!(&question.preview, Preview::Command { command, .. } if command.starts_with("echo "));
        let answer = if harmless { Approval::Allow } else { Approval::Reject { reason: None } };
        self.0.push_back(Input::Approve { call, answer });
    }

    async fn next(&mut self) -> Input {
        match self.0.pop_front() {
            Some(input) => input,
            None => std::future::pending().await,
        }
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let model = ModelSettings::new(&zori_providers::catalog::PROVIDERS[0], "scripted");
    let (root, temp) = (std::env::current_dir()?, std::env::temp_dir());
    let mut settings = SessionSettings::new(root, temp, model, Mode::Paranoid);
    settings.permission.answers = Answers::Client;
    let host = Host::new(settings, Machine::system())?;
    let mut parts = FrontendParts::new(&ZORI, ModeGate::new(&host.settings, Protocol::Own, false));
    parts.renderers.push(Box::new(Lines));
    let provider = Arc::new(ScriptedProvider::parse(include_str!("front_end.jsonl"), Pace::Instant)?);
    let upstream = Upstream { network: Network::offline(), provider };
    let session = host.start(host.unsaved(), &upstream, parts, Spent::NOTHING)?;
    let mut session = BlockingSession::new(session, runtime()?);
    session.turn("Say hello, and tell me the date.".into(), &mut Careful::default());
    Ok(session.close()?)
}
