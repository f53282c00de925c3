//! All that the chat knows, as plain data. `update` changes it, `chat` draws it.

use std::collections::VecDeque;
use std::time::Duration;

use zori_core::cost::{Prices, Spent};
use zori_core::event::NoticeLevel;
use zori_core::input::Prompt;
use zori_core::tool::Todo;

use crate::cell::Signs;
use crate::commands::CommandInfo;
use crate::completion::Completion;
use crate::composer::Composer;
use crate::composer::buffer::Buffer;
use crate::confirm::Confirm;
use crate::footer::Part;
use crate::keymap::{Action, Keymap};
use crate::keys::Key;
use crate::pager::Pager;
use crate::panel::Tab;
use crate::question::Asked;
use crate::transcript::Transcript;

/// How long no key comes from somebody who is not there.
const ALONE: Duration = Duration::from_secs(60);

/// The chat.
#[derive(Debug)]
pub struct State {
    pub size: Size,
    /// Time since the chat began, as the last message told it.
    pub now: Duration,
    pub options: Options,
    pub facts: Facts,
    pub composer: Composer,
    /// What was being typed while something else has the composer: a list that a key or a command opened, the question of `/loop`.
    pub put_by: Option<Buffer>,
    /// What is in the composer was put there when a turn ended, and no key came since.
    pub given_back: bool,
    /// Enter begins another line, and an empty one sends (UI-9).
    pub several_lines: bool,
    pub transcript: Transcript,
    pub queue: Queue,
    pub turn: Option<Turn>,
    pub questions: VecDeque<Asked>,
    /// Why the next call is made, where whoever asks for it has said so (APR-1).
    pub call_reason: Option<String>,
    /// A question of the chat itself.
    pub confirm: Option<Confirm>,
    pub completion: Option<Completion>,
    pub search: Option<Search>,
    pub pager: Option<Pager>,
    pub keys: Keys,
    pub todos: Vec<Todo>,
    /// What is said below the prompt that begins a turn: the files that go along with it.
    pub turn_notes: Vec<String>,
    /// `/keys ACTION` waits for the key that it gets, `/keys ?` for one that it names.
    pub learning: Option<Learning>,
    /// The list of keys is open.
    pub shortcuts: bool,
    /// Words in the status row that go with the next key or after a while.
    pub hint: Option<Hint>,
    /// What leaves the chat when it comes again.
    pub leaving: Option<Leaving>,
    /// A turn did not end and was given up; Ctrl-C as the next key ends the program.
    pub abandoned: bool,
    /// Whether the window has the focus; `None` where the terminal never said.
    pub focused: Option<bool>,
    /// Which draft was kept last.
    pub draft: DraftState,
    /// What the panel keeps of it; `None` where this is the chat alone.
    pub tab: Option<Box<Tab>>,
}

/// The size of the terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    pub rows: u16,
    pub columns: u16,
}

impl Size {
    /// Returns how wide a row may be: a row that fills the last column is wrapped by some terminals (UI-34).
    pub fn width(self) -> u16 {
        self.columns.saturating_sub(1).max(1)
    }

    /// Returns whether anything can be shown: in less than this every row would be wrapped by the terminal, and nobody knows where things are. What
    /// is to be committed waits until the window is larger.
    pub fn is_drawable(self) -> bool {
        self.rows >= 2 && self.columns >= 10
    }

    /// Returns how many rows the viewport may have (UI-33).
    pub fn viewport(self) -> usize {
        let rows = usize::from(self.rows);
        (rows / 2).max(8).min(rows.saturating_sub(1)).max(1)
    }
}

/// How the chat looks and behaves, by the user's settings.
#[derive(Clone, Debug)]
pub struct Options {
    pub signs: Signs,
    /// Whether the sign of the status row moves (ACC-2).
    pub motion: bool,
    pub keymap: Keymap,
    /// Whether the composer has vim's keys.
    pub vim: bool,
    pub thinking: Thinking,
    /// Every slash command there is here.
    pub commands: Vec<CommandInfo>,
    /// Whether Shift-Enter can be told from Enter here.
    pub shift_enter: bool,
    /// Whether pastes are bracketed for sure; else fast keys are one (CMP-2).
    pub brackets_pastes: bool,
    /// The modes that the key for it goes through, by name.
    pub modes: Vec<String>,
    /// What the footer shows.
    pub footer: Vec<Part>,
    /// Whether the chat of the panel shows what the provider says of its work, too (UI-4).
    pub status_in_chat: bool,
    /// How far the person's clock is ahead of UTC, in seconds, where the feed shows the time of its lines (UI-4).
    pub timestamps: Option<i32>,
}

impl Default for Options {
    /// A modern terminal, and no commands.
    fn default() -> Self {
        Self {
            signs: Signs::Unicode,
            motion: true,
            keymap: Keymap::default(),
            vim: false,
            thinking: Thinking::Fold,
            commands: Vec::new(),
            shift_enter: false,
            brackets_pastes: true,
            modes: Vec::new(),
            footer: Part::DEFAULT.to_vec(),
            status_in_chat: false,
            timestamps: None,
        }
    }
}

