//! Answers that have to fit a schema (`--json-schema`): a tool that takes the answer, and a judge that asks again.
//!
//! The model is offered `StructuredOutput`, whose input is what the schema describes. A turn that ends without a value that
//! fits is told what is missing, so often; a model that writes the JSON as its text is believed, too.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use zori_core::BoxFuture;
use zori_core::event::TurnSummary;
use zori_core::tool::{Effect, Tool, ToolCode, ToolCx, ToolKind, ToolOutput, ToolSpec};
use zori_frontends::claude::TurnResult;
use zori_frontends::claude::sdk::{TurnCheck, TurnChecker};
use zori_frontends::jsonl::TurnValue;
use zori_tools::toolset::ExternalTool;

use super::schema;

/// The tool's name, as clients of the protocol know it.
pub const NAME: &str = "StructuredOutput";

/// So often the model is asked again.
const TRIES: u32 = 4;

/// What the client wants, and what came of it.
#[derive(Clone)]
pub struct Structured {
    schema: Arc<Value>,
    /// The schema describes no object, so the tool takes one with the value in it.
    wrapped: bool,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    value: Option<Value>,
    tries: u32,
    /// What the model is told next.
    again: Option<String>,
}

impl Structured {
    /// Takes a schema.
    pub fn new(schema: Value) -> Self {
        let wrapped = schema["type"] != "object" && schema.get("properties").is_none();
        Self { schema: Arc::new(schema), wrapped, state: Arc::default() }
    }

    /// Returns the keywords of the schema that are not checked.
    pub fn unchecked(&self) -> Vec<String> {
        schema::unknown(&self.schema)
    }

    /// Returns what the model is told behind the system prompt.
    pub fn instruction(&self) -> String {
        format!("When you have the answer, call the tool `{NAME}` with it exactly once, then end your turn.")
    }

    /// Returns the tool that takes the answer.
    pub fn tool(&self) -> ExternalTool {
        let schema = match self.wrapped {
            true => json!({"type": "object", "properties": {"value": *self.schema}, "required": ["value"]}),
            false => (*self.schema).clone(),
        };
        let spec = ToolSpec {
            name: NAME.to_owned(),
            description: "Return the final answer in the form that was asked for.".to_owned(),
            schema: to_raw_value(&schema).expect("a value is JSON"),
        };
        ExternalTool { spec, tool: Arc::new(Taker(self.clone())) }
    }

    /// A prompt of the client's begins.
    pub fn begin(&self) {
        *self.lock() = State::default();
    }

    /// Returns what the model is told in place of the turn's end.
    pub fn again(&self) -> Option<String> {
        self.lock().again.take()
    }

    /// Returns what judges the end of a turn.
    pub fn judge(&self) -> TurnChecker {
        let this = self.clone();
        Arc::new(move |summary| this.judged(summary))
    }

    /// Returns what finds the value of a turn that is over, without judging it.
    pub fn value(&self) -> TurnValue {
        let this = self.clone();
        Arc::new(move |summary| {
            let value = this.lock().value.clone().or_else(|| this.written(summary))?;
            Some(to_raw_value(&value).expect("a value is JSON"))
        })
    }

    /// Finds a value that fits in the text. Some models write what they should have called.
    fn written(&self, summary: &TurnSummary) -> Option<Value> {
        in_text(&summary.text).filter(|value| schema::misfits(&self.schema, value).is_empty())
    }

    fn judged(&self, summary: &TurnSummary) -> TurnCheck {
        let mut state = self.lock();
        if state.value.is_none() {
            state.value = self.written(summary);
        }
        if let Some(value) = &state.value {
            return TurnCheck::Value(to_raw_value(value).expect("a value is JSON"));
        }
        if state.tries == TRIES {
            let why = format!("The model gave no answer that fits the schema, asked {} times", TRIES + 1);
            return TurnCheck::Failed(TurnResult::unstructured(why));
        }
        state.tries += 1;
        state.again = Some(format!("You have not called `{NAME}` with an answer that fits. Call it now."));
        TurnCheck::Retry
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Finds JSON in a text: the whole of it, or what stands in a fence.
fn in_text(text: &str) -> Option<Value> {
    let text = text.trim();
    let fenced = text.strip_prefix("```json").or_else(|| text.strip_prefix("```"));
    let text = fenced.and_then(|rest| rest.strip_suffix("```")).unwrap_or(text);
    serde_json::from_str(text.trim()).ok()
}

/// Takes the answer.
struct Taker(Structured);

impl Tool for Taker {
    fn kind(&self) -> Option<ToolKind> {
        None
    }

    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        vec![Effect::Internal]
    }

    fn run<'a>(&'a self, _: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        Box::pin(async move {
            let mut value: Value = serde_json::from_str(args.get()).unwrap_or_default();
            if self.0.wrapped {
                value = value["value"].take();
            }
            let misfits = schema::misfits(&self.0.schema, &value);
            if misfits.is_empty() {
                self.0.lock().value = Some(value);
                let mut output = ToolOutput::success(r#"{"taken":true}"#);
                output.text = Some("The answer fits and was taken.".into());
                return output;
            }
            let why = format!("The answer does not fit: {}. Call {NAME} again.", misfits.join("; "));
            let mut output = ToolOutput::failure(ToolCode::InvalidInput, why.clone());
            output.text = Some(why.into());
            output
        })
    }
}
