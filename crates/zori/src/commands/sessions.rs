//! `sessions list`, `sessions show` and `sessions resume` (`docs/contracts/command-line.md`); the others have a file
//! each.

pub mod export;
pub mod fork;
mod lines;
pub mod remove;
pub mod search;

use std::rc::Rc;

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::exit::{Danger, Exit};
use zori_contract::external::External;
use zori_contract::failure::Failure;
use zori_contract::flag::Positional;
use zori_contract::kind::Kind;
use zori_contract::mode::Class;
use zori_contract::output_streams::Written;
use zori_contract::reply::Reply;
use zori_contract::warning::Warning;
use zori_core::ids::SessionId;
use zori_host::{Which, damage_warning};
use zori_store::{Record, SessionDir, SessionEntry, StoreError, transcript_block};

use self::lines::Lines;
use super::chat::RECORDING;
use super::{AGENT_EXITS, AGENT_FORMATS, AgentCx, Context, example, exec, failure_event, own_streams};
use zori_chat::chat;
use zori_setup::app::App;
use zori_setup::args::{LowArgs, flags};
use zori_setup::error::SESSION_NOT_FOUND;
use zori_setup::find_session::{directory, latest, latest_in, named, no_session, unreadable};
use zori_setup::profile::{MissingSession, Profile};
use zori_setup::settings::root;

const ID_ARG: Positional = Positional::required("ID", ID, "The session");

/// What a session is, as an argument.
const ID: Kind = Kind::Id(flags::SESSION_NAME);

pub const LIST: Command<App> = Command {
    examples: &[
        example("the sessions there are", "zori sessions list"),
        example("all of them, for a spreadsheet", "zori sessions list --limit 0 --output tsv"),
        example("the name of the latest", "zori sessions list --limit 1 --output id"),
    ],
    list: true,
    id_field: Some("id"),
    columns: &["id", "modified"],
    output_schema: r#"{"type":"array","items":{"type":"object","required":["id","modified"],
        "properties":{"id":{"type":"string"},"modified":{"type":"string","format":"date-time"}}},"x-ordered":true}"#,
    ..Command::new(&["sessions", "list"], "List saved sessions, newest first", list)
};

pub const SHOW: Command<App> = Command {
    args: const { &[ID_ARG] },
    examples: &[
        example("read it", "zori sessions show refactoring"),
        example("the latest", "zori sessions list --limit 1 --output id | zori sessions show -"),
    ],
    exits: &[Exit::NotFound],
    max_output_bytes: Some(51_200),
    output_schema: r#"{"type":"object","required":["id","events","_source","_trusted"],
        "properties":{"id":{"type":"string"},"events":{"type":"array","items":{"type":"object"},"x-ordered":true},
        "_source":{"const":"external"},"_trusted":{"const":false}}}"#,
    ..Command::new(&["sessions", "show"], "Print the transcript of a session", show)
};

pub const RESUME: Command<App> = Command {
    args: const { &[flags::ID] },
    flags: flags::RESUMING,
    rules: RECORDING,
    danger: Danger::Mutating,
    class: Class::Agent,
    formats: AGENT_FORMATS,
    exits: AGENT_EXITS,
    timeout_ms: None,
    examples: &[
        example("go on with the latest of this folder", "zori sessions resume"),
        example("one more turn", "zori sessions resume -p \"And now the tests\""),
    ],
    output_schema: exec::OUTPUT_SCHEMA,
    declares: exec::DECLARES,
    preview: Some(exec::preview),
    failure_line: Some(failure_event),
    ..Command::new(&["sessions", "resume"], "Go on with a session: chat, or with -p one turn", |cx, args| {
        own_streams(cx, args, resume)
    })
};

/// Prints one line a session, newest first.
fn list(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let sessions = Rc::new(directory(cx.app)?.list().map_err(unreadable)?);
    let listed = sessions.clone();
    let row = move |at: usize| {
        let entry: &SessionEntry = &listed[at];
        json!({"id": entry.id.as_str(), "modified": entry.modified.rfc3339()})
    };
    Ok(Reply::long(sessions.len(), row).text_with(move || match sessions.is_empty() {
        true => "No sessions found.".into(),
        false => {
            sessions.iter().map(|entry| format!("{}  {}\n", entry.id, entry.modified.minutes())).collect()
        }
    }))
}

