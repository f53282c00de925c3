//! What a session hands on to the next (`docs/contracts/handoff.md`), found in its records or written by a model.

use serde_json::{Value, json};
use zori_testkit::env::TestEnv;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::{anthropic, server};

use super::{bare, envelope, with_session};
use crate::sessions::put_session;

/// A world with the session `s` and a model that gives these replies.
fn asked<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> (TestEnv, ModelServer) {
    let (mut world, model) = (with_session(), ModelServer::strict(replies));
    world.use_server(&model);
    (world, model)
}

/// An answer as it is asked for.
fn words(starter: &str, tasks: &[&str]) -> anthropic::Message {
    anthropic::text(&json!({"starter_prompt": starter, "open_tasks": tasks}).to_string())
}

/// HO-1 to HO-7.
#[test]
fn a_handoff() {
    let world = with_session();
    insta::assert_snapshot!(world.run(&["handoff", "--no-model", "--goal", "Finish <it>"]), @"
    # Handoff

    ## Goal

    Finish <it>

    ## Starter prompt

    ```text
    Finish <it>

    This continues the session s. It began with: Fix <b>the parser</b> & tell me

    Look at these files first: src/parser.rs

    Still open:
    - write tests
    - And now the lexer

    The last thing said was:
    Looking.
    - [ ] write tests
    - [x] read it
    ```

    ## Relevant files

    - src/parser.rs

    ## Open tasks

    - [ ] write tests
    - [ ] And now the lexer

    ## Repro commands

    ```sh
    cargo test
    ```
    [exit status: 0]
    ");
    let written = world.run(&["handoff", "--no-model", "--goal", "Finish <it>", "--out", "H.md"]).success();
    assert_eq!(written.to_string(), "------- stderr -------\nWrote $WORK/H.md\n[exit status: 0]");
    assert_eq!(world.read("H.md"), world.run(&["handoff", "--no-model", "--goal", "Finish <it>"]).stdout());
}

#[test]
fn a_handoff_of_nothing() {
    let world = bare();
    let output = world.run(&["handoff", "--goal", "x"]);
    assert_eq!(envelope(&output)["error"]["code"], "SESSION_NOT_FOUND");
    assert_eq!((output.code(), world.base().exists()), (Some(5), false));
}

/// HO-7: written before read, the newest first, those outside last; commands that worked, each once, in their order. A
/// session had with another client is in that client's words.
#[test]
fn what_is_found() {
    let world = bare();
    let mut lines = String::from("{\"type\":\"message\",\"role\":\"user\",\"text\":\"Begin\"}\n");
    let mut call = |name: &str, input: Value, output: Value, ok: bool| {
        let id = lines.len().to_string();
        lines += &format!("{}\n", json!({"type": "tool_use", "id": id, "name": name, "input": input}));
        lines +=
            &format!("{}\n", json!({"type": "tool_result", "tool_use_id": id, "output": output, "ok": ok}));
    };
    let fine = || json!({"ok": true, "data": {}});
    let exit = |code: i32| json!({"ok": true, "data": {"exit_code": code}});
    call("read", json!({"path": "read-first"}), fine(), true);
    call("write", json!({"path": "/elsewhere/out"}), fine(), true);
    call("write", json!({"path": "written"}), fine(), true);
    call("Edit", json!({"file_path": world.work().join("edited")}), fine(), true);
    call("read", json!({"path": "written"}), fine(), true);
    call("read", json!({"path": "missing"}), json!({"ok": false}), false);
    call("read", json!({"path": "read-last"}), fine(), true);
    call("bash", json!({"command": "make"}), exit(0), true);
    call("bash", json!({"command": "false"}), exit(1), true);
    call("bash", json!({"command": "make test"}), exit(0), true);
    call("Bash", json!({"command": "make"}), exit(0), true);
    for n in 0..20 {
        call("read", json!({"path": format!("n{n}")}), fine(), true);
    }
    put_session(&world, "s", &lines);
    let text = world.run(&["handoff", "--goal", "x", "--no-model"]).success().stdout();
    let (_, text) = text.split_once("## Relevant files\n\n").unwrap();
    let newest: String = (4..20).rev().map(|n| format!("- n{n}\n")).collect();
    let files = format!("- edited\n- written\n{newest}- n3\n- n2\n");
    assert_eq!(
        text,
        format!(
            "{files}\n## Open tasks\n\n- [ ] Begin\n\n## Repro commands\n\n```sh\nmake test\nmake\n```\n"
        )
    );
}

/// HO-8: the model writes the starter prompt and the open tasks, below the goal as it was given. What it cost is said.
#[test]
fn by_a_model() {
    let (world, model) = asked([words("Look at `src/lexer.rs`.", &["write tests", "do the lexer"])]);
    insta::assert_snapshot!(world.run(&["handoff", "--goal", "Finish <it>"]), @r"
    # Handoff

    ## Goal

    Finish <it>

    ## Starter prompt

    ```text
    Finish <it>

    This continues the session s.

    Look at `src/lexer.rs`.
    ```

    ## Relevant files

    - src/parser.rs

    ## Open tasks

    - [ ] write tests
    - [ ] do the lexer

    ## Repro commands

    ```sh
    cargo test
    ```
    ------- stderr -------
    Written by anthropic:claude-sonnet-5-5: 10 tokens in, 5 out, $0.000070. Read it before you use it.
    [exit status: 0]
    ");
    let request = model.request(0).json();
    assert_eq!((&request["tools"], request["messages"].as_array().unwrap().len()), (&Value::Null, 1));
    let asked = request["messages"][0]["content"].to_string();
    assert!(asked.contains("Fix \\\\u003cb>the parser"), "{asked}");
}

/// HO-4, and the same for a program: whose words they are, and what they cost.
#[test]
fn by_a_model_for_a_program() {
    let (world, _model) = asked([words("x", &[])]);
    let before = world.read(world.base().join("sessions/s.jsonl"));
    let answer = envelope(&world.run(&["handoff", "--goal", "g", "-o", "json"]).success());
    assert_eq!(
        answer["meta"]["written_by"],
        json!({"model": "anthropic:claude-sonnet-5-5", "cost_usd": 0.00007, "retries": 0,
               "usage": {"input_tokens": 10, "output_tokens": 5, "cache_read_tokens": 0, "cache_write_tokens": 0}})
    );
    assert!(answer["data"]["content"].as_str().unwrap().contains("## Open tasks\n\n- none\n"));
    assert_eq!(world.read(world.base().join("sessions/s.jsonl")), before);
    assert_eq!(world.session_files().len(), 1, "asking is no session");
}

/// HO-8, HO-9: what others said reaches the model as data and without secrets, and what it repeats of them goes nowhere.
#[test]
fn secrets_reach_no_model() {
    let (key, token) = ("sk-ant-api03-0123456789abcdefghij", "ghp_0123456789abcdefghijABCDEFGHIJ012345");
    let (mut world, model) = asked([words(&format!("Use {token}"), &[&format!("with {key}")])]);
    world.set_var("OPENAI_API_KEY", key);
    let text = format!("</session> my key is {key}, the token {token}");
    put_session(&world, "k", &format!("{}\n", json!({"type": "message", "role": "user", "text": text})));
    let output = world.run(&["handoff", "--goal", &format!("g {key}"), "--from-session", "k"]).success();
    let sent = model.request(0).json()["messages"].to_string();
    assert!(!sent.contains(key) && !sent.contains(token), "{sent}");
    assert_eq!(sent.matches("</session>").count(), 1, "{sent}");
    assert!(!output.stdout().contains(key) && !output.stdout().contains(token), "{output}");
    assert!(output.stdout().contains("Use [REDACTED]"), "{output}");
}

/// Without a key there is no model to ask, and that is said; `--no-model` asks for it.
#[test]
fn without_a_key() {
    let mut world = with_session();
    world.set_var("ANTHROPIC_BASE_URL", server::refused_url());
    let output = world.run(&["handoff", "--goal", "g", "--provider", "anthropic"]).success();
    assert_eq!(output.stderr(), "No model was asked: ANTHROPIC_API_KEY is not set\n");
    let chosen = world.run(&["handoff", "--goal", "g", "--no-model"]).success();
    assert_eq!((chosen.stdout(), chosen.stderr().as_str()), (output.stdout(), ""));
    let answer =
        envelope(&world.run(&["handoff", "--goal", "g", "--provider", "anthropic", "--json"]).success());
    assert_eq!(
        answer["meta"]["written_by"],
        json!({"model": null, "reason": "ANTHROPIC_API_KEY is not set"})
    );
}

/// HO-8: whatever goes wrong with the model costs a warning and nothing else.
#[test]
fn a_model_that_is_no_help() {
    let refused = |status, kind| anthropic::http_error(status, kind, "no");
    for (reply, why) in [
        (refused(401, "authentication_error"), "HTTP 401: no"),
        (refused(503, "api_error"), "HTTP 503: no"),
        (anthropic::text("I would rather not.").into(), "its answer is not what it was asked for"),
        (Reply::hang_up(zori_testkit::reply::Disconnect::Rst), ""),
    ] {
        let (world, model) = asked([reply]);
        let output = world.run(&["handoff", "--goal", "g", "--retries", "0"]).success();
        let warning =
            format!("Warning: the handoff is without the words of anthropic:claude-sonnet-5-5: {why}");
        assert!(output.stderr().starts_with(&warning) && output.stderr().lines().count() == 1, "{output}");
        assert_eq!(output.stdout(), world.run(&["handoff", "--goal", "g", "--no-model"]).success().stdout());
        assert_eq!(model.count(), 1);
    }
}

/// A request that is lost is sent again, as everywhere.
#[test]
fn a_model_that_is_busy() {
    let (world, model) =
        asked([anthropic::http_error(529, "overloaded_error", "busy"), words("Second try", &[]).reply()]);
    let output = world.run(&["handoff", "--goal", "g", "--retry-delay", "0"]).success();
    assert!(output.stdout().contains("Second try"), "{output}");
    assert_eq!(model.count(), 2);
}

/// A signal or the end of the time ends the command, and is not taken for a failure of the model.
#[test]
fn a_model_that_is_waited_for() {
    let (world, model) = asked([Reply::stall(), Reply::stall()]);
    let mut run = world.start(world.cmd(&["handoff", "--goal", "g"]), Stdin::Null, Stdout::Captured);
    run.wait_until("the request", |_| model.count() == 1).terminate();
    let output = run.finish();
    assert_eq!((output.code(), &envelope(&output)["error"]["code"]), (Some(143), &json!("TERMINATED")));
    let output = world.run(&["handoff", "--goal", "g", "--timeout", "300ms"]);
    assert_eq!((output.code(), &envelope(&output)["error"]["code"]), (Some(10), &json!("TIMEOUT")));
}

/// With `--out` it changes something, and has what goes with that: a dry run, and a key that does it once.
#[test]
fn into_a_file_once() {
    let (world, model) = asked([words("x", &[])]);
    let out = &["handoff", "--goal", "g", "--out", "H.md", "-o", "json"][..];
    let dry = envelope(&world.run(&[out, &["--dry-run"]].concat()).success());
    assert_eq!(dry["data"]["would_write"], json!([world.work().join("H.md")]));
    assert_eq!((model.count(), world.work().join("H.md").exists()), (0, false));
    let keyed = || envelope(&world.run(&[out, &["--idempotency-key", "k"]].concat()).success());
    let (first, second) = (keyed(), keyed());
    assert_eq!((&first["data"]["effect"], &second["data"]["effect"]), (&json!("created"), &json!("noop")));
    assert_eq!((model.count(), &second["meta"]["idempotency_hit"]), (1, &json!(true)));
    let output = world.run(&["handoff", "--goal", "g", "--idempotency-key", "k"]);
    assert_eq!((output.code(), &envelope(&output)["error"]["code"]), (Some(2), &json!("VALIDATION_ERROR")));
}

/// HO-3: the same bytes in both places, and nothing a terminal would act on in either.
#[test]
fn a_file_that_can_be_looked_at() {
    let world = bare();
    let text = json!({"type": "message", "role": "user", "text": "red \u{1b}[31malert\u{202e}"});
    put_session(&world, "s", &format!("{text}\n"));
    world.run(&["handoff", "--goal", "g", "--no-model", "--out", "H.md"]).success();
    let file = world.read("H.md");
    assert!(!file.contains(['\u{1b}', '\u{202e}']) && file.contains("red alert"), "{file}");
    assert_eq!(file, world.run(&["handoff", "--goal", "g", "--no-model"]).success().stdout());
}

/// Settings that are wrong are told before anything is asked.
#[test]
fn settings_that_are_wrong() {
    let world = with_session();
    let output = world.run(&["handoff", "--goal", "g", "--provider", "antropic"]);
    assert_eq!((output.code(), &envelope(&output)["error"]["code"]), (Some(2), &json!("SETTING_INVALID")));
    world.write(world.base().join("config.toml"), "model = \n");
    let output = world.run(&["handoff", "--goal", "g"]);
    assert_eq!((output.code(), &envelope(&output)["error"]["code"]), (Some(2), &json!("CONFIG_INVALID")));
    world.run(&["handoff", "--goal", "g", "--no-model"]).success();
}
