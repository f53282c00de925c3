//! `--raw-payload`: the arguments of a call as one JSON object, for programs that would rather not write a command line.
//!
//! A field is called as its flag is, without dashes, or as its argument. The values are checked like typed ones, so that
//! nothing is allowed this way that would not be allowed otherwise.

use serde_json::{Map, Value};

use crate::args::Args;
use crate::failure::{Issue, IssueCode};
use crate::flag::framework::RAW_PAYLOAD;
use crate::flag::{Flag, Positional};
use crate::kind::Kind;

/// Takes the fields of the object over, beside what was typed. Returns what is wrong with them.
pub fn take(args: &mut Args, flags: &[Flag], positionals: &[Positional]) -> Vec<Issue> {
    let param = RAW_PAYLOAD.param();
    let mut issues = Vec::new();
    for text in args.all(&RAW_PAYLOAD).to_vec() {
        let fields: Map<String, Value> = match serde_json::from_str(&text) {
            Ok(Value::Object(fields)) => fields,
            Ok(_) => {
                let message = format!("`{param}` takes a JSON object, such as {{\"limit\": 5}}");
                issues.push(Issue::new(&param, IssueCode::InvalidValue, message).value(text));
                continue;
            }
            // The kind of the flag says what is wrong with the JSON.
            Err(_) => continue,
        };
        for (name, value) in fields {
            issues.extend(field(args, flags, positionals, &name, value));
        }
    }
    // The parser has counted only what was typed.
    for twice in positionals.iter().filter(|arg| !arg.many && args.all(*arg).len() > 1) {
        let values = args.all(twice).join(", ");
        let message = format!("`{}` is there {} times", twice.name, args.all(twice).len());
        issues.push(Issue::new(twice.name, IssueCode::RepeatedArgument, message).value(values));
    }
    issues
}

/// Takes one field over, or says what is wrong with it.
fn field(
    args: &mut Args,
    flags: &[Flag],
    positionals: &[Positional],
    name: &str,
    value: Value,
) -> Option<Issue> {
    let wrong =
        |code, message: String| Issue::new(&RAW_PAYLOAD.param(), code, message).value(name.to_owned());
    let dashed = name.replace('_', "-");
    let flag = flags.iter().find(|flag| flag.is_called(&dashed) && flag.long != RAW_PAYLOAD.long);
    let positional = positionals.iter().find(|positional| positional.name.eq_ignore_ascii_case(name));
    let (known, switch) = match (flag, positional) {
        (_, Some(positional)) => (positional.name, false),
        (Some(flag), None) => (flag.long, matches!(flag.kind, Kind::Switch)),
        (None, None) => {
            let message =
                format!("`{name}` in `--raw-payload` is neither a flag nor an argument of this command");
            return Some(wrong(IssueCode::UnknownArgument, message));
        }
    };
    let values = match value {
        Value::Array(values) => values,
        Value::Null => Vec::new(),
        value => vec![value],
    };
    for value in values {
        let text = match value {
            Value::Bool(on) if switch => match on {
                true => "true".to_owned(),
                false => continue,
            },
            other if switch => {
                let message = format!("`{name}` in `--raw-payload` is a switch: true or false, not {other}");
                return Some(wrong(IssueCode::InvalidValue, message));
            }
            Value::String(text) => text,
            other => other.to_string(),
        };
        args.push_named(known, text);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(payload: &str) -> (Vec<(String, Vec<String>)>, Vec<String>) {
        let flags = [
            Flag::valued("limit", "N", Kind::Int { min: 0, max: 9 }, "At most"),
            Flag::valued("dry-run-of", "X", Kind::Text, "What").many(),
            Flag::switch("yes", "Agree").aliases(&["auto"]),
            RAW_PAYLOAD,
        ];
        let mut args = Args::default();
        args.push(&RAW_PAYLOAD, payload);
        let issues = take(&mut args, &flags, &[Positional::required("ID", Kind::Text, "It")]);
        let taken = args.iter().filter(|(name, _)| *name != RAW_PAYLOAD.long);
        let taken = taken.map(|(name, values)| (name.to_owned(), values.to_vec())).collect();
        (taken, issues.into_iter().map(|issue| issue.message).collect())
    }

    #[test]
    fn fields_become_arguments() {
        let (taken, issues) = taken(
            r#"{"limit": 5, "id": "x", "dry_run_of": ["a", {"b": 1}], "auto": true, "yes": false, "ID": null}"#,
        );
        let wanted =
            [("ID", &["x"][..]), ("dry-run-of", &["a", r#"{"b":1}"#]), ("limit", &["5"]), ("yes", &["true"])];
        let wanted =
            wanted.map(|(name, values)| (name.to_owned(), values.iter().map(|v| (*v).to_owned()).collect()));
        assert_eq!((taken, issues), (wanted.into(), vec![]));
    }

    #[test]
    fn what_does_not_fit() {
        for (payload, wanted) in [
            ("[1]", "`--raw-payload` takes a JSON object, such as {\"limit\": 5}"),
            (r#"{"nope": 1}"#, "`nope` in `--raw-payload` is neither a flag nor an argument of this command"),
            (
                r#"{"raw-payload": "{}"}"#,
                "`raw-payload` in `--raw-payload` is neither a flag nor an argument of this command",
            ),
            (r#"{"yes": "no"}"#, "`yes` in `--raw-payload` is a switch: true or false, not \"no\""),
        ] {
            assert_eq!(taken(payload), (vec![], vec![wanted.to_owned()]));
        }
    }
}
