//! The exits that every command may come to (`Command::exit_map`), provoked on each of them. What a command declares beyond
//! them is provoked in `failures.rs`, its flags and formats in `flag_walk.rs`.

use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use zori::commands::COMMANDS;
use zori_contract::command::Command;
use zori_contract::exit::{Danger, Exit};
use zori_setup::app::App;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::{process, wait};

use super::bare;
use super::flag_walk::call;
use super::working::{self, Working};

/// Returns the words of a call that works, or fails in the command's own way.
fn words(command: &Command<App>) -> Vec<String> {
    let mut words = call(command, None);
    if command.danger == Danger::Destructive {
        words.push("--yes".to_owned());
    }
    words
}

fn sample() -> TestEnv {
    let world = bare();
    world.write("sample.txt", "");
    world
}

/// 2: what is typed wrong is refused before anything is done.
#[test]
fn each_refuses_an_unknown_flag() {
    let world = sample();
    for command in COMMANDS {
        let words = [call(command, None), vec!["--no-such-flag".to_owned()]].concat();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = world.run(&words);
        assert_eq!(output.code(), Some(2), "{words:?}\n{output}");
    }
}

/// 4: what has to be there first is not. Most keep or read something in the base directory, and say so where there is none; the
/// others have a precondition of their own, or declare that there is nothing they need (`Command::standalone`).
#[test]
fn each_that_needs_something_says_so() {
    let mut untrue = Vec::new();
    for command in COMMANDS {
        let code = precondition(command).code();
        let declared = command.exit_map().contains(&Exit::Precondition);
        if declared != (code == Some(4)) {
            untrue.push(format!("`{}` ended with {code:?}, and declares 4: {declared}", command.name()));
        }
    }
    assert!(untrue.is_empty(), "{}", untrue.join("\n"));
}

/// Runs a command where something is missing that it needs.
fn precondition(command: &Command<App>) -> CommandOutput {
    let mut working = match command.path {
        // A terminal, and standard input.
        ["tui"] | ["batch"] => return bare().run(command.path),
        ["mcp", "login"] => return without_base(bare()).run(&["mcp", "login", "s"]),
        _ => Working::new(command),
    };
    match command.path {
        // They do without a base directory, and not with one that others can write to.
        ["exec"] | ["chat"] | ["auth", "status"] | ["mcp", "serve"] => {
            fs::set_permissions(working.world.base(), Permissions::from_mode(0o777)).expect("it is ours");
        }
        // What was done for a key is kept there; without one it does all it has to, or fails in another way.
        ["cleanup"] | ["generate-skills"] | ["mcp", "validate"] | ["project", "purge"] => {
            working.add(&["--idempotency-key", "k"]);
            working.world = without_base(working.world);
        }
        _ => working.world = without_base(working.world),
    }
    working.run()
}

fn without_base(mut world: TestEnv) -> TestEnv {
    for name in ["HOME", "ZORI_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        world.remove_var(name);
    }
    world
}

/// 1: an answer that cannot be written is no success, whoever gave it.
#[cfg(target_os = "linux")]
#[test]
fn each_fails_where_nothing_can_be_written() {
    let mut untrue = Vec::new();
    for command in working::commands() {
        let code = Working::new(command).run_without_room();
        if code != Some(1) {
            untrue.push(format!("`{}` ended with {code:?}", command.name()));
        }
    }
    assert!(untrue.is_empty(), "{}", untrue.join("\n"));
}

/// How many commands wait at the same time, each in three processes.
const AT_ONCE: usize = 40;

/// 10, 130 and 143: nobody reads the answer, so each is still there when its time is over, or a signal comes. Commands that
/// print by themselves end in their own ways (`timeout.rs`, `interrupt.rs`).
#[cfg(target_os = "linux")]
#[test]
fn each_ends_in_time_and_when_it_is_told() {
    // A memory without a message is exported as nothing, which nobody has to read.
    let silent = |command: &Command<App>| command.path == ["memory", "export"];
    let commands: Vec<_> =
        COMMANDS.iter().filter(|command| !command.owns_streams() && !silent(command)).collect();
    // They wait most of the time, eight seconds where something is changed, so they wait together.
    for group in commands.chunks(AT_ONCE) {
        let waiting: Vec<Waiting> = group
            .iter()
            .flat_map(|command| {
                [Exit::Timeout, Exit::Interrupted, Exit::Terminated].map(|exit| (command, exit))
            })
            .map(|(command, exit)| Waiting::start(command, exit))
            .collect();
        // What changes something has seconds to end in: they all have to be told before one is waited for.
        waiting.iter().for_each(Waiting::tell);
        for one in waiting {
            let (name, exit) = (one.name.clone(), one.exit);
            assert_eq!(one.end().code(), Some(i32::from(exit.code())), "`{name}` shall end with {exit:?}");
        }
    }
}

/// A command whose answer nobody reads.
struct Waiting {
    name: String,
    exit: Exit,
    child: Child,
    _world: TestEnv,
    _reader: OwnedFd,
}

impl Waiting {
    fn start(command: &Command<App>, exit: Exit) -> Self {
        let world = sample();
        let (reader, writer) = full_pipe();
        let mut words = words(command);
        if exit == Exit::Timeout {
            words.push("--timeout=1s".to_owned());
        }
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let mut started = world.cmd(&words);
        started.stdin(Stdio::null()).stdout(writer).stderr(Stdio::null());
        let child = started.spawn().expect("it starts");
        Self { name: command.name(), exit, child, _world: world, _reader: reader }
    }

    /// The signal that ends it, and its number.
    fn signal(&self) -> Option<(Signal, u32)> {
        match self.exit {
            Exit::Interrupted => Some((Signal::INT, 2)),
            Exit::Terminated => Some((Signal::TERM, 15)),
            _ => None,
        }
    }

    /// Sends the signal as soon as there is a handler for it.
    fn tell(&self) {
        let Some((signal, number)) = self.signal() else { return };
        let pid = Pid::from_child(&self.child);
        // One that has ended needs no word.
        let ready =
            || (listens(self.child.id(), number) || process::is_zombie(self.child.id())).then_some(());
        if wait::poll(Duration::from_secs(30), ready).is_some() {
            let _ = kill_process(pid, signal);
        }
    }

    fn end(mut self) -> ExitStatus {
        let (pid, id, signal) = (Pid::from_child(&self.child), self.child.id(), self.signal());
        let ended = wait::poll(Duration::from_secs(120), || {
            if let Some(status) = self.child.try_wait().expect("it is our child") {
                return Some(status);
            }
            // A login takes the first one for a word to itself; a second one ends it.
            if let Some((signal, _)) = signal.filter(|(_, number)| listens(id, *number)) {
                let _ = kill_process(pid, signal);
            }
            None
        });
        let _ = self.child.kill();
        ended.unwrap_or_else(|| panic!("`{}` did not end", self.name))
    }
}

/// Returns whether a process has a handler for a signal.
fn listens(pid: u32, signal: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    let caught = caught.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    caught & (1 << (signal - 1)) != 0
}

/// Returns a pipe that takes nothing more.
fn full_pipe() -> (OwnedFd, OwnedFd) {
    let (reader, writer) = rustix::pipe::pipe().expect("a pipe can be made");
    fcntl_setfl(writer.as_fd(), OFlags::NONBLOCK).expect("a pipe can be told not to wait");
    let mut file = File::from(writer);
    while file.write(&[b' '; 4096]).is_ok() {}
    let writer = OwnedFd::from(file);
    fcntl_setfl(writer.as_fd(), OFlags::empty()).expect("and to wait again");
    (reader, writer)
}
