//! A sub-agent in a file: front matter between two lines of dashes, then its prompt.
//!
//! The front matter of such files is YAML in name only: descriptions hold colons and quotes as they please. So it is read by
//! lines, and only what these files use of YAML is understood: `key: value`, quotes, lists, and blocks after `|` or `>`.

use std::path::Path;

use zori_core::provider::Effort;
use zori_serve::claude::agents::bad_name;

use super::AgentDescription;

/// Fields by which other programs restrict or extend a sub-agent, and which zori does not support.
const UNSUPPORTED_FIELDS: &[&str] =
    &["permissionMode", "maxTurns", "hooks", "mcpServers", "skills", "isolation"];

/// Reads a file. An error is the second half of a sentence.
pub fn read(path: &Path, bytes: &[u8]) -> Result<AgentDescription, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text).replace("\r\n", "\n");
    let rest = text.strip_prefix("---\n").ok_or("has no front matter: its first line must be `---`")?;
    let (matter, prompt) = match rest.split_once("\n---\n") {
        Some(parts) => parts,
        None => (rest.strip_suffix("\n---").ok_or("has front matter without an end: a line `---`")?, ""),
    };
    let fields = fields(matter);
    let field = |key: &str| fields.iter().find(|(name, _)| *name == key).map(|(_, value)| value);
    let text = |key: &str| field(key).map(Value::text).filter(|text| !text.is_empty());
    let name = match text("name") {
        Some(name) => name,
        None => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    };
    if let Some(why) = bad_name(&name) {
        return Err(format!("cannot name a sub-agent `{name}`: {why}"));
    }
    let prompt = prompt.trim().to_owned();
    if prompt.is_empty() {
        return Err("says nothing behind its front matter".into());
    }
    let effort = match text("effort").as_deref() {
        None => None,
        Some("xhigh") => Some(Effort::Max),
        Some(level) => {
            Some(Effort::by_name(level).ok_or("has an `effort` that is not low, medium, high or max")?)
        }
    };
    Ok(AgentDescription {
        name,
        about: text("description").ok_or("has no `description`")?,
        prompt,
        // Present and empty is none at all.
        tools: field("tools").map(Value::names),
        without: field("disallowedTools").map(Value::names).unwrap_or_default(),
        model: text("model"),
        effort,
        unheard: UNSUPPORTED_FIELDS.iter().copied().filter(|key| field(key).is_some()).collect(),
        file: Some(path.to_owned()),
    })
}

/// The value of a key: the rest of its line, and the indented lines or list items below it.
struct Value<'a> {
    first: &'a str,
    below: Vec<&'a str>,
}

fn fields(matter: &str) -> Vec<(&str, Value<'_>)> {
    let mut fields: Vec<(&str, Value<'_>)> = Vec::new();
    for line in matter.lines() {
        let indented = line.starts_with([' ', '\t']) || line.starts_with("- ") || line.trim().is_empty();
        match (line.split_once(':'), fields.last_mut()) {
            (_, Some((_, value))) if indented => value.below.push(line),
            (Some((key, first)), _) if !indented => {
                fields.push((key.trim(), Value { first: first.trim(), below: Vec::new() }));
            }
            _ => {}
        }
    }
    fields
}

impl Value<'_> {
    fn text(&self) -> String {
        let below = || self.below.iter().map(|line| line.trim());
        match self.first.trim_end_matches(['+', '-']) {
            "|" => below().collect::<Vec<_>>().join("\n").trim().to_owned(),
            ">" | "" => below().filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" "),
            _ => {
                let all: Vec<_> =
                    std::iter::once(self.first).chain(below()).filter(|line| !line.is_empty()).collect();
                unquoted(&all.join(" ")).to_owned()
            }
        }
    }

    fn names(&self) -> Vec<String> {
        let below = self.below.iter().map(|line| line.trim().trim_start_matches("- "));
        let first = self.first.trim_start_matches('[').trim_end_matches(']');
        let words = first.split(',').chain(below.flat_map(|line| line.split(',')));
        let words = words.map(|word| unquoted(word.trim()).to_owned());
        words.filter(|word| !word.is_empty()).collect()
    }
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        if let Some(inner) = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote)) {
            return inner;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        match read(Path::new("dir/my-agent.md"), text.as_bytes()) {
            Ok(AgentDescription { name, about, prompt, tools, without, model, effort, unheard, .. }) => {
                format!(
                    "{name} | {about} | {prompt} | {tools:?} {without:?} {model:?} {effort:?} {unheard:?}"
                )
            }
            Err(why) => why,
        }
    }

    #[test]
    fn as_people_write_them() {
        assert_eq!(
            check(
                "---\nname: reviewer\ndescription: Use it: after \"changes\".\ntools: Read, Grep\nmodel: haiku\ncolor: red\n---\n\nReview.\n"
            ),
            r#"reviewer | Use it: after "changes". | Review. | Some(["Read", "Grep"]) [] Some("haiku") None []"#
        );
        assert_eq!(
            check(
                "---\r\ndescription: 'quoted'\r\ntools:\r\n  - Read\r\n  - \"Bash\"\r\ndisallowedTools: [Write, Edit]\r\neffort: low\r\n---\r\nGo.\r\n---\r\nOn."
            ),
            "my-agent | quoted | Go.\n---\nOn. | Some([\"Read\", \"Bash\"]) [\"Write\", \"Edit\"] None Some(Low) []"
        );
        assert_eq!(
            check("---\ndescription: >\n  first\n  second\ntools:\n---\nGo."),
            "my-agent | first second | Go. | Some([]) [] None None []"
        );
        assert_eq!(
            check("---\ndescription: |\n  first\n  second\npermissionMode: plan\n---\nGo."),
            "my-agent | first\nsecond | Go. | None [] None None [\"permissionMode\"]"
        );
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("Go.", "has no front matter: its first line must be `---`"),
            ("---\nname: a\nGo.", "has front matter without an end: a line `---`"),
            ("---\nname: a\n---\nGo.", "has no `description`"),
            ("---\ndescription: d\n---\n \n", "says nothing behind its front matter"),
            (
                "---\ndescription: d\neffort: x\n---\nGo.",
                "has an `effort` that is not low, medium, high or max",
            ),
            (
                "---\nname: a b\ndescription: d\n---\nGo.",
                "cannot name a sub-agent `a b`: a name has 1 to 64 letters, digits, `-`, `_`, `.` or `:`",
            ),
        ] {
            assert_eq!(check(text), why, "{text:?}");
        }
        assert_eq!(read(Path::new("a.md"), b"\xff"), Err("is not UTF-8 text".to_owned()));
    }
}
