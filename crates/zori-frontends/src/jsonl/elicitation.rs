//! A question about a call as an event, and the answers to it (D-13, D-18).

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use zori_core::input::Approval;
use zori_core::permission::Decision;
use zori_core::question::{Choice, Preview, Question, wider_grants};
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
            sensitive: false,
            options: Vec::new(),
            multiple: false,
        };
        let always = question.grants.first().map(|grant| {
            let rules = grant.shown();
            let rules = redactor.redact(&rules);
            field("always", "boolean", false, Some(format!("Also allow in this session: {rules}")))
        });
        let wider = wider_grants(&question.grants)
            .map(|about| field("grant", "integer", false, Some(redactor.redact(&about).into_owned())));
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
        let field = |(number, choice): (usize, &Choice)| Field {
            name: answer_name(number, choices.len()),
            r#type: "string",
            required: true,
            description: Some(clean(&choice.question)),
            sensitive: false,
            options: choice.options.iter().map(|option| clean(&option.label)).collect(),
            multiple: choice.multiple,
        };
        let lines = choices.iter().flat_map(|choice| question::asked(choice, redactor));
        let prompt = std::iter::once(head.to_owned()).chain(lines).collect::<Vec<_>>().join("\n");
        Self { prompt, fields: (1..).zip(choices).map(field).collect() }
    }

    /// Returns the question whether there is to be another turn.
    pub fn about_continuing(question: &str) -> Self {
        let field = Field {
            name: "continue".to_owned(),
            r#type: "boolean",
            required: true,
            description: None,
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

/// The fields of an answer about a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Content {
    #[serde(default)]
    pub approve: Option<bool>,
    /// And what its rule covers, too.
    #[serde(default)]
    pub always: bool,
    /// And what the grant with this number covers, from 1.
    #[serde(default)]
    pub grant: Option<usize>,
    #[serde(default)]
    pub reason: Option<String>,
    /// Whether there is to be another turn.
    #[serde(default, rename = "continue")]
    pub go_on: Option<bool>,
    /// The answers to questions of the model's.
    #[serde(flatten)]
    pub answers: Map<String, Value>,
}

/// An answer that answers nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unanswered {
    Approval,
    Choice,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Approval => "`content.approve` must be true or false; the question is still open",
            Self::Choice => "`content.answer` must be text; the question is still open",
        })
    }
}

impl Response {
    /// Returns what it means. Only a plain yes is one.
    pub fn approval(self) -> Result<Approval, Unanswered> {
        let Content { approve, always, grant, reason, .. } = self.content;
        match (self.action, approve) {
            (Action::Accept, Some(true)) => Ok(match grant.and_then(|number| number.checked_sub(1)) {
                Some(index) => Approval::Grant(index),
                None if always => Approval::Grant(0),
                None => Approval::Allow,
            }),
            (Action::Accept, None) => Err(Unanswered::Approval),
            (Action::Accept, Some(false)) | (Action::Decline | Action::Cancel, _) => {
                Ok(Approval::Reject { reason })
            }
        }
    }
}

impl Response {
    /// Returns what it means as the answer to so many questions of the model's.
    pub fn answers(mut self, questions: usize) -> Result<Approval, Unanswered> {
        if self.action != Action::Accept {
            return Ok(Approval::Reject { reason: self.content.reason });
        }
        let mut answer = |number| match self.content.answers.remove(&answer_name(number, questions)) {
            Some(Value::String(text)) => Some(text),
            Some(Value::Array(several)) => {
                let texts: Vec<&str> = several.iter().filter_map(Value::as_str).collect();
                (!texts.is_empty()).then(|| texts.join(", "))
            }
            _ => None,
        };
        let answers: Vec<Option<String>> = (1..=questions).map(&mut answer).collect();
        match answers.iter().any(Option::is_some) {
            true => Ok(Approval::answers(answers.into_iter().map(Option::unwrap_or_default).collect())),
            false => Err(Unanswered::Choice),
        }
    }
}

/// Reads a plain line as the answer to a question of the model's.
pub fn plain_answer(line: &str) -> Approval {
    match line.trim() {
        "" => Approval::Reject { reason: None },
        line => Approval::answers(vec![line.to_owned()]),
    }
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
