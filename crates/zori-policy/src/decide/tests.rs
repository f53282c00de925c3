//! The steps in order, on calls without a shell; and every cell of the table, with and without somebody to ask.

use zori_core::permission::PathFacts;
use zori_core::tool::{Effect, ToolKind};

use super::*;
use crate::call::HookAnswer;
use crate::mode::Mode;
use crate::policy::Approver;
use crate::testing::{add, policy};

fn call(policy: &Policy, kind: ToolKind, effects: &[Effect]) -> Call {
    Call::new("tool", Some(kind), effects, &policy.workspace)
}

fn say(decision: &Decision) -> String {
    format!(
        "{} {} by {}: {}",
        decision.verdict.as_str(),
        decision.class.as_str(),
        decision.step,
        decision.reason
    )
}

fn read(path: &str) -> Effect {
    Effect::Read(path.into())
}

fn write(path: &str) -> Effect {
    Effect::Write(path.into())
}

/// A call of each class that needs no shell. Those of the shell are in `tests/it/corpus.rs`.
fn example(class: Class) -> Option<(ToolKind, Effect)> {
    Some(match class {
        Class::Internal => (ToolKind::Todo, Effect::Internal),
        Class::Read => (ToolKind::Read, read("/ws/a")),
        Class::ReadOutside => (ToolKind::Read, read("/ws-x/a")),
        Class::ReadSensitive => (ToolKind::Read, read("/home/u/.ssh/id_rsa")),
        Class::Write => (ToolKind::Write, write("/ws/a")),
        Class::WriteOutside => (ToolKind::Write, write("/ws-x/a")),
        Class::WriteProtected => (ToolKind::Write, write("/ws/.git/config")),
        Class::Network => (ToolKind::Fetch, Effect::Net { url: "https://x.org".into() }),
        Class::McpRead => (
            ToolKind::Todo,
            Effect::Mcp {
                server: "s".into(),
                tool: "t".into(),
                trusted_reader: true,
                change: Default::default(),
            },
        ),
        Class::Mcp => (
            ToolKind::Todo,
            Effect::Mcp {
                server: "s".into(),
                tool: "t".into(),
                trusted_reader: false,
                change: Default::default(),
            },
        ),
        Class::Agent => (ToolKind::Todo, Effect::Agent),
        Class::MemoryWrite => (ToolKind::Todo, Effect::Memory),
        Class::Schedule => (ToolKind::Todo, Effect::Schedule),
        Class::ShellRead | Class::ShellFile | Class::Shell | Class::ShellUnknown => return None,
    })
}

#[test]
fn every_cell_with_and_without_somebody_to_ask() {
    let mut cells = 0;
    for mode in Mode::ALL {
        for approver in [Approver::Present, Approver::Absent] {
            let policy = Policy { approver, ..policy(mode.as_str()) };
            for class in Class::ALL {
                let Some((kind, effect)) = example(*class) else { continue };
                let decision = decide(&policy, &call(&policy, kind, &[effect]));
                assert_eq!(decision.class, *class);
                let cell = crate::table::verdict(policy.mode, *class);
                let expected = match (cell, approver) {
                    (Verdict::Ask, Approver::Absent) => Verdict::Deny,
                    (cell, _) => cell,
                };
                assert_eq!(
                    decision.verdict, expected,
                    "{mode:?} {class:?} {approver:?}: {}",
                    decision.reason
                );
                let unavailable = decision.nobody_to_ask;
                assert_eq!(
                    unavailable,
                    cell == Verdict::Ask && approver == Approver::Absent,
                    "{}",
                    decision.reason
                );
                cells += 1;
            }
        }
    }
    assert_eq!(cells, 7 * 2 * 13, "the shell's classes are tried with real commands");
}

#[test]
fn malformed_calls_are_denied_in_every_mode() {
    let yolo = policy("yolo");
    let long = format!("/ws/{}", "a".repeat(5000));
    for effect in [read("/ws/a\0b"), write(&long)] {
        let decision = decide(&yolo, &call(&yolo, ToolKind::Read, &[effect]));
        assert_eq!((decision.verdict, decision.step), (Verdict::Deny, 1));
    }
    let nothing = Call::new("nope", None, &[], &yolo.workspace);
    assert_eq!(say(&decide(&yolo, &nothing)), "deny X by 1: there is no tool `nope`");
    let malformed = Call::malformed("read", "no such field `pth`");
    assert_eq!(say(&decide(&yolo, &malformed)), "deny X by 1: no such field `pth`");
}

