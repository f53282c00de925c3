use proptest::prelude::*;

use super::*;
use crate::clean::CleanText;
use crate::row::Role;

fn rows(text: &str, columns: usize, at: Break) -> Vec<&str> {
    breaks(text, columns, at).into_iter().map(|range| &text[range]).collect()
}

#[test]
fn prose_breaks_at_words() {
    assert_eq!(rows("the quick brown fox", 9, Break::Words), ["the quick", "brown fox"]);
    assert_eq!(rows("the quick brown fox", 10, Break::Words), ["the quick", "brown fox"]);
    assert_eq!(rows("a  b", 2, Break::Words), ["a", "b"]);
    assert_eq!(rows("  indented", 80, Break::Words), ["  indented"]);
    assert_eq!(rows("internationalisation", 8, Break::Words), ["internat", "ionalisa", "tion"]);
    assert_eq!(rows("an internationalisation", 8, Break::Words), ["an", "internat", "ionalisa", "tion"]);
    assert_eq!(rows("", 8, Break::Words), [""]);
    assert_eq!(rows("   ", 2, Break::Words), [""]);
}

#[test]
fn code_breaks_anywhere() {
    assert_eq!(rows("let a = 1;", 6, Break::Anywhere), ["let a", "= 1;"]);
    assert_eq!(rows("if x  {", 4, Break::Anywhere), ["if x", " {"]);
}

#[test]
fn wide_characters_are_not_halved() {
    assert_eq!(rows("日本語の文章", 5, Break::Words), ["日本", "語の", "文章"]);
    assert_eq!(rows("ab日本", 4, Break::Words), ["ab日", "本"]);
    assert_eq!(rows("👩‍🔬👩‍🔬", 3, Break::Words), ["👩‍🔬", "👩‍🔬"]);
    assert_eq!(rows("🇩🇪🇫🇷", 2, Break::Anywhere), ["🇩🇪", "🇫🇷"]);
}

#[test]
fn styles_do_not_move_breaks() {
    let spans = [Span::new("the qu"), Span::new("ick").role(Role::Primary), Span::new(" brown")];
    let rows: Vec<String> = wrap_spans(&spans, 9, Break::Words).iter().map(Row::text).collect();
    assert_eq!(rows, ["the quick", "brown"]);
}

#[test]
fn tabs_reach_the_next_stop() {
    assert_eq!(expand_tabs("a\tb\t日\tc", 4), "a   b   日  c");
}

#[test]
fn what_is_cut_says_so() {
    let row = Row::from(Span::new("calc.py")).with(Span::new(" +1"));
    assert_eq!(truncate(&row, 8).text(), "calc.py…");
    assert_eq!(truncate(&row, 10).text(), "calc.py +1");
    assert_eq!(truncate(&Row::from(Span::new("日本語")), 4).text(), "日…");
    assert_eq!(truncate_middle("src/very/long/path/calc.py", 16), "src/v…th/calc.py");
}

/// Letters of several scripts, wide ones, marks, joiners and blanks.
pub fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,12}",
        3 => Just(" ".to_owned()),
        1 => Just("  ".to_owned()),
        1 => "[\u{0300}\u{0301}\u{fe0f}]{1,2}",
        1 => prop_oneof![Just("日本"), Just("👩‍🔬"), Just("🇩🇪"), Just("ห้ามำ"), Just("क्ष्म्य"), Just("لا"), Just("한"), Just("❤️")]
            .prop_map(str::to_owned),
        1 => "\\PC{1,3}",
    ];
    proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
}

#[test]
fn a_blank_that_carries_a_mark_stays() {
    // Found by `rows_are_the_text`: a prefixed mark and the blank after it are one cluster, so they are not parted.
    let text = "a\u{1193f} b";
    assert_eq!(breaks(text, 2, Break::Anywhere), [0..6, 6..7]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// MD-5, UI-34: no row too wide, no cluster cut, no blank at the end, and the rows are the text. A blank that a prefixed mark has joined into
    /// its cluster (`a_blank_that_carries_a_mark_stays`) is that mark's place and no blank.
    #[test]
    fn rows_are_the_text(text in any_text(), columns in 1_usize..30, words in any::<bool>()) {
        let text = CleanText::new(&text);
        let text = text.as_str();
        let at = if words { Break::Words } else { Break::Anywhere };
        let ranges = breaks(text, columns, at);
        let mut end = 0;
        for range in &ranges {
            prop_assert!(text[end..range.start].chars().all(|c| c == ' '), "{ranges:?}");
            let row = &text[range.clone()];
            prop_assert!(width(row) <= columns.max(NARROWEST), "{row:?} is too wide");
            prop_assert!(row.graphemes(true).next_back() != Some(" "), "{row:?}");
            end = range.end;
        }
        prop_assert!(text[end..].chars().all(|c| c == ' '));
        let cut_inside = ranges.iter().flat_map(|range| [range.start, range.end]).find(|cut| {
            text.grapheme_indices(true)
                .any(|(at, cluster)| at < *cut && *cut < at + cluster.len() && cluster.width() <= columns.max(NARROWEST))
        });
        prop_assert_eq!(cut_inside, None);
    }

    #[test]
    fn truncated_rows_fit(text in any_text(), columns in 1_usize..30) {
        prop_assert!(truncate(&Row::from(Span::new(text.clone())), columns).width() <= columns);
        prop_assert!(width(&truncate_middle(CleanText::new(&text).as_str(), columns)) <= columns.max(1));
    }
}

/// What Unicode leaves open is as wide as the terminal is said to draw it.
#[test]
fn ambiguous_characters() {
    let text = "a → b × 日本";
    assert_eq!(width(text), 12);
    set_ambiguous_wide(true);
    let wide = (width(text), width("abc"), breaks("→×→×", 4, Break::Anywhere).len());
    set_ambiguous_wide(false);
    assert_eq!(wide, (14, 3, 2));
    assert_eq!(breaks("→×→×", 4, Break::Anywhere).len(), 1);
}

proptest! {
    #[test]
    fn clusters_are_those_of_unicode(plain in "[ -~\t\r\n]{0,20}", any in "\\PC{0,20}") {
        for text in [&plain, &any, &format!("{plain}{any}")] {
            let found: Vec<_> = clusters(text).collect();
            prop_assert_eq!(found, text.grapheme_indices(true).collect::<Vec<_>>());
            let columns: usize = clusters(text).map(|(_, cluster)| cluster.width()).sum();
            prop_assert_eq!(clusters(text).map(|(_, cluster)| cluster_width(cluster)).sum::<usize>(), columns);
        }
    }
}
