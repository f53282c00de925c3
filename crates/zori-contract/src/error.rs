//! The registry of error codes: what can go wrong, which exit code it leads to, and what mends it.
//!
//! An [`ErrorKind`] is a constant. The framework's own are in [`FRAMEWORK`]; a program lists its own in
//! [`crate::program::Program::errors`]. What happened in one run is a [`crate::failure::Failure`] of one of these kinds.

use crate::exit::Exit;

/// A kind of failure.
#[derive(Debug, PartialEq, Eq)]
pub struct ErrorKind {
    /// The stable code: capitals, digits and underscores.
    pub code: &'static str,
    /// Which exit code it leads to.
    pub exit: Exit,
    /// One sentence for the list of codes.
    pub about: &'static str,
    /// Whether the same call may work later, where that is more precise than what the exit code says.
    pub retryable: Option<bool>,
    /// What the caller has to put right; `None` where nothing can be put right by the caller.
    pub fix_required: Option<&'static str>,
    /// The one command that puts it right: read-only or idempotent, without placeholders. It is the part after the
    /// program's name.
    pub fix_command: Option<&'static str>,
}

impl ErrorKind {
    /// A kind with nothing but a code, an exit code and a sentence.
    pub const fn new(code: &'static str, exit: Exit, about: &'static str) -> Self {
        Self { code, exit, about, retryable: None, fix_required: None, fix_command: None }
    }

    /// Says what the caller has to put right.
    pub const fn fix(mut self, what: &'static str) -> Self {
        self.fix_required = Some(what);
        self
    }

    /// Says which command puts it right.
    pub const fn by_command(mut self, command: &'static str) -> Self {
        self.fix_command = Some(command);
        self
    }

    /// Says that the same call may work later, although the exit code alone would not.
    pub const fn passing(mut self) -> Self {
        self.retryable = Some(true);
        self
    }

    /// Returns whether the same call may work later.
    pub fn retryable(&self) -> bool {
        self.retryable.unwrap_or(self.exit.retryable())
    }
}

macro_rules! kinds {
    ($($name:ident = $code:literal $exit:ident $about:literal $(.$method:ident($($arg:literal)?))*;)*) => {
        $(
            #[doc = $about]
            pub static $name: ErrorKind = ErrorKind::new($code, Exit::$exit, $about)$(.$method($($arg)?))*;
        )*

        /// What the framework itself reports.
        pub static FRAMEWORK: &[&ErrorKind] = &[$(&$name),*];
    };
}

kinds! {
    VALIDATION_ERROR = "VALIDATION_ERROR" Usage "An argument cannot be used." .fix("Correct what `error.errors` lists.");
    UNKNOWN_COMMAND = "UNKNOWN_COMMAND" Usage "There is no such command." .fix("Call a command that exists.") .by_command("manifest");
    COMMAND_RENAMED = "COMMAND_RENAMED" Redirected "The command has another name." .fix("Call `error.redirect.command`.");
    INVALID_CURSOR = "INVALID_CURSOR" Usage "The cursor is not one of this list." .fix("Leave `--cursor` out to start again.");
    INVALID_JSON = "INVALID_JSON" Usage "A value is not JSON." .fix("Send valid JSON.");
    FIELD_TOO_LARGE = "FIELD_TOO_LARGE" Usage "A value is longer than its field." .fix("Send a shorter value.");
    STREAMING_NOT_SUPPORTED = "STREAMING_NOT_SUPPORTED" Usage "The command does not stream." .fix("Leave `--stream` out.");
    CONFIRMATION_REQUIRED = "CONFIRMATION_REQUIRED" Usage "Something would be destroyed, and nobody agreed." .fix("Add `--confirm-destructive`, or look first with `--dry-run`.");
    STDIN_TOO_LARGE = "STDIN_TOO_LARGE" Usage "Standard input has more bytes than are read from there." .fix("Use `--input-file PATH`.");
    EMPTY_STDIN = "EMPTY_STDIN" Usage "Something was to come from standard input, which is empty." .fix("Send it, or name it by an argument.");
    STDIN_REQUIRED = "STDIN_REQUIRED" Precondition "Standard input is needed and there is none." .fix("Send the input, or use `--input-file PATH`.");
    INPUT_REQUIRED = "INPUT_REQUIRED" Precondition "A question would have to be asked, and nobody is there." .fix("Give the answer as a flag.");
    REPL_MODE_PROHIBITED = "REPL_MODE_PROHIBITED" Precondition "The command is a conversation and needs a terminal." .fix("Call it at a terminal.");
    EDITOR_REQUIRED = "EDITOR_REQUIRED" Precondition "An editor would have to open, and nobody is there." .fix("Use one of `error.alternatives`.");
    INIT_REQUIRED = "INIT_REQUIRED" Precondition "The program has to be set up first." .fix("Take the steps in `error.next_steps`.");
    LOCK_HELD = "LOCK_HELD" Precondition "Another process uses it." .passing();
    SYMLINK_LOOP = "SYMLINK_LOOP" Precondition "A symbolic link leads back to itself." .fix("Remove the link.");
    DEPTH_EXCEEDED = "DEPTH_EXCEEDED" Precondition "The folders are nested too deeply." .fix("Raise `--max-depth`.");
    NOT_FOUND = "NOT_FOUND" NotFound "What was named does not exist.";
    ALREADY_EXISTS = "ALREADY_EXISTS" Conflict "It exists already and is left alone.";
    CONCURRENT_MODIFICATION = "CONCURRENT_MODIFICATION" Conflict "Somebody else changed it meanwhile." .passing();
    PERMISSION_DENIED = "PERMISSION_DENIED" PermissionDenied "The credential does not allow this.";
    AUTH_REQUIRED = "AUTH_REQUIRED" AuthRequired "A credential is missing." .fix("Provide one by one of `error.auth_methods`.");
    CREDENTIALS_EXPIRED = "CREDENTIALS_EXPIRED" AuthRequired "The credential is no longer valid." .fix("Log in again.");
    TIMEOUT = "TIMEOUT" Timeout "The time of `--timeout` is over.";
    RATE_LIMITED = "RATE_LIMITED" RateLimited "The service asks to wait.";
    UNAVAILABLE = "UNAVAILABLE" Unavailable "The service cannot be reached.";
    CANCELLED = "CANCELLED" Interrupted "SIGINT ended it.";
    TERMINATED = "TERMINATED" Terminated "SIGTERM ended it.";
    PARTIAL_FAILURE = "PARTIAL_FAILURE" Partial "Some of it was done, and some of it failed.";
    WARNINGS_AS_ERRORS = "WARNINGS_AS_ERRORS" General "It is done, with warnings, and those were to count as errors.";
    DECLINED = "DECLINED" General "Somebody was asked, and said no; nothing was changed.";
    IO_ERROR = "IO_ERROR" General "A file or stream failed.";
    INTERNAL_ERROR = "INTERNAL_ERROR" General "The program has a defect.";
}
