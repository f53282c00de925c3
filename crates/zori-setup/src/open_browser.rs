//! The user's browser, started beside this program.

use std::process::{Command, Stdio};

use crate::child_env::ChildEnv;
use crate::environment::Environment;

/// The program that opens addresses.
pub const OPENER: &str = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };

/// Tries to open the address in the user's browser; whether that works, the user sees. Returns whether there is a program for it.
pub fn open_browser(url: &str, env: &Environment) -> bool {
    let mut command = Command::new(OPENER);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ChildEnv::keys_only(env).apply(&mut command);
    let Ok(mut child) = command.spawn() else { return false };
    // Reaped when it ends, which may be after us.
    std::thread::spawn(move || child.wait());
    true
}
