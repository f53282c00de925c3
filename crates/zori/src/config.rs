//! `config.toml`: the table of keys, reading a file by it, and writing a commented one (`core-cli.md` chapter 3).

pub mod added_rule;
pub mod own_models;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};
use zori_contract::failure::Failure;
use zori_core::cost::MicroUsd;
use zori_providers::catalog::{self, Catalog};

use crate::error::CONFIG_INVALID;
use crate::hooks;
use crate::model_choice::is_loopback;
use crate::profile::Profile;
use crate::sandbox;

/// A key of the file.
pub struct Key {
    /// Its name.
    pub name: &'static str,
    /// What it holds.
    pub kind: Kind,
    /// What stands behind the comment sign in the file `config init` writes.
    pub example: &'static str,
    /// What it means.
    pub about: &'static str,
}

/// What a key holds.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A string.
    Text,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// A whole number in this range.
    Count(u64, u64),
    /// A number.
    Number,
    /// An amount of dollars.
    Money,
    /// True or false.
    Flag,
    /// Dollars for a million tokens.
    Price,
    /// Tables of [`LOGIN_KEYS`], by provider.
    Logins,
    /// A list of strings.
    List,
    /// A table of hooks, by event.
    Hooks,
}

/// The keys of `[auth.<provider>]` (AUTH-6).
pub const LOGIN_KEYS: &[&str] = &["client_id", "authorize_url", "token_url", "scopes"];

const fn key(name: &'static str, kind: Kind, example: &'static str, about: &'static str) -> Key {
    Key { name, kind, example, about }
}

