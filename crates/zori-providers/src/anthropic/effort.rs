//! The thinking effort, in the parameters that a model's generation knows.
//!
//! After the vendor's pages on thinking and effort, and its migration guides, as of November 2026. Models up to 4.5
//! take a budget of tokens, later ones decide themselves and take an effort. Whether thinking can be left, and how
//! that is said, differs from model to model; where it cannot, "off" is as little as there is.

use serde::Serialize;
use zori_core::provider::Effort;

/// The smallest budget the API accepts.
const LEAST_BUDGET: u32 = 1024;

/// What a request says about thinking. Members that are `None` are not sent.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ThinkingParams {
    /// The member `thinking`.
    pub(super) thinking: Option<Thinking>,
    /// The member `output_config`.
    pub(super) output_config: Option<OutputConfig>,
    /// Whether the request must not have a temperature: thinking and newer models do not go with one.
    pub(super) without_temperature: bool,
}

#[derive(Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(super) enum Thinking {
    Disabled,
    BetweenTools,
    Enabled {
        budget_tokens: u32,
    },
    Adaptive {
        /// Newer models leave their thoughts out unless they are asked for them.
        #[serde(skip_serializing_if = "Option::is_none")]
        display: Option<&'static str>,
    },
}

#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct OutputConfig {
    effort: &'static str,
}

/// Returns what to send to this model. Thinking counts against the reply's limit, so a budget takes half at most.
pub(super) fn thinking_params(model: &str, effort: Option<Effort>, max_tokens: u32) -> ThinkingParams {
    let mode = Mode::of(model);
    let without_temperature = mode.refuses_temperature();
    let Some(asked) = effort else {
        return ThinkingParams { without_temperature, ..ThinkingParams::default() };
    };
    let effort = asked.level();
    let (thinking, output_config) = match (mode, effort) {
        (Mode::None, _) => (None, None),
        (Mode::Budget, Effort::Off) => (None, None),
        (Mode::Budget, _) => (enabled(asked, max_tokens), None),
        (Mode::OtherVendor, Effort::Off) => (Some(Thinking::Disabled), None),
        (Mode::OtherVendor, _) => (enabled(asked, max_tokens), None),
        (Mode::Adaptive { off, .. }, Effort::Off) => match off {
            Off::Unsaid => (None, None),
            Off::Disabled => (Some(Thinking::Disabled), None),
            Off::BetweenTools => (Some(Thinking::BetweenTools), output_config(effort)),
            Off::Never => (None, output_config(effort)),
        },
        (Mode::Adaptive { display, .. }, _) => (Some(Thinking::Adaptive { display }), output_config(effort)),
    };
    let thinks = matches!(thinking, Some(Thinking::Enabled { .. } | Thinking::Adaptive { .. }));
    ThinkingParams { thinking, output_config, without_temperature: without_temperature || thinks }
}

fn enabled(effort: Effort, max_tokens: u32) -> Option<Thinking> {
    let wanted = match effort {
        Effort::Off => return None,
        Effort::Low => 2_048,
        Effort::Medium => 8_192,
        Effort::High => 16_384,
        Effort::Max => 32_000,
        // Who names a number means it, as far as the API takes it: below the reply's limit.
        Effort::Tokens(tokens) => {
            let budget_tokens = tokens.max(LEAST_BUDGET).min(max_tokens.saturating_sub(1));
            return (budget_tokens >= LEAST_BUDGET).then_some(Thinking::Enabled { budget_tokens });
        }
    };
    let budget_tokens = wanted.min(max_tokens / 2);
    (budget_tokens >= LEAST_BUDGET).then_some(Thinking::Enabled { budget_tokens })
}

fn output_config(effort: Effort) -> Option<OutputConfig> {
    let effort = match effort {
        Effort::Off | Effort::Low => "low",
        Effort::Medium => "medium",
        Effort::High => "high",
        Effort::Max | Effort::Tokens(_) => "max",
    };
    Some(OutputConfig { effort })
}

/// How a model is told to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// It cannot.
    None,
    /// By a number of tokens; off by default.
    Budget,
    /// It decides itself.
    Adaptive { off: Off, display: Option<&'static str> },
    /// Another vendor's model behind the same API, which knows the older form.
    OtherVendor,
}

/// How a model that decides itself is told not to think.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Off {
    /// By saying nothing.
    Unsaid,
    /// By `disabled`.
    Disabled,
    /// It can leave it before its answer only.
    BetweenTools,
    /// It always thinks.
    Never,
}

impl Mode {
    fn of(model: &str) -> Self {
        let Some((_, name)) = model.split_once("claude-") else { return Self::OtherVendor };
        let adaptive = |off| Self::Adaptive { off, display: Some("summarized") };
        let family = name.split('-').next().unwrap_or_default();
        match version(name) {
            Some(version) if version < (3, 7) => Self::None,
            Some(version) if version < (4, 6) => Self::Budget,
            Some((4, 6)) => Self::Adaptive { off: Off::Unsaid, display: None },
            Some(version) if version < (5, 0) => adaptive(Off::Unsaid),
            Some(version) => adaptive(match (family, version) {
                ("opus" | "sonnet", (5, 0)) | ("haiku", (5, 5)) => Off::Disabled,
                ("sonnet", (5, 5)) => Off::BetweenTools,
                // Opus 5.5, Fable, and what comes after them.
                _ => Off::Never,
            }),
            None => adaptive(Off::Never),
        }
    }

