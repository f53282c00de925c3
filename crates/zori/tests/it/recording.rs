//! `--record` and `--replay`: the same run again, without a key and without a network. What goes wrong is in
//! `recording/trouble.rs`, committed recordings in `recording/committed.rs`.

mod committed;
mod trouble;

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::{TEST_KEY, TestEnv};
use zori_testkit::fixture;
use zori_testkit::gate::Gate;
use zori_testkit::output::CommandOutput;
use zori_testkit::reply::{Disconnect, Reply};
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::{ModelServer, refused_url};

use crate::sessions::saved;
use crate::world::{with_model, world};

const PREFIXES: &[&str] = &["ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER", "OLLAMA"];

/// Takes keys and network away: every address and every proxy is one where connections are refused.
pub fn offline(world: &mut TestEnv) {
    let nowhere = refused_url();
    for prefix in PREFIXES {
        world.remove_var(format!("{prefix}_API_KEY"));
        world.set_var(format!("{prefix}_BASE_URL"), &nowhere);
    }
    for proxy in ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy"] {
        world.set_var(proxy, &nowhere);
    }
}

/// Runs with `--record`, takes the network away and runs with `--replay`.
fn twice(world: &mut TestEnv, args: &[&str]) -> (CommandOutput, CommandOutput) {
    let run = |extra: &[&str]| world.run(&[&["exec"], args, extra].concat());
    let first = run(&["--record", "run.jsonl", "--session", "first"]);
    offline(world);
    let second = world.run(&[&["exec"], args, &["--replay", "run.jsonl", "--session", "second"]].concat());
    (first, second)
}

