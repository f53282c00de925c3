//! The provider `agent-zero` through every front end, against the real server's handler (0.9 and 1.x) and against one that streams: a file is
//! read without a question, a change is asked about where somebody can be asked, and what becomes of it goes back to the server
//! (`docs/contracts/agent-zero.md`, TR-5, SEC-1).

use std::time::Instant;

use serde_json::{Value, json};
use zori_testkit::agent_zero::{self, KEY, Version};
use zori_testkit::env::TestEnv;
use zori_testkit::gate::Gate;
use zori_testkit::pty::Size;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;
use zori_testkit::wait;

use crate::acp::{self, Editor};
use crate::asking::reply;
use crate::chat::screen::{over, type_line};
use crate::screen_stage::Person;
use crate::stream_json;
use crate::world::world;

const PROVIDER: [&str; 3] = ["--no-save", "--provider", "agent-zero"];
const SIZE: Size = Size { rows: 36, cols: 120 };

/// What the person, or the program, says to the change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Yes,
    No,
}

/// A server that asks for a file, then for a change, then is done.
fn server(version: Version) -> ModelServer {
    let asks = |tool: &str, payload: Value| {
        json!({"type": "tool_request", "tool_name": tool, "reason": "to see", "payload": payload}).to_string()
    };
    agent_zero::start(version, move |count, _| match count {
        1 => asks("read_file", json!({"path": "notes.txt"})),
        2 => asks("write_file", json!({"path": "new.txt", "content": "beta"})),
        _ => "All is done.".to_owned(),
    })
}

/// Plays it through a front end against every server. `play` returns what the front end showed of the answer; `no` is what the server reads of a
/// change that was not allowed.
#[track_caller]
fn check(no: &str, play: impl Fn(&TestEnv, Answer) -> String) {
    for version in Version::ALL {
        for answer in [Answer::No, Answer::Yes] {
            let server = server(version);
            let mut world = world();
            world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
            world.set_var("AGENTZERO_API_KEY", KEY);
            world.set_var("AGENTZERO_KEEPALIVE_SECONDS", "0");
            world.write("notes.txt", "alpha\n");
            let shown = play(&world, answer);
            let told = format!("{version:?} {answer:?}: {shown}");
            assert!(shown.contains("All is done."), "{told}");
            let results: Vec<Value> = server
                .requests()
                .iter()
                .filter_map(|request| {
                    let message = request.json()["message"].as_str()?.to_owned();
                    Some(serde_json::from_str::<Value>(&message).ok()?["tool_result"].clone())
                })
                .collect();
            let read = json!({"tool_name": "read_file", "ok": true, "output": "alpha\n",
                              "details": {"path": "notes.txt", "bytes": 6, "truncated": false}});
            let second = match answer {
                Answer::No => json!({"tool_name": "write_file", "ok": false, "output": no,
                    "details": {"command": "write_file new.txt", "reason": no, "code": "permission_denied"}}),
                Answer::Yes => {
                    json!({"tool_name": "write_file", "ok": true, "output": results.get(1).map(|result| &result["output"]),
                    "details": {"path": "new.txt", "bytes": 4}})
                }
            };
            assert_eq!(results, [read, second], "{told}");
            let made = std::fs::read_to_string(world.work().join("new.txt")).ok();
            assert_eq!(made.as_deref(), (answer == Answer::Yes).then_some("beta"), "{told}");
        }
    }
}

#[test]
fn exec() {
    let no = "approval_unavailable: mode balanced asks about W: Creates or edits inside a workspace root, and nobody can be asked in this \
              run. Do it another way, or tell the user what would have to be allowed.";
    check(no, |world, answer| {
        let yes: &[&str] = if answer == Answer::Yes { &["-y"] } else { &[] };
        let output = world.run(&[&["exec", "-p", "go"], &PROVIDER[..], yes].concat());
        assert_eq!((output.code(), &*output.stdout()), (Some(0), "All is done.\n"), "{output}");
        output.stdout()
    });
}

#[test]
fn json_lines() {
    check("The user rejected this call: not yet", |world, answer| {
        let args = [&["--json"], &PROVIDER[..]].concat();
        let mut run = world.start(world.cmd(&args), Stdin::Open, Stdout::Captured);
        run.write_stdin("go\n").wait_for_stdout("elicitation");
        let said = match answer {
            Answer::Yes => {
                json!({"type": "elicitation_response", "action": "accept", "content": {"approve": true}})
            }
            Answer::No => {
                json!({"type": "elicitation_response", "action": "decline", "content": {"reason": "not yet"}})
            }
        };
        run.write_stdin(format!("{said}\n")).wait_for_stdout("All is done.");
        run.close_stdin();
        let output = run.finish();
        assert_eq!(output.code(), Some(0), "{output}");
        output.stdout()
    });
}

