//! Forms of servers (MCP-70, MCP-71): read, put to whoever can answer, checked, and answered. What is answered is never logged.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};
use zori_core::BoxFuture;
use zori_core::question::{Choice, ChoiceOption};
use zori_core::text;
use zori_core::tool::AskUser;

use super::config::ServerConfig;

/// So long a form may stay open.
const OPEN: Duration = Duration::from_secs(120);
/// So many fields a form may have.
const MAX_FIELDS: usize = 50;
/// Parts of names that tell a secret.
const SENSITIVE: &[&str] = &[
    "password",
    "passwd",
    "token",
    "secret",
    "key",
    "credential",
    "credentials",
    "auth",
    "private",
    "passphrase",
    "pin",
];

/// Who answers forms.
#[derive(Clone)]
pub enum Elicits {
    /// Nobody.
    Nobody,
    /// Whoever answers questions about calls.
    Somebody,
    /// A client that shows whole forms.
    Client(Arc<dyn Forms>),
    /// Nobody is asked: defaults and configured answers count (`-y`).
    Yes,
}

impl Elicits {
    /// Returns whether forms of a server can be answered at all.
    pub fn somebody(&self, server: &ServerConfig) -> bool {
        !matches!(self, Self::Nobody) || !server.answers.is_empty()
    }
}

/// Whoever shows whole forms: the client of a protocol that has them.
pub trait Forms: Send + Sync {
    /// Shows a form, and returns the answer: `action`, and `content` where that is `accept`. An error declines.
    fn fill_in<'a>(&'a self, form: Form<'a>) -> BoxFuture<'a, Result<Value, String>>;
}

/// A form, as its server wrote it.
pub struct Form<'a> {
    /// The server.
    pub server: &'a str,
    /// What it asks, behind a warning where a field looks like a secret.
    pub message: &'a str,
    /// Its fields, as a JSON schema.
    pub schema: &'a Value,
}

/// The answer to a form.
#[derive(Debug, PartialEq, Serialize)]
pub struct FormAnswer {
    /// `accept`, `decline` or `cancel`.
    pub action: &'static str,
    /// What was entered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Map<String, Value>>,
    /// Whether a secret was sent without a person.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Value>,
}

impl FormAnswer {
    fn without(action: &'static str) -> Self {
        Self { action, content: None, meta: None }
    }
}

/// A field of a form.
struct Field {
    /// Its name, as the server has it.
    name: String,
    shown: String,
    kind: FieldKind,
    required: bool,
    default: Option<Value>,
    sensitive: bool,
}

enum FieldKind {
    Text,
    Number {
        whole: bool,
    },
    Flag,
    /// Values, with what is shown for them.
    One(Vec<(Value, String)>),
    Several(Vec<(Value, String)>),
}

/// Answers a form of a server. `asker` is whoever can be reached while the call runs that the form is about.
pub async fn answer(
    server: &ServerConfig,
    elicits: &Elicits,
    asker: Option<Arc<dyn AskUser>>,
    params: &Value,
) -> FormAnswer {
    if params["mode"].as_str().is_some_and(|mode| mode != "form") {
        return FormAnswer::without("decline");
    }
    let schema = &params["requestedSchema"];
    let Some(fields) = fields(schema) else { return FormAnswer::without("decline") };
    let message = params["message"].as_str().unwrap_or_default();
    let answering = asker.clone().filter(|asker| asker.answers());
    match (elicits, answering) {
        (Elicits::Client(forms), _) => {
            let warning = fields.iter().filter(|field| field.sensitive).map(|field| warning(server, field));
            let message = warning.chain([message.to_owned()]).collect::<Vec<_>>().join("\n");
            let form = Form { server: &server.name, message: &message, schema };
            match tokio::time::timeout(OPEN, forms.fill_in(form)).await {
                Err(_) => FormAnswer::without("cancel"),
                Ok(Err(_)) => FormAnswer::without("decline"),
                Ok(Ok(answer)) => returned(&fields, &answer),
            }
        }
        (Elicits::Somebody, Some(asker)) => {
            match tokio::time::timeout(OPEN, asker.ask(choices(server, message, &fields))).await {
                Err(_) => FormAnswer::without("cancel"),
                Ok(None) => FormAnswer::without("decline"),
                Ok(Some(answers)) => entered(&fields, &answers),
            }
        }
        (Elicits::Somebody, None) if server.answers.is_empty() => FormAnswer::without("cancel"),
        _ => {
            let (answer, warnings) = by_itself(server, &fields);
            if let Some(asker) = asker {
                warnings.into_iter().for_each(|why| asker.warn(why));
            }
            answer
        }
    }
}

