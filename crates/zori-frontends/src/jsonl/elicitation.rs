//! A question about a call as an event, and the answers to it (D-13, D-18).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use zori_core::input::Approval;
use zori_core::permission::Decision;
use zori_core::question::{CANCEL, Choice, DECLINE, FormPart, Preview, Question, SEND, wider_grants};
use zori_redact::Redactor;

use crate::question::{self, QuestionText, format_question};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Elicitation {
    /// The question, with exactly what would run.
    pub prompt: String,
    /// What an answer may hold.
    pub fields: Vec<Field>,
}

/// One field of an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Field {
    name: String,
    r#type: &'static str,
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    /// What a field of a form takes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    r#enum: Vec<String>,
    /// What a field of a form is if it is left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<Value>,
    sensitive: bool,
    /// What may be answered beside words of one's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    options: Vec<String>,
    /// Whether several of them may be.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    multiple: bool,
}

impl Elicitation {
    /// Returns the question about a call, without secrets.
    pub fn about(question: &Question, decision: &Decision, redactor: &Redactor) -> Self {
        if let Preview::Choices(choices) = &question.preview {
            let form = question.tool.starts_with("mcp__");
            return Self::of_choices(
                if form { "A form of an MCP server" } else { "The model asks" },
                choices,
                redactor,
            );
        }
        let QuestionText { head, shown, hidden } = format_question(question, decision, redactor);
        let lines: Vec<String> = std::iter::once(head).chain(shown).chain(hidden).collect();
        let field = |name: &str, r#type, required, description: Option<String>| Field {
            name: name.to_owned(),
            r#type,
            required,
            description,
            r#enum: Vec::new(),
            default: None,
            sensitive: false,
            options: Vec::new(),
            multiple: false,
        };
        let always = question.grants.first().map(|grant| {
            let rules = grant.shown();
            let rules = redactor.redact_words(&rules);
            field("always", "boolean", false, Some(format!("Also allow in this session: {rules}")))
        });
        let wider = wider_grants(&question.grants)
            .map(|about| field("grant", "integer", false, Some(redactor.redact_words(&about).into_owned())));
        let reason =
            field("reason", "string", false, Some("What the model is told when it is declined".to_owned()));
        let fields = std::iter::once(field("approve", "boolean", true, Some("Run it".to_owned())));
        Self { prompt: lines.join("\n"), fields: fields.chain(always).chain(wider).chain([reason]).collect() }
    }
}

impl Elicitation {
    /// Returns questions with options, a field for each.
    fn of_choices(head: &str, choices: &[Choice], redactor: &Redactor) -> Self {
        let clean = |text: &str| redactor.redact(text).into_owned();
        let labels = |choice: &Choice| choice.options.iter().map(|option| clean(&option.label)).collect();
        let field = |(number, choice): (usize, &Choice)| {
            let description = Some(clean(&choice.question));
            let (sensitive, multiple) = (choice.secret, choice.multiple);
            match choice.field() {
                Some(field) => Field {
                    name: field.name.clone(),
                    r#type: field.kind,
                    required: field.required,
                    description,
                    r#enum: if field.kind == "enum" { labels(choice) } else { Vec::new() },
                    default: field.default.clone(),
                    sensitive,
                    options: Vec::new(),
                    multiple,
                },
                None => Field {
                    name: answer_name(number, choices.len()),
                    r#type: "string",
                    required: true,
                    description,
                    r#enum: Vec::new(),
                    default: None,
                    sensitive,
                    options: labels(choice),
                    multiple,
                },
            }
        };
        // How a form ends is said by the answer itself; where there is nothing else, it is the question.
        let asked = |choice: &&Choice| choice.form != Some(FormPart::End) || choices.len() == 1;
        let lines = choices.iter().filter(asked).flat_map(|choice| match &choice.form {
            Some(FormPart::End) => {
                question::asked(&Choice { options: Vec::new(), ..choice.clone() }, redactor)
            }
            _ => question::asked(choice, redactor),
        });
        let prompt = std::iter::once(head.to_owned()).chain(lines).collect::<Vec<_>>().join("\n");
        let fields = (1..).zip(choices).filter(|(_, choice)| choice.form != Some(FormPart::End));
        Self { prompt, fields: fields.map(field).collect() }
    }

    /// Returns the question whether there is to be another turn.
    pub fn about_continuing(question: &str) -> Self {
        let field = Field {
            name: "continue".to_owned(),
            r#type: "boolean",
            required: true,
            description: None,
            r#enum: Vec::new(),
            default: None,
            sensitive: false,
            options: Vec::new(),
            multiple: false,
        };
        Self { prompt: question.to_owned(), fields: vec![field] }
    }
}

/// Returns the field that holds the answer to a question, by its number from 1.
fn answer_name(number: usize, of: usize) -> String {
    if of == 1 { "answer".to_owned() } else { format!("answer_{number}") }
}

/// What a client says to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    pub action: Action,
    /// The fields it filled in.
    pub content: Content,
}

/// What a client does with a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// It fills the fields in.
    Accept,
    Decline,
    /// It turns away, which is a no.
    Cancel,
}

/// The fields of an answer: those of a form have any name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct Content(Map<String, Value>);

