//! Every fixture stream of the Responses API, and the chunks it decodes to.

use zori_core::provider::Delivery;
use zori_providers::replay::Exchange;

use crate::ask::{fixture, streams};
use crate::vendor::Vendor;

/// Decodes `fixtures/<name>.sse`, one line per chunk.
async fn decode(name: &str) -> String {
    Vendor::Responses.decode(name).await
}

#[tokio::test]
async fn content_filter() {
    insta::assert_snapshot!(decode("openai_responses/content_filter").await, @r#"
    started gpt-5.2-2025-12-11
    text "It goes"
    block end
    usage in 30 out 2 read 0 write 0
    done ContentFilter
    "#);
}

#[tokio::test]
async fn error_event() {
    insta::assert_snapshot!(decode("openai_responses/error_event").await, @r#"
    started gpt-5.2-2025-12-11
    failed api_error: rate_limit_exceeded: Rate limit reached for gpt-5.2. | status 429
    "#);
}

#[tokio::test]
async fn failed() {
    insta::assert_snapshot!(decode("openai_responses/failed").await, @r#"
    started gpt-5.2-2025-12-11
    text "Let me"
    block end
    failed api_error: server_error: The server had an error processing your request. | status 500
    "#);
}

#[tokio::test]
async fn max_output_tokens() {
    insta::assert_snapshot!(decode("openai_responses/max_output_tokens").await, @r#"
    started gpt-5.2-2025-12-11
    text "One, two, three,"
    text " four, fi"
    block end
    usage in 12 out 8 read 0 write 0
    done MaxTokens
    "#);
}

#[tokio::test]
async fn max_tokens_in_tool() {
    insta::assert_snapshot!(decode("openai_responses/max_tokens_in_tool").await, @r#"
    started gpt-5.2-2025-12-11
    call 0 write call_m1
    call 0 input "{\"path\":\"big.txt\""
    call 0 input ",\"content\":\"aaa"
    usage in 410 out 16 read 0 write 0
    done MaxTokens
    "#);
}

#[tokio::test]
async fn no_deltas() {
    insta::assert_snapshot!(decode("openai_responses/no_deltas").await, @r#"
    started gpt-5.2-2025-12-11
    thinking "Short.\n\nSecond."
    replay for openai: {"id":"rs_nd","type":"reasoning","encrypted_content":"gAAAAABpnd==","summary":[{"type":"summary_text","text":"Short."},{"type":"summary_text","text":"Second."}]}
    block end
    text "All at once."
    block end
    call 0 read call_nd
    call 0 input "{\"path\":\"x\"}"
    call 0 end
    usage in 40 out 20 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn parallel_tools() {
    insta::assert_snapshot!(decode("openai_responses/parallel_tools").await, @r#"
    started gpt-5.2-2025-12-11
    text "Reading both."
    block end
    call 0 read call_p1
    call 0 input "{\"path\":"
    call 0 input "\"a.txt\"}"
    call 0 end
    call 1 read call_p2
    call 1 input "{\"path\":\"b"
    call 1 input ".txt\"}"
    call 1 end
    call 2 bash call_p3
    call 2 input "{}"
    call 2 end
    usage in 472 out 97 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn reasoning_hidden() {
    insta::assert_snapshot!(decode("openai_responses/reasoning_hidden").await, @r#"
    started gpt-5.2-2025-12-11
    replay for openai: {"id":"rs_reasoning_hidden_0","type":"reasoning","encrypted_content":"gAAAAABphidden==","summary":[]}
    block end
    text "Done."
    block end
    usage in 117 out 140 read 384 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn reasoning_then_tool() {
    insta::assert_snapshot!(decode("openai_responses/reasoning_then_tool").await, @r#"
    started gpt-5.2-2025-12-11
    thinking "**Looking"
    thinking "** at the tests"
    thinking "\n\n"
    thinking "Run them"
    thinking " \"quickly\"."
    replay for openai: {"id":"rs_reasoning_then_tool_0","type":"reasoning","encrypted_content":"gAAAAABpencrypted+reasoning/1==","summary":[{"type":"summary_text","text":"**Looking** at the tests"},{"type":"summary_text","text":"Run them \"quickly\"."}]}
    block end
    call 0 bash call_r1
    call 0 input "{\"command\":\"sh test.sh\"}"
    call 0 end
    usage in 501 out 183 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn refusal() {
    insta::assert_snapshot!(decode("openai_responses/refusal").await, @r#"
    started gpt-5.2-2025-12-11
    text "I can't help"
    text " with that."
    block end
    usage in 12 out 9 read 0 write 0
    done Refusal
    "#);
}

#[tokio::test]
async fn text() {
    insta::assert_snapshot!(decode("openai_responses/text").await, @r#"
    started gpt-5.2-2025-12-11
    text "Hello"
    text "! How can"
    text " I help you"
    text " today?"
    block end
    usage in 12 out 11 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn tool_call() {
    insta::assert_snapshot!(decode("openai_responses/tool_call").await, @r#"
    started gpt-5.2-2025-12-11
    call 0 read call_7Yd2Qx9
    call 0 input "{\""
    call 0 input "path"
    call 0 input "\":\"src"
    call 0 input "/main.rs\"}"
    call 0 end
    usage in 130 out 21 read 1280 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn unicode() {
    insta::assert_snapshot!(decode("openai_responses/unicode").await, @r#"
    started gpt-5.2-2025-12-11
    text "日本"
    text "語 und Größe"
    text " 👩\u{200d}👩\u{200d}👧\u{200d}👦 "
    text "🇯🇵é"
    text " \u{2028}\0end"
    block end
    call 0 write call_u1
    call 0 input "{\"path\":\"größe.txt\",\"cont"
    call 0 input "ent\":\"→ 終わり 🎉\"}"
    call 0 end
    usage in 12 out 60 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn unknown_events() {
    insta::assert_snapshot!(decode("openai_responses/unknown_events").await, @r#"
    started gpt-5.2-2025-12-11
    text "Found it."
    block end
    usage in 12 out 20 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn unnamed_events() {
    insta::assert_snapshot!(decode("openai_responses/unnamed_events").await, @r#"
    started gpt-5.2-2025-12-11
    text "I'll"
    text " look."
    block end
    call 0 bash call_n1
    call 0 input "{\"command\": \"ls"
    call 0 input " src\"}"
    call 0 end
    usage in 472 out 58 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn a_local_server_in_french() {
    insta::assert_snapshot!(decode("openai_responses/recorded/responses_text").await, @r#"
    started 
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
    usage in 1 out 31 read 38 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn an_answer_in_one_piece() {
    let body = Exchange::json(fixture("openai_responses/whole.json"));
    insta::assert_snapshot!(Vendor::Responses.reply_as(body, Delivery::Whole).await, @r#"
    started gpt-5.2-2025-12-11
    thinking "Two files."
    replay for openai: {
          "id": "rs_w",
          "type": "reasoning",
          "encrypted_content": "gAAAAABpwhole==",
          "summary": [
            {
              "type": "summary_text",
              "text": "Two files."
            }
          ]
        }
    block end
    text "Reading."
    block end
    call 0 read call_w1
    call 0 input "{\"path\":\"a b.txt\"}"
    call 0 end
    usage in 472 out 61 read 128 write 0
    done ToolUse
    "#);
}

#[test]
fn every_stream_is_here() {
    let source = include_str!("openai_responses_replies.rs");
    for name in streams("openai_responses") {
        assert!(source.contains(&format!("decode(\"{name}\")")), "{name}.sse has no test");
    }
}
