use std::fs;
use std::future::Future;
use std::time::Instant;

use std::path::Path;

use super::jobs::JobStatus;
use super::*;
use crate::testing::{Scratch, runtime, wait_for};

fn shell_run<'a>(scratch: &'a Path, command: &'a str) -> ShellRun<'a> {
    let program = crate::env::ShellProgram::Sh;
    ShellRun {
        shell: Shell { program, prelude: "", command, cwd: scratch, env_removed: &[], env_set: &[] },
        input: None,
        confine: None,
        consent: Consent::Rule,
        holding: Holding::Usual,
        timeout: None,
        max_output: 0,
        live: None,
        stays: false,
    }
}

/// Runs a command with a time limit.
fn run(processes: &Processes, scratch: &Scratch, command: &str, limit: Duration) -> Finished {
    let root = scratch.path();
    let run = ShellRun { timeout: Some(limit), ..shell_run(&root, command) };
    runtime().block_on(processes.run(run)).unwrap()
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
        let mut running = pin!(processes.run(shell_run(&root, command)));
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
    let finished = run(&processes, &scratch, command, Duration::from_millis(200));
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
    wait_for("the first two to go", || !exists(pids[0]) && !exists(pids[1]));
    wait_for("the stubborn one to go", || !exists(pids[2]));
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
    let finished = run(&processes, &scratch, "echo hi; sleep 300 & echo $! > pids", Duration::from_secs(60));
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
    let finished = run(&processes, &scratch, "sleep 300 >/dev/null 2>&1 &", Duration::from_secs(60));
    assert!(!finished.detached, "its output was not waited for in vain");
    processes.shutdown();
}

#[test]
fn a_flood_is_bounded_and_kept() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let root = scratch.path();
    let command = "head -c 67108864 /dev/zero | tr '\\0' x; echo end";
    let run = ShellRun { max_output: 64 << 10, ..shell_run(&root, command) };
    let finished = runtime().block_on(processes.run(run)).unwrap();
    let file = finished.stdout.file.unwrap();
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
    let mut child = shell_run(&root, command)
        .shell
        .spawn(Stdin::Nothing, Confinement::default(), Bond::EndsWithUs(None))
        .unwrap();
    wait_for("both to start", || numbers(&scratch, "pids", 2).is_some());
    let pids = numbers(&scratch, "pids", 2).unwrap();

    let watchdog = watchdog::Watchdog::start().unwrap();
    let ended = Group::new(pids[1]).unwrap();
    watchdog.add(ended);
    watchdog.remove(ended);
    watchdog.add(Group::led_by(&child));
    // It holds nothing but the pipe: a reader of our output never waits for it.
    let descriptors = format!("/proc/{}/fd", watchdog.pid());
    let held = || fs::read_dir(&descriptors).unwrap().map(|fd| fd.unwrap().file_name()).collect::<Vec<_>>();
    wait_for("the guard to let go", || held() == ["0"]);
    let watchdog_pid = watchdog.pid();
    watchdog.stop();
    assert!(!Path::new(&format!("/proc/{watchdog_pid}")).exists());
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
        let finished = runtime.block_on(processes.run(shell_run(&root, "echo $$"))).unwrap();
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
            pin!(processes.run(shell_run(&root, "echo $$ > pids; while [ ! -e go ]; do sleep 0.01; done")));
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

