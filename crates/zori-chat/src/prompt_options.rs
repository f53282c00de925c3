//! What the caller of one prompt wants beside settings: some tools only, more of a system prompt, an answer that fits a schema.
//! The Claude protocol has the same flags and does it in `stream_json/start.rs`, where a client may say more.

use std::io::Write;

use serde_json::Value;
use zori_contract::args::Args;
use zori_contract::error::VALIDATION_ERROR;
use zori_contract::exit::Exit;
use zori_contract::failure::{Failure, Issue, IssueCode};
use zori_core::outcome::Outcome;
use zori_frontends::claude::sdk::TurnCheck;
use zori_host::{SessionSettings, TurnEnd};
use zori_serve::claude::structured::Structured;
use zori_tools::dialect::{self, ZORI};
use zori_tools::toolset::Offered;

use zori_setup::agent_cx::AgentCx;
use zori_setup::args::{LowArgs, claude};
use zori_setup::error::ANSWER_UNFIT;
use zori_setup::outcome::Report;
use zori_setup::terminal;
use zori_setup::ui::Ui;

/// The flags of one prompt that are no settings.
#[derive(Clone, Default)]
pub struct PromptOptions {
    /// The tools.
    pub offered: Offered,
    /// What the answer has to look like.
    pub structured: Option<Structured>,
}

/// What to do after a turn whose answer has to fit.
pub enum Checked {
    /// Nothing: it fits, or nothing was asked for.
    Fine,
    /// The model is told this.
    Again(String),
    /// No answer fits.
    Failed(Exit),
}

impl PromptOptions {
    /// Reads the flags, and says in the system prompt what they ask for.
    pub fn of(args: &LowArgs, settings: &mut SessionSettings, ui: &mut Ui) -> Result<Self, Failure> {
        let schema = args.protocol.json_schema.as_deref().map(serde_json::from_str::<Value>).transpose();
        let invalid = |error| Failure::new(&VALIDATION_ERROR, format!("`--json-schema` is no JSON: {error}"));
        let structured = schema.map_err(invalid)?.map(Structured::new);
        let unchecked = structured.as_ref().map(Structured::unchecked).unwrap_or_default();
        if !unchecked.is_empty() {
            ui.warn(&format!("of the JSON schema this is not checked: {}", unchecked.join(", ")));
        }
        let more = args.prompt.append_system.clone();
        let instruction = structured.as_ref().map(Structured::instruction);
        for more in more.into_iter().chain(instruction) {
            settings.request.system_parts.append(&more);
        }
        // A replay sends what was recorded.
        if args.recording.replay.is_none() && (args.prompt.append_system.is_some() || structured.is_some()) {
            settings.request.system = settings.request.system_parts.text();
        }
        let offered = match args.permission.tools.as_deref() {
            None | Some("default") => Offered::All,
            Some(list) => Offered::Named(names(list).map(str::to_owned).collect()),
        };
        Ok(Self { offered, structured })
    }

    /// A prompt begins.
    pub fn begin(&self) {
        if let Some(structured) = &self.structured {
            structured.begin();
        }
    }

    /// Looks at the answer of a turn, and prints it where it is all that is wanted on standard output.
    pub fn check(
        &self,
        cx: &mut AgentCx<'_>,
        end: &TurnEnd,
        report: &mut Report,
    ) -> Result<Checked, Failure> {
        let Some(structured) = &self.structured else { return Ok(Checked::Fine) };
        if !matches!(end.summary.outcome, Outcome::Completed(_)) {
            return Ok(Checked::Fine);
        }
        match structured.judge()(&end.summary) {
            TurnCheck::Value(value) => {
                if cx.front.events().is_none() && !cx.terminal.collected {
                    // A reader that is gone has what it wanted.
                    let _ = writeln!(terminal::stdout()?, "{}", value.get());
                }
                report.set_structured(&value);
                Ok(Checked::Fine)
            }
            TurnCheck::Done => Ok(Checked::Fine),
            TurnCheck::Retry => Ok(structured.again().map_or(Checked::Fine, Checked::Again)),
            TurnCheck::Failed(result) => {
                let why = result.errors.into_iter().next().unwrap_or_default();
                cx.ui.say(&format!("Error: {why}"));
                let exit = if report.changed_something() { Exit::Partial } else { ANSWER_UNFIT.exit };
                report.set_unfit(why);
                Ok(Checked::Failed(exit))
            }
        }
    }
}

/// Says which of the tools that `--tools` names do not exist.
pub fn unknown_tools(args: &Args) -> Vec<Issue> {
    let list = args.text(&claude::TOOLS).filter(|list| *list != "default").unwrap_or_default();
    let known = |name: &str| dialect::ALL.iter().any(|dialect| dialect.find(name).is_some());
    let all = || ZORI.tools.iter().map(|entry| entry.name).collect::<Vec<_>>().join(", ");
    names(list)
        .filter(|name| !known(name))
        .map(|name| {
            Issue::new("--tools", IssueCode::InvalidValue, format!("`--tools`: there is no tool `{name}`"))
                .value(name)
                .suggest(format!("there are {}", all()))
        })
        .collect()
}

fn names(list: &str) -> impl Iterator<Item = &str> {
    list.split([',', ' ']).map(str::trim).filter(|name| !name.is_empty())
}
