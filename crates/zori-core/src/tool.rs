//! Tools as the engine sees them: a name, arguments, effects for the policy, and a result that is never an error.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::value::RawValue;

use crate::BoxFuture;
use crate::agent::Agents;
use crate::cancel::Cancel;
use crate::confine::{Consent, Denial};
use crate::ids::CallId;
use crate::image::Image;
use crate::permission::{EntryKind, PathFacts, PathSnapshot};
use crate::question::{Choice, Preview};
use crate::search::WebSearch;

/// A tool. Arguments are canonical: renamed, coerced and checked by [`Toolbox::resolve`].
pub trait Tool: Send + Sync {
    /// Returns which built-in tool this is; `None` for any other tool.
    fn kind(&self) -> Option<ToolKind>;

    /// Returns what a call would do. Permissions are given for these effects, so the list must be complete.
    fn effects(&self, args: &RawValue) -> Vec<Effect>;

    /// Returns what a person sees before the call runs. It must change nothing, must not block the async thread, and must
    /// give the same preview for the same state of the files.
    fn preview<'a>(&'a self, args: &'a RawValue) -> BoxFuture<'a, Preview> {
        Box::pin(async { Preview::Input(args.get().to_owned()) })
    }

    /// Returns the call that a call of this tool stands for; `None` if it stands for itself. An error is written for the model.
    fn stands_for(&self, args: &RawValue) -> Option<Result<StandIn, String>> {
        let _ = args;
        None
    }

    /// Returns a tool that this one stands for, by its own name.
    fn named(&self, name: &str) -> Option<Arc<dyn Tool>> {
        let _ = name;
        None
    }

    /// Runs the call. It never fails: an error is an output with `failure` set. Dropping the future cancels:
    /// processes are killed, and blocking work stops at its next check without leaving a half-written file.
    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput>;
}

/// The tools of a session, seen through one dialect.
pub trait Toolbox: Send + Sync {
    /// Returns the tools as the model sees them. The same `Arc` as long as they are the same tools, so that providers can
    /// cache the encoded form.
    fn specs(&self) -> &Arc<[ToolSpec]>;

    /// Returns the tools that this model is offered: what it has learnt to edit files with may differ from others. The
    /// same `Arc` for the same model.
    fn specs_for(&self, _model: &str) -> &Arc<[ToolSpec]> {
        self.specs()
    }

    /// Finds the tool and checks the arguments, accepting the names of other dialects where unambiguous.
    fn resolve(&self, name: &str, args: &RawValue) -> Result<ResolvedCall, BadCall>;

    /// Returns the result of a call that does not run, laid out as results are.
    fn refuse(&self, code: ToolCode, message: String) -> ToolOutput {
        ToolOutput::failure(code, message)
    }

    /// Returns what the model reads of an envelope for which the tool laid out no text; `None` where it reads the
    /// envelope itself. It depends on nothing else, so that a resumed session sends the same bytes (FOR-2).
    fn plain(&self, _name: &str, _envelope: &RawValue) -> Option<Arc<str>> {
        None
    }

    /// Returns the facts about a path that a decision needs. It may read the disk, so it is only called for the paths of a
    /// call.
    fn path_facts(&self, path: &Path) -> PathFacts;

    /// Returns the text of a small file; `None` if there is none.
    fn small_file(&self, path: &Path) -> Option<String> {
        let _ = path;
        None
    }

    /// Returns the names in a folder, and what each is; `None` if it cannot be read.
    fn folder_names(&self, folder: &Path) -> Option<Vec<(OsString, EntryKind)>> {
        let _ = folder;
        None
    }
}

/// A tool as the model sees it.
#[derive(Clone, Debug)]
pub struct ToolSpec {
    /// The name by which the model calls it.
    pub name: String,
    /// What it does, written for the model.
    pub description: String,
    /// The JSON schema of its arguments; the bytes never change between turns.
    pub schema: Box<RawValue>,
}

/// The call that another one stands for.
pub struct StandIn {
    /// The name by which everybody but the model knows it.
    pub name: String,
    /// The tool that runs it.
    pub tool: Arc<dyn Tool>,
    /// Its arguments.
    pub args: Box<RawValue>,
}

/// A call that can be judged and run.
pub struct ResolvedCall {
    /// The tool that runs it.
    pub tool: Arc<dyn Tool>,
    /// Canonical arguments.
    pub args: Box<RawValue>,
    /// What it would do.
    pub effects: Vec<Effect>,
    /// The name of the call it stands for; `None` if it stands for itself.
    pub name: Option<String>,
}

