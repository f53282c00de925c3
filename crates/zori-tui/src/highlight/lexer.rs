//! The lexer: one line and what was open before it, to kinds by range and what is open after it.

use std::ops::Range;

use super::Kind;
use super::languages::{Language, Layout, Quote, find};

/// Lines over this many bytes are data, not code (MD-4).
const LONGEST_LINE: usize = 2048;

/// Colours the lines of one block, in order.
#[derive(Clone, Debug)]
pub struct Highlighter {
    language: &'static Language,
    open: Open,
}

/// What a line leaves open for the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Open {
    Nothing,
    Comment { depth: u32 },
    Quote(&'static Quote),
    Tag,
}

impl Highlighter {
    /// Returns a highlighter for a language by the name after a fence, or by a file's extension; `None` for one that it does not know.
    pub fn new(name: &str) -> Option<Self> {
        Some(Self { language: find(name)?, open: Open::Nothing })
    }

    /// Returns one for the file at this path.
    pub fn for_path(path: &str) -> Option<Self> {
        let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
        match file.rsplit_once('.') {
            Some((_, extension)) => Self::new(extension),
            None => Self::new(file),
        }
    }

    /// Returns the kinds in the next line, in order and without overlap.
    pub fn line(&mut self, line: &str) -> Vec<(Range<usize>, Kind)> {
        if line.len() > LONGEST_LINE {
            return Vec::new();
        }
        let mut scan = Scan { line, at: 0, found: Vec::new(), open: self.open, language: self.language };
        match self.language.layout {
            Layout::Code => scan.code(),
            Layout::Keys { separator } => scan.keys(separator),
            Layout::Markup => scan.markup(),
            Layout::Diff => scan.diff(),
            Layout::Markdown => scan.markdown(),
        }
        self.open = scan.open;
        scan.found
    }
}

struct Scan<'a> {
    line: &'a str,
    at: usize,
    found: Vec<(Range<usize>, Kind)>,
    open: Open,
    language: &'static Language,
}

