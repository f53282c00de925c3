//! Debug dumps (`--debug-dump`, `/debug-dump`): each request, each response and each result of a tool as a file in
//! `<project>/.local/debug/<session>`, without secrets (`docs/contracts/debug-dumps.md`). Nothing is written, or made, unless somebody asks.

mod pieces;
mod transport;

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;
use zori_core::event::{Event, EventKind, ToolEvent};
use zori_core::ids::SessionId;
use zori_core::render::Renderer;
use zori_core::transport::Transport;
use zori_host::settings::WorkspaceSettings;
use zori_host::{FrontendParts, Host};
use zori_redact::Redactor;
use zori_store::project_root;

use self::transport::DumpingTransport;

/// Where dumps are, below a project.
pub const FOLDER: &str = ".local/debug";

/// The dumps of a chat or a run: of one session at a time. Clones share them; each tab of the panel has its own.
#[derive(Clone, Default)]
pub struct DebugDump(Arc<Shared>);

#[derive(Default)]
struct Shared {
    on: AtomicBool,
    session: Mutex<Option<Session>>,
}

/// The session whose dumps are written.
struct Session {
    /// The folder of the session, and the home directory: its project is looked for when there is something to write.
    root: PathBuf,
    home: Option<PathBuf>,
    project: OnceLock<PathBuf>,
    id: SessionId,
    redactor: Redactor,
    /// The number of the next request or result.
    next: usize,
}

impl DebugDump {
    /// Returns the dumps of a run that asks for them, or does not.
    pub fn new(on: bool) -> Self {
        let dump = Self::default();
        dump.0.on.store(on, Ordering::Relaxed);
        dump
    }

    /// Returns whether dumps are written.
    pub fn is_on(&self) -> bool {
        self.0.on.load(Ordering::Relaxed)
    }

    /// Writes down the session that is about to start. What is asked for and cannot be written is refused before anything is sent.
    pub fn follow(&self, host: &Host, id: &SessionId, parts: &mut FrontendParts) -> Result<(), Failure> {
        self.begin(&host.settings.workspace, id, host.redactor())
            .map_err(|why| Failure::new(&IO_ERROR, why))?;
        parts.renderers.push(Box::new(ToolResults { dump: self.clone(), inputs: HashMap::new() }));
        Ok(())
    }

    fn begin(&self, workspace: &WorkspaceSettings, id: &SessionId, redactor: Redactor) -> Result<(), String> {
        let WorkspaceSettings { root, home, .. } = workspace.clone();
        let mut session = Session { root, home, project: OnceLock::new(), id: id.clone(), redactor, next: 0 };
        let made = if self.is_on() { session.make().map(drop) } else { Ok(()) };
        *self.session() = Some(session);
        made
    }

    /// Switches it on or off; returns where the dumps of this session are.
    pub fn switch(&self, on: bool) -> Result<PathBuf, String> {
        let mut session = self.session();
        let session = session.as_mut().ok_or("there is no session yet")?;
        let folder = if on { session.make()? } else { session.folder() };
        self.0.on.store(on, Ordering::Relaxed);
        Ok(folder)
    }

    /// Returns a transport that writes down what goes through this one, while it is on.
    pub fn transport(&self, inner: Arc<dyn Transport>) -> Arc<dyn Transport> {
        Arc::new(DumpingTransport::new(inner, self.clone()))
    }

    /// Returns the number of a request or result, under which its files are; `None` where none are written.
    fn number(&self) -> Option<usize> {
        if !self.is_on() {
            return None;
        }
        let mut session = self.session();
        let session = session.as_mut()?;
        session.next += 1;
        Some(session.next - 1)
    }

    /// Returns what takes secrets out.
    fn redactor(&self) -> Redactor {
        self.session().as_ref().map(|session| session.redactor.clone()).unwrap_or_default()
    }

    /// Writes a file without secrets. One that cannot be written is missing: a run does not end because of it. What is there stays.
    fn write(&self, number: usize, name: &str, text: &str) {
        let session = self.session();
        let Some(session) = session.as_ref() else { return };
        let path = session.folder().join(format!("{number:04}-{name}"));
        let file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path);
        let _ = file.and_then(|mut file| file.write_all(session.redactor.redact(text).as_bytes()));
    }

    fn session(&self) -> MutexGuard<'_, Option<Session>> {
        self.0.session.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    fn project(&self) -> &Path {
        self.project.get_or_init(|| project_root(&self.root, self.home.as_deref()).to_owned())
    }

    fn folder(&self) -> PathBuf {
        self.project().join(FOLDER).join(self.id.as_str())
    }

    /// Makes the folder, private, and has git overlook it. A link on the way would lead elsewhere (D-36). Numbers go on behind those
    /// that earlier runs of the session have left.
    fn make(&mut self) -> Result<PathBuf, String> {
        let failed = |path: &Path, why: &dyn std::fmt::Display| {
            format!("debug dumps cannot be written to {}: {why}", path.display())
        };
        let folder = self.folder();
        let project = self.project();
        let parts = [project.join(".local"), project.join(FOLDER), folder.clone()];
        for part in &parts {
            match fs::DirBuilder::new().mode(0o700).create(part) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(failed(part, &error));
                }
                _ => {}
            }
            if !fs::symlink_metadata(part).is_ok_and(|facts| facts.is_dir()) {
                return Err(failed(part, &"it is not a folder"));
            }
        }
        let ignored = parts[0].join(".gitignore");
        match fs::OpenOptions::new().write(true).create_new(true).open(&ignored) {
            Ok(mut file) => file.write_all(b"*\n").map_err(|error| failed(&ignored, &error))?,
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(failed(&ignored, &error)),
        }
        self.next = self.next.max(first_free(&folder));
        Ok(folder)
    }
}

