//! Proxies that the environment names (NET-12): used, left out, refusing, silent, gone.

use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::proxy::{Proxy, ProxyBehaviour};
use zori_testkit::reply::{Disconnect, Reply};
use zori_testkit::server::{ModelServer, refused_url};

use super::apis::{APIS, Api};
use super::each;
use crate::world::world;

const LIMITS: &str = "connect_timeout_ms = 1000\nfirst_byte_timeout_ms = 1000\n";

/// Runs one prompt with these variables.
fn run(api: &Api, url: &str, vars: &[(&str, &str)]) -> CommandOutput {
    let mut world: TestEnv = world();
    api.at(&mut world, url);
    world.write(world.base().join("config.toml"), LIMITS);
    for (name, value) in vars {
        world.set_var(name, value);
    }
    world.run(&[&["exec", "-p", "hi", "--no-save", "--retries", "0"], api.flags].concat())
}

#[test]
fn plain_requests_go_through_it() {
    let cases: Vec<_> = APIS
        .iter()
        .flat_map(|api| ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"].map(|var| (api, var)))
        .collect();
    each(&cases, |(api, var)| {
        let server = ModelServer::start([api.last.reply()]);
        let proxy = Proxy::start(ProxyBehaviour::Forward);
        let output = run(api, &server.url(), &[(var, &proxy.url())]);
        assert_eq!((output.stdout(), output.code()), (api.last.text(), Some(0)), "{var}: {output}");
        let [asked] = proxy.seen().try_into().expect("it was asked once");
        assert!(asked.starts_with(&format!("POST {}/", server.url())), "{asked}");
    });
}

#[test]
fn hosts_that_are_left_out() {
    let proxy = Proxy::start(ProxyBehaviour::Refuse(403));
    let cases = [
        ("NO_PROXY", "127.0.0.1"),
        ("no_proxy", "example.test,127.0.0.1"),
        ("NO_PROXY", "127.0.0.0/8"),
        ("NO_PROXY", "*"),
        // A proxy for the other scheme is none of ours.
        ("HTTP_PROXY", ""),
    ];
    each(&cases, |(var, value)| {
        let server = ModelServer::start([APIS[0].last.reply()]);
        let vars = [("HTTP_PROXY", proxy.url()), ("HTTPS_PROXY", proxy.url()), (*var, (*value).to_owned())];
        let vars: Vec<_> = vars.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let output = run(&APIS[0], &server.url(), &vars);
        assert_eq!(output.code(), Some(0), "{var}={value}: {output}");
    });
    assert_eq!(proxy.seen(), [""; 0]);
}

/// What a proxy does instead of passing a plain request on is like what a server does.
#[test]
fn plain_requests_that_are_not_passed_on() {
    let cases: Vec<_> = APIS
        .iter()
        .flat_map(|api| {
            [
                (ProxyBehaviour::Refuse(403), 7, "Error [http_status]: HTTP 403\n"),
                (ProxyBehaviour::Refuse(407), 1, "Error [http_status]: HTTP 407\n"),
                (ProxyBehaviour::Refuse(502), 12, "Error [http_status]: HTTP 502\n"),
                (ProxyBehaviour::Stall, 12, "Error [timeout]: Request timed out: no answer within 1 s\n"),
            ]
            .map(|(behaviour, code, told)| (api, behaviour, code, told))
        })
        .collect();
    each(&cases, |(api, behaviour, code, told)| {
        let proxy = Proxy::start(*behaviour);
        let output = run(api, &refused_url(), &[("HTTP_PROXY", &proxy.url())]);
        assert_eq!(
            (output.stdout().as_str(), output.stderr().as_str(), output.code()),
            ("", *told, Some(*code)),
            "{}",
            api.name
        );
        assert_eq!(proxy.seen().len(), 1);
    });
}

/// To a server with TLS a tunnel is asked for; the key never reaches the proxy.
#[test]
fn tunnels() {
    let cases = [
        (
            ProxyBehaviour::Refuse(403),
            "Error [timeout]: Connection failed: 127.0.0.1:$PORT: the proxy refused to connect",
        ),
        (
            ProxyBehaviour::Refuse(407),
            "Error [timeout]: Connection failed: 127.0.0.1:$PORT: the proxy wants a user name and a password, as in http://USER:PASSWORD@HOST:PORT\n",
        ),
        (
            ProxyBehaviour::Refuse(502),
            "Error [timeout]: Connection failed: 127.0.0.1:$PORT: the proxy refused to connect",
        ),
        (
            ProxyBehaviour::Stall,
            "Error [timeout]: Request timed out: 127.0.0.1:$PORT: no connection within 1 s",
        ),
        (ProxyBehaviour::Reset, "Error [timeout]: Connection failed: 127.0.0.1:$PORT: "),
        // The tunnel stands, and somebody at its end speaks no TLS.
        (ProxyBehaviour::Forward, "Error [timeout]: Connection failed: 127.0.0.1:$PORT: "),
    ];
    each(&cases, |(behaviour, told)| {
        let server = ModelServer::start([Reply::hang_up(Disconnect::Fin)]);
        let proxy = Proxy::start(*behaviour);
        let url = server.url().replace("http:", "https:");
        let output = run(&APIS[0], &url, &[("HTTPS_PROXY", &proxy.url())]);
        assert!(output.stderr().starts_with(told), "{behaviour:?}: {output}");
        assert_eq!((output.stdout().as_str(), output.code()), ("", Some(12)), "{behaviour:?}");
        assert_eq!(proxy.seen(), [format!("CONNECT {}", server.url().replace("http://", ""))]);
    });
}

#[test]
fn a_proxy_that_is_not_there() {
    let output = run(&APIS[0], "http://api.invalid", &[("HTTP_PROXY", &refused_url())]);
    assert_eq!(
        output.to_string(),
        "------- stderr -------\nError [timeout]: Connection failed: api.invalid: Connection refused (os error 111)\n[exit status: 12]"
    );
}

/// A file of certificates is understood when it is needed: for a server without TLS it is not.
#[test]
fn certificates_that_cannot_be_used() {
    let api = &APIS[0];
    let server = ModelServer::start([api.last.reply()]);
    let junk = [("SSL_CERT_FILE", "/dev/null")];
    let output = run(api, &server.url(), &junk);
    assert_eq!((output.stdout(), output.code()), (api.last.text(), Some(0)), "{output}");
    insta::assert_snapshot!(run(api, "https://127.0.0.1:9", &junk), @"
    ------- stderr -------
    Error: cannot use SSL_CERT_FILE /dev/null: the file holds no certificate
    [exit status: 2]
    ");
}
