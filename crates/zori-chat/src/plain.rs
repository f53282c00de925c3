//! A session of `exec`, the line chat, `--json` or the demo: one at a time, with signals, from its start to its end.

use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use tokio::runtime::Runtime;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::cost::Spent;
use zori_core::input::{Input, Prompt};
use zori_core::provider::Provider;
use zori_core::usage::Usage;
use zori_host::{
    BlockingSession, FrontendParts, Host, Limits, OpenedSession, Peer, Replay, Session, SessionSettings,
    TurnEnd, Upstream, Which,
};
use zori_redact::Redactor;

use crate::frontend;
use crate::recap::{self, Recapper};
use crate::screen::Beside;
use zori_setup::agent_cx::AgentCx;
use zori_setup::asking::{PlainPeer, WAYS_OUT, reply};
use zori_setup::beside::{Asker, SideAnswer};
use zori_setup::settings::RunSettings;
use zori_setup::signals::Signals;
use zori_setup::stdin::Client;
use zori_setup::ui::Ui;
use zori_setup::wire_up::{self, Prepared, written};

/// A session under way, and all it runs on.
pub struct PlainSession {
    /// What its folder's sessions share.
    pub host: Host,
    /// What only this program needs.
    pub run: RunSettings,
    /// Who answers, and what asks.
    pub peer: PlainPeer,
    blocking: Held,
    upstream: Upstream,
    parts: Parts,
}

/// The session, unless the panel has lent it to a turn that runs beside others.
struct Held(Option<BlockingSession>);

impl Deref for Held {
    type Target = BlockingSession;

    fn deref(&self) -> &BlockingSession {
        self.0.as_ref().expect("a session that a turn has is not asked")
    }
}

impl DerefMut for Held {
    fn deref_mut(&mut self) -> &mut BlockingSession {
        self.0.as_mut().expect("a session that a turn has is not asked")
    }
}

