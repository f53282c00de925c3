//! The program as `zdx` users know it.

use std::time::Duration;

use super::{Bare, Exits, MissingSession, Profile};

/// The values of `zdx`.
pub const ZDX: Profile = Profile {
    name: "zdx",
    about: "A terminal coding agent (zori under the name zdx)",
    bare_without_terminal: Bare::Chat,
    home_var: "ZDX_HOME",
    output_var: "ZDX_OUTPUT",
    exits: Exits::Folded,
    missing_session: MissingSession::Text,
    dialect: &zori_tools::dialect::ZORI,
    tool_timeout: Duration::from_secs(30),
    managed_config: "/etc/zori/config.toml",
    bash_max_output: 0,
};
