//! Where grants are kept: a trait, and which of its implementations is used. There is no plain file (AUTH-5).

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::grant::Grant;
use crate::helper_program::{HelperError, HelperPrograms};
use crate::helper_store::HelperStore;
use crate::os_store::OsStore;

/// The name all our entries have in a store (AUTH-3).
pub const SERVICE: &str = "zori";
/// How long writing may take: the store may ask the user to unlock it.
pub const WRITE: Duration = Duration::from_secs(20);

/// Keeps one grant per account. Calls block, for no longer than they are told, and may be made from any thread.
pub trait CredentialStore: Send + Sync {
    /// Returns the grant of an account, if there is one.
    fn get(&self, account: &str, within: Duration) -> Result<Option<Grant>, StoreError>;

    /// Keeps a grant in place of the one the account had. It has [`WRITE`] to do it.
    fn set(&self, account: &str, grant: &Grant) -> Result<(), StoreError>;

    /// Forgets the grant of an account; one that is not there is no failure. It has [`WRITE`] to do it.
    fn erase(&self, account: &str) -> Result<(), StoreError>;
}

/// Why a store cannot be used. No secret is in it.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// There is no store to ask.
    #[error("this machine has no credential store")]
    Missing,
    /// The operating system's store failed, or did not answer in time.
    #[error("the credential store cannot be used: {0}")]
    System(String),
    /// The user's program failed.
    #[error("the credential helper failed: {0}")]
    Helper(#[from] HelperError),
    /// The entry cannot be read as a grant.
    #[error("the entry `{SERVICE}`, `{account}` cannot be used: {why}")]
    Entry {
        /// Whose entry it is.
        account: String,
        /// What is wrong with it.
        why: &'static str,
    },
}

/// What is known of the desktop session, in which the Secret Service of Linux lives.
#[derive(Clone, Debug, Default)]
pub struct DesktopSession {
    /// Whether `DBUS_SESSION_BUS_ADDRESS` names a bus.
    pub bus_named: bool,
    /// `XDG_RUNTIME_DIR`, where a bus usually is.
    pub runtime_dir: Option<PathBuf>,
}

/// Returns the store: the user's program if one is named, else the operating system's.
pub fn open(
    helper: Option<&str>,
    programs: &HelperPrograms,
    session: &DesktopSession,
) -> Result<Arc<dyn CredentialStore>, StoreError> {
    match helper.map(str::trim).filter(|program| !program.is_empty()) {
        Some(program) => Ok(Arc::new(HelperStore::new(program, programs.clone()))),
        None => Ok(Arc::new(OsStore::find(session).ok_or(StoreError::Missing)?)),
    }
}

/// Reads what a store has for an account.
pub fn read(account: &str, text: &str) -> Result<Grant, StoreError> {
    Grant::parse(text).map_err(|why| StoreError::Entry { account: account.to_owned(), why })
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
        fn get(&self, account: &str, _: Duration) -> Result<Option<Grant>, StoreError> {
            self.0.lock().unwrap().get(account).map(|text| read(account, text)).transpose()
        }

        fn set(&self, account: &str, grant: &Grant) -> Result<(), StoreError> {
            self.0.lock().unwrap().insert(account.to_owned(), grant.to_json().reveal().to_owned());
            Ok(())
        }

        fn erase(&self, account: &str) -> Result<(), StoreError> {
            self.0.lock().unwrap().remove(account);
            Ok(())
        }
    }
}
