//! `batch`: a JSON object a line on standard input, each a command with its options; an envelope a line on standard
//! output. Everything runs in this process, one after the other.

use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use serde_json::{Map, Value, json};
use zori_contract::args::Args;
use zori_contract::cancel::Cancel;
use zori_contract::command::{Command, StdinInput};
use zori_contract::error::PARTIAL_FAILURE;
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::input;
use zori_contract::kind::Kind;
use zori_contract::mode::Class;
use zori_contract::reply::Reply;
use zori_contract::world::World;

use super::{COMMANDS, Context, example};
use crate::clock::random;
use crate::error::{DISPATCH_PARSE_ERROR, DISPATCH_REFUSED};
use crate::outside::Clocks;
use crate::program::App;

/// The entry. What its lines change is in their own answers.
pub const COMMAND: Command<App> = Command {
    flags: const { &[Flag::switch("ignore-errors", "Go on after a line that fails")] },
    class: Class::Document,
    danger: Danger::Mutating,
    stdin: Some(StdinInput { max_bytes: input::DEFAULT_BYTES, format: "jsonl", required: true }),
    exits: &[Exit::Partial, Exit::NotFound],
    timeout_ms: Some(300_000),
    examples: &[
        example(
            "two questions at once",
            r#"printf '{"_cmd":"config.path"}\n{"_cmd":"sessions.list","_opts":{"limit":5}}\n' | zori batch"#,
        ),
        example("from a file", "zori batch --input-file calls.jsonl --ignore-errors"),
    ],
    ..Command::new(&["batch"], "Run many commands, a JSON object a line", run)
};

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let input = cx.input(args)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&input).into_owned();
    let (mut total, mut failed) = (0, 0);
    for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
        cx.cancel.check()?;
        let answer = dispatch(cx, number, line);
        total += 1;
        failed += usize::from(answer["ok"] != json!(true));
        // A reader that is gone wants no more of it.
        if !matches!(cx.outlet.stream(&format!("{answer}\n")), zori_contract::outlet::Written::Done) {
            break;
        }
        if failed > 0 && !args.has("ignore-errors") {
            break;
        }
    }
    if failed == 0 {
        return Ok(Reply::streamed());
    }
    let data =
        json!({"partial": true, "summary": {"total": total, "succeeded": total - failed, "failed": failed}});
    Err(Failure::new(&PARTIAL_FAILURE, format!("{failed} of {total} lines failed")).with_data(data))
}

/// Runs one line and returns its envelope.
fn dispatch(cx: &Context<'_>, number: usize, line: &str) -> Value {
    let (name, argv) = match call(line) {
        Ok(call) => call,
        Err(failure) => return refused(cx, number, &failure),
    };
    let known = COMMANDS.iter().find(|command| command.path.join(".") == name);
    if known.is_some_and(|command| command.owns_streams() || command.stdin.is_some()) {
        let message = format!("`{name}` cannot be called from a batch: it needs the streams for itself");
        return refused(cx, number, &Failure::new(&DISPATCH_REFUSED, message));
    }
    let out = Buffer::default();
    let mut inputs = cx.inputs.clone();
    (inputs.stdin_terminal, inputs.stdout_terminal, inputs.stderr_terminal) = (false, false, false);
    let profile = cx.app.profile;
    let world = World {
        argv,
        inputs,
        cwd: cx.place.cwd.clone(),
        stdin: Box::new(io::empty()),
        stdout: Box::new(out.clone()),
        stderr: Box::new(io::sink()),
        clock: Arc::new(Clocks(Instant::now())),
        random: random(),
        temp: cx.place.cwd.join(std::env::temp_dir()),
        output: Box::new(|_| None),
        cancel: Cancel::default(),
        end: |_| {},
    };
    zori_contract::run::run(profile.program, world, |begin| Ok(crate::started(profile, begin)));
    let printed = out.0.lock().unwrap_or_else(PoisonError::into_inner);
    let mut answer: Value = serde_json::from_slice(&printed).unwrap_or(Value::Null);
    answer["meta"]["_cmd"] = json!(name);
    answer["meta"]["_line"] = json!(number);
    answer
}

/// Reads a line: `_cmd` is the command, `_opts` its options, and every other field an option or argument of that name.
fn call(line: &str) -> Result<(String, Vec<OsString>), Failure> {
    let wrong = |why: String| Failure::new(&DISPATCH_PARSE_ERROR, why);
    let mut fields: Map<String, Value> = serde_json::from_str(line)
        .map_err(|error| wrong(format!("the line is not a JSON object: {error}")))?;
    let Some(Value::String(name)) = fields.remove("_cmd") else {
        return Err(wrong("`_cmd` is missing: the command, such as `sessions.list`".into()));
    };
    let options = match fields.remove("_opts") {
        None => Map::new(),
        Some(Value::Object(options)) => options,
        Some(other) => return Err(wrong(format!("`_opts` is an object, not {other}"))),
    };
    let command = COMMANDS.iter().find(|command| command.path.join(".") == name);
    let mut words: Vec<String> = name.split('.').map(str::to_owned).collect();
    words.extend(["--output=json".to_owned(), "--non-interactive".to_owned()]);
    let mut positionals = Vec::new();
    for (key, value) in options.into_iter().chain(fields) {
        let values = match value {
            Value::Array(values) => values,
            value => vec![value],
        };
        let positional = command.and_then(|command| {
            command
                .args
                .iter()
                .find(|arg| arg.name.eq_ignore_ascii_case(&key) && !matches!(arg.kind, Kind::Switch))
        });
        for value in values {
            let text = match value {
                Value::Bool(true) => {
                    words.push(format!("--{key}"));
                    continue;
                }
                Value::Bool(false) | Value::Null => continue,
                Value::String(text) => text,
                other => other.to_string(),
            };
            match positional {
                Some(_) => positionals.push(text),
                None => words.push(format!("--{key}={text}")),
            }
        }
    }
    if !positionals.is_empty() {
        words.push("--".to_owned());
        words.append(&mut positionals);
    }
    Ok((name, words.into_iter().map(OsString::from).collect()))
}

/// Returns the envelope of a line that is not run.
fn refused(cx: &Context<'_>, number: usize, failure: &Failure) -> Value {
    let meta = json!({"ok": false, "exit_code": failure.kind.exit.code(), "command": "batch", "duration_ms": 0,
        "schema_version": zori_contract::envelope::SCHEMA_VERSION, "command_schema_version": cx.command.schema_version,
        "tool_version": cx.program.version, "timeout_ms": 0, "cwd": cx.place.cwd, "config_sources": [],
        "effective_config_hash": "", "_cmd": null, "_line": number});
    let error = json!({"code": failure.kind.code, "message": failure.message, "phase": "validation",
        "exit_code": failure.kind.exit.code(), "retryable": false, "fix_required": failure.kind.fix_required});
    json!({"ok": false, "data": null, "error": error, "warnings": [], "meta": meta})
}

/// Where the answer of a line goes.
#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
