//! Models that the config file adds to the catalogue or corrects: what is known of them is used everywhere.

use serde_json::json;
use zori_testkit::env::TestEnv;
use zori_testkit::{anthropic, fixture};

use crate::world::{with_model, world};

/// Writes the config file.
fn configure(world: &TestEnv, text: &str) {
    world.write(world.base().join("config.toml"), text);
}

const OWN: &str = r#"
model = "claude-haiku-4-5"
[models."anthropic:claude-next"]
context_window = 50000
max_output = 4321
price_input = 0.29
price_output = 1
images = true

[models."anthropic:claude-haiku-4-5"]
images = false
"#;

#[test]
fn they_are_listed_and_shown() {
    let world = world();
    configure(&world, OWN);
    let listed = world.run(&["models", "list", "--provider", "anthropic"]).success().stdout().to_owned();
    let own: Vec<_> = listed.lines().filter(|line| line.ends_with("(config file)")).collect();
    assert_eq!(
        own,
        [
            "anthropic:claude-haiku-4-5              200000    64000  $1.00 in, $5.00 out (config file)",
            "anthropic:claude-next                    50000     4321  $0.29 in, $1.00 out (config file)",
        ]
    );
    insta::assert_snapshot!(world.run(&["models", "show", "claude-next"]), @r"
    Model:          claude-next
    Provider:       anthropic
    Context window: 50000 tokens
    Reply limit:    4321 tokens
    Abilities:      tools, images
    Prices:         $0.29 in, $1.00 out, $0.29 read from cache, $0.29 written to cache, for a million tokens
    From:           the config file
    [exit status: 0]
    ");
}

#[test]
fn limits_and_prices_are_used() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    configure(&world, OWN);
    let args = ["exec", "--no-save", "--model", "claude-next", "--max-budget-usd", "1", "-p", "hi"];
    assert_eq!(world.run(&args).to_string(), "Hello\n[exit status: 0]");
    assert_eq!(server.request(0).json()["max_tokens"], 4321);
}

