//! A question about a call as an event, and the answers to it (D-13, D-18).

use std::fmt;

use serde::{Deserialize, Serialize};
use zori_core::input::Approval;
use zori_core::permission::Decision;
use zori_core::question::{Question, wider_grants};
use zori_redact::Redactor;

use crate::question::{QuestionText, format_question};

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
    name: &'static str,
    r#type: &'static str,
    required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    description: Option<String>,
    sensitive: bool,
}

impl Elicitation {
    /// Returns the question about a call, without secrets.
    pub fn about(question: &Question, decision: &Decision, redactor: &Redactor) -> Self {
        let QuestionText { head, shown, hidden } = format_question(question, decision, redactor);
        let lines: Vec<String> = std::iter::once(head).chain(shown).chain(hidden).collect();
        let field = |name, r#type, required, description: Option<String>| Field {
            name,
            r#type,
            required,
            description,
            sensitive: false,
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
    /// Returns the question whether there is to be another turn.
    pub fn about_continuing(question: &str) -> Self {
        let field = Field {
            name: "continue",
            r#type: "boolean",
            required: true,
            description: None,
            sensitive: false,
        };
        Self { prompt: question.to_owned(), fields: vec![field] }
    }
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
}

/// An answer that answers nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unanswered;

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("`content.approve` must be true or false; the question is still open")
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
            (Action::Accept, None) => Err(Unanswered),
            (Action::Accept, Some(false)) | (Action::Decline | Action::Cancel, _) => {
                Ok(Approval::Reject { reason })
            }
        }
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
