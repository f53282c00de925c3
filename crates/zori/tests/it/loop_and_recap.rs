//! `/loop` and `/recap` in every channel (`docs/contracts/loop-and-recap.md`): the screen, the line chat, piped text and `--json`, whose
//! details are in `jsonl/session.rs`.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;
use zori_testkit::wait;

use crate::chat::screen::{over, type_line};
use crate::screen_stage::Person;
use crate::world::with_model;

const QUESTION: &str = "Continue? [y/N]";
/// A recap with a decision, a fact and a question in it.
const RECAP: &str =
    r#"{"decisions":["use a trie"],"facts":["add() subtracts"],"open_questions":["who calls add()?"]}"#;

/// The script of section 6: an answer, a provider that has had enough, an answer.
fn ok_limited_ok() -> [Reply; 3] {
    let limited = anthropic::http_error(429, "rate_limit_error", "Too many requests");
    [anthropic::text("One.").reply(), limited, anthropic::text("Three.").reply()]
}

/// What the model read last: the turn that failed left nothing behind.
#[track_caller]
fn check_conversation(model: &ModelServer) {
    assert_eq!(model.request(2).conversation(), "user: a\nassistant: One.\nuser: c\n");
}

/// FR-007, FR-008, NFR-004, NFR-007: the question stands in the status row, a turn that fails is told, and the counter goes on.
#[test]
fn fr_007_a_loop_on_the_screen() {
    let (world, model) = with_model(ok_limited_ok());
    let mut person = Person::open(&world, &["--no-save", "--retries", "0"]);
    person.says("/loop a").sees("↻ loop, turn 1 · Continue? [y/N]").pauses(1300).keys("y");
    person.sees_no_more(QUESTION).says("b").sees("✗ HTTP 429: Too many requests");
    // The prompt that failed takes no key of the answer, and is back behind it.
    person.sees("↻ loop, turn 2 · Continue? [y/N]").pauses(1300).keys("y");
    person.sees_no_more(QUESTION).sees("› b").keys("\x15").pauses(50);
    person.says("c").sees("Three.").sees("↻ loop, turn 3 · Continue? [y/N]").pauses(1300).keys("n");
    person.sees("The loop is over.").leaves();
    check_conversation(&model);
}

/// Waits for the question of the line chat, the n-th time that it reads, and answers it.
#[track_caller]
fn answer(pty: &mut Pty, reads: usize, keys: &str) {
    let asked = wait::poll(wait::BOUND, || {
        let drawn = pty.drawn();
        let last = drawn.rsplit("\x1b[?2004h").next()?;
        (drawn.matches("\x1b[?2004h").count() >= reads && last.contains(QUESTION)).then_some(())
    });
    assert!(asked.is_some(), "nothing was asked:\n{}", pty.drawn());
    pty.send(keys).send("\r");
}

