//! The project's git repository, as far as it is read: where HEAD is, and which files are clean.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use crate::git::CleanFiles;
use crate::op::GitHead;
use crate::store::Store;

/// Where a repository is.
pub(crate) struct GitHeads {
    pub(crate) head: GitHead,
    /// The commit of the stash; empty without one.
    pub(crate) stash: String,
}

/// Returns where HEAD and the stash are; `None` without a repository.
pub(crate) fn heads(root: &Path) -> Option<GitHeads> {
    let dir = git_dir(root)?;
    let common = common_dir(&dir);
    let head = fs::read_to_string(dir.join("HEAD")).ok()?;
    let (name, commit) = match head.trim().strip_prefix("ref: ") {
        Some(name) => (name, commit_of(&[&dir, &common], name)),
        None => ("HEAD", head.trim().to_owned()),
    };
    // A stash is a log of commits, so that there is none without one.
    let stash = match common.join("logs/refs/stash").exists() {
        true => commit_of(&[&common], "refs/stash"),
        false => String::new(),
    };
    Some(GitHeads { head: GitHead { name: name.to_owned(), commit }, stash })
}

/// Returns the commit of a ref; empty without one. The last folder is the one that working trees share.
fn commit_of(dirs: &[&PathBuf], name: &str) -> String {
    let loose = dirs.iter().find_map(|dir| fs::read_to_string(dir.join(name)).ok());
    let loose = loose.map(|text| text.trim().to_owned());
    loose.or_else(|| packed(dirs.last()?, name)).unwrap_or_default()
}

fn packed(dir: &Path, name: &str) -> Option<String> {
    let refs = fs::read_to_string(dir.join("packed-refs")).ok()?;
    refs.lines()
        .filter_map(|line| line.split_once(' '))
        .find(|(_, known)| *known == name)
        .map(|(id, _)| id.to_owned())
}

/// Returns git's own folder of a working tree.
pub(crate) fn git_dir(root: &Path) -> Option<PathBuf> {
    let dot = root.join(".git");
    if dot.is_dir() {
        return Some(dot);
    }
    let text = fs::read_to_string(&dot).ok()?;
    let dir = Path::new(text.strip_prefix("gitdir:")?.trim());
    Some(root.join(dir))
}

/// Returns the folder that the working trees of a repository share.
pub(crate) fn common_dir(dir: &Path) -> PathBuf {
    match fs::read_to_string(dir.join("commondir")) {
        Ok(text) => dir.join(text.trim()),
        Err(_) => dir.to_owned(),
    }
}

/// Returns the files that equal their index entry, once the store holds links to git's objects, so that they stay whatever
/// becomes of the repository (UNDO-8). `None` where every file is copied.
pub(crate) fn clean_files(root: &Path, home: Option<&Path>, store: &Store) -> Option<CleanFiles> {
    let dir = git_dir(root)?;
    let config = config(root)?;
    let set = |key: &str| config.lines().filter_map(|line| line.split_once(' ')).find(|(k, _)| *k == key);
    let transforms = set("core.autocrlf").is_some_and(|(_, value)| value != "false")
        || set("core.eol").is_some_and(|(_, value)| value == "crlf")
        || set("core.attributesfile").is_some();
    if transforms {
        return None;
    }
    let sha256 = set("extensions.objectformat").is_some_and(|(_, value)| value == "sha256");
    let clean = CleanFiles::read(root, &dir, home, if sha256 { 32 } else { 20 })?;
    link_objects(&common_dir(&dir), store, &clean, sha256).ok()?;
    Some(clean)
}