/// Every key, in the order `config init` writes them.
pub const KEYS: &[Key] = &[
    key("provider", Kind::Text, "\"anthropic\"", "Who serves the model"),
    key("model", Kind::Text, "\"claude-haiku-4-5\"", "The model"),
    key(
        "max_tokens",
        Kind::Count(1, u32::MAX as u64),
        "8192",
        "Upper bound of a reply; unset: the model's own limit",
    ),
    key("temperature", Kind::Number, "1.0", "Sent only if set"),
    key(
        "thinking",
        Kind::Choice(&["off", "low", "medium", "high", "max"]),
        "\"medium\"",
        "How much the model thinks; unset: as the provider has it",
    ),
    key("stream", Kind::Flag, "true", "Take replies as they are made; false: in one piece"),
    key("system_prompt", Kind::Text, "\"\"", "What the model is told before everything else"),
    key(
        "system_prompt_file",
        Kind::Text,
        "\"prompt.md\"",
        "The same from a file, which wins; relative to this file",
    ),
    key("anthropic_base_url", Kind::Text, "\"https://api.anthropic.com\"", "Another address for Anthropic"),
    key("openai_base_url", Kind::Text, "\"https://api.openai.com/v1\"", "Another address for OpenAI"),
    key(
        "gemini_base_url",
        Kind::Text,
        "\"https://generativelanguage.googleapis.com/v1beta\"",
        "Another address for Gemini",
    ),
    key(
        "openrouter_base_url",
        Kind::Text,
        "\"https://openrouter.ai/api/v1\"",
        "Another address for OpenRouter",
    ),
    key(
        "copilot_base_url",
        Kind::Text,
        "\"https://api.githubcopilot.com\"",
        "Another address for GitHub Copilot",
    ),
    key("ollama_base_url", Kind::Text, "\"http://127.0.0.1:11434/v1\"", "Another address for Ollama"),
    key("llamacpp_base_url", Kind::Text, "\"http://127.0.0.1:8080/v1\"", "Another address for llama.cpp"),
    key("lmstudio_base_url", Kind::Text, "\"http://127.0.0.1:1234/v1\"", "Another address for LM Studio"),
    key("vllm_base_url", Kind::Text, "\"http://127.0.0.1:8000/v1\"", "Another address for vLLM"),
    key(
        "compat_base_url",
        Kind::Text,
        "\"http://127.0.0.1:8080/v1\"",
        "Another address for any other server that speaks Chat Completions",
    ),
    key(
        "credential_helper",
        Kind::Text,
        "\"my-helper\"",
        "A program that keeps keys and logins in place of the system's credential store",
    ),
    key(
        "auth",
        Kind::Logins,
        "{ openai = { client_id = \"\", authorize_url = \"https://\", token_url = \"https://\", scopes = \"\" } }",
        "Where to log in with a client id of your own, by provider; also as a section [auth.openai]",
    ),
    key(
        "tool_calls",
        Kind::Choice(&["native", "prose"]),
        "\"prose\"",
        "How tools are offered over Chat Completions; prose: in the text, for models that know no others",
    ),
    key(
        "tool_timeout_secs",
        Kind::Count(0, 86_400),
        "120",
        "Time limit of one tool call in seconds; 0: none",
    ),
    key(
        "bash_max_output_bytes",
        Kind::Count(0, 8 << 20),
        "65536",
        "How much of each output stream of a command the model sees; 0: up to 8 MiB",
    ),
    key(
        "context_window",
        Kind::Count(256, u32::MAX as u64),
        "32768",
        "How many tokens the model takes, prompt and reply together; unset: what the catalogue says of it",
    ),
    key(
        "compact_at_percent",
        Kind::Count(0, 95),
        "80",
        "When so much of that is used, old tool outputs are left out, then old messages summarised; 0: only when asked",
    ),
    key(
        "output",
        Kind::Choice(&["json", "jsonl", "tsv", "plain", "table", "id"]),
        "\"plain\"",
        "What commands print that can; unset: text at a terminal, JSON elsewhere",
    ),
    key(
        "durability",
        Kind::Choice(&["process", "full"]),
        "\"process\"",
        "Survive the death of the process, or with \"full\" also a loss of power",
    ),
    key("session_required", Kind::Flag, "false", "Stop when the session cannot be saved"),
    key(
        "audit",
        Kind::Choice(&["on", "required", "off"]),
        "\"on\"",
        "Keep an audit log of decisions, calls and commands; \"required\": nothing runs that cannot be written there",
    ),
    key("retries", Kind::Count(0, 20), "4", "How often a failed request is tried again"),
    key("retry_delay_ms", Kind::Count(0, 60_000), "1000", "The first wait before that; it doubles each time"),
    key(
        "connect_timeout_ms",
        Kind::Count(0, 600_000),
        "15000",
        "How long a connection to the provider may take; 0: for ever",
    ),
    key(
        "first_byte_timeout_ms",
        Kind::Count(0, 86_400_000),
        "120000",
        "How long the provider may think before its answer begins; 0: for ever",
    ),
    key(
        "idle_timeout_ms",
        Kind::Count(0, 86_400_000),
        "300000",
        "How long a begun answer may be silent; 0: for ever",
    ),
    key(
        "max_turns",
        Kind::Count(1, u32::MAX as u64),
        "50",
        "How often the model is asked for one prompt; unset: as often as it takes",
    ),
    key("max_budget_usd", Kind::Money, "0.50", "What a run may cost in dollars; unset: any amount"),
    key(
        "allow_unpriced",
        Kind::Flag,
        "false",
        "Use a model whose price is not known although there is a budget, which it does not count towards",
    ),
    key(
        "max_tokens_total",
        Kind::Count(1, i64::MAX as u64),
        "1000000",
        "How many tokens a run may use, read and written; unset: any number",
    ),
    key(
        "subagent_depth",
        Kind::Count(0, 2),
        "1",
        "How deep sub-agents may start sub-agents; 0: the model has no tool `task`",
    ),
    key("subagent_max", Kind::Count(1, 1000), "16", "How many sub-agents one prompt may start"),
    key(
        "sandbox",
        Kind::Choice(sandbox::USES),
        "\"auto\"",
        "Commands in a sandbox: off, whatever the machine has, or required; unset: off in the mode yolo, else auto",
    ),
    key(
        "sandbox_level",
        Kind::Choice(sandbox::LEVELS),
        "\"workspace\"",
        "Where commands in a sandbox may write: the workspace, or nowhere",
    ),
    key(
        "sandbox_network",
        Kind::Choice(sandbox::NETWORKS),
        "\"off\"",
        "Whether they may use the network; one that you approved yourself always may",
    ),
    key(
        "sandbox_caches",
        Kind::List,
        "[\"~/.cargo/registry\"]",
        "Folders outside the workspace that they may write, too",
    ),
    key("cli.json", Kind::Flag, "false", "Print events where there is a model to ask, as `--json` does"),
    key("cli.bare", Kind::Flag, "false", "Start nothing in the background, as `--bare` does"),
    key("cli.auto", Kind::Flag, "false", "Answer every question about a call with yes, as `-y` does"),
    key("security.mode", Kind::Text, "\"default\"", "The permission mode; unset: yolo, which asks nothing"),
    key("security.allow_shell", Kind::Flag, "true", "Whether the model may run shell commands at all"),
    key(
        "security.whitelist",
        Kind::List,
        "[\"ls\", \"git status\"]",
        "Commands that run without a question in the mode balanced",
    ),
    key(
        "security.blacklist_patterns",
        Kind::List,
        "[\"rm -rf\", \"re:^npm publish\"]",
        "Commands that never run: words with options folded, or re: and an expression",
    ),
    key(
        "security.blacklist_off",
        Kind::List,
        "[\"power-off\"]",
        "Entries of the built-in blacklist to switch off",
    ),
    key(
        "security.child_env_deny",
        Kind::List,
        "[\"DATABASE_URL\", \"MY_*\"]",
        "Environment variables that commands do not inherit, on top of keys and, outside yolo, what looks like a secret",
    ),
    key(
        "security.child_env_allow",
        Kind::List,
        "[\"GITHUB_TOKEN\"]",
        "Environment variables that commands inherit all the same",
    ),
    key(
        "security.sensitive_paths",
        Kind::List,
        "[\"~/.config/work\", \"*.tfstate\"]",
        "Files that are not read without a question, on top of the built-in list; patterns as in Read rules",
    ),
    key(
        "security.forbid_yolo",
        Kind::Flag,
        "false",
        "No mode without questions; of use in the administrator's file /etc/zori/config.toml",
    ),
    key(
        "security.managed_allow_only",
        Kind::Flag,
        "false",
        "Only the administrator's allow rules count; of use in that file",
    ),
    key(
        "hooks",
        Kind::Hooks,
        "{ PreToolUse = [{ matcher = \"Bash\", hooks = [{ type = \"command\", command = \"my-check\", timeout = 60 }] }] }",
        "Programs that are told what happens and may object, as in Claude Code; also as [[hooks.PreToolUse]]",
    ),
    key("permissions.allow", Kind::List, "[\"Bash(git diff:*)\"]", "What runs without a question"),
    key("permissions.ask", Kind::List, "[\"Bash(git commit:*)\"]", "What is asked about in every mode"),
    key("permissions.deny", Kind::List, "[\"Read(.env)\", \"Bash(curl:*)\"]", "What never runs"),
];

