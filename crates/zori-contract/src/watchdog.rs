//! The thread that ends a command which does not end by itself: when its time is over, or after a signal.
//!
//! A command that listens ([`Cancel::cause`], [`Cancel::wait`], [`Cancel::on_cancel`]) is told first and has a grace period.
//! One that does not listen and changes nothing has nothing to lose and is ended at once.

use std::io;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use crate::cancel::{Cancel, Cause, Ends, WatchEnd};
use crate::exit::Danger;
use crate::output_streams::{OutputStreams, Written};
use crate::print::Printer;
use crate::steps::Steps;
use crate::world::{Clock, Signals};

/// How long a command may take to end cleanly.
const GRACE: Duration = Duration::from_secs(5);
/// How long the last words may take to be written: whoever stopped reading the output may not read them, either.
pub(crate) const LAST_WORDS: Duration = Duration::from_secs(1);

/// What the thread needs.
pub struct Watchdog {
    /// Where the word comes from.
    pub cancel: Cancel,
    /// How much time there is; `None` is for ever.
    pub time: Option<Duration>,
    /// Where signals come from, if nobody else hears them: one thread is enough to wait for them and for the end of the time.
    pub signals: Option<Signals>,
    /// How the end is printed.
    pub printer: Printer,
    /// Where to.
    pub streams: OutputStreams,
    /// How far the command got.
    pub steps: Steps,
    /// For the duration.
    pub clock: Arc<dyn Clock>,
    /// Ends the process.
    pub end: Arc<dyn Fn(u8) + Send + Sync>,
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

    fn watch(mut self) {
        let over = Cause::Timeout { after_ms: self.time.map_or(0, |time| time.as_millis() as u64) };
        let cause = match self.signals.take() {
            Some(mut wait) => wait(self.time).unwrap_or(over),
            None => match self.cancel.watch(self.time) {
                WatchEnd::Over => return,
                WatchEnd::Cancelled(cause) => cause,
                WatchEnd::Nothing => over,
            },
        };
        // Where somebody else has said so already, that counts.
        self.cancel.cancel(cause);
        let careful = match self.cancel.ends() {
            Some(ends) => ends == Ends::ByItself,
            None => self.printer.danger != Danger::Safe,
        };
        if careful && self.cancel.wait_over(GRACE) {
            return;
        }
        let failure = cause.failure().with_data(self.steps.partial());
        let printed = self.printer.failure(&failure, self.clock.elapsed_ms());
        let (stdout, said) = (printed.stdout, printed.said.clone());
        let finished = in_time({
            let streams = self.streams.clone();
            move || matches!(streams.finish(&stdout, &said), Written::TooLate)
        });
        match finished {
            // The result was on its way out; it has a moment to get there.
            Some(true) if self.cancel.wait_over(LAST_WORDS) => return,
            Some(false) => {}
            // Nobody reads it.
            Some(true) | None => {
                let streams = self.streams.clone();
                in_time(move || printed.said.iter().for_each(|line| streams.complain(line)));
            }
        }
        (self.end)(printed.exit.code());
    }
}

/// Does something that may never end, and goes on without it after a moment.
fn in_time<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    let (done, result) = mpsc::channel();
    // Whoever gave up waiting does not want the result.
    let worker = std::thread::Builder::new().stack_size(256 * 1024).spawn(move || done.send(work()));
    worker.ok().and_then(|_| result.recv_timeout(LAST_WORDS).ok())
}
