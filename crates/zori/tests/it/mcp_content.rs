//! What becomes of the results of MCP tools, kind by kind, and of results that are not what the tool said (MCP-50).

use serde_json::{Value, json};
use zori_testkit::anthropic;
use zori_testkit::mcp::AnsweringServer;

use crate::world::with_model;

/// A picture of one pixel.
const PIXEL: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// Calls the tool of a server that answers so, and returns what the model read, and what the user did.
fn read(tool: &Value, result: &Value) -> (Value, String) {
    let (world, model) =
        with_model([anthropic::tool_use("t1", "mcp__s__t", json!({})), anthropic::text("Done.")]);
    let server = AnsweringServer::new(&world);
    server.list(&json!({ "tools": [tool] })).result(result);
    world.write(world.base().join("config.toml"), server.table());
    let output = world.run(&["exec", "-p", "go", "--no-save"]).success();
    let block = model.request(1).messages().pop().expect("a request has messages")["content"][0].clone();
    let told = world.rewrite().apply(&block["content"].to_string());
    let told: Value = serde_json::from_str(&told).expect("paths are text");
    (json!({"is_error": block["is_error"] == true, "content": told}), output.stderr())
}

/// Returns a text with the changing folder of files in it replaced.
fn steady(told: &Value) -> String {
    let text = told["content"].as_str().map_or_else(|| told["content"].to_string(), str::to_owned);
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        words.push(match word.split_once("/zori-mcp-") {
            Some((before, after)) => {
                format!("{before}/zori-mcp-N/{}", after.split_once('/').expect("a file").1)
            }
            None => word.to_owned(),
        });
    }
    words.join(" ")
}

#[test]
fn row_by_row() {
    let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
    let wav = "AAEC";
    for (result, wanted) in [
        (json!({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b\u{e0041}"}]}), "a\nb"),
        (
            json!({"content": [{"type": "audio", "data": wav, "mimeType": "audio/wav"}]}),
            "[audio audio/wav, 3 bytes: $TMP/zori-mcp-N/1.wav]",
        ),
        (
            json!({"content": [{"type": "resource", "resource": {"uri": "u:1", "blob": wav, "mimeType": "application/zip"}}]}),
            "[resource application/zip, 3 bytes: $TMP/zori-mcp-N/1.zip]",
        ),
        (
            json!({"content": [{"type": "resource_link", "uri": "https://a.test/x", "name": "x"}]}),
            "[resource https://a.test/x x]",
        ),
        (
            json!({"content": [{"type": "resource", "resource": {"uri": "u:1", "text": "inside"}}]}),
            "[resource u:1]\ninside",
        ),
        (json!({"content": [], "structuredContent": {"n": 1}}), "{\"n\":1}"),
        (json!({"content": [{"type": "text", "text": "a"}], "structuredContent": {"n": 1}}), "a"),
        (json!({"content": [{"type": "hologram"}]}), "[content of the type hologram]"),
        (json!({}), "(no output)"),
    ] {
        let (told, said) = read(&tool, &result);
        assert_eq!((steady(&told).as_str(), &told["is_error"]), (wanted, &json!(false)), "{result}\n{said}");
    }
    let (failed, _) = read(&tool, &json!({"isError": true, "content": [{"type": "text", "text": "no"}]}));
    assert!(failed["is_error"] == true && steady(&failed).ends_with("no"), "{failed}");
    // More than fits is cut in the middle, and the whole is where it says.
    let (long, _) = read(&tool, &json!({"content": [{"type": "text", "text": "x".repeat(70_000)}]}));
    let long = steady(&long);
    assert!(
        long.contains("\n[4464 bytes left out; the whole is in $TMP/zori-mcp-N/1.txt]\n"),
        "{}",
        long.len()
    );
}

/// Pictures go along, at most 20, with structured content beside them where there is no text.
#[test]
fn pictures() {
    let tool = json!({"name": "t", "inputSchema": {"type": "object"}});
    let picture = json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
    let (told, _) =
        read(&tool, &json!({"content": vec![picture.clone(); 21], "structuredContent": {"n": 1}}));
    let blocks = told["content"].as_array().expect("text and pictures").clone();
    assert_eq!(blocks.iter().filter(|block| block["type"] == "image").count(), 20, "{told}");
    assert!(told.to_string().contains("only 20 count"), "{told}");
    let (told, _) = read(&tool, &json!({"content": [picture], "structuredContent": {"n": 1}}));
    assert!(told["content"].to_string().contains(r#"{\"n\":1}"#), "{told}");
    let broken = json!({"content": [{"type": "image", "data": "bm8gcGljdHVyZQ==", "mimeType": "image/png"}]});
    let (told, _) = read(&tool, &broken);
    assert_eq!(steady(&told), "[image image/png, 10 bytes: $TMP/zori-mcp-N/1.png]");
}

/// A result that is not what the tool said it would be is used, and the user is told.
#[test]
fn a_broken_output_schema() {
    let schema = json!({"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}});
    for (schema, result, why) in [
        (schema.clone(), json!({"content": [], "structuredContent": {"n": 1}}), None),
        (
            schema.clone(),
            json!({"content": [], "structuredContent": {"n": "1"}}),
            Some("`n` must be of the type integer"),
        ),
        (schema.clone(), json!({"content": [], "structuredContent": {}}), Some("`n` is missing")),
        (schema, json!({"content": [{"type": "text", "text": "a"}]}), Some("it has no structured content")),
        (json!("nonsense"), json!({"content": []}), Some("that is no schema")),
    ] {
        let tool = json!({"name": "t", "inputSchema": {"type": "object"}, "outputSchema": schema});
        let (told, said) = read(&tool, &result);
        let wanted = why.map_or_else(String::new, |why| {
            format!("Warning: the result of the tool `t` of the MCP server `s` is not as its `outputSchema` says: {why}\n")
        });
        let warnings: String =
            said.lines().filter(|line| line.starts_with("Warning")).map(|line| format!("{line}\n")).collect();
        assert_eq!((warnings, &told["is_error"]), (wanted, &json!(false)), "{said}");
    }
}
