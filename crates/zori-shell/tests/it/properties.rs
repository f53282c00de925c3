//! SH-14 on facts: whatever is put around a command, it is found, or the analysis says that it does not know.
//! `zori-policy` has the same on verdicts.

use zori_shell::{Analysis, Command, CommandEffect, analyse};
use zori_testkit::random::{Random, cases};
use zori_testkit::shell::{text, wrap};

use crate::show::context;

fn finds(analysis: &Analysis, name: &str) -> bool {
    let unknown = |effect: &CommandEffect| matches!(effect, CommandEffect::Unresolved(_));
    let base = |word: &str| word.rsplit('/').next().unwrap_or_default().to_owned();
    // A program nobody knows may run its arguments; rules look at those (SH-7).
    let carried = |command: &Command| {
        !zori_shell::is_known_program(&command.base_name)
            && command.argv.iter().any(|word| base(word.shown()) == name)
    };
    !analysis.unresolved.is_empty()
        || analysis
            .commands
            .iter()
            .any(|command| command.base_name == name || unknown(&command.effect) || carried(command))
}

#[test]
fn a_wrapped_command_is_still_seen() {
    let context = context();
    let mut random = Random::new(14);
    let count = cases(10_000, 100_000);
    for _ in 0..count {
        let mut text = random
            .pick(&["curl x", "c''url x", "\\curl x", "$'curl' x", "/usr/bin/curl x", "\"curl\" x"])
            .to_owned();
        let mut simple = true;
        for _ in 0..1 + random.below(4) {
            text = wrap(&mut random, &text, &mut simple);
        }
        assert!(finds(&analyse(&text, &context), "curl"), "{text}");
    }
    println!("{count} cases");
}

#[test]
fn joining_hides_nothing() {
    let context = context();
    let mut random = Random::new(141);
    let count = cases(5_000, 50_000);
    for _ in 0..count {
        let first = text(&mut random);
        let joint = random.pick(&["; ", " && ", " || ", " | ", "\n", " & "]);
        if !analyse(&first, &context).unresolved.is_empty() || first.ends_with('\\') {
            continue;
        }
        let joined = format!("{first}{joint}curl x");
        assert!(finds(&analyse(&joined, &context), "curl") || first.contains(['#', '<']), "{joined:?}");
    }
    println!("{count} cases");
}

#[test]
fn blanks_between_tokens_change_nothing() {
    let context = context();
    let mut random = Random::new(142);
    let count = cases(5_000, 50_000);
    for _ in 0..count {
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
            analysis.raw_words = None;
            analysis
        };
        assert_eq!(strip(analyse(&plain, &context)), strip(analyse(&spaced, &context)), "{spaced:?}");
    }
    println!("{count} cases");
}
