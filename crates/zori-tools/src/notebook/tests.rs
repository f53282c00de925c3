use super::*;

/// As `nbformat` writes them: one space, sorted keys, a newline at the end.
const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title\n",
    "Größe"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "sum",
   "metadata": {"tags": ["keep",  "me"]},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": ["3\n"]
    }
   ],
   "source": [
    "print(1 + 2)"
   ]
  }
 ],
 "metadata": {
  "language_info": {"name": "python"}
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

fn lines(diff_of: &str, after: &str) -> String {
    similar::TextDiff::from_lines(diff_of, after).unified_diff().context_radius(0).to_string()
}

#[track_caller]
fn changed(text: &str, what: Change<'_>) -> Changed {
    let changed = change(text, what).unwrap();
    serde_json::from_str::<serde_json::Value>(&changed.text).expect("it is still JSON");
    changed
}

#[test]
fn a_cell_is_replaced_and_nothing_else() {
    let source = "x = \"é\"\nprint(x)\n";
    let after = changed(NOTEBOOK, Change::Replace { cell: "sum", source, kind: None });
    assert_eq!(
        lines(NOTEBOOK, &after.text),
        "@@ -14 +14 @@\n-   \"execution_count\": 3,\n+   \"execution_count\": null,\n\
         @@ -17,7 +17 @@\n-   \"outputs\": [\n-    {\n-     \"name\": \"stdout\",\n-     \"output_type\": \"stream\",\n-     \
         \"text\": [\"3\\n\"]\n-    }\n-   ],\n+   \"outputs\": [],\n\
         @@ -25 +19,2 @@\n-    \"print(1 + 2)\"\n+    \"x = \\\"é\\\"\\n\",\n+    \"print(x)\\n\"\n"
    );
    assert_eq!(
        Changed { text: String::new(), ..after },
        Changed {
            text: String::new(),
            cell: 1,
            id: Some("sum".into()),
            kind: CellKind::Code,
            old_source: Some("print(1 + 2)".into()),
            cells: 2,
            language: Some("python".into()),
        }
    );
}

#[test]
fn a_cell_is_found_by_number_too() {
    for name in ["0", "cell-0", "intro"] {
        let after = changed(NOTEBOOK, Change::Replace { cell: name, source: "# New", kind: None });
        assert_eq!(
            lines(NOTEBOOK, &after.text),
            "@@ -8,2 +8 @@\n-    \"# Title\\n\",\n-    \"Größe\"\n+    \"# New\"\n",
            "{name}"
        );
    }
    // An id counts before a number.
    let swapped = NOTEBOOK.replace("\"sum\"", "\"0\"");
    assert_eq!(changed(&swapped, Change::Delete { cell: "0" }).cell, 1);
}

#[test]
fn another_type_makes_another_cell() {
    let what = Change::Replace { cell: "sum", source: "text", kind: Some(CellKind::Markdown) };
    let after = changed(NOTEBOOK, what);
    assert_eq!(
        after.text[after.text.find("\"sum\"").unwrap() - 42..after.text.find(" ],\n \"metadata\"").unwrap()]
            .to_owned(),
        "\n  {\n   \"cell_type\": \"markdown\",\n   \"id\": \"sum\",\n   \"metadata\": {\n    \"tags\": [\n     \"keep\",\n     \
         \"me\"\n    ]\n   },\n   \"source\": [\n    \"text\"\n   ]\n  }\n"
    );
    let back = changed(&after.text, Change::Replace { cell: "sum", source: "1", kind: Some(CellKind::Code) });
    let cell = &serde_json::from_str::<serde_json::Value>(&back.text).unwrap()["cells"][1];
    assert_eq!(
        cell.to_string(),
        r#"{"cell_type":"code","execution_count":null,"id":"sum","metadata":{"tags":["keep","me"]},"outputs":[],"source":["1"]}"#
    );
}

#[test]
fn a_cell_is_inserted_at_the_start_between_and_at_the_end() {
    for (after, at) in [(None, 0), (Some("intro"), 1), (Some("1"), 2)] {
        let new = changed(NOTEBOOK, Change::Insert { after, source: "a\nb", kind: CellKind::Code });
        let id = new.id.clone().unwrap();
        let added = format!(
            "  {{\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"{id}\",\n   \"metadata\": {{}},\n   \
             \"outputs\": [],\n   \"source\": [\n    \"a\\n\",\n    \"b\"\n   ]\n  }}"
        );
        let expected = match at {
            0 => NOTEBOOK.replacen("  {\n", &format!("{added},\n  {{\n"), 1),
            1 => NOTEBOOK.replacen("  },\n  {\n", &format!("  }},\n{added},\n  {{\n"), 1),
            _ => NOTEBOOK.replacen("  }\n ],", &format!("  }},\n{added}\n ],"), 1),
        };
        assert_eq!((new.text, new.cell, new.cells), (expected, at, 3));
        assert_eq!((id.len(), id.chars().all(|c| c.is_ascii_hexdigit())), (8, true));
    }
    // Before format 4.5 cells have no ids.
    let old = NOTEBOOK.replace("\"nbformat_minor\": 5", "\"nbformat_minor\": 4");
    assert_eq!(changed(&old, Change::Insert { after: None, source: "", kind: CellKind::Raw }).id, None);
}

#[test]
fn a_cell_is_deleted_with_its_comma() {
    let first = changed(NOTEBOOK, Change::Delete { cell: "intro" });
    let second = changed(NOTEBOOK, Change::Delete { cell: "sum" });
    let cut = |from: &str, to: &str| {
        let (start, end) = (NOTEBOOK.find(from).unwrap(), NOTEBOOK.find(to).unwrap());
        format!("{}{}", &NOTEBOOK[..start], &NOTEBOOK[end..])
    };
    assert_eq!(first.text, cut("  {\n   \"cell_type\": \"markdown\"", "  {\n   \"cell_type\": \"code\""));
    assert_eq!(second.text, cut(",\n  {\n   \"cell_type\": \"code\"", "\n ],\n \"metadata\""));
    assert_eq!((first.old_source.as_deref(), first.cells), (Some("# Title\nGröße"), 1));
    // The last one leaves an empty list, into which a cell can be put again.
    let none = changed(&first.text, Change::Delete { cell: "0" });
    assert_eq!(&none.text[..15], "{\n \"cells\": [],");
    let again = changed(&none.text, Change::Insert { after: None, source: "x", kind: CellKind::Markdown });
    assert_eq!(&again.text[..46], "{\n \"cells\": [\n  {\n   \"cell_type\": \"markdown\",\n");
}

/// What is written looks like what is there.
#[test]
fn the_layout_is_the_files_own() {
    let compact = r#"{"cells":[{"cell_type":"raw","metadata":{},"source":"a"}],"metadata":{},"nbformat":4,"nbformat_minor":2}"#;
    let insert = Change::Insert { after: Some("0"), source: "b\nc", kind: CellKind::Markdown };
    assert_eq!(
        changed(compact, insert).text,
        r#"{"cells":[{"cell_type":"raw","metadata":{},"source":"a"},{"cell_type":"markdown","metadata":{},"source":"b\nc"}],"metadata":{},"nbformat":4,"nbformat_minor":2}"#
    );
    let python = r#"{"cells": [{"cell_type": "raw", "metadata": {}, "source": ["\u00fc"]}], "nbformat": 4}"#;
    assert_eq!(
        changed(python, Change::Insert { after: None, source: "é😀", kind: CellKind::Raw }).text,
        r#"{"cells": [{"cell_type": "raw", "metadata": {}, "source": ["\u00e9\ud83d\ude00"]}, {"cell_type": "raw", "metadata": {}, "source": ["\u00fc"]}], "nbformat": 4}"#
    );
    let windows = NOTEBOOK.replace('\n', "\r\n");
    let replace = Change::Replace { cell: "sum", source: "a\nb", kind: None };
    assert_eq!(changed(&windows, replace).text, changed(NOTEBOOK, replace).text.replace('\n', "\r\n"));
    let tabs = NOTEBOOK.lines().map(|line| {
        let bare = line.trim_start();
        format!("{}{bare}\n", "\t".repeat(line.len() - bare.len()))
    });
    let tabs: String = tabs.collect();
    let insert = Change::Insert { after: Some("sum"), source: "a\nb", kind: CellKind::Code };
    let with_spaces = changed(NOTEBOOK, insert).text;
    let as_tabs = with_spaces.lines().map(|line| {
        let bare = line.trim_start();
        format!("{}{bare}\n", "\t".repeat(line.len() - bare.len()))
    });
    assert_eq!(changed(&tabs, insert).text, as_tabs.collect::<String>());
}

#[test]
fn what_cannot_be_done_says_why() {
    let fails = |text: &str, cell: &str| change(text, Change::Delete { cell }).unwrap_err().to_string();
    assert_eq!(
        fails(NOTEBOOK, "nope"),
        "there is no cell `nope`; the 2 cells are 0 (id intro, markdown), 1 (id sum, code)"
    );
    assert_eq!(fails(r#"{"cells":[],"nbformat":4}"#, "2"), "there is no cell `2`; the notebook has no cells");
    assert_eq!(
        fails(r#"{"cells":[],"nbformat":3}"#, "0"),
        "it is not a notebook of format 4: it says format 3"
    );
    assert_eq!(
        fails("7", "0"),
        "it is not a notebook of format 4: invalid type: integer `7`, expected struct Document at line 1 column 1"
    );
    assert_eq!(
        fails(r#"{"cells":[{"cell_type":"odd","source":"a"}],"nbformat":4}"#, "0"),
        "it is not a notebook of format 4: cell 0 has the type `odd`"
    );
    assert_eq!(
        fails(r#"{"cells":[{"cell_type":"raw","source":7}],"nbformat":4}"#, "0"),
        "it is not a notebook of format 4: the source of cell 0 is neither a string nor a list of them"
    );
}
