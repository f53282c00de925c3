//! MCP servers as other agents write them down, as tables of our config (EXT-32, EXT-33).

use std::path::Path;

use serde_json::{Map, Value, json};
use zori_contract::{mask, redact};
use zori_core::secret::Secret;
use zori_mcp::client::config::{folded_name, literal};

/// A server in our words, and the secrets that stood there, by the variable or header they were in.
pub struct Described {
    pub table: Map<String, Value>,
    pub secrets: Vec<(String, Secret)>,
}

/// What stands before the secret in a header.
const SCHEMES: &[&str] = &["Bearer", "Basic", "token"];

/// Returns the entry of the vault for a secret of a server. What no name of an entry has is written by its number, so that two names stay two.
pub fn entry(server: &str, key: &str) -> String {
    let mut entry = format!("mcp.{server}.");
    for c in key.chars() {
        match c.is_ascii_alphanumeric() || "_-.:".contains(c) {
            true => entry.push(c),
            false => entry.push_str(&format!(".{:x}", u32::from(c))),
        }
    }
    entry
}

/// Reads the server of an editor, Cursor or VS Code, whose values may refer to what the editor knows.
pub fn of_editor(name: &str, value: &Value, home: &Path) -> Result<Described, String> {
    if value.get("envFile").is_some_and(|file| !file.is_null()) {
        return Err("its variables stand in a file (`envFile`); name them in `env_pass` or `env`".to_owned());
    }
    // An editor has a word for the home directory.
    of_json(name, &with_texts(value, &|text| text.replace("${userHome}", &home.to_string_lossy())))
}

/// Reads a server of Gemini CLI, which also takes `$NAME` for a variable, anywhere.
pub fn of_gemini(name: &str, value: &Value) -> Result<Described, String> {
    let mut value = with_texts(value, &braced);
    // An address that is not said to be the newer kind is the older one.
    if value.get("url").is_some() && value.get("httpUrl").is_none() && value.get("type").is_none() {
        value["type"] = "sse".into();
    }
    of_json(name, &value)
}

/// Returns a value with every text in it as the function has it.
fn with_texts(value: &Value, change: &dyn Fn(&str) -> String) -> Value {
    match value {
        Value::String(text) => change(text).into(),
        Value::Array(all) => all.iter().map(|value| with_texts(value, change)).collect(),
        Value::Object(all) => {
            let all = all.iter().map(|(key, value)| (key.clone(), with_texts(value, change)));
            all.collect::<Map<_, _>>().into()
        }
        other => other.clone(),
    }
}

/// Returns a text with `${NAME}` in place of `$NAME`.
fn braced(text: &str) -> String {
    let mut parts = text.split('$');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |before, part| {
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, behind) = part.split_at(part.find(|c| !is_name(c)).unwrap_or(part.len()));
        match name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("{before}${part}"),
            false => format!("{before}${{{name}}}{behind}"),
        }
    })
}

/// Reads a server of opencode, whose command is one list with its arguments.
pub fn of_opencode(name: &str, value: &Value) -> Result<Described, String> {
    let mut described = Described { table: Map::new(), secrets: Vec::new() };
    let words = value["command"].as_array().map(Vec::as_slice).unwrap_or_default();
    match (words.split_first(), value["url"].as_str()) {
        (Some((command, args)), _) => {
            let command = command.as_str().ok_or("its command is no text")?;
            described.command(command, &args.into())?;
        }
        (None, Some(url)) => described.url(url, false)?,
        (None, None) => return Err("it has neither a command nor an address".to_owned()),
    }
    described.values(name, "env", &value["environment"])?;
    described.values(name, "headers", &value["headers"])?;
    described.enabled(value["enabled"] != false);
    Ok(described)
}

