//! The thinking effort, in the parameters that a model's generation knows.
//!
//! After the vendor's pages on thinking as of November 2026: Gemini 3 and later take a level, 2.5 a budget of
//! tokens, earlier ones nothing. Both at once are refused. No level is sent that one of the current models lacks:
//! `minimal` is refused by 3.8 Flash, so "off" is as little as all of them can do.

use serde::Serialize;
use zori_core::provider::Effort;

/// The least that 2.5 Pro accepts; it cannot be told not to think.
const PRO_LEAST: u32 = 128;
/// The least that 2.5 Flash-Lite accepts, if it is to think at all; the other models accept it too.
const LEAST: u32 = 512;

/// The most that 2.5 Pro accepts, and the others.
const PRO_MOST: u32 = 32_768;
const MOST: u32 = 24_576;

/// `generationConfig.thinkingConfig`.
#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ThinkingConfig {
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    include_thoughts: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_level: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thinking_budget: Option<u32>,
}

/// Returns what to send, if anything. Thinking counts against the reply's limit, so a budget takes half at most.
pub(super) fn config(model: &str, effort: Effort, max_tokens: u32) -> Option<ThinkingConfig> {
    let include_thoughts = effort.level() != Effort::Off;
    let (thinking_level, thinking_budget) = match generation(model)? {
        3.. => (Some(level(effort)), None),
        2 if model.contains("2.5") => (None, Some(budget(model, effort, max_tokens))),
        _ => return None,
    };
    Some(ThinkingConfig { include_thoughts, thinking_level, thinking_budget })
}

/// Returns the first number of the name: 3 for `gemini-3.1-pro-preview`.
pub(super) fn generation(model: &str) -> Option<u32> {
    let name = model.strip_prefix("models/").unwrap_or(model);
    name.strip_prefix("gemini-")?.split(['.', '-']).next()?.parse().ok()
}

fn level(effort: Effort) -> &'static str {
    match effort.level() {
        Effort::Off | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High | Effort::Max | Effort::Tokens(_) => "high",
    }
}

fn budget(model: &str, effort: Effort, max_tokens: u32) -> u32 {
    let pro = model.contains("pro");
    let most = if pro { PRO_MOST } else { MOST };
    let wanted = match effort {
        Effort::Off if pro => return PRO_LEAST,
        Effort::Off => return 0,
        Effort::Low => 2_048,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        Effort::Max => most,
        Effort::Tokens(0) if !pro => return 0,
        // Who names a number means it, as far as the model takes it.
        Effort::Tokens(tokens) => return tokens.clamp(if pro { PRO_LEAST } else { LEAST }, most),
    };
    wanted.min(max_tokens / 2).max(LEAST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_that_are_named() {
        let budgets = |model: &str| {
            [0, 100, 9_999, 99_999]
                .map(|tokens| config(model, Effort::Tokens(tokens), 65_536)?.thinking_budget)
        };
        assert_eq!(budgets("gemini-2.5-flash"), [0, 512, 9_999, 24_576].map(Some));
        assert_eq!(budgets("gemini-2.5-pro"), [128, 128, 9_999, 32_768].map(Some));
        assert_eq!(budgets("gemini-3.8-flash"), [None; 4]);
    }

    #[test]
    fn every_effort_by_model() {
        let row = |model: &str, max: u32| {
            let shown = Effort::ALL.iter().map(|effort| match config(model, *effort, max) {
                Some(config) => serde_json::to_string(&config).unwrap(),
                None => "nothing".to_owned(),
            });
            shown.collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            row("gemini-3.8-flash", 65_536),
            concat!(
                r#"{"thinkingLevel":"low"} {"includeThoughts":true,"thinkingLevel":"low"} "#,
                r#"{"includeThoughts":true,"thinkingLevel":"medium"} {"includeThoughts":true,"thinkingLevel":"high"} "#,
                r#"{"includeThoughts":true,"thinkingLevel":"high"}"#,
            )
        );
        assert_eq!(
            row("models/gemini-2.5-flash", 65_536),
            concat!(
                r#"{"thinkingBudget":0} {"includeThoughts":true,"thinkingBudget":2048} "#,
                r#"{"includeThoughts":true,"thinkingBudget":8192} {"includeThoughts":true,"thinkingBudget":16384} "#,
                r#"{"includeThoughts":true,"thinkingBudget":24576}"#,
            )
        );
        assert_eq!(
            row("gemini-2.5-pro", 8_192),
            concat!(
                r#"{"thinkingBudget":128} {"includeThoughts":true,"thinkingBudget":2048} "#,
                r#"{"includeThoughts":true,"thinkingBudget":4096} {"includeThoughts":true,"thinkingBudget":4096} "#,
                r#"{"includeThoughts":true,"thinkingBudget":4096}"#,
            )
        );
        for model in ["gemini-2.0-flash", "gemini-1.5-pro", "gemini-pro", "gemma-4-31b-it", ""] {
            assert_eq!(row(model, 8_192), "nothing nothing nothing nothing nothing", "{model}");
        }
    }
}
