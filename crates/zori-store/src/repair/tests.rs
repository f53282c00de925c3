//! Records in, a history out. The order of records stands for a file in which some lines are missing.

use super::*;
use crate::record::decode::decode;
use crate::sample::{Dice, check_history, show};

/// One letter per record: `u` user, `a` assistant text, `t` thinking, `1`-`9` a call, `!1` its result, `.` the
/// reply of the record before is over, `x` interrupted, `n` notice, `_` blank assistant text.
fn records(script: &str) -> Vec<Record> {
    let mut out: Vec<Record> = Vec::new();
    let mut letters = script.chars().filter(|c| *c != ' ');
    let end = r#","usage":{"input_tokens":1}"#;
    while let Some(letter) = letters.next() {
        let line = |end: &str| match letter {
            'u' => r#"{"type":"message","role":"user","text":"u"}"#.to_owned(),
            'a' => format!(r#"{{"type":"message","role":"assistant","text":"a"{end}}}"#),
            '_' => format!(r#"{{"type":"message","role":"assistant","text":" \n"{end}}}"#),
            't' => format!(r#"{{"type":"reasoning","text":"t"{end}}}"#),
            'x' => r#"{"type":"interrupted","role":"system","text":"Interrupted"}"#.to_owned(),
            'n' => r#"{"type":"notice","level":"warning","code":"c","text":"n"}"#.to_owned(),
            id if id.is_ascii_digit() => {
                format!(r#"{{"type":"tool_use","id":"{id}","name":"read","input":{{}}{end}}}"#)
            }
            other => panic!("{other:?} is no record"),
        };
        let line = match letter {
            '!' => {
                let id = letters.next().expect("an id follows `!`");
                format!(r#"{{"type":"tool_result","tool_use_id":"{id}","output":{{"ok":true}},"ok":true}}"#)
            }
            '.' => {
                let last = out.last_mut().expect("a record stands before `.`");
                last.reply_end =
                    decode(format!(r#"{{"type":"reasoning"{end}}}"#).as_bytes()).records[0].reply_end.clone();
                continue;
            }
            _ => line(""),
        };
        out.extend(decode(line.as_bytes()).records);
    }
    out
}

#[track_caller]
fn check(script: &str, expected: &str) {
    let history = repair(records(script));
    check_history(&history);
    assert_eq!(show(&history), expected, "{script}");
}

#[test]
fn sound_sessions() {
    check("", "");
    check("u a.", "User: \"u\"\nAssistant: \"a\"\n");
    check(
        "u t a 1 2. !1 !2 t a. u a.",
        r#"User: "u"
Assistant: think("t", -) | "a" | 1(read {}) | 2(read {})
User: 1 ok: read {"ok":true} | 2 ok: read {"ok":true}
Assistant: think("t", -) | "a"
User: "u"
Assistant: "a"
"#,
    );
}

#[test]
fn results_stand_in_call_order_before_what_the_user_added() {
    check(
        "u 1 2. !2 u !1 a.",
        r#"User: "u"
Assistant: 1(read {}) | 2(read {})
User: 1 ok: read {"ok":true} | 2 ok: read {"ok":true} | "u"
Assistant: "a"
"#,
    );
}

#[test]
fn calls_without_results() {
    let lost = r#"1 failed: read {"ok":false,"error":{"code":"canceled",""#;
    check("u 1.", &format!("User: \"u\"\nAssistant: 1(read {{}})\nUser: {lost}\n"));
    check("u 1. u", &format!("User: \"u\"\nAssistant: 1(read {{}})\nUser: {lost} | \"u\"\n"));
    check("u 1. a.", &format!("User: \"u\"\nAssistant: 1(read {{}})\nUser: {lost}\nAssistant: \"a\"\n"));
    // Too late: the call has been answered for.
    check("u 1. a. !1", &format!("User: \"u\"\nAssistant: 1(read {{}})\nUser: {lost}\nAssistant: \"a\"\n"));
}

#[test]
fn the_text_for_a_lost_result() {
    let history = repair(records("u 1."));
    let Block::ToolResult(result) = &history[2].blocks[0] else { panic!("{}", show(&history)) };
    assert_eq!(
        result.content(),
        r#"{"ok":false,"error":{"code":"canceled","message":"The session ended before this call had a result, so it may or may not have run. Check its effects, then call it again if it is still needed."}}"#
    );
}

#[test]
fn results_without_calls_are_dropped() {
    check("u !1 a.", "User: \"u\"\nAssistant: \"a\"\n");
    check("!1", "");
    check("u 1. !1 !1 !2", "User: \"u\"\nAssistant: 1(read {})\nUser: 1 ok: read {\"ok\":true}\n");
}

#[test]
fn neighbours_of_one_role_are_merged() {
    check("u x u a. a. u", "User: \"u\" | \"u\"\nAssistant: \"a\" | \"a\"\nUser: \"u\"\n");
}

#[test]
fn interrupts_notices_and_blank_text_are_not_sent() {
    check("u n _. x u a.", "User: \"u\" | \"u\"\nAssistant: \"a\"\n");
    check("u t. x u", "User: \"u\" | \"u\"\n");
}

#[test]
fn a_lost_start_is_said() {
    check("a.", "User: \"[The beginning of this conversation could not be read.]\"\nAssistant: \"a\"\n");
}

#[test]
fn ids_that_repeat() {
    // Twice in one reply: the record was written twice.
    check("u 1 1. !1", "User: \"u\"\nAssistant: 1(read {})\nUser: 1 ok: read {\"ok\":true}\n");
    // In a later reply: a provider without ids of its own.
    check(
        "u 1. !1 1. !1",
        r#"User: "u"
Assistant: 1(read {})
User: 1 ok: read {"ok":true}
Assistant: 1-2(read {})
User: 1-2 ok: read {"ok":true}
"#,
    );
}

/// LOG-11: whatever is missing, providers accept the rest.
#[test]
fn any_part_of_a_session_gives_a_valid_history() {
    let whole = records("u t a 1 2. !2 u !1 t 3. !3 a. x u n 1. !1 _ t. u 4 a 5. !5 !4 a.");
    let mut dice = Dice(7);
    for _ in 0..20_000 {
        let share = 1 + dice.below(8);
        let part: Vec<Record> = whole.iter().filter(|_| dice.below(8) < share).cloned().collect();
        check_history(&repair(part));
    }
}
