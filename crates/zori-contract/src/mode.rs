//! In what kind of place the program runs and what it was asked to print: decided once, then passed on as a value.

use std::collections::BTreeMap;

/// The environment, read once by the binary. It has no `Debug`: some variables are keys.
#[derive(Clone, Default)]
pub struct Vars(pub BTreeMap<String, String>);

impl Vars {
    /// Returns a variable.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Returns whether a variable is there and not empty.
    pub fn filled(&self, name: &str) -> bool {
        self.get(name).is_some_and(|value| !value.is_empty())
    }

    /// Returns `PREFIX_NAME`, else `TOOL_NAME`.
    pub fn tool(&self, prefix: &str, name: &str) -> Option<&str> {
        let ours = self.get(&format!("{prefix}_{name}")).filter(|value| !value.is_empty());
        ours.or_else(|| self.get(&format!("TOOL_{name}")).filter(|value| !value.is_empty()))
    }
}

/// What a place is recognised by.
#[derive(Clone, Default)]
pub struct Inputs {
    /// Standard input is a terminal.
    pub stdin_terminal: bool,
    /// Standard output is a terminal.
    pub stdout_terminal: bool,
    /// Standard error is a terminal.
    pub stderr_terminal: bool,
    /// The system opens windows without X or Wayland being announced, as macOS does.
    pub native_screen: bool,
    /// The environment.
    pub vars: Vars,
}

impl Inputs {
    /// Returns whether somebody may be there at all: `CI` and `PREFIX_AGENT=1` say no.
    pub fn attended(&self, prefix: &str) -> bool {
        !self.vars.filled("CI") && self.vars.get(&format!("{prefix}_AGENT")) != Some("1")
    }
}

/// What was asked for on the command line.
#[derive(Clone, Copy, Debug, Default)]
pub struct OutputRequest {
    /// A format, by flag, variable or config.
    pub format: Option<Format>,
    /// `--non-interactive`.
    pub non_interactive: bool,
    /// `--no-color`.
    pub no_color: bool,
    /// `--quiet`, `--verbose` or `--debug`.
    pub verbosity: Option<Verbosity>,
}

/// What a command's output is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A result: text at a terminal, an envelope elsewhere.
    Utility,
    /// A document or a stream of lines: printed as it is.
    Document,
    /// What a model or another long-running source says: text unless asked otherwise.
    Agent,
    /// A conversation with a person.
    Interactive,
    /// Both streams belong to a protocol.
    Protocol,
}

impl Class {
    /// Returns the name in the manifest.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Utility => "utility",
            Self::Document => "document",
            Self::Agent => "agent",
            Self::Interactive => "interactive",
            Self::Protocol => "protocol",
        }
    }
}

/// How an answer is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One envelope.
    Json,
    /// One object a line; the last is an envelope.
    Jsonl,
    /// A header and rows.
    Tsv,
    /// Flat text.
    Plain,
    /// Columns.
    Table,
    /// Bare ids.
    Id,
}

impl Format {
    /// Every format, by name.
    pub const ALL: &[(&str, Self)] = &[
        ("json", Self::Json),
        ("jsonl", Self::Jsonl),
        ("tsv", Self::Tsv),
        ("plain", Self::Plain),
        ("table", Self::Table),
        ("id", Self::Id),
    ];

    /// Finds a format.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == name).map(|(_, format)| *format)
    }

    /// Returns the formats a command of the class can print.
    pub fn of(class: Class) -> &'static [(&'static str, Self)] {
        const AGENT: &[(&str, Format)] =
            &[("json", Format::Json), ("jsonl", Format::Jsonl), ("plain", Format::Plain)];
        const DOCUMENT: &[(&str, Format)] = &[("json", Format::Json), ("plain", Format::Plain)];
        match class {
            Class::Utility => Self::ALL,
            Class::Agent => AGENT,
            Class::Document | Class::Interactive | Class::Protocol => DOCUMENT,
        }
    }

    /// Returns whether errors are printed to standard output in it.
    pub fn structured(self) -> bool {
        matches!(self, Self::Json | Self::Jsonl)
    }
}

/// How much is said on standard error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Nothing at all: `--quiet`.
    Silent,
    /// Errors and warnings.
    Errors,
    /// Also what is going on.
    Normal,
    /// Also details: `--verbose`.
    Verbose,
    /// Everything: `--debug`.
    Debug,
}

/// The place, and what it means for a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mode {
    /// How to print; for people where nobody asked and a person looks.
    pub format: Format,
    /// The format was asked for.
    pub asked: bool,
    /// A person reads standard output: text may be laid out for eyes.
    pub for_eyes: bool,
    /// A person is at the terminal, though standard output may be a pipe: standard error is one, and nothing says otherwise.
    pub person_near: bool,
    /// Failures are envelopes: also those of documents, where nobody asked for text and a program reads.
    pub structured_errors: bool,
    /// Somebody can be asked.
    pub interactive: bool,
    /// Colour on standard output.
    pub colour_out: bool,
    /// Colour on standard error.
    pub colour_err: bool,
    /// How much is said.
    pub verbosity: Verbosity,
    /// No browser or window can be opened.
    pub headless: bool,
}

