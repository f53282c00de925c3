//! What a terminal is asked at the start, in one write that is not waited for (TTY-1), and what follows from its name.

use crate::terminal::decode::Answer;
use crate::terminal::inline::Reflow;
use crate::terminal::paint::Links;

/// Its name, its ground, its keys, whether it knows synchronised frames, cluster widths and bracketed paste; the attributes come last, so that every
/// terminal answers something.
pub const QUESTIONS: &str = "\x1b[>0q\x1b]11;?\x1b\\\x1b[?u\x1b[?2026$p\x1b[?2027$p\x1b[?2004$p\x1b[c";

/// How many answers that may bring.
pub const ANSWERS: usize = 7;

/// What is known of a terminal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Terminal {
    /// Its name and version, as it says or as the environment does.
    pub name: String,
    pub background: Option<(u8, u8, u8)>,
    /// Whether the user wants it light, as it said since (mode 2031).
    pub light: Option<bool>,
    /// It tells Shift-Enter from Enter.
    pub kitty_keys: bool,
    /// It is known to bracket pastes.
    pub brackets_pastes: bool,
}

/// What the environment says of a terminal.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hints<'a> {
    pub term: &'a str,
    pub term_program: &'a str,
    /// `COLORFGBG`.
    pub colours: &'a str,
    /// The terminal is inside tmux.
    pub tmux: bool,
}

/// Terminals that make several rows of one that became too wide, by how their names begin. Who is not listed is taken not to: then
/// nothing is lost, only left behind.
const REFLOWING: &[&str] = &[
    "tmux",
    "kitty",
    "wezterm",
    "vte",
    "gnome",
    "foot",
    "ghostty",
    "iterm",
    "konsole",
    "alacritty",
    "contour",
    "mintty",
    "windows terminal",
    "apple_terminal",
    "rio",
];

/// Terminals that mark pastes wherever a program asks for it, by how their names begin. In others fast keys are a paste (CMP-2), so that `send-keys` of
/// a script would end its line there and not send it.
const BRACKETING: &[&str] = REFLOWING;

/// Terminals that show links (OSC 8).
const LINKING: &[&str] = &[
    "kitty",
    "wezterm",
    "vte",
    "gnome",
    "foot",
    "ghostty",
    "iterm",
    "konsole",
    "alacritty",
    "contour",
    "mintty",
    "windows terminal",
    "vscode",
    "rio",
];

impl Terminal {
    /// Returns what the environment alone says.
    pub fn of(hints: Hints<'_>) -> Self {
        let name = match hints {
            Hints { tmux: true, .. } => "tmux",
            Hints { term_program, .. } if !term_program.is_empty() => term_program,
            Hints { term: "xterm-kitty", .. } => "kitty",
            Hints { term: "xterm-ghostty", .. } => "ghostty",
            Hints { term, .. } => term,
        };
        let mut terminal = Self { name: name.to_owned(), ..Self::default() };
        terminal.brackets_pastes = terminal.is_one_of(BRACKETING);
        terminal
    }

    /// Takes an answer.
    pub fn learn(&mut self, answer: &Answer) {
        match answer {
            Answer::Version(name) => {
                self.name.clone_from(name);
                self.brackets_pastes |= self.is_one_of(BRACKETING);
            }
            Answer::Background { red, green, blue } => self.background = Some((*red, *green, *blue)),
            Answer::KittyFlags(_) => self.kitty_keys = true,
            // Who does not know the question may do it all the same.
            Answer::Mode { mode: 2004, known, .. } => self.brackets_pastes |= *known,
            Answer::ColourScheme { light } => {
                // The ground that it named at the start is not the present one any more.
                if self.background.is_some() && self.is_light("") != *light {
                    self.background = None;
                }
                self.light = Some(*light);
            }
            Answer::Mode { .. } | Answer::Attributes => {}
        }
    }

    /// Returns what becomes of rows that are too wide.
    pub fn reflow(&self) -> Reflow {
        if self.is_one_of(REFLOWING) { Reflow::Yes } else { Reflow::No }
    }

    /// Returns whether links may be written.
    pub fn links(&self) -> Links {
        if self.is_one_of(LINKING) { Links::Shown } else { Links::Left }
    }

    /// Returns whether it is light, as far as that is known (THM-4).
    pub fn is_light(&self, hints_colours: &str) -> bool {
        match self.background {
            None if self.light.is_some() => self.light == Some(true),
            Some((red, green, blue)) => {
                2126 * u32::from(red) + 7152 * u32::from(green) + 722 * u32::from(blue) > 10_000 * 127
            }
            // `COLORFGBG` is `15;0`: the last number is the ground, 7 and 15 are white.
            None => matches!(hints_colours.rsplit(';').next(), Some("7" | "15")),
        }
    }

    fn is_one_of(&self, names: &[&str]) -> bool {
        let name = self.name.to_lowercase();
        names.iter().any(|known| name.starts_with(known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_of_terminals() {
        let named = |name: &str| Terminal { name: name.to_owned(), ..Terminal::default() };
        assert_eq!(named("tmux 3.3a").reflow(), Reflow::Yes);
        assert_eq!(named("XTerm(390)").reflow(), Reflow::No);
        assert_eq!(named("").reflow(), Reflow::No);
        assert_eq!(named("iTerm2 3.5").links(), Links::Shown);
        let tmux = Terminal::of(Hints { term: "screen-256color", tmux: true, ..Hints::default() });
        assert_eq!((tmux.name.as_str(), tmux.brackets_pastes), ("tmux", true));
        let mut plain = Terminal::of(Hints { term: "xterm-256color", ..Hints::default() });
        assert!(!plain.brackets_pastes, "anything calls itself so");
        plain.learn(&Answer::Version("tmux 3.3a".to_owned()));
        plain.learn(&Answer::Mode { mode: 2004, known: false, set: false });
        assert!(plain.brackets_pastes, "tmux marks pastes, and does not know the question");
        assert!(named("x").is_light("0;15") && !named("x").is_light("15;0") && !named("x").is_light(""));
    }

    /// THM-4: its ground at the start, then what it says of light and dark.
    #[test]
    fn light_and_dark() {
        let mut terminal = Terminal::default();
        terminal.learn(&Answer::Background { red: 20, green: 20, blue: 20 });
        assert_eq!((terminal.is_light("0;15"), terminal.background), (false, Some((20, 20, 20))));
        terminal.learn(&Answer::ColourScheme { light: false });
        assert_eq!((terminal.is_light("0;15"), terminal.background), (false, Some((20, 20, 20))));
        terminal.learn(&Answer::ColourScheme { light: true });
        assert_eq!((terminal.is_light(""), terminal.background), (true, None), "its ground is another now");
        terminal.learn(&Answer::ColourScheme { light: false });
        assert!(!terminal.is_light("0;15"));
    }
}
