//! What the user is told when a command cannot be carried out, and the one mapping to exit codes.

use crate::exit::Exit;

/// A failed command: a stable code, a sentence, and ways out.
#[derive(Debug)]
pub struct CommandError {
    /// The stable code.
    pub code: ErrorCode,
    /// What is wrong, naming the offending value.
    pub message: String,
    /// What to do about it, one line each.
    pub hints: Vec<String>,
}

impl CommandError {
    /// An error without hints.
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), hints: Vec::new() }
    }

    /// Adds a way out.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

macro_rules! error_codes {
    ($($name:ident $text:literal $exit:ident $about:literal),* $(,)?) => {
        /// The stable codes of failed commands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorCode { $(#[doc = $about] $name),* }

        impl ErrorCode {
            /// Every code, in the order of the reference page.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the code as programs see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),* }
            }

            /// Returns the exit code it leads to.
            pub fn exit(self) -> Exit {
                match self { $(Self::$name => Exit::$exit),* }
            }

            /// Returns one line that says what it means.
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => $about),* }
            }
        }
    };
}

error_codes! {
    Usage "USAGE" Usage "The command line cannot be understood.",
    ConfigInvalid "CONFIG_INVALID" Usage "The config file does not parse, or a value has a wrong type.",
    SettingInvalid "SETTING_INVALID" Usage "A setting has a value that cannot be used.",
    PromptMissing "PROMPT_MISSING" Usage "There is no prompt.",
    PromptInvalid "PROMPT_INVALID" Usage "The prompt is too large, or is not UTF-8 text.",
    RecordingUnusable "RECORDING_UNUSABLE" Usage "The file of `--record` or `--replay` cannot be used.",
    ImageInvalid "IMAGE_INVALID" Usage "An image cannot be read, is damaged or too large, or the model does not take it.",
    ConfirmationRequired "CONFIRMATION_REQUIRED" Usage "It has to be confirmed, and nobody is there to ask.",
    LockHeld "LOCK_HELD" Precondition "Another process uses the session.",
    BaseUnusable "BASE_UNUSABLE" Precondition "The base directory cannot be used.",
    BaseUnsafe "BASE_WRITABLE_BY_OTHERS" Precondition "Others can change what the base directory holds.",
    TerminalRequired "REPL_MODE_PROHIBITED" Precondition "A chat needs a terminal.",
    SessionNotFound "SESSION_NOT_FOUND" NotFound "There is no such session.",
    ModelNotFound "MODEL_NOT_FOUND" NotFound "The catalogue has no such model.",
    AlreadyExists "ALREADY_EXISTS" Conflict "The file exists already and is left alone.",
    TokenInvalid "TOKEN_INVALID" Usage "Standard input is not one key.",
    StoreUnavailable "CREDENTIAL_STORE_UNAVAILABLE" Precondition "There is no credential store, or it cannot be used.",
    AuthRequired "AUTH_REQUIRED" AuthRequired "The provider's key is missing.",
    LoginFailed "LOGIN_FAILED" AuthRequired "The login was refused.",
    LoginUnavailable "LOGIN_UNAVAILABLE" Unavailable "The server of the login cannot be reached, or fails.",
    LoginUnreadable "LOGIN_UNREADABLE" General "The server of the login gave an answer that cannot be understood.",
    Terminated "TERMINATED" Terminated "SIGTERM before the command was done.",
    Timeout "TIMEOUT" Timeout "The time of `--timeout` was over before anything could be lost.",
    Interrupted "INTERRUPTED" Interrupted "Ctrl-C before a turn began.",
    AuditBroken "AUDIT_BROKEN" General "The audit log is not as it was written.",
    AuditUnusable "AUDIT_UNUSABLE" Precondition "The audit log is required and cannot be written.",
    Io "IO_ERROR" General "A file or stream failed.",
}
