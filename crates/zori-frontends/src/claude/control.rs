//! The control protocol (`docs/contracts/claude-protocol.md`): what clients ask for and how they are answered; what we
//! ask them, and their answers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use zori_core::input::{Approval, PermissionUpdate, Terms};
use zori_core::permission::Verdict;

/// What a client wants.
#[derive(Debug)]
pub enum Request {
    Initialize(Box<Initialize>),
    Interrupt,
    SetPermissionMode {
        mode: String,
    },
    /// Another model; `None` is the one the run began with.
    SetModel {
        model: Option<String>,
    },
    /// How much the model thinks; `None` is as much as it likes.
    SetMaxThinkingTokens {
        tokens: Option<u64>,
    },
    /// How the MCP servers fare.
    McpStatus,
    /// A server is connected to again.
    McpReconnect {
        server: String,
    },
    /// A server is used, or is not.
    McpToggle {
        server: String,
        enabled: bool,
    },
    /// The client's servers, in place of those it brought before.
    McpSetServers {
        servers: Map<String, Value>,
    },
    /// How full the conversation is.
    GetContextUsage,
    /// Files go back to before a prompt.
    RewindFiles {
        /// The name of the prompt.
        prompt: String,
        /// Nothing is changed.
        dry_run: bool,
    },
    Unsupported {
        subtype: String,
    },
    /// A request with fields that do not fit.
    Bad {
        why: String,
    },
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Initialize {
    /// The hooks of the client, by event.
    pub hooks: Option<BTreeMap<String, Option<Vec<HookGroup>>>>,
    /// Servers that live in the client.
    pub sdk_mcp_servers: Option<Vec<String>>,
    /// In place of the configured system prompt; its parts are joined.
    pub system_prompt: Option<SystemPrompt>,
    pub append_system_prompt: Option<String>,
    /// What the answer has to look like.
    pub json_schema: Option<Value>,
    pub agents: Option<Value>,
    /// The only skills of the session; none given is all.
    pub skills: Option<SkillFilter>,
}

/// Which skills a client wants.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum SkillFilter {
    /// These, by name.
    Named(Vec<String>),
    /// `all`; no other word means anything.
    Word(String),
}

/// A system prompt in one piece or in several.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum SystemPrompt {
    Text(String),
    Parts(Vec<String>),
}

impl SystemPrompt {
    pub fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => {
                parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
            }
        }
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HookGroup {
    /// A regular expression on the tool's name; none matches all.
    #[serde(default)]
    pub matcher: Option<String>,
    #[serde(default)]
    pub hook_callback_ids: Vec<String>,
    /// How many seconds each may take.
    #[serde(default)]
    pub timeout: Option<f64>,
    /// `block`: what cannot be asked is denied.
    #[serde(default)]
    pub on_failure: Option<String>,
}

impl Request {
    /// Reads what is in a `control_request`.
    pub(super) fn read(body: Value) -> Self {
        let Some(subtype) = body["subtype"].as_str().map(str::to_owned) else {
            return Self::Bad { why: "the request has no `subtype`".to_owned() };
        };
        let text = |name: &str| body[name].as_str().map(str::to_owned);
        match subtype.as_str() {
            "initialize" => match serde_json::from_value(body) {
                Ok(initialize) => Self::Initialize(Box::new(initialize)),
                Err(error) => Self::Bad { why: format!("initialize: {error}") },
            },
            "interrupt" => Self::Interrupt,
            "set_permission_mode" => match text("mode") {
                Some(mode) => Self::SetPermissionMode { mode },
                None => Self::Bad { why: "set_permission_mode: `mode` is missing".to_owned() },
            },
            "set_model" => Self::SetModel { model: text("model") },
            "set_max_thinking_tokens" => {
                Self::SetMaxThinkingTokens { tokens: body["max_thinking_tokens"].as_u64() }
            }
            "mcp_status" => Self::McpStatus,
            "mcp_reconnect" => match text("serverName") {
                Some(server) => Self::McpReconnect { server },
                None => Self::Bad { why: "mcp_reconnect: `serverName` is missing".to_owned() },
            },
            "mcp_toggle" => match (text("serverName"), body["enabled"].as_bool()) {
                (Some(server), Some(enabled)) => Self::McpToggle { server, enabled },
                _ => Self::Bad { why: "mcp_toggle: `serverName` and `enabled` are needed".to_owned() },
            },
            "mcp_set_servers" => match &body["servers"] {
                Value::Object(servers) => Self::McpSetServers { servers: servers.clone() },
                _ => Self::Bad { why: "mcp_set_servers: `servers` is missing, an object".to_owned() },
            },
            "get_context_usage" => Self::GetContextUsage,
            "rewind_files" => match text("user_message_id") {
                Some(prompt) => {
                    Self::RewindFiles { prompt, dry_run: body["dry_run"].as_bool().unwrap_or(false) }
                }
                None => Self::Bad { why: "rewind_files: `user_message_id` is missing".to_owned() },
            },
            _ => Self::Unsupported { subtype },
        }
    }
}

