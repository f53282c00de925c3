//! Shell texts from a seed: the same seed gives the same texts everywhere.

/// A small generator of numbers (xorshift64*).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % bound
    }

    pub fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

/// How many cases a test runs: `ZORI_SHELL_CASES` for a full run, else what CI can afford.
pub fn cases(usual: usize) -> usize {
    std::env::var("ZORI_SHELL_CASES").ok().and_then(|count| count.parse().ok()).unwrap_or(usual)
}

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