/// Says that a field looks like a secret (NFR-008).
fn warning(server: &ServerConfig, field: &Field) -> String {
    let name = text::one_line(&field.name);
    format!("WARNING: `{name}` looks like a secret, and goes to the MCP server `{}`.", server.name)
}

/// Reads the fields of a form; `None` where it cannot be shown as one.
fn fields(schema: &Value) -> Option<Vec<Field>> {
    let properties = schema["properties"].as_object()?;
    if properties.len() > MAX_FIELDS {
        return None;
    }
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let field = |(name, schema): (&String, &Value)| {
        let kind = match schema["type"].as_str() {
            Some("boolean") => FieldKind::Flag,
            Some("integer") => FieldKind::Number { whole: true },
            Some("number") => FieldKind::Number { whole: false },
            Some("array") => FieldKind::Several(values(&schema["items"])?),
            Some("string") | None => match values(schema) {
                Some(values) => FieldKind::One(values),
                None => FieldKind::Text,
            },
            Some(_) => return None,
        };
        let title = schema["title"].as_str().unwrap_or(name);
        let about = schema["description"].as_str().unwrap_or_default();
        let shown = match about {
            "" => text::one_line(title).into_owned(),
            about => format!("{}: {}", text::one_line(title), text::one_line(about)),
        };
        Some(Field {
            shown: text::prefix(&shown, 300).to_owned(),
            kind,
            required: required.contains(&name.as_str()),
            default: schema.get("default").filter(|value| !value.is_null()).cloned(),
            sensitive: is_sensitive(name) || schema["format"] == "password" || schema["writeOnly"] == true,
            name: name.clone(),
        })
    };
    properties.iter().map(field).collect()
}

/// Returns the values to choose from: `enum` with `enumNames`, or `oneOf` and `anyOf` with titles.
fn values(schema: &Value) -> Option<Vec<(Value, String)>> {
    let words = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if let Some(all) = schema["enum"].as_array() {
        let names = &schema["enumNames"];
        let shown = |(at, value): (usize, &Value)| {
            (
                value.clone(),
                text::one_line(&names[at].as_str().map_or_else(|| words(value), str::to_owned)).into_owned(),
            )
        };
        return Some(all.iter().enumerate().map(shown).collect());
    }
    let all = schema["oneOf"].as_array().or(schema["anyOf"].as_array())?;
    let shown = |option: &Value| {
        let value = option.get("const")?;
        let title = option["title"].as_str().map_or_else(|| words(value), str::to_owned);
        Some((value.clone(), text::one_line(&title).into_owned()))
    };
    all.iter().map(shown).collect()
}

/// Returns whether a name tells a secret: as a part of its own, so that `monkey` is none.
pub fn is_sensitive(name: &str) -> bool {
    let mut parts = vec![String::new()];
    let mut lower = false;
    for c in name.chars() {
        if !c.is_ascii_alphanumeric() || c.is_uppercase() && lower {
            parts.push(String::new());
        }
        lower = c.is_lowercase();
        parts
            .last_mut()
            .expect("there is always one")
            .extend(c.to_lowercase().filter(|c| c.is_alphanumeric()));
    }
    parts.iter().any(|part| SENSITIVE.contains(&part.as_str()))
}

