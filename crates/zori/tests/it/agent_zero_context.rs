//! When an Agent Zero server is told of the workspace, and of what (CB-1, CB-3, CB-10, OBS-2): through the executable, as the server reads it.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use zori_testkit::agent_zero::{self, KEY, Version};
use zori_testkit::env::TestEnv;
use zori_testkit::random::cases;
use zori_testkit::server::ModelServer;

use crate::world::world;

fn at(server: &ModelServer, config: &str) -> TestEnv {
    let mut world = world();
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
    world.set_var("AGENTZERO_API_KEY", KEY);
    world.set_var("AGENTZERO_KEEPALIVE_SECONDS", "0");
    world.write(world.base().join("config.toml"), config);
    world.write("notes.txt", "alpha\n");
    world
}

fn answering() -> ModelServer {
    agent_zero::start(Version::Old, |count, _| format!("answer {count}"))
}

/// Asks once more in the same session, and says what went before the words.
fn ask(world: &TestEnv, server: &ModelServer, words: &str) -> String {
    let before = server.count();
    let output = world.run(&["exec", "--provider", "agent-zero", "--session", "s", "-p", words]);
    assert_eq!(output.code(), Some(0), "{output}");
    let message = server.request(before).json()["message"].as_str().expect("a text").to_owned();
    let marks = [("[AZ_OBSERVER v1]", "observer"), ("[AZ_CONTEXT v1]", "context"), (words, "words")];
    let mut found: Vec<(usize, &str)> =
        marks.iter().filter_map(|(mark, name)| Some((message.find(mark)?, *name))).collect();
    found.sort_unstable();
    found.into_iter().map(|(_, name)| name).collect::<Vec<_>>().join(" ")
}

/// CB-1: each mode over four prompts: the first, one with nothing new, one after a change, and one in a chat that the server has lost.
#[test]
fn modes() {
    for (mode, expected) in [
        ("always", ["context words"; 4]),
        ("on_change", ["context words", "words", "context words", "context words"]),
        ("once", ["context words", "words", "words", "context words"]),
        ("manual", ["words"; 4]),
    ] {
        let server = agent_zero::start(Version::Old, |_, message| match message.contains("third") {
            true => "forget".to_owned(),
            false => "ok".to_owned(),
        });
        let world = at(&server, &format!("[context]\nmode = \"{mode}\"\n"));
        let first = ask(&world, &server, "first");
        let second = ask(&world, &server, "second");
        world.write("more.txt", "beta");
        let third = ask(&world, &server, "third");
        // The first try has the id of the chat that is lost; what counts is what was sent in the new one.
        ask(&world, &server, "fourth");
        let last = server.request(server.count() - 1).json();
        let fourth = match last["message"].as_str().expect("a text").starts_with("[AZ_CONTEXT v1]") {
            true => "context words",
            false => "words",
        };
        assert_eq!(last.get("context_id"), None, "{mode}");
        assert_eq!([first.as_str(), &second, &third, fourth], expected, "{mode}");
    }
    let server = answering();
    let world = at(&server, "[context]\nenabled = false\n");
    assert_eq!(ask(&world, &server, "first"), "words");
}

/// UI-14: another profile is told in the mode `once`, too, by its whole name.
#[test]
fn profiles_whose_names_begin_alike() {
    let server = answering();
    let config = "[context]\nmode = \"once\"\n[agent_profiles]\n\"code review\" = \"Read.\"\n\"code writing\" = \"Write.\"\n";
    let mut world = at(&server, config);
    let mut told = Vec::new();
    for profile in ["code review", "code writing", "code writing", "default", "code review"] {
        world.set_var("AGENTZERO_AGENT_PROFILE", profile);
        told.push(ask(&world, &server, "go"));
    }
    assert_eq!(told, ["context words", "context words", "words", "context words", "context words"]);
}

/// OBS-2: the observer comes first, and only when something changed; `manual` never.
#[test]
fn the_observer() {
    for (mode, expected) in [
        ("automatic", ["observer context words", "words", "observer context words"]),
        ("always", ["observer context words", "observer words", "observer context words"]),
        ("manual", ["context words", "words", "context words"]),
    ] {
        let server = answering();
        let world = at(&server, &format!("[observer]\nenabled = true\nmode = \"{mode}\"\n"));
        let first = ask(&world, &server, "first");
        let second = ask(&world, &server, "second");
        world.write("more.txt", "beta");
        assert_eq!([first, second, ask(&world, &server, "third")], expected, "{mode}");
    }
}

