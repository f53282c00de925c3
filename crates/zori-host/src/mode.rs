//! Which permission modes a session may come to hold once it runs, as one value that a front end asks before it agrees
//! and the engine when it happens (MODE-2, MODE-4).

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use zori_engine::parts::ModeLookup;
use zori_policy::mode::Protocol;
use zori_policy::policy::{ShellPolicy, ShellSettings};
use zori_policy::{Mode, ModeChoice};

use crate::child_env::ChildEnvironment;
use crate::settings::SessionSettings;

/// Why a mode may not hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    /// There is no such mode.
    #[error("`{spelling}` cannot be `{name}`")]
    Unknown {
        /// What named it: a flag, a key, a request.
        spelling: String,
        /// The value that names no mode.
        name: String,
    },
    /// The administrator forbids it.
    #[error("the administrator forbids the mode {mode}")]
    Forbidden {
        /// The mode that was asked for.
        mode: &'static str,
        /// The file that says so.
        file: PathBuf,
    },
    /// What is said about the shell does not fit it.
    #[error("{0}")]
    Shell(String),
    /// The administrator keeps the shell off.
    #[error("the administrator keeps shell commands off")]
    ShellForbidden {
        /// The file that says so.
        file: PathBuf,
    },
    /// It was not permitted when the program started.
    #[error(
        "the mode {0} was not permitted when the program started; `--allow-dangerously-skip-permissions` permits it"
    )]
    NotPermitted(String),
}

impl ModeError {
    /// Returns what could be done about it.
    pub fn hints(&self) -> Vec<String> {
        match self {
            Self::Unknown { .. } => vec![format!("the modes are {}", ModeChoice::names().join(", "))],
            Self::Forbidden { file, .. } => vec![
                format!("{} says `security.forbid_yolo`", file.display()),
                "the mode acceptEdits asks least of the others".to_owned(),
            ],
            Self::ShellForbidden { file } => {
                vec![format!("{} says `security.allow_shell = false`", file.display())]
            }
            Self::Shell(_) | Self::NotPermitted(_) => Vec::new(),
        }
    }

    /// Returns the message with its hints, in one line.
    pub fn with_hints(&self) -> String {
        let hints = self.hints().join("; ");
        if hints.is_empty() { self.to_string() } else { format!("{self} ({hints})") }
    }
}

/// Where the mode comes from, and what has to be known to change it.
#[derive(Clone, Debug)]
pub struct Modes {
    /// Who said so, for people.
    pub source: String,
    /// Whether the user's own allow rules count.
    pub user_rules: bool,
    /// The file in which the administrator forbids `yolo`.
    pub forbidden: Option<PathBuf>,
    /// What is said about the shell; what is not said depends on the mode.
    pub shell: ShellSettings,
    /// The file in which the administrator keeps the shell off.
    pub shell_forbidden: Option<PathBuf>,
    /// What the person said about the shell since.
    pub shell_switch: ShellSwitch,
}

/// Whether a person switched shell commands on or off while the program runs (UI-8a). All copies are one switch, so that a change of
/// the mode, from wherever it comes, does not take it back.
#[derive(Clone, Debug, Default)]
pub struct ShellSwitch(Arc<AtomicU8>);

impl ShellSwitch {
    const ON: u8 = 1;
    const OFF: u8 = 2;

    fn set(&self, on: bool) {
        self.0.store(if on { Self::ON } else { Self::OFF }, Ordering::Relaxed);
    }

    fn get(&self) -> Option<bool> {
        match self.0.load(Ordering::Relaxed) {
            Self::ON => Some(true),
            Self::OFF => Some(false),
            _ => None,
        }
    }
}

impl Modes {
    /// Returns modes that nobody restricts. `source`: who chose the one that holds.
    pub fn unrestricted(source: impl Into<String>) -> Self {
        Self {
            source: source.into(),
            user_rules: false,
            forbidden: None,
            shell: ShellSettings::default(),
            shell_forbidden: None,
            shell_switch: ShellSwitch::default(),
        }
    }

    /// Returns the mode a name means, and what it brings for the shell. `spelling`: what named it.
    pub fn named(&self, spelling: &str, name: &str) -> Result<(ModeChoice, ShellPolicy), ModeError> {
        self.named_in(spelling, name, Protocol::Own)
    }

