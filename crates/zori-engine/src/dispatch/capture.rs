//! Brackets the calls of a group that may change something: the files are looked at before and after (UNDO-1).

use std::sync::Arc;

use zori_core::cancel::Cancel;
use zori_core::checkpoint::{Captured, CheckpointError, Checkpoints, PendingCall};
use zori_core::event::{Notice, NoticeLevel, StateEvent};
use zori_core::outcome::CancelCause;
use zori_core::render::Sink;
use zori_core::tool::ToolCode;

use super::{Dispatch, Job};

/// A pair that `begin` has opened.
pub(super) struct OpenCapture {
    checkpoints: Arc<dyn Checkpoints>,
    calls: Vec<PendingCall>,
}

impl<S: Sink + 'static> Dispatch<'_, '_, S> {
    /// Looks at the files before the calls run. Calls that must not run without it are refused here.
    pub(super) async fn begin_capture(
        &mut self,
        jobs: &mut [Job<'_>],
    ) -> Result<Option<OpenCapture>, CancelCause> {
        let Some(checkpoints) = self.checkpoints.clone() else { return Ok(None) };
        checkpoints.warm_up();
        let calls: Vec<_> = jobs.iter().filter(|job| job.mutates()).filter_map(Job::pending_call).collect();
        if calls.is_empty() {
            return Ok(None);
        }
        let cancel = Cancel::new();
        let mut task = tokio::task::spawn_blocking({
            let (checkpoints, calls, cancel) = (checkpoints.clone(), calls.clone(), cancel.clone());
            move || checkpoints.begin(&calls, &cancel)
        });
        let began = match self.control.until(&mut task).await {
            Ok(began) => began,
            Err(cause) => {
                cancel.cancel();
                if matches!(task.await, Ok(Ok(()))) {
                    let open = OpenCapture { checkpoints, calls };
                    self.end_capture(Some(open), jobs).await;
                }
                return Err(cause);
            }
        };
        let panicked = |_| Err(CheckpointError("the checkpoint has a defect; nothing was executed".into()));
        match began.unwrap_or_else(panicked) {
            Ok(()) => Ok(Some(OpenCapture { checkpoints, calls })),
            Err(CheckpointError(why)) => {
                for job in jobs.iter_mut().filter(|job| job.mutates()) {
                    job.ready = None;
                    self.finish(job, self.toolbox.refuse(ToolCode::CheckpointFailed, why.clone()));
                }
                Ok(None)
            }
        }
    }

    /// Looks at the files after the calls, and emits what changed. Nothing cancels this: it is bounded, and what it would
    /// miss could not be put back.
    pub(super) async fn end_capture(&mut self, capture: Option<OpenCapture>, jobs: &[Job<'_>]) {
        let Some(OpenCapture { checkpoints, calls }) = capture else { return };
        let handed: Vec<_> =
            jobs.iter().filter_map(|job| job.output.as_ref()).flat_map(|out| out.changes.clone()).collect();
        let ended = tokio::task::spawn_blocking(move || checkpoints.end(&calls, &handed)).await;
        let Captured { changed, notices } = ended.unwrap_or_else(|_| Captured {
            notices: vec!["The checkpoint has a defect; the last calls cannot be undone".to_owned()],
            ..Captured::default()
        });
        for text in notices {
            self.emitter.emit(Notice { level: NoticeLevel::Warning, code: "undo_coverage", text });
        }
        if let Some(changed) = changed {
            self.emitter.emit(StateEvent::FilesChanged(Box::new(changed)));
        }
    }
}

impl Job<'_> {
    fn pending_call(&self) -> Option<PendingCall> {
        let effects = self.ready.as_ref()?.effects.clone();
        Some(PendingCall { call: self.call.id.clone(), effects })
    }
}
