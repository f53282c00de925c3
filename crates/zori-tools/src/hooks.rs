//! Hooks as programs: which run for an event, how each is run, and what happens when one fails.
//!
//! What a hook reads is in `hooks/input.rs`, what its answer means in `hooks/answer.rs`, which hooks run in
//! [`matcher`]. Hooks are configured elsewhere. A hook runs like a command of the `bash` tool: in the root directory,
//! in a group of its own, with the same environment, bounded in time and output.

mod answer;
mod input;
pub mod matcher;

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use zori_core::BoxFuture;
use zori_core::confine::{Confine, Consent, Holding};
use zori_core::event::NoticeLevel;
use zori_core::hook::{
    HookEnd, HookEvent, HookInput, HookNotice, HookObserver, HookOutcome, HookResponse, Hooks, ObservedHook,
};
use zori_core::ids::SessionId;
use zori_core::permission::Verdict;
use zori_core::text::{one_line, prefix};

use self::answer::Answer;
use self::matcher::Matcher;
use crate::env::{ShellProgram, ToolEnv};
use crate::process::spawn::Shell;
use crate::process::{Processes, ShellRun};

/// How long a hook may take when it does not say otherwise.
pub const TIMEOUT: Duration = Duration::from_secs(60);
/// The same at the end of a session, when the user waits.
pub const LAST_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of each stream of a hook is read. A longer answer is an error.
const MAX_OUTPUT: usize = 64 << 10;

#[derive(Clone)]
pub struct Hook {
    /// When it runs.
    pub event: HookEvent,
    pub matcher: Matcher,
    /// What `sh -c` gets.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// Whose it is.
    pub origin: Origin,
    /// Where it is configured, for people.
    pub source: String,
    /// Checks whether it is still what the user trusted; `None` where that need not be checked.
    pub unchanged: Option<Unchanged>,
}

/// Whose a hook is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The user's, or the administrator's.
    User,
    /// The project. Its hooks can object, but never allow (MODE-4).
    Project,
}

/// Checks whether a hook is unchanged.
pub type Unchanged = Arc<dyn Fn() -> bool + Send + Sync>;

/// What the hooks of a session are made of.
pub struct Parts {
    /// The hooks, in the order in which they run.
    pub hooks: Vec<Hook>,
    /// The world, as for tools.
    pub env: Arc<ToolEnv>,
    /// Where they run; shared with the tools, so that the session's end ends them too.
    pub processes: Arc<Processes>,
    /// The sandbox for them, if there is one (SB-7).
    pub confine: Option<Arc<dyn Confine>>,
    pub session: SessionId,
    /// The session's file, where there is one.
    pub transcript: Option<PathBuf>,
    /// Observes them while they run.
    pub watch: Option<Arc<dyn HookObserver>>,
}

/// The session's facts that a hook's input carries.
#[derive(Clone, Copy, Debug)]
pub struct HookContext<'a> {
    pub session: &'a SessionId,
    /// Its file, where there is one.
    pub transcript: Option<&'a Path>,
    /// Where tools run.
    pub root: &'a Path,
    /// The user's home.
    pub home: Option<&'a Path>,
}

/// Returns a hook's input for an event, as one JSON object.
pub fn input_json(moment: &HookInput<'_>, mode: &str, context: &HookContext<'_>) -> String {
    input::json(moment, mode, context)
}

/// Parses the JSON answer of a hook that the user trusts; the error says why it cannot be used.
pub fn parse_answer(event: HookEvent, json: &str) -> Result<HookResponse, String> {
    let Answer { verdict, context, halt, message, input, output } = answer::read(event, json)?;
    let mut response = HookResponse {
        input,
        output,
        halt,
        context: context.into_iter().collect(),
        ..HookResponse::default()
    };
    if let Some((verdict, reason)) = verdict {
        response.add_verdict(verdict, reason.unwrap_or_else(|| "no reason given".to_owned()));
    }
    response.notices.extend(message.map(|text| HookNotice { level: NoticeLevel::Info, text }));
    Ok(response)
}

/// Returns whether a matcher applies to an event.
pub fn applies_to(matcher: &Matcher, moment: &HookInput<'_>) -> bool {
    matcher.matches(&matcher::moment_names(moment))
}

/// The hooks of a session, as programs.
pub struct HookPrograms {
    parts: Parts,
    /// The hooks whose failure has been reported.
    reported: Mutex<HashSet<usize>>,
}

impl HookPrograms {
    /// Makes the hooks of a session; nothing is started.
    pub fn new(parts: Parts) -> Self {
        Self { parts, reported: Mutex::default() }
    }

