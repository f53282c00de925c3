//! Events in, both streams out, as whole strings.

use std::time::Duration;

use zori_core::agent::AgentFacts;
use zori_core::compaction::CompactCause;
use zori_core::event::SessionEvent;
use zori_core::outcome::CancelCause;

use super::*;
use crate::sample::{
    Broken, Paper, bash, begun, delta, event, exited, failed, failure, finished, ok, prompt, replied,
    requested, started, thinking, turn_over, warning,
};

const PIPES: TextStyle = TextStyle { stdout_terminal: false, stderr_terminal: false, colour: false };
pub(super) const SCREEN: TextStyle =
    TextStyle { stdout_terminal: true, stderr_terminal: true, colour: false };
pub(super) const COLOUR: TextStyle = TextStyle { colour: true, ..SCREEN };

/// Returns what is on stdout and on stderr after the events.
fn render(style: TextStyle, events: &[Event]) -> (String, String) {
    let (out, err) = (Paper::default(), Paper::default());
    let mut renderer =
        TextRenderer::new(Box::new(out.clone()), Box::new(err.clone()), style, Redactor::default());
    for event in events {
        renderer.on_event(event).unwrap();
    }
    renderer.finish().unwrap();
    (out.text(), err.text())
}

/// Returns what a screen shows that both streams go to.
pub(super) fn screen(style: TextStyle, events: &[Event]) -> String {
    let both = Paper::default();
    let mut renderer =
        TextRenderer::new(Box::new(both.clone()), Box::new(both.clone()), style, Redactor::default());
    for event in events {
        renderer.on_event(event).unwrap();
    }
    renderer.finish().unwrap();
    both.text()
}

#[track_caller]
fn check(events: &[Event], out: &str, err: &str) {
    assert_eq!(render(PIPES, events), (out.to_owned(), err.to_owned()));
}

#[test]
fn one_newline_ends_stdout() {
    for text in ["Hello", "Hello\n", "Hello\n\n\n"] {
        check(&[prompt(), begun(), delta(text), replied(), turn_over()], "Hello\n", "");
    }
}

#[test]
fn newlines_inside_are_kept_however_they_are_cut() {
    let events = ["\n", "a\n", "\n", "\nb", "\n", "c\n", "\n"].map(delta);
    check(&[&events[..], &[replied(), turn_over()]].concat(), "\na\n\n\nb\nc\n", "");
}

#[test]
fn no_text_no_bytes() {
    check(&[prompt(), begun(), delta("\n\n"), replied(), turn_over()], "", "");
}

/// SCR-3: in what is said about the run, not in the answer.
#[test]
fn a_secret_is_not_shown_on_stderr() {
    let key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";
    let command = format!("curl -u me:{key} host");
    let events = [bash(&command), begun(), delta(key), replied(), warning(key)];
    let err = "Tool requested: bash command=\"curl -u me:[REDACTED] host\"\nWarning: [REDACTED]\n";
    check(&events, &format!("{key}\n"), err);
}

/// A reply that is never finished still ends its line.
#[test]
fn a_turn_without_end() {
    check(&[prompt(), begun(), delta("Hel")], "Hel\n", "");
}

#[test]
fn each_message_ends_its_line() {
    let events = [
        begun(),
        delta("I look."),
        replied(),
        requested("1", "read", 1),
        started("1", "read"),
        finished("1", "read", ok(), Some(12)),
        begun(),
        delta("Done"),
        replied(),
        turn_over(),
    ];
    check(&events, "I look.\nDone\n", "⚙ Running read... Done. (0.01s)\n");
}

/// OUT-4: what was collected is written when the engine waits.
#[test]
fn flush_writes_text_without_its_newline() {
    let out = Paper::default();
    let mut renderer =
        TextRenderer::new(Box::new(out.clone()), Box::new(Paper::default()), PIPES, Redactor::default());
    renderer.on_event(&delta("Hel")).unwrap();
    assert_eq!(out.text(), "");
    renderer.flush().unwrap();
    assert_eq!(out.text(), "Hel");
    renderer.on_event(&delta("lo\n")).unwrap();
    renderer.flush().unwrap();
    assert_eq!(out.text(), "Hello");
    renderer.on_event(&delta(&"x".repeat(9_000))).unwrap();
    assert_eq!(out.text().len(), "Hello\n".len() + 9_000);
}

