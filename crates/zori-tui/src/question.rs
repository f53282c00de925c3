//! A question about a call (KEY-6, SAF-1 to SAF-5): what is shown, which keys answer it, and when they may.

mod beginning;

use std::sync::Arc;
use std::time::Duration;

use zori_core::ids::CallId;
use zori_core::permission::{Class, Decision};
use zori_core::question::brief;
use zori_core::question::{Choice, FormPart, GrantScope, Preview, Question, Risk};

use crate::row::{Role, Row, Span};
use crate::wrap;

/// How long a question must have been on the screen before a key answers it.
pub const SHOWN_FOR: Duration = Duration::from_millis(500);
/// How long no key may have come before.
pub const QUIET_FOR: Duration = Duration::from_millis(700);

/// A question that waits for its answer.
#[derive(Clone, Debug)]
pub struct Asked {
    pub call: CallId,
    pub question: Arc<Question>,
    pub decision: Decision,
    /// The sub-agent that asks, if it is one.
    pub agent: Option<String>,
    /// When its first frame was written.
    pub drawn: Option<Duration>,
    /// Whether the user went to it with Tab.
    pub entered: bool,
    pub explained: bool,
    /// What a model says of it.
    pub said: ModelWords,
    /// What it says has no room beside what is asked about, and is on a page of its own.
    pub said_on_page: bool,
    /// Whether all of its text has been looked at to the end.
    pub read_whole: bool,
    /// The user is writing why not; what was in the composer before.
    pub because: Option<String>,
    /// The file that keeps rules for later sessions; `None` where they would not count.
    pub remembered_in: Option<String>,
    /// What was answered so far, of several questions of the model's.
    pub answers: Vec<String>,
    /// The options that are chosen of the present one, where several may be.
    pub chosen: Vec<usize>,
    /// The mode that holds, if it is to be told.
    pub mode: String,
    /// The answer that Enter gives, once the arrows were used; before that it explains (SAF-3).
    pub focus: Option<usize>,
}

/// What a model says of a call, beside the rules (APR-5).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ModelWords {
    #[default]
    NotAsked,
    Asked,
    Said(String),
    /// Nothing, for this reason.
    Failed(String),
}

/// A question in the room there is for it.
pub(crate) struct Arranged {
    pub(crate) rows: Vec<Row>,
    /// How many lines of the text are hidden.
    pub(crate) hidden: usize,
    /// Whether the grants are shown, so that one can be given.
    pub(crate) offers: bool,
    /// Whether the explanation is shown.
    pub(crate) explained: bool,
}

/// Fewer rows than these of a longer text are a glimpse.
const GLIMPSE: usize = 3;

/// The answers that the arrows go through.
const BUTTONS: [(QuestionKey, &str); 5] = [
    (QuestionKey::Once, "y once"),
    (QuestionKey::No, "n no"),
    (QuestionKey::Because, "w no, because…"),
    (QuestionKey::Explain, "e explain"),
    (QuestionKey::Whole, "v whole text"),
];
/// The same words where there is no room for these.
const SHORT: [&str; BUTTONS.len()] = ["y yes", "n no", "w why", "e more", "v all"];
/// Where they begin.
const EXPLAIN: usize = 3;

/// What a key does to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuestionKey {
    Once,
    No,
    Because,
    Explain,
    Whole,
    Grant(usize),
    /// The option with this index, of a question of the model's.
    Option(usize),
    Nothing,
}

impl Asked {
    /// Returns a question that has not been drawn.
    pub fn new(
        call: CallId,
        question: Arc<Question>,
        decision: Decision,
        agent: Option<String>,
        remembered_in: Option<String>,
    ) -> Self {
        Self {
            call,
            question,
            decision,
            agent,
            drawn: None,
            entered: false,
            explained: false,
            said: ModelWords::NotAsked,
            said_on_page: false,
            read_whole: false,
            because: None,
            remembered_in,
            mode: String::new(),
            focus: None,
            answers: Vec::new(),
            chosen: Vec::new(),
        }
    }

    /// Returns the question of the model's that is to be answered, if it is one.
    pub fn choice(&self) -> Option<&Choice> {
        match &self.question.preview {
            Preview::Choices(choices) => choices.get(self.answers.len()),
            _ => None,
        }
    }

