//! Questions about calls, and the client's answers. The options are what zori offers everywhere: once, always in this
//! session where a rule for that was found, and no.

use std::path::Path;

use agent_client_protocol::v1::schema::{
    ContentBlock, Diff, PermissionOption, PermissionOptionKind, RequestPermissionOutcome,
    RequestPermissionRequest, RequestPermissionResponse, ToolCallContent, ToolCallUpdate,
    ToolCallUpdateFields,
};
use zori_core::ids::CallId;
use zori_core::input::Approval;
use zori_core::permission::Decision;
use zori_core::question::{Choice, FileAction, FileDiff, FormPart, GrantScope, Preview, Question, SEND};
use zori_core::text::one_line;
use zori_redact::Redactor;

use crate::client::{AcpClient, ClientError};

const ONCE: &str = "allow";
const ALWAYS: &str = "always";
const NO: &str = "reject";

impl AcpClient {
    /// Asks the client about a call. `None` means that it wants the turn to end.
    pub async fn ask(
        &self,
        session: &str,
        call: &CallId,
        question: &Question,
        decision: &Decision,
        redactor: &Redactor,
    ) -> Option<Approval> {
        if let Preview::Choices(choices) = &question.preview {
            return self.put(session, call, choices, redactor).await;
        }
        let asked = request(session, call, question, decision, redactor);
        match self.call(asked).await {
            Ok(response) => approval(&response, question),
            Err(ClientError::Gone) => no("the client is gone, so nobody can answer"),
            Err(refused) => no(&format!("the client did not answer: {refused}")),
        }
    }

    /// Puts the model's questions to the client, one after another: this protocol has choices, and no text.
    async fn put(
        &self,
        session: &str,
        call: &CallId,
        choices: &[Choice],
        redactor: &Redactor,
    ) -> Option<Approval> {
        // Text that a form cannot do without declines it.
        let needs_text = |choice: &Choice| {
            choice.options.is_empty()
                && choice.field().is_some_and(|field| field.required && field.default.is_none())
        };
        if choices.iter().any(needs_text) {
            return Some(Approval::Reject { reason: None });
        }
        let mut answers = Vec::new();
        for choice in choices {
            if choice.options.is_empty() {
                answers.push(String::new());
                continue;
            }
            // Every question has a no beside it, so that there is nothing left to ask at the end of a form.
            if choice.form == Some(FormPart::End)
                && choices.iter().any(|other| !other.options.is_empty() && other.field().is_some())
            {
                answers.push(SEND.to_owned());
                continue;
            }
            let response = match self.call(choose(session, call, choice, redactor)).await {
                Ok(response) => response,
                Err(ClientError::Gone) => return no("the client is gone, so nobody can answer"),
                Err(refused) => return no(&format!("the client did not answer: {refused}")),
            };
            match response.outcome {
                RequestPermissionOutcome::Selected(selected) if &*selected.option_id.0 == NO => {
                    return Some(Approval::Reject { reason: None });
                }
                RequestPermissionOutcome::Selected(selected) => {
                    answers.push(selected.option_id.0.to_string())
                }
                RequestPermissionOutcome::Cancelled => return None,
                _ => return no("the client answered in a way that is not known"),
            }
        }
        Some(Approval::answers(answers))
    }
}

/// One question; the id of an option is its number.
fn choose(session: &str, call: &CallId, choice: &Choice, redactor: &Redactor) -> RequestPermissionRequest {
    let clean = |text: &str| one_line(&redactor.redact(text)).into_owned();
    let mut text = redactor.redact(&choice.question).into_owned();
    for option in choice.options.iter().filter(|option| option.description.is_some()) {
        let about = option.description.as_deref().unwrap_or_default();
        text.push_str(&format!("\n- {}: {}", clean(&option.label), clean(about)));
    }
    let fields = ToolCallUpdateFields::new().content(vec![ContentBlock::from(text).into()]);
    let shown = ToolCallUpdate::new(call.as_str().to_owned(), fields);
    let options = (1..).zip(&choice.options).map(|(number, option): (usize, _)| {
        PermissionOption::new(number.to_string(), clean(&option.label), PermissionOptionKind::AllowOnce)
    });
    let none = PermissionOption::new(NO, "No answer", PermissionOptionKind::RejectOnce);
    RequestPermissionRequest::new(session.to_owned(), shown, options.chain([none]).collect())
}

