//! DB-4, DB-6, DB-8 at the file itself: damage anywhere, a kill inside a migration, any text as a question.

use std::fs;

use super::*;
use crate::database::MIGRATIONS;
use crate::{IndexError, NewEntity, NewFact};
use rusqlite::fallible_iterator::FallibleIterator as _;

/// A small source of numbers, the same in every run.
pub struct Random(pub u64);

impl Random {
    fn step(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 33
    }

    pub fn below(&mut self, bound: usize) -> usize {
        self.step() as usize % bound
    }
}

/// Returns how many cases run: twenty times as many in the soak run.
pub fn cases(usual: usize) -> usize {
    std::env::var("ZORI_SOAK").map_or(usual, |_| usual * 20)
}

/// Prints a row of the table of `cargo xtask soak reliability`.
pub fn row(id: &str, figure: &str, cases: usize) {
    println!("{id}: {figure}: {cases} cases");
}

fn filled(base: &TempDir) -> Vec<u8> {
    let mut store = store(base, "/p");
    let said: Vec<String> = (0..60).map(|n| format!("message {n} about herons and the number {n}")).collect();
    let said: Vec<&str> = said.iter().map(String::as_str).collect();
    sync(&mut store, &[("a", &said)]);
    let id = store.messages().unwrap()[0].id;
    let entity = |name: &str| NewEntity { name: name.into(), kind: "bird".into() };
    let fact = NewFact {
        message: id,
        source: entity("heron"),
        target: entity("pond"),
        relation: "lives_in".into(),
        fact: "The heron lives in the pond".into(),
        confidence: 1.0,
    };
    store.add_facts(&[id], &[fact], NOW).unwrap();
    drop(store);
    fs::read(database_path(base.path())).unwrap()
}

/// Uses a database as a session does; damage is an error, and nothing else is one.
fn used(path: &Path) -> Result<(), IndexError> {
    let mut store = ProjectStore::new(Database::open(path)?, Path::new("/p"))?;
    let copy = |_: &str| {
        Some(SessionCopy { title: "t".into(), messages: vec![(1, "user", "anew".into(), String::new())] })
    };
    store.sync(&[file("b", 5)], false, NOW, copy)?;
    let found = store.search("heron number", 5, None)?;
    store.touch(&found.iter().map(|found| found.message.id).collect::<Vec<_>>(), NOW)?;
    store.evict(10, NOW)?;
    store.messages().map(drop)
}

/// DB-4: bytes of every page header and random ones are changed. Nobody panics; what is found damaged can be put aside and is kept as it is, and a
/// new one can be used.
#[test]
fn damage_anywhere_is_survived() {
    let base = tempfile::tempdir().unwrap();
    let whole = filled(&base);
    let path = database_path(base.path());
    let (mut random, mut damaged, mut unnoticed) = (Random(7), 0, 0);
    let headers = (0..whole.len() / 4096).map(|page| (page * 4096 + if page == 0 { 100 } else { 0 }, 8));
    let spots: Vec<(usize, usize)> = headers
        .chain(
            std::iter::from_fn(|| Some((random.below(whole.len() - 8), 1 + random.below(8))))
                .take(cases(100)),
        )
        .collect();
    for (at, length) in &spots {
        let mut bytes = whole.clone();
        bytes[*at..at + length].iter_mut().for_each(|byte| *byte = !*byte);
        fs::write(&path, &bytes).unwrap();
        match used(&path) {
            Err(IndexError::Damaged { .. }) => {
                let aside = Database::set_aside(&path, NOW).unwrap();
                match aside {
                    Some(aside) => {
                        damaged += 1;
                        // Whoever found the damage may have written before; nothing is overwritten by the new one.
                        assert!(fs::metadata(&aside).unwrap().len() >= 4096);
                        used(&path).unwrap();
                        fs::remove_file(&aside).unwrap();
                    }
                    None => unnoticed += 1,
                }
            }
            Err(IndexError::Foreign(_) | IndexError::Newer { .. } | IndexError::Failed { .. }) => {}
            Err(other) => panic!("{at}: {other}"),
            Ok(()) => unnoticed += 1,
        }
        for suffix in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(crate::database::beside(&path, suffix));
        }
    }
    assert!(damaged > 10, "{damaged} of {} were found, {unnoticed} hit nothing", spots.len());
    row("DB-4", &format!("{damaged} put aside, 0 panics"), spots.len());
}

#[test]
fn cut_off_anywhere() {
    let base = tempfile::tempdir().unwrap();
    let whole = filled(&base);
    let path = database_path(base.path());
    for length in [0, 1, 15, 16, 99, 100, 4095, 4096, 4097, whole.len() / 2, whole.len() - 1] {
        fs::write(&path, &whole[..length]).unwrap();
        match used(&path) {
            // SQLite takes a file of one byte for an empty one.
            Ok(()) => assert!(length <= 1 || length == whole.len() - 1, "{length}"),
            Err(IndexError::Damaged { .. }) => {
                let aside = Database::set_aside(&path, NOW).unwrap().unwrap();
                assert_eq!(fs::metadata(&aside).unwrap().len(), length as u64, "it is kept as it was");
                assert_eq!(Database::damaged(&path), std::slice::from_ref(&aside));
                used(&path).unwrap();
                fs::remove_file(aside).unwrap();
            }
            Err(other) => panic!("{length}: {other}"),
        }
        for suffix in ["", "-wal", "-shm"] {
            let _ = fs::remove_file(crate::database::beside(&path, suffix));
        }
    }
}

