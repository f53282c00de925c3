//! How far a command got, known also to those who end it from outside.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

/// The steps of a run. Clones see the same.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    planned: Arc<[&'static str]>,
    done: Arc<Mutex<Vec<String>>>,
}

impl Steps {
    /// Begins with what is planned.
    pub fn new(planned: &'static [&'static str]) -> Self {
        Self { planned: planned.into(), done: Arc::default() }
    }

    /// Takes down that a step is done.
    pub fn done(&self, step: impl Into<String>) {
        self.done.lock().unwrap_or_else(PoisonError::into_inner).push(step.into());
    }

    /// Returns what to say of a run that ended before its end.
    pub fn partial(&self) -> Value {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let pending: Vec<_> = self.planned.iter().filter(|step| !done.iter().any(|d| d == *step)).collect();
        json!({"partial": true, "completed_steps": *done, "pending_steps": pending})
    }
}
