//! What is kept of a provider: a key or the tokens of a login, and its JSON form (AUTH-3).

use std::time::Duration;

use serde::{Deserialize, Serialize};
use zori_core::secret::{Secret, Secrets};
use zori_core::time::Timestamp;
use zori_providers::key::fits;
use zori_providers::oauth::Tokens;

/// A token that ends this soon counts as expired: it has to last until the request arrives.
const LEEWAY: i64 = 30;

/// A key, or the tokens of a login.
#[derive(Clone, PartialEq, Eq)]
pub struct Grant {
    /// Which of the two.
    pub kind: Kind,
    /// What requests are made with.
    pub access: Secret,
    /// Exchanged for the next access token.
    pub refresh: Option<Secret>,
    /// When the access token ends.
    pub expires_at: Option<Timestamp>,
    /// What else belongs to it, as text of whoever stored it: who got the tokens of an MCP server, and where.
    pub more: Option<Secret>,
}

/// What a grant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    ApiKey,
    /// The tokens of a login.
    OAuth,
}

impl Kind {
    /// Returns the name in the store and on the screen.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ApiKey => "api_key",
            Self::OAuth => "oauth",
        }
    }
}

impl Grant {
    pub fn api_key(key: Secret) -> Self {
        Self { kind: Kind::ApiKey, access: key, refresh: None, expires_at: None, more: None }
    }

    /// The tokens of a login.
    pub fn oauth(tokens: Tokens, now: Timestamp) -> Self {
        let until = |time: Duration| {
            Timestamp(now.0.saturating_add(i64::try_from(time.as_secs()).unwrap_or(i64::MAX)))
        };
        Self {
            kind: Kind::OAuth,
            access: tokens.access,
            refresh: tokens.refresh,
            expires_at: tokens.expires_in.map(until),
            more: None,
        }
    }

    /// Returns whether the access token has expired, or is about to.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        self.expires_at.is_some_and(|end| end.0.saturating_sub(LEEWAY) <= now.0)
    }

    /// Adds its tokens to the secrets that are taken out of text.
    pub fn tell(&self, secrets: &Secrets) {
        secrets.add(&self.access);
        self.refresh.iter().for_each(|secret| secrets.add(secret));
    }

    /// Returns the text that is stored.
    pub fn to_json(&self) -> Secret {
        let wire = Wire {
            access_token: self.access.reveal().into(),
            refresh_token: self.refresh.as_ref().map(|token| token.reveal().into()),
            expires_at: self.expires_at.map(|at| at.0),
            kind: self.kind.as_str().into(),
            more: self.more.as_ref().map(|more| more.reveal().into()),
        };
        serde_json::to_string(&wire).expect("strings and numbers are JSON").into()
    }

    /// Reads what was stored. Text that is not a JSON object counts as a key, which another program may have stored. No
    /// error repeats the text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let text = text.trim();
        if !text.starts_with('{') {
            return if fits(text) { Ok(Self::api_key(text.into())) } else { Err("it is no key and no JSON") };
        }
        let wire: Wire = serde_json::from_str(text).map_err(|_| "its JSON has not the fields of one")?;
        let kind = match wire.kind.as_str() {
            "api_key" => Kind::ApiKey,
            "oauth" => Kind::OAuth,
            _ => return Err("its `kind` is neither `api_key` nor `oauth`"),
        };
        if !fits(&wire.access_token) {
            return Err("its `access_token` has characters that no token has");
        }
        Ok(Self {
            kind,
            access: wire.access_token.into(),
            refresh: wire.refresh_token.filter(|token| !token.is_empty()).map(Secret::from),
            expires_at: wire.expires_at.map(Timestamp),
            more: wire.more.map(Secret::from),
        })
    }
}

/// The stored form; `expires_at` counts seconds since 1970.
#[derive(Serialize, Deserialize)]
struct Wire {
    access_token: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expires_at: Option<i64>,
    kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    more: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn login() -> Grant {
        Grant {
            kind: Kind::OAuth,
            access: "at".into(),
            refresh: Some("rt".into()),
            expires_at: Some(Timestamp(1_000)),
            more: None,
        }
    }

    #[test]
    fn the_stored_form() {
        let json = login().to_json();
        assert_eq!(
            json.reveal(),
            r#"{"access_token":"at","refresh_token":"rt","expires_at":1000,"kind":"oauth"}"#
        );
        assert!(Grant::parse(json.reveal()) == Ok(login()));
        let more = Grant { more: Some("{\"a\":1}".into()), ..login() };
        assert!(Grant::parse(more.to_json().reveal()) == Ok(more));
        let key = Grant::api_key("k-1".into());
        assert_eq!(key.to_json().reveal(), r#"{"access_token":"k-1","kind":"api_key"}"#);
        assert!(Grant::parse(" k-1\n") == Ok(key));
    }

    #[test]
    fn what_is_no_grant() {
        let error = |text| Grant::parse(text).err();
        assert_eq!(error("two words"), Some("it is no key and no JSON"));
        assert_eq!(error(""), Some("it is no key and no JSON"));
        assert_eq!(error("{"), Some("its JSON has not the fields of one"));
        assert_eq!(
            error(r#"{"access_token":"a","kind":"x"}"#),
            Some("its `kind` is neither `api_key` nor `oauth`")
        );
        assert_eq!(
            error(r#"{"access_token":"a\nb","kind":"oauth"}"#),
            Some("its `access_token` has characters that no token has")
        );
    }

    #[test]
    fn an_end_that_is_near_has_come() {
        let got = [0, 969, 970, 1_000, 2_000].map(|now| login().is_expired(Timestamp(now)));
        assert_eq!(got, [false, false, true, true, true]);
        assert!(!Grant::api_key("k".into()).is_expired(Timestamp(i64::MAX)));
    }
}
