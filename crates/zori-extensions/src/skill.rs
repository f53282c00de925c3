//! A skill: a folder with a file of that name, whose front matter says what it is for (SK-1).

use std::path::{Path, PathBuf};

use crate::command::Origin;
use crate::front_matter;

/// The file that makes a folder a skill.
pub const FILE: &str = "SKILL.md";
/// The size of the largest one.
pub const MAX_BYTES: u64 = 256 * 1024;
/// How much of it is read when a session begins.
pub const HEAD_BYTES: u64 = 8 * 1024;
/// The longest description that its format allows.
const MAX_DESCRIPTION: usize = 1024;
/// How many phrases may trigger it.
const MAX_TRIGGERS: usize = 20;

/// Keys of the format, and those that other programs add; any other is said once.
const KEYS: &[&str] = &[
    "name",
    "description",
    "category",
    "license",
    "compatibility",
    "allowed-tools",
    "metadata",
    "triggers",
    "version",
    "model",
    "disable-model-invocation",
    "user-invocable",
    "argument-hint",
    // What Claude Code has besides, for what there is none of here.
    "agent",
    "arguments",
    "context",
    "effort",
    "hooks",
    "paths",
    "shell",
    "when_to_use",
    "x-requires",
    "x-requires-secrets",
    "x-source-url",
    "x-git-hash",
];

/// A skill, by what its front matter says. Its body is read when it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skill {
    /// What it is called.
    pub name: String,
    /// What it is for, and when to use it.
    pub description: String,
    /// Phrases that mean it.
    pub triggers: Vec<String>,
    pub folder: PathBuf,
    /// Who wrote it.
    pub origin: Origin,
    /// Parts of the program that it cannot do without.
    pub requires: Vec<String>,
    /// Secrets that it cannot do without, by name.
    pub secrets: Vec<String>,
    /// Whether only a person may use it.
    pub by_person_only: bool,
    /// What it takes behind its name.
    pub args: String,
    /// What is odd about it, each the second half of a sentence.
    pub remarks: Vec<String>,
}

impl Skill {
    /// Returns the file that describes it.
    pub fn file(&self) -> PathBuf {
        self.folder.join(FILE)
    }
}

/// Reads a skill from its file, or the first bytes of it. `folder` is where it is. An error is the second half of a sentence.
pub fn read(folder: &Path, bytes: &[u8], origin: Origin) -> Result<Skill, String> {
    let text = lossless(bytes)?;
    let text = front_matter::normalised(text);
    let document = front_matter::parse(&text).map_err(|malformed| malformed.as_str().to_owned())?;
    let folder_name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut remarks = Vec::new();
    let name = document.text("name").unwrap_or_else(|| folder_name.clone());
    if name != folder_name {
        remarks.push(format!("has the name `{name}`, and its folder is `{folder_name}`"));
    }
    if !is_name(&name) {
        remarks.push("has a name that is not 1 to 64 of a-z, 0-9 and `-`".to_owned());
    }
    if name.is_empty()
        || name.len() > 128
        || name.chars().any(|c| c.is_control() || c.is_whitespace() || c == '/')
    {
        return Err("has a name that nobody could type".to_owned());
    }
    let description = document.text("description").ok_or("has no `description`")?;
    let description = one_line(&description);
    if description.chars().count() > MAX_DESCRIPTION {
        remarks.push(format!("has a description of more than {MAX_DESCRIPTION} characters"));
    }
    let unknown: Vec<_> =
        document.keys().filter(|key| !KEYS.contains(key)).map(|key| format!("`{key}`")).collect();
    if !unknown.is_empty() {
        remarks.push(format!("has keys that mean nothing here: {}", unknown.join(", ")));
    }
    let list = |key: &str| document.list(key).unwrap_or_default();
    Ok(Skill {
        triggers: list("triggers").into_iter().take(MAX_TRIGGERS).collect(),
        requires: list("x-requires"),
        secrets: list("x-requires-secrets"),
        by_person_only: document.flag("disable-model-invocation"),
        args: document.text("argument-hint").unwrap_or_default(),
        folder: folder.to_owned(),
        description,
        remarks,
        origin,
        name,
    })
}

/// Returns what stands behind a skill's front matter.
pub fn body(bytes: &[u8]) -> Result<String, String> {
    let text = lossless(bytes)?;
    let text = front_matter::normalised(text);
    match front_matter::parse(&text) {
        Ok(document) => Ok(document.body.trim().to_owned()),
        Err(malformed) => Err(malformed.as_str().to_owned()),
    }
}

/// Returns the bytes as text; a character that the end of the read part cut in two is left out.
fn lossless(bytes: &[u8]) -> Result<&str, String> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text),
        Err(error) if error.error_len().is_none() => {
            Ok(std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default())
        }
        Err(_) => Err("is not UTF-8 text".to_owned()),
    }
}

fn is_name(name: &str) -> bool {
    let fits = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    (1..=64).contains(&name.len()) && name.bytes().all(fits)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> String {
        match read(Path::new("/s/pdf"), text.as_bytes(), Origin::User) {
            Ok(Skill { name, description, triggers, requires, secrets, remarks, .. }) => {
                format!(
                    "{name} | {description} | {triggers:?} {requires:?} {secrets:?} | {}",
                    remarks.join("; ")
                )
            }
            Err(why) => why,
        }
    }

    #[test]
    fn as_the_format_has_it() {
        assert_eq!(
            check("---\nname: pdf\ndescription: Fill forms: use it for PDFs.\nlicense: MIT\n---\n# PDF\n"),
            "pdf | Fill forms: use it for PDFs. | [] [] [] | "
        );
        assert_eq!(
            check(
                "---\ndescription: >\n  Fill\n  forms\ntriggers: [fill a form, pdf]\nx-requires: [code-index]\nx-requires-secrets:\n  - TOKEN\n---\n"
            ),
            "pdf | Fill forms | [\"fill a form\", \"pdf\"] [\"code-index\"] [\"TOKEN\"] | "
        );
    }

    /// SK-1: what is merely odd is said, and the skill loads.
    #[test]
    fn odd_and_unusable() {
        assert_eq!(
            check("---\nname: Other\ndescription: d\ncolour: red\n---\n"),
            "Other | d | [] [] [] | has the name `Other`, and its folder is `pdf`; has a name that is not 1 to 64 of a-z, 0-9 and `-`; \
             has keys that mean nothing here: `colour`"
        );
        for (text, why) in [
            ("# PDF\n", "has no front matter: its first line must be `---`"),
            ("---\nname: pdf\n---\n", "has no `description`"),
            ("---\nname: a b\ndescription: d\n---\n", "has a name that nobody could type"),
        ] {
            assert_eq!(check(text), why);
        }
        assert_eq!(read(Path::new("/s/pdf"), b"\xff\xfe", Origin::User), Err("is not UTF-8 text".to_owned()));
        // The first bytes of a long file end anywhere.
        let cut = "---\nname: pdf\ndescription: d\n---\nbody \u{e9}".as_bytes();
        assert!(read(Path::new("/s/pdf"), &cut[..cut.len() - 1], Origin::User).is_ok());
    }

    #[test]
    fn the_body_alone() {
        assert_eq!(body(b"---\ndescription: d\n---\n\n# PDF\n\nText\n").unwrap(), "# PDF\n\nText");
    }
}
