//! `config path` and `config init` (CFG-6, CFG-7).

use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;

use serde_json::json;
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::gate::Preview;
use zori_contract::reply::{Effect, Reply};

use super::{Context, example};
use crate::base::Base;
use crate::config::template;
use crate::error::BASE_UNUSABLE;
use crate::program::App;

/// The entry of `config path`.
pub const PATH: Command<App> = Command {
    examples: &[
        example("where the settings are", "zori config path"),
        example("edit them", "$EDITOR \"$(zori config path --output plain)\""),
    ],
    output_schema: r#"{"type":"object","required":["path"],"additionalProperties":false,
        "properties":{"path":{"type":"string","pattern":"^/"}}}"#,
    ..Command::new(&["config", "path"], "Print where the config file is, or would be", path)
};

/// The entry of `config init`.
pub const INIT: Command<App> = Command {
    examples: &[
        example("write it", "zori config init"),
        example("see where it would go", "zori config init --dry-run"),
    ],
    danger: Danger::Mutating,
    preview: Some(|cx, _| {
        let path = Base::find(cx.app.profile)?.config();
        let items = if path.exists() { Vec::new() } else { vec![path.display().to_string()] };
        Ok(Preview { verb: "create", items, reversible: true })
    }),
    idempotent: true,
    exits: &[Exit::Conflict],
    output_schema: r#"{"type":"object","required":["effect"],
        "properties":{"path":{"type":"string","pattern":"^/"},"effect":{"enum":["created","noop"]}}}"#,
    declares: r#"{"config_write_scope":"global","filesystem_side_effects":[{"path":"$ZORI_HOME/config.toml","type":"config"}]}"#,
    ..Command::new(&["config", "init"], "Write a config file in which every setting is a comment", init)
};

/// Prints the config file's path, whether or not there is one.
fn path(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let path = Base::find(cx.app.profile)?.config().display().to_string();
    Ok(Reply::one(json!({"path": path})).text(path))
}

/// Writes the commented file. An existing one is left alone.
fn init(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let base = Base::find(cx.app.profile)?;
    let path = base.config();
    let failed = |error: std::io::Error| {
        Failure::new(&BASE_UNUSABLE, format!("cannot write the config file {}: {error}", path.display()))
    };
    DirBuilder::new().recursive(true).mode(0o700).create(base.dir()).map_err(failed)?;
    let mut file = match File::create_new(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let shown = path.display().to_string();
            let mut failure =
                Failure::already_exists("config file", &shown, json!({"path": shown, "effect": "noop"}));
            failure.message = format!("Config file already exists at {shown}");
            return Err(failure);
        }
        Err(error) => return Err(failed(error)),
    };
    let written = file.write_all(template(cx.app.profile).as_bytes()).and_then(|()| file.sync_all());
    if let Err(error) = written {
        // Half a file would be worse than none.
        let _ = std::fs::remove_file(&path);
        return Err(failed(error));
    }
    let path = path.display().to_string();
    let text = format!("Created config at {path}");
    Ok(Reply::changed(Effect::Created, json!({"path": path})).text(text).meta("write_scope", "global"))
}
