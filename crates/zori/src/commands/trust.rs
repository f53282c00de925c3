//! `trust show|allow|deny|forget|list`: what the user says about a folder's own settings (`docs/contracts/trust.md`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::exit::Danger;
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, Positional};
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::reply::{Effect, Reply};
use zori_core::text::one_line;

use super::{Context, example, ui};
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::audit;
use zori_setup::data_dir::DataDir;
use zori_setup::error::{BASE_UNUSABLE, SETTING_INVALID};
use zori_setup::settings::root;
use zori_setup::trust::project::Project;
use zori_setup::trust::store::{self, Entry, TrustState, TrustStore};
use zori_setup::trust::{self, Answer};

const DIR: Positional = Positional::optional("DIR", Kind::Text, "The folder; this one unless given");
const WITHOUT_HOOKS: Flag = Flag::switch("without-hooks", "Trust its settings, and run none of its hooks");
const BELOW: Flag = Flag::switch("below", "Trust this folder and all below it");

const FOLDER: &[Positional] = &[DIR];

/// What is known of a folder after a decision.
const DECIDED: &str = r#"{"type":"object","required":["effect","folder","state"],"properties":{
    "folder":{"type":"string","pattern":"^/"},"state":{"enum":["undecided","trusted","untrusted"]},
    "below":{"type":"boolean"},"effect":{"enum":["updated","deleted","noop"]}}}"#;

/// What they write.
const WRITES: &str = r#"{"filesystem_side_effects":[{"path":"$ZORI_HOME/trust.json","type":"config"},{"path":"$ZORI_HOME/trust.lock","type":"temp"}]}"#;

pub const SHOW: Command<App> = Command {
    args: FOLDER,
    examples: &[
        example("what this folder's settings would do", "zori trust show"),
        example("of another folder", "zori trust show ../other"),
    ],
    output_schema: r#"{"type":"object","required":["folder","state","items"],"properties":{
        "folder":{"type":"string","pattern":"^/"},"state":{"enum":["undecided","trusted","untrusted"]},
        "items":{"type":"array","x-ordered":true,"items":{"type":"object","required":["what","counts"]}},
        "remarks":{"type":"array","x-ordered":true,"items":{"type":"string"}}}}"#,
    ..Command::new(
        &["trust", "show"],
        "Show what a folder's own settings would do, and whether they count",
        show,
    )
};

/// It destroys nothing, but lets programs of others run, so somebody has to agree.
pub const ALLOW: Command<App> = Command {
    args: FOLDER,
    flags: const { &[WITHOUT_HOOKS, BELOW] },
    danger: Danger::Mutating,
    asks: true,
    preview: Some(|cx, args| {
        let (_, folder) = data_dir_and_folder(cx, args)?;
        let mut items = vec![one_line(&folder.display().to_string()).into_owned()];
        let project = trustable(&folder)?;
        items.extend(trust::lines(&project.items()).iter().map(|line| line.trim().to_owned()));
        Ok(Preview { verb: "trust", items, reversible: true })
    }),
    timeout_ms: Some(300_000),
    examples: &[
        example("after a question", "zori trust allow"),
        example("its settings, but not its hooks", "zori trust allow --without-hooks --yes"),
    ],
    output_schema: DECIDED,
    declares: WRITES,
    ..Command::new(&["trust", "allow"], "Trust a folder: its hooks run, its model and prompt count", allow)
};

pub const DENY: Command<App> = Command {
    args: FOLDER,
    danger: Danger::Mutating,
    preview: Some(|cx, args| preview(cx, args, "distrust")),
    examples: &[
        example("this folder", "zori trust deny"),
        example("another one", "zori trust deny ../other"),
    ],
    output_schema: DECIDED,
    declares: WRITES,
    ..Command::new(
        &["trust", "deny"],
        "Do not trust a folder, and ask about changes in it (mode default)",
        deny,
    )
};

pub const FORGET: Command<App> = Command {
    args: FOLDER,
    danger: Danger::Mutating,
    preview: Some(|cx, args| preview(cx, args, "forget")),
    examples: &[
        example("this folder", "zori trust forget"),
        example("another one", "zori trust forget ../other"),
    ],
    output_schema: DECIDED,
    declares: WRITES,
    ..Command::new(&["trust", "forget"], "Forget what was decided about a folder", forget)
};