#[test]
fn parallel_tools_have_lines_of_their_own() {
    let events = [
        begun(),
        requested("1", "read", 3),
        requested("2", "grep", 3),
        requested("3", "read", 3),
        started("1", "read"),
        started("2", "grep"),
        started("3", "read"),
        finished("3", "read", ok(), Some(5)),
        finished("1", "read", ok(), Some(1_234)),
        finished("2", "grep", ok(), Some(0)),
    ];
    check(
        &events,
        "",
        "⚙ Running read #1...\n⚙ Running grep...\n⚙ Running read #2...\n\
         ⚙ read #2 Done. (0.01s)\n⚙ read #1 Done. (1.23s)\n⚙ grep Done. (0.00s)\n",
    );
}

#[test]
fn shell_lines() {
    let cases = [
        (exited(0, false), "Tool finished: bash exit=0\n"),
        (exited(-1, true), "Tool finished: bash timed_out=true\n"),
        (failed(ToolCode::SpawnError, "no\nsh"), "Tool finished: bash error=\"no\\nsh\"\n"),
    ];
    for (output, line) in cases {
        let events = [bash("ls\necho \"a\""), started("1", "bash"), finished("1", "bash", output, Some(10))];
        let requested = "Tool requested: bash command=\"ls\\necho \"a\"\"\n";
        check(&events, "", &format!("{requested}⚙ Running bash... Done. (0.01s)\n{line}"));
    }
    // Arguments that made no sense: the tool was never found out.
    let EventKind::Tool(ToolEvent::ToolFinished(mut done)) =
        finished("1", "bash", failed(ToolCode::InvalidInput, "m"), None).kind
    else {
        unreachable!("it is what `finished` makes")
    };
    done.kind = None;
    check(&[event(ToolEvent::ToolFinished(done))], "", "Tool finished: bash error=\"m\"\n");
}

#[test]
fn failures_of_other_tools() {
    let cases = [
        (Some(1), ToolCode::PathError, "⚙ Running read... Done. (0.00s)\nTool failed: read path_error: m\n"),
        (None, ToolCode::InvalidInput, "Tool failed: read invalid_input: m\n"),
        (None, ToolCode::PermissionDenied, "Tool denied: read: m\n"),
        (None, ToolCode::Canceled, ""),
    ];
    for (millis, code, err) in cases {
        let mut events = vec![requested("1", "read", 1)];
        events.extend(millis.map(|_| started("1", "read")));
        events.push(finished("1", "read", failed(code, "m"), millis));
        check(&events, "", err);
    }
}

#[test]
fn a_line_between_the_halves_of_a_tool_line() {
    let events = [
        requested("1", "read", 1),
        started("1", "read"),
        warning("disk\nfull"),
        finished("1", "read", ok(), Some(20)),
    ];
    check(&events, "", "⚙ Running read...\nWarning: disk\\nfull\n⚙ read Done. (0.02s)\n");
}

#[test]
fn errors() {
    let error = |details| event(TurnEvent::Error { failure: failure("HTTP 400: no\x1b[2J", details) });
    check(&[error(None), turn_over()], "", "Error [http_status]: HTTP 400: no\\x1b[2J\n");
    check(
        &[delta("Hel"), error(Some("{\n}")), turn_over()],
        "Hel\n",
        "Error [http_status]: HTTP 400: no\\x1b[2J\n  Details: {\\n}\n",
    );
}

#[test]
fn an_interrupt() {
    let events = [delta("Hel"), replied(), event(TurnEvent::Interrupted), cancelled()];
    check(&events, "Hel\n", "\n^C Interrupted.\n");
    let events = [started("1", "read"), event(TurnEvent::Interrupted), cancelled()];
    check(&events, "", "⚙ Running read...\n^C Interrupted.\n");
}

fn cancelled() -> Event {
    let mut event = turn_over();
    if let EventKind::Turn(TurnEvent::TurnFinished(summary)) = &mut event.kind {
        summary.outcome = zori_core::outcome::Outcome::Cancelled(CancelCause::User);
    }
    event
}

#[test]
fn retries_and_notices() {
    let retrying = EventKind::Message(MessageEvent::Retrying {
        attempt: 1,
        max: 4,
        delay: Duration::from_millis(1_040),
        failure: failure("HTTP 529: overloaded", None),
    });
    let info = EventKind::Notice(Notice {
        level: NoticeLevel::Info,
        code: "i",
        text: "Using a local model".to_owned(),
    });
    let over =
        EventKind::Notice(Notice { level: NoticeLevel::Error, code: "e", text: "It is over".to_owned() });
    check(
        &[event(retrying), event(info), warning("careful"), event(over)],
        "",
        "Retrying in 1.0s (1/4): HTTP 529: overloaded\nUsing a local model\nWarning: careful\nError: It is over\n",
    );
}

