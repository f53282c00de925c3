//! `mcp login` and `mcp logout`: a login to an MCP server in a browser, here or on another machine (MCP-80 to MCP-82). No secret is ever
//! printed.

use std::sync::Arc;

use serde_json::json;
use tokio::sync::mpsc;
use zori_auth::store::StoreError;
use zori_contract::args::Args;
use zori_contract::command::Command;
use zori_contract::error::{INPUT_REQUIRED, IO_ERROR, VALIDATION_ERROR};
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::{Flag, framework};
use zori_contract::gate::Preview;
use zori_contract::reply::{Effect, Reply};
use zori_core::text;
use zori_mcp::client::oauth::bearer::Bearer;
use zori_mcp::client::oauth::{Challenge, Login, LoginError};
use zori_mcp::client::{KnownServers, ServerConfig, Status};

use super::servers::{Configured, NAME};
use crate::commands::auth::{cancelled, given_up};
use crate::commands::{Context, example, ui};
use zori_setup::app::App;
use zori_setup::audit;
use zori_setup::credentials;
use zori_setup::environment::Environment;
use zori_setup::error::{
    CREDENTIAL_STORE_UNAVAILABLE, LOGIN_FAILED, LOGIN_UNAVAILABLE, LOGIN_UNREADABLE, MCP_UNAVAILABLE,
    SETTING_INVALID,
};
use zori_setup::mcp_login::{self, FlowError, WayBack};
use zori_setup::mcp_logins;
use zori_setup::open_browser::open_browser;
use zori_setup::signals::Signals;
use zori_setup::terminal::Terminal;
use zori_setup::ui::Ui;
use zori_setup::wire_up;

const NO_BROWSER: Flag = Flag::switch(
    "no-browser",
    "Open no browser: print the address, and take the one that the browser was sent back to from standard input",
);

pub const LOGIN: Command<App> = Command {
    args: const { &[NAME] },
    flags: const { &[NO_BROWSER] },
    examples: &[
        example("in a browser", "zori mcp login docs"),
        example("on a machine without one", "zori mcp login docs --no-browser"),
    ],
    danger: Danger::Mutating,
    preview: Some(|_, args| {
        let items = vec![args.text(&NAME).unwrap_or_default().to_owned()];
        Ok(Preview { verb: "update", items, reversible: true })
    }),
    exits: &[Exit::NotFound, Exit::AuthRequired, Exit::Unavailable],
    timeout_ms: Some(300_000),
    output_schema: r#"{"type":"object","required":["name","issuer","effect"],"properties":{"name":{"type":"string"},
        "issuer":{"type":"string"},"scope":{"type":"string"},"effect":{"enum":["updated","noop"]}}}"#,
    declares: r#"{"has_network_io":true,"interactive":true,"headless_supported":true,"headless_behavior":"emit_in_output",
        "gui_operations":["browser"],"filesystem_side_effects":[{"path":"credential store","type":"credential",
        "clearable_with":"zori mcp logout"},{"path":"$ZORI_HOME/mcp","type":"cache"},
        {"path":"$ZORI_HOME/logs/mcp","type":"log"},{"path":"$ZORI_HOME/projects","type":"log","clearable_with":"zori project purge"}]}"#,
    ..Command::new(&["mcp", "login"], "Log in to an MCP server that wants it", login)
};

pub const LOGOUT: Command<App> = Command {
    args: const { &[NAME] },
    examples: &[
        example("one server", "zori mcp logout docs"),
        example("what that would do", "zori mcp logout docs --dry-run"),
    ],
    danger: Danger::Mutating,
    preview: Some(|_, args| {
        let items = vec![args.text(&NAME).unwrap_or_default().to_owned()];
        Ok(Preview { verb: "delete", items, reversible: false })
    }),
    exits: &[Exit::NotFound],
    output_schema: r#"{"type":"object","required":["name","effect"],"properties":{"name":{"type":"string"},
        "effect":{"enum":["deleted","noop"]}}}"#,
    declares: r#"{"filesystem_side_effects":[{"path":"credential store","type":"credential"}]}"#,
    ..Command::new(&["mcp", "logout"], "Forget the login to an MCP server", logout)
};

