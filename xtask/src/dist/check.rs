//! Installs each package into an empty folder, the way its users do, and runs the demo from there.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, bail, ensure};
use zori_testkit::needs;

use super::{Package, Release};

/// Installs and tries every package, and says of each how it went.
pub fn install_each(release: &Release, out: &Path, packages: &[Package]) -> Result<ExitCode> {
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for package in packages {
        let temp = tempfile::tempdir()?;
        match install(&out.join(&package.name), temp.path()).and_then(|program| try_out(release, &program)) {
            Ok(()) => {
                passed += 1;
                println!("installed, and the demo ran: {}", package.name);
            }
            Err(error) if may_skip(&error) => {
                skipped += 1;
                println!("not tried: {}: {error}", package.name);
            }
            Err(error) => {
                failed += 1;
                println!("FAILED: {}: {error:#}", package.name);
            }
        }
    }
    println!("packages: {passed} passed, {failed} failed, {skipped} skipped");
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The program that installs a kind of package is not on this machine.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is missing")]
struct Missing(&'static str);

/// A missing program is a failure where nothing may be missing.
fn may_skip(error: &anyhow::Error) -> bool {
    error.is::<Missing>() && std::env::var_os(needs::REQUIRE).is_none()
}

/// Installs a package below a folder and returns where the program is.
fn install(package: &Path, folder: &Path) -> Result<PathBuf> {
    let path = package.as_os_str();
    match package.extension().and_then(OsStr::to_str) {
        Some("gz") => {
            run(
                "tar",
                &["-xzf".as_ref(), path, "-C".as_ref(), folder.as_os_str(), "--strip-components=1".as_ref()],
            )?;
            Ok(folder.join("bin/zori"))
        }
        Some("deb") => {
            run("dpkg-deb", &["--extract".as_ref(), path, folder.as_os_str()])?;
            Ok(folder.join("usr/bin/zori"))
        }
        Some("whl") => {
            run("python3", &["-m".as_ref(), "venv".as_ref(), folder.as_os_str()])?;
            let python = folder.join("bin/python");
            let pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index"];
            let done = Command::new(python).args(pip).arg(package).status().context("cannot run pip")?;
            ensure!(done.success(), "pip refused it");
            Ok(folder.join("bin/zori"))
        }
        _ => bail!("nobody knows how to install it"),
    }
}

fn run(program: &'static str, args: &[&OsStr]) -> Result<()> {
    match Command::new(program).args(args).status() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => bail!(Missing(program)),
        Err(error) => Err(error).with_context(|| format!("cannot run {program}")),
        Ok(status) => {
            ensure!(status.success(), "`{program}` ended with {status}");
            Ok(())
        }
    }
}

fn try_out(release: &Release, program: &Path) -> Result<()> {
    let home = tempfile::tempdir()?;
    let call = |arg: &str| {
        Command::new(program)
            .arg(arg)
            .env_clear()
            .envs([("HOME", home.path().as_os_str()), ("PATH", OsStr::new("/usr/bin:/bin"))])
            .current_dir(home.path())
            .output()
            .with_context(|| format!("cannot run {}", program.display()))
    };
    let version = call("--version")?;
    let said = String::from_utf8_lossy(&version.stdout);
    ensure!(said.trim_end() == format!("zori {}", release.version), "`--version` says {said:?}");
    let demo = call("demo")?;
    ensure!(demo.status.success(), "the demo failed:\n{}", String::from_utf8_lossy(&demo.stderr));
    ensure!(!demo.stdout.is_empty(), "the demo printed nothing");
    Ok(())
}
