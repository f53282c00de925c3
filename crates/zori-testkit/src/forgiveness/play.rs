//! Plays one case to the executable.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use serde_json::Value;

use super::case::{Call, Case, ReplyLine};
use crate::anthropic::{self, Message};
use crate::env::TestEnv;
use crate::history;
use crate::reply::{Disconnect, Reply};
use crate::running::{Stdin, Stdout};
use crate::server::ModelServer;

/// How long a run may take; no case needs a tenth of it.
const BOUND: Duration = Duration::from_secs(60);

/// What came of a case.
pub(super) struct Played {
    /// The files afterwards.
    pub files: BTreeMap<String, Vec<u8>>,
    /// The results of the calls that are judged, and whether each is an error.
    pub results: Vec<(String, bool)>,
    /// The exit code and what was printed; `None` when the run did not end.
    pub ended: Option<(Option<i32>, String, String)>,
    pub requests: usize,
    /// A request that no provider would accept.
    pub bad_history: Option<String>,
}

/// Runs the case in a world of its own.
pub(super) fn play(binary: &Path, case: &Case) -> Played {
    let mut world = TestEnv::new(binary);
    let work = world.work().display().to_string();
    for (path, content) in case.before() {
        world.write(path, content);
    }
    if !case.config.is_empty() {
        world.write(world.base().join("config.toml"), &case.config);
    }
    let replies = replies(case, &work);
    let (left, bad) = (Mutex::new(replies.into_iter()), std::sync::Arc::new(Mutex::new(None)));
    let noted = bad.clone();
    let server = ModelServer::answering(move |request| {
        if let Err(why) = history::check(&request.body) {
            *noted.lock().expect("nobody panics with it") = Some(why);
        }
        let next = left.lock().expect("nobody panics with it").next();
        next.unwrap_or_else(|| anthropic::text("Done.").into())
    });
    world.use_server(&server);
    let running = world.start(world.cmd(&["exec", "-p", "go"]), Stdin::Null, Stdout::Captured);
    let ended = running.finish_within(BOUND);
    let bad_history = bad.lock().expect("nobody panics with it").take();
    Played {
        files: files(&world.work()),
        results: results(&server),
        ended: ended.map(|output| (output.code(), output.stdout(), output.stderr())),
        requests: server.count(),
        bad_history,
    }
}

fn replies(case: &Case, work: &str) -> Vec<Reply> {
    let mut replies = Vec::new();
    for (n, call) in case.first.iter().enumerate() {
        replies
            .push(with_calls(Message::new(), std::slice::from_ref(call), &format!("first_{n}"), work).into());
    }
    if !case.calls.is_empty() {
        replies.push(with_calls(Message::new(), &case.calls, "toolu", work).into());
    }
    replies.extend(case.replies.iter().enumerate().map(|(n, line)| reply(line, n, work)));
    replies
}

fn with_calls(mut message: Message, calls: &[Call], prefix: &str, work: &str) -> Message {
    for (n, Call(name, input)) in calls.iter().enumerate() {
        message = message.raw_tool_use(&format!("{prefix}_{n}"), name, &input.replace("$WORK", work));
    }
    message
}

fn reply(line: &ReplyLine, n: usize, work: &str) -> Reply {
    let mut message = Message::new();
    if let Some(thinking) = &line.thinking {
        message = message.thinking(thinking, "c2ln");
    }
    if let Some(text) = &line.text {
        message = message.text(text);
    }
    message = match &line.id {
        Some(id) => line.calls.iter().fold(message, |message, Call(name, input)| {
            message.raw_tool_use(id, name, &input.replace("$WORK", work))
        }),
        None => with_calls(message, &line.calls, &format!("toolu_{n}"), work),
    };
    if let Some(stop) = &line.stop {
        message = message.stop(stop);
    }
    let mut events: Vec<String> = message.events().iter().map(anthropic::event).collect();
    if let Some(at) = line.broken {
        events[at] =
            "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"ind\n\n".to_owned();
    }
    let reply = Reply::sse(events.concat());
    match line.cut {
        Some(at) => reply.cut_after_events(at, Disconnect::Fin),
        None => reply,
    }
}

/// Returns the results of the judged calls in the last request that was sent.
fn results(server: &ModelServer) -> Vec<(String, bool)> {
    let Some(last) = server.requests().pop() else { return Vec::new() };
    let messages = last.messages();
    let blocks = messages.iter().filter_map(|message| message["content"].as_array()).flatten();
    let results = blocks.filter(|block| {
        block["type"] == "tool_result" && Case::is_judged(block["tool_use_id"].as_str().unwrap_or_default())
    });
    results.map(|block| (content(&block["content"]), block["is_error"] == true)).collect()
}

fn content(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(blocks) => blocks.iter().filter_map(|block| block["text"].as_str()).collect(),
        other => other.to_string(),
    }
}

fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(folder: &Path, prefix: &str, found: &mut BTreeMap<String, Vec<u8>>) {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            match std::fs::read(entry.path()) {
                Ok(bytes) => drop(found.insert(path, bytes)),
                Err(_) => walk(&entry.path(), &format!("{path}/"), found),
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, "", &mut found);
    found
}