/// Returns what git's settings say about the bytes of files, a key and its value a line.
fn config(root: &Path) -> Option<String> {
    let keys = "^(core\\.(autocrlf|eol|attributesfile)|extensions\\.objectformat)$";
    let mut command = Command::new("git");
    command.arg("-C").arg(root).args(["config", "--get-regexp", keys]).env("GIT_OPTIONAL_LOCKS", "0");
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    // 1: none of them is set.
    matches!(output.status.code(), Some(0 | 1)).then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Makes a repository of links in the store: all packs, and the single objects that files are known by.
fn link_objects(common: &Path, store: &Store, clean: &CleanFiles, sha256: bool) -> io::Result<()> {
    let own = store.folder("git").map_err(io::Error::other)?;
    let objects = common.join("objects");
    fs::create_dir_all(own.join("refs"))?;
    fs::create_dir_all(own.join("objects/pack"))?;
    fs::create_dir_all(own.join("objects/info"))?;
    for entry in entries(&objects.join("pack")) {
        let name = entry.file_name();
        if [".pack", ".idx", ".rev"].iter().any(|end| name.as_encoded_bytes().ends_with(end.as_bytes())) {
            link(&entry.path(), &own.join("objects/pack").join(name))?;
        }
    }
    let wanted: HashSet<&str> = clean.ids().collect();
    for folder in entries(&objects).filter(|folder| folder.file_name().len() == 2) {
        let prefix = folder.file_name().to_string_lossy().into_owned();
        let target = own.join("objects").join(&prefix);
        let mut has_target = false;
        for entry in entries(&folder.path()) {
            let id = format!("{prefix}{}", entry.file_name().to_string_lossy());
            if wanted.contains(id.as_str()) {
                if !std::mem::replace(&mut has_target, true) {
                    fs::create_dir_all(&target)?;
                }
                link(&entry.path(), &target.join(entry.file_name()))?;
            }
        }
    }
    if let Ok(alternates) = fs::read_to_string(objects.join("info/alternates")) {
        let absolute = |line: &str| format!("{}\n", objects.join(line).display());
        fs::write(own.join("objects/info/alternates"), alternates.lines().map(absolute).collect::<String>())?;
    }
    let format = if sha256 {
        "\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n"
    } else {
        "\trepositoryformatversion = 0\n"
    };
    fs::write(own.join("config"), format!("[core]\n\tbare = true\n{}", format))?;
    fs::write(own.join("HEAD"), "ref: refs/heads/none\n")
}

fn entries(folder: &Path) -> impl Iterator<Item = fs::DirEntry> {
    fs::read_dir(folder).into_iter().flatten().flatten()
}

fn link(from: &Path, to: &Path) -> io::Result<()> {
    match fs::hard_link(from, to) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        linked => linked,
    }
}

/// Reads blobs through one `git cat-file --batch`.
pub(crate) struct BlobReader {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl BlobReader {
    /// Starts it on the objects that the store holds links to; `None` without them or without git.
    pub(crate) fn start(store: &Store) -> Option<Self> {
        let dir = store.dir().join("git");
        let dir = if dir.join("HEAD").is_file() { dir } else { git_dir(store.root())? };
        let mut command = Command::new("git");
        command.arg("--git-dir").arg(dir).args(["cat-file", "--batch"]);
        command.env("GIT_OPTIONAL_LOCKS", "0").env_remove("GIT_OBJECT_DIRECTORY");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().ok()?;
        let (input, output) = (child.stdin.take()?, BufReader::new(child.stdout.take()?));
        Some(Self { child, input, output })
    }

    /// Returns a blob.
    pub(crate) fn read(&mut self, id: &str) -> Option<Vec<u8>> {
        writeln!(self.input, "{id}").ok()?;
        let mut header = String::new();
        self.output.read_line(&mut header).ok()?;
        let mut words = header.split_whitespace();
        let (_, kind, len) = (words.next()?, words.next()?, words.next()?.parse::<u64>().ok()?);
        let mut bytes = vec![0; usize::try_from(len).ok()?];
        self.output.read_exact(&mut bytes).ok()?;
        let mut end = [0];
        self.output.read_exact(&mut end).ok()?;
        (kind == "blob").then_some(bytes)
    }
}

impl Drop for BlobReader {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
