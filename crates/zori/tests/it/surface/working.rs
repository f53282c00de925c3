//! A call of each command that works: the world it takes, its words and its input. What the manifest says of a command is
//! proven with these, by the command's own work.

use std::any::Any;
use std::fs::File;
use std::process;

use serde_json::json;
use zori::commands::COMMANDS;
use zori_contract::command::Command;
use zori_contract::exit::Danger;
use zori_setup::app::App;
use zori_testkit::env::TestEnv;
use zori_testkit::mcp_http::{McpAuthFault, McpHttpServer};
use zori_testkit::output::CommandOutput;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;
use zori_testkit::{anthropic, mcp};

use super::flag_walk::call;
use super::with_session;
use crate::auth;
use crate::memory::said;

/// A call that works.
pub struct Working {
    pub world: TestEnv,
    words: Vec<String>,
    stdin: String,
    /// Who has to be there for it.
    _server: Option<Box<dyn Any>>,
}

/// What has to be there before.
enum Scene {
    /// A session `s`, and a file.
    Session,
    /// A model that answers.
    Model,
    /// A turn that has changed a file.
    Change,
    /// Two sessions of the project in its memory.
    Memory,
    /// Code, of which there is an index.
    Index,
    /// A scheduled job `a`.
    Job,
    /// A vault with `A` in it.
    Vault,
    /// A program that keeps credentials.
    Helper,
    /// An MCP server `s`: a program, or over HTTP.
    Program,
    Http,
    /// A skill `pdf` of the user's, and `sql` of the project's.
    Skills,
    /// Rules with an expectation.
    Policy,
    /// A file of another agent's settings.
    Foreign,
}

use Scene::{
    Change, Foreign, Helper, Http, Index, Job, Memory, Model, Policy, Program, Session, Skills, Vault,
};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}"#;
const MCP_HELLO: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}"#;

/// What a command needs beyond the words that it cannot do without: the scene, what follows its name, and its input.
fn special(path: &[&str]) -> (Scene, Option<&'static [&'static str]>, &'static str) {
    match path {
        ["doctor"] => (Model, Some(&["--offline"]), ""),
        ["exec"] => (Model, Some(&["-p", "hi", "--session", "new"]), ""),
        ["chat"] => (Model, Some(&["hi"]), ""),
        ["start"] => (Model, Some(&["--provider", "anthropic", "--prompt", "hi"]), ""),
        ["sessions", "resume"] => (Model, Some(&["s", "-p", "hi"]), ""),
        ["schedule", "run"] => (Job, Some(&["--once"]), ""),
        ["acp"] => (Session, None, HELLO),
        ["mcp", "serve"] => (Session, None, MCP_HELLO),
        ["mcp", "validate"] => (Session, Some(&["--provider", "anthropic"]), ""),
        ["mcp", "add"] => (Session, Some(&["t", "--", "sh"]), ""),
        ["mcp", "list"] => (Program, Some(&["--check"]), ""),
        ["mcp", "get" | "remove" | "tools"] => (Program, Some(&["s"]), ""),
        ["mcp", "call"] => (Program, Some(&["s", "add", "--input", "{\"a\":1}"]), ""),
        ["mcp", "logout"] => (Http, Some(&["s"]), ""),
        ["sessions", "show" | "export"] => (Session, Some(&["s"]), ""),
        ["sessions", "rm"] => (Session, Some(&["s"]), ""),
        ["sessions", "fork"] => (Session, Some(&["s", "--name", "t"]), ""),
        ["undo"] => (Change, None, ""),
        ["sessions", "diff" | "rewind"] => (Change, Some(&["s"]), ""),
        ["index", "search"] => (Index, Some(&["heron"]), ""),
        ["index", _] => (Index, None, ""),
        ["memory", "show" | "forget"] => (Memory, Some(&["1"]), ""),
        ["memory", "search"] => (Memory, Some(&["lexer"]), ""),
        ["memory", _] | ["project", _] => (Memory, None, ""),
        ["schedule", "add"] => (Job, Some(&["b", "--cron", "0 9 * * *", "--prompt", "hi"]), ""),
        ["schedule", "show" | "rm"] => (Job, Some(&["a"]), ""),
        ["schedule", _] => (Job, None, ""),
        ["models", "show"] => (Session, Some(&["claude-haiku-4-5"]), ""),
        ["auth", "login"] => (Helper, Some(&["--provider", "openai", "--with-token"]), "sk-of-somebody"),
        ["auth", "logout"] => (Helper, Some(&["--provider", "openai"]), ""),
        ["vault", "init"] => (Session, None, ""),
        ["vault", "set"] => (Vault, Some(&["B"]), "value-of-b"),
        ["vault", "get" | "which" | "rm"] => (Vault, Some(&["A"]), ""),
        ["vault", _] => (Vault, None, ""),
        ["config", "import"] => (Foreign, Some(&["old.yaml"]), ""),
        ["policy", "check"] => {
            (Policy, Some(&["--policy", "policy.json"]), r#"{"id":1,"tool":"bash","input":{"command":"ls"}}"#)
        }
        ["policy", "explain"] => (Policy, Some(&["ls"]), ""),
        ["policy", "test"] => (Policy, Some(&["policy.json"]), ""),
        ["skills", "show"] => (Skills, Some(&["pdf"]), ""),
        ["skills", "trust"] => (Skills, Some(&["sql"]), ""),
        ["skills", "validate"] => (Skills, Some(&[".zori/skills/sql"]), ""),
        ["skills", _] => (Skills, None, ""),
        ["batch"] => (Session, None, "{\"_cmd\":\"config path\"}\n"),
        ["completions"] => (Session, Some(&["bash"]), ""),
        ["generate-skills"] => (Session, Some(&["--output-dir", "made"]), ""),
        ["import"] => (Foreign, None, ""),
        _ => (Session, None, ""),
    }
}

