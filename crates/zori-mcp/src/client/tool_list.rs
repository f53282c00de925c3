//! The tools of a server as it lists them, within bounds, and the names they have here (MCP-40, EXT-62).

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use zori_core::text;

use super::schema_check::misfit;

/// How long a schema may be.
const MAX_SCHEMA: usize = 64 << 10;
/// How long a description may be.
const MAX_DESCRIPTION: usize = 4 << 10;
/// How long the name of a tool may be here.
const MAX_ID: usize = 64;
/// So many tools of all servers count.
pub const MAX_TOOLS: usize = 2000;

/// A tool as its server lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ListedTool {
    /// Its name on the server.
    pub name: String,
    /// What it says it does.
    pub description: String,
    /// The schema of its arguments, unchanged.
    pub schema: Value,
    /// Whether it says that it only reads.
    pub reads_only: bool,
    /// The hash of all that it says of itself (MCP-42).
    pub digest: String,
    /// The schema of its structured results, as it is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<Value>,
}

impl ListedTool {
    /// Reads a tool of a list. An error says why it is left out.
    pub fn read(tool: &Value) -> Result<Self, String> {
        let name = tool["name"].as_str().filter(|name| !name.is_empty()).ok_or("a tool has no name")?;
        let schema = match &tool["inputSchema"] {
            schema @ Value::Object(_) => schema.clone(),
            _ => json!({"type": "object"}),
        };
        let bytes = schema.to_string().len();
        if bytes > MAX_SCHEMA {
            return Err(format!("the schema of `{name}` has {bytes} bytes, more than {MAX_SCHEMA}"));
        }
        let told = tool["description"].as_str().unwrap_or_default();
        let visible: String = told.chars().filter(|c| !text::invisible(*c)).collect();
        let description = text::prefix(visible.trim(), MAX_DESCRIPTION).to_owned();
        let mut hash = blake3::Hasher::new();
        for part in [name, told, &schema.to_string(), &tool["annotations"].to_string()] {
            hash.update(&(part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        Ok(Self {
            name: name.to_owned(),
            description,
            schema,
            reads_only: tool["annotations"]["readOnlyHint"] == true,
            digest: hash.finalize().to_hex()[..32].to_owned(),
            output_schema: tool.get("outputSchema").filter(|schema| fits_bounds(schema)).cloned(),
        })
    }

    /// Returns the name it has here.
    pub fn id(&self, server: &str) -> String {
        tool_id(server, &self.name)
    }

    /// Returns how many bytes it adds to a request.
    pub fn bytes(&self, server: &str) -> usize {
        self.id(server).len() + self.description.len() + self.schema.to_string().len()
    }

    /// Says what is wrong with arguments.
    pub fn misfit(&self, arguments: &Value) -> Option<String> {
        misfit(&self.schema, arguments)
    }

    /// Says how a result breaks the schema that the tool gave for it (MCP-50); one that failed need not fit.
    pub fn broken_output(&self, result: &Value) -> Option<String> {
        let schema = self.output_schema.as_ref().filter(|_| result["isError"] != true)?;
        if !schema.is_object() {
            return Some("that is no schema".to_owned());
        }
        match &result["structuredContent"] {
            structured @ Value::Object(_) => misfit(schema, structured),
            _ => Some("it has no structured content".to_owned()),
        }
    }
}

/// Returns whether a schema of results is one that is kept.
fn fits_bounds(schema: &Value) -> bool {
    !schema.is_null() && schema.to_string().len() <= MAX_SCHEMA
}

/// Returns the name that a tool of a server has here: one that is too long is cut, and ends in a hash of the whole.
pub fn tool_id(server: &str, tool: &str) -> String {
    let fits = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' };
    let whole = format!("mcp__{server}__{tool}");
    let id: String = whole.chars().map(fits).collect();
    if id.len() <= MAX_ID {
        return id;
    }
    let hash = blake3::hash(whole.as_bytes()).to_hex();
    format!("{}_{}", &id[..MAX_ID - 9], &hash[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids() {
        assert_eq!(tool_id("gh", "get_issue"), "mcp__gh__get_issue");
        assert_eq!(tool_id("gh", "get.issue/2"), "mcp__gh__get_issue_2");
        let long = tool_id("gh", &"x".repeat(80));
        assert_eq!((long.len(), &long[55..56]), (64, "_"));
        assert_ne!(long, tool_id("gh", &"x".repeat(81)));
    }

    #[test]
    fn bounds() {
        let tool =
            json!({"name": "t", "description": format!("a\u{200b}b{}", "c".repeat(5000)), "inputSchema": 5});
        let read = ListedTool::read(&tool).unwrap();
        assert!(read.description.starts_with("abc") && read.description.len() == 4096);
        assert_eq!(read.schema, json!({"type": "object"}));
        let large = json!({"name": "t", "inputSchema": {"type": "object", "x": "y".repeat(70_000)}});
        assert!(ListedTool::read(&large).is_err());
    }

    #[test]
    fn arguments_against_the_schema() {
        let tool = json!({"name": "t", "inputSchema": {"type": "object", "required": ["a"],
            "properties": {"a": {"type": "integer"}}, "additionalProperties": false}});
        let tool = ListedTool::read(&tool).unwrap();
        assert_eq!(tool.misfit(&json!({"a": 1})), None);
        assert_eq!(tool.misfit(&json!({})).unwrap(), "`a` is missing");
        assert_eq!(tool.misfit(&json!({"a": "x"})).unwrap(), "`a` must be of the type integer");
        assert_eq!(tool.misfit(&json!({"a": 1, "b": 2})).unwrap(), "there is no field `b`; there are a");
    }

    /// MCP-50.
    #[test]
    fn results_against_their_schema() {
        let told = |schema: Value, result: Value| {
            ListedTool::read(&json!({"name": "t", "outputSchema": schema})).unwrap().broken_output(&result)
        };
        let schema =
            || json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
        let fits = json!({"structuredContent": {"n": 1}});
        assert_eq!(told(schema(), fits.clone()), None);
        assert_eq!(told(Value::Null, json!({})), None);
        assert_eq!(told(schema(), json!({"isError": true})), None);
        assert_eq!(told(schema(), json!({})).unwrap(), "it has no structured content");
        assert_eq!(told(schema(), json!({"structuredContent": {}})).unwrap(), "`n` is missing");
        let text = json!({"structuredContent": {"n": "1"}});
        assert_eq!(told(schema(), text).unwrap(), "`n` must be of the type integer");
        assert_eq!(told(json!(7), fits).unwrap(), "that is no schema");
    }
}