/// A call that cannot be run; the model is told why and may correct itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadCall {
    /// `unknown_tool` or `invalid_input`.
    pub code: ToolCode,
    /// Names the offending field and lists the valid ones (TOOL-6).
    pub message: String,
    /// What the model reads instead of the envelope, where the dialect lays results out differently.
    pub text: Option<Arc<str>>,
}

impl From<BadCall> for ToolOutput {
    fn from(bad: BadCall) -> Self {
        Self { text: bad.text, ..Self::failure(bad.code, bad.message) }
    }
}

/// What a call gets besides its arguments.
#[derive(Clone)]
pub struct ToolCx {
    /// The call's id, for files and messages that belong to it.
    pub call: CallId,
    /// Set when the call is cancelled; blocking work polls it.
    pub cancel: Cancel,
    /// Who approved it.
    pub consent: Consent,
    /// Receives output while the tool runs; `None` if nobody watches.
    pub live: Option<Arc<dyn LiveOutput>>,
    /// Starts sub-agents; `None` for every tool but `task`.
    pub agents: Option<Arc<dyn Agents>>,
    /// Searches the web; `None` for every tool but `web_search`, and where the provider cannot.
    pub search: Option<Arc<dyn WebSearch>>,
    /// The call's paths as the decision saw them. A tool opens these places and no others.
    pub snapshot: PathSnapshot,
    /// What the user answered to the questions of the call, in their order; empty if nobody did.
    pub answers: Vec<String>,
    /// Asks and warns the user while the call runs; `None` where there is no user to reach.
    pub ask: Option<Arc<dyn AskUser>>,
}

impl ToolCx {
    /// Returns what a call has that stands alone: nobody watches it, and nobody is asked.
    pub fn alone(call: CallId, consent: Consent) -> Self {
        Self {
            call,
            cancel: Cancel::new(),
            consent,
            live: None,
            agents: None,
            search: None,
            snapshot: PathSnapshot::default(),
            answers: Vec::new(),
            ask: None,
        }
    }
}

/// Asks the user while a call runs.
pub trait AskUser: Send + Sync {
    /// Returns whether somebody answers questions.
    fn answers(&self) -> bool;

    /// Asks, and returns an answer to each question; `None` if nobody gave any. Dropping the future takes the question back.
    fn ask(&self, choices: Vec<Choice>) -> BoxFuture<'_, Option<Vec<String>>>;

    /// Warns the user, who need not answer.
    fn warn(&self, text: String);
}

/// Receives the output of a running tool. Implementations merge what comes faster than it is shown.
pub trait LiveOutput: Send + Sync {
    /// Adds output.
    fn push(&self, stream: OutputStream, text: &str);
}

/// The built-in tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ToolKind {
    /// Reads a file.
    Read,
    /// Creates or overwrites a file.
    Write,
    /// Replaces text in a file.
    Edit,
    /// Several replacements in one file, all or nothing.
    MultiEdit,
    /// Changes a cell of a notebook.
    NotebookEdit,
    /// Applies a patch over several files, all or nothing.
    Patch,
    /// Finds files by name.
    Glob,
    /// Finds lines by content.
    Grep,
    /// Lists a directory.
    Ls,
    /// Runs a shell command.
    Bash,
    /// Fetches a web page as text.
    Fetch,
    /// Searches the web with the provider's own tool.
    WebSearch,
    /// Replaces the task list.
    Todo,
    /// Hands a task to a sub-agent.
    Task,
    /// Asks the user.
    AskUser,
    /// Reads what a background job printed.
    JobOutput,
    /// Ends a background job.
    JobKill,
}

/// An effect of a call, as permission rules see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Reads a file or lists a directory; the path is absolute and normalised.
    Read(PathBuf),
    /// Creates, changes or deletes a file; the path is absolute and normalised.
    Write(PathBuf),
    /// Runs a shell command.
    Exec {
        /// The text given to `sh -c`.
        command: String,
        /// Where it runs.
        cwd: PathBuf,
    },
    /// Contacts a host.
    Net {
        /// The address, before redirects.
        url: String,
    },
    /// Calls a tool of an MCP server.
    Mcp {
        /// The server's name.
        server: String,
        /// The tool's name, as the server has it.
        tool: String,
        /// Whether the tool says it only reads and the user trusts the server (MCP-4).
        trusted_reader: bool,
        /// Whether it is the tool that was approved.
        change: McpChange,
    },
    /// Starts a sub-agent, whose own calls are judged again.
    Agent,
    /// Writes to the memory store.
    Memory,
    /// Has a prompt run later, when nobody watches, or takes that back.
    Schedule,
    /// Changes nothing outside the session.
    Internal,
}

