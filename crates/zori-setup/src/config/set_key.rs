//! Sets one key of the user's config file on their word, and leaves everything else in it as it is, comments and order included.

use std::path::Path;

use toml::de::{DeTable, DeValue};

use super::{Config, added_rule};

/// Sets `key` of a table (`ui`, `ui.keymap`) to a value as TOML writes it. An error is the second half of a sentence; then the file is as it was.
pub fn set(path: &Path, table: &str, key: &str, value: &str) -> Result<(), String> {
    added_rule::change(path, |text| with_key(text, table, key, value, path))
}

/// Returns the text with the key set. Parses the result to check that no other setting changed.
pub fn with_key(
    text: &str,
    table: &str,
    key: &str,
    value: &str,
    path: &Path,
) -> Result<Option<String>, String> {
    let read = |text: &str| Config::parse(text.as_bytes(), path, "").map_err(|error| error.message);
    let name = format!("{table}.{key}");
    // A table of its own is one setting.
    let whole = if table == "ui.keymap" { table } else { name.as_str() };
    let mut before = read(text)?.values;
    before.remove(whole);
    let new = replaced(text, table, key, value);
    let mut after = read(&new).map_err(|_| stuck(&name, value))?.values;
    match after.remove(whole).is_some() && after == before {
        true => Ok(Some(new).filter(|new| new != text)),
        false => Err(stuck(&name, value)),
    }
}

fn stuck(name: &str, value: &str) -> String {
    format!("it is written in a way that cannot be added to; write `{name} = {value}` yourself")
}

fn replaced(text: &str, table: &str, key: &str, value: &str) -> String {
    let parsed = DeTable::parse_recoverable(text).0;
    let mut found = Some(parsed.get_ref());
    for part in table.split('.') {
        found = found.and_then(|table| match table.get(part).map(|value| value.get_ref()) {
            Some(DeValue::Table(inner)) => Some(inner),
            _ => None,
        });
    }
    if let Some(old) = found.and_then(|table| table.get(key)) {
        let span = old.span();
        return format!("{}{value}{}", &text[..span.start], &text[span.end..]);
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        start += line.len();
        if line.split('#').next().unwrap_or_default().trim() == format!("[{table}]") {
            let gap = if line.ends_with('\n') { "" } else { "\n" };
            return format!("{}{gap}{key} = {value}\n{}", &text[..start], &text[start..]);
        }
    }
    let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
    let blank = if text.is_empty() { "" } else { "\n" };
    format!("{text}{gap}{blank}[{table}]\n{key} = {value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(text: &str, table: &str, key: &str, value: &str) -> Result<Option<String>, String> {
        with_key(text, table, key, value, Path::new("config.toml"))
    }

    #[test]
    fn one_key_and_nothing_else() {
        let theme = |text: &str| set(text, "ui", "theme", "\"Mac One\"");
        assert_eq!(theme("").unwrap().unwrap(), "[ui]\ntheme = \"Mac One\"\n");
        assert_eq!(
            theme("# mine\n[ui] # look\nplain = false\n").unwrap().unwrap(),
            "# mine\n[ui] # look\ntheme = \"Mac One\"\nplain = false\n"
        );
        assert_eq!(
            theme("ui.theme = \"Studio Dark\" # old\nmax_tokens = 5\n").unwrap().unwrap(),
            "ui.theme = \"Mac One\" # old\nmax_tokens = 5\n"
        );
        assert_eq!(theme("[ui]\ntheme = \"Mac One\"\n").unwrap(), None, "it is so already");
        assert!(theme("ui = { plain = true }\n").unwrap_err().contains("write `ui.theme"));
        let keys = |text: &str| set(text, "ui.keymap", "help", "[\"f2\"]");
        assert_eq!(
            keys("[ui.keymap]\nup = [\"f3\"]").unwrap().unwrap(),
            "[ui.keymap]\nhelp = [\"f2\"]\nup = [\"f3\"]"
        );
        assert_eq!(
            keys("[ui]\nkeymap = { help = [\"f1\"] }\n").unwrap().unwrap(),
            "[ui]\nkeymap = { help = [\"f2\"] }\n"
        );
    }
}
