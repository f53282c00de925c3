//! Permissions in the chat: the mode shown and changed, rules with where they stand, and rules that stay.

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::pty::{Pty, Size};

use crate::asking::reply;
use crate::chat::screen::{AS_ROOT, over, type_line};
use crate::world::{with_model, world};

fn chat(world: &TestEnv, flags: &[&str]) -> Pty {
    world.pty(flags, Size { rows: 50, cols: 200 })
}

#[test]
fn the_mode_and_the_rules_are_shown_with_their_sources() {
    let mut world = world();
    world.set_var("ANTHROPIC_API_KEY", "sk-ant-nobody");
    world.write(
        world.base().join("config.toml"),
        "[security]\nmode = \"plan\"\n[permissions]\nallow = [\"Bash(make:*)\"]\n",
    );
    world.write(".zori/config.toml", "permissions.deny = [\"Read(secret)\"]\n");
    let mut pty = chat(&world, &["--no-save", "--sandbox", "off", "--ask", "Bash(git push:*)"]);
    for (n, line) in
        [(1, "/mode"), (2, "/permissions"), (3, "/mode nonsense"), (4, "/mode paranoid"), (5, ":q")]
    {
        type_line(&mut pty, n, line);
    }
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> /mode
    Mode: plan (`security.mode` in $BASE/config.toml): reads run, changes are denied
    `/mode NAME` changes it: yolo, acceptEdits, default, paranoid, plan, dontAsk, deny
    you> /permissions
    Mode: plan (`security.mode` in $BASE/config.toml): reads run, changes are denied
    Rules; deny beats ask beats allow:
      flags    ask    Bash(git push:*) (--ask)
      user     allow  Bash(make:*) ($BASE/config.toml:4)
      project  deny   Read(secret) ($WORK/.zori/config.toml:1)
    `zori policy explain` says what would happen to a call
    you> /mode nonsense
    Error: `/mode` cannot be `nonsense`
    Hint: the modes are acceptEdits, auto, balanced, bypassPermissions, default, deny, dontAsk, god_mode, interactive, paranoid, plan, yolo
    you> /mode paranoid
    Mode: paranoid (`/mode`): every call asks
    Shell commands are off in it; `security.allow_shell = true` in the config file switches them on
    Commands of this chat run outside a sandbox, since it was switched off
    you> :q
    Goodbye!
    [exit status: 0]
    ");
}

