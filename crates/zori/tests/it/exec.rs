//! `exec`: one prompt in, the answer out, and what goes over the wire on the way.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::{TEST_KEY, TestEnv};
use zori_testkit::reply::Reply;
use zori_testkit::server::{ModelServer, Request};

use crate::world::{with_model, world};

/// Returns the n-th request's conversation, paths rewritten.
fn conversation(world: &TestEnv, server: &ModelServer, n: usize) -> String {
    world.rewrite().apply(&server.request(n).conversation())
}

/// Returns the request's body with nothing but the names of the tools.
fn outline(request: &Request) -> Value {
    let mut body = request.json();
    // `system_prompt.rs` looks at it.
    body.as_object_mut().expect("a request is an object").remove("system");
    let tools = body["tools"].as_array().expect("tools are offered").iter();
    body["tools"] = tools.map(|tool| tool["name"].clone()).collect();
    body
}

/// OUT-3.
#[test]
fn exactly_one_newline_ends_the_answer() {
    for text in ["Hello", "Hello\n", "Hello\n\n\n"] {
        let (world, _server) = with_model([anthropic::text(text)]);
        assert_eq!(world.run(&["exec", "-p", "hi"]).to_string(), "Hello\n[exit status: 0]", "{text:?}");
    }
}

#[test]
fn blank_lines_and_blanks_inside_the_answer_are_kept() {
    let (world, _server) = with_model([anthropic::text("\n  a\n\n\tb  \nc ü")]);
    assert_eq!(world.run(&["exec", "-p", "hi"]).stdout, "\n  a\n\n\tb  \nc ü\n".as_bytes());
}

#[test]
fn an_empty_answer_is_no_byte_and_asked_about_once() {
    let (world, _server) = with_model([anthropic::Message::new(), anthropic::Message::new()]);
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r"
    ------- stderr -------
    The model returned an empty reply; it is asked to go on
    Error [malformed]: the model returned an empty reply, and another one when it was asked to go on
    [exit status: 1]
    ");
}

#[test]
fn a_prompt_without_a_command_is_exec() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    assert_eq!(world.run(&["-p", "hi"]).to_string(), "Hello\n[exit status: 0]");
    assert_eq!(server.request(0).conversation(), "user: hi\n");
}

#[test]
fn the_first_request() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    world.run(&["exec", "-p", "hi"]).success();
    let request = server.request(0);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("POST", "/v1/messages"));
    let header = |name| request.header(name).map(str::to_owned);
    assert_eq!(header("x-api-key").as_deref(), Some(TEST_KEY));
    assert_eq!(header("anthropic-version").as_deref(), Some("2023-06-01"));
    assert_eq!(header("content-type").as_deref(), Some("application/json"));
    assert_eq!(header("authorization"), None);
    assert_eq!(
        outline(&request),
        json!({
            "model": "claude-sonnet-5-5",
            "max_tokens": 128_000,
            "stream": true,
            "tools": [
                "read", "write", "edit", "bash", "multi_edit", "glob", "grep", "ls", "apply_patch", "web_fetch",
                "web_search", "todo_write", "task",
            ],
            "messages": [{
                "role": "user",
                "content": [{"type": "text", "text": "hi", "cache_control": {"type": "ephemeral"}}],
            }],
        })
    );
}

/// DECISIONS 64: the prefix that every request repeats is paid for by every user.
#[test]
fn the_first_request_is_small() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    world.run(&["exec", "-p", "hi"]).success();
    let bytes = server.request(0).body.len();
    assert!(bytes < 8_000, "{bytes} bytes");
}

