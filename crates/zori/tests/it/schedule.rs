//! Scheduled prompts: made, listed, run once, in the mode of whoever made them.

use std::path::Path;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use zori_index::{Database, NewJob, ProjectStore, When, database_path};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::{anthropic, wait};

use crate::screen_stage::Person;
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
    Added `dawn`: next at 2999-01-31T08:30:00Z, in the mode yolo. A chat opened in this project runs it then, or `zori schedule run`.
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
    // Six fields: the first is of seconds.
    let seconds = add("seconds", &["--cron", "15 30 8 1 1 *", "--tz", "UTC", "--output", "json"]).success();
    let seconds: Value = serde_json::from_str(&seconds.stdout()).expect("it is JSON");
    let next = seconds["data"]["next_run"].as_str().expect("it comes");
    assert!(next.ends_with("-01-01T08:30:15Z"), "{next}");
    world.run(&["schedule", "rm", "seconds", "--yes"]).success();
    insta::assert_snapshot!(add("seven", &["--cron", "0 0 0 9 * * *", "--tz", "UTC"]), @"
    ------- stderr -------
    Error: `0 0 0 9 * * *` is not a cron line: it has 7 fields; five are wanted, or six with seconds first
    [exit status: 2]
    ");
    insta::assert_snapshot!(add("late", &["--cron", "99 9 * * *", "--tz", "UTC"]), @"
    ------- stderr -------
    Error: `99 9 * * *` is not a cron line: `99` is no minute: 0 to 59
    [exit status: 2]
    ");
    insta::assert_snapshot!(add("when", &[]), @"
    ------- stderr -------
    Error: a job needs a time: `--cron LINE`, or `--at TIME`
    [exit status: 2]
    ");
    for (prompt, answer) in [
        ("-", "Error: `--prompt -` is standard input, which a job has not: say what the model is asked\n"),
        (" ", "Error: `--prompt` is empty: say what the model is asked\n"),
    ] {
        let refused = world.run(&["schedule", "add", "what", "--cron", "0 9 * * *", "--prompt", prompt]);
        assert_eq!((refused.stderr().as_str(), refused.code()), (answer, Some(2)));
    }
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
    let noted = || std::fs::read_dir(world.base().join("uses")).into_iter().flatten().count();
    assert_eq!(noted(), 1);
    insta::assert_snapshot!(add("dusk", &["--at", "2999-01-31T19:30", "--tz", "UTC"]), @"
    Added `dusk`: next at 2999-01-31T19:30:00Z, in the mode yolo. A chat opened in this project runs it then, or `zori schedule run`.
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["schedule", "list", "--limit", "1"]), @"
    dawn  once (Europe/Berlin)  next 2999-01-31T08:30:00Z
    [exit status: 0]
    ");
    world.run(&["schedule", "rm", "dusk", "--yes"]).success();
    assert_eq!(noted(), 1, "one is left");
    insta::assert_snapshot!(world.run(&["schedule", "rm", "dawn", "--yes"]), @"
    Removed `dawn`
    [exit status: 0]
    ");
    assert_eq!(noted(), 0, "no chat looks for jobs that there are not");
    world.write(world.base().join("config.toml"), "[scheduler]\nenabled = false\n");
    insta::assert_snapshot!(add("noon", &["--at", "2999-01-31T12:30", "--tz", "UTC"]), @"
    Added `noon`: next at 2999-01-31T12:30:00Z, in the mode yolo. No chat runs it (`scheduler.enabled`), but `zori schedule run` does.
    [exit status: 0]
    ");
    world.run(&["schedule", "rm", "noon", "--yes"]).success();
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

/// A job that was made while the clock ran years ahead comes when the clock is right again, and not in years.
#[test]
fn a_clock_that_was_set_right() {
    let world = world();
    let root = world.work().canonicalize().expect("it is there");
    {
        let database = Database::open(&database_path(world.base())).expect("it can be made");
        let mut store = ProjectStore::new(database, &root).expect("it can be used");
        let ahead = 7_258_118_400;
        let when = When::cron("0 9 * * *", "UTC", ahead).expect("it comes");
        let job = NewJob { name: "daily", when, prompt: "look", created_by: "user", mode: "plan" };
        store.add_job(&job, ahead).expect("it can be added").expect("the name is free");
    }
    let next = || {
        let listed = world.run(&["schedule", "list", "--output", "json"]);
        let listed: Value = serde_json::from_str(&listed.stdout()).expect("it is JSON");
        listed["data"][0]["next_run"].as_str().expect("it comes").to_owned()
    };
    assert_eq!(next(), "2200-01-01T09:00:00Z");
    insta::assert_snapshot!(world.run(&["schedule", "run", "--once"]), @"
    Nothing is due.
    [exit status: 0]
    ");
    assert!(next().as_str() < "2200" && next().ends_with("T09:00:00Z"), "{}", next());
}

/// Makes a job that was due long ago, in a project that knows of its schedule.
pub fn overdue(world: &TestEnv, mode: &str) {
    world
        .run(&["schedule", "add", "far", "--at", "2999-01-31T09:30", "--tz", "UTC", "-p", "later"])
        .success();
    due(world, "late", "look", mode);
}

/// Makes a job that was due long ago, and notes it nowhere but in the database.
fn due(world: &TestEnv, name: &str, prompt: &str, mode: &str) {
    due_in(world, &world.work(), name, prompt, mode);
}

fn store_of(world: &TestEnv, root: &Path) -> ProjectStore {
    let root = root.canonicalize().expect("it is there");
    let database = Database::open(&database_path(world.base())).expect("it can be opened");
    ProjectStore::new(database, &root).expect("it can be used")
}

fn due_in(world: &TestEnv, root: &Path, name: &str, prompt: &str, mode: &str) {
    let mut store = store_of(world, root);
    let when = When::once("2020-01-31T09:30:00Z", "UTC", 0).expect("it is a time");
    let job = NewJob { name, when, prompt, created_by: "user", mode };
    store.add_job(&job, 0).expect("it can be added").expect("the name is free");
}

pub fn status(world: &TestEnv) -> String {
    let output = world.run(&["schedule", "list", "--output", "json"]);
    let answer: Value = serde_json::from_str(&output.stdout()).expect("it is JSON");
    let jobs = answer["data"].as_array().expect("it is a list");
    let job = jobs.iter().find(|job| job["name"] == "late").expect("it is there");
    job["last_status"].as_str().unwrap_or("-").to_owned()
}

/// SCH-6, SCH-7: two chats are open, one of them runs the job, once; its status is told and its worker leaves a span.
#[test]
fn a_chat_runs_what_is_due_once() {
    let (mut world, model) = with_model([anthropic::text("Looked.")]);
    overdue(&world, "plan");
    let trace = world.tmp().join("trace");
    world.set_var("ZORI_TRACE", &trace);
    let open = || world.start(world.cmd(&["--json"]), Stdin::Open, Stdout::Captured);
    let chats = [open(), open()];
    wait::until("the job to be over", || status(&world) == "ok");
    for mut chat in chats {
        chat.close_stdin();
        chat.finish().success();
    }
    assert_eq!(model.count(), 1);
    let spans = std::fs::read_to_string(&trace).expect("it was written");
    assert_eq!(spans.matches("\"span\":\"worker.scheduler\",\"event\":\"open\"").count(), 2, "{spans}");
}

/// SCH-6, DECISIONS 64: a chat that was open before the first job runs it, and has no worker until then. Whoever reads the run sees that nobody typed its
/// prompt (SCH-10).
#[test]
fn the_first_job_of_an_open_chat() {
    let (mut world, model) = with_model([anthropic::text("Hi."), anthropic::text("Looked.")]);
    let trace = world.tmp().join("trace");
    world.set_var("ZORI_TRACE", &trace);
    let mut chat = world.start(world.cmd(&["--json"]), Stdin::Open, Stdout::Captured);
    chat.write_stdin("hi\n");
    wait::until("the chat to be at work", || model.count() == 1);
    let began = |spans: &str| spans.matches("\"span\":\"worker.scheduler\",\"event\":\"open\"").count();
    assert_eq!(began(&std::fs::read_to_string(&trace).expect("it was written")), 0, "no job, no worker");
    due(&world, "late", "look", "plan");
    world
        .run(&["schedule", "add", "far", "--at", "2999-01-31T09:30", "--tz", "UTC", "-p", "later"])
        .success();
    wait::until("the job to be over", || status(&world) == "ok");
    chat.close_stdin();
    chat.finish().success();
    assert_eq!(model.count(), 2);
    assert_eq!(began(&std::fs::read_to_string(&trace).expect("it was written")), 1);

    let files = std::fs::read_dir(world.base().join("sessions")).expect("there are some");
    let (run, records) = files
        .map(|file| file.expect("it is there").path())
        .filter_map(|path| {
            Some((path.file_stem()?.to_str()?.to_owned(), std::fs::read_to_string(&path).ok()?))
        })
        .find(|(_, records)| records.contains("Looked."))
        .expect("it was saved");
    let run = run.as_str();
    let prompts: Vec<Value> = records
        .lines()
        .map(|line| serde_json::from_str(line).expect("it is JSON"))
        .filter(|record: &Value| record["role"] == "user")
        .map(|mut record| {
            record["ts"] = Value::Null;
            record
        })
        .collect();
    assert_eq!(
        prompts,
        [json!({"type": "message", "role": "user", "text": "look", "ts": null, "scheduled": "late"})]
    );
    insta::assert_snapshot!(world.run(&["sessions", "show", run]), @"
    ### Session (schema v1)

    ### Scheduled job `late`
    look

    ### Assistant
    Looked.
    [exit status: 0]
    ");
    let page = world.run(&["sessions", "export", run, "--to", "html"]).success().stdout();
    assert!(page.contains("<h2>Scheduled job `late` <time>") && !page.contains("<h2>You"), "{page}");
    let json = world.run(&["sessions", "export", run, "--to", "json"]).success().stdout();
    let json: Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json["events"][1]["scheduled"], "late", "{json}");
}

/// SCH-10: a program that follows the run reads it where the turn ends; the flag needs a prompt to be about.
#[test]
fn a_scheduled_prompt_in_events() {
    let (world, _model) = with_model([anthropic::text("Looked."), anthropic::text("Typed.")]);
    let cost = |flags: &[&str]| {
        let events = world.run(&[&["exec", "--json", "-p", "look"], flags].concat()).success().stdout();
        let last: Value =
            serde_json::from_str(events.lines().last().expect("there are events")).expect("it is JSON");
        assert_eq!(last["type"], "cost");
        last["scheduled"].clone()
    };
    assert_eq!(cost(&["--scheduled", "late"]), "late");
    assert_eq!(cost(&[]), Value::Null);
    insta::assert_snapshot!(world.run_with_stdin(&["exec", "--scheduled", "late"], "look\n"), @"
    ------- stderr -------
    Error: `--scheduled` needs `--prompt`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["exec", "--scheduled", " ", "-p", "look"]), @"
    ------- stderr -------
    Error: `--scheduled` is empty
    Hint: name the job, or leave it out
    [exit status: 2]
    ");
}

/// SCH-6: a run ends with its chat, whatever kind of chat it is and whatever ends it; the job says so, and another chat can have the lease at once.
#[test]
fn a_run_ends_with_its_chat() {
    for (args, signal) in [
        (&["--json"][..], Signal::HUP),
        (&["--json"], Signal::TERM),
        (&["--plain"], Signal::HUP),
        (&["--plain"], Signal::TERM),
        (&[], Signal::HUP),
        (&[], Signal::TERM),
        (&["tui"], Signal::HUP),
    ] {
        let (world, model) = with_model([Reply::stall()]);
        overdue(&world, "plan");
        let send = |pid: u32| {
            model.wait_for_requests(1);
            let pid = Pid::from_raw(pid as i32).expect("a process has a number");
            kill_process(pid, signal).expect("the chat is there");
        };
        if args == ["--json"] {
            let chat = world.start(world.cmd(args), Stdin::Open, Stdout::Captured);
            send(chat.pid());
            chat.finish();
        } else {
            let mut pty = world.screen(args, Size::CLASSIC);
            send(pty.pid());
            pty.ended();
        }
        assert_eq!(status(&world), "ended with the runner", "{args:?} {signal:?}");
        let mut store = store_of(&world, &world.work());
        let free = store.lease("scheduler", "another", 0, 60).expect("it can be asked for");
        assert!(free, "{args:?} {signal:?}");
    }
}

/// SCH-6: a chat that goes on in another project runs the jobs of that one.
#[test]
fn a_chat_that_goes_elsewhere() {
    let (world, model) = with_model([anthropic::text("Looked.")]);
    let other = world.work().join("other");
    std::fs::create_dir_all(other.join(".git")).expect("it can be made");
    let mut person = Person::open(&world, &["--no-save"]);
    let add = ["schedule", "add", "far", "--at", "2999-01-31T09:30", "--tz", "UTC", "-p", "later"];
    assert!(world.cmd(&add).current_dir(&other).status().expect("it starts").success());
    due_in(&world, &other, "late", "look", "plan");
    person.says("/cd other").sees("The chat goes on in").sees("Scheduled job `late`: ok");
    assert_eq!(model.count(), 1);
    person.leaves();
}

/// SCH-10: somebody who types the words of a job later has typed them.
#[test]
fn the_words_of_a_job_typed_by_somebody() {
    let (world, _model) =
        with_model([anthropic::text("First."), anthropic::text("Second."), anthropic::text("Third.")]);
    world.run(&["exec", "--scheduled", "late", "-p", "look"]).success();
    world.run(&["exec", "-c", "-p", "look"]).success();
    world.run(&["exec", "-c", "--scheduled", "later", "-p", "look"]).success();
    let mut person = Person::open(&world, &["-c"]);
    person.sees("Third.");
    let rows = person.rows();
    let at = rows.iter().position(|row| row.contains("typed by nobody")).expect("it is said");
    let said: Vec<_> =
        rows[at..].iter().map(|row| row.trim()).filter(|row| !row.is_empty()).take(8).collect();
    insta::assert_snapshot!(said.join("\n"), @"
    · Sent by the scheduled job `late`, typed by nobody:
    › look
    First.
    › look
    Second.
    · Sent by the scheduled job `later`, typed by nobody:
    › look
    Third.
    ");
    person.leaves();
}

/// A data folder that is removed under a chat is not made again for the lease.
#[test]
fn a_data_folder_that_goes_under_a_chat() {
    let (world, _model) = with_model([anthropic::text("Looked.")]);
    overdue(&world, "plan");
    let mut chat = world.start(world.cmd(&["--json", "--no-save"]), Stdin::Open, Stdout::Captured);
    wait::until("the job to be over", || status(&world) == "ok");
    std::fs::rename(world.base(), world.tmp().join("gone")).expect("it can be moved");
    chat.close_stdin();
    chat.finish();
    assert!(!database_path(world.base()).exists());
}

/// FR-001, SCH-6: with `--bare`, and with the setting, nothing runs and the job is still due; a run of one prompt has none unless it is configured.
#[test]
fn where_nothing_is_run() {
    for (config, flags, wanted) in [
        ("", &["--json", "--bare"][..], "-"),
        ("[scheduler]\nenabled = false\n", &["--json"], "-"),
        ("", &["exec", "-p", "hi"], "-"),
        ("[scheduler]\nenabled = true\n", &["exec", "--bare", "-p", "hi"], "-"),
    ] {
        let (world, _model) = with_model([anthropic::text("Hi."), anthropic::text("Looked.")]);
        overdue(&world, "plan");
        world.write(world.base().join("config.toml"), config);
        world.run_with_stdin(flags, "hi\n").success();
        assert_eq!(status(&world), wanted, "{config} {flags:?}");
    }
}

/// `/schedule` as a person types it; a job has the mode of the chat (DECISIONS 67).
#[test]
fn from_the_chat() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let lines = "/schedule\n/mode plan\n/schedule add dawn --at 2999-01-31T09:30 --tz UTC --prompt \"look around\"\n/schedule show dawn\n/schedule rm dawn\n\
                 /schedule fly\n/schedule add \"x\n";
    let output = world.run_with_stdin(&["--json"], lines);
    let said = |line: &str| {
        let event: Value = serde_json::from_str(line).expect("it is an event");
        event["text"].as_str().or(event["message"].as_str()).map(str::to_owned)
    };
    let said: Vec<_> =
        output.stdout().lines().filter_map(said).filter(|text| !text.starts_with("Mode:")).collect();
    assert_eq!(
        said,
        [
            "No jobs are scheduled in this project.",
            "Added `dawn`: next at 2999-01-31T09:30:00Z, in the mode plan. A chat opened in this project runs it then, or `zori schedule run`.",
            "dawn  once (UTC)  next 2999-01-31T09:30:00Z\n  mode plan, made by user\n  look around",
            "Removed `dawn`",
            "`/schedule fly`: it takes `add`, `list`, `show` or `rm`",
            "`/schedule add \"x`: a quote is not closed",
        ]
    );
}

/// A job runs under the name, with the settings and the vault of whoever runs it, and so does what a chat asks of the program.
#[test]
fn under_another_name_and_with_other_settings() {
    let (world, model) = with_model([anthropic::text("Looked.")]);
    let add = "/schedule add far --at 2999-01-31T09:30 --tz UTC -p later\n:q\n";
    world.run_with_stdin(&["--as", "zdx"], add).success();
    let listed = |args: &[&str]| world.run(&[args, &["schedule", "list"]].concat()).success().stdout();
    assert_eq!(listed(&["--as", "zdx"]), "far  once (UTC)  next 2999-01-31T09:30:00Z\n");
    assert_eq!(listed(&[]), "No jobs are scheduled in this project.\n");
    let config = world.write(world.tmp().join("own.toml"), "model = \"claude-haiku-4-5\"\n");
    let config = ["--config", config.to_str().expect("it is text")];
    overdue(&world, "plan");
    world.run(&[&["schedule", "run", "--once"], &config[..]].concat()).success();
    assert_eq!(model.request(0).json()["model"], "claude-haiku-4-5");
    let shown = world.run_with_stdin(&[&["--json"], &config[..]].concat(), "/config\n").success().stdout();
    assert!(shown.contains("model = \\\"claude-haiku-4-5\\\""), "{shown}");
    let shown = world.run_with_stdin(&["--json", "--no-config"], "/config\n").success().stdout();
    assert!(!shown.contains("claude-haiku-4-5"), "{shown}");
}

/// The tool: listed once the project has a schedule, asked about, and its jobs run in the mode `default` (DECISIONS 64, 67).
#[test]
fn a_job_that_a_model_makes() {
    let add = |id: &str| {
        let input = json!({"action": "add", "name": "nightly", "cron": "0 3 * * *", "tz": "UTC", "prompt": "Run the tests"});
        anthropic::tool_use(id, "schedule", input)
    };
    let bad = anthropic::tool_use(
        "t3",
        "schedule",
        json!({"action": "add", "name": "n", "cron": "0 0 30 2 *", "prompt": "x"}),
    );
    let (world, model) = with_model([
        anthropic::text("Hi."),
        add("t1"),
        anthropic::text("Denied."),
        add("t2"),
        bad,
        anthropic::tool_use("t4", "schedule", json!({"action": "remove", "name": "gone"})),
        anthropic::text("Done."),
    ]);
    let tools = |at: usize| model.request(at).json()["tools"].to_string().contains("\"schedule\"");
    world.run(&["exec", "-p", "hi"]).success();
    assert!(!tools(0), "nobody has scheduled anything");
    world
        .run(&["schedule", "add", "far", "--at", "2999-01-31T09:30", "--tz", "UTC", "-p", "later"])
        .success();
    world.run(&["exec", "--permission-mode", "default", "-p", "hi"]);
    assert!(tools(1));
    assert!(!world.run(&["schedule", "list"]).stdout().contains("nightly"), "nobody said yes");
    world.run(&["exec", "-p", "hi"]).success();
    let list = world.run(&["schedule", "show", "nightly"]).stdout();
    assert!(list.contains("  mode default, made by model\n  Run the tests\n"), "{list}");
    let told = model.request(6).conversation();
    assert!(told.contains("`0 0 30 2 *` never comes") && told.contains("there is no job `gone`"), "{told}");
}
