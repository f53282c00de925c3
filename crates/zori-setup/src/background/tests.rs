use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use zori_testkit::wait;

use super::*;
use crate::workers::Need;

fn project() -> Project {
    let path = PathBuf::from("/nowhere");
    Project {
        place: MemoryPlace {
            database: path.join("zori.db"),
            sessions: path.join("sessions"),
            project: path.clone(),
            home: None,
            scratch: path.clone(),
            marker: path.join("memory"),
            durable: false,
        },
        sensitive: Arc::new(|_: &Path| false),
        index_switch: Switch::Auto,
        one_prompt: false,
        clock: Arc::new(SystemClock::new()),
        config: Config::default(),
        outside: None,
    }
}

/// A project in a folder, with this config.
pub(super) fn memory_project(folder: &Path, config: &str) -> Project {
    let folder = folder.canonicalize().unwrap();
    let place = MemoryPlace {
        database: folder.join("base/zori.db"),
        sessions: folder.join("base/sessions"),
        project: folder.clone(),
        home: None,
        scratch: folder.clone(),
        marker: folder.join("base/projects/key/memory"),
        durable: false,
    };
    let config =
        Config::parse(config.as_bytes(), Path::new("config.toml"), "").map_err(|error| error.message);
    Project { place, config: config.unwrap(), ..project() }
}

const fn task(name: &'static str, moment: Moment, run: fn(&Project, &Pace)) -> Task {
    Task { worker: Worker { name, need: Need::UnlessBare }, moment, wanted: |_| true, due: |_| true, run }
}

fn of(bare: bool, tasks: &'static [Task]) -> ProjectWorkers {
    ProjectWorkers::new(Workers::untraced(bare), tasks, project)
}

fn until(counter: &AtomicUsize, wanted: usize) {
    wait::poll(wait::BOUND, || (counter.load(Ordering::SeqCst) == wanted).then_some(())).expect("in time");
}

/// A worker starts after the first turn, stops while another one runs, and ends with the session.
#[test]
fn between_turns_alone() {
    static STEPS: AtomicUsize = AtomicUsize::new(0);
    static PAUSES: AtomicUsize = AtomicUsize::new(0);
    static ENDED: AtomicUsize = AtomicUsize::new(0);
    const TASKS: &[Task] = &[task("steps", Moment::AfterTurn, |_, pace| {
        while pace.go_on() {
            STEPS.fetch_add(1, Ordering::SeqCst);
            // One step a turn: the next begins when one has ended.
            while !pace.is_interrupted() {
                std::thread::yield_now();
            }
            PAUSES.fetch_add(1, Ordering::SeqCst);
        }
        ENDED.fetch_add(1, Ordering::SeqCst);
    })];
    let workers = of(false, TASKS);
    workers.session_began();
    workers.turn_began();
    assert_eq!(STEPS.load(Ordering::SeqCst), 0, "nothing starts before the first turn has ended");
    workers.turn_ended();
    until(&STEPS, 1);
    workers.turn_began();
    until(&PAUSES, 1);
    assert_eq!(STEPS.load(Ordering::SeqCst), 1, "it waits for the turn");
    workers.turn_ended();
    until(&STEPS, 2);
    workers.session_began();
    workers.session_ended();
    assert_eq!(ENDED.load(Ordering::SeqCst), 0, "another session is there");
    workers.session_ended();
    assert_eq!(ENDED.load(Ordering::SeqCst), 1, "it was waited for");
}

/// What does not stop is left behind after the grace of 250 ms, and what begins at the end is told in time. A busy machine can be late: what is promised
/// holds for the best of many ends, and would for none of them if it were not kept.
#[test]
fn the_end_is_bounded() {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    static LET_GO: AtomicUsize = AtomicUsize::new(0);
    const TASKS: &[Task] = &[
        task("deaf", Moment::AfterTurn, |_, _| until(&LET_GO, 1)),
        task("last", Moment::AtEnd, |_, pace| {
            while pace.go_on() {
                std::thread::yield_now();
            }
            TOLD.fetch_add(1, Ordering::SeqCst);
        }),
    ];
    let (mut ends, late) = (0, GRACE + Duration::from_millis(25));
    let best = std::iter::repeat_with(|| {
        let workers = of(false, TASKS);
        workers.session_began();
        workers.turn_began();
        workers.turn_ended();
        let begun = Instant::now();
        workers.session_ended();
        begun.elapsed()
    });
    let best = best.take(40).inspect(|_| ends += 1).find(|took| *took < late);
    LET_GO.store(1, Ordering::SeqCst);
    until(&TOLD, ends);
    assert!(best.is_some_and(|took| took >= GRACE), "{best:?} after {ends} ends");
}

/// Workers that stop when they are told are waited for no longer than that takes.
#[test]
fn an_end_without_work_takes_no_time() {
    const TASKS: &[Task] = &[task("idle", Moment::AfterTurn, |_, pace| {
        while pace.go_on() {
            std::thread::yield_now();
        }
    })];
    let took = std::iter::repeat_with(|| {
        let workers = of(false, TASKS);
        workers.session_began();
        workers.turn_began();
        workers.turn_ended();
        let begun = Instant::now();
        workers.session_ended();
        begun.elapsed()
    });
    assert!(took.take(40).any(|took| took < GRACE / 5), "the grace is waited for without a reason");
}

/// FR-001: with `--bare` none of them runs, and a session without a turn has none either.
#[test]
fn none_where_none_may_be() {
    static RAN: AtomicUsize = AtomicUsize::new(0);
    fn ran(_: &Project, _: &Pace) {
        RAN.fetch_add(1, Ordering::SeqCst);
    }
    const TASKS: &[Task] = &[task("between", Moment::AfterTurn, ran), task("end", Moment::AtEnd, ran)];
    for (bare, turn, wanted) in [(true, true, 0), (false, false, 0), (false, true, 2)] {
        RAN.store(0, Ordering::SeqCst);
        let workers = of(bare, TASKS);
        workers.session_began();
        if turn {
            workers.turn_began();
            workers.turn_ended();
        }
        workers.session_ended();
        until(&RAN, wanted);
    }
}
