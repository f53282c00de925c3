//! `cargo xtask picture`: `docs/demo.svg`, made from a real run of `zori demo` on a terminal.
//!
//! What is drawn is what the program printed. Only times and the scratch folder's name are evened out, so that the
//! file changes when the program's words do. Lines appear one after another; a viewer without animation shows all.

use std::fs;
use std::process::{Command, ExitCode};

use anyhow::{Context, Result, ensure};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::Size;

use crate::workspace::Workspace;

const COLS: usize = 100;
const CELL: (f32, f32) = (8.4, 18.0);
const MARGIN: f32 = 14.0;
/// Seconds between two lines.
const PACE: f32 = 0.35;

/// Builds the release binary, runs the demo and draws it.
pub fn chore(workspace: &Workspace, _args: &[String]) -> Result<ExitCode> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--locked", "-p", "zori"])
        .current_dir(&workspace.root)
        .status()?;
    ensure!(built.success(), "the release build failed");
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace.root.join("target"), Into::into);
    let world = TestEnv::new(target.join("release/zori"));
    let (status, drawn) = world.pty(&["demo"], Size { rows: 60, cols: COLS as u16 }).finish();
    ensure!(status.success(), "the demo failed:\n{drawn}");
    let path = workspace.root.join("docs/demo.svg");
    fs::write(&path, svg(&lines(&drawn))).with_context(|| format!("cannot write {}", path.display()))?;
    println!("wrote docs/demo.svg");
    Ok(ExitCode::SUCCESS)
}

/// A line of the screen: text, and whether it is dim.
type Line = Vec<(String, bool)>;

/// Reads what was drawn: text, line ends, and the two colours the program uses.
fn lines(drawn: &str) -> Vec<Line> {
    let drawn = even_out(drawn).replace("\r\n", "\n");
    let mut lines = Vec::new();
    let mut dim = false;
    for source in drawn.trim_end().split('\n') {
        let mut line = Line::new();
        for (i, piece) in source.split("\x1b[").enumerate() {
            let text = match (i, piece.split_once('m')) {
                (0, _) | (_, None) => piece,
                (_, Some((code, text))) => {
                    dim = code == "2";
                    text
                }
            };
            if !text.is_empty() {
                line.push((text.to_owned(), dim));
            }
        }
        lines.extend(wrapped(line));
    }
    lines
}

/// Replaces what differs from run to run.
fn even_out(drawn: &str) -> String {
    let mut text = drawn.replace("(X.XXs)", "(0.01s)");
    if let Some(at) = text.find("zori-demo-") {
        let end = text[at..].find(char::is_whitespace).map_or(text.len(), |n| at + n);
        let start = text[..at].rfind(char::is_whitespace).map_or(0, |n| n + 1);
        text.replace_range(start..end, "/tmp/zori-demo");
    }
    text
}

/// Breaks a line that is wider than the screen, between words.
fn wrapped(line: Line) -> Vec<Line> {
    let width: usize = line.iter().map(|(text, _)| text.chars().count()).sum();
    let [(text, dim)] = line.as_slice() else { return vec![line] };
    if width <= COLS {
        return vec![line];
    }
    let mut rows = vec![String::new()];
    for word in text.split_inclusive(' ') {
        let row = rows.last_mut().expect("there is a first row");
        if row.chars().count() + word.trim_end().chars().count() > COLS {
            rows.push(word.to_owned());
        } else {
            row.push_str(word);
        }
    }
    rows.into_iter().map(|row| vec![(row, *dim)]).collect()
}

fn svg(lines: &[Line]) -> String {
    let width = CELL.0 * COLS as f32 + 2.0 * MARGIN;
    let height = CELL.1 * lines.len() as f32 + 2.0 * MARGIN;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" \
         aria-label=\"zori demo in a terminal\">\n\
         <style>\n\
         text {{ font: 14px ui-monospace, Menlo, Consolas, monospace; fill: #d8dee9; white-space: pre }}\n\
         .dim {{ fill: #7b8794 }}\n\
         .line {{ animation: show 0.01s both }}\n\
         @keyframes show {{ from {{ opacity: 0 }} to {{ opacity: 1 }} }}\n\
         @media (prefers-reduced-motion: reduce) {{ .line {{ animation: none }} }}\n\
         </style>\n\
         <rect width=\"100%\" height=\"100%\" rx=\"8\" fill=\"#1b1f27\"/>\n"
    );
    for (i, line) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        let y = MARGIN + CELL.1 * (i as f32 + 0.75);
        let spans: String = line
            .iter()
            .map(|(text, dim)| {
                let class = if *dim { " class=\"dim\"" } else { "" };
                format!("<tspan{class}>{}</tspan>", escape(text))
            })
            .collect();
        let delay = PACE * i as f32;
        svg.push_str(&format!(
            "<text class=\"line\" style=\"animation-delay:{delay:.2}s\" x=\"{MARGIN}\" y=\"{y:.1}\" \
             xml:space=\"preserve\">{spans}</text>\n"
        ));
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
    fn colours_and_line_ends() {
        let got = lines("you> x\r\n\x1b[2mRunning...\x1b[0m\x1b[2m Done. (X.XXs)\x1b[0m\r\n\r\nHi <you>\r\n");
        let line = |parts: &[(&str, bool)]| parts.iter().map(|(t, d)| (t.to_string(), *d)).collect::<Line>();
        assert_eq!(
            got,
            [
                line(&[("you> x", false)]),
                line(&[("Running...", true), (" Done. (0.01s)", true)]),
                line(&[]),
                line(&[("Hi <you>", false)]),
            ]
        );
        assert!(svg(&got).contains("<tspan>Hi &lt;you&gt;</tspan>"));
    }

    #[test]
    fn the_scratch_folder_has_no_name() {
        assert_eq!(even_out("Folder: $TMP/zori-demo-0123\r\n"), "Folder: /tmp/zori-demo\r\n");
    }
}
