//! Which skills a prompt means: BM25 over name, description and triggers (SK-5).

use std::collections::{BTreeMap, BTreeSet};

use crate::skill::Skill;

/// How a word's frequency counts, and how the length of a text does: the usual values.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// The part of a prompt's meaning that a skill has to cover.
const GATE: f64 = 0.35;
/// How many different words have to agree, unless a trigger does.
const MIN_WORDS: usize = 2;

/// Words that every prompt has.
const COMMON: &[&str] = &[
    "the", "and", "for", "with", "that", "this", "from", "you", "your", "are", "was", "not", "but", "use",
    "used", "when", "what", "how", "can", "all", "any", "into", "its", "has", "have", "will", "should",
    "please", "make", "it", "is", "a", "an", "to", "of", "in", "on", "or", "be", "do", "as", "at", "by",
    "if", "me", "my", "we", "i",
];

/// Skills made ready for many questions.
pub struct Index {
    documents: Vec<Document>,
    /// In how many documents a word is.
    frequency: BTreeMap<String, usize>,
    average: f64,
}

struct Document {
    words: BTreeMap<String, usize>,
    len: f64,
    triggers: Vec<String>,
}

impl Index {
    /// Makes an index of skills, which answers by their positions.
    pub fn new<'a>(skills: impl IntoIterator<Item = &'a Skill>) -> Self {
        let documents: Vec<Document> = skills.into_iter().map(Document::new).collect();
        let mut frequency = BTreeMap::new();
        for word in documents.iter().flat_map(|document| document.words.keys()) {
            *frequency.entry(word.clone()).or_default() += 1;
        }
        let total: f64 = documents.iter().map(|document| document.len).sum();
        let average = total / (documents.len().max(1) as f64);
        Self { documents, frequency, average }
    }

    /// Returns the skills that a prompt means, best first.
    pub fn matching(&self, prompt: &str, most: usize) -> Vec<usize> {
        let lower = prompt.to_lowercase();
        let asked: BTreeSet<String> = words(&lower).collect();
        // What a skill would reach that had every word of the prompt that any skill has.
        let known: f64 = asked
            .iter()
            .filter(|word| self.frequency.contains_key(*word))
            .map(|word| self.rarity(word))
            .sum();
        let mut found: Vec<(f64, usize)> = Vec::new();
        for (at, document) in self.documents.iter().enumerate() {
            let triggered = document.triggers.iter().any(|trigger| contains_phrase(&lower, trigger));
            let hits = asked.iter().filter(|word| document.words.contains_key(*word)).count();
            let score = self.score(document, &asked);
            let part = if known > 0.0 { score / (known * (K1 + 1.0)) } else { 0.0 };
            if triggered {
                found.push((10.0 + part, at));
            } else if hits >= MIN_WORDS && part >= GATE {
                found.push((part, at));
            }
        }
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.into_iter().take(most).map(|(_, at)| at).collect()
    }

    /// Returns the skills nearest to a question, best first, however far they are.
    pub fn nearest(&self, question: &str, most: usize) -> Vec<usize> {
        let asked: BTreeSet<String> = words(&question.to_lowercase()).collect();
        let mut found: Vec<(f64, usize)> = self
            .documents
            .iter()
            .enumerate()
            .map(|(at, document)| (self.score(document, &asked), at))
            .filter(|(score, _)| *score > 0.0)
            .collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)));
        found.into_iter().take(most).map(|(_, at)| at).collect()
    }

    fn score(&self, document: &Document, asked: &BTreeSet<String>) -> f64 {
        let one = |word: &String| {
            let count = *document.words.get(word)? as f64;
            let length = 1.0 - B + B * document.len / self.average.max(1.0);
            Some(self.rarity(word) * count * (K1 + 1.0) / (count + K1 * length))
        };
        asked.iter().filter_map(one).sum()
    }

    fn rarity(&self, word: &str) -> f64 {
        let (all, having) =
            (self.documents.len() as f64, self.frequency.get(word).copied().unwrap_or(0) as f64);
        (1.0 + (all - having + 0.5) / (having + 0.5)).ln()
    }
}

impl Document {
    fn new(skill: &Skill) -> Self {
        let text =
            format!("{} {} {} {}", skill.name, skill.name, skill.description, skill.triggers.join(" "));
        let mut counted = BTreeMap::new();
        let mut len = 0.0;
        for word in words(&text.to_lowercase()) {
            *counted.entry(word).or_default() += 1;
            len += 1.0;
        }
        let triggers = skill.triggers.iter().map(|trigger| trigger.to_lowercase()).collect();
        Self { words: counted, len, triggers }
    }
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric())
        .filter(|word| word.len() > 1 && !COMMON.contains(word))
        .map(|word| stem(word).to_owned())
}

/// Takes the ending off an English word, so that `forms` finds `form`.
fn stem(word: &str) -> &str {
    let shorter = ["ing", "ed", "es", "s"].iter().find_map(|ending| word.strip_suffix(ending));
    shorter.filter(|stem| stem.len() >= 3).unwrap_or(word)
}

/// Returns whether a phrase stands in a text, at the borders of words.
fn contains_phrase(text: &str, phrase: &str) -> bool {
    let border = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
    !phrase.is_empty()
        && text.match_indices(phrase).any(|(at, _)| {
            border(text[..at].chars().next_back()) && border(text[at + phrase.len()..].chars().next())
        })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::command::Origin;

    fn skill(name: &str, about: &str) -> Skill {
        let text = format!("---\nname: {name}\n{about}\n---\n");
        crate::skill::read(&Path::new("/s").join(name), text.as_bytes(), Origin::User).unwrap()
    }

    #[test]
    fn a_prompt_finds_what_it_means() {
        let skills = [
            skill("pdf", "description: Fill in PDF forms and extract text from PDF documents"),
            skill("release", "description: Prepare a release: version, changelog, tag\ntriggers: [ship it]"),
            skill("sql", "description: Write and tune SQL queries for Postgres"),
        ];
        let index = Index::new(&skills);
        let found = |prompt: &str| -> Vec<&str> {
            index.matching(prompt, 3).into_iter().map(|at| skills[at].name.as_str()).collect()
        };
        assert_eq!(found("Extract the text from these PDF documents"), ["pdf"]);
        assert_eq!(found("Tune the slow SQL query"), ["sql"]);
        assert_eq!(found("ok, ship it!"), ["release"]);
        assert_eq!(found("relationship items"), [""; 0]);
        assert_eq!(found("Why does the parser test fail on text with tabs?"), [""; 0]);
        assert_eq!(found(""), [""; 0]);
        assert_eq!(index.nearest("postgres", 3), [2]);
    }
}
