//! What is remembered of servers over HTTP between runs (`known.json` below the base directory): how they were greeted, and who gives
//! out tokens for them. Nothing secret is in it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::handshake::Opening;
use super::store;

const FILE: &str = "known.json";

/// What is remembered of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Known {
    /// The greeting that it understood.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opening: Option<Opening>,
    /// Who gave out the tokens of the last login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub issuer: Option<String>,
    /// What a token was not good for, to be asked for at the next login.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
}

/// The file. Without a folder nothing is remembered.
#[derive(Clone, Debug)]
pub struct KnownServers(Option<PathBuf>);

impl KnownServers {
    /// Remembers below this folder.
    pub fn new(folder: Option<PathBuf>) -> Self {
        Self(folder)
    }

    pub fn folder(&self) -> Option<&Path> {
        self.0.as_deref()
    }

    /// Returns what is remembered of a server.
    pub fn get(&self, identity: &str) -> Known {
        self.all().remove(identity).unwrap_or_default()
    }

    /// Changes what is remembered of a server. What cannot be written is learnt again.
    pub fn change(&self, identity: &str, change: impl FnOnce(&mut Known)) {
        let Some(folder) = &self.0 else { return };
        let mut all = self.all();
        let mut known = all.get(identity).cloned().unwrap_or_default();
        change(&mut known);
        if all.get(identity) != Some(&known) {
            all.insert(identity.to_owned(), known);
            let _ = store::write_whole(folder, FILE, &all);
        }
    }

    fn all(&self) -> BTreeMap<String, Known> {
        self.0.as_ref().and_then(|folder| store::read_whole(folder, FILE)).unwrap_or_default()
    }
}
