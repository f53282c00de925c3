//! The table of commands, and what each does. Nothing here parses, prints, prompts or counts milliseconds.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::time::Duration;

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::builtin;
use zori_contract::child::Purpose;
use zori_contract::command::{Command, Example, Rule, StdinInput};
use zori_contract::error::{self, ErrorKind};
use zori_contract::exit::{Danger, Exit};
use zori_contract::external::External;
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, Positional};
use zori_contract::gate::Preview;
use zori_contract::input;
use zori_contract::kind::{Kind, Pattern};
use zori_contract::mode::{Class, Verbosity};
use zori_contract::program::{NoCommand, Program};
use zori_contract::reply::{Effect, Reply};
use zori_contract::run::CommandCx;
use zori_contract::walk::{self, Walk};

use crate::store::{Note, Store};

type Context<'a> = CommandCx<'a, Store>;

const NOTE_ID: Kind = Kind::Id(Pattern::ALPHANUMERIC);

const CONTAINS: Flag = Flag::valued("contains", "TEXT", Kind::Text, "Only notes with this in their title");
const ID: Positional = Positional::required("ID", NOTE_ID, "The note");
const NEW_ID: Positional = Positional::required("ID", NOTE_ID, "What the note is called");
const TITLE: Flag = Flag::valued("title", "TEXT", Kind::Text, "The first line").max_length(200);
const IDS: Positional = Positional::required("ID", NOTE_ID, "The notes").many();
const FOR: Flag = Flag::valued("for", "DURATION", Kind::Duration, "How long").required();
const DEAF: Flag = Flag::switch("deaf", "Listen to nobody, as code does that hangs");
const TEMP: Flag = Flag::switch("temp", "Make a temporary folder meanwhile, and say where it is");
const PANIC: Flag = Flag::switch("panic", "Break off in the middle, as code does that has a defect");
const PROGRAM_NAME: Flag = Flag::valued("program", "NAME", Kind::Path, "The program").required();
const DIR: Positional = Positional::required("DIR", Kind::Path, "The folder");

/// Something this program alone can report.
static NOTE_EMPTY: ErrorKind =
    ErrorKind::new("NOTE_EMPTY", Exit::Usage, "A note has neither a title nor a text.")
        .fix("Give `--title` or send a text.");

const fn example(about: &'static str, command: &'static str) -> Example {
    Example { about, command }
}

