//! Markdown as it is written: blanks, empty lines and marks only where text follows.

/// How deep lists and quotes are shown. Deeper ones look like this one, so that no page grows by its nesting.
const MAX_DEPTH: usize = 8;

/// What stands around words of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    Strong,
    Emphasis,
    Code,
    Link,
}

impl Mark {
    fn opening(self) -> &'static str {
        match self {
            Self::Strong => "**",
            Self::Emphasis => "*",
            Self::Code => "`",
            Self::Link => "[",
        }
    }
}

/// What keeps the next word from the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Blank,
    Cell,
    Line,
    EmptyLine,
}

struct OpenMark {
    mark: Mark,
    /// How often it was opened within itself.
    again: usize,
    /// Whether it has been written, which it is with the first word.
    written: bool,
}

/// A list whose items are being written.
struct List {
    /// The number of the next item, if they have some.
    next: Option<usize>,
}

/// Writes the text of a page.
#[derive(Default)]
pub struct Writer {
    text: String,
    gap: Gap,
    /// How many quotes the empty line of the gap is within.
    gap_quotes: usize,
    /// What the next line begins with, behind its indentation: the signs of a heading or of an item.
    beginning: String,
    lists: Vec<List>,
    quotes: usize,
    preformatted: usize,
    /// Whether nothing of the innermost preformatted text has been written.
    fresh: bool,
    marks: Vec<OpenMark>,
    target: Option<String>,
}

