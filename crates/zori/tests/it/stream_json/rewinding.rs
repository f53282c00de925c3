//! `rewind_files`: a client puts files back to before a prompt (UNDO-42).

use serde_json::json;
use zori_testkit::anthropic::{self, Message};
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;

use super::asking::wait_over;
use super::{lines, outline, request, start, user};
use crate::world::with_model;

const BYPASS: &[&str] = &["--dangerously-skip-permissions", "--replay-user-messages"];
const PROMPT: &str = "00000000-0000-4000-8000-000000000001";

fn write(id: &str, path: &str, text: &str) -> Message {
    anthropic::tool_use(id, "Write", json!({"file_path": path, "content": text}))
}

fn bash(id: &str, command: &str) -> Message {
    anthropic::tool_use(id, "Bash", json!({ "command": command }))
}

/// The names of the prompts, from their echoes.
fn prompts(stdout: &str) -> Vec<String> {
    let echoes = lines(stdout).into_iter().filter(|line| line["isReplay"] == true);
    echoes.map(|line| line["uuid"].as_str().expect("an echo has a name").to_owned()).collect()
}

/// The answers to requests, without the path of the test's folder.
fn answers(world: &TestEnv, stdout: &str) -> String {
    let work = world.work().canonicalize().expect("it is there");
    let told = outline(stdout).replace(&work.display().to_string(), "$WORK");
    told.lines().filter(|line| line.starts_with("answers")).collect::<Vec<_>>().join("\n")
}

fn rewind(id: &str, prompt: &str, dry_run: bool) -> String {
    request(id, json!({"subtype": "rewind_files", "user_message_id": prompt, "dry_run": dry_run}))
}

