//! `ask_user`: questions of the model's to the user, with options to choose from.
//!
//! The tool asks nobody itself. Dispatch puts the questions to the session's peer as it puts those about calls, and hands the
//! answers in; a call without answers says that nobody gave any.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;
use serde_json::value::RawValue;
use zori_core::BoxFuture;
use zori_core::question::{Choice, ChoiceOption, Preview};
use zori_core::tool::{Effect, Tool, ToolCode, ToolCx, ToolKind, ToolOutput};

use crate::def::{Need, Param, ToolDef, Ty};
use crate::env::ToolEnv;

/// So many questions a call may ask.
const MOST_QUESTIONS: usize = 4;
/// So many options a question may have: one digit each.
const MOST_OPTIONS: usize = 9;

pub const DEF: ToolDef = ToolDef {
    kind: ToolKind::AskUser,
    about: "Ask the user what only they can decide. They may answer in words of their own.",
    params: &[Param {
        name: "questions",
        aliases: &[],
        ty: Ty::Objects(&[
            Param {
                name: "question",
                aliases: &["text", "prompt"],
                ty: Ty::Text,
                need: Need::Required,
                about: "",
            },
            Param {
                name: "header",
                aliases: &["title"],
                ty: Ty::Text,
                need: Need::Optional,
                about: "one or two words",
            },
            Param {
                name: "options",
                aliases: &["choices"],
                ty: Ty::Objects(&[
                    Param {
                        name: "label",
                        aliases: &["name", "value"],
                        ty: Ty::Text,
                        need: Need::Required,
                        about: "",
                    },
                    Param {
                        name: "description",
                        aliases: &[],
                        ty: Ty::Text,
                        need: Need::Optional,
                        about: "",
                    },
                ]),
                need: Need::Optional,
                about: "",
            },
            Param {
                name: "multiSelect",
                aliases: &["multiple", "multi_select"],
                ty: Ty::Flag,
                need: Need::Optional,
                about: "",
            },
        ]),
        need: Need::Required,
        about: "1 to 4",
    }],
};

pub struct AskUser {}

impl AskUser {
    /// Makes the tool. It needs nothing from the environment.
    pub fn new(_: Arc<ToolEnv>) -> Self {
        Self {}
    }
}

#[derive(Deserialize)]
struct Args {
    questions: Vec<Asked>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    question: String,
    header: Option<String>,
    #[serde(default)]
    options: Vec<Answer>,
    #[serde(default)]
    multi_select: bool,
}

#[derive(Deserialize)]
struct Answer {
    label: String,
    description: Option<String>,
}

impl Tool for AskUser {
    fn kind(&self) -> Option<ToolKind> {
        Some(DEF.kind)
    }

    fn effects(&self, _: &RawValue) -> Vec<Effect> {
        vec![Effect::Internal]
    }

    fn preview<'a>(&'a self, args: &'a RawValue) -> BoxFuture<'a, Preview> {
        let preview = match choices(args) {
            Ok(choices) => Preview::Choices(choices),
            Err(why) => Preview::Fails { input: args.get().to_owned(), why },
        };
        Box::pin(std::future::ready(preview))
    }

    fn run<'a>(&'a self, cx: ToolCx, args: &'a RawValue) -> BoxFuture<'a, ToolOutput> {
        Box::pin(std::future::ready(match choices(args) {
            Ok(choices) => answered(&choices, &cx.answers),
            Err(why) => ToolOutput::failure(ToolCode::InvalidInput, why),
        }))
    }
}

