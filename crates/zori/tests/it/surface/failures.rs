//! Every way to end that a command declares, provoked, and what it prints then held against the schema.
//!
//! A command that declares another exit has to say here how it comes about; so does a row nothing declares any more.

use std::fs;

use zori_contract::exit::Exit;
use zori_testkit::anthropic;
use zori_testkit::authorization::{AuthFault, AuthorizationServer, TokenOptions};
use zori_testkit::browser;
use zori_testkit::mcp;
use zori_testkit::mcp_http::{McpAuthFault, McpHttpServer};
use zori_testkit::output::CommandOutput;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use super::schemas::valid;
use super::{bare, with_session};
use crate::auth;
use crate::chat::screen::over;
use crate::jsonl::events;

/// How a command is made to end so.
type Provoke = fn() -> CommandOutput;

/// How a command asks a model.
type Ask = fn(&ModelServer) -> CommandOutput;

/// What the commands declare beyond what every command may: all of them may fail in general, refuse what was asked, want
/// something first, take too long or be stopped, which the tests of the framework provoke.
const DECLARED: &[(&str, Exit, Provoke)] = &[
    ("batch", Exit::Partial, || {
        bare().run_with_stdin(&["batch", "--output", "json"], "{\"_cmd\":\"nothing\"}\n")
    }),
    ("batch", Exit::NotFound, || run(&["batch", "--input-file", "missing.jsonl", "--output", "json"])),
    ("auth login", Exit::AuthRequired, || login(AuthFault::Denied)),
    ("auth login", Exit::Unavailable, || login(AuthFault::Status(503))),
    ("cleanup", Exit::Partial, stuck_leftover),
    ("config init", Exit::Conflict, || {
        let world = bare();
        world.run(&["config", "init"]).success();
        world.run(&["config", "init"])
    }),
    ("config import", Exit::Conflict, || {
        let world = bare();
        world.run(&["config", "init"]).success();
        world.write("old.yaml", "active_project: default\n");
        world.run(&["config", "import", "old.yaml"])
    }),
    ("exec", Exit::NotFound, || {
        let model = ModelServer::start(Vec::<Reply>::new());
        asked(&model, &["exec", "-r", "nobody", "-p", "hi", "--output", "json"])
    }),
    ("exec", Exit::Conflict, || recorded(&["exec", "-p", "hi"])),
    ("sessions resume", Exit::Conflict, || recorded(&["sessions", "resume", "s", "-p", "hi"])),
    ("demo", Exit::Partial, || run(&["demo", "--max-turns", "1", "--json"])),
    ("handoff", Exit::NotFound, || {
        run(&["handoff", "--goal", "x", "--from-session", "nobody", "--output", "json"])
    }),
    ("memory show", Exit::NotFound, || run(&["memory", "show", "1"])),
    ("schedule show", Exit::NotFound, || run(&["schedule", "show", "nobody"])),
    ("schedule add", Exit::Conflict, || {
        let world = bare();
        let add = ["schedule", "add", "a", "--cron", "0 9 * * *", "--prompt", "hi"];
        world.run(&add).success();
        world.run(&add)
    }),
    ("vault init", Exit::Conflict, || {
        let world = bare();
        world.run(&["vault", "init"]).success();
        world.run(&["vault", "init"])
    }),
    ("vault set", Exit::Conflict, || {
        let world = bare();
        world.run(&["vault", "init"]).success();
        world.run_with_stdin(&["vault", "set", "A"], "value-of-a").success();
        world.run_with_stdin(&["vault", "set", "A"], "value-of-a")
    }),
    ("vault set", Exit::NotFound, || {
        run(&["vault", "set", "A", "--input-file", "missing", "--backend", "keyring"])
    }),
    ("vault get", Exit::NotFound, || run(&["vault", "get", "NOTHING"])),
    ("vault which", Exit::NotFound, || run(&["vault", "which", "NOTHING"])),
    ("skills show", Exit::NotFound, || run(&["skills", "show", "nothing"])),
    ("skills validate", Exit::NotFound, || run(&["skills", "validate", "."])),
    ("skills trust", Exit::NotFound, || run(&["skills", "trust", "nothing", "--yes"])),
    ("mcp get", Exit::NotFound, || run(&["mcp", "get", "nothing"])),
    ("mcp add", Exit::Conflict, || {
        let world = bare();
        world.run(&["mcp", "add", "s", "--", "sh"]).success();
        world.run(&["mcp", "add", "s", "--", "sh"])
    }),
    ("mcp remove", Exit::NotFound, || run(&["mcp", "remove", "nothing"])),
    ("mcp login", Exit::NotFound, || run(&["mcp", "login", "nothing"])),
    ("mcp login", Exit::AuthRequired, || mcp_login(true)),
    ("mcp login", Exit::Unavailable, || mcp_login(false)),
    ("mcp logout", Exit::NotFound, || run(&["mcp", "logout", "nothing"])),
    ("mcp tools", Exit::NotFound, || run(&["mcp", "tools", "nothing"])),
    ("mcp tools", Exit::AuthRequired, || wants_login(&["mcp", "tools", "s"])),
    ("mcp tools", Exit::Unavailable, || served("dies", &["mcp", "tools", "s"])),
    ("mcp call", Exit::NotFound, || served("plain", &["mcp", "call", "s", "nothing"])),
    ("mcp call", Exit::PermissionDenied, || {
        served("plain", &["mcp", "call", "s", "add", "--deny", "mcp__s"])
    }),
    ("mcp call", Exit::AuthRequired, || wants_login(&["mcp", "call", "s", "add"])),
    ("mcp call", Exit::Unavailable, || served("dies", &["mcp", "call", "s", "add"])),
    ("models show", Exit::NotFound, || run(&["models", "show", "nothing"])),
    ("sessions export", Exit::NotFound, || run(&["sessions", "export", "nobody", "--output", "json"])),
    ("sessions fork", Exit::NotFound, || run(&["sessions", "fork", "nobody"])),
    ("sessions fork", Exit::Conflict, || run(&["sessions", "fork", "s", "--name", "s"])),
    ("sessions rm", Exit::Partial, || {
        let world = with_session();
        // Nobody can take the lock of this one.
        fs::create_dir(world.base().join("sessions/s.lock")).expect("the folder of the sessions is there");
        world.run(&["sessions", "rm", "s", "--yes"])
    }),
    ("sessions diff", Exit::NotFound, || run(&["sessions", "diff", "nobody", "--output", "json"])),
    ("sessions rewind", Exit::NotFound, || run(&["sessions", "rewind", "nobody", "--yes"])),
    ("sessions rewind", Exit::Partial, || undone(&["a"], &["sessions", "rewind", "s", "--files", "--yes"])),
    ("sessions rewind", Exit::Conflict, || {
        undone(&["a", "b"], &["sessions", "rewind", "s", "--files", "--yes"])
    }),
    ("undo", Exit::NotFound, || run(&["undo", "--yes"])),
    ("undo", Exit::Partial, || undone(&["a"], &["undo", "--yes"])),
    ("undo", Exit::Conflict, || undone(&["a", "b"], &["undo", "--yes"])),
    ("sessions show", Exit::NotFound, || run(&["sessions", "show", "nobody"])),
    ("sessions resume", Exit::NotFound, || {
        run(&["sessions", "resume", "nobody", "-p", "hi", "--output", "json"])
    }),
];

