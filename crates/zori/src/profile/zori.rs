//! The program under its own name.

use std::time::Duration;

use super::{Bare, Exits, MissingSession, Profile};

/// The values of `zori`.
pub const ZORI: Profile = Profile {
    name: "zori",
    about: "A terminal coding agent: one engine, every front end",
    bare_without_terminal: Bare::Help,
    home_var: "ZORI_HOME",
    output_var: "ZORI_OUTPUT",
    exits: Exits::Fine,
    missing_session: MissingSession::Error,
    dialect: &zori_tools::dialect::ZORI,
    tool_timeout: Duration::from_secs(120),
    managed_config: "/etc/zori/config.toml",
    bash_max_output: 64 * 1024,
};
