//! `project purge`: everything that is kept of the project of this folder is deleted. One transaction decides; what fails after it
//! is a warning, and the same call again finishes it (D-38).

use std::fs;

use serde_json::{Map, Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::exit::Danger;
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, framework};
use zori_contract::gate::Preview;
use zori_contract::reply::{Effect, Reply};
use zori_contract::warning::Warning;
use zori_core::log::LogError;
use zori_core::text::one_line;
use zori_host::purge_undo;
use zori_index::{Database, project_key};
use zori_store::{AuditFile, Durability, ProjectPurge, SessionDir, audit_path};

use super::state;
use crate::commands::memory::{now, vectors_of};
use crate::commands::{Context, example};
use zori_setup::app::App;
use zori_setup::data_dir::DataDir;
use zori_setup::debug_dump;
use zori_setup::error::{PURGE_CANCELLED, PURGE_FAILED};
use zori_setup::memory::{unusable, uses_qdrant};
use zori_setup::project_state::{ProjectState, audit_files, each, remove, words};
use zori_setup::wire_up;

const INCLUDE_DEBUG: Flag = Flag::switch("include-debug", "Delete the debug dumps in `.local/debug`, too");

pub const COMMAND: Command<App> = Command {
    flags: const { &[INCLUDE_DEBUG] },
    examples: &[
        example("what would be deleted; nothing is touched", "zori project purge --dry-run"),
        example("after the name of the project was typed", "zori project purge"),
        example("without a question", "zori project purge --yes"),
    ],
    danger: Danger::Destructive,
    asks_itself: true,
    timeout_ms: Some(600_000),
    preview: Some(|cx, args| {
        let state = ready(cx)?;
        Ok(Preview { verb: "delete", items: each(&counted(&state, args)), reversible: false })
    }),
    dry_run: Some(dry_run),
    output_schema: r#"{"type":"object","required":["effect","project","deleted","kept"],"properties":{
        "effect":{"enum":["deleted","noop"]},
        "project":{"type":"object","required":["root","name","key"]},
        "deleted":{"type":"object"},"kept":{"type":"object"}}}"#,
    declares: r#"{"filesystem_side_effects":[{"path":"$ZORI_HOME","type":"log"}]}"#,
    ..Command::new(&["project", "purge"], "Delete everything that is kept of the project of this folder", run)
};

/// Says what would be deleted. Not even the audit log hears of it.
fn dry_run(cx: &Context<'_>, args: &Args) -> Result<Reply, Failure> {
    cx.app.record.forget();
    let state = ready(cx)?;
    let counts = counted(&state, args);
    let mut text =
        format!("Would delete of {}: {}", one_line(&state.place.project.to_string_lossy()), words(&counts));
    text.extend(kept(&state, args).map(|kept| format!("\nWould keep: {kept}")));
    let preview = (cx.command.preview.expect("it has one"))(cx, args)?;
    let mut data = data(&state, &counts, &cx.app.data_dir()?, args);
    if let (Value::Object(data), Value::Object(preview)) = (&mut data, preview.data()) {
        data.extend(preview);
    }
    Ok(Reply::one(data).text(text))
}

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let state = ready(cx)?;
    let data_dir = cx.app.data_dir().map_err(failed)?;
    let counts = counted(&state, args);
    confirm(cx, args, &state, &counts)?;
    write_audit(cx, args, &data_dir, &state, &counts)?;
    // From here on nothing fails: what is left undone is told, and done by the next call.
    let mut store = None;
    if state.place.database.exists() {
        let mut opened = state.place.open().map_err(|error| failed(unusable(&error)))?;
        opened.purge(now(cx)).map_err(|error| failed(unusable(&error)))?;
        store = Some(opened);
    }
    let mut left: Vec<String> = purge_outside(cx, &state).into_iter().collect();
    left.extend(delete_files(&state, args));
    if let Some(mut store) = store
        && let Err(error) = store.reclaim()
    {
        left.push(format!("the database was not written anew: {error}"));
    }
    let nothing = counts.iter().all(|(_, count)| *count == 0);
    let effect = if nothing { Effect::Noop } else { Effect::Deleted };
    let mut text =
        format!("Deleted of {}: {}", one_line(&state.place.project.to_string_lossy()), words(&counts));
    text.extend(kept(&state, args).map(|kept| format!("\nKept: {kept}")));
    let reply = Reply::changed(effect, data(&state, &counts, &data_dir, args)).text(text);
    let reply = Database::damaged(&state.place.database).into_iter().fold(reply, |reply, damaged| {
        let why =
            "is a damaged database that was put aside, and may have words of any project: delete it by hand";
        reply.warn(Warning::new("DAMAGED_DATABASE", format!("{} {why}", damaged.display())))
    });
    let reply = strays(&state).into_iter().chain(elsewhere(cx, &state)).fold(reply, Reply::warn);
    Ok(left.into_iter().fold(reply, |reply, why| {
        reply.warn(Warning::new("PURGE_UNFINISHED", format!("{why}; the same command again finishes it")))
    }))
}

