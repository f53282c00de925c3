//! The binary's crate: the composition root, and the only one that reads argv, environment, home and terminal.
//!
//! [`commands`] and [`args`] are the tables, [`program`] puts them together for `zori_contract`, which parses, checks, prints
//! and ends; `environment` is what it is handed. `settings` merges flags, environment and config file; `wire_up` hands what comes
//! of it to `zori_host`, where sessions live. Failures are kinds of [`error`].

mod agent_cx;
mod agent_zero;
mod agents;
pub mod app;
pub mod args;
mod asking;
mod attachment;
mod audit;
mod background;
pub mod chat;
mod child_env;
mod claude_settings;
mod code_index;
pub mod commands;
pub mod config;
mod credentials;
mod data_dir;
mod debug_dump;
mod debug_log;
mod demo;
mod environment;
pub mod error;
mod extensions;
mod find_session;
mod frontend;
mod gui;
mod handoff;
mod heartbeat;
mod hidden_input;
mod hooks;
mod host_failure;
mod import;
mod instructions;
pub mod mcp_login;
mod mcp_logins;
mod mcp_servers;
mod memory;
mod model_choice;
mod model_lists;
mod network;
mod open_browser;
mod outcome;
mod page;
mod permissions;
mod plain;
mod preferences;
mod private_file;
mod process_hardening;
pub mod profile;
pub mod program;
mod project_state;
mod prompt;
mod prompt_options;
mod recap;
mod rewrite;
mod sandbox;
mod schedule;
mod scheduler;
mod screen;
mod secrets;
mod serving;
mod session_copy;
mod settings;
mod signals;
mod stdin;
mod stream_json;
mod terminal;
mod trust;
mod ui;
mod undo;
mod uses;
mod vault;
mod which_session;
mod wire_up;
pub mod workers;

use std::io::Write;
use std::process::ExitCode;

use zori_contract::exit::Danger;
use zori_contract::failure::Failure;
use zori_contract::flag::framework::IDEMPOTENCY_KEY;
use zori_contract::path::AbsPath;
use zori_contract::world::{RunFacts, Started};

use crate::app::App;
use crate::args::flags;
use crate::audit::CommandRecord;
use crate::config::ConfigReader;
use crate::data_dir::Locations;
use crate::debug_dump::DebugDump;
use crate::debug_log::DebugLog;
use crate::environment::Environment;
use crate::network::NetworkOptions;
use crate::ui::Ui;

/// Runs the program: argv to profile, tables, command, exit code.
pub fn main() -> ExitCode {
    process_hardening::keep();
    let (program, rest) = environment::arguments();
    let env = Environment::read();
    let (profile, rest) = match profile::choose(&program, &rest) {
        Ok(chosen) => chosen,
        Err(failure) => return ExitCode::from(Ui::standard(&env).report(&failure).code()),
    };
    if rest == ["-v"] {
        return protocol_level();
    }
    let (reader, record) = (ConfigReader::default(), CommandRecord::default());
    let world = environment::world(profile, rest, &env, &reader, &record);
    let ending = record.clone();
    let code = zori_contract::run::run(program::of(profile), world, |begin| {
        // Before anything else can be said (FR-002).
        let log = DebugLog::open(begin);
        let config_file = data_dir::chosen_config(begin.args);
        let vault_dir = vault::chosen_dir(begin.args, &env);
        let locations = Locations { profile, env: env.clone(), config_file, vault_dir, reader };
        let network = NetworkOptions::new(begin.args, begin.verbosity, &env);
        let dump = DebugDump::new(begin.args.has(&flags::DEBUG_DUMP));
        let is_slash_command = chat::slash::is_built_in;
        start(App { profile, env, locations, network, log, dump, record, is_slash_command }, begin)
    });
    let code = profile.exit_code(code);
    ending.end(code);
    ExitCode::from(code)
}

/// Answers `-v`, by which SDKs of the Claude protocol learn its level; `--version` is the program's own.
fn protocol_level() -> ExitCode {
    let line = format!("{} (zori {})\n", zori_frontends::claude::PROTOCOL_VERSION, env!("CARGO_PKG_VERSION"));
    // A reader that is gone has what it wanted.
    let _ = std::io::stdout().write_all(line.as_bytes());
    ExitCode::SUCCESS
}

/// Makes what a command runs on. Help, bad calls and `--validate-only` never come here.
fn start(app: App, begin: &RunFacts<'_, App>) -> Result<Started<App>, Failure> {
    let command = begin.command;
    if command.danger_of(begin.args) != Danger::Safe {
        app.record.begin(&app.locations, begin);
    }
    let mut started = started(app, begin);
    if !commands::hears_signals(command) {
        started.signals = Some(signals::for_utility_commands()?);
    }
    Ok(started)
}

/// Returns what a command runs on, and what every answer says about it.
fn started(app: App, begin: &RunFacts<'_, App>) -> Started<App> {
    let command = begin.command;
    let mut started = Started::plain(app);
    if command.owns_streams() {
        // Its parts look for themselves, once; a key is looked up before they do.
        if begin.args.has(&IDEMPOTENCY_KEY) {
            started.state = started.app.data_dir().ok().and_then(|data_dir| AbsPath::new(data_dir.dir()));
        }
        return started;
    }
    if let Ok(data_dir) = started.app.data_dir() {
        let config = data_dir.config();
        // One that says nothing, as `--no-config` is, has configured nothing.
        if let Some(text) = std::fs::read_to_string(&config).ok().filter(|text| !text.is_empty()) {
            started.config_sources.extend(AbsPath::new(&config));
            started.effective_config = text;
        }
        started.state = AbsPath::new(data_dir.dir());
        let kept = command.danger_of(begin.args) != Danger::Safe;
        started.audit_log = AbsPath::new(&data_dir.audit()).filter(|_| kept);
    }
    started
}
