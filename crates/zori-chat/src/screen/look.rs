//! How the chat looks on this terminal: theme, colours, notifications, by settings and environment.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use zori_tui::clean::CleanText;
use zori_tui::row::{Ground, Row, Span};
use zori_tui::terminal::probe::{Hints, Terminal};
use zori_tui::theme::{Depth, Paint, Rgb, Theme};
use zori_tui::wrap;

use zori_setup::environment::Environment;

/// What decides it.
#[derive(Clone, Debug)]
pub struct Look {
    theme: Option<Theme>,
    depth: Depth,
    /// `COLORFGBG`.
    colours: String,
    notify: Notify,
    /// `ui.notify_command`.
    pub command: Option<String>,
}

/// `ui.notify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Notify {
    Auto,
    Bell,
    Off,
}

impl Look {
    /// Reads what the environment says.
    pub fn new(env: &Environment, colour: bool, notify: Notify) -> Self {
        let text = |name| env.text(name).unwrap_or_default();
        let (term, true_colour) = (text("TERM"), text("COLORTERM"));
        let depth = match (colour, true_colour, term) {
            (false, ..) => Depth::None,
            (true, "truecolor" | "24bit", _) => Depth::True,
            (true, _, term) if term.contains("256color") || term.contains("kitty") => Depth::Indexed256,
            (true, ..) => Depth::Ansi16,
        };
        Self { theme: None, depth, colours: text("COLORFGBG").to_owned(), notify, command: None }
    }

    /// Takes another theme by its name, `terminal` for the terminal's own colours; returns what is wrong with it, if anything.
    pub fn choose(&mut self, base: Option<&Path>, name: &str) -> Result<(), String> {
        self.theme = match name.trim().eq_ignore_ascii_case("terminal") {
            true => None,
            false => Some(theme(base, name)?),
        };
        Ok(())
    }

    /// Returns what rows are painted with on this terminal.
    pub fn paint(&self, terminal: &Terminal) -> Paint {
        let theme = self.theme.clone().unwrap_or_else(|| {
            let background = terminal.background.map(|(red, green, blue)| Rgb(red, green, blue));
            Theme::terminal(terminal.is_light(&self.colours), background)
        });
        Paint { theme, depth: self.depth }
    }

    /// Returns what rows are painted with where nobody asks the terminal anything.
    pub fn paint_unasked(&self, env: &Environment) -> Paint {
        self.paint(&terminal(env))
    }

    /// Returns whether somebody who looks elsewhere is told at all.
    pub fn notifies(&self) -> bool {
        self.notify != Notify::Off
    }

    /// Starts the user's own command for a notice; nobody waits for it.
    pub fn run_command(&self, text: &str) {
        let Some(command) = &self.command else { return };
        let mut child = Command::new("sh");
        child.args(["-c", command]).env("ZORI_NOTICE", text);
        child.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        // A command that cannot be started has nobody to tell it to: the notice itself is on its way. One that ends leaves nothing behind.
        if let Ok(mut child) = child.spawn() {
            let _ = std::thread::Builder::new().name("notify".into()).spawn(move || child.wait());
        }
    }

    /// Returns the bytes that tell a person who looks elsewhere (STA-4).
    pub fn notification(&self, terminal: &Terminal, text: &CleanText) -> String {
        let name = terminal.name.to_lowercase();
        let text = text.as_str().replace(';', ",");
        match self.notify {
            Notify::Off => String::new(),
            Notify::Auto if name.starts_with("kitty") => format!("\x1b]99;;{text}\x1b\\"),
            Notify::Auto
                if ["iterm", "wezterm", "ghostty", "foot"].iter().any(|known| name.starts_with(known)) =>
            {
                format!("\x1b]9;{text}\x1b\\")
            }
            Notify::Auto if name.starts_with("vte") => format!("\x1b]777;notify;zori;{text}\x1b\\"),
            Notify::Auto | Notify::Bell => "\x07".to_owned(),
        }
    }
}

/// Returns the rows of a diff, with what was added and removed told apart.
pub fn diff(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let span = Span::new(wrap::expand_tabs(line, wrap::TAB).into_owned());
        Row::from(match line.as_bytes() {
            [b'+', b'+', b'+', ..] | [b'-', b'-', b'-', ..] => span.bold(),
            [b'+', ..] => span.ground(Ground::Added),
            [b'-', ..] => span.ground(Ground::Removed),
            [b'@', ..] => span.muted(),
            _ => span,
        })
    };
    text.trim_end().lines().map(row).collect()
}

/// Returns the themes that the user wrote, by their names: the files `<base>/themes/NAME.toml`.
pub fn own_themes(base: Option<&Path>) -> Vec<(String, PathBuf)> {
    let folder = base.map(|base| base.join("themes"));
    let files = folder.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    let mut own: Vec<(String, PathBuf)> = files
        .map(|file| file.path())
        .filter(|file| file.extension().is_some_and(|ending| ending == "toml"))
        .filter_map(|file| Some((file.file_stem()?.to_str()?.to_owned(), file)))
        .collect();
    own.sort();
    own
}

/// Finds the theme with this name: one of ours, or a file `<base>/themes/NAME.toml` (THM-1). What is wrong with it is said in a sentence.
pub fn theme(base: Option<&Path>, name: &str) -> Result<Theme, String> {
    if let Some(theme) = Theme::named(name) {
        return Ok(theme);
    }
    let slug = |name: &str| name.trim().to_lowercase().replace([' ', '_'], "-");
    let own = own_themes(base);
    let Some((name, file)) = own.iter().find(|(stem, _)| slug(stem) == slug(name)) else {
        let ours = Theme::names().map(str::to_owned);
        let names: Vec<String> = ours.chain(own.iter().map(|(name, _)| name.clone())).collect();
        return Err(format!("there is no theme `{name}`; there are {}", names.join(", ")));
    };
    let told =
        |error: &dyn std::fmt::Display| format!("{}: {}", file.display(), error.to_string().trim_end());
    let text = std::fs::read_to_string(file).map_err(|error| told(&error))?;
    let table: toml::Table = text.parse().map_err(|error| told(&error))?;
    let entries: Vec<(String, String)> = table
        .into_iter()
        .map(|(key, value)| match value {
            toml::Value::String(text) => (key, text.trim_start_matches('#').to_owned()),
            toml::Value::Boolean(flag) => (key, flag.to_string()),
            value => (key, format!("a {}", value.type_str())),
        })
        .collect();
    let entries = entries.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    Theme::from_file(name, entries).map_err(|error| error.to_string())
}

/// Returns what the environment says of the terminal.
pub fn terminal(env: &Environment) -> Terminal {
    let text = |name| env.text(name).unwrap_or_default();
    Terminal::of(Hints {
        term: text("TERM"),
        term_program: text("TERM_PROGRAM"),
        colours: text("COLORFGBG"),
        tmux: !text("TMUX").is_empty(),
    })
}
