//! Plans, choices, the ledger and leases.

use super::*;
use crate::{Payment, PlanStatus, StepStatus, day_begins, projects};

#[test]
fn a_plan_is_kept_step_by_step() {
    let base = tempfile::tempdir().unwrap();
    let (mut mine, mut other) = (store(&base, "/p"), store(&base, "/q"));
    assert_eq!(mine.open_plan().unwrap(), None);
    let steps = ["look \"here\"".to_owned(), "mend".to_owned()];
    let mut plan = mine.add_plan("s1", "a goal", &steps, NOW).unwrap();
    assert_eq!(mine.plan(plan.id).unwrap().as_ref(), Some(&plan));
    assert_eq!(plan.next_step(), Some(0));
    plan.steps[0].status = StepStatus::Done;
    plan.steps[1].status = StepStatus::Failed;
    mine.keep_plan(&plan, NOW + 5).unwrap();
    plan.updated_at = NOW + 5;
    assert_eq!(mine.open_plan().unwrap().as_ref(), Some(&plan));
    assert_eq!(plan.next_step(), Some(1), "what failed is tried again");
    assert_eq!(other.plan(plan.id).unwrap(), None, "MEM-6: a plan of another project is not found");
    other.keep_plan(&crate::Plan { status: PlanStatus::Cancelled, ..plan.clone() }, NOW).unwrap();
    assert_eq!(mine.plan(plan.id).unwrap().unwrap().status, PlanStatus::Open, "nor changed");
    plan.steps[1].status = StepStatus::Done;
    plan.status = PlanStatus::Done;
    mine.keep_plan(&plan, NOW + 6).unwrap();
    assert_eq!(mine.open_plan().unwrap(), None);
    let second = mine.add_plan("s1", "another", &steps, NOW).unwrap();
    let ids: Vec<_> = mine.plans(9).unwrap().into_iter().map(|plan| plan.id).collect();
    assert_eq!(ids, [second.id, plan.id]);
}

#[test]
fn the_last_choice_holds_and_can_be_forgotten() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    for (value, left) in [
        (Some("anthropic:a"), vec![("chat", "model", "anthropic:a")]),
        (Some("openai:b"), vec![("chat", "model", "openai:b")]),
        (None, vec![]),
    ] {
        store.keep_preference("chat", "model", value, NOW).unwrap();
        let kept = store.preferences().unwrap();
        let kept: Vec<_> = kept.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
        assert_eq!(kept, left);
    }
}

fn paid(cost: Option<u64>) -> Payment<'static> {
    let (session, provider, model) = (Some("s1"), "anthropic", "m");
    Payment { session, provider, model, input: 1, output: 2, cache_read: 3, cache_write: 4, cost }
}

/// The budget of a day is over all projects, and outlives them (D-31).
#[test]
fn what_was_spent_since() {
    let base = tempfile::tempdir().unwrap();
    let (mut mine, mut other) = (store(&base, "/p"), store(&base, "/q"));
    mine.add_payment(&paid(Some(7)), NOW - 1).unwrap();
    mine.add_payment(&paid(Some(20)), NOW).unwrap();
    mine.add_payment(&paid(None), NOW).unwrap();
    other.add_payment(&paid(Some(22)), NOW + 1).unwrap();
    assert_eq!((mine.spent_since(NOW).unwrap(), other.spent_since(NOW - 1).unwrap()), (42, 49));
    mine.purge(NOW).unwrap();
    assert_eq!(other.spent_since(NOW - 1).unwrap(), 49);
    let sessions: i64 = other
        .database
        .connection
        .query_row("SELECT count(session) FROM usage", [], |row| row.get(0))
        .unwrap();
    assert_eq!(sessions, 1, "only that of the other project");
    assert_eq!(projects(&other.database).unwrap().len(), 1);
}

#[test]
fn a_day_is_one_of_its_zone() {
    let at = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_second();
    let begins = |now, zone| jiff::Timestamp::from_second(day_begins(at(now), zone)).unwrap().to_string();
    assert_eq!(begins("2027-01-31T23:30:00Z", "UTC"), "2027-01-31T00:00:00Z");
    assert_eq!(begins("2027-01-31T23:30:00Z", "Europe/Berlin"), "2027-01-31T23:00:00Z");
    // The day on which the clocks go forward has 23 hours.
    assert_eq!(begins("2027-03-28T21:59:00Z", "Europe/Berlin"), "2027-03-27T23:00:00Z");
    assert_eq!(begins("2027-01-31T23:30:00Z", "Mars/Base"), "2027-01-31T00:00:00Z");
}

#[test]
fn one_process_has_the_lease_as_long_as_it_says_so() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    assert!(store.lease("scheduler", "a", NOW, 60).unwrap());
    assert!(!store.lease("scheduler", "b", NOW + 59, 60).unwrap());
    assert!(store.lease("other", "b", NOW, 60).unwrap(), "another name is another lease");
    assert!(store.lease("scheduler", "a", NOW + 59, 60).unwrap(), "a heartbeat");
    assert!(!store.lease("scheduler", "b", NOW + 61, 60).unwrap());
    assert!(store.lease("scheduler", "b", NOW + 120, 60).unwrap(), "its holder is gone");
    assert!(!store.lease("scheduler", "a", NOW + 121, 60).unwrap());
    store.give_back("scheduler", "a", NOW + 121).unwrap();
    assert!(!store.lease("scheduler", "a", NOW + 121, 60).unwrap(), "only the holder gives it back");
    // The clock went back by a day: nobody waits that long.
    assert!(store.lease("scheduler", "a", NOW - 86_400, 60).unwrap());
    store.give_back("scheduler", "a", NOW).unwrap();
    assert!(store.lease("scheduler", "b", NOW, 60).unwrap());
}
