//! Hooks: programs of the user that run at certain events and may object, as a trait over values.
//!
//! Implementations decide what a hook is and how it runs. The engine passes a [`HookInput`] and gets a [`HookResponse`],
//! so that a decision stays a function of values.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::BoxFuture;
use crate::event::NoticeLevel;
use crate::ids::CallId;
use crate::permission::Verdict;
use crate::tool::ToolKind;

macro_rules! hook_events {
    ($($name:ident $about:literal),* $(,)?) => {
        /// The events at which hooks run. The names are those of the format that Claude Code and Codex share.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum HookEvent { $(#[doc = $about] $name),* }

        impl HookEvent {
            /// Every event, in the order of the reference page.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the name in the shared format.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// Returns one line that says when the event happens.
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => $about),* }
            }
        }
    };
}

hook_events! {
    SessionStart "Before the first prompt of a session.",
    UserPromptSubmit "Before a prompt is sent.",
    PreToolUse "Before a call is decided about.",
    PostToolUse "After a call has run.",
    PreCompact "Before the conversation is made shorter.",
    Stop "When the model ends its turn.",
    SubagentStop "When a sub-agent ends its turn.",
    SessionEnd "When the session ends.",
}

impl HookEvent {
    /// Returns the event of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|event| event.as_str() == name)
    }
}

/// What hooks are given: an event and its details.
#[derive(Clone, Copy, Debug)]
pub enum HookInput<'a> {
    /// The first prompt of a session is about to be sent.
    SessionStart {
        /// Whether the session continues an earlier one.
        resumed: bool,
        /// The model's id.
        model: &'a str,
    },
    /// A prompt is about to be sent.
    UserPromptSubmit {
        /// The user's text.
        prompt: &'a str,
    },
    /// A call is about to be checked against the policy.
    PreToolUse(HookCall<'a>),
    /// A call has run.
    PostToolUse {
        /// The call as it ran, with the arguments it had then.
        call: HookCall<'a>,
        /// Its result, as JSON.
        result: &'a RawValue,
    },
    /// The conversation is about to be compacted.
    PreCompact {
        /// Whether the user asked for it.
        asked: bool,
        /// What the summary should focus on.
        focus: Option<&'a str>,
    },
    /// The model has ended its turn.
    Stop {
        /// Whether the turn only continued because of a hook.
        again: bool,
        /// The text of its last message.
        text: &'a str,
    },
    /// A sub-agent has ended its turn.
    SubagentStop {
        /// Which kind of sub-agent.
        kind: &'a str,
        /// Whether the turn only continued because of a hook.
        again: bool,
        /// The text of its last message.
        text: &'a str,
    },
    /// The session is over.
    SessionEnd,
}

/// A tool call, as hooks see it.
#[derive(Clone, Copy, Debug)]
pub struct HookCall<'a> {
    /// The call's id.
    pub id: &'a CallId,
    /// The name the model called the tool by.
    pub name: &'a str,
    /// The built-in tool; `None` for any other tool.
    pub kind: Option<ToolKind>,
    /// The canonical arguments: exactly what would run.
    pub args: &'a RawValue,
}

impl<'a> HookInput<'a> {
    /// Returns which event of the table this is.
    pub fn event(&self) -> HookEvent {
        match self {
            Self::SessionStart { .. } => HookEvent::SessionStart,
            Self::UserPromptSubmit { .. } => HookEvent::UserPromptSubmit,
            Self::PreToolUse(_) => HookEvent::PreToolUse,
            Self::PostToolUse { .. } => HookEvent::PostToolUse,
            Self::PreCompact { .. } => HookEvent::PreCompact,
            Self::Stop { .. } => HookEvent::Stop,
            Self::SubagentStop { .. } => HookEvent::SubagentStop,
            Self::SessionEnd => HookEvent::SessionEnd,
        }
    }

    /// Returns the call, for the events that have one.
    pub fn call(&self) -> Option<&HookCall<'a>> {
        match self {
            Self::PreToolUse(call) | Self::PostToolUse { call, .. } => Some(call),
            _ => None,
        }
    }
}

