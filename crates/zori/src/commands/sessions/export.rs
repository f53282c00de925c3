//! `sessions export`: a session as one document, to keep or to show to somebody.

use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::kind::Kind;
use zori_contract::mode::Class;
use zori_contract::output_streams::Written;
use zori_contract::reply::Reply;
use zori_contract::warning::Warning;
use zori_core::ids::SessionId;
use zori_host::damage_warning;
use zori_store::{Record, SessionDir, transcript_block};

use super::{HELD_BYTES, cannot_read, event, event_lines, file_size};
use crate::commands::{Context, example};
use crate::page;
use zori_setup::app::App;
use zori_setup::args::flags;
use zori_setup::find_session::{directory, latest, named, no_session, no_sessions_yet, unreadable};
use zori_setup::profile::Profile;

const TO: Flag = Flag::valued(
    "to",
    "KIND",
    Kind::Choice(&["markdown", "json", "html"]),
    "What to make of it: markdown, json, or a page that needs nothing else (html)",
)
.default("markdown");

pub const COMMAND: Command<App> = Command {
    args: const { &[flags::ID] },
    flags: const { &[TO] },
    class: Class::Document,
    exits: &[Exit::NotFound],
    max_output_bytes: Some(usize::MAX),
    examples: &[
        example("to read", "zori sessions export parser > parser.md"),
        example("to show", "zori sessions export parser --to html > parser.html"),
        example("for a program", "zori sessions export --to json"),
    ],
    output_schema: r#"{"type":"object","required":["content"],"properties":{"content":{"type":"string"}}}"#,
    ..Command::new(&["sessions", "export"], "Print a session as one document: Markdown, JSON or a page", run)
};

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let sessions = directory(cx.app)?;
    let id = match args.text(&flags::ID) {
        Some(text) => named(cx.app.profile, &sessions, text)?,
        None => latest(&sessions, None)?
            .ok_or_else(|| no_sessions_yet(cx.app.profile, "No sessions found to export"))?,
    };
    let size = file_size(&sessions, &id);
    let to = args.text(&TO).unwrap_or("markdown");
    let redactor = cx.app.redactor();
    if size > HELD_BYTES && cx.mode.format.structured() {
        let message = format!("session '{id}' has {} MiB, which is too much for one envelope", size >> 20);
        return Err(Failure::new(&VALIDATION_ERROR, message)
            .field("id", id.as_str())
            .hint("without `--output json` the document is printed piece by piece"));
    }
    let profile = cx.app.profile;
    let document = Document { sessions: &sessions, id: &id, profile };
    if size > HELD_BYTES {
        let (streams, cancel) = (cx.streams.clone(), cx.cancel.clone());
        let damage = document.write(to, &mut |piece| {
            cancel.check()?;
            // A reader that is gone wants no more of it.
            Ok(matches!(streams.stream(&redactor.redact(piece)), Written::Done))
        })?;
        return Ok(with_warning(Reply::streamed(), damage));
    }
    let mut text = String::new();
    let damage = document.write(to, &mut |piece| {
        text.push_str(piece);
        Ok(true)
    })?;
    let text = redactor.redact(&text).into_owned();
    Ok(with_warning(Reply::document(text).external(), damage))
}

fn with_warning(reply: Reply, damage: Option<String>) -> Reply {
    match damage {
        Some(message) => reply.warn(Warning::new("SESSION_DAMAGED", message)),
        None => reply,
    }
}

/// Takes a piece of a document; returns whether more is wanted.
type Emit<'a> = dyn FnMut(&str) -> Result<bool, Failure> + 'a;

/// A session that becomes a document, piece by piece.
struct Document<'a> {
    sessions: &'a SessionDir,
    id: &'a SessionId,
    profile: &'static Profile,
}

impl Document<'_> {
    /// Writes the document. Returns a warning about lines that cannot be read.
    fn write(&self, to: &str, emit: &mut Emit<'_>) -> Result<Option<String>, Failure> {
        match to {
            "json" => self.json(emit),
            "html" => {
                let mut facts = page::Facts::default();
                self.each(&mut |record| {
                    facts.add(record);
                    Ok(true)
                })?;
                if !emit(&page::head(self.id.as_str(), &facts))? {
                    return Ok(None);
                }
                let damage = self.each(&mut |record| emit(&page::article(record)))?;
                emit(page::TAIL)?;
                Ok(damage)
            }
            _ => {
                let mut gap = format!("# Session {}\n\n", self.id);
                let damage = self.each(&mut |record| match transcript_block(record) {
                    Some(block) => {
                        let piece = std::mem::replace(&mut gap, "\n".to_owned()) + &block;
                        emit(&piece)
                    }
                    None => Ok(true),
                })?;
                if gap != "\n" {
                    emit(&gap)?;
                }
                Ok(damage)
            }
        }
    }

    /// Goes through the records; an empty session counts as missing.
    fn each(
        &self,
        look: &mut dyn FnMut(&Record) -> Result<bool, Failure>,
    ) -> Result<Option<String>, Failure> {
        let mut any = false;
        if let Some(mut records) = self.sessions.records(self.id).map_err(unreadable)? {
            for record in records.by_ref() {
                any = true;
                if !look(&record.map_err(unreadable)?)? {
                    return Ok(None);
                }
            }
            if any {
                return Ok(damage_warning(self.id, records.damage()));
            }
        }
        let missing = format!("Session '{}' is empty or not found.", self.id);
        Err(no_session(self.profile, &missing).field("id", self.id.as_str()))
    }

    /// Writes what `serde_json` would make of the whole, one event at a time.
    fn json(&self, emit: &mut Emit<'_>) -> Result<Option<String>, Failure> {
        // The records are gone through for their damage alone; the events are the lines as they are.
        let damage = self.each(&mut |_| Ok(true))?;
        let mut piece =
            format!("{{\n  \"id\": {},\n  \"events\": [", serde_json::Value::from(self.id.as_str()));
        let mut lines = event_lines(self.sessions, self.id)?;
        let mut any = false;
        while let Some(line) = lines.next().map_err(|source| cannot_read(self.sessions, self.id, source))? {
            let Some(event) = event(line) else { continue };
            let pretty = serde_json::to_string_pretty(&event).expect("JSON values can be written");
            piece.push_str(if any { ",\n    " } else { "\n    " });
            piece.push_str(&pretty.replace('\n', "\n    "));
            any = true;
            if !emit(&std::mem::take(&mut piece))? {
                return Ok(damage);
            }
        }
        piece.push_str(if any { "\n  ]\n}\n" } else { "]\n}\n" });
        emit(&piece)?;
        Ok(damage)
    }
}
