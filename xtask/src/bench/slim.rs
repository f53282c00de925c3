//! `cargo xtask bench slim`: the executable without the grammars, a cargo feature. It is asked for by itself, since it takes a release build of its own.

use std::fs;
use std::process::ExitCode;

use anyhow::{Result, ensure};

use super::figure::{self, Bar, Figure, megabytes};
use crate::test::cargo_command;
use crate::workspace::Workspace;

/// Builds it, measures it, and leaves the usual one where it was.
pub fn slim(workspace: &Workspace) -> Result<ExitCode> {
    build(workspace, &["--no-default-features"])?;
    let size = fs::metadata(workspace.root.join("target/release/zori"))?.len();
    // What was compiled for it is still there; this takes a moment.
    build(workspace, &[])?;
    let whole = fs::metadata(workspace.root.join("target/release/zori"))?.len();
    let figure = Figure {
        name: "release binary without grammars (floor: with them)",
        measured: megabytes(size as f64),
        floor: Some(megabytes(whole as f64)),
        bar: Bar::Under(22.0),
    };
    let missed = figure.missed();
    print!("{}", figure::table(&[figure]));
    Ok(if missed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn build(workspace: &Workspace, features: &[&str]) -> Result<()> {
    let mut cargo = cargo_command();
    cargo.args(["build", "--release", "--quiet", "--package", "zori"]).args(features);
    let status = cargo.current_dir(&workspace.root).status()?;
    ensure!(status.success(), "{cargo:?} failed");
    Ok(())
}
