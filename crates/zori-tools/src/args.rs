//! Checks and coerces a call's arguments by the tool's parameter table, and renders the table as a JSON schema.
//!
//! Nothing here knows a dialect: a dialect passes the names it shows (see [`crate::dialect`]).

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use crate::def::{Need, Param, Ty};

/// A parameter under the name a dialect shows it by.
#[derive(Clone, Copy, Debug)]
pub struct NamedParam<'a> {
    /// The parameter.
    pub param: &'a Param,
    /// What it is called there.
    pub name: &'a str,
    /// What it means, written for the model.
    pub about: &'a str,
}

/// Why arguments cannot be used. The text names the field.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ArgsError {
    #[error("the arguments must be a JSON object, not {0}")]
    NotObject(&'static str),
    /// Not JSON, or nested too deeply to be read.
    #[error("the arguments cannot be read: {0}")]
    Unreadable(String),
    /// A required field is not there.
    #[error("missing field `{0}`")]
    Missing(String),
    /// A field holds something else.
    #[error("field `{field}` must be {wanted}, not {found}")]
    Wrong {
        field: String,
        /// What it should hold.
        wanted: String,
        /// What it holds.
        found: String,
    },
    /// A field that is known but not supported.
    #[error("`{0}` is not supported here; leave it out")]
    Unsupported(String),
}

/// Reads canonical arguments into a tool's own struct.
pub fn typed<T: DeserializeOwned>(args: &RawValue) -> T {
    serde_json::from_str(args.get()).expect("`Toolbox::resolve` has checked the arguments against the table")
}

/// Reads arguments as an object; an object inside a JSON string is accepted as well.
pub fn object(args: &str) -> Result<Map<String, Value>, ArgsError> {
    let unreadable = |e: serde_json::Error| ArgsError::Unreadable(e.to_string());
    let mut value: Value = serde_json::from_str(args).map_err(unreadable)?;
    if let Value::String(text) = &value
        && let Ok(inner @ Value::Object(_)) = serde_json::from_str(text)
    {
        value = inner;
    }
    match value {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        other => Err(ArgsError::NotObject(kind_of(&other))),
    }
}

/// Takes the fields of a table out of `map` and returns them as canonical JSON text, in the table's order. `shown`
/// gives the name a field has in messages. Fields that are not in the table are ignored.
pub fn canonical(
    map: &mut Map<String, Value>,
    params: &[Param],
    shown: &dyn Fn(&Param) -> String,
) -> Result<String, ArgsError> {
    let mut out = String::from("{");
    for param in params {
        let found = std::iter::once(&param.name)
            .chain(param.aliases)
            .find_map(|name| map.remove(*name).filter(|value| !value.is_null()));
        match (found, param.need) {
            (Some(value), _) => {
                if out.len() > 1 {
                    out.push(',');
                }
                out.push_str(&format!("\"{}\":", param.name));
                out.push_str(&coerced(value, &param.ty, &shown(param))?);
            }
            (None, Need::Required) => return Err(ArgsError::Missing(shown(param))),
            (None, Need::Optional) => {}
        }
    }
    out.push('}');
    Ok(out)
}

/// Checks and coerces a single value. `field` is its name in messages.
pub fn checked(value: Value, ty: &Ty, field: &str) -> Result<Value, ArgsError> {
    let text = coerced(value, ty, field)?;
    Ok(serde_json::from_str(&text).expect("coerced values are JSON"))
}

