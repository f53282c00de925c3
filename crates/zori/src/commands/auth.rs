//! `auth login`, `auth logout` and `auth status` (AUTH-1, AUTH-2). No secret is ever printed.

use std::sync::Arc;
use std::time::Instant;

use tokio::sync::mpsc;
use zori_core::input::Input;
use zori_core::outcome::CancelCause;
use zori_core::time::Clock;
use zori_providers::catalog::{self, PROVIDERS, ProviderFacts};
use zori_providers::quirks::KeyNeed;

use super::Cx;
use crate::args::LowArgs;
use crate::auth::browser::{self, Flow};
use crate::auth::grant::{Grant, Kind};
use crate::auth::store::{self, CredentialStore, StoreFailure};
use crate::auth::{LOOKUP, account, accounts, token_input};
use crate::base::Base;
use crate::clock::SystemClock;
use crate::command_error::{CommandError, ErrorCode};
use crate::config::Config;
use crate::exit::Exit;
use crate::model_choice::{base_url, is_loopback, unknown, variable};
use crate::network;
use crate::settings::check_output;
use crate::signals::Signals;

/// Gets a key or a login, and stores it.
pub fn login(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    let config = config(cx, args)?;
    let configured = config.text("provider").unwrap_or(PROVIDERS[0].name);
    let facts = provider(args.provider.as_deref().unwrap_or(configured))?;
    let address = base_url(facts, &config)?;
    if facts.api.key_need() == KeyNeed::Optional && is_loopback(&address) {
        let message = format!("{} on this machine needs no key", facts.display);
        return Err(CommandError::new(ErrorCode::SettingInvalid, message)
            .hint(format!("if yours does, set {}", facts.key_var)));
    }
    let signals = Signals::install(cx.timeout.as_ref())?;
    let (store, grant) = if args.with_token {
        let store = needed(&config, facts)?;
        (store, Grant::api_key(token_input::read(facts.display, cx.terminal.stdin, &signals, cx.ui)?))
    } else {
        // The way comes first: without one it does not matter where the way would have led.
        let flow = Flow::of(facts, &config, &address, cx.profile.name)?;
        (needed(&config, facts)?, in_browser(cx, facts, &flow, &signals)?)
    };
    store.set(account(facts), &grant).map_err(|failure| unusable(failure, facts))?;
    if variable(facts).is_some() {
        cx.ui.warn(&format!("{} is set, and is used instead of what is stored", facts.key_var));
    }
    let what = if grant.kind == Kind::OAuth { "login" } else { "key" };
    Ok(cx.ui.document(&format!("Stored the {what} of {}\n", facts.display)))
}

/// Forgets what is stored of one provider, or of all.
pub fn logout(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    let config = config(cx, args)?;
    let wanted = wanted(args)?;
    let store = needed(&config, wanted.unwrap_or(&PROVIDERS[0]))?;
    let mut lines = String::new();
    for facts in accounts().filter(|facts| wanted.is_none_or(|wanted| account(wanted) == facts.name)) {
        let failed = |failure| unusable(failure, facts);
        if store.get(facts.name, store::WRITE).map_or(true, |found| found.is_some()) {
            store.erase(facts.name).map_err(failed)?;
            lines.push_str(&format!("Forgot what was stored of {}\n", facts.display));
        } else if wanted.is_some() {
            lines.push_str(&format!("Nothing is stored of {}\n", facts.display));
        }
        if wanted.is_some() && variable(facts).is_some() {
            cx.ui.warn(&format!("{} is set, and is used as before", facts.key_var));
        }
    }
    if lines.is_empty() {
        lines.push_str("Nothing is stored\n");
    }
    Ok(cx.ui.document(&lines))
}

