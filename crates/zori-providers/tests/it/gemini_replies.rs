//! Every fixture stream of the Gemini API, and the chunks it decodes to.

use zori_core::provider::Delivery;
use zori_providers::replay::Exchange;

use crate::ask::{fixture, streams};
use crate::vendor::Vendor;

/// Decodes `fixtures/<name>.sse`, one line per chunk.
async fn decode(name: &str) -> String {
    Vendor::Gemini.decode(name).await
}

#[tokio::test]
async fn blocked_prompt() {
    insta::assert_snapshot!(decode("gemini/blocked_prompt").await, @r#"
    started gemini-3.8-flash
    usage in 30 out 0 read 0 write 0
    done ContentFilter
    "#);
}

#[tokio::test]
async fn cached() {
    insta::assert_snapshot!(decode("gemini/cached").await, @r#"
    started gemini-3.8-flash
    text "Cached."
    block end
    usage in 9 out 3 read 15211 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn error_mid_stream() {
    insta::assert_snapshot!(decode("gemini/error_mid_stream").await, @r#"
    started gemini-3.8-flash
    text "Let me"
    usage in 12 out 0 read 0 write 0
    failed api_error: UNAVAILABLE: The model is overloaded. Please try again later. | status 503
    "#);
}

#[tokio::test]
async fn lf() {
    insta::assert_snapshot!(decode("gemini/lf").await, @r#"
    started gemini-3.8-flash
    text "Hello"
    usage in 12 out 0 read 0 write 0
    text " there"
    block end
    usage in 12 out 3 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn malformed_call() {
    insta::assert_snapshot!(decode("gemini/malformed_call").await, @r#"
    started gemini-3.8-flash
    usage in 400 out 0 read 0 write 0
    done Other("MALFORMED_FUNCTION_CALL")
    "#);
}

#[tokio::test]
async fn max_tokens() {
    insta::assert_snapshot!(decode("gemini/max_tokens").await, @r#"
    started gemini-3.8-flash
    text "One, two, three,"
    usage in 12 out 6 read 0 write 0
    text " four, fi"
    block end
    usage in 12 out 8 read 0 write 0
    done MaxTokens
    "#);
}

#[tokio::test]
async fn other_reason() {
    insta::assert_snapshot!(decode("gemini/other_reason").await, @r#"
    started gemini-3.8-flash
    text "Well"
    block end
    usage in 30 out 1 read 0 write 0
    done Other("OTHER")
    "#);
}

#[tokio::test]
async fn parallel_tools() {
    insta::assert_snapshot!(decode("gemini/parallel_tools").await, @r#"
    started gemini-3.8-flash
    text "Reading both."
    usage in 472 out 4 read 0 write 0
    block end
    call 0 read without id, for gemini: "CiQBfirst=="
    call 0 input "{\"path\":\"a.txt\"}"
    call 0 end
    call 1 read without id
    call 1 input "{\"path\":\"b.txt\"}"
    call 1 end
    usage in 472 out 40 read 0 write 0
    call 2 ls without id
    call 2 input "{}"
    call 2 end
    usage in 472 out 52 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn recitation() {
    insta::assert_snapshot!(decode("gemini/recitation").await, @r#"
    started gemini-3.8-flash
    text "Four score"
    usage in 30 out 2 read 0 write 0
    block end
    usage in 30 out 9 read 0 write 0
    done ContentFilter
    "#);
}

#[tokio::test]
async fn safety() {
    insta::assert_snapshot!(decode("gemini/safety").await, @r#"
    started gemini-3.8-flash
    text "It goes"
    usage in 30 out 2 read 0 write 0
    block end
    done ContentFilter
    "#);
}

#[tokio::test]
async fn signature_behind_text() {
    insta::assert_snapshot!(decode("gemini/signature_behind_text").await, @r#"
    started gemini-3.8-flash
    text "The answer"
    usage in 20 out 92 read 0 write 0
    text " is 4."
    usage in 20 out 96 read 0 write 0
    block end
    replay for gemini: {"text":"","thoughtSignature":"CiQBbehind=="}
    block end
    done EndTurn
    "#);
}

#[tokio::test]
async fn signature_on_text() {
    insta::assert_snapshot!(decode("gemini/signature_on_text").await, @r#"
    started gemini-3.8-flash
    text "The answer"
    usage in 20 out 92 read 0 write 0
    text " is 4."
    block end
    replay for gemini: {"text":" is 4.","thoughtSignature":"CiQBon=="}
    block end
    usage in 20 out 96 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn signature_on_thought() {
    insta::assert_snapshot!(decode("gemini/signature_on_thought").await, @r#"
    started gemini-3.8-flash
    thinking "Hm."
    replay for gemini: {"text":"Hm.","thought":true,"thoughtSignature":"CiQBhm=="}
    block end
    usage in 20 out 9 read 0 write 0
    text "Yes."
    block end
    usage in 20 out 10 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn text() {
    insta::assert_snapshot!(decode("gemini/text").await, @r#"
    started gemini-3.8-flash
    text "Hello"
    usage in 12 out 0 read 0 write 0
    text "! How can I"
    usage in 12 out 4 read 0 write 0
    text " help you today?"
    block end
    usage in 12 out 11 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn thought_all_tokens_away() {
    insta::assert_snapshot!(decode("gemini/thought_all_tokens_away").await, @r#"
    started gemini-3.8-flash
    usage in 12 out 8 read 0 write 0
    done MaxTokens
    "#);
}

#[tokio::test]
async fn thoughts_then_tool() {
    insta::assert_snapshot!(decode("gemini/thoughts_then_tool").await, @r#"
    started gemini-3.8-flash
    thinking "**Looking** at"
    usage in 501 out 30 read 0 write 0
    thinking " the tests.\n"
    usage in 501 out 60 read 0 write 0
    block end
    text "I run "
    text "them."
    usage in 501 out 68 read 0 write 0
    block end
    call 0 bash without id, for gemini: "CiQBthought=="
    call 0 input "{\"command\":\"sh test.sh\"}"
    call 0 end
    usage in 501 out 80 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn tool_call() {
    insta::assert_snapshot!(decode("gemini/tool_call").await, @r#"
    started gemini-3.8-flash
    call 0 read without id, for gemini: "CiQBjz1rX1+call/1=="
    call 0 input "{\"path\":\"src/main.rs\"}"
    call 0 end
    usage in 410 out 84 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn tool_call_with_id() {
    insta::assert_snapshot!(decode("gemini/tool_call_with_id").await, @r#"
    started gemini-3.8-flash
    call 0 read fc-9f31, for gemini: "CiQBwithid=="
    call 0 input "{\"path\":\"a\"}"
    call 0 end
    usage in 410 out 84 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn unicode() {
    insta::assert_snapshot!(decode("gemini/unicode").await, @r#"
    started gemini-3.8-flash
    text "日本"
    usage in 12 out 0 read 0 write 0
    text "語 und Größe 👩\u{200d}👩\u{200d}👧\u{200d}👦 "
    text "🇯🇵é \u{2028}\0end"
    block end
    call 0 write without id
    call 0 input "{\"path\":\"größe.txt\",\"content\":\"→ 終わり 🎉\"}"
    call 0 end
    usage in 12 out 60 read 0 write 0
    done ToolUse
    "#);
}

#[tokio::test]
async fn unknown_parts() {
    insta::assert_snapshot!(decode("gemini/unknown_parts").await, @r#"
    started gemini-3.8-flash
    text "One."
    usage in 30 out 9 read 0 write 0
    block end
    usage in 30 out 12 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn an_answer_in_one_piece() {
    let body = Exchange::json(fixture("gemini/whole.json"));
    insta::assert_snapshot!(Vendor::Gemini.reply_as(body, Delivery::Whole).await, @r#"
    started gemini-3.8-flash
    thinking "Two files."
    block end
    text "Reading."
    block end
    call 0 read without id, for gemini: "CiQBwhole=="
    call 0 input "{\n                \"path\": \"a b.txt\"\n              }"
    call 0 end
    usage in 472 out 61 read 128 write 0
    done ToolUse
    "#);
}

#[test]
fn every_stream_is_here() {
    let source = include_str!("gemini_replies.rs");
    for name in streams("gemini") {
        assert!(source.contains(&format!("decode(\"{name}\")")), "{name}.sse has no test");
    }
}
