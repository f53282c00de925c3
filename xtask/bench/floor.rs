//! The floor: the least an agent can do, in plain Rust on the standard library. `floor HOST:PORT PROMPT SHELL`.
//!
//! It asks an Anthropic-style server, prints text as it comes, runs the `bash`, `read` and `edit` calls of the reply, sends
//! the whole conversation again with the results, and stops when a reply has no call. No JSON library, no runtime,
//! no TLS, no checks: what is slower than this is the price of being an agent one can use.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

const TOOLS: &str = concat!(
    r#"[{"name":"bash","description":"Run a command","input_schema":{"type":"object","properties":"#,
    r#"{"command":{"type":"string"}}}},{"name":"read","description":"Read a file","input_schema":"#,
    r#"{"type":"object","properties":{"path":{"type":"string"}}}}]"#
);

/// A call collected from the stream.
#[derive(Default)]
struct Call {
    id: String,
    name: String,
    input: String,
}

fn main() {
    let mut args = std::env::args().skip(1);
    let mut next = |what: &str| args.next().expect(what);
    let (address, prompt, shell) = (next("HOST:PORT"), next("PROMPT"), next("SHELL"));
    let mut socket = TcpStream::connect(&address).expect("the server listens");
    socket.set_nodelay(true).expect("a socket option");
    let mut reader = BufReader::with_capacity(1 << 16, socket.try_clone().expect("a second handle"));
    let mut conversation = format!(r#"{{"role":"user","content":{}}}"#, quoted(&prompt));
    loop {
        let body = format!(
            r#"{{"model":"floor","max_tokens":1024,"stream":true,"tools":{TOOLS},"messages":[{conversation}]}}"#
        );
        let head = format!(
            "POST /v1/messages HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        socket.write_all((head + &body).as_bytes()).expect("the server reads");
        let Some(call) = reply(&mut reader) else { return };
        let result = run(&call, &shell);
        conversation.push_str(&format!(
            concat!(
                r#",{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"{name}","input":{input}}}]}}"#,
                r#",{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":{result}}}]}}"#
            ),
            id = call.id,
            name = call.name,
            input = call.input,
            result = quoted(&result)
        ));
    }
}

/// Reads one reply, printing its text; returns its call.
fn reply(reader: &mut impl BufRead) -> Option<Call> {
    let mut line = String::new();
    while line != "\r\n" {
        line.clear();
        reader.read_line(&mut line).expect("a head");
    }
    let mut stdout = std::io::stdout().lock();
    let (mut call, mut printed) = (Call::default(), false);
    let (mut pending, mut chunk) = (Vec::new(), Vec::new());
    loop {
        line.clear();
        reader.read_line(&mut line).expect("a chunk's size");
        let size = usize::from_str_radix(line.trim(), 16).expect("a hexadecimal number");
        chunk.resize(size + 2, 0);
        reader.read_exact(&mut chunk).expect("a chunk");
        pending.extend_from_slice(&chunk[..size]);
        let complete = pending.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        for line in std::str::from_utf8(&pending[..complete]).expect("text").lines() {
            let Some(data) = line.strip_prefix("data: ") else { continue };
            if data.contains(r#""text_delta""#) {
                stdout.write_all(unquoted(field(data, "text")).as_bytes()).expect("a reader");
                stdout.flush().expect("a reader");
                printed = true;
            } else if data.contains(r#""input_json_delta""#) {
                call.input.push_str(&unquoted(field(data, "partial_json")));
            } else if data.contains(r#""type":"tool_use""#) {
                call.id = field(data, "id").to_owned();
                call.name = field(data, "name").to_owned();
            }
        }
        pending.drain(..complete);
        if size == 0 {
            break;
        }
    }
    if printed {
        stdout.write_all(b"\n").expect("a reader");
    }
    (!call.id.is_empty()).then_some(call)
}

fn run(call: &Call, shell: &str) -> String {
    if call.name == "read" {
        return std::fs::read_to_string(unquoted(field(&call.input, "path"))).unwrap_or_default();
    }
    if call.name == "edit" {
        return edit(&call.input);
    }
    let command = unquoted(field(&call.input, "command"));
    let output =
        Command::new(shell).args(["-c", &command]).stdin(Stdio::null()).output().expect("a shell");
    let shown = output.stdout.len().min(64 * 1024);
    String::from_utf8_lossy(&output.stdout[..shown]).into_owned()
}

/// Replaces the one place where a text occurs: read, search, write beside, rename.
fn edit(input: &str) -> String {
    let value = |key: &str| unquoted(field(input, key));
    let (path, old, new) = (value("path"), value("old"), value("new"));
    let text = std::fs::read_to_string(&path).expect("a file");
    assert_eq!(text.matches(&old).count(), 1, "the text occurs once");
    let beside = format!("{path}.floor");
    std::fs::write(&beside, text.replacen(&old, &new, 1)).expect("a folder to write to");
    std::fs::rename(&beside, &path).expect("a file to replace");
    "Replaced.".to_owned()
}

/// Returns the text between the quotes of the last `"key":"..."`, still escaped.
fn field<'a>(json: &'a str, key: &str) -> &'a str {
    let mark = format!(r#""{key}":""#);
    let Some(start) = json.rfind(&mark).map(|at| at + mark.len()) else { return "" };
    let bytes = json.as_bytes();
    let mut end = start;
    while end < bytes.len() && bytes[end] != b'"' {
        end += if bytes[end] == b'\\' { 2 } else { 1 };
    }
    &json[start..end]
}

fn unquoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, c == '\\') {
            (_, false) => out.push(c),
            (_, true) => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => {}
            },
        }
    }
    out
}

fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}
