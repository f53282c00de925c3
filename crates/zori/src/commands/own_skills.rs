//! `skills list|show|validate|trust`: what skills there are, and whether they are as their format says (SK-9).

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::Positional;
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::reply::{Effect, Reply};
use zori_contract::warning::Warning;
use zori_core::text::one_line;
use zori_extensions::built_in::{BUILT_IN, BuiltInSkill};
use zori_extensions::command::Origin;
use zori_extensions::skill::{self, MAX_BYTES, Skill};
use zori_extensions::skill_folder;

use super::{Context, example, ui};
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::error::{SETTING_INVALID, SKILL_INVALID, SKILL_NOT_FOUND};
use zori_setup::extensions::{self, Folders};
use zori_setup::settings::root;
use zori_setup::trust::project::Project;
use zori_setup::trust::store::{self, Entry, TrustState, TrustStore};
use zori_setup::{audit, trust};

const NAME: Positional = Positional::required("NAME", Kind::Text, "The skill");
const DIR: Positional =
    Positional::required("DIR", Kind::Path, "The folder of the skill, or a folder of such folders");

pub const LIST: Command<App> = Command {
    list: true,
    id_field: Some("name"),
    columns: &["name", "origin", "counts", "description"],
    examples: &[
        example("every skill", "zori skills list"),
        example("as a table", "zori skills list --output table"),
    ],
    output_schema: r#"{"type":"array","items":{"type":"object","required":["name","description","origin","counts","path"]}}"#,
    ..Command::new(&["skills", "list"], "List the skills of this folder and of yours", list)
};

pub const SHOW: Command<App> = Command {
    args: const { &[NAME] },
    examples: &[
        example("what a model would read", "zori skills show pdf"),
        example("as a program sees it", "zori skills show pdf --output json"),
    ],
    exits: &[Exit::NotFound],
    output_schema: r#"{"type":"object","required":["name","description","origin","counts","path","body","files"]}"#,
    ..Command::new(&["skills", "show"], "Show what a skill says, and the files beside it", show)
};

pub const VALIDATE: Command<App> = Command {
    args: const { &[DIR] },
    examples: &[
        example("one skill", "zori skills validate skills/pdf"),
        example("all of a folder", "zori skills validate skills"),
    ],
    exits: &[Exit::NotFound],
    output_schema: r#"{"type":"object","required":["skills"],"properties":{"skills":{"type":"array","x-ordered":true,
        "items":{"type":"object","required":["path","ok","remarks"]}}}}"#,
    standalone: true,
    ..Command::new(&["skills", "validate"], "Check that skills are as their format says", validate)
};

/// It lets a model read instructions of others, so somebody has to agree.
pub const TRUST: Command<App> = Command {
    args: const { &[NAME] },
    danger: Danger::Mutating,
    asks: true,
    preview: Some(|cx, args| {
        let (project, at) = of_project(cx, args)?;
        let (skill, _) = &project.skills[at];
        let what = format!("{}: {}", skill.name, skill.description);
        Ok(Preview { verb: "trust", items: vec![one_line(&what).into_owned()], reversible: true })
    }),
    exits: &[Exit::NotFound],
    timeout_ms: Some(300_000),
    examples: &[
        example("after a question", "zori skills trust pdf"),
        example("without one", "zori skills trust pdf --yes"),
    ],
    output_schema: r#"{"type":"object","required":["effect"],"properties":{"name":{"type":"string"},
        "path":{"type":"string","pattern":"^/"},"effect":{"enum":["updated","noop"]}}}"#,
    declares: r#"{"filesystem_side_effects":[{"path":"$ZORI_HOME/trust.json","type":"config"},{"path":"$ZORI_HOME/trust.lock","type":"temp"}]}"#,
    ..Command::new(&["skills", "trust"], "Approve a skill of this folder, as it is now", approve)
};

/// A skill, and whether a run here would use it.
struct Listed {
    skill: Skill,
    counts: bool,
}

