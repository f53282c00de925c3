//! The exits that every command may come to (`Command::exit_map`), provoked on each of them. What a command declares beyond
//! them is provoked in `failures.rs`, its flags and formats in `flag_walk.rs`.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, ExitStatus, Stdio};
use std::time::Duration;

use rustix::fs::{OFlags, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process};
use zori::commands::COMMANDS;
use zori::program::App;
use zori_contract::command::Command;
use zori_contract::exit::{Danger, Exit};
use zori_testkit::env::TestEnv;
use zori_testkit::wait;

use super::bare;
use super::flag_walk::call;

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

/// 4: the settings of a run have to be somewhere.
#[test]
fn each_needs_a_base_directory_to_show_settings() {
    let mut world = sample();
    for name in ["HOME", "ZORI_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        world.remove_var(name);
    }
    for command in COMMANDS {
        let words = [call(command, None), vec!["--show-config".to_owned()]].concat();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let output = world.run(&words);
        assert_eq!(output.code(), Some(4), "{words:?}\n{output}");
    }
}

/// The same by the commands themselves: those that keep or read something there say so. The others have nothing to do with it.
#[test]
fn what_needs_a_base_directory_says_so() {
    let (with, mut without) = (sample(), sample());
    for name in ["HOME", "ZORI_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
        without.remove_var(name);
    }
    let mut said = Vec::new();
    for command in COMMANDS.iter().filter(|command| !command.owns_streams()) {
        let words = words(command);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let code = |world: &TestEnv| world.run_with_stdin(&words, "").code();
        match (code(&with), code(&without)) {
            (_, Some(4)) => said.push(command.name()),
            // Whatever fails before something is deleted is 2 there (DECISIONS 9).
            (_, Some(2)) if command.path == ["project", "purge"] => {}
            (with, without) => assert_eq!(without, with, "{words:?}"),
        }
    }
    assert!(said.len() > 40, "{said:?}");
    for name in ["sessions list", "undo", "config init", "trust allow", "vault get", "auth login"] {
        assert!(said.iter().any(|known| known == name), "{name} is not among {said:?}");
    }
}

/// 1: an answer that cannot be written is no success: that of the command where it has one, that of `--show-config` else.
#[cfg(target_os = "linux")]
#[test]
fn each_fails_where_nothing_can_be_written() {
    let mut truly = 0;
    for command in COMMANDS {
        let world = sample();
        let own = words(command);
        let own: Vec<&str> = own.iter().map(String::as_str).collect();
        let works = !command.owns_streams() && {
            let output = sample().run_with_stdin(&own, "");
            output.code() == Some(0) && !output.stdout().is_empty()
        };
        let shown = [call(command, None), vec!["--show-config".to_owned()]].concat();
        let shown: Vec<&str> = shown.iter().map(String::as_str).collect();
        let words = if works { own } else { shown };
        truly += u32::from(works);
        let full = File::options().write(true).open("/dev/full").expect("the device is there");
        let status = world.cmd(&words).stdin(Stdio::null()).stdout(full).stderr(Stdio::null()).status();
        assert_eq!(status.expect("it starts").code(), Some(1), "{words:?}");
    }
    assert!(truly > 15, "only {truly} commands have an answer in an empty world");
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
        let ready = || (listens(self.child.id(), number) || has_ended(self.child.id())).then_some(());
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

/// Returns whether a process is over, and only waited for.
fn has_ended(pid: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    status.lines().any(|line| line.starts_with("State:\tZ"))
}

/// Returns whether a process has a handler for a signal.
fn listens(pid: u32, signal: u32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
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
