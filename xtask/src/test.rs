//! `cargo xtask test`: every test of the workspace, with nextest where it is installed.
//!
//! A test that is about something this machine lacks says so and is not run; the list of these comes last. Where root
//! builds, [`USER`] has the tests run as somebody else, with the same build.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};

use anyhow::{Context, Result};
use zori_testkit::needs;

use crate::workspace::{Workspace, target_folder};

/// The variable that names the user the tests run as. Only root can set it.
const USER: &str = "ZORI_TEST_USER";
/// What an ordinary user finds programs with: root's folders may be closed to them.
const USERS_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Runs the doc tests, which nextest does not know, then the tests, whether the first have failed or not: what is printed last says
/// what failed in both. Further arguments go to the test runner, and stand for a choice of tests, to which no doc test belongs.
pub fn chore(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let target = target_folder(workspace);
    let list = target.join("tests-not-run");
    start_list(&list)?;
    let runner: &[&str] = if has_nextest() { &["nextest", "run"] } else { &["test", "--all-targets"] };
    let mut command = cargo(workspace, &[runner, &["--workspace", "--locked"]].concat());
    command.args(args).env(needs::NOT_RUN, &list);
    // Stored snapshots are found from here; otherwise each test asks cargo, which another user may not be able to run.
    command.env("INSTA_WORKSPACE_ROOT", &workspace.root);
    if let Some(user) = std::env::var(USER).ok().filter(|user| !user.is_empty()) {
        run_as(&user, &target, &mut command)?;
    }
    let doc_tests = match args.is_empty() {
        true => Some(status(&mut cargo(
            workspace,
            &["test", "--workspace", "--locked", "--doc", "--no-fail-fast"],
        ))?),
        false => None,
    };
    let tests = status(&mut command)?;
    let said = fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
    print!("{}", summary(&said));
    match doc_tests.filter(|doc_tests| !doc_tests.success()) {
        Some(failed) => {
            println!("\nDoc tests failed: their output stands before that of the tests.");
            Ok(exit_code(if tests.success() { failed } else { tests }))
        }
        None => Ok(exit_code(tests)),
    }
}

/// Makes the list empty, and open to the user the tests run as.
fn start_list(list: &Path) -> Result<()> {
    let file = File::create(list).with_context(|| format!("cannot write {}", list.display()))?;
    file.set_permissions(Permissions::from_mode(0o666)).context("cannot open the list to all users")
}

/// Has cargo start every test as another user: it compiles as we do, and starts what it built by a runner.
fn run_as(user: &str, target: &Path, command: &mut Command) -> Result<()> {
    // Tests keep what has to lie outside of temporary folders here.
    let scratch = target.join("tmp");
    fs::create_dir_all(&scratch)
        .and_then(|()| fs::set_permissions(&scratch, Permissions::from_mode(0o1777)))?;
    let variable =
        format!("CARGO_TARGET_{}_RUNNER", host_triple()?.to_ascii_uppercase().replace(['-', '.'], "_"));
    let become_them = format!("setpriv --reuid={user} --regid={user} --clear-groups");
    command.env(variable, format!("{become_them} env HOME=/home/{user} PATH={USERS_PATH}"));
    Ok(())
}

/// Returns what the compiler builds for if nobody says otherwise.
pub fn host_triple() -> Result<String> {
    let version = Command::new("rustc").arg("-vV").output().context("cannot run rustc")?.stdout;
    let version = String::from_utf8(version).context("rustc prints text")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    host.map(str::to_owned).context("rustc names its host")
}

/// Returns what to print about tests that were not run: the names below each reason.
fn summary(list: &str) -> String {
    let mut by_reason: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for line in list.lines() {
        let told = line.strip_prefix("not run: ").and_then(|line| line.rsplit_once(": "));
        let (name, why) = told.unwrap_or((line, "no reason was given"));
        by_reason.entry(why).or_default().insert(name);
    }
    let count = by_reason.values().flatten().collect::<BTreeSet<_>>().len();
    let mut text = match count {
        0 => return String::new(),
        1 => "\n1 test was not run, or not all of it:\n".to_owned(),
        _ => format!("\n{count} tests were not run, or not all of them:\n"),
    };
    for (why, names) in by_reason {
        text.push_str(&format!("  {why}:\n"));
        names.iter().for_each(|name| text.push_str(&format!("    {name}\n")));
    }
    text
}

/// Returns whether cargo-nextest is installed.
pub fn has_nextest() -> bool {
    let mut probe = cargo_command();
    probe.args(["nextest", "--version"]).stdout(Stdio::null()).stderr(Stdio::null());
    probe.status().is_ok_and(|status| status.success())
}

fn cargo(workspace: &Workspace, words: &[&str]) -> Command {
    let mut command = cargo_command();
    command.args(words).current_dir(&workspace.root);
    command
}

fn status(command: &mut Command) -> Result<ExitStatus> {
    command.status().with_context(|| format!("cannot run {command:?}"))
}

/// Returns the cargo that runs us, else the one on the path, without what `cargo run` told us of ourselves: a build script
/// that asks for such a variable, as ring's does, would be run anew, and most of the workspace compiled again.
pub fn cargo_command() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        if name.to_str().is_some_and(|name| OF_OURSELVES.iter().any(|start| name.starts_with(start))) {
            command.env_remove(name);
        }
    }
    command
}

/// How the variables begin in which `cargo run` describes the package that it runs.
const OF_OURSELVES: &[&str] = &["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_CRATE_NAME", "CARGO_BIN_NAME"];

fn exit_code(status: ExitStatus) -> ExitCode {
    // A signal has no code; 1 says that it failed.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    ExitCode::from(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_run_is_listed_by_reason() {
        assert_eq!(summary(""), "");
        assert_eq!(
            summary(
                "not run: sandbox::b: bubblewrap is missing\nnot run: shells: zsh is missing\n\
                 not run: sandbox::a: bubblewrap is missing\nnot run: sandbox::b: bubblewrap is missing\n"
            ),
            "\n3 tests were not run, or not all of them:\n  bubblewrap is missing:\n    sandbox::a\n    sandbox::b\n  \
             zsh is missing:\n    shells\n"
        );
    }
}
