//! Renders a session as text for people (SHOW-1). Control characters are made visible: the text ends up on a terminal.

use zori_core::image::Image;
use zori_core::message::{Role, ToolInput};
use zori_core::text;

use crate::record::{Record, RecordKind};

/// Returns the blocks of all records, a blank line between two; empty if there is nothing to show.
pub fn transcript<'a>(records: impl IntoIterator<Item = &'a Record>) -> String {
    records.into_iter().filter_map(transcript_block).collect::<Vec<_>>().join("\n")
}

/// Returns the block of one record, which ends in a newline; `None` where there is nothing to show.
pub fn transcript_block(record: &Record) -> Option<String> {
    Some(match &record.kind {
        RecordKind::Meta(meta) => format!("### Session (schema v{})\n", meta.schema_version),
        RecordKind::Message { role: Role::User, text, images, scheduled, .. } => {
            block(&prompt_title(scheduled.as_deref()), &with_images(images, text))
        }
        RecordKind::Message { role: Role::Assistant, text, .. } => {
            block(if record.discarded { "Assistant (discarded)" } else { "Assistant" }, text)
        }
        RecordKind::Reasoning(thinking) if thinking.text.is_empty() => return None,
        RecordKind::Reasoning(thinking) => block("Reasoning", &thinking.text),
        RecordKind::ToolUse(call) => {
            let title = format!("Tool: {}", text::one_line(&call.name));
            match &call.input {
                ToolInput::Json(raw) => fenced(&title, "json", raw.get()),
                ToolInput::Malformed(text) => fenced(&title, "", text),
            }
        }
        RecordKind::ToolResult { output, ok, images, .. } => {
            let result = fenced(if *ok { "Result ✓" } else { "Result ✗" }, "json", &cut(output.get()));
            result + &with_images(images, "")
        }
        RecordKind::Interrupted => "### Interrupted\n".to_owned(),
        RecordKind::Approval { decision, by, reason, .. } => {
            block(&format!("Approval: {} ({})", text::one_line(decision), text::one_line(by)), reason)
        }
        RecordKind::Compacted { how, before, after, .. } => {
            let how = text::one_line(how);
            format!("### Context {how}: about {before} to {after} tokens\n")
        }
        // What changed is told by the calls; `sessions diff` shows it.
        RecordKind::Changed { .. } => return None,
        RecordKind::Rewound { to_turn, what, restored, .. } => {
            let what = text::one_line(what);
            format!("### Rewound to before turn {to_turn} ({what}): {restored} paths put back\n")
        }
        RecordKind::Notice { code, text } => block(&format!("Notice: {}", text::one_line(code)), text),
    })
}

/// Returns who sent a prompt: the person, or a scheduled job.
pub fn prompt_title(scheduled: Option<&str>) -> String {
    match scheduled {
        Some(job) => format!("Scheduled job `{}`", text::one_line(job)),
        None => "You".to_owned(),
    }
}

/// How many characters of a result are shown.
const RESULT_CHARS: usize = 500;

fn cut(result: &str) -> String {
    match result.char_indices().nth(RESULT_CHARS) {
        Some((at, _)) => format!("{}...", &result[..at]),
        None => result.to_owned(),
    }
}

/// Puts a line for each image before the text.
fn with_images(images: &[Image], text: &str) -> String {
    let lines: String = images.iter().map(|image| format!("{image}\n")).collect();
    lines + text
}

fn block(title: &str, body: &str) -> String {
    format!("### {title}\n{}\n", text::neutral(body.trim_end_matches('\n')))
}

fn fenced(title: &str, language: &str, body: &str) -> String {
    format!("### {title}\n```{language}\n{}\n```\n", text::neutral(body))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::decode::decode;

    fn show(lines: &[&str]) -> String {
        let records: Vec<Record> = lines.iter().flat_map(|line| decode(line.as_bytes()).records).collect();
        transcript(&records)
    }

    #[test]
    fn every_block() {
        let shown = show(&[
            r#"{"type":"meta","schema_version":1,"ts":""}"#,
            r#"{"type":"message","role":"user","text":"Read it,\nplease.\n"}"#,
            r#"{"type":"message","role":"user","text":"Look.","scheduled":"da\u001bwn"}"#,
            r#"{"type":"reasoning","text":"Easy."}"#,
            r#"{"type":"reasoning","replay":{"provider":"p","block":1}}"#,
            r#"{"type":"message","role":"assistant","text":"I \u001b[31mread."}"#,
            r#"{"type":"tool_use","id":"1","name":"read","input":{"path": "a"}}"#,
            r#"{"type":"tool_use","id":"2","name":"bash","input":{},"malformed":"{\"comm"}"#,
            r#"{"type":"approval","tool_use_id":"1","decision":"blocked","by":"policy","reason":"not here"}"#,
            r#"{"type":"tool_result","tool_use_id":"1","output":{"ok":true},"ok":true}"#,
            r#"{"type":"tool_result","tool_use_id":"2","output":{"ok":false},"ok":false}"#,
            r#"{"type":"notice","level":"warning","code":"refusal","text":"The model refused."}"#,
            r#"{"type":"compacted","how":"masked","before":90,"after":20,"view":[]}"#,
            r#"{"type":"interrupted","role":"system","text":"Interrupted"}"#,
            r#"{"type":"from_the_future","x":1}"#,
        ]);
        let expected = "\
### Session (schema v1)

### You
Read it,
please.

### Scheduled job `da\\x1bwn`
Look.

### Reasoning
Easy.

### Assistant
I \\x1b[31mread.

### Tool: read
```json
{\"path\": \"a\"}
```

### Tool: bash
```
{\"comm
```

### Approval: blocked (policy)
not here

### Result ✓
```json
{\"ok\":true}
```

### Result ✗
```json
{\"ok\":false}
```

### Notice: refusal
The model refused.

### Context masked: about 90 to 20 tokens

### Interrupted
";
        assert_eq!(shown, expected);
    }

    #[test]
    fn a_long_result_is_cut_between_characters() {
        let output = format!("\"{}\"", "é".repeat(600));
        let line = format!(r#"{{"type":"tool_result","tool_use_id":"1","output":{output},"ok":true}}"#);
        let expected = format!("### Result ✓\n```json\n\"{}...\n```\n", "é".repeat(499));
        assert_eq!(show(&[&line]), expected);
    }

    #[test]
    fn images_are_named() {
        let bytes = &include_bytes!("../../../fixtures/images/box.png")[..];
        let data = Image::parse(bytes).unwrap().base64();
        let images =
            format!(r#""images":[{{"media_type":"image/png","data":"{data}"}},{{"data":"damaged"}}]"#);
        let said = format!(r#"{{"type":"message","role":"user","text":"what?",{images}}}"#);
        let read = format!(r#"{{"type":"tool_result","tool_use_id":"1","output":{{}},"ok":true,{images}}}"#);
        assert_eq!(
            show(&[&said, &read]),
            "### You\n[image png 24x16 96 bytes]\nwhat?\n\n\
             ### Result ✓\n```json\n{}\n```\n[image png 24x16 96 bytes]\n"
        );
    }

    #[test]
    fn nothing_to_show() {
        assert_eq!(show(&[]), "");
    }
}
