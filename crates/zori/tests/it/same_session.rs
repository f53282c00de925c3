//! The same session everywhere: one conversation through every front end. Each has to tell the same text, the same calls and
//! results in the same order, and the same end. What a front end cannot say stands in its entry, and in `docs/protocols/`.

use std::collections::HashMap;
use std::process::Command;

use serde_json::{Value, json};
use zori_testkit::anthropic::{self, Message};
use zori_testkit::env::TestEnv;
use zori_testkit::running::{Stdin, Stdout};

use crate::acp::Editor;
use crate::jsonl::events;
use crate::world::{in_shell, with_model};

/// Something a front end told.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    Thinking(String),
    Text(String),
    /// A call: of `bash` with its command, of `task` with what it is about.
    Call {
        tool: String,
        about: String,
    },
    Result {
        failed: bool,
        output: Option<String>,
    },
    /// Something of a sub-agent's.
    Inside(Box<Line>),
    End {
        failed: bool,
    },
}

/// A front end: how it plays a conversation, and what it leaves out.
struct FrontEnd {
    name: &'static str,
    shows_thinking: bool,
    shows_output: bool,
    /// What it shows of a sub-agent.
    inside: fn(&Line) -> bool,
    play: fn(&TestEnv, &[&str]) -> Vec<Line>,
}

const FRONT_ENDS: &[FrontEnd] = &[
    // For people: a command's output is the model's business; the answer is what they asked for.
    FrontEnd { name: "text", shows_thinking: false, shows_output: false, inside: calls, play: text },
    // Seven types of events, and none for thinking, nor for whose they are.
    FrontEnd { name: "--json", shows_thinking: false, shows_output: true, inside: |_| false, play: jsonl },
    FrontEnd { name: "stream-json", shows_thinking: true, shows_output: true, inside: |_| true, play: sdk },
    FrontEnd {
        name: "start",
        shows_thinking: true,
        shows_output: true,
        inside: calls_and_results,
        play: gui,
    },
    FrontEnd { name: "acp", shows_thinking: true, shows_output: true, inside: calls_and_results, play: acp },
];

fn calls(line: &Line) -> bool {
    matches!(line, Line::Call { .. })
}

fn calls_and_results(line: &Line) -> bool {
    matches!(line, Line::Call { .. } | Line::Result { .. })
}

/// A conversation: what the model says, what is asked for beside the prompt, and how a front end that can say everything
/// tells it.
struct Conversation {
    replies: Vec<Message>,
    flags: &'static [&'static str],
    whole: Vec<Line>,
}

fn bash(command: &str) -> Value {
    json!({"command": command})
}

fn called(tool: &str, about: &str) -> Line {
    Line::Call { tool: tool.to_owned(), about: about.to_owned() }
}

fn came(failed: bool, output: &str) -> Line {
    Line::Result { failed, output: Some(output.to_owned()) }
}

fn said(text: &str) -> Line {
    Line::Text(text.to_owned())
}

/// Thinking, text, a call that works, one that fails, and the answer.
fn work() -> Conversation {
    Conversation {
        replies: vec![
            anthropic::thinking("Two things to try.", "sig").text("I look.").tool_use(
                "t1",
                "bash",
                bash("echo one"),
            ),
            anthropic::text("Now the other.").tool_use("t2", "bash", bash("echo two; exit 3")),
            anthropic::text("The first works."),
        ],
        flags: &[],
        whole: vec![
            Line::Thinking("Two things to try.".to_owned()),
            said("I look."),
            called("bash", "echo one"),
            came(false, "one"),
            said("Now the other."),
            called("bash", "echo two; exit 3"),
            came(true, "two"),
            said("The first works."),
            Line::End { failed: false },
        ],
    }
}

/// A call that a rule denies, and one that may run.
fn denial() -> Conversation {
    Conversation {
        replies: vec![
            anthropic::text("I try.").tool_use("t1", "bash", bash("touch made")),
            anthropic::tool_use("t2", "bash", bash("echo one")),
            anthropic::text("Only one of them."),
        ],
        flags: &["--deny", "Bash(touch:*)"],
        whole: vec![
            said("I try."),
            called("bash", "touch made"),
            came(true, "the rule `Bash(touch:*)` (--deny) denies touch made"),
            called("bash", "echo one"),
            came(false, "one"),
            said("Only one of them."),
            Line::End { failed: false },
        ],
    }
}

