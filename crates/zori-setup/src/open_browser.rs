//! The user's browser, started beside this program.

use std::process::{Command, Stdio};

use crate::child_env::ChildEnv;
use crate::environment::Environment;

/// Tries to open the address in the user's browser; whether that works, the user sees.
pub fn open_browser(url: &str, env: &Environment) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(url).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    ChildEnv::keys_only(env).apply(&mut command);
    if let Ok(mut child) = command.spawn() {
        // Reaped when it ends, which may be after us.
        std::thread::spawn(move || child.wait());
    }
}
