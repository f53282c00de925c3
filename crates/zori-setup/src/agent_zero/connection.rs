//! How the server is reached and spoken to: the keys of `[connection]` (REQ-4).

use std::sync::{Arc, OnceLock};

use zori_contract::failure::Failure;
use zori_providers::agent_zero::{AgentZeroOptions, NAME, StreamMode, mock};

use super::preface::ContextPreface;
use super::{AgentZeroSetup, Reader};
use crate::args::LowArgs;
use crate::config::Config;
use crate::environment::Environment;
use crate::error::SETTING_INVALID;
use crate::profile::Profile;

/// The handler's route where none is named.
const PATH: &str = "/api_message";

/// Returns the address that host, port and path make; `None` where no host is set.
pub fn address(config: &Config) -> Option<String> {
    if config.flag("connection.use_mock") == Some(true) {
        return Some(mock::ADDRESS.to_owned());
    }
    let text = |key| config.text(key).map(str::trim).filter(|text| !text.is_empty());
    let host = text("connection.host")?;
    let scheme = if config.flag("connection.secure") == Some(true) { "https" } else { "http" };
    let port = config.count("connection.port").map(|port| format!(":{port}")).unwrap_or_default();
    let path = text("connection.path").unwrap_or(PATH).trim_start_matches('/');
    Some(format!("{scheme}://{host}{port}/{path}"))
}

/// Returns the error for a server nobody has named (SRV-15: no port is guessed).
pub fn no_address() -> Failure {
    Failure::new(&SETTING_INVALID, "no Agent Zero server is named")
        .hint("set AGENTZERO_API_URL, or `connection.api_url` in the config file, to `http://localhost:50001/api_message`")
        .hint("`connection.use_mock = true` answers from a script inside this program, to try it out")
}

/// Returns the workspace that is set for this provider, where it is the one in use and no `--root` is given.
pub fn workspace_root<'a>(
    args: &LowArgs,
    config: &'a Config,
    env: &'a Environment,
    profile: &Profile,
) -> Option<&'a str> {
    let provider = args.model.provider.as_deref().or(profile.provider).or_else(|| config.text("provider"));
    if provider != Some(NAME) || args.workspace.root.is_some() {
        return None;
    }
    Reader::new(config, env).text("connection.workspace_root", "AGENTZERO_WORKSPACE_ROOT")
}

/// Reads the settings.
pub fn read(
    config: &Config,
    env: &Environment,
    preface: Arc<ContextPreface>,
) -> (AgentZeroSetup, Vec<String>) {
    let mut reader = Reader::new(config, env);
    let mode = reader.text("connection.stream_mode", "AGENTZERO_STREAM_MODE").unwrap_or("auto");
    let stream_mode = match mode {
        "sse" => StreamMode::Sse,
        "jsonl" => StreamMode::Jsonl,
        "auto" => StreamMode::Auto,
        other => {
            reader.warnings.push(format!("AGENTZERO_STREAM_MODE cannot be `{other}`; `auto` is used"));
            StreamMode::Auto
        }
    };
    let own = |key| config.text(key).map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let options = AgentZeroOptions {
        lifetime_hours: reader.number("connection.lifetime_hours", "AGENTZERO_LIFETIME_HOURS", 24.0),
        stream: reader.flag("connection.stream", "AGENTZERO_STREAM", true),
        stream_mode,
        keepalive: reader.seconds("connection.keepalive_seconds", "AGENTZERO_KEEPALIVE_SECONDS", 5.0),
        max_wait: reader.seconds("connection.max_wait_seconds", "AGENTZERO_MAX_WAIT_SECONDS", 0.0),
        send_tool_results: reader.flag("connection.send_tool_results", "AGENTZERO_SEND_TOOL_RESULTS", true),
        max_tool_rounds: reader.count("connection.max_tool_rounds", "", 50),
        log_poll: reader.seconds("connection.log_poll_seconds", "", 1.0),
        server_project: own("connection.server_project"),
        server_profile: own("connection.server_profile"),
    };
    let timeout = reader.seconds("connection.timeout_seconds", "AGENTZERO_TIMEOUT_SECONDS", 0.0);
    let mock = config.flag("connection.use_mock") == Some(true);
    let terminate_on_close = config.flag("connection.terminate_on_close").unwrap_or(false);
    let ui_url = own("connection.ui_url").or_else(|| own("connection.dashboard_url"));
    let setup = AgentZeroSetup {
        options,
        mock,
        timeout,
        preface,
        terminate_on_close,
        ui_url,
        server: OnceLock::new(),
    };
    (setup, reader.warnings)
}