fn login(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let configured = Configured::read(cx, args)?;
    let server = configured.named(args.text(&NAME).unwrap_or_default())?.clone();
    let name = server.name.clone();
    can_log_in(&server)?;
    credentials::open(&configured.config, &cx.app.env).map_err(|error| no_store(&error))?;
    let person = Terminal::of(cx, args.has(&framework::NON_INTERACTIVE)).interactive();
    if !person && !args.has(&NO_BROWSER) {
        return Err(Failure::new(
            &INPUT_REQUIRED,
            format!("a login to `{name}` needs a person, and nobody is there"),
        )
        .hint(format!("`zori mcp login {name} --no-browser` prints the address of the login and waits")));
    }
    let (bearer, challenge) = challenged(cx, &configured, server)?;
    let mut ui = ui(cx);
    let signals = Signals::install(&cx.cancel, &cx.app.record)?;
    let opens = person && !args.has(&NO_BROWSER) && has_browser(&cx.app.env);
    let grant = with_browser(cx, &mut ui, opens, &name, &bearer, &challenge, &signals)?;
    bearer.keep(&grant).map_err(|why| Failure::new(&CREDENTIAL_STORE_UNAVAILABLE, why))?;
    audit::server_login(&cx.app.data_dir()?, &name, "login", &mut ui);
    let data = json!({"name": name, "issuer": grant.terms.issuer, "scope": grant.terms.scope});
    Ok(Reply::changed(Effect::Updated, data).text(format!("Logged in to the MCP server {name}")))
}

fn logout(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let configured = Configured::read(cx, args)?;
    let server = configured.named(args.text(&NAME).unwrap_or_default())?;
    can_log_in(server)?;
    credentials::open(&configured.config, &cx.app.env).map_err(|error| no_store(&error))?;
    let name = server.name.clone();
    let known = KnownServers::new(Some(cx.app.data_dir()?.dir().join("mcp")));
    let parts = mcp_logins::parts(&configured.config, &cx.app.env, &configured.secrets);
    let bearer = Bearer::of(server, known, parts);
    let there = match &bearer {
        Some(bearer) => bearer.forget().map_err(|why| Failure::new(&CREDENTIAL_STORE_UNAVAILABLE, why))?,
        None => false,
    };
    if there {
        audit::server_login(&cx.app.data_dir()?, &name, "logout", &mut ui(cx));
    }
    Ok(match there {
        true => Reply::changed(Effect::Deleted, json!({ "name": name }))
            .text(format!("Forgot the login to the MCP server {name}")),
        false => Reply::changed(Effect::Noop, json!({ "name": name }))
            .text(format!("Nobody is logged in to the MCP server {name}")),
    })
}

/// Refuses servers that one does not log in to.
fn can_log_in(server: &ServerConfig) -> Result<(), Failure> {
    server.login_refusal().map_or(Ok(()), |why| Err(Failure::new(&VALIDATION_ERROR, why)))
}

/// Contacts the server to hear what it wants. Returns its login, too.
fn challenged(
    cx: &Context<'_>,
    configured: &Configured,
    server: ServerConfig,
) -> Result<(Arc<Bearer>, Challenge), Failure> {
    let name = server.name.clone();
    let unavailable = |why: &str| Failure::new(&MCP_UNAVAILABLE, format!("the MCP server `{name}`: {why}"));
    let started = configured.start(cx, vec![ServerConfig { enabled: true, ..server }])?;
    let servers = started.ok_or_else(|| unavailable("it could not be started"))?;
    let server = servers.all().into_iter().next().expect("one was started");
    let now = server.now();
    let bearer = server.bearer().cloned();
    servers.shutdown();
    let bearer = bearer.ok_or_else(|| unavailable("one cannot log in to it"))?;
    if now.status == Status::Failed {
        return Err(unavailable(now.reason.as_deref().unwrap_or("it failed")));
    }
    let challenge = bearer.challenge().unwrap_or_default();
    Ok((bearer, challenge))
}

