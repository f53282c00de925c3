//! Completion (CMP-3, CMP-4): what could be meant by the word at the cursor, as a list below the composer. Pickers are the same list with the
//! arguments of a command.

use std::ops::Range;

use crate::cells::thousands;
use crate::commands::{self, CommandInfo};
use crate::composer::buffer::Buffer;
use crate::row::{Ground, Row, Span};
use crate::state::Facts;
use crate::wrap;

/// How many rows a list of commands or files has at most; one to choose from may have half of the screen.
pub const ROWS: usize = 8;
/// The command whose argument is a session.
pub const SESSIONS: &str = "/resume";
/// The command whose argument is a model.
const MODELS: &str = "/model";

/// A list of what could be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Completion {
    pub subject: Subject,
    /// What of the raw text it stands for.
    pub range: Range<usize>,
    pub items: Vec<Item>,
    /// How many there are without the filter.
    pub of: usize,
    pub chosen: usize,
    /// Whether items are still being looked for.
    pub pending: bool,
    /// Sessions: those of all folders are listed, and how many of these there are.
    pub everywhere: bool,
    pub all: usize,
    /// The command alone opened it, so that nothing has been typed behind it yet.
    pub by_command: bool,
}

/// What is completed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    Command,
    /// The argument of a command.
    Argument(&'static str),
    File,
}

/// Something that could be meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// What stands in the list, and is put in place of the word.
    pub text: String,
    pub args: String,
    pub about: String,
    /// What stands in the list instead of the text, where nobody could read that.
    pub label: Option<String>,
}

impl Item {
    fn shown(&self) -> &str {
        self.label.as_deref().unwrap_or(&self.text)
    }
}

/// What is being asked for at the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    pub subject: Subject,
    pub range: Range<usize>,
    pub word: String,
}

/// Returns what could be completed at the cursor.
pub fn wanted(buffer: &Buffer, commands: &[CommandInfo]) -> Option<Wanted> {
    let (text, cursor) = (buffer.raw(), buffer.cursor());
    let before = &text[..cursor];
    // What is longer is no command, and looked at with every key.
    if cursor <= MOST_LOOKED_AT
        && before.starts_with('/')
        && !before.starts_with("//")
        && !before.contains('\n')
    {
        return match before.split_once(' ') {
            None if text[cursor..].is_empty() => {
                Some(Wanted { subject: Subject::Command, range: 0..cursor, word: before.to_owned() })
            }
            Some((name, word)) if text[cursor..].is_empty() => {
                let command =
                    commands.iter().find(|command| command.name == name && !command.args.is_empty())?;
                let range = name.len() + 1..cursor;
                Some(Wanted { subject: Subject::Argument(command.name), range, word: word.to_owned() })
            }
            _ => None,
        };
    }
    let from = cursor.saturating_sub(MOST_LOOKED_AT);
    // Most text has no such sign near the cursor, and this is looked at with every key: where a word begins is not.
    if !before.as_bytes()[from..].contains(&b'@') {
        return None;
    }
    // A blank may have several bytes, as the one of Japanese has.
    let blank =
        before.char_indices().rev().take_while(|(at, _)| *at >= from).find(|(_, c)| c.is_whitespace());
    let start = match blank {
        Some((at, c)) => at + c.len_utf8(),
        None if from == 0 => 0,
        None => return None,
    };
    let word = before[start..].strip_prefix('@')?;
    let followed = text[cursor..].chars().next().is_some_and(|c| !c.is_whitespace());
    (!followed).then(|| Wanted { subject: Subject::File, range: start..cursor, word: word.to_owned() })
}

/// Returns how a file is named in a text; one with blanks in its name stands in quotes.
pub fn mention(path: &str) -> String {
    match path.contains(char::is_whitespace) {
        true => format!("@\"{path}\" "),
        false => format!("@{path} "),
    }
}

/// So many bytes before the cursor are looked at.
const MOST_LOOKED_AT: usize = 4096;

/// Returns the list of commands for a word.
pub fn of_commands(commands: &[CommandInfo], wanted: &Wanted) -> Completion {
    let items = commands::matching(commands, &wanted.word).into_iter().map(|command| Item {
        text: command.name.to_owned(),
        args: command.args.to_owned(),
        about: command.about.to_owned(),
        label: None,
    });
    Completion {
        subject: wanted.subject.clone(),
        range: wanted.range.clone(),
        items: items.collect(),
        of: commands.len(),
        chosen: 0,
        pending: false,
        everywhere: false,
        all: 0,
        by_command: false,
    }
}

impl Completion {
    /// Moves the choice, around the ends.
    pub fn step(&mut self, by: isize) {
        let count = self.items.len() as isize;
        if count > 0 {
            self.chosen = (self.chosen as isize + by).rem_euclid(count) as usize;
        }
    }

    /// Returns what is chosen.
    pub fn item(&self) -> Option<&Item> {
        self.items.get(self.chosen)
    }

    /// Returns whether sessions are chosen from, which has keys of its own (RSM-2).
    pub fn is_of_sessions(&self) -> bool {
        self.subject == Subject::Argument(SESSIONS)
    }

