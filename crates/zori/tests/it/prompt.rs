//! Where the prompt comes from: the command line, standard input, or both (CLI-3, DECISIONS 22).

use zori_testkit::anthropic;
use zori_testkit::pty::Size;
use zori_testkit::running::{Stdin, Stdout};

use crate::world::{in_shell, with_model, world};

/// Returns what the model was asked when run like this.
#[track_caller]
fn asked(args: &[&str], stdin: &str) -> String {
    let (world, server) = with_model([anthropic::text("Hello")]);
    let output = world.run_with_stdin(args, stdin);
    assert_eq!(output.to_string(), "Hello\n[exit status: 0]");
    server.request(0).conversation()
}

#[test]
fn from_standard_input_alone() {
    assert_eq!(asked(&["exec"], "What is\nthis?\n"), "user: What is\nthis?\n");
}

#[test]
fn piped_text_is_appended_to_the_prompt() {
    assert_eq!(asked(&["exec", "-p", "Review this"], "diff\n+a\n"), "user: Review this\n\ndiff\n+a\n");
    assert_eq!(asked(&["-p", "Review this"], "diff\n"), "user: Review this\n\ndiff\n");
}

#[test]
fn nothing_on_standard_input_changes_nothing() {
    assert_eq!(asked(&["exec", "-p", "hi"], ""), "user: hi\n");
    assert_eq!(asked(&["exec", "-p", "hi"], " \n"), "user: hi\n");
}

#[test]
fn a_dash_is_standard_input() {
    assert_eq!(asked(&["exec", "-p", "-"], "from stdin\n"), "user: from stdin\n");
    assert_eq!(asked(&["exec", "-"], "from stdin\n"), "user: from stdin\n");
    assert_eq!(asked(&["exec", "-p", "hi", "-"], "from stdin\n"), "user: hi\n\nfrom stdin\n");
    assert_eq!(asked(&["exec", "-", "-p", "hi"], "from stdin\n"), "user: hi\n\nfrom stdin\n");
}

#[test]
fn a_prompt_may_look_like_a_flag() {
    assert_eq!(asked(&["exec", "-p", "--help me"], ""), "user: --help me\n");
    assert_eq!(asked(&["exec", "--prompt=-x"], ""), "user: -x\n");
}

/// Nothing is done before it is clear that there is a prompt.
#[test]
fn no_prompt_at_all() {
    for args in
        [&["exec"][..], &["exec", "-p", ""], &["exec", "-p", " \n"], &["exec", "-"], &["exec", "-p", "-"]]
    {
        let (world, server) = with_model([anthropic::text("Hello")]);
        assert_eq!(
            world.run(args).to_string(),
            "------- stderr -------\nError: there is no prompt\nHint: give one with `-p TEXT`, or on standard input\n\
             [exit status: 2]",
            "{args:?}"
        );
        assert_eq!((server.count(), world.base().exists()), (0, false));
    }
}

#[test]
fn a_prompt_without_its_flag() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    insta::assert_snapshot!(world.run(&["exec", "hi", "-p", "ho"]), @"
    ------- stderr -------
    Error: there are two prompts: `-p` and an argument
    Hint: leave one of them out; a lone `-` adds standard input to `-p`
    [exit status: 2]
    ");
    insta::assert_snapshot!(world.run(&["exec", "hi"]), @"
    Hello
    [exit status: 0]
    ");
    assert_eq!(server.count(), 1);
}

const LIMIT: usize = 10 << 20;

#[test]
fn up_to_ten_mebibytes() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    world.run_with_stdin(&["exec", "--no-save"], vec![b'x'; LIMIT]).success();
    assert_eq!(server.request(0).messages()[0]["content"][0]["text"].as_str().map(str::len), Some(LIMIT));
}

#[test]
fn over_ten_mebibytes() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    insta::assert_snapshot!(world.run_with_stdin(&["exec"], vec![b'x'; LIMIT + 1]), @r"
    ------- stderr -------
    Error: the prompt on standard input is larger than 10485760 bytes
    Hint: put it into a file in the root and ask the model to read that
    [exit status: 2]
    ");
    assert_eq!(server.count(), 0);
}

