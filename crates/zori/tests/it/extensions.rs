//! What people and projects bring: custom commands, skills, instruction files of other agents, `import`
//! (`docs/contracts/extensions.md`).

use std::fs;
use std::path::Path;

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::mcp::scripted_server;
use zori_testkit::mcp_http::{McpAuthFault, McpHttpServer};
use zori_testkit::output::CommandOutput;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use crate::world::{with_model, world};

/// Returns all text of the last message that the model was sent.
fn last_prompt(server: &ModelServer, request: usize) -> String {
    let messages = server.request(request).messages();
    let content = &messages.last().expect("there is a prompt")["content"];
    let text = |block: &Value| block["text"].as_str().unwrap_or_default().to_owned();
    match content.as_array() {
        Some(blocks) => blocks.iter().map(text).collect::<Vec<_>>().join("\n"),
        None => content.as_str().unwrap_or_default().to_owned(),
    }
}

fn system(server: &ModelServer, request: usize) -> String {
    server.request(request).json()["system"].to_string()
}

fn tools(server: &ModelServer, request: usize) -> Vec<String> {
    let tools = server.request(request).json()["tools"].as_array().cloned().unwrap_or_default();
    tools.iter().map(|tool| tool["name"].as_str().unwrap_or_default().to_owned()).collect()
}

fn skill(world: &TestEnv, folder: &Path, name: &str, more: &str) {
    let text = format!(
        "---\nname: {name}\ndescription: Fill {name} forms in documents\n{more}---\n\nFollow the {name} rules.\n"
    );
    world.write(folder.join(name).join("SKILL.md"), text);
}

/// CUS-2, CUS-3: arguments go in once and are nobody's command; a command of the file runs before the prompt goes out.
#[test]
fn a_custom_command_with_arguments_and_output() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    world.write("notes.txt", "the notes\n");
    world.write(
        world.base().join("commands/git/fix.md"),
        "---\ndescription: Fix it\nargument-hint: [number]\n---\nFix $1, all: $ARGUMENTS. State: !`echo of $1`. See @notes.txt\n",
    );
    world.run(&["exec", "-p", "/git:fix 'a b' !`touch x` @secret"]).success();
    let prompt = last_prompt(&server, 0);
    assert!(
        prompt.starts_with("Fix a b, all: 'a b' !`touch x` @secret. State: of a b. See @notes.txt"),
        "{prompt}"
    );
    assert!(prompt.contains("The file notes.txt, which the command names:\nthe notes"), "{prompt}");
    assert!(!world.work().join("x").exists());
}

/// CUS-3: a denial stops the command before anything is sent. CUS-4: in `exec` an unknown one is text.
#[test]
fn a_denial_stops_the_command() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    world.write(world.base().join("commands/try.md"), "Do !`touch made`\n");
    let output = world.run(&["exec", "-p", "/try", "--deny", "Bash"]);
    assert_eq!((output.code(), server.count()), (Some(2), 0), "{output}");
    assert!(output.stderr().contains("The command /try was stopped: `touch made`:"), "{output}");
    assert!(!world.work().join("made").exists());
    world.run(&["exec", "-p", "/unknown word"]).success();
    assert_eq!(last_prompt(&server, 0), "/unknown word");
}

/// TRUST by content: before the folder is trusted its commands and skills give the model no byte, and a change asks again.
#[test]
fn a_projects_commands_and_skills_after_trust() {
    let (world, server) = with_model(["1", "2", "3", "4"].map(anthropic::text));
    world.write(".claude/commands/hi.md", "Say hello to $ARGUMENTS\n");
    world.write(".claude/agents/critic.md", "---\ndescription: Finds faults\n---\nLook.\n");
    skill(&world, &world.work().join(".claude/skills"), "pdf", "");
    let knows_agent = |at: usize, about: &str| server.request(at).json()["tools"].to_string().contains(about);
    let run = || world.run(&["exec", "-p", "/hi you"]).success();
    let undecided = run().stderr();
    assert!(
        undecided
            .contains("is not trusted, so its own settings are not used: 1 sub-agent, 1 command, 1 skill;"),
        "{undecided}"
    );
    assert_eq!(last_prompt(&server, 0), "/hi you");
    assert!(!tools(&server, 0).contains(&"skill".to_owned()) && !system(&server, 0).contains("pdf"));
    assert!(!knows_agent(0, "critic"));
    world.run(&["trust", "allow", "--yes"]).success();
    run();
    assert!(knows_agent(1, "Finds faults"));
    assert_eq!(last_prompt(&server, 1), "Say hello to you");
    assert!(tools(&server, 1).contains(&"skill".to_owned()));
    assert!(system(&server, 1).contains("- pdf: Fill pdf forms in documents"), "{}", system(&server, 1));
    world.write(".claude/commands/hi.md", "Say goodbye to $ARGUMENTS\n");
    world.write(".claude/skills/pdf/run.sh", "true\n");
    world.write(".claude/agents/critic.md", "---\ndescription: Sends mails\n---\nLook.\n");
    let changed = run().stderr();
    assert!(changed.contains("1 sub-agent of this folder changed since it was trusted"), "{changed}");
    assert!(!knows_agent(2, "critic"));
    assert!(changed.contains("1 command of this folder changed since it was trusted"), "{changed}");
    assert!(changed.contains("1 skill of this folder changed since it was trusted"), "{changed}");
    assert_eq!(last_prompt(&server, 2), "/hi you");
    world.run(&["exec", "-p", "/hi you", "--trust-workspace"]).success();
    assert_eq!(last_prompt(&server, 3), "Say goodbye to you");
    assert!(knows_agent(3, "Sends mails"));
}

/// DECISIONS 64: nothing configured, no byte.
#[test]
fn nothing_brought_costs_nothing() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    world.run(&["exec", "-p", "hi"]).success();
    assert!(!tools(&server, 0).contains(&"skill".to_owned()) && !system(&server, 0).contains("kills"));
}