/// Returns what stays of the project, with what takes it away; `None` where nothing does (D-31).
fn kept(state: &ProjectState, args: &Args) -> Option<String> {
    let dumps = if args.has(&INCLUDE_DEBUG) { 0 } else { state.debug.len() as u64 };
    let kinds = [
        ("scheduled_jobs", state.kept.jobs, " (`schedule rm` removes what is scheduled)"),
        ("cost_entries", state.kept.usage, ""),
        ("debug_dumps", dumps, " (deleted with `--include-debug`)"),
    ];
    let some = kinds.into_iter().filter(|(_, count, _)| *count > 0);
    let kept: Vec<_> = some.map(|(kind, count, way)| words(&[(kind, count)]) + way).collect();
    (!kept.is_empty()).then(|| kept.join(", "))
}

/// Deletes what a server outside keeps of the project, where the config names one. Best effort: what cannot be reached is told.
fn purge_outside(cx: &Context<'_>, state: &ProjectState) -> Option<String> {
    let vectors = match vectors_of(cx, &state.place) {
        Ok(vectors) => vectors?,
        Err(failure) => return Some(format!("vectors outside were not looked at: {}", failure.message)),
    };
    let purged = wire_up::runtime().map(|runtime| runtime.block_on(vectors.purge()));
    match purged {
        Ok(Ok(())) => None,
        Ok(Err(why)) => Some(format!("vectors outside are left: {why}")),
        Err(failure) => Some(format!("vectors outside are left: {}", failure.message)),
    }
}

/// Says which session files are left because nobody knows whose they are.
fn strays(state: &ProjectState) -> Option<Warning> {
    let (first, others) = state.strays.split_first()?;
    let (which, say, them) = match others.len() {
        0 => (String::new(), "does not say where it was begun", "it"),
        n => (format!(" and {n} more"), "do not say where they were begun", "them"),
    };
    let message =
        format!("{}{which} {say}, and may have words of any project: delete {them} by hand", first.display());
    Some(Warning::new("DAMAGED_SESSION", message))
}

/// Says that a server may still have vectors of the project: some were kept in one, and the config names none any more.
fn elsewhere(cx: &Context<'_>, state: &ProjectState) -> Option<Warning> {
    let config = cx.app.data_dir().and_then(|data_dir| data_dir.read_config()).ok()?;
    if state.rows.of("embeddings") == 0 || uses_qdrant(&config) {
        return None;
    }
    let collection = format!("zori_{}", project_key(&state.place.project));
    let why = "may be in a Qdrant server that the config does not name any more: delete it there";
    Some(Warning::new("VECTORS_ELSEWHERE", format!("the collection {collection} {why}")))
}

/// Returns what is kept of the project, if it can be purged now.
fn ready(cx: &Context<'_>) -> Result<ProjectState, Failure> {
    let state = state(cx).map_err(failed)?;
    let refused = |message: String| Err(Failure::new(&PURGE_FAILED, message));
    if state.name().is_none() {
        return refused("the root directory is no project that could be purged".into());
    }
    if let Some((id, pid)) = state.live() {
        return refused(format!("session '{id}' of this project is open in process {pid}; end it first"));
    }
    if state.debug_linked {
        return refused(
            "`.local/debug` is a link, or below one, and could lead to anything; remove it first".into(),
        );
    }
    Ok(state)
}

/// Whatever goes wrong before the first change, the code is 2 (DECISIONS 9).
fn failed(failure: Failure) -> Failure {
    Failure { kind: &PURGE_FAILED, ..failure }
}

