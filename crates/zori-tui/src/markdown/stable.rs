//! Cutting Markdown into pieces, line by line (MD-2). A decision is made from the lines up to it and never taken back.
//!
//! Lists are cut into items, fenced code into lines, so that long ones become stable while they arrive; everything else is a piece as a whole.

/// How many rows a table may have before its first ones are drawn (MD-3).
const TABLE_ROWS: usize = 60;

/// A piece of Markdown that can be laid out on its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Whether an empty row stands before it.
    pub gap: bool,
    pub kind: PieceKind,
}

/// What a piece is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// A paragraph, heading, quote or rule.
    Block(String),
    /// One item of a list: its source without the marker's indentation, and what stands before it.
    Item {
        text: String,
        indent: usize,
        marker: Marker,
    },
    /// The start of a fenced block: what follows the fence.
    FenceStart(String),
    FenceLine(String),
    /// The last line of a block, while it has no end.
    FencePartial(String),
    FenceEnd,
    /// A table; one that goes on has the header without drawing it again.
    Table {
        text: String,
        goes_on: bool,
    },
    /// A table that is not complete.
    TableForming {
        rows: usize,
    },
}

/// What stands before an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Marker {
    Bullet,
    Number(u64),
}

/// Takes lines, gives pieces.
#[derive(Clone, Debug, Default)]
pub struct Splitter {
    open: Open,
    /// The source of the open piece.
    text: String,
    /// Whether an empty line came before the open piece, or before the next.
    gap: bool,
    /// Empty lines that belong to the open piece only if it goes on.
    blanks: usize,
    list: Option<List>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Open {
    #[default]
    Nothing,
    Paragraph {
        lines: usize,
    },
    Quote,
    Indented,
    Table {
        rows: usize,
        goes_on: bool,
    },
    Item {
        indent: usize,
        content: usize,
        marker: Marker,
        fence: Option<Fence>,
        prose: bool,
    },
    Fence(Fence),
}

/// The list that the next item may belong to.
#[derive(Clone, Copy, Debug)]
struct List {
    sign: char,
    next: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fence {
    mark: u8,
    len: usize,
    indent: usize,
}

/// What a line could start.
enum Start<'a> {
    Heading,
    Rule,
    Quote,
    Fence(Fence, &'a str),
    Item(ItemStart<'a>),
    Indented,
    Text,
}

struct ItemStart<'a> {
    sign: char,
    number: Option<u64>,
    indent: usize,
    content: usize,
    /// The line behind the marker.
    rest: &'a str,
}

impl Splitter {
    /// Takes a complete line, without its end.
    pub fn line(&mut self, line: &str, out: &mut Vec<Piece>) {
        let blank = line.trim().is_empty();
        match self.open {
            Open::Fence(fence) => self.fence_line(fence, line, out),
            Open::Item { .. } => self.item_line(line, blank, out),
            Open::Nothing if blank => self.gap = true,
            Open::Nothing => self.start(line, out),
            Open::Indented if blank => self.blanks += 1,
            Open::Indented if indent_of(line) >= 4 => self.add(line),
            Open::Indented => {
                let gap = self.blanks > 0;
                self.close(out);
                self.gap |= gap;
                self.start(line, out);
            }
            _ if blank => {
                self.close(out);
                self.gap = true;
            }
            Open::Paragraph { lines } => self.paragraph_line(lines, line, out),
            Open::Quote => match start_of(line) {
                Start::Quote | Start::Text | Start::Indented => self.add(line),
                _ => self.restart(line, out),
            },
            Open::Table { rows, goes_on } => match start_of(line) {
                Start::Text | Start::Indented => self.table_line(rows, goes_on, line, out),
                _ => self.restart(line, out),
            },
        }
    }

    /// Ends the open piece.
    pub fn close(&mut self, out: &mut Vec<Piece>) {
        self.blanks = 0;
        let text = std::mem::take(&mut self.text);
        let gap = std::mem::take(&mut self.gap);
        let kind = match std::mem::take(&mut self.open) {
            Open::Nothing => {
                self.gap = gap;
                return;
            }
            Open::Paragraph { .. } | Open::Quote | Open::Indented => PieceKind::Block(text),
            Open::Table { goes_on: true, rows: 0 } => return,
            Open::Table { goes_on, .. } => PieceKind::Table { text, goes_on },
            Open::Item { indent, marker, .. } => PieceKind::Item { text, indent, marker },
            Open::Fence(_) => {
                // Code stands apart, whatever the source says.
                self.gap = true;
                PieceKind::FenceEnd
            }
        };
        out.push(Piece { gap: gap && kind != PieceKind::FenceEnd, kind });
    }

