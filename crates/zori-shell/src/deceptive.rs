//! Characters that look like others, or like nothing (SH-2).

/// Returns the odd characters of a text, each once.
pub fn deceptive_characters(text: &str) -> Vec<char> {
    let mut found = Vec::new();
    if text.is_ascii() {
        return found;
    }
    for word in text.split(|c: char| c.is_ascii_whitespace() || ";|&()<>\"'".contains(c)) {
        if word.is_ascii() {
            continue;
        }
        let latin = word.chars().any(|c| c.is_ascii_alphabetic());
        for c in word.chars().filter(|c| is_invisible(*c) || is_look_alike(*c, latin)) {
            if !found.contains(&c) {
                found.push(c);
            }
        }
    }
    found
}

/// Returns whether it is an unusual blank, or a format or direction character.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{80}'..='\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{1680}' | '\u{17b4}'
            | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}'
            | '\u{205f}'..='\u{206f}' | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}'
    )
}

/// Returns whether it looks like a Latin letter: always for forms made to look so, only among Latin letters for other
/// scripts.
fn is_look_alike(c: char, among_latin: bool) -> bool {
    matches!(c, '\u{ff01}'..='\u{ff5e}' | '\u{1d400}'..='\u{1d7ff}' | '\u{2460}'..='\u{24ff}' | '\u{2215}' | '\u{2044}' | '\u{29f8}' | '\u{a789}' | '\u{37e}')
        || (among_latin
            && matches!(c, '\u{250}'..='\u{2af}' | '\u{370}'..='\u{52f}' | '\u{531}'..='\u{58f}' | '\u{13a0}'..='\u{13ff}' | '\u{2c60}'..='\u{2c7f}' | '\u{a4d0}'..='\u{a4ff}'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alikes_and_invisible_ones_are_found_and_other_languages_are_not() {
        let cases = [
            ("git status", ""),
            ("g\u{456}t status", "\u{456}"),
            ("ls\u{a0};touch pwn", "\u{a0}"),
            ("git status \u{202e}# hswp", "\u{202e}"),
            ("echo привет мир", ""),
            ("git commit -m 'größer, café, 日本語'", ""),
            ("ｌｓ", "ｌｓ"),
        ];
        for (text, deceptive) in cases {
            assert_eq!(deceptive_characters(text).into_iter().collect::<String>(), deceptive, "{text}");
        }
    }
}