#[test]
fn tasks() {
    let todo = |content: &str, status| Todo { content: content.to_owned(), status };
    let todos = [
        todo("read", TodoStatus::Completed),
        todo("write", TodoStatus::InProgress),
        todo("te\nst", TodoStatus::Pending),
    ];
    let changed = event(StateEvent::TodosChanged { todos: todos.into() });
    check(&[changed], "", "Tasks:\n  [x] read\n  [>] write\n  [ ] te\\nst\n");
}

#[test]
fn control_characters_are_exact_on_a_pipe_and_visible_on_a_screen() {
    let events = [delta("a\x1b[31m\tb"), replied()];
    assert_eq!(render(PIPES, &events).0, "a\x1b[31m\tb\n");
    assert_eq!(render(SCREEN, &events).0, "a\\x1b[31m\tb\n");
}

/// One line for each call it makes; what it says is said to the agent that started it.
#[test]
fn a_sub_agent_is_seen_and_not_heard() {
    let sub = |event: Event| Event { agent: AgentId(1), parent: Some(CallId::new("1")), ..event };
    let facts = AgentFacts {
        description: "Count\nlines".into(),
        kind: "general-purpose".into(),
        model: "m".into(),
        prompt: "p".into(),
    };
    check(
        &[
            delta("a"),
            started("1", "task"),
            sub(event(SessionEvent::AgentStarted(facts))),
            sub(delta("b")),
            sub(bash("wc -l *")),
            sub(started("1", "bash")),
            sub(finished("1", "bash", ok(), Some(10))),
            sub(started("9", "read")),
            sub(warning("w")),
            sub(turn_over()),
            finished("1", "task", ok(), Some(10)),
            delta("c"),
            replied(),
        ],
        "ac\n",
        "⚙ Running task...\n  [1] general-purpose: Count\\nlines\n  [1] bash wc -l *\n  [1] read\nWarning: w\n\
         ⚙ task Done. (0.01s)\n",
    );
}

#[test]
fn text_on_a_screen_is_left_before_talk() {
    let events = [delta("Hel"), warning("w"), delta("lo"), replied(), turn_over()];
    assert_eq!(screen(SCREEN, &events), "Hel\nWarning: w\nlo\n");
    // On pipes each stream is what it would be without the other.
    check(&events, "Hello\n", "Warning: w\n");
}

#[test]
fn reasoning_is_dim_and_only_on_a_coloured_screen() {
    let events = [begun(), thinking("Hm\x07"), thinking("."), delta("Yes"), replied(), turn_over()];
    assert_eq!(screen(COLOUR, &events), "\x1b[2mHm\\x07.\x1b[0m\nYes\n");
    assert_eq!(screen(SCREEN, &events), "Yes\n");
    check(&events, "Yes\n", "");
}

#[test]
fn tool_lines_are_dim_in_colour() {
    let events = [started("1", "read"), finished("1", "read", ok(), Some(10))];
    assert_eq!(screen(COLOUR, &events), "\x1b[2m⚙ Running read...\x1b[0m\x1b[2m Done. (0.01s)\x1b[0m\n");
}

#[test]
fn a_closed_stdout_is_an_error_and_a_closed_stderr_is_not() {
    let out = Paper::default();
    let broken = || Box::new(Broken(io::ErrorKind::BrokenPipe));
    let mut renderer = TextRenderer::new(Box::new(out.clone()), broken(), PIPES, Redactor::default());
    renderer.on_event(&warning("w")).unwrap();
    renderer.on_event(&delta("a")).unwrap();
    renderer.finish().unwrap();
    assert_eq!(out.text(), "a\n");

    let mut renderer = TextRenderer::new(broken(), Box::new(Paper::default()), PIPES, Redactor::default());
    renderer.on_event(&delta("a")).unwrap();
    assert_eq!(renderer.flush().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}

#[test]
fn another_view_is_one_line_each() {
    let compacted = |how| {
        event(StateEvent::ContextCompacted(Compaction {
            how,
            cause: CompactCause::NearlyFull,
            before: 161_000,
            after: 98_000,
            window: Some(200_000),
            view: std::sync::Arc::from([]),
            summary: None,
        }))
    };
    let events = [
        Compacted::Masked { results: 1 },
        Compacted::Masked { results: 12 },
        Compacted::Summarised { messages: 34 },
        Compacted::Dropped { messages: 34 },
        Compacted::Undone,
    ]
    .map(compacted);
    check(
        &events,
        "",
        "Context: left out 1 older tool output, about 161000 -> 98000 tokens\n\
         Context: left out 12 older tool outputs, about 161000 -> 98000 tokens\n\
         Context: summarised the 34 oldest messages, about 161000 -> 98000 tokens\n\
         Warning: the 34 oldest messages are left out without a summary, about 161000 -> 98000 tokens\n\
         Context: put the conversation back as it was before, about 161000 -> 98000 tokens\n",
    );
}
