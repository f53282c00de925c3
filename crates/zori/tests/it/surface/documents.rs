//! Documents: exports, printed as they are, and nothing in them more than text. Handoffs are in `handoff.rs`.

use serde_json::json;

use super::{envelope, with_session};

/// HO-9: keys of this process, and whatever looks like a secret.
#[test]
fn secrets_do_not_leave() {
    let mut world = with_session();
    let key = "sk-ant-api03-0123456789abcdefghij";
    world.set_var("ANTHROPIC_API_KEY", key);
    crate::sessions::put_session(
        &world,
        "k",
        &format!("{{\"type\":\"message\",\"role\":\"user\",\"text\":\"my key is {key}\"}}\n"),
    );
    for args in [
        &["handoff", "--goal", "x", "--from-session", "k"][..],
        &["sessions", "export", "k"],
        &["sessions", "export", "k", "--to", "html"],
        &["sessions", "export", "k", "--to", "json"],
    ] {
        let text = world.run(args).success().stdout();
        assert!(!text.contains(key) && text.contains("[REDACTED]"), "{args:?}: {text}");
    }
}

/// The page parses, refers to nothing outside, and every text in it is escaped.
#[test]
fn a_page_that_needs_nothing_else() {
    let world = with_session();
    let page = world.run(&["sessions", "export", "s", "--to", "html"]).success().stdout();
    assert!(page.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"), "{page}");
    assert!(page.contains("Fix &lt;b&gt;the parser&lt;/b&gt; &amp; tell me"), "{page}");
    for outside in
        ["http:", "https:", "src=", "href=", "url(", "@import", "<script", "<link", "<iframe", "<img"]
    {
        assert!(!page.contains(outside), "{outside}");
    }
    assert_eq!(balance(&page), Vec::<String>::new());
}

/// What a session has in it that would like to be more than text: of the user, the model, tools, and whoever denied a call.
#[test]
fn a_page_of_hostile_text() {
    let world = super::bare();
    let evil = "</script></code><script>alert(1)</script><img src=x onerror=y>\u{202e}\u{1b}]0;t\u{7}";
    let records = [
        json!({"type": "meta", "schema_version": 1, "root": format!("/{evil}"), "parent": evil}),
        json!({"type": "message", "role": "user", "text": evil}),
        json!({"type": "message", "role": "assistant", "text": format!("```\n{evil}\n```\n`{evil}` **{evil}**"), "model": evil}),
        json!({"type": "reasoning", "text": evil}),
        json!({"type": "tool_use", "id": "1", "name": evil, "input": {"command": evil}}),
        json!({"type": "approval", "tool_use_id": "1", "decision": "deny", "by": evil, "reason": evil}),
        json!({"type": "tool_result", "tool_use_id": "1", "output": {"ok": false, "error": {"message": evil}}, "ok": false}),
        json!({"type": "tool_use", "id": "2", "name": "task", "input": {"description": evil, "prompt": evil}}),
        json!({"type": "tool_result", "tool_use_id": "2", "output": {"ok": true, "data": {"stdout": evil}}, "ok": true}),
        json!({"type": "notice", "code": evil, "text": evil, "ts": evil}),
        json!({"type": "interrupted", "role": "system", "text": evil}),
    ];
    let lines: String = records.iter().map(|record| format!("{record}\n")).collect();
    crate::sessions::put_session(&world, "evil", &lines);
    let page = world.run(&["sessions", "export", "evil", "--to", "html"]).success().stdout();
    for raw in ["<script", "<img", "</script", "\u{202e}", "\u{1b}"] {
        assert!(!page.contains(raw), "{raw:?} in {page}");
    }
    assert!(page.contains("&lt;script&gt;alert(1)"), "{page}");
    assert_eq!(balance(&page), Vec::<String>::new());
    for to in ["markdown", "json"] {
        let text = world.run(&["sessions", "export", "evil", "--to", to]).success().stdout();
        assert!(text.contains("alert(1)") && !text.contains(['\u{1b}', '\u{202e}']), "{to}: {text}");
    }
}

/// Returns the tags that are not closed, or closed without having been opened.
fn balance(page: &str) -> Vec<String> {
    let (mut open, mut wrong) = (Vec::new(), Vec::new());
    for tag in page.split('<').skip(1).filter_map(|rest| rest.split('>').next()) {
        let name = tag.split_whitespace().next().unwrap_or_default();
        match name.strip_prefix('/') {
            Some(closed) if open.last() == Some(&closed) => drop(open.pop()),
            Some(closed) => wrong.push(format!("/{closed}")),
            None if matches!(name, "!DOCTYPE" | "meta") => {}
            None => open.push(name),
        }
    }
    wrong.extend(open.iter().map(|name| (*name).to_owned()));
    wrong
}

#[test]
fn an_export_to_read() {
    let world = with_session();
    let text = world.run(&["sessions", "export"]).success().stdout();
    assert!(
        text.starts_with("# Session s\n\n### Session (schema v1)\n\n### You\nFix <b>the parser</b>"),
        "{text}"
    );
    let json: serde_json::Value =
        serde_json::from_str(&world.run(&["sessions", "export", "s", "--to", "json"]).success().stdout())
            .unwrap();
    assert_eq!((&json["id"], json["events"].as_array().unwrap().len()), (&json!("s"), 8));
}

/// The newest first, any case of letters, and only what was said.
#[test]
fn a_search() {
    let world = with_session();
    let found = envelope(&world.run(&["sessions", "search", "PARSER"]).success());
    let hits: Vec<_> = found["data"].as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect();
    assert_eq!(hits, ["s:2", "s:4"]);
    assert_eq!(found["data"][0]["_trusted"], false);
    for nothing in ["", " \t"] {
        assert_eq!(world.run(&["sessions", "search", nothing]).code(), Some(2), "{nothing:?}");
    }
    assert_eq!(world.run(&["sessions", "search", &"x".repeat(5_000)]).code(), Some(2));
    let none = world.run(&["sessions", "search", "nothing of the kind", "-o", "plain"]).success();
    assert_eq!(none.stdout(), "Nobody said `nothing of the kind`.\n");
}

/// The beginning of a name is enough where only one session has it; nothing is removed that way.
#[test]
fn a_session_by_the_beginning_of_its_name() {
    let world = with_session();
    let text = world.read(world.base().join("sessions/s.jsonl"));
    for id in ["3f2a77aa", "3f2a77bb", "77c0ffee"] {
        crate::sessions::put_session(&world, id, &text);
    }
    for args in [
        &["sessions", "show", "77c0"][..],
        &["sessions", "export", "77c0", "-o", "json"],
        &["sessions", "fork", "77c0", "--dry-run"],
        &["handoff", "--goal", "x", "--no-model", "--from-session", "77c0"],
    ] {
        world.run(args).success();
    }
    assert_eq!(envelope(&world.run(&["sessions", "show", "77c0"]))["data"]["id"], "77c0ffee");
    let several = world.run(&["sessions", "show", "3f2a", "-o", "plain"]);
    assert_eq!(
        several.to_string(),
        "------- stderr -------\n\
         Error: 2 sessions begin with '3f2a': '3f2a77aa', '3f2a77bb'\n\
         Hint: `zori sessions list` shows the sessions there are\n\
         Hint: say more of the name\n[exit status: 5]"
    );
    // Less would be guessing, and so would removing.
    assert_eq!(world.run(&["sessions", "show", "77c"]).code(), Some(5));
    let kept = envelope(&world.run(&["sessions", "rm", "77c0", "--yes"]).success());
    assert_eq!(kept["data"]["results"][0]["status"], "not_found");
    assert_eq!(world.session_files().len(), 4);
}

/// What is no session in the folder of sessions, and one that another process uses.
#[test]
fn a_folder_in_disorder() {
    let world = with_session();
    let folder = world.base().join("sessions");
    std::fs::create_dir(folder.join("dir.jsonl")).unwrap();
    for name in ["bad name.jsonl", "\u{1b}[31m.jsonl", "empty.jsonl", "notes.txt"] {
        world.write(folder.join(name), "");
    }
    world.write(
        folder.join("noise.jsonl"),
        b"\xff\xfe not JSON\n{\"type\":\"message\",\"role\":\"user\",\"text\":\"parser?\"}\n{\"type",
    );
    let listed = envelope(&world.run(&["sessions", "list"]).success());
    let mut ids: Vec<_> = listed["data"].as_array().unwrap().iter().map(|row| row["id"].clone()).collect();
    ids.sort_by_key(ToString::to_string);
    assert_eq!(ids, ["empty", "noise", "s"]);
    let found = envelope(&world.run(&["sessions", "search", "parser?"]).success());
    assert_eq!(
        found["data"].as_array().unwrap().iter().map(|hit| hit["id"].clone()).collect::<Vec<_>>(),
        ["noise:2"]
    );
    let shown = envelope(&world.run(&["sessions", "show", "noise"]).success());
    assert!(shown["warnings"][0].as_str().unwrap().starts_with("SESSION_DAMAGED: "), "{shown}");
    assert_eq!(world.run(&["sessions", "show", "empty"]).code(), Some(5));
    assert_eq!(world.run(&["sessions", "export", "empty"]).code(), Some(5));
}
