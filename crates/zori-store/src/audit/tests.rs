//! The chain under everything that can happen to it, and what gets into a record.

use std::fs;
use std::path::Path;
use std::time::Duration;

use zori_core::event::{DecidedBy, Event, StateEvent, ToolEvent};
use zori_core::ids::{AgentId, CallId};
use zori_core::log::Log;
use zori_core::permission::{Class, Decision, Verdict};
use zori_core::secret::Secrets;
use zori_core::tool::{Effect, ToolCode, ToolOutput};
use zori_redact::Redactor;

use super::chain::ChainFile;
use super::{AuditEntry, AuditFacts, AuditFile, AuditLog, CommandRun, audit_entries, audit_path, verify};
use crate::sample::{call, event, finished, prompt, requested, resolved, started};

/// 2026-11-15T21:15:00.123Z.
fn now() -> Duration {
    Duration::from_millis(1_794_777_300_123)
}

fn log(dir: &Path, secrets: Secrets) -> AuditLog {
    let facts = AuditFacts {
        mode: "default".into(),
        cwd: Path::new("/w").into(),
        redactor: Redactor::new(secrets),
        now,
    };
    AuditLog::new(AuditFile::new(audit_path(dir)), facts)
}

/// Feeds events to a log and returns its file without the parts that are hashes.
fn written(events: &[Event]) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mut log = log(dir.path(), Secrets::default());
    for event in events {
        log.append(event).unwrap();
    }
    assert!(verify(&audit_path(dir.path())).is_ok());
    let text = fs::read_to_string(audit_path(dir.path())).unwrap();
    let mut words: Vec<String> = text.split('"').map(str::to_owned).collect();
    for word in words.iter_mut().filter(|word| word.len() == 64) {
        *word = "$HASH".to_owned();
    }
    words.join("\"")
}

/// Writes a run's record with these arguments.
fn run(path: &Path, limit: u64, args: &str) -> Result<(), String> {
    let mut file = AuditFile { chain: ChainFile::new(path.to_owned(), limit) };
    put(&mut file, args)
}

fn put(file: &mut AuditFile, args: &str) -> Result<(), String> {
    let duration = Duration::from_millis(7);
    let run = CommandRun {
        at: now(),
        command: "exec",
        args,
        exit_code: 0,
        duration,
        operator: "uid:0",
        request_id: "r",
        trace_id: None,
    };
    file.run(&run, &Redactor::default()).map_err(|error| error.to_string())
}

/// Says of each file how many records it has and which lines are torn, or what is broken.
fn verdict(path: &Path) -> String {
    let folder = format!("{}/", path.parent().unwrap().display());
    match verify(path) {
        Ok(files) => files
            .iter()
            .map(|file| {
                let name = file.path.file_name().unwrap().to_str().unwrap();
                format!("{name}: {} records, torn {:?}\n", file.records, file.torn)
            })
            .collect(),
        Err(error) => error.to_string().replace(&folder, ""),
    }
}

