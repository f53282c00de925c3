//! `--include-hook-events`: a line when a hook begins, and one when it is over.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde::Serialize;
use zori_core::hook::{HookEnd, HookObserver, HookOutcome, HookRun};
use zori_core::ids::SessionId;
use zori_frontends::claude::{FrameWriter, uuid};
use zori_redact::Redactor;

use zori_host::SystemIds;

/// Tells the client of the hooks that run.
pub struct HookEvents {
    frames: FrameWriter,
    redactor: Redactor,
    session: SessionId,
    numbers: AtomicU64,
}

#[derive(Serialize)]
struct Line<'a> {
    r#type: &'static str,
    subtype: &'static str,
    hook_id: String,
    hook_name: String,
    hook_event: &'static str,
    #[serde(flatten)]
    over: Option<HookReport<'a>>,
    session_id: &'a str,
    uuid: String,
}

#[derive(Serialize)]
struct HookReport<'a> {
    output: String,
    stdout: &'a str,
    stderr: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    outcome: &'static str,
}

impl HookEvents {
    /// Writes to these frames.
    pub fn new(frames: FrameWriter, redactor: Redactor, session: SessionId) -> Arc<Self> {
        Arc::new(Self { frames, redactor, session, numbers: AtomicU64::new(0) })
    }

    fn write(&self, subtype: &'static str, id: u64, run: &HookRun<'_>, over: Option<HookReport<'_>>) {
        let event = run.event.as_str();
        // Whether the reader is gone is found out when the next event is due.
        let _ = self.frames.write(&Line {
            r#type: "system",
            subtype,
            hook_id: format!("hook_{id}"),
            hook_name: run.subject.map_or_else(|| event.to_owned(), |subject| format!("{event}:{subject}")),
            hook_event: event,
            over,
            session_id: self.session.as_str(),
            uuid: uuid(&SystemIds::default()),
        });
    }
}

impl HookObserver for HookEvents {
    fn started(&self, run: &HookRun<'_>) -> u64 {
        let id = self.numbers.fetch_add(1, Ordering::Relaxed) + 1;
        self.write("hook_started", id, run, None);
        id
    }

    fn ended(&self, id: u64, run: &HookRun<'_>, end: &HookEnd<'_>) {
        let (stdout, stderr) = (self.redactor.redact(end.stdout), self.redactor.redact(end.stderr));
        let over = HookReport {
            output: format!("{stdout}{stderr}"),
            stdout: &stdout,
            stderr: &stderr,
            exit_code: end.exit_code,
            outcome: match end.outcome {
                HookOutcome::Success => "success",
                HookOutcome::Error => "error",
                HookOutcome::Cancelled => "cancelled",
            },
        };
        self.write("hook_response", id, run, Some(over));
    }
}
