//! The world of a test: an environment of its own for the executable under test.

use std::process::Command;

use serde_json::{Value, json};
use zori_testkit::env::TestEnv;
use zori_testkit::needs;
use zori_testkit::output::CommandOutput;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;

/// An environment without a model, in which utility commands print text on a pipe, too. What programs get instead is the
/// subject of `surface.rs`.
pub fn world() -> TestEnv {
    // The soak run may be about another build of it.
    let binary = std::env::var_os("ZORI_TEST_BINARY").unwrap_or_else(|| env!("CARGO_BIN_EXE_zori").into());
    let mut world = TestEnv::new(binary);
    world.set_var("ZORI_OUTPUT", "plain");
    world
}

/// An environment with a model that gives these replies, one per request.
pub fn with_model<R: Into<Reply>>(replies: impl IntoIterator<Item = R>) -> (TestEnv, ModelServer) {
    let server = ModelServer::strict(replies);
    let mut world = world();
    world.use_server(&server);
    (world, server)
}

/// What the model reads of commands, without how long they ran. That is told of a second and more, and on a busy machine any command takes so long.
pub fn timeless(text: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, behind)) = rest.split_once(" after ") {
        out.push_str(before);
        rest = match behind.split_once(" s").filter(|(number, _)| number.parse::<f64>().is_ok()) {
            Some((_, behind)) => match out.strip_suffix("exit 0").map(str::len) {
                // A command that ended well says nothing else of its end.
                Some(length) => {
                    out.truncate(length);
                    behind.strip_prefix('\n').unwrap_or(behind)
                }
                None => behind,
            },
            None => {
                out.push_str(" after ");
                behind
            }
        };
    }
    out + rest
}

#[test]
fn how_long_it_ran_is_left_out() {
    for (told, left) in [
        ("exit 0 after 1.2 s\none", "one"),
        ("exit 3 after 12.0 s\none after 2 s", "exit 3\none"),
        ("user: tool_result t1 exit 0 after 1.0 s\n(no output)", "user: tool_result t1 (no output)"),
        ("one after another s", "one after another s"),
    ] {
        assert_eq!(timeless(told), left);
    }
}

/// What the model reads of a command, taken apart: `stdout`, `stderr`, `exit_code` and `note`, as the envelope has them.
pub fn command_result(text: &str) -> Value {
    let text = &timeless(text);
    let (text, note) = match text.split_once("\nnote: ") {
        Some((text, note)) => (text, Some(note)),
        None => (text.as_str(), None),
    };
    let (text, stderr) = match text.split_once("stderr:\n") {
        Some((text, stderr)) => (text.strip_suffix('\n').unwrap_or(text), format!("{stderr}\n")),
        None => (text, String::new()),
    };
    let (head, rest) = text.split_once('\n').unwrap_or((text, ""));
    let (exit_code, stdout) = match head.strip_prefix("exit ").and_then(|code| code.parse::<i32>().ok()) {
        Some(code) => (code, rest),
        None => (0, text),
    };
    let stdout = match stdout {
        "" | "(no output)" => String::new(),
        text => format!("{text}\n"),
    };
    json!({"stdout": stdout, "stderr": stderr, "exit_code": exit_code, "note": note})
}

/// The command that runs a shell script in this world; the executable is its `$0`, and `args` are its arguments.
pub fn in_shell(world: &TestEnv, script: &str, args: &[&str]) -> Command {
    let inner = world.cmd(args);
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(inner.get_program()).args(inner.get_args());
    shell.current_dir(world.work()).env_clear();
    shell.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}

/// Runs a shell script that may mount what it likes, for nobody else to see; `$0` and `args` as of [`in_shell`]. A mount that
/// is refused shall end it with 99. `None`, which is told, where this needs rights that we do not have.
pub fn with_mounts(world: &TestEnv, script: &str, args: &[&str]) -> Option<CommandOutput> {
    if !needs::root() {
        return None;
    }
    needs::program("unshare")?;
    let inner = in_shell(world, script, args);
    let mut outer = Command::new("unshare");
    outer.arg("--mount").arg(inner.get_program()).args(inner.get_args());
    outer.current_dir(world.work()).env_clear();
    outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = world.start(outer, Stdin::Null, Stdout::Captured).finish();
    needs::part_of_the_system("the right to mount", output.code() != Some(99)).then_some(output)
}
