//! The programs that are measured: zori as we ship it, and the small ones it is compared with.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use tempfile::TempDir;

use crate::test::cargo_command;
use crate::workspace::Workspace;

/// Paths of the built programs.
pub struct Programs {
    /// The release build.
    pub zori: PathBuf,
    /// The bare client.
    pub floor: PathBuf,
    /// The process that does nothing.
    pub nothing: PathBuf,
    /// Starts another one and notes its peak memory.
    pub launch: PathBuf,
    // Holds the small ones.
    _temp: TempDir,
}

impl Programs {
    /// Builds them all.
    pub fn build(workspace: &Workspace) -> Result<Self> {
        let mut cargo = cargo_command();
        cargo.args(["build", "--release", "--quiet", "--package", "zori"]).current_dir(&workspace.root);
        run(&mut cargo)?;
        // This program was built into the same folder as zori is.
        let own = std::env::current_exe().context("cannot find this program")?;
        let zori = own.with_file_name("zori");
        Self::beside(workspace, &zori)
    }

    /// Builds the small ones, to be measured beside a zori that exists.
    pub fn beside(workspace: &Workspace, zori: &Path) -> Result<Self> {
        ensure!(zori.is_file(), "{} was not built", zori.display());
        let temp = TempDir::new()?;
        let small = |name: &str| -> Result<PathBuf> {
            let source = workspace.root.join("xtask/bench").join(format!("{name}.rs"));
            compile(&source, &temp.path().join(name))
        };
        Ok(Self {
            // It is run in other folders than this one.
            zori: zori.canonicalize()?,
            floor: small("floor")?,
            nothing: small("nothing")?,
            launch: small("launch")?,
            _temp: temp,
        })
    }
}

fn compile(source: &Path, program: &Path) -> Result<PathBuf> {
    let mut rustc = Command::new("rustc");
    rustc.args(["-O", "--edition=2024", "-C", "strip=symbols", "-o"]).arg(program).arg(source);
    run(&mut rustc)?;
    Ok(program.to_path_buf())
}

fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(status.success(), "{command:?} failed");
    Ok(())
}
