//! `cargo xtask picture`: `docs/chat.png`, the README's picture, made from a real run of `zori demo` on a terminal. `cargo xtask picture screens
//! [FOLDER]` makes PNGs of the chat's screens instead, for looking at.

mod png;
mod screens;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::terminal::{Kind, Terminal};

use crate::test::cargo_command;
use crate::workspace::Workspace;
use png::{DARK, Fonts};

const SIZE: Size = Size { rows: 80, cols: 100 };

/// Runs the demo and draws it, or the screens. `ZORI` names an executable that is built already.
pub fn chore(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.root.join("target"), PathBuf::from);
    let zori = match std::env::var_os("ZORI") {
        Some(file) => PathBuf::from(file),
        None => {
            let built = cargo_command()
                .args(["build", "--release", "--locked", "-p", "zori"])
                .current_dir(&workspace.root)
                .status()?;
            ensure!(built.success(), "the release build failed");
            target.join("release/zori")
        }
    };
    match args {
        [] => {
            let path = workspace.root.join("docs/chat.png");
            fs::write(&path, demo(zori)?).with_context(|| format!("cannot write {}", path.display()))?;
            println!("wrote docs/chat.png");
        }
        [what, rest @ ..] if what == "screens" => {
            let folder = rest.first().map_or_else(|| target.join("screens"), PathBuf::from);
            screens::chore(&zori, &folder)?;
        }
        _ => bail!("`cargo xtask picture` or `cargo xtask picture screens [FOLDER]`"),
    }
    Ok(ExitCode::SUCCESS)
}

/// Plays the demo in the chat; returns a picture of what is on the screen when its last turn is over.
fn demo(zori: PathBuf) -> Result<Vec<u8>> {
    let fonts = Fonts::find()?;
    let world = TestEnv::new(zori);
    let mut command = world.cmd(&["demo"]);
    command.env("TERM", "xterm-256color").env("COLORTERM", "truecolor");
    let mut pty = Pty::start(command, SIZE, world.rewrite());
    let began = Instant::now();
    // The title has a sign while a turn runs.
    let over = |drawn: &str| {
        let titles: Vec<bool> =
            drawn.match_indices("\x1b]2;").map(|(at, _)| drawn[at + 4..].starts_with('✶')).collect();
        titles.contains(&true) && titles.last() == Some(&false)
    };
    while !over(&pty.drawn()) {
        ensure!(began.elapsed() < Duration::from_secs(120), "the demo does not end:\n{}", pty.drawn());
        std::thread::sleep(Duration::from_millis(50));
    }
    std::thread::sleep(Duration::from_millis(300));
    let terminal = Terminal::drawn(Kind::Cutting, SIZE, &pty.drawn());
    let mut cells = terminal.cells();
    let written = cells.iter().rposition(|row| row.iter().any(|cell| !cell.text.trim().is_empty()));
    cells.truncate(written.map_or(0, |last| last + 1));
    // The greeting says what differs between machines.
    let first = cells.iter().position(|row| row.first().is_some_and(|cell| cell.text == "›")).unwrap_or(0);
    cells.drain(..first);
    let (row, column) = terminal.cursor();
    pty.send("\x04");
    png::draw(&cells, &DARK, &fonts, (row.saturating_sub(first), column))
}
