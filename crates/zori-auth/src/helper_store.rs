//! A program of the user's that keeps grants, as git and docker have them: for machines without a store of their own,
//! and for password managers.
//!
//! It is started as `PROGRAM get|store|erase zori ACCOUNT`. `get` prints the entry, or nothing where there is none;
//! `store` reads the entry from standard input; `erase` is content where there is none. Any other exit status than 0 is
//! a failure. The entry is one line of JSON; a bare key in its place will do.

use std::time::Duration;

use zori_core::secret::Secret;

use crate::grant::Grant;
use crate::helper_program::HelperPrograms;
use crate::store::{CredentialStore, SERVICE, StoreError, WRITE, read};

/// A store that is a program of the user's.
pub struct HelperStore {
    program: String,
    programs: HelperPrograms,
}

impl HelperStore {
    /// Uses this program: a name to be looked up in `PATH`, or a path.
    pub fn new(program: &str, programs: HelperPrograms) -> Self {
        Self { program: program.to_owned(), programs }
    }

    fn run(&self, action: &str, account: &str, input: &str, limit: Duration) -> Result<Secret, StoreError> {
        Ok(self.programs.run(&[&self.program, action, SERVICE, account], input, limit)?)
    }
}

impl CredentialStore for HelperStore {
    fn get(&self, account: &str, within: Duration) -> Result<Option<Grant>, StoreError> {
        let text = self.run("get", account, "", within)?;
        if text.reveal().trim().is_empty() { Ok(None) } else { read(account, text.reveal()).map(Some) }
    }

    fn set(&self, account: &str, grant: &Grant) -> Result<(), StoreError> {
        let line = Secret::from(format!("{}\n", grant.to_json().reveal()));
        self.run("store", account, line.reveal(), WRITE).map(drop)
    }

    fn erase(&self, account: &str) -> Result<(), StoreError> {
        self.run("erase", account, "", WRITE).map(drop)
    }
}
