//! The program as `zdx` users know it.

use std::time::Duration;

use zori_core::tool::Leniency;

use super::{DataDirDefault, Exits, MissingSession, Profile};

/// The values of `zdx`.
pub const ZDX: Profile = Profile {
    name: "zdx",
    prefix: "ZDX",
    chats_on_a_pipe: true,
    home_var: "ZDX_HOME",
    base: DataDirDefault::Config("zdx"),
    exits: Exits::Folded,
    missing_session: MissingSession::Text,
    resumes_any: true,
    dialect: &zori_tools::dialect::ZDX,
    speaks: None,
    tool_timeout: Duration::from_secs(30),
    managed_config: "/etc/zori/config.toml",
    leniency: Leniency::Exact,
    bash_max_output: 0,
    built_in_prompt: false,
    provider: None,
    default_models: &[("anthropic", "claude-haiku-4-5")],
};
