//! Vectors of models: never mixed with those of another, and references to points outside.

use super::*;
use crate::database::MIGRATIONS;
use crate::{CodeChange, CodeChunk, CodeContent, CodeFile, Likeness, VectorKind, VectorsOf};

fn kind(dims: usize) -> VectorKind {
    VectorKind { model: "m:embed".into(), dims }
}

fn texts(found: Vec<crate::Recalled>) -> Vec<String> {
    found.into_iter().map(|found| found.message.content).collect()
}

#[test]
fn vectors_of_one_kind_are_compared_and_never_with_another() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    sync(&mut store, &[("a", &["uno", "due", "tre"])]);
    let missing = store.without_vector(VectorsOf::Messages, &kind(2), 2).unwrap();
    assert_eq!(
        missing.iter().map(|m| m.text.as_str()).collect::<Vec<_>>(),
        ["tre", "due"],
        "the newest first"
    );
    let id = |text: &str| store.messages().unwrap().into_iter().find(|m| m.content == text).unwrap().id;
    let (uno, due, tre) = (id("uno"), id("due"), id("tre"));
    let vectors = [(uno, vec![1.0, 0.0]), (due, vec![0.0, 0.001]), (tre, vec![1.0]), (777, vec![1.0, 1.0])];
    store.put_vectors(VectorsOf::Messages, &kind(2), &vectors, NOW).unwrap();
    let asked = |store: &ProjectStore, kind: &VectorKind, vector: &[f32]| {
        texts(store.search_by("?", Likeness::Vector(kind, vector), 5, None).unwrap())
    };
    assert_eq!(asked(&store, &kind(2), &[0.1, 7.0]), ["due"]);
    assert_eq!(asked(&store, &kind(2), &[1.0, 1.0]), ["due", "uno"]);
    assert_eq!(asked(&store, &kind(3), &[1.0, 1.0, 0.0]), [""; 0], "another length");
    let other = VectorKind { model: "n:embed".into(), dims: 2 };
    assert_eq!(asked(&store, &other, &[1.0, 0.0]), [""; 0], "another model");
    assert_eq!(
        store.without_vector(VectorsOf::Messages, &kind(2), 9).unwrap().len(),
        1,
        "one of another length was not taken"
    );
    // The model changes: what it has made so far is kept until the new one has made its own.
    store.put_vectors(VectorsOf::Messages, &other, &[(uno, vec![0.5, 0.5])], NOW).unwrap();
    assert_eq!(store.drop_other_vectors(VectorsOf::Messages, &other, NOW).unwrap(), 2);
    assert_eq!(store.drop_other_vectors(VectorsOf::Messages, &other, NOW).unwrap(), 0);
    assert_eq!(asked(&store, &kind(2), &[1.0, 1.0]), [""; 0]);
    assert_eq!(found(&store, "uno"), ["uno"], "the built-in one is always there");
}

#[test]
fn points_outside_are_references_here() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    sync(&mut store, &[("a", &["uno", "due", "tre"])]);
    let ids: Vec<_> = store.messages().unwrap().into_iter().rev().map(|message| message.id).collect();
    store.put_points(&kind(4), &[(ids[0], 10), (ids[1], 11), (555, 12)], NOW).unwrap();
    assert_eq!(store.gone_points(9).unwrap(), [12], "its message is gone already");
    assert_eq!(store.without_point(&kind(4), 9).unwrap().len(), 1);
    assert_eq!(store.without_point(&kind(5), 9).unwrap().len(), 3);
    assert!(store.has_other_points(&kind(5)).unwrap() && !store.has_other_points(&kind(4)).unwrap());
    let asked = |store: &ProjectStore, points: &[i64]| {
        texts(store.search_by("?", Likeness::Points(points), 5, None).unwrap())
    };
    assert_eq!(asked(&store, &[11, 99, 10, 12]), ["due", "uno"]);
    store.forget(&[ids[0]], NOW).unwrap();
    store.evict(1, NOW).unwrap();
    let mut gone = store.gone_points(9).unwrap();
    gone.sort();
    assert_eq!(gone, [10, 11, 12], "forgotten, evicted, never there");
    assert_eq!(asked(&store, &[11, 10]), [""; 0]);
    store.points_deleted(&[10, 12], NOW).unwrap();
    assert_eq!(store.gone_points(9).unwrap(), [11], "what could not be deleted is tried again");
    store.drop_points(NOW).unwrap();
    assert_eq!(store.gone_points(9).unwrap(), [0i64; 0]);
}

fn chunk(path: &str, text: &str) -> CodeChange {
    let chunks = vec![CodeChunk { start: 1, end: 2, text: text.into(), parts: String::new() }];
    CodeChange::Put(Box::new(CodeFile {
        path: path.into(),
        size: 1,
        mtime_ns: 1,
        hash: Vec::new(),
        lang: "rust",
        content: Ok(CodeContent { symbols: Vec::new(), chunks }),
    }))
}