impl Scan<'_> {
    fn rest(&self) -> &str {
        &self.line[self.at..]
    }

    fn take(&mut self, end: usize, kind: Kind) {
        if end > self.at {
            // Neighbours of one kind are one range: fewer spans to draw.
            match self.found.last_mut() {
                Some((range, last)) if *last == kind && range.end == self.at => range.end = end,
                _ => self.found.push((self.at..end, kind)),
            }
        }
        self.at = end;
    }

    fn skip(&mut self) {
        self.at += self.rest().chars().next().map_or(1, char::len_utf8);
    }

    fn code(&mut self) {
        while self.at < self.line.len() {
            match self.open {
                Open::Comment { depth } => self.comment(depth),
                Open::Quote(quote) => self.quoted(quote, self.at),
                Open::Nothing | Open::Tag => self.token(),
            }
        }
        if let Open::Quote(quote) = self.open
            && !quote.lines
        {
            self.open = Open::Nothing;
        }
    }

    fn token(&mut self) {
        let rest = self.rest();
        let first = rest.chars().next().expect("there is more of the line");
        if self.language.line_comments.iter().any(|mark| self.comment_starts(mark)) {
            return self.take(self.line.len(), Kind::Comment);
        }
        if let Some((open, _)) = self.language.block_comment
            && rest.starts_with(open)
        {
            self.open = Open::Comment { depth: 0 };
            return self.comment(0);
        }
        if let Some(quote) = self.language.quotes.iter().find(|quote| rest.starts_with(quote.open)) {
            // A Rust lifetime is no character.
            if quote.open == "'" && self.language.lifetimes && !is_character(rest) {
                let end = self.at + 1 + word_len(&rest[1..], self.language);
                return self.take(end, Kind::Type);
            }
            self.open = Open::Quote(quote);
            return self.quoted(quote, self.at + quote.open.len());
        }
        if first.is_ascii_digit() {
            let end = self.at + number_len(rest);
            return self.take(end, Kind::Number);
        }
        match word_len(rest, self.language) {
            0 => self.skip(),
            len => self.word(len),
        }
    }

    /// `#` starts a comment in a shell only where a word could start.
    fn comment_starts(&self, mark: &str) -> bool {
        self.rest().starts_with(mark)
            && (mark != "#"
                || self.line[..self.at].chars().next_back().is_none_or(|c| c.is_whitespace() || c == ';'))
    }

    fn word(&mut self, len: usize) {
        let end = self.at + len;
        let word = &self.line[self.at..end];
        let language = self.language;
        let known = |words: &str| {
            words.split_ascii_whitespace().any(|known| match language.folds_case {
                true => known.eq_ignore_ascii_case(word),
                false => known == word,
            })
        };
        let after = &self.line[end..];
        let kind = match () {
            () if !word.contains(char::is_alphanumeric) => None,
            () if known(language.keywords) => Some(Kind::Keyword),
            () if known(language.types) => Some(Kind::Type),
            () if word.starts_with(['$', '@']) && word.len() > 1 => Some(Kind::Type),
            () if after.starts_with('(') || (language.bang_calls && after.starts_with("!(")) => {
                Some(Kind::Function)
            }
            () if language.upper_types && is_type_name(word) => Some(Kind::Type),
            () => None,
        };
        match kind {
            Some(kind) => self.take(end, kind),
            None => self.at = end,
        }
    }

    fn comment(&mut self, mut depth: u32) {
        let Some((open, close)) = self.language.block_comment else {
            self.open = Open::Nothing;
            return;
        };
        let mut end = self.at;
        if depth == 0 {
            end += open.len();
            depth = 1;
        }
        while end < self.line.len() {
            let rest = &self.line[end..];
            if rest.starts_with(close) {
                end += close.len();
                depth -= 1;
                if depth == 0 {
                    self.open = Open::Nothing;
                    return self.take(end, Kind::Comment);
                }
            } else if self.language.nests && rest.starts_with(open) {
                end += open.len();
                depth += 1;
            } else {
                end += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        self.open = Open::Comment { depth };
        self.take(end, Kind::Comment);
    }

    /// Takes a quoted text up to its end; `from` is behind the opening mark.
    fn quoted(&mut self, quote: &'static Quote, from: usize) {
        let mut end = from;
        while end < self.line.len() {
            let rest = &self.line[end..];
            if quote.escapes && rest.starts_with('\\') {
                end += 1 + rest[1..].chars().next().map_or(0, char::len_utf8);
            } else if rest.starts_with(quote.close) {
                self.open = Open::Nothing;
                return self.take(end + quote.close.len(), Kind::Text);
            } else {
                end += rest.chars().next().map_or(1, char::len_utf8);
            }
        }
        self.take(end.min(self.line.len()), Kind::Text);
    }

    /// `key: value` and `key = value`: what is before the separator is a name.
    fn keys(&mut self, separator: char) {
        if self.open == Open::Nothing {
            let indent = self.line.len() - self.line.trim_start().len();
            let start = match self.line[indent..].strip_prefix("- ") {
                Some(_) => indent + 2,
                None => indent,
            };
            let rest = &self.line[start..];
            let plain = !rest.starts_with(['"', '\'', '#', '[', '{']);
            if rest.starts_with('[') && separator == '=' {
                self.at = start;
                return self.take(self.line.trim_end().len(), Kind::Type);
            }
            if let Some(len) =
                rest.find(separator).filter(|len| plain && *len > 0 && !rest[len + 1..].starts_with('/'))
            {
                self.at = start;
                self.take(start + rest[..len].trim_end().len(), Kind::Function);
            }
        }
        self.code();
        // In JSON a text before a colon is a name.
        if separator == ':' {
            for i in 0..self.found.len() {
                let (range, kind) = &self.found[i];
                if *kind == Kind::Text && self.line[range.end..].trim_start().starts_with(':') {
                    self.found[i].1 = Kind::Function;
                }
            }
        }
    }

    fn markup(&mut self) {
        while self.at < self.line.len() {
            match self.open {
                Open::Comment { depth } => self.comment(depth),
                Open::Quote(quote) => {
                    self.quoted(quote, self.at);
                    self.open = Open::Tag;
                }
                Open::Tag => self.tag(),
                Open::Nothing => {
                    let rest = self.rest();
                    if rest.starts_with("<!--") {
                        self.open = Open::Comment { depth: 0 };
                        self.comment(0);
                    } else if rest.starts_with('<')
                        && rest[1..].starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '!')
                    {
                        let name = 1 + rest[1..]
                            .find(|c: char| c.is_whitespace() || c == '>')
                            .unwrap_or(rest.len() - 1);
                        self.open = Open::Tag;
                        self.take(self.at + name, Kind::Keyword);
                    } else {
                        self.skip();
                    }
                }
            }
        }
    }

    fn tag(&mut self) {
        let rest = self.rest();
        if rest.starts_with('>') || rest.starts_with("/>") {
            let len = if rest.starts_with('>') { 1 } else { 2 };
            self.open = Open::Nothing;
            return self.take(self.at + len, Kind::Keyword);
        }
        if let Some(quote) = self.language.quotes.iter().find(|quote| rest.starts_with(quote.open)) {
            let open = Open::Quote(quote);
            self.open = open;
            self.quoted(quote, self.at + quote.open.len());
            if self.open != open {
                self.open = Open::Tag;
            }
            return;
        }
        match rest
            .find(|c: char| !(c.is_alphanumeric() || matches!(c, '-' | '_' | ':' | '@')))
            .unwrap_or(rest.len())
        {
            0 => self.skip(),
            len => self.take(self.at + len, Kind::Type),
        }
    }

    fn diff(&mut self) {
        let kind = match self.line.as_bytes().first() {
            Some(b'+') => Kind::Text,
            Some(b'-') => Kind::Number,
            Some(b'@') => Kind::Function,
            _ if self.line.starts_with("diff ") || self.line.starts_with("index ") => Kind::Comment,
            _ => return,
        };
        self.take(self.line.len(), kind);
    }

    fn markdown(&mut self) {
        let text = self.line.trim_start();
        if text.starts_with('#') {
            return self.take(self.line.len(), Kind::Keyword);
        }
        if text.starts_with('>') {
            return self.take(self.line.len(), Kind::Comment);
        }
        while let Some(start) = self.rest().find('`') {
            self.at += start;
            let Some(len) = self.rest()[1..].find('`') else { return };
            self.take(self.at + len + 2, Kind::Text);
        }
    }
}

