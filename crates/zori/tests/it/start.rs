//! `start`: runs for a GUI, in the Yume dialect (`stream-json.md` chapters 5, 6, 9 to 14).

mod frames;
mod sessions;
mod trouble;
mod turns;

use serde_json::Value;
use zori_testkit::output::CommandOutput;

/// A run as it is, but for times, which differ from run to run. Every test reads its lines with this or with [`brief`],
/// so every line of every run is held against the framing rules (chapter 1).
#[track_caller]
fn whole(output: &CommandOutput) -> String {
    let mut text = String::new();
    for mut value in lines(&output.stdout()) {
        still(&mut value);
        text.push_str(&format!("{}\n", ordered(&value)));
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
            ordered(&value)
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

/// The line with its type first, as it was.
fn ordered(value: &Value) -> String {
    let mut map = value.as_object().expect("a line is an object").clone();
    let mut text = format!("{{\"type\":{}", map.remove("type").expect("a line has a type"));
    for (name, value) in map {
        text.push_str(&format!(",\"{name}\":{value}"));
    }
    text + "}"
}