/// The merged response of all hooks of one event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HookResponse {
    /// The strictest verdict. Only `PreToolUse` hooks can give anything but a denial.
    pub verdict: Option<HookVerdict>,
    /// A new input for the call that replaces the model's, as JSON; the last one given counts.
    pub input: Option<String>,
    /// What the model reads in place of the result of an MCP server's tool; the last one given counts.
    pub output: Option<String>,
    /// Texts to add to the conversation.
    pub context: Vec<String>,
    /// Why the turn has to end, if a hook wants that.
    pub halt: Option<String>,
    /// Messages for the user.
    pub notices: Vec<HookNotice>,
}

/// The verdict of hooks on what is about to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookVerdict {
    /// Whether it may happen.
    pub verdict: Verdict,
    /// Why, for the model and the user.
    pub reason: String,
}

/// A message from hooks to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookNotice {
    /// How serious it is.
    pub level: NoticeLevel,
    /// One sentence.
    pub text: String,
}

impl HookResponse {
    /// Adds a verdict. The strictest counts; among equals the first.
    pub fn add_verdict(&mut self, verdict: Verdict, reason: String) {
        if self.verdict.as_ref().is_none_or(|held| strictness(verdict) > strictness(held.verdict)) {
            self.verdict = Some(HookVerdict { verdict, reason });
        }
    }

    /// Adds the response of further hooks.
    pub fn merge(&mut self, other: Self) {
        let Self { verdict, input, output, context, halt, notices } = other;
        if let Some(HookVerdict { verdict, reason }) = verdict {
            self.add_verdict(verdict, reason);
        }
        self.input = input.or_else(|| self.input.take());
        self.output = output.or_else(|| self.output.take());
        self.context.extend(context);
        self.halt = self.halt.take().or(halt);
        self.notices.extend(notices);
    }

    /// Returns why the event is blocked, if it is.
    pub fn block_reason(&self) -> Option<&str> {
        let denied = self.verdict.as_ref().filter(|held| held.verdict == Verdict::Deny);
        self.halt.as_deref().or_else(|| denied.map(|held| held.reason.as_str()))
    }
}

fn strictness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 1,
        Verdict::Deny => 2,
    }
}

/// Observes each run of a hook. Implementations must not block.
pub trait HookObserver: Send + Sync {
    /// Called when a hook starts. Returns an id that `ended` is called with.
    fn started(&self, run: &HookRun<'_>) -> u64;

    /// Called when a hook has ended, exactly once for each that started.
    fn ended(&self, id: u64, run: &HookRun<'_>, end: &HookEnd<'_>);
}

/// One run of one hook.
#[derive(Clone, Copy, Debug)]
pub struct HookRun<'a> {
    /// The event it runs for.
    pub event: HookEvent,
    /// The name of the tool, for the events that have a call.
    pub subject: Option<&'a str>,
}

/// How a run of a hook ended.
#[derive(Clone, Copy, Debug)]
pub struct HookEnd<'a> {
    /// Its standard output.
    pub stdout: &'a str,
    /// Its standard error, or why it could not run.
    pub stderr: &'a str,
    /// Its exit status, if it is a program that exited.
    pub exit_code: Option<i32>,
    /// The result in one word.
    pub outcome: HookOutcome,
}

/// The result of a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookOutcome {
    /// It ran and did not fail.
    Success,
    /// It failed, or objected by an exit status.
    Error,
    /// It was dropped before it ended.
    Cancelled,
}

/// Reports one run to an observer, if there is one. Dropping it before `finish` reports a cancelled run.
pub struct ObservedHook<'a> {
    observer: Option<(&'a dyn HookObserver, u64)>,
    run: HookRun<'a>,
}

impl<'a> ObservedHook<'a> {
    /// Reports that a hook starts.
    pub fn start(observer: Option<&'a dyn HookObserver>, input: &HookInput<'a>) -> Self {
        let run = HookRun { event: input.event(), subject: input.call().map(|call| call.name) };
        Self { observer: observer.map(|observer| (observer, observer.started(&run))), run }
    }

    /// Reports how the hook ended.
    pub fn finish(mut self, end: HookEnd<'_>) {
        self.report(end);
    }

