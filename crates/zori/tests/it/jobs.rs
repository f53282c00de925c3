//! Background jobs (DECISIONS 53): commands that go on while the model does something else.

use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::reply::Reply;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::{process, wait};

use crate::world::with_model;

/// The names of the tools that the n-th request offered beyond the usual ones.
fn job_tools(server: &ModelServer, n: usize) -> Vec<String> {
    let tools = server.request(n).json()["tools"].as_array().expect("tools").clone();
    let names = tools.iter().map(|tool| tool["name"].as_str().expect("a name").to_owned());
    names.filter(|name| name.starts_with("job_")).collect()
}

/// What the model read of the result that the n-th request brought back.
fn result(server: &ModelServer, n: usize) -> String {
    let last = server.request(n).messages().last().expect("a message").clone();
    last["content"][0]["content"].as_str().expect("a text").to_owned()
}

/// What a job printed, of such a text.
fn printed(text: &str) -> Vec<&str> {
    let talk = ["job ", "note: ", "(no output)"];
    text.lines().filter(|line| !talk.iter().any(|start| line.starts_with(start))).collect()
}

/// The two tools for jobs are offered once there is one, and what still runs ends with the run.
#[test]
fn a_job_from_its_start_to_its_end() {
    let server = "echo up; while [ ! -e go ]; do sleep 0.01; done; echo down";
    let (world, model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": server, "background": true})),
        anthropic::tool_use(
            "t2",
            "bash",
            json!({"command": "echo $$ > pid; exec sleep 300", "background": true}),
        ),
        anthropic::tool_use("t3", "bash", json!({"command": "touch go"})),
        anthropic::tool_use("t4", "job_output", json!({"job_id": "job_1", "wait_secs": 60})),
        anthropic::tool_use("t5", "bash", json!({"command": "exec sleep 300", "background": true})),
        anthropic::tool_use("t6", "job_kill", json!({"job_id": "job_3"})),
        anthropic::tool_use("t7", "bash", json!({"command": "while [ ! -s pid ]; do sleep 0.01; done"})),
        anthropic::text("Done."),
    ]);
    let output = world.run(&["exec", "-p", "go"]).success();
    assert_eq!(output.stdout(), "Done.\n");
    assert_eq!(job_tools(&model, 0), [""; 0]);
    for n in 1..8 {
        assert_eq!(job_tools(&model, n), ["job_output", "job_kill"], "request {n}");
    }
    let (started, ended) = (result(&model, 1), result(&model, 4));
    assert_eq!(started.lines().next(), Some("job job_1 running"));
    assert_eq!(ended.lines().next(), Some("job job_1 exited, exit 0"));
    assert_eq!([printed(&started), printed(&ended)].concat(), ["up", "down"]);
    assert_eq!(result(&model, 6), "job job_3 killed, exit -1\n(no output)");
    let pid = world.read("pid").trim().to_owned();
    wait::until("the second job to end with the run", || !process::is_alive(&pid));
}

/// A person sees what runs, and can end it.
#[test]
fn jobs_in_the_chat() {
    let (world, _model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": "exec sleep 300", "background": true})),
        anthropic::text("It runs."),
    ]);
    let output = world.run_with_stdin(
        &["--as", "zdx"],
        "/jobs\ngo\n/jobs\n/jobs kill job_2\n/jobs stop\n/jobs kill job_1\n:q\n",
    );
    insta::assert_snapshot!(output, @"
    It runs.
    ------- stderr -------
    zdx chat (type :q to quit)
    Model: claude-haiku-4-5
    Session: $SESSION
    you> No jobs were started.
    you> Tool requested: bash command=\"exec sleep 300\"
    ⚙ Running bash... Done. (X.XXs)
    you>   job_1   running     exec sleep 300
    you> There is no job `job_2` (/jobs shows them all)
    you> /jobs lists the jobs, /jobs kill ID ends one
    you> Asked job_1 to end
    you> Goodbye!
    [exit status: 0]
    ");
}