/// The same in the line chat, where the question stands in place of the prompt.
#[test]
fn fr_007_a_loop_in_the_line_chat() {
    let (world, model) = with_model(ok_limited_ok());
    let mut pty = world.pty(&["--no-save", "--retries", "0"], Size::CLASSIC);
    type_line(&mut pty, 1, "/loop a");
    answer(&mut pty, 2, "y");
    type_line(&mut pty, 3, "b");
    answer(&mut pty, 4, "maybe");
    answer(&mut pty, 5, "Yes");
    type_line(&mut pty, 6, "c");
    answer(&mut pty, 7, "");
    type_line(&mut pty, 8, ":q");
    // The editor draws the question again with what is typed behind it.
    let shown = over(pty).replace("you> Continue? [y/N] Continue? [y/N]", "Continue? [y/N]");
    // An answer that comes before the editor reads is shown by the terminal, too.
    let shown = ["y", "maybe", "Yes"].iter().fold(shown, |shown, word| {
        shown.replace(
            &format!("Continue? [y/N] {word}Continue? [y/N] {word}"),
            &format!("Continue? [y/N] {word}"),
        )
    });
    insta::assert_snapshot!(shown, @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> /loop a
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    One.
    Continue? [y/N] y
    you> b
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    ✗ HTTP 429: Too many requests
      /model takes another · details: /show 1
    Continue? [y/N] maybe
    Continue? [y/N] Yes
    you> c
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Three.
    Continue? [y/N]
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    check_conversation(&model);
}

/// The same as piped text: an answer is a line, and the session goes on behind the loop (D-20).
#[test]
fn fr_007_a_loop_on_a_pipe() {
    let [one, limited, three] = ok_limited_ok();
    let (world, model) = with_model([one, limited, three, anthropic::text("Four.").reply()]);
    let lines = "/loop a\ny\nb\ny\nc\nmaybe\nn\nd\n";
    let output = world.run_with_stdin(&["--as", "zdx", "--no-save", "--retries", "0"], lines);
    insta::assert_snapshot!(output, @r#"
    One.
    Three.
    Four.
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    you> Continue? [y/N] you> Error [http_status]: HTTP 429: Too many requests
      Details: {"error":{"message":"Too many requests","type":"rate_limit_error"},"type":"error"}
    Continue? [y/N] you> Continue? [y/N] Continue? [y/N] you> you> [no newline]
    [exit status: 0]
    "#);
    check_conversation(&model);
    assert_eq!(
        model.request(3).conversation(),
        "user: a\nassistant: One.\nuser: c\nassistant: Three.\nuser: d\n"
    );
}

/// FR-008: the ways out of the loop on a pipe, one of which is the end of the input; none is an error.
#[test]
fn fr_008_ways_out_on_a_pipe() {
    for (answer, asked) in [("n\n", 1), ("NO\n", 1), ("\n", 1), ("", 1), ("what\nyy\nno\n", 3)] {
        let (world, model) = with_model([anthropic::text("One.")]);
        let output = world.run_with_stdin(&["--as", "zdx", "--no-save"], format!("/loop a\n{answer}"));
        assert_eq!(output.code(), Some(0), "{answer:?}: {output}");
        assert_eq!(output.stderr().matches(QUESTION).count(), asked, "{answer:?}: {output}");
        assert_eq!(model.count(), 1);
    }
}

/// FR-008: on the screen the end of the input leaves the loop, and not the chat.
#[test]
fn fr_008_the_end_of_the_input_on_the_screen() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("/loop a").sees("↻ loop, turn 1 · Continue? [y/N]").pauses(1300).keys("\x04");
    person.sees("The loop is over.").says("b").sees("Two.").leaves();
    assert_eq!(model.count(), 2);
}

/// The three lists, as every channel shows them.
const LISTS: [&str; 8] = [
    "Decisions:",
    "- use a trie",
    "",
    "Facts:",
    "- add() subtracts",
    "",
    "Open questions:",
    "- who calls add()?",
];

/// FR-009, NFR-005, D-27: on the screen. A recap that fails says so, and the session goes on without it.
#[test]
fn fr_009_a_recap_on_the_screen() {
    let (world, model) = with_model([
        anthropic::text("One.").reply(),
        anthropic::text(RECAP).reply(),
        anthropic::http_error(400, "invalid_request_error", "no recap today"),
        anthropic::text("Two.").reply(),
    ]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("/recap").sees("No turns in session");
    person.says("first").sees("One.").sees_no_more("· Esc").says("/recap").sees("who calls add()?");
    person.sees_no_more("· Esc").says("/recap").sees("✗ Recap failed: HTTP 400: no recap today");
    person.sees_no_more("· Esc").says("second").sees("Two.");
    let rows = person.rows();
    let at = rows.iter().position(|row| row == "Decisions:").expect("the lists are there");
    let shown: Vec<String> = rows[at..at + 8].iter().map(|row| row.replace('•', "-")).collect();
    assert_eq!(shown, LISTS);
    assert_eq!(model.request(3).conversation(), "user: first\nassistant: One.\nuser: second\n");
    person.leaves();
}

/// The same in the line chat.
#[test]
fn fr_009_a_recap_in_the_line_chat() {
    let (world, model) = with_model([
        anthropic::text("One.").reply(),
        anthropic::text(RECAP).reply(),
        anthropic::http_error(400, "invalid_request_error", "no recap today"),
        anthropic::text("Two.").reply(),
    ]);
    let mut pty = world.pty(&["--no-save"], Size::CLASSIC);
    for (prompt, line) in (1..).zip(["/recap", "first", "/recap", "/recap", "second", ":q"]) {
        type_line(&mut pty, prompt, line);
    }
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> /recap
    No turns in session
    you> first
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    One.
    you> /recap
    Decisions:
    - use a trie

    Facts:
    - add() subtracts

    Open questions:
    - who calls add()?
    you> /recap
    Recap failed: HTTP 400: no recap today
    you> second
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Two.
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    assert_eq!(model.request(3).conversation(), "user: first\nassistant: One.\nuser: second\n");
}

/// The same as piped text.
#[test]
fn fr_009_a_recap_on_a_pipe() {
    let (world, model) = with_model([
        anthropic::text("One.").reply(),
        anthropic::text(RECAP).reply(),
        anthropic::http_error(400, "invalid_request_error", "no recap today"),
        anthropic::text("Two.").reply(),
    ]);
    let lines = "/recap\nfirst\n/recap\n/recap\nsecond\n";
    let output = world.run_with_stdin(&["--as", "zdx", "--no-save"], lines);
    insta::assert_snapshot!(output, @"
    One.
    Two.
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    you> No turns in session
    you> you> Decisions:
    - use a trie

    Facts:
    - add() subtracts

    Open questions:
    - who calls add()?
    you> Recap failed: HTTP 400: no recap today
    you> you> [no newline]
    [exit status: 0]
    ");
    assert_eq!(model.request(3).conversation(), "user: first\nassistant: One.\nuser: second\n");
}

/// FR-009: sessions of one, three and five turns reach the model whole, and however much it answers, 512 tokens are said.
#[test]
fn fr_009_all_turns_go_in_and_little_comes_out() {
    let facts: Vec<String> =
        (0..700).map(|i| format!("Fact number {i} is that the function subtracts.")).collect();
    let long = json!({"decisions": ["use a trie"], "facts": facts, "open_questions": ["who calls add()?"]})
        .to_string();
    let prose = "The session decided to use a trie. ".repeat(700);
    for turns in [1, 3, 5] {
        for answer in [&long, &prose] {
            let said = (0..turns).map(|i| anthropic::text(&format!("Planted answer {i}.")));
            let (world, model) = with_model(said.chain([anthropic::text(answer)]));
            let prompts: String = (0..turns).map(|i| format!("planted prompt {i}\n")).collect();
            let output =
                world.run_with_stdin(&["--json", "--no-save", "--bare"], format!("{prompts}/recap\n"));
            let asked = model.request(turns).conversation();
            for i in 0..turns {
                assert!(asked.contains(&format!("planted prompt {i}")), "{asked}");
                assert!(asked.contains(&format!("Planted answer {i}.")), "{asked}");
            }
            let stdout = output.stdout();
            let events: Vec<Value> =
                stdout.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect();
            let kinds: Vec<&str> = events.iter().filter_map(|event| event["type"].as_str()).collect();
            assert_eq!(kinds[kinds.len() - 3..], ["response_chunk", "response_end", "cost"]);
            let text = events[events.len() - 3]["text"].as_str().expect("it says something");
            // No tokenizer makes fewer tokens than there are words of letters.
            let words = text.split_whitespace().count();
            assert!((50..=512).contains(&words), "{words} words: {text}");
            match answer == &long {
                true => assert!(text.contains("- who calls add()?"), "the short lists stay: {text}"),
                false => assert!(text.ends_with("trie."), "the end of a sentence: {text}"),
            }
        }
    }
}

/// D-24: another provider sums the session up where the settings name one: it alone is sent the session for that, within the bounds that they say, and its
/// price counts. One that cannot be asked fails as a recap does.
#[test]
fn fr_009_another_provider() {
    let facts: Vec<String> = (0..50).map(|i| format!("Fact number {i} is that it subtracts.")).collect();
    let recap = json!({"decisions": ["use a trie"], "facts": facts, "open_questions": []}).to_string();
    let small = ModelServer::strict([anthropic::text(&recap)]);
    let (mut world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    world.set_var("SMALL_KEY", "small-0123456789");
    let providers = format!(
        "[providers.small]\napi = \"anthropic\"\nbase_url = \"{}\"\nkey_env = \"SMALL_KEY\"\n",
        small.url()
    );
    world.write(world.base().join("prices.toml"), "[\"small:small-1\"]\ninput = 1000\noutput = 1000\n");
    let settings = |provider: &str| {
        let recap = format!("[session.recap]\nprovider = \"{provider}\"\nmax_tokens = 100\n");
        world.write(world.base().join("config.toml"), format!("{providers}{recap}"));
    };
    let run = |lines: &str| {
        let output = world.run_with_stdin(&["--json", "--no-save", "--bare"], lines);
        let line = |line: &str| serde_json::from_str(line).expect("each line is JSON");
        output.stdout().lines().map(line).collect::<Vec<Value>>()
    };
    settings("small:small-1");
    let events = run("first\n/recap\n");
    assert_eq!((model.count(), small.count()), (1, 1));
    let asked = small.request(0);
    assert_eq!(
        (&asked.json()["model"], asked.header("x-api-key")),
        (&json!("small-1"), Some("small-0123456789"))
    );
    assert!(asked.conversation().contains(r#"{"who":"user","text":"first"}"#), "{}", asked.conversation());
    let [.., chunk, _, cost] = events.as_slice() else { panic!("{events:?}") };
    let text = chunk["text"].as_str().expect("it says something");
    assert!(text.starts_with("Decisions:\n- use a trie\n\nFacts:\n- Fact number 0 "), "{text}");
    assert!(text.split_whitespace().count() <= 100, "{text}");
    assert_eq!(cost["estimated_usd"], json!(0.015), "ten tokens in and five out");

    settings("smal:small-1");
    let events = run("second\n/recap\n");
    let [.., error, _] = events.as_slice() else { panic!("{events:?}") };
    assert_eq!(
        (&error["code"], &error["message"]),
        (&json!("recap_error"), &json!("`session.recap.provider`: unknown provider `smal`"))
    );
    assert_eq!((model.count(), small.count()), (2, 1));
}

/// NFR-005: a model that never answers does not keep the session: whoever waits can go on.
#[test]
fn nfr_005_a_recap_that_hangs_is_stopped() {
    let (world, model) =
        with_model([anthropic::text("One.").reply(), Reply::stall(), anthropic::text("Two.").reply()]);
    let mut person = Person::open(&world, &["--no-save"]);
    person
        .says("first")
        .sees("One.")
        .sees_no_more("· Esc")
        .says("/recap")
        .sees("Waiting for")
        .pauses(50)
        .keys("\x1b");
    person.sees("Recap failed: interrupted").says("second").sees("Two.");
    assert_eq!(model.request(2).conversation(), "user: first\nassistant: One.\nuser: second\n");
    person.leaves();
}

/// FR-010: both are in the list that completion walks, and in `/help`.
#[test]
fn fr_010_both_are_listed() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.keys("/loo").sees("/loop [PROMPT]  Ask after every turn whether to continue").keys("\x15");
    person.pauses(50).keys("/rec").sees("/recap  ").sees("Sum this session up").keys("\x15");
    person.pauses(50).says("/help").sees("  /loop [PROMPT]").sees("  /recap ").leaves();
}
