//! What a call would run or change, line by line, and how a question begins with it (APR-4).

use zori_core::question::brief;
use zori_core::question::{Preview, Replaced};

use super::Asked;
use crate::row::{Ground, Role, Row, Span};
use crate::wrap::{self, Break};

/// What stands before a text that is replaced, and before what replaces it. No line of a diff begins so.
const OLD: &str = "old  ";
const NEW: &str = "new  ";

/// The beginning of what a call would do, wrapped, and how many of its lines are all there.
pub(crate) struct Beginning {
    pub(crate) rows: Vec<Row>,
    pub(crate) shown: usize,
    pub(crate) all: usize,
}

impl Beginning {
    /// Returns how many lines are missing, or miss something.
    pub(crate) fn hidden(&self) -> usize {
        self.all - self.shown
    }
}

impl Asked {
    /// Returns what the text would run or change, line by line.
    pub fn lines(&self) -> Vec<Row> {
        self.lines_with(true)
    }

    /// Returns the same with or without the texts of a replacement, which stand in their diff, too.
    fn lines_with(&self, texts: bool) -> Vec<Row> {
        let text = |text: &str| -> Vec<Row> {
            text.strip_suffix('\n')
                .unwrap_or(text)
                .split('\n')
                .map(|line| Row::from(Span::new(wrap::expand_tabs(line, 8).as_ref())))
                .collect()
        };
        match &self.question.preview {
            Preview::Input(input) => text(&brief::json_lines(input)),
            Preview::Command { command, .. } => text(command),
            Preview::Changes(files) => files
                .iter()
                .flat_map(|file| {
                    let note = file.note.as_ref().map_or_else(String::new, |note| format!(" ({note})"));
                    let head = format!("{} {}{note}", file.action.as_str(), file.path.display());
                    let diff = file.diff.lines().map(|line| {
                        let span = Span::new(wrap::expand_tabs(line, 4).as_ref());
                        Row::from(match line.as_bytes().first() {
                            Some(b'+') => span.ground(Ground::Added),
                            Some(b'-') => span.ground(Ground::Removed),
                            Some(b'@') => span.muted(),
                            _ => span,
                        })
                    });
                    let replaced = file.replaced.iter().filter(|_| texts);
                    let replaced = replaced.flat_map(|Replaced { old, new }| {
                        let row = |name: &str, text: &str, ground| {
                            let text = Span::new(brief::replaced_text(text)).ground(ground);
                            Row::empty().with(Span::new(name).muted()).with(text)
                        };
                        [row(OLD, old, Ground::Removed), row(NEW, new, Ground::Added)]
                    });
                    std::iter::once(Row::from(Span::new(head).bold()))
                        .chain(replaced)
                        .chain(diff)
                        .collect::<Vec<_>>()
                })
                .collect(),
            Preview::Choices(_) => {
                self.choice().map_or_else(Vec::new, |choice| self.choice_text(choice, usize::from(u16::MAX)))
            }
            Preview::Fails { input, why } => {
                let fails = Span::new(format!("as things are it would fail: {why}")).role(Role::Warning);
                std::iter::once(Row::from(fails)).chain(text(&brief::json_lines(input))).collect()
            }
        }
    }

    /// Returns as much of the text as a question begins with and there is room for (APR-4). The texts of a replacement are left out where all the rest
    /// can be seen then, and not with them.
    pub(crate) fn beginning(&self, wide: usize, room: usize) -> Beginning {
        let beginning = self.beginning_of(&self.lines(), wide, room);
        if beginning.hidden() == 0 {
            return beginning;
        }
        let diff = self.beginning_of(&self.lines_with(false), wide, room);
        if diff.hidden() == 0 { diff } else { beginning }
    }

    fn beginning_of(&self, lines: &[Row], wide: usize, room: usize) -> Beginning {
        let all = lines.len();
        let most = self.question.preview.first_lines();
        // One missing line would cost as much as the line that says so.
        let most = if all <= most.saturating_add(1) { all } else { most };
        let long = matches!(self.question.preview, Preview::Changes(_));
        // Where each line that is not cut ends.
        let (mut rows, mut ends) = (Vec::new(), Vec::new());
        for line in lines.iter().take(most) {
            // The texts of a replacement stand in their diff, too.
            let label = line.spans.first().is_some_and(|span| [OLD, NEW].contains(&span.text.as_str()));
            let cut = long && !label && line.width() > brief::LINE;
            let line = if cut { &wrap::truncate(line, brief::LINE) } else { line };
            rows.extend(wrap::wrap_spans(&line.spans, wide.max(1), Break::Anywhere));
            ends.extend((!cut).then_some(rows.len()));
            if rows.len() > room {
                break;
            }
        }
        if rows.len() > room || ends.len() < all && rows.len() == room {
            rows.truncate(room.saturating_sub(1).max(1));
        }
        let shown = ends.iter().filter(|end| **end <= rows.len()).count();
        Beginning { rows, shown, all }
    }
}
