//! Names as a case-insensitive disk would compare them (P-7): without case, invisible characters, trailing dots and
//! blanks.
//!
//! A checkout may travel to a disk that takes `.GIT` or `.g\u{200c}it` for `.git`, so what is protected or denied is
//! compared like this everywhere. What is allowed is compared exactly.

use std::borrow::Cow;

/// Returns a name folded.
pub fn fold(name: &str) -> Cow<'_, str> {
    let trimmed = match name {
        "." | ".." => name,
        name => name.trim_end_matches(['.', ' ']),
    };
    if trimmed.bytes().all(|b| b.is_ascii() && !b.is_ascii_uppercase()) {
        return Cow::Borrowed(trimmed);
    }
    let visible: String = trimmed.chars().filter(|c| !ignorable(*c)).collect();
    let folded: String = visible.chars().flat_map(lower).collect();
    let end = folded.trim_end_matches(['.', ' ']).len();
    Cow::Owned(folded[..end].to_owned())
}

/// Lower case, with the letters that only meet there: the long s, the Kelvin sign, the dotless and dotted i.
fn lower(c: char) -> impl Iterator<Item = char> {
    let c = match c {
        'ſ' => 's',
        'ı' | 'İ' => 'i',
        c => c,
    };
    c.to_lowercase()
}

/// Characters that some file systems leave out when they compare: Unicode's default-ignorable code points.
pub fn ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn disguises_fall() {
        for name in [
            ".git",
            ".GIT",
            ".Git",
            ".g\u{200c}it",
            "\u{feff}.git",
            ".git.",
            ".git. .",
            ".gIt ",
            ".gıt",
            ".g\u{e0041}it",
            ".git\u{200b}.",
        ] {
            assert_eq!(fold(name), ".git", "{name:?}");
        }
        assert_eq!(fold("haſh\u{212a}"), "hashk");
    }

    #[test]
    fn plain_names_stay() {
        for name in [".", "..", "a.b", "git", ".gitx", "x git"] {
            assert_eq!(fold(name), name);
        }
    }
}