/// Reads the server of an agent that writes JSON: Claude Code, Cursor, VS Code.
pub fn of_json(name: &str, value: &Value) -> Result<Described, String> {
    if value.get("headersHelper").is_some_and(|helper| !helper.is_null()) {
        return Err("its headers come from a program (`headersHelper`), which is never run".to_owned());
    }
    let text = |key: &str| value[key].as_str().filter(|text| !text.is_empty());
    let mut described = Described { table: Map::new(), secrets: Vec::new() };
    let sse = text("type") == Some("sse");
    if text("command").is_some() && (text("url").is_some() || text("httpUrl").is_some()) {
        return Err("it has both a command and an address".to_owned());
    }
    match (text("command"), text("httpUrl"), text("url")) {
        (Some(command), _, _) => described.command(command, &value["args"])?,
        (None, Some(url), _) => described.url(url, false)?,
        (None, None, Some(url)) => described.url(url, sse)?,
        (None, None, None) => return Err("it has neither a command nor an address".to_owned()),
    }
    if let Some(cwd) = text("cwd") {
        described.table.insert("cwd".to_owned(), json!(cwd));
    }
    described.values(name, "env", &value["env"])?;
    described.values(name, "headers", &value["headers"])?;
    described.names("tools_allow", &value["includeTools"]);
    described.names("tools_deny", &value["excludeTools"]);
    // Gemini CLI counts in milliseconds.
    described.seconds("tool_timeout_secs", value["timeout"].as_f64().map(|ms| ms / 1000.0));
    described.oauth(&folded_name(name), &value["oauth"]);
    described.enabled(value["disabled"] != true);
    Ok(described)
}

/// Reads a server of Codex, whose config is TOML.
pub fn of_codex(name: &str, value: &Value) -> Result<Described, String> {
    let text = |key: &str| value[key].as_str().filter(|text| !text.is_empty());
    let mut described = Described { table: Map::new(), secrets: Vec::new() };
    match (text("command"), text("url")) {
        (Some(command), _) => described.command(command, &value["args"])?,
        (None, Some(url)) => described.url(url, false)?,
        (None, None) => return Err("it has neither a command nor an address".to_owned()),
    }
    if let Some(cwd) = text("cwd") {
        described.table.insert("cwd".to_owned(), json!(cwd));
    }
    described.values(name, "env", &value["env"])?;
    described.names("env_pass", &value["env_vars"]);
    described.values(name, "headers", &value["http_headers"])?;
    let bearer =
        text("bearer_token_env_var").map(|name| ("Authorization", format!("Bearer ${{vault:{name}}}")));
    let named = value["env_http_headers"].as_object().into_iter().flatten();
    let named =
        named.filter_map(|(key, name)| Some((key.as_str(), format!("${{vault:{}}}", name.as_str()?))));
    for (key, value) in named.chain(bearer) {
        described.table.entry("headers").or_insert_with(|| json!({}))[key] = json!(value);
    }
    described.seconds("start_timeout_secs", value["startup_timeout_sec"].as_f64());
    described.seconds("tool_timeout_secs", value["tool_timeout_sec"].as_f64());
    described.names("tools_allow", &value["enabled_tools"]);
    described.names("tools_deny", &value["disabled_tools"]);
    described.enabled(value["enabled"] != false);
    Ok(described)
}

impl Described {
    fn command(&mut self, command: &str, args: &Value) -> Result<(), String> {
        let words = match args {
            Value::Null => Some(Vec::new()),
            args => args.as_array().and_then(|args| args.iter().map(plain).collect::<Option<Vec<_>>>()),
        };
        let args = words.ok_or("its `args` are no list of texts")?;
        let words: Vec<&str> = std::iter::once(command).chain(args.iter().map(String::as_str)).collect();
        // Others see the words of a command, so nothing of the vault can stand there.
        if !literal::in_words(&words).is_empty() || words.iter().any(|word| mask::looks_like_key(word)) {
            return Err("there is a secret in its command line; give it by a variable".to_owned());
        }
        if words.iter().any(|word| has_variable(word)) {
            return Err("its command line has variables in it; write them out".to_owned());
        }
        self.table.insert("command".to_owned(), json!(command));
        if !args.is_empty() {
            self.table.insert("args".to_owned(), json!(args));
        }
        Ok(())
    }