/// Whether a tool of an MCP server is the one that was approved (MCP-42).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum McpChange {
    /// It is, or none of its server was yet.
    #[default]
    None,
    /// It came after others of its server were approved.
    New,
    /// It says something else of itself than when it was approved.
    Changed,
}

impl McpChange {
    /// Returns what is to be said of such a tool, as the second half of a sentence; nothing where it is the one.
    pub fn about(self) -> &'static str {
        match self {
            Self::None => "",
            Self::New => "is new since others of its server were approved",
            Self::Changed => "says something else of itself than when it was approved",
        }
    }
}

impl Effect {
    /// Returns whether it may change something outside the session.
    pub fn mutates(&self) -> bool {
        match self {
            Self::Write(_) | Self::Exec { .. } | Self::Memory | Self::Schedule => true,
            Self::Mcp { trusted_reader, .. } => !trusted_reader,
            Self::Read(_) | Self::Net { .. } | Self::Agent | Self::Internal => false,
        }
    }
}

/// What becomes of a call or a reply that is not exact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leniency {
    /// It is refused, as the core document has it (`zdx`).
    Exact,
    /// It is understood where it can mean one thing only, and the result says so (`docs/contracts/forgiveness.md`).
    Forgiving,
}

/// A stream of a child process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// A tool's result.
#[derive(Clone, Debug)]
pub struct ToolOutput {
    /// The envelope `{"ok":true,"data":{..}}` or `{"ok":false,"error":{..}}` (TOOL-1).
    pub envelope: Arc<RawValue>,
    /// Set when the tool failed.
    pub failure: Option<ToolFailure>,
    /// What the model reads instead of the envelope, where the dialect lays results out differently.
    pub text: Option<Arc<str>>,
    /// Images that belong to the result.
    pub images: Vec<Image>,
    /// How the process ended, for the shell tool.
    pub process: Option<ProcessEnd>,
    /// What the sandbox denied, as far as that is known.
    pub denial: Option<Box<Denial>>,
    /// The changed files, for front ends that show diffs.
    pub changes: Vec<FileChange>,
    /// The new task list, if the tool replaced it.
    pub todos: Option<Arc<[Todo]>>,
}

impl ToolOutput {
    /// A success; `data` is a JSON object.
    pub fn success(data: &str) -> Self {
        Self::new(format!(r#"{{"ok":true,"data":{data}}}"#), None)
    }

    /// A failure written for the model to act on.
    pub fn failure(code: ToolCode, message: impl Into<String>) -> Self {
        let message = message.into();
        let text = serde_json::to_string(&message).expect("a string is JSON");
        let envelope = format!(r#"{{"ok":false,"error":{{"code":"{}","message":{text}}}}}"#, code.as_str());
        Self::new(envelope, Some(ToolFailure { code, message }))
    }

    /// A failure with `details`, which is a JSON value.
    pub fn failure_with(code: ToolCode, message: impl Into<String>, details: &str) -> Self {
        let message = message.into();
        let text = serde_json::to_string(&message).expect("a string is JSON");
        let envelope = format!(
            r#"{{"ok":false,"error":{{"code":"{}","message":{text},"details":{details}}}}}"#,
            code.as_str()
        );
        Self::new(envelope, Some(ToolFailure { code, message }))
    }

    fn new(envelope: String, failure: Option<ToolFailure>) -> Self {
        let envelope = RawValue::from_string(envelope).expect("an envelope is made of JSON");
        Self {
            envelope: envelope.into(),
            failure,
            text: None,
            images: Vec::new(),
            process: None,
            denial: None,
            changes: Vec::new(),
            todos: None,
        }
    }

    /// Adds what the call was understood as to a success: the field `mended` of its data.
    #[must_use]
    pub fn mended(mut self, what: &str) -> Self {
        let envelope = self.envelope.get();
        if self.failure.is_none()
            && let Some(open) = envelope.strip_suffix("}}")
        {
            let gap = if open.ends_with('{') { "" } else { "," };
            let what = serde_json::to_string(what).expect("a string is JSON");
            let envelope = format!(r#"{open}{gap}"mended":{what}}}}}"#);
            self.envelope = RawValue::from_string(envelope).expect("a field more is JSON").into();
        }
        self
    }

    /// Adds a sentence to a failure's message.
    #[must_use]
    pub fn repeated(mut self, sentence: &str) -> Self {
        let Some(failure) = &mut self.failure else { return self };
        failure.message = format!("{}. {sentence}", failure.message.trim_end_matches('.'));
        if let Ok(mut envelope) = serde_json::from_str::<serde_json::Value>(self.envelope.get()) {
            envelope["error"]["message"] = failure.message.as_str().into();
            self.envelope = RawValue::from_string(envelope.to_string()).expect("a value is JSON").into();
        }
        if let Some(text) = &mut self.text {
            *text = format!("{text}. {sentence}").into();
        }
        self
    }

    /// Returns whether the tool succeeded.
    pub fn ok(&self) -> bool {
        self.failure.is_none()
    }
}

/// Why a tool failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolFailure {
    /// The stable code.
    pub code: ToolCode,
    /// A sentence for the model.
    pub message: String,
}

/// How a child process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessEnd {
    /// The exit code; -1 when a signal or the time limit ended it (BASH-2, BASH-3).
    pub exit_code: i32,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Whether the time limit ended it.
    pub timed_out: bool,
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The path of the file.
    pub path: PathBuf,
    /// Its text before; `None` if it did not exist.
    pub before: Option<Arc<str>>,
    /// Its text after; `None` if it was deleted.
    pub after: Option<Arc<str>>,
}

/// An entry of the task list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Todo {
    /// What to do.
    pub content: String,
    /// The progress.
    pub status: TodoStatus,
}

/// The progress of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TodoStatus {
    /// Not started.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
}

