//! What models cost, by the vendor's price page: a table of the models whose price is certain. One that is not here has
//! no known price, which is not the same as none (D-11).

use zori_core::cost::Prices;

/// Models by the beginning of their ids, so that a dated id finds its model; the longest match wins.
const PRICES: &[(&str, Prices)] = &[
    ("claude-opus-4-5", claude(5_000_000, 25_000_000)),
    ("claude-sonnet-4-5", claude(3_000_000, 15_000_000)),
    ("claude-haiku-4-5", claude(1_000_000, 5_000_000)),
    ("claude-opus-4-1", claude(15_000_000, 75_000_000)),
    ("claude-opus-4-20", claude(15_000_000, 75_000_000)),
    ("claude-sonnet-4-20", claude(3_000_000, 15_000_000)),
    ("claude-3-7-sonnet", claude(3_000_000, 15_000_000)),
    ("claude-3-5-haiku", claude(800_000, 4_000_000)),
];

/// Reading from the cache costs a tenth of the input price, writing to it a quarter more than that price.
const fn claude(input: u64, output: u64) -> Prices {
    Prices { input, output, cache_read: input / 10, cache_write: input / 4 * 5 }
}

/// Returns what a model costs, if that is known.
pub fn of(model: &str) -> Option<Prices> {
    let matching = PRICES.iter().filter(|(start, _)| model.starts_with(start));
    matching.max_by_key(|(start, _)| start.len()).map(|(_, prices)| *prices)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_the_beginning_of_the_id() {
        let haiku =
            Prices { input: 1_000_000, output: 5_000_000, cache_read: 100_000, cache_write: 1_250_000 };
        assert_eq!(of("claude-haiku-4-5"), Some(haiku));
        assert_eq!(of("claude-haiku-4-5-20251001"), Some(haiku));
        assert_eq!(of("claude-opus-4-8"), None);
        assert_eq!(of("scripted"), None);
    }
}