    fn url(&mut self, url: &str, sse: bool) -> Result<(), String> {
        if has_variable(url) {
            return Err("its address has variables in it; write them out".to_owned());
        }
        if url.contains('@') || !literal::in_address(url).is_empty() {
            return Err("there is a secret in its address; give it by a header".to_owned());
        }
        if literal::doubtful_in_address(url).is_some() {
            return Err(
                "a long part of its address may be a secret; if it is none, `mcp add` adds it".to_owned()
            );
        }
        self.table.insert("url".to_owned(), json!(url));
        if sse {
            self.table.insert("transport".to_owned(), json!("sse"));
        }
        Ok(())
    }

    fn names(&mut self, key: &str, value: &Value) {
        let names: Vec<&str> = value.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        if !names.is_empty() {
            self.table.insert(key.to_owned(), json!(names));
        }
    }

    /// Takes over that somebody switched it off.
    fn enabled(&mut self, enabled: bool) {
        if !enabled {
            self.table.insert("enabled".to_owned(), json!(false));
        }
    }

    /// Takes over as whom one logs in to it.
    fn oauth(&mut self, server: &str, oauth: &Value) {
        let mut taken = Map::new();
        if let Some(client) = oauth["clientId"].as_str().filter(|client| !client.is_empty()) {
            taken.insert("client_id".to_owned(), json!(client));
        }
        if let Some(secret) = oauth["clientSecret"].as_str().filter(|secret| !secret.is_empty()) {
            self.secrets.push(("client_secret".to_owned(), secret.into()));
            taken.insert(
                "client_secret".to_owned(),
                json!(format!("vault:{}", entry(server, "client_secret"))),
            );
        }
        if let Some(port) = oauth["callbackPort"].as_u64().filter(|port| (1..=65535).contains(port)) {
            taken.insert("callback_port".to_owned(), json!(port));
        }
        if !taken.is_empty() {
            self.table.insert("oauth".to_owned(), taken.into());
        }
    }

    /// Takes a limit over, in whole seconds.
    fn seconds(&mut self, key: &str, value: Option<f64>) {
        if let Some(seconds) = value.map(f64::ceil).filter(|seconds| (1.0..=86_400.0).contains(seconds)) {
            self.table.insert(key.to_owned(), json!(seconds as u64));
        }
    }

    /// Takes variables or headers over. What is a secret becomes a reference, and its value is kept apart.
    fn values(&mut self, server: &str, table: &str, values: &Value) -> Result<(), String> {
        let mut taken = Map::new();
        for (key, value) in values.as_object().into_iter().flatten() {
            if value.is_null() {
                continue;
            }
            let text = &plain(value).ok_or_else(|| format!("`{key}` in its `{table}` is no text"))?;
            let entry = entry(&folded_name(server), key);
            if text.contains("{file:") {
                return Err("a value of it stands in a file; put it into the vault".to_owned());
            }
            let value = match referenced(text)? {
                Some(reference) => reference,
                None => match text
                    .split_once(' ')
                    .filter(|(scheme, rest)| SCHEMES.contains(scheme) && !rest.trim().is_empty())
                {
                    Some((scheme, secret)) => {
                        self.secrets.push((key.clone(), secret.trim().into()));
                        format!("{scheme} ${{vault:{entry}}}")
                    }
                    None if is_secret(key, text) => {
                        self.secrets.push((key.clone(), text.as_str().into()));
                        format!("vault:{entry}")
                    }
                    None => text.to_owned(),
                },
            };
            taken.insert(key.clone(), json!(value));
        }
        if !taken.is_empty() {
            self.table.insert(table.to_owned(), taken.into());
        }
        Ok(())
    }
}