/// Returns all skills, and what is wrong with those that are skipped or odd.
fn all(cx: &Context<'_>, args: &Args) -> Result<(Vec<Listed>, Vec<String>), Failure> {
    let (data_dir, root) = (cx.app.data_dir()?, root(&LowArgs::new(args))?);
    let project = Project::load(&root)?;
    let store = TrustStore::load(Some(&data_dir));
    let entry = store.effective_entry(&root).filter(|entry| entry.state == TrustState::Trusted);
    let counts =
        |digest: &String| project.insecure.is_none() && entry.is_some_and(|entry| entry.run.contains(digest));
    let listed = |(skill, digest): &(Skill, String)| Listed { skill: skill.clone(), counts: counts(digest) };
    let mut found: Vec<Listed> = project.skills.iter().map(listed).collect();
    let (config, home) = (data_dir.read_config()?, cx.app.env.home());
    let folders = Folders { data_dir: Some(&data_dir), home: home.as_deref(), root: &root };
    let mut warnings = project.skill_warnings.clone();
    let (skills, theirs): (Vec<_>, Vec<_>) = extensions::user_skills(&config, &folders)
        .into_iter()
        .map(|found| (found.skills, found.warnings))
        .unzip();
    warnings.extend(theirs.into_iter().flatten());
    for skill in skills.into_iter().flatten() {
        // The first of a name that counts hides those behind it.
        let counts = !found.iter().any(|known| known.counts && known.skill.name == skill.name);
        found.push(Listed { skill, counts });
    }
    for own in BUILT_IN {
        let counts = !found.iter().any(|known| known.counts && known.skill.name == own.name);
        found.push(Listed { skill: built_in(own), counts });
    }
    Ok((found, warnings))
}

/// Returns a skill of the program as one of a folder, which it does not have.
fn built_in(own: &BuiltInSkill) -> Skill {
    Skill {
        name: own.name.to_owned(),
        description: own.about.to_owned(),
        triggers: Vec::new(),
        folder: PathBuf::new(),
        origin: Origin::BuiltIn,
        requires: Vec::new(),
        secrets: Vec::new(),
        by_person_only: true,
        args: String::new(),
        remarks: Vec::new(),
    }
}

fn row(Listed { skill, counts }: &Listed) -> Value {
    let path = (skill.origin != Origin::BuiltIn).then(|| skill.folder.display().to_string());
    json!({
        "name": skill.name,
        "description": skill.description,
        "origin": skill.origin.as_str(),
        "counts": counts,
        "path": path,
        "_trusted": skill.origin != Origin::Project,
    })
}

fn list(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (found, warnings) = all(cx, args)?;
    let line = |listed: &Listed| {
        let Skill { name, description, origin, .. } = &listed.skill;
        let fate = match (listed.counts, origin) {
            (true, Origin::BuiltIn) => " (built-in, by its slash only)",
            (true, _) => "",
            (false, Origin::Project) => " (not approved: `zori skills trust`)",
            (false, _) => " (hidden by another of this name)",
        };
        format!("{}{fate}: {}\n", one_line(name), one_line(description))
    };
    let text: String = found.iter().map(line).collect();
    let reply = Reply::rows(found.iter().map(row).collect::<Vec<_>>()).text(text);
    Ok(warnings.into_iter().fold(reply, |reply, why| reply.warn(Warning::new("SKILL_ODD", why))))
}

fn show(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let name = args.text(&NAME).unwrap_or_default();
    let (found, _) = all(cx, args)?;
    let listed = found
        .iter()
        .filter(|listed| listed.skill.name == name)
        .max_by_key(|listed| listed.counts)
        .ok_or_else(|| not_found(name))?;
    if let Some(own) = BUILT_IN.iter().find(|own| own.name == name && listed.skill.origin == Origin::BuiltIn)
    {
        let mut data = row(listed);
        (data["body"], data["files"]) = (json!(own.body.trim_end()), json!([]));
        return Ok(Reply::one(data).text(own.body.to_owned()));
    }
    let file = listed.skill.file();
    let unreadable = |why: String| Failure::new(&SKILL_INVALID, format!("{} {why}", file.display()));
    let bytes = skill_folder::read_head(&file, MAX_BYTES).map_err(unreadable)?.unwrap_or_default();
    let body = skill::body(&bytes).map_err(unreadable)?;
    let files: Vec<String> = skill_folder::files(&listed.skill.folder, 200)
        .iter()
        .map(|file| file.display().to_string())
        .collect();
    let mut text = format!("{body}\n");
    files.iter().for_each(|file| text.push_str(&format!("- {file}\n")));
    let mut data = row(listed);
    data["body"] = json!(body);
    data["files"] = json!(files);
    Ok(Reply::one(data).text(text))
}

