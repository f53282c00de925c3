//! `auth login`, `auth logout` and `auth status` (AUTH-1, AUTH-2). No secret is ever printed.

use std::sync::Arc;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::sync::mpsc;
use zori_contract::args::Args;
use zori_contract::command::{Command, Rule};
use zori_contract::error::{CANCELLED, IO_ERROR, TERMINATED, TIMEOUT};
use zori_contract::exit::{Danger, Exit};
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::gate::Preview;
use zori_contract::kind;
use zori_contract::mode::Talk;
use zori_contract::reply::{Effect, Reply};
use zori_contract::warning::Warning;
use zori_core::input::Input;
use zori_core::outcome::CancelCause;
use zori_core::time::Clock;
use zori_providers::catalog::{self, PROVIDERS, ProviderFacts};
use zori_providers::quirks::KeyNeed;

use super::{Context, example, ui};
use crate::auth::browser::{self, Flow};
use crate::auth::grant::{Grant, Kind};
use crate::auth::store::{self, CredentialStore, StoreFailure};
use crate::auth::{LOOKUP, account, accounts, token_input};
use crate::base::Base;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::error::{BASE_UNUSABLE, CREDENTIAL_STORE_UNAVAILABLE, SETTING_INVALID};
use crate::model_choice::{base_url, is_loopback, unknown, variable};
use crate::network;
use crate::program::App;
use crate::signals::Signals;
use crate::terminal::Terminal;
use crate::ui::Ui;

/// The entry of `auth login`. It waits for a person, and is given five minutes.
pub const LOGIN: Command<App> = Command {
    flags: const {
        &[
            Flag::switch("with-token", "Read a key from standard input instead of opening a browser"),
            Flag::valued(
                "token-env-var",
                "VAR",
                kind::Kind::SecretVar,
                "Take the key from this variable of the environment",
            ),
            Flag::switch(
                "headless",
                "Open no browser, only print the address; so it is where no person sits",
            ),
        ]
    },
    rules: &[
        Rule::Excludes { flag: "token-env-var", other: "with-token" },
        Rule::Excludes { flag: "token-env-var", other: "headless" },
        Rule::Excludes { flag: "with-token", other: "headless" },
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

/// The entry of `auth logout`.
pub const LOGOUT: Command<App> = Command {
    examples: &[
        example("of everything", "zori auth logout"),
        example("of one provider", "zori auth logout --provider openrouter --yes"),
    ],
    danger: Danger::Destructive,
    preview: Some(|cx, args| {
        let (config, wanted) = (config(cx)?, wanted(args)?);
        let store = needed(&config, wanted.unwrap_or(&PROVIDERS[0]))?;
        let stored = kept(&*store, wanted).map(|(facts, _)| facts.name.to_owned()).collect();
        Ok(Preview { verb: "delete", items: stored, reversible: false })
    }),
    output_schema: r#"{"type":"object","required":["effect"],"properties":{
        "forgotten":{"type":"array","items":{"type":"string"}},"effect":{"enum":["deleted","noop"]}}}"#,
    ..Command::new(&["auth", "logout"], "Forget the stored keys and logins", logout)
};

/// The entry of `auth status`.
pub const STATUS: Command<App> = Command {
    examples: &[
        example("where keys come from; one in the environment wins", "zori auth status"),
        example("of one provider", "zori auth status --provider openai"),
    ],
    output_schema: r#"{"type":"object","required":["providers"],"properties":{"providers":{"type":"array","x-ordered":true,
        "items":{"type":"object","required":["name","source","variable","kind","expires_at","expired","note"],
        "properties":{"source":{"enum":["env","store","none"]}}}}}}"#,
    ..Command::new(&["auth", "status"], "Show where each provider's key comes from", status)
};

