//! Plans of a project: a goal, its steps, and how far each of them is.

use rusqlite::{OptionalExtension, Row, params};
use serde_json::{Value, json};

use crate::error::IndexError;
use crate::project_store::ProjectStore;

const FIELDS: &str = "id, session, goal, status, steps, created_at, updated_at";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    pub id: i64,
    /// The session in which it was made.
    pub session: String,
    pub goal: String,
    pub status: PlanStatus,
    pub steps: Vec<Step>,
    /// In seconds since 1970, like the next one.
    pub created_at: i64,
    pub updated_at: i64,
}

/// How a plan stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlanStatus {
    /// Steps are left, and somebody may go on with them.
    Open,
    /// Every step is done.
    Done,
    /// Somebody ended it.
    Cancelled,
}

/// A step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub text: String,
    pub status: StepStatus,
}

/// How a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepStatus {
    /// Nothing was done about it.
    Open,
    /// Its turn began, and did not end as far as is known.
    Running,
    Done,
    /// Its turn failed or was stopped.
    Failed,
}

impl PlanStatus {
    const ALL: [Self; 3] = [Self::Open, Self::Done, Self::Cancelled];

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }

    fn by_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|status| status.as_str() == name).unwrap_or(Self::Cancelled)
    }
}

impl StepStatus {
    const ALL: [Self; 4] = [Self::Open, Self::Running, Self::Done, Self::Failed];

    /// Returns the word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Running => "running",
            Self::Done => "done",
            Self::Failed => "failed",
        }
    }

    fn by_name(name: &str) -> Self {
        Self::ALL.into_iter().find(|status| status.as_str() == name).unwrap_or(Self::Open)
    }
}

impl Plan {
    /// Returns the step that comes next, counted from 0; `None` where all are done.
    pub fn next_step(&self) -> Option<usize> {
        self.steps.iter().position(|step| step.status != StepStatus::Done)
    }

    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let (status, steps): (String, String) = (row.get(3)?, row.get(4)?);
        Ok(Self {
            id: row.get(0)?,
            session: row.get(1)?,
            goal: row.get(2)?,
            status: PlanStatus::by_name(&status),
            steps: read(&steps),
            created_at: row.get(5)?,
            updated_at: row.get(6)?,
        })
    }
}

impl ProjectStore {
    /// Adds a plan of which nothing is done yet.
    pub fn add_plan(
        &mut self,
        session: &str,
        goal: &str,
        steps: &[String],
        now: i64,
    ) -> Result<Plan, IndexError> {
        let steps: Vec<Step> =
            steps.iter().map(|text| Step { text: text.clone(), status: StepStatus::Open }).collect();
        let written = written(&steps);
        let open = PlanStatus::Open;
        let (session, goal) = (session.to_owned(), goal.to_owned());
        let row = (session.clone(), goal.clone());
        let id = self.write(now, move |change, project| {
            change.execute(
                "INSERT INTO plans (project_id, session, goal, status, steps, created_at, updated_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?6)",
                params![project, row.0, row.1, open.as_str(), written, now],
            )?;
            Ok(change.last_insert_rowid())
        })?;
        Ok(Plan { id, session, goal, status: open, steps, created_at: now, updated_at: now })
    }

    /// Writes down how a plan and its steps stand. One that is gone stays gone.
    pub fn keep_plan(&mut self, plan: &Plan, now: i64) -> Result<(), IndexError> {
        let (status, steps, id) = (plan.status.as_str(), written(&plan.steps), plan.id);
        self.write(now, move |change, project| {
            change.execute(
                "UPDATE plans SET status = ?1, steps = ?2, updated_at = ?3 WHERE project_id = ?4 AND id = ?5",
                params![status, steps, now, project, id],
            )?;
            Ok(())
        })
    }

    /// Returns the plans, newest first.
    pub fn plans(&self, most: u32) -> Result<Vec<Plan>, IndexError> {
        let failed = self.failed();
        let query = format!("SELECT {FIELDS} FROM plans WHERE project_id = ?1 ORDER BY id DESC LIMIT ?2");
        let mut rows = self.database.connection.prepare(&query).map_err(&failed)?;
        let found = rows.query_map(params![self.id, most], Plan::of);
        found.map_err(&failed)?.collect::<Result<_, _>>().map_err(&failed)
    }

    /// Returns a plan by its number.
    pub fn plan(&self, id: i64) -> Result<Option<Plan>, IndexError> {
        let query = format!("SELECT {FIELDS} FROM plans WHERE project_id = ?1 AND id = ?2");
        let found = self.database.connection.query_row(&query, params![self.id, id], Plan::of);
        found.optional().map_err(self.failed())
    }

    /// Returns the newest plan that somebody may go on with.
    pub fn open_plan(&self) -> Result<Option<Plan>, IndexError> {
        let query = format!(
            "SELECT {FIELDS} FROM plans WHERE project_id = ?1 AND status = ?2 ORDER BY id DESC LIMIT 1"
        );
        let open = PlanStatus::Open.as_str();
        let found = self.database.connection.query_row(&query, params![self.id, open], Plan::of);
        found.optional().map_err(self.failed())
    }
}

fn written(steps: &[Step]) -> String {
    let step = |step: &Step| json!({"text": step.text, "status": step.status.as_str()});
    steps.iter().map(step).collect::<Value>().to_string()
}

/// Reads them again. Steps that nobody can read are a plan without any.
fn read(text: &str) -> Vec<Step> {
    let steps: Vec<Value> = serde_json::from_str(text).unwrap_or_default();
    let step = |step: &Value| {
        let text = step["text"].as_str()?.to_owned();
        Some(Step { text, status: StepStatus::by_name(step["status"].as_str().unwrap_or_default()) })
    };
    steps.iter().filter_map(step).collect()
}
