//! Where grants are kept: a trait, and which of its implementations is used. There is no plain file (AUTH-5).

use std::sync::Arc;
use std::time::Duration;

use crate::auth::grant::Grant;
use crate::auth::helper_store::HelperStore;
use crate::auth::os_store;
use crate::config::Config;

/// The name all our entries have in a store (AUTH-3).
pub const SERVICE: &str = "zori";
/// How long writing may take: the store may ask the user to unlock it.
pub const WRITE: Duration = Duration::from_secs(20);

/// Keeps one grant per account. Calls block, for no longer than they are told, and may be made from any thread.
pub trait CredentialStore: Send + Sync {
    /// Returns the grant of an account, if there is one.
    fn get(&self, account: &str, within: Duration) -> Result<Option<Grant>, StoreFailure>;

    /// Keeps a grant in place of the one the account had. It has [`WRITE`] to do it.
    fn set(&self, account: &str, grant: &Grant) -> Result<(), StoreFailure>;

    /// Forgets the grant of an account; one that is not there is no failure. It has [`WRITE`] to do it.
    fn erase(&self, account: &str) -> Result<(), StoreFailure>;
}

/// Why a store cannot be used. No secret is in it.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct StoreFailure(pub String);

/// Returns the store: the program that the config names, else the operating system's; `None` where there is none.
pub fn open(config: &Config) -> Option<Arc<dyn CredentialStore>> {
    match config.text("credential_helper").map(str::trim).filter(|program| !program.is_empty()) {
        Some(program) => Some(Arc::new(HelperStore::new(program))),
        None => os_store::open().map(|store| Arc::new(store) as Arc<dyn CredentialStore>),
    }
}

/// Reads what a store has for an account.
pub fn read(account: &str, text: &str) -> Result<Grant, StoreFailure> {
    Grant::parse(text)
        .map_err(|why| StoreFailure(format!("the entry `{SERVICE}`, `{account}` cannot be used: {why}")))
}

/// A store for tests of what uses one.
#[cfg(test)]
pub mod memory {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use super::*;

    /// Keeps the stored texts.
    #[derive(Default)]
    pub struct MemoryStore(pub Mutex<BTreeMap<String, String>>);

    impl CredentialStore for MemoryStore {
        fn get(&self, account: &str, _: Duration) -> Result<Option<Grant>, StoreFailure> {
            self.0.lock().unwrap().get(account).map(|text| read(account, text)).transpose()
        }

        fn set(&self, account: &str, grant: &Grant) -> Result<(), StoreFailure> {
            self.0.lock().unwrap().insert(account.to_owned(), grant.to_json().reveal().to_owned());
            Ok(())
        }

        fn erase(&self, account: &str) -> Result<(), StoreFailure> {
            self.0.lock().unwrap().remove(account);
            Ok(())
        }
    }
}
