use super::*;

/// Types keys into a text in normal mode; `|` is the cursor. `<esc>` leaves insert mode.
fn typed(text: &str, keys: &str) -> String {
    let mut buffer = Buffer::default();
    let at = text.find('|').unwrap();
    buffer.insert(&text.replacen('|', "", 1));
    buffer.move_to(at);
    let mut vim = Vim { mode: Mode::Normal, ..Vim::default() };
    let mut rest = keys;
    while let Some(c) = rest.chars().next() {
        let (code, len) = match rest.starts_with("<esc>") {
            true => (KeyCode::Esc, 5),
            false => (KeyCode::Char(c), c.len_utf8()),
        };
        rest = &rest[len..];
        if vim.key(Key::plain(code), &mut buffer) == Done::Not {
            buffer.insert(c.encode_utf8(&mut [0; 4]));
        }
    }
    let mut out = buffer.raw().to_owned();
    out.insert(buffer.cursor(), '|');
    out
}

#[test]
fn motions() {
    for (keys, wanted) in [
        ("w", "fix |add() in calc.py"),
        ("2w", "fix add|() in calc.py"),
        ("2W", "fix add() |in calc.py"),
        ("$", "fix add() in calc.p|y"),
        ("e", "fi|x add() in calc.py"),
        ("$b", "fix add() in calc.|py"),
        ("$B", "fix add() in |calc.py"),
        ("fc", "fix add() in |calc.py"),
        ("t(", "fix ad|d() in calc.py"),
        ("$F(", "fix add|() in calc.py"),
        ("fa;", "fix add() in c|alc.py"),
        ("$0", "|fix add() in calc.py"),
        ("3l2h", "f|ix add() in calc.py"),
    ] {
        assert_eq!(typed("|fix add() in calc.py", keys), wanted, "{keys}");
    }
    assert_eq!(typed("one\n|two", "kl"), "o|ne\ntwo");
    assert_eq!(typed("one\n|two", "gg"), "|one\ntwo");
    assert_eq!(typed("|one\ntwo", "G"), "one\n|two");
}

#[test]
fn operators() {
    for (text, keys, wanted) in [
        ("fix |add() now", "dw", "fix |() now"),
        ("fix |add() now", "d2w", "fix |now"),
        ("fix |add() now", "D", "fix| "),
        ("fix |add() now", "cwsub<esc>", "fix su|b() now"),
        ("fix a|dd() now", "ciwsub<esc>", "fix su|b() now"),
        ("fix a|dd() now", "daw", "fix |() now"),
        ("f(a, |b)", "di(", "f(|)"),
        ("f(a, |b)", "da(", "|f"),
        ("say \"he|y you\"", "ci\"no<esc>", "say \"n|o\""),
        ("|abc", "xp", "ba|c"),
        ("|abc", "x..", "|"),
        ("one\n|two\nthree", "dd", "one\n|three"),
        ("one\n|two", "dd", "on|e"),
        ("|one\ntwo", "yyGp", "one\ntone|wo"),
        ("|one\ntwo", "ddu", "|one\ntwo"),
        ("|one", "rx", "|xne"),
        ("|one", "~", "O|ne"),
        ("on|e", "A!<esc>", "one|!"),
        ("on|e", "Ia <esc>", "a| one"),
        ("|one", "otwo<esc>", "one\ntw|o"),
        ("|one", "Ozero<esc>", "zer|o\none"),
        ("|a b c d", "dw..", "|d"),
        ("|one\ntwo", "J", "one |two"),
        ("|x y", "3x", "|"),
        ("|gr\u{fc}\u{df}e 日本", "dw", "|日本"),
    ] {
        assert_eq!(typed(text, keys), wanted, "{text} {keys}");
    }
}
