//! Keeps secrets out of a recording, wherever the network splits them.

use std::sync::Arc;

use reqwest::Url;
use serde_json::Value;
use zori_core::secret::REDACTED;

/// Parameters of a URL whose name has one of these in it are left out.
const TELLING: &[&str] = &["key", "token", "secret", "passw", "auth", "sig", "credential"];

/// The secrets of a run.
#[derive(Default)]
pub struct Secrets {
    /// What is known, also what is learnt later.
    known: zori_core::secret::Secrets,
}

impl Secrets {
    /// Makes the filter from the known secrets.
    pub fn new(known: &zori_core::secret::Secrets) -> Self {
        Self { known: known.clone() }
    }

    /// Returns what is known now, for one thing that is to be written: a login may bring more.
    pub(super) fn now(&self) -> Arc<Forms> {
        let forms: Vec<Vec<u8>> = self.known.forms().iter().map(|form| form.as_bytes().to_vec()).collect();
        let mut first: Vec<u8> = forms.iter().map(|form| form[0]).collect();
        first.sort_unstable();
        first.dedup();
        Arc::new(Forms { forms, first })
    }
}

/// The secrets of a moment, in every form.
pub(super) struct Forms {
    /// The longest first.
    forms: Vec<Vec<u8>>,
    /// The bytes a form begins with.
    first: Vec<u8>,
}

impl Forms {
    /// Returns the bytes without them.
    pub(super) fn redacted(&self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        self.scan(bytes, Rest::IsAll, &mut out);
        out
    }

    /// Returns the text without them.
    pub(super) fn redacted_text(&self, text: &str) -> String {
        String::from_utf8_lossy(&self.redacted(text.as_bytes())).into_owned()
    }

    /// Takes them out of a document: out of its strings, and numbers that have one in them become a string.
    pub(super) fn redact(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.redacted_text(text),
            Value::Number(number) if !self.found(number.to_string().as_bytes()).0.is_empty() => {
                *value = REDACTED.into();
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact(item)),
            Value::Object(fields) => {
                let redacted = std::mem::take(fields).into_iter().map(|(name, mut value)| {
                    self.redact(&mut value);
                    (self.redacted_text(&name), value)
                });
                *fields = redacted.collect();
            }
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// Returns whether there are none.
    pub(super) fn is_empty(&self) -> bool {
        self.forms.is_empty()
    }

    /// Returns where they stand, and where one may begin that goes on behind the end.
    pub(super) fn found(&self, bytes: &[u8]) -> (Vec<(usize, usize)>, Option<usize>) {
        let (mut found, mut at) = (Vec::new(), 0);
        while at < bytes.len() {
            let here = &bytes[at..];
            if !self.first.contains(&here[0]) {
                at += 1;
            } else if let Some(form) = self.forms.iter().find(|form| here.starts_with(form)) {
                found.push((at, at + form.len()));
                at += form.len();
            } else if self.forms.iter().any(|form| form.starts_with(here)) {
                return (found, Some(at));
            } else {
                at += 1;
            }
        }
        (found, None)
    }

    /// Writes the bytes without secrets to `out`; returns how many were dealt with. If more may come, what may be
    /// the beginning of a secret waits.
    fn scan(&self, bytes: &[u8], rest: Rest, out: &mut Vec<u8>) -> usize {
        let mut at = 0;
        while at < bytes.len() {
            let here = &bytes[at..];
            if !self.first.contains(&here[0]) {
                out.push(here[0]);
                at += 1;
            } else if let Some(form) = self.forms.iter().find(|form| here.starts_with(form)) {
                out.extend_from_slice(REDACTED.as_bytes());
                at += form.len();
            } else if rest == Rest::MayCome && self.forms.iter().any(|form| form.starts_with(here)) {
                return at;
            } else {
                out.push(here[0]);
                at += 1;
            }
        }
        at
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Rest {
    IsAll,
    MayCome,
}

/// Takes secrets out of pieces, wherever the network cut them.
pub(super) struct Filter {
    secrets: Arc<Forms>,
    held: Vec<u8>,
}

impl Filter {
    pub(super) fn new(secrets: Arc<Forms>) -> Self {
        Self { secrets, held: Vec::new() }
    }

    /// Returns what can be written of the bytes so far.
    pub(super) fn push(&mut self, piece: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(piece);
        let mut out = Vec::with_capacity(self.held.len());
        let done = self.secrets.scan(&self.held, Rest::MayCome, &mut out);
        self.held.drain(..done);
        out
    }

    /// Returns what was held back.
    pub(super) fn finish(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

/// Returns a URL without user, password, fragment and parameters that hold keys. Anything that is not a URL is left out
/// whole.
pub fn harmless_url(text: &str) -> String {
    let Ok(mut url) = Url::parse(text) else { return String::new() };
    // These fail for URLs without a host only, which have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_fragment(None);
    let query = url.query().map(|query| {
        let kept = query.split('&').filter(|pair| {
            let name = pair.split('=').next().unwrap_or_default().to_ascii_lowercase();
            !TELLING.iter().any(|word| name.contains(word))
        });
        kept.collect::<Vec<_>>().join("&")
    });
    url.set_query(query.as_deref().filter(|query| !query.is_empty()));
    let text = url.to_string();
    text.strip_suffix('/').filter(|_| url.path() == "/" && url.query().is_none()).unwrap_or(&text).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cut_anywhere() {
        let secrets = Secrets::new(&["sk-12345678", "sk-1abcdefg"].into_iter().collect()).now();
        let text = b"a sk-12345678 b sk-1234 sk-sk-12345678sk-1abcdefg sk-1";
        let whole = secrets.redacted(text);
        assert_eq!(whole, b"a [REDACTED] b sk-1234 sk-[REDACTED][REDACTED] sk-1");
        for at in 0..text.len() {
            let mut filter = Filter::new(Arc::clone(&secrets));
            let mut out = filter.push(&text[..at]);
            out.extend(filter.push(&text[at..]));
            out.extend(filter.finish());
            assert_eq!(out, whole, "cut at {at}");
        }
    }

    #[test]
    fn urls() {
        for (url, harmless) in [
            ("https://me:hunter2@api.example.com/v1/x?alt=sse#top", "https://api.example.com/v1/x?alt=sse"),
            ("https://h/x?key=abc&q=1&access_token=t&X-Amz-Signature=s", "https://h/x?q=1"),
            ("https://h/x?api_key=abc", "https://h/x"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080"),
            ("not a url", ""),
        ] {
            assert_eq!(harmless_url(url), harmless);
        }
    }
}
