//! Forms of servers (MCP-70, MCP-71): read, put to whoever can answer, checked, and answered. What is answered is never logged.

use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::{Map, Value, json};
use zori_core::BoxFuture;
use zori_core::question::{CANCEL, Choice, ChoiceOption, DECLINE, FormField, FormPart, SEND};
use zori_core::text;
use zori_core::tool::AskUser;

use super::config::ServerConfig;

/// So long a form may stay open.
const OPEN: Duration = Duration::from_secs(120);
/// So many fields a form may have.
const MAX_FIELDS: usize = 50;
/// So often a form is put to somebody whose entries do not fit it.
const MAX_TRIES: usize = 3;
/// So much of an address is shown.
const MAX_URL: usize = 2000;
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
    pub server: &'a str,
    /// What it asks, behind a warning where a field looks like a secret.
    pub message: &'a str,
    /// Its fields, as a JSON schema.
    pub schema: &'a Value,
}

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
        if let Some((asker, why)) = asker.zip(page(server, params)) {
            asker.warn(why);
        }
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
            let filled = tokio::time::timeout(OPEN, put(server, message, &fields, &*asker));
            filled.await.unwrap_or_else(|_| FormAnswer::without("cancel"))
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

/// Says which page a server wants to have opened, which nobody does for it.
pub fn page(server: &ServerConfig, params: &Value) -> Option<String> {
    let url = text::one_line(params["url"].as_str()?).into_owned();
    let url = text::prefix(&url, MAX_URL);
    Some(format!("the MCP server `{}` wants a page to be opened, which is declined: {url}", server.name))
}

/// Puts a form to somebody, and again what does not fit.
async fn put(server: &ServerConfig, message: &str, fields: &[Field], asker: &dyn AskUser) -> FormAnswer {
    let mut content = Map::new();
    let (mut message, mut open) = (message.to_owned(), fields.iter().collect::<Vec<_>>());
    for _ in 0..MAX_TRIES {
        let Some(answers) = asker.ask(choices(server, &message, &open)).await else {
            return FormAnswer::without("decline");
        };
        match answers.get(open.len()).map(String::as_str) {
            // An answer without any words takes the form as it is.
            None | Some(SEND) => {}
            Some(DECLINE) => return FormAnswer::without("decline"),
            Some(_) => return FormAnswer::without("cancel"),
        }
        let wrong = entered(&open, &answers, &mut content);
        if wrong.is_empty() {
            // In the order of the form, whatever was asked again.
            let entry = |field: &Field| content.remove_entry(&field.name);
            let content = fields.iter().filter_map(entry).collect();
            return FormAnswer { action: "accept", content: Some(content), meta: None };
        }
        message = wrong.iter().map(|(_, why)| why.as_str()).collect::<Vec<_>>().join("; ");
        open = wrong.into_iter().map(|(field, _)| field).collect();
    }
    asker.warn(format!("the form of the MCP server `{}` is declined: {message}", server.name));
    FormAnswer::without("decline")
}

/// Says that a field looks like a secret (NFR-008).
fn warning(server: &ServerConfig, field: &Field) -> String {
    let name = text::one_line(&field.name);
    format!("WARNING: `{name}` looks like a secret, and goes to the MCP server `{}`.", server.name)
}

