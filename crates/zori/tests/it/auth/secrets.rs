//! Greps for keys and tokens: they are in no output, no file of ours, no argument and no child's environment, in no
//! form (AUTH-1, PROV-12, SCR-2, SCR-4).

use std::fs;
use std::path::Path;

use serde_json::json;
use zori_core::secret::{base64url, percent};
use zori_testkit::anthropic;
use zori_testkit::authorization::{AuthFault, AuthorizationServer, TokenOptions};
use zori_testkit::browser;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Running, Stdin, Stdout};
use zori_testkit::server::{ModelServer, refused_url};

use super::{entry, vault};
use crate::chat::screen::type_keys;

/// Looks different in every encoding.
const KEY: &str = r#"sk+grep/this?"0123456789~~~"#;
const STORED: &str = r#"sk+grep/that?"9876543210???"#;

/// Returns how a secret may be written.
fn forms(secret: &str) -> Vec<(&'static str, String)> {
    let json = serde_json::to_string(secret).expect("a string is JSON");
    let safe = base64url(secret.as_bytes());
    vec![
        ("plain", secret.to_owned()),
        ("JSON", json[1..json.len() - 1].to_owned()),
        ("nested JSON", json[1..json.len() - 1].replace('\\', "\\\\").replace('"', "\\\"")),
        ("URL", percent(secret)),
        ("url", percent(secret).to_ascii_lowercase()),
        ("base64", safe.replace('-', "+").replace('_', "/")),
        ("base64url", safe),
    ]
}

/// All forms in one sentence, as an unkind server might say it.
fn recited(secret: &str) -> String {
    forms(secret).into_iter().map(|(_, form)| form).collect::<Vec<_>>().join(" and ")
}

#[track_caller]
fn clean(secrets: &[&str], place: &str, text: &[u8]) {
    let text = String::from_utf8_lossy(text);
    for secret in secrets {
        for (form, needle) in forms(secret) {
            assert!(!text.contains(&needle), "{place} has {secret} as {form}: {text}");
        }
    }
}

#[track_caller]
fn clean_output(secrets: &[&str], output: &CommandOutput) {
    clean(secrets, "standard output", output.stdout().as_bytes());
    clean(secrets, "standard error", output.stderr().as_bytes());
}

/// Looks through every file below a folder, but for the helper's own entries.
#[track_caller]
fn clean_files(secrets: &[&str], folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    let mut seen = 0;
    for entry in entries.flatten() {
        let path = entry.path();
        let own = path.parent().is_some_and(|parent| parent.ends_with("vault"))
            && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("zori."));
        if entry.file_type().expect("a file has a type").is_dir() {
            seen += clean_files(secrets, &path);
        } else if !own {
            clean(secrets, &path.display().to_string(), &fs::read(&path).expect("a file of ours"));
            seen += 1;
        }
    }
    seen
}

/// Looks at the arguments of a running process, and at arguments and environment of its children.
#[track_caller]
fn clean_process(secrets: &[&str], pid: u32) -> usize {
    clean(secrets, "our command line", &fs::read(format!("/proc/{pid}/cmdline")).expect("it runs"));
    // The watchdog of the tools is a fork of ourselves: it has our memory, and as little to say. It is known by its name,
    // which is ours until it has set its own; only root can ask for the executable.
    let ours = fs::read(format!("/proc/{pid}/comm")).expect("it runs");
    let is_ours = |name: Vec<u8>| name == ours || name == b"zori-guard\n";
    let mut children = children(pid);
    children.retain(|child| fs::read(format!("/proc/{child}/comm")).is_ok_and(|name| !is_ours(name)));
    for child in &children {
        for what in ["cmdline", "environ"] {
            if let Ok(bytes) = fs::read(format!("/proc/{child}/{what}")) {
                clean(secrets, &format!("the {what} of a child"), &bytes);
            }
        }
    }
    children.len()
}

fn children(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(str::to_owned).collect::<Vec<_>>()).collect()
}

fn start(world: &TestEnv, args: &[&str]) -> Running {
    world.start(world.cmd(args), Stdin::Null, Stdout::Captured)
}

fn unkind(status: u16, secret: &str) -> Reply {
    anthropic::http_error(status, "authentication_error", &recited(secret))
}

