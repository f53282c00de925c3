//! Models that a user adds to the catalogue, or corrects in it, without waiting for a release.

use zori_core::cost::Prices;

use super::{
    Abilities, Api, FALLBACK_MAX_TOKENS, Lifecycle, Model, Origin, PROVIDERS, ProviderFacts, provider,
};

/// What a user says of a model. What is left out is as the catalogue has it, or as [`OwnModel::resolve`] says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnModel {
    /// The model of the same provider that it is like.
    pub base: Option<String>,
    /// How many tokens prompt and reply may have together.
    pub context_window: Option<u32>,
    /// How many tokens a reply may have.
    pub max_output: Option<u32>,
    /// What it costs.
    pub prices: OwnPrices,
    /// Whether it calls tools.
    pub tools: Option<bool>,
    /// Whether it sees images.
    pub images: Option<bool>,
    /// Whether it can think before it answers.
    pub thinking: Option<bool>,
}

/// What a user says of prices, in micro-dollars per million tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnPrices {
    /// Of the prompt.
    pub input: Option<u64>,
    /// Of the reply.
    pub output: Option<u64>,
    /// Of what is read from the cache.
    pub cache_read: Option<u64>,
    /// Of what is written to the cache.
    pub cache_write: Option<u64>,
}

/// Why what a user says of a model cannot be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadModel {
    /// The name is not `provider:model`.
    #[error("a model is named `provider:model`, for example `ollama:qwen3`")]
    NoProvider,
    /// There is no such provider.
    #[error("there is no provider `{0}`")]
    UnknownProvider(String),
    /// The provider has no such model.
    #[error("`base` names a model that `{provider}` does not have: `{base}`")]
    UnknownBase {
        provider: &'static str,
        /// What was named.
        base: String,
    },
    /// Nothing is known that could stand for it.
    #[error(
        "`context_window` is missing: the catalogue does not know this model (or name one that is like it: `base`)"
    )]
    NoWindow,
    /// They contradict each other.
    #[error("`max_output` ({max_output}) must be less than `context_window` ({context_window})")]
    ReplyTooLong {
        /// The reply limit.
        max_output: u32,
        context_window: u32,
    },
    /// Prices are only known together.
    #[error("`price_input` and `price_output` belong together: one of them is missing")]
    HalfPriced,
    /// Only Chat Completions can do without.
    #[error(
        "`tools = false` is not possible with `{0}`: only servers that speak Chat Completions do without"
    )]
    ToolsNeeded(&'static str),
}

impl OwnModel {
    /// Returns the whole model. A model that the catalogue does not know is taken to call tools, and unless configured
    /// neither sees images nor thinks; its replies have the usual limit.
    pub fn resolve(
        &self,
        provider_name: &str,
        id: &str,
    ) -> Result<(&'static ProviderFacts, Model), BadModel> {
        let facts =
            provider(provider_name).ok_or_else(|| BadModel::UnknownProvider(provider_name.to_owned()))?;
        let like = match &self.base {
            Some(base) => Some(
                facts
                    .model(base)
                    .ok_or_else(|| BadModel::UnknownBase { provider: facts.name, base: base.clone() })?,
            ),
            None => facts.model(id),
        };
        let context_window =
            self.context_window.or(like.map(|m| m.context_window)).ok_or(BadModel::NoWindow)?;
        // What nobody said is made to fit.
        let usual = like.map_or(FALLBACK_MAX_TOKENS, |m| m.max_output).min(context_window / 2);
        let max_output = self.max_output.unwrap_or(usual);
        if max_output >= context_window {
            return Err(BadModel::ReplyTooLong { max_output, context_window });
        }
        let known = like.map_or(Abilities { tools: true, images: false, thinking: false }, |m| m.abilities);
        let abilities = Abilities {
            tools: self.tools.unwrap_or(known.tools),
            images: self.images.unwrap_or(known.images),
            thinking: self.thinking.unwrap_or(known.thinking),
        };
        if !abilities.tools && !matches!(facts.api, Api::OpenAiChat(_)) {
            return Err(BadModel::ToolsNeeded(facts.name));
        }
        let prices = self.prices.over(like.and_then(|m| m.prices))?;
        let known = facts.model(id).filter(|m| m.id == id);
        let (id, aliases) = known.map_or_else(|| (leak(id), &[][..]), |m| (m.id, m.aliases));
        let origin = Origin::Config;
        let lifecycle = Lifecycle::Current;
        Ok((facts, Model { id, aliases, context_window, max_output, prices, abilities, origin, lifecycle }))
    }
}

impl OwnPrices {
    /// Returns the configured prices over the known ones. An unknown cache price is that of the prompt, which is never
    /// too low.
    fn over(&self, known: Option<Prices>) -> Result<Option<Prices>, BadModel> {
        if *self == Self::default() {
            return Ok(known);
        }
        let input = self.input.or(known.map(|p| p.input)).ok_or(BadModel::HalfPriced)?;
        let output = self.output.or(known.map(|p| p.output)).ok_or(BadModel::HalfPriced)?;
        let cached = |said: Option<u64>, known: Option<u64>| said.or(known).unwrap_or(input);
        Ok(Some(Prices {
            input,
            output,
            cache_read: cached(self.cache_read, known.map(|p| p.cache_read)),
            cache_write: cached(self.cache_write, known.map(|p| p.cache_write)),
            long: known.and_then(|p| p.long),
        }))
    }
}

/// The catalogue with a user's own models in it.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    extended: Vec<&'static ProviderFacts>,
    /// The user's own providers.
    named: Vec<&'static ProviderFacts>,
}