/// An answer of the client's.
#[derive(Debug)]
pub struct Response {
    pub id: String,
    /// What it says, or why it cannot.
    pub body: Result<Option<Box<RawValue>>, String>,
}

#[derive(Deserialize)]
struct ResponseWire {
    subtype: Option<String>,
    request_id: Option<String>,
    response: Option<Box<RawValue>>,
    error: Option<String>,
}

impl Response {
    pub(super) fn read(raw: &RawValue) -> Result<Self, String> {
        let wire: ResponseWire = serde_json::from_str(raw.get())
            .map_err(|error| format!("an answer is not understood: {error}"))?;
        let id = wire.request_id.ok_or("an answer has no `request_id`")?;
        let body = match wire.subtype.as_deref() {
            Some("success") => Ok(wire.response.filter(|raw| raw.get() != "null")),
            Some("error") => Err(wire.error.unwrap_or_else(|| "no reason given".to_owned())),
            other => return Err(format!("an answer has the subtype `{}`", other.unwrap_or(""))),
        };
        Ok(Self { id, body })
    }
}

/// The answer to a `control_request`.
#[derive(Serialize)]
pub struct ControlResponse<'a, T> {
    r#type: &'static str,
    response: ResponseBody<'a, T>,
}

#[derive(Serialize)]
struct ResponseBody<'a, T> {
    subtype: &'static str,
    request_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    response: Option<T>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

/// A response that reports success.
pub fn success_response<T: Serialize>(request_id: &str, response: Option<T>) -> ControlResponse<'_, T> {
    let response = ResponseBody { subtype: "success", request_id, response, error: None };
    ControlResponse { r#type: "control_response", response }
}

/// A response that reports an error.
pub fn error_response<'a>(request_id: &'a str, error: &'a str) -> ControlResponse<'a, Value> {
    let response = ResponseBody { subtype: "error", request_id, response: None, error: Some(error) };
    ControlResponse { r#type: "control_response", response }
}

#[derive(Serialize)]
pub struct ControlRequest<'a, T> {
    r#type: &'static str,
    request_id: &'a str,
    request: T,
}

pub fn control_request<T: Serialize>(request_id: &str, request: T) -> ControlRequest<'_, T> {
    ControlRequest { r#type: "control_request", request_id, request }
}

#[derive(Serialize)]
pub struct CancelRequest<'a> {
    r#type: &'static str,
    request_id: &'a str,
}

/// Cancels a request that nobody waits for any more.
pub fn cancel_request(request_id: &str) -> CancelRequest<'_> {
    CancelRequest { r#type: "control_cancel_request", request_id }
}

/// `can_use_tool`: may this call run?
#[derive(Serialize)]
pub struct CanUseTool<'a> {
    /// `can_use_tool`.
    pub subtype: &'static str,
    pub tool_name: &'a str,
    pub display_name: &'a str,
    pub input: &'a RawValue,
    pub description: &'a str,
    /// What could be allowed for good.
    pub permission_suggestions: Vec<Value>,
    /// Why it is asked about.
    pub decision_reason: &'a str,
    pub tool_use_id: &'a str,
    /// The sub-agent that wants it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Permission {
    behavior: Option<String>,
    updated_input: Option<Box<RawValue>>,
    updated_permissions: Option<Vec<Value>>,
    message: Option<String>,
    interrupt: Option<bool>,
    /// `allow`, `input` and `reason`: how the SDK said all this when it was called `claude-code-sdk`.
    allow: Option<bool>,
    input: Option<Box<RawValue>>,
    reason: Option<String>,
}