/// The tables keys are in.
const TABLES: &[&str] = &["cli", "security", "permissions"];

/// What a file says. A value that is not there was not set.
#[derive(Debug, Default)]
pub struct Config {
    values: BTreeMap<&'static str, Value>,
    /// For a list, the line each entry stands in.
    lines: BTreeMap<&'static str, Vec<usize>>,
    /// What to tell the user, one line each.
    pub warnings: Vec<String>,
    /// The names in it that are not in the table of keys.
    pub others: Vec<String>,
    /// The catalogue, with the models that the file adds or corrects.
    pub catalog: Catalog,
}

impl Config {
    /// Reads the file; one that does not exist says nothing. A bad file is never partly applied (FS-8).
    pub fn load(path: &Path, key_var: &str) -> Result<Self, Failure> {
        match std::fs::read(path) {
            Ok(bytes) => Self::parse(&bytes, path, key_var),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            // A parent that is a file is the base directory's problem, not the config's.
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => Ok(Self::default()),
            Err(error) => Err(invalid(format!("cannot read the config file {}: {error}", path.display()))),
        }
    }

    /// Understands the text of a file.
    pub fn parse(bytes: &[u8], path: &Path, key_var: &str) -> Result<Self, Failure> {
        let at = |offset: usize, what: &str| {
            let (line, column) = position(bytes, offset);
            invalid(format!("{}:{line}:{column}: {what}", path.display()))
        };
        let text = std::str::from_utf8(bytes).map_err(|e| at(e.valid_up_to(), "not UTF-8 text"))?;
        let file: BTreeMap<String, Spanned<Value>> = toml::from_str(text).map_err(|error| {
            // The parser may stop at a consequence of the mistake; the first of all its errors is the mistake itself.
            let start = |e: &toml::de::Error| e.span().map_or(0, |span| span.start);
            let all = DeTable::parse_recoverable(text).1;
            let first = all.into_iter().min_by_key(start).unwrap_or(error);
            at(start(&first), first.message().trim())
        })?;
        let mut config = Self::default();
        let spans = DeTable::parse_recoverable(text).0;
        let (mut own, mut flat) = (Vec::new(), Vec::new());
        for (name, value) in file {
            if name == own_models::TABLE {
                let (models, unknown) = own_models::read(text).map_err(|(start, wrong)| at(start, &wrong))?;
                own = models;
                config.others.push(name.clone());
                config
                    .warnings
                    .extend(unknown.iter().map(|name| format!("unknown key `{name}` in {}", path.display())));
                continue;
            }
            let start = value.span().start;
            match value.into_inner() {
                Value::Table(inner) if TABLES.contains(&name.as_str()) => {
                    flat.extend(inner.into_iter().map(|(key, value)| {
                        let start = starts(spans.get_ref(), &[&name, &key]).first().copied().unwrap_or(start);
                        (format!("{name}.{key}"), start, value)
                    }));
                }
                value => flat.push((name, start, value)),
            }
        }
        for (name, start, value) in flat {
            let Some(key) = KEYS.iter().find(|key| key.name == name) else {
                config.warnings.push(unknown(&name, path, key_var));
                config.others.push(name);
                continue;
            };
            check(key, &value).map_err(|wrong| at(start, &wrong))?;
            if let (Kind::List, Some((table, inner))) = (key.kind, name.split_once('.')) {
                let entries = starts(spans.get_ref(), &[table, inner]).into_iter().skip(1);
                config.lines.insert(key.name, entries.map(|start| position(bytes, start).0).collect());
            }
            config.values.insert(key.name, value);
        }
        config.catalog = Catalog::with(&own);
        Ok(config)
    }

