//! `handoff`: a document that lets another session, or another person, go on (`core-cli.md` chapter 13).

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
use zori_contract::gate::Preview;
use zori_contract::kind::Kind;
use zori_contract::mode::{Class, Talk};
use zori_contract::reply::{Effect, Reply};
use zori_contract::warning::Warning;
use zori_core::cost::Spent;
use zori_core::ids::IdSource;
use zori_core::provider::{Delivery, Effort};
use zori_providers::catalog::PROVIDERS;
use zori_providers::quirks::ToolStyle;
use zori_redact::Redactor;
use zori_store::Record;

use super::sessions::{directory, latest, load, named, none_yet};
use super::{Context, example, ui};
use crate::args::{LowArgs, flags};
use crate::base::Base;
use crate::clock::SystemIds;
use crate::config::Config;
use crate::handoff::model::{self, Answer, Ask};
use crate::handoff::{Bundle, Words};
use crate::model_choice::{self, Choice};
use crate::network::Network;
use crate::program::App;
use crate::secrets;
use crate::settings;
use crate::wire_up;

/// The entry.
pub const COMMAND: Command<App> = Command {
    flags: const {
        &[
            Flag::valued("goal", "TEXT", Kind::Text, "What is to be done next").required(),
            Flag::valued(
                "from-session",
                "ID",
                Kind::Id(flags::SESSION),
                "The session; the latest needs no name",
            ),
            Flag::valued("out", "FILE", Kind::Path, "Write the document to this file instead"),
            Flag::switch("no-model", "Ask no model: say only what is found in the session"),
        ]
    },
    changes_with: Some("out"),
    preview: Some(|cx, args| {
        let items = args.text("out").map(|name| cx.place.cwd.join(name).to_string()).into_iter().collect();
        Ok(Preview { verb: "write", items, reversible: false })
    }),
    idempotent: true,
    // A document that is only printed is not kept.
    rules: &[
        Rule::Needs { flag: "dry-run", value: None, other: "out" },
        Rule::Needs { flag: "idempotency-key", value: None, other: "out" },
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
    let sessions = directory(cx.app.profile)?;
    let id = match args.text("from-session") {
        Some(text) => named(cx.app.profile, &sessions, text)?,
        None => latest(&sessions, None)?
            .ok_or_else(|| none_yet(cx.app.profile, "No sessions found to hand off"))?,
    };
    let loaded = load(cx.app.profile, &sessions, &id)?;
    let goal = args.text("goal").unwrap_or_default();
    let bundle = Bundle::find(&loaded.records, cx.place.cwd.as_path());
    let written = match args.has("no-model") {
        true => Written::found("--no-model"),
        false => by_model(cx, args, &loaded.records, goal, id.as_str())?,
    };
    let words = written.words.unwrap_or_else(|| bundle.words(goal, id.as_str()));
    let text = written.redactor.redact(&bundle.markdown(goal, &words)).into_owned();
    let mut reply = match args.text("out") {
        None => Reply::document(text),
        Some(name) => {
            let path = cx.place.cwd.join(name);
            let effect = if path.as_path().exists() { Effect::Updated } else { Effect::Created };
            // The same bytes as on standard output (HO-3).
            let text = clean::string(&text, &mut Found::default());
            atomic_write(&path, text.as_bytes())
                .map_err(|error| Failure::new(&IO_ERROR, format!("cannot write {path}: {error}")))?;
            cx.say(Talk::Normal, &format!("Wrote {path}"));
            let cleanup = json!({"command": format!("rm {path}"), "auto_cleanup_after_seconds": null});
            Reply::changed(effect, json!({"path": path, "cleanup": cleanup})).text("")
        }
    };
    reply.warnings.extend(written.warning);
    reply.meta.insert("written_by".into(), written.by);
    Ok(loaded.warn(reply))
}

/// Whose words the document has.
struct Written {
    /// A model's; without any, those that were found.
    words: Option<Words>,
    /// The same for programs.
    by: Value,
    warning: Option<Warning>,
    /// What takes the secrets out that are known by now.
    redactor: Redactor,
}

impl Written {
    /// No model was asked, for this reason.
    fn found(why: &str) -> Self {
        let by = json!({"model": null, "reason": why});
        Self { words: None, by, warning: None, redactor: secrets::redactor() }
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
) -> Result<Written, Failure> {
    let args = LowArgs::new(args);
    let config = match Base::find(cx.app.profile) {
        Ok(base) => Config::load(&base.config(), PROVIDERS[0].key_var)?,
        Err(_) => Config::default(),
    };
    let choice = model_choice::choose(&args, &config, &mut ui(cx))?;
    let redactor = Redactor::new(choice.secrets.clone());
    if let Err(why) = &choice.key {
        cx.say(Talk::Normal, &format!("No model was asked: {why}"));
        return Ok(Written { redactor, ..Written::found(why) });
    }
    let name = format!("{}:{}", choice.facts.name, choice.model);
    let question = model::question(records, goal, &redactor, room(&choice));
    let answer = match ask(cx, &args, &config, &choice, question) {
        Ok(answer) => answer,
        Err(why) => {
            cx.cancel.check()?;
            return Ok(without(&name, &redactor.redact(&why), redactor.clone()));
        }
    };
    let Some(words) = model::read(&answer.text, goal, session) else {
        return Ok(without(&name, "its answer is not what it was asked for", redactor));
    };
    let Spent { usage, cost } = Spent::request(answer.usage, choice.prices(&choice.model));
    let price = cost.map_or_else(|| "at an unknown price".to_owned(), |cost| cost.to_string());
    cx.say(
        Talk::Normal,
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
    Ok(Written { words: Some(words), by, warning: None, redactor })
}

/// The model was no help.
fn without(name: &str, why: &str, redactor: Redactor) -> Written {
    let message = format!("the handoff is without the words of {name}: {why}");
    let warning = Some(Warning::new("MODEL_FAILED", message));
    Written { warning, redactor, ..Written::found(why) }
}

/// Returns how much of the session the model can take, in bytes: half its window at three bytes a token, if that is less.
fn room(choice: &Choice) -> usize {
    let window = choice.facts.model(&choice.model).map(|model| model.context_window as usize);
    window.map_or(model::MAX_TRANSCRIPT, |tokens| (tokens / 2 * 3).min(model::MAX_TRANSCRIPT))
}

/// Asks, until there is an answer, its time is over or the run is told to end. An error says why there is none.
fn ask(
    cx: &Context<'_>,
    args: &LowArgs,
    config: &Config,
    choice: &Choice,
    question: String,
) -> Result<Answer, String> {
    let network = Network::live_to(&choice.base_url).map_err(|failure| failure.message)?;
    // No tools are offered, so that it does not matter how they would be.
    let limits = settings::patience::http_limits(args, config);
    let provider = wire_up::provider_of(choice, &network, limits, ToolStyle::Native);
    let ask = Ask {
        provider: &*provider,
        model: &choice.model,
        max_tokens: choice.reply_limit(&choice.model, config.count("max_tokens").map(|n| n as u32)),
        effort: args.thinking.or_else(|| Effort::by_name(config.text("thinking")?)),
        delivery: match config.flag("stream") {
            Some(false) => Delivery::Whole,
            _ => Delivery::Streamed,
        },
        retry: settings::patience::retry(args, config),
        random: || SystemIds.random(),
    };
    let (told, word) = tokio::sync::oneshot::channel();
    cx.cancel.on_cancel(move |_| {
        // Whoever has the answer already does not wait for the word.
        let _ = told.send(());
        Ends::ByItself
    });
    let runtime = wire_up::runtime().map_err(|failure| failure.message)?;
    let ended = runtime.block_on(async {
        tokio::select! {
            biased;
            _ = word => Err("interrupted".to_owned()),
            answer = ask.within(model::LIMIT, question) => answer.map_err(|failure| failure.message),
        }
    });
    // A name that is still being looked up must not keep the program from ending.
    runtime.shutdown_background();
    ended
}
