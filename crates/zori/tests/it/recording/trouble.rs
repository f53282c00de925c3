//! Where a replay leaves its recording, files that cannot be used, flags that do not fit, and secrets.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::{TEST_KEY, TestEnv};
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use super::offline;
use crate::world::{with_model, world};

/// A recorded run with a tool, ready to be replayed.
fn recorded() -> (TestEnv, ModelServer) {
    let (mut world, server) = with_model([
        anthropic::tool_use("t1", "ls", json!({})).tool_use("t2", "bash", json!({"command": "cat a.txt"})),
        anthropic::text("It says hello."),
    ]);
    world.write("a.txt", "hello\n");
    world.run(&["exec", "-p", "Look", "--no-save", "--record", "../r.jsonl"]).success();
    offline(&mut world);
    (world, server)
}

/// Returns all but the lines about tools: two of them run at once, and either may end first.
fn told(world: &TestEnv, args: &[&str]) -> String {
    let shown = world.run(args).to_string();
    let about_tools = |line: &&str| line.starts_with('⚙') || line.starts_with("Tool ");
    shown.lines().filter(|line| !about_tools(line)).collect::<Vec<_>>().join("\n")
}

#[test]
fn a_tool_that_says_something_else() {
    let (world, _server) = recorded();
    world.write("a.txt", "howdy\n");
    insta::assert_snapshot!(told(&world, &["exec", "--replay", "../r.jsonl"]), @r"
    ------- stderr -------
    Error [replay]: request 2 differs from the recording at `/messages/2/content/1/content` (the result of call 2, `bash`): recorded `hello`, now `howdy`
    Hint: tools really run on a replay: start it where the files are as they were
    Hint: `--replay-lenient` goes on with the recorded answers
    [exit status: 1]
    ");
    insta::assert_snapshot!(told(&world, &["exec", "--replay", "../r.jsonl", "--replay-lenient"]), @r"
    It says hello.
    ------- stderr -------
    Warning: request 2 differs from the recording at `/messages/2/content/1/content` (the result of call 2, `bash`): recorded `hello`, now `howdy`
    [exit status: 0]
    ");
}

#[test]
fn another_prompt() {
    let (world, _server) = recorded();
    insta::assert_snapshot!(world.run(&["exec", "--replay", "../r.jsonl", "-p", "Look again"]), @"
    ------- stderr -------
    Error [replay]: request 1 differs from the recording at `/messages/0/content/0/text`: recorded `Look`, now `Look again`
    Hint: `--replay-lenient` goes on with the recorded answers
    [exit status: 1]
    ");
}

/// A recording with requests that the run does not make, and one that has too few.
#[test]
fn more_or_less() {
    let (world, _server) = recorded();
    let text = world.read("../r.jsonl");
    let doubled: Vec<String> = text
        .lines()
        .filter(|line| line.contains("\"n\":2,"))
        .map(|line| line.replace("\"n\":2,", "\"n\":3,"))
        .collect();
    world.write("../more.jsonl", format!("{text}{}\n", doubled.join("\n")));
    let output = world.run(&["exec", "--no-save", "--replay", "../more.jsonl"]);
    assert!(output.stdout() == "It says hello.\n" && output.code() == Some(1), "{output}");
    assert!(
        output
            .stderr()
            .ends_with("Error [replay]: the recording has 1 more request that this run did not make\n"),
        "{output}"
    );
    let less: Vec<&str> = text.lines().filter(|line| !line.contains("\"n\":2,")).collect();
    world.write("../less.jsonl", less.join("\n"));
    let output = world.run(&["exec", "--no-save", "--replay", "../less.jsonl"]);
    assert_eq!((output.stdout().as_str(), output.code()), ("", Some(1)), "{output}");
    assert!(
        output
            .stderr()
            .contains("Error [replay]: the run asks once more, but the recording has only 1 request\n"),
        "{output}"
    );
}

/// Nothing is asked before the file is there, and an existing one is left alone.
#[test]
fn files_that_cannot_be_written() {
    let (world, server) = with_model([anthropic::text("never")]);
    world.write("there.jsonl", "mine");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--record", "there.jsonl"]), @"
    ------- stderr -------
    Error: the file there.jsonl exists already and is left alone
    Hint: give `--record` the name of a new file, or remove that one
    [exit status: 6]
    ");
    assert_eq!(world.read("there.jsonl"), "mine");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--record", "no/such/folder/r.jsonl"]), @"
    ------- stderr -------
    Error: cannot write the recording no/such/folder/r.jsonl: No such file or directory (os error 2)
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["exec", "--record", "r.jsonl"]), @"
    ------- stderr -------
    Error: there is no prompt
    Hint: give one with `-p TEXT`, or on standard input
    [exit status: 2]
    ");
    assert!(!world.work().join("r.jsonl").exists(), "without a prompt there is nothing to record");
    assert_eq!((server.count(), world.session_files().len()), (0, 0));
}

#[test]
fn files_that_cannot_be_replayed() {
    let world = world();
    world.write("notes.txt", "some notes\n");
    world.write("bytes", [0xff, 0xfe, 0x00]);
    let mut all = String::new();
    for file in ["missing.jsonl", ".", "notes.txt", "bytes"] {
        all += &format!("{}\n", world.run(&["exec", "--replay", file]));
    }
    insta::assert_snapshot!(all, @"
    ------- stderr -------
    Error: cannot replay missing.jsonl: No such file or directory (os error 2)
    [exit status: 2]
    ------- stderr -------
    Error: cannot replay .: Is a directory (os error 21)
    [exit status: 2]
    ------- stderr -------
    Error: cannot replay notes.txt: it does not begin as a recording does
    Hint: `--record FILE` writes recordings
    [exit status: 2]
    ------- stderr -------
    Error: cannot replay bytes: it does not begin as a recording does
    Hint: `--record FILE` writes recordings
    [exit status: 2]
    ");
}

#[test]
fn flags_that_do_not_fit() {
    let (world, _server) = recorded();
    let mut all = String::new();
    for flags in [
        &["exec", "--replay", "../r.jsonl", "--provider", "openai"][..],
        &["exec", "--replay", "../r.jsonl", "--model", "claude-opus-4-1"],
        &["exec", "--replay", "../r.jsonl", "--model", "openai:gpt-5"],
        &["exec", "--replay", "../r.jsonl", "--thinking", "high"],
        &["exec", "--replay", "../r.jsonl", "--system-prompt", "x"],
        &["exec", "--replay", "../r.jsonl", "--as", "zdx"],
        &["exec", "--replay", "../r.jsonl", "--record", "x.jsonl"],
        &["exec", "-p", "hi", "--replay-lenient"],
        &["sessions", "list", "--record", "x.jsonl"],
        &["demo", "--replay", "../r.jsonl"],
    ] {
        all += &format!("{}\n", world.run(flags));
    }
    insta::assert_snapshot!(all, @r"
    ------- stderr -------
    Error: `--provider openai` does not fit the recording, which has `anthropic`
    Hint: leave `--provider` out
    [exit status: 2]
    ------- stderr -------
    Error: `--model claude-opus-4-1` does not fit the recording, which has `claude-sonnet-5-5`
    Hint: leave `--model` out
    [exit status: 2]
    ------- stderr -------
    Error: `--model openai:gpt-5` does not fit the recording, which has `claude-sonnet-5-5`
    Hint: leave `--model` out
    [exit status: 2]
    ------- stderr -------
    Error: `--thinking high` does not fit the recording, which has `none`
    Hint: leave `--thinking` out
    [exit status: 2]
    ------- stderr -------
    Error: `--system-prompt` and `--replay` exclude each other: a recording has its own
    [exit status: 2]
    ------- stderr -------
    Error: `--as zdx` does not fit the recording, which has `zori`
    Hint: give `--as zori`
    [exit status: 2]
    ------- stderr -------
    Error: `--record` and `--replay` do not go together
    [exit status: 2]
    ------- stderr -------
    Error: `--replay-lenient` needs `--replay`
    [exit status: 2]
    ------- stderr -------
    Error: `--record` is no option of this command
    Hint: it goes with `zori exec`, `zori chat`, `zori tui`
    [exit status: 2]
    ------- stderr -------
    Error: `--replay` is no option of this command
    Hint: it goes with `zori exec`, `zori chat`, `zori tui`
    [exit status: 2]
    ");
    let fits = ["exec", "--no-save", "--replay", "../r.jsonl", "--model", "anthropic:claude-sonnet-5-5"];
    assert_eq!(world.run(&fits).success().stdout(), "It says hello.\n");
}

/// No key gets into a recording: not from headers, prompts, tools, files or the server's own words.
#[test]
fn no_key_gets_in() {
    const OTHER: &str = "sk-other/key+0123456789";
    let told = format!("the key {TEST_KEY} is bad");
    let (mut world, server) = with_model([
        anthropic::text(&format!("Is it {TEST_KEY}?"))
            .tool_use("t1", "bash", json!({"command": "cat key.txt"}))
            .reply()
            .chunks_of(5),
        anthropic::http_error(401, "authentication_error", &told),
    ]);
    world.set_var("OPENAI_API_KEY", OTHER);
    let url = server.url().replace("http://", "http://someone:hunter2222@");
    world.set_var("ANTHROPIC_BASE_URL", url);
    let coded = "c2stb3RoZXIva2V5KzAxMjM0NTY3ODk=";
    world.write("key.txt", format!("{TEST_KEY} {OTHER} sk-other%2Fkey%2B0123456789 {coded} hunter2222"));
    let prompt = format!("My key is {TEST_KEY}.");
    let first =
        world.run(&["exec", "-p", &prompt, "--no-save", "--system-prompt", TEST_KEY, "--record", "r.jsonl"]);
    assert_eq!(first.code(), Some(3), "{first}");
    assert!(server.request(1).conversation().contains(TEST_KEY), "the model sees what was said");
    let text = world.read("r.jsonl");
    for secret in [TEST_KEY, OTHER, "other%2Fkey", &coded[..24], "hunter2222", "someone", "x-api-key"] {
        assert!(!text.contains(secret), "{secret}: {text}");
    }
    let mode = std::os::unix::fs::PermissionsExt::mode(
        &world.work().join("r.jsonl").metadata().unwrap().permissions(),
    );
    assert_eq!(mode & 0o777, 0o600);
    // What was taken out does not count as a difference, though the file still has it.
    offline(&mut world);
    let second = world.run(&["exec", "--no-save", "--replay", "r.jsonl"]);
    assert_eq!(second.code(), Some(3), "{second}");
    assert_eq!(second.stdout(), "Is it [REDACTED]?\n");
}

/// A key that the model spells over several events of its answer is in none of them whole, and gets into no recording all the same: not from its words, not
/// from a call. The replay puts together what is left.
#[test]
fn no_key_gets_in_piece_by_piece() {
    let spelled: String = TEST_KEY.chars().map(|letter| format!("{letter} ")).collect();
    // Each word is an event of its own; the blanks go.
    let text = anthropic::text(&format!("Is it {spelled}now?")).sse();
    let text = TEST_KEY.chars().fold(text, |sse, letter| {
        sse.replace(&format!("\"text\":\"{letter} \""), &format!("\"text\":\"{letter}\""))
    });
    // A call's input comes in two halves, and the key is across them.
    let call =
        anthropic::tool_use("t1", "bash", json!({"command": format!("echo {TEST_KEY} a b c d e f")})).sse();
    assert!(!text.contains(TEST_KEY) && !call.contains(TEST_KEY), "{text}{call}");
    let (mut world, server) =
        with_model([Reply::sse(text), Reply::sse(call).chunks_of(11), anthropic::text("Done.").into()]);
    world.run(&["exec", "-p", "one", "--record", "words.jsonl"]).success();
    world.run(&["exec", "-p", "two", "--record", "call.jsonl"]).success();
    assert!(server.request(2).conversation().contains(TEST_KEY), "the model sees what was said");
    for file in ["words.jsonl", "call.jsonl"] {
        let recorded = world.read(file);
        let whole: String = recorded
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("it is JSON"))
            .filter_map(|line| line["text"].as_str().map(str::to_owned))
            .collect();
        let pieces = ["text", "partial_json"].map(|name| {
            let said = whole.lines().filter_map(|line| line.strip_prefix("data: "));
            let events = said.filter_map(|data| serde_json::from_str::<Value>(data).ok());
            events.filter_map(|event| event["delta"][name].as_str().map(str::to_owned)).collect::<String>()
        });
        let wanted = match file {
            "words.jsonl" => ["Is it [REDACTED]now?", ""],
            _ => ["Done.", r#"{"command":"echo [REDACTED] a b c d e f"}"#],
        };
        assert_eq!(pieces, wanted, "{file}");
        assert!(!recorded.contains(TEST_KEY), "{recorded}");
    }
    offline(&mut world);
    let again = world.run(&["exec", "--no-save", "--replay", "words.jsonl"]).success();
    assert_eq!(again.stdout(), "Is it [REDACTED]now?\n");
}