/// What the front end brings to each session.
pub type Parts = Box<dyn Fn(&AgentCx<'_>, &SessionSettings) -> Result<FrontendParts, Failure>>;

/// What is worth saying at the end of a run.
#[derive(Default)]
pub struct Advice {
    /// Calls were denied because nobody could be asked.
    pub unasked: bool,
    /// What to do about a key that was refused.
    pub key: Option<String>,
}

impl PlainSession {
    /// Starts a session. `client`: the program on standard input, where one speaks there.
    pub fn start(
        cx: &AgentCx<'_>,
        prepared: Prepared,
        run: RunSettings,
        client: Option<Client>,
    ) -> Result<Self, Failure> {
        Self::start_with(cx, prepared, run, client, Box::new(frontend::plain))
    }

    /// Starts a session with another front end.
    pub fn start_with(
        cx: &AgentCx<'_>,
        prepared: Prepared,
        run: RunSettings,
        client: Option<Client>,
        parts: Parts,
    ) -> Result<Self, Failure> {
        let runtime = Arc::new(wire_up::runtime()?);
        Self::start_on(cx, runtime, prepared, run, client, parts)
    }

    /// Starts a session on a runtime that it shares with others.
    pub fn start_on(
        cx: &AgentCx<'_>,
        runtime: Arc<Runtime>,
        prepared: Prepared,
        run: RunSettings,
        client: Option<Client>,
        parts: Parts,
    ) -> Result<Self, Failure> {
        let Prepared { host, opened, upstream } = prepared;
        let mut own = parts(cx, &host.settings)?;
        run.dump.follow(&host, &opened.id, &mut own)?;
        let session = wire_up::start(cx, &host, opened, &upstream, own, Spent::NOTHING)?;
        let redactor = Redactor::new(host.settings.model.secrets.clone());
        let peer = PlainPeer::new(host.settings.permission.answers, redactor, run.rules_file.clone(), client);
        let blocking = Held(Some(BlockingSession::new(session, runtime)));
        Ok(Self { host, run, peer, blocking, upstream, parts })
    }

    /// Runs a turn that signals can cancel.
    pub fn turn(&mut self, prompt: Prompt, signals: &Signals) -> TurnEnd {
        let asker = self.asker();
        let Self { blocking, peer, .. } = self;
        peer.turn_begins(asker);
        let end = signals.during(peer, |peer| blocking.turn(prompt, peer));
        for usage in self.peer.turn_over() {
            self.session_mut().add_usage(usage);
        }
        end
    }

    /// Gives the session away for a turn that runs beside others; until it comes back nobody may ask for it.
    pub fn lend(&mut self) -> BlockingSession {
        self.blocking.0.take().expect("a session is lent once")
    }

    /// Takes it back.
    pub fn give_back(&mut self, session: BlockingSession) {
        self.blocking.0 = Some(session);
    }

    /// Returns the runtime, for another session beside this one.
    pub fn runtime(&self) -> Arc<Runtime> {
        self.blocking.runtime()
    }

    /// Runs a turn with another peer, who hears signals itself; `None` if it was given up.
    pub fn turn_unless(
        &mut self,
        prompt: Prompt,
        peer: &mut impl Peer,
        given_up: impl Future<Output = ()>,
    ) -> Option<TurnEnd> {
        self.blocking.turn_unless(prompt, peer, given_up)
    }

    /// Compacts the conversation with another peer.
    pub fn compact_with(&mut self, focus: Option<&str>, peer: &mut impl Peer) {
        self.blocking.compact(focus, peer);
    }

    /// Runs a command of the user's own that signals can cancel (CMP-5). Returns what it said.
    pub fn shell(&mut self, command: String, share: bool, signals: &Signals) -> Vec<String> {
        let Self { blocking, peer, .. } = self;
        let ended = signals.during(peer, |peer| blocking.shell(command, share, peer));
        drop(self.peer.turn_over());
        ended.iter().map(|done| done.result.content().to_owned()).collect()
    }

    /// Runs a command of the user's own with another peer (CMP-5).
    pub fn shell_with(&mut self, command: String, share: bool, peer: &mut impl Peer) {
        self.blocking.shell(command, share, peer);
    }

    /// Waits for something between turns.
    pub fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.blocking.block_on(future)
    }

    /// Does something that belongs to the runtime of the session.
    pub fn within<T>(&self, make: impl FnOnce() -> T) -> T {
        self.blocking.block_on(async { make() })
    }

    /// Compacts the conversation, unless signals cancel it.
    pub fn compact(&mut self, focus: Option<&str>, signals: &Signals) {
        let Self { blocking, peer, .. } = self;
        signals.during(peer, |peer| blocking.compact(focus, peer));
    }

    /// Has the model sum the session up (`/recap`), unless signals cancel it. Returns the text, or why there is none, and what it cost.
    pub fn recap(&mut self, signals: &Signals) -> (Result<String, String>, Spent) {
        let recapper = self.recapper();
        let Self { peer, blocking, .. } = self;
        signals.during(peer, |peer| recap(&recapper, blocking, peer))
    }

    /// The same with another peer.
    pub fn recap_with(&mut self, peer: &mut impl Peer) -> (Result<String, String>, Spent) {
        let recapper = self.recapper();
        recap(&recapper, &mut self.blocking, peer)
    }

    /// Asks the model beside the conversation (`/btw`), unless signals cancel it.
    pub fn ask_beside(&mut self, question: &str, signals: &Signals) -> Result<String, String> {
        let asking = self.beside("").ask(question);
        let Self { peer, blocking, .. } = self;
        let answered = signals.during(peer, |peer| blocking.block_on(until_cancelled(asking, peer)))?;
        blocking.session.add_usage(answered.usage);
        answered.answer
    }

    /// Returns who can be asked beside the conversation, and with what in mind (`/btw`). `prompt`: what the turn that begins now asks.
    pub fn beside(&self, prompt: &str) -> Beside {
        let mut messages = self.session().messages().to_vec();
        if !prompt.is_empty() {
            messages.push(Arc::new(zori_core::message::Message::user(prompt)));
        }
        Beside { asker: self.asker(), recapper: self.recapper(), messages }
    }

    /// Returns who sums the session up.
    fn recapper(&self) -> Recapper {
        let limits = &self.host.settings.limits;
        Recapper {
            asker: self.asker(),
            settings: self.run.recap.clone(),
            network: self.upstream.network.clone(),
            waits: self.run.http_limits,
            limits: Limits {
                budget: limits.run.budget.or(limits.daily.as_ref().map(|daily| daily.max)),
                ..limits.run
            },
        }
    }

    /// Returns who can be asked beside the conversation.
    fn asker(&self) -> Asker {
        let (session, request) = (self.session(), &self.host.settings.request);
        Asker {
            provider: aside(&self.upstream, &self.run),
            model: session.model().to_owned(),
            paid_as: session.model().to_owned(),
            redactor: self.host.redactor(),
            ledger: session.ledger(),
            max_tokens: request.max_tokens,
            effort: request.effort,
            delivery: request.delivery,
            retry: request.retry,
        }
    }

    /// Leaves the session and goes on with another; returns how many messages that one has.
    pub fn switch(&mut self, cx: &mut AgentCx<'_>, which: Which) -> Result<usize, Failure> {
        let opened = wire_up::open(&self.host, which, cx.ui)?;
        self.go_on_with(cx, opened)
    }

    /// Goes on without the turn that was given up: what was said before it stays. A session that is saved is opened anew as it is kept.
    pub fn leave_turn_behind(&mut self, cx: &mut AgentCx<'_>) -> Result<(), Failure> {
        let session = self.session();
        // What is kept only for this run is kept on, too.
        let (id, saved) = (session.id().clone(), session.is_saved() || session.can_undo());
        let opened = OpenedSession::going_on_from(id.clone(), session.messages());
        self.go_on_with(cx, opened)?;
        // Only now nobody writes to its file any more.
        if saved {
            self.switch(cx, Which::Existing(id))?;
        }
        Ok(())
    }

    fn go_on_with(&mut self, cx: &mut AgentCx<'_>, opened: OpenedSession) -> Result<usize, Failure> {
        let messages = opened.history.len();
        self.host.settings.model.name = self.session().model().into();
        let mut parts = (self.parts)(cx, &self.host.settings)?;
        self.run.dump.follow(&self.host, &opened.id, &mut parts)?;
        let next = wire_up::start(cx, &self.host, opened, &self.upstream, parts, self.session().spent())?;
        written(self.blocking.replace(next), cx.ui);
        Ok(messages)
    }

    pub fn session(&self) -> &Session {
        &self.blocking.session
    }

    /// Returns the session, for changes between turns.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.blocking.session
    }

    /// Waits for the program on standard input, between turns.
    pub fn next_command(&mut self) -> Option<zori_frontends::jsonl::command::Command> {
        let client = self.peer.client()?;
        self.blocking.block_on(client.next())
    }

    /// Waits for a line of the person at the terminal, between turns.
    pub fn ask_line(&self) -> Option<String> {
        self.blocking.block_on(reply::next())
    }

    /// Ends everything. Returns the exit codes of what could not be written, and of a replay that ended early.
    pub fn close(self, ui: &mut Ui, advice: Advice) -> [Exit; 2] {
        let Self { host, blocking, upstream, .. } = self;
        let closed = blocking.0.map_or(Exit::Success, |session| written(session.close(), ui));
        if advice.unasked {
            ui.say(WAYS_OUT);
        }
        ui.notices(&host.close());
        if let Some(advice) = advice.key {
            ui.say(&format!("Hint: {advice}"));
        }
        let (notices, replay) = upstream.network.close();
        ui.notices(&notices);
        [closed, if replay == Replay::Short { Exit::General } else { Exit::Success }]
    }
}

