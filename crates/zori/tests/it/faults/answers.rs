//! Answers that go wrong below the API, or are none (NET-4, NET-11): framing, heads, lengths, bodies.

use zori_testkit::faults::{self, Fault, Verdict};
use zori_testkit::reply::Reply;

use super::apis::{APIS, Api};
use super::{each, play};

struct Case {
    api: &'static Api,
    fault: Fault,
}

fn check(Case { api, fault }: &Case) {
    let name = format!("{}, {}", api.name, fault.name);
    let played = play(api, vec![fault.reply.clone()], "0", "");
    played.sound(&name);
    let (stdout, code, requests) = played.seen();
    let stderr = played.output.stderr();
    assert_eq!(requests, 1, "{name}: {}", played.output);
    let expected = match fault.verdict {
        Verdict::Whole => (0, ""),
        Verdict::Broken => (12, "Error [transport]: "),
        Verdict::Unreadable => (1, "Error [parse]: "),
    };
    let talk = stderr.lines().find(|line| line.starts_with("Error")).unwrap_or_default();
    assert!(code == expected.0 && talk.starts_with(expected.1), "{name}: {}", played.output);
    let text = api.last.text();
    match fault.verdict {
        Verdict::Whole => assert_eq!(stdout, text, "{name}"),
        _ => assert!(text.starts_with(stdout.trim_end()), "{name}: {stdout}"),
    }
    assert!(stderr.len() < 4096, "{name} is told at length: {stderr}");
}

#[test]
fn every_fault_of_every_api() {
    let cases: Vec<_> = APIS
        .iter()
        .flat_map(|api| {
            faults::for_stream(&api.last.bytes()).into_iter().map(move |fault| Case { api, fault })
        })
        .collect();
    each(&cases, check);
}

/// An error that comes with status 200, as each API writes one.
#[test]
fn an_error_with_a_good_status() {
    let errors = [
        ("anthropic", r#"{"type":"error","error":{"type":"overloaded_error","message":"busy"}}"#, 12),
        ("openai-chat", r#"{"error":{"message":"busy","type":"server_error","code":null}}"#, 12),
        ("codex", r#"{"error":{"message":"busy","type":"server_error","code":null}}"#, 12),
        ("gemini", r#"[{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}]"#, 12),
        ("openrouter", r#"{"error":{"message":"busy","code":502}}"#, 12),
        ("ollama", r#"{"error":{"message":"busy","type":"api_error"}}"#, 1),
        ("compat", r#"{"error":"busy"}"#, 1),
    ];
    each(&errors, |(name, body, code)| {
        let api = APIS.iter().find(|api| api.name == *name).expect("it is in the table");
        let played = play(api, vec![Reply::json(200, body)], "0", "");
        played.sound(name);
        assert_eq!(played.seen(), (String::new(), *code, 1), "{name}: {}", played.output);
        let stderr = played.output.stderr();
        assert!(stderr.contains("busy"), "{name}: {stderr}");
    });
}
