//! `/plan`: steps that the model proposes, a person approves, and turns carry out (`docs/contracts/plans.md`); and the model that was chosen last.

use serde_json::{Value, json};
use zori_testkit::env::TestEnv;
use zori_testkit::pty::Size;
use zori_testkit::{anthropic, wait};

use crate::chat::screen::{over, type_line};
use crate::screen_chat::{say, see, start};
use crate::world::{with_model, world};

const PROPOSAL: &str = "I looked.\n\n1. Read the parser\n2. Mend it";

/// One line for each event of a session, with the whole of what is said and asked.
fn outline(stdout: &str) -> Vec<String> {
    let line = |line: &str| {
        let event: Value = serde_json::from_str(line).expect("each line is an event");
        let said = |field: &str| event[field].as_str().unwrap_or_default().to_owned();
        match event["type"].as_str().unwrap_or_default() {
            "response_chunk" => format!("chunk {}", said("text")),
            "tool_result" => format!("result {}", event["exit_code"]),
            "error" => format!("{}: {}", said("code"), said("message")),
            "elicitation" => format!("asks {}", said("prompt").replace('\n', " | ")),
            other => other.to_owned(),
        }
    };
    let mut lines: Vec<String> = Vec::new();
    for line in stdout.lines().map(line) {
        match (line.strip_prefix("chunk "), lines.last_mut().filter(|last| last.starts_with("chunk "))) {
            (Some(more), Some(last)) => last.push_str(more),
            _ => lines.push(line),
        }
    }
    lines.retain(|line| !matches!(line.as_str(), "response_end" | "cost"));
    lines
}

fn session(world: &TestEnv, flags: &[&str], lines: &str) -> (Vec<String>, Option<i32>) {
    let output = world.run_with_stdin(&[&["--json"], flags].concat(), lines);
    (outline(&output.stdout()), output.code())
}

/// PLAN-1 to PLAN-3: proposed, approved, carried out step by step, and kept.
#[test]
fn steps_are_proposed_approved_and_carried_out() {
    let (world, model) =
        with_model([anthropic::text(PROPOSAL), anthropic::text("Read."), anthropic::text("Mended.")]);
    let (events, code) = session(&world, &[], "/plan mend the parser\ny\n/plan list\n/plan\n");
    assert_eq!(
        events,
        [
            "chunk I looked.\n\n1. Read the parser\n2. Mend it",
            "asks 1. Read the parser | 2. Mend it | Run these 2 steps? [y/N]",
            "chunk Read.",
            "chunk Mended.",
            "chunk 1  done, 2 of 2 steps done  mend the parser",
            "chunk No plan is open; `/plan GOAL` makes one, `/plan list` shows those there were.",
        ]
    );
    assert_eq!(code, Some(0));
    let asked = model.request(2).conversation();
    assert!(
        asked.contains("user: Step 2 of 2 of the plan for this goal: mend the parser\n\nMend it"),
        "{asked}"
    );
}

/// PLAN-4: a step that fails stops the plan; another process goes on with it, and what is done is not done again.
#[test]
fn a_plan_that_stopped_is_resumed_elsewhere() {
    let (world, model) = with_model([
        anthropic::text(PROPOSAL).reply(),
        anthropic::text("Read.").reply(),
        anthropic::http_error(400, "invalid_request_error", "no"),
        anthropic::text("Mended.").reply(),
    ]);
    let (events, code) = session(&world, &["--retries", "0"], "/plan mend it\ny\n");
    assert_eq!(events.last().map(String::as_str), Some("provider_error: HTTP 400: no"));
    assert_eq!(code, Some(1));
    let (events, code) =
        session(&world, &[], "/plan status\n/plan resume\n/plan status 1\n/plan resume 1\n/plan cancel 7\n");
    assert_eq!(
        events,
        [
            "chunk 1  open, 1 of 2 steps done  mend it\n  1. done     Read the parser\n  2. failed   Mend it",
            "chunk Step 2 of 2: Mend it",
            "chunk Mended.",
            "chunk 1  done, 2 of 2 steps done  mend it\n  1. done     Read the parser\n  2. done     Mend it",
            "agent_error: plan 1 is done; only an open one can be resumed",
            "agent_error: there is no plan 7 in this project",
        ]
    );
    assert_eq!((code, model.count()), (Some(0), 4));
}

/// PLAN-2: while steps are proposed nothing can be changed, whatever mode holds; afterwards the mode is what it was.
#[test]
fn a_plan_is_made_without_changing_anything() {
    let write = |id: &str| anthropic::tool_use(id, "write", json!({"path": "made.txt", "content": "x"}));
    let (world, _model) =
        with_model([write("t1"), anthropic::text("1. Write it"), write("t2"), anthropic::text("Written.")]);
    let (events, _) = session(&world, &[], "/plan write it\ny\n/mode\n");
    assert_eq!(
        events,
        [
            "tool_call",
            "result 126",
            "chunk 1. Write it",
            "asks 1. Write it | Run this step? [y/N]",
            "tool_call",
            "result 0",
            "chunk Written.",
            "chunk Mode: yolo (nobody chose one): no questions\n`/mode NAME` changes it: yolo, acceptEdits, default, paranoid, plan, dontAsk, deny",
        ]
    );
    assert!(world.work().join("made.txt").exists());
}