/// Returns the schema of an object with these fields: compact, and the same bytes every time.
pub fn schema(fields: &[NamedParam]) -> String {
    let mut out = String::from(r#"{"type":"object","properties":{"#);
    for (n, field) in fields.iter().enumerate() {
        if n > 0 {
            out.push(',');
        }
        out.push_str(&format!("{}:{}", quoted(field.name), field_schema(field)));
    }
    out.push('}');
    let required: Vec<&str> =
        fields.iter().filter(|f| f.param.need == Need::Required).map(|f| f.name).collect();
    if !required.is_empty() {
        out.push_str(&format!(r#","required":{}"#, strings(&required)));
    }
    out.push('}');
    out
}

/// Lists fields with their types, for a message.
pub fn listed(fields: &[NamedParam]) -> String {
    let item = |f: &NamedParam| match f.param.need {
        Need::Required => format!("`{}` ({}, required)", f.name, noun(&f.param.ty)),
        Need::Optional => format!("`{}` ({})", f.name, noun(&f.param.ty)),
    };
    fields.iter().map(item).collect::<Vec<_>>().join(", ")
}

/// Names the parameters of a table as they are.
pub fn plain(params: &[Param]) -> Vec<NamedParam<'_>> {
    params.iter().map(|param| NamedParam { param, name: param.name, about: param.about }).collect()
}

fn field_schema(field: &NamedParam) -> String {
    let mut out = match &field.param.ty {
        Ty::Text | Ty::Name => r#"{"type":"string""#.to_owned(),
        Ty::Int => r#"{"type":"integer""#.to_owned(),
        Ty::Flag => r#"{"type":"boolean""#.to_owned(),
        Ty::Choice(values) => format!(r#"{{"type":"string","enum":{}"#, strings(values)),
        Ty::TextList => r#"{"type":"array","items":{"type":"string"}"#.to_owned(),
        Ty::Objects(params) => format!(r#"{{"type":"array","items":{}"#, schema(&plain(params))),
    };
    if !field.about.is_empty() {
        out.push_str(&format!(r#","description":{}"#, quoted(field.about)));
    }
    out.push('}');
    out
}

/// Returns a value as JSON text of the type, and accepts the usual near misses of models.
fn coerced(value: Value, ty: &Ty, field: &str) -> Result<String, ArgsError> {
    let wrong = |value: &Value| wrong(field, &noun(ty), value);
    match ty {
        Ty::Text if value.is_string() => Ok(value.to_string()),
        Ty::Text => Err(wrong(&value)),
        Ty::Name => match value {
            Value::String(_) => Ok(value.to_string()),
            Value::Number(number) => Ok(Value::String(number.to_string()).to_string()),
            other => Err(wrong(&other)),
        },
        Ty::Int => int(&value).map(|n| n.to_string()).ok_or_else(|| wrong(&value)),
        Ty::Flag => flag(&value).map(|b| b.to_string()).ok_or_else(|| wrong(&value)),
        Ty::Choice(values) => match &value {
            Value::String(text) if values.contains(&text.as_str()) => Ok(value.to_string()),
            _ => Err(wrong(&value)),
        },
        Ty::TextList => {
            let list = match value {
                Value::String(text) => unpacked(&text).unwrap_or_else(|| vec![Value::String(text)]),
                Value::Array(list) => list,
                other => return Err(wrong(&other)),
            };
            match list.iter().find(|item| !item.is_string()) {
                None => Ok(Value::Array(list).to_string()),
                Some(item) => Err(wrong(item)),
            }
        }
        Ty::Objects(params) => {
            let list = match value {
                Value::String(text) => unpacked(&text).ok_or_else(|| wrong(&Value::String(text)))?,
                Value::Array(list) => list,
                single @ Value::Object(_) => vec![single],
                other => return Err(wrong(&other)),
            };
            let items = list.into_iter().enumerate().map(|(n, item)| {
                let item = match item {
                    Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
                    other => other,
                };
                let Value::Object(mut map) = item else { return Err(wrong(&item)) };
                canonical(&mut map, params, &|param| format!("{field}[{n}].{}", param.name))
            });
            Ok(format!("[{}]", items.collect::<Result<Vec<_>, _>>()?.join(",")))
        }
    }
}

/// Returns the list inside a string that is JSON.
fn unpacked(text: &str) -> Option<Vec<Value>> {
    match serde_json::from_str(text) {
        Ok(Value::Array(list)) => Some(list),
        Ok(single @ Value::Object(_)) => Some(vec![single]),
        _ => None,
    }
}

/// Reads a whole number, also from a string.
pub fn int(value: &Value) -> Option<i64> {
    match value {
        Value::Number(n) => n.as_i64().or_else(|| whole(n.as_f64()?)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// Accepts `5.0` as 5, as long as a float is exact.
fn whole(n: f64) -> Option<i64> {
    (n.fract() == 0.0 && n.abs() < 9e15).then_some(n as i64)
}

/// Reads a truth value, also from a string.
pub fn flag(value: &Value) -> Option<bool> {
    match value {
        Value::Bool(b) => Some(*b),
        Value::String(text) if text.trim().eq_ignore_ascii_case("true") => Some(true),
        Value::String(text) if text.trim().eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn wrong(field: &str, wanted: &str, found: &Value) -> ArgsError {
    let found = match found {
        Value::String(text) if text.len() <= 40 => format!("{text:?}"),
        Value::Number(n) => n.to_string(),
        other => kind_of(other).to_owned(),
    };
    ArgsError::Wrong { field: field.to_owned(), wanted: wanted.to_owned(), found }
}

fn noun(ty: &Ty) -> String {
    match ty {
        Ty::Text => "a string".into(),
        Ty::Name => "a string or number".into(),
        Ty::Int => "an integer".into(),
        Ty::Flag => "a boolean".into(),
        Ty::Choice(values) => format!("one of {}", values.join(", ")),
        Ty::TextList => "a list of strings".into(),
        Ty::Objects(params) => {
            let names: Vec<&str> =
                params.iter().filter(|p| p.need == Need::Required).map(|p| p.name).collect();
            format!("a list of objects with {}", names.join(", "))
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn quoted(text: &str) -> String {
    serde_json::to_string(text).expect("a string is JSON")
}

fn strings(values: &[&str]) -> String {
    serde_json::to_string(values).expect("strings are JSON")
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn param(name: &'static str, ty: Ty, need: Need) -> Param {
        Param { name, aliases: &[], ty, need, about: "" }
    }

    const PARAMS: &[Param] = &[
        Param {
            name: "path",
            aliases: &["file_path"],
            ty: Ty::Text,
            need: Need::Required,
            about: "Which \"file\"",
        },
        param("n", Ty::Int, Need::Optional),
        param("deep", Ty::Flag, Need::Optional),
        param("mode", Ty::Choice(&["a", "b"]), Need::Optional),
        param("tags", Ty::TextList, Need::Optional),
        param(
            "edits",
            Ty::Objects(&[
                Param {
                    name: "old",
                    aliases: &["old_string"],
                    ty: Ty::Text,
                    need: Need::Required,
                    about: "",
                },
                param("all", Ty::Flag, Need::Optional),
            ]),
            Need::Optional,
        ),
    ];

    fn check(args: &str) -> String {
        let checked =
            object(args).and_then(|mut map| canonical(&mut map, PARAMS, &|param| param.name.to_owned()));
        checked.unwrap_or_else(|bad| bad.to_string())
    }

    #[test]
    fn right_arguments_come_out_in_order() {
        assert_eq!(
            check(
                r#"{"mode":"b","tags":["x"],"deep":true,"n":3,"path":"p","edits":[{"all":false,"old":"o"}]}"#
            ),
            r#"{"path":"p","n":3,"deep":true,"mode":"b","tags":["x"],"edits":[{"old":"o","all":false}]}"#
        );
        assert_eq!(check(r#"{"path":"p","unknown":[1],"n":null}"#), r#"{"path":"p"}"#);
    }

    #[test]
    fn near_misses_are_taken_for_what_they_mean() {
        assert_eq!(
            check(
                r#"{"file_path":"p","n":" 12 ","deep":"True","tags":"x","edits":"[{\"old_string\":\"o\"}]"}"#
            ),
            r#"{"path":"p","n":12,"deep":true,"tags":["x"],"edits":[{"old":"o"}]}"#
        );
        assert_eq!(
            check(r#"{"path":"p","n":5.0,"tags":"[\"x\",\"y\"]","edits":{"old":"o","all":"false"}}"#),
            r#"{"path":"p","n":5,"tags":["x","y"],"edits":[{"old":"o","all":false}]}"#
        );
        assert_eq!(check(r#""{\"path\":\"p\"}""#), r#"{"path":"p"}"#);
        assert_eq!(
            check(r#"{"path":"p","edits":["{\"old\":\"o\"}"]}"#),
            r#"{"path":"p","edits":[{"old":"o"}]}"#
        );
    }

    #[test]
    fn wrong_arguments_are_named() {
        let cases = [
            ("{}", "missing field `path`"),
            ("null", "missing field `path`"),
            (r#"{"path":null}"#, "missing field `path`"),
            ("[]", "the arguments must be a JSON object, not a list"),
            (r#""x""#, "the arguments must be a JSON object, not a string"),
            (r#"{"path":7}"#, "field `path` must be a string, not 7"),
            (r#"{"path":"p","n":"seven"}"#, r#"field `n` must be an integer, not "seven""#),
            (r#"{"path":"p","n":1.5}"#, "field `n` must be an integer, not 1.5"),
            (r#"{"path":"p","deep":"maybe"}"#, r#"field `deep` must be a boolean, not "maybe""#),
            (r#"{"path":"p","deep":1}"#, "field `deep` must be a boolean, not 1"),
            (r#"{"path":"p","mode":"c"}"#, r#"field `mode` must be one of a, b, not "c""#),
            (r#"{"path":"p","tags":[1]}"#, "field `tags` must be a list of strings, not 1"),
            (r#"{"path":"p","tags":{}}"#, "field `tags` must be a list of strings, not an object"),
            (r#"{"path":"p","edits":"x"}"#, r#"field `edits` must be a list of objects with old, not "x""#),
            (r#"{"path":"p","edits":[{}]}"#, "missing field `edits[0].old`"),
            (
                r#"{"path":"p","edits":[{"old":"o"},{"old":[]}]}"#,
                "field `edits[1].old` must be a string, not a list",
            ),
        ];
        for (args, message) in cases {
            assert_eq!(check(args), message, "{args}");
        }
    }

    #[test]
    fn deep_nesting_is_refused() {
        let deep =
            |levels: usize| format!(r#"{{"path":"p","x":{}{}}}"#, "[".repeat(levels), "]".repeat(levels));
        assert_eq!(check(&deep(100)), r#"{"path":"p"}"#);
        assert_eq!(
            check(&deep(200)),
            "the arguments cannot be read: recursion limit exceeded at line 1 column 143"
        );
    }

    #[test]
    fn the_table_as_a_schema() {
        assert_eq!(
            schema(&plain(PARAMS)),
            concat!(
                r#"{"type":"object","properties":{"path":{"type":"string","description":"Which \"file\""},"#,
                r#""n":{"type":"integer"},"deep":{"type":"boolean"},"mode":{"type":"string","enum":["a","b"]},"#,
                r#""tags":{"type":"array","items":{"type":"string"}},"edits":{"type":"array","items":"#,
                r#"{"type":"object","properties":{"old":{"type":"string"},"all":{"type":"boolean"}},"#,
                r#""required":["old"]}}},"required":["path"]}"#
            )
        );
        assert_eq!(schema(&[]), r#"{"type":"object","properties":{}}"#);
        assert_eq!(listed(&plain(&PARAMS[..2])), "`path` (a string, required), `n` (an integer)");
    }
}