/// A job that was asked to stay goes on when the run ends; where its output is, is told.
#[test]
fn a_job_that_stays() {
    let server = "echo $$ > new; mv new pid; echo up; while [ ! -e end ]; do sleep 0.02; done; echo down";
    let (world, model) = with_model([
        anthropic::tool_use("t1", "bash", json!({"command": server, "background": true, "stay": true})),
        anthropic::tool_use("t2", "bash", json!({"command": "while [ ! -s pid ]; do sleep 0.01; done"})),
        anthropic::tool_use("t3", "bash", json!({"command": "true", "stay": true})),
        anthropic::text("It runs."),
    ]);
    let output = world.run(&["exec", "-p", "go"]).success();
    let pid = world.read("pid").trim().to_owned();
    let folder = std::fs::read_dir(world.tmp()).unwrap().next().unwrap().unwrap().path();
    let name = folder.file_name().unwrap().to_str().unwrap();
    let told = output.to_string().replace(&format!("process {pid}"), "process $PID").replace(name, "$JOB");
    insta::assert_snapshot!(told, @r#"
    It runs.
    ------- stderr -------
    Tool requested: bash command="echo $$ > new; mv new pid; echo up; while [ ! -e end ]; do sleep 0.02; done; echo down"
    ⚙ Running bash... Done. (X.XXs)
    Tool requested: bash command="while [ ! -s pid ]; do sleep 0.01; done"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash exit=0
    Tool requested: bash command="true"
    ⚙ Running bash... Done. (X.XXs)
    Tool finished: bash error="only a job can `stay`: set `background` too"
    Warning: Goes on, as it was asked to: job_1 (`echo $$ > new; mv new pid; echo up; while [ ! -e end ]; do s`, process $PID, its output in $TMP/$JOB/stdout.txt)
    [exit status: 0]
    "#);
    assert_eq!(result(&model, 3), "error invalid_input: only a job can `stay`: set `background` too");
    let stdout = || std::fs::read_to_string(folder.join("stdout.txt")).unwrap();
    wait::until("its first line", || stdout() == "up\n");
    assert!(process::is_alive(&pid));
    world.write("end", "");
    wait::until("its last line", || stdout() == "up\ndown\n");
    wait::until("its end", || !process::is_alive(&pid));
}

/// Neither does it end when the program is killed. As long as the run goes on it is a job like any other.
#[test]
fn a_job_that_stays_is_a_job() {
    let server = "echo $$ > new; mv new pid$N; echo up; exec sleep 300";
    let start = |id: &str, n: u32| {
        let command = format!("N={n}; {server}");
        anthropic::tool_use(id, "bash", json!({"command": command, "background": true, "stay": true}))
    };
    let there = |n: u32| json!({"command": format!("while [ ! -s pid{n} ]; do sleep 0.01; done")});
    let (world, model) = with_model([
        start("t1", 1).reply(),
        anthropic::tool_use("t2", "bash", there(1)).reply(),
        anthropic::tool_use("t3", "job_output", json!({"job_id": "job_1"})).reply(),
        anthropic::tool_use("t4", "job_kill", json!({"job_id": "job_1"})).reply(),
        start("t5", 2).reply(),
        anthropic::tool_use("t6", "bash", there(2)).reply(),
        anthropic::tool_use(
            "t7",
            "bash",
            json!({"command": "sleep 300 & echo $! > new; mv new pid3; wait", "background": true}),
        )
        .reply(),
        anthropic::tool_use("t8", "bash", there(3)).reply(),
        Reply::stall(),
    ]);
    let mut run = world.start(world.cmd(&["exec", "-p", "go"]), Stdin::Null, Stdout::Captured);
    run.wait_until("the last request", |_| model.count() == 9).kill();
    run.finish();
    assert_eq!(result(&model, 4).lines().next(), Some("job job_1 killed, exit -1"));
    let pid = |n: u32| world.read(format!("pid{n}")).trim().to_owned();
    assert!(!process::is_alive(pid(1)));
    // Only the guard ends what a command has started in turn, and it ends all in order.
    wait::until("the guard to end the other job", || !process::is_alive(pid(3)));
    assert!(process::is_alive(pid(2)));
    let pid = Pid::from_raw(pid(2).parse().unwrap()).unwrap();
    kill_process_group(pid, Signal::KILL).unwrap();
}
