//! `sessions list`, `sessions show` and `sessions resume` (`core-cli.md` chapter 9); the others have a file each.

pub mod export;
pub mod fork;
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
use zori_contract::reply::Reply;
use zori_contract::warning::Warning;
use zori_core::ids::SessionId;
use zori_store::{Entry, Record, SessionDir, StoreError, transcript_block};

use super::chat::RECORDING;
use super::{AGENT_FORMATS, Context, Cx, RESUME_EXITS, example, exec, failure_event, own_streams};
use crate::args::{LowArgs, flags};
use crate::base::Base;
use crate::chat;
use crate::error::{BASE_UNUSABLE, SESSION_NOT_FOUND};
use crate::profile::{MissingSession, Profile};
use crate::program::App;
use crate::settings::parse_session;
use crate::wire_up::{self, Open};

/// So much of a session's name has to be said, at least.
const SHORTEST_PREFIX: usize = 4;

/// What a session is, as an argument.
const ID: Kind = Kind::Id(flags::SESSION);

/// The entry of `sessions list`.
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

/// The entry of `sessions show`.
pub const SHOW: Command<App> = Command {
    args: const { &[Positional::required("ID", ID, "The session")] },
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

/// The entry of `sessions resume`.
pub const RESUME: Command<App> = Command {
    args: const { &[Positional::optional("ID", ID, "The session; the latest needs no name")] },
    flags: flags::PROMPT,
    rules: RECORDING,
    danger: Danger::Mutating,
    class: Class::Agent,
    formats: AGENT_FORMATS,
    exits: RESUME_EXITS,
    timeout_ms: None,
    examples: &[
        example("go on with the latest", "zori sessions resume"),
        example("one more turn", "zori sessions resume -p \"And now the tests\""),
    ],
    output_schema: exec::OUTPUT_SCHEMA,
    declares: exec::DECLARES,
    failure_line: Some(failure_event),
    ..Command::new(&["sessions", "resume"], "Go on with a session: chat, or with -p one turn", |cx, args| {
        own_streams(cx, args, resume)
    })
};

/// Prints one line a session, newest first.
fn list(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let sessions = Rc::new(directory(cx.app.profile)?.list().map_err(unreadable)?);
    let listed = sessions.clone();
    let row = move |at: usize| {
        let entry: &Entry = &listed[at];
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
    let sessions = directory(cx.app.profile)?;
    let id = named(cx.app.profile, &sessions, args.text("ID").unwrap_or_default())?;
    let (mut text, mut warning) = (String::new(), None);
    if let Some(mut records) = sessions.records(&id).map_err(unreadable)? {
        for record in records.by_ref() {
            let block = transcript_block(&record.map_err(unreadable)?);
            if let Some(block) = block {
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(&block);
            }
        }
        warning = wire_up::damage(&id, records.damage());
    }
    let missing = format!("Session '{id}' is empty or not found.");
    if text.is_empty() {
        return match cx.app.profile.missing_session {
            MissingSession::Text => Ok(Reply::one(Value::Null).text(missing)),
            MissingSession::Error => Err(Failure::new(&SESSION_NOT_FOUND, missing)
                .field("id", id.as_str())
                .hint(format!("`{} sessions list` shows the sessions there are", cx.program.name))),
        };
    }
    let events = events(&sessions, &id)?;
    let mut reply = Reply::one(External(json!({"id": id.as_str(), "events": events}))).text(text);
    if let Some(message) = warning {
        reply = reply.warn(Warning::new("SESSION_DAMAGED", message));
    }
    Ok(reply)
}

/// A session, read.
pub(super) struct Read {
    /// Its records.
    pub records: Vec<Record>,
    warning: Option<String>,
}

impl Read {
    /// Says in the answer what could not be read.
    pub fn warn(self, reply: Reply) -> Reply {
        match self.warning {
            Some(message) => reply.warn(Warning::new("SESSION_DAMAGED", message)),
            None => reply,
        }
    }
}

/// Reads a session; one that has nothing in it is none.
pub(super) fn load(profile: &Profile, sessions: &SessionDir, id: &SessionId) -> Result<Read, Failure> {
    let (mut records, mut warning) = (Vec::new(), None);
    if let Some(mut found) = sessions.records(id).map_err(unreadable)? {
        for record in found.by_ref() {
            records.push(record.map_err(unreadable)?);
        }
        warning = wire_up::damage(id, found.damage());
    }
    if records.is_empty() {
        let missing = format!("Session '{id}' is empty or not found.");
        return Err(no_session(profile, &missing).field("id", id.as_str()));
    }
    Ok(Read { records, warning })
}

/// Returns the lines of a session's file as they are, without those that are none.
fn events(sessions: &SessionDir, id: &SessionId) -> Result<Vec<Value>, Failure> {
    let path = sessions.file(id);
    let bytes = std::fs::read(&path).map_err(|source| unreadable(StoreError::Io { path, source }))?;
    let parse = |line: &[u8]| serde_json::from_slice::<Value>(line).ok().filter(Value::is_object);
    Ok(bytes.split(|byte| *byte == b'\n').filter_map(parse).collect())
}

/// Goes on with a session: a chat, or one turn with `-p`.
fn resume(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, Failure> {
    let meant = match (&args.id, &args.session) {
        (Some(id), Some(flag)) if id != flag => {
            let message = format!("`--session {flag}` and `{id}` name two sessions");
            return Err(Failure::new(&VALIDATION_ERROR, message).hint("leave one of them out"));
        }
        (id, flag) => id.as_ref().or(flag.as_ref()),
    };
    let sessions = directory(cx.profile)?;
    let id = meant.map(|text| named(cx.profile, &sessions, text)).transpose()?;
    let id = match id {
        Some(id) if sessions.file(&id).exists() => id,
        Some(id) => return Err(no_session(cx.profile, &format!("No session '{id}' to resume"))),
        None => {
            latest(&sessions, None)?.ok_or_else(|| no_session(cx.profile, "No sessions found to resume"))?
        }
    };
    match args.prompt {
        Some(_) => exec::one_turn(cx, args, Open::Existing(id)),
        None if cx.front.events().is_some() => exec::one_turn(cx, args, Open::Existing(id)),
        None => chat::resume(cx, args, id),
    }
}

/// Returns the session that was used last, other than `except`.
pub fn latest(sessions: &SessionDir, except: Option<&SessionId>) -> Result<Option<SessionId>, Failure> {
    let entries = sessions.list().map_err(unreadable)?;
    Ok(entries.into_iter().map(|entry| entry.id).find(|id| Some(id) != except))
}

/// Returns the session that is meant: the one of this name, else the only one whose name begins so. A name that nobody has
/// stays as it is, for the caller to say what that means.
pub(super) fn named(profile: &Profile, sessions: &SessionDir, text: &str) -> Result<SessionId, Failure> {
    let id = parse_session(text)?;
    if text.len() < SHORTEST_PREFIX || sessions.file(&id).exists() {
        return Ok(id);
    }
    let mut entries = sessions.list().map_err(unreadable)?;
    entries.retain(|entry| entry.id.as_str().starts_with(text));
    entries.sort_by(|a, b| a.id.as_str().cmp(b.id.as_str()));
    match entries.as_slice() {
        [] => Ok(id),
        [one] => Ok(one.id.clone()),
        many => {
            let names: Vec<_> = many.iter().take(5).map(|entry| format!("'{}'", entry.id)).collect();
            let more = if many.len() > names.len() { ", ..." } else { "" };
            let message = format!("{} sessions begin with '{text}': {}{more}", many.len(), names.join(", "));
            Err(no_session(profile, &message).field("id", text).hint("say more of the name"))
        }
    }
}

/// Returns where the sessions are.
pub(super) fn directory(profile: &Profile) -> Result<SessionDir, Failure> {
    Ok(SessionDir::new(Base::find(profile)?.sessions()))
}

/// There is no session at all, and `message` says for what.
pub(super) fn none_yet(profile: &Profile, message: &str) -> Failure {
    Failure::new(&SESSION_NOT_FOUND, message).hint(format!("`{} -p TEXT` begins one", profile.name))
}

pub(super) fn no_session(profile: &Profile, message: &str) -> Failure {
    Failure::new(&SESSION_NOT_FOUND, message)
        .hint(format!("`{} sessions list` shows the sessions there are", profile.name))
}

pub(super) fn unreadable(error: StoreError) -> Failure {
    Failure::new(&BASE_UNUSABLE, format!("cannot read the sessions: {error}"))
}
