//! Files by `@`: those below the root, walked in the background and ranked by what was typed, and the contents that go along with a prompt (CMP-3).

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use zori_core::cancel::Cancel;
use zori_tools::walk::{DirEntry, Hidden, Visitor, Walk, WalkState};
use zori_tui::fuzzy;

/// How many files are known at most.
const MOST: usize = 200_000;
/// How many are offered.
const OFFERED: usize = 50;
/// How long a key waits for the walk, so that a list of few files does not flicker. A longer walk tells when it is over, and no key waits for it.
const PATIENCE: Duration = Duration::from_millis(5);
/// A list older than this is made anew when somebody looks again.
const FRESH: Duration = Duration::from_secs(5);
/// The longest file whose content goes along.
pub const MOST_BYTES: u64 = 64 << 10;

/// The files below a folder.
pub struct Files {
    root: PathBuf,
    kept: Arc<(Mutex<Kept>, Condvar)>,
    /// Tells when a walk is over.
    walked: Arc<Notify>,
}

/// What a word may mean.
pub struct Matches {
    /// The paths, best first.
    pub paths: Vec<String>,
    /// How many files there are.
    pub of: usize,
    /// A walk is under way that may find more.
    pub pending: bool,
}

#[derive(Default)]
struct Kept {
    paths: Vec<String>,
    /// Whether a walk is under way.
    walking: bool,
    walked: Option<Instant>,
    /// Whether the list is of the files that ignore files leave out, too.
    all: bool,
}

impl Files {
    /// Knows the files below `root` once somebody asks.
    pub fn new(root: &Path) -> Self {
        Self { root: root.to_owned(), kept: Arc::default(), walked: Arc::default() }
    }

    /// Waits until a walk is over.
    pub async fn walked(&self) {
        self.walked.notified().await;
    }

    /// Returns the paths that a word may mean. A word that begins with `!` means ignored files, too.
    pub fn find(&self, word: &str) -> Matches {
        if word.starts_with(['/', '~', '.']) {
            let paths = crate::chat::complete::files(&self.root, word);
            let of = paths.len();
            return Matches { paths, of, pending: false };
        }
        let (all, word) = word.strip_prefix('!').map_or((false, word), |word| (true, word));
        self.refresh(all);
        let (kept, done) = &*self.kept;
        let kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, _) = done
            .wait_timeout_while(kept, PATIENCE, |kept| kept.walking && kept.walked.is_none())
            .unwrap_or_else(PoisonError::into_inner);
        let ranked = fuzzy::best(kept.paths.iter().map(String::as_str), word, OFFERED);
        let paths = ranked.into_iter().map(str::to_owned).collect();
        Matches { paths, of: kept.paths.len(), pending: kept.walking && kept.walked.is_none() }
    }

    /// Has the files looked at anew, unless that was just done.
    fn refresh(&self, all: bool) {
        let mut kept = self.kept.0.lock().unwrap_or_else(PoisonError::into_inner);
        let fresh = kept.all == all && kept.walked.is_some_and(|at| at.elapsed() < FRESH);
        if fresh || kept.walking {
            return;
        }
        if kept.all != all {
            *kept = Kept { all, ..Kept::default() };
        }
        kept.walking = true;
        let (shared, root, told) = (self.kept.clone(), self.root.clone(), self.walked.clone());
        let walk = move || {
            let mut paths = if all { everything(&root) } else { respecting(&root) };
            paths.sort_unstable();
            let (kept, done) = &*shared;
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            kept.paths = paths;
            kept.walking = false;
            kept.walked = Some(Instant::now());
            done.notify_all();
            told.notify_one();
        };
        let spawned = std::thread::Builder::new().name("files".into()).stack_size(256 << 10).spawn(walk);
        kept.walking = spawned.is_ok();
    }
}

/// Collects paths relative to the root.
struct Collect<'a> {
    root: &'a Path,
    paths: Vec<String>,
}

impl Visitor for Collect<'_> {
    fn visit(&mut self, entry: &DirEntry) -> WalkState {
        if entry.file_type().is_some_and(|kind| kind.is_file() || kind.is_symlink())
            && let Some(path) = relative(self.root, entry.path())
        {
            self.paths.push(path);
        }
        match self.paths.len() < MOST {
            true => WalkState::Continue,
            false => WalkState::Quit,
        }
    }
}

fn respecting(root: &Path) -> Vec<String> {
    let walk = Walk { root, start: root, hidden: Hidden::Skip, max_depth: None, types: None };
    let found = walk.run(&Cancel::new(), || Collect { root, paths: Vec::new() });
    found.into_iter().flatten().flat_map(|collected| collected.paths).take(MOST).collect()
}

fn everything(root: &Path) -> Vec<String> {
    let (mut paths, mut folders) = (Vec::new(), vec![root.to_owned()]);
    while let Some(folder) = folders.pop().filter(|_| paths.len() < MOST) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && entry.file_name() != ".git" => folders.push(entry.path()),
                Ok(kind) if kind.is_file() => paths.extend(relative(root, &entry.path())),
                _ => {}
            }
        }
    }
    paths
}

fn relative(root: &Path, path: &Path) -> Option<String> {
    path.strip_prefix(root).ok()?.to_str().map(str::to_owned)
}