    /// From 4.7 on, a request with a temperature is refused.
    fn refuses_temperature(self) -> bool {
        matches!(self, Self::Adaptive { display: Some(_), .. })
    }
}

/// Returns `(4, 5)` for `haiku-4-5-20251001`, and `(3, 7)` for `3-7-sonnet`.
fn version(name: &str) -> Option<(u32, u32)> {
    let is_number =
        |part: &&str| part.len() <= 2 && part.bytes().all(|b| b.is_ascii_digit()) && !part.is_empty();
    let mut numbers = name.split(['-', '@', '.']).skip_while(|part| !is_number(part)).take_while(is_number);
    let major = numbers.next()?.parse().ok()?;
    Some((major, numbers.next().and_then(|minor| minor.parse().ok()).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shows what is sent for each effort, from off to max.
    fn row(model: &str) -> String {
        let shown = Effort::ALL.iter().map(|effort| {
            let thinking_params = thinking_params(model, Some(*effort), 64_000);
            let thinking =
                thinking_params.thinking.map(|t| serde_json::to_string(&t).unwrap()).unwrap_or_default();
            let effort = thinking_params.output_config.map(|c| format!(" {}", c.effort)).unwrap_or_default();
            let cold = if thinking_params.without_temperature { " cold" } else { "" };
            format!("{thinking}{effort}{cold}").trim().to_owned()
        });
        shown.collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn budgets_up_to_4_5() {
        let expected = concat!(
            "\n",
            r#"{"type":"enabled","budget_tokens":2048} cold"#,
            "\n",
            r#"{"type":"enabled","budget_tokens":8192} cold"#,
            "\n",
            r#"{"type":"enabled","budget_tokens":16384} cold"#,
            "\n",
            r#"{"type":"enabled","budget_tokens":32000} cold"#,
        );
        for model in [
            "claude-haiku-4-5",
            "claude-haiku-4-5-20251001",
            "claude-opus-4-5@20251101",
            "claude-sonnet-4-20250514",
            "claude-opus-4-1",
            "claude-3-7-sonnet-latest",
        ] {
            assert_eq!(row(model), expected, "{model}");
        }
        assert_eq!(row("local-model"), format!(r#"{{"type":"disabled"}}{expected}"#));
        for model in ["claude-3-5-sonnet-20241022", "claude-3-haiku", "claude-3-opus-latest", "claude-2.1"] {
            assert_eq!(row(model), "\n\n\n\n", "{model}");
        }
    }

    #[test]
    fn later_models_decide_themselves() {
        let levels = concat!(
            r#"{"type":"adaptive","display":"summarized"} low cold"#,
            "\n",
            r#"{"type":"adaptive","display":"summarized"} medium cold"#,
            "\n",
            r#"{"type":"adaptive","display":"summarized"} high cold"#,
            "\n",
            r#"{"type":"adaptive","display":"summarized"} max cold"#,
        );
        for (model, off) in [
            ("claude-opus-4-7", "cold"),
            ("claude-opus-4-8", "cold"),
            ("claude-opus-5", r#"{"type":"disabled"} cold"#),
            ("claude-sonnet-5", r#"{"type":"disabled"} cold"#),
            ("claude-haiku-5-5", r#"{"type":"disabled"} cold"#),
            ("claude-sonnet-5-5", r#"{"type":"between_tools"} low cold"#),
            ("claude-opus-5-5", "low cold"),
            ("claude-fable-5-1", "low cold"),
            ("claude-mythos-preview", "low cold"),
            ("claude-opus-7", "low cold"),
        ] {
            assert_eq!(row(model), format!("{off}\n{levels}"), "{model}");
        }
        let oldest = levels.replace(r#","display":"summarized""#, "");
        assert_eq!(row("claude-opus-4-6"), format!("\n{oldest}"));
        assert_eq!(row("anthropic.claude-sonnet-4-6"), format!("\n{oldest}"));
    }

    #[test]
    fn a_budget_leaves_room_for_the_reply() {
        let exactly =
            |tokens| thinking_params("claude-haiku-4-5", Some(Effort::Tokens(tokens)), 64_000).thinking;
        let of = |budget_tokens| Some(Thinking::Enabled { budget_tokens });
        assert_eq!(
            [0, 7, 12_345, 60_000, 99_000].map(exactly),
            [None, of(1_024), of(12_345), of(60_000), of(63_999)]
        );
        let budget = |max_tokens| thinking_params("claude-haiku-4-5", Some(Effort::Max), max_tokens).thinking;
        assert_eq!(budget(8_192), Some(Thinking::Enabled { budget_tokens: 4_096 }));
        assert_eq!(budget(2_048), Some(Thinking::Enabled { budget_tokens: 1_024 }));
        assert_eq!(budget(2_047), None, "there is no budget that small");
    }

    #[test]
    fn without_an_effort_nothing_is_said() {
        for (model, without_temperature) in [
            ("claude-haiku-4-5", false),
            ("claude-opus-4-6", false),
            ("claude-opus-4-7", true),
            ("local", false),
        ] {
            let expected = ThinkingParams { without_temperature, ..ThinkingParams::default() };
            assert_eq!(thinking_params(model, None, 64_000), expected, "{model}");
        }
    }
}