fn request(
    session: &str,
    call: &CallId,
    question: &Question,
    decision: &Decision,
    redactor: &Redactor,
) -> RequestPermissionRequest {
    let mut content = preview(&question.preview, redactor);
    let reason = redactor.redact(&decision.reason).into_owned();
    content.push(ContentBlock::from(reason).into());
    let mut fields = ToolCallUpdateFields::new().content(content);
    if let Preview::Input(input) | Preview::Fails { input, .. } = &question.preview {
        fields = fields.raw_input(redactor.redact_value(input));
    }
    let shown = ToolCallUpdate::new(call.as_str().to_owned(), fields);
    RequestPermissionRequest::new(session.to_owned(), shown, options(question))
}

/// The id of a grant's option: `always`, `always-2` and so on.
fn always_id(index: usize) -> String {
    match index {
        0 => ALWAYS.to_owned(),
        index => format!("{ALWAYS}-{}", index + 1),
    }
}

fn options(question: &Question) -> Vec<PermissionOption> {
    let always = question.grants.iter().enumerate().map(|(index, grant)| {
        let any = if grant.scope == GrantScope::AnyProgram { " (runs any program)" } else { "" };
        let name = format!("Always in this session: {}{any}", one_line(&grant.shown()));
        PermissionOption::new(always_id(index), name, PermissionOptionKind::AllowAlways)
    });
    [PermissionOption::new(ONCE, "Allow once", PermissionOptionKind::AllowOnce)]
        .into_iter()
        .chain(always)
        .chain([PermissionOption::new(NO, "Reject", PermissionOptionKind::RejectOnce)])
        .collect()
}

/// What would happen, as far as it can be shown.
fn preview(preview: &Preview, redactor: &Redactor) -> Vec<ToolCallContent> {
    let text = |text: String| ToolCallContent::from(ContentBlock::from(redactor.redact(&text).into_owned()));
    match preview {
        Preview::Input(_) => Vec::new(),
        Preview::Command { command, cwd, sandbox } => {
            let place = one_line(&cwd.to_string_lossy()).into_owned();
            let confined =
                sandbox.as_ref().map_or_else(String::new, |sandbox| format!("\n\nSandbox: {sandbox}"));
            vec![text(format!("```sh\n{command}\n```\n\nin {place}{confined}"))]
        }
        Preview::Changes(files) => files.iter().flat_map(|file| hunks(file, redactor)).collect(),
        Preview::Choices(_) => Vec::new(),
        Preview::Fails { why, .. } => vec![text(format!("As things are, it would fail: {why}"))],
    }
}

/// Each hunk is a diff of its own: its lines before and after.
fn hunks(file: &FileDiff, redactor: &Redactor) -> Vec<ToolCallContent> {
    let mut shown = Vec::new();
    let mut hunk: Option<(String, String)> = None;
    let mut finish = |hunk: Option<(String, String)>| {
        if let Some((old, new)) = hunk {
            shown.push(diff(&file.path, file.action, &redactor.redact(&old), &redactor.redact(&new)));
        }
    };
    for line in file.diff.split_inclusive('\n') {
        if line.starts_with("@@") {
            finish(hunk.replace((String::new(), String::new())));
            continue;
        }
        let Some((old, new)) = &mut hunk else { continue };
        match line.split_at_checked(1) {
            Some(("-", rest)) => old.push_str(rest),
            Some(("+", rest)) => new.push_str(rest),
            Some((" ", rest)) => {
                old.push_str(rest);
                new.push_str(rest);
            }
            // A remark about the line before, such as that it has no end.
            _ => {}
        }
    }
    finish(hunk);
    let note = file
        .note
        .iter()
        .map(|note| ToolCallContent::from(ContentBlock::from(redactor.redact(note).into_owned())));
    shown.extend(note);
    shown
}

fn diff(path: &Path, action: FileAction, old: &str, new: &str) -> ToolCallContent {
    let old = (action != FileAction::Create).then(|| old.to_owned());
    Diff::new(path, new).old_text(old).into()
}

fn approval(response: &RequestPermissionResponse, question: &Question) -> Option<Approval> {
    match &response.outcome {
        RequestPermissionOutcome::Selected(selected) => match &*selected.option_id.0 {
            ONCE => Some(Approval::Allow),
            NO => Some(Approval::Reject { reason: None }),
            other => match (0..question.grants.len()).find(|index| always_id(*index) == other) {
                Some(index) => Some(Approval::Grant(index)),
                None => no(&format!("the client chose `{other}`, which was not offered")),
            },
        },
        RequestPermissionOutcome::Cancelled => None,
        _ => no("the client answered in a way that is not known"),
    }
}

