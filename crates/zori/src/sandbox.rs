//! The sandbox setting: off, whatever the machine has, or required (DECISIONS 12, 33), from the flag, the user's config
//! and the administrator's. What it does to a run is in [`confinement`]; how commands are confined is `zori-sandbox`'s.

#[cfg(target_os = "linux")]
pub mod confinement;
#[cfg(not(target_os = "linux"))]
#[path = "sandbox/nowhere.rs"]
pub mod confinement;

use std::path::{Path, PathBuf};

use zori_contract::failure::Failure;
use zori_policy::Mode;
use zori_sandbox::{Level, Network};

use crate::config::Config;
use crate::error::SETTING_INVALID;

/// The values of `sandbox` in a config file, weakest first.
pub const USES: &[&str] = &["off", "auto", "required"];

/// The values of `sandbox_level`, weakest first.
pub const LEVELS: &[&str] = &["workspace", "read-only"];

/// The values of `sandbox_network`, weakest first.
pub const NETWORKS: &[&str] = &["on", "off"];

/// What `--sandbox` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// None.
    Off,
    /// This level, or the run is refused.
    Required(Level),
}

/// Whether commands are confined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Use {
    /// They are not.
    Off,
    /// As well as the machine can.
    Auto,
    /// Completely, or they do not run.
    Required,
}

/// How commands are confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Whether.
    pub used: Use,
    /// What they may write.
    pub level: Level,
    /// Whether those that nobody was asked about may use the network.
    pub network: Network,
    /// Where they may write beside the workspace.
    pub caches: Vec<PathBuf>,
}

/// Where a setting comes from. A project has no say (TRUST-4).
pub struct Wishes<'a> {
    /// `--sandbox`.
    pub flag: Option<Asked>,
    /// The user's config.
    pub config: &'a Config,
    /// The administrator's.
    pub managed: &'a Config,
    /// Where that is.
    pub managed_path: &'a Path,
    /// The user's home.
    pub home: Option<&'a Path>,
    /// The permission mode.
    pub mode: Mode,
}

impl Asked {
    /// Reads the flag's value.
    pub fn parse(value: &str) -> Option<Self> {
        match value {
            "off" => Some(Self::Off),
            "workspace" => Some(Self::Required(Level::Workspace)),
            "read-only" => Some(Self::Required(Level::ReadOnly)),
            _ => None,
        }
    }
}

impl Setting {
    /// Returns what a flag alone asks for.
    pub fn of_flag(flag: Option<Asked>) -> Self {
        let (used, level) = match flag {
            Some(Asked::Required(level)) => (Use::Required, level),
            Some(Asked::Off) | None => (Use::Off, Level::Workspace),
        };
        Self { used, level, network: Network::Off, caches: Vec::new() }
    }
}

/// Returns the setting that holds: flag over config, and never weaker than the administrator wants it.
pub fn setting(wishes: &Wishes<'_>) -> Result<Setting, Failure> {
    let Wishes { flag, config, managed, .. } = wishes;
    let least = used(managed);
    let by_mode = if wishes.mode == Mode::Yolo { Use::Off } else { Use::Auto };
    let asked = match flag {
        Some(flag) => Setting::of_flag(Some(*flag)).used,
        None => used(config).unwrap_or(by_mode),
    };
    if let (Some(Asked::Off), Some(least @ (Use::Auto | Use::Required))) = (flag, least) {
        let message = "the administrator wants commands in a sandbox, so that `--sandbox` cannot be `off`";
        let value = USES[least as usize];
        return Err(Failure::new(&SETTING_INVALID, message)
            .hint(format!("{} says `sandbox = \"{value}\"`", wishes.managed_path.display())));
    }
    let level = match flag {
        Some(Asked::Required(level)) => level.name(),
        Some(Asked::Off) | None => config.text("sandbox_level").unwrap_or(LEVELS[0]),
    };
    let strict = |key: &str, value: &str| managed.text(key) == Some(value);
    Ok(Setting {
        used: asked.max(least.unwrap_or(Use::Off)),
        level: match level == "read-only" || strict("sandbox_level", "read-only") {
            true => Level::ReadOnly,
            false => Level::Workspace,
        },
        network: match config.text("sandbox_network").or(managed.text("sandbox_network")) {
            Some("on") if !strict("sandbox_network", "off") => Network::On,
            _ => Network::Off,
        },
        caches: caches(config, wishes.home)?,
    })
}

fn used(config: &Config) -> Option<Use> {
    match config.text("sandbox")? {
        "off" => Some(Use::Off),
        "auto" => Some(Use::Auto),
        _ => Some(Use::Required),
    }
}

