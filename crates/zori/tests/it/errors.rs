//! When the provider fails: what is said, and which exit code it leads to (PERR-5, DECISIONS 24).

mod retries;
mod secrets;
mod streams;

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::{TEST_KEY, TestEnv};
use zori_testkit::output::CommandOutput;
use zori_testkit::reply::{Disconnect, Reply};
use zori_testkit::server::{ModelServer, refused_url};

use crate::world::{with_model, world};

/// Runs one prompt against these replies, without any wait between tries.
fn run(replies: Vec<Reply>, flags: &[&str]) -> (CommandOutput, TestEnv, ModelServer) {
    let (world, server) = with_model(replies);
    let output = world.run(&[&["exec", "-p", "hi", "--retry-delay", "0"], flags].concat());
    (output, world, server)
}

/// Returns what is seen of a reply that is not tried again.
fn once(reply: impl Into<Reply>) -> CommandOutput {
    run(vec![reply.into()], &["--retries", "0"]).0
}

fn error(status: u16, kind: &str, message: &str) -> Reply {
    anthropic::http_error(status, kind, message)
}

#[test]
fn a_bad_request() {
    insta::assert_snapshot!(once(error(400, "invalid_request_error", "messages: too long")), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 400: messages: too long
      Details: {"error":{"message":"messages: too long","type":"invalid_request_error"},"type":"error"}
    [exit status: 1]
    "#);
}

#[test]
fn a_key_that_is_refused() {
    insta::assert_snapshot!(once(error(401, "authentication_error", "invalid x-api-key")), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 401: invalid x-api-key
      Details: {"error":{"message":"invalid x-api-key","type":"authentication_error"},"type":"error"}
    Hint: set ANTHROPIC_API_KEY to a key of Anthropic that is valid
    [exit status: 8]
    "#);
}

#[test]
fn no_credit() {
    insta::assert_snapshot!(once(error(402, "billing_error", "credit balance is too low")), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 402: credit balance is too low
      Details: {"error":{"message":"credit balance is too low","type":"billing_error"},"type":"error"}
    [exit status: 9]
    "#);
}

#[test]
fn no_access() {
    insta::assert_snapshot!(once(error(403, "permission_error", "not for you")), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 403: not for you
      Details: {"error":{"message":"not for you","type":"permission_error"},"type":"error"}
    [exit status: 7]
    "#);
}

#[test]
fn no_such_model() {
    insta::assert_snapshot!(once(error(404, "not_found_error", "model: nonsense")), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 404: model: nonsense
      Details: {"error":{"message":"model: nonsense","type":"not_found_error"},"type":"error"}
    [exit status: 1]
    "#);
}

#[test]
fn a_request_that_is_too_large() {
    insta::assert_snapshot!(once(error(413, "request_too_large", "too large")), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 413: too large
      Details: {"error":{"message":"too large","type":"request_too_large"},"type":"error"}
    [exit status: 1]
    "#);
}

#[test]
fn too_many_requests() {
    insta::assert_snapshot!(once(error(429, "rate_limit_error", "slow down")), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 429: slow down
      Details: {"error":{"message":"slow down","type":"rate_limit_error"},"type":"error"}
    [exit status: 11]
    "#);
}

#[test]
fn a_broken_server() {
    insta::assert_snapshot!(once(error(500, "api_error", "internal server error")), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 500: internal server error
      Details: {"error":{"message":"internal server error","type":"api_error"},"type":"error"}
    [exit status: 12]
    "#);
}

#[test]
fn an_overloaded_server() {
    insta::assert_snapshot!(once(error(503, "api_error", "unavailable")), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 503: unavailable
      Details: {"error":{"message":"unavailable","type":"api_error"},"type":"error"}
    [exit status: 12]
    "#);
    insta::assert_snapshot!(once(error(529, "overloaded_error", "Overloaded")), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 529: Overloaded
      Details: {"error":{"message":"Overloaded","type":"overloaded_error"},"type":"error"}
    [exit status: 12]
    "#);
}

#[test]
fn an_error_page_of_something_in_between() {
    let page = "<html>\n<body>\n  <h1>502 Bad Gateway</h1>\n</body>\n</html>\n";
    insta::assert_snapshot!(once(Reply::bytes(502, "text/html", page)), @r"
    ------- stderr -------
    Error [http_status]: HTTP 502
      Details: <html> <body> <h1>502 Bad Gateway</h1> </body> </html>
    [exit status: 12]
    ");
}

#[test]
fn a_web_page_instead_of_a_reply() {
    insta::assert_snapshot!(once(Reply::bytes(200, "text/html", "<html><h1>Log in</h1></html>")), @r"
    ------- stderr -------
    Error [parse]: the server answered with `text/html`, not with a model's reply; check the base URL
      Details: <html><h1>Log in</h1></html>
    [exit status: 1]
    ");
}

#[test]
fn json_that_is_no_reply() {
    insta::assert_snapshot!(once(Reply::json(200, "{\"hello\":1}")), @r#"
    ------- stderr -------
    Error [parse]: the provider's answer cannot be read: missing field `content` at line 1 column 11
      Details: {"hello":1}
    [exit status: 1]
    "#);
    insta::assert_snapshot!(once(Reply::json(200, "{\"hello")), @r#"
    ------- stderr -------
    Error [parse]: the provider's answer cannot be read: EOF while parsing a string at line 1 column 7
      Details: {"hello
    [exit status: 1]
    "#);
}

#[test]
fn an_error_with_a_good_status() {
    insta::assert_snapshot!(once(error(200, "overloaded_error", "Overloaded")), @r"
    ------- stderr -------
    Error [api_error]: overloaded_error: Overloaded
    [exit status: 12]
    ");
}

/// PERR-3.
#[test]
fn a_refused_connection() {
    let mut world = world();
    world.set_var("ANTHROPIC_BASE_URL", refused_url()).set_var("ANTHROPIC_API_KEY", TEST_KEY);
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--retries", "0"]), @r"
    ------- stderr -------
    Error [timeout]: Connection failed: 127.0.0.1:$PORT: Connection refused (os error 111)
    [exit status: 12]
    ");
}

/// PERR-3: a name that cannot be looked up.
#[test]
fn a_host_that_does_not_exist() {
    let mut world = world();
    world.set_var("ANTHROPIC_BASE_URL", "http://nowhere.invalid").set_var("ANTHROPIC_API_KEY", TEST_KEY);
    let output = world.run(&["exec", "-p", "hi", "--retries", "0"]);
    assert!(output.stderr().starts_with("Error [timeout]: Connection failed: "), "{output}");
    assert_eq!((output.stdout().as_str(), output.code()), ("", Some(12)));
}

#[test]
fn a_connection_that_ends_without_an_answer() {
    insta::assert_snapshot!(once(Reply::hang_up(Disconnect::Fin)), @r"
    ------- stderr -------
    Error [transport]: connection lost: 127.0.0.1:$PORT: connection closed before message completed
    [exit status: 12]
    ");
    let output = once(Reply::hang_up(Disconnect::Rst));
    assert!(output.stderr().starts_with("Error ["), "{output}");
    assert_eq!((output.stdout().as_str(), output.code()), ("", Some(12)));
}

/// PROV-2.
#[test]
fn no_key() {
    let mut world = world();
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r"
    ------- stderr -------
    Error: ANTHROPIC_API_KEY is not set
    Hint: set ANTHROPIC_API_KEY to your Anthropic key
    Hint: or store it: `zori auth login --provider anthropic --with-token`
    Hint: a server on this machine (Ollama, llama.cpp, LM Studio, vLLM) needs none: `--provider ollama`
    Hint: `zori demo` shows what this program does without a key
    [exit status: 8]
    ");
    let login = world.run(&["exec", "--provider", "openrouter", "-p", "hi"]).stderr().to_owned();
    assert_eq!(
        login.lines().nth(2),
        Some("Hint: or log in, in a browser: `zori auth login --provider openrouter`")
    );
    world.set_var("ANTHROPIC_API_KEY", " ");
    assert_eq!(world.run(&["exec", "-p", "hi"]).code(), Some(8));
    assert!(!world.base().exists(), "a run that could not begin leaves nothing");
}

#[test]
fn a_key_that_cannot_be_one() {
    let (mut world, server) = with_model([anthropic::text("Hello")]);
    world.set_var("ANTHROPIC_API_KEY", "two words");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r"
    ------- stderr -------
    Error [auth]: ANTHROPIC_API_KEY has characters that no key has
    Hint: set ANTHROPIC_API_KEY to a key of Anthropic that is valid
    [exit status: 8]
    ");
    assert_eq!(server.count(), 0);
}

/// DECISIONS 24: after a tool with effects every failure is a partial one; reading has none.
#[test]
fn a_failure_after_a_tool() {
    let (output, ..) = run(
        vec![
            anthropic::tool_use("toolu_1", "write", json!({"path": "a.txt", "content": "x"})).into(),
            error(401, "authentication_error", "expired"),
        ],
        &[],
    );
    insta::assert_snapshot!(output, @r#"
    ------- stderr -------
    ⚙ Running write... Done. (X.XXs)
    Error [http_status]: HTTP 401: expired
      Details: {"error":{"message":"expired","type":"authentication_error"},"type":"error"}
    Hint: set ANTHROPIC_API_KEY to a key of Anthropic that is valid
    [exit status: 3]
    "#);
    let after_reading = vec![
        anthropic::tool_use("toolu_1", "ls", json!({})).into(),
        error(401, "authentication_error", "expired"),
    ];
    assert_eq!(run(after_reading, &[]).0.code(), Some(8));
}
