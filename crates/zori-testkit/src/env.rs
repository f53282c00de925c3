//! The environment of one test: its own home, working directory, base directory and temporary directory, and an
//! environment that holds nothing else.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

use crate::output::CommandOutput;
use crate::pty::{Pty, Size};
use crate::rewrite::Rewrite;
use crate::running::{Running, Stdin, Stdout};
use crate::server::ModelServer;

/// The key that [`TestEnv::use_server`] sets; tests look for it where no key must be.
pub const TEST_KEY: &str = "test-key-0123456789";

/// A hermetic environment for runs of one binary.
#[derive(Debug)]
pub struct TestEnv {
    binary: PathBuf,
    top: PathBuf,
    base: PathBuf,
    vars: BTreeMap<OsString, OsString>,
    // Removes the folder when the test is over.
    _temp: TempDir,
}

impl TestEnv {
    /// Returns a fresh world for the binary, usually `env!("CARGO_BIN_EXE_zori")`.
    pub fn new(binary: impl Into<PathBuf>) -> Self {
        let temp = TempDir::new().expect("a temporary folder can be made");
        let top = temp.path().canonicalize().expect("the folder exists");
        for name in ["home", "work", "tmp"] {
            std::fs::create_dir(top.join(name)).expect("a folder can be made in ours");
        }
        let base = top.join("base");
        let mut vars = BTreeMap::new();
        let path = std::env::var_os("PATH").unwrap_or_else(|| "/usr/bin:/bin".into());
        let values = [
            ("PATH", path),
            ("HOME", top.join("home").into()),
            ("ZORI_HOME", base.clone().into()),
            ("TMPDIR", top.join("tmp").into()),
            ("TERM", "dumb".into()),
            ("LANG", "C.UTF-8".into()),
        ];
        vars.extend(values.map(|(name, value)| (OsString::from(name), value)));
        Self { binary: binary.into(), top, base, vars, _temp: temp }
    }

    /// Lets the base directory follow from `HOME` (`$HOME/.config/zori`) instead of `ZORI_HOME`.
    pub fn base_from_home(&mut self) -> &mut Self {
        self.base = self.home().join(".config/zori");
        self.remove_var("ZORI_HOME")
    }

    /// Returns the home directory, `$HOME` in output.
    pub fn home(&self) -> PathBuf {
        self.top.join("home")
    }

    /// Returns the working directory of runs, `$WORK` in output.
    pub fn work(&self) -> PathBuf {
        self.top.join("work")
    }

    /// Returns the base directory, `$BASE` in output. It does not exist until something is written there.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Returns the directory for temporary files of runs, `$TMP` in output.
    pub fn tmp(&self) -> PathBuf {
        self.top.join("tmp")
    }

    /// Sets a variable for all further runs.
    pub fn set_var(&mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> &mut Self {
        self.vars.insert(name.as_ref().to_owned(), value.as_ref().to_owned());
        self
    }

    /// Removes a variable for all further runs.
    pub fn remove_var(&mut self, name: impl AsRef<OsStr>) -> &mut Self {
        self.vars.remove(name.as_ref());
        self
    }

    /// Makes the server the Anthropic provider of all further runs, with [`TEST_KEY`] as key.
    pub fn use_server(&mut self, server: &ModelServer) -> &mut Self {
        self.set_var("ANTHROPIC_BASE_URL", server.url()).set_var("ANTHROPIC_API_KEY", TEST_KEY)
    }

    /// Writes a file, making its parents; a relative path starts at the working directory.
    pub fn write(&self, path: impl AsRef<Path>, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.work().join(path);
        let parent = path.parent().expect("a file has a parent");
        std::fs::create_dir_all(parent).expect("the parents can be made");
        std::fs::write(&path, content).expect("the file can be written");
        path
    }

    /// Returns a file's text; a relative path starts at the working directory.
    ///
    /// # Panics
    ///
    /// When it cannot be read.
    #[track_caller]
    pub fn read(&self, path: impl AsRef<Path>) -> String {
        let path = self.work().join(path);
        match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }

    /// Returns the files below the base directory's `sessions`, sorted by name.
    pub fn session_files(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.base.join("sessions")) else { return Vec::new() };
        let mut files: Vec<_> = entries.map(|entry| entry.expect("the folder can be read").path()).collect();
        files.retain(|path| path.extension().is_some_and(|e| e == "jsonl"));
        files.sort();
        files
    }

