//! Any text as a rule and as a policy file.
//!
//! What must hold: no panic; a rule holds as it is written, or its author is told and it opens nothing (RULE-1); what is not
//! for one verdict is not taken for another.

#![no_main]

use std::path::PathBuf;

use libfuzzer_sys::fuzz_target;
use zori_core::permission::{Layer, Verdict};
use zori_policy::file::PolicyFile;
use zori_policy::rules::{OwnedAnchors, Rules, UnparsedRule};

fuzz_target!(|input: &[u8]| {
    let Ok(text) = std::str::from_utf8(input) else { return };
    if text.trim_start().starts_with('{') {
        file(text);
    }
    rule(text);
});

fn rule(text: &str) {
    let anchors = OwnedAnchors {
        home: Some(PathBuf::from("/home/u")),
        workspace: PathBuf::from("/ws"),
        rule_root: PathBuf::from("/ws"),
    };
    for verdict in [Verdict::Allow, Verdict::Ask, Verdict::Deny] {
        let written = UnparsedRule { verdict, text: text.to_owned(), layer: Layer::User, source: "f".into() };
        let (mut rules, mut warnings) = (Rules::default(), Vec::new());
        rules.add(&written, &anchors, &mut warnings);
        let held = [rules.allow.len(), rules.ask.len(), rules.deny.len()];
        let wanted = match verdict {
            Verdict::Allow => [1, 0, 0],
            Verdict::Ask => [0, 1, 0],
            Verdict::Deny => [0, 0, 1],
        };
        assert!(held == wanted || !warnings.is_empty(), "{text:?} vanished");
        assert!(held[0] == 0 || verdict == Verdict::Allow, "{text:?} opens something");
        assert!(warnings.iter().all(|warning| !warning.text.is_empty()));
    }
}

fn file(text: &str) {
    if let Ok(file) = PolicyFile::parse(text, "f") {
        for name in file.profiles() {
            let _ = file.policy(name, "f");
        }
    }
}