impl Catalog {
    /// Puts models into the catalogue, each in front of its provider's others, and behind them the providers that the
    /// user has named.
    pub fn with(own: &[(&'static ProviderFacts, Model)], named: Vec<&'static ProviderFacts>) -> Self {
        let extended = PROVIDERS.iter().filter_map(|facts| {
            let mine: Vec<Model> =
                own.iter().filter(|(of, _)| of.name == facts.name).map(|(_, model)| *model).collect();
            if mine.is_empty() {
                return None;
            }
            let others = facts.models.iter().filter(|model| mine.iter().all(|own| own.id != model.id));
            let models: Vec<Model> = mine.iter().chain(others).copied().collect();
            // The catalogue lives as long as the program, and is made once.
            let facts = ProviderFacts { models: models.leak(), ..*facts };
            Some(&*Box::leak(Box::new(facts)))
        });
        Self { extended: extended.collect(), named }
    }

    /// Returns every provider, the default one first.
    pub fn providers(&self) -> impl Iterator<Item = &'static ProviderFacts> {
        let built_in = PROVIDERS.iter().map(|facts| self.own(facts.name).unwrap_or(facts));
        built_in.chain(self.named.iter().copied())
    }

    /// Returns the providers that the user has named.
    pub fn named(&self) -> &[&'static ProviderFacts] {
        &self.named
    }

    /// Returns the provider of that name.
    pub fn provider(&self, name: &str) -> Option<&'static ProviderFacts> {
        let named = || self.named.iter().find(|facts| facts.name == name).copied();
        self.own(name).or_else(|| provider(name)).or_else(named)
    }

    fn own(&self, name: &str) -> Option<&'static ProviderFacts> {
        self.extended.iter().find(|facts| facts.name == name).copied()
    }
}

pub(super) fn leak(text: &str) -> &'static str {
    Box::leak(text.to_owned().into_boxed_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_of_ones_own() {
        let own = OwnModel { context_window: Some(32_768), images: Some(true), ..OwnModel::default() };
        let (facts, model) = own.resolve("ollama", "qwen3").unwrap();
        assert_eq!(facts.name, "ollama");
        assert_eq!(
            model,
            Model {
                id: "qwen3",
                aliases: &[],
                context_window: 32_768,
                max_output: 16_384,
                prices: None,
                abilities: Abilities { tools: true, images: true, thinking: false },
                origin: Origin::Config,
                lifecycle: Lifecycle::Current,
            }
        );
        let catalog = Catalog::with(&[(facts, model)], Vec::new());
        assert_eq!(catalog.provider("ollama").unwrap().models, [model]);
        assert_eq!(catalog.provider("openai"), provider("openai"));
        assert_eq!(catalog.providers().count(), PROVIDERS.len());
    }

    #[test]
    fn a_correction_keeps_the_rest() {
        let prices = OwnPrices { output: Some(7), ..OwnPrices::default() };
        let own = OwnModel { prices, images: Some(false), ..OwnModel::default() };
        let (facts, model) = own.resolve("anthropic", "claude-haiku-4-5").unwrap();
        let known = facts.model("claude-haiku-4-5").unwrap();
        let expected = Model {
            prices: known.prices.map(|prices| Prices { output: 7, ..prices }),
            abilities: Abilities { images: false, ..known.abilities },
            origin: Origin::Config,
            ..*known
        };
        assert_eq!(model, expected);
        let extended = Catalog::with(&[(facts, model)], Vec::new()).provider("anthropic").unwrap();
        assert_eq!(extended.models.len(), facts.models.len());
        assert_eq!(extended.model("claude-haiku-4-5-20251001"), Some(&expected));
    }

    #[test]
    fn like_another_one() {
        let own = OwnModel { base: Some("gpt-5.4".into()), max_output: Some(9), ..OwnModel::default() };
        let (facts, model) = own.resolve("openai", "gpt-9").unwrap();
        let like = facts.model("gpt-5.4").unwrap();
        assert_eq!(model, Model { id: "gpt-9", max_output: 9, origin: Origin::Config, ..*like });
    }

    #[test]
    fn caches_are_never_priced_too_low() {
        let prices = OwnPrices { input: Some(4), output: Some(9), ..OwnPrices::default() };
        let own = OwnModel { context_window: Some(9), prices, ..OwnModel::default() };
        let (_, model) = own.resolve("openrouter", "x/y").unwrap();
        assert_eq!(
            model.prices,
            Some(Prices { input: 4, output: 9, cache_read: 4, cache_write: 4, long: None })
        );
        assert_eq!(model.max_output, 4, "fits into the window");
    }

    #[test]
    fn what_cannot_be() {
        let check = |own: OwnModel, provider: &str| own.resolve(provider, "new").unwrap_err().to_string();
        let window = OwnModel { context_window: Some(100), ..OwnModel::default() };
        assert_eq!(check(window.clone(), "olama"), "there is no provider `olama`");
        assert_eq!(
            check(OwnModel::default(), "ollama"),
            "`context_window` is missing: the catalogue does not know this model (or name one that is like it: `base`)"
        );
        assert_eq!(
            check(OwnModel { base: Some("gpt-9".into()), ..window.clone() }, "openai"),
            "`base` names a model that `openai` does not have: `gpt-9`"
        );
        assert_eq!(
            check(OwnModel { max_output: Some(100), ..window.clone() }, "openai"),
            "`max_output` (100) must be less than `context_window` (100)"
        );
        let prices = OwnPrices { cache_read: Some(1), ..OwnPrices::default() };
        assert_eq!(
            check(OwnModel { prices, ..window.clone() }, "openai"),
            "`price_input` and `price_output` belong together: one of them is missing"
        );
        assert_eq!(
            check(OwnModel { tools: Some(false), ..window }, "gemini"),
            "`tools = false` is not possible with `gemini`: only servers that speak Chat Completions do without"
        );
    }
}
