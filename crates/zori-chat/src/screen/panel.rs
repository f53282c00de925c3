//! The panel (UI-50, UI-54): tabs, each a conversation with a session of its own. The one that is shown is on the screen; the others are put
//! aside, and their turns go on.

mod end;
mod tab_parts;
mod tabs;

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use tokio::runtime::Runtime;
use tokio::sync::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_core::event::{Event, NoticeLevel};
use zori_core::image::Image;
use zori_core::input::Input;
use zori_core::outcome::Outcome;
use zori_host::{BlockingSession, Peer, PeerRequest, TurnEnd};
use zori_tui::commands::unquoted;
use zori_tui::panel::{Panel, PanelEffect, TabSign};
use zori_tui::theme::Depth;
use zori_tui::transcript::Transcript;
use zori_tui::update::{self, Effect, FindRequest, Msg};

use super::in_turn::{self, Led};
use super::start::{ChatParts, Opening, on_terminal};
use super::{Begun, Screen, outside, peer};
use crate::chat::server_chat;
use crate::scheduler::Scheduler;
use tab_parts::Parked;
use zori_setup::agent_cx::AgentCx;
use zori_setup::args::LowArgs;
use zori_setup::open_browser::{OPENER, open_browser};
use zori_setup::preferences::Channel;
use zori_setup::settings::RunSettings;
use zori_setup::signals::Signals;
use zori_setup::wire_up::Prepared;

/// The theme of the panel unless the user says otherwise (THM-1).
const THEME: &str = "Studio Dark";

/// Opens the panel with its first tab. Without `args` it is the demo, which has no other.
pub fn run(
    cx: &mut AgentCx<'_>,
    signals: Signals,
    (prepared, run, args, attached): (Prepared, RunSettings, Option<LowArgs>, Vec<Image>),
    opening: Opening,
    mut scheduler: Option<Scheduler>,
) -> Result<Exit, Failure> {
    let brand = cx.profile.name;
    let mut parts = ChatParts::open(cx, None, prepared, run, args, attached, false)?;
    let (runtime, resumed) = (parts.plain.runtime(), parts.resumed);
    let config = parts.config.clone();
    if config.text("ui.theme").is_none() {
        // It is one of ours.
        let _ = parts.outside.look.choose(None, THEME);
    }
    tab_parts::furnish(&mut parts, "Chat 1".to_owned());
    let (mut screen, listening) = on_terminal(cx, signals, parts)?;
    screen.chat.channel = Channel::Panel;
    screen.outside.scheduled = scheduler.as_mut().and_then(|scheduler| scheduler.told.take());
    let mut panel = Panel::new(brand, &screen.display.paint.theme.name);
    panel.themes = screen.outside.theme_names();
    tab_parts::furnish_panel(&mut panel, &config);
    panel.colour = screen.display.paint.depth != Depth::None;
    panel.tabs = vec![TabSign::of(&screen.display.state)];
    screen.display.use_panel(panel);
    if config.flag("ui.mouse") == Some(true) {
        screen.display.tty.use_mouse();
    }
    screen.display.state.facts.spent = Some(screen.spent());
    // What was said of the settings is behind this screen by now (SEC-2, AZ-8).
    for warning in screen.outer.warned() {
        screen.say(NoticeLevel::Warning, &warning);
    }
    if resumed {
        screen.recall(false);
    }
    screen.restore_draft(resumed);
    match opening {
        Opening::Prompt(text) => screen.outside.later.push_back(Effect::Prompt(text.into())),
        Opening::Choose(command) => screen.display.take(Msg::Choose(command)),
        Opening::Empty if !resumed => screen.take_over_draft(),
        Opening::Empty | Opening::Again(_) => {}
    }
    let (asks, requests) = unbounded_channel();
    let mut panel = PanelLoop {
        screen,
        slots: vec![Slot { id: 0, parked: None, work: None }],
        on_screen: 0,
        shown: 0,
        opened: 1,
        asks,
        requests,
        runtime,
        quits: None,
        over: false,
        theme: config.text("ui.theme").map(str::to_owned),
    };
    panel.converse();
    drop(listening);
    panel.end()
}

/// The panel at work.
struct PanelLoop<'a, 'c> {
    /// The tab that is being worked on, on the screen.
    screen: Screen<'a, 'c>,
    /// Every tab, in their order.
    slots: Vec<Slot>,
    /// The one in `screen`, and the one that the person sees: the same but while another one is worked on for a moment.
    on_screen: usize,
    shown: usize,
    /// How many tabs there have been.
    opened: usize,
    /// What turns ask, by the tab they belong to.
    asks: UnboundedSender<(usize, PeerRequest)>,
    requests: UnboundedReceiver<(usize, PeerRequest)>,
    runtime: Arc<Runtime>,
    /// When the key to quit was pressed while turns ran.
    quits: Option<Instant>,
    over: bool,
    /// The theme that the settings name, those of the project among them.
    theme: Option<String>,
}

