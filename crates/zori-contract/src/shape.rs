//! From data to what is printed in the formats that are no envelope, and `--fields`.

use serde_json::{Map, Value};

use crate::mode::Format;

/// What a command declares about the look of its rows.
#[derive(Clone, Copy, Debug)]
pub struct Columns {
    /// The columns in their order; without any, all keys in the order of the alphabet.
    pub names: &'static [&'static str],
    /// The field with the id.
    pub id: Option<&'static str>,
    /// How a row reads as a line of text.
    pub line: Option<fn(&Value) -> String>,
}

/// Returns the rows in a format without envelope. The last line has its newline. `width` is how wide a table may be.
pub fn print(format: Format, rows: &[Value], columns: Columns, width: Option<usize>) -> String {
    match format {
        Format::Tsv => tsv(rows, columns),
        Format::Table => table(rows, columns, width.unwrap_or(usize::MAX)),
        Format::Id => ids(rows, columns),
        Format::Plain => rows.iter().map(|row| flat(row, columns)).collect(),
        Format::Json | Format::Jsonl => rows.iter().map(|row| format!("{row}\n")).collect(),
    }
}

/// Keeps the named fields of an object, or of each object of a list. Names that do not occur are ignored; what the
/// framework put there stays.
pub fn project(data: &mut Value, fields: &[String]) {
    match data {
        Value::Array(items) => items.iter_mut().for_each(|item| project(item, fields)),
        Value::Object(map) => map.retain(|key, _| {
            fields.iter().any(|field| field == key)
                || key.starts_with('_')
                || key == "effect"
                || key == "partial"
        }),
        _ => {}
    }
}

fn heading(rows: &[Value], columns: Columns) -> Vec<String> {
    let declared = columns.names.iter().map(|name| name.to_string());
    let present = |name: &String| rows.is_empty() || rows.iter().any(|row| row.get(name).is_some());
    let mut names: Vec<_> = declared.filter(present).collect();
    if columns.names.is_empty() {
        let mut all: Vec<_> = rows.iter().filter_map(Value::as_object).flat_map(Map::keys).cloned().collect();
        all.sort();
        all.dedup();
        names = all;
    }
    names
}

fn cell(row: &Value, name: &str) -> String {
    row.get(name).map_or(String::new(), scalar)
}

fn scalar(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn tsv(rows: &[Value], columns: Columns) -> String {
    let names = heading(rows, columns);
    let escape = |text: String| text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n");
    let mut out = names.join("\t");
    out.push('\n');
    for row in rows {
        let cells: Vec<_> = names.iter().map(|name| escape(cell(row, name))).collect();
        out.push_str(&cells.join("\t"));
        out.push('\n');
    }
    out
}

/// What stands where a line of a table was cut.
const MORE: char = '…';

fn table(rows: &[Value], columns: Columns, max: usize) -> String {
    let names = heading(rows, columns);
    let one_line = |text: String| text.replace(['\n', '\t'], " ");
    let mut lines = vec![names.iter().map(|name| name.to_uppercase()).collect::<Vec<_>>()];
    for row in rows {
        lines.push(names.iter().map(|name| one_line(cell(row, name))).collect());
    }
    let widths: Vec<_> = (0..names.len())
        .map(|n| lines.iter().map(|line| line[n].chars().count()).max().unwrap_or(0))
        .collect();
    let mut out = String::new();
    for line in lines {
        let padded: Vec<_> = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        let line = padded.join("  ");
        let line = line.trim_end();
        match line.char_indices().nth(max) {
            Some(_) => out.extend(line.chars().take(max.saturating_sub(1)).chain([MORE])),
            None => out.push_str(line),
        }
        out.push('\n');
    }
    out
}

fn ids(rows: &[Value], columns: Columns) -> String {
    let field = columns.id.unwrap_or("id");
    rows.iter().filter_map(|row| row.get(field)).map(|id| scalar(id).replace('\n', " ") + "\n").collect()
}

/// One row as text: as the command writes it, else its cells side by side if it has columns, else one line for each field.
fn flat(row: &Value, columns: Columns) -> String {
    if let Some(line) = columns.line {
        return line(row) + "\n";
    }
    let Value::Object(map) = row else { return scalar(row) + "\n" };
    if !columns.names.is_empty() {
        let cells: Vec<_> = columns.names.iter().map(|name| cell(row, name)).collect();
        return cells.join("  ").trim_end().to_owned() + "\n";
    }
    map.iter().map(|(key, value)| format!("{key}: {}\n", scalar(value))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const COLUMNS: Columns = Columns { names: &["id", "title"], id: Some("id"), line: None };

    fn printed(format: Format) -> String {
        let rows =
            [json!({"id": "a", "title": "one\ttwo\nthree", "n": 1}), json!({"id": "long", "title": null})];
        print(format, &rows, COLUMNS, None)
    }

    #[test]
    fn each_format() {
        assert_eq!(printed(Format::Tsv), "id\ttitle\na\tone\\ttwo\\nthree\nlong\t\n");
        assert_eq!(printed(Format::Table), "ID    TITLE\na     one two three\nlong\n");
        assert_eq!(printed(Format::Id), "a\nlong\n");
        assert_eq!(printed(Format::Plain), "a  one\ttwo\nthree\nlong\n");
        assert_eq!(
            printed(Format::Jsonl),
            "{\"id\":\"a\",\"title\":\"one\\ttwo\\nthree\",\"n\":1}\n{\"id\":\"long\",\"title\":null}\n"
        );
    }

    #[test]
    fn a_line_of_its_own_is_for_text_alone() {
        let own = Columns { line: Some(|row| format!("row {}", row["id"])), ..COLUMNS };
        let rows = [json!({"id": "a", "title": "one\ntwo"})];
        assert_eq!(print(Format::Plain, &rows, own, None), "row \"a\"\n");
        assert_eq!(print(Format::Tsv, &rows, own, None), "id\ttitle\na\tone\\ntwo\n");
    }

    #[test]
    fn a_table_has_a_width() {
        let rows = [json!({"id": "a", "title": "ein längerer Titel"}), json!({"id": "b", "title": "kurz"})];
        assert_eq!(print(Format::Table, &rows, COLUMNS, Some(12)), "ID  TITLE\na   ein län…\nb   kurz\n");
        assert_eq!(print(Format::Tsv, &rows, COLUMNS, Some(5)).lines().nth(2), Some("b\tkurz"));
    }

    #[test]
    fn nothing_has_a_heading_all_the_same() {
        assert_eq!(print(Format::Tsv, &[], COLUMNS, None), "id\ttitle\n");
        assert_eq!(print(Format::Id, &[], COLUMNS, None), "");
    }

    #[test]
    fn without_columns_every_field_is_shown() {
        let bare = Columns { names: &[], id: None, line: None };
        assert_eq!(print(Format::Plain, &[json!({"b": [1], "a": true})], bare, None), "b: [1]\na: true\n");
        assert_eq!(print(Format::Tsv, &[json!({"b": 1}), json!({"a": 2})], bare, None), "a\tb\n\t1\n2\t\n");
    }

    #[test]
    fn fields_are_picked() {
        let mut data = json!([{"a": 1, "b": 2, "_trusted": false, "effect": "noop"}, {"b": 3}]);
        project(&mut data, &["a".into(), "nothing".into()]);
        assert_eq!(data, json!([{"a": 1, "_trusted": false, "effect": "noop"}, {}]));
    }
}
