//! What becomes of the processes a command starts: on time-out, when they stay behind, when zori itself is killed.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, test_kill_process};
use serde_json::json;
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::{anthropic, needs, process, wait};

use crate::sessions::exec_in;
use crate::world::{in_shell, with_model};

/// Returns whether a process is there and not only waiting to be reaped.
pub fn alive(pid: i32) -> bool {
    match process::state(pid) {
        Some(_) => process::is_alive(pid),
        // Where there is no `/proc`, those that wait to be reaped count too, until they are.
        None => Pid::from_raw(pid).is_some_and(|pid| test_kill_process(pid).is_ok()),
    }
}

/// Returns the process ids that a command has written to the file `pids`, one a line, once it is complete.
pub fn pids(world: &TestEnv) -> Option<Vec<i32>> {
    let text = fs::read_to_string(world.work().join("pids")).ok()?;
    Some(text.lines().filter_map(|line| line.trim().parse().ok()).collect())
}

/// Waits until all of them are gone, and says how long that took.
#[track_caller]
pub fn wait_until_gone(pids: &[i32]) -> Duration {
    let start = Instant::now();
    wait::until(format_args!("{pids:?} to be gone"), || !pids.iter().any(|pid| alive(*pid)));
    start.elapsed()
}

/// The tool result of the second request, as the model sees it.
#[track_caller]
fn result(model: &ModelServer) -> String {
    let text = model.request(1).conversation();
    text.lines().last().expect("a request has messages").to_owned()
}

fn bash(command: &str) -> [anthropic::Message; 2] {
    [anthropic::tool_use("t1", "bash", json!({"command": command})), anthropic::text("Done.")]
}

fn bash_within(command: &str, seconds: u32) -> [anthropic::Message; 2] {
    let input = json!({"command": command, "timeout_secs": seconds});
    [anthropic::tool_use("t1", "bash", input), anthropic::text("Done.")]
}

/// BASH-3, BASH-7, CH-2.
#[test]
fn a_time_out_ends_the_whole_group() {
    let command = "echo before; sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait";
    let (world, model) = with_model(bash_within(command, 1));
    insta::assert_snapshot!(world.run(&["exec", "-p", "go"]), @r#"
    Done.
    ------- stderr -------
    Tool requested: bash command="echo before; sleep 300 & echo $! > new; echo $$ >> new; mv new pids; wait"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash timed_out=true
    [exit status: 0]
    "#);
    insta::assert_snapshot!(result(&model), @"Command timed out after 1 seconds");
    wait_until_gone(&pids(&world).unwrap());
}

/// CH-2: SIGKILL after a grace of two seconds.
#[test]
fn a_child_that_ignores_the_first_signal_is_killed() {
    let command = "trap '' TERM; echo $$ > new; mv new pids; while :; do sleep 0.1; done";
    let (world, model) = with_model(bash_within(command, 1));
    let start = Instant::now();
    world.run(&["exec", "-p", "go"]).success();
    println!("{:?}", start.elapsed());
    assert!(start.elapsed() >= Duration::from_secs(3), "it had its grace");
    insta::assert_snapshot!(result(&model), @"Command timed out after 1 seconds");
    wait_until_gone(&pids(&world).unwrap());
}

/// CH-5: the result comes, and the sleeper goes with the run.
#[test]
fn a_background_process_does_not_hold_the_result() {
    let (world, model) = with_model(bash("sleep 300 & echo $! > pids; echo out"));
    // The run is over long before the sleeper would be; waiting for it would fail by its bound.
    world.run(&["exec", "-p", "go"]).success();
    insta::assert_snapshot!(result(&model), @"note: a background process still held the output, which is closed now; redirect such output to a file");
    wait_until_gone(&pids(&world).unwrap());
}

/// CH-3: not even SIGKILL leaves anything behind, and nothing keeps the output open.
#[test]
fn killing_zori_kills_what_it_runs() {
    let command = "trap '' TERM HUP; sleep 300 & echo $! > new; (sleep 300 & echo $! >> new); echo $$ >> new; mv new pids; wait; wait";
    let (world, _model) = with_model(bash(command));
    let mut run = exec_in(&world, "s", "go");
    run.wait_until("the children", |_| pids(&world).is_some()).kill();
    run.finish();
    let pids = pids(&world).unwrap();
    assert_eq!(pids.len(), 3);
    println!("{:?}", wait_until_gone(&pids));
}

/// CH-1: a session and group of its own, no stdin, and nothing that zori itself inherited.
#[cfg(target_os = "linux")]
#[test]
fn a_child_has_its_own_session_and_no_descriptors_of_ours() {
    let command = "test \"$(cut -d' ' -f5,6 /proc/$$/stat)\" = \"$$ $$\" && echo own; readlink /proc/$$/fd/0; ls /proc/$$/fd; true";
    let (world, model) = with_model(bash(command));
    // The shell opens a descriptor that zori inherits.
    let outer = in_shell(&world, "exec 7</dev/null; exec \"$0\" \"$@\"", &["exec", "-p", "go"]);
    world.start(outer, Stdin::Null, Stdout::Captured).finish().success();
    insta::assert_snapshot!(result(&model), @"2");
}

/// CH-11.
#[cfg(target_os = "linux")]
#[test]
fn no_zombie_is_left_while_the_run_goes_on() {
    let gate = Gate::new();
    let call = |id: &str| anthropic::tool_use(id, "bash", json!({"command": "sh -c true & wait"})).reply();
    let last = anthropic::text("Done.").reply().wait_after(0, &gate);
    let (world, model) = with_model([call("t1"), call("t2"), call("t3"), last]);
    let mut run = exec_in(&world, "s", "go");
    run.wait_until("the last request", |_| model.count() == 4);
    let zori = run.pid().to_string();
    let zombies: Vec<String> = fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok())
        .filter(|stat| {
            stat.rsplit_once(") ").is_some_and(|(_, rest)| rest.starts_with(&format!("Z {zori} ")))
        })
        .collect();
    assert_eq!(zombies, Vec::<String>::new());
    gate.open();
    run.finish().success();
}

