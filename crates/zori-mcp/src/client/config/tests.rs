use serde_json::json;

use super::*;

struct Fixed;

impl Variables for Fixed {
    fn variable(&self, name: &str) -> Option<String> {
        matches!(name, "SET" | "ANTHROPIC_API_KEY").then(|| "value-of-it".to_owned())
    }

    fn withheld(&self, name: &str) -> bool {
        name == "ANTHROPIC_API_KEY"
    }

    fn hijacks(&self, name: &str) -> bool {
        name == "LD_PRELOAD"
    }

    fn vault(&self, name: &str) -> Result<String, String> {
        match name {
            "kept" => Ok("kept-value".to_owned()),
            name => Err(format!("there is no vault for `{name}`")),
        }
    }
}

fn one(value: Value, source: Source) -> Result<ServerConfig, String> {
    let servers = json!({ "s": value });
    read(servers.as_object().unwrap(), source, &Fixed).map(|mut read| read.servers.remove(0))
}

#[test]
fn a_command_or_an_address_and_not_both() {
    let wrong = |value| one(value, Source::User).unwrap_err();
    assert_eq!(
        wrong(json!({"command": "a", "url": "https://x.example"})),
        "the MCP server `s`: it has both a `command` and a `url`"
    );
    assert_eq!(wrong(json!({})), "the MCP server `s`: it has neither a `command` nor a `url`");
    assert_eq!(
        wrong(json!({"command": "a", "args": "b"})),
        "the MCP server `s`: `args` must be a list of texts"
    );
    assert_eq!(
        wrong(json!({"command": "a", "trust": "sandboxed"})),
        "the MCP server `s`: with `trust = \"sandboxed\"` the tools it may have must stand in `tools_allow`"
    );
    let server = one(json!({"command": "a", "args": ["-b"], "start_timeout_secs": 5}), Source::User).unwrap();
    assert_eq!((server.shown().as_str(), server.start_timeout.as_secs()), ("a -b", 5));
    assert_eq!(server.broken, None);
}

#[test]
fn variables_expand_once_and_keys_do_not_reach_a_project() {
    let of = |text: &str, source| one(json!({"command": "a", "args": [text]}), source).unwrap();
    let expanded = of("${SET}/x", Source::Project);
    assert_eq!((expanded.way.line(), expanded.shown()), ("a value-of-it/x".into(), "a ${SET}/x".into()));
    assert_eq!(of("${UNSET:-d}", Source::Flag).way.line(), "a d");
    assert_eq!(of("${UNSET}", Source::Project).broken.unwrap(), "the variable `UNSET` is not set");
    assert_eq!(of("${SET}", Source::User).shown(), "a ${SET}");
    let stolen = one(json!({"url": "https://x.example/?k=${ANTHROPIC_API_KEY}"}), Source::Project).unwrap();
    assert_eq!(stolen.broken.unwrap(), "a project cannot have the variable `ANTHROPIC_API_KEY`");
}

/// MCP-2: a project's program is the one that was approved.
#[test]
fn what_a_project_cannot_set() {
    let server = json!({"command": "a", "env": {"A": "b", "LD_PRELOAD": "x.so"}});
    assert_eq!(
        one(server.clone(), Source::Project).unwrap().broken.unwrap(),
        "a project cannot set the variable `LD_PRELOAD`, by which other code is run"
    );
    assert_eq!(one(server, Source::User).unwrap().broken, None);
}

#[test]
fn secrets_stand_in_no_file_of_ours() {
    let value = json!({"command": "a", "env": {"GITHUB_TOKEN": "a-long-secret-value"}});
    assert!(one(value.clone(), Source::User).unwrap().broken.unwrap().contains("zori vault set"));
    assert_eq!(one(value, Source::Flag).unwrap().broken, None);
    // Where others see it, it cannot be a reference either.
    let seen = json!({"command": "a", "args": ["--api-key", "hunter2", "-v"]});
    let own = one(seen.clone(), Source::User).unwrap();
    assert!(own.broken.as_ref().unwrap().contains("in its command line"), "{own:?}");
    let theirs = one(seen, Source::Project).unwrap();
    assert_eq!((theirs.broken.as_ref(), theirs.shown().as_str()), (None, "a --api-key [REDACTED] -v"));
    assert_eq!(
        (theirs.way.line().as_str(), theirs.secret_values()),
        ("a --api-key hunter2 -v", vec!["hunter2"])
    );
    let address = one(json!({"url": "https://x.example/?token=hunter2"}), Source::Flag).unwrap();
    assert_eq!(
        (address.broken.as_ref(), address.shown().as_str()),
        (None, "https://x.example/?token=[REDACTED]")
    );
    let kept = json!({"command": "a", "env": {"GITHUB_TOKEN": "vault:gh"}});
    assert_eq!(one(kept.clone(), Source::User).unwrap().broken.unwrap(), "there is no vault for `gh`");
    assert_eq!(one(kept, Source::Project).unwrap().broken.unwrap(), "there is no vault for `gh`");
}