impl Mode {
    /// Decides. `prefix` is that of the program's variables: `NOTES` reads `NOTES_AGENT`.
    pub fn detect(inputs: &Inputs, class: Class, asked: OutputRequest, prefix: &str) -> Self {
        let vars = &inputs.vars;
        let ci = vars.filled("CI");
        let attended = inputs.attended(prefix);
        let read_by_program = !inputs.stdout_terminal || !attended;
        let detected = match class {
            Class::Utility if read_by_program => Format::Json,
            _ => Format::Plain,
        };
        let plain_place = ci
            || asked.no_color
            || vars.get("NO_COLOR").is_some()
            || vars.filled("GITHUB_ACTIONS")
            || vars.filled("JENKINS_URL")
            || vars.get("TERM") == Some("dumb");
        let default_verbosity =
            if class == Class::Utility && read_by_program { Verbosity::Errors } else { Verbosity::Normal };
        let screen = inputs.native_screen || vars.filled("DISPLAY") || vars.filled("WAYLAND_DISPLAY");
        let format = asked.format.unwrap_or(detected);
        let results = matches!(class, Class::Utility | Class::Document | Class::Interactive);
        Self {
            format,
            asked: asked.format.is_some(),
            structured_errors: format.structured() || (asked.format.is_none() && read_by_program && results),
            for_eyes: asked.format.is_none() && !read_by_program,
            person_near: inputs.stderr_terminal && attended,
            interactive: inputs.stdin_terminal && attended && !asked.non_interactive,
            colour_out: inputs.stdout_terminal && !plain_place && asked.format.is_none(),
            colour_err: inputs.stderr_terminal && !plain_place,
            verbosity: asked.verbosity.unwrap_or(default_verbosity),
            headless: !inputs.stdout_terminal || !attended || !screen || vars.filled("SSH_TTY"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs(terminal: bool, vars: &[(&str, &str)]) -> Inputs {
        let vars = vars.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        Inputs {
            stdin_terminal: terminal,
            stdout_terminal: terminal,
            stderr_terminal: terminal,
            native_screen: false,
            vars: Vars(vars),
        }
    }

    fn detect(terminal: bool, vars: &[(&str, &str)], class: Class) -> Mode {
        Mode::detect(&inputs(terminal, vars), class, OutputRequest::default(), "NOTES")
    }

    #[test]
    fn at_a_terminal_a_person_reads() {
        let wanted = Mode {
            format: Format::Plain,
            asked: false,
            for_eyes: true,
            person_near: true,
            structured_errors: false,
            interactive: true,
            colour_out: true,
            colour_err: true,
            verbosity: Verbosity::Normal,
            headless: false,
        };
        assert_eq!(detect(true, &[("DISPLAY", ":0"), ("CI", "")], Class::Utility), wanted);
    }

    #[test]
    fn elsewhere_a_program_reads() {
        let wanted = Mode {
            format: Format::Json,
            asked: false,
            for_eyes: false,
            person_near: false,
            structured_errors: true,
            interactive: false,
            colour_out: false,
            colour_err: false,
            verbosity: Verbosity::Errors,
            headless: true,
        };
        assert_eq!(detect(false, &[], Class::Utility), wanted);
        let said = [&[("CI", "true")][..], &[("NOTES_AGENT", "1")]].map(|vars| {
            let mode = detect(true, vars, Class::Utility);
            (mode.format, mode.interactive, mode.verbosity)
        });
        assert_eq!(said, [(Format::Json, false, Verbosity::Errors); 2]);
    }

    #[test]
    fn other_classes_print_what_they_are() {
        for class in [Class::Document, Class::Agent, Class::Interactive, Class::Protocol] {
            let mode = detect(false, &[("CI", "1")], class);
            assert_eq!((mode.format, mode.verbosity), (Format::Plain, Verbosity::Normal), "{class:?}");
        }
    }

    #[test]
    fn what_takes_colour_away() {
        for var in [
            ("NO_COLOR", ""),
            ("CI", "1"),
            ("GITHUB_ACTIONS", "true"),
            ("JENKINS_URL", "x"),
            ("TERM", "dumb"),
        ] {
            let mode = detect(true, &[var], Class::Document);
            assert!(!mode.colour_out && !mode.colour_err, "{var:?}");
        }
        // `NO_COLOR` alone says nothing about the format.
        assert_eq!(detect(true, &[("NO_COLOR", "1")], Class::Utility).format, Format::Plain);
    }

    #[test]
    fn what_is_asked_for_wins() {
        let asked = OutputRequest {
            format: Some(Format::Tsv),
            non_interactive: true,
            no_color: true,
            verbosity: Some(Verbosity::Debug),
        };
        let mode = Mode::detect(&inputs(true, &[("DISPLAY", ":0")]), Class::Utility, asked, "NOTES");
        let wanted = Mode {
            format: Format::Tsv,
            asked: true,
            for_eyes: false,
            person_near: true,
            structured_errors: false,
            interactive: false,
            colour_out: false,
            colour_err: false,
            verbosity: Verbosity::Debug,
            headless: false,
        };
        assert_eq!(mode, wanted);
    }
}