    /// Returns the same in the words of a protocol.
    pub fn named_in(
        &self,
        spelling: &str,
        name: &str,
        protocol: Protocol,
    ) -> Result<(ModeChoice, ShellPolicy), ModeError> {
        let choice = ModeChoice::named(name, protocol)
            .ok_or_else(|| ModeError::Unknown { spelling: spelling.to_owned(), name: name.to_owned() })?;
        if let (Mode::Yolo, Some(file)) = (choice.mode, &self.forbidden) {
            return Err(ModeError::Forbidden { mode: choice.shown(), file: file.clone() });
        }
        Ok((choice, self.shell(choice)?))
    }

    /// Returns what a mode brings for the shell.
    pub fn shell(&self, mode: ModeChoice) -> Result<ShellPolicy, ModeError> {
        let allow_shell = self.shell_switch.get().or(self.shell.allow_shell);
        let settings = ShellSettings { allow_shell, ..self.shell.clone() };
        ShellPolicy::new(&settings, mode).map_err(|error| ModeError::Shell(error.to_string()))
    }

    /// Switches shell commands on or off, in this mode and in those that come to hold; returns what that means in this one.
    pub fn switch_shell(&self, on: bool, mode: ModeChoice) -> Result<ShellPolicy, ModeError> {
        if let (true, Some(file)) = (on, &self.shell_forbidden) {
            return Err(ModeError::ShellForbidden { file: file.clone() });
        }
        self.shell_switch.set(on);
        self.shell(mode)
    }
}

/// Is told what the tools may do: when a session begins, and whenever that changes.
pub type TellRights = Arc<dyn Fn(ModeChoice, &ShellPolicy) + Send + Sync>;

/// Decides about a change of the mode.
#[derive(Clone)]
pub struct ModeGate {
    modes: Modes,
    told: Option<TellRights>,
    protocol: Protocol,
    /// Whether `yolo` was permitted when the program started.
    yolo: bool,
    child_env: Arc<dyn ChildEnvironment>,
}

impl ModeGate {
    /// Returns the gate for modes as a protocol names them. `yolo`: whether the mode without questions may come to hold.
    pub fn new(settings: &SessionSettings, protocol: Protocol, yolo: bool) -> Self {
        let child_env = settings.tools.child_env.clone();
        let permission = &settings.permission;
        Self { modes: permission.modes.clone(), told: permission.told.clone(), protocol, yolo, child_env }
    }

    /// Returns what a name means, or why it may not hold. Nothing changes.
    pub fn check(&self, name: &str) -> Result<(ModeChoice, ShellPolicy), ModeError> {
        let (choice, shell) = self.modes.named_in("mode", name, self.protocol)?;
        if choice.mode == Mode::Yolo && !self.yolo {
            return Err(ModeError::NotPermitted(name.to_owned()));
        }
        Ok((choice, shell))
    }

    /// Returns the same for the engine: what it takes holds for the environment of commands, too, and is told.
    pub(crate) fn for_engine(&self) -> ModeLookup {
        let gate = self.clone();
        Arc::new(move |name| {
            let (choice, shell) = gate.check(name).map_err(|error| error.with_hints())?;
            gate.child_env.set_mode(choice.mode);
            if let Some(told) = &gate.told {
                told(choice, &shell);
            }
            Ok((choice, shell))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The switch holds in every mode and in every copy, and the administrator's word above it.
    #[test]
    fn the_switch_of_the_shell() {
        let modes = Modes::unrestricted("test");
        let copy = modes.clone();
        let allowed = |modes: &Modes, name| modes.named("/mode", name).unwrap().1.allowed;
        assert_eq!((allowed(&copy, "balanced"), allowed(&copy, "default")), (false, true));
        assert!(modes.switch_shell(true, ModeChoice::AGENT_ZERO).unwrap().allowed);
        assert_eq!((allowed(&copy, "paranoid"), allowed(&copy, "default")), (true, true));
        assert!(!modes.switch_shell(false, ModeChoice::AGENT_ZERO).unwrap().allowed);
        assert_eq!((allowed(&copy, "god_mode"), allowed(&copy, "default")), (false, false));
        let kept_off = Modes { shell_forbidden: Some("/etc/m.toml".into()), ..Modes::unrestricted("test") };
        let refused = kept_off.switch_shell(true, ModeChoice::AGENT_ZERO).unwrap_err();
        assert_eq!(
            refused.with_hints(),
            "the administrator keeps shell commands off (/etc/m.toml says `security.allow_shell = false`)"
        );
        assert!(!allowed(&kept_off, "balanced"));
        assert!(!kept_off.switch_shell(false, ModeChoice::AGENT_ZERO).unwrap().allowed);
    }
}