    fn context(&self) -> HookContext<'_> {
        HookContext {
            session: &self.parts.session,
            transcript: self.parts.transcript.as_deref(),
            root: &self.parts.env.root,
            home: self.parts.env.home.as_deref(),
        }
    }

    fn matching<'a>(&'a self, moment: &HookInput<'_>) -> impl Iterator<Item = (usize, &'a Hook)> {
        let (event, moment_names) = (moment.event(), matcher::moment_names(moment));
        let hooks = self.parts.hooks.iter().enumerate();
        hooks.filter(move |(_, hook)| hook.event == event && hook.matcher.matches(&moment_names))
    }

    /// Runs one hook. An error says why it has no answer.
    async fn run(&self, hook: &Hook, moment: &HookInput<'_>, input: &[u8]) -> Result<Answer, String> {
        if hook.unchanged.as_ref().is_some_and(|unchanged| !unchanged()) {
            return Err("it was changed since this folder was trusted, and is not run".into());
        }
        let env = &self.parts.env;
        let project = |name: &str| (OsString::from(name), env.root.clone().into_os_string());
        let mut env_set = env.child_env_set.clone();
        env_set.extend(["CLAUDE_PROJECT_DIR", "ZORI_PROJECT_DIR"].map(project));
        let removed = (env.child_env_removed)();
        let shell = Shell {
            program: ShellProgram::Sh,
            prelude: "",
            command: &hook.command,
            cwd: &env.root,
            env_removed: &removed,
            env_set: &env_set,
        };
        let run = ShellRun {
            // Nobody was asked about this run; what was trusted is the hook.
            consent: Consent::Rule,
            shell,
            input: Some(input),
            confine: self.parts.confine.as_deref().filter(|confine| confine.confines(Holding::Loose)),
            holding: Holding::Usual,
            timeout: Some(hook.timeout),
            max_output: MAX_OUTPUT,
            live: None,
            stays: false,
        };
        let observed = ObservedHook::start(self.parts.watch.as_deref(), moment);
        let (stdout, stderr, code, answer) = match self.parts.processes.run(run).await {
            Ok(finished) => {
                let answer = answer::interpret(hook.event, &finished, hook.timeout);
                (finished.stdout.text, finished.stderr.text, Some(finished.end.exit_code), answer)
            }
            Err(error) => (String::new(), error.to_string(), None, Err(error.to_string())),
        };
        let outcome = if code == Some(0) { HookOutcome::Success } else { HookOutcome::Error };
        observed.finish(HookEnd { stdout: &stdout, stderr: &stderr, exit_code: code, outcome });
        answer
    }

    /// Records a failure: before a call it is a denial (TM-4), elsewhere a remark, once for each hook.
    fn failed(&self, at: usize, hook: &Hook, why: &str, response: &mut HookResponse) {
        let what = format!("the hook `{}` ({}) failed: {why}", shown(&hook.command), hook.source);
        let so = match hook.event {
            HookEvent::PreToolUse => "; calls it would look at are denied until it works or is removed",
            _ => "",
        };
        if hook.event == HookEvent::PreToolUse {
            response.add_verdict(Verdict::Deny, what.clone());
        }
        if self.reported.lock().unwrap_or_else(PoisonError::into_inner).insert(at) {
            let text = format!("T{}{so}", &what[1..]);
            response.notices.push(HookNotice { level: NoticeLevel::Warning, text });
        }
    }
}

impl Hooks for HookPrograms {
    fn wants(&self, moment: &HookInput<'_>) -> bool {
        self.parts.hooks.iter().any(|hook| hook.event == moment.event())
            && self.matching(moment).next().is_some()
    }

    fn fire<'a>(&'a self, moment: HookInput<'a>, mode: &'a str) -> BoxFuture<'a, HookResponse> {
        Box::pin(async move {
            let mut response = HookResponse::default();
            let input = input_json(&moment, mode, &self.context()) + "\n";
            for (at, hook) in self.matching(&moment) {
                match self.run(hook, &moment, input.as_bytes()).await {
                    Ok(answer) => take(hook, answer, &mut response),
                    Err(why) => self.failed(at, hook, &why, &mut response),
                }
            }
            response
        })
    }
}

/// Adds one hook's answer to what was heard.
fn take(hook: &Hook, answer: Answer, response: &mut HookResponse) {
    let Answer { verdict, context, halt, message, input: _, output } = answer;
    // Nothing can be kept from happening that has happened: then the user is told.
    let late = matches!(hook.event, HookEvent::SessionStart | HookEvent::SessionEnd);
    match verdict {
        Some((Verdict::Allow, _)) if hook.origin == Origin::Project => {}
        Some((Verdict::Deny, reason)) if late => {
            let text = format!("The hook `{}` says: {}", shown(&hook.command), reason.unwrap_or_default());
            response.notices.push(HookNotice { level: NoticeLevel::Warning, text });
        }
        Some((verdict, reason)) => {
            let reason = reason.unwrap_or_else(|| format!("`{}` ({})", shown(&hook.command), hook.source));
            response.add_verdict(verdict, reason);
        }
        None => {}
    }
    response.context.extend(context);
    response.output = output.or_else(|| response.output.take());
    response.halt = response.halt.take().or(halt);
    let remark = |text| HookNotice { level: NoticeLevel::Info, text };
    response.notices.extend(message.map(remark));
}

fn shown(command: &str) -> String {
    prefix(&one_line(command), 100).to_owned()
}

#[cfg(test)]
mod tests;