/// Gets a key or a login, and stores it.
fn login(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let config = config(cx)?;
    let facts = chosen(args, &config)?;
    let address = base_url(facts, &config)?;
    if facts.api.key_need() == KeyNeed::Optional && is_loopback(&address) {
        let message = format!("{} on this machine needs no key", facts.display);
        return Err(
            Failure::new(&SETTING_INVALID, message).hint(format!("if yours does, set {}", facts.key_var))
        );
    }
    let mut ui = ui(cx);
    let signals = Signals::install(&cx.cancel)?;
    let stored = if let Some(name) = args.text("token-env-var") {
        needed(&config, facts).and_then(|store| Ok((store, Grant::api_key(token_input::in_variable(name)?))))
    } else if args.has("with-token") {
        needed(&config, facts).and_then(|store| {
            let key = token_input::read(facts.display, cx.inputs.stdin_terminal, &signals, &mut ui)?;
            Ok((store, Grant::api_key(key)))
        })
    } else {
        // The way comes first: without one it does not matter where the way would have led.
        let flow = Flow::of(facts, &config, &address, cx.program.name)?;
        let person = Terminal::of(cx, args.has("non-interactive")).interactive() && !args.has("headless");
        needed(&config, facts)
            .and_then(|store| Ok((store, in_browser(&mut ui, person, facts, &flow, &signals)?)))
    };
    let (store, grant) = match stored {
        Ok(stored) => stored,
        Err(failure) if failure.kind == &CANCELLED && !cx.mode.structured_errors => {
            return Ok(Reply::ended(ui.report(&failure)));
        }
        Err(failure) => return Err(failure),
    };
    store.set(account(facts), &grant).map_err(|failure| unusable(failure, facts))?;
    let what = if grant.kind == Kind::OAuth { "login" } else { "key" };
    let data = json!({"provider": facts.name, "kind": grant.kind.as_str()});
    let reply = Reply::changed(Effect::Updated, data).text(format!("Stored the {what} of {}", facts.display));
    Ok(match variable(facts) {
        Some(_) => reply.warn(overshadowed(facts, "is set, and is used instead of what is stored")),
        None => reply,
    })
}

fn overshadowed(facts: &ProviderFacts, what: &str) -> Warning {
    Warning::new("KEY_IN_ENVIRONMENT", format!("{} {what}", facts.key_var))
}

/// Returns whose key it is about: `--provider`, else as configured.
fn chosen(args: &Args, config: &Config) -> Result<&'static ProviderFacts, Failure> {
    provider(args.text("provider").or(config.text("provider")).unwrap_or(PROVIDERS[0].name))
}

