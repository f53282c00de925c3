//! What comes in families is covered: each member is called in a fixture or a behaviour test. Its docs line comes
//! from the same table, so that `docs` finds a missing one.

use zori_providers::catalog::{Api, PROVIDERS};

use super::Finding;
use crate::docs;
use crate::workspace::Workspace;

/// Where tests of the whole program live.
const BEHAVIOUR: &str = "crates/zori/tests";

/// Looks up every member of every family.
pub fn find(workspace: &Workspace) -> Vec<Finding> {
    let mut findings = Vec::new();
    for tool in docs::tool_names() {
        let called = [format!("\"name\":\"{tool}\""), format!("\"tool\":\"{tool}\"")];
        let in_fixture = workspace.below("fixtures").any(|file| {
            let dense = file.text.replace(": ", ":");
            called.iter().any(|call| dense.contains(call))
        });
        if !in_fixture && !in_behaviour_test(workspace, &format!("\"{tool}\"")) {
            findings.push(Finding::file("fixtures", format!("nothing calls the tool `{tool}`")));
        }
    }
    for provider in PROVIDERS {
        let folder = match provider.api {
            Api::Anthropic => "fixtures/anthropic",
            Api::OpenAiChat(_) => "fixtures/openai_chat",
            Api::OpenAiResponses => "fixtures/openai_responses",
            Api::Gemini => "fixtures/gemini",
            Api::AgentZero => "fixtures/agent_zero",
        };
        if !workspace.below(folder).any(|file| file.path.ends_with(".sse")) {
            findings
                .push(Finding::file(folder, format!("holds no stream of the provider `{}`", provider.name)));
        }
    }
    for path in docs::command_paths() {
        let words: Vec<_> = path.iter().map(|word| format!("\"{word}\"")).collect();
        if !in_behaviour_test(workspace, &words.join(", ")) {
            findings.push(Finding::file(BEHAVIOUR, format!("no test runs `{}`", path.join(" "))));
        }
    }
    findings
}

fn in_behaviour_test(workspace: &Workspace, text: &str) -> bool {
    workspace.below(BEHAVIOUR).any(|file| file.text.contains(text))
}
