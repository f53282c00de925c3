//! `status`: what this program keeps and where, and whether somebody is logged in. It always works.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zori_auth::Stored;
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::failure::Failure;
use zori_contract::reply::Reply;
use zori_providers::catalog::{PROVIDERS, ProviderFacts};

use super::{Context, example};
use zori_setup::app::App;
use zori_setup::credentials;
use zori_setup::data_dir::DataDir;
use zori_setup::model_choice::key_from_env;

pub const COMMAND: Command<App> = Command {
    examples: &[
        example("what is kept where", "zori status"),
        example("only the files", "zori status --fields state_files"),
    ],
    output_schema: r#"{"type":"object","required":["logged_in","user","current_context","token_expires","state_files",
        "side_effects"],"properties":{"logged_in":{"type":"boolean"},
        "state_files":{"type":"array","x-ordered":true,"items":{"type":"object","required":["path","purpose","exists"]}},
        "side_effects":{"type":"array","x-ordered":true,"items":{"type":"object","required":["path","type","size_bytes"]}}}}"#,
    standalone: true,
    ..Command::new(&["status"], "Show what is kept where", run)
};

fn run(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let keyed: Vec<_> = PROVIDERS.iter().filter(|facts| key_from_env(facts, &cx.app.env).is_some()).collect();
    // A key in the environment wins, and then the store is not touched.
    let stored = if keyed.is_empty() { stored(cx) } else { None };
    let mut text = match (keyed.as_slice(), &stored) {
        ([], None) => "Keys:      none\n".to_owned(),
        ([], Some((facts, _))) => format!("Keys:      {} in the credential store\n", facts.name),
        (keyed, _) => {
            let names: Vec<_> = keyed.iter().map(|facts| facts.key_var).collect();
            format!("Keys:      {}\n", names.join(", "))
        }
    };
    let (mut files, mut effects) = (Vec::new(), Vec::new());
    match cx.app.data_dir() {
        Ok(data_dir) => {
            for (path, purpose, kind) in kept(&data_dir) {
                let size = size(&path);
                let shown = path.display().to_string();
                files.push(json!({"path": shown, "purpose": purpose, "exists": size.is_some()}));
                if let Some(bytes) = size {
                    text.push_str(&format!(
                        "{:<10} {shown} ({bytes} bytes)\n",
                        format!("{}:", capital(purpose))
                    ));
                    effects.push(json!({"path": shown, "type": kind, "size_bytes": bytes}));
                }
            }
            // What is kept of this project, so that it can be undone, and how much of it that covers (UNDO-31).
            let root = data_dir.project_root(cx.cwd.as_path());
            let undo = data_dir.project_undo(&root);
            if undo.is_dir() {
                let (shown, bytes) = (undo.display().to_string(), undo_size(&undo));
                let covered = undo_covers(&root, cx.app.env.home().as_deref());
                text.push_str(&format!("{:<10} {shown} ({bytes} bytes; {covered})\n", "Undo:"));
                effects.push(json!({"path": shown, "type": "cache", "size_bytes": bytes}));
            }
            if effects.is_empty() {
                text.push_str(&format!("Base:      {} (nothing is kept yet)\n", data_dir.dir().display()));
            }
        }
        Err(failure) => text.push_str(&format!("Base:      {}\n", failure.message)),
    }
    let data = json!({
        "logged_in": !keyed.is_empty() || stored.is_some(),
        "user": Value::Null,
        "current_context": Value::Null,
        "token_expires": stored.and_then(|(_, stored)| stored.grant.expires_at).map(|end| end.to_string()),
        "state_files": files,
        "side_effects": effects,
    });
    Ok(Reply::one(data).text(text))
}

/// Returns the first key or login of the credential store. Settings that are wrong and a store that fails are told by those
/// who need them.
fn stored(cx: &Context<'_>) -> Option<(&'static ProviderFacts, Stored)> {
    let data_dir = cx.app.data_dir().ok()?;
    let config = data_dir.read_config().ok()?;
    credentials::find_any(&config, &cx.app.env).ok().flatten()
}

/// Returns everything below the base directory that has a meaning: path, purpose, type.
fn kept(data_dir: &DataDir) -> [(PathBuf, &'static str, &'static str); 5] {
    [
        (data_dir.config(), "settings", "config"),
        (data_dir.sessions(), "sessions", "log"),
        (data_dir.audit(), "audit log", "log"),
        (data_dir.guidelines(), "guidelines", "config"),
        (data_dir.chat_history(), "history", "cache"),
    ]
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

/// Says how much of what calls change in a project can be put back.
pub(super) fn undo_covers(root: &Path, home: Option<&Path>) -> String {
    match zori_host::uncovered(root, home) {
        Some(why) => format!("only what the file tools change: {why}"),
        None => format!("all changes in {}", root.display()),
    }
}

/// Returns how many bytes are kept for undo. Git's objects, to which it has links, take no space of their own.
pub(super) fn undo_size(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| {
        let facts = entry.metadata().ok()?;
        Some(match facts.is_dir() {
            true => undo_size(&entry.path()),
            false if facts.nlink() > 1 => 0,
            false => facts.len(),
        })
    });
    sizes.sum()
}

/// Returns how many bytes a file has, or the files of a folder; `None` where there is nothing.
fn size(path: &Path) -> Option<u64> {
    let facts = std::fs::symlink_metadata(path).ok()?;
    if !facts.is_dir() {
        return Some(facts.len());
    }
    let entries = std::fs::read_dir(path).ok()?;
    Some(entries.flatten().filter_map(|entry| entry.metadata().ok()).map(|facts| facts.len()).sum())
}
