//! Colours (THM-1 to THM-4): themes as a table, and a style as the escape sequence that a terminal of some depth understands.

mod colour;
mod table;

use std::fmt::Write as _;

pub use colour::{Depth, Rgb};
pub use table::THEMES;

use crate::row::{Ground, Role, Style};

/// The name of the theme that leaves colours to the terminal.
pub const TERMINAL: &str = "terminal";

/// A theme: a palette of its own, or the sixteen colours of the terminal before its own ground.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Theme {
    pub name: String,
    pub colours: Colours,
}

/// Where a theme's colours come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Colours {
    /// The terminal's own; what is known of its ground.
    Terminal {
        light: bool,
        background: Option<Rgb>,
    },
    Own(Box<Palette>),
}

/// The colours of a theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    pub primary: Rgb,
    pub secondary: Rgb,
    pub warning: Rgb,
    pub error: Rgb,
    pub success: Rgb,
    pub accent: Rgb,
    pub foreground: Rgb,
    pub background: Rgb,
    pub surface: Rgb,
    pub panel: Rgb,
    pub boost: Rgb,
    pub light: bool,
}

/// A theme that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    #[error("theme `{theme}`: `{key}` is no colour of a theme; there are {}", COLOUR_NAMES.join(", "))]
    UnknownKey { theme: String, key: String },
    #[error("theme `{theme}`: `{key}` is `{value}`; a colour is six hexadecimal digits, such as `7AB8FF`")]
    BadColour { theme: String, key: String, value: String },
    #[error("theme `{theme}`: `{key}` is `{value}`; it must be `true` or `false`")]
    BadFlag { theme: String, key: String, value: String },
    #[error("theme `{theme}`: {} missing", .keys.join(", "))]
    Missing { theme: String, keys: Vec<&'static str> },
}

/// The keys of a theme file.
const COLOUR_NAMES: [&str; 12] = [
    "primary",
    "secondary",
    "warning",
    "error",
    "success",
    "accent",
    "foreground",
    "background",
    "surface",
    "panel",
    "boost",
    "dark",
];

impl Theme {
    /// Returns the theme that leaves colours to the terminal.
    pub fn terminal(light: bool, background: Option<Rgb>) -> Self {
        Self { name: TERMINAL.to_owned(), colours: Colours::Terminal { light, background } }
    }

    /// Finds a theme of ours by its name, an alias or its slug (UI-12).
    pub fn named(name: &str) -> Option<Self> {
        let slug = slug(name);
        if slug == TERMINAL {
            return Some(Self::terminal(false, None));
        }
        let name = match slug.as_str() {
            "default" | "dark" => "Studio Dark",
            "light" => "Studio Light",
            "hacker-green" | "dos" => "MS DOS XT PC",
            "c64" => "Commodore C64",
            "spectrum" => "ZX Spectrum",
            "amiga" => "Amiga 500",
            _ => "",
        };
        let found = THEMES.iter().find(|(theme, _)| *theme == name || self::slug(theme) == slug)?;
        Some(Self { name: found.0.to_owned(), colours: Colours::Own(Box::new(found.1)) })
    }

