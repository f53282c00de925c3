//! Where the chat's lines come from: the editor at a terminal, or a pipe.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::runtime::Runtime;
use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;

use super::editor::Editor;
use super::kernel::Kernel;
use zori_setup::signals::Signals;

/// What came in.
pub enum Line {
    /// A line, or several that belong together.
    Text(String),
    /// There is no more, or the user wants out.
    End,
}

/// What came for a message of several lines.
pub enum More {
    /// One of them, without its end.
    Text(String),
    /// There is no more.
    End,
    /// The user does not want to send them.
    Cancelled,
}

/// A source of lines.
pub enum Lines {
    /// A person types.
    Editor(Box<Editor>),
    /// A person types, and the terminal itself edits the line.
    Kernel(Kernel),
    /// A program writes.
    Pipe,
}

impl Lines {
    /// Reads from the terminal. `history`: the file that keeps what is typed.
    pub fn editor(history: Option<PathBuf>, root: &Path, brought: Vec<String>, colour: bool) -> Self {
        Self::Editor(Box::new(Editor::new(history, root, brought, colour)))
    }

    /// Reads what the terminal's own line editing gives.
    pub fn kernel(runtime: Arc<Runtime>) -> Self {
        Self::Kernel(Kernel::new(runtime))
    }

    /// Reads standard input as it is.
    pub fn pipe() -> Self {
        Self::Pipe
    }

    /// Waits for the next line.
    pub fn next(&mut self, signals: &Signals) -> Result<Line, Failure> {
        match self {
            Self::Editor(editor) => editor.next(signals),
            Self::Kernel(kernel) => kernel.next(signals),
            Self::Pipe => Self::read("you> ", signals),
        }
    }

    /// Waits for the answer to a question, which stands where the prompt does. Whoever leaves has answered.
    pub fn ask(&mut self, question: &str, signals: &Signals) -> Result<Line, Failure> {
        match self {
            Self::Editor(editor) => editor.ask(question, signals),
            Self::Kernel(kernel) => Ok(match kernel.more(question, signals) {
                More::Text(text) => Line::Text(text),
                More::End | More::Cancelled => Line::End,
            }),
            Self::Pipe => Self::read(&format!("{question} "), signals),
        }
    }

    /// Waits for a line of a message that has several; `mark` stands where the prompt does.
    pub fn more(&mut self, mark: &str, signals: &Signals) -> Result<More, Failure> {
        match self {
            Self::Editor(editor) => editor.more(mark, signals),
            Self::Kernel(kernel) => Ok(kernel.more(mark, signals)),
            Self::Pipe => Ok(match Self::read(&format!("{mark} "), signals)? {
                Line::Text(line) => More::Text(line.trim_end_matches(['\r', '\n']).to_owned()),
                Line::End => More::End,
            }),
        }
    }

    fn read(prompt: &str, signals: &Signals) -> Result<Line, Failure> {
        // The prompt goes where the talk goes; nothing can be done when that is gone.
        let mut err = std::io::stderr();
        let _ = err.write_all(prompt.as_bytes()).and_then(|()| err.flush());
        let mut line = Vec::new();
        let waiting = signals.while_editing(|| {});
        let read = std::io::stdin().lock().read_until(b'\n', &mut line);
        drop(waiting);
        let failed = |why: String| Failure::new(&IO_ERROR, why);
        match read.map_err(|error| failed(format!("cannot read standard input: {error}")))? {
            0 => Ok(Line::End),
            _ => Ok(Line::Text(String::from_utf8_lossy(&line).into_owned())),
        }
    }
}
