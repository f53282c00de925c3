//! `import`: takes over what other agents left behind (EXT-31 to EXT-33).
//!
//! On a terminal somebody is shown all of it and asked, group by group (`import/questions.rs`).

mod questions;
mod shown;

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::error::{DECLINED, IO_ERROR};
use zori_contract::exit::Danger;
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, framework};
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::reply::{Effect, Reply};
use zori_core::text::one_line;
use zori_policy::rules::OwnedAnchors;
use zori_vault::{VaultError, VaultFile, VaultPlace};

use self::questions::Agreed;
use super::{Context, example};
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::config::{Config, added_rule, server_table, set_key};
use zori_setup::error::BASE_UNUSABLE;
use zori_setup::import::{self, AGENTS, GROUPS, Plan, PlannedServer, homes};
use zori_setup::private_file;
use zori_setup::settings::root;
use zori_setup::vault;

const FROM: Flag = Flag::valued(
    "from",
    "AGENTS",
    Kind::List(AGENTS),
    "Whose set-up: claude, codex, gemini, opencode, cursor, vscode; all unless given",
);
const ONLY: Flag = Flag::valued(
    "only",
    "GROUPS",
    Kind::List(GROUPS),
    "What of it: servers, instructions, skills, commands, agents, rules; all unless given",
);
const STORE_SECRETS: Flag = Flag::switch(
    "store-secrets",
    "Put secrets that stand in their files into the vault; without it such a server is added switched off",
);

/// The servers alone, for whoever looks for them beside the other commands about servers (MCP-90).
pub const SERVERS: Command<App> = Command {
    flags: const { &[FROM, STORE_SECRETS] },
    examples: &[
        example("which there are", "zori mcp import --dry-run"),
        example("those of one agent", "zori mcp import --from claude --yes"),
    ],
    path: &["mcp", "import"],
    about: "Take over the MCP servers of other agents; `import` takes over the rest",
    ..COMMAND
};

/// It changes nothing of the other agents, but brings their servers and rules in, so somebody has to agree.
pub const COMMAND: Command<App> = Command {
    flags: const { &[FROM, ONLY, STORE_SECRETS] },
    danger: Danger::Mutating,
    asks: true,
    asks_itself: true,
    preview: Some(|cx, args| Ok(preview(&Import::read(cx, args)?.plan))),
    dry_run: Some(|cx, args| {
        let import = Import::read(cx, args)?;
        let mut data = preview(&import.plan).data();
        data["left_out"] = json!(lines(&import.plan.notes));
        Ok(Reply::one(data).text(shown::all(&import.plan, &import.missing)))
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
    declares: r#"{"interactive":true,"headless_supported":true,"filesystem_side_effects":[
        {"path":"$ZORI_HOME/config.toml","type":"config"},{"path":"$ZORI_HOME/vault.age","type":"credential"},
        {"path":"$ZORI_HOME/import-told","type":"cache"}]}"#,
    ..Command::new(
        &["import"],
        "Take over servers, skills, commands, instructions and rules of other agents",
        run,
    )
};

/// What could be taken over, and where it would go.
struct Import {
    plan: Plan,
    config: Config,
    /// What each server lacks here, in the order of the servers.
    missing: Vec<Vec<String>>,
}

impl Import {
    fn read(cx: &Context<'_>, args: &Args) -> Result<Self, Failure> {
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
        let anchors = OwnedAnchors {
            home: Some(home.clone()),
            workspace: root.clone(),
            rule_root: data_dir.dir().to_owned(),
        };
        let plan = homes::read(&home, &root, &chosen(&FROM, AGENTS));
        let groups = match cx.command.path == SERVERS.path {
            true => vec!["servers"],
            false => chosen(&ONLY, GROUPS),
        };
        let place = data_dir.vault();
        let vault = if place.is_made() { VaultFile::open(&place).ok() } else { None };
        let has_entry = |entry: &str| vault.as_ref().is_some_and(|vault| vault.get(entry).is_some());
        let managed = Config::load(cx.app.managed_config(), "")?.mcp_servers;
        let mut plan = plan.only(&groups).without_known(&config, managed.as_ref(), has_entry);
        if !args.has(&STORE_SECRETS) && !cx.mode.interactive {
            // Nobody can say that they may be stored.
            for server in std::mem::take(&mut plan.waiting) {
                plan.notes.extend(switched_off(&server, false, false, cx));
            }
        }
        let plan = plan.without_bad_rules(&anchors);
        let missing = |server| shown::missing(server, &cx.app.env, vault.as_ref(), cx.program.name);
        let missing = plan.servers.iter().map(missing).collect();
        Ok(Self { plan, config, missing })
    }
}

