//! `--settings`: a file or an object in the format of Claude Code's settings, as far as it says what a run of ours knows; and
//! the flags that say in its words what ours say, too.
//!
//! It comes with the command line and counts like it. What it says that is not known here is named on standard error.

use serde_json::{Map, Value};
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::failure::Failure;
use zori_core::provider::Effort;
use zori_providers::catalog::PROVIDERS;
use zori_serve::claude::client::effort;

use crate::args::LowArgs;
use crate::hooks::{self, HookConfig};
use crate::ui::Ui;

/// What a caller gave.
#[derive(Debug, Default)]
struct ReadSettings {
    allow: Vec<String>,
    ask: Vec<String>,
    deny: Vec<String>,
    mode: Option<String>,
    folders: Vec<String>,
    env: Vec<(String, String)>,
    model: Option<String>,
    hooks: Vec<HookConfig>,
    /// What has no effect, a sentence each.
    remarks: Vec<String>,
}

/// Adds what `--settings` says to what was typed; a flag that says the same itself counts more.
pub fn applied(args: &LowArgs, ui: &mut Ui) -> Result<LowArgs, Failure> {
    let mut args = args.clone();
    let Some(given) = &args.settings.given else { return Ok(args) };
    let invalid = |why: String| Failure::new(&VALIDATION_ERROR, format!("`--settings`: {why}"));
    let text = match given.trim_start().starts_with('{') {
        true => given.clone(),
        false => std::fs::read_to_string(given)
            .map_err(|error| invalid(format!("cannot read {given}: {error}")))?,
    };
    let given = read(&text).map_err(invalid)?;
    given.remarks.iter().for_each(|why| ui.warn(&format!("`--settings`: {why}")));
    args.permission.allow.extend(given.allow);
    args.permission.ask.extend(given.ask);
    args.permission.deny.extend(given.deny);
    args.workspace.add_dirs.extend(given.folders);
    args.permission.mode = args.permission.mode.or(given.mode);
    args.model.name = args.model.name.or(given.model);
    args.settings.hooks = given.hooks;
    args.settings.env = given.env;
    Ok(args)
}

/// Takes the words of Claude Code's command line for ours, where they mean the same.
pub fn understood(args: &LowArgs) -> Result<LowArgs, Failure> {
    let mut args = args.clone();
    if let Some(file) = &args.prompt.system_file {
        let text = std::fs::read_to_string(file).map_err(|error| {
            Failure::new(&VALIDATION_ERROR, format!("`--system-prompt-file`: cannot read {file}: {error}"))
        })?;
        args.prompt.system = Some(text);
    }
    if args.permission.mode.is_none() && args.permission.bypass {
        args.permission.mode = Some("bypassPermissions".to_owned());
    }
    match args.model.effort.as_deref() {
        None => {}
        Some("xhigh") => args.model.thinking = Some(Effort::Max),
        Some(level) => args.model.thinking = Effort::by_name(level),
    }
    if let Some(tokens) = args.model.max_thinking_tokens {
        args.model.thinking = Some(effort(tokens));
    }
    Ok(args)
}

fn read(text: &str) -> Result<ReadSettings, String> {
    let value: Value = serde_json::from_str(text).map_err(|error| format!("it is no JSON: {error}"))?;
    let Value::Object(fields) = value else { return Err("it must be a JSON object".into()) };
    let (mut given, mut unknown) = (ReadSettings::default(), Vec::new());
    for (key, value) in &fields {
        match key.as_str() {
            "permissions" => permissions(value, &mut given, &mut unknown)?,
            "env" => environment(value, &mut given)?,
            "model" => given.model = Some(text_of(value, "model")?),
            "hooks" => {
                let table = hooks::parse_table(value)?;
                given.hooks = table.hooks;
                unknown.extend(table.unknown.iter().map(|event| format!("hooks.{event}")));
            }
            // Editors want the schema there; it says nothing.
            "$schema" => {}
            _ => unknown.push(key.clone()),
        }
    }
    if !unknown.is_empty() {
        given.remarks.push(format!("`{}` has no effect here", unknown.join("`, `")));
    }
    Ok(given)
}

