//! What an embedder writes: parts with their defaults, a sink, and one turn.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::mpsc;
use zori_core::event::Event;
use zori_core::outcome::Outcome;
use zori_core::provider::StopReason;
use zori_core::render::{Sink, Stop};

use super::stage::{StageTools, model, play, policy, says};
use crate::engine::Engine;
use crate::parts::Parts;
use crate::settings::Settings;

struct Ignore;

impl Sink for Ignore {
    fn emit(&mut self, _: &Event) -> Result<(), Stop> {
        Ok(())
    }
}

#[test]
fn a_turn_with_the_defaults() {
    play(async {
        let toolbox = Arc::new(StageTools::default());
        let parts = Parts::new(model(vec![says("Hello.")]), toolbox, policy(None), Settings::new("m"));
        assert!(parts.clock.now().0 > 0, "the machine's clock");
        assert!((parts.modes)("yolo").is_err(), "the mode stays");
        let facts = parts.facts(Path::new("/ws"));
        let mut engine = Engine::start(parts, Ignore, facts);
        let (_say, mut inputs) = mpsc::channel(1);
        let (summary, left) = engine.turn("hi".into(), &mut inputs).await;
        assert_eq!((summary.outcome, &*summary.text), (Outcome::Completed(StopReason::EndTurn), "Hello."));
        assert!(left.is_empty());
    });
}