impl Writer {
    /// Returns all that was written, with a line end behind the last word.
    pub fn finish(mut self) -> String {
        while self.preformatted > 0 {
            self.close_preformatted();
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text
    }

    /// Writes text; runs of blanks are one, but in preformatted text.
    pub fn text(&mut self, text: &str) {
        if self.preformatted > 0 {
            return self.preformatted_text(text);
        }
        let mut words = text.split(is_blank).peekable();
        while let Some(word) = words.next() {
            if !word.is_empty() {
                self.word(word);
            }
            if words.peek().is_some() {
                self.gap = self.gap.max(Gap::Blank);
            }
        }
    }

    fn word(&mut self, word: &str) {
        self.close_gap();
        for open in self.marks.iter_mut().filter(|open| !open.written) {
            open.written = true;
            self.text.push_str(open.mark.opening());
        }
        self.text.push_str(word);
    }

    /// Writes what keeps the next word from the last one.
    fn close_gap(&mut self) {
        let gap = std::mem::take(&mut self.gap);
        let first = self.text.is_empty();
        match gap {
            Gap::None if !first => {}
            Gap::Blank if !first => self.text.push(' '),
            Gap::Cell if !first => self.text.push_str(" | "),
            _ => {
                if !first {
                    self.text.push('\n');
                    if gap == Gap::EmptyLine {
                        self.empty_line();
                    }
                }
                self.indent();
                self.text.push_str(&std::mem::take(&mut self.beginning));
            }
        }
    }

    /// Writes an empty line, which a quote marks as its own.
    fn empty_line(&mut self) {
        self.text.extend(std::iter::repeat_n(">", self.gap_quotes.min(MAX_DEPTH)));
        self.text.push('\n');
    }

    /// Writes what stands in front of a line. The signs of an item stand where the lines of the list around it begin.
    fn indent(&mut self) {
        for _ in 0..self.quotes.min(MAX_DEPTH) {
            self.text.push_str("> ");
        }
        let inner = usize::from(!self.beginning.is_empty());
        for _ in inner..self.lists.len().min(MAX_DEPTH) {
            self.text.push_str("  ");
        }
    }

    /// Has the next word begin a line.
    pub fn line(&mut self) {
        self.gap = self.gap.max(Gap::Line);
    }

    /// Has the next word begin a line behind an empty one; within an item the items stay together.
    pub fn block(&mut self) {
        if !self.lists.is_empty() {
            return self.line();
        }
        let before = if self.gap == Gap::EmptyLine { self.gap_quotes } else { usize::MAX };
        self.gap_quotes = self.quotes.min(before);
        self.gap = Gap::EmptyLine;
    }

    /// Has the next line begin with the signs of a heading.
    pub fn begin_with(&mut self, signs: &str) {
        self.beginning = format!("{signs} ");
    }

    pub fn open_list(&mut self, numbered: bool) {
        self.block();
        self.lists.push(List { next: numbered.then_some(1) });
    }

    pub fn close_list(&mut self) {
        self.lists.pop();
        self.beginning.clear();
        self.block();
    }

    pub fn item(&mut self) {
        self.line();
        self.beginning = match self.lists.last_mut().and_then(|list| list.next.as_mut()) {
            Some(number) => {
                *number += 1;
                format!("{}. ", *number - 1)
            }
            None => "* ".to_owned(),
        };
    }

    /// Begins a cell: beside the last one, if something stands there.
    pub fn cell(&mut self) {
        if self.gap <= Gap::Blank && !self.text.is_empty() {
            self.gap = Gap::Cell;
        }
    }

    pub fn open_quote(&mut self) {
        self.block();
        self.quotes += 1;
    }

    pub fn close_quote(&mut self) {
        self.quotes = self.quotes.saturating_sub(1);
        self.block();
    }

    pub fn open_preformatted(&mut self) {
        if self.preformatted == 0 {
            self.block();
            self.close_gap();
            self.text.push_str("```");
            self.fresh = true;
        }
        self.preformatted += 1;
    }

    pub fn close_preformatted(&mut self) {
        if self.preformatted == 1 {
            let end = self.text.trim_end_matches('\n').len();
            self.text.truncate(end);
            self.text.push('\n');
            self.indent();
            self.text.push_str("```");
            self.block();
        }
        self.preformatted = self.preformatted.saturating_sub(1);
    }

    fn preformatted_text(&mut self, text: &str) {
        let mut text = text;
        if std::mem::take(&mut self.fresh) {
            self.text.push('\n');
            self.indent();
            // The line end behind the tag is none of the text's.
            text = text.strip_prefix("\r\n").or_else(|| text.strip_prefix('\n')).unwrap_or(text);
        }
        if std::mem::take(&mut self.gap) >= Gap::Line {
            self.text.push('\n');
            self.indent();
        }
        for (number, line) in text.split('\n').enumerate() {
            if number > 0 {
                self.text.push('\n');
                self.indent();
            }
            self.text.push_str(line.strip_suffix('\r').unwrap_or(line));
        }
    }

    /// Opens a mark. Marks mean nothing in preformatted text or code, and within themselves once is enough.
    pub fn open_mark(&mut self, mark: Mark) {
        if self.preformatted > 0 {
            return;
        }
        if let Some(open) = self.marks.iter_mut().find(|open| open.mark == mark) {
            open.again += 1;
        } else if !self.marks.iter().any(|open| open.mark == Mark::Code) {
            self.marks.push(OpenMark { mark, again: 0, written: false });
        }
    }

    /// Closes a mark, if it is open; one without a word in it was never there.
    pub fn close_mark(&mut self, mark: Mark) {
        let Some(at) = self.marks.iter().position(|open| open.mark == mark) else { return };
        if let Some(again) = self.marks[at].again.checked_sub(1) {
            self.marks[at].again = again;
            return;
        }
        if !self.marks.remove(at).written {
            return;
        }
        match mark {
            Mark::Link => {
                let target = self.target.take().unwrap_or_default();
                self.text.push_str("](");
                self.text.push_str(&target);
                self.text.push(')');
            }
            _ => self.text.push_str(mark.opening()),
        }
    }

    /// Opens a link, which closes the one before it.
    pub fn open_link(&mut self, target: Option<String>) {
        self.close_link();
        if target.is_some() {
            self.open_mark(Mark::Link);
            self.target = target;
        }
    }

    pub fn close_link(&mut self) {
        self.close_mark(Mark::Link);
    }
}

/// What HTML counts as blank; a blank that keeps words together does not.
fn is_blank(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}
