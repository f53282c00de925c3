//! What confines the commands of a session: the setting. What it does to a session is in [`confinement`]; how commands are
//! confined is `zori-sandbox`'s.

#[cfg(target_os = "linux")]
pub mod confinement;
#[cfg(not(target_os = "linux"))]
#[path = "sandbox/unsupported.rs"]
pub mod confinement;

use std::path::PathBuf;

pub use zori_sandbox::{Level, Network};

/// Whether commands are confined, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SandboxUse {
    /// They are not.
    Off,
    /// As well as the machine can.
    Auto,
    /// Completely, or they do not run.
    Required,
}

/// How commands are confined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSettings {
    /// Whether they are, and how strictly.
    pub used: SandboxUse,
    /// What they may write.
    pub level: Level,
    /// Whether those that nobody was asked about may use the network.
    pub network: Network,
    /// Where they may write beside the workspace.
    pub caches: Vec<PathBuf>,
    /// Whether they are not confined only because the mode asks about nothing: another one confines them (DECISIONS 12).
    pub stands_by: bool,
}

impl SandboxSettings {
    /// Nothing confines commands.
    pub const OFF: Self = Self {
        used: SandboxUse::Off,
        level: Level::Workspace,
        network: Network::Off,
        caches: Vec::new(),
        stands_by: false,
    };
}
