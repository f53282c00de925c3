//! The catalogue with what a server has said of its own models: windows, reply limits, and which of them end. What the user
//! configured is stronger than the server's word, the server's stronger than the tables here.

use super::own::leak;
use super::{Abilities, FALLBACK_MAX_TOKENS, Lifecycle, Model, Origin, ProviderFacts, SERVED};
use crate::models::{ListedModel, Service};

impl ProviderFacts {
    /// Returns the provider with what its server has said. A model that only the server knows is added if it said how large the
    /// window is. The result lives as long as the program, and is made once.
    pub fn with_listed(&'static self, listed: &[ListedModel]) -> &'static Self {
        let mut models = self.models.to_vec();
        for said in listed {
            let exact = models.iter().position(|known| is_called(known, &said.id));
            // A dated name stands for the model only where the server has no other name for it.
            let dated = || {
                let base = self.model(&said.id)?.id;
                let unlisted = !listed.iter().any(|other| other.id == base);
                models.iter().position(|known| known.id == base).filter(|_| unlisted)
            };
            match exact.or_else(dated) {
                Some(at) if models[at].origin == Origin::Config => {}
                Some(at) => models[at] = self.corrected(models[at], said, listed),
                None if self.model(&said.id).is_some() => {}
                None => models.extend(self.added(said, listed)),
            }
        }
        if models == self.models {
            return self;
        }
        Box::leak(Box::new(Self { models: models.leak(), ..*self }))
    }

    fn corrected(&self, known: Model, said: &ListedModel, listed: &[ListedModel]) -> Model {
        let context_window = said.context_window.unwrap_or(known.context_window);
        let wanted = said.max_output.filter(|most| *most < context_window).unwrap_or(known.max_output);
        let model = Model {
            context_window,
            max_output: if wanted < context_window { wanted } else { context_window / 2 },
            prices: said.prices.map_or(known.prices, |prices| {
                let long = known.prices.and_then(|known| known.long);
                Some(zori_core::cost::Prices { long, ..prices })
            }),
            abilities: Abilities {
                images: said.images.unwrap_or(known.abilities.images),
                thinking: said.thinking.unwrap_or(known.abilities.thinking),
                ..known.abilities
            },
            lifecycle: self.lifecycle(known.lifecycle, known.id, said, listed),
            ..known
        };
        if model == known { known } else { Model { origin: Origin::Listed, ..model } }
    }

    fn added(&self, said: &ListedModel, listed: &[ListedModel]) -> Option<Model> {
        let context_window = said.context_window?;
        let most = said.max_output.unwrap_or(FALLBACK_MAX_TOKENS);
        Some(Model {
            id: leak(&said.id),
            aliases: &[],
            context_window,
            max_output: if most < context_window { most } else { context_window / 2 },
            prices: said.prices,
            abilities: Abilities {
                // Who takes no tools is asked in prose, which only one API has.
                tools: true,
                images: said.images.unwrap_or(false),
                thinking: said.thinking.unwrap_or(false),
            },
            origin: Origin::Listed,
            lifecycle: self.lifecycle(Lifecycle::Current, &said.id, said, listed),
        })
    }

    fn lifecycle(&self, known: Lifecycle, id: &str, said: &ListedModel, listed: &[ListedModel]) -> Lifecycle {
        let successor = || {
            let known = match known {
                Lifecycle::Ending { successor, .. } | Lifecycle::Retired { successor } => Some(successor),
                Lifecycle::Current => None,
            };
            let named = said.successor.as_deref().map(leak);
            let family = || {
                let words: Vec<_> = id.split(['-', '/']).skip(1).collect();
                let newest = words.into_iter().rev().find_map(|word| self.newest_of(word))?;
                let current = self.model(newest)?.lifecycle == Lifecycle::Current;
                (current && newest != id).then_some(newest)
            };
            let usual = Some(self.default_model).filter(|model| *model != SERVED && *model != id);
            let other = || {
                let current = |model: &&ListedModel| {
                    model.id != said.id && matches!(model.service, Service::Current | Service::Unsaid)
                };
                listed.iter().find(current).map(|model| leak(&model.id))
            };
            named.or(known).or_else(family).or(usual).or_else(other)
        };
        match &said.service {
            Service::Unsaid => known,
            Service::Current => Lifecycle::Current,
            Service::Until(day) => match successor() {
                Some(successor) => Lifecycle::Ending { on: leak(day), successor },
                None => known,
            },
            Service::Ended => successor().map_or(known, |successor| Lifecycle::Retired { successor }),
        }
    }
}

fn is_called(model: &Model, id: &str) -> bool {
    model.id == id || model.aliases.contains(&id)
}

#[cfg(test)]
mod tests {
    use super::super::{OwnModel, PROVIDERS, provider};
    use super::*;

