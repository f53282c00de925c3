//! `models list --refresh`: what a provider says of its models is kept and used by later runs, which ask nobody.

use zori_testkit::env::TestEnv;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;
use zori_testkit::{anthropic, fixture};

use crate::world::world;

/// A list in the vendor's form: a model nobody knows, one that ends, one that has ended, one that changed.
const LIST: &str = r#"{"data":[
    {"type":"model","id":"claude-next","lifecycle":"active","max_input_tokens":300000,"max_tokens":4321},
    {"type":"model","id":"claude-opus-4-8","lifecycle":"deprecated","retires_at":"2027-05-28T00:00:00Z"},
    {"type":"model","id":"claude-opus-4-7","lifecycle":"retired","retires_at":"2026-11-01T00:00:00Z"},
    {"type":"model","id":"claude-sonnet-5-5","lifecycle":"active","max_input_tokens":2000000,"max_tokens":128000}],
    "has_more":false}"#;

/// A world whose Anthropic is this server.
fn at(server: &ModelServer) -> TestEnv {
    let mut world = world();
    world.use_server(server);
    world
}

fn exec(model: &str) -> [&str; 6] {
    ["exec", "--no-save", "--model", model, "-p", "hi"]
}

#[test]
fn what_a_provider_says_is_kept_and_used() {
    let server = ModelServer::start([
        Reply::json(200, LIST),
        anthropic::text("Hello").into(),
        anthropic::text("Hello").into(),
    ]);
    let world = at(&server);
    let list = world.run(&["models", "list", "--refresh", "--provider", "anthropic"]).success();
    let out = list.stdout();
    let said: Vec<_> = out.lines().filter(|line| line.contains("(listed)")).collect();
    assert_eq!(
        said,
        [
            "anthropic:claude-sonnet-5-5            2000000   128000  $2.00 in, $10.00 out (listed)",
            "anthropic:claude-opus-4-8              1000000   128000  $5.00 in, $25.00 out (listed) (ends 2027-05-28: use claude-opus-5-5)",
            "anthropic:claude-opus-4-7              1000000   128000  $5.00 in, $25.00 out (listed) (retired: use claude-opus-5-5)",
            "anthropic:claude-next                   300000     4321  price not known (listed)",
        ]
    );
    let request = server.request(0);
    assert_eq!(
        (request.path.as_str(), request.header("x-api-key").is_some()),
        ("/v1/models?limit=1000", true)
    );
    // Later runs ask for answers alone.
    insta::assert_snapshot!(world.run(&exec("claude-next")), @r"
    Hello
    ------- stderr -------
    Warning: The price of `claude-next` is not known, so what it costs is not counted
    [exit status: 0]
    ");
    assert_eq!((server.count(), server.request(1).json()["max_tokens"].as_u64()), (2, Some(4321)));
    insta::assert_snapshot!(world.run(&exec("claude-opus-4-8")), @r"
    Hello
    ------- stderr -------
    Warning: Anthropic serves the model `claude-opus-4-8` until 2027-05-28; its successor is `claude-opus-5-5`
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&exec("claude-opus-4-7")), @r"
    ------- stderr -------
    Error: Anthropic no longer serves the model `claude-opus-4-7`
    Hint: use its successor: `claude-opus-5-5`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["models", "show", "claude-next"]), @r"
    Model:          claude-next
    Provider:       anthropic
    Context window: 300000 tokens
    Reply limit:    4321 tokens
    Abilities:      tools
    Prices:         not known
    From:           the provider's list, in parts
    [exit status: 0]
    ");
    assert_eq!(server.count(), 3);
    let cleaned = world.run(&["cleanup", "--scope", "cache", "--min-age", "0s", "--yes"]);
    assert_eq!(
        (cleaned.code(), world.base().join("models/anthropic.json").exists()),
        (Some(0), false),
        "{cleaned}"
    );
}

/// A file that is broken, or that another server's list is in, changes nothing.
#[test]
fn a_broken_list_is_harmless() {
    let server = ModelServer::start([
        Reply::json(200, LIST),
        anthropic::text("Hello").into(),
        anthropic::text("Hello").into(),
    ]);
    let world = at(&server);
    world.run(&["models", "list", "--refresh", "--provider", "anthropic"]).success();
    let kept = world.base().join("models/anthropic.json");
    let whole = world.read(&kept);
    for broken in ["{\"schema\":1,", &whole.replace("http://127.0.0.1", "http://127.0.0.2")] {
        world.write(&kept, broken);
        assert_eq!(world.run(&exec("claude-opus-4-7")).to_string(), "Hello\n[exit status: 0]");
    }
}

#[test]
fn a_provider_that_does_not_answer() {
    let refused = r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
    let server = ModelServer::start([Reply::json(401, refused), Reply::json(200, "<html>")]);
    let mut world = at(&server);
    insta::assert_snapshot!(world.run(&["models", "list", "--refresh", "--provider", "anthropic"]), @r"
    ------- stderr -------
    Error: Anthropic does not list its models: HTTP 401: invalid x-api-key
    Hint: set ANTHROPIC_API_KEY to a key of Anthropic that is valid
    [exit status: 8]
    ");
    // Of several, one that fails is said, and the others are listed.
    let listed = world.run(&["models", "list", "--refresh", "--limit", "1"]).success();
    assert_eq!(
        listed.stderr(),
        "Warning: Anthropic does not list its models: the provider's answer cannot be read: expected value at line 1 column 1\n"
    );
    assert!(!world.base().join("models").exists(), "nothing is kept of it");
    world.remove_var("ANTHROPIC_API_KEY");
    insta::assert_snapshot!(world.run(&["models", "list", "--refresh"]), @r"
    ------- stderr -------
    Error: no provider has a key, so that none can be asked
    Hint: name one: `--provider`
    [exit status: 2]
    ");
}

/// A provider of one's own is asked with its headers and its query; its models need no line in the config file then.
#[test]
fn the_list_of_a_provider_of_ones_own() {
    let list = r#"{"data":[{"id":"large","max_model_len":65536},{"id":"text-embedding"},{"id":"small"}]}"#;
    let server =
        ModelServer::start([Reply::json(200, list), Reply::sse(fixture::bytes("openai_chat/text.sse"))]);
    let mut world = world();
    world.set_var("ACME_KEY", "acme-0123456789");
    let config = format!(
        "[providers.acme]\napi = \"openai-chat\"\nbase_url = \"{}/v1?api-version=7\"\nkey_env = \"ACME_KEY\"\n\
         headers = {{ X-Team = \"tools\" }}\n",
        server.url()
    );
    world.write(world.base().join("config.toml"), config);
    let listed = world.run(&["models", "list", "--refresh", "--provider", "acme"]).success();
    let out = listed.stdout();
    let own: Vec<_> = out.lines().filter(|line| line.contains("listed")).collect();
    assert_eq!(
        own,
        [
            "acme:large                               65536    32000  $0.00 in, $0.00 out (listed)",
            "acme:small  listed, its window is not known",
        ]
    );
    let request = server.request(0);
    assert_eq!(
        (request.path.as_str(), request.header("x-team"), request.header("authorization")),
        ("/v1/models?api-version=7", Some("tools"), Some("Bearer acme-0123456789"))
    );
    let output = world.run(&["exec", "--no-save", "--model", "acme:large", "-p", "hi"]);
    assert_eq!((output.code(), server.count()), (Some(0), 2), "{output}");
}
