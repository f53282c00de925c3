//! The flags a program gets without asking: on every command, and on those whose table entry calls for them.

use super::Flag;
use crate::command::Command;
use crate::kind::Kind;

const FORMATS: &[&str] = &["json", "jsonl", "tsv", "plain", "table", "id"];
const ANY_NUMBER: Kind = Kind::Int { min: 0, max: i64::MAX };

/// `--help`.
pub const HELP: Flag = Flag::switch("help", "Print help; `--help --all` shows every option").short('h');
/// `--version`.
pub const VERSION: Flag = Flag::switch("version", "Print the version").short('V');
/// `--output`.
pub const OUTPUT: Flag = Flag::valued(
    "output",
    "FORMAT",
    Kind::Choice(FORMATS),
    "What to print: json, jsonl, tsv, plain, table or id",
)
.short('o');
/// `--format`.
pub const FORMAT: Flag =
    Flag::valued("format", "FORMAT", Kind::Choice(&["text", "json"]), "What to print: text (plain) or json")
        .rare();
/// `--json`.
pub const JSON: Flag = Flag::switch("json", "Print JSON: the same as `--format json`").rare();
/// `--stream`.
pub const STREAM: Flag =
    Flag::switch("stream", "Print JSON line by line: the same as `--output jsonl`").rare();
/// `--no-stream`.
pub const NO_STREAM: Flag =
    Flag::switch("no-stream", "Print one JSON envelope: the same as `--output json`").rare();
/// `--fields`.
pub const FIELDS: Flag =
    Flag::valued("fields", "NAMES", Kind::List(&[]), "Print only these fields, separated by commas").rare();
/// `--timeout`.
pub const TIMEOUT: Flag =
    Flag::valued("timeout", "DURATION", Kind::Duration, "End the command after 500ms, 30s, 5m, 1h; 0: never")
        .rare();
/// `--cwd`.
pub const CWD: Flag = Flag::valued("cwd", "DIR", Kind::Path, "Work in this folder").aliases(&["root"]).rare();
/// `--yes`.
pub const YES: Flag = Flag::switch("yes", "Answer every question with yes").short('y').aliases(&["auto"]);
/// `--non-interactive`.
pub const NON_INTERACTIVE: Flag =
    Flag::switch("non-interactive", "Ask nothing; fail where a question would be asked").rare();
/// `--quiet`.
pub const QUIET: Flag = Flag::switch("quiet", "Print nothing on standard error").short('q');
/// `--verbose`.
pub const VERBOSE: Flag = Flag::switch("verbose", "Say more on standard error").rare();
/// `--debug`.
pub const DEBUG: Flag =
    Flag::switch("debug", "Say everything on standard error").aliases(&["trace-safe"]).rare();
/// `--no-color`.
pub const NO_COLOR: Flag = Flag::switch("no-color", "Print without colour").rare();
/// `--validate-only`.
pub const VALIDATE_ONLY: Flag = Flag::switch("validate-only", "Check the arguments and do nothing").rare();
/// `--raw-payload`.
pub const RAW_PAYLOAD: Flag = Flag::valued(
    "raw-payload",
    "JSON",
    Kind::Json,
    "Take the arguments from a JSON object, each by the name of its flag",
)
.rare();
/// `--stable-output`.
pub const STABLE_OUTPUT: Flag =
    Flag::switch("stable-output", "Leave out what differs from run to run").rare();
/// `--max-output`.
pub const MAX_OUTPUT: Flag =
    Flag::valued("max-output", "BYTES", Kind::Int { min: 256, max: i64::MAX }, "Cut the answer to this size")
        .rare();
/// `--max-field`.
pub const MAX_FIELD: Flag = Flag::valued(
    "max-field",
    "CHARS",
    Kind::Int { min: 0, max: i64::MAX },
    "Cut texts within the answer to this length; 0: never",
)
.rare();
/// `--width`.
pub const WIDTH: Flag = Flag::valued(
    "width",
    "COLUMNS",
    Kind::Int { min: 20, max: 100_000 },
    "Cut the lines of a table to this width",
)
.rare();
/// `--unmask`.
pub const UNMASK: Flag = Flag::switch("unmask", "Show values that look like secrets").rare();
/// `--no-injection-protection`.
pub const NO_INJECTION_PROTECTION: Flag =
    Flag::switch("no-injection-protection", "Leave out the marks on text that others wrote").rare();
