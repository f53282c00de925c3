//! `auth login`, `auth logout` and `auth status` (AUTH-1, AUTH-2). No secret is ever printed.

mod token_input;

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use zori_auth::browser::{self, Flow, LoginError};
use zori_auth::grant::{Grant, Kind};
use zori_auth::pkce::Pkce;
use zori_auth::store::{self, CredentialStore, StoreError};
use zori_auth::{LOOKUP, account, accounts};
use zori_contract::args::Args;
use zori_contract::command::{Command, Rule};
use zori_contract::error::{CANCELLED, ErrorKind, INPUT_REQUIRED, IO_ERROR, TERMINATED, TIMEOUT};
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::{Failure, Phase};
use zori_contract::flag::Flag;
use zori_contract::flag::framework;
use zori_contract::gate::Preview;
use zori_contract::kind;
use zori_contract::reply::{Effect, Reply};
use zori_contract::warning::Warning;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::input::Input;
use zori_core::outcome::CancelCause;
use zori_core::text;
use zori_core::time::Clock;
use zori_host::{SystemClock, is_loopback, random_bytes};
use zori_providers::catalog::{PROVIDERS, ProviderFacts};
use zori_providers::quirks::KeyNeed;

use super::{Context, example, ui};
use zori_setup::app::App;
use zori_setup::args::flags;
use zori_setup::config::Config;
use zori_setup::credentials;
use zori_setup::environment::Environment;
use zori_setup::error::{
    BASE_UNUSABLE, CREDENTIAL_STORE_UNAVAILABLE, LOGIN_FAILED, LOGIN_UNAVAILABLE, LOGIN_UNREADABLE,
    SETTING_INVALID,
};
use zori_setup::model_choice::{auth_methods, base_url, key_entry, key_of_env, unknown_in};
use zori_setup::open_browser::open_browser;
use zori_setup::signals::Signals;
use zori_setup::terminal::Terminal;
use zori_setup::ui::Ui;

const WITH_TOKEN: Flag =
    Flag::switch("with-token", "Read a key from standard input instead of opening a browser");
const TOKEN_ENV_VAR: Flag = Flag::valued(
    "token-env-var",
    "VAR",
    kind::Kind::SecretVar,
    "Take the key from this variable of the environment; also `--token-from-env`",
)
.aliases(&["token-from-env"]);
const TOKEN_FROM_FILE: Flag =
    Flag::valued("token-from-file", "FILE", kind::Kind::Path, "Take the key from this file");
const HEADLESS: Flag = Flag::switch(
    "headless",
    "Open no browser, only print the address and wait; where no person sits it has to be asked for",
);

/// How much of a server's own words is repeated.
const MAX_QUOTED: usize = 300;

/// It waits for a person, and is given five minutes.
pub const LOGIN: Command<App> = Command {
    flags: const { &[WITH_TOKEN, TOKEN_ENV_VAR, TOKEN_FROM_FILE, HEADLESS] },
    rules: &[
        Rule::Excludes { flag: &TOKEN_FROM_FILE, other: &WITH_TOKEN },
        Rule::Excludes { flag: &TOKEN_FROM_FILE, other: &TOKEN_ENV_VAR },
        Rule::Excludes { flag: &TOKEN_FROM_FILE, other: &HEADLESS },
        Rule::Excludes { flag: &TOKEN_ENV_VAR, other: &WITH_TOKEN },
        Rule::Excludes { flag: &TOKEN_ENV_VAR, other: &HEADLESS },
        Rule::Excludes { flag: &WITH_TOKEN, other: &HEADLESS },
    ],
    examples: &[
        example("in a browser", "zori auth login --provider openrouter"),
        example("with a key", "zori auth login --provider anthropic --with-token < key.txt"),
        example(
            "with a key of the environment",
            "zori auth login --provider anthropic --token-env-var CI_KEY",
        ),
    ],
    danger: Danger::Mutating,
    preview: Some(|cx, args| {
        let facts = chosen(args, &config(cx)?)?;
        Ok(Preview { verb: "update", items: vec![facts.name.to_owned()], reversible: true })
    }),
    exits: &[Exit::AuthRequired, Exit::Unavailable],
    timeout_ms: Some(300_000),
    output_schema: r#"{"type":"object","required":["effect"],"properties":{"provider":{"type":"string"},
        "kind":{"enum":["api_key","oauth"]},"effect":{"enum":["updated","noop"]}}}"#,
    declares: r#"{"has_network_io":true,"interactive":true,"headless_supported":true,"headless_behavior":"emit_in_output",
        "gui_operations":["browser"],"filesystem_side_effects":[{"path":"credential store","type":"credential",
        "clearable_with":"zori auth logout"}]}"#,
    ..Command::new(
        &["auth", "login"],
        "Log in to a provider, or store its key, in the system's credential store",
        login,
    )
};

