//! Money as integers: micro-dollars, so that sums are exact.

use std::fmt;
use std::ops::AddAssign;

use crate::usage::Usage;

/// An amount of money in millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// Returns an amount of dollars as people write it, to the millionth; `None` for nothing, less than that, more
    /// than a million, and what is no number.
    pub fn from_dollars(dollars: f64) -> Option<Self> {
        let micros = (dollars * 1e6).round();
        (1.0..=1e12).contains(&micros).then_some(Self(micros as u64))
    }
}

impl AddAssign for MicroUsd {
    fn add_assign(&mut self, other: Self) {
        self.0 += other.0;
    }
}

impl fmt::Display for MicroUsd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "${}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// What a model costs, in micro-dollars per million tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prices {
    /// Prompt tokens that no cache had anything to do with.
    pub input: u64,
    /// Tokens the model wrote.
    pub output: u64,
    /// Prompt tokens read from a cache.
    pub cache_read: u64,
    /// Prompt tokens written to a cache.
    pub cache_write: u64,
}

impl Prices {
    /// Returns what was used in money, rounded up to the next millionth.
    pub fn cost(&self, usage: Usage) -> MicroUsd {
        let parts = [
            (usage.input, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        let total: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
        MicroUsd(u64::try_from(total.div_ceil(1_000_000)).unwrap_or(u64::MAX))
    }
}

/// What requests used, and what that cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The tokens.
    pub usage: Usage,
    /// The money; `None` as soon as one request went to a model whose price is not known (D-11).
    pub cost: Option<MicroUsd>,
}

impl Spent {
    /// Nothing, which costs nothing.
    pub const NOTHING: Self = Self { usage: Usage::NOTHING, cost: Some(MicroUsd(0)) };

    /// Returns one request at these prices.
    pub fn request(usage: Usage, prices: Option<Prices>) -> Self {
        Self { usage, cost: prices.map(|prices| prices.cost(usage)) }
    }
}

impl AddAssign for Spent {
    fn add_assign(&mut self, other: Self) {
        self.usage += other.usage;
        self.cost = self.cost.zip(other.cost).map(|(mut sum, more)| {
            sum += more;
            sum
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_price() {
        // 1, 5, 0.1 and 1.25 dollars per million.
        let prices =
            Prices { input: 1_000_000, output: 5_000_000, cache_read: 100_000, cache_write: 1_250_000 };
        let usage =
            Usage { input: 1_000, output: 100, cache_read: 10_000, cache_write: 400, cache_unknown: 0 };
        assert_eq!(prices.cost(usage), MicroUsd(1_000 + 500 + 1_000 + 500));
        assert_eq!(
            prices.cost(Usage { cache_read: 1, ..Usage::default() }),
            MicroUsd(1),
            "never rounded to nothing"
        );
        assert_eq!(MicroUsd(3_000_007).to_string(), "$3.000007");
    }

    #[test]
    fn dollars() {
        let micros = |dollars| MicroUsd::from_dollars(dollars).map(|amount| amount.0);
        assert_eq!(
            [0.1, 0.29, 2.0, 1e6, 0.000_001].map(micros),
            [Some(100_000), Some(290_000), Some(2_000_000), Some(1_000_000_000_000), Some(1)]
        );
        assert_eq!([0.0, -1.0, 1e-7, 1e7, f64::NAN, f64::INFINITY].map(micros), [None; 6]);
    }

    #[test]
    fn an_unknown_price_makes_the_sum_unknown() {
        let usage = Usage { input: 1_000, ..Usage::default() };
        let prices = Prices { input: 2_000_000, output: 0, cache_read: 0, cache_write: 0 };
        let mut spent = Spent::NOTHING;
        spent += Spent::request(usage, Some(prices));
        spent += Spent::request(usage, Some(prices));
        assert_eq!(spent, Spent { usage: Usage { input: 2_000, ..usage }, cost: Some(MicroUsd(4_000)) });
        spent += Spent::request(usage, None);
        spent += Spent::request(usage, Some(prices));
        assert_eq!(spent, Spent { usage: Usage { input: 4_000, ..usage }, cost: None });
    }
}