/// `--warnings-as-errors`.
pub const WARNINGS_AS_ERRORS: Flag =
    Flag::switch("warnings-as-errors", "Exit with 1 where there are warnings").rare();
/// `--no-update-check`.
pub const NO_UPDATE_CHECK: Flag =
    Flag::switch("no-update-check", "Accepted; there is nothing to switch off").rare();
/// `--schema-version`.
pub const SCHEMA_VERSION: Flag = Flag::valued(
    "schema-version",
    "VERSION",
    Kind::Choice(&["1", "1.0"]),
    "Fail unless answers have this form; there is only 1",
)
.rare();
/// `--schema`.
pub const SCHEMA: Flag = Flag::switch("schema", "Print what the command takes and returns, as JSON")
    .aliases(&["print-schema"])
    .rare();
/// `--output-schema`.
pub const OUTPUT_SCHEMA: Flag =
    Flag::switch("output-schema", "Print the JSON Schema of the command's data").rare();

/// The flags of every command.
pub const GLOBAL: &[Flag] = &[
    HELP,
    VERSION,
    OUTPUT,
    FORMAT,
    JSON,
    STREAM,
    NO_STREAM,
    FIELDS,
    TIMEOUT,
    CWD,
    YES,
    NON_INTERACTIVE,
    QUIET,
    VERBOSE,
    DEBUG,
    NO_COLOR,
    VALIDATE_ONLY,
    RAW_PAYLOAD,
    STABLE_OUTPUT,
    MAX_OUTPUT,
    MAX_FIELD,
    WIDTH,
    UNMASK,
    NO_INJECTION_PROTECTION,
    WARNINGS_AS_ERRORS,
    NO_UPDATE_CHECK,
    SCHEMA_VERSION,
    SCHEMA,
    OUTPUT_SCHEMA,
];

/// `--dry-run`.
pub const DRY_RUN: Flag = Flag::switch("dry-run", "Say what would be done and do nothing");
/// `--idempotency-key`.
pub const IDEMPOTENCY_KEY: Flag = Flag::valued(
    "idempotency-key",
    "KEY",
    Kind::Name(crate::kind::Pattern::ALPHANUMERIC),
    "Do it once for this key",
)
.max_length(128)
.rare();
/// `--confirm-destructive`.
pub const CONFIRM: Flag = Flag::switch("confirm-destructive", "Agree to what is destroyed");
/// `--live`.
pub const LIVE: Flag = Flag::switch("live", "Do it; without this it is only shown");
/// `--limit`.
pub const LIMIT: Flag = Flag::valued("limit", "N", ANY_NUMBER, "Print at most N rows; 0: all").default("20");
/// `--cursor`.
pub const CURSOR: Flag = Flag::valued("cursor", "CURSOR", Kind::Text, "Go on where the last page ended");
/// `--input-file`.
pub const INPUT_FILE: Flag =
    Flag::valued("input-file", "PATH", Kind::Path, "Read the input from a file; `-`: standard input");
/// `--no-follow-symlinks`.
pub const NO_FOLLOW: Flag =
    Flag::switch("no-follow-symlinks", "Enter no folder that is a symbolic link").rare();
/// `--max-depth`.
pub const MAX_DEPTH: Flag = Flag::valued(
    "max-depth",
    "N",
    Kind::Int { min: 0, max: 100_000 },
    "Fail where folders are nested more deeply than this",
)
.default("64")
.rare();

/// Returns the flags a command gets because of what it is.
pub fn of<A>(command: &Command<A>) -> Vec<Flag> {
    let mut flags = Vec::new();
    if command.preview.is_some() {
        flags.push(DRY_RUN);
    }
    if command.takes_key() {
        flags.push(IDEMPOTENCY_KEY);
    }
    if command.needs_agreement() && !command.safe_default {
        flags.push(CONFIRM);
    }
    if command.safe_default {
        flags.push(LIVE);
    }
    if command.list {
        flags.extend([LIMIT, CURSOR]);
    }
    if command.walks {
        flags.extend([NO_FOLLOW, MAX_DEPTH]);
    }
    if command.stdin.is_some() {
        flags.push(INPUT_FILE);
    }
    flags
}
