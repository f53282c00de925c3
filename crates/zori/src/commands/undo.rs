//! `undo`, `sessions rewind` and `sessions diff`: going back in a session that is saved, and what it changed.

use std::path::Path;

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::error::{PARTIAL_FAILURE, VALIDATION_ERROR};
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, Positional};
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::mode::Class;
use zori_contract::reply::{Effect, Reply};
use zori_contract::warning::Warning;
use zori_core::ids::SessionId;
use zori_core::text;
use zori_core::time::Timestamp;
use zori_host::{
    Force, SavedSession, UndoFailure, UndoGoal, UndoRequest, UndoScope, Undone, begun_in, undo_lines,
};
use zori_policy::paths::{Workspace, WorkspaceParts};
use zori_store::SessionDir;

use super::{Context, example};
use zori_setup::app::App;
use zori_setup::args::{LowArgs, flags};
use zori_setup::error::UNDO_CONFLICT;
use zori_setup::find_session::{directory, named, no_session, unreadable};
use zori_setup::settings::root;
use zori_setup::undo;

const ID_ARG: Positional = Positional::required("ID", Kind::Id(flags::SESSION_NAME), "The session");
const REDO: Flag = Flag::switch("redo", "Take the last undo back");
const LIST: Flag = Flag::switch("list", "List the turns and what each changed, and change nothing");
const TO: Flag = Flag::valued(
    "to",
    "TURN",
    Kind::Int { min: 1, max: u32::MAX as i64 },
    "Go back to before this turn; without it, before the last",
);
const TURN: Flag =
    Flag::valued("turn", "N", Kind::Int { min: 1, max: u32::MAX as i64 }, "Only what this turn changed");
const FILES: Flag = Flag::switch("files", "Only the files");
const CHAT: Flag = Flag::switch("chat", "Only the conversation");
const BOTH: Flag = Flag::switch("both", "The files and the conversation, as without a flag");
const REPLACE: Flag =
    Flag::switch("replace", "Also what was changed by somebody else since; `--redo` has it");

const SCHEMA: &str = r#"{"type":"object","required":["effect"],"properties":{"effect":{"enum":["updated","noop"]},
    "session":{"type":"string"},"to_turn":{"type":["integer","null"]},"what":{"enum":["files","chat","both"]},
    "dry_run":{"type":"boolean"},"op":{"type":["integer","null"]},"coverage":{"type":["string","null"]},
    "restored":{"type":"array","x-ordered":true,"items":{"type":"object","required":["path","how","insertions","deletions"]}},
    "kept":{"type":"array","x-ordered":true,"items":{"type":"object","required":["path","reason","saved_as"]}},
    "not_covered":{"type":"array","x-ordered":true,"items":{"type":"object","required":["what","count"]}},
    "git":{"type":["object","null"]},"stash":{"type":["object","null"]},"redo":{"type":["string","null"]},
    "turns":{"type":"array","x-ordered":true,"items":{"type":"object","required":["turn","prompt","changed","active"]}}}}"#;

/// What they write.
const WRITES: &str = r#"{"filesystem_side_effects":[
    {"path":"the workspace","type":"config"},
    {"path":"$ZORI_HOME/projects","type":"log","clearable_with":"zori project purge"},
    {"path":"$ZORI_HOME/sessions","type":"log","clearable_with":"zori sessions rm"}]}"#;

pub const UNDO: Command<App> = Command {
    flags: const { &[REDO, LIST, REPLACE] },
    danger: Danger::Destructive,
    preview: Some(|cx, args| preview(cx, args, wanted_undo)),
    dry_run: Some(|cx, args| dry_run(cx, args, wanted_undo)),
    exits: &[Exit::Partial, Exit::Conflict, Exit::NotFound],
    examples: &[
        example("put back what the last turn changed", "zori undo"),
        example("without a question", "zori undo --yes"),
        example("take that back", "zori undo --redo --yes"),
        example("what there is to go back to", "zori undo --list"),
    ],
    output_schema: SCHEMA,
    declares: WRITES,
    ..Command::new(&["undo"], "Put back the files that the last turn in this project changed", |cx, args| {
        run(cx, args, wanted_undo)
    })
};

pub const REWIND: Command<App> = Command {
    args: const { &[ID_ARG] },
    flags: const { &[TO, FILES, CHAT, BOTH, REPLACE] },
    danger: Danger::Destructive,
    preview: Some(|cx, args| preview(cx, args, wanted_rewind)),
    dry_run: Some(|cx, args| dry_run(cx, args, wanted_rewind)),
    exits: &[Exit::Partial, Exit::Conflict, Exit::NotFound],
    examples: &[
        example("before its last turn", "zori sessions rewind parser --yes"),
        example("only the files, further back", "zori sessions rewind parser --to 2 --files --yes"),
        example("what that would do", "zori sessions rewind parser --to 2 --dry-run"),
    ],
    output_schema: SCHEMA,
    declares: WRITES,
    ..Command::new(
        &["sessions", "rewind"],
        "Go back to before a turn: files, conversation or both",
        |cx, args| run(cx, args, wanted_rewind),
    )
};

