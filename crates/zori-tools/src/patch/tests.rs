use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

use super::*;
use crate::testing::{Scratch, call};

fn apply(scratch: &Scratch, patch: &str) -> ToolOutput {
    let tool = Patch::new(Arc::new(scratch.env()), Arc::default());
    call(&tool, &DEF, &serde_json::json!({ "patch": patch }).to_string())
}

fn check(scratch: &Scratch, patch: &str) -> String {
    scratch.hide(apply(scratch, patch).envelope.get())
}

#[test]
fn several_files_at_once() {
    let scratch = Scratch::new();
    scratch.put("keep.txt", "a\nb\nc\n");
    scratch.put("move.sh", "x\n");
    scratch.put("gone.bin", b"\0\xff");
    fs::set_permissions(scratch.path().join("move.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    let patch = "\
*** Begin Patch
*** Update File: keep.txt
 a
-b
+B
*** Add File: deep/new.txt
+n
*** Update File: move.sh
*** Move to: bin/moved.sh
-x
+y
*** Delete File: gone.bin
*** Update File: keep.txt
-c
+C
*** End Patch";
    let output = apply(&scratch, patch);
    assert_eq!(
        scratch.hide(output.envelope.get()),
        concat!(
            r#"{"ok":true,"data":{"files":[{"path":"$ROOT/keep.txt","action":"updated"},"#,
            r#"{"path":"$ROOT/deep/new.txt","action":"added"},{"path":"$ROOT/move.sh","action":"deleted"},"#,
            r#"{"path":"$ROOT/bin/moved.sh","action":"added"},{"path":"$ROOT/gone.bin","action":"deleted"}]}}"#
        )
    );
    let changes: Vec<_> = output
        .changes
        .iter()
        .map(|c| (scratch.hide(c.path.to_str().unwrap()), c.before.as_deref(), c.after.as_deref()))
        .collect();
    assert_eq!(
        changes,
        [
            ("$ROOT/keep.txt".into(), Some("a\nb\nc\n"), Some("a\nB\nC\n")),
            ("$ROOT/deep/new.txt".into(), None, Some("n\n")),
            ("$ROOT/move.sh".into(), Some("x\n"), None),
            ("$ROOT/bin/moved.sh".into(), None, Some("y\n")),
        ]
    );
    assert_eq!(scratch.list(), ["bin", "bin/moved.sh", "deep", "deep/new.txt", "keep.txt"]);
    assert_eq!(scratch.get("keep.txt"), "a\nB\nC\n");
    assert_eq!(fs::metadata(scratch.path().join("bin/moved.sh")).unwrap().mode() & 0o777, 0o755);
}

#[test]
fn tolerance_is_noted() {
    let scratch = Scratch::new();
    scratch.put("f", "a  \nb\n");
    assert_eq!(
        check(&scratch, "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
        r#"{"ok":true,"data":{"files":[{"path":"$ROOT/f","action":"updated"}],"note":"hunks were matched without regard to blanks at line ends; they now read as shown","now":"1\ta  \n2\tc"}}"#
    );
    assert_eq!(scratch.get("f"), "a  \nc\n");
}

#[test]
fn one_misfit_and_nothing_changes() {
    let scratch = Scratch::new();
    scratch.put("f", "one\ntwo\n");
    scratch.put("g", "x\n");
    scratch.put("binary", b"\0");
    fs::create_dir(scratch.path().join("folder")).unwrap();
    let before = scratch.list();
    let good = "*** Update File: g\n-x\n+y\n*** Add File: made/h\n+h\n*** Delete File: g2\n";
    let good = good.replace("*** Delete File: g2\n", "");
    let cases = [
        (
            "*** Update File: missing\n-x\n+y",
            r#"{"code":"file_not_found","message":"File not found: $ROOT/missing (ENOENT); check the path"}"#,
        ),
        (
            "*** Delete File: missing",
            r#"{"code":"file_not_found","message":"File not found: $ROOT/missing (ENOENT); check the path"}"#,
        ),
        (
            "*** Add File: f\n+x",
            r#"{"code":"file_exists","message":"$ROOT/f exists already; update it, or delete it first"}"#,
        ),
        (
            "*** Update File: f\n*** Move to: g\n-one\n+1",
            r#"{"code":"file_exists","message":"$ROOT/g exists already; update it, or delete it first"}"#,
        ),
        (
            "*** Update File: f\n-twos\n+2",
            r#"{"code":"pattern_not_found","message":"hunk 1 does not fit $ROOT/f: these lines were not found:\ntwos\nNothing was changed. The nearest lines are:\n2\ttwo","details":{"nearest":[{"line":2,"text":"two"}]}}"#,
        ),
        (
            "*** Update File: f\n-zebra\n+2",
            r#"{"code":"pattern_not_found","message":"hunk 1 does not fit $ROOT/f: these lines were not found:\nzebra\nRead the file again. Nothing was changed"}"#,
        ),
        (
            "*** Update File: binary\n-x\n+y",
            r#"{"code":"io_error","message":"$ROOT/binary: $ROOT/binary is not UTF-8 text: binary data (a NUL byte at offset 0); inspect it with `xxd` or `file` in the shell; nothing was changed"}"#,
        ),
        (
            "*** Delete File: folder",
            r#"{"code":"io_error","message":"$ROOT/folder is a directory, not a regular file"}"#,
        ),
        (
            "*** Add File: f/below\n+x",
            r#"{"code":"io_error","message":"$ROOT/f/below: Not a directory (os error 20); nothing was changed"}"#,
        ),
        (
            "nonsense",
            r#"{"code":"invalid_patch","message":"hunk 1 of $ROOT/f changes nothing: no line is added or removed"}"#,
        ),
    ];
    for (bad, error) in cases {
        let patch = format!("*** Begin Patch\n{good}{bad}\n*** End Patch");
        let patch = if bad == "nonsense" { patch.replace("+h\n", "+h\n*** Update File: f\n") } else { patch };
        assert_eq!(check(&scratch, &patch), format!(r#"{{"ok":false,"error":{error}}}"#), "{bad}");
    }
    assert_eq!(scratch.list(), before);
    assert_eq!((scratch.get("f"), scratch.get("g")), ("one\ntwo\n".into(), "x\n".into()));
}

#[test]
fn a_failure_while_writing_puts_everything_back() {
    let scratch = Scratch::new();
    scratch.put("f", "old\n");
    scratch.put("gone", "still here\n");
    let entry = |name: &str, before: Option<&str>, after: Option<&str>| {
        let path = scratch.path().join(name);
        let before = before.map(|text| OriginalFile {
            encoding: Encoding::Utf8,
            text: Some(text.into()),
            meta: NameInDir::at(&scratch.path().join("f")).unwrap().meta().unwrap(),
            file: None,
            unreadable: None,
            held: false,
        });
        let target = Target::found(&path).unwrap();
        Entry { target, before, after: after.map(Into::into), like: None, touched: true }
    };
    // The plan was made when `late` did not exist; somebody made it before it was written.
    scratch.put("late", "theirs\n");
    let entries = [
        entry("f", Some("old\n"), Some("new\n")),
        entry("made/new", None, Some("new\n")),
        entry("late", None, Some("ours\n")),
        entry("gone", Some("still here\n"), None),
    ];
    let failure = commit::commit(&entries, &SeenFiles::default(), &Cancel::new()).unwrap_err();
    assert_eq!(
        scratch.hide(failure.envelope.get()),
        r#"{"ok":false,"error":{"code":"io_error","message":"$ROOT/late: File exists (os error 17); nothing was changed"}}"#
    );
    assert_eq!(scratch.list(), ["f", "gone", "late"]);
    assert_eq!(scratch.get("f"), "old\n");
    assert_eq!(scratch.get("late"), "theirs\n");

    // Somebody changed a file that the plan has read.
    scratch.put("f", "changed\n");
    let failure = commit::commit(&entries[..2], &SeenFiles::default(), &Cancel::new()).unwrap_err();
    assert_eq!(
        scratch.hide(failure.envelope.get()),
        r#"{"ok":false,"error":{"code":"io_error","message":"$ROOT/f: another process changed it meanwhile; read it again; nothing was changed"}}"#
    );
    assert_eq!(scratch.list(), ["f", "gone", "late"]);
}

#[test]
fn effects_name_every_file() {
    let scratch = Scratch::new();
    let tool = Patch::new(Arc::new(scratch.env()), Arc::default());
    let effects = |patch: &str| {
        let args = serde_json::json!({ "patch": patch }).to_string();
        tool.effects(&RawValue::from_string(args).unwrap())
    };
    let write = |name: &str| Effect::Write(scratch.path().join(name));
    assert_eq!(
        effects(
            "*** Begin Patch\n*** Delete File: a\n*** Update File: b\n*** Move to: ../c\n-x\n*** End Patch"
        ),
        [write("a"), write("b"), Effect::Write(scratch.path().parent().unwrap().join("c"))]
    );
    assert_eq!(effects("no patch"), []);
}

#[test]
fn a_link_is_written_through_and_deleted_itself() {
    let scratch = Scratch::new();
    scratch.put("real", "a\n");
    symlink("real", scratch.path().join("link")).unwrap();
    assert!(apply(&scratch, "--- a/link\n+++ b/link\n@@ -1 +1 @@\n-a\n+b\n").ok());
    assert_eq!(scratch.get("real"), "b\n");
    assert!(scratch.path().join("link").is_symlink());
    assert!(apply(&scratch, "*** Begin Patch\n*** Delete File: link\n*** End Patch").ok());
    assert_eq!(scratch.list(), ["real"]);
}

/// An editor with buffers of its own, which refuses to store one name.
#[derive(Default)]
struct Editor {
    buffers: std::sync::Mutex<std::collections::BTreeMap<String, String>>,
    stores: bool,
}

impl Editor {
    fn holding(text: &str, stores: bool) -> Arc<Self> {
        let buffers = std::collections::BTreeMap::from([("f".to_owned(), text.to_owned())]);
        Arc::new(Self { buffers: buffers.into(), stores })
    }

    fn buffers(&self) -> Vec<(String, String)> {
        self.buffers.lock().unwrap().clone().into_iter().collect()
    }
}

impl zori_core::files::ClientFiles for Editor {
    fn read(&self, path: &Path) -> Option<String> {
        self.buffers.lock().unwrap().get(path.file_name()?.to_str()?).cloned()
    }

    fn writes(&self) -> bool {
        self.stores
    }

    fn write(&self, path: &Path, text: &str) -> Option<Result<(), String>> {
        let name = path.file_name()?.to_str()?.to_owned();
        if name == "refused" {
            return Some(Err("no".to_owned()));
        }
        self.buffers.lock().unwrap().insert(name, text.to_owned());
        Some(Ok(()))
    }
}

fn applied(scratch: &Scratch, editor: Arc<Editor>, patch: &str) -> String {
    let tool = Patch::new(Arc::new(scratch.env()), Arc::new(SeenFiles::of(Some(editor))));
    scratch.hide(call(&tool, &DEF, &serde_json::json!({ "patch": patch }).to_string()).envelope.get())
}

const UNSAVED: &str = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-unsaved\n+patched\n";

/// What an editor holds is what is patched, and the editor stores it, all of it or none.
#[test]
fn what_an_editor_holds() {
    let scratch = Scratch::new();
    scratch.put("f", "disk\n");
    let editor = Editor::holding("unsaved\n", true);
    let added = format!("{UNSAVED}--- /dev/null\n+++ b/deep/new\n@@ -0,0 +1 @@\n+n\n");
    assert_eq!(
        applied(&scratch, editor.clone(), &added),
        r#"{"ok":true,"data":{"files":[{"path":"$ROOT/f","action":"updated"},{"path":"$ROOT/deep/new","action":"added"}]}}"#
    );
    let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
    assert_eq!(editor.buffers(), [pair("f", "patched\n"), pair("new", "n\n")]);
    assert_eq!(scratch.get("f"), "disk\n");

    let scratch = Scratch::new();
    scratch.put("f", "disk\n");
    let editor = Editor::holding("unsaved\n", true);
    let refused = format!("{UNSAVED}--- /dev/null\n+++ b/refused\n@@ -0,0 +1 @@\n+n\n");
    assert_eq!(
        applied(&scratch, editor.clone(), &refused),
        r#"{"ok":false,"error":{"code":"io_error","message":"$ROOT/refused: no; nothing was changed"}}"#
    );
    assert_eq!(editor.buffers(), [pair("f", "unsaved\n")]);
}

/// An editor that shows what it holds but stores nothing must save it before the disk is changed below it.
#[test]
fn what_an_editor_does_not_store() {
    let scratch = Scratch::new();
    scratch.put("f", "disk\n");
    assert_eq!(
        applied(&scratch, Editor::holding("unsaved\n", false), UNSAVED),
        r#"{"ok":false,"error":{"code":"io_error","message":"$ROOT/f: the editor has changes of it that are not saved; have them saved first; nothing was changed"}}"#
    );
    assert_eq!(scratch.get("f"), "disk\n");
    scratch.put("f", "unsaved\n");
    assert_eq!(
        applied(&scratch, Editor::holding("unsaved\n", false), UNSAVED),
        r#"{"ok":true,"data":{"files":[{"path":"$ROOT/f","action":"updated"}]}}"#
    );
    assert_eq!(scratch.get("f"), "patched\n");
}
