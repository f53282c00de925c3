//! The same session everywhere: one conversation through every front end. Each has to tell the same text, the same calls and
//! results in the same order, and the same end. What a front end cannot say stands in its entry, and in `docs/protocols/`.

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
    Call { tool: String, command: String },
    Result { failed: bool, output: Option<String> },
    End { failed: bool },
}

/// A front end: how it plays the conversation, and what it leaves out.
struct FrontEnd {
    name: &'static str,
    shows_thinking: bool,
    shows_output: bool,
    play: fn(&TestEnv) -> Vec<Line>,
}

const FRONT_ENDS: &[FrontEnd] = &[
    // For people: a command's output is the model's business; the answer is what they asked for.
    FrontEnd { name: "text", shows_thinking: false, shows_output: false, play: text },
    // Seven types of events, and none for thinking.
    FrontEnd { name: "--json", shows_thinking: false, shows_output: true, play: jsonl },
    FrontEnd { name: "stream-json", shows_thinking: true, shows_output: true, play: sdk },
    FrontEnd { name: "start", shows_thinking: true, shows_output: true, play: gui },
    FrontEnd { name: "acp", shows_thinking: true, shows_output: true, play: acp },
];

/// What the model says: thinking, text, a call that works, one that fails, and the answer.
fn conversation() -> [Message; 3] {
    let call = |command: &str| json!({"command": command});
    [
        anthropic::thinking("Two things to try.", "sig").text("I look.").tool_use(
            "t1",
            "bash",
            call("echo one"),
        ),
        anthropic::text("Now the other.").tool_use("t2", "bash", call("echo two; exit 3")),
        anthropic::text("The first works."),
    ]
}

/// The conversation as a front end that can say everything tells it.
fn whole() -> Vec<Line> {
    let call = |command: &str| Line::Call { tool: "bash".to_owned(), command: command.to_owned() };
    let result = |failed, output: &str| Line::Result { failed, output: Some(output.to_owned()) };
    vec![
        Line::Thinking("Two things to try.".to_owned()),
        Line::Text("I look.".to_owned()),
        call("echo one"),
        result(false, "one"),
        Line::Text("Now the other.".to_owned()),
        call("echo two; exit 3"),
        result(true, "two"),
        Line::Text("The first works.".to_owned()),
        Line::End { failed: false },
    ]
}

impl FrontEnd {
    /// Returns the conversation as this front end has to tell it.
    fn expected(&self) -> Vec<Line> {
        let said = |line: Line| match line {
            Line::Thinking(_) if !self.shows_thinking => None,
            Line::Result { failed, .. } if !self.shows_output => Some(Line::Result { failed, output: None }),
            line => Some(line),
        };
        whole().into_iter().filter_map(said).collect()
    }
}

#[test]
fn every_front_end_tells_the_same() {
    for front_end in FRONT_ENDS {
        let (world, model) = with_model(conversation());
        assert_eq!((front_end.play)(&world), front_end.expected(), "{}", front_end.name);
        let asked = model.request(2).conversation();
        assert!(asked.contains("tool_result t1") && asked.contains("t2"), "{}: {asked}", front_end.name);
    }
}

