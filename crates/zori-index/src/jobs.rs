//! Scheduled jobs of a project. A slot is taken in the transaction that moves the job on, so that it fires once over all processes.

use rusqlite::{OptionalExtension, Row, params};

use crate::error::IndexError;
use crate::memory::empty_log;
use crate::project_store::ProjectStore;
use crate::slots::{When, next_slot};

const FIELDS: &str =
    "id, name, cron, run_at, tz, prompt, created_by, mode, created_at, next_run, last_run, last_status";

/// A job that is to be added.
#[derive(Clone, Debug)]
pub struct NewJob<'a> {
    pub name: &'a str,
    pub when: When,
    pub prompt: &'a str,
    /// `user` or `model`.
    pub created_by: &'a str,
    /// The permission mode of its runs (DECISIONS 67).
    pub mode: &'a str,
}

/// A scheduled job. Times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Job {
    pub(crate) id: i64,
    pub name: String,
    pub when: When,
    pub prompt: String,
    /// `user` or `model`.
    pub created_by: String,
    /// The permission mode of its runs.
    pub mode: String,
    pub created_at: i64,
    /// `None`: it never runs again.
    pub next_run: Option<i64>,
    pub last_run: Option<i64>,
    /// How the last run ended, in a word.
    pub last_status: Option<String>,
}

impl Job {
    /// Returns its next slot where that comes before the one that is noted, because the clock went back since it was made or ran.
    fn sooner(&self, now: i64) -> Option<i64> {
        let went_back = self.created_at > now || self.last_run.is_some_and(|last| last > now);
        let (noted, next) = (self.next_run?, next_slot(&self.when, now)?);
        (went_back && next < noted).then_some(next)
    }

    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (cron, at, zone): (Option<String>, Option<i64>, String) = (row.get(2)?, row.get(3)?, row.get(4)?);
        Ok(Self {
            id: row.get(0)?,
            name: row.get(1)?,
            when: match cron {
                Some(line) => When::Cron { line, zone },
                None => When::Once { at: at.unwrap_or(0), zone },
            },
            prompt: row.get(5)?,
            created_by: row.get(6)?,
            mode: row.get(7)?,
            created_at: row.get(8)?,
            next_run: row.get(9)?,
            last_run: row.get(10)?,
            last_status: row.get(11)?,
        })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobRun {
    pub scheduled_for: i64,
    pub started: i64,
    /// `None`: it runs, or was cut off.
    pub finished: Option<i64>,
    pub status: Option<String>,
}

/// A slot that this process has taken, and nobody else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub job: Job,
    /// The slot.
    pub scheduled_for: i64,
}

