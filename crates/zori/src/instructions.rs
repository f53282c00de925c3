//! Finds the AGENTS.md files and makes them a section of the system prompt (AG-1 to AG-8).

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::trust::plain_dir::insecure_permissions;

/// A larger file is cut here (AG-4).
const MAX_BYTES: usize = 65536;

/// The guidelines of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The section for the system prompt; empty without any file.
    pub text: String,
    /// The files, in order.
    pub loaded: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

/// Reads the guidelines: the global file, then from the home directory down to the root if the root lies under
/// it, else the root's own. `root` is canonical.
pub fn load(global: Option<PathBuf>, home: Option<&Path>, root: &Path) -> Instructions {
    let mut found = Instructions::default();
    let mut seen = Vec::new();
    for path in candidates(global.clone(), home, root) {
        let canonical = match path.canonicalize() {
            Ok(canonical) => canonical,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => continue,
            Err(error) => {
                found.warnings.push(format!("Failed to read {}: {error}", path.display()));
                continue;
            }
        };
        if seen.contains(&canonical) {
            continue;
        }
        if let Some(why) = why_rejected(&path, &canonical, root, global.as_deref()) {
            found.warnings.push(format!("Skipped {}: {why}", path.display()));
            continue;
        }
        match read(&path) {
            Ok(file) => found.add(&path, file),
            Err(error) => found.warnings.push(format!("Failed to read {}: {error}", path.display())),
        }
        seen.push(canonical);
    }
    found
}

/// Explains why a file is not sent to a model: it leads out of its folder (TRUST-2), or others can change the folders between
/// home and root (TRUST-8). The user's own file may lead anywhere.
fn why_rejected(path: &Path, canonical: &Path, root: &Path, global: Option<&Path>) -> Option<String> {
    let folder = path.parent().filter(|_| Some(path) != global)?;
    if !canonical.starts_with(folder) {
        return Some("it leads out of its folder".to_owned());
    }
    let meta = std::fs::metadata(folder).ok().filter(|_| folder != root)?;
    insecure_permissions(folder, meta.uid(), meta.mode())
}

fn candidates(global: Option<PathBuf>, home: Option<&Path>, root: &Path) -> Vec<PathBuf> {
    let home = home.and_then(|home| home.canonicalize().ok()).filter(|home| root.starts_with(home));
    let mut directories: Vec<_> = match &home {
        Some(home) => root.ancestors().take_while(|dir| dir.starts_with(home)).collect(),
        None => vec![root],
    };
    directories.reverse();
    global.into_iter().chain(directories.into_iter().map(|dir| dir.join("AGENTS.md"))).collect()
}

struct Guideline {
    text: String,
    /// The size of the whole file, if it was cut.
    cut_from: Option<u64>,
}

fn read(path: &Path) -> std::io::Result<Guideline> {
    let kind = std::fs::metadata(path)?.file_type();
    if !kind.is_file() && !kind.is_dir() {
        // Opening a named pipe would wait for somebody to write to it.
        return Err(Error::other("not a regular file"));
    }
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let mut bytes = Vec::new();
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut bytes)?;
    let cut_from = (bytes.len() > MAX_BYTES).then_some(size);
    bytes.truncate(MAX_BYTES);
    let text = match String::from_utf8(bytes) {
        Ok(text) => text,
        // A character cut in two by the limit goes; anything else that is not UTF-8 is replaced.
        Err(error) if cut_from.is_some() && error.utf8_error().error_len().is_none() => {
            let valid = error.utf8_error().valid_up_to();
            String::from_utf8_lossy(&error.as_bytes()[..valid]).into_owned()
        }
        Err(error) => String::from_utf8_lossy(error.as_bytes()).into_owned(),
    };
    Ok(Guideline { text, cut_from })
}

