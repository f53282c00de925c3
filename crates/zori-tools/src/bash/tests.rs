use std::path::{Path, PathBuf};
use std::sync::Mutex;

use zori_core::confine::{Confine, ConfineError, Confined, Holding, ServiceAccess};
use zori_core::tool::{LiveOutput, OutputStream, ProcessEnd};

use super::*;
use crate::testing::{Scratch, call, cx, runtime};

fn bash(scratch: &Scratch, change: impl FnOnce(&mut ToolEnv)) -> Bash {
    let mut env = scratch.env();
    change(&mut env);
    let processes = Arc::new(Processes::new(env.temp_parent.clone()));
    Bash::new(Arc::new(env), processes)
}

fn check(scratch: &Scratch, args: &str) -> String {
    let tool = bash(scratch, |_| {});
    let envelope = scratch.hide(call(&tool, &DEF, args).envelope.get());
    tool.processes.shutdown();
    envelope
}

#[test]
fn commands_and_how_they_end() {
    let scratch = Scratch::new();
    let cases = [
        (
            r#"{"command":"pwd; echo err >&2; exit 3"}"#,
            r#"{"stdout":"$ROOT\n","stderr":"err\n","exit_code":3,"timed_out":false}"#,
        ),
        (r#"{"command":"true"}"#, r#"{"stdout":"","stderr":"","exit_code":0,"timed_out":false}"#),
        (r#"{"command":"kill -9 $$"}"#, r#"{"stdout":"","stderr":"","exit_code":-1,"timed_out":false}"#),
        // Standard input is empty, so whoever reads it comes to an end.
        (
            r#"{"command":"cat; echo done"}"#,
            r#"{"stdout":"done\n","stderr":"","exit_code":0,"timed_out":false}"#,
        ),
        (
            r#"{"command":"printf 'a\\377b\\000c'"}"#,
            r#"{"stdout":"a�b\u0000c","stderr":"","exit_code":0,"timed_out":false}"#,
        ),
        (
            r#"{"command":"echo part; echo why >&2; sleep 60","timeout_secs":"1"}"#,
            r#"{"stdout":"part\n","stderr":"why\nCommand timed out after 1 seconds\n","exit_code":-1,"timed_out":true}"#,
        ),
        (
            r#"{"command":"printf why >&2; sleep 60","timeout_secs":1}"#,
            r#"{"stdout":"","stderr":"why\nCommand timed out after 1 seconds\n","exit_code":-1,"timed_out":true}"#,
        ),
    ];
    for (args, data) in cases {
        assert_eq!(check(&scratch, args), format!(r#"{{"ok":true,"data":{data}}}"#), "{args}");
    }
    let missing = check(&scratch, r#"{"command":"no-such-program"}"#);
    assert!(missing.ends_with(r#""exit_code":127,"timed_out":false}}"#), "{missing}");
}

#[test]
fn the_end_of_the_process_is_told() {
    let scratch = Scratch::new();
    let tool = bash(&scratch, |_| {});
    let output = call(&tool, &DEF, r#"{"command":"kill -TERM $$"}"#);
    assert_eq!(output.process, Some(ProcessEnd { exit_code: -1, signal: Some(15), timed_out: false }));
    tool.processes.shutdown();
}

#[test]
fn arguments_out_of_range() {
    let scratch = Scratch::new();
    let cases = [
        (r#"{"command":"x","timeout_secs":0}"#, "`timeout_secs` must be 1 to 600, not 0"),
        (r#"{"command":"x","timeout_secs":601}"#, "`timeout_secs` must be 1 to 600, not 601"),
        (r#"{"command":"a\u0000b"}"#, "`command` must not contain a NUL byte"),
    ];
    for (args, message) in cases {
        assert_eq!(
            check(&scratch, args),
            format!(r#"{{"ok":false,"error":{{"code":"invalid_input","message":"{message}"}}}}"#)
        );
    }
}

#[test]
fn shells_that_do_not_start() {
    let scratch = Scratch::new();
    let long = format!(r#"{{"command":": {}"}}"#, "x".repeat(200_000));
    assert_eq!(
        check(&scratch, &long),
        r#"{"ok":false,"error":{"code":"spawn_error","message":"cannot start `sh`: Argument list too long (os error 7); the command is too long: write it to a file and run that"}}"#
    );
    let missing = scratch.path().join("missing");
    let tool = bash(&scratch, |env| env.child_env_set.push(("PATH".into(), missing.clone().into())));
    assert_eq!(
        call(&tool, &DEF, r#"{"command":"true"}"#).envelope.get(),
        r#"{"ok":false,"error":{"code":"spawn_error","message":"cannot start `sh`: No such file or directory (os error 2)"}}"#
    );
    let tool = bash(&scratch, |env| env.root = missing.clone());
    let shown = missing.display().to_string();
    assert_eq!(
        call(&tool, &DEF, r#"{"command":"true"}"#).envelope.get().replace(&shown, "$MISSING"),
        r#"{"ok":false,"error":{"code":"spawn_error","message":"cannot start `sh`: No such file or directory (os error 2); the working directory $MISSING does not exist any more"}}"#
    );
}

#[test]
fn a_lost_shell_is_an_exec_error() {
    let scratch = Scratch::new();
    let tool = bash(&scratch, |_| {});
    let lost = ProcessError::Wait(io::Error::from_raw_os_error(libc::ECHILD));
    let start = CommandStart {
        command: "true",
        cwd: Path::new("/"),
        consent: Consent::Rule,
        holding: Holding::Usual,
    };
    assert_eq!(
        tool.failed(&lost, &start).envelope.get(),
        r#"{"ok":false,"error":{"code":"exec_error","message":"cannot wait for `sh`: No child processes (os error 10)"}}"#
    );
}

/// Confines nothing, and suspects every failure; what it is asked about `refused` it refuses.
struct Suspicious;

impl Confine for Suspicious {
    fn prepare(&self, start: &CommandStart<'_>) -> Result<Confined, ConfineError> {
        if start.command == "refused" {
            return Err(ConfineError("there is no sandbox; get one".to_owned()));
        }
        Ok(Confined {
            wrapper: Vec::new(),
            env: Vec::new(),
            in_child: None,
            wrapper_ends_all: false,
            hold: Box::new(()),
        })
    }

    fn prepare_service(&self, _: &ServiceAccess<'_>) -> Result<Confined, ConfineError> {
        Err(ConfineError("it is for commands".to_owned()))
    }

    fn hides(&self, _: &ServiceAccess<'_>, _: &Path) -> Option<PathBuf> {
        None
    }

    fn profile(&self, start: &CommandStart<'_>) -> String {
        format!("box for {:?}", start.consent)
    }

    fn suspects(&self, start: &CommandStart<'_>, exit_code: i32, stderr: &str) -> Option<Denial> {
        let message = format!("{} ended with {exit_code}: {stderr}", start.command);
        (exit_code != 0).then(|| Denial { profile: self.profile(start), about: "files", message })
    }
}

/// SB-6 and DEC-4.
#[test]
fn what_confines_a_command_is_told() {
    let scratch = Scratch::new();
    let tool = bash(&scratch, |env| env.confine = Some(Arc::new(Suspicious)));
    let told = |args: &str| {
        let output = call(&tool, &DEF, args);
        (scratch.hide(output.envelope.get()), output.denial.map(|denial| (denial.profile, denial.about)))
    };
    let fine = r#"{"ok":true,"data":{"stdout":"","stderr":"","exit_code":0,"timed_out":false}}"#;
    assert_eq!(told(r#"{"command":"true"}"#), (fine.to_owned(), None));
    let failed = r#"{"ok":true,"data":{"stdout":"","stderr":"no","exit_code":3,"timed_out":false,"note":"printf no >&2; exit 3 ended with 3: no"}}"#;
    assert_eq!(
        told(r#"{"command":"printf no >&2; exit 3"}"#),
        (failed.to_owned(), Some(("box for Rule".to_owned(), "files")))
    );
    let refused = r#"{"ok":false,"error":{"code":"exec_error","message":"there is no sandbox; get one"}}"#;
    assert_eq!(
        told(r#"{"command":"refused"}"#),
        (refused.to_owned(), Some(("box for Rule".to_owned(), "unavailable")))
    );
    let args = RawValue::from_string(r#"{"command":"true"}"#.to_owned()).unwrap();
    let preview = runtime().block_on(tool.preview(&args));
    let expected = Preview::Command {
        command: "true".to_owned(),
        cwd: tool.env.root.clone(),
        sandbox: Some("box for Person".to_owned()),
    };
    assert_eq!(preview, expected);
}

#[test]
fn the_environment_loses_and_gains_what_it_is_told() {
    let scratch = Scratch::new();
    let tool = bash(&scratch, |env| {
        env.child_env_removed = Box::new(|| vec!["HOME".into()]);
        env.child_env_set.push(("ZORI_TEST".into(), "set".into()));
    });
    assert_eq!(
        call(&tool, &DEF, r#"{"command":"echo ${HOME-none} $ZORI_TEST"}"#).envelope.get(),
        r#"{"ok":true,"data":{"stdout":"none set\n","stderr":"","exit_code":0,"timed_out":false}}"#
    );
    tool.processes.shutdown();
}

#[test]
fn long_output_is_cut_and_the_file_is_named() {
    let scratch = Scratch::new();
    let tool = bash(&scratch, |env| env.bash_max_output = 20);
    let envelope = call(&tool, &DEF, r#"{"command":"seq 1 30; echo short >&2"}"#).envelope;
    assert_eq!(
        scratch.hide(envelope.get()).replace(&format!("zori-{}-0", std::process::id()), "zori-PID-0"),
        concat!(
            r#"{"ok":true,"data":{"stdout":"1\n2\n3\n4\n5\n[... 62 of 81 bytes cut here; all of it is in "#,
            r#"$ROOT/zori-PID-0/1-stdout.txt ...]\n28\n29\n30\n","stderr":"short\n","exit_code":0,"timed_out":false,"#,
            r#""stdout_truncated":true,"stdout_file":"$ROOT/zori-PID-0/1-stdout.txt"}}"#
        )
    );
    let all: String = (1..=30).map(|n| format!("{n}\n")).collect();
    assert_eq!(scratch.get(&format!("zori-{}-0/1-stdout.txt", std::process::id())), all);
    tool.processes.shutdown();
    assert_eq!(scratch.list(), [""; 0]);
}

#[test]
fn a_process_in_the_background_is_noted() {
    let scratch = Scratch::new();
    assert_eq!(
        check(&scratch, r#"{"command":"echo hi; sleep 300 &"}"#),
        r#"{"ok":true,"data":{"stdout":"hi\n","stderr":"","exit_code":0,"timed_out":false,"note":"a background process still held the output, which is closed now; redirect such output to a file"}}"#
    );
}

#[derive(Default)]
struct Watcher(Mutex<String>);

impl LiveOutput for Watcher {
    fn push(&self, stream: OutputStream, text: &str) {
        self.0.lock().unwrap().push_str(&format!("{stream:?} {text:?}\n"));
    }
}

#[test]
fn whoever_watches_sees_lines_while_it_runs() {
    let scratch = Scratch::new();
    let tool = bash(&scratch, |_| {});
    let watcher = Arc::new(Watcher::default());
    let args = RawValue::from_string(
        r#"{"command":"echo one; while [ ! -e go ]; do sleep 0.01; done; echo two >&2"}"#.into(),
    )
    .unwrap();
    let cx = ToolCx { live: Some(watcher.clone()), ..cx() };
    runtime().block_on(async {
        let mut running = tool.run(cx, &args);
        let mut told = false;
        loop {
            tokio::select! {
                output = &mut running => break assert!(output.ok() && told),
                () = tokio::time::sleep(Duration::from_millis(2)) => {}
            }
            if !told && *watcher.0.lock().unwrap() == "Stdout \"one\\n\"\n" {
                told = true;
                scratch.put("go", "");
            }
        }
    });
    assert_eq!(*watcher.0.lock().unwrap(), "Stdout \"one\\n\"\nStderr \"two\\n\"\n");
    tool.processes.shutdown();
}