/// The commands that ask a model. What it answers decides how they end.
const AGENTS: &[(&str, Ask)] = &[
    ("exec", |model| asked(model, &["exec", "-p", "hi", "--retries", "0", "--output", "json"])),
    ("sessions resume", |model| {
        asked(model, &["sessions", "resume", "s", "-p", "hi", "--retries", "0", "--output", "json"])
    }),
    ("models list", |model| asked(model, &["models", "list", "--refresh", "--provider", "anthropic"])),
];

fn answers(exit: Exit) -> Option<Vec<Reply>> {
    let refused = |status, kind| vec![anthropic::http_error(status, kind, "no")];
    Some(match exit {
        Exit::Partial => vec![
            anthropic::tool_use("c", "bash", serde_json::json!({"command": "touch made"})).into(),
            anthropic::http_error(400, "invalid_request_error", "no"),
        ],
        Exit::PermissionDenied => refused(403, "permission_error"),
        Exit::AuthRequired => refused(401, "authentication_error"),
        Exit::PaymentRequired => refused(402, "billing_error"),
        Exit::RateLimited => refused(429, "rate_limit_error"),
        Exit::Unavailable => refused(503, "api_error"),
        _ => return None,
    })
}

/// A call about an MCP server that behaves so.
fn served(mode: &str, args: &[&str]) -> CommandOutput {
    let world = bare();
    let script = mcp::scripted_server(&world);
    let config = format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}, {mode:?}]\n");
    world.write(world.base().join("config.toml"), config);
    world.run(args)
}

