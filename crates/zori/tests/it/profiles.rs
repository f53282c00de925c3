//! The program under other names: what the users of `zdx`, `zeph` and `yume-cli` know stays as it is (DECISIONS 1, 8, 19).

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::{Value, json};
use tempfile::TempDir;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;

use crate::world::{with_model, world};

/// A world whose program is a link named `zdx`, with `$ZDX_HOME` as base directory, and a model.
fn zdx<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> (TempDir, TestEnv, ModelServer) {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let link = folder.path().join("zdx");
    symlink(env!("CARGO_BIN_EXE_zori"), &link).expect("a link can be made in our folder");
    let model = ModelServer::strict(replies);
    let mut world = TestEnv::new(link);
    world.use_server(&model).remove_var("ZORI_HOME");
    let base = world.base().to_owned();
    world.set_var("ZDX_HOME", base);
    (folder, world, model)
}

#[test]
fn by_the_name_of_the_link_and_by_flag() {
    let (_link, zdx, _model) = zdx([anthropic::text("x")]);
    assert_eq!(zdx.run(&["--version"]).stdout(), "zdx 0.1.0\n");
    let zori = world();
    assert_eq!(zori.run(&["--version"]).stdout(), "zori 0.1.0\n");
    assert_eq!(zori.run(&["--as", "zdx", "--version"]).stdout(), "zdx 0.1.0\n");
    assert_eq!(zori.run(&["--as=zdx", "--version"]).stdout(), "zdx 0.1.0\n");
    assert_eq!(zdx.run(&["--as", "zori", "--version"]).stdout(), "zori 0.1.0\n");
}

