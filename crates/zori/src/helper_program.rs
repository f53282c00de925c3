//! Programs of others that know a secret: `gcloud` and `gh` print a token, a credential helper keeps entries. Started by
//! their arguments, never through a shell, and bounded in time (`stream-json.md` section 16).

use std::io::{ErrorKind, Read, Write};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use zori_core::secret::Secret;

use crate::child_env::ChildEnv;

/// How long a program may take that prints a token.
const LIMIT: Duration = Duration::from_secs(10);
/// How often its end is looked for, once its output has ended.
const TICK: Duration = Duration::from_millis(5);

/// Runs a program that prints a token, and returns it. An error is the second half of a sentence.
pub fn ask(argv: &[&str]) -> Result<Secret, String> {
    let printed = run(argv, "", LIMIT)?;
    match printed.trim() {
        "" => Err(format!("`{}` printed nothing", argv.join(" "))),
        token => Ok(token.into()),
    }
}

/// Runs a program with this on its standard input, and returns what it printed. It gets no provider's key and none of
/// our settings. An error is
/// the second half of a sentence, and holds neither input nor output.
pub fn run(argv: &[&str], input: &str, limit: Duration) -> Result<String, String> {
    let (program, args) = argv.split_first().expect("a program has a name");
    let line = argv.join(" ");
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
    ChildEnv::keys_only().apply(&mut command);
    let mut child = command.spawn().map_err(|error| match error.kind() {
        ErrorKind::NotFound => format!("`{program}` is not installed"),
        _ => format!("`{line}` cannot be started: {error}"),
    })?;
    // What a pipe holds at once is more than any input has. One that is not read is the program's business.
    let mut stdin = child.stdin.take().expect("standard input is piped");
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let mut stdout = child.stdout.take().expect("standard output is piped");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.read_to_string(&mut text);
        // Nobody listens any more when the time is up.
        let _ = sender.send(read.map(|_| text));
    });
    let until = Instant::now() + limit;
    let printed = receiver.recv_timeout(limit).ok();
    // Its end may come after that of its output, and has to come in the same time.
    let status = loop {
        match child.try_wait().map_err(|error| format!("`{line}` was lost: {error}"))? {
            Some(status) => break Some(status),
            None if Instant::now() >= until => break None,
            None => std::thread::sleep(TICK),
        }
    };
    let (Some(printed), Some(status)) = (printed, status) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(format!("`{line}` did not answer within {} seconds", limit.as_secs_f32().ceil()));
    };
    if !status.success() {
        return Err(format!("`{line}` failed ({status})"));
    }
    printed.map_err(|error| format!("`{line}` printed no text: {error}"))
}
