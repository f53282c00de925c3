//! Identifiers and the words in them: `camelCase`, `snake_case`, `HTTPServer2`.
//!
//! The database splits at everything that is no letter and no digit, `_` included. What it cannot see is where a word begins within an
//! identifier by its capitals; those parts are added beside the text.

use std::collections::BTreeSet;

/// Returns the parts of the identifiers of a text that capitals join, in small letters, each once, with blanks between.
pub fn parts(text: &str) -> String {
    let mut all = BTreeSet::new();
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        if has_inner_capital(word) {
            let parts = split(word);
            if parts.len() > 1 {
                all.extend(parts);
            }
        }
    }
    all.into_iter().collect::<Vec<_>>().join(" ")
}

/// Returns the words of a question, in small letters, each once; those that capitals join are taken apart.
pub fn of_question(text: &str) -> Vec<String> {
    let mut words = Vec::new();
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let parts = if has_inner_capital(word) { split(word) } else { vec![word.to_lowercase()] };
        for word in parts {
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    words
}

/// Whether a capital stands behind a small letter or a digit, or before a small letter within the word.
fn has_inner_capital(word: &str) -> bool {
    word.bytes().skip(1).any(|byte| byte.is_ascii_uppercase())
        && word.bytes().any(|byte| byte.is_ascii_lowercase())
}

/// Splits an identifier where a capital begins a word: `HTTPServer2` is `http`, `server2`.
fn split(word: &str) -> Vec<String> {
    let letters: Vec<char> = word.chars().collect();
    let (mut parts, mut part) = (Vec::new(), String::new());
    for (at, letter) in letters.iter().enumerate() {
        let begins = letter.is_uppercase()
            && at > 0
            && (!letters[at - 1].is_uppercase()
                || letters.get(at + 1).is_some_and(|next| next.is_lowercase()));
        if begins && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        }
        part.extend(letter.to_lowercase());
    }
    if !part.is_empty() {
        parts.push(part);
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_and_their_words() {
        assert_eq!(parts("let fooBar = HTTPServer2::new(snake_case, PLAIN, Word);"), "bar foo http server2");
        assert_eq!(parts("nothing to split"), "");
        assert_eq!(of_question("parseConfig of_file"), ["parse", "config", "of", "file"]);
        assert_eq!(of_question("  ?! "), Vec::<String>::new());
    }
}