    /// Returns whether it asks for a field of a form.
    pub fn is_field(&self) -> bool {
        self.choice().is_some_and(|choice| choice.field().is_some())
    }

    /// Returns whether what is being typed must not be shown or kept: the answer to a question that asks for a secret (KEY-6).
    pub fn hides_typing(&self) -> bool {
        self.because.is_some() && self.choice().is_some_and(|choice| choice.secret)
    }

    /// Left and Right: the answer beside.
    pub fn step(&mut self, by: isize) {
        let at = self.focus.unwrap_or(EXPLAIN) as isize + by;
        self.focus = Some(at.rem_euclid(BUTTONS.len() as isize) as usize);
    }

    /// Returns what Enter does.
    pub fn focused(&self) -> QuestionKey {
        BUTTONS[self.focus.unwrap_or(EXPLAIN)].0
    }

    /// Returns when keys begin to answer it by themselves, if nothing else comes (SAF-1).
    pub fn ready_at(&self, last_key: Option<Duration>) -> Option<Duration> {
        let quiet = last_key.map_or(Duration::ZERO, |last| last + QUIET_FOR);
        self.drawn.map(|drawn| (drawn + SHOWN_FOR).max(quiet))
    }

    /// Returns whether a key that comes now is for it.
    pub fn takes_keys(&self, now: Duration, last_key: Option<Duration>, composer_empty: bool) -> bool {
        if self.because.is_some() || self.drawn.is_none() {
            return false;
        }
        self.entered || (composer_empty && self.ready_at(last_key).is_some_and(|ready| now >= ready))
    }

    /// Returns whether it is so serious that all of it has to be read first (SAF-4).
    pub fn is_serious(&self) -> bool {
        matches!(self.decision.class, Class::WriteProtected | Class::ReadSensitive | Class::ShellUnknown)
            || self.decision.unresolved
    }

    /// Returns whether `y` opens the whole text first.
    pub fn must_be_read(&self, hidden: usize) -> bool {
        !self.read_whole && (hidden > 0 || self.is_serious())
    }

    /// Returns what explains it: how much could go wrong, how the decision to ask came about, and what a model says (APR-5).
    pub(crate) fn explanation(&self, wide: usize) -> Vec<Row> {
        let mut rows = self.steps(wide);
        rows.extend(self.words(wide));
        rows
    }

    /// Returns how much could go wrong, and how the decision to ask came about.
    pub(crate) fn steps(&self, wide: usize) -> Vec<Row> {
        let risk = Risk::of(&self.question.preview, &self.decision);
        let role = if matches!(risk, Risk::High(_)) { Role::Warning } else { Role::Muted };
        let mut rows = vec![wrap::truncate(&Span::new(risk.to_string()).role(role).into(), wide)];
        let steps = self.question.explanation.iter().map(|line| Row::from(Span::new(line.as_str()).muted()));
        rows.extend(steps.map(|row| wrap::truncate(&row, wide)));
        rows
    }

    /// Returns what a model says of it.
    pub(crate) fn words(&self, wide: usize) -> Vec<Row> {
        let words = match &self.said {
            ModelWords::NotAsked => return Vec::new(),
            ModelWords::Asked => Span::new("the model is asked …").muted(),
            _ if self.said_on_page => Span::new("the model has explained it; e shows it").role(Role::Primary),
            ModelWords::Said(words) => Span::new(format!("the model says: {words}")),
            ModelWords::Failed(why) => Span::new(format!("the model does not explain it: {why}")).muted(),
        };
        wrap::wrap_hanging(&[words], wide, &Row::empty(), &Row::empty().with("  "))
    }

    /// Returns its rows and how many of the text are hidden. `most`: how many rows there is room for; `count`: how many questions there are.
    pub fn rows(&self, width: u16, most: usize, count: usize) -> (Vec<Row>, usize) {
        let arranged = self.arranged(width, most, count);
        (arranged.rows, arranged.hidden)
    }