#[test]
fn claude_protocol() {
    check("not yet", |world, answer| {
        let args = [&["--permission-prompt-tool", "stdio"], &PROVIDER[..]].concat();
        let mut run = stream_json::start(world, &args);
        run.write_stdin(stream_json::user("go"));
        let (id, question) = stream_json::asked(&mut run, "can_use_tool", 0);
        let said = match answer {
            Answer::Yes => json!({"behavior": "allow", "updatedInput": question["input"]}),
            Answer::No => json!({"behavior": "deny", "message": "not yet"}),
        };
        run.write_stdin(stream_json::answer(&id, said));
        run.wait_until("the end", |run| run.stdout().contains("{\"type\":\"result\""));
        run.close_stdin();
        let output = run.finish();
        assert_eq!(output.code(), Some(0), "{output}");
        output.stdout()
    });
}

#[test]
fn editors() {
    check("The user rejected this call", |world, answer| {
        let mut editor = Editor::with_session(world, &["--provider", "agent-zero"]);
        let id = editor.prompt("go");
        let asked = editor.next("session/request_permission").pop().expect("it was waited for");
        let option = if answer == Answer::Yes { "allow" } else { "reject" };
        editor.answer(&asked["id"], json!({"outcome": {"outcome": "selected", "optionId": option}}));
        let (before, end) = editor.until(id);
        assert_eq!(end, acp::stopped(id, "end_turn"));
        let chunks = acp::updates(&before);
        let is_text = |update: &&Value| update["sessionUpdate"] == "agent_message_chunk";
        let text = |update: &Value| update["content"]["text"].as_str().unwrap_or_default().to_owned();
        chunks.iter().filter(is_text).map(text).collect()
    });
}

#[test]
fn line_chat() {
    check("The user rejected this call: not yet", |world, answer| {
        let mut pty = world.pty(&PROVIDER, Size { rows: 50, cols: 160 });
        type_line(&mut pty, 1, "go");
        reply(&mut pty, 1, if answer == Answer::Yes { "y\r" } else { "n not yet\r" });
        type_line(&mut pty, 2, ":q");
        over(pty)
    });
}

#[test]
fn chat() {
    check("The user rejected this call", |world, answer| {
        let mut person = Person::before(world.screen(&PROVIDER, SIZE), SIZE);
        person.says("go").answers(if answer == Answer::Yes { "y" } else { "n" });
        person.sees("All is done.");
        let shown = person.rows().join("\n");
        person.leaves();
        shown
    });
}

#[test]
fn panel() {
    check("The user rejected this call", |world, answer| {
        let mut person = Person::before(world.screen(&[&["tui"], &PROVIDER[..]].concat(), SIZE), SIZE);
        person.says("go").sees(" asks").pauses(1300).keys(if answer == Answer::Yes { "y" } else { "n" });
        person.sees("All is done.").sees("waiting  NO");
        let shown = person.rows().join("\n");
        person.keys("\x1b[21~");
        assert!(person.ends().0.success());
        shown
    });
}

/// CB-5: what the tools may do is said as it is when the message goes out, whoever changed the mode.
#[track_caller]
fn check_rights(play: impl Fn(&TestEnv)) {
    let server = agent_zero::start(Version::Old, |count, _| format!("answer {count}"));
    let mut world = world();
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
    world.set_var("AGENTZERO_API_KEY", KEY);
    world.set_var("AGENTZERO_KEEPALIVE_SECONDS", "0");
    world.write("notes.txt", "alpha\n");
    play(&world);
    let told: Vec<Vec<String>> = server
        .requests()
        .iter()
        .map(|request| {
            let text = request.json()["message"].as_str().unwrap_or_default().to_owned();
            let lines = text.lines().filter(|line| {
                line.starts_with("security_mode: ")
                    || line.starts_with("- read_file")
                    || line.starts_with("USER: ")
            });
            lines.map(str::to_owned).collect()
        })
        .collect();
    let read = |tag: &str| format!("- read_file(path, start_line?, end_line?, max_bytes?) [{tag}]");
    assert_eq!(
        told,
        [
            vec!["security_mode: balanced".to_owned(), read("auto"), "USER: one".to_owned()],
            // It is no news that nothing has changed.
            Vec::new(),
            vec!["security_mode: paranoid".to_owned(), read("approval"), "USER: three".to_owned()],
        ]
    );
}

