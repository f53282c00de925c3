//! Finds the instruction files and makes them a section of the system prompt (AG-1 to AG-8, EXT-10 to EXT-13).

use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use zori_extensions::instructions::{self, Imported, imports_from, with_imports};

use crate::trust::plain_dir::insecure_permissions;

/// A larger file is cut here, with what it imports (AG-4, EXT-13).
const MAX_BYTES: usize = 65536;
/// All of them together; the nearest are kept.
const MAX_TOTAL: usize = 2 * MAX_BYTES;
/// From here on it is said what they cost.
const LARGE: usize = 40_000;
/// About so many bytes are a token.
const BYTES_PER_TOKEN: usize = 4;

/// The guidelines of a run.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The section for the system prompt; empty without any file.
    pub text: String,
    /// The files, in order.
    pub loaded: Vec<PathBuf>,
    pub warnings: Vec<String>,
}

/// Where instructions are looked for.
pub struct Places<'a> {
    /// The user's own file in the base directory.
    pub global: Option<PathBuf>,
    /// Further files of the user's.
    pub user_files: Vec<PathBuf>,
    /// The home directory, canonical.
    pub home: Option<&'a Path>,
    /// Where the session works, canonical.
    pub root: &'a Path,
    /// The names a folder's file may have; the first that is there counts.
    pub names: Vec<String>,
    /// Whether the root's local file of Claude Code counts, too.
    pub local: bool,
}

impl<'a> Places<'a> {
    /// Looks for AGENTS.md and for what other agents call it.
    pub fn new(global: Option<PathBuf>, home: Option<&'a Path>, root: &'a Path) -> Self {
        let names = instructions::NAMES.iter().map(|name| (*name).to_owned()).collect();
        Self { global, user_files: Vec::new(), home, root, names, local: true }
    }

    /// Looks for AGENTS.md alone.
    pub fn agents_only(self) -> Self {
        Self { names: vec!["AGENTS.md".to_owned()], local: false, ..self }
    }

    /// Looks for Claude Code's file before AGENTS.md.
    pub fn claude_first(mut self) -> Self {
        self.names.sort_by_key(|name| !name.ends_with("CLAUDE.md"));
        self
    }

    /// Returns the files that there are: the user's, then from the home directory down to the root if the root lies under it, else
    /// the root's own.
    fn candidates(&self) -> Vec<PathBuf> {
        let mut directories: Vec<_> = match self.home.filter(|home| self.root.starts_with(home)) {
            Some(home) => self.root.ancestors().take_while(|dir| dir.starts_with(home)).collect(),
            None => vec![self.root],
        };
        directories.reverse();
        let exists = |path: &PathBuf| path.symlink_metadata().is_ok();
        // What lies in a folder of the home directory is another agent's own, which only an import brings in (EXT-30).
        let counts = |dir: &Path, name: &str| !name.contains('/') || Some(dir) != self.home;
        let first = |dir: &Path| {
            self.names.iter().filter(|name| counts(dir, name)).map(|name| dir.join(name)).find(exists)
        };
        let local = self.local.then(|| self.root.join("CLAUDE.local.md")).filter(exists);
        let own = self.global.iter().chain(&self.user_files).filter(|path| exists(path)).cloned();
        own.chain(directories.into_iter().filter_map(first)).chain(local).collect()
    }

    fn is_own(&self, path: &Path) -> bool {
        self.global.iter().chain(&self.user_files).any(|own| own == path)
    }

    /// Explains why a file is not sent to a model: it leads out of its folder (TRUST-2), or others can change the folders between
    /// home and root (TRUST-8). The user's own files may lead anywhere.
    fn why_rejected(&self, path: &Path, canonical: &Path) -> Option<String> {
        let folder = path.parent().filter(|_| !self.is_own(path))?;
        if !canonical.starts_with(folder) {
            return Some("it leads out of its folder".to_owned());
        }
        let meta = std::fs::metadata(folder).ok().filter(|_| folder != self.root)?;
        insecure_permissions(folder, meta.uid(), meta.mode())
    }

