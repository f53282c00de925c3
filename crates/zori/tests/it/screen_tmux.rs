//! The chat in a real tmux, and in a tmux inside it (test row 1): what a dozen sizes leave of it.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::reply::Reply;
use zori_testkit::{anthropic, needs, wait};

use crate::world::with_model;

/// A tmux server of its own. Dropping it ends it.
struct Tmux {
    program: PathBuf,
    socket: PathBuf,
}

impl Tmux {
    /// Starts the chat in a window of this size, below some rows of the shell.
    fn start(program: PathBuf, world: &TestEnv, shell: &str) -> Self {
        let tmux = Self { program, socket: world.tmp().join("tmux") };
        let zori = world.cmd(&[]);
        let vars: String = zori
            .get_envs()
            .filter_map(|(name, value)| Some(format!("export {}='{}'; ", name.to_str()?, value?.to_str()?)))
            .filter(|line| !line.starts_with("export TERM="))
            .collect();
        let line = format!(
            "{vars}unset ACCESSIBLE; cd '{}'; echo shell-1; echo shell-2; {shell}; exec cat",
            world.work().display()
        );
        tmux.run(&["-f", "/dev/null", "new-session", "-d", "-x", "80", "-y", "24", "sh", "-c", &line]);
        tmux
    }

    fn run(&self, args: &[&str]) -> String {
        let mut command = Command::new(&self.program);
        // Nothing of the caller's, such as `CI` or `TMUX`, is to reach the chat.
        command.env_clear().envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("TERM", "xterm-256color").env("LANG", "C.UTF-8").stdin(Stdio::null());
        let output =
            command.arg("-S").arg(&self.socket).arg("-u").args(args).output().expect("tmux can be run");
        assert!(output.status.success(), "tmux {args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// Everything from the oldest row on; rows that tmux wrapped are one.
    fn rows(&self) -> Vec<String> {
        let text = self.run(&["capture-pane", "-p", "-J", "-S", "-"]);
        text.trim_end().lines().map(|row| row.trim_end().to_owned()).collect()
    }

    #[track_caller]
    fn sees(&self, text: &str) {
        let seen = wait::poll(wait::BOUND, || self.rows().iter().any(|row| row.contains(text)).then_some(()));
        assert!(seen.is_some(), "`{text}` is not to be seen:\n{}", self.rows().join("\n"));
    }

    /// Waits until the size has settled and everything is drawn anew: the footer is there once, at the end, so nothing of an old viewport is left.
    #[track_caller]
    fn settles(&self) {
        let settled = |rows: &[String]| {
            rows.iter().filter(|row| row.contains("YOLO ·")).count() == 1
                && rows.last().is_some_and(|row| row.contains("YOLO ·"))
        };
        let seen = wait::poll(wait::BOUND, || settled(&self.rows()).then_some(()));
        assert!(seen.is_some(), "one viewport, at the end:\n{}", self.rows().join("\n"));
    }

    fn keys(&self, keys: &str) {
        self.run(&["send-keys", "-l", keys]);
    }

    fn enter(&self) {
        self.run(&["send-keys", "Enter"]);
    }

    fn resize(&self, columns: u16, rows: u16) {
        self.run(&["resize-window", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        let _ = Command::new(&self.program).arg("-S").arg(&self.socket).arg("kill-server").output();
    }
}

const SIZES: [(u16, u16); 12] = [
    (60, 24),
    (100, 24),
    (40, 30),
    (120, 20),
    (33, 24),
    (99, 24),
    (50, 12),
    (81, 40),
    (79, 24),
    (45, 24),
    (132, 24),
    (80, 24),
];

#[track_caller]
fn check(tmux: &Tmux, count: usize) {
    let rows = tmux.rows();
    for wanted in ["shell-1", "shell-2"]
        .map(str::to_owned)
        .into_iter()
        .chain((0..count).map(|i| format!("UNIQ-{i:03} lorem")))
    {
        let found = rows.iter().filter(|row| **row == wanted).count();
        assert_eq!(found, 1, "{wanted} in\n{}", rows.join("\n"));
    }
}

#[test]
fn a_dozen_sizes_in_tmux() {
    let Some(program) = needs::program("tmux") else { return };
    let gate = Gate::new();
    let text: String = (0..80).map(|i| format!("UNIQ-{i:03} lorem\n\n")).collect();
    let (world, _model) =
        with_model([Reply::from(anthropic::text(&text)).chunks_of(200).wait_after(3, &gate)]);
    let zori = env!("CARGO_BIN_EXE_zori");
    let tmux = Tmux::start(program, &world, &format!("{zori} --no-save"));
    tmux.sees("›");
    tmux.keys("go");
    tmux.sees("› go");
    tmux.enter();
    tmux.sees("Waiting for");
    for (i, (columns, rows)) in SIZES.into_iter().enumerate() {
        tmux.resize(columns, rows);
        if i == 3 {
            gate.open();
        }
        tmux.settles();
    }
    tmux.sees("UNIQ-079");
    check(&tmux, 80);
    for (columns, rows) in SIZES {
        tmux.resize(columns, rows);
        tmux.settles();
    }
    check(&tmux, 80);
}

/// Scripts type so: the text and Enter in one burst. tmux marks what is pasted, so these are keys.
#[test]
fn keys_sent_at_once_are_sent() {
    let Some(program) = needs::program("tmux") else { return };
    let (world, model) = with_model([anthropic::text("Here.")]);
    let zori = env!("CARGO_BIN_EXE_zori");
    let tmux = Tmux::start(program, &world, &format!("{zori} --no-save"));
    tmux.sees("›");
    tmux.run(&["send-keys", "say where you are", "Enter"]);
    tmux.sees("Here.");
    assert_eq!(model.request(0).conversation(), "user: say where you are\n");
}

#[test]
fn tmux_in_tmux() {
    let Some(program) = needs::program("tmux") else { return };
    let (world, model) = with_model([anthropic::text("日本語 and 🚀 and مرحبا in one row.\n\nEnd.")]);
    let zori = env!("CARGO_BIN_EXE_zori");
    let inner = world.tmp().join("inner");
    let (name, socket) = (program.display().to_string(), inner.display().to_string());
    let shell =
        format!("TMUX= TERM=tmux-256color {name} -u -f /dev/null -S {socket} new-session {zori} --no-save");
    let tmux = Tmux::start(program.clone(), &world, &shell);
    let end = Tmux { program, socket: inner };
    tmux.sees("›");
    tmux.keys("in the inner one");
    tmux.sees("› in the inner one");
    tmux.enter();
    tmux.sees("End.");
    tmux.sees("日本語 and 🚀 and مرحبا in one row.");
    assert_eq!(model.request(0).conversation(), "user: in the inner one\n");
    drop(end);
}