    /// Arranges it in so many rows. What is asked about and the keys are never pushed out: where there is little room the grants go first, then the
    /// folder, then the reason, and where nothing of the text can be shown, all of it is hidden (SAF-4).
    pub(crate) fn arranged(&self, width: u16, most: usize, count: usize) -> Arranged {
        if let Some(choice) = self.choice() {
            let (rows, hidden) = self.choice_rows(choice, width, most);
            return Arranged { rows, hidden, offers: true, explained: true };
        }
        let wide = usize::from(width);
        let (head, keys) = (self.head(width, count), self.keys(wide));
        let (folder, why) = (self.folder(wide), vec![self.why(width)]);
        let offers = self.offer_rows(wide);
        let left_out = match self.offers().len() {
            0 => Vec::new(),
            count => {
                let words = format!("  1-{count}: grants, which a larger window shows");
                vec![wrap::truncate(&Span::new(words).muted().into(), wide)]
            }
        };
        let mut explained = why.clone();
        explained.extend(
            self.explanation(wide.saturating_sub(4).max(1)).into_iter().map(|row| indented(row, "    ")),
        );
        let none = Vec::new();
        // From much to little: the folder, the reason, the grants.
        let plans: [(&Vec<Row>, &Vec<Row>, &Vec<Row>); 7] = [
            (&folder, &explained, &offers),
            (&folder, &why, &offers),
            (&folder, &why, &left_out),
            (&none, &why, &left_out),
            (&none, &why, &none),
            (&none, &none, &none),
            (&none, &none, &none),
        ];
        for (at, (folder, reason, grants)) in plans.iter().enumerate() {
            if at == 0 && !self.explained {
                continue;
            }
            let fixed = 2 + folder.len() + reason.len() + grants.len();
            let Some(room) = most.checked_sub(fixed).filter(|room| *room > 0) else { continue };
            let beginning = self.beginning(wide.saturating_sub(4), room);
            let hidden = beginning.hidden();
            let fits = beginning.rows.len() + usize::from(hidden > 0) <= room;
            // A glimpse of the text is worth less than what else could make room for it.
            if !fits || (hidden > 0 && room < GLIMPSE && at + 1 < plans.len()) {
                continue;
            }
            let mut rows = vec![head];
            rows.extend(folder.iter().cloned());
            rows.extend(beginning.rows.into_iter().map(|row| indented(row, "    ")));
            if hidden > 0 {
                let more = format!("    {}, which v shows; y counts only then", brief::more_lines(hidden));
                rows.push(wrap::truncate(&Row::from(Span::new(more).role(Role::Warning)), wide));
            }
            rows.extend(reason.iter().cloned());
            rows.push(keys);
            rows.extend(grants.iter().cloned());
            return Arranged { rows, hidden, offers: at < 2, explained: at == 0 };
        }
        Arranged {
            rows: vec![head, keys],
            hidden: self.lines().len().max(1),
            offers: false,
            explained: false,
        }
    }

    fn head(&self, width: u16, count: usize) -> Row {
        let mut head = Row::empty().with(Span::new("? ").role(Role::Warning).bold());
        let who = self.agent.as_ref().map_or_else(String::new, |agent| format!("{agent}: "));
        head.push(
            Span::new(format!("{who}{} wants to {}", self.question.tool, verb(&self.question.preview)))
                .bold(),
        );
        let several = if count > 1 { format!("1 of {count} · ") } else { String::new() };
        let class = self.decision.class.about().trim_end_matches('.').to_lowercase();
        let mode = if self.mode.is_empty() { String::new() } else { format!(" · mode {}", self.mode) };
        wrap::truncate(&head, usize::from(width))
            .with_right(Row::from(Span::new(format!("{several}{class}{mode}")).muted()), width)
    }

    /// Returns where a command would run.
    fn folder(&self, wide: usize) -> Vec<Row> {
        let Preview::Command { cwd, sandbox, .. } = &self.question.preview else { return Vec::new() };
        let sandbox = sandbox.as_ref().map_or_else(String::new, |sandbox| format!(" · sandbox: {sandbox}"));
        let words = format!("  in {}{sandbox}", cwd.display());
        vec![wrap::truncate(&Span::new(words).muted().into(), wide)]
    }

