//! Numbers from a seed, for generated cases, and how many of them a test runs.

/// A small generator of numbers (xorshift64*): the same seed gives the same numbers everywhere.
pub struct Random(u64);

impl Random {
    /// Begins with a seed.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Returns a number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    /// Returns one of the choices.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}

/// How many cases a test runs: what CI can afford, or all of them under `cargo xtask soak` (DECISIONS 34).
pub fn cases(in_ci: usize, in_full: usize) -> usize {
    if std::env::var_os("ZORI_SOAK").is_some() { in_full } else { in_ci }
}
