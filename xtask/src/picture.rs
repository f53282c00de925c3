//! `cargo xtask picture`: `docs/demo.svg`, made from a real run of `zori demo` on a terminal. `cargo xtask picture screens [FOLDER]` makes PNGs of
//! the chat's screens instead, for looking at.
//!
//! What is drawn is what a terminal shows of the chat, from the prompt on. Only times are evened out, so that the file changes when the program's
//! words do. Lines appear one after another; a viewer without animation shows all.

mod png;
mod screens;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::terminal::{Cell, Kind, Terminal};

use crate::test::cargo_command;
use crate::workspace::Workspace;
use png::DARK;

const SIZE: Size = Size { rows: 80, cols: 100 };
const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 14.0;
/// Seconds between two lines.
const PACE: f32 = 0.35;

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
            let path = workspace.root.join("docs/demo.svg");
            fs::write(&path, svg(&demo(zori)?))
                .with_context(|| format!("cannot write {}", path.display()))?;
            println!("wrote docs/demo.svg");
        }
        [what, rest @ ..] if what == "screens" => {
            let folder = rest.first().map_or_else(|| target.join("screens"), PathBuf::from);
            screens::chore(&zori, &folder)?;
        }
        _ => bail!("`cargo xtask picture` or `cargo xtask picture screens [FOLDER]`"),
    }
    Ok(ExitCode::SUCCESS)
}

/// A line of the screen: pieces of one look.
type Line = Vec<(String, Cell)>;

/// Plays the demo in the chat; returns what is on the screen from its prompt to the end of its last turn.
fn demo(zori: PathBuf) -> Result<Vec<Line>> {
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
    let cells = Terminal::drawn(Kind::Cutting, SIZE, &pty.drawn()).cells();
    pty.send("\x04");
    Ok(lines(&cells))
}

/// Joins cells of one look, from the row of the prompt to the last one with something in it but the composer and its footer.
fn lines(cells: &[Vec<Cell>]) -> Vec<Line> {
    let text =
        |row: &[Cell]| row.iter().map(|cell| cell.text.as_str()).collect::<String>().trim_end().to_owned();
    let first = cells.iter().position(|row| text(row).starts_with("› ")).unwrap_or(0);
    let composer = cells.iter().rposition(|row| text(row) == "›").unwrap_or(cells.len());
    let mut lines: Vec<Line> = cells[first..composer].iter().map(|row| line(row)).collect();
    while lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines
}

fn line(row: &[Cell]) -> Line {
    let mut line = Line::new();
    for cell in row {
        let look = Cell { text: String::new(), ..cell.clone() };
        match line.last_mut() {
            Some((text, last)) if *last == look => text.push_str(&cell.text),
            _ => line.push((cell.text.clone(), look)),
        }
    }
    while line.last().is_some_and(|(text, look)| text.trim().is_empty() && *look == Cell::default()) {
        line.pop();
    }
    if let Some((text, look)) = line.last_mut()
        && *look == Cell::default()
    {
        text.truncate(text.trim_end().len());
    }
    line.iter_mut().for_each(|(text, _)| *text = even_out(text));
    line
}

/// Gives every time the same length of time, in as many columns.
fn even_out(text: &str) -> String {
    let words = text.split_inclusive(' ').map(|word| {
        let number = word.trim_end().trim_end_matches("ms").trim_end_matches('s');
        let is_time = number.len() < word.trim_end().len()
            && number.starts_with(|c: char| c.is_ascii_digit())
            && number.chars().all(|c| c.is_ascii_digit() || c == '.');
        match (is_time, word.len()) {
            (false, _) => word.to_owned(),
            (true, len) => {
                let blanks = word.len() - word.trim_end().len();
                let shown = if word.trim_end().ends_with("ms") { "9ms" } else { "3s" };
                format!("{shown:>width$}{}", " ".repeat(blanks), width = len - blanks)
            }
        }
    });
    words.collect()
}

fn svg(lines: &[Line]) -> String {
    let width = CELL.0 * f32::from(SIZE.cols) + 2.0 * MARGIN;
    let height = CELL.1 * lines.len() as f32 + 2.0 * MARGIN;
    let hex = |[red, green, blue]: [u8; 3]| format!("#{red:02x}{green:02x}{blue:02x}");
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"zori demo in a terminal\">\n\
         <style>\n\
         text {{ font: 14px ui-monospace, Menlo, Consolas, monospace; fill: {}; white-space: pre }}\n\
         .line {{ animation: show 0.01s both }}\n\
         @keyframes show {{ from {{ opacity: 0 }} to {{ opacity: 1 }} }}\n\
         @media (prefers-reduced-motion: reduce) {{ .line {{ animation: none }} }}\n\
         </style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"{}\"/>\n",
        hex(DARK.foreground),
        hex(DARK.background)
    );
    for (i, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let y = MARGIN + CELL.1 * (i as f32 + 0.75);
        svg.push_str(&format!("<g class=\"line\" style=\"animation-delay:{:.2}s\">", PACE * i as f32));
        let mut column = 0;
        for (text, look) in line {
            let x = MARGIN + CELL.0 * column as f32;
            let columns = text.chars().count();
            let mut ink = png::colour(look.foreground, &DARK).unwrap_or(DARK.foreground);
            let mut paper = png::colour(look.background, &DARK);
            if look.inverse {
                (ink, paper) = (paper.unwrap_or(DARK.background), Some(ink));
            }
            if let Some(paper) = paper {
                svg.push_str(&format!(
                    "<rect x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{}\" fill=\"{}\"/>",
                    y - CELL.1 * 0.75,
                    CELL.0 * columns as f32,
                    CELL.1,
                    hex(paper)
                ));
            }
            let mut style = String::new();
            if ink != DARK.foreground {
                style.push_str(&format!(" fill=\"{}\"", hex(ink)));
            }
            if look.bold {
                style.push_str(" font-weight=\"bold\"");
            }
            if look.dim {
                style.push_str(" opacity=\"0.6\"");
            }
            if !text.trim().is_empty() {
                // Fonts differ in width: each piece keeps the columns it has in a terminal.
                svg.push_str(&format!(
                    "<text x=\"{x:.1}\" y=\"{y:.1}\" textLength=\"{:.1}\" xml:space=\"preserve\"{style}>{}</text>",
                    CELL.0 * columns as f32,
                    escape(text)
                ));
            }
            column += columns;
        }
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_screen_becomes_lines_of_pieces() {
        let size = Size { rows: 8, cols: 40 };
        let drawn = "greeting\r\n› fix it\r\n\r\n\x1b[31m✗\x1b[0m a <b>   12ms  \x1b[2m#1\x1b[0m\r\n\r\n› \r\n  footer";
        let lines = lines(&Terminal::drawn(Kind::Cutting, size, drawn).cells());
        let texts: Vec<Vec<&str>> =
            lines.iter().map(|line| line.iter().map(|(text, _)| text.as_str()).collect()).collect();
        assert_eq!(texts, [vec!["› fix it"], vec![], vec!["✗", " a <b>    9ms  ", "#1"]]);
        assert!(svg(&lines).contains("&lt;b&gt;"));
    }

    #[test]
    fn times_are_evened_out_in_their_columns() {
        assert_eq!(even_out("exit 0 · 103ms  #4"), "exit 0 ·   9ms  #4");
        assert_eq!(even_out("✓ 12s · 1 file +5 -3"), "✓  3s · 1 file +5 -3");
        assert_eq!(even_out("seq 9s2 ms"), "seq 9s2 ms");
    }
}
