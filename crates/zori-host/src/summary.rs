//! A session in words: what it is like, what it has used, what it may do. Every front end that has such commands says the
//! same.

use zori_core::cost::{MicroUsd, Spent};
use zori_core::permission::{Layer, Verdict};
use zori_core::text::one_line;
use zori_core::usage::Usage;
use zori_engine::engine::Totals;
use zori_policy::rules::{Rule, Rules};
use zori_policy::{ModeChoice, Policy};

use crate::host::Host;
use crate::session::Session;

/// What some names of modes bring with them (MODE-6).
pub const SHELL_OFF: &str =
    "Shell commands are off in it; `security.allow_shell = true` in the config file switches them on";

/// Says what a session has used.
pub fn cost_lines(totals: Totals) -> Vec<String> {
    let Totals { spent: Spent { usage, cost }, last_turn, turns } = totals;
    vec![
        format!("Input:        {} tokens", usage.input),
        format!("Output:       {} tokens", usage.output),
        format!("Cache reads:  {} tokens", usage.cache_read),
        format!("Cache writes: {} tokens", usage.cache_write),
        format!("Cache hits:   {}; last turn {}", hits(usage), hits(last_turn)),
        format!("Turns:        {turns}"),
        format!("Cost:         {}", money(cost)),
    ]
}

/// Says what a session is like.
pub fn status_lines(session: &Session, host: &Host) -> Vec<String> {
    let Totals { spent: Spent { usage, cost }, turns, .. } = session.totals();
    let (settings, window) = (&host.settings, session.context_window());
    let saved = if settings.storage.save { "saved" } else { "not saved" };
    let sandbox = host.confinement_of(session.policy().mode.mode);
    let sandbox = sandbox.map_or_else(|| "off".into(), |(confinement, holding)| confinement.status(holding));
    vec![
        format!("Model:    {} ({})", session.model(), settings.model.facts.name),
        format!("Session:  {} ({saved})", session.id()),
        format!("Root:     {}", settings.workspace.root.display()),
        format!("Sandbox:  {sandbox}"),
        format!("Undo:     {}", session.undo_coverage()),
        format!("Messages: {}", session.messages().len()),
        format!(
            "Context:  about {} of {} tokens",
            session.context_tokens(),
            window.map_or_else(|| "an unknown number of".into(), |tokens| tokens.to_string())
        ),
        format!(
            "Tokens:   {} in, {} out, {} read from cache (hits: {}), {} written to cache, in {turns} {}",
            usage.input,
            usage.output,
            usage.cache_read,
            hits(usage),
            usage.cache_write,
            if turns == 1 { "turn" } else { "turns" }
        ),
        format!("Cost:     {}", money(cost)),
    ]
}

/// Says how much of the prompts came from the provider's cache. What a provider does not tell is unknown, not nothing.
fn hits(usage: Usage) -> String {
    usage.cache_hits().map_or_else(|| "unknown".into(), |hits| format!("{hits}% of prompt tokens"))
}

/// Says an amount. Unknown is not nothing (D-11).
fn money(cost: Option<MicroUsd>) -> String {
    cost.map_or_else(
        || "unknown, no price is known for a model that was used".into(),
        |cost| cost.to_string(),
    )
}

/// Says which mode and which rules hold.
pub fn permission_lines(policy: &Policy, source: &str) -> Vec<String> {
    let mut lines = vec![mode_line(policy, source)];
    if !policy.shell.allowed {
        lines.push(SHELL_OFF.to_owned());
    }
    let rules = rule_lines(&policy.rules);
    match rules.is_empty() {
        true => lines.push(
            "Rules: none; `--allow`, `--ask`, `--deny` and `permissions` in the config file add some".into(),
        ),
        false => lines.push("Rules; deny beats ask beats allow:".to_owned()),
    }
    lines.extend(rules);
    lines
}

/// Says which mode holds, and who said so.
pub fn mode_line(policy: &Policy, source: &str) -> String {
    let choice: ModeChoice = policy.mode;
    format!("Mode: {} ({source}): {}", choice.shown(), choice.mode.about())
}

/// One line for each rule, by whose word it is.
fn rule_lines(rules: &Rules) -> Vec<String> {
    let named = |verdict: Verdict, rules: &[Rule]| -> Vec<(Layer, String)> {
        let line = |rule: &Rule| {
            let (shown, verdict) = (&rule.shown, verdict.as_str());
            let line =
                format!("  {:<8} {verdict:<6} {} ({})", shown.layer.as_str(), shown.text, shown.source);
            (shown.layer, one_line(&line).into_owned())
        };
        rules.iter().map(line).collect()
    };
    let mut lines = named(Verdict::Deny, &rules.deny);
    lines.extend(named(Verdict::Ask, &rules.ask));
    lines.extend(named(Verdict::Allow, &rules.allow));
    lines.sort_by_key(|(layer, _)| *layer);
    lines.into_iter().map(|(_, line)| line).collect()
}
