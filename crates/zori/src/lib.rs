//! The binary's crate: the composition root, and the only one that reads argv, environment, home, terminal and clock.
//!
//! [`commands`] and [`args`] are the tables, [`program`] puts them together for `zori_contract`, which parses, checks, prints
//! and ends; `outside` is what it is handed. `settings` merges flags, environment and config file; `wire_up` puts the engine
//! together. Failures are kinds of [`error`].

mod acp;
mod agents;
pub mod args;
mod asking;
mod attachment;
mod audit;
mod auth;
mod base;
pub mod chat;
mod child_env;
mod claude_settings;
mod client;
mod clock;
pub mod commands;
pub mod config;
mod demo;
mod ears;
pub mod error;
mod gui;
mod handoff;
mod heartbeat;
mod helper_program;
mod hooks;
mod instructions;
mod journal;
mod mcp_serve;
mod mode_gate;
mod model_change;
mod model_choice;
mod network;
mod outcome;
mod outlet;
mod outside;
mod page;
mod permissions;
pub mod profile;
pub mod program;
mod prompt;
mod sandbox;
mod secrecy;
mod secrets;
mod settings;
mod signals;
mod stdin;
mod stream_json;
mod terminal;
mod trust;
mod ui;
mod wire_up;
pub mod workers;

use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

use zori_contract::exit::Danger;
use zori_contract::failure::Failure;
use zori_contract::path::AbsPath;
use zori_contract::world::{Begin, Started};

use crate::base::Base;
use crate::profile::Profile;
use crate::program::App;
use crate::ui::Ui;

/// Runs the program: argv to profile, tables, command, exit code.
pub fn main() -> ExitCode {
    secrecy::keep();
    let mut argv = std::env::args_os();
    let program = argv.next().unwrap_or_default();
    let rest: Vec<_> = argv.collect();
    let (profile, rest) = match profile::choose(&program, &rest) {
        Ok(chosen) => chosen,
        Err(failure) => return ExitCode::from(Ui::standard().report(&failure).code()),
    };
    if rest == ["-v"] {
        return protocol_level();
    }
    let world = outside::world(profile, rest.clone());
    let code = zori_contract::run::run(profile.program, world, |begin| start(profile, &rest, begin));
    let code = profile.exit_code(code);
    audit::end(code, &mut Ui::standard());
    ExitCode::from(code)
}

/// Answers `-v`, by which SDKs of the Claude protocol learn its level; `--version` is the program's own.
fn protocol_level() -> ExitCode {
    let line = format!("{} (zori {})\n", zori_frontends::claude::LEVEL, env!("CARGO_PKG_VERSION"));
    // A reader that is gone has what it wanted.
    let _ = std::io::stdout().write_all(line.as_bytes());
    ExitCode::SUCCESS
}

/// Makes what a command runs on. Help, bad calls and `--validate-only` never come here.
fn start(
    profile: &'static Profile,
    argv: &[OsString],
    begin: &Begin<'_, App>,
) -> Result<Started<App>, Failure> {
    // Before anything else can be said (FR-002).
    journal::open(begin);
    let command = begin.command;
    base::choose_config(begin.args);
    network::choose(begin.args, begin.talk);
    if command.danger_of(begin.args) != Danger::Safe {
        audit::begin(profile, begin, argv);
    }
    let mut started = started(profile, begin);
    if !commands::hears_signals(command) {
        started.signals = Some(signals::hear()?);
    }
    Ok(started)
}

/// Returns what a command runs on, and what every answer says about it.
fn started(profile: &'static Profile, begin: &Begin<'_, App>) -> Started<App> {
    let command = begin.command;
    let mut started = Started::plain(App { profile });
    if command.owns_streams() {
        // Its parts look for themselves, once.
        return started;
    }
    started.secrets = secrets::known();
    if let Ok(base) = Base::find(profile) {
        let config = base.config();
        // One that says nothing, as `--no-config` is, has configured nothing.
        if let Some(text) = std::fs::read_to_string(&config).ok().filter(|text| !text.is_empty()) {
            started.config_sources.extend(AbsPath::new(&config));
            started.effective_config = text;
        }
        started.state = AbsPath::new(base.dir());
        let kept = command.danger_of(begin.args) != Danger::Safe;
        started.audit_log = AbsPath::new(&base.audit()).filter(|_| kept);
    }
    started
}
