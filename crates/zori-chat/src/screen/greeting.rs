//! The first rows and the last (UI-41).

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use zori_core::cost::Spent;
use zori_core::message::{Block, Message};
use zori_core::text::counted;
use zori_host::Session;
use zori_policy::Mode;
use zori_providers::catalog::ProviderFacts;
use zori_store::SessionDir;
use zori_tui::row::{Role, Row, Span};

use super::completions;
use crate::chat::permissions;
use zori_setup::agent_cx::AgentCx;
use zori_setup::environment::Environment;
use zori_setup::settings::{RunSettings, missing_key};
use zori_setup::which_session::begun_in;
use zori_setup::wire_up::Prepared;

/// How many sessions are looked at for the last one of this folder, and how much of it for its title.
const NEWEST: usize = 50;
const BEGINNING: u64 = 64 << 10;

/// Returns the rows that a chat begins with.
pub fn rows(cx: &AgentCx<'_>, prepared: &Prepared, run: &RunSettings) -> Vec<Row> {
    let settings = &prepared.host.settings;
    let (root, mode) = (&settings.workspace.root, settings.permission.policy.mode);
    let branch = zori_store::branch(root).map_or_else(String::new, |branch| format!(" ({branch})"));
    let version = env!("CARGO_PKG_VERSION");
    let mut first = Row::empty().with(Span::new(format!("{} {version}", cx.profile.name)).bold());
    first.push(Span::new(format!(" · {} · {}{branch} · ", settings.model.name, folder(root, &cx.app.env))));
    let shown = mode.shown().to_uppercase();
    match mode.mode {
        Mode::Yolo => {
            first.push(Span::new(format!("{shown}: runs everything")).role(Role::Warning));
            first.push("; Shift-Tab: ask first");
        }
        mode => first.push(format!("{shown}: {}", lower(mode.about()))),
    }
    let mut parts: Vec<String> =
        Some(brought(prepared, run)).filter(|parts| !parts.is_empty()).into_iter().collect();
    if let Some((confinement, holding)) = prepared.host.confinement_of(settings.permission.policy.mode.mode) {
        parts.push(format!("sandbox: {}", confinement.status(holding)));
    }
    match prepared.opened.history.is_empty() {
        true => parts.extend(last_here(run, root, cx.profile.name)),
        false => parts.push(format!("{} loaded", counted(spoken(&prepared.opened.history), "message"))),
    }
    parts.push("? keys".to_owned());
    let mut rows = vec![first];
    match missing_key(&settings.model, &run.key, cx.profile.name) {
        Some(error) => rows.extend(without_key(&error.message, settings.model.facts)),
        None => rows.push(Row::from(Span::new(parts.join(" · ")).muted())),
    }
    if prepared.host.confinement().is_none()
        && permissions::as_root_without_questions(&settings.permission.policy)
    {
        rows.push(Row::from(Span::new(permissions::AS_ROOT).role(Role::Warning)));
    }
    rows
}

/// Returns what the model gets beside the prompt: guidelines, skills, MCP servers.
fn brought(prepared: &Prepared, run: &RunSettings) -> String {
    let settings = &prepared.host.settings;
    let some = |count: usize, noun: &str| (count > 0).then(|| counted(count, noun));
    let guidelines = match run.guidelines.len() {
        0 => None,
        1 => Some("AGENTS.md".to_owned()),
        count => Some(format!("{count} AGENTS.md")),
    };
    let skills = settings.extensions.skills.iter().map(|skills| skills.all().count()).sum();
    let servers = settings.mcp.servers.len();
    [guidelines, some(skills, "skill"), some(servers, "MCP server")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(", ")
}

/// Returns what was asked last in this folder, and how to go on with it. It looks at the newest sessions only.
fn last_here(run: &RunSettings, root: &Path, name: &str) -> Option<String> {
    let sessions = SessionDir::new(run.base.as_ref()?.sessions());
    let newest = sessions.list().ok()?.into_iter().take(NEWEST);
    let last = newest.into_iter().find(|entry| begun_in(&sessions.file(&entry.id), root))?;
    let title = sessions.given_title(&last.id).or_else(|| first_title(&sessions.file(&last.id)))?;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).ok()?.as_secs();
    let age = completions::age(now.saturating_sub(last.modified.0.unsigned_abs()));
    let ago = if age == "now" { "just now".to_owned() } else { format!("{age} ago") };
    Some(format!("last here {ago} \"{title}\": {name} -c"))
}

/// Returns the title that the first prompt of a session gives it.
pub fn first_title(file: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    std::fs::File::open(file).ok()?.take(BEGINNING).read_to_end(&mut bytes).ok()?;
    String::from_utf8_lossy(&bytes).lines().find_map(|line| {
        let record: serde_json::Value = serde_json::from_str(line).ok()?;
        let prompt = record["type"] == "message" && record["role"] == "user";
        record["text"].as_str().filter(|_| prompt).map(zori_store::title)
    })
}

/// Says what to do where there is no key: three lines, each with something that can be typed right here.
fn without_key(why: &str, facts: &ProviderFacts) -> Vec<Row> {
    let way = |command: &str, about: String| {
        Row::empty()
            .with("  ")
            .with(Span::new(format!("{command:<17}")).role(Role::Primary).bold())
            .with(Span::new(about).muted())
    };
    vec![
        Row::from(Span::new(why.to_owned()).role(Role::Warning)),
        way("/login", format!("stores a key of {}; or set {} and start again", facts.display, facts.key_var)),
        way("/model ollama:…", "a server on this machine needs none; none was found running".to_owned()),
        way("/demo", "shows what this program does, with a script for a model".to_owned()),
    ]
}

/// Returns what is said on leaving.
pub fn farewell(session: &Session, spent: Spent, name: &str) -> String {
    let cost = match spent.cost {
        Some(cost) => format!(" · ${}.{:02}", cost.0 / 1_000_000, cost.0 % 1_000_000 / 10_000),
        None => String::new(),
    };
    let messages = zori_tui::cells::counted(spoken(session.messages()), "message", "messages");
    format!("{name} -c goes on · {messages}{cost}")
}

/// Returns how many messages a conversation has, as the list of sessions counts them: with words, by a person or the model. Calls and results are none.
fn spoken(messages: &[Arc<Message>]) -> usize {
    let words = |message: &&Arc<Message>| {
        let result = message.blocks.iter().any(|block| matches!(block, Block::ToolResult(_)));
        !result
            && message
                .blocks
                .iter()
                .any(|block| matches!(block, Block::Text(text) if !text.trim().is_empty()))
    };
    messages.iter().filter(words).count()
}

/// Returns a folder with `~` for the home directory.
pub fn folder(root: &Path, env: &Environment) -> String {
    let home = env.home().and_then(|home| home.canonicalize().ok());
    match home.as_deref().and_then(|home| root.strip_prefix(home).ok()) {
        Some(below) if below.as_os_str().is_empty() => "~".to_owned(),
        Some(below) => format!("~/{}", below.display()),
        None => root.display().to_string(),
    }
}

fn lower(text: &str) -> String {
    text.trim_end_matches('.').to_owned()
}
