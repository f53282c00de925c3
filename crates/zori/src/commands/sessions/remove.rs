//! `sessions rm`: removes sessions for good.

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::error::PARTIAL_FAILURE;
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::Positional;
use zori_contract::gate::Preview;
use zori_contract::reply::{Effect, Reply};
use zori_contract::warning::Warning;
use zori_index::{Database, database_path, remove_sessions};
use zori_serve::parse_session;
use zori_store::StoreError;

use super::ID;
use crate::commands::{Context, example};
use crate::gui;
use zori_setup::app::App;
use zori_setup::drafts::Drafts;
use zori_setup::find_session::directory;

const ID_ARG: Positional = Positional::required("ID", ID, "The sessions").many();

pub const COMMAND: Command<App> = Command {
    args: const { &[ID_ARG] },
    examples: &[
        example("what would go", "zori sessions rm parser --dry-run"),
        example("let it go", "zori sessions rm parser refactoring --yes"),
    ],
    danger: Danger::Destructive,
    preview: Some(|cx, args| {
        let sessions = directory(cx.app)?;
        let mut items = Vec::new();
        for text in args.all(&ID_ARG) {
            let path = sessions.file(&parse_session(text)?);
            items.extend(path.exists().then(|| text.clone()));
        }
        Ok(Preview { verb: "delete", items, reversible: false })
    }),
    exits: &[Exit::Partial],
    output_schema: r#"{"type":"object","required":["effect"],"properties":{"effect":{"enum":["deleted","noop"]},
        "summary":{"type":"object","required":["total","succeeded","failed"]},
        "results":{"type":"array","x-ordered":true,"items":{"type":"object","required":["id","ok","effect","status"]}},
        "audit":{"type":"object","required":["timestamp","operator","target","reversible"]}}}"#,
    declares: r#"{"filesystem_side_effects":[{"path":"$ZORI_HOME/sessions","type":"log"},
        {"path":"$ZORI_HOME/drafts","type":"log"},
        {"path":"$ZORI_HOME/zori.db","type":"cache","clearable_with":"zori project purge"}]}"#,
    ..Command::new(&["sessions", "rm"], "Remove sessions for good", run)
};

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let sessions = directory(cx.app)?;
    let (mut results, mut removed, mut missing, mut failed) = (Vec::new(), 0, Vec::new(), Vec::new());
    let mut gone = Vec::new();
    for text in args.all(&ID_ARG) {
        cx.cancel.check()?;
        let id = parse_session(text)?;
        let result = match sessions.remove(&id) {
            Ok(true) => {
                removed += 1;
                let data_dir = cx.app.data_dir()?;
                gui::forget(&data_dir.sessions(), &id);
                Drafts::of(data_dir.dir()).forget(id.as_str());
                json!({"id": text, "ok": true, "effect": "deleted", "status": "removed"})
            }
            Ok(false) => {
                missing.push(text.as_str());
                json!({"id": text, "ok": true, "effect": "noop", "status": "not_found"})
            }
            Err(error) => {
                let locked = matches!(error, StoreError::Locked { .. });
                let (code, status) = if locked { ("LOCK_HELD", "locked") } else { ("IO_ERROR", "failed") };
                failed.push(error.to_string());
                json!({"id": text, "ok": false, "effect": "noop", "status": status,
                       "error": {"code": code, "message": error.to_string()}})
            }
        };
        gone.extend((result["ok"] == true).then(|| text.clone()));
        results.push(result);
        cx.steps.done(text);
    }
    let left = forget(cx, &gone)?;
    let total = results.len();
    let mut data: Value = json!({
        "summary": {"total": total, "succeeded": total - failed.len(), "failed": failed.len()},
        "results": results,
        "audit": {
            "timestamp": zori_contract::time::rfc3339((cx.clock.unix_ms() / 1_000) as i64),
            "operator": format!("uid:{}", rustix::process::getuid().as_raw()),
            "target": args.all(&ID_ARG),
            "reversible": false,
        },
    });
    let effect = if removed > 0 { Effect::Deleted } else { Effect::Noop };
    if !failed.is_empty() {
        data["effect"] = json!(effect);
        data["partial"] = json!(true);
        let message =
            format!("{} of {total} sessions could not be removed: {}", failed.len(), failed.join("; "));
        return Err(Failure::new(&PARTIAL_FAILURE, message).with_data(data));
    }
    let text = match missing.as_slice() {
        [] => format!("Removed {removed} of {total}"),
        missing => format!("Removed {removed} of {total}; not there: {}", missing.join(", ")),
    };
    let reply = Reply::changed(effect, data).text(text);
    Ok(match left {
        Some(why) => reply.warn(Warning::new("MEMORY_LEFT", why)),
        None => reply,
    })
}

/// Takes out of the memory what the sessions said, where there is one. Returns what is to be said where that cannot be done.
fn forget(cx: &Context<'_>, gone: &[String]) -> Result<Option<String>, Failure> {
    let database = database_path(cx.app.data_dir()?.dir());
    if gone.is_empty() || !database.exists() {
        return Ok(None);
    }
    let removed = Database::open(&database).and_then(|database| remove_sessions(&database, gone));
    Ok(removed
        .err()
        .map(|error| format!("what can be recalled of them is left: {error}; {}", error.way_on())))
}
