//! Credentials: where a key comes from, and `auth login --with-token`, `logout`, `status` (AUTH-1 to AUTH-7).
//!
//! The store of these tests is a credential helper: a script that keeps entries in files below the home directory, and
//! takes down how it was called. The system's own store is never touched: no test has a session bus.

pub mod browser;
mod renewal;
mod secrets;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use zori_testkit::env::TestEnv;
use zori_testkit::fixture;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use crate::world::world;

const HELPER: &str = r#"#!/bin/sh
vault="$HOME/vault"
echo "$*" >> "$vault/calls"
env >> "$vault/environment"
case $1 in
    get) if [ -f "$vault/$2.$3" ]; then cat "$vault/$2.$3"; fi ;;
    store) cat > "$vault/$2.$3" ;;
    erase) rm -f "$vault/$2.$3" ;;
esac
"#;

/// A world with a credential helper, and this in the config file.
pub fn vault(config: &str) -> TestEnv {
    helped_by(HELPER, config)
}

fn helped_by(script: &str, config: &str) -> TestEnv {
    let world = world();
    std::fs::create_dir(world.home().join("vault")).expect("a folder can be made");
    let program = world.write(world.home().join("helper"), script);
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).expect("a file of ours");
    let config = format!("credential_helper = \"{}\"\n{config}", program.display());
    world.write(world.base().join("config.toml"), config);
    world
}

fn entry(world: &TestEnv, account: &str) -> PathBuf {
    world.home().join(format!("vault/zori.{account}"))
}

fn calls(world: &TestEnv) -> String {
    std::fs::read_to_string(world.home().join("vault/calls")).unwrap_or_default()
}

fn answer() -> Reply {
    Reply::sse(fixture::bytes("openai_responses/text.sse"))
}

