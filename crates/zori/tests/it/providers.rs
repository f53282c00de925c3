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
        ("openai", "OPENAI", "openai_responses/text.sse", "/v1/responses", "authorization"),
        ("openai-chat", "OPENAI", "openai_chat/text.sse", "/v1/chat/completions", "authorization"),
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
    insta::assert_snapshot!(world.run(&["exec", "--no-save", "--provider", "openai-chat", "-p", "go"]), @r#"
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
    assert_eq!(last["content"], "hi");
}

/// DECISIONS 35: the key that is set decides, and that is said.
#[test]
fn the_only_key_there_is() {
    let server = ModelServer::start([Reply::sse(fixture::bytes("openai_responses/text.sse"))]);
    let world = at(&server, "OPENAI");
    let output = world.run(&["exec", "--no-save", "-p", "hi"]);
    assert_eq!(
        output.stderr(),
        "Using OpenAI with the model `gpt-6.1-terra`, because OPENAI_API_KEY is set\n",
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
    insta::assert_snapshot!(world().run(&["exec", "-p", "hi", "--provider", "opnai"]), @r"
    ------- stderr -------
    Error: unknown provider `opnai`
    Hint: did you mean `openai`?
    Hint: or describe it in the config file: `[providers.opnai]` with `api`, `base_url` and `key_env`
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
    world.write(world.base().join("config.toml"), "provider = \"openai-chat\"\ntool_calls = \"prose\"\n");
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
    assert_eq!(first, "gemini:gemini-4-carbon                 1048576    65536  $4.00 in, $20.00 out");
    insta::assert_snapshot!(world.run(&["models", "show", "anthropic:claude-haiku-4-5-20251001"]), @"
    Model:          claude-haiku-4-5
    Provider:       anthropic
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
    Hint: or describe it in the config file: `[providers.opnai]` with `api`, `base_url` and `key_env`
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
        said(&["--model", "openai-chat:gpt-5.4-mni"]),
        "Warning: the catalogue has no model `gpt-5.4-mni`; did you mean `gpt-5.4-mini`?\n\
         Warning: The price of `gpt-5.4-mni` is not known, so what it costs is not counted\n"
    );
    assert_eq!(
        said(&["--model", "openai-chat:gpt-4o", "--thinking", "high"]),
        "Warning: the model `gpt-4o` does not think; the level has no effect\n"
    );
    assert_eq!(
        said(&["--provider", "openai-chat", "--thinking", "low"]),
        "Warning: over this API `gpt-6.1-terra` takes no thinking level beside tools; `--provider openai` has another API\n"
    );
}

/// The thinking level reaches the provider in its own words.
#[test]
fn a_thinking_level() {
    let text = || Reply::sse(fixture::bytes("openai_responses/text.sse"));
    let server = ModelServer::start([text(), text()]);
    let world = at(&server, "OPENAI");
    world
        .run(&["exec", "--no-save", "--model", "openai:gpt-6.1-sol", "--thinking", "max", "-p", "hi"])
        .success();
    let body = server.request(0).json();
    assert_eq!(body["reasoning"]["effort"], "max");
    assert!(body["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "beside tools");
    world.run(&["exec", "--no-save", "--provider", "openai", "-p", "hi"]).success();
    assert!(server.request(1).json().get("reasoning").is_none());
}

/// DECISIONS 44: a server that knows no Responses is asked once, and then over Chat Completions.
#[test]
fn a_server_that_has_only_the_older_api() {
    for status in [404, 405, 501] {
        let call = concat!(
            "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"call_1\",\"function\":",
            "{\"name\":\"ls\",\"arguments\":\"{}\"}}]}}]}\n\n",
            "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\ndata: [DONE]\n\n",
        );
        let server = ModelServer::start([
            Reply::json(status, r#"{"error":"no such path"}"#),
            Reply::sse(call),
            Reply::sse(fixture::bytes("openai_chat/text.sse")),
        ]);
        let world = at(&server, "OPENAI");
        let output = world.run(&["exec", "--no-save", "--provider", "openai", "-p", "hi"]);
        assert_eq!(output.code(), Some(0), "{status}: {output}");
        let paths: Vec<_> = (0..server.count()).map(|n| server.request(n).path).collect();
        assert_eq!(paths, ["/v1/responses", "/v1/chat/completions", "/v1/chat/completions"], "{status}");
    }
}

/// A model that the server does not have is no missing API.
#[test]
fn a_model_that_is_not_there_is_asked_for_once() {
    let missing =
        r#"{"error":{"message":"no such model","type":"invalid_request_error","code":"model_not_found"}}"#;
    let server = ModelServer::start([Reply::json(404, missing)]);
    let output = at(&server, "OPENAI").run(&["exec", "--no-save", "--provider", "openai", "-p", "hi"]);
    assert_eq!((output.code(), server.count()), (Some(1), 1), "{output}");
}

/// DECISIONS 47: five lines of config make a provider.
#[test]
fn a_provider_of_ones_own() {
    let server = ModelServer::start([Reply::sse(fixture::bytes("openai_chat/text.sse"))]);
    let mut world = world();
    world.set_var("ACME_KEY", "acme-0123456789");
    let config = format!(
        "[providers.acme]\napi = \"openai-chat\"\nbase_url = \"{}/v1?api-version=7\"\nkey_env = \"ACME_KEY\"\n\
         headers = {{ X-Team = \"tools\" }}\nmodels = [\"large\"]\n",
        server.url()
    );
    world.write(world.base().join("config.toml"), config);
    let output = world.run(&["exec", "--no-save", "--provider", "acme", "-p", "hi"]);
    assert_eq!((output.code(), output.stderr().contains("Error")), (Some(0), false), "{output}");
    let request = server.request(0);
    assert_eq!(request.path, "/v1/chat/completions?api-version=7");
    let header = |name| request.header(name).map(str::to_owned);
    assert_eq!(
        (header("authorization").as_deref(), header("x-team").as_deref()),
        (Some("Bearer acme-0123456789"), Some("tools"))
    );
    assert_eq!(request.json()["model"], "large");
    // Its key is named where it is missing, and a name like it is suggested.
    world.remove_var("ACME_KEY");
    insta::assert_snapshot!(world.run(&["exec", "--no-save", "--model", "acme:small", "-p", "hi"]), @r"
    ------- stderr -------
    Error: ACME_KEY is not set
    Hint: set ACME_KEY to your acme key
    Hint: or store it: `zori auth login --provider acme --with-token`
    Hint: a server on this machine (Ollama, llama.cpp, LM Studio, vLLM) needs none: `--provider ollama`
    Hint: `zori demo` shows what this program does without a key
    [exit status: 8]
    ");
    insta::assert_snapshot!(world.run(&["exec", "--no-save", "--provider", "acne", "-p", "hi"]), @r"
    ------- stderr -------
    Error: unknown provider `acne`
    Hint: did you mean `acme`?
    [exit status: 2]
    ");
}

/// A `/v1` too few or too many is recognised and said.
#[test]
fn an_address_with_a_version_too_few_or_too_many() {
    let cases = [
        ("anthropic", "ANTHROPIC", "/v1", "anthropic/text.sse", "/v1/messages"),
        ("openai", "OPENAI", "", "openai_responses/text.sse", "/v1/responses"),
        ("openai-chat", "OPENAI", "/v1/v1", "openai_chat/text.sse", "/v1/chat/completions"),
    ];
    let mut said = Vec::new();
    for (provider, prefix, version, stream, path) in cases {
        let server = ModelServer::start([Reply::sse(fixture::bytes(stream))]);
        let mut world = at(&server, prefix);
        world.set_var(format!("{prefix}_BASE_URL"), format!("{}{version}", server.url()));
        let output = world.run(&["exec", "--no-save", "--provider", provider, "-p", "hi"]);
        assert_eq!((output.code(), server.request(0).path.as_str()), (Some(0), path), "{output}");
        said.push(output.stderr());
    }
    insta::assert_snapshot!(said.concat(), @r"
    Warning: the address `http://127.0.0.1:$PORT/v1` of Anthropic is taken for `http://127.0.0.1:$PORT`
    Warning: the address `http://127.0.0.1:$PORT` of OpenAI is taken for `http://127.0.0.1:$PORT/v1`
    Warning: the address `http://127.0.0.1:$PORT/v1/v1` of OpenAI is taken for `http://127.0.0.1:$PORT/v1`
    ");
}

/// Further variables that keys are in.
#[test]
fn keys_under_other_names() {
    for (provider, base_url, variable, stream, header, value) in [
        (
            "anthropic",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_AUTH_TOKEN",
            "anthropic/text.sse",
            "authorization",
            "Bearer t-1",
        ),
        ("gemini", "GEMINI_BASE_URL", "GOOGLE_API_KEY", "gemini/text.sse", "x-goog-api-key", "t-1"),
    ] {
        let server = ModelServer::start([Reply::sse(fixture::bytes(stream))]);
        let mut world = world();
        world.set_var(base_url, server.url());
        world.set_var(variable, "t-1");
        let output = world.run(&["exec", "--no-save", "--provider", provider, "-p", "hi"]);
        assert_eq!(output.code(), Some(0), "{output}");
        assert_eq!(server.request(0).header(header), Some(value), "{provider}");
    }
}

/// DECISIONS 43: a retired model is refused with its successor's name; one that ends is used and said.
#[test]
fn models_that_end() {
    let mut world = world();
    world.set_var("ANTHROPIC_API_KEY", "sk-0123456789");
    insta::assert_snapshot!(world.run(&["exec", "--no-save", "--model", "claude-3-opus-20240229", "-p", "hi"]), @r"
    ------- stderr -------
    Error: Anthropic no longer serves the model `claude-3-opus-20240229`
    Hint: use its successor: `claude-opus-5-5`
    [exit status: 2]
    ");
}

/// Models that have learnt to edit by patches get that tool in their form, and none beside it; `zdx` offers all.
#[test]
fn which_model_edits_with_which_tool() {
    let offered = |flags: &[&str], stream: &str| {
        let server = ModelServer::start([Reply::sse(fixture::bytes(stream))]);
        let mut world = at(&server, "OPENAI");
        world.set_var("ANTHROPIC_BASE_URL", server.url());
        world.set_var("ANTHROPIC_API_KEY", "sk-0123456789");
        world.run(&[flags, &["exec", "--no-save", "-p", "hi"]].concat());
        let body = server.request(0).json();
        let tools = body["tools"].as_array().expect("tools are offered");
        let name = |tool: &serde_json::Value| tool["name"].as_str().unwrap_or_default().to_owned();
        let edits = tools.iter().filter(|tool| ["edit", "multi_edit", "apply_patch"].contains(&&*name(tool)));
        let field = |tool: &serde_json::Value| {
            let schema = tool.get("parameters").or(tool.get("input_schema")).expect("a schema");
            schema["properties"]
                .as_object()
                .and_then(|fields| fields.keys().next().cloned())
                .unwrap_or_default()
        };
        edits.map(|tool| format!("{}({})", name(tool), field(tool))).collect::<Vec<_>>().join(" ")
    };
    let responses = "openai_responses/text.sse";
    assert_eq!(offered(&["--model", "openai:gpt-6.1-terra"], responses), "apply_patch(input)");
    assert_eq!(
        offered(&["--model", "anthropic:claude-sonnet-5-5"], "anthropic/text.sse"),
        "edit(path) multi_edit(path) apply_patch(patch)"
    );
    assert_eq!(
        offered(&["--as", "zdx", "--model", "openai:gpt-6.1-terra"], responses),
        "edit(path) multi_edit(path) apply_patch(patch)"
    );
}

/// Every further vendor and gateway: the variable of its address, what comes behind that, the variable of its key, and where the request
/// then goes, with the key as a bearer's.
#[test]
fn every_vendor_is_reached() {
    const VERTEX: &str = "/v1/projects/p/locations/global/publishers";
    let google = format!("{VERTEX}/google");
    let anthropic = format!("{VERTEX}/anthropic");
    let gemini = format!("{google}/models/gemini-3.8-flash:streamGenerateContent?alt=sse");
    let claude = format!("{anthropic}/models/claude-sonnet-5-5:streamRawPredict");
    let chat = "openai_chat/text.sse";
    for (provider, address, behind, key, stream, path) in [
        ("groq", "GROQ_BASE_URL", "/openai/v1", "GROQ_API_KEY", chat, "/openai/v1/chat/completions"),
        ("xai", "XAI_BASE_URL", "/v1", "XAI_API_KEY", chat, "/v1/chat/completions"),
        ("deepseek", "DEEPSEEK_BASE_URL", "/v1", "DEEPSEEK_API_KEY", chat, "/v1/chat/completions"),
        ("mistral", "MISTRAL_BASE_URL", "/v1", "MISTRAL_API_KEY", chat, "/v1/chat/completions"),
        ("cerebras", "CEREBRAS_BASE_URL", "/v1", "CEREBRAS_API_KEY", chat, "/v1/chat/completions"),
        ("together", "TOGETHER_BASE_URL", "/v1", "TOGETHER_API_KEY", chat, "/v1/chat/completions"),
        ("litellm", "LITELLM_BASE_URL", "/v1", "LITELLM_API_KEY", chat, "/v1/chat/completions"),
        (
            "bedrock",
            "BEDROCK_BASE_URL",
            "/openai/v1",
            "AWS_BEARER_TOKEN_BEDROCK",
            chat,
            "/openai/v1/chat/completions",
        ),
        ("copilot", "COPILOT_BASE_URL", "", "COPILOT_GITHUB_TOKEN", chat, "/chat/completions"),
        (
            "azure",
            "AZURE_OPENAI_BASE_URL",
            "/openai/v1",
            "AZURE_OPENAI_API_KEY",
            "openai_responses/text.sse",
            "/openai/v1/responses",
        ),
        ("vertex", "VERTEX_BASE_URL", &google, "VERTEX_ACCESS_TOKEN", "gemini/text.sse", &gemini),
        (
            "vertex-claude",
            "VERTEX_CLAUDE_BASE_URL",
            &anthropic,
            "VERTEX_ACCESS_TOKEN",
            "anthropic/text.sse",
            &claude,
        ),
    ] {
        let server = ModelServer::start([Reply::sse(fixture::bytes(stream))]);
        let mut world = world();
        world.set_var(address, format!("{}{behind}", server.url()));
        world.set_var(key, "sk-0123456789");
        let model: &[&str] = if provider.starts_with("vertex") { &[] } else { &["--model", "m"] };
        let output = world.run(&[&["exec", "--no-save", "--provider", provider, "-p", "hi"], model].concat());
        assert_eq!(output.code(), Some(0), "{provider}: {output}");
        let request = server.request(0);
        assert_eq!(
            (request.path.as_str(), request.header("authorization")),
            (path, Some("Bearer sk-0123456789")),
            "{provider}"
        );
        // DECISIONS 48: what the service demands, in our own name.
        let editor = (provider == "copilot").then_some(concat!("zori/", env!("CARGO_PKG_VERSION")));
        assert_eq!(request.header("editor-version"), editor, "{provider}");
    }
}

/// What a vendor has retired may still be served by somebody else under the same name.
#[test]
fn a_retired_model_at_a_provider_of_ones_own() {
    let server = ModelServer::start([Reply::sse(fixture::bytes("openai_chat/text.sse"))]);
    let world = world();
    let config = format!(
        "[providers.acme]\napi = \"openai-chat\"\nbase_url = \"{}/v1\"\nmodels = [\"gpt-4-turbo\"]\n",
        server.url()
    );
    world.write(world.base().join("config.toml"), config);
    let output = world.run(&["exec", "--no-save", "--provider", "acme", "-p", "hi"]);
    assert_eq!((output.code(), server.count()), (Some(0), 1), "{output}");
}