    /// Returns a string; blank counts as unset where the key's meaning is an address.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.as_str()
    }

    /// Returns a value as the file has it, for programs.
    pub fn json(&self, key: &str) -> Option<serde_json::Value> {
        serde_json::to_value(self.values.get(key)?).ok()
    }

    /// Returns a whole number.
    pub fn count(&self, key: &str) -> Option<u64> {
        self.values.get(key)?.as_integer().map(i64::unsigned_abs)
    }

    /// Returns a number.
    pub fn number(&self, key: &str) -> Option<f64> {
        let value = self.values.get(key)?;
        value.as_float().or_else(|| Some(value.as_integer()? as f64))
    }

    /// Returns an amount of money.
    pub fn money(&self, key: &str) -> Option<MicroUsd> {
        dollars(self.values.get(key)?)
    }

    /// Returns a setting of a provider's login; blank counts as unset.
    pub fn login(&self, provider: &str, key: &str) -> Option<&str> {
        let value = self.values.get("auth")?.get(provider)?.get(key)?.as_str()?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// Returns a list of strings, each with its line; `None` if it is not set.
    pub fn list(&self, key: &str) -> Option<Vec<(&str, usize)>> {
        let entries = self.values.get(key)?.as_array()?.iter().filter_map(Value::as_str);
        let lines = self.lines.get(key).into_iter().flatten().copied().chain(std::iter::repeat(1));
        Some(entries.zip(lines).collect())
    }

    /// Returns the hooks; `None` if there are none.
    pub fn hooks(&self) -> Option<hooks::Table> {
        let table = serde_json::to_value(self.values.get("hooks")?).ok()?;
        // It was checked when the file was read.
        hooks::read(&table).ok()
    }

    /// Returns the names of all keys that are set.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.values.keys().copied()
    }

    /// Returns true or false.
    pub fn flag(&self, key: &str) -> Option<bool> {
        self.values.get(key)?.as_bool()
    }
}

/// Returns the file `config init` writes: every key, commented out.
pub fn template(profile: &Profile) -> String {
    let mut text = format!(
        "# Settings of {}. Every line is a comment that shows the default or an example.\n\
         # API keys are never read from files: they come from the environment (ANTHROPIC_API_KEY)\n\
         # or from the credential store (`auth login`).\n",
        profile.name
    );
    for key in KEYS {
        let example = match key.name {
            "tool_timeout_secs" => profile.tool_timeout.as_secs().to_string(),
            "bash_max_output_bytes" => profile.bash_max_output.to_string(),
            _ => key.example.to_owned(),
        };
        text.push_str(&format!("\n# {}.\n# {} = {example}\n", key.about, key.name));
    }
    text.push_str(own_models::EXAMPLE);
    text
}

