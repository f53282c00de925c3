//! The file, in each state it can be found in.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;
use crate::{IndexError, project_key};

/// Returns the names, lengths, times and contents of the files in a folder.
fn listing(folder: &Path) -> BTreeMap<String, (u64, std::time::SystemTime, Vec<u8>)> {
    let facts = |entry: fs::DirEntry| {
        let facts = entry.metadata().unwrap();
        let bytes = fs::read(entry.path()).unwrap();
        (entry.file_name().into_string().unwrap(), (facts.len(), facts.modified().unwrap(), bytes))
    };
    fs::read_dir(folder).unwrap().map(|entry| facts(entry.unwrap())).collect()
}

fn opened(path: &Path) -> String {
    Database::open(path).unwrap_err().to_string().replace(path.to_str().unwrap(), "DB")
}

#[test]
fn a_new_one_is_private_and_keeps_no_journal_behind() {
    let base = tempfile::tempdir().unwrap();
    let path = database_path(&base.path().join("deep/er"));
    drop(Database::open(&path).unwrap());
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::metadata(path.parent().unwrap()).unwrap().permissions().mode() & 0o777, 0o700);
    let names: Vec<_> = listing(path.parent().unwrap()).into_keys().collect();
    assert_eq!(names, ["zori.db"]);
}

/// Where a database in use cannot be copied, because the folder for copies is missing or full, that is said, and not that there is none.
#[test]
fn one_that_cannot_be_copied() {
    let (base, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = database_path(base.path());
    let mut writing = store(&base, "/p");
    writing.save_note("one", "", NOW).unwrap();
    let gone = scratch.path().join("gone");
    let error = Database::read_existing(&path, &gone).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{} cannot be copied into {} to be read: No such file or directory (os error 2)",
            path.display(),
            gone.display()
        )
    );
    drop(writing);
    // Nobody has it open, so there is no copy.
    assert!(Database::read_existing(&path, &gone).unwrap().is_some());
}

/// A database that another process is just making is none of another program: it is looked at as it is at one moment.
#[test]
fn one_that_is_made_meanwhile() {
    let base = tempfile::tempdir().unwrap();
    let looking = raw(&base);
    looking.pragma_update(None, "journal_mode", "WAL").unwrap();
    let seen = crate::database::marks(&looking, || drop(store(&base, "/p"))).unwrap();
    assert_eq!(seen, (0, 0, 0));
    let (id, version, tables) = crate::database::marks(&looking, || ()).unwrap();
    assert_eq!((id, version), (0x7a6f_7269, crate::database::KNOWN));
    assert!(tables > 0);
}

/// DB-1: how the file is opened, by what SQLite itself says of it.
#[test]
fn db_1_how_it_is_opened() {
    let base = tempfile::tempdir().unwrap();
    let path = database_path(base.path());
    let said = |connection: &rusqlite::Connection| -> Vec<String> {
        let pragmas = [
            "journal_mode",
            "synchronous",
            "busy_timeout",
            "foreign_keys",
            "secure_delete",
            "application_id",
            "user_version",
        ];
        let value = |name: &str| -> String {
            let read = |row: &rusqlite::Row<'_>| row.get::<_, rusqlite::types::Value>(0);
            match connection.pragma_query_value(None, name, read).unwrap() {
                rusqlite::types::Value::Text(text) => text,
                rusqlite::types::Value::Integer(number) => number.to_string(),
                other => panic!("{other:?}"),
            }
        };
        pragmas.iter().map(|name| format!("{name}={}", value(name))).collect()
    };
    let version = format!("user_version={}", crate::database::MIGRATIONS.len());
    let expected = |synchronous: &'static str| {
        let fixed = ["busy_timeout=5000", "foreign_keys=1", "secure_delete=1", "application_id=2054124137"];
        let all = ["journal_mode=wal", synchronous].into_iter().chain(fixed).chain([version.as_str()]);
        all.map(str::to_owned).collect::<Vec<_>>()
    };
    let of_writer = |database: Database| database.change(move |connection| Ok(said(connection))).unwrap();
    // 1 is NORMAL, 2 is FULL.
    assert_eq!(of_writer(Database::open(&path).unwrap()), expected("synchronous=1"));
    assert_eq!(of_writer(Database::open(&path).unwrap().synced().unwrap()), expected("synchronous=2"));
    // A connection that reads changes nothing, whoever tries.
    let reading = Database::open(&path).unwrap();
    let refused = reading.connection.execute_batch("DELETE FROM projects").unwrap_err();
    assert_eq!(refused.sqlite_error_code(), Some(rusqlite::ErrorCode::ReadOnly));
    damage::row("DB-1", "settings as SQLite says them", 2 * 7);
}