/// How much is shown of what the model thinks (`ui.thinking`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Thinking {
    /// One row, and all of it on demand.
    #[default]
    Fold,
    Show,
    Hide,
}

/// What the footer and the greeting say.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    pub model: String,
    pub mode: String,
    /// Tokens in the conversation, and how many the model takes.
    pub context: u64,
    pub window: Option<u64>,
    pub spent: Option<Spent>,
    /// What the model costs, where that is known.
    pub prices: Option<Prices>,
    pub branch: Option<String>,
    /// The folder, with `~` for the home directory.
    pub folder: String,
    pub title: Option<String>,
}

/// Messages that wait for the end of the turn.
#[derive(Debug, Default)]
pub struct Queue {
    pub items: VecDeque<Prompt>,
    /// What was sent into the running turn and the model has not read yet.
    pub steered: VecDeque<String>,
    /// Which of them is being moved; the newest, before one is.
    pub moving: Option<usize>,
    /// A turn was stopped or failed: they go out by Enter only (KEY-5).
    pub held: bool,
    /// The prompt that failed and that they wait behind: they go on when it is sent again.
    pub behind_failed: Option<String>,
}

/// A turn under way.
#[derive(Clone, Debug)]
pub struct Turn {
    pub started: Duration,
    pub phase: Phase,
    /// When the phase began.
    pub since: Duration,
    /// When something came from the model or a tool.
    pub heard: Duration,
    /// Bytes of answer and thinking so far, for the rate.
    pub bytes: usize,
    /// The same as the status row shows it: it changes with the sign, not with every delta.
    pub shown_bytes: usize,
    /// Which beat of the sign that was.
    pub beat: u128,
    /// When the first of them came.
    pub first: Option<Duration>,
    /// When the user asked for the end.
    pub stopped: Option<Duration>,
    /// It did not end for a long time after that.
    pub overdue: bool,
    /// What was asked.
    pub prompt: Option<Prompt>,
    /// Whether anything came back.
    pub answered: bool,
    pub files_changed: Vec<String>,
    pub added: usize,
    pub removed: usize,
    pub spent_before: Option<Spent>,
}

/// What a turn is doing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    Waiting,
    Thinking,
    Answering,
    Running(String),
    Asking,
    /// A request failed, for this reason, and is sent again at this time.
    Retrying {
        at: Duration,
        attempt: u32,
        max: u32,
        why: String,
    },
    Compacting,
}

/// The keys typed so far, for chords, pastes and the guard of questions.
#[derive(Debug, Default)]
pub struct Keys {
    /// The beginning of a chord.
    pub chord: Vec<Key>,
    /// When the last key came.
    pub last: Option<Duration>,
    /// How many keys came one right after another.
    pub burst: usize,
    /// Where in the raw text they began, and whether a part of them is one piece already.
    pub burst_from: Option<(usize, bool)>,
    /// When Esc was pressed on nothing.
    pub escaped: Option<Duration>,
}

/// The search through what was sent before.
#[derive(Debug, Default)]
pub struct Search {
    pub words: String,
    pub chosen: usize,
}

/// What the next key is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Learning {
    /// It does this from now on, too.
    Bind(Action),
    /// It is told what it is called, and what it does.
    Name,
}

/// Words for a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hint {
    pub text: String,
    pub until: Duration,
}

/// A key that leaves the chat when it comes again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leaving {
    pub key: LeavingKey,
    pub until: Duration,
}

/// See [`Leaving`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeavingKey {
    CtrlC,
    CtrlD,
}

/// Whether what is typed has been kept (CMP-10).
#[derive(Debug, Default)]
pub struct DraftState {
    /// When it should be written.
    pub due: Option<Duration>,
    /// What was written last.
    pub kept: Draft,
    /// How often the whole draft was put together.
    #[cfg(test)]
    pub made: std::cell::Cell<u64>,
}

/// A cell that goes along with a prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedCell {
    pub number: u32,
    pub text: String,
}

impl NamedCell {
    /// Returns what the model reads of it.
    pub fn note(&self) -> String {
        const MOST: usize = 64 << 10;
        let text = zori_core::text::prefix(&self.text, MOST);
        format!("The user refers to number {} of what the screen shows:\n```\n{text}\n```", self.number)
    }
}

/// What survives the end of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub text: String,
    pub queue: Vec<String>,
}

