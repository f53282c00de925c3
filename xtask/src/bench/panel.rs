//! The panel at 200x60 (UI-50): a frame while an answer streams in, with the theme's ground behind every row, and 10,000 events in the feed.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use zori_core::event::{Event, EventKind, MessageEvent, Notice, NoticeLevel, PROVIDER_STATUS};
use zori_core::ids::{AgentId, SessionId};
use zori_core::input::Prompt;
use zori_core::time::Timestamp;
use zori_tui::panel::{self, Panel, Tab, TabSign};
use zori_tui::state::{Facts, Options, Size, State};
use zori_tui::terminal::inline::Brush;
use zori_tui::terminal::paint::Links;
use zori_tui::terminal::screen::Screen;
use zori_tui::theme::{Depth, Paint, Theme};
use zori_tui::update::{self, Msg};

use super::area::Bench;
use super::figure::{Bar, Figure, median, ms};
use super::run::in_ms;

const SIZE: Size = Size { rows: 60, columns: 200 };
/// The frames that are measured, and the events of the feed.
const FRAMES: usize = 500;
const EVENTS: usize = 10_000;
/// How many lines a feed keeps (UI-4).
const KEPT: usize = 500;

/// Measures it.
pub fn panel(_: &Bench) -> Result<Vec<Figure>> {
    let mut stage = Stage::new();
    stage.take(Msg::TurnBegins(Prompt::from("explain it")));
    let mut frames = Vec::new();
    for frame in 0..FRAMES {
        let text = if frame % 12 == 11 { "end.\n\n" } else { "some words of an answer with `code` in it, " };
        stage.event(EventKind::Message(MessageEvent::AssistantDelta { text: text.into() }));
        let began = Instant::now();
        let bytes = stage.frame();
        frames.push(in_ms(began.elapsed()));
        ensure!(bytes > 0, "a frame with new text writes something");
    }
    let mut whole = Vec::new();
    for _ in 0..FRAMES / 10 {
        stage.screen.forget();
        let began = Instant::now();
        stage.frame();
        whole.push(in_ms(began.elapsed()));
    }
    let began = Instant::now();
    for number in 0..EVENTS {
        let text = format!("event {number} with some words behind it");
        stage.event(EventKind::Notice(Notice { level: NoticeLevel::Info, code: PROVIDER_STATUS, text }));
    }
    let fed = in_ms(began.elapsed());
    let kept = stage.state.tab.as_ref().map_or(0, |tab| tab.feed.len());
    ensure!(kept == KEPT, "the feed keeps {kept} lines");
    let figure = |name, value, bar| Figure { name, measured: ms(value), floor: None, bar: Bar::Under(bar) };
    Ok(vec![
        figure("panel: a frame at 200x60 while an answer streams", median(&frames), 4.0),
        figure("panel: all rows of it anew", median(&whole), 4.0),
        figure("panel: 10,000 events of the feed, 500 kept", fed, 100.0),
    ])
}

/// A panel without a terminal.
struct Stage {
    state: State,
    panel: Panel,
    screen: Screen,
    paint: Paint,
    now: Duration,
    seq: u64,
}

impl Stage {
    fn new() -> Self {
        let mut state = State::new(SIZE, Options::default(), Facts::default());
        state.tab = Some(Box::new(Tab::new("Chat 1")));
        let mut panel = Panel::new("zori", "Studio Dark");
        panel.tabs = vec![TabSign::of(&state)];
        let paint = Paint { theme: Theme::named("Studio Dark").expect("it is ours"), depth: Depth::True };
        Self { state, panel, screen: Screen::default(), paint, now: Duration::from_secs(1), seq: 0 }
    }

    fn take(&mut self, msg: Msg<'_>) {
        self.now += Duration::from_millis(20);
        update::update(&mut self.state, self.now, msg);
    }

    fn event(&mut self, kind: EventKind) {
        self.seq += 1;
        let event = Event {
            seq: self.seq,
            at: Timestamp(0),
            session: SessionId::parse("s").expect("it is a name"),
            agent: AgentId::MAIN,
            parent: None,
            kind,
        };
        self.take(Msg::Event(&event));
    }

    /// Draws a frame; returns how many bytes it takes.
    fn frame(&mut self) -> usize {
        self.panel.tick(&self.state);
        let width = panel::chat_width(&self.state);
        panel::lay_out(&mut self.state, width);
        let view = panel::view(&self.state, &self.panel);
        let brush = Brush { paint: &self.paint, links: Links::Left };
        self.screen.frame(view.rows, view.caret, brush).len()
    }
}
