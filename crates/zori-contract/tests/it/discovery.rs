//! What a program can find out about the program without running it in anger.

use serde_json::{Value, json};
use zori_contract::envelope;
use zori_contract::invariants;
use zori_testkit::pty::Size;

use crate::commands::PROGRAM;
use crate::notes::{exact_envelope, run, with_notes, world};
use zori_testkit::schema::{assert_valid, published};

#[test]
fn the_tables_hold_together() {
    assert_eq!(invariants::check(&PROGRAM), Vec::<String>::new());
}

#[test]
fn the_manifest_keeps_to_its_schema() {
    let manifest = run(&world(), &["manifest"])["data"].clone();
    if let Some(schema) = published("manifest-response.json") {
        assert_valid(&schema, &manifest);
    }
    let names: Vec<_> = manifest["commands"].as_object().unwrap().keys().cloned().collect();
    let mut wanted: Vec<_> = PROGRAM.commands.iter().map(|command| command.path.join(".")).collect();
    wanted.sort();
    assert_eq!(names, wanted);
    let rm = &manifest["commands"]["rm"];
    assert_eq!(rm["danger_level"], "destructive");
    assert_eq!(
        rm["flags"]["dry-run"],
        json!({"type": "boolean", "required": false, "description": "Say what would be done and do nothing"})
    );
    let codes: Vec<_> = rm["exit_codes"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(codes, ["0", "1", "2", "3", "4", "10", "130", "143"]);
    assert_eq!(rm["output_schema"]["x-cli"]["requires_confirmation"], true);
}

#[test]
fn an_unchanged_manifest_is_not_sent_again() {
    let env = world();
    let etag = run(&env, &["manifest"])["data"]["etag"].as_str().unwrap().to_owned();
    let again = run(&env, &["manifest", "--etag", &etag]);
    assert_eq!((&again["data"], &again["meta"]["not_modified"]), (&Value::Null, &json!(true)));
}

#[test]
fn the_extended_form_lists_the_same() {
    let env = world();
    let (manifest, extended) = (run(&env, &["manifest"]), run(&env, &["--schema"]));
    let keys =
        |value: &Value| value["data"]["commands"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&manifest), keys(&extended));
    let variables: Vec<_> =
        extended["data"]["environment"].as_array().unwrap().iter().map(|v| v["name"].clone()).collect();
    assert!(
        variables.contains(&json!("NOTES_OUTPUT")) && variables.contains(&json!("NOTES_HOME")),
        "{variables:?}"
    );
    assert_eq!(run(&env, &["--print-schema"])["data"], extended["data"]);
    let list = run(&env, &["list", "--schema"])["data"].clone();
    assert_eq!(
        list["parameters"]["limit"],
        json!({"type": "integer", "required": false, "description": "Print at most N rows; 0: all", "default": 20,
               "aliases": [], "max_length": null, "repeatable": false, "kind": "int", "agent_hardening": true,
               "sensitive": false, "minimum": 0})
    );
    let id = run(&env, &["show", "--schema"])["data"]["parameters"]["ID"].clone();
    assert_eq!((&id["pattern_type"], &id["stdin_fallback"]), (&json!("alphanumeric_id"), &json!(true)));
}

/// Every command's real answer fits the schema it declares.
#[test]
fn answers_fit_their_declared_schemas() {
    let env = with_notes(&["a"]);
    for args in [
        &["list"][..],
        &["show", "a"],
        &["add", "b", "--title", "x"],
        &["rm", "b", "-y"],
        &["purge"],
        &["manifest"],
        &["errors", "list"],
        &["wait", "--for", "1ms"],
    ] {
        let path: Vec<_> = args.iter().copied().take(if args[0] == "errors" { 2 } else { 1 }).collect();
        let declared = run(&env, &[&path[..], &["--output-schema"]].concat())["data"].clone();
        let answer = exact_envelope(&env.run(args));
        assert_valid(&envelope::schema(&declared), &answer);
        assert_valid(&declared, &answer["data"]);
    }
}

#[test]
fn every_error_code_is_listed() {
    let all = run(&world(), &["errors", "list", "--limit", "0"])["data"].clone();
    let codes: Vec<_> =
        all.as_array().unwrap().iter().map(|row| row["code"].as_str().unwrap().to_owned()).collect();
    assert!(
        codes.is_sorted() && codes.contains(&"NOTE_EMPTY".into()) && codes.contains(&"TIMEOUT".into()),
        "{codes:?}"
    );
}

#[test]
fn help_on_a_pipe_and_at_a_terminal() {
    let env = world();
    let help = "List notes by their id\n\nUsage: notes list [OPTIONS]\n\nOptions:\n\
        \x20     --contains <TEXT>  Only notes with this in their title\n\
        \x20     --limit <N>        Print at most N rows; 0: all [default: 20]\n\
        \x20     --cursor <CURSOR>  Go on where the last page ended\n\
        \x20 -h, --help             Print help; `--help --all` shows every option\n\
        \x20 -V, --version          Print the version\n\
        \x20 -o, --output <FORMAT>  What to print: json, jsonl, tsv, plain, table or id\n\
        \x20 -y, --yes              Answer every question with yes\n\
        \x20 -q, --quiet            Print nothing on standard error\n\n\
        Examples:\n  notes list\n      the first twenty notes\n  notes list --limit 0 --output tsv\n      \
        all of them, for a spreadsheet\n";
    let piped = env.run(&["list", "--help"]);
    assert_eq!(piped.stderr(), help);
    let envelope = crate::notes::envelope_of(&piped);
    assert_eq!((&envelope["data"], &envelope["meta"]["help"]), (&Value::Null, &json!(true)));
    assert_eq!(envelope["meta"]["schema_ref"], "notes list --schema");
    assert_eq!(env.run(&["list", "--help", "-o", "plain"]).to_string(), format!("{help}[exit status: 0]"));
    let mut pty = env.pty(&["list", "--help"], Size::CLASSIC);
    pty.wait_for("all of them, for a spreadsheet");
    let all = env.run(&["list", "--help", "--all", "-o", "plain"]).stdout();
    assert!(all.contains("--validate-only") && !help.contains("--validate-only"), "{all}");
}

/// The first probe: works in an empty world, touches nothing.
#[test]
fn a_bare_call_lists_the_commands() {
    let mut env = world();
    env.remove_var("HOME").remove_var("NOTES_HOME");
    let bare = run(&env, &[]);
    assert_eq!(bare["data"]["commands"][0], json!({"name": "list", "description": "List notes by their id"}));
    assert_eq!(
        env.run(&["--version"]).to_string(),
        format!("notes {}\n[exit status: 0]", env!("CARGO_PKG_VERSION"))
    );
    assert_eq!(std::fs::read_dir(env.work()).unwrap().count(), 0);
}

#[test]
fn completions_and_the_manual_page() {
    let env = world();
    for (shell, sign) in [
        ("bash", "complete -F _notes"),
        ("zsh", "#compdef notes"),
        ("fish", "complete -c notes"),
        ("powershell", "Register-ArgumentCompleter"),
        ("elvish", "edit:completion:arg-completer[notes]"),
    ] {
        let script = env.run(&["completions", shell]).success().stdout();
        assert!(script.contains(sign) && script.contains("validate-only"), "{shell}:\n{script}");
    }
    assert_eq!(env.run(&["completions", "tcsh"]).code(), Some(2));
    let page = env.run(&["man"]).success().stdout();
    assert!(page.contains(".TH notes 1") && page.contains("purge"), "{page}");
}