pub const LIST: Command<App> = Command {
    list: true,
    id_field: Some("folder"),
    columns: &["folder", "state", "below"],
    examples: &[
        example("every decision", "zori trust list"),
        example("as a table", "zori trust list --output table"),
    ],
    output_schema: r#"{"type":"array","items":{"type":"object","required":["folder","state","below"]}}"#,
    ..Command::new(&["trust", "list"], "List the folders that were decided about", list)
};

/// Shows what a folder says, and what was said about it.
fn show(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (data_dir, folder) = data_dir_and_folder(cx, args)?;
    let project = Project::load(&folder)?;
    let store = load(&data_dir)?;
    let entry = store.effective_entry(&folder);
    let mut text = format!("{}: {}\n", one_line(&folder.display().to_string()), state(entry, &folder));
    let mut items = Vec::new();
    let trusted = entry.filter(|entry| entry.state == TrustState::Trusted);
    for hook in &project.hooks {
        let (counts, fate) = match trusted {
            Some(entry) if entry.run.contains(&hook.digest) => (true, "runs"),
            Some(entry) if entry.skip.contains(&hook.digest) => (false, "does not run"),
            Some(_) => (false, "new or changed; does not run"),
            None => (false, "does not run"),
        };
        let line = &trust::lines(&[project.item(hook)])[0];
        let _ = writeln!(text, "{line}: {fate}");
        items.push(json!({"what": line.trim(), "counts": counts}));
    }
    let by_content = project.approvables();
    for item in project.items().iter().filter(|item| item.kind != "hook") {
        let line = &trust::lines(std::slice::from_ref(item))[0];
        let digest = by_content.iter().find(|(_, known)| known == item).map(|(digest, _)| digest);
        let changed = trusted.is_some_and(|entry| digest.is_some_and(|digest| !entry.run.contains(digest)));
        let fate = if changed { ": new or changed; is not used" } else { "" };
        let _ = writeln!(text, "{line}{fate}");
        items.push(json!({"what": line.trim(), "counts": trusted.is_some() && !changed}));
    }
    let error = project.hooks_error.iter().map(|error| format!("cannot be used: {error}"));
    let insecure = project.insecure.iter().map(|why| format!("cannot be trusted: {why}"));
    let remarks: Vec<String> =
        error.chain(insecure).chain(project.warnings()).map(|line| one_line(&line).into_owned()).collect();
    for remark in &remarks {
        let _ = writeln!(text, "  {remark}");
    }
    let state = entry.map_or("undecided", |entry| entry.state.as_str());
    let data =
        json!({"folder": folder.display().to_string(), "state": state, "items": items, "remarks": remarks});
    Ok(Reply::one(data).text(text))
}

/// Trusts a folder. Somebody has agreed before it is called.
fn allow(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (data_dir, folder) = data_dir_and_folder(cx, args)?;
    let project = trustable(&folder)?;
    load(&data_dir)?;
    let below = args.has(&BELOW);
    let answer = match (args.has(&WITHOUT_HOOKS), below) {
        (true, _) => Answer::WithoutPrograms,
        (false, true) => Answer::TrustBelow,
        (false, false) => Answer::Trust,
    };
    let mut entry = trust::record(&data_dir, &project, answer, &mut ui(cx))?;
    if below && !entry.below {
        store::update(&data_dir, &folder, |old| old.map(|old| Entry { below: true, ..old }))?;
        entry.below = true;
    }
    let more = if entry.below { ", and the folders below" } else { "" };
    let text = format!("Trusted {}{more}", one_line(&folder.display().to_string()));
    Ok(Reply::changed(Effect::Updated, decided(&folder, "trusted", entry.below)).text(text))
}

