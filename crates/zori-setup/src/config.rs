//! `config.toml`: the table of keys, reading a file by it, and writing a commented one (`docs/contracts/config.md`).

pub mod added_rule;
mod agent_zero_keys;
pub mod keys;
mod named_providers;
pub mod own_models;
pub mod price_file;
pub mod server_table;
pub mod set_key;

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use toml::de::{DeTable, DeValue};
use toml::{Spanned, Value};
use zori_contract::failure::Failure;
use zori_core::cost::MicroUsd;
use zori_providers::catalog::{Catalog, PriceList};
use zori_vault::{VaultPlace, reference};

use self::keys::{KEYS, Kind, check, dollars};
use crate::error::CONFIG_INVALID;
use crate::hooks;
use crate::mcp_servers;
use crate::model_lists::ModelLists;
use crate::profile::Profile;

/// The tables keys are in.
const TABLES: &[&str] = &[
    "mcp",
    "memory",
    "scheduler",
    "cost",
    "index",
    "cli",
    "agents",
    "commands",
    "instructions",
    "skills",
    "security",
    "permissions",
    "session",
    "ui",
    "undo",
    "connection",
    "context",
    "observer",
];

/// Tables in these whose keys are settings, too.
const INNER_TABLES: &[&str] = &["memory.qdrant", "memory.dream", "session.recap"];

/// A parsed file. A missing value was not set.
#[derive(Clone, Debug, Default)]
pub struct Config {
    values: BTreeMap<&'static str, Value>,
    /// For a list, the line each entry stands in.
    lines: BTreeMap<&'static str, Vec<usize>>,
    pub warnings: Vec<String>,
    /// The tables `[mcp.servers.NAME]`.
    pub mcp_servers: Option<serde_json::Map<String, serde_json::Value>>,
    /// Names that are not in the table of keys.
    pub others: Vec<String>,
    /// The catalogue, with the models that the file adds or corrects.
    pub catalog: Catalog,
    /// What the user says that models cost.
    pub prices: PriceList,
    /// What providers have said of their models.
    pub model_lists: ModelLists,
    /// Where secrets may be that the file refers to.
    pub vault: Option<VaultPlace>,
    /// What holds the key of a provider, by the provider's name: `vault:NAME`.
    key_references: BTreeMap<String, String>,
}

/// Reads config files, and parses the one it read last only once: a start asks for the same file more than once, and a
/// session that lives long must see that it was changed. Clones share the file.
#[derive(Clone, Default)]
pub struct ConfigReader(Arc<Mutex<Option<Parsed>>>);

struct Parsed {
    path: PathBuf,
    bytes: Vec<u8>,
    key_var: &'static str,
    config: Config,
}

impl ConfigReader {
    /// Reads a file as [`Config::load`] does.
    pub fn load(&self, path: &Path, key_var: &'static str) -> Result<Config, Failure> {
        let Some(bytes) = read(path)? else { return Ok(Config::default()) };
        let mut parsed = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = |last: &&Parsed| last.path == path && last.bytes == bytes && last.key_var == key_var;
        if let Some(last) = parsed.as_ref().filter(same) {
            return Ok(last.config.clone());
        }
        let config = Config::parse(&bytes, path, key_var)?;
        *parsed = Some(Parsed { path: path.to_owned(), bytes, key_var, config: config.clone() });
        Ok(config)
    }
}

/// Reads what the user says that models cost; a missing file says nothing.
pub fn read_prices(path: &Path) -> Result<PriceList, Failure> {
    let Some(bytes) = read(path)? else { return Ok(PriceList::default()) };
    let at = |offset: usize, what: &str| {
        let (line, column) = position(&bytes, offset);
        invalid(format!("{}:{line}:{column}: {what}", path.display()))
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| at(error.valid_up_to(), "not UTF-8 text"))?;
    price_file::read(text).map_err(|(offset, wrong)| at(offset, &wrong))
}

