//! `--heartbeat-interval`: a line on standard error every so often, so that whoever waits knows that somebody works.
//! Never on standard output, which belongs to the answer.

use std::io::Write;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;

/// Says so as long as it lives.
pub struct Heartbeat {
    /// Dropped first, which ends the thread.
    stop: Option<mpsc::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// Starts, if there is an interval and somebody wants to hear it.
    pub fn start(seconds: Option<i64>, quiet: bool) -> Result<Option<Self>, Failure> {
        let Some(seconds) = seconds.filter(|seconds| *seconds > 0 && !quiet) else { return Ok(None) };
        let interval = Duration::from_secs(seconds.unsigned_abs());
        let (stop, stopped) = mpsc::channel::<()>();
        let began = Instant::now();
        let beat = move || {
            while stopped.recv_timeout(interval) == Err(RecvTimeoutError::Timeout) {
                // Nothing can be done when standard error is gone.
                let _ = writeln!(std::io::stderr(), "[{}s] still at work", began.elapsed().as_secs());
            }
        };
        let thread = std::thread::Builder::new().name("heartbeat".into()).stack_size(64 * 1024).spawn(beat);
        let thread = thread
            .map_err(|error| Failure::new(&IO_ERROR, format!("cannot start the heartbeat: {error}")))?;
        Ok(Some(Self { stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
