//! Skills that go along with prompts, and which of them a client wants (SK-5, SK-9).

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::running::{Stdin, Stdout};
use zori_testkit::server::ModelServer;

use crate::stream_json::{args, lines, request, user};
use crate::world::with_model;

/// Writes a skill for forms in documents of this kind.
fn skill(world: &TestEnv, kind: &str, body: &str) {
    let text = format!(
        "---\nname: {kind}\ndescription: Fill {kind} forms in documents\ntriggers: [paperwork]\n---\n{body}\n"
    );
    world.write(world.base().join("skills").join(kind).join("SKILL.md"), text);
}

/// The bodies beside the last prompt of a request.
fn beside(model: &ModelServer, request: usize) -> Vec<String> {
    let message = model.request(request).messages().pop().expect("a request has messages");
    let texts = message["content"].as_array().cloned().unwrap_or_default();
    let texts = texts.iter().filter_map(|block| block["text"].as_str().map(str::to_owned));
    texts.filter(|text| text.starts_with("[skill ")).collect()
}

/// SK-5: at most three bodies, 16 KiB each, and none twice in a session, also when it is taken up again.
#[test]
fn bodies_that_go_along() {
    let (world, model) = with_model([anthropic::text("1"), anthropic::text("2"), anthropic::text("3")]);
    for kind in ["pdf", "doc", "odt", "rtf"] {
        skill(&world, kind, &"x".repeat(20_000));
    }
    let prompt = "Do the paperwork";
    let session = ["exec", "--session", "s", "-p", prompt];
    world.run(&session).success();
    let first = beside(&model, 0);
    assert_eq!(first.len(), 3, "{first:?}");
    for body in &first {
        assert!(
            body.len() <= (16 << 10) + 50 && body.ends_with("\n[cut; the tool `skill` has the rest]"),
            "{}",
            body.len()
        );
    }
    world.run(&session).success();
    assert_eq!(beside(&model, 1), Vec::<String>::new());
    world.write(world.base().join("config.toml"), "[skills]\ninject = 0\n");
    world.run(&["exec", "-p", prompt]).success();
    assert_eq!(beside(&model, 2), Vec::<String>::new());
}

/// SK-5: what a prompt brought along outlives the part of the conversation that it came with.
#[test]
fn bodies_outlive_a_summary() {
    let (world, model) = with_model([
        anthropic::text(&"A long answer. ".repeat(500)),
        anthropic::text("## Goal\nforms"),
        anthropic::text("Yes."),
    ]);
    skill(&world, "pdf", "Use the blue ink.");
    world
        .run_with_stdin(&["--json", "-y"], "Fill the pdf forms\n/compact\nAnd now the pdf forms again\n")
        .success();
    let asked = model.request(2).messages();
    let all = serde_json::to_string(&asked).unwrap();
    assert_eq!(all.matches("[skill pdf]").count(), 1, "{all}");
    assert!(
        all.contains("Use the blue ink.")
            && all.contains("What it came to")
            && !all.contains("A long answer"),
        "{all}"
    );
}

/// SK-9: a client of the Claude protocol reads which skills there are, and may want only some.
#[test]
fn skills_that_a_client_wants() {
    for (wanted, names, warned) in [
        (json!(null), json!(["pdf", "sql"]), ""),
        (json!("all"), json!(["pdf", "sql"]), ""),
        (json!(["pdf", "xls"]), json!(["pdf"]), "Warning: there is no skill `xls`\n"),
        (json!([]), json!([]), ""),
        (
            json!("some"),
            json!(["pdf", "sql"]),
            "Warning: `skills` of `initialize` is `some`, neither a list of names nor `all`\n",
        ),
    ] {
        let (world, model) = with_model([anthropic::text("Done.")]);
        skill(&world, "pdf", "Use the blue ink.");
        skill(&world, "sql", "Use an index.");
        let mut run = world.start(world.cmd(&args(&[])), Stdin::Open, Stdout::Captured);
        run.write_stdin(request("1", json!({"subtype": "initialize", "skills": wanted})));
        run.wait_for_stdout("\"request_id\":\"1\"").write_stdin(user("Hello"));
        run.close_stdin();
        let output = run.finish();
        let init: Vec<Value> =
            lines(&output.stdout()).into_iter().filter(|line| line["subtype"] == "init").collect();
        assert_eq!((&init[0]["skills"], output.stderr().as_str()), (&names, warned), "{wanted}");
        let body = model.request(0).json();
        let system = body["system"].to_string();
        let has = |name: &str| names.as_array().unwrap().contains(&json!(name));
        assert_eq!((system.contains("pdf"), system.contains("sql")), (has("pdf"), has("sql")), "{system}");
        let offers = |name: &str| {
            body["tools"]
                .as_array()
                .unwrap()
                .iter()
                .any(|tool| tool["name"].as_str().is_some_and(|own| own.eq_ignore_ascii_case(name)))
        };
        assert_eq!(offers("skill"), names != json!([]), "{wanted}");
    }
}
