//! Eviction and the dream pass.

use super::*;
use crate::{DreamGates, Dreamt, NewEntity, NewFact, retention};

const DAY: i64 = 86_400;
const GATES: DreamGates = DreamGates { min_sessions: 3, min_hours: 24 };

#[test]
fn what_was_used_is_remembered_longer() {
    assert_eq!(retention(0, 0), 1.0);
    assert_eq!(retention(-DAY, 0), 1.0, "a clock that was put back");
    // The saving is the first access: ln 2.
    assert_eq!(format!("{:.4} {:.4}", retention(DAY, 0), retention(DAY, 9)), "0.2363 0.6590");
    assert!(retention(7 * DAY, 3) > retention(7 * DAY, 2));
    assert!(retention(i64::MAX, u32::MAX) >= 0.0);
}

#[test]
fn the_least_remembered_leave_recall_and_stay_in_the_table() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    let sessions: &[(&str, &[&str])] = &[("a", &["heron one", "heron two", "heron three", "heron four"])];
    sync(&mut store, sessions);
    let ids: Vec<_> = store.messages().unwrap().into_iter().rev().map(|message| message.id).collect();
    store.touch(&[ids[0]], NOW + 40 * DAY).unwrap();
    assert_eq!(store.evict(4, NOW).unwrap(), 0, "few enough");
    assert_eq!(store.evict(2, NOW + 41 * DAY).unwrap(), 2);
    let mut left = found(&store, "heron");
    left.sort();
    assert_eq!(left, ["heron four", "heron one"], "the oldest was used yesterday");
    assert_eq!(store.count().unwrap(), 2);
    assert_eq!(store.message(ids[1]).unwrap().unwrap().content, "heron two");
    let vectors = |store: &ProjectStore| -> u64 {
        let connection = &store.database.connection;
        connection.query_row("SELECT count(*) FROM vectors", [], |row| row.get(0)).unwrap()
    };
    assert_eq!(vectors(&store), 2, "their vectors are gone");
    assert_eq!(store.evict(2, NOW + 42 * DAY).unwrap(), 0);
    // The session goes on: what was evicted does not come back with it.
    sync(&mut store, &[("a", &["heron one", "heron two", "heron three", "heron four", "a fifth"])]);
    assert_eq!(found(&store, "heron").len(), 2);
    assert_eq!(store.messages().unwrap().last().unwrap().id, ids[0], "and numbers hold");
    assert_eq!(store.evict(0, NOW + 43 * DAY).unwrap(), 3);
    assert_eq!(store.count().unwrap(), 0);
    // Made anew, all of it is there again; a note, too, which is in no session file, and is found by likeness as before.
    let note = store.save_note("a stork", "2027-01-09T00:00:00Z", NOW).unwrap();
    assert_eq!(store.evict(0, NOW + 44 * DAY).unwrap(), 1);
    let copy = |_: &str| {
        Some(SessionCopy {
            title: "a".into(),
            messages: vec![(1, "user", "heron one".into(), String::new())],
        })
    };
    store.sync(&[file("a", 9)], true, NOW, copy).unwrap();
    assert_eq!(store.count().unwrap(), 2);
    assert_eq!(found(&store, "heron"), ["heron one"]);
    assert_eq!((found(&store, "storks"), vectors(&store)), (vec!["a stork".to_owned()], 2));
    assert_eq!(store.message(note).unwrap().unwrap().content, "a stork", "its number holds");
}

#[test]
fn the_gates_are_in_the_database() {
    let base = tempfile::tempdir().unwrap();
    let mut one = store(&base, "/p");
    assert_eq!(one.dream(GATES, NOW).unwrap(), None, "nothing was ever written");
    let nanos = |seconds: i64| seconds as u64 * 1_000_000_000;
    let run = |store: &mut ProjectStore, sessions: &[(&str, i64)]| {
        let files: Vec<_> = sessions
            .iter()
            .map(|(name, time)| SessionFile { name: (*name).into(), len: 1, time: nanos(*time) })
            .collect();
        let copy = |name: &str| {
            let said = vec![(1, "user", format!("what about {name}"), String::new())];
            Some(SessionCopy { title: name.into(), messages: said })
        };
        store.sync(&files, false, NOW, copy).unwrap()
    };
    let begin = [("a", NOW - 30), ("b", NOW - 20)];
    run(&mut one, &begin);
    assert_eq!(one.dream(GATES, NOW).unwrap(), None, "two sessions are too few");
    run(&mut one, &[begin[0], begin[1], ("c", NOW - 10)]);
    assert_eq!(one.dream(GATES, NOW).unwrap(), Some(Dreamt { summarised: 3, ..Dreamt::default() }));
    // Another process knows of it.
    let mut two = store(&base, "/p");
    let later = NOW + DAY;
    assert_eq!(two.dream(GATES, later).unwrap(), None, "no session since");
    let more = [("d", NOW + 5), ("e", NOW + 6), ("f", NOW + 7)];
    run(&mut two, &[&begin[..], &[("c", NOW - 10)], &more].concat());
    assert_eq!(two.dream(GATES, later - 1).unwrap(), None, "not a day since");
    assert!(two.dream_due(GATES, later).unwrap());
    assert_eq!(two.dream(GATES, later).unwrap(), Some(Dreamt { summarised: 3, ..Dreamt::default() }));
    assert_eq!(one.dream(GATES, later).unwrap(), None, "once over all processes");
    // A clock that was put back does not hold it off.
    assert!(one.dream_due(GATES, NOW - 365 * DAY).unwrap());
    let summaries: Vec<_> = one.summaries(2).unwrap().into_iter().map(|s| (s.session, s.text)).collect();
    assert_eq!(summaries, [("f".into(), "what about f".into()), ("e".into(), "what about e".into())]);
}

