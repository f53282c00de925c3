//! `--max-turns`, `--max-budget-usd` and `--max-tokens-total`: a run that would go on beyond them ends with exit 3.

use serde_json::{Value, json};
use zori_testkit::anthropic::{self, Message};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::wait;

use crate::chat::screen::{over, type_line};
use crate::memory::said;
use crate::screen_stage::Person;
use crate::sessions::saved;
use crate::world::{with_model, world};

/// A model that would look around for ever. Ten tokens in and five out cost 35 micro-dollars with this model.
fn restless() -> Vec<Message> {
    (1..=9).map(|n| anthropic::tool_use(&format!("t{n}"), "ls", json!({}))).collect()
}

/// The round that reaches the limit is kept, so that the session can go on.
#[test]
fn turns() {
    let (world, model) = with_model(restless());
    insta::assert_snapshot!(world.run(&["exec", "--session", "s", "--max-turns", "2", "-p", "hi"]), @"
    ------- stderr -------
    Warning: Session 's' does not exist yet; starting it
    ⚙ Running ls... Done. (X.XXs)
    ⚙ Running ls... Done. (X.XXs)
    Error: Reached the limit of 2 turns (`--max-turns`)
    [exit status: 3]
    ");
    assert_eq!(model.count(), 2);
    insta::assert_snapshot!(saved(&world, "s"), @r#"
    {"type":"meta","schema_version":1,"ts":"$TS","root":"$WORK"}
    {"type":"message","role":"user","text":"hi","ts":"$TS"}
    {"type":"tool_use","id":"t1","name":"ls","input":{},"ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    {"type":"tool_result","tool_use_id":"t1","output":{"ok":true,"data":{"path":".","entries":[],"total":0,"truncated":false}},"ok":true,"ts":"$TS"}
    {"type":"tool_use","id":"t2","name":"ls","input":{},"ts":"$TS","model":"claude-haiku-4-5","usage":{"input_tokens":10,"output_tokens":5,"cache_read_tokens":0,"cache_write_tokens":0}}
    {"type":"tool_result","tool_use_id":"t2","output":{"ok":true,"data":{"path":".","entries":[],"total":0,"truncated":false}},"ok":true,"ts":"$TS"}
    {"type":"notice","level":"error","code":"max_turns","text":"Reached the limit of 2 turns (`--max-turns`)","ts":"$TS"}
    "#);
    assert_eq!(world.run(&["exec", "--session", "s", "--max-turns", "1", "-p", "go on"]).code(), Some(3));
    insta::assert_snapshot!(model.request(2).conversation(), @r"
    user: hi
    assistant: tool_use t1 ls {}
    user: tool_result t1 (the directory is empty)
    assistant: tool_use t2 ls {}
    user: tool_result t2 (the directory is empty)
    user: go on
    ");
}

/// A program reads what people read, and no name of our own types: the envelope said `a limit was reached: turns`.
#[test]
fn the_envelope_says_which_limit() {
    let (world, _model) = with_model(restless());
    let output = world.run(&["exec", "--output", "json", "--max-turns", "2", "-p", "hi"]);
    let answer: Value = serde_json::from_str(&output.stdout()).unwrap();
    let error = &answer["error"];
    assert_eq!(
        (output.code(), &error["code"], &error["message"]),
        (Some(3), &json!("PARTIAL_FAILURE"), &json!("Reached the limit of 2 turns (`--max-turns`)."))
    );
}

#[test]
fn money() {
    let run = |flag| {
        let (world, model) = with_model(restless());
        let output =
            world.run(&["exec", "--model", "claude-haiku-4-5", flag, "0.0001", "-p", "hi"]).to_string();
        assert_eq!(model.count(), 3, "35, 70, 105 of 100 micro-dollars");
        output
    };
    let output = run("--max-budget-usd");
    insta::assert_snapshot!(output, @"
    ------- stderr -------
    ⚙ Running ls... Done. (X.XXs)
    ⚙ Running ls... Done. (X.XXs)
    ⚙ Running ls... Done. (X.XXs)
    Error: Reached the budget of $0.000100: $0.000105 spent (`--max-budget-usd`)
    [exit status: 3]
    ");
    assert_eq!(run("--max-cost"), output, "another name for it");
}

#[test]
fn tokens() {
    let (world, model) = with_model(restless());
    insta::assert_snapshot!(world.run(&["exec", "--max-tokens-total", "30", "-p", "hi"]), @"
    ------- stderr -------
    ⚙ Running ls... Done. (X.XXs)
    ⚙ Running ls... Done. (X.XXs)
    Error: Reached the limit of 30 tokens: 30 used (`--max-tokens-total`)
    [exit status: 3]
    ");
    assert_eq!(model.count(), 2);
}

/// A limit that is reached with the answer cuts nothing off.
#[test]
fn an_answer_within_the_limit() {
    for limit in [["--max-turns", "1"], ["--max-budget-usd", "0.000035"], ["--max-tokens-total", "15"]] {
        let (world, _model) = with_model([anthropic::text("Hello.")]);
        let output = world.run(&[&["exec", "-p", "hi"], &limit[..]].concat());
        assert_eq!(output.to_string(), "Hello.\n[exit status: 0]");
    }
}

#[test]
fn in_the_config_file() {
    for (config, requests) in
        [("max_turns = 1", 1), ("max_budget_usd = 0.00005", 2), ("max_tokens_total = 31", 3)]
    {
        let (world, model) = with_model(restless());
        let config = format!("model = \"claude-haiku-4-5\"\n{config}\n");
        world.write(world.base().join("config.toml"), &config);
        assert_eq!(world.run(&["exec", "-p", "hi"]).code(), Some(3), "{config}");
        assert_eq!(model.count(), requests, "{config}");
    }
    let (world, model) = with_model(restless());
    world.write(world.base().join("config.toml"), "max_turns = 5");
    world.run(&["exec", "--max-turns", "2", "-p", "hi"]);
    assert_eq!(model.count(), 2, "a flag wins");
}

/// D-11: unknown is not nothing.
#[test]
fn a_budget_with_a_model_of_unknown_price() {
    let (world, model) = with_model([anthropic::text("never")]);
    let output = world.run(&["exec", "--model", "claude-next", "--max-budget-usd", "5", "-p", "hi"]);
    insta::assert_snapshot!(output, @"
    ------- stderr -------
    Error: the price of `claude-next` is not known, so that a budget cannot be kept
    Hint: use another model, or leave the budget out (`--max-budget-usd`, `max_budget_usd`, `cost.max_daily_usd`)
    Hint: say what it costs in a table `[models.\"PROVIDER:MODEL\"]` of the config file or in `prices.toml`, or set `allow_unpriced`
    Hint: `--max-tokens-total N` limits tokens instead
    [exit status: 2]
    ");
    assert_eq!(model.count(), 0);
    assert!(!world.base().exists());
    assert_eq!(world.run(&["demo", "--max-budget-usd", "5"]).code(), Some(2), "a script has no price either");
}

#[test]
fn values_that_are_none() {
    let world = world();
    let mut said = String::new();
    for [flag, value] in [
        ["--max-turns", "0"],
        ["--max-turns", "some"],
        ["--max-budget-usd", "0"],
        ["--max-budget-usd", "-1"],
        ["--max-cost", "1$"],
        ["--max-tokens-total", "1.5"],
        ["--thinking", "hard"],
    ] {
        let output = world.run(&["exec", flag, value, "-p", "hi"]);
        assert_eq!(output.code(), Some(2));
        said += &output.stderr();
    }
    insta::assert_snapshot!(said, @"
    Error: `--max-turns` takes a whole number from 1, not `0`
    Error: `--max-turns` takes a whole number from 1, not `some`
    Error: `--max-budget-usd` takes an amount of dollars such as 0.50, not `0`
    Error: `--max-budget-usd` takes an amount of dollars such as 0.50, not `-1`
    Error: `--max-budget-usd` takes an amount of dollars such as 0.50, not `1$`
    Error: `--max-tokens-total` takes a whole number from 1, not `1.5`
    Error: `--thinking` takes off, low, medium, high or max, not `hard`
    ");
}

/// The budget is one of the run: another session does not renew it, and a model without a price is not taken.
#[test]
fn in_the_chat() {
    let (world, model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    let mut pty = world
        .pty(&["--model", "claude-haiku-4-5", "--no-save", "--max-budget-usd", "0.00005"], Size::CLASSIC);
    type_line(&mut pty, 1, "hi");
    type_line(&mut pty, 2, "/new");
    type_line(&mut pty, 3, "/model claude-next");
    type_line(&mut pty, 4, "hi again");
    type_line(&mut pty, 5, "and again");
    type_line(&mut pty, 6, ":q");
    insta::assert_snapshot!(over(pty), @r#"
    zori chat (type :q to quit)
    Model: claude-haiku-4-5
    you> hi
    ✶ Waiting for claude-haiku-4-5 · Ctrl-C stops
    One.
    you> /new
    you> /model claude-next
    Error: the price of `claude-next` is not known, so that a budget cannot be kept
    Hint: use another model, or leave the budget out (`--max-budget-usd`, `max_budget_usd`, `cost.max_daily_usd`)
    Hint: say what it costs in a table `[models."PROVIDER:MODEL"]` of the config file or in `prices.toml`, or set `allow_unpriced`
    Hint: `--max-tokens-total N` limits tokens instead
    you> hi again
    ✶ Waiting for claude-haiku-4-5 · Ctrl-C stops
    Two.
    you> and again
    ✶ Waiting for claude-haiku-4-5 · Ctrl-C stops
    ✗ Reached the budget of $0.000050: $0.000070 spent (`--max-budget-usd`)
    you> :q
    Goodbye!
    [exit status: 0]
    "#);
    assert_eq!(model.count(), 2);
}

#[test]
fn in_the_demo() {
    let output = world().run(&["demo", "--max-turns", "1"]);
    assert_eq!(output.code(), Some(3), "{output}");
    assert!(output.stderr().contains("Error: Reached the limit of 1 turn (`--max-turns`)\n"), "{output}");
}

/// Agent modes 9.10: the budget of a day is over all processes and projects, and is said before a request is sent.
#[test]
fn a_budget_for_a_day_over_several_processes() {
    let (world, model) = with_model(["One.", "Two."].map(anthropic::text));
    world.write(world.base().join("config.toml"), "[cost]\nmax_daily_usd = 0.0001\n");
    world.run(&["exec", "-p", "hi"]).success();
    world.run(&["exec", "-p", "hi"]).success();
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    ------- stderr -------
    Error: Reached the budget of $0.000100 for a day: $0.000140 spent today, in all projects (`cost.max_daily_usd`)
    [exit status: 3]
    ");
    let other = world.write("other/.git/HEAD", "");
    let root = other.parent().and_then(|git| git.parent()).expect("it is below").display().to_string();
    let output = world.run(&["exec", "--json", "--root", &root, "-p", "hi"]);
    let events: Vec<Value> =
        output.stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(
        (&events[0]["type"], &events[0]["code"], output.code()),
        (&json!("error"), &json!("budget_exceeded"), Some(3))
    );
    assert_eq!(model.count(), 2, "nothing was sent");
    // The sum of the events of a session is what the ledger has.
    let paid: u64 = {
        let database = zori_index::Database::open(&zori_index::database_path(world.base())).unwrap();
        zori_index::ProjectStore::new(database, &world.work()).unwrap().spent_since(0).unwrap()
    };
    assert_eq!(paid, 140);
}

/// COST-2: requests beside a turn are refused, too: a recap, a question by the way, a handoff.
#[test]
fn a_budget_for_a_day_is_for_requests_beside_turns_too() {
    let (world, model) = with_model(["One.", "Two."].map(anthropic::text));
    world.write(world.base().join("config.toml"), "[cost]\nmax_daily_usd = 0.0001\n");
    let output = world.run_with_stdin(&["--json", "--session", "s"], "hi\nhi\n/recap\n");
    let events: Vec<Value> =
        output.stdout().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let spent = "Reached the budget of $0.000100 for a day: $0.000140 spent today, in all projects (`cost.max_daily_usd`)";
    let last: Vec<_> =
        events[events.len() - 2..].iter().map(|event| (&event["type"], &event["message"])).collect();
    assert_eq!(last, [(&json!("error"), &json!(spent)), (&json!("cost"), &Value::Null)], "{output}");
    let handoff = world.run(&["handoff", "--from-session", "s", "--goal", "go on", "--output", "json"]);
    let answer: Value = serde_json::from_str(&handoff.stdout()).expect("an envelope");
    assert_eq!(answer["meta"]["written_by"], json!({"model": null, "reason": spent}), "{handoff}");
    let mut person = Person::open(&world, &["--continue"]);
    person.says("/btw what is the capital of France?").sees("Reached the budget of $0.000100 for a day");
    person.leaves();
    assert_eq!(model.count(), 2, "nothing was sent");
}

/// COST-2: so is a compaction.
#[test]
fn a_budget_for_a_day_is_for_a_compaction_too() {
    let long = "y".repeat(6_000);
    let (world, model) =
        with_model([anthropic::text(&long).usage(json!({"input_tokens": 10, "output_tokens": 1_500}))]);
    world.write(world.base().join("config.toml"), "[cost]\nmax_daily_usd = 0.001\n");
    let mut pty = world.pty(&["--no-save", "--system-prompt", ""], Size::CLASSIC);
    for (n, line) in ["one", "/compact", ":q"].iter().enumerate() {
        type_line(&mut pty, n + 1, line);
    }
    let screen = over(pty).lines().filter(|line| !line.starts_with("yyyy")).collect::<Vec<_>>().join("\n");
    insta::assert_snapshot!(screen, @"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> one
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    you> /compact
    ✶ Compacting · Ctrl-C stops
    ! The conversation could not be summarised: Reached the budget of $0.001000 for
      a day: $0.015020 spent today, in all projects (`cost.max_daily_usd`)
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    assert_eq!(model.count(), 1, "nothing was sent");
}

/// COST-1: what the model of `memory.graph` is asked is in the ledger, and is refused when the day's budget is spent. A dream pass asks no model, and costs
/// nothing.
#[test]
fn a_budget_for_a_day_counts_facts_and_dreams_are_free() {
    let asks_for_facts =
        |request: &str| request.contains("You take facts from the record of coding sessions");
    let server = ModelServer::answering(move |request| match asks_for_facts(&request.json().to_string()) {
        true => anthropic::text("[]").reply(),
        false => anthropic::text("Here.").reply(),
    });
    let mut world = world();
    world.use_server(&server);
    let asked =
        || (0..server.count()).filter(|at| asks_for_facts(&server.request(*at).json().to_string())).count();
    let spent = |world: &TestEnv| {
        let database = zori_index::Database::open(&zori_index::database_path(world.base())).unwrap();
        zori_index::ProjectStore::new(database, &world.work()).unwrap().spent_since(0).unwrap()
    };
    let configure = |world: &TestEnv, most: &str| {
        let config = format!(
            "model = \"claude-haiku-4-5\"\n[cost]\nmax_daily_usd = {most}\n\
             [memory]\ngraph = \"anthropic:claude-haiku-4-5\"\n[memory.dream]\nmin_sessions = 1\n"
        );
        world.write(world.base().join("config.toml"), config);
    };
    said(&world, "monday", "Where does billing run?", "On Kestrel.");
    configure(&world, "5");
    world.run(&["memory", "rebuild"]).success();
    let trace = world.tmp().join("trace");
    world.set_var("ZORI_TRACE", &trace);
    let closed = |worker: &str| {
        let span = format!("{{\"span\":\"worker.{worker}\",\"event\":\"close\"");
        std::fs::read_to_string(&trace).unwrap_or_default().matches(&span).count()
    };
    // A chat with one turn, which lives until its pass for facts is over.
    let chat = |world: &TestEnv| {
        let before = closed("graph");
        let mut chat = world.start(world.cmd(&["--json", "--no-save"]), Stdin::Open, Stdout::Captured);
        chat.write_stdin("hi\n").wait_for_stdout("\"cost\"");
        wait::until("the pass for facts", || closed("graph") > before);
        chat.close_stdin();
        chat.finish().success();
    };
    chat(&world);
    assert_eq!((server.count(), asked()), (2, 1));
    let one = spent(&world) / 2;
    assert_eq!(spent(&world), 70, "ten tokens in and five out, twice");
    // The end of a chat has a fifth of a second for the dream, which a busy machine may not give at once.
    for _ in 0..20 {
        if closed("dream") == 0 {
            chat(&world);
        }
    }
    assert!(closed("dream") > 0);
    assert_eq!(spent(&world), one * server.count() as u64, "a dream is free");
    // One more turn spends the day's money: what is new is not looked at today.
    said(&world, "tuesday", "And mail?", "On Merlin.");
    configure(&world, &format!("{:.6}", (spent(&world) + 1) as f64 / 1e6));
    let before = (server.count(), asked());
    chat(&world);
    assert_eq!((server.count(), asked()), (before.0 + 1, before.1), "the turn alone");
}

/// COST-1: what an embedder is asked is in the ledger, at the price that the user says, and is refused when the day's budget is spent. One whose price nobody knows
/// is refused at the start.
#[test]
fn a_budget_for_a_day_counts_an_embedder() {
    let mut world = world();
    let server = ModelServer::answering(|request| {
        let texts = request.json()["input"].as_array().expect("texts").len();
        let vector = |index| json!({"index": index, "embedding": [1.0, 0.5]});
        let data: Vec<Value> = (0..texts).map(vector).collect();
        Reply::json(200, json!({"data": data, "usage": {"prompt_tokens": 1000, "total_tokens": 1000}}))
    });
    said(&world, "monday", "Which heron?", "That one waits.");
    world.set_var("OPENAI_BASE_URL", format!("{}/v1", server.url()));
    world.set_var("OPENAI_API_KEY", "sk-embed-0123456789");
    let config = |model: &str, most: &str| {
        format!("[cost]\nmax_daily_usd = {most}\n[memory]\nembedder = \"openai:{model}\"\n")
    };
    world.write(world.base().join("config.toml"), config("text-embedding-3-small", "0.00005"));
    world.write(
        world.base().join("prices.toml"),
        "[\"openai:text-embedding-3-small\"]\ninput = 0.02\noutput = 0\n",
    );
    let spent = |world: &TestEnv| {
        let database = zori_index::Database::open(&zori_index::database_path(world.base())).unwrap();
        zori_index::ProjectStore::new(database, &world.work()).unwrap().spent_since(0).unwrap()
    };
    // One request to know the length of its vectors, and one for the two messages.
    world.run(&["memory", "rebuild"]).success();
    assert_eq!((server.count(), spent(&world)), (2, 40));
    world.run(&["memory", "search", "heron"]).success();
    assert_eq!((server.count(), spent(&world)), (3, 60));
    let refused = world.run(&["memory", "search", "heron"]).success();
    assert!(
        refused.stderr().contains(
            "Searching memory without vectors of a model: Reached the budget of $0.000050 for a day"
        ),
        "{refused}"
    );
    world.write(world.base().join("config.toml"), config("unheard-of", "5"));
    insta::assert_snapshot!(world.run(&["memory", "search", "heron"]), @r#"
    ------- stderr -------
    Error: the price of `openai:unheard-of` is not known, so that a budget cannot be kept
    Hint: use another model, or leave the budget out (`--max-budget-usd`, `max_budget_usd`, `cost.max_daily_usd`)
    Hint: say what it costs in a table `[models."PROVIDER:MODEL"]` of the config file or in `prices.toml`, or set `allow_unpriced`
    Hint: `--max-tokens-total N` limits tokens instead
    [exit status: 2]
    "#);
    assert_eq!(server.count(), 3);
}

/// COST-5: what models cost by `prices.toml`; a file that cannot be understood is refused with its place.
#[test]
fn prices_of_ones_own() {
    let (world, _model) = with_model([anthropic::text("One.")]);
    world.write(
        world.base().join("prices.toml"),
        "as_of = \"2026-11-18\"\n\n[\"anthropic:claude-\"]\ninput = 1000\noutput = 2000\n",
    );
    let output = world.run(&["exec", "--json", "-p", "hi"]).success();
    let cost: Value = serde_json::from_str(output.stdout().lines().last().expect("a line")).unwrap();
    assert_eq!(cost["estimated_usd"], json!(0.02), "{output}");
    let shown = world.run(&["models", "show", "claude-haiku-4-5", "--output", "plain"]).stdout();
    let price = shown.lines().find(|line| line.starts_with("Prices:")).expect("they are shown");
    assert_eq!(
        price,
        "Prices:         $1000.00 in, $2000.00 out, $1000.00 read from cache, $1000.00 written to cache, for a million tokens (prices.toml, as of 2026-11-18)"
    );
    world.write(world.base().join("prices.toml"), "[\"gpt-5\"]\ninput = 1\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    ------- stderr -------
    Error: $BASE/prices.toml:1:1: `gpt-5`: `output` is missing
    [exit status: 2]
    ");
}

/// What cannot be counted is not paid for: a model without a price, a ledger that cannot be used. Without a budget nothing is opened.
#[test]
fn a_budget_for_a_day_that_cannot_be_kept() {
    let (world, model) = with_model([anthropic::text("One.")]);
    world.run(&["exec", "-p", "hi"]).success();
    assert!(!world.base().join("zori.db").exists());
    world.write(world.base().join("config.toml"), "[cost]\nmax_daily_usd = 5\n");
    insta::assert_snapshot!(world.run(&["exec", "--model", "claude-next", "-p", "hi"]), @"
    ------- stderr -------
    Error: the price of `claude-next` is not known, so that a budget cannot be kept
    Hint: use another model, or leave the budget out (`--max-budget-usd`, `max_budget_usd`, `cost.max_daily_usd`)
    Hint: say what it costs in a table `[models.\"PROVIDER:MODEL\"]` of the config file or in `prices.toml`, or set `allow_unpriced`
    Hint: `--max-tokens-total N` limits tokens instead
    [exit status: 2]
    ");
    world.write(
        world.base().join("zori.db"),
        "this is no database, and it is long enough to be looked at as one, is it not? Yes.",
    );
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    ------- stderr -------
    Error: The budget for a day cannot be kept (`cost.max_daily_usd`), since the ledger cannot be used: $BASE/zori.db is damaged: file is not a database; `zori memory rebuild` puts it aside and makes a new one from the session files; scheduled jobs have to be added again
    [exit status: 3]
    ");
    world.write(world.base().join("config.toml"), "[cost]\nmax_daily_usd = -1\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @"
    ------- stderr -------
    Error: $BASE/config.toml:2:17: `cost.max_daily_usd` must be an amount of dollars from 0.000001 to 1000000, not -1
    [exit status: 2]
    ");
    assert_eq!(model.count(), 1);
}
