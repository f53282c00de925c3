//! `config path`, `config show` and `config init` (CFG-6, CFG-7).

pub mod import;

use std::fs::{DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::DirBuilderExt;

use serde_json::{Map, Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, framework};
use zori_contract::gate::Preview;
use zori_contract::reply::{Effect, Reply};
use zori_providers::catalog::PROVIDERS;

use super::{Context, example};
use zori_setup::app::App;
use zori_setup::args::flags;
use zori_setup::config::keys::KEYS;
use zori_setup::config::template;
use zori_setup::error::BASE_UNUSABLE;
use zori_setup::permissions;

pub const PATH: Command<App> = Command {
    examples: &[
        example("where the settings are", "zori config path"),
        example("edit them", "$EDITOR \"$(zori config path --output plain)\""),
    ],
    output_schema: r#"{"type":"object","required":["path"],"additionalProperties":false,
        "properties":{"path":{"type":"string","pattern":"^/"}}}"#,
    ..Command::new(&["config", "path"], "Print where the config file is, or would be", path)
};

pub const SHOW: Command<App> = Command {
    examples: &[
        example("what is set, and where", "zori config show"),
        example("as a program sees it", "zori config show --output json"),
    ],
    output_schema: r#"{"type":"object","required":["effective_config","sources","precedence_order"],"properties":{
        "effective_config":{"type":"object"},"sources":{"type":"object","additionalProperties":{"type":"string"}},
        "precedence_order":{"type":"array","x-ordered":true,"items":{"type":"string"}}}}"#,
    ..Command::new(&["config", "show"], "Show each setting that is set, and where it comes from", show)
};

pub const INIT: Command<App> = Command {
    examples: &[
        example("write it", "zori config init"),
        example("see where it would go", "zori config init --dry-run"),
    ],
    danger: Danger::Mutating,
    preview: Some(|cx, _| {
        let path = cx.app.data_dir()?.config();
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
    let path = cx.app.data_dir()?.config().display().to_string();
    Ok(Reply::one(json!({"path": path})).text(path))
}

/// Settings that a flag of another name sets, too.
const FLAGS: &[(&str, Flag)] = &[
    ("provider", flags::PROVIDER),
    ("model", flags::MODEL),
    ("thinking", flags::THINKING),
    ("system_prompt", flags::SYSTEM_PROMPT),
    ("output", framework::OUTPUT),
    ("retries", flags::RETRIES),
    ("retry_delay_ms", flags::RETRY_DELAY),
    ("connect_timeout_ms", flags::CONNECT_TIMEOUT),
    ("max_turns", flags::MAX_TURNS),
    ("max_budget_usd", flags::MAX_BUDGET_USD),
    ("max_tokens_total", flags::MAX_TOKENS_TOTAL),
    ("security.mode", flags::PERMISSION_MODE),
];

/// Prints every setting, with where its value comes from. What nobody set is `null`, and the default of the reference.
fn show(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let data_dir = cx.app.data_dir()?;
    let (path, config) = (data_dir.config(), data_dir.read_config()?);
    let variable = |key: &str| {
        let base_url = PROVIDERS.iter().find(|facts| key == format!("{}_base_url", facts.name));
        match key {
            "output" => Some(format!("{}_OUTPUT", cx.program.prefix)),
            "security.mode" => permissions::mode_variable(&cx.app.env).map(|(name, _)| name.to_owned()),
            _ => base_url.map(|facts| facts.base_url_var.to_owned()),
        }
    };
    let (mut values, mut sources, mut text) = (Map::new(), Map::new(), String::new());
    for key in KEYS {
        let flag = FLAGS.iter().find(|(name, _)| *name == key.name).and_then(|(_, flag)| args.text(flag));
        let from_env = variable(key.name).and_then(|name| {
            Some((cx.inputs.vars.get(&name).filter(|value| !value.is_empty())?.to_owned(), name))
        });
        let (value, source) = match (flag, from_env, config.json(key.name)) {
            (Some(value), _, _) => (json!(value), "flag".to_owned()),
            (None, Some((value, name)), _) => (json!(value), format!("env:{name}")),
            (None, None, Some(value)) => (value, format!("file:{}", path.display())),
            (None, None, None) => (Value::Null, "default".to_owned()),
        };
        if source != "default" {
            text.push_str(&format!("{} = {value}  ({source})\n", key.name));
        }
        values.insert(key.name.to_owned(), value);
        sources.insert(key.name.to_owned(), json!(source));
    }
    if text.is_empty() {
        text = "Nothing is set: every setting has its default.".to_owned();
    }
    let order = ["flag", "env", "file", "default"];
    let data = json!({"effective_config": values, "sources": sources, "precedence_order": order});
    Ok(Reply::one(data).text(text))
}

/// Writes the commented file. An existing one is left alone.
fn init(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let data_dir = cx.app.data_dir()?;
    let path = data_dir.config();
    let failed = |error: std::io::Error| {
        Failure::new(&BASE_UNUSABLE, format!("cannot write the config file {}: {error}", path.display()))
    };
    DirBuilder::new().recursive(true).mode(0o700).create(data_dir.dir()).map_err(failed)?;
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
