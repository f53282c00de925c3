//! `memory search|list|show|forget|export|rebuild`: what can be recalled of the sessions of this project
//! (`docs/contracts/memory.md`).

mod graph;

use std::sync::Arc;

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::exit::{Danger, Exit};
use zori_contract::external::External;
use zori_contract::failure::{Failure, Issue, IssueCode};
use zori_contract::flag::Positional;
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::mode::Class;
use zori_contract::path::AbsPath;
use zori_contract::reply::{Effect, Reply};
use zori_contract::warning::Warning;
use zori_core::text::one_line;
use zori_host::{AskedBy, MemoryPlace, SystemClock, Vectors};
use zori_index::{Database, IndexError, Message, ProjectStore};

use super::waiting::wait_for;
use super::{Context, example};
use zori_setup::app::App;
use zori_setup::error::{BASE_UNUSABLE, MEMORY_NOT_FOUND};
use zori_setup::find_session::unreadable;
use zori_setup::memory::{place, unusable, vectors};

pub use self::graph::GRAPH;

const TEXT: Positional = Positional::required("TEXT", Kind::Text, "What to look for, in a few words").many();
const NUMBER: Kind = Kind::Int { min: 1, max: i64::MAX };
const ID: Positional = Positional::required("ID", NUMBER, "The message, by the number that the list shows");
const IDS: Positional =
    Positional::required("ID", NUMBER, "The messages, by the numbers that the list shows").many();

/// How many messages a search finds at most.
const MOST: usize = 200;
/// What a search says that finds nothing.
pub(super) const NOTHING: &str = "Nothing fits.";
/// How much of a message a line of a list shows.
const SHOWN_CHARS: usize = 100;

const ROWS: &str = r#"{"type":"array","x-ordered":true,"items":{"type":"object",
    "required":["id","session","turn","role","said_at","text","_source","_trusted"]}}"#;

pub const SEARCH: Command<App> = Command {
    args: const { &[TEXT] },
    examples: &[
        example("what was decided", "zori memory search why no regex in the lexer"),
        example("the best five", "zori memory search parser --limit 5"),
    ],
    list: true,
    id_field: Some("id"),
    columns: &["id", "session", "turn", "role", "said_at", "text"],
    line: Some(row_line),
    output_schema: ROWS,
    validate: |args, _: &AbsPath| nothing_to_look_for(&TEXT, args).into_iter().collect(),
    ..Command::new(&["memory", "search"], "Find what was said in earlier sessions of this project", search)
};

pub const LIST: Command<App> = Command {
    examples: &[
        example("what can be recalled, newest first", "zori memory list"),
        example("all of it, for a spreadsheet", "zori memory list --limit 0 --output tsv"),
    ],
    list: true,
    id_field: Some("id"),
    columns: &["id", "session", "turn", "role", "said_at", "text"],
    line: Some(row_line),
    output_schema: ROWS,
    ..Command::new(&["memory", "list"], "List what can be recalled of this project's sessions", list)
};

pub const SHOW: Command<App> = Command {
    args: const { &[ID] },
    examples: &[
        example("one message", "zori memory show 12"),
        example("for a program", "zori memory show 12 --output json"),
    ],
    exits: &[Exit::NotFound],
    output_schema: r#"{"type":"object","required":["id","session","turn","role","said_at","text","_source","_trusted"]}"#,
    ..Command::new(&["memory", "show"], "Print a message that can be recalled", show)
};

pub const FORGET: Command<App> = Command {
    args: const { &[IDS] },
    examples: &[
        example("what would be forgotten", "zori memory forget 12 13 --dry-run"),
        example("let it be forgotten", "zori memory forget 12 --yes"),
    ],
    danger: Danger::Destructive,
    preview: Some(|cx, args| {
        let store = place_of(cx)?.read().map_err(|error| unusable(&error))?;
        let mut items = Vec::new();
        for id in numbers(args) {
            let found = store.as_ref().map(|store| store.message(id)).transpose();
            items.extend(found.map_err(|error| unusable(&error))?.flatten().map(|message| line(&message)));
        }
        Ok(Preview { verb: "forget", items, reversible: false })
    }),
    output_schema: r#"{"type":"object","required":["effect","forgotten"],"properties":{
        "effect":{"enum":["deleted","noop"]},"forgotten":{"type":"array","items":{"type":"integer"}},
        "missing":{"type":"array","items":{"type":"integer"}}}}"#,
    declares: super::DATABASE,
    ..Command::new(&["memory", "forget"], "Forget messages; their session files stay as they are", forget)
};

