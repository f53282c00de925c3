//! JSON against a JSON Schema, by a validator that is not ours.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

/// Panics if the value does not fit the schema, with everything that is wrong.
///
/// # Panics
///
/// When it does not fit, or the schema itself is invalid.
#[track_caller]
pub fn assert_valid(schema: &Value, value: &Value) {
    let validator = jsonschema::validator_for(schema).expect("a schema is valid");
    let errors: Vec<_> =
        validator.iter_errors(value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(errors.is_empty(), "{}\n{value:#}", errors.join("\n"));
}

/// Returns a published schema if the specifications lie beside the project, with what it refers to in place.
///
/// # Panics
///
/// When the folder is there and lacks the schema.
pub fn published(name: &str) -> Option<Value> {
    let folder = specifications()?.join("schemas");
    let load = |name: &str| -> Value {
        let bytes = std::fs::read(folder.join(name)).expect("the folder has all schemas");
        let mut schema: Map<String, Value> = serde_json::from_slice(&bytes).expect("a schema is an object");
        schema.remove("$id");
        Value::Object(schema)
    };
    let mut schema = load(name);
    let entries = "/definitions/CommandEntry/properties/exit_codes/additionalProperties";
    if let Some(place) = schema.pointer_mut(entries) {
        *place = load("exit-code-entry.json");
    }
    Some(schema)
}

/// Returns the folder of the specifications, if it lies beside the project or beside a folder around it.
pub fn specifications() -> Option<PathBuf> {
    let ancestors = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
    ancestors.map(|folder| folder.join("shared/specs")).find(|folder| folder.join("schemas").is_dir())
}