/// Returns the names of the fields of a form that look like a secret.
pub fn secret_fields(schema: &Value) -> Vec<String> {
    let secret = fields(schema).into_iter().flatten().filter(|field| field.sensitive);
    secret.map(|field| field.name).collect()
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

fn choices(server: &ServerConfig, message: &str, fields: &[&Field]) -> Vec<Choice> {
    let visible: String = message.chars().filter(|c| !text::invisible(*c)).collect();
    let intro = format!("The MCP server `{}` asks: {}", server.name, text::prefix(visible.trim(), 2000));
    let choice = |(at, field): (usize, &&Field)| {
        let before = if at == 0 { format!("{intro}\n") } else { String::new() };
        field.choice(server, &before)
    };
    let option = |label: &str| ChoiceOption { label: label.to_owned(), description: None };
    let end = Choice {
        question: if fields.is_empty() { intro.clone() } else { format!("Send this to `{}`?", server.name) },
        header: Some(server.name.clone()),
        options: [SEND, DECLINE, CANCEL].map(option).to_vec(),
        multiple: false,
        secret: false,
        form: Some(FormPart::End),
    };
    fields.iter().enumerate().map(choice).chain([end]).collect()
}

impl Field {
    /// Returns the question for it.
    fn choice(&self, server: &ServerConfig, before: &str) -> Choice {
        let option = |label: &str| ChoiceOption { label: label.to_owned(), description: None };
        let (options, multiple, kind) = match &self.kind {
            FieldKind::Text => (Vec::new(), false, "string"),
            FieldKind::Number { whole: true } => (Vec::new(), false, "integer"),
            FieldKind::Number { whole: false } => (Vec::new(), false, "number"),
            FieldKind::Flag => (vec![option("yes"), option("no")], false, "boolean"),
            FieldKind::One(values) => {
                (values.iter().map(|(_, shown)| option(shown)).collect(), false, "enum")
            }
            FieldKind::Several(values) => {
                (values.iter().map(|(_, shown)| option(shown)).collect(), true, "enum")
            }
        };
        let default = self.default.as_ref().map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        });
        let hint = match (default, self.required) {
            (Some(default), _) => format!(" [{}]", text::one_line(&default)),
            (None, false) => " (may stay empty)".to_owned(),
            (None, true) => String::new(),
        };
        let warning = match self.sensitive {
            true => format!("{} ", warning(server, self)),
            false => String::new(),
        };
        let (name, required, default) = (self.name.clone(), self.required, self.default.clone());
        Choice {
            question: format!("{before}{warning}{}{hint}", self.shown),
            header: Some(server.name.clone()),
            options,
            multiple,
            secret: self.sensitive,
            form: Some(FormPart::Field(FormField { name, kind, required, default })),
        }
    }

    /// Says what it takes.
    fn takes(&self) -> &'static str {
        match &self.kind {
            FieldKind::Text => "text",
            FieldKind::Number { whole: true } => "a whole number",
            FieldKind::Number { whole: false } => "a number",
            FieldKind::Flag => "yes or no",
            FieldKind::One(_) => "one of its values",
            FieldKind::Several(_) => "some of its values",
        }
    }
}

/// Takes over what was entered, and returns the fields that it does not fit, with why. What was entered is not repeated: it may be a secret.
fn entered<'f>(
    fields: &[&'f Field],
    answers: &[String],
    content: &mut Map<String, Value>,
) -> Vec<(&'f Field, String)> {
    let mut wrong = Vec::new();
    for (field, answer) in fields.iter().zip(answers.iter().map(String::as_str).chain(std::iter::repeat("")))
    {
        let name = || text::one_line(&field.name).into_owned();
        match (answer.trim(), &field.default) {
            ("", Some(default)) => drop(content.insert(field.name.clone(), default.clone())),
            ("", None) if field.required => wrong.push((*field, format!("`{}` has to be filled in", name()))),
            ("", None) => {}
            (answer, _) => match value(&field.kind, answer) {
                Some(value) => drop(content.insert(field.name.clone(), value)),
                None => wrong.push((*field, format!("`{}` takes {}", name(), field.takes()))),
            },
        }
    }
    wrong
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
        FieldKind::Several(values) => several(values, answer).map(Value::from),
    }
}

/// Returns the values that a text names, with commas between them; what is shown of one may have commas itself.
fn several(values: &[(Value, String)], answer: &str) -> Option<Vec<Value>> {
    let (mut found, mut rest) = (Vec::new(), answer.trim());
    while !rest.is_empty() {
        let behind = |word: &str| {
            let behind = rest.strip_prefix(word).filter(|_| !word.is_empty())?.trim_start();
            (behind.is_empty() || behind.starts_with(',')).then_some(behind)
        };
        let spelled = |(value, shown): &(Value, String)| {
            let left = [behind(shown), value.as_str().and_then(behind)].into_iter().flatten();
            left.min_by_key(|left| left.len()).map(|left| (left, value.clone()))
        };
        let (left, value) = values.iter().filter_map(spelled).min_by_key(|(left, _)| left.len())?;
        found.push(value);
        rest = left.trim_start_matches(',').trim_start();
    }
    Some(found)
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
mod tests;
