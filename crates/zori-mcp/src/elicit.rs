//! Questions about calls, by the protocol's elicitation: the client asks its user.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction, ElicitationSchema};
use rmcp::{Peer, RoleServer};
use serde_json::{Value, json};
use zori_core::input::Approval;
use zori_core::question::{Grant, wider_grants};

/// Asks the client's user.
pub struct Elicitor(Peer<RoleServer>);

impl Elicitor {
    pub(crate) fn new(peer: Peer<RoleServer>) -> Self {
        Self(peer)
    }

    /// Asks whether a call may run. `message` describes it, `grants` is what may be allowed beyond it. No answer means no.
    pub async fn ask(&self, message: String, grants: &[Grant]) -> Approval {
        let requested_schema = schema(grants);
        let asked = ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema };
        match self.0.create_elicitation(asked).await {
            Ok(result) => approval(&result, grants.len()),
            Err(error) => no(&format!("the client did not answer: {error}")),
        }
    }
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

fn no(why: &str) -> Approval {
    Approval::Reject { reason: Some(why.to_owned()) }
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