/// Returns whether a browser that is opened here is one that the user sees.
fn has_browser(env: &Environment) -> bool {
    let set = |name: &str| env.text(name).is_some_and(|value| !value.is_empty());
    let remote = set("SSH_CONNECTION") || set("SSH_TTY") || set("SSH_CLIENT");
    !remote && (cfg!(target_os = "macos") || set("DISPLAY") || set("WAYLAND_DISPLAY"))
}

/// Shows the address, and waits for the browser or for somebody who pastes where it was sent to.
fn with_browser(
    cx: &Context<'_>,
    ui: &mut Ui,
    opens: bool,
    name: &str,
    bearer: &Bearer,
    challenge: &Challenge,
    signals: &Signals,
) -> Result<Login, Failure> {
    let transport = cx.app.network.http()?;
    let runtime = wire_up::runtime()?;
    let (sender, mut inputs) = mpsc::channel(4);
    let listening = signals.listen(sender);
    let mut show = |url: &str| {
        let place = if opens { " in a browser on this machine" } else { "" };
        ui.say(&format!("Open this address{place} to log in to the MCP server {name}:\n\n  {url}\n"));
        if opens {
            open_browser(url, &cx.app.env);
        } else {
            ui.say("If the browser cannot come back here, paste the address that it was sent to:");
        }
    };
    let way_back = if opens { WayBack::Browser } else { WayBack::BrowserOrPaste };
    let done = runtime.block_on(async {
        tokio::select! {
            done = mcp_login::log_in(&*transport, bearer, challenge, way_back, &mut show) => done.map_err(|error| failed(&error, name)),
            cause = cancelled(&mut inputs) => Err(given_up(cause)),
        }
    });
    drop(listening);
    // A thread may still wait for a line.
    runtime.shutdown_background();
    if done.is_err() {
        signals.die_of_hangup();
    }
    done
}

fn failed(error: &FlowError, name: &str) -> Failure {
    let again = format!("nothing was stored; `zori mcp login {name}` begins anew");
    match error {
        FlowError::Listen(_) => Failure::new(&IO_ERROR, error.to_string())
            .hint("`oauth.callback_port` of the server chooses the port"),
        FlowError::Pasted(why) => Failure::new(&LOGIN_FAILED, *why).hint(again),
        FlowError::Login(error) => {
            let message = text::one_line(&error.to_string()).into_owned();
            match error {
                LoginError::NotOffered => Failure::new(&LOGIN_FAILED, message)
                    .hint("a token can be given in `headers`, as `vault:NAME`"),
                LoginError::NoClient { .. } => Failure::new(&SETTING_INVALID, message)
                    .hint(format!("register one there, and set `oauth.client_id` in [mcp.servers.{name}]")),
                LoginError::Refused(_) | LoginError::TokenRefused(_) => {
                    Failure::new(&LOGIN_FAILED, message).hint(again)
                }
                LoginError::Unreachable(_) => {
                    Failure::new(&LOGIN_UNAVAILABLE, message).hint("nothing was stored")
                }
                LoginError::Unreadable(_) => {
                    Failure::new(&LOGIN_UNREADABLE, message).hint("nothing was stored")
                }
            }
        }
    }
}

fn no_store(error: &StoreError) -> Failure {
    Failure::new(&CREDENTIAL_STORE_UNAVAILABLE, error.to_string())
        .hint("`credential_helper` in the config file names a program that keeps logins, such as a password manager's")
        .hint("a vault keeps them, too, once you made one: `zori vault init`")
}
