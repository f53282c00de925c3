//! Projects and agent profiles, switched while the program runs (UI-13, UI-14), and chats that the server clears and deletes (SRV-10).

use serde_json::{Value, json};
use zori_testkit::agent_zero::{self, KEY, Version};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::Size;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use crate::chat::screen::{over, type_line};
use crate::screen_stage::Person;
use crate::world::{with_model, world};

const SIZE: Size = Size { rows: 36, cols: 120 };
const F2: &str = "\x1bOQ";
const F10: &str = "\x1b[21~";

const CONFIG: &str = "provider = \"agent-zero\"\n\
    [projects.careful]\nsecurity_mode = \"paranoid\"\nlifetime_hours = 1\nagent_profile = \"brief\"\n\
    [agent_profiles]\nbrief = \"Be brief.\"\nloud = { prompt = \"Be loud.\" }\n";

fn at(server: &ModelServer, config: &str) -> TestEnv {
    let mut world = world();
    world.set_var("AGENTZERO_API_URL", format!("{}/api_message", server.url()));
    world.set_var("AGENTZERO_API_KEY", KEY);
    world.set_var("AGENTZERO_KEEPALIVE_SECONDS", "0");
    world.set_var("AGENTZERO_CONTEXT_GIT", "no");
    world.write(world.base().join("config.toml"), config);
    world
}

fn answering() -> ModelServer {
    agent_zero::start(Version::Old, |count, _| format!("answer {count}"))
}

/// What the server was told: the lines of the block that depend on names, how long it keeps the chat, and the chat.
fn told(server: &ModelServer) -> Vec<String> {
    let requests = server.requests();
    let messages = requests.iter().filter(|request| request.path == "/api_message").map(|request| {
        let body = request.json();
        let text = body["message"].as_str().unwrap_or_default();
        let fact = |name: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            line.unwrap_or("-").to_owned()
        };
        let last = text.rsplit("USER: ").next().unwrap_or_default();
        let facts =
            ["project", "agent_profile", "agent_profile_prompt", "security_mode"].map(fact).join(" | ");
        format!("{last}: {facts} | {} h | {}", body["lifetime_hours"], body["context_id"])
    });
    messages.collect()
}

/// The same in each front end: another profile is told in the chat that runs, another project begins a new one.
const TOLD: &str = "one: default | default |  | balanced | 24 h | null
two: default | loud | Be loud. | balanced | 24 h | \"chat1\"
three: - | - | - | - | 24 h | \"chat1\"
four: careful | brief | Be brief. | paranoid | 1 h | null
five: default | default |  | balanced | 24 h | null";

