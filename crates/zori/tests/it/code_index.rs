//! The code of a project is found by names and words, where that was asked for, and followed between turns.

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;

use crate::world::{with_model, world};

/// A small project in the working directory.
fn project(world: &TestEnv) {
    for (path, text) in [
        (
            "src/config.rs",
            "/// Reads the settings.\npub fn load_config(path: &str) -> Config {\n    parse(path)\n}\n",
        ),
        ("src/http.ts", "export class HttpClient {\n  retryAfter(seconds: number) { return seconds }\n}\n"),
        ("README.md", "# Herons\n\nA text about herons.\n"),
        (".env", "HERON_TOKEN=canary\n"),
        ("huge.json", &format!("{{\"x\": \"{}\"}}", "y".repeat(6_000))),
    ] {
        world.write(world.work().join(path), text);
    }
}

#[test]
fn from_files_to_what_is_found() {
    let world = world();
    project(&world);
    insta::assert_snapshot!(world.run(&["index", "search", "load_config"]), @"
    Nothing fits.
    ------- stderr -------
    Warning: The code of this project is not indexed; `zori index build` does that.
    [exit status: 0]
    ");
    assert!(!world.base().join("zori.db").exists(), "looking makes nothing");
    insta::assert_snapshot!(world.run(&["index", "build"]), @"
    3 files indexed, 4 symbols (4 changed, 0 gone)
    Skipped: 1 long lines
    [exit status: 0]
    ");
    // Nothing changed, so nothing is done.
    insta::assert_snapshot!(world.run(&["index", "build"]), @"
    3 files indexed, 4 symbols (0 changed, 0 gone)
    Skipped: 1 long lines
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["index", "search", "loadConfig"]), @"
    src/config.rs:2-4  function pub fn load_config(path: &str) -> Config
    [exit status: 0]
    ");
    let together = world.run(&["index", "search", "retry after"]).to_string();
    assert_eq!(world.run(&["index", "search", "retry", "after"]).to_string(), together);
    insta::assert_snapshot!(together, @"
    src/http.ts:2-2  method retryAfter(seconds: number)
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["index", "search", "herons", "--below", "src"]), @"
    Nothing fits.
    [exit status: 0]
    ");
    // From where somebody is, by its whole path, and as a search shows it.
    std::fs::create_dir(world.work().join(".git")).expect("it can be made");
    let places = |below: &str| {
        let args = ["index", "search", "retry after", "--below", below];
        let found = world.cmd(&args).current_dir(world.work().join("src")).output().expect("it starts");
        String::from_utf8(found.stdout).expect("it is text")
    };
    let whole = world.work().join("src/http.ts");
    let found =
        ["http.ts", "src/http.ts", "./http.ts", "../src/http.ts", whole.to_str().expect("it is text")];
    assert_eq!(found.map(places), ["src/http.ts:2-2  method retryAfter(seconds: number)\n"; 5]);
    assert_eq!(places("../README.md"), "Nothing fits.\n");
    insta::assert_snapshot!(world.run(&["index", "search", "herons", "--below", "/etc"]), @"
    ------- stderr -------
    Error: `--below`: /etc is not in the project $WORK
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["index", "search", "retry", "--kind", "fn"]), @"
    Nothing fits.
    ------- stderr -------
    Warning: `--kind`: no symbol here is of the kind `fn`; there are class, function, heading, method
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["index", "status"]), @"
    3 files indexed, 4 symbols
    Languages: 1 markdown, 1 rust, 1 typescript
    Skipped: 1 long lines
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["index", "clear", "--yes"]), @"
    Deleted the index of 4 files
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["index", "status"]), @"
    The code of this project is not indexed; `zori index build` does that.
    [exit status: 0]
    ");
}

