//! `mcp validate`: starts `mcp serve` as another agent would, and holds what it offers against the table of tools (O-035).

use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, Command as Process, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::child::{self, Purpose};
use zori_contract::command::Command;
use zori_contract::exit::Danger;
use zori_contract::failure::Failure;
use zori_contract::gate::Preview;
use zori_contract::reply::Reply;

use super::drift::Drift;
use crate::commands::{Context, example};
use zori_setup::app::App;
use zori_setup::args::flags;
use zori_setup::error::CHECKS_FAILED;

/// The server that it starts writes its log, as every server does.
pub const COMMAND: Command<App> = Command {
    danger: Danger::Mutating,
    preview: Some(|_, _| {
        Ok(Preview { verb: "run", items: vec!["zori mcp serve".to_owned()], reversible: true })
    }),
    examples: &[
        example("whether other agents can use it", "zori mcp validate"),
        example("only what differs from the tools there are", "zori mcp validate --fields drift"),
    ],
    output_schema: r#"{"type":"object","required":["effect"],"properties":{"effect":{"const":"noop"},
        "checks":{"type":"array","x-ordered":true,"items":{"type":"object","additionalProperties":false,
            "required":["name","ok","found","error"],"properties":{"name":{"type":"string"},"ok":{"type":"boolean"},
            "found":{"type":["string","null"]},"error":{"type":["string","null"]}}}},
        "drift":{"type":"object","additionalProperties":false,"required":["added","removed","changed","missing_from_mcp"],
            "properties":{"added":{"type":"array","x-ordered":true,"items":{"type":"string"}},
            "removed":{"type":"array","x-ordered":true,"items":{"type":"string"}},
            "changed":{"type":"array","x-ordered":true,"items":{"type":"string"}},
            "missing_from_mcp":{"type":"array","x-ordered":true,"items":{"type":"string"}}}}}}"#,
    declares: r#"{"has_network_io":false,"subprocess":{"binary":"zori","user_controlled_args":false,
        "hardcoded_args":["mcp","serve"]},
        "filesystem_side_effects":[{"path":"$ZORI_HOME/projects","type":"log","clearable_with":"zori project purge"}]}"#,
    ..Command::new(
        &["mcp", "validate"],
        "Check that other agents can use `mcp serve`, and what it offers",
        run,
    )
};

/// The longest an answer may take.
const TIMEOUT: Duration = Duration::from_secs(10);
/// How often a wait looks whether the command should end.
const POLL_INTERVAL: Duration = Duration::from_millis(20);
/// So much of what the server says to people is told.
const MAX_STDERR: u64 = 4 << 10;

#[derive(Serialize)]
struct Check {
    name: &'static str,
    ok: bool,
    found: Option<String>,
    error: Option<String>,
}

impl Check {
    fn of(name: &'static str, result: Result<String, String>) -> Self {
        let (found, error) = match result {
            Ok(found) => (Some(found), None),
            Err(error) => (None, Some(error)),
        };
        Self { name, ok: error.is_none(), found, error }
    }

    fn line(&self) -> String {
        let state = if self.ok { "ok    " } else { "FAILED" };
        let what = self.error.as_ref().or(self.found.as_ref()).map_or("", String::as_str);
        format!("{state}  {:<14} {what}\n", self.name)
    }
}

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let mut checks = Vec::new();
    let mut drift = Drift::default();
    match Server::start(cx, args) {
        Err(error) => checks.push(Check::of("start", Err(format!("it cannot be started: {error}")))),
        Ok(mut server) => {
            let dialogue = dialogue(cx, &mut server, &mut drift, &mut checks);
            let ended = server.end(cx);
            dialogue?;
            checks.push(Check::of("end", ended?));
        }
    }
    let text: String = checks.iter().map(Check::line).collect();
    let failed: Vec<_> = checks.iter().filter(|check| !check.ok).map(|check| check.name).collect();
    let data = json!({"checks": checks, "drift": drift, "effect": "noop"});
    match failed.as_slice() {
        [] => Ok(Reply::one(data).text(text)),
        failed => {
            let message = format!("`mcp serve` failed: {}", failed.join(", "));
            Err(Failure::new(&CHECKS_FAILED, message).with_data(data).text(text))
        }
    }
}

