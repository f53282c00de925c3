//! CAN-1, CAN-2, CAN-3: cancelled in each state, on each surface. A cell is a run that is brought into the state, cancelled as its surface
//! does it, and looked at: how soon it reacts, what it says, what is left, and that its session goes on.

use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::pty::Size;
use zori_testkit::random::cases;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Running, Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::wait;

use super::{oracle, row};
use crate::acp::Editor;
use crate::chat::screen::type_line;
use crate::processes::{pids, wait_until_gone};
use crate::sessions::only_session;
use crate::stream_json;
use crate::world::world;

/// How long a busy machine may take; the figure is 250 ms.
const BOUND: Duration = Duration::from_secs(5);
/// How many cells are looked at together.
const AT_ONCE: usize = 4;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Surface {
    Exec,
    Json,
    StreamJson,
    Acp,
    Chat,
}

use Surface::{Acp, Chat, Exec, Json, StreamJson};

const ALL: &[Surface] = &[Exec, Json, StreamJson, Acp, Chat];

/// A state: what brings a run there.
struct State {
    name: &'static str,
    /// The surfaces that have it.
    surfaces: &'static [Surface],
    /// The permission mode it takes.
    mode: &'static str,
    config: &'static str,
    replies: fn(&Gate, &str) -> Vec<Reply>,
    /// How many requests the model has had then.
    requests: usize,
    /// What it needs beside the model.
    beside: Beside,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    /// A command that has written its process id.
    Command,
    /// A server of another that was asked and says nothing.
    Page,
    /// A server that lets nobody in.
    FullQueue,
}

const STATES: &[State] = &[
    State {
        name: "connecting",
        surfaces: ALL,
        mode: "yolo",
        config: "",
        replies: |_, _| Vec::new(),
        requests: 0,
        beside: Beside::FullQueue,
    },
    State {
        name: "waiting for the first byte",
        surfaces: ALL,
        mode: "yolo",
        config: "",
        replies: |_, _| vec![Reply::stall()],
        requests: 1,
        beside: Beside::Nothing,
    },
    State {
        name: "streaming text",
        surfaces: ALL,
        mode: "yolo",
        config: "",
        replies: |gate, _| vec![anthropic::text("Some words").reply().wait_after(4, gate)],
        requests: 1,
        beside: Beside::Nothing,
    },
    State {
        name: "streaming tool input",
        surfaces: ALL,
        mode: "yolo",
        config: "",
        replies: |gate, _| {
            let call = anthropic::tool_use("t1", "write", json!({"path": "new.txt", "content": "x"}));
            vec![call.reply().wait_after(3, gate)]
        },
        requests: 1,
        beside: Beside::Nothing,
    },
    State {
        name: "waiting for approval",
        surfaces: &[StreamJson, Acp, Chat],
        mode: "default",
        config: "",
        replies: |_, _| {
            vec![anthropic::tool_use("t1", "write", json!({"path": "new.txt", "content": "x"})).reply()]
        },
        requests: 1,
        beside: Beside::Nothing,
    },
    State {
        name: "running a command",
        surfaces: ALL,
        mode: "yolo",
        config: "",
        replies: |_, _| vec![anthropic::tool_use("t1", "bash", json!({"command": SLEEPS})).reply()],
        requests: 1,
        beside: Beside::Command,
    },
    State {
        name: "fetching a page",
        surfaces: ALL,
        mode: "yolo",
        config: "",
        replies: |_, url| vec![anthropic::tool_use("t1", "web_fetch", json!({"url": url})).reply()],
        requests: 1,
        beside: Beside::Page,
    },
    State {
        name: "a sub-agent waits",
        surfaces: ALL,
        mode: "yolo",
        config: "",
        replies: |_, _| {
            let order = json!({"description": "count", "prompt": "count"});
            vec![anthropic::tool_use("t1", "task", order).reply(), Reply::stall()]
        },
        requests: 2,
        beside: Beside::Nothing,
    },
    State {
        name: "after a tool",
        surfaces: ALL,
        mode: "yolo",
        config: "",
        replies: |_, _| {
            vec![anthropic::tool_use("t1", "bash", json!({"command": "echo 1"})).reply(), Reply::stall()]
        },
        requests: 2,
        beside: Beside::Nothing,
    },
    State {
        name: "waiting before a retry",
        surfaces: ALL,
        mode: "yolo",
        config: "",
        replies: |_, _| vec![anthropic::http_error(503, "api_error", "busy").header("retry-after", "60")],
        requests: 1,
        beside: Beside::Nothing,
    },
    State {
        name: "making the conversation shorter",
        surfaces: ALL,
        mode: "yolo",
        config: "context_window = 20000\nmax_tokens = 1000\n",
        replies: |_, _| {
            let long = json!({"command": "head -c 60000 /dev/zero | tr '\\0' 'x '"});
            let used = json!({"input_tokens": 19_500, "output_tokens": 5});
            vec![anthropic::tool_use("t1", "bash", long).usage(used).reply(), Reply::stall()]
        },
        requests: 2,
        beside: Beside::Nothing,
    },
    State {
        name: "a job runs in the background",
        surfaces: ALL,
        mode: "yolo",
        config: "",
        replies: |_, _| {
            let job = json!({"command": SLEEPS, "background": true});
            vec![anthropic::tool_use("t1", "bash", job).reply(), Reply::stall()]
        },
        requests: 2,
        beside: Beside::Command,
    },
];

