//! `project purge` takes one word out of every byte that is kept of a project: a session that was really held, and a row or a file of each kind
//! that the program keeps. Then every file of the base directory is read, and the other project is compared row by row.

use std::fs;
use std::path::Path;

use rustix::process::Signal;
use serde_json::json;
use zori_index::{Database, DreamGates, NewEntity, NewFact, Payment, ProjectStore, VectorKind, VectorsOf};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;

use crate::project::{CANARY, files_with, purge, two_projects};
use crate::screen_stage::Person;

const NOW: i64 = 1_800_000_000;

fn store(world: &TestEnv, root: &Path) -> ProjectStore {
    let database = Database::open(&zori_index::database_path(world.base())).expect("it can be opened");
    ProjectStore::new(database, root).expect("it can be read")
}

fn run(world: &TestEnv, root: &Path, args: &[&str]) {
    let output = world.cmd(args).current_dir(root).output().expect("it starts");
    assert!(output.status.success(), "{args:?}: {output:?}");
}

/// A model that writes a file, then says the word; asked for a plan it has two steps.
fn model(word: &'static str) -> ModelServer {
    ModelServer::answering(move |request| {
        let last = request.messages().pop().expect("a message").to_string();
        match last.contains("tool_result") {
            false if last.contains("write it") => {
                let input = json!({"path": format!("{word}.txt"), "content": word});
                anthropic::tool_use("t1", "write", input).reply()
            }
            _ => {
                anthropic::text(&format!("The {word} sings.\n\n1. Feed the {word}\n2. Listen to the {word}"))
                    .reply()
            }
        }
    })
}

/// Holds sessions in a project, and keeps of it whatever can be kept.
fn live_in(world: &mut TestEnv, root: &Path, word: &'static str) {
    let server = model(word);
    world.use_server(&server);
    let name = root.file_name().and_then(|name| name.to_str()).expect("it is text").to_owned();
    // A session with a call: its file, a checkpoint, the audit log, dumps.
    let prompt = format!("write it for the {word}");
    run(world, root, &["exec", "--session", &format!("{name}-real"), "--debug-dump", "-p", &prompt]);
    fs::remove_file(root.join(format!("{word}.txt"))).expect("the call made it");
    // A chat on the screen: its file, the prompt history, and what `/feedback` puts together. Without workers, which would follow the files that are gone.
    let (root_text, chat) = (root.to_str().expect("it is text"), format!("{name}-chat"));
    let mut person = Person::open(world, &["--bare", "--root", root_text, "--session", &chat]);
    person.says(&format!("tell me of the {word}")).sees("Listen to");
    person.says("/feedback").sees("Nothing was sent").leaves();
    // The same of a session that is not saved: what was shown.
    let mut person = Person::open(world, &["--bare", "--no-save", "--root", root_text]);
    person.says(&format!("tell me of the {word}")).sees("Listen to");
    person.says("/feedback").sees("Nothing was sent").leaves();
    // A session that never begins: what was being typed in it when its terminal was closed.
    let never = format!("{name}-never");
    let mut person = Person::open(world, &["--bare", "--root", root_text, "--session", &never]);
    person.types(&format!("the {word} and")).signal(Signal::TERM);
    assert_eq!(person.ends().0.code(), Some(143));
    // What is kept of the session that lies in the trash already.
    world.write(world.base().join(format!("sessions/anthropic/{name}-0.json")), word);
    world.write(world.base().join(format!("drafts/{name}-0.json")), word);
    // A session for a program: a plan.
    let plan = format!("{name}-plan");
    let mut command = world.cmd(&["--json", "--bare", "-y", "--session", &plan]);
    command.current_dir(root);
    let lines = format!("/plan feed the {word}\n").into();
    world.start(command, Stdin::Bytes(lines), Stdout::Captured).finish().success();
    let prompt = format!("feed the {word}");
    run(world, root, &["schedule", "add", "nightly", "--cron", "0 2 * * *", "--tz", "UTC", "-p", &prompt]);
    run(world, root, &["memory", "rebuild"]);
    let mut store = store(world, root);
    let message =
        store.save_note(&format!("a note on the {word}"), "2027-01-01T00:00:00Z", NOW).expect("it is kept");
    let entity = |name: &str| NewEntity { name: name.into(), kind: word.into() };
    let fact = NewFact {
        message,
        source: entity(word),
        target: entity("pond"),
        relation: word.into(),
        fact: format!("The {word} lives in the pond"),
        confidence: 1.0,
    };
    assert_eq!(store.add_facts(&[message], &[fact], NOW).expect("it is kept"), 1);
    let kind = VectorKind { model: word.into(), dims: 2 };
    for of in [VectorsOf::Messages, VectorsOf::Chunks] {
        let owners = store.without_vector(of, &kind, 9).expect("it is read");
        let vectors: Vec<_> = owners.iter().map(|one| (one.owner, vec![1.0, 0.5])).collect();
        assert!(!vectors.is_empty(), "{of:?}");
        store.put_vectors(of, &kind, &vectors, NOW).expect("they are kept");
    }
    store.put_points(&kind, &[(message, NOW + message)], NOW).expect("they are kept");
    store.keep_preference(word, word, Some(word), NOW).expect("it is kept");
    let gates = DreamGates { min_sessions: 1, min_hours: 0 };
    assert!(store.dream(gates, NOW).expect("it is done").is_some());
    let paid = Payment {
        session: Some(word),
        provider: "p",
        model: "m",
        input: 1,
        output: 1,
        cache_read: 0,
        cache_write: 0,
        cost: Some(7),
    };
    store.add_payment(&paid, NOW).expect("it is kept");
    assert!(store.lease(word, word, NOW, 60).expect("it is taken"));
}