    /// Returns the names of all themes, the terminal's own first.
    pub fn names() -> impl Iterator<Item = &'static str> {
        std::iter::once(TERMINAL).chain(THEMES.iter().map(|(name, _)| *name))
    }

    /// Reads a theme from the keys and values of its file; `dark` may be left out.
    pub fn from_file<'a>(
        name: &str,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ThemeError> {
        let mut found: [Option<Rgb>; 11] = [None; 11];
        let mut dark = None;
        for (key, value) in entries {
            let theme = name.to_owned();
            let (key, value) = (key.to_owned(), value.to_owned());
            match COLOUR_NAMES.iter().position(|known| *known == key) {
                None => return Err(ThemeError::UnknownKey { theme, key }),
                Some(11) => match value.parse() {
                    Ok(flag) => dark = Some(flag),
                    Err(_) => return Err(ThemeError::BadFlag { theme, key, value }),
                },
                Some(i) => match Rgb::parse(&value) {
                    Some(colour) => found[i] = Some(colour),
                    None => return Err(ThemeError::BadColour { theme, key, value }),
                },
            }
        }
        let missing: Vec<&'static str> = COLOUR_NAMES
            .iter()
            .zip(&found)
            .filter(|(_, colour)| colour.is_none())
            .map(|(key, _)| *key)
            .collect();
        if !missing.is_empty() {
            return Err(ThemeError::Missing { theme: name.to_owned(), keys: missing });
        }
        let [
            primary,
            secondary,
            warning,
            error,
            success,
            accent,
            foreground,
            background,
            surface,
            panel,
            boost,
        ] = found.map(|colour| colour.expect("none is missing"));
        let light = dark.map_or(background.luminance() > 0.5, |dark: bool| !dark);
        let palette = Palette {
            primary,
            secondary,
            warning,
            error,
            success,
            accent,
            foreground,
            background,
            surface,
            panel,
            boost,
            light,
        };
        Ok(Self { name: name.to_owned(), colours: Colours::Own(Box::new(palette)) })
    }
}

impl Palette {
    /// Returns a role's colour. Comments and hints are the foreground at 65 %.
    pub fn role(&self, role: Role) -> Rgb {
        match role {
            Role::Text => self.foreground,
            Role::Primary => self.primary,
            Role::Secondary => self.secondary,
            Role::Warning => self.warning,
            Role::Error => self.error,
            Role::Success => self.success,
            Role::Accent => self.accent,
            Role::Muted => self.foreground.over(self.background, 65),
        }
    }

    fn ground(&self, ground: Ground) -> Option<Rgb> {
        let over = |colour: Rgb, percent| Some(colour.over(self.background, percent));
        match ground {
            Ground::None => None,
            Ground::Added => over(self.success, 15),
            Ground::AddedWord => over(self.success, 30),
            Ground::Removed => over(self.error, 15),
            Ground::RemovedWord => over(self.error, 30),
            Ground::Chosen => Some(self.panel),
            Ground::Raised => Some(self.surface),
        }
    }
}

/// A theme on a terminal: styles to escape sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Paint {
    pub theme: Theme,
    pub depth: Depth,
}

/// A colour as a terminal is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ink {
    Default,
    /// One of the terminal's own sixteen.
    Ansi(u8),
    Indexed(u8),
    True(Rgb),
}

impl Paint {
    /// Writes the sequence that sets this style whatever was set before.
    pub fn sgr(&self, style: Style, out: &mut String) {
        self.write(style, Ink::Default, out);
    }

    /// The same for a screen of our own, which has the theme's ground wherever there is no other.
    pub fn sgr_filled(&self, style: Style, out: &mut String) {
        let ground = match &self.theme.colours {
            Colours::Own(palette) => Ink::of(palette.background, self.depth),
            Colours::Terminal { .. } => Ink::Default,
        };
        self.write(style, ground, out);
    }

    fn write(&self, style: Style, behind: Ink, out: &mut String) {
        out.push_str("\x1b[0");
        let mut attribute = |set: bool, code: &str| {
            if set {
                out.push(';');
                out.push_str(code);
            }
        };
        let plain = self.depth == Depth::None;
        let word = matches!(style.ground, Ground::AddedWord | Ground::RemovedWord);
        let few = self.depth <= Depth::Ansi16;
        attribute(
            style.bold || (plain && matches!(style.role, Role::Error | Role::Warning)) || (few && word),
            "1",
        );
        attribute(style.dim || (style.role == Role::Muted && self.dims()), "2");
        attribute(style.italic, "3");
        attribute(style.underline || (few && word), "4");
        attribute(style.reverse || (few && style.ground == Ground::Chosen), "7");
        attribute(style.strike, "9");
        let ground = match style.ground {
            Ground::None => behind,
            ground => self.ground(ground),
        };
        let ink = self.ink(style);
        ink.write(out, 30);
        ground.write(out, 40);
        out.push('m');
    }

