//! The key is nowhere but in the request (PROV-12, CFG-4).

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::env::TEST_KEY;
use zori_testkit::reply::Reply;
use zori_testkit::server::refused_url;

use super::{error, run};
use crate::world::{with_model, world};

/// PROV-12, CFG-4: not even when the server repeats it.
#[test]
fn the_key_is_in_no_output_and_no_file() {
    let told = format!("the key {TEST_KEY} is bad");
    let start = anthropic::event(&anthropic::text("x").events()[0]);
    let replies = vec![
        error(500, "api_error", &told),
        Reply::sse(start).then(anthropic::error("overloaded_error", &told)),
        anthropic::tool_use("toolu_1", "bash", json!({"command": "env"})).into(),
        error(401, "authentication_error", &told),
    ];
    let (output, world, server) = run(replies, &["--session", "s"]);
    assert_eq!((output.code(), server.count()), (Some(3), 4), "{output}");
    assert_eq!(output.stderr().matches("the key [REDACTED] is bad").count(), 4, "{output}");
    let session = world.read(world.base().join("sessions/s.jsonl"));
    for text in [output.stdout(), output.stderr(), session] {
        assert!(!text.contains(TEST_KEY), "{text}");
    }
}

/// CFG-4, DECISIONS 31: nor when the user, the model or a tool brings it up.
#[test]
fn a_key_in_the_conversation_is_not_saved() {
    let (world, server) = with_model([
        anthropic::text(&format!("Is it {TEST_KEY}?")).tool_use(
            "toolu_1",
            "read",
            json!({"path": "key.txt"}),
        ),
        anthropic::text("It is."),
    ]);
    world.write("key.txt", TEST_KEY);
    let prompt = format!("My key is {TEST_KEY}.");
    world.run(&["exec", "-p", &prompt, "--session", "s"]).success();
    assert_eq!(server.request(1).conversation().matches(TEST_KEY).count(), 3, "the model sees what was said");
    let session = world.read(world.base().join("sessions/s.jsonl"));
    assert!(!session.contains(TEST_KEY), "{session}");
    assert_eq!(session.matches("[REDACTED]").count(), 3, "{session}");
}

/// PROV-12: a URL's user and password are not repeated either.
#[test]
fn a_password_in_the_base_url_is_not_repeated() {
    let mut world = world();
    let url = refused_url().replace("http://", "http://someone:hunter2@");
    world.set_var("ANTHROPIC_BASE_URL", url).set_var("ANTHROPIC_API_KEY", TEST_KEY);
    let output = world.run(&["exec", "-p", "hi", "--retries", "0"]);
    assert_eq!(output.code(), Some(12), "{output}");
    assert!(!output.stderr().contains("hunter2"), "{output}");
}