fn permissions(value: &Value, given: &mut ReadSettings, unknown: &mut Vec<String>) -> Result<(), String> {
    for (key, value) in object(value, "permissions")? {
        let at = format!("permissions.{key}");
        match key.as_str() {
            "allow" => given.allow = list(value, &at)?,
            "ask" => given.ask = list(value, &at)?,
            "deny" => given.deny = list(value, &at)?,
            "defaultMode" => given.mode = Some(text_of(value, &at)?),
            "additionalDirectories" => given.folders = list(value, &at)?,
            _ => unknown.push(at),
        }
    }
    Ok(())
}

/// Takes variables for commands and hooks. What this program itself reads it has read already.
fn environment(value: &Value, given: &mut ReadSettings) -> Result<(), String> {
    for (name, value) in object(value, "env")? {
        let value = text_of(value, &format!("env.{name}"))?;
        if name.is_empty() || name.contains(['=', '\0']) || value.contains('\0') {
            return Err(format!("`env.{}` cannot be a variable", name.escape_debug()));
        }
        let ours = PROVIDERS.iter().any(|facts| [facts.key_var, facts.base_url_var].contains(&name.as_str()));
        if ours || name.starts_with("ZORI_") {
            given
                .remarks
                .push(format!("`env.{name}` is not used: set it in the environment of this program"));
        } else {
            given.env.push((name.clone(), value));
        }
    }
    Ok(())
}

fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("`{at}` must be an object"))
}

fn text_of(value: &Value, at: &str) -> Result<String, String> {
    value.as_str().map(str::to_owned).ok_or_else(|| format!("`{at}` must be a string"))
}

fn list(value: &Value, at: &str) -> Result<Vec<String>, String> {
    let texts = value.as_array().and_then(|list| {
        let texts = list.iter().map(|one| one.as_str().map(str::to_owned));
        texts.collect::<Option<Vec<_>>>()
    });
    texts.ok_or_else(|| format!("`{at}` must be a list of strings"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_understood() {
        let given = read(
            r#"{"$schema":"x","model":"m","theme":"dark","permissions":{"allow":["Read"],"ask":["Edit"],"deny":["Bash(rm:*)"],
                "defaultMode":"plan","additionalDirectories":["../x"],"disableBypassPermissionsMode":"disable"},
                "env":{"A":"1","ANTHROPIC_API_KEY":"k","ZORI_HOME":"/x"},
                "hooks":{"Stop":[{"hooks":[{"type":"command","command":"true"}]}],"Notification":[]}}"#,
        )
        .unwrap();
        assert_eq!(
            (given.allow, given.ask, given.deny),
            (vec!["Read".into()], vec!["Edit".into()], vec!["Bash(rm:*)".into()])
        );
        assert_eq!((given.mode.as_deref(), given.model.as_deref()), (Some("plan"), Some("m")));
        assert_eq!((given.folders, given.env), (vec!["../x".into()], vec![("A".into(), "1".into())]));
        assert_eq!(given.hooks.iter().map(|hook| hook.command.as_str()).collect::<Vec<_>>(), ["true"]);
        assert_eq!(
            given.remarks,
            [
                "`env.ANTHROPIC_API_KEY` is not used: set it in the environment of this program",
                "`env.ZORI_HOME` is not used: set it in the environment of this program",
                "`theme`, `permissions.disableBypassPermissionsMode`, `hooks.Notification` has no effect here",
            ]
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, why) in [
            ("[]", "it must be a JSON object"),
            (r#"{"permissions":[]}"#, "`permissions` must be an object"),
            (r#"{"permissions":{"allow":"Read"}}"#, "`permissions.allow` must be a list of strings"),
            (r#"{"permissions":{"deny":[1]}}"#, "`permissions.deny` must be a list of strings"),
            (r#"{"env":{"A":1}}"#, "`env.A` must be a string"),
            (r#"{"env":{"A=B":"1"}}"#, "`env.A=B` cannot be a variable"),
            (r#"{"model":7}"#, "`model` must be a string"),
            (r#"{"hooks":{"Stop":{}}}"#, "`hooks.Stop` must be a list"),
        ] {
            assert_eq!(read(text).map(drop), Err(why.to_owned()), "{text}");
        }
    }
}