    /// Returns the open piece and the line that is not complete, as they can be drawn already: without marks whose meaning is not settled.
    pub fn tail(&self, partial: &str) -> Vec<Piece> {
        let mut ahead = self.clone();
        let mut out = Vec::new();
        let unsettled = self.unsettled(partial);
        if let Open::Fence(fence) = self.open {
            if !partial.is_empty() && !unsettled {
                let text = outdented(partial, fence.indent).to_owned();
                out.push(Piece { gap: false, kind: PieceKind::FencePartial(text) });
            }
            return out;
        }
        if !unsettled && !partial.trim().is_empty() {
            ahead.line(partial, &mut out);
        }
        let forming = match ahead.open {
            Open::Table { rows, .. } => Some(rows + 1),
            Open::Paragraph { lines } if ahead.text.trim_start().starts_with('|') && lines <= 2 => {
                let below = ahead.text.lines().nth(1).unwrap_or_default();
                below.chars().all(|c| "|-: ".contains(c)).then_some(1)
            }
            _ => None,
        };
        match forming {
            Some(rows) => out.push(Piece { gap: ahead.gap, kind: PieceKind::TableForming { rows } }),
            None => {
                ahead.text = mended(&ahead.text);
                if !ahead.text.trim().is_empty() {
                    ahead.close(&mut out);
                }
            }
        }
        out.retain(|piece| !matches!(piece.kind, PieceKind::FenceEnd));
        out
    }

    /// Returns whether the start of a line may yet become a mark.
    fn unsettled(&self, partial: &str) -> bool {
        let text = partial.trim_start();
        let only = |marks: &str| !text.is_empty() && text.chars().all(|c| marks.contains(c));
        match self.open {
            Open::Fence(fence) => only(if fence.mark == b'`' { "`" } else { "~" }),
            _ if text.starts_with("```") || text.starts_with("~~~") || only("`") || only("~") => true,
            Open::Paragraph { .. } if only("=-") => true,
            _ => {
                only("#")
                    || only("-")
                    || only("*")
                    || only("+")
                    || only("_")
                    || only("> ")
                    || numbered_only(text)
            }
        }
    }