#[test]
fn a_call_is_decided_before_it_starts_and_then_finished() {
    let effects = vec![Effect::Exec { command: "ls -la".to_owned(), cwd: "/w".into() }];
    let events = [
        prompt("list"),
        requested(call("c1", "bash", r#"{"command":"ls -la"}"#), effects),
        started("c1"),
        finished("c1", ToolOutput::success("{}")),
    ];
    assert_eq!(
        written(&events[..3]),
        concat!(
            r#"{"schema":1,"ts":"2026-11-15T21:15:00.123Z","seq":0,"event":"decision","session":"s","prev":"","id":"c1","#,
            r#""tool":"bash","class":"X","verdict":"allow","step":11,"reason":"because","mode":"default","#,
            r#""input_digest":"$HASH","summary":"ls -la","unresolved":false}"#,
            "\n"
        )
    );
    assert_eq!(
        written(&events).lines().last().unwrap(),
        concat!(
            r#"{"schema":1,"ts":"2026-11-15T21:15:00.123Z","seq":1,"event":"tool","session":"s","prev":"$HASH","turn":1,"#,
            r#""id":"c1","tool":"bash","result":"ok","duration_ms":3,"cwd":"/w","approved_by":"auto"}"#,
        )
    );
}

/// A change of the mode is a record, and the decisions after it name the new one.
#[test]
fn a_change_of_the_mode_is_there() {
    let changed = event(StateEvent::ModeChanged { from: "default", to: "plan" });
    let call = requested(call("c1", "ls", "{}"), vec![]);
    assert_eq!(
        written(&[changed, call, started("c1")]),
        concat!(
            r#"{"schema":1,"ts":"2026-11-15T21:15:00.123Z","seq":0,"event":"mode","session":"s","prev":"","#,
            r#""from":"default","mode":"plan"}"#,
            "\n",
            r#"{"schema":1,"ts":"2026-11-15T21:15:00.123Z","seq":1,"event":"decision","session":"s","prev":"$HASH","#,
            r#""id":"c1","tool":"ls","class":"X","verdict":"allow","step":11,"reason":"because","mode":"plan","#,
            r#""input_digest":"$HASH","summary":"","unresolved":false}"#,
            "\n"
        )
    );
}

/// AUD-1: what a sandbox did not let happen is a record of its own, before the end of the call.
#[test]
fn a_sandbox_that_denied_something() {
    let effects = vec![Effect::Exec { command: "touch /x".to_owned(), cwd: "/w".into() }];
    let mut output = ToolOutput::success("{}");
    output.denial = Some(Box::new(zori_core::confine::Denial {
        profile: "workspace, no network, by bubblewrap".to_owned(),
        about: "files",
        message: "a sentence for the model".to_owned(),
    }));
    let events = [
        requested(call("c1", "bash", r#"{"command":"touch /x"}"#), effects),
        started("c1"),
        finished("c1", output),
    ];
    assert_eq!(
        written(&events).lines().nth(1).unwrap(),
        concat!(
            r#"{"schema":1,"ts":"2026-11-15T21:15:00.123Z","seq":1,"event":"sandbox","session":"s","prev":"$HASH","#,
            r#""id":"c1","tool":"bash","reason":"files","input_digest":"$HASH","summary":"touch /x","#,
            r#""sandbox":"workspace, no network, by bubblewrap"}"#,
        )
    );
    assert_eq!(written(&events).lines().count(), 3);
}

/// One line per thing that happens to a call, whatever happens: `docs/contracts/audit-log.md` wants denied calls, too.
#[test]
fn asked_denied_and_impossible_calls_are_there() {
    let ask = |id: &str| {
        let decision = Decision::new(Verdict::Ask, Class::Shell, "a person must see it");
        let question = zori_core::question::Question {
            tool: "bash".to_owned(),
            preview: zori_core::question::Preview::Input("{}".to_owned()),
            grants: Vec::new(),
            explanation: Vec::new(),
        };
        event(ToolEvent::ApprovalRequested { call: CallId::new(id), decision, question: question.into() })
    };
    let request = |id: &str| requested(call(id, "bash", "{}"), vec![Effect::Write("/w/a".into())]);
    let denied = || ToolOutput::failure(ToolCode::PermissionDenied, "no");
    let events = [
        request("asked"),
        ask("asked"),
        resolved("asked", Verdict::Allow, DecidedBy::User),
        started("asked"),
        finished("asked", ToolOutput::failure(ToolCode::Timeout, "late")),
        request("denied"),
        resolved("denied", Verdict::Deny, DecidedBy::Policy),
        finished("denied", denied()),
        request("alone"),
        ask("alone"),
        resolved("alone", Verdict::Deny, DecidedBy::Policy),
        finished("alone", denied()),
        request("left"),
        ask("left"),
        resolved("left", Verdict::Deny, DecidedBy::Cancelled),
        finished("left", ToolOutput::failure(ToolCode::Canceled, "gone")),
        requested(call("odd", "bash", "{"), Vec::new()),
        finished("odd", ToolOutput::failure(ToolCode::InvalidInput, "Not JSON.")),
    ];
    let dir = tempfile::tempdir().unwrap();
    let mut log = log(dir.path(), Secrets::default());
    for event in &events {
        log.append(event).unwrap();
    }
    let mut lines = String::new();
    let each = |entry: AuditEntry| lines += &format!("{}\n", &entry.line()[26..]);
    audit_entries(&audit_path(dir.path()), each).unwrap();
    assert_eq!(
        lines,
        "\
decision  ask  bash  X  write /w/a  (a person must see it)
approval  allow  bash  X  by user  write /w/a  (because)
decision  allow  bash  X  write /w/a  (because)
tool      timeout  bash  timeout  3 ms
decision  deny  bash  X  write /w/a  (because)
tool      denied  bash  permission_denied  3 ms
decision  ask  bash  X  write /w/a  (a person must see it)
approval  deny  bash  X  by nobody  write /w/a  (because)
tool      denied  bash  permission_denied  3 ms
decision  ask  bash  X  write /w/a  (a person must see it)
approval  deny  bash  X  by cancelled  write /w/a  (because)
tool      cancelled  bash  canceled  3 ms
tool      error  bash  invalid_input  3 ms
"
    );
}

/// Two agents may give their calls one id.
#[test]
fn calls_of_sub_agents_name_the_call_that_started_them() {
    let sub = |event: Event| Event { agent: AgentId(1), parent: Some(CallId::new("c")), ..event };
    let request = |path: &str| requested(call("c", "read", "{}"), vec![Effect::Read(path.into())]);
    let done = || finished("c", ToolOutput::success("{}"));
    let events =
        [request("/w/a"), sub(request("/w/b")), sub(started("c")), sub(done()), started("c"), done()];
    let dir = tempfile::tempdir().unwrap();
    let mut log = log(dir.path(), Secrets::default());
    for event in &events {
        log.append(event).unwrap();
    }
    let text = fs::read_to_string(audit_path(dir.path())).unwrap();
    let record = |line: &str| {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        format!("{} {} {}", record["event"], record["summary"], record["parent"])
    };
    assert_eq!(
        text.lines().map(record).collect::<Vec<_>>(),
        [
            r#""decision" "read /w/b" "c""#,
            r#""tool" null "c""#,
            r#""decision" "read /w/a" null"#,
            r#""tool" null null"#,
        ]
    );
}

/// AUD-4.
#[test]
fn secrets_queries_and_contents_are_absent() {
    let dir = tempfile::tempdir().unwrap();
    let known: Secrets = ["hunter2-hunter2"].into_iter().collect();
    let mut log = log(dir.path(), known);
    let token = format!("ghp_{}", "x1Y2".repeat(9));
    let command = format!("echo hunter2-hunter2 {token}; curl 'https://me:pass@h.example/p?q=querypart'");
    let effects = vec![
        Effect::Exec { command, cwd: "/w".into() },
        Effect::Net { url: "https://h.example/x?k=querypart#frag".to_owned() },
    ];
    log.append(&requested(call("c1", "bash", r#"{"content":"the file's text"}"#), effects)).unwrap();
    log.append(&started("c1")).unwrap();
    log.append(&finished("c1", ToolOutput::success(r#"{"content":"the file's text"}"#))).unwrap();
    let text = fs::read_to_string(audit_path(dir.path())).unwrap();
    for secret in ["hunter2", token.as_str(), "querypart", "pass@", "frag", "the file"] {
        assert!(!text.contains(secret), "{secret} in {text}");
    }
    assert!(text.contains("curl 'https://h.example/p', https://h.example/x"), "{text}");
}

#[test]
fn only_the_owner_reads_it_and_nothing_is_made_before_the_first_record() {
    use std::os::unix::fs::PermissionsExt;
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("projects/k");
    let mut log = log(&folder, Secrets::default());
    log.append(&prompt("hello")).unwrap();
    assert!(!dir.path().join("projects").exists());
    log.append(&finished("c1", ToolOutput::success("{}"))).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&audit_path(&folder))), (0o700, 0o600));
}

/// Each byte of each record that another one follows.
#[test]
fn every_changed_byte_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let path = audit_path(dir.path());
    for args in ["one", "two", "three"] {
        run(&path, u64::MAX, args).unwrap();
    }
    let good = fs::read(&path).unwrap();
    assert_eq!(verdict(&path), "audit.jsonl: 3 records, torn []\n");
    let last = good[..good.len() - 1].iter().rposition(|byte| *byte == b'\n').unwrap();
    for at in 0..=last {
        for change in [0x01, 0x20] {
            let mut bad = good.clone();
            bad[at] ^= change;
            fs::write(&path, bad).unwrap();
            assert!(verify(&path).is_err(), "byte {at}, changed by {change}");
        }
    }
}

#[test]
fn removed_added_and_swapped_lines_are_found_and_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = audit_path(dir.path());
    for args in ["1", "2", "3", "4"] {
        run(&path, u64::MAX, args).unwrap();
    }
    let good = fs::read_to_string(&path).unwrap();
    let lines: Vec<_> = good.split_inclusive('\n').collect();
    let with = |order: &[usize]| {
        fs::write(&path, order.iter().map(|at| lines[*at]).collect::<String>()).unwrap();
        verdict(&path)
    };
    let link = "it does not follow from the line before: one was changed, removed or added";
    assert_eq!(with(&[0, 1, 2, 3]), "audit.jsonl: 4 records, torn []\n");
    assert_eq!(with(&[1, 2, 3]), format!("audit.jsonl:1: {link}"));
    assert_eq!(with(&[0, 2, 3]), format!("audit.jsonl:2: {link}"));
    assert_eq!(with(&[0, 1, 1, 2, 3]), format!("audit.jsonl:3: {link}"));
    assert_eq!(with(&[0, 2, 1, 3]), format!("audit.jsonl:2: {link}"));
    // What no chain can show: the end is gone, and nothing behind it tells.
    assert_eq!(with(&[0, 1]), "audit.jsonl: 2 records, torn []\n");
}

/// A write cut off at every byte: the next record closes the line, says so, and holds on to the last whole one.
#[test]
fn a_torn_line_is_closed_and_said() {
    let dir = tempfile::tempdir().unwrap();
    let path = audit_path(dir.path());
    run(&path, u64::MAX, "one").unwrap();
    let first = fs::read(&path).unwrap();
    run(&path, u64::MAX, "two").unwrap();
    let both = fs::read(&path).unwrap();
    for end in first.len() + 1..both.len() - 1 {
        fs::write(&path, &both[..end]).unwrap();
        assert_eq!(verdict(&path), "audit.jsonl: 1 records, torn [2]\n");
        run(&path, u64::MAX, "three").unwrap();
        run(&path, u64::MAX, "four").unwrap();
        assert_eq!(verdict(&path), "audit.jsonl: 3 records, torn [2]\n", "cut at {end}");
        // The torn line does not hide a change of what was before it.
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen("one", "eno", 1)).unwrap();
        assert_eq!(
            verdict(&path),
            "audit.jsonl:3: the line before is no record, and this one does not say so"
        );
    }
    // Only the newline is missing: the record is whole.
    fs::write(&path, &both[..both.len() - 1]).unwrap();
    run(&path, u64::MAX, "three").unwrap();
    assert_eq!(verdict(&path), "audit.jsonl: 3 records, torn []\n");
    // Nothing but a torn line.
    fs::write(&path, &first[..9]).unwrap();
    run(&path, u64::MAX, "one").unwrap();
    assert_eq!(verdict(&path), "audit.jsonl: 1 records, torn [1]\n");
}

#[test]
fn a_full_file_is_put_aside_and_five_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let path = audit_path(dir.path());
    for number in 0..20 {
        run(&path, 600, &number.to_string()).unwrap();
    }
    let wanted = "\
audit.jsonl.5: 2 records, torn []
audit.jsonl.4: 2 records, torn []
audit.jsonl.3: 2 records, torn []
audit.jsonl.2: 2 records, torn []
audit.jsonl.1: 2 records, torn []
audit.jsonl: 2 records, torn []
";
    assert_eq!(verdict(&path), wanted);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 6);
    let mut count = 0;
    audit_entries(&path, |_| count += 1).unwrap();
    assert_eq!(count, 12);
    // A file in the middle that is gone shows by the numbers.
    fs::remove_file(dir.path().join("audit.jsonl.3")).unwrap();
    assert_eq!(
        verdict(&path),
        "audit.jsonl.2:1: its number does not follow from the record before: records are missing"
    );
}

/// Four writers with files of their own descriptors, as four processes have, and rotation in between.
#[test]
fn many_writers_keep_one_chain() {
    let dir = tempfile::tempdir().unwrap();
    let path = audit_path(dir.path());
    for (limit, kept) in [(u64::MAX, 400), (30_000, 400)] {
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    let mut file = AuditFile { chain: ChainFile::new(path.clone(), limit) };
                    for number in 0..100 {
                        put(&mut file, &format!("{writer}/{number}")).unwrap();
                    }
                });
            }
        });
        let files = verify(&path).unwrap();
        assert_eq!(files.iter().map(|file| file.records).sum::<u64>(), kept, "{}", verdict(&path));
        for file in files {
            fs::remove_file(file.path).unwrap();
        }
    }
}

#[test]
fn what_cannot_be_written_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let path = audit_path(dir.path());
    fs::create_dir(&path).unwrap();
    let refused = run(&path, u64::MAX, "x").unwrap_err();
    assert_eq!(refused, format!("{}: Is a directory (os error 21)", path.display()));
}

#[test]
fn no_log_has_nothing_to_check() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(verdict(&audit_path(dir.path())), "");
}
