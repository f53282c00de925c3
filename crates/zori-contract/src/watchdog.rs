//! The thread that ends a command which does not end by itself: when its time is over, or after a signal.
//!
//! A command that listens ([`Cancel::cause`], [`Cancel::wait`], [`Cancel::on_cancel`]) is told first and has a grace period.
//! One that does not listen and changes nothing has nothing to lose and is ended at once.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::cancel::{Cancel, Cause, Watched};
use crate::exit::Danger;
use crate::outlet::{Outlet, Written};
use crate::print::Printer;
use crate::steps::Steps;
use crate::world::Clock;

/// How long a command may take to end cleanly.
const GRACE: Duration = Duration::from_secs(5);

/// What the thread needs.
pub struct Watchdog {
    /// Where the word comes from.
    pub cancel: Cancel,
    /// How much time there is; `None` is for ever.
    pub time: Option<Duration>,
    /// How the end is printed.
    pub printer: Printer,
    /// Where to.
    pub outlet: Outlet,
    /// How far the command got.
    pub steps: Steps,
    /// For the duration.
    pub clock: Arc<dyn Clock>,
    /// Ends the process.
    pub end: fn(u8),
}

impl Watchdog {
    /// Starts the thread. It goes with the command.
    pub fn start(self) -> io::Result<()> {
        std::thread::Builder::new()
            .name("watchdog".into())
            .stack_size(256 * 1024)
            .spawn(move || self.watch())?;
        Ok(())
    }

    fn watch(self) {
        let cause = match self.cancel.watch(self.time) {
            Watched::Over => return,
            Watched::Cancelled(cause) => cause,
            Watched::Nothing => {
                let cause = Cause::Timeout { after_ms: self.time.map_or(0, |time| time.as_millis() as u64) };
                self.cancel.cancel(cause);
                cause
            }
        };
        let careful = self.cancel.is_heard() || self.printer.danger != Danger::Safe;
        if careful && self.cancel.wait_over(GRACE) {
            return;
        }
        let failure = cause.failure().with_data(self.steps.partial());
        let printed = self.printer.failure(&failure, self.clock.elapsed_ms());
        if !matches!(self.outlet.finish(&printed.stdout, &printed.said), Written::TooLate) {
            (self.end)(printed.exit.code());
        }
    }
}