/// The program.
pub static PROGRAM: Program<Store> = Program {
    name: "notes",
    version: env!("CARGO_PKG_VERSION"),
    about: "Notes in a folder: the example of zori-contract",
    prefix: "NOTES",
    commands: &[
        Command {
            flags: const { &[CONTAINS] },
            examples: &[
                example("the first twenty notes", "notes list"),
                example("all of them, for a spreadsheet", "notes list --limit 0 --output tsv"),
            ],
            list: true,
            id_field: Some("id"),
            columns: &["id", "title"],
            output_schema: r#"{"type":"array","items":{"type":"object","required":["id","title","path"],
                "properties":{"id":{"type":"string"},"title":{"type":"string"},"path":{"type":"string"}}}}"#,
            ..Command::new(&["list"], "List notes by their id", list)
        },
        Command {
            args: const { &[ID] },
            examples: &[
                example("one note", "notes show groceries"),
                example("the first one there is", "notes list --limit 1 --output id | notes show -"),
            ],
            exits: &[Exit::NotFound],
            output_schema: r#"{"type":"object","required":["id","title","text","_source","_trusted"]}"#,
            ..Command::new(&["show"], "Print a note", show)
        },
        Command {
            args: const { &[NEW_ID] },
            flags: const { &[TITLE] },
            examples: &[
                example("a note of one line", "notes add groceries --title \"Milk and bread\""),
                example("a longer one", "notes add diary --input-file today.md"),
            ],
            danger: Danger::Mutating,
            preview: Some(|_, args| {
                let items = vec![args.text(&ID).unwrap_or_default().to_owned()];
                Ok(Preview { verb: "create", items, reversible: true })
            }),
            idempotent: true,
            stdin: Some(StdinInput { max_bytes: input::DEFAULT_BYTES, format: "text", required: false }),
            exits: &[Exit::Conflict],
            output_schema: r#"{"type":"object","required":["effect"]}"#,
            declares: r#"{"filesystem_side_effects":[{"path":"$NOTES_HOME/notes","type":"config"}]}"#,
            ..Command::new(&["add"], "Write a new note", add)
        },
        Command {
            args: const { &[IDS] },
            examples: &[
                example("what would go", "notes rm groceries diary --dry-run"),
                example("let it go", "notes rm groceries --confirm-destructive"),
            ],
            danger: Danger::Destructive,
            preview: Some(rm_preview),
            exits: &[Exit::Partial],
            output_schema: r#"{"type":"object","required":["effect"]}"#,
            ..Command::new(&["rm"], "Remove notes for good", rm)
        },
        Command {
            examples: &[
                example("see what would go", "notes purge"),
                example("let it go", "notes purge --live"),
            ],
            danger: Danger::Destructive,
            safe_default: true,
            preview: Some(|cx, _| {
                let items = cx.app.all().map_err(unreadable)?.into_iter().map(|note| note.id).collect();
                Ok(Preview { verb: "delete", items, reversible: false })
            }),
            steps: &["notes", "folder"],
            exits: &[Exit::Partial],
            output_schema: r#"{"type":"object","required":["effect"]}"#,
            ..Command::new(&["purge"], "Remove all notes; shows what would go unless it is `--live`", purge)
        },
        Command {
            class: Class::Document,
            examples: &[
                example("everything in one file", "notes export > notes.md"),
                example("the same in an envelope", "notes export --output json"),
            ],
            ..Command::new(&["export"], "Print all notes as one document", export)
        },
        Command {
            flags: const { &[FOR, DEAF, TEMP, PANIC] },
            rules: &[Rule::Excludes { flag: &DEAF, other: &TEMP }],
            examples: &[
                example("a second", "notes wait --for 1s"),
                example("not that long", "notes wait --for 1h --timeout 500ms"),
            ],
            steps: &["began", "waited"],
            ..Command::new(&["wait"], "Wait, to try out signals and time limits", wait)
        },
        Command {
            args: const { &[ID] },
            flags: const { &[PROGRAM_NAME] },
            examples: &[
                example("on the desktop", "notes tell groceries --program notify-send"),
                example("see how it is called", "notes tell groceries --program echo --debug"),
            ],
            exits: &[Exit::NotFound],
            output_schema: r#"{"type":"object","required":["code","printed","_source","_trusted"]}"#,
            declares: r#"{"subprocess":{"binary":"--program","user_controlled_args":true,"hardcoded_args":[]}}"#,
            ..Command::new(&["tell"], "Run a program with the text of a note as its argument", tell)
        },
        Command {
            args: const { &[DIR] },
            examples: &[
                example("what is there", "notes scan drafts"),
                example("only what really lies there", "notes scan drafts --no-follow-symlinks"),
            ],
            list: true,
            walks: true,
            id_field: Some("path"),
            columns: &["path", "bytes"],
            output_schema: r#"{"type":"array","items":{"type":"object","required":["path","bytes"]}}"#,
            ..Command::new(&["scan"], "List the files in a folder that could become notes", scan)
        },
        Command {
            class: Class::Interactive,
            timeout_ms: None,
            examples: &[example("talk", "notes chat"), example("talk quietly", "notes chat --quiet")],
            ..Command::new(&["chat"], "Verbosity about notes at a terminal", |cx, _| {
                cx.say(Verbosity::Normal, "There is nobody here yet.");
                Ok(Reply::streamed())
            })
        },
        builtin::manifest_command(&[
            example("everything the program can do", "notes manifest"),
            example("only if it changed", "notes manifest --etag sha256:0"),
        ]),
        builtin::errors_command(&[
            example("every code", "notes errors list --limit 0"),
            example("as a table", "notes errors list --output table"),
        ]),
        builtin::completions_command(&[
            example("for bash", "notes completions bash"),
            example("for fish", "notes completions fish"),
        ]),
        builtin::man_command(&[
            example("read it", "notes man | man -l -"),
            example("keep it", "notes man > notes.1"),
        ]),
    ],
    groups: &[("errors", "What can go wrong")],
    flags: &[],
    errors: &[&NOTE_EMPTY],
    variables: &[
        ("NOTES_HOME", "the folder of the notes; else `~/.notes`"),
        ("HOME", "the home directory"),
        ("NOTES_TOKEN", "a secret, to see that it is never printed"),
    ],
    renamed: &[("ls", "list")],
    no_command: NoCommand::Help,
    plain: false,
    examples: &[],
    note: "",
    unknown: None,
    audit_log: None,
    ahead: &[],
    implied: |_, _| None,
    rewrite: |_| {},
};

fn row(note: &Note) -> Value {
    json!({"id": note.id, "title": note.title, "path": note.path})
}

fn list(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let wanted = args.text(&CONTAINS).unwrap_or_default();
    let notes = cx.app.all().map_err(unreadable)?;
    Ok(Reply::rows(notes.iter().filter(|note| note.title.contains(wanted)).map(row)))
}

fn show(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let id = args.text(&ID).unwrap_or_default();
    let note = cx.app.find(id).map_err(unreadable)?;
    let note =
        note.ok_or_else(|| Failure::not_found("note", id).hint("`notes list` shows the notes there are"))?;
    let text = String::from_utf8_lossy(&note.text).into_owned();
    let shown = External(json!({"id": note.id, "title": note.title, "text": text, "path": note.path}));
    Ok(Reply::one(shown).text(text))
}