/// SK-5, SK-6: a prompt that means a skill carries it, once; the model loads others, and a person calls one by its name.
#[test]
fn skills_by_meaning_by_tool_and_by_name() {
    let (world, server) = with_model([
        anthropic::tool_use("t1", "skill", json!({"name": "sql", "file": "tips.txt"})),
        anthropic::text("1"),
        anthropic::text("2"),
        anthropic::text("3"),
    ]);
    let folder = world.base().join("skills");
    skill(&world, &folder, "pdf", "");
    skill(&world, &folder, "sql", "");
    world.write(folder.join("sql/tips.txt"), "use an index\n");
    let session = ["exec", "--session", "s", "-p"];
    world.run(&[&session[..], &["Fill the pdf forms"]].concat()).success();
    assert!(
        last_prompt(&server, 0).contains("[skill pdf]\nFollow the pdf rules."),
        "{}",
        last_prompt(&server, 0)
    );
    assert!(
        server.request(1).conversation().contains("use an index"),
        "{}",
        server.request(1).conversation()
    );
    world.run(&["exec", "-p", "/sql make it fast"]).success();
    let called = last_prompt(&server, 2);
    assert!(called.starts_with("Use the skill `sql`: make it fast"), "{called}");
    assert!(called.contains("Follow the sql rules."), "{called}");
    world.write(world.base().join("config.toml"), "[skills]\ninject = 0\n");
    world.run(&["exec", "-p", "Fill the pdf forms"]).success();
    assert_eq!(last_prompt(&server, 3), "Fill the pdf forms");
}

/// SK-8: they work under `--bare`, but for one that needs the index, which says the way out.
#[test]
fn skills_under_bare() {
    let (world, server) = with_model([
        anthropic::tool_use("t1", "skill", json!({"name": "indexed"})),
        anthropic::tool_use("t2", "skill", json!({"name": "pdf"})),
        anthropic::text("Done."),
    ]);
    let folder = world.base().join("skills");
    skill(&world, &folder, "indexed", "x-requires: [code-index]\n");
    skill(&world, &folder, "pdf", "");
    world.run(&["exec", "--bare", "-p", "hi"]).success();
    let talk = server.request(2).conversation();
    assert!(
        talk.contains("requires code-index, which `--bare` leaves out; the user has to run without `--bare`"),
        "{talk}"
    );
    assert!(talk.contains("Follow the pdf rules."), "{talk}");
}

/// SK-9: the program's own skills are called by their slash; until then no request has a byte of them.
#[test]
fn skills_that_come_with_the_program() {
    let (world, server) = with_model([anthropic::text("1"), anthropic::text("2")]);
    world.run(&["exec", "-p", "/zori-setup for Rust"]).success();
    let called = last_prompt(&server, 0);
    assert!(called.starts_with("Use the skill `zori-setup`: for Rust"), "{called}");
    assert!(called.contains("[skill zori-setup]\nHelp the user to set zori up"), "{called}");
    assert!(!tools(&server, 0).contains(&"skill".to_owned()) && !system(&server, 0).contains("zori-setup"));
    // One of the user's of that name counts instead.
    skill(&world, &world.base().join("skills"), "zori-setup", "");
    world.run(&["exec", "-p", "/skill zori-setup"]).success();
    assert!(last_prompt(&server, 1).contains("Follow the zori-setup rules."), "{}", last_prompt(&server, 1));
    let shown = world.run(&["skills", "show", "skill-creator"]).success().stdout();
    assert!(shown.starts_with("Help the user to write a skill"), "{shown}");
}

/// FR-011: `--bare` loads a project's skills, the vault and MCP servers.
#[test]
fn fr_011_skills_vault_and_servers_under_bare() {
    const KEY: &str = "vault-value-0123456789";
    let server = ModelServer::strict([
        anthropic::tool_use("t1", "mcp__s__add", json!({"a": 1, "b": 2})),
        anthropic::text("Three."),
    ]);
    let mut world = world();
    world.use_server(&server).remove_var("ANTHROPIC_API_KEY");
    world.run(&["vault", "init"]).success();
    world.run_with_stdin(&["vault", "set", "MY_KEY"], format!("{KEY}\n")).success();
    let script = scripted_server(&world);
    let servers = format!("[mcp.servers.s]\ncommand = \"sh\"\nargs = [{script:?}]\n");
    world.write(world.base().join("config.toml"), format!("api_key = \"vault:MY_KEY\"\n{servers}"));
    skill(&world, &world.work().join(".zori/skills"), "pdf", "");
    world.run(&["trust", "allow", "--yes"]).success();
    let output = world.run_with_stdin(&["--bare", "--json", "-y"], "/skills\nAdd one and two\n").success();
    assert_eq!(server.request(0).header("x-api-key"), Some(KEY));
    let told = server.request(1).messages().pop().expect("messages")["content"][0]["content"].clone();
    assert_eq!(told, "3");
    assert!(output.stdout().contains("pdf               Fill pdf forms in documents   project"), "{output}");
    assert!(!output.to_string().contains(KEY), "{output}");
}