    /// Returns whether models are chosen from.
    pub fn is_of_models(&self) -> bool {
        self.subject == Subject::Argument(MODELS)
    }

    /// Returns what stands beside the words that filter it.
    pub fn note(&self, facts: &Facts) -> Option<String> {
        if self.is_of_models() {
            let cached = Some(facts.context).filter(|context| *context > 0).map(thousands);
            let cached = cached.map_or_else(String::new, |tokens| format!(" · {tokens} tokens cached"));
            return Some(format!("now {}{cached}", facts.model));
        }
        if !self.is_of_sessions() || self.pending {
            return None;
        }
        let (found, of, all) = (self.items.len(), self.of, self.all);
        let folders = match self.everywhere {
            true => format!("all folders {found} of {of} · Ctrl-A this one"),
            false => format!("this folder {found} of {of} · Ctrl-A all {all}"),
        };
        Some(format!("{folders} · Ctrl-P shows · Ctrl-D trash"))
    }

    pub fn rows(&self, width: u16, most: usize) -> Vec<Row> {
        let most = match self.subject {
            Subject::Argument(_) => most.max(1),
            Subject::Command | Subject::File => most.clamp(1, ROWS),
        };
        let first = self.chosen.saturating_sub(most - 1).min(self.items.len().saturating_sub(most));
        let head = |item: &Item| {
            wrap::width(item.shown()) + if item.args.is_empty() { 0 } else { 1 + wrap::width(&item.args) }
        };
        let column = self.items.iter().map(head).max().unwrap_or(0);
        let widest = if self.is_of_sessions() { 56 } else { 36 };
        let column = column.min(widest).min(usize::from(width) / 2).max(12);
        let mut rows = Vec::new();
        let shown = self.items.iter().enumerate().skip(first).take(most);
        let last = (first + most).min(self.items.len()).saturating_sub(1);
        for (i, item) in shown {
            let mut row = Row::empty().with("  ").with(item.shown());
            if !item.args.is_empty() {
                row.push(Span::new(format!(" {}", item.args)).muted());
            }
            if !item.about.is_empty() {
                // What is longer than the column is told apart all the same.
                row.push(" ".repeat((column + 4).saturating_sub(row.width()).max(2)));
                row.push(Span::new(item.about.as_str()).muted());
            }
            let mut row = wrap::truncate(&row, usize::from(width));
            if i == last && width >= 60 && !self.is_of_sessions() {
                let keys = match self.subject {
                    Subject::File => "Tab takes it",
                    Subject::Command | Subject::Argument(_) => "Tab · ⏎ runs",
                };
                let count =
                    Row::from(Span::new(format!("{} of {} · {keys}", self.items.len(), self.of)).muted());
                // A long description makes room for it.
                row = wrap::truncate(&row, usize::from(width).saturating_sub(count.width() + 2));
                row = row.with_right(count, width);
            }
            if i == self.chosen {
                row.spans.iter_mut().for_each(|span| span.style.ground = Ground::Chosen);
            }
            rows.push(row);
        }
        if self.items.is_empty() {
            let words = if self.pending { "  looking …" } else { "  nothing found" };
            rows.push(wrap::truncate(&Row::from(Span::new(words).muted()), usize::from(width)));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subject(text: &str, back: usize) -> Option<(Subject, String)> {
        let info = |name, args| CommandInfo { name, args, ..CommandInfo::NOTHING };
        let mut buffer = Buffer::default();
        buffer.insert(text);
        buffer.move_to(text.len() - back);
        wanted(&buffer, &[info("/model", "[NAME]"), info("/help", "")])
            .map(|wanted| (wanted.subject, wanted.word))
    }

    #[test]
    fn what_is_wanted() {
        assert_eq!(subject("/mo", 0), Some((Subject::Command, "/mo".into())));
        assert_eq!(subject("/model son", 0), Some((Subject::Argument("/model"), "son".into())));
        assert_eq!(subject("/help x", 0), None);
        assert_eq!(subject("see /mo", 0), None, "not in the middle of a text");
        assert_eq!(subject("/mo", 1), None);
        assert_eq!(subject("//mo", 0), None);
        assert_eq!(subject("look at @src/ma", 0), Some((Subject::File, "src/ma".into())));
        assert_eq!(subject("a@b", 0), None);
        assert_eq!(subject("@a b", 2), Some((Subject::File, "a".into())));
    }

    /// A command with many words of its own does not run into what is said of it.
    #[test]
    fn what_is_longer_than_its_column() {
        let long = "[reconnect|enable|disable|login|logout|log NAME]";
        let info = |name, args| CommandInfo { name, args, about: "About it", ..CommandInfo::NOTHING };
        let commands = [info("/mcp", long), info("/help", "")];
        let mut buffer = Buffer::default();
        buffer.insert("/");
        let wanted = wanted(&buffer, &commands).expect("a command is");
        let rows: Vec<String> = of_commands(&commands, &wanted).rows(59, 8).iter().map(Row::text).collect();
        let short = format!("  /help{}About it", " ".repeat(26));
        assert_eq!(rows, [format!("  /mcp {long}  A…"), short]);
    }
}
