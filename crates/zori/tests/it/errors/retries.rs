//! What is tried again, how often, and after how long (NET-6, NET-7).

use serde_json::json;
use zori_testkit::anthropic;
use zori_testkit::reply::{Disconnect, Reply};

use super::{error, run};

/// NET-6.
#[test]
fn what_is_tried_again() {
    for status in [408, 429, 500, 502, 503, 504, 529] {
        let replies = vec![error(status, "any", "wait"), anthropic::text("Hello").into()];
        let (output, _, server) = run(replies, &[]);
        assert_eq!(
            output.to_string(),
            format!(
                "Hello\n------- stderr -------\nRetrying in 0.0s (1/4): HTTP {status}: wait\n[exit status: 0]"
            )
        );
        assert_eq!(server.count(), 2);
    }
}

/// NET-6.
#[test]
fn what_is_not_tried_again() {
    for (status, code) in [(400, 1), (401, 8), (402, 9), (403, 7), (404, 1), (413, 1), (422, 1)] {
        let replies = vec![error(status, "any", "no"), anthropic::text("never").into()];
        let (output, _, server) = run(replies, &[]);
        assert_eq!(
            (output.stdout().as_str(), output.code(), server.count()),
            ("", Some(code), 1),
            "{status}"
        );
    }
}

/// NET-7: four times for one request.
#[test]
fn it_gives_up_after_four_retries() {
    let (output, _, server) = run(vec![error(503, "any", "busy"); 9], &[]);
    insta::assert_snapshot!(output, @r#"
    ------- stderr -------
    Retrying in 0.0s (1/4): HTTP 503: busy
    Retrying in 0.0s (2/4): HTTP 503: busy
    Retrying in 0.0s (3/4): HTTP 503: busy
    Retrying in 0.0s (4/4): HTTP 503: busy
    Error [http_status]: HTTP 503: busy
      Details: {"error":{"message":"busy","type":"any"},"type":"error"}
    [exit status: 12]
    "#);
    assert_eq!(server.count(), 5);
}

/// NET-7: eight times for one turn.
#[test]
fn it_gives_up_after_eight_retries_in_a_turn() {
    let busy = || vec![error(503, "any", "busy"); 4];
    let look = |id: &str| vec![anthropic::tool_use(id, "ls", json!({})).into()];
    let replies = [busy(), look("toolu_1"), busy(), look("toolu_2"), busy()].concat();
    let (output, _, server) = run(replies, &[]);
    assert_eq!(output.stderr().matches("Retrying in ").count(), 8);
    assert_eq!((output.code(), server.count()), (Some(12), 11), "{output}");
}

/// NET-6: as long as the server says, and no longer than five minutes.
#[test]
fn the_server_says_how_long_to_wait() {
    let wait = |header: &str| error(429, "rate_limit_error", "slow down").header("retry-after", header);
    let (output, ..) = run(vec![wait("1"), anthropic::text("Hello").into()], &[]);
    insta::assert_snapshot!(output, @r"
    Hello
    ------- stderr -------
    Retrying in 1.0s (1/4): HTTP 429: slow down
    [exit status: 0]
    ");
    // A date in the past is no wait.
    let (output, ..) = run(vec![wait("Sun, 06 Nov 1994 08:49:37 GMT"), anthropic::text("Hello").into()], &[]);
    insta::assert_snapshot!(output, @r"
    Hello
    ------- stderr -------
    Retrying in 0.0s (1/4): HTTP 429: slow down
    [exit status: 0]
    ");
    let (output, _, server) = run(vec![wait("301"), anthropic::text("never").into()], &[]);
    insta::assert_snapshot!(output, @r#"
    ------- stderr -------
    Error [http_status]: HTTP 429: slow down; the provider asks to wait 5 min 1 s, which is longer than the 5 min that are waited
      Details: {"error":{"message":"slow down","type":"rate_limit_error"},"type":"error"}
    [exit status: 11]
    "#);
    assert_eq!(server.count(), 1);
    let (output, ..) = run(vec![wait("99999999999999999999"), anthropic::text("never").into()], &[]);
    assert_eq!(
        output.stderr().lines().next(),
        Some(
            "Error [http_status]: HTTP 429: slow down; the provider asks to wait more than 100 years, which is longer than the 5 min that are waited"
        )
    );
}

#[test]
fn a_connection_is_tried_again() {
    let (output, _, server) =
        run(vec![Reply::hang_up(Disconnect::Fin), anthropic::text("Hello").into()], &[]);
    assert_eq!(
        (output.stdout().as_str(), output.code(), server.count()),
        ("Hello\n", Some(0), 2),
        "{output}"
    );
}