/// A tab.
struct Slot {
    /// It never changes, wherever the tab stands.
    id: usize,
    /// What belongs to it, unless it is in the screen.
    parked: Option<Box<Parked>>,
    work: Option<Work>,
}

/// What runs in a tab.
struct Work {
    inputs: UnboundedSender<Input>,
    running: Pin<Box<dyn Future<Output = (BlockingSession, Done)>>>,
    /// Told when it is not waited for any longer.
    given_up: Arc<Notify>,
    /// Whether it is a turn: the person gives nothing else up (KEY-3).
    is_turn: bool,
}

/// What came of it.
enum Done {
    Turn(Box<TurnEnd>),
    /// It was not waited for.
    GivenUp,
    Other,
}

/// Waits for the end of what runs in a tab, unless it is told not to wait any longer.
async fn unless_given_up(told: &Notify, work: impl Future<Output = Done>) -> Done {
    tokio::select! {
        biased;
        done = work => done,
        () = told.notified() => Done::GivenUp,
    }
}

/// The person at the panel, as the peer of one tab's turn.
struct TabPeer {
    id: usize,
    asks: UnboundedSender<(usize, PeerRequest)>,
    inputs: UnboundedReceiver<Input>,
}

impl Peer for TabPeer {
    fn ask(&mut self, request: PeerRequest) {
        // The panel outlives its turns.
        let _ = self.asks.send((self.id, request));
    }

    async fn next(&mut self) -> Input {
        match self.inputs.recv().await {
            Some(input) => input,
            None => std::future::pending().await,
        }
    }
}

/// What the panel waited for.
enum Came {
    /// Something for the tab that is shown.
    Screen,
    Aside(outside::Came),
    Asked(usize, PeerRequest),
    Ended(usize, Box<BlockingSession>, Done),
    /// An event of a tab that is not shown.
    Event(usize, Box<Event>),
}

impl PanelLoop<'_, '_> {
    fn converse(&mut self) {
        loop {
            self.pump();
            let display = &self.screen.display;
            if self.over || display.gone || display.ending.is_some() {
                return;
            }
            match self.wait() {
                Came::Screen => {}
                Came::Aside(came) => {
                    let Screen { display, outside, .. } = &mut self.screen;
                    outside.came(display, came);
                    if self.slots[self.on_screen].work.is_none() {
                        self.screen.count_asides();
                    }
                }
                Came::Asked(id, request) => {
                    if let Some(at) = self.slots.iter().position(|slot| slot.id == id) {
                        self.with_tab(at, |panel| {
                            let Screen { display, outside, answers, .. } = &mut panel.screen;
                            peer::ask(display, outside, *answers, request);
                        });
                    }
                }
                Came::Ended(at, session, done) => self.with_tab(at, |panel| panel.ended(*session, done)),
                Came::Event(at, event) => self.event(at, &event),
            }
        }
    }

    fn wait(&mut self) -> Came {
        let Self { screen, slots, requests, runtime, .. } = self;
        let Screen { display, outside, .. } = screen;
        let beside = poll_fn(|context| {
            for (at, slot) in slots.iter_mut().enumerate() {
                if let Some(work) = &mut slot.work
                    && let Poll::Ready((session, done)) = work.running.as_mut().poll(context)
                {
                    slot.work = None;
                    return Poll::Ready(Came::Ended(at, Box::new(session), done));
                }
                if let Some(parked) = &mut slot.parked
                    && let Poll::Ready(Some(event)) = parked.events.poll_recv(context)
                {
                    return Poll::Ready(Came::Event(at, Box::new(event)));
                }
            }
            Poll::Pending
        });
        runtime.block_on(async {
            tokio::select! {
                biased;
                Some((id, request)) = requests.recv() => Came::Asked(id, request),
                () = display.wait() => Came::Screen,
                came = outside.aside() => Came::Aside(came),
                came = beside => came,
            }
        })
    }

    /// Does what the tab in the screen wants, until it wants nothing more.
    fn pump(&mut self) {
        while !self.over {
            if let Some(begun) = self.screen.begun.take() {
                self.begin(begun);
                continue;
            }
            let Self { screen: Screen { display, outside, .. }, slots, on_screen, .. } = self;
            let work = &slots[*on_screen].work;
            let deaf = display.deaf;
            for input in display.inputs.drain(..) {
                if deaf && matches!(input, Input::Cancel(_)) {
                    continue;
                }
                if let Some(work) = work {
                    // A turn that is over hears nothing more.
                    let _ = work.inputs.send(input);
                }
            }
            let running = work.is_some();
            let effect = match running {
                true => display.effects.pop_front(),
                false => outside.later.pop_front().or_else(|| display.effects.pop_front()),
            };
            match effect {
                None => return,
                Some(Effect::Panel(effect)) => self.panel_effect(effect),
                Some(Effect::Theme { name, keep }) => self.theme(name, keep),
                Some(Effect::Leave) => self.quit(),
                Some(Effect::Abandon) => {
                    if let Some(work) = work.as_ref().filter(|work| work.is_turn) {
                        work.given_up.notify_one();
                    }
                }
                Some(Effect::Command(line)) if self.own_command(&line, running) => {}
                Some(effect) if running => self.in_turn(effect),
                Some(effect) => self.between_turns(effect),
            }
        }
    }