/// Leaves the log of changes beside the database as a killed process does, with a note that is nowhere else.
fn note_in_the_log(world: &TestEnv, root: &Path) {
    let base = world.base();
    let mut writing = store(world, root);
    writing
        .save_note(&format!("only the log has this {CANARY}"), "2027-01-01T00:00:00Z", NOW)
        .expect("it is kept");
    let names =
        ["", "-wal", "-shm"].map(|end| (base.join(format!("zori.db{end}")), base.join(format!("kept{end}"))));
    for (from, to) in &names {
        fs::copy(from, to).expect("it is there");
    }
    drop(writing);
    names.iter().for_each(|(to, from)| fs::rename(from, to).expect("it is there"));
}

/// All rows of a project, as far as anybody can ask for them.
fn rows(world: &TestEnv, root: &Path) -> String {
    let store = store(world, root);
    let kind = VectorKind { model: "heron".into(), dims: 2 };
    let alike =
        [VectorsOf::Messages, VectorsOf::Chunks].map(|of| store.alike(of, &kind, &[1.0, 0.5]).expect("read"));
    let mut files: Vec<_> = store.code_files().expect("read").into_iter().collect();
    files.sort_by(|a, b| a.0.cmp(&b.0));
    format!(
        "{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{:#?}\n{alike:?}\n{files:?}",
        store.messages().expect("read"),
        store.facts(None, 99).expect("read"),
        store.entities(99).expect("read"),
        store.summaries(99).expect("read"),
        store.plans(99).expect("read"),
        store.preferences().expect("read"),
        store.jobs().expect("read"),
        store.code_map(None).expect("read"),
        store.count_purge().expect("read"),
    )
}

