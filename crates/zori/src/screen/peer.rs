//! The person at the screen, as the peer of a turn.

use zori_core::input::{Approval, Input};
use zori_host::{Answers, Peer, PeerRequest};
use zori_tui::question::Asked;
use zori_tui::update::{Effect, Msg};

use super::display::Display;
use super::feed::shown_question;
use super::in_turn::{self, Led};
use super::outside::Outside;

/// The peer.
pub struct ScreenPeer<'a> {
    pub display: &'a mut Display,
    pub outside: &'a mut Outside,
    pub answers: Answers,
}

impl Peer for ScreenPeer<'_> {
    fn ask(&mut self, request: PeerRequest) {
        let PeerRequest::Approval { call, decision, question, .. } = request;
        if self.answers != Answers::Person {
            self.display.inputs.push_back(Input::Approve { call, answer: Approval::Reject { reason: None } });
            return;
        }
        let rules = self.outside.rules.as_ref().map(|file| file.display().to_string());
        // The call stands above its question.
        self.display.drain_events();
        let question = std::sync::Arc::new(shown_question(&self.outside.redactor, &question));
        self.display.take(Msg::Asked(Asked::new(call, question, decision, None, rules)));
    }

    async fn next(&mut self) -> Input {
        loop {
            if let Some(input) = self.display.inputs.pop_front() {
                return input;
            }
            let Some(effect) = self.display.effects.pop_front() else {
                if self.display.gone || self.display.ending.is_some() {
                    // The turn has been told to end.
                    self.display.draw();
                    return std::future::pending().await;
                }
                tokio::select! {
                    biased;
                    () = self.display.wait() => {}
                    came = self.outside.aside() => self.outside.came(self.display, came),
                }
                continue;
            };
            match effect {
                Effect::SetMode(mode) => return in_turn::set_mode(self.display, &mode),
                Effect::Command(line) => match self.outside.in_turn(self.display, &line) {
                    Led::Done => {}
                    Led::Input(input) => return input,
                    // It is seen and edited where the other messages wait.
                    Led::Waits => self.display.state.queue.items.push_back(line.into()),
                },
                Effect::Shell { command, share } => return Input::Shell { command, share },
                // These are for between turns.
                effect @ (Effect::Prompt(_) | Effect::Confirmed { .. } | Effect::Leave) => {
                    self.outside.later.push_back(effect);
                }
                effect => self.outside.run(self.display, effect),
            }
        }
    }
}
