//! The rows of the manifest that say what a command does to the world: its danger, the programs it runs, its arguments. Each is
//! proven on the command itself.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use zori::commands::COMMANDS;
use zori::program::{App, ZORI};
use zori_contract::command::Command;
use zori_contract::exit::Danger;
use zori_contract::manifest;
use zori_testkit::env::TestEnv;

use super::flag_walk::{call, sample};
use super::with_session;

/// Commands that are done when they have answered, in a world with something to ask about.
fn answering() -> impl Iterator<Item = &'static Command<App>> {
    COMMANDS.iter().filter(|command| !command.owns_streams())
}

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

/// A row with `danger_level` safe: the command leaves everything as it was.
#[test]
fn what_is_safe_changes_nothing() {
    for command in answering().filter(|command| command.danger == Danger::Safe) {
        let world = prepared();
        let (work, home) = (world.work(), world.home());
        let places = [world.base(), &*work, &*home];
        let before: Vec<_> = places.iter().map(|place| trace(place)).collect();
        let words = call(command, None);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        world.cmd(&words).stdin(Stdio::null()).output().expect("it starts");
        for (place, before) in places.iter().zip(before) {
            let mut after = trace(place);
            after.retain(|path, _| !CACHES.iter().any(|cache| path.ends_with(cache)));
            assert_eq!(after, before, "`{}` is declared to change nothing", command.name());
        }
    }
}

/// Programs that say that they were run.
const PROGRAMS: &[&str] =
    &["sh", "bash", "git", "bwrap", "sandbox-exec", "secret-tool", "xdg-open", "less", "more", "vi", "nano"];

/// The declared `subprocess` and `required_tools`: whoever declares none runs none, and whoever does runs those and no other.
#[test]
fn what_is_run_is_declared() {
    for command in answering() {
        let world = prepared();
        let (bin, log) = (world.tmp().join("bin"), world.tmp().join("ran"));
        fs::create_dir_all(&bin).expect("a folder can be made");
        for name in PROGRAMS {
            let program = bin.join(name);
            let text = format!("#!/bin/sh\necho {name} >> {}\nexit 1\n", log.display());
            fs::write(&program, text).expect("it can be written");
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("it is ours");
        }
        let mut words = call(command, None);
        if command.danger == Danger::Destructive {
            words.push("--yes".to_owned());
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut started = world.cmd(&words);
        started.env("PATH", &bin).stdin(Stdio::null()).output().expect("it starts");
        let ran = fs::read_to_string(&log).unwrap_or_default();
        let schema = manifest::schema(&ZORI, command);
        let tools = schema["required_tools"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        let declared: Vec<&str> = tools.chain(schema["subprocess"]["binary"].as_str()).collect();
        let others: Vec<&str> = ran.lines().filter(|name| !declared.contains(name)).collect();
        assert_eq!(others, [""; 0], "`{}` declares {declared:?}", command.name());
    }
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
