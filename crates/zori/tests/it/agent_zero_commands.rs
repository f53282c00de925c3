//! The commands of the Agent Zero client (UI-8a, UI-9, UI-10, OBS-5, SRV-10) in the line chat, the chat and the panel: what is said, and what the server
//! reads.

use serde_json::{Value, json};
use zori_testkit::agent_zero::{self, KEY, Version};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::{Pty, Size};
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;
use zori_testkit::wait;

use crate::chat::screen::{over, type_line};
use crate::screen_stage::Person;
use crate::world::{with_model, world};

const LINES: Size = Size { rows: 60, cols: 160 };
const PANEL: Size = Size { rows: 40, cols: 140 };
const F10: &str = "\x1b[21~";
const CONFIG: &str = "provider = \"agent-zero\"\n[connection]\nlog_poll_seconds = 0\n";

fn at(server: &ModelServer, config: &str) -> TestEnv {
    let mut world = world();
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
    world.set_var("AGENTZERO_API_KEY", KEY);
    world.set_var("AGENTZERO_KEEPALIVE_SECONDS", "0");
    world.set_var("AGENTZERO_CONTEXT_GIT", "no");
    world.write(world.base().join("config.toml"), config);
    world
}

/// A server that asks for a command once it is told to, and says what came of it.
fn running() -> ModelServer {
    agent_zero::start(Version::Old, |count, message| match message {
        message if message.starts_with("{\"tool_result\"") => {
            let result: Value = serde_json::from_str(message).expect("a result is JSON");
            format!("ok={} {}", result["tool_result"]["ok"], result["tool_result"]["output"])
        }
        message if message.ends_with("run it") => {
            json!({"type": "tool_request", "tool_name": "shell", "payload": {"command": "whoami"}})
                .to_string()
        }
        _ => format!("answer {count}"),
    })
}

/// What the server read: the words, with which blocks before them, what the tools may do, and the files.
fn read(server: &ModelServer) -> Vec<String> {
    let requests = server.requests();
    let told = requests.iter().map(|request| {
        let body = request.json();
        let text = body["message"].as_str().unwrap_or_default();
        if text.starts_with("{\"tool_result\"") {
            return "a result".to_owned();
        }
        let mut parts = vec![text.rsplit("USER: ").next().unwrap_or_default().replace('\n', "/")];
        if text.contains("[AZ_OBSERVER v1]") {
            parts.push("observer".to_owned());
        }
        let line = |name: &str| text.lines().find(|line| line.starts_with(name)).map(str::to_owned);
        parts.extend(line("security_mode: "));
        parts.extend(line("- shell(command) "));
        for file in body["attachments"].as_array().into_iter().flatten() {
            parts.push(format!("{} {}", file["filename"], file["base64"]));
        }
        parts.join(" | ")
    });
    told.collect()
}

/// The conversation without what depends on the machine: the sizes of blocks, times, and who runs it.
#[track_caller]
fn conversation(pty: Pty) -> String {
    let shown = over(pty);
    let lines: Vec<&str> = shown.lines().filter(|line| !line.starts_with("· Context ready")).collect();
    let settled = |(at, line): (usize, &&str)| match at.checked_sub(1).map(|before| lines[before]) {
        _ if line.starts_with("ok=true ") => "ok=true, as $ME".to_owned(),
        Some(before) if before.starts_with("● $ whoami") => "  $ME".to_owned(),
        _ => (*line).to_owned(),
    };
    lines.iter().enumerate().map(settled).collect::<Vec<_>>().join("\n")
}

