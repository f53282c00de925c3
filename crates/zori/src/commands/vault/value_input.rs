//! The value of an entry: standard input, or one line that is not echoed at a terminal; never an argument (VLT-4).

use std::io::stdin;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use zori_contract::args::Args;
use zori_contract::failure::Failure;
use zori_core::secret::Secret;

use crate::commands::{Context, ui};
use crate::hidden_input::{self, HiddenTyping};
use zori_setup::error::TOKEN_INVALID;

/// More than any value has.
pub const MAX_LEN: usize = 64 * 1024;
/// How often a person at a terminal is looked away from, to see whether the run should end.
const GLANCE: Duration = Duration::from_millis(100);

/// Reads the value. One line end after it belongs to whoever sent it.
pub fn read(cx: &mut Context<'_>, args: &Args, name: &str) -> Result<Secret, Failure> {
    let bytes = match cx.inputs.stdin_terminal {
        true => Some(typed(cx, name)?),
        false => cx.input(args)?,
    };
    check(String::from_utf8(bytes.unwrap_or_default()).ok())
}

fn check(text: Option<String>) -> Result<Secret, Failure> {
    let wrong = |why: &str| {
        Failure::new(&TOKEN_INVALID, why)
            .hint("send the value to standard input: `... vault set NAME < file`")
    };
    let text = Secret::from(text.ok_or_else(|| wrong("the value is not UTF-8 text"))?);
    let value = text.reveal();
    let value = value.strip_suffix('\n').map_or(value, |value| value.strip_suffix('\r').unwrap_or(value));
    if value.trim().is_empty() {
        return Err(wrong("there is no value on standard input"));
    }
    if value.contains('\0') {
        return Err(wrong("the value has a zero byte in it, which no secret has"));
    }
    Ok(value.into())
}

/// Reads a line at a terminal that shows nothing of it.
fn typed(cx: &Context<'_>, name: &str) -> Result<Vec<u8>, Failure> {
    let mut ui = ui(cx);
    ui.raw(&format!("Value of {name} (it is not shown): "));
    let hidden = HiddenTyping::start();
    let read = loop {
        cx.cancel.check()?;
        let step = Timespec { tv_sec: 0, tv_nsec: GLANCE.as_nanos() as i64 };
        let stdin = stdin();
        match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&step)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) | Err(_) => break hidden_input::read_line(MAX_LEN),
        }
    };
    drop(hidden);
    // The line end that was typed was not shown either.
    ui.raw("\n");
    read.map_err(|error| Failure::new(&TOKEN_INVALID, format!("no value can be read: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_end_is_not_part_of_the_value() {
        let checked = |text: &str| match check(Some(text.to_owned())) {
            Ok(value) => format!("value {:?}", value.reveal()),
            Err(error) => error.message,
        };
        assert_eq!(checked("a b\r\n"), "value \"a b\"");
        assert_eq!(checked("a\nb\n\n"), "value \"a\\nb\\n\"");
        assert_eq!(checked(" \n"), "there is no value on standard input");
        assert_eq!(checked("a\0"), "the value has a zero byte in it, which no secret has");
        assert_eq!(check(None).err().unwrap().message, "the value is not UTF-8 text");
    }
}
