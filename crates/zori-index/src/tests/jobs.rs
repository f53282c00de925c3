//! Jobs: when they are due, and that a slot fires once.

use super::*;
use crate::{NewJob, When, next_slot};

fn at(text: &str) -> i64 {
    text.parse::<jiff::Timestamp>().unwrap().as_second()
}

fn shown(seconds: i64) -> String {
    jiff::Timestamp::from_second(seconds).unwrap().to_string()
}

fn slots(line: &str, zone: &str, after: &str, count: usize) -> Vec<String> {
    let when = When::cron(line, zone, at(after)).unwrap();
    let next = |after: &i64| next_slot(&when, *after);
    std::iter::successors(next(&at(after)), next).take(count).map(shown).collect()
}

#[test]
fn cron_lines() {
    let utc = |line, after, count| slots(line, "UTC", after, count);
    assert_eq!(
        utc("0 9 * * mon-fri", "2026-11-20T09:00:00Z", 2),
        ["2026-11-23T09:00:00Z", "2026-11-24T09:00:00Z"]
    );
    assert_eq!(
        utc("*/20 * * * * *", "2026-11-20T09:00:00Z", 2),
        ["2026-11-20T09:00:20Z", "2026-11-20T09:00:40Z"]
    );
    assert_eq!(utc("@daily", "2026-11-20T09:00:00Z", 1), ["2026-11-21T00:00:00Z"]);
    let refused = |line, zone| When::cron(line, zone, NOW).unwrap_err().to_string();
    assert_eq!(refused("0 0 30 2 *", "UTC"), "`0 0 30 2 *` never comes");
    assert_eq!(
        refused("* * * *", "UTC"),
        "`* * * *` is not a cron line: it has 4 fields; five are wanted, or six with seconds first"
    );
    assert!(refused("61 * * * *", "UTC").starts_with("`61 * * * *` is not a cron line: "));
    assert_eq!(
        refused("0 0 * * *", "Mars/Base"),
        "`Mars/Base` is not a time zone; names are those of the IANA database, such as `Europe/Berlin`"
    );
}

/// The clocks leap from 2 to 3 on the last Sunday in March, and go back from 3 to 2 on the last one in October.
#[test]
fn summer_time() {
    assert_eq!(
        slots("30 2 * * *", "Europe/Berlin", "2027-03-27T00:00:00Z", 3),
        ["2027-03-27T01:30:00Z", "2027-03-28T01:00:00Z", "2027-03-29T00:30:00Z"]
    );
    assert_eq!(
        slots("30 2 * * *", "Europe/Berlin", "2027-10-30T12:00:00Z", 2),
        ["2027-10-31T00:30:00Z", "2027-11-01T01:30:00Z"]
    );
}

#[test]
fn one_moment() {
    let once = |text, zone| When::once(text, zone, NOW);
    let berlin = "Europe/Berlin";
    let When::Once { at: moment, .. } = once("2027-06-01T09:30", berlin).unwrap() else {
        panic!("it is one moment")
    };
    assert_eq!(shown(moment), "2027-06-01T07:30:00Z");
    assert!(once("2027-06-01T09:30:00+02:00", "UTC").is_ok());
    assert_eq!(once("2020-01-01T00:00", berlin).unwrap_err().to_string(), "`2020-01-01T00:00` is past");
    assert!(once("tomorrow", berlin).is_err());
    assert!(once("2027-03-28T02:30", berlin).is_err(), "the clocks leap over it");
}

fn daily<'a>(name: &'a str, now: i64) -> NewJob<'a> {
    let when = When::cron("0 9 * * *", "UTC", now).unwrap();
    NewJob { name, when, prompt: "look", created_by: "user", mode: "default" }
}

#[test]
fn a_slot_fires_once_over_two_processes() {
    let base = tempfile::tempdir().unwrap();
    let (mut one, mut two) = (store(&base, "/p"), store(&base, "/p"));
    let now = at("2027-01-01T00:00:00Z");
    assert!(one.add_job(&daily("j", now), now).unwrap().is_some());
    assert!(two.add_job(&daily("j", now), now).unwrap().is_none(), "the name is taken");
    let mut two = ProjectStore::new(two.database, Path::new("/p")).unwrap();
    assert_eq!(one.next_due().unwrap().map(shown).as_deref(), Some("2027-01-01T09:00:00Z"));
    assert_eq!(one.claim(at("2027-01-01T08:59:59Z")).unwrap(), None, "not yet");
    let due = at("2027-01-01T09:00:01Z");
    let (a, b) = (one.claim(due).unwrap(), two.claim(due).unwrap());
    let claim = a.expect("the first one has it");
    assert_eq!(b, None, "and nobody else");
    assert_eq!(shown(claim.scheduled_for), "2027-01-01T09:00:00Z");
    one.finish(&claim, "ok", due + 5).unwrap();
    let job = two.job("j").unwrap().unwrap();
    assert_eq!(
        (job.last_status.as_deref(), job.next_run.map(shown)),
        (Some("ok"), Some("2027-01-02T09:00:00Z".into()))
    );
    assert_eq!(two.job_runs(&job, 5).unwrap().len(), 1);
    // The clock goes back: the slot that was taken stays taken.
    assert_eq!(two.claim(at("2027-01-01T08:00:00Z")).unwrap(), None);
}

#[test]
fn missed_slots_count_once() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    let now = at("2027-01-01T00:00:00Z");
    store.add_job(&daily("j", now), now).unwrap();
    let late = at("2027-01-08T12:00:00Z");
    assert_eq!(shown(store.claim(late).unwrap().unwrap().scheduled_for), "2027-01-01T09:00:00Z");
    assert_eq!(store.claim(late).unwrap(), None);
    assert_eq!(store.next_due().unwrap().map(shown).as_deref(), Some("2027-01-09T09:00:00Z"));
}

#[test]
fn what_runs_once_is_over_then() {
    let base = tempfile::tempdir().unwrap();
    let (mut store, mut other) = (store(&base, "/p"), store(&base, "/q"));
    let when = When::once("2027-06-01T00:00:00Z", "UTC", NOW).unwrap();
    let job = NewJob { name: "once", when, prompt: "p", created_by: "user", mode: "plan" };
    store.add_job(&job, NOW).unwrap();
    assert_eq!(other.claim(at("2028-01-01T00:00:00Z")).unwrap(), None, "another project's");
    assert!(store.claim(at("2028-01-01T00:00:00Z")).unwrap().is_some());
    assert_eq!(store.next_due().unwrap(), None);
    assert!(store.remove_job("once", NOW).unwrap());
    assert!(!store.remove_job("once", NOW).unwrap());
}
