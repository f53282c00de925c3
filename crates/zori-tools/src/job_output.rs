//! `job_output`: what a background job has printed since it was last asked, and whether it still runs.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::tool::{Effect, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};

use crate::def::{Need, Param, ToolDef, Ty};
use crate::paths;
use crate::process::Processes;
use crate::process::jobs::{Job, JobStatus, Jobs};
use crate::process::output::Captured;

/// The longest a call may wait, in seconds.
const MAX_WAIT: i64 = 600;

pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::JobOutput,
    about: "Return what a background job has printed since the last call, and its status.",
    params: &[
        JOB_ID,
        Param {
            name: "wait_secs",
            aliases: &["timeout_secs", "wait"],
            ty: Ty::Int,
            need: Need::Optional,
            about: "wait up to so long for its end; default 0, at most 600",
        },
    ],
};

/// The parameter that names a job.
pub(crate) const JOB_ID: Param = Param {
    name: "job_id",
    aliases: &["id", "job", "task_id", "bash_id", "shell_id"],
    ty: Ty::Text,
    need: Need::Required,
    about: "",
};

pub struct JobOutput {
    processes: Arc<Processes>,
}

impl JobOutput {
    pub fn new(processes: Arc<Processes>) -> Self {
        Self { processes }
    }
}

#[derive(Deserialize)]
struct Args {
    job_id: String,
    wait_secs: Option<i64>,
}

impl Tool for JobOutput {
    fn kind(&self) -> Option<ToolKind> {
        Some(DEF.kind)
    }

    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        vec![Effect::Internal]
    }

    fn run<'a>(&'a self, _: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args: Args = crate::args::typed(args);
        Box::pin(async move { self.read(args).await.unwrap_or_else(|failure| failure) })
    }
}

impl JobOutput {
    async fn read(&self, args: Args) -> Result<ToolOutput, ToolOutput> {
        let job = find(self.processes.jobs(), &args.job_id)?;
        match args.wait_secs.unwrap_or(0) {
            0 => {}
            secs @ 1..=MAX_WAIT => {
                job.wait(Duration::from_secs(secs.unsigned_abs())).await;
            }
            secs => {
                let message = format!("`wait_secs` must be 0 to {MAX_WAIT}, not {secs}");
                return Err(ToolOutput::failure(ToolCode::InvalidInput, message));
            }
        }
        Ok(report(&job, &self.processes))
    }
}

/// Finds a job, or says which there are.
pub(crate) fn find(jobs: &Jobs, id: &str) -> Result<Arc<Job>, ToolOutput> {
    jobs.find(id).ok_or_else(|| {
        let ids: Vec<String> = jobs.all().iter().map(|job| job.id.clone()).collect();
        let there = match ids.is_empty() {
            true => "no job was started".to_owned(),
            false => format!("the jobs are {}", ids.join(", ")),
        };
        ToolOutput::failure(ToolCode::InvalidInput, format!("there is no job `{id}`; {there}"))
    })
}

#[derive(Serialize)]
struct Data<'a> {
    job_id: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    stdout: &'a str,
    stderr: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    stdout_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stderr_file: Option<String>,
}

/// Returns the state of a job, and the output nobody has read.
pub(crate) fn report(job: &Job, processes: &Processes) -> ToolOutput {
    // The state first: what ended before this has printed all it will.
    let status = job.status();
    let (mut stdout, mut stderr) = job.take_output();
    processes.keep_long(&mut stdout, &mut stderr);
    let (word, end) = match status {
        JobStatus::Running => ("running", None),
        JobStatus::Ended(end) if end.signal.is_some() => ("killed", Some(end)),
        JobStatus::Ended(end) => ("exited", Some(end)),
    };
    let file = |captured: &Captured| captured.file.as_ref().map(|path| paths::shown(path));
    let data = Data {
        job_id: &job.id,
        status: word,
        exit_code: end.map(|end| end.exit_code),
        signal: end.and_then(|end| end.signal),
        stdout: &stdout.text,
        stderr: &stderr.text,
        stdout_file: file(&stdout),
        stderr_file: file(&stderr),
    };
    ToolOutput::success(&serde_json::to_string(&data).expect("strings and numbers are JSON"))
}
