//! The binary's crate: the composition root, and the commands.
//!
//! [`commands`] is the table of what can be run, [`program`] puts it together with the flags for `zori_contract`, which parses, checks, prints and
//! ends. What a run means is settled by `zori_setup`, which alone reads the environment; chats are in `zori_chat`, sessions live in `zori_host`.

pub mod commands;
mod gui;
mod heartbeat;
mod hidden_input;
mod page;
mod process_hardening;
pub mod program;
mod prompt;
mod rewrite;
mod serving;
mod stream_json;

use std::io::Write;
use std::process::ExitCode;

use zori_contract::exit::Danger;
use zori_contract::failure::Failure;
use zori_contract::flag::framework::IDEMPOTENCY_KEY;
use zori_contract::path::AbsPath;
use zori_contract::world::{RunFacts, Started};

use zori_setup::app::App;
use zori_setup::audit::CommandRecord;
use zori_setup::config::ConfigReader;
use zori_setup::data_dir::Locations;
use zori_setup::debug_log::DebugLog;
use zori_setup::environment::Environment;
use zori_setup::network::NetworkOptions;
use zori_setup::ui::Ui;

/// Runs the program: argv to profile, tables, command, exit code.
pub fn main() -> ExitCode {
    process_hardening::keep();
    let (program, rest) = zori_setup::environment::arguments();
    let env = Environment::read();
    let (profile, rest) = match zori_setup::profile::choose(&program, &rest) {
        Ok(chosen) => chosen,
        Err(failure) => return ExitCode::from(Ui::standard(&env).report(&failure).code()),
    };
    if rest == ["-v"] {
        return protocol_level();
    }
    let (reader, record) = (ConfigReader::default(), CommandRecord::default());
    let world = zori_setup::environment::world(profile, rest, &env, &reader, &record);
    let ending = record.clone();
    let code = zori_contract::run::run(program::of(profile), world, |begin| {
        // Before anything else can be said (FR-002).
        let log = DebugLog::open(begin);
        let config_file = zori_setup::data_dir::chosen_config(begin.args);
        let vault_dir = zori_setup::vault::chosen_dir(begin.args, &env);
        let locations = Locations { profile, env: env.clone(), config_file, vault_dir, reader };
        env.run_at(&locations);
        let network = NetworkOptions::new(begin.args, begin.verbosity, &env);
        let is_slash_command = zori_chat::chat::slash::is_built_in;
        start(App { profile, env, locations, network, log, record, is_slash_command }, begin)
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
        started.signals = Some(zori_setup::signals::for_utility_commands()?);
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
