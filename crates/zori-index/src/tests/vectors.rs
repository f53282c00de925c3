//! Vectors of models: never mixed with those of another, and references to points outside.

use super::*;
use crate::{Likeness, VectorKind};

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
    let missing = store.without_vector(&kind(2), 2).unwrap();
    assert_eq!(
        missing.iter().map(|m| m.text.as_str()).collect::<Vec<_>>(),
        ["tre", "due"],
        "the newest first"
    );
    let id = |text: &str| store.messages().unwrap().into_iter().find(|m| m.content == text).unwrap().id;
    let (uno, due, tre) = (id("uno"), id("due"), id("tre"));
    let vectors = [(uno, vec![1.0, 0.0]), (due, vec![0.0, 0.001]), (tre, vec![1.0]), (777, vec![1.0, 1.0])];
    store.put_vectors(&kind(2), &vectors, NOW).unwrap();
    let asked = |store: &ProjectStore, kind: &VectorKind, vector: &[f32]| {
        texts(store.search_by("?", Likeness::Vector(kind, vector), 5, None).unwrap())
    };
    assert_eq!(asked(&store, &kind(2), &[0.1, 7.0]), ["due"]);
    assert_eq!(asked(&store, &kind(2), &[1.0, 1.0]), ["due", "uno"]);
    assert_eq!(asked(&store, &kind(3), &[1.0, 1.0, 0.0]), [""; 0], "another length");
    let other = VectorKind { model: "n:embed".into(), dims: 2 };
    assert_eq!(asked(&store, &other, &[1.0, 0.0]), [""; 0], "another model");
    assert_eq!(store.without_vector(&kind(2), 9).unwrap().len(), 1, "one of another length was not taken");
    // The model changes: what it has made so far is kept until the new one has made its own.
    store.put_vectors(&other, &[(uno, vec![0.5, 0.5])], NOW).unwrap();
    assert_eq!(store.drop_other_vectors(&other, NOW).unwrap(), 2);
    assert_eq!(store.drop_other_vectors(&other, NOW).unwrap(), 0);
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
