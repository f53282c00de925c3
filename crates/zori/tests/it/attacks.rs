//! Repository attacks (`docs/contracts/trust.md`): a folder that wants to run something, contact somebody or
//! change a file, in each state it can be in. Before consent nothing of that happens; after it, only what the table
//! says.
//!
//! Programs on `PATH` write down that they were started, a listener on the loopback is where the folders' addresses
//! lead, and the folder and the home directory are compared with what they were. The table is in `attacks/table.rs`.

mod table;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use serde_json::json;
use zori_testkit::env::TestEnv;
use zori_testkit::pty::Size;
use zori_testkit::server::ModelServer;
use zori_testkit::{anthropic, wait};

use self::table::{ATTACKS, After, Attack, Content};
use crate::world::with_model;

/// Programs that something in a folder could make somebody start. Each only writes down that it was.
const RECORDERS: &[&str] = &[
    "bash", "bun", "cargo", "code", "curl", "deno", "direnv", "docker", "gcloud", "gh", "git", "go", "jq",
    "less", "make", "mise", "node", "npm", "npx", "perl", "pip", "pnpm", "python", "python3", "ruby", "sh",
    "ssh", "uv", "uvx", "vi", "wget", "yarn",
];
/// Why nothing that sets the scene can fail: it happens in folders of our own.
const SET: &str = "the scene can be set and looked at";
/// What must not be sent to anybody.
const SECRET: &str = "TOP-SECRET-4711";

/// What a folder is when a run starts in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Nobody was asked, and nobody can be.
    Headless,
    /// Nobody was asked, and somebody says no.
    Undecided,
    Untrusted,
    Trusted,
}

/// A world with one hostile folder in it.
struct Scene {
    world: TestEnv,
    model: ModelServer,
    listener: TcpListener,
    marks: PathBuf,
}

impl Scene {
    fn new(attack: &Attack, state: State) -> Self {
        let (world, model) =
            with_model([anthropic::tool_use("t1", "ls", json!({})), anthropic::text("Done.")]);
        let listener = TcpListener::bind("127.0.0.1:0").expect(SET);
        listener.set_nonblocking(true).expect(SET);
        let marks = world.tmp().join("marks");
        fs::create_dir(&marks).expect(SET);
        fs::create_dir_all(world.home().join(".ssh")).expect(SET);
        fs::write(world.home().join(".ssh/id_rsa"), SECRET).expect(SET);
        let friend = world.home().join("friend");
        let hook = format!("touch {}/friend", marks.display());
        let hooks = json!({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": hook}]}]}});
        write(&friend.join(".zori/settings.json"), &hooks.to_string());
        world.run(&["trust", "allow", "-y", friend.to_str().expect(SET)]).success();
        let scene = Self { world, model, listener, marks };
        for (path, content) in attack.files {
            scene.put(path, content);
        }
        match state {
            State::Trusted => drop(scene.world.run(&["trust", "allow", "-y"])),
            State::Untrusted => drop(scene.world.run(&["trust", "deny"]).success()),
            State::Headless | State::Undecided => {}
        }
        let mut scene = scene;
        scene.record(state);
        scene
    }

    /// Puts the recorders first on `PATH`. What is trusted may run a shell.
    fn record(&mut self, state: State) {
        let bin = self.world.tmp().join("bin");
        fs::create_dir(&bin).expect(SET);
        let shell = ["/bin/sh", "/usr/bin/sh"].into_iter().find(|path| Path::new(path).exists()).expect(SET);
        for name in RECORDERS.iter().filter(|name| state != State::Trusted || !["sh", "bash"].contains(name))
        {
            let path = bin.join(name);
            write(&path, &format!("#!{shell}\necho {name} >> {}/children\n", self.marks.display()));
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect(SET);
        }
        let path = std::env::var_os("PATH").expect(SET);
        let all = std::iter::once(bin).chain(std::env::split_paths(&path));
        self.world.set_var("PATH", std::env::join_paths(all).expect(SET));
    }

    fn put(&self, path: &str, content: &Content) {
        let path = self.world.work().join(path);
        let fill = |text: &str| {
            let address = format!("http://{}", self.listener.local_addr().expect(SET));
            let text =
                text.replace("@URL@", &address).replace("@HOME@", self.world.home().to_str().expect(SET));
            text.replace("@MARK@", &format!("{}/attack", self.marks.display()))
        };
        match content {
            Content::Text(text) => write(&path, &fill(text)),
            Content::Script(text) => {
                write(&path, &format!("#!/bin/sh\n{}\n", fill(text)));
                fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect(SET);
            }
            Content::Link(target) => {
                fs::create_dir_all(path.parent().expect(SET)).expect(SET);
                symlink(fill(target), &path).expect(SET);
            }
            Content::Pipe => {
                fs::create_dir_all(path.parent().expect(SET)).expect(SET);
                mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).expect(SET);
            }
            Content::Folder => fs::create_dir_all(&path).expect(SET),
            Content::Repeated(text, times) => write(&path, &text.repeat(*times)),
            Content::OpenToAll => {
                fs::create_dir_all(&path).expect(SET);
                fs::set_permissions(&path, fs::Permissions::from_mode(0o777)).expect(SET);
            }
        }
    }

    /// Returns what has happened so far that should not have.
    fn traces(&self) -> Vec<String> {
        let mut traces = Vec::new();
        loop {
            match self.listener.accept() {
                Ok((_, from)) => traces.push(format!("a connection from {}", from.ip())),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) => panic!("{error}"),
            }
        }
        for entry in fs::read_dir(&self.marks).expect(SET) {
            let path = entry.expect(SET).path();
            traces.push(format!("{}: {}", path.display(), fs::read_to_string(&path).expect(SET).trim()));
        }
        let leaked = self.model.requests().iter().any(|request| {
            let body = request.json().to_string();
            body.contains(SECRET)
        });
        traces.extend(leaked.then(|| "the secret was sent".to_owned()));
        traces
    }

