//! Secrets that found their way into output: those the program knows, and strings that are nothing else.
//!
//! Known ones are the business of the program's own [`Redactor`], so that this crate never holds one. [`Mask`] works on the values of an answer. It judges a string as a whole: a hash, a path or a sentence is no secret
//! because it is long. Names of fields are judged in `redact.rs`, for logs.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::time;

/// What a secret is replaced by where its kind is unknown.
pub const REDACTED: &str = "[REDACTED]";

/// How keys of well-known services begin.
const KEY_PREFIXES: &[&str] = &[
    "sk-",
    "sk_",
    "pk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "AKIA",
    "ASIA",
    "AIza",
    "hf_",
    "gsk_",
    "npm_",
];

/// Returns a text without the secrets that the program knows, or `None` where it has none of them.
pub type Redactor = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

/// What is hidden in the output of a run.
#[derive(Clone, Default)]
pub struct Mask {
    /// Takes out what the program itself knows, `--unmask` or not.
    pub redactor: Option<Redactor>,
    /// Also hide what looks like a secret.
    pub entropy: bool,
}

impl Mask {
    /// Hides what there is to hide, in every string of the value. Below `_trusted: false` only known secrets are
    /// looked for: that is text of others, to be shown as it is.
    pub fn value(&self, value: &mut Value) {
        self.inner(value, self.entropy);
    }

    fn inner(&self, value: &mut Value, entropy: bool) {
        match value {
            Value::String(text) => {
                if let Some(masked) = self.text(text, entropy) {
                    *text = masked;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.inner(item, entropy)),
            Value::Object(map) => {
                let entropy = entropy && map.get("_trusted") != Some(&Value::Bool(false));
                map.values_mut().for_each(|inner| self.inner(inner, entropy));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns the text with known secrets hidden, if there are any.
    pub fn line(&self, text: &str) -> Option<String> {
        self.text(text, false)
    }

    fn text(&self, text: &str, entropy: bool) -> Option<String> {
        let redacted = self.redactor.as_ref().and_then(|redactor| redactor(text));
        redacted.or_else(|| if entropy { looks_secret(text) } else { None })
    }
}

/// Returns what stands for the value if it is a token, a key or a block of base64, and nothing else.
pub fn looks_secret(value: &str) -> Option<String> {
    jwt(value).or_else(|| key(value)).or_else(|| base64(value))
}

/// Returns whether a word is a token or a key, and nothing else.
pub fn looks_like_key(word: &str) -> bool {
    jwt(word).is_some() || key(word).is_some()
}

fn jwt(value: &str) -> Option<String> {
    let mut parts = value.split('.');
    let (header, claims, signature) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || signature.is_empty() {
        return None;
    }
    let object =
        |part: &str| -> Option<Value> { serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).ok()?).ok() };
    object(header)?.get("alg")?;
    let claims = object(claims)?;
    let sub = claims.get("sub").and_then(Value::as_str).unwrap_or("unknown");
    let exp = claims.get("exp").and_then(Value::as_i64).map_or("none".into(), time::rfc3339);
    Some(format!("[JWT: sub={sub}, exp={exp}]"))
}

fn key(value: &str) -> Option<String> {
    let fits = value.len() >= 20 && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b));
    let known = KEY_PREFIXES.iter().any(|prefix| value.starts_with(prefix));
    (fits && known).then(|| format!("[KEY: {}...]", &value[..8]))
}

fn base64(value: &str) -> Option<String> {
    let body = value.trim_end_matches('=');
    let fits = body.len() >= 40 && body.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/".contains(&b));
    // A path, a digest, a number or a very long word has the same letters.
    let mixed = body.bytes().any(|b| b.is_ascii_uppercase())
        && body.bytes().any(|b| b.is_ascii_lowercase())
        && body.bytes().any(|b| b.is_ascii_digit());
    let hex = body.bytes().all(|b| b.is_ascii_hexdigit());
    let path = body.starts_with('/') || body.matches('/').count() > body.len() / 8;
    (fits && mixed && !hex && !path).then(|| format!("[BASE64: {} bytes]", body.len() * 3 / 4))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Has the form of a key, and is none.
    fn without_hunter(text: &str) -> Option<String> {
        text.contains("hunter2-hunter2").then(|| text.replace("hunter2-hunter2", REDACTED))
    }

    const KEY: &str = "ghp_0123456789abcdefghij";

    #[test]
    fn what_is_nothing_but_a_secret() {
        let token = format!(
            "{}.{}.c2ln",
            URL_SAFE_NO_PAD.encode(r#"{"alg":"HS256"}"#),
            URL_SAFE_NO_PAD.encode(r#"{"sub":"me","exp":951827696}"#)
        );
        let shown = |text: &str| looks_secret(text).unwrap_or_else(|| text.to_owned());
        assert_eq!(shown(&token), "[JWT: sub=me, exp=2000-02-29T12:34:56Z]");
        assert_eq!(shown(KEY), "[KEY: ghp_0123...]");
        assert_eq!(shown("TWFueSBoYW5kcyBtYWtlIGxpZ2h0IHdvcmsuIDEyMzQ1Njc4OTA="), "[BASE64: 38 bytes]");
        for harmless in [
            "1.2.3",
            "www.example.org",
            "da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "/usr/share/Very/Long/Path/With/Many/Parts/And/No/Spaces/1",
            "Many hands make light work, and ghp_0123456789abcdefghij is in a sentence",
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
        ] {
            assert_eq!(shown(harmless), harmless);
        }
    }

    #[test]
    fn known_secrets_are_hidden_everywhere() {
        let mask = Mask { redactor: Some(Arc::new(without_hunter)), entropy: false };
        let mut value = json!({"_trusted": false, "a": ["x hunter2-hunter2 y short"]});
        mask.value(&mut value);
        assert_eq!(value, json!({"_trusted": false, "a": ["x [REDACTED] y short"]}));
    }

    #[test]
    fn what_others_wrote_is_shown_as_it_is() {
        let mut value = json!({"a": KEY, "b": {"_trusted": false, "c": KEY}});
        Mask { redactor: None, entropy: true }.value(&mut value);
        assert_eq!(value, json!({"a": "[KEY: ghp_0123...]", "b": {"_trusted": false, "c": KEY}}));
    }
}