#[test]
fn what_takes_too_long_goes_on_as_a_job() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let root = scratch.path();
    let command = "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; echo err >&2; exit 3";
    let runtime = runtime();
    let patience = Duration::from_millis(300);
    let outcome = runtime.block_on(processes.run_or_background(shell_run(&root, command), patience)).unwrap();
    let Outcome::Job(job) = outcome else { panic!("it has not ended yet") };
    assert_eq!((job.id.as_str(), job.command.as_str()), ("job_1", command));
    assert_eq!(job.take_output().0.text, "one\n");
    assert_eq!(job.status(), JobStatus::Running);
    // Nobody polls the runtime now; the job goes on.
    scratch.put("go", "");
    wait_for("the job to end", || job.status() != JobStatus::Running);
    assert_eq!(job.status(), JobStatus::Ended(ProcessEnd { exit_code: 3, signal: None, timed_out: false }));
    let (stdout, stderr) = job.take_output();
    assert_eq!((stdout.text.as_str(), stderr.text.as_str()), ("two\n", "err\n"));

    let outcome =
        runtime.block_on(processes.run_or_background(shell_run(&root, "echo hi"), Duration::from_secs(60)));
    let Outcome::Finished(finished) = outcome.unwrap() else { panic!("it was waited for") };
    assert_eq!(finished.stdout.text, "hi\n");
    processes.shutdown();
}

/// What the shell reports at the end is for whoever waits for the command; nobody does for a job.
#[test]
fn a_job_does_not_tell_the_report_of_its_shell() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let root = scratch.path();
    let command = "echo err >&2; while [ ! -e go ]; do sleep 0.01; done; printf 'end\\n\\036mark 0|/\\n' >&2";
    let runtime = runtime();
    let patience = Duration::from_millis(300);
    let outcome = runtime.block_on(processes.run_or_background(shell_run(&root, command), patience)).unwrap();
    let Outcome::Job(job) = outcome else { panic!("it has not ended yet") };
    job.hide_line("\u{1e}mark");
    assert_eq!(job.take_output().1.text, "err\n");
    scratch.put("go", "");
    wait_for("the job to end", || job.status() != JobStatus::Running);
    assert_eq!(job.take_output().1.text, "end\n");
    processes.shutdown();
}

#[test]
fn a_job_ends_with_the_run_with_all_it_started() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let root = scratch.path();
    let runtime = runtime();
    let _context = runtime.enter();
    // The shell goes at once; what it started is the job, and prints for as long as it lives.
    let command = "(echo up; trap '' TERM; while :; do sleep 0.1; done) & echo $! > new; mv new pids";
    let job = processes.background(&shell_run(&root, command)).unwrap();
    wait_for("both to start", || numbers(&scratch, "pids", 1).is_some());
    let stubborn = numbers(&scratch, "pids", 1).unwrap()[0];
    std::thread::scope(|scope| {
        scope.spawn(|| wait_for("its output", || job.take_output().0.text == "up\n"));
    });
    assert!(exists(stubborn));
    processes.shutdown();
    assert!(!exists(stubborn), "it had its grace, and then was killed");
    assert!(matches!(processes.background(&shell_run(&root, "true")), Err(ProcessError::TooManyJobs)));
}

#[test]
fn a_flood_of_a_job_is_bounded() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let root = scratch.path();
    let runtime = runtime();
    let _context = runtime.enter();
    let run = ShellRun {
        max_output: 64 << 10,
        ..shell_run(&root, "head -c 67108864 /dev/zero | tr '\\0' x; echo end")
    };
    let job = processes.background(&run).unwrap();
    wait_for("the flood to end", || job.status() != JobStatus::Running);
    let (stdout, _) = job.take_output();
    let file = stdout.file.unwrap();
    assert_eq!(fs::metadata(&file).unwrap().len(), (64 << 20) + 4);
    assert!(stdout.text.len() < 66 << 10 && stdout.text.ends_with("xxxend\n"));
    processes.shutdown();
}

/// Left the group and the session, forked twice: still known, ended with the run, and told.
#[cfg(target_os = "linux")]
const DAEMON: &str =
    "setsid sh -c '(sleep 300 >/dev/null 2>&1 & echo $! > new; mv new pids)' >/dev/null 2>&1 & wait";

#[cfg(target_os = "linux")]
#[test]
fn what_left_its_group_is_known_and_ends_with_the_run() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    run(&processes, &scratch, DAEMON, Duration::from_secs(60));
    let daemon = numbers(&scratch, "pids", 1).unwrap()[0];
    assert!(exists(daemon), "its call is over, the run is not");
    wait_for("the daemon to be known", || {
        run(&processes, &scratch, "true", Duration::from_secs(60));
        processes.left_behind() == [format!("`sleep` (process {daemon})")]
    });
    processes.shutdown();
    assert!(!Path::new(&format!("/proc/{daemon}")).exists(), "ended, and reaped");
}

