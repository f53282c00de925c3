//! The program as the Yume GUI starts it: `yume-cli start`.

use std::time::Duration;

use zori_policy::mode::Protocol;

use zori_core::tool::Leniency;

use super::{DataDirDefault, Exits, MissingSession, Profile};

/// The values of `yume-cli`.
pub const YUME: Profile = Profile {
    name: "yume-cli",
    prefix: "YUME",
    chats_on_a_pipe: false,
    home_var: "YUME_HOME",
    base: DataDirDefault::Home(".yume"),
    exits: Exits::Fine,
    missing_session: MissingSession::Error,
    resumes_any: false,
    dialect: &zori_tools::dialect::CLAUDE,
    speaks: Some(Protocol::Yume),
    tool_timeout: Duration::from_secs(120),
    managed_config: "/etc/zori/config.toml",
    leniency: Leniency::Forgiving,
    bash_max_output: 64 * 1024,
    built_in_prompt: true,
    provider: None,
    default_models: &[],
};
