//! What goes on in the background: every long-lived thread beside the turn starts in [`Workers::spawn`], which refuses
//! what `--bare` forbids (FR-001) and notes in the file of `ZORI_TRACE`, and in the log, what runs. A worker's entry stands beside its code.

use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use crate::app::App;
use crate::debug_log::{DebugLog, Level};
use crate::ui::Ui;

/// Something that goes on in the background.
#[derive(Clone, Copy, Debug)]
pub struct Worker {
    /// What it is called; its span is `worker.NAME`.
    pub name: &'static str,
    /// Whether a run can do without.
    pub need: Need,
}

/// Whether a run can do without a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// It cannot.
    Always,
    /// It can, and does with `--bare`.
    UnlessBare,
}

/// Starts workers.
#[derive(Clone)]
pub struct Workers {
    bare: bool,
    log: DebugLog,
    trace: Option<Arc<Trace>>,
}

impl Workers {
    /// Returns the way to start workers, traced where `ZORI_TRACE` names a file.
    pub fn new(bare: bool, app: &App, ui: &mut Ui) -> Self {
        let untraced = Self { log: app.log, ..Self::untraced(bare) };
        let Some(path) = app.env.path("ZORI_TRACE") else { return untraced };
        match File::options().create(true).append(true).open(&path) {
            Ok(file) => Self { trace: Some(Arc::new(Trace { file, start: Instant::now() })), ..untraced },
            Err(error) => {
                let path = path.to_string_lossy();
                ui.warn(&format!("cannot write the trace {path} (`ZORI_TRACE`): {error}"));
                untraced
            }
        }
    }

    /// Returns the same without a trace and a log.
    pub fn untraced(bare: bool) -> Self {
        Self { bare, log: DebugLog::default(), trace: None }
    }

    /// Starts a worker on a thread of its own. Returns the thread, or `None` for what may not run.
    pub fn spawn(
        &self,
        worker: Worker,
        work: impl FnOnce() + Send + 'static,
    ) -> io::Result<Option<JoinHandle<()>>> {
        self.spawn_if_due(worker, || Some(()), |()| work())
    }

    /// Does the same for a worker that has to look first whether there is anything to do, on its own thread. One that has nothing to do
    /// did not run, and leaves no span.
    pub fn spawn_if_due<T>(
        &self,
        worker: Worker,
        due: impl FnOnce() -> Option<T> + Send + 'static,
        work: impl FnOnce(T) + Send + 'static,
    ) -> io::Result<Option<JoinHandle<()>>> {
        if self.bare && worker.need == Need::UnlessBare {
            return Ok(None);
        }
        let span = Span { name: worker.name, log: self.log, trace: self.trace.clone() };
        let thread = std::thread::Builder::new().name(worker.name.to_owned()).spawn(move || {
            if let Some(found) = due() {
                let _open = span.open();
                work(found);
            }
        })?;
        Ok(Some(thread))
    }
}

/// The file of `ZORI_TRACE`.
struct Trace {
    file: File,
    start: Instant,
}

impl Trace {
    fn note(&self, name: &str, event: &str) {
        let at = self.start.elapsed().as_micros();
        let line = format!("{{\"span\":\"worker.{name}\",\"event\":\"{event}\",\"t_us\":{at}}}\n");
        // A trace that cannot be written is no reason to stop.
        let _ = (&self.file).write_all(line.as_bytes());
    }
}

/// The time in which a worker runs. It is closed when it is dropped, by a panic, too.
struct Span {
    name: &'static str,
    log: DebugLog,
    trace: Option<Arc<Trace>>,
}

impl Span {
    fn open(self) -> Self {
        self.note("open");
        self
    }

    fn note(&self, event: &str) {
        if let Some(trace) = &self.trace {
            trace.note(self.name, event);
        }
        self.log.write(Level::Info, || format!("worker.{} {event}", self.name));
    }
}

impl Drop for Span {
    fn drop(&mut self) {
        self.note("close");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    /// FR-001: what may not run leaves no trace, and the same without `--bare` does, else this proved nothing.
    #[test]
    fn bare_refuses_what_a_run_can_do_without() {
        for (bare, wanted) in [(true, "stdin"), (false, "dream stdin")] {
            let file = tempfile::NamedTempFile::new().unwrap();
            let trace = Trace { file: file.reopen().unwrap(), start: Instant::now() };
            let workers = Workers { trace: Some(Arc::new(trace)), ..Workers::untraced(bare) };
            let mut ran = Vec::new();
            for (name, need) in [("dream", Need::UnlessBare), ("stdin", Need::Always)] {
                let (sender, over) = mpsc::channel();
                let started =
                    workers.spawn(Worker { name, need }, move || sender.send(name).unwrap()).unwrap();
                // The receiver hears the end of the thread: the sender is dropped with it.
                ran.extend(over.iter());
                assert_eq!(started.is_some(), ran.last() == Some(&name));
            }
            assert_eq!(ran.join(" "), wanted);
            let lines = || std::fs::read_to_string(file.path()).unwrap();
            zori_testkit::wait::poll(zori_testkit::wait::BOUND, || {
                (lines().matches("close").count() == ran.len()).then_some(())
            })
            .expect("every span is closed");
            assert_eq!(lines().contains("\"span\":\"worker.dream\""), !bare, "{}", lines());
            assert!(
                lines().contains("{\"span\":\"worker.stdin\",\"event\":\"open\",\"t_us\":"),
                "{}",
                lines()
            );
        }
    }
}