fn check(key: &Key, value: &Value) -> Result<(), String> {
    let wrong = |wanted: &str| Err(format!("`{}` must be {wanted}, not {}", key.name, describe(value)));
    match (key.kind, value) {
        (Kind::Text, Value::String(_)) | (Kind::Flag, Value::Boolean(_)) => Ok(()),
        (Kind::List, Value::Array(entries)) if entries.iter().all(Value::is_str) => Ok(()),
        (Kind::List, _) => wrong("a list of strings"),
        (Kind::Number, Value::Float(_) | Value::Integer(_)) => Ok(()),
        (Kind::Money, value) if dollars(value).is_some() => Ok(()),
        (Kind::Price, value) if own_models::price(value).is_some() => Ok(()),
        (Kind::Choice(choices), Value::String(text)) if choices.contains(&text.as_str()) => Ok(()),
        (Kind::Count(min, max), Value::Integer(n))
            if u64::try_from(*n).is_ok_and(|n| min <= n && n <= max) =>
        {
            Ok(())
        }
        (Kind::Logins, value) => logins(value),
        (Kind::Hooks, value) => {
            let table = serde_json::to_value(value).map_err(|error| error.to_string())?;
            hooks::read(&table).map(|_| ())
        }
        (Kind::Text, _) => wrong("a string"),
        (Kind::Flag, _) => wrong("true or false"),
        (Kind::Number, _) => wrong("a number"),
        (Kind::Price, _) => {
            wrong("dollars for a million tokens from 0 to 1000000, with six decimals at most")
        }
        (Kind::Money, _) => wrong("an amount of dollars from 0.000001 to 1000000"),
        (Kind::Choice(choices), _) => wrong(&format!(
            "one of {}",
            choices.iter().map(|c| format!("\"{c}\"")).collect::<Vec<_>>().join(", ")
        )),
        (Kind::Count(min, max), _) => wrong(&format!("a whole number from {min} to {max}")),
    }
}

/// Checks the tables of logins. Tokens are had over these addresses, so that nobody else may read along.
fn logins(value: &Value) -> Result<(), String> {
    let wanted = |what: &str, value: &Value| format!("`{what}` must be a table, not {}", describe(value));
    for (provider, keys) in value.as_table().ok_or_else(|| wanted("auth", value))? {
        let name = format!("auth.{provider}");
        if catalog::provider(provider).is_none() {
            let near =
                catalog::nearest_provider(provider).map(|near| format!("; did you mean `auth.{near}`?"));
            return Err(format!("`{name}` is no provider's{}", near.unwrap_or_default()));
        }
        for (key, value) in keys.as_table().ok_or_else(|| wanted(&name, keys))? {
            if !LOGIN_KEYS.contains(&key.as_str()) {
                return Err(format!("`{name}` has no key `{key}`; it has {}", LOGIN_KEYS.join(", ")));
            }
            let Some(text) = value.as_str() else {
                return Err(format!("`{name}.{key}` must be a string, not {}", describe(value)));
            };
            if key.ends_with("_url") && !text.trim().is_empty() && !is_private(text.trim()) {
                return Err(format!("`{name}.{key}` must be an https:// address, or one on this machine"));
            }
        }
    }
    Ok(())
}

fn is_private(url: &str) -> bool {
    let visible = url.bytes().all(|b| b.is_ascii_graphic());
    visible && (url.starts_with("https://") || is_loopback(url))
}

fn dollars(value: &Value) -> Option<MicroUsd> {
    MicroUsd::from_dollars(value.as_float().or_else(|| Some(value.as_integer()? as f64))?)
}

fn describe(value: &Value) -> String {
    match value {
        Value::String(text) => format!("the string {text:?}"),
        Value::Integer(n) => n.to_string(),
        Value::Float(n) => n.to_string(),
        Value::Boolean(b) => b.to_string(),
        Value::Datetime(date) => date.to_string(),
        Value::Array(_) => "a list".into(),
        Value::Table(_) => "a table".into(),
    }
}

/// Says what becomes of a key that is not read (CFG-4, CFG-5).
fn unknown(name: &str, path: &Path, key_var: &str) -> String {
    let path = path.display();
    let secret = ["api_key", "apikey", "token", "secret", "password"].iter().any(|s| name.ends_with(s));
    if secret && name != "max_tokens" {
        return format!(
            "`{name}` in {path} is ignored: keys are never read from files; set {key_var} instead"
        );
    }
    format!("unknown key `{name}` in {path}")
}

/// Returns where a value of a table starts, and if it is a list, where its entries do.
fn starts(table: &DeTable<'_>, path: &[&str]) -> Vec<usize> {
    let Some((first, rest)) = path.split_first() else { return Vec::new() };
    let Some((_, value)) = table.iter().find(|(key, _)| key.get_ref() == *first) else { return Vec::new() };
    match value.get_ref() {
        DeValue::Table(inner) if !rest.is_empty() => starts(inner, rest),
        DeValue::Array(entries) => std::iter::once(value.span().start)
            .chain(entries.iter().map(|entry| entry.span().start))
            .collect(),
        _ => vec![value.span().start],
    }
}

