use std::fs;
use std::sync::Arc;

use super::*;
use crate::multi_edit::{self, MultiEdit};
use crate::testing::{Scratch, call};
use crate::{read, write};

struct Tools {
    scratch: Scratch,
    read: read::Read,
    write: write::Write,
    edit: Edit,
    multi: MultiEdit,
}

impl Tools {
    fn new() -> Self {
        Self::with(SeenFiles::default())
    }

    fn with(seen: SeenFiles) -> Self {
        let scratch = Scratch::new();
        let (env, seen) = (Arc::new(scratch.env()), Arc::new(seen));
        Self {
            read: read::Read::new(env.clone(), seen.clone()),
            write: write::Write::new(env.clone(), seen.clone()),
            edit: Edit::new(env.clone(), seen.clone()),
            multi: MultiEdit::new(env, seen),
            scratch,
        }
    }

    fn edit(&self, args: &str) -> String {
        self.scratch.hide(call(&self.edit, &DEF, args).envelope.get())
    }

    fn multi(&self, args: &str) -> String {
        self.scratch.hide(call(&self.multi, &multi_edit::DEF, args).envelope.get())
    }
}

#[test]
fn replaces_as_often_as_expected() {
    let tools = Tools::new();
    tools.scratch.put("f", "a b a\r\n");
    assert_eq!(
        tools.edit(r#"{"path":"f","old":"b","new":"ö"}"#),
        r#"{"ok":true,"data":{"path":"$ROOT/f","replacements":1}}"#
    );
    assert_eq!(
        tools.edit(r#"{"path":"f","old":"a","new":"","expected_replacements":"2"}"#),
        r#"{"ok":true,"data":{"path":"$ROOT/f","replacements":2}}"#
    );
    assert_eq!(tools.scratch.get("f"), " ö \r\n");
    assert_eq!(tools.scratch.list(), ["f"]);
}

#[test]
fn checks_come_in_order_and_change_nothing() {
    let tools = Tools::new();
    let text = "fn main() {\n    run(1);\n}\nx x x\n";
    tools.scratch.put("f", text);
    tools.scratch.put("binary", b"\0");
    fs::create_dir(tools.scratch.path().join("folder")).unwrap();
    let huge = fs::File::create(tools.scratch.path().join("huge")).unwrap();
    huge.set_len((64 << 20) + 1).unwrap();
    let cases = [
        (
            r#"{"path":"missing","old":"","new":"","expected_replacements":0}"#,
            r#"{"code":"invalid_input","message":"`old` must not be empty; to create a file, write it"}"#,
        ),
        (
            r#"{"path":"missing","old":"x","new":"","expected_replacements":0}"#,
            r#"{"code":"invalid_input","message":"`expected_replacements` must be at least 1"}"#,
        ),
        (
            r#"{"path":"missing","old":"x","new":""}"#,
            r#"{"code":"path_error","message":"File not found: $ROOT/missing (ENOENT); check the path"}"#,
        ),
        (
            r#"{"path":"folder","old":"x","new":""}"#,
            r#"{"code":"read_error","message":"$ROOT/folder is a directory, not a regular file"}"#,
        ),
        (
            r#"{"path":"binary","old":"x","new":""}"#,
            r#"{"code":"read_error","message":"$ROOT/binary is not UTF-8 text: binary data (a NUL byte at offset 0); inspect it with `xxd` or `file` in the shell"}"#,
        ),
        (
            r#"{"path":"huge","old":"x","new":""}"#,
            r#"{"code":"read_error","message":"$ROOT/huge has 67108865 bytes; files over 64 MiB are not edited here, use a shell command"}"#,
        ),
        (
            r#"{"path":"/proc/sys/kernel/ostype","old":"Linux","new":"Minix"}"#,
            r#"{"code":"write_error","message":"cannot write /proc/sys/kernel/ostype: Permission denied (os error 13)"}"#,
        ),
        (
            r#"{"path":"f","old":"run(2);","new":""}"#,
            r#"{"code":"old_not_found","message":"`old` was not found in $ROOT/f; it must match exactly. The nearest lines are:\n2\t    run(1);","details":{"nearest":[{"line":2,"text":"    run(1);"}]}}"#,
        ),
        (
            r#"{"path":"f","old":"nothing like it","new":"","expected_replacements":3}"#,
            r#"{"code":"old_not_found","message":"`old` was not found in $ROOT/f, and no line is like it; read the file again"}"#,
        ),
        (
            r#"{"path":"f","old":"x","new":"","expected_replacements":2}"#,
            r#"{"code":"replacement_count_mismatch","message":"expected 2 and found 3 occurrences of `old` in $ROOT/f, at lines 4, 4, 4; add surrounding lines to make it unique, or ask for all 3"}"#,
        ),
    ];
    for (args, error) in cases {
        assert_eq!(tools.edit(args), format!(r#"{{"ok":false,"error":{error}}}"#), "{args}");
    }
    assert_eq!(tools.scratch.get("f"), text);
}

#[test]
fn tolerant_matches_say_so() {
    let tools = Tools::new();
    tools.scratch.put("f", "if x {\n        y();\n}\n");
    assert_eq!(
        tools.edit(r#"{"path":"f","old":"    y();\n","new":"    z();\n"}"#),
        // A part of a line is an exact match, so this one was none of the tolerant kind.
        r#"{"ok":true,"data":{"path":"$ROOT/f","replacements":1}}"#
    );
    assert_eq!(
        tools.edit(r#"{"path":"f","old":"if x {\n\tz();","new":"if x {\n\tw();"}"#),
        r#"{"ok":true,"data":{"path":"$ROOT/f","replacements":1,"note":"`old` was matched without regard to indentation; it now reads as shown","now":"1\tif x {\n2\t        w();"}}"#
    );
    assert_eq!(tools.scratch.get("f"), "if x {\n        w();\n}\n");
}

#[test]
fn a_change_by_somebody_else_is_noted() {
    let tools = Tools::new();
    tools.scratch.put("f", "one\n");
    assert!(call(&tools.read, &read::DEF, r#"{"path":"f"}"#).ok());
    tools.scratch.put("f", "zero\none\n");
    assert_eq!(
        tools.edit(r#"{"path":"f","old":"one","new":"two"}"#),
        r#"{"ok":true,"data":{"path":"$ROOT/f","replacements":1,"note":"the file changed on disk since it was last read"}}"#
    );
    assert_eq!(tools.scratch.get("f"), "zero\ntwo\n");
    // Said once: the edit has seen the file.
    assert_eq!(
        tools.edit(r#"{"path":"f","old":"two","new":"three"}"#),
        r#"{"ok":true,"data":{"path":"$ROOT/f","replacements":1}}"#
    );
    assert!(call(&tools.write, &write::DEF, r#"{"path":"f","content":"all"}"#).ok());
    fs::remove_file(tools.scratch.path().join("f")).unwrap();
    assert_eq!(
        tools.edit(r#"{"path":"f","old":"all","new":"none"}"#),
        r#"{"ok":false,"error":{"code":"path_error","message":"File not found: $ROOT/f (ENOENT); check the path"}}"#
    );
}

#[test]
fn a_folder_that_cannot_take_the_new_content_is_a_write_error() {
    // A name of the greatest length fits, because the temporary file has a short one; what does not fit is a folder
    // that is gone from under the file.
    let tools = Tools::new();
    tools.scratch.put("f", "old");
    tools.scratch.put("gone/f", "old");
    let gone = NameInDir::at(&tools.scratch.path().join("gone/f")).unwrap();
    let meta = gone.meta().unwrap();
    fs::remove_dir_all(tools.scratch.path().join("gone")).unwrap();
    let like = AttributeSource { meta: &meta, file: None };
    let failure = StagedFile::new(&gone, b"new", Some(like), &Cancel::new()).unwrap_err();
    assert_eq!(failure.to_string(), "No such file or directory (os error 2)");
    let name = "n".repeat(255);
    tools.scratch.put(&name, "old");
    assert_eq!(
        tools.edit(&format!(r#"{{"path":"{name}","old":"old","new":"new"}}"#)).replace(&name, "NAME"),
        r#"{"ok":true,"data":{"path":"$ROOT/NAME","replacements":1}}"#
    );
}

#[test]
fn several_edits_all_or_none() {
    let tools = Tools::new();
    tools.scratch.put("f", "a b c c\n");
    assert_eq!(
        tools.multi(
            r#"{"path":"f","edits":[{"old":"a","new":"x"},{"old_string":"x b","new_string":"y"},{"old":"c","new":"d","replace_all":true}]}"#
        ),
        r#"{"ok":true,"data":{"path":"$ROOT/f","replacements":4}}"#
    );
    assert_eq!(tools.scratch.get("f"), "y d d\n");
    let cases = [
        (
            r#"{"path":"f","edits":[{"old":"y","new":"x"},{"old":"y","new":"z"}]}"#,
            r#"{"code":"old_not_found","message":"edit 2 of 2: `old` was not found in $ROOT/f, and no line is like it; read the file again; no edit was made"}"#,
        ),
        (
            r#"{"path":"f","edits":[{"old":"y","new":"x"},{"old":"d","new":"z"}]}"#,
            r#"{"code":"replacement_count_mismatch","message":"edit 2 of 2: expected 1 and found 2 occurrences of `old` in $ROOT/f, at lines 1, 1; add surrounding lines to make it unique, or ask for all 2; no edit was made"}"#,
        ),
        (
            r#"{"path":"f","edits":[{"old":"y","new":"x"},{"old":"","new":"z"}]}"#,
            r#"{"code":"invalid_input","message":"edit 2 of 2: `old` must not be empty; to create a file, write it; no edit was made"}"#,
        ),
        (
            r#"{"path":"f","edits":[]}"#,
            r#"{"code":"invalid_input","message":"`edits` must hold at least one edit"}"#,
        ),
    ];
    for (args, error) in cases {
        assert_eq!(tools.multi(args), format!(r#"{{"ok":false,"error":{error}}}"#), "{args}");
    }
    assert_eq!(tools.scratch.get("f"), "y d d\n");
}

/// An editor with one buffer.
struct Buffer(std::sync::Mutex<String>);

impl zori_core::files::ClientFiles for Buffer {
    fn read(&self, _: &Path) -> Option<String> {
        Some(self.0.lock().unwrap().clone())
    }

    fn writes(&self) -> bool {
        true
    }

    fn write(&self, _: &Path, text: &str) -> Option<Result<(), String>> {
        text.clone_into(&mut self.0.lock().unwrap());
        Some(if text == "refused" { Err("no".to_owned()) } else { Ok(()) })
    }
}

#[test]
fn what_an_editor_holds_is_read_changed_and_stored_there() {
    let buffer = Arc::new(Buffer(std::sync::Mutex::new("unsaved\n".to_owned())));
    let tools = Tools::with(SeenFiles::of(Some(buffer.clone())));
    tools.scratch.put("f", "disk\n");
    let said = |output: ToolOutput| tools.scratch.hide(output.envelope.get());
    assert_eq!(
        said(call(&tools.read, &read::DEF, r#"{"path":"f"}"#)),
        r#"{"ok":true,"data":{"path":"$ROOT/f","content":"unsaved\n","truncated":false,"bytes":8}}"#
    );
    assert_eq!(
        tools.edit(r#"{"path":"f","old":"unsaved","new":"changed"}"#),
        r#"{"ok":true,"data":{"path":"$ROOT/f","replacements":1}}"#
    );
    assert_eq!(*buffer.0.lock().unwrap(), "changed\n");
    let write = |content: &str| {
        said(call(&tools.write, &write::DEF, &format!(r#"{{"path":"f","content":"{content}"}}"#)))
    };
    assert_eq!(write("all"), r#"{"ok":true,"data":{"path":"$ROOT/f","bytes":3,"created":false}}"#);
    assert_eq!(
        write("refused"),
        r#"{"ok":false,"error":{"code":"write_error","message":"cannot write $ROOT/f: no"}}"#
    );
    assert_eq!(tools.scratch.get("f"), "disk\n");
}