const SLEEPS: &str = "sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait";

/// What a cell runs on.
struct Cell {
    world: TestEnv,
    model: ModelServer,
    page: ModelServer,
    _queue: Vec<TcpStream>,
    _listener: Option<TcpListener>,
    _gate: Gate,
}

fn set_up(state: &State) -> Cell {
    let gate = Gate::new();
    let page = ModelServer::start([Reply::stall()]);
    let model = ModelServer::strict((state.replies)(&gate, &page.url()));
    let mut world = world();
    world.use_server(&model);
    world.write(world.base().join("config.toml"), state.config);
    let (mut queue, mut held) = (Vec::new(), None);
    if state.beside == Beside::FullQueue {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a loopback port can be had");
        let address = listener.local_addr().expect("it is bound");
        queue.extend(
            std::iter::from_fn(|| TcpStream::connect_timeout(&address, Duration::from_millis(300)).ok())
                .take(10_000),
        );
        world.set_var("ANTHROPIC_BASE_URL", format!("http://{address}"));
        held = Some(listener);
    }
    Cell { world, model, page, _queue: queue, _listener: held, _gate: gate }
}

impl Cell {
    /// Waits until the run is where it should be.
    fn reached(&self, state: &State) {
        wait::until(state.name, || {
            self.model.count() >= state.requests
                && match state.beside {
                    Beside::Command => pids(&self.world).is_some(),
                    Beside::Page => self.page.count() == 1,
                    Beside::Nothing => true,
                    // The server sees nothing of it, so that the turn is known by its prompt.
                    Beside::FullQueue => {
                        self.world.session_files().iter().any(|file| self.world.read(file).contains("\"go\""))
                    }
                }
        });
    }

    /// Looks at what is left.
    fn left(mut self, state: &State, context: &str) {
        if let Some(pids) = pids(&self.world) {
            wait_until_gone(&pids);
        }
        assert!(!self.world.work().join("new.txt").exists(), "{context}: a call that was cancelled has run");
        let session = only_session(&self.world);
        oracle::look(&self.world, &session, context).expect("the session has a file");
        let next = ModelServer::strict([anthropic::text("Here.")]);
        self.world.use_server(&next);
        let output = self.world.run(&["exec", "--session", &session, "-p", "second"]);
        assert_eq!(output.code(), Some(0), "{context}, {}: it does not go on: {output}", state.name);
    }
}

/// Brings a run of a surface that signals cancel into the state.
fn run_of(cell: &Cell, state: &State, surface: Surface) -> Running {
    let mut args = vec!["exec", "--session", "s", "--permission-mode", state.mode, "-p", "go"];
    args.extend((surface == Json).then_some("--json"));
    let run = cell.world.start(cell.world.cmd(&args), Stdin::Null, Stdout::Captured);
    wait::until("the session", || cell.world.base().join("sessions/s.jsonl").exists());
    cell.reached(state);
    run
}

