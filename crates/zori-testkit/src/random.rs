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

/// How many cases a test runs: what CI can afford, or all of them under `cargo xtask soak` (DECISIONS 34), or that part of them which
/// `ZORI_SOAK_PERCENT` names. Where fewer cases mean larger steps, the two are the other way round.
pub fn cases(in_ci: usize, in_full: usize) -> usize {
    let percent = std::env::var("ZORI_SOAK_PERCENT").ok().and_then(|text| text.parse::<usize>().ok());
    match percent.or(std::env::var_os("ZORI_SOAK").map(|_| 100)) {
        Some(percent) => part(in_ci, in_full, percent),
        None => in_ci,
    }
}

fn part(in_ci: usize, in_full: usize, percent: usize) -> usize {
    match in_ci < in_full {
        true => (in_full * percent / 100).clamp(in_ci, in_full),
        false => (in_full * 100 / percent.max(1)).clamp(in_full, in_ci),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_the_cases() {
        assert_eq!([part(50, 1_000, 100), part(50, 1_000, 25), part(50, 1_000, 1)], [1_000, 250, 50]);
        assert_eq!([part(9, 1, 100), part(9, 1, 25), part(9, 1, 1)], [1, 4, 9]);
    }
}
