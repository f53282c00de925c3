//! One thread of a process writes, others read meanwhile, and nothing is left when nobody has the database open.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use super::*;
use crate::IndexError;
use crate::database::KNOWN;
use crate::writer::{MOST_READERS, Writer};

/// What the end of a session has for all that goes on beside it.
const GRACE: Duration = Duration::from_millis(250);

#[test]
fn one_thread_writes_for_all() {
    let base = tempfile::tempdir().unwrap();
    let first = store(&base, "/p");
    let threads: HashSet<_> = std::thread::scope(|scope| {
        let one = |number: usize| {
            let mut store = store(&base, &format!("/p{number}"));
            let thread = store.write(NOW, |_, _| Ok(std::thread::current().id())).unwrap();
            // What was written is there for the one who wrote it.
            store.save_note(&format!("note {number}"), "", NOW).unwrap();
            assert_eq!(found(&store, "note"), [format!("note {number}")]);
            assert_ne!(thread, std::thread::current().id());
            thread
        };
        let running: Vec<_> = (0..8).map(|number| scope.spawn(move || one(number))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(threads.len(), 1, "{threads:?}");
    drop(first);
}

/// A reader sees what was committed, and neither waits for a writer nor sees half of what it does.
#[test]
fn readers_go_on_while_somebody_writes() {
    let base = tempfile::tempdir().unwrap();
    let (mut writing, reading) = (store(&base, "/p"), store(&base, "/p"));
    writing.save_note("one", "", NOW).unwrap();
    let reading = ProjectStore::new(reading.database, Path::new("/p")).unwrap();
    let (begun, inside) = std::sync::mpsc::channel();
    let (go_on, told) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let work = move |change: &rusqlite::Transaction<'_>, project: i64| {
                change.execute("DELETE FROM messages WHERE project_id = ?1", [project])?;
                begun.send(()).unwrap();
                told.recv().unwrap();
                Ok(())
            };
            writing.write(NOW, work).unwrap();
        });
        inside.recv().unwrap();
        assert_eq!(found(&reading, "one"), ["one"], "as it was before");
        go_on.send(()).unwrap();
    });
    assert_eq!(found(&reading, "one"), [""; 0]);
}

/// Not more than a bound read at once: whoever comes later waits for one of them, and not for ever.
#[test]
fn readers_are_bounded() {
    let base = tempfile::tempdir().unwrap();
    let mut stores: Vec<_> = (0..MOST_READERS).map(|_| store(&base, "/p")).collect();
    let path = database_path(base.path()).canonicalize().unwrap();
    let writer = Writer::of(&path, || panic!("it is open")).unwrap();
    let refused = writer.reader(Duration::from_millis(10), || panic!("there are enough")).unwrap_err();
    assert_eq!(refused.to_string(), format!("{} is read by too many at once", path.display()));
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| store(&base, "/p"));
        drop(stores.pop());
        stores.push(waiting.join().unwrap());
    });
    // One that could not be opened takes nobody's place.
    drop(stores.pop());
    let failed = || Err(IndexError::Missing(path.clone()));
    stores.truncate(MOST_READERS - 5);
    for _ in 0..MOST_READERS {
        let borrowed: Vec<_> =
            (0..4).map(|_| writer.reader(Duration::ZERO, || panic!("idle ones are there"))).collect();
        assert!(writer.reader(Duration::ZERO, failed).is_err());
        borrowed.into_iter().for_each(|reader| writer.give_back(reader.unwrap()));
    }
}

#[test]
fn it_ends_with_the_last_one() {
    let base = tempfile::tempdir().unwrap();
    let mut stores: Vec<_> = (0..7).map(|_| store(&base, "/p")).collect();
    stores[0].save_note("one", "", NOW).unwrap();
    let names = || {
        let mut names: Vec<_> = std::fs::read_dir(base.path())
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    stores.truncate(1);
    assert_eq!(names(), ["zori.db", "zori.db-shm", "zori.db-wal"], "somebody has it open");
    let begun = Instant::now();
    drop(stores);
    // Far above what is promised, so that a busy machine proves nothing.
    assert!(begun.elapsed() < GRACE * 20, "{:?}", begun.elapsed());
    assert_eq!(names(), ["zori.db"], "the log is worked off, and nobody has it open");
}

/// Two versions of the program at once: the older one sees that the newer one has changed the file under it, and writes nothing more.
#[test]
fn a_later_version_while_it_is_open() {
    let base = tempfile::tempdir().unwrap();
    let mut old = store(&base, "/p");
    old.save_note("one", "", NOW).unwrap();
    raw(&base).pragma_update(None, "user_version", KNOWN + 1).unwrap();
    let newer = |error: IndexError| matches!(error, IndexError::Newer { found, known, .. } if (found, known) == (KNOWN + 1, KNOWN));
    assert!(newer(old.save_note("two", "", NOW).unwrap_err()));
    assert!(newer(Database::open(&database_path(base.path())).unwrap_err()), "also for whoever opens it now");
    let left: i64 = raw(&base).query_row("SELECT count(*) FROM messages", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 1);
}

/// A file that was put aside, or deleted, while somebody had it open: whoever opens it next has the one that is there then.
#[test]
fn another_file_in_its_place() {
    let base = tempfile::tempdir().unwrap();
    let path = database_path(base.path());
    let mut old = store(&base, "/p");
    old.save_note("one", "", NOW).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let name = crate::database::beside(&path, suffix);
        std::fs::rename(&name, crate::database::beside(&base.path().join("aside"), suffix)).unwrap();
    }
    let mut new = store(&base, "/p");
    new.save_note("two", "", NOW).unwrap();
    assert_eq!((found(&old, "one two"), found(&new, "one two")), (vec!["one".into()], vec!["two".into()]));
}

/// A defect in what is written is told to the one who asked for it, and the next one begins anew.
#[test]
fn a_panic_is_an_error() {
    let base = tempfile::tempdir().unwrap();
    let mut broken = store(&base, "/p");
    let error = broken.write(NOW, |_, _| -> rusqlite::Result<()> { panic!("on purpose") }).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "{}: the thread that writes has ended",
            database_path(&base.path().canonicalize().unwrap()).display()
        )
    );
    let mut next = store(&base, "/p");
    next.save_note("one", "", NOW).unwrap();
    assert_eq!(found(&next, "one"), ["one"]);
}

#[test]
fn what_is_opened_for_reading_is_not_written() {
    let (base, scratch) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    store(&base, "/p").save_note("one", "", NOW).unwrap();
    let database = Database::read(&database_path(base.path()), scratch.path()).unwrap();
    let mut reading = ProjectStore::new(database, Path::new("/p")).unwrap();
    assert!(matches!(reading.save_note("two", "", NOW), Err(IndexError::ReadOnly(_))));
    assert_eq!(found(&reading, "one two"), ["one"]);
}
