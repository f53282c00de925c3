//! The secrets this process knows before it has settings: the providers' keys in its environment (SCR-4).

use zori_core::secret::Secrets;
use zori_providers::catalog::PROVIDERS;
use zori_redact::Redactor;

/// Returns a redactor for what is said before a provider is chosen.
pub fn redactor() -> Redactor {
    let known: Secrets = known().iter().map(String::as_str).collect();
    Redactor::new(known)
}

/// Returns the keys themselves.
pub fn known() -> Vec<String> {
    PROVIDERS.iter().filter_map(|provider| std::env::var(provider.key_var).ok()).collect()
}