#[test]
fn the_commands_about_skills() {
    let world = world();
    let folder = world.base().join("skills");
    skill(&world, &folder, "pdf", "");
    skill(&world, &world.work().join(".agents/skills"), "sql", "");
    world.write(folder.join("broken/SKILL.md"), "nothing");
    insta::assert_snapshot!(world.run(&["skills", "list"]), @"
    sql (not approved: `zori skills trust`): Fill sql forms in documents
    pdf: Fill pdf forms in documents
    skill-creator (built-in, by its slash only): Write a skill, or mend one
    zori-setup (built-in, by its slash only): Set zori up for this folder: instructions, rules, servers, what other agents left
    ------- stderr -------
    Warning: $BASE/skills/broken/SKILL.md has no front matter: its first line must be `---`; it is no skill
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["skills", "show", "pdf"]), @"
    Follow the pdf rules.
    [exit status: 0]
    ");
    assert_eq!(world.run(&["skills", "show", "nothing"]).code(), Some(5));
    insta::assert_snapshot!(world.run(&["skills", "trust", "sql", "--yes"]), @"
    Approved the skill sql
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["skills", "list"]), @"
    sql: Fill sql forms in documents
    pdf: Fill pdf forms in documents
    skill-creator (built-in, by its slash only): Write a skill, or mend one
    zori-setup (built-in, by its slash only): Set zori up for this folder: instructions, rules, servers, what other agents left
    ------- stderr -------
    Warning: $BASE/skills/broken/SKILL.md has no front matter: its first line must be `---`; it is no skill
    [exit status: 0]
    ");
    let base = folder.to_str().expect("our paths are text").to_owned();
    insta::assert_snapshot!(world.run(&["skills", "validate", &format!("{base}/pdf")]), @"
    $BASE/skills/pdf/SKILL.md: fine
    [exit status: 0]
    ");
    let broken = world.run(&["skills", "validate", &base]);
    assert_eq!(broken.code(), Some(2), "{broken}");
    assert!(broken.stderr().contains("broken/SKILL.md has no front matter"), "{broken}");
}

/// EXT-10: where AGENTS.md is missing, what other agents call it.
#[test]
fn instructions_of_other_agents() {
    let (world, server) = with_model(["1", "2"].map(anthropic::text));
    world.write("CLAUDE.md", "The rules, and @docs/more.md\n");
    world.write("docs/more.md", "more of them");
    world.write("GEMINI.md", "not read");
    world.run(&["exec", "-p", "hi"]).success();
    assert!(system(&server, 0).contains("The rules, and more of them"), "{}", system(&server, 0));
    assert!(!system(&server, 0).contains("not read"));
    world.write("AGENTS.md", "Only these");
    world.run(&["exec", "-p", "hi"]).success();
    assert!(system(&server, 1).contains("Only these") && !system(&server, 1).contains("The rules"));
}

/// CUS-3: `allowed-tools` narrows the turn of a command, its own commands included, and nothing after it.
#[test]
fn allowed_tools_narrow_a_command() {
    let bash =
        |id: &str, command: &str| Reply::from(anthropic::tool_use(id, "bash", json!({"command": command})));
    let (world, model) = with_model([
        bash("t1", "touch made"),
        bash("t2", "mkdir made-by-rule"),
        anthropic::text("Done.").into(),
    ]);
    world.write(world.base().join("commands/fix.md"), "---\nallowed-tools: Bash(mkdir:*)\n---\nFix it.\n");
    world.write(world.base().join("commands/own.md"), "---\nallowed-tools: Read\n---\nSee !`touch own`.\n");
    let run = |prompt: &str| world.run(&["exec", "-p", prompt, "--no-save", "--sandbox", "off"]);
    run("/fix").success();
    let result = |at: usize| model.request(at).messages().pop().expect("messages")["content"][0].to_string();
    insta::assert_snapshot!(result(1), @r#"{"type":"tool_result","tool_use_id":"t1","content":"error permission_denied: the command /fix allows `Bash(mkdir:*)` and what only looks, and this is XF. Do what it allows, or say what else it would take.","is_error":true,"cache_control":{"type":"ephemeral"}}"#);
    assert!(!world.work().join("made").exists() && world.work().join("made-by-rule").exists());
    insta::assert_snapshot!(run("/own"), @"
    ------- stderr -------
      [1] denied: the command /own allows `Read` and what only looks, and this is XF
    Error: The command /own was stopped: `touch own`: the command /own allows `Read` and what only looks, and this is XF. Do what it allows, or say what else it would take.
    [exit status: 2]
    ");
    assert!(!world.work().join("own").exists());
}

/// Homes of all six agents, with a secret in each (EXT-33).
fn six_homes(world: &TestEnv) {
    let home = world.home();
    let write = |path: &str, text: &str| {
        world.write(home.join(path), text);
    };
    write(
        ".claude.json",
        r#"{"mcpServers": {
            "git hub": {"command": "no/such/npx", "args": ["-y", "server"], "env": {"GITHUB_TOKEN": "planted-secret-1"}},
            "plain": {"type": "http", "url": "https://mcp.example/mcp"},
            "argv": {"command": "x", "args": ["--api-key=planted-secret-2"]}}}"#,
    );
    write(".claude/CLAUDE.md", "mine");
    write(".claude/commands/a.md", "A");
    write(".claude/agents/reviewer.md", "---\nname: reviewer\ndescription: Reviews\n---\nReview.\n");
    write(".claude/skills/pdf/SKILL.md", "---\ndescription: d\n---\nB\n");
    write(
        ".claude/settings.json",
        r#"{"permissions":{"allow":["Bash(ls)"],"deny":["Read(.env)", "Bsh(rm)"]},"hooks":{},"env":{"KEY":"planted-secret-3"}}"#,
    );
    write(
        ".codex/config.toml",
        "approval_policy = \"never\"\n[mcp_servers.docs]\nurl = \"https://docs.example\"\nbearer_token_env_var = \"DOCS\"\n\
         [mcp_servers.docs.http_headers]\nX-Key = \"planted-secret-4\"\n\
         [mcp_servers.docs.env_http_headers]\nX-Team = \"TEAM\"\n",
    );
    write(
        ".gemini/settings.json",
        r#"{"autoAccept":true,"mcpServers":{"old":{"url":"https://old.example/sse","trust":true,"headers":{"X-Api-Key":"planted-secret-5"}}}} // mine"#,
    );
    write(
        ".config/opencode/opencode.jsonc",
        r#"{ // local ones
            "mcp": {"local": {"type": "local", "command": ["sh", "server.sh"], "environment": {"A_TOKEN": "planted-secret-6", "B": "{env:B}"}},
                "gone": {"type": "remote", "url": "https://gone.example/{env:X}"},}}"#,
    );
    write(
        ".cursor/mcp.json",
        r#"{"mcpServers": {"cursor": {"command": "${userHome}/bin/x", "env": {"PASSWORD": "planted-secret-7", "C": "${env:C}"}}}}"#,
    );
    write(
        ".config/Code/User/mcp.json",
        r#"{"inputs": [{"type": "promptString", "id": "api-key", "password": true}],
            "servers": {"code": {"type": "http", "url": "https://code.example/mcp", "headers": {"Authorization": "Bearer ${input:api-key}", "X-Token": "planted-secret-8"}}}}"#,
    );
}

/// Returns the config file, with paths of this test rewritten.
fn config(world: &TestEnv) -> String {
    world.rewrite().apply(&world.read(world.base().join("config.toml")))
}