/// A file that a prompt names.
#[derive(Debug, PartialEq, Eq)]
pub enum Named {
    /// Its content goes along.
    Text { path: String, content: String },
    /// It is an image.
    Picture(PathBuf),
    /// It stays, for this reason.
    Left { path: String, why: String },
}

/// Returns the files that a text names with `@`. What is no file is just a word.
pub fn named(root: &Path, text: &str) -> Vec<Named> {
    let mut seen = Vec::new();
    let mut found = Vec::new();
    for word in mentions(text) {
        let word = word.strip_prefix('!').unwrap_or(word);
        // A path is followed by a full stop or the like as any word is.
        let trimmed = word.trim_end_matches([',', '.', ';', ':', '?', '!', ')', '"', '\'']);
        let Some(path) = [word, trimmed].into_iter().find(|path| root.join(path).is_file()) else { continue };
        if path.is_empty() || seen.contains(&path) {
            continue;
        }
        seen.push(path);
        found.push(read(root, path));
    }
    found
}

/// Returns the words behind `@`; one in quotes may have blanks in it.
fn mentions(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let (mut rest, mut before) = (text, ' ');
    while let Some(c) = rest.chars().next() {
        let behind = &rest[c.len_utf8()..];
        if c != '@' || !before.is_whitespace() {
            (rest, before) = (behind, c);
            continue;
        }
        let bare = behind.strip_prefix('!').unwrap_or(behind);
        let quoted = bare.strip_prefix('"').and_then(|inner| inner.split_once('"'));
        let quoted = quoted.filter(|(name, _)| !name.contains('\n'));
        let (word, after) = match quoted {
            Some(split) => split,
            None => behind.split_at(behind.find(char::is_whitespace).unwrap_or(behind.len())),
        };
        found.push(word);
        (rest, before) = (after, '"');
    }
    found
}

fn read(root: &Path, path: &str) -> Named {
    let file = root.join(path);
    let left = |why: String| Named::Left { path: path.to_owned(), why };
    if is_picture(path) {
        return Named::Picture(file);
    }
    match fs::metadata(&file) {
        Ok(meta) if meta.len() > MOST_BYTES => {
            left("is longer than 64 KiB; the model can read of it what it needs".to_owned())
        }
        Ok(_) => match fs::read(&file).map(String::from_utf8) {
            Ok(Ok(content)) => Named::Text { path: path.to_owned(), content },
            Ok(Err(_)) => left("is no text".to_owned()),
            Err(error) => left(format!("cannot be read: {error}")),
        },
        Err(error) => left(format!("cannot be read: {error}")),
    }
}

/// Returns whether a path has the name of an image.
pub fn is_picture(path: &str) -> bool {
    let ending = path.rsplit_once('.').map_or("", |(_, ending)| ending).to_ascii_lowercase();
    matches!(ending.as_str(), "png" | "jpg" | "jpeg" | "gif" | "webp")
}

/// Returns what the model reads of a file.
pub fn note(path: &str, content: &str) -> String {
    format!(
        "The user refers to this file, as it is now: {path}\n```\n{}\n```",
        content.trim_end_matches('\n')
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranked_and_without_what_is_ignored() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        fs::create_dir_all(root.join("src/deep")).unwrap();
        fs::create_dir_all(root.join(".git")).unwrap();
        for name in ["src/main.rs", "src/deep/domain.rs", "notes.md", "out.log", ".hidden"] {
            fs::write(root.join(name), "x").unwrap();
        }
        fs::write(root.join(".gitignore"), "*.log\n").unwrap();
        let files = Files::new(root);
        // The first key may find an unfinished list; the walk of five files is over soon.
        let found = |word: &str| files.find(word).paths;
        zori_testkit::wait::until("the walk", || !found("").is_empty());
        assert_eq!(found("main"), ["src/main.rs", "src/deep/domain.rs"]);
        assert_eq!(found("sm"), ["src/main.rs", "notes.md", "src/deep/domain.rs"]);
        assert_eq!(found("log"), [""; 0]);
        zori_testkit::wait::until("the other walk", || found("!log") == ["out.log"]);
        assert_eq!(found("./src/ma"), ["./src/main.rs"]);
    }

    #[test]
    fn files_that_a_prompt_names() {
        let temp = tempfile::tempdir().unwrap();
        let root = temp.path();
        fs::write(root.join("calc.py"), "a\n").unwrap();
        fs::write(root.join("my notes.md"), "n\n").unwrap();
        fs::write(root.join("big"), vec![b'x'; 70_000]).unwrap();
        fs::write(root.join("bin"), [0xff, 0xfe]).unwrap();
        let text = "see @calc.py, @calc.py and @big. Mail me@calc.py @gone @bin? @\"my notes.md\", @\"no end";
        let shown: Vec<String> = named(root, text)
            .into_iter()
            .map(|named| match named {
                Named::Text { path, content } => format!("{path}={content:?}"),
                Named::Picture(path) => path.display().to_string(),
                Named::Left { path, why } => format!("{path} {}", why.split(' ').next().unwrap_or_default()),
            })
            .collect();
        assert_eq!(shown, ["calc.py=\"a\\n\"", "big is", "bin is", "my notes.md=\"n\\n\""]);
    }
}
