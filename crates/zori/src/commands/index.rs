//! `index build|status|search|clear`: the code index of this project (`docs/contracts/code-index.md`).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::exit::Danger;
use zori_contract::external::External;
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, Positional};
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::mode::Verbosity;
use zori_contract::path::AbsPath;
use zori_contract::reply::{Effect, Reply};
use zori_contract::warning::Warning;
use zori_core::path::normalise;
use zori_core::text::{counted, one_line};
use zori_core::time::Timestamp;
use zori_host::{
    AskedBy, CodeIndexPlace, CodeQuery, GRAMMARS, SystemClock, Vectors, indexed_so_far, search_code,
    unknown_kind,
};
use zori_index::{CodeHit, CodeStatus, ProjectStore};

use super::memory::{self, NOTHING, nothing_to_look_for};
use super::waiting::wait_for;
use super::{Context, example};
use zori_setup::app::App;
use zori_setup::code_index::{self, place};
use zori_setup::error::BASE_UNUSABLE;
use zori_setup::memory::unusable;

const TEXT: Positional =
    Positional::required("TEXT", Kind::Text, "What to look for: a name, or a few words").many();
const KIND: Flag =
    Flag::valued("kind", "KIND", Kind::Text, "Only symbols of this kind, such as `function` or `struct`");
const BELOW: Flag = Flag::valued("below", "PATH", Kind::Text, "Only this file or folder of the project");

/// How many places a search finds at most.
const MOST: usize = 200;
/// How much of a line a list shows.
const SHOWN_CHARS: usize = 100;
/// How often a build says how far it is.
const TOLD_EVERY: Duration = Duration::from_secs(5);

const STATUS_SCHEMA: &str = r#"{"type":"object","required":["used","whole","files","found","symbols","chunks","bytes",
    "languages","skipped","finished_at","grammars"],"properties":{"used":{"type":"boolean"},"whole":{"type":"boolean"},
    "files":{"type":"integer"},"found":{"type":"integer"},"symbols":{"type":"integer"},"chunks":{"type":"integer"},
    "bytes":{"type":"integer"},"languages":{"type":"object"},"skipped":{"type":"object"},
    "finished_at":{"type":["string","null"]},"grammars":{"type":"boolean"}}}"#;

pub const BUILD: Command<App> = Command {
    examples: &[
        example("begin to use the index of this project, or bring it up to date", "zori index build"),
        example("for a program", "zori index build --output json"),
    ],
    danger: Danger::Mutating,
    timeout_ms: None,
    preview: Some(|cx, _| {
        let items = vec![place_of(cx)?.project.to_string_lossy().into_owned()];
        Ok(Preview { verb: "index", items, reversible: true })
    }),
    output_schema: r#"{"type":"object","required":["effect","found","changed","gone","files","symbols","skipped"],"properties":{
        "effect":{"enum":["updated","noop"]},"found":{"type":"integer"},"changed":{"type":"integer"},"gone":{"type":"integer"},
        "files":{"type":"integer"},"symbols":{"type":"integer"},"skipped":{"type":"object"},"embedded":{"type":"integer"}}}"#,
    declares: super::DATABASE,
    ..Command::new(
        &["index", "build"],
        "Index the code of this project, or bring its index up to date, and use it from now on",
        build,
    )
};

pub const STATUS: Command<App> = Command {
    examples: &[
        example("how much is indexed, and what was skipped", "zori index status"),
        example("for a program", "zori index status --output json"),
    ],
    output_schema: STATUS_SCHEMA,
    ..Command::new(&["index", "status"], "Show how much of this project's code is indexed", status)
};

pub const SEARCH: Command<App> = Command {
    args: const { &[TEXT] },
    flags: const { &[KIND, BELOW] },
    examples: &[
        example("where something is defined", "zori index search parse_config"),
        example("by words, in one folder", "zori index search retry after --below src/http"),
        example("functions alone", "zori index search render --kind function --limit 5"),
    ],
    list: true,
    id_field: Some("id"),
    columns: &["id", "end", "kind", "name"],
    output_schema: r#"{"type":"array","x-ordered":true,"items":{"type":"object",
        "required":["id","path","start","end","kind","name","text","_source","_trusted"]}}"#,
    validate: |args, _: &AbsPath| nothing_to_look_for(&TEXT, args).into_iter().collect(),
    ..Command::new(&["index", "search"], "Find code by names or words in the index of this project", search)
};

