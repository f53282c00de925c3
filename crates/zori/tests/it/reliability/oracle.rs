//! Looks at a session's file after something went wrong, and says what breaks the promises of chapter 2.

use std::collections::HashSet;

use serde_json::Value;
use zori_testkit::env::TestEnv;

/// What is in a session file.
pub struct Found {
    /// The ids of calls that have a record, and of those that have a result.
    pub calls: HashSet<String>,
    pub results: HashSet<String>,
    /// The texts of the user, in order.
    pub prompts: Vec<String>,
    pub records: usize,
}

/// Reads a session; `None` where there is no file.
///
/// # Panics
///
/// Where the file breaks a promise: a line that is no record other than a torn last one, a result before its call, records in
/// another order than they happened.
#[track_caller]
pub fn look(world: &TestEnv, session: &str, context: &str) -> Option<Found> {
    let bytes = std::fs::read(world.base().join(format!("sessions/{session}.jsonl"))).ok()?;
    let mut found = Found { calls: HashSet::new(), results: HashSet::new(), prompts: Vec::new(), records: 0 };
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
    let text = std::str::from_utf8(&bytes[..whole]).expect("records are text");
    let (mut torn, mut gap) = (0, false);
    for (n, line) in text.lines().enumerate() {
        let record: Value = match serde_json::from_str(line) {
            Ok(record) => record,
            // A torn tail of the run before was closed by a newline.
            Err(error) => {
                torn += 1;
                assert!(torn <= 1, "{context}: line {} is no record ({error}): {line}", n + 1);
                continue;
            }
        };
        found.records += 1;
        if n == 0 {
            assert_eq!(record["type"], "meta", "{context}: the first record");
        }
        let text = |field: &str| record[field].as_str().unwrap_or_default().to_owned();
        match record["type"].as_str() {
            Some("message") if record["role"] == "user" => found.prompts.push(text("text")),
            // A record that could not be saved is missing, and that is said.
            Some("notice") if record["code"] == "gap" => gap = true,
            Some("tool_use") => {
                assert!(found.calls.insert(text("id")), "{context}: a call twice, in line {}", n + 1);
            }
            Some("tool_result") => {
                let id = text("tool_use_id");
                assert!(
                    gap || found.calls.contains(&id),
                    "{context}: a result before its call, in line {}",
                    n + 1
                );
                assert!(found.results.insert(id), "{context}: a result twice, in line {}", n + 1);
            }
            _ => {}
        }
    }
    Some(found)
}
