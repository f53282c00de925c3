//! What a run that works prints: the envelope, the formats, pages, bounds, and nothing that could do harm.

use serde_json::{Value, json};

use crate::notes::{envelope_of, run, with_notes, world};

#[test]
fn a_result_on_a_pipe_is_one_envelope() {
    let env = with_notes(&["a"]);
    let output = env.run(&["list", "--stable-output"]);
    assert_eq!(
        output.to_string(),
        "{\"ok\":true,\"data\":[{\"id\":\"a\",\"title\":\"Title of a\",\"path\":\"$HOME/notes/notes/a.md\"}],\"error\":null,\
         \"warnings\":[],\"meta\":{\"ok\":true,\"exit_code\":0,\"command\":\"list\",\"schema_version\":\"1.0\",\
         \"command_schema_version\":\"1.0.0\",\"tool_version\":\"0.1.0\",\"timeout_ms\":30000,\"cwd\":\"$WORK\",\
         \"config_sources\":[],\"effective_config_hash\":\"e3b0c442\",\"duration_ms\":0,\"headless\":true,\
         \"pagination\":{\"total\":1,\"returned\":1,\"truncated\":false,\"has_more\":false,\"next_cursor\":null},\
         \"total\":1,\"page_size\":20}}\n\
         [exit status: 0]"
    );
    envelope_of(&output);
}

#[test]
fn stable_output_is_the_same_each_time() {
    let env = with_notes(&["b", "a"]);
    let once = || env.run(&["list", "--stable-output"]).to_string();
    assert_eq!(once(), once());
    let ids = |env: &_| run(env, &["list"])["meta"]["request_id"].clone();
    assert_ne!(ids(&env), ids(&env), "without it every run has a name of its own");
}

#[test]
fn the_same_rows_in_every_format() {
    let env = with_notes(&["a", "b"]);
    let printed = |format: &str| env.run(&["list", "-o", format, "--stable-output"]).to_string();
    assert_eq!(printed("tsv"), "id\ttitle\na\tTitle of a\nb\tTitle of b\n[exit status: 0]");
    assert_eq!(printed("table"), "ID  TITLE\na   Title of a\nb   Title of b\n[exit status: 0]");
    assert_eq!(printed("id"), "a\nb\n[exit status: 0]");
    assert_eq!(printed("plain"), "a  Title of a\nb  Title of b\n[exit status: 0]");
    let jsonl = env.run(&["list", "-o", "jsonl"]);
    let lines: Vec<Value> = jsonl.stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(lines[1]["id"], "b");
    assert_eq!(envelope_of(&jsonl)["meta"]["summary"], true);
}

#[test]
fn flag_over_variable_over_detection() {
    let mut env = with_notes(&["a"]);
    env.set_var("NOTES_OUTPUT", "id");
    assert_eq!(env.run(&["list"]).to_string(), "a\n[exit status: 0]");
    assert_eq!(env.run(&["list", "--output", "tsv"]).stdout(), "id\ttitle\na\tTitle of a\n");
    assert_eq!(
        env.run(&["--output", "tsv", "list"]).stdout(),
        "id\ttitle\na\tTitle of a\n",
        "before the command, too"
    );
    env.set_var("NOTES_OUTPUT", "yaml");
    assert_eq!(run(&env, &["list"])["error"]["errors"][0]["param"], "NOTES_OUTPUT");
}

#[test]
fn language_and_width_change_nothing() {
    let mut env = with_notes(&["a"]);
    let plain = env.run(&["list", "--stable-output"]).to_string();
    env.set_var("LC_ALL", "de_DE.UTF-8").set_var("COLUMNS", "40").set_var("DEBUG", "1");
    assert_eq!(env.run(&["list", "--stable-output"]).to_string(), plain);
}