/// Returns a value that refers to variables in our words: the vault asks the environment first. `None` if it refers to none.
fn referenced(text: &str) -> Result<Option<String>, String> {
    if let Some(name) = text.strip_prefix('$').filter(|name| is_variable(name)) {
        return Ok(Some(format!("vault:{name}")));
    }
    // opencode writes `{env:NAME}` where others write `${NAME}`.
    let text = &text.replace("${env:", "{env:").replace("{env:", "${env:");
    if !text.contains("${") {
        return Ok(None);
    }
    let (mut out, mut rest) = (String::new(), text.as_str());
    while let Some((before, behind)) = rest.split_once("${") {
        let (name, after) = behind.split_once('}').ok_or("a variable in it has no end")?;
        if matches!(name, "workspaceFolder" | "workspaceFolderBasename" | "pathSeparator" | "/") {
            return Err(format!("it refers to `${{{name}}}`, which only the editor knows; write it out"));
        }
        let (name, is_known) = match name.strip_prefix("input:") {
            Some(asked) => (asked, is_input(asked)),
            None => {
                let variable = name.strip_prefix("env:").unwrap_or(name);
                (variable, is_variable(variable))
            }
        };
        if !is_known {
            return Err("it has a variable with a default; write the value out".to_owned());
        }
        out.push_str(before);
        out.push_str(&format!("${{vault:{name}}}"));
        rest = after;
    }
    out.push_str(rest);
    Ok(Some(out))
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns whether it can be the name of something that an editor asks for.
fn is_input(name: &str) -> bool {
    is_variable(&name.replace('-', "_"))
}

/// Returns whether a text refers to a variable, in whichever way.
fn has_variable(text: &str) -> bool {
    text.contains("${") || text.contains("{env:") || text.contains("{file:")
}

/// Returns whether the value of a variable or header belongs into the vault. Where a name says so, any value does that is one.
fn is_secret(name: &str, value: &str) -> bool {
    let is_one = !value.trim().is_empty() && !SCHEMES.contains(&value.trim());
    let told = redact::is_secret(name) && is_one;
    told || mask::looks_like_key(value) || !literal::in_value(name, value).is_empty()
}

/// Returns a word as a command or an environment has it; `None` for what is none.
fn plain(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(value: Value) -> String {
        match of_json("git hub", &value) {
            Ok(Described { table, secrets }) => {
                let secrets: Vec<_> =
                    secrets.iter().map(|(key, value)| format!("{key}={}", value.reveal())).collect();
                format!("{} | {}", Value::Object(table), secrets.join(" "))
            }
            Err(why) => why,
        }
    }

    #[test]
    fn secrets_become_references() {
        assert_eq!(
            check(
                json!({"command": "npx", "args": ["-y", "x"], "env": {"GITHUB_TOKEN": "hunter2hunter2", "MODE": "fast"}})
            ),
            r#"{"command":"npx","args":["-y","x"],"env":{"GITHUB_TOKEN":"vault:mcp.git_hub.GITHUB_TOKEN","MODE":"fast"}} | GITHUB_TOKEN=hunter2hunter2"#
        );
        assert_eq!(
            check(
                json!({"url": "https://x.example/mcp", "type": "sse", "headers": {"Authorization": "Bearer abc", "X-Team": "${TEAM}"}})
            ),
            r#"{"url":"https://x.example/mcp","transport":"sse","headers":{"Authorization":"Bearer ${vault:mcp.git_hub.Authorization}","X-Team":"${vault:TEAM}"}} | Authorization=abc"#
        );
    }

    #[test]
    fn names_and_values_that_are_none() {
        assert_eq!(
            check(json!({"command": "x", "env": {"API_TOKEN": "", "B_KEY": " "}, "args": []})),
            r#"{"command":"x","env":{"API_TOKEN":"","B_KEY":" "}} | "#
        );
        assert_eq!(
            check(json!({"url": "https://x.example/mcp", "headers": {"Authorization": "Bearer "}})),
            r#"{"url":"https://x.example/mcp","headers":{"Authorization":"Bearer "}} | "#
        );
        assert_eq!(
            check(json!({"command": "x", "env": {"A/B TOKEN": "hunter2hunter2"}})),
            r#"{"command":"x","env":{"A/B TOKEN":"vault:mcp.git_hub.A.2fB.20TOKEN"}} | A/B TOKEN=hunter2hunter2"#
        );
    }

    #[test]
    fn limits_in_seconds() {
        assert_eq!(
            check(json!({"command": "x", "timeout": 30_500})),
            r#"{"command":"x","tool_timeout_secs":31} | "#
        );
        assert_eq!(check(json!({"command": "x", "timeout": 0})), r#"{"command":"x"} | "#);
    }

    #[test]
    fn what_cannot_be_taken_over_says_why_and_not_what() {
        for value in [
            json!({"command": "x", "args": ["--api-key=hunter2"]}),
            json!({"command": "x", "args": ["sk-ant-0123456789abcdef"]}),
            json!({"url": "https://x.example/?api_key=hunter2"}),
            json!({"url": "https://me:hunter2@x.example/"}),
            json!({"command": "x", "args": ["${HOME}/a"]}),
            json!({}),
        ] {
            let why = check(value);
            assert!(!why.contains("hunter2") && !why.contains("sk-ant") && !why.contains('|'), "{why}");
        }
    }

    #[test]
    fn codex_has_words_of_its_own() {
        let value = json!({"url": "https://x.example", "bearer_token_env_var": "TOKEN", "enabled_tools": ["a"], "env_vars": ["A"],
            "startup_timeout_sec": 20, "tool_timeout_sec": 0.5});
        let Ok(Described { table, .. }) = of_codex("x", &value) else { panic!("it can be taken over") };
        assert_eq!(
            Value::Object(table).to_string(),
            r#"{"url":"https://x.example","env_pass":["A"],"headers":{"Authorization":"Bearer ${vault:TOKEN}"},"start_timeout_secs":20,"tool_timeout_secs":1,"tools_allow":["a"]}"#
        );
    }

    #[test]
    fn editors_and_opencode_have_words_of_their_own() {
        let shown = |described: Result<Described, String>| match described {
            Ok(Described { table, secrets }) => format!("{} | {}", Value::Object(table), secrets.len()),
            Err(why) => why,
        };
        let editor = |value: Value| shown(of_editor("x", &value, Path::new("/home/me")));
        assert_eq!(
            editor(
                json!({"type": "stdio", "command": "${userHome}/bin/x", "env": {"KEY": "${env:KEY}", "ASKED": "${input:asked-key}"}})
            ),
            r#"{"command":"/home/me/bin/x","env":{"KEY":"${vault:KEY}","ASKED":"${vault:asked-key}"}} | 0"#
        );
        // A dash belongs to no variable: one is a default, one a password.
        assert_eq!(
            editor(json!({"command": "x", "env": {"A": "${HOME-none}"}})),
            "it has a variable with a default; write the value out"
        );
        assert_eq!(
            editor(json!({"command": "x", "env": {"A_PASSWORD": "$ecret-1"}})),
            r#"{"command":"x","env":{"A_PASSWORD":"vault:mcp.x.A_PASSWORD"}} | 1"#
        );
        assert_eq!(
            editor(json!({"url": "https://x.example", "headers": {"X": "${workspaceFolder}"}})),
            "it refers to `${workspaceFolder}`, which only the editor knows; write it out"
        );
        assert_eq!(
            editor(json!({"command": "x", "envFile": ".env"})),
            "its variables stand in a file (`envFile`); name them in `env_pass` or `env`"
        );
        let opencode = |value: Value| shown(of_opencode("x", &value));
        assert_eq!(
            opencode(
                json!({"type": "local", "command": ["npx", "-y", "x"], "environment": {"A": "{env:A}", "API_KEY": "hunter2"}, "enabled": false})
            ),
            r#"{"command":"npx","args":["-y","x"],"env":{"A":"${vault:A}","API_KEY":"vault:mcp.x.API_KEY"},"enabled":false} | 1"#
        );
        assert_eq!(
            opencode(json!({"type": "remote", "url": "https://x.example/{env:A}"})),
            "its address has variables in it; write them out"
        );
        assert_eq!(opencode(json!({"command": [7]})), "its command is no text");
    }
}
