//! A small world for tests: workspace `/ws`, home `/home/u`, base `/home/u/.config/zori`.

use zori_core::permission::{Layer, Verdict};

use crate::mode::{Choice, Protocol};
use crate::paths::{Ground, GroundParts};
use crate::policy::{Asker, Policy, ShellPolicy};
use crate::rules::{OwnedAnchors, Rules, Written};

pub(crate) fn ground() -> Ground {
    Ground::new(GroundParts {
        roots: vec!["/ws".into()],
        cwd: "/ws".into(),
        home: Some("/home/u".into()),
        base: Some("/home/u/.config/zori".into()),
        repo: Some("/ws".into()),
        programs: vec!["/usr/local/bin".into()],
        sensitive: vec![],
    })
}

/// A policy without rules in which the shell can be used.
pub(crate) fn policy(mode: &str) -> Policy {
    Policy {
        mode: Choice::named(mode, Protocol::Own).unwrap(),
        rules: Rules::default(),
        ground: ground(),
        shell: ShellPolicy::OPEN,
        asker: Asker::Present,
        agent: None,
    }
}

pub(crate) fn add(policy: &mut Policy, verdict: Verdict, text: &str) {
    let written = Written { verdict, text: text.into(), layer: Layer::User, source: "config.toml:1".into() };
    let anchors =
        OwnedAnchors { home: Some("/home/u".into()), workspace: "/ws".into(), rule_root: "/ws".into() };
    let mut remarks = Vec::new();
    policy.rules.add(&written, &anchors, &mut remarks);
    assert_eq!(remarks, [], "{text}");
}

pub(crate) fn allow(policy: &mut Policy, text: &str) {
    add(policy, Verdict::Allow, text);
}
