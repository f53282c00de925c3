//! Hooks as programs: who is told of a moment, how each is run, and what becomes of one that fails.
//!
//! What a hook reads is in `hooks/input.rs`, what its answer means in `hooks/answer.rs`, whom a moment concerns in
//! [`matcher`]. Where hooks are written down is not known here. A hook runs like a command of the `bash` tool: in the
//! root directory, in a group of its own, with the same environment, bounded in time and output.

mod answer;
mod input;
pub mod matcher;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use zori_core::BoxFuture;
use zori_core::confine::{Confine, Consent};
use zori_core::event::NoticeLevel;
use zori_core::hook::{Heard, HookEnd, HookEvent, HookOutcome, Hooks, Moment, Remark, Watch, Watched};
use zori_core::ids::SessionId;
use zori_core::permission::Verdict;
use zori_core::text::{one_line, prefix};

use self::answer::Answer;
use self::matcher::Matcher;
use crate::env::ToolEnv;
use crate::process::spawn::Shell;
use crate::process::{Job, Processes};

/// How long a hook may take when it does not say otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The same at the end of a session, for which somebody waits.
pub const LAST_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of each stream of a hook is read. An answer that is longer cannot be understood.
const MAX_OUTPUT: usize = 64 << 10;

/// A hook.
#[derive(Clone)]
pub struct Hook {
    /// When it runs.
    pub event: HookEvent,
    /// What for.
    pub matcher: Matcher,
    /// What `sh -c` gets.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// Whose it is.
    pub origin: Origin,
    /// Where it is written down, for people.
    pub source: String,
    /// Says whether it still is what somebody trusted; `None` where that needs no looking at.
    pub unchanged: Option<Unchanged>,
}

/// Whose a hook is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user's, or the administrator's.
    User,
    /// A project's. It can object, and never allow (MODE-4).
    Project,
}

/// Looks whether a hook is what it was.
pub type Unchanged = Arc<dyn Fn() -> bool + Send + Sync>;

/// What the hooks of a session are made of.
pub struct Parts {
    /// The hooks, in the order in which they run.
    pub hooks: Vec<Hook>,
    /// The world, as for tools.
    pub env: Arc<ToolEnv>,
    /// Where they run; shared with the tools, so that the session's end ends them too.
    pub processes: Arc<Processes>,
    /// What confines them, if anything does (SB-7).
    pub confine: Option<Arc<dyn Confine>>,
    /// The session.
    pub session: SessionId,
    /// The session's file, where there is one.
    pub transcript: Option<PathBuf>,
    /// Who sees them run.
    pub watch: Option<Arc<dyn Watch>>,
}

/// Where something happens, as hooks are told.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'a> {
    /// The session.
    pub session: &'a SessionId,
    /// Its file, where there is one.
    pub transcript: Option<&'a Path>,
    /// Where tools run.
    pub root: &'a Path,
    /// The user's home.
    pub home: Option<&'a Path>,
}

/// Returns what a hook is told of a moment, as one JSON object.
pub fn told(moment: &Moment<'_>, mode: &str, scene: &Scene<'_>) -> String {
    input::json(moment, mode, scene)
}

/// Understands a hook's answer that is JSON, of somebody who speaks for the user; an error says why it is none.
pub fn heard(event: HookEvent, json: &str) -> Result<Heard, String> {
    let Answer { verdict, context, halt, message, input } = answer::read(event, json)?;
    let mut heard = Heard { input, halt, context: context.into_iter().collect(), ..Heard::default() };
    if let Some((verdict, reason)) = verdict {
        heard.judge(verdict, reason.unwrap_or_else(|| "no reason given".to_owned()));
    }
    heard.remarks.extend(message.map(|text| Remark { level: NoticeLevel::Info, text }));
    Ok(heard)
}

/// Returns whether a moment concerns a matcher.
pub fn concerns(matcher: &Matcher, moment: &Moment<'_>) -> bool {
    matcher.matches(&matcher::subjects(moment))
}

/// The hooks of a session, as programs.
pub struct HookPrograms {
    parts: Parts,
    /// The hooks whose failure the user was told of.
    told: Mutex<HashSet<usize>>,
}

impl HookPrograms {
    /// Starts nothing.
    pub fn new(parts: Parts) -> Self {
        Self { parts, told: Mutex::default() }
    }