fn preview(plan: &Plan) -> Preview {
    let waiting = plan.waiting.iter().map(PlannedServer::stored_line);
    let items: Vec<String> = plan.lines().into_iter().chain(waiting).collect();
    Preview { verb: "import", items: lines(&items), reversible: true }
}

fn lines(all: &[String]) -> Vec<String> {
    all.iter().map(|line| one_line(line).into_owned()).collect()
}

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let import = Import::read(cx, args)?;
    let place = cx.app.data_dir()?.vault();
    let nothing = import.plan.is_empty();
    let agreed = if nothing {
        Agreed { plan: import.plan, store_secrets: false, make_vault: false }
    } else if args.has(&framework::YES) {
        let mut plan = import.plan;
        if !plan.allow.is_empty() {
            plan.notes.push(format!(
                "rules that let something run are left out ({}): on a terminal, `{} import` asks about each",
                plan.allow.len(),
                cx.program.name
            ));
            plan.allow.clear();
        }
        Agreed { plan, store_secrets: args.has(&STORE_SECRETS), make_vault: false }
    } else if cx.mode.interactive {
        questions::ask(cx, import.plan, &import.missing, &place, args.has(&STORE_SECRETS))
            .ok_or_else(|| Failure::new(&DECLINED, "nothing was changed, as you said"))?
    } else {
        let affected = preview(&import.plan).would_affect();
        let mut failure = Failure::confirmation_required(&cx.command.name(), cx.command.danger, affected);
        failure.facts.hints = vec!["add `--yes`, or look first with `--dry-run`".to_owned()];
        return Err(failure);
    };
    write(cx, agreed, &import.config, &place)
}

