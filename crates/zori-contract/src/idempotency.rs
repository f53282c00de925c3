//! `--idempotency-key`: the same call with the same key is done once; the second time its answer is given again.
//!
//! An answer is kept for a day, in one file per call, below the program's state folder.

use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::args::Args;
use crate::atomic::atomic_write;
use crate::cancel::Cancel;
use crate::error;
use crate::failure::Failure;
use crate::flag::{Flag, framework};
use crate::lock::{self, Lock};
use crate::path::AbsPath;

/// How long an answer is kept.
const KEPT_MS: u64 = 24 * 3_600 * 1_000;

/// The answers of earlier calls.
pub struct Answers {
    folder: AbsPath,
    now_ms: u64,
}

#[derive(Serialize, Deserialize)]
struct StoredAnswer {
    at_ms: u64,
    data: Value,
}

impl Answers {
    /// Looks into the state folder, which need not exist.
    pub fn new(state: &AbsPath, now_ms: u64) -> Self {
        Self { folder: state.join("idempotency"), now_ms }
    }

    /// Lets nobody else make this call with this key until the lock is dropped, so that two at once are one after the other.
    pub fn hold(&self, command: &str, key: &str, args: &Args, cancel: &Cancel) -> Result<Lock, Failure> {
        let failed = |error: std::io::Error| {
            Failure::new(&error::IO_ERROR, format!("cannot keep answers in {}: {error}", self.folder))
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(failed)?;
        // A run of a model takes long, and keeps nobody else waiting; few files serve all calls.
        let hash = hash(command, key, args);
        Lock::take(&self.folder.join(format!(".lock-{}", &hash[..2])), lock::PATIENCE, self.now_ms, cancel)
    }

    /// Returns the answer that was given to this call before; what it did then it does not do again.
    pub fn find(&self, command: &str, key: &str, args: &Args) -> Option<Value> {
        let bytes = fs::read(self.file(command, key, args)).ok()?;
        let kept: StoredAnswer = serde_json::from_slice(&bytes).ok()?;
        let mut data = kept.data;
        if self.is_old(kept.at_ms) {
            return None;
        }
        if data.get("effect").is_some() {
            data["effect"] = json!("noop");
        }
        Some(data)
    }

    /// Keeps an answer, and drops those that are too old.
    pub fn keep(&self, command: &str, key: &str, args: &Args, data: &Value) -> Result<(), Failure> {
        let failed = |error: std::io::Error| {
            let message = format!(
                "it is done, but the answer for the key `{key}` cannot be kept in {}: {error}",
                self.folder
            );
            Failure::new(&error::PARTIAL_FAILURE, message).with_data(data.clone())
        };
        self.prune();
        let kept = StoredAnswer { at_ms: self.now_ms, data: data.clone() };
        let bytes = serde_json::to_vec(&kept).expect("JSON values can be written");
        atomic_write(&self.file(command, key, args), &bytes).map_err(failed)
    }

    fn prune(&self) {
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        for entry in entries.flatten() {
            let kept = fs::read(entry.path())
                .ok()
                .and_then(|bytes| serde_json::from_slice::<StoredAnswer>(&bytes).ok());
            if kept.is_some_and(|kept| self.is_old(kept.at_ms)) {
                // Whoever comes later finds that it is old, too.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    fn is_old(&self, at_ms: u64) -> bool {
        self.now_ms.saturating_sub(at_ms) > KEPT_MS
    }

    fn file(&self, command: &str, key: &str, args: &Args) -> AbsPath {
        self.folder.join(format!("{}.json", hash(command, key, args)))
    }
}

fn hash(command: &str, key: &str, args: &Args) -> String {
    let call: Vec<_> = args.iter().filter(|(name, _)| !FORM.iter().any(|flag| flag.long == *name)).collect();
    let named = json!([command, key, call]).to_string();
    Sha256::digest(named).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Flags that change how an answer looks and not what is done.
const FORM: &[Flag] = &[
    framework::OUTPUT,
    framework::FORMAT,
    framework::JSON,
    framework::FIELDS,
    framework::QUIET,
    framework::VERBOSE,
    framework::DEBUG,
    framework::NO_COLOR,
    framework::STABLE_OUTPUT,
    framework::MAX_OUTPUT,
    framework::MAX_FIELD,
    framework::WIDTH,
    framework::SCHEMA_VERSION,
    framework::STREAM,
    framework::NO_STREAM,
    framework::UNMASK,
    framework::TIMEOUT,
    framework::YES,
    framework::CONFIRM,
    framework::NON_INTERACTIVE,
    framework::IDEMPOTENCY_KEY,
    framework::NO_UPDATE_CHECK,
    framework::WARNINGS_AS_ERRORS,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn once_per_call_and_key_and_day() {
        let state = tempfile::tempdir().unwrap();
        let state = AbsPath::new(state.path()).unwrap();
        let answers = Answers::new(&state, 1_000);
        let mut args = Args::default();
        args.push_named("TITLE", "x");
        let _held = answers.hold("add", "k", &args, &Cancel::default()).unwrap();
        assert_eq!(answers.find("add", "k", &args), None);
        answers.keep("add", "k", &args, &json!({"id": "1", "effect": "created"})).unwrap();
        let again = json!({"id": "1", "effect": "noop"});
        assert_eq!(answers.find("add", "k", &args), Some(again.clone()));
        let mut looked = args.clone();
        looked.push_named("output", "json");
        assert_eq!(answers.find("add", "k", &looked), Some(again), "how it is printed does not matter");
        let mut other = args.clone();
        other.push_named("TITLE", "y");
        assert_eq!(answers.find("add", "k", &other), None);
        assert_eq!(answers.find("add", "k2", &args), None);
        let later = Answers::new(&state, 1_001 + KEPT_MS);
        assert_eq!(later.find("add", "k", &args), None);
        later.keep("add", "k2", &args, &json!({})).unwrap();
        let kept = fs::read_dir(state.join("idempotency")).unwrap().flatten();
        let kept = kept.filter(|entry| entry.path().extension().is_some()).count();
        assert_eq!(kept, 1, "the old one is gone");
    }
}
