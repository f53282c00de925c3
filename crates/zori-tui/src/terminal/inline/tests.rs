use super::*;
use crate::row::{Role, Span};
use crate::theme::{Depth, Theme};

/// A terminal that does not reflow, and what was committed to it.
struct Stage {
    inline: Inline,
    terminal: vt100::Parser,
    paint: Paint,
    bytes: String,
}

impl Stage {
    fn new(rows: u16, columns: u16) -> Self {
        let paint = Paint { theme: Theme::terminal(false, None), depth: Depth::Ansi16 };
        let mut terminal = vt100::Parser::new(rows, columns, 1000);
        terminal.process(b"shell-1\r\nshell-2\r\n$ zori\r\n");
        Self { inline: Inline::default(), terminal, paint, bytes: String::new() }
    }

    fn frame(&mut self, commits: &[&str], rows: &[&str], caret: (usize, usize)) {
        let row = |text: &&str| Row::from(Span::new(*text).role(Role::Primary));
        let commits: Vec<Commit> = commits.iter().map(|text| row(text).into()).collect();
        let view =
            View { rows: rows.iter().map(row).collect(), caret: Caret { row: caret.0, column: caret.1 } };
        let frame = self.inline.frame(&commits, view, Brush { paint: &self.paint, links: Links::Left });
        self.terminal.process(frame.as_bytes());
        self.bytes.push_str(&frame);
    }

    /// Everything from the oldest row of the scrollback to the last row of the screen.
    fn all(&mut self) -> Vec<String> {
        let mut rows = Vec::new();
        let columns = self.terminal.screen().size().1;
        self.terminal.screen_mut().set_scrollback(usize::MAX);
        let most = self.terminal.screen().scrollback();
        for back in (1..=most).rev() {
            self.terminal.screen_mut().set_scrollback(back);
            rows.extend(self.terminal.screen().rows(0, columns).next());
        }
        self.terminal.screen_mut().set_scrollback(0);
        rows.extend(self.terminal.screen().rows(0, columns));
        rows.iter_mut().for_each(|row| row.truncate(row.trim_end().len()));
        while rows.last().is_some_and(String::is_empty) {
            rows.pop();
        }
        rows
    }
}

#[test]
fn rows_are_committed_once_and_the_caret_is_where_it_belongs() {
    let mut stage = Stage::new(8, 40);
    stage.frame(&["hello"], &["live", "> ", "footer"], (1, 2));
    assert_eq!(
        stage.all(),
        ["shell-1", "shell-2", "$ zori", "hello", "live", "> ", "footer"].map(|row| row.trim_end())
    );
    assert_eq!(stage.terminal.screen().cursor_position(), (5, 2));
    for i in 0..20 {
        stage.frame(&[&format!("row {i}")], &["live", "> x", "footer"], (1, 3));
    }
    stage.frame(&[], &["> xy", "footer"], (0, 4));
    let mut wanted: Vec<String> = ["shell-1", "shell-2", "$ zori", "hello"].map(str::to_owned).to_vec();
    wanted.extend((0..20).map(|i| format!("row {i}")));
    wanted.extend(["> xy", "footer"].map(str::to_owned));
    assert_eq!(stage.all(), wanted);
}

#[test]
fn only_what_changed_is_written() {
    let mut stage = Stage::new(8, 40);
    stage.frame(&[], &["The function subtracts", "> ", "footer"], (1, 2));
    stage.bytes.clear();
    stage.frame(&[], &["The function subtracts: li", "> ", "footer"], (1, 2));
    assert_eq!(stage.all()[3..], ["The function subtracts: li", ">", "footer"]);
    assert!(stage.bytes.len() <= 60, "{} bytes: {:?}", stage.bytes.len(), stage.bytes);
    stage.bytes.clear();
    stage.frame(&[], &["The function subtracts: li", "> ", "footer"], (1, 2));
    assert_eq!(stage.bytes, "", "nothing changed");
}

#[test]
fn the_viewport_grows_and_shrinks_in_place() {
    let mut stage = Stage::new(6, 40);
    for rows in [
        vec!["> a"],
        vec!["x", "y", "> a", "f"],
        vec!["> a", "f"],
        vec!["1", "2", "3", "> a", "f"],
        vec!["> a"],
    ] {
        let caret = rows.iter().position(|row| row.starts_with('>')).unwrap();
        stage.frame(&[], &rows, (caret, 3));
        let all = stage.all();
        assert_eq!(all[all.len() - rows.len()..], rows);
    }
    assert_eq!(stage.all()[..3], ["shell-1", "shell-2", "$ zori"]);
}

/// Where rows are cut by a smaller window, nothing committed is lost (UI-32).
#[test]
fn a_resize_without_reflow_keeps_every_row() {
    let mut stage = Stage::new(12, 60);
    let commits: Vec<String> = (0..30).map(|i| format!("UNIQ-{i:02} lorem ipsum")).collect();
    for commit in &commits {
        stage.frame(&[commit], &["live", "> typed", "footer"], (1, 7));
    }
    for (rows, columns) in [(12, 40), (12, 70), (12, 50), (12, 45)] {
        stage.terminal.screen_mut().set_size(rows, columns);
        stage.inline.resized(columns, Reflow::No);
        stage.frame(&[], &["live", "> typed", "footer"], (1, 7));
    }
    let all = stage.all();
    for commit in &commits {
        assert_eq!(all.iter().filter(|row| *row == commit).count(), 1, "{commit} in\n{}", all.join("\n"));
    }
}

/// What is never written outside the other screen (UI-30).
#[test]
fn nothing_that_loses_rows_is_written() {
    let mut stage = Stage::new(6, 30);
    for i in 0..10 {
        stage.frame(&[&format!("row {i}")], &["live", "> ", "f"], (1, 2));
        stage.frame(&[], &["> ", "f"], (0, 2));
        stage.inline.resized(30, Reflow::Yes);
    }
    let close = stage.inline.close();
    let bytes = stage.bytes + &close;
    for forbidden in ["\x1b[3J", "\x1b[2J", "r", "\x1bM"] {
        let found = match forbidden {
            "r" => bytes.match_indices("\x1b[").any(|(at, _)| {
                let last = bytes[at + 2..].chars().find(char::is_ascii_alphabetic);
                matches!(last, Some('r' | 'S' | 'T' | 'L' | 'M'))
            }),
            forbidden => bytes.contains(forbidden),
        };
        assert!(!found, "{forbidden:?}");
    }
}

/// A row of 80 columns becomes two at 50 where the terminal reflows, and the caret's own row may, too.
#[test]
fn a_reflowing_terminal_makes_more_rows() {
    let mut inline = Inline::default();
    let paint = Paint { theme: Theme::terminal(false, None), depth: Depth::None };
    let long = "x".repeat(79);
    let view = View {
        rows: vec![Row::from(Span::new(long.as_str())), Row::from(Span::new("> a"))],
        caret: Caret { row: 1, column: 3 },
    };
    inline.frame(&[], view.clone(), Brush { paint: &paint, links: Links::Left });
    inline.resized(50, Reflow::Yes);
    let frame = inline.frame(&[], view.clone(), Brush { paint: &paint, links: Links::Left });
    assert!(frame.starts_with("\x1b[?2026h\r\x1b[2A\x1b[J"), "{frame:?}");
    inline.resized(50, Reflow::No);
    let frame = inline.frame(&[], view, Brush { paint: &paint, links: Links::Left });
    assert!(frame.starts_with("\x1b[?2026h\r\x1b[A\x1b[J"), "{frame:?}");
}
