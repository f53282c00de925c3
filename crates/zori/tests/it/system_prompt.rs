//! The system prompt: from the config, from a file, from the command line, or none (CFG-2, CFG-3).

use serde_json::Value;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;

use crate::world::with_model;

/// Returns what the model was told before everything else, after running with this config and these flags.
#[track_caller]
fn told(prepare: impl Fn(&TestEnv), config: &str, flags: &[&str]) -> Option<String> {
    let (world, server) = with_model([anthropic::text("Hello")]);
    prepare(&world);
    world.write(world.base().join("config.toml"), config);
    let output = world.run(&[&["exec", "-p", "hi"], flags].concat());
    assert_eq!(output.to_string(), "Hello\n[exit status: 0]");
    match server.request(0).json().get("system") {
        None => None,
        Some(system) => {
            let blocks = system.as_array().expect("the prompt is a list of blocks");
            assert_eq!(blocks.len(), 1, "{system}");
            blocks[0]["text"].as_str().map(str::to_owned)
        }
    }
}

fn nothing(_: &TestEnv) {}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// DECISIONS 42: the built-in prompt, unless it is replaced; the empty string sends none.
#[test]
fn the_built_in_one() {
    let prepare = |world: &TestEnv| {
        world.write(".git/HEAD", "ref: refs/heads/topic\n");
    };
    let prompt = told(prepare, "", &[]).expect("there is one");
    assert!(prompt.len() <= 1_500, "{} bytes", prompt.len());
    let (rules, facts) = prompt.split_once("\n\nDirectory: ").expect("the facts come last");
    assert!(rules.starts_with("You are zori, a coding agent in a terminal."), "{rules}");
    let facts: Vec<_> = facts.lines().skip(1).collect();
    let platform = format!("Platform: {} {}", std::env::consts::OS, std::env::consts::ARCH);
    assert_eq!([facts[0], facts[3]], [platform.as_str(), "Git branch: topic"], "{facts:?}");
    assert!(facts[1].starts_with("Shell: ") && facts[2].starts_with("Date: 2"), "{facts:?}");
    assert_eq!(told(nothing, "system_prompt = \"  \"\n", &[]), None);
    assert_eq!(told(nothing, "system_prompt = \"\"\n", &[]), None);
}

/// The same bytes in every request of a session, and none for `zdx`.
#[test]
fn it_stays_the_same_and_zdx_has_none() {
    let replies = || [anthropic::tool_use("toolu_1", "ls", serde_json::json!({})), anthropic::text("Hello")];
    let (world, server) = with_model(replies());
    world.run(&["exec", "-p", "hi"]).success();
    assert_eq!(server.request(0).json()["system"], server.request(1).json()["system"]);
    let (world, server) = with_model(replies());
    world.run(&["--as", "zdx", "exec", "-p", "hi"]).success();
    assert_eq!(server.request(0).json().get("system"), None);
    assert_eq!(server.request(0).json()["model"], "claude-haiku-4-5");
}

#[test]
fn from_the_config() {
    assert_eq!(told(nothing, "system_prompt = \"Be brief.\"\n", &[]), some("Be brief."));
}

/// CFG-2: the file wins, its text is trimmed, and a relative path starts at the config file.
#[test]
fn from_a_file() {
    let file = |text: &'static str| {
        move |world: &TestEnv| {
            world.write(world.base().join("prompt.md"), text);
        }
    };
    let config = "system_prompt = \"inline\"\nsystem_prompt_file = \"prompt.md\"\n";
    assert_eq!(told(file("\n  Be kind.\n\nAnd brief.\n\n"), config, &[]), some("Be kind.\n\nAnd brief."));
    assert_eq!(told(file(" \n"), config, &[]), None, "an empty file is no prompt, not the other one");
    let blank = "system_prompt = \"inline\"\nsystem_prompt_file = \"\"\n";
    assert_eq!(told(nothing, blank, &[]), some("inline"), "no path is no file");
}

#[test]
fn from_a_file_with_an_absolute_path() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    let file = world.write(world.home().join("prompt.md"), "Be kind.\n");
    world.write(world.base().join("config.toml"), format!("system_prompt_file = {file:?}\n"));
    world.run(&["exec", "-p", "hi"]).success();
    assert_eq!(server.request(0).json()["system"][0]["text"], Value::from("Be kind."));
}

/// CFG-3.
#[test]
fn the_flag_replaces_both() {
    let file = |world: &TestEnv| {
        world.write(world.base().join("prompt.md"), "from the file");
    };
    let config = "system_prompt = \"inline\"\nsystem_prompt_file = \"prompt.md\"\n";
    assert_eq!(told(file, config, &["--system-prompt", " Be odd. "]), some("Be odd."));
    assert_eq!(told(file, config, &["--system-prompt", ""]), None);
    assert_eq!(told(file, config, &["--system-prompt", " \n"]), None);
    // A file that is not used need not be there.
    assert_eq!(told(nothing, config, &["--system-prompt="]), None);
}

/// CFG-2: no silent fallback, and nothing was done yet.
#[test]
fn a_file_that_cannot_be_read() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    world.write(
        world.base().join("config.toml"),
        "system_prompt = \"inline\"\nsystem_prompt_file = \"missing.md\"\n",
    );
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r"
    ------- stderr -------
    Error: cannot read the system prompt file $BASE/missing.md: No such file or directory (os error 2)
    [exit status: 2]
    ");
    std::fs::create_dir(world.base().join("missing.md")).unwrap();
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r"
    ------- stderr -------
    Error: cannot read the system prompt file $BASE/missing.md: Is a directory (os error 21)
    [exit status: 2]
    ");
    std::fs::remove_dir(world.base().join("missing.md")).unwrap();
    world.write(world.base().join("missing.md"), b"caf\xe9");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi"]), @r"
    ------- stderr -------
    Error: cannot read the system prompt file $BASE/missing.md: stream did not contain valid UTF-8
    [exit status: 2]
    ");
    assert_eq!((server.count(), world.session_files().len()), (0, 0));
}
