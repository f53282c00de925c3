//! What can be run, as one table: parsing, help, manifest, completions and the reference page walk it. Each command is
//! a file below `commands/` with its entry and what it does; adding one is a copy of the smallest and a line here.

mod acp;
mod audit_log;
mod auth;
mod batch;
mod changelog;
mod chat;
mod check_permissions;
mod cleanup;
mod config;
mod context;
pub(crate) mod demo;
mod doctor;
pub mod exec;
mod handoff;
mod import;
mod index;
mod mcp;
mod memory;
mod models;
mod own_skills;
mod policy;
mod project;
mod schedule;
mod sessions;
pub mod skills;
mod start;
mod status;
mod trust;
mod tui;
mod undo;
mod vault;
mod waiting;

use serde_json::Value;
use zori_contract::args::Args;
use zori_contract::builtin;
use zori_contract::child::{self, Purpose};
use zori_contract::command::{Command, Example};
use zori_contract::error::{CANCELLED, ErrorKind, INTERNAL_ERROR};
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_contract::flag::framework;
use zori_contract::mode::{Format, Verbosity};
use zori_contract::reply::Reply;
use zori_contract::warning::Warning;
use zori_frontends::jsonl::{self, Code, EventWriter};
use zori_redact::Redactor;

use crate::heartbeat::Heartbeat;
use zori_setup::agent_cx::{AgentCx, Context, Front};
use zori_setup::app::App;
use zori_setup::args::LowArgs;
use zori_setup::args::flags;
use zori_setup::outcome::Report;
use zori_setup::terminal::{self, Terminal};
use zori_setup::ui::Ui;

/// The groups of two-word commands.
pub const GROUPS: &[(&str, &str)] = &[
    ("sessions", "List, show, search, export, fork, rewind, remove and resume saved sessions"),
    ("index", "Build, show, search and clear the code index of a project"),
    ("memory", "Find, list, show, forget and export what was said in earlier sessions of a project"),
    ("project", "List and show the folders that something is kept of, and delete all of it"),
    ("schedule", "Have prompts run at set times"),
    ("models", "List and show the models there are"),
    ("mcp", "Use MCP servers, see their tools, and serve other agents by the same protocol"),
    ("auth", "Log in, log out, and see where keys come from"),
    ("vault", "Keep secrets in an encrypted file, and refer to them"),
    ("config", "Find, show or create the config file"),
    ("context", "See what a server's agent is told of the workspace"),
    ("policy", "See what would happen to a call, and why"),
    ("trust", "Decide whether a folder's own settings count"),
    ("skills", "List, show, check and approve skills"),
    ("errors", "What can go wrong"),
];

/// Every command, in the order help lists them.
pub const COMMANDS: &[Command<App>] = &[
    exec::COMMAND,
    chat::COMMAND,
    tui::COMMAND,
    demo::COMMAND,
    start::COMMAND,
    acp::COMMAND,
    mcp::SERVE,
    mcp::validate::COMMAND,
    mcp::servers::LIST,
    mcp::servers::GET,
    mcp::servers::ADD,
    mcp::servers::REMOVE,
    mcp::login::LOGIN,
    mcp::login::LOGOUT,
    mcp::tools::LIST,
    mcp::tools::CALL,
    import::SERVERS,
    sessions::LIST,
    sessions::SHOW,
    sessions::RESUME,
    sessions::search::COMMAND,
    sessions::export::COMMAND,
    sessions::fork::COMMAND,
    sessions::remove::COMMAND,
    undo::UNDO,
    undo::REWIND,
    undo::DIFF,
    handoff::COMMAND,
    index::BUILD,
    index::STATUS,
    index::SEARCH,
    index::CLEAR,
    memory::SEARCH,
    memory::LIST,
    memory::SHOW,
    memory::FORGET,
    memory::EXPORT,
    memory::REBUILD,
    memory::GRAPH,
    project::LIST,
    project::SHOW,
    project::purge::COMMAND,
    schedule::ADD,
    schedule::LIST,
    schedule::SHOW,
    schedule::REMOVE,
    schedule::runner::COMMAND,
    models::LIST,
    models::SHOW,
    auth::LOGIN,
    auth::LOGOUT,
    auth::STATUS,
    vault::INIT,
    vault::SET,
    vault::GET,
    vault::LIST,
    vault::REMOVE,
    vault::WHICH,
    vault::REKEY,
    config::PATH,
    config::SHOW,
    config::INIT,
    config::import::COMMAND,
    context::SHOW,
    policy::CHECK,
    policy::EXPLAIN,
    policy::TEST,
    trust::SHOW,
    trust::ALLOW,
    trust::DENY,
    trust::FORGET,
    trust::LIST,
    import::COMMAND,
    own_skills::LIST,
    own_skills::SHOW,
    own_skills::VALIDATE,
    own_skills::TRUST,
    doctor::COMMAND,
    status::COMMAND,
    cleanup::COMMAND,
    audit_log::COMMAND,
    changelog::COMMAND,
    check_permissions::COMMAND,
    batch::COMMAND,
    skills::COMMAND,
    builtin::manifest_command(&[
        example("everything this program can do", "zori manifest"),
        example("only if it changed", "zori manifest --etag sha256:0"),
    ]),
    builtin::errors_command(&[
        example("every code", "zori errors list --limit 0"),
        example("as a table", "zori errors list --output table"),
    ]),
    builtin::completions_command(&[
        example("for bash", "zori completions bash > ~/.local/share/bash-completion/completions/zori"),
        example("for fish", "zori completions fish > ~/.config/fish/completions/zori.fish"),
    ]),
    builtin::man_command(&[
        example("read it", "zori man | man -l -"),
        example("keep it", "zori man > ~/.local/share/man/man1/zori.1"),
    ]),
];

