//! The vault: its commands, references to it, and where its values never appear (VLT-1 to VLT-6, DECISIONS 47 and 65).

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::server::ModelServer;

use crate::world::world;

const KEY: &str = "vault-value-0123456789";

/// A world with a vault that has one entry.
fn with_entry(name: &str) -> TestEnv {
    let world = world();
    world.run(&["vault", "init"]).success();
    world.run_with_stdin(&["vault", "set", name], format!("{KEY}\n")).success();
    world
}

/// A world whose model is reached with no key of the environment.
fn keyless(mut world: TestEnv, server: &ModelServer, config: &str) -> TestEnv {
    world.use_server(server).remove_var("ANTHROPIC_API_KEY");
    world.write(world.base().join("config.toml"), config);
    world
}

/// Fails if a value stands in a file below a folder, in plain.
#[track_caller]
fn in_no_file(folder: &Path, value: &str) {
    for entry in fs::read_dir(folder).expect("a folder of ours").flatten() {
        let path = entry.path();
        match path.is_dir() {
            true => in_no_file(&path, value),
            false => {
                let bytes = fs::read(&path).unwrap_or_default();
                assert!(!String::from_utf8_lossy(&bytes).contains(value), "{} has it", path.display());
            }
        }
    }
}

#[track_caller]
fn in_no_output(output: &CommandOutput, value: &str) {
    assert!(!output.stdout().contains(value) && !output.stderr().contains(value), "{output}");
}

#[test]
fn an_entry_from_its_making_to_its_end() {
    let world = world();
    insta::assert_snapshot!(world.run(&["vault", "init"]), @"
    Made the vault $BASE/vault.age
    Its key is $BASE/vault.key: keep a copy of both, apart from each other
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["vault", "init"]), @"
    ------- stderr -------
    Error: there is a vault already: $BASE/vault.age
    Hint: `--force` makes a new one, and keeps the old files as `.bak`
    [exit status: 6]
    ");
    insta::assert_snapshot!(world.run(&["vault", "list"]), @"
    The vault is empty.
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run_with_stdin(&["vault", "set", "TOKEN"], "first-value\n"), @"
    Stored TOKEN
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run_with_stdin(&["vault", "set", "TOKEN"], "other-value\n"), @"
    ------- stderr -------
    Error: the vault has an entry `TOKEN` already
    Hint: `--force` replaces it
    [exit status: 6]
    ");
    insta::assert_snapshot!(world.run_with_stdin(&["vault", "set", "TOKEN", "--force"], "abc"), @"
    Replaced TOKEN
    ------- stderr -------
    Warning: the value of TOKEN is so short that it is not taken out of logs and answers
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["vault", "get", "TOKEN"]), @"
    [REDACTED]
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["vault", "get", "TOKEN", "--reveal"]), @"
    abc
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["vault", "which", "TOKEN"]), @"
    age
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["vault", "rekey", "--yes"]), @"
    Gave the vault another key: $BASE/vault.key
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["vault", "list"]), @"
    TOKEN
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["vault", "rm", "TOKEN", "--dry-run"]), @"
    Would delete 1, which cannot be undone: TOKEN
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["vault", "rm", "TOKEN", "--yes"]), @"
    Removed TOKEN
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["vault", "rm", "TOKEN", "--dry-run"]), @"
    Would delete nothing
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["vault", "get", "TOKEN"]), @"
    ------- stderr -------
    Error: no secret `TOKEN` is in the environment, the credential store or the vault
    Hint: add it: `zori vault set TOKEN` reads the value from standard input
    [exit status: 5]
    ");
}

/// VLT-4: whatever way a value gets onto the command line, it is refused and not said back.
#[test]
fn a_value_on_the_command_line() {
    let world = world();
    world.run(&["vault", "init"]).success();
    for args in [
        &["vault", "set", "TOKEN", "hunter2-hunter2"][..],
        &["vault", "set", "TOKEN=hunter2-hunter2"],
        &["vault", "set", "hunter2-hunter2 is it"],
        &["vault", "set", "TOKEN", "--value", "hunter2-hunter2"],
        &["vault", "set", "TOKEN", "--value=hunter2-hunter2"],
    ] {
        let output = world.run_with_stdin(args, "x");
        assert_eq!(output.code(), Some(2), "{args:?}\n{output}");
        in_no_output(&output, "hunter2");
    }
    in_no_file(world.base(), "hunter2");
}

/// VLT-1: the environment answers first, and a flag wins over a variable over the base directory, for every command.
#[test]
fn who_answers_and_from_where() {
    let mut world = with_entry("TOKEN");
    let elsewhere = world.home().join("elsewhere");
    let flag = elsewhere.to_str().expect("our paths are text").to_owned();
    world.run(&["vault", "init", "--vault", &flag]).success();
    world.run_with_stdin(&["vault", "set", "OTHER", "--vault", &flag], "other-value").success();
    assert_eq!(world.run(&["vault", "list", "--vault", &flag]).stdout(), "OTHER\n");
    assert_eq!(world.run(&["vault", "list"]).stdout(), "TOKEN\n");
    world.set_var("ZORI_VAULT", &flag);
    assert_eq!(world.run(&["vault", "list"]).stdout(), "OTHER\n");
    let base = world.base().to_str().expect("our paths are text").to_owned();
    assert_eq!(world.run(&["vault", "list", "--vault", &base]).stdout(), "TOKEN\n");
    world.set_var("OTHER", "of the environment");
    assert_eq!(world.run(&["vault", "which", "OTHER"]).stdout(), "env\n");
}