#[test]
fn bytes_that_are_no_text() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    insta::assert_snapshot!(world.run_with_stdin(&["exec"], b"caf\xe9\n"), @r"
    ------- stderr -------
    Error: the prompt on standard input is not UTF-8 text (byte 3)
    [exit status: 2]
    ");
    assert_eq!(server.count(), 0);
}

/// An inherited pipe that nobody ever writes to or closes must not hang a run.
#[test]
fn a_pipe_that_never_speaks_is_left_alone() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    let run = world.start(world.cmd(&["exec", "-p", "hi"]), Stdin::Open, Stdout::Captured);
    insta::assert_snapshot!(run.finish(), @r"
    Hello
    ------- stderr -------
    Nothing arrived on standard input within 3 seconds; going on without it (`-` waits for it)
    [exit status: 0]
    ");
    assert_eq!(server.request(0).conversation(), "user: hi\n");
}

#[test]
fn whoever_waits_is_told_and_waits_as_long_as_it_takes() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    let mut run = world.start(world.cmd(&["exec"]), Stdin::Open, Stdout::Captured);
    run.wait_for_stderr("standard input until it ends").write_stdin("What ");
    run.write_stdin("now?").close_stdin();
    insta::assert_snapshot!(run.finish(), @r"
    Hello
    ------- stderr -------
    Reading the prompt from standard input until it ends...
    [exit status: 0]
    ");
    assert_eq!(server.request(0).conversation(), "user: What now?\n");
}

/// Once the first byte is there, the rest is waited for.
#[test]
fn a_pipe_that_speaks_in_time_is_read_to_its_end() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    let mut run = world.start(world.cmd(&["exec", "-p", "hi"]), Stdin::Open, Stdout::Captured);
    run.write_stdin("one ").wait_for_stderr("standard input until it ends");
    run.write_stdin("two").close_stdin();
    run.finish().success();
    assert_eq!(server.request(0).conversation(), "user: hi\n\none two\n");
}

#[test]
fn a_dash_waits_for_a_pipe_that_is_slow_to_speak() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    let mut run = world.start(world.cmd(&["exec", "-p", "hi", "-"]), Stdin::Open, Stdout::Captured);
    run.wait_for_stderr("standard input until it ends").write_stdin("late").close_stdin();
    run.finish().success();
    assert_eq!(server.request(0).conversation(), "user: hi\n\nlate\n");
}

#[test]
fn a_closed_standard_input_is_an_empty_one() {
    let (world, server) = with_model([anthropic::text("Hello")]);
    let closed = |args: &[&str]| {
        let command = in_shell(&world, "exec \"$0\" \"$@\" <&-", args);
        world.start(command, Stdin::Null, Stdout::Captured).finish()
    };
    assert_eq!(closed(&["exec", "-p", "hi"]).to_string(), "Hello\n[exit status: 0]");
    assert_eq!(closed(&["exec"]).code(), Some(2));
    assert_eq!(server.count(), 1);
}

#[test]
fn a_terminal_is_not_read_unless_asked_for() {
    let (world, server) = with_model([anthropic::text("Hello"), anthropic::text("Hello again")]);
    let (status, drawn) = world.pty(&["exec", "-p", "hi"], Size::CLASSIC).finish();
    assert_eq!((status.code(), drawn.as_str()), (Some(0), "Hello\r\n"));

    let (status, drawn) = world.pty(&["exec"], Size::CLASSIC).finish();
    assert_eq!(status.code(), Some(2));
    assert_eq!(drawn, "Error: there is no prompt\r\nHint: give one with `-p TEXT`, or on standard input\r\n");

    let mut typing = world.pty(&["exec", "-"], Size::CLASSIC);
    typing.wait_for("standard input until it ends").send("typed\r").send("\x04").wait_for("Hello again");
    assert_eq!(typing.finish().0.code(), Some(0));
    assert_eq!(server.request(1).conversation(), "user: typed\n");
}

/// The prompt is needed first: a missing key is no reason to wait for an endless pipe.
#[test]
fn a_missing_key_is_told_without_waiting() {
    let world = world();
    let run = world.start(world.cmd(&["exec"]), Stdin::Open, Stdout::Captured);
    assert_eq!(run.finish().code(), Some(8));
}