pub const LOGOUT: Command<App> = Command {
    examples: &[
        example("of everything", "zori auth logout"),
        example("of one provider", "zori auth logout --provider openrouter --yes"),
    ],
    danger: Danger::Destructive,
    preview: Some(|cx, args| {
        let config = config(cx)?;
        let wanted = wanted(args, &config)?;
        let store = needed(&config, wanted.unwrap_or(&PROVIDERS[0]), &cx.app.env)?;
        let stored = kept(&*store, &config, wanted).map(|(facts, _)| facts.name.to_owned()).collect();
        Ok(Preview { verb: "delete", items: stored, reversible: false })
    }),
    output_schema: r#"{"type":"object","required":["effect"],"properties":{
        "forgotten":{"type":"array","items":{"type":"string"}},"effect":{"enum":["deleted","noop"]}}}"#,
    declares: r#"{"filesystem_side_effects":[{"path":"credential store","type":"credential"}]}"#,
    ..Command::new(&["auth", "logout"], "Forget the stored keys and logins", logout)
};

pub const STATUS: Command<App> = Command {
    examples: &[
        example("where keys come from; one in the environment wins", "zori auth status"),
        example("of one provider", "zori auth status --provider openai"),
    ],
    output_schema: r#"{"type":"object","required":["providers"],"properties":{"providers":{"type":"array","x-ordered":true,
        "items":{"type":"object","required":["name","source","variable","kind","expires_at","expired","note"],
        "properties":{"source":{"enum":["env","vault","store","none"]}}}}}}"#,
    ..Command::new(&["auth", "status"], "Show where each provider's key comes from", status)
};

/// Gets a key or a login, and stores it.
fn login(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let config = config(cx)?;
    let facts = chosen(args, &config)?;
    let address = base_url(facts, &config, &cx.app.env)?;
    if facts.api.key_need() == KeyNeed::Optional && is_loopback(&address) {
        let message = format!("{} on this machine needs no key", facts.display);
        return Err(
            Failure::new(&SETTING_INVALID, message).hint(format!("if yours does, set {}", facts.key_var))
        );
    }
    let mut ui = ui(cx);
    let signals = Signals::install(&cx.cancel, &cx.app.record)?;
    let stored = if let Some(name) = args.text(&TOKEN_ENV_VAR) {
        needed(&config, facts, &cx.app.env)
            .and_then(|store| Ok((store, Grant::api_key(token_input::in_variable(name, &cx.app.env)?))))
    } else if let Some(file) = args.text(&TOKEN_FROM_FILE) {
        needed(&config, facts, &cx.app.env)
            .and_then(|store| Ok((store, Grant::api_key(token_input::in_file(cx.cwd.join(file).as_path())?))))
    } else if args.has(&WITH_TOKEN) {
        needed(&config, facts, &cx.app.env).and_then(|store| {
            let key = token_input::read(facts.display, cx.inputs.stdin_terminal, &signals, &mut ui)?;
            Ok((store, Grant::api_key(key)))
        })
    } else {
        // Where a login could not be kept, it does not matter how it would be had.
        needed(&config, facts, &cx.app.env).and_then(|store| {
            let person = Terminal::of(cx, args.has(&framework::NON_INTERACTIVE)).interactive();
            let headless = args.has(&HEADLESS);
            let nobody = !person && !headless;
            let flow = Flow::of(facts, credentials::login_settings(&config, facts.name), &address);
            let flow = match flow {
                Err(error @ LoginError::Unsupported { .. }) if nobody => {
                    let failure = not_logged_in(&error, facts, cx.program.name);
                    return Err(Failure { kind: &INPUT_REQUIRED, phase: Phase::Execution, ..failure });
                }
                Err(error) => return Err(not_logged_in(&error, facts, cx.program.name)),
                Ok(_) if nobody => return Err(nobody_there(facts, cx.program.name)),
                Ok(flow) => flow,
            };
            Ok((store, in_browser(cx, &mut ui, person && !headless, facts, &flow, &signals)?))
        })
    };
    let (store, grant) = match stored {
        Ok(stored) => stored,
        Err(failure) if failure.kind == &CANCELLED && !cx.mode.structured_errors => {
            return Ok(Reply::ended(ui.report(&failure)));
        }
        Err(failure) => return Err(failure),
    };
    store.set(account(facts), &grant).map_err(|error| unusable(&error, facts))?;
    let what = if grant.kind == Kind::OAuth { "login" } else { "key" };
    let data = json!({"provider": facts.name, "kind": grant.kind.as_str()});
    let reply = Reply::changed(Effect::Updated, data).text(format!("Stored the {what} of {}", facts.display));
    Ok(match key_of_env(facts, &cx.app.env) {
        Some((name, _)) => reply.warn(overshadowed(name, "is set, and is used instead of what is stored")),
        None => reply,
    })
}

