//! `handoff`: a document that lets another session, or another person, go on (`docs/contracts/handoff.md`).

use std::sync::Arc;

use serde_json::{Value, json};
use zori_contract::args::Args;
use zori_contract::atomic::atomic_write;
use zori_contract::cancel::Ends;
use zori_contract::clean::{self, Found};
use zori_contract::command::{Command, Rule};
use zori_contract::error::IO_ERROR;
use zori_contract::exit::Exit;
use zori_contract::failure::Failure;
use zori_contract::flag::Flag;
use zori_contract::flag::framework;
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::mode::{Class, Verbosity};
use zori_contract::reply::{Effect, Reply};
use zori_contract::warning::Warning;
use zori_core::cost::Spent;
use zori_core::provider::{Delivery, Effort};
use zori_host::{Network, SystemClock, random_number};
use zori_providers::quirks::ToolStyle;
use zori_redact::Redactor;
use zori_store::Record;

use super::sessions::load;
use super::{Context, example, ui};
use zori_setup::app::App;
use zori_setup::args::flags::GOAL;
use zori_setup::args::{LowArgs, flags};
use zori_setup::config::Config;
use zori_setup::find_session::{directory, latest, named, no_sessions_yet};
use zori_setup::handoff::model::{self, Answer, HandoffRequest};
use zori_setup::handoff::{Bundle, HandoffText};
use zori_setup::model_choice::{self, ModelChoice};
use zori_setup::settings::{self, limits};
use zori_setup::wire_up;

const FROM_SESSION: Flag = Flag::valued(
    "from-session",
    "ID",
    Kind::Id(flags::SESSION_NAME),
    "The session; the latest needs no name",
);
const OUT: Flag = Flag::valued("out", "FILE", Kind::Path, "Write the document to this file instead");
const NO_MODEL: Flag = Flag::switch("no-model", "Ask no model: say only what is found in the session");

pub const COMMAND: Command<App> = Command {
    flags: const { &[GOAL, FROM_SESSION, OUT, NO_MODEL] },
    changes_with: Some(&OUT),
    preview: Some(|cx, args| {
        let items = args.text(&OUT).map(|name| cx.cwd.join(name).to_string()).into_iter().collect();
        Ok(Preview { verb: "write", items, reversible: false })
    }),
    idempotent: true,
    // A document that is only printed is not kept.
    rules: &[
        Rule::Needs { flag: &framework::DRY_RUN, value: None, other: &OUT },
        Rule::Needs { flag: &framework::IDEMPOTENCY_KEY, value: None, other: &OUT },
    ],
    class: Class::Document,
    exits: &[Exit::NotFound],
    // The model has its own limit, and what is found in the session takes no time.
    timeout_ms: Some(model::LIMIT.as_millis() as u64 + 30_000),
    examples: &[
        example("go on somewhere else", "zori handoff --goal \"Finish the parser\""),
        example(
            "from a session, into a file",
            "zori handoff --goal \"Review it\" --from-session parser --out HANDOFF.md",
        ),
        example("without asking a model", "zori handoff --goal \"Finish the parser\" --no-model"),
    ],
    output_schema: r#"{"type":"object","properties":{"content":{"type":"string"},"path":{"type":"string"},
        "effect":{"enum":["created","updated","noop"]},"cleanup":{"type":"object"}}}"#,
    declares: r#"{"has_network_io":true,"filesystem_side_effects":[{"path":"--out","type":"config"}]}"#,
    ..Command::new(&["handoff"], "Print what another session needs to go on", run)
};