impl TodoStatus {
    /// Returns the name models and sessions use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }
}

macro_rules! tool_codes {
    ($($name:ident $text:literal $about:literal),* $(,)?) => {
        /// The stable codes of failed tool calls.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ToolCode { $(#[doc = $about] $name),* }

        impl ToolCode {
            /// Every code, in the order of the reference page.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the code as the model and the session file see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Returns one line that explains the code.
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => $about),* }
            }
        }
    };
}

tool_codes! {
    UnknownTool "unknown_tool" "No tool has this name.",
    InvalidInput "invalid_input" "The arguments are missing, of a wrong type, or not JSON.",
    PermissionDenied "permission_denied" "The policy or a person said no.",
    Canceled "canceled" "The turn ended before the call was done.",
    Timeout "timeout" "The call took longer than `tool_timeout_secs`.",
    Panic "panic" "The tool has a defect; the program survived it.",
    PathError "path_error" "The path does not exist or cannot be resolved.",
    ReadError "read_error" "The file cannot be read, or is not text.",
    MkdirError "mkdir_error" "A parent directory cannot be created.",
    WriteError "write_error" "The file cannot be written; its old content is unchanged.",
    SpawnError "spawn_error" "The shell could not be started.",
    ExecError "exec_error" "The shell was started but its output or status could not be collected.",
    OldNotFound "old_not_found" "The text to replace does not occur in the file.",
    CountMismatch "replacement_count_mismatch" "The text to replace occurs another number of times.",
    InvalidPatch "invalid_patch" "The patch cannot be parsed.",
    FileNotFound "file_not_found" "A file that the patch changes or deletes does not exist.",
    FileExists "file_exists" "A file that the patch adds exists already.",
    PatternNotFound "pattern_not_found" "A hunk's context does not occur in the file.",
    IoError "io_error" "A file of the patch cannot be read or written; nothing was changed.",
    FetchError "fetch_error" "The page could not be fetched.",
    CheckpointFailed "checkpoint_failed" "The files could not be looked at before the call, and `undo.required` is set; nothing was executed.",
    Unanswered "unanswered" "Nobody answered the question.",
    AgentError "agent_error" "The sub-agent could not be started, or did not come to an end.",
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn envelopes() {
        assert_eq!(ToolOutput::success(r#"{"a":1}"#).envelope.get(), r#"{"ok":true,"data":{"a":1}}"#);
        let failed = ToolOutput::failure(ToolCode::PathError, "no \"x\"\n");
        assert_eq!(
            failed.envelope.get(),
            r#"{"ok":false,"error":{"code":"path_error","message":"no \"x\"\n"}}"#
        );
        assert!(!failed.ok());
    }
}