/// MODE-1, MODE-4: what the user says at the keyboard holds from the next call on, for commands' environments too, and
/// the audit log has it.
#[test]
fn a_mode_is_changed_in_the_chat() {
    let (mut world, server) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "echo \"[$GH_TOKEN]\"; touch one"})),
        anthropic::text("One."),
        anthropic::tool_use("t2", "bash", json!({"command": "echo \"[$GH_TOKEN]\"; touch two"})),
        anthropic::text("Two."),
        anthropic::tool_use("t3", "bash", json!({"command": "echo \"[$GH_TOKEN]\"; touch two"})),
        anthropic::text("Three."),
    ]);
    world.set_var("GH_TOKEN", "of-the-user");
    let mut pty = chat(&world, &["--permission-mode", "yolo", "--sandbox", "off"]);
    for (n, line) in [(1, "go"), (2, "/mode plan"), (3, "go"), (4, "/mode default"), (5, "go")] {
        type_line(&mut pty, n, line);
    }
    reply(&mut pty, 1, "y\r");
    type_line(&mut pty, 6, ":q");
    let shown = over(pty).to_string();
    assert_eq!(shown.matches("Commands of this chat run outside a sandbox").count(), 2, "{shown}");
    let result = |n: usize| {
        server.request(n).messages().last().expect("a request has messages")["content"][0]["content"]
            .to_string()
    };
    assert!(result(1).contains("[of-the-user]"), "{}", result(1));
    assert!(result(3).contains("mode plan changes nothing"), "{}", result(3));
    assert!(result(5).contains("[]"), "{}", result(5));
    let project = std::fs::read_dir(world.base().join("projects"))
        .expect("a file of the world")
        .next()
        .expect("a file of the world")
        .expect("a file of the world");
    let log = std::fs::read_to_string(project.path().join("audit.jsonl")).expect("a file of the world");
    let changes: Vec<_> = log
        .lines()
        .filter(|line| line.contains(r#""event":"mode""#))
        .map(|line| line[line.find(r#""from""#).expect("it says what was")..].to_owned())
        .collect();
    assert_eq!(changes, [r#""from":"yolo","mode":"plan"}"#, r#""from":"plan","mode":"default"}"#]);
}

/// DEC-2: on request the rule is written to the user's config, and the next session does not ask.
#[test]
fn a_rule_that_stays() {
    let (world, _server) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "touch one"})),
        anthropic::text("One."),
        anthropic::tool_use("t2", "bash", json!({"command": "touch one"})),
        anthropic::text("Two."),
    ]);
    let config = world.base().join("config.toml");
    let before = std::fs::read_to_string(&config).unwrap_or_default();
    world.write(&config, format!("# mine\n{before}"));
    let mut pty = chat(&world, &["--no-save", "--permission-mode", "default"]);
    type_line(&mut pty, 1, "go");
    reply(&mut pty, 1, "u\r");
    type_line(&mut pty, 2, ":q");
    over(pty);
    assert_eq!(
        std::fs::read_to_string(&config).expect("a file of the world"),
        format!("# mine\n{before}\n[permissions]\nallow = [\"Bash(touch one)\"]\n")
    );
    let again = world.run(&["exec", "-p", "go", "--permission-mode", "default"]).success();
    assert_eq!(again.stdout(), "Two.\n");
}

/// MODE-3: one line, for root, in a mode that asks nothing, at a terminal.
#[test]
fn root_is_warned() {
    let root = rustix::process::geteuid().is_root();
    for (mode, expected) in [("yolo", root), ("default", false)] {
        let world = world();
        let mut pty = chat(&world, &["--no-save", "--permission-mode", mode]);
        type_line(&mut pty, 1, ":q");
        let (_, drawn) = pty.finish();
        assert_eq!(drawn.contains(AS_ROOT), expected, "{mode}: {drawn}");
    }
}

/// RULE-1: a search of a folder shows nothing of files that `read` would be denied, or asked about.
#[test]
fn a_search_keeps_back_what_could_not_be_read() {
    for (flags, kept) in [
        (["--permission-mode", "yolo", "--deny", "Read(notes.txt)"].as_slice(), "notes.txt"),
        (["--permission-mode", "default"].as_slice(), "key.pem"),
    ] {
        let (world, server) = with_model([
            anthropic::tool_use("t1", "grep", json!({"pattern": "needle"})),
            anthropic::text("Done."),
        ]);
        for name in ["a.txt", "notes.txt", "key.pem"] {
            world.write(name, "a needle\n");
        }
        world.run(&[&["exec", "-p", "go"], flags].concat()).success();
        let request = server.request(1);
        let messages = request.messages();
        let result = messages.last().expect("a request has messages")["content"][0]["content"].to_string();
        let shown = ["a.txt", "notes.txt", "key.pem"].map(|name| result.contains(name));
        assert_eq!(shown, ["a.txt", "notes.txt", "key.pem"].map(|name| name != kept), "{result}");
        assert!(result.contains("1 files were left out"), "{result}");
    }
}

/// DECISIONS 52 and SH-11: a command that reads a folder reads what is in it, and a repository does not choose what git
/// starts.
#[test]
fn what_runs_without_a_question_depends_on_what_is_there() {
    let note = ("a.txt", "a needle\n");
    let usual = (".git/config", "[core]\n\trepositoryformatversion = 0\n");
    let evil = (".git/config", "[core]\n\tfsmonitor = ./evil\n");
    for (command, files, asked) in [
        ("grep -rn needle .", [note, ("b.txt", "")].as_slice(), false),
        ("grep -rn needle .", [note, (".env", "")].as_slice(), true),
        ("grep -rn needle .", [note, ("sub/server.pem", "")].as_slice(), true),
        ("grep -rn --include='*.txt' needle .", [note, (".env", "")].as_slice(), false),
        ("find . -name '*.txt' | xargs cat", [note, (".env", "")].as_slice(), false),
        ("git status", [note, usual].as_slice(), false),
        ("git status", [note, evil].as_slice(), true),
    ] {
        let (world, server) = with_model([
            anthropic::tool_use("t1", "bash", json!({"command": command})),
            anthropic::text("Done."),
        ]);
        for (name, text) in files {
            world.write(name, text);
        }
        world.run(&["exec", "-p", "go", "--permission-mode", "default", "--sandbox", "off"]).success();
        let request = server.request(1);
        let messages = request.messages();
        let result = messages.last().expect("a request has messages")["content"][0]["content"].to_string();
        assert_eq!(result.contains("approval_unavailable"), asked, "{command} with {files:?}: {result}");
    }
}

/// P-2: what a pattern or a search finds may be a link, and who opens it follows it out of the workspace.
#[test]
fn links_that_a_command_would_follow() {
    for (command, asked) in [
        ("cat src/a.txt", false),
        ("cat src/*.txt", true),
        ("cat src/*.md", false),
        ("head -1 src/link.txt", true),
        ("find src -name '*.txt' | xargs cat", true),
        ("find src -name '*.md' | xargs cat", false),
        ("find src -type f -name '*.txt' | xargs cat", false),
        ("for f in src/*.txt; do wc -l \"$f\"; done", true),
        ("grep -rn needle src", false),
        ("grep -Rn needle src", true),
    ] {
        let (world, server) = with_model([
            anthropic::tool_use("t1", "bash", json!({"command": command})),
            anthropic::text("Done."),
        ]);
        world.write("src/a.txt", "a needle\n");
        world.write("src/b.md", "a needle\n");
        world.write(world.home().join("elsewhere"), "a needle outside\n");
        std::os::unix::fs::symlink(world.home().join("elsewhere"), world.work().join("src/link.txt"))
            .unwrap();
        world.run(&["exec", "-p", "go", "--permission-mode", "default", "--sandbox", "off"]).success();
        let request = server.request(1);
        let messages = request.messages();
        let result = messages.last().expect("a request has messages")["content"][0]["content"].to_string();
        assert_eq!(result.contains("approval_unavailable"), asked, "{command}: {result}");
    }
}
