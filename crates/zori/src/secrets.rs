//! The secrets this process knows by value, so that they can be kept out of whatever it writes (SCR-4).

use zori_providers::catalog::PROVIDERS;
use zori_redact::Redactor;

/// Returns a redactor for every provider's key in the environment, and for `more`.
pub fn redactor(more: &str) -> Redactor {
    let keys: Vec<String> =
        PROVIDERS.iter().filter_map(|provider| std::env::var(provider.key_var).ok()).collect();
    let trimmed = keys.iter().map(|key| key.trim()).chain([more.trim()]);
    Redactor::new(trimmed)
}