fn run(cx: &mut Context<'_>, args: &Args) -> Result<Reply, Failure> {
    let sessions = directory(cx.app)?;
    let id = match args.text(&FROM_SESSION) {
        Some(text) => named(cx.app.profile, &sessions, text)?,
        None => latest(&sessions, None)?
            .ok_or_else(|| no_sessions_yet(cx.app.profile, "No sessions found to hand off"))?,
    };
    let loaded = load(cx.app.profile, &sessions, &id)?;
    let goal = args.text(&GOAL).unwrap_or_default();
    let bundle = Bundle::from_records(&loaded.records, cx.cwd.as_path());
    let draft = match args.has(&NO_MODEL) {
        true => Draft::without_model("--no-model", cx.app.redactor()),
        false => by_model(cx, args, &loaded.records, goal, id.as_str())?,
    };
    let words = draft.text.unwrap_or_else(|| bundle.text_without_model(goal, id.as_str()));
    let text = draft.redactor.redact(&bundle.markdown(goal, &words)).into_owned();
    let mut reply = match args.text(&OUT) {
        None => Reply::document(text).external(),
        Some(name) => {
            let path = cx.cwd.join(name);
            let effect = if path.as_path().exists() { Effect::Updated } else { Effect::Created };
            // The same bytes as on standard output (HO-3).
            let text = clean::string(&text, &mut Found::default());
            atomic_write(&path, text.as_bytes())
                .map_err(|error| Failure::new(&IO_ERROR, format!("cannot write {path}: {error}")))?;
            cx.say(Verbosity::Normal, &format!("Wrote {path}"));
            let cleanup = json!({"command": format!("rm {path}"), "auto_cleanup_after_seconds": null});
            Reply::changed(effect, json!({"path": path, "cleanup": cleanup})).text("")
        }
    };
    reply.warnings.extend(draft.warning);
    reply.meta.insert("written_by".into(), draft.by);
    Ok(loaded.warn(reply))
}

/// The prose of the document, and who wrote it.
struct Draft {
    /// The model's text; `None` if it comes from the records.
    text: Option<HandoffText>,
    /// Who wrote it, for the envelope.
    by: Value,
    warning: Option<Warning>,
    /// Knows every secret that has turned up so far.
    redactor: Redactor,
}

impl Draft {
    /// Makes a draft for which no model was asked, for this reason.
    fn without_model(why: &str, redactor: Redactor) -> Self {
        let by = json!({"model": null, "reason": why});
        Self { text: None, by, warning: None, redactor }
    }
}

/// Has the model that would answer a prompt write the words, where its key is known (HO-8). Whatever goes wrong with it costs
/// a warning; only a signal or the end of the time ends the command.
fn by_model(
    cx: &Context<'_>,
    args: &Args,
    records: &[Record],
    goal: &str,
    session: &str,
) -> Result<Draft, Failure> {
    let args = LowArgs::new(args);
    let config = match cx.app.data_dir() {
        Ok(data_dir) => data_dir.read_config()?,
        Err(_) => Config::default(),
    };
    let choice = model_choice::choose(&args, &config, &cx.app.env, cx.app.profile, &mut ui(cx))?;
    let redactor = Redactor::new(choice.model.secrets.clone());
    if let Err(why) = &choice.key {
        cx.say(Verbosity::Normal, &format!("No model was asked: {why}"));
        return Ok(Draft::without_model(why, redactor));
    }
    let name = format!("{}:{}", choice.model.facts.name, choice.model.name);
    let ledger = match cx.app.data_dir() {
        Ok(data_dir) => {
            let daily = limits::of_a_day(&config, Some(&data_dir), cx.cwd.as_path(), &cx.app.env)?;
            limits::check_daily(daily.as_ref(), &config, choice.model.prices(&choice.model.name), &name)?;
            daily.map(|daily| daily.ledger(choice.model.facts.name, None, Arc::new(SystemClock::new())))
        }
        Err(_) => None,
    };
    if let Some(why) = ledger.as_ref().and_then(|ledger| ledger.refuses()) {
        return Ok(after_model_failure(&name, &why, redactor));
    }
    let question = model::question(records, goal, &redactor, transcript_limit(&choice));
    let answer = match ask(cx, &args, &config, &choice, question) {
        Ok(answer) => answer,
        Err(why) => {
            cx.cancel.check()?;
            return Ok(after_model_failure(&name, &redactor.redact(&why), redactor.clone()));
        }
    };
    let spent = Spent::request(answer.usage, choice.model.prices(&choice.model.name));
    if let Some(ledger) = &ledger {
        ledger.add(&choice.model.name, spent);
    }
    let Some(text) = model::parse_answer(&answer.text, goal, session) else {
        return Ok(after_model_failure(&name, "its answer is not what it was asked for", redactor));
    };
    let Spent { usage, cost } = spent;
    let price = cost.map_or_else(|| "at an unknown price".to_owned(), |cost| cost.to_string());
    cx.say(
        Verbosity::Normal,
        &format!(
            "Written by {name}: {} tokens in, {} out, {price}. Read it before you use it.",
            usage.input + usage.cache_read + usage.cache_write,
            usage.output
        ),
    );
    let by = json!({
        "model": name,
        "usage": {"input_tokens": usage.input, "output_tokens": usage.output,
                  "cache_read_tokens": usage.cache_read, "cache_write_tokens": usage.cache_write},
        "cost_usd": cost.map(|cost| cost.0 as f64 / 1_000_000.0),
        "retries": answer.retries,
    });
    Ok(Draft { text: Some(text), by, warning: None, redactor })
}

