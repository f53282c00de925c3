//! A login that has expired is renewed, once, and stored (AUTH-4).

use serde_json::{Value, json};
use zori_testkit::authorization::{AuthFault, AuthorizationServer, TokenOptions};
use zori_testkit::env::TestEnv;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use super::{answer, entry, vault};

const OLD: &str = "old-access-token-0123";
const REFRESH: &str = "old-refresh-token-0123";
/// Long over, and far away.
const PAST: i64 = 1_000_000_000;
const FUTURE: i64 = 32_000_000_000;

/// A world with a stored login that ends at this time, and a model that gives these replies.
fn with_login(
    expires_at: i64,
    issue: TokenOptions,
    replies: Vec<Reply>,
) -> (TestEnv, AuthorizationServer, ModelServer) {
    let authorization = AuthorizationServer::start(AuthFault::None, issue);
    authorization.accept_refresh_token(REFRESH);
    let model = ModelServer::start(replies);
    let mut world = vault(&authorization.config("openai"));
    world.set_var("OPENAI_BASE_URL", format!("{}/v1", model.url()));
    let stored =
        json!({"access_token": OLD, "refresh_token": REFRESH, "expires_at": expires_at, "kind": "oauth"});
    world.write(entry(&world, "openai"), stored.to_string());
    (world, authorization, model)
}

const PROMPT: [&str; 6] = ["exec", "--no-save", "--provider", "openai", "-p", "hi"];

fn bearers(model: &ModelServer) -> Vec<String> {
    let header = |request: &zori_testkit::server::Request| request.header("authorization").map(str::to_owned);
    model.requests().iter().filter_map(header).map(|value| value.replace("Bearer ", "")).collect()
}

fn stored(world: &TestEnv) -> Value {
    serde_json::from_str(&world.read(entry(world, "openai"))).expect("what is stored is JSON")
}

fn refused() -> Reply {
    Reply::json(401, r#"{"error":{"message":"token expired"}}"#)
}

#[test]
fn before_a_request() {
    for rotate in [false, true] {
        let (world, authorization, model) =
            with_login(PAST, TokenOptions { expires_in: 3600, rotate }, vec![answer(), answer()]);
        world.run(&PROMPT).success();
        let issued = authorization.issued();
        assert_eq!(bearers(&model), [issued[0].clone()]);
        let refresh = if rotate { issued[1].as_str() } else { REFRESH };
        let now = stored(&world);
        assert_eq!(
            (now["access_token"].as_str(), now["refresh_token"].as_str()),
            (Some(issued[0].as_str()), Some(refresh))
        );
        assert!(now["expires_at"].as_i64().unwrap() > PAST + 3600);
        // The next run has a token that is good, and asks nobody.
        world.run(&PROMPT).success();
        assert_eq!((authorization.asked().len(), model.count()), (1, 2));
    }
}

#[test]
fn when_the_server_refuses() {
    let issue = TokenOptions { expires_in: 3600, rotate: true };
    let (world, authorization, model) = with_login(FUTURE, issue, vec![refused(), answer()]);
    let output = world.run(&PROMPT).success();
    assert_eq!(output.stderr(), "", "nobody has to know");
    assert_eq!(bearers(&model), [OLD.to_owned(), authorization.issued()[0].clone()]);
    assert_eq!(stored(&world)["refresh_token"].as_str(), Some(authorization.issued()[1].as_str()));
}

/// Once: a server that refuses the new token as well has another reason.
#[test]
fn when_the_server_refuses_again() {
    let issue = TokenOptions { expires_in: 3600, rotate: false };
    let (world, authorization, model) = with_login(FUTURE, issue, vec![refused(), refused()]);
    insta::assert_snapshot!(world.run(&PROMPT), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 401: token expired
      Details: {"error":{"message":"token expired"}}
    Hint: log in again with `zori auth login --provider openai`
    [exit status: 8]
    "#);
    assert_eq!((authorization.asked().len(), model.count()), (1, 2));
}

#[test]
fn that_fails() {
    let cases = [
        (AuthFault::Status(500), "HTTP 500: server_error"),
        (AuthFault::Status(400), "HTTP 400: server_error"),
        (AuthFault::Garbage, "the token endpoint's answer cannot be understood"),
    ];
    for (trouble, why) in cases {
        let (world, authorization, model) =
            with_login(PAST, TokenOptions { expires_in: 3600, rotate: false }, vec![answer()]);
        authorization.set_fault(trouble);
        let before = stored(&world);
        let output = world.run(&PROMPT);
        assert_eq!(
            output.to_string(),
            format!(
                "------- stderr -------\nError [auth]: the login has expired and could not be renewed: {why}\n\
                 Hint: log in again with `zori auth login --provider openai`\n[exit status: 8]"
            )
        );
        assert_eq!((model.count(), stored(&world)), (0, before), "nothing was sent, nothing was lost");
    }
}

#[test]
fn that_is_not_possible() {
    let (world, authorization, model) =
        with_login(PAST, TokenOptions { expires_in: 3600, rotate: false }, vec![answer()]);
    let stored = json!({"access_token": OLD, "expires_at": PAST, "kind": "oauth"});
    world.write(entry(&world, "openai"), stored.to_string());
    insta::assert_snapshot!(world.run(&PROMPT), @"
    ------- stderr -------
    Error [auth]: the login has expired, and nothing is known to renew it with
    Hint: log in again with `zori auth login --provider openai`
    [exit status: 8]
    ");
    assert_eq!((authorization.asked().len(), model.count()), (0, 0));
    let status = world.run(&["auth", "status", "--provider", "openai"]);
    assert_eq!(status.stdout(), "openai       store  oauth, expired 2001-09-09T01:46:40Z\n");
}

/// A login goes to Anthropic as a bearer's, not in the header for keys.
#[test]
fn a_login_at_anthropic() {
    let model = ModelServer::start([zori_testkit::anthropic::text("Hello.")]);
    let mut world = vault("");
    world.set_var("ANTHROPIC_BASE_URL", model.url());
    world.write(entry(&world, "anthropic"), json!({"access_token": OLD, "kind": "oauth"}).to_string());
    world.run(&["exec", "--no-save", "-p", "hi"]).success();
    assert_eq!((bearers(&model), model.request(0).header("x-api-key")), (vec![OLD.to_owned()], None));
}