/// A database that is whole, or not ours, stays where it is.
#[test]
fn only_damage_is_put_aside() {
    let base = tempfile::tempdir().unwrap();
    let path = database_path(base.path());
    assert_eq!(Database::set_aside(&path, NOW).unwrap(), None, "there is none");
    filled(&base);
    assert_eq!(Database::set_aside(&path, NOW).unwrap(), None);
    let theirs = base.path().join("theirs.db");
    rusqlite::Connection::open(&theirs).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    assert!(matches!(Database::set_aside(&theirs, NOW), Err(IndexError::Foreign(_))));
    // A second one in the same second has a name of its own.
    for expected in ["zori.db.damaged-1800000000", "zori.db.damaged-1800000000-2"] {
        fs::write(&path, "no database").unwrap();
        let aside = Database::set_aside(&path, NOW).unwrap().unwrap();
        assert_eq!(aside.file_name().unwrap(), expected);
    }
}

/// DB-6: a process that ends inside a migration leaves the old schema or the new one. Each statement is the last one once.
#[test]
fn a_migration_is_all_or_nothing() {
    let mut statements = 0;
    for (done, migration) in MIGRATIONS.iter().enumerate() {
        for last in 0.. {
            let base = tempfile::tempdir().unwrap();
            let path = database_path(base.path());
            {
                let mut connection = rusqlite::Connection::open(&path).unwrap();
                connection.pragma_update(None, "journal_mode", "WAL").unwrap();
                for before in &MIGRATIONS[..done] {
                    connection.execute_batch(before).unwrap();
                }
                connection.pragma_update(None, "application_id", 0x7a6f_7269).unwrap();
                connection.pragma_update(None, "user_version", done as i64).unwrap();
                let change =
                    connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).unwrap();
                let mut batch = rusqlite::Batch::new(&change, migration);
                for _ in 0..last {
                    let Some(mut statement) = batch.next().unwrap() else { break };
                    let _ = statement.raw_execute();
                }
                let over = batch.next().unwrap().is_none();
                // Dropped without a commit, as a kill would have it.
                drop(change);
                if over {
                    break;
                }
            }
            statements += 1;
            used(&path).unwrap_or_else(|error| panic!("migration {done}, after statement {last}: {error}"));
        }
    }
    assert!(statements > 20, "{statements}");
    row("DB-6", "0 half migrations", statements);
}

/// DB-6: what schema 1 had is there in the latest one, also for those who only read.
#[test]
fn an_older_one_is_read_as_it_is() {
    let (base, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = database_path(base.path());
    let connection = rusqlite::Connection::open(&path).unwrap();
    connection.pragma_update(None, "journal_mode", "WAL").unwrap();
    connection.execute_batch(MIGRATIONS[0]).unwrap();
    connection
        .execute_batch(
            "PRAGMA application_id = 0x7a6f7269; PRAGMA user_version = 1;
             INSERT INTO projects VALUES (1, '/p', 'p', '', 0);
             INSERT INTO messages VALUES (1, 1, NULL, 0, 'note', 'the heron is grey', '2027-01-01T00:00:00Z', 4);",
        )
        .unwrap();
    connection.execute("UPDATE projects SET key = ?1", [crate::project_key(Path::new("/p"))]).unwrap();
    drop(connection);
    let before = fs::read(&path).unwrap();
    let reading = ProjectStore::new(Database::read(&path, scratch.path()).unwrap(), Path::new("/p")).unwrap();
    assert_eq!(found(&reading, "heron"), ["the heron is grey"]);
    drop(reading);
    assert_eq!(fs::read(&path).unwrap(), before, "reading changes nothing");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    let store = store(&base, "/p");
    let saved: i64 =
        store.database.connection.query_row("SELECT saved_at FROM messages", [], |row| row.get(0)).unwrap();
    assert_eq!(saved, 1_798_761_600, "its time is that of the message");
}

/// DB-8: any text is data.
#[test]
fn any_text_can_be_asked_for() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    sync(&mut store, &[("a", &["the heron is grey"])]);
    let pieces = [
        "\"",
        "'",
        "*",
        "(",
        ")",
        "NEAR",
        "NEAR(",
        "AND",
        "OR",
        "NOT",
        "^",
        ":",
        "-",
        "+",
        ";",
        "--",
        "/*",
        "\0",
        "heron",
        "content:",
        "{",
        "}",
        "\\",
        "%",
        "_",
        "ß",
        "\u{202e}",
        "\u{1f9a9}",
        "DROP TABLE messages",
        " ",
        "\n",
        "x'00'",
        "?1",
        ",",
    ];
    let mut random = Random(3);
    let count = cases(500);
    for _ in 0..count {
        let question: String =
            (0..1 + random.below(12)).map(|_| pieces[random.below(pieces.len())]).collect();
        store.search(&question, 5, None).unwrap_or_else(|error| panic!("{question:?}: {error}"));
        store.facts(Some(&question), 5).unwrap();
    }
    assert_eq!(store.count().unwrap(), 1);
    row("DB-8", "0 errors", count);
}
