//! The rows of the manifest that say what a command does to the world: its danger, the programs it runs, its arguments. Each is
//! proven on the command itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::Seek;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::Value;
use zori::commands::COMMANDS;
use zori::program::ZORI;
use zori_contract::command::Command;
use zori_contract::exit::Danger;
use zori_contract::manifest;
use zori_setup::app::App;
use zori_testkit::env::TestEnv;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use super::flag_walk::{call, sample};
use super::with_session;
use super::working::{self, Working};

fn prepared() -> TestEnv {
    let world = with_session();
    world.write("sample.txt", "");
    world
}

/// Every file below a folder, with its length and time.
fn trace(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let (path, facts) = (entry.path(), entry.metadata().expect("it is there"));
            if facts.is_dir() {
                folders.push(path);
            } else {
                let bytes = fs::read(&path).unwrap_or_default();
                found.insert(path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned());
            }
        }
    }
    found
}

/// What any command may keep beside what it does: what it learnt by looking.
const CACHES: &[&str] = &["sessions/index"];

/// The files below these places that were made, changed or removed.
fn changed<'p>(
    places: impl IntoIterator<Item = &'p Path>,
    before: &[BTreeMap<String, String>],
) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (place, before) in places.into_iter().zip(before) {
        let after = trace(place);
        let other = |path: &&String| before.get(*path) != after.get(*path);
        found.extend(before.keys().chain(after.keys()).filter(other).cloned());
    }
    found.retain(|path| !CACHES.iter().any(|cache| path.ends_with(cache)));
    found
}

/// Runs a call that works, and returns which files it changed.
fn changed_by(working: &Working) -> BTreeSet<String> {
    let world = &working.world;
    let (work, home) = (world.work(), world.home());
    let places = [world.base(), &*work, &*home];
    let before: Vec<_> = places.iter().map(|place| trace(place)).collect();
    working.command().output().expect("it starts");
    changed(places, &before)
}

/// A row with `danger_level` safe: the command leaves everything as it was.
#[test]
fn what_is_safe_changes_nothing() {
    for command in working::commands().filter(|command| command.danger == Danger::Safe) {
        let found = changed_by(&Working::new(command));
        let declared = declared(command, "filesystem_side_effects");
        let only_kept = declared.as_array().into_iter().flatten().all(|place| place["type"] != "config");
        assert!(
            found.is_empty() || only_kept,
            "`{}` is declared to change nothing: {found:?}",
            command.name()
        );
        if declared.is_null() {
            assert_eq!(found, BTreeSet::new(), "`{}` is declared to change nothing", command.name());
        }
    }
}

fn declared(command: &Command<App>, name: &str) -> Value {
    manifest::schema(&ZORI, command)[name].clone()
}

/// C-011: what a command writes, makes or removes lies where it says.
#[test]
fn what_is_written_is_declared() {
    let mut untold = Vec::new();
    for command in working::commands() {
        let working = Working::new(command);
        let (work, home) = (working.world.work(), working.world.home());
        let base = working.world.base().display().to_string();
        let places: Vec<String> = declared(command, "filesystem_side_effects")
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|place| place["path"].as_str())
            .map(|path| match path {
                "credential store" => home.join("vault").display().to_string(),
                "the workspace" => work.display().to_string(),
                flag if flag.starts_with("--") => {
                    let words = working.words();
                    let at = words.iter().position(|word| *word == flag).map_or("", |at| words[at + 1]);
                    work.join(at).display().to_string()
                }
                path => path.replace("$ZORI_HOME", &base),
            })
            .collect();
        let found = changed_by(&working);
        let others: Vec<_> =
            found.iter().filter(|path| !places.iter().any(|place| path.starts_with(place))).collect();
        if !others.is_empty() {
            untold.push(format!("`{}` declares {places:?} and writes {others:?}", command.name()));
        }
    }
    assert!(untold.is_empty(), "{}", untold.join("\n"));
}

/// Programs that say that they were run, and are what they are called.
const PROGRAMS: &[&str] =
    &["sh", "bash", "git", "bwrap", "sandbox-exec", "secret-tool", "xdg-open", "less", "more", "vi", "nano"];

