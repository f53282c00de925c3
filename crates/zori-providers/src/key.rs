//! Keys: whether one can go into a header. Where keys come from is the binary's business.

use zori_core::failure::{FailureKind, ProviderFailure};

/// Returns the key if it can be sent. `name` is what the user knows it by, usually a variable.
pub(crate) fn usable<'a>(key: Option<&'a str>, name: &str) -> Result<&'a str, ProviderFailure> {
    let auth = |text: String| Err(ProviderFailure::new(FailureKind::Auth, text));
    match key {
        None => auth(format!("{name} is not set")),
        Some(key) if key.is_empty() || !key.bytes().all(|b| b.is_ascii_graphic()) => {
            auth(format!("{name} has characters that no key has"))
        }
        Some(key) => Ok(key),
    }
}
