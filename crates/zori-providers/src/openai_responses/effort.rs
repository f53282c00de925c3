//! The thinking effort, in the parameters that a model's generation knows.
//!
//! After the vendor's reference as of November 2026: `none` came with GPT-5.1 and is not sent to GPT-6 nor to
//! Codex models, `minimal` is GPT-5's own, `xhigh` came behind GPT-5.1 Codex Max, `max` with GPT-5.6; the
//! o-series knows three levels. A level that a model lacks becomes its nearest.

use zori_core::provider::Effort;

/// Returns whether the model thinks at all, as far as its name says. One that does not refuses to be asked for
/// its encrypted reasoning.
pub(crate) fn thinks(model: &str) -> bool {
    let model = base(model);
    !["gpt-4", "gpt-3.5", "gpt-5-chat", "chatgpt-"].iter().any(|old| model.starts_with(old))
}

/// Returns the value of `reasoning_effort` in a Chat Completions request, if there is one to send.
///
/// That API has no thinking beside tools from GPT-5.2 on, and from GPT-5.6 on it wants to be told so.
pub(crate) fn chat_level(model: &str, effort: Option<Effort>, with_tools: bool) -> Option<&'static str> {
    if !thinks(model) {
        return None;
    }
    match generation(model) {
        Some(version) if with_tools && version >= (5, 6) => Some("none"),
        Some(version) if with_tools && version >= (5, 2) => None,
        _ => effort.filter(|asked| asked.level() != Effort::Off).and_then(|asked| level(model, asked)),
    }
}

/// Returns whether the model refuses a temperature: OpenAI's do while they think. GPT-5.1 and 5.2 do not think
/// unless they are asked to.
pub(crate) fn refuses_temperature(model: &str, effort: Option<Effort>) -> bool {
    let generation = generation(model);
    let is_openai = generation.is_some() || is_o_series(model);
    let asleep = generation.is_some_and(|version| ((5, 1)..=(5, 2)).contains(&version))
        && matches!(effort.map(Effort::level), None | Some(Effort::Off));
    is_openai && thinks(model) && !asleep
}

/// Returns the value of `reasoning.effort`, if there is one to send.
pub(super) fn level(model: &str, effort: Effort) -> Option<&'static str> {
    if !thinks(model) {
        return None;
    }
    let generation = generation(model);
    match effort.level() {
        Effort::Low => Some("low"),
        Effort::Medium => Some("medium"),
        Effort::High => Some("high"),
        Effort::Off => match generation {
            Some(_) if model.contains("codex") => Some("low"),
            // The first of the sixth generation always think.
            Some((6, 0)) => Some("low"),
            Some(version) if version >= (5, 1) => Some("none"),
            Some(_) => Some("minimal"),
            None if is_o_series(model) => Some("low"),
            None => None,
        },
        Effort::Max | Effort::Tokens(_) => match generation {
            Some(version) if version >= (5, 6) => Some("max"),
            Some(version) if version >= (5, 2) => Some("xhigh"),
            Some(_) if base(model).starts_with("gpt-5.1-codex-max") => Some("xhigh"),
            _ => Some("high"),
        },
    }
}

/// Returns the name that a fine-tuned model's begins with behind its mark: `gpt-4.1:us::x` for `ft:gpt-4.1:us::x`.
fn base(model: &str) -> &str {
    model.strip_prefix("ft:").unwrap_or(model)
}

/// Returns `(5, 2)` for `gpt-5.2-mini`.
pub(crate) fn generation(model: &str) -> Option<(u32, u32)> {
    let version = base(model).strip_prefix("gpt-")?.split(['-', ':']).next()?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn is_o_series(model: &str) -> bool {
    base(model).strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_by_model() {
        let row = |model: &str| {
            let words = Effort::ALL.iter().map(|effort| level(model, *effort).unwrap_or("-"));
            words.collect::<Vec<_>>().join(" ")
        };
        for (model, words) in [
            ("gpt-6.1-sol", "none low medium high max"),
            ("gpt-6", "low low medium high max"),
            ("gpt-5.6-terra", "none low medium high max"),
            ("gpt-5.5-2026-04-23", "none low medium high xhigh"),
            ("gpt-5.2", "none low medium high xhigh"),
            ("gpt-5.1", "none low medium high high"),
            ("gpt-5.1-codex-max", "low low medium high xhigh"),
            ("gpt-5.1-codex", "low low medium high high"),
            ("gpt-5.3-codex", "low low medium high xhigh"),
            ("gpt-5", "minimal low medium high high"),
            ("gpt-5-mini-2025-08-07", "minimal low medium high high"),
            ("gpt-5-codex", "low low medium high high"),
            ("o3", "low low medium high high"),
            ("o4-mini", "low low medium high high"),
            ("gpt-4.1", "- - - - -"),
            ("gpt-4o-mini", "- - - - -"),
            ("gpt-5-chat-latest", "- - - - -"),
            ("ft:gpt-4.1-mini-2025-04-14:us::x", "- - - - -"),
            ("ft:gpt-5.2:us::x", "none low medium high xhigh"),
            ("ft:o4-mini-2025-04-16:us::x", "low low medium high high"),
            ("some-local-model", "- low medium high high"),
            ("omni", "- low medium high high"),
        ] {
            assert_eq!(row(model), words, "{model}");
        }
    }

    #[test]
    fn levels_over_chat_completions() {
        let row = |model: &str, with_tools: bool| {
            let asked = std::iter::once(None).chain(Effort::ALL.iter().copied().map(Some));
            let words = asked.map(|effort| chat_level(model, effort, with_tools).unwrap_or("-"));
            words.collect::<Vec<_>>().join(" ")
        };
        for (model, without_tools, with_tools) in [
            ("gpt-6", "- - low medium high max", "none none none none none none"),
            ("gpt-5.6", "- - low medium high max", "none none none none none none"),
            ("gpt-5.5", "- - low medium high xhigh", "- - - - - -"),
            ("gpt-5.2", "- - low medium high xhigh", "- - - - - -"),
            ("gpt-5.1", "- - low medium high high", "- - low medium high high"),
            ("o3", "- - low medium high high", "- - low medium high high"),
            ("gpt-4.1", "- - - - - -", "- - - - - -"),
            ("gpt-4o", "- - - - - -", "- - - - - -"),
            ("m", "- - low medium high high", "- - low medium high high"),
        ] {
            assert_eq!(row(model, false), without_tools, "{model}");
            assert_eq!(row(model, true), with_tools, "{model}");
        }
    }

    #[test]
    fn temperatures_by_model() {
        let row = |model: &str| {
            [None, Some(Effort::Off), Some(Effort::Low)].map(|effort| refuses_temperature(model, effort))
        };
        for (model, refused) in [
            ("gpt-6", [true, true, true]),
            ("gpt-5.5", [true, true, true]),
            ("gpt-5.2-2025-12-11", [false, false, true]),
            ("gpt-5.1", [false, false, true]),
            ("gpt-5", [true, true, true]),
            ("o3", [true, true, true]),
            ("ft:o4-mini:us::x", [true, true, true]),
            ("gpt-5-chat-latest", [false, false, false]),
            ("gpt-4.1", [false, false, false]),
            ("gpt-4o", [false, false, false]),
            ("some-local-model", [false, false, false]),
        ] {
            assert_eq!(row(model), refused, "{model}");
        }
    }
}