pub const CLEAR: Command<App> = Command {
    examples: &[
        example("what would be deleted", "zori index clear --dry-run"),
        example("delete it, and do not use it any more", "zori index clear --yes"),
    ],
    danger: Danger::Destructive,
    // The words of a large index take their time to leave the file.
    timeout_ms: Some(600_000),
    preview: Some(|cx, _| {
        let place = place_of(cx)?;
        let files =
            read(&place)?.map(|store| store.code_status()).transpose().map_err(|error| unusable(&error))?;
        let files = files.unwrap_or_default().looked_at();
        let items = (files > 0)
            .then(|| format!("the index of {} of {}", counted(files, "file"), place.project.display()));
        Ok(Preview { verb: "delete", items: items.into_iter().collect(), reversible: true })
    }),
    output_schema: r#"{"type":"object","required":["effect","files"],"properties":{
        "effect":{"enum":["deleted","noop"]},"files":{"type":"integer"}}}"#,
    declares: super::DATABASE,
    ..Command::new(
        &["index", "clear"],
        "Delete the code index of this project; no file of it is touched",
        clear,
    )
};

/// Returns where the index of the project is that the run works in.
fn place_of(cx: &Context<'_>) -> Result<CodeIndexPlace, Failure> {
    let folder = cx.cwd.as_path().canonicalize().map_err(|error| {
        Failure::new(&BASE_UNUSABLE, format!("the folder {} cannot be used: {error}", cx.cwd))
    })?;
    let data_dir = cx.app.data_dir()?;
    let config = data_dir.read_config()?;
    let project = data_dir.project_root(&folder);
    let sensitive = code_index::sensitive(&data_dir, &config, &project, cx.app.env.home())?;
    Ok(place(&data_dir, project, cx.app.env.temp_dir(), sensitive))
}

/// Returns what makes vectors of code, where the config has code found by likeness, too.
fn vectors_of(cx: &Context<'_>) -> Result<Option<Arc<Vectors>>, Failure> {
    let config = cx.app.data_dir()?.read_config()?;
    if !code_index::wants_vectors(&config) {
        return Ok(None);
    }
    let settings = code_index::vectors(&config, &cx.app.env, &memory::place_of(cx)?)?;
    Ok(Some(Vectors::of_code(&settings, &cx.app.network.http()?, Arc::new(SystemClock::new()))))
}

fn read(place: &CodeIndexPlace) -> Result<Option<ProjectStore>, Failure> {
    place.read().map_err(|error| unusable(&error))
}