/// Makes a draft after the model failed, with a warning.
fn after_model_failure(name: &str, why: &str, redactor: Redactor) -> Draft {
    let message = format!("the handoff is without the words of {name}: {why}");
    let warning = Some(Warning::new("MODEL_FAILED", message));
    Draft { warning, ..Draft::without_model(why, redactor) }
}

/// Returns how much of the session the model can take, in bytes: half its window at three bytes a token, if that is less.
fn transcript_limit(choice: &ModelChoice) -> usize {
    let window = choice.model.facts.model(&choice.model.name).map(|model| model.context_window as usize);
    window.map_or(model::MAX_TRANSCRIPT, |tokens| (tokens / 2 * 3).min(model::MAX_TRANSCRIPT))
}

/// Asks, until there is an answer, its time is over or the run is told to end. An error says why there is none.
fn ask(
    cx: &Context<'_>,
    args: &LowArgs,
    config: &Config,
    choice: &ModelChoice,
    question: String,
) -> Result<Answer, String> {
    let network =
        Network::live(cx.app.network.http_to(&choice.model.base_url).map_err(|failure| failure.message)?);
    // No tools are offered, so that it does not matter how they would be.
    let limits = settings::timeouts::http_limits(args, config);
    let provider = wire_up::provider_of(&choice.model, &choice.key, &network, limits, ToolStyle::Native);
    let request = HandoffRequest {
        provider: &*provider,
        model: &choice.model.name,
        system: model::SYSTEM,
        max_tokens: choice
            .model
            .reply_limit(&choice.model.name, config.count("max_tokens").map(|n| n as u32)),
        effort: args.model.thinking.or_else(|| Effort::by_name(config.text("thinking")?)),
        delivery: match config.flag("stream") {
            Some(false) => Delivery::Whole,
            _ => Delivery::Streamed,
        },
        retry: settings::timeouts::retry(args, config, &cx.app.env),
        random: random_number,
    };
    let (stop_sender, stop) = tokio::sync::oneshot::channel();
    cx.cancel.on_cancel(move |_| {
        // Whoever has the answer already does not wait for the word.
        let _ = stop_sender.send(());
        Ends::ByItself
    });
    let runtime = wire_up::runtime().map_err(|failure| failure.message)?;
    let ended = runtime.block_on(async {
        tokio::select! {
            biased;
            _ = stop => Err("interrupted".to_owned()),
            answer = request.send_within(model::LIMIT, question) => answer.map_err(|failure| failure.message),
        }
    });
    // A name that is still being looked up must not keep the program from ending.
    runtime.shutdown_background();
    ended
}
