//! The escape cases (SB-10): all of the probe's table against both backends, as root and as an ordinary user, and once
//! without a sandbox, which shows that the cases can tell.
//!
//! As root each run is in a network of its own, so that every packet counts. Where the tests do not run as root, only
//! the runs of an ordinary user happen.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::Command;

use zori_testkit::needs;

/// A user nobody has.
const NOBODY: u32 = 54321;

/// Runs the table; returns what the probe printed, or nothing where this machine lacks what it takes.
#[track_caller]
fn run(backend: &str, user: User) -> Option<String> {
    let is_root = rustix::process::geteuid().is_root();
    if user == User::Root && !needs::root() {
        return None;
    }
    // The runs share names outside their directories, so they take turns.
    let me = rustix::process::geteuid().as_raw();
    let turn = File::create(std::env::temp_dir().join(format!("zori-sandbox-escape-{me}.lock"))).unwrap();
    turn.lock().unwrap();
    // Not in a temporary directory: the sandbox replaces those, and everything in them would be out of reach anyhow.
    let parent = if is_root { "/var/lib" } else { env!("CARGO_TARGET_TMPDIR") };
    let scratch = tempfile::Builder::new().prefix("zori-sandbox-").tempdir_in(parent).unwrap();
    let path = scratch.path();
    let uid = match user {
        User::Root => 0,
        User::Ordinary if is_root => NOBODY,
        User::Ordinary => rustix::process::geteuid().as_raw(),
    };
    let mode = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let outside = path.join("outside");
    fs::create_dir(&outside).unwrap();
    let probe = path.join("sandbox-probe");
    fs::copy(env!("CARGO_BIN_EXE_sandbox-probe"), &probe).unwrap();
    mode(path, 0o755);
    if is_root {
        // A program that makes its user root, and a file that only capabilities open.
        fs::copy("/usr/bin/id", outside.join("suid-id")).unwrap();
        mode(&outside.join("suid-id"), 0o4755);
        fs::write(outside.join("private"), "S3CRET\n").unwrap();
        mode(&outside.join("private"), 0o600);
        chown(outside.join("private"), Some(uid ^ 1), None).unwrap();
        for dir in [path, &outside] {
            chown(dir, Some(uid), Some(uid)).unwrap();
        }
    }
    let mut command = Command::new(&probe);
    command.args(["drive", backend, &uid.to_string()]).arg(path).env("ZSECRET", "S3CRET");
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    println!("{backend}, user {uid}:\n{text}{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success());
    needs::part_of_the_system(backend, !text.starts_with("missing: ")).then_some(text)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum User {
    Root,
    Ordinary,
}

/// Nothing may get out, and at least 120 cases must have tried.
#[track_caller]
fn check(backend: &str, user: User) {
    let Some(text) = run(backend, user) else { return };
    let cases: usize = text.lines().last().unwrap().split_once(' ').unwrap().0.parse().unwrap();
    assert!(cases >= 120, "{cases} cases");
    let packets = if rustix::process::geteuid().is_root() { "packets: 0\n" } else { "" };
    assert_eq!(text, format!("{packets}{cases} cases, 0 wrong\n"));
}

#[test]
fn bubblewrap_as_root() {
    check("bubblewrap", User::Root);
}

#[test]
fn bubblewrap_as_a_user() {
    check("bubblewrap", User::Ordinary);
}

#[test]
fn landlock_as_root() {
    check("landlock", User::Root);
}

#[test]
fn landlock_as_a_user() {
    check("landlock", User::Ordinary);
}

/// The table says of each case whether it escapes when nothing holds it; here nothing does.
#[test]
fn nothing_as_a_user() {
    let text = run("none", User::Ordinary).unwrap();
    assert!(text.ends_with(" cases, 0 wrong\n") && text.lines().count() == 1, "{text}");
}