impl Instructions {
    fn add(&mut self, path: &Path, file: Guideline) {
        let content = file.text.trim();
        if content.is_empty() {
            return;
        }
        if self.text.is_empty() {
            self.text.push_str("# Project Context");
        }
        let mark = if file.cut_from.is_some() { " [truncated]" } else { "" };
        self.text.push_str(&format!("\n\n## {}{mark}\n\n{content}", path.display()));
        if let Some(bytes) = file.cut_from {
            let path = path.display();
            self.warnings.push(format!("Truncated {path} ({bytes} bytes) to {MAX_BYTES} bytes"));
        }
        self.loaded.push(path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, text: impl AsRef<[u8]>) {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn global_then_home_then_down_to_the_root() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        let root = home.join("a/b");
        for (path, text) in [
            ("base/AGENTS.md", "global"),
            ("AGENTS.md", " home\n"),
            ("a/AGENTS.md", " \n"),
            ("a/b/AGENTS.md", "root"),
        ] {
            write(&home.join(path), text);
        }
        let found = load(Some(home.join("base/AGENTS.md")), Some(&home), &root);
        let h = home.display();
        assert_eq!(
            found.text,
            format!(
                "# Project Context\n\n## {h}/base/AGENTS.md\n\nglobal\n\n## {h}/AGENTS.md\n\nhome\n\n\
                 ## {h}/a/b/AGENTS.md\n\nroot"
            )
        );
        assert_eq!(found.loaded.len(), 3);
        assert_eq!(found.warnings, [""; 0]);
    }

    #[test]
    fn outside_home_only_the_root_itself() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        write(&dir.join("AGENTS.md"), "above");
        write(&dir.join("work/AGENTS.md"), "root");
        write(&dir.join("home/x"), "");
        let found = load(None, Some(&dir.join("home")), &dir.join("work"));
        assert_eq!(found.loaded, [dir.join("work/AGENTS.md")]);
    }

    #[test]
    fn a_file_that_appears_twice_is_loaded_once() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        write(&dir.join("AGENTS.md"), "x");
        let found = load(Some(dir.join("AGENTS.md")), None, &dir);
        assert_eq!(found.loaded, [dir.join("AGENTS.md")]);
    }

    /// TRUST-2: a repository cannot have a file of the user's sent by pointing at it. Inside the folder links are fine.
    #[test]
    fn a_link_out_of_the_folder_is_not_followed() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        write(&dir.join("secret"), "secret");
        write(&dir.join("work/docs/rules.md"), "rules");
        std::os::unix::fs::symlink("../secret", dir.join("work/AGENTS.md")).unwrap();
        let found = load(None, None, &dir.join("work"));
        let path = dir.join("work/AGENTS.md");
        assert_eq!(found.warnings, [format!("Skipped {}: it leads out of its folder", path.display())]);
        assert_eq!(found.text, "");
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("docs/rules.md", &path).unwrap();
        assert!(load(None, None, &dir.join("work")).text.ends_with("rules"));
        // The user's own file may be a link to wherever they keep it.
        write(&dir.join("base/x"), "");
        std::os::unix::fs::symlink("../secret", dir.join("base/AGENTS.md")).unwrap();
        let found = load(Some(dir.join("base/AGENTS.md")), None, &dir.join("work"));
        assert!(found.text.contains("secret"));
    }

    /// TRUST-8: what others may write between home and root is theirs.
    #[test]
    fn a_folder_above_that_others_can_write_to_says_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        write(&home.join("shared/AGENTS.md"), "theirs");
        write(&home.join("shared/mine/AGENTS.md"), "mine");
        std::fs::set_permissions(home.join("shared"), std::fs::Permissions::from_mode(0o777)).unwrap();
        let found = load(None, Some(&home), &home.join("shared/mine"));
        assert_eq!(found.loaded, [home.join("shared/mine/AGENTS.md")]);
        let (path, folder) = (home.join("shared/AGENTS.md"), home.join("shared"));
        let said = format!("Skipped {}: {} is writable by others", path.display(), folder.display());
        assert_eq!(found.warnings, [said]);
    }

    #[test]
    fn a_large_file_is_cut_between_characters() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        write(&dir.join("AGENTS.md"), format!("{}é tail", "x".repeat(MAX_BYTES - 1)));
        let found = load(None, None, &dir);
        let path = dir.join("AGENTS.md");
        let path = path.display();
        assert!(found.text.starts_with(&format!("# Project Context\n\n## {path} [truncated]\n\nxxx")));
        assert!(found.text.ends_with('x'));
        assert_eq!(found.warnings, [format!("Truncated {path} (65542 bytes) to 65536 bytes")]);
    }

    #[test]
    fn invalid_utf_8_is_replaced_and_a_directory_is_warned_about() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        write(&dir.join("a/AGENTS.md"), b"a\xffb");
        assert!(load(None, None, &dir.join("a")).text.ends_with("a\u{fffd}b"));
        std::fs::create_dir(dir.join("AGENTS.md")).unwrap();
        let found = load(None, None, &dir);
        assert_eq!(found.loaded, [""; 0].map(PathBuf::from));
        assert!(found.warnings[0].starts_with("Failed to read "), "{:?}", found.warnings);
    }
}
