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
use zori_contract::error::{PARTIAL_FAILURE, VALIDATION_ERROR};
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::input;
use zori_contract::kind::Kind;
use zori_contract::mode::Class;
use zori_contract::reply::Reply;
use zori_contract::world::World;
use zori_host::random_bytes;

use super::{COMMANDS, Context, example};
use zori_setup::app::App;
use zori_setup::environment::Clocks;
use zori_setup::error::{DISPATCH_PARSE_ERROR, DISPATCH_REFUSED};
use zori_setup::secrets;

const IGNORE_ERRORS: Flag = Flag::switch("ignore-errors", "Go on after a line that fails");
const DRY_RUN: Flag = Flag::switch("dry-run", "Say what the lines would do and do nothing");
const RESUME_FROM: Flag = Flag::valued(
    "resume-from",
    "LINE",
    Kind::Int { min: 1, max: i64::MAX },
    "Begin with this line, as `resume_from` of a batch that failed says",
);

/// What its lines change is in their own answers.
pub const COMMAND: Command<App> = Command {
    flags: const { &[IGNORE_ERRORS, DRY_RUN, RESUME_FROM] },
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
        example("where it failed", "zori batch --input-file calls.jsonl --resume-from 3"),
    ],
    ..Command::new(&["batch"], "Run many commands, a JSON object a line", run)
};

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let input = cx.input(args)?.unwrap_or_default();
    let text = String::from_utf8_lossy(&input).into_owned();
    let first = args.int(&RESUME_FROM).and_then(|line| usize::try_from(line).ok()).unwrap_or(1);
    let lines = (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty());
    let last = lines.clone().last().map_or(0, |(number, _)| number);
    if first > last.max(1) {
        let message = format!("`--resume-from {first}` is behind the last line, which is {last}");
        return Err(Failure::new(&VALIDATION_ERROR, message).field("resume_from", first));
    }
    let how = if args.has(&DRY_RUN) { BatchMode::Shown } else { BatchMode::Run };
    let (mut total, mut failed, mut first_failed) = (0, 0, None);
    for (number, line) in lines.filter(|(number, _)| *number >= first) {
        cx.cancel.check()?;
        let answer = dispatch(cx, number, line, how);
        total += 1;
        if answer["ok"] == json!(true) {
            cx.steps.done(number.to_string());
        } else {
            failed += 1;
            first_failed.get_or_insert(number);
        }
        // A reader that is gone wants no more of it.
        if !matches!(cx.streams.stream(&format!("{answer}\n")), zori_contract::output_streams::Written::Done)
        {
            break;
        }
        if failed > 0 && !args.has(&IGNORE_ERRORS) {
            break;
        }
    }
    if failed == 0 {
        return Ok(Reply::streamed());
    }
    let data = json!({"partial": true, "resume_from": first_failed,
        "summary": {"total": total, "succeeded": total - failed, "failed": failed}});
    Err(Failure::new(&PARTIAL_FAILURE, format!("{failed} of {total} lines failed")).with_data(data))
}

/// What is done with the lines.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BatchMode {
    /// They are run.
    Run,
    /// It is only said what they would do.
    Shown,
}

/// Runs one line and returns its envelope.
fn dispatch(cx: &Context<'_>, number: usize, line: &str, lines: BatchMode) -> Value {
    let (name, argv) = match call(line, lines) {
        Ok(call) => call,
        Err(failure) => return refused(cx, number, &failure),
    };
    if find(&name).is_some_and(|command| command.owns_streams() || command.stdin.is_some()) {
        let message = format!("`{name}` cannot be called from a batch: it needs the streams for itself");
        return refused(cx, number, &Failure::new(&DISPATCH_REFUSED, message));
    }
    let out = Buffer::default();
    let mut inputs = cx.inputs.clone();
    (inputs.stdin_terminal, inputs.stdout_terminal, inputs.stderr_terminal) = (false, false, false);
    let world = World {
        argv,
        inputs,
        cwd: cx.cwd.clone(),
        stdin: Box::new(io::empty()),
        stdout: Box::new(out.clone()),
        stderr: Box::new(io::sink()),
        clock: Arc::new(Clocks(Instant::now())),
        random: random_bytes(),
        temp: cx.cwd.join(cx.app.env.temp_dir()),
        output: Box::new(|_| None),
        redactor: Some(secrets::redactor_of_output(&cx.app.env)),
        cancel: Cancel::default(),
        end: Arc::new(|_| {}),
    };
    let app = cx.app.clone();
    zori_contract::run::run(crate::program::of(app.profile), world, |begin| Ok(crate::started(app, begin)));
    let printed = out.0.lock().unwrap_or_else(PoisonError::into_inner);
    let mut answer: Value = serde_json::from_slice(&printed).unwrap_or(Value::Null);
    answer["meta"]["_cmd"] = json!(name);
    answer["meta"]["_line"] = json!(number);
    answer
}

/// Reads a line: `_cmd` is the command, `_opts` its options, and every other field an option or argument of that name.
fn call(line: &str, lines: BatchMode) -> Result<(String, Vec<OsString>), Failure> {
    let wrong = |why: String| Failure::new(&DISPATCH_PARSE_ERROR, why);
    let mut fields: Map<String, Value> = serde_json::from_str(line)
        .map_err(|error| wrong(format!("the line is not a JSON object: {error}")))?;
    let Some(Value::String(name)) = fields.remove("_cmd") else {
        return Err(wrong("`_cmd` is missing: the command, such as `sessions.list`".into()));
    };
    match fields.remove("_opts") {
        None => {}
        Some(Value::Object(options)) => fields.extend(options),
        Some(other) => return Err(wrong(format!("`_opts` is an object, not {other}"))),
    }
    // Words in one would be a prompt, and no line of a batch asks a model.
    let mut words: Vec<String> =
        name.split(|c: char| c == '.' || c.is_whitespace()).map(str::to_owned).collect();
    let name = words.join(".");
    words.extend(["--output=json".to_owned(), "--non-interactive".to_owned()]);
    if lines == BatchMode::Shown {
        // What would be changed is said where that is known, and nothing else is done than to look at the arguments.
        let previews = find(&name).is_some_and(|command| command.preview.is_some());
        words.push(if previews { "--dry-run" } else { "--validate-only" }.to_owned());
    }
    words.push(format!("--raw-payload={}", Value::Object(fields)));
    Ok((name, words.into_iter().map(OsString::from).collect()))
}

fn find(name: &str) -> Option<&'static Command<App>> {
    COMMANDS.iter().find(|command| command.path.join(".") == name)
}

/// Returns the envelope of a line that is not run.
fn refused(cx: &Context<'_>, number: usize, failure: &Failure) -> Value {
    let meta = json!({"ok": false, "exit_code": failure.kind.exit.code(), "command": "batch", "duration_ms": 0,
        "schema_version": zori_contract::envelope::SCHEMA_VERSION, "command_schema_version": cx.command.schema_version,
        "tool_version": cx.program.version, "timeout_ms": 0, "cwd": cx.cwd, "config_sources": [],
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
