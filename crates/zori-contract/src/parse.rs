//! From argv to a command and its arguments: one pass over the words, by the tables, with every problem of the call.
//!
//! A word is a flag, the value of the flag before it, the name of a command, or an argument. Flags of all commands may stand
//! anywhere; [`crate::program::Program::ahead`] may stand before the command they belong to. Nothing is touched meanwhile.
//! What the values must look like is checked in `check.rs`; what may have been meant by an unknown word is in
//! `parse/suggest.rs`.

mod suggest;

use std::ffi::OsString;

use crate::args::Args;
use crate::command::Command;
use crate::failure::{Issue, IssueCode};
use crate::flag::{Flag, framework};
use crate::kind::Kind;
use crate::payload;
use crate::program::Program;

pub use self::suggest::no_command;

#[cfg(test)]
mod tests;

/// What argv says.
pub struct Parsed<A: 'static> {
    /// The command; `None` for a call without one, or with one that does not exist.
    pub command: Option<&'static Command<A>>,
    /// The words that name it, or the group that was named alone.
    pub path: Vec<&'static str>,
    /// The arguments that could be read.
    pub args: Args,
    /// All problems so far: those of the words themselves.
    pub issues: Vec<Issue>,
    /// A word stands where a command does, and is not one.
    pub unknown: bool,
    /// `--all` beside `--help`: every option is shown.
    pub all: bool,
    /// The words themselves, in their order.
    pub words: Vec<Word>,
}

/// A word of the call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// As it was typed.
    pub text: String,
    /// The name of the flag or argument whose value the word ends with, and where in the word that value begins.
    pub value: Option<(&'static str, usize)>,
}

/// Reads argv, which does not begin with the program's name.
pub fn read<A>(program: &'static Program<A>, argv: &[OsString]) -> Parsed<A> {
    let mut words = Vec::with_capacity(argv.len());
    let mut garbled = Vec::new();
    for word in argv {
        let text = word.to_string_lossy().into_owned();
        if word.to_str().is_none() {
            garbled.push(text.clone());
        }
        words.push(text);
    }
    (program.rewrite)(&mut words);
    let mut pass = Pass::new(program, garbled);
    let mut rest = words.iter().enumerate();
    while let Some((index, word)) = rest.next() {
        pass.word(index, word, &mut || rest.next().map(|(_, word)| word.clone()));
    }
    pass.finish(words)
}