    /// Returns why somebody is asked.
    fn why(&self, width: u16) -> Row {
        let why = format!("  asked because: step {}, {}", self.decision.step, self.decision.reason);
        let why = wrap::truncate(&Span::new(why).muted().into(), usize::from(width));
        match self.question.explanation.len() {
            steps if self.explained || steps == 0 || width < 60 => why,
            1 => why.with_right(Row::from(Span::new("e explains").muted()), width),
            steps => why.with_right(Row::from(Span::new(format!("e explains {steps} steps")).muted()), width),
        }
    }

    fn keys(&self, wide: usize) -> Row {
        let mut keys = Row::empty().with("  ");
        match &self.because {
            Some(_) => keys.push(Span::new("why not? Enter says it, Esc goes back").role(Role::Primary)),
            None => {
                let long = BUTTONS.map(|(_, words)| words);
                let dots = 3 * (long.len() - 1);
                let all = 2 + long.iter().map(|words| wrap::width(words)).sum::<usize>() + dots;
                let words = if all <= wide { long } else { SHORT };
                for (i, words) in words.iter().enumerate() {
                    if i > 0 {
                        keys.push(Span::new(" · ").role(Role::Primary));
                    }
                    let span = Span::new(*words).role(Role::Primary);
                    keys.push(if self.focus == Some(i) { span.reverse() } else { span });
                }
            }
        }
        wrap::truncate(&keys, wide)
    }

    /// Returns the rows of a question of the model's, and how many of them there is no room for.
    fn choice_rows(&self, choice: &Choice, width: u16, most: usize) -> (Vec<Row>, usize) {
        let wide = usize::from(width);
        let Preview::Choices(all) = &self.question.preview else { return (Vec::new(), 0) };
        // Who asks by a form stands before it.
        let form = choice.form.is_some();
        let mut place = choice.header.clone().filter(|_| !form).unwrap_or_default();
        if all.len() > 1 {
            let dot = if place.is_empty() { "" } else { " · " };
            place = format!("{place}{dot}{} of {}", self.answers.len() + 1, all.len());
        }
        let who = self.agent.as_ref().map_or_else(String::new, |agent| format!("{agent}: "));
        let mut head = Row::empty().with(Span::new("? ").role(Role::Warning).bold());
        let asks = match choice.header.as_ref().filter(|_| form) {
            Some(server) => format!("the MCP server {server} asks"),
            None => "the model asks".to_owned(),
        };
        head.push(Span::new(format!("{who}{asks}")).bold());
        let mut rows =
            vec![wrap::truncate(&head, wide).with_right(Row::from(Span::new(place).muted()), width)];
        rows.extend(self.choice_text(choice, wide));
        let keys = match (&self.because, choice.multiple) {
            (Some(_), _) => "  your answer? Enter says it, Esc goes back",
            (None, _) if choice.form == Some(FormPart::End) => "  a number chooses · n declines",
            (None, _) if form && choice.options.is_empty() => {
                "  w your answer… · Enter leaves it as it is · n declines"
            }
            (None, false) if form => "  a number chooses · Enter leaves it as it is · n declines",
            (None, true) if form => "  numbers choose, Enter is done · n declines",
            (None, _) if choice.options.is_empty() => "  w your answer… · n no answer",
            (None, false) => "  a number chooses · w your own words… · n no answer",
            (None, true) => "  numbers choose, Enter is done · w your own words… · n no answer",
        };
        let keys = wrap::truncate(&Row::from(Span::new(keys).role(Role::Primary)), wide);
        let mut hidden = 0;
        if rows.len() + 1 > most {
            let kept = most.saturating_sub(2).max(1);
            hidden = rows.len() - kept;
            rows.truncate(kept);
            let more = format!("  … {hidden} more rows, which v shows");
            rows.push(wrap::truncate(&Row::from(Span::new(more).role(Role::Warning)), wide));
        }
        rows.push(keys);
        (rows, hidden)
    }

