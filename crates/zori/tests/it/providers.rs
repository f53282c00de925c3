//! Choosing who answers, and every API through the executable: one request, one answer.

use std::os::unix::fs::PermissionsExt;

use zori_testkit::env::TestEnv;
use zori_testkit::fixture;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use crate::world::world;

/// A world in which a provider is at the server, with its key.
fn at(server: &ModelServer, prefix: &str) -> TestEnv {
    let mut world = world();
    world.set_var(format!("{prefix}_BASE_URL"), format!("{}/v1", server.url()));
    world.set_var(format!("{prefix}_API_KEY"), "sk-0123456789");
    world
}

/// One answer as the provider streams it: name, variables, fixture, where the request goes, how the key is told.
#[test]
fn every_api_answers() {
    let cases = [
        ("openai", "OPENAI", "openai_chat/text.sse", "/v1/chat/completions", "authorization"),
        ("openrouter", "OPENROUTER", "openai_chat/text.sse", "/v1/chat/completions", "authorization"),
        ("codex", "OPENAI", "openai_responses/text.sse", "/v1/responses", "authorization"),
        (
            "gemini",
            "GEMINI",
            "gemini/text.sse",
            "/v1/models/gemini-3.8-flash:streamGenerateContent?alt=sse",
            "x-goog-api-key",
        ),
    ];
    for (provider, prefix, stream, path, header) in cases {
        let server = ModelServer::start([Reply::sse(fixture::bytes(stream))]);
        let world = at(&server, prefix);
        let output = world.run(&["exec", "--no-save", "--provider", provider, "-p", "hi"]);
        assert_eq!(output.code(), Some(0), "{provider}: {output}");
        assert!(output.stdout().len() > 1, "{provider}: {output}");
        let request = server.request(0);
        assert_eq!(request.path, path, "{provider}");
        assert!(request.header(header).is_some_and(|value| value.contains("sk-0123456789")), "{provider}");
        assert!(!request.path.contains("sk-"), "a key never goes into a URL");
    }
}

