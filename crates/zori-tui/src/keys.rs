//! Keys, and what they do: the table of actions with the keys they have unless the user says otherwise (KEY-1).

use std::fmt;

/// A key with its modifiers. Shift counts for keys that are no character.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    pub code: KeyCode,
    pub mods: Mods,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum KeyCode {
    Char(char),
    Enter,
    Tab,
    Backspace,
    Delete,
    Insert,
    Esc,
    Up,
    Down,
    Left,
    Right,
    Home,
    End,
    PageUp,
    PageDown,
    F(u8),
}

/// The modifiers of a key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Mods {
    pub ctrl: bool,
    pub alt: bool,
    pub shift: bool,
}

impl Mods {
    pub const NONE: Self = Self { ctrl: false, alt: false, shift: false };
    pub const CTRL: Self = Self { ctrl: true, ..Self::NONE };
    pub const ALT: Self = Self { alt: true, ..Self::NONE };
    pub const SHIFT: Self = Self { shift: true, ..Self::NONE };

    /// Reads the parameter of control sequences: one more than a set of bits.
    pub fn from_parameter(number: u32) -> Self {
        let bits = number.saturating_sub(1);
        Self { shift: bits & 1 != 0, alt: bits & 2 != 0, ctrl: bits & 4 != 0 }
    }
}

impl Key {
    /// Returns the key alone.
    pub fn plain(code: KeyCode) -> Self {
        Self { code, mods: Mods::NONE }
    }

    /// Reads a key as people write it: `ctrl+r`, `alt+enter`, `f1`.
    pub fn parse(text: &str) -> Option<Self> {
        let mut mods = Mods::NONE;
        let mut rest = text.trim();
        while let Some((word, behind)) =
            rest.split_once('+').filter(|(word, behind)| !word.is_empty() && !behind.is_empty())
        {
            match word.to_lowercase().as_str() {
                "ctrl" | "control" => mods.ctrl = true,
                "alt" | "meta" | "option" => mods.alt = true,
                "shift" => mods.shift = true,
                _ => return None,
            }
            rest = behind;
        }
        let mut chars = rest.chars();
        let code = match (chars.next()?, chars.next()) {
            (c, None) => KeyCode::Char(if mods.ctrl { c.to_ascii_lowercase() } else { c }),
            _ => NAMES.iter().find(|(name, _)| *name == rest.to_lowercase()).map(|(_, code)| *code).or_else(
                || {
                    let number = rest.to_lowercase().strip_prefix('f')?.parse().ok()?;
                    (1..=12).contains(&number).then_some(KeyCode::F(number))
                },
            )?,
        };
        Some(Self { code, mods })
    }
}

const NAMES: &[(&str, KeyCode)] = &[
    ("enter", KeyCode::Enter),
    ("return", KeyCode::Enter),
    ("tab", KeyCode::Tab),
    ("backspace", KeyCode::Backspace),
    ("delete", KeyCode::Delete),
    ("insert", KeyCode::Insert),
    ("esc", KeyCode::Esc),
    ("escape", KeyCode::Esc),
    ("up", KeyCode::Up),
    ("down", KeyCode::Down),
    ("left", KeyCode::Left),
    ("right", KeyCode::Right),
    ("home", KeyCode::Home),
    ("end", KeyCode::End),
    ("pageup", KeyCode::PageUp),
    ("pagedown", KeyCode::PageDown),
    ("space", KeyCode::Char(' ')),
];

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Mods { ctrl, alt, shift } = self.mods;
        for (set, name) in [(ctrl, "ctrl+"), (alt, "alt+"), (shift, "shift+")] {
            if set {
                f.write_str(name)?;
            }
        }
        match self.code {
            KeyCode::Char(' ') if self.mods != Mods::NONE => f.write_str("space"),
            KeyCode::Char(c) => write!(f, "{c}"),
            KeyCode::F(number) => write!(f, "f{number}"),
            code => {
                let name = NAMES.iter().find(|(_, known)| *known == code).map_or("?", |(name, _)| name);
                f.write_str(name)
            }
        }
    }
}
