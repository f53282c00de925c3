//! What a hook's answer means: its exit status, and the JSON it may have printed.

use std::time::Duration;

use serde::Deserialize;
use zori_core::hook::HookEvent;
use zori_core::permission::Verdict;
use zori_core::text::prefix;

use crate::process::Finished;

/// The exit status that blocks.
const BLOCKS: i32 = 2;
/// The longest reason or context that is passed on.
const MAX_TEXT: usize = 16 << 10;

/// What a hook says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) verdict: Option<(Verdict, Option<String>)>,
    /// Context for the model.
    pub(super) context: Option<String>,
    /// Why the turn shall end.
    pub(super) halt: Option<String>,
    /// A message for the user.
    pub(super) message: Option<String>,
    /// The input the call shall have.
    pub(super) input: Option<String>,
    /// What the model shall read of the call.
    pub(super) output: Option<String>,
}

/// The JSON of an answer; unknown fields are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct AnswerJson {
    r#continue: Option<bool>,
    stop_reason: Option<String>,
    system_message: Option<String>,
    decision: Option<String>,
    reason: Option<String>,
    hook_specific_output: Option<Specific>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Specific {
    permission_decision: Option<String>,
    permission_decision_reason: Option<String>,
    additional_context: Option<String>,
    updated_input: Option<Box<serde_json::value::RawValue>>,
    #[serde(rename = "updatedMCPToolOutput")]
    updated_output: Option<serde_json::Value>,
}

/// Interprets how a hook ended. The error says why it has no answer.
pub(super) fn interpret(event: HookEvent, ended: &Finished, limit: Duration) -> Result<Answer, String> {
    let stdout = ended.stdout.text.trim();
    if ended.end.timed_out {
        return Err(format!("it did not answer within {} seconds", limit.as_secs_f32()));
    }
    match (ended.end.exit_code, ended.end.signal) {
        (_, Some(signal)) => Err(format!("it was ended by signal {signal}")),
        (BLOCKS, None) => {
            let said = text(ended.stderr.text.trim());
            Ok(Answer { verdict: Some((Verdict::Deny, said)), ..Answer::default() })
        }
        (0, None) if ended.stdout.cut => Err("it printed too much".into()),
        (0, None) if stdout.starts_with('{') => {
            let answer = read(event, stdout).map_err(|why| match why.strip_prefix(NO_ANSWER) {
                Some(why) => format!("what it printed is no answer{why}"),
                None => why,
            })?;
            if answer.input.is_some() {
                // To run the call as it was would be what the hook did not want.
                return Err("it wants to change the call's input, which is not possible".into());
            }
            Ok(answer)
        }
        // Plain text is for the model, where a prompt is on its way to it.
        (0, None) => {
            let told = matches!(event, HookEvent::UserPromptSubmit | HookEvent::SessionStart);
            Ok(Answer { context: text(stdout).filter(|_| told), ..Answer::default() })
        }
        (code, None) => {
            let why = ended.stderr.text.trim().lines().next_back().unwrap_or_default();
            let why = if why.is_empty() { String::new() } else { format!(" ({})", prefix(why, 200)) };
            Err(format!("it ended with exit status {code}{why}, not with 0 or {BLOCKS}"))
        }
    }
}

/// Returns an output as the model reads it: a text, the texts of a list of blocks, or else the JSON.
fn readable(output: &serde_json::Value) -> String {
    let blocks = output.as_array().or_else(|| output["content"].as_array());
    let texts: Vec<&str> = blocks.into_iter().flatten().filter_map(|block| block["text"].as_str()).collect();
    match output.as_str() {
        Some(text) => text.to_owned(),
        None if !texts.is_empty() => texts.join("\n"),
        None => output.to_string(),
    }
}

const NO_ANSWER: &str = "its answer is none";

/// Parses the JSON of an answer.
pub(super) fn read(event: HookEvent, json: &str) -> Result<Answer, String> {
    let printed = serde_json::from_str(json).map_err(|error| format!("{NO_ANSWER}: {error}"))?;
    judge(event, printed)
}

fn judge(event: HookEvent, printed: AnswerJson) -> Result<Answer, String> {
    let mut answer =
        Answer { message: printed.system_message.as_deref().and_then(text), ..Answer::default() };
    let reason = printed.reason.as_deref().and_then(text);
    if printed.r#continue == Some(false) {
        let why = printed.stop_reason.as_deref().and_then(text).or_else(|| reason.clone());
        answer.halt = Some(why.unwrap_or_else(|| "it gave no reason".into()));
    }
    let before_call = event == HookEvent::PreToolUse;
    answer.verdict = match printed.decision.as_deref() {
        None => None,
        Some("block" | "deny") => Some((Verdict::Deny, reason)),
        Some("approve" | "allow") if before_call => Some((Verdict::Allow, reason)),
        Some("approve" | "allow") => None,
        Some(other) => return Err(format!("it decides `{}`, which means nothing", prefix(other, 40))),
    };
    let Some(specific) = printed.hook_specific_output else { return Ok(answer) };
    answer.context = specific.additional_context.as_deref().and_then(text);
    if event == HookEvent::PostToolUse {
        answer.output = specific.updated_output.as_ref().filter(|output| !output.is_null()).map(readable);
    }
    if !before_call {
        return Ok(answer);
    }
    let reason = specific.permission_decision_reason.as_deref().and_then(text);
    match specific.permission_decision.as_deref() {
        None | Some("defer") => {}
        Some("allow") => answer.verdict = Some((Verdict::Allow, reason)),
        Some("ask") => answer.verdict = Some((Verdict::Ask, reason)),
        Some("deny") => answer.verdict = Some((Verdict::Deny, reason)),
        Some(other) => return Err(format!("it decides `{}`, which means nothing", prefix(other, 40))),
    }
    let denied = matches!(answer.verdict, Some((Verdict::Deny, _)));
    let changed = specific.updated_input.filter(|raw| !denied && raw.get() != "null");
    answer.input = changed.map(|raw| raw.get().to_owned());
    Ok(answer)
}