    fn add(&mut self, line: &str) {
        for _ in 0..std::mem::take(&mut self.blanks) {
            self.text.push('\n');
        }
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn restart(&mut self, line: &str, out: &mut Vec<Piece>) {
        self.close(out);
        self.start(line, out);
    }

    /// Starts a piece with a line that is not empty.
    fn start(&mut self, line: &str, out: &mut Vec<Piece>) {
        let start = start_of(line);
        if !matches!(start, Start::Item(_)) {
            self.list = None;
        }
        match start {
            Start::Heading | Start::Rule => {
                self.add(line);
                self.open = Open::Paragraph { lines: 1 };
                self.close(out);
            }
            Start::Quote => {
                self.add(line);
                self.open = Open::Quote;
            }
            Start::Indented => {
                self.add(line);
                self.open = Open::Indented;
            }
            Start::Text => {
                self.add(line);
                self.open = Open::Paragraph { lines: 1 };
            }
            Start::Fence(fence, info) => {
                out.push(Piece { gap: true, kind: PieceKind::FenceStart(info.to_owned()) });
                self.gap = false;
                self.open = Open::Fence(fence);
            }
            Start::Item(item) => self.start_item(item),
        }
    }

    fn start_item(&mut self, item: ItemStart<'_>) {
        let next = match self.list {
            Some(list) if list.sign == item.sign => list.next,
            _ => item.number.unwrap_or(0),
        };
        self.list = Some(List { sign: item.sign, next: next.saturating_add(1) });
        let marker = match item.number {
            Some(_) => Marker::Number(next),
            None => Marker::Bullet,
        };
        let inner = start_of(item.rest);
        let fence = match inner {
            Start::Fence(fence, _) => Some(fence),
            _ => None,
        };
        let prose = matches!(inner, Start::Text);
        self.add(item.rest);
        self.open = Open::Item { indent: item.indent, content: item.content, marker, fence, prose };
    }

    fn fence_line(&mut self, fence: Fence, line: &str, out: &mut Vec<Piece>) {
        match fence.closed_by(line) {
            true => self.close(out),
            false => {
                let text = outdented(line, fence.indent).to_owned();
                out.push(Piece { gap: false, kind: PieceKind::FenceLine(text) });
            }
        }
    }

    fn item_line(&mut self, line: &str, blank: bool, out: &mut Vec<Piece>) {
        let Open::Item { content, fence, prose, .. } = self.open else { return };
        if blank {
            self.blanks += 1;
            return;
        }
        if indent_of(line) >= content {
            let inner = outdented(line, content);
            let (fence, prose) = match (fence, start_of(inner)) {
                (Some(open), _) if open.closed_by(inner) => (None, false),
                (Some(open), _) => (Some(open), false),
                (None, Start::Fence(opened, _)) => (Some(opened), false),
                (None, Start::Text | Start::Item(_) | Start::Quote) => (None, true),
                (None, Start::Indented) => (None, prose && self.blanks == 0),
                (None, Start::Heading | Start::Rule) => (None, false),
            };
            if let Open::Item { fence: open, prose: was, .. } = &mut self.open {
                (*open, *was) = (fence, prose);
            }
            let inner = inner.to_owned();
            return self.add(&inner);
        }
        let gap = self.blanks > 0;
        // A paragraph may go on without its indentation.
        if !gap && prose && fence.is_none() && matches!(start_of(line), Start::Text) {
            return self.add(line.trim_start());
        }
        self.close(out);
        self.gap |= gap;
        self.start(line, out);
    }

    fn paragraph_line(&mut self, lines: usize, line: &str, out: &mut Vec<Piece>) {
        if is_underline(line) {
            self.add(line);
            return self.close(out);
        }
        let interrupts = match start_of(line) {
            Start::Text | Start::Indented => false,
            Start::Item(item) => item.number.is_none_or(|number| number == 1) && !item.rest.trim().is_empty(),
            _ => true,
        };
        if interrupts {
            return self.restart(line, out);
        }
        if is_delimiter_row(line) {
            let head_at = self.text[..self.text.len() - 1].rfind('\n').map_or(0, |end| end + 1);
            let head = self.text[head_at..].to_owned();
            if head.contains('|') && columns(&head) == columns(line) {
                if lines > 1 {
                    self.text.truncate(head_at);
                    self.close(out);
                }
                self.text = head;
                self.add(line);
                self.open = Open::Table { rows: 0, goes_on: false };
                return;
            }
        }
        self.add(line);
        self.open = Open::Paragraph { lines: lines + 1 };
    }

    fn table_line(&mut self, rows: usize, goes_on: bool, line: &str, out: &mut Vec<Piece>) {
        self.add(line);
        self.open = Open::Table { rows: rows + 1, goes_on };
        if rows + 1 == TABLE_ROWS {
            let header: String = self.text.split_inclusive('\n').take(2).collect();
            self.close(out);
            self.text = header;
            self.open = Open::Table { rows: 0, goes_on: true };
        }
    }
}

impl Fence {
    fn closed_by(self, line: &str) -> bool {
        let text = line.trim();
        indent_of(line) < 4 && text.len() >= self.len && text.bytes().all(|b| b == self.mark)
    }
}

fn start_of(line: &str) -> Start<'_> {
    let indent = indent_of(line);
    if indent >= 4 {
        return Start::Indented;
    }
    let text = line.trim_start();
    if text.starts_with('>') {
        return Start::Quote;
    }
    if let Some((fence, info)) = fence_start(text, indent) {
        return Start::Fence(fence, info);
    }
    let hashes = text.len() - text.trim_start_matches('#').len();
    if (1..=6).contains(&hashes) && text[hashes..].chars().next().is_none_or(char::is_whitespace) {
        return Start::Heading;
    }
    if is_rule(text) {
        return Start::Rule;
    }
    match item_start(text, indent) {
        Some(item) => Start::Item(item),
        None => Start::Text,
    }
}

fn fence_start(text: &str, indent: usize) -> Option<(Fence, &str)> {
    let mark = *text.as_bytes().first().filter(|b| matches!(b, b'`' | b'~'))?;
    let len = text.bytes().take_while(|b| *b == mark).count();
    let info = text[len..].trim();
    let valid = len >= 3 && !(mark == b'`' && info.contains('`'));
    valid.then_some((Fence { mark, len, indent }, info))
}

fn item_start(text: &str, indent: usize) -> Option<ItemStart<'_>> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let sign = text[digits..].chars().next()?;
    let number = match (digits, sign) {
        (0, '-' | '*' | '+') => None,
        (1..=9, '.' | ')') => text[..digits].parse().ok(),
        _ => return None,
    };
    let rest = &text[digits + 1..];
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return None;
    }
    let blanks = indent_of(rest);
    let wide = if rest.trim().is_empty() || blanks > 4 { 1 } else { blanks };
    Some(ItemStart { sign, number, indent, content: indent + digits + 1 + wide, rest: outdented(rest, wide) })
}

fn is_rule(text: &str) -> bool {
    ['-', '*', '_'].iter().any(|mark| {
        text.chars().all(|c| c == *mark || c.is_whitespace())
            && text.chars().filter(|c| c == mark).count() >= 3
    })
}