    /// Returns every file of the folder and of the home directory, with what can be told of it without opening pipes.
    fn files(&self) -> BTreeMap<PathBuf, String> {
        let mut files = BTreeMap::new();
        let mut folders = vec![self.world.work(), self.world.home()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect(SET) {
                let path = entry.expect(SET).path();
                let meta = fs::symlink_metadata(&path).expect(SET);
                let content = if meta.is_file() { fs::read(&path).expect(SET) } else { Vec::new() };
                let what = format!("{:o} {} {}", meta.mode(), meta.len(), String::from_utf8_lossy(&content));
                if meta.is_dir() {
                    folders.push(path.clone());
                }
                files.insert(path, if meta.is_dir() { format!("{:o}", meta.mode()) } else { what });
            }
        }
        files
    }
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().expect(SET)).expect(SET);
    fs::write(path, text).expect(SET);
}

/// Runs an attack in a state, and returns what should not have happened.
fn offences(attack: &Attack, state: State) -> Vec<String> {
    let scene = Scene::new(attack, state);
    let before = scene.files();
    let mut found = match state {
        State::Undecided => {
            let mut pty = scene.world.pty(&["--no-save"], Size { rows: 50, cols: 200 });
            let asked = || pty.drawn().contains("? [y/N] ");
            let ready = || pty.drawn().contains("you> ") || pty.drawn().contains("Error: ");
            wait::until("the question, the prompt, or an error", || asked() || ready());
            // This is the moment before the decision (TRUST-9): not even the model has been contacted.
            let mut found = scene.traces();
            found.extend((scene.model.count() > 0).then(|| "the model was asked".to_owned()));
            if asked() && !ready() {
                pty.send("\r");
                wait::until("the prompt, or an error", || {
                    pty.drawn().contains("you> ") || pty.drawn().contains("Error: ")
                });
            }
            if pty.drawn().contains("you> ") {
                pty.send("hi\r");
                scene.model.wait_for_requests(2);
                pty.wait_for("Done.");
            }
            found.extend(scene.traces());
            found
        }
        State::Headless | State::Untrusted | State::Trusted => {
            drop(scene.world.run(&["exec", "-p", "hi", "--no-save"]));
            scene.traces()
        }
    };
    let after = scene.files();
    for path in before.keys().chain(after.keys()) {
        if before.get(path) != after.get(path) {
            found.push(format!("{} was changed", path.display()));
        }
    }
    let may_run = state == State::Trusted && attack.after == After::Runs;
    if may_run {
        let ran = scene.marks.join("attack").exists();
        assert!(ran, "{} runs once it is trusted, or it shows nothing: {found:?}", attack.name);
        found.retain(|trace| !trace.starts_with(&format!("{}/attack: ", scene.marks.display())));
    }
    found.into_iter().map(|trace| format!("{} {state:?}: {trace}", attack.name)).collect()
}

/// Runs a quarter of the table in one state; together the tests run all of it.
fn quarter(state: State, part: usize) {
    let attacks = ATTACKS.iter().skip(part).step_by(4);
    let offences: Vec<_> = attacks.flat_map(|attack| offences(attack, state)).collect();
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

macro_rules! quarters {
    ($($name:ident $state:ident $part:literal),* $(,)?) => {
        $(#[test] fn $name() { quarter(State::$state, $part); })*
    };
}

quarters! {
    headless_0 Headless 0, headless_1 Headless 1, headless_2 Headless 2, headless_3 Headless 3,
    undecided_0 Undecided 0, undecided_1 Undecided 1, undecided_2 Undecided 2, undecided_3 Undecided 3,
    untrusted_0 Untrusted 0, untrusted_1 Untrusted 1, untrusted_2 Untrusted 2, untrusted_3 Untrusted 3,
    trusted_0 Trusted 0, trusted_1 Trusted 1, trusted_2 Trusted 2, trusted_3 Trusted 3,
}

/// The figure of `docs/contracts/trust.md`, and names that tell the cases apart.
#[test]
fn the_table_is_long_enough() {
    let mut names: Vec<_> = ATTACKS.iter().map(|attack| attack.name).collect();
    names.sort_unstable();
    names.dedup();
    assert!(names.len() >= 60 && names.len() == ATTACKS.len(), "{} of {}", names.len(), ATTACKS.len());
}

/// The traces can be seen: a run that does what no folder may is found out.
#[test]
fn the_recorders_record() {
    let scene = Scene::new(&ATTACKS[0], State::Headless);
    let address = scene.listener.local_addr().unwrap();
    drop(std::net::TcpStream::connect(address).unwrap());
    let path =
        scene.world.cmd(&[]).get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap().to_owned();
    let status = std::process::Command::new("git").env("PATH", path).arg("status").status().unwrap();
    assert!(status.success());
    let traces = scene.traces().join("\n");
    assert!(traces.contains("a connection from 127.0.0.1") && traces.ends_with("children: git"), "{traces}");
}
