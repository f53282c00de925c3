//! `/jobs`: the commands that run in the background.

use zori_contract::failure::Failure;
use zori_core::text;

use super::Next;
use crate::chat::Chat;

pub(super) fn jobs(chat: &mut Chat<'_, '_>, rest: &str) -> Result<Next, Failure> {
    let jobs = chat.plain.session().jobs();
    let mut say = |line: &str| chat.cx.ui.say(line);
    match rest.split_whitespace().collect::<Vec<_>>().as_slice() {
        [] if jobs.is_empty() => say("No jobs were started."),
        [] => {
            for job in jobs {
                say(&format!("  {:<8}{:<12}{}", job.id, job.state(), text::one_line(&job.command)));
            }
        }
        ["kill", id] => match jobs.iter().find(|job| job.id == *id) {
            Some(job) => {
                job.request_kill();
                say(&format!("Asked {id} to end"));
            }
            None => say(&format!("There is no job `{id}` (/jobs shows them all)")),
        },
        _ => say("/jobs lists the jobs, /jobs kill ID ends one"),
    }
    Ok(Next::Done)
}