#[test]
fn own_state_is_out_of_reach_even_in_yolo() {
    let mut yolo = policy("yolo");
    add(&mut yolo, Verdict::Allow, "Edit");
    let base = "/home/u/.config/zori";
    for name in [
        "config.toml",
        "trust.json",
        "vault.age",
        "audit.jsonl",
        "sessions/a.jsonl",
        "projects/k/audit.jsonl",
    ] {
        let decision = decide(&yolo, &call(&yolo, ToolKind::Write, &[write(&format!("{base}/{name}"))]));
        assert_eq!((decision.verdict, decision.step), (Verdict::Deny, 2), "{name}");
    }
    // Through a link as well.
    let mut linked = call(&yolo, ToolKind::Write, &[write("/ws/innocent")]);
    let facts = PathFacts {
        places: vec!["/ws/innocent".into(), format!("{base}/config.toml").into()],
        ..PathFacts::by_text("/".into())
    };
    linked.gather(|_| facts.clone());
    assert_eq!(
        say(&decide(&yolo, &linked)),
        "deny WP by 2: /ws/innocent is the program's own state, which no call may change"
    );
    // It may be read, and what is not state may be written.
    assert_eq!(
        decide(&yolo, &call(&yolo, ToolKind::Read, &[read(&format!("{base}/config.toml"))])).verdict,
        Verdict::Allow
    );
    assert_eq!(
        decide(&yolo, &call(&yolo, ToolKind::Write, &[write(&format!("{base}/skills/x.md"))])).verdict,
        Verdict::Allow
    );
}

#[test]
fn deny_beats_ask_beats_allow_whatever_the_order() {
    let mut policy = policy("yolo");
    add(&mut policy, Verdict::Allow, "Edit(src/**)");
    add(&mut policy, Verdict::Ask, "Edit(src/lib.rs)");
    add(&mut policy, Verdict::Deny, "Edit(src/secret/**)");
    let verdict = |path: &str| say(&decide(&policy, &call(&policy, ToolKind::Edit, &[write(path)])));
    assert_eq!(
        verdict("/ws/src/secret/a"),
        "deny W by 5: the rule `Edit(src/secret/**)` (config.toml:1) denies /ws/src/secret/a"
    );
    assert_eq!(
        verdict("/ws/src/lib.rs"),
        "ask W by 7: the rule `Edit(src/lib.rs)` (config.toml:1) asks about /ws/src/lib.rs"
    );
    assert_eq!(
        verdict("/ws/src/a.rs"),
        "allow W by 11: mode yolo allows W: Creates or edits inside a workspace root"
    );
    assert_eq!(
        verdict("/ws/src/SECRET/a").split(':').next(),
        Some("deny W by 5"),
        "names that are denied fold"
    );
}

#[test]
fn an_allow_rule_has_to_cover_every_part() {
    let mut policy = policy("default");
    add(&mut policy, Verdict::Allow, "Edit(src/**)");
    let patch = |paths: &[&str]| {
        let effects: Vec<_> = paths.iter().map(|path| write(path)).collect();
        say(&decide(&policy, &call(&policy, ToolKind::Patch, &effects)))
    };
    assert_eq!(
        patch(&["/ws/src/a", "/ws/src/b"]),
        "allow W by 10: the rule `Edit(src/**)` (config.toml:1) allows /ws/src/a"
    );
    assert_eq!(
        patch(&["/ws/src/a", "/ws/b"]),
        "ask W by 11: mode default asks about W: Creates or edits inside a workspace root"
    );
}

#[test]
fn a_link_is_judged_by_its_target_and_its_own_place() {
    let mut policy = policy("default");
    add(&mut policy, Verdict::Allow, "Edit(src/**)");
    add(&mut policy, Verdict::Deny, "Read(./private/**)");
    let linked = |effect: Effect, kind, places: &[&str]| {
        let mut call = call(&policy, kind, &[effect]);
        let places: Vec<_> = places.iter().map(Into::into).collect();
        call.gather(|_| PathFacts { places: places.clone(), ..PathFacts::by_text("/".into()) });
        let decision = decide(&policy, &call);
        format!("{} {} by {}", decision.verdict.as_str(), decision.class.as_str(), decision.step)
    };
    assert_eq!(linked(write("/ws/src/l"), ToolKind::Edit, &["/ws/src/l", "/etc/passwd"]), "ask WP by 9");
    assert_eq!(linked(write("/ws/src/l"), ToolKind::Edit, &["/ws/src/l", "/out/x"]), "ask WX by 11");
    assert_eq!(linked(read("/ws/l"), ToolKind::Read, &["/ws/l", "/out/x"]), "ask RX by 11");
    assert_eq!(linked(read("/ws/l"), ToolKind::Read, &["/ws/l", "/ws/private/x"]), "deny R by 5");
    assert_eq!(linked(read("/ws/private/l"), ToolKind::Read, &["/ws/private/l", "/ws/x"]), "deny R by 5");
    assert_eq!(linked(read("/ws/l"), ToolKind::Read, &["/ws/l", "/ws/x"]), "allow R by 11");
}

