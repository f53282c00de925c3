//! The tool `schedule`: prompts that the model has run later. It is listed once the project has scheduled something (DECISIONS 64), and making or
//! removing a job is asked about. A job that a model made runs in the mode `default`, whatever mode holds now (DECISIONS 67).

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use zori_core::BoxFuture;
use zori_core::time::{Clock, Timestamp};
use zori_core::tool::{Effect, Tool, ToolCx, ToolKind, ToolOutput};
use zori_index::{IndexError, Job, NewJob, ProjectStore, When};
use zori_tools::toolset::ExternalTool;

use crate::memory::MemoryPlace;
use crate::project_tool::{answer, finished, invalid, spec};
use crate::use_marker;

/// The longest prompt of a job, in bytes.
const LONGEST_PROMPT: usize = 8_000;
/// The longest name.
const LONGEST_NAME: usize = 64;
/// How many jobs a project can have that a model adds one to.
const MOST_JOBS: usize = 100;
/// The mode of jobs that a model makes (DECISIONS 67).
const MODE: &str = "default";

/// The schedule of a session's project, which is in use.
#[derive(Clone, Debug)]
pub struct ScheduleSettings {
    /// Where the database is.
    pub place: MemoryPlace,
    /// The file that says that the project has jobs.
    pub marker: PathBuf,
    /// The time zone of times that name none.
    pub zone: String,
    /// Whether its jobs run beside a single prompt, too, and not only in chats.
    pub always: bool,
}

/// Notes that a project has scheduled something, by a file of its own that a purge leaves: it keeps the jobs, too (D-31).
pub fn mark_scheduled(marker: &Path) -> io::Result<()> {
    use_marker::set(marker)
}

/// Notes that a project has no job any more, if it has none. A note that stays costs a look, and nothing else; so it stays where nobody can tell.
pub fn unmark_scheduled(marker: &Path, store: &ProjectStore) {
    unmark_unless(marker, || store.jobs().map_or(true, |jobs| !jobs.is_empty()));
}

fn unmark_unless(marker: &Path, mut has_jobs: impl FnMut() -> bool) {
    if has_jobs() {
        return;
    }
    let _ = use_marker::unset(marker);
    // Another process may have added a job, and noted it, before the note was taken away.
    if has_jobs() {
        let _ = mark_scheduled(marker);
    }
}

/// Returns the tool of a session whose project has scheduled something.
pub(crate) fn tool(settings: Option<&ScheduleSettings>, clock: &Arc<dyn Clock>) -> Option<ExternalTool> {
    let settings = settings?.clone();
    let schema = json!({"type": "object", "properties": {
        "action": {"type": "string", "enum": ["add", "list", "remove"]},
        "name": {"type": "string", "description": "The job: letters, digits, `-`, `_`"},
        "cron": {"type": "string", "description": "Again and again: minute, hour, day, month, weekday"},
        "at": {"type": "string", "description": "Once, such as 2027-01-31T09:30"},
        "tz": {"type": "string", "description": "The time zone, such as Europe/Berlin; the user's unless given"},
        "prompt": {"type": "string", "description": "What is asked then, understood on its own"}
    }, "required": ["action"], "additionalProperties": false});
    let about = "Have a prompt run at set times in this project, list such jobs, or remove one. The user is asked before a job is made.";
    let spec = spec("schedule", about, &schema);
    Some(ExternalTool { spec, tool: Arc::new(Schedule { settings, clock: clock.clone() }) })
}

#[derive(Clone)]
struct Schedule {
    settings: ScheduleSettings,
    clock: Arc<dyn Clock>,
}

impl Tool for Schedule {
    fn kind(&self) -> Option<ToolKind> {
        None
    }

    fn effects(&self, args: &RawValue) -> Vec<Effect> {
        let args: Value = serde_json::from_str(args.get()).unwrap_or_default();
        match args["action"].as_str() {
            Some("list") => vec![Effect::Internal],
            _ => vec![Effect::Schedule],
        }
    }

    fn run<'a>(&'a self, _: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        let args: Value = serde_json::from_str(args.get()).unwrap_or_default();
        let schedule = self.clone();
        Box::pin(async move {
            let done = tokio::task::spawn_blocking(move || match args["action"].as_str() {
                Some("add") => schedule.add(&args),
                Some("list") => schedule.list(),
                Some("remove") => schedule.remove(&args),
                _ => Ok(invalid("`action` is `add`, `list` or `remove`")),
            });
            let explained = |error: IndexError| format!("{error}; {}", error.way_on());
            finished("the schedule", done.await.map(|done| done.map_err(explained)))
        })
    }
}

impl Schedule {
    fn now(&self) -> i64 {
        self.clock.now().0
    }