/// Prints a line a provider: where its key comes from, and what is known of it.
pub fn status(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Exit, CommandError> {
    let config = config(cx, args)?;
    let wanted = wanted(args)?;
    let mut store = store::open(&config);
    let until = Instant::now() + LOOKUP;
    let mut lines = String::new();
    for facts in PROVIDERS.iter().filter(|facts| wanted.is_none_or(|wanted| wanted.name == facts.name)) {
        let mut found = None;
        if variable(facts).is_none()
            && let Some(opened) = &store
        {
            let left = until.saturating_duration_since(Instant::now());
            match opened.get(account(facts), left) {
                Ok(grant) => found = grant,
                Err(failure) => {
                    cx.ui.warn(&failure.to_string());
                    store = None;
                }
            }
        }
        let shown = wanted.is_some() || facts.api.key_need() == KeyNeed::Required;
        if shown || variable(facts).is_some() || found.is_some() {
            lines.push_str(&line(facts, found.as_ref()));
        }
    }
    Ok(cx.ui.document(&lines))
}

fn line(facts: &ProviderFacts, found: Option<&Grant>) -> String {
    let (source, more) = match found {
        _ if variable(facts).is_some() => ("env", facts.key_var.to_owned()),
        Some(grant) => ("store", about(grant)),
        None if facts.api.key_need() == KeyNeed::Optional => ("none", "needs no key".to_owned()),
        None => match facts.name {
            "copilot" => ("none", "`gh auth token` is asked when it is needed".to_owned()),
            "gemini" => ("none", "`gcloud` is asked when it is needed".to_owned()),
            _ => ("none", String::new()),
        },
    };
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
    cx: &mut Cx<'_>,
    facts: &ProviderFacts,
    flow: &Flow,
    signals: &Signals,
) -> Result<Grant, CommandError> {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_io().enable_time().build().map_err(|error| {
            CommandError::new(ErrorCode::Io, format!("cannot start the runtime: {error}"))
        })?;
    let transport = network::http()?;
    let (sender, mut inputs) = mpsc::channel(4);
    let listening = signals.listen(sender);
    let clock = SystemClock::new();
    let person = cx.terminal.interactive();
    let ui = &mut *cx.ui;
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

fn given_up(cause: CancelCause) -> CommandError {
    match cause {
        CancelCause::User => CommandError::new(ErrorCode::Interrupted, "interrupted"),
        CancelCause::Terminate | CancelCause::Hangup => {
            CommandError::new(ErrorCode::Terminated, "terminated; nothing was stored")
        }
        CancelCause::Deadline => {
            CommandError::new(ErrorCode::Timeout, "nobody logged in before the time was over (`--timeout`)")
                .hint("nothing was stored")
        }
    }
}

fn config(cx: &mut Cx<'_>, args: &LowArgs) -> Result<Config, CommandError> {
    let config = match Base::find(cx.profile) {
        Ok(base) => Config::load(&base.config(), PROVIDERS[0].key_var)?,
        // Nothing is kept there; without one there is nothing to read, either.
        Err(error) if error.code == ErrorCode::BaseUnusable => Config::default(),
        Err(error) => return Err(error),
    };
    check_output(cx, args, &config)?;
    config.warnings.iter().for_each(|warning| cx.ui.warn(warning));
    Ok(config)
}

fn wanted(args: &LowArgs) -> Result<Option<&'static ProviderFacts>, CommandError> {
    args.provider.as_deref().map(provider).transpose()
}

fn provider(name: &str) -> Result<&'static ProviderFacts, CommandError> {
    catalog::provider(name).ok_or_else(|| unknown(name))
}

/// Returns the store, or says that there is none (AUTH-5).
fn needed(config: &Config, facts: &ProviderFacts) -> Result<Arc<dyn CredentialStore>, CommandError> {
    store::open(config)
        .ok_or_else(|| unusable(StoreFailure("this machine has no credential store".to_owned()), facts))
}

fn unusable(failure: StoreFailure, facts: &ProviderFacts) -> CommandError {
    CommandError::new(ErrorCode::StoreUnavailable, failure.to_string())
        .hint(format!("set {} instead; keys are never kept in a plain file", facts.key_var))
        .hint("`credential_helper` in the config file names a program that keeps them, such as a password manager's")
}