/// A login to an MCP server that cannot be trusted, or that is there no more.
fn mcp_login(there: bool) -> CommandOutput {
    let world = bare();
    world.run(&["vault", "init"]).success();
    let server = McpHttpServer::start(McpAuthFault::NoS256, 60);
    let config = format!("[mcp.servers.s]\nurl = {:?}\n", server.url());
    world.write(world.base().join("config.toml"), config);
    let _server = there.then_some(server);
    world.run(&["mcp", "login", "s", "--no-browser"])
}

/// A call about an MCP server that wants a login.
fn wants_login(args: &[&str]) -> CommandOutput {
    let (world, server) = (bare(), ModelServer::start([anthropic::http_error(401, "no", "no")]));
    let config = format!("[mcp.servers.s]\nurl = {:?}\n", server.url());
    world.write(world.base().join("config.toml"), config);
    world.run(args)
}

fn run(args: &[&str]) -> CommandOutput {
    with_session().run(args)
}

/// A recording would go where a file is.
fn recorded(args: &[&str]) -> CommandOutput {
    let mut world = with_session();
    world.use_server(&ModelServer::start(Vec::<Reply>::new())).write("old.jsonl", "");
    world.run(&[args, &["--record", "old.jsonl", "--output", "json"]].concat())
}

/// An undo of a turn that wrote `a` and `b`, some of which were edited since.
fn undone(edited: &[&str], args: &[&str]) -> CommandOutput {
    let write = |id: &str, path: &str| -> Reply {
        anthropic::tool_use(id, "write", serde_json::json!({"path": path, "content": "made\n"})).into()
    };
    let model = ModelServer::start(vec![write("1", "a"), write("2", "b"), anthropic::text("Done.").into()]);
    let mut world = bare();
    world.use_server(&model);
    fs::create_dir(world.work().join(".git")).expect("a folder can be made");
    world.run(&["exec", "--session", "s", "-p", "hi"]).success();
    for name in edited {
        world.write(name, "mine\n");
    }
    world.run(args)
}

fn asked(model: &ModelServer, args: &[&str]) -> CommandOutput {
    let mut world = with_session();
    world.use_server(model);
    world.run(args)
}

/// A login at a server that does not give one.
fn login(trouble: AuthFault) -> CommandOutput {
    let server = AuthorizationServer::start(trouble, TokenOptions { expires_in: 3600, rotate: false });
    let mut world = auth::vault(&server.config("openai"));
    world.remove_var("ZORI_OUTPUT");
    let (login, url) = auth::browser::start(&world, &["--provider", "openai"]);
    browser::visit(&url);
    login.finish()
}

/// What looks like leftovers and cannot be removed, whoever tries.
fn stuck_leftover() -> CommandOutput {
    let world = bare();
    let place = world.base().join("idempotency");
    fs::create_dir_all(world.base()).expect("a folder can be made");
    std::os::unix::fs::symlink("/proc/sys/kernel/random", place).expect("a link can be made");
    world.run(&["cleanup", "--scope", "cache", "--min-age", "0s", "--yes"])
}

