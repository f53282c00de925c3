//! What `import` found, in words: what it is, from where, and what is missing for it (EXT-31). No value of a secret is in it.

use std::path::Path;

use zori_core::text::one_line;
use zori_vault::VaultFile;

use zori_setup::environment::Environment;
use zori_setup::import::{Plan, PlannedServer};

/// Returns all of it, for a dry run.
pub fn all(plan: &Plan, missing: &[Vec<String>]) -> String {
    let mut text = [servers(plan, missing), waiting(plan), texts(plan), rules(plan)].concat();
    if !plan.allow.is_empty() {
        text.push_str("Rules that let something run, each asked about by itself:\n");
        plan.allow.iter().for_each(|rule| text.push_str(&format!("  allow {}\n", one_line(rule))));
    }
    if text.is_empty() {
        text.push_str("There is nothing to import.\n");
    }
    plan.notes.iter().for_each(|note| text.push_str(&format!("Note: {}\n", one_line(note))));
    text
}

/// Returns the servers, with what each lacks.
pub fn servers(plan: &Plan, missing: &[Vec<String>]) -> String {
    let mut text = String::new();
    for (server, missing) in plan.servers.iter().zip(missing) {
        let PlannedServer { name, from, secrets, .. } = server;
        let shown = one_line(&server.shown()).into_owned();
        text.push_str(&format!("  {name}: {shown}  ({})\n", one_line(&from.to_string_lossy())));
        server.details().iter().for_each(|what| text.push_str(&format!("    {}\n", one_line(what))));
        if server.is_off() {
            text.push_str("    it is switched off there, and stays so\n");
        }
        if server.runs_newest() {
            text.push_str("    it runs whatever is newest: no version is named\n");
        }
        for (entry, _) in secrets {
            text.push_str(&format!("    a secret stands there, which belongs into the vault: {entry}\n"));
        }
        missing.iter().for_each(|what| text.push_str(&format!("    missing: {what}\n")));
    }
    headed("MCP servers, none of them trusted:", text)
}

/// Returns the servers that an earlier import switched off, with the secrets that they wait for.
pub fn waiting(plan: &Plan) -> String {
    let mut text = String::new();
    for PlannedServer { name, from, secrets, .. } in &plan.waiting {
        let entries: Vec<&str> = secrets.iter().map(|(entry, _)| entry.as_str()).collect();
        let (entries, from) = (entries.join(", "), from.to_string_lossy());
        text.push_str(&format!("  {name}: {}  ({})\n", one_line(&entries), one_line(&from)));
    }
    headed("MCP servers that are switched off, because their secrets were not stored:", text)
}

/// Returns what is read where it is: instructions, skills, commands and sub-agents.
pub fn texts(plan: &Plan) -> String {
    let entries = plan.entries.iter().filter(|entry| entry.group != "rules");
    let lines = entries.map(|entry| format!("  {}: {}\n", entry.group, one_line(&entry.value))).collect();
    headed("Read where they are, and not copied:", lines)
}

/// Returns the rules that forbid or ask.
pub fn rules(plan: &Plan) -> String {
    let entries = plan.entries.iter().filter(|entry| entry.group == "rules");
    let verdict = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let lines =
        entries.map(|entry| format!("  {} {}\n", verdict(entry.key), one_line(&entry.value))).collect();
    headed("Rules:", lines)
}

fn headed(head: &str, lines: String) -> String {
    if lines.is_empty() { lines } else { format!("{head}\n{lines}") }
}

/// Returns what a server lacks here: its program, and values that are neither variables nor in the vault.
pub fn missing(
    server: &PlannedServer,
    env: &Environment,
    vault: Option<&VaultFile>,
    program: &str,
) -> Vec<String> {
    let mut missing = Vec::new();
    let command = server.table.get("command").and_then(serde_json::Value::as_str);
    if let Some(command) = command.filter(|command| !is_there(command, env)) {
        missing.push(format!("the program `{}`", one_line(command)));
    }
    for name in server.references() {
        let known = env.text(&name).is_some() || vault.is_some_and(|vault| vault.get(&name).is_some());
        if !known {
            // An editor asks for what is no variable.
            let variable =
                if name.contains('-') { String::new() } else { format!("the variable {name}, or ") };
            missing.push(format!("{variable}`{program} vault set {name}`"));
        }
    }
    missing
}

/// Returns whether a command can be found. Nothing is run.
fn is_there(command: &str, env: &Environment) -> bool {
    match command.contains('/') {
        true => Path::new(command).is_file(),
        false => env.search_path().iter().any(|folder| folder.join(command).is_file()),
    }
}