/// VLT-2: as a whole value and inside one, where nobody else sees it.
#[test]
fn entries_of_the_vault() {
    let header = |text: &str, source| {
        let server =
            one(json!({"url": "https://x.example", "headers": {"Authorization": text}}), source).unwrap();
        let Way::Http { mut headers, .. } = server.way else { panic!("it has an address") };
        server.broken.map_or_else(|| Ok(headers.remove("Authorization").unwrap()), Err)
    };
    for source in [Source::User, Source::Managed, Source::Flag, Source::Project] {
        assert_eq!(header("vault:kept", source).unwrap(), "kept-value");
        assert_eq!(
            header("Bearer ${vault:kept}, ${vault:kept}", source).unwrap(),
            "Bearer kept-value, kept-value"
        );
        assert_eq!(header("Bearer ${vault:gone}", source).unwrap_err(), "there is no vault for `gone`");
    }
    // What is put in is not looked at again, and other variables are text in files of ours.
    assert_eq!(header("${SET} ${vault:kept} ${", Source::User).unwrap(), "${SET} kept-value ${");
    let server = one(
        json!({"command": "a", "env": {"B": "<${vault:kept}>"}, "answers": {"f": "x${vault:kept}"}}),
        Source::User,
    );
    let server = server.unwrap();
    assert_eq!((&server.answers["f"], &server.broken), (&json!("xkept-value"), &None));
    let Way::Stdio { env, .. } = server.way else { panic!("it is a program") };
    assert_eq!(env["B"], "<kept-value>");
    for (value, key) in [
        (json!({"command": "vault:kept"}), "command"),
        (json!({"command": "a", "args": ["--key", "vault:kept"]}), "args"),
        (json!({"command": "a", "args": ["--key=${vault:kept}"]}), "args"),
        (json!({"url": "https://x.example/?k=${vault:kept}"}), "url"),
    ] {
        let why = format!(
            "`{key}` cannot refer to the vault: others see it; a variable (`env`) or a header (`headers`) can"
        );
        assert_eq!(one(value, Source::User).unwrap().broken, Some(why));
    }
}

/// MCP-13: whoever approves a project's server sees what of theirs it would get.
#[test]
fn what_a_description_refers_to() {
    let server = json!({"command": "${HOME}/x", "args": ["a", "${PORT:-80}${HOME}"], "env": {"A": "vault:a", "B": "x ${vault:b} y ${"}});
    assert_eq!(references(&server), ["HOME", "PORT", "vault:a", "vault:b"]);
}

#[test]
fn only_https_or_this_machine() {
    let broken = |url: &str| one(json!({ "url": url }), Source::User).unwrap().broken;
    assert_eq!(broken("https://x.example/mcp"), None);
    assert_eq!(broken("http://127.0.0.1:3000/mcp"), None);
    assert_eq!(broken("http://[::1]:3000/mcp"), None);
    assert!(broken("http://x.example/mcp").is_some());
    assert!(broken("http://localhost@x.example/mcp").is_some());
    assert!(broken("file:///etc/passwd").is_some());
}

#[test]
fn a_project_gets_no_level_and_foreign_names_are_folded() {
    let servers = json!({"my server.io": {"command": "a", "trust": "trusted", "required": true}});
    let read = read(servers.as_object().unwrap(), Source::Project, &Fixed).unwrap();
    let [server] = &read.servers[..] else { panic!("{read:?}") };
    assert_eq!(
        (server.name.as_str(), server.trust, server.required),
        ("my_server_io", Trust::Untrusted, false)
    );
    assert_eq!(read.warnings.len(), 2, "{:?}", read.warnings);
}

#[test]
fn the_stronger_source_has_the_name() {
    let server = |command: &str, source| {
        let way = Way::Stdio {
            command: command.to_owned(),
            args: Vec::new(),
            env: BTreeMap::new(),
            env_pass: Vec::new(),
            cwd: None,
        };
        ServerConfig::new("s".to_owned(), source, way)
    };
    let all =
        vec![server("project", Source::Project), server("flag", Source::Flag), server("user", Source::User)];
    assert_eq!(merged(all).iter().map(ServerConfig::shown).collect::<Vec<_>>(), ["flag"]);
}

#[test]
fn whatever_is_newest() {
    let newest = |command: &str, args: &[&str]| {
        one(json!({"command": command, "args": args}), Source::User).unwrap().runs_newest()
    };
    assert!(newest("npx", &["-y", "@scope/server"]));
    assert!(!newest("npx", &["-y", "@scope/server@1.2.3"]));
    assert!(newest("npx", &["-y", "@scope/server@latest"]));
    assert!(newest("uvx", &["mcp-server-time"]));
    assert!(newest("uvx", &["mcp-server-time@latest"]));
    assert!(!newest("uvx", &["mcp-server-time==1"]));
    assert!(!newest("node", &["server.js"]));
}
