//! Ranks paths by what was typed of them (CMP-3): its letters in order, best where they stand together and begin words, in the file's name.

use std::cmp::Reverse;

/// What letters that stand together are worth.
const TOGETHER: i32 = 100;

/// Returns the best paths for a word, best first; with an empty word those least deep.
pub fn best<'a>(paths: impl Iterator<Item = &'a str>, word: &str, most: usize) -> Vec<&'a str> {
    let wanted: Vec<char> = word.to_lowercase().chars().filter(|c| !c.is_whitespace()).collect();
    let mut found: Vec<(Reverse<i32>, usize, &str)> =
        paths.filter_map(|path| Some((Reverse(score(path, &wanted)?), path.len(), path))).collect();
    if found.len() > most {
        found.select_nth_unstable(most);
        found.truncate(most);
    }
    found.sort_unstable();
    found.into_iter().map(|(_, _, path)| path).collect()
}

/// Returns how well the letters fit a path; `None` where they do not occur in this order.
fn score(path: &str, wanted: &[char]) -> Option<i32> {
    if wanted.is_empty() {
        return Some(-(path.matches('/').count() as i32));
    }
    let name = path.rfind('/').map_or(0, |slash| slash + 1);
    // All of it together in the name is best; letters in the name count a little more than letters spread over folders.
    let in_name = fit(&path[name..], wanted).map(|score| score + if score > TOGETHER / 2 { 40 } else { 4 });
    in_name.max(fit(path, wanted))
}

fn fit(text: &str, wanted: &[char]) -> Option<i32> {
    let lower: Vec<char> = text.chars().flat_map(char::to_lowercase).collect();
    let longer = lower.len() as i32 / 4;
    if let Some(at) = lower.windows(wanted.len()).position(|window| window == wanted) {
        let whole = lower.len() == wanted.len();
        let bonus = if whole { 80 } else { i32::from(begins_word(&lower, at)) * 30 };
        return Some(TOGETHER + 8 * wanted.len() as i32 + bonus - longer);
    }
    let spread = [true, false].into_iter().filter_map(|borders| spread(&lower, wanted, borders)).max()?;
    Some(spread - longer)
}

/// Places the letters one after another: at the next place, or with `borders` at the next that begins a word where there is one.
fn spread(lower: &[char], wanted: &[char], borders: bool) -> Option<i32> {
    let (mut score, mut from) = (0, 0);
    for letter in wanted {
        let mut places = (from..lower.len()).filter(|place| lower[*place] == *letter);
        let first = places.clone().next()?;
        let together = from > 0 && first == from;
        let border = places.find(|place| begins_word(lower, *place)).filter(|_| borders && !together);
        let place = border.unwrap_or(first);
        score += match (begins_word(lower, place), from > 0 && place == from) {
            (true, _) => 10,
            (false, true) => 6,
            (false, false) => 1,
        };
        from = place + 1;
    }
    Some(score)
}

fn begins_word(lower: &[char], at: usize) -> bool {
    at == 0 || matches!(lower[at - 1], '/' | '_' | '-' | '.' | ' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATHS: &[&str] = &[
        "Cargo.toml",
        "crates/zori-tui/src/composer/history.rs",
        "crates/zori-chat/src/screen/history.rs",
        "crates/zori/src/main.rs",
        "crates/zori/src/domain.rs",
        "docs/grüße.md",
    ];

    fn first(word: &str) -> &'static str {
        best(PATHS.iter().copied(), word, 3).first().copied().unwrap_or("nothing")
    }

    #[test]
    fn best_first() {
        assert_eq!(first("main"), "crates/zori/src/main.rs");
        assert_eq!(first("hist"), "crates/zori-chat/src/screen/history.rs");
        assert_eq!(first("composer/hist"), "crates/zori-tui/src/composer/history.rs");
        assert_eq!(first("tuihist"), "crates/zori-tui/src/composer/history.rs");
        assert_eq!(first("CT"), "Cargo.toml");
        assert_eq!(first("GRÜSSE"), "nothing", "ß is one letter");
        assert_eq!(first("grü"), "docs/grüße.md");
        assert_eq!(first(""), "Cargo.toml");
        assert_eq!(first("xyz"), "nothing");
        assert_eq!(best(PATHS.iter().copied(), "s", 2).len(), 2);
    }

    #[test]
    fn a_hundred_thousand_files() {
        let paths: Vec<String> =
            (0..100_000).map(|n| format!("crates/part{}/src/module_{n}/file_{n}.rs", n % 97)).collect();
        let found = best(paths.iter().map(String::as_str), "mod99file", 8);
        assert_eq!(found.len(), 8);
    }
}
