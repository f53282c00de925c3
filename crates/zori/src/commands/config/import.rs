//! `config import`: the YAML settings of another client of Agent Zero as a config file (AZ-10).

use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;

use serde_json::json;
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::Positional;
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::reply::{Effect, Reply};

use crate::commands::{Context, example};
use zori_setup::agent_zero::import::{Imported, convert};
use zori_setup::agent_zero::yaml;
use zori_setup::app::App;
use zori_setup::error::{BASE_UNUSABLE, CONFIG_INVALID};

/// A file of settings is no larger than this.
const MAX_BYTES: u64 = 1 << 20;

const FILE: Positional = Positional::required("FILE", Kind::Path, "The YAML file");

pub const COMMAND: Command<App> = Command {
    args: const { &[FILE] },
    examples: &[
        example("take it over", "zori config import config.yaml"),
        example("see where it would go", "zori config import config.yaml --dry-run"),
    ],
    danger: Danger::Mutating,
    preview: Some(|cx, args| {
        read(args)?;
        let path = cx.app.data_dir()?.config();
        let items = if path.exists() { Vec::new() } else { vec![path.display().to_string()] };
        Ok(Preview { verb: "create", items, reversible: true })
    }),
    idempotent: true,
    exits: &[Exit::Conflict],
    output_schema: r#"{"type":"object","required":["effect"],"properties":{"path":{"type":"string","pattern":"^/"},
        "effect":{"enum":["created","noop"]},
        "left_out":{"type":"array","x-ordered":true,"items":{"type":"string"}},
        "secrets":{"type":"array","x-ordered":true,"items":{"type":"string"}}}}"#,
    declares: r#"{"config_write_scope":"global","filesystem_side_effects":[{"path":"$ZORI_HOME/config.toml","type":"config"}]}"#,
    ..Command::new(
        &["config", "import"],
        "Write a config file from the YAML settings of an Agent Zero client",
        run,
    )
};

fn read(args: &Args) -> Result<Imported, Failure> {
    let file = args.text(&FILE).unwrap_or_default();
    let invalid = |what: String| Failure::new(&CONFIG_INVALID, what);
    let facts = std::fs::metadata(file).map_err(|error| invalid(format!("cannot read {file}: {error}")))?;
    if !facts.is_file() || facts.len() > MAX_BYTES {
        return Err(invalid(format!("{file} is no file of settings")));
    }
    let text =
        std::fs::read_to_string(file).map_err(|error| invalid(format!("cannot read {file}: {error}")))?;
    let table = yaml::parse(&text).map_err(|(line, what)| invalid(format!("{file}:{line}: {what}")))?;
    Ok(convert(&table))
}

/// Writes the file, where there is none yet.
fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let Imported { toml, secrets, unknown, unusable } = read(args)?;
    let data_dir = cx.app.data_dir()?;
    let path = data_dir.config();
    let shown = path.display().to_string();
    let failed = |error: std::io::Error| {
        Failure::new(&BASE_UNUSABLE, format!("cannot write the config file {shown}: {error}"))
    };
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir.dir()).map_err(failed)?;
    let mut file = match File::create_new(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            let mut failure =
                Failure::already_exists("config file", &shown, json!({"path": shown, "effect": "noop"}));
            failure.message = format!("Config file already exists at {shown}");
            return Err(failure);
        }
        Err(error) => return Err(failed(error)),
    };
    if let Err(error) = file.write_all(toml.as_bytes()).and_then(|()| file.sync_all()) {
        // Half a file would be worse than none.
        let _ = std::fs::remove_file(&path);
        return Err(failed(error));
    }
    let mut text = format!("Created config at {shown}");
    if !secrets.is_empty() {
        text.push_str(&format!(
            "\nLeft out, because keys are never read from files: {}. Set AGENTZERO_API_KEY, or store it with `auth login`",
            secrets.join(", ")
        ));
    }
    if !unknown.is_empty() {
        text.push_str(&format!("\nLeft out, because it means nothing here: {}", unknown.join(", ")));
    }
    if !unusable.is_empty() {
        text.push_str(&format!("\nLeft out, because nothing could run with it: {}", unusable.join(", ")));
    }
    let left_out = [unknown, unusable].concat();
    let data = json!({"path": shown, "left_out": left_out, "secrets": secrets});
    Ok(Reply::changed(Effect::Created, data).text(text).meta("write_scope", "global"))
}