    /// Whether what is beside the point is dimmed by the terminal, for want of a colour of its own.
    fn dims(&self) -> bool {
        matches!(self.theme.colours, Colours::Terminal { .. }) || self.depth <= Depth::Ansi16
    }

    fn ink(&self, style: Style) -> Ink {
        let role = match (style.ground, self.depth) {
            // Where no ground can be drawn, the row itself has the colour.
            (Ground::Added | Ground::AddedWord, Depth::Ansi16) => Role::Success,
            (Ground::Removed | Ground::RemovedWord, Depth::Ansi16) => Role::Error,
            _ => style.role,
        };
        match (&self.theme.colours, self.depth) {
            (_, Depth::None) => Ink::Default,
            (Colours::Terminal { light, .. }, _) => ansi(role, *light),
            (Colours::Own(palette), Depth::Ansi16) => ansi(role, palette.light),
            (Colours::Own(palette), depth) => Ink::of(palette.role(role), depth),
        }
    }

    fn ground(&self, ground: Ground) -> Ink {
        if self.depth <= Depth::Ansi16 || ground == Ground::None {
            return Ink::Default;
        }
        match &self.theme.colours {
            Colours::Own(palette) => {
                palette.ground(ground).map_or(Ink::Default, |rgb| Ink::of(rgb, self.depth))
            }
            Colours::Terminal { light, background } => {
                let base = match (background, light) {
                    (Some(known), _) => *known,
                    (None, true) => Rgb(255, 255, 255),
                    (None, false) => Rgb(0, 0, 0),
                };
                let (added, removed) = match light {
                    true => (Rgb(0x1E, 0x8E, 0x3E), Rgb(0xD9, 0x30, 0x25)),
                    false => (Rgb(0x4C, 0xC8, 0x6A), Rgb(0xFF, 0x6B, 0x63)),
                };
                let mixed = match ground {
                    Ground::None | Ground::Raised => return Ink::Default,
                    Ground::Added => added.over(base, 18),
                    Ground::AddedWord => added.over(base, 38),
                    Ground::Removed => removed.over(base, 18),
                    Ground::RemovedWord => removed.over(base, 38),
                    Ground::Chosen => Rgb(128, 128, 128).over(base, 30),
                };
                Ink::of(mixed, self.depth)
            }
        }
    }
}

/// Returns a role's colour among the sixteen (THM-3).
fn ansi(role: Role, light: bool) -> Ink {
    match role {
        Role::Text | Role::Muted => Ink::Default,
        // The bright blue of many terminals is too pale on white.
        Role::Primary => Ink::Ansi(if light { 4 } else { 12 }),
        Role::Secondary => Ink::Ansi(6),
        Role::Warning => Ink::Ansi(3),
        Role::Error => Ink::Ansi(1),
        Role::Success => Ink::Ansi(2),
        Role::Accent => Ink::Ansi(5),
    }
}

impl Ink {
    fn of(rgb: Rgb, depth: Depth) -> Self {
        match depth {
            Depth::True => Self::True(rgb),
            Depth::Indexed256 => Self::Indexed(rgb.indexed()),
            Depth::Ansi16 | Depth::None => Self::Default,
        }
    }

    /// Writes the parameters; `base` is 30 for what is written, 40 for what is behind it.
    fn write(self, out: &mut String, base: u8) {
        let written = match self {
            Self::Default => Ok(()),
            Self::Ansi(n @ 0..8) => write!(out, ";{}", base + n),
            Self::Ansi(n) => write!(out, ";{}", base + 60 + (n - 8)),
            Self::Indexed(n) => write!(out, ";{};5;{n}", base + 8),
            Self::True(Rgb(r, g, b)) => write!(out, ";{};2;{r};{g};{b}", base + 8),
        };
        written.expect("a string takes all");
    }
}

fn slug(name: &str) -> String {
    name.trim().to_lowercase().replace([' ', '_'], "-")
}

#[cfg(test)]
mod tests;
