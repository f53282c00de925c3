//! The command line itself: what is said about one that makes no sense, and where its options may stand.

mod help;
mod mistyped;

use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::running::{Stdin, Stdout};

use crate::world::{in_shell, with_model, world};

/// A world without a home, in which nothing may be created.
fn bare_world() -> TestEnv {
    let mut world = world();
    world.remove_var("HOME").remove_var("ZORI_HOME").remove_var("TMPDIR");
    world
}

#[track_caller]
fn untouched(world: &TestEnv) {
    for folder in [world.home(), world.work(), world.tmp()] {
        assert_eq!(
            std::fs::read_dir(&folder).expect("the folder is ours").count(),
            0,
            "{}",
            folder.display()
        );
    }
    assert!(!world.base().exists());
}

/// ENV-1: the working directory may be gone.
#[test]
fn from_a_directory_that_is_gone() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    let gone = |args: &[&str]| {
        let command = in_shell(&world, "mkdir gone && cd gone && rmdir ../gone && exec \"$0\" \"$@\"", args);
        world.start(command, Stdin::Null, Stdout::Captured).finish()
    };
    assert_eq!(gone(&["--version"]).code(), Some(0));
    insta::assert_snapshot!(gone(&["exec", "-p", "hi"]), @r"
    ------- stderr -------
    Error: the root `.` cannot be used: No such file or directory (os error 2)
    [exit status: 2]
    ");
    let work = world.work();
    let root = work.to_str().expect("our paths are text");
    assert_eq!(gone(&["exec", "-p", "hi", "--root", root]).to_string(), "Hello\n[exit status: 0]");
    assert_eq!(server.count(), 1);
}

#[test]
fn an_unknown_command() {
    let world = bare_world();
    insta::assert_snapshot!(world.run(&["exce"]), @"
    ------- stderr -------
    Error: there is no command `exce`
    Hint: did you mean `exec`?
    Hint: for a prompt: `zori -p TEXT`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["what is this?"]), @"
    ------- stderr -------
    Warning: there is no base directory: `HOME` is not set; no session is saved
    Error: ANTHROPIC_API_KEY is not set
    Hint: set ANTHROPIC_API_KEY to your Anthropic key
    Hint: or store it: `zori auth login --provider anthropic --with-token`
    Hint: a server on this machine (Ollama, llama.cpp, LM Studio, vLLM) needs none: `--provider ollama`
    Hint: `zori demo` shows what this program does without a key
    [exit status: 8]
    ");
    untouched(&world);
}

#[test]
fn half_a_command() {
    let world = bare_world();
    assert_eq!(world.run(&["sessions"]).to_string(), world.run(&["sessions", "--help"]).to_string());
    insta::assert_snapshot!(world.run(&["--as", "zdx", "trust"]), @"
    ------- stderr -------
    Error: `zdx trust` needs a command
    Hint: one of `zdx trust show`, `zdx trust allow`, `zdx trust deny`, `zdx trust forget`, `zdx trust list`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "lst"]), @"
    ------- stderr -------
    Error: there is no command `lst`
    Hint: did you mean `sessions list`?
    Hint: for a prompt: `zori -p TEXT`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "show"]), @"
    ------- stderr -------
    Error: `ID` is missing: the session
    [exit status: 2]
    ");
}

#[test]
fn an_unknown_flag() {
    let world = bare_world();
    insta::assert_snapshot!(world.run(&["--modle", "x"]), @"
    ------- stderr -------
    Error: there is no option `--modle`
    Hint: did you mean `--model`?
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--frobnicate"]), @"
    ------- stderr -------
    Error: there is no option `--frobnicate`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["exec", "-x"]), @"
    ------- stderr -------
    Error: there is no option `-x`
    [exit status: 2]
    ");
    // A flag of another command.
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--keep"]), @"
    ------- stderr -------
    Error: `--keep` is no option of this command
    Hint: it goes with `zori demo`
    [exit status: 2]
    ");
    untouched(&world);
}

#[test]
fn a_flag_without_its_value() {
    let world = bare_world();
    insta::assert_snapshot!(world.run(&["exec", "-p"]), @"
    ------- stderr -------
    Error: `--prompt` needs a value
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["exec", "--model"]), @"
    ------- stderr -------
    Error: `--model` needs a value
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["--no-save=yes", "exec", "-p", "hi"]), @"
    ------- stderr -------
    Error: `--no-save` takes no value
    [exit status: 2]
    ");
}

