//! Whole file contents after events, on the real file and on one whose calls fail.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::sync::{Arc, Mutex};

use zori_core::event::{DecidedBy, MessageEvent};
use zori_core::ids::{CallId, SessionId};
use zori_core::image::Image;
use zori_core::log::Log;
use zori_core::message::Block;
use zori_core::permission::Verdict;
use zori_core::provider::StopReason;
use zori_core::secret::Secrets;
use zori_core::tool::{Effect, FileChange, ToolOutput};

use super::medium::{Medium, Opened};
use super::*;
use crate::error::StoreError;
use crate::load::{LoadedSession, Records};
use crate::sample::{
    Dice, call, check_history, event, everything, finished, prompt, reply, requested, resolved, say, started,
    turn_over, warning,
};

fn new_session() -> NewSession {
    NewSession { root: Path::new("/home/u/p").into(), parent: None }
}

fn id() -> SessionId {
    SessionId::parse("s").unwrap()
}

fn writer(dir: &SessionDir, durability: Durability) -> SessionWriter {
    dir.writer(&id(), new_session(), durability, None)
}

const META: &str = r#"{"type":"meta","schema_version":1,"ts":"2026-11-15T21:15:00Z","root":"/home/u/p"}"#;

fn user(text: &str) -> String {
    format!(r#"{{"type":"message","role":"user","text":"{text}","ts":"2026-11-15T21:15:00Z"}}"#)
}

fn assistant(text: &str) -> String {
    format!(
        r#"{{"type":"message","role":"assistant","text":"{text}","ts":"2026-11-15T21:15:00Z","model":"m-1","usage":{{"input_tokens":10,"output_tokens":5,"cache_read_tokens":2,"cache_write_tokens":1}}}}"#
    )
}

fn gap(text: &str) -> String {
    format!(
        r#"{{"type":"notice","level":"warning","code":"gap","text":"{text} could not be saved here","ts":"2026-11-15T21:15:00Z"}}"#
    )
}

fn file(lines: &[&str]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[test]
fn one_of_everything() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    let mut log = writer(&dir, Durability::Process);
    for event in everything() {
        log.append(&event).unwrap();
    }
    let ts = r#""ts":"2026-11-15T21:15:00Z""#;
    let end = r#""model":"m-1","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":2,"cache_write_tokens":1}"#;
    let replay = r#""replay":{"provider":"anthropic","block":{"b":"x==", "a":1}}"#;
    let expected = file(&[
        META,
        &format!(r#"{{"type":"message","role":"user","text":"What is in \"a\"?\nTell me.",{ts}}}"#),
        &format!(r#"{{"type":"reasoning","text":"Let me see.",{replay},{ts}}}"#),
        &format!(r#"{{"type":"message","role":"assistant","text":"I look.",{ts}}}"#),
        &format!(r#"{{"type":"tool_use","id":"call-1","name":"read","input":{{"path": "a",  "b":1}},{ts}}}"#),
        &format!(r#"{{"type":"reasoning",{replay},{ts}}}"#),
        &format!(
            r#"{{"type":"tool_use","id":"call-2","name":"bash","input":{{   "command": "ls" }},{ts},"id_origin":"synthesized",{replay}}}"#
        ),
        &format!(
            r#"{{"type":"tool_use","id":"call-3","name":"edit","input":{{}},{ts},"malformed":"{{\"path\":",{end}}}"#
        ),
        &format!(
            r#"{{"type":"approval","tool_use_id":"call-2","decision":"approved","by":"user","class":"X","reason":"because",{ts}}}"#
        ),
        &format!(
            r#"{{"type":"approval","tool_use_id":"call-3","decision":"blocked","by":"policy","class":"X","reason":"because",{ts}}}"#
        ),
        &format!(
            r#"{{"type":"tool_result","tool_use_id":"call-1","output":{{"ok":true,"data":{{"content":"hé"}}}},"ok":true,{ts},"text":"     1\thé"}}"#
        ),
        &format!(
            r#"{{"type":"tool_result","tool_use_id":"call-2","output":{{"ok":false,"error":{{"code":"canceled","message":"Stopped."}}}},"ok":false,{ts}}}"#
        ),
        &format!(
            r#"{{"type":"tool_result","tool_use_id":"call-3","output":{{"ok":false,"error":{{"code":"invalid_input","message":"Not JSON."}}}},"ok":false,{ts}}}"#
        ),
        &user("Be quick.").replace("\"}", "\",\"within_turn\":true}"),
        &assistant("It says hé."),
        &format!(
            r#"{{"type":"notice","level":"warning","code":"refusal","text":"The model refused.",{ts}}}"#
        ),
        &user("Again."),
        &format!(r#"{{"type":"message","role":"assistant","text":"It sa",{ts},{end},"partial":true}}"#),
        &format!(r#"{{"type":"interrupted","role":"system","text":"Interrupted",{ts}}}"#),
    ]);
    assert_eq!(fs::read_to_string(dir.file(&id())).unwrap(), expected);
}

/// SES-6: a plain run is three lines, the next one two more.
#[test]
fn a_second_run_appends_without_meta() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    for (question, answer) in [("a", "b"), ("c", "d")] {
        let mut log = writer(&dir, Durability::Process);
        for event in [prompt(question), say(answer), turn_over()] {
            log.append(&event).unwrap();
        }
    }
    let expected = file(&[META, &user("a"), &assistant("b"), &user("c"), &assistant("d")]);
    assert_eq!(fs::read_to_string(dir.file(&id())).unwrap(), expected);
}

#[test]
fn a_fork_names_its_parent() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    let parent = Some(SessionId::parse("before").unwrap());
    let mut log = dir.writer(&id(), NewSession { parent, ..new_session() }, Durability::Process, None);
    log.append(&prompt("a")).unwrap();
    let meta = META.replace('}', r#","parent":"before"}"#);
    assert_eq!(fs::read_to_string(dir.file(&id())).unwrap(), file(&[&meta, &user("a")]));
}

/// SES-5, PATH-3: nothing is created before there is something to keep.
#[test]
fn an_aborted_start_leaves_nothing() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path().join("base/sessions"));
    let mut log = writer(&dir, Durability::Full);
    log.append(&warning("config")).unwrap();
    log.append(&event(MessageEvent::AssistantDelta { text: "x".to_owned() })).unwrap();
    log.append(&turn_over()).unwrap();
    drop(log);
    assert_eq!(fs::read_dir(temp.path()).unwrap().count(), 0);
}

#[test]
fn for_the_owner_only_and_no_lock_left() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path().join("base/sessions"));
    let mut log = writer(&dir, Durability::Full);
    log.append(&prompt("a")).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&dir.file(&id())), mode(dir.path())), (0o600, 0o700));
    assert!(matches!(dir.lock(&id()), Err(StoreError::Locked { .. })));
    drop(log);
    let names: Vec<_> = fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["s.jsonl"]);
}

