//! Entities and facts: kept, shown, followed, and gone with their messages.

use super::*;
use crate::{NewEntity, NewFact};

fn fact(message: i64, source: &str, relation: &str, target: &str) -> NewFact {
    let entity = |name: &str| NewEntity { name: name.into(), kind: "component".into() };
    NewFact {
        message,
        source: entity(source),
        target: entity(target),
        relation: relation.into(),
        fact: format!("{source} {relation} {target}."),
        confidence: 2.0,
    }
}

#[test]
fn facts_lead_from_one_message_to_another() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    sync(&mut store, &[("a", &["It was slow yesterday", "Somebody restarted it", "Lunch"])]);
    let ids: Vec<_> = store.unextracted(10).unwrap().into_iter().map(|message| message.id).collect();
    assert_eq!(ids.len(), 3);
    let facts = [
        fact(ids[0], "Billing", "runs on", "Kestrel"),
        fact(ids[1], "kestrel", "maintained by", "Ada"),
        fact(999, "Nobody", "asked", "this"),
        fact(ids[2], "?!", "is", "Lunch"),
    ];
    assert_eq!(store.add_facts(&ids, &facts, NOW).unwrap(), 2);
    assert_eq!(store.unextracted(10).unwrap(), [], "each message is looked at once");
    // No word of the question is in the messages.
    assert_eq!(found(&store, "who knows billing?"), ["It was slow yesterday", "Somebody restarted it"]);
    assert_eq!(found(&store, "what about ledgers"), [""; 0]);
    let shown: Vec<_> = store
        .facts(Some("kestrel"), 10)
        .unwrap()
        .into_iter()
        .map(|fact| {
            format!("{} {} {} ({}) {}", fact.source, fact.relation, fact.target, fact.confidence, fact.fact)
        })
        .collect();
    assert_eq!(
        shown,
        [
            "Kestrel maintained_by Ada (1) kestrel maintained by Ada.",
            "Billing runs_on Kestrel (1) Billing runs on Kestrel."
        ]
    );
    let entities: Vec<_> =
        store.entities(10).unwrap().into_iter().map(|entity| (entity.name, entity.facts)).collect();
    assert_eq!(entities, [("Kestrel".into(), 2), ("Ada".into(), 1), ("Billing".into(), 1)]);
    // Another project sees nothing of it.
    let other = super::store(&base, "/q");
    assert_eq!((other.facts(None, 9).unwrap(), other.entities(9).unwrap()), (vec![], vec![]));
    // What was forgotten is forgotten here, too.
    store.forget(&[ids[1]], NOW).unwrap();
    let entities: Vec<_> = store.entities(10).unwrap().into_iter().map(|entity| entity.name).collect();
    assert_eq!(entities, ["Billing", "Kestrel"]);
}