    /// An effect while the tab's turn runs.
    fn in_turn(&mut self, effect: Effect) {
        let Screen { display, outside, .. } = &mut self.screen;
        match effect {
            Effect::SetMode(mode) => {
                let input = in_turn::set_mode(display, &mode);
                display.inputs.push_back(input);
            }
            Effect::Command(line) => match outside.in_turn(display, &line) {
                Led::Done => {}
                Led::Input(input) => display.inputs.push_back(input),
                Led::Waits => update::wait_in_queue(&mut display.state, line.into()),
            },
            Effect::Shell { command, share } => display.inputs.push_back(Input::Shell { command, share }),
            effect @ (Effect::Prompt(_) | Effect::Confirmed { .. }) => outside.later.push_back(effect),
            effect => outside.run(display, effect),
        }
    }

    /// An effect while the tab waits for its person.
    fn between_turns(&mut self, effect: Effect) {
        let screen = &mut self.screen;
        match effect {
            // It waits for the answer to the question that is open.
            Effect::Prompt(prompt) if screen.display.state.confirm.is_some() => {
                screen.display.state.queue.items.push_front(prompt);
            }
            Effect::Prompt(prompt) => {
                screen.keep_in_history(&prompt.text);
                screen.turn(prompt);
            }
            Effect::Command(line) => {
                if screen.command(&line) {
                    self.quit();
                }
            }
            Effect::Shell { command, share } => {
                screen.keep_in_history(&format!("{}{command}", if share { "!" } else { "!!" }));
                screen.shell(command, share);
            }
            Effect::Find(FindRequest::Argument { command: "/rewind", word, .. }) => screen.find_turns(word),
            Effect::Confirmed { what, yes } => screen.confirmed(what, yes),
            Effect::SetMode(mode) => screen.set_mode(&mode),
            effect => {
                let Screen { display, outside, .. } = screen;
                outside.run(display, effect);
            }
        }
    }

    /// Begins what runs in the tab beside the others.
    fn begin(&mut self, begun: Begun) {
        let (inputs, heard) = unbounded_channel();
        let id = self.slots[self.on_screen].id;
        let mut peer = TabPeer { id, asks: self.asks.clone(), inputs: heard };
        let screen = &mut self.screen;
        let is_turn = matches!(begun, Begun::Turn(_));
        let given_up = Arc::new(Notify::new());
        let told = given_up.clone();
        let running: Pin<Box<dyn Future<Output = (BlockingSession, Done)>>> = match begun {
            Begun::Tab(args, name) => return self.open_tab(*args, Some(name)),
            Begun::Again(args) => return self.begin_anew(*args),
            Begun::Turn(prompt) => {
                let prompt = screen.before_turn(prompt);
                let mut lent = screen.chat.plain.lend();
                Box::pin(async move {
                    let turn = async { Done::Turn(Box::new(lent.session.turn(prompt, &mut peer).await)) };
                    let done = unless_given_up(&told, turn).await;
                    (lent, done)
                })
            }
            Begun::Shell { command, share } => {
                let mut lent = screen.chat.plain.lend();
                Box::pin(async move {
                    let shell = async {
                        lent.session.shell(command, share, &mut peer).await;
                        Done::Other
                    };
                    let done = unless_given_up(&told, shell).await;
                    (lent, done)
                })
            }
            Begun::Compact(focus) => {
                let mut lent = screen.chat.plain.lend();
                Box::pin(async move {
                    let compaction = async {
                        lent.session.compact(focus.as_deref(), &mut peer).await;
                        Done::Other
                    };
                    let done = unless_given_up(&told, compaction).await;
                    (lent, done)
                })
            }
        };
        self.slots[self.on_screen].work = Some(Work { inputs, running, given_up, is_turn });
    }