/// DB-1: a write begins immediately, before it reads anything. One that began by reading would fail at once when somebody else wrote meanwhile.
#[test]
fn db_1_writes_begin_immediately() {
    let base = tempfile::tempdir().unwrap();
    let mut writing = store(&base, "/p");
    writing.save_note("known", "2027-01-01T00:00:00Z", NOW).unwrap();
    let path = database_path(base.path());
    let other = move || {
        let connection = rusqlite::Connection::open(&path).unwrap();
        connection.busy_timeout(std::time::Duration::ZERO).unwrap();
        connection.execute_batch("BEGIN IMMEDIATE; ROLLBACK").map_err(|error| error.sqlite_error_code())
    };
    assert_eq!(other(), Ok(()));
    let asked = other.clone();
    let meanwhile = writing.write(NOW, move |_, _| Ok(asked())).unwrap();
    assert_eq!(meanwhile, Err(Some(rusqlite::ErrorCode::DatabaseBusy)));
    assert_eq!(other(), Ok(()));
}

/// D-33: reading leaves no trace, whether or not somebody has it open.
#[test]
fn reading_leaves_no_trace() {
    let (base, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = database_path(base.path());
    let read = || ProjectStore::new(Database::read(&path, scratch.path())?, Path::new("/p"));
    assert!(matches!(read(), Err(IndexError::Missing(_))));
    assert!(listing(base.path()).is_empty());
    let mut writing = store(&base, "/p");
    sync(&mut writing, &[("a", &["one two"])]);
    let before = listing(base.path());
    assert!(before.contains_key("zori.db-wal"), "it is in use: {:?}", before.keys());
    let reading = read().unwrap();
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "who is killed now leaves no copy");
    assert_eq!(found(&reading, "two"), ["one two"]);
    drop(reading);
    assert_eq!(listing(base.path()), before);
    drop(writing);
    let before = listing(base.path());
    assert_eq!(before.keys().collect::<Vec<_>>(), ["zori.db"]);
    let reading = read().unwrap();
    assert_eq!(found(&reading, "two"), ["one two"]);
    assert_eq!(listing(base.path()), before, "also while it is open");
    drop(reading);
    assert_eq!(listing(base.path()), before);
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "the copy is gone");
}

