//! What is inside a paragraph: emphasis, code, links, as lines of spans.

use pulldown_cmark::{CowStr, Event, Tag, TagEnd};

use crate::row::{Role, Span, Style};
use crate::wrap::{TAB, expand_tabs};

/// Collects inline events into lines; a break in the source is a break on the screen.
pub struct Inline {
    lines: Vec<Vec<Span>>,
    style: Style,
    /// Styles to return to.
    outer: Vec<Style>,
    links: Vec<Link>,
}

struct Link {
    target: String,
    /// Where its text starts: line and span.
    from: (usize, usize),
    image: bool,
}

impl Inline {
    /// Returns a collector whose text has this style.
    pub fn new(style: Style) -> Self {
        Self { lines: vec![Vec::new()], style, outer: Vec::new(), links: Vec::new() }
    }

    /// Takes an event; gives it back if it is not an inline one.
    pub fn event<'a>(&mut self, event: Event<'a>) -> Result<(), Event<'a>> {
        match event {
            Event::Text(text) => self.text(&text, self.style),
            Event::Code(text) => self.text(&text, Style { role: Role::Secondary, ..self.style }),
            Event::InlineHtml(text)
            | Event::InlineMath(text)
            | Event::DisplayMath(text)
            | Event::FootnoteReference(text) => self.text(&text, self.style),
            Event::SoftBreak | Event::HardBreak => self.lines.push(Vec::new()),
            Event::Start(Tag::Emphasis) => self.enter(Style { italic: true, ..self.style }),
            Event::Start(Tag::Strong) => self.enter(Style { bold: true, ..self.style }),
            Event::Start(Tag::Strikethrough) => self.enter(Style { strike: true, ..self.style }),
            Event::Start(Tag::Link { dest_url, .. }) => self.link(&dest_url, false),
            Event::Start(Tag::Image { dest_url, .. }) => self.link(&dest_url, true),
            Event::End(TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough) => self.leave(),
            Event::End(TagEnd::Link | TagEnd::Image) => self.link_end(),
            other => return Err(other),
        }
        Ok(())
    }

    /// Returns the lines.
    pub fn finish(self) -> Vec<Vec<Span>> {
        self.lines
    }

    fn text(&mut self, text: &CowStr<'_>, style: Style) {
        for (i, line) in text.split('\n').enumerate() {
            if i > 0 {
                self.lines.push(Vec::new());
            }
            if !line.is_empty() {
                self.last_line().push(Span::new(expand_tabs(line, TAB).into_owned()).style(style));
            }
        }
    }

    fn last_line(&mut self) -> &mut Vec<Span> {
        self.lines.last_mut().expect("there is always a line")
    }

    fn enter(&mut self, style: Style) {
        self.outer.push(std::mem::replace(&mut self.style, style));
    }

    fn leave(&mut self) {
        if let Some(style) = self.outer.pop() {
            self.style = style;
        }
    }

    fn link(&mut self, target: &str, image: bool) {
        if image {
            self.text(&CowStr::Borrowed("image: "), Style { role: Role::Muted, ..self.style });
        }
        let from = (self.lines.len() - 1, self.last_line().len());
        self.links.push(Link { target: target.to_owned(), from, image });
        self.enter(Style { underline: !image, ..self.style });
    }

    /// The target is printed, whatever the text says it is (TERM-3); terminals that know links get it as one, too.
    fn link_end(&mut self) {
        self.leave();
        let Some(link) = self.links.pop() else { return };
        let mut text = String::new();
        for (i, line) in self.lines.iter_mut().enumerate().skip(link.from.0) {
            let start = if i == link.from.0 { link.from.1 } else { 0 };
            for span in line.iter_mut().skip(start) {
                text.push_str(span.text.as_str());
                if !link.image && leads_outside(&link.target) {
                    span.link = Some(link.target.as_str().into());
                }
            }
        }
        let bare = link.target.strip_prefix("mailto:").unwrap_or(&link.target);
        if text != bare && text != link.target && !link.target.is_empty() {
            let style = Style { role: Role::Muted, ..self.style };
            self.text(&format!(" ({})", link.target).into(), style);
        }
    }
}

/// Returns whether a terminal may be told of a link (MD-1).
fn leads_outside(target: &str) -> bool {
    ["http://", "https://", "file://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
}
