//! What programs learn of the network: which way requests go, whom they trust, how often they were sent, and why they did not
//! come back.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::{TEST_KEY, TestEnv};
use zori_testkit::output::CommandOutput;
use zori_testkit::proxy::{Proxy, ProxyBehaviour};
use zori_testkit::reply::Reply;
use zori_testkit::server::{ModelServer, refused_url};
use zori_testkit::tls::{AUTHORITY, TlsFront};

use super::bare;
use super::schemas::valid;

/// A world whose model is at this address.
fn at(url: &str) -> TestEnv {
    let mut world = bare();
    world.set_var("ANTHROPIC_BASE_URL", url).set_var("ANTHROPIC_API_KEY", TEST_KEY);
    world
}

fn exec(world: &TestEnv, more: &[&str]) -> CommandOutput {
    let usual = ["exec", "-p", "hi", "--no-save", "--output", "json", "--retry-delay", "0"];
    world.run(&[&usual, more].concat())
}

fn hello() -> Reply {
    anthropic::text("Hello").reply()
}

fn busy(status: u16) -> Reply {
    anthropic::http_error(status, "overloaded_error", "busy")
}

/// O-019: a flag is stronger than any variable.
#[test]
fn a_proxy_by_flag() {
    let server = ModelServer::start([hello(), hello(), hello()]);
    let (good, bad) = (Proxy::start(ProxyBehaviour::Forward), Proxy::start(ProxyBehaviour::Refuse(403)));
    let mut world = at(&server.url());
    world.set_var("HTTP_PROXY", bad.url()).set_var("NO_PROXY", "127.0.0.1");
    valid(&exec(&world, &["--proxy", &good.url()]).success());
    assert_eq!(good.seen(), [format!("POST {}/v1/messages", server.url())]);
    // Before the command, too.
    let output = world.run(&["--proxy", &good.url(), "exec", "-p", "hi", "--no-save"]);
    assert_eq!((output.stdout().as_str(), good.seen().len()), ("Hello\n", 2), "{output}");
    world.remove_var("NO_PROXY");
    valid(&exec(&world, &["--no-proxy"]).success());
    assert_eq!((good.seen().len(), bad.seen()), (2, Vec::new()));
}

/// O-019: what is no proxy is refused before anything happens; a password is for a variable, and is not repeated.
#[test]
fn what_is_no_proxy() {
    let server = ModelServer::start(Vec::<Reply>::new());
    let world = at(&server.url());
    for (args, told) in [
        (
            &["--proxy", "localhost:3128"][..],
            "`--proxy` takes an address with `http://` or `https://`, not `localhost:3128`.",
        ),
        (
            &["--proxy", "http://127.0.0.1:port"],
            "`--proxy` takes an address such as http://127.0.0.1:3128, not `http://127.0.0.1:port`.",
        ),
        (
            &["--proxy", "http://me:hunter2@proxy:3128"],
            "`--proxy` takes no name and password, which others could read: set `HTTPS_PROXY` to the address with them.",
        ),
        (&["--proxy", "http://proxy", "--no-proxy"], "`--proxy` and `--no-proxy` do not go together."),
    ] {
        let output = exec(&world, args);
        let error = valid(&output)["error"].clone();
        assert_eq!((output.code(), error["message"].as_str()), (Some(2), Some(told)), "{output}");
        assert!(!output.to_string().contains("hunter2"), "{output}");
    }
    assert_eq!((server.count(), world.base().exists()), (0, false));
}

/// F-036: whoever inspects TLS is trusted where a variable names its certificate.
#[test]
fn certificates_by_variable() {
    let server = ModelServer::start([hello(), hello()]);
    let front = TlsFront::start(&server.url());
    let refused = valid(&exec(&at(&front.url()), &["--retries", "0"]));
    assert_eq!(refused["error"]["code"], "UNAVAILABLE");
    assert!(refused["error"]["message"].as_str().unwrap().contains("UnknownIssuer"), "{refused}");
    for variable in ["SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"] {
        let mut world = at(&front.url());
        let file = world.write("ca.pem", AUTHORITY);
        world.set_var(variable, file);
        assert_eq!(valid(&exec(&world, &[]))["data"]["result"], "Hello", "{variable}");
        world.set_var(variable, world.write("none.pem", "no certificate"));
        let output = exec(&world, &[]);
        let told = valid(&output)["error"]["message"].clone();
        let told = told.as_str().unwrap().replace(world.work().to_str().unwrap(), "$WORK");
        assert_eq!(
            (output.code(), told),
            (Some(2), format!("Cannot use {variable} $WORK/none.pem: the file holds no certificate."))
        );
    }
}

