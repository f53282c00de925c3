//! The end of the panel: every turn is stopped, every draft kept, the last turn printed where the shell goes on.

use std::future::poll_fn;
use std::task::Poll;
use std::time::{Duration, Instant};

use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::input::Input;
use zori_core::outcome::CancelCause;
use zori_tui::update::Effect;

use super::super::{Left, greeting};
use super::{Came, PanelLoop, Screen};
use crate::chat::server_chat;
use crate::plain::Advice;
use zori_setup::signals;

/// How soon the key to quit has to come again while turns run.
const AGAIN: Duration = Duration::from_secs(2);
/// How long turns may take to stop.
const STOPPING: Duration = Duration::from_secs(3);

impl PanelLoop<'_, '_> {
    /// Quits; while turns run the key has to come twice.
    pub(super) fn quit(&mut self) {
        let running = self.slots.iter().filter(|slot| slot.work.is_some()).count();
        let again = self.quits.is_some_and(|first| first.elapsed() < AGAIN);
        if running == 0 || again {
            self.over = true;
            return;
        }
        self.quits = Some(Instant::now());
        let turns = if running == 1 {
            "A turn is running".to_owned()
        } else {
            format!("{running} turns are running")
        };
        self.hint(&format!("{turns}; F10 again stops and leaves"));
    }

    /// Ends everything.
    pub(super) fn end(mut self) -> Result<Exit, Failure> {
        self.stop_all();
        let shown = self.shown;
        for at in (0..self.slots.len()).filter(|at| *at != shown) {
            self.with_tab(at, |panel| {
                let draft = panel.screen.display.state.draft();
                let Screen { display, outside, .. } = &mut panel.screen;
                outside.run(display, Effect::Keep(draft));
            });
        }
        let Self { mut screen, slots, runtime, .. } = self;
        drop(runtime);
        screen.display.drain_events();
        let state = &mut screen.display.state;
        let width = state.size.width();
        zori_tui::panel::lay_out(state, width);
        let rows = state.tab.as_ref().map_or_else(Vec::new, |tab| tab.last_turn().to_vec());
        let said = screen.chat.plain.session().totals().turns > 0;
        screen.display.leave_panel(if said { &rows } else { &[] });
        let mut lines = Vec::new();
        for parked in slots.into_iter().filter_map(|slot| slot.parked) {
            let session = parked.plain.session();
            if session.is_saved() && session.totals().turns > 0 {
                let name = screen.chat.cx.profile.name;
                let words = greeting::farewell(session, session.totals().spent, name);
                lines.push(words.replacen(" -c ", &format!(" --resume {} ", session.id()), 1));
            }
            lines.extend(server_chat::terminate(&parked.plain).map(|words| format!("Warning: {words}")));
            parked.plain.close(screen.chat.cx.ui, Advice::default());
        }
        lines.iter().for_each(|line| screen.chat.cx.ui.say(line));
        match screen.end()? {
            Left::Over(exit) => Ok(exit),
            Left::Again(_) => Ok(Exit::Success),
        }
    }

    /// Waits for a turn to end, but not for long.
    fn ended_within(&mut self, limit: Duration) -> Option<Came> {
        let Self { slots, runtime, .. } = self;
        let ended = poll_fn(|context| {
            for (at, slot) in slots.iter_mut().enumerate() {
                if let Some(work) = &mut slot.work
                    && let Poll::Ready((session, done)) = work.running.as_mut().poll(context)
                {
                    slot.work = None;
                    return Poll::Ready(Came::Ended(at, Box::new(session), done));
                }
            }
            Poll::Pending
        });
        runtime.block_on(async { tokio::time::timeout(limit, ended).await }).ok()
    }

    /// Stops everything that runs. What does not end is given up: its session is closed with what is kept of it.
    fn stop_all(&mut self) {
        let display = &self.screen.display;
        let cause = display.ending.map_or(CancelCause::User, signals::cause);
        let running = || self.slots.iter().filter_map(|slot| slot.work.as_ref());
        for work in running().filter(|_| !display.deaf) {
            let _ = work.inputs.send(Input::Cancel(cause));
        }
        let until = Instant::now() + STOPPING;
        self.over = true;
        while self.slots.iter().any(|slot| slot.work.is_some()) {
            let left = until.saturating_duration_since(Instant::now());
            match self.ended_within(left) {
                Some(Came::Ended(at, session, done)) => {
                    self.with_tab(at, |panel| panel.ended(*session, done))
                }
                _ => self.give_up(),
            }
        }
    }

    /// Waits no longer for what runs.
    fn give_up(&self) {
        self.slots.iter().filter_map(|slot| slot.work.as_ref()).for_each(|work| work.given_up.notify_one());
    }
}