/// A sub-agent that runs a command and reports.
fn delegation() -> Conversation {
    let inside = |line: Line| Line::Inside(Box::new(line));
    Conversation {
        replies: vec![
            anthropic::text("Somebody else does it.").tool_use(
                "t1",
                "task",
                json!({"description": "count", "prompt": "Please count."}),
            ),
            anthropic::text("I count.").tool_use("c1", "bash", bash("echo three")),
            anthropic::text("Three."),
            anthropic::text("There are three."),
        ],
        flags: &[],
        whole: vec![
            said("Somebody else does it."),
            called("task", "count"),
            inside(said("I count.")),
            inside(called("bash", "echo three")),
            inside(came(false, "three")),
            inside(said("Three.")),
            came(false, "Three."),
            said("There are three."),
            Line::End { failed: false },
        ],
    }
}

impl FrontEnd {
    /// Returns the conversation as this front end has to tell it.
    fn expected(&self, whole: Vec<Line>) -> Vec<Line> {
        let told = |line: Line| match line {
            Line::Thinking(_) if !self.shows_thinking => None,
            Line::Inside(line) if !(self.inside)(&line) => None,
            Line::Result { failed, .. } if !self.shows_output => Some(Line::Result { failed, output: None }),
            line => Some(line),
        };
        whole.into_iter().filter_map(told).collect()
    }
}

#[test]
fn every_front_end_tells_the_same() {
    for conversation in [work, denial, delegation] {
        let mut asked = Vec::new();
        for front_end in FRONT_ENDS {
            let Conversation { replies, flags, whole } = conversation();
            let (last, name) = (replies.len() - 1, front_end.name);
            let (world, model) = with_model(replies);
            assert_eq!((front_end.play)(&world, flags), front_end.expected(whole), "{name}");
            assert!(!world.work().join("made").exists(), "{name}");
            // The model is told of the same calls, whoever watches; how results are laid out is the dialect's.
            let words = model.request(last).conversation().to_lowercase();
            let calls = words.lines().filter(|line| line.contains("tool_use ")).map(str::to_owned);
            asked.push(calls.collect::<Vec<_>>());
        }
        assert!(asked.iter().all(|calls| !calls.is_empty() && *calls == asked[0]), "{asked:?}");
    }
}