fn choices(server: &ServerConfig, message: &str, fields: &[Field]) -> Vec<Choice> {
    let visible: String = message.chars().filter(|c| !text::invisible(*c)).collect();
    let intro = format!("The MCP server `{}` asks: {}", server.name, text::prefix(visible.trim(), 2000));
    let option = |label: &str| ChoiceOption { label: label.to_owned(), description: None };
    if fields.is_empty() {
        let options = vec![option("send"), option("decline")];
        let header = Some(server.name.clone());
        return vec![Choice { question: intro, header, options, multiple: false, secret: false }];
    }
    let choice = |(at, field): (usize, &Field)| {
        let (options, multiple) = match &field.kind {
            FieldKind::Text | FieldKind::Number { .. } => (Vec::new(), false),
            FieldKind::Flag => (vec![option("yes"), option("no")], false),
            FieldKind::One(values) => (values.iter().map(|(_, shown)| option(shown)).collect(), false),
            FieldKind::Several(values) => (values.iter().map(|(_, shown)| option(shown)).collect(), true),
        };
        let default = field.default.as_ref().map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let hint = match (default, field.required) {
            (Some(default), _) => format!(" [{}]", text::one_line(&default)),
            (None, false) => " (may stay empty)".to_owned(),
            (None, true) => String::new(),
        };
        let warning = match field.sensitive {
            true => format!("{} ", warning(server, field)),
            false => String::new(),
        };
        let before = if at == 0 { format!("{intro}\n") } else { String::new() };
        Choice {
            question: format!("{before}{warning}{}{hint}", field.shown),
            header: Some(server.name.clone()),
            options,
            multiple,
            secret: field.sensitive,
        }
    };
    fields.iter().enumerate().map(choice).collect()
}

/// Puts what was entered together. What does not fit its field declines the form.
fn entered(fields: &[Field], answers: &[String]) -> FormAnswer {
    if fields.is_empty() {
        let declined = answers.first().is_some_and(|answer| answer.trim() == "decline");
        let action = if declined { "decline" } else { "accept" };
        return FormAnswer { action, content: (!declined).then(Map::new), meta: None };
    }
    let mut content = Map::new();
    for (field, answer) in fields.iter().zip(answers.iter().map(String::as_str).chain(std::iter::repeat("")))
    {
        let value = match (answer.trim(), &field.default) {
            ("", Some(default)) => Some(default.clone()),
            ("", None) => None,
            (answer, _) => match value(&field.kind, answer) {
                Some(value) => Some(value),
                None => return FormAnswer::without("decline"),
            },
        };
        match value {
            Some(value) => drop(content.insert(field.name.clone(), value)),
            None if field.required => return FormAnswer::without("decline"),
            None => {}
        }
    }
    FormAnswer { action: "accept", content: Some(content), meta: None }
}

fn value(kind: &FieldKind, answer: &str) -> Option<Value> {
    let named = |values: &[(Value, String)], word: &str| {
        let fits = |(value, shown): &&(Value, String)| shown == word || value.as_str() == Some(word);
        values.iter().find(fits).map(|(value, _)| value.clone())
    };
    match kind {
        FieldKind::Text => Some(answer.into()),
        FieldKind::Number { whole: true } => answer.parse::<i64>().ok().map(Value::from),
        FieldKind::Number { whole: false } => answer.parse::<f64>().ok().map(Value::from),
        FieldKind::Flag => match answer.to_ascii_lowercase().as_str() {
            "yes" | "y" | "true" => Some(true.into()),
            "no" | "n" | "false" => Some(false.into()),
            _ => None,
        },
        FieldKind::One(values) => named(values, answer),
        FieldKind::Several(values) => {
            let words = answer.split(',').map(str::trim).filter(|word| !word.is_empty());
            words.map(|word| named(values, word)).collect::<Option<Vec<_>>>().map(Value::from)
        }
    }
}

/// Checks what a client filled in. What does not fit its field declines the form; what is no field of it is left out.
fn returned(fields: &[Field], answer: &Value) -> FormAnswer {
    match answer["action"].as_str() {
        Some("accept") => {}
        Some("cancel") => return FormAnswer::without("cancel"),
        _ => return FormAnswer::without("decline"),
    }
    let mut content = Map::new();
    for field in fields {
        let given = answer["content"].get(&field.name).filter(|value| !value.is_null());
        match given.or(field.default.as_ref()) {
            Some(value) if fits(&field.kind, value) => {
                drop(content.insert(field.name.clone(), value.clone()))
            }
            None if !field.required => {}
            Some(_) | None => return FormAnswer::without("decline"),
        }
    }
    FormAnswer { action: "accept", content: Some(content), meta: None }
}

