//! Files that the editor holds: what it has not saved is what the model reads and changes.

use serde_json::json;
use zori_testkit::anthropic;

use super::{Editor, stopped, updates};
use crate::world::with_model;

#[test]
fn what_is_not_saved_is_read_and_changed() {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "read", json!({"path": "a.txt"})),
        anthropic::tool_use("t2", "edit", json!({"path": "a.txt", "old": "unsaved", "new": "changed"})),
        anthropic::tool_use("t3", "write", json!({"path": "b.txt", "content": "new\n"})),
        anthropic::text("Done."),
    ]);
    world.write("a.txt", "on disk\n");
    let fs = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::offering(&world, &["--permission-mode", "yolo"], fs);
    editor.open();
    let id = editor.prompt("go");
    for _ in ["read", "edit"] {
        let asked = editor.next("fs/read_text_file").pop().unwrap();
        assert_eq!(asked["params"], json!({"sessionId": "$SESSION", "path": "$WORK/a.txt"}));
        editor.answer(&asked["id"], json!({"content": "unsaved\n"}));
    }
    for (path, content) in [("$WORK/a.txt", "changed\n"), ("$WORK/b.txt", "new\n")] {
        let asked = editor.next("fs/write_text_file").pop().unwrap();
        assert_eq!(asked["params"], json!({"sessionId": "$SESSION", "path": path, "content": content}));
        editor.answer(&asked["id"], json!({}));
    }
    assert_eq!(editor.until(id).1, stopped(id, "end_turn"));
    assert!(model.request(1).conversation().contains("unsaved"), "{}", model.request(1).conversation());
    // Writing them is the editor's business.
    assert_eq!(world.read("a.txt"), "on disk\n");
    assert!(!world.work().join("b.txt").exists());
}

/// A patch is applied to what the editor holds, and stored by it.
#[test]
fn a_patch() {
    let patch = "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-unsaved\n+patched\n";
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "apply_patch", json!({"patch": patch})),
        anthropic::text("Done."),
    ]);
    world.write("a.txt", "on disk\n");
    let fs = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::offering(&world, &["--permission-mode", "yolo"], fs);
    editor.open();
    let id = editor.prompt("go");
    // Once to work it out, and once more before it is stored.
    for _ in 0..2 {
        let asked = editor.next("fs/read_text_file").pop().unwrap();
        editor.answer(&asked["id"], json!({"content": "unsaved\n"}));
    }
    let asked = editor.next("fs/write_text_file").pop().unwrap();
    let wanted = json!({"sessionId": "$SESSION", "path": "$WORK/a.txt", "content": "patched\n"});
    assert_eq!(asked["params"], wanted);
    editor.answer(&asked["id"], json!({}));
    let (before, end) = editor.until(id);
    assert_eq!(end, stopped(id, "end_turn"));
    let diff = json!({"type": "diff", "path": "$WORK/a.txt", "oldText": "unsaved\n", "newText": "patched\n"});
    assert_eq!(updates(&before)[0]["content"], json!([diff]));
    assert_eq!(world.read("a.txt"), "on disk\n");
}

/// An editor that cannot read a file leaves it to the disk; one that cannot write it has the last word.
#[test]
fn an_editor_that_fails() {
    let (world, model) = with_model([
        anthropic::tool_use("t1", "read", json!({"path": "a.txt"})),
        anthropic::tool_use("t2", "write", json!({"path": "b.txt", "content": "new\n"})),
        anthropic::text("Done."),
    ]);
    world.write("a.txt", "on disk\n");
    let fs = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::offering(&world, &["--permission-mode", "yolo"], fs);
    editor.open();
    let id = editor.prompt("go");
    for method in ["fs/read_text_file", "fs/write_text_file"] {
        let asked = editor.next(method).pop().unwrap();
        let error =
            json!({"jsonrpc": "2.0", "id": asked["id"], "error": {"code": -32603, "message": "no buffer"}});
        editor.line(&error.to_string());
    }
    assert_eq!(editor.until(id).1, stopped(id, "end_turn"));
    assert!(model.request(1).conversation().contains("on disk"));
    let told = model.request(2).conversation();
    assert!(told.contains("b.txt: the editor did not: no buffer"), "{told}");
}

/// What the policy does not let the model read, the editor is not asked for.
#[test]
fn the_policy_comes_first() {
    let (world, _model) =
        with_model([anthropic::tool_use("t1", "read", json!({"path": "a.txt"})), anthropic::text("Done.")]);
    world.write("a.txt", "on disk\n");
    let fs = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::offering(&world, &["--deny", "Read(a.txt)"], fs);
    editor.open();
    let id = editor.prompt("go");
    let (before, end) = editor.until(id);
    assert_eq!(end, stopped(id, "end_turn"));
    assert!(before.iter().all(|message| message["method"] == "session/update"), "{before:?}");
}