/// Long notes that differ in a word are very much alike, and say different things. Only those become one that differ in form.
#[test]
fn a_dream_keeps_what_differs() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    sync(&mut store, &[("a", &["hello"])]);
    let notes = [
        "Invoices for customers in Germany are numbered by month and stored in the billing bucket",
        "Invoices for customers in France are numbered by month and stored in the billing bucket",
        "The release branch for version 2.3 is cut from main every second Monday",
        "The release branch for version 2.4 is cut from main every second Monday",
        "We do not deploy on Fridays",
        "We deploy on Fridays",
        "The runner of the nightly build is called builder7",
        "The runner of the nightly build is called builder8",
        "Customers are invoiced on the first Monday of each month",
        "Customers are invoiced on the first Mondays of each month.",
    ];
    for note in notes {
        store.save_note(note, "2027-01-05T00:00:00Z", NOW).unwrap();
    }
    let gates = DreamGates { min_sessions: 1, min_hours: 24 };
    assert_eq!(store.dream(gates, NOW).unwrap(), Some(Dreamt { merged: 1, summarised: 1, closed: 0 }));
    let left: Vec<_> = store.messages().unwrap().into_iter().map(|message| message.content).collect();
    let gone: Vec<_> = notes.into_iter().filter(|note| !left.iter().any(|left| left == note)).collect();
    assert_eq!(gone, [notes[8]], "the newer of two that say the same stays");
}

#[test]
fn a_dream_merges_and_closes() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    sync(&mut store, &[("a", &["We deploy on Friday", "No, on Monday", "Both use SQLite"])]);
    let (friday, monday, sqlite) = {
        let messages = store.messages().unwrap();
        (messages[2].id, messages[1].id, messages[0].id)
    };
    let entity = |name: &str| NewEntity { name: name.into(), kind: "thing".into() };
    let fact = |message, source: &str, relation: &str, target: &str| NewFact {
        message,
        source: entity(source),
        target: entity(target),
        relation: relation.into(),
        fact: format!("{source} {relation} {target}"),
        confidence: 0.9,
    };
    let facts = [
        fact(friday, "the service", "deployed on", "Friday"),
        fact(monday, "The Service", "deployed_on", "Monday"),
        fact(sqlite, "the service", "uses", "SQLite"),
        fact(sqlite, "the service", "uses", "Redis"),
        fact(sqlite, "the service", "uses", "sqlite"),
    ];
    assert_eq!(store.add_facts(&[friday, monday, sqlite], &facts, NOW).unwrap(), 5);
    store.save_note("The deployment happens on Monday mornings", "2027-01-05T00:00:00Z", NOW).unwrap();
    store.save_note("The deployment happens on Monday morning", "2027-01-06T00:00:00Z", NOW).unwrap();
    store.save_note("Nobody likes tabs", "2027-01-07T00:00:00Z", NOW).unwrap();
    let gates = DreamGates { min_sessions: 1, min_hours: 24 };
    assert_eq!(store.dream(gates, NOW).unwrap(), Some(Dreamt { merged: 2, closed: 1, summarised: 1 }));
    let holding: Vec<_> =
        store.facts(None, 10).unwrap().into_iter().filter(|fact| fact.valid_to.is_none()).collect();
    let mut targets: Vec<_> = holding.iter().map(|fact| fact.target.as_str()).collect();
    targets.sort();
    assert_eq!(targets, ["Monday", "Redis", "SQLite"]);
    let notes: Vec<_> =
        store.messages().unwrap().into_iter().filter(|m| m.role == "note").map(|m| m.content).collect();
    assert_eq!(notes, ["Nobody likes tabs", "The deployment happens on Monday morning"]);
    assert_eq!(
        store.summaries(5).unwrap()[0].text,
        "We deploy on Friday ... Both use SQLite",
        "how it began, and what came last"
    );
}
