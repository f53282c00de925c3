//! The panel (`zori tui`, UI-50 to UI-54): the second layout over the chat's components, on a screen of its own, with tabs. Arrangement, and
//! the few keys that are about it; all that a chat does is the chat's.

pub mod arcade;
mod cards;
mod compose;
mod dialog;
mod feed;
mod help;
mod keys;
mod menu;
mod tab;
mod view;

use std::time::Duration;

pub use dialog::{fits as question_fits, hidden as hidden_rows};
pub use feed::{Feed, Tag};
pub use menu::Menu;
pub use tab::{Tab, TabFacts, lay_out};
pub use view::{PanelView, chat_width, view};

use crate::keys::Key;
use crate::state::State;
use crate::update::Effect;
use arcade::{FRAME, Game, Kind, Player};

/// The smallest window for a game.
const SMALLEST_FOR_GAMES: (u16, u16) = (20, 60);
/// How large the game is that plays by itself.
const WAITING: (u16, u16) = (34, 6);

/// How many rows a notch of the wheel is.
const WHEEL: isize = 3;

/// What all tabs share.
#[derive(Debug)]
pub struct Panel {
    /// The name in the bar.
    pub brand: String,
    /// The name of the theme.
    pub theme: String,
    /// What the menu offers.
    pub themes: Vec<String>,
    pub projects: Vec<String>,
    pub agents: Vec<String>,
    pub tabs: Vec<TabSign>,
    pub active: usize,
    pub open: Option<Open>,
    /// What plays while somebody waits; `None`: nothing does.
    pub waiting_game: Option<Kind>,
    /// Whether the terminal shows colours, without which there are no games.
    pub colour: bool,
    /// The game that plays by itself.
    waiting: Option<Box<Game>>,
    /// When the last frame of a game was.
    frame: Duration,
}

/// A tab as the row of tabs shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TabSign {
    pub name: String,
    pub sign: Sign,
}

/// What is to be known of a tab (UI-54).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    None,
    Running,
    Asks,
    Unread,
}

/// What is open over the panel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Open {
    Menu(Box<Menu>),
    /// From this row on.
    Help(usize),
    Game(Box<Game>),
}

/// What the panel wants of the outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PanelEffect {
    /// Show the tab with this place.
    Tab(usize),
    /// Open another one, with this name.
    NewTab(Option<String>),
    CloseTab,
    /// Begin this tab's chat anew.
    Clear,
    /// Open the provider's own user interface in a browser.
    WebUi,
    /// Show in the cards what became of the provider meanwhile.
    Facts,
    Quit,
}

impl Panel {
    /// Returns a panel with one tab.
    pub fn new(brand: &str, theme: &str) -> Self {
        Self {
            brand: brand.to_uppercase(),
            theme: theme.to_owned(),
            themes: Vec::new(),
            projects: Vec::new(),
            agents: Vec::new(),
            tabs: Vec::new(),
            active: 0,
            open: None,
            waiting_game: Some(Kind::Invaders),
            colour: true,
            waiting: None,
            frame: Duration::ZERO,
        }
    }

    /// Takes a key if it is the panel's; returns whether it was.
    pub fn key(&mut self, state: &mut State, key: Key, effects: &mut Vec<Effect>) -> bool {
        keys::key(self, state, key, effects)
    }

    /// Takes a notch of the wheel: the chat scrolls, whatever is typed. Nothing moves under what is open over it.
    pub fn wheel(&self, state: &mut State, up: bool) {
        if self.open.is_some() || !state.questions.is_empty() || state.pager.is_some() {
            return;
        }
        let most = view::scrolled_most(state);
        if let Some(tab) = &mut state.tab {
            tab.scroll_by(if up { WHEEL } else { -WHEEL }, most);
        }
    }

    /// Closes what a question has to be seen before (UI-51, UI-53).
    pub fn settle(&mut self, state: &State, effects: &mut Vec<Effect>) {
        if !state.questions.is_empty() {
            self.close(effects);
        }
    }

    /// Closes what is open over it. A theme that was only tried goes with the menu (UI-52).
    pub fn close(&mut self, effects: &mut Vec<Effect>) {
        if let Some(Open::Menu(menu)) = self.open.take() {
            menu.put_back(effects);
        }
    }

    /// Ends a game, because something went wrong.
    pub fn interrupt_game(&mut self) {
        if matches!(self.open, Some(Open::Game(_))) {
            self.open = None;
        }
    }

    /// Goes on with what moves, as far as the time is.
    pub fn tick(&mut self, state: &State) {
        let now = state.now;
        let waits = self.waits(state);
        match (waits, &self.waiting) {
            (Some(kind), None) => {
                self.waiting = Some(Box::new(Game::new(kind, Player::Nobody, WAITING.0, WAITING.1)));
            }
            (None, Some(_)) => self.waiting = None,
            _ => {}
        }
        if now < self.frame + FRAME {
            return;
        }
        self.frame = now;
        if let Some(game) = &mut self.waiting {
            game.step();
        }
        if let Some(Open::Game(game)) = &mut self.open {
            game.step();
        }
    }

    /// Returns when something moves next; `None` if nothing does.
    pub fn next_tick(&self, state: &State) -> Option<Duration> {
        let plays = matches!(&self.open, Some(Open::Game(game)) if !game.paused && !game.is_over());
        (plays || self.waits(state).is_some()).then(|| self.frame + FRAME)
    }

    /// Returns whether games can be played here (UI-15, UI-53).
    pub fn plays(&self, state: &State) -> bool {
        let (rows, columns) = SMALLEST_FOR_GAMES;
        self.colour && state.options.motion && state.size.rows >= rows && state.size.columns >= columns
    }

    /// Returns the game that F3 opens.
    pub fn game_kind(&self) -> Kind {
        self.waiting_game.unwrap_or(Kind::Invaders)
    }

    /// Returns the game that plays by itself now: somebody waits, sees it, and is not asked anything.
    fn waits(&self, state: &State) -> Option<Kind> {
        let seen = cards::fit(state) && state.pager.is_none() && !matches!(self.open, Some(Open::Game(_)));
        let waits = state.turn.is_some() && state.questions.is_empty() && seen && self.plays(state);
        self.waiting_game.filter(|_| waits)
    }
}

impl TabSign {
    /// Returns how a tab is shown.
    pub fn of(state: &State) -> Self {
        let (name, unread) =
            state.tab.as_ref().map_or((String::new(), false), |tab| (tab.name.clone(), tab.unread));
        let sign = match (&state.turn, state.questions.is_empty()) {
            (_, false) => Sign::Asks,
            (Some(_), true) => Sign::Running,
            (None, true) if unread => Sign::Unread,
            (None, true) => Sign::None,
        };
        Self { name, sign }
    }
}
