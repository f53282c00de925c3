//! Keys: how one is sent to a server, and whether it can go into a header. The binary knows where keys come from.

use std::fmt;

use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::secret::Secret;

/// A credential. It goes into a header, never into the URL, which ends up in logs.
#[derive(Clone, PartialEq, Eq)]
pub enum Credential {
    /// A key of the API, sent in the vendor's own header.
    Key(Secret),
    /// An access token, sent as a bearer's.
    Token(Secret),
}

impl Credential {
    /// Returns the secret itself.
    pub fn secret(&self) -> &Secret {
        match self {
            Self::Key(secret) | Self::Token(secret) => secret,
        }
    }

    /// Returns the header for it; a key goes into the one of this name.
    pub(crate) fn header(&self, key_header: &'static str) -> (&'static str, String) {
        match self {
            Self::Key(key) => (key_header, key.reveal().to_owned()),
            Self::Token(_) => self.bearer(),
        }
    }

    /// Returns the bearer header, for servers that know no other.
    pub(crate) fn bearer(&self) -> (&'static str, String) {
        ("authorization", format!("Bearer {}", self.secret().reveal()))
    }

    /// Checks that there is one and that it can be sent. `variable` is what the user knows a key by.
    pub(crate) fn usable<'a>(this: Option<&'a Self>, variable: &str) -> Result<&'a Self, ProviderFailure> {
        let name = if matches!(this, Some(Self::Token(_))) { "the access token" } else { variable };
        let auth = |text: String| Err(ProviderFailure::new(FailureKind::Auth, text));
        match this {
            None => auth(format!("{name} is not set")),
            Some(key) if !fits(key.secret().reveal()) => {
                auth(format!("{name} has characters that no key has"))
            }
            Some(key) => Ok(key),
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Key(_) => "Key(..)",
            Self::Token(_) => "Token(..)",
        })
    }
}

/// Returns whether a text can be a key: visible ASCII, and not empty.
pub fn fits(key: &str) -> bool {
    !key.is_empty() && key.bytes().all(|b| b.is_ascii_graphic())
}
