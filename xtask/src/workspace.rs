//! The workspace as text: every file a person wrote, read once.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The workspace and its text files.
pub struct Workspace {
    /// Where the root manifest lies.
    pub root: PathBuf,
    /// Every text file, sorted by path.
    pub files: Vec<TextFile>,
}

pub struct TextFile {
    /// Relative to the root, with `/` between the parts.
    pub path: String,
    /// What is in it.
    pub text: String,
}

impl Workspace {
    /// Reads the workspace this program was built in.
    pub fn load() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self::load_from(root.parent().expect("xtask lies in the workspace"))
    }

    fn load_from(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        collect(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { root: root.to_path_buf(), files })
    }

    /// Returns a file's text.
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }

    /// Returns the files below a folder.
    pub fn below<'a>(&'a self, folder: &'a str) -> impl Iterator<Item = &'a TextFile> {
        let inside = move |path: &str| path.strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
        self.files.iter().filter(move |file| inside(&file.path))
    }

    /// Returns the Rust sources.
    pub fn rust(&self) -> impl Iterator<Item = &TextFile> {
        self.files.iter().filter(|file| file.path.ends_with(".rs"))
    }
}

impl TextFile {
    /// Returns the last part of the path.
    pub fn name(&self) -> &str {
        self.path.rsplit('/').next().expect("splitting yields at least one part")
    }
}

/// Returns where builds go.
pub fn target_folder(workspace: &Workspace) -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.root.join("target"), PathBuf::from)
}

/// Folders that are not ours to look at: what a build leaves, and what version control keeps.
fn is_skipped(name: &str) -> bool {
    name == "target" || name == ".git"
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<TextFile>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{prefix}{name}");
        let kind = entry.file_type()?;
        if kind.is_dir() && !is_skipped(&name) {
            collect(&entry.path(), &format!("{path}/"), files)?;
        } else if kind.is_file() {
            // What is not UTF-8 is a picture or a fixture of bytes; the rules about text do not apply to it.
            if let Ok(text) = String::from_utf8(fs::read(entry.path())?) {
                files.push(TextFile { path, text });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_people_wrote() {
        let temp = tempfile::tempdir().unwrap();
        for (path, bytes) in
            [("a/b.rs", b"x".as_slice()), ("a/bytes", b"\xff"), ("target/x.rs", b"y"), (".ci/run", b"z")]
        {
            let path = temp.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        let workspace = Workspace::load_from(temp.path()).unwrap();
        let paths: Vec<_> = workspace.files.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, [".ci/run", "a/b.rs"]);
        assert_eq!((workspace.text("a/b.rs"), workspace.below("a").count()), (Some("x"), 1));
    }
}
