//! Secrets taken out of text before people, programs or files other than the session see it (`security.md` 7).
//!
//! Two ways to know one: by value, for what the process itself holds (`known`), and by shape, for what files and
//! tools bring along (`patterns`). Text is judged as a whole, so redact first and cut afterwards: a token that was
//! cut in two is no longer recognised. What is sent to the model never passes here (SCR-5).

mod known;
mod patterns;

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use known::Known;

/// What stands where a secret was (DECISIONS 31).
pub const REDACTED: &str = "[REDACTED]";

/// Takes secrets out of text.
#[derive(Clone, Default)]
pub struct Redactor {
    known: Known,
}

impl Redactor {
    /// Returns a redactor that knows these values beside the patterns. Values too short to be told from
    /// ordinary words are left out.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a str>) -> Self {
        Self { known: Known::new(secrets) }
    }

    /// Takes out known values and whatever looks like a secret. Costs no allocation where there is none.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let mut found = self.known.find(text);
        found.extend(patterns::find(text));
        replaced(text, found)
    }

    /// Takes out known values only: for the session file, which has to give back what the model saw.
    pub fn redact_known<'t>(&self, text: &'t str) -> Cow<'t, str> {
        replaced(text, self.known.find(text))
    }
}

/// The values themselves are not for printing.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Redactor").finish_non_exhaustive()
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