/// The declared `subprocess` and `required_tools`: whoever declares none runs none, and whoever does runs those and no other.
/// What the configuration names is declared as `*`.
#[test]
fn what_is_run_is_declared() {
    let mut untold = Vec::new();
    for command in working::commands() {
        let working = Working::new(command);
        let (bin, log) = (working.world.tmp().join("bin"), working.world.tmp().join("ran"));
        fs::create_dir_all(&bin).expect("a folder can be made");
        for name in PROGRAMS {
            let program = bin.join(name);
            let real = ["/usr/bin", "/bin"].map(|folder| Path::new(folder).join(name));
            let real = real.iter().find(|path| path.exists());
            let then = real.map_or("exit 1".to_owned(), |real| format!("exec {} \"$@\"", real.display()));
            let text = format!("#!/bin/sh\necho {name} >> {}\n{then}\n", log.display());
            fs::write(&program, text).expect("it can be written");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        working.command().env("PATH", &bin).output().expect("it starts");
        let ran = fs::read_to_string(&log).unwrap_or_default();
        let schema = manifest::schema(&ZORI, command);
        let tools = schema["required_tools"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let declared: Vec<&str> = tools.chain(schema["subprocess"]["binary"].as_str()).collect();
        let others: Vec<&str> =
            ran.lines().filter(|name| !declared.contains(name) && !declared.contains(&"*")).collect();
        if !others.is_empty() {
            untold.push(format!("`{}` declares {declared:?} and runs {others:?}", command.name()));
        }
    }
    assert!(untold.is_empty(), "{}", untold.join("\n"));
}

/// The declared `has_network_io`: whoever declares none asks nobody, though every way out leads to a server that listens.
#[test]
fn who_asks_the_network_is_declared() {
    let mut untold = Vec::new();
    for command in working::commands() {
        if declared(command, "has_network_io") == true {
            continue;
        }
        let (mut working, listener) =
            (Working::new(command), ModelServer::answering(|_| Reply::json(404, "{}")));
        working.world.use_server(&listener);
        let mut started = working.command();
        for name in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy"] {
            started.env(name, listener.url());
        }
        started.output().expect("it starts");
        if listener.count() > 0 {
            untold.push(format!("`{}` asks the network", command.name()));
        }
    }
    assert!(untold.is_empty(), "{}", untold.join("\n"));
}

/// The declared `stdin_input`: whoever cannot do without it says so without it, and whoever takes none reads none.
#[test]
fn what_is_read_is_declared() {
    let mut untold = Vec::new();
    for command in working::commands().filter(|command| !command.owns_streams()) {
        let working = Working::new(command);
        let file = working.world.write(working.world.tmp().join("more"), "nobody reads this\n");
        let mut file = File::open(file).expect("it was written");
        let mut started = working.command();
        let output = started.stdin(file.try_clone().expect("it is open")).output().expect("it starts");
        // The descriptor is the same, so that its place tells how much was read.
        let read = file.stream_position().expect("it is a file") > 0;
        match command.stdin {
            // A flag asks for it, and says so.
            None if working.words().contains(&"--with-token") => {}
            None if read => untold.push(format!("`{}` reads standard input", command.name())),
            Some(stdin) if stdin.required && !read => {
                untold.push(format!("`{}` does not read: {output:?}", command.name()));
            }
            _ => {}
        }
    }
    assert!(untold.is_empty(), "{}", untold.join("\n"));
}

/// The arguments of a row: one that is required cannot be left out, others can be given, and there are no more.
#[test]
fn arguments_are_as_declared() {
    let world = prepared();
    let code = |command: &Command<App>, words: &[String]| {
        let mut words: Vec<&str> = words.iter().map(String::as_str).collect();
        words.push("--validate-only");
        // These speak a protocol, or need a terminal, and are asked for nothing but whether the call is right.
        let output = world.run(&words);
        (output.code(), format!("`{}` {words:?}\n{output}", command.name()))
    };
    for command in COMMANDS {
        let words = call(command, None);
        let required = command.args.iter().filter(|arg| arg.required).count();
        for left_out in 0..required {
            let mut fewer = words.clone();
            fewer.remove(words.len() - required + left_out);
            // What can come from standard input instead may be left out on the command line.
            let by_stdin = command.stdin.is_some();
            let (code, said) = code(command, &fewer);
            assert!(by_stdin || code == Some(2), "{said}");
        }
        let mut more = words.clone();
        for arg in command.args.iter().filter(|arg| !arg.required) {
            more.push(sample(arg.name, arg.kind));
        }
        let (fits, said) = code(command, &more);
        assert_ne!(fits, Some(2), "{said}");
        if command.args.iter().all(|arg| !arg.many) {
            more.push("one-too-many".to_owned());
            let (refused, said) = code(command, &more);
            assert_eq!(refused, Some(2), "{said}");
        }
    }
}
