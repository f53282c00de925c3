//! `project list|show|purge`: folders that something is kept of (`docs/contracts/project.md`).

pub mod purge;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::json;
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::failure::Failure;
use zori_contract::reply::Reply;
use zori_core::text::{counted, one_line};
use zori_host::{MemoryPlace, begun_in};
use zori_index::{Database, project_key, projects};
use zori_store::SessionDir;

use super::memory::place_of;
use super::{Context, example};
use zori_setup::app::App;
use zori_setup::error::BASE_UNUSABLE;
use zori_setup::find_session::unreadable;
use zori_setup::memory::unusable;
use zori_setup::project_state::{ProjectState, Unclear, words};

pub const LIST: Command<App> = Command {
    list: true,
    id_field: Some("key"),
    columns: &["key", "root", "sessions", "messages", "jobs", "exists"],
    examples: &[
        example("the folders that something is kept of", "zori project list"),
        example("those that are gone", "zori project list --limit 0 --output json"),
    ],
    output_schema: r#"{"type":"array","x-ordered":true,"items":{"type":"object",
        "required":["key","root","sessions","messages","jobs","exists"]}}"#,
    ..Command::new(&["project", "list"], "List the folders that something is kept of", list)
};

pub const SHOW: Command<App> = Command {
    examples: &[
        example("what is kept of this folder", "zori project show"),
        example("of another one", "zori project show --cwd ../other"),
    ],
    output_schema: r#"{"type":"object","required":["root","name","key","counts"]}"#,
    ..Command::new(&["project", "show"], "Show what is kept of the project of this folder", show)
};

/// What is known of a project.
#[derive(Default)]
struct Listed {
    root: Option<PathBuf>,
    sessions: u64,
    messages: u64,
    jobs: u64,
}

/// Lists projects by their roots; those whose root nobody knows any more come last.
fn list(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let (data_dir, place) = (cx.app.data_dir()?, place_of(cx)?);
    let mut found: BTreeMap<String, Listed> = BTreeMap::new();
    let database =
        Database::read_existing(&place.database, &place.scratch).map_err(|error| unusable(&error))?;
    let rows = database.map(|database| projects(&database)).transpose().map_err(|error| unusable(&error))?;
    for row in rows.unwrap_or_default() {
        let (messages, jobs) = (row.messages, row.jobs);
        found.insert(row.key, Listed { root: Some(row.root.into()), sessions: 0, messages, jobs });
    }
    for root in session_roots(&place)? {
        let root = place.project_of(&root).to_owned();
        let listed = found.entry(project_key(&root)).or_default();
        listed.sessions += 1;
        listed.root = Some(root);
    }
    for entry in std::fs::read_dir(data_dir.dir().join("projects")).into_iter().flatten().flatten() {
        if let Ok(key) = entry.file_name().into_string() {
            found.entry(key).or_default();
        }
    }
    let mut found: Vec<_> = found.into_iter().collect();
    found.sort_by(|a, b| (a.1.root.is_none(), &a.1.root, &a.0).cmp(&(b.1.root.is_none(), &b.1.root, &b.0)));
    let exists = |listed: &Listed| listed.root.as_deref().is_some_and(Path::is_dir);
    let line = |(key, listed): &(String, Listed)| {
        let root = listed
            .root
            .as_ref()
            .map_or("(unknown)".into(), |root| one_line(&root.to_string_lossy()).into_owned());
        let gone = if exists(listed) { "" } else { "  (gone)" };
        let Listed { sessions, messages, jobs, .. } = listed;
        let (sessions, jobs) = (counted(*sessions, "session"), counted(*jobs, "job"));
        format!("{key}  {root}{gone}  {sessions}, {}, {jobs}\n", counted(*messages, "recallable message"))
    };
    let text = match found.is_empty() {
        true => "Nothing is kept of any project.".to_owned(),
        false => found.iter().map(line).collect(),
    };
    let rows = found.iter().map(|(key, listed)| {
        json!({"key": key, "root": listed.root, "sessions": listed.sessions, "messages": listed.messages,
            "jobs": listed.jobs, "exists": exists(listed)})
    });
    Ok(Reply::rows(rows).text(text))
}

/// Returns the folder that each session was begun in.
fn session_roots(place: &MemoryPlace) -> Result<Vec<PathBuf>, Failure> {
    let sessions = SessionDir::new(place.sessions.clone());
    let listed = sessions.list().map_err(unreadable)?;
    Ok(listed.into_iter().filter_map(|entry| begun_in(&sessions, &entry.id)).collect())
}

fn show(cx: &mut Context<'_>, _: &Args) -> Result<Reply, Failure> {
    let data_dir = cx.app.data_dir()?;
    let state = state(cx)?;
    let counts = state.counts(true);
    let root = state.place.project.display().to_string();
    let text =
        format!("{}: {}; {}", one_line(&root), words(&counts), counted(state.kept.jobs, "scheduled job"));
    let counted: serde_json::Map<_, _> =
        counts.iter().map(|(kind, count)| ((*kind).into(), json!(count))).collect();
    let data = json!({"root": root, "name": state.name(), "key": project_key(&state.place.project), "counts": counted,
        "left_by_purge": state.left(&data_dir, true)});
    Ok(Reply::one(data).text(text))
}

fn state(cx: &Context<'_>) -> Result<ProjectState, Failure> {
    let data_dir = cx.app.data_dir()?;
    let folder = cx.cwd.as_path().canonicalize().map_err(|error| {
        Failure::new(&BASE_UNUSABLE, format!("the folder {} cannot be used: {error}", cx.cwd))
    })?;
    ProjectState::look(&data_dir, &folder, cx.app.env.temp_dir()).map_err(|unclear| match unclear {
        Unclear::Folder(error) => Failure::new(&BASE_UNUSABLE, format!("cannot read {error}")),
        Unclear::Database(error) => unusable(&error),
        Unclear::Undo(error) => Failure::new(&BASE_UNUSABLE, error.to_string()),
    })
}
