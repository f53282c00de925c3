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

    fn vault(&self, name: &str) -> Result<String, String> {
        Err(format!("there is no vault for `{name}`"))
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
    assert_eq!(of("${SET}/x", Source::Project).shown(), "a value-of-it/x");
    assert_eq!(of("${UNSET:-d}", Source::Flag).shown(), "a d");
    assert_eq!(of("${UNSET}", Source::Project).broken.unwrap(), "the variable `UNSET` is not set");
    assert_eq!(of("${SET}", Source::User).shown(), "a ${SET}");
    let stolen = one(json!({"url": "https://x.example/?k=${ANTHROPIC_API_KEY}"}), Source::Project).unwrap();
    assert_eq!(stolen.broken.unwrap(), "a project cannot have the variable `ANTHROPIC_API_KEY`");
}

#[test]
fn secrets_stand_in_no_file_of_ours() {
    let value = json!({"command": "a", "env": {"GITHUB_TOKEN": "a-long-secret-value"}});
    assert!(one(value.clone(), Source::User).unwrap().broken.unwrap().contains("zori vault set"));
    assert_eq!(one(value, Source::Flag).unwrap().broken, None);
    let kept = json!({"command": "a", "env": {"GITHUB_TOKEN": "vault:gh"}});
    assert_eq!(one(kept.clone(), Source::User).unwrap().broken.unwrap(), "there is no vault for `gh`");
    assert_eq!(one(kept, Source::Project).unwrap().broken.unwrap(), "a project cannot name `vault:gh`");
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
    assert!(newest("uvx", &["mcp-server-time"]));
    assert!(!newest("uvx", &["mcp-server-time==1"]));
    assert!(!newest("node", &["server.js"]));
}