/// Reads a file; `None` if it does not exist.
fn read(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    // A parent that is a file is the data directory's problem, not the config's.
    let missing =
        |error: &io::Error| matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory);
    match std::fs::metadata(path) {
        Err(error) if missing(&error) => return Ok(None),
        // Reading a pipe or a device may wait for ever. What is always empty sets nothing.
        Ok(facts) if path != Path::new("/dev/null") && !facts.is_file() && !facts.is_dir() => {
            let path = path.display();
            let what = format!("cannot read the config file {path}: it is a pipe or a device, not a file");
            return Err(invalid(what));
        }
        _ => {}
    }
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if missing(&error) => Ok(None),
        Err(error) => Err(invalid(format!("cannot read the config file {}: {error}", path.display()))),
    }
}

impl Config {
    /// Reads the file; a missing file sets nothing. A bad file is never partly applied (FS-8).
    pub fn load(path: &Path, key_var: &str) -> Result<Self, Failure> {
        match read(path)? {
            Some(bytes) => Self::parse(&bytes, path, key_var),
            None => Ok(Self::default()),
        }
    }

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
        let (mut own, mut named, mut flat) = (Vec::new(), Vec::new(), Vec::new());
        for (name, value) in file {
            if name == own_models::TABLE {
                let (models, unknown) = own_models::read(text).map_err(|(start, wrong)| at(start, &wrong))?;
                own = models;
                config.note_table(name, &unknown, path);
                continue;
            }
            if name == named_providers::TABLE {
                let tables = named_providers::read(text).map_err(|(start, wrong)| at(start, &wrong))?;
                named = tables.providers;
                config.key_references = tables.key_references;
                config.note_table(name, &tables.unknown, path);
                continue;
            }
            let start = value.span().start;
            match value.into_inner() {
                Value::Table(inner) if TABLES.contains(&name.as_str()) => {
                    for (key, value) in inner {
                        let start = starts(spans.get_ref(), &[&name, &key]).first().copied().unwrap_or(start);
                        let full = format!("{name}.{key}");
                        match value {
                            Value::Table(inner) if INNER_TABLES.contains(&full.as_str()) => {
                                flat.extend(inner.into_iter().map(|(last, value)| {
                                    let own = starts(spans.get_ref(), &[&name, &key, &last]);
                                    let start = own.first().copied().unwrap_or(start);
                                    (format!("{full}.{last}"), start, value)
                                }));
                            }
                            value => flat.push((full, start, value)),
                        }
                    }
                }
                value => flat.push((name, start, value)),
            }
        }
        for (name, start, value) in flat {
            // Anything but a reference may be a key itself, which is neither used nor said back.
            if name == "api_key" && value.as_str().and_then(reference::whole).is_none() {
                config.warnings.push(unknown(&name, path, key_var));
                config.others.push(name);
                continue;
            }
            if name == "mcp.servers" {
                let servers = serde_json::to_value(&value).unwrap_or_default();
                let serde_json::Value::Object(servers) = servers else {
                    return Err(at(start, "`mcp.servers` holds tables: `[mcp.servers.NAME]`"));
                };
                let warnings = mcp_servers::check_table(&servers).map_err(|wrong| at(start, &wrong))?;
                config.warnings.extend(warnings);
                config.mcp_servers = Some(servers);
                config.others.push(name);
                continue;
            }
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
        config.catalog = Catalog::with(&own, named);
        Ok(config)
    }

    /// Notes a table with keys of the user's own, and warns of keys in it that mean nothing.
    fn note_table(&mut self, name: String, unknown: &[String], path: &Path) {
        self.others.push(name);
        let warning = |key: &String| format!("unknown key `{key}` in {}", path.display());
        self.warnings.extend(unknown.iter().map(warning));
    }