/// Returns the accounts of which something is, or may be, stored.
fn kept<'s>(
    store: &'s dyn CredentialStore,
    wanted: Option<&'static ProviderFacts>,
) -> impl Iterator<Item = (&'static ProviderFacts, bool)> + 's {
    accounts()
        .filter(move |facts| wanted.is_none_or(|wanted| account(wanted) == facts.name))
        .map(|facts| (facts, store.get(facts.name, store::WRITE).map_or(true, |found| found.is_some())))
        .filter(|(_, stored)| *stored)
}

/// Forgets what is stored of one provider, or of all.
fn logout(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let config = config(cx)?;
    let wanted = wanted(args)?;
    let store = needed(&config, wanted.unwrap_or(&PROVIDERS[0]))?;
    let (mut text, mut forgotten) = (String::new(), Vec::new());
    for (facts, _) in kept(&*store, wanted) {
        store.erase(facts.name).map_err(|failure| unusable(failure, facts))?;
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
    Ok(match wanted.filter(|facts| variable(facts).is_some()) {
        Some(facts) => reply.warn(overshadowed(facts, "is set, and is used as before")),
        None => reply,
    })
}

/// Prints a line a provider: where its key comes from, and what is known of it.
fn status(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let config = config(cx)?;
    let wanted = wanted(args)?;
    let mut store = store::open(&config);
    let until = Instant::now() + LOOKUP;
    let (mut text, mut rows, mut warning) = (String::new(), Vec::new(), None);
    for facts in PROVIDERS.iter().filter(|facts| wanted.is_none_or(|wanted| wanted.name == facts.name)) {
        let mut found = None;
        if variable(facts).is_none()
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
        if shown || variable(facts).is_some() || found.is_some() {
            text.push_str(&line(facts, found.as_ref()));
            rows.push(described(facts, found.as_ref()));
        }
    }
    let mut reply = Reply::one(json!({"providers": rows})).text(text);
    reply.warnings.extend(warning);
    Ok(reply)
}

/// Returns where a key comes from, for programs.
fn described(facts: &ProviderFacts, found: Option<&Grant>) -> Value {
    let (source, note) = source(facts, found);
    let stored = found.filter(|_| source == "store");
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
fn source(facts: &ProviderFacts, found: Option<&Grant>) -> (&'static str, String) {
    match found {
        _ if variable(facts).is_some() => ("env", facts.key_var.to_owned()),
        Some(grant) => ("store", about(grant)),
        None if facts.api.key_need() == KeyNeed::Optional => ("none", "needs no key".to_owned()),
        None => match facts.name {
            "copilot" => ("none", "`gh auth token` is asked when it is needed".to_owned()),
            "gemini" => ("none", "`gcloud` is asked when it is needed".to_owned()),
            _ => ("none", String::new()),
        },
    }
}

fn line(facts: &ProviderFacts, found: Option<&Grant>) -> String {
    let (source, more) = source(facts, found);
    format!("{}\n", format!("{:<12} {source:<6} {more}", facts.name).trim_end())
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
    let transport = network::http()?;
    let (sender, mut inputs) = mpsc::channel(4);
    let listening = signals.listen(sender);
    let clock = SystemClock::new();
    let show = |url: &str| {
        ui.say(&format!(
            "Open this address in a browser on this machine to log in to {}:\n\n  {url}\n",
            facts.display
        ));
        if person {
            browser::open(url);
        }
    };
    let result = runtime.block_on(async {
        tokio::select! {
            grant = browser::login(flow, &*transport, &clock, show) => grant,
            cause = cancelled(&mut inputs) => Err(given_up(cause)),
        }
    });
    drop(listening);
    if result.is_err() {
        signals.die_of_hangup();
    }
    result
}

async fn cancelled(inputs: &mut mpsc::Receiver<Input>) -> CancelCause {
    loop {
        match inputs.recv().await {
            Some(Input::Cancel(cause)) => return cause,
            Some(_) => {}
            // The signals hold the other end for as long as they are listened to.
            None => std::future::pending().await,
        }
    }
}

fn given_up(cause: CancelCause) -> Failure {
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

fn config(cx: &Context<'_>) -> Result<Config, Failure> {
    let config = match Base::find(cx.app.profile) {
        Ok(base) => Config::load(&base.config(), PROVIDERS[0].key_var)?,
        // Nothing is kept there; without one there is nothing to read, either.
        Err(error) if error.kind == &BASE_UNUSABLE => Config::default(),
        Err(error) => return Err(error),
    };
    config.warnings.iter().for_each(|warning| cx.say(Talk::Errors, &format!("Warning: {warning}")));
    Ok(config)
}

fn wanted(args: &Args) -> Result<Option<&'static ProviderFacts>, Failure> {
    args.text("provider").map(provider).transpose()
}

fn provider(name: &str) -> Result<&'static ProviderFacts, Failure> {
    catalog::provider(name).ok_or_else(|| unknown(name))
}

/// Returns the store, or says that there is none (AUTH-5).
fn needed(config: &Config, facts: &ProviderFacts) -> Result<Arc<dyn CredentialStore>, Failure> {
    store::open(config)
        .ok_or_else(|| unusable(StoreFailure("this machine has no credential store".to_owned()), facts))
}

fn unusable(failure: StoreFailure, facts: &ProviderFacts) -> Failure {
    Failure::new(&CREDENTIAL_STORE_UNAVAILABLE, failure.to_string())
        .hint(format!("set {} instead; keys are never kept in a plain file", facts.key_var))
        .hint("`credential_helper` in the config file names a program that keeps them, such as a password manager's")
}
