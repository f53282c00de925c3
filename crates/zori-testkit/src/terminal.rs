//! Terminals as models: what a person would see of the bytes a program wrote, scrollback included.
//!
//! There are two, because terminals differ in what they do with rows that are too wide for a new size: one cuts them (`vt100`, as xterm does), one
//! makes several rows of them (`avt`, as VTE, kitty and tmux do). What is promised holds in both.

use crate::pty::Size;

/// How many rows of scrollback are kept.
const SCROLLBACK: usize = 100_000;

/// What becomes of rows that are too wide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// They are cut.
    Cutting,
    /// They become several rows, and one again when there is room.
    Reflowing,
}

/// Both kinds, for tests that hold in each.
pub const KINDS: [Kind; 2] = [Kind::Cutting, Kind::Reflowing];

pub struct Terminal {
    model: Model,
    size: Size,
}

enum Model {
    Cutting(Box<vt100::Parser>),
    Reflowing(Box<avt::Terminal>),
}

/// A cell of the screen, as a terminal would draw it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// What is in it; empty behind a wide character.
    pub text: String,
    pub foreground: Colour,
    pub background: Colour,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub inverse: bool,
}

/// A colour as the program named it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Colour {
    /// The terminal's own.
    #[default]
    Default,
    Indexed(u8),
    Rgb(u8, u8, u8),
}

impl std::fmt::Debug for Terminal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.rows().join("\n"))
    }
}

impl Terminal {
    /// Returns an empty terminal.
    pub fn new(kind: Kind, size: Size) -> Self {
        let (rows, cols) = (size.rows.max(1), size.cols.max(1));
        let model = match kind {
            Kind::Cutting => Model::Cutting(Box::new(vt100::Parser::new(rows, cols, SCROLLBACK))),
            Kind::Reflowing => {
                let terminal = avt::Terminal::with_scrollback(cols.into(), rows.into(), Some(SCROLLBACK));
                Model::Reflowing(Box::new(terminal.expect("the size is positive")))
            }
        };
        Self { model, size: Size { rows, cols } }
    }

    /// Returns a terminal that was drawn on.
    pub fn drawn(kind: Kind, size: Size, bytes: &str) -> Self {
        let mut terminal = Self::new(kind, size);
        terminal.feed(bytes);
        terminal
    }

    /// Takes what a program wrote.
    pub fn feed(&mut self, bytes: &str) {
        match &mut self.model {
            Model::Cutting(parser) => parser.process(bytes.as_bytes()),
            Model::Reflowing(terminal) => terminal.feed(bytes),
        }
    }

    /// Changes the size, as somebody who pulls at the window does.
    pub fn resize(&mut self, size: Size) {
        self.size = Size { rows: size.rows.max(1), cols: size.cols.max(1) };
        match &mut self.model {
            Model::Cutting(parser) => parser.screen_mut().set_size(self.size.rows, self.size.cols),
            Model::Reflowing(terminal) => terminal.resize(self.size.cols.into(), self.size.rows.into()),
        }
    }

    /// Returns everything from the oldest row of the scrollback to the last row of the screen that has something in it, without blanks at the ends
    /// of rows. Rows that were one before they were wrapped by the terminal are one.
    pub fn rows(&self) -> Vec<String> {
        let mut rows = match &self.model {
            Model::Cutting(parser) => {
                let mut screen = parser.screen().clone();
                screen.set_scrollback(usize::MAX);
                let most = screen.scrollback();
                let mut rows = Vec::new();
                for back in (1..=most).rev() {
                    screen.set_scrollback(back);
                    rows.extend(screen.rows(0, self.size.cols).next());
                }
                screen.set_scrollback(0);
                rows.extend(screen.rows(0, self.size.cols));
                rows
            }
            Model::Reflowing(terminal) => terminal.primary_screen().text(),
        };
        tidy(&mut rows);
        rows
    }

    /// Returns the rows of the screen alone.
    pub fn screen(&self) -> Vec<String> {
        let mut rows: Vec<String> = match &self.model {
            Model::Cutting(parser) => parser.screen().rows(0, self.size.cols).collect(),
            Model::Reflowing(terminal) => terminal.screen().visible_lines().map(|line| line.text()).collect(),
        };
        tidy(&mut rows);
        rows
    }

