//! Scheduled prompts: made, listed, run once, in the mode of whoever made them.

use serde_json::{Value, json};
use zori_index::{Database, NewJob, ProjectStore, When, database_path};
use zori_testkit::anthropic;
use zori_testkit::running::{Stdin, Stdout};

use crate::world::{with_model, world};

#[test]
fn made_listed_and_removed() {
    let world = world();
    insta::assert_snapshot!(world.run(&["schedule", "list"]), @"
    No jobs are scheduled in this project.
    [exit status: 0]
    ");
    assert!(!world.base().join("zori.db").exists(), "looking makes nothing");
    let add = |name: &str, more: &[&str]| {
        world.run(&[&["schedule", "add", name, "--prompt", "look around"], more].concat())
    };
    insta::assert_snapshot!(add("dawn", &["--at", "2999-01-31T09:30", "--tz", "Europe/Berlin"]), @"
    Added `dawn`: next at 2999-01-31T08:30:00Z, in the mode yolo. `zori schedule run` runs it then.
    [exit status: 0]
    ");
    insta::assert_snapshot!(add("dawn", &["--cron", "0 9 * * *", "--tz", "UTC"]), @"
    ------- stderr -------
    Error: there is a job `dawn` already
    Hint: `zori schedule rm dawn` removes it
    [exit status: 6]
    ");
    insta::assert_snapshot!(add("never", &["--cron", "0 0 30 2 *", "--tz", "UTC"]), @"
    ------- stderr -------
    Error: `0 0 30 2 *` never comes
    [exit status: 2]
    ");
    insta::assert_snapshot!(add("when", &[]), @"
    ------- stderr -------
    Error: a job needs a time: `--cron LINE`, or `--at TIME`
    [exit status: 2]
    ");
    insta::assert_snapshot!(add("both", &["--cron", "0 9 * * *", "--at", "2999-01-31T09:30"]), @"
    ------- stderr -------
    Error: `--cron` and `--at` do not go together
    [exit status: 2]
    ");
    insta::assert_snapshot!(add("mars", &["--cron", "0 9 * * *", "--tz", "Mars/Base"]), @"
    ------- stderr -------
    Error: `Mars/Base` is not a time zone; names are those of the IANA database, such as `Europe/Berlin`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["schedule", "list"]), @"
    dawn  once (Europe/Berlin)  next 2999-01-31T08:30:00Z
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["schedule", "show", "dawn"]), @"
    dawn  once (Europe/Berlin)  next 2999-01-31T08:30:00Z
      mode yolo, made by user
      look around
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["schedule", "show", "noon"]), @"
    ------- stderr -------
    Error: There is no job `noon` in this project
    Hint: `zori schedule list` shows those there are
    [exit status: 5]
    ");
    insta::assert_snapshot!(world.run(&["schedule", "run", "--once"]), @"
    Nothing is due.
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["schedule", "rm", "dawn", "--yes"]), @"
    Removed `dawn`
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["schedule", "run"]), @"
    Nothing is due.
    [exit status: 0]
    ");
}

/// DECISIONS 67: the mode of whoever made it. Two runners, one slot, one run.
#[test]
fn a_slot_runs_once_over_two_runners() {
    let (world, model) = with_model([
        anthropic::tool_use("toolu_1", "write", json!({"path": "made.txt", "content": "no"})),
        anthropic::text("I may not."),
    ]);
    let root = world.work().canonicalize().expect("it is there");
    {
        let database = Database::open(&database_path(world.base())).expect("it can be made");
        let mut store = ProjectStore::new(database, &root).expect("it can be used");
        // Long due: nobody was there.
        let when = When::once("2020-01-31T09:30:00Z", "UTC", 0).expect("it is a time");
        let job = NewJob { name: "late", when, prompt: "write a file", created_by: "user", mode: "plan" };
        store.add_job(&job, 0).expect("it can be added").expect("the name is free");
    }
    let start = || {
        let command = world.cmd(&["schedule", "run", "--once", "--output", "json"]);
        world.start(command, Stdin::Null, Stdout::Captured)
    };
    let runs = [start(), start()].map(|running| {
        let answer: Value = serde_json::from_str(&running.finish().success().stdout()).expect("it is JSON");
        answer["data"]["runs"].as_array().expect("it is a list").clone()
    });
    assert_eq!(
        json!(runs.concat()),
        json!([{"name": "late", "scheduled_for": "2020-01-31T09:30:00Z", "status": "ok"}])
    );
    assert_eq!(model.count(), 2);
    assert!(!root.join("made.txt").exists(), "the mode of the job holds");
}
