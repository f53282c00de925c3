//! Text that is harmless to draw (SAF-6): the one way from what others wrote to what a terminal gets.

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use zori_core::text;

use crate::wrap;

/// One line of text without anything a terminal would obey or hide.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct CleanText(Cow<'static, str>);

impl CleanText {
    /// Returns the text with control, bidirectional and invisible characters shown as `‹U+202E›`. Line ends and tabs are control characters
    /// here: split lines and expand tabs before.
    pub fn new(text: &str) -> Self {
        if !text.contains(hostile) {
            return Self(Cow::Owned(text.to_owned()));
        }
        let mut out = String::with_capacity(text.len() + 8);
        let mut chars = text.chars().peekable();
        let mut before = ' ';
        while let Some(c) = chars.next() {
            match hostile(c) && !(joiner(c) && joins(before, chars.peek().copied())) {
                true => out.push_str(&format!("‹U+{:04X}›", c as u32)),
                false => out.push(c),
            }
            before = c;
        }
        Self(Cow::Owned(out))
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns a part of it, which is as clean as the whole.
    pub(crate) fn slice(&self, range: Range<usize>) -> Self {
        Self(Cow::Owned(self.0[range].to_owned()))
    }

    /// Returns how many columns it takes.
    pub fn width(&self) -> usize {
        wrap::width(&self.0)
    }
}

fn hostile(c: char) -> bool {
    // Most text is below the first invisible character.
    if c < '\u{ad}' { c.is_control() } else { text::invisible(c) }
}

fn joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Returns whether a joiner stands where scripts and emoji are written with one; between Latin letters it only hides.
fn joins(before: char, after: Option<char>) -> bool {
    let takes_part = |c: char| !c.is_ascii() && !c.is_whitespace() && !text::invisible(c) && c > '\u{36f}';
    takes_part(before) && after.is_none_or(takes_part)
}

impl From<&str> for CleanText {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

impl From<String> for CleanText {
    fn from(text: String) -> Self {
        match text.contains(hostile) {
            true => Self::new(&text),
            false => Self(Cow::Owned(text)),
        }
    }
}

impl fmt::Debug for CleanText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_terminal_would_obey_is_shown() {
        assert_eq!(
            CleanText::new("a\x1b[2Jb\u{202e}c\u{9b}\n").as_str(),
            "a‹U+001B›[2Jb‹U+202E›c‹U+009B›‹U+000A›"
        );
        for written in ["👩\u{200d}🔬", "❤\u{fe0f}\u{200d}🔥", "می\u{200c}خواهم", "क्\u{200d}ष"]
        {
            assert_eq!(CleanText::new(written).as_str(), written);
        }
        assert_eq!(CleanText::new("pay\u{200d}pal \u{200c}x").as_str(), "pay‹U+200D›pal ‹U+200C›x");
    }
}
