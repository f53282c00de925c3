//! Bytes of a terminal to keys, pastes and answers, wherever reads cut them (TTY-1).
//!
//! An answer to a question of ours never becomes a key, however late or cut it comes: string sequences are read to their end, and unknown ones are
//! dropped whole. One that never ends does not take what is typed behind it along: no answer has a control character in it, none is long, and a
//! colour is made of a few letters only. An escape that stands alone is a key, and so is one with a bracket if no answer is due; only
//! [`Decoder::flush`] says so.

use crate::keys::{Key, KeyCode, Mods};

/// Something a terminal sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TermEvent {
    Key(Key),
    /// Text that was pasted as a whole.
    Paste(String),
    /// The window got or lost the focus.
    Focus(bool),
    /// The wheel was turned by a notch, away from the person or towards them.
    Wheel {
        up: bool,
    },
    /// The answer to a question of ours.
    Answer(Answer),
}

/// An answer of the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// DA1: it answers questions, and this is the last of a bundle.
    Attributes,
    /// XTVERSION: its name.
    Version(String),
    /// OSC 11: its ground.
    Background { red: u8, green: u8, blue: u8 },
    /// DECRQM: whether it knows a mode.
    Mode { mode: u16, known: bool, set: bool },
    /// Whether it knows the kitty keyboard flags.
    KittyFlags(u8),
    /// Mode 2031: the user changed between light and dark.
    ColourScheme { light: bool },
}

/// Sequences longer than this are nobody's answer.
const LONGEST: usize = 4096;
/// What a terminal says of its ground.
const COLOUR: &str = "11;rgb:";
const PASTE_START: &[u8] = b"\x1b[200~";
const PASTE_END: &[u8] = b"\x1b[201~";

/// Decodes a stream of bytes.
#[derive(Debug, Default)]
pub struct Decoder {
    pending: Vec<u8>,
    /// What of a paste has come.
    paste: Option<Vec<u8>>,
    /// An escape was taken for a key while answers are due: what follows may still be the rest of one.
    cut: bool,
    /// How many answers are due.
    due: usize,
}

/// What a prefix of the pending bytes is.
enum Step {
    /// So many bytes, and what they mean, if anything.
    Taken(usize, Option<TermEvent>),
    /// More bytes are needed.
    More,
    PasteStarts,
}

impl Decoder {
    /// Says that the terminal was asked so many questions.
    pub fn expect_answers(&mut self, count: usize) {
        self.due = count;
    }

    /// Returns whether answers are still due.
    pub fn answers_due(&self) -> bool {
        self.due > 0
    }

    /// Takes bytes; returns what they complete.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<TermEvent> {
        let mut events = Vec::new();
        if std::mem::take(&mut self.cut) && begins_answer(bytes) {
            self.pending.push(0x1b);
        }
        self.pending.extend_from_slice(bytes);
        if self.paste.is_some() {
            self.take_paste(&mut events);
        }
        // What is taken goes at the end at once: a read may have a hundred thousand keys.
        let mut taken = 0;
        while self.paste.is_none() && taken < self.pending.len() {
            match step(&self.pending[taken..]) {
                Step::Taken(count, event) => {
                    taken += count;
                    if matches!(event, Some(TermEvent::Answer(_))) {
                        self.due = self.due.saturating_sub(1);
                    }
                    if matches!(event, Some(TermEvent::Answer(Answer::Attributes))) {
                        self.due = 0;
                    }
                    events.extend(event);
                }
                Step::PasteStarts => {
                    self.pending.drain(..std::mem::take(&mut taken) + PASTE_START.len());
                    self.paste = Some(Vec::new());
                    self.take_paste(&mut events);
                }
                // The first byte alone is dropped: what follows may be text.
                Step::More if self.pending.len() - taken > LONGEST => taken += 1,
                Step::More => break,
            }
        }
        self.pending.drain(..taken);
        events
    }

    /// Returns whether an escape waits to be told from the beginning of a sequence.
    pub fn is_waiting(&self) -> bool {
        let introduces = matches!(self.pending[..], [0x1b, b'[' | b']' | b'P' | b'O' | b'_' | b'^' | b'X']);
        self.paste.is_none() && (self.pending == [0x1b] || introduces && self.due == 0)
    }

    /// Returns whether more than an escape waits: a key that almost nobody presses, or a sequence that the line has cut.
    pub fn is_half(&self) -> bool {
        self.pending.len() > 1
    }

    /// Says that nothing came for a while: an escape that stands alone is the key, and one before a character is Alt with it.
    pub fn flush(&mut self) -> Option<TermEvent> {
        if !self.is_waiting() {
            return None;
        }
        let pending = std::mem::take(&mut self.pending);
        if let Some(byte) = pending.get(1) {
            return key(KeyCode::Char(*byte as char), Mods::ALT);
        }
        self.cut = self.due > 0;
        Some(TermEvent::Key(Key::plain(KeyCode::Esc)))
    }

    fn take_paste(&mut self, events: &mut Vec<TermEvent>) {
        let Some(paste) = &mut self.paste else { return };
        match self.pending.windows(PASTE_END.len()).position(|window| window == PASTE_END) {
            Some(at) => {
                paste.extend(self.pending.drain(..at));
                self.pending.drain(..PASTE_END.len());
                let bytes = self.paste.take().unwrap_or_default();
                events.push(TermEvent::Paste(lines(&String::from_utf8_lossy(&bytes))));
            }
            None => {
                // The end may have been cut.
                let whole = self.pending.len().saturating_sub(PASTE_END.len() - 1);
                paste.extend(self.pending.drain(..whole));
            }
        }
    }
}

