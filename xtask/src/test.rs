//! `cargo xtask test`: every test of the workspace, with nextest where it is installed.

use std::process::{Command, ExitCode, ExitStatus, Stdio};

use anyhow::{Context, Result};

use crate::workspace::Workspace;

/// Runs the tests, then the doc tests, which nextest does not know. Further arguments go to the test runner.
pub fn chore(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let runner: &[&str] = if has_nextest() { &["nextest", "run"] } else { &["test", "--all-targets"] };
    let tests = cargo(workspace, &[runner, &["--workspace"]].concat(), args)?;
    if !tests.success() {
        return Ok(exit_code(tests));
    }
    Ok(exit_code(cargo(workspace, &["test", "--workspace", "--doc"], &[])?))
}

fn has_nextest() -> bool {
    let mut probe = Command::new(cargo_path());
    probe.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

fn cargo(workspace: &Workspace, words: &[&str], args: &[String]) -> Result<ExitStatus> {
    let mut command = Command::new(cargo_path());
    command.args(words).args(args).current_dir(&workspace.root);
    command.status().with_context(|| format!("cannot run {command:?}"))
}

/// The cargo that runs us, else the one on the path.
pub fn cargo_path() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

fn exit_code(status: ExitStatus) -> ExitCode {
    // A signal has no code; 1 says that it failed.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    ExitCode::from(code)
}