/// Understands the answer to `can_use_tool`. The second value is what of it cannot be done, a sentence each.
pub fn approval(answer: Result<Option<Box<RawValue>>, String>) -> (Approval, Vec<String>) {
    let refuse = |message: String| Approval::Refuse { message, interrupt: false };
    let raw = match answer {
        Ok(Some(raw)) => raw,
        Ok(None) => {
            return (refuse("Tool permission request failed: Error: no answer".to_owned()), Vec::new());
        }
        Err(why) => return (refuse(format!("Tool permission request failed: Error: {why}")), Vec::new()),
    };
    let permission: Permission = match serde_json::from_str(raw.get()) {
        Ok(permission) => permission,
        Err(error) => return (refuse(format!("Tool permission request failed: Error: {error}")), Vec::new()),
    };
    let earlier = permission.allow.map(|allow| if allow { "allow" } else { "deny" });
    match permission.behavior.as_deref().or(earlier) {
        Some("allow") => {
            let (updates, undone) = updates(&permission.updated_permissions.unwrap_or_default());
            let input = permission.updated_input.or(permission.input).filter(|raw| raw.get() != "null");
            let input = input.map(|raw| raw.get().to_owned());
            (Approval::AllowWith(Terms { input, updates, ..Terms::default() }), undone)
        }
        Some("deny") => {
            let message = permission.message.or(permission.reason);
            let message = message.unwrap_or_else(|| "The client denied this call".to_owned());
            (Approval::Refuse { message, interrupt: permission.interrupt == Some(true) }, Vec::new())
        }
        other => {
            let why = format!(
                "Tool permission request failed: Error: `behavior` is `{}`, not `allow` or `deny`",
                other.unwrap_or("")
            );
            (refuse(why), Vec::new())
        }
    }
}

/// Reads permission updates. What cannot be done is said; what can holds for the session, wherever it was to be written.
fn updates(list: &[Value]) -> (Vec<PermissionUpdate>, Vec<String>) {
    let (mut done, mut undone) = (Vec::new(), Vec::new());
    for update in list {
        let kind = update["type"].as_str().unwrap_or_default();
        match kind {
            "addRules" => {
                let verdict = match update["behavior"].as_str() {
                    Some("deny") => Verdict::Deny,
                    Some("ask") => Verdict::Ask,
                    _ => Verdict::Allow,
                };
                for rule in update["rules"].as_array().into_iter().flatten() {
                    match (rule["toolName"].as_str(), rule["ruleContent"].as_str()) {
                        (Some(tool), Some(content)) => {
                            let rule = format!("{tool}({content})");
                            done.push(PermissionUpdate::AddRule { verdict, rule });
                        }
                        (Some(tool), None) => {
                            done.push(PermissionUpdate::AddRule { verdict, rule: tool.to_owned() });
                        }
                        (None, _) => {
                            undone.push("a permission update has a rule without `toolName`".to_owned())
                        }
                    }
                }
            }
            "setMode" => match update["mode"].as_str() {
                Some(mode) => done.push(PermissionUpdate::SetMode(mode.to_owned())),
                None => undone.push("a permission update `setMode` has no `mode`".to_owned()),
            },
            "addDirectories" => {
                let folders =
                    update["directories"].as_array().into_iter().flatten().filter_map(Value::as_str);
                done.extend(folders.map(|folder| PermissionUpdate::AddDirectory(folder.into())));
            }
            other => undone
                .push(format!("the permission update `{other}` is not possible; rules only add up here")),
        }
        let place = update["destination"].as_str().unwrap_or("session");
        if place != "session" {
            undone.push(format!("a permission update is for `{place}`, and holds in this session only"));
        }
    }
    (done, undone)
}

