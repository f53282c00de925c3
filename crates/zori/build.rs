//! Has the linker put the functions that every start runs side by side.
//!
//! The kernel maps a program in pieces of sixteen pages and more. What a start runs is a tenth of this one, but lies all over it, so
//! that most of the memory of a run was code that nobody ran. The names are in `link-order.txt`, which `cargo xtask order` writes; those of another
//! compiler or of an incremental build fit nothing and change nothing. Only a release is linked so, and only where the linker knows how: it is
//! tried.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    let order = PathBuf::from(variable("CARGO_MANIFEST_DIR")).join("link-order.txt");
    println!("cargo::rerun-if-changed={}", order.display());
    println!("cargo::rerun-if-changed=build.rs");
    if variable("PROFILE") != "release" || variable("HOST") != variable("TARGET") {
        return;
    }
    let arguments = [
        format!("-Wl,--symbol-ordering-file={}", order.display()),
        "-Wl,--no-warn-symbol-ordering".to_owned(),
    ];
    if links(&arguments, Path::new(&variable("OUT_DIR"))) {
        for argument in arguments {
            println!("cargo::rustc-link-arg-bins={argument}");
        }
    }
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Returns whether a program can be linked with these arguments, by the linker and the flags of this build.
fn links(arguments: &[String], folder: &Path) -> bool {
    let source = folder.join("probe.rs");
    if std::fs::write(&source, "fn main() {}\n").is_err() {
        return false;
    }
    let mut rustc = Command::new(variable("RUSTC"));
    rustc.arg(&source).arg("-o").arg(folder.join("probe"));
    let flags = variable("CARGO_ENCODED_RUSTFLAGS");
    rustc.args(flags.split('\u{1f}').filter(|flag| !flag.is_empty()));
    let linker = variable("RUSTC_LINKER");
    if !linker.is_empty() {
        rustc.arg(format!("-Clinker={linker}"));
    }
    rustc.args(arguments.iter().map(|argument| format!("-Clink-arg={argument}")));
    rustc.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    rustc.status().is_ok_and(|status| status.success())
}
