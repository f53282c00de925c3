//! `job_kill`: ends a background job.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::tool::{Effect, Tool, ToolCx, ToolKind, ToolOutput};

use crate::def::ToolDef;
use crate::job_output::{self, JOB_ID};
use crate::process::Processes;

pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::JobKill,
    about: "End a background job, and return the rest of its output.",
    params: &[JOB_ID],
};

pub struct JobKill {
    processes: Arc<Processes>,
}

impl JobKill {
    pub fn new(processes: Arc<Processes>) -> Self {
        Self { processes }
    }
}

#[derive(Deserialize)]
struct Args {
    job_id: String,
}

impl Tool for JobKill {
    fn kind(&self) -> Option<ToolKind> {
        Some(DEF.kind)
    }

    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        // A job is the session's own: whoever let it start has let it end.
        vec![Effect::Internal]
    }

    fn run<'a>(&'a self, _: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args: Args = crate::args::typed(args);
        Box::pin(async move {
            match job_output::find(self.processes.jobs(), &args.job_id) {
                Ok(job) => {
                    job.kill().await;
                    job_output::report(&job, &self.processes)
                }
                Err(failure) => failure,
            }
        })
    }
}
