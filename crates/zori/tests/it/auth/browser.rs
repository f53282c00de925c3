//! The login in a browser, against a real authorization server: the printed address is visited over HTTP.

use std::net::TcpStream;

use zori_testkit::authorization::{AuthFault, AuthorizationServer, TokenOptions};
use zori_testkit::browser::{self, header, parameter};
use zori_testkit::env::TestEnv;
use zori_testkit::running::{Running, Stdin, Stdout};

use super::{entry, vault};

const ISSUE: TokenOptions = TokenOptions { expires_in: 3600, rotate: false };

/// A login under way, and the address it has printed.
pub fn start(world: &TestEnv, args: &[&str]) -> (Running, String) {
    let command = world.cmd(&[&["auth", "login", "--headless"], args].concat());
    let mut login = world.start(command, Stdin::Null, Stdout::Captured);
    login.wait_for_stderr("\n\n  http");
    login.wait_until("the whole address", |login| printed(&login.raw_stderr()).is_some());
    let url = printed(&login.raw_stderr()).expect("it was waited for");
    (login, url)
}

fn printed(stderr: &str) -> Option<String> {
    let (_, rest) = stderr.split_once("\n\n  ")?;
    Some(rest.split_once('\n')?.0.to_owned())
}

/// Returns what is said after the address.
fn told(stderr: &str) -> String {
    stderr.split("\n\n").nth(2).unwrap_or_default().to_owned()
}

fn openai(trouble: AuthFault) -> (TestEnv, AuthorizationServer) {
    let server = AuthorizationServer::start(trouble, ISSUE);
    (vault(&server.config("openai")), server)
}

#[test]
fn a_login() {
    let (world, server) = openai(AuthFault::None);
    let (login, url) = start(&world, &["--provider", "openai"]);
    assert_eq!(parameter(&url, "scope").as_deref(), Some("models read"));
    let page = browser::visit(&url);
    assert_eq!(page.status, 200, "{page:?}");
    assert!(page.text.contains("The login has arrived."), "{page:?}");
    assert_eq!(header(&page.text, "cache-control").as_deref(), Some("no-store"));
    assert_eq!(header(&page.text, "access-control-allow-origin"), None);
    let output = login.finish();
    assert_eq!(
        (output.code(), output.stdout().as_str()),
        (Some(0), "Stored the login of OpenAI\n"),
        "{output}"
    );
    let stored: serde_json::Value = serde_json::from_str(&world.read(entry(&world, "openai"))).unwrap();
    let [access, refresh] = &server.issued()[..] else { panic!("two tokens") };
    assert_eq!(
        (stored["access_token"].as_str(), stored["refresh_token"].as_str(), stored["kind"].as_str()),
        (Some(access.as_str()), Some(refresh.as_str()), Some("oauth"))
    );
    let status = world.run(&["auth", "status", "--provider", "openai"]);
    assert!(status.stdout().starts_with("openai       store  oauth, expires 20"), "{status}");
    // The code's verifier was sent, and nothing but the form.
    let names: Vec<_> = server.asked()[0].iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(names, ["grant_type", "code", "redirect_uri", "client_id", "code_verifier"]);
}

#[test]
fn a_login_at_openrouter() {
    let server = AuthorizationServer::start(AuthFault::None, ISSUE);
    let mut world = vault(&format!("[auth.openrouter]\nauthorize_url = \"{}/auth\"\n", server.url()));
    world.set_var("OPENROUTER_BASE_URL", format!("{}/api/v1", server.url()));
    let (login, url) = start(&world, &["--provider", "openrouter"]);
    let names: Vec<_> =
        browser::fields(url.split_once('?').unwrap().1).into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["callback_url", "code_challenge", "code_challenge_method"]);
    assert_eq!(browser::visit(&url).status, 200);
    let output = login.finish();
    assert_eq!(
        (output.code(), output.stdout().as_str()),
        (Some(0), "Stored the key of OpenRouter\n"),
        "{output}"
    );
    let stored: serde_json::Value = serde_json::from_str(&world.read(entry(&world, "openrouter"))).unwrap();
    assert_eq!(stored, serde_json::json!({"access_token": server.issued()[0], "kind": "api_key"}));
}