/// Cancels in a state, and returns how long it took to react.
fn cancel(state: &State, surface: Surface) -> Duration {
    let context = format!("{} in {surface:?}", state.name);
    let cell = set_up(state);
    let took = match surface {
        Exec | Json => {
            let mut run = run_of(&cell, state, surface);
            let begun = Instant::now();
            run.interrupt();
            let output = run.finish();
            let took = begun.elapsed();
            assert_eq!(output.code(), Some(130), "{context}: {output}");
            took
        }
        StreamJson => {
            let mode = if state.mode == "yolo" { "bypassPermissions" } else { "default" };
            let args = stream_json::args(&["--permission-mode", mode, "--permission-prompt-tool", "stdio"]);
            let mut run = cell.world.start(cell.world.cmd(&args), Stdin::Open, Stdout::Captured);
            run.write_stdin(stream_json::user("go"));
            cell.reached(state);
            if state.mode == "default" {
                run.wait_for_stdout("can_use_tool");
            }
            let begun = Instant::now();
            run.write_stdin(stream_json::request("i", json!({"subtype": "interrupt"})));
            run.wait_for_stdout("\"type\":\"result\"");
            let took = begun.elapsed();
            run.close_stdin();
            run.finish();
            took
        }
        Acp => {
            let mut editor = Editor::with_session(&cell.world, &["--permission-mode", state.mode]);
            let id = editor.prompt("go");
            cell.reached(state);
            if state.mode == "default" {
                editor.next("session/request_permission");
            }
            let session = editor.session().to_owned();
            let begun = Instant::now();
            editor.tell("session/cancel", json!({"sessionId": session}));
            // By the raw text: to read all messages so far takes longer than the reaction.
            editor.run().wait_until("the end", |run| run.raw_stdout().contains(r#""stopReason":"#));
            let took = begun.elapsed();
            let (_, answer) = editor.until(id);
            assert_eq!(answer["result"]["stopReason"], "cancelled", "{context}: {answer}");
            editor.hang_up();
            took
        }
        Chat => {
            let mut pty = cell.world.pty(&["--permission-mode", state.mode], Size::CLASSIC);
            type_line(&mut pty, 1, "go");
            cell.reached(state);
            if state.mode == "default" {
                pty.wait_for("[A]pprove / [R]eject / [E]xplain?");
            }
            let begun = Instant::now();
            pty.send("\x03").wait_for("■ Stopped after");
            let took = begun.elapsed();
            type_line(&mut pty, 2, ":q");
            let (status, drawn) = pty.finish();
            assert_eq!(status.code(), Some(0), "{context}: {drawn}");
            took
        }
    };
    assert!(took < BOUND, "{context} took {took:?}");
    cell.left(state, &context);
    took
}

/// Does something for every cell, several at once; returns the longest time, and its cell.
fn each_cell(
    cells: &[(&'static State, Surface)],
    look: impl Fn(&State, Surface) -> Duration + Sync,
) -> (Duration, String) {
    let (next, slowest) = (AtomicUsize::new(0), Mutex::new((Duration::ZERO, String::new())));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((state, surface)) = cells.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let took = look(state, *surface);
                    let mut slowest = slowest.lock().expect("no cell panics with it");
                    if took > slowest.0 {
                        *slowest = (took, format!("{} in {surface:?}", state.name));
                    }
                }
            });
        }
    });
    slowest.into_inner().expect("no cell panics with it")
}

fn cells(rounds: usize, surfaces: &[Surface]) -> Vec<(&'static State, Surface)> {
    let all = STATES.iter().flat_map(|state| state.surfaces.iter().map(move |surface| (state, *surface)));
    let some: Vec<_> = all.filter(|(_, surface)| surfaces.contains(surface)).collect();
    some.repeat(rounds)
}

/// CAN-1.
#[test]
fn cancelled_in_each_state() {
    let cells = cells(cases(1, 20), ALL);
    let (slowest, which) = each_cell(&cells, cancel);
    row("CAN-1", format_args!("0 violations, the slowest {slowest:.0?} ({which})"), cells.len());
}

/// CAN-2: a second signal ends it at once, and the session can be read.
#[test]
fn cancelled_twice_in_each_state() {
    let cells = cells(cases(1, 20), &[Exec, Json]);
    let (slowest, which) = each_cell(&cells, |state, surface| {
        let context = format!("{} in {surface:?}, twice", state.name);
        let cell = set_up(state);
        let mut run = run_of(&cell, state, surface);
        run.interrupt();
        let begun = Instant::now();
        // It may be over already.
        let _ = rustix::process::kill_process(
            rustix::process::Pid::from_raw(run.pid().cast_signed()).expect("it runs"),
            Signal::INT,
        );
        let output = run.finish();
        let took = begun.elapsed();
        // One that has said all it had to say hears no more signals, and dies of one.
        assert!(
            output.code() == Some(130) || output.to_string().ends_with("[signal: 2]"),
            "{context}: {output}"
        );
        assert!(took < BOUND, "{context} took {took:?}");
        cell.left(state, &context);
        took
    });
    row("CAN-2", format_args!("0 violations, the slowest {slowest:.0?} ({which})"), cells.len());
}

/// CAN-3: SIGTERM ends it with 143, SIGHUP by the signal itself.
#[test]
fn signalled_in_each_state() {
    let cells = cells(cases(1, 20), &[Exec]);
    for (signal, code) in [("SIGTERM", Some(143)), ("SIGHUP", None)] {
        let (slowest, which) = each_cell(&cells, |state, surface| {
            let context = format!("{} in {surface:?}, {signal}", state.name);
            let cell = set_up(state);
            let mut run = run_of(&cell, state, surface);
            let begun = Instant::now();
            if code.is_some() {
                run.terminate()
            } else {
                run.hang_up()
            };
            let output = run.finish();
            let took = begun.elapsed();
            assert_eq!(output.code(), code, "{context}: {output}");
            assert!(took < BOUND, "{context} took {took:?}");
            cell.left(state, &context);
            took
        });
        row(
            "CAN-3",
            format_args!("{signal}: 0 violations, the slowest {slowest:.0?} ({which})"),
            cells.len(),
        );
    }
}
