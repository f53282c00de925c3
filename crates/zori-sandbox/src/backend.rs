//! What this machine offers for confinement, detected once, with the reasons; and the report about it.

use std::fmt;
use std::path::PathBuf;

use crate::bubblewrap::{find, probe};
use crate::landlock;
use crate::privileges::landlock_version;

/// How commands are confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Backend {
    /// Completely, by this program.
    Bubblewrap(PathBuf),
    /// In part, by the kernel's Landlock of this version, and the filter.
    Landlock(i32),
    /// Not at all.
    None,
}

/// What a machine offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The best there is.
    pub backend: Backend,
    /// The version of the kernel's Landlock; 0 if it has none.
    pub landlock: i32,
    /// Why bubblewrap is not used, if it is not.
    pub no_bubblewrap: Option<String>,
    /// Why Landlock cannot be used, if it cannot.
    pub no_landlock: Option<String>,
}

/// A report of what a machine offers: short for a status line, or in detail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// What confines commands; `None` where nothing can.
    pub backend: Option<&'static str>,
    /// How completely.
    pub strength: Strength,
    /// Why it is not complete; empty if it is.
    pub reasons: Vec<String>,
}

/// How far commands are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strength {
    /// Everything is enforced.
    Full,
    /// Some of it is enforced (SB-3).
    Partial,
    /// Nothing is enforced.
    None,
}

impl Machine {
    /// Detects what the machine offers. This starts a program, once.
    pub fn detect(roots: &[PathBuf]) -> Self {
        let bubblewrap = find::find(roots).and_then(|path| probe::probe(&path).map(|()| path));
        Self::from_findings(bubblewrap, landlock_version())
    }

    /// Chooses the backend from what was found.
    pub fn from_findings(bubblewrap: Result<PathBuf, String>, landlock: i32) -> Self {
        let no_landlock = match landlock {
            0 => Some("the kernel has no Landlock, or it is switched off".to_owned()),
            version if version < landlock::MIN_ABI => {
                Some(format!("the kernel's Landlock is too old (version {version}, Linux 6.2 has 3)"))
            }
            _ => None,
        };
        let (backend, no_bubblewrap) = match bubblewrap {
            Ok(path) => (Backend::Bubblewrap(path), None),
            Err(why) if no_landlock.is_none() => (Backend::Landlock(landlock), Some(why)),
            Err(why) => (Backend::None, Some(why)),
        };
        Self { backend, landlock, no_bubblewrap, no_landlock }
    }

    /// Returns the backend, how completely it confines, and why not more.
    pub fn report(&self) -> Report {
        let (backend, strength) = match &self.backend {
            Backend::Bubblewrap(_) => (Some("bubblewrap"), Strength::Full),
            Backend::Landlock(_) => (Some("landlock"), Strength::Partial),
            Backend::None => (None, Strength::None),
        };
        Report { backend, strength, reasons: self.reasons().into_iter().map(str::to_owned).collect() }
    }

    /// Returns the report in detail, one sentence per line.
    pub fn explain(&self) -> Vec<String> {
        let mut lines = Vec::new();
        match &self.backend {
            Backend::Bubblewrap(path) => lines.push(format!("bubblewrap works: {}", path.display())),
            Backend::Landlock(version) => {
                lines.push(format!("Landlock works (version {version}), which is partial"));
                if *version < landlock::SIGNAL_ABI {
                    lines.push(
                        "this kernel's Landlock lets commands send signals to your other processes".into(),
                    );
                }
            }
            Backend::None => lines.push("there is nothing to confine commands with".into()),
        }
        lines.extend(self.reasons().into_iter().map(str::to_owned));
        if !matches!(self.backend, Backend::Bubblewrap(_)) {
            lines.push(INSTALL.to_owned());
        }
        lines
    }

    fn reasons(&self) -> Vec<&str> {
        [&self.no_bubblewrap, &self.no_landlock].into_iter().flatten().map(String::as_str).collect()
    }
}

/// How to install what is missing.
pub const INSTALL: &str =
    "install the package `bubblewrap` (apt, dnf, pacman, zypper and apk all call it so)";

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.backend, self.strength) {
            (Some(backend), Strength::Partial) => write!(f, "{backend} (partial)"),
            (Some(backend), _) => f.write_str(backend),
            (None, _) => write!(f, "none: {}", self.reasons.join("; ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told() {
        let told = |bubblewrap: Result<&str, &str>, landlock| {
            let machine =
                Machine::from_findings(bubblewrap.map(PathBuf::from).map_err(str::to_owned), landlock);
            format!("{}\n  {}\n", machine.report(), machine.explain().join("\n  "))
        };
        let missing = Err("bubblewrap is not installed");
        assert_eq!(
            [
                told(Ok("/usr/bin/bwrap"), 7),
                told(missing, 7),
                told(missing, 4),
                told(missing, 2),
                told(missing, 0)
            ]
            .concat(),
            "\
bubblewrap
  bubblewrap works: /usr/bin/bwrap
landlock (partial)
  Landlock works (version 7), which is partial
  bubblewrap is not installed
  install the package `bubblewrap` (apt, dnf, pacman, zypper and apk all call it so)
landlock (partial)
  Landlock works (version 4), which is partial
  this kernel's Landlock lets commands send signals to your other processes
  bubblewrap is not installed
  install the package `bubblewrap` (apt, dnf, pacman, zypper and apk all call it so)
none: bubblewrap is not installed; the kernel's Landlock is too old (version 2, Linux 6.2 has 3)
  there is nothing to confine commands with
  bubblewrap is not installed
  the kernel's Landlock is too old (version 2, Linux 6.2 has 3)
  install the package `bubblewrap` (apt, dnf, pacman, zypper and apk all call it so)
none: bubblewrap is not installed; the kernel has no Landlock, or it is switched off
  there is nothing to confine commands with
  bubblewrap is not installed
  the kernel has no Landlock, or it is switched off
  install the package `bubblewrap` (apt, dnf, pacman, zypper and apk all call it so)
"
        );
    }
}
