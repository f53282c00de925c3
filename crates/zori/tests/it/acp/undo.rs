//! Going back while an editor holds files: what it has goes through it, and what it has not saved stays (UNDO-12, case 8).

use std::collections::BTreeMap;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;

use super::{Editor, stopped, updates};
use crate::world::with_model;

/// Plays an editor that saves what it is told to write: answers for files until a request is answered. Returns what it was asked, and
/// the messages.
fn serve(
    editor: &mut Editor,
    world: &TestEnv,
    buffers: &mut BTreeMap<&'static str, String>,
    id: i64,
) -> (Vec<String>, Vec<Value>) {
    let (mut log, mut messages) = (Vec::new(), Vec::new());
    loop {
        let is = |message: &Value| {
            message["method"].as_str().is_some_and(|method| method.starts_with("fs/"))
                || (message["id"] == json!(id) && message.get("method").is_none())
        };
        let mut read = editor.read("a request for a file, or the end", is);
        let asked = read.pop().expect("it was waited for");
        messages.extend(read);
        let Some(method) = asked["method"].as_str() else {
            assert_eq!(asked, stopped(id, "end_turn"));
            return (log, messages);
        };
        let path = asked["params"]["path"].as_str().expect("it names a file");
        let name = path.rsplit('/').next().expect("it has a name");
        let held = buffers.iter_mut().find(|(known, _)| **known == name);
        match (method, held) {
            ("fs/read_text_file", Some((name, text))) => {
                log.push(format!("read {name}"));
                editor.answer(&asked["id"], json!({"content": text}));
            }
            ("fs/write_text_file", Some((name, text))) => {
                *text = asked["params"]["content"].as_str().expect("it has a text").to_owned();
                log.push(format!("write {name} {text:?}"));
                world.write(name, text);
                editor.answer(&asked["id"], json!({}));
            }
            _ => {
                let error = json!({"code": -32002, "message": "it is not open"});
                editor.line(&json!({"jsonrpc": "2.0", "id": asked["id"], "error": error}).to_string());
            }
        }
    }
}

#[test]
fn what_the_editor_holds() {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "read", json!({"path": "a.txt"})),
        anthropic::tool_use("t2", "edit", json!({"path": "a.txt", "old": "draft", "new": "agent"})),
        anthropic::tool_use(
            "t3",
            "bash",
            json!({"command": "for i in b c d e; do echo agent > $i.txt; done"}),
        ),
        anthropic::text("Done."),
    ]);
    std::fs::create_dir(world.work().join(".git")).unwrap();
    for name in ["a.txt", "b.txt", "c.txt", "e.txt"] {
        world.write(name, "before\n");
    }
    let fs = json!({"fs": {"readTextFile": true, "writeTextFile": true}});
    let mut editor = Editor::offering(&world, &["--permission-mode", "yolo"], fs);
    editor.open();
    // Not saved when the turn begins, saved by the agent's edit.
    let mut buffers = BTreeMap::from([("a.txt", "a draft\n".to_owned())]);
    let id = editor.prompt("go");
    serve(&mut editor, &world, &mut buffers, id);
    assert_eq!(world.read("a.txt"), "a agent\n");
    // One is being edited, one was open all the time and not read again.
    buffers.insert("b.txt", "typed since\n".to_owned());
    buffers.insert("e.txt", "before\n".to_owned());
    let id = editor.prompt("/undo");
    let (log, messages) = serve(&mut editor, &world, &mut buffers, id);
    let answer = updates(&messages).pop().expect("it says something");
    insta::assert_snapshot!(answer["content"]["text"].as_str().unwrap(), @"
    Put back 4 files to before turn 1: a.txt, c.txt, d.txt (removed), e.txt
    Kept b.txt: the editor has unsaved changes
    Not covered: 1 command may have changed files outside $WORK
    The conversation went back to before turn 1.
    ");
    // Each is looked at; the one it holds as it is goes back through it.
    insta::assert_snapshot!(log.join("\n"), @r#"
    read a.txt
    read b.txt
    read e.txt
    read a.txt
    write a.txt "a draft\n"
    read e.txt
    "#);
    let files = ["a.txt", "b.txt", "c.txt", "e.txt"].map(|name| world.read(name));
    assert_eq!(files, ["a draft\n", "agent\n", "before\n", "before\n"]);
    assert!(!world.work().join("d.txt").exists());
    assert_eq!(buffers["b.txt"], "typed since\n");
    // And again.
    let id = editor.prompt("/redo");
    serve(&mut editor, &world, &mut buffers, id);
    assert_eq!([world.read("a.txt"), world.read("c.txt")], ["a agent\n", "agent\n"]);
    assert_eq!(buffers["a.txt"], "a agent\n");
}

#[test]
fn what_cannot_be_undone() {
    let (world, _model) = with_model([anthropic::text("One.")]);
    let mut editor = Editor::with_session(&world, &[]);
    let (said, _) = editor.turn("/undo");
    assert_eq!(said[0]["content"]["text"], "there is nothing to undo");
    let (said, _) = editor.turn("/redo");
    assert_eq!(said[0]["content"]["text"], "there is nothing to redo");
    let (_, refused) = editor.turn("/undo all");
    assert_eq!(refused["error"]["message"], "`/undo all`: how many turns is a number from 1");
}
