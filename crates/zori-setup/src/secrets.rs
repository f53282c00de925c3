//! The secrets this process knows before it has settings: the providers' keys in its environment, and keys that were
//! typed on its command line (SCR-4).

use std::borrow::Cow;
use std::sync::Arc;

use zori_contract::mask;
use zori_core::secret::Secrets;
use zori_providers::catalog;
use zori_redact::Redactor;

use crate::environment::Environment;

/// What clients of `mcp serve --http` show.
pub const MCP_TOKEN: &str = "ZORI_MCP_TOKEN";

/// Returns a redactor for what is said before a provider is chosen.
pub fn redactor(env: &Environment) -> Redactor {
    Redactor::new(known(env))
}

/// Returns what takes the keys, and what a command learns later, out of envelopes and of what is said beside them. It leaves what only looks like a secret to
/// the contract, which shows that such a string was there.
pub fn redactor_of_output(env: &Environment) -> mask::Redactor {
    let (known, learned) = (known(env), env.learned().clone());
    Arc::new(move |text| match known.redact(text) {
        Cow::Owned(redacted) => Some(learned.redact(&redacted).into_owned()),
        Cow::Borrowed(text) => match learned.redact(text) {
            Cow::Owned(redacted) => Some(redacted),
            Cow::Borrowed(_) => None,
        },
    })
}

fn known(env: &Environment) -> Secrets {
    let keys = catalog::key_vars().chain([MCP_TOKEN]).filter_map(|name| env.text(name));
    keys.chain(env.typed_keys().iter().map(String::as_str)).collect()
}
