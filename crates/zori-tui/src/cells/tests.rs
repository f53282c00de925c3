//! Every kind of call and every way it can end, as rows.

use std::path::PathBuf;
use std::time::Duration;

use proptest::prelude::*;
use zori_core::event::{DecidedBy, Event, NoticeLevel, ToolEvent, ToolFinished, ToolRequested};
use zori_core::ids::{AgentId, CallId, SessionId};
use zori_core::message::{IdOrigin, ToolCall, ToolInput};
use zori_core::permission::{Class, Decision, Verdict};
use zori_core::time::Timestamp;
use zori_core::tool::{Effect, FileChange, OutputStream, ProcessEnd, ToolCode, ToolKind, ToolOutput};

use super::*;
use crate::cell::{Cell, CellCx, Detail};
use crate::row::{Ground, Row};

const CX: CellCx = CellCx { number: Some(7), detail: Detail::Short, running: None, signs: Signs::Unicode };
const WHOLE: CellCx = CellCx { detail: Detail::Whole, ..CX };

fn requested(name: &str, kind: Option<ToolKind>, input: &str, effects: Vec<Effect>) -> ToolRequested {
    let call = ToolCall {
        id: CallId::new("c1"),
        name: name.to_owned(),
        input: ToolInput::parse(input.to_owned()),
        id_origin: IdOrigin::Provider,
        replay: None,
    };
    ToolRequested { call, kind, effects, of: 1 }
}

fn finished(kind: Option<ToolKind>, output: ToolOutput, millis: u64) -> ToolFinished {
    ToolFinished {
        call: CallId::new("c1"),
        name: "tool".into(),
        kind,
        output,
        duration: Some(Duration::from_millis(millis)),
    }
}

fn cell(kind: ToolKind, input: &str, output: ToolOutput) -> ToolCell {
    let mut cell = ToolCell::new(&requested("tool", Some(kind), input, Vec::new()));
    cell.finished(&finished(Some(kind), output, 103));
    cell
}

fn text(rows: &[Row]) -> String {
    rows.iter().map(|row| row.text() + "\n").collect()
}

fn drawn(cell: &impl Cell, width: u16) -> String {
    text(&cell.rows(width, &CX))
}

fn shell(stdout: &str, exit_code: i32) -> ToolOutput {
    let data =
        serde_json::json!({"stdout": stdout, "stderr": "", "exit_code": exit_code, "timed_out": false});
    let mut output = ToolOutput::success(&data.to_string());
    output.process = Some(ProcessEnd { exit_code, signal: None, timed_out: false });
    output
}

fn edit(before: &str, after: &str) -> ToolOutput {
    let mut output = ToolOutput::success("{}");
    output.changes.push(FileChange {
        path: PathBuf::from("/p/calc.py"),
        before: Some(before.into()),
        after: Some(after.into()),
    });
    output
}