/// Both streams as one, since only together they have an order.
fn text(world: &TestEnv, flags: &[&str]) -> Vec<Line> {
    let args = [&["exec", "-p", "go"], flags].concat();
    let output = run(world, in_shell(world, r#"exec "$0" "$@" 2>&1"#, &args));
    let mut lines = Vec::new();
    for line in output.0.lines() {
        lines.push(if let Some(call) = line.strip_prefix("Tool requested: ") {
            let (tool, command) = call.split_once(" command=").expect("the line shows the command");
            called(tool, &serde_json::from_str::<String>(command).expect("the command is quoted"))
        } else if let Some(end) = line.strip_prefix("Tool finished: bash exit=") {
            Line::Result { failed: end != "0", output: None }
        } else if line.starts_with("Tool denied: ") || line.starts_with("⚙ task Done.") {
            Line::Result { failed: line.starts_with('T'), output: None }
        } else if let Some(about) = line.strip_prefix("  [1] general-purpose: ") {
            called("task", about)
        } else if let Some(command) = line.strip_prefix("  [1] bash ") {
            Line::Inside(Box::new(called("bash", command)))
        } else if line.starts_with('⚙') {
            continue;
        } else {
            said(line)
        });
    }
    lines.push(Line::End { failed: output.1 != Some(0) });
    lines
}

fn jsonl(world: &TestEnv, flags: &[&str]) -> Vec<Line> {
    let (stdout, code) = run(world, world.cmd(&[&["--json", "-p", "go"], flags].concat()));
    let mut lines = Vec::new();
    for event in events(&stdout) {
        match event["type"].as_str().expect("an event has a type") {
            "response_chunk" => piece(&mut lines, &event["text"]),
            "tool_call" => lines.push(call(&event["tool"], &event["input"])),
            "tool_result" => lines.push(result(event["exit_code"] != 0, &event["output"])),
            "response_end" => lines.push(Line::End { failed: code != Some(0) }),
            "cost" => {}
            other => panic!("{other}"),
        }
    }
    lines
}

/// The Claude protocol as SDKs read it: a line for each finished block.
fn sdk(world: &TestEnv, flags: &[&str]) -> Vec<Line> {
    let usual = ["--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"];
    let (stdout, code) = run(world, world.cmd(&[&usual[..], &["-p", "go"], flags].concat()));
    let mut lines = Vec::new();
    for message in objects(&stdout) {
        for block in message["message"]["content"].as_array().into_iter().flatten() {
            let line = match block["type"].as_str().expect("a block has a type") {
                "thinking" => Line::Thinking(block["thinking"].as_str().expect("a thought").to_owned()),
                // What a sub-agent is told stands in the call, too.
                "text" if message["type"] == "user" => continue,
                "text" => said(block["text"].as_str().expect("a text")),
                "tool_use" => call(&block["name"], &block["input"]),
                "tool_result" => result(block["is_error"] == true, &block["content"]),
                other => panic!("{other}"),
            };
            lines.push(of(&message["parent_tool_use_id"], line));
        }
        if message["type"] == "result" {
            assert_eq!(Some(&said(message["result"].as_str().expect("there is an answer"))), lines.last());
            lines.push(Line::End { failed: message["is_error"] == true || code != Some(0) });
        }
    }
    lines
}

/// The Claude protocol as GUIs read it: flat lines, text in pieces.
fn gui(world: &TestEnv, flags: &[&str]) -> Vec<Line> {
    let usual = ["start", "--provider", "anthropic", "--permission-mode", "auto", "--prompt", "go"];
    let (stdout, code) = run(world, world.cmd(&[&usual[..], flags].concat()));
    let mut lines = Vec::new();
    for message in objects(&stdout) {
        let parent = &message["parent_tool_use_id"];
        match message["type"].as_str().expect("a message has a type") {
            "thinking" if message["is_thinking"] == false => {}
            "thinking" => {
                lines.push(Line::Thinking(message["thought"].as_str().expect("a thought").to_owned()))
            }
            "text" => piece(&mut lines, &message["content"]),
            "tool_use" => lines.push(of(parent, call(&message["name"], &message["input"]))),
            "tool_result" => {
                lines.push(of(parent, result(message["is_error"] == true, &message["content"])));
            }
            "result" => lines.push(Line::End { failed: message["is_error"] == true || code != Some(0) }),
            "system" | "usage" | "message_stop" => {}
            other => panic!("{other}"),
        }
    }
    lines
}

/// An editor's view: updates, then why the turn ended.
fn acp(world: &TestEnv, flags: &[&str]) -> Vec<Line> {
    let mut editor = Editor::with_session(world, &[&["--permission-mode", "yolo"], flags].concat());
    let (updates, answer) = editor.turn("go");
    let (mut lines, mut parents) = (Vec::new(), HashMap::new());
    for update in updates {
        // Only the call says whose it is.
        let parent = parents
            .entry(update["toolCallId"].to_string())
            .or_insert_with(|| update["_meta"]["parentToolCallId"].clone());
        match update["sessionUpdate"].as_str().expect("an update has a kind") {
            "agent_thought_chunk" => {
                lines.push(Line::Thinking(update["content"]["text"].as_str().expect("a thought").to_owned()));
            }
            "agent_message_chunk" => piece(&mut lines, &update["content"]["text"]),
            "tool_call" => lines.push(of(parent, call(&update["name"], &update["rawInput"]))),
            // A call that begins, and what it has printed so far.
            "tool_call_update" if update["status"] == "in_progress" || update["status"].is_null() => {}
            "tool_call_update" => {
                let output = &update["content"][0]["content"]["text"];
                lines.push(of(parent, result(update["status"] == "failed", output)));
            }
            "usage_update" => {}
            other => panic!("{other}"),
        }
    }
    let (_, output) = editor.hang_up();
    let failed = answer["result"]["stopReason"] != "end_turn" || output.code() != Some(0);
    lines.push(Line::End { failed });
    lines
}

/// Says whose a line is: of whoever was started by a call, or the main agent's.
fn of(parent: &Value, line: Line) -> Line {
    match parent.is_null() {
        true => line,
        false => Line::Inside(Box::new(line)),
    }
}

/// Reads a stream of objects, one a line.
fn objects(stdout: &str) -> Vec<Value> {
    stdout.lines().map(|line| serde_json::from_str(line).expect("each line is an object")).collect()
}

/// Runs to the end and returns standard output and the exit code.
fn run(world: &TestEnv, command: Command) -> (String, Option<i32>) {
    let output = world.start(command, Stdin::Null, Stdout::Captured).finish();
    (output.stdout(), output.code())
}

/// Adds a piece of text to the text before it.
fn piece(lines: &mut Vec<Line>, words: &Value) {
    let words = words.as_str().expect("a piece is a text");
    match lines.last_mut() {
        Some(Line::Text(text)) => text.push_str(words),
        _ => lines.push(Line::Text(words.to_owned())),
    }
}

/// Names of tools differ in case from family to family.
fn call(tool: &Value, input: &Value) -> Line {
    let about = input["command"].as_str().or(input["description"].as_str());
    called(
        &tool.as_str().expect("a tool has a name").to_lowercase(),
        about.expect("the call is about something"),
    )
}

/// Layouts of results differ: the Claude protocol adds the exit code in a line of its own, and a report is data in some.
fn result(failed: bool, output: &Value) -> Line {
    let output = output.as_str().expect("the output is a text");
    let report = serde_json::from_str::<Value>(output).ok();
    let output = report.as_ref().and_then(|report| report["text"].as_str()).unwrap_or(output);
    Line::Result { failed, output: output.lines().find(|line| *line != "Exit code 3").map(str::to_owned) }
}
