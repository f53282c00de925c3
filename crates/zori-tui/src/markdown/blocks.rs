//! One piece of Markdown as rows. Prose and code start at column 0 and hold nothing but the text (UI-34).

use pulldown_cmark::{Alignment, CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::inline::Inline;
use super::stable::{Marker, Piece, PieceKind};
use super::table::{Table, TableCell};
use crate::highlight::{self, Highlighter};
use crate::row::{Role, Row, Span, Style};
use crate::wrap::{Break, CODE_TAB, TAB, expand_tabs, wrap_spans};

/// The columns of a rule.
const RULE: usize = 24;
/// The columns that text keeps, however deep it is nested.
const NARROWEST: usize = 10;

/// Lays pieces out, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    highlighter: Option<Highlighter>,
    /// Whether anything was drawn: the first row is never an empty one.
    begun: bool,
}

impl Layout {
    /// Adds the rows of a piece.
    pub fn piece(&mut self, piece: &Piece, width: u16, out: &mut Vec<Row>) {
        let columns = usize::from(width);
        if piece.gap && self.begun {
            out.push(Row::empty());
        }
        let before = out.len();
        match &piece.kind {
            PieceKind::Block(text) => blocks(text, columns, Prefix::default(), out),
            PieceKind::Item { text, indent, marker } => {
                let indent = (*indent).min(columns.saturating_sub(NARROWEST));
                let (marker, text) = match task(text) {
                    Some((sign, text)) => (sign.to_owned(), text),
                    None => (marker_text(*marker), text.as_str()),
                };
                blocks(text, columns, item_prefix(&marker, indent), out);
            }
            PieceKind::FenceStart(info) => {
                self.highlighter = Highlighter::new(info);
                self.begun = true;
            }
            PieceKind::FenceLine(line) | PieceKind::FencePartial(line) => {
                code_line(self.highlighter.as_mut(), line, columns, &mut Prefix::default(), out);
            }
            PieceKind::FenceEnd => self.highlighter = None,
            PieceKind::Table { text, goes_on } => {
                if let Some(mut table) = table_of(text) {
                    table.goes_on = *goes_on;
                    out.extend(table.rows(columns));
                }
            }
            PieceKind::TableForming { rows } => {
                let word = if *rows == 1 { "row" } else { "rows" };
                out.push(Span::new(format!("table, {rows} {word}")).muted().into());
            }
        }
        self.begun |= out.len() > before;
    }
}

/// What stands before the rows of something nested: once before the first, then before each.
#[derive(Clone, Debug, Default)]
struct Prefix {
    first: Row,
    rest: Row,
    begun: bool,
}

impl Prefix {
    fn width(&self) -> usize {
        self.first.width().max(self.rest.width())
    }

    fn next(&mut self) -> Row {
        match std::mem::replace(&mut self.begun, true) {
            false => self.first.clone(),
            true => self.rest.clone(),
        }
    }
}

fn marker_text(marker: Marker) -> String {
    match marker {
        Marker::Bullet => "• ".to_owned(),
        Marker::Number(number) => format!("{number}. "),
    }
}

/// Returns the sign of a task and its text, if an item is one.
fn task(text: &str) -> Option<(&'static str, &str)> {
    match text.split_at_checked(4)? {
        ("[ ] ", text) => Some(("☐ ", text)),
        ("[x] " | "[X] ", text) => Some(("☑ ", text)),
        _ => None,
    }
}

fn item_prefix(marker: &str, indent: usize) -> Prefix {
    let first = Row::empty().with(" ".repeat(indent)).with(Span::new(marker).muted());
    let rest = Row::empty().with(" ".repeat(first.width()));
    Prefix { first, rest, begun: false }
}

fn parse(text: &str) -> Vec<Event<'_>> {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS;
    Parser::new_ext(text, options).collect()
}

fn blocks(text: &str, columns: usize, prefix: Prefix, out: &mut Vec<Row>) {
    let mut walk = Walk { events: parse(text), at: 0, columns, prefixes: vec![prefix], out };
    let before = walk.out.len();
    walk.siblings();
    if walk.out.len() == before {
        // A definition of links, or an item without text: nothing of a text is left out.
        let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
        for line in lines.iter().filter(|line| !line.is_empty() || lines.len() == 1) {
            walk.prose(&[Span::new(expand_tabs(line, TAB).into_owned()).muted()]);
        }
    }
}

