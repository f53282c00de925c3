//! The limits of a run, and whether it may send one more request. Pure: the caller passes the usage.
//!
//! Limits are checked before each request, and so after each reply and its tool calls. A reply that crosses a limit is
//! still accepted and its calls run; the turn ends only if the model wants to continue. That way nothing that was paid for
//! is lost, and every call has its result.

use zori_core::cost::{MicroUsd, Spent};
use zori_core::outcome::LimitKind;

/// The limits of a run. `None` means no limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests answered for one prompt: what Claude Code counts as turns.
    pub turns: Option<u32>,
    /// Money, over all prompts of the run.
    pub budget: Option<MicroUsd>,
    /// What a budget means for a model without a known price.
    pub unpriced: Unpriced,
    /// Tokens of every kind, over all prompts of the run.
    pub tokens: Option<u64>,
}

/// What a budget means for a model without a known price.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpriced {
    /// The model is not used.
    Refused,
    /// The model is used, and its cost is not counted (`allow_unpriced`).
    Allowed,
}

/// The usage of a run, checked before each request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// The replies received for the current prompt.
    pub requests: u32,
    /// What all requests of the run used.
    pub spent: Spent,
    /// Whether the price of the current model is known.
    pub priced: bool,
}

/// A limit that was reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LimitReached {
    /// The kind of limit.
    pub kind: LimitKind,
    /// One sentence for the user that names it.
    pub text: String,
}

impl Limits {
    /// No limits.
    pub const NONE: Self = Self { turns: None, budget: None, unpriced: Unpriced::Refused, tokens: None };

    /// Returns the limit that forbids another request, if any.
    pub fn reached(&self, used: &Used) -> Option<LimitReached> {
        self.turns_reached(used).or_else(|| self.budget_reached(used)).or_else(|| self.tokens_reached(used))
    }

    fn turns_reached(&self, used: &Used) -> Option<LimitReached> {
        let max = self.turns.filter(|max| used.requests >= *max)?;
        let turns = if max == 1 { "turn" } else { "turns" };
        let text = format!("Reached the limit of {max} {turns} (`--max-turns`)");
        Some(LimitReached { kind: LimitKind::Turns, text })
    }

    fn budget_reached(&self, used: &Used) -> Option<LimitReached> {
        let budget = self.budget?;
        let text = match used.spent.cost.filter(|_| used.priced) {
            Some(cost) if cost < budget => return None,
            Some(cost) => format!("Reached the budget of {budget}: {cost} spent (`--max-budget-usd`)"),
            None if self.unpriced == Unpriced::Allowed => return None,
            // What cannot be counted cannot be kept within bounds.
            None => "A budget needs a model whose price is known, and this one's is not (`--max-budget-usd`)"
                .into(),
        };
        Some(LimitReached { kind: LimitKind::Budget, text })
    }

    fn tokens_reached(&self, used: &Used) -> Option<LimitReached> {
        let total = used.spent.usage.total();
        let max = self.tokens.filter(|max| total >= *max)?;
        let text = format!("Reached the limit of {max} tokens: {total} used (`--max-tokens-total`)");
        Some(LimitReached { kind: LimitKind::Tokens, text })
    }
}

#[cfg(test)]
mod tests {
    use zori_core::usage::Usage;

    use super::*;

    fn used(requests: u32, tokens: u64, cost: Option<u64>) -> Used {
        let usage = Usage { cache_read: tokens, ..Usage::default() };
        Used { requests, spent: Spent { usage, cost: cost.map(MicroUsd) }, priced: true }
    }

    fn says(limits: Limits, used: Used) -> String {
        limits
            .reached(&used)
            .map_or_else(|| "go on".into(), |it| format!("{}: {}", it.kind.as_str(), it.text))
    }

    #[test]
    fn without_limits_it_goes_on() {
        assert_eq!(says(Limits::NONE, used(u32::MAX, u64::MAX, None)), "go on");
    }

    #[test]
    fn turns() {
        let limits = |n| Limits { turns: Some(n), ..Limits::NONE };
        assert_eq!(says(limits(2), used(1, 0, None)), "go on");
        assert_eq!(
            says(limits(2), used(2, 0, None)),
            "max_turns: Reached the limit of 2 turns (`--max-turns`)"
        );
        assert_eq!(
            says(limits(1), used(1, 0, None)),
            "max_turns: Reached the limit of 1 turn (`--max-turns`)"
        );
    }

    #[test]
    fn budget() {
        let limits = Limits { budget: Some(MicroUsd(500_000)), ..Limits::NONE };
        let unknown = "max_budget_usd: A budget needs a model whose price is known, and this one's is not \
                       (`--max-budget-usd`)";
        assert_eq!(says(limits, used(9, 0, Some(499_999))), "go on");
        assert_eq!(
            says(limits, used(9, 0, Some(500_001))),
            "max_budget_usd: Reached the budget of $0.500000: $0.500001 spent (`--max-budget-usd`)"
        );
        assert_eq!(says(limits, used(9, 0, None)), unknown);
        assert_eq!(says(limits, Used { priced: false, ..used(0, 0, Some(0)) }), unknown);
        assert_eq!(says(Limits { unpriced: Unpriced::Allowed, ..limits }, used(9, 0, None)), "go on");
    }

    #[test]
    fn tokens() {
        let limits = Limits { tokens: Some(1_000), ..Limits::NONE };
        assert_eq!(says(limits, used(9, 999, None)), "go on");
        assert_eq!(
            says(limits, used(9, 1_000, None)),
            "max_tokens_total: Reached the limit of 1000 tokens: 1000 used (`--max-tokens-total`)"
        );
    }
}
