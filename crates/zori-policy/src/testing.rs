//! A small world for tests: workspace `/ws`, home `/home/u`, base `/home/u/.config/zori`.

use zori_core::permission::{Layer, Verdict};

use crate::mode::{ModeChoice, Protocol};
use crate::paths::{Workspace, WorkspaceParts};
use crate::policy::{Approver, Policy, ShellPolicy};
use crate::rules::{OwnedAnchors, Rules, UnparsedRule};

pub(crate) fn workspace() -> Workspace {
    Workspace::new(WorkspaceParts {
        roots: vec!["/ws".into()],
        cwd: "/ws".into(),
        home: Some("/home/u".into()),
        data_dir: Some("/home/u/.config/zori".into()),
        path_dirs: vec!["/usr/local/bin".into()],
        sensitive: vec![],
    })
}

/// A policy without rules in which the shell can be used.
pub(crate) fn policy(mode: &str) -> Policy {
    Policy {
        mode: ModeChoice::named(mode, Protocol::Own).unwrap(),
        rules: Rules::default(),
        workspace: workspace(),
        shell: ShellPolicy::OPEN,
        approver: Approver::Present,
        agent: None,
    }
}

pub(crate) fn add(policy: &mut Policy, verdict: Verdict, text: &str) {
    let written =
        UnparsedRule { verdict, text: text.into(), layer: Layer::User, source: "config.toml:1".into() };
    let anchors =
        OwnedAnchors { home: Some("/home/u".into()), workspace: "/ws".into(), rule_root: "/ws".into() };
    let mut warnings = Vec::new();
    policy.rules.add(&written, &anchors, &mut warnings);
    assert_eq!(warnings, [], "{text}");
}
