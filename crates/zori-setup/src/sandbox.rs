//! The sandbox setting: off, whatever the machine has, or required (DECISIONS 12, 33), from the flag, the user's config
//! and the administrator's. What it does to a session is `zori-host`'s business.

use std::path::{Path, PathBuf};

use zori_contract::failure::Failure;
use zori_host::sandbox::{Level, Network, SandboxSettings, SandboxUse};
use zori_policy::Mode;

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
pub enum SandboxFlag {
    /// None.
    Off,
    /// This level, or the run is refused.
    Required(Level),
}

/// Where a setting comes from. A project has no say (TRUST-4).
pub struct SandboxSources<'a> {
    /// `--sandbox`.
    pub flag: Option<SandboxFlag>,
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

impl SandboxFlag {
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

/// Returns what a flag alone asks for.
pub fn of_flag(flag: Option<SandboxFlag>) -> SandboxSettings {
    let (used, level) = match flag {
        Some(SandboxFlag::Required(level)) => (SandboxUse::Required, level),
        Some(SandboxFlag::Off) | None => (SandboxUse::Off, Level::Workspace),
    };
    SandboxSettings { used, level, ..SandboxSettings::OFF }
}

/// Returns the setting that holds: flag over config, and never weaker than the administrator wants it.
pub fn resolve(sources: &SandboxSources<'_>) -> Result<SandboxSettings, Failure> {
    let SandboxSources { flag, config, managed, .. } = sources;
    let least = used(managed);
    let by_mode = if sources.mode == Mode::Yolo { SandboxUse::Off } else { SandboxUse::Auto };
    let asked = match flag {
        Some(flag) => of_flag(Some(*flag)).used,
        None => used(config).unwrap_or(by_mode),
    };
    if let (Some(SandboxFlag::Off), Some(least @ (SandboxUse::Auto | SandboxUse::Required))) = (flag, least) {
        let message = "the administrator wants commands in a sandbox, so that `--sandbox` cannot be `off`";
        let value = USES[least as usize];
        return Err(Failure::new(&SETTING_INVALID, message)
            .hint(format!("{} says `sandbox = \"{value}\"`", sources.managed_path.display())));
    }
    let level = match flag {
        Some(SandboxFlag::Required(level)) => level.name(),
        Some(SandboxFlag::Off) | None => config.text("sandbox_level").unwrap_or(LEVELS[0]),
    };
    let strict = |key: &str, value: &str| managed.text(key) == Some(value);
    // `plan` confines more, see `zori-host`; nobody asked for none.
    let by_mode_alone = flag.is_none() && used(config).is_none();
    Ok(SandboxSettings {
        used: asked.max(least.unwrap_or(SandboxUse::Off)),
        stands_by: by_mode_alone,
        level: match level == "read-only" || strict("sandbox_level", "read-only") {
            true => Level::ReadOnly,
            false => Level::Workspace,
        },
        network: match config.text("sandbox_network").or(managed.text("sandbox_network")) {
            Some("on") if !strict("sandbox_network", "off") => Network::On,
            _ => Network::Off,
        },
        caches: caches(config, sources.home)?,
    })
}

fn used(config: &Config) -> Option<SandboxUse> {
    match config.text("sandbox")? {
        "off" => Some(SandboxUse::Off),
        "auto" => Some(SandboxUse::Auto),
        _ => Some(SandboxUse::Required),
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
        let sources = SandboxSources {
            flag: flag.map(|value| SandboxFlag::parse(value).unwrap()),
            config: &load("user", user),
            managed: &load("managed", managed),
            managed_path: Path::new("/etc/zori/config.toml"),
            home: Some(Path::new("/home/u")),
            mode,
        };
        match resolve(&sources) {
            Ok(SandboxSettings { used, level, network, caches, .. }) => {
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