/// Marks a folder as one that is not trusted.
fn deny(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (data_dir, folder) = data_dir_and_folder(cx, args)?;
    // Whatever is in there, it can be distrusted.
    let Some(entry) = Entry::new(&folder, TrustState::Untrusted) else {
        let message = format!("{} cannot be remembered: its name is not text", folder.display());
        return Err(Failure::new(&SETTING_INVALID, message));
    };
    store::update(&data_dir, &folder, |_| Some(entry))?;
    audit::trust(&data_dir, &folder, TrustState::Untrusted.as_str(), &[], "user", &mut ui(cx));
    let shown = one_line(&folder.display().to_string()).into_owned();
    let text = format!("{shown} is not trusted; the mode there is `default` unless you choose one");
    Ok(Reply::changed(Effect::Updated, decided(&folder, "untrusted", false)).text(text))
}

/// Forgets what was said.
fn forget(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (data_dir, folder) = data_dir_and_folder(cx, args)?;
    let shown = one_line(&folder.display().to_string()).into_owned();
    let data = decided(&folder, "undecided", false);
    if load(&data_dir)?.entry(&folder).is_none() {
        return Ok(Reply::changed(Effect::Noop, data).text(format!("Nothing was decided about {shown}")));
    }
    store::update(&data_dir, &folder, |_| None)?;
    audit::trust(&data_dir, &folder, "undecided", &[], "user", &mut ui(cx));
    Ok(Reply::changed(Effect::Deleted, data).text(format!("Forgot what was decided about {shown}")))
}

/// Lists all decisions.
fn list(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let store = load(&cx.app.data_dir()?)?;
    let line = |entry: &Entry| {
        let path = Path::new(&entry.path);
        format!("{}: {}\n", one_line(&entry.path), state(Some(entry), path))
    };
    let text: String = store.entries().iter().map(line).collect();
    let rows = store
        .entries()
        .iter()
        .map(|entry| json!({"folder": entry.path, "state": entry.state.as_str(), "below": entry.below}));
    let text = if text.is_empty() { "No folder was decided about.\n".to_owned() } else { text };
    Ok(Reply::rows(rows).text(text))
}

fn decided(folder: &Path, state: &str, below: bool) -> Value {
    json!({"folder": folder.display().to_string(), "state": state, "below": below})
}

fn preview(cx: &Context<'_>, args: &Args, verb: &'static str) -> Result<Preview, Failure> {
    let (_, folder) = data_dir_and_folder(cx, args)?;
    Ok(Preview { verb, items: vec![folder.display().to_string()], reversible: true })
}

/// Returns what a folder says, if somebody may trust it at all.
fn trustable(folder: &Path) -> Result<Project, Failure> {
    let project = Project::load(folder)?;
    match &project.insecure {
        None => Ok(project),
        Some(why) => {
            let message = format!("{} cannot be trusted: {why}", folder.display());
            Err(Failure::new(&SETTING_INVALID, message)
                .hint("others could change what runs; make the folder `.zori` and its files yours alone"))
        }
    }
}

/// Returns the base directory and the folder in question, canonical.
fn data_dir_and_folder(cx: &Context<'_>, args: &Args) -> Result<(DataDir, PathBuf), Failure> {
    let data_dir = cx.app.data_dir()?;
    let folder = match args.text(&DIR) {
        Some(folder) => match Path::new(folder).canonicalize() {
            Ok(path) if path.is_dir() => path,
            found => {
                let why = found.map_or_else(|error| error.to_string(), |_| "it is not a directory".into());
                let message = format!("the folder `{folder}` cannot be used: {why}");
                return Err(Failure::new(&SETTING_INVALID, message));
            }
        },
        None => root(&LowArgs::new(args))?,
    };
    Ok((data_dir, folder))
}

fn load(data_dir: &DataDir) -> Result<TrustStore, Failure> {
    let store = TrustStore::load(Some(data_dir));
    match &store.load_error {
        None => Ok(store),
        Some(error) => Err(Failure::new(&BASE_UNUSABLE, error.clone())
            .hint("look at the file, and move it away if it is not yours")),
    }
}

fn state(entry: Option<&Entry>, folder: &Path) -> String {
    let Some(entry) = entry else { return "undecided".to_owned() };
    let mut text = entry.state.as_str().to_owned();
    if Path::new(&entry.path) != folder {
        let _ = write!(text, ", because {} is", one_line(&entry.path));
    }
    if entry.below {
        text += ", with the folders below";
    }
    text
}