/// CB-10 and the bad workspaces: the prompt is sent all the same, and what was left out is said.
#[test]
fn workspaces_that_are_odd() {
    let server = answering();
    let world = at(
        &server,
        "[context]\nredact_patterns = [\"(\", \"alph.\"]\npreview_files = [\"notes.txt\", \".env\", \"a_pipe\"]\n",
    );
    world.write(".env", "KEY=1");
    std::os::unix::fs::symlink(world.work(), world.work().join("loop")).unwrap();
    let pipe = world.work().join("a_pipe");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, rustix::fs::Mode::RUSR, 0)
        .unwrap();
    for number in 0..400 {
        world.write(format!("many/f{number:03}"), "x");
    }
    fs::create_dir(world.work().join("closed")).unwrap();
    world.write("closed/inner", "x");
    fs::set_permissions(world.work().join("closed"), fs::Permissions::from_mode(0o000)).unwrap();
    let output = world.run(&["exec", "--no-save", "--provider", "agent-zero", "-p", "go"]);
    fs::set_permissions(world.work().join("closed"), fs::Permissions::from_mode(0o700)).unwrap();
    assert_eq!((output.code(), &*output.stdout()), (Some(0), "answer 1\n"), "{output}");
    let said = output.stderr();
    for line in [
        "`context.redact_patterns`",
        "Context: 2 that are neither files nor folders are left out (links, pipes, devices)",
        "Context: only the first 200 files are named (`context.max_files`)",
        "Context: .env may hold secrets and is left out",
    ] {
        assert!(said.contains(line), "`{line}` is not said: {output}");
    }
    // Nothing is closed to the administrator.
    if !rustix::process::geteuid().is_root() {
        assert!(said.contains("Context: 1 files or folders cannot be read and are left out"), "{output}");
    }
    let message = server.request(0).json()["message"].as_str().expect("a text").to_owned();
    assert!(message.contains("--- notes.txt ---\n***REDACTED***\n"), "{message}");
    assert!(!message.contains("loop/") && !message.contains("KEY=1"), "{message}");
    assert!(message.ends_with("\n\nUSER: go"), "{message}");
}

/// Three hundred thousand files (a few thousand where that takes too long): in one folder, and in folders that are too deep. The prompt is sent, and
/// what is not named is said.
#[test]
fn a_workspace_that_is_very_large() {
    let files = cases(4_000, 300_000);
    let server = answering();
    let world = at(&server, "[context]\ninclude_git = false\n");
    let wide = world.work().join("wide");
    fs::create_dir(&wide).unwrap();
    for number in 0..files {
        // Links to one file are as many names, and much sooner made.
        match number % 1000 {
            0 => fs::write(wide.join(format!("f{number:06}")), "x").unwrap(),
            _ => fs::hard_link(
                wide.join(format!("f{:06}", number - number % 1000)),
                wide.join(format!("f{number:06}")),
            )
            .unwrap(),
        }
    }
    world.write("0/1/2/3/4/deep.txt", "x");
    let began = std::time::Instant::now();
    let output = world.run(&["exec", "--no-save", "--provider", "agent-zero", "-p", "go"]);
    println!("CB-10: {files} files in {:.1} s: {files} cases", began.elapsed().as_secs_f64());
    let message = server.request(0).json()["message"].as_str().expect("a text").to_owned();
    let hash = message.lines().find_map(|line| line.strip_prefix("context_hash: ")).expect("a hash");
    let bytes = message.find("\n\nUSER: ").expect("the words are behind the block");
    let said = format!(
        "Context ready (default/default): files=200, workspace=205B, context={bytes}B, previews=[], hash={}\n\
         Context: 1 folder is too deep to be entered (`context.max_depth` is 4)\n\
         Context: only the first 200 files are named (`context.max_files`)\n",
        &hash[..8]
    );
    assert_eq!((output.code(), &*output.stdout(), &*output.stderr()), (Some(0), "answer 1\n", said.as_str()));
    let named: Vec<&str> =
        message.lines().filter(|line| line.ends_with("B)") && line.starts_with("- ")).collect();
    assert_eq!((named.len(), named[0], named[199]), (200, "- notes.txt (6B)", "- wide/f000198 (1B)"));
    assert!(message.contains("\n- ... [truncated]\n") && !message.contains("deep.txt"), "{message}");
    assert!(message.ends_with("\n\nUSER: go"), "{message}");
}

/// CB-7: a block that is cut is cut at a line, within its bound, and says so.
#[test]
fn a_block_that_is_cut() {
    let server = answering();
    let world = at(&server, "[context]\nmax_bytes = 600\n");
    world.write("README.md", "é…漢字\n".repeat(500));
    world.run(&["exec", "--no-save", "--provider", "agent-zero", "-p", "go"]);
    let message = server.request(0).json()["message"].as_str().expect("a text").to_owned();
    let (block, words) = message.split_once("\n\nUSER: ").expect("the words are behind it");
    assert!(block.len() <= 600 && block.ends_with("\n... [truncated]\n[/AZ_CONTEXT]"), "{block}");
    assert_eq!(words, "go");
}
