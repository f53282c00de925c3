//! `${VAR}` and `${VAR:-default}` in what others wrote, and references to the vault, `vault:NAME` and `${vault:NAME}` (MCP-13, VLT-2). Once, and
//! nothing that was put in is looked at again.

use serde_json::Value;

use super::{Source, Way};

/// What a reference to the vault begins with, as a whole value or behind `${`.
const VAULT: &str = "vault:";

/// Where values come from.
pub trait Variables {
    /// Returns a variable of the environment.
    fn variable(&self, name: &str) -> Option<String>;

    /// Returns whether a project's description may never have it: the program's own settings, and keys of providers.
    fn withheld(&self, name: &str) -> bool;

    /// Returns whether a program with this variable runs other code than its own, so that a project may not set it (MCP-2).
    fn hijacks(&self, name: &str) -> bool;

    /// Resolves a reference to the vault. An error says why it cannot be.
    fn vault(&self, name: &str) -> Result<String, String>;
}

/// Puts the values in. An error says why the server cannot be used.
pub(super) fn expand(way: &mut Way, source: Source, variables: &dyn Variables) -> Result<(), String> {
    let seen = |key: &str, text: &mut String| -> Result<(), String> {
        if refers_to_vault(text) {
            return Err(format!(
                "`{key}` cannot refer to the vault: others see it; a variable (`env`) or a header (`headers`) can"
            ));
        }
        *text = expanded(text, source, variables)?;
        Ok(())
    };
    let value = |text: &mut String| -> Result<(), String> {
        *text = resolved(text, source, variables)?;
        Ok(())
    };
    match way {
        Way::Stdio { command, args, env, .. } => {
            let hijacks = |name: &&String| source == Source::Project && variables.hijacks(name);
            if let Some(name) = env.keys().find(hijacks) {
                return Err(format!(
                    "a project cannot set the variable `{name}`, by which other code is run"
                ));
            }
            seen("command", command)?;
            args.iter_mut().try_for_each(|arg| seen("args", arg))?;
            env.values_mut().try_for_each(value)
        }
        Way::Http { url, headers, .. } => {
            seen("url", url)?;
            headers.values_mut().try_for_each(value)
        }
    }
}

/// Returns a value of which nobody else sees anything: it may be, or have in it, what the vault holds.
pub(super) fn resolved(text: &str, source: Source, variables: &dyn Variables) -> Result<String, String> {
    match text.trim().strip_prefix(VAULT) {
        Some(name) => variables.vault(name),
        None => expanded(text, source, variables),
    }
}

/// Returns whether a value refers to the vault.
pub(super) fn refers_to_vault(text: &str) -> bool {
    text.trim().starts_with(VAULT) || text.contains("${vault:")
}

/// Returns what a description refers to, wherever it does, each once: names of variables, and entries of the vault as `vault:NAME`. Whoever approves
/// a project's server has to see them.
pub fn references(description: &Value) -> Vec<String> {
    let mut found = Vec::new();
    collect(description, &mut found);
    found
}

fn collect(value: &Value, found: &mut Vec<String>) {
    let mut add = |name: &str| {
        if !found.iter().any(|known| known == name) {
            found.push(name.to_owned());
        }
    };
    match value {
        Value::String(text) if text.trim().starts_with(VAULT) => add(text.trim()),
        Value::String(text) => {
            let inside = text.split("${").skip(1).filter_map(|rest| rest.split_once('}'));
            inside.for_each(|(inside, _)| add(inside.split_once(":-").map_or(inside, |(name, _)| name)));
        }
        Value::Array(all) => all.iter().for_each(|value| collect(value, found)),
        Value::Object(all) => all.values().for_each(|value| collect(value, found)),
        _ => {}
    }
}

fn expanded(text: &str, source: Source, variables: &dyn Variables) -> Result<String, String> {
    // What the user or a client writes has no variables in it: `${` is just text there.
    let foreign = matches!(source, Source::Project | Source::Flag);
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        out.push_str(before);
        if !foreign && !after.starts_with(VAULT) {
            out.push_str("${");
            rest = after;
            continue;
        }
        let Some((inside, behind)) = after.split_once('}') else {
            return Err(format!("`{text}` has a `${{` without its `}}`"));
        };
        rest = behind;
        if let Some(name) = inside.strip_prefix(VAULT) {
            out.push_str(&variables.vault(name)?);
            continue;
        }
        let (name, default) = match inside.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inside, None),
        };
        if source == Source::Project && variables.withheld(name) {
            return Err(format!("a project cannot have the variable `{name}`"));
        }
        match (variables.variable(name).filter(|value| !value.is_empty()), default) {
            (Some(value), _) => out.push_str(&value),
            (None, Some(default)) => out.push_str(default),
            (None, None) => return Err(format!("the variable `{name}` is not set")),
        }
    }
    out.push_str(rest);
    Ok(out)
}
