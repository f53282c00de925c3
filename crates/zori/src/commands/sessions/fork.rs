//! `sessions fork`: a copy of a session to go on with in another direction.

use std::fs;

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::atomic::atomic_write;
use zori_contract::command::Command;
use zori_contract::error::IO_ERROR;
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, Positional};
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::path::AbsPath;
use zori_contract::reply::{Effect, Reply};
use zori_core::ids::{IdSource, SessionId};
use zori_store::SessionDir;

use super::{ID, directory, named, no_session};
use crate::args::flags;
use crate::clock::SystemIds;
use crate::commands::{Context, example};
use crate::program::App;
use crate::settings::parse_session;

/// The entry.
pub const COMMAND: Command<App> = Command {
    args: const { &[Positional::required("ID", ID, "The session")] },
    flags: const { &[Flag::valued("name", "NEW", Kind::Id(flags::SESSION), "What the copy is called")] },
    examples: &[
        example("try something else", "zori sessions fork parser"),
        example("under a name", "zori sessions fork parser --name parser-2"),
    ],
    danger: Danger::Mutating,
    preview: Some(|_, args| {
        let items = vec![args.text("name").unwrap_or("a new session").to_owned()];
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
    let sessions = directory(cx.app.profile)?;
    let parent = named(cx.app.profile, &sessions, args.text("ID").unwrap_or_default())?;
    let id = match args.text("name") {
        Some(name) => parse_session(name)?,
        None => SystemIds.session(),
    };
    let (source, target) = (sessions.file(&parent), sessions.file(&id));
    let Ok(bytes) = fs::read(&source) else {
        return Err(no_session(cx.app.profile, &format!("No session '{parent}' to fork"))
            .field("id", parent.as_str()));
    };
    if target.exists() {
        let existing = json!({"id": id.as_str(), "effect": "noop", "path": target});
        return Err(Failure::already_exists("session", id.as_str(), existing));
    }
    let failed = |error: std::io::Error| {
        Failure::new(&IO_ERROR, format!("cannot write the session {}: {error}", target.display()))
    };
    let path = AbsPath::new(&target).ok_or_else(|| failed(std::io::ErrorKind::InvalidInput.into()))?;
    atomic_write(&path, &forked(&bytes, parent.as_str())).map_err(failed)?;
    let text = format!("Forked '{parent}' as '{id}'");
    let data = json!({"id": id.as_str(), "parent": parent.as_str(), "path": path});
    Ok(Reply::changed(Effect::Created, data).text(text))
}

/// Copies a session under another name, which nobody has yet. An error says why it cannot be.
pub fn copy(sessions: &SessionDir, parent: &SessionId, id: &SessionId) -> Result<(), String> {
    let (source, target) = (sessions.file(parent), sessions.file(id));
    let bytes = fs::read(&source).map_err(|error| format!("cannot read {}: {error}", source.display()))?;
    let failed = |error: std::io::Error| format!("cannot write the session {}: {error}", target.display());
    let path = AbsPath::new(&target).ok_or_else(|| failed(std::io::ErrorKind::InvalidInput.into()))?;
    atomic_write(&path, &forked(&bytes, parent.as_str())).map_err(failed)
}

/// Returns the lines of the copy: the first says whose it is, and half a line at the end stays behind.
fn forked(bytes: &[u8], parent: &str) -> Vec<u8> {
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let (first, rest) = match bytes[..whole].iter().position(|byte| *byte == b'\n') {
        Some(at) => (&bytes[..at], &bytes[at + 1..whole]),
        None => (&bytes[..0], &bytes[..0]),
    };
    let mut out = match serde_json::from_slice::<Value>(first) {
        Ok(mut meta) if meta["type"] == "meta" => {
            meta["parent"] = json!(parent);
            format!("{meta}\n").into_bytes()
        }
        // A file of another program may begin without one.
        _ => {
            let meta = json!({"type": "meta", "schema_version": 1, "parent": parent});
            let mut out = format!("{meta}\n").into_bytes();
            out.extend_from_slice(first);
            if !first.is_empty() {
                out.push(b'\n');
            }
            out
        }
    };
    out.extend_from_slice(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_names_the_parent_and_half_a_line_stays_behind() {
        let file = b"{\"type\":\"meta\",\"schema_version\":1,\"root\":\"/w\"}\n{\"type\":\"message\"}\n{\"type\":\"mess";
        let text = String::from_utf8(forked(file, "p")).unwrap();
        let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        assert_eq!(
            lines,
            [
                json!({"type": "meta", "schema_version": 1, "root": "/w", "parent": "p"}),
                json!({"type": "message"})
            ]
        );
    }

    #[test]
    fn a_file_without_a_first_line_gets_one() {
        let text = String::from_utf8(forked(b"{\"type\":\"message\"}\n", "p")).unwrap();
        assert_eq!(text.lines().count(), 2);
        assert_eq!(forked(b"", "p").iter().filter(|byte| **byte == b'\n').count(), 1);
    }
}
