//! The program as `zeph` users know it: `zori`, with fewer exit codes (DECISIONS 8).

use std::time::Duration;

use zori_core::tool::Leniency;

use super::{DataDirDefault, Exits, MissingSession, Profile};

/// The values of `zeph`.
pub const ZEPH: Profile = Profile {
    name: "zeph",
    prefix: "ZORI",
    chats_on_a_pipe: false,
    home_var: "ZORI_HOME",
    base: DataDirDefault::Config("zori"),
    exits: Exits::Folded,
    missing_session: MissingSession::Error,
    resumes_any: false,
    dialect: &zori_tools::dialect::ZORI,
    speaks: None,
    tool_timeout: Duration::from_secs(120),
    managed_config: "/etc/zori/config.toml",
    leniency: Leniency::Forgiving,
    bash_max_output: 64 * 1024,
    built_in_prompt: true,
    provider: None,
    default_models: &[],
};