/// F-078: what was sent again is counted, also where it helped.
#[test]
fn retries_are_counted() {
    let server = ModelServer::start([busy(529), busy(503), hello(), hello()]);
    let world = at(&server.url());
    assert_eq!(valid(&exec(&world, &[]).success())["meta"]["retries"], 2);
    assert_eq!(valid(&exec(&world, &[]).success())["meta"].get("retries"), None);
}

/// F-078, C-014: used up, they are no reason to call again; without any, the caller hears how long to wait.
#[test]
fn retries_that_are_used_up() {
    let failed = |replies: Vec<Reply>, more: &[&str]| {
        let server = ModelServer::start(replies);
        let answer = valid(&exec(&at(&server.url()), more));
        let mut error = answer["error"].clone();
        for gone in ["resume_token", "message", "phase"] {
            error.as_object_mut().unwrap().remove(gone);
        }
        (error, answer["meta"]["retries"].clone(), server.count())
    };
    assert_eq!(
        failed(vec![busy(503); 3], &["--retries", "2"]),
        (
            json!({"code": "UNAVAILABLE", "exit_code": 12, "retryable": false, "retries_exhausted": 2, "max_retries": 2}),
            json!(2),
            3
        )
    );
    assert_eq!(
        failed(vec![busy(429).header("retry-after", "7")], &["--retries", "0"]),
        (
            json!({"code": "RATE_LIMITED", "exit_code": 11, "retryable": true, "retry_after_ms": 7000,
                   "retry_strategy": "exponential_backoff"}),
            Value::Null,
            1
        )
    );
    assert_eq!(failed(vec![busy(529)], &["--retries", "0"]).0["retry_after_ms"], 1000);
}

/// F-037: a connection that failed says which way it went, and nothing that lets others pass.
#[test]
fn the_way_of_a_request_that_did_not_come_back() {
    let way = |world: &TestEnv, more: &[&str]| {
        let output = exec(world, &[&["--retries", "0"], more].concat());
        assert_eq!(output.code(), Some(12), "{output}");
        assert!(!output.to_string().contains("hunter2"), "{output}");
        valid(&output)["error"]["network_context"].clone()
    };
    let url = refused_url();
    let context = |proxy: Option<&str>, source: Option<&str>, no_proxy: Option<&str>| {
        json!({"url": url, "status_code": null, "proxy_used": proxy, "proxy_source": source, "no_proxy": no_proxy,
               "ssl_verify": true, "suggestion": "zori doctor"})
    };
    let mut world = at(&url);
    assert_eq!(way(&world, &[]), context(None, None, None));
    let proxy = refused_url();
    let with_password = proxy.replace("http://", "http://me:hunter2@");
    world.set_var("HTTP_PROXY", &with_password);
    let shown = |proxy: &str| proxy.trim_end_matches('/').to_owned();
    assert_eq!(way(&world, &[]), context(Some(&shown(&proxy)), Some("HTTP_PROXY"), None));
    assert_eq!(way(&world, &["--proxy", &proxy]), context(Some(&proxy), Some("--proxy"), None));
    assert_eq!(way(&world, &["--no-proxy"]), context(None, None, None));
    world.set_var("NO_PROXY", "127.0.0.1");
    assert_eq!(way(&world, &[]), context(None, None, Some("127.0.0.1")));
    // An answer, however bad, is no question of the way.
    let server = ModelServer::start([busy(503)]);
    let answered = valid(&exec(&at(&server.url()), &["--retries", "0"]));
    assert_eq!(answered["error"].get("network_context"), None);
}

/// F-051: `--debug` shows what goes out and what comes back, and no key.
#[test]
fn debug_says_no_secret() {
    let server = ModelServer::start([hello()]);
    let world = at(&server.url());
    let output = world.run(&["exec", "-p", "hi", "--no-save", "--debug"]).success();
    let said = output.stderr();
    assert!(said.contains("\nDebug: POST http://127.0.0.1:$PORT/v1/messages with "), "{said}");
    assert!(said.contains("\nDebug: x-api-key: [REDACTED]\n"), "{said}");
    assert!(said.contains("\nDebug: HTTP 200 from http://127.0.0.1:$PORT/v1/messages after "), "{said}");
    assert!(!output.to_string().contains(TEST_KEY), "{said}");
    assert_eq!(output.stdout(), "Hello\n");
}
