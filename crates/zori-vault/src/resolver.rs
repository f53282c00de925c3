//! One resolver for all references: the environment, then a credential store, then the vault's file (VLT-1, VLT-3, VLT-5).

use std::fmt;
use std::sync::{Mutex, PoisonError};

use zori_core::secret::{Secret, Secrets};

use crate::error::VaultError;
use crate::file::VaultFile;
use crate::place::VaultPlace;
use crate::reference::{self, BadReference, Part};

/// Where a secret was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A variable of this name.
    Env,
    /// A credential store.
    Keyring,
    /// The vault's file.
    Age,
}

impl Backend {
    /// Returns its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Env => "env",
            Self::Keyring => "keyring",
            Self::Age => "age",
        }
    }
}

/// Why a value with references cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResolveError {
    /// A reference is written wrongly.
    #[error(transparent)]
    Reference(#[from] BadReference),
    /// No backend has it, or the vault cannot be used.
    #[error(transparent)]
    Vault(#[from] VaultError),
}

type Lookup = Box<dyn Fn(&str) -> Option<Secret> + Send + Sync>;

/// Resolves references. Asking may block: for the credential store up to its limit, for the file about a millisecond.
pub struct Resolver {
    env: Lookup,
    keyring: Lookup,
    place: Option<VaultPlace>,
    secrets: Secrets,
    /// The file, once it was opened.
    opened: Mutex<Option<VaultFile>>,
}

impl fmt::Debug for Resolver {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Resolver").field("place", &self.place).finish_non_exhaustive()
    }
}

impl Resolver {
    /// Makes one; nothing is opened. What is found is added to `secrets` before it is handed out. A store that is silent or fails
    /// has nothing.
    pub fn new(
        env: impl Fn(&str) -> Option<Secret> + Send + Sync + 'static,
        keyring: impl Fn(&str) -> Option<Secret> + Send + Sync + 'static,
        place: Option<VaultPlace>,
        secrets: Secrets,
    ) -> Self {
        let (env, keyring) = (Box::new(env), Box::new(keyring));
        Self { env, keyring, place, secrets, opened: Mutex::new(None) }
    }

    /// Finds a secret, and who has it; `None` if nobody has.
    pub fn find(&self, name: &str) -> Result<Option<(Backend, Secret)>, VaultError> {
        let asked = (self.env)(name).map(|secret| (Backend::Env, secret));
        let asked = asked.or_else(|| Some((Backend::Keyring, (self.keyring)(name)?)));
        let found = match asked {
            Some(found) => Some(found),
            None => self.in_file(name)?.map(|secret| (Backend::Age, secret)),
        };
        if let Some((_, secret)) = &found {
            self.secrets.add_vault_value(secret);
        }
        Ok(found)
    }

    /// Returns the secret of a name that has to be there.
    pub fn get(&self, name: &str) -> Result<Secret, VaultError> {
        match self.find(name)? {
            Some((_, secret)) => Ok(secret),
            None => Err(VaultError::NoEntry(name.to_owned())),
        }
    }

    /// Returns a value with its references replaced. A value without any is returned as it is, and nothing is opened.
    pub fn expand(&self, value: &str) -> Result<Secret, ResolveError> {
        if !reference::is_in(value) {
            return Ok(value.into());
        }
        let mut expanded = zeroize::Zeroizing::new(String::new());
        for part in reference::parts(value)? {
            match part {
                Part::Text(text) => expanded.push_str(text),
                Part::Name(name) => expanded.push_str(self.get(name)?.reveal()),
            }
        }
        let expanded = Secret::from(expanded.as_str());
        self.secrets.add_vault_value(&expanded);
        Ok(expanded)
    }

    fn in_file(&self, name: &str) -> Result<Option<Secret>, VaultError> {
        let Some(place) = self.place.as_ref().filter(|place| place.is_made()) else { return Ok(None) };
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *opened {
            Some(file) => file,
            closed => closed.insert(VaultFile::open(place)?),
        };
        Ok(file.get(name).cloned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolver(place: Option<VaultPlace>, secrets: Secrets) -> Resolver {
        let of = |wanted: &'static str, value: &'static str| {
            move |name: &str| (name == wanted).then(|| value.into())
        };
        Resolver::new(of("ENV", "of the environment"), of("RING", "of the keyring"), place, secrets)
    }

    #[test]
    fn asked_in_order_and_known_to_the_redactor_first() {
        let dir = tempfile::tempdir().unwrap();
        let place = VaultPlace::in_dir(dir.path());
        VaultFile::init(&place, false).unwrap();
        for name in ["ENV", "RING", "AGE"] {
            VaultFile::set(&place, name, &"of the file".into(), false).unwrap();
        }
        let secrets = Secrets::default();
        let resolver = resolver(Some(place), secrets.clone());
        for (name, backend) in [("ENV", "env"), ("RING", "keyring"), ("AGE", "age")] {
            assert_eq!(resolver.find(name).unwrap().map(|(backend, _)| backend.as_str()), Some(backend));
        }
        assert!(resolver.find("NONE").unwrap().is_none());
        let expanded = resolver.expand("<${vault:AGE}>").unwrap();
        assert_eq!(expanded.reveal(), "<of the file>");
        assert_eq!(secrets.redact("<of the file> of the keyring"), "<[REDACTED]> [REDACTED]");
        assert_eq!(
            resolver.expand("vault:NONE").err().map(|error| error.to_string()).as_deref(),
            Some("no secret `NONE` is in the environment, the credential store or the vault")
        );
    }

    /// VLT-3: a file that cannot be opened is nobody's problem before somebody refers to it.
    #[test]
    fn nothing_is_opened_without_a_reference() {
        let dir = tempfile::tempdir().unwrap();
        let place = VaultPlace::in_dir(dir.path());
        std::fs::write(&place.file, "no vault").unwrap();
        let resolver = resolver(Some(place.clone()), Secrets::default());
        assert!(resolver.expand("plain vault:x").is_ok_and(|value| value.reveal() == "plain vault:x"));
        assert!(resolver.expand("vault:ENV").is_ok());
        assert_eq!(resolver.find("AGE").err(), Some(VaultError::KeyMissing(place.key)));
    }
}