/// The address that OpenRouter has when nothing is configured.
#[test]
fn the_address_of_openrouter() {
    let world = vault("");
    let (mut login, url) = start(&world, &["--provider", "openrouter"]);
    assert!(url.starts_with("https://openrouter.ai/auth?callback_url=http%3A%2F%2F127.0.0.1%3A"), "{url}");
    login.interrupt();
    let output = login.finish();
    assert_eq!(
        (output.code(), told(&output.stderr()).as_str()),
        (Some(130), "\n^C Interrupted.\n"),
        "{output}"
    );
}

#[test]
fn a_user_who_says_no() {
    let (world, _server) = openai(AuthFault::Denied);
    let (login, url) = start(&world, &["--provider", "openai"]);
    assert!(browser::visit(&url).text.contains("The login was refused."));
    let output = login.finish();
    assert_eq!(output.code(), Some(8), "{output}");
    assert_eq!(
        told(&output.stderr()),
        "Error: the login was refused: access_denied: The user said no\nHint: nothing was stored; try again to allow it\n"
    );
    assert!(!entry(&world, "openai").exists());
}

/// Whoever knocks with something else is turned away, and the login goes on.
#[test]
fn strangers_at_the_door() {
    let (world, _server) = openai(AuthFault::None);
    let (login, url) = start(&world, &["--provider", "openai"]);
    let (back, state) = (parameter(&url, "redirect_uri").unwrap(), parameter(&url, "state").unwrap());
    let status = |method: &str, url: &str, headers: &[(&str, &str)]| {
        browser::request(method, url, headers).map(|page| page.status)
    };
    let right = format!("{back}?code=stolen&state={state}");
    assert_eq!(status("GET", &format!("{back}?code=stolen&state=guessed"), &[]), Some(400));
    assert_eq!(status("GET", &format!("{back}?error=access_denied"), &[]), Some(400));
    assert_eq!(status("GET", &right.replace("/callback", "/other"), &[]), Some(404));
    assert_eq!(status("POST", &right, &[]), Some(405));
    assert_eq!(status("OPTIONS", &right, &[]), Some(405));
    assert_eq!(status("GET", &right, &[("Host", "evil.example")]), Some(403));
    assert_eq!(status("GET", &right, &[("Origin", "http://evil.example")]), Some(403));
    assert_eq!(status("GET", &right, &[("X-Long", &"x".repeat(20_000))]), None);
    // One that says nothing does not keep the others out.
    let _silent = TcpStream::connect(address(&back)).unwrap();
    assert_eq!(browser::visit(&url).status, 200);
    assert_eq!(login.finish().code(), Some(0));
    assert!(entry(&world, "openai").exists());
}

fn address(url: &str) -> &str {
    url.split('/').nth(2).expect("a URL has an address")
}

/// LS-1: the port is there for one answer, on the loopback address only, and at another place each time.
#[test]
fn the_door_is_closed_behind_the_answer() {
    let (world, server) = openai(AuthFault::Stall);
    let (mut login, url) = start(&world, &["--provider", "openai"]);
    let back = parameter(&url, "redirect_uri").unwrap();
    browser::visit(&url);
    server.wait_for_asked(1);
    assert!(TcpStream::connect(address(&back)).is_err(), "closed while the code is exchanged");
    login.interrupt();
    assert_eq!(login.finish().code(), Some(130));
    let (mut again, url) = start(&world, &["--provider", "openai"]);
    assert_ne!(parameter(&url, "redirect_uri").unwrap(), back);
    again.terminate();
    let output = again.finish();
    assert_eq!(output.code(), Some(143), "{output}");
    assert!(!entry(&world, "openai").exists());
}

