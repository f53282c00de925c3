//! `project purge`: everything of one project goes, provably, and nothing else does.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::output::CommandOutput;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};

use crate::memory::said_in;
use crate::world::{with_model, world};

pub const CANARY: &str = "zanzibarcanary";

/// Returns the folder of the project below the base directory.
fn own(world: &TestEnv, root: &Path) -> PathBuf {
    let key = blake3_key(world, root);
    world.base().join("projects").join(key)
}

fn blake3_key(world: &TestEnv, root: &Path) -> String {
    let mut command = world.cmd(&["project", "show", "--output", "json"]);
    let output = command.current_dir(root).output().expect("it starts");
    let answer: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    answer["data"]["key"].as_str().expect("it has a key").to_owned()
}

/// A project whose every trace has the canary, beside another one that has the heron.
pub fn two_projects() -> (TestEnv, PathBuf, PathBuf) {
    let world = world();
    let work = world.work().canonicalize().expect("it is there");
    let (mine, other) = (work.join("mine"), work.join("other"));
    for root in [&mine, &other] {
        fs::create_dir_all(root.join(".git")).expect("it can be made");
    }
    for (root, word) in [(&mine, CANARY), (&other, "heron")] {
        let name = root.file_name().and_then(|name| name.to_str()).expect("it is text");
        let root_text = root.to_str().expect("it is text");
        said_in(
            &world,
            &format!("{name}-1"),
            root_text,
            &format!("the {word} sings"),
            &format!("a {word} indeed"),
        );
        said_in(&world, &format!("trash/{name}-0"), root_text, word, word);
        world.write(world.base().join(format!("sessions/anthropic/{name}-1.json")), word);
        world.write(world.base().join(format!("drafts/{name}-1.json")), word);
        let own = own(&world, root);
        world.write(own.join("history.jsonl"), format!("\"{word}\"\n"));
        world.write(own.join("preferences.json"), format!("{{\"model\":\"{word}\"}}"));
        world.write(own.join("undo/contents/0a"), word);
        world.write(own.join("audit.jsonl.1"), format!("{{\"summary\":\"{word}\"}}\n"));
        world.write(root.join(".local/debug/s1/0000-request.json"), word);
        world.write(root.join("song.rs"), format!("fn {word}_sings() {{}}\n"));
        let built = world.cmd(&["index", "build"]).current_dir(root).output().expect("it starts");
        assert!(built.status.success(), "{built:?}");
        // What is left of it is in the database alone.
        fs::remove_file(root.join("song.rs")).expect("it is there");
        let rebuilt = world.cmd(&["memory", "rebuild"]).current_dir(root).output().expect("it starts");
        assert!(rebuilt.status.success(), "{rebuilt:?}");
    }
    world.write(
        world.base().join("sessions/titles.json"),
        json!({"mine-1": CANARY, "other-1": "the heron"}).to_string(),
    );
    world.write(
        world.base().join("sessions/index"),
        format!("{{\"id\":\"mine-1\",\"title\":\"{CANARY}\"}}\n"),
    );
    world.write(world.base().join("config.toml"), "[cli]\nauto = true\n");
    world.write(world.base().join("skills/a/SKILL.md"), "a skill");
    world.write(world.base().join("vault.age"), "not ours to touch");
    (world, mine, other)
}

type Listing = BTreeMap<PathBuf, (u64, SystemTime, Vec<u8>)>;

/// Every file below a folder with its length, time and bytes.
fn listing(folder: &Path) -> Listing {
    let mut found = Listing::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).expect("it is a folder").flatten() {
            let facts = entry.metadata().expect("it is there");
            match facts.is_dir() {
                true => folders.push(entry.path()),
                false => {
                    let bytes = fs::read(entry.path()).expect("it can be read");
                    found
                        .insert(entry.path(), (facts.len(), facts.modified().expect("it has a time"), bytes));
                }
            }
        }
    }
    found
}

