//! `handoff`: a document that lets another session, or another person, go on (`core-cli.md` chapter 13).

use serde_json::json;
use zori_contract::args::Args;
use zori_contract::atomic::atomic_write;
use zori_contract::command::Command;
use zori_contract::error::IO_ERROR;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::kind::Kind;
use zori_contract::mode::{Class, Talk};
use zori_contract::reply::{Effect, Reply};

use super::sessions::{directory, latest, load, no_session};
use super::{Context, example};
use crate::args::flags;
use crate::handoff::Bundle;
use crate::program::App;
use crate::secrets;
use crate::settings::parse_session;

/// The entry.
pub const COMMAND: Command<App> = Command {
    flags: const {
        &[
            Flag::valued("goal", "TEXT", Kind::Text, "What is to be done next").required(),
            Flag::valued(
                "from-session",
                "ID",
                Kind::Id(flags::SESSION),
                "The session; the latest needs no name",
            ),
            Flag::valued("out", "FILE", Kind::Path, "Write the document to this file instead"),
        ]
    },
    class: Class::Document,
    exits: &[Exit::NotFound],
    examples: &[
        example("go on somewhere else", "zori handoff --goal \"Finish the parser\""),
        example(
            "from a session, into a file",
            "zori handoff --goal \"Review it\" --from-session parser --out HANDOFF.md",
        ),
    ],
    output_schema: r#"{"type":"object","properties":{"content":{"type":"string"},"path":{"type":"string"},
        "effect":{"enum":["created","updated"]},"cleanup":{"type":"object"}}}"#,
    declares: r#"{"filesystem_side_effects":[{"path":"--out","type":"config"}]}"#,
    ..Command::new(&["handoff"], "Print what another session needs to go on", run)
};

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let sessions = directory(cx.app.profile)?;
    let id = match args.text("from-session") {
        Some(text) => parse_session(text)?,
        None => latest(&sessions, None)?
            .ok_or_else(|| no_session(cx.app.profile, "No sessions found to hand off"))?,
    };
    let loaded = load(cx.app.profile, &sessions, &id)?;
    let bundle = Bundle::find(&loaded.records, cx.place.cwd.as_path());
    let text = bundle.markdown(args.text("goal").unwrap_or_default(), id.as_str());
    let text = secrets::redactor().redact(&text).into_owned();
    let reply = match args.text("out") {
        None => Reply::document(text),
        Some(name) => {
            let path = cx.place.cwd.join(name);
            let effect = if path.as_path().exists() { Effect::Updated } else { Effect::Created };
            atomic_write(&path, text.as_bytes())
                .map_err(|error| Failure::new(&IO_ERROR, format!("cannot write {path}: {error}")))?;
            cx.say(Talk::Normal, &format!("Wrote {path}"));
            let cleanup = json!({"command": format!("rm {path}"), "auto_cleanup_after_seconds": null});
            Reply::changed(effect, json!({"path": path, "cleanup": cleanup})).text("")
        }
    };
    Ok(loaded.warn(reply))
}
