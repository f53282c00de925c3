//! Help and version: pure text, from anywhere, leaving nothing behind.

use zori_testkit::pty::Size;
use zori_testkit::running::{Stdin, Stdout};

use super::{bare_world, untouched};

#[test]
fn help() {
    let world = bare_world();
    insta::assert_snapshot!(world.run(&["--help"]), @r#"
    A terminal coding agent: one engine, every front end

    Usage: zori [OPTIONS] [COMMAND]

    Commands:
      exec               Run one prompt and print the answer
      chat               Chat with the model at a terminal
      tui                Open the full-screen panel: chats in tabs, cards, feed, themes
      demo               Watch a scripted model edit and test a small program; needs no key
      start              Run for a GUI: flat JSON lines, in the dialect of Yume
      acp                Serve an editor by the Agent Client Protocol on standard input and output
      mcp                Use MCP servers, see their tools, and serve other agents by the same protocol
      sessions           List, show, search, export, fork, rewind, remove and resume saved sessions
      undo               Put back the files that the last turn in this project changed
      handoff            Print what another session needs to go on
      index              Build, show, search and clear the code index of a project
      memory             Find, list, show, forget and export what was said in earlier sessions of a project
      project            List and show the folders that something is kept of, and delete all of it
      schedule           Have prompts run at set times
      models             List and show the models there are
      auth               Log in, log out, and see where keys come from
      vault              Keep secrets in an encrypted file, and refer to them
      config             Find, show or create the config file
      context            See what a server's agent is told of the workspace
      policy             See what would happen to a call, and why
      trust              Decide whether a folder's own settings count
      import             Take over servers, skills, commands, instructions and rules of other agents
      skills             List, show, check and approve skills
      doctor             Check that everything is there, and say what mends what is not
      status             Show what is kept where
      cleanup            Remove what runs that are gone left behind
      audit-log          Show what was decided and what ran, or check that nobody changed it
      changelog          Show what changed, version by version
      check-permissions  Show which scopes commands need
      batch              Run many commands, a JSON object a line
      generate-skills    Write files that tell another agent how to use this program
      manifest           Print all commands, flags and exit codes as JSON
      errors             What can go wrong
      completions        Print completions for a shell
      man                Print the manual page

    Options:
      -h, --help             Print help; `--help --all` shows every option
      -V, --version          Print the version
      -o, --output <FORMAT>  What to print: json, jsonl, tsv, plain, table or id
          --root <DIR>       Working directory of the tools [default: .]
          --model <MODEL>    The model, or `provider:model`
          --provider <NAME>  Who serves the model
          --session <ID>     Go on with this session, or start one of this name
          --no-save          Save no session

    Without a command and at a terminal this opens the chat; `-p TEXT` is `exec -p TEXT`.
    `--help --all` shows every option.

    Examples:
      zori demo                                watch it work, without a key
      zori -p "What does this project do?"     ask; the answer is on stdout
      git diff | zori -p "Review this change"  a pipe goes with the prompt
      zori "fix the failing test"              chat about it; `:q` leaves
      zori -c                                  go on with the latest session of this folder
      zori doctor                              what is missing here

    On a pipe every result is one line of JSON; `--output plain` or
    `ZORI_OUTPUT=plain` gives text.

    Exit codes:
      0 done; 2 rejected before anything was done; 3 failed after a change;
      4 something must be there first; 5 not found; 6 exists already; 7 denied;
      8 credential; 10 time over; 11 wait; 12 unavailable; 1 anything else
    [exit status: 0]
    "#);
    assert_eq!(world.run(&["-h"]).to_string(), world.run(&["--help"]).to_string());
    untouched(&world);
}

#[test]
fn all_of_the_help() {
    let world = bare_world();
    let all = world.run(&["--help", "--all"]);
    insta::assert_snapshot!(all, @r#"
    A terminal coding agent: one engine, every front end

    Usage: zori [OPTIONS] [COMMAND]

    Commands:
      exec               Run one prompt and print the answer
      chat               Chat with the model at a terminal
      tui                Open the full-screen panel: chats in tabs, cards, feed, themes
      demo               Watch a scripted model edit and test a small program; needs no key
      start              Run for a GUI: flat JSON lines, in the dialect of Yume
      acp                Serve an editor by the Agent Client Protocol on standard input and output
      mcp                Use MCP servers, see their tools, and serve other agents by the same protocol
      sessions           List, show, search, export, fork, rewind, remove and resume saved sessions
      undo               Put back the files that the last turn in this project changed
      handoff            Print what another session needs to go on
      index              Build, show, search and clear the code index of a project
      memory             Find, list, show, forget and export what was said in earlier sessions of a project
      project            List and show the folders that something is kept of, and delete all of it
      schedule           Have prompts run at set times
      models             List and show the models there are
      auth               Log in, log out, and see where keys come from
      vault              Keep secrets in an encrypted file, and refer to them
      config             Find, show or create the config file
      context            See what a server's agent is told of the workspace
      policy             See what would happen to a call, and why
      trust              Decide whether a folder's own settings count
      import             Take over servers, skills, commands, instructions and rules of other agents
      skills             List, show, check and approve skills
      doctor             Check that everything is there, and say what mends what is not
      status             Show what is kept where
      cleanup            Remove what runs that are gone left behind
      audit-log          Show what was decided and what ran, or check that nobody changed it
      changelog          Show what changed, version by version
      check-permissions  Show which scopes commands need
      batch              Run many commands, a JSON object a line
      generate-skills    Write files that tell another agent how to use this program
      manifest           Print all commands, flags and exit codes as JSON
      errors             What can go wrong
      completions        Print completions for a shell
      man                Print the manual page

    Options:
      -h, --help                        Print help; `--help --all` shows every option
      -V, --version                     Print the version
      -o, --output <FORMAT>             What to print: json, jsonl, tsv, plain, table or id
          --format <FORMAT>             What to print: text (plain) or json
          --json                        Print JSON: the same as `--format json`
          --stream                      Print JSON line by line: the same as `--output jsonl`
          --no-stream                   Print one JSON envelope: the same as `--output json`
          --fields <NAMES>              Print only these fields, separated by commas
          --timeout <DURATION>          End the command after 500ms, 30s, 5m, 1h; 0: never
          --non-interactive             Ask nothing; fail where a question would be asked
          --verbose                     Say more on standard error
          --debug                       Say everything on standard error
          --no-color                    Print without colour
          --validate-only               Check the arguments and do nothing
          --raw-payload <JSON>          Take the arguments from a JSON object, each by the name of its flag
          --stable-output               Leave out what differs from run to run
          --max-output <BYTES>          Cut the answer to this size
          --max-field <CHARS>           Cut texts within the answer to this length; 0: never
          --width <COLUMNS>             Cut the lines of a table to this width
          --unmask                      Show values that look like secrets
          --no-injection-protection     Leave out the marks on text that others wrote
          --warnings-as-errors          Exit with 1 where there are warnings
          --no-update-check             Accepted; there is nothing to switch off
          --schema-version <VERSION>    Fail unless answers have this form; there is only 1
          --schema                      Print what the command takes and returns, as JSON
          --output-schema               Print the JSON Schema of the command's data
          --root <DIR>                  Working directory of the tools [default: .]
          --model <MODEL>               The model, or `provider:model`
          --provider <NAME>             Who serves the model
          --session <ID>                Go on with this session, or start one of this name
          --no-save                     Save no session
          --no-checkpoints              Capture nothing of what calls change; undo is off
          --system-prompt <TEXT>        Replace the configured system prompt; empty clears it
          --permission-mode <MODE>      What runs without a question: yolo, acceptEdits, default, paranoid, plan, dontAsk, deny
          --sandbox <LEVEL>             What commands may write, held by a sandbox: workspace, read-only; off: no sandbox
          --allow <RULES>               Let these calls run, such as `Bash(git diff:*)`
          --ask <RULES>                 Ask about these calls in every mode
          --deny <RULES>                Never let these calls run
      -y, --yes                         Answer every question with yes; what is denied stays denied
          --config <FILE>               Read the settings from this file
          --no-config                   Read no settings; what the administrator and the project forbid holds
          --vault <DIR>                 The folder of the vault; without it `ZORI_VAULT`, then the base directory
          --bare                        Start nothing in the background; with `--json`, standard input is commands
      -q, --quiet                       Print nothing on standard error
          --retries <N>                 How often a failed request is tried again
          --retry-delay <MS>            The first wait before that, in milliseconds
          --connect-timeout <DURATION>  How long a connection may take; 0: for ever
          --proxy <URL>                 Send every request through this proxy, whatever variables say
          --no-proxy                    Send every request straight to its host, whatever variables say
          --thinking <LEVEL>            How much the model thinks: off, low, medium, high, max
          --max-turns <N>               Ask the model at most N times for one prompt
          --max-budget-usd <USD>        Stop when the run has cost that much
          --max-tokens-total <N>        Stop when the run has used that many tokens, read and written
          --show-config                 Print the settings that hold and where each comes from, and do nothing
          --as <NAME>                   Behave as the program of this name: zori, zdx, zeph, yume-cli, a0

    Without a command and at a terminal this opens the chat; `-p TEXT` is `exec -p TEXT`.
    `--help --all` shows every option.

    Examples:
      zori demo                                watch it work, without a key
      zori -p "What does this project do?"     ask; the answer is on stdout
      git diff | zori -p "Review this change"  a pipe goes with the prompt
      zori "fix the failing test"              chat about it; `:q` leaves
      zori -c                                  go on with the latest session of this folder
      zori doctor                              what is missing here

    On a pipe every result is one line of JSON; `--output plain` or
    `ZORI_OUTPUT=plain` gives text.

    Exit codes:
      0 done; 2 rejected before anything was done; 3 failed after a change;
      4 something must be there first; 5 not found; 6 exists already; 7 denied;
      8 credential; 10 time over; 11 wait; 12 unavailable; 1 anything else
    [exit status: 0]
    "#);
    assert_eq!(world.run(&["--all", "--help"]).to_string(), all.to_string());
}

#[test]
fn help_of_a_command() {
    let world = bare_world();
    insta::assert_snapshot!(world.run(&["exec", "--help"]), @r#"
    Run one prompt and print the answer

    Usage: zori exec [OPTIONS] [PROMPT]

    Arguments:
      [PROMPT]  The prompt; `-` waits for standard input, however long it takes

    Options:
      -p, --prompt <TEXT>           The prompt; `-` reads it from standard input
          --image <FILE>            Show the model an image with the prompt; may be repeated
      -c, --continue                Go on with the newest session of this folder
      -r, --resume <ID>             Go on with this session, by its name or the first letters; at a terminal without ID: choose one
          --dry-run                 Say what would be done and do nothing
          --input-file <PATH>       Read the input from a file; `-`: standard input
      -h, --help                    Print help; `--help --all` shows every option
      -V, --version                 Print the version
      -o, --output <FORMAT>         What to print: plain, json or jsonl
          --timeout <DURATION>      End the command after 500ms, 30s, 5m, 1h; 0: never
          --root <DIR>              Working directory of the tools [default: .]
          --model <MODEL>           The model, or `provider:model`
          --provider <NAME>         Who serves the model
          --session <ID>            Go on with this session, or start one of this name
          --no-save                 Save no session
          --permission-mode <MODE>  What runs without a question: yolo, acceptEdits, default, paranoid, plan, dontAsk, deny
          --sandbox <LEVEL>         What commands may write, held by a sandbox: workspace, read-only; off: no sandbox
      -y, --yes                     Answer every question with yes; what is denied stays denied

    Examples:
      zori exec "What does main.rs do?"
          a question
      git diff | zori exec -p "Review this change"
          with what another program says
      zori exec --json -p "What does main.rs do?"
          events for a program
      zori exec --image screen.png -p "What is wrong here?"
          with a picture
    [exit status: 0]
    "#);
    insta::assert_snapshot!(world.run(&["sessions", "--help"]), @r"
    List, show, search, export, fork, rewind, remove and resume saved sessions

    Usage: zori sessions [OPTIONS] [COMMAND]

    Commands:
      list    List saved sessions, newest first
      show    Print the transcript of a session
      resume  Go on with a session: chat, or with -p one turn
      search  Find where something was said, in the newest session first
      export  Print a session as one document: Markdown, JSON or a page
      fork    Copy a session, to go on in another direction
      rm      Remove sessions for good
      rewind  Go back to before a turn: files, conversation or both
      diff    Print what a session changed, as a unified diff

    Options:
      -h, --help             Print help; `--help --all` shows every option
      -V, --version          Print the version
      -o, --output <FORMAT>  What to print: json, jsonl, tsv, plain, table or id
          --root <DIR>       Working directory of the tools [default: .]
          --model <MODEL>    The model, or `provider:model`
          --provider <NAME>  Who serves the model
          --session <ID>     Go on with this session, or start one of this name
          --no-save          Save no session
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["sessions", "show", "--help"]), @"
    Print the transcript of a session

    Usage: zori sessions show [OPTIONS] <ID>

    Arguments:
      <ID>  The session

    Options:
      -h, --help             Print help; `--help --all` shows every option
      -V, --version          Print the version
      -o, --output <FORMAT>  What to print: json, jsonl, tsv, plain, table or id
          --root <DIR>       Working directory of the tools [default: .]
          --model <MODEL>    The model, or `provider:model`
          --provider <NAME>  Who serves the model
          --session <ID>     Go on with this session, or start one of this name
          --no-save          Save no session

    Examples:
      zori sessions show refactoring
          read it
      zori sessions list --limit 1 --output id | zori sessions show -
          the latest
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
