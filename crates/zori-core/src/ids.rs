//! Names of things: sessions, agents and tool calls. Where new ones come from is the [`IdSource`]'s business.

use std::fmt;
use std::sync::Arc;

/// The name of a session; also the stem of its file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SessionId(Arc<str>);

/// Why a text is no session id.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid session id `{0}`: use 1 to 128 of A-Z a-z 0-9 . _ - and do not start with . or -")]
pub struct BadSessionId(pub String);

impl SessionId {
    /// Checks the form `[A-Za-z0-9_][A-Za-z0-9._-]{0,127}` (SES-4, DECISIONS 28).
    pub fn parse(text: &str) -> Result<Self, BadSessionId> {
        let rest_ok = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-');
        let first_ok = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        let bytes = text.as_bytes();
        match bytes.first() {
            Some(&first) if first_ok(first) && bytes.len() <= 128 && bytes.iter().all(|&b| rest_ok(b)) => {
                Ok(Self(text.into()))
            }
            _ => Err(BadSessionId(text.to_owned())),
        }
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The id of one tool call, as the provider issued it or as we made it up.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct CallId(Arc<str>);

impl CallId {
    /// Takes the provider's text as it is.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which agent of a session speaks: the main one, or a sub-agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AgentId(pub u32);

impl AgentId {
    /// The agent the user talks to.
    pub const MAIN: Self = Self(0);
}

/// Makes new ids. The binary has a random one, tests a counted one.
pub trait IdSource: Send + Sync {
    /// Returns an id no other session has.
    fn session(&self) -> SessionId;
    /// Returns a number that is uniformly distributed over all of `u64`, for jitter.
    fn random(&self) -> u64;
}

/// Writes 16 random bytes as a UUID v4: lowercase, with hyphens.
pub fn uuid_v4(mut bytes: [u8; 16]) -> SessionId {
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let mut text = String::with_capacity(36);
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        for nibble in [byte >> 4, byte & 0xf] {
            text.push(char::from_digit(nibble.into(), 16).expect("a nibble is one hex digit"));
        }
    }
    SessionId(text.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_ids_that_are_none() {
        let long = "a".repeat(129);
        for bad in ["", ".", ".hidden", "-x", "a/b", "../x", "a b", "a\\b", "ä", "a\n", long.as_str()] {
            assert_eq!(SessionId::parse(bad), Err(BadSessionId(bad.to_owned())), "{bad:?}");
        }
    }

    #[test]
    fn session_ids_that_are_fine() {
        let long = "a".repeat(128);
        for good in ["a", "_x", "my.session-1", "0", long.as_str()] {
            assert_eq!(SessionId::parse(good).unwrap().as_str(), good);
        }
    }

    #[test]
    fn uuid_has_version_and_variant() {
        assert_eq!(uuid_v4([0xff; 16]).as_str(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(uuid_v4([0; 16]).as_str(), "00000000-0000-4000-8000-000000000000");
    }
}
