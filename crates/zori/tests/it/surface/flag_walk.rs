//! The flags of all commands and the formats of each, given once: each is taken where the tables say so, and refused where not. The
//! other half of the walk, every exit code of every command, is `failures.rs`.

use zori::commands::COMMANDS;
use zori::program::ZORI;
use zori_contract::command::{Command, Rule};
use zori_contract::flag::{Flag, Positional};
use zori_contract::kind::Kind;
use zori_setup::app::App;
use zori_testkit::env::TestEnv;

use super::{bare, envelope};

/// Values that a flag's own check wants, where its kind does not say.
const SAMPLES: &[(&str, &str)] = &[
    ("since", "2026-01-31T12:00"),
    ("tools", "read"),
    ("max-budget-usd", "0.5"),
    ("config", "sample.txt"),
    ("for", "exec"),
    ("http", "127.0.0.1:4242"),
    ("http", "127.0.0.1:0"),
];

pub fn sample(name: &str, kind: Kind) -> String {
    if let Kind::Name(pattern) = kind
        && pattern.name == "semver"
    {
        return "1.0.0".to_owned();
    }
    if let Some((_, value)) = SAMPLES.iter().find(|(known, _)| *known == name) {
        return (*value).to_owned();
    }
    match kind {
        Kind::Int { min, .. } => min.max(1).to_string(),
        Kind::Choice(names) => names[0].to_owned(),
        Kind::List(names) => names.first().copied().unwrap_or("a").to_owned(),
        Kind::Path => "sample.txt".to_owned(),
        Kind::Glob => "*.rs".to_owned(),
        Kind::Url => "http://127.0.0.1:1".to_owned(),
        Kind::Json => "{}".to_owned(),
        Kind::Duration => "5s".to_owned(),
        Kind::SecretVar => "MY_VAR".to_owned(),
        Kind::Switch | Kind::Text | Kind::Id(_) | Kind::Name(_) => "sample".to_owned(),
    }
}

fn given(flag: &Flag) -> String {
    match flag.kind {
        Kind::Switch => flag.param(),
        kind => format!("{}={}", flag.param(), sample(flag.long, kind)),
    }
}

/// Returns the call of a command with all that it cannot do without, and whatever goes with a flag.
pub fn call(command: &Command<App>, flag: Option<&Flag>) -> Vec<String> {
    let mut words: Vec<String> = command.path.iter().map(|word| (*word).to_owned()).collect();
    let is = |other: &Flag| flag.is_some_and(|flag| flag.long == other.long);
    let required = ZORI.own_flags(command).into_iter().filter(|own| own.required && !is(own));
    words.extend(required.map(|own| given(&own)));
    for rule in command.rules {
        if let Rule::Needs { flag: needs, value: None, other } = rule
            && is(needs)
        {
            words.push(given(other));
        }
    }
    // What shapes the Claude protocol, or is taken for it, needs that to be spoken.
    let spoken = [&zori_setup::args::claude::OUTPUT_FORMAT, &zori_setup::args::claude::INPUT_FORMAT];
    let of_protocol = zori_setup::args::claude::PROTOCOL_ONLY
        .iter()
        .chain(zori_setup::args::without_effect::WITHOUT_EFFECT.iter().map(|entry| &entry.flag));
    if command.path == ["exec"] && of_protocol.into_iter().any(is) && !spoken.iter().any(|other| is(other)) {
        words.push("--output-format=stream-json".to_owned());
    }
    let required = |arg: &&Positional| arg.required;
    words.extend(command.args.iter().filter(required).map(|arg| sample(arg.name, arg.kind)));
    words
}

fn check(world: &TestEnv, mut words: Vec<String>, flag: &str, wanted: i32) {
    words.extend([flag.to_owned(), "--validate-only".to_owned(), "--output=json".to_owned()]);
    // What a command prints is said twice where the flag itself is about that.
    if ["--output", "--format", "--json", "--stream", "--no-stream", "--protocol-version"]
        .iter()
        .any(|output| flag.split('=').next() == Some(output))
        || words.iter().any(|word| word.starts_with("--output-format") || word.starts_with("--input-format"))
        || words[0] == "start"
        || words[0] == "chat"
        || words[0] == "tui"
        || words[0] == "acp"
        || words[..2] == ["mcp", "serve"]
    {
        words.pop();
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let output = world.run(&words);
    assert_eq!(output.code(), Some(wanted), "{words:?}\n{output}");
}

/// The flags of all commands, on one; where a flag has no meaning for a command it is a document's own (DECISIONS 51).
#[test]
fn each_flag_of_all_commands() {
    let world = bare();
    world.write("sample.txt", "");
    let command = COMMANDS.iter().find(|command| command.path == ["sessions", "list"]).expect("it is there");
    let questions = [
        "help",
        "version",
        "schema",
        "output-schema",
        "validate-only",
        "raw-payload",
        "as",
        "show-config",
        "root",
    ];
    for flag in ZORI.global_flags().into_iter().filter(|flag| !questions.contains(&flag.long)) {
        check(&world, call(command, None), &given(&flag), 0);
    }
}

/// Each flag of each command, on it.
#[test]
fn each_flag_of_each_command() {
    let world = bare();
    world.write("sample.txt", "");
    for command in COMMANDS {
        // What a cursor is only a list says (`answers.rs` of the framework goes through its pages).
        for flag in ZORI.own_flags(command).into_iter().filter(|flag| flag.long != "cursor") {
            check(&world, call(command, Some(&flag)), &given(&flag), 0);
        }
    }
}

/// The manifest says of each command what it prints, and prints all of that and nothing else.
#[test]
fn each_format_of_each_command() {
    let world = bare();
    world.write("sample.txt", "");
    let manifest = envelope(&world.run(&["manifest"]).success())["data"].clone();
    for command in COMMANDS {
        let entry = &manifest["commands"][command.path.join(".")];
        assert_eq!(entry["flags"]["output"]["enum_values"], entry["output_formats"], "{:?}", command.path);
        for format in ["json", "jsonl", "tsv", "plain", "table", "id"] {
            let declared =
                entry["output_formats"].as_array().is_some_and(|all| all.iter().any(|one| one == format));
            let mut words = call(command, None);
            words.extend([format!("--output={format}"), "--validate-only".to_owned()]);
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let output = world.run(&words);
            assert_eq!(output.code(), Some(if declared { 0 } else { 2 }), "{words:?}\n{output}");
        }
    }
}