/// A busy machine finds a daemon between its fork and its program, and then called it `sh` to the end.
#[cfg(target_os = "linux")]
#[test]
fn what_left_its_group_is_told_by_the_name_it_has_now() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let daemon = "setsid sh -c '(sh -c \"until [ -e go ]; do sleep 0.05; done; exec sleep 300\" >/dev/null 2>&1 & echo $! > new; mv new pids)' >/dev/null 2>&1 & wait";
    run(&processes, &scratch, daemon, Duration::from_secs(60));
    let daemon = numbers(&scratch, "pids", 1).unwrap()[0];
    let told = |name: &str| processes.left_behind() == [format!("`{name}` (process {daemon})")];
    wait_for("the daemon to be known", || told("sh"));
    fs::write(scratch.path().join("go"), "").unwrap();
    wait_for("the daemon to have its new name", || told("sleep"));
    processes.shutdown();
}

/// CH-2: a call whose time is up, or that is dropped, takes with it what left its group.
#[cfg(target_os = "linux")]
#[test]
fn what_left_its_group_ends_with_a_call_that_is_ended() {
    for stubborn in ["", "trap \"\" TERM; "] {
        let scratch = Scratch::new();
        let processes = Processes::new(scratch.path());
        let command = format!(
            "setsid sh -c '({stubborn}while :; do sleep 0.1; done >/dev/null 2>&1 & echo $! > new; mv new pids)' & sleep 300"
        );
        let daemon = cancelled(&processes, &scratch, &command, 1)[0];
        wait_for("the daemon of a dropped call to go", || !exists(daemon));
        fs::remove_file(scratch.path().join("pids")).unwrap();
        let finished = run(&processes, &scratch, &command, Duration::from_millis(500));
        assert!(finished.end.timed_out);
        let daemon = numbers(&scratch, "pids", 1).unwrap()[0];
        wait_for("the daemon of a call that took too long to go", || !exists(daemon));
        processes.shutdown();
    }
}

/// CH-11: orphans are ours to reap.
#[cfg(target_os = "linux")]
#[test]
fn orphans_leave_no_zombies() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    for _ in 0..20 {
        run(
            &processes,
            &scratch,
            "(sleep 0.05 >/dev/null 2>&1 &) ; setsid sh -c '(sleep 0.05 &)' >/dev/null 2>&1",
            Duration::from_secs(60),
        );
    }
    let children = || {
        run(&processes, &scratch, "true", Duration::from_secs(60));
        let tasks = fs::read_dir("/proc/self/task").unwrap();
        let lists =
            tasks.map(|task| fs::read_to_string(task.unwrap().path().join("children")).unwrap_or_default());
        lists.collect::<String>().split_ascii_whitespace().count()
    };
    // The watchdog is the only child left.
    wait_for("the orphans to be reaped", || children() == 1);
    processes.shutdown();
}

/// What a shell sees of how it was started: signals, descriptors, session, folder, environment.
const PROBE: &str = "sed -n '/^SigBlk:/p; /^SigIgn:/p' /proc/self/status; ls /proc/self/fd; \
    [ $$ = \"$(cut -d' ' -f6 /proc/$$/stat)\" ] && echo leads; pwd; echo $GONE $KEPT $SET; cat";

