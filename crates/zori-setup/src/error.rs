//! zori's own kinds of failures, beside those of every command line ([`zori_contract::error`]).
//!
//! Adding one: a line in the table; the manifest, `errors list` and the reference page follow.

use zori_contract::error::ErrorKind;
use zori_contract::exit::Exit;

macro_rules! kinds {
    ($($name:ident $exit:ident $about:literal $(.$method:ident($($arg:literal)?))*;)*) => {
        $(
            #[doc = $about]
            pub static $name: ErrorKind = ErrorKind::new(stringify!($name), Exit::$exit, $about)$(.$method($($arg)?))*;
        )*

        /// All of them.
        pub static ALL: &[&ErrorKind] = &[$(&$name),*];
    };
}

kinds! {
    CONFIG_INVALID Usage "The config file does not parse, or a value has a wrong type." .fix("Correct the config file.") .by_command("config path");
    SETTING_INVALID Usage "A setting has a value that cannot be used." .fix("Correct the setting that the message names.");
    PROMPT_MISSING Usage "There is no prompt." .fix("Give one with `-p TEXT`, or on standard input.");
    PROMPT_INVALID Usage "The prompt is too large, or is not UTF-8 text." .fix("Send another prompt.");
    RECORDING_UNUSABLE Usage "The file of `--record` or `--replay` cannot be used." .fix("Name another file.");
    IMAGE_INVALID Usage "An image cannot be read, is damaged or too large, or the model does not take it." .fix("Send another image, or choose a model that sees.");
    TOKEN_INVALID Usage "Standard input is not one key." .fix("Send the key and nothing else.");
    BASE_UNUSABLE Precondition "The base directory cannot be used." .fix("Make it usable, or name another one with `ZORI_HOME`.") .by_command("doctor");
    BASE_WRITABLE_BY_OTHERS Precondition "Others can change what the base directory holds." .fix("Take the right to write from others.") .by_command("doctor");
    CREDENTIAL_STORE_UNAVAILABLE Precondition "There is no credential store, or it cannot be used." .fix("Set the provider's variable, or configure `credential_helper`.") .by_command("auth status");
    VAULT_UNUSABLE Usage "The vault is damaged, cannot be read, or its key is missing or open to others." .fix("Mend the file that the message names.") .by_command("vault list");
    VAULT_MISSING Precondition "There is no vault." .fix("Make one.") .by_command("vault init");
    VAULT_EXISTS Conflict "There is a vault already." .fix("Use it, or replace it with `--force`.");
    VAULT_ENTRY_EXISTS Conflict "The vault has an entry of this name." .fix("Replace it with `--force`.");
    VAULT_ENTRY_NOT_FOUND NotFound "No backend of the vault has an entry of this name." .fix("Add it.") .by_command("vault list");
    MCP_UNAVAILABLE Unavailable "An MCP server that is needed cannot be reached, or does not start." .fix("Look at why with `mcp list --check`.") .by_command("mcp list");
    MCP_LOGIN_MISSING AuthRequired "An MCP server that is needed wants a login." .fix("Log in with `mcp login`.") .by_command("mcp list");
    MCP_SERVER_NOT_FOUND NotFound "There is no such MCP server, or it has no such tool." .fix("Name one that exists.") .by_command("mcp list");
    MCP_TOOL_FAILED General "The tool of an MCP server failed.";
    MCP_SERVER_EXISTS Conflict "There is an MCP server of this name." .fix("Remove it first, or choose another name.") .by_command("mcp list");
    DISPATCH_PARSE_ERROR Usage "A line of a batch is not a call." .fix("Send a JSON object with `_cmd`.");
    DISPATCH_REFUSED Usage "A line of a batch names a command that needs the streams for itself." .fix("Call it by itself.");
    AUDIT_UNUSABLE Precondition "The audit log is required and cannot be written." .fix("Make the log's folder writable, or do not require it.") .by_command("doctor");
    SANDBOX_UNAVAILABLE Precondition "A sandbox is required, and this machine has no complete one." .fix("Install bubblewrap, or choose `--sandbox off`.") .by_command("doctor");
    ADDRESS_UNAVAILABLE Precondition "The address of `--http` cannot be listened on." .fix("Choose another port; 0 takes a free one.");
    SKILL_NOT_FOUND NotFound "There is no such skill." .fix("Name a skill that exists.") .by_command("skills list");
    SKILL_INVALID Usage "A skill is not as its format says." .fix("Correct the file that the message names.");
    SESSION_NOT_FOUND NotFound "There is no such session." .fix("Name a session that exists.") .by_command("sessions list");
    MODEL_NOT_FOUND NotFound "The catalogue has no such model." .fix("Name a model that exists.") .by_command("models list");
    UNDO_OFF Precondition "Nothing was captured of the session, or what was cannot be trusted." .fix("Save sessions, and leave `undo.checkpoints` on.");
    UNDO_CONFLICT Conflict "Every file was changed since, so none was put back." .fix("Look at the files; `--replace` takes them anyway.");
    NOTHING_TO_UNDO NotFound "There is nothing to go back to." .fix("List the turns with `zori undo --list`.");
    LOGIN_FAILED AuthRequired "The login was refused." .fix("Log in again.") .by_command("auth status");
    LOGIN_UNAVAILABLE Unavailable "The server of the login cannot be reached, or fails.";
    LOGIN_UNREADABLE General "The server of the login gave an answer that cannot be understood.";
    DATABASE_UNUSABLE Precondition "The database of memory and schedules cannot be used." .fix("Do what the message says about the file.");
    MEMORY_NOT_FOUND NotFound "There is no such message in the memory of the project." .fix("Name a message that exists.") .by_command("memory list");
    JOB_NOT_FOUND NotFound "There is no such scheduled job in the project." .fix("Name a job that exists.") .by_command("schedule list");
    PURGE_FAILED Usage "The project cannot be purged now; nothing was deleted." .fix("Do what the message says, then purge again.");
    PURGE_CANCELLED General "The name of the project was not given; nothing was deleted." .fix("Type the name exactly, or use `--yes`.");
    CHECKS_FAILED General "A check found something that has to be mended.";
    AUDIT_BROKEN General "The audit log is not as it was written.";
    MODEL_REFUSED PermissionDenied "The model, or a filter behind it, refused to answer." .fix("Ask for something else, or choose another model.");
    CONTENT_BLOCKED PermissionDenied "The provider blocked the prompt before a model saw it." .fix("Change the prompt, or choose another provider.");
    PAYMENT_REQUIRED PaymentRequired "The provider's credit is used up." .fix("Pay the provider, or choose another one.");
    PROVIDER_FAILED General "The provider failed in a way that nothing more precise can be said of.";
    ANSWER_UNFIT General "The model gave no answer that fits `--json-schema`." .fix("Ask for less, or choose another model.");
    POLICY_UNEXPECTED General "A policy decides otherwise than it is expected to.";
}