impl ProjectStore {
    /// Adds a job; returns `None` where there is one of that name.
    pub fn add_job(&mut self, job: &NewJob<'_>, now: i64) -> Result<Option<Job>, IndexError> {
        let (cron, at, zone) = match job.when.clone() {
            When::Cron { line, zone } => (Some(line), None, zone),
            When::Once { at, zone } => (None, Some(at), zone),
        };
        let next = next_slot(&job.when, now);
        let [name, prompt, created_by, mode] =
            [job.name, job.prompt, job.created_by, job.mode].map(str::to_owned);
        let added = self.write(now, move |change, project| {
            change.execute(
                "INSERT OR IGNORE INTO jobs
                    (project_id, name, cron, run_at, tz, prompt, created_by, mode, created_at, next_run)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)",
                params![project, name, cron, at, zone, prompt, created_by, mode, now, next],
            )
        })?;
        if added == 0 { Ok(None) } else { self.job(job.name) }
    }

    /// Returns the jobs, by their names.
    pub fn jobs(&self) -> Result<Vec<Job>, IndexError> {
        let failed = self.failed();
        let query = format!("SELECT {FIELDS} FROM jobs WHERE project_id = ?1 ORDER BY name");
        let mut rows = self.database.connection.prepare(&query).map_err(&failed)?;
        rows.query_map([self.id], Job::of).map_err(&failed)?.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Returns a job by its name.
    pub fn job(&self, name: &str) -> Result<Option<Job>, IndexError> {
        let query = format!("SELECT {FIELDS} FROM jobs WHERE project_id = ?1 AND name = ?2");
        let found = self.database.connection.query_row(&query, params![self.id, name], Job::of);
        found.optional().map_err(self.failed())
    }

    /// Returns the runs of a job, newest first.
    pub fn job_runs(&self, job: &Job, most: u32) -> Result<Vec<JobRun>, IndexError> {
        let failed = self.failed();
        let mut rows = self
            .database
            .connection
            .prepare(
                "SELECT r.scheduled_for, r.started, r.finished, r.status FROM job_runs r JOIN jobs j ON j.id = r.job_id
                 WHERE j.project_id = ?1 AND j.id = ?2 ORDER BY r.scheduled_for DESC LIMIT ?3",
            )
            .map_err(&failed)?;
        let run = |row: &Row<'_>| {
            Ok(JobRun {
                scheduled_for: row.get(0)?,
                started: row.get(1)?,
                finished: row.get(2)?,
                status: row.get(3)?,
            })
        };
        let found = rows.query_map(params![self.id, job.id, most], run);
        found.map_err(&failed)?.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Removes a job and the list of its runs; returns whether there was one. Its words leave the file, too.
    pub fn remove_job(&mut self, name: &str, now: i64) -> Result<bool, IndexError> {
        if self.job(name)?.is_none() {
            return Ok(false);
        }
        let name = name.to_owned();
        let removed = self.write(now, move |change, project| {
            change.execute("DELETE FROM jobs WHERE project_id = ?1 AND name = ?2", params![project, name])
        })?;
        empty_log(&self.database);
        Ok(removed > 0)
    }

    /// Returns when the next job is due; `None` where none ever is.
    pub fn next_due(&self) -> Result<Option<i64>, IndexError> {
        self.database
            .connection
            .query_row("SELECT min(next_run) FROM jobs WHERE project_id = ?1", [self.id], |row| row.get(0))
            .map_err(self.failed())
    }

    /// Returns whether a job waits for a time that only a clock knew which was ahead: it was made or ran later than now, and would run again much
    /// earlier. The next [`ProjectStore::claim`] sets it right.
    pub fn is_ahead(&self, now: i64) -> Result<bool, IndexError> {
        Ok(self.jobs()?.iter().any(|job| job.sooner(now).is_some()))
    }

    /// Takes the slot that is due the longest, unless another process has it. Slots that were missed count once: the job goes on from now.
    pub fn claim(&mut self, now: i64) -> Result<Option<Claim>, IndexError> {
        if self.next_due()?.is_none_or(|due| due > now) && !self.is_ahead(now)? {
            return Ok(None);
        }
        self.write(now, move |change, project| {
            let mut all = change.prepare(&format!("SELECT {FIELDS} FROM jobs WHERE project_id = ?1"))?;
            let mut set_next = change.prepare("UPDATE jobs SET next_run = ?1 WHERE id = ?2")?;
            let jobs: Vec<Job> = all.query_map([project], Job::of)?.collect::<Result<_, _>>()?;
            for (job, next) in jobs.iter().filter_map(|job| Some((job, job.sooner(now)?))) {
                set_next.execute(params![next, job.id])?;
            }
            let query = format!(
                "SELECT {FIELDS} FROM jobs WHERE project_id = ?1 AND next_run <= ?2 ORDER BY next_run, name LIMIT 1"
            );
            while let Some(job) = change.query_row(&query, params![project, now], Job::of).optional()? {
                let slot = job.next_run.unwrap_or(now);
                set_next.execute(params![next_slot(&job.when, now), job.id])?;
                let taken = change.execute(
                    "INSERT OR IGNORE INTO job_runs (job_id, scheduled_for, started) VALUES (?1, ?2, ?3)",
                    params![job.id, slot, now],
                )?;
                // A slot that ran before the clock went back does not run again.
                if taken > 0 {
                    change.execute("UPDATE jobs SET last_run = ?1, last_status = 'running' WHERE id = ?2",
                        params![now, job.id])?;
                    return Ok(Some(Claim { job, scheduled_for: slot }));
                }
            }
            Ok(None)
        })
    }

    /// Writes down how a run ended.
    pub fn finish(&mut self, claim: &Claim, status: &str, now: i64) -> Result<(), IndexError> {
        let (job, slot, status) = (claim.job.id, claim.scheduled_for, status.to_owned());
        self.write(now, move |change, _| {
            change.execute(
                "UPDATE job_runs SET finished = ?1, status = ?2 WHERE job_id = ?3 AND scheduled_for = ?4",
                params![now, status, job, slot],
            )?;
            change.execute("UPDATE jobs SET last_status = ?1 WHERE id = ?2", params![status, job])?;
            Ok(())
        })
    }
}