/// Writes what somebody agreed to: the vault first, then the config file in one step. What it would say is known before either.
fn write(cx: &Context<'_>, agreed: Agreed, config: &Config, place: &VaultPlace) -> Result<Reply, Failure> {
    let Agreed { plan, store_secrets, make_vault } = agreed;
    let path = cx.app.data_dir()?.config();
    let failed = |why: String| {
        Failure::new(&IO_ERROR, format!("the config file {} was not changed: {why}", path.display()))
    };
    let of_vault = |error: VaultError| vault::failure(&error, cx.program.name);
    let allowed = plan.allow.iter().map(|rule| format!("permissions.allow += {rule}"));
    let (mut done, mut notes) = (plan.lines(), plan.notes.clone());
    done.extend(allowed);
    let has_vault = place.is_made() || make_vault;
    let mut servers = Vec::new();
    for server in &plan.servers {
        let mut table = server.table.clone();
        if let Some(note) = switched_off(server, store_secrets, has_vault, cx) {
            table.insert("enabled".to_owned(), json!(false));
            notes.push(note);
        }
        servers.push((&server.name, table));
    }
    let off = |server: &PlannedServer| switched_off(server, store_secrets, has_vault, cx);
    notes.extend(plan.waiting.iter().filter_map(off));
    let waited: Vec<&PlannedServer> = plan.waiting.iter().filter(|server| off(server).is_none()).collect();
    done.extend(waited.iter().map(|server| server.stored_line()));
    let lists = lists(&plan, config);
    let changed = |text: &str| -> Result<Option<String>, String> {
        let mut new = text.to_owned();
        for (name, table) in &servers {
            new = server_table::with_table(&new, name, table, &path)?;
        }
        for server in &waited {
            new = server_table::switched_on(&new, &server.name, &path)?;
        }
        for (key, all) in &lists {
            new = with_list(&new, key, all, &path)?;
        }
        Ok(Some(new).filter(|new| new != text))
    };
    // A file that cannot be changed is found out before a secret is stored for it.
    changed(&fs::read_to_string(&path).unwrap_or_default()).map_err(failed)?;
    if store_secrets && has_vault {
        if !place.is_made() {
            VaultFile::init(place, false).map_err(of_vault)?;
        }
        for (entry, value) in plan.servers.iter().chain(&plan.waiting).flat_map(|server| &server.secrets) {
            match VaultFile::set(place, entry, value, false) {
                // Nothing is overwritten.
                Err(VaultError::EntryExists(_)) => {
                    notes.push(format!("the vault has {entry} already, which stays as it is"));
                }
                stored => drop(stored.map_err(of_vault)?),
            }
        }
    }
    added_rule::change(&path, changed).map_err(failed)?;
    if !done.is_empty() {
        // Whoever took something over need not be told that there is something; if it cannot be remembered, they are.
        let _ = private_file::write(&cx.app.data_dir()?.dir().join(import::TOLD), b"it was taken over\n");
    }
    let (done, notes) = (lines(&done), lines(&notes));
    let mut text = String::new();
    done.iter().for_each(|line| text.push_str(&format!("Imported {line}\n")));
    notes.iter().for_each(|line| text.push_str(&format!("Note: {line}\n")));
    if done.is_empty() {
        text.push_str("There is nothing to import.\n");
    }
    let effect = if done.is_empty() { Effect::Noop } else { Effect::Updated };
    let data: Value = json!({"imported": done, "left_out": notes});
    Ok(Reply::changed(effect, data).text(text))
}

/// Returns each list of the config that grows, with all that it has then.
fn lists(plan: &Plan, config: &Config) -> Vec<(&'static str, Vec<String>)> {
    let mut lists: Vec<(&'static str, Vec<String>)> = Vec::new();
    let allow = plan.allow.iter().map(|rule| ("permissions.allow", rule));
    for (key, value) in plan.entries.iter().map(|entry| (entry.key, &entry.value)).chain(allow) {
        match lists.iter_mut().find(|(known, _)| *known == key) {
            Some((_, values)) => values.push(value.clone()),
            None => {
                let known = config.list(key).unwrap_or_default().into_iter().map(|(text, _)| text.to_owned());
                lists.push((key, known.chain([value.clone()]).collect()));
            }
        }
    }
    lists
}

/// Returns the text of a config file with a list set, whose key is a table and a name.
fn with_list(text: &str, key: &str, all: &[String], path: &Path) -> Result<String, String> {
    let (table, name) = key.split_once('.').unwrap_or(("", key));
    let quoted: Vec<String> =
        all.iter().map(|text| serde_json::to_string(text).expect("a string is JSON")).collect();
    let new = set_key::with_key(text, table, name, &format!("[{}]", quoted.join(", ")), path)?;
    Ok(new.unwrap_or_else(|| text.to_owned()))
}

/// Says that a server is switched off, and why: its secrets are nowhere.
fn switched_off(server: &PlannedServer, store: bool, has_vault: bool, cx: &Context<'_>) -> Option<String> {
    let program = cx.program.name;
    let why = match (server.secrets.is_empty(), store, has_vault) {
        (true, ..) | (_, true, true) => return None,
        // It was so where it was found.
        _ if server.is_off() => return None,
        (_, false, _) => format!(
            "its secrets were not stored; `{program} import --store-secrets` stores them and switches it on"
        ),
        (_, true, false) => format!(
            "its secrets belong into a vault, and there is none; `{program} vault init` makes one, and \
             `{program} import --store-secrets` stores them and switches it on"
        ),
    };
    Some(format!("MCP server {} is switched off: {why}", server.name))
}
