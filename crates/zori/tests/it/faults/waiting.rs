//! Limits of each phase (NET-5), and the waits between two tries (NET-6, NET-7).

use std::net::TcpListener;
use std::time::{Duration, Instant};

use zori_testkit::reply::{Disconnect, Reply};
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;

use super::apis::{APIS, Api};
use super::{each, play};
use crate::world::world;

/// How long a busy machine may take on top of a limit.
const SLACK: Duration = Duration::from_secs(5);

/// A phase, what stalls in it, the limit for it, and what is said.
const PHASES: [(&str, &str, &str); 4] = [
    (
        "first byte",
        "first_byte_timeout_ms = 200\n",
        "Error [timeout]: Request timed out: no answer within 0.2 s\n",
    ),
    ("head", "first_byte_timeout_ms = 200\n", "Error [timeout]: Request timed out: no answer within 0.2 s\n"),
    ("body", "idle_timeout_ms = 200\n", "Error [transport]: Request timed out: no data for 0.2 s\n"),
    ("pings", "ping_timeout_ms = 1\n", "Error [transport]: nothing but signs of life for 0.001 s\n"),
];

/// More signs of life than can be sent within a millisecond.
const PINGS: usize = 20_000;

fn stalling(api: &Api, phase: &str) -> Reply {
    match phase {
        "first byte" => Reply::stall(),
        "pings" => Reply::sse(": still here\n\n".repeat(PINGS)).cut_after_events(PINGS, Disconnect::Stall),
        "head" => Reply::raw("HTTP/1.1 200 OK\r\ncontent-type: text/").cut_after(20, Disconnect::Stall),
        _ => api.last.reply().cut_after_events(1, Disconnect::Stall),
    }
}

#[test]
fn each_phase_has_its_limit() {
    let cases: Vec<_> = APIS.iter().flat_map(|api| PHASES.map(|phase| (api, phase))).collect();
    each(&cases, |(api, (phase, config, told))| {
        let began = Instant::now();
        let played = play(api, vec![stalling(api, phase)], "0", config);
        let took = began.elapsed();
        played.sound(phase);
        let stderr = played.output.stderr();
        assert!(stderr.ends_with(told), "{} {phase}: {}", api.name, played.output);
        assert_eq!(played.output.code(), Some(12), "{} {phase}", api.name);
        assert!(took < Duration::from_millis(200) + SLACK, "{} {phase} took {took:?}", api.name);
    });
}

/// A listener whose queue is full lets nobody in.
#[test]
fn a_connection_has_its_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port can be had");
    let address = listener.local_addr().expect("it is bound");
    // Nobody accepts, so that connections pile up until the next one has to wait.
    let queue: Vec<_> = std::iter::from_fn(|| {
        std::net::TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok()
    })
    .take(10_000)
    .collect();
    let cases: Vec<&Api> = APIS.iter().collect();
    each(&cases, |api| {
        let mut world = world();
        api.at(&mut world, &format!("http://{address}"));
        // The flag is nearer.
        world.write(world.base().join("config.toml"), "connect_timeout_ms = 60000\n");
        let output = world.run(
            &[&["exec", "-p", "hi", "--no-save", "--retries", "0", "--connect-timeout", "200ms"], api.flags]
                .concat(),
        );
        assert_eq!(
            output.to_string(),
            "------- stderr -------\nError [timeout]: Request timed out: 127.0.0.1:$PORT: no connection within 0.2 s\n[exit status: 12]"
        );
    });
    assert!(queue.len() < 10_000, "the queue was never full");
}

/// NET-6: what the header says, in seconds or as a date, is waited for if it is not too long.
#[test]
fn what_retry_after_says() {
    let headers = [
        (Some("0"), Some("Retrying in 0.0s (1/1): ")),
        (Some("1"), Some("Retrying in 1.0s (1/1): ")),
        (Some(" 1 "), Some("Retrying in 1.0s (1/1): ")),
        (Some("Sun, 06 Nov 1994 08:49:37 GMT"), Some("Retrying in 0.0s (1/1): ")),
        (Some("Fri, 31 Dec 2999 23:59:59 GMT"), None),
        (Some("301"), None),
        (Some("99999999999999999999"), None),
        (Some("soon"), Some("Retrying in 0.0s (1/1): ")),
        (Some("-1"), Some("Retrying in 0.0s (1/1): ")),
        (None, Some("Retrying in 0.0s (1/1): ")),
    ];
    let cases: Vec<_> = APIS
        .iter()
        .flat_map(|api| [429, 503, 529].map(|status| (api, status)))
        .flat_map(|(api, status)| headers.map(|header| (api, status, header)))
        .collect();
    each(&cases, |(api, status, (header, told))| {
        let name = format!("{} {status} {header:?}", api.name);
        let mut busy = Reply::json(*status, r#"{"error":{"message":"busy"}}"#);
        if let Some(value) = header {
            busy = busy.header("retry-after", *value);
        }
        let played = play(api, vec![busy, api.last.reply()], "1", "");
        played.sound(&name);
        let failed = if *status == 429 { 11 } else { 12 };
        let expected = match told {
            Some(_) => (api.last.text(), 0, 2),
            None => (String::new(), failed, 1),
        };
        assert_eq!(played.seen(), expected, "{name}: {}", played.output);
        assert!(
            played.output.stderr().contains(told.unwrap_or("Error [http_status]: ")),
            "{name}: {}",
            played.output
        );
    });
}

/// NET-7: Ctrl-C and SIGTERM end the wait at once.
#[test]
fn a_wait_ends_with_a_signal() {
    let cases: Vec<_> = APIS.iter().flat_map(|api| [130, 143].map(|code| (api, code))).collect();
    each(&cases, |(api, code)| {
        let busy = Reply::json(503, "{}").header("retry-after", "299");
        let server = ModelServer::start([busy]);
        let mut world = world();
        api.at(&mut world, &server.url());
        let args = [&["exec", "-p", "hi", "--no-save"], api.flags].concat();
        let mut run = world.start(world.cmd(&args), Stdin::Null, Stdout::Captured);
        run.wait_for_stderr("Retrying in 299.0s (1/4): ");
        let began = Instant::now();
        if *code == 130 {
            run.interrupt()
        } else {
            run.terminate()
        };
        let output = run.finish();
        let took = began.elapsed();
        assert_eq!((output.code(), server.count()), (Some(*code), 1), "{output}");
        assert!(took < SLACK, "{} took {took:?}", api.name);
    });
}
