use super::change::Change;
use super::*;

/// The one place that knows the API: what the text is afterwards, and what was overlooked.
fn edit(text: &str, old: &str, new: &str) -> String {
    let change = Change::Text { old: old.to_owned(), new: new.to_owned() };
    match tolerant(text, &change, Bounds::Anywhere, Leniency::Forgiving) {
        Ok(Found { range, new, tolerated }) => {
            format!("{tolerated}: {:?}", [&text[..range.start], &new, &text[range.end..]].concat())
        }
        Err(miss) => format!("{miss:?}"),
    }
}

#[test]
fn what_is_kept_keeps_the_bytes_of_the_file() {
    assert_eq!(
        edit("say “hello” – now\n", "say \"hello\" - now", "say \"hello\" - later"),
        "quotes, dashes, blanks or composed letters: \"say “hello” – later\\n\""
    );
    assert_eq!(edit("abc  \ndef\n", "abc\ndef", "abc\nxyz"), "blanks at line ends: \"abc  \\nxyz\\n\"");
}

/// One character of the file may be several of the model's; a part of it is no place.
#[test]
fn a_character_is_found_whole() {
    let tier = "quotes, dashes, blanks or composed letters";
    assert_eq!(edit("wait… now\n", "wait... now", "go"), format!("{tier}: \"go\\n\""));
    assert_eq!(edit("wait… now\n", "wait..", "go"), "Nowhere");
    assert_eq!(edit("wait… now\n", "wait.", "go"), "Nowhere");
}

/// Text that the file has escaped is only changed where nothing needs escaping.
#[test]
fn escaped_text_stays_escaped() {
    assert_eq!(
        edit("<p>one &lt; two</p>\n", "one < two", "one < three"),
        "HTML entities in the file: \"<p>one &lt; three</p>\\n\""
    );
    assert_eq!(edit("<p>aaa &lt; b</p>\n", "aaa < b", "aaa > b"), "Nowhere");
    assert_eq!(
        edit("x = \"one\\ntwo\"\n", "one\ntwo", "one\nthree"),
        "literal `\\n` and `\\\"` in the file: \"x = \\\"one\\\\nthree\\\"\\n\""
    );
}

#[test]
fn indentation_needs_enough_to_go_by() {
    assert_eq!(edit("def f():\n        pass\n", "\tpass", "\treturn"), "Nowhere");
    assert_eq!(
        edit(
            "def f():\n        return compute(total)\n",
            "\treturn compute(total)\n",
            "\treturn compute(all)\n"
        ),
        "indentation: \"def f():\\n        return compute(all)\\n\""
    );
    assert_eq!(
        edit("a:\n\tfirst()\n\tsecond()\n", "  first()\n  second()", "  first()\n  if x:\n    second()"),
        "indentation: \"a:\\n\\tfirst()\\n\\tif x:\\n\\t\\tsecond()\\n\""
    );
}

#[test]
fn line_ends_of_a_place() {
    assert!(is_crlf_at("a\r\nb\n", 0) && is_crlf_at("a\r\nb\n", 3) && !is_crlf_at("a\r\nb\n", 4));
    assert!(!is_crlf_at("", 0) && !is_crlf_at("a", 1) && is_crlf_at("a\r\nb", 4));
    assert_eq!(lines_at("a\nb\nc", &[0, 2, 4]), "1, 2, 3");
}