    /// What ran in the tab is over.
    fn ended(&mut self, session: BlockingSession, done: Done) {
        self.screen.chat.plain.give_back(session);
        self.screen.show_tab_facts();
        match done {
            Done::Turn(end) => {
                let failed = matches!(end.summary.outcome, Outcome::Failed(_));
                let answered = match end.summary.outcome {
                    Outcome::Completed(_) | Outcome::Limit(_) => Some(true),
                    Outcome::Failed(_) => Some(false),
                    _ => None,
                };
                if let (Some(_), Some(tab)) = (answered, &mut self.screen.display.state.tab) {
                    tab.facts.answered = answered;
                }
                self.screen.after_turn(*end);
                if let (true, Some(face)) = (failed, &mut self.screen.display.face) {
                    face.panel.interrupt_game();
                }
            }
            // The panel ends, and what there is of the session is closed.
            Done::GivenUp if self.over => {}
            Done::GivenUp => self.screen.abandon_turn(),
            Done::Other => self.screen.turn_over(None),
        }
    }

    /// An event of a tab that is not shown.
    fn event(&mut self, at: usize, event: &Event) {
        let now = self.screen.display.now();
        let Some(parked) = &mut self.slots[at].parked else { return };
        for effect in update::update(&mut parked.state, now, Msg::Event(event)) {
            match effect {
                Effect::Input(input) => parked.inputs.push_back(input),
                effect => parked.effects.push_back(effect),
            }
        }
        let sign = TabSign::of(&parked.state);
        if !parked.effects.is_empty() || !parked.inputs.is_empty() {
            self.with_tab(at, |_| {});
        }
        self.show_sign(at, sign);
    }

    /// Shows a tab's sign, if it is another than before.
    fn show_sign(&mut self, at: usize, sign: TabSign) {
        let display = &mut self.screen.display;
        let Some(face) = &mut display.face else { return };
        if let Some(shown) = face.panel.tabs.get_mut(at).filter(|shown| **shown != sign) {
            *shown = sign;
            display.touch();
        }
    }

    /// Uses other colours in every tab.
    fn theme(&mut self, name: String, keep: bool) {
        let Screen { display, outside, .. } = &mut self.screen;
        outside.run(display, Effect::Theme { name, keep });
        if let Some(face) = &mut display.face {
            face.panel.theme.clone_from(&display.paint.theme.name);
        }
        let look = outside.look.clone();
        for parked in self.slots.iter_mut().filter_map(|slot| slot.parked.as_mut()) {
            parked.outside.look = look.clone();
        }
        self.screen.display.forget();
    }

    /// Runs a line if it is a command about tabs; returns whether it was.
    fn own_command(&mut self, line: &str, running: bool) -> bool {
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let rest = unquoted(rest);
        match name.to_lowercase().as_str() {
            "/new" => {
                let name = Some(rest.to_owned()).filter(|name| !name.is_empty());
                self.panel_effect(PanelEffect::NewTab(name));
            }
            "/close" => self.panel_effect(PanelEffect::CloseTab),
            "/clear" if !running => self.panel_effect(PanelEffect::Clear),
            "/rename" if !rest.is_empty() => {
                if let Some(tab) = &mut self.screen.display.state.tab {
                    tab.name = rest.to_owned();
                }
                // The session has the title, too.
                return false;
            }
            _ => return false,
        }
        true
    }

    fn panel_effect(&mut self, effect: PanelEffect) {
        match effect {
            PanelEffect::Tab(at) => self.show(at),
            PanelEffect::NewTab(name) => self.open_beside(name),
            PanelEffect::CloseTab => self.close_tab(),
            PanelEffect::Clear => self.clear(),
            PanelEffect::WebUi => self.open_web(),
            PanelEffect::Facts => self.screen.show_context(),
            PanelEffect::Quit => self.quit(),
        }
        self.screen.display.touch();
    }

    /// Begins the tab's conversation anew.
    fn clear(&mut self) {
        if self.slots[self.on_screen].work.is_some() {
            return self.hint("a turn is running; Esc stops it");
        }
        let told = server_chat::reset(&self.screen.chat.plain);
        self.screen.command("/new");
        let state = &mut self.screen.display.state;
        state.transcript = Transcript::new(state.options.signs, state.options.thinking);
        if let Some(tab) = &mut state.tab {
            tab.clear();
        }
        if let Some(words) = told {
            self.screen.say(NoticeLevel::Info, &words);
        }
        self.screen.display.forget();
    }

    /// Opens the provider's own user interface (UI-5, F5).
    fn open_web(&mut self) {
        let web = self.screen.display.state.tab.as_ref().and_then(|tab| tab.facts.web.clone());
        match web {
            Some(url) => {
                let words = match open_browser(&url, &self.screen.outside.env) {
                    true => format!("opened {url}"),
                    false => format!("{OPENER} is not there; open {url} yourself"),
                };
                self.hint(&words);
            }
            None => self.hint("this provider has no web UI of its own"),
        }
    }

    fn hint(&mut self, words: &str) {
        let display = &mut self.screen.display;
        display.state.now = display.now();
        display.state.say(words);
        display.touch();
    }
}
