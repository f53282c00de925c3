//! Adds and removes a table `[mcp.servers.NAME]` of the user's config file on their word, and leaves everything else in it as it is.

use std::path::Path;

use serde_json::{Map, Value};

use super::{Config, added_rule};

/// Adds the table of a server. An error is the second half of a sentence; then the file is as it was.
pub fn add(path: &Path, name: &str, table: &Map<String, Value>) -> Result<(), String> {
    added_rule::change(path, |text| with_table(text, name, table, path).map(Some))
}

/// Removes the table of a server.
pub fn remove(path: &Path, name: &str) -> Result<(), String> {
    added_rule::change(path, |text| without_table(text, name, path).map(Some))
}

fn read(text: &str, path: &Path) -> Result<Config, String> {
    Config::parse(text.as_bytes(), path, "").map_err(|error| error.message)
}

/// Returns the text with the table of a server added.
pub fn with_table(text: &str, name: &str, table: &Map<String, Value>, path: &Path) -> Result<String, String> {
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let blank = if text.is_empty() { "" } else { "\n" };
    let mut new = format!("{text}{gap}{blank}[mcp.servers.{name}]\n");
    for (key, value) in table {
        new.push_str(&format!("{key} = {}\n", toml_value(value)));
    }
    let mut wanted = read(text, path)?.mcp_servers.unwrap_or_default();
    wanted.insert(name.to_owned(), Value::Object(table.clone()));
    check(text, new, &wanted, path, || format!("write `[mcp.servers.{name}]` yourself"))
}

/// Returns the text without the line that switches a server off.
pub fn switched_on(text: &str, name: &str, path: &Path) -> Result<String, String> {
    let is_off = |line: &str| {
        let line = line.split('#').next().unwrap_or_default();
        line.split_once('=').is_some_and(|(key, value)| (key.trim(), value.trim()) == ("enabled", "false"))
    };
    let (mut new, mut inside) = (String::new(), false);
    for line in text.split_inclusive('\n') {
        inside = table_head(line).map_or(inside, |head| head == format!("mcp.servers.{name}"));
        if !(inside && is_off(line)) {
            new.push_str(line);
        }
    }
    let mut wanted = read(text, path)?.mcp_servers.unwrap_or_default();
    if let Some(Value::Object(table)) = wanted.get_mut(name) {
        table.remove("enabled");
    }
    check(text, new, &wanted, path, || format!("remove `mcp.servers.{name}.enabled` yourself"))
}

/// Returns the name of the table that begins in a line.
fn table_head(line: &str) -> Option<&str> {
    let head = line.split('#').next().unwrap_or_default().trim();
    head.strip_prefix('[').and_then(|head| head.strip_suffix(']')).map(str::trim)
}

fn without_table(text: &str, name: &str, path: &Path) -> Result<String, String> {
    let own = |line: &str| {
        let table = format!("mcp.servers.{name}");
        table_head(line).map(|head| head == table || head.starts_with(&format!("{table}.")))
    };
    let (mut new, mut inside) = (String::new(), false);
    for line in text.split_inclusive('\n') {
        inside = own(line).unwrap_or(inside);
        if !inside {
            new.push_str(line);
        }
    }
    let mut wanted = read(text, path)?.mcp_servers.unwrap_or_default();
    wanted.remove(name);
    check(text, new, &wanted, path, || format!("remove `mcp.servers.{name}` yourself"))
}

/// Returns the new text if it says what is wanted and nothing else changed.
fn check(
    old: &str,
    new: String,
    wanted: &Map<String, Value>,
    path: &Path,
    otherwise: impl Fn() -> String,
) -> Result<String, String> {
    let stuck = || format!("it is written in a way that cannot be changed; {}", otherwise());
    let (before, after) = (read(old, path)?, read(&new, path).map_err(|_| stuck())?);
    let same = after.values == before.values && after.mcp_servers.unwrap_or_default() == *wanted;
    if same { Ok(new) } else { Err(stuck()) }
}

/// Writes a value as TOML does.
fn toml_value(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            format!("[{}]", values.iter().map(toml_value).collect::<Vec<_>>().join(", "))
        }
        Value::Object(pairs) => {
            let key = |name: &str| Value::from(name).to_string();
            let pair = |(name, value): (&String, &Value)| format!("{} = {}", key(name), toml_value(value));
            format!("{{ {} }}", pairs.iter().map(pair).collect::<Vec<_>>().join(", "))
        }
        // TOML writes text as JSON does, as far as what is read back is the same.
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_table_comes_and_goes() {
        let table = json!({"command": "uvx", "args": ["a \"b\""], "env": {"X-Y": "1"}});
        let path = Path::new("config.toml");
        let old = "# mine\nmodel = \"m\" # keep\n\n[ui]\nplain = true\n";
        let with = with_table(old, "time", table.as_object().unwrap(), path).unwrap();
        assert_eq!(
            with,
            format!(
                "{old}\n[mcp.servers.time]\ncommand = \"uvx\"\nargs = [\"a \\\"b\\\"\"]\nenv = {{ \"X-Y\" = \"1\" }}\n"
            )
        );
        assert_eq!(without_table(&with, "time", path).unwrap(), format!("{old}\n"));
        let off = with.replace("[mcp.servers.time]", "[mcp.servers.time] # off\nenabled = false # for now");
        assert_eq!(switched_on(&off, "time", path).unwrap(), with.replace("time]", "time] # off"));
        let inline = "mcp.servers.time = { command = \"a\", enabled = false }\n";
        assert!(switched_on(inline, "time", path).unwrap_err().contains("remove `mcp.servers.time.enabled`"));
        let inline = "mcp.servers.time = { command = \"a\" }\n";
        assert!(
            without_table(inline, "time", path).unwrap_err().contains("remove `mcp.servers.time` yourself")
        );
    }
}
