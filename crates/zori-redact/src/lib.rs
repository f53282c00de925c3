//! Takes secrets out of text before people, programs or files other than the session see it
//! (`docs/contracts/secrets.md`).
//!
//! Two ways to know one: by value, for what the process itself holds (`zori_core::secret`), and by shape, for what
//! files and tools bring along (`patterns`). Text is judged as a whole, so redact first and cut afterwards: a token that was
//! cut in two is no longer recognised. What is sent to the model never passes here (SCR-5).

mod json;
mod patterns;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use zori_core::secret::{REDACTED, Secrets};

/// Takes secrets out of text.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Secrets,
}

impl Redactor {
    /// Returns a redactor that knows these values beside the patterns, and whatever is added to them later.
    pub fn new(known: Secrets) -> Self {
        Self { known }
    }

    /// Takes out known values and whatever looks like a secret. Allocates only if it finds one.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        match self.known.redact(text) {
            Cow::Borrowed(text) => replaced(text, patterns::find(text)),
            Cow::Owned(text) => Cow::Owned(replaced(&text, patterns::find(&text)).into_owned()),
        }
    }
}

impl Redactor {
    /// Takes secrets out of what somebody is asked about, word by word: a text that has the shape of a secret hides nothing that stands between its
    /// words or behind it, where more might run.
    pub fn redact_words<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let words = |text: &str| patterns::words(text, patterns::find(text));
        match self.known.redact(text) {
            Cow::Borrowed(text) => replaced(text, words(text)),
            Cow::Owned(text) => Cow::Owned(replaced(&text, words(&text)).into_owned()),
        }
    }
}

/// Replaces the ranges; what overlaps or touches becomes one.
fn replaced(text: &str, mut found: Vec<Range<usize>>) -> Cow<'_, str> {
    if found.is_empty() {
        return Cow::Borrowed(text);
    }
    found.sort_unstable_by_key(|range| (range.start, range.end));
    let mut out = String::with_capacity(text.len());
    let mut done = 0;
    let mut ranges = found.into_iter().peekable();
    while let Some(mut range) = ranges.next() {
        while let Some(next) = ranges.next_if(|next| next.start <= range.end) {
            range.end = range.end.max(next.end);
        }
        out.push_str(&text[done..range.start]);
        out.push_str(REDACTED);
        done = range.end;
    }
    out.push_str(&text[done..]);
    Cow::Owned(out)
}

// The examples of the README compile, and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}