/// Numbers of messages and of chunks are each their own: a vector of one is never taken for one of the other, and each goes with its owner.
#[test]
fn messages_and_chunks_are_apart() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    sync(&mut store, &[("a", &["uno"])]);
    store.change_code(vec![chunk("a.rs", "fn one() {}"), chunk("b.rs", "fn two() {}")], NOW).unwrap();
    let missing = |store: &ProjectStore, of| -> Vec<(i64, String)> {
        store.without_vector(of, &kind(2), 9).unwrap().into_iter().map(|one| (one.owner, one.text)).collect()
    };
    assert_eq!(missing(&store, VectorsOf::Messages), [(1, "uno".to_owned())]);
    let chunks = missing(&store, VectorsOf::Chunks);
    assert_eq!(chunks, [(1, "a.rs\nfn one() {}".to_owned()), (2, "b.rs\nfn two() {}".to_owned())]);
    store
        .put_vectors(VectorsOf::Messages, &kind(2), &[(1, vec![1.0, 0.0]), (2, vec![1.0, 0.0])], NOW)
        .unwrap();
    store.put_vectors(VectorsOf::Chunks, &kind(2), &[(1, vec![0.0, 1.0]), (2, vec![1.0, 1.0])], NOW).unwrap();
    assert_eq!((missing(&store, VectorsOf::Messages), missing(&store, VectorsOf::Chunks)), (vec![], vec![]));
    let alike = |store: &ProjectStore, of| store.alike(of, &kind(2), &[0.1, 1.0]).unwrap();
    assert_eq!(alike(&store, VectorsOf::Chunks), [1, 2]);
    assert_eq!(alike(&store, VectorsOf::Messages), [0i64; 0], "it points elsewhere");
    // Another model for code leaves the vectors of messages alone.
    let other = VectorKind { model: "n:embed".into(), dims: 2 };
    store.put_vectors(VectorsOf::Chunks, &other, &[(1, vec![0.0, 1.0])], NOW).unwrap();
    assert_eq!(store.drop_other_vectors(VectorsOf::Chunks, &other, NOW).unwrap(), 2);
    assert_eq!(store.alike(VectorsOf::Messages, &kind(2), &[1.0, 0.0]).unwrap(), [1]);
    // Each goes with its owner, and not with another owner of that number.
    let owners = || {
        let query = "SELECT owner_kind || ' ' || owner_id || ' ' || model FROM vectors ORDER BY 1";
        let connection = raw(&base);
        let mut rows = connection.prepare(query).unwrap();
        rows.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect::<Vec<String>>()
    };
    assert_eq!(owners(), ["chunk 1 n:embed/2", "message 1 hashed-1", "message 1 m:embed/2"]);
    store.change_code(vec![CodeChange::Gone("a.rs".into())], NOW).unwrap();
    assert_eq!(owners(), ["message 1 hashed-1", "message 1 m:embed/2"]);
    store.put_vectors(VectorsOf::Chunks, &other, &[(2, vec![0.0, 1.0])], NOW).unwrap();
    store.forget(&[1], NOW).unwrap();
    assert_eq!(owners(), ["chunk 2 n:embed/2"]);
    store.clear_code(NOW).unwrap();
    assert_eq!(owners(), [""; 0]);
}

/// A database of the version that had two tables goes on with one: what it had is found as before.
#[test]
fn two_tables_become_one() {
    let base = tempfile::tempdir().unwrap();
    {
        let connection = raw(&base);
        connection.pragma_update(None, "journal_mode", "WAL").unwrap();
        MIGRATIONS[..5].iter().for_each(|migration| connection.execute_batch(migration).unwrap());
        let key = crate::project_key(Path::new("/p"));
        connection
            .execute_batch(&format!(
                "PRAGMA application_id = 0x7a6f7269; PRAGMA user_version = 5;
                 INSERT INTO projects VALUES (1, '/p', 'p', '{key}', 0);
                 INSERT INTO messages (id, project_id, turn, role, content, said_at, tokens)
                     VALUES (7, 1, 0, 'note', 'uno', '', 1), (8, 1, 0, 'note', 'due', '', 1);
                 INSERT INTO vectors VALUES (1, 7, 'm:embed/2', x'7f00'), (1, 8, 'm:embed/2', x'007f');
                 INSERT INTO code_files VALUES (3, 1, 'a.rs', 1, 1, x'', 'rust', NULL, 0);
                 INSERT INTO code_chunks VALUES (7, 1, 3, 1, 2, 'fn one() {{}}', '');
                 INSERT INTO code_vectors VALUES (1, 7, 'm:embed/2', x'007f');"
            ))
            .unwrap();
    }
    let mut store = store(&base, "/p");
    let alike = |store: &ProjectStore, of| store.alike(of, &kind(2), &[0.0, 1.0]).unwrap();
    assert_eq!(alike(&store, VectorsOf::Messages), [8]);
    assert_eq!(alike(&store, VectorsOf::Chunks), [7]);
    store.evict(1, NOW).unwrap();
    store.forget(&[8], NOW).unwrap();
    assert_eq!(alike(&store, VectorsOf::Messages), [0i64; 0]);
    assert_eq!(alike(&store, VectorsOf::Chunks), [7], "chunk 7 is not message 7");
    store.change_code(vec![CodeChange::Gone("a.rs".into())], NOW).unwrap();
    assert_eq!(alike(&store, VectorsOf::Chunks), [0i64; 0]);
}