/// Turns a byte offset into line and column, both from 1; columns count characters.
fn position(bytes: &[u8], offset: usize) -> (usize, usize) {
    let before = &bytes[..offset.min(bytes.len())];
    let line_start = before.iter().rposition(|&b| b == b'\n').map_or(0, |newline| newline + 1);
    let line = before.iter().filter(|&&b| b == b'\n').count() + 1;
    (line, String::from_utf8_lossy(&before[line_start..]).chars().count() + 1)
}

fn invalid(message: String) -> Failure {
    Failure::new(&CONFIG_INVALID, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text.as_bytes(), Path::new("c.toml"), "KEY_VAR").map_err(|error| error.message)
    }

    #[test]
    fn the_template_parses_and_names_every_key() {
        let plain = template(&crate::profile::ZORI);
        assert!(parse(&plain).unwrap().values.is_empty());
        let keys_only: String = plain
            .lines()
            .filter_map(|line| line.strip_prefix("# ").filter(|l| l.contains(" = ")))
            .fold(String::new(), |all, line| all + line + "\n");
        let config = parse(&keys_only).unwrap();
        assert_eq!(config.values.len(), KEYS.len());
        assert_eq!(config.warnings, [""; 0]);
    }

    #[test]
    fn every_provider_has_its_address() {
        let known = |key: &str| KEYS.iter().any(|known| known.name == key);
        assert!(catalog::PROVIDERS.iter().all(|facts| known(facts.base_url_key)));
    }

    #[test]
    fn errors_name_file_line_and_column() {
        let error = |text| parse(text).unwrap_err();
        assert_eq!(error("model = 5"), "c.toml:1:9: `model` must be a string, not 5");
        assert_eq!(
            error("\nmax_tokens = \"many\""),
            "c.toml:2:14: `max_tokens` must be a whole number from 1 to 4294967295, not the string \"many\""
        );
        assert_eq!(error("stream = 1"), "c.toml:1:10: `stream` must be true or false, not 1");
        assert_eq!(
            error("durability = \"none\""),
            "c.toml:1:14: `durability` must be one of \"process\", \"full\", not the string \"none\""
        );
        assert_eq!(
            error("tool_timeout_secs = -1"),
            "c.toml:1:21: `tool_timeout_secs` must be a whole number from 0 to 86400, not -1"
        );
        assert_eq!(
            error("max_budget_usd = 0"),
            "c.toml:1:18: `max_budget_usd` must be an amount of dollars from 0.000001 to 1000000, not 0"
        );
        assert!(
            error("model = \"x\nprovider").starts_with("c.toml:1:"),
            "{}",
            error("model = \"x\nprovider")
        );
        let bad = Config::parse(b"a = \"\xff\"", Path::new("c.toml"), "K").unwrap_err();
        assert_eq!(bad.message, "c.toml:1:6: not UTF-8 text");
    }

    #[test]
    fn unknown_keys_warn_and_secrets_say_where_they_belong() {
        let config = parse("nope = 1\nanthropic_api_key = \"s\"\nmodel = \"m\"\n[table]\n").unwrap();
        assert_eq!(
            config.warnings,
            [
                "`anthropic_api_key` in c.toml is ignored: keys are never read from files; set KEY_VAR instead",
                "unknown key `nope` in c.toml",
                "unknown key `table` in c.toml",
            ]
        );
        assert_eq!(config.text("model"), Some("m"));
    }

    #[test]
    fn lists_in_tables_know_their_lines() {
        let text = "[permissions]\ndeny = [\n  \"Bash(curl:*)\",\n  \"Read(.env)\",\n]\n[security]\nmode = \"plan\"\n";
        let config = parse(text).unwrap();
        assert_eq!(config.list("permissions.deny"), Some(vec![("Bash(curl:*)", 3), ("Read(.env)", 4)]));
        assert_eq!((config.list("permissions.ask"), config.text("security.mode")), (None, Some("plan")));
        assert_eq!(
            parse("[permissions]\ndeny = [\"a\", 1]").unwrap_err(),
            "c.toml:2:8: `permissions.deny` must be a list of strings, not a list"
        );
        assert_eq!(
            parse("[security]\nmod = 1\n").unwrap().warnings,
            ["unknown key `security.mod` in c.toml"]
        );
        assert_eq!(parse("permissions = 1").unwrap().warnings, ["unknown key `permissions` in c.toml"]);
    }
}
