//! A purge takes one project's rows, whole, and leaves no byte of them.

use super::*;
use crate::{Counts, Kept, NewJob, When, projects};

const CANARY: &str = "zanzibarcanary";

#[test]
fn one_project_goes_and_the_other_stays_as_it_is() {
    let base = tempfile::tempdir().unwrap();
    let (mut mine, mut other) = (store(&base, "/p"), store(&base, "/q"));
    sync(&mut mine, &[("a", &["the zanzibarcanary sings", "again"])]);
    sync(&mut other, &[("b", &["the heron stays"])]);
    let rows = |store: &ProjectStore| {
        let vectors: i64 = store
            .database
            .connection
            .query_row("SELECT count(*) FROM vectors WHERE project_id = ?1", [store.id], |row| row.get(0))
            .unwrap();
        (store.messages().unwrap(), vectors, found(store, "heron"))
    };
    let before = rows(&other);
    let counts = Counts { sessions: 1, messages: 2, embeddings: 2 };
    assert_eq!(mine.count_purge().unwrap(), (counts, Kept::default()));
    assert_eq!(mine.purge(NOW).unwrap(), counts);
    drop(other);
    mine.reclaim().unwrap();
    for entry in std::fs::read_dir(base.path()).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        assert!(!bytes.windows(CANARY.len()).any(|part| part == CANARY.as_bytes()));
    }
    assert_eq!(mine.purge(NOW).unwrap(), Counts::default(), "once more is nothing more");
    let other = store(&base, "/q");
    assert_eq!(rows(&other), before);
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
    assert_eq!(store.count_purge().unwrap().1, Kept { jobs: 1 });
    store.purge(NOW).unwrap();
    assert_eq!((store.count().unwrap(), store.jobs().unwrap().len()), (0, 1));
}