#[test]
fn a_torn_first_line_is_followed_by_meta() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    fs::write(dir.file(&id()), &META[..30]).unwrap();
    writer(&dir, Durability::Process).append(&prompt("a")).unwrap();
    let expected = file(&[&META[..30], META, &user("a")]);
    assert_eq!(fs::read_to_string(dir.file(&id())).unwrap(), expected);
}

#[test]
fn sub_agents_and_notices_outside_a_turn_are_not_kept() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    let mut log = writer(&dir, Durability::Process);
    let sub = Event { agent: AgentId(1), ..prompt("inner") };
    let info = event(Notice { level: NoticeLevel::Info, code: "x", text: String::new() });
    let events = [prompt("a"), sub, info, warning("session_not_saved"), turn_over(), warning("late")];
    for event in events {
        log.append(&event).unwrap();
    }
    assert_eq!(fs::read_to_string(dir.file(&id())).unwrap(), file(&[META, &user("a")]));
}

/// DECISIONS 28: what somebody let a sub-agent do, or kept it from doing.
#[test]
fn approvals_of_sub_agents_are_kept() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    let mut log = writer(&dir, Durability::Process);
    let answered = resolved("c", Verdict::Allow, DecidedBy::User);
    let answered = Event { agent: AgentId(1), parent: Some(CallId::new("t")), ..answered };
    for event in [prompt("a"), answered] {
        log.append(&event).unwrap();
    }
    let approval = r#"{"type":"approval","tool_use_id":"c","decision":"approved","by":"user","class":"X","reason":"because","ts":"2026-11-15T21:15:00Z","parent_tool_use_id":"t"}"#;
    assert_eq!(fs::read_to_string(dir.file(&id())).unwrap(), file(&[META, &user("a"), approval]));
}

#[test]
fn a_directory_that_cannot_be_made() {
    let temp = tempfile::tempdir().unwrap();
    fs::write(temp.path().join("file"), "").unwrap();
    let dir = SessionDir::new(temp.path().join("file/sessions"));
    let error = writer(&dir, Durability::Process).append(&prompt("a")).unwrap_err();
    let path = dir.path().join("s.lock");
    assert_eq!(error.to_string(), format!("{}: Not a directory (os error 20)", path.display()));
}