    /// Returns the folder that imports of a file have to stay in; `None` for the user's own.
    fn boundary(&self, path: &Path) -> Option<PathBuf> {
        let folder = path.parent().filter(|_| !self.is_own(path))?;
        let folder = if folder.ends_with(".claude") { folder.parent().unwrap_or(folder) } else { folder };
        Some(folder.to_owned())
    }
}

/// Reads the guidelines.
pub fn load(places: &Places<'_>) -> Instructions {
    let mut found = Instructions::default();
    let mut seen: Vec<PathBuf> = Vec::new();
    let mut sections: Vec<(PathBuf, Guideline)> = Vec::new();
    for path in places.candidates() {
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
        if let Some(why) = places.why_rejected(&path, &canonical) {
            found.warnings.push(format!("Skipped {}: {why}", path.display()));
            continue;
        }
        let file = match read(&path) {
            Ok(file) => file,
            Err(error) => {
                found.warnings.push(format!("Failed to read {}: {error}", path.display()));
                continue;
            }
        };
        seen.push(canonical.clone());
        let file = match imports_from(&path) {
            true => imported(places, &path, &canonical, file, &mut seen, &mut found.warnings),
            false => file,
        };
        // The same words in two files are said once (EXT-12).
        let same = |(_, other): &(PathBuf, Guideline)| other.text.trim() == file.text.trim();
        if !file.text.trim().is_empty() && !sections.iter().any(same) {
            sections.push((path, file));
        }
    }
    let mut total: usize = sections.iter().map(|(_, file)| file.text.len()).sum();
    while total > MAX_TOTAL && sections.len() > 1 {
        let (path, file) = sections.remove(0);
        total -= file.text.len();
        found.warnings.push(format!(
            "Skipped {}: the instruction files have more than {MAX_TOTAL} bytes, and nearer ones come first",
            path.display()
        ));
    }
    sections.into_iter().for_each(|(path, file)| found.add(&path, file));
    if total > LARGE {
        found.warnings.push(format!(
            "The instruction files have {total} bytes, about {} tokens, which go with every request",
            total / BYTES_PER_TOKEN
        ));
    }
    found
}