#[test]
fn guarded_paths_ask_even_where_a_rule_allows() {
    let mut policy = policy("acceptEdits");
    add(&mut policy, Verdict::Allow, "Edit");
    add(&mut policy, Verdict::Allow, "Read");
    let verdict = |kind, effect| say(&decide(&policy, &call(&policy, kind, &[effect])));
    assert_eq!(
        verdict(ToolKind::Write, write("/ws/.git/hooks/pre-commit")),
        "ask WP by 9: /ws/.git/hooks/pre-commit is protected: it decides what runs later"
    );
    assert_eq!(verdict(ToolKind::Read, read("/ws/.env")), "ask RS by 9: /ws/.env may hold secrets");
    assert_eq!(
        verdict(ToolKind::Write, write("/proc/sys/kernel/x")),
        "deny WX by 9: /proc/sys/kernel/x belongs to the system, not to the disk"
    );
    let mut linked = call(&policy, ToolKind::Write, &[write("/ws/a")]);
    linked.gather(|path| PathFacts {
        kind: zori_core::permission::PathKind::File,
        links: 2,
        ..PathFacts::by_text(path.to_owned())
    });
    assert_eq!(
        say(&decide(&policy, &linked)),
        "ask W by 9: /ws/a has other names, which may be outside the workspace"
    );
}

#[test]
fn hooks_tighten_before_rules_and_allow_after_them() {
    let policy = policy("default");
    let with = |verdict, effect| {
        let mut call = call(&policy, ToolKind::Write, &[effect]);
        call.hook = Some(HookAnswer { verdict, reason: "so".into() });
        say(&decide(&policy, &call))
    };
    assert_eq!(with(Verdict::Deny, write("/ws/a")), "deny W by 6: a hook denies: so");
    assert_eq!(with(Verdict::Ask, read("/ws/a")), "ask R by 6: a hook asks: so");
    assert_eq!(with(Verdict::Allow, write("/ws/a")), "allow W by 10: a hook allows it: so");
    assert!(with(Verdict::Allow, write("/ws/.git/x")).starts_with("ask WP by 9"));
}

#[test]
fn hosts_servers_and_agents_have_their_rules() {
    let mut policy = policy("default");
    add(&mut policy, Verdict::Allow, "WebFetch(domain:*.x.org)");
    add(&mut policy, Verdict::Deny, "WebFetch(domain:bad.x.org)");
    add(&mut policy, Verdict::Allow, "mcp__gh__get_*");
    add(&mut policy, Verdict::Deny, "Task");
    let verdict = |effect| decide(&policy, &call(&policy, ToolKind::Fetch, &[effect])).verdict;
    let net = |url: &str| Effect::Net { url: url.into() };
    assert_eq!(verdict(net("https://a.x.org/")), Verdict::Allow);
    assert_eq!(verdict(net("https://bad.x.org/")), Verdict::Deny);
    assert_eq!(verdict(net("https://y.org/")), Verdict::Ask);
    let mcp = |tool: &str| Effect::Mcp {
        server: "gh".into(),
        tool: tool.into(),
        trusted_reader: false,
        change: Default::default(),
    };
    assert_eq!(verdict(mcp("get_issue")), Verdict::Allow);
    assert_eq!(verdict(mcp("delete")), Verdict::Ask);
    assert_eq!(verdict(Effect::Agent), Verdict::Deny);
}

/// A client turns `①` into `1` and dials the address: what cannot be read is not fetched, in any mode.
#[test]
fn a_host_that_is_not_certain() {
    for mode in ["yolo", "default"] {
        let mut policy = policy(mode);
        add(&mut policy, Verdict::Allow, "WebFetch");
        let decision = |url: &str| {
            let effect = Effect::Net { url: url.into() };
            let decision = decide(&policy, &call(&policy, ToolKind::Fetch, &[effect]));
            format!("{} by {}: {}", decision.verdict.as_str(), decision.step, decision.reason)
        };
        assert_eq!(
            decision("http://①⑥⑨.254.169.254/latest"),
            "deny by 1: which host http://①⑥⑨.254.169.254/latest means is not certain; write it in ASCII letters (`xn--...`), or as an address"
        );
        assert!(decision("http://169。254。169。254/").starts_with("deny by 1"));
        assert!(decision("http://x.org/①").starts_with("allow by 1"), "{mode}");
    }
}

