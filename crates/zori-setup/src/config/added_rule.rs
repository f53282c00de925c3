//! Adds an allow rule to the user's config file on their word (DEC-2), and leaves everything else in it as it is,
//! comments and order included.

use std::io;
use std::path::Path;

use toml::Value;
use toml::de::{DeTable, DeValue};
use zori_core::cancel::Cancel;
use zori_tools::atomic::{AttributeSource, StagedFile};
use zori_tools::open_dir::{NameInDir, OpenError};
use zori_tools::target::Target;

use super::Config;

const KEY: &str = "permissions.allow";

/// Adds the rule, unless it is there already. An error is the second half of a sentence; then the file is as it was.
pub fn add(path: &Path, rule: &str) -> Result<(), String> {
    change(path, |text| with_rule(text, rule, path))
}

/// Replaces the text of a config file by what `how` makes of it, in one step; `None` leaves it as it is.
pub fn change(path: &Path, how: impl FnOnce(&str) -> Result<Option<String>, String>) -> Result<(), String> {
    let target = Target::found(path).map_err(|error| error.to_string())?;
    let old = match std::fs::read_to_string(path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error.to_string()),
    };
    let text = old.as_deref().unwrap_or_default();
    let Some(new) = how(text)? else { return Ok(()) };
    let write = || -> Result<(), OpenError> {
        let slot = NameInDir::made_at(&target.place, &mut Vec::new())?;
        let meta = if old.is_some() { Some(slot.meta()?) } else { None };
        let like = meta.as_ref().map(|meta| AttributeSource { meta, file: None });
        let staged =
            StagedFile::new(&slot, new.as_bytes(), like, &Cancel::new()).map_err(io::Error::other)?;
        if meta.is_some() {
            staged.replace()?
        } else {
            staged.create()?
        }
        Ok(())
    };
    write().map_err(|error| error.to_string())
}

/// Returns the text with the rule added; `None` if it has the rule. Parses the result to check that no other setting
/// changed.
fn with_rule(text: &str, rule: &str, path: &Path) -> Result<Option<String>, String> {
    let read = |text: &str| Config::parse(text.as_bytes(), path, "").map_err(|error| error.message);
    let mut before = read(text)?.values;
    let mut rules = match before.remove(KEY) {
        Some(Value::Array(rules)) => rules,
        _ => Vec::new(),
    };
    if rules.iter().any(|known| known.as_str() == Some(rule)) {
        return Ok(None);
    }
    let quoted = serde_json::to_string(rule).expect("a string is JSON, and TOML writes it alike");
    let (at, piece) = insertion(text, &quoted);
    let new = format!("{}{piece}{}", &text[..at], &text[at..]);
    rules.push(Value::String(rule.to_owned()));
    let mut after = read(&new).map(|config| config.values).unwrap_or_default();
    if after.remove(KEY) == Some(Value::Array(rules)) && after == before {
        Ok(Some(new))
    } else {
        Err(format!("it is written in a way that cannot be added to; put {quoted} into `{KEY}` yourself"))
    }
}

/// Returns the byte offset at which to insert, and the text.
fn insertion(text: &str, quoted: &str) -> (usize, String) {
    let table = DeTable::parse_recoverable(text).0;
    let table = table.get_ref().get("permissions").map(|value| value.get_ref());
    let Some(DeValue::Table(permissions)) = table else {
        let gap = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        return (text.len(), format!("{gap}\n[permissions]\nallow = [{quoted}]\n"));
    };
    if let Some(allow) = permissions.get("allow")
        && let DeValue::Array(entries) = allow.get_ref()
    {
        return match entries.last() {
            Some(last) => (last.span().end, format!(", {quoted}")),
            None => (allow.span().start + 1, quoted.to_owned()),
        };
    }
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        start += line.len();
        let line = line.split('#').next().unwrap_or_default().trim();
        if line == "[permissions]" {
            return (start, format!("allow = [{quoted}]\n"));
        }
    }
    (0, format!("permissions.allow = [{quoted}]\n"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn with(text: &str) -> String {
        match with_rule(text, "Bash(git \"x\")", Path::new("/c")) {
            Ok(new) => new.unwrap_or_else(|| "as it was".to_owned()),
            Err(error) => error,
        }
    }

    /// However the file is written, only the rule is new.
    #[test]
    fn everything_else_stays() {
        let rule = r#""Bash(git \"x\")""#;
        for (text, expected) in [
            ("", format!("\n[permissions]\nallow = [{rule}]\n")),
            ("# mine\nmodel = \"m\"", format!("# mine\nmodel = \"m\"\n\n[permissions]\nallow = [{rule}]\n")),
            ("[permissions]\nallow = []\n", format!("[permissions]\nallow = [{rule}]\n")),
            (
                "[permissions] # rules\n# the first\nallow = [ \"Bash(ls)\", # why\n]\ndeny = [\"Read\"]\n",
                format!(
                    "[permissions] # rules\n# the first\nallow = [ \"Bash(ls)\", {rule}, # why\n]\ndeny = [\"Read\"]\n"
                ),
            ),
            (
                "[permissions]\ndeny = [\"Read\"]\n[security]\nmode = \"plan\"\n",
                format!("[permissions]\nallow = [{rule}]\ndeny = [\"Read\"]\n[security]\nmode = \"plan\"\n"),
            ),
            (
                "permissions.deny = [\"Read\"]\n",
                format!("permissions.allow = [{rule}]\npermissions.deny = [\"Read\"]\n"),
            ),
            ("permissions.allow = ['Bash(git \"x\")']\n", "as it was".to_owned()),
            (
                "permissions = { deny = [] }\n",
                format!(
                    "it is written in a way that cannot be added to; put {rule} into `permissions.allow` yourself"
                ),
            ),
        ] {
            assert_eq!(with(text), expected, "{text}");
        }
        assert!(with("model = \n").starts_with("/c:1:"), "{}", with("model = \n"));
    }

    #[test]
    fn the_file_keeps_its_mode_and_a_link_stays_one() {
        let dir = tempfile::tempdir().unwrap();
        let (real, link) = (dir.path().join("dotfiles.toml"), dir.path().join("config.toml"));
        std::fs::write(&real, "# mine\n").unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o600)).unwrap();
        symlink("dotfiles.toml", &link).unwrap();
        add(&link, "Bash(ls)").unwrap();
        add(&link, "Bash(ls)").unwrap();
        assert_eq!(
            std::fs::read_to_string(&real).unwrap(),
            "# mine\n\n[permissions]\nallow = [\"Bash(ls)\"]\n"
        );
        assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(link.is_symlink());
        let new = dir.path().join("base/config.toml");
        add(&new, "Bash(ls)").unwrap();
        assert_eq!(std::fs::read_to_string(&new).unwrap(), "\n[permissions]\nallow = [\"Bash(ls)\"]\n");
    }
}
