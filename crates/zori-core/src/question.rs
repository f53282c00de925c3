//! What a person or client is asked before a call runs, and what they are shown with it. Data: whoever asks draws it.

use std::path::PathBuf;

/// A question about one call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The tool's name as the model knows it.
    pub tool: String,
    /// What would happen.
    pub preview: Preview,
    /// The rule that "always for this session" adds; `None` where that is not offered (DEC-2).
    pub always: Option<String>,
    /// How the decision to ask came about, line by line.
    pub explanation: Vec<String>,
}

/// What a call would do, exactly. An approval holds for this and nothing else (DEC-4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Preview {
    /// Nothing can be said beyond the arguments, which are canonical JSON.
    Input(String),
    /// It runs a shell command.
    Command {
        /// The text given to the shell.
        command: String,
        /// Where it runs.
        cwd: PathBuf,
        /// What confines it, if anything does.
        sandbox: Option<String>,
    },
    /// It changes files.
    Changes(Vec<FileDiff>),
    /// It would fail as things are now.
    Fails {
        /// The arguments, as canonical JSON.
        input: String,
        /// What the tool would say.
        why: String,
    },
}

/// What would become of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileDiff {
    /// Which file.
    pub path: PathBuf,
    /// What happens to it.
    pub action: FileAction,
    /// What the diff cannot show, such as that the old content is no text.
    pub note: Option<String>,
    /// The change as a unified diff, without the lines that name the file.
    pub diff: String,
}

/// What happens to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// It does not exist yet.
    Create,
    /// It exists, and holds something else afterwards.
    Change,
    /// It is gone afterwards.
    Delete,
}

impl FileAction {
    /// Returns the word messages use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Change => "change",
            Self::Delete => "delete",
        }
    }
}
