//! Questions about calls, by the protocol's elicitation: the client asks its user.
//!
//! Before 2026-07-28 a question is a request to the client. Since then it is the result of the call, which the client
//! makes again with the answer: `rounds.rs`.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use rmcp::{Peer, RoleServer};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use zori_core::input::Approval;
use zori_core::question::{CANCEL, Choice, DECLINE, FormPart, Grant, SEND, wider_grants};

/// The key of the question whether a call may run.
const APPROVAL: &str = "approval";
/// The key of questions that a call asks while it runs, such as a form of another server.
const ANSWERS: &str = "answers";

/// Asks the client's user.
pub struct Elicitor(Way);

enum Way {
    /// A request to the client.
    Request(Peer<RoleServer>),
    /// The result of the round that waits.
    Result(mpsc::Sender<FormQuestion>),
}

/// A form that the client's user is to fill in.
pub(crate) struct FormQuestion {
    /// What the answer is found by.
    pub(crate) key: String,
    pub(crate) params: ElicitRequestParams,
    pub(crate) answer: oneshot::Sender<ElicitResult>,
}

impl Elicitor {
    pub(crate) fn by_request(peer: Peer<RoleServer>) -> Self {
        Self(Way::Request(peer))
    }

    pub(crate) fn by_result(questions: mpsc::Sender<FormQuestion>) -> Self {
        Self(Way::Result(questions))
    }

    /// Asks whether a call may run. `message` describes it, `grants` is what may be allowed beyond it. No answer means no.
    pub async fn ask(&self, message: String, grants: &[Grant]) -> Approval {
        match self.fill_in(APPROVAL, message, schema(grants)).await {
            Ok(result) => approval(&result, grants.len()),
            Err(why) => Approval::Unavailable { why },
        }
    }

    /// Has questions answered that a call asks while it runs: a field for each. No answer means no.
    pub async fn choose(&self, message: String, choices: &[Choice]) -> Approval {
        let result = match self.form(ANSWERS, message, questions(choices)).await {
            Ok(result) => result,
            Err(why) => return Approval::Unavailable { why },
        };
        let form = choices.iter().any(|choice| choice.form.is_some());
        let end = match result["action"].as_str() {
            Some("accept") => SEND,
            _ if !form => return Approval::Reject { reason: None },
            Some("cancel") => CANCEL,
            _ => DECLINE,
        };
        let answer =
            |(at, choice): (usize, &Choice)| match (&result["content"][field(at, choice)], &choice.form) {
                (_, Some(FormPart::End)) => end.to_owned(),
                (value, Some(FormPart::Field(_))) => choice.typed(value),
                (Value::String(text), None) => text.clone(),
                (Value::Array(several), None) => {
                    several.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
                }
                (Value::Null, None) => String::new(),
                (other, None) => other.to_string(),
            };
        Approval::answers(choices.iter().enumerate().map(answer).collect())
    }

    /// Has a form filled in, which is a JSON schema of flat properties. Returns the client's `action` and `content`, or why
    /// there is no answer.
    pub async fn form(&self, key: &str, message: String, schema: Value) -> Result<Value, String> {
        let schema = serde_json::from_value(schema).map_err(|error| error.to_string())?;
        let result = self.fill_in(key, message, schema).await?;
        serde_json::to_value(result).map_err(|error| error.to_string())
    }

    async fn fill_in(
        &self,
        key: &str,
        message: String,
        requested_schema: ElicitationSchema,
    ) -> Result<ElicitResult, String> {
        let params = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        match &self.0 {
            Way::Request(peer) => {
                let answer = peer.create_elicitation(params).await;
                answer.map_err(|error| format!("the client did not answer: {error}"))
            }
            Way::Result(questions) => {
                let (answer, answered) = oneshot::channel();
                let question = FormQuestion { key: key.to_owned(), params, answer };
                let unanswered = || "the client did not come back with an answer".to_owned();
                questions.send(question).await.map_err(|_| unanswered())?;
                answered.await.map_err(|_| unanswered())
            }
        }
    }
}

/// Returns the name of the field that a question is: a form of another server keeps its own.
fn field(at: usize, choice: &Choice) -> String {
    choice.field().map_or_else(|| format!("answer_{}", at + 1), |field| field.name.clone())
}