#[test]
fn bad_input_and_a_database_that_cannot_be_used() {
    let world = world();
    let empty = world.run(&["index", "search", " "]);
    assert!(empty.to_string().contains("`TEXT` is empty: say what to look for"), "{empty}");
    world.write(
        world.base().join("zori.db"),
        "this is no database at all, and long enough to be looked at as if it were one, or is it",
    );
    let unusable = world.run(&["index", "build"]);
    insta::assert_snapshot!(unusable, @"
    ------- stderr -------
    Error: $BASE/zori.db is damaged: file is not a database
    Hint: `zori memory rebuild` puts it aside and makes a new one from the session files; scheduled jobs have to be added again
    [exit status: 4]
    ");
    for command in ["status", "clear"] {
        assert_eq!(world.run(&["index", command, "--yes"]).to_string(), unusable.to_string(), "{command}");
    }
}

/// IDX-7: the tools are there once the project uses its index, and keep back what the policy does.
#[test]
fn the_model_searches_and_maps() {
    let (world, model) = with_model([
        anthropic::text("First."),
        anthropic::tool_use("toolu_1", "code_search", json!({"query": "load config"})),
        anthropic::tool_use("toolu_2", "repo_map", json!({})),
        anthropic::tool_use("toolu_3", "code_search", json!({"query": "herons", "path": "/etc"})),
        anthropic::text("Done."),
        anthropic::text("Bare."),
        anthropic::text("Off."),
    ]);
    project(&world);
    world.run(&["exec", "-p", "hi"]).success();
    let offers = |at: usize| model.request(at).json()["tools"].to_string().contains("code_search");
    assert!(!offers(0), "not used, not listed");
    world.run(&["index", "build"]).success();
    // What changed since is seen by the call itself.
    world.write(world.work().join("src/new.py"), "def load_config_again():\n    pass\n");
    world.write(world.base().join("config.toml"), "[permissions]\ndeny = [\"Read(src/config.rs)\"]\n");
    world.run(&["exec", "-p", "where is the config loaded"]).success();
    assert!(offers(1));
    let result = |at: usize| {
        let body = model.request(at).json();
        let last = body["messages"].as_array().and_then(|all| all.last()).cloned().unwrap_or(Value::Null);
        last["content"][0]["content"].to_string()
    };
    let found = result(2);
    assert!(found.contains("src/new.py:1-2 function load_config_again"), "{found}");
    assert!(!found.contains("config.rs"), "a file that is denied is kept back: {found}");
    let map = result(3);
    assert!(map.contains("src/http.ts") && map.contains("class HttpClient"), "{map}");
    assert!(!map.contains("config.rs"), "{map}");
    let outside = result(4);
    assert!(outside.contains("is not in the project"), "{outside}");
    world.run(&["--bare", "exec", "-p", "again"]).success();
    assert!(!offers(5), "`--bare` has none of it");
    world.write(world.base().join("config.toml"), "[index]\nenabled = false\n");
    world.run(&["exec", "-p", "again"]).success();
    assert!(!offers(6), "switched off");
}

/// IDX-10: code is found by what it is like, by the vectors of a model; where that does not answer, names and words are left. No secret goes to it.
#[test]
fn found_by_likeness() {
    let server = ModelServer::answering(|request| {
        let texts = request.json()["input"].as_array().expect("texts").clone();
        let vector = |(index, text): (usize, &Value)| {
            let text = text.as_str().expect("a text");
            assert!(!text.contains("ghp_"), "{text}");
            let birds = f64::from(u8::from(["heron", "egret"].iter().any(|word| text.contains(word))));
            json!({"index": index, "embedding": [birds, 1.0 - birds, 0.1]})
        };
        let data: Vec<Value> = texts.iter().enumerate().map(vector).collect();
        Reply::json(200, json!({"data": data}))
    });
    let (mut world, model) = with_model([
        anthropic::tool_use("toolu_1", "code_search", json!({"query": "egret"})),
        anthropic::text("Found."),
    ]);
    world.write(world.work().join("pond.rs"), "/// The heron waits.\npub fn waits() {}\n");
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4).split_at(36).0);
    world.write(world.work().join("soup.rs"), format!("pub const TOKEN: &str = \"{token}\";\n"));
    world.set_var("OPENAI_BASE_URL", format!("{}/v1", server.url()));
    world.set_var("OPENAI_API_KEY", "sk-embed-0123456789");
    world.run(&["index", "build"]).success();
    insta::assert_snapshot!(world.run(&["index", "search", "egret"]), @"
    Nothing fits.
    [exit status: 0]
    ");
    let config =
        "provider = \"anthropic\"\n[memory]\nembedder = \"openai:concepts\"\n[index]\nvectors = true\n";
    world.write(world.base().join("config.toml"), config);
    insta::assert_snapshot!(world.run(&["index", "build"]), @"
    2 files indexed, 2 symbols (0 changed, 0 gone)
    2 chunks got vectors
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["index", "search", "egret"]), @"
    pond.rs:1-2  /// The heron waits.
    [exit status: 0]
    ");
    world.run(&["exec", "-p", "ask"]).success();
    assert!(model.request(1).conversation().contains("pond.rs:1-2"), "{}", model.request(1).conversation());
    world.set_var("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    let without = world.run(&["index", "search", "waits"]).success();
    assert!(without.stderr().contains("Searching code without vectors of a model: "), "{without}");
    assert_eq!(without.stdout().lines().count(), 1, "{without}");
}

/// IDX-10: Ctrl-C is heard while a model makes vectors; what was indexed until then stays.
#[test]
fn interrupted_while_a_model_makes_vectors() {
    let server = ModelServer::start([Reply::stall()]);
    let mut world = world();
    world.write(world.work().join("pond.rs"), "pub fn heron() {}\n");
    world.set_var("OPENAI_BASE_URL", format!("{}/v1", server.url()));
    world.set_var("OPENAI_API_KEY", "sk-embed-0123456789");
    let config = "[memory]\nembedder = \"openai:concepts\"\n[index]\nvectors = true\n";
    world.write(world.base().join("config.toml"), config);
    let mut run = world.start(world.cmd(&["index", "build"]), Stdin::Null, Stdout::Captured);
    run.wait_until("the request", |_| server.count() == 1).interrupt();
    insta::assert_snapshot!(run.finish(), @"
    ------- stderr -------
    Error: the command was interrupted
    [exit status: 130]
    ");
    world.write(world.base().join("config.toml"), "");
    insta::assert_snapshot!(world.run(&["index", "search", "heron"]), @"
    pond.rs:1-1  function pub fn heron()
    [exit status: 0]
    ");
}

/// IDX-10: what a pass left that was ended before its end is not called nothing.
#[test]
fn a_pass_that_was_not_ended() {
    let world = world();
    world.write(world.work().join("pond.rs"), "pub fn heron() {}\n");
    world.run(&["index", "build"]).success();
    let uses = world.base().join("uses");
    let notes = std::fs::read_dir(&uses).expect("it is there").flatten().next().expect("it has one").path();
    std::fs::remove_file(notes.join("index")).expect("it is there");
    insta::assert_snapshot!(world.run(&["index", "status"]), @"
    1 file indexed, 1 symbol, and not in use: a pass was not ended; `zori index build` goes on with it.
    [exit status: 0]
    ");
    world.run(&["index", "build"]).success();
    insta::assert_snapshot!(world.run(&["index", "status"]), @"
    1 file indexed, 1 symbol
    Languages: 1 rust
    [exit status: 0]
    ");
}

/// IDX-5: what changes between turns is in the index without a call, and `exec` starts nothing by itself.
#[test]
fn the_worker_follows_the_files() {
    let (mut world, _model) = with_model([anthropic::text("One."), anthropic::text("Two.")]);
    project(&world);
    world.run(&["index", "build"]).success();
    let trace = world.tmp().join("trace");
    world.set_var("ZORI_TRACE", &trace);
    world.run(&["exec", "-p", "hi"]).success();
    assert_eq!(std::fs::read_to_string(&trace).unwrap_or_default(), "", "a run of one prompt has no worker");
    world.write(world.work().join("late.go"), "package a\n\nfunc Later() {}\n");
    let mut chat = world.start(world.cmd(&["--json"]), Stdin::Open, Stdout::Captured);
    chat.write_stdin("hi\n");
    let found = zori_testkit::wait::poll(zori_testkit::wait::BOUND, || {
        let found = world.run(&["index", "search", "Later", "--output", "json"]);
        found.stdout().contains("late.go").then_some(())
    });
    chat.close_stdin();
    chat.finish().success();
    assert!(found.is_some(), "the worker has seen the new file");
}

#[test]
fn a_switch_takes_three_values() {
    let world = world();
    world.write(world.base().join("config.toml"), "[index]\nenabled = \"sometimes\"\n");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r#"
    ------- stderr -------
    Error: $BASE/config.toml:2:11: `index.enabled` must be "auto", true or false, not the string "sometimes"
    [exit status: 2]
    "#);
    world.write(world.base().join("config.toml"), "[index]\nenabled = \"auto\"\n");
    world.run(&["config", "show"]).success();
}