struct Walk<'a> {
    events: Vec<Event<'a>>,
    at: usize,
    columns: usize,
    prefixes: Vec<Prefix>,
    out: &'a mut Vec<Row>,
}

impl<'a> Walk<'a> {
    fn next(&mut self) -> Option<Event<'a>> {
        let event = self.events.get(self.at).cloned()?;
        self.at += 1;
        Some(event)
    }

    fn peek(&self, ahead: usize) -> Option<&Event<'a>> {
        self.events.get(self.at + ahead)
    }

    /// Lays out blocks up to the end of what holds them.
    fn siblings(&mut self) {
        let mut first = true;
        while let Some(event) = self.peek(0) {
            if matches!(event, Event::End(_)) {
                return;
            }
            let list = matches!(event, Event::Start(Tag::List(_)));
            if !first && !list {
                self.gap();
            }
            first = false;
            self.block();
        }
    }

    fn block(&mut self) {
        let Some(event) = self.next() else { return };
        match event {
            Event::Start(Tag::Paragraph) => {
                self.inline(Style::default());
                self.next();
            }
            Event::Start(Tag::Heading { .. }) => {
                self.inline(Style { bold: true, ..Style::default() });
                self.next();
            }
            Event::Start(Tag::BlockQuote(_)) => {
                let mark = Row::from(Span::new("> ").muted());
                self.nested(Prefix { first: mark.clone(), rest: mark, begun: false });
            }
            Event::Start(Tag::CodeBlock(kind)) => self.code(kind),
            Event::Start(Tag::List(start)) => self.list(start),
            Event::Start(Tag::Table(alignments)) => {
                let table = self.table(alignments);
                let columns = self.free();
                for row in table.rows(columns) {
                    self.row(row);
                }
            }
            Event::Start(Tag::HtmlBlock) => self.html(),
            Event::Rule => {
                let columns = self.free().min(RULE);
                self.row(Span::new("─".repeat(columns)).muted().into());
            }
            Event::Start(_) => {
                self.siblings();
                self.next();
            }
            Event::End(_) => {}
            // The text of a tight item has no paragraph around it.
            other => {
                self.at -= 1;
                let before = self.at;
                self.inline(Style::default());
                if self.at == before {
                    drop(other);
                    self.at += 1;
                }
            }
        }
    }

    fn nested(&mut self, prefix: Prefix) {
        let deep: usize = self.prefixes.iter().map(Prefix::width).sum();
        let fits = deep + prefix.width() + NARROWEST <= self.columns;
        self.prefixes.push(if fits { prefix } else { Prefix::default() });
        let before = self.out.len();
        self.siblings();
        if self.out.len() == before {
            self.row(Row::empty());
        }
        self.prefixes.pop();
        self.next();
    }

    fn list(&mut self, start: Option<u64>) {
        let mut number = start;
        while let Some(Event::Start(Tag::Item)) = self.peek(0) {
            self.next();
            let task = match (self.peek(0), self.peek(1)) {
                (Some(Event::TaskListMarker(done)), _) => Some(*done),
                (Some(Event::Start(Tag::Paragraph)), Some(Event::TaskListMarker(done))) => Some(*done),
                _ => None,
            };
            let marker = match (task, number) {
                (Some(true), _) => "☑ ".to_owned(),
                (Some(false), _) => "☐ ".to_owned(),
                (None, Some(number)) => marker_text(Marker::Number(number)),
                (None, None) => marker_text(Marker::Bullet),
            };
            number = number.map(|number| number.saturating_add(1));
            self.nested(item_prefix(&marker, 0));
        }
        self.next();
    }

    fn inline(&mut self, style: Style) {
        let mut inline = Inline::new(style);
        while let Some(event) = self.next() {
            if matches!(event, Event::TaskListMarker(_)) {
                continue;
            }
            if inline.event(event).is_err() {
                self.at -= 1;
                break;
            }
        }
        for line in inline.finish() {
            self.prose(&line);
        }
    }

    fn code(&mut self, kind: CodeBlockKind<'_>) {
        let mut highlighter = match &kind {
            CodeBlockKind::Fenced(info) => Highlighter::new(info),
            CodeBlockKind::Indented => None,
        };
        let mut text = String::new();
        while let Some(Event::Text(more)) = self.peek(0) {
            text.push_str(more);
            self.at += 1;
        }
        self.next();
        let columns = self.free();
        let mut rows = Vec::new();
        for line in text.lines() {
            code_line(highlighter.as_mut(), line, columns, &mut Prefix::default(), &mut rows);
        }
        for row in rows {
            self.row(row);
        }
    }

    fn html(&mut self) {
        while let Some(event) = self.next() {
            match event {
                Event::Html(text) | Event::Text(text) => {
                    for line in text.lines() {
                        self.prose(&[Span::new(expand_tabs(line, TAB).into_owned()).muted()]);
                    }
                }
                _ => return,
            }
        }
    }

    fn table(&mut self, alignments: Vec<Alignment>) -> Table {
        let mut table = Table { alignments, head: Vec::new(), body: Vec::new(), goes_on: false };
        let mut row: Vec<TableCell> = Vec::new();
        while let Some(event) = self.next() {
            match event {
                Event::Start(Tag::TableCell) => {
                    let mut inline = Inline::new(Style::default());
                    while let Some(event) = self.next() {
                        if inline.event(event).is_err() {
                            break;
                        }
                    }
                    row.push(inline.finish().concat());
                }
                Event::End(TagEnd::TableHead) => table.head = std::mem::take(&mut row),
                Event::End(TagEnd::TableRow) => table.body.push(std::mem::take(&mut row)),
                Event::End(TagEnd::Table) => break,
                _ => {}
            }
        }
        table
    }

    /// Returns how many columns are free beside what stands before each row.
    fn free(&self) -> usize {
        self.columns.saturating_sub(self.prefixes.iter().map(Prefix::width).sum())
    }

    fn prose(&mut self, spans: &[Span]) {
        for row in wrap_spans(spans, self.free(), Break::Words) {
            self.row(row);
        }
    }

    fn row(&mut self, row: Row) {
        let mut whole = Row::empty();
        for prefix in &mut self.prefixes {
            whole.spans.extend(prefix.next().spans);
        }
        whole.spans.extend(row.spans);
        self.out.push(trimmed(whole));
    }

    fn gap(&mut self) {
        self.row(Row::empty());
    }
}