/// Runs that go well, go wrong, and are cut short, with a key from the environment.
#[test]
fn runs_with_a_key_in_the_environment() {
    let mut world = vault("");
    let bash = |command: &str| anthropic::tool_use("toolu_1", "bash", json!({"command": command}));
    let server = ModelServer::start([
        Reply::from(anthropic::text("Hello.")),
        Reply::from(bash("env; printenv ANTHROPIC_API_KEY; true")),
        Reply::from(anthropic::text(&recited(KEY))),
        unkind(401, KEY),
        unkind(500, KEY),
        Reply::from(bash("touch started; sleep 60")),
    ]);
    world.set_var("ANTHROPIC_BASE_URL", server.url()).set_var("ANTHROPIC_API_KEY", KEY);
    let exec =
        |more: &[&str]| world.run(&[&["exec", "-p", "hi", "--retries", "0", "--session"], more].concat());
    let ends = [("good", 0), ("tool", 0), ("refused", 8), ("broken", 12)];
    for (name, code) in ends {
        let output = exec(&[name]);
        assert_eq!(output.code(), Some(code), "{output}");
        if name != "tool" {
            clean_output(&[KEY], &output);
        } else {
            // What the model says on standard output is what it said (SCR-3); it is not kept, though.
            clean(&[KEY], "standard error", output.stderr().as_bytes());
        }
    }
    assert_eq!(server.request(0).header("x-api-key"), Some(KEY), "the key is sent all the same");
    clean(&[KEY], "what a tool saw", &server.request(2).body);
    let mut run = start(&world, &["exec", "-p", "hi", "--session", "late", "--timeout", "3s"]);
    run.wait_until("the tool", |_| world.work().join("started").exists());
    assert!(clean_process(&[KEY], run.pid()) > 0, "the tool is a child");
    let output = run.finish();
    assert_eq!(output.code(), Some(10), "{output}");
    clean_output(&[KEY], &output);
    world.set_var("ANTHROPIC_BASE_URL", refused_url());
    let output = world.run(&["exec", "-p", "hi", "--retries", "0"]);
    assert_eq!(output.code(), Some(12), "{output}");
    clean_output(&[KEY], &output);
    clean_output(&[KEY], &world.run(&["models", "list"]).success());
    assert_eq!(world.session_files().len(), 6);
    assert!(clean_files(&[KEY], world.home().parent().unwrap()) > 6);
}

/// A key where something else belongs: the answer to a bad call does not repeat it, in whatever form it is.
#[test]
fn a_call_with_a_key_in_the_wrong_place() {
    let mut world = vault("");
    world.set_var("ANTHROPIC_API_KEY", KEY);
    for output in ["plain", "json", "jsonl"] {
        for call in [["trust", KEY], ["sessions", KEY]] {
            let output = world.run(&[&call[..], &["--output", output]].concat());
            assert_eq!(output.code(), Some(2), "{output}");
            clean_output(&[KEY], &output);
            assert!(output.to_string().contains("[REDACTED]"), "{output}");
        }
    }
}

#[test]
fn a_chat() {
    let mut world = vault("");
    let server = ModelServer::start([unkind(401, KEY)]);
    world.set_var("ANTHROPIC_BASE_URL", server.url()).set_var("ANTHROPIC_API_KEY", KEY);
    let mut pty = world.pty(&[], Size { rows: 50, cols: 200 });
    pty.wait_for("you> ").send("hi\r");
    pty.wait_for("set ANTHROPIC_API_KEY to a key of Anthropic that is valid");
    clean_process(&[KEY], pty.pid());
    type_keys(&mut pty, 2, "\u{4}");
    let (status, drawn) = pty.finish();
    assert!(status.success(), "{drawn}");
    clean(&[KEY], "the terminal", drawn.as_bytes());
    assert!(clean_files(&[KEY], world.home().parent().unwrap()) > 0);
}

