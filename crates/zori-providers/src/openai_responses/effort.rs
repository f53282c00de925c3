//! How hard a model should think, in the words that its generation knows.
//!
//! After the vendor's reference as of November 2026: `none` came with GPT-5.1, `minimal` is GPT-5's own, `xhigh`
//! came behind GPT-5.1 Codex Max; the o-series knows three levels. A level that a model lacks becomes its nearest.

use zori_core::provider::Effort;

/// Returns whether the model thinks at all, as far as its name says. One that does not refuses to be asked for
/// its encrypted reasoning.
pub(super) fn thinks(model: &str) -> bool {
    !["gpt-4", "gpt-3.5", "chatgpt-"].iter().any(|old| model.starts_with(old))
}

/// Returns the value of `reasoning.effort`, if there is one to send.
pub(super) fn level(model: &str, effort: Effort) -> Option<&'static str> {
    if !thinks(model) {
        return None;
    }
    let generation = generation(model);
    match effort {
        Effort::Low => Some("low"),
        Effort::Medium => Some("medium"),
        Effort::High => Some("high"),
        Effort::Off => match generation {
            Some(version) if version >= (5, 1) => Some("none"),
            Some(_) if model.contains("codex") => Some("low"),
            Some(_) => Some("minimal"),
            None if is_o_series(model) => Some("low"),
            None => None,
        },
        Effort::Max => match generation {
            Some(version) if version >= (5, 2) => Some("xhigh"),
            Some(_) if model.starts_with("gpt-5.1-codex-max") => Some("xhigh"),
            _ => Some("high"),
        },
    }
}

/// Returns `(5, 2)` for `gpt-5.2-mini`.
fn generation(model: &str) -> Option<(u32, u32)> {
    let version = model.strip_prefix("gpt-")?.split('-').next()?;
    let (major, minor) = version.split_once('.').unwrap_or((version, "0"));
    Some((major.parse().ok()?, minor.parse().ok()?))
}

fn is_o_series(model: &str) -> bool {
    model.strip_prefix('o').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
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
            ("gpt-6", "none low medium high xhigh"),
            ("gpt-5.5-2026-04-23", "none low medium high xhigh"),
            ("gpt-5.2", "none low medium high xhigh"),
            ("gpt-5.1", "none low medium high high"),
            ("gpt-5.1-codex-max", "none low medium high xhigh"),
            ("gpt-5", "minimal low medium high high"),
            ("gpt-5-mini-2025-08-07", "minimal low medium high high"),
            ("gpt-5-codex", "low low medium high high"),
            ("o3", "low low medium high high"),
            ("o4-mini", "low low medium high high"),
            ("gpt-4.1", "- - - - -"),
            ("gpt-4o-mini", "- - - - -"),
            ("some-local-model", "- low medium high high"),
            ("omni", "- low medium high high"),
        ] {
            assert_eq!(row(model), words, "{model}");
        }
    }
}
