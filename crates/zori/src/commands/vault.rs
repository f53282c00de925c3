//! `vault init|set|get|list|rm|which|rekey`: secrets in the vault (VLT-4). No value is ever an argument.

mod value_input;

use serde_json::{Value, json};
use zori_auth::grant::Grant;
use zori_auth::store::StoreError;
use zori_contract::args::Args;
use zori_contract::command::{Command, StdinInput};
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::{Failure, Issue, IssueCode};
use zori_contract::flag::{Flag, Positional};
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::path::AbsPath;
use zori_contract::reply::{Effect, Reply};
use zori_contract::warning::Warning;
use zori_core::secret::{REDACTED, Secrets};
use zori_vault::file::is_name;
use zori_vault::{VaultError, VaultFile, VaultPlace};

use super::{Context, example};
use zori_setup::app::App;
use zori_setup::config::Config;
use zori_setup::credentials;
use zori_setup::error::{CREDENTIAL_STORE_UNAVAILABLE, VAULT_ENTRY_EXISTS};
use zori_setup::vault;

const NAME: Positional =
    Positional::required("NAME", Kind::Text, "The entry: letters, digits, `_`, `-`, `.` and `:`");
const FORCE: Flag = Flag::switch("force", "Replace what is there; what was there is kept as `.bak`");
const REVEAL: Flag = Flag::switch("reveal", "Print the value also where no person reads it");
const BACKEND: Flag = Flag::valued(
    "backend",
    "WHERE",
    Kind::Choice(&["age", "keyring"]),
    "Where it is kept: the vault's file or the credential store",
)
.default("age");

const CHANGED: &str = r#"{"type":"object","required":["effect"],"properties":{"name":{"type":"string"},
    "backend":{"enum":["env","keyring","age"]},"path":{"type":"string","pattern":"^/"},
    "effect":{"enum":["created","updated","deleted","noop"]}}}"#;

const WRITES: &str = r#"{"filesystem_side_effects":[
    {"path":"$ZORI_HOME/vault.age","type":"credential","clearable_with":"zori vault rm"},
    {"path":"$ZORI_HOME/vault.key","type":"credential"}]}"#;

pub const INIT: Command<App> = Command {
    flags: const { &[FORCE] },
    examples: &[
        example("make it", "zori vault init"),
        example("where it would be", "zori vault init --dry-run"),
    ],
    danger: Danger::Mutating,
    preview: Some(|cx, _| {
        let place = place(cx)?;
        Ok(Preview {
            verb: "create",
            items: vec![place.file.display().to_string(), place.key.display().to_string()],
            reversible: true,
        })
    }),
    exits: &[Exit::Conflict],
    output_schema: CHANGED,
    declares: WRITES,
    ..Command::new(&["vault", "init"], "Make a vault: a file for secrets, and the key that opens it", init)
};

pub const SET: Command<App> = Command {
    args: const { &[NAME] },
    validate: named,
    flags: const { &[FORCE, BACKEND] },
    examples: &[
        example("from a file", "zori vault set ANTHROPIC_API_KEY < key.txt"),
        example("another value", "zori vault set GITHUB_TOKEN --force < token.txt"),
    ],
    danger: Danger::Mutating,
    preview: Some(|_, args| Ok(Preview { verb: "set", items: vec![name(args)], reversible: true })),
    stdin: Some(StdinInput { max_bytes: value_input::MAX_LEN, format: "text", required: true }),
    exits: &[Exit::Conflict, Exit::NotFound],
    timeout_ms: Some(300_000),
    output_schema: CHANGED,
    declares: WRITES,
    ..Command::new(
        &["vault", "set"],
        "Put a secret into the vault; its value comes from standard input, never from an argument",
        set,
    )
};

pub const GET: Command<App> = Command {
    args: const { &[NAME] },
    validate: named,
    flags: const { &[REVEAL] },
    examples: &[
        example("whether it is there", "zori vault get ANTHROPIC_API_KEY"),
        example("for another program", "zori vault get GITHUB_TOKEN --reveal --output plain"),
    ],
    exits: &[Exit::NotFound],
    output_schema: r#"{"type":"object","required":["name","backend","value"],"properties":{"name":{"type":"string"},
        "backend":{"enum":["env","keyring","age"]},"value":{"type":"string"},"_trusted":{"const":false}}}"#,
    ..Command::new(&["vault", "get"], "Show a secret at a terminal, or with `--reveal`", get)
};

pub const LIST: Command<App> = Command {
    list: true,
    id_field: Some("name"),
    columns: &["name", "backend"],
    examples: &[
        example("every entry", "zori vault list"),
        example("as a table", "zori vault list --output table"),
    ],
    output_schema: r#"{"type":"array","items":{"type":"object","required":["name","backend"]}}"#,
    ..Command::new(&["vault", "list"], "List the entries of the vault's file, without their values", list)
};

