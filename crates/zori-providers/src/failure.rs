//! Turns what went wrong on the wire into one [`ProviderFailure`]: statuses, bodies, broken connections.
//!
//! Structure comes first (status, JSON, headers), text last. The engine decides what to retry.

use std::future::poll_fn;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use zori_core::failure::{FailureKind, ProviderFailure};
use zori_core::secret::Secret;
use zori_core::text;
use zori_core::time::Timestamp;
use zori_core::transport::{ByteStream, HttpResponse, TransportFailure};

/// How much of an error body is read (NET-11).
const MAX_ERROR_BODY: usize = 64 * 1024;
/// How much of it is kept in `details`.
const MAX_DETAILS: usize = 2 * 1024;
/// How much of the provider's own sentence is kept in the message.
const MAX_MESSAGE: usize = 1024;

/// Reads the body of an answer that is not 2xx and says what it means (PERR-2).
pub async fn from_response(mut response: HttpResponse, now: Timestamp) -> ProviderFailure {
    let body = read_bounded(&mut response.body, MAX_ERROR_BODY).await.0;
    let retry_after = retry_after(&response, now).or_else(|| retry_delay(&body));
    ProviderFailure { retry_after, ..from_status(response.status, &body) }
}

/// Returns the failure that a status and its body mean.
pub fn from_status(status: u16, body: &[u8]) -> ProviderFailure {
    let message = match provider_message(body) {
        Some(text) => format!("HTTP {status}: {text}"),
        None => format!("HTTP {status}"),
    };
    // Google says 400 to a key that is none, and the reason in the details. For us it is what others call 401.
    let bad_key =
        status == 400 && error_object(body).is_some_and(|e| e.get().contains("\"API_KEY_INVALID\""));
    let failure = ProviderFailure {
        status: Some(if bad_key { 401 } else { status }),
        details: details(body),
        ..ProviderFailure::new(FailureKind::HttpStatus, message)
    };
    sorted(failure, &String::from_utf8_lossy(body))
}

/// Gives a failure the kind `context_length` where the provider says that the conversation is too long, and `blocked` where
/// it says that it does not want the prompt. `said` is what it said beside the message: the body, or a code.
pub(crate) fn sorted(failure: ProviderFailure, said: &str) -> ProviderFailure {
    // A limit per minute is counted in tokens, too, and is told by its status.
    let may_be = matches!(failure.status, None | Some(400 | 413 | 422 | 500));
    let says = |phrases: &[&str]| {
        [failure.message.as_str(), said].into_iter().any(|text| {
            let text = text.to_lowercase();
            phrases.iter().any(|words| text.contains(words))
        })
    };
    let kind = match failure.status {
        _ if may_be && says(TOO_LONG) => FailureKind::ContextLength,
        Some(400 | 403 | 422) if says(BLOCKED) => FailureKind::Blocked,
        Some(400 | 422) if says(REASONING) => FailureKind::Reasoning,
        // Others mean by 429 that one should wait, and by 400 that the request is wrong.
        Some(400 | 403 | 429) if says(UNPAID) => return ProviderFailure { status: Some(402), ..failure },
        Some(400 | 422) => {
            return ProviderFailure { reply_limit: named_limit(&failure.message), ..failure };
        }
        _ => return failure,
    };
    ProviderFailure { kind, ..failure }
}

/// How servers report that reasoning which was sent back is not theirs or was changed, in lower case.
const REASONING: &[&str] = &[
    // Anthropic.
    "invalid `signature` in `thinking`",
    "invalid `data` in `redacted_thinking`",
    "thinking blocks cannot be modified",
    "`thinking` or `redacted_thinking` blocks",
    // OpenAI's Responses.
    "invalid_encrypted_content",
    "encrypted content could not be",
    // Gemini.
    "thought signature",
    "thought_signature",
    "thoughtsignature",
];

