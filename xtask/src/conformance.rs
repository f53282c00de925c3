//! `cargo xtask conformance [CLIENT ...] [--all] [--bin PATH]`: zori driven by the clients other people wrote.
//!
//! Once through every case is the form that CI runs; `--all` is the long one (DECISIONS 63): every case several times, each time in a
//! world of its own, for what goes wrong now and then.
//!
//! The clients are installed from their registries at fixed versions ([`install`]); the drivers in `conformance/` are
//! the programs a user would write with them, one function per case. A model on a loopback port answers
//! ([`stage`]), and each driver says of every case how it went ([`drive`]).

mod drive;
mod install;
mod stage;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, Result, anyhow, bail, ensure};

use self::install::{Installed, Language};
use self::stage::Stage;
use crate::test::cargo_command;
use crate::workspace::{Workspace, target_folder};

/// A client: its name here, what it is written in, the folder of its cases, and the packages it consists of.
struct Client {
    name: &'static str,
    language: Language,
    cases: &'static str,
    packages: &'static [&'static str],
}

/// The client that needs the conformance suite's own tools, on our server code.
const SUITE: &str = "mcp-suite";
/// The suite that needs our client code as a program.
const CLIENT_SUITE: &str = "mcp-client-suite";
/// The examples that clients need, and the variables that name them.
const EXAMPLES: &[(&str, &str, &str)] = &[
    (SUITE, "fixtures", "CONFORMANCE_FIXTURES"),
    (CLIENT_SUITE, "mcp_conformance", "CONFORMANCE_MCP_CLIENT"),
];

const CLIENTS: &[Client] = &[
    python("score", "score_cases", &[]),
    python("sdk-python", "sdk_cases", &["claude-agent-sdk"]),
    typescript("sdk-typescript", "sdk", &["@anthropic-ai/claude-agent-sdk"]),
    python("vendors", "vendor_cases", &["anthropic", "openai", "google-genai"]),
    python("acp-python", "acp_cases", &["agent-client-protocol"]),
    typescript("acp-typescript", "acp", &["@agentclientprotocol/sdk"]),
    python("code-sdk", "code_sdk_cases", &["claude-code-sdk"]),
    python("llm", "llm_cases", &["llm-claude-code", "llm"]),
    node22("ai-sdk", "ai_sdk", &["ai-sdk-provider-claude-code", "ai"]),
    node22("acp-adapter", "acp_adapter", &["@agentclientprotocol/claude-agent-acp"]),
    node22("acpx", "acpx", &["acpx"]),
    python("fastmcp", "fastmcp_cases", &["fastmcp"]),
    node22("inspector", "inspector", &["@modelcontextprotocol/inspector"]),
    node22(SUITE, "mcp_suite", &["@modelcontextprotocol/conformance"]),
    node22(CLIENT_SUITE, "mcp_client_suite", &["@modelcontextprotocol/conformance"]),
    Client {
        name: "mcp-servers",
        language: Language::Servers,
        cases: "server_cases",
        packages: &[
            "@modelcontextprotocol/server-everything",
            "@modelcontextprotocol/server-filesystem",
            "@modelcontextprotocol/server-memory",
            "@modelcontextprotocol/server-sequential-thinking",
            "mcp-server-git",
            "mcp-server-time",
            "mcp-server-fetch",
        ],
    },
];

const fn python(name: &'static str, cases: &'static str, packages: &'static [&'static str]) -> Client {
    Client { name, language: Language::Python, cases, packages }
}

const fn typescript(name: &'static str, cases: &'static str, packages: &'static [&'static str]) -> Client {
    Client { name, language: Language::TypeScript, cases, packages }
}

const fn node22(name: &'static str, cases: &'static str, packages: &'static [&'static str]) -> Client {
    Client { name, language: Language::TypeScript22, cases, packages }
}

/// What was asked for.
struct Request {
    clients: Vec<&'static Client>,
    bin: Option<PathBuf>,
    /// How often each case runs.
    rounds: usize,
    /// Only cases whose name contains one of these; all when there are none.
    only: Vec<String>,
}

/// How often each case runs in the long form.
const ALL_ROUNDS: usize = 5;

/// Runs the clients, one after the other; exit code 1 when a case failed.
pub fn chore(workspace: &Workspace, args: &[String]) -> Result<ExitCode> {
    let request = read(args)?;
    let began = Instant::now();
    let folder = target_folder(workspace).join("conformance");
    let (bin, languages) = prepare(workspace, &folder, &request)?;
    let mut failed = 0;
    for (client, round) in
        request.clients.iter().flat_map(|client| (1..=request.rounds).map(move |n| (client, n)))
    {
        let installed = &languages[&client.language];
        let times = if request.rounds > 1 { format!(", round {round}") } else { String::new() };
        println!("\n{}: {}{times}", client.name, installed.versions_of(client.packages).join(", "));
        let world = tempfile::tempdir().context("cannot make a temporary folder")?;
        let stage = Stage::start();
        let log = match round {
            1 => folder.join(format!("{}.log", client.name)),
            round => folder.join(format!("{}-{round}.log", client.name)),
        };
        let mut command = driver(client, installed, &bin, world.path(), &stage, &request.only);
        for (_, example, variable) in EXAMPLES {
            command.env(variable, target_folder(workspace).join("debug/examples").join(example));
        }
        command.env("CONFORMANCE_SERVERS", folder.join("servers"));
        let tally = drive::drive(command, &log)?;
        println!("{}: {} cases, {} failed", client.name, tally.cases, tally.failed);
        if tally.failed > 0 {
            println!("what was said on the way: {}", log.display());
        }
        failed += tally.failed;
    }
    println!("\nconformance: {failed} failed, {} s", began.elapsed().as_secs());
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn read(args: &[String]) -> Result<Request> {
    let mut request = Request { clients: Vec::new(), bin: None, rounds: 1, only: Vec::new() };
    let mut words = args.iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--all" => request.rounds = ALL_ROUNDS,
            "--bin" => request.bin = Some(words.next().context("`--bin` needs a path")?.into()),
            "--case" => request.only.push(words.next().context("`--case` needs a part of a name")?.clone()),
            name => match CLIENTS.iter().find(|client| client.name == name) {
                Some(client) => request.clients.push(client),
                None => bail!("no client is called `{name}`; there are {}", names().join(", ")),
            },
        }
    }
    if request.clients.is_empty() {
        request.clients = CLIENTS.iter().collect();
    }
    Ok(request)
}

