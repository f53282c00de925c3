//! `sessions export`: a session as one document, to keep or to show to somebody.

use serde_json::json;
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, Positional};
use zori_contract::kind::Kind;
use zori_contract::mode::Class;
use zori_contract::reply::Reply;
use zori_store::transcript;

use super::{ID, directory, events, latest, load, named, none_yet};
use crate::commands::{Context, example};
use crate::page;
use crate::program::App;
use crate::secrets;

/// The entry.
pub const COMMAND: Command<App> = Command {
    args: const { &[Positional::optional("ID", ID, "The session; the latest needs no name")] },
    flags: const {
        &[Flag::valued(
            "to",
            "KIND",
            Kind::Choice(&["markdown", "json", "html"]),
            "What to make of it: markdown, json, or a page that needs nothing else (html)",
        )
        .default("markdown")]
    },
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
    let sessions = directory(cx.app.profile)?;
    let id = match args.text("ID") {
        Some(text) => named(cx.app.profile, &sessions, text)?,
        None => {
            latest(&sessions, None)?.ok_or_else(|| none_yet(cx.app.profile, "No sessions found to export"))?
        }
    };
    let loaded = load(cx.app.profile, &sessions, &id)?;
    let text = match args.text("to") {
        Some("json") => {
            let document = json!({"id": id.as_str(), "events": events(&sessions, &id)?});
            serde_json::to_string_pretty(&document).expect("JSON values can be written") + "\n"
        }
        Some("html") => page::html(id.as_str(), &loaded.records),
        _ => format!("# Session {id}\n\n{}", transcript(&loaded.records)),
    };
    let text = secrets::redactor().redact(&text).into_owned();
    Ok(loaded.warn(Reply::document(text)))
}