/// PLAN-5: who says yes, and when nobody is asked.
#[test]
fn who_says_yes() {
    let plan = || anthropic::text("1. Look");
    for (flags, lines, wanted) in [
        (
            &[][..],
            "/plan look\nn\n/plan list\n",
            "asks 1. Look | Run this step? [y/N]; chunk There are no plans in this project; `/plan GOAL` makes one.",
        ),
        (&[], "/plan look\n", "asks 1. Look | Run this step? [y/N]"),
        (&["-y"], "/plan look\n", "chunk Done."),
        (
            &["--bare"],
            "/plan look\n/plan list\n",
            "chunk There are no plans in this project; `/plan GOAL` makes one.",
        ),
    ] {
        let (world, model) = with_model([plan(), anthropic::text("Done.")]);
        let (events, code) = session(&world, flags, lines);
        assert_eq!((events[1..].join("; ").as_str(), code), (wanted, Some(0)), "{flags:?} {lines}");
        assert_eq!(model.count(), if flags == ["-y"] { 2 } else { 1 });
    }
}

/// Bad input: an answer without steps, a session that is not saved, a plan that is not there.
#[test]
fn no_plan_without_steps_or_a_session() {
    let (world, model) = with_model([anthropic::text("I do not know.")]);
    let (events, _) = session(&world, &[], "/plan what?\n/plan resume\n/plan cancel\n");
    assert_eq!(
        events,
        [
            "chunk I do not know.",
            "agent_error: no plan is open in this project",
            "agent_error: no plan is open in this project"
        ]
    );
    let (events, _) = session(&world, &["--no-save"], "/plan what?\n");
    assert_eq!(events, ["agent_error: `/plan` keeps its steps with the session, and this one is not saved"]);
    assert_eq!(model.count(), 1);
}

/// On the screen the steps stand above the question, and a key answers it; each step is a turn of its own.
#[test]
fn on_the_screen() {
    let (world, model) =
        with_model([anthropic::text(PROPOSAL), anthropic::text("Read."), anthropic::text("Mended.")]);
    let mut pty = start(&world, &[]);
    say(&mut pty, "/plan mend it");
    see(&mut pty, "? Run these 2 steps? [y/N]");
    let shown = std::time::Instant::now();
    wait::until("the question to have been read", || {
        shown.elapsed() > std::time::Duration::from_millis(1200)
    });
    pty.send("y");
    see(&mut pty, "Step 1 of 2: Read the parser");
    see(&mut pty, "Mended.");
    see(&mut pty, "Plan 1 is done: 2 steps.");
    assert_eq!(model.count(), 3);
}

fn chat(world: &TestEnv, flags: &[&str], lines: &[&str]) -> String {
    let mut pty = world.pty(&[&["chat"], flags].concat(), Size::CLASSIC);
    for (line, at) in lines.iter().zip(1..) {
        type_line(&mut pty, at, line);
    }
    let all = over(pty);
    let model = |line: &&str| line.contains("odel");
    all.lines().filter(model).collect::<Vec<_>>().join("\n")
}

/// DECISIONS 57: a chat begins with the model that was chosen last in its project, by a file; nothing else reads it.
#[test]
fn the_model_that_was_chosen_last() {
    let (world, model) = with_model([anthropic::text("One.")]);
    let first = chat(&world, &[], &["/model claude-haiku-4-5", ":q"]);
    assert_eq!(first, "Model: claude-sonnet-5-5\nyou> /model claude-haiku-4-5\nModel: claude-haiku-4-5");
    assert_eq!(chat(&world, &[], &[":q"]), "Model: claude-haiku-4-5");
    assert_eq!(
        chat(&world, &["--model", "claude-sonnet-4-5"], &[":q"]),
        "Model: claude-sonnet-4-5",
        "a flag is stronger"
    );
    world.run(&["exec", "-p", "hi"]).success();
    assert_eq!(model.request(0).json()["model"], "claude-sonnet-5-5", "only chats read it");
    let root = world.work().canonicalize().expect("it is there");
    let file = zori_store::project_dir(world.base(), &root).join("preferences.json");
    assert_eq!(world.read(&file), r#"{"chat":{"model":"anthropic:claude-haiku-4-5"}}"#);
    for (content, wanted) in [
        ("no JSON", "Model: claude-sonnet-5-5"),
        (r#"{"chat":{"model":7}}"#, "Model: claude-sonnet-5-5"),
        (
            r#"{"chat":{"model":"gone:model"}}"#,
            "The model chosen here last, gone:model, cannot be used now; `/model --forget` forgets it\nModel: claude-sonnet-5-5",
        ),
    ] {
        world.write(&file, content);
        assert_eq!(chat(&world, &[], &[":q"]), wanted, "{content}");
    }
    let forgotten = chat(&world, &[], &["/model --forget", ":q"]);
    assert!(
        forgotten.ends_with("Later chats of this project begin with the model of the settings again."),
        "{forgotten}"
    );
    assert_eq!(world.read(&file), "{}");
    assert_eq!(chat(&world, &[], &[":q"]), "Model: claude-sonnet-5-5");
}

/// Where nothing was chosen no database is made.
#[test]
fn a_chat_without_a_choice_keeps_nothing() {
    let world = world();
    chat(&world, &["--no-save"], &[":q"]);
    assert!(!world.base().join("zori.db").exists());
}
