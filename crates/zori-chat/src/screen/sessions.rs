//! The sessions that `/resume` chooses from (RSM-2), a look at one, and the trash.

use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use zori_core::cost::MicroUsd;
use zori_core::ids::SessionId;
use zori_core::text;
use zori_core::usage::Usage;
use zori_host::session_id;
use zori_providers::catalog::PROVIDERS;
use zori_store::{SessionDir, SessionOverview};
use zori_tui::completion::Item;
use zori_tui::row::{Row, Span};
use zori_tui::wrap;

use super::completions::age;
use super::greeting;
use crate::plain::PlainSession;
use zori_setup::session_copy;

/// The most records that a look at a session shows; the newest are what it is told by.
const SHOWN: usize = 400;

/// The sessions of a base directory, seen from a folder.
pub struct Sessions {
    dir: Option<SessionDir>,
    root: PathBuf,
}

/// Those that can be chosen.
pub struct Listed {
    pub items: Vec<Item>,
    /// How many there are in all folders.
    pub all: usize,
}

impl Sessions {
    pub fn of(plain: &PlainSession) -> Self {
        let dir = plain.run.base.as_ref().map(|base| SessionDir::new(base.sessions()));
        Self { dir, root: plain.host.settings.workspace.root.clone() }
    }

    /// Lists them, newest first: those of this folder, or of all.
    pub fn list(&self, everywhere: bool) -> Listed {
        let overview = self.dir.as_ref().and_then(|dir| dir.overview().ok()).unwrap_or_default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let here = |session: &&SessionOverview| everywhere || session.root.as_ref() == Some(&self.root);
        let ours = |session: &&SessionOverview| session.open_in == Some(std::process::id());
        // Nobody goes on with the one they are in: it stands last, so that Enter takes the newest of the others.
        let (ours, others): (Vec<_>, Vec<_>) = overview.iter().filter(here).partition(ours);
        let items = others.into_iter().chain(ours).map(|session| self.item(session, now)).collect();
        Listed { items, all: overview.len() }
    }

    fn item(&self, session: &SessionOverview, now: u64) -> Item {
        let age = age(now.saturating_sub(session.modified.0.unsigned_abs()));
        let messages = match session.messages {
            1 => " 1 message ".to_owned(),
            count => format!("{count:>2} messages"),
        };
        let mut parts = vec![messages];
        parts.push(cost(&session.used).map_or_else(|| "$?".to_owned(), dollars));
        parts.extend(session.branch.clone());
        match session.open_in {
            Some(pid) if pid == std::process::id() => parts.push("this session".to_owned()),
            Some(pid) => parts.push(format!("open in pid {pid}: Enter forks")),
            None => parts.push(format!("\"{}\"", session.last_prompt)),
        }
        match &session.root {
            Some(begun) if *begun != self.root => parts.push(format!("in {}", begun.display())),
            _ => {}
        }
        Item {
            text: session.id.to_string(),
            args: String::new(),
            about: parts.join("  "),
            label: Some(format!("{age:>4}  {}", session.title)),
        }
    }

    /// Returns what was said in a session, as rows.
    pub fn preview(&self, id: &str) -> Result<Vec<Row>, String> {
        let (dir, id) = self.named(id)?;
        let records = dir.records(&id).map_err(|error| error.to_string())?;
        let blocks: Vec<String> = records
            .into_iter()
            .flatten()
            .filter_map(Result::ok)
            .filter_map(|record| zori_store::transcript_block(&record))
            .collect();
        let text = blocks[blocks.len().saturating_sub(SHOWN)..].join("\n");
        let row = |line: &str| {
            let span = Span::new(wrap::expand_tabs(line, wrap::TAB).into_owned());
            Row::from(if line.starts_with("### ") { span.bold() } else { span })
        };
        Ok(text.lines().map(row).collect())
    }

    /// Puts a session into the trash; returns what to say about it.
    pub fn trash(&self, id: &str) -> Result<String, String> {
        let (dir, id) = self.named(id)?;
        match dir.trash(&id) {
            Ok(Some(path)) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                Ok(format!("In the trash: sessions/trash/{name}"))
            }
            Ok(None) => Err(format!("session '{id}' is not there any more")),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Returns whether something of a session is kept.
    pub fn has(&self, id: &str) -> bool {
        self.named(id).is_ok_and(|(dir, id)| dir.file(&id).exists())
    }

    /// Returns the title of a session that is kept.
    pub fn title(&self, id: &str) -> Option<String> {
        let (dir, id) = self.named(id).ok()?;
        dir.given_title(&id).or_else(|| greeting::first_title(&dir.file(&id)))
    }

    /// Gives a session a title.
    pub fn rename(&self, id: &str, title: &str) -> Result<(), String> {
        let (dir, id) = self.named(id)?;
        dir.rename(&id, &text::one_line(title)).map_err(|error| format!("the title cannot be kept: {error}"))
    }

    /// Makes a copy of what a session has said so far; returns its name.
    pub fn copy(&self, id: &str) -> Result<SessionId, String> {
        let (dir, id) = self.named(id)?;
        let copy = session_id();
        session_copy::copy(dir, &id, &copy).map(|()| copy)
    }

    /// Keeps the branch that a session is used on; returns whether that went. Where it does not, the list does without.
    pub fn set_branch(&self, id: &str, branch: &str) -> bool {
        self.named(id).is_ok_and(|(dir, id)| dir.file(&id).exists() && dir.set_branch(&id, branch).is_ok())
    }

    fn named(&self, id: &str) -> Result<(&SessionDir, SessionId), String> {
        let dir = self.dir.as_ref().ok_or("there is no base directory")?;
        Ok((dir, SessionId::parse(id).map_err(|error| error.to_string())?))
    }
}

/// Returns what the replies cost; `None` where a price is not known.
fn cost(used: &[(String, Usage)]) -> Option<MicroUsd> {
    let mut sum = MicroUsd(0);
    for (model, usage) in used {
        let prices = PROVIDERS.iter().find_map(|facts| facts.model(model).and_then(|model| model.prices))?;
        sum.0 += prices.cost(*usage).0;
    }
    Some(sum)
}

fn dollars(cost: MicroUsd) -> String {
    format!("${}.{:02}", cost.0 / 1_000_000, cost.0 % 1_000_000 / 10_000)
}
