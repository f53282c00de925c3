//! MEM-10, MEM-11: likeness by the vectors of a model, and vectors in a Qdrant server. Where one of them is down, what there is goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::env::TestEnv;
use zori_testkit::qdrant::QdrantServer;
use zori_testkit::reply::Reply;
use zori_testkit::server::ModelServer;

use crate::memory::said;
use crate::world::{with_model, world};

/// A server of embeddings that knows birds from food. `dims`: how long its vectors are; 0: it is down.
fn embeddings(dims: &Arc<AtomicUsize>) -> ModelServer {
    let dims = dims.clone();
    ModelServer::answering(move |request| {
        let dims = dims.load(Ordering::SeqCst);
        if dims == 0 {
            return Reply::json(500, json!({"error": {"message": "out of order"}}));
        }
        assert_eq!(request.path, "/v1/embeddings");
        let body = request.json();
        let data: Vec<Value> = body["input"]
            .as_array()
            .expect("texts")
            .iter()
            .enumerate()
            .map(|(index, text)| {
                let text = text.as_str().expect("a text");
                let has = |words: &[&str]| f64::from(u8::from(words.iter().any(|word| text.contains(word))));
                let mut vector = vec![has(&["heron", "egret"]), has(&["soup", "lunch"]), 0.01];
                vector.resize(dims, 0.0);
                json!({"object": "embedding", "index": index, "embedding": vector})
            })
            .collect();
        Reply::json(200, json!({"object": "list", "data": data, "model": body["model"]}))
    })
}

fn remembered(world: &TestEnv) {
    said(world, "monday", "Which heron?", "That one waits.");
    said(world, "tuesday", "What is for lunch?", "A stew.");
}

fn configure(world: &mut TestEnv, server: &ModelServer, memory: &str) {
    world.set_var("OPENAI_BASE_URL", format!("{}/v1", server.url()));
    world.set_var("OPENAI_API_KEY", "sk-embed-0123456789");
    world.write(world.base().join("config.toml"), memory);
}

