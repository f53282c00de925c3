//! Programs of others that print an access token: `gcloud`, `gh`. Started by their arguments, never through a shell,
//! and bounded in time (`stream-json.md` section 16).

use std::io::Read;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How long a program may take.
const LIMIT: Duration = Duration::from_secs(10);
/// How often its end is looked for, once its output has ended.
const TICK: Duration = Duration::from_millis(5);

/// Runs the program and returns what it printed. An error is the second half of a sentence.
pub fn ask(argv: &[&str]) -> Result<String, String> {
    let (program, args) = argv.split_first().expect("a program has a name");
    let line = argv.join(" ");
    let mut command = Command::new(program);
    command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => format!("`{program}` is not installed"),
        _ => format!("`{line}` cannot be started: {error}"),
    })?;
    let mut stdout = child.stdout.take().expect("standard output is piped");
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        let mut text = String::new();
        let read = stdout.read_to_string(&mut text);
        // Nobody listens any more when the time is up.
        let _ = sender.send(read.map(|_| text));
    });
    let until = Instant::now() + LIMIT;
    let printed = receiver.recv_timeout(LIMIT).ok();
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
        return Err(format!("`{line}` did not answer within {} seconds", LIMIT.as_secs()));
    };
    let token = printed.map_err(|error| format!("`{line}` printed no text: {error}"))?.trim().to_owned();
    match status.success() {
        true if token.is_empty() => Err(format!("`{line}` printed nothing")),
        true => Ok(token),
        false => Err(format!("`{line}` failed ({status})")),
    }
}
