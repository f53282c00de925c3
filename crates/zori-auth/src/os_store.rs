//! The operating system's credential store: the Secret Service on Linux, the keychain on macOS.
//!
//! The library behind it blocks for as long as it likes (a locked store asks the user), so each call has a thread and
//! a limit. Nothing of it runs before somebody asks.

use std::sync::mpsc;
use std::time::Duration;

use keyring::{Entry, Error};
use zori_core::secret::Secret;

use crate::grant::Grant;
use crate::store::{CredentialStore, DesktopSession, SERVICE, StoreError, WRITE, read};

/// The store of this machine.
pub struct OsStore;

impl OsStore {
    /// Returns the store if there is one. On Linux that takes a session bus, which machines without a desktop do not
    /// have; the library would go on to guess where one may be.
    pub fn find(session: &DesktopSession) -> Option<Self> {
        let bus = || {
            let usual = session.runtime_dir.as_ref().is_some_and(|dir| dir.join("bus").exists());
            session.bus_named || usual
        };
        (cfg!(target_os = "macos") || bus()).then_some(Self)
    }
}

impl CredentialStore for OsStore {
    fn get(&self, account: &str, within: Duration) -> Result<Option<Grant>, StoreError> {
        let text = call(account, within, |entry| entry.get_password().map(Secret::from))?;
        text.map(|text| read(account, text.reveal())).transpose()
    }

    fn set(&self, account: &str, grant: &Grant) -> Result<(), StoreError> {
        let text = grant.to_json();
        call(account, WRITE, move |entry| entry.set_password(text.reveal())).map(drop)
    }

    fn erase(&self, account: &str) -> Result<(), StoreError> {
        call(account, WRITE, |entry| entry.delete_credential()).map(drop)
    }
}

/// Does something with an entry on a thread of its own; `None` where there is no entry.
fn call<T: Send + 'static>(
    account: &str,
    limit: Duration,
    act: impl FnOnce(&Entry) -> Result<T, Error> + Send + 'static,
) -> Result<Option<T>, StoreError> {
    let failed = StoreError::System;
    let (sender, receiver) = mpsc::channel();
    let account = account.to_owned();
    std::thread::Builder::new()
        .name("credentials".into())
        .spawn(move || {
            // Nobody listens any more when the time is up.
            let _ = sender.send(Entry::new(SERVICE, &account).and_then(|entry| act(&entry)));
        })
        .map_err(|error| failed(error.to_string()))?;
    match receiver.recv_timeout(limit) {
        Ok(Ok(value)) => Ok(Some(value)),
        Ok(Err(Error::NoEntry)) => Ok(None),
        Ok(Err(error)) => Err(failed(describe(&error))),
        Err(mpsc::RecvTimeoutError::Timeout) => {
            Err(failed(format!("no answer within {} seconds; is it locked?", limit.as_secs_f32().ceil())))
        }
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(failed("its library panicked".to_owned())),
    }
}

/// Says what went wrong without what was read: an entry that is no text is handed back inside the error.
fn describe(error: &Error) -> String {
    match error {
        Error::BadEncoding(_) => "the entry is no text".to_owned(),
        Error::PlatformFailure(why) | Error::NoStorageAccess(why) => why.to_string(),
        other => other.to_string(),
    }
}
