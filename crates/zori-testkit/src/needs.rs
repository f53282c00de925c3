//! What a test is about and a machine may lack: bubblewrap, a shell, the rights of root.
//!
//! A test asks first and returns where the answer is no. It then says by name that it was not run and why: on stdout,
//! and in the file that [`NOT_RUN`] names, from which `cargo xtask test` prints its list. A test that is about none of
//! these must not depend on them.
//!
//! Where [`REQUIRE`] is set nothing may be missing silently: `programs` makes every missing program a failure, `all`
//! the missing rights of root too.

use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

/// The variable that names the file for tests that were not run, a line each.
pub const NOT_RUN: &str = "ZORI_TEST_NOT_RUN";
/// The variable that says what must be there: `programs` or `all`.
pub const REQUIRE: &str = "ZORI_TEST_REQUIRE";

/// The end of the name of every test that needs root, by which a second run finds them.
const ROOTS_NAME: &str = "_as_root";

/// Returns whether bubblewrap is installed and may make namespaces here.
#[track_caller]
pub fn bubblewrap() -> bool {
    static WORKS: OnceLock<bool> = OnceLock::new();
    let works = || {
        let mut command = Command::new("/usr/bin/bwrap");
        command.args(["--unshare-all", "--ro-bind", "/", "/", "--proc", "/proc", "--", "/bin/sh", "-c", ":"]);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    part_of_the_system("bubblewrap", *WORKS.get_or_init(works))
}

/// Returns where a program is, if it is on the path and we may run it.
#[track_caller]
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| may_run(file));
    part_of_the_system(name, found.is_some()).then_some(found).flatten()
}

/// Returns whether something only the caller can look for is there, such as a part of the kernel.
#[track_caller]
pub fn part_of_the_system(what: &str, is_there: bool) -> bool {
    is_there || lacks(&format!("{what} is missing"), &["programs", "all"])
}

/// Returns whether we are root.
///
/// # Panics
///
/// When the test's name does not say that it needs root: it would not be among those that are run as root.
#[track_caller]
pub fn root() -> bool {
    let name = test_name();
    assert!(name.ends_with(ROOTS_NAME), "{name} needs root, so its name has to end in `{ROOTS_NAME}`");
    rustix::process::geteuid().is_root() || lacks("it needs the rights of root", &["all"])
}

fn may_run(file: &Path) -> bool {
    let mode =
        std::fs::metadata(file).ok().filter(std::fs::Metadata::is_file).map(|meta| meta.permissions().mode());
    mode.is_some_and(|mode| mode & 0o111 != 0)
        && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

/// Tells that this test is not run; fails where that may not be.
#[track_caller]
fn lacks(why: &str, required_by: &[&str]) -> bool {
    let name = test_name();
    let required = std::env::var(REQUIRE).unwrap_or_default();
    assert!(!required_by.contains(&required.as_str()), "{name}: {why}, and `{REQUIRE}={required}` is set");
    let line = not_run(&name, why);
    print_line(&line);
    if let Some(list) = std::env::var_os(NOT_RUN) {
        let mut list =
            OpenOptions::new().append(true).create(true).open(list).expect("the list can be written");
        list.write_all(format!("{line}\n").as_bytes()).expect("the list can be written");
    }
    false
}

fn not_run(name: &str, why: &str) -> String {
    format!("not run: {name}: {why}")
}

#[expect(clippy::print_stdout, reason = "the test's own output is where a person looks first")]
fn print_line(line: &str) {
    println!("{line}");
}

/// Returns the test's name: its thread has it, unless the runner has only one thread.
#[track_caller]
fn test_name() -> String {
    let thread = std::thread::current();
    match thread.name() {
        Some(name) if name != "main" => name.to_owned(),
        _ => std::panic::Location::caller().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_where_it_can_be_run() {
        assert!(program("sh").is_some_and(|path| path.ends_with("sh")));
        assert!(!may_run(Path::new("/etc/passwd")) && !may_run(Path::new("/")));
    }

    #[test]
    fn the_name_of_this_test_is_known() {
        assert_eq!(test_name(), "needs::tests::the_name_of_this_test_is_known");
    }

    #[test]
    #[should_panic(expected = "needs root, so its name has to end in `_as_root`")]
    fn a_test_that_needs_root_says_so_in_its_name() {
        root();
    }
}
