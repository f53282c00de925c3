//! What commands of the model find in their environment (SCR-1, DECISIONS 37), and what others find out about us (SCR-2).

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::wait;

use crate::world::{command_result, with_model};

/// Names, each with a value that says which it is.
const VARIABLES: &[&str] = &[
    "ZORI_SECRET_PLACE",
    "OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "MY_API_KEY",
    "GITHUB_TOKEN",
    "DB_PASSWORD",
    "CLIENT_SECRET",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_REGION",
    "LD_LIBRARY_PATH",
    "BASH_ENV",
    "NODE_OPTIONS",
    "PYTHONSTARTUP",
    "PLAIN",
];

/// Returns which of the names a command sees.
#[track_caller]
fn seen(flags: &[&str], config: &str) -> String {
    let (mut world, server) =
        with_model([anthropic::tool_use("t", "bash", json!({"command": "env"})), anthropic::text("Done.")]);
    world.write(world.base().join("config.toml"), config);
    for name in VARIABLES {
        world.set_var(name, format!("/value-of-{name}"));
    }
    world.run(&[&["exec", "-p", "go", "--provider", "anthropic"], flags].concat()).success();
    let messages = server.request(1).messages();
    let result = messages.last().expect("a request has messages")["content"][0]["content"]
        .as_str()
        .expect("a text")
        .to_owned();
    let result = command_result(&result);
    let printed = result["stdout"].as_str().unwrap_or_else(|| panic!("{result}"));
    let there = |name: &&&str| printed.contains(&format!("/value-of-{name}"));
    VARIABLES.iter().filter(there).copied().collect::<Vec<_>>().join(" ")
}

#[test]
fn each_mode_lets_through_what_it_says() {
    let yolo = "MY_API_KEY GITHUB_TOKEN DB_PASSWORD CLIENT_SECRET GOOGLE_APPLICATION_CREDENTIALS \
                AWS_SECRET_ACCESS_KEY AWS_REGION LD_LIBRARY_PATH BASH_ENV NODE_OPTIONS PYTHONSTARTUP PLAIN";
    assert_eq!(seen(&[], ""), yolo);
    assert_eq!(seen(&["--permission-mode", "yolo"], ""), yolo);
    for mode in ["default", "acceptEdits", "paranoid"] {
        let flags = ["--permission-mode", mode, "-y"];
        assert_eq!(seen(&flags, "security.allow_shell = true\n"), "AWS_REGION PLAIN", "{mode}");
    }
    assert_eq!(seen(&["--permission-mode", "dontAsk", "--allow", "Bash(env)"], ""), "AWS_REGION PLAIN");
}

#[test]
fn the_user_adds_names_and_lets_others_through() {
    let config =
        "[security]\nchild_env_deny = [\"plain\"]\nchild_env_allow = [\"GITHUB_*\", \"OPENAI_API_KEY\"]\n";
    assert_eq!(
        seen(&["--permission-mode", "default", "-y"], config),
        "OPENAI_API_KEY GITHUB_TOKEN AWS_REGION"
    );
    let yolo = seen(&[], config);
    assert!(yolo.contains("OPENAI_API_KEY") && !yolo.contains("PLAIN") && !yolo.contains("GEMINI"), "{yolo}");
}

/// A project's settings have no say in it.
#[test]
fn a_project_lets_nothing_through() {
    let (mut world, server) =
        with_model([anthropic::tool_use("t", "bash", json!({"command": "env"})), anthropic::text("Done.")]);
    world.write(".zori/config.toml", "security.child_env_allow = [\"OPENAI_API_KEY\"]\n");
    world.set_var("OPENAI_API_KEY", "/value-of-key");
    let output = world.run(&["exec", "-p", "go", "--provider", "anthropic"]).success();
    assert!(output.stderr().contains("`security.child_env_allow` in "), "{}", output.stderr());
    assert!(!server.request(1).json().to_string().contains("/value-of-key"));
}

/// SCR-2: who is not root cannot read our memory while we run, and a crash writes none; a child is as any other.
#[cfg(target_os = "linux")]
#[test]
fn the_process_keeps_its_memory_to_itself() {
    let (world, _server) = with_model([anthropic::tool_use(
        "t",
        "bash",
        json!({"command": "ulimit -Sc; echo $$ > started; sleep 60"}),
    )]);
    let running = world.start(world.cmd(&["exec", "-p", "go"]), Stdin::Null, Stdout::Captured);
    let pid = running.pid();
    let read = |world: &TestEnv| {
        std::fs::read_to_string(world.work().join("started")).ok()?.trim().parse::<u32>().ok()
    };
    let child = wait::poll(wait::BOUND, || read(&world)).expect("the command starts");
    let limits = std::fs::read_to_string(format!("/proc/{pid}/limits")).expect("it runs");
    let core = limits.lines().find(|line| line.starts_with("Max core file size")).expect("it runs");
    assert_eq!(core.split_whitespace().nth(4), Some("0"), "{core}");
    // What is not dumpable belongs to root in `/proc`, whoever runs it; so this tells only for others.
    let owner = |pid: u32| {
        use std::os::unix::fs::MetadataExt;
        std::fs::metadata(format!("/proc/{pid}/environ")).expect("it runs").uid()
    };
    assert_eq!(owner(pid), 0);
    assert_eq!(owner(child), rustix::process::getuid().as_raw());
}
