//! The flags a program gets without asking: on every command, and on those whose table entry calls for them.

use super::Flag;
use crate::command::Command;
use crate::exit::Danger;
use crate::kind::Kind;

const FORMATS: &[&str] = &["json", "jsonl", "tsv", "plain", "table", "id"];
const ANY_NUMBER: Kind = Kind::Int { min: 0, max: i64::MAX };

/// The flags of every command.
pub const GLOBAL: &[Flag] = &[
    Flag::switch("help", "Print help; `--help --all` shows every option").short('h'),
    Flag::switch("version", "Print the version").short('V'),
    Flag::valued(
        "output",
        "FORMAT",
        Kind::Choice(FORMATS),
        "What to print: json, jsonl, tsv, plain, table or id",
    )
    .short('o'),
    Flag::valued("format", "FORMAT", Kind::Choice(&["text", "json"]), "What to print: text (plain) or json")
        .rare(),
    Flag::switch("json", "Print JSON: the same as `--format json`").rare(),
    Flag::switch("stream", "Print JSON line by line: the same as `--output jsonl`").rare(),
    Flag::switch("no-stream", "Print one JSON envelope: the same as `--output json`").rare(),
    Flag::valued("fields", "NAMES", Kind::List(&[]), "Print only these fields, separated by commas").rare(),
    Flag::valued("timeout", "DURATION", Kind::Duration, "End the command after 500ms, 30s, 5m, 1h; 0: never")
        .rare(),
    Flag::valued("cwd", "DIR", Kind::Path, "Work in this folder").aliases(&["root"]).rare(),
    Flag::switch("yes", "Answer every question with yes").short('y').aliases(&["auto"]),
    Flag::switch("non-interactive", "Ask nothing; fail where a question would be asked").rare(),
    Flag::switch("quiet", "Print nothing on standard error").short('q'),
    Flag::switch("verbose", "Say more on standard error").rare(),
    Flag::switch("debug", "Say everything on standard error").rare(),
    Flag::switch("no-color", "Print without colour").rare(),
    Flag::switch("validate-only", "Check the arguments and do nothing").rare(),
    Flag::valued(
        crate::payload::NAME,
        "JSON",
        Kind::Json,
        "Take the arguments from a JSON object, each by the name of its flag",
    )
    .rare(),
    Flag::switch("stable-output", "Leave out what differs from run to run").rare(),
    Flag::valued("max-output", "BYTES", Kind::Int { min: 256, max: i64::MAX }, "Cut the answer to this size")
        .rare(),
    Flag::valued(
        "max-field",
        "CHARS",
        Kind::Int { min: 0, max: i64::MAX },
        "Cut texts within the answer to this length; 0: never",
    )
    .rare(),
    Flag::valued(
        "width",
        "COLUMNS",
        Kind::Int { min: 20, max: 100_000 },
        "Cut the lines of a table to this width",
    )
    .rare(),
    Flag::switch("unmask", "Show values that look like secrets").rare(),
    Flag::switch("no-injection-protection", "Leave out the marks on text that others wrote").rare(),
    Flag::switch("warnings-as-errors", "Exit with 1 where there are warnings").rare(),
    Flag::switch("no-update-check", "Accepted; there is nothing to switch off").rare(),
    Flag::valued(
        "schema-version",
        "VERSION",
        Kind::Choice(&["1", "1.0"]),
        "Fail unless answers have this form; there is only 1",
    )
    .rare(),
    Flag::switch("schema", "Print what the command takes and returns, as JSON")
        .aliases(&["print-schema"])
        .rare(),
    Flag::switch("output-schema", "Print the JSON Schema of the command's data").rare(),
];

const DRY_RUN: Flag = Flag::switch("dry-run", "Say what would be done and do nothing");
const IDEMPOTENCY_KEY: Flag = Flag::valued(
    "idempotency-key",
    "KEY",
    Kind::Name(crate::kind::Pattern::ALPHANUMERIC),
    "Do it once for this key",
)
.max_length(128)
.rare();
const CONFIRM: Flag = Flag::switch("confirm-destructive", "Agree to what is destroyed");
const LIVE: Flag = Flag::switch("live", "Do it; without this it is only shown");
const LIMIT: Flag = Flag::valued("limit", "N", ANY_NUMBER, "Print at most N rows; 0: all").default("20");
const CURSOR: Flag = Flag::valued("cursor", "CURSOR", Kind::Text, "Go on where the last page ended");
const INPUT_FILE: Flag =
    Flag::valued("input-file", "PATH", Kind::Path, "Read the input from a file; `-`: standard input");
const NO_FOLLOW: Flag = Flag::switch("no-follow-symlinks", "Enter no folder that is a symbolic link").rare();
const MAX_DEPTH: Flag = Flag::valued(
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
    if command.idempotent {
        flags.push(IDEMPOTENCY_KEY);
    }
    if command.danger == Danger::Destructive && !command.safe_default {
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