/// Terminals send CR where the text has a line end; CR with LF stays what it is.
fn lines(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' if chars.peek() != Some(&'\n') => out.push('\n'),
            c => out.push(c),
        }
    }
    out
}

fn begins_answer(bytes: &[u8]) -> bool {
    [&b"[?"[..], b"]1", b"]4", b"P>", b"P1", b"[>"].iter().any(|start| bytes.starts_with(start))
}

fn key(code: KeyCode, mods: Mods) -> Option<TermEvent> {
    Some(TermEvent::Key(Key { code, mods }))
}

fn step(bytes: &[u8]) -> Step {
    match bytes[0] {
        0x1b => escape(bytes),
        byte => match byte {
            b'\r' => Step::Taken(1, key(KeyCode::Enter, Mods::NONE)),
            b'\t' => Step::Taken(1, key(KeyCode::Tab, Mods::NONE)),
            0x7f => Step::Taken(1, key(KeyCode::Backspace, Mods::NONE)),
            0 => Step::Taken(1, key(KeyCode::Char(' '), Mods::CTRL)),
            0x01..=0x1a => Step::Taken(1, key(KeyCode::Char((byte + 0x60) as char), Mods::CTRL)),
            0x1c..=0x1f => Step::Taken(1, key(KeyCode::Char((byte + 0x40) as char), Mods::CTRL)),
            _ => character(bytes, Mods::NONE, 0),
        },
    }
}

/// A character of text behind `skip` bytes.
fn character(bytes: &[u8], mods: Mods, skip: usize) -> Step {
    let text = &bytes[skip..];
    let length = match text[0] {
        0xf0..=0xf7 => 4,
        0xe0..=0xef => 3,
        0xc0..=0xdf => 2,
        _ => 1,
    };
    if text.len() < length && std::str::from_utf8(text).is_err_and(|error| error.error_len().is_none()) {
        return Step::More;
    }
    let cut = length.min(text.len());
    match std::str::from_utf8(&text[..cut]).ok().and_then(|text| text.chars().next()) {
        Some(c) if !c.is_control() => Step::Taken(skip + cut, key(KeyCode::Char(c), mods)),
        Some(_) => Step::Taken(skip + cut, None),
        None => Step::Taken(skip + 1, key(KeyCode::Char(char::REPLACEMENT_CHARACTER), mods)),
    }
}

fn escape(bytes: &[u8]) -> Step {
    match bytes.get(1) {
        None => Step::More,
        Some(b'[') => control_sequence(bytes),
        Some(b'O') => match bytes.get(2) {
            None => Step::More,
            Some(letter) => Step::Taken(3, ss3(*letter)),
        },
        Some(b']') => string(bytes, osc),
        Some(b'P') => string(bytes, dcs),
        Some(b'_' | b'^' | b'X') => string(bytes, |_| None),
        Some(0x1b) => Step::Taken(1, key(KeyCode::Esc, Mods::NONE)),
        Some(byte) => match byte {
            b'\r' | b'\n' => Step::Taken(2, key(KeyCode::Enter, Mods::ALT)),
            0x7f | 0x08 => Step::Taken(2, key(KeyCode::Backspace, Mods::ALT)),
            b'\t' => Step::Taken(2, key(KeyCode::Tab, Mods::ALT)),
            0x01..=0x1a => {
                Step::Taken(2, key(KeyCode::Char((byte + 0x60) as char), Mods { ctrl: true, ..Mods::ALT }))
            }
            0..0x20 => Step::Taken(2, None),
            _ => character(bytes, Mods::ALT, 1),
        },
    }
}