pub const EXPORT: Command<App> = Command {
    class: Class::Document,
    max_output_bytes: Some(usize::MAX),
    examples: &[
        example("everything, a JSON object a line", "zori memory export > memory.jsonl"),
        example("how much there is", "zori memory export | wc -l"),
    ],
    output_schema: r#"{"type":"object","required":["content"],"properties":{"content":{"type":"string"}}}"#,
    ..Command::new(&["memory", "export"], "Print all that can be recalled, as JSON lines", export)
};

pub const REBUILD: Command<App> = Command {
    examples: &[
        example("begin to use the memory of this project", "zori memory rebuild"),
        example("which sessions would be read", "zori memory rebuild --dry-run"),
    ],
    danger: Danger::Mutating,
    timeout_ms: Some(600_000),
    preview: Some(|cx, _| {
        let items = place_of(cx)?
            .sessions()
            .map_err(unreadable)?
            .into_iter()
            .map(|id| id.as_str().to_owned())
            .collect();
        Ok(Preview { verb: "read", items, reversible: true })
    }),
    output_schema: r#"{"type":"object","required":["effect","sessions","messages"],"properties":{
        "effect":{"enum":["updated"]},"sessions":{"type":"integer"},"messages":{"type":"integer"},
        "gone":{"type":"integer"},"embedded":{"type":"integer"}}}"#,
    declares: super::DATABASE,
    ..Command::new(
        &["memory", "rebuild"],
        "Make the memory of this project anew from its session files, and use it from now on",
        rebuild,
    )
};

/// Returns what is wrong with the words of a search, if they are none. Several arguments are one question.
pub(super) fn nothing_to_look_for(text: &Positional, args: &Args) -> Option<Issue> {
    let empty = args.all(text).iter().all(|word| word.trim().is_empty());
    empty.then(|| Issue::new("TEXT", IssueCode::InvalidValue, "`TEXT` is empty: say what to look for"))
}

/// Returns where the memory of the project is that the run works in.
pub(super) fn place_of(cx: &Context<'_>) -> Result<MemoryPlace, Failure> {
    let folder = cx.cwd.as_path().canonicalize().map_err(|error| {
        Failure::new(&BASE_UNUSABLE, format!("the folder {} cannot be used: {error}", cx.cwd))
    })?;
    Ok(place(&cx.app.data_dir()?, &folder, cx.app.env.temp_dir()))
}

/// Returns what makes vectors for the project's memory, if the config names a model or a server.
pub(super) fn vectors_of(cx: &Context<'_>, place: &MemoryPlace) -> Result<Option<Arc<Vectors>>, Failure> {
    let settings = vectors(&cx.app.data_dir()?.read_config()?, &cx.app.env, place)?;
    if !settings.ask_others() {
        return Ok(None);
    }
    Ok(Vectors::new(&settings, place, &cx.app.network.http()?, Arc::new(SystemClock::new())))
}

fn search(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (place, question) = (place_of(cx)?, args.all(&TEXT).join(" "));
    let (asked_by, warning) = match vectors_of(cx, &place)?.filter(|_| place.is_used()) {
        Some(vectors) => wait_for(cx, vectors.ask(&question))?,
        None => (AskedBy::BuiltIn, None),
    };
    let found = |store: &ProjectStore| -> Result<Vec<Message>, IndexError> {
        let found = store.search_by(&question, asked_by.likeness(), MOST, None)?;
        Ok(found.into_iter().map(|recalled| recalled.message).collect())
    };
    let reply = rows(cx, found, NOTHING)?;
    Ok(with(reply, warning.map(|why| Warning::new("MEMORY_WITHOUT_VECTORS", why))))
}