#[test]
fn rights_in_json_lines() {
    check_rights(|world| {
        let mut run =
            world.start(world.cmd(&[&["--json"], &PROVIDER[..]].concat()), Stdin::Open, Stdout::Captured);
        run.write_stdin("one\n").wait_for_stdout("answer 1");
        run.write_stdin("two\n").wait_for_stdout("answer 2");
        run.write_stdin("/mode paranoid\n").write_stdin("three\n").wait_for_stdout("answer 3");
        run.close_stdin();
        let output = run.finish();
        assert_eq!(output.code(), Some(0), "{output}");
    });
}

#[test]
fn rights_in_the_claude_protocol() {
    check_rights(|world| {
        let mut run = stream_json::start(world, &PROVIDER);
        let said = |count: usize| {
            move |run: &zori_testkit::running::Running| {
                run.stdout().matches("{\"type\":\"result\"").count() == count
            }
        };
        run.write_stdin(stream_json::user("one"));
        run.wait_until("the first answer", said(1));
        run.write_stdin(stream_json::user("two"));
        run.wait_until("the second answer", said(2));
        let change = json!({"type": "control_request", "request_id": "m",
                            "request": {"subtype": "set_permission_mode", "mode": "paranoid"}});
        run.write_stdin(format!("{change}\n"));
        run.wait_until("the change", |run| run.stdout().contains("control_response"));
        run.write_stdin(stream_json::user("three"));
        run.wait_until("the third answer", said(3));
        run.close_stdin();
        let output = run.finish();
        assert_eq!(output.code(), Some(0), "{output}");
    });
}

