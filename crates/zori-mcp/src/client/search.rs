//! Ranks texts by how well they fit a query: BM25 over their words.

use std::collections::HashMap;

const K: f64 = 1.2;
const B: f64 = 0.75;

/// Returns the places of the texts that have a word of the query in them, the best first. An empty query has all, in order.
pub fn ranked(query: &str, texts: &[String]) -> Vec<usize> {
    let wanted = words(query);
    if wanted.is_empty() {
        return (0..texts.len()).collect();
    }
    let documents: Vec<Vec<String>> = texts.iter().map(|text| words(text)).collect();
    let average = documents.iter().map(Vec::len).sum::<usize>() as f64 / documents.len().max(1) as f64;
    let mut having: HashMap<&str, usize> = HashMap::new();
    for word in &wanted {
        let count = documents.iter().filter(|document| document.iter().any(|own| fits(own, word))).count();
        having.insert(word, count);
    }
    let score = |document: &Vec<String>| -> f64 {
        let length = K * (1.0 - B + B * document.len() as f64 / average.max(1.0));
        let of = |word: &String| {
            let times = document.iter().filter(|own| fits(own, word)).count() as f64;
            let n = having[word.as_str()] as f64;
            let rare = ((documents.len() as f64 - n + 0.5) / (n + 0.5)).ln_1p();
            rare * times * (K + 1.0) / (times + length)
        };
        wanted.iter().map(of).sum()
    };
    let mut scored: Vec<(f64, usize)> =
        documents.iter().map(score).zip(0..).filter(|(score, _)| *score > 0.0).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, at)| at).collect()
}

/// A word fits its own beginnings, so that a plural finds the singular.
fn fits(own: &str, wanted: &str) -> bool {
    own == wanted || wanted.len() >= 4 && own.starts_with(wanted) || own.len() >= 4 && wanted.starts_with(own)
}

/// Splits a text into words, and names at their humps.
fn words(text: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut lower = false;
    for c in text.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && lower {
            words.push(String::new());
        }
        lower = c.is_lowercase();
        if c.is_alphanumeric() {
            words.last_mut().expect("there is always one").extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_first() {
        let texts: Vec<String> = [
            "git git_log Shows the commit log",
            "time convertTime Converts a time",
            "git commit Records changes",
        ]
        .map(str::to_owned)
        .to_vec();
        assert_eq!(ranked("convert time zones", &texts), [1]);
        assert_eq!(ranked("log of commits", &texts)[0], 0);
        assert_eq!(ranked("", &texts), [0, 1, 2]);
        assert_eq!(ranked("weather", &texts), [0; 0]);
    }
}
