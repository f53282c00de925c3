//! How a run ends that does not come to its own end: time, signals, readers that are gone, full disks, defects.

use std::fs::File;
use std::time::{Duration, Instant};

use serde_json::json;
use zori_testkit::running::{Stdin, Stdout};

use crate::notes::{envelope_of, with_notes, world};

#[test]
fn time_that_is_over() {
    let env = world();
    // One listens and ends by itself, one is ended.
    for call in [
        &["wait", "--for", "1h", "--timeout", "100ms"][..],
        &["wait", "--for", "1h", "--deaf", "--timeout", "100ms"],
    ] {
        let began = Instant::now();
        let output = env.run(call);
        let envelope = envelope_of(&output);
        assert_eq!(output.code(), Some(10));
        assert_eq!(
            envelope["data"],
            json!({"partial": true, "completed_steps": ["began"], "pending_steps": ["waited"]})
        );
        // The command changes nothing, so the same call may be luckier.
        let error = &envelope["error"];
        assert_eq!(
            (&error["code"], &error["retryable"], &error["context"]),
            (&json!("TIMEOUT"), &json!(true), &json!({"timeout_ms": 100}))
        );
        assert!(envelope["meta"]["duration_ms"].as_u64().unwrap() >= 100);
        assert!(began.elapsed() < Duration::from_secs(20), "far below the hour it asked for");
    }
    assert_eq!(env.run(&["wait", "--for", "10ms", "--timeout", "0"]).code(), Some(0));
}

#[test]
fn signals_end_it_with_one_answer() {
    let env = world();
    for (code, name) in [(130, "SIGINT"), (143, "SIGTERM")] {
        for deaf in [None, Some("--deaf")] {
            let mut args = vec!["wait", "--for", "1h", "--timeout", "0"];
            args.extend(deaf);
            let mut run = env.start(env.cmd(&args), Stdin::Null, Stdout::Captured);
            run.wait_for_stderr("waiting");
            if code == 130 {
                run.interrupt()
            } else {
                run.terminate()
            };
            let output = run.finish();
            let envelope = envelope_of(&output);
            assert_eq!((output.code(), &envelope["error"]["signal"]), (Some(code), &json!(name)));
            assert_eq!((&envelope["data"]["partial"], output.stdout().lines().count()), (&json!(true), 1));
        }
    }
}

#[test]
fn the_temporary_folder_goes_with_the_run() {
    let env = world();
    let left = || std::fs::read_dir(env.tmp()).unwrap().count();
    let mut run = env.start(env.cmd(&["wait", "--for", "1h", "--temp"]), Stdin::Null, Stdout::Captured);
    run.wait_for_stderr("temporary: $TMP/notes-");
    assert_eq!(left(), 1);
    run.terminate();
    assert_eq!((run.finish().code(), left()), (Some(143), 0));
    let mut killed = env.start(env.cmd(&["wait", "--for", "1h", "--temp"]), Stdin::Null, Stdout::Captured);
    killed.wait_for_stderr("temporary: ").kill();
    killed.finish();
    assert_eq!(left(), 1, "nobody can tidy up after that");
    env.run(&["wait", "--for", "1ms", "--temp"]).success();
    assert_eq!(left(), 0, "but the next run");
}

#[test]
fn a_reader_that_is_gone_is_no_failure() {
    let env = with_notes(&["a"]);
    for args in [&["list"][..], &["export"], &["list", "-o", "tsv"], &["--help"]] {
        let output = env.start(env.cmd(args), Stdin::Null, Stdout::ClosedAfter(0)).finish();
        assert_eq!((output.code(), output.stderr()), (Some(0), String::new()), "{args:?}");
    }
    let output = env.start(env.cmd(&["show", "nothing"]), Stdin::Null, Stdout::ClosedAfter(0)).finish();
    assert_eq!(output.code(), Some(5), "what failed has failed, whoever reads");
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_one() {
    let env = with_notes(&["a"]);
    let full = File::options().write(true).open("/dev/full").unwrap();
    let output = env.start(env.cmd(&["list"]), Stdin::Null, Stdout::File(full)).finish();
    assert_eq!(
        (output.code(), output.stderr()),
        (Some(1), "Error: cannot write to standard output: No space left on device (os error 28)\n".into())
    );
}

#[test]
fn a_defect_is_an_answer_too() {
    let output = world().run(&["wait", "--for", "1s", "--panic"]);
    assert_eq!(output.code(), Some(1));
    assert_eq!(envelope_of(&output)["error"]["code"], "INTERNAL_ERROR");
    assert!(output.stderr().contains("as asked"), "{output}");
}

#[test]
fn a_lock_of_somebody_else_is_waited_for() {
    let env = world();
    let lock = env.write(env.home().join("notes/notes/.lock"), "7 1");
    let held = File::options().write(true).open(lock).unwrap();
    held.lock().unwrap();
    let output = env.run(&["add", "a", "--title", "x", "--timeout", "300ms"]);
    assert_eq!(output.code(), Some(10), "it waits, and hears the clock meanwhile");
    let mut run = env.start(env.cmd(&["add", "a", "--title", "x"]), Stdin::Null, Stdout::Captured);
    run.wait_until("the start", |run| std::fs::read_dir(format!("/proc/{}", run.pid())).is_ok());
    held.unlock().unwrap();
    assert_eq!(envelope_of(&run.finish())["data"]["effect"], "created");
}

/// With nothing on stdin and no terminal no command waits, asks or colours.
#[test]
fn no_command_waits_for_anybody() {
    let env = with_notes(&["a"]);
    for command in crate::commands::PROGRAM.commands {
        let mut args = command.path.to_vec();
        args.extend(command.args.iter().map(|arg| if arg.name == "SHELL" { "bash" } else { "a" }));
        if command.path == ["wait"] {
            args.extend(["--for", "1ms"]);
        }
        let output = env.run(&args);
        let codes: Vec<_> = command.exit_map().iter().map(|exit| i32::from(exit.code())).collect();
        assert!(codes.contains(&output.code().unwrap()), "{args:?}: {output}");
        assert!(!output.stdout.contains(&0x1b) && !output.stderr.contains(&0x1b), "{args:?}");
    }
}