/// VLT-3, VLT-5: a key that only the vault has, also under `--bare`; a model that recites it is redacted in events and files.
#[test]
fn a_bare_run_with_a_key_of_the_vault() {
    let server = ModelServer::strict([
        anthropic::tool_use("t1", "bash", json!({"command": format!("echo {KEY}")})),
        anthropic::text("Done."),
    ]);
    let world = keyless(with_entry("MY_KEY"), &server, "api_key = \"vault:MY_KEY\"\n");
    let output = world.run(&["exec", "--bare", "--json", "-y", "-p", "hi"]).success();
    assert_eq!(server.request(0).header("x-api-key"), Some(KEY));
    in_no_output(&output, KEY);
    in_no_file(world.base(), KEY);
}

/// VLT-3: without a reference nothing of the vault is opened, whatever is wrong with it.
#[test]
fn a_vault_that_nobody_refers_to() {
    let server = ModelServer::strict([anthropic::text("Hello")]);
    let mut world = world();
    world.use_server(&server);
    world.write(world.base().join("vault.age"), "no vault at all");
    let output = world.run(&["exec", "-p", "hi"]).success();
    assert_eq!((output.stdout(), output.stderr()), ("Hello\n".to_owned(), String::new()));
}

/// VLT-6.
#[test]
fn what_is_wrong_with_a_reference_is_said() {
    let server = ModelServer::start(Vec::<anthropic::Message>::new());
    let world = keyless(with_entry("MY_KEY"), &server, "api_key = \"vault:OTHER\"\n");
    let ask = ["exec", "-p", "hi"];
    let missing = world.run(&ask);
    assert_eq!(missing.code(), Some(8), "{missing}");
    assert!(missing.stderr().starts_with("Error: no secret `OTHER` is in the environment"), "{missing}");
    world.write(world.base().join("config.toml"), "api_key = \"vault:MY_KEY\"\n");
    let key = world.base().join("vault.key");
    fs::set_permissions(&key, PermissionsExt::from_mode(0o644)).expect("a file of ours");
    insta::assert_snapshot!(world.run(&ask), @"
    ------- stderr -------
    Error: the key of the vault can be read by others: $BASE/vault.key
    Hint: chmod 600 $BASE/vault.key
    [exit status: 2]
    ");
    fs::remove_file(&key).expect("a file of ours");
    insta::assert_snapshot!(world.run(&ask), @"
    ------- stderr -------
    Error: the key of the vault is missing: $BASE/vault.key
    Hint: the files before the last change are kept beside them, with `.bak` at the end
    [exit status: 2]
    ");
    let literal = format!("api_key = \"{KEY}\"\n");
    world.write(world.base().join("config.toml"), literal);
    let literal = world.run(&ask);
    assert_eq!(literal.code(), Some(8));
    assert!(literal.stderr().contains("`api_key` in "), "{literal}");
    in_no_output(&literal, KEY);
    assert_eq!(server.count(), 0);
}

/// DECISIONS 47: a named provider, and a built-in one, by a reference in its table.
#[test]
fn providers_whose_key_the_config_refers_to() {
    let server = ModelServer::strict([anthropic::text("Hello"), anthropic::text("Hello")]);
    let config = format!(
        "[providers.acme]\napi = \"anthropic\"\nbase_url = \"{}\"\nkey_env = \"vault:MY_KEY\"\nmodels = [\"large\"]\n\
         [providers.anthropic]\napi_key = \"vault:MY_KEY\"\n",
        server.url()
    );
    let world = keyless(with_entry("MY_KEY"), &server, &config);
    for (n, provider) in ["acme", "anthropic"].into_iter().enumerate() {
        world.run(&["exec", "--provider", provider, "-p", "hi"]).success();
        assert_eq!(server.request(n).header("x-api-key"), Some(KEY), "{provider}");
    }
    let status = world.run(&["auth", "status", "--provider", "anthropic"]).success().stdout();
    assert_eq!(status, "anthropic    vault  vault:MY_KEY\n");
}

/// DECISIONS 65: a vault that the user made keeps logins where the machine has no store; without one nothing is kept.
#[test]
fn a_login_without_a_credential_store() {
    let server = ModelServer::strict([anthropic::text("Hello")]);
    let world = keyless(world(), &server, "");
    let login = ["auth", "login", "--provider", "anthropic", "--with-token"];
    assert_eq!(world.run_with_stdin(&login, KEY).code(), Some(4));
    world.run(&["vault", "init"]).success();
    world.run_with_stdin(&login, KEY).success();
    assert_eq!(world.run(&["vault", "list"]).stdout(), "login:anthropic\n");
    in_no_file(world.base(), KEY);
    world.run(&["exec", "-p", "hi"]).success();
    assert_eq!(server.request(0).header("x-api-key"), Some(KEY));
    world.run(&["auth", "logout", "--provider", "anthropic", "--yes"]).success();
    assert_eq!(world.run(&["vault", "list"]).stdout(), "The vault is empty.\n");
}

/// The keyring of this test is a helper program, as in `auth.rs`.
#[test]
fn an_entry_in_the_credential_store() {
    let world = crate::auth::vault("");
    let set = ["vault", "set", "TOKEN", "--backend", "keyring"];
    world.run_with_stdin(&set, KEY).success();
    assert_eq!(world.run_with_stdin(&set, KEY).code(), Some(6));
    assert_eq!(world.run(&["vault", "which", "TOKEN"]).stdout(), "keyring\n");
    assert_eq!(world.run(&["vault", "get", "TOKEN", "--reveal"]).stdout(), format!("{KEY}\n"));
    world.run(&["vault", "rm", "TOKEN", "--backend", "keyring", "--yes"]).success();
    assert_eq!(world.run(&["vault", "which", "TOKEN"]).code(), Some(5));
}
