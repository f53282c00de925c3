use proptest::prelude::*;

use super::*;

fn text(rows: &[Row]) -> String {
    rows.iter().map(|row| row.text() + "\n").collect()
}

fn laid_out(source: &str, width: u16) -> String {
    text(&rows(source, width))
}

#[test]
fn prose() {
    insta::assert_snapshot!(laid_out(
        "# Why it fails\n\nThe function **subtracts**: line 2 of `calc.py` has `a - b`. Two callers depend on it:\n- src/main.rs:14 prints the sum\n- tests/calc.rs:9 expects 5; this is the test that fails\n  - nested, too\n\n1. one\n1. two\n\n   more of two\n3. three\n\n> quoted *words*\n> go on\n\nSee [the docs](https://example.org/a) or <https://example.org>.\n\n---\n- [ ] open\n- [x] done\n",
        50
    ), @r"
    Why it fails

    The function subtracts: line 2 of calc.py has a -
    b. Two callers depend on it:
    • src/main.rs:14 prints the sum
    • tests/calc.rs:9 expects 5; this is the test that
      fails
      • nested, too

    1. one
    2. two

       more of two
    3. three

    > quoted words
    > go on

    See the docs (https://example.org/a) or
    https://example.org.

    ────────────────────────
    ☐ open
    ☑ done
    ");
}

#[test]
fn code_stands_at_column_0() {
    insta::assert_snapshot!(laid_out("Run:\n```rust\nfn main() {\n\tlet x = \"a longer line than fits\";\n\n}\n```\nThen:\n- item\n  ```sh\n  ls\n  ```\n\nAnd\n\n    indented\n      code\n", 24), @r#"
    Run:

    fn main() {
        let x = "a longer li
    ne than fits";

    }

    Then:
    • item

      ls

    And

    indented
      code
    "#);
}

#[test]
fn tables_by_width() {
    let source = "| name | what it does | n |\n|---|:---:|---:|\n| add | adds two numbers and returns their sum | 12 |\n| sub | `a - b` | 3 |\n";
    insta::assert_snapshot!(laid_out(source, 60), @r"
    name               what it does                n
    ────  ──────────────────────────────────────  ──
    add   adds two numbers and returns their sum  12
    sub                   a - b                    3
    ");
    insta::assert_snapshot!(laid_out(source, 30), @r"
    name      what it does       n
    ────  ────────────────────  ──
    add   adds two numbers and  12
           returns their sum
    sub          a - b           3
    ");
    insta::assert_snapshot!(laid_out(source, 18), @r"
    name: add
    what it does: adds
    two numbers and
    returns their sum
    n: 12

    name: sub
    what it does: a -
    b
    n: 3
    ");
}

/// What is on the screen while a text arrives: the tail after each cut.
fn tails(source: &str, cuts: &[usize]) -> String {
    let mut out = String::new();
    for cut in cuts {
        let mut stream = Stream::default();
        stream.push(&source[..source.len().min(*cut)]);
        let stable = text(&stream.take_stable(60));
        out.push_str(&format!("[{stable}|{}]\n", text(&stream.tail(60))));
    }
    out
}

#[test]
fn marks_are_not_drawn_before_they_mean_something() {
    insta::assert_snapshot!(tails("a **bold** [link](http://x)", &[3, 4, 6, 9, 10, 16, 18, 22, 27]), @r"
    [|a
    ]
    [|a
    ]
    [|a bo
    ]
    [|a bold
    ]
    [|a bold
    ]
    [|a bold [link
    ]
    [|a bold link
    ]
    [|a bold link
    ]
    [|a bold link (http://x)
    ]
    ");
    insta::assert_snapshot!(tails("x\n```rs\nlet a\n```\n| a | b |\n|--|--|\n| 1 | 2 |\n\nend", &[3, 6, 8, 11, 14, 16, 18, 22, 30, 39, 44, 48]), @r"
    [|x
    ]
    [|x
    ]
    [x

    |]
    [x

    |let
    ]
    [x

    let a
    |]
    [x

    let a
    |]
    [x

    let a
    |]
    [x

    let a
    |
    table, 1 row
    ]
    [x

    let a
    |
    table, 1 row
    ]
    [x

    let a
    |
    table, 2 rows
    ]
    [x

    let a
    |
    table, 2 rows
    ]
    [x

    let a

    a  b
    ─  ─
    1  2
    |
    e
    ]
    ");
}

#[test]
fn long_tables_are_drawn_in_parts() {
    let source = format!("| n |\n|---|\n{}", "| x |\n".repeat(130));
    let mut stream = Stream::default();
    stream.push(&source);
    assert_eq!(stream.take_stable(40).len(), 122);
    assert_eq!(stream.finish(40).len(), 10);
}

/// Nothing of a text is left out, whatever pulldown-cmark makes of it.
#[test]
fn odd_input() {
    insta::assert_snapshot!(laid_out("[a]: http://x\n\n<div>\nhtml\n</div>\n\n-\n- b\n\n``` unclosed\ncode\n", 40), @r"
    [a]: http://x

    <div>
    html
    </div>

    •
    • b

    code
    ");
    assert_eq!(laid_out("", 40), "");
    assert_eq!(laid_out("\n\n\n", 40), "");
}

fn markdown() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        3 => "[a-z ]{0,30}",
        1 => Just(String::new()),
        1 => prop_oneof![Just("```rust"), Just("```"), Just("~~~"), Just("---"), Just("==="), Just("# head"), Just("> quote"), Just(">"), Just("    code"), Just("| a | b |"), Just("|---|:-:|"), Just("| 1 | 2 |")]
            .prop_map(str::to_owned),
        1 => "[-*+] [a-z*`_ ]{0,20}",
        1 => "[0-9]{1,2}[.)] [a-z]{0,9}",
        1 => "  +[-a-z0-9.*`| ]{0,12}",
        1 => "[a-z*_`~<>()\\\\#|: \t日é\u{202e}!\\[\\]-]{0,30}",
    ];
    (proptest::collection::vec(line, 0..16), any::<bool>())
        .prop_map(|(lines, crlf)| lines.join(if crlf { "\r\n" } else { "\n" }))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// MD-2: any cut of any Markdown. What is stable stays, and all rows together are those of one layout at the end.
    #[test]
    fn streamed_rows_are_the_rows_of_the_whole(source in markdown(), cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..6), width in 2_u16..60) {
        let whole = rows(&source, width);
        let mut ends: Vec<usize> = cuts.iter().map(|cut| source.floor_char_boundary(cut.index(source.len() + 1))).collect();
        ends.push(source.len());
        ends.sort_unstable();
        let (mut stream, mut streamed, mut from) = (Stream::default(), Vec::new(), 0);
        for end in ends {
            stream.push(&source[from..end]);
            from = end;
            streamed.extend(stream.take_stable(width));
            prop_assert_eq!(&streamed[..], &whole[..streamed.len()]);
            for row in stream.tail(width) {
                prop_assert!(row.width() <= usize::from(width).max(16), "{:?}", row.text());
            }
        }
        streamed.extend(stream.finish(width));
        prop_assert_eq!(streamed, whole);
    }

    /// UI-34: no row too wide, none that ends in a blank.
    #[test]
    fn rows_fit(source in markdown(), width in 12_u16..80) {
        for row in rows(&source, width) {
            prop_assert!(row.width() <= usize::from(width), "{:?} in {}", row.text(), width);
            prop_assert!(!row.text().ends_with(' '), "{:?}", row.text());
        }
    }

    /// Every word of prose is on the screen.
    #[test]
    fn no_word_is_lost(words in proptest::collection::vec("[a-z]{1,9}", 1..40), marks in proptest::collection::vec("( |\n|\n\n|\n- |\n> |\n1. )", 40), width in 12_u16..60) {
        let source: String = words.iter().zip(&marks).map(|(word, mark)| format!("{word}{mark}")).collect();
        let shown: String = rows(&source, width).iter().map(Row::text).collect();
        let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).collect::<String>();
        prop_assert_eq!(letters(&shown), letters(&source));
    }
}