/// Prints a transcript.
fn show(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let sessions = directory(cx.app)?;
    let id = named(cx.app.profile, &sessions, args.text(&ID_ARG).unwrap_or_default())?;
    let large = file_size(&sessions, &id) > HELD_BYTES;
    let streamed = large && !cx.mode.format.structured();
    let redactor = cx.app.redactor();
    let (mut text, mut warning, mut any) = (String::new(), None, false);
    if let Some(mut records) = sessions.records(&id).map_err(unreadable)? {
        for record in records.by_ref() {
            let Some(block) = transcript_block(&record.map_err(unreadable)?) else { continue };
            let gap = if any { "\n" } else { "" };
            any = true;
            if streamed {
                cx.cancel.check()?;
                let block = format!("{gap}{block}");
                // A reader that is gone wants no more of it.
                if !matches!(cx.streams.stream(&redactor.redact(&block)), Written::Done) {
                    return Ok(Reply::streamed());
                }
            } else if large {
                break;
            } else {
                text.push_str(gap);
                text.push_str(&block);
            }
        }
        warning = damage_warning(&id, records.damage());
    }
    let missing = format!("Session '{id}' is empty or not found.");
    if !any {
        return match cx.app.profile.missing_session {
            MissingSession::Text => Ok(Reply::one(Value::Null).text(missing)),
            MissingSession::Error => Err(Failure::new(&SESSION_NOT_FOUND, missing)
                .field("id", id.as_str())
                .hint(format!("`{} sessions list` shows the sessions there are", cx.program.name))),
        };
    }
    let mut reply = match streamed {
        true => Reply::streamed(),
        false => {
            let (events, complete) = first_events(&sessions, &id, large)?;
            let reply = Reply::one(External(json!({"id": id.as_str(), "events": events}))).text(text);
            match complete {
                true => reply,
                false => reply.warn(Warning::new(
                    "SESSION_CUT",
                    format!("only the first {} events are here; `sessions export` prints all", events.len()),
                )),
            }
        }
    };
    if let Some(message) = warning {
        reply = reply.warn(Warning::new("SESSION_DAMAGED", message));
    }
    Ok(reply)
}

/// The largest session file that is held in memory as a whole.
pub(super) const HELD_BYTES: u64 = 16 << 20;

/// How much of a larger one goes into an answer that is printed as a whole.
const FIRST_BYTES: u64 = 4 << 20;

pub(super) fn file_size(sessions: &SessionDir, id: &SessionId) -> u64 {
    std::fs::metadata(sessions.file(id)).map_or(0, |facts| facts.len())
}

/// Returns the events of a session, the first ones of a large one; and whether these are all.
fn first_events(sessions: &SessionDir, id: &SessionId, large: bool) -> Result<(Vec<Value>, bool), Failure> {
    let (mut events, mut bytes) = (Vec::new(), 0);
    let mut lines = event_lines(sessions, id)?;
    while let Some(line) = lines.next().map_err(|source| cannot_read(sessions, id, source))? {
        bytes += line.len() as u64;
        events.extend(event(line));
        if large && bytes > FIRST_BYTES {
            return Ok((events, false));
        }
    }
    Ok((events, true))
}

/// Returns the lines of a session's file.
pub(super) fn event_lines(sessions: &SessionDir, id: &SessionId) -> Result<Lines, Failure> {
    Lines::open(&sessions.file(id)).map_err(|source| cannot_read(sessions, id, source))
}

/// Returns the event in a line; `None` where it is none.
pub(super) fn event(line: &[u8]) -> Option<Value> {
    serde_json::from_slice::<Value>(line).ok().filter(Value::is_object)
}

pub(super) fn cannot_read(sessions: &SessionDir, id: &SessionId, source: std::io::Error) -> Failure {
    unreadable(StoreError::Io { path: sessions.file(id), source })
}

/// The records of a session, with a warning about lines that cannot be read.
pub(super) struct LoadedSession {
    pub records: Vec<Record>,
    warning: Option<String>,
}

impl LoadedSession {
    /// Adds the warning to the reply.
    pub fn warn(self, reply: Reply) -> Reply {
        match self.warning {
            Some(message) => reply.warn(Warning::new("SESSION_DAMAGED", message)),
            None => reply,
        }
    }
}

/// Reads a session; an empty one counts as missing.
pub(super) fn load(
    profile: &Profile,
    sessions: &SessionDir,
    id: &SessionId,
) -> Result<LoadedSession, Failure> {
    let (mut records, mut warning) = (Vec::new(), None);
    if let Some(mut found) = sessions.records(id).map_err(unreadable)? {
        for record in found.by_ref() {
            records.push(record.map_err(unreadable)?);
        }
        warning = damage_warning(id, found.damage());
    }
    if records.is_empty() {
        let missing = format!("Session '{id}' is empty or not found.");
        return Err(no_session(profile, &missing).field("id", id.as_str()));
    }
    Ok(LoadedSession { records, warning })
}

/// Continues a session: a chat, or one turn with `-p`.
fn resume(cx: &mut AgentCx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let meant = match (&args.session.id, &args.session.named) {
        (Some(id), Some(flag)) if id != flag => {
            let message = format!("`--session {flag}` and `{id}` name two sessions");
            return Err(Failure::new(&VALIDATION_ERROR, message).hint("leave one of them out"));
        }
        (id, flag) => id.as_ref().or(flag.as_ref()),
    };
    let sessions = directory(&cx.app)?;
    let id = meant.map(|text| named(cx.profile, &sessions, text)).transpose()?;
    let id = match id {
        Some(id) if sessions.file(&id).exists() => id,
        Some(id) => return Err(no_session(cx.profile, &format!("No session '{id}' to resume"))),
        None if args.session.any || cx.profile.resumes_any => {
            latest(&sessions, None)?.ok_or_else(|| no_session(cx.profile, "No sessions found to resume"))?
        }
        None => latest_in(&sessions, None, &root(args)?)?.ok_or_else(|| {
            no_session(cx.profile, "There is no session of this folder to go on with")
                .hint("`--any` takes the newest of all folders")
        })?,
    };
    match args.prompt.text {
        Some(_) => exec::one_turn(cx, args, Which::Existing(id)),
        None if cx.front.events().is_some() => exec::one_turn(cx, args, Which::Existing(id)),
        None => chat::resume(cx, args, id),
    }
}