impl Content {
    /// Returns whether the call may run.
    fn approve(&self) -> Option<bool> {
        self.0.get("approve")?.as_bool()
    }

    /// Returns whether what its rule covers may run, too.
    fn always(&self) -> bool {
        self.0.get("always").and_then(Value::as_bool).unwrap_or(false)
    }

    /// Returns the number of the grant that is meant, from 1.
    fn grant(&self) -> Option<usize> {
        self.0.get("grant")?.as_u64()?.try_into().ok()
    }

    fn reason(&self) -> Option<String> {
        self.0.get("reason")?.as_str().map(str::to_owned)
    }

    /// Returns whether there is to be another turn.
    pub fn go_on(&self) -> Option<bool> {
        self.0.get("continue")?.as_bool()
    }
}

impl<const N: usize> From<[(&str, Value); N]> for Content {
    fn from(fields: [(&str, Value); N]) -> Self {
        Self(fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }
}

/// An answer that answers nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    Approval,
    Choice,
    Form,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Approval => "`content.approve` must be true or false; the question is still open",
            Self::Choice => "`content.answer` must be text; the question is still open",
            Self::Form => {
                "a form of several fields takes an `elicitation_response`, or `y` or `n`; the question is still open"
            }
        })
    }
}

impl Response {
    /// Returns what it means. Only a plain yes is one.
    pub fn approval(self) -> Result<Approval, Unanswered> {
        let content = &self.content;
        match (self.action, content.approve()) {
            (Action::Accept, Some(true)) => {
                Ok(match content.grant().and_then(|number| number.checked_sub(1)) {
                    Some(index) => Approval::Grant(index),
                    None if content.always() => Approval::Grant(0),
                    None => Approval::Allow,
                })
            }
            (Action::Accept, None) => Err(Unanswered::Approval),
            (Action::Accept, Some(false)) | (Action::Decline | Action::Cancel, _) => {
                Ok(Approval::Reject { reason: content.reason() })
            }
        }
    }
}

impl Response {
    /// Returns what it means as the answer to questions of the model's, or to a form.
    pub fn answers(mut self, choices: &[Choice]) -> Result<Approval, Unanswered> {
        let end = match self.action {
            Action::Accept => SEND,
            Action::Decline => DECLINE,
            Action::Cancel => CANCEL,
        };
        if is_form(choices) {
            return Ok(form_answers(choices, end, |field| self.content.0.remove(field)));
        }
        if self.action != Action::Accept {
            return Ok(Approval::Reject { reason: self.content.reason() });
        }
        let mut answer = |number| match self.content.0.remove(&answer_name(number, choices.len())) {
            Some(Value::String(text)) => Some(text),
            Some(Value::Array(several)) => {
                let texts: Vec<&str> = several.iter().filter_map(Value::as_str).collect();
                (!texts.is_empty()).then(|| texts.join(", "))
            }
            _ => None,
        };
        let answers: Vec<Option<String>> = (1..=choices.len()).map(&mut answer).collect();
        match answers.iter().any(Option::is_some) {
            true => Ok(Approval::answers(answers.into_iter().map(Option::unwrap_or_default).collect())),
            false => Err(Unanswered::Choice),
        }
    }
}

fn is_form(choices: &[Choice]) -> bool {
    choices.iter().any(|choice| choice.form.is_some())
}

/// Fills a form in.
fn form_answers(choices: &[Choice], end: &str, mut value: impl FnMut(&str) -> Option<Value>) -> Approval {
    let answer = |choice: &Choice| match choice.field() {
        Some(field) => value(&field.name).map_or_else(String::new, |value| choice.typed(&value)),
        None => end.to_owned(),
    };
    Approval::answers(choices.iter().map(answer).collect())
}

/// Reads a plain line as the answer to questions of the model's, or to a form: the value of its only field, else yes or no.
pub fn plain_answer(line: &str, choices: &[Choice]) -> Result<Approval, Unanswered> {
    let line = line.trim();
    if !is_form(choices) || line.is_empty() {
        return Ok(match line {
            "" => Approval::Reject { reason: None },
            line => Approval::answers(vec![line.to_owned()]),
        });
    }
    let fields = choices.iter().filter(|choice| choice.field().is_some()).count();
    let end = match (fields, line.to_lowercase().as_str()) {
        (1, _) | (_, "y" | "yes" | "true") => SEND,
        (_, "n" | "no" | "false") => DECLINE,
        _ => return Err(Unanswered::Form),
    };
    Ok(form_answers(choices, end, |_| (fields == 1).then(|| line.into())))
}

/// Reads a plain line as the answer to a question. Anything but a yes is a no, and the model reads it as the reason.
pub fn plain(line: &str) -> Approval {
    let word = line.trim().to_lowercase();
    let number = word.strip_prefix('a').and_then(|number| number.parse::<usize>().ok());
    match word.as_str() {
        "y" | "yes" | "true" => Approval::Allow,
        "a" | "always" => Approval::Grant(0),
        _ if number.is_some_and(|number| (1..=9).contains(&number)) => {
            Approval::Grant(number.map_or(0, |number| number - 1))
        }
        "n" | "no" | "false" | "" => Approval::Reject { reason: None },
        _ => Approval::Reject { reason: Some(line.trim().to_owned()) },
    }
}
