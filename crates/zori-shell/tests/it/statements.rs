//! One test per statement: texts, and what is found in them.

use crate::show::show;

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (text, found) in cases {
        assert_eq!(show(text), *found, "{text}");
    }
}

#[test]
fn sh_1_a_program_is_its_bare_name_only_in_system_directories() {
    check(&[
        ("/usr/bin/curl x", "[curl|x] X @x"),
        ("/tmp/evil/git status", "[/tmp/evil/git|status] X"),
        ("./git status", "[./git|status] X"),
    ]);
}

#[test]
fn sh_3_only_newline_separates_and_a_carriage_return_is_a_letter() {
    check(&[(
        "git status\r\ntouch a",
        "[git|status\r] X !(none of git's own commands)\n[touch|a] XF >/ws/a",
    )]);
}

#[test]
fn sh_4_a_literal_cd_moves_what_follows() {
    check(&[
        ("cd src && cat a", "[cd|src] XR </ws/src\n[cat|a] XR </ws/src/a"),
        // It may fail, and the text goes on.
        ("cd src; cat a", "[cd|src] XR </ws/src\n[cat|a] XR </ws/src/a </ws/a"),
        ("cd /etc && touch a", "[cd|/etc] XR </etc\n[touch|a] XF >/etc/a"),
        ("cd \"$x\" && cat a", "[cd|<\"$x\">] XR <?\n[cat|a] XR <?"),
        ("for d in a; do cat x; cd ..; done", "[cat|x] XR <?\n[cd|..] XR <?"),
        ("(cd src); cat a", "[cd|src] XR </ws/src\n[cat|a] XR </ws/a"),
        (
            "cd src && git status",
            "[cd|src] XR </ws/src\n[git|status] XR !(after a `cd` the repository may be another)",
        ),
    ]);
}

#[test]
fn sh_5_definitions_make_later_commands_unknown() {
    check(&[
        ("alias ls=x; ls", "[alias|ls=x] X\n[ls] XU (names or options of the shell are changed) </ws"),
        ("PATH=.; ls", "[] XR\n[ls] XU (`PATH` or its like is changed) </ws"),
        ("hash -p ./x ls; ls", "[hash|-p|./x|ls] X\n[ls] XU (names of the shell are changed) </ws"),
        ("unset -f ls; ls", "[unset|-f|ls] X\n[ls] XU (a function is taken away) </ws"),
    ]);
}

#[test]
fn sh_9_assignments_take_away_approval_unless_harmless() {
    check(&[
        ("LC_ALL=C ls", "[ls] XR </ws"),
        ("FOO=1 ls", "[ls] XR </ws !(an assignment in front of it)"),
        ("export FOO=1; ls", "[export|FOO=1] X\n[ls] XR </ws !(a variable exported before it)"),
        ("x=1; ls", "[] XR\n[ls] XR </ws"),
    ]);
}

#[test]
fn sh_10_redirects_are_reads_and_writes() {
    check(&[
        ("ls >/dev/null 2>&1", "[ls] XR </ws"),
        ("> pwn", "[] XF >/ws/pwn"),
        ("cat <> a", "[cat] XF </ws/a >/ws/a"),
        ("{ ls; } > a", "[] XF >/ws/a\n[ls] XR </ws"),
        ("ls {fd}> a", "[ls] XF </ws >/ws/a\n[ls|{fd}] XF </ws/{fd} >/ws/a"),
        ("ls >& a", "[ls] XF </ws >/ws/a"),
        ("cat x > /dev/sda", "[cat|x] XF </ws/x >/dev/sda\n! write-device"),
    ]);
}

#[test]
fn sh_17_what_is_not_literal_is_anywhere_unless_a_directory_bounds_it() {
    check(&[
        ("cat \"$f\"", "[cat|<\"$f\">] XR <?"),
        ("cat src/*.rs", "[cat|<src/*.rs>] XR </ws/src/*.rs"),
        ("cat src/.*/x", "[cat|<src/.*/x>] XR <?"),
        ("cat src/*/../../x", "[cat|<src/*/../../x>] XR <?"),
        ("git log -- \"$f\"", "[git|log|--|<\"$f\">] XR <?"),
    ]);
}

#[test]
fn words_are_normalised() {
    check(&[
        ("e'c'h\"o\" \\a", "[echo|a] XR"),
        ("x=cat; \"$x\" a", "[] XR\n[cat|a] XR </ws/a"),
        ("x='cat a b'; $x", "[] XR\n[cat|a|b] XR </ws/a </ws/b"),
        ("cat ~/a \"$HOME/b\" $PWD/c", "[cat|/home/u/a|/home/u/b|/ws/c] XR </home/u/a </home/u/b </ws/c"),
        // Not from a branch, a loop, a pipe or a subshell.
        ("true && x=ls; $x", "[true] XR\n[] XR\n[<$x>] XU (a command word that is not known)"),
        ("(x=ls); $x", "[] XR\n[<$x>] XU (a command word that is not known)"),
    ]);
}

#[test]
fn substitutions_are_found_wherever_they_stand() {
    for text in [
        "echo $(curl x)",
        "echo `curl x`",
        "echo \"`echo \\`curl x\\``\"",
        "echo \"${a:-${b:=$(curl x)}}\"",
        "echo ${a[$(curl x)]}",
        "echo $((1 + $(curl x)))",
        "echo ${a:$(curl x):1}",
        "echo ${a/$(curl x)/b}",
        "cat <<E\n`curl x`\nE",
        "cat <<< \"$(curl x)\"",
        "cat < $(curl x)",
        "a=$(curl x)",
        "a=(1 $(curl x))",
        "a[$(curl x)]=1",
        "for i in $(curl x); do :; done",
        "case $(curl x) in a) ;; esac",
        "case a in $(curl x)) ;; esac",
        "[[ a == $(curl x) ]]",
        "(( $(curl x) ))",
        "for ((i=$(curl x);;)); do :; done",
        "diff <(curl x) a",
        "cat --file=<(curl x)",
        "unset 'a[$(curl x)]'",
        "test -v 'a[`curl x`]'",
        "echo $[ $(curl x) ]",
        "f() { curl x; }",
        "select i in a; do curl x; done",
        "echo \"$(case a in a) curl x;; esac)\"",
        "echo $(cat <<E\n$(curl x)\nE\n)",
        "((curl x); ls)",
        "coproc curl x",
        "if ! { curl x; }; then :; fi",
    ] {
        assert!(show(text).contains("[curl|x] X"), "{text}\n{}", show(text));
    }
}

#[test]
fn what_cannot_be_read_is_said_and_its_words_are_kept() {
    let context = crate::show::context();
    for text in
        ["curl 'x", "curl $(", "curl )", "curl ${ x; }", "case x in", "{ curl", "curl |", "if curl; fi"]
    {
        let analysis = zori_shell::analyse(text, &context);
        let words: Vec<&str> = analysis.raw_words.iter().flat_map(|words| words.iter()).collect();
        assert!(words.contains(&"curl") || !text.contains("curl"), "{text}");
        assert!(!analysis.unresolved.is_empty(), "{text}");
    }
}

#[test]
fn what_shells_read_differently_is_read_both_ways() {
    check(&[
        ("[[ a > b ]]", "[[[|a|>|b|]]] XR\n[[[|a|]]] XF >/ws/b"),
        (
            "((touch a))",
            "[((|<((touch a))>] XU (arithmetic evaluates what a variable holds)\n[touch|a] XF >/ws/a",
        ),
        ("echo $'a\\'b'", "[echo|a'b] XR\n? not a program the shell understands"),
    ]);
}