fn fits(kind: &FieldKind, value: &Value) -> bool {
    let among = |values: &[(Value, String)], value: &Value| values.iter().any(|(known, _)| known == value);
    match kind {
        FieldKind::Text => value.is_string(),
        FieldKind::Number { whole: true } => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
        }
        FieldKind::Number { whole: false } => value.is_number(),
        FieldKind::Flag => value.is_boolean(),
        FieldKind::One(values) => among(values, value),
        FieldKind::Several(values) => {
            value.as_array().is_some_and(|several| several.iter().all(|one| among(values, one)))
        }
    }
}

/// Answers without a person: defaults, then configured answers, then what can only be one thing. Nothing is invented (MCP-70).
/// Returns as well what is to be warned of.
fn by_itself(server: &ServerConfig, fields: &[Field]) -> (FormAnswer, Vec<String>) {
    let (mut content, mut warnings) = (Map::new(), Vec::new());
    for field in fields {
        let only = match &field.kind {
            FieldKind::Flag => Some(true.into()),
            FieldKind::One(values) if values.len() == 1 => Some(values[0].0.clone()),
            _ => None,
        };
        let answer = server.answers.get(&field.name).filter(|value| fits(&field.kind, value)).cloned();
        match field.default.clone().or(answer).or(only) {
            Some(value) => {
                warnings.extend(field.sensitive.then(|| warning(server, field)));
                content.insert(field.name.clone(), value);
            }
            None if field.required => {
                let name = text::one_line(&field.name);
                let why = format!(
                    "the form of the MCP server `{0}` is declined: `{name}` has no default and no answer (`[mcp.servers.{0}.answers]`)",
                    server.name
                );
                return (FormAnswer::without("decline"), vec![why]);
            }
            None => {}
        }
    }
    let meta = (!warnings.is_empty()).then(|| json!({"zori/warned": true}));
    (FormAnswer { action: "accept", content: Some(content), meta }, warnings)
}

#[cfg(test)]
mod tests {
    use super::super::config::{Source, Way};
    use super::*;

    fn server(answers: Value) -> ServerConfig {
        let way = Way::Stdio {
            command: "s".to_owned(),
            args: Vec::new(),
            env: Default::default(),
            env_pass: Vec::new(),
            cwd: None,
        };
        let answers = answers.as_object().unwrap().clone().into_iter().collect();
        ServerConfig { answers, ..ServerConfig::new("s".to_owned(), Source::User, way) }
    }

    fn form(properties: Value, required: Value) -> Value {
        json!({"message": "m", "requestedSchema": {"type": "object", "properties": properties, "required": required}})
    }

    fn yes(answers: Value, params: &Value) -> Value {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let answer = runtime.block_on(answer(&server(answers), &Elicits::Yes, None, params));
        serde_json::to_value(answer).unwrap()
    }

    /// MCP-70, field by field.
    #[test]
    fn with_yes_nothing_is_invented() {
        let none = json!({});
        let of = |schema: Value| yes(json!({}), &form(json!({ "f": schema }), json!(["f"])));
        assert_eq!(of(json!({"type": "string", "default": "d"}))["content"], json!({"f": "d"}));
        assert_eq!(of(json!({"type": "boolean"}))["content"], json!({"f": true}));
        assert_eq!(of(json!({"type": "string", "enum": ["only"]}))["content"], json!({"f": "only"}));
        assert_eq!(of(json!({"type": "string", "enum": ["a", "b"]})), json!({"action": "decline"}));
        assert_eq!(of(json!({"type": "string"})), json!({"action": "decline"}));
        let optional = form(json!({"f": {"type": "string"}}), json!([]));
        assert_eq!(yes(none, &optional), json!({"action": "accept", "content": {}}));
        let asked = form(json!({"f": {"type": "integer"}}), json!(["f"]));
        assert_eq!(yes(json!({"f": 7}), &asked)["content"], json!({"f": 7}));
        let secret = form(json!({"api_key": {"type": "string"}}), json!(["api_key"]));
        assert_eq!(
            yes(json!({"api_key": "k"}), &secret),
            json!({"action": "accept", "content": {"api_key": "k"}, "_meta": {"zori/warned": true}})
        );
        let number = form(json!({"f": {"type": "integer"}}), json!(["f"]));
        assert_eq!(yes(json!({"f": "seven"}), &number), json!({"action": "decline"}), "it does not fit");
    }