    fn add(&self, args: &Value) -> Result<ToolOutput, IndexError> {
        let name = args["name"].as_str().unwrap_or_default();
        let good = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
        if name.is_empty() || name.len() > LONGEST_NAME || !name.chars().all(good) {
            return Ok(invalid(format!("`name` must have 1 to {LONGEST_NAME} letters, digits, `-` or `_`")));
        }
        let prompt = args["prompt"].as_str().unwrap_or_default().trim();
        if prompt.is_empty() || prompt.len() > LONGEST_PROMPT {
            return Ok(invalid(format!("`prompt` must have 1 to {LONGEST_PROMPT} bytes")));
        }
        if prompt == "-" {
            return Ok(invalid("`prompt` is `-`, which is standard input, and a job has none"));
        }
        let zone = args["tz"].as_str().unwrap_or(&self.settings.zone);
        let when = match (args["cron"].as_str(), args["at"].as_str()) {
            (Some(line), None) => When::cron(line, zone, self.now()),
            (None, Some(at)) => When::once(at, zone, self.now()),
            _ => return Ok(invalid("a job needs one of `cron` and `at`")),
        };
        let when = match when {
            Ok(when) => when,
            Err(error) => return Ok(invalid(error.to_string())),
        };
        let mut store = self.settings.place.open()?;
        if store.jobs()?.len() >= MOST_JOBS {
            return Ok(invalid(format!("the project has {MOST_JOBS} jobs; remove one first")));
        }
        let job = NewJob { name, when, prompt, created_by: "model", mode: MODE };
        Ok(match store.add_job(&job, self.now())? {
            Some(job) if mark_scheduled(&self.settings.marker).is_err() => {
                let why = "no chat will run it: it cannot be noted that the project has jobs";
                answer(&row(&job), format!("Added `{name}`, but {why}."))
            }
            Some(job) => answer(&row(&job), format!("Added `{name}`: next at {}.", next(&job))),
            None => invalid(format!("there is a job `{name}` already")),
        })
    }

    fn list(&self) -> Result<ToolOutput, IndexError> {
        let jobs = self.settings.place.read()?.map(|store| store.jobs()).transpose()?.unwrap_or_default();
        let lines: Vec<_> = jobs
            .iter()
            .map(|job| {
                format!("{} (next: {}, made by {}): {}", job.name, next(job), job.created_by, job.prompt)
            })
            .collect();
        let text = if lines.is_empty() { "No jobs are scheduled.".to_owned() } else { lines.join("\n") };
        Ok(answer(&json!({"jobs": jobs.iter().map(row).collect::<Vec<_>>()}), text))
    }

    fn remove(&self, args: &Value) -> Result<ToolOutput, IndexError> {
        let name = args["name"].as_str().unwrap_or_default();
        let mut store = self.settings.place.open()?;
        if !store.remove_job(name, self.now())? {
            return Ok(invalid(format!("there is no job `{name}`")));
        }
        unmark_scheduled(&self.settings.marker, &store);
        Ok(answer(&json!({"name": name}), format!("Removed `{name}`.")))
    }
}

fn next(job: &Job) -> String {
    job.next_run.map_or_else(|| "never again".to_owned(), |next| Timestamp(next).rfc3339())
}

fn row(job: &Job) -> Value {
    let next = job.next_run.map(|next| Timestamp(next).rfc3339());
    json!({"name": job.name, "next_run": next, "created_by": job.created_by, "mode": job.mode, "prompt": job.prompt})
}

#[cfg(test)]
mod tests {
    use std::fs;

    use zori_engine::system::SystemClock;

    use super::*;

    /// A job that another process adds while the last one is removed stays noted, whenever it comes.
    #[test]
    fn a_job_that_is_added_while_the_last_one_goes() {
        let folder = tempfile::tempdir().unwrap();
        let marker = folder.path().join("uses/schedule");
        for (at, answers, stays) in
            [(0, [false, true], true), (1, [false, false], true), (2, [false, false], false)]
        {
            mark_scheduled(&marker).unwrap();
            let mut look = 0;
            unmark_unless(&marker, || {
                let has_jobs = answers[look];
                // It is added and noted behind this look.
                if look == at {
                    mark_scheduled(&marker).unwrap();
                }
                look += 1;
                has_jobs
            });
            assert_eq!((look, marker.exists()), (2, stays), "{at}");
        }
        mark_scheduled(&marker).unwrap();
        unmark_unless(&marker, || true);
        assert!(marker.exists(), "there are some, or nobody can tell");
    }

    /// `schedule rm` takes the note away with the last job, maybe while a session is open whose model then adds another one.
    #[test]
    fn a_job_that_a_model_adds_is_noted() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let place = MemoryPlace {
            database: at("zori.db"),
            sessions: at("sessions"),
            project: at("project"),
            home: None,
            scratch: at("scratch"),
            marker: at("uses/memory"),
            durable: false,
        };
        let settings =
            ScheduleSettings { place, marker: at("uses/schedule"), zone: "UTC".into(), always: false };
        let schedule = Schedule { settings, clock: Arc::new(SystemClock::new()) };
        let job = json!({"name": "nightly", "cron": "0 3 * * *", "prompt": "look"});
        let text = |output: ToolOutput| output.text.unwrap_or_default().to_string();
        let added = text(schedule.add(&job).unwrap());
        assert!(added.starts_with("Added `nightly`: next at ") && at("uses/schedule").exists(), "{added}");
        let job = json!({"name": "input", "cron": "0 3 * * *", "prompt": "-"});
        let refused = schedule.add(&job).unwrap().failure.map(|failure| failure.message);
        assert_eq!(refused.as_deref(), Some("`prompt` is `-`, which is standard input, and a job has none"));
        fs::remove_dir_all(at("uses")).unwrap();
        fs::write(at("uses"), "in its place").unwrap();
        let job = json!({"name": "weekly", "cron": "0 3 * * 1", "prompt": "look"});
        assert_eq!(
            text(schedule.add(&job).unwrap()),
            "Added `weekly`, but no chat will run it: it cannot be noted that the project has jobs."
        );
    }
}