#[test]
fn an_unknown_profile() {
    insta::assert_snapshot!(world().run(&["--as", "vim", "exec", "-p", "x"]), @"
    ------- stderr -------
    Error: unknown profile `vim`
    Hint: this version knows zori, zdx, zeph, yume-cli, a0
    [exit status: 2]
    ");
}

/// PATH-1 with the other name; `ZORI_HOME` is not its variable.
#[test]
fn its_own_base_directory() {
    let mut world = world();
    let path = |world: &TestEnv| world.run(&["--as", "zdx", "config", "path"]).to_string();
    assert_eq!(path(&world), "$HOME/.config/zdx/config.toml\n[exit status: 0]");
    world.set_var("XDG_CONFIG_HOME", world.home().join("xdg"));
    assert_eq!(path(&world), "$HOME/xdg/zdx/config.toml\n[exit status: 0]");
    world.set_var("ZDX_HOME", world.home().join("own"));
    assert_eq!(path(&world), "$HOME/own/config.toml\n[exit status: 0]");
}

#[test]
fn sessions_are_saved_there() {
    let (_link, world, _model) = zdx([anthropic::text("Hi.")]);
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    Hi.
    [exit status: 0]
    ");
    assert_eq!(world.session_files().len(), 1);
    assert_eq!(fs::read_dir(world.home()).unwrap().count(), 0);
}

/// DECISIONS 8: 0, 2, 130 and 143 stay, everything else is 1.
#[test]
fn exit_codes_are_folded() {
    let (_link, mut world, model) = zdx([anthropic::http_error(401, "authentication_error", "no")]);
    assert_eq!(world.run(&["sessions", "resume", "-p", "x"]).code(), Some(1), "zori: 5");
    assert_eq!(world.run(&["exec", "-p", "x"]).code(), Some(1), "zori: 8");
    assert_eq!(world.run(&["exec", "--nope"]).code(), Some(2));
    assert_eq!(world.run(&["exec", "--session", "a/b", "-p", "x"]).code(), Some(2));
    world.remove_var("ANTHROPIC_API_KEY");
    assert_eq!(world.run(&["exec", "-p", "x"]).code(), Some(1), "zori: 8");
    world.run(&["config", "init"]).success();
    insta::assert_snapshot!(world.run(&["config", "init"]), @"
    ------- stderr -------
    Error: Config file already exists at $BASE/config.toml
    [exit status: 1]
    ");
    assert_eq!(model.count(), 1);
}

#[test]
fn signals_keep_their_codes() {
    let (_link, world, model) = zdx([Reply::stall(), Reply::stall()]);
    let start = || world.start(world.cmd(&["exec", "-p", "x"]), Stdin::Null, Stdout::Captured);
    let mut run = start();
    run.wait_until("the request", |_| model.count() == 1).interrupt();
    assert_eq!(run.finish().code(), Some(130));
    let mut run = start();
    run.wait_until("the request", |_| model.count() == 2).terminate();
    assert_eq!(run.finish().code(), Some(143));
}
#[test]
fn a_missing_session_is_told_on_stdout() {
    let (_link, world, _model) = zdx([anthropic::text("x")]);
    insta::assert_snapshot!(world.run(&["sessions", "show", "nope"]), @"
    Session 'nope' is empty or not found.
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "resume"]), @"
    ------- stderr -------
    Error: No sessions found to resume
    Hint: `zdx sessions list` shows the sessions there are
    [exit status: 1]
    ");
}

/// Chapter 10: all talk on stderr, nothing but answers on stdout.
#[test]
fn a_chat_over_a_pipe() {
    let (_link, world, model) = zdx([anthropic::text("Hello."), anthropic::text("Still here.")]);
    insta::assert_snapshot!(world.run_with_stdin(&[], "hi\n\n  \nthere?\n:q\nnot read\n"), @"
    Hello.
    Still here.
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    Session: $SESSION
    you> you> you> you> you> Goodbye!
    [exit status: 0]
    ");
    assert_eq!(model.request(1).conversation(), "user: hi\nassistant: Hello.\nuser: there?\n", "CHAT-1");
}

#[test]
fn only_leaving_leaves_stdout_empty() {
    let (_link, world, model) = zdx([anthropic::text("x")]);
    insta::assert_snapshot!(world.run_with_stdin(&[], ":q\n"), @"
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    Session: $SESSION
    you> Goodbye!
    [exit status: 0]
    ");
    assert_eq!(model.count(), 0);
    assert!(!world.base().exists(), "SES-5: nothing was said");
}

#[test]
fn the_end_of_input_ends_the_chat() {
    let (_link, world, _model) = zdx([anthropic::text("Hello.")]);
    insta::assert_snapshot!(world.run_with_stdin(&["--no-save"], "hi"), @"
    Hello.
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    you> you> [no newline]
    [exit status: 0]
    ");
}

/// EXIT-3, PERR-5: the error is shown, the failed message is dropped, the chat goes on and ends with 0.
#[test]
fn errors_do_not_end_the_chat() {
    let (_link, world, model) =
        zdx([anthropic::http_error(400, "invalid_request_error", "no"), anthropic::text("Better.").reply()]);
    insta::assert_snapshot!(world.run_with_stdin(&["--no-save"], "one\ntwo\n"), @r#"
    Better.
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    you> Error [http_status]: HTTP 400: no
      Details: {"error":{"message":"no","type":"invalid_request_error"},"type":"error"}
    you> you> [no newline]
    [exit status: 0]
    "#);
    assert_eq!(model.request(1).conversation(), "user: two\n");
}

/// PROV-2.
#[test]
fn a_missing_key_does_not_end_the_chat() {
    let (_link, mut world, model) = zdx([anthropic::text("x")]);
    world.remove_var("ANTHROPIC_API_KEY");
    insta::assert_snapshot!(world.run_with_stdin(&["--no-save"], "one\n:q\n"), @"
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    Error: ANTHROPIC_API_KEY is not set
    Hint: set ANTHROPIC_API_KEY to your Anthropic key
    Hint: or store it: `zdx auth login --provider anthropic --with-token`
    Hint: a server on this machine (Ollama, llama.cpp, LM Studio, vLLM) needs none: `--provider ollama`
    Hint: `zdx demo` shows what this program does without a key
    you> Error [auth]: ANTHROPIC_API_KEY is not set
    you> Goodbye!
    [exit status: 0]
    ");
    assert_eq!(model.count(), 0);
}

/// AG-7, and `Loaded <n> previous messages` counts one tool round as four.
#[test]
fn a_resumed_chat_says_what_it_loaded() {
    let (_link, world, model) = zdx([
        anthropic::text("Look.").tool_use("t1", "bash", json!({"command": "true"})),
        anthropic::text("Done."),
        anthropic::text("Yes."),
    ]);
    world.write("AGENTS.md", "Be kind.");
    world.run(&["exec", "--session", "s", "-p", "first"]).success();
    insta::assert_snapshot!(world.run_with_stdin(&["sessions", "resume"], "more\n"), @"
    Yes.
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    Session: s
    Loaded AGENTS.md from:
      - $WORK/AGENTS.md
    Loaded 4 previous messages
    you> you> [no newline]
    [exit status: 0]
    ");
    assert_eq!(model.request(2).messages().len(), 5);
}

/// INT-1 over a pipe.
#[test]
fn an_interrupted_turn_returns_to_the_prompt() {
    let (_link, world, model) = zdx([Reply::stall(), anthropic::text("Here.").reply()]);
    let mut run = world.start(world.cmd(&["--no-save"]), Stdin::Open, Stdout::Captured);
    run.write_stdin("one\n").wait_until("the request", |_| model.count() == 1).interrupt();
    run.wait_for_stderr("^C Interrupted.").write_stdin("two\n").wait_for_stdout("Here.").close_stdin();
    let lines = [
        "Here.",
        "------- stderr -------",
        "zdx chat (type :q to quit)",
        "Model: claude-haiku-4-5",
        "you> ",
        "^C Interrupted.",
        "you> you> [no newline]",
        "[exit status: 0]",
    ];
    assert_eq!(run.finish().to_string(), lines.join("\n"));
    assert_eq!(model.request(1).conversation(), "user: two\n");
}

/// DECISIONS 14, 36: no cap on what the model sees, and 30 seconds.
#[test]
fn output_is_not_capped() {
    let command = "head -c 200000 /dev/zero | tr '\\0' x";
    let replies =
        || [anthropic::tool_use("t1", "bash", json!({"command": command})), anthropic::text("Done.")];
    let seen = |model: &ModelServer| {
        let text = model.request(1).conversation();
        (text.len() > 200_000, text.contains("bytes cut here"))
    };
    let (_link, world, model) = zdx(replies());
    world.run(&["exec", "-p", "go"]).success();
    assert_eq!(seen(&model), (true, false));
    let (world, model) = with_model(replies());
    world.run(&["exec", "-p", "go"]).success();
    assert_eq!(seen(&model), (false, true));
}

/// DECISIONS 14, 36.
#[test]
fn its_defaults_are_in_the_file_that_init_writes() {
    let (_link, world, _model) = zdx([anthropic::text("x")]);
    world.run(&["config", "init"]).success();
    let text = world.read(world.base().join("config.toml"));
    let shown =
        |key: &str| text.lines().find(|line| line.starts_with(&format!("# {key} = "))).map(str::to_owned);
    assert_eq!(
        text.lines().next(),
        Some("# Settings of zdx. Every line is a comment that shows the default or an example.")
    );
    assert_eq!(shown("tool_timeout_secs").as_deref(), Some("# tool_timeout_secs = 30"));
    assert_eq!(shown("bash_max_output_bytes").as_deref(), Some("# bash_max_output_bytes = 0"));
}

/// The names of the tools the model was shown.
fn tools(model: &ModelServer) -> Vec<String> {
    let body = model.request(0).json();
    let names = body["tools"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|tool| Some(tool["name"].as_str()?.to_owned()));
    names.collect()
}

/// DECISIONS 19: base directory, variables and names as `zori`; DECISIONS 8: only the exit codes are fewer.
#[test]
fn zeph_is_zori_with_fewer_exit_codes() {
    let (mut world, model) = with_model([anthropic::text("Hi.")]);
    insta::assert_snapshot!(world.run(&["--as", "zeph", "exec", "-p", "hi"]), @"
    Hi.
    [exit status: 0]
    ");
    assert_eq!(world.session_files().len(), 1, "in `$ZORI_HOME`");
    assert_eq!(tools(&model)[..4], ["read", "write", "edit", "bash"]);
    assert_eq!(world.run(&["--as", "zeph", "exec", "--nope"]).code(), Some(2));
    world.remove_var("ANTHROPIC_API_KEY");
    assert_eq!(world.run(&["--as", "zeph", "exec", "-p", "x"]).code(), Some(1), "zori: 8");
    world.remove_var("ZORI_HOME");
    let path = world.run(&["--as", "zeph", "config", "path", "--output", "plain"]);
    assert_eq!(path.to_string(), "$HOME/.config/zori/config.toml\n[exit status: 0]");
}

#[test]
fn yume_has_a_base_directory_of_its_own() {
    let mut world = world();
    let path =
        |world: &TestEnv| world.run(&["--as", "yume-cli", "config", "path", "--output", "plain"]).to_string();
    assert_eq!(path(&world), "$HOME/.yume/config.toml\n[exit status: 0]");
    world.set_var("XDG_CONFIG_HOME", world.home().join("xdg"));
    assert_eq!(path(&world), "$HOME/.yume/config.toml\n[exit status: 0]", "XDG is not its place");
    world.set_var("YUME_HOME", world.home().join("own"));
    assert_eq!(path(&world), "$HOME/own/config.toml\n[exit status: 0]");
}

/// The model is shown Claude's names, whatever the command.
#[test]
fn yume_shows_claudes_tools() {
    let (world, model) = with_model([anthropic::text("Hi.")]);
    world.run(&["--as", "yume-cli", "exec", "-p", "hi", "--no-save"]).success();
    let names = [
        "Read",
        "Write",
        "Edit",
        "Bash",
        "MultiEdit",
        "NotebookEdit",
        "Glob",
        "Grep",
        "LS",
        "WebFetch",
        "TodoWrite",
        "Task",
        "TaskOutput",
        "KillShell",
    ];
    assert_eq!(tools(&model), names);
}

/// DECISIONS 19: its lines are those of the GUI, unless somebody asks for others.
#[test]
fn yume_answers_in_its_own_dialect() {
    let run = |args: &[&str]| {
        let (mut world, _model) = with_model([anthropic::text("Hi.")]);
        world.remove_var("ZORI_OUTPUT");
        let output = world.run(&[&["--as", "yume-cli", "--no-save", "-p", "hi"], args].concat());
        assert_eq!(output.code(), Some(0), "{output}");
        let kind = |line: &str| {
            serde_json::from_str::<Value>(line).map_or(line.to_owned(), |line| line["type"].to_string())
        };
        output.stdout().lines().map(kind).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(run(&[]), r#""system" "text" "usage" "result" "message_stop""#);
    assert_eq!(run(&["--output", "plain"]), "Hi.");
    assert_eq!(run(&["--json"]), r#""response_chunk" "response_end" "cost""#);
    assert_eq!(run(&["--output-format", "stream-json"]), r#""system" "assistant" "result""#);
}

#[test]
fn yume_wants_a_command() {
    insta::assert_snapshot!(world().run(&["--as", "yume-cli", "--output", "plain"]), @"
    ------- stderr -------
    Error: `yume-cli` needs a command
    Hint: a GUI starts `yume-cli start`; `yume-cli start --help` says how
    [exit status: 2]
    ");
}