impl State {
    /// Returns a chat in which nothing has been said.
    pub fn new(size: Size, options: Options, facts: Facts) -> Self {
        Self {
            size,
            now: Duration::ZERO,
            transcript: {
                let mut transcript = Transcript::new(options.signs, options.thinking);
                if !options.motion {
                    transcript.set_still();
                }
                transcript
            },
            options,
            facts,
            composer: Composer::default(),
            put_by: None,
            given_back: false,
            several_lines: false,
            queue: Queue::default(),
            turn: None,
            questions: VecDeque::new(),
            call_reason: None,
            confirm: None,
            completion: None,
            search: None,
            pager: None,
            keys: Keys::default(),
            todos: Vec::new(),
            turn_notes: Vec::new(),
            learning: None,
            shortcuts: false,
            hint: None,
            leaving: None,
            abandoned: false,
            focused: None,
            draft: DraftState::default(),
            tab: None,
        }
    }

    /// Lets the composer take several lines, with this as the first.
    pub fn begin_lines(&mut self, first: &str) {
        let draft = if first.is_empty() { String::new() } else { format!("{first}\n") };
        self.composer.set(&draft);
        self.several_lines = true;
        let words = "Several lines: Enter begins another, an empty one sends them, Esc ends that.";
        self.transcript.notice(NoticeLevel::Info, words);
    }

    /// Says something in the status row for a while.
    pub fn say(&mut self, text: impl Into<String>) {
        self.hint = Some(Hint { text: text.into(), until: self.now + Duration::from_secs(2) });
    }

    /// Returns whether nobody looks, as far as that can be known: the window has not the focus, or no key came for long where the terminal does not say
    /// (STA-4).
    pub fn is_unwatched(&self) -> bool {
        match self.focused {
            Some(focused) => !focused,
            None => self.now.saturating_sub(self.keys.last.unwrap_or_default()) >= ALONE,
        }
    }

    /// Returns the cells that a text names as `@#7` (CMP-3).
    pub fn named_cells(&self, text: &str) -> Vec<NamedCell> {
        let mut found: Vec<NamedCell> = Vec::new();
        for word in text.split_whitespace().filter_map(|word| word.strip_prefix("@#")) {
            let number = word.trim_end_matches(|c: char| !c.is_ascii_digit()).parse().ok();
            let entry = number.and_then(|number| self.transcript.numbered(number));
            if let (Some(number), Some(entry)) = (number, entry)
                && found.iter().all(|cell| cell.number != number)
            {
                found.push(NamedCell { number, text: entry.text(self.options.signs) });
            }
        }
        found
    }

    /// Returns the title of the window (STA-3).
    pub fn title(&self) -> String {
        let sign = match (&self.turn, self.questions.is_empty() && self.confirm.is_none()) {
            (_, false) => "? ",
            (Some(_), true) => "✶ ",
            (None, true) => "",
        };
        let title = self.facts.title.as_deref().unwrap_or(&self.facts.folder);
        format!("{sign}{title} – zori")
    }

    /// Puts by what is being typed, until the composer is free again.
    pub fn put_by(&mut self) {
        let typed = std::mem::take(&mut self.composer.buffer);
        self.composer.history.leave();
        self.put_by.get_or_insert(typed);
    }

    /// Brings back what was put by, where nothing else wants the composer any more.
    pub(crate) fn take_up(&mut self) {
        let others = self.completion.is_some() || self.confirm.is_some() || self.search.is_some();
        if self.composer.is_empty()
            && !others
            && let Some(buffer) = self.put_by.take()
        {
            self.composer.buffer = buffer;
        }
    }

    /// Returns whether a draft may have to be written: there is one, or one was.
    pub fn may_have_to_be_kept(&self) -> bool {
        let put_by = self.put_by.as_ref().is_some_and(|buffer| !buffer.is_empty());
        let empty = !put_by
            && self.composer.is_empty()
            && self.queue.steered.is_empty()
            && self.queue.items.is_empty();
        !(empty && self.draft.kept == Draft::default())
    }

    /// Returns whether what is being typed answers a question.
    pub fn answers_in_words(&self) -> bool {
        self.questions.front().is_some_and(|asked| asked.because.is_some())
    }

    /// Returns whether what is being typed must not be shown or kept.
    pub fn hides_typing(&self) -> bool {
        self.questions.front().is_some_and(Asked::hides_typing)
    }

    /// Returns what would have to be kept. While a question is answered in words, that is what was being typed before.
    pub fn draft(&self) -> Draft {
        #[cfg(test)]
        self.draft.made.set(self.draft.made.get() + 1);
        let before = self.questions.front().and_then(|asked| asked.because.clone());
        Draft {
            text: match (before, self.put_by.as_ref().filter(|buffer| !buffer.is_empty())) {
                (Some(before), _) if self.hides_typing() || !before.is_empty() => before,
                // What is chosen from a list is no draft; other words are.
                (_, Some(buffer)) => match self.composer.buffer.text() {
                    typed if typed.is_empty() || typed.starts_with('/') => buffer.text(),
                    typed => format!("{}\n{typed}", buffer.text()),
                },
                _ => self.composer.buffer.text(),
            },
            queue: self
                .queue
                .steered
                .iter()
                .chain(self.queue.items.iter().map(|prompt| &prompt.text))
                .cloned()
                .collect(),
        }
    }
}
