//! What the peer says when a turn is over and a command of the user's own still runs.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;

use zori_core::cost::Spent;
use zori_core::event::{Event, EventKind, TurnEvent};
use zori_core::input::Input;
use zori_host::{BlockingSession, FrontendParts, Host, Machine, ModeGate, ModelSettings, Network};
use zori_host::{Peer, PeerRequest, SessionSettings, Upstream, runtime};
use zori_policy::{Mode, mode::Protocol};
use zori_providers::scripted::{Pace, ScriptedProvider};
use zori_tools::dialect::ZORI;

/// Starts a command, and changes the mode when the turn is over; only then the command ends.
struct Late {
    says: VecDeque<Input>,
    gate: PathBuf,
}

impl Peer for Late {
    fn ask(&mut self, _: PeerRequest) {}

    fn tell(&mut self, event: &Event) {
        if matches!(event.kind, EventKind::Turn(TurnEvent::TurnFinished(_))) {
            self.says.push_back(Input::SetMode("plan".to_owned()));
        }
    }

    async fn next(&mut self) -> Input {
        match self.says.pop_front() {
            Some(input) => {
                if matches!(input, Input::SetMode(_)) {
                    std::fs::write(&self.gate, "").expect("the folder is there");
                }
                input
            }
            None => std::future::pending().await,
        }
    }
}

#[test]
fn a_mode_that_comes_after_the_turn_holds_for_the_next() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let model = ModelSettings::new(&zori_providers::catalog::PROVIDERS[0], "scripted");
    let settings = SessionSettings::new(root.clone(), root.clone(), model, Mode::Yolo);
    let host = Host::new(settings, Machine::system()).unwrap();
    let mut parts = FrontendParts::new(&ZORI, ModeGate::new(&host.settings, Protocol::Own, true));
    parts.listens_for = |kind| matches!(kind, EventKind::Turn(TurnEvent::TurnFinished(_)));
    let script = concat!(
        r#"{"reply":[{"tool":"bash","id":"call_1","input":{"command":"true"}}]}"#,
        "\n",
        r#"{"reply":[{"text":"Done."}]}"#,
        "\n",
    );
    let provider = Arc::new(ScriptedProvider::parse(script, Pace::Instant).unwrap());
    let upstream = Upstream { network: Network::offline(), provider };
    let session = host.start(host.unsaved(), &upstream, parts, Spent::NOTHING).unwrap();
    let mut session = BlockingSession::new(session, runtime().unwrap());
    let command = "while [ ! -e gate ]; do sleep 0.01; done".to_owned();
    let says = VecDeque::from([Input::Shell { command, share: false }]);
    let mut peer = Late { says, gate: root.join("gate") };
    session.turn("Wait.".into(), &mut peer);
    assert_eq!(session.session.policy().mode.mode, Mode::Plan);
    session.close().unwrap();
}
