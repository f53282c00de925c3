use proptest::prelude::*;

use super::*;
use crate::row::Role;
use crate::theme::{Depth, Theme};

fn paint() -> Paint {
    Paint { theme: Theme::terminal(false, None), depth: Depth::Ansi16 }
}

fn row(pieces: &[(&str, bool)]) -> Row {
    let mut row = Row::empty();
    for (text, primary) in pieces {
        row.push(Span::new(*text).role(if *primary { Role::Primary } else { Role::Text }));
    }
    row
}

fn changed(old: &[(&str, bool)], new: &[(&str, bool)]) -> String {
    let mut out = String::new();
    difference(&row(old), &row(new), &paint(), Links::Left, &mut out);
    out
}

#[test]
fn only_what_differs_is_written() {
    let typed = |text: &str| format!("{text:<40}Enter queues");
    assert_eq!(changed(&[(&typed("ab"), false)], &[(&typed("abc"), false)]), "\x1b[3Gc");
    assert_eq!(
        changed(&[("✶ Running 1s · 120/s", false)], &[("✷ Running 2s · 121/s", false)]),
        "\r✷\x1b[11G2\x1b[18G1"
    );
    assert_eq!(changed(&[("abcdef", false)], &[("abXdef", false)]), "\x1b[3GX");
    assert_eq!(changed(&[("a1c1", false)], &[("a2c2", false)]), "\x1b[2G2c2", "a short way is walked");
    assert_eq!(changed(&[("abcdef", false)], &[("ab", false)]), "\x1b[3G\x1b[K");
    assert_eq!(changed(&[("ab", false)], &[("ab", true)]), "\r\x1b[0;94mab\x1b[0m");
    assert_eq!(
        changed(&[("ab", false)], &[("ab", false), ("        ", false), ("x", true)]),
        "\x1b[11G\x1b[0;94mx\x1b[0m"
    );
}

/// Behind a cluster that some terminals draw wider, columns are not counted.
#[test]
fn what_may_be_of_any_width_is_written_with_all_behind_it() {
    let family = "ab 👩\u{200d}🔬 cdefghijkl m";
    assert_eq!(
        changed(&[(family, false)], &[(&format!("{family}n"), false)]),
        format!("\x1b[4G{}n\x1b[K", &family[3..])
    );
}

/// What a terminal shows of a row: each cell's text, and whether it has a colour.
fn shown(bytes: &str) -> Vec<(String, bool)> {
    let mut terminal = vt100::Parser::new(2, 60, 0);
    terminal.process(bytes.as_bytes());
    let screen = terminal.screen();
    let cell = |column| {
        let cell = screen.cell(0, column).expect("the column is there");
        let text = if cell.contents().is_empty() { " " } else { cell.contents() };
        (text.to_owned(), cell.fgcolor() != vt100::Color::Default)
    };
    (0..60).map(cell).collect()
}

fn pieces() -> impl Strategy<Value = Vec<(String, bool)>> {
    proptest::collection::vec(("[ a-c日é🚀]{0,8}", any::<bool>()), 0..6)
}

proptest! {
    /// Whatever stood there and whatever comes: the terminal shows the new row.
    #[test]
    fn a_difference_gives_the_new_row(old in pieces(), new in pieces(), kept in 0_usize..4) {
        let mut new = new;
        new.splice(0..0, old.iter().take(kept).cloned());
        let of = |pieces: &[(String, bool)]| {
            let pieces: Vec<(&str, bool)> = pieces.iter().map(|(text, style)| (text.as_str(), *style)).collect();
            row(&pieces)
        };
        let (old, new) = (of(&old), of(&new));
        prop_assume!(new.width() < 60 && old.width() < 60);
        let mut whole = String::new();
        super::row(&new, &paint(), Links::Left, &mut whole);
        let mut steps = String::new();
        super::row(&old, &paint(), Links::Left, &mut steps);
        difference(&old, &new, &paint(), Links::Left, &mut steps);
        prop_assert_eq!(shown(&steps), shown(&whole), "{:?}", steps);
    }
}
