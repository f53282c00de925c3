//! What servers say of the models they list. Every field is optional, and one that cannot be read is as good as missing: servers that
//! speak the same API have fields of their own, and none of them may cost a user the list.

use serde_json::Value;
use zori_core::cost::Prices;
use zori_core::failure::ProviderFailure;

use crate::answer::{parse, utf8};

/// A model of a server's list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedModel {
    pub id: String,
    /// How many tokens prompt and reply may have together.
    pub context_window: Option<u32>,
    /// How many tokens a reply may have.
    pub max_output: Option<u32>,
    pub tools: Option<bool>,
    pub images: Option<bool>,
    pub thinking: Option<bool>,
    pub prices: Option<Prices>,
    pub service: Service,
    /// The model that takes its place.
    pub successor: Option<String>,
}

/// How long a model is served, as far as the list says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Service {
    /// The list does not say.
    Unsaid,
    /// No end is announced.
    Current,
    /// The end is announced for this day: `2026-12-11`.
    Until(String),
    /// It is in the list for the record.
    Ended,
}

impl ListedModel {
    /// Returns a model of which only the name is known.
    pub fn named(id: &str) -> Self {
        Self {
            id: id.to_owned(),
            context_window: None,
            max_output: None,
            tools: None,
            images: None,
            thinking: None,
            prices: None,
            service: Service::Unsaid,
            successor: None,
        }
    }
}

/// Returns whether the model is made for chat, as far as its name tells.
pub(super) fn converses(id: &str) -> bool {
    let id = id.to_ascii_lowercase();
    let other = [
        "embed",
        "rerank",
        "whisper",
        "dall-e",
        "tts",
        "transcribe",
        "moderation",
        "imagen",
        "-image",
        "veo-",
        "lyria",
        "sora",
        "realtime",
        "-live-",
        "babbage",
        "davinci",
        "aqa",
        "nano-banana",
        "robotics",
    ];
    !other.iter().any(|word| id.contains(word))
}

/// Reads a page of Anthropic's list; also returns the id behind which the next one begins.
pub(super) fn anthropic(body: &[u8]) -> Result<(Vec<ListedModel>, Option<String>), ProviderFailure> {
    let page: Value = parse(utf8(body)?)?;
    let models = entries(&page["data"], |entry| {
        let able = |what: &str| entry["capabilities"][what]["supported"].as_bool();
        Some(ListedModel {
            context_window: tokens(&entry["max_input_tokens"]),
            max_output: tokens(&entry["max_tokens"]),
            images: able("image_input"),
            thinking: able("thinking"),
            service: match (entry["lifecycle"].as_str(), day(&entry["retires_at"])) {
                (Some("retired"), _) => Service::Ended,
                (Some("deprecated"), Some(day)) => Service::Until(day),
                (Some("active"), _) => Service::Current,
                _ => Service::Unsaid,
            },
            ..ListedModel::named(name(&entry["id"])?)
        })
    });
    let next = page["last_id"].as_str().filter(|id| page["has_more"] == true && is_name(id));
    Ok((models, next.map(str::to_owned)))
}

/// Reads a page of Gemini's list; also returns the token of the next one.
pub(super) fn gemini(body: &[u8]) -> Result<(Vec<ListedModel>, Option<String>), ProviderFailure> {
    let page: Value = parse(utf8(body)?)?;
    let models = entries(&page["models"], |entry| {
        let id = name(&entry["name"])?;
        // What a model is for is said where the vendor says it; Vertex does not.
        if let Some(methods) = entry["supportedGenerationMethods"].as_array()
            && !methods.iter().any(|method| method == "generateContent")
        {
            return None;
        }
        Some(ListedModel {
            context_window: tokens(&entry["inputTokenLimit"]),
            max_output: tokens(&entry["outputTokenLimit"]),
            thinking: entry["thinking"].as_bool(),
            ..ListedModel::named(id.rsplit('/').next().unwrap_or(id))
        })
    });
    let next = page["nextPageToken"].as_str().filter(|token| !token.is_empty() && is_name(token));
    Ok((models, next.map(str::to_owned)))
}