/// Returns the folders of dumps below a project, which is canonical, and whether a link stands where they are: it could lead to anything (D-36).
pub fn folders(project: &Path) -> (Vec<PathBuf>, bool) {
    let folder = project.join(FOLDER);
    match folder.canonicalize() {
        Ok(real) if real == folder => {
            let entries = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
            let mut found: Vec<_> = entries.filter(|path| has_dumps(path)).collect();
            found.sort();
            (found, false)
        }
        Ok(_) => (Vec::new(), true),
        Err(_) => (Vec::new(), false),
    }
}

/// Returns whether a folder is one of dumps: by its name, and by what is in it, if anything is.
fn has_dumps(path: &Path) -> bool {
    let is_session =
        path.file_name().and_then(|name| name.to_str()).is_some_and(|name| SessionId::parse(name).is_ok());
    let is_folder = || fs::symlink_metadata(path).is_ok_and(|facts| facts.is_dir());
    let is_empty = || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none());
    is_session && is_folder() && (is_empty() || !dumps(path).is_empty())
}

/// Returns the dumps in a folder, by the names that they have.
fn dumps(folder: &Path) -> Vec<PathBuf> {
    let is_one = |path: &PathBuf| {
        let Some((number, rest)) = path.file_name().and_then(|name| name.to_str()?.split_once('-')) else {
            return false;
        };
        let is_number = number.len() >= 4 && number.bytes().all(|byte| byte.is_ascii_digit());
        let is_result = rest.starts_with("tool-") && rest.ends_with(".txt");
        is_number && (is_result || matches!(rest, "request.json" | "response.json"))
    };
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).filter(is_one).collect()
}

/// Removes the dumps in a folder, and the folder with them; what somebody else put there stays.
pub fn remove(folder: &Path) -> io::Result<()> {
    dumps(folder).iter().try_for_each(fs::remove_file)?;
    match fs::remove_dir(folder) {
        Err(error) if !matches!(error.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotFound) => {
            Err(error)
        }
        _ => Ok(()),
    }
}

/// Returns the number behind those of all files in a folder.
fn first_free(folder: &Path) -> usize {
    let number = |entry: fs::DirEntry| entry.file_name().to_str()?.split_once('-')?.0.parse::<usize>().ok();
    let taken = fs::read_dir(folder).into_iter().flatten().flatten().filter_map(number);
    taken.max().map_or(0, |last| last.saturating_add(1))
}

/// Writes results of tools, each with what was asked.
struct ToolResults {
    dump: DebugDump,
    /// What calls were given that have not ended, by their ids.
    inputs: HashMap<String, String>,
}

impl Renderer for ToolResults {
    fn on_event(&mut self, event: &Event) -> io::Result<()> {
        let EventKind::Tool(event) = &event.kind else { return Ok(()) };
        match event {
            ToolEvent::ToolRequested(asked) if self.dump.is_on() => {
                let call = &asked.call;
                self.inputs.insert(call.id.as_str().to_owned(), call.input.json().to_owned());
            }
            ToolEvent::ToolChanged { call, input, .. } if self.dump.is_on() => {
                self.inputs.insert(call.as_str().to_owned(), input.get().to_owned());
            }
            ToolEvent::ToolFinished(done) => {
                let input = self.inputs.remove(done.call.as_str()).unwrap_or_default();
                let Some(number) = self.dump.number() else { return Ok(()) };
                let name: String =
                    done.name.chars().filter(|c| c.is_ascii_alphanumeric() || "_-".contains(*c)).collect();
                let read = done.output.text.as_deref().unwrap_or(done.output.envelope.get());
                let text = format!("{} {}\n{input}\n\n{read}\n", done.name, done.call.as_str());
                self.dump.write(number, &format!("tool-{name}.txt"), &text);
            }
            _ => {}
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an earlier run of the session left stays, and a link that somebody put there leads nowhere.
    #[test]
    fn numbers_go_on() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path().to_owned();
        let workspace = WorkspaceSettings { root, home: None, temp: PathBuf::new() };
        let folder = project.path().join(FOLDER).join("s");
        let run = |text: &str| {
            let dump = DebugDump::new(true);
            dump.begin(&workspace, &SessionId::parse("s").unwrap(), Redactor::default()).unwrap();
            let number = dump.number().unwrap();
            dump.write(number, "request.json", text);
            number
        };
        assert_eq!([run("one"), run("two")], [0, 1]);
        std::os::unix::fs::symlink("../../../elsewhere", folder.join("0002-request.json")).unwrap();
        assert_eq!(run("three"), 3);
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        let files = ["0000-request.json", "0001-request.json", "0003-request.json"];
        assert_eq!(files.map(read), ["one", "two", "three"]);
        assert!(!project.path().join("elsewhere").exists());
    }

    /// Two sessions at once, as tabs have them, each in its own folder.
    #[test]
    fn each_has_its_own_folder() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path().to_owned();
        let workspace = WorkspaceSettings { root, home: None, temp: PathBuf::new() };
        let begun = |id: &str| {
            let dump = DebugDump::new(true);
            dump.begin(&workspace, &SessionId::parse(id).unwrap(), Redactor::default()).unwrap();
            dump
        };
        let (first, second) = (begun("a"), begun("b"));
        for (dump, text) in [(&second, "of b"), (&first, "of a")] {
            dump.write(dump.number().unwrap(), "request.json", text);
        }
        let read =
            |id: &str| fs::read_to_string(project.path().join(FOLDER).join(id).join("0000-request.json"));
        assert_eq!((read("a").unwrap(), read("b").unwrap()), ("of a".to_owned(), "of b".to_owned()));
    }
}
