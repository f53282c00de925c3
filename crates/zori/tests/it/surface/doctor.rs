//! What `doctor` finds, and what it says mends it.

use serde_json::{Value, json};
use zori_testkit::env::TestEnv;
use zori_testkit::reply::Reply;
use zori_testkit::server::{ModelServer, refused_url};

use super::schemas::check;
use super::{bare, envelope};

/// A world with a key for Anthropic, which is at this address.
fn keyed(url: &str) -> TestEnv {
    let mut world = bare();
    world.set_var("ANTHROPIC_API_KEY", "sk-ant-test").set_var("ANTHROPIC_BASE_URL", url);
    world
}

fn found(report: &Value, name: &str) -> Value {
    let checks = report["data"]["checks"].as_array().expect("a report lists its checks");
    checks.iter().find(|check| check["name"] == name).cloned().unwrap_or_default()
}

/// O-026: each check says what mends it, and a report that is bad news is a report all the same.
#[test]
fn each_check_says_what_mends_it() {
    let server = ModelServer::start([Reply::json(200, r#"{"data":[]}"#)]);
    let mut world = keyed(&server.url());
    let fine = check(&world, &["doctor", "--provider", "anthropic"], 0);
    let names: Vec<_> =
        fine["data"]["checks"].as_array().unwrap().iter().map(|c| c["name"].clone()).collect();
    assert_eq!(
        names,
        [
            "system",
            "base",
            "config",
            "provider",
            "credentials",
            "connection",
            "sandbox",
            "undo",
            "bash",
            "git",
            "terminal"
        ]
    );
    let request = server.request(0);
    assert_eq!((request.path.as_str(), request.header("x-api-key")), ("/v1/models", Some("sk-ant-test")));
    world.remove_var("ANTHROPIC_API_KEY");
    let bad = check(&world, &["doctor", "--provider", "anthropic"], 1);
    assert_eq!(bad["error"]["code"], "CHECKS_FAILED");
    assert_eq!(
        found(&bad, "credentials")["fix"],
        "set ANTHROPIC_API_KEY, or `zori auth login --provider anthropic`"
    );
    assert_eq!(found(&bad, "connection")["found"], "not asked: there is no key");
    assert_eq!(server.count(), 1);
}

/// A key that is refused, a provider in trouble and a network that is not there are mended in different ways.
#[test]
fn why_a_provider_cannot_be_used() {
    let refused = r#"{"error":{"message":"invalid x-api-key"}}"#;
    for (reply, error, fix) in [
        (
            Reply::json(401, refused),
            "Anthropic answers, and refuses the key: HTTP 401: invalid x-api-key",
            "set ANTHROPIC_API_KEY to a key of Anthropic that is valid",
        ),
        (Reply::json(503, "{}"), "Anthropic is in trouble: HTTP 503", "try again later"),
    ] {
        let server = ModelServer::start([reply]);
        let report = check(&keyed(&server.url()), &["doctor"], 1);
        let connection = found(&report, "connection");
        assert_eq!((&connection["error"], &connection["fix"]), (&json!(error), &json!(fix)));
    }
    let report = check(&keyed(&refused_url()), &["doctor"], 1);
    let connection = found(&report, "connection");
    let error = connection["error"].as_str().unwrap();
    assert!(error.starts_with("Anthropic cannot be reached: Connection failed: 127.0.0.1:"), "{error}");
    assert_eq!(
        connection["fix"],
        "look at the network, at HTTPS_PROXY if there is a proxy, and at ANTHROPIC_BASE_URL if it is set"
    );
}

/// Nobody waits long for a provider that says nothing, and nobody is asked who should not be.
#[test]
fn a_provider_that_says_nothing() {
    let server = ModelServer::start([Reply::stall()]);
    let world = keyed(&server.url());
    world.write(world.base().join("config.toml"), "first_byte_timeout_ms = 50\nconnect_timeout_ms = 50\n");
    let report = check(&world, &["doctor"], 1);
    assert_eq!(
        found(&report, "connection")["error"],
        "Anthropic cannot be reached: Request timed out: no answer within 0.1 s"
    );
    let report = envelope(&world.run(&["doctor", "--offline"]).success());
    assert_eq!(found(&report, "connection")["found"], "not asked: `--offline`");
    assert_eq!(server.count(), 1);
}

/// A base directory that cannot be made is found out before something has to be kept there.
#[test]
fn a_base_directory_that_cannot_be_made() {
    let mut world = keyed(&refused_url());
    let file = world.work().join("file");
    world.write(&file, "");
    let base = file.join("base");
    world.set_var("ZORI_HOME", base.to_str().expect("a path of a test is text"));
    let report = check(&world, &["doctor", "--offline"], 1);
    let base = found(&report, "base");
    let (error, fix) = (base["error"].as_str().expect("it is bad"), &base["fix"]);
    assert!(error.ends_with("/file: Not a directory (os error 20)"), "{error}");
    assert_eq!(fix, "make it yours, or set ZORI_HOME to another folder");
}