/// Reads the list of a server that speaks one of OpenAI's APIs, with the fields that servers have added to it.
pub(super) fn compatible(body: &[u8]) -> Result<Vec<ListedModel>, ProviderFailure> {
    let list: Value = parse(utf8(body)?)?;
    // Together has no object around it; Ollama has `null` when it has nothing.
    let data = if list.is_array() { &list } else { &list["data"] };
    Ok(entries(data, |entry| {
        let limits = &entry["capabilities"]["limits"];
        let windows = [
            // OpenRouter and Together; Groq; Mistral and LM Studio; vLLM; llama.cpp; Copilot.
            &entry["context_length"],
            &entry["context_window"],
            &entry["loaded_context_length"],
            &entry["max_context_length"],
            &entry["max_model_len"],
            &entry["meta"]["n_ctx"],
            &limits["max_context_window_tokens"],
        ];
        let replies = [
            &entry["top_provider"]["max_completion_tokens"],
            &entry["max_completion_tokens"],
            &limits["max_output_tokens"],
        ];
        let holds = |list: &Value, word: &str| Some(list.as_array()?.iter().any(|entry| entry == word));
        let parameters = &entry["supported_parameters"];
        Some(ListedModel {
            context_window: windows.into_iter().find_map(tokens),
            max_output: replies.into_iter().find_map(tokens),
            tools: holds(parameters, "tools").or(entry["capabilities"]["function_calling"].as_bool()),
            images: holds(&entry["architecture"]["input_modalities"], "image")
                .or(entry["capabilities"]["vision"].as_bool())
                .or(entry["capabilities"]["supports"]["vision"].as_bool()),
            thinking: holds(parameters, "reasoning"),
            prices: prices(&entry["pricing"]),
            service: service(entry),
            successor: name(&entry["deprecation_replacement_model"]).map(str::to_owned),
            ..ListedModel::named(name(&entry["id"])?)
        })
    }))
}

/// Returns how long a model is served: OpenAI's `shutdown_date`, Mistral's `deprecation`, OpenRouter's `expiration_date`, Groq's
/// `active`.
fn service(entry: &Value) -> Service {
    let dates: Vec<&Value> =
        ["shutdown_date", "deprecation", "expiration_date"].iter().filter_map(|key| entry.get(key)).collect();
    match dates.iter().find_map(|date| day(date)) {
        Some(day) => Service::Until(day),
        None if entry["active"] == false => Service::Ended,
        None if dates.is_empty() && entry["active"] != true => Service::Unsaid,
        None => Service::Current,
    }
}

fn entries(list: &Value, read: impl Fn(&Value) -> Option<ListedModel>) -> Vec<ListedModel> {
    list.as_array().map_or_else(Vec::new, |entries| entries.iter().filter_map(read).collect())
}

/// Returns a name that can be shown and sent: visible, and not endless.
fn name(value: &Value) -> Option<&str> {
    value.as_str().filter(|name| is_name(name))
}

fn is_name(text: &str) -> bool {
    !text.trim().is_empty()
        && text.len() <= 256
        && !text.contains(|c: char| c.is_control() || c.is_whitespace())
}

fn tokens(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|count| u32::try_from(count).ok()).filter(|count| *count > 0)
}

/// Returns the day of a date or of a time: `2026-12-11`.
fn day(value: &Value) -> Option<String> {
    let day = value.as_str()?.get(..10)?;
    let shape = day.bytes().enumerate().all(|(at, byte)| match at {
        4 | 7 => byte == b'-',
        _ => byte.is_ascii_digit(),
    });
    shape.then(|| day.to_owned())
}