/// PKCE: a code that was asked for with another challenge is worth nothing here.
#[test]
fn a_code_of_somebody_else() {
    let (world, _server) = openai(AuthFault::None);
    let (login, url) = start(&world, &["--provider", "openai"]);
    let challenge = parameter(&url, "code_challenge").unwrap();
    browser::visit(&url.replace(&challenge, "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"));
    let output = login.finish();
    assert_eq!(output.code(), Some(8), "{output}");
    assert_eq!(
        told(&output.stderr()),
        "Error: the login was not completed: HTTP 400: invalid_grant\nHint: nothing was stored\n"
    );
    assert!(!entry(&world, "openai").exists());
}

#[test]
fn token_endpoints_in_trouble() {
    let cases = [
        (AuthFault::Status(500), 12, "HTTP 500: server_error"),
        (AuthFault::Status(404), 1, "HTTP 404: server_error"),
        (AuthFault::Garbage, 1, "the token endpoint's answer cannot be understood"),
    ];
    for (trouble, code, why) in cases {
        let (world, _server) = openai(trouble);
        let (login, url) = start(&world, &["--provider", "openai"]);
        browser::visit(&url);
        let output = login.finish();
        assert_eq!(output.code(), Some(code), "{output}");
        assert_eq!(
            told(&output.stderr()),
            format!("Error: the login was not completed: {why}\nHint: nothing was stored\n")
        );
        assert!(!entry(&world, "openai").exists());
    }
}

#[test]
fn nobody_comes_in_time() {
    let (world, _server) = openai(AuthFault::None);
    let (login, _) = start(&world, &["--provider", "openai", "--timeout", "1s"]);
    let output = login.finish();
    assert_eq!(output.code(), Some(10), "{output}");
    assert_eq!(
        told(&output.stderr()),
        "Error: nobody logged in before the time was over (`--timeout`)\nHint: nothing was stored\n"
    );
}

/// The token endpoint stalls: `--timeout` ends that, too.
#[test]
fn a_server_that_does_not_answer_in_time() {
    let (world, server) = openai(AuthFault::Stall);
    let (login, url) = start(&world, &["--provider", "openai", "--timeout", "2s"]);
    browser::visit(&url);
    server.wait_for_asked(1);
    assert_eq!(login.finish().code(), Some(10));
    assert!(!entry(&world, "openai").exists());
}

/// O-033: only the address, even where a person sits at a terminal with a browser.
#[test]
fn a_login_without_a_browser() {
    let (mut world, server) = openai(AuthFault::None);
    let port = server.url().rsplit(':').next().expect("an address has a port").to_owned();
    let bin = world.home().join("bin");
    let opened = world.home().join("opened");
    let program = world.write(bin.join("xdg-open"), format!("#!/bin/sh\n: > {}\n", opened.display()));
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("it is ours");
    world.set_var("PATH", format!("{}:/usr/bin:/bin", bin.display())).set_var("DISPLAY", ":0");
    let login = |flags: &[&str]| {
        let args = [&["auth", "login", "--provider", "openai"], flags].concat();
        let mut pty = world.pty(&args, zori_testkit::pty::Size { rows: 24, cols: 400 });
        let url = zori_testkit::wait::poll(zori_testkit::wait::BOUND, || {
            let drawn = pty.drawn().replace('\r', "");
            drawn
                .lines()
                .map(str::trim)
                .find(|line| line.starts_with("http"))
                .map(|url| url.replace("$PORT", &port))
        });
        assert_eq!(browser::visit(&url.expect("an address is printed")).status, 200);
        pty.wait_for("Stored the login of OpenAI");
    };
    login(&["--headless"]);
    assert!(!opened.exists());
    login(&[]);
    zori_testkit::wait::until("the browser", || opened.exists());
}
