use std::fs;
use std::future::Future;
use std::time::Instant;

use std::path::Path;

use super::*;
use crate::testing::{Scratch, runtime, wait_for};

fn job<'a>(scratch: &'a Path, command: &'a str) -> Job<'a> {
    Job {
        shell: Shell { command, cwd: scratch, env_removed: &[], env_set: &[] },
        input: None,
        confine: None,
        consent: Consent::Rule,
        timeout: None,
        max_output: 0,
        live: None,
    }
}

/// Runs a command with a time limit.
fn run(processes: &Processes, scratch: &Scratch, command: &str, limit: Duration) -> Finished {
    let root = scratch.path();
    let job = Job { timeout: Some(limit), ..job(&root, command) };
    runtime().block_on(processes.run(job)).unwrap()
}

/// Reads numbers that a command has written, one a line, as soon as there are `count` of them.
fn numbers(scratch: &Scratch, file: &str, count: usize) -> Option<Vec<i32>> {
    let text = fs::read_to_string(scratch.path().join(file)).ok()?;
    let numbers: Vec<i32> = text.lines().filter_map(|line| line.trim().parse().ok()).collect();
    (numbers.len() == count && text.ends_with('\n')).then_some(numbers)
}

fn exists(pid: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

/// Starts a command, waits until it has written `count` numbers to the file `pids`, and drops it.
fn cancelled(processes: &Processes, scratch: &Scratch, command: &str, count: usize) -> Vec<i32> {
    let root = scratch.path();
    runtime().block_on(async {
        let mut running = pin!(processes.run(job(&root, command)));
        loop {
            tokio::select! {
                ended = &mut running => panic!("it ended: {ended:?}"),
                () = sleep(Duration::from_millis(5)) => {}
            }
            if let Some(pids) = numbers(scratch, "pids", count) {
                return pids;
            }
        }
    })
}

#[test]
fn the_shell_has_a_session_and_nothing_else_of_ours() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    // Something we inherited ourselves, without the mark that closes it.
    let inherited = fs::File::open("/dev/null").unwrap();
    rustix::io::fcntl_setfd(&inherited, rustix::io::FdFlags::empty()).unwrap();
    let command = "echo $$; cut -d' ' -f5,6 /proc/$$/stat; readlink /proc/$$/fd/0; ls /proc/$$/fd";
    let finished = run(&processes, &scratch, command, Duration::from_secs(20));
    let lines: Vec<&str> = finished.stdout.text.lines().collect();
    let pid = lines[0];
    assert_eq!(lines[1], format!("{pid} {pid}"));
    assert_eq!(lines[2..], ["/dev/null", "0", "1", "2"]);
    assert_ne!(pid, std::process::id().to_string());
    processes.shutdown();
}

#[test]
fn what_is_printed_before_the_time_is_up_stays() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let command = "echo out; echo err >&2; sleep 300 & echo $! > pids; wait";
    let start = Instant::now();
    let finished = run(&processes, &scratch, command, Duration::from_millis(200));
    assert!(start.elapsed() < Duration::from_secs(2), "{:?}", start.elapsed());
    assert_eq!(finished.end, ProcessEnd { exit_code: -1, signal: Some(15), timed_out: true });
    assert_eq!((finished.stdout.text.as_str(), finished.stderr.text.as_str()), ("out\n", "err\n"));
    let sleeper = numbers(&scratch, "pids", 1).unwrap()[0];
    assert!(!exists(sleeper), "the whole group has ended with the call");
    processes.shutdown();
}

#[test]
fn who_ignores_the_first_signal_gets_the_second() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    // The shell goes, its child does not, and holds no output either.
    let command = "sh -c 'trap \"\" TERM; echo $$ > pids; while :; do sleep 1; done' >/dev/null 2>&1 & wait";
    let start = Instant::now();
    let finished = run(&processes, &scratch, command, Duration::from_millis(300));
    assert!(start.elapsed() >= GRACE, "it had its grace");
    assert_eq!(finished.end, ProcessEnd { exit_code: -1, signal: Some(15), timed_out: true });
    let stubborn = numbers(&scratch, "pids", 1).unwrap()[0];
    wait_for("the stubborn child to go", || !exists(stubborn));
    processes.shutdown();
}

#[test]
fn a_dropped_call_ends_its_group() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    // A child, one that was forked twice, and one that ignores the first signal.
    let command = "sleep 300 & echo $! > new; (sleep 300 & echo $! >> new); \
                   sh -c 'trap \"\" TERM; echo $$ >> new; mv new pids; while :; do sleep 1; done' & wait";
    let pids = cancelled(&processes, &scratch, command, 3);
    let start = Instant::now();
    wait_for("the first two to go", || !exists(pids[0]) && !exists(pids[1]));
    wait_for("the stubborn one to go", || !exists(pids[2]));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    processes.shutdown();
}

#[test]
fn dropping_does_not_wait_and_shutdown_does() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let command = "trap '' TERM; echo $$ > pids; while :; do sleep 1; done";
    let shell = cancelled(&processes, &scratch, command, 1)[0];
    assert!(exists(shell), "it ignores the signal, and nobody has waited for it");
    processes.shutdown();
    assert!(!exists(shell));
    // Reaped, too.
    assert!(!Path::new(&format!("/proc/{shell}")).exists());
}

