//! Streams that survive anything (`docs/contracts/reliability.md`): every API through the real executable, against a
//! server and proxies that fail in every way we know. Whatever happens, the run ends, says so, and is no success
//! that is none; the session can be read afterwards.

mod answers;
mod apis;
mod every_event;
mod proxies;
mod redirects;
mod waiting;

use std::sync::atomic::{AtomicUsize, Ordering};

use zori_core::ids::SessionId;
use zori_store::SessionDir;
use zori_testkit::env::TestEnv;
use zori_testkit::output::CommandOutput;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use self::apis::Api;
use crate::world::world;

/// How many cases run at once. Most of them wait.
const AT_ONCE: usize = 12;

/// Whether this is the long run (`cargo xtask soak streams`), which leaves out nothing.
fn full() -> bool {
    std::env::var_os("ZORI_SOAK").is_some()
}

/// Checks every case, several at once, and prints how many there were.
#[expect(clippy::print_stdout, reason = "the number of cases is part of what a test run shows")]
fn each<T: Sync>(cases: &[T], check: impl Fn(&T) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE.min(cases.len()) {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    check(case);
                }
            });
        }
    });
    println!("{} cases", cases.len());
}

/// A finished run, and who played the model.
struct Played {
    output: CommandOutput,
    world: TestEnv,
    server: ModelServer,
}

/// Runs one prompt against these replies, without any wait between tries.
fn play(api: &Api, replies: Vec<Reply>, retries: &str, config: &str) -> Played {
    let server = ModelServer::start(replies);
    let mut world = world();
    api.at(&mut world, &server.url());
    world.write(world.base().join("config.toml"), config);
    let args = ["exec", "-p", "hi", "--session", "s", "--retries", retries, "--retry-delay", "0"];
    let output = world.run(&[&args, api.flags].concat());
    Played { output, world, server }
}

impl Played {
    /// Checks what holds for every run: no panic, and a session that can be read.
    #[track_caller]
    fn sound(&self, case: &str) {
        let Self { output, world, .. } = self;
        assert!(output.code().is_some(), "{case}: {output}");
        assert!(!output.stderr().contains("panicked"), "{case}: {output}");
        let id = SessionId::parse("s").expect("it is a name");
        let loaded =
            SessionDir::new(world.base().join("sessions")).load(&id).expect("the session can be read");
        assert!(loaded.is_none_or(|loaded| loaded.damage.is_empty()), "{case}: {output}");
    }

    /// Returns stdout, the exit code and the number of requests.
    fn seen(&self) -> (String, i32, usize) {
        (self.output.stdout(), self.output.code().unwrap_or(-1), self.server.count())
    }
}