/// How servers report that nothing more is paid for, in lower case.
const UNPAID: &[&str] = &[
    "insufficient_quota",
    "billing_hard_limit_reached",
    "credit balance is too low",
    "insufficient balance",
    "insufficient credits",
];

/// Returns the reply limit that a server names when it refuses a request for asking for more.
fn named_limit(message: &str) -> Option<u32> {
    let text = message.to_lowercase();
    if !REPLY_LIMITS.iter().any(|field| text.contains(field)) {
        return None;
    }
    // `max_tokens: 32000 > 8192, which is the maximum`, `supports at most 16384 completion tokens`, `range of [1, 8192]`,
    // `from 1 (inclusive) to 65537 (exclusive)`: the limit is the smallest number that a reply could have.
    let numbers = text.split(|c: char| !c.is_ascii_digit()).filter_map(|word| word.parse::<u32>().ok());
    let limit = numbers.filter(|number| *number > SMALLEST_LIMIT).min()?;
    Some(if text.contains("(exclusive)") { limit - 1 } else { limit })
}

/// How servers name the field, in lower case.
const REPLY_LIMITS: &[&str] =
    &["max_tokens", "max_completion_tokens", "max_output_tokens", "maxoutputtokens", "completion tokens"];

/// No model has a smaller limit; the status of a failure is a smaller number.
const SMALLEST_LIMIT: u32 = 599;

/// How servers report that the prompt was blocked before a model saw it, in lower case.
const BLOCKED: &[&str] = &[
    // OpenAI's Responses: codes of failed responses, and of the event `error`.
    "invalid_prompt",
    "bio_policy",
    "misalignment_policy_violation",
    "content_policy_violation",
    // Azure OpenAI.
    "content_filter",
    "responsibleaipolicyviolation",
    // OpenRouter's moderation.
    "requires moderation",
    // Anthropic.
    "output blocked by content filtering policy",
];

/// How servers report that a conversation is too long for the model, in lower case: codes first, then sentences of
/// servers that have no code for it or quote another server's answer.
const TOO_LONG: &[&str] = &[
    // OpenAI, and most who speak like it.
    "context_length_exceeded",
    // llama.cpp.
    "exceed_context_size_error",
    // GitHub Copilot.
    "model_max_prompt_tokens_exceeded",
    // Anthropic: the prompt alone, or with the reply that was asked for.
    "prompt is too long",
    "exceed context limit",
    // OpenAI's Chat Completions, vLLM; OpenRouter says it of an endpoint.
    "maximum context length",
    // OpenAI's Responses.
    "exceeds the context window",
    // Gemini.
    "exceeds the maximum number of tokens allowed",
    // llama.cpp before it had a code.
    "exceeds the available context size",
    // Ollama.
    "input length exceeds the context length",
    // LM Studio.
    "the model is loaded with context length of only",
    "greater than the context length",
];

/// Says what a failure means while nothing of an answer has arrived (PERR-3).
pub fn before_answer(failure: &TransportFailure) -> ProviderFailure {
    let kind = match failure {
        TransportFailure::Connect(_) | TransportFailure::Timeout(_) => FailureKind::Timeout,
        TransportFailure::Broken(_) => FailureKind::Transport,
        TransportFailure::Redirect(_) => FailureKind::HttpStatus,
        // Base URLs are checked when they are configured, so a bad one here is ours.
        TransportFailure::BadUrl(_) => FailureKind::Internal,
        TransportFailure::Replay(_) => FailureKind::Replay,
    };
    ProviderFailure::new(kind, failure.to_string())
}

/// Says what a failure means after the answer has begun: whatever it was, the answer is broken (NET-4, NET-5).
pub fn mid_answer(failure: &TransportFailure) -> ProviderFailure {
    let kind = match failure {
        TransportFailure::Replay(_) => FailureKind::Replay,
        _ => FailureKind::Transport,
    };
    ProviderFailure::new(kind, failure.to_string())
}

