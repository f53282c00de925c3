//! The memory of a project with 100,000 messages: what fits a question, a turn that is taken in, and a start beside such a database.

use std::path::Path;
use std::time::Instant;

use anyhow::{Result, ensure};
use zori_index::{Database, ProjectStore, SessionCopy, SessionFile, database_path};

use super::area::{Bench, RUNS};
use super::figure::{Bar, Figure, median, ms};
use super::run::in_ms;

const SESSIONS: usize = 500;
const MESSAGES: usize = 200;
const QUESTIONS: usize = 200;
/// How often the program is started each way.
const STARTS: usize = 5 * RUNS;
const NOW: i64 = 1_800_000_000;
/// How many words there are, and how many a message has.
const WORDS: usize = 5_000;
const LENGTHS: [usize; 4] = [10, 40, 40, 150];

/// Measures recall over 100,000 messages, a turn taken in, and starts.
pub fn recall(bench: &Bench) -> Result<Vec<Figure>> {
    let base = bench.base()?;
    let mut store = ProjectStore::new(Database::open(&database_path(&base))?, &bench.work().canonicalize()?)?;
    let mut files: Vec<SessionFile> = (0..SESSIONS).map(|n| file(n, MESSAGES)).collect();
    store.sync(&files, false, NOW, |name| Some(session(name.parse().ok()?, MESSAGES)))?;
    ensure!(store.count()? == (SESSIONS * MESSAGES) as u64, "messages are missing");
    let mut times = Vec::new();
    for n in 0..QUESTIONS {
        // Few words of a question are rare.
        let [a, b] = [word(40 + 7 * n % 200), word(400 + 23 * n % 4_000)];
        let question = format!("what was {} {} {a} and {b}", word(0), word(n % 12));
        let begun = Instant::now();
        let found = store.search(&question, 5, None)?;
        times.push(in_ms(begun.elapsed()));
        ensure!(!found.is_empty(), "nothing fits `{question}`");
    }
    times.sort_by(f64::total_cmp);
    let mut saved = Vec::new();
    for turn in 1..=RUNS {
        // One session went on by a prompt and an answer.
        let messages = MESSAGES + 2 * turn;
        files[SESSIONS - 1] = file(SESSIONS - 1, messages);
        let mut said = Some(session(SESSIONS - 1, messages));
        let begun = Instant::now();
        store.sync(&files, false, NOW, |_| said.take())?;
        saved.push(in_ms(begun.elapsed()));
    }
    drop(store);
    let (before, after) = starts(bench, &database_path(&base))?;
    Ok(vec![
        Figure {
            name: "recall over 100,000 messages, slowest of twenty",
            measured: ms(times[times.len() * 95 / 100]),
            floor: None,
            bar: Bar::Under(15.0),
        },
        Figure {
            name: "recall: a turn taken in",
            measured: ms(median(&saved)),
            floor: None,
            bar: Bar::Under(2.0),
        },
        Figure {
            name: "start to first request byte, beside 100,000 messages",
            measured: ms(median(&after)),
            floor: Some(ms(median(&before))),
            bar: Bar::Ratio(1.02),
        },
    ])
}

/// Returns how long starts take without the database and with it. They take turns, so that a slow moment of the machine hits both alike: a difference of
/// two in a hundred is less than two rounds of the same differ by.
fn starts(bench: &Bench, database: &Path) -> Result<(Vec<f64>, Vec<f64>)> {
    let aside = database.with_extension("aside");
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        std::fs::rename(database, &aside)?;
        before.push(bench.first_request()?);
        std::fs::rename(&aside, database)?;
        after.push(bench.first_request()?);
    }
    Ok((before, after))
}

fn file(number: usize, messages: usize) -> SessionFile {
    SessionFile { name: number.to_string(), len: messages as u64, time: number as u64 }
}

/// Returns a session of so many messages, of some 10 to 150 words. As in any language, few of 5,000 words are said all the time, and most hardly ever.
fn session(number: usize, messages: usize) -> SessionCopy {
    let message = |n: usize| {
        let at = number * MESSAGES + n;
        let words: Vec<String> = (0..LENGTHS[at % LENGTHS.len()]).map(|k| word(rank(at, k))).collect();
        let role = if n.is_multiple_of(2) { "user" } else { "assistant" };
        ((n / 2 + 1) as u32, role, words.join(" "), "2026-11-16T09:00:00Z".to_owned())
    };
    SessionCopy { title: format!("session {number}"), messages: (0..messages).map(message).collect() }
}

/// Returns the place of a word among all, the most frequent first; the n-th is said 1/n as often as the first.
fn rank(message: usize, place: usize) -> usize {
    let mixed = (message * 151 + place).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let part = ((mixed >> 11) % 1_000_000) as f64 / 1_000_000.0;
    (WORDS as f64).powf(part) as usize - 1
}

/// Returns the word of a place.
fn word(place: usize) -> String {
    const PARTS: [&str; 10] = ["par", "ser", "to", "ken", "in", "dex", "ca", "che", "lo", "ck"];
    let n = place % WORDS;
    format!("{}{}{}{}", PARTS[n % 10], PARTS[n / 10 % 10], PARTS[n / 100 % 10], n / 1_000)
}