#[test]
fn a_flag_given_twice() {
    insta::assert_snapshot!(world().run(&["exec", "-p", "a", "-p", "b"]), @"
    ------- stderr -------
    Error: `--prompt` is there 2 times with different values
    [exit status: 2]
    ");
}

#[test]
fn a_number_that_is_none() {
    let world = world();
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--retries", "many"]), @r"
    ------- stderr -------
    Error: `--retries` takes a whole number from 0 to 20, not `many`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--retry-delay", "60001"]), @r"
    ------- stderr -------
    Error: `--retry-delay` takes a whole number from 0 to 60000, not `60001`
    [exit status: 2]
    ");
}

#[test]
fn too_many_arguments() {
    let world = world();
    insta::assert_snapshot!(world.run(&["config", "path", "x"]), @"
    ------- stderr -------
    Error: there is an argument too many
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "show", "a", "b"]), @"
    ------- stderr -------
    Error: there is an argument too many
    [exit status: 2]
    ");
}

/// CLI-1.
#[test]
fn global_options_before_and_after_the_command() {
    for args in [
        &["--no-save", "--model", "claude-opus-4", "exec", "-p", "hi"][..],
        &["exec", "-p", "hi", "--no-save", "--model", "claude-opus-4"],
        &["--no-save", "exec", "-p", "hi", "--model=claude-opus-4"],
        &["--model", "claude-opus-4", "--no-save", "-p", "hi"],
    ] {
        let (world, server) = with_model([anthropic::text("Hello")]);
        assert_eq!(world.run(args).to_string(), "Hello\n[exit status: 0]", "{args:?}");
        assert_eq!(server.request(0).json()["model"], "claude-opus-4", "{args:?}");
        assert!(!world.base().exists(), "{args:?}");
    }
    let world = world();
    let path = "$BASE/config.toml\n[exit status: 0]";
    assert_eq!(world.run(&["--output", "plain", "config", "path"]).to_string(), path);
    assert_eq!(world.run(&["config", "path", "--output", "plain"]).to_string(), path);
    assert_eq!(world.run(&["config", "-o", "plain", "path"]).to_string(), path);
}

/// The one after the command is nearer.
#[test]
fn a_global_option_on_both_sides() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    world.run(&["--model", "a", "exec", "-p", "hi", "--model", "b"]).success();
    assert_eq!(server.request(0).json()["model"], "b");
}

/// DECISIONS 20: one setting, several spellings.
#[test]
fn what_is_printed_can_be_asked_for() {
    let mut world = world();
    let path = "$BASE/config.toml\n[exit status: 0]";
    assert_eq!(world.run(&["config", "path", "--format", "text"]).to_string(), path);
    assert_eq!(world.run(&["config", "path", "--format", "text", "--output", "plain"]).to_string(), path);
    let refused = |args: &[&str]| {
        let output = world.run(args);
        assert_eq!(output.code(), Some(2), "{output}");
        output.stderr()
    };
    assert_eq!(
        refused(&["config", "path", "--output", "yaml"]),
        "Error: `--output` takes json, jsonl, tsv, plain, table or id, not `yaml`\n"
    );
    assert_eq!(
        refused(&["config", "path", "--format", "plain"]),
        "Error: `--format` takes text or json, not `plain`\n"
    );
    // DECISIONS 20: two that differ, wherever they stand.
    assert_eq!(
        refused(&["--output", "json", "config", "path", "--output", "plain"]),
        "Error: `--output` is there 2 times with different values\n"
    );
    assert_eq!(
        refused(&["exec", "-p", "hi", "--output", "yaml"]),
        "Error: `--output` takes json, jsonl, tsv, plain, table or id, not `yaml`\n"
    );
    world.set_var("ZORI_OUTPUT", "plain");
    assert_eq!(world.run(&["config", "path"]).to_string(), path);
    world.set_var("ZORI_OUTPUT", "yaml");
    let output = world.run(&["config", "path"]);
    assert_eq!(
        (output.stderr().as_str(), output.code()),
        ("Error: `ZORI_OUTPUT` can be json, jsonl, tsv, plain, table, id here, not `yaml`\n", Some(2))
    );
    // The flag is nearer, and an empty variable is none.
    assert_eq!(world.run(&["config", "path", "--output", "plain"]).to_string(), path);
    world.set_var("ZORI_OUTPUT", "");
    assert!(world.run(&["config", "path"]).stdout().starts_with("{\"ok\":true"));
}

/// PATH-6.
#[test]
fn a_root_that_is_no_directory() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    world.write("file", "");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--root", "missing"]), @"
    ------- stderr -------
    Error: `--root` takes a folder, and $WORK/missing is none
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--root", "file"]), @"
    ------- stderr -------
    Error: `--root` takes a folder, and $WORK/file is none
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--cwd", ""]), @r"
    ------- stderr -------
    Error: the root `` cannot be used: No such file or directory (os error 2)
    [exit status: 2]
    ");
    assert_eq!((server.count(), world.base().exists()), (0, false));
}