fn list(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    rows(cx, ProjectStore::messages, "There is nothing to recall in this project.")
}

fn rows(
    cx: &Context<'_>,
    find: impl Fn(&ProjectStore) -> Result<Vec<Message>, IndexError>,
    nothing: &str,
) -> Result<Reply, Failure> {
    let place = place_of(cx)?;
    let store = place.read().map_err(|error| unusable(&error))?;
    let Some(store) = store.filter(|_| place.is_used()) else {
        return Ok(Reply::rows(Vec::<Value>::new()).text(nothing).warn(unused(cx)));
    };
    let messages = find(&store).map_err(|error| unusable(&error))?;
    let behind = behind(cx, &place, &store)?;
    let text = match messages.is_empty() {
        true => nothing.to_owned(),
        false => messages.iter().map(|message| line(message) + "\n").collect(),
    };
    let reply = Reply::rows(messages.iter().map(|message| External(row(message)))).text(text);
    Ok(with(reply, behind))
}

fn with(reply: Reply, warning: Option<Warning>) -> Reply {
    match warning {
        Some(warning) => reply.warn(warning),
        None => reply,
    }
}

/// Says that nothing is remembered.
fn unused(cx: &Context<'_>) -> Warning {
    let how = format!("`{} memory rebuild` begins it", cx.program.name);
    Warning::new("MEMORY_UNUSED", format!("The memory of this project is not in use; {how}."))
}

/// Says that what is remembered is not all that was said, where that is so.
fn behind(cx: &Context<'_>, place: &MemoryPlace, store: &ProjectStore) -> Result<Option<Warning>, Failure> {
    let sessions =
        match place.files().and_then(|files| store.behind(&files)).map_err(|error| unusable(&error))? {
            0 => return Ok(None),
            1 => "1 session was".to_owned(),
            n => format!("{n} sessions were"),
        };
    let message = format!(
        "{sessions} used or removed since; `{} memory rebuild` takes that in, and so does a model that searches",
        cx.program.name
    );
    Ok(Some(Warning::new("MEMORY_BEHIND", message)))
}

fn show(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let id = args.int(&ID).unwrap_or_default();
    let store = place_of(cx)?.read().map_err(|error| unusable(&error))?;
    let found = store.map(|store| store.message(id)).transpose().map_err(|error| unusable(&error))?;
    let Some(message) = found.flatten() else {
        return Err(Failure::new(
            &MEMORY_NOT_FOUND,
            format!("There is no message {id} in the memory of this project"),
        )
        .hint(format!("`{} memory list` shows those there are", cx.program.name)));
    };
    let text = format!("{}\n{}", head(&message), message.content);
    Ok(Reply::one(External(row(&message))).text(text))
}

fn forget(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (place, asked) = (place_of(cx)?, numbers(args));
    let gone = match place.database.exists() {
        true => {
            let mut store = place.open().map_err(|error| unusable(&error))?;
            store.forget(&asked, now(cx)).map_err(|error| unusable(&error))?
        }
        false => Vec::new(),
    };
    let missing: Vec<i64> = asked.iter().copied().filter(|id| !gone.contains(id)).collect();
    let effect = if gone.is_empty() { Effect::Noop } else { Effect::Deleted };
    let mut text = format!("Forgot {} of {}", gone.len(), asked.len());
    if !gone.is_empty() {
        text.push_str("; the session files still have what was said: `sessions rm` removes those");
    }
    Ok(Reply::changed(effect, json!({"forgotten": gone, "missing": missing})).text(text))
}

fn export(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let place = place_of(cx)?;
    let store = place.read().map_err(|error| unusable(&error))?;
    let Some(store) = store.filter(|_| place.is_used()) else {
        return Ok(Reply::document("").external().warn(unused(cx)));
    };
    let messages = store.messages().map_err(|error| unusable(&error))?;
    let behind = behind(cx, &place, &store)?;
    let redactor = cx.app.redactor();
    let lines = messages.iter().map(|message| format!("{}\n", row(message))).collect::<String>();
    Ok(with(Reply::document(redactor.redact(&lines).into_owned()).external(), behind))
}