/// UI-8a: shown, switched on with a warning, off again, and what makes no sense is refused. A change of the mode does not take the switch back.
#[test]
fn security() {
    let server = running();
    let world = at(&server, CONFIG);
    let mut pty = world.pty(&["--no-save", "--sandbox", "off"], LINES);
    let lines = [
        "/security",
        "run it",
        "/security shell",
        "run it",
        "/mode balanced",
        "run it",
        "/security shell off",
        "/security shell maybe",
        "/security paranoid now",
        "/security paranoid",
        "/mode",
        "go on",
        ":q",
    ];
    for (n, line) in lines.iter().enumerate() {
        type_line(&mut pty, n + 1, line);
    }
    insta::assert_snapshot!(conversation(pty), @r#"
    zori chat (type :q to quit)
    Model: agent-zero
    you> /security
    Mode: balanced (the provider agent-zero): reads run, changes ask
    Shell commands: off
    `/security MODE` changes the mode, `/security shell` switches shell commands; both hold until the chat ends
    you> run it
    ✶ Waiting for agent-zero · Ctrl-C stops
    ⊘ $ whoami: shell commands are off (`allow_shell` is false)  #1
    ok=false "shell commands are off (allow_shell is false). The tools that read, search and edit files are still there."
    you> /security shell
    Shell commands: on
    Warning: the model may run shell commands in the mode balanced until the chat ends
    you> run it
    ✶ Waiting for agent-zero · Ctrl-C stops
    ✶ Running $ whoami  #2
    ● $ whoami  exit 0 · T  #2
      $ME
    ✶ Waiting for agent-zero
    ok=true, as $ME
    you> /mode balanced
    Mode: balanced (`/mode`): reads run, changes ask
    Commands of this chat run outside a sandbox, since it was switched off
    you> run it
    ✶ Waiting for agent-zero · Ctrl-C stops
    ✶ Running $ whoami  #3
    ● $ whoami  exit 0 · T  #3
      $ME
    ✶ Waiting for agent-zero
    ok=true, as $ME
    you> /security shell off
    Shell commands: off
    you> /security shell maybe
    Error: `/security shell maybe`: it is `on` or `off`
    you> /security paranoid now
    Error: `/security paranoid now`: it takes one word
    Hint: `/security`, `/security MODE`, `/security shell [on|off]`
    you> /security paranoid
    Mode: paranoid (`/mode`): every call asks
    Shell commands are off in it; `security.allow_shell = true` in the config file switches them on
    Commands of this chat run outside a sandbox, since it was switched off
    you> /mode
    Mode: paranoid (`/mode`): every call asks
    Shell commands are off in it; `security.allow_shell = true` in the config file switches them on
    `/mode NAME` changes it: paranoid, balanced, god_mode
    you> go on
    ✶ Waiting for agent-zero · Ctrl-C stops
    answer 7
    you> :q
    Goodbye!
    [exit status: 0]
    "#);
    assert_eq!(
        read(&server),
        [
            "run it | security_mode: balanced | - shell(command) [disabled]",
            "a result",
            "run it | security_mode: balanced | - shell(command) [approval]",
            "a result",
            "run it",
            "a result",
            "go on | security_mode: paranoid | - shell(command) [disabled]",
        ]
    );
}

/// OBS-5, OBS-2: shown with what is only kept, changed while the program runs, and refused for another provider.
#[test]
fn observer() {
    let server = running();
    let world =
        at(&server, &format!("{CONFIG}[observer]\nmodel = \"small\"\nmode = \"disabled\"\nenabled = true\n"));
    let mut pty = world.pty(&["--no-save", "--sandbox", "off"], LINES);
    let lines =
        ["/observer", "one", "/ai_observer always", "two", "/observer off", "three", "/observer x", ":q"];
    for (n, line) in lines.iter().enumerate() {
        type_line(&mut pty, n + 1, line);
    }
    insta::assert_snapshot!(conversation(pty), @r"
    zori chat (type :q to quit)
    Model: agent-zero
    you> /observer
    Observer: off
    Kept for other clients, without effect here: type agent_zero, provider agent_zero, model small, endpoint none, path none
    `/observer on|off|automatic|always|manual` changes it until the program ends
    you> one
    ✶ Waiting for agent-zero · Ctrl-C stops
    answer 1
    you> /ai_observer always
    Observer: on, with every prompt
    you> two
    ✶ Waiting for agent-zero · Ctrl-C stops
    · Observer summary ready: files=0, workspace=0B, previews=[], hash=empty
    answer 2
    you> /observer off
    Observer: off
    you> three
    ✶ Waiting for agent-zero · Ctrl-C stops
    answer 3
    you> /observer x
    Error: `/observer x` means nothing
    Hint: `/observer info`, `/observer on`, `off`, `automatic`, `always` or `manual`
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    assert_eq!(
        read(&server),
        ["one | security_mode: balanced | - shell(command) [disabled]", "two | observer", "three"]
    );
    let (world, _model) = with_model([zori_testkit::anthropic::text("x")]);
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("/observer").sees("the observer is for an Agent Zero server; this provider is `anthropic`");
    person.leaves();
}

/// Waits for the n-th mark of a message that has several lines, and types.
#[track_caller]
fn type_more(pty: &mut Pty, mark: usize, keys: &str) {
    let reads = |drawn: &str| {
        let parts: Vec<&str> = drawn.split("\x1b[?2004h").collect();
        parts.iter().filter(|part| part.contains("...> ")).count() >= mark
            && parts.last().is_some_and(|last| last.contains("...> ") && !last.contains("\x1b[?2004l"))
    };
    wait::until("a mark for another line", || reads(&pty.drawn()));
    pty.send(keys);
}

/// UI-9: lines up to an empty one are one message, whatever they begin with; Ctrl-C sends nothing, and the end of input sends what is there.
#[test]
fn several_lines() {
    let server = running();
    let world = at(&server, &format!("{CONFIG}[context]\nenabled = false\n"));
    let mut pty = world.pty(&["--no-save", "--sandbox", "off"], LINES);
    type_line(&mut pty, 1, "/ml");
    for (n, line) in ["first", "/help", "  third", ""].iter().enumerate() {
        type_more(&mut pty, n + 1, &format!("{line}\r"));
    }
    type_line(&mut pty, 6, "/ml begun");
    type_more(&mut pty, 5, "never\r");
    type_more(&mut pty, 6, "\x03");
    type_line(&mut pty, 9, "/ml");
    type_more(&mut pty, 7, "last\r");
    type_more(&mut pty, 8, "\x04");
    type_line(&mut pty, 12, ":q");
    over(pty);
    assert_eq!(read(&server), ["first//help/  third", "last"]);
    // On the screen Enter begins another line; Esc gives Enter back, with what was typed.
    let mut person = Person::open(&world, &["--no-save"]);
    person.says("/ml one").sees("Several lines: Enter begins another").types("two").pauses(20).keys("\r");
    person.pauses(20).keys("\r").sees("answer 1");
    person.says("/ml").types("three").pauses(20).keys("\x1b").sees("Enter sends again").pauses(20).keys("\r");
    person.sees("answer 2");
    person.leaves();
    assert_eq!(read(&server)[2..], ["one/two", "three"]);
}

/// UI-10, SRV-10: the copy goes along with the next message and no other; one that did not arrive is not lost, and what cannot be sent is not copied.
#[test]
fn upload() {
    let server = running();
    let mut world = at(&server, &format!("{CONFIG}[context]\nenabled = false\n"));
    world.write("notes.txt", "alpha\n");
    std::fs::write(world.work().join("raw.bin"), [0, 255]).unwrap();
    let mut pty = world.pty(&["--no-save", "--sandbox", "off"], LINES);
    let lines = [
        "/upload notes.txt",
        "none",
        "/upload --send notes.txt",
        "/upload --send raw.bin",
        "both",
        "none again",
        "/upload --send gone.txt",
        "/upload",
        ":q",
    ];
    for (n, line) in lines.iter().enumerate() {
        type_line(&mut pty, n + 1, line);
    }
    insta::assert_snapshot!(conversation(pty), @r"
    zori chat (type :q to quit)
    Model: agent-zero
    you> /upload notes.txt
    Copied to uploads/notes.txt
    you> none
    ✶ Waiting for agent-zero · Ctrl-C stops
    answer 1
    you> /upload --send notes.txt
    Copied to uploads/notes-1.txt; it goes with the next prompt (6 bytes)
    you> /upload --send raw.bin
    Copied to uploads/raw.bin; it goes with the next prompt (2 bytes)
    you> both
    ✶ Waiting for agent-zero · Ctrl-C stops
    · With the prompt goes notes-1.txt (6 bytes)
    · With the prompt goes raw.bin (2 bytes)
    answer 2
    you> none again
    ✶ Waiting for agent-zero · Ctrl-C stops
    answer 3
    you> /upload --send gone.txt
    Error: File not found: gone.txt
    you> /upload
    Error: `/upload PATH` copies a file into uploads/, `/upload --send PATH` sends it with the next prompt, too
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    assert_eq!(
        read(&server),
        ["none", "both | \"notes-1.txt\" \"YWxwaGEK\" | \"raw.bin\" \"AP8=\"", "none again"]
    );
    assert_eq!(std::fs::read_to_string(world.work().join("uploads/notes-1.txt")).unwrap(), "alpha\n");
    // A server that is away gets it with the prompt that arrives.
    let flaky = ModelServer::answering({
        let tries = std::sync::atomic::AtomicUsize::new(0);
        move |_| match tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed) {
            0 => Reply::json(500, json!({"error": "not now"})),
            _ => Reply::json(200, json!({"context_id": "c", "response": "here it is"})),
        }
    });
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", flaky.url()));
    let mut pty = world.pty(&["--no-save", "--sandbox", "off"], LINES);
    for (n, line) in ["/upload --send notes.txt", "try", "again", "more", ":q"].iter().enumerate() {
        type_line(&mut pty, n + 1, line);
    }
    over(pty);
    let file = "\"notes-2.txt\" \"YWxwaGEK\"";
    assert_eq!(read(&flaky), [format!("try | {file}"), format!("again | {file}"), "more".to_owned()]);
    // One that does not take it gets the next prompt without.
    let refusing = ModelServer::answering(|request| match request.json()["attachments"].is_array() {
        true => Reply::json(413, json!({"error": "too large"})),
        false => Reply::json(200, json!({"context_id": "c", "response": "here it is"})),
    });
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", refusing.url()));
    let mut pty = world.pty(&["--no-save", "--sandbox", "off"], LINES);
    for (n, line) in ["/upload --send notes.txt", "try", "again", ":q"].iter().enumerate() {
        type_line(&mut pty, n + 1, line);
    }
    insta::assert_snapshot!(conversation(pty), @"
    zori chat (type :q to quit)
    Model: agent-zero
    you> /upload --send notes.txt
    Copied to uploads/notes-3.txt; it goes with the next prompt (6 bytes)
    you> try
    ✶ Waiting for agent-zero · Ctrl-C stops
    · With the prompt goes notes-3.txt (6 bytes)
    · The server refused the message; the next one goes without notes-3.txt
    ✗ HTTP 413: too large (http://127.0.0.1:$PORT/api_message)
      /model takes another
    you> again
    ✶ Waiting for agent-zero · Ctrl-C stops
    here it is
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    assert_eq!(read(&refusing), ["try | \"notes-3.txt\" \"YWxwaGEK\"", "again"]);
}

/// The same in the panel, in a turn too; the feed has the time, and Shift-Tab goes through the provider's own modes.
#[test]
fn in_the_panel() {
    let server = running();
    let mut world = at(&server, &format!("{CONFIG}[ui]\nshow_timestamps = true\n"));
    world.set_var("TZ", "UTC");
    world.write("notes.txt", "alpha\n");
    let mut person = Person::before(world.screen(&["tui", "--no-save", "--sandbox", "off"], PANEL), PANEL);
    person.sees("BALANCED").sees("shell off");
    person
        .says("/security shell on")
        .sees("the model may run shell commands in the mode balanced")
        .sees("shell on");
    person.says("/upload --send notes.txt").sees("it goes with the next prompt (6 bytes)");
    person
        .says("hello")
        .sees("answer 1")
        .sees("With the prompt goes notes.txt (6 bytes)")
        .sees("waiting  NO");
    let stamped = |row: &str| {
        let words: Vec<&str> = row.split_whitespace().collect();
        let time = words.first().is_some_and(|word| {
            word.len() == 8 && word.split(':').filter(|part| part.len() == 2).count() == 3
        });
        time && words.get(1) == Some(&"user") && words.get(2) == Some(&"hello")
    };
    assert!(person.screen().lines().any(stamped), "{}", person.screen());
    // SAF-8: a mode that asks less is said where it stays.
    person.keys("\x1b[Z").sees("GOD_MODE").sees("Mode god_mode: no questions");
    person.keys("\x1b[Z").sees("PARANOID").sees("shell on");
    person.says("/observer on").sees("Observer: on, when the workspace has changed");
    person.says("after").sees("answer 2").sees("waiting  NO");
    person.keys(F10);
    assert!(person.ends().0.success());
    assert_eq!(
        read(&server),
        [
            "hello | security_mode: balanced | - shell(command) [approval] | \"notes.txt\" \"YWxwaGEK\"",
            "after | observer | security_mode: paranoid | - shell(command) [approval]",
        ]
    );
}

/// CTX-3: the server keeps the conversation. It is not compacted here, and what is taken back it still knows, which is said where its chat goes on.
#[test]
fn what_the_server_keeps() {
    let server = running();
    let world = at(&server, CONFIG);
    let mut pty = world.pty(&[], LINES);
    for (n, line) in ["one", "two", "/compact", "/rewind 2 chat", "three", "/rewind 1 chat", "four", ":q"]
        .iter()
        .enumerate()
    {
        type_line(&mut pty, n + 1, line);
    }
    let shown = over(pty);
    let said = shown
        .lines()
        .filter(|line| ["Error: ", "Hint: ", "The "].iter().any(|begin| line.starts_with(begin)));
    insta::assert_snapshot!(said.collect::<Vec<_>>().join("\n"), @"
    Error: an Agent Zero server keeps the conversation itself; nothing of it can be compacted here
    Hint: `/clear` begins a new chat
    The conversation went back to before turn 2.
    The server's agent still knows what was taken back; `/clear` begins a new chat there
    The conversation went back to before turn 1.
    ");
    let chats: Vec<String> =
        server.requests().iter().map(|request| request.json()["context_id"].to_string()).collect();
    assert_eq!(chats, ["null", "\"chat1\"", "\"chat1\"", "null"]);
}

/// SRV-10, SRV-15, UI-3: `/status` names the server as it is configured, whether it answers, and what it was told of the workspace.
#[test]
fn status() {
    let server = running();
    let world = at(&server, CONFIG);
    let mut pty = world.pty(&["--no-save"], LINES);
    for (n, line) in ["/status", "hello", "/status", ":q"].iter().enumerate() {
        type_line(&mut pty, n + 1, line);
    }
    let shown = over(pty);
    let told = |line: &&str| line.starts_with("Server: ") || line.starts_with("Told: ");
    let lines: Vec<&str> = shown.lines().filter(told).collect();
    let address = "Server:   http://127.0.0.1:$PORT/api_message; it answers";
    let [pending, sent] = ["Told:     on_change · Pending", "Told:     on_change · sent, hash empty"];
    assert_eq!(lines, [address, pending, address, sent], "{shown}");
}

/// AZ-9: the workspace as text, with every provider; what is no word of it is an error.
#[test]
fn the_workspace_in_a_chat() {
    let (with_a_model, _model) = with_model([zori_testkit::anthropic::text("x")]);
    let server = running();
    for world in [with_a_model, at(&server, CONFIG)] {
        world.write("notes.txt", "alpha\n");
        let mut pty = world.pty(&["--no-save"], LINES);
        for (n, line) in ["/context show", "/context nonsense", ":q"].iter().enumerate() {
            type_line(&mut pty, n + 1, line);
        }
        let shown = over(pty);
        let block = shown.split("[AZ_CONTEXT v1]").nth(1).and_then(|rest| rest.split("[/AZ_CONTEXT]").next());
        assert!(block.is_some_and(|block| block.contains("\n- notes.txt (6B)\n")), "{shown}");
        assert!(shown.contains("Error: `/context nonsense` means nothing\n"), "{shown}");
    }
}
