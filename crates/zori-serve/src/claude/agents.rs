//! Sub-agents as a caller describes them, in `--agents` and in `initialize`: one object, by name.

use serde_json::{Map, Value};
use zori_core::provider::Effort;

use super::client;
use zori_host::AgentDescription;

/// Fields that are understood.
const KNOWN: &[&str] = &["description", "prompt", "tools", "disallowedTools", "model", "effort"];

/// Fields that bound a sub-agent, and cannot be held here: who relies on one has to know.
const REFUSED: &[(&str, &str)] = &[
    ("maxTurns", "`--max-turns` bounds the whole run"),
    (
        "permissionMode",
        "a sub-agent has the mode of the session, and `tools` or `disallowedTools` give it less",
    ),
];

/// What a caller said.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ReadAgents {
    /// The sub-agents, by name.
    pub agents: Vec<AgentDescription>,
    /// What of it has no effect, a sentence each.
    pub remarks: Vec<String>,
}

/// Reads an object of sub-agents. An error names the field.
pub fn read(agents: &Value) -> Result<ReadAgents, String> {
    let Value::Object(agents) = agents else {
        return Err("the sub-agents must be an object, by name".into());
    };
    let mut described = ReadAgents::default();
    for (name, fields) in agents {
        if let Some(why) = bad_name(name) {
            return Err(format!("`{name}` cannot be a sub-agent: {why}"));
        }
        let Value::Object(fields) = fields else { return Err(format!("`{name}` must be an object")) };
        let given = |key: &str| fields.get(key).is_some_and(|value| !value.is_null());
        if let Some((key, instead)) = REFUSED.iter().find(|(key, _)| given(key)) {
            return Err(format!("`{name}.{key}` is not supported: {instead}"));
        }
        described.agents.push(one(name, fields)?);
        if given("skills") {
            let why = format!(
                "`skills` of the sub-agent `{name}` has no effect: it can load every skill of the session"
            );
            described.remarks.push(why);
        }
        let others = fields
            .iter()
            .filter(|(key, value)| !KNOWN.contains(&key.as_str()) && *key != "skills" && !value.is_null());
        let others: Vec<_> = others.map(|(key, _)| key.as_str()).collect();
        if !others.is_empty() {
            let others = others.join("`, `");
            described.remarks.push(format!("`{others}` of the sub-agent `{name}` has no effect here"));
        }
    }
    Ok(described)
}

fn one(name: &str, fields: &Map<String, Value>) -> Result<AgentDescription, String> {
    let text = |key: &str| match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{name}.{key}` must be a string")),
    };
    let needed = |key: &str| {
        let text = text(key)?.filter(|text| !text.trim().is_empty());
        text.ok_or_else(|| format!("`{name}.{key}` is missing"))
    };
    let names = |key: &str| match fields.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Array(list)) => {
            let names: Option<Vec<_>> = list.iter().map(|one| one.as_str().map(str::to_owned)).collect();
            names.map(Some).ok_or_else(|| format!("`{name}.{key}` must be a list of names"))
        }
        Some(_) => Err(format!("`{name}.{key}` must be a list of names")),
    };
    Ok(AgentDescription {
        name: name.to_owned(),
        about: needed("description")?,
        prompt: needed("prompt")?,
        tools: names("tools")?,
        without: names("disallowedTools")?.unwrap_or_default(),
        model: text("model")?,
        effort: effort(name, fields.get("effort"))?,
        unheard: Vec::new(),
        file: None,
    })
}

fn effort(name: &str, level: Option<&Value>) -> Result<Option<Effort>, String> {
    match level {
        None | Some(Value::Null) => Ok(None),
        // SDKs may give a number of tokens, too.
        Some(Value::Number(tokens)) if tokens.is_u64() => Ok(tokens.as_u64().map(client::effort)),
        Some(Value::String(level)) if level == "xhigh" => Ok(Some(Effort::Max)),
        Some(Value::String(level)) if Effort::by_name(level).is_some() => Ok(Effort::by_name(level)),
        Some(_) => Err(format!("`{name}.effort` must be low, medium, high or max")),
    }
}

/// Returns why a name is none.
pub fn bad_name(name: &str) -> Option<String> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "._:-".contains(c);
    let good = (1..=64).contains(&name.len()) && name.chars().all(fits);
    (!good).then(|| "a name has 1 to 64 letters, digits, `-`, `_`, `.` or `:`".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(json: &str) -> Result<ReadAgents, String> {
        read(&serde_json::from_str(json).unwrap())
    }

    #[test]
    fn all_that_can_be_said() {
        let full = check(
            r#"{"reviewer":{"description":"d","prompt":"p","tools":["Read"],"disallowedTools":["Bash"],"model":"haiku",
                "effort":"high","color":"blue","skills":null}}"#,
        );
        let reviewer = AgentDescription {
            name: "reviewer".into(),
            about: "d".into(),
            prompt: "p".into(),
            tools: Some(vec!["Read".into()]),
            without: vec!["Bash".into()],
            model: Some("haiku".into()),
            effort: Some(Effort::High),
            unheard: Vec::new(),
            file: None,
        };
        let remarks = vec!["`color` of the sub-agent `reviewer` has no effect here".to_owned()];
        assert_eq!(full, Ok(ReadAgents { agents: vec![reviewer], remarks }));
        assert_eq!(check("{}"), Ok(ReadAgents::default()));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (json, why) in [
            ("[]", "the sub-agents must be an object, by name"),
            (
                r#"{"a b":{}}"#,
                "`a b` cannot be a sub-agent: a name has 1 to 64 letters, digits, `-`, `_`, `.` or `:`",
            ),
            (r#"{"a":1}"#, "`a` must be an object"),
            (r#"{"a":{"prompt":"p"}}"#, "`a.description` is missing"),
            (r#"{"a":{"description":"d","prompt":" "}}"#, "`a.prompt` is missing"),
            (r#"{"a":{"description":"d","prompt":7}}"#, "`a.prompt` must be a string"),
            (r#"{"a":{"description":"d","prompt":"p","tools":"Read"}}"#, "`a.tools` must be a list of names"),
            (r#"{"a":{"description":"d","prompt":"p","tools":[1]}}"#, "`a.tools` must be a list of names"),
            (
                r#"{"a":{"description":"d","prompt":"p","effort":"much"}}"#,
                "`a.effort` must be low, medium, high or max",
            ),
        ] {
            assert_eq!(check(json), Err(why.to_owned()), "{json}");
        }
    }

    #[test]
    fn names() {
        let bad: Vec<_> = ["a", "code-reviewer", "x:y.z_1", "", "a b", "a\u{1b}", "ä"]
            .into_iter()
            .filter(|name| bad_name(name).is_some())
            .collect();
        assert_eq!(bad, ["", "a b", "a\u{1b}", "ä"]);
        assert!(bad_name(&"a".repeat(65)).is_some());
    }
}
