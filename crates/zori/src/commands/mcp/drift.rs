//! What an MCP server offers, against the table of tools: what the one has and the other has not.

use serde::Serialize;
use serde_json::Value;
use zori_core::tool::ToolKind;
use zori_serve::mcp::PROMPT;
use zori_tools::dialect::{Dialect, Entry, Listed};
use zori_tools::toolset;

/// What differs. A parameter is `TOOL.PARAMETER`.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Drift {
    /// Parameters that the table has and the server does not know.
    added: Vec<String>,
    /// Parameters and tools that the server offers and the table does not know.
    removed: Vec<String>,
    /// Parameters of another type, or needed by one of them only.
    changed: Vec<String>,
    /// Tools that the server does not offer.
    missing_from_mcp: Vec<String>,
}

impl Drift {
    /// Compares a server's list of tools with the table, as the dialect names them. What needs a model of ours is not
    /// offered: the caller has one.
    pub(super) fn between(dialect: &Dialect, offered: &[Value]) -> Self {
        let mut drift = Self::default();
        let mut known = vec![PROMPT.to_owned()];
        for entry in dialect.tools.iter().filter(|entry| is_offered(entry)) {
            let def = toolset::def(entry.kind);
            let spec = entry.spec(def);
            let schema = serde_json::from_str(spec.schema.get()).expect("a schema is JSON");
            match offered.iter().find(|tool| tool["name"] == spec.name.as_str()) {
                Some(tool) => drift.compare(&spec.name, &schema, &tool["inputSchema"]),
                None => drift.missing_from_mcp.push(spec.name.clone()),
            }
            known.push(spec.name);
        }
        let names = offered.iter().filter_map(|tool| tool["name"].as_str());
        drift
            .removed
            .extend(names.filter(|name| !known.iter().any(|known| known == name)).map(str::to_owned));
        drift
    }

    fn compare(&mut self, tool: &str, ours: &Value, theirs: &Value) {
        for name in names(ours) {
            let parameter = format!("{tool}.{name}");
            match theirs["properties"].get(name) {
                None => self.added.push(parameter),
                Some(property) => {
                    let same = *property == ours["properties"][name];
                    if !same || is_required(ours, name) != is_required(theirs, name) {
                        self.changed.push(parameter);
                    }
                }
            }
        }
        let unknown = names(theirs).filter(|name| ours["properties"].get(*name).is_none());
        self.removed.extend(unknown.map(|name| format!("{tool}.{name}")));
    }

    /// Says in a line whether there is any.
    pub(super) fn verdict(&self) -> Result<String, String> {
        let parts: Vec<_> = [
            ("added", &self.added),
            ("removed", &self.removed),
            ("changed", &self.changed),
            ("missing", &self.missing_from_mcp),
        ]
        .into_iter()
        .filter(|(_, names)| !names.is_empty())
        .map(|(what, names)| format!("{what}: {}", names.join(", ")))
        .collect();
        match parts.is_empty() {
            true => Ok("what it offers is what there is".to_owned()),
            false => Err(parts.join("; ")),
        }
    }
}

fn names(schema: &Value) -> impl Iterator<Item = &str> {
    schema["properties"].as_object().into_iter().flat_map(|properties| properties.keys().map(String::as_str))
}

fn is_required(schema: &Value, name: &str) -> bool {
    schema["required"].as_array().is_some_and(|required| required.iter().any(|one| one == name))
}

/// Returns whether a client is offered a tool from the start: the tools for background jobs come with the first one.
fn is_offered(entry: &Entry) -> bool {
    entry.kind != ToolKind::Task && entry.listed == Listed::Always
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zori_tools::dialect;

    use super::*;

    /// What a server that keeps to the table offers.
    fn offered() -> Vec<Value> {
        let tools = dialect::ZORI.tools.iter().filter(|entry| is_offered(entry)).map(|entry| {
            let spec = entry.spec(toolset::def(entry.kind));
            json!({"name": spec.name, "inputSchema": serde_json::from_str::<Value>(spec.schema.get()).unwrap()})
        });
        tools.chain([json!({"name": PROMPT})]).collect()
    }

    #[test]
    fn none() {
        let drift = Drift::between(&dialect::ZORI, &offered());
        assert_eq!(drift, Drift::default());
        assert_eq!(drift.verdict(), Ok("what it offers is what there is".to_owned()));
    }

    #[test]
    fn every_kind() {
        let mut tools = offered();
        tools.retain(|tool| tool["name"] != "ls");
        tools.push(json!({"name": "teleport"}));
        let read = tools.iter_mut().find(|tool| tool["name"] == "read").unwrap();
        let properties = read["inputSchema"]["properties"].as_object_mut().unwrap();
        properties.remove("limit");
        properties.insert("colour".to_owned(), json!({"type": "string"}));
        read["inputSchema"]["required"] = json!([]);
        let drift = Drift::between(&dialect::ZORI, &tools);
        assert_eq!(
            drift.verdict(),
            Err("added: read.limit; removed: read.colour, teleport; changed: read.path; missing: ls"
                .to_owned())
        );
    }
}
