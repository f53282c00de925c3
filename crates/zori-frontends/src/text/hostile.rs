//! TERM-6: a terminal that is sent whatever a model or a tool says stays as it was.

use vt100::{Callbacks, Parser, Screen};

use super::ToolCode;
use super::tests::{COLOUR, SCREEN, screen};
use crate::sample::{begun, delta, failed, finished, replied, requested, started, thinking, warning};

/// CI runs a tenth of the full figure (DECISIONS 34).
const CASES: usize = 1_000;

/// Whatever a terminal does beside showing text.
#[derive(Default)]
struct Deeds(Vec<String>);

impl Deeds {
    fn add(&mut self, what: impl std::fmt::Debug) {
        self.0.push(format!("{what:?}"));
    }
}

impl Callbacks for Deeds {
    fn audible_bell(&mut self, _: &mut Screen) {
        self.add("bell");
    }
    fn visual_bell(&mut self, _: &mut Screen) {
        self.add("visual bell");
    }
    fn resize(&mut self, _: &mut Screen, size: (u16, u16)) {
        self.add(("resize", size));
    }
    fn set_window_icon_name(&mut self, _: &mut Screen, name: &[u8]) {
        self.add(("icon", name));
    }
    fn set_window_title(&mut self, _: &mut Screen, title: &[u8]) {
        self.add(("title", title));
    }
    fn copy_to_clipboard(&mut self, _: &mut Screen, kind: &[u8], data: &[u8]) {
        self.add(("copy", kind, data));
    }
    fn paste_from_clipboard(&mut self, _: &mut Screen, kind: &[u8]) {
        self.add(("paste", kind));
    }
    fn unhandled_char(&mut self, _: &mut Screen, c: char) {
        self.add(("char", c));
    }
    fn unhandled_control(&mut self, _: &mut Screen, byte: u8) {
        self.add(("control", byte));
    }
    fn unhandled_escape(&mut self, _: &mut Screen, a: Option<u8>, b: Option<u8>, c: u8) {
        self.add(("escape", a, b, c));
    }
    fn unhandled_csi(&mut self, _: &mut Screen, a: Option<u8>, b: Option<u8>, params: &[&[u16]], c: char) {
        self.add(("csi", a, b, params, c));
    }
    fn unhandled_osc(&mut self, _: &mut Screen, params: &[&[u8]]) {
        self.add(("osc", params));
    }
}

/// Shows the bytes on a terminal and returns what it did and what state it is in, beside its text.
fn shown(bytes: &str) -> (Vec<String>, String, Vec<u8>) {
    let mut parser = Parser::new_with_callbacks(24, 80, 0, Deeds::default());
    parser.process(bytes.replace('\n', "\r\n").as_bytes());
    let screen = parser.screen().clone();
    let state = [screen.attributes_formatted(), screen.input_mode_formatted()].concat();
    let hidden = screen.hide_cursor() || screen.alternate_screen();
    let mut deeds = std::mem::take(&mut parser.callbacks_mut().0);
    deeds.extend(hidden.then(|| "mode".to_owned()));
    (deeds, screen.contents(), state)
}

/// A small generator, so that every run sees the same cases.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }

    fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.roll(of.len())]
    }

    fn sequence(&mut self) -> String {
        let number = self.roll(100);
        let text = self.pick(&["", "x", "pwned", "52;c;aGk=", "0;title", "?25", "10;?", "4;1;rgb:ff/00/00"]);
        let end = self.pick(&["\x07", "\x1b\\", "\u{9c}", "", "\n"]);
        let last =
            self.pick(&['A', 'H', 'J', 'K', 'm', 'h', 'l', 'r', 's', 'u', 't', 'c', 'n', 'q', '@', 'p']);
        match self.roll(9) {
            0 => format!("\x1b[{number};{number}{last}"),
            1 => format!("\x1b[?{number}{last}"),
            2 => format!(
                "{}{text}{end}",
                self.pick(&["\x1b]", "\u{9d}", "\x1bP", "\u{90}", "\x1b_", "\x1b^", "\x1bX"])
            ),
            3 => format!("\u{9b}{number}{last}"),
            4 => self
                .pick(&["\x1bc", "\x1b7", "\x1b8", "\x1bM", "\x1bD", "\x1b#8", "\x1b(0", "\x0e", "\x0f"])
                .to_owned(),
            5 => self
                .pick(&["\r", "\x08", "\x08\x08\x08", "\x0b", "\x0c", "\x7f", "\0", "\x05", "\x07"])
                .to_owned(),
            6 => self
                .pick(&["\u{202e}", "\u{2066}", "\u{200b}", "\u{e0041}", "\u{feff}", "\u{2028}"])
                .to_owned(),
            7 => char::from(self.roll(32) as u8).to_string(),
            _ => self.pick(&["text ", "ä", "日本", "\t", "\r\n"]).to_owned(),
        }
    }
}

/// The text says its own escapes: what the terminal shows contains no trace of having obeyed them.
#[test]
fn no_sequence_changes_the_terminal_wherever_it_is_cut() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    let untouched = shown("").2;
    let mut split = 0;
    for case in 0..CASES {
        let text: String = (0..1 + dice.roll(4)).map(|_| dice.sequence()).collect();
        for cut in (0..=text.len()).filter(|cut| text.is_char_boundary(*cut)) {
            let (first, second) = text.split_at(cut);
            let deltas: Vec<_> = [first, second].into_iter().filter(|part| !part.is_empty()).collect();
            let mut events = vec![begun()];
            events.extend(deltas.iter().map(|part| thinking(part)));
            events.extend(deltas.iter().map(|part| delta(part)));
            events.push(replied());
            let style = if case % 2 == 0 { SCREEN } else { COLOUR };
            let (deeds, _, state) = shown(&screen(style, &events));
            assert_eq!((deeds, state), (Vec::new(), untouched.clone()), "{text:?} cut at {cut}");
            split += 1;
        }
        let events = [
            requested("1", &text, 1),
            started("1", &text),
            finished("1", &text, failed(ToolCode::ReadError, &text), Some(1)),
            warning(&text),
        ];
        let (deeds, _, state) = shown(&screen(SCREEN, &events));
        assert_eq!((deeds, state), (Vec::new(), untouched.clone()), "{text:?} in a tool's line");
    }
    eprintln!("{CASES} sequences, {split} cuts");
}

#[test]
fn the_terminal_of_this_test_obeys() {
    for text in ["\x1b]0;t\x07", "\x1b[?25l", "\x1b]52;c;aGk=\x07", "\x1b[31m", "\x07", "\x1b[?2004h"] {
        let (deeds, _, state) = shown(text);
        assert!(!deeds.is_empty() || state != shown("").2, "{text:?}");
    }
}
