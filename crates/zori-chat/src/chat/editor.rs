//! The line editor at a terminal: history, several lines, completion of commands and files, Ctrl-C.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use reedline::{
    ColumnarMenu, EditCommand, Emacs, FileBackedHistory, KeyCode, KeyModifiers, MenuBuilder, Prompt,
    PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent, ReedlineMenu, Signal,
    SimpleMatchHighlighter, ValidationResult, Validator, default_emacs_keybindings,
};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use zori_contract::error::IO_ERROR;
use zori_contract::failure::Failure;

use super::complete::FilesAndCommands;
use super::lines::{Line, More};
use zori_setup::signals::Signals;

/// How many lines are remembered.
const REMEMBERED: usize = 1000;
/// A second Ctrl-C leaves only so soon after the first: later ones mean the line that was typed since.
const AGAIN: Duration = Duration::from_secs(3);

/// The terminal as it was before the editor changed it, for a signal that ends the program in the middle. The process has
/// one terminal, and what restores it is a plain function that hears signals.
static BEFORE: OnceLock<Termios> = OnceLock::new();

pub struct Editor {
    inner: Reedline,
    /// When Ctrl-C was pressed; once more leaves.
    leaving: Option<Instant>,
}

impl Editor {
    /// Prepares the editor. `history`: the file that keeps what is typed; `root`: where completed paths begin;
    /// `brought`: commands of the user's own.
    pub fn new(history: Option<PathBuf>, root: &Path, brought: Vec<String>, colour: bool) -> Self {
        if let Ok(modes) = tcgetattr(std::io::stdin()) {
            BEFORE.get_or_init(|| modes);
        }
        let history = match history.filter(|path| private(path).is_ok()) {
            Some(path) => FileBackedHistory::with_file(REMEMBERED, path),
            None => FileBackedHistory::new(REMEMBERED),
        };
        let mut keys = default_emacs_keybindings();
        let newline = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
        keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, newline.clone());
        keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('j'), newline);
        keys.add_binding(
            KeyModifiers::NONE,
            KeyCode::Tab,
            ReedlineEvent::UntilFound(vec![
                ReedlineEvent::Menu("completion".into()),
                ReedlineEvent::MenuNext,
            ]),
        );
        let menu = ColumnarMenu::default().with_name("completion").with_marker("");
        let mut inner = Reedline::create()
            .with_edit_mode(Box::new(Emacs::new(keys)))
            .with_completer(Box::new(FilesAndCommands::new(root.to_owned(), brought)))
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_validator(Box::new(Backslash))
            // What is typed keeps the terminal's own colour; the default is white, on white paper too.
            .with_highlighter(Box::new(SimpleMatchHighlighter::default()))
            .with_ansi_colors(colour)
            .use_bracketed_paste(true);
        if let Ok(history) = history {
            inner = inner.with_history(Box::new(history));
        }
        Self { inner, leaving: None }
    }

    /// Waits for the next line. Ctrl-C clears what was typed; twice in a row it leaves.
    pub fn next(&mut self, signals: &Signals) -> Result<Line, Failure> {
        loop {
            let editing = signals.while_editing(restore);
            let signal = self.inner.read_line(&You("you> "));
            drop(editing);
            match signal {
                Ok(Signal::Success(text)) => {
                    self.leaving = None;
                    // Now, and not when the chat ends: a closed terminal ends it without a word.
                    let _ = self.inner.sync_history();
                    return Ok(Line::Text(unfold(&text)));
                }
                Ok(Signal::CtrlD) => return Ok(Line::End),
                // No turn was interrupted, so this is a way to end the chat like any other (DECISIONS 24).
                Ok(Signal::CtrlC) if self.leaving.is_some_and(|first| first.elapsed() < AGAIN) => {
                    return Ok(Line::End);
                }
                Ok(Signal::CtrlC) => {
                    self.leaving = Some(Instant::now());
                    let mut ui = zori_setup::ui::Ui::fixed_words();
                    ui.say("(Ctrl-C again, Ctrl-D or :q to quit)");
                }
                Ok(_) => {}
                Err(error) => {
                    return Err(Failure::new(&IO_ERROR, format!("cannot read the terminal: {error}")));
                }
            }
        }
    }
}

impl Editor {
    /// Waits for the answer to a question. Ctrl-C and Ctrl-D are the end of it.
    pub fn ask(&mut self, question: &str, signals: &Signals) -> Result<Line, Failure> {
        Ok(match self.more(question, signals)? {
            More::Text(text) => Line::Text(text),
            More::End | More::Cancelled => Line::End,
        })
    }

    /// Waits for a line that is no prompt of its own, behind `mark`.
    pub fn more(&mut self, mark: &str, signals: &Signals) -> Result<More, Failure> {
        let editing = signals.while_editing(restore);
        let signal = self.inner.read_line(&You(&format!("{mark} ")));
        drop(editing);
        match signal {
            Ok(Signal::Success(text)) => Ok(More::Text(text)),
            Ok(Signal::CtrlC) => Ok(More::Cancelled),
            Ok(_) => Ok(More::End),
            Err(error) => Err(Failure::new(&IO_ERROR, format!("cannot read the terminal: {error}"))),
        }
    }
}

/// Puts the terminal back as it was, pasting included.
fn restore() {
    if let Some(before) = BEFORE.get() {
        let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, before);
    }
    let mut ui = zori_setup::ui::Ui::fixed_words();
    ui.raw("\x1b[?2004l\r\n");
}

/// Makes the history file, for the owner only: it holds what people ask.
fn private(path: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    if let Some(parent) = path.parent() {
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
    }
    std::fs::OpenOptions::new().append(true).create(true).mode(0o600).open(path)?;
    Ok(())
}

/// A line that ends in a backslash goes on.
struct Backslash;

impl Validator for Backslash {
    fn validate(&self, line: &str) -> ValidationResult {
        if line.ends_with('\\') { ValidationResult::Incomplete } else { ValidationResult::Complete }
    }
}

/// Takes the backslashes of continued lines out.
fn unfold(text: &str) -> String {
    text.replace("\\\n", "\n")
}

/// The prompt.
struct You<'a>(&'a str);

impl Prompt for You<'_> {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("...> ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(search: {}) ", search.term))
    }
}