    fn report(&mut self, end: HookEnd<'_>) {
        if let Some((observer, id)) = self.observer.take() {
            observer.ended(id, &self.run, &end);
        }
    }
}

impl Drop for ObservedHook<'_> {
    fn drop(&mut self) {
        self.report(HookEnd { stdout: "", stderr: "", exit_code: None, outcome: HookOutcome::Cancelled });
    }
}

/// The hooks of a session.
pub trait Hooks: Send + Sync {
    /// Returns whether any hook runs for this input. Must be cheap: the engine calls it at every event.
    fn wants(&self, input: &HookInput<'_>) -> bool;

    /// Runs every hook that matches, and returns when all have answered or timed out. It never fails: a hook that fails
    /// becomes a notice, and before a call a denial (TM-4). Dropping the future ends the hooks that still run.
    /// `mode` is the permission mode in force, under its name in the Claude protocol.
    fn fire<'a>(&'a self, input: HookInput<'a>, mode: &'a str) -> BoxFuture<'a, HookResponse>;
}

/// Several sets of hooks as one, run in order.
pub struct AllHooks(pub Vec<Arc<dyn Hooks>>);

impl Hooks for AllHooks {
    fn wants(&self, input: &HookInput<'_>) -> bool {
        self.0.iter().any(|hooks| hooks.wants(input))
    }

    fn fire<'a>(&'a self, input: HookInput<'a>, mode: &'a str) -> BoxFuture<'a, HookResponse> {
        Box::pin(async move {
            let mut response = HookResponse::default();
            for hooks in self.0.iter().filter(|hooks| hooks.wants(&input)) {
                response.merge(hooks.fire(input, mode).await);
            }
            response
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives the same response to every input.
    struct Says(HookResponse);

    impl Hooks for Says {
        fn wants(&self, input: &HookInput<'_>) -> bool {
            input.event() == HookEvent::Stop
        }

        fn fire<'a>(&'a self, _: HookInput<'a>, _: &'a str) -> BoxFuture<'a, HookResponse> {
            Box::pin(std::future::ready(self.0.clone()))
        }
    }

    #[test]
    fn what_several_kinds_of_hooks_say_together() {
        let mut first =
            HookResponse { context: vec!["a".into()], input: Some("1".into()), ..HookResponse::default() };
        first.add_verdict(Verdict::Ask, "first".into());
        let mut second =
            HookResponse { context: vec!["b".into()], halt: Some("end".into()), ..HookResponse::default() };
        second.add_verdict(Verdict::Deny, "second".into());
        let all = AllHooks(vec![Arc::new(Says(first)), Arc::new(Says(second))]);
        let input = HookInput::Stop { again: false, text: "" };
        assert!(all.wants(&input) && !all.wants(&HookInput::SessionEnd));
        let mut fired = all.fire(input, "default");
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let std::task::Poll::Ready(response) = fired.as_mut().poll(&mut cx) else {
            panic!("they answer at once")
        };
        let verdict = Some(HookVerdict { verdict: Verdict::Deny, reason: "second".into() });
        assert_eq!(
            response,
            HookResponse {
                verdict,
                input: Some("1".into()),
                output: None,
                context: vec!["a".into(), "b".into()],
                halt: Some("end".into()),
                notices: Vec::new()
            }
        );
    }

    #[test]
    fn the_strictest_verdict_counts_and_of_equal_ones_the_first() {
        let mut response = HookResponse::default();
        for (verdict, reason) in [
            (Verdict::Allow, "a"),
            (Verdict::Ask, "b"),
            (Verdict::Allow, "c"),
            (Verdict::Ask, "d"),
            (Verdict::Deny, "e"),
            (Verdict::Ask, "f"),
        ] {
            response.add_verdict(verdict, reason.to_owned());
        }
        assert_eq!(response.verdict, Some(HookVerdict { verdict: Verdict::Deny, reason: "e".into() }));
        assert_eq!(response.block_reason(), Some("e"));
    }

    #[test]
    fn events_have_the_names_of_the_shared_format() {
        assert!(HookEvent::ALL.iter().all(|event| HookEvent::by_name(event.as_str()) == Some(*event)));
        assert_eq!(HookEvent::by_name("pretooluse"), None);
    }
}