    /// Returns the row and the column of the cursor.
    pub fn cursor(&self) -> (usize, usize) {
        match &self.model {
            Model::Cutting(parser) => {
                let (row, column) = parser.screen().cursor_position();
                (row.into(), column.into())
            }
            Model::Reflowing(terminal) => {
                let position = terminal.cursor_position();
                (position.row.unsigned_abs(), position.col)
            }
        }
    }

    /// Returns the cells of the screen, row by row. Only the model that cuts tells them.
    pub fn cells(&self) -> Vec<Vec<Cell>> {
        let Model::Cutting(parser) = &self.model else { return Vec::new() };
        let screen = parser.screen();
        let cell = |row, column| {
            let Some(cell) = screen.cell(row, column) else { return Cell::default() };
            let text = match (cell.is_wide_continuation(), cell.contents()) {
                (true, _) => "",
                (false, "") => " ",
                (false, text) => text,
            };
            Cell {
                text: text.to_owned(),
                foreground: colour(cell.fgcolor()),
                background: colour(cell.bgcolor()),
                bold: cell.bold(),
                dim: cell.dim(),
                italic: cell.italic(),
                underline: cell.underline(),
                inverse: cell.inverse(),
            }
        };
        (0..self.size.rows).map(|row| (0..self.size.cols).map(|column| cell(row, column)).collect()).collect()
    }
}

fn colour(colour: vt100::Color) -> Colour {
    match colour {
        vt100::Color::Default => Colour::Default,
        vt100::Color::Idx(index) => Colour::Indexed(index),
        vt100::Color::Rgb(red, green, blue) => Colour::Rgb(red, green, blue),
    }
}

fn tidy(rows: &mut Vec<String>) {
    rows.iter_mut().for_each(|row| row.truncate(row.trim_end().len()));
    while rows.last().is_some_and(String::is_empty) {
        rows.pop();
    }
}

/// Sequences that lose or move rows which were committed (UI-30); none of them may be written outside the other screen.
pub fn forbidden(bytes: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut other_screen = false;
    let mut rest = bytes;
    while let Some(at) = rest.find('\x1b') {
        rest = &rest[at + 1..];
        if rest.starts_with('M') && !other_screen {
            found.push("ESC M".to_owned());
        }
        let Some(body) = rest.strip_prefix('[') else { continue };
        let Some(end) = body.find(|c: char| ('\x40'..='\x7e').contains(&c)) else { continue };
        let sequence = &body[..=end];
        match sequence {
            "?1049h" => other_screen = true,
            "?1049l" => other_screen = false,
            _ if other_screen || sequence.starts_with('?') || sequence.starts_with('>') => {}
            "2J" | "3J" => found.push(format!("CSI {sequence}")),
            _ if sequence.ends_with(['r', 'S', 'T', 'L', 'M']) => found.push(format!("CSI {sequence}")),
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: Size = Size { rows: 3, cols: 10 };

    #[test]
    fn both_keep_what_scrolled_away() {
        for kind in KINDS {
            let terminal = Terminal::drawn(kind, SIZE, "one\r\ntwo\r\nthree\r\nfour\r\n\x1b[1;31mfive");
            assert_eq!(terminal.rows(), ["one", "two", "three", "four", "five"], "{kind:?}");
            assert_eq!(terminal.screen(), ["three", "four", "five"], "{kind:?}");
            assert_eq!(terminal.cursor(), (2, 4), "{kind:?}");
        }
    }

    #[test]
    fn one_cuts_and_one_reflows() {
        let resized = |kind| {
            let mut terminal = Terminal::drawn(kind, SIZE, "0123456789\r\nx");
            terminal.resize(Size { rows: 3, cols: 5 });
            (terminal.screen(), terminal.rows())
        };
        let lines = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
        assert_eq!(resized(Kind::Cutting), (lines(&["01234", "x"]), lines(&["01234", "x"])));
        assert_eq!(resized(Kind::Reflowing), (lines(&["56789", "x"]), lines(&["0123456789", "x"])));
    }

    #[test]
    fn what_loses_rows_is_found() {
        assert_eq!(forbidden("a\x1b[J\x1b[2K\x1b[?2026h\x1b[3A\x1b[0;1mM\x1b[>4;1m"), Vec::<String>::new());
        assert_eq!(forbidden("\x1b[?1049h\x1b[2J\x1b[?1049l"), Vec::<String>::new());
        assert_eq!(forbidden("\x1b[2J\x1bM\x1b[2;9r\x1b[S"), ["CSI 2J", "ESC M", "CSI 2;9r", "CSI S"]);
    }
}
