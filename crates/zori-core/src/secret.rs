//! Secrets: a type that does not print and is overwritten on drop, and the one way to remove secrets from text (SCR-2,
//! SCR-4).

use std::borrow::Cow;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use zeroize::Zeroizing;

/// Shorter texts are not treated as secrets: they are placeholders for local servers, and removing them would garble
/// every text that contains the word.
const MIN_LEN: usize = 8;
/// What a user has put into the vault is a secret by that alone, unless a word would do for it (VLT-5).
const MIN_VAULT_LEN: usize = 6;
/// What stands where a secret was (DECISIONS 31).
pub const REDACTED: &str = "[REDACTED]";

/// A key, a token, a password. It has neither `Debug` nor `Display`, and its memory is overwritten when it is dropped.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Returns the text, for the one place that sends or stores it.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the text without this secret, in whatever form it stands there.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        replace(&forms(self, MIN_LEN), text)
    }

    /// Returns whether it is too short to be taken out of texts, although it comes from the vault.
    pub fn is_too_short(&self) -> bool {
        self.0.len() < MIN_VAULT_LEN
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Self(Zeroizing::new(text))
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

/// The secrets that a process knows. Clones share the list, so that one that is learned later is known everywhere.
#[derive(Clone, Default)]
pub struct Secrets(Arc<Mutex<Vec<Zeroizing<String>>>>);

impl Secrets {
    /// Adds a secret.
    pub fn add(&self, secret: &Secret) {
        self.add_from(secret, MIN_LEN);
    }

    /// Adds a value of the vault, which may be shorter than what is taken for a secret elsewhere.
    pub fn add_vault_value(&self, secret: &Secret) {
        self.add_from(secret, MIN_VAULT_LEN);
    }

    fn add_from(&self, secret: &Secret, min_len: usize) {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for form in forms(secret, min_len) {
            if !known.contains(&form) {
                known.push(form);
            }
        }
    }

    /// Returns every form of all that are known now, the longest first: for what is searched piece by piece.
    pub fn forms(&self) -> Vec<Zeroizing<String>> {
        let mut forms = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        forms.sort_by(|a, b| b.len().cmp(&a.len()).then(a.cmp(b)));
        forms
    }

    /// Returns the text without any of them, in whatever form they stand there.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        replace(&self.0.lock().unwrap_or_else(PoisonError::into_inner), text)
    }
}

/// The secrets of texts, for those who have no more than that.
impl<'a> FromIterator<&'a str> for Secrets {
    fn from_iter<I: IntoIterator<Item = &'a str>>(texts: I) -> Self {
        let secrets = Self::default();
        texts.into_iter().for_each(|text| secrets.add(&text.trim().into()));
        secrets
    }
}

/// Encodes as base64 without padding, in the alphabet for URLs.
pub fn base64url(bytes: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(bytes)
}

/// Encodes as part of a URL: everything but letters, digits and `-._~` as `%XX`.
pub fn percent(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

fn replace<'a>(forms: &[Zeroizing<String>], text: &'a str) -> Cow<'a, str> {
    let mut text = Cow::Borrowed(text);
    for form in forms {
        if text.contains(form.as_str()) {
            text = Cow::Owned(text.replace(form.as_str(), REDACTED));
        }
    }
    text
}

/// Returns how a secret may stand in a text: plain, in a JSON string, in a URL, in base64. In base64 it looks different
/// by where it begins among three bytes; the digits at its ends that it shares with its neighbours are left out.
fn forms(secret: &Secret, min_len: usize) -> Vec<Zeroizing<String>> {
    let plain = secret.reveal();
    if plain.len() < min_len {
        return Vec::new();
    }
    let quoted = |text: &str| {
        let json = serde_json::to_string(text).expect("a string is JSON");
        json[1..json.len() - 1].to_owned()
    };
    // A tool's result is JSON inside of JSON.
    let (once, twice) = (quoted(plain), quoted(&quoted(plain)));
    let mut forms = vec![plain.to_owned(), once.replace('/', "\\/"), once, twice, percent(plain)];
    forms.push(percent(plain).to_ascii_lowercase());
    for before in 0..3 {
        let shifted = [&[0; 2][..before.min(2)], plain.as_bytes()].concat();
        let whole = shifted.len() * 8 / 6;
        let alone = (before * 8).div_ceil(6)..whole;
        forms.extend(
            [&STANDARD_NO_PAD.encode(&shifted)[alone.clone()], &base64url(&shifted)[alone]]
                .map(str::to_owned),
        );
    }
    let mut different: Vec<Zeroizing<String>> = Vec::new();
    for form in forms.into_iter().map(Zeroizing::new) {
        if !different.contains(&form) {
            different.push(form);
        }
    }
    different
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodings() {
        let got = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64url(text.as_bytes()));
        assert_eq!(got, ["", "Zg", "Zm8", "Zm9v", "Zm9vYg", "Zm9vYmE", "Zm9vYmFy"]);
        assert_eq!(base64url(&[0xfb, 0xff, 0xfe]), "-__-");
        assert_eq!(percent("a b/ä~1:"), "a%20b%2F%C3%A4~1%3A");
    }

    #[test]
    fn every_form_is_taken_out() {
        let secret = Secret::from("sk \"1+/2?>3~~~\u{e9}x");
        let url = percent(secret.reveal());
        let json = serde_json::to_string(secret.reveal()).unwrap();
        let nested = serde_json::to_string(json.trim_matches('"')).unwrap();
        let texts = [secret.reveal(), &url, &url.to_ascii_lowercase(), &json, &nested].map(str::to_owned);
        for text in &texts {
            let clean = secret.redact(&format!("<{text}>")).replace('"', "");
            assert_eq!(clean, "<[REDACTED]>", "{text}");
        }
        for before in ["", "a", "ab", "abc", "user:"] {
            for after in ["", "z", "zz"] {
                let whole = [before, secret.reveal(), after].concat();
                for text in [STANDARD_NO_PAD.encode(&whole), base64url(whole.as_bytes())] {
                    let clean = secret.redact(&text).into_owned();
                    assert!(clean.contains(REDACTED), "{before} {after} {clean}");
                }
            }
        }
    }

    #[test]
    fn words_are_no_secrets() {
        assert_eq!(Secret::from("none").redact("none of that"), "none of that");
        assert_eq!(Secret::default().redact("text"), "text");
    }

    #[test]
    fn values_of_the_vault_may_be_short() {
        let secrets = Secrets::default();
        secrets.add_vault_value(&"pass12".into());
        secrets.add_vault_value(&"short".into());
        assert_eq!(secrets.redact("pass12 is short"), "[REDACTED] is short");
        assert_eq!(["short", "pass12"].map(|text| Secret::from(text).is_too_short()), [true, false]);
    }

    #[test]
    fn what_is_learned_is_known_to_all() {
        let secrets = Secrets::default();
        let shared = secrets.clone();
        secrets.add(&"first-secret".into());
        secrets.add(&"second-secret".into());
        assert_eq!(shared.redact("a first-secret, a second-secret"), "a [REDACTED], a [REDACTED]");
        assert_eq!(shared.redact("nothing"), "nothing");
    }
}