/// Nothing of what was planted is in a file of ours or in an output.
fn nothing_planted(world: &TestEnv, output: &CommandOutput) {
    assert!(!output.to_string().contains("planted"), "{output}");
    for entry in fs::read_dir(world.base()).expect("it is there").flatten() {
        if entry.path().is_file() {
            let text = String::from_utf8_lossy(&fs::read(entry.path()).expect("a file of ours")).into_owned();
            assert!(!text.contains("planted-secret"), "{:?}", entry.file_name());
        }
    }
}

/// EXT-31 to EXT-33: six homes, nothing secret copied but into the vault, nothing trusted, nothing twice.
#[test]
fn what_other_agents_left() {
    let world = world();
    six_homes(&world);
    let dry = world.run(&["import", "--dry-run"]).success();
    insta::assert_snapshot!(dry, @"
    MCP servers, none of them trusted:
      git_hub: no/such/npx -y server  ($HOME/.claude.json)
        env: GITHUB_TOKEN
        it runs whatever is newest: no version is named
        a secret stands there, which belongs into the vault: mcp.git_hub.GITHUB_TOKEN
        missing: the program `no/such/npx`
      plain: https://mcp.example/mcp  ($HOME/.claude.json)
      docs: https://docs.example  ($HOME/.codex/config.toml)
        headers: X-Key, X-Team, Authorization
        a secret stands there, which belongs into the vault: mcp.docs.X-Key
        missing: the variable TEAM, or `zori vault set TEAM`
        missing: the variable DOCS, or `zori vault set DOCS`
      old: https://old.example/sse  ($HOME/.gemini/settings.json)
        headers: X-Api-Key
        a secret stands there, which belongs into the vault: mcp.old.X-Api-Key
      local: sh server.sh  ($HOME/.config/opencode/opencode.jsonc)
        env: A_TOKEN, B
        a secret stands there, which belongs into the vault: mcp.local.A_TOKEN
        missing: the variable B, or `zori vault set B`
      cursor: $HOME/bin/x  ($HOME/.cursor/mcp.json)
        env: PASSWORD, C
        a secret stands there, which belongs into the vault: mcp.cursor.PASSWORD
        missing: the program `$HOME/bin/x`
        missing: the variable C, or `zori vault set C`
      code: https://code.example/mcp  ($HOME/.config/Code/User/mcp.json)
        headers: Authorization, X-Token
        a secret stands there, which belongs into the vault: mcp.code.X-Token
        missing: `zori vault set api-key`
    Read where they are, and not copied:
      skills: ~/.claude/skills
      commands: ~/.claude/commands
      agents: ~/.claude/agents
      instructions: ~/.claude/CLAUDE.md
    Rules:
      deny Read(.env)
    Rules that let something run, each asked about by itself:
      allow Bash(ls)
    Note: MCP server argv of claude is left out: there is a secret in its command line; give it by a variable
    Note: `hooks` of claude is left out: it is never taken over
    Note: `env` of claude is left out: it is never taken over
    Note: `approval_policy` of codex is left out: it is never taken over
    Note: `mcpServers.old.trust` of gemini is left out: it is never taken over
    Note: `autoAccept` of gemini is left out: it is never taken over
    Note: MCP server gone of opencode is left out: its address has variables in it; write them out
    Note: a rule is left out: permissions.deny: rule `Bsh(rm)`: there is no tool `Bsh`; did you mean `Bash`?
    [exit status: 0]
    ");
    assert!(!world.base().exists(), "a dry run writes nothing");
    insta::assert_snapshot!(world.run(&["import", "--only", "rules"]), @"
    ------- stderr -------
    Error: `import` has to be confirmed, and nobody agreed
    Hint: add `--yes`, or look first with `--dry-run`
    [exit status: 2]
    ");
    assert!(!world.base().join("config.toml").exists());
    world.run(&["vault", "init"]).success();
    let output = world.run(&["import", "--store-secrets", "--yes"]).success();
    insta::assert_snapshot!(output, @"
    Imported MCP server git_hub from $HOME/.claude.json, with a secret that belongs into the vault
    Imported MCP server plain from $HOME/.claude.json
    Imported MCP server docs from $HOME/.codex/config.toml, with a secret that belongs into the vault
    Imported MCP server old from $HOME/.gemini/settings.json, with a secret that belongs into the vault
    Imported MCP server local from $HOME/.config/opencode/opencode.jsonc, with a secret that belongs into the vault
    Imported MCP server cursor from $HOME/.cursor/mcp.json, with a secret that belongs into the vault
    Imported MCP server code from $HOME/.config/Code/User/mcp.json, with a secret that belongs into the vault
    Imported skills.paths += ~/.claude/skills
    Imported commands.paths += ~/.claude/commands
    Imported agents.paths += ~/.claude/agents
    Imported instructions.user_files += ~/.claude/CLAUDE.md
    Imported permissions.deny += Read(.env)
    Note: MCP server argv of claude is left out: there is a secret in its command line; give it by a variable
    Note: `hooks` of claude is left out: it is never taken over
    Note: `env` of claude is left out: it is never taken over
    Note: `approval_policy` of codex is left out: it is never taken over
    Note: `mcpServers.old.trust` of gemini is left out: it is never taken over
    Note: `autoAccept` of gemini is left out: it is never taken over
    Note: MCP server gone of opencode is left out: its address has variables in it; write them out
    Note: a rule is left out: permissions.deny: rule `Bsh(rm)`: there is no tool `Bsh`; did you mean `Bash`?
    Note: rules that let something run are left out (1): on a terminal, `zori import` asks about each
    [exit status: 0]
    ");
    insta::assert_snapshot!(config(&world), @r#"
    [mcp.servers.git_hub]
    command = "no/such/npx"
    args = ["-y", "server"]
    env = { "GITHUB_TOKEN" = "vault:mcp.git_hub.GITHUB_TOKEN" }

    [mcp.servers.plain]
    url = "https://mcp.example/mcp"

    [mcp.servers.docs]
    url = "https://docs.example"
    headers = { "X-Key" = "vault:mcp.docs.X-Key", "X-Team" = "${vault:TEAM}", "Authorization" = "Bearer ${vault:DOCS}" }

    [mcp.servers.old]
    url = "https://old.example/sse"
    transport = "sse"
    headers = { "X-Api-Key" = "vault:mcp.old.X-Api-Key" }

    [mcp.servers.local]
    command = "sh"
    args = ["server.sh"]
    env = { "A_TOKEN" = "vault:mcp.local.A_TOKEN", "B" = "${vault:B}" }

    [mcp.servers.cursor]
    command = "$HOME/bin/x"
    env = { "PASSWORD" = "vault:mcp.cursor.PASSWORD", "C" = "${vault:C}" }

    [mcp.servers.code]
    url = "https://code.example/mcp"
    headers = { "Authorization" = "Bearer ${vault:api-key}", "X-Token" = "vault:mcp.code.X-Token" }

    [skills]
    paths = ["~/.claude/skills"]

    [commands]
    paths = ["~/.claude/commands"]

    [agents]
    paths = ["~/.claude/agents"]

    [instructions]
    user_files = ["~/.claude/CLAUDE.md"]

    [permissions]
    deny = ["Read(.env)"]
    "#);
    nothing_planted(&world, &dry);
    nothing_planted(&world, &output);
    let github = world.run(&["vault", "get", "mcp.git_hub.GITHUB_TOKEN", "--reveal"]).success().stdout();
    assert_eq!(github, "planted-secret-1\n");
    let again = world.run(&["import", "--yes"]).success().stdout();
    assert!(again.ends_with("There is nothing to import.\n"), "{again}");
    // What stands in the vault is nobody's to overwrite, and no chat speaks of what was taken over.
    world.run(&["mcp", "remove", "git_hub"]).success();
    world.run_with_stdin(&["vault", "set", "mcp.git_hub.GITHUB_TOKEN", "--force"], "of-my-own\n").success();
    let kept = world.run(&["import", "--store-secrets", "--yes", "--only", "servers"]).success().stdout();
    let said = "Note: the vault has mcp.git_hub.GITHUB_TOKEN already, which stays as it is\n";
    assert!(kept.contains(said), "{kept}");
    let github = world.run(&["vault", "get", "mcp.git_hub.GITHUB_TOKEN", "--reveal"]).success().stdout();
    assert_eq!((github.as_str(), world.base().join("import-told").exists()), ("of-my-own\n", true));
}

/// EXT-33: where instructions of servers tell people to put keys. What can be kept goes into the vault; what others would see is left behind, and
/// no value is copied or printed.
#[test]
fn secrets_wherever_people_put_them() {
    let world = world();
    let write = |path: &str, value: Value| {
        world.write(world.home().join(path), value.to_string());
    };
    let pasted = [
        json!(["--api-key", "planted-secret-1"]),
        json!(["postgresql://me:planted-secret-2@localhost/db"]),
        json!(["https://x.example/sse", "--header", "Authorization: Bearer planted-secret-3"]),
        json!(["run", "-e", "GITLAB_TOKEN=planted-secret-4", "image"]),
        json!(["--config", r#"{"apiKey":"planted-secret-5"}"#]),
    ];
    let mut servers: serde_json::Map<String, Value> = (1..)
        .zip(pasted)
        .map(|(n, args)| (format!("args{n}"), json!({"command": "sh", "args": args})))
        .collect();
    let kept = json!({"DATABASE_URL": "postgres://me:planted-secret-6@localhost/db", "ADO_PAT": "abc123planted-secret-7",
        "HEADERS": r#"{"Authorization": "Bearer planted-secret-8"}"#, "PORT": 3000});
    servers.insert("kept".into(), json!({"command": "sh", "env": kept, "cwd": "/srv"}));
    servers.insert("path".into(), json!({"url": "https://x.example/fc-0123456789planted-secret-9/mcp"}));
    servers.insert(
        "login".into(),
        json!({"url": "https://x.example/mcp", "disabled": true,
        "oauth": {"clientId": "me", "clientSecret": "planted-secret-10", "callbackPort": 8123}}),
    );
    write(".claude.json", json!({"mcpServers": servers}));
    let rules = json!([
        "Bash(curl -H \"Authorization: Bearer planted-secret-11\" https://x.example)",
        "Bash(API_KEY=planted-secret-12 make:*)",
        "Bash(ls)"
    ]);
    write(".claude/settings.json", json!({"permissions": {"allow": rules, "deny": rules}}));
    write(
        ".gemini/settings.json",
        json!({"mcp": {"excluded": ["off"]}, "mcpServers": {
        "named": {"httpUrl": "https://x.example", "headers": {"Authorization": "Bearer $GEMINI_TOKEN"}},
        "named-args": {"command": "sh", "args": ["--token", "$GEMINI_TOKEN"]},
        "off": {"command": "sh"}}}),
    );
    let dry = world.run(&["import", "--dry-run"]).success();
    insta::assert_snapshot!(dry, @"
    MCP servers, none of them trusted:
      kept: sh  ($HOME/.claude.json)
        runs in /srv
        env: DATABASE_URL, ADO_PAT, HEADERS, PORT
        a secret stands there, which belongs into the vault: mcp.kept.DATABASE_URL
        a secret stands there, which belongs into the vault: mcp.kept.ADO_PAT
        a secret stands there, which belongs into the vault: mcp.kept.HEADERS
      login: https://x.example/mcp  ($HOME/.claude.json)
        it is switched off there, and stays so
        a secret stands there, which belongs into the vault: mcp.login.client_secret
      named: https://x.example  ($HOME/.gemini/settings.json)
        headers: Authorization
        missing: the variable GEMINI_TOKEN, or `zori vault set GEMINI_TOKEN`
      off: sh  ($HOME/.gemini/settings.json)
        it is switched off there, and stays so
    Rules:
      deny Bash(ls)
    Rules that let something run, each asked about by itself:
      allow Bash(ls)
    Note: MCP server args1 of claude is left out: there is a secret in its command line; give it by a variable
    Note: MCP server args2 of claude is left out: there is a secret in its command line; give it by a variable
    Note: MCP server args3 of claude is left out: there is a secret in its command line; give it by a variable
    Note: MCP server args4 of claude is left out: there is a secret in its command line; give it by a variable
    Note: MCP server args5 of claude is left out: there is a secret in its command line; give it by a variable
    Note: MCP server path of claude is left out: a long part of its address may be a secret; if it is none, `mcp add` adds it
    Note: rules of claude are left out that have a secret in them (4)
    Note: MCP server named-args of gemini is left out: its command line has variables in it; write them out
    [exit status: 0]
    ");
    world.run(&["vault", "init"]).success();
    let output = world.run(&["import", "--store-secrets", "--yes"]).success();
    insta::assert_snapshot!(config(&world), @r#"
    [mcp.servers.kept]
    command = "sh"
    cwd = "/srv"
    env = { "DATABASE_URL" = "vault:mcp.kept.DATABASE_URL", "ADO_PAT" = "vault:mcp.kept.ADO_PAT", "HEADERS" = "vault:mcp.kept.HEADERS", "PORT" = "3000" }

    [mcp.servers.login]
    url = "https://x.example/mcp"
    oauth = { "client_id" = "me", "client_secret" = "vault:mcp.login.client_secret", "callback_port" = 8123 }
    enabled = false

    [mcp.servers.named]
    url = "https://x.example"
    headers = { "Authorization" = "Bearer ${vault:GEMINI_TOKEN}" }

    [mcp.servers.off]
    command = "sh"
    enabled = false

    [permissions]
    deny = ["Bash(ls)"]
    "#);
    [dry, output].iter().for_each(|output| nothing_planted(&world, output));
    let entry = |name: &str| world.run(&["vault", "get", name, "--reveal"]).success().stdout();
    assert_eq!(entry("mcp.kept.DATABASE_URL"), "postgres://me:planted-secret-6@localhost/db\n");
    assert_eq!(entry("mcp.login.client_secret"), "planted-secret-10\n");
}

/// EXT-31: what cannot work is left out, with the reason, and costs nothing else.
#[test]
fn entries_that_cannot_be() {
    let world = world();
    let servers = json!({"mcpServers": {"": {"command": "sh"}, "args": {"command": "sh", "args": "--all"}, "env": {"command": "sh", "env": {"A": {}}},
        "far": {"url": "http://x.example/mcp"}, "socket": {"type": "ws", "url": "wss://x.example"}, "both": {"command": "sh", "url": "https://x.example"},
        "number": 5, "helper": {"url": "https://x.example", "headersHelper": "./token"}, "mine": {"command": "theirs"}}});
    world.write(world.home().join(".claude.json"), servers.to_string());
    world.write(world.home().join(".codex/config.toml"), "mcp_servers = 5\n");
    world.write(world.base().join("config.toml"), "[mcp.servers.mine]\ncommand = \"mine\"\n");
    insta::assert_snapshot!(world.run(&["import", "--yes"]), @"
    Imported MCP server _ from $HOME/.claude.json
    Note: MCP server args of claude is left out: its `args` are no list of texts
    Note: MCP server env of claude is left out: `A` in its `env` is no text
    Note: MCP server far of claude is left out: `http://x.example/mcp` is neither HTTPS nor on this machine
    Note: MCP server socket of claude is left out: `wss://x.example` is neither HTTPS nor on this machine
    Note: MCP server both of claude is left out: it has both a command and an address
    Note: MCP server number of claude is left out: it has neither a command nor an address
    Note: MCP server helper of claude is left out: its headers come from a program (`headersHelper`), which is never run
    Note: MCP server mine from $HOME/.claude.json is left out: the config has one of that name
    [exit status: 0]
    ");
    insta::assert_snapshot!(config(&world), @r#"
    [mcp.servers.mine]
    command = "mine"

    [mcp.servers._]
    command = "sh"
    "#);
}

/// EXT-30: what lies in `~/.claude` is read after an import and not before, also of a folder in the home directory.
#[test]
fn nothing_of_other_agents_before_an_import() {
    let (world, model) = with_model([anthropic::text("1"), anthropic::text("2")]);
    world.write(world.home().join(".claude/CLAUDE.md"), "Always greet first.\n");
    world.write(world.home().join("project/CLAUDE.md"), "Of the project.\n");
    let folder = world.home().join("project");
    let run =
        || world.run(&["exec", "-p", "hi", "--no-save", "--root", folder.to_str().expect("text")]).success();
    run();
    assert!(system(&model, 0).contains("Of the project.") && !system(&model, 0).contains("greet"));
    world.run(&["import", "--yes"]).success();
    run();
    assert!(system(&model, 1).contains("Always greet first."), "{}", system(&model, 1));
}

/// What a user of Claude Code has: a server, a skill, a command, a sub-agent, rules and instructions.
fn claude_home(world: &TestEnv, env: &Value) {
    let home = world.home();
    let script = scripted_server(world);
    let servers = json!({"mcpServers": {"sums": {"command": "sh", "args": [script], "env": env}}});
    world.write(home.join(".claude.json"), servers.to_string());
    world.write(home.join(".claude/CLAUDE.md"), "Always greet first.\n");
    world.write(home.join(".claude/commands/fix.md"), "Fix issue $1.\n");
    world.write(
        home.join(".claude/agents/reviewer.md"),
        "---\nname: reviewer\ndescription: Reviews\n---\nReview.\n",
    );
    skill(world, &home.join(".claude/skills"), "pdf", "");
    let rules = json!({"permissions": {"deny": ["Bash(curl:*)"], "ask": ["Bash(git push:*)"], "defaultMode": "bypassPermissions"},
        "enableAllProjectMcpServers": true});
    world.write(home.join(".claude/settings.json"), rules.to_string());
}

/// "Done means" of issue 22: three questions, and everything works; nothing else was taken over.
#[test]
fn a_user_of_claude_code_moves_in() {
    let call = |id: &str, name: &str, input: Value| Reply::from(anthropic::tool_use(id, name, input));
    let (world, model) = with_model([
        call("t1", "mcp__sums__add", json!({"a": 1, "b": 2})),
        call("t2", "bash", json!({"command": "curl https://example.com"})),
        anthropic::text("Done.").into(),
    ]);
    claude_home(&world, &json!({}));
    let mut pty = world.pty(&["import"], Size { rows: 50, cols: 160 });
    pty.wait_for("Add 1 MCP server? [y/N] ").send("y\r");
    pty.wait_for("Use these 4? [y/N] ").send("y\r");
    pty.wait_for("Add 2 rules? [y/N] ").send("y\r");
    let (status, drawn) = pty.finish();
    assert!(status.success(), "{drawn}");
    insta::assert_snapshot!(drawn.replace('\r', ""), @"
    MCP servers, none of them trusted:
      sums: sh $TMP/server.sh  ($HOME/.claude.json)
    Add 1 MCP server? [y/N] y
    Read where they are, and not copied:
      skills: ~/.claude/skills
      commands: ~/.claude/commands
      agents: ~/.claude/agents
      instructions: ~/.claude/CLAUDE.md
    Use these 4? [y/N] y
    Rules:
      deny Bash(curl:*)
      ask Bash(git push:*)
    Add 2 rules? [y/N] y
    Imported MCP server sums from $HOME/.claude.json
    Imported skills.paths += ~/.claude/skills
    Imported commands.paths += ~/.claude/commands
    Imported agents.paths += ~/.claude/agents
    Imported instructions.user_files += ~/.claude/CLAUDE.md
    Imported permissions.deny += Bash(curl:*)
    Imported permissions.ask += Bash(git push:*)
    Note: `permissions.defaultMode` of claude is left out: it is never taken over
    Note: `enableAllProjectMcpServers` of claude is left out: it is never taken over
    ");
    insta::assert_snapshot!(config(&world), @r#"
    [mcp.servers.sums]
    command = "sh"
    args = ["$TMP/server.sh"]

    [skills]
    paths = ["~/.claude/skills"]

    [commands]
    paths = ["~/.claude/commands"]

    [agents]
    paths = ["~/.claude/agents"]

    [instructions]
    user_files = ["~/.claude/CLAUDE.md"]

    [permissions]
    ask = ["Bash(git push:*)"]
    deny = ["Bash(curl:*)"]
    "#);
    world.run(&["exec", "-p", "/fix 42", "--no-save", "--permission-mode", "yolo"]).success();
    assert_eq!(last_prompt(&model, 0), "Fix issue 42.");
    let system = system(&model, 0);
    assert!(system.contains("Always greet first.") && system.contains("Fill pdf forms"), "{system}");
    let result = |at: usize| model.request(at).messages().pop().expect("messages")["content"][0].to_string();
    insta::assert_snapshot!(world.rewrite().apply(&[result(1), result(2)].join("\n")), @r#"
    {"type":"tool_result","tool_use_id":"t1","content":"3","cache_control":{"type":"ephemeral"}}
    {"type":"tool_result","tool_use_id":"t2","content":"error permission_denied: the rule `Bash(curl:*)` ($BASE/config.toml:19) denies curl https://example.com","is_error":true,"cache_control":{"type":"ephemeral"}}
    "#);
    assert!(model.request(0).json()["tools"].to_string().contains("reviewer"), "the sub-agent is known");
    assert_eq!(
        world.run(&["mcp", "list"]).success().stdout(),
        "sums  user  sh $TMP/server.sh  not checked\n"
    );
}

/// VLT-2: tokens that other agents keep in a file or name by a variable reach their servers after an import, and nothing else does.
#[test]
fn tokens_of_imported_servers() {
    let (mut world, server) = (world(), McpHttpServer::start(McpAuthFault::None, 3600));
    server.open_to_all();
    world.set_var("DOCS_TOKEN", "variable-of-docs");
    let (home, url) = (world.home(), server.url());
    let claude = json!({"mcpServers": {
        "kept": {"type": "http", "url": url, "headers": {"Authorization": "Bearer planted-secret-1"}},
        "named": {"type": "http", "url": url, "headers": {"Authorization": "Token ${DOCS_TOKEN}"}}}});
    world.write(home.join(".claude.json"), claude.to_string());
    world.write(
        home.join(".codex/config.toml"),
        format!("[mcp_servers.docs]\nurl = \"{url}\"\nbearer_token_env_var = \"DOCS_TOKEN\"\n"),
    );
    world.run(&["vault", "init"]).success();
    world.run(&["import", "--store-secrets", "--yes"]).success();
    let listed = world.run(&["mcp", "list", "--check"]).success();
    nothing_planted(&world, &listed);
    assert_eq!(listed.stdout().matches("connected, 1 tool").count(), 3, "{listed}");
    assert_eq!(
        server.authorizations(),
        ["Bearer planted-secret-1", "Bearer variable-of-docs", "Token variable-of-docs"]
    );
    // What is missing is named, and nobody is sent the reference.
    world.remove_var("DOCS_TOKEN");
    insta::assert_snapshot!(world.run(&["mcp", "list"]), @"
    docs  user  http://127.0.0.1:$PORT/mcp  failed: no secret `DOCS_TOKEN` is in the environment, the credential store or the vault
    kept  user  http://127.0.0.1:$PORT/mcp  not checked
    named  user  http://127.0.0.1:$PORT/mcp  failed: no secret `DOCS_TOKEN` is in the environment, the credential store or the vault
    [exit status: 0]
    ");
}

/// EXT-32, EXT-33: secrets and rules that let something run have questions of their own, and a no to all changes nothing.
#[test]
fn what_is_asked_by_itself() {
    let world = world();
    claude_home(&world, &json!({"LICENCE_TOKEN": "planted-secret-9"}));
    let rules = json!({"permissions": {"allow": ["Bash(ls:*)", "Bash(make test)"]}});
    world.write(world.home().join(".claude/settings.json"), rules.to_string());
    let size = Size { rows: 50, cols: 160 };
    let mut pty = world.pty(&["import"], size);
    pty.wait_for("Add 1 MCP server? [y/N] ").send("\r");
    pty.wait_for("Use these 4? [y/N] ").send("n\r");
    pty.wait_for("Let `Bash(ls:*)` run without a question? [y/N] ").send("\r");
    pty.wait_for("Let `Bash(make test)` run without a question? [y/N] ").send("\r");
    let (status, drawn) = pty.finish();
    assert_eq!(status.code(), Some(1), "{drawn}");
    insta::assert_snapshot!(drawn.replace('\r', ""), @"
    MCP servers, none of them trusted:
      sums: sh $TMP/server.sh  ($HOME/.claude.json)
        env: LICENCE_TOKEN
        a secret stands there, which belongs into the vault: mcp.sums.LICENCE_TOKEN
    Add 1 MCP server? [y/N] 
    Read where they are, and not copied:
      skills: ~/.claude/skills
      commands: ~/.claude/commands
      agents: ~/.claude/agents
      instructions: ~/.claude/CLAUDE.md
    Use these 4? [y/N] n
    Let `Bash(ls:*)` run without a question? [y/N] 
    Let `Bash(make test)` run without a question? [y/N] 
    Error: nothing was changed, as you said
    ");
    assert!(!world.base().join("config.toml").exists());
    let mut pty = world.pty(&["import"], size);
    pty.wait_for("Add 1 MCP server? [y/N] ").send("y\r");
    pty.wait_for("Make a vault (").wait_for("put 1 secret into it?").send("y\r");
    pty.wait_for("Use these 4? [y/N] ").send("\r");
    pty.wait_for("Let `Bash(ls:*)` run without a question? [y/N] ").send("\r");
    pty.wait_for("Let `Bash(make test)` run without a question? [y/N] ").send("yes\r");
    let (status, drawn) = pty.finish();
    assert!(status.success() && !drawn.contains("planted"), "{drawn}");
    insta::assert_snapshot!(config(&world), @r#"
    [mcp.servers.sums]
    command = "sh"
    args = ["$TMP/server.sh"]
    env = { "LICENCE_TOKEN" = "vault:mcp.sums.LICENCE_TOKEN" }

    [permissions]
    allow = ["Bash(make test)"]
    "#);
    let value = world.run(&["vault", "get", "mcp.sums.LICENCE_TOKEN", "--reveal"]).success();
    assert_eq!(value.stdout(), "planted-secret-9\n");
    nothing_planted(&world, &world.run(&["mcp", "list", "--check"]).success());
}

/// EXT-33: what nobody said yes to the first time can be had later, and what the note names does it; then nothing is left to do.
#[test]
fn secrets_that_a_later_import_stores() {
    let world = world();
    claude_home(&world, &json!({"LICENCE_TOKEN": "planted-secret-9"}));
    world.write(world.home().join(".claude/settings.json"), "{}");
    let import = |more: &[&str]| world.run(&[&["mcp", "import", "--yes"], more].concat());
    let first = import(&[]);
    insta::assert_snapshot!(first, @"
    Imported MCP server sums from $HOME/.claude.json, with a secret that belongs into the vault
    Note: MCP server sums is switched off: its secrets were not stored; `zori import --store-secrets` stores them and switches it on
    [exit status: 0]
    ");
    assert_eq!(
        import(&[]).stdout().replace("Note: ", "").lines().count(),
        2,
        "it is said again, and nothing is done"
    );
    assert!(config(&world).ends_with("enabled = false\n"));
    insta::assert_snapshot!(import(&["--store-secrets"]), @"
    Note: MCP server sums is switched off: its secrets belong into a vault, and there is none; `zori vault init` makes one, and `zori import --store-secrets` stores them and switches it on
    There is nothing to import.
    [exit status: 0]
    ");
    world.run(&["vault", "init"]).success();
    insta::assert_snapshot!(world.run(&["import", "--only", "servers", "--store-secrets", "--dry-run"]), @"
    MCP servers that are switched off, because their secrets were not stored:
      sums: mcp.sums.LICENCE_TOKEN  ($HOME/.claude.json)
    [exit status: 0]
    ");
    // On a terminal somebody is asked.
    let mut pty = world.pty(&["mcp", "import"], Size { rows: 50, cols: 160 });
    pty.wait_for("Put 1 secret into the vault?").send("\r");
    let (status, drawn) = pty.finish();
    assert_eq!(status.code(), Some(1), "{drawn}");
    insta::assert_snapshot!(drawn.replace('\r', ""), @"
    MCP servers that are switched off, because their secrets were not stored:
      sums: mcp.sums.LICENCE_TOKEN  ($HOME/.claude.json)
    Put 1 secret into the vault? A server whose secret is not there is switched off. [y/N] 
    Error: nothing was changed, as you said
    ");
    let stored = import(&["--store-secrets"]);
    insta::assert_snapshot!(stored, @"
    Imported the secrets of the MCP server sums from $HOME/.claude.json, which is switched on
    [exit status: 0]
    ");
    insta::assert_snapshot!(config(&world), @r#"
    [mcp.servers.sums]
    command = "sh"
    args = ["$TMP/server.sh"]
    env = { "LICENCE_TOKEN" = "vault:mcp.sums.LICENCE_TOKEN" }
    "#);
    let value = world.run(&["vault", "get", "mcp.sums.LICENCE_TOKEN", "--reveal"]).success();
    assert_eq!(value.stdout(), "planted-secret-9\n");
    assert!(world.run(&["mcp", "list", "--check"]).success().stdout().contains("connected"));
    // Whoever switches it off later has switched it off.
    let off = world.read(world.base().join("config.toml")) + "enabled = false\n";
    world.write(world.base().join("config.toml"), &off);
    assert_eq!(import(&["--store-secrets"]).success().stdout(), "There is nothing to import.\n");
    assert_eq!(world.read(world.base().join("config.toml")), off);
    [first, stored].iter().for_each(|output| nothing_planted(&world, output));
}

/// A config file that cannot be changed as a whole is not changed in part, and no secret is stored for it.
#[test]
fn a_config_that_cannot_be_changed() {
    let world = world();
    claude_home(&world, &json!({"LICENCE_TOKEN": "planted-secret-9"}));
    let before = "skills = { inject = 1 }\n";
    world.write(world.base().join("config.toml"), before);
    world.run(&["vault", "init"]).success();
    insta::assert_snapshot!(world.run(&["import", "--store-secrets", "--yes"]), @r#"
    ------- stderr -------
    Error: the config file $BASE/config.toml was not changed: it is written in a way that cannot be added to; write `skills.paths = ["~/.claude/skills"]` yourself
    [exit status: 1]
    "#);
    assert_eq!(world.read(world.base().join("config.toml")), before);
    assert_eq!(
        world.run(&["vault", "list", "--output", "plain"]).success().stdout(),
        "The vault is empty.\n"
    );
}
