//! `--timeout`: how it is written, and the clock that ends the command when its time is over (DECISIONS 25).
//!
//! One thread waits. A turn under way is cancelled, so that it ends cleanly; anything else has nothing to lose and is
//! ended on the spot: reading standard input, a slow disk, a line that nobody types.

use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::audit;
use crate::command_error::{CommandError, ErrorCode};
use crate::profile::Profile;
use crate::signals::Deadline;
use crate::ui::Ui;

/// So long a turn may take to end cleanly; a command that does not want to go is killed after two seconds.
const GRACE: Duration = Duration::from_secs(5);
/// How long the last line may take to be written.
const LAST_WORDS: Duration = Duration::from_secs(1);
/// The longest time that can be asked for: what a year has, roughly.
const LONGEST: Duration = Duration::from_secs(365 * 86_400);

/// Reads `500ms`, `30s`, `5m`, `1h`, a bare number of seconds, or 0 for none.
pub fn parse(text: &str) -> Result<Option<Duration>, String> {
    let wrong =
        || format!("`--timeout` takes `500ms`, `30s`, `5m`, `1h`, seconds, or 0 for none, not `{text}`");
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (number, unit) = text.split_at(digits);
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let millis = match unit {
        "ms" => 1,
        "s" | "" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(wrong()),
    };
    let time = number.checked_mul(millis).map(Duration::from_millis);
    match time.filter(|time| *time <= LONGEST).ok_or_else(wrong)? {
        Duration::ZERO => Ok(None),
        time => Ok(Some(time)),
    }
}

/// The running clock of a command.
pub struct Timeout {
    turns: Arc<Mutex<Option<Deadline>>>,
}

impl Timeout {
    /// Starts the clock; `None` where the command may take as long as it likes. `asked` is what `--timeout` says,
    /// `default` what holds without it.
    pub fn start(
        asked: Option<Option<Duration>>,
        default: Option<Duration>,
        profile: &'static Profile,
    ) -> Result<Option<Self>, CommandError> {
        let Some(time) = asked.unwrap_or(default) else { return Ok(None) };
        let turns = Arc::new(Mutex::new(None));
        let clock = turns.clone();
        std::thread::Builder::new()
            .name("timeout".into())
            .stack_size(64 * 1024)
            .spawn(move || {
                std::thread::sleep(time);
                over(&clock, time, profile);
            })
            .map_err(|error| CommandError::new(ErrorCode::Io, format!("cannot start the clock: {error}")))?;
        Ok(Some(Self { turns }))
    }

    /// Lets the turns of this command end cleanly.
    pub fn tell(&self, deadline: Deadline) {
        *self.turns.lock().unwrap_or_else(PoisonError::into_inner) = Some(deadline);
    }
}

fn over(turns: &Mutex<Option<Deadline>>, time: Duration, profile: &Profile) {
    let turns = turns.lock().unwrap_or_else(PoisonError::into_inner);
    if turns.as_ref().is_some_and(Deadline::passed) {
        // It ends by itself, and this thread with it; what hangs all the same is cut off.
        std::thread::sleep(GRACE);
    }
    let error = CommandError::new(
        ErrorCode::Timeout,
        format!("the command was not done within {time:?} (`--timeout`)"),
    );
    let code = profile.exit_code(error.code.exit());
    // Whoever stopped reading our output may have stopped reading this, too.
    let (done, told) = mpsc::channel();
    let _ = std::thread::Builder::new().stack_size(64 * 1024).spawn(move || {
        Ui::standard().report(&error);
        let _ = done.send(());
    });
    let _ = told.recv_timeout(LAST_WORDS);
    audit::end_at_once(code);
    std::process::exit(i32::from(code));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_it_is_written() {
        let millis = |text| parse(text).map(|time| time.map(|time| time.as_millis()));
        for (text, wanted) in
            [("500ms", 500), ("30s", 30_000), ("5m", 300_000), ("1h", 3_600_000), ("7", 7_000)]
        {
            assert_eq!(millis(text), Ok(Some(wanted)), "{text}");
        }
        for text in ["0", "0s", "0ms"] {
            assert_eq!(millis(text), Ok(None), "{text}");
        }
        for text in ["", "s", "-1", "1.5s", "1d", "5 s", "99999999999h", "18446744073709551616"] {
            assert_eq!(
                millis(text),
                Err(format!(
                    "`--timeout` takes `500ms`, `30s`, `5m`, `1h`, seconds, or 0 for none, not `{text}`"
                ))
            );
        }
    }
}
