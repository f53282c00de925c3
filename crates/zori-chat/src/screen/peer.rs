//! The person at the screen, as the peer of a turn.

use zori_core::input::{Approval, Input};
use zori_core::question::Preview;
use zori_host::{Answers, Peer, PeerRequest};
use zori_tui::question::Asked;
use zori_tui::update::{self, Effect, Msg};

use super::display::Display;
use super::feed::shown_question;
use super::greeting;
use super::in_turn::{self, Led};
use super::outside::Outside;

pub struct ScreenPeer<'a> {
    pub display: &'a mut Display,
    pub outside: &'a mut Outside,
    pub answers: Answers,
}

impl Peer for ScreenPeer<'_> {
    fn ask(&mut self, request: PeerRequest) {
        ask(self.display, self.outside, self.answers, request);
    }

    async fn next(&mut self) -> Input {
        loop {
            if let Some(input) = self.display.inputs.pop_front() {
                if self.display.deaf && matches!(input, Input::Cancel(_)) {
                    continue;
                }
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
                Effect::Abandon if self.outside.can_abandon => {
                    self.display.given_up.notify_one();
                    return std::future::pending().await;
                }
                // Ctrl-C ends the program then, which the status row says.
                Effect::Abandon => {}
                Effect::SetMode(mode) => return in_turn::set_mode(self.display, &mode),
                Effect::Command(line) => match self.outside.in_turn(self.display, &line) {
                    Led::Done => {}
                    Led::Input(input) => return input,
                    // It is seen and edited where the other messages wait.
                    Led::Waits => update::wait_in_queue(&mut self.display.state, line.into()),
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

/// Asks the person at the screen, or answers for them where nobody is to be asked.
pub fn ask(display: &mut Display, outside: &mut Outside, answers: Answers, request: PeerRequest) {
    let PeerRequest::Approval { agent, call, decision, question } = request;
    if answers != Answers::Person {
        let why = "nobody is asked here".to_owned();
        display.inputs.push_back(Input::Approve { call, answer: Approval::Unavailable { why } });
        return;
    }
    // The call stands above its question.
    display.drain_events();
    let asked = question;
    let mut question = shown_question(&outside.redactor, &asked);
    // A rule that names a secret is none for a file.
    let rules = outside.rules.as_ref().filter(|_| question.grants.first() == asked.grants.first());
    let rules = rules.map(|file| greeting::folder(file, &outside.env));
    if let Preview::Command { cwd, .. } = &mut question.preview {
        *cwd = greeting::folder(cwd, &outside.env).into();
    }
    let question = std::sync::Arc::new(question);
    let agent = display.state.transcript.agent(agent).map(str::to_owned);
    display.take(Msg::Asked(Asked::new(call, question, decision, agent, rules)));
}
