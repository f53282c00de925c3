//! A chat on a pseudo terminal: types when somebody reads, and tells what stays on the screen.

use zori_testkit::pty::Pty;
use zori_testkit::wait;

/// The editor switches pasting on when it begins to read keys, and off when it has a line.
const EDITING: &str = "\x1b[?2004h";
const EDITED: &str = "\x1b[?2004l";

/// How the warning for root begins.
pub const AS_ROOT: &str = "Warning: you are root, ";

/// Waits for the n-th prompt, from 1, and types a line. Before the prompt nobody would read the keys.
#[track_caller]
pub fn type_line(pty: &mut Pty, prompt: usize, keys: &str) {
    type_keys(pty, prompt, keys);
    pty.send("\r");
}

/// Waits for the n-th prompt, and types.
#[track_caller]
pub fn type_keys(pty: &mut Pty, prompt: usize, keys: &str) {
    let found = wait::poll(wait::BOUND, || {
        let drawn = pty.drawn();
        let last = drawn.rsplit(EDITING).next()?;
        (drawn.matches(EDITING).count() >= prompt && last.contains("you> ")).then_some(())
    });
    assert!(found.is_some(), "prompt {prompt} did not come; on the screen:\n{}", shown(&pty.drawn()));
    pty.send(keys);
}

/// Returns the conversation as it stays on the screen: what was typed at each prompt, and what the program said.
fn shown(drawn: &str) -> String {
    let mut text = String::new();
    for part in drawn.split(EDITING) {
        // Before the first prompt, and after each line, the program speaks.
        let said = match part.split_once(EDITED) {
            Some((frames, said)) => {
                let last = frames.rsplit("you> ").next().unwrap_or_default();
                text.push_str(format!("you> {}", plain(last)).trim_end());
                text.push('\n');
                said
            }
            None => part,
        };
        text.push_str(&plain(said));
    }
    let text: String = text.split_inclusive('\n').map(settled).collect();
    // Whether this line is there depends on who runs the tests (MODE-3); `permissions.rs` looks for it.
    text.split_inclusive('\n').filter(|line| !line.starts_with(AS_ROOT)).collect()
}

/// Returns a row with its time as `T`, and with two blanks before what stands at the right; other lines stay as they are.
pub fn settled(line: &str) -> String {
    let numbered =
        line.trim_end().rsplit_once("  #").is_some_and(|(_, number)| number.parse::<u32>().is_ok());
    if !numbered && !line.starts_with(['✓', '∴', '■']) {
        return line.to_owned();
    }
    let time = |word: &str| {
        let number = word.trim_end_matches("ms").trim_end_matches(['s', 'm']);
        number.len() < word.len()
            && !number.is_empty()
            && number.chars().all(|c| c.is_ascii_digit() || c == '.')
    };
    let mut out = String::new();
    for part in line.trim_end_matches('\n').split("  ").filter(|part| !part.is_empty()) {
        let words: Vec<&str> =
            part.trim_start().split(' ').map(|word| if time(word) { "T" } else { word }).collect();
        out.push_str(if out.is_empty() { "" } else { "  " });
        out.push_str(&words.join(" "));
    }
    let indent = line.len() - line.trim_start_matches(' ').len();
    format!("{}{out}\n", " ".repeat(indent))
}

/// Takes out escape sequences and carriage returns.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            // `ESC [ ... letter`, or `ESC` and one character.
            '\x1b' => {
                if chars.next() == Some('[') {
                    chars.by_ref().find(|c| ('@'..='~').contains(c));
                }
            }
            '\r' => {}
            c => out.push(c),
        }
    }
    out
}

/// Waits for the end; returns the conversation and the exit status.
#[track_caller]
pub fn over(pty: Pty) -> String {
    let (status, drawn) = pty.finish();
    format!("{}[{status}]", shown(&drawn))
}
