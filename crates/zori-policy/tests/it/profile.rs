//! The shared profiles, and a shell text as a call.

use zori_core::tool::{Effect, ToolKind};
use zori_policy::file::PolicyFile;
use zori_policy::{Call, Policy};

/// Those of the first corpus, and more.
const PROFILES: &str = include_str!("../../../../fixtures/shell/profiles-2.json");

pub fn policy(profile: &str) -> Policy {
    let file = PolicyFile::parse(PROFILES, "profiles.json").expect("the profiles can be read");
    // It remarks on `Bash(awk:*)`, which lets anything run (RULE-5).
    file.policy(profile, "profiles.json").expect("the profile is there").0
}

pub fn shell(policy: &Policy, command: &str) -> Call {
    let effect = Effect::Exec { command: command.to_owned(), cwd: policy.workspace.cwd.clone() };
    Call::new("bash", Some(ToolKind::Bash), &[effect], &policy.workspace)
}