/// Says that an answer cannot be understood.
pub fn unreadable(message: impl Into<String>, body: &[u8]) -> ProviderFailure {
    ProviderFailure { details: details(body), ..ProviderFailure::new(FailureKind::Parse, message) }
}

/// Takes a secret out of what a server said, in case it repeats it (PROV-12).
pub fn without(secret: &Secret, mut failure: ProviderFailure) -> ProviderFailure {
    failure.message = secret.redact(&failure.message).into_owned();
    failure.details = failure.details.map(|text| secret.redact(&text).into_owned());
    failure
}

/// Returns the bytes as one bounded line for `details`; nothing for an empty body.
pub fn details(body: &[u8]) -> Option<String> {
    fold(body, MAX_DETAILS)
}

/// Reads at most `max` bytes; also says whether that was everything, and why not.
pub(crate) async fn read_bounded(body: &mut ByteStream, max: usize) -> (Vec<u8>, BodyEnd) {
    let mut out = Vec::new();
    loop {
        match poll_fn(|cx| body.as_mut().poll_next(cx)).await {
            None => return (out, BodyEnd::Complete),
            Some(Err(failure)) => return (out, BodyEnd::Failed(failure)),
            Some(Ok(bytes)) if out.len() + bytes.len() > max => {
                out.extend_from_slice(&bytes[..max - out.len()]);
                return (out, BodyEnd::TooLong);
            }
            Some(Ok(bytes)) => out.extend_from_slice(&bytes),
        }
    }
}

/// How reading a body ended.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BodyEnd {
    /// All of it was read.
    Complete,
    /// The connection broke.
    Failed(TransportFailure),
    /// There is more than was asked for.
    TooLong,
}

/// The error object of all the APIs we know: `{"error":{"message":..}}`, or `{"error":".."}`.
#[derive(Deserialize)]
struct ErrorBody<'a> {
    #[serde(borrow)]
    error: &'a RawValue,
}

#[derive(Deserialize)]
struct ErrorObject {
    message: String,
}