/// Commands for people at a terminal or in a browser, whose calls are in `screen_*.rs` and `mcp_login.rs`.
pub const FOR_PEOPLE: &[&[&str]] = &[&["tui"], &["mcp", "login"]];

/// The commands that have such a call.
pub fn commands() -> impl Iterator<Item = &'static Command<App>> {
    COMMANDS.iter().filter(|command| !FOR_PEOPLE.contains(&command.path))
}

impl Working {
    /// Makes the world and the call of a command.
    pub fn new(command: &Command<App>) -> Self {
        let (scene, more, stdin) = special(command.path);
        let mut words: Vec<String> = match more {
            Some(more) => command.path.iter().chain(more).map(|word| (*word).to_owned()).collect(),
            None => call(command, None),
        };
        if command.danger == Danger::Destructive || command.asks || command.asks_itself {
            let at = words.iter().position(|word| word == "--").unwrap_or(words.len());
            words.insert(at, "--yes".to_owned());
        }
        let mut world = with_session();
        world.write("sample.txt", "");
        let server = furnish(&mut world, &scene);
        Self { world, words, stdin: stdin.to_owned(), _server: server }
    }

    pub fn words(&self) -> Vec<&str> {
        self.words.iter().map(String::as_str).collect()
    }

    /// Adds words to the call.
    pub fn add(&mut self, more: &[&str]) {
        self.words.extend(more.iter().map(|word| (*word).to_owned()));
    }

    /// Runs it.
    pub fn run(&self) -> CommandOutput {
        self.world.run_with_stdin(&self.words(), self.stdin.as_str())
    }

    /// The command to be started; its input comes from a file, so that nobody has to write it.
    pub fn command(&self) -> process::Command {
        let mut command = self.world.cmd(&self.words());
        let file = self.world.write(self.world.tmp().join("stdin"), &self.stdin);
        command.stdin(File::open(file).expect("it was written"));
        command
    }

    /// Runs it where no answer can be written, and returns how it ends.
    pub fn run_without_room(&self) -> Option<i32> {
        let full = File::options().write(true).open("/dev/full").expect("the device is there");
        self.command().stdout(full).stderr(process::Stdio::null()).status().expect("it starts").code()
    }
}

/// Puts into a world what a scene has; returns who has to stay.
fn furnish(world: &mut TestEnv, scene: &Scene) -> Option<Box<dyn Any>> {
    let config = |world: &TestEnv, text: String| drop(world.write(world.base().join("config.toml"), text));
    match scene {
        Session => {}
        Model => {
            let model = ModelServer::answering(|_| anthropic::text("Done.").reply());
            world.use_server(&model);
            return Some(Box::new(model));
        }
        Change => {
            let write = json!({"path": "a", "content": "made\n"});
            let model = ModelServer::start::<Reply>([
                anthropic::tool_use("1", "write", write).into(),
                anthropic::text("Done.").into(),
            ]);
            std::fs::create_dir(world.work().join(".git")).expect("a folder can be made");
            std::fs::remove_file(world.base().join("sessions/s.jsonl")).expect("it was put there");
            world.use_server(&model);
            world.run(&["exec", "--session", "s", "-p", "hi"]).success();
            return Some(Box::new(model));
        }
        Memory => {
            said(world, "monday", "Do we keep the lexer?", "Yes: the lexer stays.");
            world.run(&["memory", "rebuild"]).success();
        }
        Index => {
            world.write("src/bird.rs", "pub fn heron() -> u32 {\n    1\n}\n");
            world.run(&["index", "build"]).success();
        }
        Job => {
            world.run(&["schedule", "add", "a", "--cron", "0 9 * * *", "--prompt", "hi"]).success();
        }
        Vault => {
            world.run(&["vault", "init"]).success();
            world.run_with_stdin(&["vault", "set", "A"], "value-of-a").success();
        }
        Helper => {
            let helped = auth::vault("");
            *world = helped;
            world.remove_var("ZORI_OUTPUT");
        }
        Program => {
            let script = mcp::scripted_server(world);
            config(world, format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}, \"plain\"]\n"));
        }
        Http => {
            let helped = auth::vault("");
            *world = helped;
            world.remove_var("ZORI_OUTPUT");
            let http = McpHttpServer::start(McpAuthFault::None, 60);
            let before = world.read(world.base().join("config.toml"));
            config(world, format!("{before}[mcp.servers.s]\nurl = {:?}\n", http.url()));
            return Some(Box::new(http));
        }
        Skills => {
            for (folder, name) in
                [(world.base().join("skills"), "pdf"), (world.work().join(".zori/skills"), "sql")]
            {
                let text =
                    format!("---\nname: {name}\ndescription: Fill {name} forms in documents\n---\nFollow.\n");
                world.write(folder.join(name).join("SKILL.md"), text);
            }
        }
        Policy => {
            world.write(
                "policy.json",
                r#"{"version":1,"workspace":"/ws","home":"/home/u","trusted":true,
                    "profiles":{"team":{"mode":"default","allow":["Bash(make:*)"]}},
                    "expect":[{"tool":"bash","input":{"command":"make"},"verdict":"allow"}]}"#,
            );
        }
        Foreign => {
            world.write("old.yaml", "active_project: default\n");
            world.write(world.home().join(".claude/settings.json"), r#"{"model": "opus"}"#);
        }
    }
    None
}

/// 0: each of them works.
#[test]
fn each_works() {
    let mut failed = Vec::new();
    for command in commands() {
        let output = Working::new(command).run();
        if output.code() != Some(0) {
            failed.push(format!("`{}`:\n{output}", command.name()));
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}