pub const REMOVE: Command<App> = Command {
    args: const { &[NAME] },
    validate: named,
    flags: const { &[BACKEND] },
    examples: &[
        example("after a question", "zori vault rm OLD_TOKEN"),
        example("without one", "zori vault rm OLD_TOKEN --yes"),
    ],
    danger: Danger::Destructive,
    preview: Some(|cx, args| {
        let items = has_entry(cx, args)?.then(|| name(args)).into_iter().collect();
        Ok(Preview { verb: "delete", items, reversible: false })
    }),
    timeout_ms: Some(300_000),
    output_schema: CHANGED,
    declares: WRITES,
    ..Command::new(&["vault", "rm"], "Remove a secret from the vault", remove)
};

pub const WHICH: Command<App> = Command {
    args: const { &[NAME] },
    validate: named,
    examples: &[
        example("who answers", "zori vault which ANTHROPIC_API_KEY"),
        example("as a program sees it", "zori vault which ANTHROPIC_API_KEY --output json"),
    ],
    exits: &[Exit::NotFound],
    output_schema: r#"{"type":"object","required":["name","backend"],"properties":{"name":{"type":"string"},
        "backend":{"enum":["env","keyring","age"]}}}"#,
    ..Command::new(&["vault", "which"], "Say which backend answers a reference: env, keyring or age", which)
};

pub const REKEY: Command<App> = Command {
    examples: &[
        example("after a question", "zori vault rekey"),
        example("without one", "zori vault rekey --yes"),
    ],
    danger: Danger::Mutating,
    asks: true,
    preview: Some(|cx, _| {
        let key = place(cx)?.key.display().to_string();
        Ok(Preview { verb: "replace", items: vec![key], reversible: true })
    }),
    timeout_ms: Some(300_000),
    output_schema: CHANGED,
    declares: WRITES,
    ..Command::new(&["vault", "rekey"], "Give the vault another key; the old one is kept as `.bak`", rekey)
};

fn init(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let place = place(cx)?;
    let existed = place.is_made();
    match VaultFile::init(&place, args.has(&FORCE)) {
        Ok(()) => {}
        Err(error @ VaultError::Exists(_)) => {
            let mut failure = failure(cx, &error);
            failure = failure.field("path", place.file.display().to_string());
            return Err(failure);
        }
        Err(error) => return Err(failure(cx, &error)),
    }
    let (file, key) = (place.file.display().to_string(), place.key.display());
    let text = format!("Made the vault {file}\nIts key is {key}: keep a copy of both, apart from each other");
    let effect = if existed { Effect::Updated } else { Effect::Created };
    Ok(Reply::changed(effect, json!({"path": file})).text(text))
}

fn set(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let name = name(args);
    let (config, keyring) = (config(cx)?, in_keyring(args));
    let place = place(cx)?;
    if !keyring && !place.is_made() {
        return Err(failure(cx, &VaultError::Missing(place.file)));
    }
    let value = value_input::read(cx, args, &name)?;
    let replaced = if keyring {
        let store = store(cx, &config)?;
        let account = vault::store_account(&name);
        let old = store.get(&account, zori_auth::store::WRITE).map_err(|error| unusable(&error))?;
        if old.is_some() && !args.has(&FORCE) {
            let message = format!("the credential store has an entry `{name}` already");
            return Err(Failure::new(&VAULT_ENTRY_EXISTS, message).hint("`--force` replaces it"));
        }
        store.set(&account, &Grant::api_key(value.clone())).map_err(|error| unusable(&error))?;
        old.is_some()
    } else {
        VaultFile::set(&place, &name, &value, args.has(&FORCE)).map_err(|error| failure(cx, &error))?
    };
    let (effect, verb) = if replaced { (Effect::Updated, "Replaced") } else { (Effect::Created, "Stored") };
    let reply = Reply::changed(effect, json!({"name": name, "backend": backend(keyring)}))
        .text(format!("{verb} {name}"));
    Ok(match value.is_too_short() {
        true => {
            let what =
                format!("the value of {name} is so short that it is not taken out of logs and answers");
            reply.warn(Warning::new("SECRET_TOO_SHORT", what))
        }
        false => reply,
    })
}

