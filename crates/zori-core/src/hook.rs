//! Hooks: programs of the user that are told what happens in a run, and may object; as a trait over values.
//!
//! What a hook is and how it is run is not known here. The engine tells a [`Moment`] and takes what comes back as a
//! value, so that a decision stays a function of values.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::BoxFuture;
use crate::event::NoticeLevel;
use crate::ids::CallId;
use crate::permission::Verdict;
use crate::tool::ToolKind;

macro_rules! hook_events {
    ($($name:ident $about:literal),* $(,)?) => {
        /// When hooks run. The names are those of the format that Claude Code and Codex share.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum HookEvent { $(#[doc = $about] $name),* }

        impl HookEvent {
            /// Every event, in the order of the reference page.
            pub const ALL: &[Self] = &[$(Self::$name),*];

            /// Returns the name.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => stringify!($name)),* }
            }

            /// Returns one line that says when that is.
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

/// Something hooks are told.
#[derive(Clone, Copy, Debug)]
pub enum Moment<'a> {
    /// The first prompt of a session comes.
    SessionStart {
        /// Whether it goes on with an earlier one.
        resumed: bool,
        /// The model's id.
        model: &'a str,
    },
    /// A prompt comes.
    UserPromptSubmit {
        /// What the user said.
        prompt: &'a str,
    },
    /// A call is about to be decided about.
    PreToolUse(ToolMoment<'a>),
    /// A call has run.
    PostToolUse {
        /// The call.
        call: ToolMoment<'a>,
        /// Its result, as JSON.
        result: &'a RawValue,
    },
    /// The conversation is about to be made shorter.
    PreCompact {
        /// Whether the user asked for it.
        asked: bool,
        /// What the summary is to be about.
        focus: Option<&'a str>,
    },
    /// The model has ended its turn.
    Stop {
        /// Whether it goes on because of a hook already.
        again: bool,
        /// What it said last.
        text: &'a str,
    },
    /// A sub-agent has ended its turn.
    SubagentStop {
        /// Which kind of sub-agent.
        kind: &'a str,
        /// Whether it goes on because of a hook already.
        again: bool,
        /// What it said last.
        text: &'a str,
    },
    /// The session is over.
    SessionEnd,
}

/// A call, as hooks are told of it.
#[derive(Clone, Copy, Debug)]
pub struct ToolMoment<'a> {
    /// The call's id.
    pub id: &'a CallId,
    /// The tool's name as it was called.
    pub name: &'a str,
    /// Which tool it is; `None` for tools of others.
    pub kind: Option<ToolKind>,
    /// Its canonical arguments: exactly what would run.
    pub args: &'a RawValue,
}

impl<'a> Moment<'a> {
    /// Returns which event it is.
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

    /// Returns the call it is about.
    pub fn call(&self) -> Option<&ToolMoment<'a>> {
        match self {
            Self::PreToolUse(call) | Self::PostToolUse { call, .. } => Some(call),
            _ => None,
        }
    }
}

/// What all hooks of a moment said together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// The strictest of their verdicts. Only before a call it can be anything but a denial.
    pub verdict: Option<HookVerdict>,
    /// The whole input that a call shall have in place of the model's, as JSON; of several the last.
    pub input: Option<String>,
    /// What the model is told on top.
    pub context: Vec<String>,
    /// Why the turn shall end here.
    pub halt: Option<String>,
    /// What the user is told.
    pub remarks: Vec<Remark>,
}

/// What hooks say about what is about to happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HookVerdict {
    /// Whether it shall.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

/// Something the user should read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// How bad it is.
    pub level: NoticeLevel,
    /// One sentence.
    pub text: String,
}

impl Heard {
    /// Adds a verdict; the strictest counts, and of equal ones the first.
    pub fn judge(&mut self, verdict: Verdict, reason: String) {
        if self.verdict.as_ref().is_none_or(|held| strictness(verdict) > strictness(held.verdict)) {
            self.verdict = Some(HookVerdict { verdict, reason });
        }
    }

    /// Adds what others said.
    pub fn merge(&mut self, other: Self) {
        let Self { verdict, input, context, halt, remarks } = other;
        if let Some(HookVerdict { verdict, reason }) = verdict {
            self.judge(verdict, reason);
        }
        self.input = input.or_else(|| self.input.take());
        self.context.extend(context);
        self.halt = self.halt.take().or(halt);
        self.remarks.extend(remarks);
    }

    /// Returns why what is about to happen shall not.
    pub fn blocked(&self) -> Option<&str> {
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

/// Somebody who sees hooks run, each by itself. It must not block.
pub trait Watch: Send + Sync {
    /// One begins. Returns what it is called when it is over.
    fn started(&self, run: &HookRun<'_>) -> u64;

    /// It is over; exactly once for each that has begun.
    fn ended(&self, id: u64, run: &HookRun<'_>, end: &HookEnd<'_>);
}

/// One run of one hook.
#[derive(Clone, Copy, Debug)]
pub struct HookRun<'a> {
    /// When.
    pub event: HookEvent,
    /// The tool it is about, where it is about one.
    pub subject: Option<&'a str>,
}

/// How it ended.
#[derive(Clone, Copy, Debug)]
pub struct HookEnd<'a> {
    /// What it said.
    pub stdout: &'a str,
    /// What it said beside that, or why it could not say anything.
    pub stderr: &'a str,
    /// Its exit status, where it is a program that had one.
    pub exit_code: Option<i32>,
    /// In one word.
    pub outcome: HookOutcome,
}

/// How a hook ended, in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookOutcome {
    /// As it should.
    Success,
    /// It failed, or objected by failing.
    Error,
    /// Nobody waited for it any more.
    Cancelled,
}