fn text(text: &str) -> Option<String> {
    let text = prefix(text.trim(), MAX_TEXT);
    (!text.is_empty()).then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use zori_core::tool::ProcessEnd;

    use super::*;
    use crate::process::output::Captured;

    fn ended(exit_code: i32, stdout: &str, stderr: &str) -> Finished {
        let captured = |text: &str| Captured { text: text.to_owned(), cut: false, file: None };
        Finished {
            end: ProcessEnd { exit_code, signal: None, timed_out: false },
            stdout: captured(stdout),
            stderr: captured(stderr),
            detached: false,
        }
    }

    fn answer(event: HookEvent, exit_code: i32, stdout: &str, stderr: &str) -> String {
        let understood = interpret(event, &ended(exit_code, stdout, stderr), Duration::from_secs(1));
        match understood {
            Ok(Answer { verdict, context, halt, message, input: _, output: _ }) => {
                let verdict = verdict.map(|(verdict, why)| format!("{} {why:?}", verdict.as_str()));
                let parts = [("", verdict), ("context ", context), ("halt ", halt), ("message ", message)];
                let said = parts.into_iter().filter_map(|(what, text)| Some(format!("{what}{}", text?)));
                said.collect::<Vec<_>>().join("; ")
            }
            Err(why) => format!("failed: {why}"),
        }
    }

    #[test]
    fn exit_statuses() {
        let pre = |code, out, err| answer(HookEvent::PreToolUse, code, out, err);
        assert_eq!(pre(0, "", ""), "");
        assert_eq!(pre(0, "looks fine", ""), "");
        assert_eq!(pre(2, "{\"ignored", " not here\n"), "deny Some(\"not here\")");
        assert_eq!(pre(2, "", ""), "deny None");
        assert_eq!(pre(1, "", "a\nb\n"), "failed: it ended with exit status 1 (b), not with 0 or 2");
        assert_eq!(pre(127, "", ""), "failed: it ended with exit status 127, not with 0 or 2");
        let prompt = |out: &str| answer(HookEvent::UserPromptSubmit, 0, out, "");
        assert_eq!(prompt(" It is Monday.\n"), "context It is Monday.");
        let timed_out =
            Finished { end: ProcessEnd { exit_code: -1, signal: None, timed_out: true }, ..ended(0, "", "") };
        let late = interpret(HookEvent::Stop, &timed_out, Duration::from_millis(1500));
        assert_eq!(late.unwrap_err(), "it did not answer within 1.5 seconds");
    }

    #[test]
    fn json_before_a_call() {
        let pre = |out: &str| answer(HookEvent::PreToolUse, 0, out, "");
        let specific = |what: &str| pre(&format!("{{\"hookSpecificOutput\":{{{what}}}}}"));
        assert_eq!(
            specific(r#""permissionDecision":"deny","permissionDecisionReason":"no""#),
            "deny Some(\"no\")"
        );
        assert_eq!(specific(r#""permissionDecision":"ask""#), "ask None");
        assert_eq!(specific(r#""permissionDecision":"allow""#), "allow None");
        assert_eq!(specific(r#""permissionDecision":"defer""#), "");
        assert_eq!(
            specific(r#""permissionDecision":"maybe""#),
            "failed: it decides `maybe`, which means nothing"
        );
        assert_eq!(
            specific(r#""permissionDecision":"allow","updatedInput":{}"#),
            "failed: it wants to change the call's input, which is not possible"
        );
        assert_eq!(specific(r#""additionalContext":"c""#), "context c");
        assert_eq!(pre(r#"{"decision":"approve","reason":"r"}"#), "allow Some(\"r\")");
        assert_eq!(pre(r#"{"decision":"block","reason":"r"}"#), "deny Some(\"r\")");
        assert_eq!(
            pre(r#"{"continue":false,"stopReason":"enough","systemMessage":"hi"}"#),
            "halt enough; message hi"
        );
        assert_eq!(pre(r#"{"suppressOutput":true,"new":1}"#), "");
        assert!(pre("{nonsense").starts_with("failed: what it printed is no answer: "));
    }

    #[test]
    fn json_elsewhere() {
        let stop = |out: &str| answer(HookEvent::Stop, 0, out, "");
        assert_eq!(stop(r#"{"decision":"block","reason":"run the tests"}"#), "deny Some(\"run the tests\")");
        assert_eq!(stop(r#"{"hookSpecificOutput":{"permissionDecision":"deny"}}"#), "");
        assert_eq!(stop(r#"{"decision":"approve"}"#), "");
    }
}