/// SES-4.
#[test]
fn a_session_that_is_a_path() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    for id in ["../evil", "a/b", ".hidden", "-dash", "", "ä", "a b", "a\\b", &"x".repeat(129)] {
        for args in
            [&["exec", "-p", "hi", "--session", id][..], &["sessions", "resume", "-p", "hi", "--session", id]]
        {
            let output = world.run(args);
            assert_eq!((output.stdout().as_str(), output.code()), ("", Some(2)), "{id:?}: {output}");
        }
    }
    insta::assert_snapshot!(world.run(&["exec", "-p", "hi", "--session", "../evil"]), @"
    ------- stderr -------
    Error: `--session` cannot be `../evil`: it leads out of the allowed folder
    Hint: `evil`, if that is what you mean
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "show", "../evil"]), @"
    ------- stderr -------
    Error: `ID` cannot be `../evil`: it leads out of the allowed folder
    Hint: `evil`, if that is what you mean
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "resume", "../evil", "-p", "hi"]), @"
    ------- stderr -------
    Error: `ID` cannot be `../evil`: it leads out of the allowed folder
    Hint: `evil`, if that is what you mean
    [exit status: 2]
    ");
    assert_eq!((server.count(), world.base().exists()), (0, false));
}

/// DECISIONS 1.
#[test]
fn by_another_name() {
    let world = world();
    let help = world.run(&["--as", "zdx", "--help"]);
    assert!(help.stdout().contains("Usage: zdx"), "{help}");
    assert_eq!(world.run(&["--help", "--as=zdx"]).to_string(), help.to_string());
    insta::assert_snapshot!(world.run(&["--as", "vim", "--help"]), @r"
    ------- stderr -------
    Error: unknown profile `vim`
    Hint: this version knows zori, zdx, zeph, yume-cli, a0
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["--as"]), @r"
    ------- stderr -------
    Error: `--as` needs a name
    Hint: for example `--as zdx`
    [exit status: 2]
    ");
}

/// Arguments that are no text are refused, not guessed at (ENV-1).
#[test]
fn an_argument_that_is_no_text() {
    use std::os::unix::ffi::OsStrExt;
    let world = world();
    let mut command = world.cmd(&["exec", "-p"]);
    command.arg(std::ffi::OsStr::from_bytes(b"caf\xe9"));
    insta::assert_snapshot!(world.start(command, Stdin::Null, Stdout::Captured).finish(), @"
    ------- stderr -------
    Error: `caf�` is not UTF-8
    [exit status: 2]
    ");
}

/// A prompt before the command is not lost; where a command takes none, that is said.
#[test]
fn a_prompt_before_the_command() {
    let (world, model) = with_model([anthropic::text("Hello.")]);
    world.run_with_stdin(&["-p", "hi", "exec", "--no-save"], "and this").success();
    assert_eq!(model.request(0).conversation(), "user: hi\n\nand this\n");
    insta::assert_snapshot!(world.run(&["-p", "hi", "sessions", "list"]), @"
    ------- stderr -------
    Error: `-p` is no option of this command
    Hint: it goes with `zori exec`, `zori start`, `zori sessions resume`
    [exit status: 2]
    ");
}

/// DECISIONS 6 and 22: what `exec` takes, the bare call with a prompt takes too.
#[test]
fn a_lone_dash_without_a_command() {
    let (world, model) = with_model(["a", "b"].map(anthropic::text));
    world.run_with_stdin(&["--no-save", "-p", "hi", "-"], "from the pipe").success();
    assert_eq!(model.request(0).conversation(), "user: hi\n\nfrom the pipe\n");
    world.run_with_stdin(&["--no-save", "-p", "-"], "all of it").success();
    assert_eq!(model.request(1).conversation(), "user: all of it\n");
}

#[test]
fn two_sessions_to_resume() {
    insta::assert_snapshot!(world().run(&["sessions", "resume", "--session", "a", "b"]), @"
    ------- stderr -------
    Error: `--session a` and `b` name two sessions
    Hint: leave one of them out
    [exit status: 2]
    ");
}

/// What follows from the tables alone is there, and the chat needs a terminal.
#[test]
fn what_the_tables_bring_along() {
    let world = world();
    for args in [&["completions", "bash"][..], &["man"], &["manifest"], &["errors", "list"]] {
        assert!(!world.run(args).success().stdout().is_empty(), "{args:?}");
    }
    insta::assert_snapshot!(world.run(&["chat"]), @"
    ------- stderr -------
    Error: `chat` needs a terminal
    Hint: without a terminal: `zori --help`
    [exit status: 4]
    ");
}
