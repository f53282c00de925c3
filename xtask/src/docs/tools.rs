//! The page of tools: what the model is shown, and the names other clients know the tools by.

use serde_json::Value;
use zori_tools::def::ToolDef;
use zori_tools::dialect::{self, Entry};
use zori_tools::toolset::{DEFS, def};

use super::cell;

pub fn page() -> String {
    let mut page = String::from(
        "# Tools\n\n\
         What the model is shown, word for word. A tool answers `{\"ok\":true,\"data\":{..}}`, or an error with one of the\n\
         [codes](tool-errors.md). The same tools have other names for other clients; any of them is understood.\n",
    );
    for entry in dialect::ZORI.tools {
        page.push_str(&tool(entry, def(entry.kind)));
    }
    page.push_str("\n## Names by dialect\n\n");
    page.push_str(&names());
    page
}

/// Returns the names of the tools shown by default.
pub fn tool_names() -> impl Iterator<Item = &'static str> {
    dialect::ZORI.tools.iter().map(|entry| entry.name)
}

fn tool(entry: &Entry, def: &ToolDef) -> String {
    let spec = entry.spec(def);
    let mut text = format!("\n## `{}`\n\n{}\n\n", spec.name, spec.description);
    let schema: Value = serde_json::from_str(spec.schema.get()).expect("a schema is JSON");
    let required: Vec<&str> =
        schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    text.push_str("| parameter | type | required | meaning |\n|---|---|---|---|\n");
    // The schema's own order is lost in a map; the table of fields has it.
    for field in entry.fields {
        let param = &schema["properties"][field.name];
        text.push_str(&format!(
            "| `{}` | {} | {} | {} |\n",
            field.name,
            kind(param),
            if required.contains(&field.name) { "yes" } else { "" },
            cell(param["description"].as_str().unwrap_or_default()),
        ));
    }
    text
}

/// Returns a parameter's type in words.
fn kind(param: &Value) -> String {
    if let Some(choices) = param["enum"].as_array() {
        let choices: Vec<_> = choices.iter().filter_map(Value::as_str).map(|c| format!("`{c}`")).collect();
        return choices.join(", ");
    }
    match param["type"].as_str() {
        Some("array") => {
            let item = &param["items"];
            let fields: Vec<_> = item["properties"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(name, _)| format!("`{name}`"))
                .collect();
            match fields.as_slice() {
                [] => format!("list of {}", item["type"].as_str().unwrap_or("values")),
                fields => format!("list of objects: {}", fields.join(", ")),
            }
        }
        Some(other) => other.to_owned(),
        None => String::new(),
    }
}

fn names() -> String {
    let heads: Vec<_> = dialect::ALL.iter().map(|dialect| dialect.name).collect();
    let mut text = format!("| {} |\n|{}\n", heads.join(" | "), "---|".repeat(heads.len()));
    for def in DEFS {
        let cells = dialect::ALL.iter().map(|dialect| {
            dialect.shows(def.kind).map_or(String::new(), |entry| format!("`{}`", entry.name))
        });
        text.push_str(&format!("| {} |\n", cells.collect::<Vec<_>>().join(" | ")));
    }
    text
}