/// Returns the questions as the schema of a form. What has to be answered is what another server says so of: else what is left empty is the
/// default, or missing, and whoever asked says so.
fn questions(choices: &[Choice]) -> Value {
    let property = |(at, choice): (usize, &Choice)| {
        let labels: Vec<&str> = choice.options.iter().map(|option| option.label.as_str()).collect();
        let kind = choice.field().map_or("string", |field| field.kind);
        let mut property = match (labels.is_empty() || kind == "boolean", choice.multiple) {
            (true, _) => json!({ "type": kind }),
            (false, false) => json!({"type": "string", "enum": labels}),
            (false, true) => json!({"type": "array", "items": {"type": "string", "enum": labels}}),
        };
        property["description"] = choice.question.as_str().into();
        if let Some(default) = choice
            .field()
            .and_then(|field| field.default.as_ref())
            .filter(|_| labels.is_empty() || kind == "boolean")
        {
            property["default"] = default.clone();
        }
        (field(at, choice), property)
    };
    // How a form ends is said by the answer itself.
    let asked = choices.iter().enumerate().filter(|(_, choice)| choice.form != Some(FormPart::End));
    let properties: serde_json::Map<String, Value> = asked.map(property).collect();
    let required: Vec<&str> = choices
        .iter()
        .filter_map(Choice::field)
        .filter(|field| field.required && field.default.is_none())
        .map(|field| field.name.as_str())
        .collect();
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

fn schema(grants: &[Grant]) -> ElicitationSchema {
    let mut properties = serde_json::Map::new();
    properties.insert("approve".to_owned(), json!({"type": "boolean", "description": "Run it"}));
    if let Some(grant) = grants.first() {
        let about = format!("Also allow in this session: {}", grant.shown());
        properties.insert("always".to_owned(), json!({"type": "boolean", "description": about}));
    }
    if let Some(about) = wider_grants(grants) {
        properties.insert("grant".to_owned(), json!({"type": "integer", "description": about}));
    }
    let reason = json!({"type": "string", "description": "What the caller is told when it is declined"});
    properties.insert("reason".to_owned(), reason);
    let schema = [
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
        ("required".to_owned(), json!(["approve"])),
    ];
    ElicitationSchema::from_json_schema(schema.into_iter().collect()).expect("the schema is flat and valid")
}

fn approval(result: &ElicitResult, grants: usize) -> Approval {
    let content = result.content.as_ref();
    let yes = |field: &str| content.and_then(|content| content.get(field)) == Some(&Value::Bool(true));
    let reason = content.and_then(|content| content.get("reason")).and_then(Value::as_str);
    let grant = content.and_then(|content| content.get("grant")).and_then(Value::as_u64);
    let grant = grant.and_then(|number| usize::try_from(number).ok()).filter(|n| (1..=grants).contains(n));
    match result.action {
        ElicitationAction::Accept if yes("approve") && grant.is_some() => {
            Approval::Grant(grant.map_or(0, |number| number - 1))
        }
        ElicitationAction::Accept if yes("approve") && grants > 0 && yes("always") => Approval::Grant(0),
        ElicitationAction::Accept if yes("approve") => Approval::Allow,
        _ => Approval::Reject { reason: reason.filter(|why| !why.is_empty()).map(str::to_owned) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_one() {
        let heard = |answer: Value, grants: usize| approval(&serde_json::from_value(answer).unwrap(), grants);
        let reject = |reason: Option<&str>| Approval::Reject { reason: reason.map(str::to_owned) };
        for (answer, wanted) in [
            (json!({"action": "accept", "content": {"approve": true}}), Approval::Allow),
            (json!({"action": "accept", "content": {"approve": true, "always": true}}), Approval::Grant(0)),
            (json!({"action": "accept", "content": {"approve": true, "grant": 2}}), Approval::Grant(1)),
            (json!({"action": "accept", "content": {"approve": true, "grant": 3}}), Approval::Allow),
            (json!({"action": "accept", "content": {"approve": false, "reason": "no"}}), reject(Some("no"))),
            (json!({"action": "accept", "content": {"always": true}}), reject(None)),
            (json!({"action": "accept"}), reject(None)),
            (json!({"action": "decline", "content": {"approve": true}}), reject(None)),
            (json!({"action": "cancel"}), reject(None)),
        ] {
            assert_eq!(heard(answer.clone(), 2), wanted, "{answer}");
        }
        let always = json!({"action": "accept", "content": {"approve": true, "always": true}});
        assert_eq!(heard(always, 0), Approval::Allow, "it was not offered");
    }

    /// MCP-70: a form of another server is a form for the client, whatever its fields are.
    #[test]
    fn questions_of_a_call() {
        let option =
            |label: &str| zori_core::question::ChoiceOption { label: label.to_owned(), description: None };
        let choice = |question: &str, options: &[&str], multiple: bool| Choice {
            question: question.to_owned(),
            header: None,
            options: options.iter().map(|label| option(label)).collect(),
            multiple,
            secret: false,
            form: None,
        };
        let all =
            [choice("Who?", &[], false), choice("Which?", &["a", "b"], false), choice("All?", &["c"], true)];
        let schema = questions(&all);
        assert_eq!(
            schema["properties"],
            json!({
                "answer_1": {"type": "string", "description": "Who?"},
                "answer_2": {"type": "string", "enum": ["a", "b"], "description": "Which?"},
                "answer_3": {"type": "array", "items": {"type": "string", "enum": ["c"]}, "description": "All?"},
            })
        );
        assert!(
            serde_json::from_value::<ElicitationSchema>(schema).is_ok(),
            "it is one that the protocol has"
        );
    }

    #[test]
    fn what_is_asked() {
        let grant = |rule: &str| Grant {
            rules: vec![rule.to_owned()],
            words: String::new(),
            scope: zori_core::question::GrantScope::Like,
            past: 0,
        };
        assert_eq!(
            serde_json::to_value(schema(&[grant("Bash(ls)"), grant("Bash(ls:*)")])).unwrap(),
            json!({"type": "object", "required": ["approve"], "properties": {
                "always": {"type": "boolean", "description": "Also allow in this session: Bash(ls)"},
                "approve": {"type": "boolean", "description": "Run it"},
                "grant": {"type": "integer", "description": "Or allow in this session: 1 for Bash(ls); 2 for Bash(ls:*)"},
                "reason": {"type": "string", "description": "What the caller is told when it is declined"},
            }})
        );
    }
}
