//! The line chat at a terminal. How keys go in and what is read off the screen is in `chat/screen.rs`.

pub mod screen;

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;
use zori_testkit::env::TestEnv;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::reply::Reply;
use zori_testkit::{anthropic, wait};

use self::screen::{over, type_keys, type_line};
use crate::sessions::{only_session, put_session, saved};
use crate::world::{in_shell, with_model, world};

fn chat(world: &TestEnv, args: &[&str]) -> Pty {
    world.pty(args, Size::CLASSIC)
}

/// Chapter 10, CHAT-1.
#[test]
fn a_conversation() {
    let (world, model) = with_model([
        anthropic::text("Looking.").tool_use("t1", "bash", json!({"command": "echo hi"})),
        anthropic::text("It says hi."),
        anthropic::text("Bye."),
    ]);
    let mut pty = chat(&world, &[]);
    type_line(&mut pty, 1, "look");
    type_line(&mut pty, 2, "");
    type_line(&mut pty, 3, "thanks");
    type_line(&mut pty, 4, ":q");
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    Session: $SESSION
    you> look
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Looking.
    ✶ Running $ echo hi  #1
    ● $ echo hi  exit 0 · T  #1
      hi
    ✶ Waiting for claude-sonnet-5-5
    It says hi.
    you>
    you> thanks
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Bye.
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    insta::assert_snapshot!(model.request(2).conversation(), @r#"
    user: look
    assistant: Looking.
    assistant: tool_use t1 bash {"command":"echo hi"}
    user: tool_result t1 hi
    assistant: It says hi.
    user: thanks
    "#);
    assert_eq!(saved(&world, &only_session(&world)).lines().count(), 8);
}

#[test]
fn control_d_ends_it() {
    let (world, model) = with_model([anthropic::text("x")]);
    let mut pty = chat(&world, &["--no-save"]);
    type_keys(&mut pty, 1, "\x04");
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you>
    [exit status: 0]
    ");
    assert_eq!(model.count(), 0);
}

/// INT-1: the turn ends, the prompt returns, the message is dropped from the history in memory.
#[test]
fn control_c_during_a_turn() {
    let (world, model) = with_model([Reply::stall(), anthropic::text("Here.").reply()]);
    let mut pty = chat(&world, &["--no-save"]);
    type_line(&mut pty, 1, "one");
    model.wait_for_requests(1);
    pty.send("\x03");
    type_line(&mut pty, 2, "two");
    type_line(&mut pty, 3, ":q");
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> one
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    ^C
    ■ Stopped after T
    you> two
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Here.
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    assert_eq!(model.request(1).conversation(), "user: two\n");
}

#[test]
fn control_c_at_the_prompt() {
    let (world, model) = with_model([anthropic::text("Hi.")]);
    let mut pty = chat(&world, &["--no-save"]);
    type_keys(&mut pty, 1, "not this");
    pty.wait_for("not this").send("\x03");
    type_line(&mut pty, 2, "but this");
    type_keys(&mut pty, 3, "\x03");
    type_keys(&mut pty, 4, "\x03");
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> not this
    (Ctrl-C again, Ctrl-D or :q to quit)
    you> but this
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Hi.
    you>
    (Ctrl-C again, Ctrl-D or :q to quit)
    you>
    [exit status: 0]
    ");
    assert_eq!(model.request(0).conversation(), "user: but this\n");
}

/// EXIT-3, PERR-5.
#[test]
fn an_error_of_the_provider() {
    let (world, model) = with_model([
        anthropic::http_error(400, "invalid_request_error", "no"),
        anthropic::text("Better.").reply(),
    ]);
    let mut pty = chat(&world, &["--no-save"]);
    type_line(&mut pty, 1, "one");
    type_line(&mut pty, 2, "two");
    type_line(&mut pty, 3, "/exit");
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> one
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    ✗ HTTP 400: no
      /model takes another · details: /show 1
    you> two
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Better.
    you> /exit
    Goodbye!
    [exit status: 0]
    ");
    assert_eq!(model.request(1).conversation(), "user: two\n");
}

/// PROV-2.
#[test]
fn without_a_key() {
    let world = world();
    let mut pty = chat(&world, &["--no-save"]);
    type_line(&mut pty, 1, "hi");
    type_line(&mut pty, 2, "/quit");
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    Error: ANTHROPIC_API_KEY is not set
    Hint: set ANTHROPIC_API_KEY to your Anthropic key
    Hint: or store it: `zori auth login --provider anthropic --with-token`
    Hint: a server on this machine (Ollama, llama.cpp, LM Studio, vLLM) needs none: `--provider ollama`
    Hint: `zori demo` shows what this program does without a key
    you> hi
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    ✗ ANTHROPIC_API_KEY is not set
      /login stores a key · set ANTHROPIC_API_KEY to your Anthropic key
    you> /quit
    Goodbye!
    [exit status: 0]
    ");
}

/// CMP-5, line by line: it runs without the model, which reads of it with the next prompt.
#[test]
fn a_command_of_ones_own() {
    let (world, model) = with_model([anthropic::text("I see.")]);
    let mut pty = chat(&world, &["--no-save"]);
    type_line(&mut pty, 1, "!echo from-me");
    type_line(&mut pty, 2, "!!echo hidden");
    assert_eq!(model.count(), 0);
    type_line(&mut pty, 3, "what did I run?");
    type_line(&mut pty, 4, ":q");
    over(pty);
    insta::assert_snapshot!(model.request(0).conversation(), @r"
    user: what did I run?
    user: The user ran this command in the terminal, beside the conversation:
    $ echo from-me
    from-me
    ");
}

#[test]
fn slash_commands() {
    let (world, model) = with_model([anthropic::text("Hello."), anthropic::text("Other.")]);
    let mut pty = chat(&world, &["--no-save"]);
    type_line(&mut pty, 1, "/history");
    type_line(&mut pty, 2, "hi");
    type_line(&mut pty, 3, "/history");
    type_line(&mut pty, 4, "/model --forget");
    type_line(&mut pty, 5, "/model claude-sonnet-4-5");
    type_line(&mut pty, 6, "/status");
    type_line(&mut pty, 7, "/cost");
    type_line(&mut pty, 8, "/help");
    type_line(&mut pty, 9, "/hlep me");
    type_line(&mut pty, 10, "/etc/hosts is what?");
    type_line(&mut pty, 11, "/quit");
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> /history
    · Nothing has been said yet.
    you> hi
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Hello.
    you> /history
    › hi
    Hello.
    you> /model --forget
    Later chats of this project begin with the model of the settings again.
    you> /model claude-sonnet-4-5
    Model: claude-sonnet-4-5
    you> /status
    Model:    claude-sonnet-4-5 (anthropic)
    Session:  $SESSION (not saved)
    Root:     $WORK
    Sandbox:  off
    Undo:     off (the session is not saved)
    Messages: 2
    Context:  about 15 of 200000 tokens
    Tokens:   10 in, 5 out, 0 read from cache (hits: unknown), 0 written to cache, in 1 turn
    Cost:     $0.000070
    you> /cost
    Input:        10 tokens
    Output:       5 tokens
    Cache reads:  0 tokens
    Cache writes: 0 tokens
    Cache hits:   unknown; last turn unknown
    Turns:        1
    Cost:         $0.000070
    you> /help
    Session
      /help                 Show these commands
      /exit                 Leave the chat (also :q, Ctrl-D)
      /new [TITLE]          Start a new session
      /clear                Clear the screen and start a new session
      /resume [ID]          Go on with another session
      /rename TITLE         Give this session a title of your own
      /fork                 Go on in a copy of this session
      /cd FOLDER            Go on in another folder
      /compact [FOCUS]      Summarise older messages; undo: take that back
      /recap                Sum this session up: decisions, facts, open questions
      /loop [PROMPT]        Ask after every turn whether to continue
      /export [FILE]        Write this conversation to a file: .md, .json or .html
      /demo                 Watch a scripted model at work; needs no key
      /history              Show all of this conversation
      /btw QUESTION         Ask beside the conversation
    Look
      /review [REF]         Review uncommitted changes, or what a branch or commit
                            changed
      /jobs [kill ID]       List the commands that run in the background, or end
                            one
      /mcp [reconnect|enable|disable|login|logout|log NAME] List the MCP servers,
                            or change one
      /show N               Open the cell with this number
      /copy [N|code]        Copy the last answer, its last code, or a cell
      /find [WORDS]         Search all cells
      /todo                 Show the task list
      /rerun N              Run the command of the cell with this number again
    Configuration
      /model [NAME]         Show or change the model
      /provider [NAME]      Show the provider, or go on with the default model of
                            another
      /project [NAME]       Show the projects of the config file, or go on with
                            one, in a new session
      /agent [NAME]         Show the agent profiles, or tell an Agent Zero server
                            another one
      /effort [LEVEL]       Show or change how much the model thinks
      /login [PROVIDER]     Store a key, or log in, and go on with it
      /mode [NAME]          Show or change the permission mode; --save behind it
                            keeps it for later chats
      /security [MODE|shell] Show the mode and whether shell commands may run, or
                            change either for this chat
      /permissions          Show the mode and the rules, and where they come from
      /config               Show each setting that is set, and where it comes from
      /theme NAME           Change the colours
      /keys [ACTION|KEY|?]  List what keys do; give an action another key; say what
                            a key does
    Context
      /init                 Have the model write AGENTS.md for this project
      /image PATH           Show the model an image with the next prompt, or with
                            words behind the path
      /upload [--send] PATH Copy a file into the folder uploads/ of this project;
                            --send: to an Agent Zero server, too
      /observer [info|on|off|MODE] Show or change the summary of the workspace that
                            an Agent Zero server is sent
      /context [show]       Show how much of the model's window is used, and by
                            what; show: the workspace as text
      /memory [WORDS]       Find what was said in earlier sessions of this project;
                            without words: list it
      /graph [NAME]         Show what is known of things in this project, and what
                            sessions were about
      /ml [TEXT]            Write several lines; an empty one sends them
    Planning
      /plan [GOAL]          Have the model propose steps, and carry them out; also
                            list, status, resume, cancel
      /schedule [ARGS]      List the scheduled jobs of this project; also add,
                            show, rm
    Integration
      /agents               List the sub-agents that were described
      /skills               List the skills and the custom commands
      /skill NAME [TASK]    Have the model follow a skill
      /hooks                List the programs that are told what happens
      /index [WORDS]        Find code in the project's index, `build` or `clear`
                            it; without words: how much is indexed
      /editor               Write the next prompt in $VISUAL or $EDITOR
    Debugging
      /status               Show model, session, root, sandbox and usage
      /doctor               Check that everything is there that a run needs
      /log [N]              Show what was decided and what ran, from the audit log
      /debug-dump [off]     Write every request, response and tool result to a
                            file, or stop doing so
      /feedback             Put together a folder that helps to understand a
                            problem; nothing is sent
      /cost                 Show tokens, cache hits and money of this session
    Alt-Enter or Ctrl-J starts another line; @ completes files; /keys lists keys
    you> /hlep me
    Unknown command /hlep; did you mean /help? (/help shows them all)
    you> /etc/hosts is what?
    ✶ Waiting for claude-sonnet-4-5 · Ctrl-C stops
    Other.
    you> /quit
    Goodbye!
    [exit status: 0]
    ");
    assert_eq!(model.count(), 2, "a mistyped command is not sent");
    assert_eq!(model.request(1).conversation(), "user: hi\nassistant: Hello.\nuser: /etc/hosts is what?\n");
    assert_eq!(model.request(1).json()["model"], "claude-sonnet-4-5");
}

#[test]
fn other_sessions() {
    let (world, model) =
        with_model([anthropic::text("One."), anthropic::text("Two."), anthropic::text("Three.")]);
    let mut pty = chat(&world, &["--session", "first"]);
    type_line(&mut pty, 1, "hi");
    type_line(&mut pty, 2, "/new");
    type_line(&mut pty, 3, "hello");
    type_line(&mut pty, 4, "/resume nope");
    type_line(&mut pty, 5, "/resume");
    pty.wait_for("(Enter: none)").send("1\r");
    type_line(&mut pty, 7, "again");
    type_line(&mut pty, 8, "/resume first");
    type_line(&mut pty, 9, "/clear");
    type_line(&mut pty, 10, "/history");
    type_line(&mut pty, 11, ":q");
    let shown = over(pty).replace("you> Which, 1 to 1? (Enter: none) Which", "Which");
    insta::assert_snapshot!(shown, @r#"
    Warning: Session 'first' does not exist yet; starting it
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    Session: first
    you> hi
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    One.
    you> /new
    Session: $SESSION
    you> hello
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Two.
    you> /resume nope
    Session 'nope' is empty or not found.
    you> /resume
      1  now  hi   2 messages  $0.00  "hi"
    Which, 1 to 1? (Enter: none) 1
    Session: first
    Loaded 2 previous messages
    › hi
    One.
    you> again
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Three.
    you> /resume first
    This is the session you are in.
    you> /clear
    Session: $SESSION
    you> /history
    · Nothing has been said yet.
    you> :q
    Goodbye!
    [exit status: 0]
    "#);
    assert_eq!(model.request(1).conversation(), "user: hello\n");
    assert_eq!(model.request(2).conversation(), "user: hi\nassistant: One.\nuser: again\n");
    assert_eq!(world.session_files().len(), 2, "a session in which nothing was said leaves no file");
}

#[test]
fn lines_are_remembered() {
    let (world, model) = with_model([anthropic::text("a"), anthropic::text("b"), anthropic::text("c")]);
    let mut pty = chat(&world, &[]);
    type_line(&mut pty, 1, "what is new?");
    type_line(&mut pty, 2, "\x1b[A");
    type_line(&mut pty, 3, ":q");
    assert_eq!(pty.finish().0.code(), Some(0));
    assert_eq!(model.request(1).conversation(), "user: what is new?\nassistant: a\nuser: what is new?\n");
    // In the next chat too, and for the owner only.
    let mut pty = chat(&world, &[]);
    type_line(&mut pty, 1, "\x1b[A\x1b[A");
    type_line(&mut pty, 2, ":q");
    assert_eq!(pty.finish().0.code(), Some(0));
    assert_eq!(model.request(2).conversation(), "user: what is new?\n");
    let mode = fs::metadata(world.base().join("chat_history")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// PATH-3.
#[test]
fn nothing_is_remembered_without_saving() {
    let (world, _model) = with_model([anthropic::text("a")]);
    let mut pty = chat(&world, &["--no-save"]);
    type_line(&mut pty, 1, "secret");
    type_line(&mut pty, 2, ":q");
    assert_eq!(pty.finish().0.code(), Some(0));
    assert!(!world.base().exists());
}

#[test]
fn several_lines() {
    let (world, model) = with_model([anthropic::text("a"), anthropic::text("b"), anthropic::text("c")]);
    let mut pty = chat(&world, &["--no-save"]);
    type_line(&mut pty, 1, "one\x1b\rtwo");
    type_keys(&mut pty, 2, "three\\\r");
    pty.wait_for("...> ").send("four\r");
    // What is pasted is not sent before Enter is pressed.
    type_line(&mut pty, 3, "\x1b[200~five\nsix\x1b[201~");
    type_line(&mut pty, 4, ":q");
    assert_eq!(pty.finish().0.code(), Some(0));
    assert_eq!(
        model.request(2).conversation(),
        "user: one\ntwo\nassistant: a\nuser: three\nfour\nassistant: b\nuser: five\nsix\n"
    );
}

#[test]
fn completion() {
    let (world, model) = with_model([anthropic::text("a")]);
    world.write("src/lonely.rs", "");
    let mut pty = chat(&world, &["--no-save"]);
    type_keys(&mut pty, 1, "see @sr\t");
    pty.wait_for("@src/").send("lon\t").wait_for("@src/lonely.rs").send("\r");
    type_keys(&mut pty, 2, "/stat\t");
    pty.wait_for("/status").send("\r");
    type_line(&mut pty, 3, ":q");
    let text = over(pty);
    assert!(text.contains("Messages: 2\n"), "{text}");
    let along = "user: The user refers to this file, as it is now: src/lonely.rs\n```\n\n```\n";
    assert_eq!(model.request(0).conversation(), format!("user: see @src/lonely.rs\n{along}"));
}
#[test]
fn a_resumed_session() {
    let (world, model) = with_model([anthropic::text("Yes.")]);
    put_session(
        &world,
        "s",
        "{\"type\":\"meta\",\"schema_version\":1,\"ts\":\"\"}\n\
         {\"type\":\"message\",\"role\":\"user\",\"text\":\"before\",\"ts\":\"\"}\n\
         {\"type\":\"message\",\"role\":\"assistant\",\"text\":\"ok\",\"ts\":\"\"}\n",
    );
    world.write("AGENTS.md", "Be kind.");
    let mut pty = chat(&world, &["sessions", "resume", "--any"]);
    type_line(&mut pty, 1, "still there?");
    type_line(&mut pty, 2, ":q");
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    Session: s
    Loaded AGENTS.md from:
      - $WORK/AGENTS.md
    Loaded 2 previous messages
    › before
    ok
    you> still there?
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    Yes.
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    assert_eq!(model.request(0).conversation(), "user: before\nassistant: ok\nuser: still there?\n");
}

/// OUT-9.
#[test]
fn no_colour_when_not_wanted() {
    let (mut world, _model) = with_model([anthropic::text("Hi.")]);
    world.set_var("NO_COLOR", "1");
    let mut pty = chat(&world, &["--no-save"]);
    type_line(&mut pty, 1, "hi");
    type_line(&mut pty, 2, ":q");
    let drawn = pty.finish().1;
    let colours = drawn.split("\x1b[").skip(1).filter(|rest| {
        let codes = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == ';');
        codes.starts_with('m') && !rest.starts_with('m') && !rest.starts_with("0m")
    });
    assert_eq!(colours.collect::<Vec<_>>(), [""; 0]);
}

/// OUT-9: what a model says cannot command the terminal.
#[test]
fn control_characters_are_made_visible() {
    let (world, _model) = with_model([anthropic::text("a\x1b]0;title\x07b\x1b[31mc")]);
    let mut pty = chat(&world, &["--no-save"]);
    type_line(&mut pty, 1, "hi");
    type_line(&mut pty, 2, ":q");
    let drawn = pty.finish().1;
    assert!(drawn.contains("a‹U+001B›]0;title‹U+0007›b‹U+001B›[31mc\r\n"), "{drawn}");
}

/// Runs the chat below a shell that says afterwards whether the terminal is as before.
fn below_a_shell(world: &TestEnv) -> (Pty, Pid) {
    let script = "before=$(stty -g); sh -c 'echo $$ > new; mv new pid; exec \"$0\" --no-save' \"$0\"; \
                  code=$?; test \"$(stty -g)\" = \"$before\" && echo as before; exit $code";
    let mut outer = in_shell(world, script, &[]);
    outer.env("TERM", "xterm-256color").env("ACCESSIBLE", "1");
    let pty = Pty::start(outer, Size::CLASSIC, world.rewrite());
    wait::until("the chat to start", || world.work().join("pid").exists());
    let pid = world.read("pid").trim().parse().ok().and_then(Pid::from_raw);
    (pty, pid.expect("the shell wrote a process id"))
}

/// INT-5, CAN-3.
#[test]
fn sigterm_at_the_prompt() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let (mut pty, pid) = below_a_shell(&world);
    type_keys(&mut pty, 1, "half a li");
    pty.wait_for("half a li");
    kill_process(pid, Signal::TERM).unwrap();
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> half a li

    as before
    [exit status: 143]
    ");
}

#[test]
fn sighup_at_the_prompt() {
    let (world, _model) = with_model([anthropic::text("x")]);
    let (mut pty, pid) = below_a_shell(&world);
    type_keys(&mut pty, 1, "half a li");
    pty.wait_for("half a li");
    kill_process(pid, Signal::HUP).unwrap();
    let text = over(pty);
    assert!(text.contains("as before\n[exit status: 129]"), "{text}");
}

/// INT-5: the turn is cancelled first.
#[test]
fn sigterm_during_a_turn() {
    let (world, model) = with_model([Reply::stall()]);
    let mut pty = chat(&world, &["--session", "s"]);
    type_line(&mut pty, 1, "hi");
    model.wait_for_requests(1);
    kill_process(Pid::from_raw(pty.pid() as i32).unwrap(), Signal::TERM).unwrap();
    insta::assert_snapshot!(over(pty), @r"
    Warning: Session 's' does not exist yet; starting it
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    Session: s
    you> hi
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    [exit status: 143]
    ");
    assert!(saved(&world, "s").ends_with(
        "{\"type\":\"interrupted\",\"role\":\"system\",\"text\":\"Interrupted\",\"ts\":\"$TS\"}\n"
    ));
}

/// DECISIONS 25: the terminal is put right, and a turn ends cleanly.
#[test]
fn the_end_of_its_time() {
    let (world, model) = with_model([Reply::stall()]);
    insta::assert_snapshot!(over(chat(&world, &["--no-save", "--timeout", "1s"])), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you>

    Error: the command was not done within 1s (`--timeout`)
    [exit status: 10]
    ");
    let mut pty = chat(&world, &["--no-save", "--timeout", "4s"]);
    type_line(&mut pty, 1, "hi");
    model.wait_for_requests(1);
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: claude-sonnet-5-5
    you> hi
    ✶ Waiting for claude-sonnet-5-5 · Ctrl-C stops
    ✗ The time for this command is over (`--timeout`)
    [exit status: 10]
    ");
}

/// A model of another provider is not sent to this one under its full name.
#[test]
fn a_chat_keeps_its_provider() {
    let (world, model) = with_model([anthropic::text("Hello.")]);
    let mut pty = chat(&world, &["--no-save", "--session", "s"]);
    type_line(&mut pty, 1, "/model openai:gpt-5.4");
    type_line(&mut pty, 2, "/model anthropic:claude-sonnet-4-5");
    type_line(&mut pty, 3, ":q");
    let drawn = over(pty);
    assert!(drawn.contains("Error: this session is with `anthropic`\n"), "{drawn}");
    assert!(
        drawn.contains("Hint: leave it and run `zori sessions resume s --model openai:gpt-5.4`\n"),
        "{drawn}"
    );
    assert!(drawn.contains("Model: claude-sonnet-4-5\n"), "{drawn}");
    assert_eq!(model.count(), 0);
}
