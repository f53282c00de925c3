//! Files cut, changed and merged in every way; what is sound must survive.

use std::fs;
use std::io;
use std::path::Path;

use zori_core::ids::SessionId;
use zori_core::log::Log;
use zori_core::message::{Block, Opaque, Thinking};
use zori_core::provider::StopReason;

use super::*;
use crate::dir::SessionDir;
use crate::sample::{Dice, check_history, everything, prompt, reply, show};
use crate::writer::{Durability, NewSession};

fn records(bytes: &[u8]) -> Records {
    Records::new(Box::new(io::Cursor::new(bytes.to_vec())), "/s".into())
}

fn load(bytes: &[u8]) -> LoadedSession {
    LoadedSession::read(records(bytes)).unwrap()
}

fn id() -> SessionId {
    SessionId::parse("s").unwrap()
}

fn new_session() -> NewSession {
    NewSession { root: Path::new("/home/u/p").into(), parent: None }
}

/// The bytes of a session with one of everything, about 2.5 KiB.
fn sample(dir: &SessionDir) -> Vec<u8> {
    let mut log = dir.writer(&id(), new_session(), Durability::Process, None);
    for event in everything() {
        log.append(&event).unwrap();
    }
    fs::read(dir.file(&id())).unwrap()
}

const USER: &[u8] = br#"{"type":"message","role":"user","text":"u"}"#;

