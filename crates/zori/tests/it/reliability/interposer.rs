//! The write interposer for the shipped binary: a system-call tracer that kills the program at its n-th call of a kind, makes that call
//! fail, or only writes down what was called in which order. It needs root, since the program lets nobody else look at it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use zori_testkit::env::TestEnv;
use zori_testkit::needs;
use zori_testkit::output::CommandOutput;
use zori_testkit::running::{Stdin, Stdout};

/// What happens at a call.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    Kill,
    /// It fails with this error, and does nothing.
    Fail(&'static str),
}

/// A kind of call, and at which one of them something happens.
#[derive(Clone, Copy, Debug)]
pub struct At {
    pub call: &'static str,
    pub nth: usize,
    pub fault: Fault,
}

/// Returns whether there is a tracer and we may use it.
#[track_caller]
pub fn can_trace() -> bool {
    needs::root() && needs::program("strace").is_some()
}

/// What a traced run came to.
pub struct Traced {
    pub output: CommandOutput,
    /// Whether the fault took place.
    pub struck: bool,
}

/// Runs the executable where every call of these kinds that is about one of these paths fails with an error.
pub fn failing(world: &TestEnv, args: &[&str], calls: &str, error: &str, paths: &[PathBuf]) -> CommandOutput {
    let mut options = vec!["-e".to_owned(), format!("trace={calls}")];
    options.extend(["-e".to_owned(), format!("inject={calls}:error={error}:when=1+")]);
    options.extend(paths.iter().flat_map(|path| ["-P".to_owned(), path.display().to_string()]));
    run(world, args, &options).0
}

/// Runs the executable and strikes; calls count where they are about one of these paths, if there are any.
pub fn strike(world: &TestEnv, args: &[&str], at: At, paths: &[PathBuf]) -> Traced {
    let what = match at.fault {
        Fault::Kill => "signal=SIGKILL".to_owned(),
        Fault::Fail(error) => format!("error={error}"),
    };
    let mut options = vec!["-e".to_owned(), format!("trace={}", at.call)];
    options.extend(["-e".to_owned(), format!("inject={}:{what}:when={}", at.call, at.nth)]);
    for path in paths {
        options.extend(["-P".to_owned(), path.display().to_string()]);
    }
    let (output, log) = run(world, args, &options);
    let struck = match at.fault {
        Fault::Kill => log.contains("+++ killed by SIGKILL +++"),
        Fault::Fail(_) => log.contains("(INJECTED)"),
    };
    Traced { output, struck }
}

/// A call that was made, in the order in which calls were done.
#[derive(Debug)]
pub struct Call {
    pub name: String,
    /// Its arguments and its result, as the tracer shows them.
    pub args: String,
    succeeded: bool,
}

impl Call {
    pub fn is_about(&self, path: &Path) -> bool {
        self.args.contains(&format!("<{}>", path.display()))
    }
}

/// Runs the executable and returns its output, and the calls of these kinds that succeeded.
pub fn record(world: &TestEnv, args: &[&str], calls: &str) -> (CommandOutput, Vec<Call>) {
    let (output, mut all) = record_all(world, args, calls);
    all.retain(|call| call.succeeded);
    (output, all)
}

/// Does the same, with the calls that failed.
pub fn record_all(world: &TestEnv, args: &[&str], calls: &str) -> (CommandOutput, Vec<Call>) {
    let options = ["-y", "-s", "100000", "-e", &format!("trace={calls}")].map(str::to_owned);
    let (output, log) = run(world, args, &options);
    (output, parse(&log))
}

fn run(world: &TestEnv, args: &[&str], options: &[String]) -> (CommandOutput, String) {
    let log = world.home().join("trace");
    let inner = world.cmd(args);
    let mut outer = Command::new("strace");
    outer.args(["-f", "-o"]).arg(&log).args(options);
    outer.arg(inner.get_program()).args(inner.get_args()).current_dir(world.work()).env_clear();
    outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = world.start(outer, Stdin::Null, Stdout::Captured).finish();
    let text = std::fs::read(&log).expect("the tracer writes its log");
    (output, String::from_utf8_lossy(&text).into_owned())
}

/// Reads `PID name(args) = result`; a call that another one interrupts is in two pieces.
fn parse(log: &str) -> Vec<Call> {
    let mut begun: HashMap<&str, (String, String)> = HashMap::new();
    let mut calls = Vec::new();
    for line in log.lines() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        let rest = rest.trim_start();
        if let Some(start) = rest.strip_suffix(" <unfinished ...>") {
            if let Some((name, args)) = start.split_once('(') {
                begun.insert(pid, (name.to_owned(), args.to_owned()));
            }
            continue;
        }
        let (name, args) = match rest.starts_with("<... ") {
            true => match begun.remove(pid) {
                Some((name, args)) => (name, format!("{args}{rest}")),
                None => continue,
            },
            false => match rest.split_once('(') {
                Some((name, args)) => (name.to_owned(), args.to_owned()),
                None => continue,
            },
        };
        let succeeded = args.rsplit_once(" = ").is_some_and(|(_, result)| !result.starts_with('-'));
        calls.push(Call { name, args, succeeded });
    }
    calls
}

#[test]
fn lines_of_a_trace() {
    let log = "7  write(15</s.jsonl>, \"a = b\", 5) = 5\n7  fdatasync(15</s.jsonl> <unfinished ...>\n8  execve(\"/bin/x\", [\"x\"]) = -1 ENOENT (No)\n\
               8  execve(\"/bin/sh\") = 0\n7  <... fdatasync resumed>) = 0\n7  +++ exited with 0 +++\n";
    let seen: Vec<String> = parse(log)
        .into_iter()
        .map(|call| format!("{} {} {}", call.name, call.is_about(Path::new("/s.jsonl")), call.succeeded))
        .collect();
    assert_eq!(seen, ["write true true", "execve false false", "execve false true", "fdatasync true true"]);
}