/// D-33: a copy of a database that somebody writes to is whole. Where the log is worked off and begun anew after the database was copied, it would
/// have neither the old pages nor the new ones.
#[test]
fn a_copy_is_whole_while_somebody_writes() {
    let (base, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let path = database_path(base.path());
    let mut writing = store(&base, "/p");
    let mut write = |round: u64, begins_anew: bool| {
        let text = |n: u32| format!("{round} {n} {}", "word ".repeat(400));
        let messages = (1..40).map(|n| (n, "user", text(n), String::new())).collect::<Vec<_>>();
        let copy = |_: &str| Some(SessionCopy { title: String::new(), messages: messages.clone() });
        writing.sync(&[file("a", round)], false, NOW, copy).unwrap();
        if begins_anew {
            let work = |connection: &mut rusqlite::Connection| {
                connection.query_row("PRAGMA wal_checkpoint(RESTART)", [], |_| Ok(())).unwrap();
                Ok(())
            };
            writing.database.change(work).unwrap();
            writing.save_note(&format!("after {round}"), "", NOW).unwrap();
        }
    };
    let mut round = 1;
    write(round, true);
    let mut read = |changes: usize, begins_anew: bool| {
        let mut left = changes;
        let reading = crate::database::read_while(&path, scratch.path(), || {
            if left > 0 {
                (left, round) = (left - 1, round + 1);
                write(round, begins_anew);
            }
        })?;
        let check = "PRAGMA integrity_check";
        let said: String = reading.connection.query_row(check, [], |row| row.get(0)).unwrap();
        let store = ProjectStore::new(reading, Path::new("/p"))?;
        let said_in_it = store.messages()?.into_iter().filter(|message| message.session.is_some());
        let rounds: std::collections::BTreeSet<String> =
            said_in_it.map(|message| message.content.split(' ').next().unwrap().to_owned()).collect();
        Ok((said, rounds.into_iter().collect::<Vec<_>>()))
    };
    let whole = |round: &str| ("ok".to_owned(), vec![round.to_owned()]);
    assert_eq!(read(1, false).unwrap(), whole("2"), "what is written meanwhile is in the log");
    assert_eq!(read(1, true).unwrap(), whole("3"));
    assert_eq!(read(5, true).unwrap(), whole("8"), "until it holds still");
    assert!(matches!(read(99, true), Err(IndexError::Locked(_))), "which is not waited for forever");
    assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0, "no copy is left");
}

#[test]
fn what_cannot_be_used_says_why() {
    let base = tempfile::tempdir().unwrap();
    let path = base.path().join("text.db");
    fs::write(&path, "SQLite is not what this is, although it is long enough to have a header of one hundred bytes, I think so.").unwrap();
    assert_eq!(opened(&path), "DB is damaged: file is not a database");
    let path = base.path().join("other.db");
    rusqlite::Connection::open(&path).unwrap().execute_batch("CREATE TABLE theirs (a)").unwrap();
    let before = fs::read(&path).unwrap();
    assert_eq!(opened(&path), "DB is not a database of this program");
    assert_eq!(fs::read(&path).unwrap(), before, "another program's file stays as it is");
    let path = base.path().join("newer.db");
    drop(Database::open(&path).unwrap());
    rusqlite::Connection::open(&path).unwrap().pragma_update(None, "user_version", 99).unwrap();
    assert_eq!(
        opened(&path),
        format!(
            "DB was made by a newer version (schema 99; this one knows {})",
            crate::database::MIGRATIONS.len()
        )
    );
    let path = base.path().join("damaged.db");
    drop(Database::open(&path).unwrap());
    let mut bytes = fs::read(&path).unwrap();
    bytes[100..4096].fill(0xff);
    fs::write(&path, bytes).unwrap();
    assert!(matches!(Database::open(&path), Err(IndexError::Damaged { .. })), "{:?}", Database::open(&path));
    let path = base.path().join("folder.db");
    fs::create_dir(&path).unwrap();
    assert!(matches!(Database::open(&path), Err(IndexError::Failed { .. })));
}

#[test]
fn every_error_has_a_way_on() {
    let path = || "/b/zori.db".into();
    let errors = [
        IndexError::Missing(path()),
        IndexError::Foreign(path()),
        IndexError::Newer { path: path(), found: 2, known: 1 },
        IndexError::Damaged { path: path(), why: "x".into() },
        IndexError::Locked(path()),
        IndexError::NoLocks(path()),
        IndexError::NoSharedMemory(path()),
        IndexError::ReadOnly(path()),
        IndexError::Failed { path: path(), why: "x".into() },
    ];
    assert!(errors.iter().all(|error| !error.way_on().is_empty()));
}

#[test]
fn the_key_is_that_of_the_projects_folder() {
    assert_eq!(project_key(Path::new("")), "af1349b9f5f9a1a6");
}