fn build(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let place = place_of(cx)?;
    let mut store = place.open().map_err(|error| unusable(&error))?;
    let (clock, mut told) = (SystemClock::new(), Duration::ZERO);
    let begun = zori_core::time::Clock::elapsed(&clock);
    let cancel = cx.cancel.clone();
    let mut say = Vec::new();
    let pass = place.sync(&mut store, &clock, &mut |progress| {
        let since = zori_core::time::Clock::elapsed(&clock).saturating_sub(begun);
        if since >= told + TOLD_EVERY {
            told = since;
            say.push(format!("{} of {} files", progress.done, progress.found));
            cx.say(Verbosity::Normal, &say[say.len() - 1]);
        }
        cancel.cause().is_none()
    });
    let pass = pass.map_err(|error| unusable(&error))?;
    // What was indexed until then stays.
    cx.cancel.check()?;
    place.mark_used().map_err(|error| {
        Failure::new(&BASE_UNUSABLE, format!("cannot write {}: {error}", place.marker.display()))
    })?;
    let embedded = match vectors_of(cx)? {
        Some(vectors) => {
            let now = (cx.clock.unix_ms() / 1_000) as i64;
            Some(wait_for(cx, vectors.catch_up(&place, now, usize::MAX))?)
        }
        None => None,
    };
    let status = store.code_status().map_err(|error| unusable(&error))?;
    let effect = if pass.changed + pass.gone == 0 { Effect::Noop } else { Effect::Updated };
    let mut data = json!({"found": pass.found, "changed": pass.changed, "gone": pass.gone, "files": status.files,
        "symbols": status.symbols, "skipped": counts(&status.skipped)});
    let mut text = format!("{} ({} changed, {} gone)", amounts(&status), pass.changed, pass.gone);
    if let Some(skipped) = skipped(&status) {
        text.push_str(&format!("\nSkipped: {skipped}"));
    }
    if let Some(Ok(count)) = &embedded {
        data["embedded"] = json!(count);
        text.push_str(&format!("\n{} got vectors", counted(*count, "chunk")));
    }
    let reply = Reply::changed(effect, data).text(text);
    let reply = match embedded {
        Some(Err(why)) => {
            let message = format!("vectors are missing, and names and words alone are found: {why}");
            reply.warn(Warning::new("INDEX_WITHOUT_VECTORS", message))
        }
        _ => reply,
    };
    let reply = match pass.unread_folders {
        0 => reply,
        n => {
            reply.warn(Warning::new("FOLDERS_UNREAD", format!("{} could not be read", counted(n, "folder"))))
        }
    };
    let reply = match pass.left_out {
        0 => reply,
        n => {
            let message = format!("{} left out: an index has {} at most", counted(n, "file"), pass.found);
            reply.warn(Warning::new("FILES_LEFT_OUT", message))
        }
    };
    Ok(with_grammars(reply))
}

fn amounts(status: &CodeStatus) -> String {
    format!("{} indexed, {}", counted(status.files, "file"), counted(status.symbols, "symbol"))
}

fn status(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let place = place_of(cx)?;
    let status = read(&place)?.map(|store| store.code_status()).transpose();
    let status = status.map_err(|error| unusable(&error))?.unwrap_or_default();
    let used = place.is_used();
    let finished = status.finished_at.map(|at| Timestamp(at).rfc3339());
    let data = json!({"used": used, "whole": status.is_whole(), "files": status.files, "found": status.found,
        "symbols": status.symbols, "chunks": status.chunks, "bytes": status.bytes,
        "languages": counts(&status.languages), "skipped": counts(&status.skipped),
        "finished_at": finished, "grammars": GRAMMARS});
    let mut text = match used {
        true => amounts(&status),
        // A pass that was ended leaves what it had looked at.
        false if status.files > 0 => format!(
            "{}, and not in use: a pass was not ended; `{} index build` goes on with it.",
            amounts(&status),
            cx.program.name
        ),
        false => unused(cx),
    };
    if used {
        text.extend(indexed_so_far(status.progress()).map(|note| format!("\n{note}")));
        if !status.languages.is_empty() {
            let each = status.languages.iter().map(|(name, count)| format!("{count} {name}"));
            text.push_str(&format!("\nLanguages: {}", each.collect::<Vec<_>>().join(", ")));
        }
        text.extend(skipped(&status).map(|skipped| format!("\nSkipped: {skipped}")));
    }
    Ok(with_grammars(Reply::one(data).text(text)))
}

fn search(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let place = place_of(cx)?;
    let store = read(&place)?.filter(|_| place.is_used());
    let Some(store) = store else {
        let nothing = Reply::rows(Vec::<Value>::new()).text(NOTHING);
        return Ok(nothing.warn(Warning::new("INDEX_UNUSED", unused(cx))));
    };
    let below = args.text(&BELOW).map(|path| below(cx, &place.project, path)).transpose()?.flatten();
    let text = args.all(&TEXT).join(" ");
    let (asked_by, warning) = match vectors_of(cx)? {
        Some(vectors) => wait_for(cx, vectors.ask(&text))?,
        None => (AskedBy::BuiltIn, None),
    };
    let query = CodeQuery {
        text: &text,
        kind: args.text(&KIND),
        path: below.as_deref(),
        likeness: asked_by.vector(),
        limit: MOST,
    };
    let hits = search_code(&store, &query).map_err(|error| unusable(&error))?;
    let listed = match hits.is_empty() {
        true => NOTHING.to_owned(),
        false => hits.iter().map(|hit| line(hit) + "\n").collect(),
    };
    let progress = store.code_progress().map_err(|error| unusable(&error))?;
    let unknown = query.kind.filter(|_| hits.is_empty()).map(|kind| unknown_kind(&store, kind));
    let unknown = unknown.transpose().map_err(|error| unusable(&error))?.flatten();
    let reply = Reply::rows(hits.iter().map(|hit| External(row(hit)))).text(listed);
    let reply = match warning {
        Some(why) => reply.warn(Warning::new("INDEX_WITHOUT_VECTORS", why)),
        None => reply,
    };
    let reply = match unknown {
        Some(why) => reply.warn(Warning::new("KIND_UNKNOWN", format!("`--kind`: {why}"))),
        None => reply,
    };
    Ok(match indexed_so_far(progress) {
        Some(note) => reply.warn(Warning::new("INDEX_BEHIND", note)),
        None => reply,
    })
}