/// A run that somebody watches, if anybody does. One that is dropped before it is over was cancelled.
pub struct Watched<'a> {
    watch: Option<(&'a dyn Watch, u64)>,
    run: HookRun<'a>,
}

impl<'a> Watched<'a> {
    /// Says that a hook begins.
    pub fn begin(watch: Option<&'a dyn Watch>, moment: &Moment<'a>) -> Self {
        let run = HookRun { event: moment.event(), subject: moment.call().map(|call| call.name) };
        Self { watch: watch.map(|watch| (watch, watch.started(&run))), run }
    }

    /// Says how it ended.
    pub fn over(mut self, end: HookEnd<'_>) {
        self.say(end);
    }

    fn say(&mut self, end: HookEnd<'_>) {
        if let Some((watch, id)) = self.watch.take() {
            watch.ended(id, &self.run, &end);
        }
    }
}

impl Drop for Watched<'_> {
    fn drop(&mut self) {
        self.say(HookEnd { stdout: "", stderr: "", exit_code: None, outcome: HookOutcome::Cancelled });
    }
}

/// The hooks of a session.
pub trait Hooks: Send + Sync {
    /// Returns whether anybody wants to be told. Cheap: it is asked at every moment, hooks or not.
    fn listens(&self, moment: &Moment<'_>) -> bool;

    /// Tells every hook that wants to know, and returns when all have answered or their time was over. It never fails:
    /// a hook that does is a remark, and before a call a denial (TM-4). Dropping the future ends what still runs.
    /// `mode` is the permission mode in force, in the Claude protocol's words.
    fn tell<'a>(&'a self, moment: Moment<'a>, mode: &'a str) -> BoxFuture<'a, Heard>;
}

/// Several kinds of hooks as one; told in order.
pub struct AllHooks(pub Vec<Arc<dyn Hooks>>);

impl Hooks for AllHooks {
    fn listens(&self, moment: &Moment<'_>) -> bool {
        self.0.iter().any(|hooks| hooks.listens(moment))
    }

    fn tell<'a>(&'a self, moment: Moment<'a>, mode: &'a str) -> BoxFuture<'a, Heard> {
        Box::pin(async move {
            let mut heard = Heard::default();
            for hooks in self.0.iter().filter(|hooks| hooks.listens(&moment)) {
                heard.merge(hooks.tell(moment, mode).await);
            }
            heard
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Says one thing to everybody.
    struct Says(Heard);

    impl Hooks for Says {
        fn listens(&self, moment: &Moment<'_>) -> bool {
            moment.event() == HookEvent::Stop
        }

        fn tell<'a>(&'a self, _: Moment<'a>, _: &'a str) -> BoxFuture<'a, Heard> {
            Box::pin(std::future::ready(self.0.clone()))
        }
    }

    #[test]
    fn what_several_kinds_of_hooks_say_together() {
        let mut first = Heard { context: vec!["a".into()], input: Some("1".into()), ..Heard::default() };
        first.judge(Verdict::Ask, "first".into());
        let mut second = Heard { context: vec!["b".into()], halt: Some("end".into()), ..Heard::default() };
        second.judge(Verdict::Deny, "second".into());
        let all = AllHooks(vec![Arc::new(Says(first)), Arc::new(Says(second))]);
        let moment = Moment::Stop { again: false, text: "" };
        assert!(all.listens(&moment) && !all.listens(&Moment::SessionEnd));
        let mut told = all.tell(moment, "default");
        let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
        let std::task::Poll::Ready(heard) = told.as_mut().poll(&mut cx) else {
            panic!("they answer at once")
        };
        let verdict = Some(HookVerdict { verdict: Verdict::Deny, reason: "second".into() });
        assert_eq!(
            heard,
            Heard {
                verdict,
                input: Some("1".into()),
                context: vec!["a".into(), "b".into()],
                halt: Some("end".into()),
                remarks: Vec::new()
            }
        );
    }

    #[test]
    fn the_strictest_verdict_counts_and_of_equal_ones_the_first() {
        let mut heard = Heard::default();
        for (verdict, reason) in [
            (Verdict::Allow, "a"),
            (Verdict::Ask, "b"),
            (Verdict::Allow, "c"),
            (Verdict::Ask, "d"),
            (Verdict::Deny, "e"),
            (Verdict::Ask, "f"),
        ] {
            heard.judge(verdict, reason.to_owned());
        }
        assert_eq!(heard.verdict, Some(HookVerdict { verdict: Verdict::Deny, reason: "e".into() }));
        assert_eq!(heard.blocked(), Some("e"));
    }

    #[test]
    fn events_have_the_names_of_the_shared_format() {
        assert!(HookEvent::ALL.iter().all(|event| HookEvent::by_name(event.as_str()) == Some(*event)));
        assert_eq!(HookEvent::by_name("pretooluse"), None);
    }
}
