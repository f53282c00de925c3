//! The questions of `import`: one for each group, one for secrets, and one for each rule that lets something run (EXT-31 to EXT-33).
//! Nothing is asked about that was not shown, and Enter alone is a no.

use zori_core::text::{counted, one_line};
use zori_vault::VaultPlace;

use super::shown;
use crate::commands::Context;
use zori_setup::import::Plan;

/// What somebody agreed to.
pub struct Agreed {
    pub plan: Plan,
    /// Secrets go into the vault.
    pub store_secrets: bool,
    /// There is no vault, and one may be made for them.
    pub make_vault: bool,
}

/// Shows everything and asks; `None` where nothing is wanted of it.
pub fn ask(
    cx: &mut Context<'_>,
    mut plan: Plan,
    missing: &[Vec<String>],
    place: &VaultPlace,
    store_secrets: bool,
) -> Option<Agreed> {
    let mut before = shown::servers(&plan, missing);
    let mut secrets = store_secrets;
    let mut make_vault = false;
    if !plan.servers.is_empty()
        && !yes(cx, &before, &format!("Add {}?", counted(plan.servers.len(), "MCP server")))
    {
        plan.servers.clear();
    }
    let count = plan.servers.iter().chain(&plan.waiting).map(|server| server.secrets.len()).sum();
    if count > 0 && !store_secrets {
        secrets = yes(cx, &shown::waiting(&plan), &secret_question(count, place));
        make_vault = secrets;
        if !secrets {
            plan.waiting.clear();
        }
    }
    before = shown::texts(&plan);
    if !before.is_empty() {
        let count = plan.entries.iter().filter(|entry| entry.group != "rules").count();
        let question = if count == 1 { "Use it?".to_owned() } else { format!("Use these {count}?") };
        if !yes(cx, &before, &question) {
            plan.entries.retain(|entry| entry.group == "rules");
        }
    }
    before = shown::rules(&plan);
    if !before.is_empty() {
        let count = plan.entries.iter().filter(|entry| entry.group == "rules").count();
        if !yes(cx, &before, &format!("Add {}?", counted(count, "rule"))) {
            plan.entries.retain(|entry| entry.group != "rules");
        }
    }
    let allow = std::mem::take(&mut plan.allow);
    plan.allow = allow
        .into_iter()
        .filter(|rule| {
            let rule = one_line(rule);
            yes(cx, "", &format!("Let `{rule}` run without a question?"))
        })
        .collect();
    (!plan.is_empty()).then_some(Agreed { plan, store_secrets: secrets, make_vault })
}

fn secret_question(count: usize, place: &VaultPlace) -> String {
    let secrets = counted(count, "secret");
    match place.is_made() {
        true => format!("Put {secrets} into the vault? A server whose secret is not there is switched off."),
        false => format!(
            "Make a vault ({}) and put {secrets} into it? A server whose secret is not there is switched off.",
            place.file.display()
        ),
    }
}

/// Asks one question, below what it is about.
fn yes(cx: &mut Context<'_>, before: &str, question: &str) -> bool {
    let answer = cx.answer(&format!("{before}{question} [y/N] "));
    answer.is_some_and(|answer| matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}
