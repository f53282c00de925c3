//! DB-2, DB-3, DB-7: many processes on one file, killed at any time. A process is this test program again, at [`one_of_the_crowd`].

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::damage::{Random, cases, row};
use super::*;

/// Says what a child has to do: `notes NUMBER COUNT` or `open`.
const TASK: &str = "ZORI_INDEX_TEST_TASK";
const BASE: &str = "ZORI_INDEX_TEST_BASE";

/// What a child does: it is started by the tests below. Without a task there is nothing to do.
#[test]
fn one_of_the_crowd() {
    let (Ok(task), Ok(base)) = (std::env::var(TASK), std::env::var(BASE)) else { return };
    let words: Vec<&str> = task.split(' ').collect();
    let open =
        || ProjectStore::new(Database::open(&database_path(Path::new(&base))).unwrap(), Path::new("/p"));
    match words[..] {
        ["open"] => drop(open().unwrap()),
        ["notes", number, count] => {
            let mut store = open().unwrap();
            let count: usize = count.parse().unwrap();
            for n in 0..count {
                let begun = Instant::now();
                let id = store.save_note(&format!("note {n} of process {number}"), "", NOW).unwrap();
                tell(&format!("saved {id} {}", begun.elapsed().as_micros()));
                for _ in 0..10 {
                    let found = store.search(&format!("note {n} process {number}"), 3, None).unwrap();
                    assert!(!found.is_empty());
                }
            }
            tell("done");
        }
        _ => panic!("{task}"),
    }
}

fn tell(line: &str) {
    println!("\n{line}");
}

fn child(base: &TempDir, task: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["tests::crowd::one_of_the_crowd", "--exact", "--nocapture"])
        .env(TASK, task)
        .env(BASE, base.path())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap()
}

/// Reads what a child says, and returns the notes that it has saved, with the microseconds that took.
fn saved(child: &mut Child, mut each: impl FnMut(&mut Child)) -> Vec<(i64, u64)> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut saved = Vec::new();
    for line in lines {
        let line = line.unwrap_or_default();
        let words: Vec<&str> = line.split(' ').collect();
        if let ["saved", id, micros] = words[..] {
            // The last line of a killed process may be cut.
            if let (Ok(id), Ok(micros)) = (id.parse(), micros.parse()) {
                saved.push((id, micros));
                each(child);
            }
        }
    }
    saved
}

/// DB-2: nobody is told that the database is locked, and no commit is lost.
#[test]
fn writers_and_readers_at_once() {
    let (processes, writes) = if std::env::var_os("ZORI_SOAK").is_some() { (32, 1_000) } else { (4, 100) };
    let base = tempfile::tempdir().unwrap();
    drop(store(&base, "/p"));
    let mut children: Vec<_> = (0..processes).map(|n| child(&base, &format!("notes {n} {writes}"))).collect();
    // Pipes are read at once, so that nobody waits for a reader.
    let readers: Vec<_> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            children.iter_mut().map(|child| scope.spawn(move || saved(child, |_| {}))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let mut times: Vec<u64> = readers.iter().flatten().map(|(_, micros)| *micros).collect();
    times.sort_unstable();
    assert_eq!(times.len(), processes * writes, "each was told as saved");
    let store = store(&base, "/p");
    assert_eq!(store.count().unwrap() as usize, processes * writes, "0 lost");
    let slow = times[times.len() * 99 / 100] / 1_000;
    row("DB-2", &format!("0 errors, 0 lost, p99 of a write {slow} ms"), processes * writes);
}

/// DB-3: what was told as saved is there after a kill at any time, and the file is whole.
#[test]
fn killed_at_any_time() {
    let (mut random, runs, mut told) = (Random(11), cases(50), 0);
    let base = tempfile::tempdir().unwrap();
    for run in 0..runs {
        let mut writer = child(&base, &format!("notes {run} 200"));
        let (mut left, pause) = (random.below(6), Duration::from_micros(random.below(3_000) as u64));
        let notes = saved(&mut writer, |child| {
            if left == 0 {
                let begun = Instant::now();
                while begun.elapsed() < pause {
                    std::hint::spin_loop();
                }
                let _ = child.kill();
            }
            left = left.saturating_sub(1);
        });
        writer.wait().unwrap();
        if run % 2 == 1 {
            // What a process leaves beside the file may be lost with it (DB-5).
            let _ = std::fs::remove_file(crate::database::beside(&database_path(base.path()), "-shm"));
        }
        let store = store(&base, "/p");
        for (id, _) in &notes {
            assert!(store.message(*id).unwrap().is_some(), "run {run}: note {id} was told and is lost");
        }
        let whole: String =
            store.database.connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0)).unwrap();
        assert_eq!(whole, "ok", "run {run}");
        told += notes.len();
    }
    row("DB-3", &format!("0 of {told} commits lost, integrity check clean"), runs);
}

/// DB-7: processes that find no database, or an old one, bring it up to date at once: one wins, the others wait.
#[test]
fn migrating_at_once() {
    let (processes, rounds) = if std::env::var_os("ZORI_SOAK").is_some() { (16, 200) } else { (6, 5) };
    for round in 0..rounds {
        let base = tempfile::tempdir().unwrap();
        if round % 2 == 1 {
            let connection = rusqlite::Connection::open(database_path(base.path())).unwrap();
            connection.execute_batch(crate::database::MIGRATIONS[0]).unwrap();
            connection.execute_batch("PRAGMA application_id = 0x7a6f7269; PRAGMA user_version = 1").unwrap();
        }
        let mut children: Vec<_> = (0..processes).map(|_| child(&base, "open")).collect();
        for child in &mut children {
            assert!(child.wait().unwrap().success(), "round {round}");
        }
        let store = store(&base, "/p");
        let version: i64 =
            store.database.connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
        assert_eq!(version, crate::database::MIGRATIONS.len() as i64);
    }
    row("DB-7", "0 errors", processes * rounds);
}