fn caches(config: &Config, home: Option<&Path>) -> Result<Vec<PathBuf>, Failure> {
    let wrong = |text: &str, why: &str| {
        let message = format!("`sandbox_caches` cannot have `{text}`: {why}");
        Failure::new(&SETTING_INVALID, message).hint("a folder such as `~/.cargo/registry`, or from `/`")
    };
    let listed = config.list("sandbox_caches").unwrap_or_default();
    let place = |(text, _): (&str, usize)| {
        let path = match text.strip_prefix("~/") {
            Some(rest) => home.ok_or_else(|| wrong(text, "the home directory is not known"))?.join(rest),
            None => PathBuf::from(text),
        };
        if !path.is_absolute() {
            return Err(wrong(text, "it is relative"));
        }
        // One that is not there yet is left out by the sandbox.
        Ok(path.canonicalize().unwrap_or(path))
    };
    listed.into_iter().map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(flag: Option<&str>, user: &str, managed: &str, mode: Mode) -> String {
        let dir = tempfile::tempdir().unwrap();
        let load = |name: &str, text: &str| {
            std::fs::write(dir.path().join(name), text).unwrap();
            Config::load(&dir.path().join(name), "").unwrap()
        };
        let wishes = Wishes {
            flag: flag.map(|value| Asked::parse(value).unwrap()),
            config: &load("user", user),
            managed: &load("managed", managed),
            managed_path: Path::new("/etc/zori/config.toml"),
            home: Some(Path::new("/home/u")),
            mode,
        };
        match setting(&wishes) {
            Ok(Setting { used, level, network, caches }) => {
                let caches: Vec<_> = caches.iter().map(|path| path.display().to_string()).collect();
                format!("{used:?} {level:?} {network:?} {}", caches.join(" ")).trim().to_owned()
            }
            Err(error) => format!("{} ({})", error.message, error.facts.hints.join("; ")),
        }
    }

    /// DECISIONS 12 and 33.
    #[test]
    fn by_mode_config_and_flag() {
        for (flag, user, mode, expected) in [
            (None, "", Mode::Yolo, "Off Workspace Off"),
            (None, "", Mode::Default, "Auto Workspace Off"),
            (None, "", Mode::Plan, "Auto Workspace Off"),
            (None, "sandbox = \"auto\"", Mode::Yolo, "Auto Workspace Off"),
            (None, "sandbox = \"off\"", Mode::Default, "Off Workspace Off"),
            (
                None,
                "sandbox = \"required\"\nsandbox_level = \"read-only\"",
                Mode::Yolo,
                "Required ReadOnly Off",
            ),
            (Some("off"), "sandbox = \"required\"", Mode::Default, "Off Workspace Off"),
            (
                Some("workspace"),
                "sandbox = \"off\"\nsandbox_level = \"read-only\"",
                Mode::Yolo,
                "Required Workspace Off",
            ),
            (Some("read-only"), "sandbox_network = \"on\"", Mode::Yolo, "Required ReadOnly On"),
            (
                None,
                "sandbox_caches = [\"~/.cache/x\", \"/no/such\"]",
                Mode::Default,
                "Auto Workspace Off /home/u/.cache/x /no/such",
            ),
        ] {
            assert_eq!(said(flag, user, "", mode), expected, "{flag:?} {user}");
        }
        assert_eq!(
            said(None, "sandbox_caches = [\"x\"]", "", Mode::Yolo),
            "`sandbox_caches` cannot have `x`: it is relative (a folder such as `~/.cargo/registry`, or from `/`)"
        );
    }

    #[test]
    fn never_weaker_than_the_administrator_wants() {
        let managed = "sandbox = \"required\"\nsandbox_level = \"read-only\"\nsandbox_network = \"off\"";
        let weak = "sandbox = \"off\"\nsandbox_level = \"workspace\"\nsandbox_network = \"on\"";
        assert_eq!(said(None, weak, managed, Mode::Yolo), "Required ReadOnly Off");
        assert_eq!(said(Some("workspace"), weak, managed, Mode::Yolo), "Required ReadOnly Off");
        assert_eq!(
            said(Some("off"), "", managed, Mode::Yolo),
            "the administrator wants commands in a sandbox, so that `--sandbox` cannot be `off` \
             (/etc/zori/config.toml says `sandbox = \"required\"`)"
        );
        assert_eq!(said(Some("off"), "", "sandbox = \"off\"", Mode::Default), "Off Workspace Off");
        assert_eq!(said(None, "", "sandbox_network = \"on\"", Mode::Default), "Auto Workspace On");
    }
}