/// Returns the files that have a word, below the base directory and in the project.
pub fn files_with(world: &TestEnv, folder: &Path, word: &str) -> Vec<String> {
    let has = |bytes: &[u8]| bytes.windows(word.len()).any(|part| part == word.as_bytes());
    let mut found: Vec<_> = [world.base(), folder]
        .into_iter()
        .flat_map(listing)
        .filter(|(_, (_, _, bytes))| has(bytes))
        .map(|(path, _)| world.rewrite().apply(&path.display().to_string()))
        .collect();
    found.sort();
    found
}

pub fn purge(world: &TestEnv, root: &Path, args: &[&str], stdin: &str) -> CommandOutput {
    let mut command = world.cmd(&[&["project", "purge"], args].concat());
    command.current_dir(root);
    world.start(command, Stdin::Bytes(stdin.into()), Stdout::Captured).finish()
}

#[test]
fn a_dry_run_changes_no_byte_and_says_what_a_purge_deletes() {
    let (world, mine, other) = two_projects();
    // Nothing was said yet where these were typed.
    for (name, root) in [("fresh", &mine), ("elsewhere", &other)] {
        let draft = json!({"draft": "x", "queue": [], "root": root, "process": 1});
        world.write(world.base().join("drafts").join(format!("{name}.json")), draft.to_string());
    }
    let before = (listing(world.base()), listing(&world.work()));
    let dry = purge(&world, &mine, &["--dry-run", "--include-debug", "--output", "json"], "");
    assert_eq!((listing(world.base()), listing(&world.work())), before);
    let counts =
        |output: &str| serde_json::from_str::<Value>(output).expect("it is JSON")["data"]["deleted"].clone();
    let announced = counts(&dry.success().stdout());
    let done = purge(&world, &mine, &["--yes", "--include-debug", "--output", "json"], "");
    assert_eq!(counts(&done.success().stdout()), announced);
    assert_eq!(
        announced,
        json!({"sessions": 1, "trashed_sessions": 1, "transcripts": 1, "drafts": 2, "recallable_messages": 2,
            "embeddings": 2, "indexed_code_files": 1, "checkpoint_files": 1, "project_files": 4, "audit_files": 1, "debug_dumps": 1})
    );
    let left = |name: &str| world.base().join("drafts").join(format!("{name}.json")).exists();
    assert_eq!((left("fresh"), left("elsewhere")), (false, true));
}