/// A key from standard input, into the store and out of it.
#[test]
fn a_stored_key() {
    let mut world = vault("");
    let server = ModelServer::start([unkind(401, STORED)]);
    world.set_var("OPENAI_BASE_URL", format!("{}/v1", server.url())).set_var("ANTHROPIC_API_KEY", KEY);
    let secrets = [KEY, STORED];
    let login = world.run_with_stdin(&["auth", "login", "--provider", "openai", "--with-token"], STORED);
    clean_output(&secrets, &login.success());
    clean_output(&secrets, &world.run(&["auth", "status"]).success());
    let output = world.run(&["exec", "--provider", "openai", "-p", STORED, "--session", "s"]);
    assert_eq!(output.code(), Some(8), "{output}");
    clean_output(&secrets, &output);
    assert_eq!(server.request(0).header("authorization"), Some(format!("Bearer {STORED}").as_str()));
    clean_output(&secrets, &world.run(&["auth", "logout", "--yes"]).success());
    // The helper has taken down its arguments and its environment.
    assert!(clean_files(&secrets, world.home().parent().unwrap()) > 3);
    assert!(world.home().join("vault/environment").exists() && !entry(&world, "openai").exists());
}

/// The tokens of a login, and those it was renewed with.
#[test]
fn a_login_and_its_renewal() {
    let authorization =
        AuthorizationServer::start(AuthFault::None, TokenOptions { expires_in: 0, rotate: true });
    let mut world = vault(&authorization.config("openai"));
    let told = |token: &str| Reply::json(500, json!({"error": {"message": recited(token)}}));
    let server = ModelServer::start([
        told("access+token/0002=\"secret\""),
        Reply::json(401, json!({"error": {"message": "no"}})),
        told("access+token/0004=\"secret\""),
    ]);
    world.set_var("OPENAI_BASE_URL", format!("{}/v1", server.url()));
    let mut login = start(&world, &["auth", "login", "--headless", "--provider", "openai"]);
    login.wait_until("the address", |login| login.stderr().ends_with("\n\n"));
    let shown = login.raw_stderr();
    let url = shown.lines().find_map(|line| line.trim().strip_prefix("http")).unwrap();
    clean_process(&["zori-test-client"], login.pid());
    browser::visit(&format!("http{url}"));
    let login = login.finish().success();
    let status = world.run(&["auth", "status"]).success();
    let output = world.run(&["exec", "--provider", "openai", "-p", "hi", "--retries", "0"]);
    assert_eq!((output.code(), server.count()), (Some(12), 1), "{output}");
    let refresh = authorization.issued()[3].clone();
    let stored = json!({"access_token": "old-token-0123456789", "refresh_token": refresh, "kind": "oauth"});
    world.write(entry(&world, "openai"), stored.to_string());
    let again = world.run(&["exec", "--provider", "openai", "-p", "hi", "--retries", "0"]);
    assert_eq!((again.code(), server.count()), (Some(12), 3), "{again}");
    let issued = authorization.issued();
    assert_eq!(issued.len(), 6, "{issued:?}");
    let secrets: Vec<_> = issued.iter().map(String::as_str).chain(["code-0"]).collect();
    for output in [&login, &status, &output, &again] {
        clean_output(&secrets, output);
    }
    assert!(clean_files(&secrets, world.home().parent().unwrap()) > 3);
}

/// Keys where a command, a value or nothing at all was expected: nobody says them back, in no form of output, and no file
/// of ours has them.
#[test]
fn keys_typed_by_mistake() {
    let world = crate::world::world();
    for key in ["sk-ant-api03-0123456789abcdefghijABCDEFGHIJ", "ghp_0123456789abcdefghijABCDEFGHIJ012345"] {
        let flag = format!("--{key}");
        let assigned = format!("--api-key={key}");
        let lines: [&[&str]; 22] = [
            &[key],
            &["exec", key, "more"],
            &["help", key],
            &["config", key],
            &["sessions", key],
            &["sessions", "show", key],
            &["models", key],
            &["trust", key],
            &["completions", key],
            &["policy", "explain", key],
            &["policy", "check", "--policy", key],
            &["auth", "login", "anthropic", key],
            &["exec", "-p", "hi", "--sandbox", key],
            &["exec", "-p", "hi", "--provider", key],
            &["exec", "-p", "hi", key, "more"],
            &["exec", "-p", "hi", "--permission-mode", key],
            &["--timeout", key, "exec", "-p", "hi"],
            &["--output", key],
            &["--token", key],
            &["--api-key", key],
            &[&assigned],
            &["exec", &flag],
        ];
        for line in lines {
            for output in [&[][..], &["--output", "json"], &["--output", "plain"]] {
                clean_output(&[key], &world.run(&[line, output].concat()));
            }
        }
    }
}