fn overshadowed(variable: &str, what: &str) -> Warning {
    Warning::new("KEY_IN_ENVIRONMENT", format!("{variable} {what}"))
}

/// Returns whose key it is about: `--provider`, else as configured.
fn chosen(args: &Args, config: &Config) -> Result<&'static ProviderFacts, Failure> {
    let name = args.text(&flags::PROVIDER).or(config.text("provider")).unwrap_or(PROVIDERS[0].name);
    provider(name, config)
}

/// Returns the accounts of which something is, or may be, stored.
fn kept<'s>(
    store: &'s dyn CredentialStore,
    config: &'s Config,
    wanted: Option<&'static ProviderFacts>,
) -> impl Iterator<Item = (&'static ProviderFacts, bool)> + 's {
    let named = config.catalog.providers().filter(|facts| facts.custom.is_some());
    accounts()
        .chain(named)
        .filter(move |facts| wanted.is_none_or(|wanted| account(wanted) == facts.name))
        .map(|facts| (facts, store.get(facts.name, store::WRITE).map_or(true, |found| found.is_some())))
        .filter(|(_, stored)| *stored)
}

/// Forgets what is stored of one provider, or of all.
fn logout(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let config = config(cx)?;
    let wanted = wanted(args, &config)?;
    let store = needed(&config, wanted.unwrap_or(&PROVIDERS[0]), &cx.app.env)?;
    let (mut text, mut forgotten) = (String::new(), Vec::new());
    for (facts, _) in kept(&*store, &config, wanted) {
        store.erase(facts.name).map_err(|error| unusable(&error, facts))?;
        text.push_str(&format!("Forgot what was stored of {}\n", facts.display));
        forgotten.push(facts.name);
    }
    if text.is_empty() {
        text = match wanted {
            Some(facts) => format!("Nothing is stored of {}\n", facts.display),
            None => "Nothing is stored\n".to_owned(),
        };
    }
    let effect = if forgotten.is_empty() { Effect::Noop } else { Effect::Deleted };
    let reply = Reply::changed(effect, json!({"forgotten": forgotten})).text(text);
    Ok(match wanted.and_then(|facts| key_of_env(facts, &cx.app.env)) {
        Some((name, _)) => reply.warn(overshadowed(name, "is set, and is used as before")),
        None => reply,
    })
}

/// Prints a line a provider: where its key comes from, and what is known of it.
fn status(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let config = config(cx)?;
    let (wanted, env) = (wanted(args, &config)?, &cx.app.env);
    let mut store = credentials::open(&config, env).ok();
    let until = Instant::now() + LOOKUP;
    let (mut lines, mut rows, mut warning) = (Vec::new(), Vec::new(), None);
    let asked = |facts: &&ProviderFacts| wanted.is_none_or(|wanted| wanted.name == facts.name);
    for facts in config.catalog.providers().filter(asked) {
        let mut found = None;
        // Whether the vault has it is not looked up: that would open it.
        if let Some(entry) = key_entry(facts, &config).filter(|_| key_of_env(facts, env).is_none()) {
            let source = ("vault", format!("vault:{entry}"));
            rows.push(described(facts, None, &source));
            lines.push((facts.name, source));
            continue;
        }
        if key_of_env(facts, env).is_none()
            && let Some(opened) = &store
        {
            let left = until.saturating_duration_since(Instant::now());
            match opened.get(account(facts), left) {
                Ok(grant) => found = grant,
                Err(failure) => {
                    warning = Some(Warning::new("CREDENTIAL_STORE_UNAVAILABLE", failure.to_string()));
                    store = None;
                }
            }
        }
        let shown = wanted.is_some() || facts.api.key_need() == KeyNeed::Required;
        if shown || key_of_env(facts, env).is_some() || found.is_some() {
            let source = source(facts, found.as_ref(), env);
            rows.push(described(facts, found.as_ref(), &source));
            lines.push((facts.name, source));
        }
    }
    let mut reply = Reply::one(json!({"providers": rows})).text(table(&lines));
    reply.warnings.extend(warning);
    Ok(reply)
}

/// Returns where a key comes from, for programs.
fn described(facts: &ProviderFacts, found: Option<&Grant>, (source, note): &(&str, String)) -> Value {
    let stored = found.filter(|_| *source == "store");
    json!({
        "name": facts.name,
        "source": source,
        "variable": facts.key_var,
        "kind": stored.map(|grant| grant.kind.as_str()),
        "expires_at": stored.and_then(|grant| grant.expires_at).map(|end| end.to_string()),
        "expired": stored.is_some_and(|grant| grant.is_expired(SystemClock::new().now())),
        "note": note,
    })
}

/// Returns where a key comes from, and what is known of it.
fn source(facts: &ProviderFacts, found: Option<&Grant>, env: &Environment) -> (&'static str, String) {
    if let Some((name, _)) = key_of_env(facts, env) {
        return ("env", name.to_owned());
    }
    match found {
        Some(grant) => ("store", about(grant)),
        None if facts.api.key_need() == KeyNeed::Optional => ("none", "needs no key".to_owned()),
        None => match facts.name {
            "copilot" => ("none", "`gh auth token` is asked when it is needed".to_owned()),
            "gemini" => ("none", "`gcloud` is asked when it is needed".to_owned()),
            _ => ("none", String::new()),
        },
    }
}

/// Returns a line a provider: its name, where its key comes from, what is known of it.
fn table(lines: &[(&str, (&str, String))]) -> String {
    let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or_default().max(12);
    let line = |(name, (source, more)): &(&str, (&str, String))| {
        format!("{}\n", format!("{name:<width$} {source:<6} {more}").trim_end())
    };
    lines.iter().map(line).collect()
}

fn about(grant: &Grant) -> String {
    let kind = grant.kind.as_str();
    let renewed = if grant.refresh.is_some() { ", renewed when it is used" } else { "" };
    match grant.expires_at {
        None => kind.to_owned(),
        Some(end) if grant.is_expired(SystemClock::new().now()) => format!("{kind}, expired {end}{renewed}"),
        Some(end) => format!("{kind}, expires {end}"),
    }
}

/// Shows the address, opens it where somebody is there, and waits.
fn in_browser(
    cx: &Context<'_>,
    ui: &mut Ui,
    person: bool,
    facts: &ProviderFacts,
    flow: &Flow,
    signals: &Signals,
) -> Result<Grant, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| Failure::new(&IO_ERROR, format!("cannot start the runtime: {error}")))?;
    let transport = cx.app.network.http()?;
    let (sender, mut inputs) = mpsc::channel(4);
    let listening = signals.listen(sender);
    let clock = SystemClock::new();
    let show = |url: &str| {
        ui.say(&format!(
            "Open this address in a browser on this machine to log in to {}:\n\n  {url}\n",
            facts.display
        ));
        if person {
            open_browser(url, &cx.app.env);
        }
    };
    let pkce = Pkce::new(random_bytes(), random_bytes());
    let result = runtime.block_on(async {
        tokio::select! {
            grant = browser::login(flow, pkce, &*transport, &clock, show) => {
                grant.map_err(|error| not_logged_in(&error, facts, cx.program.name))
            }
            cause = cancelled(&mut inputs) => Err(given_up(cause)),
        }
    });
    drop(listening);
    if result.is_err() {
        signals.die_of_hangup();
    }
    result
}