/// How far the command has been named.
enum Position<A: 'static> {
    /// Not at all.
    Program,
    /// By the first of two words.
    Group(&'static str),
    /// Completely.
    Command(&'static Command<A>),
    /// By a word that names none. Only what every command takes is still read.
    Lost { group: Option<&'static str>, index: usize, typed: String, next: Option<String> },
}

/// A flag that was typed.
struct Typed {
    flag: Flag,
    value: String,
    /// How near to the command it stands: of two values the nearest counts.
    level: u8,
    /// Where it was typed and how, if its command was not known then.
    held: Option<PendingFlag>,
}

struct PendingFlag {
    index: usize,
    shown: String,
    ahead: bool,
}

/// Whose flag a word is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Owner {
    Every,
    Own,
    /// It may stand before its command.
    Ahead,
    /// Another command's.
    Other,
}

/// A word without dashes that is no command.
struct Operand {
    index: usize,
    text: String,
    /// It follows an unknown flag, whose value it may be.
    doubtful: bool,
}

struct Pass<A: 'static> {
    program: &'static Program<A>,
    every: Vec<Flag>,
    own: Vec<Flag>,
    at: Position<A>,
    typed: Vec<Typed>,
    /// Which word ends with the value of what, and how long that is.
    values: Vec<(usize, &'static str, usize)>,
    operands: Vec<Operand>,
    issues: Vec<(usize, Issue)>,
    garbled: Vec<String>,
    /// The next word may be the value of an unknown flag.
    doubtful: bool,
    /// `--` was there.
    trailing: bool,
    /// The word `help` stands where a command does.
    help: bool,
    all: Option<usize>,
}

impl<A> Pass<A> {
    fn new(program: &'static Program<A>, garbled: Vec<String>) -> Self {
        Self {
            program,
            every: program.global_flags(),
            own: Vec::new(),
            at: Position::Program,
            typed: Vec::new(),
            values: Vec::new(),
            operands: Vec::new(),
            issues: Vec::new(),
            garbled,
            doubtful: false,
            trailing: false,
            help: false,
            all: None,
        }
    }

    fn word(&mut self, index: usize, word: &str, next: &mut dyn FnMut() -> Option<String>) {
        let doubtful = std::mem::take(&mut self.doubtful);
        match word.strip_prefix('-') {
            None | Some("") => self.bare_word(index, word, doubtful),
            _ if self.trailing => self.bare_word(index, word, false),
            Some("-") => self.trailing = true,
            Some(rest) => match rest.strip_prefix('-') {
                Some(long) => {
                    let (name, value) = long.split_once('=').map_or((long, None), |(n, v)| (n, Some(v)));
                    match self.find(|flag| flag.is_called(name)) {
                        Some((flag, owner)) => {
                            self.take((flag, owner), (index, &format!("--{name}")), value, next);
                        }
                        None if name == "all" => self.all = Some(index),
                        None => {
                            self.doubtful = value.is_none();
                            self.unknown_flag(index, word, &format!("--{name}"));
                        }
                    }
                }
                None => self.cluster(index, word, rest, next),
            },
        }
    }

    /// Reads short flags behind one dash: switches, and perhaps one with a value behind them.
    fn cluster(&mut self, index: usize, word: &str, letters: &str, next: &mut dyn FnMut() -> Option<String>) {
        let mut letters = letters.chars();
        while let Some(letter) = letters.next() {
            let rest = letters.as_str();
            let shown = format!("-{letter}");
            let Some((flag, owner)) = self.find(|flag| flag.short == Some(letter)) else {
                self.doubtful = rest.is_empty();
                return self.unknown_flag(index, word, &shown);
            };
            let switch = matches!(flag.kind, Kind::Switch);
            let glued = match rest.strip_prefix('=') {
                Some(value) => Some(value),
                None if switch || rest.is_empty() => None,
                None => Some(rest),
            };
            self.take((flag, owner), (index, &shown), glued, next);
            if !switch || glued.is_some() {
                return;
            }
        }
    }

    /// Finds a flag: the command's, everybody's, and then those of other commands, whose values are theirs all the same.
    fn find(&self, called: impl Fn(&Flag) -> bool) -> Option<(Flag, Owner)> {
        let among = |flags: &[Flag], owner| flags.iter().find(|flag| called(flag)).map(|flag| (*flag, owner));
        let ahead = || match self.at {
            Position::Command(_) => None,
            _ => among(self.program.ahead, Owner::Ahead),
        };
        let other = || {
            let commands = self.program.commands.iter();
            commands.map(|command| self.program.own_flags(command)).find_map(|own| among(&own, Owner::Other))
        };
        among(&self.own, Owner::Own)
            .or_else(|| among(&self.every, Owner::Every))
            .or_else(ahead)
            .or_else(other)
    }

    /// Takes a flag down, with its value.
    fn take(
        &mut self,
        (flag, owner): (Flag, Owner),
        (index, shown): (usize, &str),
        glued: Option<&str>,
        next: &mut dyn FnMut() -> Option<String>,
    ) {
        let ours = matches!(owner, Owner::Every | Owner::Own);
        let param = flag.param();
        let value = match flag.kind {
            Kind::Switch if glued.is_some() && ours => {
                let message = format!("`{param}` takes no value");
                return self.issue(index, Issue::new(&param, IssueCode::UnexpectedValue, message));
            }
            Kind::Switch => Some("true".to_owned()),
            _ => glued.map(str::to_owned).or_else(next),
        };
        if let Some(value) = value.as_ref().filter(|_| !matches!(flag.kind, Kind::Switch)) {
            self.values.push((index + usize::from(glued.is_none()), flag.long, value.len()));
        }
        let level = match self.at {
            Position::Program => 0,
            Position::Group(_) => 1,
            Position::Command(_) => 2,
            Position::Lost { .. } if owner == Owner::Every => 0,
            Position::Lost { .. } => return,
        };
        let held = match (owner, &self.at) {
            (Owner::Every | Owner::Own, _) => None,
            (_, Position::Command(_)) => return self.unknown_flag(index, shown, shown),
            _ => Some(PendingFlag { index, shown: shown.to_owned(), ahead: owner == Owner::Ahead }),
        };
        if value.is_none() {
            let message = format!("`{param}` needs a value");
            self.issue(index, Issue::new(&param, IssueCode::MissingValue, message));
        }
        match (value, held) {
            (Some(value), None) => self.typed.push(Typed { flag, value, level, held: None }),
            // Even without its value it says which command is meant.
            (value, Some(held)) => {
                let value = value.unwrap_or_default();
                self.typed.push(Typed { flag, value, level: 2, held: Some(held) });
            }
            (None, None) => {}
        }
    }

    fn bare_word(&mut self, index: usize, word: &str, doubtful: bool) {
        let commands = self.program.commands;
        let called = |group: &[&str], command: &Command<A>| match command.path {
            [before @ .., last] => before == group && (*last == word || command.aliases.contains(&word)),
            [] => false,
        };
        let (group, found) = match &mut self.at {
            _ if self.trailing => {
                return self.operands.push(Operand { index, text: word.to_owned(), doubtful });
            }
            Position::Command(_) => {
                return self.operands.push(Operand { index, text: word.to_owned(), doubtful });
            }
            Position::Lost { next, .. } => {
                if !doubtful {
                    next.get_or_insert_with(|| word.to_owned());
                }
                return;
            }
            Position::Program => (None, commands.iter().find(|command| called(&[], command))),
            Position::Group(group) => {
                let group = *group;
                (Some(group), commands.iter().find(|command| called(&[group], command)))
            }
        };
        if let Some(command) = found {
            self.own = self.program.own_flags(command);
            self.at = Position::Command(command);
            return;
        }
        let below = commands.iter().find(|command| command.path.len() > 1 && command.path[0] == word);
        match below {
            Some(command) if group.is_none() => self.at = Position::Group(command.path[0]),
            _ if doubtful => {}
            _ if group.is_none() && word == "-" => {
                self.operands.push(Operand { index, text: word.to_owned(), doubtful });
            }
            _ if group.is_none() && word == suggest::HELP => self.help = true,
            _ => self.at = Position::Lost { group, index, typed: word.to_owned(), next: None },
        }
    }

    fn unknown_flag(&mut self, index: usize, word: &str, shown: &str) {
        // Without a command nobody knows what is a flag of it.
        if !matches!(self.at, Position::Lost { .. }) && !self.garbled.iter().any(|garbled| garbled == word) {
            self.issue(index, suggest::unknown_flag(self.program, shown));
        }
    }

    fn issue(&mut self, index: usize, issue: Issue) {
        self.issues.push((index, issue));
    }

    /// Puts together what was typed.
    fn finish(mut self, words: Vec<String>) -> Parsed<A> {
        let (mut command, mut path, mut unknown) = (None, Vec::new(), false);
        let at = std::mem::replace(&mut self.at, Position::Program);
        if matches!(at, Position::Group(_) | Position::Lost { .. }) {
            // Nobody knows whose they are.
            self.typed.retain(|typed| typed.held.is_none());
        }
        match at {
            Position::Program => {
                command = if self.help { None } else { self.implied() };
                self.settle_held(command.is_some());
            }
            Position::Group(group) => {
                path.push(group);
                self.issue(usize::MAX, suggest::incomplete(self.program, group));
            }
            Position::Command(named) => {
                command = Some(named);
                self.settle_held(false);
            }
            Position::Lost { group, index, typed, next } => {
                path.extend(group);
                unknown = true;
                if !self.garbled.contains(&typed) {
                    let issue = suggest::unknown_command(self.program, group, &typed, next.as_deref());
                    self.issue(index, issue);
                }
            }
        }
        path.extend(command.map_or(&[][..], |command| command.path));
        let mut args = self.arguments();
        if !unknown {
            self.positionals(command, &mut args);
        }
        if self.help && !unknown {
            args.push(&framework::HELP, "true");
        }
        if let Some(index) = self.all.filter(|_| !unknown && !args.has(&framework::HELP)) {
            self.unknown_flag(index, "--all", "--all");
        }
        let garbled = self.garbled.iter().map(|word| {
            Issue::new(word, IssueCode::InvalidUtf8, format!("`{word}` is not UTF-8")).value(word)
        });
        self.issues.sort_by_key(|(index, _)| *index);
        let mut issues: Vec<_> = garbled.chain(self.issues.into_iter().map(|(_, issue)| issue)).collect();
        if let Some(command) = command.filter(|_| args.has(&framework::RAW_PAYLOAD)) {
            self.every.extend(self.own);
            issues.extend(payload::take(&mut args, &self.every, command.args));
        }
        let mut words: Vec<_> = words.into_iter().map(|text| Word { text, value: None }).collect();
        for (index, name, len) in self.values {
            let word = &mut words[index];
            word.value = Some((name, word.text.len() - len));
        }
        Parsed { command, path, args, issues, unknown, all: self.all.is_some(), words }
    }

    /// Finds the command that a call without one means.
    fn implied(&mut self) -> Option<&'static Command<A>> {
        let words: Vec<_> = self.operands.iter().map(|operand| operand.text.as_str()).collect();
        let command = self.program.find((self.program.implied)(&self.arguments(), &words)?)?;
        self.own = self.program.own_flags(command);
        Some(command)
    }

    /// Gives flags before the command to it. Where the command was named, only those may stand there that are made for it.
    fn settle_held(&mut self, implied: bool) {
        let own = &self.own;
        let (kept, lost): (Vec<_>, Vec<_>) = self.typed.drain(..).partition(|typed| match &typed.held {
            Some(held) => (held.ahead || implied) && own.iter().any(|flag| flag.long == typed.flag.long),
            None => true,
        });
        self.typed = kept;
        for held in lost.into_iter().filter_map(|typed| typed.held) {
            self.unknown_flag(held.index, &held.shown, &held.shown);
        }
    }

    /// Returns the flags that were typed. Of single values the one nearest to the command counts, but for what is printed:
    /// two outputs contradict each other wherever they stand.
    fn arguments(&self) -> Args {
        let mut args = Args::default();
        let everywhere = [framework::OUTPUT.long, framework::FORMAT.long];
        for flag in self.every.iter().chain(&self.own) {
            if let Some(default) = flag.default {
                args.set_default(flag.long, default);
            }
        }
        for typed in &self.typed {
            let nearer = |other: &Typed| other.flag.long == typed.flag.long && other.level > typed.level;
            let all = typed.flag.many || everywhere.contains(&typed.flag.long);
            if all || !self.typed.iter().any(nearer) {
                args.push(&typed.flag, &*typed.value);
            }
        }
        args
    }

    /// Gives the words without dashes to the command's arguments. What may be the value of an unknown flag is taken only
    /// for an argument that would be missing without it.
    fn positionals(&mut self, command: Option<&'static Command<A>>, args: &mut Args) {
        let known = command.map_or(&[][..], |command| command.args);
        let room = if known.last().is_some_and(|last| last.many) { usize::MAX } else { known.len() };
        let required = known.iter().filter(|positional| positional.required).count();
        while self.operands.len() > required
            && let Some(at) = self.operands.iter().rposition(|operand| operand.doubtful)
        {
            self.operands.remove(at);
        }
        for (n, Operand { index, text, .. }) in std::mem::take(&mut self.operands).into_iter().enumerate() {
            match known.get(n).or(known.last()).filter(|_| n < room) {
                Some(positional) => {
                    self.values.push((index, positional.name, text.len()));
                    args.push(positional, text);
                }
                None if self.garbled.contains(&text) => {}
                None => {
                    // Never said back: it may be a key that was meant for somewhere else.
                    let message = "there is an argument too many";
                    let issue = Issue::new("ARGUMENT", IssueCode::UnexpectedArgument, message);
                    self.issue(index, issue);
                }
            }
        }
    }
}
