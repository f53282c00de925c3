//! `sessions fork`: a copy of a session to go on with in another direction.

use std::io;

use serde_json::json;
use zori_contract::args::Args;
use zori_contract::atomic::atomic_write_with;
use zori_contract::command::Command;
use zori_contract::error::IO_ERROR;
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, Positional};
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::path::AbsPath;
use zori_contract::reply::{Effect, Reply};
use zori_host::session_id;
use zori_serve::parse_session;

use super::ID;
use crate::commands::{Context, example};
use zori_setup::app::App;
use zori_setup::args::flags;
use zori_setup::find_session::{directory, named, no_session};
use zori_setup::session_copy::SessionCopy;

const ID_ARG: Positional = Positional::required("ID", ID, "The session");
const NAME: Flag = Flag::valued("name", "NEW", Kind::Id(flags::SESSION_NAME), "What the copy is called");

pub const COMMAND: Command<App> = Command {
    args: const { &[ID_ARG] },
    flags: const { &[NAME] },
    examples: &[
        example("try something else", "zori sessions fork parser"),
        example("under a name", "zori sessions fork parser --name parser-2"),
    ],
    danger: Danger::Mutating,
    preview: Some(|_, args| {
        let items = vec![args.text(&NAME).unwrap_or("a new session").to_owned()];
        Ok(Preview { verb: "create", items, reversible: true })
    }),
    idempotent: true,
    exits: &[Exit::NotFound, Exit::Conflict],
    output_schema: r#"{"type":"object","required":["effect"],"properties":{"effect":{"enum":["created","noop"]},
        "id":{"type":"string"},"parent":{"type":"string"},"path":{"type":"string","pattern":"^/"}}}"#,
    declares: r#"{"filesystem_side_effects":[{"path":"$ZORI_HOME/sessions","type":"log","clearable_with":"zori sessions rm"}]}"#,
    ..Command::new(&["sessions", "fork"], "Copy a session, to go on in another direction", run)
};

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let sessions = directory(cx.app)?;
    let parent = named(cx.app.profile, &sessions, args.text(&ID_ARG).unwrap_or_default())?;
    let id = match args.text(&NAME) {
        Some(name) => parse_session(name)?,
        None => session_id(),
    };
    let (source, target) = (sessions.file(&parent), sessions.file(&id));
    let Ok(mut copied) = SessionCopy::open(&source) else {
        return Err(no_session(cx.app.profile, &format!("No session '{parent}' to fork"))
            .field("id", parent.as_str()));
    };
    if target.exists() {
        let existing = json!({"id": id.as_str(), "effect": "noop", "path": target});
        return Err(Failure::already_exists("session", id.as_str(), existing));
    }
    let failed = |error: io::Error| {
        Failure::new(&IO_ERROR, format!("cannot write the session {}: {error}", target.display()))
    };
    let path = AbsPath::new(&target).ok_or_else(|| failed(io::ErrorKind::InvalidInput.into()))?;
    atomic_write_with(&path, |file| copied.write(file, parent.as_str())).map_err(failed)?;
    let text = format!("Forked '{parent}' as '{id}'");
    let data = json!({"id": id.as_str(), "parent": parent.as_str(), "path": path});
    Ok(Reply::changed(Effect::Created, data).text(text))
}
