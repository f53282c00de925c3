//! A custom command: a prompt in a file, called by its name (CUS-1).

use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::front_matter;

/// The size of the largest file.
pub const MAX_BYTES: u64 = 64 * 1024;

/// Who wrote a command or a skill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user, in the base directory or where the settings say.
    User,
    /// The project, approved by its content.
    Project,
    /// The program itself.
    BuiltIn,
}

impl Origin {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
            Self::BuiltIn => "built-in",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CustomCommand {
    /// What is typed behind the slash: `a:b` for the file `b` below the folder `a`.
    pub name: String,
    /// What it does, in one line.
    pub about: String,
    /// What it takes.
    pub args: String,
    /// The prompt, with places for arguments.
    pub template: String,
    /// Where it was read.
    pub file: PathBuf,
    /// Who wrote it.
    pub origin: Origin,
    /// The tools it may use, where it names some. It can only narrow what may run.
    pub allowed_tools: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct GeminiCommand {
    prompt: String,
    description: Option<String>,
}

/// Returns the name of a command from its file below the folder; `None` if it is no command's file.
pub fn name_of(relative: &Path) -> Option<String> {
    let extension = relative.extension()?.to_str()?;
    if !matches!(extension, "md" | "toml") {
        return None;
    }
    let stem = relative.with_extension("");
    let parts: Option<Vec<&str>> = stem.iter().map(|part| part.to_str()).collect();
    let parts = parts?;
    let fits = |part: &&str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
    };
    parts.iter().all(fits).then(|| parts.join(":"))
}

/// Reads a command's file. An error is the second half of a sentence.
pub fn read(name: String, file: &Path, bytes: &[u8], origin: Origin) -> Result<CustomCommand, String> {
    if bytes.len() as u64 > MAX_BYTES {
        return Err(format!("is larger than {MAX_BYTES} bytes"));
    }
    let text = std::str::from_utf8(bytes).map_err(|_| "is not UTF-8 text".to_owned())?;
    let text = front_matter::normalised(text);
    let command = |about: Option<String>, args: Option<String>, template: &str, tools| CustomCommand {
        about: about.unwrap_or_else(|| first_line(template)),
        args: args.unwrap_or_default(),
        template: template.trim().to_owned(),
        file: file.to_owned(),
        allowed_tools: tools,
        name: name.clone(),
        origin,
    };
    let command = if file.extension().is_some_and(|extension| extension == "toml") {
        let GeminiCommand { prompt, description } =
            toml::from_str(&text).map_err(|error| format!("cannot be read: {}", error.message()))?;
        command(description, None, &in_our_words(&prompt), None)
    } else {
        match front_matter::parse(&text) {
            Ok(document) => command(
                document.text("description"),
                document.text("argument-hint"),
                document.body,
                document.list("allowed-tools"),
            ),
            // A file without front matter is a prompt from its first line on.
            Err(front_matter::Malformed::Missing) => command(None, None, &text, None),
            Err(malformed) => return Err(malformed.as_str().to_owned()),
        }
    };
    match command.template.is_empty() {
        true => Err("says nothing".to_owned()),
        false => Ok(command),
    }
}

/// Returns a prompt of Gemini CLI with its `!{command}` and `@{file}` as Markdown has them. Braces inside come in pairs.
fn in_our_words(prompt: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(prompt.len()), prompt);
    while let Some(at) = rest.find("!{").into_iter().chain(rest.find("@{")).min() {
        let (sign, inside) = (&rest[at..=at], &rest[at + 2..]);
        let fits = |end: &usize| {
            let inside = &inside[..*end];
            let blank = sign == "@" && inside.contains(char::is_whitespace);
            !inside.trim().is_empty() && !inside.contains(['`', '\n']) && !blank
        };
        out.push_str(&rest[..at]);
        rest = match (closing(inside).filter(fits), sign) {
            (Some(end), "!") => {
                out.push_str(&format!("!`{}`", inside[..end].trim()));
                &inside[end + 1..]
            }
            (Some(end), _) => {
                out.push_str(&format!("@{}", &inside[..end]));
                &inside[end + 1..]
            }
            (None, _) => {
                out.push_str(&rest[at..at + 2]);
                inside
            }
        };
    }
    out + rest
}

/// Returns where the brace stands that ends a text.
fn closing(text: &str) -> Option<usize> {
    let mut open = 0;
    for (at, c) in text.char_indices() {
        match c {
            '{' => open += 1,
            '}' if open == 0 => return Some(at),
            '}' => open -= 1,
            _ => {}
        }
    }
    None
}

/// Returns the first line of a text that says something, without the signs of a heading.
fn first_line(text: &str) -> String {
    let line = text.lines().map(|line| line.trim_start_matches('#').trim()).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    match line.char_indices().nth(100) {
        Some((at, _)) => format!("{}...", line[..at].trim_end()),
        None => line.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(file: &str, text: &str) -> String {
        match read("n".into(), Path::new(file), text.as_bytes(), Origin::User) {
            Ok(CustomCommand { about, args, template, allowed_tools, .. }) => {
                format!("{about} | {args} | {template} | {allowed_tools:?}")
            }
            Err(why) => why,
        }
    }

    #[test]
    fn both_formats() {
        assert_eq!(
            check(
                "a.md",
                "---\ndescription: Fix an issue\nargument-hint: [number]\nallowed-tools: Bash(git:*)\n---\n\nFix $1.\n"
            ),
            "Fix an issue | [number] | Fix $1. | Some([\"Bash(git:*)\"])"
        );
        assert_eq!(check("a.md", "# Review\n\nLook at it.\n"), "Review |  | # Review\n\nLook at it. | None");
        assert_eq!(
            check("a.toml", "description = \"Explain\"\nprompt = \"\"\"\nExplain {{args}}\n\"\"\"\n"),
            "Explain |  | Explain {{args}} | None"
        );
        let gemini = |prompt: &str| check("a.toml", &format!("description = \"d\"\nprompt = \"{prompt}\"\n"));
        assert_eq!(
            gemini("For !{git log | awk '{print $1}'} in @{docs/a.md}: !{ grep {{args}} . }, {{args}}"),
            "d |  | For !`git log | awk '{print $1}'` in @docs/a.md: !`grep {{args}} .`, {{args}} | None"
        );
        let text = "!{a`b} @{a b} !{ } user@{host !{open";
        assert_eq!(gemini(text), format!("d |  | {text} | None"));
        assert_eq!(check("a.toml", "description = \"Explain\"\n"), "cannot be read: missing field `prompt`");
        assert_eq!(check("a.md", "---\ndescription: x\n---\n \n"), "says nothing");
    }

    #[test]
    fn names_from_paths() {
        let name = |path: &str| name_of(Path::new(path));
        assert_eq!(name("fix.md").as_deref(), Some("fix"));
        assert_eq!(name("git/commit.toml").as_deref(), Some("git:commit"));
        assert_eq!(name("a/b/c.md").as_deref(), Some("a:b:c"));
        assert_eq!([name("README.txt"), name(".hidden.md"), name("a b.md")], [const { None }; 3]);
    }
}
