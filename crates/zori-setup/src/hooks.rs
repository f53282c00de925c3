//! Parses hooks: the `hooks` of `config.toml` and of `settings.json`, in the format that Claude Code
//! and Codex share. How they are run is `zori_tools::hooks`; a project's come through `trust.rs`.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use zori_contract::failure::Failure;
use zori_core::hook::HookEvent;
use zori_tools::hooks::matcher::Matcher;
use zori_tools::hooks::{Hook, LAST_TIMEOUT, Origin, TIMEOUT, Unchanged};
use zori_vault::reference;

use crate::config::Config;
use crate::data_dir::DataDir;
use crate::error::CONFIG_INVALID;

/// The longest time a hook may ask for, in seconds.
const MAX_TIMEOUT: f64 = 3600.0;

/// A hook as a settings file declares it.
#[derive(Clone, Debug)]
pub struct HookConfig {
    pub event: HookEvent,
    /// The matcher's source text.
    pub pattern: String,
    matcher: Matcher,
    /// The argument of `sh -c`.
    pub command: String,
    pub timeout: Duration,
}

/// A parsed table of hooks.
#[derive(Clone, Debug, Default)]
pub struct HookTable {
    pub hooks: Vec<HookConfig>,
    /// Names of events that zori does not have.
    pub unknown: Vec<String>,
}

/// A parsed `settings.json`.
#[derive(Clone, Debug, Default)]
pub struct SettingsFile {
    pub table: HookTable,
    /// Its other keys, which are not read.
    pub others: Vec<String>,
}

impl HookConfig {
    /// Makes it a hook that can run. `unchanged` checks that it is still the one that was trusted.
    pub fn hook(&self, origin: Origin, source: &Path, unchanged: Option<Unchanged>) -> Hook {
        Hook {
            event: self.event,
            matcher: self.matcher.clone(),
            command: self.command.clone(),
            timeout: self.timeout,
            origin,
            source: source.display().to_string(),
            unchanged,
        }
    }
}

/// Returns the hooks of the user and the administrator, and what to tell the user. They are settings like all others:
/// one that cannot be understood is an error, since a guard that is not there guards nothing.
pub fn load_user_hooks(
    data_dir: Option<&DataDir>,
    files: [(&Path, &Config); 2],
) -> Result<(Vec<Hook>, Vec<String>), Failure> {
    let (mut hooks, mut warnings) = (Vec::new(), Vec::new());
    let mut take = |table: HookTable, path: &Path| {
        hooks.extend(table.hooks.iter().map(|hook| hook.hook(Origin::User, path, None)));
        warnings.extend(unknown_events_warning(&table.unknown, path));
    };
    for (path, config) in files {
        if let Some(table) = config.hooks() {
            take(table, path);
        }
    }
    let Some(path) = data_dir.map(DataDir::settings) else { return Ok((hooks, warnings)) };
    let file = match std::fs::read(&path) {
        Ok(bytes) => parse_settings(&bytes),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return Ok((hooks, warnings));
        }
        Err(error) => Err(error.to_string()),
    };
    let file =
        file.map_err(|why| Failure::new(&CONFIG_INVALID, format!("cannot use {}: {why}", path.display())))?;
    take(file.table, &path);
    if !file.others.is_empty() {
        let keys = file.others.join("`, `");
        warnings.push(format!("`{keys}` in {} is not read: only its `hooks` are", path.display()));
    }
    Ok((hooks, warnings))
}

/// Returns a warning about hooks for events that zori does not have.
pub fn unknown_events_warning(events: &[String], path: &Path) -> Option<String> {
    (!events.is_empty()).then(|| {
        let known: Vec<_> = HookEvent::ALL.iter().map(|event| event.as_str()).collect();
        format!(
            "hooks for `{}` in {} never run; they run at {}",
            events.join("`, `"),
            path.display(),
            known.join(", ")
        )
    })
}

pub fn parse_settings(bytes: &[u8]) -> Result<SettingsFile, String> {
    let file: Value = serde_json::from_slice(bytes).map_err(|error| format!("it is no JSON: {error}"))?;
    let Value::Object(mut file) = file else { return Err("it must be a JSON object".into()) };
    let table = file.remove("hooks").map(|hooks| parse_table(&hooks)).transpose()?.unwrap_or_default();
    // Editors want the schema there; it says nothing.
    file.remove("$schema");
    Ok(SettingsFile { table, others: file.keys().cloned().collect() })
}

/// Parses a table of hooks. An error names the key at fault.
pub fn parse_table(table: &Value) -> Result<HookTable, String> {
    let mut parsed = HookTable::default();
    for (name, groups) in object(table, "hooks")? {
        let at = format!("hooks.{name}");
        let Some(event) = HookEvent::by_name(name) else {
            parsed.unknown.push(name.clone());
            continue;
        };
        for (n, group) in list(groups, &at)?.iter().enumerate() {
            let at = format!("{at}[{n}]");
            let group = object(group, &at)?;
            let pattern = match group.get("matcher") {
                None | Some(Value::Null) => "",
                Some(Value::String(pattern)) => pattern,
                Some(_) => return Err(format!("`{at}.matcher` must be a string")),
            };
            let matcher = Matcher::parse(Some(pattern)).map_err(|error| format!("`{at}`: {error}"))?;
            let hooks = group.get("hooks").ok_or_else(|| format!("`{at}` has no `hooks`"))?;
            for (n, hook) in list(hooks, &format!("{at}.hooks"))?.iter().enumerate() {
                let (command, timeout) = parse_hook(hook, event, &format!("{at}.hooks[{n}]"))?;
                let (pattern, matcher) = (pattern.to_owned(), matcher.clone());
                parsed.hooks.push(HookConfig { event, pattern, matcher, command, timeout });
            }
        }
    }
    Ok(parsed)
}