#[test]
fn in_the_line_chat() {
    let server = answering();
    let world = at(&server, CONFIG);
    let mut pty = world.pty(&["--no-save", "--sandbox", "off"], Size { rows: 50, cols: 160 });
    let lines = [
        "/project",
        "/agent",
        "one",
        "/agent loud",
        "two",
        "three",
        "/project careful",
        "four",
        "/project nope",
        "/agent nope",
        "/project default",
        "five",
        ":q",
    ];
    for (n, line) in lines.iter().enumerate() {
        type_line(&mut pty, n + 1, line);
    }
    insta::assert_snapshot!(over(pty), @r"
    zori chat (type :q to quit)
    Model: agent-zero
    you> /project
    Project: default
    `/project NAME` goes on with another one; there are: default, careful
    you> /agent
    Agent: default
    `/agent NAME` goes on with another one; there are: default, brief, loud
    you> one
    ✶ Waiting for agent-zero · Ctrl-C stops
    · Context ready (default/default): files=0, workspace=0B, context=1234B, previews=[], hash=empty
    answer 1
    you> /agent loud
    Agent: loud; the server is told with the next prompt
    you> two
    ✶ Waiting for agent-zero · Ctrl-C stops
    · Context ready (default/loud): files=0, workspace=0B, context=1239B, previews=[], hash=empty
    answer 2
    you> three
    ✶ Waiting for agent-zero · Ctrl-C stops
    answer 3
    you> /project careful
    Project: careful
    you> four
    ✶ Waiting for agent-zero · Ctrl-C stops
    · Context ready (careful/brief): files=0, workspace=0B, context=1253B, previews=[], hash=empty
    answer 1
    you> /project nope
    Error: there is no project `nope` in the config file
    Hint: there are default, careful
    you> /agent nope
    Error: there is no agent profile `nope`
    Hint: there are default, brief, loud
    you> /project default
    Project: default
    you> five
    ✶ Waiting for agent-zero · Ctrl-C stops
    · Context ready (default/default): files=0, workspace=0B, context=1234B, previews=[], hash=empty
    answer 1
    you> :q
    Goodbye!
    [exit status: 0]
    ");
    assert_eq!(told(&server).join("\n"), TOLD);
}

#[test]
fn in_the_chat() {
    let server = answering();
    let world = at(&server, CONFIG);
    let mut person = Person::open(&world, &["--no-save"]);
    person
        .says("one")
        .sees("answer 1")
        .says("/agent loud")
        .sees("Agent: loud; the server is told with the next prompt");
    person.says("two").sees("answer 2").says("three").sees("answer 3");
    person.says("/project careful").sees("Project: careful; this is a new session").sees("PARANOID");
    person
        .says("four")
        .pauses(50)
        .says("/project nope")
        .sees("there is no project `nope`")
        .sees("there are default, careful");
    person.says("/project \"default\"").sees("Project: default; this is a new session");
    person.says("five").pauses(50);
    zori_testkit::wait::until("the last message", || told(&server).len() == 5);
    person.leaves();
    assert_eq!(told(&server).join("\n"), TOLD);
}

/// In the panel from the menu, too; the cards and the bar follow, and the tab stays where it is.
#[test]
fn in_the_panel() {
    let server = answering();
    let world = at(&server, CONFIG);
    let mut person = Person::before(world.screen(&["tui", "--no-save"], SIZE), SIZE);
    person.sees("default | default | BALANCED").sees("on_change · Pending");
    person.says("one").sees("answer 1").sees("on_change · sent, hash ");
    person
        .keys(F2)
        .sees("Projects")
        .sees("Agents")
        .keys("\x1b[A")
        .keys("\r")
        .sees("› default")
        .keys("\x1b[B")
        .sees("› brief");
    person.keys("\x1b[B").sees("› loud").keys("\r").sees("default | loud | BALANCED");
    person.says("two").sees("answer 2").says("three").sees("answer 3");
    person.types("a draft").keys(F2).sees("Projects").keys("\x1b[A\x1b[A").keys("\r").sees("› default");
    person.keys("\x1b[B").sees("› careful").keys("\r").sees("careful | brief | PARANOID");
    person.sees("[Chat 1]").sees_no_more("answer 3").sees("› a draft").keys("\x15");
    person.says("four").sees("answer 1").says("/project nope").sees("there is no project `nope`");
    person.says("/project default").sees("default | default | BALANCED").says("five").sees("answer 1");
    person.keys(F10);
    assert!(person.ends().0.success());
    assert_eq!(told(&server).join("\n"), TOLD);
}

/// A project is for every provider; a profile is for this one alone.
#[test]
fn with_another_provider() {
    let (world, _model) = with_model([zori_testkit::anthropic::text("x")]);
    world.write(world.base().join("config.toml"), "[projects.plan]\nsecurity_mode = \"plan\"\n");
    let mut person = Person::open(&world, &["--no-save"]);
    person
        .says("/agent x")
        .sees("an agent profile is for an Agent Zero server; this provider is `anthropic`");
    person.says("/project plan").sees("Project: plan; this is a new session").sees("plan");
    person.leaves();
}

/// SRV-10: `/clear` clears the chat on the server and begins another, `/new` leaves it; a closed one is deleted where that is wanted.
#[test]
fn chats_on_the_server() {
    let asked = |server: &ModelServer| -> Vec<(String, Value)> {
        let all = server.requests();
        all.iter().map(|request| (request.path.clone(), request.json()["context_id"].clone())).collect()
    };
    for (version, route) in [(Version::Old, ""), (Version::New, "/api")] {
        for terminate in [false, true] {
            let server = agent_zero::start(version, |count, _| format!("answer {count}"));
            let config = format!(
                "provider = \"agent-zero\"\n[connection]\nterminate_on_close = {terminate}\nlog_poll_seconds = 0\n"
            );
            let world = at(&server, &config);
            let mut pty = world.pty(&["--no-save"], Size { rows: 50, cols: 160 });
            for (n, line) in ["/clear", "one", "/clear", "two", "/new", "three", ":q"].iter().enumerate() {
                type_line(&mut pty, n + 1, line);
            }
            let shown = over(pty);
            assert_eq!(shown.matches("The server has cleared this chat, too").count(), 1, "{shown}");
            let mut wanted = Vec::new();
            if version == Version::New {
                wanted.push(("/api_message".to_owned(), Value::Null));
            }
            let message = |id: Value| (format!("{route}/api_message"), id);
            wanted.extend([
                message(Value::Null),
                (format!("{route}/api_reset_chat"), json!("chat1")),
                message(Value::Null),
                message(Value::Null),
            ]);
            if terminate {
                wanted.push((format!("{route}/api_terminate_chat"), json!("chat3")));
            }
            assert_eq!(asked(&server), wanted);
        }
    }
}

/// The same in the panel: a tab that is closed, and those that are open when it is left.
#[test]
fn tabs_on_the_server() {
    let server = answering();
    let config = "provider = \"agent-zero\"\n[connection]\nterminate_on_close = true\nlog_poll_seconds = 0\n";
    let world = at(&server, config);
    let mut person = Person::before(world.screen(&["tui", "--no-save"], SIZE), SIZE);
    person.says("one").sees("answer 1").sees("waiting  NO");
    person.says("/new").sees("[Chat 2]").says("two").sees("answer 1").sees("waiting  NO");
    person.says("/new").sees("[Chat 3]").says("three").sees("answer 1").sees("waiting  NO");
    person
        .says("/clear")
        .sees("The server has cleared this chat, too")
        .says("four")
        .sees("answer 1")
        .sees("waiting  NO");
    person.keys("\x1b2").sees("[Chat 2]").says("/close").sees_no_more("Chat 2");
    person.keys(F10);
    assert!(person.ends().0.success());
    let requests = server.requests();
    let managed = requests.iter().filter(|request| request.path != "/api_message");
    let mut managed: Vec<String> =
        managed.map(|request| format!("{} {}", request.path, request.json()["context_id"])).collect();
    managed[2..].sort();
    assert_eq!(
        managed,
        [
            "/api_reset_chat \"chat3\"",
            "/api_terminate_chat \"chat2\"",
            "/api_terminate_chat \"chat1\"",
            "/api_terminate_chat \"chat4\"",
        ]
    );
}

/// A server that cannot do it does not keep anybody: what was not done is said, and the exit code is that of the chat.
#[test]
fn a_server_that_cannot() {
    let server = ModelServer::answering(|request| match request.path.as_str() {
        "/api_message" => Reply::json(200, json!({"context_id": "c", "response": "answer 1"})),
        _ => Reply::bytes(500, "text/plain", "broken"),
    });
    let config = "provider = \"agent-zero\"\n[connection]\nterminate_on_close = true\n";
    let world = at(&server, config);
    let mut pty = world.pty(&["--no-save"], Size { rows: 50, cols: 160 });
    for (n, line) in ["one", "/clear", "two", ":q"].iter().enumerate() {
        type_line(&mut pty, n + 1, line);
    }
    let shown = over(pty);
    assert!(shown.contains("The server still has this chat: HTTP 500"), "{shown}");
    assert!(shown.contains("Warning: the chat was not deleted on the server: HTTP 500"), "{shown}");
    assert!(shown.ends_with("[exit status: 0]"), "{shown}");
}

/// Chapter 13, AZ-5: the workspace is that of the project, of the variable, of the settings, and `--root` comes before all of them.
#[test]
fn where_the_workspace_is() {
    let server = answering();
    let config = "provider = \"agent-zero\"\n[connection]\nworkspace_root = \"by_key\"\n\
                  [projects.other]\nworkspace_root = \"by_project\"\n[projects.gone]\nworkspace_root = \"nowhere\"\n";
    let mut world = at(&server, config);
    for folder in ["by_key", "by_project", "by_variable", "by_flag"] {
        world.write(format!("{folder}/x"), "");
    }
    let rooted = |text: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix("workspace_root: "));
        line.and_then(|root| root.rsplit('/').next()).unwrap_or("-").to_owned()
    };
    let shown = |world: &TestEnv, more: &[&str]| {
        rooted(&world.run(&[&["context", "show", "--output", "plain"], more].concat()).success().stdout())
    };
    assert_eq!(shown(&world, &[]), "by_key");
    assert_eq!(shown(&world, &["--root", "by_flag"]), "by_flag");
    let mut pty = world.pty(&["--no-save", "--sandbox", "off"], Size { rows: 50, cols: 160 });
    for (n, line) in ["one", "/project other", "two", "/project gone", "/project default", "three", ":q"]
        .iter()
        .enumerate()
    {
        type_line(&mut pty, n + 1, line);
    }
    let said = over(pty);
    assert!(said.contains("nowhere"), "{said}");
    world.set_var("AGENTZERO_PROJECT", "other");
    assert_eq!(shown(&world, &[]), "by_project");
    world.set_var("AGENTZERO_WORKSPACE_ROOT", "by_variable");
    assert_eq!(shown(&world, &[]), "by_variable");
    world.run(&["exec", "--no-save", "-p", "four"]).success();
    world.set_var("AGENTZERO_PROJECT", "gone");
    world.remove_var("AGENTZERO_WORKSPACE_ROOT");
    assert_eq!(world.run(&["exec", "--no-save", "-p", "five"]).code(), Some(2));
    let requests = server.requests();
    let roots: Vec<String> = requests
        .iter()
        .map(|request| rooted(request.json()["message"].as_str().unwrap_or_default()))
        .collect();
    assert_eq!(roots, ["by_key", "by_project", "by_key", "by_variable"]);
}

