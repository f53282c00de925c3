//! A program of the user's that keeps grants, as git and docker have them: for machines without a store of their own,
//! and for password managers.
//!
//! It is started as `PROGRAM get|store|erase zori ACCOUNT`. `get` prints the entry, or nothing where there is none;
//! `store` reads the entry from standard input; `erase` is content where there is none. Any other exit status than 0 is
//! a failure. The entry is one line of JSON; a bare key in its place will do.

use std::time::Duration;

use crate::auth::grant::Grant;
use crate::auth::store::{CredentialStore, SERVICE, StoreFailure, WRITE, read};
use crate::helper_program;

/// The program.
pub struct HelperStore {
    program: String,
}

impl HelperStore {
    /// Uses this program: a name to be looked up in `PATH`, or a path.
    pub fn new(program: &str) -> Self {
        Self { program: program.to_owned() }
    }

    fn run(&self, action: &str, account: &str, input: &str, limit: Duration) -> Result<String, StoreFailure> {
        helper_program::run(&[&self.program, action, SERVICE, account], input, limit)
            .map_err(|why| StoreFailure(format!("the credential helper failed: {why}")))
    }
}

impl CredentialStore for HelperStore {
    fn get(&self, account: &str, within: Duration) -> Result<Option<Grant>, StoreFailure> {
        let text = self.run("get", account, "", within)?;
        if text.trim().is_empty() { Ok(None) } else { read(account, &text).map(Some) }
    }

    fn set(&self, account: &str, grant: &Grant) -> Result<(), StoreFailure> {
        let line = format!("{}\n", grant.to_json().reveal());
        self.run("store", account, &line, WRITE).map(drop)
    }

    fn erase(&self, account: &str) -> Result<(), StoreFailure> {
        self.run("erase", account, "", WRITE).map(drop)
    }
}