/// A string sequence, to its end (ST or BEL).
fn string(bytes: &[u8], read: fn(&str) -> Option<Answer>) -> Step {
    let body = &bytes[2..];
    // Before a colour's first letter that is none: that one is text, and the colour was cut off for good.
    let foreign = body.strip_prefix(COLOUR.as_bytes()).and_then(|colour| {
        let of_colour = |byte: &u8| byte.is_ascii_hexdigit() || *byte == b'/' || *byte < 0x20;
        let at = colour.iter().position(|byte| !of_colour(byte))?;
        colour[..at].iter().all(|byte| *byte >= 0x20).then_some(COLOUR.len() + at)
    });
    if let (b']', Some(at)) = (bytes[1], foreign) {
        return Step::Taken(2 + at, None);
    }
    let Some(end) = body.iter().position(|byte| *byte < 0x20) else {
        return Step::More;
    };
    let event = |read: fn(&str) -> Option<Answer>| {
        std::str::from_utf8(&body[..end]).ok().and_then(read).map(TermEvent::Answer)
    };
    match body[end] {
        0x07 => Step::Taken(2 + end + 1, event(read)),
        0x1b => match body.get(end + 1) {
            None => Step::More,
            Some(b'\\') => Step::Taken(2 + end + 2, event(read)),
            // Another sequence begins: this one was cut off for good.
            Some(_) => Step::Taken(2 + end, None),
        },
        0x18 | 0x1a => Step::Taken(2 + end + 1, None),
        // A key such as Enter: this one was cut off for good.
        _ => Step::Taken(2 + end, None),
    }
}

fn osc(text: &str) -> Option<Answer> {
    let colour = text.strip_prefix(COLOUR)?;
    let mut parts = colour.split('/').map(|part| {
        let digits = part.get(..part.len().min(4))?;
        let value = u32::from_str_radix(digits, 16).ok()?;
        let most = (1u32 << (4 * digits.len())) - 1;
        u8::try_from(value * 255 / most).ok()
    });
    Some(Answer::Background { red: parts.next()??, green: parts.next()??, blue: parts.next()?? })
}

fn dcs(text: &str) -> Option<Answer> {
    text.strip_prefix(">|").map(|name| Answer::Version(name.to_owned()))
}

fn ss3(letter: u8) -> Option<TermEvent> {
    let code = match letter {
        b'P'..=b'S' => KeyCode::F(letter - b'P' + 1),
        b'M' => KeyCode::Enter,
        letter => arrow(letter)?,
    };
    key(code, Mods::NONE)
}

fn arrow(letter: u8) -> Option<KeyCode> {
    Some(match letter {
        b'A' => KeyCode::Up,
        b'B' => KeyCode::Down,
        b'C' => KeyCode::Right,
        b'D' => KeyCode::Left,
        b'H' => KeyCode::Home,
        b'F' => KeyCode::End,
        _ => return None,
    })
}

fn control_sequence(bytes: &[u8]) -> Step {
    let mut at = 2;
    loop {
        match bytes.get(at) {
            None => return Step::More,
            Some(0x20..=0x3f) => at += 1,
            Some(0x40..=0x7e) => break,
            // Cut off for good; whatever this byte is, it begins something else.
            Some(_) => return Step::Taken(at, None),
        }
    }
    let (params, last) = (std::str::from_utf8(&bytes[2..at]).unwrap_or_default(), bytes[at]);
    if params == "200" && last == b'~' {
        return Step::PasteStarts;
    }
    // The old mouse report has three bytes of its own behind it.
    if last == b'M' && params.is_empty() {
        return if bytes.len() < at + 4 { Step::More } else { Step::Taken(at + 4, None) };
    }
    Step::Taken(at + 1, sequence(params, last))
}