/// The same before the first prompt, when there is no session yet.
#[test]
fn rights_before_the_first_prompt_of_the_claude_protocol() {
    let server = agent_zero::start(Version::Old, |count, _| format!("answer {count}"));
    let mut world = world();
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
    world.set_var("AGENTZERO_API_KEY", KEY);
    let mut run = stream_json::start(&world, &PROVIDER);
    let change = json!({"type": "control_request", "request_id": "m",
                        "request": {"subtype": "set_permission_mode", "mode": "paranoid"}});
    run.write_stdin(format!("{change}\n"));
    run.wait_until("the change", |run| run.stdout().contains("control_response"));
    run.write_stdin(stream_json::user("one"));
    run.wait_until("the answer", |run| run.stdout().contains("{\"type\":\"result\""));
    run.close_stdin();
    assert_eq!(run.finish().code(), Some(0));
    let message = server.requests()[0].json()["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.lines().any(|line| line == "security_mode: paranoid"), "{message}");
}

#[test]
fn rights_in_editors() {
    check_rights(|world| {
        let mut editor = Editor::with_session(world, &["--provider", "agent-zero"]);
        editor.turn("one");
        editor.turn("two");
        let session = editor.session().to_owned();
        let (_, set) = editor.call("session/set_mode", json!({"sessionId": session, "modeId": "paranoid"}));
        assert_eq!(set["result"], json!({}), "{set}");
        editor.turn("three");
        editor.hang_up();
    });
}

/// APR-5 with a server: it is asked in a chat of its own, without the id of the conversation, without the workspace and without files; the call waits
/// meanwhile, and the conversation goes on with its own id.
#[test]
fn an_explanation_is_outside_the_conversation() {
    let server = agent_zero::start(Version::Old, |_, message| {
        match message {
        message if message.contains("<call>") => "It writes four letters.".to_owned(),
        message if message.starts_with("{\"tool_result\"") => "All is done.".to_owned(),
        _ => json!({"type": "tool_request", "tool_name": "write_file", "payload": {"path": "new.txt", "content": "beta"}})
            .to_string(),
    }
    });
    let mut world = world();
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
    world.set_var("AGENTZERO_API_KEY", KEY);
    world.write("notes.txt", "alpha\n");
    let open = |args: &[&str]| Person::before(world.screen(&[args, &PROVIDER[..]].concat(), SIZE), SIZE);
    // The chat, then the panel.
    let mut person = open(&[]);
    person.says("go").sees("wants to change files").pauses(1300).keys("e");
    person.sees("risk medium: it changes files").sees("the model says: It writes four letters.");
    assert!(!world.work().join("new.txt").exists());
    // It is a page there, which takes no answer.
    person.keys("q").sees("wants to change files").pauses(1300).keys("n").sees("All is done.").leaves();
    let mut person = open(&["tui"]);
    person.says("/upload --send notes.txt").says("go").sees("write_file asks").pauses(1300).keys("e");
    person.sees("the model says: It writes four letters.");
    person.pauses(800).keys("y").sees("All is done.").sees("waiting  NO").keys("\x1b[21~");
    assert!(person.ends().0.success());
    let requests = server.requests();
    let messages = requests.iter().filter(|request| request.path.ends_with("api_message"));
    let bodies: Vec<Value> = messages.map(|request| request.json()).collect();
    let sent: Vec<(String, Value, Value)> = bodies
        .iter()
        .map(|body| {
            let text = body["message"].as_str().unwrap_or_default();
            let kind = ["AZ_CONTEXT", "<call>", "tool_result"].into_iter().find(|kind| text.contains(kind));
            (kind.unwrap_or("?").to_owned(), body["context_id"].clone(), body["attachments"].clone())
        })
        .collect();
    let kinds: Vec<&str> = sent.iter().map(|(kind, ..)| kind.as_str()).collect();
    assert_eq!(kinds, ["AZ_CONTEXT", "<call>", "tool_result", "AZ_CONTEXT", "<call>", "tool_result"]);
    for chat in sent.chunks(3) {
        assert_eq!((&chat[0].1, &chat[1].1), (&Value::Null, &Value::Null), "neither knows an id");
        assert!(chat[2].1.is_string(), "the result goes to the conversation");
        assert_eq!(chat[1].2, Value::Null, "no file goes along");
    }
    assert!(sent[3].2.is_array(), "the file went with the prompt");
    let asked = &bodies[1]["message"];
    assert!(
        asked.as_str().is_some_and(|text| text.starts_with("A person is asked whether a tool call")),
        "{asked}"
    );
}

/// A server whose agent writes its log and waits until somebody has read it: a thought that grows, a tool whose output does.
fn that_works(version: Version, seen: [Gate; 2]) -> ModelServer {
    agent_zero::working(version, move |count, _, log| {
        if count == 1 {
            return "Hello.".to_owned();
        }
        let thought = log.add(
            "agent",
            "icon://network_intelligence A0: Thinking",
            "",
            json!({"thoughts": ["I look."]}),
        );
        let tool = log.add("code_exe", "icon://terminal A0: Running code", "", json!({}));
        let since = Instant::now();
        seen[0].pass(|| since.elapsed() > wait::BOUND);
        log.change(thought, "kvps", json!({"thoughts": ["I look.", "And count."]}));
        log.change(tool, "content", "$ ls\n3 files\n");
        log.add("warning", "", "little space", json!({}));
        seen[1].pass(|| since.elapsed() > wait::BOUND);
        "There are three.".to_owned()
    })
}

/// What every test of it sets.
fn following(server: &ModelServer) -> TestEnv {
    let mut world = world();
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
    world.set_var("AGENTZERO_API_KEY", KEY);
    world.set_var("AGENTZERO_KEEPALIVE_SECONDS", "0");
    world.set_var("AGENTZERO_CONTEXT", "no");
    world.write(world.base().join("config.toml"), "[connection]\nlog_poll_seconds = 0.05\n");
    world
}

/// SRV-9 against the real server's log, at both routes: what is new and what changed is told, once, while the message is open.
#[test]
fn the_log_in_exec() {
    for version in [Version::Old, Version::New] {
        let seen = [Gate::new(), Gate::new()];
        let server = that_works(version, seen.clone());
        let world = following(&server);
        let args = |prompt| ["exec", "--provider", "agent-zero", "--session", "s", "-p", prompt];
        world.run(&args("one")).success();
        let mut run = world.start(world.cmd(&args("two")), Stdin::Null, Stdout::Captured);
        run.wait_for_stderr("A0: Running code");
        seen[0].open();
        run.wait_for_stderr("little space");
        seen[1].open();
        let output = run.finish();
        assert_eq!((output.code(), &*output.stdout()), (Some(0), "There are three.\n"), "{output}");
        let told = output.stderr();
        let told: Vec<&str> =
            told.lines().filter(|line| line.contains("Server") || line.contains("server's")).collect();
        let after = usize::from(version == Version::New && told[0].contains("is used from now on"));
        let wanted = [
            "Server: A0: Thinking",
            "The server's tool: A0: Running code",
            "The server's tool: 3 files",
            "Server warning: little space",
        ];
        assert_eq!(told[after..], wanted, "{output}");
    }
}

/// The same in the panel, whose feed has it.
#[test]
fn the_log_in_the_panel() {
    let seen = [Gate::new(), Gate::new()];
    let server = that_works(Version::New, seen.clone());
    let world = following(&server);
    let mut person = Person::before(world.screen(&[&["tui"], &PROVIDER[..]].concat(), SIZE), SIZE);
    person
        .says("one")
        .sees("Hello.")
        .sees("waiting  NO")
        .says("two")
        .sees("status    The server's tool: A0: Running code");
    seen[0].open();
    person
        .sees("status    The server's tool: 3 files")
        .sees("status    Server warning: little space")
        .sees("waiting  YES");
    seen[1].open();
    person.sees("There are three.").sees("waiting  NO").sees("thinking  I look. And count.").keys("\x1b[21~");
    assert!(person.ends().0.success());
}
