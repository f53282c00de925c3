//! `cargo xtask dist`: what people install: a tarball, a Debian package and a Python wheel, each with the release binary, its
//! completions, man page and licences; and `SHA256SUMS` beside them.
//!
//! The three hold the same files ([`contents`]) in other boxes, and the same sources give the same bytes: no time, user or
//! folder of the machine goes in. `--check` installs each into an empty folder and runs the demo from it.

mod check;
mod contents;
mod deb;
mod libc_version;
mod tarball;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

use crate::test::cargo_command;
use crate::workspace::{Workspace, target_folder};

/// What a package says of itself.
pub struct Release {
    /// The version of the workspace.
    pub version: String,
    /// The processor as Rust names it, such as `x86_64`.
    pub arch: &'static str,
    /// The oldest C library that can run the binary, as in `2.34`.
    pub libc: String,
    /// The sentence of the manifest.
    pub about: &'static str,
}

/// A file of a package.
pub struct PackagedFile {
    /// Below the prefix (`/usr`, or the tarball's folder), with `/` between the parts.
    pub path: String,
    /// What is in it.
    pub bytes: Vec<u8>,
    /// Whether it is a program.
    pub executable: bool,
}

impl PackagedFile {
    /// Returns the permissions it is installed with.
    pub fn mode(&self) -> u32 {
        if self.executable { 0o755 } else { 0o644 }
    }
}

/// Builds the release binary, packs it, and tries the packages if asked to.
pub fn chore(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let options = Options::parse(args, &target_folder(workspace))?;
    ensure!(
        cfg!(target_os = "linux"),
        "packages are made on Linux; elsewhere `cargo install --path crates/zori`"
    );
    let binary = build(workspace)?;
    let release = release(workspace, &binary)?;
    let files = contents::collect(workspace, &binary)?;
    fs::create_dir_all(&options.out).with_context(|| format!("cannot make {}", options.out.display()))?;
    let packages = [tarball::pack, deb::pack, wheel::pack]
        .map(|pack| pack(&release, &files))
        .into_iter()
        .collect::<Result<Vec<Package>>>()?;
    let mut sums = String::new();
    for package in &packages {
        let path = options.out.join(&package.name);
        fs::write(&path, &package.bytes).with_context(|| format!("cannot write {}", path.display()))?;
        let sum: String = Sha256::digest(&package.bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        sums.push_str(&format!("{sum}  {}\n", package.name));
        println!("{:>9} bytes  {}", package.bytes.len(), path.display());
    }
    fs::write(options.out.join("SHA256SUMS"), sums)?;
    if options.check { check::install_each(&release, &options.out, &packages) } else { Ok(ExitCode::SUCCESS) }
}

/// A finished package.
pub struct Package {
    /// Its file name, which says version and platform.
    pub name: String,
    /// The file.
    pub bytes: Vec<u8>,
}

struct Options {
    out: PathBuf,
    check: bool,
}

impl Options {
    fn parse(args: &[String], target: &Path) -> Result<Self> {
        let mut options = Self { out: target.join("dist"), check: false };
        let mut args = args.iter();
        while let Some(arg) = args.next() {
            match arg.as_str() {
                "--check" => options.check = true,
                "--out" => options.out = args.next().context("`--out` wants a folder")?.into(),
                other => bail!("`{other}` is not an option of `cargo xtask dist`: --out DIR, --check"),
            }
        }
        Ok(options)
    }
}

fn build(workspace: &Workspace) -> Result<PathBuf> {
    let built = cargo_command()
        .args(["build", "--release", "--locked", "-p", "zori"])
        .current_dir(&workspace.root)
        .status()
        .context("cannot run cargo")?;
    ensure!(built.success(), "the release build failed");
    Ok(target_folder(workspace).join("release/zori"))
}

fn release(workspace: &Workspace, binary: &Path) -> Result<Release> {
    let manifest: toml::Table = workspace
        .text("Cargo.toml")
        .context("the workspace has a manifest")?
        .parse()
        .context("Cargo.toml")?;
    let version =
        manifest["workspace"]["package"]["version"].as_str().context("the workspace has a version")?;
    let bytes = fs::read(binary).with_context(|| format!("cannot read {}", binary.display()))?;
    Ok(Release {
        version: version.to_owned(),
        arch: std::env::consts::ARCH,
        libc: libc_version::needed_by(&bytes).context("the binary names no version of the C library")?,
        about: "A terminal coding agent: one engine, every front end",
    })
}

/// A release for the tests of the boxes.
#[cfg(test)]
fn sample() -> (Release, Vec<PackagedFile>) {
    let release =
        Release { version: "1.2.3".to_owned(), arch: "x86_64", libc: "2.34".to_owned(), about: "About." };
    let file = |path: &str, bytes: &[u8], executable| PackagedFile {
        path: path.to_owned(),
        bytes: bytes.to_vec(),
        executable,
    };
    (release, vec![file("bin/zori", b"binary", true), file("share/doc/zori/LICENSE-MIT", b"MIT", false)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(args: &[&str]) -> Result<(PathBuf, bool), String> {
        let args: Vec<String> = args.iter().map(|&arg| arg.to_owned()).collect();
        match Options::parse(&args, Path::new("target")) {
            Ok(options) => Ok((options.out, options.check)),
            Err(error) => Err(error.to_string()),
        }
    }

    #[test]
    fn options() {
        assert_eq!(parse(&[]), Ok(("target/dist".into(), false)));
        assert_eq!(parse(&["--check", "--out", "x"]), Ok(("x".into(), true)));
        assert_eq!(parse(&["--out"]), Err("`--out` wants a folder".to_owned()));
        assert_eq!(
            parse(&["--chekc"]),
            Err("`--chekc` is not an option of `cargo xtask dist`: --out DIR, --check".to_owned())
        );
    }
}