/// Returns the update that would let a call like this run without a question.
pub fn suggestion(rules: &[String]) -> Value {
    let rule = |rule: &String| match rule.split_once('(') {
        Some((tool, rest)) => {
            serde_json::json!({"toolName": tool, "ruleContent": rest.strip_suffix(')').unwrap_or(rest)})
        }
        None => serde_json::json!({"toolName": rule}),
    };
    let rules: Vec<Value> = rules.iter().map(rule).collect();
    serde_json::json!({"type": "addRules", "rules": rules, "behavior": "allow", "destination": "session"})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &str) -> String {
        let (approval, undone) = approval(Ok(Some(RawValue::from_string(json.to_owned()).unwrap())));
        format!("{approval:?} {undone:?}")
    }

    #[test]
    fn answers_to_can_use_tool() {
        insta::assert_snapshot!(
            [
                r#"{"behavior":"allow"}"#,
                r#"{"behavior":"allow","updatedInput":{"a":1},"updatedPermissions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls:*"},{"toolName":"Edit"}],"behavior":"allow","destination":"session"},{"type":"setMode","mode":"acceptEdits"},{"type":"addDirectories","directories":["/d"],"destination":"userSettings"},{"type":"removeRules"}]}"#,
                r#"{"behavior":"deny","message":"no","interrupt":true}"#,
                r#"{"behavior":"deny"}"#,
                r#"{"behavior":"maybe"}"#,
                r#"{"allow":true}"#,
                r#"{"allow":true,"input":{"a":1}}"#,
                r#"{"allow":false,"reason":"not here"}"#,
                r#"{}"#,
                r#"7"#,
            ]
            .map(answer)
            .join("\n"),
            @r#"
        AllowWith(Terms { input: None, updates: [], answers: [] }) []
        AllowWith(Terms { input: Some("{\"a\":1}"), updates: [AddRule { verdict: Allow, rule: "Bash(ls:*)" }, AddRule { verdict: Allow, rule: "Edit" }, SetMode("acceptEdits"), AddDirectory("/d")], answers: [] }) ["a permission update is for `userSettings`, and holds in this session only", "the permission update `removeRules` is not possible; rules only add up here"]
        Refuse { message: "no", interrupt: true } []
        Refuse { message: "The client denied this call", interrupt: false } []
        Refuse { message: "Tool permission request failed: Error: `behavior` is `maybe`, not `allow` or `deny`", interrupt: false } []
        AllowWith(Terms { input: None, updates: [], answers: [] }) []
        AllowWith(Terms { input: Some("{\"a\":1}"), updates: [], answers: [] }) []
        Refuse { message: "not here", interrupt: false } []
        Refuse { message: "Tool permission request failed: Error: `behavior` is ``, not `allow` or `deny`", interrupt: false } []
        Refuse { message: "Tool permission request failed: Error: invalid type: integer `7`, expected struct Permission at line 1 column 1", interrupt: false } []
        "#
        );
        let (failed, _) = approval(Err("blew up".to_owned()));
        let message = "Tool permission request failed: Error: blew up".to_owned();
        assert_eq!(failed, Approval::Refuse { message, interrupt: false });
    }

    #[test]
    fn rules_as_suggestions() {
        assert_eq!(
            suggestion(&["Bash(ls -l)".to_owned()]).to_string(),
            r#"{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"ls -l"}],"behavior":"allow","destination":"session"}"#
        );
        assert!(suggestion(&["mcp__a__b".to_owned()]).to_string().contains(r#"[{"toolName":"mcp__a__b"}]"#));
    }

    #[test]
    fn requests() {
        let read = |json: &str| format!("{:?}", Request::read(serde_json::from_str(json).unwrap()));
        assert_eq!(read(r#"{"subtype":"set_model","model":null}"#), "SetModel { model: None }");
        assert_eq!(
            read(r#"{"subtype":"set_permission_mode"}"#),
            "Bad { why: \"set_permission_mode: `mode` is missing\" }"
        );
        assert_eq!(
            read(r#"{"subtype":"rewind_files","user_message_id":"u"}"#),
            "RewindFiles { prompt: \"u\", dry_run: false }"
        );
        assert_eq!(read(r#"{"subtype":"stop_task"}"#), "Unsupported { subtype: \"stop_task\" }");
        let initialize = read(
            r#"{"subtype":"initialize","hooks":{"PreToolUse":[{"matcher":null,"hookCallbackIds":["h"],"timeout":5}],"Stop":null},"systemPrompt":["a","","b"],"new":1}"#,
        );
        assert!(
            initialize.contains("hook_callback_ids: [\"h\"]") && initialize.contains("Parts"),
            "{initialize}"
        );
    }
}