fn parse_hook(hook: &Value, event: HookEvent, at: &str) -> Result<(String, Duration), String> {
    let hook = object(hook, at)?;
    match hook.get("type").and_then(Value::as_str) {
        Some("command") => {}
        Some(other) => return Err(format!("`{at}.type` can only be \"command\" here, not \"{other}\"")),
        None => return Err(format!("`{at}` has no `type`; it must be \"command\"")),
    }
    let command = match hook.get("command").and_then(Value::as_str) {
        Some(command) if !command.trim().is_empty() && !command.contains('\0') => command.to_owned(),
        _ => return Err(format!("`{at}.command` must be a shell command")),
    };
    if reference::is_in(&command) {
        let what = "cannot refer to the vault: other programs see the words of a command";
        return Err(format!("`{at}.command` {what}"));
    }
    let timeout = match hook.get("timeout") {
        None | Some(Value::Null) if event == HookEvent::SessionEnd => LAST_TIMEOUT,
        None | Some(Value::Null) => TIMEOUT,
        Some(value) => match value.as_f64().filter(|secs| (0.001..=MAX_TIMEOUT).contains(secs)) {
            Some(secs) => Duration::from_secs_f64(secs),
            None => {
                return Err(format!(
                    "`{at}.timeout` must be a number of seconds up to {MAX_TIMEOUT}, not {value}"
                ));
            }
        },
    };
    Ok((command, timeout))
}

fn object<'a>(value: &'a Value, at: &str) -> Result<&'a Map<String, Value>, String> {
    value.as_object().ok_or_else(|| format!("`{at}` must be a table"))
}

fn list<'a>(value: &'a Value, at: &str) -> Result<&'a Vec<Value>, String> {
    value.as_array().ok_or_else(|| format!("`{at}` must be a list"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> String {
        match parse_settings(json.as_bytes()) {
            Ok(SettingsFile { table, others }) => {
                let one = |hook: &HookConfig| {
                    let HookConfig { event, pattern, command, timeout, .. } = hook;
                    format!("{} {pattern:?} {command:?} {}", event.as_str(), timeout.as_secs_f32())
                };
                let hooks: Vec<_> = table.hooks.iter().map(one).collect();
                format!("{}; {:?} {:?}", hooks.join(", "), table.unknown, others)
            }
            Err(why) => why,
        }
    }

    #[test]
    fn the_shared_format() {
        assert_eq!(
            check(
                r#"{"$schema":"x","model":"m","hooks":{
                    "PreToolUse":[{"matcher":"Bash|Edit","hooks":[{"type":"command","command":"a"},
                        {"type":"command","command":"b","timeout":5,"statusMessage":"s"}]}],
                    "SessionEnd":[{"hooks":[{"type":"command","command":"c"}]}],
                    "Notification":[{"hooks":[{"type":"command","command":"d"}]}]}}"#
            ),
            r#"PreToolUse "Bash|Edit" "a" 60, PreToolUse "Bash|Edit" "b" 5, SessionEnd "" "c" 5; ["Notification"] ["model"]"#
        );
        assert_eq!(check("{}"), "; [] []");
    }

    #[test]
    fn what_cannot_be_understood_is_named() {
        let hooks = |inner: &str| check(&format!(r#"{{"hooks":{{"Stop":{inner}}}}}"#));
        assert_eq!(check("[]"), "it must be a JSON object");
        assert!(check("{").starts_with("it is no JSON: "));
        assert_eq!(check(r#"{"hooks":[]}"#), "`hooks` must be a table");
        assert_eq!(hooks("{}"), "`hooks.Stop` must be a list");
        assert_eq!(hooks("[{}]"), "`hooks.Stop[0]` has no `hooks`");
        assert_eq!(
            hooks(r#"[{"hooks":[{"command":"a"}]}]"#),
            "`hooks.Stop[0].hooks[0]` has no `type`; it must be \"command\""
        );
        assert_eq!(
            hooks(r#"[{"hooks":[{"type":"prompt","prompt":"a"}]}]"#),
            "`hooks.Stop[0].hooks[0].type` can only be \"command\" here, not \"prompt\""
        );
        assert_eq!(
            hooks(r#"[{"hooks":[{"type":"command","command":" "}]}]"#),
            "`hooks.Stop[0].hooks[0].command` must be a shell command"
        );
        // VLT-2: whoever lists processes would see it.
        assert_eq!(
            hooks(r#"[{"hooks":[{"type":"command","command":"curl -H ${vault:TOKEN}"}]}]"#),
            "`hooks.Stop[0].hooks[0].command` cannot refer to the vault: other programs see the words of a command"
        );
        assert_eq!(
            hooks(r#"[{"hooks":[{"type":"command","command":"a","timeout":0}]}]"#),
            "`hooks.Stop[0].hooks[0].timeout` must be a number of seconds up to 3600, not 0"
        );
        assert_eq!(
            hooks(r#"[{"matcher":"(","hooks":[]}]"#),
            "`hooks.Stop[0]`: the matcher `(` is no regular expression: unclosed group"
        );
    }
}