    fn said(id: &str) -> ListedModel {
        ListedModel::named(id)
    }

    #[test]
    fn nothing_said_changes_nothing() {
        for facts in PROVIDERS {
            assert!(std::ptr::eq(facts.with_listed(&[]), facts));
            let names: Vec<_> = facts.models.iter().map(|model| said(model.id)).collect();
            assert_eq!(facts.with_listed(&names), facts, "names alone say nothing");
        }
    }

    #[test]
    fn the_server_knows_better() {
        let facts = provider("anthropic").unwrap();
        let listed = [
            ListedModel {
                context_window: Some(2_000_000),
                service: Service::Current,
                ..said("claude-sonnet-5-5")
            },
            ListedModel { service: Service::Until("2027-02-01".into()), ..said("claude-opus-4-5-20251101") },
            ListedModel { service: Service::Ended, ..said("claude-sonnet-4-5") },
            ListedModel { context_window: Some(9), ..said("claude-sonnet-4-5-20250929") },
            ListedModel { context_window: Some(50_000), images: Some(true), ..said("claude-next") },
            said("claude-unknown"),
        ];
        let known = |id: &str| *facts.model(id).unwrap();
        let told = facts.with_listed(&listed);
        let origin = Origin::Listed;
        assert_eq!(
            *told.model("claude-sonnet-5-5").unwrap(),
            Model { context_window: 2_000_000, origin, ..known("claude-sonnet-5-5") }
        );
        let lifecycle = Lifecycle::Ending { on: "2027-02-01", successor: "claude-opus-5-5" };
        assert_eq!(
            *told.model("claude-opus-4-5").unwrap(),
            Model { lifecycle, origin, ..known("claude-opus-4-5") }
        );
        let lifecycle = Lifecycle::Retired { successor: "claude-sonnet-5-5" };
        assert_eq!(
            *told.model("claude-sonnet-4-5").unwrap(),
            Model { lifecycle, origin, ..known("claude-sonnet-4-5") },
            "its dated name is not asked"
        );
        assert_eq!(
            *told.model("claude-next").unwrap(),
            Model {
                id: "claude-next",
                aliases: &[],
                context_window: 50_000,
                max_output: 32_000,
                prices: None,
                abilities: Abilities { tools: true, images: true, thinking: false },
                origin,
                lifecycle: Lifecycle::Current,
            }
        );
        assert_eq!(told.model("claude-unknown"), None, "without a window it stays what it was");
        assert_eq!(told.models.len(), facts.models.len() + 1);
    }

    #[test]
    fn the_user_knows_best() {
        let own = OwnModel { context_window: Some(70_000), ..OwnModel::default() };
        let (facts, model) = own.resolve("anthropic", "claude-haiku-4-5").unwrap();
        let catalog = super::super::Catalog::with(&[(facts, model)], Vec::new());
        let facts = catalog.provider("anthropic").unwrap();
        let listed = [ListedModel { context_window: Some(5), ..said("claude-haiku-4-5") }];
        assert_eq!(facts.with_listed(&listed), facts);
    }

    #[test]
    fn limits_that_fit() {
        let facts = provider("gemini").unwrap();
        let whole = ListedModel {
            context_window: Some(1_000_000),
            max_output: Some(1_000_000),
            ..said("gemini-4-argon")
        };
        let small =
            ListedModel { context_window: Some(4_096), max_output: Some(8_192), ..said("gemini-nano") };
        let told = facts.with_listed(&[whole, small]);
        let limits = |id: &str| told.model(id).map(|model| (model.context_window, model.max_output));
        assert_eq!(limits("gemini-4-argon"), Some((1_000_000, 65_536)));
        assert_eq!(limits("gemini-nano"), Some((4_096, 2_048)));
    }
}
