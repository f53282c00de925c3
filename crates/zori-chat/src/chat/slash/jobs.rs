//! `/jobs`: the commands that run in the background.

use std::sync::Arc;

use zori_contract::failure::Failure;
use zori_core::text;
use zori_tools::process::jobs::Job;

use super::Next;
use crate::chat::Chat;

pub(super) fn jobs(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let jobs = chat.plain.session().jobs();
    report(&jobs, rest).iter().for_each(|line| chat.cx.ui.say(line));
    Ok(Next::Done)
}

/// Does what is asked about the jobs, and returns what to say.
pub fn report(jobs: &[Arc<Job>], rest: &str) -> Vec<String> {
    match rest.split_whitespace().collect::<Vec<_>>().as_slice() {
        [] if jobs.is_empty() => vec!["No jobs were started.".to_owned()],
        [] => {
            let line = |job: &Arc<Job>| {
                format!("  {:<8}{:<12}{}", job.id, job.state(), text::one_line(&job.command))
            };
            jobs.iter().map(line).collect()
        }
        ["kill", id] => match jobs.iter().find(|job| job.id == *id) {
            Some(job) => {
                job.request_kill();
                vec![format!("Asked {id} to end")]
            }
            None => vec![format!("There is no job `{id}` (/jobs shows them all)")],
        },
        _ => vec!["/jobs lists the jobs, /jobs kill ID ends one".to_owned()],
    }
}
