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
    // Which field is wrong, and what it takes.
    for (line, why) in [
        ("61 * * * *", "`61` is no minute: 0 to 59"),
        ("0 24 * * *", "`24` is no hour: 0 to 23"),
        ("0 9 32 * *", "`32` is no day of the month: 1 to 31, or `L` for the last"),
        ("0 9 * 13 *", "`13` is no month: 1 to 12, or jan to dec"),
        ("0 9 * * 8", "`8` is no weekday: 0 to 7, where 0 and 7 are Sunday, or sun to sat"),
        ("0 9 * * someday", "`someday` is no weekday: 0 to 7, where 0 and 7 are Sunday, or sun to sat"),
        ("75 0 9 * * *", "`75` is no second: 0 to 59"),
        ("*/0 9 * * *", "`*/0`: a step is a number from 1, not `0`"),
        ("5,*/x 9 * * *", "`*/x`: a step is a number from 1, not `x`"),
        ("1,99 * * * *", "`99` is no minute: 0 to 59"),
        ("0 9-25 * * *", "`25` is no hour: 0 to 23"),
        ("0 25-26/2 * * *", "`25` is no hour: 0 to 23"),
        ("50-10 * * * *", "`50-10`: a range goes from the lower minute to the higher"),
        ("-5 * * * *", "`-5` is no minute: 0 to 59"),
        ("18446744073709551616 * * * *", "`18446744073709551616` is no minute: 0 to 59"),
        ("@noon", "names are @yearly, @monthly, @weekly, @daily and @hourly"),
        ("", "it has 0 fields; five are wanted, or six with seconds first"),
    ] {
        assert_eq!(refused(line, "UTC"), format!("`{line}` is not a cron line: {why}"));
    }
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
    assert_eq!(
        once("2027-03-28T02:30", berlin).unwrap_err().to_string(),
        "`2027-03-28T02:30` does not come in Europe/Berlin: the clocks leap over it"
    );
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

/// A clock that ran years ahead, and was set right: what a job did or was made in that time does not hold it off, and no slot runs twice.
#[test]
fn a_clock_that_was_years_ahead() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    let (now, ahead) = (at("2027-01-01T00:00:00Z"), at("2099-01-01T00:00:00Z"));
    store.add_job(&daily("old", now), now).unwrap();
    store.add_job(&daily("new", ahead), ahead).unwrap();
    let claim = store.claim(ahead).unwrap().unwrap();
    assert_eq!((claim.job.name.as_str(), shown(claim.scheduled_for)), ("old", "2027-01-01T09:00:00Z".into()));
    store.finish(&claim, "ok", ahead).unwrap();
    let next = |store: &ProjectStore| store.next_due().unwrap().map(shown).unwrap();
    assert_eq!(next(&store), "2099-01-01T09:00:00Z");
    // The clock is right again.
    let now = at("2027-01-01T08:00:00Z");
    assert!(store.is_ahead(now).unwrap());
    assert_eq!(store.claim(now).unwrap(), None, "nothing is due");
    assert_eq!(next(&store), "2027-01-01T09:00:00Z");
    assert!(!store.is_ahead(now).unwrap());
    let due = at("2027-01-01T09:00:01Z");
    let claims: Vec<_> = std::iter::from_fn(|| store.claim(due).unwrap()).collect();
    let names: Vec<_> = claims.iter().map(|claim| claim.job.name.as_str()).collect();
    assert_eq!(names, ["new"], "the slot of the other one was taken");
    let old = store.job("old").unwrap().unwrap();
    assert_eq!(
        (old.last_status.as_deref(), old.next_run.map(shown)),
        (Some("ok"), Some("2027-01-02T09:00:00Z".into())),
        "and nothing is said of a run that there was not"
    );
    let due = at("2027-01-02T09:00:01Z");
    let claims: Vec<_> = std::iter::from_fn(|| store.claim(due).unwrap()).collect();
    assert_eq!(claims.len(), 2, "from then on both run");
}

/// A clock that goes back by a second, as a time server sets it.
#[test]
fn a_clock_that_goes_back_a_little() {
    let base = tempfile::tempdir().unwrap();
    let mut store = store(&base, "/p");
    let now = at("2027-01-01T00:00:00Z");
    store.add_job(&daily("j", now), now).unwrap();
    let claim = store.claim(at("2027-01-01T09:00:00Z")).unwrap().unwrap();
    store.finish(&claim, "ok", at("2027-01-01T09:00:00Z")).unwrap();
    for second in ["08:59:59", "09:00:00", "09:00:01"] {
        assert_eq!(store.claim(at(&format!("2027-01-01T{second}Z"))).unwrap(), None, "{second}");
    }
    let job = store.job("j").unwrap().unwrap();
    assert_eq!((job.last_status.as_deref(), store.job_runs(&job, 9).unwrap().len()), (Some("ok"), 1));
    assert_eq!(job.next_run.map(shown).as_deref(), Some("2027-01-02T09:00:00Z"));
}
