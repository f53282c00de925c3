//! DB-4, DB-5: a session goes on without its memory, whatever is wrong with the database, and says so once. Its file stays as it is, unless it is
//! damaged: then it is put aside.

use std::fs;
use std::path::{Path, PathBuf};

use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::random::{Random, cases};
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;

use super::interposer::{At, Fault, can_trace, failing, record, strike};
use super::row;
use crate::memory::{said, timeless};
use crate::project::{CANARY, files_with, purge, two_projects};
use crate::world::{with_mounts, world};

/// A project that recalls by itself, with a database.
fn recalling() -> (TestEnv, ModelServer) {
    let server = ModelServer::answering(|_| anthropic::text("Here.").reply());
    let mut world = world();
    world.use_server(&server);
    said(&world, "monday", "Which heron?", "The grey heron.");
    world.write(world.base().join("config.toml"), "[memory]\nrecall = \"auto\"\n");
    world.run(&["memory", "rebuild"]).success();
    (world, server)
}

fn prompt(world: &TestEnv) -> CommandOutput {
    world.run(&["exec", "--no-save", "-p", "tell me of the heron"])
}

/// Returns whether the last request had what was recalled.
fn recalled(server: &ModelServer) -> bool {
    server.request(server.count() - 1).conversation().contains("The grey heron.")
}

/// Puts bytes into the header of the database.
fn patch(world: &TestEnv, at: usize, bytes: &[u8]) -> Vec<u8> {
    let path = world.base().join("zori.db");
    let mut file = fs::read(&path).expect("it is there");
    file[at..at + bytes.len()].copy_from_slice(bytes);
    fs::write(&path, &file).expect("it can be written");
    file
}

