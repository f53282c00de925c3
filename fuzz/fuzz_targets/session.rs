//! Any bytes as the file of a session.
//!
//! What must hold: no panic; the file can be read, and what could not be of it is told by line (LOG-3); the history is one
//! that every provider takes (LOG-11); a torn tail costs nothing before it (LOG-2).

#![no_main]

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use zori_core::ids::SessionId;
use zori_core::message::{Block, Message, Role};
use zori_store::{LoadedSession, Record, SessionDir, transcript, turns};

/// A folder of this process; libFuzzer starts no others beside it.
static FOLDER: LazyLock<SessionDir> = LazyLock::new(|| {
    let memory = PathBuf::from("/dev/shm");
    let parent = if memory.is_dir() { memory } else { std::env::temp_dir() };
    let path = parent.join(format!("zori-fuzz-session-{}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a folder can be made");
    SessionDir::new(path)
});

fuzz_target!(|input: &[u8]| {
    let whole = load(input);
    check(&whole);
    let lines = input.split(|byte| *byte == b'\n').count() as u64;
    assert!(whole.damage.total <= lines, "{} of {lines} lines", whole.damage.total);
    let listed = whole.damage.lines.iter();
    assert!(listed.clone().is_sorted_by_key(|line| line.line), "{}", whole.damage);
    assert!(listed.clone().all(|line| (1..=lines).contains(&line.line)), "{}", whole.damage);
    // A write that was not finished is behind everything else, and alters nothing of it.
    if input.last() == Some(&b'\n') {
        let torn = load(&[input, b"{\"type\":\"message\",\"role\":\"assist"].concat());
        assert_eq!(torn.damage.total, whole.damage.total + 1);
        assert_eq!(format!("{:?}", torn.history), format!("{:?}", whole.history));
    }
    let records = FOLDER.records(&id()).expect("it can be opened").expect("it is there");
    let records: Vec<Record> = records.collect::<Result<_, _>>().expect("it can be read");
    let _ = transcript(&records);
    let _ = turns(records);
});

fn id() -> SessionId {
    SessionId::parse("s").expect("a fine id")
}

fn load(bytes: &[u8]) -> LoadedSession {
    std::fs::write(FOLDER.file(&id()), bytes).expect("the folder is ours");
    FOLDER.load(&id()).expect("whatever is in it, it can be read").expect("it is there")
}

fn check(session: &LoadedSession) {
    let (mut open, mut seen): (Vec<&str>, HashSet<&str>) = (Vec::new(), HashSet::new());
    for (n, message) in session.history.iter().enumerate() {
        let message: &Message = message;
        let role = if n % 2 == 0 { Role::User } else { Role::Assistant };
        assert_eq!(message.role, role, "message {n}: the user begins, and roles alternate");
        assert!(!message.blocks.is_empty(), "message {n} is empty");
        let result = |block: &Block| matches!(block, Block::ToolResult(_));
        let results = message.blocks.iter().map_while(|block| match block {
            Block::ToolResult(result) => Some(result.call.as_str()),
            _ => None,
        });
        let mut answered: Vec<&str> = results.collect();
        let all = message.blocks.iter().filter(|block| result(block)).count();
        assert_eq!(answered.len(), all, "message {n}: results come first");
        answered.sort_unstable();
        open.sort_unstable();
        assert_eq!(answered, open, "message {n}: every call has its result in the next message");
        open = message.calls().map(|call| call.id.as_str()).collect();
        assert!(open.iter().all(|call| seen.insert(call)), "message {n}: the id of a call is there twice");
    }
    assert!(open.is_empty(), "calls without a result: {open:?}");
}