#[test]
fn only_the_exact_name_goes_on() {
    let (world, mine, _) = two_projects();
    for wrong in ["", "Mine\n", " mine\n", "y\n", "yes\n", "min"] {
        let before = files_with(&world, &mine, CANARY);
        let output = purge(&world, &mine, &[], wrong);
        assert_eq!(output.code(), Some(1), "{wrong:?}: {output}");
        assert_eq!(files_with(&world, &mine, CANARY), before, "{wrong:?}");
    }
    insta::assert_snapshot!(purge(&world, &mine, &[], "mine\n"), @"
    Deleted of $WORK/mine: 1 session, 1 trashed session, 1 transcript, 1 draft, 2 recallable messages, 2 embeddings, 1 indexed code file, 1 checkpoint file, 4 project files, 1 audit file
    Kept: 1 debug dump (deleted with `--include-debug`)
    ------- stderr -------
    WARNING: this deletes everything that zori keeps of the project $WORK/mine: 1 session, 1 trashed session, 1 transcript, 1 draft, 2 recallable messages, 2 embeddings, 1 indexed code file, 1 checkpoint file, 4 project files, 1 audit file. It cannot be undone.
    Type the project name to confirm: [no newline]
    [exit status: 0]
    ");
    assert_eq!(purge(&world, &mine, &["--confirm-destructive"], "").code(), Some(2), "`-y` alone");
}

/// The canary was planted in each place, and is in none afterwards; the other project is as it was.
#[test]
fn the_canary_is_gone_and_the_other_project_is_as_it_was() {
    let (world, mine, other) = two_projects();
    let key = blake3_key(&world, &mine);
    let planted: Vec<_> =
        files_with(&world, &mine, CANARY).iter().map(|file| file.replace(&key, "KEY")).collect();
    insta::assert_snapshot!(planted.join("\n"), @"
    $BASE/drafts/mine-1.json
    $BASE/projects/KEY/audit.jsonl.1
    $BASE/projects/KEY/history.jsonl
    $BASE/projects/KEY/preferences.json
    $BASE/projects/KEY/undo/contents/0a
    $BASE/sessions/anthropic/mine-1.json
    $BASE/sessions/index
    $BASE/sessions/mine-1.jsonl
    $BASE/sessions/titles.json
    $BASE/sessions/trash/mine-0.jsonl
    $BASE/zori.db
    $WORK/mine/.local/debug/s1/0000-request.json
    ");
    let search = || {
        let output = world.cmd(&["memory", "list"]).current_dir(&other).output().expect("it starts");
        String::from_utf8(output.stdout).expect("it is text")
    };
    let (recalled, before) = (search(), files_with(&world, &other, "heron"));
    let kept = |name: &str| fs::read(world.base().join(name)).expect("it is there");
    let untouched = [kept("config.toml"), kept("skills/a/SKILL.md"), kept("vault.age")];
    insta::assert_snapshot!(purge(&world, &mine, &["--yes"], ""), @"
    Deleted of $WORK/mine: 1 session, 1 trashed session, 1 transcript, 1 draft, 2 recallable messages, 2 embeddings, 1 indexed code file, 1 checkpoint file, 4 project files, 1 audit file
    Kept: 1 debug dump (deleted with `--include-debug`)
    [exit status: 0]
    ");
    insta::assert_snapshot!(files_with(&world, &mine, CANARY).join("\n"), @"$WORK/mine/.local/debug/s1/0000-request.json");
    assert_eq!(untouched, [kept("config.toml"), kept("skills/a/SKILL.md"), kept("vault.age")]);
    assert_eq!((search(), files_with(&world, &other, "heron")), (recalled, before));
    assert!(!own(&world, &mine).exists());
    let log = world.read(world.base().join("audit.jsonl"));
    assert!(log.contains("\"event\":\"purge\""), "{log}");
    insta::assert_snapshot!(purge(&world, &mine, &["--yes", "--include-debug"], ""), @"
    Deleted of $WORK/mine: 1 debug dump
    [exit status: 0]
    ");
    assert_eq!(files_with(&world, &mine, CANARY), [""; 0]);
}

/// D-31: jobs are kept, and the note that there are some, so that a chat goes on running them; the notes of memory and index go.
#[test]
fn what_is_scheduled_stays_so() {
    let (world, mine, _) = two_projects();
    let run = |args: &[&str]| world.cmd(args).current_dir(&mine).output().expect("it starts");
    let add = ["schedule", "add", "nightly", "--cron", "0 2 * * *", "--tz", "UTC", "--prompt", "look"];
    assert!(run(&add).status.success());
    let notes = world.base().join("uses").join(blake3_key(&world, &mine));
    let names = || {
        let mut names: Vec<_> = fs::read_dir(&notes)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    assert_eq!(names(), ["index", "memory", "schedule"]);
    let said = purge(&world, &mine, &["--dry-run"], "").success().stdout();
    let kept = "1 scheduled job (`schedule rm` removes what is scheduled), 1 debug dump (deleted with `--include-debug`)";
    assert_eq!(said.lines().last(), Some(format!("Would keep: {kept}").as_str()));
    let said = purge(&world, &mine, &["--yes"], "").success().stdout();
    assert_eq!(said.lines().last(), Some(format!("Kept: {kept}").as_str()));
    assert_eq!(names(), ["schedule"]);
    let listed = String::from_utf8(run(&["schedule", "list"]).stdout).expect("it is text");
    assert!(listed.contains("nightly"), "{listed}");
    assert!(run(&["schedule", "rm", "nightly", "--yes"]).status.success());
    purge(&world, &mine, &["--yes"], "").success();
    assert!(!notes.exists());
}

/// Section 11's matrix: however it is confirmed or not, with and without a Qdrant server that is down, with and without debug dumps, the other project and what is never
/// deleted are as they were.
#[test]
fn every_way_to_confirm() {
    for qdrant in [false, true] {
        for debug in [false, true] {
            for (args, typed, code) in [
                (&[][..], "mine\n", 0),
                (&[], "other\n", 1),
                (&[], "", 1),
                (&["--yes"], "", 0),
                (&["--dry-run"], "", 0),
            ] {
                let (world, mine, other) = two_projects();
                if qdrant {
                    // Nobody listens there.
                    let down =
                        "[memory]\nvectors = \"qdrant\"\n[memory.qdrant]\nurl = \"http://127.0.0.1:9\"\n";
                    world.write(world.base().join("config.toml"), down);
                }
                let kept = || {
                    let never = ["config.toml", "skills/a/SKILL.md", "vault.age"];
                    let never = never.map(|name| fs::read(world.base().join(name)).expect("it is there"));
                    let list =
                        world.cmd(&["memory", "export"]).current_dir(&other).output().expect("it starts");
                    (never, list.stdout, files_with(&world, &other, "heron"))
                };
                let before = kept();
                let all: Vec<&str> = args.iter().copied().chain(debug.then_some("--include-debug")).collect();
                let output = purge(&world, &mine, &all, typed);
                let case = format!("{all:?} {typed:?} qdrant {qdrant}: {output}");
                assert_eq!(output.code(), Some(code), "{case}");
                assert_eq!(kept(), before, "{case}");
                let done = code == 0 && args != ["--dry-run"];
                assert_eq!(output.stderr().contains("vectors outside are left"), done && qdrant, "{case}");
                let left = files_with(&world, &mine, CANARY).len();
                assert_eq!(left, if !done { 12 } else { usize::from(!debug) }, "{case}");
            }
        }
    }
}

/// A project whose folder is gone is listed, and purged from a new folder of that name; its sessions are known by the root they were begun in.
#[test]
fn a_root_that_vanished() {
    let (world, mine, _) = two_projects();
    fs::remove_dir_all(&mine).expect("it is there");
    let refused = world.run(&["project", "purge", "--yes", "--root", mine.to_str().expect("it is text")]);
    assert_eq!(refused.code(), Some(2), "{refused}");
    assert_ne!(files_with(&world, world.base(), CANARY), [""; 0]);
    fs::create_dir_all(mine.join(".git")).expect("it can be made");
    purge(&world, &mine, &["--yes"], "").success();
    assert_eq!(files_with(&world, &mine, CANARY), [""; 0]);
}

/// A session file whose beginning is damaged could be of any project: it stays, and that is said.
#[test]
fn a_session_of_nobody() {
    let (world, mine, _) = two_projects();
    let purged = |first: &str, second: &str| {
        for (name, text) in [("broken.jsonl", first), ("trash/older.jsonl", second)] {
            world.write(world.base().join("sessions").join(name), text);
        }
        let purged = purge(&world, &mine, &["--yes"], "");
        assert_eq!(purged.code(), Some(0), "{purged}");
        purged.stderr()
    };
    insta::assert_snapshot!(purged(r#"{"type":"me"#, ""), @"Warning: $BASE/sessions/broken.jsonl does not say where it was begun, and may have words of any project: delete it by hand");
    insta::assert_snapshot!(purged("{}\n", "no record\n"), @"Warning: $BASE/sessions/broken.jsonl and 1 more do not say where they were begun, and may have words of any project: delete them by hand");
    assert_eq!(purged("", ""), "");
}

/// A thousand projects in one database: one goes, the others are as they were.
#[test]
fn one_of_a_thousand_projects() {
    let (world, mine, _) = two_projects();
    let path = zori_index::database_path(world.base());
    let open = |root: &Path| {
        let database = zori_index::Database::open(&path).expect("it can be opened");
        zori_index::ProjectStore::new(database, root).expect("it can be read")
    };
    for number in 0..1_000 {
        let root = PathBuf::from(format!("/projects/{number}"));
        open(&root)
            .save_note(&format!("note {number}"), "2027-01-01T00:00:00Z", 1_800_000_000)
            .expect("it is kept");
    }
    purge(&world, &mine, &["--yes"], "").success();
    let database = zori_index::Database::open(&path).expect("it can be opened");
    let projects = zori_index::projects(&database).expect("they can be listed");
    let of_others = projects.iter().filter(|project| project.root.starts_with("/projects/"));
    assert_eq!(of_others.map(|project| project.messages).sum::<u64>(), 1_000);
    assert!(projects.iter().all(|project| Path::new(&project.root) != mine));
    assert_eq!(open(Path::new("/projects/7")).messages().expect("they are there")[0].content, "note 7");
}

#[test]
fn a_live_session_holds_it_off() {
    let gate = Gate::new();
    let (world, model) = with_model([Reply::from(anthropic::text("later")).wait_after(0, &gate)]);
    let command = world.cmd(&["exec", "--session", "s", "-p", "wait"]);
    let running = world.start(command, Stdin::Null, Stdout::Captured);
    model.wait_for_requests(1);
    let work = world.work();
    let refused = purge(&world, &work, &["--yes"], "");
    assert_eq!(refused.code(), Some(2), "{refused}");
    assert!(refused.stderr().contains("session 's' of this project is open in process"), "{refused}");
    gate.open();
    running.finish().success();
    assert_eq!(purge(&world, &work, &["--yes"], "").code(), Some(0));
}

#[test]
fn dumps_behind_a_link_and_a_foreign_database_are_refused() {
    let (world, mine, other) = two_projects();
    fs::remove_dir_all(mine.join(".local/debug")).expect("it is there");
    std::os::unix::fs::symlink(other.join(".local/debug"), mine.join(".local/debug"))
        .expect("it can be made");
    insta::assert_snapshot!(purge(&world, &mine, &["--yes", "--include-debug"], ""), @"
    ------- stderr -------
    Error: `.local/debug` is a link, or below one, and could lead to anything; remove it first
    [exit status: 2]
    ");
    // One that leads to another folder of the project does no better.
    fs::remove_file(mine.join(".local/debug")).expect("it is there");
    let source = world.write(mine.join("src/parser/mod.rs"), "mine");
    std::os::unix::fs::symlink("../src", mine.join(".local/debug")).expect("it can be made");
    let refused = purge(&world, &mine, &["--yes", "--include-debug"], "");
    assert!(refused.stderr().contains("`.local/debug` is a link"), "{refused}");
    assert_eq!((refused.code(), world.read(source).as_str()), (Some(2), "mine"));
    insta::assert_snapshot!(world.run(&["project", "purge", "--yes", "--root", "/"]), @"
    ------- stderr -------
    Error: the root directory is no project that could be purged
    [exit status: 2]
    ");
    fs::remove_file(mine.join(".local/debug")).expect("it is there");
    world.write(
        world.base().join("zori.db"),
        "this is no database at all, and long enough to be looked at as if it were one, or is it",
    );
    let before = files_with(&world, &mine, CANARY);
    assert_eq!(purge(&world, &mine, &["--yes"], "").code(), Some(2));
    assert_eq!(files_with(&world, &mine, CANARY), before);
}

#[test]
fn what_is_listed() {
    let (world, _, other) = two_projects();
    fs::remove_dir_all(&other).expect("it is there");
    let rows = world.run(&["project", "list", "--output", "json"]).success();
    let answer: Value = serde_json::from_str(&rows.stdout()).expect("it is JSON");
    let rows = answer["data"].as_array().expect("it is a list").iter().map(|row| {
        let root = world.rewrite().apply(row["root"].as_str().unwrap_or("-"));
        format!("{root} {} {} {} {}", row["sessions"], row["messages"], row["jobs"], row["exists"])
    });
    insta::assert_snapshot!(rows.collect::<Vec<_>>().join("\n"), @"
    $WORK/mine 1 2 0 true
    $WORK/other 1 2 0 false
    ");
}