#[test]
fn likeness_by_a_model() {
    let dims = Arc::new(AtomicUsize::new(3));
    let (mut world, server) = (world(), embeddings(&dims));
    remembered(&world);
    world.run(&["memory", "rebuild"]).success();
    insta::assert_snapshot!(world.run(&["memory", "search", "egret"]), @"
    Nothing fits.
    [exit status: 0]
    ");
    configure(&mut world, &server, "[memory]\nembedder = \"openai:concepts\"\n");
    // Before there are vectors of the model, the built-in likeness stands in.
    insta::assert_snapshot!(world.run(&["memory", "search", "herons"]), @"
    1  monday:1  user  2026-11-16T09:00:01Z  Which heron?
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["memory", "rebuild"]), @"
    4 messages of 2 sessions can be recalled; 4 got vectors
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["memory", "search", "egret"]), @"
    1  monday:1  user  2026-11-16T09:00:01Z  Which heron?
    [exit status: 0]
    ");
    // What has its vector is not sent again.
    insta::assert_snapshot!(world.run(&["memory", "rebuild"]), @"
    4 messages of 2 sessions can be recalled; 0 got vectors
    [exit status: 0]
    ");
    // Vectors of another length are never compared with these: they are made again.
    dims.store(5, Ordering::SeqCst);
    insta::assert_snapshot!(world.run(&["memory", "search", "egret"]), @"
    Nothing fits.
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["memory", "rebuild"]), @"
    4 messages of 2 sessions can be recalled; 4 got vectors
    [exit status: 0]
    ");
    insta::assert_snapshot!(world.run(&["memory", "search", "egret"]), @"
    1  monday:1  user  2026-11-16T09:00:01Z  Which heron?
    [exit status: 0]
    ");
    dims.store(0, Ordering::SeqCst);
    insta::assert_snapshot!(world.run(&["memory", "search", "herons"]), @"
    1  monday:1  user  2026-11-16T09:00:01Z  Which heron?
    ------- stderr -------
    Warning: Searching memory without vectors of a model: HTTP 500: out of order
    [exit status: 0]
    ");
}

/// The model's tool searches by the same vectors, and makes those that the newest messages lack.
#[test]
fn the_tool_searches_by_a_model() {
    let dims = Arc::new(AtomicUsize::new(3));
    let search = || anthropic::tool_use("toolu_1", "memory_search", json!({"query": "egret"}));
    let (mut world, model) =
        with_model([search(), anthropic::text("One."), search(), anthropic::text("Two.")]);
    let server = embeddings(&dims);
    remembered(&world);
    configure(&mut world, &server, "provider = \"anthropic\"\n[memory]\nembedder = \"openai:concepts\"\n");
    let marker = world.run(&["memory", "rebuild"]);
    assert!(marker.code() == Some(0), "{marker}");
    said(&world, "wednesday", "A second heron?", "Two of them.");
    world.run(&["exec", "-p", "ask"]).success();
    let answer = model.request(1).conversation();
    assert!(answer.contains("A second heron?") && answer.contains("Which heron?"), "{answer}");
    assert!(!answer.contains("lunch"), "{answer}");
    dims.store(0, Ordering::SeqCst);
    world.run(&["exec", "-p", "ask again"]).success();
    let answer = model.request(3).conversation();
    assert!(
        answer.contains("Searching memory without vectors of a model: HTTP 500: out of order"),
        "{answer}"
    );
}

/// What looks like a secret is in no request for a vector: neither of a message nor of a question.
#[test]
fn no_secret_goes_to_an_embedder() {
    let dims = Arc::new(AtomicUsize::new(3));
    let (mut world, server) = (world(), embeddings(&dims));
    let token = format!("ghp_{}", "a1B2c3D4e5".repeat(4).split_at(36).0);
    said(&world, "monday", &format!("The token of the heron is {token}"), "I will remember that.");
    configure(&mut world, &server, "[memory]\nembedder = \"openai:concepts\"\n");
    world.run(&["memory", "rebuild"]).success();
    world.run(&["memory", "search", "what", "is", &token]).success();
    let sent: Vec<Value> = (0..server.count()).map(|at| server.request(at).json()["input"].clone()).collect();
    assert_eq!(
        sent,
        [
            json!(["length"]),
            json!(["I will remember that.", "The token of the heron is [REDACTED]"]),
            json!(["what is [REDACTED]"])
        ]
    );
}

#[test]
fn vectors_in_qdrant() {
    let qdrant = QdrantServer::start(Some("open-sesame-123"));
    let dims = Arc::new(AtomicUsize::new(3));
    let (mut world, server) = (world(), embeddings(&dims));
    remembered(&world);
    let config = format!("[memory]\nvectors = \"qdrant\"\n[memory.qdrant]\nurl = \"{}\"\n", qdrant.url());
    configure(&mut world, &server, &config);
    world.set_var("QDRANT_API_KEY", "open-sesame-123");
    insta::assert_snapshot!(world.run(&["memory", "rebuild"]), @"
    4 messages of 2 sessions can be recalled; 4 got vectors
    [exit status: 0]
    ");
    let key = |world: &TestEnv| {
        let shown = world.run(&["project", "show", "--output", "json"]);
        let shown: Value = serde_json::from_str(&shown.stdout()).expect("it is JSON");
        shown["data"]["key"].as_str().expect("it has a key").to_owned()
    };
    let collection = format!("zori_{}", key(&world));
    assert_eq!(qdrant.collections(), [(collection.clone(), 256, 4)]);
    insta::assert_snapshot!(world.run(&["memory", "search", "herons"]), @"
    1  monday:1  user  2026-11-16T09:00:01Z  Which heron?
    [exit status: 0]
    ");
    let sent = qdrant.sent();
    assert!(
        !sent.contains("heron") && sent.contains("POST /collections/") && sent.contains("score_threshold"),
        "{sent}"
    );
    // Down: the built-in likeness stands in, and what is forgotten meanwhile is deleted when it is back.
    qdrant.set_down(true);
    insta::assert_snapshot!(world.run(&["memory", "search", "herons"]), @"
    1  monday:1  user  2026-11-16T09:00:01Z  Which heron?
    ------- stderr -------
    Warning: Searching memory without vectors of a model: Qdrant cannot be used: HTTP 503: Service unavailable
    [exit status: 0]
    ");
    world.run(&["memory", "forget", "4", "--yes"]).success();
    said(&world, "wednesday", "A second heron?", "Two of them.");
    insta::assert_snapshot!(world.run(&["memory", "rebuild"]), @"
    5 messages of 3 sessions can be recalled
    ------- stderr -------
    Warning: vectors are missing, and the built-in likeness stands in: Qdrant cannot be used: HTTP 503: Service unavailable
    [exit status: 0]
    ");
    qdrant.set_down(false);
    insta::assert_snapshot!(world.run(&["memory", "rebuild"]), @"
    5 messages of 3 sessions can be recalled; 2 got vectors
    [exit status: 0]
    ");
    assert_eq!(qdrant.collections(), [(collection.clone(), 256, 5)], "one went, two came");
    // A server that was set up anew is filled again.
    qdrant.clear();
    world.run(&["memory", "rebuild"]).success();
    assert_eq!(qdrant.collections(), [(collection.clone(), 256, 5)]);
    // Another model has another length: nothing is mixed.
    world.write(
        world.base().join("config.toml"),
        config.replace("[memory]\n", "[memory]\nembedder = \"openai:concepts\"\n"),
    );
    world.run(&["memory", "rebuild"]).success();
    assert_eq!(qdrant.collections(), [(collection.clone(), 3, 5)]);
    let found = world.run(&["memory", "search", "egret"]).success();
    assert_eq!(found.stdout().lines().count(), 2, "{found}");
    world.set_var("QDRANT_API_KEY", "wrong-key-123");
    let refused = world.run(&["memory", "search", "egret"]);
    assert!(
        refused.stderr().contains("HTTP 401") && !refused.to_string().contains("wrong-key-123"),
        "{refused}"
    );
    // A purge takes the collection; one that cannot be reached is a warning.
    world.set_var("QDRANT_API_KEY", "open-sesame-123");
    qdrant.set_down(true);
    let purged = world.run(&["project", "purge", "--yes"]);
    assert_eq!(purged.code(), Some(0), "{purged}");
    assert!(
        purged.stderr().contains(
            "vectors outside are left: Qdrant cannot be used: HTTP 503: Service unavailable; the same command again finishes it"
        ),
        "{purged}"
    );
    qdrant.set_down(false);
    insta::assert_snapshot!(world.run(&["project", "purge", "--yes"]), @"
    Deleted of $WORK: nothing
    [exit status: 0]
    ");
    assert_eq!(qdrant.collections(), []);
}

/// Section 11: a purge deletes vectors outside before the audit log, which is the last to go: cut off in between, it says what was begun.
#[test]
fn the_audit_log_goes_after_the_vectors_outside() {
    let mut world = world();
    let projects = world.base().join("projects");
    let server = ModelServer::answering(move |request| {
        assert_eq!(request.method, "DELETE");
        let own = std::fs::read_dir(&projects).expect("it is there").flatten().map(|entry| entry.path());
        let logs: Vec<_> = own.map(|own| own.join("audit.jsonl")).collect();
        assert!(!logs.is_empty() && logs.iter().all(|log| log.exists()), "{logs:?}");
        Reply::json(200, json!({"result": true, "status": "ok", "time": 0.001}))
    });
    let model = ModelServer::answering(|_| anthropic::text("Hi.").reply());
    world.use_server(&model);
    let config = format!("[memory]\nvectors = \"qdrant\"\n[memory.qdrant]\nurl = \"{}\"\n", server.url());
    world.write(world.base().join("config.toml"), config);
    let project = |world: &TestEnv| {
        let shown = world.run(&["project", "show", "--output", "json"]).stdout();
        let shown: Value = serde_json::from_str(&shown).expect("it is JSON");
        world.base().join("projects").join(shown["data"]["key"].as_str().expect("it has a key"))
    };
    let own = project(&world);
    world.write(own.join("audit.jsonl"), "");
    world.run(&["project", "purge", "--yes"]).success();
    assert_eq!((server.count(), own.exists()), (1, false));
}

#[test]
fn settings_that_cannot_be_used() {
    let world = world();
    let refused = |memory: &str| {
        world.write(world.base().join("config.toml"), format!("[memory]\n{memory}\n"));
        world.run(&["memory", "rebuild"]).to_string()
    };
    insta::assert_snapshot!(refused("embedder = \"openai\""), @r#"
    ------- stderr -------
    Error: `memory.embedder = "openai"`: it is written as PROVIDER:MODEL
    Hint: for example `openai:text-embedding-3-small`, or `ollama:nomic-embed-text`
    [exit status: 2]
    "#);
    insta::assert_snapshot!(refused("embedder = \"anthropic:claude\""), @r#"
    ------- stderr -------
    Error: `memory.embedder = "anthropic:claude"`: Anthropic has no embeddings
    Hint: for example `openai:text-embedding-3-small`, or `ollama:nomic-embed-text`
    [exit status: 2]
    "#);
    insta::assert_snapshot!(refused("vectors = \"qdrant\""), @r#"
    ------- stderr -------
    Error: `memory.vectors = "qdrant"` needs `memory.qdrant.url`
    Hint: for example `url = "http://127.0.0.1:$PORT"` in `[memory.qdrant]`
    [exit status: 2]
    "#);
    insta::assert_snapshot!(refused("vectors = \"qdrant\"\nqdrant.url = \"localhost:6333\""), @r#"
    ------- stderr -------
    Error: `memory.qdrant.url = "localhost:$PORT"`: it is an address such as http://127.0.0.1:$PORT, without a key in it
    [exit status: 2]
    "#);
    insta::assert_snapshot!(refused("vectors = \"qdrant\"\nqdrant.url = \"http://h\"\nqdrant.api_key = \"plain\""), @r#"
    ------- stderr -------
    Error: `memory.qdrant.api_key` is a reference such as `vault:QDRANT_API_KEY`
    Hint: or set QDRANT_API_KEY
    [exit status: 2]
    "#);
    insta::assert_snapshot!(refused("vectors = \"pinecone\""), @r#"
    ------- stderr -------
    Error: $BASE/config.toml:2:11: `memory.vectors` must be one of "local", "qdrant", not the string "pinecone"
    [exit status: 2]
    "#);
    insta::assert_snapshot!(refused("qdrant.url = 7"), @r#"
    ------- stderr -------
    Error: $BASE/config.toml:2:14: `memory.qdrant.url` must be a string, not 7
    [exit status: 2]
    "#);
    let unknown = refused("embedder = \"nobody:model\"");
    assert!(
        unknown.contains("Error: unknown provider `nobody`\n") && unknown.ends_with("[exit status: 2]"),
        "{unknown}"
    );
    assert!(!world.base().join("zori.db").exists(), "nothing is begun");
}
