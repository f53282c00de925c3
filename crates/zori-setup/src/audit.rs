//! The audit log of this process: opened for a session's calls, and one record for each run of a command.
//!
//! A program can end on several threads: when its command returns, when its time is over, when a signal comes.
//! Whichever is first takes what is known of the run out of [`CommandRecord`] and writes it; so there is one record.
//! `--no-save` is about the session: what a model does is in the audit log all the same.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use zori_contract::flag::framework::RAW_PAYLOAD;
use zori_contract::parse::Word;
use zori_contract::world::RunFacts;
use zori_core::log::LogError;
use zori_core::secret::REDACTED;
use zori_host::{AuditKeeping, AuditSettings};
use zori_mcp::client::config::literal;
use zori_redact::Redactor;
use zori_store::{AuditFile, CommandRun, ServerChange, TrustChange};

use crate::app::App;
use crate::args::claude::APPEND_SYSTEM_PROMPT;
use crate::args::flags::{DASH, GOAL, PROMPT, SYSTEM_PROMPT};
use crate::config::Config;
use crate::data_dir::{DataDir, Locations};
use crate::secrets;
use crate::ui::Ui;

/// How long the record may take to be written when the program has to end at once.
const LAST_RECORD: Duration = Duration::from_secs(1);

/// Returns what `audit` in the config file says.
fn keeping_by(config: &Config) -> AuditKeeping {
    match config.text("audit") {
        Some("required") => AuditKeeping::Required,
        Some("off") => AuditKeeping::Off,
        _ => AuditKeeping::On,
    }
}

/// Returns what is written down of the calls of a session in this folder.
pub fn settings(config: &Config, data_dir: Option<&DataDir>, root: &Path) -> AuditSettings {
    let keeping = keeping_by(config);
    let data_dir = data_dir.filter(|_| keeping != AuditKeeping::Off);
    AuditSettings {
        keeping,
        project: data_dir.map(|data_dir| data_dir.project_audit(root)),
        commands: data_dir.map(DataDir::audit),
        now,
    }
}

/// Writes down what somebody decided about a folder. `run`: the hashes of what may run; `by`: who said so.
pub fn trust(data_dir: &DataDir, folder: &Path, state: &str, run: &[String], by: &str, ui: &mut Ui) {
    if keeping(data_dir) == AuditKeeping::Off {
        return;
    }
    let folder = folder.to_string_lossy();
    let change = TrustChange { at: now(), folder: &folder, state, run, by };
    if let Err(LogError(why)) = AuditFile::new(data_dir.audit()).trust(&change) {
        ui.warn(&format!("Failed to write the audit log: {why}"));
    }
}

/// Writes down that somebody logged in to an MCP server, or out (EXT-63).
pub fn server_login(data_dir: &DataDir, server: &str, action: &str, ui: &mut Ui) {
    if keeping(data_dir) == AuditKeeping::Off {
        return;
    }
    let change = ServerChange { at: now(), server, action, summary: "" };
    if let Err(LogError(why)) = AuditFile::new(data_dir.audit()).server(&change, &Redactor::default()) {
        ui.warn(&format!("Failed to write the audit log: {why}"));
    }
}

fn keeping(data_dir: &DataDir) -> AuditKeeping {
    data_dir.read_config().map_or(AuditKeeping::On, |config| keeping_by(&config))
}

/// The audit record of the command that runs, until its end is written down. Clones share it.
#[derive(Clone, Default)]
pub struct CommandRecord(Arc<Mutex<Option<Running>>>);

struct Running {
    locations: Locations,
    command: String,
    args: Vec<String>,
    request_id: String,
    trace_id: Option<String>,
    started: Instant,
}

