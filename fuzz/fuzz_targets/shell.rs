//! Any text as a command for the shell. Rules and policy files have the target `rules`.
//!
//! What must hold: no panic; the same answer twice; and what is denied without company is not allowed behind other
//! commands. libFuzzer watches time and memory.

#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use zori_core::permission::Verdict;
use zori_core::tool::{Effect, ToolKind};
use zori_policy::file::PolicyFile;
use zori_policy::{Call, Policy, decide};

const PROFILES: &str = include_str!("../../fixtures/shell/profiles.json");

static POLICIES: LazyLock<Vec<Policy>> = LazyLock::new(|| {
    let file = PolicyFile::parse(PROFILES, "profiles.json").expect("the profiles can be read");
    ["dflt", "yolo", "yolo-deny"]
        .map(|name| file.policy(name, "profiles.json").expect("it is there").0)
        .into()
});

fuzz_target!(|input: &[u8]| {
    let Some((&choice, rest)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(rest) else { return };
    let policy = &POLICIES[usize::from(choice) % POLICIES.len()];
    let once = verdict_of(policy, text);
    assert_eq!(verdict_of(policy, text), once, "a decision is a function of its input");
    // On a line of its own before everything else nothing can hide it; the mode `yolo` has no rule against it.
    let behind = verdict_of(policy, &format!("curl x\n{text}"));
    assert!(behind != Verdict::Allow || usize::from(choice) % POLICIES.len() == 1, "{text:?}");
});

fn verdict_of(policy: &Policy, command: &str) -> Verdict {
    let effect = Effect::Exec { command: command.to_owned(), cwd: policy.workspace.cwd.clone() };
    decide(policy, &Call::new("bash", Some(ToolKind::Bash), &[effect], &policy.workspace)).verdict
}