pub(crate) async fn cancelled(inputs: &mut mpsc::Receiver<Input>) -> CancelCause {
    loop {
        match inputs.recv().await {
            Some(Input::Cancel(cause)) => return cause,
            Some(_) => {}
            // The signals hold the other end for as long as they are listened to.
            None => std::future::pending().await,
        }
    }
}

pub(crate) fn given_up(cause: CancelCause) -> Failure {
    match cause {
        CancelCause::User => Failure::new(&CANCELLED, "interrupted"),
        CancelCause::Terminate | CancelCause::Hangup => {
            Failure::new(&TERMINATED, "terminated; nothing was stored")
        }
        CancelCause::Deadline => {
            Failure::new(&TIMEOUT, "nobody logged in before the time was over (`--timeout`)")
                .hint("nothing was stored")
        }
    }
}

/// Says that nobody is there to log in, and what works without.
fn nobody_there(facts: &ProviderFacts, program: &str) -> Failure {
    let name = facts.name;
    Failure::new(&INPUT_REQUIRED, format!("a login to {} needs a person, and nobody is there", facts.display))
        .field("auth_methods", auth_methods(facts, program))
        .hint(format!("set {} instead", facts.key_var))
        .hint(format!(
            "`{program} auth login --provider {name} --with-token` takes a key from standard input"
        ))
        .hint(format!(
            "`{program} auth login --provider {name} --headless` prints the address of the login and waits"
        ))
}

