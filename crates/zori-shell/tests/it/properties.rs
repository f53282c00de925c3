//! SH-14 on facts: whatever is put around a command, it is found, or the analysis says that it does not know. The number
//! of cases is `ZORI_SHELL_CASES`, or what CI can afford.

use zori_shell::{Analysis, Command, CommandEffect, analyse};

use crate::generate::{Random, cases, text};
use crate::show::scene;

fn finds(analysis: &Analysis, name: &str) -> bool {
    let unknown = |effect: &CommandEffect| matches!(effect, CommandEffect::Unresolved(_));
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    // A program nobody knows may run its arguments; rules look at those (SH-7).
    let carried = |command: &Command| {
        !zori_shell::knows(&command.base_name) && command.argv.iter().any(|word| base(word.shown()) == name)
    };
    !analysis.unresolved.is_empty()
        || analysis
            .commands
            .iter()
            .any(|command| command.base_name == name || unknown(&command.effect) || carried(command))
}

/// Puts something around a command. What runs its words needs a simple command; the rest takes any.
fn wrap(random: &mut Random, inner: &str, simple: &mut bool) -> String {
    let quoted = inner.replace('\'', "'\\''");
    if *simple && random.below(3) == 0 {
        return match random.below(9) {
            0 => format!("timeout 5 {inner}"),
            1 => format!("nice -n 5 {inner}"),
            2 => format!("env A=1 {inner}"),
            3 => format!("env -i {inner}"),
            4 => format!("sudo -u x {inner}"),
            5 => format!("nohup {inner}"),
            6 => format!("find . -exec {inner} \\;"),
            7 => format!("exec {inner}"),
            _ => format!("busybox {inner}"),
        };
    }
    *simple = random.below(2) == 0;
    if *simple {
        return match random.below(10) {
            0 => format!("sh -c '{quoted}'"),
            1 => format!("bash -lc '{quoted}'"),
            2 => format!("eval '{quoted}'"),
            3 => format!("echo $({inner})"),
            4 => format!("echo \"$({inner})\""),
            5 => format!("cat <({inner})"),
            6 => format!("trap '{quoted}' EXIT"),
            7 => format!("echo ${{x:-$({inner})}}"),
            8 => format!("su -c '{quoted}'"),
            _ => format!("watch '{quoted}'"),
        };
    }
    match random.below(14) {
        0 => format!("({inner})"),
        1 => format!("{{ {inner}; }}"),
        2 => format!("if {inner}; then :; fi"),
        3 => format!("while {inner}; do break; done"),
        4 => format!("for i in a; do {inner}; done"),
        5 => format!("case a in a) {inner};; esac"),
        6 => format!("! {inner}"),
        7 => format!("true && {inner}"),
        8 => format!("ls | {inner}"),
        9 => format!("{inner} &"),
        10 => format!("f() {{ {inner}; }}"),
        11 => format!("echo '{quoted}' | sh"),
        12 => format!("sh <<'EOT'\n{inner}\nEOT"),
        _ => format!("git status\n{inner}"),
    }
}

#[test]
fn a_wrapped_command_is_still_seen() {
    let scene = scene();
    let mut random = Random::new(14);
    for _ in 0..cases(20_000) / 2 {
        let mut text = random
            .pick(&["curl x", "c''url x", "\\curl x", "$'curl' x", "/usr/bin/curl x", "\"curl\" x"])
            .to_owned();
        let mut simple = true;
        for _ in 0..1 + random.below(4) {
            text = wrap(&mut random, &text, &mut simple);
        }
        assert!(finds(&analyse(&text, &scene), "curl"), "{text}");
    }
}

#[test]
fn joining_hides_nothing() {
    let scene = scene();
    let mut random = Random::new(141);
    for _ in 0..cases(20_000) / 4 {
        let first = text(&mut random);
        let joint = random.pick(&["; ", " && ", " || ", " | ", "\n", " & "]);
        if !analyse(&first, &scene).unresolved.is_empty() || first.ends_with('\\') {
            continue;
        }
        let joined = format!("{first}{joint}curl x");
        assert!(finds(&analyse(&joined, &scene), "curl") || first.contains(['#', '<']), "{joined:?}");
    }
}

#[test]
fn blanks_between_tokens_change_nothing() {
    let scene = scene();
    let mut random = Random::new(142);
    for _ in 0..cases(20_000) / 4 {
        let words =
            ["ls", "-la", "|", "head", "-5", "&&", "git", "status", ";", "cat", "src/a", "||", "echo", "a"];
        let (mut plain, mut spaced) = (String::new(), String::new());
        for word in words.iter().take(2 + random.below(words.len() - 2)) {
            plain.push_str(word);
            plain.push(' ');
            spaced.push_str(random.pick(&[" ", "  ", "\t", " \\\n", "\\\n\t"]));
            spaced.push_str(word);
            spaced.push_str(random.pick(&[" ", "  ", "\t "]));
        }
        let strip = |mut analysis: Analysis| {
            for command in &mut analysis.commands {
                command.source.clear();
            }
            for unresolved in &mut analysis.unresolved {
                unresolved.shown.clear();
            }
            // Blanks separate words there, however many.
            analysis.words = None;
            analysis
        };
        assert_eq!(strip(analyse(&plain, &scene)), strip(analyse(&spaced, &scene)), "{spaced:?}");
    }
}
