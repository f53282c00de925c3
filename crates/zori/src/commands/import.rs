//! `import`: takes over what other agents left behind (EXT-31 to EXT-33).

use std::path::Path;

use serde_json::json;
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::error::IO_ERROR;
use zori_contract::exit::Danger;
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::reply::{Effect, Reply};
use zori_core::text::one_line;
use zori_vault::{VaultError, VaultFile, VaultPlace};

use super::{Context, example};
use crate::args::LowArgs;
use crate::config::{Config, server_table, set_key};
use crate::error::BASE_UNUSABLE;
use crate::import::{AGENTS, GROUPS, Plan, PlannedServer, homes};
use crate::program::App;
use crate::settings::root;
use crate::vault;

const FROM: Flag = Flag::valued(
    "from",
    "AGENTS",
    Kind::List(AGENTS),
    "Whose set-up: claude, codex, gemini; all unless given",
);
const ONLY: Flag = Flag::valued(
    "only",
    "GROUPS",
    Kind::List(GROUPS),
    "What of it: servers, instructions, skills, commands, rules; all unless given",
);
const STORE_SECRETS: Flag = Flag::switch(
    "store-secrets",
    "Put secrets that stand in their files into the vault; without it such a server is added switched off",
);

/// It changes nothing of the other agents, but brings their servers and rules in, so somebody has to agree.
pub const COMMAND: Command<App> = Command {
    flags: const { &[FROM, ONLY, STORE_SECRETS] },
    danger: Danger::Mutating,
    asks: true,
    preview: Some(|cx, args| {
        let (plan, _) = plan(cx, args)?;
        let items = plan.lines().iter().map(|line| one_line(line).into_owned()).collect();
        Ok(Preview { verb: "import", items, reversible: true })
    }),
    timeout_ms: Some(300_000),
    examples: &[
        example("what there is", "zori import --dry-run"),
        example("the servers of one agent", "zori import --from claude --only servers --yes"),
    ],
    output_schema: r#"{"type":"object","required":["effect"],"properties":{
        "imported":{"type":"array","x-ordered":true,"items":{"type":"string"}},
        "left_out":{"type":"array","x-ordered":true,"items":{"type":"string"}},
        "effect":{"enum":["updated","noop"]}}}"#,
    declares: r#"{"filesystem_side_effects":[{"path":"$ZORI_HOME/config.toml","type":"config"}]}"#,
    ..Command::new(
        &["import"],
        "Take over servers, skills, commands, instructions and rules of other agents",
        run,
    )
};

fn plan(cx: &Context<'_>, args: &Args) -> Result<(Plan, Config), Failure> {
    let data_dir = cx.app.data_dir()?;
    let config = data_dir.read_config()?;
    let home = cx.app.env.home().ok_or_else(|| Failure::new(&BASE_UNUSABLE, "`HOME` is not set"))?;
    let root = root(&LowArgs::new(args))?;
    let chosen = |flag: &Flag, all: &'static [&'static str]| -> Vec<&'static str> {
        let named = args.list(flag);
        match named.is_empty() {
            true => all.to_vec(),
            false => all.iter().copied().filter(|name| named.iter().any(|known| known == name)).collect(),
        }
    };
    let plan = homes::read(&home, &root, &chosen(&FROM, AGENTS));
    Ok((plan.only(&chosen(&ONLY, GROUPS)).without_known(&config), config))
}

/// Takes it over. Somebody has agreed before it is called.
fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (plan, config) = plan(cx, args)?;
    let data_dir = cx.app.data_dir()?;
    let (path, place) = (data_dir.config(), data_dir.vault());
    let failed = |why: String| {
        Failure::new(&IO_ERROR, format!("the config file {} was not changed: {why}", path.display()))
    };
    let (mut done, mut notes) = (plan.lines(), plan.notes.clone());
    for server in &plan.servers {
        let off = keep_secrets(server, args.has(&STORE_SECRETS), &place)
            .map_err(|error| vault::failure(&error, cx.program.name))?;
        let mut table = server.table.clone();
        if let Some(why) = off {
            table.insert("enabled".to_owned(), json!(false));
            notes.push(format!("MCP server {} is switched off: {why}", server.name));
        }
        server_table::add(&path, &server.name, &table).map_err(failed)?;
    }
    let mut lists: Vec<&'static str> = plan.entries.iter().map(|entry| entry.key).collect();
    lists.dedup();
    for key in lists {
        let known = config.list(key).unwrap_or_default().into_iter().map(|(text, _)| text.to_owned());
        let added = plan.entries.iter().filter(|entry| entry.key == key).map(|entry| entry.value.clone());
        let all: Vec<String> = known.chain(added).collect();
        set_list(&path, key, &all).map_err(failed)?;
    }
    done.iter_mut().for_each(|line| *line = one_line(line).into_owned());
    notes.iter_mut().for_each(|line| *line = one_line(line).into_owned());
    let mut text = String::new();
    done.iter().for_each(|line| text.push_str(&format!("Imported {line}\n")));
    notes.iter().for_each(|line| text.push_str(&format!("Note: {line}\n")));
    if done.is_empty() {
        text.push_str("There is nothing to import.\n");
    }
    let effect = if done.is_empty() { Effect::Noop } else { Effect::Updated };
    Ok(Reply::changed(effect, json!({"imported": done, "left_out": notes})).text(text))
}

/// Sets a list of the config, whose key is a table and a name.
fn set_list(path: &Path, key: &str, all: &[String]) -> Result<(), String> {
    let (table, name) = key.split_once('.').unwrap_or(("", key));
    let quoted: Vec<String> =
        all.iter().map(|text| serde_json::to_string(text).expect("a string is JSON")).collect();
    set_key::set(path, table, name, &format!("[{}]", quoted.join(", ")))
}

/// Puts a server's secrets into the vault, if that is wanted and can be done. Returns why the server is switched off.
fn keep_secrets(
    server: &PlannedServer,
    wanted: bool,
    place: &VaultPlace,
) -> Result<Option<&'static str>, VaultError> {
    if server.secrets.is_empty() {
        return Ok(None);
    }
    if !wanted {
        return Ok(Some("its secrets were not stored; `--store-secrets` does, or `zori vault set`"));
    }
    if !place.is_made() {
        return Ok(Some("its secrets belong into a vault, and there is none; `zori vault init` makes one"));
    }
    for (entry, value) in &server.secrets {
        VaultFile::set(place, entry, value, true)?;
    }
    Ok(None)
}
