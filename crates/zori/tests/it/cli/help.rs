//! Help and version: pure text, from anywhere, leaving nothing behind.

use zori_testkit::pty::Size;
use zori_testkit::running::{Stdin, Stdout};

use super::{bare_world, untouched};

#[test]
fn help() {
    let world = bare_world();
    insta::assert_snapshot!(world.run(&["--help"]), @r"
    A terminal coding agent: one engine, every front end

    Usage: zori [OPTIONS]
           zori [OPTIONS] <COMMAND>

    Commands:
      exec       Run one prompt and print the answer
      demo       Watch a scripted model edit and test a small program; needs no key
      sessions   List, show and resume saved sessions
      models     List and show the models there are
      auth       Log in, log out, and see where keys come from
      config     Find or create the config file
      policy     See what would happen to a call, and why
      trust      Decide whether a folder's own settings count
      audit-log  Show what was decided and what ran, or check that nobody changed it

    Options:
      -p, --prompt <TEXT>         The prompt; `-` reads it from standard input
          --image <FILE>          Show the model an image with the prompt; may be repeated
          --root <DIR>            Working directory of the tools [default: .]
          --model <MODEL>         The model, or `provider:model`
          --provider <NAME>       Who serves the model
          --session <ID>          Go on with this session, or start one of this name
          --no-save               Save no session
          --system-prompt <TEXT>  Replace the configured system prompt; empty clears it
      -o, --output <FORMAT>       What to print: plain
      -h, --help                  Print help
      -V, --version               Print version

    Without a command and at a terminal this opens the chat; `-p TEXT` is `exec -p TEXT`.
    `--help --all` shows every option.
    [exit status: 0]
    ");
    assert_eq!(world.run(&["-h"]).to_string(), world.run(&["--help"]).to_string());
    untouched(&world);
}

#[test]
fn all_of_the_help() {
    let world = bare_world();
    let all = world.run(&["--help", "--all"]);
    insta::assert_snapshot!(all, @"
    A terminal coding agent: one engine, every front end

    Usage: zori [OPTIONS]
           zori [OPTIONS] <COMMAND>

    Commands:
      exec       Run one prompt and print the answer
      demo       Watch a scripted model edit and test a small program; needs no key
      sessions   List, show and resume saved sessions
      models     List and show the models there are
      auth       Log in, log out, and see where keys come from
      config     Find or create the config file
      policy     See what would happen to a call, and why
      trust      Decide whether a folder's own settings count
      audit-log  Show what was decided and what ran, or check that nobody changed it

    Options:
      -p, --prompt <TEXT>           The prompt; `-` reads it from standard input
          --image <FILE>            Show the model an image with the prompt; may be repeated
          --root <DIR>              Working directory of the tools [default: .]
          --model <MODEL>           The model, or `provider:model`
          --provider <NAME>         Who serves the model
          --session <ID>            Go on with this session, or start one of this name
          --no-save                 Save no session
          --system-prompt <TEXT>    Replace the configured system prompt; empty clears it
      -o, --output <FORMAT>         What to print: plain
          --format <FORMAT>         What to print: text (the same as `--output plain`)
          --permission-mode <MODE>  What runs without a question: yolo, acceptEdits, default, paranoid, plan, dontAsk, deny
          --allow <RULES>           Let these calls run, such as `Bash(git diff:*)`
          --ask <RULES>             Ask about these calls in every mode
          --deny <RULES>            Never let these calls run
      -y, --yes                     Answer every question about a call with yes; what is denied stays denied
          --trust-workspace         Trust this folder's own settings for this run, and list them
          --retries <N>             How often a failed request is tried again
          --retry-delay <MS>        The first wait before that, in milliseconds
          --thinking <LEVEL>        How much the model thinks: off, low, medium, high, max
          --max-turns <N>           Ask the model at most N times for one prompt
          --max-budget-usd <USD>    Stop when the run has cost that much
          --max-tokens-total <N>    Stop when the run has used that many tokens, read and written
          --timeout <DURATION>      End the command after 500ms, 30s, 5m, 1h; 0: never
          --record <FILE>           Write what goes to and comes from the provider to a new file
          --replay <FILE>           Run a recording again, offline and without a key; tools really run
          --replay-lenient          Go on where a replay differs from its recording
          --as <NAME>               Behave as the program of this name: zori, zdx
      -h, --help                    Print help
      -V, --version                 Print version

    Without a command and at a terminal this opens the chat; `-p TEXT` is `exec -p TEXT`.
    `--help --all` shows every option.
    [exit status: 0]
    ");
    assert_eq!(world.run(&["--all", "--help"]).to_string(), all.to_string());
}

#[test]
fn help_of_a_command() {
    let world = bare_world();
    insta::assert_snapshot!(world.run(&["exec", "--help"]), @r#"
    Run one prompt and print the answer

    Usage: zori exec [OPTIONS] [-]

    Arguments:
      [-]  Wait for standard input, however long it takes

    Options:
      -p, --prompt <TEXT>         The prompt; `-` reads it from standard input
          --image <FILE>          Show the model an image with the prompt; may be repeated
          --root <DIR>            Working directory of the tools [default: .]
          --model <MODEL>         The model, or `provider:model`
          --provider <NAME>       Who serves the model
          --session <ID>          Go on with this session, or start one of this name
          --no-save               Save no session
          --system-prompt <TEXT>  Replace the configured system prompt; empty clears it
      -o, --output <FORMAT>       What to print: plain
      -h, --help                  Print help

    Examples:
      zori exec -p "What does main.rs do?"
      git diff | zori exec -p "Review this change"
      zori exec < prompt.md
      zori exec --image screen.png -p "What is wrong here?"
    [exit status: 0]
    "#);
    insta::assert_snapshot!(world.run(&["sessions", "--help"]), @r"
    List, show and resume saved sessions

    Usage: zori sessions [OPTIONS] [COMMAND]

    Commands:
      list    List saved sessions, newest first
      show    Print the transcript of a session
      resume  Go on with a session: chat, or with -p one turn

    Options:
          --root <DIR>            Working directory of the tools [default: .]
          --model <MODEL>         The model, or `provider:model`
          --provider <NAME>       Who serves the model
          --session <ID>          Go on with this session, or start one of this name
          --no-save               Save no session
          --system-prompt <TEXT>  Replace the configured system prompt; empty clears it
      -o, --output <FORMAT>       What to print: plain
      -h, --help                  Print help
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "show", "--help"]), @r"
    Print the transcript of a session

    Usage: zori sessions show [OPTIONS] <ID>

    Arguments:
      <ID>  The session

    Options:
          --root <DIR>            Working directory of the tools [default: .]
          --model <MODEL>         The model, or `provider:model`
          --provider <NAME>       Who serves the model
          --session <ID>          Go on with this session, or start one of this name
          --no-save               Save no session
          --system-prompt <TEXT>  Replace the configured system prompt; empty clears it
      -o, --output <FORMAT>       What to print: plain
      -h, --help                  Print help
    [exit status: 0]
    ");
    untouched(&world);
}

#[test]
fn version() {
    let world = bare_world();
    let version = format!("zori {}\n[exit status: 0]", env!("CARGO_PKG_VERSION"));
    assert_eq!(world.run(&["--version"]).to_string(), version);
    assert_eq!(world.run(&["-V"]).to_string(), version);
    untouched(&world);
}

/// DECISIONS 6: without a terminal and without a prompt.
#[test]
fn a_bare_call_without_a_terminal_is_help() {
    let world = bare_world();
    let help = world.run(&["--help"]).to_string();
    assert_eq!(world.run(&[]).to_string(), help);
    // It never waits for a pipe, and never takes it for a prompt.
    let run = world.start(world.cmd(&[]), Stdin::Open, Stdout::Captured);
    assert_eq!(run.finish().to_string(), help);
    assert_eq!(world.run_with_stdin(&[], "hi\n").to_string(), help);
    untouched(&world);
}

/// DECISIONS 20, 23: a terminal at which nobody sits is none.
#[test]
fn a_bare_call_with_nobody_there_is_help() {
    for variable in ["CI", "ZORI_AGENT"] {
        let mut world = bare_world();
        world.set_var(variable, "1");
        let (status, drawn) = world.pty(&[], Size::CLASSIC).finish();
        assert_eq!(status.code(), Some(0), "{drawn}");
        assert_eq!(drawn.replace("\r\n", "\n"), world.run(&["--help"]).stdout());
    }
}