    fn scene(&self) -> Scene<'_> {
        Scene {
            session: &self.parts.session,
            transcript: self.parts.transcript.as_deref(),
            root: &self.parts.env.root,
            home: self.parts.env.home.as_deref(),
        }
    }

    fn concerned<'a>(&'a self, moment: &Moment<'_>) -> impl Iterator<Item = (usize, &'a Hook)> {
        let (event, subjects) = (moment.event(), matcher::subjects(moment));
        let hooks = self.parts.hooks.iter().enumerate();
        hooks.filter(move |(_, hook)| hook.event == event && hook.matcher.matches(&subjects))
    }

    /// Runs one hook. An error says why it has no answer.
    async fn run(&self, hook: &Hook, moment: &Moment<'_>, input: &[u8]) -> Result<Answer, String> {
        if hook.unchanged.as_ref().is_some_and(|unchanged| !unchanged()) {
            return Err("it was changed since this folder was trusted, and is not run".into());
        }
        let env = &self.parts.env;
        let project = |name: &str| (OsString::from(name), env.root.clone().into_os_string());
        let mut env_set = env.child_env_set.clone();
        env_set.extend(["CLAUDE_PROJECT_DIR", "ZORI_PROJECT_DIR"].map(project));
        let removed = (env.child_env_removed)();
        let shell =
            Shell { command: &hook.command, cwd: &env.root, env_removed: &removed, env_set: &env_set };
        let job = Job {
            // Nobody was asked about this run; what was trusted is the hook.
            consent: Consent::Rule,
            shell,
            input: Some(input),
            confine: self.parts.confine.as_deref(),
            timeout: Some(hook.timeout),
            max_output: MAX_OUTPUT,
            live: None,
        };
        let watched = Watched::begin(self.parts.watch.as_deref(), moment);
        let (stdout, stderr, code, answer) = match self.parts.processes.run(job).await {
            Ok(finished) => {
                let answer = answer::understand(hook.event, &finished, hook.timeout);
                (finished.stdout.text, finished.stderr.text, Some(finished.end.exit_code), answer)
            }
            Err(error) => (String::new(), error.to_string(), None, Err(error.to_string())),
        };
        let outcome = if code == Some(0) { HookOutcome::Success } else { HookOutcome::Error };
        watched.over(HookEnd { stdout: &stdout, stderr: &stderr, exit_code: code, outcome });
        answer
    }

    /// Takes a failure down: before a call it is a denial (TM-4), elsewhere nothing but a remark; one for each hook.
    fn failed(&self, at: usize, hook: &Hook, why: &str, heard: &mut Heard) {
        let what = format!("the hook `{}` ({}) failed: {why}", shown(&hook.command), hook.source);
        let so = match hook.event {
            HookEvent::PreToolUse => "; calls it would look at are denied until it works or is removed",
            _ => "",
        };
        if hook.event == HookEvent::PreToolUse {
            heard.judge(Verdict::Deny, what.clone());
        }
        if self.told.lock().unwrap_or_else(PoisonError::into_inner).insert(at) {
            let text = format!("T{}{so}", &what[1..]);
            heard.remarks.push(Remark { level: NoticeLevel::Warning, text });
        }
    }
}

impl Hooks for HookPrograms {
    fn listens(&self, moment: &Moment<'_>) -> bool {
        self.parts.hooks.iter().any(|hook| hook.event == moment.event())
            && self.concerned(moment).next().is_some()
    }

    fn tell<'a>(&'a self, moment: Moment<'a>, mode: &'a str) -> BoxFuture<'a, Heard> {
        Box::pin(async move {
            let mut heard = Heard::default();
            let input = told(&moment, mode, &self.scene()) + "\n";
            for (at, hook) in self.concerned(&moment) {
                match self.run(hook, &moment, input.as_bytes()).await {
                    Ok(answer) => take(hook, answer, &mut heard),
                    Err(why) => self.failed(at, hook, &why, &mut heard),
                }
            }
            heard
        })
    }
}

/// Adds one hook's answer to what was heard.
fn take(hook: &Hook, answer: Answer, heard: &mut Heard) {
    let Answer { verdict, context, halt, message, input: _ } = answer;
    // Nothing can be kept from happening that has happened: then the user is told.
    let late = matches!(hook.event, HookEvent::SessionStart | HookEvent::SessionEnd);
    match verdict {
        Some((Verdict::Allow, _)) if hook.origin == Origin::Project => {}
        Some((Verdict::Deny, reason)) if late => {
            let text = format!("The hook `{}` says: {}", shown(&hook.command), reason.unwrap_or_default());
            heard.remarks.push(Remark { level: NoticeLevel::Warning, text });
        }
        Some((verdict, reason)) => {
            let reason = reason.unwrap_or_else(|| format!("`{}` ({})", shown(&hook.command), hook.source));
            heard.judge(verdict, reason);
        }
        None => {}
    }
    heard.context.extend(context);
    heard.halt = heard.halt.take().or(halt);
    let remark = |text| Remark { level: NoticeLevel::Info, text };
    heard.remarks.extend(message.map(remark));
}

fn shown(command: &str) -> String {
    prefix(&one_line(command), 100).to_owned()
}

#[cfg(test)]
mod tests;
