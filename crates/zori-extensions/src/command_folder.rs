//! Folders of custom commands: the user's own, and a project's, of which only plain files count (CUS-1).

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use crate::command::{self, CustomCommand, MAX_BYTES, Origin};
use crate::plain_dir::PlainDir;

/// The most files that one folder may contribute.
const MAX_FILES: usize = 500;
/// How deep folders may lie in each other.
const MAX_DEPTH: usize = 3;
/// Where a project's commands are; of two of one name the first counts.
const PROJECT: &[&[&str]] = &[&[".zori", "commands"], &[".claude", "commands"]];

/// What a folder has.
#[derive(Debug, Default)]
pub struct FoundCommands {
    /// The commands, by name; the first of a name counts.
    pub commands: Vec<CustomCommand>,
    /// A warning for each file that is skipped.
    pub warnings: Vec<String>,
}

impl FoundCommands {
    fn add(&mut self, file: &Path, read: Result<CustomCommand, String>) {
        match read {
            Ok(command) if self.commands.iter().any(|known| known.name == command.name) => {}
            Ok(command) => self.commands.push(command),
            Err(why) => self.warnings.push(format!("{} {why}; it is no command", file.display())),
        }
    }

    /// Adds what another folder has, where this one has nothing of the name.
    pub fn extend(&mut self, other: Self) {
        for command in other.commands {
            let file = command.file.clone();
            self.add(&file, Ok(command));
        }
        self.warnings.extend(other.warnings);
    }
}

/// Reads the user's folder; nothing where there is none.
pub fn of_user(folder: &Path) -> FoundCommands {
    let (mut found, mut files) = (FoundCommands::default(), BTreeSet::new());
    list(folder, Path::new(""), 0, &mut files, &mut found.warnings);
    for relative in files.into_iter().take(MAX_FILES) {
        let Some(name) = command::name_of(&relative) else { continue };
        let file = folder.join(&relative);
        let read = read_bounded(&file).and_then(|bytes| command::read(name, &file, &bytes, Origin::User));
        found.add(&file, read);
    }
    found
}

/// Lists the files of a folder and of those in it, sorted.
fn list(
    folder: &Path,
    below: &Path,
    depth: usize,
    files: &mut BTreeSet<PathBuf>,
    warnings: &mut Vec<String>,
) {
    let entries = match std::fs::read_dir(folder.join(below)) {
        Ok(entries) => entries,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return,
        Err(error) => return warnings.push(format!("cannot read {}: {error}", folder.join(below).display())),
    };
    for entry in entries.flatten() {
        let relative = below.join(entry.file_name());
        let is_dir = folder.join(&relative).is_dir();
        if is_dir && depth + 1 < MAX_DEPTH && !entry.file_name().to_string_lossy().starts_with('.') {
            list(folder, &relative, depth + 1, files, warnings);
        } else if !is_dir && files.len() < MAX_FILES * 4 {
            files.insert(relative);
        }
    }
}

/// Reads a regular file up to the bound. A pipe would be waited for.
fn read_bounded(file: &Path) -> Result<Vec<u8>, String> {
    let failed = |error: std::io::Error| format!("cannot be read: {error}");
    let meta = std::fs::metadata(file).map_err(failed)?;
    if !meta.is_file() {
        return Err("is not a regular file".to_owned());
    }
    // Room for all of it, so that it is not read in small pieces.
    let mut bytes = Vec::with_capacity(meta.len().min(MAX_BYTES) as usize + 1);
    File::open(file).map_err(failed)?.take(MAX_BYTES + 1).read_to_end(&mut bytes).map_err(failed)?;
    Ok(bytes)
}

/// Reads a project's folders without trusting them. `insecure` learns who else can change the files.
pub fn of_project(root: &Path, insecure: &mut Option<String>) -> FoundCommands {
    let mut found = FoundCommands::default();
    for place in PROJECT {
        let mut left = MAX_FILES;
        let names: Vec<String> = place.iter().map(|name| (*name).to_owned()).collect();
        project_folder(root, &names, place.len(), &mut left, &mut found, insecure);
    }
    found
}