/// Only Linux has a device that is always full.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    std::os::unix::fs::symlink("/dev/full", dir.file(&id())).unwrap();
    let mut log = writer(&dir, Durability::Full);
    let error = log.append(&prompt("a")).unwrap_err();
    let path = dir.file(&id());
    assert_eq!(error.to_string(), format!("{}: No space left on device (os error 28)", path.display()));
    assert!(dir.load(&id()).unwrap().unwrap().history.is_empty());
}

/// A medium in memory whose calls fail where told.
#[derive(Clone, Default)]
struct Faulty(Arc<Mutex<Faults>>);

#[derive(Default)]
struct Faults {
    content: Vec<u8>,
    /// What a loss of power would leave.
    on_disk: Vec<u8>,
    /// What each next write does; then all is well.
    writes: Vec<WriteFault>,
    syncs: Vec<bool>,
    rewrites: Vec<bool>,
    trace: Vec<&'static str>,
}

#[derive(Clone, Copy)]
enum WriteFault {
    Short(usize),
    Interrupted,
    Full,
    Fine,
}

impl Medium for Faulty {
    fn open(&mut self) -> Result<Opened, StoreError> {
        let faults = self.0.lock().unwrap();
        let content = &faults.content;
        Ok(Opened {
            len: content.len() as u64,
            at_line_start: content.last().is_none_or(|&byte| byte == b'\n'),
            has_first_line: content.contains(&b'\n'),
            shortcoming: None,
        })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut faults = self.0.lock().unwrap();
        faults.trace.push("write");
        let fault = if faults.writes.is_empty() { WriteFault::Fine } else { faults.writes.remove(0) };
        let count = match fault {
            WriteFault::Short(count) => count.min(bytes.len()),
            WriteFault::Interrupted => return Err(io::ErrorKind::Interrupted.into()),
            WriteFault::Full => return Err(io::ErrorKind::StorageFull.into()),
            WriteFault::Fine => bytes.len(),
        };
        faults.content.extend_from_slice(&bytes[..count]);
        Ok(count)
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut faults = self.0.lock().unwrap();
        faults.trace.push("sync");
        if !faults.syncs.is_empty() && !faults.syncs.remove(0) {
            return Err(io::Error::other("lost pages"));
        }
        faults.on_disk = faults.content.clone();
        Ok(())
    }

    fn rewrite(&mut self, keep: u64, tail: &[u8]) -> io::Result<()> {
        let mut faults = self.0.lock().unwrap();
        faults.trace.push("rewrite");
        if !faults.rewrites.is_empty() && !faults.rewrites.remove(0) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        // Only what was synced before can be relied on.
        let mut whole = faults.on_disk[..keep as usize].to_vec();
        whole.extend_from_slice(tail);
        (faults.content, faults.on_disk) = (whole.clone(), whole);
        Ok(())
    }
}

impl Faulty {
    fn log(&self, durability: Durability) -> SessionWriter {
        SessionWriter::on(Box::new(self.clone()), "/s".into(), new_session(), durability)
    }

    fn content(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().content.clone()).unwrap()
    }

    fn set(&self, change: impl FnOnce(&mut Faults)) {
        change(&mut self.0.lock().unwrap());
    }
}

/// LOG-7: every short write and interruption is completed.
#[test]
fn short_writes_at_each_byte() {
    let expected = file(&[META, &user("a"), &assistant("b")]);
    for k in 1..META.len() + user("a").len() + 2 {
        let medium = Faulty::default();
        medium.set(|f| f.writes = vec![WriteFault::Short(k), WriteFault::Interrupted, WriteFault::Short(1)]);
        let mut log = medium.log(Durability::Process);
        log.append(&prompt("a")).unwrap();
        log.append(&say("b")).unwrap();
        assert_eq!(medium.content(), expected, "k = {k}");
    }
}