fn validate(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let given = args.text(&DIR).unwrap_or_default();
    let dir = PathBuf::from(cx.cwd.join(given).to_string());
    let folders = match dir.join(skill::FILE).symlink_metadata() {
        Ok(_) => vec![dir.clone()],
        Err(_) => below(&dir),
    };
    if folders.is_empty() {
        let message = format!("there is no {} in {given}, nor in a folder of it", skill::FILE);
        return Err(Failure::new(&SKILL_NOT_FOUND, message));
    }
    let (mut text, mut rows, mut bad) = (String::new(), Vec::new(), Vec::new());
    for folder in folders {
        let file = folder.join(skill::FILE);
        let read = skill_folder::read_head(&file, MAX_BYTES)
            .and_then(|bytes| skill::read(&folder, &bytes.unwrap_or_default(), Origin::User));
        let (ok, remarks) = match read {
            Ok(skill) => (true, skill.remarks),
            Err(why) => (false, vec![why]),
        };
        let shown = one_line(&file.display().to_string()).into_owned();
        text.push_str(&format!("{shown}: {}\n", if ok && remarks.is_empty() { "fine" } else { &remarks[0] }));
        remarks.iter().skip(1).for_each(|remark| text.push_str(&format!("{shown}: {remark}\n")));
        if !ok {
            bad.push(format!("{shown} {}", remarks[0]));
        }
        rows.push(json!({"path": file.display().to_string(), "ok": ok, "remarks": remarks}));
    }
    match bad.is_empty() {
        true => Ok(Reply::one(json!({"skills": rows})).text(text)),
        false => Err(Failure::new(&SKILL_INVALID, bad.join("; "))),
    }
}

fn below(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries
        .map(|entry| entry.path())
        .filter(|path| path.join(skill::FILE).symlink_metadata().is_ok())
        .collect();
    folders.sort();
    folders
}

/// Approves a skill of the folder. Somebody has agreed before it is called.
fn approve(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let (data_dir, (project, at)) = (cx.app.data_dir()?, of_project(cx, args)?);
    let ((skill, digest), root) = (&project.skills[at], project.root());
    let Some(new) = Entry::new(root, TrustState::Trusted) else {
        let message = format!("{} cannot be remembered: its name is not text", root.display());
        return Err(Failure::new(&SETTING_INVALID, message));
    };
    let mut known = false;
    store::update(&data_dir, root, |old| {
        let mut entry = old.filter(|old| old.state == TrustState::Trusted).unwrap_or(Entry {
            // Nothing else of the folder was shown, so nothing else is approved.
            skip: project.digests().into_iter().filter(|other| other != digest).collect(),
            ..new
        });
        known = entry.run.contains(digest);
        entry.skip.retain(|other| other != digest);
        if !known {
            entry.run.push(digest.clone());
        }
        Some(entry)
    })?;
    audit::trust(
        &data_dir,
        root,
        TrustState::Trusted.as_str(),
        std::slice::from_ref(digest),
        "user",
        &mut ui(cx),
    );
    let effect = if known { Effect::Noop } else { Effect::Updated };
    let data = json!({"name": skill.name, "path": skill.folder.display().to_string()});
    Ok(Reply::changed(effect, data).text(format!("Approved the skill {}", one_line(&skill.name))))
}

/// Returns the folder's own settings and the place of the skill in them.
fn of_project(cx: &Context<'_>, args: &Args) -> Result<(Project, usize), Failure> {
    let name = args.text(&NAME).unwrap_or_default();
    let root = root(&LowArgs::new(args))?;
    let (project, state) = trust::load_project(Some(&cx.app.data_dir()?), &root)?;
    if let Some(why) = &project.insecure {
        return Err(Failure::new(&SETTING_INVALID, format!("{} cannot be trusted: {why}", root.display())));
    }
    if state == Some(TrustState::Untrusted) {
        let message = format!("{} is not trusted, so none of its skills is", root.display());
        return Err(Failure::new(&SETTING_INVALID, message).hint("`zori trust forget` takes that back"));
    }
    // An approval makes the folder one that is trusted, and what has no approval of its own would count unseen.
    let unseen = ["model", "system_prompt"].iter().any(|key| project.text(key).is_some());
    if state.is_none() && unseen {
        let message = format!("{} has other settings, which nobody has decided about yet", root.display());
        return Err(Failure::new(&SETTING_INVALID, message)
            .hint("`zori trust show` lists them, `zori trust allow` trusts the folder"));
    }
    match project.skills.iter().position(|(skill, _)| skill.name == name) {
        Some(at) => Ok((project, at)),
        None => Err(not_found(name)),
    }
}

fn not_found(name: &str) -> Failure {
    Failure::new(&SKILL_NOT_FOUND, format!("there is no skill `{}`", one_line(name)))
        .hint("`zori skills list` shows them all")
}
