//! Token counts, normalised over the providers.

use std::ops::AddAssign;

/// What one request, or a sum of requests, used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Prompt tokens that were neither read from nor written to a cache.
    pub input: u64,
    /// Tokens the model wrote, thinking included.
    pub output: u64,
    /// Prompt tokens read from the provider's cache.
    pub cache_read: u64,
    /// Prompt tokens written to the provider's cache.
    pub cache_write: u64,
    /// Of the prompt tokens, those of requests whose provider said nothing about a cache.
    pub cache_unknown: u64,
}

impl Usage {
    /// No tokens.
    pub const NOTHING: Self = Self { input: 0, output: 0, cache_read: 0, cache_write: 0, cache_unknown: 0 };

    /// Returns the sum of all kinds of tokens.
    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }

    /// Returns how many of 100 prompt tokens came from the cache, rounded down; `None` without a prompt, and where a
    /// provider did not say.
    pub fn cache_hits(&self) -> Option<u64> {
        let prompt = self.input + self.cache_read + self.cache_write;
        (self.cache_read * 100).checked_div(prompt).filter(|_| self.cache_unknown == 0)
    }
}

impl AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.cache_unknown += other.cache_unknown;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn totals_and_cache_hits() {
        let usage = Usage { input: 100, output: 7, cache_read: 250, cache_write: 25, cache_unknown: 0 };
        assert_eq!((usage.total(), usage.cache_hits()), (382, Some(66)));
        assert_eq!(Usage { output: 7, ..Usage::default() }.cache_hits(), None);
        assert_eq!(Usage { input: 7, ..Usage::default() }.cache_hits(), Some(0));
        let mut sum = usage;
        sum += Usage { input: 7, cache_unknown: 7, ..Usage::default() };
        assert_eq!(sum.cache_hits(), None, "unknown is not nothing");
    }
}
