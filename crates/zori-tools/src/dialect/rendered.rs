//! A call as a dialect's clients expect it: with the dialect's names for the tool and each field, whichever accepted
//! name the model used (`docs/contracts/claude-protocol.md`).

use serde_json::{Map, Value};

use super::{ALL, Dialect, Entry, Field, Source};
use crate::def::{Param, ToolDef, Ty};
use crate::toolset::def;

/// A call in a dialect's words.
#[derive(Debug, PartialEq, Eq)]
pub struct RenderedCall {
    pub name: String,
    /// The arguments, as JSON text; `None` where they need no other words.
    pub input: Option<String>,
}

impl Dialect {
    /// Renders a call in this dialect. Anything the dialect does not know stays unchanged: fields that are not in the
    /// table, unknown tools, arguments that are not an object.
    pub fn render_call(&self, name: &str, input: &str) -> RenderedCall {
        let as_it_is = || RenderedCall { name: name.to_owned(), input: None };
        let Some(spoken) = self.entry_named(name, |entry| self.shows(entry.kind).is_some()) else {
            return as_it_is();
        };
        let Some(shown) = self.shows(spoken.kind) else { return as_it_is() };
        let Ok(Value::Object(mut map)) = serde_json::from_str(input) else {
            return RenderedCall { name: shown.name.to_owned(), input: None };
        };
        let mut changed = false;
        for field in shown.fields {
            changed |= rename(&mut map, field.name, &spellings(field, spoken, def(shown.kind)));
            if let Source::Own(Param { ty: Ty::Objects(params), .. }) = &field.source
                && let Some(Value::Array(items)) = map.get_mut(field.name)
            {
                for item in items.iter_mut().filter_map(Value::as_object_mut) {
                    for param in *params {
                        changed |= rename(item, param.name, param.aliases);
                    }
                }
            }
        }
        RenderedCall { name: shown.name.to_owned(), input: changed.then(|| Value::Object(map).to_string()) }
    }

    /// Finds the entry that a name means among those that `there` accepts: of this dialect, or of another one if all
    /// others mean the same tool.
    pub(crate) fn entry_named(&self, name: &str, there: impl Fn(&Entry) -> bool) -> Option<&'static Entry> {
        if let Some(entry) = self.find(name).filter(|entry| there(entry)) {
            return Some(entry);
        }
        let others = ALL.iter().filter_map(|dialect| dialect.find(name));
        let mut others = others.filter(|entry| there(entry));
        let entry = others.next()?;
        others.all(|other| other.kind == entry.kind).then_some(entry)
    }
}

/// Returns every other name of a field: the tool's own, and those of the dialect that was spoken.
fn spellings(field: &Field, spoken: &Entry, def: &'static ToolDef) -> Vec<&'static str> {
    let Source::Canonical(canonical) = field.source else { return field.aliases.to_vec() };
    let param = def.params.iter().find(|param| param.name == canonical);
    let own = param.into_iter().flat_map(|param| std::iter::once(&param.name).chain(param.aliases));
    let same = |other: &&Field| matches!(other.source, Source::Canonical(name) if name == canonical);
    let foreign = spoken.fields.iter().filter(same);
    let foreign = foreign.flat_map(|other| std::iter::once(&other.name).chain(other.aliases));
    field.aliases.iter().chain(own).chain(foreign).copied().collect()
}

/// Renames a field in place. A field that already has its name stays.
fn rename(map: &mut Map<String, Value>, name: &str, others: &[&str]) -> bool {
    if map.contains_key(name) {
        return false;
    }
    let Some(other) = others.iter().find(|other| map.contains_key(**other)) else { return false };
    let renamed = |(key, value): (String, Value)| match key == *other {
        true => (name.to_owned(), value),
        false => (key, value),
    };
    *map = std::mem::take(map).into_iter().map(renamed).collect();
    true
}

#[cfg(test)]
mod tests {
    use super::super::{CLAUDE, ZORI};
    use super::*;

    fn rendered(dialect: &Dialect, name: &str, input: &str) -> String {
        let RenderedCall { name, input } = dialect.render_call(name, input);
        format!("{name} {}", input.as_deref().unwrap_or("as it is"))
    }

    #[test]
    fn claude_is_told_file_path() {
        for (name, input, wanted) in [
            ("Read", r#"{"file_path":"a"}"#, "Read as it is"),
            ("Read", r#"{"path":"a","limit":3}"#, r#"Read {"file_path":"a","limit":3}"#),
            ("Read", r#"{"path":"b","file_path":"a"}"#, "Read as it is"),
            ("read", r#"{"path":"a"}"#, r#"Read {"file_path":"a"}"#),
            ("read_file", r#"{"target":"a","x":1}"#, r#"Read {"file_path":"a","x":1}"#),
            ("Write", r#"{"path":"a","content":"b"}"#, r#"Write {"file_path":"a","content":"b"}"#),
            (
                "edit",
                r#"{"path":"a","old":"b","new":"c"}"#,
                r#"Edit {"file_path":"a","old_string":"b","new_string":"c"}"#,
            ),
            (
                "MultiEdit",
                r#"{"path":"a","edits":[{"old":"b","new":"c"},{"old_string":"d","new_string":"e"}]}"#,
                r#"MultiEdit {"file_path":"a","edits":[{"old_string":"b","new_string":"c"},{"old_string":"d","new_string":"e"}]}"#,
            ),
            ("LS", r#"{"path":"a"}"#, "LS as it is"),
            (
                "Grep",
                r#"{"pattern":"x","path":"a","context":2}"#,
                r#"Grep {"pattern":"x","path":"a","-C":2}"#,
            ),
            ("Frobnicate", r#"{"path":"a"}"#, "Frobnicate as it is"),
            ("Read", "[1]", "Read as it is"),
            ("Read", "{", "Read as it is"),
        ] {
            assert_eq!(rendered(&CLAUDE, name, input), wanted, "{name} {input}");
        }
    }

    #[test]
    fn other_dialects_are_told_their_own() {
        assert_eq!(rendered(&ZORI, "Read", r#"{"file_path":"a"}"#), r#"read {"path":"a"}"#);
        assert_eq!(rendered(&ZORI, "bash", r#"{"command":"ls"}"#), "bash as it is");
    }
}