fn project_folder(
    root: &Path,
    names: &[String],
    place_len: usize,
    left: &mut usize,
    found: &mut FoundCommands,
    insecure: &mut Option<String>,
) {
    let parts: Vec<&str> = names.iter().map(String::as_str).collect();
    let folder = match PlainDir::open(root, &parts) {
        Ok(Some(folder)) => folder,
        Ok(None) => return,
        Err(why) => {
            let path: PathBuf = names.iter().collect();
            return found.warnings.push(format!("{} {why}", root.join(path).display()));
        }
    };
    for entry in folder.names() {
        if entry.starts_with('.') || *left == 0 {
            continue;
        }
        let relative: PathBuf = names[place_len..].iter().chain([&entry]).collect();
        match command::name_of(&relative) {
            Some(name) => {
                *left -= 1;
                let file = folder.path().join(&entry);
                let read = folder.read(&entry, insecure).map(Option::unwrap_or_default);
                let read = read.and_then(|bytes| command::read(name, &file, &bytes, Origin::Project));
                found.add(&file, read);
            }
            None if names.len() - place_len + 1 < MAX_DEPTH && !entry.contains('.') => {
                let below = [names, &[entry]].concat();
                project_folder(root, &below, place_len, left, found, insecure);
            }
            None => {}
        }
    }
}

/// Returns what a command is approved by: its name and content (TRUST by content), and to which tools it is narrowed.
pub fn digest(command: &CustomCommand) -> String {
    let mut hasher = blake3::Hasher::new();
    if let Some(tools) = &command.allowed_tools {
        // No name begins like this, and nothing in it ends it.
        hasher.update(format!("/{tools:?}\0").as_bytes());
    }
    hasher.update(command.name.as_bytes()).update(b"\0").update(command.template.as_bytes());
    format!("command:{}", hasher.finalize().to_hex())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: &str) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn names(found: &FoundCommands) -> Vec<&str> {
        found.commands.iter().map(|command| command.name.as_str()).collect()
    }

    #[test]
    fn folders_become_prefixes() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        write(&root.join("b.md"), "B");
        write(&root.join("git/commit.md"), "Commit");
        write(&root.join("git/deep/er.toml"), "prompt = 'x'");
        write(&root.join("git/deep/too/far.md"), "Far");
        write(&root.join("notes.txt"), "no");
        write(&root.join("broken.toml"), "prompt");
        let found = of_user(root);
        assert_eq!(names(&found), ["b", "git:commit", "git:deep:er"]);
        assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
        assert_eq!(names(&of_user(&root.join("missing"))), [""; 0]);
    }

    /// CUS-1, CUS-3: a command that was approved as a narrow one is not the same without that.
    #[test]
    fn what_a_command_is_approved_by() {
        let of = |matter: &str| {
            let text = format!("---\ndescription: d\n{matter}---\nFix $1.\n");
            let read = command::read("fix".to_owned(), Path::new("fix.md"), text.as_bytes(), Origin::Project);
            digest(&read.unwrap())
        };
        let narrow = of("allowed-tools: Read\n");
        assert_eq!(of("allowed-tools: Read\nargument-hint: N\n"), narrow);
        for other in ["", "allowed-tools: Read, Bash\n", "allowed-tools:\n"] {
            assert_ne!(of(other), narrow, "{other}");
        }
    }

    #[test]
    fn a_projects_links_are_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path().canonicalize().unwrap();
        write(&root.join("secret"), "secret");
        write(&root.join("p/.zori/commands/a.md"), "ours");
        write(&root.join("p/.claude/commands/a.md"), "theirs");
        write(&root.join("p/.claude/commands/x/b.md"), "B");
        std::os::unix::fs::symlink(root.join("secret"), root.join("p/.claude/commands/c.md")).unwrap();
        let found = of_project(&root.join("p"), &mut None);
        assert_eq!(names(&found), ["a", "x:b"]);
        assert_eq!(found.commands[0].template, "ours");
        assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
        assert_ne!(digest(&found.commands[0]), digest(&found.commands[1]));
    }
}