/// Returns how long the name at the start is.
fn word_len(text: &str, language: &Language) -> usize {
    let starts = |c: char| c.is_alphabetic() || c == '_' || language.word_marks.contains(c);
    if !text.starts_with(starts) {
        return 0;
    }
    text.find(|c: char| !(c.is_alphanumeric() || c == '_' || language.word_marks.contains(c)))
        .unwrap_or(text.len())
}

fn number_len(text: &str) -> usize {
    let mut len = 0;
    let mut before = ' ';
    for c in text.chars() {
        let sign = matches!(c, '+' | '-') && matches!(before, 'e' | 'E') && !text.starts_with("0x");
        // `1..9` is two numbers, `1.max(2)` is a call.
        let point = c == '.' && text[len + 1..].starts_with(|next: char| next.is_ascii_digit());
        if !(c.is_ascii_alphanumeric() || c == '_' || sign || point) {
            break;
        }
        len += c.len_utf8();
        before = c;
    }
    len
}

/// Returns whether a quote opens a character, such as `'a'` or `'\n'`.
fn is_character(text: &str) -> bool {
    let mut chars = text.chars().skip(1);
    match chars.next() {
        Some('\\') => true,
        Some(_) => chars.next() == Some('\''),
        None => false,
    }
}

/// Returns whether a name is written like a type: a capital, and a small letter somewhere.
fn is_type_name(word: &str) -> bool {
    word.starts_with(char::is_uppercase) && (word.len() == 1 || word.contains(char::is_lowercase))
}
