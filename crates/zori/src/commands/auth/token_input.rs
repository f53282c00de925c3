//! A key from standard input, one line, not echoed at a terminal, from a variable or from a file; checked before it is stored (AUTH-2).

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Write, stdin};
use std::path::Path;

use zori_contract::failure::Failure;
use zori_core::secret::Secret;
use zori_providers::key::fits;

use crate::hidden_input::{self, HiddenTyping, show_typing};
use zori_setup::environment::Environment;
use zori_setup::error::TOKEN_INVALID;
use zori_setup::signals::Signals;
use zori_setup::ui::Ui;

/// More than any key has.
const MAX_LEN: u64 = 16 * 1024;

const STDIN: &str = "standard input";
const WITH_TOKEN: &str = "standard input has to be the key and nothing else: `... --with-token < key.txt`";

/// Reads the key. `whose` is what the user knows the provider by.
pub fn read(whose: &str, terminal: bool, signals: &Signals, ui: &mut Ui) -> Result<Secret, Failure> {
    let mut text = String::new();
    let read = if terminal {
        let _restored = signals.while_editing(give_up);
        ui.raw(&format!("Key of {whose} (it is not shown): "));
        let hidden = HiddenTyping::start();
        let read = hidden_input::read_line(MAX_LEN as usize);
        drop(hidden);
        // The line end that was typed was not shown either.
        ui.raw("\n");
        read.and_then(|line| {
            text = String::from_utf8(line)
                .map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8 text"))?;
            Ok(text.len())
        })
    } else {
        stdin().lock().take(MAX_LEN + 1).read_to_string(&mut text)
    };
    let key = Secret::from(text);
    match read {
        Ok(_) => check(&key, STDIN, WITH_TOKEN),
        Err(error) => Err(Failure::new(&TOKEN_INVALID, format!("no key can be read: {error}"))),
    }
}

/// Takes the key from a variable of the environment.
pub fn in_variable(name: &str, env: &Environment) -> Result<Secret, Failure> {
    let place = format!("the variable `{name}`");
    match env.text(name) {
        Some(text) => check(&text.into(), &place, "put the key there and nothing else"),
        None => Err(Failure::new(&TOKEN_INVALID, format!("{place} is not set, or is no text"))
            .hint("put the key there, or give it to `--with-token` on standard input")),
    }
}

/// Takes the key from a file.
pub fn in_file(path: &Path) -> Result<Secret, Failure> {
    let place = format!("the file {}", path.display());
    let mut text = String::new();
    match File::open(path).and_then(|file| file.take(MAX_LEN + 1).read_to_string(&mut text)) {
        Ok(_) => check(&text.into(), &place, "put the key there and nothing else"),
        Err(error) => Err(Failure::new(&TOKEN_INVALID, format!("{place} cannot be read: {error}"))
            .hint("put the key there, or give it to `--with-token` on standard input")),
    }
}

/// Checks what was read, without ever repeating it.
fn check(read: &Secret, place: &str, hint: &str) -> Result<Secret, Failure> {
    let wrong = |why: &str| Err(Failure::new(&TOKEN_INVALID, why).hint(hint));
    let key = read.reveal().trim();
    if read.reveal().len() as u64 > MAX_LEN {
        wrong(&format!("{place} is longer than any key"))
    } else if key.is_empty() {
        wrong(&format!("there is no key {}", on(place)))
    } else if key.lines().count() > 1 {
        wrong(&format!("there is more than one line {}", on(place)))
    } else if !fits(key) {
        wrong("the key has blanks, control bytes or other characters that no key has")
    } else {
        Ok(key.into())
    }
}

fn on(place: &str) -> String {
    let word = if place == STDIN { "on" } else { "in" };
    format!("{word} {place}")
}

/// A signal ends the program in the middle of the line.
fn give_up() {
    show_typing();
    let _ = std::io::stderr().write_all(b"\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_for_a_key() {
        let checked = |text: &str| match check(&text.into(), STDIN, WITH_TOKEN) {
            Ok(key) => format!("key {}", key.reveal()),
            Err(error) => error.message,
        };
        assert_eq!(checked("  sk-1\r\n"), "key sk-1");
        assert_eq!(checked("sk-1"), "key sk-1");
        assert_eq!(checked(" \n\n"), "there is no key on standard input");
        assert_eq!(checked(""), "there is no key on standard input");
        assert_eq!(checked("sk-1\nsk-2\n"), "there is more than one line on standard input");
        for bad in ["sk 1", "sk\x1b[A", "sk\0", "schlüssel"] {
            assert_eq!(checked(bad), "the key has blanks, control bytes or other characters that no key has");
        }
        let long = "k".repeat(MAX_LEN as usize + 1);
        assert_eq!(checked(&long), "standard input is longer than any key");
    }
}
