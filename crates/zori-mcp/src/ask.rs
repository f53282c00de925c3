//! Questions about calls, by the protocol's elicitation: the client asks its user.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use rmcp::{Peer, RoleServer};
use serde_json::{Value, json};
use zori_core::input::Approval;

/// The way to ask the client's user.
pub struct Asker(Peer<RoleServer>);

impl Asker {
    pub(crate) fn new(peer: Peer<RoleServer>) -> Self {
        Self(peer)
    }

    /// Asks. `message` says what would happen, `always` which rule an "always" adds. Whoever says nothing says no.
    pub async fn ask(&self, message: String, always: Option<&str>) -> Approval {
        let requested_schema = schema(always);
        let asked = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        match self.0.create_elicitation(asked).await {
            Ok(result) => approval(&result, always.is_some()),
            Err(error) => no(&format!("the client did not answer: {error}")),
        }
    }
}

fn schema(always: Option<&str>) -> ElicitationSchema {
    let mut properties = serde_json::Map::new();
    properties.insert("approve".to_owned(), json!({"type": "boolean", "description": "Run it"}));
    if let Some(rule) = always {
        let about = format!("Also allow in this session: {rule}");
        properties.insert("always".to_owned(), json!({"type": "boolean", "description": about}));
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

fn approval(result: &ElicitResult, always: bool) -> Approval {
    let content = result.content.as_ref();
    let yes = |field: &str| content.and_then(|content| content.get(field)) == Some(&Value::Bool(true));
    let reason = content.and_then(|content| content.get("reason")).and_then(Value::as_str);
    match result.action {
        ElicitationAction::Accept if yes("approve") && always && yes("always") => Approval::Always,
        ElicitationAction::Accept if yes("approve") => Approval::Allow,
        _ => Approval::Reject { reason: reason.filter(|why| !why.is_empty()).map(str::to_owned) },
    }
}

fn no(why: &str) -> Approval {
    Approval::Reject { reason: Some(why.to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_yes_is_one() {
        let heard = |answer: Value, always: bool| approval(&serde_json::from_value(answer).unwrap(), always);
        let reject = |reason: Option<&str>| Approval::Reject { reason: reason.map(str::to_owned) };
        for (answer, wanted) in [
            (json!({"action": "accept", "content": {"approve": true}}), Approval::Allow),
            (json!({"action": "accept", "content": {"approve": true, "always": true}}), Approval::Always),
            (json!({"action": "accept", "content": {"approve": false, "reason": "no"}}), reject(Some("no"))),
            (json!({"action": "accept", "content": {"always": true}}), reject(None)),
            (json!({"action": "accept"}), reject(None)),
            (json!({"action": "decline", "content": {"approve": true}}), reject(None)),
            (json!({"action": "cancel"}), reject(None)),
        ] {
            assert_eq!(heard(answer.clone(), true), wanted, "{answer}");
        }
        let always = json!({"action": "accept", "content": {"approve": true, "always": true}});
        assert_eq!(heard(always, false), Approval::Allow, "it was not offered");
    }

    #[test]
    fn what_is_asked() {
        assert_eq!(
            serde_json::to_value(schema(Some("Bash(ls)"))).unwrap(),
            json!({"type": "object", "required": ["approve"], "properties": {
                "always": {"type": "boolean", "description": "Also allow in this session: Bash(ls)"},
                "approve": {"type": "boolean", "description": "Run it"},
                "reason": {"type": "string", "description": "What the caller is told when it is declined"},
            }})
        );
    }
}
