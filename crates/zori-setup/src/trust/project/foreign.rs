//! What Claude Code's settings in a folder say that counts here: rules that ask or deny, and hooks once the folder is trusted. Everything else in
//! them never does (TRUST-4).

use std::path::PathBuf;

use serde_json::{Map, Value};
use zori_core::permission::Verdict;

use crate::hooks::{self, HookTable};

/// The folder and its files, in the order in which they are read.
pub(super) const FOLDER: &str = ".claude";
pub(super) const FILES: &[&str] = &["settings.json", "settings.local.json"];

/// A rule that asks or denies.
#[derive(Clone, Debug)]
pub struct ForeignRule {
    pub verdict: Verdict,
    /// The rule, as it is written.
    pub text: String,
    pub file: PathBuf,
}

/// One of the files.
#[derive(Debug, Default)]
pub(super) struct ForeignSettings {
    pub(super) rules: Vec<(Verdict, String)>,
    pub(super) hooks: HookTable,
    /// What people should know of its hooks, as the second half of a sentence.
    pub(super) hook_remarks: Vec<String>,
    /// Keys that never count.
    pub(super) ignored: Vec<String>,
}

/// Reads a file. An error is the second half of a sentence: rules that nobody can read deny nothing.
pub(super) fn read(bytes: &[u8]) -> Result<ForeignSettings, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let value: Value = serde_json::from_str(text).map_err(|error| format!("is no JSON: {error}"))?;
    let Value::Object(fields) = value else { return Err("is no JSON object".to_owned()) };
    let mut settings = ForeignSettings::default();
    for (key, value) in &fields {
        match key.as_str() {
            "permissions" => settings.take_permissions(value)?,
            "hooks" => settings.take_hooks(value),
            "$schema" => {}
            other => settings.ignored.push(other.to_owned()),
        }
    }
    Ok(settings)
}

impl ForeignSettings {
    fn take_permissions(&mut self, value: &Value) -> Result<(), String> {
        let table = value.as_object().ok_or("has `permissions` that are no object")?;
        for (key, value) in table {
            let verdict = match key.as_str() {
                "ask" => Verdict::Ask,
                "deny" => Verdict::Deny,
                other => {
                    self.ignored.push(format!("permissions.{other}"));
                    continue;
                }
            };
            let rules = value.as_array().and_then(|rules| {
                rules.iter().map(|rule| rule.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>()
            });
            let rules = rules.ok_or_else(|| format!("has `permissions.{key}` that are no list of texts"))?;
            self.rules.extend(rules.into_iter().map(|rule| (verdict, rule)));
        }
        Ok(())
    }

    /// Takes hooks that are commands. What is another kind of hook there is none here, and does not cost the others.
    fn take_hooks(&mut self, value: &Value) {
        let mut commands = value.clone();
        let groups = commands.as_object_mut().into_iter().flat_map(Map::values_mut);
        let groups = groups.filter_map(Value::as_array_mut).flatten();
        let mut others = 0;
        for hooks in groups.filter_map(|group| group.get_mut("hooks")?.as_array_mut()) {
            let all = hooks.len();
            hooks.retain(|hook| hook["type"].as_str().is_none_or(|kind| kind == "command"));
            others += all - hooks.len();
        }
        if others > 0 {
            self.hook_remarks.push(format!("has hooks that are no commands ({others}), which are not run"));
        }
        match hooks::parse_table(&commands) {
            Ok(table) => self.hooks = table,
            Err(why) => self.hook_remarks.push(format!("has hooks that are not run: {why}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        match read(text.as_bytes()) {
            Err(why) => why,
            Ok(ForeignSettings { rules, hooks, hook_remarks, ignored }) => {
                let rules: Vec<_> =
                    rules.iter().map(|(verdict, text)| format!("{verdict:?} {text}")).collect();
                let hooks: Vec<_> = hooks.hooks.iter().map(|hook| hook.command.as_str()).collect();
                format!(
                    "{} | {} | {} | {}",
                    rules.join(", "),
                    hooks.join(", "),
                    hook_remarks.join("; "),
                    ignored.join(", ")
                )
            }
        }
    }

    #[test]
    fn what_counts_and_what_does_not() {
        assert_eq!(
            check(
                r#"{"$schema":"x","permissions":{"allow":["Bash"],"ask":["Bash(git push:*)"],"deny":["Read(./.env)"],"defaultMode":"bypassPermissions"},
                    "env":{"A":"b"},"enableAllProjectMcpServers":true,"hooks":{"Stop":[{"hooks":[{"type":"command","command":"a"},
                    {"type":"prompt","prompt":"p"}]}],"Notification":[{"hooks":[{"type":"http","url":"u"}]}]}}"#
            ),
            "Ask Bash(git push:*), Deny Read(./.env) | a | has hooks that are no commands (2), which are not run | \
             permissions.allow, permissions.defaultMode, env, enableAllProjectMcpServers"
        );
        assert_eq!(check("\u{feff}{}"), " |  |  | ");
        assert_eq!(
            check(r#"{"hooks":{"Stop":[{"hooks":[{"command":"a"}]}]},"permissions":{"deny":["Bash"]}}"#),
            "Deny Bash |  | has hooks that are not run: `hooks.Stop[0].hooks[0]` has no `type`; it must be \"command\" | "
        );
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        assert_eq!(check("[]"), "is no JSON object");
        assert_eq!(check("{"), "is no JSON: EOF while parsing an object at line 1 column 1");
        assert_eq!(check(r#"{"permissions":[]}"#), "has `permissions` that are no object");
        assert_eq!(
            check(r#"{"permissions":{"deny":"Bash"}}"#),
            "has `permissions.deny` that are no list of texts"
        );
        assert_eq!(read(b"\xff").err().unwrap(), "is not UTF-8 text");
    }
}