fn rebuild(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let (place, now) = (place_of(cx)?, now(cx));
    // Settings that cannot be used are refused before anything is written.
    let vectors = vectors_of(cx, &place)?;
    let cancel = cx.cancel.clone();
    let made = || {
        let mut store = place.open()?;
        let synced = place.sync_while(&mut store, true, now, || cancel.cause().is_none())?;
        Ok((synced, store.count()?))
    };
    let ((synced, messages), aside) = match made() {
        // Whoever makes it anew wants a new one in place of a damaged one, too (DB-4).
        Err(IndexError::Damaged { .. }) => {
            let aside = Database::set_aside(&place.database, now).map_err(|error| unusable(&error))?;
            (made().map_err(|error| unusable(&error))?, aside)
        }
        made => (made.map_err(|error| unusable(&error))?, None),
    };
    // What was read until then stays.
    cx.cancel.check()?;
    place.mark_used().map_err(|error| {
        Failure::new(&BASE_UNUSABLE, format!("cannot write {}: {error}", place.marker.display()))
    })?;
    let embedded = match vectors {
        Some(vectors) => Some(wait_for(cx, vectors.catch_up(&place, now, usize::MAX))?),
        None => None,
    };
    let mut data = json!({"sessions": synced.read, "messages": messages, "gone": synced.gone});
    let sessions = if synced.read == 1 { "session" } else { "sessions" };
    let mut text = format!("{} messages of {} {sessions} can be recalled", messages, synced.read);
    if let Some(Ok(count)) = &embedded {
        data["embedded"] = json!(count);
        text.push_str(&format!("; {count} got vectors"));
    }
    let reply = Reply::changed(Effect::Updated, data).text(text);
    let reply = match embedded {
        Some(Err(why)) => {
            let message = format!("vectors are missing, and the built-in likeness stands in: {why}");
            reply.warn(Warning::new("MEMORY_WITHOUT_VECTORS", message))
        }
        _ => reply,
    };
    Ok(match aside {
        Some(aside) => {
            let message = format!(
                "the database was damaged and is now {}; scheduled jobs have to be added again",
                aside.display()
            );
            reply.warn(Warning::new("DATABASE_DAMAGED", message))
        }
        None => reply,
    })
}

/// Returns the time in seconds since 1970.
pub(super) fn now(cx: &Context<'_>) -> i64 {
    (cx.clock.unix_ms() / 1_000) as i64
}

/// Returns the messages that are named, each once.
fn numbers(args: &Args) -> Vec<i64> {
    let mut named: Vec<i64> = Vec::new();
    for id in args.all(&IDS).iter().filter_map(|text| text.parse().ok()) {
        if !named.contains(&id) {
            named.push(id);
        }
    }
    named
}

fn row(message: &Message) -> Value {
    let Message { id, session, turn, role, content, said_at, .. } = message;
    json!({"id": id, "session": session, "turn": turn, "role": role, "said_at": said_at, "text": content})
}

/// Returns where a message comes from.
fn head(message: &Message) -> String {
    let Message { id, session, turn, role, said_at, .. } = message;
    match session {
        Some(session) => format!("{id}  {session}:{turn}  {role}  {said_at}"),
        None => format!("{id}  {role}  {said_at}"),
    }
}

fn line(message: &Message) -> String {
    row_line(&row(message))
}

/// Returns a row as a line: what was said may have many, and pages.
fn row_line(row: &Value) -> String {
    let text = |key: &str| row[key].as_str().unwrap_or_default();
    let place =
        row["session"].as_str().map(|session| format!("{session}:{}  ", row["turn"])).unwrap_or_default();
    let said: String = one_line(text("text")).chars().take(SHOWN_CHARS).collect();
    format!("{}  {place}{}  {}  {said}", row["id"], text("role"), text("said_at"))
}
