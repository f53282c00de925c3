//! A purge takes one project's rows, whole, and leaves no byte of them.

use super::*;
use crate::purge::{nobodys_tables, project_tables};
use crate::{Counts, Kept, NewJob, When, projects};

const CANARY: &str = "zanzibarcanary";

#[test]
fn one_project_goes_and_the_other_stays_as_it_is() {
    let base = tempfile::tempdir().unwrap();
    let (mut mine, mut other) = (store(&base, "/p"), store(&base, "/q"));
    sync(&mut mine, &[("a", &["the zanzibarcanary sings", "again"])]);
    sync(&mut other, &[("b", &["the heron stays"])]);
    let state = |store: &ProjectStore| {
        let vectors: i64 = store
            .database
            .connection
            .query_row("SELECT count(*) FROM vectors WHERE project_id = ?1", [store.id], |row| row.get(0))
            .unwrap();
        (store.messages().unwrap(), vectors, found(store, "heron"))
    };
    let before = state(&other);
    let counts = Counts {
        tables: [("messages", 2), ("sessions", 1), ("vectors", 2)].map(|(t, n)| (t.to_owned(), n)).into(),
    };
    assert_eq!(mine.count_purge().unwrap(), (counts.clone(), Kept::default()));
    assert_eq!(mine.purge(NOW).unwrap(), counts);
    drop(other);
    mine.reclaim().unwrap();
    for entry in std::fs::read_dir(base.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()));
    }
    assert_eq!(mine.purge(NOW).unwrap(), Counts::default(), "once more is nothing more");
    let other = store(&base, "/q");
    assert_eq!(state(&other), before);
    let roots: Vec<_> = projects(&other.database).unwrap().into_iter().map(|row| row.root).collect();
    assert_eq!(roots, ["/q"]);
}

#[test]
fn jobs_are_kept_and_with_them_the_project() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    sync(&mut store, &[("a", &["one"])]);
    let when = When::cron("0 9 * * *", "UTC", NOW).unwrap();
    store
        .add_job(&NewJob { name: "j", when, prompt: "p", created_by: "user", mode: "default" }, NOW)
        .unwrap();
    assert_eq!(store.count_purge().unwrap().1, Kept { jobs: 1, usage: 0 });
    store.purge(NOW).unwrap();
    assert_eq!((store.count().unwrap(), store.jobs().unwrap().len()), (0, 1));
}

/// Whatever table somebody adds: a purge knows whose its rows are, or this fails.
#[test]
fn every_table_says_whose_its_rows_are() {
    let base = tempfile::tempdir().unwrap();
    let store = store(&base, "/p");
    drop(store);
    let connection = &raw(&base);
    assert_eq!(nobodys_tables(connection), [""; 0], "add a `project_id` to these tables");
    connection.execute_batch("CREATE TABLE stray (word TEXT)").unwrap();
    assert_eq!(nobodys_tables(connection), ["stray"], "the guard sees one that has none");
}

/// The canary is in every column of every table that takes text, and in no byte afterwards; rows of the other project are equal one by one.
#[test]
fn the_canary_in_every_table() {
    let base = tempfile::tempdir().unwrap();
    let (mut mine, mut other) = (store(&base, "/p"), store(&base, "/q"));
    sync(&mut mine, &[("a", &["the zanzibarcanary sings"])]);
    sync(&mut other, &[("b", &["the heron stays"])]);
    let tables = planted(&raw(&base), mine.id.unwrap(), CANARY);
    planted(&raw(&base), other.id.unwrap(), "heron");
    assert!(tables.len() >= 9, "{tables:?}");
    let before = rows(&other);
    assert!(
        before.iter().all(|(_, rows)| !rows.is_empty()),
        "each table has a row of the other one: {before:?}"
    );
    let (counts, _) = mine.count_purge().unwrap();
    assert_eq!(mine.purge(NOW).unwrap(), counts);
    drop(other);
    mine.reclaim().unwrap();
    for entry in std::fs::read_dir(base.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        let at = bytes.windows(CANARY.len()).position(|part| part == CANARY.as_bytes());
        assert_eq!(
            at,
            None,
            "{}",
            String::from_utf8_lossy(&bytes[at.unwrap_or(0).saturating_sub(80)..][..160])
        );
    }
    assert_eq!(rows(&store(&base, "/q")), before);
}

/// Puts a row with a word in each column into every table of a project, and returns the tables.
fn planted(connection: &rusqlite::Connection, project: i64, word: &str) -> Vec<String> {
    connection.pragma_update(None, "foreign_keys", false).unwrap();
    let tables = project_tables(connection).unwrap();
    for table in
        tables.iter().filter(|table| !["jobs", "usage", "messages", "sessions"].contains(&table.as_str()))
    {
        let query = "SELECT name, type FROM pragma_table_info(?1)";
        let column = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
        let columns: Vec<(String, String)> = connection
            .prepare(query)
            .unwrap()
            .query_map([table], column)
            .unwrap()
            .map(Result::unwrap)
            .collect();
        let values: Vec<String> = columns
            .iter()
            .map(|(name, kind)| match (name.as_str(), kind.as_str()) {
                ("project_id", _) => project.to_string(),
                ("id", _) => "NULL".to_owned(),
                ("state", _) if table == "embeddings" => "'stored'".to_owned(),
                ("owner_kind", _) if table == "vectors" => "'chunk'".to_owned(),
                (_, "TEXT") => format!("'{word}'"),
                (_, "BLOB") => format!("CAST('{word}' AS BLOB)"),
                // References to rows that are there, and distinct between the two.
                (_, "INTEGER") => project.to_string(),
                _ => "0.5".to_owned(),
            })
            .collect();
        let names: Vec<_> = columns.iter().map(|(name, _)| format!("\"{name}\"")).collect();
        let insert = format!("INSERT INTO {table} ({}) VALUES ({})", names.join(", "), values.join(", "));
        connection.execute_batch(&insert).unwrap_or_else(|error| panic!("{insert}: {error}"));
    }
    connection.pragma_update(None, "foreign_keys", true).unwrap();
    tables
}

/// Returns the rows of a project in each table, as text.
fn rows(store: &ProjectStore) -> Vec<(String, Vec<String>)> {
    let connection = &store.database.connection;
    let mut found = Vec::new();
    for table in project_tables(connection).unwrap() {
        if ["jobs", "usage"].contains(&table.as_str()) {
            continue;
        }
        let query = format!("SELECT * FROM {table} WHERE project_id = ?1 ORDER BY 1, 2");
        let mut statement = connection.prepare(&query).unwrap();
        let width = statement.column_count();
        let row = |row: &rusqlite::Row<'_>| {
            Ok((0..width).map(|at| format!("{:?}", row.get_ref(at).unwrap())).collect::<Vec<_>>().join("|"))
        };
        let rows = statement.query_map([store.id], row).unwrap().map(Result::unwrap).collect();
        found.push((table, rows));
    }
    found
}