#[test]
fn what_was_not_looked_up_counts_as_outside() {
    let policy = policy("default");
    let mut unknown = call(&policy, ToolKind::Read, &[read("/ws/a")]);
    unknown.facts = crate::call::Facts::Gathered(Default::default(), Default::default());
    assert_eq!(decide(&policy, &unknown).class, Class::ReadOutside);
}

#[test]
fn a_sub_agents_question_names_it() {
    let policy = Policy { agent: Some("reviewer".into()), ..policy("default") };
    let decision = decide(&policy, &call(&policy, ToolKind::Write, &[write("/ws/a")]));
    assert!(decision.reason.starts_with("sub-agent reviewer: mode default asks"));
}

#[test]
fn explaining_walks_the_same_steps() {
    let mut policy = policy("default");
    policy.approver = Approver::Absent;
    add(&mut policy, Verdict::Ask, "Edit(a)");
    let explanation = explain(&policy, &call(&policy, ToolKind::Write, &[write("/ws/a")]));
    let lines: Vec<String> = explanation
        .steps
        .iter()
        .map(|step| match &step.outcome {
            StepOutcome::Passed => format!("{} {}: -", step.number, step.title),
            StepOutcome::NotReached => format!("{} {}: not reached", step.number, step.title),
            StepOutcome::Found { verdict, reason } => {
                format!("{} {}: {}, {reason}", step.number, step.title, verdict.as_str())
            }
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    1 malformed input: -
    2 own state: -
    3 blacklist: -
    4 mode: -
    5 deny rules: -
    6 hooks: -
    7 ask rules: ask, the rule `Edit(a)` (config.toml:1) asks about /ws/a
    8 not known while rules deny: not reached
    9 protected and sensitive: not reached
    10 allow rules: not reached
    11 mode and class: not reached
    12 nobody to ask: deny, approval_unavailable: the rule `Edit(a)` (config.toml:1) asks about /ws/a, and nobody can be asked in this run
    ");
    assert_eq!(explanation.decision.step, 12);
    assert_eq!(explanation.decision.rule.unwrap().text.as_ref(), "Edit(a)");
}

/// CUS-3: what a command's `allowed-tools` do not name is denied in every mode, but for what only looks; they let nothing run.
#[test]
fn a_narrowed_turn() {
    let of = |mode: &str, rules: &[&str], kind, effect: Effect| {
        let mut policy = policy(mode);
        let rules: Vec<String> = rules.iter().map(|rule| (*rule).to_owned()).collect();
        policy.narrow("the command /fix", &rules);
        say(&decide(&policy, &call(&policy, kind, &[effect])))
    };
    let denied = "deny W by 5: the command /fix allows `Bash(git:*)` and what only looks, and this is W";
    assert_eq!(of("yolo", &["Bash(git:*)"], ToolKind::Write, write("/ws/a")), denied);
    let nothing = "deny W by 5: the command /fix allows nothing and what only looks, and this is W";
    assert_eq!(of("yolo", &["Nonsense(x)"], ToolKind::Write, write("/ws/a")), nothing);
    let granted = [
        of("yolo", &["Edit"], ToolKind::Write, write("/ws/a")),
        of("default", &["Edit"], ToolKind::Write, write("/ws/a")),
        of("default", &[], ToolKind::Read, read("/ws/a")),
        of("default", &[], ToolKind::Todo, Effect::Internal),
    ];
    assert_eq!(
        granted,
        [
            "allow W by 11: mode yolo allows W: Creates or edits inside a workspace root",
            "ask W by 11: mode default asks about W: Creates or edits inside a workspace root",
            "allow R by 11: mode default allows R: Reads, lists or searches inside a workspace root",
            "allow I by 11: mode default allows I: Internal state: task list, plan text, question to the user",
        ]
    );
    let mut policy = policy("yolo");
    policy.narrow("the command /fix", &[]);
    policy.widen();
    let widened = say(&decide(&policy, &call(&policy, ToolKind::Write, &[write("/ws/a")])));
    assert_eq!(widened, granted[0]);
}