#[test]
fn no_byte_of_the_canary_is_left_anywhere() {
    let (mut world, mine, other) = two_projects();
    live_in(&mut world, &mine, CANARY);
    live_in(&mut world, &other, "heron");
    note_in_the_log(&world, &mine);
    let places = |world: &TestEnv| {
        let shown: Vec<_> =
            [files_with(world, &mine, CANARY), files_with(world, &world.tmp(), CANARY)].concat();
        let mut shown: Vec<_> = shown.iter().map(|file| without_key(file)).collect();
        shown.sort();
        shown.dedup();
        shown.join("\n")
    };
    insta::assert_snapshot!(places(&world), @"
    $BASE/drafts/mine-0.json
    $BASE/drafts/mine-1.json
    $BASE/drafts/mine-never.json
    $BASE/feedback/ID/screen.txt
    $BASE/feedback/mine-chat-ID/screen.txt
    $BASE/feedback/mine-chat-ID/session.jsonl
    $BASE/projects/KEY/audit.jsonl
    $BASE/projects/KEY/audit.jsonl.1
    $BASE/projects/KEY/history.jsonl
    $BASE/projects/KEY/preferences.json
    $BASE/projects/KEY/undo/contents/0a
    $BASE/projects/KEY/undo/ops/mine-real.jsonl
    $BASE/projects/KEY/undo/seg/mine-real-0.zus
    $BASE/sessions/anthropic/mine-0.json
    $BASE/sessions/anthropic/mine-1.json
    $BASE/sessions/index
    $BASE/sessions/mine-1.jsonl
    $BASE/sessions/mine-chat.jsonl
    $BASE/sessions/mine-plan.jsonl
    $BASE/sessions/mine-real.jsonl
    $BASE/sessions/titles.json
    $BASE/sessions/trash/mine-0.jsonl
    $BASE/zori.db
    $BASE/zori.db-wal
    $WORK/mine/.local/debug/mine-real/0000-request.json
    $WORK/mine/.local/debug/mine-real/0000-response.json
    $WORK/mine/.local/debug/mine-real/0001-tool-write.txt
    $WORK/mine/.local/debug/mine-real/0002-request.json
    $WORK/mine/.local/debug/mine-real/0002-response.json
    $WORK/mine/.local/debug/s1/0000-request.json
    ");
    // Every word of the other project, and every row of it.
    let kept = |world: &TestEnv| {
        // Whoever asks closes the database behind, and so works its log off.
        let rows = rows(world, &other);
        let mut files = files_with(world, &other, "heron");
        // The list of sessions is a cache, and made again.
        files.retain(|file| !file.ends_with("sessions/index"));
        (rows, files)
    };
    let before = kept(&world);
    note_in_the_log(&world, &mine);
    // The config names no Qdrant server (any more), and there are points in one.
    let elsewhere = "may be in a Qdrant server that the config does not name any more: delete it there";
    let done = purge(&world, &mine, &["--yes", "--include-debug"], "").success();
    assert!(done.stderr().contains(elsewhere), "{done}");
    // D-31: what is scheduled is kept, and said; it is the only place that is left.
    insta::assert_snapshot!(places(&world), @"$BASE/zori.db");
    run(&world, &mine, &["schedule", "rm", "nightly", "--yes"]);
    let done = purge(&world, &mine, &["--yes", "--include-debug"], "").success();
    assert!(!done.stderr().contains(elsewhere), "{done}");
    insta::assert_snapshot!(places(&world), @"");
    assert_eq!(kept(&world), before);
}

/// The folder of a project is called by a number that differs between machines, and one of `/feedback` by one that is new each time, behind the session's name.
fn without_key(path: &str) -> String {
    let is_key = |part: &str| part.len() == 16 && part.chars().all(|c| c.is_ascii_hexdigit());
    let path =
        path.split('/').map(|part| if is_key(part) { "KEY" } else { part }).collect::<Vec<_>>().join("/");
    let Some((before, folder)) = path.split_once("/feedback/") else { return path };
    let (folder, file) = folder.split_once('/').expect("it is a folder");
    let name = folder.strip_prefix("mine-chat-").map_or("ID", |_| "mine-chat-ID");
    format!("{before}/feedback/{name}/{file}")
}