/// What Google's APIs say beside the message.
#[derive(Deserialize)]
struct DetailedError {
    details: Vec<Detail>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Detail {
    #[serde(default)]
    retry_delay: Option<String>,
}

fn provider_message(body: &[u8]) -> Option<String> {
    let error = error_object(body)?.get();
    let message = serde_json::from_str::<ErrorObject>(error)
        .map(|object| object.message)
        .or_else(|_| serde_json::from_str::<String>(error))
        .ok()?;
    fold(message.as_bytes(), MAX_MESSAGE)
}

/// Returns how long Google's APIs ask us to wait; they send no header for it but `"retryDelay": "34.07s"`.
fn retry_delay(body: &[u8]) -> Option<Duration> {
    let error: DetailedError = serde_json::from_str(error_object(body)?.get()).ok()?;
    let text = error.details.into_iter().find_map(|detail| detail.retry_delay)?;
    Duration::try_from_secs_f64(text.strip_suffix('s')?.parse().ok()?).ok()
}

fn error_object(body: &[u8]) -> Option<&RawValue> {
    // Gemini's streaming method answers with a list, of which the error is the one member. The list comes first,
    // since serde takes one for a struct's fields, too.
    let body = serde_json::from_slice::<[ErrorBody<'_>; 1]>(body)
        .map(|[only]| only)
        .or_else(|_| serde_json::from_slice::<ErrorBody<'_>>(body))
        .ok()?;
    Some(body.error)
}

/// Makes one line of at most `max` bytes: runs of blanks become one, control bytes become visible (L-23).
fn fold(bytes: &[u8], max: usize) -> Option<String> {
    // Text beyond the bound is not worth folding; blanks shrink, so look at somewhat more.
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(max * 4)]);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = text::one_line(&line);
    let kept = text::prefix(&line, max);
    match kept {
        "" => None,
        _ if kept.len() < line.len() || bytes.len() > max * 4 => Some(format!("{kept} [...]")),
        _ => Some(kept.to_owned()),
    }
}

/// Returns how long the provider asks us to wait: milliseconds, seconds, or until a date. A date in the past means no
/// wait (CLK-3); a number that is too large to count means for ever.
fn retry_after(response: &HttpResponse, now: Timestamp) -> Option<Duration> {
    let number = |v: &str| {
        let digits = !v.is_empty() && v.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| v.parse().unwrap_or(u64::MAX))
    };
    let millis = |v: &str| number(v.trim()).map(Duration::from_millis);
    let seconds = |v: &str| number(v.trim()).map(Duration::from_secs);
    let until = |v: &str| {
        let date = Timestamp::parse_http_date(v)?;
        Some(Duration::from_secs(u64::try_from(date.0.saturating_sub(now.0)).unwrap_or(0)))
    };
    response
        .header("retry-after-ms")
        .and_then(millis)
        .or_else(|| response.header("retry-after").and_then(|v| seconds(v).or_else(|| until(v))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::Exchange;

    fn message(status: u16, body: &str) -> (String, Option<String>) {
        let failure = from_status(status, body.as_bytes());
        assert_eq!((failure.kind, failure.status), (FailureKind::HttpStatus, Some(status)));
        (failure.message, failure.details)
    }

    #[test]
    fn statuses_and_bodies() {
        let json =
            r#"{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}"#;
        assert_eq!(message(401, json), ("HTTP 401: invalid x-api-key".into(), Some(json.into())));
        assert_eq!(message(500, ""), ("HTTP 500".into(), None));
        assert_eq!(message(404, r#"{"error":"model not found"}"#).0, "HTTP 404: model not found");
        assert_eq!(message(400, r#"{"error":{"code":7}}"#).0, "HTTP 400");
        assert_eq!(message(400, r#"{"error":{"message":""}}"#).0, "HTTP 400");
        assert_eq!(message(400, r#"[1]"#).0, "HTTP 400");
        assert_eq!(
            message(
                400,
                r#"[{"error":{"code":400,"message":"API key not valid.","status":"INVALID_ARGUMENT"}}]"#
            )
            .0,
            "HTTP 400: API key not valid."
        );
        assert_eq!(
            message(502, "<html>\n  <h1>Bad\tGateway</h1>\x1b[31m\n</html>\n"),
            ("HTTP 502".into(), Some("<html> <h1>Bad Gateway</h1>\\x1b[31m </html>".into()))
        );
        assert_eq!(
            message(429, "{\"error\":{\"message\":\"slow\\n  down\"}}").0,
            "HTTP 429: slow down",
            "a message is one line"
        );
    }

    #[test]
    fn limits_that_are_named() {
        for (message, limit) in [
            (
                "max_tokens: 32000 > 8192, which is the maximum allowed number of output tokens for m",
                Some(8192),
            ),
            (
                "max_tokens is too large: 32000. This model supports at most 16384 completion tokens",
                Some(16_384),
            ),
            ("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]", Some(8192)),
            (
                "Unable to submit request because it has a maxOutputTokens value of 99999 but the supported range is \
                 from 1 (inclusive) to 65537 (exclusive).",
                Some(65_536),
            ),
            ("max_tokens: field required", None),
            ("temperature must be below 1024", None),
        ] {
            let body = serde_json::json!({"error": {"message": message}}).to_string();
            assert_eq!(from_status(400, body.as_bytes()).reply_limit, limit, "{message}");
            assert_eq!(from_status(500, body.as_bytes()).reply_limit, None);
        }
    }

    #[test]
    fn what_vendors_say_of_reasoning_and_of_money() {
        let sort = |status: u16, message: &str| {
            let body = serde_json::json!({"error": {"message": message}}).to_string();
            let failure = from_status(status, body.as_bytes());
            (failure.kind, failure.status)
        };
        use FailureKind::{Blocked, HttpStatus, Reasoning};
        for (status, message, expected) in [
            (400, "messages.1.content.0: Invalid `signature` in `thinking` block", (Reasoning, Some(400))),
            (400, "The encrypted content could not be verified.", (Reasoning, Some(400))),
            (400, "Function call is missing a thought_signature", (Reasoning, Some(400))),
            (400, "Your credit balance is too low to access the API.", (HttpStatus, Some(402))),
            (429, "You exceeded your current quota (insufficient_quota)", (HttpStatus, Some(402))),
            (429, "Rate limit reached", (HttpStatus, Some(429))),
            (400, "Output blocked by content filtering policy", (Blocked, Some(400))),
        ] {
            assert_eq!(sort(status, message), expected, "{message}");
        }
    }

    /// Bodies as the vendors document them or their users report them.
    #[test]
    fn conversations_that_are_too_long() {
        let bodies = [
            // Anthropic.
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 207791 tokens > 200000 maximum"}}"#,
            ),
            (
                400,
                r#"{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again"}}"#,
            ),
            // OpenAI's Chat Completions and Responses.
            (
                400,
                r#"{"error":{"message":"This model's maximum context length is 8192 tokens. However, your messages resulted in 8227 tokens.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Your input exceeds the context window of this model.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}"#,
            ),
            // Gemini.
            (
                400,
                r#"[{"error":{"code":400,"message":"The input token count (314175) exceeds the maximum number of tokens allowed (131072).","status":"INVALID_ARGUMENT"}}]"#,
            ),
            // OpenRouter: its own words, and those of the server behind it.
            (
                400,
                r#"{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 138956 tokens.","code":400}}"#,
            ),
            (
                400,
                r#"{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long\"}}","provider_name":"P"}}}"#,
            ),
            // llama.cpp, whose first version had the status 500.
            (
                400,
                r#"{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_prompt_tokens":14429,"n_ctx":8192}}"#,
            ),
            (
                500,
                r#"{"error":{"code":500,"message":"too much","type":"exceed_context_size_error","n_prompt_tokens":1407,"n_ctx":256}}"#,
            ),
            // Ollama, LM Studio, vLLM.
            (
                400,
                r#"{"error":{"message":"the input length exceeds the context length","type":"invalid_request_error"}}"#,
            ),
            (
                400,
                r#"{"error":"Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough."}"#,
            ),
            (
                400,
                r#"{"object":"error","message":"This model's maximum context length is 6048 tokens. However, you requested 6616 tokens.","type":"BadRequestError","param":null,"code":400}"#,
            ),
        ];
        for (status, body) in bodies {
            let failure = from_status(status, body.as_bytes());
            assert_eq!((failure.kind, failure.status), (FailureKind::ContextLength, Some(status)), "{body}");
        }
        let limit = r#"{"error":{"message":"Rate limit: requests of the maximum context length are not served","code":"rate_limit_exceeded"}}"#;
        assert_eq!(from_status(429, limit.as_bytes()).kind, FailureKind::HttpStatus);
        let other = r#"{"error":{"message":"messages: too long","type":"invalid_request_error"}}"#;
        assert_eq!(from_status(400, other.as_bytes()).kind, FailureKind::HttpStatus);
    }

    #[test]
    fn a_wrong_key_at_google() {
        let reason = r#"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID"}"#;
        let body =
            format!(r#"{{"error":{{"code":400,"message":"API key not valid.","details":[{reason}]}}}}"#);
        let failure = from_status(400, body.as_bytes());
        assert_eq!((failure.status, failure.message.as_str()), (Some(401), "HTTP 400: API key not valid."));
    }

    #[test]
    fn long_bodies_are_bounded() {
        let (_, details) = message(500, &"é".repeat(100_000));
        assert_eq!(details, Some(format!("{} [...]", "é".repeat(1024))));
        let (text, _) = message(500, &format!(r#"{{"error":{{"message":"{}"}}}}"#, "m".repeat(5000)));
        assert_eq!(text, format!("HTTP 500: {} [...]", "m".repeat(1024)));
    }

    #[tokio::test]
    async fn an_endless_error_body_is_read_in_part() {
        let exchange = Exchange::new(500, "text/plain", vec![b'x'; 10 * MAX_ERROR_BODY]);
        let (body, end) = read_bounded(&mut exchange.response().body, MAX_ERROR_BODY).await;
        assert_eq!((body.len(), end), (MAX_ERROR_BODY, BodyEnd::TooLong));
    }

    #[tokio::test]
    async fn waits() {
        let now = Timestamp(784_111_777);
        let cases = [
            (vec![], None),
            (vec![("retry-after", "7")], Some(Duration::from_secs(7))),
            (vec![("retry-after", "0")], Some(Duration::ZERO)),
            (vec![("retry-after", "Sun, 06 Nov 1994 08:50:37 GMT")], Some(Duration::from_secs(60))),
            (vec![("retry-after", "Sun, 06 Nov 1994 08:48:37 GMT")], Some(Duration::ZERO)),
            (vec![("retry-after", "soon")], None),
            (vec![("retry-after", "-1")], None),
            (vec![("retry-after", "99999999999999999999999")], Some(Duration::from_secs(u64::MAX))),
            (vec![("retry-after-ms", "250"), ("retry-after", "7")], Some(Duration::from_millis(250))),
        ];
        for (headers, expected) in cases {
            let mut exchange = Exchange::new(429, "application/json", "");
            exchange.headers.extend(headers.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())));
            let failure = from_response(exchange.response(), now).await;
            assert_eq!(failure.retry_after, expected, "{headers:?}");
        }
    }

    #[tokio::test]
    async fn waits_that_are_in_the_body() {
        let body = |delay: &str| {
            let quota = r#"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[]}"#;
            let retry = r#""@type":"type.googleapis.com/google.rpc.RetryInfo""#;
            format!(
                r#"[{{"error":{{"code":429,"message":"m","details":[{quota},{{{retry},"retryDelay":{delay}}}]}}}}]"#
            )
        };
        for (delay, expected) in [
            (r#""34.5s""#, Some(Duration::from_millis(34_500))),
            (r#""0s""#, Some(Duration::ZERO)),
            (r#""-1s""#, None),
            (r#""1e300s""#, None),
            (r#""NaNs""#, None),
            (r#""soon""#, None),
            ("7", None),
        ] {
            let exchange = Exchange::new(429, "application/json", body(delay));
            let failure = from_response(exchange.response(), Timestamp(0)).await;
            assert_eq!(failure.retry_after, expected, "{delay}");
        }
    }

    #[test]
    fn secrets_are_taken_out_and_words_are_not() {
        let failure = from_status(401, br#"{"error":{"message":"none of sk-12345678"}}"#);
        let clean = without(&"sk-12345678".into(), failure.clone());
        assert_eq!(clean.message, "HTTP 401: none of [REDACTED]");
        assert_eq!(clean.details.as_deref(), Some(r#"{"error":{"message":"none of [REDACTED]"}}"#));
        assert_eq!(without(&"none".into(), failure.clone()), failure);
        assert_eq!(without(&"".into(), failure.clone()), failure);
    }

    #[test]
    fn broken_connections() {
        let refused = TransportFailure::Connect("refused".into());
        let late = TransportFailure::Timeout("no answer".into());
        let lost = TransportFailure::Broken("reset".into());
        let show = |f: ProviderFailure| f.to_string();
        assert_eq!(show(before_answer(&refused)), "timeout: Connection failed: refused");
        assert_eq!(show(before_answer(&late)), "timeout: Request timed out: no answer");
        assert_eq!(show(before_answer(&lost)), "transport: connection lost: reset");
        assert_eq!(show(mid_answer(&late)), "transport: Request timed out: no answer");
        assert_eq!(show(mid_answer(&lost)), "transport: connection lost: reset");
    }
}
