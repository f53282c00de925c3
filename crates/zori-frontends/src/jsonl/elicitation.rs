//! A question about a call as an event, and the answers to it (D-13, D-18).

use std::fmt;

use serde::{Deserialize, Serialize};
use zori_core::input::Approval;
use zori_core::permission::Decision;
use zori_core::question::Question;
use zori_redact::Redactor;

use crate::question::{Drawn, draw};

/// What is asked.
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
        let Drawn { head, shown, hidden } = draw(question, decision, redactor);
        let lines: Vec<String> = std::iter::once(head).chain(shown).chain(hidden).collect();
        let field = |name, r#type, required, description: Option<String>| Field {
            name,
            r#type,
            required,
            description,
            sensitive: false,
        };
        let always = question.always.as_ref().map(|rule| {
            let rule = redactor.redact(rule);
            field("always", "boolean", false, Some(format!("Also allow in this session: {rule}")))
        });
        let reason =
            field("reason", "string", false, Some("What the model is told when it is declined".to_owned()));
        let fields = std::iter::once(field("approve", "boolean", true, Some("Run it".to_owned())));
        Self { prompt: lines.join("\n"), fields: fields.chain(always).chain([reason]).collect() }
    }
}

/// What a client says to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// Its decision.
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
    /// It says no.
    Decline,
    /// It turns away, which is a no.
    Cancel,
}

/// The fields of an answer about a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Content {
    /// Run it.
    #[serde(default)]
    pub approve: Option<bool>,
    /// And what its rule covers, too.
    #[serde(default)]
    pub always: bool,
    /// Why not.
    #[serde(default)]
    pub reason: Option<String>,
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
        let Content { approve, always, reason } = self.content;
        match (self.action, approve) {
            (Action::Accept, Some(true)) if always => Ok(Approval::Always),
            (Action::Accept, Some(true)) => Ok(Approval::Allow),
            (Action::Accept, None) => Err(Unanswered),
            (Action::Accept, Some(false)) | (Action::Decline | Action::Cancel, _) => {
                Ok(Approval::Reject { reason })
            }
        }
    }
}

/// Returns what a plain line says to a question. Whatever is no yes is a no, and told to the model as the reason.
pub fn plain(line: &str) -> Approval {
    match line.trim().to_lowercase().as_str() {
        "y" | "yes" | "true" => Approval::Allow,
        "a" | "always" => Approval::Always,
        "n" | "no" | "false" | "" => Approval::Reject { reason: None },
        _ => Approval::Reject { reason: Some(line.trim().to_owned()) },
    }
}
