//! Money as integers: micro-dollars, so that sums are exact.

use std::fmt;
use std::ops::AddAssign;

use crate::usage::Usage;

/// An amount of money in millionths of a US dollar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct MicroUsd(pub u64);

impl MicroUsd {
    /// Converts dollars, rounded to the millionth; `None` below one millionth, above a million, and for NaN.
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
    /// Prompt tokens that were neither read from nor written to a cache.
    pub input: u64,
    /// Tokens the model wrote.
    pub output: u64,
    /// Prompt tokens read from a cache.
    pub cache_read: u64,
    /// Prompt tokens written to a cache.
    pub cache_write: u64,
    /// What changes with a long prompt.
    pub long: Option<LongPrompt>,
}

/// A surcharge for requests whose prompt is long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongPrompt {
    /// It holds for prompts of more tokens than this.
    pub above: u64,
    /// The price of the prompt, read from a cache or not, in per cent of the usual one.
    pub input_percent: u64,
    /// The price of the reply, in per cent of the usual one.
    pub output_percent: u64,
}

impl Prices {
    /// Returns the cost of a usage, rounded up to the next millionth.
    pub fn cost(&self, usage: Usage) -> MicroUsd {
        let prompt = usage.input.saturating_add(usage.cache_read).saturating_add(usage.cache_write);
        let long = self.long.filter(|long| prompt > long.above);
        let (input, output) = long.map_or((100, 100), |long| (long.input_percent, long.output_percent));
        let parts = [
            (usage.input, self.input, input),
            (usage.output, self.output, output),
            (usage.cache_read, self.cache_read, input),
            (usage.cache_write, self.cache_write, input),
        ];
        let total: u128 = parts
            .iter()
            .map(|(tokens, price, percent)| u128::from(*tokens) * u128::from(*price) * u128::from(*percent))
            .sum();
        MicroUsd(u64::try_from(total.div_ceil(100_000_000)).unwrap_or(u64::MAX))
    }
}

/// What requests used and cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The tokens used.
    pub usage: Usage,
    /// The cost; `None` once one of the requests went to a model without a known price (D-11).
    pub cost: Option<MicroUsd>,
}

impl Spent {
    /// Nothing, which costs nothing.
    pub const NOTHING: Self = Self { usage: Usage::NOTHING, cost: Some(MicroUsd(0)) };

    /// Returns the usage of one request at these prices.
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

/// Counts what requests cost beyond this process. The engine asks it before each request and tells it of each reply; both are short.
pub trait Ledger: Send + Sync {
    /// Returns why no further request may be sent, in a sentence; `None` lets it go.
    fn refuses(&self) -> Option<String>;

    /// Adds a request that was answered by a model.
    fn add(&self, model: &str, spent: Spent);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_token_has_its_price() {
        // 1, 5, 0.1 and 1.25 dollars per million.
        let prices = Prices {
            input: 1_000_000,
            output: 5_000_000,
            cache_read: 100_000,
            cache_write: 1_250_000,
            long: None,
        };
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
    fn a_long_prompt_costs_more() {
        let long = Some(LongPrompt { above: 200, input_percent: 200, output_percent: 150 });
        let prices = Prices {
            input: 1_000_000,
            output: 2_000_000,
            cache_read: 1_000_000,
            cache_write: 1_000_000,
            long,
        };
        let usage = Usage { input: 100, output: 10, cache_read: 50, cache_write: 50, cache_unknown: 0 };
        assert_eq!(prices.cost(usage), MicroUsd(200 + 20));
        assert_eq!(prices.cost(Usage { input: 101, ..usage }), MicroUsd(402 + 30));
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
        let prices = Prices { input: 2_000_000, output: 0, cache_read: 0, cache_write: 0, long: None };
        let mut spent = Spent::NOTHING;
        spent += Spent::request(usage, Some(prices));
        spent += Spent::request(usage, Some(prices));
        assert_eq!(spent, Spent { usage: Usage { input: 2_000, ..usage }, cost: Some(MicroUsd(4_000)) });
        spent += Spent::request(usage, None);
        spent += Spent::request(usage, Some(prices));
        assert_eq!(spent, Spent { usage: Usage { input: 4_000, ..usage }, cost: None });
    }
}
