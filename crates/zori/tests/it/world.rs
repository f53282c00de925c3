//! The world of a test: an environment of its own for the executable under test.

use std::process::Command;

use zori_testkit::env::TestEnv;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

/// An environment without a model, in which utility commands print text on a pipe, too. What programs get instead is the
/// subject of `surface.rs`.
pub fn world() -> TestEnv {
    let mut world = TestEnv::new(env!("CARGO_BIN_EXE_zori"));
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

/// The command that runs a shell script in this world; the executable is its `$0`, and `args` are its arguments.
pub fn in_shell(world: &TestEnv, script: &str, args: &[&str]) -> Command {
    let inner = world.cmd(args);
    let mut shell = Command::new("sh");
    shell.args(["-c", script]).arg(inner.get_program()).args(inner.get_args());
    shell.current_dir(world.work()).env_clear();
    shell.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell
}