pub const DIFF: Command<App> = Command {
    args: const { &[ID_ARG] },
    flags: const { &[TURN] },
    class: Class::Document,
    exits: &[Exit::NotFound],
    max_output_bytes: Some(usize::MAX),
    examples: &[
        example("all that a session changed", "zori sessions diff parser"),
        example("what its third turn changed", "zori sessions diff parser --turn 3"),
    ],
    output_schema: r#"{"type":"object","required":["content"],"properties":{"content":{"type":"string"}}}"#,
    ..Command::new(&["sessions", "diff"], "Print what a session changed, as a unified diff", diff)
};

/// Which session is meant, and what shall become of it.
struct Wanted {
    id: SessionId,
    request: UndoRequest,
}

type Want = fn(&Context<'_>, &Args, &SessionDir) -> Result<Wanted, Failure>;

fn wanted_undo(cx: &Context<'_>, args: &Args, sessions: &SessionDir) -> Result<Wanted, Failure> {
    if args.has(&LIST) && (args.has(&REDO) || args.has(&REPLACE)) {
        let message = "`--list` goes with neither `--redo` nor `--replace`: it changes nothing";
        return Err(Failure::new(&VALIDATION_ERROR, message).hint("leave out `--list`, or the others"));
    }
    let id = match &LowArgs::new(args).session.named {
        Some(text) => existing(cx, sessions, text, " to undo")?,
        None => newest_here(cx, args, sessions)?
            .ok_or_else(|| no_session(cx.app.profile, "No session of this project to undo"))?,
    };
    let goal = if args.has(&REDO) { UndoGoal::Redo } else { UndoGoal::LastChange };
    Ok(Wanted { id, request: request(args, goal, UndoScope::Files) })
}

fn wanted_rewind(cx: &Context<'_>, args: &Args, sessions: &SessionDir) -> Result<Wanted, Failure> {
    let id = existing(cx, sessions, args.text(&ID_ARG).unwrap_or_default(), " to rewind")?;
    let what = match [args.has(&FILES), args.has(&CHAT), args.has(&BOTH)] {
        [true, false, false] => UndoScope::Files,
        [false, true, false] => UndoScope::Chat,
        [false, false, _] => UndoScope::Both,
        _ => {
            let message = "`--files`, `--chat` and `--both` exclude each other";
            return Err(Failure::new(&VALIDATION_ERROR, message).hint("give one of them, or none for both"));
        }
    };
    let goal = match args.int(&TO).and_then(|turn| u32::try_from(turn).ok()) {
        Some(turn) => UndoGoal::Turn(turn),
        None => UndoGoal::Last(1),
    };
    Ok(Wanted { id, request: request(args, goal, what) })
}

fn request(args: &Args, goal: UndoGoal, what: UndoScope) -> UndoRequest {
    let force = if args.has(&REPLACE) { Force::Replace } else { Force::Keep };
    UndoRequest { goal, what, force, dry_run: true, by: "user" }
}

fn preview(cx: &Context<'_>, args: &Args, want: Want) -> Result<Preview, Failure> {
    match args.has(&LIST) {
        true => Ok(preview_of(Vec::new())),
        false => Ok(planned(cx, args, want)?.preview()),
    }
}

/// Says all that a run would say, and writes nothing (UNDO-40).
fn dry_run(cx: &Context<'_>, args: &Args, want: Want) -> Result<Reply, Failure> {
    if args.has(&LIST) {
        let sessions = directory(cx.app)?;
        let id = want(cx, args, &sessions)?.id;
        return list(&open(cx, sessions, id.clone())?, &id);
    }
    let planned = planned(cx, args, want)?;
    let Planned { id, request, saved, outcome } = &planned;
    let mut data = planned.preview().data();
    let (more, text) = match outcome {
        Ok(undone) => {
            let text = undo_lines(undone, saved.root(), true).join("\n");
            (self::data(id, request, Some(undone), saved.root()), text)
        }
        Err(_) => (self::data(id, request, None, saved.root()), String::new()),
    };
    if let (Value::Object(data), Value::Object(more)) = (&mut data, more) {
        data.extend(more);
    }
    let reply = Reply::one(data).text(text);
    Ok(match outcome {
        Ok(_) => reply,
        Err(nothing) => reply.warn(Warning::new("NOTHING_TO_UNDO", nothing.to_string())),
    })
}

/// What would become of a session.
struct Planned {
    id: SessionId,
    request: UndoRequest,
    saved: SavedSession,
    /// An error says that there is nothing to do; others have ended the command.
    outcome: Result<Undone, UndoFailure>,
}

impl Planned {
    fn preview(&self) -> Preview {
        preview_of(
            self.outcome
                .as_ref()
                .map_or_else(|_| Vec::new(), |undone| planned_items(undone, self.saved.root())),
        )
    }
}

fn preview_of(items: Vec<String>) -> Preview {
    Preview { verb: "put back", items, reversible: true }
}

fn planned(cx: &Context<'_>, args: &Args, want: Want) -> Result<Planned, Failure> {
    let sessions = directory(cx.app)?;
    let Wanted { id, request } = want(cx, args, &sessions)?;
    let saved = open(cx, sessions, id.clone())?;
    match saved.undo(request, now(cx)) {
        outcome @ (Ok(_) | Err(UndoFailure::Nothing | UndoFailure::NothingToRedo)) => {
            Ok(Planned { id, request, saved, outcome })
        }
        Err(error) => Err(undo::failure(error)),
    }
}

fn run(cx: &mut Context<'_>, args: &Args, want: Want) -> Result<Reply, Failure> {
    let sessions = directory(cx.app)?;
    let Wanted { id, request } = want(cx, args, &sessions)?;
    let request = UndoRequest { dry_run: false, ..request };
    let saved = open(cx, sessions, id.clone())?;
    if args.has(&LIST) {
        return list(&saved, &id);
    }
    let recovered = saved.recover().map_err(undo::failure)?;
    let done = match saved.undo(request, now(cx)) {
        Ok(done) => done,
        Err(error @ (UndoFailure::Nothing | UndoFailure::NothingToRedo)) => {
            let data = data(&id, &request, None, saved.root());
            // The warning is all that a terminal shows of it, which has both streams.
            let reply = Reply::changed(Effect::Noop, data).text(recovered.join("\n"));
            return Ok(reply.warn(Warning::new("NOTHING_TO_UNDO", error.to_string())));
        }
        Err(error) => return Err(undo::failure(error)),
    };
    let data = data(&id, &request, Some(&done), saved.root());
    let lines = undo_lines(&done, saved.root(), false);
    let text = recovered.into_iter().chain(lines).collect::<Vec<_>>().join("\n");
    let (restored, kept) =
        done.files.as_ref().map_or((0, 0), |report| (report.restored.len(), report.kept.len()));
    let stopped = done.files.as_ref().is_some_and(|report| report.stopped.is_some());
    match (restored, kept) {
        (0, 0) if !done.chat => Ok(Reply::changed(Effect::Noop, data).text(text)),
        (_, 0) => Ok(Reply::changed(Effect::Updated, data).text(text)),
        // A disk without space is nobody's change: the same call goes on when there is some again.
        (0, _) if !done.chat && !stopped => {
            let message = "no file was put back: each was changed since, or cannot be put back";
            Err(Failure::new(&UNDO_CONFLICT, message).with_data(data).text(text))
        }
        _ => {
            let message = format!("{kept} of {} files were not put back", restored + kept);
            Err(Failure::new(&PARTIAL_FAILURE, message).with_data(data).text(text))
        }
    }
}

/// What would go back. What would be kept is no part of the count; the answer names it.
fn planned_items(planned: &Undone, root: &Path) -> Vec<String> {
    let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    let restored = planned.files.iter().flat_map(|report| &report.restored).map(|file| match &file.state {
        Some(_) => shown(&file.path),
        None => format!("{} (removed)", shown(&file.path)),
    });
    let chat = planned.chat.then(|| "the conversation".to_owned());
    restored.chain(chat).collect()
}

fn list(saved: &SavedSession, id: &SessionId) -> Result<Reply, Failure> {
    let turns = saved.turns().map_err(undo::failure)?;
    let rows: Vec<Value> = turns
        .iter()
        .map(|turn| {
            let [created, modified, deleted] = turn.changed;
            let prompt = text::prefix(&text::one_line(&turn.prompt), 200).to_string();
            json!({"turn": turn.number, "prompt": prompt, "active": turn.active,
                   "changed": {"created": created, "modified": modified, "deleted": deleted}})
        })
        .collect();
    let lines: Vec<String> = turns
        .iter()
        .map(|turn| {
            let [created, modified, deleted] = turn.changed;
            let taken = if turn.active { "" } else { "  (taken back)" };
            let words = text::one_line(&turn.prompt);
            format!(
                "{:>3}  +{created} ~{modified} -{deleted}  {}{taken}",
                turn.number,
                text::prefix(&words, 60)
            )
        })
        .collect();
    let data = json!({"session": id.as_str(), "turns": rows});
    Ok(Reply::changed(Effect::Noop, data).text(lines.join("\n")))
}

/// Returns the fields of an answer; without `done` there was nothing to do.
fn data(id: &SessionId, request: &UndoRequest, done: Option<&Undone>, root: &Path) -> Value {
    let shown = |path: &Path| path.strip_prefix(root).unwrap_or(path).to_string_lossy().into_owned();
    let report = done.and_then(|done| done.files.as_ref());
    let restored: Vec<_> = report
        .iter()
        .flat_map(|report| &report.restored)
        .map(|file| {
            json!({"path": shown(&file.path), "how": file.how.as_str(),
                   "insertions": file.insertions, "deletions": file.deletions})
        })
        .collect();
    let kept: Vec<_> = report
        .iter()
        .flat_map(|report| &report.kept)
        .map(|kept| {
            json!({"path": shown(&kept.path), "reason": kept.reason.as_str(),
                   "saved_as": kept.saved_as.as_ref().map(|path| shown(path))})
        })
        .collect();
    let missed: Vec<_> = report
        .iter()
        .flat_map(|report| &report.not_covered)
        .map(|one| json!({"what": one.what, "count": one.count}))
        .collect();
    let git = report.and_then(|report| report.git.as_ref()).map(|(before, after)| {
        json!({"moved": before.name, "before": before.commit, "after": after.commit,
               "hint": format!("git reset --soft {}", before.commit)})
    });
    let redo = report.and_then(|report| report.op).map(|_| "zori undo --redo");
    json!({
        "session": id.as_str(),
        "to_turn": done.map(|done| done.to_turn),
        "what": request.what.as_str(),
        "dry_run": request.dry_run,
        "op": report.and_then(|report| report.op),
        "coverage": report.map(|report| report.coverage.as_str()),
        "restored": restored,
        "kept": kept,
        "not_covered": missed,
        "git": git,
        "stash": report.and_then(|report| report.stash.as_ref()).map(|(before, after)| json!({"before": before, "after": after})),
        "redo": redo,
    })
}

fn diff(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let sessions = directory(cx.app)?;
    let id = existing(cx, &sessions, args.text(&ID_ARG).unwrap_or_default(), "")?;
    let turn = args.int(&TURN).and_then(|turn| u32::try_from(turn).ok());
    let saved = open(cx, sessions, id)?;
    if let Some(turn) = turn {
        let known = saved.turns().map_err(undo::failure)?.iter().any(|known| known.number == turn);
        if !known {
            return Err(undo::failure(UndoFailure::NoTurn(turn)));
        }
    }
    let text = saved.diff(turn).map_err(undo::failure)?;
    Ok(Reply::document(cx.app.redactor().redact(&text).into_owned()).external())
}

/// Returns the session that a name or the beginning of one means. `purpose`: what for, as it ends the message where there is none.
fn existing(
    cx: &Context<'_>,
    sessions: &SessionDir,
    text: &str,
    purpose: &str,
) -> Result<SessionId, Failure> {
    let id = named(cx.app.profile, sessions, text)?;
    if sessions.file(&id).exists() {
        return Ok(id);
    }
    Err(no_session(cx.app.profile, &format!("No session '{id}'{purpose}")).field("id", id.as_str()))
}

fn now(cx: &Context<'_>) -> Timestamp {
    Timestamp((cx.clock.unix_ms() / 1_000) as i64)
}

/// Returns the newest session of the project that the current folder belongs to.
fn newest_here(cx: &Context<'_>, args: &Args, sessions: &SessionDir) -> Result<Option<SessionId>, Failure> {
    let data_dir = cx.app.data_dir()?;
    let project = data_dir.project_root(&root(&LowArgs::new(args))?);
    for entry in sessions.list().map_err(unreadable)? {
        if begun_in(sessions, &entry.id).is_some_and(|root| data_dir.project_root(&root) == project) {
            return Ok(Some(entry.id));
        }
    }
    Ok(None)
}

/// Opens a session where it was begun, wherever the caller is now.
fn open(cx: &Context<'_>, sessions: SessionDir, id: SessionId) -> Result<SavedSession, Failure> {
    let data_dir = cx.app.data_dir()?;
    let config = data_dir.read_config()?;
    let root = begun_in(&sessions, &id).ok_or_else(|| {
        no_session(cx.app.profile, &format!("Session '{id}' does not say where it was begun"))
    })?;
    let settings = undo::settings(&config, Some(&data_dir), &root, false, false);
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let workspace = Workspace::new(WorkspaceParts {
        roots: vec![settings.root.clone()],
        cwd: settings.root.clone(),
        home: cx.app.env.home().map(|home| real(&home)),
        data_dir: Some(real(data_dir.dir())),
        path_dirs: Vec::new(),
        sensitive: Vec::new(),
    });
    SavedSession::new(settings, sessions, id, workspace).map_err(undo::failure)
}