#[test]
fn commands() {
    let lines: String = (1..10).map(|i| format!("line {i}\n")).collect();
    let done = cell(
        ToolKind::Bash,
        r#"{"command":"python3 calc.py; for i in $(seq 9); do echo line $i; done"}"#,
        shell(&format!("5\n{lines}"), 0),
    );
    insta::assert_snapshot!(drawn(&done, 99), @"
    ● $ python3 calc.py; for i in $(seq 9); do echo line $i; done                     exit 0 · 0.1s  #7
      5
      line 1
      … 5 rows · /show 7
      line 7
      line 8
      line 9
    ");
    insta::assert_snapshot!(drawn(&done, 39), @"
    ● $ python3 calc.py; for i in $(se…  #7
      5
      line 1
      … 5 rows · /show 7
      line 7
      line 8
      line 9
    ");
    let failed = cell(
        ToolKind::Bash,
        "{\"command\":\"cargo test\\ncargo clippy\"}",
        shell("\x1b[31mred\x1b[0m\n50%\r100%\n\x1b]0;title\x07", 101),
    );
    insta::assert_snapshot!(drawn(&failed, 79), @"
    ✗ $ cargo test  +1 line                                     exit 101 · 0.1s  #7
      red
      100%
      ‹U+001B›]0;title‹U+0007›
    ");
    insta::assert_snapshot!(text(&failed.rows(79, &WHOLE)), @"
    ✗ $ cargo test  +1 line                                     exit 101 · 0.1s  #7
      cargo test
      cargo clippy
      red
      100%
      ‹U+001B›]0;title‹U+0007›
    ");
}

#[test]
fn a_command_that_runs_shows_its_last_rows() {
    let mut cell = ToolCell::new(&requested(
        "bash",
        Some(ToolKind::Bash),
        r#"{"command":"cargo test --workspace"}"#,
        Vec::new(),
    ));
    let cx = CellCx { running: Some(Duration::from_secs(12)), ..CX };
    insta::assert_snapshot!(text(&cell.rows(79, &cx)), @"● $ cargo test --workspace                                      running 12s  #7");
    for i in 0..217 {
        cell.output(OutputStream::Stdout, &format!("test turn::{i} ... ok\n"));
    }
    insta::assert_snapshot!(text(&cell.rows(79, &cx)), @"
    ● $ cargo test --workspace                                      running 12s  #7
      … 212 rows above · Ctrl-O opens
      test turn::212 ... ok
      test turn::213 ... ok
      test turn::214 ... ok
      test turn::215 ... ok
      test turn::216 ... ok
    ");
}

#[test]
fn edits() {
    let edited = cell(
        ToolKind::Edit,
        r#"{"path":"calc.py"}"#,
        edit("def add(a, b):\n    return a - b\n", "def add(a, b):\n    return a + b\n"),
    );
    insta::assert_snapshot!(drawn(&edited, 79), @"
    ● Edit calc.py  +1 -1                                                  0.1s  #7
        1   def add(a, b):
        2 -     return a - b
        2 +     return a + b
    ");
    let rows = edited.rows(79, &CX);
    let words: Vec<(&str, Ground)> = rows[2]
        .spans
        .iter()
        .map(|span| (span.text.as_str(), span.style.ground))
        .filter(|(_, ground)| *ground == Ground::RemovedWord)
        .collect();
    assert_eq!(words, [("-", Ground::RemovedWord)]);
    let long: String = (0..40).map(|i| format!("line {i}\n")).collect();
    let far = cell(
        ToolKind::Edit,
        r#"{"path":"calc.py"}"#,
        edit(&long, &long.replace("line 2\n", "LINE 2\n").replace("line 30\n", "")),
    );
    insta::assert_snapshot!(drawn(&far, 50), @"
    ● Edit calc.py  +1 -2  #7
        1   line 0
        2   line 1
        3 - line 2
        3 + LINE 2
        4   line 3
        5   line 4
        6   line 5
        ⋮
       28   line 27
       29   line 28
       30   line 29
       31 - line 30
       31   line 31
       32   line 32
       33   line 33
    ");
    let mut created = ToolOutput::success("{}");
    created.changes.push(FileChange {
        path: "/p/new.txt".into(),
        before: None,
        after: Some(long.as_str().into()),
    });
    let created = cell(ToolKind::Write, r#"{"path":"new.txt"}"#, created);
    let rows = created.rows(79, &CX);
    assert_eq!(rows.len(), 21);
    assert_eq!(
        rows[0].text(),
        "● Create new.txt  +40                                                  0.1s  #7"
    );
    assert_eq!(rows[20].text(), "  … 21 rows · /show 7");
    let missing = ToolOutput::failure(ToolCode::OldNotFound, "`old` was not found; nearest is line 31");
    insta::assert_snapshot!(drawn(&cell(ToolKind::Edit, r#"{"path":"util.py"}"#, missing), 79), @"✗ Edit util.py: `old` was not found; nearest is line 31                0.1s  #7");
}

/// What a record holds of a change is what was asked for: without the numbers of lines that nobody kept, and without counts of what is not known.
#[test]
fn changes_as_they_were_asked_for() {
    let place = |before: &str, after: &str, line, times| ChangedPlace {
        before: before.to_owned(),
        after: after.to_owned(),
        line,
        times,
    };
    let change =
        |path: &str, verb, places: Vec<ChangedPlace>| AskedChange { path: path.to_owned(), verb, places };
    let asked = |args: &str, changes: &[AskedChange]| {
        let mut cell = cell(ToolKind::Edit, args, ToolOutput::success("{}"));
        cell.asked(changes);
        drawn(&cell, 79)
    };
    let two = [place("    return a - b", "    return a + b", None, 1), place("x\n\ny", "x\n\nz", None, 3)];
    insta::assert_snapshot!(asked(r#"{"path":"calc.py"}"#, &[change("calc.py", "Edit", two.to_vec())]), @"
    ● Edit calc.py  +4 -4                                                  0.1s  #7
          -     return a - b
          +     return a + b
        ⋮
            x

          - y
          + z
    ");
    let several = [
        change("new.txt", "Create", vec![place("", "one\ntwo\n", Some(1), 1)]),
        change("old.txt", "Delete", Vec::new()),
    ];
    insta::assert_snapshot!(asked(r#"{"patch":""}"#, &several), @"
    ● Edit 2 files  +2                                                     0.1s  #7
      Create new.txt  +2 -0
        1 + one
        2 + two
      Delete old.txt
    ");
    insta::assert_snapshot!(asked(r#"{"path":"over.txt"}"#, &[change("over.txt", "Write", Vec::new())]), @"● Write over.txt                                                       0.1s  #7");
    let mut denied =
        cell(ToolKind::Edit, r#"{"path":"a"}"#, ToolOutput::failure(ToolCode::OldNotFound, "gone"));
    denied.asked(&several);
    assert_eq!(denied.rows(79, &CX).len(), 1, "what failed changed nothing");
}

#[test]
fn looking_at_things() {
    let read = cell(
        ToolKind::Read,
        r#"{"path":"calc.py"}"#,
        ToolOutput::success(r#"{"path":"calc.py","content":"a\nb\n"}"#),
    );
    insta::assert_snapshot!(drawn(&read, 60), @"● Read calc.py  2 lines                             0.1s  #7");
    let part = cell(
        ToolKind::Read,
        r#"{"path":"a.py"}"#,
        ToolOutput::success(r#"{"path":"a.py","content":"a","start_line":1,"end_line":120}"#),
    );
    insta::assert_snapshot!(drawn(&part, 60), @"● Read a.py  1-120                                  0.1s  #7");
    for (result, shown) in [
        (r#"{"content":"a","start_line":1,"end_line":120,"total_lines":412}"#, "Read a.py  1-120 of 412"),
        (r#"{"content":"a\nb\nc","truncated":true,"total_lines":412}"#, "Read a.py  1-3 of 412"),
        (r#"{"content":"a\nb\nc","truncated":true}"#, "Read a.py  1-3"),
    ] {
        let part = cell(ToolKind::Read, r#"{"path":"a.py"}"#, ToolOutput::success(result));
        assert_eq!(part.summary().text(), format!("● {shown}"));
    }
    let grep = cell(
        ToolKind::Grep,
        r#"{"pattern":"add(","path":"src"}"#,
        ToolOutput::success(
            r#"{"matches":[{"path":"a","line":1,"text":"add("},{"path":"a","line":2,"text":"x","context":true}],"truncated":false}"#,
        ),
    );
    insta::assert_snapshot!(drawn(&grep, 60), @r#"● Search "add(" in src  1 hit                       0.1s  #7"#);
    insta::assert_snapshot!(text(&grep.rows(60, &WHOLE)), @r#"
    ● Search "add(" in src  1 hit                       0.1s  #7
      pattern: add(
      path: src
      a:1: add(
      a:2: x
    "#);
    assert_eq!(joined(&[&read, &part, &grep]), Some("Read 2 files, searched \"add(\"".to_owned()));
}

#[test]
fn calls_elsewhere() {
    let fetch = cell(
        ToolKind::Fetch,
        r#"{"url":"https://example.org/a"}"#,
        ToolOutput::success(
            r#"{"url":"https://example.org/a","status":200,"content_type":"text/html","content":"one\ntwo\nthree\nfour\nfive","truncated":false}"#,
        ),
    );
    insta::assert_snapshot!(drawn(&fetch, 60), @"
    ● Fetch example.org/a  200 23 B                     0.1s  #7
      one
      two
      three
      … 2 rows · /show 7
    ");
    let effects = vec![Effect::Mcp {
        server: "jira".to_owned(),
        tool: "search".to_owned(),
        trusted_reader: false,
        change: Default::default(),
    }];
    let mut remote =
        ToolCell::new(&requested("mcp__jira__search", None, r#"{"jql":"a = b","max":5}"#, effects));
    remote.finished(&finished(None, ToolOutput::success(r#"{"content":"nothing"}"#), 2500));
    insta::assert_snapshot!(drawn(&remote, 60), @r#"
    ● jira.search jql="a = b" max=5                     2.5s  #7
      nothing
    "#);
}

#[test]
fn calls_that_did_not_run() {
    let mut denied =
        ToolCell::new(&requested("bash", Some(ToolKind::Bash), r#"{"command":"rm -rf build"}"#, Vec::new()));
    denied.resolved(&Decision::new(Verdict::Deny, Class::Shell, "a rule forbids it"), DecidedBy::User);
    denied.finished(&ToolFinished {
        duration: None,
        ..finished(Some(ToolKind::Bash), ToolOutput::failure(ToolCode::PermissionDenied, "no"), 0)
    });
    insta::assert_snapshot!(drawn(&denied, 60), @"⊘ $ rm -rf build: you said no                             #7");
    let mut why =
        ToolCell::new(&requested("bash", Some(ToolKind::Bash), r#"{"command":"make"}"#, Vec::new()));
    why.because("use\n\tninja");
    why.resolved(&Decision::new(Verdict::Deny, Class::Shell, "you said so"), DecidedBy::User);
    why.finished(&finished(Some(ToolKind::Bash), ToolOutput::failure(ToolCode::PermissionDenied, "no"), 0));
    assert!(drawn(&why, 60).starts_with("⊘ $ make: you said no: use ninja "), "{}", drawn(&why, 60));
    let stopped = cell(
        ToolKind::Fetch,
        r#"{"url":"http://x"}"#,
        ToolOutput::failure(ToolCode::Canceled, "The turn was cancelled"),
    );
    insta::assert_snapshot!(drawn(&stopped, 60), @"⊘ Fetch x: stopped                                  0.1s  #7");
    let mut half =
        ToolCell::new(&requested("bash", Some(ToolKind::Bash), r#"{"command":"make"}"#, Vec::new()));
    half.output(OutputStream::Stdout, "cc a.c\ncc b.c\n");
    half.finished(&finished(
        Some(ToolKind::Bash),
        ToolOutput::failure(ToolCode::Canceled, "The call was canceled"),
        103,
    ));
    insta::assert_snapshot!(drawn(&half, 60), @"
    ⊘ $ make: stopped                                   0.1s  #7
      cc a.c
      cc b.c
    ");
    let mut timed_out = shell("partial\n", -1);
    timed_out.process = Some(ProcessEnd { exit_code: -1, signal: Some(9), timed_out: true });
    insta::assert_snapshot!(drawn(&cell(ToolKind::Bash, r#"{"command":"sleep 99"}"#, timed_out), 60), @"
    ✗ $ sleep 99                            timed out · 0.1s  #7
      partial
    ");
}

#[test]
fn words_to_the_user() {
    let ways = ["Enter sends again".to_owned(), "/model takes another".to_owned()];
    let error = ErrorCell::new("Rate limited by anthropic: 5 h window is full", &ways)
        .with_details("{\"type\":\"error\"}".to_owned());
    insta::assert_snapshot!(drawn(&error, 79), @"
    ✗ Rate limited by anthropic: 5 h window is full
      Enter sends again · /model takes another · details: /show 7
    ");
    insta::assert_snapshot!(text(&error.rows(40, &WHOLE)), @r#"
    ✗ Rate limited by anthropic: 5 h window
      is full
      Enter sends again · /model takes
      another
    {"type":"error"}
    "#);
    // A message of many lines is a sentence, and the rest is there on demand.
    let long = ErrorCell::brief("The patch does not apply\nsrc/a.rs: 3 of 4\nsrc/b.rs: 1 of 2\n", &[], None);
    insta::assert_snapshot!(drawn(&long, 79), @"
    ✗ The patch does not apply …
      details: /show 7
    ");
    insta::assert_snapshot!(text(&long.rows(79, &WHOLE)), @"
    ✗ The patch does not apply …
    The patch does not apply
    src/a.rs: 3 of 4
    src/b.rs: 1 of 2
    ");
    let endless = ErrorCell::brief(&"word ".repeat(1_000), &[], Some("raw"));
    assert_eq!(endless.rows(80, &CX).len(), 7);
    insta::assert_snapshot!(drawn(&NoticeCell::new(NoticeLevel::Info, "✓ 42s · 3 files +18 -4 · $0.06"), 60), @"✓ 42s · 3 files +18 -4 · $0.06");
    insta::assert_snapshot!(drawn(&NoticeCell::new(NoticeLevel::Warning, "the file is old"), 60), @"! the file is old");
    insta::assert_snapshot!(drawn(&ThinkingCell::new(&"word ".repeat(1000), Duration::from_secs(8)), 60), @"∴ Thought 8.0s · 1.2k tokens · /show 7");
    insta::assert_snapshot!(drawn(&UserCell::new("why does add() fail?\nsecond line"), 20), @"
    › why does add()
      fail?
      second line
    ");
    assert_eq!(UserCell::new(&"x\n".repeat(100_000)).rows(40, &CX).len(), 12);
}

/// Test row 12 of the contract: each kind of tool, and each way a call ends.
#[test]
fn each_kind_in_each_end() {
    let kinds: [(Option<ToolKind>, &str, &str); 15] = [
        (Some(ToolKind::Read), "read", r#"{"path":"calc.py"}"#),
        (Some(ToolKind::Write), "write", r#"{"path":"calc.py","content":"x\n"}"#),
        (Some(ToolKind::Edit), "edit", r#"{"path":"calc.py","old":"a","new":"b"}"#),
        (Some(ToolKind::MultiEdit), "multi_edit", r#"{"path":"calc.py","edits":[]}"#),
        (Some(ToolKind::Patch), "apply_patch", r#"{"patch":"*** Begin Patch\n*** End Patch"}"#),
        (Some(ToolKind::Glob), "glob", r#"{"pattern":"*.rs"}"#),
        (Some(ToolKind::Grep), "grep", r#"{"pattern":"add("}"#),
        (Some(ToolKind::Ls), "ls", r#"{"path":"src"}"#),
        (Some(ToolKind::Bash), "bash", r#"{"command":"cargo test"}"#),
        (Some(ToolKind::Fetch), "web_fetch", r#"{"url":"https://example.org/a"}"#),
        (Some(ToolKind::WebSearch), "web_search", r#"{"query":"rust"}"#),
        (Some(ToolKind::Todo), "todo_write", r#"{"todos":[]}"#),
        (Some(ToolKind::Task), "task", r#"{"description":"who calls add()"}"#),
        (Some(ToolKind::JobOutput), "job_output", r#"{"id":"j1"}"#),
        (None, "jira.search", r#"{"jql":"a = b"}"#),
    ];
    let mut table = String::new();
    for (kind, name, input) in kinds {
        let ends: [(&str, ToolOutput); 5] = [
            ("ok", ToolOutput::success("{}")),
            ("failed", ToolOutput::failure(ToolCode::ReadError, "it cannot be read")),
            ("denied", ToolOutput::failure(ToolCode::PermissionDenied, "a rule forbids it")),
            ("cancelled", ToolOutput::failure(ToolCode::Canceled, "The turn was cancelled")),
            ("timed out", ToolOutput::failure(ToolCode::Timeout, "no end within 120 s")),
        ];
        for (end, output) in ends {
            let mut cell = ToolCell::new(&requested(name, kind, input, Vec::new()));
            if end == "denied" {
                cell.resolved(
                    &Decision::new(Verdict::Deny, Class::Shell, "a rule forbids it"),
                    DecidedBy::Policy,
                );
            }
            cell.finished(&finished(kind, output, 103));
            table.push_str(&format!("{end:<10} {}", drawn(&cell, 69)));
        }
    }
    insta::assert_snapshot!("each_kind_in_each_end", table);
}

/// CMP-2: a prompt with a long paste shows both its ends, so that what is said of the paste is in sight, on whichever side of it.
#[test]
fn a_long_prompt_shows_both_ends() {
    let paste: String = (1..=200).map(|line| format!("line {line}\n")).collect();
    let shown = |text: &str| -> Vec<String> {
        UserCell::new(text).rows(60, &CX).iter().map(|row| row.text().trim_end().to_owned()).collect()
    };
    let rows = shown(&format!("why does\n{paste}fail?"));
    assert_eq!(
        rows,
        [
            "› why does",
            "  line 1",
            "  line 2",
            "  line 3",
            "  line 4",
            "  line 5",
            "  line 6",
            "  … 202 lines in all · Ctrl-O opens",
            "  line 198",
            "  line 199",
            "  line 200",
            "  fail?"
        ]
    );
    // One line that is wrapped into many rows has both ends, too.
    let long = format!("{}end", "word ".repeat(400));
    let rows = shown(&long);
    assert_eq!((rows.len(), rows[7].as_str()), (12, "  … 1 line in all · Ctrl-O opens"));
    assert!(rows[11].ends_with("word end"), "{rows:?}");
    assert_eq!(shown(&"x\n".repeat(12)).len(), 12);
    assert_eq!(shown(&"x\n".repeat(13)).len(), 12);
}

/// TRN-3: ten megabytes of output take a bounded place, and drawing them a bounded time.
#[test]
fn output_is_bounded() {
    let mut cell =
        ToolCell::new(&requested("bash", Some(ToolKind::Bash), r#"{"command":"yes"}"#, Vec::new()));
    let chunk = "y\n".repeat(5000);
    for _ in 0..1000 {
        cell.output(OutputStream::Stdout, &chunk);
    }
    let cx = CellCx { running: Some(Duration::ZERO), ..CX };
    assert!(cell.text().len() < 200 << 10);
    assert_eq!(cell.rows(79, &cx)[1].text(), "  … 4999995 rows above · Ctrl-O opens");
}

proptest! {
    /// UI-34: whatever a call says, no row is too wide and none ends in a blank.
    #[test]
    fn rows_fit(command in "\\PC{0,90}", output in "[ -~\t\n\r日é\u{1b}\u{202e}]{0,400}", width in 12_u16..130, kind in 0..5_usize, whole in any::<bool>()) {
        let kind = [ToolKind::Bash, ToolKind::Edit, ToolKind::Grep, ToolKind::Task, ToolKind::Fetch][kind];
        let input = serde_json::json!({"command": command, "path": command, "pattern": command, "url": command, "description": command});
        let mut result = if kind == ToolKind::Edit { edit(&output, &output.replace('a', "b")) } else { shell(&output, 1) };
        if kind == ToolKind::Fetch {
            result = ToolOutput::failure(ToolCode::FetchError, output.clone());
        }
        let cell = cell(kind, &input.to_string(), result);
        for row in cell.rows(width, if whole { &WHOLE } else { &CX }) {
            prop_assert!(row.width() <= usize::from(width), "{:?} in {}", row.text(), width);
        }
        for row in UserCell::new(&output).rows(width, &CX).iter().chain(&ErrorCell::new(&output, std::slice::from_ref(&command)).rows(width, &CX)) {
            prop_assert!(row.width() <= usize::from(width), "{:?} in {}", row.text(), width);
        }
    }
}

/// The calls of a sub-agent, and those of a sub-agent of its own, are cells in the pager.
#[test]
fn a_sub_agent_has_cells() {
    let event = |parent: &str, kind: ToolEvent| Event {
        seq: 0,
        at: Timestamp(0),
        session: SessionId::parse("s").unwrap(),
        agent: AgentId(1),
        parent: Some(CallId::new(parent)),
        kind: kind.into(),
    };
    let asked = |id: &str, name: &str, kind, input: &str| {
        let mut requested = requested(name, Some(kind), input, Vec::new());
        requested.call.id = CallId::new(id);
        ToolEvent::ToolRequested(requested)
    };
    let ended = |id: &str, kind, output| {
        ToolEvent::ToolFinished(ToolFinished { call: CallId::new(id), ..finished(Some(kind), output, 103) })
    };
    let task = r#"{"description":"who calls add()"}"#;
    let mut cell = ToolCell::new(&requested("task", Some(ToolKind::Task), task, Vec::new()));
    let running = CellCx { running: Some(Duration::ZERO), ..CX };
    for (parent, kind) in [
        ("c1", asked("n1", "bash", ToolKind::Bash, r#"{"command":"ls"}"#)),
        ("c1", ended("n1", ToolKind::Bash, shell("a.rs\nb.rs\n", 0))),
        ("c1", asked("n2", "task", ToolKind::Task, r#"{"description":"look closer"}"#)),
        ("n2", asked("n3", "grep", ToolKind::Grep, r#"{"pattern":"add("}"#)),
    ] {
        let event = event(parent, kind);
        assert!(cell.nested(&CallId::new(parent), &event));
    }
    let other = event("c9", asked("n9", "bash", ToolKind::Bash, "{}"));
    assert!(!cell.nested(&CallId::new("c9"), &other), "it is another's");
    assert_eq!(
        text(&cell.rows(69, &running)),
        "\
● Task: who calls add()                                running 0s  #7
  task · 2 calls
"
    );
    let whole = CellCx { detail: Detail::Whole, ..running };
    assert_eq!(
        text(&cell.rows(69, &whole)),
        "\
● Task: who calls add()                                running 0s  #7
  description: who calls add()
  task · 2 calls
  ● $ ls                                                exit 0 · 0.1s
    ls
    a.rs
    b.rs
  ● Task: look closer
    description: look closer
    grep add( · 1 call
    ● Search \"add(\"
      pattern: add(
"
    );
}
