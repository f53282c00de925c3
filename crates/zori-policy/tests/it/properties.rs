//! SH-14 on verdicts: whatever is put around, beside or between commands, the answer is never weaker than theirs.
//!
//! `zori-shell` has the same on what the analysis finds.

use zori_core::permission::Verdict;
use zori_policy::{Mode, ModeChoice, Policy, decide};
use zori_testkit::random::{Random, cases};
use zori_testkit::shell::{text, wrap};

use crate::profile::{policy, shell};

/// Denied by rule in the profiles below, each with a spelling that hides it.
const DENIED: &[&str] = &[
    "curl http://x.invalid",
    "wget x.invalid",
    "git push",
    "rm a.txt",
    "c''url x",
    "\\curl x",
    "$'rm' a.txt",
    "/usr/bin/curl x",
    "\"git\" 'push'",
    "r\\m a.txt",
];
/// Allowed by rule or by being harmless.
const ALLOWED: &[&str] = &[
    "ls",
    "ls -la src",
    "git status",
    "git diff HEAD",
    "cat src/a.rs",
    "echo hi",
    "pwd",
    "head -5 src/a.rs",
];
/// Not allowed by anything.
const OTHERS: &[&str] = &[
    "make all",
    "git commit -m x",
    "npm install left-pad",
    "$X a",
    "touch src/b",
    "python3 x.py",
    "curl x",
    "cat /etc/shadow",
];
const JOINTS: &[&str] = &["; ", " && ", " || ", " | ", "\n", " & ", ";", "&&"];

/// The same rules in a mode that asks and in the one that does not.
fn policies() -> [Policy; 2] {
    let asking = policy("dflt");
    let yolo = Policy { mode: ModeChoice::implicit(Mode::Yolo), ..asking.clone() };
    [asking, yolo]
}

fn verdict(policy: &Policy, text: &str) -> Verdict {
    decide(policy, &shell(policy, text)).verdict
}

/// The strictness of a verdict, as a number to compare.
fn strictness(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Allow => 0,
        Verdict::Ask => 1,
        Verdict::Deny => 2,
    }
}

#[test]
fn a_disguise_does_not_help_a_denied_command() {
    let policies = policies();
    let mut random = Random::new(214);
    let count = cases(5_000, 50_000);
    for number in 0..count {
        let mut text = random.pick(DENIED).to_owned();
        let mut simple = true;
        for _ in 0..1 + random.below(4) {
            text = wrap(&mut random, &text, &mut simple);
        }
        assert_ne!(verdict(&policies[number % policies.len()], &text), Verdict::Allow, "{text:?}");
    }
    println!("{count} cases");
}

#[test]
fn company_does_not_help_a_command() {
    let policy = policy("dflt");
    let mut random = Random::new(2141);
    let count = cases(5_000, 50_000);
    for text in ALLOWED {
        assert_eq!(verdict(&policy, text), Verdict::Allow, "{text}");
    }
    for text in OTHERS {
        assert_ne!(verdict(&policy, text), Verdict::Allow, "{text}");
    }
    for _ in 0..count {
        let mut parts = vec![random.pick(OTHERS)];
        for _ in 0..1 + random.below(4) {
            let at = random.below(parts.len() + 1);
            parts.insert(at, random.pick(ALLOWED));
        }
        let mut text = parts[0].to_owned();
        for part in &parts[1..] {
            text.push_str(random.pick(JOINTS));
            text.push_str(part);
        }
        assert_ne!(verdict(&policy, &text), Verdict::Allow, "{text:?}");
    }
    println!("{count} cases");
}

#[test]
fn a_whole_is_as_strict_as_its_strictest_part() {
    let policies = policies();
    let mut random = Random::new(2142);
    let count = cases(5_000, 50_000);
    let mut strict = 0;
    for number in 0..count {
        let policy = &policies[number % policies.len()];
        let part = |random: &mut Random| match random.below(4) {
            0 => random.pick(DENIED).to_owned(),
            1 => random.pick(OTHERS).to_owned(),
            2 => random.pick(ALLOWED).to_owned(),
            _ => text(random),
        };
        let (first, second) = (part(&mut random), part(&mut random));
        // A text that is not whole on its own (an open quote, a comment, a here-document) takes in what follows.
        if first.contains(['#', '<', '\'', '"', '\\', '`', '$', '{', '(']) || first.ends_with(['&', '|']) {
            continue;
        }
        let parts = strictness(verdict(policy, &first)).max(strictness(verdict(policy, &second)));
        let joined = format!("{first}{}{second}", random.pick(&["; ", "\n", " && "]));
        assert!(strictness(verdict(policy, &joined)) >= parts, "{joined:?}");
        strict += usize::from(parts > 0);
    }
    assert!(strict > count / 10, "only {strict} of {count} texts were not allowed anyway");
    println!("{count} cases");
}

#[test]
fn blanks_do_not_change_a_verdict() {
    let policy = policy("dflt");
    let mut random = Random::new(2143);
    let count = cases(5_000, 50_000);
    for _ in 0..count {
        let all = [ALLOWED, OTHERS, DENIED];
        let (mut plain, mut spaced) = (String::new(), String::new());
        for number in 0..1 + random.below(3) {
            if number > 0 {
                let joint = random.pick(&["|", "&&", "||", ";"]);
                plain.push_str(&format!(" {joint} "));
                spaced.push_str(joint);
                spaced.push_str(random.pick(&["", " ", "\t", " \\\n ", "\n"]));
            }
            let list = random.pick(&all);
            let part = random.pick(list);
            plain.push_str(part);
            for (number, word) in part.split(' ').enumerate() {
                if number > 0 {
                    spaced.push_str(random.pick(&[" ", "  ", "\t", " \\\n", "\\\n\t"]));
                }
                spaced.push_str(word);
            }
            spaced.push_str(random.pick(&["", " ", "\t  "]));
        }
        assert_eq!(verdict(&policy, &spaced), verdict(&policy, &plain), "{spaced:?}");
    }
    println!("{count} cases");
}