/// Without the session's name, which the runs do not share, and without how long retries waited.
fn comparable(output: &CommandOutput) -> String {
    let text = output.to_string().replace("'second'", "'first'");
    let lines = text.lines().map(|line| match line.strip_prefix("Retrying in ") {
        Some(rest) => rest.split_once(' ').map_or(rest, |(_, rest)| rest),
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[track_caller]
fn same(world: &mut TestEnv, args: &[&str]) -> CommandOutput {
    let (first, second) = twice(world, args);
    assert_eq!(comparable(&second), comparable(&first));
    assert_eq!(second.stdout(), first.stdout());
    // What a command wrote the first time is there the second time.
    let conversation = |id: &str| {
        let kept = |line: &&str| !line.starts_with(r#"{"type":"changed""#);
        saved(world, id).lines().filter(kept).map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(conversation("second"), conversation("first"));
    first
}

/// Tools run again, a refused request is tried again at once, and standard output is the same byte for byte.
#[test]
fn the_same_run_again() {
    let (mut world, server) = with_model([
        anthropic::text("I will look.")
            .tool_use("t1", "bash", json!({"command": "cat a.txt; echo x > b.txt"}))
            .into(),
        anthropic::http_error(429, "rate_limit_error", "slow down").header("retry-after", "1"),
        anthropic::text("It says **hello**.").reply().chunks_of(7),
    ]);
    world.write("a.txt", "hello\n");
    let output = same(&mut world, &["-p", "Look"]);
    insta::assert_snapshot!(output, @r#"
    I will look.
    It says **hello**.
    ------- stderr -------
    Warning: Session 'first' does not exist yet; starting it
    Tool requested: bash command="cat a.txt; echo x > b.txt"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    Retrying in 1.0s (1/4): HTTP 429: slow down
    [exit status: 0]
    "#);
    assert_eq!(server.count(), 3, "the replay asked nobody");
}

/// The prompt and all that shapes requests come from the recording: nothing has to be given again.
#[test]
fn a_recording_is_enough() {
    let (mut world, server) = with_model([anthropic::text("Hello")]);
    world.write(
        world.base().join("config.toml"),
        "max_tokens = 77\ntemperature = 0.5\nsystem_prompt = \"Be brief.\"\n",
    );
    world.write("AGENTS.md", "Use tabs.");
    world
        .run(&[
            "exec",
            "-p",
            "hi",
            "--thinking",
            "low",
            "--model",
            "claude-sonnet-4-5",
            "--record",
            "r.jsonl",
        ])
        .success();
    assert_eq!(server.request(0).json()["max_tokens"], 77);
    std::fs::remove_file(world.work().join("AGENTS.md")).unwrap();
    world.write(world.base().join("config.toml"), "model = \"other\"\nthinking = \"max\"\n");
    offline(&mut world);
    insta::assert_snapshot!(world.run(&["exec", "--replay", "r.jsonl"]), @"
    Hello
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["--replay", "r.jsonl", "-p", "hi"]), @"
    Hello
    [exit status: 0]
    ");
}

/// Images are in the recording with their prompt, so that their files are not needed again.
#[test]
fn prompts_with_images() {
    let (mut world, server) = with_model([anthropic::text("A box.")]);
    world.write("box.png", fixture::bytes("images/box.png"));
    world.run(&["exec", "-p", "what?", "--image", "box.png", "--record", "r.jsonl"]).success();
    offline(&mut world);
    insta::assert_snapshot!(world.run(&["exec", "--replay", "r.jsonl", "--image", "box.png"]), @"
    ------- stderr -------
    Error: `--image` and `--replay` without `-p` exclude each other: the recording has its prompts' images
    Hint: leave `--image` out
    [exit status: 2]
    ");
    let again = ["exec", "--replay", "r.jsonl", "-p", "what?", "--image", "box.png"];
    insta::assert_snapshot!(world.run(&again), @"
    A box.
    [exit status: 0]
    ");
    std::fs::remove_file(world.work().join("box.png")).unwrap();
    insta::assert_snapshot!(world.run(&["exec", "--replay", "r.jsonl"]), @"
    A box.
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["exec", "--replay", "r.jsonl", "-p", "what?"]), @r#"
    ------- stderr -------
    Error [replay]: request 1 differs from the recording at `/messages/0/content/0/cache_control`: recorded `nothing`, now `{"type":"ephemeral"}`
    Hint: `--replay-lenient` goes on with the recorded answers
    Hint: the recorded prompt has other images: give the same ones with `--image`
    [exit status: 1]
    "#);
    let text = world.read("r.jsonl");
    world.write("cut.jsonl", text.replacen(r#""images":["iVBORw0K"#, r#""images":["iVBO"#, 1));
    insta::assert_snapshot!(world.run(&["exec", "--replay", "cut.jsonl"]), @"
    ------- stderr -------
    Error: cannot replay cut.jsonl: line 2: an image of the prompt is no image: only PNG, JPEG, GIF and WebP are
    Hint: `--record FILE` writes recordings
    [exit status: 2]
    ");
    assert_eq!(server.count(), 1, "the replays asked nobody");
}

#[test]
fn every_api() {
    let cases = [
        ("openai-chat", "OPENAI", "openai_chat/text.sse"),
        ("openrouter", "OPENROUTER", "openai_chat/text.sse"),
        ("codex", "OPENAI", "openai_responses/text.sse"),
        ("gemini", "GEMINI", "gemini/text.sse"),
    ];
    for (provider, prefix, stream) in cases {
        let server = ModelServer::start([Reply::sse(fixture::bytes(stream))]);
        let mut world = world();
        world.set_var(format!("{prefix}_BASE_URL"), format!("{}/v1", server.url()));
        world.set_var(format!("{prefix}_API_KEY"), TEST_KEY);
        let output = same(&mut world, &["--provider", provider, "-p", "hi"]);
        assert_eq!((output.code(), server.count()), (Some(0), 1), "{provider}: {output}");
        assert!(output.stdout().len() > 1, "{provider}: {output}");
    }
}

/// A local server is asked which model it has; that is part of the traffic.
#[test]
fn a_local_server() {
    let models = Reply::json(200, r#"{"object":"list","data":[{"id":"qwen"}]}"#);
    let server = ModelServer::start([models, Reply::sse(fixture::bytes("openai_chat/text.sse"))]);
    let mut world = world();
    world.set_var("OLLAMA_BASE_URL", format!("{}/v1", server.url()));
    let output = same(&mut world, &["--provider", "ollama", "-p", "hi"]);
    assert_eq!((output.code(), server.count()), (Some(0), 2), "{output}");
}

/// An answer in one piece, a stream that breaks off, an error in a stream, an error instead of one, no answer.
#[test]
fn failures_too() {
    let cut = anthropic::text("Half of it").reply().cut_after(400, Disconnect::Fin);
    let wrong = anthropic::http_error(401, "authentication_error", "invalid x-api-key");
    let start = anthropic::event(&anthropic::text("x").events()[0]);
    let inside = Reply::sse(start).then(anthropic::error("invalid_request_error", "no"));
    for (reply, code) in [(cut, 12), (wrong, 8), (inside, 1), (Reply::hang_up(Disconnect::Rst), 12)] {
        let (mut world, _server) = with_model([reply]);
        let output = same(&mut world, &["-p", "hi", "--retries", "0"]);
        assert_eq!(output.code(), Some(code), "{output}");
    }
    let (mut world, _server) = with_model([Reply::json(200, anthropic::text("Whole").json())]);
    world.write(world.base().join("config.toml"), "stream = false\n");
    assert_eq!(same(&mut world, &["-p", "hi"]).stdout(), "Whole\n");
}

/// Pages that tools fetch are part of the recording, so that a replay needs no network for them either.
#[test]
fn pages_that_tools_fetch() {
    let page = ModelServer::start([Reply::bytes(200, "text/plain", "the page")]);
    let url = format!("{}/page?token=abc&x=1", page.url());
    let (mut world, _server) =
        with_model([anthropic::tool_use("t1", "web_fetch", json!({"url": url})), anthropic::text("Read.")]);
    let output = same(&mut world, &["-p", "hi"]);
    assert_eq!((output.stdout().as_str(), page.count()), ("Read.\n", 1), "{output}");
}

/// A chat's turns are replayed one after another; it may also be replayed as a chat.
#[test]
fn several_turns() {
    let (mut world, _server) = with_model([anthropic::text("One"), anthropic::text("Two")]);
    let args = ["--as", "zdx", "--no-save"];
    let first = world.run_with_stdin(&[&args[..], &["--record", "chat.jsonl"]].concat(), "1\n2\n");
    assert_eq!((first.stdout().as_str(), first.code()), ("One\nTwo\n", Some(0)), "{first}");
    offline(&mut world);
    let chat = world.run_with_stdin(&[&args[..], &["--replay", "chat.jsonl"]].concat(), "1\n2\n");
    assert_eq!(chat.to_string(), first.to_string());
    insta::assert_snapshot!(world.run(&["exec", "--as", "zdx", "--no-save", "--replay", "chat.jsonl"]), @"
    One
    Two
    [exit status: 0]
    ");
}

/// A key that begins as many words end (`sk-`) holds nothing back: a killed run leaves what came before.
#[test]
fn a_killed_run_with_a_usual_key() {
    let gate = Gate::new();
    let reply = Reply::sse(fixture::bytes("openai_responses/text.sse")).wait_after(6, &gate);
    let server = ModelServer::start([reply]);
    let mut world = world();
    world.set_var("OPENAI_BASE_URL", format!("{}/v1", server.url()));
    world.set_var("OPENAI_API_KEY", "sk-proj-0123456789");
    let command = world.cmd(&["exec", "--provider", "codex", "-p", "hi", "--record", "r.jsonl"]);
    let mut run = world.start(command, Stdin::Null, Stdout::Captured);
    run.wait_for_stdout("Hello! How can");
    run.kill();
    run.finish();
    offline(&mut world);
    insta::assert_snapshot!(world.run(&["exec", "--replay", "r.jsonl"]), @"
    Hello! How can
    ------- stderr -------
    Error [replay]: the recording ends here: the file ends in the middle of answer 1
    [exit status: 1]
    ");
}

/// A run that was interrupted is a recording of what came before.
#[test]
fn an_interrupted_run() {
    for kill in [false, true] {
        let gate = Gate::new();
        let (mut world, _server) = with_model([anthropic::text("Some words").reply().wait_after(4, &gate)]);
        let command = world.cmd(&["exec", "-p", "hi", "--record", "r.jsonl"]);
        let mut run = world.start(command, Stdin::Null, Stdout::Captured);
        run.wait_for_stdout("Some words");
        if kill {
            run.kill()
        } else {
            run.interrupt()
        };
        assert_eq!(run.finish().code(), (!kill).then_some(130));
        offline(&mut world);
        let output = world.run(&["exec", "--replay", "r.jsonl"]);
        let why = if kill {
            "the file ends in the middle of answer 1"
        } else {
            "the run was cancelled at answer 1"
        };
        assert_eq!(
            output.to_string(),
            format!(
                "Some words\n------- stderr -------\nError [replay]: the recording ends here: {why}\n[exit status: 1]"
            )
        );
    }
}