#[test]
fn a_key_is_stored_shown_and_forgotten() {
    let world = vault("");
    let login = ["auth", "login", "--provider", "openai", "--with-token"];
    insta::assert_snapshot!(world.run_with_stdin(&login, " sk-0123456789\n"), @"
    Stored the key of OpenAI
    [exit status: 0]
    ");
    assert_eq!(
        world.read(entry(&world, "openai")),
        "{\"access_token\":\"sk-0123456789\",\"kind\":\"api_key\"}\n"
    );
    let status = world.run(&["status"]).success().stdout();
    assert!(status.starts_with("Keys:      openai in the credential store\n"), "{status}");
    insta::assert_snapshot!(world.run(&["auth", "status"]), @r"
    anthropic     none
    openai        store  api_key
    openai-chat   store  api_key
    codex         store  api_key
    gemini        none   `gcloud` is asked when it is needed
    openrouter    none
    copilot       none   `gh auth token` is asked when it is needed
    groq          none
    xai           none
    deepseek      none
    mistral       none
    cerebras      none
    together      none
    bedrock       none
    azure         none
    vertex        none
    vertex-claude none
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["auth", "logout", "--provider", "openai", "--yes"]), @"
    Forgot what was stored of OpenAI
    [exit status: 0]
    ");
    assert!(!entry(&world, "openai").exists());
    insta::assert_snapshot!(world.run(&["auth", "logout", "--provider", "openai", "--yes"]), @"
    Nothing is stored of OpenAI
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["auth", "status", "--provider", "openai"]), @"
    openai       none
    [exit status: 0]
    ");
}

#[test]
fn a_logout_of_everything() {
    let world = vault("");
    for provider in ["openai", "anthropic"] {
        let login = ["auth", "login", "--provider", provider, "--with-token"];
        world.run_with_stdin(&login, "sk-0123456789").success();
    }
    insta::assert_snapshot!(world.run(&["auth", "logout", "--yes"]), @"
    Forgot what was stored of Anthropic
    Forgot what was stored of OpenAI
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["auth", "logout", "--yes"]), @"
    Nothing is stored
    [exit status: 0]
    ");
}

#[test]
fn what_is_no_key_is_refused() {
    let world = vault("");
    let login = |input: &[u8]| {
        let output = world.run_with_stdin(&["auth", "login", "--provider", "openai", "--with-token"], input);
        assert_eq!((output.code(), output.stdout().as_str()), (Some(2), ""), "{output}");
        output.stderr().lines().next().unwrap().to_owned()
    };
    assert_eq!(login(b""), "Error: there is no key on standard input");
    assert_eq!(login(b" \n\n"), "Error: there is no key on standard input");
    assert_eq!(login(b"sk-one-0123\nsk-two-0123\n"), "Error: there is more than one line on standard input");
    assert_eq!(
        login(b"sk-\x1b[31m0123456789"),
        "Error: the key has blanks, control bytes or other characters that no key has"
    );
    assert_eq!(login(b"\xff\xfe"), "Error: no key can be read: stream did not contain valid UTF-8");
    assert_eq!(login(&[b'k'; 20_000]), "Error: standard input is longer than any key");
    assert!(!entry(&world, "openai").exists());
}

/// O-033: a key that a machine has in its environment.
#[test]
fn a_key_in_a_variable() {
    let mut world = vault("");
    let login = ["auth", "login", "--provider", "openai", "--token-env-var", "MY_KEY"];
    insta::assert_snapshot!(world.run(&login), @"
    ------- stderr -------
    Error: the variable `MY_KEY` is not set, or is no text
    Hint: put the key there, or give it to `--with-token` on standard input
    [exit status: 2]
    ");
    world.set_var("MY_KEY", "two words");
    insta::assert_snapshot!(world.run(&login), @"
    ------- stderr -------
    Error: the key has blanks, control bytes or other characters that no key has
    Hint: put the key there and nothing else
    [exit status: 2]
    ");
    world.set_var("MY_KEY", "sk-0123456789");
    insta::assert_snapshot!(world.run(&login), @"
    Stored the key of OpenAI
    [exit status: 0]
    ");
    assert_eq!(
        world.read(entry(&world, "openai")),
        "{\"access_token\":\"sk-0123456789\",\"kind\":\"api_key\"}\n"
    );
    let both = world.run(&[&login[..], &["--headless"]].concat());
    assert_eq!(both.code(), Some(2), "{both}");
}

/// AUTH-2: what is typed is not shown, and the terminal shows typing again afterwards.
#[test]
fn a_key_typed_at_a_terminal_is_not_shown() {
    let world = vault("");
    let mut pty =
        world.pty(&["auth", "login", "--provider", "openai", "--with-token"], Size { rows: 24, cols: 80 });
    pty.wait_for("Key of OpenAI (it is not shown): ");
    wait_for_silence(&pty);
    pty.send("sk-typed-0123456789\n");
    let (status, drawn) = pty.finish();
    assert!(status.success(), "{drawn}");
    assert!(drawn.contains("Stored the key of OpenAI") && !drawn.contains("sk-typed"), "{drawn}");
    assert!(world.read(entry(&world, "openai")).contains("sk-typed-0123456789"));
}

/// Waits until the terminal has stopped echoing, which comes right after the question.
fn wait_for_silence(pty: &zori_testkit::pty::Pty) {
    zori_testkit::wait::until("echo to be off", || !pty.echoes());
}

/// AUTH-5.
#[test]
fn a_machine_without_a_store() {
    let world = world();
    let login = ["auth", "login", "--provider", "openai", "--with-token"];
    insta::assert_snapshot!(world.run_with_stdin(&login, "sk-0123456789"), @"
    ------- stderr -------
    Error: this machine has no credential store
    Hint: set OPENAI_API_KEY instead; keys are never kept in a plain file
    Hint: `credential_helper` in the config file names a program that keeps them, such as a password manager's
    Hint: a vault keeps them, too, once you made one: `zori vault init`
    [exit status: 4]
    ");
    assert_eq!(world.run(&["auth", "logout", "--yes"]).code(), Some(4));
    assert_eq!(world.run(&["auth", "login", "--provider", "openrouter"]).code(), Some(4));
    assert_eq!(world.run(&["auth", "status"]).code(), Some(0));
    assert!(!world.base().exists(), "nothing is kept in a file");
}

#[test]
fn a_session_bus_that_is_none() {
    let mut world = world();
    world.set_var("DBUS_SESSION_BUS_ADDRESS", format!("unix:path={}", world.tmp().join("bus").display()));
    let output =
        world.run_with_stdin(&["auth", "login", "--provider", "openai", "--with-token"], "sk-0123456789");
    assert_eq!(output.code(), Some(4), "{output}");
    assert!(output.stderr().starts_with("Error: the credential store cannot be used: "), "{output}");
    let output = world.run(&["exec", "--no-save", "--provider", "openai", "-p", "hi"]);
    assert_eq!(output.code(), Some(8), "{output}");
    assert!(
        output
            .stderr()
            .starts_with("Error: OPENAI_API_KEY is not set, and the credential store cannot be used: "),
        "{output}"
    );
}

/// AUTH-4: the environment comes first, and then nothing else is even looked at.
#[test]
fn the_environment_wins() {
    let server = ModelServer::start([answer()]);
    let mut world = vault("");
    world
        .set_var("OPENAI_BASE_URL", format!("{}/v1", server.url()))
        .set_var("OPENAI_API_KEY", "sk-from-env-0123");
    insta::assert_snapshot!(world.run_with_stdin(&["auth", "login", "--provider", "openai", "--with-token"], "sk-stored-0123"), @"
    Stored the key of OpenAI
    ------- stderr -------
    Warning: OPENAI_API_KEY is set, and is used instead of what is stored
    [exit status: 0]
    ");
    let before = calls(&world);
    world.run(&["exec", "--no-save", "--provider", "openai", "-p", "hi"]).success();
    assert_eq!(server.request(0).header("authorization"), Some("Bearer sk-from-env-0123"));
    let status = world.run(&["auth", "status", "--provider", "openai"]);
    assert_eq!(status.stdout(), "openai       env    OPENAI_API_KEY\n");
    assert_eq!(calls(&world), before, "the store is not asked");
}

/// DECISIONS 35, for stored keys.
#[test]
fn the_only_stored_key_decides() {
    let server = ModelServer::start([answer()]);
    let mut world = vault("");
    world.set_var("OPENAI_BASE_URL", format!("{}/v1", server.url()));
    world.write(entry(&world, "openai"), "sk-bare-0123456789\n");
    let output = world.run(&["exec", "--no-save", "-p", "hi"]).success();
    assert_eq!(
        output.stderr(),
        "Using OpenAI with the model `gpt-6.1-terra`, because its key is in the credential store\n"
    );
    assert_eq!(server.request(0).header("authorization"), Some("Bearer sk-bare-0123456789"));
    assert_eq!(calls(&world), "get zori anthropic\nget zori openai\n");
}

#[test]
fn a_stored_key_that_is_refused() {
    let refused = Reply::json(401, r#"{"error":{"message":"no such key"}}"#);
    let server = ModelServer::start([refused]);
    let mut world = vault("");
    world.set_var("OPENAI_BASE_URL", format!("{}/v1", server.url()));
    world.write(entry(&world, "openai"), "sk-bare-0123456789\n");
    insta::assert_snapshot!(world.run(&["exec", "--no-save", "--provider", "openai", "-p", "hi"]), @r#"
    ------- stderr -------
    Error [http_status]: HTTP 401: no such key
      Details: {"error":{"message":"no such key"}}
    Hint: store another key with `zori auth login --provider openai --with-token`
    [exit status: 8]
    "#);
}

#[test]
fn a_helper_that_does_not_help() {
    let told = |script: &str| {
        let output = helped_by(script, "").run(&["exec", "--no-save", "--provider", "openai", "-p", "hi"]);
        assert_eq!(output.code(), Some(8), "{output}");
        output.stderr().lines().next().unwrap().to_owned()
    };
    let start = "Error: OPENAI_API_KEY is not set, and ";
    assert_eq!(
        told("#!/bin/sh\nexit 3\n"),
        format!(
            "{start}the credential helper failed: `$HOME/helper get zori openai` failed (exit status: 3)"
        )
    );
    assert_eq!(
        told("#!/bin/sh\necho two words\n"),
        format!("{start}the entry `zori`, `openai` cannot be used: it is no key and no JSON")
    );
    assert_eq!(
        told("#!/bin/sh\nexec sleep 60\n"),
        format!(
            "{start}the credential helper failed: `$HOME/helper get zori openai` did not answer within 2 seconds"
        )
    );
    assert_eq!(told("#!/bin/sh\n"), "Error: OPENAI_API_KEY is not set");
    let world = helped_by("#!/bin/sh\nexit 3\n", "");
    let output =
        world.run_with_stdin(&["auth", "login", "--provider", "openai", "--with-token"], "sk-0123456789");
    assert_eq!(output.code(), Some(4), "{output}");
    let status = world.run(&["auth", "status", "--provider", "openai"]);
    assert_eq!(
        status.to_string(),
        "openai       none\n------- stderr -------\nWarning: the credential helper failed: \
         `$HOME/helper get zori anthropic` failed (exit status: 3)\n[exit status: 0]"
            .replace("anthropic", "openai")
    );
}

/// Nobody is there: it fails at once, and names what works without a person.
#[test]
fn a_login_without_a_person() {
    let world = vault("");
    insta::assert_snapshot!(world.run(&["auth", "login"]), @"
    ------- stderr -------
    Error: Anthropic has no login for programs like this one
    Hint: set ANTHROPIC_API_KEY
    Hint: `zori auth login --provider anthropic --with-token` takes a key from standard input
    Hint: with a client id of your own: `client_id`, `authorize_url` and `token_url` in [auth.anthropic] of the config file
    Hint: `zori auth login --provider openrouter` needs neither
    [exit status: 4]
    ");
    insta::assert_snapshot!(world.run(&["auth", "login", "--provider", "openrouter"]), @"
    ------- stderr -------
    Error: a login to OpenRouter needs a person, and nobody is there
    Hint: set OPENROUTER_API_KEY instead
    Hint: `zori auth login --provider openrouter --with-token` takes a key from standard input
    Hint: `zori auth login --provider openrouter --headless` prints the address of the login and waits
    [exit status: 4]
    ");
    insta::assert_snapshot!(crate::world::world().run(&["auth", "login"]), @"
    ------- stderr -------
    Error: this machine has no credential store
    Hint: set ANTHROPIC_API_KEY instead; keys are never kept in a plain file
    Hint: `credential_helper` in the config file names a program that keeps them, such as a password manager's
    Hint: a vault keeps them, too, once you made one: `zori vault init`
    [exit status: 4]
    ");
    let mut zdx = vault("");
    zdx.set_var("ZDX_HOME", zdx.base().display().to_string());
    assert_eq!(zdx.run(&["--as", "zdx", "auth", "login"]).code(), Some(1));
    let mut programs = vault("");
    programs.remove_var("ZORI_OUTPUT");
    let told: serde_json::Value = serde_json::from_str(&programs.run(&["auth", "login"]).stdout()).unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&told["error"]).unwrap(), @r#"
    {
      "auth_methods": [
        {
          "type": "env",
          "name": "ANTHROPIC_API_KEY",
          "hint": "set ANTHROPIC_API_KEY",
          "description": "the key of Anthropic"
        },
        {
          "type": "command",
          "name": "zori auth login --provider anthropic --with-token",
          "hint": "store it: `zori auth login --provider anthropic --with-token`",
          "description": "a key or a login in the credential store"
        }
      ],
      "code": "INPUT_REQUIRED",
      "message": "Anthropic has no login for programs like this one.",
      "phase": "execution",
      "exit_code": 4,
      "retryable": false,
      "fix_required": "Give the answer as a flag.",
      "suggestion": "set ANTHROPIC_API_KEY; `zori auth login --provider anthropic --with-token` takes a key from standard input; with a client id of your own: `client_id`, `authorize_url` and `token_url` in [auth.anthropic] of the config file; `zori auth login --provider openrouter` needs neither",
      "hint": "set ANTHROPIC_API_KEY; `zori auth login --provider anthropic --with-token` takes a key from standard input; with a client id of your own: `client_id`, `authorize_url` and `token_url` in [auth.anthropic] of the config file; `zori auth login --provider openrouter` needs neither"
    }
    "#);
}

/// O-022.
#[test]
fn a_key_in_a_file() {
    let world = vault("");
    let login = ["auth", "login", "--provider", "openai", "--token-from-file", "key.txt"];
    insta::assert_snapshot!(world.run(&login), @"
    ------- stderr -------
    Error: the file $WORK/key.txt cannot be read: No such file or directory (os error 2)
    Hint: put the key there, or give it to `--with-token` on standard input
    [exit status: 2]
    ");
    world.write("key.txt", "sk-0123456789\n");
    insta::assert_snapshot!(world.run(&login), @"
    Stored the key of OpenAI
    [exit status: 0]
    ");
    assert!(world.read(entry(&world, "openai")).contains("sk-0123456789"));
}

#[test]
fn logins_there_are_none_for() {
    let world = vault("");
    insta::assert_snapshot!(world.run(&["auth", "login", "--provider", "openai"]), @"
    ------- stderr -------
    Error: OpenAI has no login for programs like this one
    Hint: set OPENAI_API_KEY
    Hint: `zori auth login --provider openai --with-token` takes a key from standard input
    Hint: with a client id of your own: `client_id`, `authorize_url` and `token_url` in [auth.openai] of the config file
    Hint: `zori auth login --provider openrouter` needs neither
    [exit status: 4]
    ");
    insta::assert_snapshot!(world.run(&["auth", "login", "--provider", "ollama"]), @"
    ------- stderr -------
    Error: Ollama on this machine needs no key
    Hint: if yours does, set OLLAMA_API_KEY
    [exit status: 2]
    ");
    for command in ["login", "logout", "status"] {
        insta::allow_duplicates! {
            insta::assert_snapshot!(world.run(&["auth", command, "--provider", "opnai"]), @"
            ------- stderr -------
            Error: unknown provider `opnai`
            Hint: did you mean `openai`?
            Hint: or describe it in the config file: `[providers.opnai]` with `api`, `base_url` and `key_env`
            [exit status: 2]
            ");
        }
    }
    let partly = vault("[auth.openai]\nclient_id = \"x\"\n");
    insta::assert_snapshot!(partly.run(&["auth", "login", "--provider", "openai"]), @"
    ------- stderr -------
    Error: [auth.openai] in the config file lacks `authorize_url` and `token_url`
    Hint: `zori auth login --provider openai --with-token` takes a key from standard input
    [exit status: 2]
    ");
}

#[test]
fn a_section_that_is_wrong() {
    let told = |config: &str| {
        let world = world();
        world.write(world.base().join("config.toml"), config);
        let output = world.run(&["auth", "login", "--provider", "openai"]);
        assert_eq!(output.code(), Some(2), "{output}");
        output.stderr().lines().next().unwrap().to_owned()
    };
    assert_eq!(
        told("[auth.opnai]\nclient_id = \"x\"\n"),
        "Error: $BASE/config.toml:1:2: `auth.opnai` is no provider's; did you mean `auth.openai`?"
    );
    assert_eq!(
        told("[auth.openai]\nclient_secret = \"x\"\n"),
        "Error: $BASE/config.toml:1:2: `auth.openai` has no key `client_secret`; it has client_id, authorize_url, token_url, scopes"
    );
    for url in
        ["http://example.com/token", "http://127.0.0.1.evil.example/", "http://localhost@evil.example/"]
    {
        assert_eq!(
            told(&format!("[auth.openai]\ntoken_url = \"{url}\"\n")),
            "Error: $BASE/config.toml:1:2: `auth.openai.token_url` must be an https:// address, or one on this machine"
        );
    }
    assert_eq!(told("auth = 1\n"), "Error: $BASE/config.toml:1:8: `auth` must be a table, not 1");
}

/// DECISIONS 47: the name of a provider of one's own is good wherever a provider's is.
#[test]
fn the_key_of_a_provider_of_ones_own() {
    let own = "[providers.acme]\napi = \"openai-chat\"\nbase_url = \"https://llm.example/v1\"\nkey_env = \"ACME_KEY\"\n";
    let mut world = vault(own);
    let login = ["auth", "login", "--provider", "acme", "--with-token"];
    insta::assert_snapshot!(world.run_with_stdin(&login, "acme-0123456789\n"), @"
    Stored the key of acme
    [exit status: 0]
    ");
    assert_eq!(
        world.run(&["auth", "status", "--provider", "acme"]).success().stdout(),
        "acme         store  api_key\n"
    );
    insta::assert_snapshot!(world.run(&["auth", "logout", "--provider", "acme", "--yes"]), @"
    Forgot what was stored of acme
    [exit status: 0]
    ");
    world.set_var("ACME_KEY", "acme-0123456789");
    assert_eq!(
        world.run(&["auth", "status", "--provider", "acme"]).success().stdout(),
        "acme         env    ACME_KEY\n"
    );
    world.set_var("ANTHROPIC_AUTH_TOKEN", "t-1");
    assert_eq!(
        world.run(&["auth", "status", "--provider", "anthropic"]).success().stdout(),
        "anthropic    env    ANTHROPIC_AUTH_TOKEN\n"
    );
}