    /// Returns the command for a run: cleared environment, the working directory as current directory.
    pub fn cmd(&self, args: &[&str]) -> Command {
        let mut command = Command::new(&self.binary);
        command.args(args).current_dir(self.work()).env_clear().envs(&self.vars);
        command
    }

    /// Runs to the end with nothing on stdin.
    #[track_caller]
    pub fn run(&self, args: &[&str]) -> CommandOutput {
        self.start(self.cmd(args), Stdin::Null, Stdout::Captured).finish()
    }

    /// Runs to the end with these bytes on stdin.
    #[track_caller]
    pub fn run_with_stdin(&self, args: &[&str], stdin: impl Into<Vec<u8>>) -> CommandOutput {
        self.start(self.cmd(args), Stdin::Bytes(stdin.into()), Stdout::Captured).finish()
    }

    /// Starts a command made by [`TestEnv::cmd`], and changed as the test needs it.
    #[track_caller]
    pub fn start(&self, command: Command, stdin: Stdin, stdout: Stdout) -> Running {
        Running::start(command, stdin, stdout, self.rewrite())
    }

    /// Starts a run on a pseudo terminal, with `TERM=xterm-256color`. A chat is the line chat there.
    #[track_caller]
    pub fn pty(&self, args: &[&str], size: Size) -> Pty {
        let mut command = self.cmd(args);
        command.env("TERM", "xterm-256color").env("ACCESSIBLE", "1");
        Pty::start(command, size, self.rewrite())
    }

    /// Starts a run on a pseudo terminal; a chat has its screen there.
    #[track_caller]
    pub fn screen(&self, args: &[&str], size: Size) -> Pty {
        let mut command = self.cmd(args);
        command.env("TERM", "xterm-256color").env_remove("ACCESSIBLE");
        Pty::start(command, size, self.rewrite())
    }

    /// Returns the rewriting of this world's paths.
    pub fn rewrite(&self) -> Rewrite {
        Rewrite::new(&[
            (&self.home(), "$HOME"),
            (&self.work(), "$WORK"),
            (&self.base, "$BASE"),
            (&self.tmp(), "$TMP"),
            (&self.top, "$TOP"),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_sees_this_world_and_no_other() {
        let mut env = TestEnv::new("sh");
        env.set_var("EXTRA", "1");
        env.write("a/b.txt", "content\n");
        let script =
            "env | grep -v -e ^PATH= -e ^PWD= -e ^_= -e ^SHLVL= -e ^OLDPWD= | sort; pwd; cat a/b.txt";
        assert_eq!(
            env.run(&["-c", script]).to_string(),
            "EXTRA=1\nHOME=$HOME\nLANG=C.UTF-8\nTERM=dumb\nTMPDIR=$TMP\nZORI_HOME=$BASE\n$WORK\ncontent\n[exit status: 0]"
        );
        assert_eq!(env.read("a/b.txt"), "content\n");
    }

    #[test]
    fn the_base_can_follow_from_home() {
        let mut env = TestEnv::new("sh");
        env.base_from_home();
        assert_eq!(env.run(&["-c", "echo ${ZORI_HOME-unset}"]).stdout(), "unset\n");
        assert_eq!(env.base(), env.home().join(".config/zori"));
        assert_eq!(env.session_files(), Vec::<PathBuf>::new());
        let file = env.write(env.base().join("sessions/a.jsonl"), "{}\n");
        env.write(env.base().join("sessions/a.lock"), "");
        assert_eq!(env.session_files(), vec![file]);
    }

    #[test]
    fn stdin_is_empty_unless_given() {
        let env = TestEnv::new("sh");
        assert_eq!(env.run(&["-c", "cat; echo end"]).stdout(), "end\n");
        assert_eq!(env.run_with_stdin(&["-c", "cat"], "hi\n").stdout(), "hi\n");
    }
}