/// Reads OpenRouter's prices: dollars for one token, as text.
fn prices(pricing: &Value) -> Option<Prices> {
    let price = |key: &str| {
        let dollars: f64 = pricing[key].as_str()?.parse().ok()?;
        // Above a dollar for a token it is no price; a router has a negative one.
        (0.0..1.0).contains(&dollars).then_some((dollars * 1e12).round() as u64)
    };
    let (input, output) = (price("prompt")?, price("completion")?);
    Some(Prices {
        input,
        output,
        // An unknown cache price is that of the prompt, which is never too low.
        cache_read: price("input_cache_read").unwrap_or(input),
        cache_write: price("input_cache_write").unwrap_or(input),
        long: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(body: &str) -> Result<Vec<String>, String> {
        let models = compatible(body.as_bytes()).map_err(|failure| failure.message)?;
        Ok(models.into_iter().map(|model| model.id).collect())
    }

    #[test]
    fn lists() {
        assert_eq!(
            ids(r#"{"object":"list","data":[{"id":"a"},{"id":" "},{"id":"b","x":1},{"id":7},3]}"#),
            Ok(vec!["a".into(), "b".into()])
        );
        assert_eq!(ids(r#"[{"id":"a"}]"#), Ok(vec!["a".into()]), "Together's");
        assert_eq!(ids(r#"{"object":"list","data":null}"#), Ok(vec![]), "Ollama's, with nothing loaded");
        assert_eq!(
            ids("<html>"),
            Err("the provider's answer cannot be read: expected value at line 1 column 1".into())
        );
    }

    #[test]
    fn what_is_no_chat() {
        for id in ["text-embedding-3", "gemini-3.8-flash-tts", "bge-ReRanker", "gpt-image-1", "imagen-4"] {
            assert!(!converses(id), "{id}");
        }
        for id in ["gpt-6.1-terra", "anthropic/claude-sonnet-5.5", "gemini-4-argon", "qwen3:8b"] {
            assert!(converses(id), "{id}");
        }
    }

    #[test]
    fn anthropics_list() {
        let body = r#"{"data":[
            {"type":"model","id":"claude-sonnet-5-5","display_name":"x","created_at":"2026-09-28T00:00:00Z",
             "lifecycle":"active","max_input_tokens":1000000,"max_tokens":128000,"retires_at":null,
             "capabilities":{"image_input":{"supported":true},"thinking":{"supported":true}}},
            {"type":"model","id":"claude-sonnet-4-5-20250929","lifecycle":"deprecated","retires_at":"2026-11-30T00:00:00Z"},
            {"type":"model","id":"claude-3-opus-20240229","lifecycle":"retired","max_tokens":-1}],
            "has_more":false,"first_id":"a","last_id":"claude-3-opus-20240229"}"#;
        let expected = vec![
            ListedModel {
                context_window: Some(1_000_000),
                max_output: Some(128_000),
                images: Some(true),
                thinking: Some(true),
                service: Service::Current,
                ..ListedModel::named("claude-sonnet-5-5")
            },
            ListedModel {
                service: Service::Until("2026-11-30".into()),
                ..ListedModel::named("claude-sonnet-4-5-20250929")
            },
            ListedModel { service: Service::Ended, ..ListedModel::named("claude-3-opus-20240229") },
        ];
        assert_eq!(anthropic(body.as_bytes()).unwrap(), (expected, None));
    }

    #[test]
    fn geminis_list() {
        let body = r#"{"models":[
            {"name":"models/gemini-4-argon","inputTokenLimit":1048576,"outputTokenLimit":65536,"thinking":true,
             "supportedGenerationMethods":["generateContent","countTokens"]},
            {"name":"models/embedding-001","supportedGenerationMethods":["embedContent"]}],"nextPageToken":""}"#;
        let expected = vec![ListedModel {
            context_window: Some(1_048_576),
            max_output: Some(65_536),
            thinking: Some(true),
            ..ListedModel::named("gemini-4-argon")
        }];
        assert_eq!(gemini(body.as_bytes()).unwrap(), (expected, None));
    }

    #[test]
    fn fields_of_compatible_servers() {
        let one = |entry: &str| compatible(format!(r#"{{"data":[{entry}]}}"#).as_bytes()).unwrap().remove(0);
        let named = ListedModel::named;
        assert_eq!(
            one(r#"{"id":"gpt-5","shutdown_date":"2026-12-11"}"#),
            ListedModel { service: Service::Until("2026-12-11".into()), ..named("gpt-5") }
        );
        assert_eq!(
            one(r#"{"id":"gpt-6.1-sol","shutdown_date":null}"#),
            ListedModel { service: Service::Current, ..named("gpt-6.1-sol") }
        );
        assert_eq!(
            one(r#"{"id":"x/y","context_length":200000,"top_provider":{"max_completion_tokens":64000},
                "architecture":{"input_modalities":["text","image"]},"supported_parameters":["tools"],
                "pricing":{"prompt":"0.000002","completion":"0.00001","input_cache_read":"0.0000001"},"expiration_date":null}"#),
            ListedModel {
                context_window: Some(200_000),
                max_output: Some(64_000),
                tools: Some(true),
                images: Some(true),
                thinking: Some(false),
                prices: Some(Prices {
                    input: 2_000_000,
                    output: 10_000_000,
                    cache_read: 100_000,
                    cache_write: 2_000_000,
                    long: None
                }),
                service: Service::Current,
                ..named("x/y")
            }
        );
        assert_eq!(
            one(r#"{"id":"openrouter/auto","pricing":{"prompt":"-1","completion":"-1"}}"#),
            named("openrouter/auto")
        );
        assert_eq!(
            one(r#"{"id":"g","active":true,"context_window":131072,"max_completion_tokens":32768}"#),
            ListedModel {
                context_window: Some(131_072),
                max_output: Some(32_768),
                service: Service::Current,
                ..named("g")
            }
        );
        assert_eq!(
            one(r#"{"id":"m","max_context_length":32768,"deprecation":"2026-12-01T12:00:00Z",
                "deprecation_replacement_model":"n","capabilities":{"function_calling":true,"vision":false}}"#),
            ListedModel {
                context_window: Some(32_768),
                tools: Some(true),
                images: Some(false),
                service: Service::Until("2026-12-01".into()),
                successor: Some("n".into()),
                ..named("m")
            }
        );
        assert_eq!(
            one(r#"{"id":"v","max_model_len":4096,"deprecation":"soon"}"#),
            ListedModel { context_window: Some(4_096), service: Service::Current, ..named("v") }
        );
        assert_eq!(
            one(r#"{"id":"l","meta":{"n_ctx":8192},"context_length":"large"}"#),
            ListedModel { context_window: Some(8_192), ..named("l") }
        );
    }
}