fn counted(state: &ProjectState, args: &Args) -> Vec<(&'static str, u64)> {
    state.counts(args.has(&INCLUDE_DEBUG))
}

fn data(state: &ProjectState, counts: &[(&'static str, u64)], data_dir: &DataDir, args: &Args) -> Value {
    let deleted: Map<_, _> = counts.iter().map(|(kind, count)| ((*kind).into(), json!(count))).collect();
    let project =
        json!({"root": state.place.project, "name": state.name(), "key": project_key(&state.place.project)});
    json!({"project": project, "deleted": deleted, "kept": state.left(data_dir, args.has(&INCLUDE_DEBUG))})
}

/// Only the exact name, typed or sent, or `-y` on this command line goes on.
fn confirm(
    cx: &mut Context<'_>,
    args: &Args,
    state: &ProjectState,
    counts: &[(&'static str, u64)],
) -> Result<(), Failure> {
    if args.has(&framework::YES) {
        return Ok(());
    }
    let question = format!(
        "WARNING: this deletes everything that {} keeps of the project {}: {}. It cannot be undone.\n\
         Type the project name to confirm: ",
        cx.program.name,
        one_line(&state.place.project.to_string_lossy()),
        words(counts)
    );
    let typed = cx.answer(&question);
    if typed.is_some() && typed == state.name() {
        return Ok(());
    }
    Err(Failure::new(&PURGE_CANCELLED, "nothing was deleted: that is not the name of the project"))
}

/// Writes down what is about to go, in the project's log and where no purge deletes it (D-34).
fn write_audit(
    cx: &Context<'_>,
    args: &Args,
    data_dir: &DataDir,
    state: &ProjectState,
    counts: &[(&'static str, u64)],
) -> Result<(), Failure> {
    let (root, key) = (state.place.project.to_string_lossy(), project_key(&state.place.project));
    let by = format!("uid:{}", rustix::process::getuid().as_raw());
    let summary = words(counts);
    let purge = ProjectPurge {
        at: std::time::Duration::from_millis(cx.clock.unix_ms()),
        root: &root,
        key: &key,
        summary: &summary,
        include_debug: args.has(&INCLUDE_DEBUG),
        by: &by,
    };
    // A project without a log needs none for its last moment.
    let own = (!state.audit.is_empty()).then(|| audit_path(&state.folder));
    for path in own.into_iter().chain([data_dir.audit()]) {
        let written = AuditFile::new(path).durable(Durability::Full).purge(&purge);
        written.map_err(|LogError(why)| {
            Failure::new(
                &PURGE_FAILED,
                format!("the purge cannot be written down, so nothing was deleted: {why}"),
            )
        })?;
    }
    Ok(())
}

/// Deletes the files, the audit log last. Returns what could not be deleted.
fn delete_files(state: &ProjectState, args: &Args) -> Vec<String> {
    let mut left = Vec::new();
    let sessions = SessionDir::new(state.place.sessions.clone());
    for id in &state.sessions {
        if let Err(error) = sessions.remove(id) {
            left.push(error.to_string());
        }
        // A copy that was being written when its process died.
        let _ = remove(&sessions.path().join(format!("{id}.jsonl.copy")));
    }
    let files = [&state.trashed, &state.transcripts, &state.drafts, &state.feedback, &state.files];
    let files = files.into_iter().flatten().map(|path| (path, remove(path)));
    let debug: &[_] = if args.has(&INCLUDE_DEBUG) { &state.debug } else { &[] };
    for (path, removed) in files.chain(debug.iter().map(|folder| (folder, debug_dump::remove(folder)))) {
        if let Err(error) = removed {
            left.push(format!("{}: {error}", path.display()));
        }
    }
    if sessions.path().exists()
        && let Err(error) = sessions.forget_removed()
    {
        left.push(format!("the list of sessions: {error}"));
    }
    if let Err(error) = purge_undo(&state.folder.join("undo")) {
        left.push(error.to_string());
    }
    // The purge itself may have begun it.
    for path in &audit_files(&state.folder) {
        if let Err(error) = remove(path) {
            left.push(format!("{}: {error}", path.display()));
        }
    }
    // What others put there stays, and the folder with it.
    let _ = fs::remove_dir(&state.folder);
    let _ = fs::remove_dir(&state.notes);
    left
}