impl CommandRecord {
    /// Remembers that a command runs.
    pub fn begin(&self, locations: &Locations, begin: &RunFacts<'_, App>) {
        let prefix = locations.profile.prefix;
        let running = Running {
            locations: locations.clone(),
            command: begin.command.name(),
            args: texts(begin.words),
            request_id: begin.request_id.to_owned(),
            trace_id: begin.inputs.vars.tool(prefix, "TRACE_ID").map(str::to_owned),
            started: Instant::now(),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
    }

    /// Writes nothing at the end: somebody has said that nothing can be written.
    pub fn forget(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Writes down how it ended, unless that has been done.
    pub fn end(&self, exit_code: u8) {
        let Some(running) = self.0.lock().unwrap_or_else(PoisonError::into_inner).take() else { return };
        let mut ui = Ui::standard(&running.locations.env);
        if let Err(LogError(why)) = running.write(exit_code) {
            ui.warn(&format!("Failed to write the audit log: {why}"));
        }
    }

    /// The same on a thread that is about to end the process: its stack is small, and a slow disk must not hold it up.
    pub fn end_at_once(&self, exit_code: u8) {
        let (record, (done, written)) = (self.clone(), mpsc::channel());
        let writing = std::thread::Builder::new().spawn(move || {
            record.end(exit_code);
            let _ = done.send(());
        });
        if writing.is_ok() {
            let _ = written.recv_timeout(LAST_RECORD);
        }
    }
}

impl Running {
    fn write(self, exit_code: u8) -> Result<(), LogError> {
        // Whoever needs a base directory has said that there is none.
        let Ok(data_dir) = self.locations.data_dir() else { return Ok(()) };
        // A command that left nothing behind does not make the base directory just to say so (PATH-3).
        if keeping(&data_dir) == AuditKeeping::Off || !data_dir.dir().exists() {
            return Ok(());
        }
        let operator = format!("uid:{}", rustix::process::getuid().as_raw());
        let run = CommandRun {
            at: now(),
            command: &self.command,
            args: &without_secrets(self.args),
            exit_code,
            duration: self.started.elapsed(),
            operator: &operator,
            request_id: &self.request_id,
            trace_id: self.trace_id.as_deref(),
        };
        AuditFile::new(data_dir.audit()).run(&run, &secrets::redactor(&self.locations.env))
    }
}

/// The arguments whose values are said to a model; a payload may have any of them in it.
const SAID: [&str; 6] =
    [PROMPT.long, DASH.name, SYSTEM_PROMPT.long, APPEND_SYSTEM_PROMPT.long, GOAL.long, RAW_PAYLOAD.long];

/// The options whose values are names with what belongs to each, as `mcp add` takes them.
const PAIRS: [&str; 2] = ["env", "header"];

/// Returns the call as one text, with length and hash in place of prompts, and without secrets that a name tells.
pub fn shown(words: &[Word]) -> String {
    without_secrets(texts(words))
}

/// Returns the words of a call, with length and hash in place of prompts.
fn texts(words: &[Word]) -> Vec<String> {
    let shown = |word: &Word| match word.value {
        Some((name, at)) if SAID.contains(&name) => {
            format!("{}{}", &word.text[..at], digest(&word.text[at..]))
        }
        Some((name, at)) if PAIRS.contains(&name) => {
            format!("{}{}", &word.text[..at], name_of_pair(&word.text[at..]))
        }
        _ => word.text.clone(),
    };
    words.iter().map(shown).collect()
}

/// Returns `NAME=VALUE` without its value, unless that refers to the vault. What is written in another way has a value in it, too.
fn name_of_pair(pair: &str) -> String {
    match pair.split_once(['=', ':', ' ']) {
        Some((_, value)) if value.starts_with("vault:") => pair.to_owned(),
        Some((name, _)) => format!("{name}={REDACTED}"),
        None => pair.to_owned(),
    }
}

/// Puts words together, without the secrets that somebody typed behind a telling name (`--api-key V`): the command that refuses them must not be
/// the one that keeps them.
fn without_secrets(words: Vec<String>) -> String {
    let typed: Vec<&str> = words.iter().map(String::as_str).collect();
    let secrets = literal::told_in_words(&typed);
    let without =
        |word: &&str| secrets.iter().fold(word.to_string(), |word, secret| word.replace(secret, REDACTED));
    typed.iter().map(without).collect::<Vec<_>>().join(" ")
}

fn digest(text: &str) -> String {
    let hash: String = Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("[{} bytes, sha256 {hash}]", text.len())
}

pub fn now() -> Duration {
    // A clock set before 1970 counts as 1970; only time stamps depend on it.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}