/// DECISIONS 37: a child loses the providers' keys and our own settings, and nothing else.
#[test]
fn a_child_does_not_see_keys() {
    let (mut world, model) = with_model(bash(
        // What shells set for themselves differs.
        "env | cut -d= -f1 | grep -v -x -e PWD -e OLDPWD -e SHLVL -e _ | sort | tr '\\n' ' '",
    ));
    for key in ["OPENAI_API_KEY", "GEMINI_API_KEY", "OPENROUTER_API_KEY", "ZORI_OUTPUT"] {
        world.set_var(key, "plain");
    }
    world.set_var("MINE", "1").set_var("GITHUB_TOKEN", "kept under yolo");
    world.run(&["exec", "-p", "go"]).success();
    // Where it took long, that stands in a line before.
    let said = result(&model);
    insta::assert_snapshot!(said.strip_prefix("user: tool_result t1 ").unwrap_or(&said), @"ANTHROPIC_BASE_URL EDITOR GITHUB_TOKEN GIT_EDITOR GIT_PAGER GIT_TERMINAL_PROMPT HOME HOMEBREW_NO_AUTO_UPDATE LANG LESS MANPAGER MINE MORE NO_COLOR NO_UPDATE_NOTIFIER PAGER PATH PIP_DISABLE_PIP_VERSION_CHECK TERM TMPDIR VISUAL");
}

/// A container may have its processes in a PID namespace whose session and group leaders are outside: their numbers are 0 there. Commands
/// run, what leaves its group is seen, and nothing is left.
#[cfg(target_os = "linux")]
#[test]
fn leaders_in_another_pid_namespace_as_root() {
    if !needs::root() || needs::program("unshare").is_none() {
        return;
    }
    let (world, model) = with_model([
        anthropic::tool_use(
            "t1",
            "bash",
            json!({"command": "setsid sleep 300 >/dev/null 2>&1 & cut -d' ' -f5,6 /proc/$PPID/stat"}),
        ),
        anthropic::tool_use("t2", "bash", json!({"command": "exec sleep 300", "background": true})),
        anthropic::text("Done."),
    ]);
    let inner = world.cmd(&["exec", "-p", "go"]);
    let mut outer = std::process::Command::new("unshare");
    outer
        .args(["--pid", "--fork", "--mount-proc", "--kill-child"])
        .arg(inner.get_program())
        .args(inner.get_args());
    outer.current_dir(world.work()).env_clear();
    outer.envs(inner.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let output = world.start(outer, Stdin::Null, Stdout::Captured).finish().success().to_string();
    let (before, after) = output.split_once("(process ").expect("the one that left its group is named");
    let (_, after) = after.split_once(')').expect("and its number");
    // It may have been seen before it became what it runs.
    let told = format!("{before}(process $PID){after}").replace("`setsid` (process", "`sleep` (process");
    insta::assert_snapshot!(told, @r#"
    Done.
    ------- stderr -------
    Tool requested: bash command="setsid sleep 300 >/dev/null 2>&1 & cut -d' ' -f5,6 /proc/$PPID/stat"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    Tool requested: bash command="exec sleep 300"
    ⚙ Running bash... Done. (X.XXs)
    Warning: Ended what commands had left running: job_1 (`exec sleep 300`), `sleep` (process $PID)
    [exit status: 0]
    "#);
    assert_eq!(result(&model), "user: tool_result t1 0 0");
}
