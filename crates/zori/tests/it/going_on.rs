//! Going on with a session by `-c` and `-r`, and prompts without a flag (DECISIONS 49, 50).

use zori_testkit::anthropic;

use crate::sessions::{only_session, put_session};
use crate::world::{with_model, world};

const ELSEWHERE: &str = "{\"type\":\"meta\",\"schema_version\":1,\"ts\":\"2026-01-01T00:00:00Z\",\"root\":\"/\"}\n\
    {\"type\":\"message\",\"role\":\"user\",\"text\":\"elsewhere\",\"ts\":\"2026-01-01T00:00:00Z\"}\n";

/// The newest session of this folder, never one of another.
#[test]
fn the_newest_of_this_folder() {
    let (world, model) =
        with_model([anthropic::text("One."), anthropic::text("Two."), anthropic::text("Three.")]);
    insta::assert_snapshot!(world.run(&["-c", "-p", "first"]), @"
    ------- stderr -------
    Error: There is no session of this folder to go on with
    Hint: `zori -p TEXT` begins one
    [exit status: 5]
    ");
    world.run(&["-p", "first"]).success();
    let id = only_session(&world);
    put_session(&world, "elsewhere", ELSEWHERE);
    insta::assert_snapshot!(world.run(&["-c", "-p", "second"]), @"
    Two.
    [exit status: 0]
    ");
    assert_eq!(model.request(1).conversation(), "user: first\nassistant: One.\nuser: second\n");
    let before = world.read(world.base().join(format!("sessions/{id}.jsonl")));
    world.run(&["-c", "--fork-session", "-p", "third"]).success();
    assert_eq!(
        model.request(2).conversation(),
        "user: first\nassistant: One.\nuser: second\nassistant: Two.\nuser: third\n"
    );
    assert_eq!(world.read(world.base().join(format!("sessions/{id}.jsonl"))), before);
    assert_eq!(world.session_files().len(), 3);
}

#[test]
fn a_session_by_its_first_letters() {
    let (world, model) = with_model([anthropic::text("Two.")]);
    put_session(&world, "elsewhere", ELSEWHERE);
    insta::assert_snapshot!(world.run(&["exec", "-r", "else", "go on"]), @"
    Two.
    [exit status: 0]
    ");
    assert_eq!(model.request(0).conversation(), "user: elsewhere\nuser: go on\n");
    insta::assert_snapshot!(world.run(&["exec", "--resume", "nobody", "go on"]), @"
    ------- stderr -------
    Error: No session 'nobody' to resume
    Hint: `zori sessions list` shows the sessions there are
    [exit status: 5]
    ");
    insta::assert_snapshot!(world.run(&["exec", "go on", "-r"]), @"
    ------- stderr -------
    Error: `--resume` needs the name of a session, or a terminal to choose one at
    Hint: `zori sessions list` shows the sessions there are; `--continue` takes the newest
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["exec", "go on", "--fork-session"]), @"
    ------- stderr -------
    Error: `--fork-session` needs a session to copy
    Hint: add `--continue` or `--resume ID`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "resume", "-p", "go on"]), @"
    ------- stderr -------
    Error: There is no session of this folder to go on with
    Hint: `zori sessions list` shows the sessions there are
    Hint: `--any` takes the newest of all folders
    [exit status: 5]
    ");
}

/// That there is nothing to go on with is said before a key is asked for.
#[test]
fn nothing_to_go_on_with_and_no_key() {
    let world = world();
    let cases = [
        (&["exec", "-c", "go on"][..], 5),
        (&["-c", "-p", "go on"], 5),
        (&["exec", "-r", "nobody", "go on"], 5),
        (&["exec", "-c", "--json"], 5),
        (&["exec", "go on"], 8),
    ];
    for (args, code) in cases {
        let output = world.run_with_stdin(args, "");
        assert_eq!(output.code(), Some(code), "{args:?} {output}");
    }
    // With a session it is the key that is missing.
    let root = world.work().display().to_string();
    put_session(&world, "here", &ELSEWHERE.replace("\"/\"", &format!("{root:?}")));
    assert_eq!(world.run(&["exec", "-c", "go on"]).code(), Some(8));
    assert_eq!(world.session_files().len(), 1, "nothing was copied or begun");
}

/// Several words are a prompt: without a terminal they are run. A single word is a command or a mistake.
#[test]
fn a_prompt_without_a_flag() {
    let (world, model) = with_model([anthropic::text("One.")]);
    insta::assert_snapshot!(world.run(&["fix the test"]), @"
    One.
    [exit status: 0]
    ");
    assert_eq!(model.request(0).conversation(), "user: fix the test\n");
    insta::assert_snapshot!(world.run(&["fix"]), @"
    ------- stderr -------
    Error: there is no command `fix`
    Hint: `zori --help` shows what there is
    Hint: for a prompt: `zori -p TEXT`
    [exit status: 2]
    ");
}

#[test]
fn questions_about_the_program() {
    let world = world();
    let version = world.run(&["version"]).success();
    assert_eq!(version.stdout(), world.run(&["--version"]).stdout());
    for (people, table) in [
        (&["help", "sessions", "list"][..], &["sessions", "list", "--help"][..]),
        (&["sessions"], &["sessions", "--help"]),
    ] {
        assert_eq!(world.run(people).to_string(), world.run(table).to_string(), "{people:?}");
    }
}