fn add(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let id = args.text(&ID).unwrap_or_default();
    let mut text = args.text(&TITLE).map(|title| format!("{title}\n").into_bytes()).unwrap_or_default();
    text.extend(cx.input(args)?.unwrap_or_default());
    if text.is_empty() {
        return Err(Failure::new(&NOTE_EMPTY, format!("the note `{id}` has neither a title nor a text")));
    }
    let lock_file = cx.app.lock_file().map_err(unwritable)?;
    let _lock = cx.lock(&lock_file)?;
    if let Some(note) = cx.app.find(id).map_err(unreadable)? {
        return Err(Failure::already_exists("note", id, row(&note)));
    }
    let path = cx.app.write(id, &text).map_err(unwritable)?;
    cx.say(Verbosity::Normal, &format!("Wrote {path}"));
    Ok(Reply::changed(Effect::Created, json!({"id": id, "path": path})).text(id))
}

fn rm_preview(cx: &Context<'_>, args: &Args) -> Result<Preview, Failure> {
    let mut items = Vec::new();
    for id in args.all(&ID) {
        items.extend(cx.app.find(id).map_err(unreadable)?.map(|note| note.id));
    }
    Ok(Preview { verb: "delete", items, reversible: false })
}

fn rm(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (mut results, mut failed, mut removed) = (Vec::new(), 0, 0);
    for id in args.all(&ID) {
        cx.cancel.check()?;
        match cx.app.remove(id) {
            Ok(there) => {
                removed += usize::from(there);
                let (effect, status) = if there { ("deleted", "removed") } else { ("noop", "not_found") };
                results.push(json!({"id": id, "ok": true, "effect": effect, "status": status}));
                cx.steps.done(id);
            }
            Err(error) => {
                failed += 1;
                results.push(json!({"id": id, "ok": false, "error": {"code": "IO_ERROR", "message": error.to_string()}}));
            }
        }
    }
    let total = results.len();
    let effect = if removed > 0 { Effect::Deleted } else { Effect::Noop };
    let data = json!({"summary": {"total": total, "succeeded": total - failed, "failed": failed}, "results": results});
    if failed > 0 {
        let mut data = data;
        data["partial"] = json!(true);
        let message = format!("{failed} of {total} notes could not be removed");
        return Err(Failure::new(&error::PARTIAL_FAILURE, message).with_data(data));
    }
    Ok(Reply::changed(effect, data).text(format!("Removed {removed} of {total}")))
}

fn purge(cx: &mut Context<'_>, _args: &Args) -> Result<Reply, Failure> {
    let notes = cx.app.all().map_err(unreadable)?;
    for note in &notes {
        cx.app.remove(&note.id).map_err(unwritable)?;
    }
    cx.steps.done("notes");
    let effect = if notes.is_empty() { Effect::Noop } else { Effect::Deleted };
    Ok(Reply::changed(effect, json!({"count": notes.len()})).text(format!("Removed {}", notes.len())))
}

fn export(cx: &mut Context<'_>, _args: &Args) -> Result<Reply, Failure> {
    let notes = cx.app.all().map_err(unreadable)?;
    let text = |note: &Note| format!("# {}\n\n{}\n", note.id, String::from_utf8_lossy(&note.text));
    Ok(Reply::document(notes.iter().map(text).collect::<String>()))
}

fn wait(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let time = args.duration(&FOR).unwrap_or_default();
    assert!(!args.has(&PANIC), "as asked");
    cx.steps.done("began");
    if args.has(&TEMP) {
        let at = cx.temp()?.path().clone();
        cx.say(Verbosity::Errors, &format!("temporary: {at}"));
    } else {
        cx.say(Verbosity::Errors, "waiting");
    }
    if args.has(&DEAF) {
        let (_keep, never) = std::sync::mpsc::channel::<()>();
        let _ = never.recv_timeout(time);
    } else {
        cx.cancel.wait(time.min(Duration::from_secs(86_400)))?;
    }
    Ok(Reply::one(json!({"waited_ms": time.as_millis() as u64})).text("Done"))
}

fn tell(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let id = args.text(&ID).unwrap_or_default();
    let note = cx.app.find(id).map_err(unreadable)?.ok_or_else(|| Failure::not_found("note", id))?;
    let program = args.text(&PROGRAM_NAME).unwrap_or_default().to_owned();
    let ended = cx.child(program, [OsString::from_vec(note.text)], Purpose::Foreign)?;
    let printed = String::from_utf8_lossy(&ended.stdout).into_owned();
    let told = External(json!({"code": ended.status.code(), "printed": printed}));
    Ok(Reply::one(told).text(printed))
}

fn scan(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let folder = cx.cwd.join(args.text(&DIR).unwrap_or_default());
    let found = Walk::asked(args).below(&folder, &cx.cancel)?;
    let files = found.into_iter().filter(|found| found.kind == walk::Kind::File);
    Ok(Reply::rows(files.map(|file| json!({"path": file.path, "bytes": file.bytes}))))
}

fn unreadable(error: io::Error) -> Failure {
    Failure::new(&error::IO_ERROR, format!("cannot read the notes: {error}"))
}

fn unwritable(error: io::Error) -> Failure {
    Failure::new(&error::IO_ERROR, format!("cannot write the note: {error}"))
}
