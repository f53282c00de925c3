//! Shell texts: made from a seed, put around a command to hide it, or made to cost as much as they can.

use crate::random::Random;

/// Programs that only record that they ran.
pub const RECORDERS: &[&str] = &["alpha", "beta", "gamma", "delta"];

/// A text that runs recorders, at times broken on purpose.
pub fn text(random: &mut Random) -> String {
    let mut text = list(random, 3);
    for _ in 0..random.below(4).saturating_sub(1) {
        let mut at = random.below(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        match random.below(3) {
            0 => text.insert_str(at, fragment(random)),
            1 => text.truncate(at.max(1)),
            _ => text.insert(at, ' '),
        }
    }
    text
}

fn fragment<'a>(random: &mut Random) -> &'a str {
    random.pick(&[
        "'",
        "\"",
        "\\",
        "`",
        "$",
        "$(",
        ")",
        "(",
        "((",
        "))",
        "{",
        "}",
        ";",
        "&",
        "|",
        "&&",
        "||",
        "\n",
        "#",
        " #",
        "$'",
        "\\\n",
        ";;",
        "[[ ",
        " ]]",
        "! ",
        "time ",
        "$((",
        "${x:-",
        "<<E\n",
        "\nE\n",
        " in ",
        " do ",
        " then ",
        "~",
        "{alpha,x}",
        "esac",
        "\t",
        "=",
        "x=",
        "$x",
        "${x}",
        "\"$x\"",
        "'\\''",
        "\\'",
        "\\\"",
        "&>",
        "<(",
        "alpha",
        " beta ",
        "|&",
        "function ",
        "()",
        "[x]",
        "@(",
        "!(",
        "^",
    ])
}

fn list(random: &mut Random, depth: usize) -> String {
    let mut text = command(random, depth);
    for _ in 0..random.below(3) {
        text.push_str(random.pick(&["; ", " && ", " || ", " | ", "\n", " & ", ";", "|", "&&"]));
        text.push_str(&command(random, depth));
    }
    text
}

fn command(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return simple(random, 0);
    }
    let depth = depth - 1;
    match random.below(16) {
        0 => format!("( {} )", list(random, depth)),
        1 => format!("({})", list(random, depth)),
        2 => format!("{{ {}; }}", list(random, depth)),
        3 => format!("if {}; then {}; fi", list(random, depth), list(random, depth)),
        4 => format!("for i in a; do {}; done", list(random, depth)),
        5 => format!("case a in a) {};; b) {}; esac", list(random, depth), list(random, depth)),
        6 => format!("! {}", command(random, depth)),
        7 => format!("eval '{}'", list(random, 0).replace('\'', "")),
        8 => format!("until {}; do {}; done", list(random, depth).replace('!', ""), list(random, depth)),
        9 if random.below(3) == 0 => format!("f() {{ {}; }}; f", list(random, depth)),
        10 => format!("x={}; $x", random.pick(RECORDERS)),
        11 if random.below(3) == 0 => format!("cat_() {{ :; }} <<E\n{}\nE\n", word(random, depth)),
        12 => format!(": <<E\n{}\nE\n", word(random, depth)),
        13 => format!("trap '{}' EXIT", simple(random, 0).replace('\'', "")),
        _ => simple(random, depth),
    }
}

fn simple(random: &mut Random, depth: usize) -> String {
    let mut text = String::new();
    match random.below(12) {
        0 => text.push_str("x=1 "),
        1 => text.push_str("command "),
        2 => text.push_str("> /dev/null "),
        3 => text.push_str("x=$(alpha) "),
        _ => {}
    }
    text.push_str(&name(random));
    for _ in 0..random.below(3) {
        text.push(' ');
        text.push_str(&word(random, depth));
    }
    text
}

fn name(random: &mut Random) -> String {
    let name = random.pick(RECORDERS);
    let (head, tail) = name.split_at(1 + random.below(name.len() - 1));
    match random.below(9) {
        0 => format!("{head}''{tail}"),
        1 => format!("{head}\"{tail}\""),
        2 => format!("\\{name}"),
        3 => format!("{head}\\\n{tail}"),
        4 => format!("$'{name}'"),
        5 => format!("${{x:-{name}}}"),
        6 => "echo".to_owned(),
        _ => name.to_owned(),
    }
}

fn word(random: &mut Random, depth: usize) -> String {
    if depth == 0 {
        return random
            .pick(&[
                "a", "'a b'", "\"a\"", "$x", "a\\ b", "-n", "#a", "a#b", "{a,b}", "~", "*", "$'a\\'b'", "''",
            ])
            .to_owned();
    }
    let depth = depth - 1;
    match random.below(13) {
        0 => format!("$({})", list(random, depth)),
        1 => format!("\"$({})\"", list(random, depth)),
        2 => format!("`{}`", simple(random, 0).replace(['`', '\\'], "")),
        3 => format!("\"`{}`\"", simple(random, 0).replace(['`', '\\', '"'], "")),
        4 => format!("${{x:-{}}}", word(random, depth)),
        5 => format!("\"${{x:-{}}}\"", word(random, depth)),
        6 => format!("$(( $({}) + 1 ))", list(random, depth)),
        7 => format!("<({})", list(random, depth)),
        8 => format!("$(case a in a) {};; esac)", list(random, depth)),
        9 => format!("'{}'", list(random, 0).replace('\'', "")),
        10 => format!("${{x#{}}}", word(random, depth)),
        _ => word(random, 0),
    }
}

/// Puts something around a command. What runs its words needs a simple command; the rest takes any.
pub fn wrap(random: &mut Random, inner: &str, simple: &mut bool) -> String {
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

/// Texts that are hard on a parser, each with a name; the longest are about `limit` bytes, and one far longer.
pub fn hostile(limit: usize) -> Vec<(String, String)> {
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
        "function f { a; ",
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
        "{1..9}", "cd a;", "a|", "<a ",
    ] {
        texts.push((format!("{word:?} to the limit"), word.repeat(limit / word.len())));
    }
    let files: String = (0..limit / 7).map(|n| format!(">{n:x} ")).collect();
    texts.push(("one file after the other".to_owned(), files[..limit.min(files.len())].to_owned()));
    let numbered = |text: &dyn Fn(usize) -> String| -> String {
        let whole: String = (0..limit / 8).map(text).collect();
        whole[..whole[..limit.min(whole.len())].rfind("; ").unwrap_or(0)].to_owned()
    };
    texts.push(("one variable after the other".to_owned(), numbered(&|n| format!("a{n}={n}; "))));
    texts.push(("a variable in each branch".to_owned(), numbered(&|n| format!("if a; then v{n}=1; fi; "))));
    let rounds: String = (0..32).map(|n| format!("{n} ")).collect();
    let words = "a ".repeat((limit - 200) / 2);
    texts.push(("rounds of many words".to_owned(), format!("for i in {rounds}; do echo {words}; done")));
    texts.push(("far over the limit".to_owned(), "rm -rf x; ".repeat(1 << 19)));
    texts
}
