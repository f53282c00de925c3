//! The vault as flags, config and environment say it, for `zori_vault`, which knows none of them.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use sha2::{Digest, Sha256};
use zori_auth::grant::Grant;
use zori_auth::store::{self, CredentialStore, StoreError};
use zori_contract::args::Args;
use zori_contract::failure::Failure;
use zori_core::secret::{Secret, Secrets};
use zori_vault::resolver::ResolveError;
use zori_vault::{Resolver, VaultError, VaultFile, VaultPlace};

use crate::args::flags;
use crate::config::Config;
use crate::credentials;
use crate::environment::Environment;
use crate::error::{VAULT_ENTRY_EXISTS, VAULT_ENTRY_NOT_FOUND, VAULT_EXISTS, VAULT_MISSING, VAULT_UNUSABLE};

/// The longest name of an entry.
const MAX_ENTRY: usize = 128;
/// How much of a name that does not fit is kept.
const MAX_FOLDED: usize = 110;
/// How long a credential store is waited for before the next backend is asked (VLT-6).
const STORE_LOOKUP: Duration = Duration::from_secs(2);

/// Returns the folder of the vault that `--vault` or `ZORI_VAULT` names; without one it is the base directory.
pub fn chosen_dir(args: &Args, env: &Environment) -> Option<PathBuf> {
    let dir = args.text(&flags::VAULT).map(PathBuf::from).or_else(|| env.path("ZORI_VAULT"))?;
    Some(std::path::absolute(&dir).unwrap_or(dir))
}

/// Returns the resolver of a run. Nothing is opened before the first reference; what is found is in `secrets` first.
pub fn resolver(config: &Config, env: &Environment, secrets: Secrets) -> Resolver {
    let vars = env.clone();
    let variable =
        move |name: &str| vars.text(name).filter(|value| !value.trim().is_empty()).map(Secret::from);
    let (config_of_store, env) = (config.clone(), env.clone());
    let store = move |name: &str| {
        let store = credentials::open_store(&config_of_store, &env).ok()?;
        let grant = store.get(&store_account(name), STORE_LOOKUP).ok()??;
        Some(grant.access)
    };
    Resolver::new(variable, store, config.vault.clone(), secrets)
}

/// Returns the name under which a credential store keeps an entry.
pub fn store_account(name: &str) -> String {
    format!("vault:{name}")
}

/// Returns the failure for a vault that cannot be used. `program` is our own name.
pub fn failure(error: &VaultError, program: &str) -> Failure {
    let message = error.to_string();
    match error {
        VaultError::Missing(_) => {
            Failure::new(&VAULT_MISSING, message).hint(format!("make one: `{program} vault init`"))
        }
        VaultError::Exists(_) => Failure::new(&VAULT_EXISTS, message)
            .hint("`--force` makes a new one, and keeps the old files as `.bak`"),
        VaultError::EntryExists(_) => {
            Failure::new(&VAULT_ENTRY_EXISTS, message).hint("`--force` replaces it")
        }
        VaultError::NoEntry(name) => Failure::new(&VAULT_ENTRY_NOT_FOUND, message)
            .hint(format!("add it: `{program} vault set {name}` reads the value from standard input")),
        VaultError::KeyReadable(path) => {
            Failure::new(&VAULT_UNUSABLE, message).hint(format!("chmod 600 {}", path.display()))
        }
        VaultError::KeyMissing(_) | VaultError::Damaged { .. } => Failure::new(&VAULT_UNUSABLE, message)
            .hint("the files before the last change are kept beside them, with `.bak` at the end"),
        VaultError::Io { .. } | VaultError::BadName => Failure::new(&VAULT_UNUSABLE, message),
    }
}

/// Returns the failure for a setting whose reference cannot be resolved; `None` where only the secret is missing.
pub fn reference_failure(error: &ResolveError, program: &str) -> Option<Failure> {
    match error {
        ResolveError::Vault(VaultError::NoEntry(_)) => None,
        ResolveError::Vault(error) => Some(failure(error, program)),
        ResolveError::Reference(error) => Some(Failure::new(&VAULT_UNUSABLE, error.to_string())),
    }
}

/// A vault in place of a credential store that the machine does not have (DECISIONS 65).
pub struct VaultStore {
    place: VaultPlace,
    opened: Mutex<Option<VaultFile>>,
}

impl VaultStore {
    /// Returns the vault that the user made, if there is one.
    pub fn find(config: &Config) -> Option<Self> {
        let place = config.vault.clone().filter(VaultPlace::is_made)?;
        Some(Self { place, opened: Mutex::new(None) })
    }

    /// Returns what an account's entry is called; people see it in `vault list`.
    /// Addresses have characters that names of entries do not: those are replaced, and a hash of the whole tells such names apart.
    fn entry(account: &str) -> String {
        let whole = format!("login:{account}");
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
        if whole.len() <= MAX_ENTRY && whole.chars().all(fits) {
            return whole;
        }
        let folded: String = whole.chars().map(|c| if fits(c) { c } else { '_' }).take(MAX_FOLDED).collect();
        let hash = Sha256::digest(&whole);
        format!("{folded}.{:02x}{:02x}{:02x}{:02x}", hash[0], hash[1], hash[2], hash[3])
    }

    fn forget_opened(&self) {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

impl CredentialStore for VaultStore {
    fn get(&self, account: &str, _: Duration) -> Result<Option<Grant>, StoreError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *opened {
            Some(file) => file,
            closed => closed.insert(VaultFile::open(&self.place).map_err(|error| unusable(&error))?),
        };
        file.get(&Self::entry(account)).map(|text| store::read(account, text.reveal())).transpose()
    }

    fn set(&self, account: &str, grant: &Grant) -> Result<(), StoreError> {
        self.forget_opened();
        let entry = Self::entry(account);
        VaultFile::set(&self.place, &entry, &grant.to_json(), true)
            .map(drop)
            .map_err(|error| unusable(&error))
    }

    fn erase(&self, account: &str) -> Result<(), StoreError> {
        self.forget_opened();
        VaultFile::remove(&self.place, &Self::entry(account)).map(drop).map_err(|error| unusable(&error))
    }
}

fn unusable(error: &VaultError) -> StoreError {
    StoreError::System(error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// MCP-82: a login to a server is kept by its address, which no name of an entry may have as it is.
    #[test]
    fn entries_of_logins() {
        assert_eq!(VaultStore::entry("openai"), "login:openai");
        let of = VaultStore::entry("mcp:http://localhost:1#http://localhost:2/");
        assert!(of.starts_with("login:mcp:http:__localhost:1_http:__localhost:2_."), "{of}");
        assert_ne!(of, VaultStore::entry("mcp:http://localhost:1#http://localhost:2#"));
        let long = VaultStore::entry(&format!("mcp:https://{}", "x".repeat(200)));
        assert!(long.len() <= MAX_ENTRY && long.is_ascii(), "{long}");
    }
}
