//! The binary's crate: the composition root, and the only one that reads argv, environment, home, terminal and clock.
//!
//! `args` turns argv into `LowArgs` by the flag and command tables; [`commands`] lists what can be run; `settings`
//! merges flags, environment and config file; `wire_up` puts the engine together. Errors leave through
//! [`command_error`].

pub mod args;
mod asking;
mod attachment;
mod audit;
mod auth;
mod base;
pub mod chat;
mod clock;
pub mod command_error;
pub mod commands;
pub mod config;
mod demo;
pub mod exit;
mod helper_program;
mod hooks;
mod instructions;
mod model_choice;
mod network;
mod permissions;
pub mod profile;
mod prompt;
mod secrecy;
mod secrets;
mod settings;
mod signals;
mod terminal;
mod timeout;
mod trust;
mod ui;
mod wire_up;

use std::process::ExitCode;

use crate::args::Parsed;
use crate::exit::Exit;
use crate::terminal::Terminal;
use crate::timeout::Timeout;
use crate::ui::Ui;

/// Runs the program: argv to profile, flags, command, exit code.
pub fn main() -> ExitCode {
    secrecy::keep();
    let mut argv = std::env::args_os();
    let program = argv.next().unwrap_or_default();
    let rest: Vec<_> = argv.collect();
    let mut ui = Ui::standard();
    let (profile, exit) = match profile::choose(&program, &rest) {
        Ok((profile, rest)) => (profile, run(profile, &rest, &mut ui)),
        Err(error) => (&profile::ZORI, ui.report(&error)),
    };
    ExitCode::from(profile.exit_code(exit))
}

fn run(profile: &'static profile::Profile, argv: &[std::ffi::OsString], ui: &mut Ui) -> Exit {
    let terminal = Terminal::detect();
    let result = match args::parse(profile, argv) {
        Ok(Parsed::Help(text)) => return ui.document(&text),
        Ok(Parsed::Run(command, args)) => {
            if command.is_recorded() {
                audit::begin(profile, command, &args, argv);
            }
            Timeout::start(args.timeout, command.time(), profile).and_then(|timeout| {
                let mut cx = commands::Cx { profile, terminal, timeout, ui };
                (command.run)(&mut cx, &args)
            })
        }
        Err(error) => Err(error),
    };
    let exit = result.unwrap_or_else(|error| ui.report(&error));
    audit::end(profile.exit_code(exit), ui);
    exit
}