/// Talks to the server as a client does. A check without which the others make no sense is the last one.
fn dialogue(
    cx: &Context<'_>,
    server: &mut Server,
    drift: &mut Drift,
    checks: &mut Vec<Check>,
) -> Result<(), Failure> {
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {},
        "clientInfo": {"name": "validate", "version": cx.program.version}});
    let greeted = server.ask(cx, "initialize", hello)?.and_then(|answer| {
        let text = |place: &str| answer.pointer(place).and_then(Value::as_str).unwrap_or("-").to_owned();
        let who = (text("/serverInfo/name"), text("/serverInfo/version"));
        match who.0 == cx.program.name && who.1 == cx.program.version {
            true => Ok(format!("{} {}, protocol {}", who.0, who.1, text("/protocolVersion"))),
            false => Err(format!("it calls itself {} {}", who.0, who.1)),
        }
    });
    let begun = greeted.is_ok();
    checks.push(Check::of("initialize", greeted));
    if !begun {
        return Ok(());
    }
    server.tell("notifications/initialized");
    let listed = server.ask(cx, "tools/list", json!({}))?.and_then(|answer| match &answer["tools"] {
        Value::Array(tools) => Ok(tools.clone()),
        _ => Err("the answer has no list of tools".to_owned()),
    });
    let tools = match listed {
        Ok(tools) => {
            checks.push(Check::of("tools/list", Ok(format!("{} tools", tools.len()))));
            tools
        }
        Err(error) => {
            checks.push(Check::of("tools/list", Err(error)));
            return Ok(());
        }
    };
    checks.push(Check::of("schemas", schemas(&tools)));
    *drift = Drift::between(cx.app.profile.dialect, &tools);
    checks.push(Check::of("drift", drift.verdict()));
    // A tool that nobody has: the call takes its whole way, and changes nothing.
    let call = json!({"name": "no_such_tool", "arguments": {}});
    let called = server.ask(cx, "tools/call", call)?.and_then(|answer| {
        let said = answer["content"][0]["text"].as_str().unwrap_or_default();
        match answer["isError"] == true && said.contains("no_such_tool") {
            true => Ok("an unknown tool is answered".to_owned()),
            false => Err(format!("an unknown tool was answered with {answer}")),
        }
    });
    checks.push(Check::of("tools/call", called));
    let refused = match server.ask(cx, "no/such/method", json!({}))? {
        Err(why) if why.starts_with("-32601") => Ok("an unknown method is refused".to_owned()),
        other => Err(format!("an unknown method was answered with {other:?}")),
    };
    checks.push(Check::of("unknown method", refused));
    Ok(())
}

/// What every client needs of a tool: a name of its own, words for the model, and a schema of an object.
fn schemas(tools: &[Value]) -> Result<String, String> {
    let mut names: Vec<&str> = Vec::new();
    for tool in tools {
        let name = tool["name"].as_str().unwrap_or_default();
        let wrong = match () {
            () if name.is_empty() => "has no name",
            () if names.contains(&name) => "is there twice",
            () if tool["description"].as_str().unwrap_or_default().is_empty() => "has no description",
            () if tool["inputSchema"]["type"] != "object" => "takes no object",
            () => {
                names.push(name);
                continue;
            }
        };
        return Err(format!("`{name}` {wrong}"));
    }
    Ok("each tool has a name, a description and the schema of an object".to_owned())
}

/// `mcp serve`, as a child. Dropped, it is ended.
struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    words: Option<JoinHandle<String>>,
    asked: i64,
}