/// A report of the mouse (mode 1006): buttons 64 and 65 are the wheel, three bits of the number the modifiers.
fn mouse(report: &str, last: u8) -> Option<TermEvent> {
    let button: u32 = report.split(';').next()?.parse().ok()?;
    match (button & !0b1_1100, last) {
        (64, b'M') => Some(TermEvent::Wheel { up: true }),
        (65, b'M') => Some(TermEvent::Wheel { up: false }),
        _ => None,
    }
}

fn sequence(params: &str, last: u8) -> Option<TermEvent> {
    if let Some(private) = params.strip_prefix('?') {
        return private_answer(private, last).map(TermEvent::Answer);
    }
    if let Some(report) = params.strip_prefix('<') {
        return mouse(report, last);
    }
    let mut numbers = params.split(';').map(|part| {
        let mut subs = part.split(':').map(|number| number.parse::<u32>().ok());
        (subs.next().flatten(), subs.next().flatten())
    });
    let (first, _) = numbers.next().unwrap_or_default();
    let (second, kind) = numbers.next().unwrap_or_default();
    // The kitty protocol says 3 for a key that was let go.
    if kind == Some(3) {
        return None;
    }
    let mods = Mods::from_parameter(second.unwrap_or(1));
    match last {
        b'I' => Some(TermEvent::Focus(true)),
        b'O' => Some(TermEvent::Focus(false)),
        b'Z' => key(KeyCode::Tab, Mods { shift: true, ..mods }),
        b'P' | b'Q' | b'S' => key(KeyCode::F(last - b'P' + 1), mods),
        b'u' => key(code_of(first?)?, mods).map(normal),
        b'~' if first == Some(27) => key(code_of(numbers.next()?.0?)?, mods).map(normal),
        b'~' => {
            let code = match first? {
                1 | 7 => KeyCode::Home,
                2 => KeyCode::Insert,
                3 => KeyCode::Delete,
                4 | 8 => KeyCode::End,
                5 => KeyCode::PageUp,
                6 => KeyCode::PageDown,
                n @ 11..=15 => KeyCode::F(n as u8 - 10),
                n @ 17..=21 => KeyCode::F(n as u8 - 11),
                n @ 23..=24 => KeyCode::F(n as u8 - 12),
                _ => return None,
            };
            key(code, mods)
        }
        letter => key(arrow(letter)?, mods),
    }
}

/// Letters come in the form that the old encoding has: Shift is part of the character.
fn normal(event: TermEvent) -> TermEvent {
    match event {
        TermEvent::Key(Key { code: KeyCode::Char(c), mods }) if mods.shift && !mods.ctrl && !mods.alt => {
            let c = if c.is_lowercase() { c.to_uppercase().next().unwrap_or(c) } else { c };
            TermEvent::Key(Key { code: KeyCode::Char(c), mods: Mods { shift: false, ..mods } })
        }
        event => event,
    }
}

fn code_of(number: u32) -> Option<KeyCode> {
    Some(match number {
        13 | 57414 => KeyCode::Enter,
        9 => KeyCode::Tab,
        27 => KeyCode::Esc,
        8 | 127 => KeyCode::Backspace,
        // The kitty protocol's private numbers: modifiers alone, media keys, the keypad.
        57417 => KeyCode::Left,
        57418 => KeyCode::Right,
        57419 => KeyCode::Up,
        57420 => KeyCode::Down,
        57399..=57408 => KeyCode::Char(char::from_digit(number - 57399, 10)?),
        57344..=63743 => return None,
        number => KeyCode::Char(char::from_u32(number).filter(|c| !c.is_control())?),
    })
}

fn private_answer(params: &str, last: u8) -> Option<Answer> {
    match last {
        b'c' => Some(Answer::Attributes),
        b'u' => Some(Answer::KittyFlags(params.parse().ok()?)),
        b'y' => {
            let (mode, state) = params.strip_suffix('$')?.split_once(';')?;
            let (known, set) = (!matches!(state, "0" | "4"), matches!(state, "1" | "3"));
            Some(Answer::Mode { mode: mode.parse().ok()?, known, set })
        }
        b'n' => match params {
            "997;1" => Some(Answer::ColourScheme { light: false }),
            "997;2" => Some(Answer::ColourScheme { light: true }),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests;
