//! Reads the prompt of a non-interactive run from the command line, from standard input, or both (CLI-3, DECISIONS 22).

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use zori_contract::error::{EMPTY_STDIN, IO_ERROR, STDIN_TOO_LARGE};
use zori_contract::failure::Failure;

use zori_setup::error::{PROMPT_INVALID, PROMPT_MISSING};
use zori_setup::signals::Signals;
use zori_setup::ui::Ui;

/// A prompt from standard input may have this many bytes.
pub const MAX_STDIN: usize = 10 << 20;
/// How long a piped stdin may take to send its first byte if there is a prompt already.
const FIRST_BYTE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long to wait before telling the user what zori waits for.
const NOTICE_AFTER: Duration = Duration::from_millis(500);

/// Where a prompt comes from.
#[derive(Clone, Copy, Debug)]
pub struct Sources<'a> {
    /// The text of `-p`; `-` stands for standard input.
    pub flag: Option<&'a str>,
    /// The file of `--input-file`, in the place of standard input; `-` is standard input.
    pub file: Option<&'a str>,
    /// A lone `-` argument was given: wait for standard input as long as it takes.
    pub dash: bool,
    /// Standard input is a terminal, from which no prompt is read unless asked for.
    pub stdin_terminal: bool,
}

/// Joins the prompt's parts.
pub fn gather(sources: Sources<'_>, signals: &Signals, ui: &mut Ui) -> Result<String, Failure> {
    let flag = sources.flag.filter(|text| *text != "-");
    let asked = sources.dash || sources.flag == Some("-") || sources.file == Some("-");
    let piped = match (flag, asked) {
        _ if let Some(file) = sources.file.filter(|file| *file != "-") => Some(from_file(file)?),
        (_, true) => Some(read_all(signals, ui)?),
        (None, false) if sources.stdin_terminal => None,
        (None, false) => Some(read_all(signals, ui)?),
        (Some(_), false) if sources.stdin_terminal => None,
        (Some(_), false) => match wait(FIRST_BYTE_TIMEOUT, signals)? {
            Ready::Yes => Some(read_all(signals, ui)?),
            Ready::Closed => None,
            Ready::No => {
                ui.say("Nothing arrived on standard input within 3 seconds; going on without it (`-` waits for it)");
                None
            }
        },
    };
    let piped = piped.as_deref().map(str::trim).unwrap_or_default();
    let prompt = match flag.map(str::trim).unwrap_or_default() {
        "" => piped.to_owned(),
        flag if piped.is_empty() => flag.to_owned(),
        flag => format!("{flag}\n\n{piped}"),
    };
    if prompt.is_empty() {
        let empty = flag.is_none() && sources.file.is_none() && (asked || !sources.stdin_terminal);
        let kind = if empty { &EMPTY_STDIN } else { &PROMPT_MISSING };
        return Err(
            Failure::new(kind, "there is no prompt").hint("give one with `-p TEXT`, or on standard input")
        );
    }
    Ok(prompt)
}

fn from_file(file: &str) -> Result<String, Failure> {
    std::fs::read_to_string(file).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::not_found("input file", file),
        _ => Failure::new(&PROMPT_INVALID, format!("`--input-file`: cannot read {file}: {error}")),
    })
}

enum Ready {
    Yes,
    No,
    /// Standard input is closed.
    Closed,
}

/// Returns whether standard input has something, or is over: whoever waits for it does not wait for nothing.
pub fn is_at_hand(signals: &Signals) -> Result<bool, Failure> {
    Ok(!matches!(wait(Duration::ZERO, signals)?, Ready::No))
}

/// Waits until standard input has data or ends.
fn wait(limit: Duration, signals: &Signals) -> Result<Ready, Failure> {
    let stdin = io::stdin();
    let until = Instant::now() + limit;
    loop {
        signals.check()?;
        let left = until.saturating_duration_since(Instant::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
        let mut fds = [PollFd::from_borrowed_fd(stdin.as_fd(), PollFlags::IN)];
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) => return Ok(Ready::No),
            Ok(_) if fds[0].revents().contains(PollFlags::NVAL) => return Ok(Ready::Closed),
            Ok(_) => return Ok(Ready::Yes),
            // A signal came; whether it ends the program is seen above.
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(unreadable(error.into())),
        }
    }
}

fn read_all(signals: &Signals, ui: &mut Ui) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    let mut told = false;
    loop {
        match wait(NOTICE_AFTER, signals)? {
            Ready::Closed => break,
            Ready::No => {
                if !told {
                    ui.say("Reading the prompt from standard input until it ends...");
                    told = true;
                }
                continue;
            }
            Ready::Yes => {}
        }
        match io::stdin().lock().read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => bytes.extend_from_slice(&chunk[..n]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(unreadable(error)),
        }
        if bytes.len() > MAX_STDIN {
            let message = format!("the prompt on standard input is larger than {MAX_STDIN} bytes");
            return Err(Failure::new(&STDIN_TOO_LARGE, message)
                .hint("put it into a file in the root and ask the model to read that"));
        }
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let message = format!("the prompt on standard input is not UTF-8 text (byte {at})");
        Failure::new(&PROMPT_INVALID, message)
    })
}

fn unreadable(error: io::Error) -> Failure {
    Failure::new(&IO_ERROR, format!("cannot read standard input: {error}"))
}
