//! `start`: runs for a GUI, in the Yume dialect (`docs/contracts/claude-protocol.md`).

mod frames;
mod sessions;
mod trouble;
mod turns;

use serde_json::Value;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::running::{Running, Stdin, Stdout};

/// A prompt, as a line.
const HI: &str = "{\"type\":\"user\",\"content\":\"hi\"}\n";

/// One turn of a session `s`, and how it came out.
fn prompted(world: &TestEnv, prompt: &str, args: &[&str]) -> CommandOutput {
    world.run(&[&["start", "--session-id", "s", "--prompt", prompt], args].concat())
}

/// A session `s` with this on standard input, from beginning to end.
fn told(world: &TestEnv, input: impl Into<Vec<u8>>) -> CommandOutput {
    world.run_with_stdin(&["start", "--session-id", "s"], input)
}

/// A session `s` whose standard input stays open.
fn opened(world: &TestEnv, args: &[&str]) -> Running {
    let args = [&["start", "--session-id", "s"], args].concat();
    world.start(world.cmd(&args), Stdin::Open, Stdout::Captured)
}

/// A run as it is, but for times, which differ from run to run. Every test reads its lines with this or with [`brief`],
/// so every line of every run is held against the framing rules.
#[track_caller]
fn whole(output: &CommandOutput) -> String {
    let mut text = String::new();
    for mut value in lines(&output.stdout()) {
        still(&mut value);
        text.push_str(&format!("{value}\n"));
    }
    rest(text, output)
}

/// A run with `init` and `result` reduced to what tests about something else want of them.
#[track_caller]
fn brief(output: &CommandOutput) -> String {
    let mut text = String::new();
    for value in lines(&output.stdout()) {
        text.push_str(&short(&value));
        text.push('\n');
    }
    rest(text, output)
}

fn rest(mut text: String, output: &CommandOutput) -> String {
    let shown = output.to_string();
    let after = shown.strip_prefix(&output.stdout()).expect("stdout is shown first");
    text.push_str(after);
    text
}

/// Returns the lines of a stream: objects with a `type`, one a line, none of them too long.
#[track_caller]
fn lines(stdout: &str) -> Vec<Value> {
    assert!(stdout.is_empty() || stdout.ends_with('\n'), "{stdout}");
    let line = |line: &str| {
        assert!(line.len() < 100_000, "a line of {} bytes", line.len());
        assert!(line.starts_with("{\"type\":\""), "{line}");
        serde_json::from_str::<Value>(line).unwrap_or_else(|error| panic!("{error}: {line}"))
    };
    let lines: Vec<Value> = stdout.split_terminator('\n').map(line).collect();
    let inits = lines.iter().filter(|line| line["subtype"] == "init").count();
    assert!(
        inits <= 1 && (inits == 0 || lines[0]["subtype"] == "init"),
        "init comes first, and once:\n{stdout}"
    );
    lines
}

fn short(value: &Value) -> String {
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    match (text("type").as_str(), text("subtype").as_str()) {
        ("system", "init") => format!("init {} {}", text("session_id"), text("permissionMode")),
        ("result", subtype) => format!(
            "result {subtype} is_error={} {} turns={} {}",
            value["is_error"],
            value["terminal_reason"],
            value["num_turns"],
            value.get("errors").unwrap_or(&value["result"])
        ),
        ("usage", _) => format!("usage {} {}", value["input_tokens"], value["output_tokens"]),
        _ => {
            let mut value = value.clone();
            still(&mut value);
            value.to_string()
        }
    }
}

/// Takes the times out.
fn still(value: &mut Value) {
    for name in ["duration_ms", "duration_api_ms", "ttft_ms", "retry_delay_ms"] {
        if let Some(time) = value.get_mut(name) {
            assert!(time.is_u64(), "{time}");
            *time = "$TIME".into();
        }
    }
}