#[test]
fn pages_follow_one_another() {
    let ids: Vec<String> = (10..55).map(|n| format!("n{n}")).collect();
    let env = with_notes(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    let first = run(&env, &["list"]);
    assert_eq!(first["data"].as_array().unwrap().len(), 20);
    let (mut seen, mut cursor) = (Vec::new(), None::<String>);
    loop {
        let mut args = vec!["list", "--limit", "20"];
        args.extend(cursor.iter().flat_map(|cursor| ["--cursor", cursor]));
        let page = run(&env, &args);
        seen.extend(
            page["data"].as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()),
        );
        match page["meta"]["pagination"]["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    assert_eq!(seen, ids);
    assert_eq!(run(&env, &["list", "--limit", "0"])["data"].as_array().unwrap().len(), 45);
}

#[test]
fn an_answer_has_a_bound() {
    let ids: Vec<String> = (10..30).map(|n| format!("n{n}")).collect();
    let mut env = with_notes(&ids.iter().map(String::as_str).collect::<Vec<_>>());
    env.set_var("NOTES_MAX_OUTPUT_BYTES", "500");
    let cut = run(&env, &["list"]);
    let returned = cut["data"].as_array().unwrap().len();
    assert!(cut["data"].to_string().len() <= 500 && returned > 0, "{cut}");
    let facts = |name: &str| cut["meta"][name].clone();
    assert_eq!(
        (facts("truncated"), facts("total_count"), facts("returned_count")),
        (json!(true), json!(20), json!(returned))
    );
    assert_eq!(facts("truncation_hint"), json!(format!("notes list --limit {returned}")));
    assert!(cut["warnings"][0].as_str().unwrap().starts_with("OUTPUT_TRUNCATED: "), "{cut}");
    // The next page begins where this one ended.
    let next = facts("cursor");
    let page = run(&env, &["list", "--cursor", next.as_str().unwrap(), "--limit", "1"]);
    assert_eq!(page["data"][0]["id"], json!(ids[returned]));
    assert_eq!(
        run(&env, &["list", "--max-output", "100000"])["data"].as_array().unwrap().len(),
        20,
        "the flag wins"
    );
}

#[test]
fn fields_are_picked_and_marks_stay() {
    let env = with_notes(&["a"]);
    assert_eq!(run(&env, &["list", "--fields", "id,nothing"])["data"], json!([{"id": "a"}]));
    let shown = run(&env, &["show", "a", "--fields", "title"]);
    assert_eq!(shown["data"], json!({"_source": "external", "_trusted": false, "title": "Title of a"}));
}

#[test]
fn hostile_bytes_are_made_harmless() {
    let env = world();
    env.write(env.home().join("notes/notes/x.md"), b"\x1b[31mred\x1b[0m\r\n\xff\0end\n");
    let shown = run(&env, &["show", "x"]);
    assert_eq!(shown["data"]["text"], "red\n\u{fffd}\u{fffd}end\n");
    assert_eq!(shown["warnings"], json!(["UTF8_REPLACED: 1 characters that cannot be shown were replaced"]));
    assert_eq!(env.run(&["show", "x", "-o", "plain"]).stdout(), "red\n\u{fffd}\u{fffd}end\n");
    let strict = env.run(&["show", "x", "--warnings-as-errors"]);
    assert_eq!(
        (envelope_of(&strict)["error"]["code"].clone(), strict.code()),
        (json!("WARNINGS_AS_ERRORS"), Some(1))
    );
}

#[test]
fn text_of_others_is_marked_unless_told_otherwise() {
    let env = with_notes(&["a"]);
    assert_eq!(run(&env, &["show", "a"])["data"]["_trusted"], false);
    let bare = run(&env, &["show", "a", "--no-injection-protection"]);
    assert_eq!(bare["data"].get("_trusted"), None);
    assert_eq!(bare["meta"]["injection_protection"], false);
}

#[test]
fn secrets_are_hidden() {
    let mut env = world();
    env.set_var("NOTES_TOKEN", "hunter2-hunter2");
    env.run(&["add", "a", "--title", "my hunter2-hunter2"]).success();
    env.run(&["add", "b", "--title", "ghp_0123456789abcdefghij"]).success();
    let titles = |args: &[&str]| {
        let rows = run(&env, args)["data"].clone();
        rows.as_array()
            .unwrap()
            .iter()
            .map(|row| row["title"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(titles(&["list"]), ["my [REDACTED]", "[KEY: ghp_0123...]"]);
    assert_eq!(titles(&["list", "--unmask"]), ["my [REDACTED]", "ghp_0123456789abcdefghij"]);
    assert_eq!(env.run(&["show", "a", "-o", "plain"]).stdout(), "my [REDACTED]\n");
}

#[test]
fn talk_is_for_those_who_want_it() {
    let env = world();
    let said = |args: &[&str]| env.run(args).stderr();
    assert_eq!(said(&["add", "a", "--title", "x"]), "");
    assert_eq!(said(&["add", "b", "--title", "x", "--verbose"]), "Wrote $HOME/notes/notes/b.md\n");
    assert_eq!(said(&["show", "nothing"]), "Error: there is no note `nothing`\n");
    assert_eq!(said(&["show", "nothing", "--quiet"]), "");
    assert_eq!(
        run(&env, &["list", "--quiet", "--debug"])["error"]["errors"][0]["code"],
        "CONFLICTING_ARGUMENTS"
    );
}

#[test]
fn facts_of_the_run() {
    let mut env = with_notes(&[]);
    env.set_var("TOOL_TRACE_ID", "t-1");
    std::fs::create_dir(env.work().join("inner")).unwrap();
    let output = env.run(&["list", "--cwd", "inner", "--timeout", "5s"]);
    let meta = envelope_of(&output)["meta"].clone();
    assert_eq!(
        (&meta["trace_id"], &meta["cwd"], &meta["timeout_ms"], &meta["tool_version"]),
        (&json!("t-1"), &json!("$WORK/inner"), &json!(5_000), &json!(env!("CARGO_PKG_VERSION")))
    );
    let is_time = |text: &str| text.len() == 20 && text.ends_with('Z') && text.as_bytes()[10] == b'T';
    assert!(is_time(meta["timestamp"].as_str().unwrap()), "{meta}");
    assert_eq!(env.run(&["list", "--cwd", "nowhere"]).code(), Some(2));
}

#[test]
fn a_document_is_printed_as_it_is() {
    let env = with_notes(&["a"]);
    assert_eq!(env.run(&["export"]).to_string(), "# a\n\nTitle of a\n\n[exit status: 0]");
    assert_eq!(run(&env, &["export", "-o", "json"])["data"], json!({"content": "# a\n\nTitle of a\n\n"}));
    assert_eq!(
        run(&env, &["export", "--bogus"])["error"]["code"],
        "VALIDATION_ERROR",
        "errors are envelopes"
    );
}