fn get(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let name = name(args);
    let resolver = vault::resolver(&config(cx)?, &cx.app.env, Secrets::default());
    let (backend, value) = match resolver.find(&name) {
        Ok(Some(found)) => found,
        Ok(None) => return Err(failure(cx, &VaultError::NoEntry(name))),
        Err(error) => return Err(failure(cx, &error)),
    };
    let shown = match cx.inputs.stdout_terminal || args.has(&REVEAL) {
        true => value.reveal(),
        false => REDACTED,
    };
    // Whoever asked for it gets it as it is, also if it looks like a secret.
    let data = json!({"name": name, "backend": backend.as_str(), "value": shown, "_trusted": false});
    Ok(Reply::one(data).text(shown.to_owned()))
}

fn list(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let place = place(cx)?;
    let file = VaultFile::open(&place).map_err(|error| failure(cx, &error))?;
    let names: Vec<String> = file.names().map(str::to_owned).collect();
    let text = match names.is_empty() {
        true => "The vault is empty.\n".to_owned(),
        false => names.iter().map(|name| format!("{name}\n")).collect(),
    };
    Ok(Reply::rows(names.into_iter().map(|name| json!({"name": name, "backend": "age"}))).text(text))
}

/// Returns whether there is something to remove.
fn has_entry(cx: &Context<'_>, args: &Args) -> Result<bool, Failure> {
    let name = name(args);
    if in_keyring(args) {
        let (store, account) = (store(cx, &config(cx)?)?, vault::store_account(&name));
        let found = store.get(&account, zori_auth::store::WRITE).map_err(|error| unusable(&error))?;
        return Ok(found.is_some());
    }
    let file = VaultFile::open(&place(cx)?).map_err(|error| failure(cx, &error))?;
    Ok(file.names().any(|entry| entry == name))
}

fn remove(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (name, keyring) = (name(args), in_keyring(args));
    let removed = if keyring {
        let (store, account) = (store(cx, &config(cx)?)?, vault::store_account(&name));
        let there = store.get(&account, zori_auth::store::WRITE).map_or(true, |found| found.is_some());
        store.erase(&account).map_err(|error| unusable(&error))?;
        there
    } else {
        VaultFile::remove(&place(cx)?, &name).map_err(|error| failure(cx, &error))?
    };
    let (effect, text) = match removed {
        true => (Effect::Deleted, format!("Removed {name}")),
        false => (Effect::Noop, format!("There is no entry {name}")),
    };
    Ok(Reply::changed(effect, json!({"name": name, "backend": backend(keyring)})).text(text))
}

fn which(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let name = name(args);
    let resolver = vault::resolver(&config(cx)?, &cx.app.env, Secrets::default());
    match resolver.find(&name) {
        Ok(Some((backend, _))) => {
            let backend = backend.as_str();
            Ok(Reply::one(json!({"name": name, "backend": backend})).text(backend))
        }
        Ok(None) => Err(failure(cx, &VaultError::NoEntry(name))),
        Err(error) => Err(failure(cx, &error)),
    }
}

fn rekey(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let place = place(cx)?;
    VaultFile::rekey(&place).map_err(|error| failure(cx, &error))?;
    let path = place.file.display().to_string();
    let text = format!("Gave the vault another key: {}", place.key.display());
    Ok(Reply::changed(Effect::Updated, json!({"path": path})).text(text))
}

/// Checks the name. One that is none is not said back: somebody may have typed a value (VLT-4).
fn named(args: &Args, _: &AbsPath) -> Vec<Issue> {
    let bad = args.text(&NAME).is_some_and(|name| !is_name(name));
    let issue = || {
        Issue::new("NAME", IssueCode::InvalidValue, VaultError::BadName.to_string())
            .suggest("a value is never an argument: `zori vault set NAME < file`")
    };
    bad.then(issue).into_iter().collect()
}

fn name(args: &Args) -> String {
    args.text(&NAME).unwrap_or_default().to_owned()
}

fn in_keyring(args: &Args) -> bool {
    args.text(&BACKEND) == Some("keyring")
}

fn backend(keyring: bool) -> Value {
    json!(if keyring { "keyring" } else { "age" })
}

fn config(cx: &Context<'_>) -> Result<Config, Failure> {
    cx.app.data_dir()?.read_config()
}

fn place(cx: &Context<'_>) -> Result<VaultPlace, Failure> {
    Ok(cx.app.data_dir()?.vault())
}

fn failure(cx: &Context<'_>, error: &VaultError) -> Failure {
    vault::failure(error, cx.program.name)
}

fn store(
    cx: &Context<'_>,
    config: &Config,
) -> Result<std::sync::Arc<dyn zori_auth::store::CredentialStore>, Failure> {
    credentials::open_store(config, &cx.app.env).map_err(|error| unusable(&error))
}

fn unusable(error: &StoreError) -> Failure {
    Failure::new(&CREDENTIAL_STORE_UNAVAILABLE, error.to_string())
        .hint("without `--backend keyring` it is kept in the vault's file")
}