fn table_of(text: &str) -> Option<Table> {
    let mut rows = Vec::new();
    let mut walk = Walk { events: parse(text), at: 0, columns: 0, prefixes: Vec::new(), out: &mut rows };
    match walk.next()? {
        Event::Start(Tag::Table(alignments)) => Some(walk.table(alignments)),
        _ => None,
    }
}

fn code_line(
    highlighter: Option<&mut Highlighter>,
    line: &str,
    columns: usize,
    prefix: &mut Prefix,
    out: &mut Vec<Row>,
) {
    let line = expand_tabs(line, CODE_TAB);
    let spans = highlight::spans(highlighter, &line);
    for row in wrap_spans(&spans, columns, Break::Anywhere) {
        let mut whole = prefix.next();
        whole.spans.extend(row.spans);
        out.push(trimmed(whole));
    }
}

/// Takes blanks off the end of a row.
fn trimmed(mut row: Row) -> Row {
    while let Some(last) = row.spans.last() {
        let text = last.text.as_str().trim_end_matches(' ');
        if text.len() == last.text.as_str().len() {
            break;
        }
        let (text, style, link) = (text.to_owned(), last.style, last.link.clone());
        row.spans.pop();
        row.push(Span { text: text.into(), style, link });
    }
    row
}

/// The style of what a heading of a table says.
pub fn strong(span: &Span) -> Span {
    Span { style: Style { bold: true, ..span.style }, ..span.clone() }
}

/// The style of lines that are drawn.
pub fn line(text: String) -> Span {
    Span::new(text).role(Role::Muted)
}