#[test]
fn files_go_back_to_before_a_prompt() {
    let (world, model) = with_model([
        write("1", "a.txt", "one\n"),
        anthropic::text("ok"),
        bash("2", "echo two >> a.txt; echo new > b.txt"),
        anthropic::text("ok"),
        anthropic::text("ok"),
    ]);
    world.write(".git/HEAD", "ref: refs/heads/main\n");
    world.write("kept.txt", "before\n");
    let mut run = start(&world, &[BYPASS, &["--session-id=s"]].concat());
    run.write_stdin(user("first"));
    wait_over(&mut run, 1);
    let named = json!({"type": "user", "uuid": PROMPT, "message": {"role": "user", "content": "second"}});
    run.write_stdin(format!("{named}\n"));
    wait_over(&mut run, 2);
    run.write_stdin(rewind("dry", PROMPT, true));
    run.wait_for_stdout("\"dry\"");
    assert_eq!((world.read("a.txt").as_str(), world.read("b.txt").as_str()), ("one\ntwo\n", "new\n"));
    run.write_stdin(rewind("real", PROMPT, false));
    run.wait_for_stdout("\"real\"");
    assert_eq!(world.read("a.txt"), "one\n");
    assert!(!world.work().join("b.txt").exists());
    run.write_stdin(rewind("again", PROMPT, false));
    let result = lines(&run.raw_stdout())
        .into_iter()
        .find(|line| line["message"]["content"][0]["type"] == "tool_result");
    let result = result.expect("there was a call")["uuid"].as_str().expect("it has a name").to_owned();
    for (id, prompt) in [("no-prompt", result.as_str()), ("nothing", "frob")] {
        run.write_stdin(rewind(id, prompt, false)).write_stdin(rewind(&format!("{id}-dry"), prompt, true));
    }
    run.write_stdin(request("bad", json!({"subtype": "rewind_files"})));
    run.write_stdin(user("third"));
    wait_over(&mut run, 3);
    run.close_stdin();
    let output = run.finish();
    insta::assert_snapshot!(answers(&world, &output.stdout()), @r#"
    answers dry {"canRewind":true,"filesChanged":["$WORK/a.txt","$WORK/b.txt"],"insertions":0,"deletions":2,"filesKept":[]}
    answers real {"canRewind":true,"filesChanged":["$WORK/a.txt","$WORK/b.txt"],"insertions":0,"deletions":2,"filesKept":[],"skippedLinks":0}
    answers again {"canRewind":true,"filesChanged":[],"insertions":0,"deletions":0,"filesKept":[],"skippedLinks":0}
    answers no-prompt "No file checkpoint found for this message."
    answers no-prompt-dry {"canRewind":false,"error":"No file checkpoint found for this message."}
    answers nothing "No file checkpoint found for this message."
    answers nothing-dry {"canRewind":false,"error":"No file checkpoint found for this message."}
    answers bad "rewind_files: `user_message_id` is missing"
    "#);
    // The model hears of it with the next prompt, and reads the files again before it writes them.
    let sent = model.request(4).conversation();
    let note = sent.lines().find(|line| line.contains("put files back")).expect("there is a note");
    insta::assert_snapshot!(note.replace(&world.work().canonicalize().unwrap().display().to_string(), "$WORK"), @"user: The user put files back to an earlier state. Read them again before you rely on them: $WORK/a.txt, $WORK/b.txt");
    // Another process goes on with the session: before its first prompt, and after.
    let first = &prompts(&String::from_utf8_lossy(&output.stdout))[0];
    let mut run = start(&world, &["--resume=s"]);
    run.write_stdin(rewind("dry", first, true)).write_stdin(rewind("real", first, false)).close_stdin();
    let output = run.finish();
    insta::assert_snapshot!(answers(&world, &output.stdout()), @r#"
    answers dry {"canRewind":true,"filesChanged":["$WORK/a.txt"],"insertions":0,"deletions":1,"filesKept":[]}
    answers real {"canRewind":true,"filesChanged":["$WORK/a.txt"],"insertions":0,"deletions":1,"filesKept":[],"skippedLinks":0}
    "#);
    assert!(!world.work().join("a.txt").exists());
    assert_eq!(world.read("kept.txt"), "before\n");
}

/// As the SDK's documentation does it: in a turn. Not while a call runs.
#[test]
fn in_a_turn() {
    let gate = Gate::new();
    let (world, _model) = with_model([
        write("1", "a.txt", "one\n").reply(),
        anthropic::text("ok").reply().wait_after(3, &gate),
    ]);
    world.write(".git/HEAD", "ref: refs/heads/main\n");
    let mut run = start(&world, &[BYPASS, &["--include-partial-messages"]].concat());
    run.write_stdin(user("first"));
    run.wait_for_stdout("text_delta");
    assert_eq!(world.read("a.txt"), "one\n");
    let first = prompts(&run.raw_stdout()).remove(0);
    run.write_stdin(rewind("real", &first, false));
    run.wait_for_stdout("\"real\"");
    assert!(!world.work().join("a.txt").exists(), "{}", answers(&world, &run.stdout()));
    gate.open();
    wait_over(&mut run, 1);
    run.close_stdin();
    let output = run.finish();
    insta::assert_snapshot!(answers(&world, &output.stdout()), @r#"answers real {"canRewind":true,"filesChanged":["$WORK/a.txt"],"insertions":0,"deletions":1,"filesKept":[],"skippedLinks":0}"#);
    assert_eq!(output.code(), Some(0));
}

#[test]
fn nothing_is_captured() {
    let (world, _model) = with_model([write("1", "a.txt", "one\n"), anthropic::text("ok")]);
    let mut run = start(&world, &[BYPASS, &["--no-checkpoints"]].concat());
    run.write_stdin(user("first"));
    wait_over(&mut run, 1);
    let first = prompts(&run.raw_stdout()).remove(0);
    run.write_stdin(rewind("dry", &first, true)).write_stdin(rewind("real", &first, false)).close_stdin();
    insta::assert_snapshot!(answers(&world, &run.finish().stdout()), @r#"
    answers dry {"canRewind":false,"error":"No file checkpoint found for this message."}
    answers real "No file checkpoint found for this message."
    "#);
    assert_eq!(world.read("a.txt"), "one\n");
}