/// LOG-7, FS-1: wherever the disk becomes full, no two records share a line and the gap is told.
#[test]
fn a_disk_that_is_full_for_a_while_at_each_byte() {
    let (meta, first) = (format!("{META}\n"), format!("{}\n", user("a")));
    let whole = format!("{meta}{first}");
    for k in 0..whole.len() {
        let medium = Faulty::default();
        medium.set(|f| f.writes = vec![WriteFault::Short(k.max(1)), WriteFault::Full, WriteFault::Full]);
        if k == 0 {
            medium.set(|f| f.writes = vec![WriteFault::Full, WriteFault::Full]);
        }
        let mut log = medium.log(Durability::Process);
        assert_eq!(log.append(&prompt("a")).unwrap_err().to_string(), "/s: no storage space");
        assert_eq!(log.append(&say("b")).unwrap_err().to_string(), "/s: no storage space");
        log.append(&prompt("c")).unwrap();

        let torn = &whole[..k];
        let newline = if torn.is_empty() || torn.ends_with('\n') { "" } else { "\n" };
        let meta_again = if k >= meta.len() { "" } else { &meta };
        let rest = file(&[&gap("2 records"), &user("c")]);
        assert_eq!(medium.content(), format!("{torn}{newline}{meta_again}{rest}"), "k = {k}");
    }
}

#[test]
fn one_lost_record_between_two() {
    let medium = Faulty::default();
    medium.set(|f| f.writes = vec![WriteFault::Fine, WriteFault::Full]);
    let mut log = medium.log(Durability::Process);
    log.append(&prompt("a")).unwrap();
    log.append(&say("b")).unwrap_err();
    log.append(&prompt("c")).unwrap();
    log.append(&say("d")).unwrap();
    let expected = file(&[META, &user("a"), &gap("1 record"), &user("c"), &assistant("d")]);
    assert_eq!(medium.content(), expected);
}

fn tool_turn() -> Vec<Event> {
    let bash = call("1", "bash", r#"{"command":"ls"}"#);
    let effect = Effect::Exec { command: "ls".to_owned(), cwd: "/".into() };
    vec![
        prompt("a"),
        reply(vec![Block::ToolCall(bash.clone())], Some(StopReason::ToolUse)),
        requested(bash, vec![effect]),
        started("1"),
        finished("1", ToolOutput::success("{}")),
        say("b"),
        turn_over(),
    ]
}

/// LOG-5: where each durability syncs.
#[test]
fn syncs() {
    let cases = [
        (Durability::Process, vec!["write", "write", "write", "write", "sync"]),
        (Durability::Full, vec!["write", "sync", "write", "sync", "write", "sync", "write", "sync"]),
    ];
    for (durability, expected) in cases {
        let medium = Faulty::default();
        let mut log = medium.log(durability);
        for event in tool_turn() {
            log.append(&event).unwrap();
        }
        assert_eq!(medium.0.lock().unwrap().trace, expected, "{durability:?}");
    }
}

/// LOG-6: whichever sync fails, a copy makes up for it: nothing lost, nothing twice.
#[test]
fn a_failed_sync_is_made_up_for() {
    let sound = Faulty::default();
    let mut log = sound.log(Durability::Full);
    for event in tool_turn() {
        log.append(&event).unwrap();
    }
    for n in 0..4 {
        let medium = Faulty::default();
        medium.set(|f| f.syncs = (0..=n).map(|i| i != n).collect());
        let mut log = medium.log(Durability::Full);
        let warned: Vec<String> =
            tool_turn().iter().filter_map(|e| log.append(e).err()).map(|e| e.to_string()).collect();
        assert_eq!(
            warned,
            ["/s: could not sync (lost pages); the records were written to a new copy of the file"]
        );
        let faults = medium.0.lock().unwrap();
        assert_eq!(faults.on_disk, sound.0.lock().unwrap().content, "n = {n}");
        assert_eq!(faults.content, faults.on_disk, "n = {n}");
    }
}

#[test]
fn a_sync_is_not_believed_after_one_that_failed() {
    let medium = Faulty::default();
    medium.set(|f| (f.syncs, f.rewrites) = (vec![false], vec![false]));
    let mut log = medium.log(Durability::Process);
    log.append(&prompt("a")).unwrap();
    assert_eq!(
        log.append(&turn_over()).unwrap_err().to_string(),
        "/s: could not sync (lost pages), nor write a new copy of the file (no storage space)"
    );
    log.append(&prompt("b")).unwrap();
    assert_eq!(
        log.append(&turn_over()).unwrap_err().to_string(),
        "/s: could not sync (an earlier sync failed); the records were written to a new copy of the file"
    );
    let faults = medium.0.lock().unwrap();
    assert_eq!(faults.on_disk, file(&[META, &user("a"), &user("b")]).as_bytes());
    assert_eq!(faults.trace, ["write", "sync", "rewrite", "write", "sync", "rewrite"]);
}

/// The real file's half of LOG-6.
#[test]
fn a_rewritten_file_is_appended_to() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    fs::write(dir.file(&id()), "kept\nlost").unwrap();
    let mut file = SessionFile::new(dir.clone(), id(), None, true);
    let opened = file.open().unwrap();
    assert_eq!(opened, Opened { len: 9, at_line_start: false, has_first_line: true, shortcoming: None });
    file.rewrite(5, b"again\n").unwrap();
    file.write(b"more\n").unwrap();
    file.sync().unwrap();
    assert_eq!(fs::read_to_string(dir.file(&id())).unwrap(), "kept\nagain\nmore\n");
    assert_eq!(fs::metadata(dir.file(&id())).unwrap().permissions().mode() & 0o777, 0o600);
    assert!(file.rewrite(99, b"").is_err());
    drop(file);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

fn knowing(secret: &str) -> Secrets {
    let secrets = Secrets::default();
    secrets.add(&secret.into());
    secrets
}

/// CFG-4: in whatever record it turns up, and nothing else of it changes.
#[test]
fn a_secret_stays_out_of_the_file() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    let mut log = writer(&dir, Durability::Process).without_secrets(knowing("key-\"12345"));
    log.append(&prompt("is key-\"12345 right?")).unwrap();
    assert_eq!(fs::read_to_string(dir.file(&id())).unwrap(), file(&[META, &user("is [REDACTED] right?")]));
}

