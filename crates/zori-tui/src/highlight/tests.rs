use super::languages::LANGUAGES;
use super::*;

/// The text with its kinds: `k{fn} f{add}(…)`.
fn marked(language: &str, text: &str) -> String {
    let mut highlighter = Highlighter::new(language).expect(language);
    let mut out = String::new();
    for line in text.lines() {
        let mut end = 0;
        for (range, kind) in highlighter.line(line) {
            out.push_str(&line[end..range.start]);
            let sign = match kind {
                Kind::Keyword => 'k',
                Kind::Text => 's',
                Kind::Number => 'n',
                Kind::Comment => 'c',
                Kind::Function => 'f',
                Kind::Type => 't',
            };
            out.push_str(&format!("{sign}⟨{}⟩", &line[range.clone()]));
            end = range.end;
        }
        out.push_str(&line[end..]);
        out.push('\n');
    }
    out
}

#[test]
fn rust() {
    insta::assert_snapshot!(marked("rust", r##"pub fn add<'a>(a: &'a str, c: char) -> Vec<u8> { // sum
    let x = 1_000..0x1F; let s = r#"a "raw" b"#;
    println!("{} \"q\"", 'x'); /* open
    /* nested */ still */ Self::new()"##), @r##"
    k⟨pub⟩ k⟨fn⟩ add<t⟨'a⟩>(a: &t⟨'a⟩ t⟨str⟩, c: t⟨char⟩) -> t⟨Vec⟩<t⟨u8⟩> { c⟨// sum⟩
        k⟨let⟩ x = n⟨1_000⟩..n⟨0x1F⟩; k⟨let⟩ s = s⟨r#"a "raw" b"#⟩;
        f⟨println⟩!(s⟨"{} \"q\""⟩, s⟨'x'⟩); c⟨/* open⟩
    c⟨    /* nested */ still */⟩ k⟨Self⟩::f⟨new⟩()
    "##);
}

#[test]
fn python_and_shell() {
    insta::assert_snapshot!(marked("python", "@cache\ndef add(a, b):\n    \"\"\"Adds.\n    More.\"\"\"\n    return a + b  # 3.5e-2\nprint(f'{add(1, 2.5)}')"), @r#"
    t⟨@cache⟩
    k⟨def⟩ f⟨add⟩(a, b):
        s⟨"""Adds.⟩
    s⟨    More."""⟩
        k⟨return⟩ a + b  c⟨# 3.5e-2⟩
    f⟨print⟩(fs⟨'{add(1, 2.5)}'⟩)
    "#);
    insta::assert_snapshot!(marked("bash", "for i in $(seq 9); do echo \"line $i\" # done\ndone; curl x#y"), @r#"
    k⟨for⟩ i k⟨in⟩ $(seq n⟨9⟩); k⟨do⟩ k⟨echo⟩ s⟨"line $i"⟩ c⟨# done⟩
    k⟨done⟩; curl x#y
    "#);
}

#[test]
fn data_and_markup() {
    insta::assert_snapshot!(marked("json", "{\"a\": [1, true, \"x\"]}"), @r#"{f⟨"a"⟩: [n⟨1⟩, k⟨true⟩, s⟨"x"⟩]}"#);
    insta::assert_snapshot!(marked("yaml", "jobs:\n  - name: \"a: b\" # c\n    on: true"), @r#"
    f⟨jobs⟩:
      - f⟨name⟩: s⟨"a: b"⟩ c⟨# c⟩
        f⟨on⟩: k⟨true⟩
    "#);
    insta::assert_snapshot!(marked("toml", "[deps]\nserde = { version = \"1\" }"), @r#"
    t⟨[deps]⟩
    f⟨serde⟩ = { version = s⟨"1"⟩ }
    "#);
    insta::assert_snapshot!(marked("html", "<a href=\"x\"\n  id=y>1 < 2</a><!-- c\n c -->"), @r#"
    k⟨<a⟩ t⟨href⟩=s⟨"x"⟩
      t⟨id⟩=t⟨y⟩k⟨>⟩1 < 2k⟨</a>⟩c⟨<!-- c⟩
    c⟨ c -->⟩
    "#);
    insta::assert_snapshot!(marked("diff", "@@ -1 +1 @@\n-a\n+b\n c"), @r"
    f⟨@@ -1 +1 @@⟩
    n⟨-a⟩
    s⟨+b⟩
     c
    ");
    insta::assert_snapshot!(marked("sql", "SELECT count(*) from t -- all"), @"k⟨SELECT⟩ f⟨count⟩(*) k⟨from⟩ t c⟨-- all⟩");
}

#[test]
fn languages_are_found_by_what_stands_after_a_fence() {
    assert_eq!(LANGUAGES.len(), 24);
    for name in ["Rust", "rust,ignore", "js {1,3}", "c++", ".py", "Dockerfile", "TSX"] {
        assert!(Highlighter::new(name).is_some(), "{name}");
    }
    assert!(Highlighter::new("brainfuck").is_none());
    assert!(Highlighter::for_path("src/main.rs").is_some() && Highlighter::for_path("Makefile").is_some());
    let mut highlighter = Highlighter::new("rust").expect("rust");
    assert_eq!(highlighter.line(&"fn ".repeat(1000)), []);
}

proptest::proptest! {
    /// Whatever a line holds, ranges are in order, apart and between characters.
    #[test]
    fn ranges_fit_the_line(lines in proptest::collection::vec("[ -~é日/*\"'`#<>]{0,40}", 0..6), which in 0..24_usize) {
        let mut highlighter = Highlighter::new(LANGUAGES[which].names[0]).expect("a language");
        for line in &lines {
            let mut end = 0;
            for (range, _) in highlighter.line(line) {
                proptest::prop_assert!(range.start >= end && range.start < range.end);
                proptest::prop_assert!(line.get(range.clone()).is_some());
                end = range.end;
            }
        }
    }
}