fn names() -> Vec<&'static str> {
    CLIENTS.iter().map(|client| client.name).collect()
}

/// Builds zori and installs what the clients need, side by side: most of it is waiting for a registry.
fn prepare(
    workspace: &Workspace,
    folder: &Path,
    request: &Request,
) -> Result<(PathBuf, BTreeMap<Language, Installed>)> {
    let wanted: BTreeSet<_> = request.clients.iter().map(|client| client.language).collect();
    std::thread::scope(|scope| {
        let installing: Vec<_> = wanted
            .into_iter()
            .map(|language| (language, scope.spawn(move || install::install(workspace, folder, language))))
            .collect();
        let bin = match &request.bin {
            Some(path) => path.canonicalize().with_context(|| format!("no program at {}", path.display())),
            None => build(workspace, &["--tests"]),
        };
        let wanted =
            EXAMPLES.iter().filter(|(name, ..)| request.clients.iter().any(|client| client.name == *name));
        let wanted: Vec<&str> = wanted.flat_map(|(_, example, _)| ["--example", example]).collect();
        let bin = match wanted.is_empty() {
            false => bin.and_then(|bin| build(workspace, &wanted).map(|_| bin)),
            true => bin,
        };
        let mut languages = BTreeMap::new();
        for (language, thread) in installing {
            let installed = thread.join().map_err(|_| anyhow!("installing for {language:?} panicked"))?;
            languages.insert(language, installed?);
        }
        Ok((bin?, languages))
    })
}

/// Builds zori as `cargo xtask test` does, so that what that has built serves here too, and returns where it is.
fn build(workspace: &Workspace, what: &[&str]) -> Result<PathBuf> {
    let mut command = cargo_command();
    command.args(["build", "--quiet", "--workspace"]).args(what).current_dir(&workspace.root);
    ensure!(command.status().context("cannot run cargo")?.success(), "zori does not build");
    Ok(target_folder(workspace).join("debug/zori"))
}

/// Returns the command that runs a client's cases: nothing of this machine's settings reaches it.
fn driver(
    client: &Client,
    installed: &Installed,
    bin: &Path,
    world: &Path,
    stage: &Stage,
    only: &[String],
) -> Command {
    let mut command = Command::new(&installed.program);
    command.args(&installed.args).arg(client.cases).args(only).current_dir(world).env_clear();
    command.env("PATH", std::env::var_os("PATH").unwrap_or_default()).env("HOME", world);
    command.env("TMPDIR", world).env("LANG", "C.UTF-8").env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("CONFORMANCE_ZORI", bin).env("CONFORMANCE_MODEL", stage.url());
    command.env("CONFORMANCE_CLIENT", client.name);
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(args: &[&str]) -> Result<String> {
        let args: Vec<_> = args.iter().map(|&word| word.to_owned()).collect();
        let request = read(&args)?;
        let clients: Vec<_> = request.clients.iter().map(|client| client.name).collect();
        Ok(format!("{clients:?} {:?} {:?} x{}", request.bin, request.only, request.rounds))
    }

    #[test]
    fn which_clients_and_which_program() {
        assert_eq!(
            asked(&[]).unwrap(),
            r#"["score", "sdk-python", "sdk-typescript", "vendors", "acp-python", "acp-typescript", "code-sdk", "llm", "ai-sdk", "acp-adapter", "acpx", "fastmcp", "inspector", "mcp-suite", "mcp-client-suite", "mcp-servers"] None [] x1"#
        );
        assert_eq!(
            asked(&["acp-python", "--bin", "z", "--case", "mode"]).unwrap(),
            r#"["acp-python"] Some("z") ["mode"] x1"#
        );
        assert_eq!(asked(&["--all", "llm"]).unwrap(), r#"["llm"] None [] x5"#);
        assert!(asked(&["--all"]).unwrap().ends_with(r#""mcp-servers"] None [] x5"#));
        assert_eq!(
            asked(&["acp"]).unwrap_err().to_string(),
            "no client is called `acp`; there are score, sdk-python, sdk-typescript, vendors, acp-python, acp-typescript, \
             code-sdk, llm, ai-sdk, acp-adapter, acpx, fastmcp, inspector, mcp-suite, mcp-client-suite, mcp-servers"
        );
        assert_eq!(asked(&["--bin"]).unwrap_err().to_string(), "`--bin` needs a path");
    }

    #[test]
    fn every_client_has_cases() {
        let workspace = Workspace::load().unwrap();
        for client in CLIENTS {
            let folder = format!("{}/{}", client.language.drivers(), client.cases);
            assert!(workspace.below(&folder).count() > 0, "{folder} holds no cases");
        }
    }
}