/// Reads the questions, or says what is wrong with them.
fn choices(args: &RawValue) -> Result<Vec<Choice>, String> {
    let args: Args = crate::args::typed(args);
    if args.questions.is_empty() || args.questions.len() > MOST_QUESTIONS {
        return Err(format!(
            "`questions` must hold 1 to {MOST_QUESTIONS} questions, not {}",
            args.questions.len()
        ));
    }
    let choice = |(n, asked): (usize, Asked)| {
        if asked.question.trim().is_empty() {
            return Err(format!("`questions[{n}].question` is empty"));
        }
        if asked.options.len() > MOST_OPTIONS {
            return Err(format!(
                "`questions[{n}].options` may hold {MOST_OPTIONS} options, not {}",
                asked.options.len()
            ));
        }
        let option = |Answer { label, description }| ChoiceOption { label, description };
        Ok(Choice {
            question: asked.question,
            header: asked.header.filter(|header| !header.trim().is_empty()),
            options: asked.options.into_iter().map(option).collect(),
            multiple: asked.multi_select,
            secret: false,
            form: None,
        })
    };
    args.questions.into_iter().enumerate().map(choice).collect()
}

/// Returns the answers for the model.
fn answered(choices: &[Choice], answers: &[String]) -> ToolOutput {
    let answers: Vec<_> = choices
        .iter()
        .zip(answers.iter().map(Some).chain(std::iter::repeat(None)))
        .map(|(choice, answer)| (choice, answer.filter(|answer| !answer.trim().is_empty())))
        .collect();
    if answers.iter().all(|(_, answer)| answer.is_none()) {
        return ToolOutput::failure(
            ToolCode::Unanswered,
            "nobody is there to answer; decide what is most sensible, and say in your reply what you decided",
        );
    }
    let answers: Vec<_> = answers
        .into_iter()
        .map(|(choice, answer)| json!({"question": choice.question, "answer": answer}))
        .collect();
    ToolOutput::success(&json!({ "answers": answers }).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{cx, runtime};

    const TWO: &str = r#"{"questions":[{"question":"Which?","options":[{"label":"a","description":"the first"},{"label":"b"}]},{"question":"Why?","multiSelect":true}]}"#;

    fn result(args: &str, answers: &[&str]) -> String {
        let args = RawValue::from_string(args.to_owned()).unwrap();
        let cx = ToolCx { answers: answers.iter().map(|answer| (*answer).to_owned()).collect(), ..cx() };
        runtime().block_on((AskUser {}).run(cx, &args)).envelope.get().to_owned()
    }

    #[test]
    fn the_model_reads_the_answers() {
        assert_eq!(
            result(TWO, &["b", "because"]),
            r#"{"ok":true,"data":{"answers":[{"question":"Which?","answer":"b"},{"question":"Why?","answer":"because"}]}}"#
        );
        assert_eq!(
            result(TWO, &["b"]),
            r#"{"ok":true,"data":{"answers":[{"question":"Which?","answer":"b"},{"question":"Why?","answer":null}]}}"#
        );
    }

    #[test]
    fn without_answers_it_says_that_nobody_is_there() {
        let unanswered = r#"{"ok":false,"error":{"code":"unanswered","message":"nobody is there to answer; decide what is most sensible, and say in your reply what you decided"}}"#;
        assert_eq!(result(TWO, &[]), unanswered);
        assert_eq!(result(TWO, &[" ", ""]), unanswered);
    }

    #[test]
    fn what_is_asked_is_shown() {
        let args = RawValue::from_string(TWO.to_owned()).unwrap();
        let option = |label: &str, description: Option<&str>| ChoiceOption {
            label: label.to_owned(),
            description: description.map(str::to_owned),
        };
        let choice = |question: &str, options: Vec<ChoiceOption>, multiple| Choice {
            question: question.to_owned(),
            header: None,
            options,
            multiple,
            secret: false,
            form: None,
        };
        assert_eq!(
            runtime().block_on((AskUser {}).preview(&args)),
            Preview::Choices(vec![
                choice("Which?", vec![option("a", Some("the first")), option("b", None)], false),
                choice("Why?", Vec::new(), true),
            ])
        );
    }

    #[test]
    fn questions_that_cannot_be_asked_are_refused() {
        for (args, why) in [
            (r#"{"questions":[]}"#, "`questions` must hold 1 to 4 questions, not 0"),
            (r#"{"questions":[{"question":" "}]}"#, "`questions[0].question` is empty"),
        ] {
            let expected =
                json!({"ok": false, "error": {"code": "invalid_input", "message": why}}).to_string();
            assert_eq!(result(args, &["x"]), expected);
        }
    }
}