#[test]
fn deleted() {
    let (world, server) = recalling();
    fs::remove_file(world.base().join("zori.db")).expect("it is there");
    insta::assert_snapshot!(prompt(&world), @"
    Here.
    [exit status: 0]
    ");
    assert!(recalled(&server), "it is made again from the session files");
}

#[test]
fn of_a_newer_version_or_of_another_program() {
    let (world, server) = recalling();
    let path = world.base().join("zori.db");
    // The user version of the header.
    let newer = patch(&world, 60, &99u32.to_be_bytes());
    let output = timeless(&prompt(&world));
    let known =
        output.split("this one knows ").nth(1).and_then(|rest| rest.split(')').next()).expect("it is said");
    insta::assert_snapshot!(output.replace(&format!("knows {known}"), "knows N"), @"
    Here.
    ------- stderr -------
    Warning: Going on without memory: $BASE/zori.db was made by a newer version (schema 99; this one knows N); use the newer version; this one goes on without memory
    [exit status: 0]
    ");
    assert_eq!(fs::read(&path).expect("it is there"), newer, "nothing of it is changed");
    // The application id.
    patch(&world, 60, &1u32.to_be_bytes());
    let theirs = patch(&world, 68, b"them");
    insta::assert_snapshot!(prompt(&world), @"
    Here.
    ------- stderr -------
    Warning: Going on without memory: $BASE/zori.db is not a database of this program; move that file away; `zori memory rebuild` makes a new one from the session files
    [exit status: 0]
    ");
    assert_eq!(fs::read(&path).expect("it is there"), theirs);
    assert!(!recalled(&server));
}

/// Two versions at once: a newer one brings the database up to date while a chat is open. The chat goes on without memory, says so once, and the file
/// stays as the newer one made it.
#[test]
fn a_newer_version_beside_an_open_chat() {
    let (world, server) = recalling();
    let command = world.cmd(&["--json", "--bare", "--no-save"]);
    let mut chat = world.start(command, Stdin::Open, Stdout::Captured);
    let mut turn = |number: usize| {
        chat.write_stdin("tell me of the heron\n");
        chat.wait_until("a turn", |chat| chat.stdout().matches("\"cost\"").count() == number);
        server.request(number - 1).conversation().matches("The grey heron.").count()
    };
    assert_eq!(turn(1), 1);
    let newer = patch(&world, 60, &99u32.to_be_bytes());
    // What was recalled before is part of the conversation; nothing comes to it.
    assert_eq!((turn(2), turn(3)), (1, 1));
    chat.close_stdin();
    let output = chat.finish().success();
    assert_eq!(output.stderr().matches("was made by a newer version (schema 99;").count(), 1, "{output}");
    assert_eq!(fs::read(world.base().join("zori.db")).expect("it is there"), newer);
}

/// Another process holds it for longer than anybody waits.
#[test]
fn locked() {
    let (world, server) = recalling();
    let file =
        fs::File::options().read(true).write(true).open(world.base().join("zori.db")).expect("it is there");
    rustix::fs::fcntl_lock(&file, rustix::fs::FlockOperation::NonBlockingLockExclusive)
        .expect("nobody has it");
    insta::assert_snapshot!(prompt(&world), @"
    Here.
    ------- stderr -------
    Warning: Going on without memory: $BASE/zori.db is in use by another process; try again when the other process is done
    [exit status: 0]
    ");
    drop(file);
    prompt(&world).success();
    assert!(recalled(&server), "afterwards it is used again");
}

#[test]
fn damaged_anywhere() {
    let (world, server) = recalling();
    let path = world.base().join("zori.db");
    let whole = fs::read(&path).expect("it is there");
    let (runs, mut dice, mut aside) = (cases(12, 200), Random::new(5), 0);
    for run in 0..runs {
        let mut bytes = whole.clone();
        let anywhere = dice.below(bytes.len() / 4096) * 4096 + dice.below(64);
        // Most pages are of tables that a session does not look at; the list of tables is one that it does.
        let at = if run == 0 { 100 } else { anywhere };
        let end = (at + 1 + dice.below(200)).min(bytes.len());
        bytes[at..end].iter_mut().for_each(|byte| *byte = !*byte);
        fs::write(&path, &bytes).expect("it can be written");
        let output = prompt(&world);
        assert_eq!(
            (output.code(), output.stdout().as_str()),
            (Some(0), "Here.\n"),
            "run {run}, byte {at}: {output}"
        );
        let said = output.stderr();
        assert!(said.lines().count() <= 1, "run {run}, byte {at}: {said}");
        if said.contains("it was put aside as ") {
            aside += 1;
            // The next run has a memory again.
            prompt(&world).success();
            assert!(recalled(&server), "run {run}");
        }
        for entry in fs::read_dir(world.base()).expect("it is there").flatten() {
            if entry.file_name().to_string_lossy().starts_with("zori.db") {
                fs::remove_file(entry.path()).expect("it can be removed");
            }
        }
    }
    assert!(aside > 0, "no damage was found");
    row("DB-4", format_args!("{aside} sessions went on and put it aside, the others went on"), runs);
}

/// Runs a prompt where a script has changed the disk below. `None` where nobody may mount.
fn mounted(world: &TestEnv, mounting: &str) -> Option<CommandOutput> {
    let script = format!("{mounting}\nexec \"$0\" \"$@\"");
    with_mounts(world, &script, &["exec", "--no-save", "-p", "tell me of the heron"])
}

#[test]
fn read_only_as_root() {
    let (world, _server) = recalling();
    let path = world.base().join("zori.db").display().to_string();
    let mounting = format!("mount --bind {path} {path} && mount -o remount,ro,bind {path} || exit 99");
    let Some(output) = mounted(&world, &mounting) else { return };
    insta::assert_snapshot!(output, @"
    Here.
    ------- stderr -------
    Warning: Going on without memory: $BASE/zori.db cannot be written; make the file and its folder writable
    [exit status: 0]
    ");
}

/// A disk that is full, but for a few KiB.
#[test]
fn full_disks_as_root() {
    let steps = cases(6, 20);
    for step in 0..steps {
        let (world, _server) = recalling();
        said(&world, "tuesday", "And another?", &"A white heron. ".repeat(400));
        let (base, free) = (world.base().display().to_string(), step * 8);
        let kept = world.home().join("kept").display().to_string();
        let mounting = format!(
            "cp -r {base} {kept} && mount -t tmpfs -o size=2m,mode=700 none {base} || exit 99
             cp -r {kept}/. {base}/
             head -c 4M /dev/zero > {base}/filler 2>/dev/null
             truncate -s -{free}k {base}/filler"
        );
        let Some(output) = mounted(&world, &mounting) else { return };
        assert_eq!(
            (output.code(), output.stdout().as_str()),
            (Some(0), "Here.\n"),
            "{free} KiB free: {output}"
        );
        let said = output.stderr();
        assert!(said.lines().count() <= 1, "{free} KiB free: {said}");
    }
    row("DB-5", "the session goes on, one message", steps);
}

/// DB-1: with `durability = "full"` the log is on the disk when a command says that it is done; otherwise it is synced when it is emptied.
#[test]
fn db_1_full_durability_as_root() {
    if !can_trace() {
        return;
    }
    let syncs = |durability: &str| {
        let (world, _server) = recalling();
        world.write(world.base().join("config.toml"), format!("durability = \"{durability}\"\n"));
        let args = ["schedule", "add", "nightly", "--cron", "0 2 * * *", "--tz", "UTC", "--prompt", "hi"];
        let (output, calls) = record(&world, &args, "fsync,fdatasync");
        assert_eq!(output.code(), Some(0), "{output}");
        let log = world.base().canonicalize().expect("it is there").join("zori.db-wal");
        calls.iter().filter(|call| call.is_about(&log)).count()
    };
    let (process, full) = (syncs("process"), syncs("full"));
    assert!(full > process, "{process} by default, {full} with full durability");
    row("DB-1", "the log is synced for each commit", 2);
}

/// DB-5: a file system that cannot lock, as a network file system without its lock service: every lock of the database fails.
#[test]
fn without_locks_as_root() {
    if !can_trace() {
        return;
    }
    let (world, server) = recalling();
    let path = |suffix: &str| world.base().join(format!("zori.db{suffix}"));
    let paths = [path(""), path("-shm"), path("-lock")];
    let args = ["exec", "--no-save", "-p", "tell me of the heron"];
    insta::assert_snapshot!(failing(&world, &args, "fcntl,flock", "ENOLCK", &paths), @"
    Here.
    ------- stderr -------
    Warning: Going on without memory: $BASE/zori.db cannot be locked where it is; its file system cannot lock files, as some network file systems cannot: keep the base directory on a local disk
    [exit status: 0]
    ");
    assert!(!recalled(&server) && !path("-lock").exists());
    let search = ["memory", "rebuild"];
    insta::assert_snapshot!(failing(&world, &search, "fcntl,flock", "ENOLCK", &paths), @"
    ------- stderr -------
    Error: $BASE/zori.db cannot be locked where it is
    Hint: its file system cannot lock files, as some network file systems cannot: keep the base directory on a local disk
    [exit status: 4]
    ");
    prompt(&world).success();
    assert!(recalled(&server), "where locks work it is used again");
    row("DB-5", "a file system without locks: one message", 2);
}

/// DB-5: a file system without memory that processes share, as some network file systems: the index of the log cannot be mapped.
#[test]
fn without_shared_memory_as_root() {
    if !can_trace() {
        return;
    }
    let (world, server) = recalling();
    let shared = [world.base().canonicalize().expect("it is there").join("zori.db-shm")];
    let args = ["exec", "--no-save", "-p", "tell me of the heron"];
    insta::assert_snapshot!(failing(&world, &args, "mmap", "ENODEV", &shared), @"
    Here.
    ------- stderr -------
    Warning: Going on without memory: $BASE/zori.db cannot be shared between processes where it is; its file system has no memory that processes share, as some network file systems have none: keep the base directory on a local disk
    [exit status: 0]
    ");
    assert!(!recalled(&server));
    insta::assert_snapshot!(failing(&world, &["memory", "rebuild"], "mmap", "ENODEV", &shared), @"
    ------- stderr -------
    Error: $BASE/zori.db cannot be shared between processes where it is
    Hint: its file system has no memory that processes share, as some network file systems have none: keep the base directory on a local disk
    [exit status: 4]
    ");
    prompt(&world).success();
    assert!(recalled(&server), "where it can be mapped it is used again");
    row("DB-5", "a file system without shared memory: one message", 2);
}

/// DB-5: what lies beside the database, or in its place, as other programs, copies and restored backups leave it. The session goes on with its
/// memory or without, and says so in one message at most.
#[test]
fn what_is_found_in_its_place() {
    /// Its name, and what is done to the database.
    type Case = (&'static str, fn(&Path));
    let cases: &[Case] = &[
        ("no -shm beside a -wal", |db| drop(fs::remove_file(beside(db, "-shm")))),
        ("no -wal beside a -shm", |db| drop(fs::remove_file(beside(db, "-wal")))),
        ("neither", |db| ["-wal", "-shm"].iter().for_each(|end| drop(fs::remove_file(beside(db, end))))),
        ("an empty -wal", |db| fs::write(beside(db, "-wal"), "").unwrap()),
        ("a -wal of something else", |db| fs::write(beside(db, "-wal"), "no log".repeat(999)).unwrap()),
        ("a -shm of something else", |db| fs::write(beside(db, "-shm"), "no map".repeat(9_999)).unwrap()),
        ("a folder as -wal", |db| {
            drop(fs::remove_file(beside(db, "-wal")));
            fs::create_dir(beside(db, "-wal")).unwrap();
        }),
        ("a folder as -shm", |db| {
            drop(fs::remove_file(beside(db, "-shm")));
            fs::create_dir(beside(db, "-shm")).unwrap();
        }),
        ("a journal of the older kind", |db| fs::write(beside(db, "-journal"), "none").unwrap()),
        ("an empty file", |db| fs::write(db, "").unwrap()),
        ("a folder", |db| {
            fs::remove_file(db).unwrap();
            fs::create_dir(db).unwrap();
        }),
        ("a link to a file elsewhere", |db| {
            let elsewhere = db.with_file_name("elsewhere.db");
            fs::rename(db, &elsewhere).unwrap();
            std::os::unix::fs::symlink(&elsewhere, db).unwrap();
        }),
        ("a link to nothing", |db| {
            fs::remove_file(db).unwrap();
            std::os::unix::fs::symlink("nowhere", db).unwrap();
        }),
        ("a link to itself", |db| {
            fs::remove_file(db).unwrap();
            std::os::unix::fs::symlink(db, db).unwrap();
        }),
    ];
    let mut seen = String::new();
    for (name, change) in cases {
        let (world, server) = recalling();
        left_open(&world);
        change(&world.base().join("zori.db"));
        let output = prompt(&world);
        assert_eq!((output.code(), output.stdout().as_str()), (Some(0), "Here.\n"), "{name}: {output}");
        let said = timeless(&output);
        let said = said.lines().filter_map(|line| line.strip_prefix("Warning: ")).collect::<Vec<_>>();
        assert!(said.len() <= 1, "{name}: {said:?}");
        let with = if recalled(&server) { "with memory" } else { "without" };
        seen += format!("{name}: {with} {}", said.concat()).trim_end();
        seen.push('\n');
    }
    insta::assert_snapshot!(seen, @"
    no -shm beside a -wal: with memory
    no -wal beside a -shm: with memory
    neither: with memory
    an empty -wal: with memory
    a -wal of something else: with memory
    a -shm of something else: with memory
    a folder as -wal: without Going on without memory: $BASE/zori.db: unable to open database file; see what the message says of the file
    a folder as -shm: without Going on without memory: $BASE/zori.db cannot be written; make the file and its folder writable
    a journal of the older kind: with memory
    an empty file: with memory
    a folder: without Going on without memory: $BASE/zori.db: unable to open database file: $BASE/zori.db; see what the message says of the file
    a link to a file elsewhere: without Going on without memory: $BASE/zori.db: unable to open database file: $BASE/zori.db; see what the message says of the file
    a link to nothing: without Going on without memory: $BASE/zori.db: unable to open database file: $BASE/zori.db; see what the message says of the file
    a link to itself: without Going on without memory: $BASE/zori.db: Too many levels of symbolic links (os error 40); see what the message says of the file
    ");
    row("DB-5", "what is found in its place: the session goes on, one message at most", cases.len());
}

fn beside(db: &Path, end: &str) -> PathBuf {
    db.with_file_name(format!("zori.db{end}"))
}

/// Leaves `-wal` and `-shm` as a process that was killed does: with something that only the log has.
fn left_open(world: &TestEnv) {
    let base = world.base();
    let store = || {
        let database =
            zori_index::Database::open(&zori_index::database_path(base)).expect("it can be opened");
        zori_index::ProjectStore::new(database, &world.work()).expect("it can be read")
    };
    let mut writing = store();
    writing.save_note("a note", "2027-01-01T00:00:00Z", 1_800_000_000).expect("it can be written");
    for end in ["", "-wal", "-shm"] {
        fs::copy(beside(&base.join("zori.db"), end), base.join(format!("kept{end}"))).expect("it is there");
    }
    drop(writing);
    for end in ["", "-wal", "-shm"] {
        fs::rename(base.join(format!("kept{end}")), beside(&base.join("zori.db"), end)).expect("it is there");
    }
}

/// D-38: a purge that is killed at any call is finished by the same command, and the other project has all it had.
#[test]
fn a_killed_purge_is_finished_as_root() {
    if !can_trace() {
        return;
    }
    let mut struck = 0;
    for call in ["unlink", "unlinkat", "rename", "ftruncate", "pwrite64", "fsync"] {
        for nth in (1..).step_by(cases(if call == "pwrite64" { 40 } else { 7 }, 1)) {
            let (world, mine, other) = two_projects();
            let list = || {
                let output = world.cmd(&["memory", "list"]).current_dir(&other).output().expect("it starts");
                String::from_utf8(output.stdout).expect("it is text")
            };
            // What was on its way to its place when the process was killed is removed by a later one.
            let others = || {
                let mut files = files_with(&world, &other, "heron");
                files.retain(|file| !file.ends_with(".tmp"));
                files
            };
            let (listed, before) = (list(), others());
            let root = mine.display().to_string();
            let at = At { call, nth, fault: Fault::Kill };
            let args = ["project", "purge", "--yes", "--include-debug", "--root", &root];
            let traced = strike(&world, &args, at, &[]);
            let again = purge(&world, &mine, &["--yes", "--include-debug"], "");
            assert_eq!(again.code(), Some(0), "{at:?}: {again}");
            assert_eq!(files_with(&world, &mine, CANARY), [""; 0], "{at:?}");
            assert_eq!((list(), others()), (listed, before), "{at:?}");
            if !traced.struck {
                break;
            }
            struck += 1;
        }
    }
    assert!(struck > 5, "{struck}");
    row("DB-3", "a purge that was killed is finished by the next", struck);
}