/// Returns the model as it is asked beside the conversation: an Agent Zero server learns nothing of the workspace there, and no file goes along.
fn aside(upstream: &Upstream, run: &RunSettings) -> Arc<dyn Provider> {
    match run.agent_zero.as_ref().and_then(|setup| setup.server.get()) {
        Some(server) => Arc::new(server.beside()),
        None => upstream.provider.clone(),
    }
}

fn recap(
    recapper: &Recapper,
    blocking: &mut BlockingSession,
    peer: &mut impl Peer,
) -> (Result<String, String>, Spent) {
    let Some(asking) = recapper.ask(blocking.session.messages()) else {
        return (Ok(recap::NO_TURNS.to_owned()), Spent::NOTHING);
    };
    match blocking.block_on(until_cancelled(asking, peer)) {
        Ok(SideAnswer { answer, usage, .. }) if usage == Usage::NOTHING => (answer, Spent::NOTHING),
        Ok(SideAnswer { answer, usage, paid_as, .. }) => {
            (answer, blocking.session.add_usage_of(&paid_as, usage))
        }
        Err(why) => (Err(why), Spent::NOTHING),
    }
}

/// Waits for something, unless the peer wants no more of it.
async fn until_cancelled<T>(future: impl Future<Output = T>, peer: &mut impl Peer) -> Result<T, String> {
    let mut future = std::pin::pin!(future);
    loop {
        tokio::select! {
            biased;
            value = &mut future => return Ok(value),
            input = peer.next() => {
                if matches!(input, Input::Cancel(_) | Input::Shutdown) {
                    return Err("interrupted".to_owned());
                }
            }
        }
    }
}