/// A model that sees no images: with a prompt they are refused, `read` answers with an error.
#[test]
fn a_model_that_sees_no_images() {
    let (world, server) = with_model([
        anthropic::tool_use("t1", "read", json!({"path": "box.png"})),
        anthropic::text("I cannot see it."),
    ]);
    configure(&world, OWN);
    world.write("box.png", fixture::bytes("images/box.png"));
    insta::assert_snapshot!(world.run(&["exec", "--no-save", "--image", "box.png", "-p", "what?"]), @r"
    ------- stderr -------
    Error: `box.png` [image png 24x16 96 bytes] cannot be sent: `claude-haiku-4-5` cannot see images
    Hint: choose a model that sees images: `claude-sonnet-5-5`, `claude-next`, `claude-fable-5-2`
    [exit status: 2]
    ");
    assert_eq!(server.count(), 0);
    insta::assert_snapshot!(world.run(&["exec", "--no-save", "-p", "look"]), @r"
    I cannot see it.
    ------- stderr -------
    ⚙ Running read... Done. (X.XXs)
    Tool failed: read read_error: The file is an image, [image png 24x16 96 bytes], and you cannot see it: `claude-haiku-4-5` cannot see images
    [exit status: 0]
    ");
}

/// A conversation with images goes on with a model that sees none.
#[test]
fn images_of_the_conversation_are_left_out() {
    let (world, server) =
        with_model([anthropic::text("A box."), anthropic::text("I do not see it."), anthropic::text("No.")]);
    configure(&world, OWN);
    world.write("box.png", fixture::bytes("images/box.png"));
    let args = ["exec", "--session", "s", "--model", "claude-next", "--image", "box.png", "-p", "what?"];
    world.run(&args).success();
    let lines = "and now?\nsure?\n:q\n";
    let mut world = world;
    let base = world.base().to_owned();
    world.set_var("ZDX_HOME", base);
    insta::assert_snapshot!(world.run_with_stdin(&["--as", "zdx", "--session", "s"], lines), @r"
    I do not see it.
    No.
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    Session: s
    Loaded 2 previous messages
    you> Warning: `claude-haiku-4-5` cannot see images; 1 image of this conversation left out of what it is sent
    you> you> Goodbye!
    [exit status: 0]
    ");
    assert_eq!(
        server.request(2).conversation().lines().next(),
        Some("user: [image png 24x16 96 bytes] (left out: you cannot see it)")
    );
}

/// In a chat `/model` may lead to a model that sees no images, and back.
#[test]
fn switching_to_a_model_that_sees_no_images() {
    let (mut world, server) = with_model(["A box.", "I do not see it.", "A box again."].map(anthropic::text));
    configure(&world, OWN);
    let base = world.base().to_owned();
    world.set_var("ZDX_HOME", base);
    world.write("box.png", fixture::bytes("images/box.png"));
    let lines = "/image box.png\n/model claude-next\n/image box.png what?\n/model claude-haiku-4-5\nand now?\n\
                 /model claude-next\nand now?\n:q\n";
    insta::assert_snapshot!(world.run_with_stdin(&["--as", "zdx", "--no-save"], lines), @r"
    A box.
    I do not see it.
    A box again.
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    you> Error: `$WORK/box.png` [image png 24x16 96 bytes] cannot be sent: `claude-haiku-4-5` cannot see images
    Hint: choose a model that sees images: `claude-sonnet-5-5`, `claude-next`, `claude-fable-5-2`
    you> Model: claude-next
    you> you> Model: claude-haiku-4-5
    you> Warning: `claude-haiku-4-5` cannot see images; 1 image of this conversation left out of what it is sent
    you> Model: claude-next
    you> you> Goodbye!
    [exit status: 0]
    ");
    let sent = |n: usize| {
        let first = server.request(n).messages()[0]["content"].clone();
        first
            .as_array()
            .unwrap()
            .iter()
            .map(|block| block["type"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(
        (0..3).map(sent).collect::<Vec<_>>(),
        [vec!["image", "text"], vec!["text", "text"], vec!["image", "text"]]
    );
}

#[test]
fn mistakes_name_file_place_and_key() {
    let check = |text: &str| {
        let world = world();
        configure(&world, text);
        world.run(&["models", "list"]).to_string()
    };
    insta::assert_snapshot!(check("[models.\"olama:q\"]\ncontext_window = 1000\n"), @r#"
    ------- stderr -------
    Error: $BASE/config.toml:1:9: `models."olama:q"`: there is no provider `olama`; did you mean `ollama`?
    [exit status: 2]
    "#);
    insta::assert_snapshot!(check("[models.\"openai:q\"]\ncontext_window = \"big\"\n"), @r#"
    ------- stderr -------
    Error: $BASE/config.toml:2:18: `models."openai:q"`: `context_window` must be a whole number from 1 to 4294967295, not the string "big"
    [exit status: 2]
    "#);
    insta::assert_snapshot!(check("[models.\"openai:q\"]\nimages = true\n"), @r#"
    ------- stderr -------
    Error: $BASE/config.toml:1:9: `models."openai:q"`: `context_window` is missing: the catalogue does not know this model (or name one that is like it: `base`)
    [exit status: 2]
    "#);
}

/// D-11: said once, and a budget is refused unless the config allows it.
#[test]
fn a_model_without_a_price() {
    let (world, server) = with_model([anthropic::tool_use("t1", "ls", json!({})), anthropic::text("Hello")]);
    let args =
        ["exec", "--no-save", "--model", "claude-from-the-future", "--max-budget-usd", "1", "-p", "hi"];
    insta::assert_snapshot!(world.run(&args), @r#"
    ------- stderr -------
    Error: the price of `claude-from-the-future` is not known, so that a budget cannot be kept
    Hint: use another model, or leave the budget out (`--max-budget-usd`, `max_budget_usd`, `cost.max_daily_usd`)
    Hint: say what it costs in a table `[models."PROVIDER:MODEL"]` of the config file or in `prices.toml`, or set `allow_unpriced`
    Hint: `--max-tokens-total N` limits tokens instead
    [exit status: 2]
    "#);
    assert_eq!(server.count(), 0);
    configure(&world, "allow_unpriced = true\n");
    insta::assert_snapshot!(world.run(&args), @r"
    Hello
    ------- stderr -------
    Warning: The price of `claude-from-the-future` is not known, so what it costs is not counted
    ⚙ Running ls... Done. (X.XXs)
    [exit status: 0]
    ");
}
