//! Which images each API takes, as one table, and whether a model sees one.
//!
//! Anthropic refuses an image whose base64 is longer than 5 MiB, which is 3.75 MiB of bytes, or that has a side of more
//! than 8000 pixels. Gemini takes 7 MB inside a request and no GIF. The others document only what a whole request may
//! have, so that theirs is a bound of our own. Where a server decodes images itself, its quirks say which.

use zori_core::image::{Image, ImageFormat, ImageSupport, size_in_words};

use super::{Api, ProviderFacts};

/// What one image may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageLimits {
    /// The kinds.
    pub formats: &'static [ImageFormat],
    /// How many bytes.
    pub max_bytes: u64,
    /// How many pixels on either side.
    pub max_side: u32,
}

/// What all images of one prompt may have together: as base64 it still fits into the request every API takes.
pub const MAX_PROMPT_BYTES: u64 = 14_000_000;

impl Api {
    /// Returns which images it takes.
    pub fn image_limits(self) -> ImageLimits {
        let limits = |formats, max_bytes, max_side| ImageLimits { formats, max_bytes, max_side };
        match self {
            Self::Anthropic => limits(ImageFormat::WITH_DOCUMENTS, 3_932_160, 8_000),
            Self::OpenAiChat(quirks) => limits(quirks.images, MAX_PROMPT_BYTES, u32::MAX),
            Self::OpenAiResponses | Self::AgentZero => {
                limits(ImageFormat::WITH_DOCUMENTS, MAX_PROMPT_BYTES, u32::MAX)
            }
            Self::Gemini => {
                const TAKEN: &[ImageFormat] =
                    &[ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Webp, ImageFormat::Pdf];
                limits(TAKEN, 7_000_000, u32::MAX)
            }
        }
    }
}

impl ProviderFacts {
    /// Returns whether a model sees an image: it must be able to, and the image within what its API takes.
    pub fn image_support(&self, model: &str, image: &Image) -> ImageSupport {
        let known = self.model(model).map(|model| model.abilities.images);
        if known == Some(false) {
            return ImageSupport::Unsupported(format!("`{model}` cannot see images"));
        }
        let ImageLimits { formats, max_bytes, max_side } = self.api.image_limits();
        let name = self.display;
        if !formats.contains(&image.format()) {
            let (format, noun) = (image.format().as_str(), image.format().noun());
            return ImageSupport::Unsupported(format!("{name} takes no {format} {noun}s"));
        }
        // The bound of a document is that of the request.
        let max_bytes = if image.format().is_document() { MAX_PROMPT_BYTES } else { max_bytes };
        if image.bytes().len() as u64 > max_bytes {
            return ImageSupport::Unsupported(format!(
                "{name} takes {}s of up to {}",
                image.format().noun(),
                size_in_words(max_bytes)
            ));
        }
        if image.width().max(image.height()) > max_side {
            return ImageSupport::Unsupported(format!(
                "{name} takes images of up to {max_side} pixels on either side"
            ));
        }
        if known.is_some() { ImageSupport::Supported } else { ImageSupport::Unknown }
    }

    /// Returns the names of a few models that see images, the default one first.
    pub fn sighted(&self) -> Vec<&'static str> {
        let default = self.model(self.default_model);
        let others = self.models.iter().filter(|model| Some(*model) != default);
        let all = default.into_iter().chain(others).filter(|model| model.abilities.images);
        all.map(|model| model.id).take(3).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalog::{Abilities, Model, PROVIDERS, provider};

    fn png(width: u32, bytes: usize) -> Image {
        let mut png = include_bytes!("../../../../fixtures/images/box.png").to_vec();
        png[16..20].copy_from_slice(&width.to_be_bytes());
        png.resize(bytes.max(png.len()), 0);
        Image::parse(png).unwrap()
    }

    #[test]
    fn who_sees_what() {
        let sees = |name: &str, model: &str, image: &Image| match provider(name)
            .unwrap()
            .image_support(model, image)
        {
            ImageSupport::Supported => "clear".to_owned(),
            ImageSupport::Unknown => "unknown".to_owned(),
            ImageSupport::Unsupported(why) => why,
        };
        let small = png(24, 0);
        let gif = Image::parse(&include_bytes!("../../../../fixtures/images/box.gif")[..]).unwrap();
        let webp = Image::parse(&include_bytes!("../../../../fixtures/images/box.webp")[..]).unwrap();
        let pdf = Image::parse(&b"%PDF-1.4\n%%EOF\n"[..]).unwrap();
        for (provider, model, image, expected) in [
            ("anthropic", "claude-haiku-4-5", &pdf, "clear"),
            ("openai", "gpt-4.1", &pdf, "clear"),
            ("gemini", "gemini-2.5-pro", &pdf, "clear"),
            ("ollama", "llava", &pdf, "Ollama takes no pdf documents"),
            ("anthropic", "claude-haiku-4-5", &small, "clear"),
            ("anthropic", "claude-from-the-future", &small, "unknown"),
            ("anthropic", "claude-haiku-4-5", &png(8_000, 3_932_160), "clear"),
            (
                "anthropic",
                "claude-haiku-4-5",
                &png(8_001, 0),
                "Anthropic takes images of up to 8000 pixels on either side",
            ),
            ("anthropic", "claude-haiku-4-5", &png(24, 3_932_161), "Anthropic takes images of up to 3.9 MB"),
            ("openai", "gpt-4.1", &gif, "clear"),
            ("gemini", "gemini-2.5-pro", &gif, "Gemini takes no gif images"),
            ("gemini", "gemini-2.5-pro", &png(24, 7_000_001), "Gemini takes images of up to 7.0 MB"),
            ("ollama", "llava", &small, "unknown"),
            ("ollama", "llava", &gif, "Ollama takes no gif images"),
            ("llamacpp", "auto", &webp, "llama.cpp takes no webp images"),
            ("compat", "auto", &webp, "unknown"),
        ] {
            assert_eq!(sees(provider, model, image), expected, "{provider}:{model}");
        }
    }

    #[test]
    fn a_model_that_is_known_not_to_see() {
        let facts = provider("openai").unwrap();
        let abilities = Abilities { images: false, ..facts.models[0].abilities };
        let blind = Model { id: "blind", abilities, ..facts.models[0] };
        let models = vec![blind, facts.models[1]].leak();
        let facts = ProviderFacts { models, default_model: "blind", ..*facts };
        assert_eq!(
            facts.image_support("blind", &png(24, 0)),
            ImageSupport::Unsupported("`blind` cannot see images".to_owned())
        );
        assert_eq!(facts.sighted(), [models[1].id]);
    }

    #[test]
    fn every_api_takes_what_phones_and_screens_make() {
        for facts in PROVIDERS {
            let ImageLimits { formats, max_bytes, .. } = facts.api.image_limits();
            assert!(
                formats.contains(&ImageFormat::Png) && formats.contains(&ImageFormat::Jpeg),
                "{}",
                facts.name
            );
            assert!((3_000_000..=MAX_PROMPT_BYTES).contains(&max_bytes), "{}", facts.name);
        }
    }
}
