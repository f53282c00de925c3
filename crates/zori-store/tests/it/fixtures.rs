//! Sessions of every version and in every state keep loading (FS-9).

use std::path::Path;

use zori_core::ids::SessionId;
use zori_core::message::{Block, Message};
use zori_store::{Record, SessionDir, StoreError, transcript};

fn sessions() -> SessionDir {
    SessionDir::new(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/sessions"))
}

/// What is known of the session, one line per message, and what could not be read.
fn load(name: &str) -> String {
    let id = SessionId::parse(name).expect("fixtures have names that are ids");
    let loaded = sessions().load(&id).expect("it can be read").expect("it exists");
    let facts = loaded.meta.expect("a fixture has a first line");
    let mut out = format!(
        "v{} root={} parent={} in={} out={}\n",
        facts.schema_version,
        facts.root.unwrap_or_default().display(),
        facts.parent.unwrap_or_default(),
        loaded.usage.input,
        loaded.usage.output
    );
    for message in &loaded.history {
        out.push_str(&line(message));
    }
    if !loaded.damage.is_empty() {
        out.push_str(&format!("damage: {}\n", loaded.damage));
    }
    out
}

fn line(message: &Message) -> String {
    let block = |block: &Block| match block {
        Block::Image(image) => image.to_string(),
        Block::Text(text) => format!("{text:?}"),
        Block::Thinking(thinking) => {
            let replay = thinking.replay.as_ref().map(|r| format!(" {} {}", r.provider, r.raw));
            format!("think {:?}{}", thinking.text, replay.unwrap_or_default())
        }
        Block::ToolCall(call) => {
            let replay = call.replay.as_ref().map(|r| format!(" {} {}", r.provider, r.raw));
            format!(
                "{} {:?} {} {:?}{}",
                call.id,
                call.id_origin,
                call.name,
                call.input,
                replay.unwrap_or_default()
            )
        }
        Block::ToolResult(result) => format!("{} {} {}", result.call, result.name, result.content()),
    };
    let blocks: Vec<String> = message.blocks.iter().map(|b| format!("  {}\n", block(b))).collect();
    format!("{:?}\n{}", message.role, blocks.concat())
}

#[test]
fn every_fixture_is_tested_here() {
    let mut names: Vec<String> = sessions().list().unwrap().iter().map(|e| e.id.to_string()).collect();
    names.sort();
    let tested =
        ["compacted", "damaged", "fork", "interrupted", "newer", "plain", "thinking", "tools", "zdx"];
    assert_eq!(names, tested);
}

#[test]
fn plain() {
    assert_eq!(
        load("plain"),
        r#"v1 root=/home/ada/engine parent= in=412 out=20
User
  "What is 6 times 7?"
Assistant
  "42"
"#
    );
}

#[test]
fn tools() {
    assert_eq!(
        load("tools"),
        r#"v1 root=/home/ada/engine parent= in=1236 out=60
User
  "Read both files, then delete them."
Assistant
  "I read them first."
  toolu_01 Provider read Json(RawValue({"path":"a.txt"}))
  toolu_02 Provider read Json(RawValue({"path":"b.txt"}))
User
  toolu_01 read      1	café
  toolu_02 read {"ok":false,"error":{"code":"path_error","message":"b.txt: no such file (ENOENT)"}}
  "Keep a.txt."
Assistant
  toolu_03 Provider bash Json(RawValue({"command":"rm b.txt"}))
User
  toolu_03 bash {"ok":false,"error":{"code":"permission_denied","message":"leave it"}}
Assistant
  "Nothing was deleted."
"#
    );
}

#[test]
fn thinking() {
    assert_eq!(
        load("thinking"),
        r#"v1 root=/home/ada/engine parent= in=824 out=40
User
  "List the files."
Assistant
  think "They want a listing." anthropic {"type":"thinking","thinking":"They want a listing.","signature":"ErUB+/=="}
  think "" anthropic {"type":"redacted_thinking","data":"c2VjcmV0"}
  call-1 Made ls Json(RawValue({ "path" : "." })) gemini {"thoughtSignature":"abc"}
  call-2 Provider grep Malformed("{\"pattern\": ")
User
  call-1 ls {"ok":true,"data":{"entries":[]}}
  call-2 grep {"ok":false,"error":{"code":"invalid_input","message":"not JSON"}}
Assistant
  "It is empty."
"#
    );
}

#[test]
fn interrupted() {
    assert_eq!(
        load("interrupted"),
        r#"v1 root=/home/ada/engine parent= in=824 out=40
User
  "Count to a million."
Assistant
  "1, 2, 3"
User
  "In a shell."
Assistant
  toolu_09 Provider bash Json(RawValue({"command":"seq 1000000"}))
User
  toolu_09 bash {"ok":false,"error":{"code":"canceled","message":"The session ended before this call had a result, so it may or may not have run. Check its effects, then call it again if it is still needed."}}
"#
    );
}

#[test]
fn fork() {
    assert_eq!(
        load("fork"),
        "v1 root=/home/ada/engine parent=plain in=0 out=0\nUser\n  \"And 6 times 8?\"\n"
    );
}

#[test]
fn damaged() {
    assert_eq!(
        load("damaged"),
        r#"v1 root=/home/ada/engine parent= in=0 out=0
User
  "Hello"
  "One"
  "Two"
damage: line 3 (not a whole record), line 5 (invalid UTF-8), line 7 (several records on one line), line 8 (not a whole record), line 9 (cut off)
"#
    );
}

#[test]
fn zdx() {
    assert_eq!(
        load("zdx"),
        r#"v1 root= parent= in=0 out=0
User
  "read main.rs"
Assistant
  toolu_abc Provider read Json(RawValue({"path":"main.rs"}))
User
  toolu_abc read {"ok":true,"data":{"path":"main.rs","content":"fn main() {}\n","truncated":false,"bytes":13}}
Assistant
  "An empty program."
User
  "thanks"
"#
    );
}

#[test]
fn newer() {
    assert_eq!(
        load("newer"),
        r#"v2 root=/home/ada/engine parent= in=1 out=2
User
  "Hi"
Assistant
  think "Hm."
  "Hello"
"#
    );
}

/// The view in force is the masked one; the summary counts all the same.
#[test]
fn compacted() {
    assert_eq!(
        load("compacted"),
        r#"v1 root=/home/ada/engine parent= in=1120 out=54
User
  "What does main.rs do?"
Assistant
  toolu_01 Provider read Json(RawValue({"path":"main.rs"}))
User
  toolu_01 read {"ok":true,"data":{"left_out":"The output of `read` (47 bytes) was left out."}}
Assistant
  "Nothing."
User
  "Thanks."
"#
    );
}

#[test]
fn shown_as_a_transcript() {
    let id = SessionId::parse("zdx").unwrap();
    let records: Result<Vec<Record>, StoreError> =
        sessions().records(&id).unwrap().expect("it exists").collect();
    let expected = r#"### Session (schema v1)

### You
read main.rs

### Tool: read
```json
{"path":"main.rs"}
```

### Result ✓
```json
{"ok":true,"data":{"path":"main.rs","content":"fn main() {}\n","truncated":false,"bytes":13}}
```

### Assistant
An empty program.

### You
thanks

### Interrupted
"#;
    assert_eq!(transcript(&records.unwrap()), expected);
}