    /// Returns a question of the model's with its options.
    fn choice_text(&self, choice: &Choice, wide: usize) -> Vec<Row> {
        let asked = choice.question.lines().flat_map(|line| {
            let line = [Span::new(wrap::expand_tabs(line, 8).as_ref()).bold()];
            wrap::wrap_hanging(&line, wide, &Row::empty().with("  "), &Row::empty().with("  "))
        });
        let mut rows: Vec<Row> = asked.collect();
        for (at, option) in choice.options.iter().enumerate() {
            let sign = match (choice.multiple, self.chosen.contains(&at)) {
                (false, _) => "",
                (true, false) => " [ ]",
                (true, true) => " [x]",
            };
            let first = Row::empty()
                .with("  ")
                .with(Span::new((at + 1).to_string()).role(Role::Primary).bold())
                .with(format!("{sign} ").as_str());
            let rest = Row::from(Span::new(" ".repeat(first.width().min(wide / 2))));
            let mut text = vec![Span::new(wrap::expand_tabs(&option.label, 8).as_ref())];
            if let Some(about) = &option.description {
                text.push(Span::new(format!("  {}", wrap::expand_tabs(about, 8))).muted());
            }
            rows.extend(wrap::wrap_hanging(&text, wide, &first, &rest));
        }
        rows
    }

    /// Returns the grants as they are offered: what each is called, and what exactly it allows.
    pub fn offers(&self) -> Vec<(String, String)> {
        if self.is_serious() {
            return Vec::new();
        }
        let grants = self.question.grants.iter().map(|grant| {
            let any = if grant.scope == GrantScope::AnyProgram { "   runs any program" } else { "" };
            (format!("{}, this session", grant.words), format!("{}{any}{}", grant.shown(), grant.covered()))
        });
        let later = self.remembered_in.as_ref().filter(|_| !self.question.grants.is_empty());
        let later = later.map(|file| ("as 1, for ever".to_owned(), format!("written to {file}")));
        grants.chain(later).collect()
    }

    /// Returns the rows of the grants. A rule is shown whole, however long it is: it is what is agreed to (SAF-5).
    pub(crate) fn offer_rows(&self, wide: usize) -> Vec<Row> {
        let offers = self.offers();
        let most = offers.iter().map(|(words, _)| wrap::width(words)).max().unwrap_or(0);
        // What the rules hang below has to be in the left half.
        let most = most.min(if wide < 60 { wide / 2 } else { wide / 2 - 7 });
        let mut rows = Vec::new();
        for (i, (words, rules)) in offers.iter().enumerate() {
            let mut first =
                Row::empty().with("  ").with(Span::new((i + 1).to_string()).role(Role::Primary).bold());
            let words = wrap::truncate(&Row::from(Span::new(format!(" {words}"))), most + 1);
            let blank = (most + 4).saturating_sub(words.width());
            first.spans.extend(words.spans);
            first.push(" ".repeat(blank));
            let rest = Row::from(Span::new(" ".repeat(first.width().min(wide / 2))));
            let rules = [Span::new(wrap::expand_tabs(rules, 8).as_ref()).muted()];
            rows.extend(wrap::wrap_hanging(&rules, wide, &first, &rest));
        }
        rows
    }

    /// Returns what a key means here.
    pub fn key(&self, c: char) -> QuestionKey {
        if let Some(choice) = self.choice() {
            return match c {
                'n' => QuestionKey::No,
                'w' => QuestionKey::Because,
                'v' => QuestionKey::Whole,
                c => match c.to_digit(10) {
                    Some(number) if number > 0 && (number as usize) <= choice.options.len() => {
                        QuestionKey::Option(number as usize - 1)
                    }
                    _ => QuestionKey::Nothing,
                },
            };
        }
        match c {
            'y' | 'a' => QuestionKey::Once,
            'n' | 'r' | 'd' => QuestionKey::No,
            'w' => QuestionKey::Because,
            'e' => QuestionKey::Explain,
            'v' => QuestionKey::Whole,
            c => match c.to_digit(10) {
                Some(number) if number > 0 && (number as usize) <= self.offers().len() => {
                    QuestionKey::Grant(number as usize - 1)
                }
                _ => QuestionKey::Nothing,
            },
        }
    }
}

fn indented(row: Row, by: &str) -> Row {
    let mut out = Row::empty().with(by);
    out.spans.extend(row.spans);
    out
}

fn verb(preview: &Preview) -> &'static str {
    match preview {
        Preview::Command { .. } => "run",
        Preview::Changes(_) => "change files",
        Preview::Choices(_) => "know something",
        Preview::Input(_) | Preview::Fails { .. } => "do this",
    }
}