/// Whether a row can be tried here.
fn possible(command: &str) -> bool {
    command != "cleanup" || cfg!(target_os = "linux")
}

#[test]
fn each_declared_exit() {
    for (command, exit, provoke) in DECLARED.iter().filter(|(command, ..)| possible(command)) {
        let output = provoke();
        assert_eq!(output.code(), Some(i32::from(exit.code())), "{command}:\n{output}");
        let answer = match *command {
            // Its lines are answers of their own; the last one says how it went.
            "batch" => last_line(&output),
            // Its failure is an event.
            "demo" => {
                let told = events(&output.stdout());
                assert!(told.iter().any(|event| event["type"] == "error"), "{output}");
                continue;
            }
            _ => output,
        };
        assert_eq!(valid(&answer)["ok"], false, "{command}:\n{answer}");
    }
}

fn last_line(output: &CommandOutput) -> CommandOutput {
    let mut last = output.clone();
    let lines: Vec<_> = output.stdout.split_inclusive(|byte| *byte == b'\n').collect();
    last.stdout = lines.last().expect("something was printed").to_vec();
    last
}

#[test]
fn each_declared_exit_of_those_who_ask_a_model() {
    for (command, run) in AGENTS {
        for exit in declared(command).into_iter().filter(|exit| answers(*exit).is_some()) {
            let model = ModelServer::start(answers(exit).expect("it was looked at"));
            let output = run(&model);
            assert_eq!(output.code(), Some(i32::from(exit.code())), "{command}:\n{output}");
            assert_eq!(valid(&output)["ok"], false, "{command}:\n{output}");
        }
    }
}

/// A chat is for people, and prints text; once it has begun, it ends well.
#[test]
fn a_chat_that_cannot_begin() {
    assert_eq!(declared("chat"), declared("exec"), "without a terminal it is a run of one prompt");
    let mut world = bare();
    world.use_server(&ModelServer::start(Vec::<Reply>::new())).write("old.jsonl", "");
    insta::assert_snapshot!(over(world.pty(&["chat", "-r", "nobody"], Size { rows: 24, cols: 100 })), @"
    Error: No session 'nobody' to resume
    Hint: `zori sessions list` shows the sessions there are
    [exit status: 5]
    ");
    insta::assert_snapshot!(over(world.pty(&["chat", "--record", "old.jsonl"], Size { rows: 24, cols: 100 })), @"
    Error: the file old.jsonl exists already and is left alone
    Hint: give `--record` the name of a new file, or remove that one
    [exit status: 6]
    ");
    assert_eq!(declared("tui"), [Exit::NotFound, Exit::Conflict]);
    for (args, code) in [(["tui", "-r", "nobody"], 5), (["tui", "--record", "old.jsonl"], 6)] {
        let (status, drawn) = world.screen(&args, Size { rows: 24, cols: 100 }).finish();
        assert_eq!(status.code(), Some(code), "{drawn}");
    }
}

fn declared(command: &str) -> Vec<Exit> {
    let found = zori::commands::COMMANDS.iter().find(|known| known.path.join(" ") == command);
    found.unwrap_or_else(|| panic!("`{command}` is no command")).exits.to_vec()
}

/// Nothing is declared that does not happen, and nothing is provoked that is not declared.
#[test]
fn the_tables_are_complete() {
    for command in zori::commands::COMMANDS
        .iter()
        .filter(|command| ![["chat"], ["tui"]].iter().any(|people| command.path == people))
    {
        let name = command.path.join(" ");
        let asks = AGENTS.iter().any(|(agent, _)| *agent == name);
        for exit in command.exits {
            let listed = DECLARED.iter().any(|(known, code, _)| *known == name && code == exit);
            assert!(listed || (asks && answers(*exit).is_some()), "`{name}` ends with {exit:?}: how?");
        }
    }
    for (command, exit, _) in DECLARED {
        assert!(declared(command).contains(exit), "`{command}` does not say that it ends with {exit:?}");
    }
}
