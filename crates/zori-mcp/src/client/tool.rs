//! A tool of a server as the engine sees it (MCP-41, MCP-51, MCP-52).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::time::Instant;
use zori_core::BoxFuture;
use zori_core::confine::Consent;
use zori_core::tool::{
    AskUser, Effect, McpChange, OutputStream, Tool, ToolCode, ToolCx, ToolKind, ToolOutput, ToolSpec,
};

use super::config::Trust;
use super::content;
use super::form_clock::FormClock;
use super::http::headers;
use super::input_rounds::{self, MAX_ROUNDS};
use super::peer::{Peer, RpcFailure};
use super::server::Server;
use super::servers::Shared;
use super::tool_list::ListedTool;

/// So often progress is shown at most.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// So often it is looked whether a form is still open.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// So many times its limit a call may take that reports progress.
const MOST_EXTENSIONS: u32 = 10;

/// A tool of a server.
pub(super) struct McpTool {
    pub(super) server: Arc<Server>,
    pub(super) shared: Arc<Shared>,
    /// The tool as the model saw it.
    pub(super) listed: ListedTool,
    /// What it said of itself when a call that has not run yet was judged.
    judged: Mutex<Option<String>>,
}

impl McpTool {
    pub(super) fn new(server: Arc<Server>, shared: Arc<Shared>, listed: ListedTool) -> Self {
        Self { server, shared, listed, judged: Mutex::new(None) }
    }

    /// Returns how the model sees it.
    pub(super) fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: self.listed.id(&self.server.config.name),
            description: self.listed.description.clone(),
            schema: serde_json::value::to_raw_value(&self.listed.schema).expect("a value is JSON"),
        }
    }

    /// Returns the tool as its server has it now; what it was where that is not known.
    fn now(&self) -> ListedTool {
        let now = self.server.now();
        now.tools.iter().find(|tool| tool.name == self.listed.name).unwrap_or(&self.listed).clone()
    }

    async fn call(&self, cx: ToolCx, arguments: Value) -> ToolOutput {
        let name = &self.server.config.name;
        let lost = |why: String| content::failed(format!("the MCP server `{name}`: {why}"));
        let peer = match tokio::time::timeout(self.server.config.start_timeout, self.server.connected()).await
        {
            Ok(Ok(peer)) => peer,
            Ok(Err(why)) => return lost(why),
            Err(_) => return lost("it is still being connected to".to_owned()),
        };
        let tool = self.now();
        let change = self.shared.pins.change(&self.server.identity, &tool);
        let judged = self.judged.lock().unwrap_or_else(PoisonError::into_inner).take();
        // The list of the last time may have been judged, before the server was there.
        let same = match judged {
            Some(digest) => digest == tool.digest,
            None => change == McpChange::None || cx.consent == Consent::Person,
        };
        if !same {
            return content::failed(format!(
                "the tool `{}` of the MCP server `{name}` says something else of itself than when the call was judged; nothing \
                 was executed. Call it again to have it judged anew",
                tool.name
            ));
        }
        if change == McpChange::None || cx.consent == Consent::Person {
            let (all, identity) = (self.server.now().tools, &self.server.identity);
            let played = self.shared.is_replayed(&self.server.config);
            if !played && self.shared.pins.approve(identity, name, &tool, &all) {
                self.shared.record(name, "pin", &tool.name);
            }
        } else {
            // The mode lets it run, unseen.
            self.warn(&cx, format!("the tool `{}` of the MCP server `{name}` {}", tool.name, change.about()));
        }
        let _asked = cx.ask.clone().map(|asker| Registered::new(&self.server, asker));
        let mut clock = CallClock::new(self.server.config.tool_timeout, self.shared.form_clock.total());
        let mut params = json!({"name": self.listed.name, "arguments": arguments});
        for _ in 0..=MAX_ROUNDS {
            let result = match self.round(&peer, params.clone(), &cx, &mut clock).await {
                Ok(Ok(result)) => result,
                Ok(Err(failure)) => return lost(failure.words()),
                Err(late) => return late,
            };
            if !input_rounds::wants_input(&result) {
                if let Some(why) = tool.broken_output(&result) {
                    let named = format!("the tool `{}` of the MCP server `{name}`", tool.name);
                    self.warn(&cx, format!("the result of {named} is not as its `outputSchema` says: {why}"));
                }
                return content::laid_out(&result, &self.shared.files);
            }
            let answered =
                input_rounds::answer(&self.server, &self.shared, &peer, &result, &mut params).await;
            if let Err(why) = answered {
                return lost(why);
            }
        }
        lost(input_rounds::too_many())
    }

    /// Warns the user, once of each thing.
    fn warn(&self, cx: &ToolCx, warning: String) {
        if let Some(user) = &cx.ask
            && self.shared.warns_first(&warning)
        {
            user.warn(warning);
        }
    }

    /// Calls once. An error is the output of a call that took too long.
    async fn round(
        &self,
        peer: &Arc<Peer>,
        params: Value,
        cx: &ToolCx,
        clock: &mut CallClock,
    ) -> Result<Result<Value, RpcFailure>, ToolOutput> {
        let (told, mut progress) = mpsc::unbounded_channel();
        let headers = headers::of_arguments(&self.listed.schema, &params["arguments"]);
        let late = AtomicBool::new(false);
        let mut answer = std::pin::pin!(peer.call_with("tools/call", params, headers, Some(told), &late));
        loop {
            tokio::select! {
                biased;
                answer = &mut answer => return Ok(answer),
                Some(progressed) = progress.recv() => {
                    let now = Instant::now();
                    clock.progressed(now);
                    if let Some(live) = &cx.live
                        && !progressed.words.is_empty()
                        && clock.shown.is_none_or(|last| now - last >= PROGRESS_EVERY)
                    {
                        clock.shown = Some(now);
                        live.push(OutputStream::Stdout, &format!("{}\n", progressed.words));
                    }
                }
                // While a form is open the time stands still.
                () = tokio::time::sleep_until(clock.deadline) => {
                    if clock.stood_still(&self.shared.form_clock) {
                        continue;
                    }
                    late.store(true, Ordering::Relaxed);
                    let message = format!(
                        "the MCP server `{}` did not answer within {} seconds (`tool_timeout_secs`)",
                        self.server.config.name,
                        clock.limit.as_secs()
                    );
                    let mut output = ToolOutput::failure(ToolCode::Timeout, message.clone());
                    output.text = Some(message.into());
                    return Err(output);
                }
            }
        }
    }
}