fn is_underline(line: &str) -> bool {
    let text = line.trim();
    indent_of(line) < 4
        && !text.is_empty()
        && (text.bytes().all(|b| b == b'=') || text.bytes().all(|b| b == b'-'))
}

fn is_delimiter_row(line: &str) -> bool {
    let cells = line.trim().trim_matches('|');
    line.contains('|')
        && cells.split('|').all(|cell| {
            let cell = cell.trim();
            let dashes = cell.strip_prefix(':').unwrap_or(cell);
            let dashes = dashes.strip_suffix(':').unwrap_or(dashes);
            !dashes.is_empty() && dashes.bytes().all(|b| b == b'-')
        })
}

/// Returns how many cells a row of a table has.
fn columns(row: &str) -> usize {
    let text = row.trim();
    let text = text.strip_prefix('|').unwrap_or(text);
    let text = text.strip_suffix('|').filter(|inner| !inner.ends_with('\\')).unwrap_or(text);
    let mut before = ' ';
    let mut count = 1;
    for c in text.chars() {
        if c == '|' && before != '\\' {
            count += 1;
        }
        before = c;
    }
    count
}

/// Returns the indentation in columns; a tab reaches the next fourth.
fn indent_of(line: &str) -> usize {
    let mut indent = 0;
    for c in line.chars() {
        match c {
            ' ' => indent += 1,
            '\t' => indent += 4 - indent % 4,
            _ => break,
        }
    }
    indent
}

/// Returns the line without up to `columns` of its indentation.
fn outdented(line: &str, columns: usize) -> &str {
    let mut gone = 0;
    for (i, c) in line.char_indices() {
        if gone >= columns {
            return &line[i..];
        }
        match c {
            ' ' => gone += 1,
            '\t' => gone += 4 - gone % 4,
            _ => return &line[i..],
        }
    }
    ""
}

fn numbered_only(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    digits.len() < text.len() && matches!(digits, "" | "." | ")" | ". " | ") ")
}

/// Returns whether a mark may begin, or end, with this byte.
fn is_markup(byte: u8) -> bool {
    matches!(byte, b'*' | b'_' | b'~' | b'`' | b'\\' | b'[' | b']' | b')' | b'\n')
}

/// Closes the marks that the last paragraph of a text leaves open, so that they are not drawn as text while their end is on its way.
fn mended(text: &str) -> String {
    let text = text.trim_end_matches('\n');
    let from = text.rfind("\n\n").map_or(0, |at| at + 2);
    let (before, last) = text.split_at(from);
    let mut open: Vec<&str> = Vec::new();
    let mut rest = last;
    let mut link = None;
    // Most of a text is no mark, and it is looked at with each frame (PERF-3).
    while let Some(plain) = rest.bytes().position(is_markup) {
        rest = &rest[plain..];
        let at = last.len() - rest.len();
        let mark = ["**", "__", "~~", "*", "`"].into_iter().find(|mark| rest.starts_with(mark));
        let code = open.last() == Some(&"`");
        match mark {
            Some("`") => match code {
                true => _ = open.pop(),
                false => open.push("`"),
            },
            Some(mark) if !code => {
                let after = rest[mark.len()..].chars().next();
                match open.iter().position(|known| *known == mark) {
                    Some(known) => open.truncate(known),
                    // A mark before a blank opens nothing; at the end of the line nobody knows yet.
                    None if after.is_none_or(|c| !c.is_whitespace()) => open.push(mark),
                    None => {}
                }
            }
            _ if code => {}
            None if rest.starts_with('\\') => {
                rest = &rest[1..];
                if rest.is_empty() {
                    break;
                }
            }
            None if rest.starts_with('[') => link = Some((at, None)),
            None if rest.starts_with("](") => {
                if let Some((_, end @ None)) = &mut link {
                    *end = Some(at);
                }
            }
            None if rest.starts_with([')', '\n']) => link = None,
            _ => {}
        }
        let step = match mark {
            Some(mark) if !code || mark == "`" => mark.len(),
            _ => rest.chars().next().map_or(1, char::len_utf8),
        };
        rest = &rest[step..];
    }
    let mut out = before.to_owned();
    match link {
        Some((start, Some(end))) => {
            // The target is on its way: the text alone, for the time being.
            out.push_str(&last[..start]);
            out.push_str(&last[start + 1..end]);
        }
        _ => out.push_str(last),
    }
    for mark in open.iter().rev() {
        match out.strip_suffix(mark) {
            // It has just been opened; there is nothing between it and its end.
            Some(without) => out.truncate(without.len()),
            None => {
                let text = out.trim_end().len();
                out.truncate(text);
                out.push_str(mark);
            }
        }
    }
    out.push('\n');
    out
}