    /// Returns a string; blank counts as unset where the key's meaning is an address.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.values.get(key)?.as_str()
    }

    /// Returns a value as the file has it, for programs.
    pub fn json(&self, key: &str) -> Option<serde_json::Value> {
        serde_json::to_value(self.values.get(key)?).ok()
    }

    pub fn count(&self, key: &str) -> Option<u64> {
        self.values.get(key)?.as_integer().map(i64::unsigned_abs)
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        let value = self.values.get(key)?;
        value.as_float().or_else(|| Some(value.as_integer()? as f64))
    }

    pub fn money(&self, key: &str) -> Option<MicroUsd> {
        dollars(self.values.get(key)?)
    }

    /// Returns a setting of a provider's login; blank counts as unset.
    pub fn login(&self, provider: &str, key: &str) -> Option<&str> {
        let value = self.values.get("auth")?.get(provider)?.get(key)?.as_str()?.trim();
        (!value.is_empty()).then_some(value)
    }

    /// Returns the reference to a provider's key: its table's, else `api_key` where that is the provider of this file.
    pub fn key_reference(&self, provider: &str, default_provider: &str) -> Option<&str> {
        let of_table = self.key_references.get(provider).map(String::as_str);
        of_table.or_else(|| {
            let of_file = self.text("provider").unwrap_or(default_provider);
            self.text("api_key").filter(|_| of_file == provider)
        })
    }

    /// Returns a list of strings, each with its line; `None` if it is not set.
    pub fn list(&self, key: &str) -> Option<Vec<(&str, usize)>> {
        let value = self.values.get(key)?;
        let entries = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
        let entries = entries.iter().filter_map(Value::as_str);
        let lines = self.lines.get(key).into_iter().flatten().copied().chain(std::iter::repeat(1));
        Some(entries.zip(lines).collect())
    }

    /// Returns the hooks; `None` if there are none.
    pub fn hooks(&self) -> Option<hooks::HookTable> {
        let table = serde_json::to_value(self.values.get("hooks")?).ok()?;
        // It was checked when the file was read.
        hooks::parse_table(&table).ok()
    }

    /// Returns a table as the file has it.
    pub fn table(&self, key: &str) -> Option<&toml::Table> {
        self.values.get(key)?.as_table()
    }

    /// Lays values over it, each under its key's whole name.
    pub fn with(mut self, values: Vec<(String, Value)>) -> Result<Self, String> {
        for (name, value) in values {
            let Some(key) = KEYS.iter().find(|key| key.name == name) else {
                return Err(format!("unknown key `{name}`"));
            };
            check(key, &value)?;
            self.lines.remove(key.name);
            self.values.insert(key.name, value);
        }
        Ok(self)
    }

    /// Returns the names of all keys that are set.
    pub fn keys(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.values.keys().copied()
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        self.values.get(key)?.as_bool()
    }
}

/// Returns the file `config init` writes: every key, commented out.
pub fn template(profile: &Profile) -> String {
    let mut text = format!(
        "# Settings of {}. Every line is a comment that shows the default or an example.\n\
         # API keys are never read from this file: they come from the environment (ANTHROPIC_API_KEY),\n\
         # from the credential store (`auth login`), or from the vault (`vault set`), to which `vault:NAME` refers.\n",
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
    text.push_str(named_providers::EXAMPLE);
    text.push_str(mcp_servers::EXAMPLE);
    text
}

/// Returns the warning for a key that is not read (CFG-4, CFG-5).
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

    /// It is parsed once, unless it is another file by now.
    #[test]
    fn a_file_that_changes_is_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("config.toml");
        let reader = ConfigReader::default();
        let model = || reader.load(&path, "KEY_VAR").unwrap().text("model").map(str::to_owned);
        assert_eq!(model(), None);
        for name in ["a", "a", "b"] {
            std::fs::write(&path, format!("model = \"{name}\"\n")).unwrap();
            assert_eq!(model().as_deref(), Some(name));
        }
        std::fs::write(&path, "model = 5\n").unwrap();
        assert!(reader.load(&path, "KEY_VAR").is_err());
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
        assert!(parse("[permissions]\ndeny = \"a\"").is_err());
        let one = parse("[context]\nredact_keys = \"pin\"").unwrap();
        assert_eq!(one.list("context.redact_keys").unwrap()[0].0, "pin");
        assert_eq!(
            parse("[security]\nmod = 1\n").unwrap().warnings,
            ["unknown key `security.mod` in c.toml"]
        );
        assert_eq!(parse("permissions = 1").unwrap().warnings, ["unknown key `permissions` in c.toml"]);
    }
}
