//! The engine's outlet: the logs first, then the renderers in order, each event once.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};

use zori_core::event::{Event, EventKind, Notice, NoticeLevel, ToolEvent, TurnEvent};
use zori_core::log::{Log, LogError};
use zori_core::render::{Renderer, Sink, Stop};

/// Gives events to a log and to renderers. Neither can fail a turn, unless the reader of the output is gone, or
/// the session cannot be saved and `session_required` says that it must be.
pub struct Fanout {
    log: Option<Box<dyn Log>>,
    outputs: Vec<Output>,
    session_required: bool,
    /// Whether the user knows that the session is not being saved.
    told_unsaved: bool,
    audit: Option<Audit>,
    report: FinishReport,
}

/// The audit log and how it fares.
struct Audit {
    log: Box<dyn Log>,
    /// Whether the run stops if it cannot be written.
    required: bool,
    /// Whether the user knows that it is not being written.
    told: bool,
}

/// A renderer and how it fares.
struct Output {
    /// `None` once it can take no more.
    renderer: Option<Box<dyn Renderer + Send>>,
    /// Whether an error of it has been noted. It is still called: what is lost on a full disk may be the
    /// answer, but what it says on stderr is not.
    failed: bool,
}

/// What became of the output.
#[derive(Debug, Default)]
pub struct FinishReport {
    /// Whether a reader went away (OUT-10): no error to show, but the exit code may depend on it.
    pub output_closed: bool,
    /// Other write errors; the first of each renderer.
    pub errors: Vec<io::Error>,
}

impl Fanout {
    /// Returns an outlet; without a log nothing is saved.
    pub fn new(
        log: Option<Box<dyn Log>>,
        renderers: Vec<Box<dyn Renderer + Send>>,
        session_required: bool,
    ) -> Self {
        let output = |renderer| Output { renderer: Some(renderer), failed: false };
        let outputs = renderers.into_iter().map(output).collect();
        let (audit, report) = (None, FinishReport::default());
        Self { log, outputs, session_required, told_unsaved: false, audit, report }
    }

    /// Gives events to an audit log, too, before anybody acts on them (AUD-3). `required`: what cannot be written there
    /// ends the turn.
    #[must_use]
    pub fn with_audit(mut self, log: Box<dyn Log>, required: bool) -> Self {
        self.audit = Some(Audit { log, required, told: false });
        self
    }

    /// Finishes the renderers after the last event and says how it went. A second call does nothing more.
    pub fn finish(&mut self) -> FinishReport {
        self.each(|renderer| renderer.finish());
        self.outputs.clear();
        std::mem::take(&mut self.report)
    }

    /// Replaces the log, for another session in the same run.
    pub fn set_log(&mut self, log: Option<Box<dyn Log>>) {
        self.log = log;
        self.told_unsaved = false;
    }

    fn each(&mut self, mut act: impl FnMut(&mut (dyn Renderer + Send)) -> io::Result<()>) {
        for output in &mut self.outputs {
            let Some(renderer) = &mut output.renderer else { continue };
            // A defect in one front end must not take the session with it (REL-1).
            match catch_unwind(AssertUnwindSafe(|| act(&mut **renderer))) {
                Ok(Ok(())) => {}
                Ok(Err(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
                    self.report.output_closed = true;
                    output.renderer = None;
                }
                Ok(Err(error)) => {
                    if !std::mem::replace(&mut output.failed, true) {
                        self.report.errors.push(error);
                    }
                }
                Err(_) => {
                    self.report.errors.push(io::Error::other("the renderer panicked"));
                    output.renderer = None;
                }
            }
        }
    }

    /// Tells the user once that records are lost; again only after saving has worked in between.
    fn tell_unsaved(&mut self, event: &Event, error: &LogError) {
        if !std::mem::replace(&mut self.told_unsaved, true) {
            let end = if self.session_required { "; stopping, since `session_required` is set" } else { "" };
            let text = format!("Failed to save session: {error}{end}");
            let kind =
                EventKind::Notice(Notice { level: NoticeLevel::Warning, code: "session_not_saved", text });
            let notice = Event { kind, ..event.clone() };
            self.each(|renderer| renderer.on_event(&notice));
        }
    }

    /// Writes the audit log. A failure warns the user once, and stops the run if the log is required.
    fn audit(&mut self, event: &Event) -> Result<(), Stop> {
        let Some(audit) = &mut self.audit else { return Ok(()) };
        let Err(error) = audit.log.append(event) else { return Ok(()) };
        let (required, told) = (audit.required, std::mem::replace(&mut audit.told, true));
        if !told {
            let end = if required { "; stopping, since `audit` is \"required\"" } else { "" };
            let text = format!("Failed to write the audit log: {error}{end}");
            let kind =
                EventKind::Notice(Notice { level: NoticeLevel::Warning, code: "audit_not_written", text });
            let notice = Event { kind, ..event.clone() };
            self.each(|renderer| renderer.on_event(&notice));
        }
        if required { Err(Stop::NotSaved(error.to_string())) } else { Ok(()) }
    }

    fn stop_if_closed(&self) -> Result<(), Stop> {
        if self.report.output_closed { Err(Stop::OutputClosed) } else { Ok(()) }
    }
}

impl Sink for Fanout {
    fn emit(&mut self, event: &Event) -> Result<(), Stop> {
        let logged = self.log.as_mut().map_or(Ok(()), |log| log.append(event));
        let audited = self.audit(event);
        self.each(|renderer| renderer.on_event(event));
        match logged {
            Ok(()) if is_always_kept(&event.kind) => self.told_unsaved = false,
            Ok(()) => {}
            Err(error) => {
                self.tell_unsaved(event, &error);
                if self.session_required {
                    return Err(Stop::NotSaved(error.to_string()));
                }
            }
        }
        audited?;
        self.stop_if_closed()
    }

    fn idle(&mut self) -> Result<(), Stop> {
        self.each(|renderer| renderer.flush());
        self.stop_if_closed()
    }
}

/// Only an event that every log keeps shows, by being kept, that saving works: a log has nothing to do for a delta.
fn is_always_kept(kind: &EventKind) -> bool {
    matches!(
        kind,
        EventKind::Turn(
            TurnEvent::TurnStarted { .. } | TurnEvent::Steered { .. } | TurnEvent::HookContext { .. }
        ) | EventKind::Tool(ToolEvent::ToolFinished(_))
            | EventKind::Turn(TurnEvent::Interrupted)
    )
}

#[cfg(test)]
mod tests;
