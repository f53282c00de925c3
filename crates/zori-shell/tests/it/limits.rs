//! No text costs more than its size allows (DEC-7), however it is made.

use std::time::{Duration, Instant};

use zori_shell::{MAX_BYTES, analyse};

use crate::show::scene;

/// What a test build may take; a release build is an order of magnitude faster.
const BOUND: Duration = Duration::from_secs(10);

fn hostile() -> Vec<(String, String)> {
    let mut texts = Vec::new();
    let openers = [
        "(",
        "((",
        "$(",
        "$((",
        "${a:-",
        "`",
        "\"$(",
        "\"",
        "'",
        "{ ",
        "{a,",
        "[[ ",
        "if ",
        "while ",
        "for ((",
        "case a in a) ",
        "<(",
        "a=(",
        "$[",
        "!",
        "! ",
        "time ",
        "coproc ",
        "f() ",
        "function f ",
        "\\",
        "<<E ",
        "sh -c '",
        "eval ",
        "env ",
        "$'",
        "${a[",
        "a[",
        "~",
        "*",
        "|",
        "&&",
        ";;",
        "then ",
        "do ",
        "select x in ",
        "until ",
        "\n",
        "#",
    ];
    for opener in openers {
        for count in [10, 40, 90, 100, 101, 5000] {
            texts.push((format!("{opener:?} x {count}"), opener.repeat(count)));
        }
    }
    for (open, close) in [
        ("(", ")"),
        ("((", "))"),
        ("$(", ")"),
        ("$((", "))"),
        ("${a:-", "}"),
        ("{ ", "; }"),
        ("\"$(", ")\""),
        ("<(", ")"),
        ("if a; then ", "; fi"),
        ("case a in a) ", " esac"),
        ("case a in a) ", ";; esac"),
        ("while a; do ", "; done"),
        ("{a,", "}"),
        ("f() { ", "; }"),
        ("[[ ( ", " ) ]]"),
        ("$((1+(", "))) "),
        ("$(( (", ") ) "),
    ] {
        for count in [10, 40, 60, 90, 99, 100, 2000] {
            let text = format!("{}{}{}", open.repeat(count), "ls;a", close.repeat(count));
            texts.push((format!("{open:?} ls {close:?} x {count}"), text));
        }
    }
    for word in [
        "a;", "a b ", "nohup ", "env A=1 ", "$a", "\"$a\"", "a=b ", ">a ", "`a` ", "$(a) ", "{a,b}",
        "{1..9}", "cd a;", "a|",
    ] {
        texts.push((format!("{word:?} to the limit"), word.repeat(MAX_BYTES / word.len())));
    }
    texts.push(("far over the limit".to_owned(), "rm -rf x; ".repeat(1 << 19)));
    texts
}

#[test]
fn no_text_takes_long() {
    let scene = scene();
    for (name, text) in hostile() {
        let start = Instant::now();
        let analysis = analyse(&text, &scene);
        let took = start.elapsed();
        assert!(took < BOUND, "{name} took {took:?}");
        assert!(analysis.commands.len() <= 2 * 4200, "{name} has {} commands", analysis.commands.len());
    }
}

#[test]
fn a_limit_never_hides_a_command() {
    let scene = scene();
    for text in [
        format!("{}curl x", "true; ".repeat(5000)),
        format!("{}curl x", "nohup ".repeat(500)),
        format!("{}curl x{}", "(".repeat(150), ")".repeat(150)),
        format!("{}curl x", "# ".repeat(40_000) + "\n"),
    ] {
        let analysis = analyse(&text, &scene);
        let seen = analysis.commands.iter().any(|command| command.base_name == "curl");
        let kept = analysis.words.iter().flat_map(|words| words.iter()).any(|word| word == "curl");
        assert!(seen || kept, "{}", &text[..40]);
        assert!(
            !analysis.unresolved.is_empty()
                || analysis
                    .commands
                    .iter()
                    .any(|c| matches!(c.effect, zori_shell::CommandEffect::Unresolved(_)))
        );
    }
}