/// TOOL-2, TOOL-3: the result carries the call's id, and its content is the envelope.
#[test]
fn a_tool_round_trip() {
    let (world, server) = with_model([
        anthropic::tool_use("toolu_1", "read", json!({"path": "a.txt"})),
        anthropic::text("It says content."),
    ]);
    world.write("a.txt", "content\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "What is in a.txt?"]), @r"
    It says content.
    ------- stderr -------
    ⚙ Running read... Done. (X.XXs)
    [exit status: 0]
    ");
    insta::assert_snapshot!(conversation(&world, &server, 1), @r#"
    user: What is in a.txt?
    assistant: tool_use toolu_1 read {"path":"a.txt"}
    user: tool_result toolu_1 $WORK/a.txt (1 line)
    content
    "#);
    assert_eq!(server.count(), 2);
}

#[test]
fn a_failed_call_is_marked_as_an_error() {
    let (world, server) = with_model([
        anthropic::tool_use("toolu_1", "nothing", json!({})).tool_use(
            "toolu_2",
            "bash",
            json!({"command": "exit 7"}),
        ),
        anthropic::text("Well."),
    ]);
    world.run(&["exec", "-p", "go"]).success();
    let results = server.request(1).messages()[2]["content"].clone();
    assert_eq!(results[0]["is_error"], json!(true));
    // A command that fails is a result like any other (BASH-2), and the mark is sent only when it is true.
    assert_eq!(results[1].get("is_error"), None);
}

/// TOOL-3: in the order of the calls, whichever is done first.
#[test]
fn several_calls_in_one_reply_are_answered_in_order() {
    let (world, server) = with_model([
        anthropic::tool_use(
            "toolu_1",
            "bash",
            json!({"command": "until test -e flag; do :; done; echo one"}),
        )
        .tool_use("toolu_2", "bash", json!({"command": "touch flag; echo two"}))
        .tool_use("toolu_3", "read", json!({"path": "a.txt"})),
        anthropic::text("Done."),
    ]);
    world.write("a.txt", "three\n");
    world.run(&["exec", "-p", "go"]).success();
    insta::assert_snapshot!(conversation(&world, &server, 1), @r#"
    user: go
    assistant: tool_use toolu_1 bash {"command":"until test -e flag; do :; done; echo one"}
    assistant: tool_use toolu_2 bash {"command":"touch flag; echo two"}
    assistant: tool_use toolu_3 read {"path":"a.txt"}
    user: tool_result toolu_1 one
    user: tool_result toolu_2 two
    user: tool_result toolu_3 $WORK/a.txt (1 line)
    three
    "#);
}

/// Two calls that write the same file run one after the other, so both of them are in the file.
#[test]
fn calls_that_write_one_file_take_turns() {
    let edit = |old: &str, new: &str| json!({"path": "a.txt", "old": old, "new": new});
    let (world, _server) = with_model([
        anthropic::tool_use("toolu_1", "write", json!({"path": "a.txt", "content": "one"}))
            .tool_use("toolu_2", "edit", edit("one", "two"))
            .tool_use("toolu_3", "edit", edit("two", "three")),
        anthropic::text("Done."),
    ]);
    world.run(&["exec", "-p", "go"]).success();
    assert_eq!(world.read("a.txt"), "three");
}

#[test]
fn text_before_a_tool_call_is_part_of_the_answer() {
    let (world, server) = with_model([
        anthropic::text("I will look.").tool_use("toolu_1", "bash", json!({"command": "echo x"})),
        anthropic::text("It was x."),
    ]);
    insta::assert_snapshot!(world.run(&["exec", "-p", "look"]), @r#"
    I will look.
    It was x.
    ------- stderr -------
    Tool requested: bash command="echo x"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    [exit status: 0]
    "#);
    insta::assert_snapshot!(conversation(&world, &server, 1), @r#"
    user: look
    assistant: I will look.
    assistant: tool_use toolu_1 bash {"command":"echo x"}
    user: tool_result toolu_1 x
    "#);
}

/// L-2: a provider rejects thinking that comes back changed by one byte.
#[test]
fn thinking_goes_back_as_it_came() {
    let (world, server) = with_model([
        anthropic::thinking("Hm \"é\"\n", "c2ln/+==")
            .redacted_thinking("ZGF0YQ==")
            .text("Let me see.")
            .tool_use("toolu_1", "ls", json!({})),
        anthropic::text("Nothing."),
    ]);
    let output = world.run(&["exec", "-p", "go"]).success();
    assert_eq!(output.stdout(), "Let me see.\nNothing.\n");
    assert!(!output.stderr().contains("Hm"), "{output}");
    let body = String::from_utf8(server.request(1).body).unwrap();
    let sent = concat!(
        r#"{"role":"assistant","content":[{"type":"thinking","thinking":"Hm \"é\"\n","signature":"c2ln/+=="},"#,
        r#"{"type":"redacted_thinking","data":"ZGF0YQ=="},{"type":"text","text":"Let me see."},"#,
        r#"{"type":"tool_use","id":"toolu_1","name":"ls","input":{}}]}"#
    );
    assert!(body.contains(sent), "{body}");
}

/// Arguments too: spelling, order and blanks are the model's.
#[test]
fn arguments_go_back_as_they_came() {
    let stream = anthropic::tool_use("toolu_1", "ls", json!("INPUT")).sse();
    let stream = stream.replace(r#"\"IN"#, r#"{ \"path\" : \".\",  \"x\": 1.50"#).replace(r#"PUT\""#, " }");
    let (world, server) = with_model([Reply::sse(stream), anthropic::text("Done.").into()]);
    world.run(&["exec", "-p", "go"]).success();
    let body = String::from_utf8(server.request(1).body).unwrap();
    assert!(body.contains(r#""input":{ "path" : ".",  "x": 1.50 }"#), "{body}");
}

const CACHE_MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;

/// L-10: each request begins with the bytes of the one before, or the provider's cache is of no use.
#[test]
fn each_request_begins_with_the_one_before() {
    let step = |n: usize| anthropic::tool_use(&format!("toolu_{n}"), "bash", json!({"command": "echo x"}));
    let (world, server) = with_model([step(1), step(2), step(3), anthropic::text("Done.")]);
    world.run(&["exec", "-p", "go", "--system-prompt", "Be brief."]).success();
    let bodies: Vec<String> =
        server.requests().into_iter().map(|request| String::from_utf8(request.body).unwrap()).collect();
    assert_eq!(bodies.len(), 4);
    for pair in bodies.windows(2) {
        let [before, after] = [&pair[0], &pair[1]].map(|body| body.replace(CACHE_MARK, ""));
        let before = before.strip_suffix("]}").expect("the conversation ends the body");
        assert!(after.starts_with(before), "{before}\n{after}");
    }
    let marks: Vec<usize> = bodies.iter().map(|body| body.matches(CACHE_MARK).count()).collect();
    assert_eq!(marks, [3, 4, 4, 4], "tools, system, the last two messages of the user");
}

#[test]
fn cache_marks_end_what_is_repeated() {
    let (world, server) =
        with_model([anthropic::tool_use("toolu_1", "ls", json!({})), anthropic::text("Done.")]);
    world.run(&["exec", "-p", "go", "--system-prompt", "Be brief."]).success();
    let body = server.request(1).json();
    let marked = |value: &Value| value["cache_control"] == json!({"type": "ephemeral"});
    let tools: Vec<bool> = body["tools"].as_array().unwrap().iter().map(marked).collect();
    assert_eq!(tools.iter().rposition(|marked| *marked), Some(tools.len() - 1));
    assert_eq!(tools.iter().filter(|marked| **marked).count(), 1);
    assert_eq!(
        body["system"],
        json!([{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}])
    );
    let messages: Vec<bool> =
        body["messages"].as_array().unwrap().iter().map(|message| marked(&message["content"][0])).collect();
    assert_eq!(messages, [true, false, true]);
}

#[test]
fn without_streaming() {
    let replies = [
        anthropic::text("I look.").tool_use("toolu_1", "read", json!({"path": "a.txt"})),
        anthropic::thinking("Hm", "sig").text("Hello"),
    ];
    let (world, server) = with_model(replies.map(|message| Reply::json(200, message.json())));
    world.write(world.base().join("config.toml"), "stream = false\n");
    world.write("a.txt", "x");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r"
    I look.
    Hello
    ------- stderr -------
    ⚙ Running read... Done. (X.XXs)
    [exit status: 0]
    ");
    assert_eq!(outline(&server.request(0)).get("stream"), None);
    insta::assert_snapshot!(conversation(&world, &server, 1), @r#"
    user: hi
    assistant: I look.
    assistant: tool_use toolu_1 read {"path":"a.txt"}
    user: tool_result toolu_1 $WORK/a.txt (1 line, no newline at the end)
    x
    "#);
}

#[test]
fn without_streaming_errors_are_the_same() {
    let (world, _server) =
        with_model([anthropic::http_error(400, "invalid_request_error", "too many tools")]);
    world.write(world.base().join("config.toml"), "stream = false\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 400: too many tools
      Details: {"error":{"message":"too many tools","type":"invalid_request_error"},"type":"error"}
    [exit status: 1]
    "#);
}

#[test]
fn settings_of_the_request_come_from_the_config() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    world.write(
        world.base().join("config.toml"),
        "model = \"claude-opus-4-1\"\nmax_tokens = 77\ntemperature = 0.5\n",
    );
    world.run(&["exec", "-p", "hi"]).success();
    let body = server.request(0).json();
    assert_eq!(
        [&body["model"], &body["max_tokens"], &body["temperature"]],
        [&json!("claude-opus-4-1"), &json!(77), &json!(0.5)]
    );
}

/// CFG-8: the provider judges the temperature.
#[test]
fn a_temperature_out_of_range_is_passed_on() {
    let (world, server) =
        with_model([anthropic::http_error(400, "invalid_request_error", "temperature: range: 0..1")]);
    world.write(world.base().join("config.toml"), "model = \"claude-haiku-4-5\"\ntemperature = 7\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 400: temperature: range: 0..1
      Details: {"error":{"message":"temperature: range: 0..1","type":"invalid_request_error"},"type":"error"}
    [exit status: 1]
    "#);
    assert_eq!(server.request(0).json()["temperature"], json!(7.0));
}

/// Returns model and reply limit of the request that these flags lead to.
#[track_caller]
fn asked(config: &str, flags: &[&str]) -> (String, u64) {
    let (world, server) = with_model([anthropic::text("Hello")]);
    world.write(world.base().join("config.toml"), config);
    world.run(&[&["exec", "-p", "hi"], flags].concat()).success();
    let body = server.request(0).json();
    let model = body["model"].as_str().expect("a request names its model");
    (model.to_owned(), body["max_tokens"].as_u64().expect("a request has a limit"))
}

/// PROV-5, PROV-6, DECISIONS 46.
#[test]
fn flags_choose_the_model() {
    let case = |config: &str, flags: &[&str]| {
        let (model, limit) = asked(config, flags);
        format!("{model} {limit}")
    };
    assert_eq!(case("", &["--model", "claude-opus-4-1"]), "claude-opus-4-1 32000");
    assert_eq!(case("", &["--model", "my-model"]), "my-model 32000");
    assert_eq!(case("", &["--provider", "anthropic"]), "claude-sonnet-5-5 128000");
    assert_eq!(case("", &["--model", "anthropic:my-model"]), "my-model 32000");
    assert_eq!(case("", &["--provider", "anthropic", "--model", "anthropic:my-model"]), "my-model 32000");
    assert_eq!(case("model = \"mine\"", &[]), "mine 32000");
    assert_eq!(case("model = \"mine\"", &["--model", "other"]), "other 32000");
    assert_eq!(case("", &["--model", "family:12b"]), "family:12b 32000");
}

#[test]
fn a_provider_that_disagrees_with_the_model() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    let output = world.run(&["exec", "-p", "hi", "--provider", "anthropic", "--model", "openai:gpt-5"]);
    insta::assert_snapshot!(output, @r"
    ------- stderr -------
    Error: `--provider anthropic` and `--model openai:...` name two providers
    Hint: leave one of them out
    [exit status: 2]
    ");
    assert_eq!(server.count(), 0);
}

#[test]
fn an_unknown_provider() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--provider", "acme"]), @r"
    ------- stderr -------
    Error: unknown provider `acme`
    Hint: use one of `anthropic`, `openai`, `openai-chat`, `codex`, `gemini`, `openrouter`, `copilot`, `groq`, `xai`, `deepseek`, `mistral`, `cerebras`, `together`, `bedrock`, `azure`, `vertex`, `vertex-claude`, `ollama`, `llamacpp`, `lmstudio`, `vllm`, `compat`, `litellm`, `agent-zero`
    Hint: or describe it in the config file: `[providers.acme]` with `api`, `base_url` and `key_env`
    [exit status: 2]
    ");
    world.write(world.base().join("config.toml"), "provider = \"acme\"\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r"
    ------- stderr -------
    Error: unknown provider `acme`
    Hint: use one of `anthropic`, `openai`, `openai-chat`, `codex`, `gemini`, `openrouter`, `copilot`, `groq`, `xai`, `deepseek`, `mistral`, `cerebras`, `together`, `bedrock`, `azure`, `vertex`, `vertex-claude`, `ollama`, `llamacpp`, `lmstudio`, `vllm`, `compat`, `litellm`, `agent-zero`
    Hint: or describe it in the config file: `[providers.acme]` with `api`, `base_url` and `key_env`
    [exit status: 2]
    ");
    assert_eq!(server.count(), 0);
}

/// PROV-3: environment over config; blank is unset, blanks around and a slash behind do not matter.
#[test]
fn where_the_provider_is() {
    let (mut world, server) = with_model(["a", "b", "c", "d"].map(anthropic::text));
    let other = ModelServer::start([anthropic::text("the wrong one")]);
    let config = |url: &str| {
        world.write(world.base().join("config.toml"), format!("anthropic_base_url = \"{url}\"\n"));
    };
    config(&other.url());
    assert_eq!(world.run(&["exec", "-p", "hi"]).stdout(), "a\n");
    config(&format!("  {}/  ", server.url()));
    world.set_var("ANTHROPIC_BASE_URL", " ");
    assert_eq!(world.run(&["exec", "-p", "hi"]).stdout(), "b\n");
    world.remove_var("ANTHROPIC_BASE_URL");
    assert_eq!(world.run(&["exec", "-p", "hi"]).stdout(), "c\n");
    world.set_var("ANTHROPIC_BASE_URL", format!("{}/proxy/", server.url()));
    assert_eq!(world.run(&["exec", "-p", "hi"]).stdout(), "d\n");
    let paths: Vec<_> = server.requests().into_iter().map(|request| request.path).collect();
    assert_eq!(paths, ["/v1/messages", "/v1/messages", "/v1/messages", "/proxy/v1/messages"]);
    assert_eq!(other.count(), 0);
}

/// Without any setting it is the vendor's address, which a proxy can see without reaching it.
#[test]
fn the_provider_is_at_the_vendors_by_default() {
    let proxy = ModelServer::start([Reply::bytes(403, "text/plain", "no way out")]);
    let mut world = world();
    world.set_var("ANTHROPIC_API_KEY", TEST_KEY).set_var("HTTPS_PROXY", proxy.url());
    world.write(world.base().join("config.toml"), "anthropic_base_url = \"\"\n");
    let output = world.run(&["exec", "-p", "hi", "--retries", "0"]);
    assert_eq!((output.stdout().as_str(), output.code()), ("", Some(12)), "{output}");
    let request = proxy.request(0);
    assert_eq!((request.method.as_str(), request.path.as_str()), ("CONNECT", "api.anthropic.com:443"));
    assert_eq!(request.header("x-api-key"), None);
}

/// PROV-4.
#[test]
fn a_base_url_that_is_none() {
    let (mut world, server) = with_model([anthropic::text("Hello")]);
    world.set_var("ANTHROPIC_BASE_URL", "not a url");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r"
    ------- stderr -------
    Error: Invalid Anthropic base URL: not a url
    [exit status: 2]
    ");
    world.remove_var("ANTHROPIC_BASE_URL");
    world.write(world.base().join("config.toml"), "anthropic_base_url = \"ftp://example.org\"\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r"
    ------- stderr -------
    Error: Invalid Anthropic base URL: ftp://example.org
    [exit status: 2]
    ");
    assert_eq!(server.count(), 0);
    assert_eq!(world.session_files().len(), 0);
}