/// The time that a call may take.
struct CallClock {
    limit: Duration,
    began: Instant,
    deadline: Instant,
    /// How long forms had been open when it was last looked at.
    forms: Duration,
    /// When progress was last shown.
    shown: Option<Instant>,
}

impl CallClock {
    fn new(limit: Duration, forms: Duration) -> Self {
        let began = Instant::now();
        Self { limit, began, deadline: began + limit, forms, shown: None }
    }

    fn progressed(&mut self, now: Instant) {
        self.deadline = (now + self.limit).min(self.began + self.limit * MOST_EXTENSIONS);
    }

    /// Gives back the time for which forms were open. Returns whether there was any, or one is open still.
    fn stood_still(&mut self, forms: &FormClock) -> bool {
        let total = forms.total();
        let open = total.saturating_sub(std::mem::replace(&mut self.forms, total));
        (self.began, self.deadline) = (self.began + open, self.deadline + open);
        if forms.is_open() {
            self.deadline = self.deadline.max(Instant::now() + LOOK_AGAIN);
        }
        self.deadline > Instant::now()
    }
}

/// Waits for what a server is asked for, and as long again as forms are open meanwhile. `None`: it took too long, and `late` says so.
pub(super) async fn within<T>(
    limit: Duration,
    forms: &FormClock,
    late: &AtomicBool,
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut clock = CallClock::new(limit, forms.total());
    let mut work = std::pin::pin!(work);
    loop {
        match tokio::time::timeout_at(clock.deadline, &mut work).await {
            Ok(done) => return Some(done),
            Err(_) if clock.stood_still(forms) => {}
            Err(_) => {
                late.store(true, Ordering::Relaxed);
                return None;
            }
        }
    }
}

impl Tool for McpTool {
    fn kind(&self) -> Option<ToolKind> {
        None
    }

    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        let tool = self.now();
        self.judged.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| tool.digest.clone());
        let change = self.shared.pins.change(&self.server.identity, &tool);
        let trusted = self.server.config.trust == Trust::Trusted && change == McpChange::None;
        vec![Effect::Mcp {
            server: self.server.config.name.clone(),
            tool: self.listed.name.clone(),
            trusted_reader: trusted && tool.reads_only,
            change,
        }]
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let arguments: Value = serde_json::from_str(args.get()).unwrap_or_default();
            self.call(cx, arguments).await
        })
    }
}

/// Somebody who can be asked while a call runs.
pub(super) struct Registered<'s> {
    server: &'s Server,
    asker: Arc<dyn AskUser>,
}

impl<'s> Registered<'s> {
    pub(super) fn new(server: &'s Server, asker: Arc<dyn AskUser>) -> Self {
        server.askers.lock().unwrap_or_else(PoisonError::into_inner).push(asker.clone());
        Self { server, asker }
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        let mut askers = self.server.askers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = askers.iter().position(|asker| Arc::ptr_eq(asker, &self.asker)) {
            askers.remove(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MCP-51: what a form took is given back, once; while one is open nothing is over.
    #[test]
    fn the_clock_stands_while_a_form_is_open() {
        let limit = Duration::from_secs(10);
        let mut clock = CallClock::new(limit, Duration::from_secs(3));
        let (began, over) = (clock.began, Instant::now());
        clock.deadline = over;
        let forms = FormClock::after(Duration::from_secs(8));
        assert!(clock.stood_still(&forms));
        assert_eq!(
            (clock.began - began, clock.deadline - over),
            (Duration::from_secs(5), Duration::from_secs(5))
        );
        clock.deadline = over;
        assert!(!clock.stood_still(&forms));
        let open = forms.open();
        assert!(clock.stood_still(&forms) && clock.deadline > Instant::now());
        drop(open);
        clock.deadline = over;
        clock.stood_still(&forms);
        assert!(clock.deadline < Instant::now() + limit);
    }

    /// A prompt or a resource whose time is over is told so to its server, as a call is.
    #[test]
    fn what_takes_too_long_is_late() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let (forms, late) = (FormClock::default(), AtomicBool::new(false));
            assert_eq!(within(Duration::from_secs(60), &forms, &late, async { 1 }).await, Some(1));
            assert!(!late.load(Ordering::Relaxed));
            assert_eq!(within(Duration::ZERO, &forms, &late, std::future::pending::<u8>()).await, None);
            assert!(late.load(Ordering::Relaxed));
        });
    }
}
