//! A sub-agent in a file: front matter, which `zori-extensions` reads, then its prompt.

use std::path::Path;

use zori_core::provider::Effort;
use zori_extensions::front_matter;
use zori_serve::claude::agents::bad_name;

use super::AgentDescription;

/// Fields by which other programs restrict or extend a sub-agent, and which zori does not support.
const UNSUPPORTED_FIELDS: &[&str] =
    &["permissionMode", "maxTurns", "hooks", "mcpServers", "skills", "isolation"];

/// Reads a file. An error is the second half of a sentence.
pub fn read(path: &Path, bytes: &[u8]) -> Result<AgentDescription, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    let normalised = front_matter::normalised(text);
    let document = front_matter::parse(&normalised).map_err(|malformed| malformed.as_str().to_owned())?;
    let text = |key: &str| document.text(key);
    let name = match text("name") {
        Some(name) => name,
        None => path.file_stem().unwrap_or_default().to_string_lossy().into_owned(),
    };
    if let Some(why) = bad_name(&name) {
        return Err(format!("cannot name a sub-agent `{name}`: {why}"));
    }
    let prompt = document.body.trim().to_owned();
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
        tools: document.list("tools"),
        without: document.list("disallowedTools").unwrap_or_default(),
        model: text("model"),
        effort,
        unheard: UNSUPPORTED_FIELDS
            .iter()
            .copied()
            .filter(|key| document.keys().any(|known| known == *key))
            .collect(),
        file: Some(path.to_owned()),
    })
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
            check("---\ndescription: d\ntools: Read, Bash(git add:*, git diff:*)\n# not a tool\n---\nGo."),
            "my-agent | d | Go. | Some([\"Read\", \"Bash(git add:*, git diff:*)\"]) [] None None []"
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