/// Nobody said no: the answer is none, or there is nobody to give one.
fn no(why: &str) -> Option<Approval> {
    Some(Approval::Unavailable { why: why.to_owned() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use zori_core::permission::{Class, Verdict};
    use zori_core::question::Grant;

    use super::*;

    fn question(preview: Preview, rules: &[&str]) -> Question {
        let grant = |rule: &&str| Grant {
            rules: vec![(*rule).to_owned()],
            words: "these words".to_owned(),
            scope: GrantScope::Call,
            past: 0,
        };
        let grants = rules.iter().map(grant).collect();
        Question { tool: "bash".to_owned(), preview, grants, explanation: Vec::new() }
    }

    fn asked(question: &Question) -> serde_json::Value {
        let decision = Decision::new(Verdict::Ask, Class::Shell, "`rm` changes files");
        let redactor = Redactor::new(zori_core::secret::Secrets::default());
        let request = request("s", &CallId::new("c1"), question, &decision, &redactor);
        serde_json::to_value(request).unwrap()
    }

    #[test]
    fn a_command_is_shown_whole() {
        let preview =
            Preview::Command { command: "rm a".into(), cwd: "/w".into(), sandbox: Some("bubblewrap".into()) };
        assert_eq!(
            asked(&question(preview, &["Bash(rm a)", "Bash(rm:*)"])),
            json!({
                "sessionId": "s",
                "toolCall": {"toolCallId": "c1", "content": [
                    {"type": "content", "content": {"type": "text", "text": "```sh\nrm a\n```\n\nin /w\n\nSandbox: bubblewrap"}},
                    {"type": "content", "content": {"type": "text", "text": "`rm` changes files"}},
                ]},
                "options": [
                    {"optionId": "allow", "name": "Allow once", "kind": "allow_once"},
                    {"optionId": "always", "name": "Always in this session: Bash(rm a)", "kind": "allow_always"},
                    {"optionId": "always-2", "name": "Always in this session: Bash(rm:*)", "kind": "allow_always"},
                    {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
                ],
            })
        );
    }

    #[test]
    fn changes_are_diffs_hunk_by_hunk() {
        let file = |action, diff: &str| FileDiff::new("/w/a", action, diff);
        let changes = Preview::Changes(vec![
            file(
                FileAction::Change,
                "@@ -1,2 +1,2 @@\n one\n-two\n+2\n@@ -9 +9,2 @@\n nine\n+ten\n\\ No newline at end of file\n",
            ),
            file(FileAction::Create, "@@ -0,0 +1 @@\n+new\n"),
        ]);
        assert_eq!(
            asked(&question(changes, &[]))["toolCall"]["content"],
            json!([
                {"type": "diff", "path": "/w/a", "oldText": "one\ntwo\n", "newText": "one\n2\n"},
                {"type": "diff", "path": "/w/a", "oldText": "nine\n", "newText": "nine\nten\n"},
                {"type": "diff", "path": "/w/a", "newText": "new\n"},
                {"type": "content", "content": {"type": "text", "text": "`rm` changes files"}},
            ])
        );
    }

    #[test]
    fn answers() {
        let with = question(Preview::Input("{}".into()), &["Bash(rm a)", "Bash(rm:*)"]);
        let without = question(Preview::Input("{}".into()), &[]);
        let heard = |outcome: serde_json::Value, question: &Question| {
            approval(&serde_json::from_value(json!({"outcome": outcome})).unwrap(), question)
        };
        let chosen = |id: &str| json!({"outcome": "selected", "optionId": id});
        assert_eq!(heard(chosen("allow"), &with), Some(Approval::Allow));
        assert_eq!(heard(chosen("always"), &with), Some(Approval::Grant(0)));
        assert_eq!(heard(chosen("always-2"), &with), Some(Approval::Grant(1)));
        assert_eq!(heard(chosen("reject"), &with), Some(Approval::Reject { reason: None }));
        assert_eq!(heard(json!({"outcome": "cancelled"}), &with), None);
        assert_eq!(heard(chosen("always"), &without), no("the client chose `always`, which was not offered"));
        assert_eq!(heard(chosen("yes"), &with), no("the client chose `yes`, which was not offered"));
    }
}