    /// A client that shows whole forms.
    struct Shows(Value, std::sync::Mutex<String>);

    impl Forms for Shows {
        fn fill_in<'a>(&'a self, form: Form<'a>) -> BoxFuture<'a, Result<Value, String>> {
            *self.1.lock().unwrap() = form.message.to_owned();
            Box::pin(std::future::ready(Ok(self.0.clone())))
        }
    }

    /// MCP-72, NFR-008: a client gets the form whole, with the warning, and its answer is checked.
    #[test]
    fn a_client_that_shows_forms() {
        let schema = json!({"name": {"type": "string"}, "api_key": {"type": "string"}, "n": {"type": "integer", "default": 1}});
        let params = form(schema, json!(["name"]));
        let shown = |answer_with: Value| {
            let shows = Arc::new(Shows(answer_with, Default::default()));
            let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
            let elicits = Elicits::Client(shows.clone());
            let answer = runtime.block_on(answer(&server(json!({})), &elicits, None, &params));
            let message = shows.1.lock().unwrap().clone();
            (message, serde_json::to_value(answer).unwrap())
        };
        let (message, answer) =
            shown(json!({"action": "accept", "content": {"name": "Ada", "api_key": "k", "other": 1}}));
        assert_eq!(message, "WARNING: `api_key` looks like a secret, and goes to the MCP server `s`.\nm");
        assert_eq!(answer, json!({"action": "accept", "content": {"name": "Ada", "api_key": "k", "n": 1}}));
        for (given, wanted) in [
            (json!({"action": "accept", "content": {"name": 7}}), "decline"),
            (json!({"action": "accept", "content": {}}), "decline"),
            (json!({"action": "accept"}), "decline"),
            (json!({"action": "decline"}), "decline"),
            (json!({"action": "cancel"}), "cancel"),
            (json!("yes"), "decline"),
        ] {
            assert_eq!(shown(given.clone()).1, json!({ "action": wanted }), "{given}");
        }
    }

    #[test]
    fn what_is_no_form_is_declined() {
        let nested = form(json!({"f": {"type": "object"}}), json!([]));
        assert_eq!(yes(json!({}), &nested), json!({"action": "decline"}));
        let many: Map<String, Value> = (0..200).map(|n| (n.to_string(), json!({"type": "string"}))).collect();
        assert_eq!(yes(json!({}), &form(many.into(), json!([]))), json!({"action": "decline"}));
        assert_eq!(yes(json!({}), &json!({"mode": "url", "url": "https://x"})), json!({"action": "decline"}));
    }

    #[test]
    fn what_is_entered_is_checked_and_keeps_its_raw_name() {
        let schema = json!({"properties": {
            "na\u{1b}[31mme": {"type": "string"}, "age": {"type": "integer"},
            "pets": {"type": "array", "items": {"anyOf": [{"const": "c", "title": "Cat"}, {"const": "d", "title": "Dog"}]}}},
            "required": ["age"]});
        let fields = fields(&schema).unwrap();
        let shown = choices(&server(json!({})), "who?", &fields);
        assert!(!shown[0].question.contains('\u{1b}'), "{:?}", shown[0].question);
        let said =
            |answers: &[&str]| entered(&fields, &answers.iter().map(|a| (*a).to_owned()).collect::<Vec<_>>());
        let answer = said(&["x", "7", "Dog, Cat"]);
        assert_eq!(
            serde_json::to_value(answer).unwrap()["content"],
            json!({"na\u{1b}[31mme": "x", "age": 7, "pets": ["d", "c"]})
        );
        assert_eq!(said(&["x", "seven"]).action, "decline");
        assert_eq!(said(&["x", ""]).action, "decline");
    }

    #[test]
    fn names_that_tell_a_secret() {
        for name in ["password", "apiKey", "api_key", "GITHUB-TOKEN", "pin"] {
            assert!(is_sensitive(name), "{name}");
        }
        for name in ["monkey", "pinned", "author", "username"] {
            assert!(!is_sensitive(name), "{name}");
        }
    }
}