/// Both streams as one, since only together they have an order.
fn text(world: &TestEnv) -> Vec<Line> {
    let output = run(world, in_shell(world, r#"exec "$0" "$@" 2>&1"#, &["exec", "-p", "go"]));
    let mut lines = Vec::new();
    for line in output.0.lines() {
        if let Some(call) = line.strip_prefix("Tool requested: ") {
            let (tool, command) = call.split_once(" command=").expect("the line shows the command");
            let command = serde_json::from_str(command).expect("the command is quoted");
            lines.push(Line::Call { tool: tool.to_owned(), command });
        } else if let Some(end) = line.strip_prefix("Tool finished: bash exit=") {
            lines.push(Line::Result { failed: end != "0", output: None });
        } else if !line.starts_with('⚙') {
            lines.push(Line::Text(line.to_owned()));
        }
    }
    lines.push(Line::End { failed: output.1 != Some(0) });
    lines
}

fn jsonl(world: &TestEnv) -> Vec<Line> {
    let (stdout, code) = run(world, world.cmd(&["--json", "-p", "go"]));
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
fn sdk(world: &TestEnv) -> Vec<Line> {
    let flags = ["--output-format", "stream-json", "--verbose", "--permission-mode", "bypassPermissions"];
    let (stdout, code) = run(world, world.cmd(&[&flags[..], &["-p", "go"]].concat()));
    let mut lines = Vec::new();
    for message in objects(&stdout) {
        for block in message["message"]["content"].as_array().into_iter().flatten() {
            lines.push(match block["type"].as_str().expect("a block has a type") {
                "thinking" => Line::Thinking(block["thinking"].as_str().expect("a thought").to_owned()),
                "text" => Line::Text(block["text"].as_str().expect("a text").to_owned()),
                "tool_use" => call(&block["name"], &block["input"]),
                "tool_result" => result(block["is_error"] == true, &block["content"]),
                other => panic!("{other}"),
            });
        }
        if message["type"] == "result" {
            assert_eq!(message["result"], "The first works.");
            lines.push(Line::End { failed: message["is_error"] == true || code != Some(0) });
        }
    }
    lines
}

/// The Claude protocol as GUIs read it: flat lines, text in pieces.
fn gui(world: &TestEnv) -> Vec<Line> {
    let flags = ["start", "--provider", "anthropic", "--permission-mode", "auto", "--prompt", "go"];
    let (stdout, code) = run(world, world.cmd(&flags));
    let mut lines = Vec::new();
    for message in objects(&stdout) {
        match message["type"].as_str().expect("a message has a type") {
            "thinking" if message["is_thinking"] == false => {}
            "thinking" => {
                lines.push(Line::Thinking(message["thought"].as_str().expect("a thought").to_owned()))
            }
            "text" => piece(&mut lines, &message["content"]),
            "tool_use" => lines.push(call(&message["name"], &message["input"])),
            "tool_result" => lines.push(result(message["is_error"] == true, &message["content"])),
            "result" => lines.push(Line::End { failed: message["is_error"] == true || code != Some(0) }),
            "system" | "usage" | "message_stop" => {}
            other => panic!("{other}"),
        }
    }
    lines
}

/// An editor's view: updates, then why the turn ended.
fn acp(world: &TestEnv) -> Vec<Line> {
    let mut editor = Editor::with_session(world, &["--permission-mode", "yolo"]);
    let (updates, answer) = editor.turn("go");
    let mut lines = Vec::new();
    for update in updates {
        match update["sessionUpdate"].as_str().expect("an update has a kind") {
            "agent_thought_chunk" => {
                lines.push(Line::Thinking(update["content"]["text"].as_str().expect("a thought").to_owned()));
            }
            "agent_message_chunk" => piece(&mut lines, &update["content"]["text"]),
            "tool_call" => lines.push(call(&update["name"], &update["rawInput"])),
            // A call that begins, and what it has printed so far.
            "tool_call_update" if update["status"] == "in_progress" || update["status"].is_null() => {}
            "tool_call_update" => {
                lines.push(result(update["status"] == "failed", &update["content"][0]["content"]["text"]));
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
    let tool = tool.as_str().expect("a tool has a name").to_lowercase();
    Line::Call { tool, command: input["command"].as_str().expect("bash has a command").to_owned() }
}

/// Layouts of results differ: the Claude protocol adds the exit code in a line of its own.
fn result(failed: bool, output: &Value) -> Line {
    let mut lines = output.as_str().expect("the output is a text").lines();
    Line::Result { failed, output: lines.find(|line| *line != "Exit code 3").map(str::to_owned) }
}
