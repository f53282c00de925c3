//! AGENTS.md: which files are found, in which order, how they reach the model, and what is said about them
//! (`docs/contracts/guidelines.md`).

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;

use crate::world::{with_model, world};

/// What a run with guidelines leads to.
struct Run {
    output: CommandOutput,
    /// The system prompt, paths rewritten; empty without one.
    system: String,
}

/// Runs one prompt in a world that `prepare` has furnished.
#[track_caller]
fn run(prepare: impl Fn(&TestEnv), flags: &[&str]) -> Run {
    let (world, server) = with_model([anthropic::text("Hello")]);
    // What stands before them is another matter.
    world.write(world.base().join("config.toml"), "system_prompt = \"\"\n");
    prepare(&world);
    let root = world.home().join("code/project");
    let flags: Vec<&str> = flags
        .iter()
        .map(|flag| if *flag == "PROJECT" { root.to_str().expect("our paths are text") } else { flag })
        .collect();
    let output = world.run(&[&["exec", "-p", "hi"], flags.as_slice()].concat()).success();
    let system = server.request(0).json()["system"][0]["text"].as_str().unwrap_or_default().to_owned();
    Run { output, system: world.rewrite().apply(&system) }
}

/// AG-1, AG-5, AG-7: the base directory, home, everything in between, the root.
#[test]
fn from_the_general_to_the_particular() {
    let run = run(
        |world| {
            world.write(world.base().join("AGENTS.md"), "global\n");
            world.write(world.home().join("AGENTS.md"), "\n home\n\n");
            world.write(world.home().join("code/AGENTS.md"), "code");
            world.write(world.home().join("code/project/AGENTS.md"), "# Project\n\nText\n");
            world.write(world.home().join("code/project/below/AGENTS.md"), "below the root");
        },
        &["--root", "PROJECT"],
    );
    insta::assert_snapshot!(run.system, @r"
    # Project Context

    ## $BASE/AGENTS.md

    global

    ## $HOME/AGENTS.md

    home

    ## $HOME/code/AGENTS.md

    code

    ## $HOME/code/project/AGENTS.md

    # Project

    Text
    ");
    insta::assert_snapshot!(run.output, @r"
    Hello
    ------- stderr -------
    Loaded AGENTS.md from: $BASE/AGENTS.md, $HOME/AGENTS.md, $HOME/code/AGENTS.md, $HOME/code/project/AGENTS.md
    [exit status: 0]
    ");
}

/// AG-1: outside of home only the root itself.
#[test]
fn a_root_elsewhere() {
    let run = run(
        |world| {
            world.write(world.base().join("AGENTS.md"), "global");
            world.write(world.home().join("AGENTS.md"), "home");
            world.write(world.work().join("../AGENTS.md"), "above the root");
            world.write("AGENTS.md", "work");
        },
        &[],
    );
    insta::assert_snapshot!(run.system, @r"
    # Project Context

    ## $BASE/AGENTS.md

    global

    ## $WORK/AGENTS.md

    work
    ");
}

#[test]
fn none_at_all() {
    let run = run(|_| {}, &[]);
    assert_eq!((run.system.as_str(), run.output.to_string().as_str()), ("", "Hello\n[exit status: 0]"));
}

/// AG-2: one file by two names is loaded once, where it was found first.
#[test]
fn the_same_file_twice() {
    let run = run(
        |world| {
            let file = world.write(world.home().join("AGENTS.md"), "once");
            world.write(world.home().join("code/project/x"), "");
            symlink(&file, world.home().join("code/project/AGENTS.md")).unwrap();
        },
        &["--root", "PROJECT"],
    );
    insta::assert_snapshot!(run.system, @r"
    # Project Context

    ## $HOME/AGENTS.md

    once
    ");
    insta::assert_snapshot!(run.output.stderr(), @"Loaded AGENTS.md from: $HOME/AGENTS.md");
}

/// AG-2: a root under home through a link is under home.
#[test]
fn a_root_behind_a_link() {
    let run = run(
        |world| {
            world.write(world.home().join("AGENTS.md"), "home");
            world.write(world.home().join("code/project/AGENTS.md"), "project");
            symlink(world.home().join("code/project"), world.work().join("link")).unwrap();
        },
        &["--root", "link"],
    );
    insta::assert_snapshot!(run.output.stderr(), @"Loaded AGENTS.md from: $HOME/AGENTS.md, $HOME/code/project/AGENTS.md");
}

/// AG-3.
#[test]
fn blank_files_are_skipped_silently() {
    let run = run(
        |world| {
            world.write(world.base().join("AGENTS.md"), "");
            world.write("AGENTS.md", " \n\t\n");
        },
        &[],
    );
    assert_eq!((run.system.as_str(), run.output.to_string().as_str()), ("", "Hello\n[exit status: 0]"));
}

/// AG-3: whatever keeps a file from being read is said, and fails nothing.
#[test]
fn files_that_cannot_be_read() {
    let run = run(
        |world| {
            std::fs::create_dir_all(world.base().join("AGENTS.md")).unwrap();
            symlink("AGENTS.md", world.work().join("AGENTS.md")).unwrap();
        },
        &[],
    );
    assert_eq!(run.system, "");
    insta::assert_snapshot!(run.output, @r"
    Hello
    ------- stderr -------
    Warning: Failed to read $BASE/AGENTS.md: Is a directory (os error 21)
    Warning: Failed to read $WORK/AGENTS.md: Too many levels of symbolic links (os error 40)
    [exit status: 0]
    ");
}

/// AG-3, REL-4: opening a named pipe would wait for its writer for ever.
#[test]
fn a_named_pipe_is_not_waited_for() {
    let run = run(
        |world| {
            let made = Command::new("mkfifo").arg(world.work().join("AGENTS.md")).status().unwrap();
            assert!(made.success());
        },
        &[],
    );
    insta::assert_snapshot!(run.output, @r"
    Hello
    ------- stderr -------
    Warning: Failed to read $WORK/AGENTS.md: not a regular file
    [exit status: 0]
    ");
}

const LIMIT: usize = 65536;

/// AG-4.
#[test]
fn a_large_file_is_cut() {
    let run = run(
        |world| {
            world.write("AGENTS.md", format!("{}é and more", "x".repeat(LIMIT - 1)));
        },
        &[],
    );
    assert_eq!(
        run.system,
        format!("# Project Context\n\n## $WORK/AGENTS.md [truncated]\n\n{}", "x".repeat(LIMIT - 1)),
    );
    insta::assert_snapshot!(run.output, @r"
    Hello
    ------- stderr -------
    Warning: Truncated $WORK/AGENTS.md (65546 bytes) to 65536 bytes
    Warning: The instruction files have 65535 bytes, about 16383 tokens, which go with every request
    Loaded AGENTS.md from: $WORK/AGENTS.md
    [exit status: 0]
    ");
}

/// AG-4.
#[test]
fn a_file_of_just_that_size_is_whole() {
    let run = run(
        |world| {
            world.write("AGENTS.md", "x".repeat(LIMIT));
        },
        &[],
    );
    assert_eq!(run.system, format!("# Project Context\n\n## $WORK/AGENTS.md\n\n{}", "x".repeat(LIMIT)));
    insta::assert_snapshot!(run.output.stderr(), @r"
    Warning: The instruction files have 65536 bytes, about 16384 tokens, which go with every request
    Loaded AGENTS.md from: $WORK/AGENTS.md
    ");
}

/// AG-4.
#[test]
fn bytes_that_are_no_text_are_replaced() {
    let run = run(
        |world| {
            world.write("AGENTS.md", b"caf\xe9!");
        },
        &[],
    );
    assert_eq!(run.system, "# Project Context\n\n## $WORK/AGENTS.md\n\ncaf\u{fffd}!");
}

/// AG-6, AG-8.
#[test]
fn behind_the_system_prompt() {
    let prepare = |world: &TestEnv| {
        world.write("AGENTS.md", "work");
        world.write(world.base().join("config.toml"), "system_prompt = \"Be brief.\"\n");
    };
    let guidelines = "# Project Context\n\n## $WORK/AGENTS.md\n\nwork";
    assert_eq!(run(prepare, &[]).system, format!("Be brief.\n\n{guidelines}"));
    assert_eq!(run(prepare, &["--system-prompt", "Be odd."]).system, format!("Be odd.\n\n{guidelines}"));
    assert_eq!(run(prepare, &["--system-prompt", ""]).system, guidelines);
}

/// AG-7: a chat has a line for each.
#[test]
fn in_a_chat() {
    let mut world = world();
    let base = world.base().to_owned();
    world.set_var("ANTHROPIC_API_KEY", "k").set_var("ZDX_HOME", base);
    world.write(world.base().join("AGENTS.md"), "global");
    world.write("AGENTS.md", "work");
    insta::assert_snapshot!(world.run_with_stdin(&["--as", "zdx"], ":q\n"), @r"
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    Session: $SESSION
    Loaded AGENTS.md from:
      - $BASE/AGENTS.md
      - $WORK/AGENTS.md
    you> Goodbye!
    [exit status: 0]
    ");
}

/// A name that would be obeyed by a terminal is not printed as it is.
#[test]
fn a_directory_with_a_hostile_name() {
    let (world, _server) = with_model([anthropic::text("Hello")]);
    world.write(Path::new("a\x1b[2Jb/AGENTS.md"), "x");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--root", "a\x1b[2Jb"]).stderr(), @r"Loaded AGENTS.md from: $WORK/a\x1b[2Jb/AGENTS.md");
}
