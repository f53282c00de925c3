//! The audit log of this process: opened for a session's calls, and one record for each run of a command.
//!
//! A program can end on several threads: when its command returns, when its time is over, when a signal comes.
//! Whichever is first takes what is known of the run out of [`RUNNING`] and writes the record; so there is one.
//! `--no-save` is about the session: what a model does is in the audit log all the same.

use std::ffi::OsString;
use std::path::Path;
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sha2::{Digest, Sha256};
use zori_contract::args::Args;
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::world::Begin;
use zori_core::log::LogError;
use zori_providers::catalog::PROVIDERS;
use zori_redact::Redactor;
use zori_store::{AuditFacts, AuditFile, AuditLog, Run, TrustChange};

use crate::args::flags::{GLOBAL, PROMPT};
use crate::base::Base;
use crate::config::Config;
use crate::error::AUDIT_UNUSABLE;
use crate::profile::Profile;
use crate::program::App;
use crate::secrets;
use crate::settings::Settings;
use crate::ui::Ui;

/// How long the record may take to be written when the program has to end at once.
const LAST_RECORD: Duration = Duration::from_secs(1);

/// What `audit` in the config file says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keeping {
    /// Records are written; if they cannot be, that is said once.
    On,
    /// Nothing runs that cannot be written down.
    Required,
    /// There is no audit log.
    Off,
}

impl Keeping {
    /// Reads the config.
    pub fn of(config: &Config) -> Self {
        match config.text("audit") {
            Some("required") => Self::Required,
            Some("off") => Self::Off,
            _ => Self::On,
        }
    }
}

/// Returns the log for a session's calls, if there is to be one. Where it is required it must be possible to write it,
/// and the one of commands, before anything runs.
pub fn open(settings: &Settings) -> Result<Option<AuditLog>, Failure> {
    let base = match (&settings.base, settings.audit) {
        (_, Keeping::Off) | (None, Keeping::On) => return Ok(None),
        (None, Keeping::Required) => return Err(unusable("there is no base directory")),
        (Some(base), _) => base,
    };
    let mut file = AuditFile::new(base.project_audit(&settings.root));
    if settings.audit == Keeping::Required {
        let usable = file.check().and_then(|()| AuditFile::new(base.audit()).check());
        usable.map_err(|LogError(why)| unusable(&why))?;
    }
    let facts = AuditFacts {
        mode: settings.policy.mode.shown().into(),
        cwd: settings.root.as_path().into(),
        redactor: Redactor::new(settings.choice.secrets.clone()),
        now,
    };
    Ok(Some(AuditLog::new(file, facts)))
}

/// Writes down what somebody decided about a folder. `run`: the hashes of what may run; `by`: who said so.
pub fn trust(base: &Base, folder: &Path, state: &str, run: &[String], by: &str, ui: &mut Ui) {
    if keeping(base) == Keeping::Off {
        return;
    }
    let folder = folder.to_string_lossy();
    let change = TrustChange { at: now(), folder: &folder, state, run, by };
    if let Err(LogError(why)) = AuditFile::new(base.audit()).trust(&change) {
        ui.warn(&format!("Failed to write the audit log: {why}"));
    }
}

fn keeping(base: &Base) -> Keeping {
    Config::load(&base.config(), PROVIDERS[0].key_var).map_or(Keeping::On, |config| Keeping::of(&config))
}

fn unusable(why: &str) -> Failure {
    Failure::new(&AUDIT_UNUSABLE, format!("the audit log cannot be written: {why}"))
        .hint("`audit` is \"required\" in the config file; \"on\" goes on without it and says so")
}

/// The command that runs, until its end is written down.
static RUNNING: Mutex<Option<Running>> = Mutex::new(None);

struct Running {
    profile: &'static Profile,
    command: String,
    args: String,
    trace_id: Option<String>,
    started: Instant,
}

/// Remembers that a command runs.
pub fn begin(profile: &'static Profile, begin: &Begin<'_, App>, argv: &[OsString]) {
    let running = Running {
        profile,
        command: begin.command.name(),
        args: shown(argv, begin.args),
        trace_id: begin.inputs.vars.tool(profile.program.prefix, "TRACE_ID").map(str::to_owned),
        started: Instant::now(),
    };
    *RUNNING.lock().unwrap_or_else(PoisonError::into_inner) = Some(running);
}

/// Writes down how it ended, unless that has been done.
pub fn end(exit_code: u8, ui: &mut Ui) {
    let running = RUNNING.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(Err(LogError(why))) = running.map(|running| running.write(exit_code)) {
        ui.warn(&format!("Failed to write the audit log: {why}"));
    }
}