/// Says why nobody logged in, and what to do about it. `program` is our own name.
fn not_logged_in(error: &LoginError, facts: &ProviderFacts, program: &str) -> Failure {
    let name = facts.name;
    let with_token =
        format!("`{program} auth login --provider {name} --with-token` takes a key from standard input");
    match error {
        LoginError::Unsupported { .. } => Failure::new(&SETTING_INVALID, error.to_string())
            .field("auth_methods", auth_methods(facts, program))
            .hint(format!("set {}", facts.key_var))
            .hint(with_token)
            .hint(format!(
                "with a client id of your own: `client_id`, `authorize_url` and `token_url` in [auth.{name}] of the config file"
            ))
            .hint(format!("`{program} auth login --provider openrouter` needs neither")),
        LoginError::Incomplete { missing } => {
            let missing: Vec<_> = missing.iter().map(|key| format!("`{key}`")).collect();
            let message = format!("[auth.{name}] in the config file lacks {}", missing.join(" and "));
            Failure::new(&SETTING_INVALID, message).hint(with_token)
        }
        LoginError::Listen(_) => Failure::new(&IO_ERROR, error.to_string()),
        LoginError::Refused(why) => {
            let message = format!("the login was refused: {}", quoted(why));
            Failure::new(&LOGIN_FAILED, message).hint("nothing was stored; try again to allow it")
        }
        LoginError::Exchange(failure) => {
            let message = format!("the login was not completed: {}", quoted(&failure.message));
            Failure::new(exchange_kind(failure), message).hint("nothing was stored")
        }
    }
}

fn exchange_kind(failure: &ProviderFailure) -> &'static ErrorKind {
    match (failure.status, failure.kind) {
        (Some(400..=403), _) => &LOGIN_FAILED,
        (Some(408 | 429 | 500..), _) | (None, FailureKind::Timeout | FailureKind::Transport) => {
            &LOGIN_UNAVAILABLE
        }
        _ => &LOGIN_UNREADABLE,
    }
}

/// Returns a server's own words, as far as they are repeated.
fn quoted(words: &str) -> String {
    text::prefix(&text::one_line(words), MAX_QUOTED).to_owned()
}

fn config(cx: &Context<'_>) -> Result<Config, Failure> {
    let config = match cx.app.data_dir() {
        Ok(data_dir) => data_dir.read_config()?,
        // Nothing is kept there; without one there is nothing to read, either.
        Err(error) if error.kind == &BASE_UNUSABLE => Config::default(),
        Err(error) => return Err(error),
    };
    config.warnings.iter().for_each(|warning| cx.warn(Warning::new("CONFIG_WARNING", warning.clone())));
    Ok(config)
}

fn wanted(args: &Args, config: &Config) -> Result<Option<&'static ProviderFacts>, Failure> {
    args.text(&flags::PROVIDER).map(|name| provider(name, config)).transpose()
}

fn provider(name: &str, config: &Config) -> Result<&'static ProviderFacts, Failure> {
    config.catalog.provider(name).ok_or_else(|| unknown_in(name, config))
}

/// Returns the store, or says that there is none (AUTH-5).
fn needed(
    config: &Config,
    facts: &ProviderFacts,
    env: &Environment,
) -> Result<Arc<dyn CredentialStore>, Failure> {
    credentials::open(config, env).map_err(|error| unusable(&error, facts))
}

fn unusable(error: &StoreError, facts: &ProviderFacts) -> Failure {
    Failure::new(&CREDENTIAL_STORE_UNAVAILABLE, error.to_string())
        .hint(format!("set {} instead; keys are never kept in a plain file", facts.key_var))
        .hint("`credential_helper` in the config file names a program that keeps them, such as a password manager's")
        .hint("a vault keeps them, too, once you made one: `zori vault init`")
}
