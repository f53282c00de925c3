//! Commands that are not there, half there or asked about: what is wrong is said once, and every suggestion can be run.

use zori_testkit::env::TestEnv;

use crate::world::world;

/// A mistyped command's flags are read where every command has them, with their values; `list` is not one of them.
#[test]
fn output_of_a_mistyped_command() {
    let mut world = world();
    world.remove_var("ZORI_OUTPUT");
    insta::assert_snapshot!(world.run(&["sesions", "list", "--output", "plain"]), @"
    ------- stderr -------
    Error: there is no command `sesions`
    Hint: did you mean `sessions list`?
    Hint: for a prompt: `zori -p TEXT`
    [exit status: 2]
    ");
    assert_eq!(world.run(&["-q", "sesions", "-oplain"]).to_string(), "[exit status: 2]");
    let help = world.run(&["exce", "--help", "--output", "plain"]);
    assert_eq!(help.to_string(), world.run(&["--help", "--output", "plain"]).to_string());
}

/// The flags of a command nobody knows are nobody's fault.
#[test]
fn flags_of_a_mistyped_command() {
    let mut world = world();
    let only_the_command = "------- stderr -------\n\
        Error: there is no command `exce`\n\
        Hint: did you mean `exec`?\n\
        Hint: for a prompt: `zori -p TEXT`\n\
        [exit status: 2]";
    for args in [&["exce", "-p", "hi"][..], &["-p", "hi", "exce"], &["exce", "--bogus", "x", "-p", "-q"]] {
        assert_eq!(world.run(args).to_string(), only_the_command, "{args:?}");
    }
    world.remove_var("ZORI_OUTPUT");
    let envelope: serde_json::Value =
        serde_json::from_str(&world.run(&["exce", "-p", "hi"]).stdout()).expect("an envelope");
    let wanted = serde_json::json!([{
        "field": "command",
        "param": "COMMAND",
        "code": "UNKNOWN_COMMAND",
        "message": "there is no command `exce`",
        "value": "exce",
        "suggestion": "did you mean `exec`?",
    }]);
    assert_eq!(envelope["error"]["errors"], wanted);
}

/// What follows a mistyped flag is its value, also where the command takes an argument.
#[test]
fn the_value_of_a_mistyped_flag() {
    insta::assert_snapshot!(world().run(&["exec", "--modle", "x", "-p", "hi"]), @"
    ------- stderr -------
    Error: there is no option `--modle`
    Hint: did you mean `--model`?
    [exit status: 2]
    ");
}

fn hint(world: &TestEnv, args: &[&str]) -> String {
    let output = world.run(args);
    assert_eq!((output.stdout().as_str(), output.code()), ("", Some(2)), "{args:?}: {output}");
    output.stderr().lines().nth(1).unwrap_or_default().to_owned()
}

/// The second word of a command alone, and a group.
#[test]
fn suggestions_can_be_run() {
    let world = world();
    for (word, wanted) in [
        ("resume", "Hint: did you mean `sessions resume`?"),
        ("login", "Hint: did you mean `mcp login` or `auth login`?"),
        ("init", "Hint: did you mean `vault init` or `config init`?"),
        ("modells", "Hint: did you mean `models list` or `models show`?"),
        (
            "list",
            "Hint: did you mean `mcp list`, `sessions list`, `memory list`, `project list`, `schedule list`, `models list`, `vault list`, `trust list`, `skills list` or `errors list`?",
        ),
        ("hepl", "Hint: did you mean `help`?"),
    ] {
        assert_eq!(hint(&world, &[word]), wanted, "{word}");
    }
    assert_eq!(hint(&world, &["modells", "shwo", "x"]), "Hint: did you mean `models show`?");
    assert_eq!(hint(&world, &["models", "banana"]), "Hint: one of `zori models list`, `zori models show`");
}

#[test]
fn help_by_a_word() {
    let world = world();
    for path in [&[][..], &["exec"], &["sessions"], &["sessions", "list"], &["man"]] {
        let mut flag = path.to_vec();
        flag.push("--help");
        let wanted = world.run(&flag).to_string();
        assert!(wanted.ends_with("[exit status: 0]"), "{wanted}");
        assert_eq!(world.run(&[&["help"], path].concat()).to_string(), wanted, "{path:?}");
    }
    let all = world.run(&["help", "exec", "--all"]).to_string();
    assert_eq!(all, world.run(&["exec", "--help", "--all"]).to_string());
    insta::assert_snapshot!(world.run(&["help", "exce"]), @"
    ------- stderr -------
    Error: there is no command `exce`
    Hint: did you mean `exec`?
    Hint: for a prompt: `zori -p TEXT`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["help", "sessions", "lst"]), @"
    ------- stderr -------
    Error: there is no command `lst`
    Hint: did you mean `sessions list`?
    Hint: for a prompt: `zori -p TEXT`
    [exit status: 2]
    ");
}

/// Rules count from both sides of the command: one that forbids is not lost.
#[test]
fn rules_on_both_sides_of_the_command() {
    let world = world();
    for (before, after) in [("Bash(ls:*)", "Bash(rm:*)"), ("Bash(rm:*)", "Bash(ls:*)")] {
        let output = world.run(&["--deny", before, "policy", "explain", "ls x", "--deny", after]);
        let decision = output.stdout().lines().find(|line| line.starts_with("Decision")).map(str::to_owned);
        assert_eq!(
            decision.as_deref(),
            Some("Decision: deny: the rule `Bash(ls:*)` (--deny) denies ls x"),
            "{output}"
        );
    }
}
