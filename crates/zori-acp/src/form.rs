//! Forms that somebody else wrote, for the client to show: `elicitation/create` (MCP-72).

use serde::Serialize;
use serde_json::Value;

use crate::client::AcpClient;

const METHOD: &str = "elicitation/create";

/// A form. Its schema goes out as it was written: the protocol crate's own type would lose the order of the fields.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FormRequest<'a> {
    mode: &'static str,
    session_id: &'a str,
    message: &'a str,
    requested_schema: &'a Value,
}

impl AcpClient {
    /// Has the client show a form, and returns its answer: `action`, and `content` where that is `accept`. An error says why there is
    /// none.
    pub async fn fill_in(&self, session: &str, message: &str, schema: &Value) -> Result<Value, String> {
        let form = FormRequest { mode: "form", session_id: session, message, requested_schema: schema };
        self.call_as_is(METHOD, &form).await.map_err(|error| error.to_string())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::sample::greeted;

    #[test]
    fn a_form_keeps_the_order_of_its_fields() {
        let (client, paper) = greeted(r#"{"elicitation":{"form":{}}}"#);
        assert!(client.support().forms);
        let schema =
            json!({"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "string"}}});
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let answer = runtime.block_on(async {
            let asked = client.fill_in("s", "Who?", &schema);
            let answering = async {
                tokio::task::yield_now().await;
                let told = paper.told().pop().unwrap();
                assert_eq!(
                    told["params"].to_string(),
                    r#"{"mode":"form","sessionId":"s","message":"Who?","requestedSchema":{"type":"object","properties":{"b":{"type":"string"},"a":{"type":"string"}}}}"#
                );
                let result = json!({"action": "accept", "content": {"b": "x"}});
                let line = json!({"jsonrpc": "2.0", "id": told["id"], "result": result});
                assert!(client.handle_line(&line.to_string()).is_none());
            };
            tokio::join!(asked, answering).0
        });
        assert_eq!(answer, Ok(json!({"action": "accept", "content": {"b": "x"}})));
    }

    #[test]
    fn who_does_not_say_so_shows_no_forms() {
        for offered in ["{}", r#"{"elicitation":{}}"#, r#"{"elicitation":{"url":{}}}"#] {
            assert!(!greeted(offered).0.support().forms, "{offered}");
        }
    }
}