/// The same on a thread that is about to end the process: its stack is small, and a slow disk must not hold it up.
pub fn end_at_once(exit_code: u8) {
    let (done, written) = mpsc::channel();
    let writing = std::thread::Builder::new().spawn(move || {
        end(exit_code, &mut Ui::standard());
        let _ = done.send(());
    });
    if writing.is_ok() {
        let _ = written.recv_timeout(LAST_RECORD);
    }
}

impl Running {
    fn write(self, exit_code: u8) -> Result<(), LogError> {
        // Whoever needs a base directory has said that there is none.
        let Ok(base) = Base::find(self.profile) else { return Ok(()) };
        // A command that left nothing behind does not make the base directory just to say so (PATH-3).
        if keeping(&base) == Keeping::Off || !base.dir().exists() {
            return Ok(());
        }
        let operator = format!("uid:{}", rustix::process::getuid().as_raw());
        let run = Run {
            at: now(),
            command: &self.command,
            args: &self.args,
            exit_code,
            duration: self.started.elapsed(),
            operator: &operator,
            trace_id: self.trace_id.as_deref(),
        };
        AuditFile::new(base.audit()).run(&run, &secrets::redactor())
    }
}

/// Returns what was typed as one text, with length and hash in place of prompts.
fn shown(argv: &[OsString], args: &Args) -> String {
    let secret = [args.text("prompt"), args.text("system-prompt")];
    let mut words = Vec::with_capacity(argv.len());
    let mut of_prompt = false;
    for arg in argv {
        let arg = arg.to_string_lossy();
        let (flag, value) = split(&arg);
        words.push(match value {
            _ if std::mem::take(&mut of_prompt) || secret.contains(&Some(&*arg)) => digest(&arg),
            Some(value) if is_prompt(flag) => format!("{flag}{}", digest(value)),
            _ => arg.to_string(),
        });
        of_prompt = value.is_none() && is_prompt(flag);
    }
    words.join(" ")
}

/// Takes a flag apart from a value that is glued to it: `--prompt=x`, `-px`.
fn split(arg: &str) -> (&str, Option<&str>) {
    let after = match (arg.strip_prefix("--"), arg.strip_prefix('-')) {
        (Some(_), _) => arg.find('=').map(|at| at + 1),
        (None, Some(short)) => short.chars().next().map(|c| 1 + c.len_utf8()),
        (None, None) => None,
    };
    match after.filter(|at| *at < arg.len()) {
        Some(at) => (&arg[..at], Some(&arg[at..])),
        None => (arg, None),
    }
}

/// Whether a flag's value is something said to a model.
fn is_prompt(flag: &str) -> bool {
    let name = flag.trim_end_matches('=');
    let long =
        |flag: &&Flag| name.strip_prefix("--").is_some_and(|n| n == flag.long || flag.aliases.contains(&n));
    let short =
        |flag: &&Flag| name.strip_prefix('-').is_some_and(|n| flag.short.is_some_and(|s| n == s.to_string()));
    let mut prompts =
        GLOBAL.iter().chain(PROMPT).filter(|flag| matches!(flag.long, "system-prompt" | "prompt"));
    prompts.any(|flag| long(&flag) || short(&flag))
}

fn digest(text: &str) -> String {
    let hash: String = Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    format!("[{} bytes, sha256 {hash}]", text.len())
}

fn now() -> Duration {
    // A clock set before 1970 counts as 1970; only time stamps depend on it.
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(argv: &[&str], prompt: &str, wanted: &str) {
        let argv: Vec<OsString> = argv.iter().map(OsString::from).collect();
        let mut args = Args::default();
        args.push("prompt", prompt);
        assert_eq!(shown(&argv, &args), wanted);
    }

    #[test]
    fn prompts_are_length_and_hash() {
        let hi = "[2 bytes, sha256 8f434346648f6b96]";
        check(&["exec", "-p", "hi", "--model", "m"], "hi", &format!("exec -p {hi} --model m"));
        check(&["-phi"], "hi", &format!("-p{hi}"));
        check(&["exec", "--prompt=hi"], "hi", &format!("exec --prompt={hi}"));
        check(
            &["--system-prompt", "hi", "exec", "-p", "-"],
            "-",
            "--system-prompt [2 bytes, sha256 8f434346648f6b96] exec -p [1 bytes, sha256 3973e022e93220f9]",
        );
        check(&["--model=m", "-o", "plain"], "hi", "--model=m -o plain");
    }
}