#[test]
fn one_of_everything() {
    let temp = tempfile::tempdir().unwrap();
    let loaded = load(&sample(&SessionDir::new(temp.path())));
    let expected = r#"User: "What is in \"a\"?\nTell me."
Assistant: think("Let me see.", {"b":"x==", "a":1}) | "I look." | call-1(read {"path": "a",  "b":1}) | think("", {"b":"x==", "a":1}) | call-2(bash {   "command": "ls" }) | call-3(edit {})
User: call-1 ok: read      1	hé | call-2 failed: bash {"ok":false,"error":{"code":"canceled"," | call-3 failed: edit {"ok":false,"error":{"code":"invalid_inp | "Be quick."
Assistant: "It says hé."
User: "Again."
Assistant: "It sa"
"#;
    assert_eq!(show(&loaded.history), expected);
    check_history(&loaded.history);
    let root = Some("/home/u/p".into());
    assert_eq!(loaded.meta, Some(Meta { schema_version: 1, root, parent: None }));
    assert_eq!(
        loaded.usage,
        Usage { input: 30, output: 15, cache_read: 6, cache_write: 3, cache_unknown: 0 }
    );
    assert_eq!((loaded.damage, loaded.left_out), (Damage::default(), 0));
}

/// CTX-2: what a provider keeps of a conversation is a record of its own, and comes back as it was.
#[test]
fn the_state_of_a_provider() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    let mut log = dir.writer(&id(), new_session(), Durability::Process, None);
    let raw = serde_json::value::RawValue::from_string(r#"{"context_id":"c"}"#.to_owned()).unwrap();
    let state = Thinking { text: String::new(), replay: Some(Opaque::state("agent-zero", raw)) };
    log.append(&prompt("hi")).unwrap();
    log.append(&reply(vec![Block::Thinking(state), Block::Text("ok".to_owned())], Some(StopReason::EndTurn)))
        .unwrap();
    let bytes = fs::read(dir.file(&id())).unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let kept = text.lines().find(|line| line.contains("provider_state")).unwrap();
    let (before, time) = kept.split_once(r#","ts":""#).unwrap();
    assert_eq!(before, r#"{"type":"provider_state","provider":"agent-zero","data":{"context_id":"c"}"#);
    assert!(time.ends_with(r#"Z"}"#), "{kept}");
    let loaded = load(&bytes);
    assert_eq!(
        show(&loaded.history),
        "User: \"hi\"\nAssistant: think(\"\", {\"context_id\":\"c\"}) | \"ok\"\n"
    );
    let Block::Thinking(Thinking { replay: Some(replay), .. }) = &loaded.history[1].blocks[0] else {
        panic!()
    };
    assert_eq!((&*replay.provider, replay.is_state), ("agent-zero", true));
}

/// The same; 64 KiB of it in the soak run (DECISIONS 34).
fn long_sample(dir: &SessionDir) -> Vec<u8> {
    let mut whole = sample(dir);
    let mut log = dir.writer(&id(), new_session(), Durability::Process, None);
    while in_full() && whole.len() < 64 << 10 {
        log.append(&prompt(&format!("{} bytes so far, and {}", whole.len(), "more ".repeat(20)))).unwrap();
        whole = fs::read(dir.file(&id())).unwrap();
    }
    whole
}

fn in_full() -> bool {
    std::env::var_os("ZORI_SOAK").is_some()
}

/// Prints a row of the table of `cargo xtask soak reliability`.
fn row(id: &str, figure: &str, cases: usize) {
    println!("{id}: {figure}: {cases} cases");
}

/// LOG-2: cut at every byte, loaded, appended to, loaded again.
#[test]
fn cut_at_every_byte() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    let whole = long_sample(&dir);
    assert!(whole.len() > 2_400, "{} bytes", whole.len());
    for cut in 0..=whole.len() {
        let before = &whole[..cut];
        let whole_lines = before.iter().filter(|&&byte| byte == b'\n').count();
        let tail = before.rsplit(|&byte| byte == b'\n').next().unwrap_or_default();
        // A line that lacks nothing but its end is a whole record.
        let whole_tail = whole.get(cut) == Some(&b'\n');
        let damage: Vec<_> =
            if tail.is_empty() || whole_tail { vec![] } else { vec![(whole_lines as u64 + 1, "cut off")] };

        // A new file each time: some file systems write a truncated one to the disk when it is closed.
        fs::remove_file(dir.file(&id())).unwrap();
        fs::write(dir.file(&id()), before).unwrap();
        let loaded = dir.load(&id()).unwrap().unwrap();
        let found: Vec<_> = loaded.damage.lines.iter().map(|d| (d.line, d.why)).collect();
        assert_eq!(found, damage, "cut at {cut}");
        check_history(&loaded.history);

        let mut log = dir.writer(&id(), new_session(), Durability::Process, None);
        log.append(&prompt("after")).unwrap();
        let after = fs::read(dir.file(&id())).unwrap();
        assert_eq!(&after[..cut], before, "nothing before the cut is altered");
        let again = dir.load(&id()).unwrap().unwrap();
        assert_eq!(again.damage.total, damage.len() as u64, "cut at {cut}");
        check_history(&again.history);
        let last = again.history.last().expect("there is a message").text();
        assert!(last.ends_with("after"), "cut at {cut}: {last:?}");
    }
    row("LOG-2", "all recovered", whole.len() + 1);
}

/// Returns each record as a line, in order.
fn shown(records: Records) -> Vec<String> {
    records.map(|record| format!("{:?}", record.unwrap().kind)).collect()
}

/// LOG-3: a changed byte costs at most the lines it touches.
#[test]
fn two_thousand_mutations() {
    let temp = tempfile::tempdir().unwrap();
    let whole = sample(&SessionDir::new(temp.path()));
    let starts: Vec<usize> =
        std::iter::once(0).chain((1..whole.len()).filter(|&i| whole[i - 1] == b'\n')).collect();
    let sound: Vec<String> = shown(records(&whole));
    assert_eq!(sound.len(), starts.len(), "each line is one record");
    let mut dice = Dice(0x5eed);
    let mutations = if in_full() { 20_000 } else { 2_000 };
    for _ in 0..mutations {
        let mut bytes = whole.clone();
        let at = dice.below(bytes.len());
        let block = if dice.below(10) == 0 { 64.min(bytes.len() - at) } else { 1 };
        for byte in &mut bytes[at..at + block] {
            *byte = if block > 1 { 0 } else { dice.below(256) as u8 };
        }
        let touched = |i: usize| {
            let end = starts.get(i + 1).copied().unwrap_or(whole.len());
            starts[i] < at + block && at < end
        };
        let found = shown(records(&bytes));
        let mut rest = found.iter();
        for (i, line) in sound.iter().enumerate() {
            // A lost line end also touches the line after it, unless that is whole, which is tested on its own.
            let merged = i > 0 && touched(i - 1) && bytes[starts[i] - 1] != b'\n' && block > 1;
            if !touched(i) && !merged {
                assert!(rest.any(|kept| kept == line), "change at {at} lost line {}", i + 1);
            }
        }
        check_history(&load(&bytes).history);
    }
    row("LOG-3", "undamaged records all kept", mutations);
}

/// LOG-3: a lost line end, or one that became another byte, costs nothing.
#[test]
fn merged_lines() {
    let temp = tempfile::tempdir().unwrap();
    let whole = sample(&SessionDir::new(temp.path()));
    let sound = shown(records(&whole));
    let ends: Vec<usize> = (0..whole.len() - 1).filter(|&i| whole[i] == b'\n').collect();
    for (line, &end) in ends.iter().enumerate() {
        for odd in [None, Some(0), Some(0x8a), Some(b'x'), Some(b' ')] {
            let mut bytes = whole.clone();
            match odd {
                Some(byte) => bytes[end] = byte,
                None => drop(bytes.remove(end)),
            }
            let mut records = records(&bytes);
            let found: Vec<String> =
                records.by_ref().map(|record| format!("{:?}", record.unwrap().kind)).collect();
            assert_eq!(found, sound);
            let why = "several records on one line";
            assert_eq!(records.damage().lines, [DamagedLine { line: line as u64 + 1, why }]);
        }
    }
}

/// An object inside a damaged record is not taken for a record.
#[test]
fn what_a_tool_was_given_never_becomes_a_message() {
    let forged = r#"{"type":"message","role":"user","text":"forged"}"#;
    let call = format!(r#"{{"type":"tool_use","id":"1","name":"write","input":{forged},"ts":""}}"#);
    let whole = format!("{}\n{call}\n", str::from_utf8(USER).unwrap());
    let from = whole.find(&call).unwrap();
    for cut in from..whole.len() {
        let history = load(&whole.as_bytes()[..cut]).history;
        assert!(history.iter().all(|message| !message.text().contains("forged")), "{}", show(&history));
        let shifted = [&whole.as_bytes()[..from], b"x", &whole.as_bytes()[from..cut]].concat();
        assert_eq!(show(&load(&shifted).history), "User: \"u\"\n");
    }
}

#[test]
fn what_cannot_be_read_is_reported_with_its_line() {
    let lines: [&[u8]; 11] = [
        b"",
        USER,
        b"not json",
        b"{\"type\":\"message\",\"role\":\"user\",\"text\":\"\xff\"}",
        br#"{"type":"message","role":"user"}"#,
        br#"{"type":"message","role":"robot","text":"u"}"#,
        br#"["message"]"#,
        b"42",
        br#"{"no":"type"}"#,
        br#"{"type":"usage","input_tokens":1}"#,
        br#"{"type":"messa"#,
    ];
    let loaded = load(&lines.join(&b'\n'));
    assert_eq!(show(&loaded.history), "User: \"u\"\n");
    assert_eq!(
        loaded.damage.to_string(),
        "line 3 (not a whole record), line 4 (invalid UTF-8), line 5 (fields are missing or of a wrong type), \
         line 6 (a message of an unknown role), line 7 (not a whole record), line 8 (not a whole record), \
         line 9 (not a whole record), line 11 (cut off)"
    );
}

#[test]
fn only_the_first_lines_are_listed() {
    let damage = load(&b"x\n".repeat(1_000)).damage;
    assert_eq!((damage.total, damage.lines.len()), (1_000, 20));
    assert!(damage.to_string().ends_with("line 20 (not a whole record) and 980 more"));
}

#[test]
fn deep_nesting_is_no_trouble() {
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let line = format!(r#"{{"type":"tool_use","id":"1","name":"n","input":{deep}}}"#);
    let found: Vec<_> = records(line.as_bytes()).collect();
    assert_eq!(found.len(), 1);
}

/// LOG-12: of a session no provider would take, the newest turns are kept, and the first prompt.
#[test]
fn too_much_history() {
    let answer = br#"{"type":"message","role":"assistant","text":"a"}"#;
    let turn = [USER, b"\n", answer, b"\n"].concat();
    let bytes = turn.repeat(100);
    let cost = turn.len() - 2 + 2 * RECORD_BYTES;
    let loaded = LoadedSession::read_up_to(records(&bytes), cost * 20, u64::MAX).unwrap();
    check_history(&loaded.history);
    assert!((14..=20).contains(&(loaded.history.len() / 2)), "{}", loaded.history.len());
    // The first prompt and the last one before the cut are one message with the first that is kept.
    assert_eq!(loaded.left_out as usize + loaded.history.len() + 2, 200);
    assert_eq!(LoadedSession::read(records(&bytes)).unwrap().left_out, 0);
}

#[test]
fn a_missing_session_is_none() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path().join("none"));
    assert!(dir.load(&id()).unwrap().is_none());
    assert!(dir.latest().unwrap().is_none());
    assert!(!dir.path().exists());
}

#[test]
fn a_directory_in_its_place_is_an_error() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    fs::create_dir(dir.file(&id())).unwrap();
    let error = dir.load(&id()).unwrap_err().to_string();
    assert_eq!(error, format!("{}: Is a directory (os error 21)", dir.file(&id()).display()));
}

/// A record line of a call and its result, so long.
fn round(n: usize, bytes: usize) -> String {
    let filler = "x".repeat(bytes);
    format!(
        "{{\"type\":\"message\",\"role\":\"assistant\",\"text\":\"step {n}\"}}\n\
         {{\"type\":\"tool_use\",\"id\":\"c{n}\",\"name\":\"read\",\"input\":{{}}}}\n\
         {{\"type\":\"tool_result\",\"tool_use_id\":\"c{n}\",\"output\":\"{filler}\",\"ok\":true}}\n"
    )
}

fn said(text: &str) -> String {
    format!("{{\"type\":\"message\",\"role\":\"user\",\"text\":\"{text}\"}}\n")
}

/// However long one turn is: the task, the summary and whole rounds are kept.
#[test]
fn one_turn_that_is_too_long() {
    let rounds: String = (0..200).map(|n| round(n, 1_000)).collect();
    let note = r#"{"type":"compacted","how":"summarised","before":9,"after":1,"view":[{"role":"user","blocks":[{"type":"text","text":"the summary"}]}]}"#;
    let limit = 40 * 2_000;
    let load = |file: String| {
        let loaded = LoadedSession::read_up_to(records(file.as_bytes()), limit, u64::MAX).unwrap();
        check_history(&loaded.history);
        loaded
    };
    let texts = |loaded: &LoadedSession| -> Vec<String> {
        loaded.history.iter().map(|message| message.text()).filter(|text| !text.is_empty()).collect()
    };

    let long = load(format!("{}{}{}", said("first"), said("the task"), rounds));
    assert!(long.left_out > 300, "{}", long.left_out);
    let found = texts(&long);
    assert_eq!(found[0], "firstthe task");
    assert!(found.len() > 20, "whole rounds are kept: {}", found.len());
    assert_eq!(found.last().unwrap(), "step 199");
    let (calls, results): (Vec<_>, Vec<_>) = long
        .history
        .iter()
        .flat_map(|message| &message.blocks)
        .filter(|block| matches!(block, Block::ToolCall(_) | Block::ToolResult(_)))
        .partition(|block| matches!(block, Block::ToolCall(_)));
    assert_eq!(calls.len(), results.len());
    assert!(
        results.iter().all(|block| matches!(block, Block::ToolResult(result) if result.ok)),
        "no result was torn from its call"
    );

    // After a compaction: the summary stays, and what it replaced goes first and is not missed.
    let short = load(format!("{}{rounds}{note}\n{}{}", said("old"), said("new"), round(1, 10)));
    assert_eq!(short.left_out, 0);
    assert_eq!(texts(&short), ["the summarynew", "step 1"]);
    let both = load(format!("{}{rounds}{note}\n{}{rounds}", said("old"), said("the task")));
    assert!(both.left_out > 300);
    assert_eq!(texts(&both)[0], "the summarythe task");
    assert!(texts(&both).len() > 20);
}