#[test]
fn a_word_too_short_to_be_a_secret_is_none() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    let mut log = writer(&dir, Durability::Process).without_secrets(knowing("user"));
    log.append(&prompt("hi")).unwrap();
    assert_eq!(fs::read_to_string(dir.file(&id())).unwrap(), file(&[META, &user("hi")]));
}

#[test]
fn images_come_back_as_they_went() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path().join("sessions"));
    let image = Image::parse(&include_bytes!("../../../../fixtures/images/box.png")[..]).unwrap();
    let images = vec![image.clone()];
    let mut log = writer(&dir, Durability::Process);
    let asked = EventKind::Turn(TurnEvent::TurnStarted {
        prompt: "what?".into(),
        images: images.clone(),
        uuid: None,
        scheduled: None,
    });
    let output = ToolOutput { images: images.clone(), ..ToolOutput::success("{}") };
    for event in [
        event(asked),
        reply(vec![Block::ToolCall(call("1", "read", "{}"))], Some(StopReason::ToolUse)),
        finished("1", output),
    ] {
        log.append(&event).unwrap();
    }
    let data = image.base64();
    let text = fs::read_to_string(dir.file(&id())).unwrap();
    let field = format!(r#""images":[{{"media_type":"image/png","data":"{data}"}}]}}"#);
    let first =
        format!(r#"{{"type":"message","role":"user","text":"what?","ts":"2026-11-15T21:15:00Z",{field}"#);
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[1], first);
    assert!(lines[3].starts_with(r#"{"type":"tool_result","#) && lines[3].ends_with(&field), "{}", lines[3]);
    let loaded = dir.load(&id()).unwrap().unwrap();
    let found: Vec<_> = loaded.history.iter().map(|m| m.images().cloned().collect::<Vec<_>>()).collect();
    assert_eq!(found, [images.clone(), Vec::new(), images]);
}

/// A turn of calls made from a seed; some of them have effects.
fn any_turn(dice: &mut Dice, turn: usize) -> Vec<Event> {
    let mut events = vec![prompt(&format!("prompt {turn}"))];
    for n in 0..dice.below(6) {
        let id = format!("c{turn}-{n}");
        let (name, effects) = match dice.below(2) {
            0 => ("bash", vec![Effect::Exec { command: "x".to_owned(), cwd: "/".into() }]),
            _ => ("read", vec![Effect::Read("/x".into())]),
        };
        let call = call(&id, name, "{}");
        events.push(reply(vec![Block::ToolCall(call.clone())], Some(StopReason::ToolUse)));
        events.push(requested(call, effects));
        events.push(started(&id));
        let output = format!("{{\"stdout\":\"{}\"}}", "x".repeat(dice.below(300)));
        events.push(finished(&id, ToolOutput::success(&output)));
    }
    events.push(say(&format!("answer {turn}")));
    events.push(turn_over());
    events
}

/// LOG-5, REL-2: power is lost after each event of many turns, with any part of what was not synced on the disk. What was
/// announced by then is there, and the history is one that providers accept.
#[test]
fn power_cuts_after_each_event() {
    let full = std::env::var_os("ZORI_SOAK").is_some();
    let turns = if full { 200 } else { 40 };
    let (mut dice, mut cases) = (Dice(7), 0);
    let medium = Faulty::default();
    let mut log = medium.log(Durability::Full);
    let mut effective = HashSet::new();
    for turn in 0..turns {
        for event in any_turn(&mut dice, turn) {
            log.append(&event).unwrap();
            let announced = match &event.kind {
                EventKind::Turn(TurnEvent::TurnStarted { .. } | TurnEvent::TurnFinished(_)) => true,
                EventKind::Tool(ToolEvent::ToolRequested(asked)) => {
                    if asked.effects.iter().any(Effect::mutates) {
                        effective.insert(asked.call.id.clone());
                    }
                    false
                }
                EventKind::Tool(ToolEvent::ToolStarted { call, .. }) => effective.contains(call),
                EventKind::Tool(ToolEvent::ToolFinished(done)) => effective.contains(&done.call),
                _ => false,
            };
            let (content, on_disk) = {
                let faults = medium.0.lock().unwrap();
                (faults.content.clone(), faults.on_disk.clone())
            };
            assert!(content.starts_with(&on_disk));
            if announced {
                assert_eq!(content.len(), on_disk.len(), "turn {turn}: what was announced is on the disk");
            }
            let sound = String::from_utf8(on_disk.clone()).unwrap().lines().count();
            let unsynced = content.len() - on_disk.len();
            for _ in 0..3 {
                let kept = on_disk.len() + dice.below(unsynced + 1);
                // What the disk did not get is cut off, or zeros where the length was written first.
                let mut after = content[..kept].to_vec();
                after.resize(kept + dice.below(2) * dice.below(64), 0);
                let records = Records::new(Box::new(io::Cursor::new(after)), "/s".into());
                let read = records.filter_map(Result::ok).count();
                assert!(read >= sound, "turn {turn}: {read} of {sound} records");
                cases += 1;
            }
        }
        let records =
            Records::new(Box::new(io::Cursor::new(medium.0.lock().unwrap().on_disk.clone())), "/s".into());
        check_history(&LoadedSession::read(records).unwrap().history);
    }
    println!("LOG-5: 0 announced events lost over {turns} turns: {cases} cases");
}

/// LOG-5: the folders that were made for a session have new entries, which are synced with its own.
#[test]
fn folders_that_were_made() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().join("a/b/c");
    let grown = crate::dir::create_private_listed(&dir).unwrap();
    let names: Vec<_> =
        grown.iter().map(|dir| dir.strip_prefix(temp.path()).unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["a/b", "a", ""]);
    assert!(crate::dir::create_private_listed(&dir).unwrap().is_empty());
}

/// A pipe has no end, and nobody may ever read it.
#[test]
fn a_pipe_in_the_place_of_the_file() {
    let temp = tempfile::tempdir().unwrap();
    let dir = SessionDir::new(temp.path());
    let made = std::process::Command::new("mkfifo").arg(dir.file(&id())).status();
    if !made.is_ok_and(|status| status.success()) {
        eprintln!("a_pipe_in_the_place_of_the_file: not run, there is no mkfifo");
        return;
    }
    let error = writer(&dir, Durability::Process).append(&prompt("a")).unwrap_err();
    assert_eq!(error.to_string(), format!("{}: it is a pipe, not a file", dir.file(&id()).display()));
    let error = dir.load(&id()).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: it is a pipe or a device, not a file", dir.file(&id()).display())
    );
}

/// With `full`, what a call has changed is on the disk before the record that says so; a file that cannot be synced is told,
/// and saved all the same.
#[test]
fn changed_files_are_synced_first() {
    let temp = tempfile::tempdir().unwrap();
    let path = temp.path().join("f");
    fs::write(&path, "new").unwrap();
    let change = |path: &Path| {
        let mut output = ToolOutput::success("{}");
        output.changes = vec![FileChange { path: path.to_owned(), before: None, after: Some("new".into()) }];
        finished("1", output)
    };
    for (path, told) in [
        (path, None),
        (
            "/nowhere/f".into(),
            Some("/s: /nowhere/f could not be synced: No such file or directory (os error 2)"),
        ),
    ] {
        let medium = Faulty::default();
        let mut log = medium.log(Durability::Full);
        log.append(&prompt("a")).unwrap();
        let error = log.append(&change(&path)).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), told);
        assert!(medium.content().contains("tool_result"), "it is saved all the same");
        assert!(medium.log(Durability::Process).append(&change(Path::new("/nowhere/f"))).is_ok());
    }
}