/// Returns a file or folder as the index has it, below the project's root; `None` for all of it. It is meant from where somebody is, or as a search
/// shows it.
fn below(cx: &Context<'_>, project: &Path, path: &str) -> Result<Option<String>, Failure> {
    let here = cx.cwd.as_path().canonicalize().unwrap_or_else(|_| cx.cwd.as_path().to_owned());
    let [from_here, from_root] = [here, project.to_owned()].map(|folder| folder.join(path));
    let path = if from_here.exists() { from_here } else { from_root };
    let path = path.canonicalize().unwrap_or_else(|_| normalise(&path));
    match path.strip_prefix(project).ok().and_then(Path::to_str) {
        Some(below) => Ok(Some(below.to_owned()).filter(|below| !below.is_empty())),
        None => {
            let message =
                format!("`--below`: {} is not in the project {}", path.display(), project.display());
            Err(Failure::new(&VALIDATION_ERROR, message))
        }
    }
}

fn clear(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let place = place_of(cx)?;
    let mut files = 0;
    if place.database.exists() {
        let mut store = place.open().map_err(|error| unusable(&error))?;
        let now = (cx.clock.unix_ms() / 1_000) as i64;
        files = store.clear_code(now).map_err(|error| unusable(&error))?;
    }
    place.mark_unused().map_err(|error| {
        Failure::new(&BASE_UNUSABLE, format!("cannot remove {}: {error}", place.marker.display()))
    })?;
    let effect = if files == 0 { Effect::Noop } else { Effect::Deleted };
    Ok(Reply::changed(effect, json!({"files": files}))
        .text(format!("Deleted the index of {}", counted(files, "file"))))
}

fn unused(cx: &Context<'_>) -> String {
    format!("The code of this project is not indexed; `{} index build` does that.", cx.program.name)
}

/// Says so where the grammars are missing.
fn with_grammars(reply: Reply) -> Reply {
    match GRAMMARS {
        true => reply,
        false => reply.warn(Warning::new(
            "NO_GRAMMARS",
            "built without grammars: no symbols are known, and files are cut by lines",
        )),
    }
}

fn counts(groups: &[(String, u64)]) -> Map<String, Value> {
    groups.iter().map(|(name, count)| (name.clone(), json!(count))).collect()
}

fn skipped(status: &CodeStatus) -> Option<String> {
    let words = |(why, count): &(String, u64)| format!("{count} {}", why.replace('_', " "));
    let all: Vec<String> = status.skipped.iter().map(words).collect();
    (!all.is_empty()).then(|| all.join(", "))
}

fn row(hit: &CodeHit) -> Value {
    let symbol = hit.symbol.as_ref();
    let id = format!("{}:{}", hit.path, hit.start);
    json!({"id": id, "path": hit.path, "start": hit.start, "end": hit.end, "kind": symbol.map(|symbol| &symbol.kind),
        "name": symbol.map(|symbol| &symbol.name), "text": hit.text})
}

fn line(hit: &CodeHit) -> String {
    let about = match &hit.symbol {
        Some(symbol) => format!("{} {}", symbol.kind, symbol.signature),
        None => hit.text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim().to_owned(),
    };
    let about: String = one_line(&about).chars().take(SHOWN_CHARS).collect();
    format!("{}:{}-{}  {about}", one_line(&hit.path), hit.start, hit.end)
}
