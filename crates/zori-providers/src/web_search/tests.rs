use super::*;

fn search() -> SearchQuery {
    SearchQuery {
        query: "newest rust".into(),
        allowed_domains: vec!["rust-lang.org".into()],
        blocked_domains: Vec::new(),
    }
}

fn body(bytes: &[u8]) -> String {
    let value: Value = serde_json::from_slice(bytes).unwrap();
    serde_json::to_string_pretty(&value).unwrap()
}

fn told(answer: Result<SearchAnswer, ProviderFailure>) -> String {
    match answer {
        Ok(answer) => {
            let sources: String = answer
                .sources
                .iter()
                .map(|source| format!("- {} <{}>\n", source.title, source.url))
                .collect();
            let Usage { input, output, cache_read, .. } = answer.usage;
            format!("{}\n{sources}{input} in, {output} out, {cache_read} cached, {}", answer.text, answer.fee)
        }
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn what_each_vendor_is_asked() {
    insta::assert_snapshot!(body(&anthropic_body("claude-x", &search())), @r#"
    {
      "model": "claude-x",
      "max_tokens": 4096,
      "tools": [
        {
          "type": "web_search_20250305",
          "name": "web_search",
          "max_uses": 5,
          "allowed_domains": [
            "rust-lang.org"
          ]
        }
      ],
      "messages": [
        {
          "role": "user",
          "content": "Search the web for this, and report what the pages say: facts, numbers, versions and dates as they are, in a few short paragraphs, without advice.\n\nnewest rust\n\nOnly use pages of: rust-lang.org"
        }
      ]
    }
    "#);
    insta::assert_snapshot!(body(&responses_body("gpt-x", &search())), @r#"
    {
      "model": "gpt-x",
      "store": false,
      "max_output_tokens": 4096,
      "tools": [
        {
          "type": "web_search",
          "filters": {
            "allowed_domains": [
              "rust-lang.org"
            ]
          }
        }
      ],
      "input": [
        {
          "role": "user",
          "content": [
            {
              "type": "input_text",
              "text": "Search the web for this, and report what the pages say: facts, numbers, versions and dates as they are, in a few short paragraphs, without advice.\n\nnewest rust\n\nOnly use pages of: rust-lang.org"
            }
          ]
        }
      ]
    }
    "#);
    insta::assert_snapshot!(body(&gemini_body(&search())), @r#"
    {
      "tools": [
        {
          "google_search": {}
        }
      ],
      "generationConfig": {
        "maxOutputTokens": 4096
      },
      "contents": [
        {
          "role": "user",
          "parts": [
            {
              "text": "Search the web for this, and report what the pages say: facts, numbers, versions and dates as they are, in a few short paragraphs, without advice.\n\nnewest rust\n\nOnly use pages of: rust-lang.org"
            }
          ]
        }
      ]
    }
    "#);
    let blocked =
        SearchQuery { query: "q".into(), blocked_domains: vec!["x.org".into()], ..SearchQuery::default() };
    let asked: Value = serde_json::from_slice(&anthropic_body("m", &blocked)).unwrap();
    assert_eq!(asked["tools"][0]["blocked_domains"], json!(["x.org"]));
    assert!(asked["messages"][0]["content"].as_str().unwrap().ends_with("\n\nq\n\nUse no pages of: x.org"));
}

/// The answers are those of the vendors' references, cut to what is read.
#[test]
fn what_each_vendor_answers() {
    insta::assert_snapshot!(told(anthropic_answer(include_str!("../../../../fixtures/web_search/anthropic.json"))), @"
    I'll search for it. Rust 1.99 came out in April.
    - News <https://rust-lang.org/news>
    - Releases <https://blog.rust-lang.org/releases>
    - Learn Rust <https://rust-lang.org/learn>
    6039 in, 931 out, 0 cached, $0.020000
    ");
    insta::assert_snapshot!(told(responses_answer(include_str!("../../../../fixtures/web_search/openai.json"))), @"
    Rust 1.99 came out in April.
    - News <https://rust-lang.org/news?utm_source=openai>
    -  <https://releases.rs>
    208 in, 256 out, 100 cached, $0.000000
    ");
    insta::assert_snapshot!(told(gemini_answer(include_str!("../../../../fixtures/web_search/gemini.json"))), @"
    Rust 1.99 came out in April.
    - rust-lang.org <https://vertexaisearch.cloud.google.com/grounding-api-redirect/A>
    - releases.rs <https://vertexaisearch.cloud.google.com/grounding-api-redirect/B>
    100 in, 70 out, 0 cached, $0.000000
    ");
}

#[test]
fn searches_that_fail() {
    let refused = r#"{"content":[{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},
        {"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":{"type":"web_search_tool_result_error","error_code":"max_uses_exceeded"}}],
        "usage":{"input_tokens":1,"output_tokens":2}}"#;
    assert_eq!(told(anthropic_answer(refused)), "api_error: the search failed (max_uses_exceeded)");
    assert_eq!(told(anthropic_answer("{\"content\":[]}")), "api_error: the search came to nothing");
    assert_eq!(
        told(anthropic_answer("{\"type\":\"error\",\"error\":{\"message\":\"no\"}}")),
        "api_error: no"
    );
    assert_eq!(told(responses_answer("{\"error\":{\"message\":\"no\"}}")), "api_error: no");
    assert_eq!(
        told(responses_answer("{\"output\":[],\"error\":null}")),
        "api_error: the search came to nothing"
    );
    assert_eq!(told(gemini_answer("{\"error\":{\"message\":\"no\"}}")), "api_error: no");
    assert_eq!(told(gemini_answer("{\"candidates\":[{}]}")), "api_error: the search came to nothing");
    assert!(anthropic_answer("[").is_err() && responses_answer("1").is_err() && gemini_answer("").is_err());
}