/// Returns a file with what it imports in place.
fn imported(
    places: &Places<'_>,
    path: &Path,
    canonical: &Path,
    file: Guideline,
    seen: &mut Vec<PathBuf>,
    warnings: &mut Vec<String>,
) -> Guideline {
    let boundary = places.boundary(path);
    let mut read_import = |import: &Path| {
        let canonical = match import.canonicalize() {
            Ok(canonical) => canonical,
            // What is not there is just a word with an `@`.
            Err(_) => return Err(String::new()),
        };
        if boundary.as_ref().is_some_and(|boundary| !canonical.starts_with(boundary)) {
            return Err("it lies outside of the folder".to_owned());
        }
        match read(&canonical) {
            Ok(file) => Ok(Imported { canonical, text: file.text }),
            Err(error) => Err(error.to_string()),
        }
    };
    let text = with_imports(&file.text, canonical, places.home, seen, warnings, &mut read_import);
    match text.len() > MAX_BYTES {
        true => {
            let size = text.len() as u64;
            let text = zori_core::text::prefix(&text, MAX_BYTES).to_owned();
            Guideline { text, cut_from: Some(size) }
        }
        false => Guideline { text, cut_from: file.cut_from },
    }
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
    // Room for all of it, so that it is not read in small pieces.
    let mut bytes = Vec::with_capacity(size.min(MAX_BYTES as u64) as usize + 1);
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

    fn load(global: Option<PathBuf>, home: Option<&Path>, root: &Path) -> Instructions {
        super::load(&Places::new(global, home, root))
    }

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
        assert_eq!(found.warnings[0], format!("Truncated {path} (65542 bytes) to 65536 bytes"));
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

    /// EXT-10: of a folder the first name counts, and the root's local file comes last.
    #[test]
    fn what_other_agents_call_it() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        for (path, text) in [
            ("GEMINI.md", "gemini"),
            ("a/CLAUDE.md", "claude above"),
            ("a/b/AGENTS.md", "agents"),
            ("a/b/CLAUDE.md", "claude"),
            ("a/b/CLAUDE.local.md", "local"),
            ("a/b/.cursorrules", "never"),
            // The user's own, and not of a folder: only an import brings it in (EXT-30).
            (".claude/CLAUDE.md", "never"),
        ] {
            write(&home.join(path), text);
        }
        let root = home.join("a/b");
        let names = |places: Places<'_>| -> Vec<String> {
            let found = super::load(&places);
            assert_eq!(found.warnings, [""; 0]);
            found.loaded.iter().map(|path| path.strip_prefix(&home).unwrap().display().to_string()).collect()
        };
        let places = || Places::new(None, Some(&home), &root);
        assert_eq!(names(places()), ["GEMINI.md", "a/CLAUDE.md", "a/b/AGENTS.md", "a/b/CLAUDE.local.md"]);
        assert_eq!(
            names(places().claude_first()),
            ["GEMINI.md", "a/CLAUDE.md", "a/b/CLAUDE.md", "a/b/CLAUDE.local.md"]
        );
        assert_eq!(names(places().agents_only()), ["a/b/AGENTS.md"]);
        std::fs::remove_file(home.join("GEMINI.md")).unwrap();
        std::fs::remove_file(home.join("a/CLAUDE.md")).unwrap();
        write(&home.join("a/.claude/CLAUDE.md"), "claude above");
        assert_eq!(names(places()), ["a/.claude/CLAUDE.md", "a/b/AGENTS.md", "a/b/CLAUDE.local.md"]);
        let own = || Places { user_files: vec![home.join(".claude/CLAUDE.md")], ..places() };
        assert_eq!(names(own())[0], ".claude/CLAUDE.md");
        assert_eq!(names(Places { root: &home, ..places() }), [""; 0]);
    }

    /// EXT-11, EXT-12: a link, a copy and an import of the same file are loaded once, and nothing from outside comes in.
    #[test]
    fn loaded_once_and_from_inside_alone() {
        let temp = tempfile::tempdir().unwrap();
        let dir = temp.path().canonicalize().unwrap();
        write(&dir.join("secret"), "secret");
        let loaded = |root: &Path| load(None, None, root).text.matches("rules").count();
        for (name, text) in [("copy", "rules"), ("import", "@AGENTS.md")] {
            let root = dir.join(name);
            write(&root.join("AGENTS.override.md"), "rules");
            write(&root.join("AGENTS.md"), "rules");
            write(&root.join("CLAUDE.local.md"), text);
            assert_eq!(loaded(&root), 1, "{name}");
        }
        let root = dir.join("out");
        write(&root.join("CLAUDE.md"), "see @../secret and @docs/a.md\n");
        write(&root.join("docs/a.md"), "inside");
        let found = load(None, None, &root);
        assert!(found.text.ends_with("see @../secret and inside"), "{}", found.text);
        assert_eq!(found.warnings.len(), 1, "{:?}", found.warnings);
        // AGENTS.md imports nothing.
        write(&root.join("AGENTS.md"), "see @docs/a.md");
        assert!(load(None, None, &root).text.ends_with("see @docs/a.md"));
    }

    /// EXT-13.
    #[test]
    fn the_nearest_are_kept() {
        let temp = tempfile::tempdir().unwrap();
        let home = temp.path().canonicalize().unwrap();
        for (path, letter) in [("AGENTS.md", "a"), ("x/AGENTS.md", "b"), ("x/y/AGENTS.md", "c")] {
            write(&home.join(path), letter.repeat(MAX_BYTES - 1));
        }
        let found = load(None, Some(&home), &home.join("x/y"));
        assert_eq!(found.loaded, [home.join("x/AGENTS.md"), home.join("x/y/AGENTS.md")]);
        assert_eq!(found.warnings.len(), 2, "{:?}", found.warnings);
        assert!(found.warnings[1].starts_with("The instruction files have 131"), "{:?}", found.warnings);
    }
}