/// UI-13: the theme, the game and the agent profiles of a project hold in the panel, too, and those of before come back; UI-8: names in quotes.
#[test]
fn how_a_project_looks_in_the_panel() {
    let server = answering();
    let config = "provider = \"agent-zero\"\n[projects.prod]\nagent_profile = \"grave\"\n\
                  [projects.prod.ui]\ntheme = \"Mac Aqua\"\n[projects.prod.agent_profiles]\ngrave = \"Be careful.\"\n";
    let world = at(&server, config);
    let mut person = Person::before(world.screen(&["tui", "--no-save"], SIZE), SIZE);
    person.sees("default | default | BALANCED | Studio Dark");
    person.says("/project prod").sees("prod | grave | BALANCED | Mac Aqua").sees("theme    Mac Aqua");
    person.says("/agent default").sees("prod | default").says("/agent grave").sees("prod | grave");
    person
        .keys(F2)
        .sees("Agents")
        .keys("\x1b[A")
        .keys("\x1b[C")
        .sees("› grave")
        .keys("\x1b")
        .sees_no_more("Menu");
    person.says("/project default").sees("default | default | BALANCED | Studio Dark");
    // What is chosen by name may be in quotes.
    person.says("/rename \"my first\"").sees("[my first]");
    person.says("/new 'and another'").sees("[and another]");
    person.says("/theme \"zx spectrum\"").sees("| ZX Spectrum").keys(F10);
    assert!(person.ends().0.success());
}
