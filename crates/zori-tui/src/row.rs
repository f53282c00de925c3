//! What is drawn: rows of spans. A row is one line of the terminal, a span is text in one style, and a style names roles, never colours:
//! which colour a role has is the theme's business.

use crate::clean::CleanText;

/// One row of the screen, without padding at its end.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Row {
    pub spans: Vec<Span>,
}

/// Text in one style.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Span {
    pub text: CleanText,
    pub style: Style,
    /// Where the text leads, for terminals that know links (OSC 8).
    pub link: Option<CleanText>,
}

/// How text looks, by what it means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Style {
    pub role: Role,
    pub ground: Ground,
    pub bold: bool,
    pub dim: bool,
    pub italic: bool,
    pub underline: bool,
    pub strike: bool,
    pub reverse: bool,
}

/// What a text means, which gives it its colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Role {
    /// The terminal's or the theme's own foreground.
    #[default]
    Text,
    Primary,
    Secondary,
    Warning,
    Error,
    Success,
    Accent,
    /// Beside the point: numbers of lines, hints, comments.
    Muted,
}

/// What stands behind a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ground {
    #[default]
    None,
    /// A row that a change added, and the words in it that are new.
    Added,
    AddedWord,
    /// A row that a change removed, and the words in it that are gone.
    Removed,
    RemovedWord,
    /// The chosen line of a list.
    Chosen,
    /// A box that lies over other things.
    Raised,
}

impl Row {
    /// Returns a row that says nothing.
    pub fn empty() -> Self {
        Self::default()
    }

    /// Returns the row with one more span.
    pub fn with(mut self, span: impl Into<Span>) -> Self {
        self.push(span);
        self
    }

    /// Adds a span at the end.
    pub fn push(&mut self, span: impl Into<Span>) {
        let span = span.into();
        if !span.text.as_str().is_empty() {
            self.spans.push(span);
        }
    }

    /// Returns how many columns it takes.
    pub fn width(&self) -> usize {
        self.spans.iter().map(|span| span.text.width()).sum()
    }

    /// Returns its text alone.
    pub fn text(&self) -> String {
        self.spans.iter().map(|span| span.text.as_str()).collect()
    }

    /// Puts another row at the right edge of `width` columns, if two columns stay free between them; else the row stays as it is.
    pub fn with_right(mut self, right: Self, width: u16) -> Self {
        let free = usize::from(width).saturating_sub(self.width() + right.width());
        if free >= 2 && !right.spans.is_empty() {
            self.push(" ".repeat(free));
            self.spans.extend(right.spans);
        }
        self
    }
}

impl Span {
    /// Returns the text in no style.
    pub fn new(text: impl Into<CleanText>) -> Self {
        Self { text: text.into(), ..Self::default() }
    }

    /// Returns the span in this style.
    pub fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    /// Returns the span in this role.
    pub fn role(mut self, role: Role) -> Self {
        self.style.role = role;
        self
    }

    /// Returns the span before this ground.
    pub fn ground(mut self, ground: Ground) -> Self {
        self.style.ground = ground;
        self
    }

    /// Returns the span in bold.
    pub fn bold(mut self) -> Self {
        self.style.bold = true;
        self
    }

    /// Returns the span with its two colours changed for each other.
    pub fn reverse(mut self) -> Self {
        self.style.reverse = true;
        self
    }

    /// Returns the span as something beside the point.
    pub fn muted(self) -> Self {
        self.role(Role::Muted)
    }

    /// Returns the span leading somewhere.
    pub fn link(mut self, target: impl Into<CleanText>) -> Self {
        self.link = Some(target.into());
        self
    }
}

impl From<Span> for Row {
    fn from(span: Span) -> Self {
        Self::empty().with(span)
    }
}

impl<T: Into<CleanText>> From<T> for Span {
    fn from(text: T) -> Self {
        Self::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_hand_column_needs_room() {
        let row = |width| Row::from(Span::new("left")).with_right(Row::from(Span::new("#7")), width).text();
        assert_eq!(row(9), "left   #7");
        assert_eq!(row(7), "left");
    }
}