/// A shell starts alike whether we are copied for it or not.
#[cfg(target_os = "linux")]
#[test]
fn both_ways_to_start_are_one() {
    let scratch = Scratch::new();
    let root = scratch.path();
    let removed = ["PWD".into(), "OLDPWD".into(), "GONE".into()];
    let set =
        [("KEPT".into(), "first".into()), ("KEPT".into(), "kept".into()), ("SET".into(), "a=b c".into())];
    let runtime = runtime();
    let _context = runtime.enter();
    let told = |in_child: Option<zori_core::confine::InChild>| {
        let shell = Shell { env_removed: &removed, env_set: &set, ..shell_run(&root, PROBE).shell };
        let confinement = Confinement { in_child, ..Confinement::default() };
        let mut child = shell.spawn(Stdin::Nothing, confinement, Bond::EndsWithUs(None)).unwrap();
        let mut text = String::new();
        runtime.block_on(async {
            let mut stdout = child.stdout.take().unwrap();
            stdout.read_to_string(&mut text).await.unwrap();
            assert!(child.wait().await.unwrap().success());
        });
        assert_eq!((child.id(), child.try_wait().unwrap().is_some()), (None, true));
        text
    };
    // Whatever has to be done in the child, it is forked for it.
    let forked = told(Some(Box::new(|| Ok(()))));
    assert_eq!(told(None), forked);
    // What was ignored when we were started stays so, but for what Rust and we ignore ourselves.
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    let ours = 1 << (libc::SIGPIPE - 1) | 1 << (libc::SIGXFSZ - 1);
    let ignored = u64::from_str_radix(ignored, 16).unwrap() & !ours;
    let wanted = format!(
        "SigBlk:\t{:016x}\nSigIgn:\t{ignored:016x}\n0\n1\n2\n3\nleads\n{}\nkept a=b c\n",
        0,
        root.canonicalize().unwrap().display()
    );
    assert_eq!(forked, wanted);
}

/// What cannot start says why, whichever way is taken, and leaves nothing.
#[test]
fn what_does_not_start_says_why() {
    let scratch = Scratch::new();
    let processes = Processes::new(scratch.path());
    let gone = scratch.path().join("gone");
    let empty_path = [("PATH".into(), gone.clone().into_os_string())];
    let root = scratch.path();
    let error = |run: ShellRun<'_>| runtime().block_on(processes.run(run)).unwrap_err().to_string();
    let missing = "cannot start `sh`: No such file or directory (os error 2)";
    assert_eq!(error(shell_run(&gone, "true")), missing);
    let mut run = shell_run(&root, "true");
    run.shell.env_set = &empty_path;
    assert_eq!(error(run), missing);
    // Found, and not to be run.
    fs::create_dir(&gone).unwrap();
    fs::write(gone.join("sh"), "#!/bin/sh\n").unwrap();
    let mut run = shell_run(&root, "true");
    run.shell.env_set = &empty_path;
    assert_eq!(error(run), "cannot start `sh`: Permission denied (os error 13)");
    let long = "x".repeat(3 << 20);
    assert_eq!(error(shell_run(&root, &long)), "cannot start `sh`: Argument list too long (os error 7)");
    assert_eq!(processes.left_behind(), [""; 0]);
    processes.shutdown();
}

/// Output that is always there already.
struct Flood(fs::File);

impl AsyncRead for Flood {
    fn poll_read(
        self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
        buffer: &mut tokio::io::ReadBuf<'_>,
    ) -> std::task::Poll<io::Result<()>> {
        buffer.put_slice(&vec![b'x'; buffer.remaining()]);
        std::task::Poll::Ready(Ok(()))
    }
}

impl std::os::fd::AsFd for Flood {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// PERF-9: who types shares a thread with what is read.
#[test]
fn a_flood_lets_others_in_after_each_read() {
    let scratch = Scratch::new();
    let folder = Arc::new(SpillFolder::new(scratch.path()));
    let turns = runtime().block_on(async {
        let collector = Collector::new(OutputStream::Stdout, 0, folder, None);
        let mut stream = Stream::new(Some(Flood(fs::File::open("/dev/null").unwrap())), collector);
        let mut reading = pin!(async {
            for _ in 0..10 {
                stream.fill().await;
            }
        });
        let mut turns = 0;
        std::future::poll_fn(|cx| {
            turns += 1;
            reading.as_mut().poll(cx)
        })
        .await;
        turns
    });
    assert_eq!(turns, 11, "one for each read, and one to see that it was the last");
}
