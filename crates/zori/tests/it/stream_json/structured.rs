//! `--json-schema`: an answer that fits, or an error that says it never did.

use serde_json::json;
use zori_testkit::anthropic;

use super::{lines, talk, told, user};

const SCHEMA: &str = r#"{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}"#;

fn output(id: &str, n: serde_json::Value) -> anthropic::Message {
    anthropic::tool_use(id, "StructuredOutput", json!({ "n": n }))
}

#[test]
fn an_answer_that_fits_at_last() {
    let replies =
        [anthropic::text("7"), output("1", json!("7")), output("2", json!(7)), anthropic::text("done")];
    let (output, _world) = talk(replies, &["--json-schema", SCHEMA], &user("n?"));
    insta::assert_snapshot!(told(&output), @r#"
    init
    says "7"
    calls StructuredOutput {"n":"7"}
    result failed "<tool_use_error>InputValidationError: StructuredOutput failed due to the following issues: The answer does not fit: $.n must be integer, not string. Call StructuredOutput again.</tool_use_error>"
    calls StructuredOutput {"n":7}
    result "The answer fits and was taken."
    says "done"
    over success "done" completed turns=3
    [exit status: 0]
    "#);
    let result = lines(&output.stdout()).pop().unwrap();
    assert_eq!(
        (&result["structured_output"], &result["usage"]["input_tokens"]),
        (&json!({"n": 7}), &json!(40))
    );
}

/// Some models write the JSON; that is as good.
#[test]
fn an_answer_in_the_text() {
    let (output, _world) =
        talk([anthropic::text("```json\n{\"n\": 1}\n```")], &["--json-schema", SCHEMA], &user("n?"));
    assert_eq!(lines(&output.stdout()).pop().unwrap()["structured_output"], json!({"n": 1}), "{output}");
}

#[test]
fn an_answer_that_never_fits() {
    let (output, _world) =
        talk([(); 5].map(|()| anthropic::text("no")), &["--json-schema", SCHEMA], &user("n?"));
    let told = told(&output);
    assert!(
        told.ends_with(
            "over error_max_structured_output_retries is_error [\"The model gave no answer that fits the schema, asked 5 \
             times\"] structured_output_retries turns=1\n[exit status: 1]"
        ),
        "{told}"
    );
}

#[test]
fn what_is_not_checked_is_said() {
    let schema = r#"{"type":"object","properties":{"d":{"format":"date"}}}"#;
    let (output, _world) = talk([anthropic::text("{}")], &["--json-schema", schema], &user("d?"));
    assert_eq!(output.stderr(), "Warning: of the JSON schema this is not checked: format\n");
    let (output, _world) = talk([anthropic::text(""); 0], &["--json-schema", "{"], &user("d?"));
    assert_eq!((output.stdout().as_str(), output.code()), ("", Some(2)), "{output}");
}