/// A turn with a tool over Chat Completions: the call runs, and its result goes back under its id.
#[test]
fn a_tool_round_over_chat_completions() {
    let call = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",",
        "\"type\":\"function\",\"function\":{\"name\":\"bash\",\"arguments\":\"{\\\"command\\\":\\\"echo hi\\\"}\"}}]}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
    );
    let done = concat!(
        "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Done.\"}}]}\n\n",
        "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n",
    );
    let server = ModelServer::start([Reply::sse(call), Reply::sse(done)]);
    let world = at(&server, "OPENAI");
    insta::assert_snapshot!(world.run(&["exec", "--no-save", "--provider", "openai", "-p", "go"]), @r#"
    Done.
    ------- stderr -------
    Tool requested: bash command="echo hi"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    [exit status: 0]
    "#);
    let messages = server.request(1).messages();
    let last = messages.last().unwrap();
    assert_eq!((last["role"].as_str(), last["tool_call_id"].as_str()), (Some("tool"), Some("call_1")));
    assert!(last["content"].as_str().unwrap().contains(r#""stdout":"hi\n""#));
}

/// DECISIONS 35: the key that is set decides, and that is said.
#[test]
fn the_only_key_there_is() {
    let server = ModelServer::start([Reply::sse(fixture::bytes("openai_chat/text.sse"))]);
    let world = at(&server, "OPENAI");
    let output = world.run(&["exec", "--no-save", "-p", "hi"]);
    assert_eq!(
        output.stderr(),
        "Using OpenAI with the model `gpt-5.4-mini`, because OPENAI_API_KEY is set\n",
        "{output}"
    );
    assert_eq!(output.code(), Some(0));
}

/// DECISIONS 3: without a key and a choice, a server on this machine is found and used.
#[test]
fn a_local_server_nobody_named() {
    let models = Reply::json(200, r#"{"object":"list","data":[{"id":"llama3.2:3b"},{"id":"other"}]}"#);
    let server = ModelServer::start([models, Reply::sse(fixture::bytes("openai_chat/text.sse"))]);
    let mut world = world();
    world.set_var("OLLAMA_BASE_URL", format!("{}/v1", server.url()));
    let output = world.run(&["exec", "--no-save", "-p", "hi"]);
    assert_eq!(
        output.stderr(),
        "Using Ollama at http://127.0.0.1:$PORT/v1 with the model `llama3.2:3b`: no provider was chosen and no key is set\n",
        "{output}"
    );
    assert_eq!(output.code(), Some(0));
    assert_eq!(server.request(1).json()["model"], "llama3.2:3b");
    assert_eq!(server.request(1).header("authorization"), None);
}

#[test]
fn a_local_server_by_name_is_asked_for_its_model() {
    let models = Reply::json(200, r#"{"object":"list","data":[{"id":"qwen"}]}"#);
    let server = ModelServer::start([models, Reply::sse(fixture::bytes("openai_chat/text.sse"))]);
    let mut world = world();
    world.set_var("LLAMACPP_BASE_URL", format!("{}/v1", server.url()));
    let output = world.run(&["exec", "--no-save", "--provider", "llamacpp", "-p", "hi"]);
    assert_eq!((output.code(), output.stderr().as_str()), (Some(0), ""), "{output}");
    assert_eq!(server.request(1).json()["model"], "qwen");
}

/// Makes a program that a run finds before any other of that name.
fn stand_in(world: &mut TestEnv, name: &str, script: &str) {
    let bin = world.home().join("bin");
    let program = world.write(bin.join(name), format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(program, PermissionsExt::from_mode(0o755)).expect("a file of ours");
    world.set_var("PATH", format!("{}:/usr/bin:/bin", bin.display()));
}

#[test]
fn tokens_of_helper_programs() {
    let server = ModelServer::start([
        Reply::sse(fixture::bytes("openai_chat/text.sse")),
        Reply::sse(fixture::bytes("gemini/text.sse")),
    ]);
    let mut world = world();
    world.set_var("COPILOT_BASE_URL", server.url());
    world.set_var("GEMINI_BASE_URL", server.url());
    stand_in(&mut world, "gh", "echo gho_from_the_program");
    stand_in(&mut world, "gcloud", "[ \"$2\" = application-default ] && echo ya29.default");
    for provider in ["copilot", "gemini"] {
        world.run(&["exec", "--no-save", "--provider", provider, "-p", "hi"]).success();
    }
    assert_eq!(server.request(0).header("authorization"), Some("Bearer gho_from_the_program"));
    assert_eq!(server.request(1).header("authorization"), Some("Bearer ya29.default"));
}

#[test]
fn helper_programs_that_do_not_help() {
    let mut world = world();
    world.set_var("PATH", world.home().join("bin"));
    let told = |world: &TestEnv| {
        let output = world.run(&["exec", "--no-save", "--provider", "copilot", "-p", "hi"]);
        assert_eq!(output.code(), Some(8));
        output.stderr().lines().next().unwrap().to_owned()
    };
    assert_eq!(told(&world), "Error: COPILOT_GITHUB_TOKEN is not set, and `gh` is not installed");
    stand_in(&mut world, "gh", "exit 4");
    assert_eq!(
        told(&world),
        "Error: COPILOT_GITHUB_TOKEN is not set, and `gh auth token` failed (exit status: 4)"
    );
    stand_in(&mut world, "gh", "true");
    assert_eq!(told(&world), "Error: COPILOT_GITHUB_TOKEN is not set, and `gh auth token` printed nothing");
}

#[test]
fn a_mistyped_provider_is_guessed() {
    insta::assert_snapshot!(world().run(&["exec", "-p", "hi", "--provider", "opnai"]), @"
    ------- stderr -------
    Error: unknown provider `opnai`
    Hint: did you mean `openai`?
    [exit status: 2]
    ");
}

/// Models that know no tool calls get them as text, and their answers are read.
#[test]
fn tools_in_prose() {
    let call = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"```json\\n{\\\"tool\\\":\\\"bash\\\",\\\"arguments\\\":{\\\"command\\\":\\\"echo hi\\\"}}\\n```\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let done = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Done.\"}}]}\n\ndata: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let server = ModelServer::start([Reply::sse(call), Reply::sse(done)]);
    let world = at(&server, "OPENAI");
    world.write(world.base().join("config.toml"), "provider = \"openai\"\ntool_calls = \"prose\"\n");
    let output = world.run(&["exec", "--no-save", "-p", "go"]).success();
    assert_eq!(output.stdout(), "Done.\n", "{output}");
    assert!(server.request(0).json().get("tools").is_none());
    assert!(String::from_utf8_lossy(&server.request(1).body).contains("hi"));
}

#[test]
fn the_catalogue() {
    let world = world();
    let list = world.run(&["models", "list", "--provider", "gemini"]).success();
    let first = list.stdout().lines().next().unwrap().to_owned();
    assert_eq!(first, "gemini:gemini-3.8-flash                1048576    65536  price not known");
    insta::assert_snapshot!(world.run(&["models", "show", "anthropic:claude-haiku-4-5-20251001"]), @"
    Model:          claude-haiku-4-5
    Provider:       anthropic (its default)
    Context window: 200000 tokens
    Reply limit:    64000 tokens
    Abilities:      tools, images, thinking
    Prices:         $1.00 in, $5.00 out, $0.10 read from cache, $1.25 written to cache, for a million tokens
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["models", "show", "claude-hiaku-4-5"]), @"
    ------- stderr -------
    Error: the catalogue has no model `claude-hiaku-4-5`
    Hint: did you mean `claude-haiku-4-5`?
    [exit status: 5]
    ");
    insta::assert_snapshot!(world.run(&["models", "list", "--provider", "opnai"]), @"
    ------- stderr -------
    Error: unknown provider `opnai`
    Hint: did you mean `openai`?
    [exit status: 2]
    ");
    assert!(!world.base().exists(), "looking leaves no trace");
}

#[test]
fn the_models_of_a_local_server_are_listed() {
    let server = ModelServer::start([Reply::json(200, r#"{"data":[{"id":"qwen3:8b"}]}"#)]);
    let mut world = world();
    world.set_var("OLLAMA_BASE_URL", format!("{}/v1", server.url()));
    let list = world.run(&["models", "list", "--provider", "ollama"]);
    assert_eq!(list.stdout(), "ollama:qwen3:8b  at http://127.0.0.1:$PORT/v1\n", "{list}");
}

/// What cannot have an effect is said, and the run goes on.
#[test]
fn remarks_about_a_model() {
    let text = || Reply::sse(fixture::bytes("openai_chat/text.sse"));
    let server = ModelServer::start([text(), text(), text()]);
    let world = at(&server, "OPENAI");
    let said =
        |args: &[&str]| world.run(&[&["exec", "--no-save", "-p", "hi"], args].concat()).success().stderr();
    assert_eq!(
        said(&["--model", "openai:gpt-5.4-mni"]),
        "Warning: the catalogue has no model `gpt-5.4-mni`; did you mean `gpt-5.4-mini`?\n\
         Warning: The price of `gpt-5.4-mni` is not known, so what it costs is not counted\n"
    );
    assert_eq!(
        said(&["--model", "openai:gpt-4.1", "--thinking", "high"]),
        "Warning: the model `gpt-4.1` does not think; the level has no effect\n"
    );
    assert_eq!(
        said(&["--provider", "openai", "--thinking", "low"]),
        "Warning: over this API `gpt-5.4-mini` takes no thinking level beside tools; `--provider codex` has another API\n"
    );
}

/// The thinking level reaches the provider in its own words.
#[test]
fn a_thinking_level() {
    let text = || Reply::sse(fixture::bytes("openai_chat/text.sse"));
    let server = ModelServer::start([text(), text()]);
    let world = at(&server, "OPENAI");
    world.run(&["exec", "--no-save", "--model", "openai:gpt-5.1", "--thinking", "low", "-p", "hi"]).success();
    assert_eq!(server.request(0).json()["reasoning_effort"], "low");
    world.run(&["exec", "--no-save", "--provider", "openai", "-p", "hi"]).success();
    assert!(server.request(1).json().get("reasoning_effort").is_none());
}
