//! Hooks that live in the client: it names them in `initialize`, and is called by `hook_callback`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::event::NoticeLevel;
use zori_core::hook::{
    HookEnd, HookEvent, HookInput, HookNotice, HookObserver, HookOutcome, HookResponse, Hooks, ObservedHook,
};
use zori_core::ids::SessionId;
use zori_core::permission::Verdict;
use zori_frontends::claude::control::{HookGroup, Initialize};
use zori_tools::hooks::matcher::Matcher;
use zori_tools::hooks::{self, HookContext};

use super::channel::{Body, Channel, Kind};

/// How long a callback may take when it does not say otherwise.
const TIMEOUT: Duration = Duration::from_secs(60);

/// What a client wants to be told.
#[derive(Clone, Debug)]
pub struct HookSubscription {
    event: HookEvent,
    matcher: Matcher,
    ids: Vec<String>,
    timeout: Duration,
    /// What cannot be asked is denied.
    blocks: bool,
}

/// Reads the hooks of `initialize`. The second value is what of them has no effect, a sentence each.
pub fn wanted(initialize: &Initialize) -> (Vec<HookSubscription>, Vec<String>) {
    let (mut wanted, mut notices) = (Vec::new(), Vec::new());
    for (name, groups) in initialize.hooks.iter().flatten() {
        let groups = groups.as_deref().unwrap_or_default();
        let Some(event) = HookEvent::by_name(name) else {
            if !groups.is_empty() {
                notices.push(format!("hooks for `{name}` are never called: there is no such moment here"));
            }
            continue;
        };
        for HookGroup { matcher, hook_callback_ids, timeout, on_failure } in groups {
            match Matcher::parse(matcher.as_deref()) {
                Ok(matcher) => wanted.push(HookSubscription {
                    event,
                    matcher,
                    ids: hook_callback_ids.clone(),
                    timeout: timeout
                        .and_then(|secs| Duration::try_from_secs_f64(secs).ok())
                        .filter(|time| !time.is_zero())
                        .unwrap_or(TIMEOUT),
                    blocks: on_failure.as_deref() == Some("block"),
                }),
                Err(bad) => notices.push(format!("a hook for `{name}` is never called: {bad}")),
            }
        }
    }
    (wanted, notices)
}

/// The client's hooks.
pub struct Callbacks {
    channel: Arc<Channel>,
    wanted: Vec<HookSubscription>,
    session: SessionId,
    transcript: Option<PathBuf>,
    root: PathBuf,
    home: Option<PathBuf>,
    watch: Option<Arc<dyn HookObserver>>,
}

/// Where a session is.
pub struct SessionPaths {
    pub session: SessionId,
    /// Its file, where there is one.
    pub transcript: Option<PathBuf>,
    /// Where tools run.
    pub root: PathBuf,
    /// The user's home.
    pub home: Option<PathBuf>,
}

#[derive(Serialize)]
struct HookCallback<'a> {
    subtype: &'static str,
    callback_id: &'a str,
    input: &'a RawValue,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_use_id: Option<&'a str>,
}

impl Callbacks {
    /// Calls the client.
    pub fn new(
        channel: Arc<Channel>,
        wanted: Vec<HookSubscription>,
        paths: SessionPaths,
        watch: Option<Arc<dyn HookObserver>>,
    ) -> Self {
        let SessionPaths { session, transcript, root, home } = paths;
        Self { channel, wanted, session, transcript, root, home, watch }
    }

    fn matching<'a>(&'a self, moment: &HookInput<'_>) -> impl Iterator<Item = &'a HookSubscription> {
        let (event, moment) = (moment.event(), *moment);
        self.wanted.iter().filter(move |one| one.event == event && hooks::applies_to(&one.matcher, &moment))
    }

    async fn call(
        &self,
        id: &str,
        wanted: &HookSubscription,
        input: &RawValue,
        tool_use_id: Option<&str>,
        moment: &HookInput<'_>,
    ) -> Result<HookResponse, String> {
        let observed = ObservedHook::start(self.watch.as_deref(), moment);
        let answer = self.asked(id, wanted, input, tool_use_id).await;
        let (said, failed) = match &answer {
            Ok(said) => (said.as_deref().map_or("", RawValue::get), None),
            Err(why) => ("", Some(why.as_str())),
        };
        let outcome = if failed.is_some() { HookOutcome::Error } else { HookOutcome::Success };
        observed.finish(HookEnd {
            stdout: said,
            stderr: failed.unwrap_or_default(),
            exit_code: None,
            outcome,
        });
        match answer? {
            Some(json) => hooks::parse_answer(wanted.event, json.get()),
            None => Ok(HookResponse::default()),
        }
    }

    async fn asked(
        &self,
        id: &str,
        wanted: &HookSubscription,
        input: &RawValue,
        tool_use_id: Option<&str>,
    ) -> Body {
        let request = HookCallback { subtype: "hook_callback", callback_id: id, input, tool_use_id };
        let asked = self.channel.ask(Kind::Other, request);
        match tokio::time::timeout(wanted.timeout, asked).await {
            Ok(answer) => answer,
            Err(_) => Err(format!("it did not answer within {} seconds", wanted.timeout.as_secs_f32())),
        }
    }
}

impl Hooks for Callbacks {
    fn wants(&self, moment: &HookInput<'_>) -> bool {
        self.matching(moment).next().is_some()
    }

    fn fire<'a>(&'a self, moment: HookInput<'a>, mode: &'a str) -> BoxFuture<'a, HookResponse> {
        Box::pin(async move {
            let context = HookContext {
                session: &self.session,
                transcript: self.transcript.as_deref(),
                root: &self.root,
                home: self.home.as_deref(),
            };
            let input = RawValue::from_string(hooks::input_json(&moment, mode, &context))
                .expect("what hooks are told is JSON");
            let tool_use_id = moment.call().map(|call| call.id.as_str());
            let mut response = HookResponse::default();
            for wanted in self.matching(&moment) {
                for id in &wanted.ids {
                    match self.call(id, wanted, &input, tool_use_id, &moment).await {
                        Ok(said) => response.merge(said),
                        Err(why) => {
                            let what = format!(
                                "the client's hook `{id}` for {} failed: {why}",
                                wanted.event.as_str()
                            );
                            if wanted.blocks {
                                response.add_verdict(Verdict::Deny, what.clone());
                            }
                            response.notices.push(HookNotice { level: NoticeLevel::Warning, text: what });
                        }
                    }
                }
            }
            response
        })
    }
}