impl Server {
    fn start(cx: &Context<'_>, args: &Args) -> io::Result<Self> {
        let mut process = Process::new(cx.app.env.executable()?);
        process.args(["mcp", "serve", "--as", cx.app.profile.name]);
        // What decides whether and where it comes up.
        for flag in [flags::ROOT, flags::MODEL, flags::PROVIDER, flags::CONFIG] {
            if let Some(value) = args.text(&flag) {
                process.arg(flag.param()).arg(value);
            }
        }
        if args.has(&flags::NO_CONFIG) {
            process.arg("--no-config");
        }
        process.envs(child::environment(&cx.mode, Purpose::Internal, &cx.inputs.vars, cx.program.prefix));
        process.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = process.spawn()?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (heard, lines) = mpsc::channel();
        std::thread::spawn(move || {
            let lines = stdout.into_iter().flat_map(|stdout| BufReader::new(stdout).lines());
            // The end, a line that is no text, and nobody who listens end it alike.
            let _ = lines.map_while(Result::ok).try_for_each(|line| heard.send(line));
        });
        let words = std::thread::spawn(move || {
            let mut said = Vec::new();
            let _ = stderr.map(|stderr| stderr.take(MAX_STDERR).read_to_end(&mut said));
            String::from_utf8_lossy(&said).trim().to_owned()
        });
        Ok(Self { child, stdin, lines, words: Some(words), asked: 0 })
    }

    fn tell(&mut self, method: &str) {
        self.write(&json!({"jsonrpc": "2.0", "method": method}));
    }

    /// Asks and waits. The inner error is the server's, or why there is no answer.
    fn ask(
        &mut self,
        cx: &Context<'_>,
        method: &str,
        params: Value,
    ) -> Result<Result<Value, String>, Failure> {
        self.asked += 1;
        self.write(&json!({"jsonrpc": "2.0", "id": self.asked, "method": method, "params": params}));
        let until = Instant::now() + TIMEOUT;
        loop {
            cx.cancel.check()?;
            let line = match self.lines.recv_timeout(POLL_INTERVAL) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) if Instant::now() < until => continue,
                Err(RecvTimeoutError::Timeout) => {
                    return Ok(Err(format!("no answer within {} s", TIMEOUT.as_secs())));
                }
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(Err("it ended before it answered".to_owned()));
                }
            };
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                return Ok(Err(format!("a line is no JSON: {line}")));
            };
            if message["id"] != self.asked {
                continue;
            }
            return Ok(match &message["error"] {
                Value::Null => Ok(message["result"].clone()),
                error => Err(format!("{}: {}", error["code"], error["message"].as_str().unwrap_or_default())),
            });
        }
    }

    /// Hangs up and waits for the end.
    fn end(&mut self, cx: &Context<'_>) -> Result<Result<String, String>, Failure> {
        drop(self.stdin.take());
        let until = Instant::now() + TIMEOUT;
        let status = loop {
            cx.cancel.check()?;
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) if Instant::now() < until => std::thread::sleep(POLL_INTERVAL),
                Ok(None) => return Ok(Err("it goes on although standard input has ended".to_owned())),
                Err(error) => return Ok(Err(format!("it cannot be waited for: {error}"))),
            }
        };
        let words = self.words.take().and_then(|words| words.join().ok()).unwrap_or_default();
        Ok(match (status.success(), words.is_empty()) {
            (true, true) => Ok("it ends when standard input does".to_owned()),
            (true, false) => Ok(format!("it ends when standard input does; it said: {words}")),
            (false, _) => Err(format!("{status}; it said: {words}")),
        })
    }

    /// A server that is gone is found out by the answer that does not come.
    fn write(&mut self, message: &Value) {
        if let Some(stdin) = &mut self.stdin {
            let _ = stdin.write_all(format!("{message}\n").as_bytes());
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already, and has nothing to lose.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
