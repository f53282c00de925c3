//! A page of HTML as text a model reads: Markdown without wrapped lines.
//!
//! No tree is built. What a page says can be told from its tags as they come, so the time grows with the length of a
//! page only, however its elements are nested.

mod entities;
mod lexer;
mod writer;

use zori_core::cancel::Cancel;

use self::lexer::{Lexer, Piece, attribute};
use self::writer::{Mark, Writer};

/// How many pieces are read before somebody who waits is listened to.
const PIECES_AT_ONCE: usize = 1024;

/// Returns a page's text; `None` if the call was cancelled.
pub fn text(html: &str, cancel: &Cancel) -> Option<String> {
    let mut page = Renderer::default();
    for (count, piece) in Lexer::new(html).enumerate() {
        if count % PIECES_AT_ONCE == 0 && cancel.is_cancelled() {
            return None;
        }
        page.piece(&piece);
    }
    Some(page.writer.finish())
}

/// How an element is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Element {
    /// Text goes on through it.
    Inline,
    /// A line of its own.
    Line,
    /// Lines of its own, with an empty one around them.
    Block,
    Heading(usize),
    List {
        numbered: bool,
    },
    Item,
    Cell,
    Quote,
    Preformatted,
    Break,
    Rule,
    Link,
    Image,
    Marked(Mark),
    /// Nothing in it is for reading.
    Hidden,
}

impl Element {
    fn of(name: &str) -> Self {
        let mut lower = [0; 16];
        let Some(bytes) = lower.get_mut(..name.len()) else { return Self::Inline };
        bytes.copy_from_slice(name.as_bytes());
        bytes.make_ascii_lowercase();
        match &*bytes {
            b"p" | b"dl" | b"table" | b"figure" | b"details" | b"fieldset" | b"article" | b"section"
            | b"header" | b"footer" | b"main" | b"nav" | b"aside" | b"form" => Self::Block,
            b"div" | b"tr" | b"dt" | b"dd" | b"caption" | b"figcaption" | b"summary" | b"address"
            | b"body" | b"html" | b"head" | b"thead" | b"tbody" | b"tfoot" | b"option" | b"legend"
            | b"hgroup" | b"center" => Self::Line,
            b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" => Self::Heading(usize::from(bytes[1] - b'0')),
            b"ul" | b"menu" => Self::List { numbered: false },
            b"ol" => Self::List { numbered: true },
            b"li" => Self::Item,
            b"td" | b"th" => Self::Cell,
            b"blockquote" => Self::Quote,
            b"pre" | b"listing" => Self::Preformatted,
            b"br" => Self::Break,
            b"hr" => Self::Rule,
            b"a" => Self::Link,
            b"img" => Self::Image,
            b"b" | b"strong" => Self::Marked(Mark::Strong),
            b"i" | b"em" => Self::Marked(Mark::Emphasis),
            b"code" | b"kbd" | b"samp" | b"tt" => Self::Marked(Mark::Code),
            b"svg" | b"math" | b"template" | b"object" | b"audio" | b"video" | b"canvas" => Self::Hidden,
            _ => Self::Inline,
        }
    }
}

#[derive(Default)]
struct Renderer {
    writer: Writer,
    /// The element that hides what comes, and how often it was opened.
    hidden: Option<(String, usize)>,
}

impl Renderer {
    fn piece(&mut self, piece: &Piece<'_>) {
        if let Some((name, depth)) = &mut self.hidden {
            match piece {
                Piece::Open { name: opened, attributes } if opened.eq_ignore_ascii_case(name) => {
                    *depth += usize::from(!attributes.ends_with('/'));
                }
                Piece::Close(closed) if closed.eq_ignore_ascii_case(name) => *depth -= 1,
                _ => {}
            }
            if *depth == 0 {
                self.hidden = None;
            }
            return;
        }
        match piece {
            Piece::Text(text) => self.writer.text(&entities::decode(text, false)),
            Piece::Open { name, attributes } => self.open(name, attributes),
            Piece::Close(name) => self.close(name),
        }
    }

    fn open(&mut self, name: &str, attributes: &str) {
        let writer = &mut self.writer;
        match Element::of(name) {
            Element::Inline => {}
            Element::Line => writer.line(),
            Element::Block => writer.block(),
            Element::Heading(level) => {
                writer.block();
                writer.begin_with("######".get(..level).unwrap_or_default());
            }
            Element::List { numbered } => writer.open_list(numbered),
            Element::Item => writer.item(),
            Element::Cell => writer.cell(),
            Element::Quote => writer.open_quote(),
            Element::Preformatted => writer.open_preformatted(),
            Element::Break => writer.line(),
            Element::Rule => {
                writer.block();
                writer.text("---");
                writer.block();
            }
            Element::Link => {
                let href = attribute(attributes, "href").unwrap_or_default().trim();
                let target = entities::decode(href, true);
                // Places of the same page, scripts and whole images are no address to go on with.
                let leads = !["", "#", "javascript:", "data:"].iter().any(|start| {
                    if start.is_empty() { target.is_empty() } else { target.starts_with(start) }
                });
                writer.open_link(leads.then_some(target));
            }
            Element::Image => {
                let alt = entities::decode(attribute(attributes, "alt").unwrap_or_default(), true);
                if !alt.trim().is_empty() {
                    writer.text(&format!("[{}]", alt.trim()));
                }
            }
            Element::Marked(mark) => writer.open_mark(mark),
            Element::Hidden => {
                if !attributes.ends_with('/') {
                    self.hidden = Some((name.to_owned(), 1));
                }
            }
        }
    }

    fn close(&mut self, name: &str) {
        let writer = &mut self.writer;
        match Element::of(name) {
            Element::Inline | Element::Cell | Element::Image | Element::Hidden | Element::Rule => {}
            Element::Line | Element::Item | Element::Break => writer.line(),
            Element::Block | Element::Heading(_) => writer.block(),
            Element::List { .. } => writer.close_list(),
            Element::Quote => writer.close_quote(),
            Element::Preformatted => writer.close_preformatted(),
            Element::Link => writer.close_link(),
            Element::Marked(mark) => writer.close_mark(mark),
        }
    }
}

#[cfg(test)]
mod tests;