#[test]
fn a_background_process_does_not_hold_the_result_and_goes_with_the_run() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let start = Instant::now();
    let finished = run(&processes, &scratch, "echo hi; sleep 300 & echo $! > pids", Duration::from_secs(60));
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert!(finished.detached);
    assert_eq!(finished.stdout.text, "hi\n");
    assert_eq!(finished.end, ProcessEnd { exit_code: 0, signal: None, timed_out: false });
    let sleeper = numbers(&scratch, "pids", 1).unwrap()[0];
    assert!(exists(sleeper));
    processes.shutdown();
    wait_for("the sleeper to go", || !exists(sleeper));
}

#[test]
fn a_background_process_that_holds_no_output_costs_no_time() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let start = Instant::now();
    let finished = run(&processes, &scratch, "sleep 300 >/dev/null 2>&1 &", Duration::from_secs(60));
    assert!(start.elapsed() < DRAIN, "{:?}", start.elapsed());
    assert!(!finished.detached);
    processes.shutdown();
}

#[test]
fn a_flood_is_bounded_and_kept() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let root = scratch.path();
    let command = "head -c 67108864 /dev/zero | tr '\\0' x; echo end";
    let job = Job { max_output: 64 << 10, ..job(&root, command) };
    let finished = runtime().block_on(processes.run(job)).unwrap();
    let file = finished.stdout.cut.unwrap().file.unwrap();
    assert_eq!(fs::metadata(&file).unwrap().len(), (64 << 20) + 4);
    assert!(finished.stdout.text.len() < 66 << 10);
    assert!(finished.stdout.text.ends_with("xxxend\n"));
    processes.shutdown();
    assert_eq!(scratch.list(), [""; 0]);
}

#[test]
fn the_guard_ends_groups_when_its_pipe_ends() {
    let scratch = Scratch::new();
    let root = scratch.path();
    let command = "trap '' TERM; sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait; wait";
    let runtime = runtime();
    let _context = runtime.enter();
    let mut child = job(&root, command).shell.spawn(Stdio::null(), Confinement::default()).unwrap();
    wait_for("both to start", || numbers(&scratch, "pids", 2).is_some());
    let pids = numbers(&scratch, "pids", 2).unwrap();

    let guard = guard::Guard::start().unwrap();
    let ended = Group::new(pids[1]).unwrap();
    guard.add(ended);
    guard.remove(ended);
    guard.add(Group::led_by(&child));
    // It holds nothing but the pipe: a reader of our output never waits for it.
    let descriptors = format!("/proc/{}/fd", guard.pid());
    let held = || fs::read_dir(&descriptors).unwrap().map(|fd| fd.unwrap().file_name()).collect::<Vec<_>>();
    wait_for("the guard to let go", || held() == ["0"]);
    let guard_pid = guard.pid();
    guard.stop();
    assert!(!Path::new(&format!("/proc/{guard_pid}")).exists());
    wait_for("both to go", || !exists(pids[0]) && !exists(pids[1]));
    assert!(runtime.block_on(child.wait()).unwrap().signal() == Some(9));
}

#[test]
fn calls_leave_no_process_and_no_descriptor() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let root = scratch.path();
    let runtime = runtime();
    let once = || {
        let finished = runtime.block_on(processes.run(job(&root, "echo $$"))).unwrap();
        finished.stdout.text.trim().to_owned()
    };
    once();
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    let pids: Vec<String> = (0..50).map(|_| once()).collect();
    assert!(pids.iter().all(|pid| !Path::new("/proc").join(pid).exists()));
    // Other tests of this process may open and close some meanwhile.
    wait_for("the descriptors to be as many as before", || descriptors() <= before);
    processes.shutdown();
}

/// Runs a future up to the moment a condition holds, and leaves it there.
async fn until<F: Future>(future: &mut std::pin::Pin<&mut F>, mut condition: impl FnMut() -> bool) {
    while !condition() {
        tokio::select! {
            biased;
            _ = future.as_mut() => panic!("it ended"),
            () = sleep(Duration::from_millis(1)) => {}
        }
    }
}

#[test]
fn a_shell_that_was_reaped_by_somebody_else_is_an_error() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let root = scratch.path();
    let error = runtime().block_on(async {
        let mut running =
            pin!(processes.run(job(&root, "echo $$ > pids; while [ ! -e go ]; do sleep 0.01; done")));
        until(&mut running, || numbers(&scratch, "pids", 1).is_some()).await;
        let pid = numbers(&scratch, "pids", 1).unwrap()[0];
        scratch.put("go", "");
        // Nothing is polled while this thread waits here, so the shell is ours to reap.
        rustix::process::waitpid(rustix::process::Pid::from_raw(pid), rustix::process::WaitOptions::empty())
            .unwrap();
        running.await.unwrap_err()
    });
    assert_eq!(error.to_string(), "cannot wait for `sh`: No child processes (os error 10)");
    processes.shutdown();
}