/// How a run of a model may end, beyond what every command may. There may be no session to go on with.
const AGENT_EXITS: &[Exit] = &[
    Exit::Partial,
    Exit::NotFound,
    Exit::Conflict,
    Exit::PermissionDenied,
    Exit::AuthRequired,
    Exit::PaymentRequired,
    Exit::RateLimited,
    Exit::Unavailable,
];

/// What an agent command can print so far (DECISIONS 20).
const AGENT_FORMATS: &[(&str, Format)] =
    &[("plain", Format::Plain), ("json", Format::Json), ("jsonl", Format::Jsonl)];

/// A failure as an event, for agent commands that print those.
fn failure_event(kind: &'static ErrorKind, message: &str) -> String {
    let code = match kind.exit {
        _ if *kind == INTERNAL_ERROR => Code::Internal,
        Exit::AuthRequired => Code::AuthError,
        Exit::RateLimited => Code::RateLimited,
        Exit::Timeout => Code::Timeout,
        Exit::Unavailable => Code::ProviderError,
        Exit::Interrupted | Exit::Terminated => Code::Interrupted,
        _ => Code::AgentError,
    };
    // The contract has taken out what the program knows; what only looks like a secret is left.
    jsonl::failure_line(code, &Redactor::default().redact(message))
}

/// What commands declare that change the database of memory, index and schedules, and a project's folder beside it.
const DATABASE: &str = r#"{"filesystem_side_effects":[
    {"path":"$ZORI_HOME/zori.db","type":"cache","clearable_with":"zori project purge"},
    {"path":"$ZORI_HOME/uses","type":"cache","clearable_with":"zori project purge"},
    {"path":"$ZORI_HOME/projects","type":"log","clearable_with":"zori project purge"}]}"#;

pub(crate) const fn example(about: &'static str, command: &'static str) -> Example {
    Example { about, command }
}

/// Returns whether a command hears signals itself, because a turn or a person's terminal has to be put in order first.
pub fn hears_signals(command: &Command<App>) -> bool {
    command.owns_streams() || command.path == ["auth", "login"]
}

/// Returns the way out for words of a command, which `--quiet` closes.
fn ui(cx: &Context<'_>) -> Ui {
    if cx.mode.verbosity == Verbosity::Silent { Ui::silent() } else { Ui::standard(&cx.app.env) }
}

/// Runs a command that owns its streams: what it has to say is said when it returns.
fn own_streams(
    cx: &mut Context<'_>,
    args: &Args,
    run: impl FnOnce(&mut AgentCx<'_>, &LowArgs) -> Result<Exit, Failure>,
) -> Result<Reply, Failure> {
    let mut ui = ui(cx);
    let low = LowArgs::new(args);
    let front = match cx.mode.format {
        Format::Jsonl if low.protocol.spoken().is_none() => {
            Front::Events(EventWriter::new(Box::new(terminal::stdout()?)))
        }
        _ => Front::Text,
    };
    let mut own = AgentCx {
        profile: cx.app.profile,
        app: cx.app.clone(),
        terminal: Terminal::of(cx, args.has(&framework::NON_INTERACTIVE)),
        cancel: cx.cancel.clone(),
        ui: &mut ui,
        child_env: child::environment(&cx.mode, Purpose::Foreign, &cx.inputs.vars, cx.program.prefix),
        report: None,
        front,
    };
    let heart = Heartbeat::start(args.int(&flags::HEARTBEAT_INTERVAL), own.terminal.quiet)?;
    let ended = run(&mut own, &low);
    drop(heart);
    let report = own.report.take();
    // Standard error has them already; the envelope does not, and neither does `--warnings-as-errors` know of them.
    let warnings: Vec<_> =
        ui.warned().into_iter().map(|text| Warning::new("RUN_WARNING", text).already_shown()).collect();
    let kept = report.as_ref().filter(|_| matches!(ended, Ok(Exit::Success))).map(Report::kept);
    let ended = match ended {
        Ok(exit) if cx.mode.format == Format::Json && low.protocol.spoken().is_none() => match report {
            Some(report) => report.reply(exit, cx.program.name),
            None => Ok(Reply::one(Value::Null)),
        },
        // The same words as in the middle of a turn (OUT-8).
        Err(failure) if failure.kind == &CANCELLED && !cx.mode.format.structured() => {
            Ok(Reply::ended(ui.report(&failure)))
        }
        ended => ended.map(Reply::ended),
    };
    match ended {
        Ok(mut reply) => {
            reply.warnings.extend(warnings);
            reply.kept = kept;
            Ok(reply)
        }
        Err(mut failure) => {
            failure.facts.warnings.extend(warnings);
            Err(failure)
        }
    }
}
